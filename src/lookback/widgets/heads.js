// @ts-check
// All heads of a trained encoder on one sentence: a small map for each, and
// one of them, or two side by side, walked word by word. Python: heads.py.
import { unpack } from "./bottleneck.js";
import {
  button,
  change,
  digits,
  element,
  frame,
  lines,
  mix,
  mount,
  scroller,
  softmax,
  tableButton,
  tableOf,
  transport,
  tune,
} from "./shared.js";

/** @typedef {import("./shared.js").Model} Model */
/** @typedef {{shape: number[], data: string}} Packed */
/** @typedef {{words: string[], queries: Packed, keys: Packed, title?: string}} Example */

/** α_ij = softmax_j(q_i · k_j / √d_k) for every layer and head.
 * @param {Example} example @param {boolean} scaled divide by √d_k?
 * @returns {number[][][][]} layers, heads, words, words */
export function allWeights({ queries, keys }, scaled = true) {
  const { q, k } = unpack({ q: queries, k: keys });
  const [layers, heads, n, d] = q.shape;
  const by = scaled ? Math.sqrt(d) : 1;
  const range = (count, make) => Array.from({ length: count }, (_, i) => make(i));
  const row = (numbers, at) => numbers.subarray(at * d, (at + 1) * d);
  return range(layers, (layer) =>
    range(heads, (head) =>
      range(n, (i) => {
        const first = (layer * heads + head) * n;
        const query = row(q.numbers, first + i);
        return softmax(
          range(n, (j) => {
            const key = row(k.numbers, first + j);
            return query.reduce((sum, x, c) => sum + x * key[c], 0) / by;
          }),
        );
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

/** Σ_j min(a_j, b_j): 1 for two equal looks, 0 for two that share no word.
 * @param {number[]} a @param {number[]} b */
export const overlap = (a, b) => a.reduce((sum, x, j) => sum + Math.min(x, b[j]), 0);

/** A place as a reader counts. @param {string} place @param {number} layer */
export function named(place, layer) {
  if (place === "mean") return `The mean of layer ${layer + 1}\u2019s heads`;
  const [l, h] = place.split("-").map(Number);
  return `Layer ${l + 1}, head ${h + 1}`;
}

/** Where a look goes, in words. @param {string[]} words @param {number[]} row */
export function aim(words, row) {
  const [best, second] = row.map((_, j) => j).sort((a, b) => row[b] - row[a]);
  const also =
    second !== undefined && row[second] >= 0.1
      ? `, then at “${words[second]}” with ${digits(row[second])}`
      : "";
  return `looks at “${words[best]}” with weight ${digits(row[best])}${also}`;
}

/** The step in words: one look, or two and what they share.
 * @param {string[]} words @param {number} step @param {{name: string, row: number[]}[]} looks */
export function sentence(words, step, looks) {
  const from = `From word ${step + 1}, “${words[step]}”. `;
  const told = looks.map(({ name, row }) => `${name} ${aim(words, row)}.`).join(" ");
  const share =
    looks.length < 2
      ? ""
      : ` The two share ${digits(overlap(looks[0].row, looks[1].row))} of their weight.`;
  return from + told + share;
}

/** A map as squares, their strength the weight; the frame marks the step. */
function picture(rows) {
  const n = rows.length;
  const squares = rows.flatMap((row, i) =>
    row.map((weight, j) =>
      weight < 0.02
        ? ""
        : `<rect x="${j + 0.03}" y="${i + 0.03}" width=".94" height=".94" fill-opacity="${weight.toFixed(
            3,
          )}"/>`,
    ),
  );
  const holder = element("span");
  holder.innerHTML =
    `<svg viewBox="0 0 ${n} ${n}" aria-hidden="true">${squares.join("")}` +
    `<rect class="mark" x=".05" y="0" width="${n - 0.1}" height="1"/></svg>`;
  const mark = holder.querySelector(".mark");
  return { svg: holder.firstChild, draw: (step) => mark.setAttribute("y", step) };
}

/** The maps of all heads, each a button. */
function maps(all, pick) {
  const buttons = [];
  const rows = all.map((heads, layer) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, `layer ${layer + 1}`),
      ...heads.map((weights, head) => {
        const { svg, draw } = picture(weights);
        const place = `${layer}-${head}`;
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
          svg,
          element("span", { class: "badge", "aria-hidden": "true" }),
        );
        buttons.push({ one, draw, place });
        return element("td", {}, one);
      }),
    ),
  );
  const head = element(
    "thead",
    {},
    element(
      "tr",
      {},
      element("td", {}),
      ...all[0].map((_, i) => element("th", { scope: "col" }, `head ${i + 1}`)),
    ),
  );
  return {
    node: element("table", { class: "maps" }, head, element("tbody", {}, ...rows)),
    draw(chosen, other, step) {
      for (const { one, draw, place } of buttons) {
        draw(step);
        one.setAttribute("aria-pressed", String(place === chosen));
        one.lastChild.textContent = [place === chosen ? "A" : "", place === other ? "B" : ""].join(
          "",
        );
      }
    },
  };
}

/** The chosen look as bars, one a word; a second beside it where there is one. */
function bars(words) {
  const cell = (role) =>
    element(
      "td",
      { "data-role": role },
      element("span", { class: "track" }, element("span", { class: "fill" })),
      element("span", { class: "number" }),
    );
  const cells = words.map(() => [cell("weight"), cell("second")]);
  const names = [element("th", { scope: "col" }), element("th", { scope: "col" })];
  const rows = words.map((word, j) =>
    element("tr", {}, element("th", { scope: "row" }, word), ...cells[j]),
  );
  const node = element(
    "table",
    { class: "bars" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "word"), ...names)),
    element("tbody", {}, ...rows),
  );
  return {
    node,
    draw(step, looks) {
      node.classList.toggle("two", looks.length > 1);
      names.forEach((name, c) => {
        name.hidden = c >= looks.length;
        name.textContent = looks[c] ? `${"AB"[c]}: ${looks[c].name}` : "";
      });
      cells.forEach((pair, j) =>
        pair.forEach((one, c) => {
          one.hidden = c >= looks.length;
          const value = looks[c]?.row[j] ?? 0;
          if (looks[c]) one.dataset.value = String(value);
          else delete one.dataset.value;
          tune(one.firstChild.firstChild, "--w", value);
          one.lastChild.textContent = digits(value);
          rows[j].classList.toggle("self", j === step);
        }),
      );
    },
  };
}

