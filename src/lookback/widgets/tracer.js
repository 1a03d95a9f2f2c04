// @ts-check
// The Transformer, opened: a sentence's translation with every tensor on the
// way, with parts switched off, through the logit lens, and with a vector of
// another sentence patched in. Runs in a worker. Python: opened.py.
import { beam, largest, logProbabilities } from "./decode.js";
import { START } from "./lib/recurrent.js";
import { transformer } from "./transformer.js";
import { translator } from "./translator.js";

/** @typedef {import("./lib/int8.js").Machine} Machine */
/** @typedef {{shape: number[], data: Float32Array}} Tensor [tokens, size], or [heads, target, source] */
/** @typedef {Record<string, Tensor>} Trace */
/** One step of the translation: what was written, how likely it was, and what else.
 * @typedef {{id: number, piece: string, p: number, rivals: {piece: string, p: number}[]}} Step */
/** @typedef {{source: string[], target: string[], steps: Step[], sentence: string}} Run */
/** A vector carried over: a sublayer's "….stream", or the output "….head.2".
 * @typedef {{name: string, position: number}} Patch */

const RIVALS = 5;

/** Tensors from the vectors that a hook is given. */
export function collector() {
  /** @type {Map<string, Float64Array[]>} */
  const rows = new Map();
  return {
    /** @type {import("./transformer.js").Hook} */
    hook(name, position, x) {
      const all = rows.get(name) ?? [];
      rows.set(name, all);
      all[position] = x;
      return x;
    },
    /** @returns {Trace} */
    trace() {
      /** @type {Trace} */
      const found = {};
      /** @param {string} name @param {Float64Array[]} all @param {number[]} [before] */
      const lay = (name, all, before = []) => {
        const data = new Float32Array(all.length * all[0].length);
        all.forEach((x, r) => data.set(x, r * x.length));
        const lead = before.length ? [...before, all.length / before[0]] : [all.length];
        found[name] = { shape: [...lead, all[0].length], data };
      };
      for (const [name, all] of rows) {
        const head = name.match(/^(.*\.(?:scores|weights))\.(\d+)$/);
        if (!head) lay(name, all);
        else if (head[2] === "0") {
          const heads = [];
          for (let h = 0; rows.has(`${head[1]}.${h}`); h += 1)
            heads.push(.../** @type {Float64Array[]} */ (rows.get(`${head[1]}.${h}`)));
          lay(head[1], heads, [heads.length / all.length]);
        }
      }
      return found;
    },
  };
}

/** A hook that puts in the vector that another run had there.
 * @param {Trace} from @param {Patch} patch @param {number} heads
 * @returns {import("./transformer.js").Hook} */
export function patching(from, { name, position }, heads) {
  const [, path, head] = name.match(/^(.*)\.head\.(\d+)$/) ?? [];
  const station = path ? `${path}.heads` : name;
  const { shape, data } = from[station];
  const given = data.subarray(position * shape[1], (position + 1) * shape[1]);
  const size = shape[1] / heads;
  return (at, where, x) => {
    if (at !== station || where !== position) return x;
    const inside = (/** @type {number} */ k) => !path || Math.floor(k / size) === Number(head);
    return x.map((one, k) => (inside(k) ? given[k] : one));
  };
}

