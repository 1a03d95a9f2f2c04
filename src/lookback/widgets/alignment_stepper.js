// @ts-check
// An alignment, walked target word by target word: the energies of a row, the
// weights, the context they mix. Python: alignment_stepper.py.

import { spot, squares } from "./lib/grid.js";
import { integer } from "./lib/link.js";
import { mix, softmax, widest } from "./lib/maths.js";
import { digits, quoted } from "./lib/text.js";
import {
  bar,
  button,
  change,
  element,
  frame,
  headings,
  press,
  select,
  transport,
  tune,
  voice,
  widget,
} from "./lib/view.js";

/** `symbol` is what a value is called, `score` what an energy is, `by` who
 * attends, where several do.
 * @typedef {{source: string[], target: string[], energies: number[][],
 *   values: number[][], title?: string, by?: string, symbol?: string,
 *   score?: string}} Example */
/** @typedef {{examples: Example[], example: number, step: number}} State */
/** @typedef {{weights: number[], context: number[]}} Look */

/** α_i = softmax(e_i) and c_i = Σ_j α_ij h_j, for target word i.
 * @param {Example} example @param {number} i @returns {Look} */
export function look(example, i) {
  const weights = softmax(example.energies[i]);
  return { weights, context: mix(weights, example.values) };
}

/** What a sentence is chosen by. @param {Example} example */
const titleOf = ({ title, source }) => title ?? source.slice(0, -1).join(" ");

/** The step in words.
 * @param {Example} example @param {number} step */
export function sentence({ source, target, energies }, step) {
  const weights = softmax(energies[step]);
  const [best, second] = weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a]);
  const also =
    second !== undefined && weights[second] >= 0.1
      ? `, then to ${quoted(source, second)} with ${digits(weights[second])}`
      : "";
  return (
    `Target word ${step + 1}, “${target[step]}”, attends to ${quoted(source, best)} ` +
    `with weight ${digits(weights[best])}${also}.`
  );
}

/** Scrolls the region, and never the page, until the cell is not hidden by the
 * headings or the foot, which stay in view.
 * @param {HTMLElement} region @param {HTMLTableCellElement} cell
 * @param {{head: HTMLElement, foot: HTMLElement, first: HTMLElement, side: HTMLElement}} fixed
 *   what stays in view above, below, to the left and to the right */
function reveal(region, cell, { head, foot, first, side }) {
  const top = cell.offsetTop - head.offsetHeight;
  const bottom = cell.offsetTop + cell.offsetHeight + foot.offsetHeight - region.clientHeight;
  const left = cell.offsetLeft - first.offsetWidth;
  const right = cell.offsetLeft + cell.offsetWidth + side.offsetWidth - region.clientWidth;
  region.scrollTop = Math.min(Math.max(region.scrollTop, bottom), top);
  region.scrollLeft = Math.min(Math.max(region.scrollLeft, right), left);
}

/** A bar of length |x| to one side of a cell's middle line, as a background:
 * without elements of its own, so that one step can change six hundred of them.
 * @param {number} x from −1 to 1 @param {number} middle share of the width */
function background(x, middle) {
  const length = Math.abs(x) * middle;
  const place = (x < 0 ? middle - length : middle) / (1 - length);
  return { size: `${(100 * length).toFixed(1)}% 70%`, place: `${(100 * place).toFixed(1)}%` };
}

/** A cell whose number is written only when its text is new.
 * @param {string} role @param {string} [kind] */
function numberCell(role, kind = role) {
  const text = element("span", {});
  const node = element("td", { class: kind, "data-role": role }, text);
  /** @param {number} value */
  const put = (value) => {
    node.dataset.value = String(value);
    const now = digits(value);
    if (text.textContent !== now) text.textContent = now;
  };
  let drawn = "";
  /** Two bars, one behind the other. @param {number} behind @param {number} now
   * @param {number} most @param {number} [middle] */
  const bars = (behind, now, most, middle = 0.5) => {
    const both = [background(now / most, middle), background(behind / most, middle)];
    const size = both.map((one) => one.size).join();
    if (drawn === size) return;
    drawn = size;
    node.style.backgroundSize = `${size}, 1px`;
    node.style.backgroundPosition = `${both.map((one) => one.place).join()}, ${100 * middle}%`;
    node.classList.toggle("minus", behind < 0);
  };
  return { node, put, bars };
}

