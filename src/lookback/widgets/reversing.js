// @ts-check
// Two machines that learn to write a string backwards: RNNsearch as it is in
// rnnsearch.py, and the same with one fixed vector in place of the look.
import {
  backward,
  crossEntropy,
  embed,
  gates,
  linear,
  look,
  matrix,
  maxout,
  tanh,
} from "./grad.js";
import limits from "./learning.json" with { type: "json" };
import { uniform } from "./lib/mulberry.js";

/** @typedef {import("./grad.js").Matrix} Matrix */
/** @typedef {import("./grad.js").Tape} Tape */
/** @typedef {"fixed" | "look"} Kind */
/** @typedef {"reverse" | "copy"} Task */
/** A machine's weights, one after the other, and what Adam keeps of each.
 * @typedef {{kind: Kind, width: number, weights: Float64Array,
 *   mean: Float64Array, square: Float64Array}} Machine */

// As in vocabulary.py, and the first letter.
export const [START, END, FIRST] = [2, 3, 4];
export const { letters: LETTERS, trained: TRAINED } = limits;
const { d_embed: EMBED, batch: BATCH } = limits;
const VOCAB = FIRST + LETTERS.length;

/** Every tensor of a machine, under torch's name, with its rows and columns.
 * The two differ in the last: their sizes are chosen to be nearly the same.
 * @param {Kind} kind @param {number} h the width @returns {[string, number, number][]} */
export function tensors(kind, h) {
  const align = Math.round((2 * h * (2 * h + 1)) / (3 * h + 2));
  /** @param {string} name @param {string} end @param {number} inputs
   * @returns {[string, number, number][]} */
  const gru = (name, end, inputs) => [
    [`${name}.weight_ih${end}`, 3 * h, inputs],
    [`${name}.weight_hh${end}`, 3 * h, h],
    [`${name}.bias_ih${end}`, 1, 3 * h],
    [`${name}.bias_hh${end}`, 1, 3 * h],
  ];
  /** @type {[string, number, number][]} */
  const apart =
    kind === "look"
      ? [
          ["attention.W.weight", align, h],
          ["attention.U.weight", align, 2 * h],
          ["attention.U.bias", 1, align],
          ["attention.v", 1, align],
        ]
      : [
          ["squeeze.weight", 2 * h, 2 * h],
          ["squeeze.bias", 1, 2 * h],
        ];
  return [
    ["source_embedding.weight", VOCAB, EMBED],
    ["target_embedding.weight", VOCAB, EMBED],
    ...gru("encoder", "_l0", EMBED),
    ...gru("encoder", "_l0_reverse", EMBED),
    ["bridge.weight", h, h],
    ["bridge.bias", 1, h],
    ...gru("decoder", "", EMBED + 2 * h),
    ["readout.maxout.weight", h, 3 * h + EMBED],
    ["readout.maxout.bias", 1, h],
    ["readout.output.weight", VOCAB, h / 2],
    ["readout.output.bias", 1, VOCAB],
    ...apart,
  ];
}

/** How many weights a machine has. @param {Kind} kind @param {number} width */
export const count = (kind, width) =>
  tensors(kind, width).reduce((sum, [, rows, columns]) => sum + rows * columns, 0);

/** Its tensors by name, each a part of the weights and of their gradient.
 * @param {Machine} machine @param {Float64Array} gradient @returns {Record<string, Matrix>} */
export function named({ kind, width, weights }, gradient) {
  let at = 0;
  return Object.fromEntries(
    tensors(kind, width).map(([name, rows, columns]) => {
      const [from, to] = [at, at + rows * columns];
      at = to;
      return [
        name,
        { rows, columns, x: weights.subarray(from, to), d: gradient.subarray(from, to) },
      ];
    }),
  );
}

/** A new machine: even numbers within ±1/√columns, letters within ±√3, v = 0.
 * @param {Kind} kind @param {number} width @param {number} seed @returns {Machine} */
