// @ts-check
// A ladder of translators: walk it, compare any two rungs. Python: rungs.py.
import { integer } from "./lib/link.js";
import { unrounded } from "./lib/rounding.js";
import {
  bar,
  change,
  element,
  frame,
  scroller,
  select,
  tableButton,
  tableOf,
  transport,
  voice,
  widget,
} from "./lib/view.js";

/** @typedef {{label: string, change: string, before: number, numbers: Record<string, number | null>,
 *   intervals: Record<string, [number, number]>}} Rung */
/** @typedef {{title: string, digits: number, better: "higher" | "lower"}} Measure */
/** @typedef {{rungs: Rung[], measures: [string, Measure][], measure: string, step: number,
 *   against: number}} State */

/** A number as the measure wants it, with a true minus sign and thousands.
 * @param {number | null | undefined} x @param {{digits: number}} measure */
export const shown = (x, { digits }) =>
  x === null || x === undefined
    ? "not measured"
    : x
        .toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })
        .replace(/^-(?=0\.?0*$)/, "")
        .replace("-", "\u2212");

/** A number, with its interval where there is one.
 * @param {Rung} rung @param {string} name @param {Measure} measure */
export function ranged({ numbers, intervals }, name, measure) {
  const range = intervals[name]?.map((x) => shown(x, measure)).join(" to ");
  return `${shown(numbers[name], measure)}${range ? ` (95% interval ${range})` : ""}`;
}

/** Which rung a rung is compared with: the chosen one, else the one that it
 * changes; −1 where there is none.
 * @param {Rung[]} rungs @param {number} step @param {number} against */
export const partner = (rungs, step, against) => (against < 0 ? rungs[step].before : against);

/** How a rung's number differs from another's: the difference and the ratio;
 * null where a number is missing. @param {Rung} now @param {Rung | undefined} then @param {string} name */
export function gain(now, then, name) {
  const [a, b] = [now.numbers[name] ?? null, then?.numbers[name] ?? null];
  return a === null || b === null ? null : { difference: a - b, ratio: b ? a / b : null };
}

/** The two numbers compared: by their difference where the measure has
 * digits, by their ratio where it is a count or a rate.
 * @param {ReturnType<typeof gain>} found @param {Measure} measure */
export function brief(found, measure) {
  if (!found) return "";
  if (!measure.digits) return found.ratio === null ? "" : `× ${found.ratio.toFixed(2)}`;
  const text = shown(found.difference, measure);
  return /[1-9]/.test(text) && found.difference > 0 ? `+${text}` : text;
}

/** What is better: said of counts, of rates and of all others.
 * @param {Measure} measure */
const aim = ({ better, digits }) =>
  digits ? `${better} is better` : better === "higher" ? "more is faster" : "fewer is cheaper";

/** A rung's number beside another's, in words.
 * @param {Rung} now @param {Rung | undefined} then @param {string} name @param {Measure} measure */
export function compared(now, then, name, measure) {
  if (!then) return "It changes no other model; choose one to compare it with.";
  if (now === then) return "Choose another model to compare it with.";
  const found = gain(now, then, name);
  if (!found) return `So it cannot be compared with ${then.label}.`;
  const { difference, ratio } = found;
  const other = `the ${shown(then.numbers[name], measure)} of ${then.label}`;
  if (!difference) return `That is the same as ${other}.`;
  if (!measure.digits && ratio !== null) {
    return `That is ${ratio.toFixed(2)} times ${other}; ${aim(measure)}.`;
  }
  const [size, half] = [Math.abs(difference), 0.5 * 10 ** -measure.digits];
  if (size < half) return `That is less than ${half.toFixed(measure.digits + 1)} from ${other}.`;
  const caution = unrounded(Number(now.numbers[name]), Number(then.numbers[name]), measure.digits);
  return (
    `That is ${shown(size, measure)}${caution} ${difference > 0 ? "above" : "below"} ${other}; ` +
    `${aim(measure)}.`
  );
}

/** The step in words.
 * @param {Rung[]} rungs @param {string} name @param {Measure} measure
 * @param {number} step @param {number} against */
export const sentence = (rungs, name, measure, step, against) =>
  `Model ${step + 1} of ${rungs.length}, ${rungs[step].label}: ${rungs[step].change} ` +
  `Its ${measure.title}: ${ranged(rungs[step], name, measure)}. ` +
  compared(rungs[step], rungs[partner(rungs, step, against)], name, measure);

/** Where the bars end: the largest number or upper end of an interval.
 * @param {Rung[]} rungs @param {string} name */
