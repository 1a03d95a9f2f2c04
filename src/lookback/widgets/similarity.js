// @ts-check
// A query among keys in a plane, all to be dragged: dot product, scaled dot
// product and cosine, and what softmax makes of each. Python: similarity.py.
import { integer, real, series } from "./lib/link.js";
import { softmax, within } from "./lib/maths.js";
import { digits } from "./lib/text.js";
import {
  bar,
  button,
  element,
  frame,
  press,
  put,
  scroller,
  show,
  slider,
  svg,
  tableButton,
  tableOf,
  voice,
  widget,
} from "./lib/view.js";
import limits from "./similarity.json" with { type: "json" };

/** @typedef {number[]} Point */
/** @typedef {{query: Point, keys: Point[], labels: string[], strength: number,
 *   step: number}} State */
/** @typedef {Omit<State, "keys"> & {points: Point[]}} Traits */
/** @typedef {import("./lib/view.js").Model<Traits>} Model */
/** @typedef {"dot" | "scaled" | "cosine"} Score */
/** @typedef {Record<Score, number[]>} Numbers one for each key */

/** @type {Score[]} */
export const SCORES = ["dot", "scaled", "cosine"];
const NAMES = ["dot product", "scaled by 1/√2", "cosine similarity"];
const SHORT = ["dot", "dot ÷ √2", "cosine"];
export const REACH = limits.reach;

/** @param {Point} v */
export const length = ([x, y]) => Math.hypot(x, y);

/** q · k = |q| |k| cos θ, the same over √2, and cos θ alone, of every key;
 * beside a vector of length 0 there is no angle, and the cosine counts as 0.
 * @param {Point} query @param {Point[]} keys @returns {Numbers} */
export function scoresOf(query, keys) {
  const dot = keys.map((key) => key[0] * query[0] + key[1] * query[1]);
  const cosine = dot.map((one, j) => {
    const both = length(query) * length(keys[j]);
    return both > 0 ? one / both : 0;
  });
  return { dot, scaled: dot.map((one) => one / Math.SQRT2), cosine };
}

/** Softmax of each score over the keys; β multiplies the cosines first.
 * @param {Pick<State, "query" | "keys" | "strength">} state @returns {Numbers} */
export function weightsOf({ query, keys, strength }) {
  const { dot, scaled, cosine } = scoresOf(query, keys);
  return {
    dot: softmax(dot),
    scaled: softmax(scaled),
    cosine: softmax(cosine.map((one) => strength * one)),
  };
}

/** A point moved, kept on the plane and on its grid of tenths.
 * @param {Point} point @param {number} dx @param {number} dy */
export const moved = ([x, y], dx, dy) =>
  [x + dx, y + dy].map((one) => Math.round(10 * within(-REACH, one, REACH)) / 10 + 0);

/** Whether it lies on the plane. @param {any} x */
const isPoint = (x) => series(real(-REACH, REACH), x, 2);

/** Where a key press moves a point: a tenth, a half with shift; null for others.
 * @param {Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">} event
 * @param {Point} point */
export function nudge(event, point) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const by = event.shiftKey ? 0.5 : 0.1;
  /** @type {Record<string, [number, number]>} */
  const to = { ArrowRight: [by, 0], ArrowLeft: [-by, 0], ArrowUp: [0, by], ArrowDown: [0, -by] };
  return event.key in to ? moved(point, ...to[event.key]) : null;
}

/** @param {Point} point */
const places = (point) => point.map((x) => digits(x, 1)).join(", ");
/** @param {number[]} numbers */
const top = (numbers) => numbers.indexOf(Math.max(...numbers));

/** What the chosen score says, and whether another one disagrees.
 * @param {State} state */
export function sentence(state) {
  const { query, labels, step } = state;
  const [scores, weights] = [scoresOf(query, state.keys), weightsOf(state)];
  if (length(query) === 0) {
    return (
      "The query is a vector of zeros: every score is 0, and every key gets the weight " +
      `${digits(1 / labels.length)}.`
    );
  }
  const now = SCORES[step];
  const best = top(scores[now]);
  const other = step === 2 ? "dot" : "cosine";
  const rival = top(scores[other]);
  const ask = step === 2 ? "The dot product" : "The cosine";
  return (
    `By the ${["dot product", "scaled dot product", "cosine"][step]}, the query at ` +
    `(${places(query)}) attends most to the key “${labels[best]}”: score ` +
    `${digits(scores[now][best])}, attention weight ${digits(weights[now][best])}. ${ask} ` +
    (rival === best ? "agrees." : `would choose “${labels[rival]}”.`)
  );
}

