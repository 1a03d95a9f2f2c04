// @ts-check
// Is one translator better than another? Every caption's two translations
// change places by the toss of a coin. Python: swaps.py, with the same coins.
import {
  button,
  change,
  digits,
  element,
  grey,
  lines,
  mount,
  scroller,
  tableButton,
  tableOf,
} from "./shared.js";
import { uniform } from "./mulberry.js";

/** @typedef {import("./shared.js").Model} Model */
/** @typedef {{count: number, one: number[], two: number[], moved: Float64Array}} Pair */

const [BINS, ROW, MOST, ENOUGH, TABLED] = [61, 9, 10000, 100, 50];
export const SIZES = [100, 300, 1000];
const whole = (x) => x.toLocaleString("en");

/** Rows of nine numbers: m_1…m_4, t_1…t_4 and r, from six a caption.
 * @param {string} text @returns {number[][]} */
export const parse = (text) =>
  text.split(",").map((row) => {
    const [a, b, c, d, length, r] = row.trim().split(/\s+/).map(Number);
    return [a, b, c, d, ...[0, 1, 2, 3].map((n) => Math.max(0, length - n)), r];
  });

/** The sum of all rows. @param {number[][]} rows @returns {number[]} */
export const total = (rows) =>
  rows.reduce((sum, row) => sum.map((x, k) => x + row[k]), Array(ROW).fill(0));

/** BLEU, 0–100, from summed rows; 0 where an m_n is 0. @param {ArrayLike<number>} s */
export function bleu(s) {
  let mean = 0;
  for (let n = 0; n < 4; n += 1) {
    if (!s[n]) return 0;
    mean += Math.log(s[n] / s[4 + n]) / 4;
  }
  return 100 * Math.exp(Math.min(0, 1 - s[8] / s[4]) + mean);
}

/** Two translators' first `size` captions: both sums, and what each caption
 * moves when its rows change places.
 * @param {number[][]} one @param {number[][]} two @param {number} size @returns {Pair} */
export function prepare(one, two, size) {
  const [a, b] = [one.slice(0, size), two.slice(0, size)];
  const moved = Float64Array.from(a.flatMap((row, i) => row.map((x, k) => b[i][k] - x)));
  return { count: a.length, one: total(a), two: total(b), moved };
}

/** One trial: how many captions were swapped, and both scores thereafter.
 * @param {Pair} pair @param {number} seed @param {number} trial */
export function swap({ count, one, two, moved }, seed, trial) {
  const over = new Float64Array(ROW);
  let swapped = 0;
  for (let i = 0; i < count; i += 1) {
    if (uniform(seed, trial * count + i) < 0.5) {
      swapped += 1;
      for (let k = 0; k < ROW; k += 1) over[k] += moved[i * ROW + k];
    }
  }
  return {
    swapped,
    first: bleu(one.map((x, k) => x + over[k])),
    second: bleu(two.map((x, k) => x - over[k])),
  };
}

/** Whether a trial's gap is larger than the true one, signs aside. */
const beats = (x, gap) => Math.abs(x) > Math.abs(gap) + 1e-9;

/** All that is shown of `trials` swaps; `known` gaps are not made again.
 * @param {Pair} pair @param {number} trials @param {number} seed @param {number[]} [known] */
export function measure(pair, trials, seed, known = []) {
  const [first, second] = [bleu(pair.one), bleu(pair.two)];
  const gap = second - first;
  const gaps = known.slice(0, trials);
  let last = null;
  for (let i = Math.min(gaps.length, Math.max(0, trials - 1)); i < trials; i += 1) {
    last = swap(pair, seed, i);
    gaps[i] = last.second - last.first;
  }
  const larger = gaps.filter((x) => beats(x, gap)).length;
  const p = Math.abs(gap) < 1e-9 ? 1 : (larger + 1) / (trials + 1);
  return { count: pair.count, first, second, gap, gaps, last, larger, p };
}

/** What the trials so far say. @param {ReturnType<typeof measure>} now */
function verdict({ gap, gaps, larger, p }) {
  if (Math.abs(gap) < 1e-9) return "There is no gap for chance to beat: p = 1.";
  const [n, value] = [gaps.length, digits(p, p < 0.01 ? 4 : 3)];
  const start =
    `${whole(larger)} of ${whole(n)} ${n === 1 ? "trial" : "trials"} made a ` +
    `larger gap than the true one: p = (${whole(larger)} + 1) / (${whole(n)} + 1) = ${value}, `;
  if (n < ENOUGH) return `${start}from too few trials to trust.`;
  return (
    start +
    (p < 0.05
      ? "below 0.05: chance rarely makes so large a gap."
      : "not below 0.05: chance may well have made the gap.")
  );
}

