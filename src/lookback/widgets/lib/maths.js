// @ts-check
// Vectors as lists of numbers, and the softmax over them.

/** Σ_i a_i. @param {number[]} a */
export const total = (a) => a.reduce((sum, one) => sum + one, 0);

/** Σ_i a_i b_i. @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}

/** The largest of the numbers' sizes, and never 0: a scale for a picture.
 * @param {number[]} numbers @param {number} [least] */
export const widest = (numbers, least = 1e-9) => Math.max(least, ...numbers.map(Math.abs));

/** The number, kept between two others.
 * @param {number} low @param {number} x @param {number} high */
export const within = (low, x, high) => Math.min(high, Math.max(low, x));

/** exp(z_j − max z): the largest is taken off first, so nothing overflows.
 * @param {number[]} z */
export function exponentials(z) {
  const most = Math.max(...z);
  return z.map((one) => Math.exp(one - most));
}

/** α_j = exp(e_j − max e) / Σ_k exp(e_k − max e).
 * @param {number[]} scores */
export function softmax(scores) {
  const exponential = exponentials(scores);
  const sum = total(exponential);
  return exponential.map((one) => one / sum);
}

/** c = Σ_j α_j v_j.
 * @param {number[]} weights @param {number[][]} values @returns {number[]} */
export const mix = (weights, values) =>
  (values[0] ?? []).map((_, k) =>
    weights.reduce((sum, weight, j) => sum + weight * values[j][k], 0),
  );
