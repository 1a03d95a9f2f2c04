// @ts-check
// Matrices and their gradients. Every function computes its result at once and
// leaves on a tape how a change of the loss comes back from there; the tape is
// then run from its end. Tested against torch.

/** The numbers x, row by row, and d, the gradient of the loss by each.
 * @typedef {{rows: number, columns: number, x: Float64Array, d: Float64Array}} Matrix */
/** What is run backwards. @typedef {(() => void)[]} Tape */

/** @param {number} rows @param {number} columns @returns {Matrix} */
export const matrix = (rows, columns) => ({
  rows,
  columns,
  x: new Float64Array(rows * columns),
  d: new Float64Array(rows * columns),
});

/** From the loss back to every weight. @param {Tape} tape */
export function backward(tape) {
  for (let i = tape.length - 1; i >= 0; i -= 1) tape[i]();
}

/** Rows of an embedding, one for each id.
 * @param {Tape} tape @param {Matrix} E @param {ArrayLike<number>} ids */
export function embed(tape, E, ids) {
  const n = E.columns;
  const y = matrix(ids.length, n);
  for (let r = 0; r < ids.length; r += 1) {
    y.x.set(E.x.subarray(ids[r] * n, (ids[r] + 1) * n), r * n);
  }
  tape.push(() => {
    for (let r = 0; r < ids.length; r += 1) {
      for (let j = 0; j < n; j += 1) E.d[ids[r] * n + j] += y.d[r * n + j];
    }
  });
  return y;
}

/** y = W [x; x′; …] + b in every row, the parts set end to end.
 * @param {Tape} tape @param {Matrix} W @param {Matrix | null} b @param {...Matrix} parts */
export function linear(tape, W, b, ...parts) {
  const [rows, m, n] = [parts[0].rows, W.rows, W.columns];
  const y = matrix(rows, m);
  const [weights, slopes] = [W.x, W.d];
  let from = 0;
  for (const { x, columns } of parts) {
    for (let r = 0; r < rows; r += 1) {
      const u = r * columns;
      for (let i = 0; i < m; i += 1) {
        const w = i * n + from;
        let sum = from || !b ? 0 : b.x[i];
        for (let j = 0; j < columns; j += 1) sum += weights[w + j] * x[u + j];
        y.x[r * m + i] += sum;
      }
    }
    from += columns;
  }
  tape.push(() => {
    let at = 0;
    for (const { x, d, columns } of parts) {
      for (let r = 0; r < rows; r += 1) {
        const u = r * columns;
        for (let i = 0; i < m; i += 1) {
          const g = y.d[r * m + i];
          const w = i * n + at;
          for (let j = 0; j < columns; j += 1) {
            slopes[w + j] += g * x[u + j];
            d[u + j] += g * weights[w + j];
          }
        }
      }
      at += columns;
    }
    if (b) for (let k = 0; k < y.d.length; k += 1) b.d[k % m] += y.d[k];
  });
  return y;
}

/** @param {Tape} tape @param {Matrix} a */
export function tanh(tape, a) {
  const y = matrix(a.rows, a.columns);
  for (let k = 0; k < y.x.length; k += 1) y.x[k] = Math.tanh(a.x[k]);
  tape.push(() => {
    for (let k = 0; k < y.x.length; k += 1) a.d[k] += y.d[k] * (1 - y.x[k] ** 2);
  });
  return y;
}

/** The larger of each two neighbours. @param {Tape} tape @param {Matrix} a */
export function maxout(tape, a) {
  const y = matrix(a.rows, a.columns / 2);
  /** @param {number} k */
  const which = (k) => 2 * k + Number(a.x[2 * k + 1] > a.x[2 * k]);
  for (let k = 0; k < y.x.length; k += 1) y.x[k] = a.x[which(k)];
  tape.push(() => {
    for (let k = 0; k < y.x.length; k += 1) a.d[which(k)] += y.d[k];
  });
  return y;
}

/** @param {number} x */
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** torch's GRU, from a = W x + b and c = U h + b′ for its three parts: r and z
 * gate, n proposes; (1 − z) n + z h.
 * @param {Tape} tape @param {Matrix} a @param {Matrix} c @param {Matrix} h */
