// @ts-check
// Pairs of a letter and a number, all in one matrix: the sum rule, the delta
// rule, positive features; and softmax, which keeps a list. Python: one_matrix.py.
import { among, integer, series } from "./lib/link.js";
import { dot, mix, softmax, total, widest } from "./lib/maths.js";
import { uniform } from "./lib/mulberry.js";
import { digits } from "./lib/text.js";
import {
  bar,
  button,
  change,
  element,
  grey,
  headings,
  root,
  scroller,
  select,
  show,
  tableButton,
  tableOf,
  tune,
  voice,
  widget,
} from "./lib/view.js";
import limits from "./one_matrix.json" with { type: "json" };

/** @typedef {{d: number, rule: string, pairs: number[][], asked: number}} State pairs of
 * the places of a letter and of a number */

const KEYS = [...limits.keys];
/** @type {Record<string, string>} */
const NAMES = {
  sum: "sum rule",
  delta: "delta rule",
  positive: "linear attention, elu+1",
  softmax: "softmax (keeps a list)",
};

/** Vectors of length 1 whose directions are drawn at random.
 * @param {number} seed @param {number} count @param {number} d */
export function directions(seed, count, d) {
  return Array.from({ length: count }, (_, i) => {
    const row = Array.from({ length: d }, (_, k) => {
      const at = 2 * (i * d + k);
      const far = Math.sqrt(-2 * Math.log(1 - uniform(seed, at)));
      return far * Math.cos(2 * Math.PI * uniform(seed, at + 1));
    });
    const length = Math.sqrt(dot(row, row));
    return row.map((x) => x / length);
  });
}

/** The letters' vectors and the numbers'. @param {number} d */
export const symbols = (d) => ({
  keys: directions(100 * d + 1, KEYS.length, d),
  values: directions(100 * d + 2, limits.values, d),
});

/** φ(x) = elu(x) + 1. @param {number[]} x */
export const positive = (x) => x.map((one) => (one > 0 ? one + 1 : Math.exp(one)));

/** T of the delta rule with β = 1: what is written for pair j is Σ_i T_ji v_i.
 * @param {number[][]} keys */
export function written(keys) {
  /** @type {number[][]} */
  const rows = [];
  keys.forEach((key, j) => {
    const row = keys.map((_, i) => Number(i === j));
    rows.forEach((earlier, i) => {
      const alike = dot(key, keys[i]);
      earlier.forEach((x, k) => {
        row[k] -= alike * x;
      });
    });
    rows.push(row);
  });
  return rows;
}

/** What the answer takes of each stored value.
 * @param {string} rule @param {number[]} query @param {number[][]} keys */
export function taken(rule, query, keys) {
  const scores = keys.map((key) => dot(query, key));
  if (rule === "softmax") return softmax(scores.map((x) => limits.sharp * x));
  if (rule === "positive") {
    const raised = keys.map((key) => dot(positive(query), positive(key)));
    const sum = total(raised);
    return raised.map((x) => x / sum);
  }
  return rule === "sum" ? scores : mix(scores, written(keys));
}

/** W, a row for each number of a value; a list of no rows for softmax.
 * @param {string} rule @param {number[][]} keys @param {number[][]} values @param {number} d */
export function matrix(rule, keys, values, d) {
  if (rule === "softmax") return [];
  const rows = rule === "delta" ? written(keys) : null;
  const put = rows ? rows.map((row) => mix(row, values)) : values;
  const made = rule === "positive" ? keys.map(positive) : keys;
  return Array.from({ length: d }, (_, r) =>
    Array.from({ length: d }, (_, c) => put.reduce((sum, v, j) => sum + v[r] * made[j][c], 0)),
  );
}

/** What a letter finds: the weight of each pair, the answer, how near it is to
 * each number, and the nearest.
 * @param {string} rule @param {number} asked @param {number[][]} pairs @param {number} d */
