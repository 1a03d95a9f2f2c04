// @ts-check
// A recurrent layer and self-attention race against the clock, each with the
// same number of workers. Python: serial_wall.py.
import {
  button,
  change,
  element,
  frame,
  lines,
  mount,
  scroller,
  tableButton,
  tableOf,
  transport,
} from "./shared.js";

/** @typedef {import("./shared.js").Model} Model */
/** @typedef {{length: number, width: number, workers: number, gates: number,
 *   step: number}} State */
/** @typedef {{name: string, products: number, start: number, end: number}} Stage */

const CELLS = { 1: "tanh network", 3: "GRU", 4: "LSTM" };
const MOST = { length: 64, width: 64, workers: 1000000 };
const FRAMES = 48;

/** Digits in groups of three. @param {number} x */
export const grouped = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ",");

/** The work of each stage, as `recurrent` and `self_attention` in serial.py.
 * @param {"recurrent" | "attention"} kind @param {State} state
 * @returns {[string, number][]} */
export function work(kind, { length: n, width: d, gates }) {
  if (kind === "attention") {
    return [
      ["queries, keys, values", 3 * n * d * d],
      ["scores", n * n * d],
      ["mixing", n * n * d],
      ["output", n * d * d],
    ];
  }
  return [
    ["W x of all words", gates * n * d * d],
    ...Array.from(
      { length: n },
      (_, t) => /** @type {[string, number]} */ ([`U h at word ${t + 1}`, gates * d * d]),
    ),
  ];
}

/** Every stage with the tick before it and its last one: it starts when the
 * stage before is done, and takes ⌈products / workers⌉ ticks.
 * @param {"recurrent" | "attention"} kind @param {State} state @returns {Stage[]} */
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
 * @param {"recurrent" | "attention"} kind @param {State} state @param {number} tick */
export function words(kind, state, tick) {
  const stages = schedule(kind, state);
  const share = ({ start, end }) => Math.min(1, Math.max(0, (tick - start) / (end - start)));
  if (kind === "recurrent") return stages.slice(1).map(share);
  const total = stages.reduce((sum, stage) => sum + stage.products, 0);
  const whole = after(stages, state.workers, tick).done / total;
  return Array(state.length).fill(whole);
}

/** A whole number that a reader typed, or null. @param {string} text */
export function readCount(text, most) {
  const plain = text.trim().replace(/[, \u00a0\u202f]/g, "");
  const value = /^\d+$/.test(plain) ? Number(plain) : NaN;
  return value >= 1 && value <= most ? value : null;
}

/** Who is where, and at the end who has won. @param {State} state */
export function sentence(state) {
  const lanes = /** @type {const} */ (["recurrent", "attention"]).map((kind) =>
    schedule(kind, state),
  );
  const [slow, fast] = lanes.map(finish);
  const names = [`the ${CELLS[state.gates]}`, "self-attention"];
  const ends = `The ${CELLS[state.gates]} needs ${grouped(slow)} ticks, self-attention ${grouped(fast)}.`;
  if (state.step >= Math.max(slow, fast)) {
    const verdict =
      slow === fast ? "neither is ahead" : `${names[slow < fast ? 0 : 1]} is done first`;
    return `${ends} All are over: ${verdict}.`;
  }
  const where = lanes.map((stages, i) => {
    const { busy, name } = after(stages, state.workers, state.step);
    if (state.step >= stages[stages.length - 1].end) return `${names[i]} is done`;
    return state.step
      ? `${names[i]}, ${name}: ${grouped(busy)} of ${grouped(state.workers)} workers busy`
      : `${names[i]} has ${grouped(stages.length)} stages`;
  });
  const now = state.step ? `Tick ${grouped(state.step)}` : "Before tick 1";
  return `${ends} ${now}: ${where.join("; ")}.`;
}

/** The model's traits as one object. @returns {State} */
const stateOf = (model) => ({
  length: model.get("length"),
  width: model.get("width"),
  workers: model.get("workers"),
  gates: model.get("gates"),
  step: model.get("step"),
});

/** One layer: its clock, its workers, its words. */
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
    draw(state, longest) {
      const stages = schedule(kind, state);
      const end = finish(stages);
      const now = Math.min(state.step, end);
      const present = after(stages, state.workers, state.step);
      title.textContent = kind === "attention" ? "self-attention" : CELLS[state.gates];
      time.style.width = `${(100 * now) / longest}%`;
      clock.dataset.value = String(end);
      clock.textContent = `${grouped(now)} of ${grouped(end)}`;
      crew.style.width = `${(100 * present.busy) / state.workers}%`;
      busy.dataset.value = String(present.busy);
      busy.textContent = `${grouped(present.busy)} of ${grouped(state.workers)}`;
      const shares = words(kind, state, state.step);
      if (strip.children.length !== shares.length) {
        strip.replaceChildren(...shares.map(() => element("i")));
      }
      shares.forEach((share, j) => {
        strip.children[j].dataset.value = share;
        strip.children[j].style.setProperty("--done", share.toFixed(3));
        strip.children[j].classList.toggle("whole", share === 1);
      });
    },
  };
}

