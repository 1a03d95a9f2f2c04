// The peephole's pure functions, and what it says, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  best,
  guesses,
  ink,
  inWords,
  spot,
  tally,
  windowOf,
} from "../../src/lookback/widgets/peephole.js";
import { near } from "./near.mjs";

test("a window is cut in reading order", () => {
  const data = new DataView(new ArrayBuffer(2 * 400));
  for (let i = 0; i < 400; i += 1) data.setUint8(400 + i, Math.floor(i / 20) === 5 ? 15 : 0);
  const pictures = { shape: [2, 20, 20], data };
  assert.deepEqual(windowOf(pictures, 0, 7), Array(16).fill(0));
  assert.deepEqual(windowOf(pictures, 1, 7), [0, 0, 0, 0, 1, 1, 1, 1, ...Array(8).fill(0)]);
  assert.deepEqual(windowOf(pictures, 1, 12), Array(16).fill(0));
});

test("a guess: what is seen, times where it is, added up", () => {
  const eye = {
    "what.weight": { shape: [2, 1], numbers: [1, -1] },
    "what.bias": { shape: [2], numbers: [0, 0.5] },
    where: { shape: [2, 2], numbers: [1, 2, 3, 4] },
    "mix.weight": { shape: [2, 2], numbers: [1, 0, 0, 1] },
    "mix.bias": { shape: [2], numbers: [0, 0] },
    "name.weight": { shape: [2, 2], numbers: [1, 0, 0, 1] },
    "name.bias": { shape: [2], numbers: [0, 0] },
  };
  const seen = [
    { pixels: [1], place: 0 },
    { pixels: [0.25], place: 1 },
  ];
  // relu(1, −.5) ∘ (1, 2) + relu(.25, .25) ∘ (3, 4) = (1.75, 1)
  const [first] = guesses(/** @type {any} */ (eye), seen);
  near(first, 1 / (1 + Math.exp(-0.75)));
});

test("what is said", () => {
  assert.equal(spot(0), "row 1, column 1");
  assert.equal(spot(13), "row 3, column 4");
  assert.equal(inWords(Array(16).fill(0)), "no ink");
  assert.equal(inWords(Array(16).fill(0.2)), "a trace of ink");
  const half = Array.from({ length: 16 }, (_, i) => Number(i < 6));
  assert.equal(ink(half), "ink on 6 of 16 pixels");
  assert.equal(inWords(half), "ink on 6 of 16 pixels, rows 1111 1100 0000 0000");
  const chances = Array.from({ length: 26 }, (_, i) => (i === 3 ? 0.5 : i === 1 ? 0.3 : 0));
  assert.deepEqual(
    best(chances, 2).map(({ letter }) => letter),
    ["d", "b"],
  );
  const rounds = [
    { you: true, net: false, fixed: true },
    { you: true, net: true, fixed: false },
  ];
  assert.deepEqual(tally(rounds), { you: 2, net: 1, fixed: 1, of: 2 });
});