/** Below the map, in its columns: the row's energies, the weights they become,
 * the values h_j; at the right of each of their numbers, the context's.
 * @param {Example} example */
function foot({ source, values, energies, symbol = "h", score = "energy e" }) {
  const most = widest(values.flat());
  /** @param {string} role */
  const cells = (role) => source.map(() => numberCell(role));
  const [energy, weight] = [cells("energy"), cells("weight")];
  const parts = values[0].map(() => cells("part"));
  const context = values[0].map(() => numberCell("context", "part context"));
  parts.forEach((row, k) =>
    row.forEach((cell, j) => {
      cell.put(values[j][k]);
      cell.node.title = `${symbol} ${k + 1} of ${quoted(source, j)}: ${digits(values[j][k])}`;
    }),
  );
  /** @param {string} name @param {{node: Node}[]} row @param {...Node} more */
  const line = (name, row, ...more) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      ...row.map((cell) => cell.node),
      ...more,
    );
  const side = element(
    "th",
    { scope: "col", class: "context" },
    `${symbol === "h" ? "c = " : ""}Σ α ${symbol}`,
  );
  const node = element(
    "tfoot",
    {},
    line(score, energy),
    line("weight α", weight, side),
    ...parts.map((row, k) => line(k ? `${k + 1}` : `${symbol}, no. 1`, row, context[k].node)),
  );
  return {
    node,
    side,
    /** @param {number} step @param {Look} now */
    draw(step, now) {
      now.weights.forEach((alpha, j) => {
        energy[j].put(energies[step][j]);
        weight[j].put(alpha);
        tune(weight[j].node, "--w", alpha);
        parts.forEach((row, k) => row[j].bars(values[j][k], values[j][k] * alpha, most));
      });
      context.forEach((cell, k) => {
        cell.put(now.context[k]);
        cell.bars(now.context[k], now.context[k], most, 0.25);
      });
    },
  };
}

/** The map of all weights: a row for each target word, a column for each source word.
 * @param {Example} example @param {(step: number) => void} go */
function map(example, go) {
  const { source, target } = example;
  const looks = target.map((_, i) => look(example, i));
  const corner = element("td", {});
  const titles = headings(source.map((word) => element("span", {}, word)));
  titles.prepend(corner);
  const head = element("thead", {}, titles);
  const cells = looks.map(({ weights }, i) =>
    weights.map((weight, j) =>
      element(
        "td",
        {
          tabindex: -1,
          style: `--w:${weight.toFixed(4)}`,
          "data-row": i,
          "data-column": j,
          "data-value": weight,
        },
        element("span", {}, digits(weight)),
      ),
    ),
  );
  const names = target.map((word, i) => element("th", { scope: "row", "data-row": i }, word));
  const rows = target.map((_, i) => element("tr", {}, names[i], ...cells[i]));
  const below = foot(example);
  const hint = "Point at a square, or walk the map with the arrow keys.";
  const tell = element("p", { class: "tell", "data-role": "cell" }, hint);
  const walker = squares(rows, cells, go);
  /** @param {Event} event */
  const describe = (event) => {
    const { row, column: j, value } = spot(event);
    const [i, k] = [Number(row), Number(j)];
    tell.textContent =
      value === undefined
        ? hint
        : `“${target[i]}” attends to ${quoted(source, k)}: ${example.score ?? "energy"} ${digits(example.energies[i][k])}, ` +
          `weight ${digits(Number(value), 3)}.`;
  };
  /** @param {MouseEvent} event */
  const moved = (event) => {
    if (event.movementX || event.movementY) describe(event);
  };
  const region = element(
    "div",
    {
      class: "map",
      onmousemove: moved,
      onfocusin: describe,
      onclick: walker.click,
      onkeydown: walker.walk,
    },
    element(
      "table",
      {
        role: "grid",
        "aria-label": "weights: a row for each target word, a column for each source word",
      },
      head,
      element("tbody", {}, ...rows),
      below.node,
    ),
  );
  return {
    node: element("div", {}, region, tell),
    /** @param {number} step */
    draw(step) {
      walker.draw(step);
      below.draw(step, looks[step]);
    },
    reveal() {
      // last, since it measures where things are
      const { row } = walker.place();
      const { weights } = looks[row];
      const best = cells[row][weights.indexOf(Math.max(...weights))];
      reveal(region, best, { head, foot: below.node, first: names[row], side: below.side });
    },
  };
}