/** The grid, its axes, and one arrow for each vector; `draw` places them.
 * @param {string[]} labels */
function picture(labels) {
  const rays = labels.map(() => svg("line", { class: "ray key", x1: 0, y1: 0 }));
  const feet = labels.map(() => svg("line", { class: "foot" }));
  const track = svg("line", { class: "reach" });
  const ask = svg("line", { class: "ray query", x1: 0, y1: 0 });
  const grid = [];
  for (let at = -REACH; at <= REACH; at += 1) {
    const kind = at === 0 ? "axis" : "grid";
    grid.push(
      svg("line", { class: kind, x1: at, x2: at, y1: -REACH, y2: REACH }),
      svg("line", { class: kind, y1: at, y2: at, x1: -REACH, x2: REACH }),
    );
  }
  const size = 2 * REACH;
  const node = svg(
    "svg",
    { viewBox: `${-REACH} ${-REACH} ${size} ${size}`, "aria-hidden": "true" },
    ...grid,
    track,
    ...feet,
    ...rays,
    ask,
  );
  /** @param {Element} line @param {Point} from @param {Point} to */
  const lay = (line, [x1, y1], [x2, y2]) => put(line, { x1, y1: -y1, x2, y2: -y2 });
  return {
    node,
    /** @param {State} state @param {number[]} weights */
    draw({ query, keys }, weights) {
      const far = length(query);
      const along = far > 0 ? query.map((x) => x / far) : [0, 0];
      lay(
        track,
        along.map((x) => -9 * x),
        along.map((x) => 9 * x),
      );
      lay(ask, [0, 0], query);
      keys.forEach((key, j) => {
        lay(rays[j], [0, 0], key);
        rays[j].style.strokeWidth = String(0.04 + 0.22 * weights[j]);
        const reached = key[0] * along[0] + key[1] * along[1];
        lay(
          feet[j],
          key,
          along.map((x) => reached * x),
        );
      });
    },
  };
}

/** A handle to drag, or to move with the arrow keys.
 * @param {string} name @param {string} mark @param {() => Point} get
 * @param {(to: Point) => void} set @param {() => Element} pad on which it lies */
function handle(name, mark, get, set, pad) {
  /** @param {PointerEvent} event */
  const at = (event) => {
    const box = pad().getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    set(moved([(2 * x - 1) * REACH, (1 - 2 * y) * REACH], 0, 0));
  };
  const node = button("move", mark);
  node.className = "handle";
  node.addEventListener("pointerdown", (event) => {
    node.setPointerCapture(event.pointerId);
    node.focus();
    event.preventDefault();
  });
  node.addEventListener(
    "pointermove",
    (event) => node.hasPointerCapture(event.pointerId) && at(event),
  );
  node.addEventListener("keydown", (event) => {
    const to = nudge(event, get());
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    set(to);
  });
  return {
    node,
    draw() {
      const [x, y] = get();
      node.style.left = `${50 + (50 * x) / REACH}%`;
      node.style.top = `${50 - (50 * y) / REACH}%`;
      node.setAttribute("aria-label", `${name} at ${places([x, y])}; arrow keys move it`);
    },
  };
}

/** One key: its three scores and weights, side by side.
 * @param {string} label @param {string} mark */
function keyRow(label, mark) {
  const cells = SCORES.map((name, i) => {
    const [score, weight] = [
      element("span", { "data-role": name }),
      element("span", { "data-role": `${name}-weight` }),
    ];
    const bar = element("span", { class: "fill" });
    const node = element(
      "div",
      { class: "measure" },
      element("span", {}, SHORT[i]),
      score,
      element("span", { class: "track", "aria-hidden": "true" }, bar),
      weight,
    );
    return { node, score, weight, bar, name };
  });
  const node = element(
    "div",
    { class: "rival" },
    element("b", {}, `${mark} ${label}`),
    ...cells.map((one) => one.node),
  );
  return {
    node,
    /** @param {Numbers} scores @param {Numbers} weights @param {number} j @param {number} step */
    draw(scores, weights, j, step) {
      cells.forEach(({ node: cell, score, weight, bar, name }, i) => {
        show(score, scores[name][j]);
        show(weight, weights[name][j]);
        bar.style.width = `${100 * weights[name][j]}%`;
        cell.classList.toggle("chosen", i === step);
      });
    },
  };
}

