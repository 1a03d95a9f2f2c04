// @ts-check
// The body of families.py, run in the reader's browser: words in, scores of
// words out. Whose body it is, the mask decides. Tested against torch.
import { softmax } from "./lib/maths.js";
import { embed, linear } from "./lib/recurrent.js";

/** @typedef {import("./lib/recurrent.js").Weights} Weights */
/** @typedef {{heads: number, layers: number}} Config */
/** @typedef {"GPT" | "BERT"} Family */

/** Whether place i may see place j. @param {Family} family @param {number} i @param {number} j */
export const sees = (family, i, j) => family === "BERT" || j <= i;

/** 2/√π ∫₀ˣ exp(−t²) dt, by a series of which all terms have one sign.
 * @param {number} x */
export function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let [term, sum] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n += 1) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** x Φ(x), with Φ the share of a normal distribution below x. @param {number} x */
export const gelu = (x) => (x / 2) * (1 + erf(x / Math.SQRT2));

/** @param {Weights} p @param {Config} config */
export function body(p, { heads, layers }) {
  /** W x + b. @param {string} name @param {Float64Array} x */
  const map = (name, x) => linear(p, `${name}.weight`, `${name}.bias`, x);

  /** (x − mean) / √(variance + ε) · γ + β. @param {string} name @param {Float64Array} x */
  function norm(name, x) {
    const [gain, shift] = [p[`${name}.weight`].numbers, p[`${name}.bias`].numbers];
    const mean = x.reduce((sum, one) => sum + one, 0) / x.length;
    const variance = x.reduce((sum, one) => sum + (one - mean) ** 2, 0) / x.length;
    const by = 1 / Math.sqrt(variance + 1e-5);
    return x.map((one, k) => (one - mean) * by * gain[k] + shift[k]);
  }

  /** √d E[token] + P[place]. @param {number} token @param {number} place */
  function embedded(token, place) {
    const row = embed(p["embedding.words.weight"], token);
    const where = embed(p["embedding.learned.table"], place);
    return Float64Array.from(row, (one, k) => one * Math.sqrt(row.length) + where[k]);
  }

  /** One layer, all places at once. @param {number} i @param {Float64Array[]} x @param {Family} family */
  function layer(i, x, family) {
    const name = `layers.${i}`;
    const given = x.map((one) => norm(`${name}.around_attention.norm`, one));
    const [queries, keys, values] = ["W_Q", "W_K", "W_V"].map((w) =>
      given.map((one) => map(`${name}.attention.${w}`, one)),
    );
    const d = x[0].length / heads;
    return x.map((one, at) => {
      const found = new Float64Array(one.length);
      const seen = keys.map((_, j) => j).filter((j) => sees(family, at, j));
      for (let from = 0; from < one.length; from += d) {
        const scores = seen.map((j) => {
          let sum = 0;
          for (let k = from; k < from + d; k += 1) sum += queries[at][k] * keys[j][k];
          return sum / Math.sqrt(d);
        });
        softmax(scores).forEach((weight, n) => {
          const value = values[seen[n]];
          for (let k = from; k < from + d; k += 1) found[k] += weight * value[k];
        });
      }
      const change = map(`${name}.attention.W_O`, found);
      const y = one.map((z, k) => z + change[k]);
      const inside = map(`${name}.feedforward.W_1`, norm(`${name}.around_feedforward.norm`, y));
      const more = map(`${name}.feedforward.W_2`, inside.map(gelu));
      return y.map((z, k) => z + more[k]);
    });
  }

  return {
    /** x of one place, before the first layer and after each.
     * @param {number[]} tokens @param {Family} family @param {number} at */
    levels(tokens, family, at) {
      let x = tokens.map(embedded);
      const found = [x[at]];
      for (let i = 0; i < layers; i += 1) {
        x = layer(i, x, family);
        found.push(x[at]);
      }
      return found;
    },
    /** E LN(x) at some places: a score for every word.
     * @param {number[]} tokens @param {Family} family @param {number[]} places */
    logits(tokens, family, places) {
      let x = tokens.map(embedded);
      for (let i = 0; i < layers; i += 1) x = layer(i, x, family);
      return places.map((at) => linear(p, "embedding.words.weight", null, norm("last", x[at])));
    },
  };
}
