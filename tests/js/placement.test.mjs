// The placement test: where a reader should begin, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import { advice } from "../../src/lookback/widgets/placement.js";

/** @param {string} page @param {number} right */
const asked = (page, right) => ({
  question: `About ${page}?`,
  options: [0, 1, 2].map((i) => ({ text: String(i), correct: i === right, why: "So it is." })),
  page,
  title: page.toUpperCase(),
});
const questions = [asked("first", 0), asked("second", 2), asked("third", 1)];
const beyond = { page: "last", title: "LAST" };

test("a reader begins with the first question that was missed", () => {
  const told = advice(questions, beyond, [0, 1, 0]);
  assert.deepEqual(told.right, [true, false, false]);
  assert.equal(told.begin.page, "second");
  assert.equal(told.words, "1 of 3 right. Begin with “SECOND”.");
  assert.equal(advice(questions, beyond, [1, 2, 1]).begin.page, "first");
});

test("who knows everything begins after it", () => {
  const told = advice(questions, beyond, [0, 2, 1]);
  assert.equal(told.begin.page, "last");
  assert.equal(told.words, "3 of 3 right. Begin with “LAST”.");
});

test("until all are answered it only counts", () => {
  assert.equal(advice(questions, beyond, []).words, "0 of 3 answered, 0 right.");
  const told = advice(questions, beyond, [0, 0]);
  assert.equal(told.done, false);
  assert.equal(told.words, "2 of 3 answered, 1 right.");
});
