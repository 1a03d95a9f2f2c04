// @ts-check
// Brings the widgets of a page to life with no kernel, each when it comes near.
// A classic script, so that it also runs from file://. Every widget it finds is
// an anywidget: its module is in the state's `_esm`, its style sheet in `_css`.
// Long values of a state wait in files, which lazy_load.py laid there.
//
// What a test may rely on, in each widget:
//   .lookback-widget[data-widget="alignment-stepper"]   the root
//   [data-role="live"]       the step in words, polite
//   [data-role="problem"]    what is wrong with an input
//   [data-action="next"]     a control: previous first last play table …
//   [data-role="weight"][data-value]   a number at full precision
// and below it, to take it along:
//   .lookback-take [data-action="link"]   and svg, png
(() => {
  /** @typedef {Record<string, unknown>} Traits */
  /** @typedef {(model: Model, value: unknown) => void} Listener */
  /** @typedef {(value: any, state: any) => boolean} Fits any: of a link, so anything */
  /** @typedef {{initialize?: (context: {model: Model}) => unknown,
   *   render: (context: {model: Model, el: HTMLElement}) => unknown,
   *   keeps?: Record<string, Fits>}} Widget */
  /** What stands on the page of a model: short values, and the names of files.
   * @typedef {{state: Traits, files?: Record<string, string>,
   *   bytes?: {file: string, parts: [string[], number][]}}} Kept */
  /** @typedef {{svg: (el: Element, note: string) => string,
   *   png: (svg: string) => Promise<Blob>}} Camera what picture.js is */
  /** A figure that stands on the page: `first` is its state as the page has it.
   * @typedef {{model: Model, first: Traits, keeps: Record<string, Fits>}} Figure */

  const MIME = "application/vnd.jupyter.widget-";
  const LONGEST = 4000; // letters of a link's state
  const page = /** @type {HTMLScriptElement} */ (document.currentScript);

  /** The page's scripts of one kind, with what they hold: null if it is not JSON.
   * @param {"state" | "view"} kind */
  const json = (kind) =>
    [...document.querySelectorAll(`script[type="${MIME}${kind}+json"]`)].map((script) => {
      try {
        return { script, data: JSON.parse(script.textContent ?? "") };
      } catch {
        return { script, data: null };
      }
    });

  /** The part of a Backbone model that anywidgets use. */
  class Model {
    /** @param {Traits} state */
    constructor(state) {
      this.state = { ...state };
      /** @type {Map<string, Set<Listener>>} */
      this.listeners = new Map();
    }
    /** @param {string} name */
    get(name) {
      return this.state[name];
    }
    /** @param {string} name @param {unknown} value */
    set(name, value) {
      if (Object.is(this.state[name], value)) return;
      this.state[name] = value;
      this.fire(`change:${name}`, value);
      this.fire("change", value);
    }
    /** @param {string} event @param {unknown} value */
    fire(event, value) {
      for (const react of [...(this.listeners.get(event) ?? [])]) react(this, value);
    }
    /** @param {string} event @param {Listener} react */
    on(event, react) {
      const known = this.listeners.get(event) ?? new Set();
      this.listeners.set(event, known.add(react));
    }
    /** @param {string} event @param {Listener} [react] */
    off(event, react) {
      if (react) this.listeners.get(event)?.delete(react);
      else this.listeners.delete(event);
    }
    save_changes() {}
    send() {}
    /** Where the files lie that a figure may ask for later. */
    get files() {
      return new URL("machines/", page.src).href;
    }
  }

  /** The same result for the same key: files once, modules once, models once.
   * @template Result
   * @param {(key: string) => Result} make @returns {(key: string) => Result} */
  const once = (make) => {
    /** @type {Map<string, Result>} */
    const kept = new Map();
    return (key) => {
      if (!kept.has(key)) kept.set(key, make(key));
      return /** @type {Result} */ (kept.get(key));
    };
  };
  const load = once(
    (esm) => import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" }))),
  );
  const sheet = once((css) => {
    document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
  });
  /** The sheets in a `_css`, as base.py names them, each once. @param {string} css */
  const style = (css) => css.split(/^(?=\/\* [\w/]+\.css \*\/$)/m).forEach(sheet);

  /** Runs a script of the book's.
   * @param {string} name @returns {Promise<void>} */
  const run = (name) =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.onload = () => resolve();
      script.onerror = () => reject(new Error("a part of it did not come"));
      script.src = new URL(name, page.src).href;
      document.head.append(script);
      script.remove();
    });
  const camera = once(run);
  /** A value that waits in a file. */
  const value = once(async (file) => {
    await run(`waiting/${file}.js`);
    return /** @type {any} */ (self).lookbackCame[file];
  });
  /** Bytes that wait in a file, packed; a page from disk or in a frame that
   * stands apart may fetch none, and runs a script that holds them. */
  const bytes = once(async (file) => {
    /** @type {{ok: boolean, body: ReadableStream | null}} */
    let reply;
    if (self.origin === "null") {
      const packed = Uint8Array.from(atob(await value(file)), (letter) => letter.charCodeAt(0));
      reply = new Response(packed);
    } else reply = await fetch(new URL(`waiting/${file}.bin`, page.src));
    if (!reply.ok || !reply.body) throw new Error("a part of it did not come");
    return new Response(reply.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  });

  /** The whole state of a model, from the page and from its files.
   * @param {Kept} kept @returns {Promise<Traits>} */
  async function whole({ state, files = {}, bytes: packed }) {
    const read = async (/** @type {[string, string]} */ [name, file]) => [name, await value(file)];
    const data = packed && bytes(packed.file);
    const all = {
      ...state,
      ...Object.fromEntries(await Promise.all(Object.entries(files).map(read))),
    };
    let start = 0;
    for (const [path, length] of packed?.parts ?? []) {
      const last = path[path.length - 1];
      const owner = path.slice(0, -1).reduce((inside, step) => inside[step], all);
      owner[last] = new DataView(/** @type {ArrayBuffer} */ (await data), start, length);
      start += length;
    }
    return all;
  }

  /** @type {Record<string, Kept>} */
  const states = Object.assign({}, ...json("state").map(({ data }) => data?.state));
  const wake = once(async (id) => {
    const first = await whole(states[id]);
    const model = new Model(first);
    if (first._css) style(String(first._css));
    const exported = (await load(String(first._esm))).default;
    /** @type {Widget} */
    const widget = typeof exported === "function" ? await exported() : exported;
    await widget.initialize?.({ model });
    const figure = { model, first, keeps: widget.keeps ?? {} };
    return { widget, figure };
  });

  /** What is to start when a node comes near.
   * @type {Map<Element, () => void>} */
  const waiting = new Map();
  const watch = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) waiting.get(target)?.();
    },
    { rootMargin: "100% 0px" }, // a screen above and below
  );
  /** Waits until a node comes near, by scrolling or by the keyboard, or is told to start.
   * @param {Element} node */
  function whenNear(node) {
    /** @type {() => void} */
    let start = () => {};
    /** @type {Promise<void>} */
    const come = new Promise((done) => {
      start = () => {
        watch.unobserve(node);
        waiting.delete(node);
        done();
      };
    });
    waiting.set(node, start);
    node.addEventListener("focusin", start, { once: true });
    watch.observe(node);
    return { come, start };
  }

  // A link to a figure: #look-lattice-1-eyJ…, its kind, its number on the page,
  // and what the reader changed. What does not fit changes nothing.

  /** What the reader changed. @param {Figure} figure */
  function changes({ model, first, keeps }) {
    const names = Object.keys(keeps);
    const text = (/** @type {unknown} */ x) => JSON.stringify(x);
    const now = names.filter((name) => text(model.get(name)) !== text(first[name]));
    return Object.fromEntries(now.map((name) => [name, model.get(name)]));
  }
  /** @param {string} name of a figure @param {Figure} figure */
  function linkTo(name, figure) {
    const now = changes(figure);
    const letters = String.fromCharCode(...new TextEncoder().encode(JSON.stringify(now)));
    const code = btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    return `#look-${name}${Object.keys(now).length ? `-${code}` : ""}`;
  }
  /** Gives a figure the state of a link; one that does not fit is an error, and
   * the state becomes the page's.
   * @param {Figure} figure @param {string} code */
  function restore({ model, first, keeps }, code) {
    const known = Object.keys(keeps);
    /** @param {Traits} state */
    const set = (state) => {
      for (const name of known) model.set(name, state[name]);
    };
    try {
      if (code.length > LONGEST) throw new Error("it is too long");
      const letters = atob(code.replaceAll("-", "+").replaceAll("_", "/"));
      const utf8 = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
      const given = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(utf8) || "{}");
      const state = { ...first, ...given };
      if (
        !Object.keys(given).every((name) => known.includes(name)) ||
        !known.every((name) => keeps[name](state[name], state))
      ) {
        throw new Error("it does not fit");
      }
      set(state);
    } catch (error) {
      set(first);
      throw error;
    }
  }

  /** The bar below a figure: its link, its picture.
   * @param {HTMLElement} el @param {string} name @param {Figure} figure */
  function takeAlong(el, name, figure) {
    const bar = document.createElement("div");
    bar.className = "lookback-take";
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Take this figure along");
    const told = document.createElement("span");
    told.setAttribute("role", "status");
    /** @param {string} action @param {string} text @param {() => Promise<Node | string>} act */
    const button = (action, text, act) => {
      const node = document.createElement("button");
      node.type = "button";
      node.dataset.action = action;
      node.textContent = text;
      node.onclick = async () => {
        try {
          told.replaceChildren(await act());
        } catch (error) {
          told.textContent = `That failed (${error instanceof Error ? error.message : error}).`;
        }
        told.querySelector("input")?.select();
      };
      return node;
    };
    const link = button("link", "Copy link", async () => {
      const address = new URL(linkTo(name, figure), location.href).href;
      try {
        await navigator.clipboard.writeText(address);
        return "Copied: it opens the figure as it stands now.";
      } catch {
        const given = { readOnly: true, value: address, ariaLabel: "The link, to copy" };
        return Object.assign(document.createElement("input"), given);
      }
    });
    /** @param {string} kind @param {(camera: Camera, svg: string) => Blob | Promise<Blob>} make */
    const picture = (kind, make) =>
      button(kind, kind.toUpperCase(), async () => {
        await camera("picture.js");
        /** @type {Camera} */
        const taken = /** @type {any} */ (self).lookbackPicture;
        const root = /** @type {Element} */ (el.firstElementChild);
        const svg = taken.svg(root, page.dataset.from ?? "");
        const href = URL.createObjectURL(await make(taken, svg));
        const chapter = location.pathname.match(/([\w-]+)\.html$/)?.[1] ?? "figure";
        const download = `${chapter}-${name}.${kind}`;
        Object.assign(document.createElement("a"), { href, download }).click();
        setTimeout(() => URL.revokeObjectURL(href), 60_000);
        return `Saved as ${download}.`;
      });
    bar.append(
      link,
      picture("svg", (_, svg) => new Blob([svg], { type: "image/svg+xml" })),
      picture("png", (camera, svg) => camera.png(svg)),
      told,
    );
    el.after(bar);
  }

  /** One view, in place of its picture once it is near; a failure says so, and
   * stops no other view.
   * @param {Element} script @param {string | undefined} id of its model
   * @param {string} name of the figure, in links */
  function show(script, id, name) {
    const slot = document.createElement("div");
    const el = document.createElement("div");
    slot.className = "lookback-figure";
    slot.append(el);
    script.after(slot);
    const before = script.previousElementSibling;
    const picture = before?.matches(".widget-picture") ? before : null;
    async function start() {
      if (id === undefined || !states[id]) throw new Error("its data cannot be read");
      const { widget, figure } = await wake(id);
      await widget.render({ model: figure.model, el });
      takeAlong(el, name, figure);
      const held = picture?.contains(document.activeElement);
      picture?.remove();
      /** @type {HTMLElement | null} */
      const control = el.querySelector("button, input, select, [tabindex='0']");
      if (held) control?.focus();
      return figure;
    }
    picture?.setAttribute("tabindex", "0");
    const near = whenNear(picture ?? slot);
    const ready = near.come.then(start).catch((error) => {
      slot.setAttribute("role", "alert");
      const reason = error instanceof Error ? error.message : String(error);
      slot.textContent = `This figure could not start (${reason}).`;
      return null;
    });
    return { slot, ready, start: near.start };
  }

  /** @type {Map<string, ReturnType<typeof show>>} */
  const figures = new Map();
  for (const { script, data } of json("view")) {
    const id = data?.model_id;
    const path = String(states[id]?.state._anywidget_id).split(".");
    const kind = path[path.length - 2]?.replaceAll("_", "-") ?? "figure";
    let n = 1;
    while (figures.has(`${kind}-${n}`)) n += 1;
    figures.set(`${kind}-${n}`, show(script, id, `${kind}-${n}`));
  }

  const note = document.createElement("p");
  note.setAttribute("role", "alert");
  /** Goes to the figure of the address, if it names one. */
  async function follow() {
    note.remove();
    if (!location.hash.startsWith("#look-")) return;
    const [, name, code = ""] = location.hash.match(/^#look-([a-z-]+-\d+)(?:-([\w-]*))?$/) ?? [];
    const known = figures.get(name);
    known?.start();
    const figure = await known?.ready;
    if (known && figure) {
      try {
        restore(figure, code);
      } catch {
        note.textContent =
          "The link that you followed does not fit this figure. Here it stands as the page has it.";
        known.slot.before(note);
      }
    } else {
      note.textContent = "The link that you followed leads to no figure of this page.";
      document.querySelector("article h1")?.after(note);
    }
    (note.isConnected || !known ? note : known.slot).scrollIntoView();
  }
  addEventListener("hashchange", follow);
  follow();

  // BertViz's frames. From disk, browsers let no frame that stands apart load a
  // file, and these need three. There, with no site to protect, they do not.
  /** @type {NodeListOf<HTMLIFrameElement>} */
  const frames = document.querySelectorAll("iframe[data-waiting]");
  for (const frame of frames) {
    if (location.protocol === "file:") frame.removeAttribute("sandbox");
    whenNear(frame).come.then(async () => {
      const file = frame.dataset.waiting;
      if (file) frame.srcdoc = await value(file);
      delete frame.dataset.waiting;
    });
  }
})();
