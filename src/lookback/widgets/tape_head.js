// @ts-check
// A head on a memory of eight slots, and the reader as its controller: five
// addressing parameters, four stages, then it reads or writes. The maths: ntm.js.
import { among, integer, real, series } from "./lib/link.js";
import { mix } from "./lib/maths.js";
import { digits, share } from "./lib/text.js";
import {
  bar,
  button,
  change,
  element,
  grey,
  root,
  scroller,
  select,
  show,
  slider,
  tableButton,
  tableOf,
  voice,
  widget,
} from "./lib/view.js";
import { address, blank, written } from "./ntm.js";
import limits from "./tape_head.json" with { type: "json" };

/** @typedef {{key: string, strength: number, gate: number, move: number, blur: number,
 *   gamma: number}} Set the addressing */
/** @typedef {Set & {ink: string}} Deed what was written, "" where the head read */
/** @typedef {Deed & {done: Deed[]}} State */
/** @typedef {import("./ntm.js").Stages} Stages */

const SYMBOLS = [...limits.symbols];
const STAGES = /** @type {const} */ ([
  ["before", "before"],
  ["content", "1 content"],
  ["gated", "2 gate"],
  ["shifted", "3 shift"],
  ["weights", "4 sharpen"],
]);

/** A symbol's vector: 1 in its own place. @param {string} symbol */
export const vectorOf = (symbol) => SYMBOLS.map((one) => Number(one === symbol));

/** The addressing as the equations want them. @param {Set} set */
export function addressingOf({ key, strength, gate, move, blur, gamma }) {
  const moves = [blur, blur, blur];
  moves[move + 1] = 1 - 2 * blur;
  return { key: vectorOf(key), strength, gate, moves, gamma };
}

/** The tape, the head and what was read last, after all that was done.
 * @param {Deed[]} done */
export function replay(done) {
  let { memory, weights } = blank(limits.slots, SYMBOLS.length);
  /** @type {number[] | null} */
  let found = null;
  for (const one of done) {
    weights = address(memory, weights, addressingOf(one)).weights;
    if (one.ink) memory = written(memory, weights, [1, 1, 1, 1], vectorOf(one.ink));
    else found = mix(weights, memory);
  }
  return { memory, weights, found };
}

/** What a vector holds, in words. @param {number[]} vector */
export function holds(vector) {
  const parts = SYMBOLS.map((symbol, k) => ({ symbol, x: vector[k] }))
    .filter(({ x }) => x >= 0.005)
    .sort((a, b) => b.x - a.x);
  return parts.map(({ symbol, x }) => `${digits(x)} ${symbol}`).join(" + ") || "nothing";
}

/** The place of the largest. @param {number[]} row */
const top = (row) => row.indexOf(Math.max(...row));

/** What was done last, and where the addressing would take the head now.
 * @param {Deed[]} done @param {Stages} next */
