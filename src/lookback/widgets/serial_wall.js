// @ts-check
// A recurrent layer and self-attention race against the clock, each with the
// same number of workers. Python: serial_wall.py.
import { among, integer } from "./lib/link.js";
import { within } from "./lib/maths.js";
import { grouped, readWhole } from "./lib/text.js";
import {
  bar,
  button,
  element,
  field,
  frame,
  scroller,
  select,
  show,
  tableButton,
  tableOf,
  transport,
  voice,
  widget,
} from "./lib/view.js";
import limits from "./serial_wall.json" with { type: "json" };

/** @typedef {{length: number, width: number, workers: number, gates: number,
 *   step: number}} State */
/** @typedef {import("./lib/view.js").Model<State>} Model */
/** @typedef {"recurrent" | "attention"} Kind */
/** @typedef {"length" | "width" | "workers"} Size */
/** @typedef {{name: string, products: number, start: number, end: number}} Stage */

/** @type {Record<number, string>} by the number of gates */
const CELLS = { 1: "tanh network", 3: "GRU", 4: "LSTM" };
/** @type {Kind[]} */
const KINDS = ["recurrent", "attention"];
const FRAMES = 48;

/** The work of each stage, as `recurrent` and `self_attention` in serial.py.
 * @param {Kind} kind @param {Pick<State, "length" | "width" | "gates">} state
 * @returns {[string, number][]} */
export function work(kind, { length: n, width: d, gates }) {
  if (kind === "attention") {
    return [
      ["queries, keys, values", 3 * n * d * d],
      ["scores", n * n * d],
      ["average", n * n * d],
      ["output", n * d * d],
    ];
  }
  return [
    ["x W of all words", gates * n * d * d],
    ...Array.from(
      { length: n },
      (_, t) => /** @type {[string, number]} */ ([`h U at word ${t + 1}`, gates * d * d]),
    ),
  ];
}

/** Every stage with the tick before it and its last one: it starts when the
 * previous stage is done, and takes ⌈products / workers⌉ ticks.
 * @param {Kind} kind @param {Omit<State, "step">} state @returns {Stage[]} */
export function schedule(kind, state) {
  let now = 0;
  return work(kind, state).map(([name, products]) => {
    const start = now;
    now += Math.ceil(products / state.workers);
    return { name, products, start, end: now };
  });
}

/** Ticks until the last stage is done. @param {Stage[]} stages */
export const finish = (stages) => stages[stages.length - 1].end;

/** After `tick` ticks: multiplications done, and workers busy in that tick.
 * @param {Stage[]} stages @param {number} workers @param {number} tick */
export function after(stages, workers, tick) {
  let [done, busy, name] = [0, 0, "done"];
  for (const stage of stages) {
    const spent = Math.min(Math.max(tick - stage.start, 0), stage.end - stage.start);
    done += Math.min(stage.products, spent * workers);
    if (tick > stage.start && tick <= stage.end) {
      busy = Math.min(workers, stage.products - (spent - 1) * workers);
      ({ name } = stage);
    }
  }
  return { done, busy, name: tick === 0 ? "not begun" : name };
}

/** The share of each word's output that is done after `tick` ticks.
 * @param {Kind} kind @param {Omit<State, "step">} state @param {number} tick */
export function words(kind, state, tick) {
  const stages = schedule(kind, state);
  /** @param {Stage} stage */
  const share = ({ start, end }) => within(0, (tick - start) / (end - start), 1);
  if (kind === "recurrent") return stages.slice(1).map(share);
  const total = stages.reduce((sum, stage) => sum + stage.products, 0);
  const whole = after(stages, state.workers, tick).done / total;
  return Array.from({ length: state.length }, () => whole);
}

/** A whole number from 1 to `most` that a reader typed, or null.
 * @param {string} text @param {number} most */
export function readCount(text, most) {
  const value = readWhole(text);
  return value >= 1 && value <= most ? value : null;
}

