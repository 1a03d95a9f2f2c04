// @ts-check
// The soft search of rnnsearch.py, run in the reader's browser on its trained
// weights. Tested against torch.
import { dot, mix, softmax } from "./lib/maths.js";
import { annotate, END, embed, gru, linear, next, readout, START } from "./lib/recurrent.js";

/** @typedef {import("./lib/recurrent.js").Weights} Weights */

/** What it writes, or the text that is given, and α_ij meanwhile.
 * @param {Weights} p @param {number[]} source ids, END last
 * @param {{given?: number[], most?: number}} how
 * @returns {{target: number[], weights: number[][]}} weights: target, source */
export function search(p, source, how) {
  const values = annotate(
    p,
    source.map((id) => embed(p["source_embedding.weight"], id)),
  );
  const rows = values.map((h) => [...h]);
  const keys = values.map((h) => linear(p, "attention.U.weight", "attention.U.bias", h));
  const v = p["attention.v"].numbers;
  const first = values[0].slice(values[0].length / 2); // ←h_1
  let s = linear(p, "bridge.weight", "bridge.bias", first).map(Math.tanh);
  /** @type {{target: number[], weights: number[][]}} */
  const found = { target: [], weights: [] };
  for (let token = START; token !== END; ) {
    const query = linear(p, "attention.W.weight", null, s);
    const scores = keys.map((key) =>
      dot(
        v,
        key.map((one, k) => Math.tanh(one + query[k])),
      ),
    );
    const weights = softmax(scores);
    const fed = [...embed(p["target_embedding.weight"], token), ...mix(weights, rows)];
    s = gru(p, "decoder", "", fed, s);
    token = next(how, found.target.length, () => readout(p, "readout", [...s, ...fed]));
    found.target.push(token);
    found.weights.push(weights);
  }
  return found;
}
