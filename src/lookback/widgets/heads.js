// @ts-check
// All heads of a trained encoder on one sentence: a small map for each, and
// one of them, or two side by side, walked word by word. Python: heads.py.

import { unpack } from "./lib/half.js";
import { flag, integer } from "./lib/link.js";
import { dot, mix, softmax } from "./lib/maths.js";
import { digits, quoted } from "./lib/text.js";
import {
  bar,
  button,
  change,
  checkbox,
  element,
  frame,
  headings,
  press,
  put,
  scroller,
  select,
  svg,
  tableButton,
  tableOf,
  transport,
  tune,
  voice,
  widget,
} from "./lib/view.js";

/** @typedef {import("./lib/half.js").Packed} Packed */
/** @typedef {{words: string[], queries: Packed, keys: Packed, title?: string}} Example */
/** @typedef {{examples: Example[], example: number, scaled: boolean, step: number,
 *   layer: number, head: number, other: string}} State */
/** @typedef {{name: string, row: number[]}} Look */

/** α_ij = softmax_j(q_i · k_j / √d_k) for every layer and head.
 * @param {{queries: Packed, keys: Packed}} example @param {boolean} scaled divide by √d_k?
 * @returns {number[][][][]} layers, heads, words, words */
export function allWeights({ queries, keys }, scaled = true) {
  const { q, k } = unpack({ q: queries, k: keys });
  const [layers, heads, n, d] = q.shape;
  const by = scaled ? Math.sqrt(d) : 1;
  /** @template Made @param {number} count @param {(i: number) => Made} make */
  const range = (count, make) => Array.from({ length: count }, (_, i) => make(i));
  /** @param {Float64Array} numbers @param {number} at */
  const row = (numbers, at) => numbers.subarray(at * d, (at + 1) * d);
  return range(layers, (layer) =>
    range(heads, (head) =>
      range(n, (i) => {
        const first = (layer * heads + head) * n;
        const query = row(q.numbers, first + i);
        return softmax(range(n, (j) => dot(query, row(k.numbers, first + j)) / by));
      }),
    ),
  );
}

/** The map of one place: "layer-head", or "mean" of the layer's heads.
 * @param {number[][][][]} all @param {string} place @param {number} layer */
export function mapOf(all, place, layer) {
  if (place !== "mean") {
    const [l, h] = place.split("-").map(Number);
    return all[l][h];
  }
  const share = all[layer].map(() => 1 / all[layer].length);
  return all[layer][0].map((_, i) =>
    mix(
      share,
      all[layer].map((head) => head[i]),
    ),
  );
}

/** Σ_j min(a_j, b_j): 1 for equal weights, 0 for two that share no word.
 * @param {number[]} a @param {number[]} b */
export const overlap = (a, b) => a.reduce((sum, x, j) => sum + Math.min(x, b[j]), 0);

/** A place as a reader counts. @param {string} place @param {number} layer */
export function named(place, layer) {
  if (place === "mean") return `The mean of layer ${layer + 1}\u2019s heads`;
  const [l, h] = place.split("-").map(Number);
  return `Layer ${l + 1}, head ${h + 1}`;
}

/** Where a head attends, in words. @param {string[]} words @param {number[]} row */
export function aim(words, row) {
  const [best, second] = row.map((_, j) => j).sort((a, b) => row[b] - row[a]);
  const also =
    second !== undefined && row[second] >= 0.1
      ? `, then to ${quoted(words, second)} with ${digits(row[second])}`
      : "";
  return `attends to ${quoted(words, best)} with weight ${digits(row[best])}${also}`;
}

/** The step in words: one head, or two and what they share.
 * @param {string[]} words @param {number} step @param {Look[]} looks */
export function sentence(words, step, looks) {
  const from = `From word ${step + 1}, “${words[step]}”. `;
  const told = looks.map(({ name, row }) => `${name} ${aim(words, row)}.`).join(" ");
  const share =
    looks.length < 2
      ? ""
      : ` The two share ${digits(overlap(looks[0].row, looks[1].row))} of their weight.`;
  return from + told + share;
}

