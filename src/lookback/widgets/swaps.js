// @ts-check
// Is one translator better than another? Every caption's two translations
// change places at random (a paired randomization test). Python: swaps.py, with
// the same random numbers.

import { axis, columns, tiles } from "./lib/chart.js";
import { integer } from "./lib/link.js";
import { within } from "./lib/maths.js";
import { uniform } from "./lib/mulberry.js";
import { unrounded } from "./lib/rounding.js";
import { digits, grouped } from "./lib/text.js";
import {
  bar,
  button,
  change,
  element,
  grey,
  root,
  scroller,
  select,
  tableButton,
  tableOf,
  voice,
  widget,
} from "./lib/view.js";
import limits from "./swaps.json" with { type: "json" };

/** @typedef {{labels: string[], counts: string[], first: number, second: number, size: number,
 *   trials: number, seed: number}} State */
/** @typedef {{swapped: number, first: number, second: number}} Swapped */
/** @typedef {{count: number, first: number, second: number, gap: number, gaps: number[],
 *   last: Swapped | null, reached: number, p: number}} Measured */
/** @typedef {{count: number, one: number[], two: number[], moved: Float64Array}} Pair */

const [BINS, ROW, ENOUGH, TABLED] = [61, 9, 100, 50];
const MOST = limits.trials;
const ROLES = /** @type {const} */ (["first", "second", "gap", "reached", "p"]);
export const SIZES = [100, 300, 1000];

/** Rows of nine numbers, m_1…m_4, t_1…t_4 and r, from six for each caption.
 * @param {string} text @returns {number[][]} */
export const parse = (text) =>
  text.split(",").map((row) => {
    const [a, b, c, d, length, r] = row.trim().split(/\s+/).map(Number);
    return [a, b, c, d, ...[0, 1, 2, 3].map((n) => Math.max(0, length - n)), r];
  });

/** The sum of all rows. @param {number[][]} rows @returns {number[]} */
export const summed = (rows) =>
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
  return { count: a.length, one: summed(a), two: summed(b), moved };
}

/** One trial: how many captions were swapped, and both scores afterwards.
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

/** Whether a trial's gap is at least as large as the true one, whatever their signs.
 * @param {number} x @param {number} gap */
const reaches = (x, gap) => Math.abs(x) >= Math.abs(gap) - 1e-9;

/** All that is shown of `trials` swaps; `known` gaps are not computed again.
 * @param {Pair} pair @param {number} trials @param {number} seed @param {number[]} [known]
 * @returns {Measured} */
export function measure(pair, trials, seed, known = []) {
  const [first, second] = [bleu(pair.one), bleu(pair.two)];
  const gap = second - first;
  const gaps = known.slice(0, trials);
  /** @type {Swapped | null} */
  let last = null;
  for (let i = Math.min(gaps.length, Math.max(0, trials - 1)); i < trials; i += 1) {
    last = swap(pair, seed, i);
    gaps[i] = last.second - last.first;
  }
  const reached = gaps.filter((x) => reaches(x, gap)).length;
  const p = (reached + 1) / (trials + 1);
  return { count: pair.count, first, second, gap, gaps, last, reached, p };
}

/** What the trials so far say. @param {Measured} now */
function outcome({ gap, gaps, reached, p }) {
  if (Math.abs(gap) < 1e-9) return "There is no gap for chance to beat: p = 1.";
  const [n, value] = [gaps.length, digits(p, p < 0.01 ? 4 : 3)];
  const start =
    `So far ${grouped(reached)} of ${grouped(n)} ${n === 1 ? "chance gap is" : "chance gaps are"} ` +
    `at least as large as the true one: p = (1 + ${grouped(reached)}) / (1 + ${grouped(n)}) = ${value}, `;
  if (n < ENOUGH) return `${start}from too few trials to trust.`;
  return (
    start +
    (p < 0.05
      ? "below 0.05: chance rarely makes so large a gap."
      : "not below 0.05: chance may well have made the gap.")
  );
}

