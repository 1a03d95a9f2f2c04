// @ts-check
// The Transformer of transformer.py with its norms before the sublayers, run in
// the reader's browser. Each vector on the way has a name, passes a hook, and
// each part has a switch; the names are those of opened.py. Tested against torch.
import { softmax } from "./lib/maths.js";
import { embed, linear } from "./lib/recurrent.js";

/** @typedef {import("./lib/recurrent.js").Weights} Weights */
/** @typedef {{heads: number, layers: number}} Config */
/** @typedef {Float64Array[]} Rows a vector for each token */
/** @typedef {{keys: Rows[], values: Rows[]}} Memory of each layer */
/** @typedef {Memory & {tokens: number[]}} State */
/** @typedef {import("./decode.js").Instead} Instead */
/** Is given each vector and may return another: of the token at `position`.
 * @typedef {(name: string, position: number, x: Float64Array) => Float64Array} Hook */

/** What `decode.js` wants of a translator, and `decode`, many tokens at once.
 * @param {Weights} p @param {Config} config
 * @param {Instead} [instead] other weights for cross-attention
 * @param {{off?: string[], hook?: Hook}} [opened] what is switched off */
export function transformer(
  p,
  { heads, layers },
  instead = (weights) => weights,
  { off: named = [], hook = (_name, _position, x) => x } = {},
) {
  const off = new Set(named);
  /** W x + b of the linear map `name`. @param {string} name @param {Float64Array} x */
  const map = (name, x) => linear(p, `${name}.weight`, `${name}.bias`, x);
  const each = Array.from({ length: layers }, (_, i) => i);

  /** (x − mean) / √(variance + ε) · γ + β. @param {string} name @param {Float64Array} x */
  function norm(name, x) {
    const [gain, shift] = [p[`${name}.weight`].numbers, p[`${name}.bias`].numbers];
    const mean = x.reduce((sum, one) => sum + one, 0) / x.length;
    const variance = x.reduce((sum, one) => sum + (one - mean) ** 2, 0) / x.length;
    const by = 1 / Math.sqrt(variance + 1e-5);
    return x.map((one, k) => (one - mean) * by * gain[k] + shift[k]);
  }

  /** √d E[id] + PE(position). @param {string} side @param {number} id @param {number} position */
  function embedded(side, id, position) {
    const row = embed(p["target_embedding.words.weight"], id);
    const d = row.length;
    const x = hook(
      `${side}.embedding`,
      position,
      Float64Array.from(row, (one) => one * Math.sqrt(d)),
    );
    const placed = x.map((one, k) => {
      const angle = position * 10000 ** (-(k - (k % 2)) / d);
      return one + (off.has("positions") ? 0 : k % 2 ? Math.cos(angle) : Math.sin(angle));
    });
    return hook(`${side}.stream`, position, placed);
  }

  /** x + f(LN(x)), or what the switches leave of it.
   * @param {string} path @param {Rows} rows @param {number} first position
   * @param {(given: Rows) => Rows} f */
  function sublayer(path, rows, first, f) {
    const [side, layer, part] = path.split(".");
    const given = rows.map((x, r) =>
      hook(
        `${path}.norm`,
        first + r,
        off.has(`${path}.norm`) ? x : norm(`${side}.${layer}.around_${part}.norm`, x),
      ),
    );
    const changes = f(given);
    return rows.map((x, r) => {
      const kept = off.has(path) ? changes[r].map(() => 0) : changes[r];
      const change = hook(`${path}.out`, first + r, kept);
      const sum = off.has(`${path}.residual`) ? change : x.map((one, k) => one + change[k]);
      return hook(`${path}.stream`, first + r, sum);
    });
  }

  /** W_2 max(0, W_1 x + b_1) + b_2. @param {string} path @param {number} first */
  const feedForward = (path, first) => (/** @type {Rows} */ given) =>
    given.map((x, r) => {
      const inside = map(`${path}.W_1`, x).map((one) => Math.max(0, one));
      return map(`${path}.W_2`, hook(`${path}.hidden`, first + r, inside));
    });

  /** Keys or values of these rows. @param {string} path @param {"K" | "V"} which
   * @param {Rows} given @param {number} first */
  const project = (path, which, given, first) =>
    given.map((x, r) =>
      hook(`${path}.${which.toLowerCase()}`, first + r, map(`${path}.W_${which}`, x)),
    );

  /** W_O of the heads' outputs; each head's scores and weights are the hook's, too,
   * and `looks` holds those of the last row.
   * @param {string} path @param {Rows} given @param {Rows} keys @param {Rows} values
   * @param {number} first @param {(row: number) => number} visible how many keys
   * @param {(weights: number[], row: number, head: number) => number[] | null} [use] */
  function attend(path, given, keys, values, first, visible, use = (weights) => weights) {
    /** @type {{energies: number[][], weights: number[][]}} */
    let looks = { energies: [], weights: [] };
    const rows = given.map((x, r) => {
      const q = hook(`${path}.q`, first + r, map(`${path}.W_Q`, x));
      const [d, found] = [q.length / heads, new Float64Array(q.length)];
      const by = off.has("scaling") ? 1 : Math.sqrt(d);
      looks = { energies: [], weights: [] };
      for (let head = 0; head < heads; head += 1) {
        const energies = keys.map((key, j) => {
          if (j >= visible(r)) return -Infinity;
          let sum = 0;
          for (let k = head * d; k < (head + 1) * d; k += 1) sum += q[k] * key[k];
          return sum / by;
        });
        hook(`${path}.scores.${head}`, first + r, Float64Array.from(energies));
        const kept = use(softmax(energies), r, head) ?? energies.map(() => 0);
        hook(`${path}.weights.${head}`, first + r, Float64Array.from(kept));
        const silent = off.has(`${path}.head.${head}`);
        kept.forEach((alpha, j) => {
          if (silent || alpha === 0) return;
          for (let k = head * d; k < (head + 1) * d; k += 1) found[k] += alpha * values[j][k];
        });
        looks.energies.push(energies);
        looks.weights.push(kept);
      }
      return map(`${path}.W_O`, hook(`${path}.heads`, first + r, found));
    });
    return { rows, looks };
  }

  /** Weights along the diagonal, if that is switched on, or else `instead`'s.
   * @param {number[]} weights @param {number} written @param {number} layer @param {number} head */
  const cross = (weights, written, layer, head) =>
    off.has("diagonal")
      ? weights.map((_, j) => Number(j === Math.min(written, weights.length - 1)))
      : instead(weights, { written, layer, head });

  /** The stack's last norm. @param {string} side @param {Rows} rows @param {number} first */
  const top = (side, rows, first) =>
    rows.map((x, r) =>
      hook(`${side}.norm`, first + r, off.has(`${side}.norm`) ? x : norm(`after_${side}`, x)),
    );

  /** y after the last layer, of these tokens after those of the past.
   * @param {number[]} tokens @param {State} past @param {Memory} memory */
  function decode(tokens, past, memory) {
    const first = past.tokens.length;
    let y = tokens.map((token, r) => embedded("decoder", token, first + r));
    /** @type {State} */
    const state = { keys: [], values: [], tokens: [...past.tokens, ...tokens] };
    /** @type {import("./decode.js").Looks} */
    const looks = [];
    const causal = (/** @type {number} */ r) => (off.has("mask") ? Infinity : first + r + 1);
    for (const i of each) {
      const [own, other, inner] = ["attention", "cross", "feedforward"].map(
        (part) => `decoder.${i}.${part}`,
      );
      y = sublayer(own, y, first, (given) => {
        state.keys.push([...past.keys[i], ...project(own, "K", given, first)]);
        state.values.push([...past.values[i], ...project(own, "V", given, first)]);
        return attend(own, given, state.keys[i], state.values[i], first, causal).rows;
      });
      y = sublayer(other, y, first, (given) => {
        const [keys, values] = [memory.keys[i], memory.values[i]];
        const all = () => Infinity;
        const found = attend(other, given, keys, values, first, all, (row, r, head) =>
          cross(row, first + r, i, head),
        );
        looks.push(found.looks);
        return found.rows;
      });
      y = sublayer(inner, y, first, feedForward(inner, first));
    }
    return { y: top("decoder", y, first), state, looks };
  }

  /** E' y: a number for each piece. @param {Float64Array} y */
  const logits = (y) => linear(p, "target_embedding.words.weight", null, y);

  /** No token so far. @returns {State} */
  const begin = () => ({ keys: each.map(() => []), values: each.map(() => []), tokens: [] });

  return {
    begin,
    decode,
    logits,
    /** What the output matrix would say of a vector of the stream.
     * @param {Float64Array} y */
    lens: (y) => logits(off.has("decoder.norm") ? y : norm("after_decoder", y)),

    /** The encoder, and from it keys and values for every decoder layer.
     * @param {number[]} source ids, END last @returns {Memory} */
    read(source) {
      let x = source.map((id, position) => embedded("encoder", id, position));
      for (const i of each) {
        const [own, inner] = [`encoder.${i}.attention`, `encoder.${i}.feedforward`];
        x = sublayer(own, x, 0, (given) => {
          const [keys, values] = [project(own, "K", given, 0), project(own, "V", given, 0)];
          return attend(own, given, keys, values, 0, () => Infinity).rows;
        });
        x = sublayer(inner, x, 0, feedForward(inner, 0));
      }
      const memory = top("encoder", x, 0);
      return {
        keys: each.map((i) => project(`decoder.${i}.cross`, "K", memory, 0)),
        values: each.map((i) => project(`decoder.${i}.cross`, "V", memory, 0)),
      };
    },

    /** One token on: logits after it, and every head's weights over the source.
     * Without the causal mask the earlier tokens see it, too, and change.
     * @param {number} token @param {State} past @param {Memory} memory */
    step(token, past, memory) {
      const [tokens, before] = off.has("mask")
        ? [[...past.tokens, token], begin()]
        : [[token], past];
      const { y, state, looks } = decode(tokens, before, memory);
      return { state, looks, logits: () => logits(y[y.length - 1]) };
    },
  };
}
