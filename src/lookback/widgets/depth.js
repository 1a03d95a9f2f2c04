// @ts-check
// How alike a stack's tokens become on the way up, how long, and how much
// gradient comes back down. Python: depth.py; what is computed: stack.js.

import limits from "./depth.json" with { type: "json" };
import { among, flag, integer } from "./lib/link.js";
import { widest, within } from "./lib/maths.js";
import { plain } from "./lib/text.js";
import {
  bar,
  button,
  checkbox,
  element,
  frame,
  grey,
  scroller,
  select,
  slider,
  svg,
  tableButton,
  tableOf,
  transport,
  vector,
  voice,
  widget,
} from "./lib/view.js";
import { D, run } from "./stack.js";

/** @typedef {import("./stack.js").State} State */
/** @typedef {import("./lib/view.js").Model<State>} Model */

/** @type {[string, string][]} */
const NORMS = [
  ["none", "none"],
  ["post", "after the sum (post-norm)"],
  ["pre", "before the sublayer (pre-norm)"],
];
const LEAST = 1e-300; // the smallest number whose logarithm is drawn

/** A power of ten on an axis. @param {number} p */
export const tick = (p) =>
  p > -3 && p < 4 ? String(10 ** p) : plain(10 ** p).replace(/^1\.0·/, "");

/** One step of the walk in words.
 * @param {State} state @param {{apart: number[], size: number[], gradient: number[]}} now */
export function sentence(state, now) {
  const { step, depth } = state;
  const where = step === 0 ? "Below the first layer" : `After layer ${step} of ${depth}`;
  const share = plain(now.gradient[step] / now.gradient[depth]);
  const grown =
    step === 0
      ? ""
      : ` The vectors are ${plain(now.size[step] / now.size[0])} times as long as at the bottom.`;
  return (
    `${where} the tokens lie ${plain(now.apart[step])} of their length away from their mean` +
    `${now.apart[step] < 0.01 ? ": as good as one token" : ""}.${grown} ` +
    (step === depth
      ? "From here the gradient starts down, counted as 1."
      : `The gradient that arrives here is ${share} times that at the top.`)
  );
}

/** A line of numbers over the levels, on a scale of powers of ten.
 * @param {string} title @param {string} role @param {number[]} numbers
 * @param {number} step @param {number} low @param {number} high powers of ten */