export function find(rule, asked, pairs, d) {
  const { keys, values } = symbols(d);
  const stored = pairs.map(([k]) => keys[k]);
  const held = pairs.map(([, v]) => values[v]);
  const weights = taken(rule, keys[asked], stored);
  const answer = pairs.length ? mix(weights, held) : Array(d).fill(0);
  const near = values.map((value) => dot(value, answer));
  return { weights, answer, near, nearest: near.indexOf(Math.max(...near)) };
}

/** The value that a letter was bound to last, and −1 for none.
 * @param {number} key @param {number[][]} pairs */
export const last = (key, pairs) => pairs.reduce((found, [k, v]) => (k === key ? v : found), -1);

/** Of the letters that are bound, those that are read right.
 * @param {State} state */
export function right({ rule, pairs, d }) {
  const bound = [...new Set(pairs.map(([k]) => k))].sort((a, b) => a - b);
  return {
    bound,
    right: bound.filter((key) => find(rule, key, pairs, d).nearest === last(key, pairs)),
  };
}

/** Four more letters, the first that are free, each with a number.
 * @param {number[][]} pairs */
export function more(pairs) {
  const used = new Set(pairs.map(([k]) => k));
  const free = KEYS.map((_, k) => k).filter((k) => !used.has(k));
  return free.slice(0, 4).map((k) => [k, (7 * k + 4) % limits.values]);
}

/** A number as it is called: they count from 1. @param {number} value */
const called = (value) => String(value + 1);

/** What is stored, what was asked, what came back.
 * @param {State} state */
export function sentence(state) {
  const { rule, pairs, asked, d } = state;
  const letter = KEYS[asked];
  if (!pairs.length) {
    return `Nothing is stored.${rule === "softmax" ? "" : " The matrix is all zeros."}`;
  }
  const { weights, nearest } = find(rule, asked, pairs, d);
  const truth = last(asked, pairs);
  const all = right(state);
  const score = `Read back right: ${all.right.length} of ${all.bound.length} letters.`;
  const own = pairs
    .map(([k], j) => ({ j, own: k === asked }))
    .filter((one) => one.own)
    .map(({ j }) => digits(weights[j]));
  if (truth < 0) {
    return `${letter} is bound to nothing, and finds ${called(nearest)} all the same. ${score}`;
  }
  const verdict = nearest === truth ? "right" : `wrong, it is ${called(truth)}`;
  const owns =
    own.length > 1
      ? `Its ${own.length} values come with weights ${own.join(" and ")}`
      : `Its own value comes with weight ${own[0]}`;
  const others = total(pairs.map(([k], j) => (k === asked ? 0 : Math.abs(weights[j]))));
  return (
    `${letter} finds ${called(nearest)}: ${verdict}. ${owns}, ` +
    `the others, signs left out, add up to ${digits(others)}. ${score}`
  );
}

