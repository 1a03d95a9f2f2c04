// @ts-check
// Where a model's parameters are: real models and the reader's changes to
// them. Every count is a whole number below 2^53. Python: parameter_budget.py.
import {
  button,
  change,
  element,
  frame,
  lines,
  mount,
  scroller,
  tableButton,
  tableOf,
} from "./shared.js";

/** @typedef {import("./shared.js").Model} Model */
/** @typedef {Record<string, any>} Sizes */

export const PARTS = ["embeddings", "attention", "feed-forward", "router", "norms, biases"];
const LETTERS = ["E", "A", "F", "R", "N"];
const [Q_RANK, KV_RANK, D_NOPE, D_ROPE, D_V] = [1536, 512, 128, 64, 128]; // DeepSeek-V3
const FIELDS = {
  d_model: "d_model",
  d_ff: "d_ff",
  heads: "heads",
  encoder: "encoder layers",
  decoder: "decoder layers",
  vocab: "vocabulary",
  positions: "learned positions",
};
const EXPERTS = {
  experts: "routed experts",
  active: "of these, per token",
  shared: "shared experts",
  d_expert: "expert width (0: d_ff)",
  dense: "layers before experts",
};
const TICKS = { tied: "tied embeddings", gated: "gate (third matrix)", biases: "biases" };
const NAMES = { ...FIELDS, ...EXPERTS, ...TICKS };

/** "63,082,496" */
export const whole = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** "63.08 million" */
export function short(n) {
  if (n >= 1e9) return `${(n / 1e9).toFixed(2)} billion`;
  return n >= 1e6 ? `${(n / 1e6).toFixed(2)} million` : whole(n);
}

/** "39.9 %" */
export const percent = (part, total) => `${((100 * part) / total).toFixed(1)} %`;

/** The numbers that several formulas need. @param {Sizes} s */
function derived(s) {
  const layers = s.encoder + s.decoder;
  const sparse = s.experts + s.shared ? Math.max(0, layers - s.dense) : 0;
  return {
    layers,
    sparse,
    flat: layers - sparse,
    per: s.experts + s.shared,
    wide: s.d_expert || s.d_ff,
    maps: s.gated ? 3 : 2,
    looks: layers + (s.encoder ? s.decoder : 0),
    tables: s.tied ? 1 : (s.encoder ? 1 : 0) + (s.decoder ? 2 : 0),
  };
}

/** Parameters of every part, in the order of PARTS. @param {Sizes} s */
export function count(s) {
  const d = s.d_model;
  const { layers, sparse, flat, per, wide, maps, looks, tables } = derived(s);
  const bias = s.biases ? 1 : 0;
  const width = flat * s.d_ff + sparse * per * wide;
  const look = s.latent
    ? d * (Q_RANK + KV_RANK + D_ROPE) +
      s.heads * (Q_RANK * (D_NOPE + D_ROPE) + KV_RANK * (D_NOPE + D_V) + D_V * d)
    : 4 * d * d;
  const vectors =
    looks * (s.latent ? Q_RANK + KV_RANK : 4 * d * bias) +
    ((flat + sparse * per) * d + (maps - 1) * width) * bias +
    (looks + layers + s.norms) * d * (1 + bias) +
    (s.pooler ? d * bias : 0);
  return [
    (s.vocab * tables + s.positions + s.segments) * d + (s.pooler ? d * d : 0),
    looks * look,
    maps * d * width,
    sparse * s.experts * (d + 1),
    vectors,
  ];
}

/** Parameters that one token passes. @param {Sizes} s */
export function touched(s) {
  const { sparse, wide, maps } = derived(s);
  const expert = maps * s.d_model * wide + (s.biases ? (maps - 1) * wide + s.d_model : 0);
  return total(count(s)) - sparse * (s.experts - s.active) * expert;
}

/** @param {number[]} parts */
export const total = (parts) => parts.reduce((a, b) => a + b, 0);

