// @ts-check
// What every widget uses. base.py puts these lines in place of the import, so
// that a widget reaches the browser as one module with no further requests.

/** What anywidget hands to a view.
 * @typedef {{get(name: string): any, set(name: string, value: any): void,
 *   save_changes(): void, on(event: string, react: () => void): void,
 *   off(event: string, react: () => void): void}} Model */

/** Digits with a true minus sign, and never "−0.00". */
export const digits = (x, places = 2) =>
  x
    .toFixed(places)
    .replace(/^-(?=0\.?0*$)/, "")
    .replace("-", "\u2212");

/** α_j = exp(e_j − max e) / Σ_k exp(e_k − max e).
 * @param {number[]} scores */
export function softmax(scores) {
  const exponential = exponentials(scores);
  const sum = exponential.reduce((a, b) => a + b, 0);
  return exponential.map((one) => one / sum);
}

/** exp(z_j − max z): the largest is taken off first, so nothing overflows.
 * @param {number[]} z */
export function exponentials(z) {
  const most = Math.max(...z);
  return z.map((one) => Math.exp(one - most));
}

/** c = Σ_j α_j v_j.
 * @param {number[]} weights @param {number[][]} values */
export const mix = (weights, values) =>
  (values[0] ?? []).map((_, k) =>
    weights.reduce((sum, weight, j) => sum + weight * values[j][k], 0),
  );

/** Where a key leads from a step: arrows, Home and End; null for the rest.
 * Fields keep their own keys. */
export function keyedStep(event, step, last) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  if (event.target?.matches("input, select, .scroll")) return null;
  const to = {
    ArrowRight: step + 1,
    ArrowDown: step + 1,
    ArrowLeft: step - 1,
    ArrowUp: step - 1,
    Home: 0,
    End: last,
  }[event.key];
  return to === undefined ? null : Math.min(last, Math.max(0, to));
}

/** An element: "on…" attributes listen; false and null are left out.
 * @param {string} tag @param {Record<string, any>} attributes
 * @param {...(Node | string)} children
 * @returns {any} an HTMLElement of the tag's own class */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** A button that says what it does in `data-action`; `name` is spoken. */
export const button = (action, text, onclick = () => {}, name = text) =>
  element(
    "button",
    { type: "button", "data-action": action, onclick, "aria-label": name === text ? null : name },
    text,
  );

/** Greys a button out, yet leaves it the focus and its arrow keys. */
export const grey = (node, off) => node.setAttribute("aria-disabled", String(off));

/** The button that shows one node in place of the other. */
export function tableButton(figure, table) {
  const flip = () => {
    [figure.hidden, table.hidden] = [!figure.hidden, !table.hidden];
    node.setAttribute("aria-pressed", String(figure.hidden));
  };
  const node = button("table", "Table", flip, "Show as table");
  node.setAttribute("aria-pressed", "false");
  return node;
}

/** A place for wide things: it scrolls, by keyboard too. */
export const scroller = (label, attributes = {}) =>
  element("div", {
    class: "scroll",
    tabindex: 0,
    role: "region",
    "aria-label": label,
    ...attributes,
  });

/** The line that is spoken at each step, and the one that names a mistake. */
export const lines = () => [
  element("p", { class: "say", "data-role": "live", role: "status" }),
  element("p", { class: "problem", "data-role": "problem", role: "alert" }),
];

/** A widget's root, in which the arrow keys, Home and End step. */
export function frame(name, label, at, to, ...children) {
  const onkeydown = (event) => {
    const step = keyedStep(event, at().step, at().last);
    if (step === null) return;
    event.preventDefault();
    to(step);
  };
  return element(
    "div",
    {
      class: "lookback-widget",
      "data-widget": name,
      role: "group",
      "aria-label": label,
      onkeydown,
    },
    ...children,
  );
}

/** First, back, play, next, last: the buttons of a walk, and its clock.
 * @param {() => {step: number, last: number}} at @param {(step: number) => void} go */
export function transport(at, go, pause = 1200) {
  let clock = 0;
  const stop = () => {
    clearInterval(clock);
    clock = 0;
    play.textContent = "Play";
  };
  const tick = () => (at().step < at().last ? go(at().step + 1) : stop());
  const start = () => {
    if (at().step === at().last) go(0);
    clock = Number(setInterval(tick, pause));
    play.textContent = "Pause";
  };
  const to = (step) => {
    stop();
    go(Math.min(at().last, Math.max(0, step)));
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

/** A table from a row of headings and rows whose first cell is a heading. */
export function tableOf(heads, rows) {
  const cells = (texts) =>
    texts.map((text, i) => (i ? element("td", {}, text) : element("th", { scope: "row" }, text)));
  return element(
    "table",
    {},
    element(
      "thead",
      {},
      element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head))),
    ),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))),
  );
}

/** One vector: a column up or down for each number. The style sheet draws it.
 * @returns {any} the element, and its `fill(numbers, most)` */
export function vector(size, role = null) {
  const node = element(
    "span",
    { class: "vector", "data-role": role, "aria-hidden": "true" },
    ...Array.from({ length: size }, () => element("i")),
  );
  const fill = (numbers, most, behind = numbers) =>
    numbers.forEach((x, k) => {
      const cell = node.children[k];
      tune(cell, "--v", x / most);
      tune(cell, "--behind", behind[k] / most);
      cell.classList.toggle("minus", behind[k] < 0);
      cell.dataset.value = x;
      cell.title = digits(x);
    });
  return Object.assign(node, { fill });
}

/** Gives the style sheet a number, to a hundredth, and only when it is new:
 * at fifty words by fifty most are not, and the step stays light. */
export function tune(node, name, x) {
  const value = x.toFixed(2);
  if (node.style.getPropertyValue(name) !== value) node.style.setProperty(name, value);
}

/** Sets traits, tells the kernel where there is one. */
export function change(model, changes) {
  Object.entries(changes).forEach(([name, value]) => model.set(name, value));
  model.save_changes();
}

/** Builds a view, draws it again whenever a trait of `drawn` changes, builds
 * it anew for one of `built`; returns the cleanup.
 * @param {{model: Model, el: HTMLElement}} context
 * @param {(model: Model) => {node: Node, draw: () => void, stop?: () => void}} build */
export function mount({ model, el }, built, drawn, build) {
  let view = build(model);
  const draw = () => view.draw();
  const show = () => {
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
    view = build(model);
    show();
  };
  built.forEach((name) => model.on(`change:${name}`, rebuild));
  drawn.forEach((name) => model.on(`change:${name}`, draw));
  show();
  return () => {
    view.stop?.();
    built.forEach((name) => model.off(`change:${name}`, rebuild));
    drawn.forEach((name) => model.off(`change:${name}`, draw));
    el.replaceChildren();
  };
}