/** How much a memory keeps, in words. @param {State} state */
export const kept = ({ rule, pairs, d }) =>
  rule === "softmax"
    ? `kept: ${pairs.length} keys and values, ${2 * pairs.length * d} numbers`
    : `kept: ${d * d}${rule === "positive" ? ` + ${d}` : ""} numbers, for ${pairs.length} pairs`;

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, set } = voice(model);
  const { d } = read();
  /** @type {[number, string][]} */
  const letters = KEYS.map((one, k) => [k, one]);
  /** @type {[number, string][]} */
  const numbers = Array.from({ length: limits.values }, (_, v) => [v, called(v)]);
  const rule = select(
    "rule",
    limits.rules.map((one) => [one, NAMES[one]]),
    (x) => set({ rule: x }),
  );
  const width = select(
    "d",
    limits.widths.map((one) => [one, String(one)]),
    (x) => set({ d: Number(x) }),
  );
  const key = select("letter", letters, () => {});
  const value = select("number", numbers, () => {});
  const asked = select("asked", letters, (x) => set({ asked: Number(x) }));
  /** @param {number[][]} added */
  const add = (added) => {
    const { pairs } = read();
    change(model, { pairs: [...pairs, ...added].slice(0, limits.most) });
  };
  const store = button("store", "Store", () => {
    add([[Number(key.value), Number(value.value)]]);
    set({ asked: Number(key.value) });
  });
  const four = button("four", "Store 4 new letters", () => add(more(read().pairs)));
  const undo = button("undo", "Undo", () => change(model, { pairs: read().pairs.slice(0, -1) }));
  const clear = button("clear", "Clear", () => change(model, { pairs: [] }));
  const cells = Array.from({ length: d * d }, () => element("i"));
  const grid = element(
    "div",
    { class: "grid", style: `--d: ${d}`, "aria-hidden": "true" },
    ...cells,
  );
  const size = element("p", { class: "kept", "data-role": "kept" });
  const axes = element(
    "p",
    { class: "kept" },
    "A row for each number of a value, a column for each of a key.",
  );
  const body = element("tbody");
  const heads = headings(["pair", "weight in the answer"]);
  const list = scroller("what the answer takes of each pair");
  list.append(element("table", { class: "pairs" }, element("thead", {}, heads), body));
  const figure = element(
    "div",
    { class: "both" },
    element("div", { class: "held" }, grid, axes, size),
    list,
  );
  const table = scroller("the matrix in numbers", { hidden: true });
  const node = root(
    "one-matrix",
    "Pairs in one matrix",
    bar(element("label", {}, "rule ", rule), element("label", {}, "d ", width)),
    bar(element("label", {}, "letter ", key), element("label", {}, "number ", value), store, four),
    bar(undo, clear, element("label", {}, "ask ", asked), tableButton(figure, table)),
    say,
    figure,
    table,
  );
  return {
    node,
    draw() {
      const state = read();
      const { pairs } = state;
      const { keys, values } = symbols(d);
      rule.value = state.rule;
      width.value = String(d);
      asked.value = String(state.asked);
      const W = matrix(
        state.rule,
        pairs.map(([k]) => keys[k]),
        pairs.map(([, v]) => values[v]),
        d,
      );
      grid.classList.toggle("none", !W.length);
      const flat = W.flat();
      const most = widest(flat, 0.5);
      cells.forEach((cell, i) => {
        const x = flat[i] ?? 0;
        tune(cell, "--v", Math.sqrt(Math.abs(x) / most));
        cell.classList.toggle("minus", x < 0);
        cell.title = digits(x);
        cell.dataset.value = String(x);
      });
      const { weights } = find(state.rule, state.asked, pairs, d);
      const wide = widest(weights, 1);
      body.replaceChildren(
        ...pairs.map(([k, v], j) => {
          const cell = element("td", { "data-role": "weight" });
          show(cell, weights[j]);
          cell.style.setProperty("--v", (Math.abs(weights[j]) / wide).toFixed(3));
          cell.classList.toggle("minus", weights[j] < 0);
          const name = element("th", { scope: "row" }, `${KEYS[k]} → ${called(v)}`);
          return element("tr", { class: k === state.asked ? "own" : "" }, name, cell);
        }),
      );
      size.textContent = kept(state);
      const first = heads.querySelector("th");
      if (first) first.textContent = pairs.length > 12 ? `${pairs.length} pairs ↓` : "pair";
      grey(undo, !pairs.length);
      grey(clear, !pairs.length);
      const full = pairs.length >= limits.most;
      grey(store, full);
      grey(four, full || !more(pairs).length);
      table.replaceChildren(
        tableOf(
          ["row", ...Array.from({ length: d }, (_, c) => String(c + 1))],
          W.map((row, r) => [String(r + 1), ...row.map((x) => digits(x))]),
        ),
      );
      say.textContent = sentence(state);
    },
  };
}

/** A pair of places. @param {any} one */
const isPair = (one) =>
  Array.isArray(one) &&
  one.length === 2 &&
  integer(0, KEYS.length - 1)(one[0], null) &&
  integer(0, limits.values - 1)(one[1], null);

export default widget(["d"], ["rule", "pairs", "asked"], build, {
  d: among(limits.widths),
  rule: among(limits.rules),
  pairs: (x) => series(isPair, x, Math.min(x?.length, limits.most)),
  asked: integer(0, KEYS.length - 1),
});
