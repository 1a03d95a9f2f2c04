// @ts-check
// Positions as clock hands: sinusoidal codes, and rotary queries and keys.
// Python: clocks.py.
import { among, integer } from "./lib/link.js";
import { dot, widest } from "./lib/maths.js";
import { digits } from "./lib/text.js";
import {
  bar,
  button,
  element,
  frame,
  grey,
  press,
  put,
  scroller,
  show,
  slider,
  svg,
  tableButton,
  tableOf,
  voice,
  widget,
} from "./lib/view.js";

/** @typedef {{mode: string, a: number, b: number, query: number[], key: number[],
 *   last: number}} State */
/** @typedef {import("./lib/view.js").Model<State>} Model */

const MODES = { added: "Added (2017)", rotary: "Rotary (2021)" };
const WIDE = 320;
const HIGH = 120;

/** ω_i = 10000^{−2i/d}, for each of the d/2 pairs. @param {number} d */
export const speeds = (d) => Array.from({ length: d / 2 }, (_, i) => 10000 ** ((-2 * i) / d));

/** PE(pos), two numbers for each clock: sine and cosine.
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

/** The two vectors whose pairs are the hands.
 * @param {Pick<State, "mode" | "a" | "b" | "query" | "key">} state
 * @returns {[number[], number[]]} */
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

/** Words a turn: a decimal where it counts. @param {number} x */
const long = (x) => (x < 100 ? digits(x, 1) : String(Math.round(x)));

/** One pair of numbers: a dial and two hands that start at twelve and turn
 * clockwise. Added, the tip is (sine, cosine); rotary, the pair's two numbers,
 * the second to the right, the first up.
 * @param {number} i @param {number} d */
function clock(i, d) {
  const hands = ["a", "b"].map((name) => svg("line", { class: `hand ${name}`, x1: 0, y1: 0 }));
  const label = element(
    "span",
    {},
    `pair ${i}`,
    element("br"),
    `${long((2 * Math.PI) / speeds(d)[i])} words`,
  );
  const dial = svg(
    "svg",
    { viewBox: "-22 -22 44 44", "aria-hidden": "true" },
    svg("circle", { class: "dial", r: 20 }),
    svg("path", { class: "noon", d: "M0-20v4" }),
    ...hands,
  );
  return {
    node: element("div", { class: "clock" }, dial, label),
    /** @param {number[][]} pairs @param {string} mode @param {number} most */
    draw(pairs, mode, most) {
      hands.forEach((hand, n) => {
        const [first, second] = pairs[n];
        const [right, up] = mode === "rotary" ? [second, first] : [first, second];
        put(hand, {
          x2: (18 * right) / most,
          y2: (-18 * up) / most,
          "data-role": `hand-${"ab"[n]}`,
          "data-value": Math.atan2(right, up),
        });
      });
    },
  };
}

/** The dot product over all distances, and the point where the reader is.
 * @param {number} last */
function graph(last) {
  const line = svg("path", { class: "curve" });
  const zero = svg("path", { class: "zero" });
  const point = svg("circle", { class: "point", r: 5 });
  const picture = svg("svg", { viewBox: `0 -8 ${WIDE} ${HIGH + 16}` }, zero, line, point);
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
    /** @param {State} now */
    draw(now) {
      const all = curve(now);
      const [low, high] = [Math.min(0, ...all), Math.max(...all, 1e-9)];
      /** @param {number} n */
      const x = (n) => (WIDE * n) / (all.length - 1);
      /** @param {number} value */
      const y = (value) => HIGH * (1 - (value - low) / (high - low));
      const points = all.map((one, n) => `${x(n).toFixed(1)} ${y(one).toFixed(1)}`);
      put(line, { d: `M${points.join("L")}` });
      put(zero, { d: `M0 ${y(0).toFixed(1)}H${WIDE}` });
      const at = now.b - now.a + last;
      put(point, { cx: x(at).toFixed(1), cy: y(all[at]).toFixed(1) });
    },
  };
}

/** A slider for one position.
 * @param {"a" | "b"} name @param {number} last @param {(value: number) => void} moved */
function position(name, last, moved) {
  const range = slider(name, { min: 0, max: last, step: 1 }, moved);
  const what = element("span", { class: "what" });
  const now = element("span", { class: "number" });
  return {
    node: element("label", { class: `position ${name}` }, what, range, now),
    /** @param {State} state */
    draw(state) {
      const rotary = { a: "query at a", b: "key at b" };
      what.textContent = state.mode === "rotary" ? rotary[name] : `position ${name}`;
      range.value = String(state[name]);
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

/** The length of the longest pair. @param {number[]} v */
const longest = (v) => widest(speeds(v.length).map((_, i) => Math.hypot(v[2 * i], v[2 * i + 1])));

/** The whole widget. @param {Model} model @param {() => State} read */
function build(model, read) {
  const { query, last } = read();
  const d = query.length;
  const { say, problem, set } = voice(model);
  const modes = Object.entries(MODES).map(([mode, text]) =>
    button("mode", text, () => set({ mode })),
  );
  const sliders = [position("a", last, (a) => set({ a })), position("b", last, (b) => set({ b }))];
  const clocks = speeds(d).map((_, i) => clock(i, d));
  const plot = graph(last);
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
  /** @param {number} step */
  const by = (step) => set(shifted(read(), step));
  const back = button("back", "‹ Both back", () => by(-1));
  const on = button("on", "Both on ›", () => by(1));
  const at = () => ({ step: model.get("a"), last });
  /** @param {number} step */
  const to = (step) => by(step - model.get("a"));
  function draw() {
    const state = read();
    const pairs = vectors(state);
    const most = state.mode === "added" ? 1 : Math.max(longest(state.query), longest(state.key));
    const { a, b } = shifted(state, 1);
    clocks.forEach((one, i) =>
      one.draw(
        pairs.map((v) => v.slice(2 * i, 2 * i + 2)),
        state.mode,
        most,
      ),
    );
    sliders.forEach((one) => one.draw(state));
    modes.forEach((one, i) => press(one, Object.keys(MODES)[i] === state.mode));
    grey(on, a === state.a && b === state.b);
    grey(back, Math.min(state.a, state.b) === 0);
    show(total, dot(...pairs), digits(dot(...pairs), 3));
    plot.draw(state);
    table.replaceChildren(numbersOf(state));
    say.textContent = sentence(state);
  }
  const node = frame(
    "clocks",
    "Positions as clock hands",
    at,
    to,
    bar(...modes),
    ...sliders.map((one) => one.node),
    say,
    figure,
    table,
    problem,
    bar(back, on, tableButton(figure, table)),
  );
  return { node, draw };
}

export default widget(["query", "key", "last"], ["mode", "a", "b"], build, {
  mode: among(Object.keys(MODES)),
  a: integer(0, (s) => s.last),
  b: integer(0, (s) => s.last),
});