/** Both layers for rising numbers of workers. @param {State} state */
function numbersOf(state) {
  const counts = [1, 16, 256, 4096, 65536, MOST.workers, state.workers];
  const rows = [...new Set(counts)]
    .sort((a, b) => a - b)
    .map((workers) => {
      const ends = ["recurrent", "attention"].map((kind) =>
        finish(schedule(/** @type {any} */ (kind), { ...state, workers })),
      );
      const idle = ["recurrent", "attention"].map((kind, i) => {
        const all = work(/** @type {any} */ (kind), state).reduce((sum, one) => sum + one[1], 0);
        return `${Math.round(100 * (1 - all / (ends[i] * workers)))} %`;
      });
      return [grouped(workers), grouped(ends[0]), idle[0], grouped(ends[1]), idle[1]];
    });
  return tableOf(
    ["workers", `${CELLS[state.gates]}, ticks`, "idle", "self-attention, ticks", "idle"],
    rows,
  );
}

/** Words, numbers, workers and cell, for the reader to set. */
function controls(view) {
  const typed = (name, text) => {
    const box = element("input", {
      type: "text",
      inputmode: "numeric",
      autocomplete: "off",
      "data-action": name,
      onchange: () => {
        const [given, value] = [box.value, readCount(box.value, MOST[name])];
        if (value !== null) return view.set({ [name]: value, step: 0 });
        view.draw();
        view.complain(
          `“${given}” is not a whole number from 1 to ${grouped(MOST[name])}, so ` +
            `${text} stay ${grouped(view.state()[name])}.`,
        );
      },
    });
    return { node: element("label", {}, text, box), box };
  };
  const boxes = {
    length: typed("length", "words n"),
    width: typed("width", "numbers d"),
    workers: typed("workers", "workers p"),
  };
  const by = (factor) =>
    view.set({
      step: 0,
      workers: Math.max(1, Math.min(MOST.workers, Math.round(view.state().workers * factor))),
    });
  const cell = element(
    "select",
    { "data-action": "gates", onchange: () => view.set({ gates: Number(cell.value), step: 0 }) },
    ...Object.entries(CELLS).map(([value, name]) => element("option", { value }, name)),
  );
  return {
    node: element(
      "div",
      { class: "bar" },
      boxes.length.node,
      boxes.width.node,
      boxes.workers.node,
      button("halve", "÷ 2", () => by(0.5), "÷ 2: half the workers"),
      button("double", "× 2", () => by(2), "× 2: twice the workers"),
      element("label", {}, "recurrent layer", cell),
    ),
    draw(state) {
      Object.entries(boxes).forEach(([name, { box }]) => {
        box.value = grouped(state[name]);
      });
      cell.value = String(state.gates);
    },
  };
}

/** The whole widget. @param {Model} model */
function build(model) {
  const [say, problem] = lines();
  const longest = () =>
    Math.max(
      finish(schedule("recurrent", stateOf(model))),
      finish(schedule("attention", stateOf(model))),
    );
  const state = () => ({ ...stateOf(model), step: Math.min(model.get("step"), longest()) });
  const complain = (text) => {
    problem.textContent = text;
  };
  const set = (changes) => {
    complain("");
    change(model, changes);
  };
  const stride = () => Math.max(1, Math.ceil(longest() / FRAMES));
  const at = () => ({
    step: Math.ceil(state().step / stride()),
    last: Math.ceil(longest() / stride()),
  });
  const go = (step) => set({ step: Math.min(longest(), step * stride()) });
  const walk = transport(at, go, 400);
  const view = {
    state,
    draw,
    complain,
    set: (changes) => {
      walk.stop();
      set(changes);
    },
  };
  const top = controls(view);
  const lanes = [lane("recurrent"), lane("attention")];
  const figure = element("div", { class: "lanes" }, ...lanes.map((one) => one.node));
  const table = scroller("ticks for rising numbers of workers", { hidden: true });
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
    element("div", { class: "bar" }, ...walk.nodes, tableButton(figure, table), pace),
  );
  return { node, draw, stop: walk.stop };
}

/** @param {{model: Model, el: HTMLElement}} context */
const render = (context) =>
  mount(context, [], ["length", "width", "workers", "gates", "step"], build);

export default { render };
