// The masks' pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { flipped, row, sentence, square } from "../../src/lookback/widgets/masks.js";
import { there } from "./near.mjs";

const state = {
  tokens: ["un", "chat", "dort"],
  padding: 1,
  scores: [
    [0, 5, 1],
    [1, 0, 9],
    [2, 2, 2],
  ],
  values: [
    [1, 0],
    [0, 1],
    [4, 4],
  ],
  mask: square("all", 3, 1),
  step: 0,
};

test("the named masks are what they are called", () => {
  assert.deepEqual(square("causal", 3, 1), [
    [true, false, false],
    [true, true, false],
    [true, true, true],
  ]);
  assert.deepEqual(square("padding", 2, 1), [
    [true, false],
    [true, false],
  ]);
  assert.deepEqual(square("both", 3, 1), [
    [true, false, false],
    [true, true, false],
    [true, true, false],
  ]);
  assert.ok(square("all", 3, 1).flat().every(Boolean));
});

test("a shut square weighs exactly nothing, the rest keep their proportions", () => {
  const before = row(state, 1).weights;
  const after = row({ ...state, mask: square("causal", 3, 1) }, 1);
  assert.equal(after.weights[2], 0);
  assert.ok(Math.abs(after.weights[0] / after.weights[1] - before[0] / before[1]) < 1e-12);
  assert.ok(Math.abs(after.context[0] - after.weights[0]) < 1e-12);
});

test("one square is turned, unless its row would be empty", () => {
  const causal = square("causal", 3, 1);
  assert.equal(flipped(causal, 0, 0), null);
  assert.equal(there(flipped(causal, 0, 2))[0][2], true);
  assert.equal(causal[0][2], false);
});

test("a step is told in words", () => {
  assert.match(
    sentence(state, 0),
    /“un”, may attend to 3 of 3 positions, 2 of them still to come: “chat” gets 0\.98/,
  );
  assert.match(
    sentence({ ...state, mask: square("causal", 3, 1) }, 0),
    /1 of 3 positions: “un” gets 1\.00\.$/,
  );
});