export function draw(kind, width, seed) {
  const size = count(kind, width);
  const machine = {
    kind,
    width,
    weights: Float64Array.from({ length: size }, (_, i) => 2 * uniform(seed, i) - 1),
    mean: new Float64Array(size),
    square: new Float64Array(size),
  };
  for (const [name, one] of Object.entries(named(machine, machine.mean))) {
    let most = 1 / Math.sqrt(one.columns);
    if (name.includes("embedding")) most = Math.sqrt(3);
    if (name.includes("bias") || name.endsWith(".v")) most = 0;
    one.x.forEach((x, i) => {
      one.x[i] = x * most;
    });
  }
  return machine;
}

/** What is to be written. @param {Task} task @param {number[]} ids */
export const answer = (task, ids) => (task === "reverse" ? [...ids].reverse() : ids);

/** Random strings of one length.
 * @param {() => number} next a number in [0, 1) @param {number} count @param {number} length */
export const strings = (next, count, length) =>
  Array.from({ length: count }, () =>
    Array.from({ length }, () => FIRST + Math.floor(next() * LETTERS.length)),
  );

/** The numbers of a generator, one after the other. @param {number} seed */
export function stream(seed) {
  let i = -1;
  return () => {
    i += 1;
    return uniform(seed, i);
  };
}

/** Column t of strings of one length. @param {number[][]} rows @param {number} t */
const column = (rows, t) => rows.map((row) => row[t]);

/** The machine that has read strings of one length, and can write: a letter in,
 * the scores of the next one out.
 * @param {Tape} tape @param {Record<string, Matrix>} p @param {Kind} kind
 * @param {number[][]} source END not included */
export function read(tape, p, kind, source) {
  const length = source[0].length + 1;
  const ended = source.map((ids) => [...ids, END]);
  /** @param {string} name @param {number[]} ids */
  const words = (name, ids) => embed(tape, p[`${name}_embedding.weight`], ids);
  /** @param {string} name @param {...Matrix} parts */
  const map = (name, ...parts) =>
    linear(tape, p[`${name}.weight`], p[`${name}.bias`] ?? null, ...parts);
  /** @param {string} name @param {string} end @param {Matrix} h @param {...Matrix} x */
  const gru = (name, end, h, ...x) =>
    gates(
      tape,
      linear(tape, p[`${name}.weight_ih${end}`], p[`${name}.bias_ih${end}`], ...x),
      linear(tape, p[`${name}.weight_hh${end}`], p[`${name}.bias_hh${end}`], h),
      h,
    );
  /** @param {string} end @param {Matrix[]} given */
  const reader = (end, given) => {
    let h = matrix(source.length, p["bridge.weight"].columns);
    return given.map((x) => {
      h = gru("encoder", end, h, x);
      return h;
    });
  };
  const given = Array.from({ length }, (_, t) => words("source", column(ended, t)));
  const on = reader("_l0", given);
  const back = reader("_l0_reverse", given.reverse()).reverse();
  let s = tanh(tape, map("bridge", back[0]));
  /** @type {() => {context: Matrix, weights?: Float64Array}} */
  let context;
  if (kind === "look") {
    const values = on.map((h, j) => join(tape, h, back[j]));
    const keys = values.map((h) => map("attention.U", h));
    context = () => look(tape, p["attention.v"], map("attention.W", s), keys, values);
  } else {
    const c = tanh(tape, map("squeeze", on[length - 1], back[0]));
    context = () => ({ context: c });
  }
  /** @param {number[]} ids */
  return (ids) => {
    const now = context();
    const y = words("target", ids);
    s = gru("decoder", "", s, y, now.context);
    const t = maxout(tape, map("readout.maxout", s, y, now.context));
    return { logits: map("readout.output", t), weights: now.weights };
  };
}

