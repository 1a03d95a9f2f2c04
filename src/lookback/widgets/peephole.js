// @ts-check
// A hidden letter behind 25 windows, of which the reader opens three and then
// guesses; two networks guess too. The sums are those of glimpses.py.
import { among, integer, series } from "./lib/link.js";
import { dot, softmax, total } from "./lib/maths.js";
import { unpackRows } from "./lib/rows.js";
import { digits } from "./lib/text.js";
import {
  bar,
  button,
  change,
  element,
  grey,
  root,
  scroller,
  select,
  tableButton,
  tableOf,
  voice,
  widget,
} from "./lib/view.js";
import limits from "./peephole.json" with { type: "json" };

/** @typedef {import("./lib/rows.js").Rows} Rows */
/** @typedef {Record<string, import("./lib/half.js").Tensor>} Eye */
/** @typedef {{which: number, looks: number[], guess: string}} Round */
/** @typedef {{eye: Record<string, Rows>, fixed: Record<string, Rows>, order: number[],
 *   pictures: {shape: number[], data: DataView}, letters: string, which: number,
 *   looks: number[], done: Round[]}} State */

const ALPHABET = [...limits.alphabet];
const { across, side, looks: MOST, levels } = limits;
const PLACES = across * across;

/** W x + b. @param {Eye} eye @param {string} layer @param {ArrayLike<number>} x */
function linear(eye, layer, x) {
  const { shape, numbers } = eye[`${layer}.weight`];
  const bias = eye[`${layer}.bias`].numbers;
  return Array.from({ length: shape[0] }, (_, i) => {
    const row = numbers.slice(i * shape[1], (i + 1) * shape[1]);
    return dot(row, x) + bias[i];
  });
}

/** @param {number} x */
const relu = (x) => Math.max(0, x);

/** The window at a place: its pixels from 0 to 1, row by row.
 * @param {{shape: number[], data: DataView}} pictures @param {number} which
 * @param {number} place */
export function windowOf(pictures, which, place) {
  const width = across * side;
  const [top, left] = [Math.floor(place / across) * side, (place % across) * side];
  return Array.from({ length: side * side }, (_, i) => {
    const [row, column] = [top + Math.floor(i / side), left + (i % side)];
    return pictures.data.getUint8((which * width + row) * width + column) / levels;
  });
}

/** Each letter's probability: softmax(W ReLU(M Σ_l ReLU(A x_l + a) ∘ p_l + m) + w).
 * @param {Eye} eye @param {{pixels: number[], place: number}[]} seen */
export function guesses(eye, seen) {
  const where = eye.where.numbers;
  const d = eye.where.shape[1];
  const h = Array(d).fill(0);
  for (const { pixels, place } of seen) {
    linear(eye, "what", pixels).forEach((x, k) => {
      h[k] += relu(x) * where[place * d + k];
    });
  }
  return softmax(linear(eye, "name", linear(eye, "mix", h).map(relu)));
}

/** The likeliest letters, the first first. @param {number[]} chances @param {number} count */
export const best = (chances, count) =>
  chances
    .map((p, i) => ({ p, letter: ALPHABET[i] }))
    .sort((a, b) => b.p - a.p)
    .slice(0, count);

/** Row and column, from 1. @param {number} place */
export const spot = (place) =>
  `row ${Math.floor(place / across) + 1}, column ${(place % across) + 1}`;

/** How much ink a window shows. @param {number[]} pixels */
export function ink(pixels) {
  const dark = pixels.filter((x) => x > 0.5).length;
  if (dark) return `ink on ${dark} of ${pixels.length} pixels`;
  return pixels.some((x) => x > 0) ? "a trace of ink" : "no ink";
}

/** The same, and where, to be read aloud. @param {number[]} pixels */
export function inWords(pixels) {
  if (!pixels.some((x) => x > 0.5)) return ink(pixels);
  const lines = Array.from({ length: side }, (_, row) =>
    pixels
      .slice(row * side, (row + 1) * side)
      .map((x) => (x > 0.5 ? "1" : "0"))
      .join(""),
  );
  return `${ink(pixels)}, rows ${lines.join(" ")}`;
}

/** Who was right how often. @param {{you: boolean, net: boolean, fixed: boolean}[]} rounds */
export const tally = (rounds) => ({
  you: total(rounds.map(({ you }) => Number(you))),
  net: total(rounds.map(({ net }) => Number(net))),
  fixed: total(rounds.map(({ fixed }) => Number(fixed))),
  of: rounds.length,
});

/** A round as it came out.
 * @param {Eye} eye @param {Eye} fixed @param {State} state @param {Round} round */
export function outcome(eye, fixed, { pictures, letters, order }, round) {
  /** @param {number[]} places */
  const at = (places) =>
    places.map((place) => ({ place, pixels: windowOf(pictures, round.which, place) }));
  const letter = letters[round.which];
  const net = best(guesses(eye, at(round.looks)), 3);
  const other = best(guesses(fixed, at(order)), 3);
  return {
    ...round,
    letter,
    net,
    other,
    right: {
      you: round.guess === letter,
      net: net[0].letter === letter,
      fixed: other[0].letter === letter,
    },
  };
}

/** @param {{p: number, letter: string}} one */
const said = ({ p, letter }) => `“${letter}” (${digits(p)})`;

/** The whole widget.
 * @param {import("./lib/view.js").Model<State>} model @param {() => State} read */
