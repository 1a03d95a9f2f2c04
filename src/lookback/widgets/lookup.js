// @ts-check
// A soft dictionary: a query moved among keys in the plane, what it scores,
// its attention weights, and what comes back. Python: lookup.py.
import { flag, integer, real, series } from "./lib/link.js";
import { dot, mix, softmax, total, widest, within } from "./lib/maths.js";
import { digits, share, spread } from "./lib/text.js";
import {
  bar,
  button,
  checkbox,
  element,
  field,
  frame,
  put,
  scroller,
  show,
  slider,
  stageButtons,
  svg,
  tableButton,
  tableOf,
  vector,
  voice,
  widget,
} from "./lib/view.js";

/** @typedef {{labels: string[], key: number[][], value: number[][], query: number[],
 *   temperature: number, mask: boolean[], step: number}} State */
/** @typedef {import("./lib/view.js").Model<State>} Model */
/** @typedef {ReturnType<typeof lookup>} Found */
/** @typedef {{state: () => State, draw: () => void, complain: (text: string) => void,
 *   set: (changes: Partial<State>) => void, go: (step: number) => void}} View */

const STAGES = ["Score", "Softmax", "Average"];
const HEAT = 41; // the slider's last place; 0 is the temperature 0, and 27 is 1

/** Scores, weights and answer. At temperature 0 the best key takes all, and
 * equally good ones share.
 * @param {Pick<State, "key" | "value" | "query" | "temperature" | "mask">} state */
export function lookup({ key, value, query, temperature, mask }) {
  const scores = key.map((one, j) =>
    mask[j] ? dot(one, query) / Math.sqrt(one.length) : -Infinity,
  );
  const best = Math.max(...scores);
  const hard = scores.map((score) => Number(score >= best - 1e-12));
  const weights =
    temperature > 0
      ? softmax(scores.map((score) => score / temperature))
      : hard.map((one) => one / total(hard));
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

const drawable = real(-1e6, 1e6);

/** From the slider's place to the temperature and back: 0, then 0.05 to 5.
 * @param {number} place */
export const heatOf = (place) =>
  place <= 0 ? 0 : Number((0.05 * 100 ** ((place - 1) / (HEAT - 1))).toPrecision(2));
/** @param {number} heat */
const placeOf = (heat) =>
  heat <= 0 ? 0 : Math.max(1, Math.round(1 + ((HEAT - 1) * Math.log10(heat / 0.05)) / 2));

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
        : `Softmax at temperature ${state.temperature}: ${best} gets ${share(weights[rank[0]])}` +
            `${rank.length > 1 ? `, then ${next} ${share(weights[rank[1]])}` : ""}.${masked}`;
    default:
      return `Each value times its weight, added up: the answer is ${spread(answer)}.`;
  }
}

/** The keys and the query in the plane; the query may be dragged, to ±limit.
 * @param {string[]} labels @param {number} limit @param {(query: number[]) => void} drag */
function plane(labels, limit, drag) {
  let reach = limit;
  /** @param {number[]} point */
  const at = ([x, y]) => [100 + (90 * x) / reach, 100 - (90 * y) / reach];
  const picture = svg(
    "svg",
    { viewBox: "0 0 200 200", class: "plane", "aria-hidden": "true" },
    svg("path", { d: "M4 100H196M100 4V196", class: "axis" }),
  );
  const dots = labels.map((label) => {
    const [one, name] = [svg("circle", { class: "key" }), svg("text", {}, label)];
    picture.append(one, name);
    return { one, name };
  });
  const arrow = svg("line", { x1: 100, y1: 100, class: "query" });
  const handle = svg("circle", { r: 7, class: "query" });
  const grip = svg("circle", { r: 22, class: "grip" });
  picture.append(arrow, handle, grip);
  /** @param {MouseEvent} event */
  const move = (event) => {
    const box = picture.getBoundingClientRect();
    const raw = [
      (event.clientX - box.left) / box.width,
      1 - (event.clientY - box.top) / box.height,
    ];
    const query = raw.map((x) =>
      within(-limit, Math.round(((200 * x - 100) / 90) * reach * 20) / 20, limit),
    );
    drag(query);
  };
  grip.addEventListener("pointerdown", (event) => grip.setPointerCapture(event.pointerId));
  grip.addEventListener("pointermove", (event) => {
    if (grip.hasPointerCapture(event.pointerId)) move(event);
  });
  picture.addEventListener("click", move);
  return {
    node: picture,
    /** @param {State} state @param {number[]} weights */
    draw(state, weights) {
      reach = Math.max(limit, ...state.key.flat().map(Math.abs));
      dots.forEach(({ one, name }, j) => {
        const [x, y] = at(state.key[j]);
        put(one, { cx: x, cy: y, r: 4 + 8 * Math.sqrt(state.step ? weights[j] : 0) });
        put(name, { x: within(4, x, 196), y: y + (y > 175 ? -15 : 22) });
        name.style.textAnchor = x > 165 ? "end" : x < 35 ? "start" : "middle";
        one.classList.toggle("masked", !state.mask[j]);
      });
      const [x, y] = at(state.query);
      put(arrow, { x2: x, y2: y });
      for (const one of [handle, grip]) put(one, { cx: x, cy: y });
    },
  };
}

/** One entry: whether it may be looked at, its key and value, its numbers.
 * @param {View} view @param {string} label @param {number} j @param {number} size */
