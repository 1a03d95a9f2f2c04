// @ts-check
// How alike a stack's tokens become on the way up, and how much gradient comes
// back down. Python: depth.py; what is computed: stack.js.
import {
  button,
  change,
  digits,
  element,
  frame,
  grey,
  lines,
  mount,
  scroller,
  tableButton,
  tableOf,
  transport,
  vector,
} from "./shared.js";
import { D, run } from "./stack.js";

/** @typedef {import("./shared.js").Model} Model */
/** @typedef {import("./stack.js").State} State */

const NORMS = { none: "none", post: "after the sum", pre: "before the part" };

/** A number of any size: 0.12, or 3 · 10^−7 in words that a voice can read.
 * @param {number} x */
export function plain(x) {
  if (x === 0 || !Number.isFinite(x)) return String(x);
  if (x >= 0.01 && x < 1000) return digits(x, x < 10 ? 2 : 0);
  const power = Math.floor(Math.log10(x));
  return `${digits(x / 10 ** power, 1)}·10${[...String(power)]
    .map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)])
    .join("")}`;
}

/** A power of ten on an axis. @param {number} p */
export const tick = (p) =>
  p > -3 && p < 4 ? String(10 ** p) : plain(10 ** p).replace(/^1\.0·/, "");

/** One step of the walk in words. @param {State} state */
export function sentence(state, now) {
  const { step, depth } = state;
  const where = step === 0 ? "Below the first layer" : `After layer ${step} of ${depth}`;
  const share = plain(now.gradient[step] / now.gradient[depth]);
  return (
    `${where} the tokens lie ${plain(now.apart[step])} of their length away from their mean` +
    `${now.apart[step] < 0.01 ? ": as good as one token" : ""}. ` +
    (step === depth
      ? "From here the gradient starts down, counted as 1."
      : `The gradient that arrives here is ${share} times that at the top.`)
  );
}

/** @returns {State} */
const stateOf = (model) =>
  Object.fromEntries(
    ["tokens", "depth", "seed", "residual", "norm", "feedforward", "step"].map((name) => [
      name,
      model.get(name),
    ]),
  );

/** A line of numbers over the levels, on a scale of powers of ten. */
function chart(title, role, numbers, step, low, high) {
  const [W, H, left, right, top, bottom] = [320, 150, 40, 12, 12, 26];
  const last = numbers.length - 1;
  const px = (i) => left + (i / last) * (W - left - right);
  const py = (x) => {
    const power = Math.min(high, Math.max(low, Math.log10(Math.max(x, 1e-300))));
    return H - bottom - ((power - low) / (high - low)) * (H - top - bottom);
  };
  const label = (x, y, text, end = "middle") =>
    `<text x="${x}" y="${y}" text-anchor="${end}">${text}</text>`;
  const rule = (p) =>
    `<path class="rule" d="M${left} ${py(10 ** p)}H${W - right}"/>` +
    label(left - 5, py(10 ** p) + 4, tick(p), "end");
  const point = (x, i) =>
    `<circle class="${i === step ? "now" : "dot"}" cx="${px(i)}" cy="${py(x)}"` +
    ` r="${i === step ? 5 : 2}" data-role="${role}" data-value="${x}"/>`;
  const every = Math.ceil((high - low) / 4);
  const ticks = [];
  for (let p = low; p <= high; p += every) ticks.push(p);
  const picture = element("div");
  picture.innerHTML =
    `<svg viewBox="0 0 ${W} ${H}" class="curve" aria-hidden="true">` +
    ticks.map(rule).join("") +
    `<path class="here" d="M${px(step)} ${top}V${H - bottom}"/>` +
    `<path class="drawn" d="M${numbers.map((x, i) => `${px(i)} ${py(x)}`).join("L")}"/>` +
    numbers.map(point).join("") +
    label(px(0), H - 8, "0") +
    label(px(last), H - 8, last) +
    `${label((left + W - right) / 2, H - 8, "level")}</svg>`;
  return element("div", {}, element("p", { class: "head" }, title), picture);
}

