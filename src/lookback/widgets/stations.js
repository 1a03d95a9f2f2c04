// @ts-check
// The stations of an opened Transformer, in the order in which the data passes
// them; and each one's equation with the numbers of one token put in.
import { digits, quoted, share } from "./lib/text.js";
import facts from "./opened.json" with { type: "json" };

/** @typedef {import("./tracer.js").Trace} Trace */
/** @typedef {keyof typeof facts.stations} Kind */
/** @typedef {"encoder" | "decoder"} Side */
/** @typedef {"attention" | "cross" | "feedforward"} Part */
/** A tensor of the trace; `columns`: whose tokens it has a vector for.
 * @typedef {{name: string, side: Side, columns: Side, layer: number, part: Part | null,
 *   kind: Kind}} Station layer −1 below all, or `layers` above */
/** @typedef {{text?: string, source: string[], target: string[], trace: Trace,
 *   steps: import("./tracer.js").Step[]}} Run */

const ATTENTION = /** @type {Kind[]} */ ([
  "norm",
  "q",
  "k",
  "v",
  "scores",
  "weights",
  "heads",
  "out",
  "stream",
]);
const INNER = /** @type {Kind[]} */ (["norm", "hidden", "inner", "stream"]);
export const PARTS = {
  attention: "self-attention",
  cross: "cross-attention",
  feedforward: "feed-forward",
};

/** All stations of a model. @param {number} layers @returns {Station[]} */
export function stationsOf(layers) {
  /** @type {Station[]} */
  const all = [];
  for (const side of /** @type {Side[]} */ (["encoder", "decoder"])) {
    /** @param {string} name @param {number} layer @param {Kind} kind @param {Part | null} [part] */
    const add = (name, layer, kind, part = null) => {
      const far = part === "cross" && (kind === "k" || kind === "v");
      all.push({ name, side, columns: far ? "encoder" : side, layer, part, kind });
    };
    add(`${side}.embedding`, -1, "embedding");
    add(`${side}.stream`, -1, "position");
    for (let i = 0; i < layers; i += 1) {
      const parts = /** @type {Part[]} */ (
        side === "encoder" ? ["attention", "feedforward"] : ["attention", "cross", "feedforward"]
      );
      for (const part of parts)
        for (const kind of part === "feedforward" ? INNER : ATTENTION)
          add(`${side}.${i}.${part}.${kind === "inner" ? "out" : kind}`, i, kind, part);
    }
    add(`${side}.norm`, layers, side === "encoder" ? "memory" : "last");
  }
  all.push({ ...all[all.length - 1], name: "decoder.logits", kind: "logits" });
  all.push({ ...all[all.length - 1], name: "decoder.probabilities", kind: "probabilities" });
  return all;
}

/** Where a sublayer's stream came from. @param {Station} station @returns {string} */
export function before({ side, layer, part }) {
  if (part === "cross") return `${side}.${layer}.attention.stream`;
  if (part === "feedforward")
    return `${side}.${layer}.${side === "encoder" ? "attention" : "cross"}.stream`;
  return layer ? `${side}.${layer - 1}.feedforward.stream` : `${side}.stream`;
}

/** One token's vector. @param {Trace} trace @param {string} name @param {number} at */
export function vectorOf(trace, name, at) {
  const { shape, data } = trace[name];
  return data.subarray(at * shape[1], (at + 1) * shape[1]);
}

/** A head's row of scores or weights. @param {Trace} trace @param {string} name
 * @param {number} head @param {number} at */
export function rowOf(trace, name, head, at) {
  const { shape, data } = trace[name];
  const from = (head * shape[1] + at) * shape[2];
  return data.subarray(from, from + shape[2]);
}

/** The part of a vector that one head has. @param {Float32Array} x @param {number} head
 * @param {number} heads */
export const headOf = (x, head, heads) =>
  x.subarray((head * x.length) / heads, ((head + 1) * x.length) / heads);

/** @param {ArrayLike<number>} x */
const length = (x) => Math.sqrt(Array.from(x).reduce((sum, one) => sum + one * one, 0));
/** @param {ArrayLike<number>} x */
const mean = (x) => Array.from(x).reduce((sum, one) => sum + one, 0) / x.length;
/** @param {ArrayLike<number>} x */
const most = (x) => Array.from(x).reduce((best, one, j) => (one > x[best] ? j : best), 0);

/** The station's shape, in words. @param {Station} station @param {Run} run @param {number} heads */
export function shapeOf({ name, kind }, { trace, steps }, heads) {
  if (kind === "probabilities")
    return `${steps.length} tokens × ${trace["decoder.logits"]?.shape[1] ?? "all"} pieces`;
  const { shape } = trace[name];
  if (shape.length === 3) return `${heads} heads × ${shape[1]} queries × ${shape[2]} keys`;
  const what = { hidden: "units", logits: "pieces" }[/** @type {string} */ (kind)] ?? "numbers";
  return `${shape[0]} tokens × ${shape[1]} ${what}`;
}

/** The equation with this token's numbers, a line each.
 * @param {Station} station @param {Run} run @param {number} at @param {number} head
 * @param {number} heads @returns {string[]} */