/** A map as squares, as dark as their weights; the frame marks the step.
 * @param {number[][]} rows */
function picture(rows) {
  const n = rows.length;
  const squares = rows.flatMap((row, i) =>
    row.flatMap((weight, j) =>
      weight < 0.02
        ? []
        : svg("rect", {
            x: j + 0.03,
            y: i + 0.03,
            width: 0.94,
            height: 0.94,
            "fill-opacity": weight.toFixed(3),
          }),
    ),
  );
  const mark = svg("rect", { class: "mark", x: 0.05, y: 0, width: n - 0.1, height: 1 });
  const node = svg("svg", { viewBox: `0 0 ${n} ${n}`, "aria-hidden": "true" }, ...squares, mark);
  /** @param {number} step */
  const draw = (step) => put(mark, { y: step });
  return { node, draw };
}

/** The maps of all heads, each a button.
 * @param {number[][][][]} all @param {(layer: number, head: number) => void} pick */
function maps(all, pick) {
  const buttons = all.map((heads, layer) =>
    heads.map((weights, head) => {
      const { node, draw } = picture(weights);
      const place = `${layer}-${head}`;
      const badge = element("span", { class: "badge", "aria-hidden": "true" });
      const one = element(
        "button",
        {
          type: "button",
          class: "map",
          "data-action": "head",
          "data-value": place,
          "aria-label": named(place, layer),
          onclick: () => pick(layer, head),
        },
        node,
        badge,
      );
      return { one, badge, draw, place };
    }),
  );
  const rows = buttons.map((heads, layer) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, `layer ${layer + 1}`),
      ...heads.map(({ one }) => element("td", {}, one)),
    ),
  );
  const titles = headings(all[0].map((_, i) => `head ${i + 1}`));
  titles.prepend(element("td", {}));
  return {
    node: element(
      "table",
      { class: "maps" },
      element("thead", {}, titles),
      element("tbody", {}, ...rows),
    ),
    /** @param {string} chosen @param {string} other @param {number} step */
    draw(chosen, other, step) {
      for (const { one, badge, draw, place } of buttons.flat()) {
        draw(step);
        press(one, place === chosen);
        badge.textContent = `${place === chosen ? "A" : ""}${place === other ? "B" : ""}`;
      }
    },
  };
}

/** What the axes of a small map are. @param {string[]} words */
const axes = (words) =>
  element(
    "p",
    { class: "axes" },
    "In a map each row is a word that attends, each column a word that it " +
      `attends to, both from “${words[0]}” to “${words[words.length - 1]}”.`,
  );

/** The chosen head as bars, one for each word, and beside them the second head.
 * @param {string[]} words */
function bars(words) {
  /** @param {string} role */
  const cell = (role) => {
    const fill = element("span", { class: "fill" });
    const number = element("span", { class: "number" });
    const track = element("span", { class: "track" }, fill);
    return { fill, number, node: element("td", { "data-role": role }, track, number) };
  };
  const cells = words.map(() => [cell("weight"), cell("second")]);
  const names = [element("th", { scope: "col" }), element("th", { scope: "col" })];
  const rows = words.map((word, j) =>
    element("tr", {}, element("th", { scope: "row" }, word), ...cells[j].map((one) => one.node)),
  );
  const node = element(
    "table",
    { class: "bars" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "word"), ...names)),
    element("tbody", {}, ...rows),
  );
  return {
    node,
    /** @param {number} step @param {Look[]} looks */
    draw(step, looks) {
      node.classList.toggle("two", looks.length > 1);
      names.forEach((name, c) => {
        name.hidden = c >= looks.length;
        name.textContent = looks[c] ? `${"AB"[c]}: ${looks[c].name}` : "";
      });
      cells.forEach((pair, j) => {
        pair.forEach(({ node: one, fill, number }, c) => {
          one.hidden = c >= looks.length;
          const value = looks[c]?.row[j] ?? 0;
          if (looks[c]) one.dataset.value = String(value);
          else delete one.dataset.value;
          tune(fill, "--w", value);
          number.textContent = digits(value);
        });
        rows[j].classList.toggle("self", j === step);
      });
    },
  };
}

