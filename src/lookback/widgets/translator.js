// @ts-check
// The book's trained translators, run in a worker: text in, translation out.
import { beam } from "./decode.js";
import { END } from "./lib/recurrent.js";
import { readable, words, wordsOfFrench } from "./moses_tokenizer.js";
import { rnnsearch } from "./rnnsearch.js";
import { subwords, UNKNOWN } from "./subwords.js";
import { transformer } from "./transformer.js";
import limits from "./translate.json" with { type: "json" };

/** @typedef {import("./lib/int8.js").Machine} Machine */
/** @typedef {import("./decode.js").Written} Written */
/** What to translate, and how. `given` begins the French, `word` follows it.
 * @typedef {{text: string, width?: number, look?: string, gone?: string, given?: number[],
 *   word?: string}} Asked */
/** @typedef {{source: string[], found: Written[], kept: Written[][], pieces: Record<number,
 *   string>, given: number[], sentences: string[], seconds: number}} Translation */

export const MOST = limits; // of a sentence

/** How a machine looks when its own look is switched off. `gone`: "layer.head".
 * @param {string} look @param {string} gone @param {number} length of the source
 * @returns {import("./decode.js").Instead} */
export const otherLook =
  (look, gone, length) =>
  (weights, { written, layer, head }) => {
    if (gone === `${layer}.${head}`) return null;
    if (look === "uniform") return weights.map(() => 1 / length);
    if (look !== "diagonal") return weights;
    return weights.map((_, j) => Number(j === Math.min(written, length - 1)));
  };

/** Runs a machine. @param {Machine} machine */
export function translator(machine) {
  const { encode, decode, text: textOf } = subwords(machine);
  /** Refuses what it cannot read, in one sentence.
   * @param {string[]} typed words @param {string} what */
  function refuse(typed, what) {
    // A mark that the corpus never has comes as letters: “&lt;” in four pieces.
    const strange = (/** @type {string} */ word) =>
      encode([word]).includes(UNKNOWN) ||
      (word.match(/&#?\w+;/g) ?? []).some((mark) => encode([mark]).length > 1);
    const odd = typed.filter(strange).slice(0, 3);
    if (odd.length === 0) return;
    const named = odd.map((word) => `“${[...readable(word)].slice(0, 12).join("")}”`).join(", ");
    throw new Error(`${what} has ${named}: letters that the machine has never seen.`);
  }
  /** The ids of a typed sentence, END last. @param {string} text */
  function sourceOf(text) {
    if ([...text].length > MOST.letters) {
      throw new Error(`At most ${MOST.letters} letters, please: captions are short.`);
    }
    const typed = words(text);
    if (typed.length === 0) throw new Error("Type an English sentence.");
    refuse(typed, "Your sentence");
    const source = [...encode(typed), END];
    if (source.length > MOST.pieces) {
      throw new Error(`That makes ${source.length} pieces, and at most ${MOST.pieces} are read.`);
    }
    return source;
  }
  return {
    sourceOf,
    /** A piece as a reader sees it. @param {number} id */
    piece: (id) => shown(textOf(id)),
    /** What these pieces spell. @param {number[]} ids */
    sentence: (ids) => decode(ids).map(readable).join(" "),

    /** @param {Asked} asked @returns {Translation} */
    translate({ text, width = 1, look = "own", gone = "", given = [], word = "" }) {
      const began = performance.now();
      const source = sourceOf(text);
      const french = wordsOfFrench(word);
      const ends = word.trim() === "<end>";
      if (!ends) refuse(french, "Your word");
      const start = [...given, ...(ends ? [END] : encode(french))];
      const instead = otherLook(look, gone, source.length);
      const model =
        machine.model === "Transformer"
          ? transformer(machine.weights, /** @type {any} */ (machine.config), instead)
          : rnnsearch(machine.weights, instead);
      const { found, kept } = beam(/** @type {any} */ (model), source, { width, given: start });
      /** @type {Record<number, string>} */
      const pieces = {};
      const note = (/** @type {number} */ id) => {
        pieces[id] = shown(textOf(id));
      };
      for (const { steps } of [...found, ...kept.flat()]) {
        for (const { id, rivals } of steps) [id, ...rivals.map((one) => one.id)].forEach(note);
      }
      return {
        source: source.map((id) => shown(textOf(id))),
        found,
        kept,
        pieces,
        given: start,
        sentences: found.map(({ steps }) =>
          decode(steps.map(({ id }) => id))
            .map(readable)
            .join(" "),
        ),
        seconds: (performance.now() - began) / 1000,
      };
    },
  };
}

/** A piece as a reader sees it: a dot where its word goes on. @param {string} piece */
const shown = (piece) =>
  piece.startsWith("<") && piece.endsWith(">") && !piece.endsWith("</w>")
    ? piece
    : piece.endsWith("</w>")
      ? readable(piece.slice(0, -4))
      : `${readable(piece)}·`;
