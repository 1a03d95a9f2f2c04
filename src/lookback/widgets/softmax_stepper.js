// @ts-check
// Softmax, one stage at a time: scores → scaled → exponentials → their sum →
// weights → the weighted sum of the values. Python: softmax_stepper.py.
import { flag, integer, real, series } from "./lib/link.js";
import { exponentials, mix, total, widest, within } from "./lib/maths.js";
import { digits, share, spread } from "./lib/text.js";
import {
  bar,
  button,
  checkbox,
  element,
  field,
  frame,
  scroller,
  show,
  slider,
  stageButtons,
  tableButton,
  tableOf,
  vector,
  voice,
  widget,
} from "./lib/view.js";

const STAGES = ["Scores", "Scale", "Exponentiate", "Sum", "Divide", "Mix"];
/** @type {("score" | "scaled" | "exponential" | "weight")[]} */
const COLUMNS = ["score", "scaled", "exponential", "exponential", "weight", "weight"];

/** @typedef {{labels: string[], scores: number[], values: number[][],
 *   temperature: number, d_k: number, scale: boolean, step: number}} State */
/** @typedef {ReturnType<typeof stages>} Stages */
/** @typedef {{state: () => State, set: (changes: Partial<State>) => void,
 *   complain: (text: string) => void, draw: () => void, go: (step: number) => void}} View */

/** z_j = e_j / (√d_k · T); √d_k only if asked for.
 * @param {number[]} scores @param {number} temperature @param {number} d_k
 * @param {boolean} scale */
export const scaledScores = (scores, temperature, d_k, scale) =>
  scores.map((score) => score / (scale ? Math.sqrt(d_k) : 1) / temperature);

/** Every number of every stage.
 * @param {Omit<State, "labels" | "step">} state */
export function stages({ scores, values, temperature, d_k, scale }) {
  const scaled = scaledScores(scores, temperature, d_k, scale);
  const exponential = exponentials(scaled);
  const sum = total(exponential);
  const weight = exponential.map((one) => one / sum);
  return { score: scores, scaled, exponential, sum, weight, context: mix(weight, values) };
}

/** The number that a reader typed, or null if it is not one.
 * @param {string} text */
export function readScore(text) {
  const plain = text.trim().replace("\u2212", "-").replace(",", ".");
  const value = plain === "" ? NaN : Number(plain);
  return Number.isFinite(value) ? value : null;
}

/** What happens at a stage, with the actual numbers.
 * @param {State} state @param {number} step */
export function sentence(state, step) {
  const { labels, scores, temperature, d_k, scale } = state;
  const now = stages(state);
  const top = scores.indexOf(Math.max(...scores));
  const low = scores.indexOf(Math.min(...scores));
  const [best, worst] = [`“${labels[top]}”`, `“${labels[low]}”`];
  const by = [
    scale && `√${d_k} = ${digits(Math.sqrt(d_k))}`,
    temperature !== 1 && `the temperature ${temperature}`,
  ].filter(Boolean);
  switch (step) {
    case 0:
      return (
        "Any numbers may be scores. " +
        (top === low
          ? `All are ${digits(scores[top])}.`
          : `${best} has the highest, ${digits(scores[top])}; ` +
            `${worst} the lowest, ${digits(scores[low])}.`)
      );
    case 1:
      return by.length === 0
        ? "The temperature is 1 and nothing is divided by √d_k, so the scores stay."
        : `Divide every score by ${by.join(" and by ")}: ` +
            `${digits(scores[top])} becomes ${digits(now.scaled[top])}.`;
    case 2:
      return (
        `Take the largest, ${digits(now.scaled[top])}, off them all, so that ` +
        `nothing overflows. Then raise e to each: ${top === low ? "each" : best} gives e^0 = 1` +
        (top === low
          ? "."
          : `, ${worst} gives e^${digits(now.scaled[low] - now.scaled[top])} = ` +
            `${share(now.exponential[low])}. All are positive now.`)
      );
    case 3:
      return "Add them up: " + `${now.exponential.map(share).join(" + ")} = ${digits(now.sum, 3)}.`;
    case 4:
      return (
        `Divide each by ${digits(now.sum, 3)}, and the weights sum to 1. ` +
        (top === low
          ? `Each gets ${share(now.weight[top])}.`
          : `${best} gets ${share(now.weight[top])}, ${worst} gets ${share(now.weight[low])}.`)
      );
    default:
      return (
        "Multiply each word's values by its weight and add them: the mix is " +
        `${spread(now.context)}.`
      );
  }
}

