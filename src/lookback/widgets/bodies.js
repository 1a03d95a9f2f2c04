// @ts-check
// The trained GPT and BERT, asked in a worker: a caption in, scores of all
// words out; and what both of their widgets make of such scores.
import { body } from "./body.js";
import { END, START } from "./lib/recurrent.js";
import { loaded, waking } from "./lib/waking.js";
import { readable, words } from "./moses_tokenizer.js";

/** @typedef {import("./body.js").Family} Family */
/** @typedef {{title: Family, file: string, bytes: number, sha256: string}} Known */
/** What is asked: a score of every word at some places of a row of tokens.
 * @typedef {{name: string, tokens: number[], places: number[]}} Asked */

export const [PAD, UNKNOWN, MASK] = [0, 1, 4]; // vocabulary.py, families.py
export const HOLE = "_";
const SILENT = [PAD, UNKNOWN, START, MASK]; // never written
const FAMILY = /** @type {Record<string, Family>} */ ({
  gpt: "GPT",
  bert: "BERT",
  probing: "BERT",
});

/** @type {Map<string, ReturnType<typeof body>>} */
const awake = new Map();

/** What the worker does. */
export const SKILLS = {
  /** Its words. @param {import("./lib/waking.js").Brought} given */
  async wake(given) {
    const { weights, config, pieces } = await loaded(given);
    awake.set(given.name, body(weights, /** @type {any} */ (config)));
    return pieces;
  },
  /** @param {Asked} asked */
  scores({ name, tokens, places }) {
    const one = awake.get(name);
    if (!one) throw new Error("The machine is asleep.");
    return one.logits(tokens, FAMILY[name], places);
  },
  /** The vector at one place, level by level, of several rows of tokens.
   * @param {{name: string, all: number[][], at: number}} asked */
  levels({ name, all, at }) {
    const one = awake.get(name);
    if (!one) throw new Error("The machine is asleep.");
    return all.map((tokens) => one.levels(tokens, FAMILY[name], at));
  },
};

/** Fetches the machines when they are wanted, and asks them.
 * @param {import("./lib/view.js").Model<any>} model any: both widgets'
 * @param {(text: string, share?: number) => void} report */
export function asking(model, report) {
  const { stop, wake, ask } = waking(model, report);
  return {
    stop,
    /** The machine's words, once it is awake. @param {string} name @returns {Promise<string[]>} */
    words: (name) => wake(name),
    /** @param {Asked} asked @returns {Promise<Float64Array[]>} */
    scores: (asked) => ask("scores", asked),
    /** @param {{name: string, all: number[][], at: number}} asked
     * @returns {Promise<Float64Array[][]>} */
    levels: (asked) => ask("levels", asked),
  };
}

/** What a reader typed, as the captions write it; `_` is a blank.
 * @param {string} text */
export const typedWords = (text) => words(text.replace(/_+/g, " _ "));

/** The numbers of words, between the two ends of a caption or behind its start.
 * @param {string[]} typed @param {Map<string, number>} index @param {boolean} ends */
export function tokensOf(typed, index, ends) {
  const inner = typed.map((word) => (word === HOLE ? MASK : (index.get(word) ?? UNKNOWN)));
  return [START, ...inner, ...(ends ? [END] : [])];
}

/** Words that a machine has never read. @param {string[]} typed @param {Map<string, number>} index */
export const strangers = (typed, index) =>
  [...new Set(typed.filter((word) => word !== HOLE && !index.has(word)))].map(readable);

/** A word as a reader sees it. @param {string} word */
export const shown = (word) => (word === "<end>" ? "■ end" : readable(word));

/** softmax(scores / temperature), without the words that are never written.
 * @param {ArrayLike<number>} scores @param {number} [temperature] */
export function chances(scores, temperature = 1, silent = SILENT) {
  const z = Float64Array.from(scores, (one) => one / temperature);
  for (const id of silent) z[id] = -Infinity;
  const most = z.reduce((a, b) => Math.max(a, b));
  const e = z.map((one) => Math.exp(one - most));
  const sum = e.reduce((a, b) => a + b, 0);
  return e.map((one) => one / sum);
}

/** The likeliest words, first the likeliest. @param {Float64Array} p @param {number} count */
export const likeliest = (p, count) =>
  Array.from(p.keys())
    .sort((a, b) => p[b] - p[a] || a - b)
    .slice(0, count);

/** What is left to draw from: of p the `k` largest (0: all), of these the fewest
 * whose sum reaches `top` of theirs; divided by its sum.
 * @param {Float64Array} p @param {number} k @param {number} top */
export function cut(p, k, top) {
  const order = likeliest(p, p.length).slice(0, k || p.length);
  const whole = order.reduce((sum, id) => sum + p[id], 0);
  const kept = new Float64Array(p.length);
  let [sum, count] = [0, 0];
  for (const id of order) {
    if (p[id] === 0 || (count && top < 1 && sum >= top * whole)) break;
    kept[id] = p[id];
    sum += p[id];
    count += 1;
  }
  return { p: kept.map((one) => one / sum), count, order: order.slice(0, count) };
}

/** The word on which a number of chance in [0, 1) falls, likelier words first.
 * @param {{p: Float64Array, order: number[]}} kept @param {number} chance */
export function drawn({ p, order }, chance) {
  let left = chance;
  for (const id of order) {
    left -= p[id];
    if (left < 0) return id;
  }
  return order[order.length - 1];
}
