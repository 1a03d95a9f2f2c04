// @ts-check
// Random numbers that are the same in every browser and in Python (mulberry.py).

/** The i-th number in [0, 1) of the generator mulberry32.
 * @param {number} seed @param {number} i */
export function uniform(seed, i) {
  const a = (seed + Math.imul(i + 1, 0x6d2b79f5)) | 0;
  let t = Math.imul(a ^ (a >>> 15), a | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}
