// @ts-check
// Words that change places, and the vector that self-attention makes of each.
// Python: shuffle.py.
import {
  button,
  change,
  digits,
  element,
  frame,
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
/** @typedef {{tiles: string[], order: number[], positions: boolean, masked: boolean,
 *   layers: number, weights: number[][][][]}} State */

const MOST = 8;
const LONGEST = 14;
const SAME = 1e-9; // what rounding leaves
const COUNT = ["no", "one", "two", "three", "four"];

/** A word's embedding: d numbers between −√3 and √3, drawn from its letters.
 * FNV-1a makes the seed, Mulberry32 the numbers; their variance is 1.
 * @param {string} word @param {number} d @returns {number[]} */
export function embed(word, d) {
  let seed = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(word)) seed = Math.imul(seed ^ byte, 0x01000193);
  return Array.from({ length: d }, () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.sqrt(3) * (((t ^ (t >>> 14)) >>> 0) / 2 ** 31 - 1);
  });
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
    const scores = key
      .slice(0, seen)
      .map((k) => k.reduce((sum, one, c) => sum + one * query[i][c], 0) / Math.sqrt(row.length));
    const context = mix(softmax(scores), value.slice(0, seen));
    return row.map((one, c) => one + context[c]);
  });
}

/** Each tile's output vector when the tiles stand in this order.
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
 * @param {State} state */
export function compare(state) {
  const now = outputs(state, state.order);
  const first = outputs(
    state,
    state.tiles.map((_, tile) => tile),
  );
  const moved = now.map((v, tile) => Math.hypot(...v.map((one, c) => one - first[tile][c])));
  return { now, first, moved };
}

/** The order with the tile at one place carried to another.
 * @param {number[]} order @param {number} from @param {number} to */
export function carry(order, from, to) {
  const rest = order.filter((_, place) => place !== from);
  return [...rest.slice(0, to), order[from], ...rest.slice(to)];
}

/** A word as a reader may type it, or null. @param {string} text */
export const readWord = (text) =>
  /^\S+$/u.test(text.trim()) && [...text.trim()].length <= LONGEST ? text.trim() : null;

/** Names as one reads them out: a, b and c. @param {string[]} names */
const listed = (names) =>
  names.length < 2
    ? names.join("")
    : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;

/** What stands twice, and whether the vectors tell the two apart.
 * @param {string[]} tiles @param {number[][]} now */
