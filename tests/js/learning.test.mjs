// What the two machines that learn are made of, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  curve,
  examine,
  idsOf,
  lately,
  onTheSpot,
  readNumber,
  readString,
  sentence,
  train,
} from "../../src/lookback/widgets/learning.js";
import {
  answer,
  batchOf,
  count,
  draw,
  gaze,
  lossOf,
  spell,
  tensors,
} from "../../src/lookback/widgets/reversing.js";
import { near } from "./near.mjs";

/** @typedef {import("../../src/lookback/widgets/reversing.js").Kind} Kind */
/** @type {Kind[]} */
const KINDS = ["fixed", "look"];
/** @param {number} seed */
const pair = (seed) => KINDS.map((kind) => draw(kind, 8, seed));
/** @type {{task: "reverse", rate: number, seed: number, ms: number}} */
const SETTING = { task: "reverse", rate: 0.02, seed: 1, ms: Infinity };
const STATE = { ...SETTING, width: 8, text: "noir", _esm: "" };

test("at width 12 the two middles have the sizes that rnnsearch.md gives", () => {
  const [fixed, look] = KINDS.map((kind) => {
    const own = tensors(kind, 12).filter(([name]) => /^(squeeze|attention)/.test(name));
    return own.reduce((sum, [, rows, columns]) => sum + rows * columns, 0);
  });
  assert.deepEqual([fixed, look], [600, 608]);
  assert.equal(tensors("look", 12).find(([name]) => name === "attention.v")?.[2], 16);
});

test("a gradient is the slope of the loss", () => {
  for (const machine of pair(3)) {
    train({ ...SETTING, machines: [machine], step: 0, most: 3 });
    const batch = batchOf(9, 0);
    const { gradient } = lossOf(machine, batch, "reverse");
    for (let i = 0; i < machine.weights.length; i += 97) {
      const [w, by] = [machine.weights[i], 1e-5];
      const sides = [by, -by].map((off) => {
        machine.weights[i] = w + off;
        return lossOf(machine, batch, "reverse").loss;
      });
      machine.weights[i] = w;
      near((sides[0] - sides[1]) / (2 * by), gradient[i], 1e-8);
    }
  }
});

test("the same seed trains the same machines, however the steps are cut", () => {
  const [one, other] = [pair(1), pair(1)];
  const whole = train({ ...SETTING, machines: one, step: 0, most: 6 }).losses;
  const parts = [
    [0, 1],
    [1, 2],
    [3, 3],
  ].flatMap(([step, most]) => train({ ...SETTING, machines: other, step, most }).losses);
  assert.deepEqual(whole, parts);
  assert.deepEqual(one, other);
  assert.notDeepEqual(draw("look", 8, 1).weights, draw("look", 8, 2).weights);
  assert.equal(train({ ...SETTING, machines: one, step: 6, most: 9, ms: 0 }).losses.length, 1);
});

test("strings are drawn from all letters and all lengths of the training", () => {
  const all = Array.from({ length: 60 }, (_, step) => batchOf(0, step)).flat(2);
  assert.deepEqual(new Set(all.map((ids) => ids.length)), new Set([1, 2, 3, 4, 5, 6, 7, 8]));
  assert.equal(new Set(all.flat()).size, 26);
  assert.deepEqual(batchOf(0, 3), batchOf(0, 3));
  assert.notDeepEqual(batchOf(0, 3), batchOf(1, 3));
});

test("an untrained look is even, and what is read is not changed", () => {
  const ids = idsOf("noir");
  const weights = gaze(draw("look", 12, 0), ids, "reverse");
  assert.equal(weights.length, 5);
  for (const weight of weights.flat()) near(weight, 0.2);
  assert.deepEqual(answer("reverse", ids), idsOf("rion"));
  assert.deepEqual(ids, idsOf("noir"));
  assert.equal(answer("copy", ids), ids);
});

test("strings are written apart from each other", () => {
  for (const machine of pair(1)) {
    train({ ...SETTING, machines: [machine], step: 0, most: 40 });
    const texts = ["noir", "chat", "lune"].map(idsOf);
    assert.deepEqual(
      spell(machine, texts),
      texts.flatMap((ids) => spell(machine, [ids])),
    );
  }
  const right = examine({ machines: pair(1), task: "reverse" });
  assert.deepEqual([right.length, right[0].length], [2, 10]);
});

test("the letters that are found are counted, those of the end are not", () => {
  const [a, b, c] = [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ];
  assert.equal(onTheSpot([b, a, c], "reverse"), 2);
  assert.equal(onTheSpot([b, a, c], "copy"), 0);
  assert.equal(onTheSpot([a, b, a], "copy"), 2);
});

test("a curve has few points, and their mean is the steps' own", () => {
  const losses = Array.from({ length: 250 }, (_, i) => [i, 1]);
  const found = curve(losses, 0, 100);
  assert.equal(found.length, 84);
  assert.deepEqual(found[0], [1.5, 1]);
  assert.deepEqual(found[83], [249.5, 249]);
  assert.deepEqual(curve([], 0), []);
  assert.equal(lately(losses, 0), 239.5);
  assert.equal(lately([[4, 2]], 1), 2);
});

test("what is typed is taken or explained in one sentence", () => {
  assert.deepEqual(readString(" Noir "), { value: "noir" });
  assert.match(readString("").problem ?? "", /Type a letter/);
  assert.match(readString("no1r").problem ?? "", /“1” is not among the letters/);
  assert.match(readString("abcdefghijk").problem ?? "", /11 letters: give 10/);
  assert.deepEqual(readNumber("seed", "7", 0, 9, Number.isInteger), { value: 7 });
  for (const wrong of ["", " ", "cat", "10", "-1", "1.5", "NaN", "Infinity"]) {
    const { problem } = readNumber("seed", wrong, 0, 9, Number.isInteger);
    assert.equal(problem, `seed “${wrong}”: give 0 to 9.`);
  }
  assert.deepEqual(readNumber("learning rate", "1e-3", 0.0001, 0.1), { value: 0.001 });
});

test("a training is told", () => {
  const run = { machines: pair(0), losses: [[2, 1]], right: [], asked: 0 };
  assert.match(sentence({ ...run, losses: [] }, STATE), /^Step 0\. Nothing has been learned yet/);
  const said = sentence(run, STATE);
  assert.match(said, /^Step 1\. Loss: fixed vector 2\.00, attention 1\.00\. In “noir” /);
  assert.match(sentence(run, STATE, true), /^Training\.$/);
  const right = [Array(10).fill(25), [...Array(8).fill(100), 0, 0]];
  assert.match(sentence({ ...run, right }, STATE), /vector writes 25 % .*attention 100 %\./);
  assert.ok(count("look", 12) > 5000);
});