function build(model, read) {
  const { say, set } = voice(model);
  const [eye, fixed] = [unpackRows(model.get("eye")), unpackRows(model.get("fixed"))];
  const order = model.get("order");
  const count = model.get("letters").length;
  /** The round of the letter at hand, once it was guessed. @param {State} state */
  const finished = ({ done, which }) => done.find((one) => one.which === which) ?? null;
  /** @param {number} place */
  const unveil = (place) => {
    const state = read();
    const free = !finished(state) && state.looks.length < MOST;
    if (free && !state.looks.includes(place)) set({ looks: [...state.looks, place] });
  };
  const cells = Array.from({ length: PLACES }, (_, place) => {
    const pixels = Array.from({ length: side * side }, () => element("i"));
    const node = button("open", "", () => unveil(place));
    node.append(...pixels);
    return { node, pixels };
  });
  const grid = element(
    "div",
    { class: "windows", role: "group", "aria-label": "25 windows" },
    ...cells.map(({ node }) => node),
  );
  grid.addEventListener("keydown", (event) => {
    /** @type {Record<string, number>} */
    const ways = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across };
    const at = cells.findIndex(({ node }) => node === event.target);
    const to = at + (ways[event.key] ?? NaN);
    const along = Math.abs(ways[event.key]) === 1;
    if (at < 0 || !cells[to]) return;
    if (along && Math.floor(to / across) !== Math.floor(at / across)) return;
    event.preventDefault();
    cells[to].node.focus();
  });
  let chosen = "";
  /** @type {[string, string][]} */
  const options = [["", "–"], ...ALPHABET.map((x) => /** @type {[string, string]} */ ([x, x]))];
  const letter = select("letter", options, (x) => {
    chosen = x;
    draw();
  });
  const guess = button("guess", "Guess", () => {
    const state = read();
    if (finished(state) || !state.looks.length || !chosen) return;
    const { which, looks, done } = state;
    set({ done: [...done, { which, looks, guess: chosen }] });
  });
  const next = button("next", "Next letter", () => {
    const { which } = read();
    if (!finished(read())) return;
    chosen = "";
    set({ which: (which + 1) % count, looks: [] });
  });
  const anew = button("anew", "Start again", () => {
    chosen = "";
    change(model, { which: 0, looks: [], done: [] });
  });
  const score = element("p", { class: "score", "data-role": "score" });
  const figure = element("div", {}, grid);
  const table = scroller("all letters so far", { hidden: true });
  const node = root(
    "peephole",
    "A letter behind 25 windows",
    figure,
    table,
    bar(element("label", {}, "your guess ", letter), guess, next),
    bar(anew, tableButton(figure, table)),
    say,
    score,
  );
  function draw() {
    const state = read();
    const round = finished(state);
    const { which, looks, done, pictures } = state;
    const left = MOST - looks.length;
    cells.forEach(({ node: cell, pixels }, place) => {
      const seen = looks.includes(place);
      const values = windowOf(pictures, which, place);
      const shown = seen || round !== null;
      pixels.forEach((one, i) => {
        one.style.opacity = shown ? values[i].toFixed(2) : "0";
      });
      cell.classList.toggle("shut", !shown);
      cell.classList.toggle("mine", seen);
      cell.classList.toggle("its", round !== null && order.includes(place));
      cell.setAttribute(
        "aria-label",
        `${spot(place)}: ${shown ? inWords(values) : "shut"}${seen ? ", opened by you" : ""}`,
      );
      grey(cell, shown || left === 0);
    });
    const all = done.map((one) => outcome(eye, fixed, state, one));
    if (round) chosen = round.guess;
    letter.value = chosen;
    grey(guess, round !== null || !looks.length || !chosen);
    grey(next, round === null);
    grey(anew, !done.length && !looks.length);
    const last = looks[looks.length - 1];
    if (round) {
      const now = outcome(eye, fixed, state, round);
      const mine = now.right.you ? "You are right" : `You said “${now.guess}”`;
      say.textContent =
        `It is “${now.letter}”. ${mine}. The network, from your windows: ` +
        `${said(now.net[0])}, then ${said(now.net[1])}. ` +
        `The other, from its own three (dashed): ${said(now.other[0])}.`;
    } else if (looks.length) {
      const seen = ink(windowOf(pictures, which, last));
      const more = left ? `${left} more to open` : "now choose a letter, and guess";
      say.textContent = `Letter ${which + 1} of ${count}. ${spot(last)}: ${seen}; ${more}.`;
    } else {
      say.textContent = `Letter ${which + 1} of ${count}. Open three windows, one after another.`;
    }
    const { you, net, fixed: other, of } = tally(all.map(({ right }) => right));
    score.textContent = of
      ? `Correct out of ${of}: you ${you}; the network on your windows ${net}; ` +
        `the other on its fixed three ${other}.`
      : "";
    table.replaceChildren(
      tableOf(
        ["letter", "your windows", "you", "network", "fixed three"],
        all.map((one) => [
          one.letter,
          one.looks.map((place) => spot(place)).join("; "),
          one.guess,
          said(one.net[0]),
          said(one.other[0]),
        ]),
      ),
    );
  }
  return { node, draw };
}

const isPlace = integer(0, PLACES - 1);

/** Different places, three at most. @param {any} x */
const arePlaces = (x) =>
  series(isPlace, x, Math.min(x?.length, MOST)) && new Set(x).size === x.length;

/** A letter that was guessed. @param {any} one @param {number} count */
const isRound = (one, count) =>
  Object.keys(one ?? {}).length === 3 &&
  integer(0, count - 1)(one.which, null) &&
  arePlaces(one.looks) &&
  among(ALPHABET)(one.guess);

export default widget(
  ["eye", "fixed", "order", "pictures", "letters"],
  ["which", "looks", "done"],
  build,
  {
    which: integer(0, ({ letters }) => letters.length - 1),
    looks: arePlaces,
    done: (x, { letters }) =>
      series((one) => isRound(one, letters.length), x, Math.min(x?.length, letters.length)),
  },
);
