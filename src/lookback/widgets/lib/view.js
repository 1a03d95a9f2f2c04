// @ts-check
// The parts of a view: elements, buttons, tables, a walk by keys or by clock,
// and how a view follows its model. base.py writes these lines in place of
// the import, so that a widget reaches the browser whole, with no request.
import { within } from "./maths.js";
import { digits } from "./text.js";

/** What anywidget hands to a view, for a widget whose traits are a State.
 * @template State
 * @typedef {object} Model
 * @property {<Name extends keyof State & string>(name: Name) => State[Name]} get
 * @property {<Name extends keyof State & string>(name: Name, value: State[Name]) => void} set
 * @property {() => void} save_changes
 * @property {(event: string, react: () => void) => void} on
 * @property {(event: string, react: () => void) => void} off */

/** @template State
 * @typedef {{model: Model<State>, el: HTMLElement}} Context */

/** @typedef {{node: Node, draw: () => void, stop?: () => void}} View */

/** Where a walk is, and where it ends.
 * @typedef {() => {step: number, last: number}} Place */

/** @typedef {string | number | boolean | null} Value */

/** @typedef {{[Name in keyof HTMLElementEventMap as `on${Name}`]?:
 *   (event: HTMLElementEventMap[Name]) => unknown}} Listeners */

/** @typedef {"class" | "type" | "role" | "hidden" | "tabindex" | "style" | "title" | "scope"
 *   | "name" | "value" | "min" | "max" | "step" | "size" | "checked" | "selected"
 *   | "lang" | "autocomplete" | "autocapitalize" | "inputmode" | "spellcheck"} Known */

/** @typedef {Listeners & Partial<Record<Known, Value>>
 *   & {[name: `data-${string}` | `aria-${string}`]: Value}} Attributes */

/** An element: "on…" attributes listen; false and null are left out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Attributes} [attributes] @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]} */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      node.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  node.append(...children);
  return node;
}

/** An element of a drawing.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag @param {Record<string, string | number>} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElementTagNameMap[Tag]} */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  put(node, attributes);
  node.append(...children);
  return node;
}

/** Sets attributes. @param {Element} node @param {Record<string, string | number>} attributes */
export function put(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
}

/** Controls side by side. @param {...(Node | string)} children */
export const bar = (...children) => element("div", { class: "bar" }, ...children);

/** A button that says what it does in `data-action`; `name` is spoken.
 * @param {string} action @param {string} text
 * @param {(event: MouseEvent) => unknown} [onclick] @param {string} [name] */
export const button = (action, text, onclick = () => {}, name = text) =>
  element(
    "button",
    { type: "button", "data-action": action, onclick, "aria-label": name === text ? null : name },
    text,
  );

/** A box to tick. @param {string} action @param {(on: boolean) => unknown} ticked */
export function checkbox(action, ticked) {
  const box = element("input", {
    type: "checkbox",
    "data-action": action,
    onchange() {
      ticked(box.checked);
    },
  });
  return box;
}

/** A field for text; `typed` is called when the reader is done.
 * @param {string} action @param {Attributes} attributes @param {(text: string) => unknown} typed */
export function field(action, attributes, typed) {
  const node = element("input", {
    type: "text",
    autocomplete: "off",
    ...attributes,
    "data-action": action,
    onchange() {
      typed(node.value);
    },
  });
  return node;
}

/** A choice among options, each a value and its text.
 * @param {string} action @param {[string | number, string][]} options
 * @param {(value: string) => unknown} chosen */
export function select(action, options, chosen) {
  const node = element(
    "select",
    {
      "data-action": action,
      onchange() {
        chosen(node.value);
      },
    },
    ...options.map(([value, text]) => element("option", { value }, text)),
  );
  return node;
}

/** A slider. @param {string} action @param {Attributes} range its min, max and step
 * @param {(value: number) => unknown} moved */
export function slider(action, range, moved) {
  const node = element("input", {
    type: "range",
    ...range,
    "data-action": action,
    oninput() {
      moved(Number(node.value));
    },
  });
  return node;
}

/** Greys a button out, but leaves it focusable, so that its keys still work.
 * @param {Element} node @param {boolean} off */
export const grey = (node, off) => node.setAttribute("aria-disabled", String(off));

/** Shows whether a button is pressed. @param {Element} node @param {boolean} on */
export const press = (node, on) => node.setAttribute("aria-pressed", String(on));

/** Marks where a walk is. @param {Element} node @param {boolean} here */
export const current = (node, here) => node.setAttribute("aria-current", here ? "step" : "false");

