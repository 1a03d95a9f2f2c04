// @ts-check
// Random queries and keys: what the size of d_k does to a softmax, with and
// without the division by √d_k. Python: saturation.py, with the same generator.

import { axis, columns, tiles } from "./lib/chart.js";
import { among, flag, integer } from "./lib/link.js";
import { softmax, total } from "./lib/maths.js";
import { uniform } from "./lib/mulberry.js";
import { digits } from "./lib/text.js";
import {
  bar,
  button,
  change,
  checkbox,
  element,
  frame,
  scroller,
  slider,
  tableButton,
  tableOf,
  voice,
  widget,
} from "./lib/view.js";
import limits from "./saturation.json" with { type: "json" };

/** @typedef {{d_k: number, scaled: boolean, seed: number}} State */
/** @typedef {"variance" | "largest" | "trace" | "sure"} Figure */
/** @type {Figure[]} */
const ROLES = ["variance", "largest", "trace", "sure"];

export const SIZES = limits.d_k;
const { sets: SETS, queries: QUERIES, keys: KEYS } = limits;
const WIDEST = Math.max(...SIZES);
const [REACH, BIN] = [61, 2]; // the histogram: from −61 to 61

/** Normal numbers of mean 0 and variance 1, two from two uniform ones.
 * @param {number} seed @param {number} count */
export function normals(seed, count) {
  const drawn = new Float64Array(count);
  for (let i = 0; i < count; i += 2) {
    const far = Math.sqrt(-2 * Math.log(1 - uniform(seed, i)));
    const turn = 2 * Math.PI * uniform(seed, i + 1);
    drawn[i] = far * Math.cos(turn);
    drawn[i + 1] = far * Math.sin(turn);
  }
  return drawn;
}

/** q · k of all pairs, for the first 1, 2, 4 … 512 numbers of each vector:
 * 256 queries in 8 sets, each set with 32 keys of its own.
 * @param {number} seed @returns {Map<number, number[][]>} [query][key] by d_k */
export function draw(seed) {
  const z = normals(seed, SETS * (QUERIES + KEYS) * WIDEST);
  const found = new Map(SIZES.map((size) => [size, /** @type {number[][]} */ ([])]));
  for (let q = 0; q < SETS * QUERIES; q += 1) {
    const first = Math.floor(q / QUERIES) * (QUERIES + KEYS);
    const ask = (first + (q % QUERIES)) * WIDEST;
    SIZES.forEach((size) => found.get(size)?.push([]));
    for (let k = 0; k < KEYS; k += 1) {
      const known = (first + QUERIES + k) * WIDEST;
      let sum = 0;
      let i = 0;
      for (const size of SIZES) {
        for (; i < size; i += 1) sum += z[ask + i] * z[known + i];
        found.get(size)?.[q].push(sum);
      }
    }
  }
  return found;
}

/** The figures of one setting: the variance of the scores, and over the
 * queries the mean of the largest weight, the mean of the softmax's gradient,
 * Σ_j ∂α_j/∂e_j = Σ_j α_j (1 − α_j), and the share with a weight over 0.99.
 * @param {number[][]} products @param {number} d_k @param {boolean} scaled */
export function measure(products, d_k, scaled) {
  const by = scaled ? Math.sqrt(d_k) : 1;
  const scores = products.map((row) => row.map((one) => one / by));
  const all = scores.flat();
  const mean = total(all) / all.length;
  const variance = all.reduce((a, b) => a + (b - mean) ** 2, 0) / all.length;
  const weights = scores.map(softmax);
  /** @param {(row: number[]) => number} what */
  const over = (what) => weights.reduce((a, row) => a + what(row), 0) / weights.length;
  return {
    scores: all,
    weights: weights[0],
    variance,
    largest: over((row) => Math.max(...row)),
    trace: over((row) => row.reduce((a, w) => a + w * (1 - w), 0)),
    sure: over((row) => Number(Math.max(...row) > 0.99)),
  };
}

/** How many scores fall into each bin; scores outside count in the last bin of their side.
 * @param {number[]} scores */
export function histogram(scores) {
  /** @type {number[]} */
  const counts = Array(REACH).fill(0);
  for (const score of scores) {
    const at = Math.floor((score + REACH) / BIN);
    counts[Math.min(REACH - 1, Math.max(0, at))] += 1;
  }
  return counts;
}

/** A setting in words, with its figures.
 * @param {State} state @param {ReturnType<typeof measure>} now */
