// The rungs widget's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { unrounded } from "../../src/lookback/widgets/lib/rounding.js";
import {
  brief,
  compared,
  extent,
  gain,
  partner,
  ranged,
  sentence,
  shown,
} from "../../src/lookback/widgets/rungs.js";
import { there } from "./near.mjs";

/** @typedef {import("../../src/lookback/widgets/rungs.js").Rung} Rung */
/** @typedef {import("../../src/lookback/widgets/rungs.js").Measure} Measure */

/** @type {Measure} */
const score = { title: "BLEU", digits: 1, better: "higher" };
/** @type {Measure} */
const error = { title: "error", digits: 3, better: "lower" };
/** @type {Measure} */
const size = { title: "parameters", digits: 0, better: "lower" };
/** @type {Measure} */
const speed = { title: "tokens/s", digits: 0, better: "higher" };
/** @param {string} label @param {number} before @param {Rung["numbers"]} numbers
 * @param {Rung["intervals"]} [intervals] @returns {Rung} */
const rung = (label, before, numbers, intervals = {}) => ({
  label,
  change: `It is ${label}.`,
  before,
  numbers,
  intervals,
});
const rungs = [
  rung("low", -1, { bleu: 30, aer: null, parameters: 1000 }, { bleu: [29, 31.5] }),
  rung("high", 0, { bleu: 42.5, aer: 0.25, parameters: 2500 }),
  rung("close", 1, { bleu: 42.46, aer: 0.21, parameters: 2500 }),
];
const [low, high, close] = rungs;

test("numbers have thousands, a true minus, and never a minus zero", () => {
  assert.equal(shown(7206226, size), "7,206,226");
  assert.equal(shown(-0.256, score), "\u22120.3");
  assert.equal(shown(-0.01, score), "0.0");
  assert.equal(shown(undefined, score), "not measured");
  assert.equal(ranged(low, "bleu", score), "30.0 (95% interval 29.0 to 31.5)");
  assert.equal(ranged(low, "aer", error), "not measured");
});

test("the model that it changes, or the chosen one", () => {
  assert.deepEqual(
    [0, 1, 2].map((step) => partner(rungs, step, -1)),
    [-1, 0, 1],
  );
  assert.deepEqual(
    [0, 1, 2].map((step) => partner(rungs, step, 2)),
    [2, 2, 2],
  );
});

test("differences and ratios, none where a number lacks", () => {
  assert.deepEqual(gain(high, low, "bleu"), { difference: 12.5, ratio: 42.5 / 30 });
  assert.equal(gain(high, low, "aer"), null);
  assert.equal(gain(low, undefined, "bleu"), null);
  assert.equal(there(gain(low, rung("none", -1, { bleu: 0 }), "bleu")).ratio, null);
});

test("a difference that rounding belies is said to be one", () => {
  assert.equal(unrounded(53.034, 53.356), " (before rounding)"); // 0.32, and not 0.33
  assert.equal(unrounded(53.031, 53.356), "");
  assert.match(
    compared(rung("a", -1, { bleu: 46.86 }), rung("b", -1, { bleu: 50.44 }), "bleu", score),
    /^That is 3\.6 \(before rounding\) below the 50\.4 of b/,
  );
});

test("the short form beside the bar", () => {
  assert.equal(brief(gain(high, low, "bleu"), score), "+12.5");
  assert.equal(brief(gain(low, high, "bleu"), score), "\u221212.5");
  assert.equal(brief(gain(close, high, "bleu"), score), "0.0");
  assert.equal(brief(gain(high, low, "parameters"), size), "\u00d7 2.50");
  assert.equal(brief(null, score), "");
});

test("every measure is compared in words of its own", () => {
  /** @param {Rung} now @param {Rung | undefined} then @param {string} name
   * @param {Measure} measure */
  const say = (now, then, name, measure) => compared(now, then, name, measure);
  assert.equal(
    say(high, low, "bleu", score),
    "That is 12.5 above the 30.0 of low; higher is better.",
  );
  assert.equal(
    say(close, high, "aer", error),
    "That is 0.040 below the 0.250 of high; lower is better.",
  );
  assert.equal(
    say(high, low, "parameters", size),
    "That is 2.50 times the 1,000 of low; fewer is cheaper.",
  );
  assert.equal(
    say(low, high, "parameters", speed),
    "That is 0.40 times the 2,500 of high; more is faster.",
  );
  assert.equal(say(close, high, "parameters", size), "That is the same as the 2,500 of high.");
  assert.equal(say(close, high, "bleu", score), "That is less than 0.05 from the 42.5 of high.");
  assert.equal(say(low, high, "aer", error), "So it cannot be compared with high.");
  assert.match(say(low, low, "bleu", score), /another model/);
  assert.match(say(low, undefined, "bleu", score), /changes no other model/);
});

test("the whole sentence", () => {
  assert.equal(
    sentence(rungs, "bleu", score, 1, -1),
    "Model 2 of 3, high: It is high. Its BLEU: 42.5. " +
      "That is 12.5 above the 30.0 of low; higher is better.",
  );
});

test("bars end at the largest number or interval, and never at 0", () => {
  assert.equal(extent(rungs, "bleu"), 42.5);
  assert.equal(extent([low], "bleu"), 31.5);
  assert.equal(extent(rungs, "speed"), 1);
});
