// @ts-check
// A trained translator from its file, a byte a weight, as lab/int8.py packs it.
import { half } from "./half.js";

/** @typedef {{shape: number[], numbers: Float32Array}} Tensor */
/** @typedef {{model: string, config: Record<string, any>, pieces: string[], merges: number[],
 *   weights: Record<string, Tensor>}} Machine any: a config has numbers and words */

/** Undoes the file's gzip. @param {ArrayBuffer} file @returns {Promise<ArrayBuffer>} */
export const inflate = (file) =>
  new Response(
    new Blob([file]).stream().pipeThrough(new DecompressionStream("gzip")),
  ).arrayBuffer();

/** @param {ArrayBuffer} buffer inflated @returns {Machine} */
export function readMachine(buffer) {
  const view = new DataView(buffer);
  const length = view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let at = 4 + length;
  const halves = (/** @type {number} */ count) =>
    Float32Array.from({ length: count }, () => {
      at += 2;
      return half(view.getUint16(at - 2, true));
    });
  /** @type {Record<string, Tensor>} */
  const weights = {};
  for (const [name, shape] of header.tensors) {
    const [rows, columns] = shape;
    if (columns === undefined) {
      weights[name] = { shape, numbers: halves(rows) };
      continue;
    }
    const levels = new Int8Array(buffer, at, rows * columns);
    at += levels.length;
    const scales = halves(rows);
    const numbers = new Float32Array(levels.length);
    for (let i = 0; i < numbers.length; i += 1) {
      numbers[i] = levels[i] * scales[Math.floor(i / columns)];
    }
    weights[name] = { shape, numbers };
  }
  return { ...header, weights };
}
