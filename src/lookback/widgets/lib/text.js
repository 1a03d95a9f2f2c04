// @ts-check
// Numbers as they are shown, and as people type them.

/** Digits with a true minus sign, and never "−0.00".
 * @param {number} x @param {number} [places] */
export const digits = (x, places = 2) =>
  x
    .toFixed(places)
    .replace(/^-(?=0\.?0*$)/, "")
    .replace("-", "\u2212");

/** A number of any size: 0.12, or 3·10⁻⁷ in characters that can be read aloud.
 * @param {number} x */
export function plain(x) {
  if (x === 0 || !Number.isFinite(x)) return String(x);
  if (x >= 0.01 && x < 1000) return digits(x, x < 10 ? 2 : 0);
  const power = Math.floor(Math.log10(x));
  return `${digits(x / 10 ** power, 1)}·10${[...String(power)]
    .map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)])
    .join("")}`;
}

/** A weight: 0 only where it is 0, and "<0.001" where that is all to be said.
 * @param {number} x */
export const share = (x) => (x === 0 ? "0" : x < 0.0005 ? "<0.001" : digits(x, 3));

/** Several numbers in brackets. @param {number[]} numbers */
export const spread = (numbers) => `(${numbers.map((x) => digits(x)).join(", ")})`;

/** A word in quotes, and its place where it stands more than once.
 * @param {string[]} words @param {number} j */
export const quoted = (words, j) =>
  `“${words[j]}”${words.indexOf(words[j]) === words.lastIndexOf(words[j]) ? "" : ` (word ${j + 1})`}`;

/** A whole number, its digits in groups of three. @param {number} n */
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** The whole number that a reader typed, "2,048" too; NaN for anything else.
 * @param {string} text */
export function readWhole(text) {
  const plain = text.replace(/[,\s]/g, "");
  return /^\d+$/.test(plain) ? Number(plain) : NaN;
}
