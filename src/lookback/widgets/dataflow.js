// @ts-check
// The tensors of a Transformer, station by station: what shape each has at the
// sizes that the reader sets, how many parameters make it and how many
// multiplications its matrix products take. Python: dataflow.py; the model is
// lookback/transformer.py.

import limits from "./dataflow.json" with { type: "json" };
import { among, integer } from "./lib/link.js";
import { grouped, readWhole } from "./lib/text.js";
import {
  bar,
  button,
  current,
  element,
  field,
  frame,
  press,
  scroller,
  show,
  tableButton,
  tableOf,
  transport,
  tune,
  voice,
  widget,
} from "./lib/view.js";

/** @typedef {keyof typeof limits} Knob */
/** @typedef {Record<Knob, number> & {mode: string}} Sizes */
/** @typedef {Sizes & {step: number}} State */
/** @typedef {import("./lib/view.js").Model<State>} Model */
/** @typedef {[string, number]} Axis a name and a length */
/** @typedef {keyof typeof PARTS} Part */
/** @typedef {{key: string, part: Part, name: string, shape: Axis[], copies: number,
 *   parameters: number, products: number, times: number, once: boolean, say: string}} Station */

export const PARTS = {
  source: "Source embedding",
  self: "Self-attention",
  inner: "Feed-forward",
  target: "Target embedding",
  masked: "Masked self-attention",
  cross: "Cross-attention",
  outer: "Feed-forward",
  out: "Output",
};
const ROUTE = /** @type {Part[]} */ (Object.keys(PARTS));
const KNOBS = /** @type {Knob[]} */ (Object.keys(limits));
/** @type {Partial<Record<Knob, string>>} */
const LABELS = { source: "source words", target: "target words" };
/** @type {Record<string, Partial<Sizes>>} */
const PRESETS = {
  ours: { d_model: 256, heads: 4, d_ff: 1024, layers: 3 },
  base: { d_model: 512, heads: 8, d_ff: 2048, layers: 6 },
  big: { d_model: 1024, heads: 16, d_ff: 4096, layers: 6 },
};

/** What is wrong with these sizes, or "". @param {Sizes} sizes */
export function refuse(sizes) {
  for (const name of KNOBS) {
    const n = sizes[name];
    if (!Number.isInteger(n) || n < 1 || n > limits[name]) {
      return `${name} is ${n}: give a whole number from 1 to ${grouped(limits[name])}`;
    }
  }
  const { d_model, heads } = sizes;
  if (d_model % 2) return `d_model is ${d_model}: sines and cosines come in pairs, so even`;
  if (d_model % heads) return `${heads} heads cannot share ${d_model} numbers equally`;
  return "";
}

/** All stations, in the order in which the data passes them.
 * @param {Sizes} sizes @returns {Station[]} */
