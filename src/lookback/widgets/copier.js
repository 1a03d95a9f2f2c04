// @ts-check
// The trained model of copier.py, copying what the reader types: six bits a
// letter, a memory of any length, and where the head is at every step.
import limits from "./copier.json" with { type: "json" };
import { axis, columns, tiles } from "./lib/chart.js";
import { unpack } from "./lib/half.js";
import { integer } from "./lib/link.js";
import { within } from "./lib/maths.js";
import { digits } from "./lib/text.js";
import {
  bar,
  element,
  field,
  frame,
  scroller,
  slider,
  tableButton,
  tableOf,
  transport,
  voice,
  widget,
} from "./lib/view.js";
import { follow } from "./ntm.js";

/** @typedef {{machine: Record<string, import("./lib/half.js").Packed>, text: string,
 *   slots: number, step: number}} State */
/** @typedef {ReturnType<typeof run>} Run */

const LETTERS = limits.letters;
const BITS = 6;
const WAYS = ["−1", "0", "+1"];

/** A letter's bits. @param {string} letter */
const bitsOf = (letter) =>
  Array.from({ length: BITS }, (_, k) => (LETTERS.indexOf(letter) >> k) & 1);

/** What the model is given: a start mark, the letters, an end mark, nothing.
 * @param {string} text */
export function inputsOf(text) {
  const rest = [0, 0];
  return [
    [...Array(BITS).fill(0), 1, 0],
    ...[...text].map((letter) => [...bitsOf(letter), ...rest]),
    [...Array(BITS).fill(0), 0, 1],
    ...[...text].map(() => Array(BITS + 2).fill(0)),
  ];
}

/** The letter that six logits say. @param {number[]} logits */
const letterOf = (logits) => LETTERS[logits.reduce((sum, x, k) => sum + (x > 0 ? 1 << k : 0), 0)];

/** The text copied: every step, what is written, how many bits are wrong.
 * @param {import("./ntm.js").Weights} weights @param {string} text @param {number} slots */
export function run(weights, text, slots) {
  const steps = follow(weights, inputsOf(text), slots);
  const answers = steps.slice(text.length + 2).map(({ logits }) => logits);
  const wrong = answers.map(
    (logits, i) => bitsOf(text[i]).filter((bit, k) => Number(logits[k] > 0) !== bit).length,
  );
  return { text, slots, steps, written: answers.map(letterOf), wrong };
}

/** The letters that a reader typed, or what is wrong with them.
 * @param {string} typed @returns {{text?: string, problem?: string}} */
export function readText(typed) {
  const strange = [...new Set([...typed].filter((one) => !LETTERS.includes(one)))];
  if (strange.length) {
    return {
      problem: `Six bits have room for a–z, A–Z, 0–9, space and full stop, not for “${strange.join("")}”.`,
    };
  }
  if (!typed.length) return { problem: "Type at least one letter." };
  if (typed.length > limits.most) return { problem: `At most ${limits.most} letters, please.` };
  return { text: typed };
}

/** A letter that can be seen. @param {string} letter */
const seen = (letter) => (letter === " " ? "␣" : letter);

/** The place of the largest. @param {number[]} row */
const top = (row) => row.indexOf(Math.max(...row));

/** What happens at a step, in words. @param {Run} now @param {number} step */
export function sentence({ text, steps, written, wrong, slots }, step) {
  const errors = wrong.reduce((a, b) => a + b, 0);
  const all = errors
    ? `${errors} of ${BITS * text.length} bits are wrong`
    : `all ${BITS * text.length} bits are right`;
  if (!step) return `A memory of ${slots} slots, ${text.length} letters to copy: ${all}.`;
  const { weights } = steps[step - 1].tape;
  const n = text.length;
  const place = `The head is on slot ${top(weights)} with weight ${digits(Math.max(...weights))}.`;
  const start = `Step ${step} of ${steps.length}: `;
  if (step === 1) return `${start}the start mark. ${place}`;
  if (step <= n + 1) return `${start}it is given “${seen(text[step - 2])}”. ${place}`;
  if (step === n + 2) return `${start}the end mark. ${place}`;
  const i = step - n - 3;
  const right = wrong[i] ? `, and “${seen(text[i])}” was right` : "";
  return `${start}it writes “${seen(written[i])}”${right}. ${place}`;
}

/** Every step: what goes in and out, and where the head stands.
 * @param {Run} now */
