// @ts-check
// What a link may bring. Anybody may write one, so each of its values is tried
// by one of these before a widget gets it; `state` is how all would be then.

/** @template State
 * @typedef {(value: any, state: State) => boolean} Fits any: it comes from outside */

/** A whole number, as far as `high`, which may depend on the state.
 * @template [State=any]
 * @param {number} low @param {number | ((state: State) => number)} high
 * @returns {Fits<State>} */
export const integer = (low, high) => (x, state) =>
  Number.isInteger(x) && x >= low && x <= (typeof high === "number" ? high : high(state));

/** A number between two others. @param {number} low @param {number} high */
export const real = (low, high) => (/** @type {any} */ x) =>
  typeof x === "number" && x >= low && x <= high;

/** @param {any} x */
export const flag = (x) => typeof x === "boolean";

/** One of a few. @param {readonly unknown[]} all */
export const among = (all) => (/** @type {any} */ x) => all.includes(x);

/** A list of so many that fit.
 * @param {Fits<any>} fits @param {any} x @param {number} count */
export const series = (fits, x, count) =>
  Array.isArray(x) && x.length === count && x.every((one) => fits(one, null));