export function stations(sizes) {
  const { batch, source, target, d_model: d, heads: h, d_ff, layers, vocab, mode } = sizes;
  const serial = mode === "generation";
  /** @type {Station[]} */
  const all = [];
  /** @type {Axis} */ const B = ["batch", batch];
  /** @type {Axis} */ const D = ["d_model", d];
  /** @type {Axis} */ const S = ["source", source];
  /** @type {Axis} */ const Q = ["target", serial ? 1 : target];
  /** @type {Axis} */ const K = ["target", target];
  /** One more station. @param {Part} part @param {string} name @param {Axis[]} shape
   * @param {string} say
   * @param {Partial<Pick<Station, "parameters" | "products" | "copies" | "once">>} [more] */
  const stop = (part, name, shape, say, more) =>
    all.push({
      key: `${part}/${name}`,
      part,
      name,
      shape,
      copies: 1,
      parameters: 0,
      products: 0,
      once: serial && ["source", "self", "inner"].includes(part),
      say,
      times: ["source", "target", "out"].includes(part) ? 1 : layers,
      ...more,
    });
  /** Words become vectors. @param {Part} part @param {Axis} length @param {boolean} tied */
  const place = (part, length, tied) => {
    /** @type {Axis[]} */
    const x = [B, length, D];
    stop(part, "words", [B, length], "One number for each word, its row in the vocabulary.");
    stop(
      part,
      "embedding",
      x,
      tied ? "The same matrix again: it is counted once." : "Each number fetches its row of E.",
      { parameters: tied ? 0 : vocab * d },
    );
    stop(part, "× √d_model", x, `Every number is multiplied by √${d}.`);
    stop(
      part,
      "+ position",
      x,
      "The sines and cosines of the place are added. " +
        (serial && tied ? `The place is ${target - 1}, counted from 0.` : "Nothing is learned."),
    );
  };
  /** What stands around a part. @param {Part} part @param {Axis} length */
  const wrap = (part, length) => {
    stop(part, "add", [B, length, D], "What came in is added to what came out.");
    stop(
      part,
      "norm",
      [B, length, D],
      "Each vector is centered and scaled; gain and shift are learned.",
      { parameters: 2 * d },
    );
  };
  /** Queries from q, keys and values from k, of which `fresh` are made now.
   * @param {Part} part @param {Axis} q @param {Axis} k @param {Axis} fresh
   * @param {Axis[]} mask @param {string} told of the mask */
  const attention = (part, q, k, fresh, mask, told) => {
    /** @type {Axis[]} */
    const looks = [B, ["heads", h], q, k];
    /** @param {Axis} length @returns {Axis[]} */
    const each = (length) => [B, ["heads", h], length, ["d_k", d / h]];
    const one = d * d + d;
    const ready = serial && part === "cross";
    stop(part, "W_Q", [B, q, D], "Queries, all heads side by side.", {
      parameters: one,
      products: batch * q[1] * d * d,
    });
    stop(
      part,
      "W_K, W_V",
      [B, fresh, D],
      ready
        ? "Keys and values of the source wait in the memory: made once, when it was read."
        : "Keys and values, two tensors of one shape.",
      {
        parameters: 2 * one,
        copies: 2,
        products: 2 * batch * fresh[1] * d * d,
        ...(ready ? { once: true } : {}),
      },
    );
    stop(
      part,
      "split queries",
      each(q),
      `${d} numbers become ${h} × ${d / h}. Nothing is computed.`,
    );
    stop(
      part,
      "keys, values",
      each(k),
      serial && part === "masked"
        ? `${target - 1} from the cache and the new one, set end to end.`
        : "Split in the same way.",
      { copies: 2 },
    );
    stop(part, "scores", looks, "Each query times each key, divided by √d_k.", {
      products: batch * h * q[1] * k[1] * (d / h),
    });
    stop(part, "mask", mask, told);
    stop(part, "softmax", looks, "Each row becomes weights that sum to 1.");
    stop(part, "mix", each(q), "The values, averaged with the weights, head by head.", {
      products: batch * h * q[1] * k[1] * (d / h),
    });
    stop(part, "concat", [B, q, D], "The heads are set end to end again. Nothing is computed.");
    stop(part, "W_O", [B, q, D], "One more matrix mixes what the heads found.", {
      parameters: one,
      products: batch * q[1] * d * d,
    });
    wrap(part, q);
  };
  /** @param {Part} part @param {Axis} length */
  const feed = (part, length) => {
    const products = batch * length[1] * d * d_ff;
    stop(
      part,
      "W_1, ReLU",
      [B, length, ["d_ff", d_ff]],
      "Every position on its own: wider, and what is negative becomes 0.",
      { parameters: d * d_ff + d_ff, products },
    );
    stop(part, "W_2", [B, length, D], "And back to the old width.", {
      parameters: d_ff * d + d,
      products,
    });
    wrap(part, length);
  };
  /** @type {Axis[]} */
  const padding = [B, ["1", 1], ["1", 1], S];
  const hides = "True where there is a word and no padding; the rest gets −∞.";
  place("source", S, false);
  attention("self", S, S, S, padding, hides);
  feed("inner", S);
  place("target", Q, true);
  attention(
    "masked",
    Q,
    K,
    Q,
    serial ? [B, ["heads", h], Q, K] : [K, K],
    serial
      ? "No mask is needed: words that are not written yet have no keys. The scores stay."
      : "True up to the word's own place; the future gets −∞.",
  );
  attention("cross", Q, S, S, padding, hides);
  feed("outer", Q);
  stop(
    "out",
    "logits",
    [B, Q, ["vocab", vocab]],
    "Times the rows of the embedding, so no parameters of its own.",
    { products: batch * Q[1] * d * vocab },
  );
  stop(
    "out",
    "softmax",
    [B, Q, ["vocab", vocab]],
    serial
      ? "A probability for every word of the vocabulary; one word is chosen, and the next step begins."
      : "At every place a probability for every word of the vocabulary.",
  );
  return all;
}