export const extent = (rungs, name) =>
  Math.max(...rungs.flatMap((rung) => [rung.numbers[name] ?? 0, rung.intervals[name]?.[1] ?? 0])) ||
  1;

/** One rung: its name, its bar with the interval, its number; and `fill`.
 * @param {Rung} rung @param {() => void} onclick */
function row(rung, onclick) {
  const length = element("span", { class: "fill" });
  const whisker = element("span", { class: "whisker" });
  const number = element("span", { class: "number", "data-role": "number" });
  const beside = element("span", { class: "beside" });
  const node = element(
    "button",
    { type: "button", class: "rung", "data-action": "rung", onclick },
    element("span", { class: "label" }, rung.label),
    " ",
    element("span", { class: "track", "aria-hidden": "true" }, length, whisker),
    number,
    " ",
    beside,
  );
  /** @param {string} name @param {Measure} measure @param {number} most */
  const fill = (name, measure, most) => {
    const value = rung.numbers[name] ?? null;
    const [low, high] = rung.intervals[name] ?? [0, 0];
    /** @param {number} x */
    const percent = (x) => `${((100 * x) / most).toFixed(2)}%`;
    length.style.width = percent(value ?? 0);
    whisker.hidden = !rung.intervals[name];
    Object.assign(whisker.style, { left: percent(low), width: percent(high - low) });
    number.textContent = value === null ? "\u2013" : shown(value, measure);
    number.title = value === null ? "not measured" : "";
    if (value === null) delete number.dataset.value;
    else number.dataset.value = String(value);
  };
  return { node, beside, fill };
}

/** All rungs by all measures. @param {Rung[]} rungs @param {[string, Measure][]} measures */
const all = (rungs, measures) =>
  tableOf(
    ["model", ...measures.map(([, one]) => one.title)],
    rungs.map((rung) => [
      rung.label,
      ...measures.map(([key, one]) => shown(rung.numbers[key], one)),
    ]),
  );

/** The whole widget. @param {import("./lib/view.js").Model<State>} model */
function build(model) {
  const [rungs, measures] = [model.get("rungs"), model.get("measures")];
  const at = () => ({ step: model.get("step"), last: rungs.length - 1 });
  const walk = transport(at, (step) => change(model, { step }), 2500);
  const { say } = voice(model);
  const rows = rungs.map((rung, i) => row(rung, () => walk.to(i)));
  const figure = element("div", { class: "ladder" }, ...rows.map(({ node }) => node));
  const table = scroller("the numbers as a table", { hidden: true });
  table.append(all(rungs, measures));
  const what = select(
    "measure",
    measures.map(([key, one]) => [key, one.title]),
    (measure) => change(model, { measure }),
  );
  /** @type {[number, string][]} */
  const others = rungs.map((rung, i) => [i, rung.label]);
  const whom = select("against", [[-1, "the model that it changes"], ...others], (i) =>
    change(model, { against: Number(i) }),
  );
  const node = frame(
    "rungs",
    "Models, one change apart",
    at,
    walk.to,
    bar(...walk.nodes, tableButton(figure, table)),
    bar(element("label", {}, "Measure", what), element("label", {}, "Against", whom)),
    say,
    figure,
    table,
  );

  function draw() {
    const [name, step, against] = [model.get("measure"), model.get("step"), model.get("against")];
    const measure = Object.fromEntries(measures)[name];
    const [most, other] = [extent(rungs, name), partner(rungs, step, against)];
    const found = gain(rungs[step], rungs[other], name);
    what.value = name;
    whom.value = String(against);
    const held = rows.some((one) => one.node === document.activeElement);
    rows.forEach((one, i) => {
      one.fill(name, measure, most);
      one.node.classList.toggle("partner", i === other && i !== step);
      one.beside.textContent =
        i === step ? (other === step ? "" : brief(found, measure)) : i === other ? "compared" : "";
      if (i === step) one.node.setAttribute("aria-current", "step");
      else one.node.removeAttribute("aria-current");
      delete one.beside.dataset.role;
      if (i === step && found) {
        Object.assign(one.beside.dataset, { role: "difference", value: String(found.difference) });
      }
    });
    if (held) rows[step].node.focus();
    say.textContent = sentence(rungs, name, measure, step, against);
    walk.draw();
  }
  return { node, draw, stop: walk.stop };
}

export default widget(["rungs", "measures"], ["measure", "step", "against"], build, {
  measure: (x, s) => s.measures.some(([name]) => name === x),
  step: integer(0, (s) => s.rungs.length - 1),
  against: integer(-1, (s) => s.rungs.length - 1),
});