export function gates(tape, a, c, h) {
  const { rows, columns: m } = h;
  const y = matrix(rows, m);
  const kept = new Float64Array(3 * rows * m);
  for (let r = 0; r < rows; r += 1) {
    for (let i = 0; i < m; i += 1) {
      const [k, g] = [r * m + i, 3 * r * m + i];
      const reset = sigmoid(a.x[g] + c.x[g]);
      const z = sigmoid(a.x[g + m] + c.x[g + m]);
      const n = Math.tanh(a.x[g + 2 * m] + reset * c.x[g + 2 * m]);
      kept[g] = reset;
      kept[g + m] = z;
      kept[g + 2 * m] = n;
      y.x[k] = (1 - z) * n + z * h.x[k];
    }
  }
  tape.push(() => {
    for (let r = 0; r < rows; r += 1) {
      for (let i = 0; i < m; i += 1) {
        const [k, g] = [r * m + i, 3 * r * m + i];
        const [reset, z, n] = [kept[g], kept[g + m], kept[g + 2 * m]];
        const dn = y.d[k] * (1 - z) * (1 - n * n);
        const dz = y.d[k] * (h.x[k] - n) * z * (1 - z);
        const dr = dn * c.x[g + 2 * m] * reset * (1 - reset);
        h.d[k] += y.d[k] * z;
        a.d[g] += dr;
        c.d[g] += dr;
        a.d[g + m] += dz;
        c.d[g + m] += dz;
        a.d[g + 2 * m] += dn;
        c.d[g + 2 * m] += dn * reset;
      }
    }
  });
  return y;
}

/** Puts the softmax of some numbers in their place; log Σ exp of what they were.
 * @param {Float64Array} x @param {number} from @param {number} to */
function softmaxOf(x, from, to) {
  let [most, sum] = [-Infinity, 0];
  for (let k = from; k < to; k += 1) most = Math.max(most, x[k]);
  for (let k = from; k < to; k += 1) {
    x[k] = Math.exp(x[k] - most);
    sum += x[k];
  }
  for (let k = from; k < to; k += 1) x[k] /= sum;
  return most + Math.log(sum);
}

/** e_j = v · tanh(q + k_j), α = softmax(e), c = Σ_j α_j h_j in every row.
 * @param {Tape} tape @param {Matrix} v @param {Matrix} query
 * @param {Matrix[]} keys @param {Matrix[]} values
 * @returns {{context: Matrix, weights: Float64Array}} weights: a row of source places for each row */
export function look(tape, v, query, keys, values) {
  const { rows, columns: n } = query;
  const [places, m] = [keys.length, values[0].columns];
  const context = matrix(rows, m);
  const weights = new Float64Array(rows * places);
  const bent = keys.map(({ x }) => x.map((key, k) => Math.tanh(key + query.x[k])));
  for (let r = 0; r < rows; r += 1) {
    for (let j = 0; j < places; j += 1) {
      let e = 0;
      for (let i = 0; i < n; i += 1) e += v.x[i] * bent[j][r * n + i];
      weights[r * places + j] = e;
    }
    softmaxOf(weights, r * places, (r + 1) * places);
    for (let j = 0; j < places; j += 1) {
      const share = weights[r * places + j];
      for (let i = r * m; i < (r + 1) * m; i += 1) context.x[i] += share * values[j].x[i];
    }
  }
  tape.push(() => {
    const slopes = new Float64Array(places);
    for (let r = 0; r < rows; r += 1) {
      let mean = 0;
      for (let j = 0; j < places; j += 1) {
        const share = weights[r * places + j];
        slopes[j] = 0;
        for (let i = r * m; i < (r + 1) * m; i += 1) {
          slopes[j] += context.d[i] * values[j].x[i];
          values[j].d[i] += share * context.d[i];
        }
        mean += share * slopes[j];
      }
      for (let j = 0; j < places; j += 1) {
        const de = weights[r * places + j] * (slopes[j] - mean);
        for (let i = 0; i < n; i += 1) {
          const [k, u] = [r * n + i, bent[j][r * n + i]];
          const g = de * v.x[i] * (1 - u * u);
          v.d[i] += de * u;
          query.d[k] += g;
          keys[j].d[k] += g;
        }
      }
    }
  });
  return { context, weights };
}

/** −log p of each row's id, summed, and its gradient times `scale`.
 * @param {Tape} tape @param {Matrix} logits @param {ArrayLike<number>} ids @param {number} scale */
export function crossEntropy(tape, logits, ids, scale) {
  const { rows, columns: n, x, d } = logits;
  const p = x.slice();
  let loss = 0;
  for (let r = 0; r < rows; r += 1) {
    loss += softmaxOf(p, r * n, (r + 1) * n) - x[r * n + ids[r]];
  }
  tape.push(() => {
    for (let k = 0; k < p.length; k += 1) d[k] += scale * p[k];
    for (let r = 0; r < rows; r += 1) d[r * n + ids[r]] -= scale;
  });
  return loss;
}
