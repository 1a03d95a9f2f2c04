// @ts-check
// The picture of the opened Transformer: every station of one layer of each
// stack, drawn from its numbers, and ribbons as wide as the weights.
import { share } from "./lib/text.js";
import { button, current, element, press, put, svg } from "./lib/view.js";
import facts from "./opened.json" with { type: "json" };
import { rowOf, where } from "./stations.js";

/** @typedef {import("./stations.js").Station} Station */
/** @typedef {import("./stations.js").Run} Run */
/** @typedef {import("./stations.js").Side} Side */
/** @typedef {import("./tracer.js").Tensor} Tensor */
/** @typedef {import("./opened.js").State} State */

/** Colours of the page as the browser resolves them, [r, g, b] of 0 to 255.
 * @param {HTMLElement} probe @param {string[]} names */
function palette(probe, names) {
  const canvas = element("canvas");
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  /** @type {Record<string, number[]>} */
  const found = {};
  probe.style.transition = "none"; // else less motion reads the color before
  for (const name of names) {
    probe.style.color = `var(--${name})`;
    if (!pen) continue;
    pen.fillStyle = getComputedStyle(probe).color;
    pen.fillRect(0, 0, 1, 1);
    found[name] = [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  }
  return found;
}

/** Paints one number a dot. @param {HTMLCanvasElement} canvas @param {number} width
 * @param {number} height @param {(x: number, y: number) => [colour: number[], part: number]} of
 * @param {number[]} ground */
function paint(canvas, width, height, of, ground) {
  [canvas.width, canvas.height] = [width, height];
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const image = pen.createImageData(width, height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const [colour, part] = of(x, y);
      const at = 4 * (y * width + x);
      for (let c = 0; c < 3; c += 1)
        image.data[at + c] = ground[c] + (colour[c] - ground[c]) * Math.min(1, Math.max(0, part));
      image.data[at + 3] = 255;
    }
  }
  pen.putImageData(image, 0, 0);
}

const HUES = /** @type {Partial<Record<string, string>>} */ ({
  q: "q",
  k: "k",
  v: "value",
  hidden: "good",
  logits: "good",
  probabilities: "good",
});
const LEGEND =
  "Each column is a token. Blue is above 0, orange below; queries, keys and values have hues of their own; purple is an attention weight, green a unit that is on, a logit, a probability.";
const BANDS = 32; // of a vector's numbers, each drawn by its largest

/** Vectors, a column each. @param {HTMLCanvasElement} canvas @param {Tensor} tensor
 * @param {string} kind @param {Record<string, number[]>} colours */
function paintVectors(canvas, { shape: [count, size], data }, kind, colours) {
  const bands = Math.min(BANDS, size);
  const rows = Array.from({ length: count }, (_, x) =>
    Array.from({ length: bands }, (_, y) => {
      let largest = 0;
      for (
        let k = Math.floor((y * size) / bands);
        k < Math.floor(((y + 1) * size) / bands);
        k += 1
      ) {
        const one = data[x * size + k];
        if (Math.abs(one) > Math.abs(largest)) largest = one;
      }
      return largest;
    }),
  );
  const scale = Math.max(1e-9, ...rows.flat().map(Math.abs));
  paint(
    canvas,
    count,
    bands,
    (x, y) => [
      colours[rows[x][y] < 0 ? "minus" : (HUES[kind] ?? "high")],
      Math.sqrt(Math.abs(rows[x][y]) / scale),
    ],
    colours.cell,
  );
}

/** One station's small picture, a button.
 * @param {(column: number | null, row: number) => void} chosen @param {string} kind
 * @param {(column: number | null, row: number) => void} hovered */
function thumb(chosen, kind, hovered) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  /** The dot below the pointer. @param {MouseEvent} event @returns {[number, number]} */
  const dot = ({ clientX, clientY }) => {
    const box = canvas.getBoundingClientRect();
    const at = (/** @type {number} */ share, /** @type {number} */ count) =>
      Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    return [
      at((clientX - box.left) / (box.width || 1), canvas.width),
      at((clientY - box.top) / (box.height || 1), canvas.height),
    ];
  };
  canvas.onpointermove = (event) => hovered(...dot(event));
  canvas.onpointerleave = () => hovered(null, 0);
  const name = element("span", { class: "name" });
  const node = element(
    "button",
    {
      type: "button",
      class: `thumb of-${kind}`,
      "data-action": "station",
      onclick(event) {
        const [column, row] = dot(event);
        chosen(event.detail > 0 ? column : null, row); // by keyboard no column
      },
    },
    element("span", { class: "sheet" }, canvas, element("i", { class: "here" })),
    name,
  );
  return { node, canvas, name };
}

