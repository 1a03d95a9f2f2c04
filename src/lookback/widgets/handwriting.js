// @ts-check
// The trained model of handwriting.py writes by hand what the reader types, point
// after point, and below it the window slides along the text.

import limits from "./handwriting.json" with { type: "json" };
import { tiles } from "./lib/chart.js";
import { among, integer, real } from "./lib/link.js";
import { total } from "./lib/maths.js";
import { uniform } from "./lib/mulberry.js";
import { unpackRows } from "./lib/rows.js";
import { digits } from "./lib/text.js";
import {
  bar,
  button,
  element,
  field,
  frame,
  put,
  scroller,
  select,
  slider,
  svg,
  tableButton,
  tableOf,
  transport,
  tune,
  voice,
  widget,
} from "./lib/view.js";
import { writer } from "./soft_window.js";

/** @typedef {import("./soft_window.js").Made} Made */
/** @typedef {import("./soft_window.js").Weights} Weights */
/** @typedef {{machine: Record<string, import("./lib/rows.js").Rows>, text: string,
 *   bias: number, seed: number, speed: number, step: number}} State step: −1 is the last */

const { letters: LETTERS, most: MOST, points: POINTS } = limits;
const BEHIND = LETTERS.length; // the sign behind the text
const TALL = { above: 9, below: 5 }; // paces that a line needs, at least
const LETTER = 5; // and so wide is a letter, about
const FULL = 2; // the weight of a full column

/** The signs of a text, and that of its end. @param {string} text */
export const signsOf = (text) => [...[...text].map((one) => LETTERS.indexOf(one)), BEHIND];

/** The letters that a reader typed, or what is wrong with them.
 * @param {string} typed @returns {{text?: string, problem?: string}} */
export function readText(typed) {
  const text = typed.toLowerCase().trim().replace(/\s+/g, " ");
  const strange = [...new Set([...text].filter((one) => !LETTERS.includes(one)))];
  if (strange.length) {
    return { problem: `It knows the letters a to z and the space, not “${strange.join("")}”.` };
  }
  if (!text) return { problem: "Type at least one letter." };
  if (text.length > MOST) return { problem: `At most ${MOST} letters, please.` };
  return { text };
}

/** A line that is written as far as it is asked for.
 * @param {Weights} weights @param {string} text @param {number} seed @param {number} bias */
export function lineOf(weights, text, seed, bias) {
  const next = writer(
    weights,
    signsOf(text),
    (i) => [0, 1, 2, 3].map((j) => uniform(seed, 4 * i + j)),
    bias,
  );
  /** @type {Made[]} */
  const made = [];
  let done = false;
  return {
    made,
    done: () => done,
    /** Writes on, to so many points or to the end. @param {number} count */
    to(count) {
      while (!done && made.length < count) {
        const one = made.length < POINTS ? next() : null;
        if (one) made.push(one);
        else done = true;
      }
      return Math.min(count, made.length);
    },
  };
}

/** The letter that the window is on. @param {Made} made */
export const letterOf = ({ phi }) => phi.indexOf(Math.max(...phi));

/** The strokes that can be seen, from point `start` on: "M0 0L1 2…".
 * @param {Made[]} made @param {(i: number) => boolean} [which] points */
export function inkOf(made, which = () => true) {
  let [x, y, d, lifted, drawing] = [0, 0, "", 1, false];
  made.forEach(({ point }, i) => {
    const from = `M${x.toFixed(2)} ${(-y).toFixed(2)}`;
    x += point[0];
    y += point[1];
    const seen = !lifted && which(i);
    if (seen) d += `${drawing ? "" : from}L${x.toFixed(2)} ${(-y).toFixed(2)}`;
    drawing = seen;
    lifted = point[2];
  });
  return d;
}

/** Where the pen has been: the edges of it all, and where it is.
 * @param {Made[]} made */