/** One word: its score to type or slide, the bar and number of the stage.
 * @param {View} view @param {string} label @param {number} j
 * @param {number} reach @param {number} size */
function wordRow(view, label, j, reach, size) {
  /** @param {number} value */
  const set = (value) =>
    view.set({ scores: view.state().scores.map((old, i) => (i === j ? value : old)) });
  const box = field(
    "score",
    { inputmode: "decimal", "aria-label": `score of ${label}` },
    (text) => {
      const value = readScore(text);
      if (value !== null) return set(value);
      view.draw();
      view.complain(
        `“${text}” is not a number, so the score of “${label}” stays ` +
          `${digits(view.state().scores[j])}.`,
      );
    },
  );
  box.addEventListener("keydown", ({ key }) => {
    const by = 0.1 * (Number(key === "ArrowUp") - Number(key === "ArrowDown"));
    if (by) set(Math.round((view.state().scores[j] + by) * 1e6) / 1e6);
  });
  const range = { min: -reach, max: reach, step: 0.1, "aria-label": `score of ${label}, slider` };
  const slide = slider("slide", range, set);
  const fill = element("span", { class: "fill" });
  const number = element("span", { class: "number" });
  const values = vector(size);
  const node = element(
    "div",
    { class: "entry", "data-label": label },
    element("span", { class: "label" }, label),
    box,
    slide,
    element("span", { class: "track", "aria-hidden": "true" }, fill),
    number,
    values.node,
  );
  return {
    node,
    values,
    /** @param {Stages} now @param {number} step @param {number} low @param {number} high */
    draw(now, step, low, high) {
      const value = now[COLUMNS[step]][j];
      /** @param {number} x */
      const place = (x) => (100 * (x - low)) / (high - low);
      box.value = String(Math.round(now.score[j] * 1e4) / 1e4);
      slide.value = String(now.score[j]);
      fill.style.left = `${place(Math.min(value, 0))}%`;
      fill.style.width = `${place(Math.max(value, 0)) - place(Math.min(value, 0))}%`;
      fill.classList.toggle("minus", value < 0);
      number.textContent = step > 1 ? share(value) : digits(value);
      Object.assign(number.dataset, { role: COLUMNS[step], value: String(value) });
      values.node.hidden = step < 5;
    },
  };
}

/** The stage buttons above, the controls below.
 * @param {View} view @param {State} first @param {number} last @param {Node} table */
function controls(view, first, last, table) {
  const rail = stageButtons(
    STAGES.slice(0, last + 1),
    () => Math.min(view.state().step, last),
    view.go,
  );
  const heat = slider("temperature", { min: -1, max: 1, step: 0.05 }, (power) =>
    view.set({ temperature: Number((10 ** power).toPrecision(2)) }),
  );
  const heatNow = element("span", { class: "number" });
  const root = checkbox("scale", (on) => view.set({ scale: on }));
  const { scores, temperature, scale } = first;
  const reset = button("reset", "Reset", () => view.set({ scores, temperature, scale }));
  return {
    top: rail.node,
    foot: element(
      "div",
      { class: "foot" },
      bar(
        element("label", {}, "temperature ", heat, " ", heatNow),
        element(
          "label",
          { hidden: first.d_k === 1 },
          root,
          element("span", {}, "divide by √d", element("sub", {}, "k"), ` = √${first.d_k}`),
        ),
      ),
      bar(rail.back, rail.next, table, reset),
    ),
    /** @param {State} state */
    draw({ temperature, scale }) {
      rail.draw();
      heat.value = String(Math.log10(temperature));
      heat.setAttribute("aria-valuetext", String(temperature));
      heatNow.textContent = String(temperature);
      root.checked = scale;
    },
  };
}