/** The whole widget, for one sentence.
 * @param {import("./lib/view.js").Model<State>} model */
function build(model) {
  const examples = model.get("examples");
  const example = examples[model.get("example")];
  const { words } = example;
  const all = allWeights(example, model.get("scaled"));
  const last = words.length - 1;
  const at = () => ({ step: Math.min(model.get("step"), last), last });
  const walk = transport(at, (step) => change(model, { step }));
  const grid = maps(all, (layer, head) => change(model, { layer, head }));
  const [rows, { say }] = [bars(words), voice(model)];
  const choose = select(
    "example",
    examples.map((one, i) => [i, one.title ?? one.words.slice(0, -1).join(" ")]),
    (value) => change(model, { step: 0, example: Number(value) }),
  );
  choose.value = String(model.get("example"));
  const compare = select(
    "other",
    [
      ["none", "nothing"],
      ["mean", "the mean of its layer"],
      ...all.flatMap((heads, l) =>
        heads.map((_, h) => /** @type {[string, string]} */ ([`${l}-${h}`, named(`${l}-${h}`, l)])),
      ),
    ],
    (other) => change(model, { other }),
  );
  const scale = checkbox("scaled", (scaled) => change(model, { scaled }));
  scale.checked = model.get("scaled");
  const tiles = words.map((word, i) => button("word", word, () => walk.to(i)));
  const table = scroller("all weights of the chosen head", { hidden: true });
  const node = frame(
    "heads",
    "Heads of an encoder, side by side",
    at,
    walk.to,
    element("label", { class: "choose" }, "sentence ", choose),
    element(
      "div",
      { class: "sides" },
      element("div", {}, grid.node, axes(words)),
      element("div", {}, rows.node, table),
    ),
    say,
    element(
      "div",
      { class: "bar tiles", role: "group", "aria-label": "the word that attends" },
      ...tiles,
    ),
    bar(...walk.nodes, tableButton(rows.node, table)),
    bar(
      element("label", {}, "compare with ", compare),
      element("label", {}, scale, "divide by √d_k"),
    ),
  );
  return {
    node,
    stop: walk.stop,
    draw() {
      const { step } = at();
      const [layer, other] = [model.get("layer"), model.get("other")];
      const chosen = `${layer}-${model.get("head")}`;
      const looks = [chosen, ...(other === "none" ? [] : [other])].map((place) => ({
        name: named(place, layer),
        row: mapOf(all, place, layer)[step],
      }));
      grid.draw(chosen, other, step);
      rows.draw(step, looks);
      tiles.forEach((one, i) =>
        i === step ? one.setAttribute("aria-current", "step") : one.removeAttribute("aria-current"),
      );
      compare.value = other;
      walk.draw();
      say.textContent = sentence(words, step, looks);
      table.replaceChildren(
        tableOf(
          [named(chosen, layer), ...words],
          mapOf(all, chosen, layer).map((row, i) => [words[i], ...row.map((x) => digits(x))]),
        ),
      );
    },
  };
}

export default widget(
  ["examples", "example", "scaled"],
  ["step", "layer", "head", "other"],
  build,
  {
    example: integer(0, (s) => s.examples.length - 1),
    scaled: flag,
    step: integer(0, (s) => s.examples[s.example].words.length - 1),
    layer: integer(0, (s) => s.examples[0].queries.shape[0] - 1),
    head: integer(0, (s) => s.examples[0].queries.shape[1] - 1),
    other: (x, { examples: [{ queries }] }) => {
      const [layer, head, ...more] = String(x).split("-").map(Number);
      const [layers, heads] = queries.shape;
      const place = x === `${layer}-${head}` && !more.length;
      return ["none", "mean"].includes(x) || (place && layer < layers && head < heads);
    },
  },
);
