// @ts-check
// The RNN Encoder–Decoder of bottleneck.py, run in the reader's browser on
// its trained weights. Every function here is tested against torch.

import limits from "./squeeze.json" with { type: "json" };

/** @typedef {import("./lib/half.js").Tensor} Tensor */
/** @typedef {Record<string, Tensor>} Weights */

export const [START, END, FIRST] = [2, 3, 4]; // lab.corpus: <start>, <end>, first letter
export const MOST = limits.letters; // read or written

/** W x + b.
 * @param {Weights} p @param {string} weight @param {string} bias
 * @param {ArrayLike<number>} x */
export function linear(p, weight, bias, x) {
  const [
    {
      shape: [rows, columns],
      numbers,
    },
    b,
  ] = [p[weight], p[bias].numbers];
  return Float64Array.from({ length: rows }, (_, i) => {
    let sum = b[i];
    for (let j = 0; j < columns; j += 1) sum += numbers[i * columns + j] * x[j];
    return sum;
  });
}

/** @param {number} x */
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** torch's GRU: r and z gate, n proposes; (1 − z) n + z h.
 * @param {Weights} p @param {string} name @param {string} end of the weights' names
 * @param {ArrayLike<number>} x @param {Float64Array} h */
export function gru(p, name, end, x, h) {
  const a = linear(p, `${name}.weight_ih${end}`, `${name}.bias_ih${end}`, x);
  const b = linear(p, `${name}.weight_hh${end}`, `${name}.bias_hh${end}`, h);
  const d = h.length;
  return h.map((old, i) => {
    const [r, z] = [sigmoid(a[i] + b[i]), sigmoid(a[d + i] + b[d + i])];
    return (1 - z) * Math.tanh(a[2 * d + i] + r * b[2 * d + i]) + z * old;
  });
}

/** Row `id` of an embedding. @param {Tensor} tensor @param {number} id */
const embed = ({ shape, numbers }, id) => numbers.subarray(id * shape[1], (id + 1) * shape[1]);

/** c = tanh(V h_t) after each id, c of an unread h_0 = 0 first.
 * @param {Weights} p @param {number[]} ids @returns {Float64Array[]} */
export function encode(p, ids) {
  let h = new Float64Array(p["encoder.weight_hh_l0"].shape[1]);
  const squeeze = () => linear(p, "squeeze.weight", "squeeze.bias", h).map(Math.tanh);
  const vectors = [squeeze()];
  for (const id of ids) {
    h = gru(p, "encoder", "_l0", embed(p["source_embedding.weight"], id), h);
    vectors.push(squeeze());
  }
  return vectors;
}

/** s_i = GRU([E y; c], s); logits = W_o maxout(O [s_i; E y; c]).
 * @param {Weights} p @param {number} token @param {Float64Array} s @param {Float64Array} c */
export function step(p, token, s, c) {
  const word = embed(p["target_embedding.weight"], token);
  const state = gru(p, "decoder", "", [...word, ...c], s);
  const t = linear(p, "readout.maxout.weight", "readout.maxout.bias", [...state, ...word, ...c]);
  const kept = t.filter((_, j) => j % 2 === 0).map((x, j) => Math.max(x, t[2 * j + 1]));
  return { state, logits: linear(p, "readout.output.weight", "readout.output.bias", kept) };
}

/** Reads the ids, then writes, greedily, until END or MOST letters.
 * @param {Weights} p @param {number[]} ids the letters, then END */
export function copy(p, ids) {
  const vectors = encode(p, ids);
  const c = vectors[vectors.length - 1];
  let state = linear(p, "bridge.weight", "bridge.bias", c).map(Math.tanh);
  /** @type {number[]} */
  const written = [];
  for (let token = START; written.length < MOST; ) {
    const now = step(p, token, state, c);
    state = now.state;
    token = now.logits.indexOf(Math.max(...now.logits));
    if (token === END) break;
    written.push(token);
  }
  return { vectors, written };
}

/** Ids of a text's letters, END last.
 * @param {string | string[]} alphabet @param {string} text */
export const idsOf = (alphabet, text) => [
  ...[...text].map((letter) => FIRST + [...alphabet].indexOf(letter)),
  END,
];
