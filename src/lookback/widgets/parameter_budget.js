// @ts-check
// Where a model's parameters are: real models and the reader's changes to
// them. Every count is a whole number below 2^53. Python: parameter_budget.py.
import { total } from "./lib/maths.js";
import { grouped } from "./lib/text.js";
import {
  bar,
  button,
  checkbox,
  element,
  field,
  frame,
  press,
  scroller,
  show,
  tableButton,
  tableOf,
  voice,
  widget,
} from "./lib/view.js";

/** @typedef {keyof typeof FIELDS | keyof typeof EXPERTS} Count a size that is a number */
/** @typedef {keyof typeof TICKS} Tick a size that is on or off */
/** @typedef {Record<Count | "segments" | "norms", number>
 *   & Record<Tick | "latent" | "pooler", boolean>} Sizes */
/** @typedef {{name: string, reported: string, sizes: Sizes}} Published */
/** @typedef {{models: Published[], model: string, sizes: Sizes}} State */
/** @typedef {{read: () => State, set: (changes: Partial<State>) => void,
 *   complain: (text: string) => void, draw: () => void}} View */

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
/** @type {Record<Count | Tick, string>} */
const NAMES = { ...FIELDS, ...EXPERTS, ...TICKS };
const COUNTS = /** @type {Count[]} */ (Object.keys({ ...FIELDS, ...EXPERTS }));
const TICKED = /** @type {Tick[]} */ (Object.keys(TICKS));

/** "63.08 million" @param {number} n */
export function short(n) {
  if (n >= 1e9) return `${(n / 1e9).toFixed(2)} billion`;
  return n >= 1e6 ? `${(n / 1e6).toFixed(2)} million` : grouped(n);
}

/** "39.9%" @param {number} part @param {number} all */
export const percent = (part, all) => `${((100 * part) / all).toFixed(1)}%`;

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
    attentions: layers + (s.encoder ? s.decoder : 0),
    tables: s.tied ? 1 : (s.encoder ? 1 : 0) + (s.decoder ? 2 : 0),
  };
}

/** Parameters of every part, in the order of PARTS. @param {Sizes} s */
export function count(s) {
  const d = s.d_model;
  const { layers, sparse, flat, per, wide, maps, attentions, tables } = derived(s);
  const bias = s.biases ? 1 : 0;
  const width = flat * s.d_ff + sparse * per * wide;
  const each = s.latent
    ? d * (Q_RANK + KV_RANK + D_ROPE) +
      s.heads * (Q_RANK * (D_NOPE + D_ROPE) + KV_RANK * (D_NOPE + D_V) + D_V * d)
    : 4 * d * d;
  const vectors =
    attentions * (s.latent ? Q_RANK + KV_RANK : 4 * d * bias) +
    ((flat + sparse * per) * d + (maps - 1) * width) * bias +
    (attentions + layers + s.norms) * d * (1 + bias) +
    (s.pooler ? d * bias : 0);
  return [
    (s.vocab * tables + s.positions + s.segments) * d + (s.pooler ? d * d : 0),
    attentions * each,
    maps * d * width,
    sparse * s.experts * (d + 1),
    vectors,
  ];
}

/** Parameters that one token uses. @param {Sizes} s */
export function touched(s) {
  const { sparse, wide, maps } = derived(s);
  const expert = maps * s.d_model * wide + (s.biases ? (maps - 1) * wide + s.d_model : 0);
  return total(count(s)) - sparse * (s.experts - s.active) * expert;
}

/** The multiplication behind each part, in this model's numbers. @param {Sizes} s */
export function formulas(s) {
  const { sparse, flat, per, wide, maps, attentions, tables } = derived(s);
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
    s.latent ? `${attentions} × compressed, ${s.heads} heads` : `${attentions} × 4 × ${d}²`,
    `${maps} × ${d} × (${width || 0})`,
    `${sparse} × ${s.experts} × (${d} + 1)`,
    "the rest",
  ];
}

