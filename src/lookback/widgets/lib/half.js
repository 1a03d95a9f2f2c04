// @ts-check
// Tensors of sixteen-bit numbers, as half.py packs them for a page.

/** @typedef {{shape: number[], data: DataView}} Packed little-endian float16 */
/** @typedef {{shape: number[], numbers: Float64Array}} Tensor */

/** The number that sixteen bits of IEEE 754 stand for.
 * @param {number} bits */
export function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}

/** The tensors behind their names.
 * @template {string} Name
 * @param {Record<Name, Packed>} packed @returns {Record<Name, Tensor>} */
export function unpack(packed) {
  const tensors = /** @type {Record<Name, Tensor>} */ ({});
  for (const name of /** @type {Name[]} */ (Object.keys(packed))) {
    const { shape, data } = packed[name];
    const numbers = Float64Array.from({ length: data.byteLength / 2 }, (_, i) =>
      half(data.getUint16(2 * i, true)),
    );
    tensors[name] = { shape, numbers };
  }
  return tensors;
}
