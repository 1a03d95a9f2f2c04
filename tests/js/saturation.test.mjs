// The saturation widget's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { uniform } from "../../src/lookback/widgets/lib/mulberry.js";

import {
  draw,
  histogram,
  measure,
  normals,
  SIZES,
  sentence,
} from "../../src/lookback/widgets/saturation.js";
import { there } from "./near.mjs";

test("the same seed draws the same, another one does not", () => {
  assert.equal(uniform(3, 10), uniform(3, 10));
  assert.notEqual(uniform(3, 10), uniform(4, 10));
});

test("normal numbers have mean 0 and variance 1", () => {
  const z = [...normals(0, 20000)];
  const mean = z.reduce((a, b) => a + b, 0) / z.length;
  const variance = z.reduce((a, b) => a + (b - mean) ** 2, 0) / z.length;
  assert.ok(Math.abs(mean) < 0.03 && Math.abs(variance - 1) < 0.05);
});

test("every size has all queries and keys, and the first product is the start of the rest", () => {
  const drawn = draw(0);
  assert.deepEqual([...drawn.keys()], SIZES);
  assert.ok([...drawn.values()].every((rows) => rows.length === 256 && rows[255].length === 32));
});

test("one sure query, one undecided", () => {
  const now = measure(
    [
      [100, 0, 0, 0],
      [1, 1, 1, 1],
    ],
    4,
    false,
  );
  assert.ok(Math.abs(now.largest - 0.625) < 1e-9);
  assert.ok(Math.abs(now.trace - 0.375) < 1e-9);
  assert.equal(now.sure, 0.5);
  assert.match(sentence({ d_k: 4, scaled: false, seed: 0 }, now), /50 of 100 queries/);
});

test("division by √d_k divides the variance by d_k", () => {
  const rows = there(draw(1).get(64));
  assert.ok(
    Math.abs(measure(rows, 64, false).variance / measure(rows, 64, true).variance - 64) < 1e-9,
  );
  assert.match(
    sentence({ d_k: 64, scaled: true, seed: 1 }, measure(rows, 64, true)),
    /√64 = 8\.00/,
  );
});

test("no score is lost from the histogram", () => {
  const counts = histogram([-1000, 1000, 0, 0.5, -61, 60.9]);
  assert.equal(
    counts.reduce((a, b) => a + b, 0),
    6,
  );
  assert.deepEqual([counts[0], counts[30], counts[60]], [2, 2, 2]);
});
