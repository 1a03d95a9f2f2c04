// @ts-check
// The writing network of window.py, in the reader's browser: point after point,
// its window sliding along the text. Tested against torch.
import { gru, linear, sigmoid } from "./lib/recurrent.js";

/** @typedef {import("./lib/recurrent.js").Weights} Weights */
/** @typedef {[x: number, y: number, lifted: number]} Point a move, in paces */
/** @typedef {{point: Point, phi: number[], kappa: number[]}} Made a point, and where the
 *   window was when it was made */
/** @typedef {{weight: number[], mean: number[][], spread: number[][], tilt: number[],
 *   pen: number}} Mixture weight: π; spread: σ; tilt: ρ; pen: the chance that it is lifted */

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
    weight: risen.map((one) => one / sum),
    mean: pairs(m),
    spread: pairs(3 * m).map((pair) => pair.map((one) => Math.exp(one - bias))),
    tilt: raw.slice(5 * m, 6 * m).map(Math.tanh),
    pen: sigmoid((1 + bias) * raw[6 * m]),
  };
}

/** A point, for four numbers of chance between 0 and 1.
 * @param {Mixture} mixture @param {number[]} chance @returns {Point} */
export function drawn({ weight, mean, spread, tilt, pen }, chance) {
  let [which, sum] = [0, weight[0]];
  while (sum < chance[0] && which < weight.length - 1) {
    which += 1;
    sum += weight[which];
  }
  const radius = Math.sqrt(-2 * Math.log(1 - chance[1]));
  const a = radius * Math.cos(2 * Math.PI * chance[2]);
  const b = radius * Math.sin(2 * Math.PI * chance[2]);
  const rho = tilt[which];
  const across = rho * a + Math.sqrt(1 - rho * rho) * b;
  const [[x, y], [wide, high]] = [mean[which], spread[which]];
  return [x + wide * a, y + high * across, Number(chance[3] < pen)];
}

/** A pen that writes a text: each call makes a point, and null is the end.
 * @param {Weights} p @param {number[]} signs the text's, and the one of its end
 * @param {(i: number) => number[]} chance four numbers for a point
 * @param {number} bias @returns {() => Made | null} */
export function writer(p, signs, chance, bias) {
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
    const point = drawn(mixtureOf([...raw], bias), chance(i));
    seen.set(point);
    i += 1;
    return { point, phi, kappa };
  };
}
