// @ts-check
// Positions as clock hands: sinusoidal codes, and rotary queries and keys.
// Python: clocks.py.
import {
  button,
  change,
  digits,
  element,
  frame,
  grey,
  lines,
  mount,
  scroller,
  tableButton,
  tableOf,
} from "./shared.js";

/** @typedef {import("./shared.js").Model} Model */
/** @typedef {{mode: string, a: number, b: number, query: number[], key: number[],
 *   last: number}} State */

const MODES = { added: "Added (2017)", rotary: "Rotary (2021)" };
const WIDE = 320;
const HIGH = 120;

/** ω_i = 10000^{−2i/d}, for each of the d/2 pairs. @param {number} d */
export const speeds = (d) => Array.from({ length: d / 2 }, (_, i) => 10000 ** ((-2 * i) / d));

/** PE(pos), two numbers a clock: sine and cosine.
 * @param {number} position @param {number} d */
export const encoding = (position, d) =>
  speeds(d).flatMap((speed) => [Math.sin(position * speed), Math.cos(position * speed)]);

/** Every pair of x turned by its position's angle, as `rotate` in positions.py.
 * @param {number[]} x @param {number} position */
export const rotate = (x, position) =>
  speeds(x.length).flatMap((speed, i) => {
    const [cos, sin] = [Math.cos(position * speed), Math.sin(position * speed)];
    return [x[2 * i] * cos - x[2 * i + 1] * sin, x[2 * i] * sin + x[2 * i + 1] * cos];
  });

/** Σ x_i y_i. @param {number[]} x @param {number[]} y */
export const dot = (x, y) => x.reduce((sum, one, i) => sum + one * y[i], 0);

/** The two vectors whose pairs are the hands. @param {State} state */
export function vectors({ mode, a, b, query, key }) {
  if (mode === "rotary") return [rotate(query, a), rotate(key, b)];
  return [encoding(a, query.length), encoding(b, query.length)];
}

/** The dot product at every distance b − a from −last to last.
 * @param {State} state */
export function curve(state) {
  return Array.from({ length: 2 * state.last + 1 }, (_, n) => {
    const [x, y] = vectors({ ...state, a: 0, b: n - state.last });
    return dot(x, y);
  });
}

/** Both positions moved by the same step, as far as both stay inside.
 * @param {State} state @param {number} by */
export function shifted({ a, b, last }, by) {
  const most = Math.min(by, last - Math.max(a, b));
  const step = Math.max(most, -Math.min(a, b));
  return { a: a + step, b: b + step };
}

/** What stands there now, in words. @param {State} state */
export function sentence(state) {
  const { mode, a, b, query } = state;
  const [x, y] = vectors(state);
  const apart = b - a;
  const far = `${digits(apart, 0)} apart`;
  if (mode === "rotary") {
    const plain = digits(dot(state.query, state.key), 3);
    return (
      `Query at ${a}, key at ${b}, ${far}: turned, they have the product ` +
      `${digits(dot(x, y), 3)}; unturned, ${plain}.`
    );
  }
  return (
    `Positions ${a} and ${b}, ${far}: their codes have the product ` +
    `${digits(dot(x, y), 3)}, and the most there can be is ${query.length / 2}.`
  );
}

/** The model's traits as one object. @returns {State} */
const stateOf = (model) => ({
  mode: model.get("mode"),
  a: model.get("a"),
  b: model.get("b"),
  query: model.get("query"),
  key: model.get("key"),
  last: model.get("last"),
});

/** An SVG element; the parser knows its namespace. @returns {any} */
function drawn(tag, attributes = {}, ...children) {
  const holder = element("div");
  holder.innerHTML = tag === "svg" ? "<svg></svg>" : `<svg><${tag}></${tag}></svg>`;
  const node = tag === "svg" ? holder.firstChild : holder.firstChild.firstChild;
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, String(value)));
  node.append(...children);
  return node;
}

/** Words a turn: a decimal where it counts. */
const long = (x) => (x < 100 ? digits(x, 1) : String(Math.round(x)));

/** One pair of numbers: a dial and two hands that start at twelve and turn
 * clockwise. Added, the tip is (sine, cosine); rotary, the pair's two numbers,
 * the second to the right, the first up. */
function clock(i, d) {
  const hands = ["a", "b"].map((name) => drawn("line", { class: `hand ${name}`, x1: 0, y1: 0 }));
  const label = element(
    "span",
    {},
    `pair ${i}`,
    element("br"),
    `${long((2 * Math.PI) / speeds(d)[i])} words`,
  );
  const dial = drawn(
    "svg",
    { viewBox: "-22 -22 44 44", "aria-hidden": "true" },
    drawn("circle", { class: "dial", r: 20 }),
    drawn("path", { class: "noon", d: "M0-20v4" }),
    ...hands,
  );
  return {
    node: element("div", { class: "clock" }, dial, label),
    draw(pairs, mode, most) {
      hands.forEach((hand, n) => {
        const [first, second] = pairs[n];
        const [right, up] = mode === "rotary" ? [second, first] : [first, second];
        hand.setAttribute("x2", String((18 * right) / most));
        hand.setAttribute("y2", String((-18 * up) / most));
        Object.assign(hand.dataset, { role: `hand-${"ab"[n]}`, value: Math.atan2(right, up) });
      });
    },
  };
}

