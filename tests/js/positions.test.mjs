// The functions of the widgets `shuffle` and `clocks`, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  sentence as clocksSay,
  curve,
  rotate,
  shifted,
  vectors,
} from "../../src/lookback/widgets/clocks.js";
import { dot } from "../../src/lookback/widgets/lib/maths.js";
import {
  carry,
  compare,
  embed,
  readWord,
  sentence as shuffleSays,
} from "../../src/lookback/widgets/shuffle.js";
import { near } from "./near.mjs";

/** @param {number} seed */
const matrix = (seed) =>
  Array.from({ length: 4 }, (_, i) =>
    Array.from({ length: 4 }, (_, j) => Math.sin(seed + 4 * i + 9 * j * j)),
  );
const weights = [[1, 2, 3].map(matrix), [4, 5, 6].map(matrix)];
const state = {
  tiles: ["man", "eats", "fish"],
  order: [2, 1, 0],
  positions: false,
  masked: false,
  layers: 1,
  weights,
};

test("without positions every word keeps its vector, in one layer and in two", () => {
  for (const layers of [1, 2]) {
    for (const moved of compare({ ...state, layers }).moved) near(moved, 0);
  }
  assert.match(shuffleSays(state), /every word has the very vector/);
});

test("positions change every vector; a mask some, and in two layers the last", () => {
  assert.match(shuffleSays({ ...state, positions: true }), /no word has the vector/);
  const masked = { ...state, masked: true, order: [1, 0, 2] };
  assert.match(shuffleSays(masked), /only “fish” still has/);
  assert.match(shuffleSays({ ...masked, layers: 2 }), /two layers.*no word has the vector/);
  assert.match(shuffleSays({ ...state, order: [0, 1, 2] }), /is the first order/);
});

test("two equal words have equal vectors, as long as nothing tells their places", () => {
  const twice = { ...state, tiles: ["fish", "eats", "fish"] };
  const { now } = compare(twice);
  assert.deepEqual(
    now[0].map((x) => x.toFixed(9)),
    now[2].map((x) => x.toFixed(9)),
  );
  assert.match(shuffleSays(twice), /vectors of “fish” are equal/);
  assert.match(shuffleSays({ ...twice, positions: true }), /vectors of “fish” differ/);
  const placed = compare({ ...twice, positions: true }).now;
  assert.notDeepEqual(placed[0], placed[2]);
});

test("a word always has the same embedding, and another word another", () => {
  assert.deepEqual(embed("poisson", 6), embed("poisson", 6));
  assert.notDeepEqual(embed("poisson", 6), embed("poissons", 6));
  const many = Array.from({ length: 2000 }, (_, i) => embed(`w${i}`, 8)).flat();
  const mean = many.reduce((a, b) => a + b, 0) / many.length;
  const variance = many.reduce((a, b) => a + (b - mean) ** 2, 0) / many.length;
  assert.ok(Math.abs(mean) < 0.03 && Math.abs(variance - 1) < 0.03);
});

test("a tile is carried, and the others close up", () => {
  assert.deepEqual(carry([0, 1, 2, 3], 0, 2), [1, 2, 0, 3]);
  assert.deepEqual(carry([0, 1, 2, 3], 3, 0), [3, 0, 1, 2]);
});

test("one word is read, and nothing else", () => {
  assert.equal(readWord(" été "), "été");
  for (const wrong of ["", "  ", "two words", "x".repeat(15)]) assert.equal(readWord(wrong), null);
});

const clocks = { mode: "added", a: 3, b: 10, query: [1, 0, 2, -1], key: [0.5, 1, -1, 3], last: 60 };

test("two codes have the sum of the cosines as product", () => {
  near(dot(...vectors(clocks)), Math.cos(7) + Math.cos(0.07));
  near(dot(...vectors({ ...clocks, b: 3 })), 2);
});

test("turning keeps lengths, and the product of two depends on the offset", () => {
  const turned = rotate(clocks.query, 17);
  near(dot(turned, turned), dot(clocks.query, clocks.query));
  const rotary = { ...clocks, mode: "rotary" };
  near(dot(...vectors(rotary)), dot(...vectors({ ...rotary, a: 40, b: 47 })));
  near(curve(rotary)[67], dot(...vectors(rotary)));
  assert.equal(curve(rotary).length, 121);
});

test("both positions move together, and stop together", () => {
  assert.deepEqual(shifted(clocks, 5), { a: 8, b: 15 });
  assert.deepEqual(shifted(clocks, -5), { a: 0, b: 7 });
  assert.deepEqual(shifted(clocks, 99), { a: 53, b: 60 });
});

test("each state is told with its numbers", () => {
  assert.match(clocksSay(clocks), /Positions 3 and 10, 7 apart.*1\.751.* is 2\./);
  assert.match(
    clocksSay({ ...clocks, mode: "rotary", a: 4, b: 2 }),
    /Query at 4, key at 2, −2 apart.*unturned, −4\.500/,
  );
});
