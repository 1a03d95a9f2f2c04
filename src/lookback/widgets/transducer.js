// @ts-check
// The model of transducer.py, run in the reader's browser on its trained weights,
// and the sums over its paths. Tested against torch.
import { annotate, END, embed, gru, linear, next, readout, START } from "./lib/recurrent.js";

/** @typedef {import("./lib/recurrent.js").Weights} Weights */
/** The encoder's scores at one word of the source: f_t of the words, of a blank.
 * @typedef {{f: Float64Array, step: number}} Place */
/** A pair of sentences as a lattice: `write[u][t]` is log p(y_{u+1} | t, u),
 * `step[u][t]` is log p(blank | t, u).
 * @typedef {{target: number[], write: number[][], step: number[][]}} Lattice */

/** log Σ e^x, −∞ for nothing at all. @param {ArrayLike<number>} x */
export function logSum(x) {
  let largest = -Infinity;
  for (let i = 0; i < x.length; i += 1) largest = Math.max(largest, x[i]);
  if (largest === -Infinity) return largest;
  let sum = 0;
  for (let i = 0; i < x.length; i += 1) sum += Math.exp(x[i] - largest);
  return largest + Math.log(sum);
}

/** f_t of every word. @param {Weights} p @param {number[]} source ids, END last
 * @returns {Place[]} */
export function places(p, source) {
  const words = source.map((id) => embed(p["source_embedding.weight"], id));
  return annotate(p, words).map((h, t) => {
    const x = [...h, ...words[t]];
    return { f: readout(p, "f", x), step: linear(p, "f_step.weight", "f_step.bias", x)[0] };
  });
}

/** α(t, u) for every t, from what arrived by a word: any number of blanks.
 * @param {number[]} arrived @param {number[]} step in logarithms, as all here */
function walk(arrived, step) {
  let before = -Infinity;
  return arrived.map((here, t) => {
    before = logSum([here, t ? before + step[t - 1] : -Infinity]);
    return before;
  });
}

/** The lattice of a sentence and its translation: the one given, or else the
 * most probable word each time, until END or `most` words.
 * @param {Weights} p @param {number[]} source ids, END last
 * @param {{given?: number[], most?: number}} how @returns {Lattice} */
export function lay(p, source, how) {
  const at = places(p, source);
  /** @type {Lattice} */
  const found = { target: [], write: [], step: [] };
  let s = new Float64Array(p["pen.weight_hh_l0"].shape[1]);
  let arrived = at.map((_, t) => (t ? -Infinity : 0));
  for (let u = 0, token = START; token !== END; u += 1) {
    const word = embed(p["target_embedding.weight"], token);
    s = gru(p, "pen", "_l0", word, s);
    const x = [...s, ...word];
    const g = readout(p, "g", x);
    const [g_step] = linear(p, "g_step.weight", "g_step.bias", x);
    const onward = at.map((one, t) => (t < at.length - 1 ? one.step + g_step : -Infinity));
    const total = at.map(({ f }, t) => logSum([logSum(f.map((y, k) => y + g[k])), onward[t]]));
    const step = onward.map((y, t) => y - total[t]);
    const ready = walk(arrived, step).map((y, t) => y - total[t]);
    token = next(how, u, () => g.map((y, k) => y + logSum(at.map(({ f }, t) => ready[t] + f[k]))));
    arrived = at.map(({ f }, t) => ready[t] + f[token] + g[token]);
    found.target.push(token);
    found.write.push(at.map(({ f }, t) => f[token] + g[token] - total[t]));
    found.step.push(step);
  }
  return found;
}

/** log α(t, u): all ways to a node; the last row is what arrived there when
 * all was emitted, and Σ of it is p(y | x).
 * @param {Lattice} lattice @returns {number[][]} */
export function forwardSums({ write, step }) {
  let arrived = step[0].map((_, t) => (t ? -Infinity : 0));
  const rows = step.map((row, u) => {
    const alpha = walk(arrived, row);
    arrived = alpha.map((y, t) => y + write[u][t]);
    return alpha;
  });
  return [...rows, arrived];
}

/** From every node to the end: `join` of the two ways on.
 * @param {Lattice} lattice @param {(stay: number, go: number) => number} join */
function fromEnd({ write, step }, join) {
  let later = write[0].map(() => 0);
  const rows = [later];
  for (let u = write.length - 1; u >= 0; u -= 1) {
    let ahead = -Infinity;
    const row = [...later];
    for (let t = row.length - 1; t >= 0; t -= 1) {
      ahead = join(write[u][t] + later[t], step[u][t] + ahead);
      row[t] = ahead;
    }
    later = row;
    rows.unshift(row);
  }
  return rows;
}

/** log β(t, u): all ways on from a node.
 * @param {Lattice} lattice @returns {number[][]} */
export const backwardSums = (lattice) => fromEnd(lattice, (stay, go) => logSum([stay, go]));

/** Where each word was emitted, all of the translation being known.
 * @param {Lattice} lattice @returns {number[][]} target, source */
export function posteriorOf(lattice) {
  const [alpha, beta] = [forwardSums(lattice), backwardSums(lattice)];
  return lattice.write.map((row, u) =>
    row.map((y, t) => Math.exp(alpha[u][t] + y + beta[u + 1][t] - beta[0][0])),
  );
}

/** The most probable path: "s" for a blank, "w" for a word.
 * @param {Lattice} lattice */
export function bestPath(lattice) {
  const most = fromEnd(lattice, Math.max);
  let moves = "";
  for (let [t, u] = [0, 0]; u < lattice.write.length; ) {
    const stays = lattice.write[u][t] + most[u + 1][t] >= most[u][t];
    moves += stays ? "w" : "s";
    if (stays) u += 1;
    else t += 1;
  }
  return moves;
}