/** Writes a number where tests and style sheets find it, and its text.
 * @param {HTMLElement} node @param {number} value @param {string} [text] */
export function show(node, value, text = digits(value)) {
  node.dataset.value = String(value);
  node.textContent = text;
}

/** The button that shows one node in place of the other.
 * @param {HTMLElement} figure @param {HTMLElement} table */
export function tableButton(figure, table) {
  const flip = () => {
    [figure.hidden, table.hidden] = [!figure.hidden, !table.hidden];
    press(node, figure.hidden);
  };
  const node = button("table", "Table", flip, "Show as table");
  press(node, false);
  return node;
}

/** A place for wide things: it scrolls, by keyboard too.
 * @param {string} label @param {Attributes} [attributes] */
export const scroller = (label, attributes = {}) =>
  element("div", {
    class: "scroll",
    tabindex: 0,
    role: "region",
    "aria-label": label,
    ...attributes,
  });

/** What a view says: the line that is spoken at each step, and the one that
 * names a mistake, until the next change.
 * @template State @param {Model<State>} model */
export function voice(model) {
  const say = element("p", { class: "say", "data-role": "live", role: "status" });
  const problem = element("p", { class: "problem", "data-role": "problem", role: "alert" });
  /** @param {string} text */
  const complain = (text) => {
    problem.textContent = text;
  };
  /** @param {Partial<State>} changes */
  const set = (changes) => {
    complain("");
    change(model, changes);
  };
  return { say, problem, complain, set };
}

/** Where a key leads from a step: arrows, Home and End; null for the rest.
 * Fields keep their own keys.
 * @param {KeyboardEvent} event @param {number} step @param {number} last */
export function keyedStep(event, step, last) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const target = /** @type {Element | null} */ (event.target);
  if (target?.matches("input, select, .scroll")) return null;
  /** @type {Record<string, number>} */
  const to = {
    ArrowRight: step + 1,
    ArrowDown: step + 1,
    ArrowLeft: step - 1,
    ArrowUp: step - 1,
    Home: 0,
    End: last,
  };
  return event.key in to ? within(0, to[event.key], last) : null;
}

/** A widget's root, in which the arrow keys, Home and End step.
 * @param {string} name @param {string} label
 * @param {Place} at @param {(step: number) => unknown} to @param {...Node} children */
export function frame(name, label, at, to, ...children) {
  const node = root(name, label, ...children);
  node.addEventListener("keydown", (event) => {
    const step = keyedStep(event, at().step, at().last);
    if (step === null) return;
    event.preventDefault();
    to(step);
  });
  return node;
}

/** A widget's root. @param {string} name @param {string} label @param {...Node} children */
export const root = (name, label, ...children) =>
  element(
    "div",
    { class: "lookback-widget", "data-widget": name, role: "group", "aria-label": label },
    ...children,
  );

/** First, back, play, next, last: the buttons of a walk, and its clock, which
 * may take several steps at once.
 * @param {Place} at @param {(step: number) => unknown} go @param {number} [pause]
 * @param {() => number} [stride] */
export function transport(at, go, pause = 1200, stride = () => 1) {
  let clock = 0;
  const stop = () => {
    clearInterval(clock);
    clock = 0;
    play.textContent = "Play";
  };
  const tick = () => {
    const { step, last } = at();
    if (step < last) go(Math.min(step + stride(), last));
    else stop();
  };
  const start = () => {
    if (at().step === at().last) go(0);
    clock = Number(setInterval(tick, pause));
    play.textContent = "Pause";
  };
  /** @param {number} step */
  const to = (step) => {
    stop();
    go(within(0, step, at().last));
  };
  const play = button("play", "Play", () => (clock ? stop() : start()));
  const back = [
    button("first", "«", () => to(0), "First"),
    button("previous", "‹", () => to(at().step - 1), "Back"),
  ];
  const on = [
    button("next", "›", () => to(at().step + 1), "Next"),
    button("last", "»", () => to(at().last), "Last"),
  ];
  return {
    nodes: [...back, play, ...on],
    to,
    stop,
    draw() {
      const { step, last } = at();
      back.forEach((one) => grey(one, step === 0));
      on.forEach((one) => grey(one, step === last));
      if (clock && step === last) stop();
    },
  };
}

/** The stages of a thing: a button for each, and Back and Next.
 * @param {string[]} names @param {() => number} at @param {(step: number) => unknown} go */
export function stageButtons(names, at, go) {
  const each = names.map((name, i) => button("stage", name, () => go(i)));
  const back = button("previous", "‹ Back", () => go(at() - 1));
  const next = button("next", "Next ›", () => go(at() + 1));
  return {
    node: element("div", { class: "bar rail", role: "group", "aria-label": "stages" }, ...each),
    back,
    next,
    draw() {
      each.forEach((one, i) => current(one, i === at()));
      grey(back, at() === 0);
      grey(next, at() === names.length - 1);
    },
  };
}

