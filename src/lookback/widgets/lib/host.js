// @ts-check
// Brings the widgets of a page to life with no kernel. A classic script, so
// that it also runs from file://. Every widget it finds is an anywidget: its
// module is in the state's `_esm`, its style sheet in `_css`.
//
// What a test may rely on, in each widget:
//   .lookback-widget[data-widget="alignment-stepper"]   the root
//   [data-role="live"]       the step in words, polite
//   [data-role="problem"]    what is wrong with an input
//   [data-action="next"]     a control: previous first last play table …
//   [data-role="weight"][data-value]   a number at full precision
(() => {
  /** @typedef {Record<string, unknown>} Traits */
  /** @typedef {(model: Model, value: unknown) => void} Listener */
  /** @typedef {{initialize?: (context: {model: Model}) => unknown,
   *   render: (context: {model: Model, el: HTMLElement}) => unknown}} Widget */

  const MIME = "application/vnd.jupyter.widget-";

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

  const own = /** @type {HTMLScriptElement} */ (document.currentScript);

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
      return new URL("machines/", own.src).href;
    }
  }

  /** The same result for the same key: modules once, models once.
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
  const style = once((css) => {
    document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
  });

  /** @type {Record<string, {state: Traits}>} */
  const states = Object.assign({}, ...json("state").map(({ data }) => data?.state));
  const wake = once(async (id) => {
    const { state } = states[id];
    const model = new Model(state);
    if (state._css) style(String(state._css));
    const exported = (await load(String(state._esm))).default;
    /** @type {Widget} */
    const widget = typeof exported === "function" ? await exported() : exported;
    await widget.initialize?.({ model });
    return { model, widget };
  });

  /** One view, in place of its picture; a failure says so, and stops no other view.
   * @param {Element} script @param {string | undefined} id of its model */
  async function show(script, id) {
    const known = id === undefined ? undefined : states[id];
    if (known && !known.state?._esm) return;
    const el = document.createElement("div");
    script.after(el);
    try {
      if (id === undefined || !known) throw new Error("its data cannot be read");
      const { model, widget } = await wake(id);
      await widget.render({ model, el });
      const picture = script.previousElementSibling;
      if (picture?.matches(".widget-picture")) picture.remove();
    } catch (error) {
      el.setAttribute("role", "alert");
      const reason = error instanceof Error ? error.message : String(error);
      el.textContent = `This figure could not start (${reason}).`;
    }
  }
  for (const { script, data } of json("view")) show(script, data?.model_id);
})();
