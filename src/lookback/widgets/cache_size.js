// @ts-check
// How large a language model is: its weights, and its cache of keys and values,
// 2 · layers · kv_heads · d_k · length · bytes, for a model of the reader's
// choice. With a window no more tokens are kept than fit into it.

import limits from "./cache_size.json" with { type: "json" };
import { among, flag, integer } from "./lib/link.js";
import { digits, grouped, readWhole } from "./lib/text.js";
import {
  bar,
  button,
  change,
  checkbox,
  element,
  field,
  root,
  select,
  show,
  voice,
  widget,
} from "./lib/view.js";

/** @typedef {{layers: number, heads: number, kv_heads: number, d_k: number, window: number,
 *   d_model: number, d_ff: number, vocab: number, positions: number}} Sizes */
/** @typedef {{tied: boolean, gated: boolean, biases: boolean}} Kinds */
/** @typedef {Sizes & Kinds} Config */
/** @typedef {Config & {length: number, bytes: number}} State */

// In the order of the models in cache_size.json.
const SIZES = /** @type {const} */ ([
  "layers",
  "heads",
  "kv_heads",
  "d_k",
  "window",
  "d_model",
  "d_ff",
  "vocab",
  "positions",
]);
const KINDS = /** @type {const} */ (["tied", "gated", "biases"]);
const MODELS = /** @type {Record<string, (number | boolean)[]>} */ (limits.models);
const FIELDS = /** @type {const} */ ([
  "layers",
  "d_model",
  "heads",
  "kv_heads",
  "d_k",
  "d_ff",
  "vocab",
  "positions",
  "window",
  "length",
]);
const MOST = { ...limits, kv_heads: limits.heads };
/** What is 0 where a model has none. */
const MAY_LACK = ["window", "positions"];
const SPOKEN = {
  layers: "layers",
  d_model: "width, d_model",
  heads: "heads",
  kv_heads: "KV heads",
  d_k: "width of a head, d_k",
  d_ff: "width of the MLP, d_ff",
  vocab: "tokens in the vocabulary",
  positions: "learned positions, 0 for none",
  window: "window in tokens, 0 for none",
  length: "tokens so far",
  tied: "input and output share one table",
  gated: "gated MLP (SwiGLU)",
  biases: "biases, and LayerNorm",
};
const FORMATS = /** @type {const} */ ([
  ["fp16", 2],
  ["int8", 1],
  ["int4", 0.5],
]);

/** Every weight. @param {Config} config */
export function parametersOf(config) {
  const { layers, heads, kv_heads, d_k, d_model: d, d_ff, vocab, positions } = config;
  const [q, kv, maps] = [heads * d_k, kv_heads * d_k, config.gated ? 3 : 2];
  const norm = d * (config.biases ? 2 : 1);
  const biases = config.biases ? q + 2 * kv + d + (maps - 1) * d_ff + d : 0;
  const layer = 2 * d * q + 2 * d * kv + maps * d * d_ff + 2 * norm + biases;
  return ((config.tied ? 1 : 2) * vocab + positions) * d + layers * layer + norm;
}

/** Bytes of one token; of all that are kept; of all that were read.
 * @param {Pick<State, "layers" | "kv_heads" | "d_k" | "length" | "window" | "bytes">} state */
export function bytesOf({ layers, kv_heads, d_k, length, window, bytes }) {
  const token = 2 * layers * kv_heads * d_k * bytes;
  const kept = window ? Math.min(length, window) : length;
  return { token, whole: token * kept, all: token * length };
}

/** A number in a unit that can be read.
 * @param {number} n @param {string[]} units for 1, 1000, … */
function scaled(n, units) {
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, n)) / 3));
  const value = n / 1000 ** power;
  return `${power ? digits(value, value < 10 ? 2 : value < 100 ? 1 : 0) : grouped(n)} ${units[power]}`;
}
/** Bytes in a unit that can be read. @param {number} n */
export const readable = (n) => scaled(n, ["bytes", "kB", "MB", "GB", "TB", "PB"]);
/** A count in words. @param {number} n */
export const counted = (n) => scaled(n, ["", "thousand", "million", "billion", "trillion"]).trim();

