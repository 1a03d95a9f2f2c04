// The writer's pure functions, and what its widget says, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  inkOf,
  letterOf,
  readText,
  sentence,
  signsOf,
} from "../../src/lookback/widgets/handwriting.js";
import { mixtureOf, sample, windowOf } from "../../src/lookback/widgets/soft_window.js";
import { near } from "./near.mjs";

/** @param {[number, number, number]} point @param {number[]} phi */
const made = (point, phi) => ({ point, phi, kappa: [1] });

test("a window is a sum of Gaussians, and need not sum to 1", () => {
  const phi = windowOf([1, 0.5], [1, 100], [1, 3], 4);
  [1, Math.exp(-1), Math.exp(-4) + 0.5, Math.exp(-9)].forEach((x, i) => near(phi[i], x));
});

test("uniform numbers choose the Gaussian, the move and the pen", () => {
  const raw = [0, 0, 1, 2, -1, -2, 0, 0, Math.log(2), 0, 0, 0, 0];
  const mixture = mixtureOf(raw, 0);
  [0.5, 0.5].forEach((x, i) => near(mixture.pi[i], x));
  assert.deepEqual(sample(mixture, [0.2, 0, 0, 0.6]), [1, 2, 0]); // 0: the mean
  assert.deepEqual(sample(mixture, [0.7, 0, 0, 0.4]), [-1, -2, 1]);
  const [x, y] = sample(mixture, [0.7, 0.5, 0, 0]);
  near(x, -1 + 2 * Math.sqrt(-2 * Math.log(0.5)));
  near(y, -2);
  near(mixtureOf(raw, 1).sigma[1][0], 2 / Math.E);
});

test("what is typed becomes letters that it knows, or a sentence", () => {
  assert.deepEqual(readText("  Looking   Back "), { text: "looking back" });
  assert.match(readText("café 3")?.problem ?? "", /not “é3”/);
  assert.match(readText("  ")?.problem ?? "", /at least one/);
  assert.match(readText("a".repeat(61))?.problem ?? "", /At most 60/);
  assert.equal(readText("a".repeat(60)).text?.length, 60);
});

test("a text's signs end with the sign of the end", () => {
  assert.deepEqual(signsOf("a z"), [0, 26, 25, 27]);
});

test("ink is drawn from a point to the next while the pen is down", () => {
  const line = [
    made([1, 1, 0], [1, 0]),
    made([2, 0, 1], [1, 0]),
    made([5, 0, 0], [0, 1]),
    made([0, -1, 1], [0, 1]),
  ];
  assert.equal(inkOf(line), "M1.00 -1.00L3.00 -1.00M8.00 -1.00L8.00 0.00");
  assert.equal(
    inkOf(line, (i) => letterOf(line[i]) === 1),
    "M8.00 -1.00L8.00 0.00",
  );
  assert.equal(inkOf([]), "");
});

test("each point is told in words", () => {
  assert.match(sentence("hi", [], false), /2 letters: nothing/);
  const line = [made([1, 1, 0], [0.2, 0.9, 0.1])];
  assert.equal(
    sentence("hi", line, false),
    "Point 1: the window is on letter 2 of 2, “i”, with weight 0.90; all weights together 1.20.",
  );
  assert.match(sentence("hi", line, true), /1 points?\. With the next one the window leaves/);
});
