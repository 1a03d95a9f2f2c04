// @ts-check
// Words that change places, and the vector that self-attention makes of each.
// Python: shuffle.py.
import { flag, integer, series } from "./lib/link.js";
import { dot, mix, softmax, widest, within } from "./lib/maths.js";
import { uniform } from "./lib/mulberry.js";
import { digits } from "./lib/text.js";
import {
  bar,
  button,
  checkbox,
  element,
  field,
  frame,
  grey,
  press,
  scroller,
  tableButton,
  tableOf,
  vector,
  voice,
  widget,
} from "./lib/view.js";
import limits from "./shuffle.json" with { type: "json" };

/** @typedef {{tiles: string[], order: number[], positions: boolean, masked: boolean,
 *   layers: number, weights: number[][][][]}} State */
/** @typedef {{now: number[][], first: number[][], moved: number[]}} Found */
/** @typedef {{state: () => State, set: (changes: Partial<State>) => void,
 *   complain: (text: string) => void, draw: () => void, rows: () => HTMLElement[],
 *   carry: (from: number, to: number) => void, hold: (place: number | null) => void}} View */

const { tiles: MOST, letters: LONGEST } = limits;
const SAME = 1e-9; // what rounding leaves
const COUNT = ["no", "one", "two", "three", "four"];

/** A word's embedding: d numbers between −√3 and √3, drawn from its letters.
 * FNV-1a makes the seed, mulberry32 the numbers; their variance is 1.
 * @param {string} word @param {number} d @returns {number[]} */
export function embed(word, d) {
  let seed = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(word)) seed = Math.imul(seed ^ byte, 0x01000193);
  const most = Math.sqrt(3);
  return Array.from({ length: d }, (_, i) => most * (2 * uniform(seed, i) - 1));
}

/** PE(pos): sines in the even columns, cosines in the odd ones.
 * @param {number} position @param {number} d */
export const encoding = (position, d) =>
  Array.from({ length: d }, (_, c) => {
    const angle = position / 10000 ** ((c - (c % 2)) / d);
    return c % 2 ? Math.cos(angle) : Math.sin(angle);
  });

/** x ← x + softmax(x W_Q (x W_K)ᵀ / √d) x W_V; masked, nobody looks ahead.
 * @param {number[][]} x @param {number[][][]} matrices @param {boolean} masked */
export function layer(x, matrices, masked) {
  const [query, key, value] = matrices.map((w) => x.map((row) => mix(row, w)));
  return x.map((row, i) => {
    const seen = masked ? i + 1 : x.length;
    const scores = key.slice(0, seen).map((k) => dot(k, query[i]) / Math.sqrt(row.length));
    const context = mix(softmax(scores), value.slice(0, seen));
    return row.map((one, c) => one + context[c]);
  });
}

/** Each tile's output vector with the tiles in this order.
 * @param {State} state @param {number[]} order @returns {number[][]} by tile */
export function outputs({ tiles, positions, masked, layers, weights }, order) {
  const d = weights[0][0].length;
  let x = order.map((tile, place) => {
    const code = encoding(place, d);
    return embed(tiles[tile], d).map((one, c) => one + (positions ? code[c] : 0));
  });
  for (const matrices of weights.slice(0, layers)) x = layer(x, matrices, masked);
  return tiles.map((_, tile) => x[order.indexOf(tile)]);
}

/** Each tile's vector now and in the first order, and how far apart they are.
 * @param {State} state @returns {Found} */
export function compare(state) {
  const now = outputs(state, state.order);
  const first = outputs(
    state,
    state.tiles.map((_, tile) => tile),
  );
  const moved = now.map((v, tile) => Math.hypot(...v.map((one, c) => one - first[tile][c])));
  return { now, first, moved };
}

/** The order after the tile at one place is moved to another.
 * @param {number[]} order @param {number} from @param {number} to */
export function carry(order, from, to) {
  const rest = order.filter((_, place) => place !== from);
  return [...rest.slice(0, to), order[from], ...rest.slice(to)];
}

/** A word as a reader may type it, or null. @param {string} text */
export const readWord = (text) =>
  /^\S+$/u.test(text.trim()) && [...text.trim()].length <= LONGEST ? text.trim() : null;