/** The sum, with its numbers. @param {State} state */
export function sentence(state) {
  const { layers, heads, kv_heads, d_k, length, window, bytes, positions } = state;
  const { token, whole, all } = bytesOf(state);
  const weights = 2 * parametersOf(state);
  const kept =
    whole < all
      ? `, since the window keeps the last ${grouped(window)}; without it ${readable(all)}`
      : "";
  const shared =
    kv_heads < heads
      ? ` With keys and values for all ${heads} heads it would be ${readable((whole * heads) / kv_heads)}.`
      : "";
  const even = Math.ceil(weights / token);
  const as =
    window && window < even
      ? ""
      : ` At ${grouped(even)} tokens the cache is as large as the weights in fp16.`;
  const beyond =
    positions && length > positions
      ? ` With ${grouped(positions)} learned positions it can read no more than ${grouped(positions)}.`
      : "";
  return (
    `2 · ${layers} layers · ${kv_heads} heads · ${d_k} numbers · ${bytes} ` +
    `byte${bytes > 1 ? "s" : ""} = ${readable(token)} for each token; for ${grouped(length)} ` +
    `tokens ${readable(whole)}${kept}.${beyond}${shared}${as}`
  );
}

/** What is wrong with the sizes; "" if nothing is.
 * @param {Pick<State, "heads" | "kv_heads">} state */
export const wrong = ({ heads, kv_heads }) =>
  heads % kv_heads
    ? `${heads} heads cannot share ${kv_heads} sets of keys and values equally.`
    : "";

/** Whether a size may be so large. @param {typeof FIELDS[number]} name @param {number} x */
const fits = (name, x) => x >= (MAY_LACK.includes(name) ? 0 : 1) && x <= MOST[name];
/** @param {typeof FIELDS[number]} name */
const range = (name) =>
  `${SPOKEN[name]}: give a whole number from ${MAY_LACK.includes(name) ? 0 : 1} to ${grouped(MOST[name])}.`;

/** The sizes in the text of a model's config.json; or what is wrong with it.
 * @param {string} text @returns {Config | string} */
