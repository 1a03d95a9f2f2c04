// @ts-check
// A soft dictionary: a query moved among keys in the plane, what it scores,
// how it shares itself out, and what it brings back. Python: lookup.py.
import {
  button,
  change,
  digits,
  element,
  frame,
  grey,
  lines,
  mix,
  mount,
  scroller,
  softmax,
  tableButton,
  tableOf,
  vector,
} from "./shared.js";

/** @typedef {import("./shared.js").Model} Model */
/** @typedef {{labels: string[], key: number[][], value: number[][], query: number[],
 *   temperature: number, mask: boolean[], step: number}} State */

const STAGES = ["Compare", "Share", "Mix"];
const HEAT = 41; // the slider's last place; 0 is the temperature 0, and 27 is 1

/** Scores, weights and answer. At temperature 0 the best key takes all, and
 * equally good ones share.
 * @param {{key: number[][], value: number[][], query: number[],
 *   temperature: number, mask: boolean[]}} state */
export function lookup({ key, value, query, temperature, mask }) {
  const scores = key.map((one, j) =>
    mask[j] ? one.reduce((sum, k, d) => sum + k * query[d], 0) / Math.sqrt(one.length) : -Infinity,
  );
  const best = Math.max(...scores);
  const hard = scores.map((score) => Number(score >= best - 1e-12));
  const weights =
    temperature > 0
      ? softmax(scores.map((score) => score / temperature))
      : hard.map((one) => one / hard.reduce((a, b) => a + b, 0));
  return { scores, weights, answer: mix(weights, value) };
}

/** `size` numbers as people type them, or what is wrong with the text.
 * @param {string} text @param {number} size
 * @returns {{numbers?: number[], problem?: string}} */
export function readNumbers(text, size) {
  const parts = text
    .replaceAll("\u2212", "-")
    .split(/[\s,;()[\]]+/)
    .filter(Boolean);
  const wrong = parts.find((part) => !Number.isFinite(Number(part)));
  if (wrong !== undefined) return { problem: `“${wrong}” is not a number` };
  if (parts.length !== size) {
    return { problem: `“${text.trim()}” holds ${parts.length} numbers, and ${size} are needed` };
  }
  return { numbers: parts.map(Number) };
}

/** From the slider's place to the temperature and back: 0, then 0.05 to 5. */
export const heatOf = (place) =>
  place <= 0 ? 0 : Number((0.05 * 100 ** ((place - 1) / (HEAT - 1))).toPrecision(2));
const placeOf = (heat) =>
  heat <= 0 ? 0 : Math.max(1, Math.round(1 + ((HEAT - 1) * Math.log10(heat / 0.05)) / 2));

const spread = (numbers, places = 2) => `(${numbers.map((x) => digits(x, places)).join(", ")})`;

/** What happens at a stage, with the actual numbers.
 * @param {State} state @param {number} step */
export function sentence(state, step) {
  const { scores, weights, answer } = lookup(state);
  const rank = scores
    .map((_, j) => j)
    .filter((j) => state.mask[j])
    .sort((a, b) => scores[b] - scores[a]);
  const [best, next] = rank.map((j) => `“${state.labels[j]}”`);
  const out = state.labels.filter((_, j) => !state.mask[j]).map((label) => `“${label}”`);
  const masked = out.length ? ` Masked, with score −∞: ${out.join(", ")}.` : "";
  switch (step) {
    case 0:
      return (
        `The query ${spread(state.query)} meets every key: multiply number by ` +
        `number, add, divide by √2. The best is ${best}, ${digits(scores[rank[0]])}.${masked}`
      );
    case 1:
      return state.temperature === 0
        ? `At temperature 0 the choice is hard: ${best} has ${digits(weights[rank[0]])}, whatever ` +
            `the distance to the others.${masked}`
        : `Softmax at temperature ${state.temperature}: ${best} gets ${digits(weights[rank[0]], 3)}` +
            `${rank.length > 1 ? `, then ${next} ${digits(weights[rank[1]], 3)}` : ""}.${masked}`;
    default:
      return `Each value times its weight, added up: the answer is ${spread(answer)}.`;
  }
}

const TRAITS = ["labels", "key", "value", "query", "temperature", "mask", "step"];
/** @returns {State} */
const stateOf = (model) =>
  /** @type {any} */ (Object.fromEntries(TRAITS.map((name) => [name, model.get(name)])));

/** An element of SVG; the parser knows its namespace. */
function shape(tag, attributes, ...children) {
  const holder = element("div");
  holder.innerHTML = `<svg><${tag}></${tag}></svg>`;
  const node = holder.firstChild.firstChild;
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  node.append(...children);
  return node;
}

