// What the two machines' widgets compute without a machine.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  chances,
  cut,
  drawn,
  likeliest,
  shown,
  tokensOf,
  typedWords,
} from "../../src/lookback/widgets/bodies.js";
import { erf, sees } from "../../src/lookback/widgets/body.js";
import { blanksOf, sentence as filled } from "../../src/lookback/widgets/fill_in.js";
import { nextOf, sentence } from "../../src/lookback/widgets/write_on.js";

test("who sees whom", () => {
  assert.ok(sees("BERT", 0, 3) && sees("GPT", 3, 0) && sees("GPT", 2, 2));
  assert.ok(!sees("GPT", 0, 1));
});

test("erf is odd, and reaches 1", () => {
  assert.equal(erf(0), 0);
  assert.equal(erf(-7), -1);
  assert.ok(Math.abs(erf(0.5) - 0.5204998778130465) < 1e-15);
  assert.ok(Math.abs(erf(-1) + 0.8427007929497149) < 1e-15);
});

test("specials are never likely", () => {
  const p = chances([9, 9, 9, 1, 9, 1]);
  assert.deepEqual([...p], [0, 0, 0, 0.5, 0, 0.5]);
  assert.deepEqual(likeliest(p, 2), [3, 5]);
});

test("a cut keeps the word that carries the sum over the threshold", () => {
  const left = cut(Float64Array.of(0.05, 0.5, 0.15, 0.3), 0, 0.6);
  assert.deepEqual(left.order, [1, 3]);
  assert.ok(Math.abs(left.p[1] - 0.625) < 1e-12);
  assert.equal(cut(Float64Array.of(0.4, 0.6), 1, 1).count, 1);
  assert.equal(cut(Float64Array.of(0.4, 0.6), 0, 0.01).count, 1);
});

test("chance falls on words by their shares", () => {
  const left = cut(Float64Array.of(0.25, 0.75), 0, 1);
  assert.equal(drawn(left, 0), 1);
  assert.equal(drawn(left, 0.74), 1);
  assert.equal(drawn(left, 0.76), 0);
  assert.equal(drawn(left, 0.9999999999999999), 0);
});

test("words become numbers between the ends", () => {
  const index = new Map([
    ["a", 5],
    ["man", 6],
  ]);
  assert.deepEqual(tokensOf(["a", "_", "zebra"], index, true), [2, 5, 4, 1, 3]);
  assert.deepEqual(tokensOf([], index, false), [2]);
  assert.deepEqual(typedWords("A man's _hat"), ["a", "man", "&apos;s", "_", "hat"]);
  assert.equal(shown("&apos;s"), "'s");
});

test("a covered word and a typed blank are blanks alike", () => {
  assert.deepEqual(blanksOf({ text: "a _ man", covered: [2] }).places, [1, 2]);
});

test("what is said of the next word", () => {
  const pieces = ["", "", "", "<end>", "", "red", "hat"];
  const how = { machines: {}, text: "", written: [], seed: 0, temperature: 1, k: 0, p: 1 };
  const next = nextOf([0, 0, 0, 0, 0, Math.log(3), 0], how);
  assert.match(
    sentence(pieces, next, "a"),
    /likeliest word is “red”, drawn with probability 0.600; 3 words are left/,
  );
  assert.match(
    sentence(pieces, nextOf([0, 0, 0, 0, 0, 2, 0], { ...how, k: 1 }), "a"),
    /one word is/,
  );
  assert.equal(sentence(pieces, null, "a hat"), "The caption has ended: “a hat”.");
});

test("what is said of a blank", () => {
  const pieces = ["", "red", "hat"];
  const found = { bert: Float64Array.of(0, 0.25, 0.75) };
  assert.equal(
    filled(pieces, found, "red"),
    "In this blank the BERT gives 0.750 to “hat” and 0.250 to “red”.",
  );
  assert.match(filled(pieces, found, "hat"), /to “hat”, the word that stood there\.$/);
  assert.equal(filled(pieces, found, ""), "In this blank the BERT gives 0.750 to “hat”.");
});
