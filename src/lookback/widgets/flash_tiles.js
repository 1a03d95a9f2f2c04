// @ts-check
// Eight queries and eight keys, and their softmax tile by tile: of what has
// been seen a maximum, a sum and a context are kept for each query, and every
// number that passes between the two memories is counted.

import limits from "./flash_tiles.json" with { type: "json" };
import { tiles } from "./lib/chart.js";
import { among, flag, integer } from "./lib/link.js";
import { dot, mix, softmax } from "./lib/maths.js";
import { uniform } from "./lib/mulberry.js";
import { digits, grouped, plain, spread } from "./lib/text.js";
import {
  bar,
  button,
  change,
  checkbox,
  current,
  element,
  frame,
  headings,
  scroller,
  select,
  show,
  tableButton,
  tableOf,
  transport,
  voice,
  widget,
} from "./lib/view.js";

/** @typedef {{seed: number, tile: number, causal: boolean, rescale: boolean, row: number,
 *   step: number}} State */
/** @typedef {{most: number, total: number, context: number[]}} Kept of one query */

const { places: N, d: D, tiles: SIZES, reach: REACH } = limits;
const TABLE = 4 * N * N + 4 * N * D;

/** Queries, keys and values, to a tenth. @param {number} seed */
export function drawn(seed) {
  const rows = Array.from({ length: 3 * N }, (_, i) =>
    Array.from(
      { length: D },
      (_, k) => Math.round(10 * REACH * (2 * uniform(seed, i * D + k) - 1)) / 10,
    ),
  );
  return { queries: rows.slice(0, N), keys: rows.slice(N, 2 * N), values: rows.slice(2 * N) };
}

/** q · k / √d of every pair; −∞ where a query may not look.
 * @param {Pick<State, "seed" | "causal">} state */
export function scoresOf({ seed, causal }) {
  const { queries, keys } = drawn(seed);
  return queries.map((q, i) =>
    keys.map((k, j) => (causal && j > i ? -Infinity : dot(q, k) / Math.sqrt(D))),
  );
}

/** The tiles in their order, each its first query and its first key. Those
 * that are hidden whole are left out.
 * @param {Pick<State, "tile" | "causal">} state */
export function orderOf({ tile, causal }) {
  /** @type {[number, number][]} */
  const found = [];
  for (let i = 0; i < N; i += tile) {
    for (let j = 0; j < N; j += tile) if (!causal || j <= i) found.push([i, j]);
  }
  return found;
}

/** One query and one tile more.
 * @param {Kept} kept @param {number[]} scores @param {number[][]} values
 * @param {boolean} rescale @returns {Kept} */
export function absorb({ most, total, context }, scores, values, rescale) {
  const next = Math.max(most, ...scores);
  if (next === -Infinity) return { most, total, context };
  const shrink = rescale || total === 0 ? Math.exp(most - next) : 1;
  const raised = scores.map((s) => Math.exp(s - next));
  const added = mix(raised, values);
  return {
    most: next,
    total: shrink * total + raised.reduce((sum, one) => sum + one, 0),
    context: context.map((x, k) => shrink * x + added[k]),
  };
}

/** What is kept of each query after so many tiles, what was kept before the
 * last of them, and how many numbers have passed.
 * @param {State} state */
export function replay(state) {
  const { seed, tile, rescale, step } = state;
  const { values } = drawn(seed);
  const scores = scoresOf(state);
  const order = orderOf(state);
  let kept = scores.map(() => ({ most: -Infinity, total: 0, context: Array(D).fill(0) }));
  let before = kept;
  let moved = 0;
  order.slice(0, step).forEach(([i, j], at) => {
    before = kept;
    kept = kept.map((one, row) =>
      row < i || row >= i + tile
        ? one
        : absorb(one, scores[row].slice(j, j + tile), values.slice(j, j + tile), rescale),
    );
    if (j === 0) moved += tile * D;
    moved += 2 * tile * D;
    if (at + 1 === order.length || order[at + 1][0] !== i) moved += tile * D;
  });
  return { kept, before, moved, order, scores };
}

