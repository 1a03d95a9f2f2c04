// @ts-check
// Two models learn to write strings backwards while the reader watches. The
// training runs in a worker, a little at a time; all that is known of it is
// kept here, so that a worker that dies takes nothing with it.

import limits from "./learning.json" with { type: "json" };
import { axis, columns, tiles } from "./lib/chart.js";
import { among, integer, real } from "./lib/link.js";
import { total } from "./lib/maths.js";
import { digits, grouped } from "./lib/text.js";
import {
  bar,
  button,
  element,
  field,
  headings,
  put,
  root,
  scroller,
  select,
  svg,
  tableButton,
  tableOf,
  tune,
  voice,
  widget,
} from "./lib/view.js";
import { helper, serve } from "./lib/worker.js";
import {
  adam,
  answer,
  batchOf,
  count,
  draw,
  FIRST,
  gaze,
  LETTERS,
  lossOf,
  spell,
  TRAINED,
  tested,
} from "./reversing.js";

/** @typedef {import("./reversing.js").Machine} Machine */
/** @typedef {import("./reversing.js").Kind} Kind */
/** @typedef {import("./reversing.js").Task} Task */
/** @typedef {"step" | "loss-fixed" | "loss-look"} Figure */
/** @typedef {{task: Task, width: number, rate: number, seed: number, text: string,
 *   _esm: string}} State */
/** A training: two machines, the losses of their steps, and what they get right
 * of the strings of each length, since they were last asked, at step `asked`.
 * @typedef {{machines: Machine[], losses: number[][], right: number[][], asked: number}} Run */

const { tested: TESTED, widths: WIDTHS } = limits;
const [LEAST, MOST] = limits.rate;
/** @type {Kind[]} */
const KINDS = ["fixed", "look"];
/** @type {("task" | "width" | "rate" | "seed" | "text")[]} */
const SETTINGS = ["task", "width", "rate", "seed", "text"];
/** @type {Figure[]} */
const FIGURES = ["step", "loss-fixed", "loss-look"];
const NAMES = { fixed: "fixed vector", look: "attention" };
// In ms: training at a time, until a silent worker counts as dead, between two
// sentences, between two tests.
const [CHUNK, PATIENCE, SPOKEN, EXAMINED] = [60, 15_000, 5000, 2500];

/** What makes a training another one. @param {State} state */
const madeOf = ({ task, width, seed }) => `${task} ${width} ${seed}`;

/** @param {State} state @returns {Run} */
const fresh = ({ width, seed }) => ({
  machines: KINDS.map((kind) => draw(kind, width, seed)),
  losses: [],
  right: [],
  asked: 0,
});

/** Some steps on the same strings for both machines: `most`, or as many as fit
 * into `ms`, but one at least.
 * @param {{machines: Machine[], task: Task, rate: number, seed: number, step: number,
 *   most: number, ms: number}} given */
export function train({ machines, task, rate, seed, step, most, ms }) {
  const end = performance.now() + ms;
  /** @type {number[][]} */
  const losses = [];
  do {
    const batch = batchOf(seed, step + losses.length);
    losses.push(
      machines.map((machine) => {
        const { loss, gradient } = lossOf(machine, batch, task);
        adam(machine, gradient, rate, step + losses.length);
        return loss;
      }),
    );
  } while (losses.length < most && performance.now() < end);
  return { machines, losses };
}

/** How many of a hundred strings of each length come out without a mistake.
 * @param {{machines: Machine[], task: Task}} given */
export const examine = ({ machines, task }) =>
  machines.map((machine) =>
    Array.from({ length: TESTED }, (_, i) => 100 * tested(machine, task, i + 1)),
  );

serve({ train, examine });

/** The string that was typed, or what is wrong with it. @param {string} typed */
export function readString(typed) {
  const text = typed.trim().toLowerCase();
  if (!text) return { problem: "Type a letter at least." };
  const strange = [...text].find((letter) => !LETTERS.includes(letter));
  if (strange) return { problem: `“${strange}” is not among the letters a to z.` };
  if (text.length > TESTED) return { problem: `${text.length} letters: give ${TESTED} at most.` };
  return { value: text };
}

/** The number that was typed, or what is wrong with it.
 * @param {string} name @param {string} typed @param {number} least @param {number} most
 * @param {(value: number) => boolean} [fits] */
export function readNumber(name, typed, least, most, fits = () => true) {
  const value = typed.trim() ? Number(typed) : NaN;
  if (value >= least && value <= most && fits(value)) return { value };
  return { problem: `${name} “${typed}”: give ${least} to ${most}.` };
}