/** Who is where. @param {State} state */
export function sentence(state) {
  const lanes = KINDS.map((kind) => schedule(kind, state));
  const [slow, fast] = lanes.map(finish);
  const names = [`the ${CELLS[state.gates]}`, "self-attention"];
  const ends = `The ${CELLS[state.gates]} needs ${grouped(slow)} ticks, self-attention ${grouped(fast)}.`;
  const where = lanes.map((stages, i) => {
    const { busy, name } = after(stages, state.workers, state.step);
    if (state.step > finish(stages)) return `${names[i]} is done`;
    return state.step
      ? `${names[i]}, ${name}: ${grouped(busy)} of ${grouped(state.workers)} processors busy`
      : `${names[i]} has ${grouped(stages.length)} stages`;
  });
  const over = state.step >= Math.max(slow, fast);
  const now = state.step
    ? `Tick ${grouped(state.step)}${over ? ", the last" : ""}`
    : "Before tick 1";
  const verdict = over && slow === fast ? " Neither is ahead." : "";
  return `${ends} ${now}: ${where.join("; ")}.${verdict}`;
}

/** One layer: its clock, its workers, its words. @param {Kind} kind */
function lane(kind) {
  const title = element("b", {});
  const clock = element("span", { class: "number", "data-role": `${kind}-ticks` });
  const time = element("span", { class: "fill" });
  const crew = element("span", { class: "fill" });
  const busy = element("span", { class: "number", "data-role": `${kind}-busy` });
  const strip = element("div", {
    class: "strip",
    "aria-hidden": "true",
    "data-role": `${kind}-words`,
  });
  /** @type {HTMLElement[]} */
  let each = [];
  /** @param {string} what @param {Node} fill @param {Node} number */
  const row = (what, fill, number) =>
    element(
      "div",
      { class: "meter" },
      element("span", {}, what),
      element("span", { class: "track", "aria-hidden": "true" }, fill),
      number,
    );
  const node = element(
    "div",
    { class: "lane" },
    title,
    row("ticks", time, clock),
    row("busy", crew, busy),
    strip,
  );
  return {
    node,
    /** @param {State} state @param {number} longest */
    draw(state, longest) {
      const stages = schedule(kind, state);
      const end = finish(stages);
      const now = Math.min(state.step, end);
      const present = after(stages, state.workers, state.step);
      title.textContent = kind === "attention" ? "self-attention" : CELLS[state.gates];
      time.style.width = `${(100 * now) / longest}%`;
      show(clock, end, `${grouped(now)} of ${grouped(end)}`);
      crew.style.width = `${(100 * present.busy) / state.workers}%`;
      show(busy, present.busy, `${grouped(present.busy)} of ${grouped(state.workers)}`);
      const shares = words(kind, state, state.step);
      if (each.length !== shares.length) {
        each = shares.map(() => element("i"));
        strip.replaceChildren(...each);
      }
      shares.forEach((share, j) => {
        each[j].dataset.value = String(share);
        each[j].style.setProperty("--done", share.toFixed(3));
        each[j].classList.toggle("whole", share === 1);
      });
    },
  };
}

/** Both layers for rising numbers of workers. @param {State} state */
function numbersOf(state) {
  const counts = [1, 16, 256, 4096, 65536, limits.workers, state.workers];
  const rows = [...new Set(counts)]
    .sort((a, b) => a - b)
    .map((workers) => {
      const ends = KINDS.map((kind) => finish(schedule(kind, { ...state, workers })));
      const idle = KINDS.map((kind, i) => {
        const all = work(kind, state).reduce((sum, one) => sum + one[1], 0);
        return `${Math.round(100 * (1 - all / (ends[i] * workers)))} %`;
      });
      return [grouped(workers), grouped(ends[0]), idle[0], grouped(ends[1]), idle[1]];
    });
  return tableOf(
    ["processors", `${CELLS[state.gates]}, ticks`, "idle", "self-attention, ticks", "idle"],
    rows,
  );
}