/** The keys and the query in the plane; the query may be dragged, to ±limit. */
function plane(view, labels, limit) {
  let reach = limit;
  const at = ([x, y]) => [100 + (90 * x) / reach, 100 - (90 * y) / reach];
  const svg = shape(
    "svg",
    { viewBox: "0 0 200 200", class: "plane", "aria-hidden": "true" },
    shape("path", { d: "M4 100H196M100 4V196", class: "axis" }),
  );
  const dots = labels.map((label) => {
    const [dot, name] = [shape("circle", { class: "key" }), shape("text", {}, label)];
    svg.append(dot, name);
    return { dot, name };
  });
  const arrow = shape("line", { x1: 100, y1: 100, class: "query" });
  const handle = shape("circle", { r: 7, class: "query" });
  const grip = shape("circle", { r: 22, class: "grip" });
  svg.append(arrow, handle, grip);
  const move = (event) => {
    const box = svg.getBoundingClientRect();
    const raw = [
      (event.clientX - box.left) / box.width,
      1 - (event.clientY - box.top) / box.height,
    ];
    const query = raw.map((x) =>
      Math.min(limit, Math.max(-limit, Math.round(((200 * x - 100) / 90) * reach * 20) / 20)),
    );
    view.set({ query });
  };
  grip.addEventListener("pointerdown", (event) => grip.setPointerCapture(event.pointerId));
  grip.addEventListener("pointermove", (event) => {
    if (grip.hasPointerCapture(event.pointerId)) move(event);
  });
  svg.addEventListener("click", move);
  const put = (node, names, [x, y]) =>
    names.forEach((name, i) => node.setAttribute(name, String(i ? y : x)));
  return {
    node: svg,
    draw(state, weights) {
      reach = Math.max(limit, ...state.key.flat().map(Math.abs));
      dots.forEach(({ dot, name }, j) => {
        const [x, y] = at(state.key[j]);
        put(dot, ["cx", "cy"], [x, y]);
        put(name, ["x", "y"], [Math.min(196, Math.max(4, x)), y + (y > 175 ? -15 : 22)]);
        name.style.textAnchor = x > 165 ? "end" : x < 35 ? "start" : "middle";
        dot.setAttribute("r", String(4 + 8 * Math.sqrt(state.step ? weights[j] : 0)));
        dot.classList.toggle("masked", !state.mask[j]);
      });
      put(arrow, ["x2", "y2"], at(state.query));
      [handle, grip].forEach((one) => put(one, ["cx", "cy"], at(state.query)));
    },
  };
}

/** One entry: whether it may be looked at, its key and value, its numbers. */
function entry(view, label, j, size) {
  const replaced = (name, one) => view.state()[name].map((old, i) => (i === j ? one : old));
  const box = (name, count) =>
    element("input", {
      type: "text",
      autocomplete: "off",
      "data-action": name,
      "aria-label": `${name} of ${label}`,
      onchange: (event) => {
        const { numbers, problem } = readNumbers(event.target.value, count);
        if (numbers) return view.set({ [name]: replaced(name, numbers) });
        view.draw();
        view.complain(
          `${problem}, so the ${name} of “${label}” stays ` + `${spread(view.state()[name][j])}.`,
        );
      },
    });
  const [key, value] = [box("key", 2), box("value", size)];
  const may = element("input", {
    type: "checkbox",
    "data-action": "mask",
    "aria-label": `${label} may be looked at`,
    onchange: () => {
      const mask = replaced("mask", may.checked);
      if (mask.some(Boolean)) return view.set({ mask });
      view.draw();
      view.complain(`A query needs at least one key to look at, so “${label}” stays.`);
    },
  });
  const score = element("span", { class: "number", "data-role": "score" });
  const bar = element("span", { class: "fill" });
  const track = element("span", { class: "track", "aria-hidden": "true" }, bar);
  const weight = element("span", { class: "number", "data-role": "weight" });
  const node = element(
    "div",
    { class: "pair" },
    element("label", {}, may, element("b", {}, label)),
    key,
    value,
    score,
    track,
    weight,
  );
  return {
    node,
    draw(state, now) {
      const show = (x) => x.map((one) => Math.round(one * 1e4) / 1e4).join(", ");
      may.checked = state.mask[j];
      [key.value, value.value] = [show(state.key[j]), show(state.value[j])];
      const finite = Number.isFinite(now.scores[j]);
      score.textContent = finite ? digits(now.scores[j]) : "−∞";
      score.dataset.value = String(now.scores[j]);
      weight.textContent = digits(now.weights[j], 3);
      weight.dataset.value = String(now.weights[j]);
      bar.style.width = `${100 * now.weights[j]}%`;
      [track.style.visibility, weight.style.visibility] = Array(2).fill(
        state.step ? "visible" : "hidden",
      );
    },
  };
}

