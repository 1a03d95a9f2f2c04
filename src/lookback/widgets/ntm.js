// @ts-check
// The memory of ntm.py, in the reader's browser: a head's five stages, reading
// and writing, and the trained model. Tested against torch.
import { dot, mix, softmax, total } from "./lib/maths.js";
import { linear, sigmoid } from "./lib/recurrent.js";

/** @typedef {import("./lib/recurrent.js").Weights} Weights */
/** @typedef {{key: number[], strength: number, gate: number, moves: number[],
 *   gamma: number}} Addressing */
/** @typedef {{content: number[], gated: number[], shifted: number[], weights: number[]}} Stages */
/** @typedef {{memory: number[][], weights: number[], found: number[]}} Tape weights: where
 * the head stands */

export const BLANK = 1e-6; // ntm.py

/** @param {number[]} a */
function unit(a) {
  const length = Math.sqrt(dot(a, a)) + 1e-12;
  return a.map((x) => x / length);
}

/** softmax_i(β cos(k, M(i))), eqs. 5 and 6.
 * @param {number[]} key @param {number} strength @param {number[][]} memory */
export function content(key, strength, memory) {
  const direction = unit(key);
  return softmax(memory.map((slot) => strength * dot(direction, unit(slot))));
}

/** Σ_j w(j) s(i − j), round the end, eq. 8.
 * @param {number[]} weights @param {number[]} moves s(−1), s(0), s(+1) */
export function shift(weights, [back, stay, on]) {
  const n = weights.length;
  return weights.map(
    (w, i) => back * weights[(i + 1) % n] + stay * w + on * weights[(i + n - 1) % n],
  );
}

/** w(i)^γ / Σ_j w(j)^γ, eq. 9. @param {number[]} weights @param {number} gamma */
export function sharpen(weights, gamma) {
  const most = Math.max(...weights);
  const raised = weights.map((w) => (w / most) ** gamma);
  const sum = total(raised);
  return raised.map((w) => w / sum);
}

/** Where a head stands next, stage by stage.
 * @param {number[][]} memory @param {number[]} before @param {Addressing} addressing @returns {Stages} */
export function address(memory, before, { key, strength, gate, moves, gamma }) {
  const found = content(key, strength, memory);
  const gated = found.map((w, i) => gate * w + (1 - gate) * before[i]);
  const shifted = shift(gated, moves);
  return { content: found, gated, shifted, weights: sharpen(shifted, gamma) };
}

/** The tape after a head has written: M(i) [1 − w(i) e] + w(i) a, eqs. 3 and 4.
 * @param {number[][]} memory @param {number[]} weights
 * @param {ArrayLike<number>} erase @param {ArrayLike<number>} add */
export const written = (memory, weights, erase, add) =>
  memory.map((slot, i) =>
    slot.map((x, k) => x * (1 - weights[i] * erase[k]) + weights[i] * add[k]),
  );

/** An unwritten tape, the head on slot 0.
 * @param {number} slots @param {number} d @returns {Tape} */
export function blank(slots, d) {
  const memory = Array.from({ length: slots }, () => Array(d).fill(BLANK));
  return { memory, weights: memory.map((_, i) => Number(i === 0)), found: memory[0] };
}

/** @param {number} x */
const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

/** Any numbers in, each parameter's own range out.
 * @param {number[]} raw @param {number} d @returns {Addressing} */
const ranged = (raw, d) => ({
  key: raw.slice(0, d),
  strength: softplus(raw[d]),
  gate: sigmoid(raw[d + 1]),
  moves: softmax(raw.slice(d + 2, d + 5)),
  gamma: 1 + softplus(raw[d + 5]),
});

/** One step of the model.
 * @param {Weights} p @param {number[]} x @param {Tape} tape
 * @returns {{logits: number[], tape: Tape, addressing: Addressing}} */
export function step(p, x, tape) {
  const d = tape.found.length;
  const given = [...x, ...tape.found];
  const h = [...linear(p, "controller.weight", "controller.bias", given)].map(Math.tanh);
  const addressing = ranged([...linear(p, "addressing.weight", "addressing.bias", h)], d);
  const { weights } = address(tape.memory, tape.weights, addressing);
  const found = mix(weights, tape.memory);
  const ink = [...linear(p, "ink.weight", "ink.bias", h)];
  const memory = written(tape.memory, weights, ink.slice(0, d).map(sigmoid), ink.slice(d));
  const logits = [...linear(p, "output.weight", "output.bias", found)];
  return { logits, tape: { memory, weights, found }, addressing };
}

/** Every step of the machine, from an unwritten tape.
 * @param {Weights} p @param {number[][]} inputs @param {number} slots */
export function follow(p, inputs, slots) {
  let tape = blank(slots, p["ink.bias"].numbers.length / 2);
  return inputs.map((x) => {
    const now = step(p, x, tape);
    tape = now.tape;
    return now;
  });
}
