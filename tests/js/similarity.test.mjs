// The similarity widget's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  moved,
  nudge,
  scoresOf,
  sentence,
  weightsOf,
} from "../../src/lookback/widgets/similarity.js";
import { near } from "./near.mjs";

const state = {
  query: [2, 1],
  keys: [
    [1.4, 0.7],
    [1, 4],
  ],
  labels: ["alike", "long"],
  strength: 1,
  step: 0,
};

test("three scores from one product", () => {
  const found = scoresOf(
    [3, 4],
    [
      [4, 3],
      [0, 10],
      [0, 0],
    ],
  );
  assert.deepEqual(found.dot, [24, 40, 0]);
  near(found.cosine[0], 0.96);
  near(found.cosine[1], 0.8);
  assert.equal(found.cosine[2], 0);
  near(found.scaled[1], 40 / Math.SQRT2);
});

test("the strength sharpens the cosine alone", () => {
  const [soft, sharp] = [1, 20].map((strength) => weightsOf({ ...state, strength }));
  assert.deepEqual(soft.dot, sharp.dot);
  assert.ok(sharp.cosine[0] > 0.99 && soft.cosine[0] < 0.6);
});

test("a point stays on the plane and on its grid", () => {
  assert.deepEqual(moved([4.96, -0.04], 3, 0), [5, 0]);
  assert.ok(Object.is(moved([-0.04, 0], 0, 0)[0], 0));
  const free = { shiftKey: false, ctrlKey: false, metaKey: false, altKey: false };
  /** @param {string} key */
  const press = (key, more = {}) => nudge({ ...free, key, ...more }, [0.2, 0]);
  assert.deepEqual(press("ArrowRight"), [0.3, 0]);
  assert.deepEqual(press("ArrowDown", { shiftKey: true }), [0.2, -0.5]);
  assert.equal(press("a"), null);
  assert.equal(press("ArrowUp", { ctrlKey: true }), null);
});

test("the sentence names the winner, and who would win otherwise", () => {
  assert.match(
    sentence(state),
    /attends most to the key “long”: score 6\.00, attention weight 0\.92/,
  );
  assert.match(sentence(state), /The cosine would choose “alike”/);
  assert.match(
    sentence({ ...state, step: 2 }),
    /^By the cosine, .*“alike”.*dot product would choose “long”/,
  );
  assert.match(
    sentence({
      ...state,
      keys: [
        [2, 1],
        [0, 1],
      ],
    }),
    /The cosine agrees/,
  );
  assert.match(sentence({ ...state, query: [0, 0] }), /every key gets the weight 0\.50/);
});