/** Everything at once. @param {State} state */
function numbersOf(state) {
  const [scores, weights] = [scoresOf(state.query, state.keys), weightsOf(state)];
  const heads = ["vector", "at", "length", "dot", "weight", "÷ √2", "weight", "cosine", "weight"];
  /** @param {string} label @param {Point} point */
  const row = (label, point) => [label, `(${places(point)})`, digits(length(point))];
  return tableOf(heads, [
    [...row("query", state.query), "", "", "", "", "", ""],
    ...state.keys.map((key, j) => [
      ...row(state.labels[j], key),
      ...SCORES.flatMap((name) => [digits(scores[name][j]), digits(weights[name][j])]),
    ]),
  ]);
}

/** The whole widget, for one set of keys.
 * @param {Model} model @param {() => Traits} read */
function build(model, read) {
  /** @returns {State} */
  const now = () => {
    const { points, ...rest } = read();
    return { ...rest, keys: points };
  };
  const first = now();
  const { say, set } = voice(model);
  const marks = first.labels.map((_, j) => String.fromCharCode(65 + j));
  const plane = picture(first.labels);
  const pad = element("div", { class: "pad" }, plane.node);
  const handles = first.labels.map((label, j) =>
    handle(
      `key ${marks[j]}, ${label},`,
      marks[j],
      () => model.get("points")[j] ?? [0, 0],
      (to) => set({ points: model.get("points").map((old, i) => (i === j ? to : old)) }),
      () => pad,
    ),
  );
  handles.push(
    handle(
      "query",
      "q",
      () => model.get("query"),
      (to) => set({ query: to }),
      () => pad,
    ),
  );
  pad.append(...handles.map((one) => one.node));
  handles[handles.length - 1].node.classList.add("query");
  const rows = first.labels.map((label, j) => keyRow(label, marks[j]));
  const at = () => ({ step: model.get("step"), last: SCORES.length - 1 });
  const rail = NAMES.map((name, i) => button("score", name, () => set({ step: i })));
  const heat = slider("strength", { min: 1, max: 20, step: 1 }, (value) =>
    set({ strength: value }),
  );
  const heatNow = element("span", { class: "number" });
  const [table, figure] = [
    scroller("all numbers", { hidden: true }),
    element(
      "div",
      { class: "plane" },
      pad,
      element("div", { class: "rivals" }, ...rows.map((row) => row.node)),
    ),
  ];
  const { query, keys, strength } = first;
  const node = frame(
    "similarity",
    "Similarity of a query and its keys",
    at,
    (step) => set({ step }),
    element(
      "div",
      { class: "bar", role: "group", "aria-label": "attention score that the arrows show" },
      ...rail,
    ),
    say,
    figure,
    table,
    bar(
      element("label", {}, "β, times the cosine ", heat, " ", heatNow),
      tableButton(figure, table),
      button("reset", "Reset", () => set({ query, points: keys, strength })),
    ),
  );
  return {
    node,
    draw() {
      const state = now();
      const [scores, weights] = [scoresOf(state.query, state.keys), weightsOf(state)];
      plane.draw(state, weights[SCORES[state.step]]);
      handles.forEach((one) => one.draw());
      rows.forEach((row, j) => row.draw(scores, weights, j, state.step));
      rail.forEach((one, i) => press(one, i === state.step));
      heat.value = String(state.strength);
      heatNow.textContent = String(state.strength);
      table.replaceChildren(numbersOf(state));
      say.textContent = sentence(state);
    },
  };
}

export default widget(["labels"], ["query", "points", "strength", "step"], build, {
  query: isPoint,
  points: (x, s) => series(isPoint, x, s.labels.length),
  strength: real(1, 20),
  step: integer(0, SCORES.length - 1),
});
