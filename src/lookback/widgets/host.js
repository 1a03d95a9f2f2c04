// @ts-check
// Brings the widgets of a page to life with no kernel. A classic script, so
// that it also runs from file://. Every widget it finds is an anywidget: its
// module is in the state's `_esm`, its style sheet in `_css`.
//
// What a test may hold on to, in each widget:
//   .lookback-widget[data-widget="alignment-stepper"]   the root
//   [data-role="live"]       the step in words, polite
//   [data-role="problem"]    what is wrong with an input
//   [data-action="next"]     a control: previous first last play table …
//   [data-role="weight"][data-value]   a number at full precision
(() => {
  const MIME = "application/vnd.jupyter.widget-";
  const json = (kind) =>
    [...document.querySelectorAll(`script[type="${MIME}${kind}+json"]`)].map((script) => ({
      script,
      data: JSON.parse(script.textContent),
    }));

  /** The part of a Backbone model that anywidgets use. */
  class Model {
    constructor(state) {
      this.state = { ...state };
      this.listeners = {};
    }
    get(name) {
      return this.state[name];
    }
    set(name, value) {
      if (Object.is(this.state[name], value)) return;
      this.state[name] = value;
      this.fire(`change:${name}`, value);
      this.fire("change", value);
    }
    fire(event, value) {
      for (const react of [...(this.listeners[event] ?? [])]) react(this, value);
    }
    on(event, react) {
      (this.listeners[event] ??= new Set()).add(react);
    }
    off(event, react) {
      react ? this.listeners[event]?.delete(react) : delete this.listeners[event];
    }
    save_changes() {}
    send() {}
  }

  /** The same promise for the same key: modules once, models once. */
  const once =
    (make, kept = new Map()) =>
    (key) => {
      if (!kept.has(key)) kept.set(key, make(key));
      return kept.get(key);
    };
  const load = once(
    (esm) => import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" }))),
  );
  const style = once((css) => {
    document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
  });

  const states = Object.assign({}, ...json("state").map(({ data }) => data.state));
  const wake = once(async (id) => {
    const model = new Model(states[id].state);
    if (model.get("_css")) style(model.get("_css"));
    const exported = (await load(model.get("_esm"))).default;
    const widget = typeof exported === "function" ? await exported() : exported;
    await widget.initialize?.({ model });
    return { model, widget };
  });

  /** One view, in place of its picture; a failure says so and stays alone. */
  async function show({ script, data }) {
    if (!states[data.model_id]?.state._esm) return;
    const el = document.createElement("div");
    script.after(el);
    try {
      const { model, widget } = await wake(data.model_id);
      await widget.render({ model, el });
      const picture = script.previousElementSibling;
      if (picture?.matches(".widget-picture")) picture.remove();
    } catch (error) {
      el.setAttribute("role", "alert");
      el.textContent = `This figure could not start (${error.message}).`;
    }
  }
  json("view").forEach(show);
})();