/** The multiplication behind each part, in this model's numbers. @param {Sizes} s */
export function formulas(s) {
  const { sparse, flat, per, wide, maps, looks, tables } = derived(s);
  const d = s.d_model;
  const rows = [
    `${tables} × ${s.vocab}`,
    s.positions && `${s.positions}`,
    s.segments && `${s.segments}`,
    s.pooler && `${d}`,
  ].filter(Boolean);
  const width = [flat && `${flat} × ${s.d_ff}`, sparse && `${sparse} × ${per} × ${wide}`]
    .filter(Boolean)
    .join(" + ");
  return [
    `(${rows.join(" + ")}) × ${d}`,
    s.latent ? `${looks} × compressed, ${s.heads} heads` : `${looks} × 4 × ${d}²`,
    `${maps} × ${d} × (${width || 0})`,
    `${sparse} × ${s.experts} × (${d} + 1)`,
    "the rest",
  ];
}

/** What is wrong with the sizes, or null. @param {Sizes} s */
export function wrong(s) {
  for (const [name, label] of Object.entries({ ...FIELDS, ...EXPERTS })) {
    const low = ["d_model", "d_ff", "heads", "vocab"].includes(name) ? 1 : 0;
    if (!Number.isSafeInteger(s[name]) || s[name] < low) {
      return `${label} must be a whole number, at least ${low}`;
    }
  }
  if (s.encoder + s.decoder === 0) return "a model needs at least one layer";
  if (s.d_model % s.heads && !s.latent) {
    return `${s.heads} heads cannot share d_model ${s.d_model} equally`;
  }
  if (s.active > s.experts) return `${s.active} of ${s.experts} experts cannot be used`;
  return Number.isSafeInteger(total(count(s)))
    ? null
    : "that makes more than 2^53 parameters, too many to count exactly";
}

/** The whole number that a reader typed ("37,000" too), or null.
 * @param {string} text */
export function readSize(text) {
  const plain = text.trim().replace(/(?<=\d)[, \u00a0](?=\d{3}(?!\d))/g, "");
  return /^\d{1,16}$/.test(plain) ? Number(plain) : null;
}

/** What was changed from the published model. */
export const changes = (sizes, published) =>
  Object.keys(NAMES).filter((name) => sizes[name] !== published[name]);

/** The whole budget in words. */
export function sentence(model, sizes) {
  const parts = count(sizes);
  const all = total(parts);
  const other = changes(sizes, model.sizes).map((name) => {
    const now = sizes[name];
    return typeof now === "boolean"
      ? `${NAMES[name]} ${now ? "on" : "off"}`
      : `${NAMES[name]} ${whole(now)} in place of ${whole(model.sizes[name])}`;
  });
  const head = other.length ? `${model.name} with ${other.join(", ")}` : model.name;
  const said = other.length ? "" : `, where the paper reports ${model.reported}`;
  const used = touched(sizes);
  return (
    `${head}: ${short(all)} parameters${said}. Feed-forward ${percent(parts[2], all)}, ` +
    `attention ${percent(parts[1], all)}, embeddings ${percent(parts[0], all)}.` +
    (used === all ? "" : ` One token passes ${short(used)} of them.`)
  );
}

/** One number to type, or one thing to tick; what does not fit changes nothing. */
function control(view, name, label, ticks) {
  const commit = () => {
    const value = ticks ? box.checked : (readSize(box.value) ?? NaN);
    const next = { ...view.state(), [name]: value };
    const [problem, text] = [wrong(next), ticks ? label : `“${box.value}”`];
    if (problem === null) return view.set({ sizes: next });
    view.draw();
    const kept = ticks ? "It stays" : `${label} stays ${whole(view.state()[name])}`;
    return view.complain(`${text} does not fit: ${problem}. ${kept}.`);
  };
  const kind = ticks
    ? { type: "checkbox" }
    : { type: "text", inputmode: "numeric", autocomplete: "off" };
  const box = element("input", { ...kind, "data-action": name, onchange: commit });
  const word = element("span", {}, label);
  const node = element(
    "label",
    { class: ticks ? "tick" : "size" },
    ...(ticks ? [box, word] : [word, box]),
  );
  return {
    node,
    draw(sizes, published) {
      if (ticks) box.checked = sizes[name];
      else box.value = whole(sizes[name]);
      node.classList.toggle("changed", sizes[name] !== published[name]);
    },
  };
}

/** A strip of shares: one model as one bar. */
function strip(label) {
  const shares = LETTERS.map((letter) => element("span", { class: "share" }, letter));
  const bar = element("div", { class: "stack", "aria-hidden": "true" }, ...shares);
  return {
    node: element("div", {}, element("span", { class: "soft" }, label), bar),
    draw(parts) {
      shares.forEach((share, i) => {
        const part = (100 * parts[i]) / total(parts);
        share.style.width = `${part}%`;
        share.classList.toggle("narrow", part < 5);
      });
    },
  };
}