/** How many numbers a station's tensor holds. @param {Station} station */
export const elements = ({ shape, copies }) => shape.reduce((n, [, each]) => n * each, copies);

/** All layers together: parameters, the products of one pass, and those made
 * once for a sentence, before its first word. @param {Station[]} all */
export function totals(all) {
  /** @param {Station[]} part @param {"parameters" | "products"} of */
  const sum = (part, of) => part.reduce((n, one) => n + one[of] * one.times, 0);
  return {
    parameters: sum(all, "parameters"),
    products: sum(
      all.filter((one) => !one.once),
      "products",
    ),
    once: sum(
      all.filter((one) => one.once),
      "products",
    ),
  };
}

/** @param {Station} station */
export const shapeOf = ({ shape }) =>
  shape.map(([name, n]) => (name === "1" ? "1" : `${name} ${grouped(n)}`)).join(" × ");
/** @param {Part} part */
export const side = (part) => (["source", "self", "inner"].includes(part) ? "encoder" : "decoder");

/** The station in words. @param {Station[]} all @param {number} step */
export function sentence(all, step) {
  const one = all[step];
  const layers = one.times > 1 ? ` (one of ${one.times} layers)` : "";
  /** @param {number} n @param {string} what */
  const count = (n, what) => (n ? `${grouped(n)} ${what}` : `no ${what}`);
  return (
    `${step + 1} of ${all.length}. ${side(one.part) === "encoder" ? "Encoder" : "Decoder"}, ` +
    `${PARTS[one.part].toLowerCase()}${layers}: ${one.name}. ${one.say} ${one.copies > 1 ? "Each: " : ""}${shapeOf(one)}, ` +
    `${one.copies > 1 ? "together " : ""}${grouped(elements(one))} numbers; ` +
    `${count(one.parameters, "parameters")}; ${count(one.products, "multiply-accumulates")}` +
    `${one.once && one.products ? ", made once, when the source is read" : ""}.`
  );
}

/** The fields, the presets and the two modes.
 * @param {() => State} read
 * @param {{set: (changes: Partial<State>) => void, complain: (text: string) => void,
 *   draw: () => void}} view */
function controls(read, view) {
  const fields = KNOBS.map((name) => {
    const box = field(name, { inputmode: "numeric" }, (typed) => {
      const value = readWhole(typed);
      const wrong = Number.isNaN(value)
        ? `${name}: “${typed.trim()}” is not a whole number`
        : refuse({ ...read(), [name]: value });
      if (!wrong) return view.set({ [name]: value });
      view.draw();
      view.complain(`${wrong}. It stays ${grouped(read()[name])}.`);
    });
    return { name, box, node: element("label", { class: "knob" }, LABELS[name] ?? name, box) };
  });
  const modes = ["training", "generation"].map((mode) => ({
    mode,
    node: button(mode, mode, () => view.set({ mode })),
  }));
  const presets = Object.entries(PRESETS).map(([name, sizes]) => ({
    sizes,
    node: button(name, name, () => view.set(sizes), `sizes: ${name}`),
  }));
  return {
    node: element(
      "div",
      {},
      element("div", { class: "knobs" }, ...fields.map((one) => one.node)),
      bar(
        ...modes.map((one) => one.node),
        element("span", { class: "gap" }),
        ...presets.map((one) => one.node),
      ),
    ),
    /** @param {State} state */
    draw(state) {
      for (const { name, box } of fields) box.value = grouped(state[name]);
      for (const { mode, node } of modes) press(node, mode === state.mode);
      for (const { sizes, node } of presets) {
        press(
          node,
          KNOBS.every((name) => (sizes[name] ?? state[name]) === state[name]),
        );
      }
    },
  };
}

/** The route: two columns of boxes, each with a dot for every station.
 * @param {Station[]} all @param {(step: number) => void} go */
