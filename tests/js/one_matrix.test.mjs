// The matrix of pairs: its pure functions, and what it says, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  directions,
  find,
  kept,
  last,
  matrix,
  more,
  right,
  sentence,
  written,
} from "../../src/lookback/widgets/one_matrix.js";
import { near } from "./near.mjs";

const base = { d: 8, rule: "sum", pairs: [[0, 4]], asked: 0 };

test("a direction has length 1", () => {
  for (const row of directions(7, 5, 6)) {
    near(
      row.reduce((sum, x) => sum + x * x, 0),
      1,
    );
  }
});

test("one pair alone is read exactly by every rule", () => {
  for (const rule of ["sum", "delta", "positive", "softmax"]) {
    assert.equal(find(rule, 0, [[0, 4]], 8).nearest, 4);
    near(find(rule, 0, [[0, 4]], 8).weights[0], 1);
  }
});

test("the delta rule writes what is missing", () => {
  const keys = [
    [1, 0],
    [0.6, 0.8],
  ];
  assert.deepEqual(written(keys), [
    [1, 0],
    [-0.6, 1],
  ]);
  const W = matrix(
    "delta",
    keys,
    [
      [2, 0],
      [0, 5],
    ],
    2,
  );
  [1.28, -0.96, 3, 4].forEach((x, i) => near(W.flat()[i], x));
});

test("a letter that is bound again", () => {
  const pairs = [
    [0, 4],
    [0, 9],
  ];
  assert.equal(last(0, pairs), 9);
  assert.equal(last(1, pairs), -1);
  const twice = find("sum", 0, pairs, 8).weights;
  near(twice[0], 1);
  near(twice[1], 1);
  const over = find("delta", 0, pairs, 8);
  near(over.weights[0], 0);
  near(over.weights[1], 1);
  assert.equal(over.nearest, 9);
  near(find("softmax", 0, pairs, 8).weights[0], 0.5);
});

test("new letters are free ones, each with a number", () => {
  assert.deepEqual(more([]), [
    [0, 4],
    [1, 11],
    [2, 18],
    [3, 1],
  ]);
  assert.equal(more([[1, 0]])[1][0], 2);
  const all = Array.from({ length: 22 }, (_, k) => [k, 0]);
  assert.equal(more(all).length, 2);
});

test("it says what came back", () => {
  assert.match(sentence({ ...base, pairs: [] }), /Nothing is stored/);
  assert.match(sentence(base), /^A finds 5: right\. Its own value comes with weight 1\.00/);
  assert.match(sentence({ ...base, asked: 1 }), /B is bound to nothing/);
  const again = {
    ...base,
    pairs: [
      [0, 4],
      [0, 9],
    ],
    rule: "delta",
  };
  assert.match(sentence(again), /^A finds 10: right\. Its 2 values come with weights 0\.00 and 1/);
  assert.match(sentence(again), /1 of 1 letters/);
  assert.equal(right(again).right.length, 1);
});

test("a matrix keeps the same for one pair and for many, softmax does not", () => {
  assert.match(kept(base), /64 numbers, for 1 pairs/);
  assert.match(kept({ ...base, rule: "positive" }), /64 \+ 8/);
  assert.match(kept({ ...base, rule: "softmax" }), /1 keys and values, 16 numbers/);
});

test("a list of nothing has no matrix", () => {
  assert.match(sentence({ ...base, pairs: [] }), /all zeros/);
  assert.equal(sentence({ ...base, rule: "softmax", pairs: [] }), "Nothing is stored.");
});