/** The sum as one strip of shares, and the mix of the values below it.
 * @param {string[]} labels @param {number} size */
function totals(labels, size) {
  const shares = labels.map((label) => element("span", { class: "share" }, label));
  const together = element("b", { "data-role": "sum" });
  const mixed = vector(size, "context");
  const numbers = element("span", {});
  const sum = element(
    "div",
    {},
    element("p", { class: "sum" }, "together ", together),
    element("div", { class: "stack", "aria-hidden": "true" }, ...shares),
  );
  const context = element("p", { class: "sum" }, "the mix ", mixed.node, " ", numbers);
  const key = element(
    "p",
    { class: "key" },
    "Small bars: each word's value, pale, and the part that its weight lets through, strong.",
  );
  return {
    node: element("div", {}, key, sum, context),
    /** @param {Stages} now @param {number} step @param {number} most */
    draw(now, step, most) {
      [sum.hidden, key.hidden, context.hidden] = [step < 3, step < 5, step < 5];
      shares.forEach((share, j) => {
        share.style.width = `${100 * now.weight[j]}%`;
      });
      const whole = step > 3 ? total(now.weight) : now.sum;
      show(together, whole, digits(whole, 3));
      mixed.fill(now.context, most);
      numbers.textContent = spread(now.context);
    },
  };
}

/** Every stage of every word at once. @param {State} state @param {Stages} now */
function numbersOf({ labels, values }, now) {
  const mixed = values.length > 0; // else there is no column for them
  const rows = labels.map((label, j) => [
    label,
    digits(now.score[j]),
    digits(now.scaled[j]),
    share(now.exponential[j]),
    share(now.weight[j]),
    ...(mixed ? [spread(values[j])] : []),
  ]);
  return tableOf(
    ["label", "score", "scaled", "e^", "weight", ...(mixed ? ["values"] : [])],
    [
      ...rows,
      ["together", "", "", digits(now.sum, 3), "1.000", ...(mixed ? [spread(now.context)] : [])],
    ],
  );
}

/** The whole widget, for one set of words.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const first = read();
  const last = first.values.length ? 5 : 4;
  const most = widest(first.values.flat());
  const reach = Math.max(5, ...first.scores.map((x) => Math.ceil(Math.abs(x))));
  const size = first.values[0]?.length ?? 0;
  const { say, problem, complain, set } = voice(model);
  /** @param {number} step */
  const go = (step) => set({ step: within(0, step, last) });
  const view = { state: read, draw, complain, set, go };
  const rows = first.labels.map((label, j) => wordRow(view, label, j, reach, size));
  const sums = totals(first.labels, size);
  const figure = element(
    "div",
    {},
    element("div", { class: "rows" }, ...rows.map((row) => row.node)),
    sums.node,
  );
  const table = scroller("every number of every stage", { hidden: true });
  const parts = controls(view, first, last, tableButton(figure, table));
  function draw() {
    const state = { ...read(), step: Math.min(model.get("step"), last) };
    const now = stages(state);
    const ends = state.step > 1 ? [0, 1] : [0, 1e-9, ...now.score, ...now.scaled];
    rows.forEach((row, j) => {
      row.draw(now, state.step, Math.min(...ends), Math.max(...ends));
      const values = state.values[j] ?? [];
      row.values.fill(
        values.map((x) => x * now.weight[j]),
        most,
        values,
      );
    });
    sums.draw(now, state.step, most);
    parts.draw(state);
    table.replaceChildren(numbersOf(state, now));
    say.textContent = sentence(state, state.step);
  }
  const at = () => ({ step: Math.min(model.get("step"), last), last });
  const node = frame(
    "softmax-stepper",
    "Softmax, one stage at a time",
    at,
    go,
    parts.top,
    say,
    figure,
    table,
    problem,
    parts.foot,
  );
  return { node, draw };
}

export default widget(
  ["labels", "values", "d_k"],
  ["scores", "temperature", "scale", "step"],
  build,
  {
    scores: (x, s) => series(real(-1e6, 1e6), x, s.labels.length),
    temperature: real(1e-3, 1e6),
    scale: flag,
    step: integer(0, (s) => (s.values.length ? 5 : 4)),
  },
);
