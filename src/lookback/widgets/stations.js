// @ts-check
// A Transformer's stations: what shape each tensor has at given sizes, how many
// parameters make it and how many multiplications its matrix products take.
// Part of dataflow.js; the model is lookback/transformer.py.

/** @typedef {{batch: number, source: number, target: number, d_model: number,
 *   heads: number, d_ff: number, layers: number, vocab: number, mode: string}} Sizes */
/** @typedef {[string, number]} Axis a name and a length */
/** @typedef {{key: string, part: string, name: string, shape: Axis[], copies: number,
 *   parameters: number, products: number, times: number, once: boolean, say: string}} Station */

export const PARTS = {
  source: "Source in",
  self: "Self-attention",
  inner: "Feed-forward",
  target: "Target in",
  masked: "Masked self-attention",
  cross: "Cross-attention",
  outer: "Feed-forward",
  out: "Word out",
};
const LIMITS = {
  batch: 1000,
  source: 10000,
  target: 10000,
  d_model: 16384,
  heads: 512,
  d_ff: 65536,
  layers: 200,
  vocab: 1000000,
};
export const KNOBS = Object.keys(LIMITS);

/** Digits in groups of three. */
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** What is wrong with these sizes, or "". @param {Sizes} sizes */
export function refuse(sizes) {
  for (const name of KNOBS) {
    const n = sizes[name];
    if (!Number.isInteger(n) || n < 1 || n > LIMITS[name]) {
      return `${name} is ${n}: give a whole number from 1 to ${grouped(LIMITS[name])}`;
    }
  }
  const { d_model, heads } = sizes;
  if (d_model % 2) return `d_model is ${d_model}: sines and cosines come in pairs, so even`;
  if (d_model % heads) return `${heads} heads cannot share ${d_model} numbers equally`;
  return "";
}

/** All stations, in the order in which the data passes them.
 * @param {Sizes} sizes @returns {Station[]} */
