// @ts-check
// Self-attention under a mask: the square of who may see whom, walked row
// by row, its weights computed again at every change. Python: masks.py.

import { spot, squares } from "./lib/grid.js";
import { flag, integer, series } from "./lib/link.js";
import { mix, softmax, widest } from "./lib/maths.js";
import { digits, quoted, share, spread } from "./lib/text.js";
import {
  bar,
  button,
  element,
  frame,
  headings,
  press,
  transport,
  tune,
  vector,
  voice,
  widget,
} from "./lib/view.js";

/** @typedef {{tokens: string[], padding: number, scores: number[][], values: number[][],
 *   mask: boolean[][], step: number}} State */
/** @typedef {import("./lib/view.js").Model<State>} Model */
/** @typedef {"all" | "causal" | "padding" | "both"} Name */

/** The masks that have names: True where row i may attend to column j.
 * @type {Record<Name, (i: number, j: number, words: number) => boolean>} */
export const PRESETS = {
  all: () => true,
  causal: (i, j) => j <= i,
  padding: (_, j, words) => j < words,
  both: (i, j, words) => j <= i && j < words,
};
/** @type {Record<Name, string>} */
const NAMES = { all: "No mask", causal: "Causal", padding: "Padding", both: "Both" };

/** The square of a named mask.
 * @param {Name} name @param {number} n @param {number} padding */
export const square = (name, n, padding) =>
  Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) => PRESETS[name](i, j, n - padding)),
  );

/** The weights of row i under the mask, and the mixture they make.
 * @param {Pick<State, "scores" | "values" | "mask">} state @param {number} i */
export function row({ scores, values, mask }, i) {
  const weights = softmax(scores[i].map((score, j) => (mask[i][j] ? score : -Infinity)));
  return { weights, context: mix(weights, values) };
}

/** The mask with one square flipped, or null if its row would be left with none.
 * @param {boolean[][]} mask @param {number} i @param {number} j */
export function flipped(mask, i, j) {
  const turned = mask.map((line, r) => line.map((may, c) => (r === i && c === j ? !may : may)));
  return turned[i].some(Boolean) ? turned : null;
}

/** The step in words.
 * @param {State} state @param {number} i */
export function sentence(state, i) {
  const { weights } = row(state, i);
  const { tokens, mask } = state;
  const open = weights.map((_, j) => j).filter((j) => mask[i][j]);
  const [best, second] = [...open].sort((a, b) => weights[b] - weights[a]);
  const also =
    second === undefined ? "" : `, then ${quoted(tokens, second)} ${digits(weights[second])}`;
  const ahead = open.filter((j) => j > i).length;
  return (
    `Position ${i + 1}, “${tokens[i]}”, may attend to ${open.length} of ${tokens.length} ` +
    `positions${ahead ? `, ${ahead} of them still to come` : ""}: ${quoted(tokens, best)} gets ` +
    `${digits(weights[best])}${also}.`
  );
}

/** The square: a row asks, a column answers; a click shuts or opens one.
 * @param {State} first @param {(i: number, j: number) => void} turn
 * @param {(step: number) => void} go */
