// The heads widget's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aim,
  allWeights,
  mapOf,
  named,
  overlap,
  sentence,
} from "../../src/lookback/widgets/heads.js";
import { near } from "./near.mjs";

/** float16 of small whole numbers, which it holds exactly.
 * @type {Record<number, number>} */
const bits = { 0: 0, 1: 0x3c00, 2: 0x4000, 4: 0x4400 };
/** @param {number[]} shape @param {number[]} numbers */
const pack = (shape, numbers) => ({
  shape,
  data: new DataView(Uint8Array.from(numbers.flatMap((x) => [bits[x] & 255, bits[x] >> 8])).buffer),
});
const shape = [1, 2, 2, 4]; // one layer, two heads, two words, d_k = 4
const example = {
  words: ["cat", "dog"],
  queries: pack(shape, [4, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
  keys: pack(shape, [1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]),
};

test("weights are softmax of q · k, divided by √d_k or not", () => {
  const e2 = Math.exp(2) / (Math.exp(2) + 1); // 4 · 1 / √4 = 2, against 0
  const e4 = Math.exp(4) / (Math.exp(4) + 1);
  const all = allWeights(example);
  assert.deepEqual([all.length, all[0].length, all[0][0].length], [1, 2, 2]);
  near(all[0][0][0][0], e2);
  near(all[0][0][1][1], e2);
  near(allWeights(example, false)[0][0][0][0], e4);
  assert.deepEqual(all[0][1], [
    [0.5, 0.5],
    [0.5, 0.5],
  ]);
});

test("the mean of a layer averages its maps, and still sums to 1", () => {
  const all = allWeights(example);
  const mean = mapOf(all, "mean", 0);
  near(mean[0][0], (all[0][0][0][0] + 0.5) / 2);
  near(mean[1][0] + mean[1][1], 1);
  assert.equal(mapOf(all, "0-1", 0), all[0][1]);
});

test("two heads share what both give", () => {
  near(overlap([1, 0], [0, 1]), 0);
  near(overlap([0.3, 0.7], [0.3, 0.7]), 1);
  near(overlap([0.9, 0.1], [0.4, 0.6]), 0.5);
});

test("a place is named as a reader counts", () => {
  assert.equal(named("2-0", 1), "Layer 3, head 1");
  assert.equal(named("mean", 1), "The mean of layer 2’s heads");
});

test("a step is told: one head, or two and what they share", () => {
  const { words } = example;
  assert.equal(aim(words, [0.95, 0.05]), "attends to “cat” with weight 0.95");
  assert.match(aim(words, [0.2, 0.8]), /“dog” with weight 0\.80, then to “cat” with 0\.20$/);
  const looks = [
    { name: "A", row: [0.9, 0.1] },
    { name: "B", row: [0.4, 0.6] },
  ];
  assert.match(sentence(words, 1, looks.slice(0, 1)), /^From word 2, “dog”\. A attends to “cat”/);
  assert.match(sentence(words, 0, looks), /The two share 0\.50 of their weight\.$/);
  assert.doesNotMatch(sentence(words, 0, looks.slice(0, 1)), /share/);
});