/** Names as one reads them aloud: a, b and c. @param {string[]} names */
const listed = (names) =>
  names.length < 2
    ? names.join("")
    : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;

/** Words that occur twice, and whether their vectors differ.
 * @param {string[]} tiles @param {number[][]} now */
function twins(tiles, now) {
  const twice = [...new Set(tiles.filter((word, i) => tiles.indexOf(word) !== i))];
  return twice
    .map((word) => {
      const all = now.filter((_, tile) => tiles[tile] === word);
      /** @param {number[]} v */
      const far = (v) => Math.hypot(...v.map((one, c) => one - all[0][c]));
      return all.every((v) => far(v) < SAME)
        ? ` The vectors of “${word}” are equal, wherever it stands.`
        : ` The vectors of “${word}” differ from position to position.`;
    })
    .join("");
}

/** Whose vector changed, in words. @param {State} state */
export function sentence(state) {
  const { tiles, order, positions, masked, layers } = state;
  const { moved, now } = compare(state);
  const how =
    `Positions ${positions ? "on" : "off"}, causal mask ${masked ? "on" : "off"}, ` +
    `${layers === 1 ? "one layer" : `${COUNT[layers] ?? layers} layers`}`;
  const text = order.map((tile) => tiles[tile]).join(" ");
  if (order.every((tile, place) => tile === place)) {
    return `${how}. “${text}” is the first order. Move a word.${twins(tiles, now)}`;
  }
  const same = order.filter((tile) => moved[tile] < SAME).map((tile) => `“${tiles[tile]}”`);
  const who =
    same.length === tiles.length
      ? "every word has the very vector"
      : same.length === 0
        ? "no word has the vector"
        : `only ${listed(same)} still ${same.length > 1 ? "have" : "has"} the vector`;
  return `${how}: in “${text}”, ${who} that it had in “${tiles.join(" ")}”.${twins(tiles, now)}`;
}

/** Moves the word at one place while a finger or the mouse holds it.
 * @param {HTMLElement} handle @param {number} place @param {View} view */
function dragging(handle, place, view) {
  /** @type {number | null} */
  let held = null;
  /** @param {number | null} to */
  const hold = (to) => {
    held = to;
    view.hold(to);
  };
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture?.(event.pointerId);
    hold(place);
  });
  handle.addEventListener("pointermove", (event) => {
    if (held === null) return;
    const boxes = view.rows().map((row) => row.getBoundingClientRect());
    const found = boxes.findIndex((box) => event.clientY < box.bottom);
    const to = found < 0 ? boxes.length - 1 : found;
    if (to === held) return;
    view.carry(held, to);
    hold(to);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    handle.addEventListener(end, () => hold(null));
  }
}

/** One place: the word that stands there, its buttons and its vector.
 * @param {View} view @param {number} place @param {number} size */
function placeRow(view, place, size) {
  const box = field("word", { spellcheck: "false" }, (typed) => {
    const { tiles, order } = view.state();
    const word = readWord(typed);
    if (word !== null) {
      return view.set({ tiles: tiles.map((old, i) => (i === order[place] ? word : old)) });
    }
    view.draw();
    const what = typed.trim()
      ? `“${typed}” is not one word of 1 to ${LONGEST} letters`
      : "An empty field is no word";
    view.complain(`${what}, so “${tiles[order[place]]}” stays.`);
  });
  const handle = button("carry", String(place));
  const up = button("up", "↑", () => view.carry(place, place - 1));
  const down = button("down", "↓", () => view.carry(place, place + 1));
  const output = vector(size, "output");
  const verdict = element("span", { class: "verdict", "data-role": "moved" });
  const node = element("li", { class: "place" }, handle, box, up, down, output.node, verdict);
  /** @param {Element} one @param {string} name */
  const label = (one, name) => one.setAttribute("aria-label", name);
  dragging(handle, place, view);
  return {
    node,
    /** @param {State} state @param {Found} found @param {number} most */
    draw(state, found, most) {
      const tile = state.order[place];
      node.hidden = tile === undefined;
      if (node.hidden) return;
      const word = state.tiles[tile];
      box.value = word;
      label(box, `word at position ${place}`);
      label(handle, `${word}, position ${place}: drag, or move with the arrow keys`);
      label(up, `move ${word} forwards`);
      label(down, `move ${word} back`);
      grey(up, place === 0);
      grey(down, place === state.order.length - 1);
      output.fill(found.now[tile], most, found.first[tile]);
      const moved = found.moved[tile];
      const kind = moved < SAME ? "same" : "changed";
      Object.assign(verdict.dataset, { value: String(moved), kind });
      verdict.textContent = moved < SAME ? "= same" : `≠ by ${digits(moved)}`;
    },
  };
}