/** The stages, the query's two sliders, the temperature. */
function controls(view, first, reach, table) {
  const rail = STAGES.map((name, i) => button("stage", name, () => view.go(i)));
  const slide = (action, name, attributes, oninput) => {
    const node = element("input", { type: "range", "data-action": action, ...attributes, oninput });
    const number = element("span", { class: "number" });
    return { node, number, label: element("label", {}, `${name} `, node, " ", number) };
  };
  const sliders = ["query →", "query ↑"].map((name, d) =>
    slide(`query-${d + 1}`, name, { min: -reach, max: reach, step: 0.05 }, (event) =>
      view.set({
        query: view.state().query.map((old, i) => (i === d ? Number(event.target.value) : old)),
      }),
    ),
  );
  const heat = slide("temperature", "temperature", { min: 0, max: HEAT, step: 1 }, (event) =>
    view.set({ temperature: heatOf(Number(event.target.value)) }),
  );
  const back = button("previous", "‹ Back", () => view.go(view.state().step - 1));
  const next = button("next", "Next ›", () => view.go(view.state().step + 1));
  const { step: _, labels: __, ...start } = first;
  const reset = button("reset", "Reset", () => view.set(start));
  return {
    top: element("div", { class: "bar rail", role: "group", "aria-label": "stages" }, ...rail),
    foot: element(
      "div",
      {},
      element("div", { class: "bar" }, ...[...sliders, heat].map((one) => one.label)),
      element("div", { class: "bar" }, back, next, table, reset),
    ),
    draw({ step, query, temperature }) {
      rail.forEach((one, i) => one.setAttribute("aria-current", i === step ? "step" : "false"));
      grey(back, step === 0);
      grey(next, step === STAGES.length - 1);
      sliders.forEach(({ node, number }, d) => {
        node.value = String(query[d]);
        number.textContent = digits(query[d]);
      });
      const said = temperature === 0 ? "0, hard" : String(temperature);
      heat.node.value = String(placeOf(temperature));
      heat.node.setAttribute("aria-valuetext", said);
      heat.number.textContent = said;
    },
  };
}

/** The whole widget, for one set of labels. @param {Model} model */
function build(model) {
  const first = stateOf(model);
  const reach = Math.max(
    2,
    ...[...first.key, first.query].flat().map((x) => Math.ceil(Math.abs(x))),
  );
  const [size, [say, problem]] = [first.value[0].length, lines()];
  const complain = (text) => {
    problem.textContent = text;
  };
  const set = (changes) => {
    complain("");
    change(model, changes);
  };
  const go = (step) => set({ step: Math.min(STAGES.length - 1, Math.max(0, step)) });
  const view = { state: () => stateOf(model), draw, complain, set, go };
  const entries = first.labels.map((label, j) => entry(view, label, j, size));
  const map = plane(view, first.labels, reach);
  const [mixed, told] = [vector(size, "answer"), element("span", {})];
  const answer = element("p", { class: "sum" }, "the answer ", mixed, " ", told);
  const heads = ["key", "value", "score", "", "weight"].map((head) => element("span", {}, head));
  const list = element(
    "div",
    { class: "entries" },
    element(
      "div",
      { class: "pair heads", "aria-hidden": "true" },
      element("span", {}, "may look"),
      ...heads,
    ),
    ...entries.map((one) => one.node),
    answer,
  );
  const figure = element("div", { class: "sides" }, map.node, list);
  const table = scroller("every number", { hidden: true });
  const parts = controls(view, first, reach, tableButton(figure, table));
  function draw() {
    const state = stateOf(model);
    const now = lookup(state);
    map.draw(state, now.weights);
    entries.forEach((one) => one.draw(state, now));
    answer.style.visibility = state.step < 2 ? "hidden" : "visible";
    mixed.fill(now.answer, Math.max(1e-9, ...state.value.flat().map(Math.abs)));
    told.textContent = spread(now.answer);
    parts.draw(state);
    table.replaceChildren(
      tableOf(
        ["entry", "key", "value", "score", "weight"],
        state.labels.map((label, j) => [
          label,
          spread(state.key[j]),
          spread(state.value[j]),
          state.mask[j] ? digits(now.scores[j], 3) : "−∞",
          digits(now.weights[j], 3),
        ]),
      ),
    );
    say.textContent = sentence(state, state.step);
  }
  const at = () => ({ step: model.get("step"), last: STAGES.length - 1 });
  const node = frame(
    "lookup",
    "A soft dictionary",
    at,
    go,
    parts.top,
    say,
    figure,
    table,
    problem,
    parts.foot,
  );
  return { node, draw };
}

/** @param {{model: Model, el: HTMLElement}} context */
const render = (context) => mount(context, ["labels"], TRAITS.slice(1), build);

export default { render };