export function sentence(done, next) {
  const { weights, found } = replay(done);
  const last = done[done.length - 1];
  const at = top(weights);
  /** @param {number[]} row @param {number} w */
  const near = (row, w) => row.flatMap((one, i) => (one > 0.9 * w ? [i] : []));
  const alike = near(weights, weights[at]);
  const place =
    alike.length > 1
      ? `slots ${alike.join(", ")} with weight ${digits(weights[at])} each`
      : `slot ${at} with weight ${digits(weights[at])}`;
  const was = !last
    ? "The memory is blank and the head is on slot 0."
    : last.ink
      ? `Step ${done.length}: wrote ${last.ink}, most of it at ${place}.`
      : `Step ${done.length}: read ${holds(found ?? [])}, most of it from ${place}.`;
  const most = digits(Math.max(...next.weights));
  const goals = near(next.weights, Math.max(...next.weights));
  const to =
    goals.length > 1 ? `slots ${goals.join(", ")} (${most} each)` : `slot ${goals[0]} (${most})`;
  return `${was} With these parameters it would go to ${to}.`;
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, set } = voice(model);
  /** @type {[string, string][]} */
  const options = SYMBOLS.map((one) => [one, one === "▸" ? "▸ (start)" : one]);
  const key = select("key", options, (x) => set({ key: x }));
  const ink = select("ink", options, (x) => set({ ink: x }));
  /** @type {[number, string][]} */
  const ways = [-1, 0, 1].map((by) => [by, ["one back", "stay", "one on"][by + 1]]);
  const move = select("move", ways, (x) => set({ move: Number(x) }));
  /** @param {"strength" | "gate" | "blur" | "gamma"} name @param {string} spoken
   * @param {number} least @param {number} most @param {number} by */
  const dial = (name, spoken, least, most, by) => {
    const range = slider(name, { min: least, max: most, step: by, "aria-label": spoken }, (x) =>
      set({ [name]: x }),
    );
    const number = element("b", { class: "number" });
    return {
      node: element("label", { class: "dial" }, element("span", {}, spoken), range, number),
      /** @param {number} x */
      draw(x) {
        range.value = String(x);
        number.textContent = digits(x, by < 0.1 ? 2 : by < 1 ? 1 : 0);
      },
    };
  };
  const addressing = {
    strength: dial("strength", "β, key strength", 0, limits.strength, 1),
    gate: dial("gate", "g, interpolation gate", 0, 1, 0.1),
    blur: dial("blur", "blur of the shift", 0, limits.blur, 0.01),
    gamma: dial("gamma", "γ, sharpening", 1, limits.gamma, 0.5),
  };
  /** @param {string} what */
  const act = (what) => {
    const { done, ink: _, ...now } = read();
    if (done.length < limits.steps) change(model, { done: [...done, { ...now, ink: what }] });
  };
  const writing = button("put", "Move and write", () => act(read().ink));
  const reading = button("take", "Move and read", () => act(""));
  const undo = button("undo", "Undo", () => change(model, { done: read().done.slice(0, -1) }));
  const anew = button("anew", "Blank memory", () => change(model, { done: [] }));
  const heads = ["slot", ...Array.from({ length: limits.slots }, (_, i) => String(i))];
  const slots = Array.from({ length: limits.slots }, () => element("td"));
  const cells = STAGES.map(([role]) =>
    Array.from({ length: limits.slots }, () => element("td", { "data-role": role })),
  );
  /** @param {string} name @param {HTMLElement[]} row @param {string} kind */
  const line = (name, row, kind) =>
    element("tr", { class: kind }, element("th", { scope: "row" }, name), ...row);
  const figure = scroller("the memory, and the head's weights stage by stage");
  figure.append(
    element(
      "table",
      { class: "tape" },
      element(
        "thead",
        {},
        element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head))),
      ),
      element(
        "tbody",
        {},
        line("holds", slots, "slots"),
        ...STAGES.map(([role, name], i) => line(name, cells[i], role)),
      ),
    ),
  );
  const table = scroller("all that was done", { hidden: true });
  const node = root(
    "tape-head",
    "A head on a memory of eight slots",
    element(
      "div",
      { class: "addressing" },
      element("label", {}, "key ", key),
      addressing.strength.node,
    ),
    element(
      "div",
      { class: "addressing" },
      addressing.gate.node,
      element("label", {}, "move ", move),
    ),
    element("div", { class: "addressing" }, addressing.blur.node, addressing.gamma.node),
    bar(element("label", {}, "symbol ", ink), writing, reading),
    bar(undo, anew, tableButton(figure, table)),
    say,
    figure,
    table,
  );
  return {
    node,
    draw() {
      const { done, ink: chosen, ...now } = read();
      const { memory, weights } = replay(done);
      const stages = { before: weights, ...address(memory, weights, addressingOf(now)) };
      key.value = now.key;
      ink.value = chosen;
      move.value = String(now.move);
      addressing.strength.draw(now.strength);
      addressing.gate.draw(now.gate);
      addressing.blur.draw(now.blur);
      addressing.gamma.draw(now.gamma);
      memory.forEach((slot, i) => {
        const most = top(slot);
        slots[i].textContent = slot[most] < 0.005 ? "·" : slot[most] > 0.995 ? SYMBOLS[most] : "";
        if (!slots[i].textContent) slots[i].textContent = `${SYMBOLS[most]} ${digits(slot[most])}`;
        slots[i].title = holds(slot);
      });
      STAGES.forEach(([role], s) => {
        stages[role].forEach((w, i) => {
          show(cells[s][i], w, w < 0.005 ? "" : digits(w));
          cells[s][i].style.setProperty("--share", w.toFixed(3));
        });
      });
      grey(undo, done.length === 0);
      grey(anew, done.length === 0);
      [writing, reading].forEach((one) => grey(one, done.length === limits.steps));
      table.replaceChildren(
        tableOf(
          ["step", "what", "key", "β", "g", "move", "blur", "γ", "head on", "weight"],
          done.map((one, i) => {
            const then = replay(done.slice(0, i + 1));
            const at = top(then.weights);
            return [
              String(i + 1),
              one.ink ? `write ${one.ink}` : `read ${holds(then.found ?? [])}`,
              one.key,
              digits(one.strength, 0),
              digits(one.gate, 1),
              digits(one.move, 0),
              digits(one.blur),
              digits(one.gamma, 1),
              String(at),
              share(then.weights[at]),
            ];
          }),
        ),
      );
      say.textContent = sentence(done, stages);
    },
  };
}

const RANGES = {
  key: among(SYMBOLS),
  strength: real(0, limits.strength),
  gate: real(0, 1),
  move: integer(-1, 1),
  blur: real(0, limits.blur),
  gamma: real(1, limits.gamma),
};

/** What was done once: the addressing, and the ink. @param {any} one */
const isDeed = (one) => {
  const fits = Object.entries({ ...RANGES, ink: among([...SYMBOLS, ""]) });
  const named = Object.keys(one ?? {}).length === fits.length;
  return named && fits.every(([name, fit]) => fit(one[name], null));
};

export default widget(
  [],
  ["key", "strength", "gate", "move", "blur", "gamma", "ink", "done"],
  build,
  {
    ...RANGES,
    ink: among(SYMBOLS),
    done: (x) => series(isDeed, x, Math.min(x?.length, limits.steps)),
  },
);
