// @ts-check
// A figure as it stands on the page, drawn again as plain SVG: boxes, lines and
// texts, so that every viewer and every slide program can show it. (Libraries
// put the page's HTML into the SVG, which browsers alone can draw.) It is drawn
// in light colours. A classic script, which host.js asks for when it is needed.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const MARGIN = 12; // around the figure, in pixels
  const FOOT = 22; // height of the line that says where it is from
  const SIDES = /** @type {const} */ (["Top", "Right", "Bottom", "Left"]);
  // What a style sheet may have told a drawing's parts.
  const PAINT = ["fill", "stroke"];
  const KEPT = [
    "fill-opacity",
    "stroke-width",
    "stroke-opacity",
    "stroke-dasharray",
    "stroke-linecap",
    "stroke-linejoin",
    "opacity",
    "visibility",
    "font-family",
    "font-size",
    "font-weight",
    "text-anchor",
    "dominant-baseline",
    "paint-order",
  ];

  /** @typedef {{x: number, y: number, width: number, height: number}} Box */

  const pen = /** @type {CanvasRenderingContext2D} */ (
    Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", {
      willReadFrequently: true,
    })
  );

  /** Any colour of CSS as one that every viewer knows, and how opaque it is.
   * @param {string} colour @returns {[string, number]} */
  function plain(colour) {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
    return [`rgb(${red},${green},${blue})`, Math.round((100 * alpha) / 255) / 100];
  }

  /** @param {Element} parent @param {string} tag @param {Record<string, string | number>} values */
  function add(parent, tag, values) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(values)) {
      const short = typeof value === "number" ? Math.round(100 * value) / 100 : value;
      node.setAttribute(name, String(short));
    }
    parent.append(node);
    return node;
  }

  /** A rectangle, filled or framed, unless nobody would see it.
   * @param {Element} parent @param {Box} box @param {"fill" | "stroke"} how
   * @param {string} colour @param {Record<string, string | number>} [more] */
  function rect(parent, { x, y, width, height }, how, colour, more = {}) {
    const [paint, alpha] = plain(colour);
    if (!alpha || width <= 0 || height <= 0) return;
    const look = { fill: "none", [how]: paint, [`${how}-opacity`]: alpha };
    add(parent, "rect", { x, y, width, height, ...look, ...more });
  }

  /** @param {Box} box @param {number} by @returns {Box} */
  const shrunk = ({ x, y, width, height }, by) => ({
    x: x + by,
    y: y + by,
    width: width - 2 * by,
    height: height - 2 * by,
  });

  /** The strip along one side of a box. @param {Box} box @param {string} side @param {number} thick */
  const strip = ({ x, y, width, height }, side, thick) => ({
    x: side === "Right" ? x + width - thick : x,
    y: side === "Bottom" ? y + height - thick : y,
    width: side === "Top" || side === "Bottom" ? width : thick,
    height: side === "Top" || side === "Bottom" ? thick : height,
  });

  /** The parts of a list of CSS. @param {string} list */
  const parts = (list) => list.split(/,(?![^(]*\))\s*/);
  const COLOUR = /(?:rgba?|color|oklab|oklch|lab|lch|hsla?)\([^)]*\)/g;

  /** A background's layers: one colour each, or two that meet in a line.
   * @param {Element} parent @param {Box} box @param {CSSStyleDeclaration} style */
  function layers(parent, box, style) {
    const [sizes, places] = [parts(style.backgroundSize), parts(style.backgroundPosition)];
    const all = parts(
      style.backgroundImage.replace(/\((?:[^()]|\([^()]*\))*\)/g, (inside) =>
        inside.replaceAll(",", ";"),
      ),
    );
    /** @param {string} text @param {number} whole */
    const length = (text, whole) =>
      text === "auto" ? whole : (parseFloat(text) * (text.endsWith("%") ? whole : 100)) / 100;
    for (const [i, image] of [...all.entries()].reverse()) {
      const colours = image.match(COLOUR)?.map((one) => one.replaceAll(";", ","));
      if (!colours) continue;
      const size = sizes[i % sizes.length].split(" ");
      const width = length(size[0], box.width);
      const height = length(size[1] ?? "auto", box.height);
      const [left, top] = places[i % places.length].split(" ");
      const part = {
        x: box.x + length(left, box.width - width),
        y: box.y + length(top, box.height - height),
        width,
        height,
      };
      if (image.startsWith("repeating")) {
        for (let at = -height; at < width; at += 7) {
          const [from, to] = [Math.max(at, 0), Math.min(at + height, width)];
          const d = `M${part.x + from} ${part.y + height - (from - at)}L${part.x + to} ${part.y + height - (to - at)}`;
          add(parent, "path", { d, stroke: plain(colours[0])[0], "stroke-width": 1 });
        }
        continue;
      }
      rect(parent, part, "fill", colours[colours.length - 1]);
      const share = parseFloat(image.match(/([\d.]+)%/)?.[1] ?? "0") / 100;
      if (colours[0] !== colours[1]) {
        rect(parent, strip(part, "Bottom", share * height), "fill", colours[0]);
      }
    }
  }

  /** What stands behind an element's text.
   * @param {Element} parent @param {Box} box @param {CSSStyleDeclaration} style
   * @param {boolean} [focused] the ring around it is the keyboard's */
  function behind(parent, box, style, focused = false) {
    const radius = Math.min(parseFloat(style.borderTopLeftRadius), box.height / 2) || 0;
    const round = { rx: radius };
    rect(parent, box, "fill", style.backgroundColor, round);
    if (style.backgroundImage !== "none") layers(parent, box, style);
    const edges = SIDES.map((side) => ({
      side,
      thick: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]),
      colour: style[`border${side}Color`],
      dashed: style[`border${side}Style`] === "dashed",
    }));
    const [{ thick, colour }] = edges;
    if (edges.every((edge) => edge.thick === thick && edge.colour === colour)) {
      const line = { ...round, "stroke-width": thick };
      if (thick) rect(parent, shrunk(box, thick / 2), "stroke", colour, line);
    } else {
      for (const { side, thick, colour, dashed } of edges) {
        const part = strip(box, side, thick);
        if (!dashed || !thick) rect(parent, part, "fill", colour);
        else {
          const lies = part.width > part.height;
          for (let at = 0; at < Math.max(part.width, part.height); at += 4 * thick) {
            const dash = lies ? { x: part.x + at, width: 2 * thick } : {};
            const up = lies ? {} : { y: part.y + at, height: 2 * thick };
            rect(parent, { ...part, ...dash, ...up }, "fill", colour);
          }
        }
      }
    }
    for (const shadow of style.boxShadow === "none" ? [] : parts(style.boxShadow)) {
      if (!shadow.includes("inset")) continue;
      const shade = shadow.match(COLOUR)?.[0] ?? "#000";
      const [x, y, , spread] = [...shadow.replace(shade, "").matchAll(/-?[\d.]+(?=px)/g)].map(
        Number,
      );
      const frame = { ...round, "stroke-width": spread };
      if (spread) rect(parent, shrunk(box, spread / 2), "stroke", shade, frame);
      if (x) rect(parent, strip(box, x > 0 ? "Left" : "Right", Math.abs(x)), "fill", shade);
      if (y) rect(parent, strip(box, y > 0 ? "Top" : "Bottom", Math.abs(y)), "fill", shade);
    }
    const outline = style.outlineStyle === "none" || focused ? 0 : parseFloat(style.outlineWidth);
    const out = outline / 2 + parseFloat(style.outlineOffset);
    if (outline) {
      const line = { ...round, "stroke-width": outline };
      rect(parent, shrunk(box, -out), "stroke", style.outlineColor, line);
    }
  }

  /** One line of text in its box; `turned` by 0, 90 or −90 degrees.
   * @param {Element} parent @param {string} text @param {Box} box
   * @param {CSSStyleDeclaration} style @param {number} [turned] */
  function write(parent, text, { x, y, width, height }, style, turned = 0) {
    if (!text.trim() || !width) return;
    pen.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = pen.measureText(text);
    const share = up / (up + down);
    const [paint, alpha] = plain(style.color);
    const places = {
      0: { x, y: y + height * share },
      90: { transform: `translate(${x + width * (1 - share)} ${y}) rotate(90)` },
      "-90": { transform: `translate(${x + width * share} ${y + height}) rotate(-90)` },
    };
    const node = add(parent, "text", {
      ...places[/** @type {0 | 90 | "-90"} */ (turned)],
      fill: paint,
      "fill-opacity": alpha,
      "font-family": style.fontFamily,
      "font-size": style.fontSize,
      "font-weight": style.fontWeight,
      "font-style": style.fontStyle,
      textLength: turned ? height : width,
      lengthAdjust: "spacingAndGlyphs",
      "xml:space": "preserve",
    });
    node.textContent = text;
  }

  /** What a control shows of its value.
   * @param {Element} parent @param {HTMLInputElement | HTMLSelectElement} control
   * @param {Box} box @param {CSSStyleDeclaration} style */
  function control(parent, control, box, style) {
    const { accentColor: accent, color } = style;
    const inside = shrunk(box, 1);
    const middle = box.y + box.height / 2;
    if (control.type === "range") {
      const { min, max, value } = /** @type {HTMLInputElement} */ (control);
      const share = (Number(value) - Number(min)) / (Number(max) - Number(min) || 1);
      rect(parent, { ...box, y: middle - 2, height: 4 }, "fill", "#d5d9df", { rx: 2 });
      rect(parent, { ...box, y: middle - 2, height: 4, width: share * box.width }, "fill", accent, {
        rx: 2,
      });
      const cx = box.x + 8 + share * (box.width - 16);
      add(parent, "circle", { cx, cy: middle, r: 8, fill: plain(accent)[0] });
    } else if (control.type === "checkbox" || control.type === "radio") {
      const rx = control.type === "radio" ? box.width / 2 : 3;
      const { checked } = /** @type {HTMLInputElement} */ (control);
      rect(parent, inside, checked ? "fill" : "stroke", checked ? accent : color, { rx });
      const [x, y, s] = [inside.x, inside.y, inside.width / 24];
      const d = `M${x + 6 * s} ${y + 12 * s}l${4 * s} ${5 * s}l${8 * s} ${-10 * s}`;
      if (checked) add(parent, "path", { d, fill: "none", stroke: "#fff", "stroke-width": 2 });
    } else {
      const chosen = control instanceof HTMLSelectElement;
      const text = chosen ? (control.selectedOptions[0]?.text ?? "") : control.value;
      pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      const size = 1.2 * parseFloat(style.fontSize);
      const left = box.x + parseFloat(style.paddingLeft) + 1;
      const room = box.x + box.width - left - (chosen ? 18 : 4);
      let kept = text;
      while (kept && pen.measureText(kept).width > room) kept = kept.slice(0, -1);
      const { width } = pen.measureText(kept);
      write(parent, kept, { x: left, y: middle - size / 2, width, height: size }, style);
      const tip = box.x + box.width - 16;
      const d = `M${tip} ${middle - 2}l4 4l4-4`;
      if (chosen) add(parent, "path", { d, fill: "none", stroke: plain(color)[0] });
    }
  }

  /** A drawing, with what the style sheets say written on its parts.
   * @param {Element} parent @param {SVGSVGElement} drawing @param {Box} box */
  function drawing(parent, drawing, box) {
    const copy = /** @type {SVGSVGElement} */ (drawing.cloneNode(true));
    const [from, to] = [drawing, copy].map((one) => [one, ...one.querySelectorAll("*")]);
    from.forEach((one, i) => {
      const style = getComputedStyle(one);
      const node = to[i];
      if (style.display === "none") return node.remove();
      for (const name of PAINT) {
        const value = style.getPropertyValue(name);
        const [paint, alpha] = value === "none" ? ["none", 1] : plain(value);
        node.setAttribute(name, alpha ? paint : "none");
      }
      for (const name of KEPT) node.setAttribute(name, style.getPropertyValue(name));
      if (style.vectorEffect === "non-scaling-stroke") {
        const { a = 1 } = /** @type {SVGGraphicsElement} */ (one).getScreenCTM() ?? {};
        node.setAttribute("stroke-width", String(parseFloat(style.strokeWidth) / a));
      }
      if (style.transform !== "none") node.setAttribute("transform", style.transform);
      for (const name of ["class", "style", "tabindex"]) node.removeAttribute(name);
    });
    copy.removeAttribute("transform");
    for (const [name, value] of Object.entries(box)) copy.setAttribute(name, String(value));
    copy.setAttribute("overflow", getComputedStyle(drawing).overflow);
    parent.append(copy);
  }

  /** Draws a figure. @param {HTMLElement} root @param {string} note */
  function draw(root, note) {
    const origin = root.getBoundingClientRect();
    /** @param {DOMRect} rect @returns {Box} */
    const here = ({ x, y, width, height }) => ({
      x: x - origin.x + MARGIN,
      y: y - origin.y + MARGIN,
      width,
      height,
    });
    const [width, height] = [origin.width + 2 * MARGIN, origin.height + 2 * MARGIN + FOOT];
    const svg = document.createElementNS(SVG, "svg");
    for (const [name, value] of Object.entries({ xmlns: SVG, width, height, role: "img" })) {
      svg.setAttribute(name, String(value));
    }
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    add(svg, "title", {}).textContent = root.getAttribute("aria-label") ?? "";
    add(svg, "desc", {}).textContent = root.querySelector('[data-role="live"]')?.textContent ?? "";
    rect(svg, { x: 0, y: 0, width, height }, "fill", "#fff");

    /** Its empty boxes before and after, which no element stands for.
     * @param {Element} parent @param {Element} node @param {"::before" | "::after"} which */
    function pseudo(parent, node, which) {
      const style = getComputedStyle(node, which);
      if (style.content !== '""' || style.position !== "absolute" || style.display === "none")
        return;
      const box = here(node.getBoundingClientRect());
      const outer = getComputedStyle(node);
      const x = box.x + parseFloat(outer.borderLeftWidth) + parseFloat(style.left);
      const y = box.y + parseFloat(outer.borderTopWidth) + parseFloat(style.top);
      const [w, h] = [parseFloat(style.width), parseFloat(style.height)];
      const { a, d } = new DOMMatrix(style.transform === "none" ? "" : style.transform);
      const [left, top] = style.transformOrigin.split(" ").map(parseFloat);
      const [x1, x2] = [left - a * left, left + a * (w - left)].sort((one, two) => one - two);
      const [y1, y2] = [top - d * top, top + d * (h - top)].sort((one, two) => one - two);
      behind(parent, { x: x + x1, y: y + y1, width: x2 - x1, height: y2 - y1 }, style);
    }

    /** @param {Element} parent @param {Text} node @param {Element} owner */
    function texts(parent, node, owner) {
      const style = getComputedStyle(owner);
      const range = document.createRange();
      const whole = node.data;
      /** @param {number} from @param {number} to */
      const boxOf = (from, to) => {
        range.setStart(node, from);
        range.setEnd(node, to);
        return here(range.getBoundingClientRect());
      };
      if (style.writingMode !== "horizontal-tb") {
        let up = owner;
        while (up !== root && getComputedStyle(up).rotate === "none" && up.parentElement) {
          up = up.parentElement;
        }
        const turned = up === root ? 90 : -90;
        return write(parent, whole.trim(), boxOf(0, whole.length), style, turned);
      }
      /** @type {{from: number, to: number, y: number}[]} */
      const lines = [];
      /** @param {number} from @param {number} to */
      const place = (from, to) => {
        const { y } = boxOf(from, to);
        if (range.getClientRects().length > 1 && to - from > 1) {
          for (let at = from; at < to; at += 1) place(at, at + 1); // it is broken
          return;
        }
        const last = lines[lines.length - 1];
        if (last && Math.abs(last.y - y) < 3) last.to = to;
        else lines.push({ from, to, y });
      };
      for (const { 0: word, index } of whole.matchAll(/\S+/g)) place(index, index + word.length);
      for (const { from, to } of lines) {
        write(parent, whole.slice(from, to).replace(/\s+/g, " "), boxOf(from, to), style);
      }
    }

    /** @param {Element} parent @param {Element} node */
    function walk(parent, node) {
      const style = getComputedStyle(node);
      if (!node.checkVisibility({ visibilityProperty: true })) return;
      const box = here(node.getBoundingClientRect());
      const opacity = Number(style.opacity);
      const into = opacity < 1 ? add(parent, "g", { opacity }) : parent;
      if (node instanceof SVGSVGElement) return drawing(into, node, box);
      if (node instanceof HTMLCanvasElement) {
        const look = { preserveAspectRatio: "none", style: "image-rendering: pixelated" };
        return add(into, "image", { href: node.toDataURL(), ...box, ...look });
      }
      if (node instanceof HTMLInputElement && ["range", "checkbox", "radio"].includes(node.type)) {
        return control(into, node, box, style);
      }
      const boxes = style.display === "inline" ? [...node.getClientRects()].map(here) : [box];
      for (const one of boxes) behind(into, one, style, node.matches(":focus-visible"));
      if (node instanceof HTMLInputElement || node instanceof HTMLSelectElement) {
        return control(into, node, box, style);
      }
      pseudo(into, node, "::before");
      for (const child of node.childNodes) {
        if (child instanceof Text) texts(into, child, node);
        else if (child instanceof Element) walk(into, child);
      }
      pseudo(into, node, "::after");
    }
    walk(svg, root);

    const style = getComputedStyle(root);
    const foot = add(svg, "text", {
      x: width - MARGIN,
      y: height - MARGIN,
      fill: "#566070",
      "font-family": style.fontFamily,
      "font-size": 12,
      "text-anchor": "end",
    });
    foot.textContent = note;
    return new XMLSerializer().serializeToString(svg);
  }

  const picture = {
    /** The figure as the text of an SVG file: all of it, what scrolls too, in
     * light colours, without the buttons that are not pressed.
     * @param {HTMLElement} root @param {string} note */
    svg(root, note) {
      for (const motion of root.getAnimations({ subtree: true })) motion.finish();
      const { colorScheme, width } = root.style;
      root.classList.add("pictured");
      root.style.colorScheme = "light";
      try {
        const wide = Math.max(
          root.scrollWidth,
          ...[...root.children].map((one) => one.scrollWidth),
        );
        root.style.width = `${wide + root.offsetWidth - root.clientWidth}px`;
        return draw(root, note);
      } finally {
        root.classList.remove("pictured");
        Object.assign(root.style, { colorScheme, width });
      }
    },
    /** An SVG's picture in dots, two for each pixel of the page.
     * @param {string} svg @returns {Promise<Blob>} */
    async png(svg) {
      const image = new Image();
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
      await image.decode();
      const [width, height] = [2 * image.naturalWidth, 2 * image.naturalHeight];
      const canvas = Object.assign(document.createElement("canvas"), { width, height });
      canvas.getContext("2d")?.drawImage(image, 0, 0, width, height);
      return new Promise((done, fail) =>
        canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("it is too large")))),
      );
    },
  };
  Object.assign(self, { lookbackPicture: picture });
})();
