// @ts-check
// A stack of layers before any training: tokens up, gradients down. The widget
// is depth.js; stack.py computes the same with the book's own layers.

import limits from "./depth.json" with { type: "json" };
import { dot, softmax, total } from "./lib/maths.js";
import { uniform } from "./lib/mulberry.js";

/** @typedef {number[][]} Matrix rows of numbers */
/** @typedef {(g: Matrix) => Matrix} Back what a gradient above becomes below */
/** @typedef {"Q" | "K" | "V" | "O" | "one" | "two"} Name */
/** @typedef {Record<Name, Matrix>} Layer */
/** @typedef {{tokens: number, depth: number, seed: number, residual: boolean,
 *   norm: string, feedforward: boolean, step: number}} State */

export const { d_model: D, d_ff: D_FF } = limits;
const EPSILON = 1e-5;

/** Numbers from 0 up to 1, the same for the same seed. @param {number} seed */
export function random(seed) {
  let i = 0;
  return () => uniform(seed, i++);
}

/** A matrix of numbers between −most and most.
 * @param {() => number} next @param {number} rows @param {number} columns
 * @param {number} most @returns {Matrix} */
const draw = (next, rows, columns, most) =>
  Array.from({ length: rows }, () =>
    Array.from({ length: columns }, () => (2 * next() - 1) * most),
  );

/** The tokens, the weights of every layer and the direction whose
 * gradient is taken at the top; Xavier's bounds, no biases. Layer i is the same at every depth.
 * @param {State} state */
export function drawn({ seed, tokens, depth }) {
  const next = random(seed);
  /** @param {number} rows @param {number} columns */
  const xavier = (rows, columns) => draw(next, rows, columns, Math.sqrt(6 / (rows + columns)));
  const x = draw(next, tokens, D, Math.sqrt(3));
  const asked = draw(next, tokens, D, Math.sqrt(3));
  const layers = Array.from({ length: depth }, () => ({
    Q: xavier(D, D),
    K: xavier(D, D),
    V: xavier(D, D),
    O: xavier(D, D),
    one: xavier(D_FF, D),
    two: xavier(D, D_FF),
  }));
  return { x, asked, layers };
}

/** a bᵀ. @param {Matrix} a @param {Matrix} b @returns {Matrix} */
const timesT = (a, b) => a.map((row) => b.map((other) => dot(row, other)));
/** a b. @param {Matrix} a @param {Matrix} b @returns {Matrix} */
const times = (a, b) => timesT(a, transpose(b));
/** @param {Matrix} a @returns {Matrix} */
const transpose = (a) => a[0].map((_, k) => a.map((row) => row[k]));
/** @param {Matrix} a @param {Matrix} b @returns {Matrix} */
const plus = (a, b) => a.map((row, i) => row.map((x, k) => x + b[i][k]));
/** @param {number[]} row */
const mean = (row) => total(row) / row.length;
/** ‖a‖, the square root of the sum of all squares. @param {Matrix} a */
export const size = (a) => Math.sqrt(a.reduce((sum, row) => sum + dot(row, row), 0));

/** Attention with one head: its result, and the way back.
 * @param {Matrix} x @param {Layer} layer @returns {[Matrix, Back]} */
function attention(x, { Q, K, V, O }) {
  const scale = 1 / Math.sqrt(D);
  const [q, k, v] = [Q, K, V].map((W) => timesT(x, W));
  const A = timesT(q, k).map((row) => softmax(row.map((e) => e * scale)));
  /** @type {Back} */
  const back = (g) => {
    const gContext = times(g, O);
    const gA = timesT(gContext, v);
    const gScores = A.map((row, i) => {
      const through = dot(row, gA[i]);
      return row.map((a, j) => a * (gA[i][j] - through) * scale);
    });
    const parts = [
      [times(gScores, k), Q],
      [times(transpose(gScores), q), K],
      [times(transpose(A), gContext), V],
    ];
    return parts.map(([g, W]) => times(g, W)).reduce(plus);
  };
  return [timesT(times(A, v), O), back];
}

/** max(0, x W₁) W₂, and the way back.
 * @param {Matrix} x @param {Layer} layer @returns {[Matrix, Back]} */
function feedForward(x, { one, two }) {
  const hidden = timesT(x, one);
  const bent = hidden.map((row) => row.map((h) => Math.max(0, h)));
  /** @type {Back} */
  const back = (g) =>
    times(
      times(g, two).map((row, i) => row.map((h, k) => (hidden[i][k] > 0 ? h : 0))),
      one,
    );
  return [timesT(bent, two), back];
}

/** (x − μ) / √(σ² + ε) for each token, and the way back.
 * @param {Matrix} x @returns {[Matrix, Back]} */
export function layerNorm(x) {
  const spread = x.map((row) => {
    const mu = mean(row);
    return Math.sqrt(mean(row.map((one) => (one - mu) ** 2)) + EPSILON);
  });
  const y = x.map((row, i) => {
    const mu = mean(row);
    return row.map((one) => (one - mu) / spread[i]);
  });
  /** @type {Back} */
  const back = (g) =>
    g.map((row, i) => {
      const [level, along] = [mean(row), dot(row, y[i]) / row.length];
      return row.map((one, k) => (one - level - y[i][k] * along) / spread[i]);
    });
  return [y, back];
}

/** What is wrapped around one attention or feed-forward layer.
 * @param {State} state @param {Matrix} x @param {(x: Matrix) => [Matrix, Back]} f
 * @returns {[Matrix, Back]} */
function sublayer({ residual, norm }, x, f) {
  /** @type {(x: Matrix) => [Matrix, Back]} */
  const same = (x) => [x, (g) => g];
  const [before, backBefore] = (norm === "pre" ? layerNorm : same)(x);
  const [change, backChange] = f(before);
  const sum = residual ? plus(x, change) : change;
  const [y, backAfter] = (norm === "post" ? layerNorm : same)(sum);
  return [
    y,
    (g) => {
      const inner = backAfter(g);
      const through = backBefore(backChange(inner));
      return residual ? plus(inner, through) : through;
    },
  ];
}

/** ‖X − 1 x̄ᵀ‖ / ‖X‖: how far the tokens are from their mean. @param {Matrix} x */
export function apart(x) {
  const middle = transpose(x).map(mean);
  return size(x.map((row) => row.map((one, k) => one - middle[k]))) / (size(x) || 1);
}

/** The whole stack, up and down. The gradient is that of Σ asked · top.
 * @param {State} state */
export function run(state) {
  const { x, asked, layers } = drawn(state);
  /** @type {Matrix[]} */
  const xs = [x];
  /** @type {Back[]} */
  const backs = [];
  for (const layer of layers) {
    let [y, back] = sublayer(state, xs[xs.length - 1], (z) => attention(z, layer));
    if (state.feedforward) {
      const [first, backFirst] = [y, back];
      const [second, backSecond] = sublayer(state, first, (z) => feedForward(z, layer));
      [y, back] = [second, (g) => backFirst(backSecond(g))];
    }
    xs.push(y);
    backs.push(back);
  }
  const gs = [asked];
  for (const back of [...backs].reverse()) gs.unshift(back(gs[0]));
  return { xs, apart: xs.map(apart), size: xs.map(size), gradient: gs.map(size) };
}