/** Every number of every vector, now and in the first order.
 * @param {State} state @param {Found} found */
function numbersOf({ tiles, order }, { now, first, moved }) {
  const d = now[0].length;
  const rows = order.flatMap((tile, place) => [
    [
      `${tiles[tile]}, position ${place}`,
      ...now[tile].map((x) => digits(x, 3)),
      digits(moved[tile], 3),
    ],
    [`${tiles[tile]}, at first ${tile}`, ...first[tile].map((x) => digits(x, 3)), ""],
  ]);
  return tableOf(["word", ...Array.from({ length: d }, (_, c) => String(c)), "moved by"], rows);
}

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const start = read();
  const { say, problem, complain, set } = voice(model);
  /** @param {number} from @param {number} to */
  const carried = (from, to) => {
    const { order } = read();
    if (to < 0 || to >= order.length || from === to) return;
    const held = document.activeElement;
    const action = rows[from].node.contains(held) && held?.getAttribute("data-action");
    set({ order: carry(order, from, to) });
    if (!action) return;
    /** @type {HTMLElement | null} */
    const heir = rows[to].node.querySelector(`[data-action="${action}"]`);
    heir?.focus();
  };
  const shown = () => rows.map((row) => row.node).filter((node) => !node.hidden);
  /** @param {number | null} place */
  const hold = (place) => rows.forEach((row, i) => row.node.classList.toggle("held", i === place));
  const view = { state: read, set, complain, draw, carry: carried, rows: shown, hold };
  /** @type {ReturnType<typeof placeRow>[]} */
  const rows = Array.from({ length: MOST }, (_, i) =>
    placeRow(view, i, start.weights[0][0].length),
  );
  const list = element("ol", { class: "places" }, ...rows.map((row) => row.node));
  const table = scroller("every number of every vector", { hidden: true });
  const positions = checkbox("positions", (on) => set({ positions: on }));
  const masked = checkbox("masked", (on) => set({ masked: on }));
  const depth = start.weights.map((_, i) =>
    button("layers", i ? `${COUNT[i + 1] ?? i + 1} layers` : "one layer", () =>
      set({ layers: i + 1 }),
    ),
  );
  const turned = button("reverse", "Reverse", () => set({ order: [...read().order].reverse() }));
  const reset = button("reset", "First order", () => set({ order: read().order.map((_, i) => i) }));
  const place = () => rows.findIndex((row) => row.node.contains(document.activeElement));
  const at = () => ({ step: Math.max(0, place()), last: read().order.length - 1 });
  /** @param {number} step */
  const to = (step) => (place() < 0 ? null : carried(place(), step));
  function draw() {
    const state = read();
    const found = compare(state);
    const most = widest([...found.now, ...found.first].flat());
    rows.forEach((row) => row.draw(state, found, most));
    [positions.checked, masked.checked] = [state.positions, state.masked];
    depth.forEach((one, i) => press(one, i + 1 === state.layers));
    table.replaceChildren(numbersOf(state, found));
    say.textContent = sentence(state);
  }
  const node = frame(
    "shuffle",
    "Words in any order",
    at,
    to,
    bar(
      element("label", {}, positions, "positions"),
      element("label", {}, masked, "causal mask"),
      ...depth,
    ),
    say,
    list,
    table,
    problem,
    bar(turned, reset, tableButton(list, table)),
  );
  return { node, draw };
}

export default widget(["weights"], ["tiles", "order", "positions", "masked", "layers"], build, {
  tiles: (x) => series((word) => readWord(String(word)) === word, x, within(2, x.length, MOST)),
  order: (x, { tiles }) =>
    series(integer(0, tiles.length - 1), x, tiles.length) && new Set(x).size === x.length,
  positions: flag,
  masked: flag,
  layers: integer(1, (s) => s.weights.length),
});