/** The softmax over all keys at once. @param {State} state */
export function whole(state) {
  const { values } = drawn(state.seed);
  return scoresOf(state).map((row) => mix(softmax(row), values));
}

/** The result of a query: its context over its sum. @param {Kept} kept */
export const result = ({ context, total }) => context.map((x) => x / total);

/** @param {number} x */
const score = (x) => (x === -Infinity ? "\u2212∞" : digits(x));

/** What the last tile did to the chosen query.
 * @param {State} state */
export function sentence(state) {
  const { step, tile, row, rescale } = state;
  const { kept, before, moved, order } = replay(state);
  if (!step) {
    return `Nothing is read yet. ${order.length} tiles of ${tile} queries and ${tile} keys are to come.`;
  }
  const [i, j] = order[step - 1];
  const span = (/** @type {number} */ first) =>
    tile > 1 ? `s ${first + 1} to ${first + tile}` : ` ${first + 1}`;
  const where = `Tile ${step} of ${order.length}: quer${tile > 1 ? `ies ${i + 1} to ${i + tile}` : `y ${i + 1}`}, key${span(j)}.`;
  const [old, now] = [before[row], kept[row]];
  const name = `query ${row + 1}`;
  let what = `It does not concern ${name}.`;
  if (row >= i && row < i + tile) {
    const sum = `its sum is ${digits(now.total)}`;
    if (now.most === old.most) what = `For ${name} the maximum stays ${score(now.most)}; ${sum}.`;
    else if (!old.total) what = `For ${name} the maximum is ${score(now.most)}; ${sum}.`;
    else {
      const shrunk = rescale
        ? `the old sum shrinks by e^(${score(old.most)} \u2212 ${score(now.most)}) = ${digits(Math.exp(old.most - now.most))}`
        : "the old sum is left as it was, which is wrong";
      what = `For ${name} the maximum moves from ${score(old.most)} to ${score(now.most)}: ${shrunk}; ${sum}.`;
    }
  }
  const count = `${grouped(moved)} numbers have passed.`;
  if (step < order.length) return `${where} ${what} ${count}`;
  const found = kept.map(result);
  const gap = gapOf(found, whole(state));
  const end =
    gap < 1e-9
      ? "All results are those of the whole softmax, but for rounding."
      : `The results differ from the whole softmax by up to ${digits(gap)}.`;
  return `${where} ${what} ${end} ${grouped(moved)} numbers have passed; with the attention matrix in HBM it would have been ${TABLE}.`;
}

/** The largest difference. @param {number[][]} one @param {number[][]} other */
const gapOf = (one, other) =>
  Math.max(...one.flatMap((row, i) => row.map((x, k) => Math.abs(x - other[i][k]))));

/** Every query: what is kept, its result so far, and the whole softmax.
 * @param {State} state */
