// @ts-check
// Matrices whose rows have a scale each, a byte a number, as rows.py packs them.
import { unpack } from "./half.js";

/** @typedef {import("./half.js").Tensor} Tensor */
/** @typedef {{shape: number[], data: DataView, scales?: DataView}} Rows signed bytes, or
 *   float16 where there are no scales */

/** The tensors behind their names: w_ij = s_i · b_ij.
 * @param {Record<string, Rows>} packed @returns {Record<string, Tensor>} */
export function unpackRows(packed) {
  /** @type {Record<string, Tensor>} */
  const tensors = {};
  for (const [name, { shape, data, scales }] of Object.entries(packed)) {
    const { numbers } = unpack({ it: { shape, data: scales ?? data } }).it;
    const [rows, width] = shape;
    tensors[name] = {
      shape,
      numbers: scales
        ? Float64Array.from(
            { length: rows * width },
            (_, i) => data.getInt8(i) * numbers[Math.floor(i / width)],
          )
        : numbers,
    };
  }
  return tensors;
}