function twins(tiles, now) {
  const twice = [...new Set(tiles.filter((word, i) => tiles.indexOf(word) !== i))];
  return twice
    .map((word) => {
      const all = now.filter((_, tile) => tiles[tile] === word);
      const far = (v) => Math.hypot(...v.map((one, c) => one - all[0][c]));
      return all.every((v) => far(v) < SAME)
        ? ` The vectors of “${word}” are equal, wherever it stands.`
        : ` The vectors of “${word}” differ from place to place.`;
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

/** The model's traits as one object. @returns {State} */
const stateOf = (model) => ({
  tiles: model.get("tiles"),
  order: model.get("order"),
  positions: model.get("positions"),
  masked: model.get("masked"),
  layers: model.get("layers"),
  weights: model.get("weights"),
});

/** Carries the word at one place while a finger or the mouse holds it. */
function dragging(handle, place, view) {
  let held = null;
  const over = (event) => {
    const boxes = view.rows().map((row) => row.getBoundingClientRect());
    return boxes.findIndex((box) => event.clientY < box.bottom);
  };
  handle.addEventListener("pointerdown", (event) => {
    held = place;
    handle.setPointerCapture?.(event.pointerId);
    view.hold(held);
  });
  handle.addEventListener("pointermove", (event) => {
    if (held === null) return;
    const found = over(event);
    const to = found < 0 ? view.rows().length - 1 : found;
    if (to === held) return;
    view.carry(held, to);
    view.hold((held = to));
  });
  for (const end of ["pointerup", "pointercancel"]) {
    handle.addEventListener(end, () => view.hold((held = null)));
  }
}

/** One place: the word that stands there, its buttons and its vector. */
function placeRow(view, place, size) {
  const typed = () => {
    const { tiles, order } = view.state();
    const word = readWord(box.value);
    if (word !== null)
      return view.set({ tiles: tiles.map((old, i) => (i === order[place] ? word : old)) });
    const wrong = box.value;
    view.draw();
    const what = wrong.trim()
      ? `“${wrong}” is not one word of 1 to ${LONGEST} letters`
      : "An empty field is no word";
    view.complain(`${what}, so “${tiles[order[place]]}” stays.`);
  };
  const box = element("input", {
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    "data-action": "word",
    onchange: typed,
  });
  const handle = button("carry", String(place));
  const up = button("up", "↑", () => view.carry(place, place - 1));
  const down = button("down", "↓", () => view.carry(place, place + 1));
  const output = vector(size, "output");
  const verdict = element("span", { class: "verdict", "data-role": "moved" });
  const node = element("li", { class: "place" }, handle, box, up, down, output, verdict);
  dragging(handle, place, view);
  return {
    node,
    draw(state, found, most) {
      const tile = state.order[place];
      node.hidden = tile === undefined;
      if (node.hidden) return;
      const word = state.tiles[tile];
      box.value = word;
      box.setAttribute("aria-label", `word at place ${place}`);
      handle.setAttribute(
        "aria-label",
        `${word}, place ${place}: drag, or move with the arrow keys`,
      );
      up.setAttribute("aria-label", `move ${word} forwards`);
      down.setAttribute("aria-label", `move ${word} back`);
      up.setAttribute("aria-disabled", String(place === 0));
      down.setAttribute("aria-disabled", String(place === state.order.length - 1));
      output.fill(found.now[tile], most, found.first[tile]);
      const moved = found.moved[tile];
      Object.assign(verdict.dataset, { value: moved, kind: moved < SAME ? "same" : "changed" });
      verdict.textContent = moved < SAME ? "= same" : `≠ by ${digits(moved)}`;
    },
  };
}

/** Every number of every vector, now and in the first order. */
function numbersOf({ tiles, order }, { now, first, moved }) {
  const d = now[0].length;
  const rows = order.flatMap((tile, place) => [
    [
      `${tiles[tile]}, place ${place}`,
      ...now[tile].map((x) => digits(x, 3)),
      digits(moved[tile], 3),
    ],
    [`${tiles[tile]}, at first ${tile}`, ...first[tile].map((x) => digits(x, 3)), ""],
  ]);
  return tableOf(["word", ...Array.from({ length: d }, (_, c) => String(c)), "moved by"], rows);
}

/** A switch with its words. */
function toggle(view, name, text) {
  const box = element("input", {
    type: "checkbox",
    "data-action": name,
    onchange: () => view.set({ [name]: box.checked }),
  });
  return { node: element("label", {}, box, text), box };
}

/** The whole widget. @param {Model} model */
function build(model) {
  const start = stateOf(model);
  const [say, problem] = lines();
  const complain = (text) => {
    problem.textContent = text;
  };
  const set = (changes) => {
    complain("");
    change(model, changes);
  };
  const carried = (from, to) => {
    const { order } = stateOf(model);
    if (to < 0 || to >= order.length || from === to) return;
    const held = rows[from].node.contains(document.activeElement) && document.activeElement;
    set({ order: carry(order, from, to) });
    if (held) rows[to].node.querySelector(`[data-action="${held.dataset.action}"]`).focus();
  };
  const shown = () => rows.map((row) => row.node).filter((node) => !node.hidden);
  const hold = (place) => rows.forEach((row, i) => row.node.classList.toggle("held", i === place));
  const view = {
    state: () => stateOf(model),
    set,
    complain,
    draw,
    carry: carried,
    rows: shown,
    hold,
  };
  const rows = Array.from({ length: MOST }, (_, i) =>
    placeRow(view, i, start.weights[0][0].length),
  );
  const list = element("ol", { class: "places" }, ...rows.map((row) => row.node));
  const table = scroller("every number of every vector", { hidden: true });
  const switches = {
    positions: toggle(view, "positions", "positions"),
    masked: toggle(view, "masked", "causal mask"),
  };
  const depth = start.weights.map((_, i) =>
    button("layers", i ? `${COUNT[i + 1] ?? i + 1} layers` : "one layer", () =>
      set({ layers: i + 1 }),
    ),
  );
  const turned = button("reverse", "Reverse", () =>
    set({ order: [...stateOf(model).order].reverse() }),
  );
  const reset = button("reset", "First order", () =>
    set({ order: stateOf(model).order.map((_, i) => i) }),
  );
  const place = () => rows.findIndex((row) => row.node.contains(document.activeElement));
  const at = () => ({ step: Math.max(0, place()), last: stateOf(model).order.length - 1 });
  const to = (step) => (place() < 0 ? null : carried(place(), step));
  function draw() {
    const state = stateOf(model);
    const found = compare(state);
    const most = Math.max(...found.now.flat().map(Math.abs), ...found.first.flat().map(Math.abs));
    rows.forEach((row) => row.draw(state, found, most));
    for (const [name, { box }] of Object.entries(switches)) box.checked = state[name];
    depth.forEach((one, i) => one.setAttribute("aria-pressed", String(i + 1 === state.layers)));
    table.replaceChildren(numbersOf(state, found));
    say.textContent = sentence(state);
  }
  const node = frame(
    "shuffle",
    "Words in any order",
    at,
    to,
    element("div", { class: "bar" }, switches.positions.node, switches.masked.node, ...depth),
    say,
    list,
    table,
    problem,
    element("div", { class: "bar" }, turned, reset, tableButton(list, table)),
  );
  return { node, draw };
}

/** @param {{model: Model, el: HTMLElement}} context */
const render = (context) =>
  mount(context, ["weights"], ["tiles", "order", "positions", "masked", "layers"], build);

export default { render };
