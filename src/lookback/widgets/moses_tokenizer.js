// @ts-check
// English as people type it, cut into words by the rules of lab/moses_tokenizer.py.

/** @param {string} letters @param {string} one */
const each = (letters, one) => Object.fromEntries([...letters].map((letter) => [letter, one]));
/** @type {Record<string, string>} */
const PLAIN = { ...each("‘’‚‛`´′", "'"), ...each("“”„‟«»″", '"'), ...each("‐‑‒–—−", "-") };
/** @type {Record<string, string>} */
const ESCAPED = {
  "&": "&amp;",
  "|": "&#124;",
  "<": "&lt;",
  ">": "&gt;",
  "'": "&apos;",
  '"': "&quot;",
  "[": "&#91;",
  "]": "&#93;",
};
const MARK = Object.fromEntries(Object.entries(ESCAPED).map(([mark, text]) => [text, mark]));
// biome-ignore lint/suspicious/noControlCharactersInRegex: they count as spaces
const BLANK = /[\s\x00-\x1f\x7f-\x9f\ufeff]+/gu;
const W = String.raw`[\p{L}\p{N}_]`;
const WORD = new RegExp(
  String.raw`(?<!${W})(?:${W}\.){2,}(?!${W})` +
    String.raw`|(?<!${W})(?:mr|mrs|ms|dr|st)\.(?= [^ ])` +
    String.raw`|${W}+(?:(?:[-.]|(?<=\p{Decimal_Number})[,:](?=\p{Decimal_Number}))${W}+)*` +
    `|(?<=${W})'${W}+` +
    `|'(?:s|t|re|ve|ll|d|m)(?!${W})` +
    String.raw`|\.\.\.|[^ ]`,
  "gu",
);

/** Plain quotes, small letters, single spaces. @param {string} text */
const tidy = (text) =>
  [...text]
    .map((letter) => PLAIN[letter] ?? letter)
    .join("")
    .normalize("NFKC")
    .toLowerCase()
    .replace(BLANK, " ");

/** @param {string} word */
const escaped = (word) => [...word].map((letter) => ESCAPED[letter] ?? letter).join("");

/** The words of a sentence, lower-cased, as Multi30k writes them.
 * @param {string} text @returns {string[]} */
export const words = (text) => (tidy(text).match(WORD) ?? []).map(escaped);

/** A French word or more as a reader types them, to go on from: "d'" stands alone.
 * @param {string} text @returns {string[]} */
export const wordsOfFrench = (text) =>
  tidy(text)
    .replace(/'(?=[^ ])/g, "' ")
    .split(" ")
    .filter(Boolean)
    .map(escaped);

/** A word as a reader would see it: the corpus writes ' as &apos;.
 * @param {string} word */
export const readable = (word) =>
  word.replace(/&(?:amp|lt|gt|apos|quot|#124|#91|#93);/g, (text) => MARK[text]);
