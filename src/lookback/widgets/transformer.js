// @ts-check
// The Transformer of transformer.py with its norms before the parts, run in the
// reader's browser, a word at a time. Tested against torch.
import { softmax } from "./lib/maths.js";
import { embed, linear } from "./lib/recurrent.js";

/** @typedef {import("./lib/recurrent.js").Weights} Weights */
/** @typedef {{heads: number, layers: number}} Config */
/** @typedef {Float64Array[]} Rows a vector for each word */
/** @typedef {{keys: Rows[], values: Rows[]}} Memory of each layer */
/** @typedef {import("./decode.js").Instead} Instead */

/** What `decode.js` wants of a translator.
 * @param {Weights} p @param {Config} config
 * @param {Instead} [instead] */
export function transformer(p, { heads, layers }, instead = (weights) => weights) {
  /** W x + b of the linear map `name`. @param {string} name @param {Float64Array} x */
  const map = (name, x) => linear(p, `${name}.weight`, `${name}.bias`, x);

  /** (x − mean) / √(variance + ε) · γ + β. @param {string} name @param {Float64Array} x */
  function norm(name, x) {
    const [gain, shift] = [p[`${name}.weight`].numbers, p[`${name}.bias`].numbers];
    const mean = x.reduce((sum, one) => sum + one, 0) / x.length;
    const variance = x.reduce((sum, one) => sum + (one - mean) ** 2, 0) / x.length;
    const by = 1 / Math.sqrt(variance + 1e-5);
    return x.map((one, k) => (one - mean) * by * gain[k] + shift[k]);
  }

  /** √d E[id] + PE(place). @param {number} id @param {number} place */
  function embedded(id, place) {
    const row = embed(p["target_embedding.words.weight"], id);
    const d = row.length;
    return Float64Array.from(row, (one, k) => {
      const angle = place * 10000 ** (-(k - (k % 2)) / d);
      return one * Math.sqrt(d) + (k % 2 ? Math.cos(angle) : Math.sin(angle));
    });
  }

  /** x + W_2 max(0, W_1 LN(x) + b_1) + b_2. @param {string} layer @param {Float64Array} x */
  function feedForward(layer, x) {
    const given = norm(`${layer}.around_feedforward.norm`, x);
    const inside = map(`${layer}.feedforward.W_1`, given).map((one) => Math.max(0, one));
    const change = map(`${layer}.feedforward.W_2`, inside);
    return x.map((one, k) => one + change[k]);
  }

  /** x + W_O of what h looks found, and each head's energies and weights.
   * @param {string} name @param {Float64Array} x @param {Float64Array} given LN(x)
   * @param {Rows} keys @param {Rows} values
   * @param {(weights: number[], head: number) => number[] | null} use */
  function attend(name, x, given, keys, values, use = (weights) => weights) {
    const q = map(`${name}.W_Q`, given);
    const [d, found] = [q.length / heads, new Float64Array(q.length)];
    const energies = Array.from({ length: heads }, (_, head) =>
      keys.map((key) => {
        let sum = 0;
        for (let k = head * d; k < (head + 1) * d; k += 1) sum += q[k] * key[k];
        return sum / Math.sqrt(d);
      }),
    );
    const weights = energies.map((row, head) => {
      const kept = use(softmax(row), head) ?? row.map(() => 0);
      kept.forEach((alpha, j) => {
        for (let k = head * d; k < (head + 1) * d; k += 1) found[k] += alpha * values[j][k];
      });
      return kept;
    });
    const change = map(`${name}.W_O`, found);
    return { energies, weights, x: x.map((one, k) => one + change[k]) };
  }

  return {
    /** The encoder, and from it keys and values for every decoder layer.
     * @param {number[]} source ids, END last @returns {Memory} */
    read(source) {
      let x = source.map(embedded);
      for (let i = 0; i < layers; i += 1) {
        const layer = `encoder.${i}`;
        const given = x.map((one) => norm(`${layer}.around_attention.norm`, one));
        const keys = given.map((one) => map(`${layer}.attention.W_K`, one));
        const values = given.map((one) => map(`${layer}.attention.W_V`, one));
        x = x.map((one, j) => {
          const now = attend(`${layer}.attention`, one, given[j], keys, values);
          return feedForward(layer, now.x);
        });
      }
      x = x.map((one) => norm("after_encoder", one));
      const [keys, values] = ["W_K", "W_V"].map((w) =>
        Array.from({ length: layers }, (_, i) =>
          x.map((one) => map(`decoder.${i}.cross.${w}`, one)),
        ),
      );
      return { keys, values };
    },

    /** No word so far. @returns {Memory} */
    begin: () => ({
      keys: Array.from({ length: layers }, () => []),
      values: Array.from({ length: layers }, () => []),
    }),

    /** One word on: y of the top layer, and every head's look at the source.
     * @param {number} token @param {Memory} past @param {Memory} memory */
    step(token, past, memory) {
      const written = past.keys[0].length;
      let y = embedded(token, written);
      /** @type {Memory} */
      const state = { keys: [], values: [] };
      /** @type {import("./decode.js").Looks} */
      const looks = [];
      for (let i = 0; i < layers; i += 1) {
        const layer = `decoder.${i}`;
        const given = norm(`${layer}.around_attention.norm`, y);
        state.keys.push([...past.keys[i], map(`${layer}.attention.W_K`, given)]);
        state.values.push([...past.values[i], map(`${layer}.attention.W_V`, given)]);
        y = attend(`${layer}.attention`, y, given, state.keys[i], state.values[i]).x;
        const { energies, weights, x } = attend(
          `${layer}.cross`,
          y,
          norm(`${layer}.around_cross.norm`, y),
          memory.keys[i],
          memory.values[i],
          (row, head) => instead(row, { written, layer: i, head }),
        );
        looks.push({ energies, weights });
        y = feedForward(layer, x);
      }
      const top = norm("after_decoder", y);
      return { state, looks, logits: () => linear(p, "target_embedding.words.weight", null, top) };
    },
  };
}
