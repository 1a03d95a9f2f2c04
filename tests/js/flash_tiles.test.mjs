// The softmax in tiles: its pure functions and what it says, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  absorb,
  drawn,
  orderOf,
  replay,
  result,
  scoresOf,
  sentence,
  whole,
} from "../../src/lookback/widgets/flash_tiles.js";
import { near } from "./near.mjs";

const base = { seed: 0, tile: 4, causal: false, rescale: true, row: 0, step: 0 };
const empty = { most: -Infinity, total: 0, context: [0] };

test("the numbers are tenths within their reach, the same for the same seed", () => {
  const { queries, keys, values } = drawn(5);
  for (const x of [...queries, ...keys, ...values].flat()) {
    assert.ok(Math.abs(x) <= 2);
    near(10 * x, Math.round(10 * x), 1e-9);
  }
  assert.deepEqual(drawn(5), drawn(5));
  assert.notDeepEqual(drawn(5), drawn(6));
});

test("tiles come row by row, and hidden ones are left out", () => {
  assert.deepEqual(orderOf({ tile: 4, causal: false }), [
    [0, 0],
    [0, 4],
    [4, 0],
    [4, 4],
  ]);
  assert.equal(orderOf({ tile: 2, causal: true }).length, 10);
  assert.equal(orderOf({ tile: 1, causal: false }).length, 64);
  assert.equal(scoresOf({ seed: 0, causal: true })[0][1], -Infinity);
});

test("two keys one after another are both at once", () => {
  const one = absorb(absorb(empty, [1], [[10]], true), [3], [[20]], true);
  const both = absorb(empty, [1, 3], [[10], [20]], true);
  near(one.total, both.total);
  near(one.context[0], both.context[0]);
  assert.equal(one.most, 3);
  const wrong = absorb(absorb(empty, [1], [[10]], true), [3], [[20]], false);
  near(wrong.total, 2);
});

test("a tile that is hidden whole changes nothing", () => {
  assert.deepEqual(absorb(empty, [-Infinity], [[7]], true), empty);
});

test("every step says what it did", () => {
  assert.match(sentence(base), /Nothing is read yet\. 4 tiles of 4/);
  assert.match(
    sentence({ ...base, step: 1 }),
    /Tile 1 of 4: queries 1 to 4, keys 1 to 4\. For query 1 the maximum is/,
  );
  const two = sentence({ ...base, step: 2 });
  assert.match(two, /the maximum (moves from .* the old sum shrinks by|stays)/);
  assert.match(sentence({ ...base, step: 3 }), /It does not concern query 1/);
  assert.match(sentence({ ...base, step: 4 }), /but for rounding\. 96 numbers .* been 320\./);
  const wrong = sentence({ ...base, step: 4, rescale: false });
  assert.match(wrong, /differ from the whole softmax by up to/);
  assert.match(sentence({ ...base, tile: 1, step: 1 }), /query 1, key 1\./);
});

test("the order of the tiles is no matter for the result", () => {
  for (const tile of [1, 2, 4, 8]) {
    for (const causal of [false, true]) {
      const state = { ...base, tile, causal, step: orderOf({ tile, causal }).length };
      const { kept } = replay(state);
      const truth = whole(state);
      kept.map(result).forEach((row, i) => {
        row.forEach((x, k) => {
          near(x, truth[i][k], 1e-9);
        });
      });
    }
  }
});