export function worked(station, run, at, head, heads) {
  const { name, kind, part, side, layer } = station;
  const { trace, steps } = run;
  const path = `${side}.${layer}.${part}`;
  const keys = part === "cross" || side === "encoder" ? run.source : run.target;
  const own = (/** @type {string} */ one) => vectorOf(trace, one, at);
  const first = (/** @type {ArrayLike<number>} */ x) => digits(x[0]);
  switch (kind) {
    case "position": {
      const [e, x] = [own(`${side}.embedding`), own(name)];
      return [
        `x₁ = ${first(e)} + sin(${at}) = ${first(x)}`,
        `x₂ = ${digits(e[1])} + cos(${at}) = ${digits(x[1])}`,
      ];
    }
    case "norm":
    case "memory":
    case "last": {
      const x = own(part ? before(station) : `${side}.${layer - 1}.feedforward.stream`);
      const mu = mean(x);
      const sigma = Math.sqrt(mean(x.map((one) => (one - mu) ** 2)));
      return [
        `μ = ${digits(mu)}, σ = ${digits(sigma)}`,
        `x₁ = ${first(x)} becomes ${first(own(name))}`,
      ];
    }
    case "q":
    case "k":
    case "v":
      return [
        `head ${head + 1} of ${heads}: ${kind} = (${Array.from(headOf(own(name), head, heads).subarray(0, 4), (x) => digits(x)).join(", ")}, …)`,
      ];
    case "scores": {
      const row = rowOf(trace, name, head, at);
      const j = most(row);
      const by = Math.sqrt(trace[`${path}.q`].shape[1] / heads);
      return [
        `highest: ${quoted(keys, j)}, q · k = ${digits(row[j] * by)}`,
        `e = ${digits(row[j] * by)} / ${digits(by)} = ${digits(row[j])}`,
      ];
    }
    case "weights": {
      const [e, row] = [rowOf(trace, `${path}.scores`, head, at), rowOf(trace, name, head, at)];
      const j = most(row);
      const sum = Array.from(e).reduce((all, one) => all + Math.exp(one - e[j]), 0);
      return [
        `largest: ${quoted(keys, j)}`,
        `α = 1 / Σ exp(e − ${digits(e[j])}) = 1 / ${digits(sum, 3)} = ${share(row[j])}`,
      ];
    }
    case "heads": {
      const row = rowOf(trace, `${path}.weights`, head, at);
      const order = Array.from(row.keys())
        .sort((a, b) => row[b] - row[a])
        .slice(0, 2);
      const from = (/** @type {number} */ j) =>
        headOf(vectorOf(trace, `${path}.v`, j), head, heads)[0];
      return [
        `head ${head + 1}, its first number: ${order.map((j) => `${digits(row[j])} · ${digits(from(j))}`).join(" + ")} + … = ${first(headOf(own(name), head, heads))}`,
      ];
    }
    case "stream": {
      const [x, change, now] = [own(before(station)), own(`${path}.out`), own(name)];
      return [
        `x₁ = ${first(x)} + ${first(change)} = ${first(now)}`,
        `‖out‖ / ‖x‖ = ${digits(length(change))} / ${digits(length(x))} = ${digits(length(change) / length(x))}`,
      ];
    }
    case "hidden": {
      const x = own(name);
      const fire = Array.from(x).filter((one) => one > 0).length;
      return [
        `${fire} of ${x.length} units are above 0; the largest is ${digits(x[most(x)])}, unit ${most(x) + 1}`,
      ];
    }
    case "logits": {
      const { id, piece } = steps[at];
      return trace[name] ? [`“${piece}”: ${digits(own(name)[id])}`] : [];
    }
    case "probabilities":
      return [`likeliest: “${steps[at].rivals[0].piece}”, p = ${share(steps[at].rivals[0].p)}`];
    default:
      return [
        `first numbers: ${Array.from(own(name).subarray(0, 4), (x) => digits(x)).join(", ")}, …`,
      ];
  }
}

/** Words that differ: those of `b` that a longest common subsequence leaves out,
 * and how much of the longer of the two that is.
 * @param {string[]} a @param {string[]} b */
export function changed(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      table[i][j] =
        a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  const fresh = b.map(() => true);
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) {
      fresh[j] = false;
      i += 1;
      j += 1;
    } else if (table[i + 1][j] >= table[i][j + 1]) i += 1;
    else j += 1;
  }
  const longest = Math.max(a.length, b.length, 1);
  return { fresh, share: 1 - table[0][0] / longest };
}

/** What became of a translation: 0 the same, 1 the same words in another order, 2 less
 * than half of them new, 3 more. @param {string[]} a @param {string[]} b */
export function outcome(a, b) {
  const { share: part } = changed(a, b);
  const sorted = (/** @type {string[]} */ words) => [...words].sort().join(" ");
  if (part === 0) return 0;
  if (sorted(a) === sorted(b)) return 1;
  return part < 0.5 ? 2 : 3;
}

/** A station's whereabouts, in words. @param {Station} station */
export function where({ side, layer, part, kind }) {
  const what = facts.stations[kind][0];
  const in_ = side === "encoder" ? "Encoder" : "Decoder";
  return part ? `${in_}, layer ${layer + 1}, ${PARTS[part]}: ${what}` : `${in_}: ${what}`;
}

/** The step in words. @param {Station} station @param {Run} run
 * @param {import("./opened.js").State} state */
export function sentence(station, run, state) {
  const at = station.columns === "encoder" ? state.source : state.target;
  const word = (station.columns === "encoder" ? run.source : run.target)[at];
  const { kind, side, part } = station;
  const lead = `${where(station)}, for “${word}”.`;
  if (kind === "weights" && run.trace[station.name]) {
    const row = rowOf(run.trace, station.name, state.head, at);
    const best = row.indexOf(Math.max(...row));
    const keys = part === "cross" || side === "encoder" ? run.source : run.target;
    return `${lead} Head ${state.head + 1} attends most to ${quoted(keys, best)}, weight ${digits(row[best])}.`;
  }
  if (kind === "probabilities") {
    const { rivals } = run.steps[at];
    return `${lead} The likeliest next piece is “${rivals[0].piece}”, probability ${share(rivals[0].p)}.`;
  }
  return lead;
}