/** @param {string} text */
export const idsOf = (text) => [...text].map((letter) => FIRST + LETTERS.indexOf(letter));

/** @param {number[]} ids */
const textOf = (ids) => ids.map((id) => LETTERS[id - FIRST] ?? "?").join("");

/** The mean loss of some steps. @param {number[][]} losses @param {number} machine */
const mean = (losses, machine) => total(losses.map((one) => one[machine])) / losses.length;

/** The mean loss of the last twenty steps.
 * @param {number[][]} losses @param {number} machine */
export const lately = (losses, machine) => mean(losses.slice(-20), machine);

/** A curve of at most `bins` points, each the mean of the steps around it.
 * @param {number[][]} losses @param {number} machine @param {number} [bins]
 * @returns {[number, number][]} steps and losses */
export function curve(losses, machine, bins = 120) {
  const size = Math.ceil(losses.length / bins);
  return Array.from({ length: Math.ceil(losses.length / size) || 0 }, (_, i) => {
    const part = losses.slice(i * size, (i + 1) * size);
    return [i * size + part.length / 2, mean(part, machine)];
  });
}

/** Where the letter stands that is the i-th to be written.
 * @param {Task} task @param {number} n @param {number} i */
const place = (task, n, i) => (task === "reverse" ? n - 1 - i : i);

/** For how many letters the largest weight lies on the letter itself.
 * @param {number[][]} weights a row for each letter, and one for END @param {Task} task */
export function onTheSpot(weights, task) {
  const n = weights.length - 1;
  return weights.slice(0, n).filter((row, i) => row.indexOf(Math.max(...row)) === place(task, n, i))
    .length;
}

/** The training in words. While it runs, they come more seldom than numbers and map
 * are drawn, and leave out what is seen there.
 * @param {Run} run @param {State} state @param {boolean} [running] */
export function sentence({ machines, losses, right }, { task, text }, running = false) {
  const step = losses.length;
  if (!step) {
    return "Step 0. Nothing has been learned yet: the attention weights are all equal.";
  }
  const weights = gaze(machines[1], idsOf(text), task);
  const met = right.map((row) => total(row.slice(0, TRAINED)) / TRAINED);
  const tests = right.length
    ? ` Of test strings of 1 to ${TRAINED} letters the fixed vector writes ${digits(met[0], 0)} %` +
      ` without a mistake, attention ${digits(met[1], 0)} %.`
    : "";
  if (running) return `Training.${tests}`;
  return (
    `Step ${step}. Loss: fixed vector ${digits(lately(losses, 0))}, attention ` +
    `${digits(lately(losses, 1))}.${tests} In “${text}” the largest weight lies on the letter ` +
    `itself for ${onTheSpot(weights, task)} of ${text.length}.`
  );
}

/** @param {string} text */
const head = (text) => element("p", { class: "head" }, text);

/** Two curves of the loss, from the loss of a guess down to 0. */
function lossChart() {
  const top = Math.log(LETTERS.length + 1);
  const lines = KINDS.map((kind) => svg("polyline", { class: kind, points: "" }));
  const end = element("span");
  const node = element(
    "div",
    {},
    head(`loss, from ${digits(top)} for a blind guess down to 0`),
    svg(
      "svg",
      { viewBox: "0 0 300 100", preserveAspectRatio: "none", "aria-hidden": "true" },
      ...lines,
    ),
    axis([element("span", {}, "step 0"), end]),
  );
  return {
    node,
    /** @param {number[][]} losses */
    draw(losses) {
      const steps = Math.max(100, losses.length);
      end.textContent = String(steps);
      lines.forEach((line, k) => {
        const points = curve(losses, k).map(([step, loss]) =>
          [(300 * step) / steps, 100 - 100 * Math.min(1, loss / top)].map((x) => x.toFixed(1)),
        );
        put(line, { points: points.join(" ") });
      });
    },
  };
}

/** Of each length, what the two machines get right. */
function lengthChart() {
  const pairs = columns("right", 2 * TESTED);
  pairs.each.forEach((one, i) => {
    one.className = KINDS[i % 2];
  });
  const names = Array.from({ length: TESTED }, (_, i) =>
    element("span", {}, `${i + 1}${i < TRAINED ? "" : "*"}`),
  );
  const node = element(
    "div",
    {},
    head("test strings without a mistake, 0 to 100 %, by length"),
    pairs.node,
    axis(names),
    head("* longer than any string in the training"),
  );
  return {
    node,
    /** @param {number[][]} right */
    draw(right) {
      pairs.each.forEach((_, i) => {
        const share = right[i % 2]?.[Math.floor(i / 2)] ?? 0;
        pairs.set(i, share, share / 100);
      });
    },
  };
}