function chart(title, role, numbers, step, low, high) {
  const [W, H, left, right, top, bottom] = [320, 150, 40, 12, 12, 26];
  const last = numbers.length - 1;
  /** @param {number} i */
  const px = (i) => left + (i / last) * (W - left - right);
  /** @param {number} x */
  const py = (x) => {
    const power = within(low, Math.log10(Math.max(x, LEAST)), high);
    return H - bottom - ((power - low) / (high - low)) * (H - top - bottom);
  };
  /** @param {number} x @param {number} y @param {string} text */
  const label = (x, y, text, end = "middle") => svg("text", { x, y, "text-anchor": end }, text);
  /** @param {number} p */
  const rule = (p) => [
    svg("path", { class: "rule", d: `M${left} ${py(10 ** p)}H${W - right}` }),
    label(left - 5, py(10 ** p) + 4, tick(p), "end"),
  ];
  /** @param {number} x @param {number} i */
  const point = (x, i) =>
    svg("circle", {
      class: i === step ? "now" : "dot",
      cx: px(i),
      cy: py(x),
      r: i === step ? 5 : 2,
      "data-role": role,
      "data-value": x,
    });
  const every = Math.ceil((high - low) / 4);
  const ticks = [];
  for (let p = low; p <= high; p += every) ticks.push(p);
  const line = numbers.map((x, i) => `${px(i)} ${py(x)}`).join("L");
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${W} ${H}`, class: "curve", "aria-hidden": "true" },
    ...ticks.flatMap(rule),
    svg("path", { class: "here", d: `M${px(step)} ${top}V${H - bottom}` }),
    svg("path", { class: "drawn", d: `M${line}` }),
    ...numbers.map(point),
    label(px(0), H - 8, "0"),
    label(px(last), H - 8, String(last)),
    label((left + W - right) / 2, H - 8, "level"),
  );
  return element("div", {}, element("p", { class: "head" }, title), element("div", {}, picture));
}

/** The switches and the depth.
 * @param {() => State} read @param {(changes: Partial<State>) => void} set */
function switches(read, set) {
  const residual = checkbox("residual", (on) => set({ residual: on }));
  const feedforward = checkbox("feedforward", (on) => set({ feedforward: on }));
  const norm = select("norm", NORMS, (value) => set({ norm: value }));
  const depth = slider("depth", { min: 1, max: limits.depth }, (value) =>
    set({ depth: value, step: Math.min(read().step, value) }),
  );
  const deep = element("span", { class: "number" });
  return {
    node: bar(
      element("label", {}, residual, "residual connections"),
      element("label", {}, feedforward, "feed-forward networks"),
      element("label", {}, "LayerNorm ", norm),
      element("label", {}, "layers ", depth, deep),
    ),
    /** @param {State} state */
    draw(state) {
      [residual.checked, feedforward.checked] = [state.residual, state.feedforward];
      norm.value = state.norm;
      [depth.value, deep.textContent] = [String(state.depth), String(state.depth)];
    },
  };
}

/** The whole widget. @param {Model} model @param {() => State} read */
function build(model, read) {
  const { say, problem, set } = voice(model);
  const state = () => {
    const now = read();
    return { ...now, step: Math.min(now.step, now.depth) };
  };
  const at = () => ({ step: state().step, last: state().depth });
  const walk = transport(at, (step) => set({ step }), 500);
  const knobs = switches(state, set);
  const charts = element("div", { class: "charts" });
  const rows = Array.from({ length: model.get("tokens") }, () => vector(D, "token"));
  const stream = element(
    "div",
    { class: "stream" },
    element("p", { class: "head" }, "The tokens at this level, each scaled to its largest number"),
    ...rows.map((row, i) =>
      element("div", {}, element("span", { class: "tag" }, `token ${i + 1}`), row.node),
    ),
  );
  const figure = element("div", {}, stream, charts);
  const table = scroller("every level's numbers", { hidden: true });
  const again = button("again", "New weights", () => set({ seed: (model.get("seed") % 999) + 1 }));
  let [key, now] = ["", run(state())];
  function draw() {
    const given = state();
    const mine = JSON.stringify({ ...given, step: 0 });
    if (mine !== key) [key, now] = [mine, run(given)];
    const share = now.gradient.map((x) => x / now.gradient[given.depth]);
    const size = now.size.map((x) => x / now.size[0]);
    const low = Math.max(
      -16,
      Math.min(-1, Math.floor(Math.log10(Math.max(1e-16, Math.min(...now.apart))))),
    );
    /** @param {string} title @param {string} role @param {number[]} numbers */
    const wide = (title, role, numbers) => {
      const powers = numbers.map((x) => Math.log10(Math.max(x, LEAST)));
      const low = Math.floor(Math.min(-1, ...powers));
      return chart(title, role, numbers, given.step, low, Math.ceil(Math.max(1, ...powers)));
    };
    charts.replaceChildren(
      chart("Token spread: how far apart the tokens are", "apart", now.apart, given.step, low, 0),
      wide("The gradient that arrives, top = 1", "share", share),
      wide("The length of the vectors, bottom = 1", "size", size),
    );
    now.xs[given.step].forEach((x, i) => rows[i].fill(x, widest(x, LEAST)));
    table.replaceChildren(
      tableOf(
        ["level", "token spread", "length", "gradient"],
        now.xs.map((_, i) => [String(i), plain(now.apart[i]), plain(now.size[i]), plain(share[i])]),
      ),
    );
    knobs.draw(given);
    walk.draw();
    grey(again, false);
    say.textContent = sentence(given, now);
  }
  const node = frame(
    "depth",
    "A stack of layers, one level at a time",
    at,
    walk.to,
    knobs.node,
    bar(...walk.nodes, again),
    say,
    figure,
    table,
    problem,
    bar(tableButton(figure, table)),
  );
  return { node, draw, stop: walk.stop };
}

export default widget(
  ["tokens"],
  ["depth", "seed", "residual", "norm", "feedforward", "step"],
  build,
  {
    depth: integer(1, limits.depth),
    seed: integer(0, 2 ** 31 - 1),
    residual: flag,
    norm: among(NORMS.map(([norm]) => norm)),
    feedforward: flag,
    step: integer(0, (s) => s.depth),
  },
);