/** The two stacks: every station of one layer of each, and what is below and above.
 * @param {Station[]} all @param {(changes: Partial<State>) => void} set
 * @param {(side: Side, at: number) => void} chosen a token */
export function picture(all, set, chosen) {
  /** @typedef {{kind: string, of: (layer: number) => Station, parts: ReturnType<typeof thumb>[]}} Place */
  /** @type {Place[]} */
  const places = [];
  /** @param {(layer: number) => Station} of @param {number} [copies] heads */
  const place = (of, copies = 1) => {
    const { kind } = of(0);
    const parts = Array.from({ length: copies }, (_, head) =>
      thumb(
        (column, row) => {
          const station = of(place_.layer);
          const at = station.columns === "encoder" ? "source" : "target";
          const map = kind === "weights";
          /** @type {Partial<State>} */
          const changes = { station: station.name, layer: place_.layer };
          if (map) changes.head = head;
          // The first click opens a station, the next one chooses a token in it.
          const open = parts[head].node.getAttribute("aria-current") === "step";
          if (column !== null && open) changes[at] = map ? row : column;
          set(changes);
        },
        kind,
        (column, row) => hover(of(place_.layer), head, column, row),
      ),
    );
    places.push({ kind, of, parts });
    return parts.map((one) => one.node);
  };
  const place_ = { layer: 0 };
  const readout = element("p", { class: "readout" }, LEGEND);
  /** Lights a token's column everywhere, and a weight's two ends.
   * @param {Station} station @param {number} head @param {number | null} column
   * @param {number} row */
  function hover({ name, kind, side, part, columns }, head, column, row) {
    const map = kind === "weights";
    const keys = part === "cross" || side === "encoder" ? "encoder" : "decoder";
    /** @type {Record<string, number[]>} */
    const lit = { encoder: [], decoder: [] };
    if (column !== null) {
      lit[map ? keys : columns].push(column);
      if (map) lit[side].push(row);
    }
    for (const [which, bar_] of Object.entries(tokens)) {
      [...bar_.children].forEach((chip, i) =>
        chip.classList.toggle("over", lit[which].includes(i)),
      );
      node.style.setProperty(`--over-${which}`, String(lit[which][0] ?? -9));
    }
    node.classList.toggle("hovered", column !== null);
    readout.textContent = LEGEND;
    const run = painted.run;
    if (column === null || !run) return;
    const words = { encoder: run.source, decoder: run.target };
    if (!map) readout.textContent = `${facts.stations[kind][0]} of “${words[columns][column]}”`;
    else if (run.trace[name]) {
      const weight = rowOf(run.trace, name, head, row)[column];
      readout.textContent = `head ${head + 1}: “${words[side][row]}” attends to “${words[keys][column]}”, weight ${share(weight)}`;
    }
  }
  /** @param {string} side @param {string | null} part @param {string} kind */
  const find = (side, part, kind) => (/** @type {number} */ layer) =>
    /** @type {Station} */ (
      all.find(
        (one) =>
          one.side === side &&
          one.part === part &&
          one.kind === kind &&
          (part === null || one.layer === layer),
      )
    );
  /** @type {Record<string, HTMLElement>} */
  const tokens = {};
  /** @param {string} side */
  function stack(side) {
    const of = (/** @type {string | null} */ part, /** @type {string} */ kind, copies = 1) =>
      place(find(side, part, kind), copies);
    /** @param {"attention" | "cross"} part @param {string} title */
    const attention = (part, title) =>
      element(
        "div",
        { class: "block", "data-part": part },
        element("p", { class: "title" }, title),
        element(
          "div",
          { class: "lane" },
          ...of(part, "norm"),
          ...of(part, "q"),
          ...of(part, "k"),
          ...of(part, "v"),
        ),
        element("div", { class: "lane maps" }, ...of(part, "weights", 4)),
        element(
          "div",
          { class: "lane" },
          ...of(part, "heads"),
          ...of(part, "out"),
          ...of(part, "stream"),
        ),
      );
    tokens[side] = element("div", {
      onkeydown(event) {
        const step = Number(event.key === "ArrowRight") - Number(event.key === "ArrowLeft");
        const chips = /** @type {HTMLElement[]} */ ([...tokens[side].children]);
        const to = chips[chips.indexOf(/** @type {HTMLElement} */ (event.target)) + step];
        if (!step || !to) return;
        event.preventDefault();
        event.stopPropagation();
        to.click();
        to.focus();
      },
      "data-roving": "tokens",
      class: "tokens",
      role: "group",
      "aria-label": `${side} tokens`,
    });
    return element(
      "div",
      { class: `stack ${side}` },
      element("p", { class: "side" }, side === "encoder" ? "Encoder" : "Decoder"),
      tokens[side],
      element("div", { class: "lane" }, ...of(null, "embedding"), ...of(null, "position")),
      attention("attention", side === "encoder" ? "Self-attention" : "Masked self-attention"),
      ...(side === "decoder" ? [attention("cross", "Cross-attention")] : []),
      element(
        "div",
        { class: "block", "data-part": "feedforward" },
        element("p", { class: "title" }, "Feed-forward"),
        element(
          "div",
          { class: "lane" },
          ...of("feedforward", "norm"),
          ...of("feedforward", "hidden"),
          ...of("feedforward", "inner"),
          ...of("feedforward", "stream"),
        ),
      ),
      side === "encoder"
        ? element(
            "div",
            { class: "lane end" },
            ...of(null, "memory"),
            element(
              "p",
              { class: "over" },
              "→ keys and values of cross-attention, in every decoder layer",
            ),
          )
        : element(
            "div",
            { class: "lane end" },
            ...of(null, "last"),
            ...of(null, "logits"),
            ...of(null, "probabilities"),
          ),
    );
  }
  const [encoder, decoder] = [stack("encoder"), stack("decoder")];
  const ribbons = svg("svg", { class: "ribbons", "aria-hidden": "true" });
  const node = element(
    "div",
    { class: "model", "data-roving": "stations" },
    encoder,
    decoder,
    ribbons,
    readout,
  );
  const probe = element("i", { hidden: true });
  node.append(probe);

  /** @type {Record<string, number[]> | null} until the theme changes */
  let colours = null;
  /** @type {{run: Run | null, layer: number, scores: string}} */
  let painted = { run: null, layer: -1, scores: "" };
  /** @param {Run} run @param {number} layer @param {string} scores whose maps show them */
  function repaint(run, layer, scores) {
    if (!colours) {
      probe.hidden = false;
      colours = palette(probe, [
        "cell",
        "edge",
        "high",
        "minus",
        "q",
        "k",
        "value",
        "weight",
        "good",
      ]);
      probe.hidden = true;
    } else if (painted.run === run && painted.layer === layer && painted.scores === scores) return;
    painted = { run, layer, scores };
    const paints = colours;
    for (const { kind, of, parts } of places) {
      const station = of(layer);
      const tensor = run.trace[station.name];
      parts.forEach(({ canvas, node, name }, head) => {
        const [title, , , , , short] = facts.stations[station.kind];
        const label = kind === "weights" ? `head ${head + 1}` : title;
        name.textContent = kind === "weights" ? label : (short ?? title);
        node.dataset.station = station.name;
        node.setAttribute("aria-label", `${name.textContent}: ${where(station)}`);
        node.classList.toggle("empty", !tensor && kind !== "probabilities");
        if (kind === "probabilities") {
          paint(
            canvas,
            run.steps.length,
            5,
            (x, y) => [paints.good, run.steps[x].rivals[y]?.p ?? 0],
            paints.cell,
          );
        } else if (!tensor) paint(canvas, 1, 1, () => [paints.cell, 1], paints.cell);
        else if (station.name.replace("weights", "scores") === scores) {
          const { shape, data } = run.trace[scores];
          const most = Math.max(1e-9, ...data.filter(Number.isFinite).map(Math.abs));
          const of_ = (/** @type {number} */ x, /** @type {number} */ y) =>
            data[(head * shape[1] + y) * shape[2] + x];
          paint(
            canvas,
            shape[2],
            shape[1],
            (x, y) =>
              Number.isFinite(of_(x, y))
                ? [paints[of_(x, y) < 0 ? "minus" : "high"], Math.sqrt(Math.abs(of_(x, y)) / most)]
                : [paints.edge, 0.6],
            paints.cell,
          );
        } else if (kind === "weights") {
          const [, rows, columns] = tensor.shape;
          paint(
            canvas,
            columns,
            rows,
            (x, y) => [paints.weight, Math.sqrt(tensor.data[(head * rows + y) * columns + x])],
            paints.cell,
          );
        } else paintVectors(canvas, tensor, kind, paints);
      });
    }
  }

  /** Ribbons from the values to the chosen token's head output, as wide as the weights.
   * @param {Run} run @param {Station} station @param {State} state */
  function weave(run, station, { layer, head, source, target }) {
    ribbons.replaceChildren();
    const { part, side } = station;
    if (part !== "attention" && part !== "cross") return;
    const weights = `${side}.${layer}.${part}.weights`;
    if (!run.trace[weights]) return;
    const sheet = (/** @type {string} */ kind) =>
      node.querySelector(`[data-station="${side}.${layer}.${part}.${kind}"] canvas`);
    const [from, to] = [sheet("v"), sheet("heads")];
    if (!from || !to) return;
    const base = node.getBoundingClientRect();
    const [a, b] = [from.getBoundingClientRect(), to.getBoundingClientRect()];
    const at = side === "encoder" ? source : target;
    const row = rowOf(run.trace, weights, head, at);
    const columns =
      side === "encoder" || part === "attention"
        ? run[side === "encoder" ? "source" : "target"]
        : run.source;
    const rows = side === "encoder" ? run.source.length : run.target.length;
    put(ribbons, {
      viewBox: `0 0 ${base.width} ${base.height}`,
      width: base.width,
      height: base.height,
    });
    const end = [b.left - base.left + ((at + 0.5) * b.width) / rows, b.top - base.top];
    row.forEach((weight, j) => {
      if (weight < 0.02) return;
      const start = [
        a.left - base.left + ((j + 0.5) * a.width) / columns.length,
        a.bottom - base.top,
      ];
      const half = (end[1] - start[1]) / 2;
      ribbons.append(
        svg(
          "path",
          {
            d: `M${start[0]} ${start[1]}C${start[0]} ${start[1] + half} ${end[0]} ${end[1] - half} ${end[0]} ${end[1]}`,
            "stroke-width": Math.max(1, 9 * weight),
          },
          svg("title", {}, `${columns[j]}: ${share(weight)}`),
        ),
      );
    });
  }

  let laid = "";
  return {
    node,
    /** Other colours: all is painted again. */
    forget() {
      colours = null;
    },
    /** @param {Run} run @param {State} state @param {Station} station */
    draw(run, state, station) {
      place_.layer = state.layer;
      repaint(run, state.layer, station.kind === "scores" ? station.name : "");
      const key = JSON.stringify([run.source, run.target]);
      if (laid !== key) {
        laid = key;
        for (const [side, words] of /** @type {const} */ ([
          ["encoder", run.source],
          ["decoder", run.target],
        ])) {
          tokens[side].replaceChildren(
            ...words.map((piece, at) => {
              const chip = button("token", "", () => chosen(side, at), piece);
              chip.append(element("span", {}, piece));
              chip.onpointerenter = () => {
                node.style.setProperty(`--over-${side}`, String(at));
                node.classList.add("hovered");
              };
              chip.onpointerleave = () => {
                node.style.setProperty(`--over-${side}`, "-9");
                node.classList.remove("hovered");
              };
              chip.lang = side === "encoder" ? "en" : "fr";
              return chip;
            }),
          );
        }
      }
      const marks = {
        "--s": state.source,
        "--ns": run.source.length,
        "--t": state.target,
        "--nt": run.target.length,
      };
      for (const [name, value] of Object.entries(marks))
        node.style.setProperty(name, String(value));
      for (const [side, at] of /** @type {const} */ ([
        ["encoder", state.source],
        ["decoder", state.target],
      ])) {
        [...tokens[side].children].forEach((one, i) => {
          press(one, i === at);
          /** @type {HTMLElement} */ (one).tabIndex = i === at ? 0 : -1;
        });
      }
      for (const { parts, of, kind } of places) {
        parts.forEach((one, head) => {
          const { name } = of(state.layer);
          const scores = kind === "weights" && station.kind === "scores";
          const here =
            name === station.name || (scores && name === station.name.replace("scores", "weights"));
          const now = here && (kind !== "weights" || head === state.head);
          current(one.node, now);
          one.node.tabIndex = now ? 0 : -1;
          const walked = node.contains(document.activeElement);
          if (now && walked && document.activeElement?.matches(".thumb")) one.node.focus();
        });
      }
      weave(run, station, state);
    },
  };
}