export function sentence({ d_k, scaled }, now) {
  const how = scaled ? `divided by √${d_k} = ${digits(Math.sqrt(d_k))}` : "unscaled";
  const best = now.weights.indexOf(Math.max(...now.weights));
  return (
    `d_k = ${d_k}, scores ${how}. Their variance is ${digits(now.variance)}, so a ` +
    `typical score is ${digits(Math.sqrt(now.variance))} away from 0. The largest of 32 ` +
    `weights is ${digits(now.largest)} on average; ${digits(100 * now.sure, 0)} of 100 ` +
    `queries give one key more than 0.99. The query shown gives key ${best + 1} a ` +
    `weight of ${digits(now.weights[best])}.`
  );
}

/** The four figures, each with its name. @param {Record<Figure, number>} now
 * @returns {Record<Figure, [string, number, string]>} */
const figures = (now) => ({
  variance: ["variance of the scores", now.variance, digits(now.variance)],
  largest: ["largest weight, mean", now.largest, digits(now.largest)],
  trace: ["trace of the Jacobian, mean", now.trace, digits(now.trace)],
  sure: ["queries with a weight over 0.99", now.sure, `${digits(100 * now.sure, 0)} %`],
});

/** A chart below its title. @param {string} title @param {Node} chart @param {string[]} scale */
const panel = (title, chart, scale) =>
  element(
    "div",
    { class: "panel" },
    element("p", { class: "head" }, title),
    element("div", {}, chart, axis(scale.map((text) => element("span", {}, text)))),
  );

/** Every d_k, unscaled and scaled. @param {ReturnType<typeof draw>} drawn */
const tableRows = (drawn) =>
  tableOf(
    ["d_k", "variance", "largest", "trace", "variance ÷", "largest ÷", "trace ÷"],
    SIZES.map((size) => [
      String(size),
      ...[false, true].flatMap((scaled) => {
        const one = measure(drawn.get(size) ?? [], size, scaled);
        return [one.variance, one.largest, one.trace].map((x) => digits(x));
      }),
    ]),
  );

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  let [drawn, seed] = [draw(model.get("seed")), model.get("seed")];
  let tabled = -1;
  const at = () => ({ step: SIZES.indexOf(model.get("d_k")), last: SIZES.length - 1 });
  /** @param {number} step */
  const go = (step) => change(model, { d_k: SIZES[step] });
  const range = slider("size", { min: 0, max: SIZES.length - 1, step: 1, "aria-label": "d_k" }, go);
  const size = element("b", { class: "number" });
  const box = checkbox("scale", (scaled) => change(model, { scaled }));
  const again = button("again", "Draw again", () =>
    change(model, { seed: (model.get("seed") + 1) % 2 ** 31 }),
  );
  const { say } = voice(model);
  const spread = columns("histogram", REACH);
  const shares = columns("weight", KEYS);
  const numbers = tiles(ROLES);
  const figure = element(
    "div",
    {},
    element(
      "div",
      { class: "panels" },
      panel("all 8,192 scores", spread.node, ["\u221260", "0", "60"]),
      panel("the 32 weights of one query", shares.node, ["key 1", "key 32"]),
    ),
    numbers.node,
  );
  const table = scroller("every d_k, unscaled and scaled by 1/√d_k", { hidden: true });
  const node = frame(
    "saturation",
    "Random queries and keys",
    at,
    go,
    bar(
      element(
        "label",
        { class: "size" },
        element("span", {}, "d", element("sub", {}, "k")),
        range,
        size,
      ),
      element("label", {}, box, element("span", {}, "divide by √d", element("sub", {}, "k"))),
      again,
      tableButton(figure, table),
    ),
    say,
    figure,
    table,
  );
  return {
    node,
    draw() {
      const state = read();
      if (seed !== state.seed) [drawn, seed] = [draw(state.seed), state.seed];
      const now = measure(drawn.get(state.d_k) ?? [], state.d_k, state.scaled);
      range.value = String(at().step);
      range.setAttribute("aria-valuetext", String(state.d_k));
      size.textContent = String(state.d_k);
      box.checked = state.scaled;
      const counts = histogram(now.scores);
      const most = Math.max(...counts);
      counts.forEach((x, i) => spread.set(i, x, x / most));
      now.weights.forEach((x, i) => shares.set(i, x, x));
      numbers.fill(figures(now));
      if (tabled !== seed) table.replaceChildren(tableRows(drawn));
      tabled = seed;
      say.textContent = sentence(state, now);
    },
  };
}

export default widget([], ["d_k", "scaled", "seed"], build, {
  d_k: among(SIZES),
  scaled: flag,
  seed: integer(0, 2 ** 31 - 1),
});