/** The whole widget, for one sentence. @param {Model} model */
function build(model) {
  const examples = model.get("examples");
  const example = examples[model.get("example")];
  const { words } = example;
  const all = allWeights(example, model.get("scaled"));
  const last = words.length - 1;
  const at = () => ({ step: Math.min(model.get("step"), last), last });
  const walk = transport(at, (step) => change(model, { step }));
  const grid = maps(all, (layer, head) => change(model, { layer, head }));
  const [rows, [say]] = [bars(words), lines()];
  const option = (value, text) => element("option", { value }, text);
  const choose = element(
    "select",
    {
      "data-action": "example",
      onchange: () => change(model, { step: 0, example: Number(choose.value) }),
    },
    ...examples.map((one, i) => option(i, one.title ?? one.words.slice(0, -1).join(" "))),
  );
  choose.value = String(model.get("example"));
  const compare = element(
    "select",
    { "data-action": "other", onchange: () => change(model, { other: compare.value }) },
    option("none", "nothing"),
    option("mean", "the mean of its layer"),
    ...all.flatMap((heads, l) => heads.map((_, h) => option(`${l}-${h}`, named(`${l}-${h}`, l)))),
  );
  const scale = element("input", {
    type: "checkbox",
    "data-action": "scaled",
    checked: model.get("scaled"),
    onchange: () => change(model, { scaled: scale.checked }),
  });
  const tiles = words.map((word, i) => button("word", word, () => walk.to(i)));
  const table = scroller("all weights of the chosen head", { hidden: true });
  const node = frame(
    "heads",
    "Heads of an encoder, side by side",
    at,
    walk.to,
    element("label", { class: "choose" }, "sentence ", choose),
    grid.node,
    element(
      "div",
      { class: "bar" },
      element("label", {}, "compare with ", compare),
      element("label", {}, scale, "divide by √d_k"),
    ),
    element("div", { class: "bar" }, ...walk.nodes, tableButton(rows.node, table)),
    element(
      "div",
      { class: "bar tiles", role: "group", "aria-label": "the word that looks" },
      ...tiles,
    ),
    say,
    rows.node,
    table,
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

/** @param {{model: Model, el: HTMLElement}} context */
const render = (context) =>
  mount(context, ["examples", "example", "scaled"], ["step", "layer", "head", "other"], build);

export default { render };