function reach(made) {
  const edges = { left: 0, right: 0, top: 0, bottom: 0, x: 0, y: 0 };
  for (const { point } of made) {
    edges.x += point[0];
    edges.y += point[1];
    edges.left = Math.min(edges.left, edges.x);
    edges.right = Math.max(edges.right, edges.x);
    edges.top = Math.max(edges.top, edges.y);
    edges.bottom = Math.min(edges.bottom, edges.y);
  }
  return edges;
}

/** A letter that can be seen. @param {string} letter */
const seen = (letter) => (letter === " " ? "␣" : letter);

/** What happens at a point, in words.
 * @param {string} text @param {Made[]} made so far @param {boolean} done */
export function sentence(text, made, done) {
  if (!made.length) return `“${text}”, ${text.length} letters: nothing is written yet.`;
  if (done) {
    return `Written, “${text}”: ${made.length} points. With the next one the window leaves the last letter.`;
  }
  const { phi } = made[made.length - 1];
  const u = letterOf(made[made.length - 1]);
  const sum = `all weights together ${digits(total(phi))}`;
  return `Point ${made.length}: the window is on letter ${u + 1} of ${text.length}, “${seen(text[u])}”, with weight ${digits(phi[u])}; ${sum}.`;
}

/** Each letter: the points that were made while the window was on it.
 * @param {string} text @param {Made[]} made */
