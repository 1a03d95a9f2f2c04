// @ts-check
// The soft search of rnnsearch.py, run in the reader's browser on its trained
// weights. Tested against torch.
import { dot, mix, softmax } from "./lib/maths.js";
import { annotate, embed, gru, linear, START } from "./lib/recurrent.js";

/** @typedef {import("./lib/recurrent.js").Weights} Weights */

/** α_ij while it writes a text that is given.
 * @param {Weights} p @param {number[]} source ids, END last @param {number[]} target the same
 * @returns {number[][]} target, source */
export function searchWeights(p, source, target) {
  const values = annotate(
    p,
    source.map((id) => embed(p["source_embedding.weight"], id)),
  );
  const keys = values.map((h) => linear(p, "attention.U.weight", "attention.U.bias", h));
  const v = p["attention.v"].numbers;
  const first = values[0].slice(values[0].length / 2); // ←h_1
  let s = linear(p, "bridge.weight", "bridge.bias", first).map(Math.tanh);
  return target.map((_, i) => {
    const query = linear(p, "attention.W.weight", null, s);
    const scores = keys.map((key) =>
      dot(
        v,
        key.map((one, k) => Math.tanh(one + query[k])),
      ),
    );
    const weights = softmax(scores);
    const word = embed(p["target_embedding.weight"], i ? target[i - 1] : START);
    const rows = values.map((h) => [...h]);
    s = gru(p, "decoder", "", [...word, ...mix(weights, rows)], s);
    return weights;
  });
}