/** The trials in words. @param {string[]} names @param {ReturnType<typeof measure>} now */
export function sentence([one, two], now) {
  const { first, second, gap, last, gaps } = now;
  const start =
    `${one} ${digits(first)}, ${two} ${digits(second)}: ` + `a gap of ${digits(Math.abs(gap))}.`;
  if (!last) {
    return (
      `${start} Toss a coin for each of the ${whole(now.count)} captions: ` +
      "how large a gap does chance make?"
    );
  }
  return (
    `${start} Trial ${whole(gaps.length)}: ${whole(last.swapped)} of ${whole(now.count)} ` +
    `captions swapped, ${digits(last.first)} against ${digits(last.second)}, a gap of ` +
    `${digits(Math.abs(last.second - last.first))}. ${verdict(now)}` +
    (gaps.length === MOST ? " That is all it makes." : "")
  );
}

/** Where the histogram ends: 1, 2, 3 or 5 times a power of ten.
 * @param {number[]} gaps @param {number} gap */
export function reachOf(gaps, gap) {
  const most = gaps.reduce((a, x) => Math.max(a, Math.abs(x)), Math.max(0.9, Math.abs(gap)));
  return [1, 2, 3, 5, 10, 20, 30, 50].find((end) => end >= 1.1 * most) ?? 100;
}

/** How the gaps fall between −reach and reach, and how many of each bin are
 * larger than the true one. @param {number[]} gaps @param {number} gap @param {number} reach */
export function histogram(gaps, gap, reach) {
  const found = Array.from({ length: BINS }, () => ({ all: 0, larger: 0 }));
  for (const x of gaps) {
    const at = Math.floor(((x + reach) / (2 * reach)) * BINS);
    const bin = found[Math.min(BINS - 1, Math.max(0, at))];
    bin.all += 1;
    bin.larger += Number(beats(x, gap));
  }
  return found;
}

/** A choice with a label in front; `show` adds a number that it lacks. */
function choice(action, label, options, onchange) {
  const option = ([value, text]) => element("option", { value }, text);
  const select = element(
    "select",
    { "data-action": action, onchange: () => onchange(Number(select.value)) },
    ...options.map(option),
  );
  const show = (value) => {
    const there = [...select.options].some((one) => Number(one.value) === value);
    if (!there) select.append(option([value, whole(value)]));
    select.value = String(value);
  };
  return { show, node: element("label", {}, label, select) };
}

/** The columns, and the two lines at the true gap. */
function chart() {
  const columns = element(
    "div",
    { class: "columns", "data-role": "histogram" },
    ...Array.from({ length: BINS }, () => element("i")),
  );
  const marks = [-1, 1].map((side) => ({ side, node: element("b", { class: "true" }) }));
  const ends = [-1, 0, 1].map((side) => ({ side, node: element("span") }));
  const head = element("p", { class: "head" });
  const node = element(
    "div",
    {},
    head,
    element(
      "div",
      { "aria-hidden": "true" },
      element("div", { class: "field" }, columns, ...marks.map((one) => one.node)),
      element("div", { class: "axis" }, ...ends.map((one) => one.node)),
    ),
  );
  return {
    node,
    fill([one, two], { gaps, gap }) {
      const reach = reachOf(gaps, gap);
      const found = histogram(gaps, gap, reach);
      const most = Math.max(1, ...found.map(({ all }) => all));
      head.textContent =
        `Each trial\u2019s gap, ${two} minus ${one}. Dashed: the true gap, on both ` +
        `sides. Orange: larger. The full height is ${whole(most)} ${most === 1 ? "trial" : "trials"}.`;
      found.forEach(({ all, larger }, i) => {
        const { style, dataset } = columns.children[i];
        style.setProperty("--share", String(all / most));
        style.setProperty("--beyond", String(larger / (all || 1)));
        Object.assign(dataset, { value: all, larger });
      });
      for (const { side, node: mark } of marks) {
        mark.style.left = `${(50 + (50 * side * Math.abs(gap)) / reach).toFixed(2)}%`;
      }
      for (const { side, node: end } of ends)
        end.textContent = side ? digits(side * reach, 0) : "0";
    },
  };
}

