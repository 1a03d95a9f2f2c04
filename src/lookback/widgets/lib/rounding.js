// @ts-check
// What rounding does to a difference.
import { digits } from "./text.js";

/** A word of caution where two numbers differ by another than it seems once they
 * are rounded. @param {number} a @param {number} b @param {number} [places] */
export function unrounded(a, b, places = 2) {
  const seen = Number(a.toFixed(places)) - Number(b.toFixed(places));
  return digits(Math.abs(a - b), places) === digits(Math.abs(seen), places)
    ? ""
    : " (before rounding)";
}