/** Words, numbers, workers and cell, for the reader to set.
 * @param {{state: () => State, set: (changes: Partial<State>) => void,
 *   complain: (text: string) => void, draw: () => void}} view */
function controls(view) {
  /** @param {Size} name @param {string} text */
  const typed = (name, text) => {
    const box = field(name, { inputmode: "numeric" }, (given) => {
      const value = readCount(given, limits[name]);
      if (value !== null) return view.set({ [name]: value, step: 0 });
      view.draw();
      view.complain(
        `“${given}” is not a whole number from 1 to ${grouped(limits[name])}, so ` +
          `${text} stay ${grouped(view.state()[name])}.`,
      );
    });
    return { name, box, node: element("label", {}, text, box) };
  };
  const boxes = [
    typed("length", "words n"),
    typed("width", "dimension d"),
    typed("workers", "processors p"),
  ];
  /** @param {number} factor */
  const by = (factor) => {
    const workers = within(1, Math.round(view.state().workers * factor), limits.workers);
    view.set({ step: 0, workers });
  };
  const cell = select("gates", Object.entries(CELLS), (gates) =>
    view.set({ gates: Number(gates), step: 0 }),
  );
  return {
    node: bar(
      ...boxes.map((one) => one.node),
      button("halve", "÷ 2", () => by(0.5), "÷ 2: half the processors"),
      button("double", "× 2", () => by(2), "× 2: twice the processors"),
      element("label", {}, "recurrent layer", cell),
    ),
    /** @param {State} state */
    draw(state) {
      for (const { name, box } of boxes) box.value = grouped(state[name]);
      cell.value = String(state.gates);
    },
  };
}

/** The whole widget. @param {Model} model @param {() => State} read */
function build(model, read) {
  const { say, problem, complain, set } = voice(model);
  const longest = () => Math.max(...KINDS.map((kind) => finish(schedule(kind, read()))));
  /** @returns {State} */
  const state = () => ({ ...read(), step: Math.min(model.get("step"), longest()) });
  const stride = () => Math.max(1, Math.ceil(longest() / FRAMES));
  const at = () => ({
    step: Math.ceil(state().step / stride()),
    last: Math.ceil(longest() / stride()),
  });
  /** @param {number} step */
  const go = (step) => set({ step: Math.min(longest(), step * stride()) });
  const walk = transport(at, go, 400);
  const view = {
    state,
    draw,
    complain,
    /** @param {Partial<State>} changes */
    set(changes) {
      walk.stop();
      set(changes);
    },
  };
  const top = controls(view);
  const lanes = KINDS.map(lane);
  const figure = element("div", { class: "lanes" }, ...lanes.map((one) => one.node));
  const table = scroller("ticks for rising numbers of processors", { hidden: true });
  const pace = element("span", { class: "pace" });
  function draw() {
    const now = state();
    const most = longest();
    lanes.forEach((one) => one.draw(now, most));
    top.draw(now);
    walk.draw();
    pace.textContent =
      stride() === 1 ? "a step is one tick" : `a step is ${grouped(stride())} ticks`;
    table.replaceChildren(numbersOf(now));
    say.textContent = sentence(now);
  }
  const node = frame(
    "serial-wall",
    "A recurrent layer against self-attention",
    at,
    walk.to,
    top.node,
    say,
    figure,
    table,
    problem,
    bar(...walk.nodes, tableButton(figure, table), pace),
  );
  return { node, draw, stop: walk.stop };
}

export default widget([], ["length", "width", "workers", "gates", "step"], build, {
  length: integer(1, limits.length),
  width: integer(1, limits.width),
  workers: integer(1, limits.workers),
  gates: among(Object.keys(CELLS).map(Number)),
  step: integer(0, (s) => Math.max(...KINDS.map((kind) => finish(schedule(kind, s))))),
});