function rows(state) {
  const { kept } = replay(state);
  const truth = whole(state);
  return tableOf(
    ["query", "maximum μ", "sum ℓ", "o / ℓ", "whole softmax", "difference"],
    kept.map((one, i) => [
      String(i + 1),
      one.total ? score(one.most) : "–",
      digits(one.total),
      one.total ? spread(result(one)) : "–",
      spread(truth[i]),
      one.total ? plain(gapOf([result(one)], [truth[i]])) : "–",
    ]),
  );
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, set } = voice(model);
  const at = () => ({ step: model.get("step"), last: orderOf(read()).length });
  const walk = transport(at, (step) => set({ step }), 900);
  const size = select(
    "tile",
    SIZES.map((one) => [one, `${one} × ${one}`]),
    (x) => {
      walk.stop();
      set({ step: 0, tile: Number(x) });
    },
  );
  const hidden = checkbox("causal", (causal) => {
    walk.stop();
    set({ step: 0, causal });
  });
  const shrink = checkbox("rescale", (rescale) => set({ rescale }));
  const again = button("again", "Other numbers", () => {
    walk.stop();
    change(model, { step: 0, seed: (model.get("seed") + 1) % 2 ** 31 });
  });
  const names = Array.from({ length: N }, (_, i) =>
    button("row", `q${i + 1}`, () => set({ row: i }), `q${i + 1}, a query`),
  );
  const cells = names.map(() => names.map(() => element("td", { "data-role": "score" })));
  const states = names.map(() => [
    element("td", { "data-role": "most" }),
    element("td", { "data-role": "total" }),
  ]);
  const counts = tiles(/** @type {const} */ (["moved", "table", "held"]));
  const board = scroller("scores, tile by tile, and what is kept of each query");
  board.append(
    element(
      "table",
      { class: "board" },
      element("thead", {}, headings(["", ...names.map((_, j) => `k${j + 1}`), "max", "sum"])),
      element(
        "tbody",
        {},
        ...names.map((name, i) =>
          element("tr", {}, element("th", { scope: "row" }, name), ...cells[i], ...states[i]),
        ),
      ),
    ),
  );
  const figure = element("div", {}, board, counts.node);
  const table = scroller("every query, against the whole softmax", { hidden: true });
  const node = frame(
    "flash-tiles",
    "A softmax, tile by tile",
    at,
    walk.to,
    bar(
      element("label", {}, "tile ", size),
      element("label", {}, hidden, "only to the left"),
      element("label", {}, shrink, "rescale"),
      again,
    ),
    bar(...walk.nodes, tableButton(figure, table)),
    say,
    figure,
    table,
  );
  return {
    node,
    stop: walk.stop,
    draw() {
      const state = read();
      const { step, tile, row } = state;
      const { kept, moved, order, scores } = replay(state);
      size.value = String(tile);
      hidden.checked = state.causal;
      shrink.checked = state.rescale;
      const [first, left] = step ? order[step - 1] : [-N, -N];
      const place = (/** @type {number} */ i, /** @type {number} */ j) =>
        order.findIndex(([a, b]) => i >= a && i < a + tile && j >= b && j < b + tile);
      cells.forEach((line, i) => {
        line.forEach((cell, j) => {
          const when = place(i, j);
          const done = when >= 0 && when < step;
          const here = i >= first && i < first + tile && j >= left && j < left + tile;
          const open = scores[i][j] > -Infinity;
          if (done && open) show(cell, scores[i][j], digits(scores[i][j], 1));
          else {
            cell.textContent = open ? "" : "–";
            delete cell.dataset.value;
          }
          cell.classList.toggle("done", done && !here);
          cell.classList.toggle("here", here);
          cell.classList.toggle("edge", i % tile === 0 && i > 0);
          cell.classList.toggle("side", j % tile === 0 && j > 0);
        });
        const [most, total] = states[i];
        if (kept[i].total) {
          show(most, kept[i].most);
          show(total, kept[i].total);
        } else {
          for (const one of [most, total]) {
            one.textContent = "";
            delete one.dataset.value;
          }
        }
        current(names[i], i === row);
      });
      const held = tile * tile + tile * (2 + 4 * D);
      counts.fill({
        moved: ["numbers passed, HBM to SRAM or back", moved, grouped(moved)],
        table: ["with the whole matrix in HBM", TABLE, grouped(TABLE)],
        held: ["most numbers in SRAM at a time", held, grouped(held)],
      });
      table.replaceChildren(rows(state));
      walk.draw();
      say.textContent = sentence(state);
    },
  };
}

export default widget([], ["seed", "tile", "causal", "rescale", "row", "step"], build, {
  seed: integer(0, 2 ** 31 - 1),
  tile: among(SIZES),
  causal: flag,
  rescale: flag,
  row: integer(0, N - 1),
  step: integer(0, (state) => orderOf(state).length),
});
