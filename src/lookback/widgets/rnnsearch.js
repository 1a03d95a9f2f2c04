// @ts-check
// The soft search of rnnsearch.py, run in the reader's browser on its trained
// weights. Tested against torch.
import { dot, mix, softmax } from "./lib/maths.js";
import { annotate, END, embed, gru, linear, next, readout, START } from "./lib/recurrent.js";

/** @typedef {import("./lib/recurrent.js").Weights} Weights */
/** @typedef {{keys: Float64Array[], values: number[][]}} Memory */
/** @typedef {{written: number, s: Float64Array}} State */

/** What `decode.js` wants of a translator.
 * @param {Weights} p @param {import("./decode.js").Instead} [instead] */
export function rnnsearch(p, instead = (weights) => weights) {
  const v = p["attention.v"].numbers;
  return {
    /** What the decoder may look at: h_j and U h_j.
     * @param {number[]} source ids, END last @returns {Memory} */
    read(source) {
      const values = annotate(
        p,
        source.map((id) => embed(p["source_embedding.weight"], id)),
      );
      const keys = values.map((h) => linear(p, "attention.U.weight", "attention.U.bias", h));
      return { keys, values: values.map((h) => [...h]) };
    },

    /** s_0 = tanh(W_s ←h_1). @param {Memory} memory */
    begin: ({ values: [h] }) => ({
      written: 0,
      s: linear(p, "bridge.weight", "bridge.bias", h.slice(h.length / 2)).map(Math.tanh),
    }),

    /** e_ij, α_ij = softmax(e_i), c_i, and s_i = GRU([E y_{i−1}; c_i], s_{i−1}).
     * @param {number} token y_{i−1} @param {State} state @param {Memory} memory */
    step(token, { written, s }, { keys, values }) {
      const query = linear(p, "attention.W.weight", null, s);
      const energies = keys.map((key) =>
        dot(
          v,
          key.map((one, k) => Math.tanh(one + query[k])),
        ),
      );
      const place = { written, layer: 0, head: 0 };
      const weights = instead(softmax(energies), place) ?? energies.map(() => 0);
      const fed = [...embed(p["target_embedding.weight"], token), ...mix(weights, values)];
      const next = gru(p, "decoder", "", fed, s);
      return {
        state: { written: written + 1, s: next },
        looks: [{ energies: [energies], weights: [weights] }],
        logits: () => readout(p, "readout", [...next, ...fed]),
      };
    },
  };
}

/** What it writes, or the text that is given, and α_ij meanwhile.
 * @param {Weights} p @param {number[]} source ids, END last
 * @param {{given?: number[], most?: number}} how
 * @returns {{target: number[], weights: number[][]}} weights: target, source */
export function search(p, source, how) {
  const model = rnnsearch(p);
  const memory = model.read(source);
  let state = model.begin(memory);
  /** @type {{target: number[], weights: number[][]}} */
  const found = { target: [], weights: [] };
  for (let token = START; token !== END; ) {
    const now = model.step(token, state, memory);
    state = now.state;
    token = next(how, found.target.length, now.logits);
    found.target.push(token);
    found.weights.push(now.looks[0].weights[0]);
  }
  return found;
}
