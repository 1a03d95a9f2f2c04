// @ts-check
// The RNN Encoder–Decoder of bottleneck.py, run in the reader's browser on
// its trained weights. Every function here is tested against torch.

import { END, embed, gru, linear, readout, START } from "./lib/recurrent.js";
import limits from "./squeeze.json" with { type: "json" };

/** @typedef {import("./lib/recurrent.js").Weights} Weights */

export const FIRST = 4; // lab.corpus: the first letter
export const MOST = limits.letters; // read or written

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
  return { state, logits: readout(p, "readout", [...state, ...word, ...c]) };
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