/** The weights with which the look writes a string, a row for each letter. */
function map() {
  const box = element("div", {});
  const wrote = KINDS.map((kind) => element("p", { class: `wrote ${kind}`, "data-role": kind }));
  /** @type {HTMLTableCellElement[][]} */
  let cells = [];
  let drawn = "";
  /** @param {State} state */
  function build({ task, text }) {
    const target = [...textOf(answer(task, idsOf(text))), "end"];
    cells = target.map((_, i) =>
      Array.from({ length: text.length + 1 }, (_, j) =>
        element("td", {
          "data-role": "weight",
          class: i < text.length && j === place(task, text.length, i) ? "own" : null,
        }),
      ),
    );
    const rows = cells.map((row, i) =>
      element("tr", {}, element("th", { scope: "row" }, target[i]), ...row),
    );
    box.replaceChildren(
      element(
        "table",
        { class: "gaze", "aria-hidden": "true" },
        element("thead", {}, headings(["", ...text, "end"])),
        element("tbody", {}, ...rows),
      ),
    );
  }
  return {
    node: element(
      "div",
      {},
      head("attention weights: across, what was read; down, what is to be written"),
      box,
      ...wrote,
    ),
    /** @param {Run} run @param {State} state */
    draw({ machines }, state) {
      const key = `${state.task} ${state.text}`;
      if (drawn !== key) build(state);
      drawn = key;
      const ids = idsOf(state.text);
      gaze(machines[1], ids, state.task).forEach((row, i) => {
        row.forEach((weight, j) => {
          const cell = cells[i][j];
          cell.dataset.value = String(weight);
          tune(cell, "--w", weight);
        });
      });
      const want = textOf(answer(state.task, ids));
      machines.forEach((machine, k) => {
        const found = textOf(spell(machine, [ids])[0]);
        wrote[k].textContent =
          `${k ? "Attention" : "The fixed vector"} writes ${found ? `“${found}”` : "nothing"} ` +
          (found === want ? "✓" : "✗");
      });
    },
  };
}

