// @ts-check
// A stack of layers at initialisation: how alike its tokens become on the way
// up, and how much gradient comes back down. Python: depth.py.
import { button, change, digits, element, frame, grey, lines, mount, scroller,
  tableButton, tableOf, transport, vector } from "./shared.js";

/** @typedef {import("./shared.js").Model} Model */
/** @typedef {number[][]} Matrix  rows of numbers */
/** @typedef {{tokens: number, depth: number, seed: number, residual: boolean,
 *   norm: string, feedforward: boolean, step: number}} State */

export const D = 16; // d_model; depth.py has the same
export const D_FF = 32;
const EPSILON = 1e-5;
const NORMS = { none: "none", post: "after the sum", pre: "before the part" };

/** Numbers from 0 up to 1, the same for the same seed: mulberry32.
 * @param {number} seed */
export function random(seed) {
  let a = seed | 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** A matrix of numbers between −most and most. @returns {Matrix} */
const draw = (next, rows, columns, most) => Array.from({ length: rows }, () =>
  Array.from({ length: columns }, () => (2 * next() - 1) * most));

/** The tokens, the weights of every layer and the direction that is asked of
 * the top; Xavier's bounds, no biases. Layer i is the same in every depth.
 * @param {State} state */
export function drawn({ seed, tokens, depth }) {
  const next = random(seed);
  const xavier = (rows, columns) => draw(next, rows, columns, Math.sqrt(6 / (rows + columns)));
  const x = draw(next, tokens, D, Math.sqrt(3));
  const asked = draw(next, tokens, D, Math.sqrt(3));
  const layers = Array.from({ length: depth }, () => ({ Q: xavier(D, D), K: xavier(D, D),
    V: xavier(D, D), O: xavier(D, D), one: xavier(D_FF, D), two: xavier(D, D_FF) }));
  return { x, asked, layers };
}

/** a bᵀ. @param {Matrix} a @param {Matrix} b @returns {Matrix} */
const timesT = (a, b) => a.map((row) => b.map((other) => dot(row, other)));
/** a b. @param {Matrix} a @param {Matrix} b @returns {Matrix} */
const times = (a, b) => timesT(a, transpose(b));
/** @param {Matrix} a @returns {Matrix} */
const transpose = (a) => a[0].map((_, k) => a.map((row) => row[k]));
/** @param {Matrix} a @param {Matrix} b @returns {Matrix} */
const plus = (a, b) => a.map((row, i) => row.map((x, k) => x + b[i][k]));
const dot = (a, b) => { let sum = 0; for (let k = 0; k < a.length; k++) sum += a[k] * b[k]; return sum; };
const mean = (row) => row.reduce((a, b) => a + b, 0) / row.length;
/** ‖a‖, the square root of the sum of all squares. @param {Matrix} a */
export const size = (a) => Math.sqrt(a.reduce((sum, row) => sum + dot(row, row), 0));

/** Attention with one head: its result, and the way back.
 * @param {Matrix} x @returns {[Matrix, (g: Matrix) => Matrix]} */
function attention(x, { Q, K, V, O }) {
  const scale = 1 / Math.sqrt(D);
  const [q, k, v] = [Q, K, V].map((W) => timesT(x, W));
  const A = timesT(q, k).map((row) => {
    const most = Math.max(...row);
    const raised = row.map((e) => Math.exp((e - most) * scale));
    const sum = raised.reduce((a, b) => a + b, 0);
    return raised.map((e) => e / sum);
  });
  const back = (g) => {
    const gContext = times(g, O);
    const gA = timesT(gContext, v);
    const gScores = A.map((row, i) => {
      const through = dot(row, gA[i]);
      return row.map((a, j) => a * (gA[i][j] - through) * scale);
    });
    const parts = [[times(gScores, k), Q], [times(transpose(gScores), q), K],
      [times(transpose(A), gContext), V]];
    return parts.map(([g, W]) => times(g, W)).reduce(plus);
  };
  return [timesT(times(A, v), O), back];
}

/** max(0, x W₁) W₂, and the way back.
 * @param {Matrix} x @returns {[Matrix, (g: Matrix) => Matrix]} */
function feedForward(x, { one, two }) {
  const hidden = timesT(x, one);
  const bent = hidden.map((row) => row.map((h) => Math.max(0, h)));
  const back = (g) => times(times(g, two).map((row, i) =>
    row.map((h, k) => (hidden[i][k] > 0 ? h : 0))), one);
  return [timesT(bent, two), back];
}

/** (x − μ) / √(σ² + ε) for each token, and the way back.
 * @param {Matrix} x @returns {[Matrix, (g: Matrix) => Matrix]} */
export function layerNorm(x) {
  const spread = x.map((row) => {
    const mu = mean(row);
    return Math.sqrt(mean(row.map((one) => (one - mu) ** 2)) + EPSILON);
  });
  const y = x.map((row, i) => { const mu = mean(row); return row.map((one) => (one - mu) / spread[i]); });
  const back = (g) => g.map((row, i) => {
    const [level, along] = [mean(row), dot(row, y[i]) / row.length];
    return row.map((one, k) => (one - level - y[i][k] * along) / spread[i]);
  });
  return [y, back];
}

/** What stands around one attention or feed-forward layer.
 * @param {State} state @returns {[Matrix, (g: Matrix) => Matrix]} */
function sublayer({ residual, norm }, x, f) {
  const [before, backBefore] = norm === "pre" ? layerNorm(x) : [x, (g) => g];
  const [change, backChange] = f(before);
  const sum = residual ? plus(x, change) : change;
  const [y, backAfter] = norm === "post" ? layerNorm(sum) : [sum, (g) => g];
  return [y, (g) => {
    const inner = backAfter(g);
    const through = backBefore(backChange(inner));
    return residual ? plus(inner, through) : through;
  }];
}

/** ‖X − 1 x̄ᵀ‖ / ‖X‖: how far the tokens are from their mean. @param {Matrix} x */
export function apart(x) {
  const middle = transpose(x).map(mean);
  return size(x.map((row) => row.map((one, k) => one - middle[k]))) / (size(x) || 1);
}

/** The whole stack, up and down. The gradient is that of Σ asked · top.
 * @param {State} state */
export function run(state) {
  const { x, asked, layers } = drawn(state);
  /** @type {Matrix[]} */
  const xs = [x];
  /** @type {((g: Matrix) => Matrix)[]} */
  const backs = [];
  for (const layer of layers) {
    let [y, back] = sublayer(state, xs[xs.length - 1], (z) => attention(z, layer));
    if (state.feedforward) {
      const [first, backFirst] = [y, back];
      const [second, backSecond] = sublayer(state, first, (z) => feedForward(z, layer));
      [y, back] = [second, (g) => backFirst(backSecond(g))];
    }
    xs.push(y);
    backs.push(back);
  }
  const gs = [asked];
  for (const back of [...backs].reverse()) gs.unshift(back(gs[0]));
  return { xs, apart: xs.map(apart), size: xs.map(size), gradient: gs.map(size) };
}

/** A number of any size: 0.12, or 3 · 10^−7 in words that a voice can read.
 * @param {number} x */
export function plain(x) {
  if (x === 0 || !Number.isFinite(x)) return String(x);
  if (x >= 0.01 && x < 1000) return digits(x, x < 10 ? 2 : 0);
  const power = Math.floor(Math.log10(x));
  return `${digits(x / 10 ** power, 1)}·10${[...String(power)].map((c) =>
    "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}`;
}

/** A power of ten on an axis. @param {number} p */
export const tick = (p) =>
  (p > -3 && p < 4 ? String(10 ** p) : plain(10 ** p).replace(/^1\.0·/, ""));

/** One step of the walk in words. @param {State} state */
export function sentence(state, now) {
  const { step, depth } = state;
  const where = step === 0 ? "Below the first layer" : `After layer ${step} of ${depth}`;
  const share = now.gradient[step] / now.gradient[depth];
  return `${where} the tokens lie ${plain(now.apart[step])} of their length away from their mean`
    + `${now.apart[step] < 0.01 ? ": as good as one token" : ""}. The gradient that arrives here is `
    + `${plain(share)} times that at the top.`;
}

/** @returns {State} */
const stateOf = (model) => Object.fromEntries(["tokens", "depth", "seed", "residual", "norm",
  "feedforward", "step"].map((name) => [name, model.get(name)]));

const svg = (tag, attributes, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, String(value)));
  node.append(...children);
  return node;
};