/** The two sentences: the source filled by weight, the target as written.
 * @param {Example} example */
function lines(example) {
  const words = example.source.map((word) => element("span", { class: "word" }, word));
  const written = example.target.map((word) => element("span", { class: "word" }, word));
  /** @param {string} role @param {HTMLElement[]} spans */
  const line = (role, spans) =>
    element(
      "p",
      { class: "words", "data-role": role },
      element("span", { class: "tag" }, role),
      ...spans.flatMap((span) => [" ", span]),
    );
  return {
    node: element("div", {}, line("source", words), line("written", written)),
    /** @param {number} step */
    draw(step) {
      look(example, step).weights.forEach((weight, j) => tune(words[j], "--w", weight));
      written.forEach((span, i) => {
        span.hidden = i > step;
        span.classList.toggle("now", i === step);
      });
    },
  };
}

/** Who attends, where several do: a button each, for the same sentence.
 * @param {Example[]} examples @param {number} now @param {(example: number) => void} go */
function lookers(examples, now, go) {
  const title = titleOf(examples[now]);
  const each = examples.flatMap((one, i) => {
    if (one.by === undefined || titleOf(one) !== title) return [];
    const node = button(`by-${i}`, one.by, () => go(i));
    press(node, i === now);
    return [node];
  });
  return element("div", { class: "bar", role: "group", "aria-label": "who attends" }, ...each);
}

/** The whole widget, for one example.
 * @param {import("./lib/view.js").Model<State>} model */
function build(model) {
  const examples = model.get("examples");
  const example = examples[model.get("example")];
  const last = example.target.length - 1;
  const at = () => ({ step: Math.min(model.get("step"), last), last });
  const walk = transport(at, (step) => change(model, { step }));
  const [words, grid] = [lines(example), map(example, walk.to)];
  const { say } = voice(model);
  const now = model.get("example");
  const titles = examples.map(titleOf);
  const sentences = [...new Set(titles)];
  const who = lookers(examples, now, (to) =>
    change(model, { step: Math.min(at().step, examples[to].target.length - 1), example: to }),
  );
  /** The same one looks at the next sentence. @param {string} title */
  const other = (title) => {
    const same = examples.findIndex((one, i) => titles[i] === title && one.by === example.by);
    change(model, { step: 0, example: Math.max(same, titles.indexOf(title)) });
  };
  const choose = select(
    "example",
    sentences.map((title) => [title, title]),
    other,
  );
  choose.value = titles[now];
  const table = button(
    "table",
    "Table",
    () => press(table, node.classList.toggle("numbers")),
    "Show as table",
  );
  press(table, false);
  const node = frame(
    "alignment-stepper",
    "Alignment, word by word",
    at,
    walk.to,
    element("label", { class: "choose", hidden: sentences.length < 2 }, "sentence ", choose),
    who,
    bar(...walk.nodes, table),
    words.node,
    say,
    grid.node,
  );
  node.classList.toggle("long", Math.max(example.source.length, last + 1) > 14);
  return {
    node,
    stop: walk.stop,
    draw() {
      const { step } = at();
      words.draw(step);
      grid.draw(step);
      walk.draw();
      say.textContent = sentence(example, step);
      grid.reveal();
    },
  };
}

export default widget(["examples", "example"], ["step"], build, {
  example: integer(0, (s) => s.examples.length - 1),
  step: integer(0, (s) => s.examples[s.example].target.length - 1),
});
