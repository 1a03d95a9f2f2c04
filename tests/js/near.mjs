// What several of these tests ask of numbers.
import assert from "node:assert/strict";

/** Whether two numbers are the same, but for rounding.
 * @param {number} a @param {number} b @param {number} [by] */
export const near = (a, b, by = 1e-12) => assert.ok(Math.abs(a - b) < by, `${a} is not ${b}`);

/** What a function found, where it could have found nothing.
 * @template Found @param {Found | null | undefined} found */
export function there(found) {
  assert.ok(found !== null && found !== undefined, "nothing was found");
  return found;
}