/** The trials in words. @param {string[]} names @param {Measured} now */
export function sentence([one, two], now) {
  const { first, second, gap, last, gaps } = now;
  const chance = last ? last.second - last.first : 0;
  const places = last && digits(Math.abs(chance)) === digits(Math.abs(gap)) ? 4 : 2;
  const start =
    `BLEU of ${one} ${digits(first)}, of ${two} ${digits(second)}: ` +
    `the true gap is ${digits(Math.abs(gap), places)}${unrounded(first, second)}.`;
  if (!last) {
    return (
      `${start} Exchange the two translations of each of the ${grouped(now.count)} captions ` +
      "with probability one half: how large a gap does chance make?"
    );
  }
  return (
    `${start} Trial ${grouped(gaps.length)} lets the two change places in ` +
    `${grouped(last.swapped)} of ${grouped(now.count)} captions. The two mixed lists score ` +
    `${digits(last.first)} and ${digits(last.second)}, a chance gap of ` +
    `${digits(Math.abs(chance), places)}${unrounded(last.first, last.second)}, ${reaches(chance, gap) ? "at least as large as" : "smaller than"} ` +
    `the true one. ${outcome(now)}` +
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
 * at least as large as the true one. @param {number[]} gaps @param {number} gap @param {number} reach */
export function histogram(gaps, gap, reach) {
  const found = Array.from({ length: BINS }, () => ({ all: 0, reached: 0 }));
  for (const x of gaps) {
    const at = Math.floor(((x + reach) / (2 * reach)) * BINS);
    const bin = found[within(0, at, BINS - 1)];
    bin.all += 1;
    bin.reached += Number(reaches(x, gap));
  }
  return found;
}

/** A choice with a label in front; `show` adds an option that is not there yet.
 * @param {string} action @param {string} label @param {[number, string][]} options
 * @param {(value: number) => void} chosen */
function choice(action, label, options, chosen) {
  const node = select(action, options, (value) => chosen(Number(value)));
  /** @param {number} value */
  const show = (value) => {
    const there = [...node.options].some((one) => Number(one.value) === value);
    if (!there) node.append(element("option", { value }, grouped(value)));
    node.value = String(value);
  };
  return { show, node: element("label", {}, label, node) };
}

/** The columns, and the two lines at the true gap. */
function chart() {
  const bins = columns("histogram", BINS);
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
      element("div", { class: "field" }, bins.node, ...marks.map((one) => one.node)),
      axis(ends.map((one) => one.node)),
    ),
  );
  return {
    node,
    /** @param {Measured} now */
    fill({ gaps, gap }) {
      const reach = reachOf(gaps, gap);
      const found = histogram(gaps, gap, reach);
      const most = Math.max(1, ...found.map(({ all }) => all));
      head.textContent =
        `Each trial\u2019s chance gap, second list minus first. Dashed: the true gap, on both ` +
        `sides. Orange: at least as large. The full height is ${grouped(most)} ${most === 1 ? "trial" : "trials"}.`;
      found.forEach(({ all, reached }, i) => {
        bins.set(i, all, all / most);
        bins.each[i].style.setProperty("--beyond", String(reached / (all || 1)));
        bins.each[i].dataset.reached = String(reached);
      });
      for (const { side, node: mark } of marks) {
        mark.style.left = `${(50 + (50 * side * Math.abs(gap)) / reach).toFixed(2)}%`;
      }
      for (const { side, node: end } of ends)
        end.textContent = side ? digits(side * reach, 0) : "0";
    },
  };
}

/** The five figures, each with its name.
 * @param {string[]} names @param {Measured} now
 * @returns {Record<typeof ROLES[number], [string, number, string]>} */
function figures([one, two], now) {
  const n = now.gaps.length;
  const p = n ? digits(now.p, now.p < 0.01 ? 4 : 3) : "\u2013";
  return {
    first: [one, now.first, digits(now.first)],
    second: [two, now.second, digits(now.second)],
    gap: ["true gap, second minus first", now.gap, digits(now.gap)],
    reached: [`chance gaps as large, of ${grouped(n)}`, now.reached, grouped(now.reached)],
    p: ["p", now.p, p],
  };
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const labels = model.get("labels");
  const counts = model.get("counts");
  /** @type {number[][][]} parsed when they are first asked for */
  const parsed = [];
  /** @param {number} i */
  const rows = (i) => (parsed[i] ??= parse(counts[i]));
  const most = counts[0].split(",").length;
  let [key, pair, gaps] = ["", prepare([], [], 0), /** @type {number[]} */ ([])];
  /** @type {[number, string][]} */
  const options = labels.map((label, i) => [i, label]);
  /** @param {Partial<State>} changes */
  const set = (changes) => change(model, { trials: 0, ...changes });
  const sizes = [...SIZES.filter((n) => n < most), most];
  const choices = [
    choice("first", "First", options, (first) => set({ first })),
    choice("second", "Second", options, (second) => set({ second })),
    choice(
      "size",
      "Captions",
      sizes.map((n) => [n, grouped(n)]),
      (size) => set({ size }),
    ),
  ];
  const off = () => model.get("trials") === MOST || model.get("first") === model.get("second");
  /** @param {number} count */
  const more = (count) => () => {
    if (!off()) change(model, { trials: Math.min(MOST, model.get("trials") + count) });
  };
  const buttons = [
    button("once", "Swap once", more(1)),
    button("hundred", "100 times", more(100), "Swap 100 times"),
    button("thousand", "1,000 times", more(1000), "Swap 1,000 times"),
  ];
  const again = button(
    "again",
    "Start again",
    () => set({ seed: (model.get("seed") + 1) % 2 ** 31 }),
    "Start again, with other random swaps",
  );
  const { say } = voice(model);
  const [figure, numbers] = [chart(), tiles(ROLES)];
  const table = scroller("the last trials as a table", { hidden: true });
  const node = root(
    "swaps",
    "Swap two translators by chance",
    bar(...choices.map((one) => one.node)),
    bar(...buttons, again, tableButton(figure.node, table)),
    say,
    figure.node,
    table,
    numbers.node,
  );
  return {
    node,
    draw() {
      const { first, second, size, trials, seed } = read();
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
      figure.fill(now);
      numbers.fill(figures(names, now));
      table.replaceChildren(
        tableOf(
          ["trial", "chance gap", "at least as large"],
          gaps
            .slice(-TABLED)
            .map((gap, i) => [
              grouped(Math.max(0, trials - TABLED) + i + 1),
              digits(gap),
              reaches(gap, now.gap) ? "yes" : "no",
            ])
            .reverse(),
        ),
      );
    },
  };
}

export default widget(["labels", "counts"], ["first", "second", "size", "trials", "seed"], build, {
  first: integer(0, (s) => s.labels.length - 1),
  second: integer(0, (s) => s.labels.length - 1),
  size: integer(1, (s) => s.counts[0].split(",").length),
  trials: integer(0, MOST),
  seed: integer(0, 2 ** 31 - 1),
});