/** Everything in numbers. @param {Run} run @param {State} state */
function numbers({ machines, losses, right }, { task, text }) {
  const ids = idsOf(text);
  const target = [...textOf(answer(task, ids)), "end"];
  const curves = KINDS.map((_, k) => curve(losses, k, 10));
  return [
    tableOf(
      ["around step", ...KINDS.map((kind) => `loss, ${NAMES[kind]}`)],
      curves[0].map(([step, loss], i) => [
        String(Math.round(step)),
        digits(loss, 3),
        digits(curves[1][i][1], 3),
      ]),
    ),
    tableOf(
      ["letters", ...KINDS.map((kind) => `% right, ${NAMES[kind]}`)],
      (right[0] ?? []).map((share, i) => [String(i + 1), digits(share, 0), digits(right[1][i], 0)]),
    ),
    tableOf(
      ["weight on", ...text, "end"],
      gaze(machines[1], ids, task).map((row, i) => [target[i], ...row.map((w) => digits(w))]),
    ),
  ];
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const worker = helper(model.get("_esm"));
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const { say, problem, complain, set } = voice(model);
  let [run, made] = [fresh(read()), madeOf(read())];
  // How many steps are still to be done; when things were done last.
  let [wanted, drawn, spoken, examined] = [0, 0, 0, 0];
  let [working, ended, alive] = [false, false, true];

  /** An answer of the worker; one that is silent for long is taken for dead.
   * @param {string} name @param {object} given */
  async function ask(name, given) {
    const clock = setTimeout(() => worker.stop("it fell silent"), PATIENCE);
    try {
      return await worker.ask(name, given);
    } finally {
      clearTimeout(clock);
    }
  }
  /** One chunk of training, or a test where one is due; false if nothing is. */
  async function more() {
    const [mine, { task, rate, seed }] = [run, read()];
    const [{ machines }, step] = [mine, mine.losses.length];
    const due = !wanted || performance.now() - examined > EXAMINED;
    if (due && mine.asked !== step) {
      mine.right = await ask("examine", { machines, task });
      [mine.asked, examined] = [step, performance.now()];
    } else if (wanted) {
      const given = { machines, task, rate, seed, step, most: wanted, ms: CHUNK };
      const found = await ask("train", given);
      mine.machines = found.machines;
      mine.losses.push(...found.losses);
      if (mine === run) wanted = Math.max(0, wanted - found.losses.length);
    } else return false;
    alive = true;
    return true;
  }
  /** Trains until no step is wanted any more. */
  async function work() {
    if (working) return;
    working = true;
    for (let on = true; on && !ended; ) {
      if (document.hidden) wanted = 0;
      try {
        on = await more();
      } catch {
        if (ended) return;
        // When a second one dies before it has answered, no third is begun.
        if (!alive) [wanted, on] = [0, false];
        alive = false;
        complain(
          "The worker that trains has died. " +
            (on ? `Another goes on from step ${run.losses.length}.` : "Press Train to try again."),
        );
      }
      if (!wanted || performance.now() - drawn > (still.matches ? 2000 : 150)) paint();
    }
    working = false;
  }
  /** @param {number} steps */
  function want(steps) {
    complain("");
    alive = true;
    wanted = steps;
    paint();
    work();
  }
  const begin = () => {
    run = fresh(read());
    want(0);
  };

  const play = button("play", "Train", () => want(wanted === Infinity ? 0 : Infinity));
  const one = button("next", "One step", () => want(wanted === Infinity ? 0 : wanted + 1));
  const again = button("again", "Start again", begin);
  const task = select(
    "task",
    [
      ["reverse", "backwards"],
      ["copy", "as it is"],
    ],
    (value) => set({ task: value === "copy" ? value : "reverse" }),
  );
  const width = select(
    "width",
    WIDTHS.map((one) => [one, String(one)]),
    (value) => set({ width: Number(value) }),
  );
  /** A field that keeps the old value and says why, if the new one does not fit.
   * @param {"text" | "rate" | "seed"} name @param {number} size
   * @param {(typed: string) => {value?: any, problem?: string}} take any: the trait's own */
  const entry = (name, size, take) => {
    const node = field(name, { size, autocapitalize: "off", spellcheck: "false" }, (typed) => {
      const { value, problem: what } = take(typed);
      if (what) complain(`${what} “${model.get(name)}” stays.`);
      else set({ [name]: value });
      node.value = String(model.get(name));
    });
    return node;
  };
  const inputs = [
    task,
    width,
    entry("rate", 6, (typed) => readNumber("learning rate", typed, LEAST, MOST)),
    entry("seed", 4, (typed) => readNumber("seed", typed, 0, 2 ** 31 - 1, Number.isInteger)),
    entry("text", 10, readString),
  ];
  const told = tiles(FIGURES);
  const [loss, lengths, gazes] = [lossChart(), lengthChart(), map()];
  const figure = element(
    "div",
    { class: "charts" },
    gazes.node,
    element("div", {}, loss.node, lengths.node),
  );
  const table = scroller("losses, what comes out right, and weights", { hidden: true });

  function paint() {
    const state = read();
    const now = performance.now();
    drawn = now;
    play.textContent = wanted === Infinity ? "Pause" : "Train";
    const { losses } = run;
    /** @param {0 | 1} k @returns {[string, number, string]} */
    const tile = (k) => {
      const loss = lately(losses, k);
      const size = grouped(count(KINDS[k], state.width));
      return [
        `loss, ${NAMES[KINDS[k]]} (${size} weights)`,
        loss,
        losses.length ? digits(loss) : "–",
      ];
    };
    told.fill({
      step: ["steps done", losses.length, grouped(losses.length)],
      "loss-fixed": tile(0),
      "loss-look": tile(1),
    });
    loss.draw(losses);
    lengths.draw(run.right);
    gazes.draw(run, state);
    if (wanted === Infinity && now - spoken < SPOKEN) return;
    spoken = now;
    say.textContent = sentence(run, state, wanted > 1);
    if (!table.hidden) table.replaceChildren(...numbers(run, state));
  }
  const shown = tableButton(figure, table);
  shown.addEventListener("click", () => {
    spoken = 0;
    paint();
  });
  return {
    node: root(
      "learning",
      "Two models that learn",
      bar(play, one, again, shown),
      told.node,
      figure,
      table,
      say,
      element(
        "div",
        { class: "settings" },
        ...["write it", "width", "learning rate", "seed", "string"].map((name, i) =>
          element("label", {}, name, inputs[i]),
        ),
      ),
      problem,
    ),
    stop() {
      ended = true;
      worker.stop();
    },
    draw() {
      const state = read();
      if (made !== madeOf(state)) [run, made, wanted] = [fresh(state), madeOf(state), 0];
      inputs.forEach((node, i) => {
        node.value = String(state[SETTINGS[i]]);
      });
      paint();
    },
  };
}

export default widget([], SETTINGS, build, {
  task: among(limits.tasks),
  width: among(WIDTHS),
  rate: real(LEAST, MOST),
  seed: integer(0, 2 ** 31 - 1),
  text: (x) => typeof x === "string" && readString(x).value === x,
});
