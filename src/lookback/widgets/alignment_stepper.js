// @ts-check
// An alignment, walked target word by target word: the energies of a row, the
// weights, the context they mix. Python: alignment_stepper.py.
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
} from "./shared.js";

/** @typedef {import("./shared.js").Model} Model */
/** @typedef {{source: string[], target: string[], energies: number[][],
 *   values: number[][], title?: string}} Example */

/** α_i = softmax(e_i) and c_i = Σ_j α_ij h_j, for target word i.
 * @param {Example} example @param {number} i */
export function look(example, i) {
  const weights = softmax(example.energies[i]);
  return { weights, context: mix(weights, example.values) };
}

/** The step in words.
 * @param {Example} example @param {number} step */
export function sentence({ source, target, energies }, step) {
  const weights = softmax(energies[step]);
  const [best, second] = weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a]);
  const also =
    second !== undefined && weights[second] >= 0.1
      ? `, then at “${source[second]}” with ${digits(weights[second])}`
      : "";
  return (
    `Target word ${step + 1}, “${target[step]}”, looks at “${source[best]}” ` +
    `with weight ${digits(weights[best])}${also}.`
  );
}

/** Scrolls the region, and never the page, until the cell shows clear of the
 * headings and the foot, which stay in view. */
function reveal(region, cell) {
  const [head, , foot] = region.firstChild.children;
  const top = cell.offsetTop - head.offsetHeight;
  const bottom = cell.offsetTop + cell.offsetHeight + foot.offsetHeight - region.clientHeight;
  const left = cell.offsetLeft - cell.parentNode.firstChild.offsetWidth;
  const side = foot.rows[1].lastChild.offsetWidth;
  const right = cell.offsetLeft + cell.offsetWidth + side - region.clientWidth;
  region.scrollTop = Math.min(Math.max(region.scrollTop, bottom), top);
  region.scrollLeft = Math.min(Math.max(region.scrollLeft, right), left);
}

/** A bar of length |x| to one side of a cell's middle line, as a background:
 * no elements of its own, so that a step may change six hundred of them.
 * @param {number} x from −1 to 1 @param {number} middle share of the width */
function bar(x, middle) {
  const length = Math.abs(x) * middle;
  const place = (x < 0 ? middle - length : middle) / (1 - length);
  return { size: `${(100 * length).toFixed(1)}% 70%`, place: `${(100 * place).toFixed(1)}%` };
}

/** Below the map, in its columns: the row's energies, the weights they become,
 * the annotations h_j; at the right of each of their numbers, the context's. */
function foot({ source, values, energies }) {
  const most = Math.max(1e-9, ...values.flat().map(Math.abs));
  const cells = (role) =>
    source.map(() => element("td", { class: role, "data-role": role }, element("span", {})));
  const [energy, weight] = [cells("energy"), cells("weight")];
  const parts = values[0].map(() => cells("part"));
  const context = values[0].map(() =>
    element("td", { class: "part context", "data-role": "context" }, element("span", {})),
  );
  const put = (cell, value, text = digits(value)) => {
    cell.dataset.value = value;
    if (cell.firstChild.textContent !== text) cell.firstChild.textContent = text;
  };
  const drawn = new Map();
  const draw = (cell, behind, now, middle = 0.5) => {
    const bars = [bar(now / most, middle), bar(behind / most, middle)];
    const size = bars.map((one) => one.size).join();
    if (drawn.get(cell) === size) return;
    drawn.set(cell, size);
    cell.style.backgroundSize = `${size}, 1px`;
    cell.style.backgroundPosition = `${bars.map((one) => one.place).join()}, ${100 * middle}%`;
    cell.classList.toggle("minus", behind < 0);
  };
  parts.forEach((row, k) =>
    row.forEach((cell, j) => {
      put(cell, values[j][k]);
      cell.title = `h ${k + 1} of “${source[j]}”: ${digits(values[j][k])}`;
    }),
  );
  const line = (name, row, ...more) =>
    element("tr", {}, element("th", { scope: "row" }, name), ...row, ...more);
  const node = element(
    "tfoot",
    {},
    line("energy e", energy),
    line("weight α", weight, element("th", { scope: "col", class: "context" }, "c = Σ α h")),
    ...parts.map((row, k) => line(k ? `${k + 1}` : "h, number 1", row, context[k])),
  );
  return {
    node,
    draw(step, now) {
      now.weights.forEach((alpha, j) => {
        put(energy[j], energies[step][j]);
        put(weight[j], alpha);
        tune(weight[j], "--w", alpha);
        parts.forEach((row, k) => draw(row[j], values[j][k], values[j][k] * alpha));
      });
      context.forEach((cell, k) => {
        put(cell, now.context[k]);
        draw(cell, now.context[k], now.context[k], 0.25);
      });
    },
  };
}

