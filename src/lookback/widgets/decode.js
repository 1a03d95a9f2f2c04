// @ts-check
// Greedy and beam search over any translator, as lab/decoding.py does it: the
// prefixes with the highest log-probability per word are kept.
import { END, START } from "./lib/recurrent.js";

/** @typedef {{energies: number[][], weights: number[][]}[]} Looks layers, heads, source */
/** Other weights for a look at the source; null for a head that is removed.
 * @typedef {(weights: number[], place: {written: number, layer: number, head: number}) =>
 *   number[] | null} Instead */
/** @template Memory, State
 * @typedef {{read: (source: number[]) => Memory, begin: (memory: Memory) => State,
 *   step: (token: number, state: State, memory: Memory) =>
 *     {state: State, logits: () => Float64Array, looks: Looks}}} Translator */
/** One word of a translation: its probability, the likeliest words, and the look.
 * @typedef {{id: number, p: number, rivals: {id: number, p: number}[], looks: Looks}} Step */
/** @typedef {{steps: Step[], score: number, over: boolean}} Written score: mean log p a word */

/** log softmax, <pad> and START left out. @param {Float64Array} logits */
export function logProbabilities(logits) {
  logits[0] = logits[START] = -Infinity;
  let most = -Infinity;
  for (const one of logits) if (one > most) most = one;
  let sum = 0;
  for (const one of logits) sum += Math.exp(one - most);
  const log = most + Math.log(sum);
  return logits.map((one) => one - log);
}

/** Where the largest numbers are, the largest first.
 * @param {Float64Array} numbers @param {number} count */
export function largest(numbers, count) {
  /** @type {number[]} */
  const found = [];
  numbers.forEach((one, i) => {
    if (found.length === count && one <= numbers[found[count - 1]]) return;
    let at = found.length;
    while (at > 0 && numbers[found[at - 1]] < one) at -= 1;
    found.splice(at, 0, i);
    found.length = Math.min(found.length, count);
  });
  return found;
}

/** The translations that are left at the end, the best one first, and those that
 * were kept after each word.
 * @template Memory, State
 * @param {Translator<Memory, State>} model @param {number[]} source ids, END last
 * @param {{width?: number, given?: number[], rivals?: number}} [how] `given` begins it
 * @returns {{found: Written[], kept: Written[][]}} */
export function beam(model, source, { width = 1, given = [], rivals = 5 } = {}) {
  const memory = model.read(source);
  const most = 2 * source.length + 10;
  /** @typedef {{steps: Step[], total: number, over: boolean, state: State}} Prefix */
  /** @type {Prefix[]} */
  let prefixes = [{ steps: [], total: 0, over: false, state: model.begin(memory) }];
  /** @param {Prefix} one */
  const score = ({ total, steps }) => total / steps.length;
  /** @param {Prefix} one @returns {Written} */
  const seen = (one) => ({ steps: one.steps, score: score(one), over: one.over });
  const kept = [];
  for (let length = 1; prefixes.some((one) => !one.over); length += 1) {
    prefixes = prefixes
      .flatMap((one) => {
        if (one.over) return [one];
        const token = one.steps.length ? one.steps[one.steps.length - 1].id : START;
        const { state, logits, looks } = model.step(token, one.state, memory);
        const log = logProbabilities(logits());
        const best = largest(log, Math.max(width, rivals));
        const forced = given[length - 1];
        const likely = best.slice(0, rivals).map((id) => ({ id, p: Math.exp(log[id]) }));
        return (forced === undefined ? best.slice(0, width) : [forced]).map((id) => ({
          steps: [...one.steps, { id, p: Math.exp(log[id]), rivals: likely, looks }],
          total: one.total + log[id],
          over: id === END || length >= most,
          state,
        }));
      })
      .sort((a, b) => score(b) - score(a))
      .slice(0, width);
    kept.push(prefixes.map(seen));
  }
  return { found: prefixes.map(seen), kept };
}