/** h = [→h; ←h]. @param {Tape} tape @param {Matrix} a @param {Matrix} b */
function join(tape, a, b) {
  const m = a.columns;
  const y = matrix(a.rows, 2 * m);
  for (let r = 0; r < a.rows; r += 1) {
    y.x.set(a.x.subarray(r * m, (r + 1) * m), 2 * r * m);
    y.x.set(b.x.subarray(r * m, (r + 1) * m), (2 * r + 1) * m);
  }
  tape.push(() => {
    for (let k = 0; k < a.d.length; k += 1) {
      const at = Math.floor(k / m) * 2 * m + (k % m);
      a.d[k] += y.d[at];
      b.d[k] += y.d[at + m];
    }
  });
  return y;
}

/** The mean of −log p over all letters of a batch, END included, and its
 * gradient. @param {Machine} machine @param {number[][][]} batch in parts of one length
 * @param {Task} task */
export function lossOf(machine, batch, task) {
  const gradient = new Float64Array(machine.weights.length);
  const p = named(machine, gradient);
  const letters = batch.flat().reduce((sum, ids) => sum + ids.length + 1, 0);
  let loss = 0;
  for (const source of batch) {
    /** @type {Tape} */
    const tape = [];
    const target = source.map((ids) => [START, ...answer(task, ids), END]);
    const next = read(tape, p, machine.kind, source);
    for (let t = 0; t < target[0].length - 1; t += 1) {
      const { logits } = next(column(target, t));
      loss += crossEntropy(tape, logits, column(target, t + 1), 1 / letters);
    }
    backward(tape);
  }
  return { loss: loss / letters, gradient };
}

/** One step of Adam, after `step` others; a gradient longer than 1 is cut to 1.
 * @param {Machine} machine @param {Float64Array} gradient @param {number} rate
 * @param {number} step */
export function adam({ weights, mean, square }, gradient, rate, step) {
  const length = Math.sqrt(gradient.reduce((sum, g) => sum + g * g, 0));
  const cut = Math.min(1, 1 / (length + 1e-6));
  const [a, b] = [1 - 0.9 ** (step + 1), 1 - 0.999 ** (step + 1)];
  for (let i = 0; i < weights.length; i += 1) {
    const g = cut * gradient[i];
    mean[i] += 0.1 * (g - mean[i]);
    square[i] += 0.001 * (g * g - square[i]);
    weights[i] -= (rate * (mean[i] / a)) / (Math.sqrt(square[i] / b) + 1e-8);
  }
}

/** The strings of a step, in parts of one length each, the same for all machines.
 * @param {number} seed @param {number} step */
export function batchOf(seed, step) {
  const next = stream(Math.imul(seed + 1, 0x9e3779b1) + step);
  return Array.from({ length: BATCH.parts }, () =>
    strings(next, BATCH.strings, 1 + Math.floor(next() * TRAINED)),
  );
}

/** What a machine writes of itself, all strings being of one length.
 * @param {Machine} machine @param {number[][]} source */
export function spell(machine, source) {
  const next = read([], named(machine, machine.mean), machine.kind, source);
  let fed = source.map(() => START);
  /** @type {number[][]} */
  const found = source.map(() => []);
  const done = source.map(() => false);
  for (let t = 0; t < source[0].length + 3 && done.includes(false); t += 1) {
    const { x, columns } = next(fed).logits;
    fed = fed.map((_, r) => {
      const row = x.subarray(r * columns, (r + 1) * columns);
      return row.indexOf(Math.max(...row));
    });
    fed.forEach((id, r) => {
      done[r] ||= id === END;
      if (!done[r]) found[r].push(id);
    });
  }
  return found;
}

/** The share of test strings of one length that come out without a mistake.
 * @param {Machine} machine @param {Task} task @param {number} length */
export function tested(machine, task, length) {
  const source = strings(stream(-length), limits.strings, length);
  const right = spell(machine, source).filter(
    (ids, r) => ids.join() === answer(task, source[r]).join(),
  );
  return right.length / source.length;
}

/** Where the look rests while the right letters are written: α, a row for each
 * of them and for END. @param {Machine} machine @param {number[]} ids @param {Task} task */
export function gaze(machine, ids, task) {
  const next = read([], named(machine, machine.mean), machine.kind, [ids]);
  return [START, ...answer(task, ids)].map((id) => [...(next([id]).weights ?? [])]);
}