function grid(first, turn, go) {
  const { tokens, padding } = first;
  const n = tokens.length;
  /** @param {number} j */
  const name = (j) => (j < n - padding ? tokens[j] : `${tokens[j]} ${j - n + padding + 1}`);
  const titles = headings(tokens.map((_, j) => element("span", {}, name(j))));
  titles.prepend(element("td", {}));
  const texts = tokens.map(() => tokens.map(() => element("span", {})));
  const cells = tokens.map((_, i) =>
    tokens.map((_, j) =>
      element(
        "td",
        { tabindex: -1, "data-action": "square", "data-row": i, "data-column": j },
        texts[i][j],
      ),
    ),
  );
  const rows = tokens.map((_, i) =>
    element("tr", {}, element("th", { scope: "row", "data-row": i }, name(i)), ...cells[i]),
  );
  const walker = squares(rows, cells, go);
  /** @param {MouseEvent} event */
  const onclick = (event) => {
    const { row: i, column: j } = spot(event);
    if (walker.click(event) && j !== undefined) turn(Number(i), Number(j));
  };
  /** @param {KeyboardEvent} event */
  const onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return walker.walk(event);
    turn(walker.place().row, walker.place().column);
    event.preventDefault();
    event.stopPropagation();
  };
  const node = element(
    "div",
    { class: "map", onclick, onkeydown },
    element(
      "table",
      {
        role: "grid",
        "aria-label":
          "weights: a row for each position that asks, a column for each that is attended to; " +
          "Enter shuts or opens a square",
      },
      element("thead", {}, titles),
      element("tbody", {}, ...rows),
    ),
  );
  return {
    node,
    /** @param {State} state */
    draw(state) {
      walker.draw(state.step);
      cells.forEach((line, i) => {
        const { weights } = row(state, i);
        line.forEach((cell, j) => {
          const may = state.mask[i][j];
          tune(cell, "--w", weights[j]);
          cell.classList.toggle("shut", !may);
          cell.dataset.value = String(weights[j]);
          texts[i][j].textContent = share(weights[j]);
          cell.setAttribute(
            "aria-label",
            `${name(i)} at ${name(j)}: ${may ? `weight ${share(weights[j])}` : "shut, weight 0"}`,
          );
        });
      });
    },
  };
}

/** The whole widget, for one sentence.
 * @param {Model} model @param {() => State} read */
function build(model, read) {
  const first = read();
  const { tokens, padding, values } = first;
  const last = tokens.length - 1;
  const most = widest(values.flat());
  const { say, problem, complain, set } = voice(model);
  const at = () => ({ step: Math.min(model.get("step"), last), last });
  const walk = transport(at, (step) => set({ step }));
  /** @param {number} i @param {number} j */
  const turn = (i, j) => {
    const mask = flipped(model.get("mask"), i, j);
    if (mask) return set({ mask });
    complain(
      `“${tokens[i]}” would have nothing left to attend to, and the softmax of ` +
        "nothing is no weight at all: this square stays open.",
    );
  };
  const names = /** @type {Name[]} */ (Object.keys(PRESETS)).filter(
    (name) => padding > 0 || !["padding", "both"].includes(name),
  );
  const presets = names.map((name) =>
    button(`mask-${name}`, NAMES[name], () => set({ mask: square(name, tokens.length, padding) })),
  );
  const map = grid(first, turn, walk.to);
  const table = button(
    "table",
    "Numbers",
    () => press(table, node.classList.toggle("numbers")),
    "Show as table of numbers",
  );
  press(table, false);
  const weights = tokens.map(() => element("span", { "data-role": "weight", hidden: true }));
  const [context, told] = [vector(values[0].length, "context"), element("span", { class: "told" })];
  const node = frame(
    "masks",
    "Self-attention under a mask",
    at,
    walk.to,
    element("div", { class: "bar", role: "group", "aria-label": "masks" }, ...presets),
    bar(...walk.nodes, table),
    say,
    map.node,
    problem,
    element("p", { class: "sum" }, "output z: ", context.node, " ", told),
    ...weights,
  );
  return {
    node,
    stop: walk.stop,
    draw() {
      const state = { ...read(), step: at().step };
      const now = row(state, state.step);
      map.draw(state);
      walk.draw();
      weights.forEach((one, j) => {
        one.dataset.value = String(now.weights[j]);
      });
      context.fill(now.context, most);
      told.textContent = spread(now.context);
      const mask = JSON.stringify(state.mask);
      presets.forEach((one, k) =>
        press(one, mask === JSON.stringify(square(names[k], tokens.length, padding))),
      );
      say.textContent = sentence(state, state.step);
    },
  };
}

export default widget(["tokens", "padding", "scores", "values"], ["mask", "step"], build, {
  mask: (x, { tokens: { length: n } }) =>
    series((row) => series(flag, row, n) && row.includes(true), x, n),
  step: integer(0, (s) => s.tokens.length - 1),
});
