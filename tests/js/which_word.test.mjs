// The parts of which_word.js and other_weights.js that need no machine.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  divergence,
  likeliest,
  shuffled,
  variation,
} from "../../src/lookback/widgets/other_weights.js";
import { prediction, sentence } from "../../src/lookback/widgets/which_word.js";
import { near } from "./near.mjs";

const SENSES = ["food", "device"];

test("a prediction names the likelier sense, whichever end it is at", () => {
  assert.equal(prediction(0.93, SENSES), "“device”, 0.93");
  assert.equal(prediction(0.2, SENSES), "“food”, 0.80");
});

test("what the level says, and without the word that counts most", () => {
  const probes = { apple: { senses: SENSES, levels: [[0], [0]] } };
  const found = {
    leans: [0.5, 0.9],
    without: [
      [0.5, 0.3],
      [0.5, 0.8],
      [0.5, 0.9],
    ],
  };
  const state = { probes, covered: [], level: 1 };
  const said = sentence(["his", "red", "apple"], found, /** @type {any} */ (state));
  assert.equal(
    said,
    "Layer 1 says “device”, probability 0.90. " +
      "What counts most is “his”: without it, “food”, 0.70.",
  );
});

test("total variation and divergence at their ends", () => {
  near(variation([1, 0], [0, 1]), 1);
  near(variation([0.5, 0.5], [0.5, 0.5]), 0);
  near(divergence([1, 0], [0, 1]), Math.LN2);
  near(divergence([0.2, 0.8], [0.2, 0.8]), 0);
});

test("a shuffle keeps the weights, and another seed has another order", () => {
  const weights = [0.1, 0.2, 0.3, 0.4, 0];
  const orders = new Set();
  for (let seed = 0; seed < 20; seed += 1) {
    const found = shuffled(weights, seed);
    assert.deepEqual([...found].sort(), [...weights].sort());
    orders.add(found.join());
  }
  assert.ok(orders.size > 10);
});

test("the likeliest words of either distribution", () => {
  const p = [0.9, 0.1, 0, 0, 0, 0, 0];
  const q = [0, 0, 0, 0, 0, 0.3, 0.7];
  assert.deepEqual(likeliest(p, q).slice(0, 4), [0, 6, 5, 1]);
});
