// @ts-check
// A sentence that looks at itself: the square of who may see whom, walked row
// by row, its weights computed again at every change. Python: masks.py.
import {
  button,
  change,
  digits,
  element,
  frame,
  keyedStep,
  lines,
  mix,
  mount,
  softmax,
  transport,
  tune,
  vector,
} from "./shared.js";

/** @typedef {import("./shared.js").Model} Model */
/** @typedef {{tokens: string[], padding: number, scores: number[][], values: number[][],
 *   mask: boolean[][], step: number}} State */

/** The masks that have names: True where row i may look at column j. */
export const PRESETS = {
  all: () => true,
  causal: (i, j) => j <= i,
  padding: (_, j, words) => j < words,
  both: (i, j, words) => j <= i && j < words,
};
const NAMES = { all: "No mask", causal: "Causal", padding: "Padding", both: "Both" };

/** The square of a named mask.
 * @param {keyof PRESETS} name @param {number} n @param {number} padding */
export const square = (name, n, padding) =>
  Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) => PRESETS[name](i, j, n - padding)),
  );

/** The weights of row i under the mask, and what they mix.
 * @param {State} state @param {number} i */
export function row({ scores, values, mask }, i) {
  const weights = softmax(scores[i].map((score, j) => (mask[i][j] ? score : -Infinity)));
  return { weights, context: mix(weights, values) };
}

/** The mask with one square turned over, or null if its row had no other.
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
  const also = second === undefined ? "" : `, then “${tokens[second]}” ${digits(weights[second])}`;
  const ahead = open.filter((j) => j > i).length;
  return (
    `Position ${i + 1}, “${tokens[i]}”, may look at ${open.length} of ${tokens.length} ` +
    `positions${ahead ? `, ${ahead} of them still to come` : ""}: “${tokens[best]}” gets ` +
    `${digits(weights[best])}${also}.`
  );
}

/** @returns {State} */
const stateOf = (model) =>
  /** @type {any} */ (
    Object.fromEntries(
      ["tokens", "padding", "scores", "values", "mask", "step"].map((name) => [
        name,
        model.get(name),
      ]),
    )
  );