/** The map of all weights: a row a target word, a column a source word. */
function map(example, go) {
  const { source, target } = example;
  const looks = target.map((_, i) => look(example, i));
  const head = element(
    "thead",
    {},
    element(
      "tr",
      {},
      element("td", {}),
      ...source.map((word) => element("th", { scope: "col" }, element("span", {}, word))),
    ),
  );
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
  const rows = target.map((word, i) =>
    element("tr", {}, element("th", { scope: "row", "data-row": i }, word), ...cells[i]),
  );
  const below = foot(example);
  const hint = "Point at a square, or walk the map with the arrow keys.";
  const tell = element("p", { class: "tell", "data-role": "cell" }, hint);
  let [now, column] = [0, 0];
  const spot = (event) => event.target.closest("[data-row]")?.dataset ?? {};
  const describe = (event) => {
    const { row, column: j, value } = spot(event);
    tell.textContent =
      value === undefined
        ? hint
        : `“${target[row]}” looks at “${source[j]}”: ` +
          `energy ${digits(example.energies[row][j])}, weight ${digits(Number(value), 3)}.`;
  };
  const moved = (event) => {
    if (event.movementX || event.movementY) describe(event);
  };
  const press = (event) => {
    const { row, column: j } = spot(event);
    if (row === undefined) return;
    column = Number(j ?? column);
    go(Number(row));
  };
  const walk = (event) => {
    const side = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const to = side ? now : keyedStep(event, now, target.length - 1);
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    column = Math.min(source.length - 1, Math.max(0, column + (side ?? 0)));
    go(to);
    cells[now][column].focus();
  };
  const region = element(
    "div",
    { class: "map", onmousemove: moved, onfocusin: describe, onclick: press, onkeydown: walk },
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
  let stop = cells[0][0];
  return {
    node: element("div", {}, region, tell),
    draw(step) {
      rows[now].removeAttribute("aria-selected");
      now = step;
      rows[now].setAttribute("aria-selected", "true");
      stop.tabIndex = -1;
      stop = cells[now][column];
      stop.tabIndex = 0;
      below.draw(step, looks[now]);
    },
    reveal() {
      // last of all, since it asks where things are
      const { weights } = looks[now];
      reveal(region, cells[now][weights.indexOf(Math.max(...weights))]);
    },
  };
}

/** The two sentences: the source filled by weight, the target as written. */
function sentences(example) {
  const words = example.source.map((word) => element("span", { class: "word" }, word));
  const written = example.target.map((word) => element("span", { class: "word" }, word));
  const line = (role, spans) =>
    element(
      "p",
      { class: "words", "data-role": role },
      element("span", { class: "tag" }, role),
      ...spans.flatMap((span) => [" ", span]),
    );
  return {
    node: element("div", {}, line("source", words), line("written", written)),
    draw(step) {
      look(example, step).weights.forEach((weight, j) => tune(words[j], "--w", weight));
      written.forEach((span, i) => {
        span.hidden = i > step;
        span.classList.toggle("now", i === step);
      });
    },
  };
}

/** The whole widget, for one example. @param {Model} model */
function build(model) {
  const examples = model.get("examples");
  const example = examples[model.get("example")];
  const last = example.target.length - 1;
  const at = () => ({ step: Math.min(model.get("step"), last), last });
  const go = (step) => change(model, { step });
  const walk = transport(at, go);
  const [words, grid] = [sentences(example), map(example, walk.to)];
  const [say] = lines();
  const choose = element(
    "select",
    {
      "data-action": "example",
      onchange: () => change(model, { step: 0, example: Number(choose.value) }),
    },
    ...examples.map((one, i) =>
      element("option", { value: i, selected: one === example }, one.title ?? one.source.join(" ")),
    ),
  );
  const table = button(
    "table",
    "Table",
    () => {
      const numbers = node.classList.toggle("numbers");
      table.setAttribute("aria-pressed", String(numbers));
    },
    "Show as table",
  );
  table.setAttribute("aria-pressed", "false");
  const node = frame(
    "alignment-stepper",
    "Alignment, word by word",
    at,
    walk.to,
    element("label", { class: "choose", hidden: examples.length < 2 }, "sentence ", choose),
    element("div", { class: "bar" }, ...walk.nodes, table),
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

/** @param {{model: Model, el: HTMLElement}} context */
const render = (context) => mount(context, ["examples", "example"], ["step"], build);

export default { render };