/** What is wrong with the sizes, or null. @param {Sizes} s */
export function wrong(s) {
  for (const name of COUNTS) {
    const low = ["d_model", "d_ff", "heads", "vocab"].includes(name) ? 1 : 0;
    if (!Number.isSafeInteger(s[name]) || s[name] < low) {
      return `${NAMES[name]} must be a whole number, at least ${low}`;
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

/** What was changed from the published model.
 * @param {Sizes} sizes @param {Sizes} published */
export const changes = (sizes, published) =>
  [...COUNTS, ...TICKED].filter((name) => sizes[name] !== published[name]);

/** The whole budget in words. @param {Published} model @param {Sizes} sizes */
export function sentence(model, sizes) {
  const parts = count(sizes);
  const all = total(parts);
  const other = changes(sizes, model.sizes).map((name) => {
    const [now, then] = [sizes[name], model.sizes[name]];
    return typeof now === "boolean"
      ? `${NAMES[name]} ${now ? "on" : "off"}`
      : `${NAMES[name]} ${grouped(now)} in place of ${grouped(Number(then))}`;
  });
  const head = other.length ? `${model.name} with ${other.join(", ")}` : model.name;
  const said = other.length ? "" : `, where the paper reports ${model.reported}`;
  const used = touched(sizes);
  return (
    `${head}: ${short(all)} parameters${said}. Feed-forward ${percent(parts[2], all)}, ` +
    `attention ${percent(parts[1], all)}, embeddings ${percent(parts[0], all)}.` +
    (used === all ? "" : ` One token uses ${short(used)} of them.`)
  );
}

/** One number to type; what does not fit changes nothing.
 * @param {View} view @param {Count} name */
function number(view, name) {
  const label = NAMES[name];
  const box = field(name, { inputmode: "numeric" }, (text) => {
    const { sizes } = view.read();
    const next = { ...sizes, [name]: readSize(text) ?? NaN };
    const problem = wrong(next);
    if (problem === null) return view.set({ sizes: next });
    view.draw();
    view.complain(`“${text}” does not fit: ${problem}. ${label} stays ${grouped(sizes[name])}.`);
  });
  const node = element("label", { class: "size" }, element("span", {}, label), box);
  return {
    node,
    /** @param {Sizes} sizes @param {Sizes} published */
    draw(sizes, published) {
      box.value = grouped(sizes[name]);
      node.classList.toggle("changed", sizes[name] !== published[name]);
    },
  };
}

/** One thing to tick; what does not fit changes nothing.
 * @param {View} view @param {Tick} name */
function tick(view, name) {
  const box = checkbox(name, (on) => {
    const next = { ...view.read().sizes, [name]: on };
    const problem = wrong(next);
    if (problem === null) return view.set({ sizes: next });
    view.draw();
    view.complain(`${NAMES[name]} does not fit: ${problem}. It stays.`);
  });
  const node = element("label", { class: "tick" }, box, element("span", {}, NAMES[name]));
  return {
    node,
    /** @param {Sizes} sizes @param {Sizes} published */
    draw(sizes, published) {
      box.checked = sizes[name];
      node.classList.toggle("changed", sizes[name] !== published[name]);
    },
  };
}

/** A strip of shares: one model as one bar. @param {string} label */
function strip(label) {
  const shares = LETTERS.map((letter) => element("span", { class: "share" }, letter));
  const stack = element("div", { class: "stack", "aria-hidden": "true" }, ...shares);
  return {
    node: element("div", { class: "strip" }, element("span", { class: "soft" }, label), stack),
    /** @param {number[]} parts */
    draw(parts) {
      shares.forEach((share, i) => {
        const part = (100 * parts[i]) / total(parts);
        share.style.width = `${part}%`;
        share.classList.toggle("narrow", part < 5);
      });
    },
  };
}

/** Letter, name, bar, count and share of one part.
 * @param {string} name @param {number} i */
function partRow(name, i) {
  const [fill, counted, share] = [
    element("span", { class: "fill" }),
    element("span", { class: "number", "data-role": "count" }),
    element("span", { class: "number", "data-role": "share" }),
  ];
  const row = element(
    "div",
    { class: "part" },
    element("span", { class: "key", "data-part": i }, LETTERS[i]),
    element("b", {}, name),
    element("span", { class: "track", "aria-hidden": "true" }, fill),
    counted,
    share,
  );
  return {
    node: row,
    /** @param {number[]} parts */
    draw(parts) {
      const all = total(parts);
      fill.style.width = `${(100 * parts[i]) / all}%`;
      show(counted, parts[i], grouped(parts[i]));
      show(share, parts[i] / all, percent(parts[i], all));
    },
  };
}

/** Every part with its multiplication. @param {Sizes} sizes */
function numbersOf(sizes) {
  const [parts, by] = [count(sizes), formulas(sizes)];
  const all = total(parts);
  return tableOf(
    ["part", "formula", "parameters", "share"],
    [
      ...PARTS.map((name, i) => [name, by[i], grouped(parts[i]), percent(parts[i], all)]),
      ["together", "", grouped(all), "100.0%"],
      ["one token", "", grouped(touched(sizes)), percent(touched(sizes), all)],
    ],
  );
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const models = model.get("models");
  const at = () => ({
    step: Math.max(
      0,
      models.findIndex((m) => m.name === model.get("model")),
    ),
    last: models.length - 1,
  });
  const { say, problem, complain, set } = voice(model);
  /** @param {number} i */
  const go = (i) => set({ model: models[i].name, sizes: { ...models[i].sizes } });
  const view = { read, set, complain, draw };
  const rail = models.map((one, i) => button("model", one.name, () => go(i)));
  /** @param {object} names */
  const numbers = (names) =>
    COUNTS.filter((name) => name in names).map((name) => number(view, name));
  const [sizes, experts] = [numbers(FIELDS), numbers(EXPERTS)];
  const ticks = TICKED.map((name) => tick(view, name));
  /** @param {{node: Node}[]} all */
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
    { class: "budget" },
    published.node,
    mine.node,
    element("div", { class: "parts" }, ...nodes(parts)),
    element("p", { class: "sum" }, "together ", sum, ", one token uses ", used),
  );
  const table = scroller("every part with its formula", { hidden: true });
  /** @param {string} label @param {...Node} inside */
  const group = (label, ...inside) =>
    element("div", { class: "sizes", role: "group", "aria-label": label }, ...inside);
  const folded = element(
    "details",
    {},
    element("summary", { "data-action": "mixture" }, "mixture of experts"),
    group("experts", ...nodes(experts)),
  );
  const node = frame(
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
    folded,
    bar(
      tableButton(figure, table),
      button("reset", "As published", () => go(at().step)),
    ),
  );
  /** @type {Published | null} */
  let drawn = null;
  function draw() {
    const [one, now] = [models[at().step], model.get("sizes")];
    if (one !== drawn) folded.toggleAttribute("open", one.sizes.experts > 0);
    drawn = one;
    rail.forEach((each, i) => press(each, i === at().step));
    [...sizes, ...experts, ...ticks].forEach((each) => each.draw(now, one.sizes));
    published.draw(count(one.sizes));
    mine.draw(count(now));
    parts.forEach((each) => each.draw(count(now)));
    show(sum, total(count(now)), grouped(total(count(now))));
    show(used, touched(now), grouped(touched(now)));
    table.replaceChildren(numbersOf(now));
    say.textContent = sentence(one, now);
  }
  return { node, draw };
}

export default widget(["models"], ["model", "sizes"], build, {
  model: (x, s) => s.models.some((one) => one.name === x),
  sizes: (x, { models: [{ sizes }] }) =>
    Object.keys(sizes).every(
      (name) => typeof x[name] === typeof sizes[/** @type {Count} */ (name)],
    ) &&
    Object.keys(x).length === Object.keys(sizes).length &&
    wrong(x) === null,
});