/** The square: a row asks, a column answers; a click shuts or opens one. */
function grid(first, turn, go) {
  const { tokens, padding } = first;
  const n = tokens.length;
  const name = (j) => (j < n - padding ? tokens[j] : `${tokens[j]} ${j - n + padding + 1}`);
  const head = element(
    "thead",
    {},
    element(
      "tr",
      {},
      element("td", {}),
      ...tokens.map((_, j) => element("th", { scope: "col" }, element("span", {}, name(j)))),
    ),
  );
  const cells = tokens.map((_, i) =>
    tokens.map((_, j) =>
      element(
        "td",
        { tabindex: -1, "data-action": "square", "data-row": i, "data-column": j },
        element("span", {}),
      ),
    ),
  );
  const rows = tokens.map((_, i) =>
    element("tr", {}, element("th", { scope: "row", "data-row": i }, name(i)), ...cells[i]),
  );
  let [now, column] = [0, 0];
  const spot = (event) => event.target.closest("[data-row]")?.dataset ?? {};
  const press = (event) => {
    const { row: i, column: j } = spot(event);
    if (i === undefined) return;
    column = Number(j ?? column);
    go(Number(i));
    if (j !== undefined) turn(Number(i), Number(j));
  };
  const walk = (event) => {
    if (event.key === "Enter" || event.key === " ") turn(now, column);
    else {
      const side = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const to = side ? now : keyedStep(event, now, n - 1);
      if (to === null) return;
      column = Math.min(n - 1, Math.max(0, column + (side ?? 0)));
      go(to);
      cells[now][column].focus();
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const node = element(
    "div",
    { class: "map", onclick: press, onkeydown: walk },
    element(
      "table",
      {
        role: "grid",
        "aria-label":
          "weights: a row for each position that " +
          "asks, a column for each that is looked at; Enter shuts or opens a square",
      },
      head,
      element("tbody", {}, ...rows),
    ),
  );
  let stop = cells[0][0];
  return {
    node,
    draw(state) {
      rows[now].removeAttribute("aria-selected");
      now = state.step;
      rows[now].setAttribute("aria-selected", "true");
      cells.forEach((line, i) => {
        const { weights } = row(state, i);
        line.forEach((cell, j) => {
          const may = state.mask[i][j];
          tune(cell, "--w", weights[j]);
          cell.classList.toggle("shut", !may);
          cell.dataset.value = String(weights[j]);
          cell.firstChild.textContent = may ? digits(weights[j]) : "−∞";
          cell.setAttribute(
            "aria-label",
            `${name(i)} at ${name(j)}: ` + (may ? `weight ${digits(weights[j])}` : "shut"),
          );
        });
      });
      stop.tabIndex = -1;
      stop = cells[now][column];
      stop.tabIndex = 0;
    },
  };
}

/** The whole widget, for one sentence. @param {Model} model */
function build(model) {
  const first = stateOf(model);
  const { tokens, padding, values } = first;
  const last = tokens.length - 1;
  const most = Math.max(1e-9, ...values.flat().map(Math.abs));
  const [say, problem] = lines();
  const set = (changes) => {
    problem.textContent = "";
    change(model, changes);
  };
  const at = () => ({ step: Math.min(model.get("step"), last), last });
  const walk = transport(at, (step) => set({ step }));
  const turn = (i, j) => {
    const mask = flipped(model.get("mask"), i, j);
    if (mask) return set({ mask });
    problem.textContent =
      `“${tokens[i]}” would have nothing left to look at, and the softmax of ` +
      "nothing is no weight at all: this square stays open.";
  };
  const names = /** @type {(keyof PRESETS)[]} */ (Object.keys(PRESETS)).filter(
    (name) => padding > 0 || !["padding", "both"].includes(name),
  );
  const presets = names.map((name) =>
    button(`mask-${name}`, NAMES[name], () => set({ mask: square(name, tokens.length, padding) })),
  );
  const map = grid(first, turn, walk.to);
  const table = button(
    "table",
    "Numbers",
    () => table.setAttribute("aria-pressed", String(node.classList.toggle("numbers"))),
    "Show as table of numbers",
  );
  table.setAttribute("aria-pressed", "false");
  const weights = tokens.map(() => element("span", { "data-role": "weight", hidden: true }));
  const [context, told] = [vector(values[0].length, "context"), element("span", { class: "told" })];
  const node = frame(
    "masks",
    "A sentence that looks at itself",
    at,
    walk.to,
    element("div", { class: "bar", role: "group", "aria-label": "masks" }, ...presets),
    element("div", { class: "bar" }, ...walk.nodes, table),
    say,
    map.node,
    problem,
    element("p", { class: "sum" }, "output z: ", context, " ", told),
    ...weights,
  );
  return {
    node,
    stop: walk.stop,
    draw() {
      const state = { ...stateOf(model), step: at().step };
      const now = row(state, state.step);
      map.draw(state);
      walk.draw();
      weights.forEach((one, j) => {
        one.dataset.value = String(now.weights[j]);
      });
      context.fill(now.context, most);
      told.textContent = `(${now.context.map((x) => digits(x)).join(", ")})`;
      presets.forEach((one, k) =>
        one.setAttribute(
          "aria-pressed",
          String(
            JSON.stringify(state.mask) === JSON.stringify(square(names[k], tokens.length, padding)),
          ),
        ),
      );
      say.textContent = sentence(state, state.step);
    },
  };
}

/** @param {{model: Model, el: HTMLElement}} context */
const render = (context) =>
  mount(context, ["tokens", "padding", "scores", "values"], ["mask", "step"], build);

export default { render };
