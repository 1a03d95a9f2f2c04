// What a link may bring to a widget.
import assert from "node:assert/strict";
import { test } from "node:test";
import { among, flag, integer, real, series } from "../../src/lookback/widgets/lib/link.js";
import { widget } from "../../src/lookback/widgets/lib/view.js";

const STRANGE = [null, undefined, NaN, Infinity, "1", "", [], [1], {}, true, 1.5, -1, 1e9];

test("a whole number from here to there, which may depend on the state", () => {
  const fits = integer(0, (s) => s.last);
  assert.deepEqual(
    [0, 3, 4].map((x) => fits(x, { last: 3 })),
    [true, true, false],
  );
  for (const x of STRANGE) assert.equal(integer(0, 9)(x, {}), false, String(x));
});

test("a number between two others", () => {
  assert.deepEqual([-2, 0.5, 2, 2.1].map(real(-2, 2)), [true, true, true, false]);
  for (const x of [null, NaN, "1", [1], true]) assert.equal(real(0, 9)(x), false, String(x));
});

test("yes or no, one of a few, and lists of so many", () => {
  assert.deepEqual([true, false, 0, "true", null].map(flag), [true, true, false, false, false]);
  assert.deepEqual(["a", "c", ["a"]].map(among(["a", "b"])), [true, false, false]);
  assert.equal(series(flag, [true, false], 2), true);
  for (const x of [[true], [true, 1], "ab", null, { length: 2 }]) {
    assert.equal(series(flag, x, 2), false, String(x));
  }
});

test("a widget says what its links keep", () => {
  const keeps = { step: integer(0, 2) };
  const build = () => ({ node: /** @type {any} */ ({}), draw() {} });
  assert.equal(widget([], [], build, keeps).keeps, keeps);
});