function entry(view, label, j, size) {
  /** @template One @param {One[]} all @param {One} one */
  const replaced = (all, one) => all.map((old, i) => (i === j ? one : old));
  /** @param {"key" | "value"} name @param {number} count */
  const box = (name, count) =>
    field(name, { "aria-label": `${name} of ${label}` }, (text) => {
      const { numbers, problem } = readNumbers(text, count);
      const old = view.state()[name];
      if (numbers) return view.set({ [name]: replaced(old, numbers) });
      view.draw();
      view.complain(`${problem}, so the ${name} of “${label}” stays ${spread(old[j])}.`);
    });
  const [key, value] = [box("key", 2), box("value", size)];
  const may = checkbox("mask", (on) => {
    const mask = replaced(view.state().mask, on);
    if (mask.some(Boolean)) return view.set({ mask });
    view.draw();
    view.complain(`A query needs at least one key, so “${label}” stays.`);
  });
  may.setAttribute("aria-label", `attend to ${label}`);
  const score = element("span", { class: "number", "data-role": "score" });
  const fill = element("span", { class: "fill" });
  const track = element("span", { class: "track", "aria-hidden": "true" }, fill);
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
    /** @param {State} state @param {Found} now */
    draw(state, now) {
      /** @param {number[]} x */
      const rounded = (x) => x.map((one) => Math.round(one * 1e4) / 1e4).join(", ");
      may.checked = state.mask[j];
      [key.value, value.value] = [rounded(state.key[j]), rounded(state.value[j])];
      const [score_j, weight_j] = [now.scores[j], now.weights[j]];
      show(score, score_j, Number.isFinite(score_j) ? digits(score_j) : "−∞");
      show(weight, weight_j, share(weight_j));
      fill.style.width = `${100 * weight_j}%`;
      track.style.visibility = state.step ? "visible" : "hidden";
      weight.style.visibility = track.style.visibility;
    },
  };
}

/** The stages, the query's two sliders, the temperature.
 * @param {View} view @param {State} first @param {number} reach @param {Node} table */
function controls(view, first, reach, table) {
  const rail = stageButtons(STAGES, () => view.state().step, view.go);
  /** @param {HTMLInputElement} node @param {string} name */
  const labelled = (node, name) => {
    const number = element("span", { class: "number" });
    return { node, number, label: element("label", {}, `${name} `, node, " ", number) };
  };
  const range = { min: -reach, max: reach, step: 0.05 };
  const sliders = ["query →", "query ↑"].map((name, d) => {
    const node = slider(`query-${d + 1}`, range, (value) =>
      view.set({ query: view.state().query.map((old, i) => (i === d ? value : old)) }),
    );
    return labelled(node, name);
  });
  const heat = labelled(
    slider("temperature", { min: 0, max: HEAT, step: 1 }, (place) =>
      view.set({ temperature: heatOf(place) }),
    ),
    "temperature",
  );
  const { step: _, labels: __, ...start } = first;
  const reset = button("reset", "Reset", () => view.set(start));
  return {
    top: element("div", {}, rail.node, bar(...[...sliders, heat].map((one) => one.label))),
    foot: bar(rail.back, rail.next, table, reset),
    /** @param {State} state */
    draw({ query, temperature }) {
      rail.draw();
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

/** The whole widget, for one set of labels.
 * @param {Model} model @param {() => State} read */
function build(model, read) {
  const first = read();
  const reach = Math.max(
    2,
    ...[...first.key, first.query].flat().map((x) => Math.ceil(Math.abs(x))),
  );
  const size = first.value[0].length;
  const { say, problem, complain, set } = voice(model);
  /** @param {number} step */
  const go = (step) => set({ step: within(0, step, STAGES.length - 1) });
  const view = { state: read, draw, complain, set, go };
  const entries = first.labels.map((label, j) => entry(view, label, j, size));
  const map = plane(first.labels, reach, (query) => set({ query }));
  const [mixed, told] = [vector(size, "answer"), element("span", {})];
  const answer = element("p", { class: "sum" }, "the answer ", mixed.node, " ", told);
  const heads = ["key", "value", "score", "", "weight"].map((head) => element("span", {}, head));
  const list = element(
    "div",
    { class: "entries" },
    element(
      "div",
      { class: "pair heads", "aria-hidden": "true" },
      element("span", {}, "attend to"),
      ...heads,
    ),
    ...entries.map((one) => one.node),
    answer,
  );
  const figure = element("div", { class: "sides" }, map.node, list);
  const table = scroller("every number", { hidden: true });
  const parts = controls(view, first, reach, tableButton(figure, table));
  function draw() {
    const state = read();
    const now = lookup(state);
    map.draw(state, now.weights);
    entries.forEach((one) => one.draw(state, now));
    answer.style.visibility = state.step < 2 ? "hidden" : "visible";
    mixed.fill(now.answer, widest(state.value.flat()));
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
          share(now.weights[j]),
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

export default widget(["labels"], ["key", "value", "query", "temperature", "mask", "step"], build, {
  key: (x, s) => series((row) => series(drawable, row, 2), x, s.labels.length),
  value: (x, s) => series((row) => series(drawable, row, s.value[0].length), x, s.labels.length),
  query: (x) => series(drawable, x, 2),
  temperature: real(0, 5),
  mask: (x, s) => series(flag, x, s.labels.length) && x.includes(true),
  step: integer(0, STAGES.length - 1),
});