/** A line of numbers over the layers, on a scale of powers of ten. */
function chart(title, role, numbers, step, low, high) {
  const [W, H, left, right, top, bottom] = [320, 150, 40, 12, 12, 26];
  const last = numbers.length - 1;
  const px = (i) => left + (i / last) * (W - left - right);
  const py = (x) => {
    const power = Math.min(high, Math.max(low, Math.log10(Math.max(x, 1e-300))));
    return H - bottom - ((power - low) / (high - low)) * (H - top - bottom);
  };
  const every = Math.ceil((high - low) / 4);
  const ticks = [];
  for (let p = low; p <= high; p += every) ticks.push(p);
  const node = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "curve", "aria-hidden": "true" },
    ...ticks.flatMap((p) => [svg("path", { class: "rule", d: `M${left} ${py(10 ** p)}H${W - right}` }),
      svg("text", { x: left - 5, y: py(10 ** p) + 4, "text-anchor": "end" }, tick(p))]),
    svg("path", { class: "here", d: `M${px(step)} ${top}V${H - bottom}` }),
    svg("path", { class: "drawn", d: `M${numbers.map((x, i) => `${px(i)} ${py(x)}`).join("L")}` }),
    ...numbers.map((x, i) => svg("circle", { class: i === step ? "now" : "dot", cx: px(i), cy: py(x),
      r: i === step ? 5 : 2, "data-role": role, "data-value": x })),
    svg("text", { x: px(0), y: H - 8, "text-anchor": "middle" }, "0"),
    svg("text", { x: px(last), y: H - 8, "text-anchor": "middle" }, String(last)),
    svg("text", { x: (left + W - right) / 2, y: H - 8, "text-anchor": "middle" }, "layer"));
  return element("div", {}, element("p", { class: "head" }, title), node);
}