function route(all, go) {
  const boxes = ROUTE.map((part) => {
    const first = all.findIndex((one) => one.part === part);
    const inside = all.filter((one) => one.part === part);
    const dots = inside.map(() => element("i"));
    const node = element(
      "button",
      {
        type: "button",
        class: "leg",
        "data-action": `part-${part}`,
        "aria-label": `${side(part)}: ${PARTS[part]}`,
        onclick: () => go(first),
      },
      PARTS[part],
      element("span", { class: "dots", "aria-hidden": "true" }, ...dots),
    );
    return { part, first, node, dots };
  });
  /** @param {string} which @param {...Node} more */
  const column = (which, ...more) =>
    element(
      "div",
      { class: "column" },
      element("p", { class: "side" }, which),
      ...boxes.filter(({ part }) => side(part) === which).map((box) => box.node),
      ...more,
    );
  const over = element("p", { class: "over" }, "keys and values →");
  return {
    node: element("div", { class: "path" }, column("encoder", over), column("decoder")),
    /** @param {number} step */
    draw(step) {
      boxes.forEach(({ first, node, dots }) => {
        const inside = step >= first && step < first + dots.length;
        current(node, inside);
        dots.forEach((dot, i) => dot.classList.toggle("now", first + i === step));
      });
    },
  };
}

/** The tensor of a station: its axes, its counts, and a box in proportion. */
function tensor() {
  const axes = element("p", { class: "axes" });
  const [held, weights, made] = ["elements", "parameters", "products"].map((role) =>
    element("b", { "data-role": role }),
  );
  const box = element("div", { class: "tensor", "aria-hidden": "true" });
  const sum = element("p", { class: "sum" });
  return {
    node: element(
      "div",
      { class: "shown" },
      element("div", { class: "sheet" }, box),
      element(
        "div",
        {},
        axes,
        element(
          "p",
          { class: "counts" },
          held,
          " numbers · ",
          weights,
          " parameters · ",
          made,
          " multiply-accumulates",
        ),
        sum,
      ),
    ),
    /** @param {Station} one @param {ReturnType<typeof totals>} all @param {string} mode */
    draw(one, all, mode) {
      axes.replaceChildren(
        ...one.shape.map(([name, n]) =>
          element(
            "span",
            { class: "length", "data-role": "axis", "data-name": name, "data-value": n },
            name === "1" ? "1" : `${name} ${grouped(n)}`,
          ),
        ),
      );
      show(held, elements(one), grouped(elements(one)));
      show(weights, one.parameters, grouped(one.parameters));
      show(made, one.products, grouped(one.products));
      const [rows, columns] = one.shape.slice(-2).map(([, n]) => Math.log2(n + 1) / 20);
      tune(box, "--rows", rows);
      tune(box, "--columns", columns);
      sum.textContent =
        `The whole model: ${grouped(all.parameters)} parameters. ` +
        (mode === "training"
          ? `One pass forward: ${grouped(all.products)} multiply-accumulates.`
          : `Reading the source, once: ${grouped(all.once)} multiply-accumulates. This one word more: ` +
            `${grouped(all.products)}.`);
    },
  };
}

/** The whole widget. @param {Model} model @param {() => State} read */
function build(model, read) {
  const { say, problem, complain, set } = voice(model);
  const first = stations(read());
  const last = first.length - 1;
  const at = () => ({ step: Math.min(model.get("step"), last), last });
  const walk = transport(at, (step) => set({ step }));
  const top = controls(read, { set, complain, draw });
  const [path, shown] = [route(first, walk.to), tensor()];
  const figure = element("div", {}, path.node, shown.node);
  const table = scroller("every station", { hidden: true });
  function draw() {
    const [{ step }, sizes] = [at(), read()];
    const all = stations(sizes);
    top.draw(sizes);
    path.draw(step);
    walk.draw();
    shown.draw(all[step], totals(all), sizes.mode);
    table.replaceChildren(
      tableOf(
        ["station", "shape", "numbers", "parameters", "multiply-accumulates", "layers"],
        all.map((one) => [
          `${PARTS[one.part]}: ${one.name}`,
          shapeOf(one),
          grouped(elements(one)),
          grouped(one.parameters),
          grouped(one.products),
          String(one.times),
        ]),
      ),
    );
    say.textContent = sentence(all, step);
  }
  const node = frame(
    "dataflow",
    "The tensors of a Transformer, station by station",
    at,
    walk.to,
    top.node,
    problem,
    bar(...walk.nodes, tableButton(figure, table)),
    say,
    figure,
    table,
  );
  return { node, draw, stop: walk.stop };
}

export default widget([], [...KNOBS, "mode", "step"], build, {
  ...Object.fromEntries(KNOBS.map((name) => [name, (_, s) => refuse(s) === ""])),
  mode: among(["training", "generation"]),
  step: integer(0, (s) => stations(s).length - 1),
});
