// @ts-check
// The writing network of handwriting.py, in the reader's browser: point after point,
// its window sliding along the text. Tested against torch.
import { gru, linear, sigmoid } from "./lib/recurrent.js";

/** @typedef {import("./lib/recurrent.js").Weights} Weights */
/** @typedef {[x: number, y: number, lifted: number]} Point a move, in paces */
/** @typedef {{point: Point, phi: number[], kappa: number[]}} Made a point, and where the
 *   window was when it was made */
/** @typedef {{pi: number[], mu: number[][], sigma: number[][], rho: number[],
 *   lifted: number}} Mixture of Gaussians; lifted: the probability that the pen is */

/** φ(u) = Σ_k α_k exp(−β_k (κ_k − u)²), u = 1 … length; eq. 46.
 * @param {number[]} alpha @param {number[]} beta @param {number[]} kappa
 * @param {number} length */
export const windowOf = (alpha, beta, kappa, length) =>
  Array.from({ length }, (_, i) =>
    alpha.reduce((sum, a, k) => sum + a * Math.exp(-beta[k] * (kappa[k] - i - 1) ** 2), 0),
  );

/** The mixture that the numbers say. @param {number[]} raw @param {number} bias */
export function mixtureOf(raw, bias) {
  const m = (raw.length - 1) / 6;
  const scores = raw.slice(0, m).map((one) => (1 + bias) * one);
  const most = Math.max(...scores);
  const risen = scores.map((one) => Math.exp(one - most));
  const sum = risen.reduce((a, b) => a + b);
  /** @param {number} start */
  const pairs = (start) => risen.map((_, i) => raw.slice(start + 2 * i, start + 2 * i + 2));
  return {
    pi: risen.map((one) => one / sum),
    mu: pairs(m),
    sigma: pairs(3 * m).map((pair) => pair.map((one) => Math.exp(one - bias))),
    rho: raw.slice(5 * m, 6 * m).map(Math.tanh),
    lifted: sigmoid((1 + bias) * raw[6 * m]),
  };
}

/** A point, for four uniform numbers between 0 and 1.
 * @param {Mixture} mixture @param {number[]} uniform @returns {Point} */
export function sample({ pi, mu, sigma, rho, lifted }, uniform) {
  let [which, sum] = [0, pi[0]];
  while (sum < uniform[0] && which < pi.length - 1) {
    which += 1;
    sum += pi[which];
  }
  const radius = Math.sqrt(-2 * Math.log(1 - uniform[1]));
  const a = radius * Math.cos(2 * Math.PI * uniform[2]);
  const b = radius * Math.sin(2 * Math.PI * uniform[2]);
  const across = rho[which] * a + Math.sqrt(1 - rho[which] ** 2) * b;
  const [[x, y], [wide, high]] = [mu[which], sigma[which]];
  return [x + wide * a, y + high * across, Number(uniform[3] < lifted)];
}

/** A pen that writes a text: each call makes a point, and null is the end.
 * @param {Weights} p @param {number[]} signs the text's, and that of its end
 * @param {(i: number) => number[]} random four uniform numbers for a point
 * @param {number} bias @returns {() => Made | null} */
export function writer(p, signs, random, bias) {
  const length = signs.length;
  let h = new Float64Array(p["first.weight_hh"].shape[1]);
  let top = new Float64Array(h.length);
  const seen = new Float64Array(p["first.weight_ih"].shape[1]); // the point, and w
  let kappa = Array(p["window.bias"].numbers.length / 3).fill(0);
  let i = 0;
  return () => {
    h = gru(p, "first", "", seen, h);
    const set = [...linear(p, "window.weight", "window.bias", h)].map(Math.exp);
    const k = kappa.length;
    kappa = kappa.map((one, j) => one + set[2 * k + j]); // never back, eq. 51
    const phi = windowOf(set.slice(0, k), set.slice(k, 2 * k), kappa, length);
    if (phi.indexOf(Math.max(...phi)) === length - 1) return null;
    seen.fill(0, 3);
    for (let u = 0; u < length; u += 1) seen[3 + signs[u]] += phi[u]; // w, eq. 47
    top = gru(p, "second", "_l0", Float64Array.of(...seen, ...h), top);
    const raw = linear(p, "output.weight", "output.bias", Float64Array.of(...h, ...top));
    const point = sample(mixtureOf([...raw], bias), random(i));
    seen.set(point);
    i += 1;
    return { point, phi, kappa };
  };
}
