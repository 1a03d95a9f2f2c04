// The soft dictionary's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { heatOf, lookup, readNumbers, sentence } from "../../src/lookback/widgets/lookup.js";
import { near, there } from "./near.mjs";

const state = {
  labels: ["north", "east", "south"],
  key: [
    [0, 2],
    [2, 0],
    [0, -2],
  ],
  value: [
    [6, 2],
    [12, 1],
    [20, 0],
  ],
  query: [1, 1],
  temperature: 1,
  mask: [true, true, true],
  step: 0,
};

test("a query between two keys brings back half of each", () => {
  const { scores, weights } = lookup(state);
  near(scores[0], Math.SQRT2);
  near(weights[0], weights[1]);
  near(
    weights.reduce((a, b) => a + b, 0),
    1,
  );
});

test("at temperature 0 the best takes all, and equals share", () => {
  assert.deepEqual(lookup({ ...state, temperature: 0 }).weights, [0.5, 0.5, 0]);
  assert.deepEqual(lookup({ ...state, temperature: 0, query: [1, 0.9] }).answer, [12, 1]);
});

test("a masked key has exactly no weight, hard or soft", () => {
  for (const temperature of [0, 0.05, 5]) {
    const { scores, weights } = lookup({ ...state, temperature, mask: [true, false, true] });
    assert.equal(scores[1], -Infinity);
    assert.equal(weights[1], 0);
    near(weights[0] + weights[2], 1);
  }
});

test("numbers are read from what people type, and from nothing else", () => {
  assert.deepEqual(readNumbers(" (1, \u22122.5) ", 2).numbers, [1, -2.5]);
  assert.deepEqual(readNumbers("1;2", 2).numbers, [1, 2]);
  assert.match(there(readNumbers("1, two", 2).problem), /“two” is not a number/);
  assert.match(there(readNumbers("1 2 3", 2).problem), /holds 3 numbers, and 2/);
  assert.match(there(readNumbers("", 2).problem), /holds 0 numbers/);
  assert.match(there(readNumbers("1, Infinity", 2).problem), /“Infinity”/);
});

test("the slider goes from hard to flat", () => {
  assert.deepEqual([0, 1, 27, 41].map(heatOf), [0, 0.05, 1, 5]);
});

test("every stage is told with its numbers", () => {
  assert.match(sentence(state, 0), /\(1\.00, 1\.00\).*“north”, 1\.41/);
  assert.match(sentence(state, 1), /temperature 1: “north” gets 0\.486, then “east” 0\.486/);
  assert.match(sentence({ ...state, temperature: 0 }, 1), /choice is hard: “north” has 0\.50/);
  assert.match(sentence({ ...state, mask: [true, false, true] }, 0), /−∞: “east”/);
  const alone = { ...state, mask: [true, false, false] };
  assert.match(sentence(alone, 1), /“north” gets 1\.000\. Masked, with score −∞: “east”, “south”/);
  assert.match(sentence(state, 2), /the answer is \(9\.3/);
});