/** Opens a machine. @param {Machine} machine */
export function opened(machine) {
  const { sourceOf, piece, sentence } = translator(machine);
  const config = /** @type {{heads: number, layers: number}} */ (
    /** @type {unknown} */ (machine.config)
  );
  /** The model with these changes. @param {string[]} [off] @param {import("./transformer.js").Hook} [hook] */
  const model = (off, hook) => transformer(machine.weights, config, undefined, { off, hook });

  /** Its own translation, and the ids. @param {string} text @param {string[]} [off]
   * @param {import("./transformer.js").Hook} [hook] */
  function write(text, off, hook) {
    const source = sourceOf(text);
    const [{ steps }] = beam(model(off, hook), source, { rivals: RIVALS }).found;
    const ids = steps.map(({ id }) => id);
    /** @type {Run} */
    const run = {
      source: source.map(piece),
      target: [START, ...ids.slice(0, -1)].map(piece),
      steps: steps.map(({ id, p, rivals }) => ({
        id,
        piece: piece(id),
        p,
        rivals: rivals.map((one) => ({ piece: piece(one.id), p: one.p })),
      })),
      sentence: sentence(ids),
    };
    return { source, ids, run };
  }

  /** log p of each of these words, the ones before it given.
   * @param {number[]} source @param {number[]} ids @param {string[]} [off]
   * @param {import("./transformer.js").Hook} [hook] */
  function forced(source, ids, off, hook) {
    const one = model(off, hook);
    const { y } = one.decode([START, ...ids.slice(0, -1)], one.begin(), one.read(source));
    return y.map((row, r) => logProbabilities(one.logits(row))[ids[r]]);
  }

  /** Every tensor, this translation given. @param {number[]} source @param {number[]} ids
   * @param {string[]} [off] */
  function traced(source, ids, off) {
    const { hook, trace } = collector();
    const one = model(off, hook);
    const { y } = one.decode([START, ...ids.slice(0, -1)], one.begin(), one.read(source));
    y.forEach((row, r) => hook("decoder.logits", r, one.logits(row)));
    return trace();
  }

  return {
    traced,
    write,
    /** A sentence's translation and its trace. @param {{text: string, off?: string[]}} asked */
    trace({ text, off = [] }) {
      const { source, ids, run } = write(text, off);
      return { ...run, trace: traced(source, ids, off) };
    },

    /** What is written with these parts off, and what becomes of the own words' log p.
     * @param {{text: string, off: string[]}} asked */
    switched({ text, off }) {
      const { source, ids, run } = write(text);
      const other = write(text, off).run;
      return { own: run, other, before: forced(source, ids), after: forced(source, ids, off) };
    },

    /** The likeliest pieces at each level of the decoder's stream, for each word.
     * @param {{text: string, off?: string[]}} asked */
    lens({ text, off = [] }) {
      const { source, ids, run } = write(text, off);
      const trace = traced(source, ids, off);
      const one = model(off);
      const levels = [
        "decoder.stream",
        ...Array.from({ length: config.layers }, (_, i) => `decoder.${i}.feedforward.stream`),
      ];
      const table = levels.map((name) => {
        const { shape, data } = trace[name];
        return ids.map((_, r) => {
          const y = Float64Array.from(data.subarray(r * shape[1], (r + 1) * shape[1]));
          const log = logProbabilities(one.lens(y));
          return largest(log, 3).map((id) => ({ piece: piece(id), p: Math.exp(log[id]) }));
        });
      });
      return { ...run, table };
    },

    /** A vector of the sentence `other`, carried into this one's run.
     * @param {{text: string, other: string} & Patch} asked */
    patch({ text, other, ...patch }) {
      const from = write(other);
      const into = write(text);
      const there = patch.name.startsWith("encoder") ? from.source : from.ids;
      const here = patch.name.startsWith("encoder") ? into.source : into.ids;
      if (patch.position >= Math.min(there.length, here.length))
        throw new Error(`Both sentences need a piece ${patch.position + 1} there.`);
      const hook = patching(traced(from.source, from.ids), patch, config.heads);
      return {
        own: into.run,
        other: write(text, [], hook).run,
        before: forced(into.source, into.ids),
        after: forced(into.source, into.ids, [], hook),
        from: from.run,
      };
    },

    /** The largest terms of one number that a matrix made: w · x, and the bias.
     * @param {{weight: string, row: number, x: ArrayLike<number>}} asked */
    terms({ weight, row, x }) {
      const { shape, numbers } = machine.weights[`${weight}.weight`];
      const bias = machine.weights[`${weight}.bias`]?.numbers[row] ?? 0;
      const each = Array.from(x, (one, k) => ({
        k,
        w: numbers[row * shape[1] + k],
        x: one,
        product: numbers[row * shape[1] + k] * one,
      }));
      each.sort((a, b) => Math.abs(b.product) - Math.abs(a.product));
      const sum = each.reduce((total, one) => total + one.product, bias);
      const terms = each.slice(0, 5);
      const rest = sum - bias - terms.reduce((total, one) => total + one.product, 0);
      return { bias, sum, terms, rest, more: each.length - terms.length };
    },
  };
}