export function readConfig(text) {
  /** @type {Record<string, unknown>} */
  let all;
  try {
    all = JSON.parse(text);
  } catch {
    return "This is not the text of a config.json: it begins with { and ends with }.";
  }
  if (!(all instanceof Object)) return "This is not the text of a config.json.";
  if (all.text_config instanceof Object) {
    all = /** @type {Record<string, unknown>} */ (all.text_config);
  }
  if ("kv_lora_rank" in all) return "Its attention keeps a latent vector: another formula.";
  if (Object.keys(all).some((name) => /experts/.test(name))) {
    return "It has experts, which this calculator does not count.";
  }
  /** The first of these names that has a number. @param {...string} names */
  const of = (...names) => {
    const name = names.find((one) => typeof all[one] === "number");
    return name === undefined ? 0 : Number(all[name]);
  };
  const gpt2 = "n_embd" in all;
  const heads = of("num_attention_heads", "n_head");
  const d_model = of("hidden_size", "n_embd");
  const act = String(all.hidden_act ?? all.hidden_activation ?? all.activation_function ?? "silu");
  const config = {
    layers: of("num_hidden_layers", "n_layer"),
    heads,
    kv_heads: of("num_key_value_heads") || heads,
    d_k: of("head_dim") || d_model / heads,
    window: all.use_sliding_window === false ? 0 : of("sliding_window"),
    d_model,
    d_ff: of("intermediate_size", "n_inner") || 4 * d_model,
    vocab: of("vocab_size"),
    positions: gpt2 ? of("n_positions", "n_ctx") : 0,
    tied: gpt2 || all.tie_word_embeddings === true,
    gated: !gpt2 && /silu|swish|gelu_pytorch_tanh/.test(act),
    biases: gpt2,
  };
  const odd = SIZES.find((name) => !Number.isInteger(config[name]) || !fits(name, config[name]));
  return odd ? `No size that fits was found for: ${SPOKEN[odd]}.` : wrong(config) || config;
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, problem, complain, set } = voice(model);
  /** @param {(number | boolean)[]} values */
  const named = (values) =>
    /** @type {Config} */ (
      Object.fromEntries([...SIZES, ...KINDS].map((name, i) => [name, values[i]]))
    );
  const preset = select(
    "model",
    [
      ["", "your own"],
      ...Object.keys(MODELS).map((one) => /** @type {[string, string]} */ ([one, one])),
    ],
    (name) => {
      if (MODELS[name]) set(named(MODELS[name]));
    },
  );
  const fields = FIELDS.map((name) => {
    const box = field(name, { inputmode: "numeric", size: 9 }, (text) => {
      const x = readWhole(text);
      if (!fits(name, x)) return complain(range(name));
      const fault = wrong({ ...read(), [name]: x });
      if (fault) return complain(fault);
      complain("");
      change(model, { [name]: x });
    });
    return { name, box, node: element("label", {}, box, SPOKEN[name]) };
  });
  const boxes = KINDS.map((name) => {
    const box = checkbox(name, (on) => set({ [name]: on }));
    return { name, box, node: element("label", {}, box, ` ${SPOKEN[name]}`) };
  });
  const kinds = select(
    "bytes",
    limits.bytes.map((n) => [n, `${n} byte${n > 1 ? "s" : ""} a number`]),
    (x) => set({ bytes: Number(x) }),
  );
  const paste = element("textarea", {
    "data-action": "config",
    "aria-label": "the text of a config.json",
    spellcheck: "false",
  });
  paste.rows = 4;
  const take = button("read", "Read it", () => {
    const found = readConfig(paste.value);
    if (typeof found === "string") complain(found);
    else set(found);
  });
  const weights = element("b", { "data-role": "weights" });
  const stored = element("span", { "data-role": "stored" });
  const token = element("b", { "data-role": "token" });
  const total = element("b", { "data-role": "whole" });
  const node = root(
    "cache-size",
    "How large are the weights, and the cache?",
    bar(element("label", {}, "model ", preset), element("label", {}, "cache ", kinds)),
    element("div", { class: "sizes" }, ...fields.map((one) => one.node)),
    element("div", { class: "kinds" }, ...boxes.map((one) => one.node)),
    element(
      "details",
      {},
      element("summary", {}, "Paste a config.json"),
      element(
        "p",
        {},
        "Counted is the shape of the Llama family, or of GPT-2. Norms of queries and keys, " +
          "and biases beside them, are left out: less than a thousandth of the weights.",
      ),
      paste,
      bar(take),
    ),
    problem,
    element(
      "div",
      { class: "sum" },
      element("p", {}, "weights: ", weights, "; ", stored),
      element("p", {}, "one token in the cache: ", token),
      element("p", {}, "the whole cache: ", total),
    ),
    say,
  );
  return {
    node,
    draw() {
      const state = read();
      const own = [...SIZES, ...KINDS].map((name) => state[name]);
      const known = Object.entries(MODELS).find(([, one]) => one.every((x, i) => x === own[i]));
      preset.value = known ? known[0] : "";
      for (const { name, box } of fields) box.value = grouped(state[name]);
      for (const { name, box } of boxes) box.checked = state[name];
      kinds.value = String(state.bytes);
      const count = parametersOf(state);
      show(weights, count, counted(count));
      stored.textContent = FORMATS.map(([name, x]) => `${readable(count * x)} in ${name}`).join(
        ", ",
      );
      const now = bytesOf(state);
      show(token, now.token, readable(now.token));
      show(total, now.whole, readable(now.whole));
      say.textContent = sentence(state);
    },
  };
}

export default widget([], [...FIELDS, ...KINDS, "bytes"], build, {
  layers: integer(1, MOST.layers),
  heads: (x, state) => integer(1, MOST.heads)(x, null) && x % state.kv_heads === 0,
  kv_heads: integer(1, MOST.kv_heads),
  d_k: integer(1, MOST.d_k),
  d_model: integer(1, MOST.d_model),
  d_ff: integer(1, MOST.d_ff),
  vocab: integer(1, MOST.vocab),
  positions: integer(0, MOST.positions),
  length: integer(1, MOST.length),
  window: integer(0, MOST.window),
  bytes: among(limits.bytes),
  tied: flag,
  gated: flag,
  biases: flag,
});