/** Letter, name, bar, count and share of one part. */
function partRow(name, i) {
  const [bar, number, share] = [
    element("span", { class: "fill" }),
    element("span", { class: "number", "data-role": "count" }),
    element("span", { class: "number", "data-role": "share" }),
  ];
  const row = element(
    "div",
    { class: "part" },
    element("span", { class: "key", "data-part": i }, LETTERS[i]),
    element("b", {}, name),
    element("span", { class: "track", "aria-hidden": "true" }, bar),
    number,
    share,
  );
  return {
    node: row,
    draw(parts) {
      const all = total(parts);
      bar.style.width = `${(100 * parts[i]) / all}%`;
      number.textContent = whole(parts[i]);
      number.dataset.value = parts[i];
      share.textContent = percent(parts[i], all);
      share.dataset.value = parts[i] / all;
    },
  };
}

/** Every part with its multiplication. */
function numbersOf(sizes) {
  const [parts, by] = [count(sizes), formulas(sizes)];
  const all = total(parts);
  return tableOf(
    ["part", "formula", "parameters", "share"],
    [
      ...PARTS.map((name, i) => [name, by[i], whole(parts[i]), percent(parts[i], all)]),
      ["together", "", whole(all), "100.0 %"],
      ["one token", "", whole(touched(sizes)), percent(touched(sizes), all)],
    ],
  );
}

/** The whole widget. @param {Model} model */
function build(model) {
  const models = model.get("models");
  const at = () => ({
    step: Math.max(
      0,
      models.findIndex((m) => m.name === model.get("model")),
    ),
    last: models.length - 1,
  });
  const [say, problem] = lines();
  const complain = (text) => {
    problem.textContent = text;
  };
  const set = (next) => {
    complain("");
    change(model, next);
  };
  const go = (i) => set({ model: models[i].name, sizes: { ...models[i].sizes } });
  const view = { state: () => model.get("sizes"), set, complain, draw };
  const rail = models.map((one, i) => button("model", one.name, () => go(i)));
  const [sizes, experts, ticks] = [FIELDS, EXPERTS, TICKS].map((names) =>
    Object.entries(names).map(([name, label]) => control(view, name, label, names === TICKS)),
  );
  const nodes = (all) => all.map((one) => one.node);
  const [published, mine, parts] = [
    strip("as published"),
    strip("as set below"),
    PARTS.map(partRow),
  ];
  const sum = element("b", { "data-role": "total" });
  const used = element("b", { "data-role": "touched" });
  const figure = element(
    "div",
    {},
    published.node,
    mine.node,
    element("div", { class: "parts" }, ...nodes(parts)),
    element("p", { class: "sum" }, "together ", sum, ", one token passes ", used),
  );
  const table = scroller("every part with its formula", { hidden: true });
  const group = (label, ...inside) =>
    element("div", { class: "sizes", role: "group", "aria-label": label }, ...inside);
  const root = frame(
    "parameter-budget",
    "Where the parameters are",
    at,
    go,
    element("div", { class: "bar", role: "group", "aria-label": "model" }, ...rail),
    say,
    figure,
    table,
    problem,
    group("sizes", ...nodes(sizes)),
    group("options", ...nodes(ticks)),
    group("experts", ...nodes(experts)),
    element(
      "div",
      { class: "bar" },
      tableButton(figure, table),
      button("reset", "As published", () => go(at().step)),
    ),
  );
  function draw() {
    const [one, now] = [models[at().step], model.get("sizes")];
    rail.forEach((each, i) => each.setAttribute("aria-pressed", String(i === at().step)));
    [...sizes, ...experts, ...ticks].forEach((each) => each.draw(now, one.sizes));
    published.draw(count(one.sizes));
    mine.draw(count(now));
    parts.forEach((each) => each.draw(count(now)));
    [
      [sum, total(count(now))],
      [used, touched(now)],
    ].forEach(([where, n]) => {
      where.textContent = whole(n);
      where.dataset.value = n;
    });
    table.replaceChildren(numbersOf(now));
    say.textContent = sentence(one, now);
  }
  return { node: root, draw };
}

/** @param {{model: Model, el: HTMLElement}} context */
const render = (context) => mount(context, ["models"], ["model", "sizes"], build);

export default { render };
