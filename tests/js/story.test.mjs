// The story's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  answer,
  follow,
  idsOf,
  question,
  say,
  sentence,
} from "../../src/lookback/widgets/story.js";
import { there } from "./near.mjs";

const KINDS = [
  {
    names: ["ann"],
    holders: ["attic", "yard"],
    form: "{0} went to the {1}",
    asked: "where is {0}",
  },
  { names: ["box"], holders: ["ann"], form: "{1} took the {0}", asked: "where is the {0}" },
];
/** @type {[string, string][]} */
const STORY = [
  ["ann", "yard"],
  ["box", "ann"],
  ["ann", "attic"],
];

test("a sentence is said in the order of its words", () => {
  assert.equal(say(KINDS, ["ann", "attic"]), "ann went to the attic");
  assert.equal(say(KINDS, ["box", "ann"]), "ann took the box");
  assert.equal(question(KINDS, "box"), "where is the box");
});

test("what was told last of a name holds", () => {
  assert.deepEqual(follow(KINDS, STORY, "box"), {
    place: "attic",
    missing: null,
    support: [1, 2],
  });
  assert.deepEqual(follow(KINDS, STORY.slice(0, 2), "ann").place, "yard");
});

test("a story may not tell", () => {
  assert.deepEqual(follow(KINDS, [["box", "ann"]], "box"), {
    place: null,
    missing: "ann",
    support: [0],
  });
  assert.equal(follow(KINDS, [["ann", "yard"]], "box").missing, "box");
});

test("words have numbers after the four special ones", () => {
  assert.deepEqual(idsOf(["a", "b"], "b a b"), [5, 4, 5]);
});

/** A table of two columns. @param {number[]} numbers */
const table = (...numbers) => ({
  shape: [numbers.length / 2, 2],
  numbers: Float64Array.from(numbers),
});

test("one hop by hand", () => {
  const p = {
    "words.0": table(0, 0, 1, 0, 0, 1),
    "words.1": table(0, 0, 0, 2, 2, 0),
    "ages.0": table(0, 0, 0, 0),
    "ages.1": table(0, 1, 0, 0),
  };
  // keys (1, 0), (0, 1); values (0, 2), (2, 0 + 1); u = (1, 0): scores 1, 0
  const { looks, words } = answer(p, [[1], [2]], [1]);
  const share = 1 / (1 + Math.exp(-1));
  assert.ok(Math.abs(there(looks[0][0]) - share) < 1e-12);
  const u = [1 + 2 * (1 - share), 2 * share + (1 - share)];
  const raised = [0, 2 * u[1], 2 * u[0]].map(Math.exp);
  const sum = raised.reduce((a, b) => a + b);
  raised.forEach((x, i) => {
    assert.ok(Math.abs(x / sum - there(words[i])) < 1e-12);
  });
});

test("each step is told", () => {
  const state = {
    vocabulary: [],
    kinds: KINDS,
    weights: {},
    story: STORY,
    asked: "box",
    draft: STORY[0],
    step: 0,
  };
  const now = {
    looks: [
      [0.1, 0.8, 0.1],
      [0.02, 0, 0.98],
    ],
    places: [0.9, 0.1],
  };
  assert.match(sentence(state, now, 3), /“where is the box\?” No hop has been made/);
  assert.match(
    sentence({ ...state, step: 1 }, now, 3),
    /Hop 1: the largest attention weight, 0\.800, is on “ann took the box”/,
  );
  assert.match(sentence({ ...state, step: 2 }, now, 3), /0\.980, is on “ann went to the attic”/);
  const end = { ...state, step: 3 };
  assert.match(sentence(end, now, 3), /answers “attic” \(p = 0\.900\), which is correct/);
  assert.match(
    sentence(end, { ...now, places: [0.2, 0.7] }, 3),
    /answers “yard”.*The story says “attic”/,
  );
  assert.match(
    sentence({ ...end, story: [["box", "ann"]] }, now, 3),
    /a guess: the story does not answer “where is ann/,
  );
});
