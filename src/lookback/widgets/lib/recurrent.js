// @ts-check
// The parts that the book's recurrent translators share, run on their trained
// weights as torch runs them: GRU, two-way reader, maxout readout.

/** @typedef {{shape: number[], numbers: Float64Array | Float32Array}} Tensor */
/** @typedef {Record<string, Tensor>} Weights */

export const [START, END] = [2, 3]; // vocabulary.py

/** The word that is written next: what is given, END when there is no more
 * room, or else the most probable, <pad> and START left out.
 * @param {{given?: number[], most?: number}} how @param {number} u words are written
 * @param {() => ArrayLike<number>} scores */
export function next({ given, most = 20 }, u, scores) {
  if (given) return given[u];
  if (u === most) return END;
  const all = Array.from(scores(), (y, k) => (k === 0 || k === START ? -Infinity : y));
  return all.indexOf(Math.max(...all));
}

/** W x + b. Four sums side by side: a processor adds them at once.
 * @param {Weights} p @param {string} weight @param {string | null} bias
 * @param {ArrayLike<number>} x */
export function linear(p, weight, bias, x) {
  const {
    shape: [rows, columns],
    numbers,
  } = p[weight];
  const [given, found] = [Float64Array.from(x), new Float64Array(rows)];
  const even = columns - (columns % 4);
  for (let i = 0, at = 0; i < rows; i += 1) {
    let [a, b, c, d] = [0, 0, 0, 0];
    const end = at + even;
    for (let j = 0; at < end; at += 4, j += 4) {
      a += numbers[at] * given[j];
      b += numbers[at + 1] * given[j + 1];
      c += numbers[at + 2] * given[j + 2];
      d += numbers[at + 3] * given[j + 3];
    }
    for (let j = even; j < columns; j += 1, at += 1) a += numbers[at] * given[j];
    found[i] = a + b + (c + d) + (bias ? p[bias].numbers[i] : 0);
  }
  return found;
}

/** @param {number} x */
export const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** torch's GRU: r and z gate, n proposes; (1 − z) n + z h.
 * @param {Weights} p @param {string} name @param {string} end of the weights' names
 * @param {ArrayLike<number>} x @param {Float64Array} h */
export function gru(p, name, end, x, h) {
  const a = linear(p, `${name}.weight_ih${end}`, `${name}.bias_ih${end}`, x);
  const b = linear(p, `${name}.weight_hh${end}`, `${name}.bias_hh${end}`, h);
  const d = h.length;
  return h.map((old, i) => {
    const [r, z] = [sigmoid(a[i] + b[i]), sigmoid(a[d + i] + b[d + i])];
    return (1 - z) * Math.tanh(a[2 * d + i] + r * b[2 * d + i]) + z * old;
  });
}

/** Row `id` of an embedding. @param {Tensor} tensor @param {number} id */
export const embed = ({ shape, numbers }, id) =>
  numbers.subarray(id * shape[1], (id + 1) * shape[1]);

/** h_j = [→h_j; ←h_j] of every word.
 * @param {Weights} p @param {ArrayLike<number>[]} words embedded */
export function annotate(p, words) {
  /** @param {string} end @param {ArrayLike<number>[]} given */
  const read = (end, given) => {
    let h = new Float64Array(p[`encoder.weight_hh${end}`].shape[1]);
    return given.map((x) => {
      h = gru(p, "encoder", end, x, h);
      return h;
    });
  };
  const back = read("_l0_reverse", [...words].reverse()).reverse();
  return read("_l0", words).map((h, j) => Float64Array.of(...h, ...back[j]));
}

/** W_o t, where t_j = max of a pair of numbers of O x.
 * @param {Weights} p @param {string} name @param {ArrayLike<number>} x */
export function readout(p, name, x) {
  const t = linear(p, `${name}.maxout.weight`, `${name}.maxout.bias`, x);
  const kept = t.filter((_, j) => j % 2 === 0).map((one, j) => Math.max(one, t[2 * j + 1]));
  return linear(p, `${name}.output.weight`, `${name}.output.bias`, kept);
}