export function stations(sizes) {
  const { batch, source, target, d_model: d, heads: h, d_ff, layers, vocab, mode } = sizes;
  const serial = mode === "generation";
  const all = [];
  /** @type {Axis} */ const B = ["batch", batch];
  /** @type {Axis} */ const D = ["d_model", d];
  /** @type {Axis} */ const S = ["source", source];
  /** @type {Axis} */ const Q = ["target", serial ? 1 : target];
  /** @type {Axis} */ const K = ["target", target];
  const stop = (
    part,
    name,
    shape,
    say,
    {
      parameters = 0,
      products = 0,
      copies = 1,
      once = serial && ["source", "self", "inner"].includes(part),
    } = {},
  ) =>
    all.push({
      key: `${part}/${name}`,
      part,
      name,
      shape,
      copies,
      parameters,
      products,
      once,
      say,
      times: ["source", "target", "out"].includes(part) ? 1 : layers,
    });
  const place = (part, length, tied) => {
    const x = [B, length, D];
    stop(part, "words", [B, length], "One number for each word, its row in the vocabulary.");
    stop(
      part,
      "embedding",
      x,
      tied ? "The same matrix again: it is counted once." : "Each number fetches its row of E.",
      { parameters: tied ? 0 : vocab * d },
    );
    stop(part, "× √d_model", x, `Every number is multiplied by √${d}.`);
    stop(
      part,
      "+ position",
      x,
      "The sines and cosines of the place are added. " +
        (serial && tied ? `The place is ${target - 1}, counted from 0.` : "Nothing is learned."),
    );
  };
  const wrap = (part, length) => {
    stop(part, "add", [B, length, D], "What came in is added to what came out.");
    stop(
      part,
      "norm",
      [B, length, D],
      "Each vector is centred and scaled; gain and shift " + "are learned.",
      { parameters: 2 * d },
    );
  };
  const attention = (part, q, k, fresh, mask, told) => {
    const looks = [B, ["heads", h], q, k];
    const each = (length) => [B, ["heads", h], length, ["d_k", d / h]];
    const one = d * d + d;
    const ready = serial && part === "cross";
    stop(part, "W_Q", [B, q, D], "Queries, all heads side by side.", {
      parameters: one,
      products: batch * q[1] * d * d,
    });
    stop(
      part,
      "W_K, W_V",
      [B, fresh, D],
      ready
        ? "Keys and values of the source wait in the memory: made once, when it was read."
        : "Keys and values, two tensors of one shape.",
      {
        parameters: 2 * one,
        copies: 2,
        products: 2 * batch * fresh[1] * d * d,
        ...(ready ? { once: true } : {}),
      },
    );
    stop(
      part,
      "split queries",
      each(q),
      `${d} numbers become ${h} × ${d / h}. Nothing is computed.`,
    );
    stop(
      part,
      "keys, values",
      each(k),
      serial && part === "masked"
        ? `${target - 1} from the cache and the new one, set end to end.`
        : "Split in the same way.",
      { copies: 2 },
    );
    stop(part, "scores", looks, "Each query times each key, divided by √d_k.", {
      products: batch * h * q[1] * k[1] * (d / h),
    });
    stop(part, "mask", mask, told);
    stop(part, "softmax", looks, "Each row becomes weights that sum to 1.");
    stop(part, "mix", each(q), "The values, averaged with the weights, head by head.", {
      products: batch * h * q[1] * k[1] * (d / h),
    });
    stop(part, "concat", [B, q, D], "The heads are set end to end again. Nothing is computed.");
    stop(part, "W_O", [B, q, D], "One more matrix mixes what the heads found.", {
      parameters: one,
      products: batch * q[1] * d * d,
    });
    wrap(part, q);
  };
  const feed = (part, length) => {
    const products = batch * length[1] * d * d_ff;
    stop(
      part,
      "W_1, ReLU",
      [B, length, ["d_ff", d_ff]],
      "Every position for itself: wider, " + "and what is negative becomes 0.",
      { parameters: d * d_ff + d_ff, products },
    );
    stop(part, "W_2", [B, length, D], "And back to the old width.", {
      parameters: d_ff * d + d,
      products,
    });
    wrap(part, length);
  };
  const padding = [B, ["1", 1], ["1", 1], S];
  const hides = "True where there is a word and no padding; the rest gets −∞.";
  place("source", S, false);
  attention("self", S, S, S, padding, hides);
  feed("inner", S);
  place("target", Q, true);
  attention(
    "masked",
    Q,
    K,
    Q,
    serial ? [B, ["heads", h], Q, K] : [K, K],
    serial
      ? "No mask is needed: words that are not written yet have no keys. The scores stay."
      : "True up to the word's own place; the future gets −∞.",
  );
  attention("cross", Q, S, S, padding, hides);
  feed("outer", Q);
  stop(
    "out",
    "logits",
    [B, Q, ["vocab", vocab]],
    "Times the rows of the embedding, so no " + "parameters of its own.",
    { products: batch * Q[1] * d * vocab },
  );
  stop(
    "out",
    "softmax",
    [B, Q, ["vocab", vocab]],
    serial
      ? "A probability for every word of the vocabulary; one word is chosen, and the next step begins."
      : "At every place a probability for every word of the vocabulary.",
  );
  return all;
}

/** How many numbers a station's tensor holds. @param {Station} station */
export const elements = ({ shape, copies }) => shape.reduce((n, [, each]) => n * each, copies);

/** All layers together: parameters, the products of one pass, and those made
 * once for a sentence, before its first word. @param {Station[]} all */
export function totals(all) {
  const sum = (part, of) => part.reduce((n, one) => n + one[of] * one.times, 0);
  return {
    parameters: sum(all, "parameters"),
    products: sum(
      all.filter((one) => !one.once),
      "products",
    ),
    once: sum(
      all.filter((one) => one.once),
      "products",
    ),
  };
}

export const shapeOf = ({ shape }) =>
  shape.map(([name, n]) => (name === "1" ? "1" : `${name} ${grouped(n)}`)).join(" × ");
export const side = (part) => (["source", "self", "inner"].includes(part) ? "encoder" : "decoder");

/** The station in words. @param {Station[]} all @param {number} step */
export function sentence(all, step) {
  const one = all[step];
  const layers = one.times > 1 ? ` (one of ${one.times} layers)` : "";
  const count = (n, what) => (n ? `${grouped(n)} ${what}` : `no ${what}`);
  return (
    `${step + 1} of ${all.length}. ${side(one.part) === "encoder" ? "Encoder" : "Decoder"}, ` +
    `${PARTS[one.part].toLowerCase()}${layers}: ${one.name}. ${one.say} ${one.copies > 1 ? "Each: " : ""}${shapeOf(one)}, ` +
    `${one.copies > 1 ? "together " : ""}${grouped(elements(one))} numbers; ` +
    `${count(one.parameters, "parameters")}; ${count(one.products, "products")}` +
    `${one.once && one.products ? ", made once, when the source is read" : ""}.`
  );
}