/** The dot product over all distances, and the point where the reader is. */
function graph(state) {
  const { last } = state;
  const line = drawn("path", { class: "curve" });
  const zero = drawn("path", { class: "zero" });
  const point = drawn("circle", { class: "point", r: 5 });
  const picture = drawn("svg", { viewBox: `0 -8 ${WIDE} ${HIGH + 16}` }, zero, line, point);
  const ends = [`\u2212${last}`, "distance b − a", String(last)].map((text) =>
    element("span", {}, text),
  );
  const node = element(
    "div",
    { class: "graph", "aria-hidden": "true" },
    picture,
    element("div", { class: "ends" }, ...ends),
  );
  return {
    node,
    draw(now) {
      const all = curve(now);
      const [low, high] = [Math.min(0, ...all), Math.max(...all, 1e-9)];
      const x = (n) => (WIDE * n) / (all.length - 1);
      const y = (value) => HIGH * (1 - (value - low) / (high - low));
      line.setAttribute(
        "d",
        `M${all.map((one, n) => `${x(n).toFixed(1)} ${y(one).toFixed(1)}`).join("L")}`,
      );
      zero.setAttribute("d", `M0 ${y(0).toFixed(1)}H${WIDE}`);
      const at = now.b - now.a + last;
      point.setAttribute("cx", x(at).toFixed(1));
      point.setAttribute("cy", y(all[at]).toFixed(1));
    },
  };
}

/** A slider for one position. */
function place(name, view, last) {
  const slider = element("input", {
    type: "range",
    min: 0,
    max: last,
    step: 1,
    "data-action": name,
    oninput: () => view.set({ [name]: Number(slider.value) }),
  });
  const what = element("span", { class: "what" });
  const now = element("span", { class: "number" });
  const node = element("label", { class: `position ${name}` }, what, slider, now);
  return {
    node,
    draw(state) {
      const rotary = { a: "query at a", b: "key at b" };
      what.textContent = state.mode === "rotary" ? rotary[name] : `position ${name}`;
      slider.value = state[name];
      now.textContent = String(state[name]);
    },
  };
}

/** Every pair of both vectors. @param {State} state */
function numbersOf(state) {
  const [x, y] = vectors(state);
  const rows = speeds(x.length).map((speed, i) => [
    `pair ${i}`,
    long((2 * Math.PI) / speed),
    ...[x, y].flatMap((v) => [digits(v[2 * i], 3), digits(v[2 * i + 1], 3)]),
    digits(x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1], 3),
  ]);
  return tableOf(
    ["", "words a turn", "a, first", "a, second", "b, first", "b, second", "product"],
    [...rows, ["together", "", "", "", "", "", digits(dot(x, y), 3)]],
  );
}

/** The whole widget. @param {Model} model */
function build(model) {
  const first = stateOf(model);
  const d = first.query.length;
  const [say, problem] = lines();
  const set = (changes) => change(model, changes);
  const view = { set };
  const modes = Object.entries(MODES).map(([mode, text]) =>
    button("mode", text, () => set({ mode })),
  );
  const sliders = ["a", "b"].map((name) => place(name, view, first.last));
  const clocks = speeds(d).map((_, i) => clock(i, d));
  const plot = graph(first);
  const total = element("b", { "data-role": "dot" });
  const table = scroller("every pair of both vectors", { hidden: true });
  const figure = element(
    "div",
    {},
    element("div", { class: "clocks" }, ...clocks.map((one) => one.node)),
    element("p", { class: "note" }, "Below each clock: how many words one turn takes."),
    element("p", { class: "sum" }, "dot product ", total),
    plot.node,
  );
  const by = (step) => set(shifted(stateOf(model), step));
  const back = button("back", "‹ Both back", () => by(-1));
  const on = button("on", "Both on ›", () => by(1));
  const at = () => ({ step: model.get("a"), last: first.last });
  const to = (step) => by(step - model.get("a"));
  function draw() {
    const state = stateOf(model);
    const pairs = vectors(state);
    const most =
      state.mode === "added"
        ? 1
        : Math.max(
            1e-9,
            ...[state.query, state.key].flatMap((v) =>
              speeds(d).map((_, i) => Math.hypot(v[2 * i], v[2 * i + 1])),
            ),
          );
    const { a, b } = shifted(state, 1);
    clocks.forEach((one, i) =>
      one.draw(
        pairs.map((v) => v.slice(2 * i, 2 * i + 2)),
        state.mode,
        most,
      ),
    );
    sliders.forEach((one) => one.draw(state));
    modes.forEach((one, i) =>
      one.setAttribute("aria-pressed", String(Object.keys(MODES)[i] === state.mode)),
    );
    grey(on, a === state.a && b === state.b);
    grey(back, Math.min(state.a, state.b) === 0);
    total.dataset.value = dot(...pairs);
    total.textContent = digits(dot(...pairs), 3);
    plot.draw(state);
    table.replaceChildren(numbersOf(state));
    say.textContent = sentence(state);
  }
  const node = frame(
    "clocks",
    "Positions as clock hands",
    at,
    to,
    element("div", { class: "bar" }, ...modes),
    ...sliders.map((one) => one.node),
    say,
    figure,
    table,
    problem,
    element("div", { class: "bar" }, back, on, tableButton(figure, table)),
  );
  return { node, draw };
}

/** @param {{model: Model, el: HTMLElement}} context */
const render = (context) => mount(context, ["query", "key", "last"], ["mode", "a", "b"], build);

export default { render };
