// @ts-check
// Byte-pair encoding with merges that were learned: lab/subwords.py in the page.
import { END } from "./lib/recurrent.js";

export const UNKNOWN = 1; // vocabulary.py
const LAST = "</w>"; // ends a word's last piece

/** @typedef {{pieces: string[], merges: number[]}} Learned merges: pairs of numbers of pieces */

/** @param {Learned} learned */
export function subwords({ pieces, merges }) {
  const number = new Map(pieces.map((piece, id) => [piece, id]));
  /** Which pair is merged first, and into which piece.
   * @type {Map<number, {rank: number, into: number}>} */
  const rules = new Map();
  for (let i = 0; i < merges.length; i += 2) {
    const [a, b] = [merges[i], merges[i + 1]];
    const into = /** @type {number} */ (number.get(pieces[a] + pieces[b]));
    rules.set(a * pieces.length + b, { rank: i, into });
  }
  /** @param {string} word */
  function cut(word) {
    const letters = [...word];
    letters.push(letters.pop() + LAST);
    const found = letters.map((letter) => number.get(letter) ?? UNKNOWN);
    for (;;) {
      let [place, best] = [-1, { rank: Infinity, into: 0 }];
      for (let i = 0; i + 1 < found.length; i += 1) {
        const rule = rules.get(found[i] * pieces.length + found[i + 1]);
        if (rule && rule.rank < best.rank) [place, best] = [i, rule];
      }
      if (place < 0) return found;
      found.splice(place, 2, best.into);
    }
  }
  return {
    /** Numbers of the pieces of words. A letter never seen becomes <unk>.
     * @param {string[]} words */
    encode: (words) => words.flatMap(cut),
    /** Words, put together again, up to the end of the sentence.
     * @param {number[]} ids */
    decode(ids) {
      const end = ids.indexOf(END);
      const kept = ids.slice(0, end < 0 ? ids.length : end).map((id) => pieces[id]);
      return kept.join("").split(LAST).filter(Boolean);
    },
    /** @param {number} id */
    text: (id) => pieces[id],
  };
}
