// @ts-check
// Matrices whose rows have a scale each, a letter a number, as rows.py packs them.
import { unpack } from "./half.js";

/** @typedef {import("./half.js").Tensor} Tensor */
/** @typedef {{shape: number[], data: string, scales?: string}} Rows letters, or base64 of
 *   float16 where there are no scales */

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+";
const LEVEL = new Map([...LETTERS].map((letter, i) => [letter, i - 31]));

/** The tensors behind their names: w_ij = s_i · b_ij.
 * @param {Record<string, Rows>} packed @returns {Record<string, Tensor>} */
export function unpackRows(packed) {
  /** @type {Record<string, Tensor>} */
  const tensors = {};
  for (const [name, { shape, data, scales }] of Object.entries(packed)) {
    const { numbers } = unpack({ it: { shape, data: scales ?? data } }).it;
    const width = shape[1];
    tensors[name] = {
      shape,
      numbers: scales
        ? Float64Array.from(
            data,
            (letter, i) => (LEVEL.get(letter) ?? NaN) * numbers[Math.floor(i / width)],
          )
        : numbers,
    };
  }
  return tensors;
}