function rows({ text, steps, written }) {
  const n = text.length;
  return tableOf(
    ["step", "in", "out", "head on", "weight"],
    steps.map(({ tape }, i) => [
      String(i + 1),
      i === 0 ? "start" : i === n + 1 ? "end" : i <= n ? seen(text[i - 1]) : "–",
      i > n + 1 ? seen(written[i - n - 2]) : "–",
      String(top(tape.weights)),
      digits(Math.max(...tape.weights)),
    ]),
  );
}

/** The whole widget, for one model, text and memory.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, problem, complain, set } = voice(model);
  const weights = unpack(model.get("machine"));
  const now = run(weights, model.get("text"), model.get("slots"));
  const { text, slots, steps, written, wrong } = now;
  const at = () => ({ step: within(0, read().step, steps.length), last: steps.length });
  const walk = transport(at, (step) => set({ step }), 400);
  const box = field("text", { spellcheck: "false", autocapitalize: "none" }, (typed) => {
    const { text: taken, problem: what } = readText(typed);
    if (taken) set({ text: taken, step: 0 });
    else complain(`${what} “${text}” stays.`);
  });
  box.value = text;
  const [low, high] = limits.slots;
  const range = slider("slots", { min: low, max: high, step: 1, "aria-label": "slots" }, (x) => {
    length.textContent = String(x);
  });
  range.addEventListener("change", () => set({ slots: Number(range.value), step: 0 }));
  const length = element("b", { class: "number" });
  /** @param {string} role @param {string[]} letters @param {number[]} marks */
  const line = (role, letters, marks) =>
    element(
      "p",
      { class: "letters", "data-role": role },
      ...letters.map((one, i) =>
        element("span", { class: marks[i] ? "wrong" : "", "data-value": marks[i] }, seen(one)),
      ),
    );
  const [above, below] = [line("given", [...text], []), line("written", written, wrong)];
  const head = columns("head", slots);
  const ends = axis([0, slots - 1].map((i) => element("span", {}, `slot ${i}`)));
  const numbers = tiles(/** @type {const} */ (["gate", "strength", "move", "gamma"]));
  const figure = element(
    "div",
    {},
    element("p", { class: "head" }, "where the head is"),
    head.node,
    ends,
    element("p", { class: "head" }, "its addressing parameters"),
    numbers.node,
  );
  const table = scroller("every step", { hidden: true });
  table.append(rows(now));
  const node = frame(
    "copier",
    "A trained model copies a text",
    at,
    walk.to,
    element("label", { class: "choose" }, "text ", box),
    problem,
    element("label", { class: "choose" }, "slots ", range, length),
    element("p", { class: "head" }, "given"),
    above,
    element("p", { class: "head" }, "written"),
    below,
    bar(...walk.nodes, tableButton(figure, table)),
    say,
    figure,
    table,
  );
  return {
    node,
    stop: walk.stop,
    draw() {
      const { step } = at();
      const n = text.length;
      if (!problem.textContent && document.activeElement !== box) box.value = text;
      [...above.children].forEach((one, i) => one.classList.toggle("now", i === step - 2));
      [...below.children].forEach((one, i) => {
        one.classList.toggle("now", i === step - n - 3);
        one.classList.toggle("later", step > 0 && i > step - n - 3);
      });
      const one = step ? steps[step - 1] : null;
      head.each.forEach((_, i) => {
        const w = one ? one.tape.weights[i] : Number(i === 0);
        head.set(i, w, w);
      });
      const addressing = one?.addressing;
      const way = addressing ? top(addressing.moves) : 0; // the likeliest
      numbers.fill({
        gate: ["gate g", addressing?.gate ?? 0, addressing ? digits(addressing.gate) : "–"],
        strength: [
          "key strength β",
          addressing?.strength ?? 0,
          addressing ? digits(addressing.strength, 1) : "–",
        ],
        move: [
          addressing ? `shift by ${WAYS[way]}` : "shift",
          addressing?.moves[way] ?? 0,
          addressing ? digits(addressing.moves[way]) : "–",
        ],
        gamma: [
          "sharpening γ",
          addressing?.gamma ?? 0,
          addressing ? digits(addressing.gamma, 1) : "–",
        ],
      });
      [range.value, length.textContent] = [String(slots), String(slots)];
      walk.draw();
      say.textContent = sentence(now, step);
    },
  };
}

export default widget(["machine", "text", "slots"], ["step"], build, {
  text: (x) => readText(String(x)).text === x,
  slots: integer(limits.slots[0], limits.slots[1]),
  step: integer(0, ({ text }) => 2 * text.length + 2),
});