/** The switches and the depth. */
function switches(view) {
  const box = (name) =>
    element("input", {
      type: "checkbox",
      "data-action": name,
      onchange: (event) => view.set({ [name]: event.target.checked }),
    });
  const [residual, feedforward] = [box("residual"), box("feedforward")];
  const norm = element(
    "select",
    { "data-action": "norm", onchange: () => view.set({ norm: norm.value }) },
    ...Object.entries(NORMS).map(([value, text]) => element("option", { value }, text)),
  );
  const depth = element("input", {
    type: "range",
    min: 1,
    max: 32,
    "data-action": "depth",
    oninput: () =>
      view.set({
        depth: Number(depth.value),
        step: Math.min(view.state().step, Number(depth.value)),
      }),
  });
  const deep = element("span", { class: "number" });
  const node = element(
    "div",
    { class: "bar" },
    element("label", {}, residual, "residual"),
    element("label", {}, feedforward, "feed-forward"),
    element("label", {}, "LayerNorm ", norm),
    element("label", {}, "layers ", depth, deep),
  );
  return {
    node,
    draw(state) {
      [residual.checked, feedforward.checked] = [state.residual, state.feedforward];
      [norm.value, depth.value, deep.textContent] = [state.norm, state.depth, String(state.depth)];
    },
  };
}

/** The whole widget. @param {Model} model */
function build(model) {
  const [say, problem] = lines();
  const set = (changes) => change(model, changes);
  const state = () => {
    const now = stateOf(model);
    return { ...now, step: Math.min(now.step, now.depth) };
  };
  const at = () => ({ step: state().step, last: state().depth });
  const walk = transport(at, (step) => set({ step }), 500);
  const knobs = switches({ set, state });
  const charts = element("div", { class: "charts" });
  const rows = Array.from({ length: model.get("tokens") }, () => vector(D, "token"));
  const stream = element(
    "div",
    { class: "stream" },
    element("p", { class: "head" }, "The tokens at this level, each scaled to its largest number"),
    ...rows.map((row, i) =>
      element("div", {}, element("span", { class: "tag" }, `token ${i + 1}`), row),
    ),
  );
  const figure = element("div", {}, charts, stream);
  const table = scroller("every level's numbers", { hidden: true });
  const again = button("again", "New weights", () => set({ seed: (model.get("seed") % 999) + 1 }));
  let [key, now] = ["", run(state())];
  function draw() {
    const given = state();
    const mine = JSON.stringify({ ...given, step: 0 });
    if (mine !== key) [key, now] = [mine, run(given)];
    const share = now.gradient.map((x) => x / now.gradient[given.depth]);
    const low = Math.max(
      -16,
      Math.min(-1, Math.floor(Math.log10(Math.max(1e-16, Math.min(...now.apart))))),
    );
    const powers = share.map((x) => Math.log10(Math.max(x, 1e-300)));
    charts.replaceChildren(
      chart("How far apart the tokens are", "apart", now.apart, given.step, low, 0),
      chart(
        "The gradient that arrives, top = 1",
        "share",
        share,
        given.step,
        Math.floor(Math.min(-1, ...powers)),
        Math.ceil(Math.max(1, ...powers)),
      ),
    );
    now.xs[given.step].forEach((x, i) => rows[i].fill(x, Math.max(1e-300, ...x.map(Math.abs))));
    table.replaceChildren(
      tableOf(
        ["level", "apart", "size", "gradient"],
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
    "A stack of layers, walked one by one",
    at,
    walk.to,
    knobs.node,
    say,
    figure,
    table,
    problem,
    element("div", { class: "bar" }, ...walk.nodes, tableButton(figure, table), again),
  );
  return { node, draw, stop: walk.stop };
}

/** @param {{model: Model, el: HTMLElement}} context */
const render = (context) =>
  mount(context, ["tokens"], ["depth", "seed", "residual", "norm", "feedforward", "step"], build);

export default { render };