function rows(text, made) {
  const on = made.map(letterOf);
  return tableOf(
    ["letter", "first point", "last point", "largest weight"],
    [...text].map((letter, u) => {
      const first = on.indexOf(u);
      const most = Math.max(0, ...made.filter((_, i) => on[i] === u).map(({ phi }) => phi[u]));
      return [
        seen(letter),
        first < 0 ? "–" : String(first + 1),
        first < 0 ? "–" : String(on.lastIndexOf(u) + 1),
        first < 0 ? "–" : digits(most),
      ];
    }),
  );
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, problem, complain, set } = voice(model);
  const weights = unpackRows(model.get("machine"));
  let key = "";
  let line = lineOf(weights, "a", 0, 0);
  /** The line of the present state, and how much of it is shown. */
  const now = () => {
    const { text, seed, bias, step } = read();
    const wanted = JSON.stringify([text, seed, bias]);
    if (wanted !== key) [key, line] = [wanted, lineOf(weights, text, seed, bias)];
    return { text, step: line.to(step < 0 ? POINTS + 1 : step) };
  };
  const at = () => {
    const { step } = now();
    return { step, last: line.done() ? line.made.length : POINTS };
  };
  /** @param {number} step */
  const go = (step) => set({ step: line.to(step) });
  const walk = transport(at, go, 40, () => model.get("speed"));
  const play = walk.nodes[2];
  /** From the first point again, and if that may move, moving.
   * @param {Partial<State>} changes */
  const anew = (changes) => {
    walk.stop();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    set({ ...changes, step: still ? -1 : 0 });
    if (!still) play.click();
  };
  const box = field("text", { spellcheck: "false", autocapitalize: "none" }, (typed) => {
    const { text, problem: what } = readText(typed);
    if (text) anew({ text });
    else {
      walk.stop();
      complain(`${what} “${model.get("text")}” stays.`);
    }
  });
  const neat = slider(
    "bias",
    { min: 0, max: limits.bias, step: 0.1, "aria-label": "sampling bias" },
    (bias) => set({ bias, step: -1 }),
  );
  const number = element("b", { class: "number" });
  const speed = select(
    "speed",
    limits.speeds.map((one, i) => [one, ["slow", "natural", "fast"][i]]),
    (one) => set({ speed: Number(one) }),
  );
  const seeded = () => anew({ seed: (model.get("seed") + 1) % (limits.seed + 1) });
  const [ink, fresh] = ["ink", "fresh"].map((name) => svg("path", { class: name, fill: "none" }));
  const nib = svg("circle", { class: "nib", r: 0.7 });
  const paper = svg("svg", { "aria-hidden": "true" });
  paper.append(ink, fresh, nib);
  const sheet = scroller("the line, written by hand", { class: "scroll sheet" });
  sheet.append(paper);
  const text = element("div", { class: "text", "data-role": "text", "aria-hidden": "true" });
  const numbers = tiles(/** @type {const} */ (["points", "place", "most", "sum"]));
  const scale = element(
    "p",
    { class: "head" },
    `weight φ of each letter: the line is 1, a full column ${FULL} or more`,
  );
  const figure = element("div", {}, scale, text, numbers.node);
  const table = scroller("the points of each letter", { hidden: true });
  const node = frame(
    "handwriting",
    "A model that writes by hand",
    at,
    walk.to,
    bar(
      element("label", { class: "choose" }, "text ", box),
      button("write", "Write", () => {}),
    ),
    problem,
    bar(
      element("label", {}, "sampling bias ", neat, number),
      element("label", {}, "speed ", speed),
      button("seed", "Another style", seeded),
    ),
    sheet,
    bar(...walk.nodes, tableButton(figure, table)),
    say,
    figure,
    table,
  );
  node.querySelector('[data-action="write"]')?.addEventListener("click", () => {
    if (readText(box.value).text) anew({});
  });
  let lettered = "";
  return {
    node,
    stop: walk.stop,
    draw() {
      const { text: words, step } = now();
      const { bias, speed: pace } = read();
      const made = line.made.slice(0, step);
      const done = line.done() && step === line.made.length;
      if (!problem.textContent && document.activeElement !== box) box.value = words;
      neat.value = String(bias);
      number.textContent = digits(bias, 1);
      speed.value = String(pace);
      const last = made[made.length - 1];
      const here = last && !done ? letterOf(last) : -1;
      put(ink, { d: inkOf(made) });
      put(fresh, { d: inkOf(made, (i) => here >= 0 && letterOf(made[i]) === here) });
      const edges = reach(made);
      put(nib, { cx: edges.x, cy: -edges.y, visibility: last && !done ? "visible" : "hidden" });
      const left = edges.left - 2;
      const width = Math.max(LETTER * words.length, edges.right + 3) - left;
      const top = Math.max(TALL.above, edges.top + 1);
      const tall = top + Math.max(TALL.below, 1 - edges.bottom);
      put(paper, { viewBox: `${left} ${-top} ${width} ${tall}` });
      paper.style.setProperty("--paces", String(width));
      sheet.scrollLeft = ((edges.x - left) / width) * sheet.scrollWidth - 0.7 * sheet.clientWidth;
      if (lettered !== words) {
        lettered = words;
        text.replaceChildren(
          ...[...words, "■"].map((one) =>
            element("span", {}, element("b", {}, element("i")), seen(one)),
          ),
        );
      }
      [...text.children].forEach((one, u) => {
        const weight = last ? last.phi[u] : 0;
        const column = /** @type {HTMLElement} */ (one);
        tune(column, "--share", Math.min(1, weight / FULL));
        column.dataset.value = String(weight);
        column.classList.toggle("now", u === here);
      });
      const phi = last?.phi ?? [];
      const place = last ? total(last.kappa) / last.kappa.length : 0;
      const most = Math.max(0, ...phi);
      numbers.fill({
        points: ["points written", step, String(step)],
        place: ["window’s position, mean κ", place, last ? digits(place, 1) : "–"],
        most: ["largest weight φ", most, last ? digits(most) : "–"],
        sum: ["all weights together", total(phi), last ? digits(total(phi)) : "–"],
      });
      table.replaceChildren(rows(words, made));
      walk.draw();
      say.textContent = sentence(words, made, done);
    },
  };
}

export default widget(["machine"], ["text", "bias", "seed", "speed", "step"], build, {
  text: (text) => typeof text === "string" && readText(text).text === text,
  bias: real(0, limits.bias),
  seed: integer(0, limits.seed),
  speed: among(limits.speeds),
  step: integer(-1, POINTS),
});