/** A table from a row of headings and rows whose first cell is a heading.
 * @param {string[]} heads @param {string[][]} rows */
export function tableOf(heads, rows) {
  /** @param {string[]} texts */
  const cells = (texts) =>
    texts.map((text, i) => (i ? element("td", {}, text) : element("th", { scope: "row" }, text)));
  return element(
    "table",
    {},
    element("thead", {}, headings(heads)),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))),
  );
}

/** A row of headings of columns. @param {(string | Node)[]} heads */
export const headings = (heads) =>
  element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)));

/** One vector: a column up or down for each number. The style sheet draws it.
 * @param {number} size @param {string | null} [role] */
export function vector(size, role = null) {
  const cells = Array.from({ length: size }, () => element("i"));
  const node = element(
    "span",
    { class: "vector", "data-role": role, "aria-hidden": "true" },
    ...cells,
  );
  /** @param {number[]} numbers @param {number} most @param {number[]} [behind] */
  const fill = (numbers, most, behind = numbers) =>
    numbers.forEach((x, k) => {
      const cell = cells[k];
      tune(cell, "--v", x / most);
      tune(cell, "--behind", behind[k] / most);
      cell.classList.toggle("minus", behind[k] < 0);
      cell.dataset.value = String(x);
      cell.title = digits(x);
    });
  return { node, size, fill };
}

/** Gives the style sheet a number, to a hundredth, and only when it is new:
 * with fifty words by fifty most are not, and the step stays cheap.
 * @param {HTMLElement} node @param {string} name @param {number} x */
export function tune(node, name, x) {
  const value = x.toFixed(2);
  if (node.style.getPropertyValue(name) !== value) node.style.setProperty(name, value);
}

/** Sets traits, and tells the kernel if there is one.
 * @template State @param {Model<State>} model @param {Partial<State>} changes */
export function change(model, changes) {
  for (const name of /** @type {(keyof State & string)[]} */ (Object.keys(changes))) {
    model.set(name, /** @type {State[typeof name]} */ (changes[name]));
  }
  model.save_changes();
}

/** What a widget's module exports: a view that is drawn again whenever a trait
 * of `drawn` changes, and built anew for one of `built`. `build` is given the
 * model, and what reads all these traits at once; `keeps` says of each trait
 * that a reader can change what a link may make of it (host.js).
 * @template State
 * @param {(keyof State & string)[]} built @param {(keyof State & string)[]} drawn
 * @param {(model: Model<State>, read: () => State) => View} build
 * @param {{[Name in keyof NoInfer<State> & string]?:
 *   import("./link.js").Fits<NoInfer<State>>}} keeps
 * @returns {{keeps: typeof keeps, render: (context: Context<State>) => () => void}} */
export const widget = (built, drawn, build, keeps) => ({
  keeps,
  render({ model, el }) {
    const names = [...built, ...drawn];
    const read = () =>
      /** @type {State} */ (Object.fromEntries(names.map((name) => [name, model.get(name)])));
    let view = build(model, read);
    const draw = () => view.draw();
    const begin = () => {
      const held = el.contains(document.activeElement) ? document.activeElement : null;
      const action = held?.getAttribute("data-action");
      el.replaceChildren(view.node);
      draw();
      /** @type {HTMLElement | null} */
      const heir = action ? el.querySelector(`[data-action="${action}"]`) : null;
      heir?.focus();
    };
    const rebuild = () => {
      view.stop?.();
      view = build(model, read);
      begin();
    };
    // Jupyter takes a plain key first: an arrow folds, a letter adds a cell.
    /** @param {KeyboardEvent} event */
    const keep = ({ target, ctrlKey, metaKey, altKey }) => {
      if (!(target instanceof Element && el.contains(target))) return;
      const plain = !(ctrlKey || metaKey || altKey);
      target.toggleAttribute("data-lm-suppress-shortcuts", plain);
    };
    window.addEventListener("keydown", keep, true);
    built.forEach((name) => model.on(`change:${name}`, rebuild));
    drawn.forEach((name) => model.on(`change:${name}`, draw));
    begin();
    return () => {
      view.stop?.();
      window.removeEventListener("keydown", keep, true);
      built.forEach((name) => model.off(`change:${name}`, rebuild));
      drawn.forEach((name) => model.off(`change:${name}`, draw));
      el.replaceChildren();
    };
  },
});