/** The five figures, each with its name. */
function tiles() {
  const shown = ["first", "second", "gap", "larger", "p"].map((role) => ({
    role,
    name: element("span"),
    number: element("b", { "data-role": role }),
  }));
  return {
    node: element(
      "div",
      { class: "tiles" },
      ...shown.map(({ name, number }) => element("div", {}, name, " ", number)),
    ),
    fill([one, two], now) {
      const n = now.gaps.length;
      const told = {
        first: [one, digits(now.first)],
        second: [two, digits(now.second)],
        gap: ["true gap", digits(now.gap)],
        larger: [`larger, of ${whole(n)}`, whole(now.larger)],
        p: ["p", n ? digits(now.p, now.p < 0.01 ? 4 : 3) : "\u2013"],
      };
      for (const { role, name, number } of shown) {
        [name.textContent, number.textContent] = told[role];
        number.dataset.value = now[role];
      }
    },
  };
}

/** The whole widget. @param {Model} model */
function build(model) {
  const labels = model.get("labels");
  const counts = model.get("counts");
  /** @type {number[][][]} parsed when they are first asked for */
  const parsed = [];
  const rows = (i) => (parsed[i] ??= parse(counts[i]));
  const most = counts[0].split(",").length;
  const at = () => ["first", "second", "size", "trials", "seed"].map((name) => model.get(name));
  let [key, pair, gaps] = ["", prepare([], [], 0), /** @type {number[]} */ ([])];
  const options = labels.map((label, i) => [i, label]);
  const set = (changes) => change(model, { trials: 0, ...changes });
  const choices = [
    choice("first", "First", options, (first) => set({ first })),
    choice("second", "Second", options, (second) => set({ second })),
    choice(
      "size",
      "Captions",
      [...SIZES.filter((n) => n < most), most].map((n) => [n, whole(n)]),
      (size) => set({ size }),
    ),
  ];
  const off = () => model.get("trials") === MOST || model.get("first") === model.get("second");
  const more = (count) => () =>
    off() || change(model, { trials: Math.min(MOST, model.get("trials") + count) });
  const buttons = [
    button("once", "Swap once", more(1)),
    button("hundred", "100 times", more(100), "Swap 100 times"),
    button("thousand", "1,000 times", more(1000), "Swap 1,000 times"),
  ];
  const again = button(
    "again",
    "Start again",
    () => set({ seed: (model.get("seed") + 1) % 2 ** 31 }),
    "Start again, with other coins",
  );
  const [say] = lines();
  const [figure, numbers] = [chart(), tiles()];
  const table = scroller("the last trials as a table", { hidden: true });
  const node = element(
    "div",
    {
      class: "lookback-widget",
      "data-widget": "swaps",
      role: "group",
      "aria-label": "Swap two translators by chance",
    },
    element("div", { class: "bar" }, ...choices.map((one) => one.node)),
    element("div", { class: "bar" }, ...buttons, again, tableButton(figure.node, table)),
    say,
    figure.node,
    table,
    numbers.node,
  );
  return {
    node,
    draw() {
      const [first, second, size, trials, seed] = at();
      const names = [labels[first], labels[second]];
      if (key !== [first, second, size, seed].join()) {
        key = [first, second, size, seed].join();
        [pair, gaps] = [prepare(rows(first), rows(second), size), []];
      }
      const now = measure(pair, trials, seed, gaps);
      gaps = now.gaps;
      [first, second, pair.count].forEach((value, i) => choices[i].show(value));
      buttons.forEach((one) => grey(one, off()));
      say.textContent =
        first === second
          ? `${names[0]} against itself: no gap. Choose two different translators.`
          : sentence(names, now);
      figure.fill(names, now);
      numbers.fill(names, now);
      table.replaceChildren(
        tableOf(
          ["trial", "gap", "larger than the true gap"],
          gaps
            .slice(-TABLED)
            .map((gap, i) => [
              whole(Math.max(0, trials - TABLED) + i + 1),
              digits(gap),
              beats(gap, now.gap) ? "yes" : "no",
            ])
            .reverse(),
        ),
      );
    },
  };
}

export default {
  render: (context) =>
    mount(context, ["labels", "counts"], ["first", "second", "size", "trials", "seed"], build),
};