/** The switches and the depth. */
function switches(view) {
  const box = (name) => element("input", { type: "checkbox", "data-action": name,
    onchange: (event) => view.set({ [name]: event.target.checked }) });
  const [residual, feedforward] = [box("residual"), box("feedforward")];
  const norm = element("select", { "data-action": "norm",
    onchange: () => view.set({ norm: norm.value }) },
  ...Object.entries(NORMS).map(([value, text]) => element("option", { value }, text)));
  const depth = element("input", { type: "range", min: 1, max: 32, "data-action": "depth",
    oninput: () => view.set({ depth: Number(depth.value),
      step: Math.min(view.state().step, Number(depth.value)) }) });
  const deep = element("span", { class: "number" });
  const node = element("div", { class: "bar" }, element("label", {}, residual, "residual"),
    element("label", {}, feedforward, "feed-forward"), element("label", {}, "LayerNorm ", norm),
    element("label", {}, "layers ", depth, deep));
  return { node, draw(state) {
    [residual.checked, feedforward.checked] = [state.residual, state.feedforward];
    [norm.value, depth.value, deep.textContent] = [state.norm, state.depth, String(state.depth)];
  } };
}

/** The whole widget. @param {Model} model */
function build(model) {
  const [say, problem] = lines();
  const set = (changes) => change(model, changes);
  const state = () => { const now = stateOf(model); return { ...now, step: Math.min(now.step, now.depth) }; };
  const at = () => ({ step: state().step, last: state().depth });
  const walk = transport(at, (step) => set({ step }), 500);
  const knobs = switches({ set, state });
  const charts = element("div", { class: "charts" });
  const rows = Array.from({ length: model.get("tokens") }, () => vector(D, "token"));
  const stream = element("div", { class: "stream" },
    element("p", { class: "head" }, "The tokens at this layer, each scaled to its largest number"),
    ...rows.map((row, i) => element("div", {}, element("span", { class: "tag" }, `token ${i + 1}`), row)));
  const figure = element("div", {}, charts, stream);
  const table = scroller("every layer's numbers", { hidden: true });
  const again = button("again", "New weights", () => set({ seed: (model.get("seed") % 999) + 1 }));
  let [key, now] = ["", run(state())];
  function draw() {
    const given = state();
    const mine = JSON.stringify({ ...given, step: 0 });
    if (mine !== key) [key, now] = [mine, run(given)];
    const share = now.gradient.map((x) => x / now.gradient[given.depth]);
    const low = Math.max(-16, Math.min(-1, Math.floor(Math.log10(Math.max(1e-16, Math.min(...now.apart))))));
    const powers = share.map((x) => Math.log10(Math.max(x, 1e-300)));
    charts.replaceChildren(
      chart("How far apart the tokens are", "apart", now.apart, given.step, low, 0),
      chart("The gradient that arrives, top = 1", "share", share, given.step,
        Math.floor(Math.min(-1, ...powers)), Math.ceil(Math.max(1, ...powers))));
    now.xs[given.step].forEach((x, i) => rows[i].fill(x, Math.max(1e-300, ...x.map(Math.abs))));
    table.replaceChildren(tableOf(["layer", "apart", "size", "gradient"], now.xs.map((_, i) =>
      [String(i), plain(now.apart[i]), plain(now.size[i]), plain(share[i])])));
    knobs.draw(given);
    walk.draw();
    grey(again, false);
    say.textContent = sentence(given, now);
  }
  const node = frame("depth", "A stack of layers, walked one by one", at, walk.to,
    knobs.node, say, figure, table, problem,
    element("div", { class: "bar" }, ...walk.nodes, tableButton(figure, table), again));
  return { node, draw, stop: walk.stop };
}

/** @param {{model: Model, el: HTMLElement}} context */
const render = (context) => mount(context, ["tokens"],
  ["depth", "seed", "residual", "norm", "feedforward", "step"], build);

export default { render };
