// The widgets' pure functions, without a page: what they say and refuse.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sentence as alignmentSays, look } from "../../src/lookback/widgets/alignment_stepper.js";
import { idsOf } from "../../src/lookback/widgets/bottleneck.js";
import { half } from "../../src/lookback/widgets/lib/half.js";
import { softmax } from "../../src/lookback/widgets/lib/maths.js";
import { recall, remember } from "../../src/lookback/widgets/lib/progress.js";
import { digits, quoted, share } from "../../src/lookback/widgets/lib/text.js";
import { keyedStep } from "../../src/lookback/widgets/lib/view.js";
import { grade } from "../../src/lookback/widgets/question.js";
import {
  readScore,
  sentence as softmaxSays,
  stages,
} from "../../src/lookback/widgets/softmax_stepper.js";
import { compare, readText, sentence as squeezeSays } from "../../src/lookback/widgets/squeeze.js";
import { near, there } from "./near.mjs";

/** A key press, as far as a step looks at it. @param {string} name */
const key = (name, more = {}) =>
  /** @type {KeyboardEvent} */ (
    /** @type {unknown} */ ({ key: name, target: { matches: () => false }, ...more })
  );

test("digits use a true minus sign and have no negative zero", () => {
  assert.equal(digits(-1.234), "−1.23");
  assert.equal(digits(-0.001), "0.00");
  assert.equal(digits(2, 0), "2");
});

test("keys step, stay inside, and leave fields and shortcuts alone", () => {
  assert.equal(keyedStep(key("ArrowRight"), 1, 3), 2);
  assert.equal(keyedStep(key("ArrowUp"), 0, 3), 0);
  assert.equal(keyedStep(key("End"), 0, 3), 3);
  assert.equal(keyedStep(key("Home"), 2, 3), 0);
  assert.equal(keyedStep(key("a"), 2, 3), null);
  assert.equal(keyedStep(key("ArrowRight", { ctrlKey: true }), 1, 3), null);
  assert.equal(keyedStep(key("ArrowRight", { target: { matches: () => true } }), 1, 3), null);
});

test("softmax survives scores that would overflow", () => {
  const weights = softmax([1000, 1000, -1000]);
  near(weights[0], 0.5);
  assert.equal(weights[2], 0);
});

test("a score is read from what people type, and from nothing else", () => {
  assert.equal(readScore(" −1,5 "), -1.5);
  assert.equal(readScore("2e1"), 20);
  for (const wrong of ["", " ", "abc", "1 2", "Infinity", "--1"]) {
    assert.equal(readScore(wrong), null);
  }
});

const state = {
  labels: ["le", "noir"],
  scores: [0, 16],
  values: [[1], [3]],
  temperature: 2,
  d_k: 64,
  scale: true,
  step: 0,
};

test("every stage is told with its numbers", () => {
  const now = stages(state);
  near(now.scaled[1], 1);
  near(now.weight[0] + now.weight[1], 1);
  assert.match(softmaxSays(state, 0), /“noir” has the highest, 16\.00/);
  assert.match(softmaxSays(state, 1), /√64 = 8\.00 and by the temperature 2: 16\.00 becomes 1\.00/);
  assert.match(softmaxSays(state, 2), /e\^−1\.00 = 0\.368/);
  assert.match(softmaxSays(state, 3), /0\.368 \+ 1\.000 = 1\.368/);
  assert.match(softmaxSays(state, 4), /“noir” gets 0\.731/);
  assert.match(softmaxSays(state, 5), /the mix is \(2\.46\)/);
  const equal = { ...state, scores: state.scores.map(() => 3) };
  assert.match(softmaxSays(equal, 0), /scores\. All are 3\.00\.$/);
  assert.match(softmaxSays(equal, 2), /each gives e\^0 = 1\.$/);
  assert.match(softmaxSays(equal, 4), /Each gets 0\.500\.$/);
});

test("an alignment step names the word and its weight", () => {
  const example = {
    source: ["the", "black"],
    target: ["le", "noir"],
    energies: [
      [0, 0],
      [0, 5],
    ],
    values: [
      [1, 0],
      [0, 1],
    ],
  };
  assert.match(
    alignmentSays(example, 1),
    /^Target word 2, “noir”, attends to “black” with weight 0\.99/,
  );
  assert.match(alignmentSays(example, 0), /then to “black” with 0\.50/);
  assert.deepEqual(look(example, 0).context, [0.5, 0.5]);
});

test("a word that stands twice is told by its place", () => {
  assert.equal(quoted(["a", "cat", "a"], 1), "“cat”");
  assert.equal(quoted(["a", "cat", "a"], 2), "“a” (word 3)");
});

test("a weight is written 0 only where it is 0", () => {
  assert.deepEqual([0, 1e-5, 0.0123, 1].map(share), ["0", "<0.001", "0.012", "1.000"]);
});

test("a quiz is right when all correct options, and no others, are chosen", () => {
  const options = [true, false, true].map((correct) => ({ text: "", why: "", correct }));
  assert.deepEqual(
    [grade(options, [0, 2]).all, grade(options, [0]).all, grade(options, [0, 1, 2]).all],
    [true, false, false],
  );
  assert.match(grade(options, [0]).words, /1 of the 2/);
});

test("an answer is remembered without any storage, and forgotten", () => {
  assert.equal(recall("quiz:colours"), null);
  remember("quiz:colours", { chosen: [1] });
  assert.deepEqual(recall("quiz:colours"), { chosen: [1] });
  assert.equal(recall("by-hand:colours"), null);
  remember("quiz:colours", null);
  assert.equal(recall("quiz:colours"), null);
});

test("progress survives a storage that refuses or holds rubbish", () => {
  const refuse = () => {
    throw new Error("no");
  };
  /** @param {object} value */
  const store = (value) =>
    Object.defineProperty(globalThis, "localStorage", { value, configurable: true });
  store({ getItem: refuse, setItem: refuse, removeItem: refuse });
  remember("quiz:shapes", { chosen: [0] });
  assert.deepEqual(recall("quiz:shapes"), { chosen: [0] });
  for (const rubbish of ["{", "7", '"x"', "null"]) {
    store({ getItem: () => rubbish, setItem: refuse });
    assert.deepEqual(recall("quiz:shapes"), { chosen: [0] });
  }
  Reflect.deleteProperty(globalThis, "localStorage");
});

test("letters outside the alphabet, none, and too many are refused by name", () => {
  assert.deepEqual(readText("Hello", "helo"), { text: "hello" });
  assert.match(there(readText("héé!", "h").problem), /“é”, “!”/);
  assert.match(there(readText("", "h").problem), /at least one/);
  assert.match(there(readText("h".repeat(31), "h").problem), /At most 30/);
});

test("a copy is laid beside what was read, and a slip counts once", () => {
  /** @param {string} want @param {string} got */
  const laid = (want, got) =>
    compare([...want], [...got]).map((pair) => `${pair.want || "-"}${pair.got || "-"}`);
  assert.deepEqual(laid("abcdef", "bcdef"), ["a-", "bb", "cc", "dd", "ee", "ff"]);
  assert.deepEqual(laid("abc", "abxc"), ["aa", "bb", "-x", "cc"]);
  assert.deepEqual(laid("abc", "axc"), ["aa", "bx", "cc"]);
  assert.deepEqual(laid("ab", "ba").length, 3); // of two ways the one with a letter right
  assert.deepEqual(laid("a", ""), ["a-"]);
  const pairs = compare(["a", "b"], ["a", "c", "d"]);
  const said = squeezeSays("ab", pairs, "16", 3, 3, true);
  assert.match(said, /2 letters, wrote “acd” from 16 numbers: 2 mistakes\. /);
  assert.match(squeezeSays("ab", pairs.slice(0, 1), "16", 3, 1, true), /: no mistake\. /);
  assert.match(squeezeSays("ab", pairs, "16", 2, 0, false), /letter 2 of 2/);
  assert.match(squeezeSays("ab", pairs, "16", 3, 2, false), /^(Added|Wrote) “c”/);
  assert.match(squeezeSays("ab", compare(["a"], []), "16", 3, 1, false), /^Left out “a”/);
});

test("sixteen bits are read as IEEE 754 has them", () => {
  const cases = [
    [0x3c00, 1],
    [0xc000, -2],
    [0x7bff, 65504],
    [0x0001, 2 ** -24],
    [0x3555, 0.333251953125],
  ];
  for (const [bits, value] of cases) assert.equal(half(bits), value);
  assert.equal(half(0x7c00), Infinity);
  assert.deepEqual(idsOf([..."abc"], "cab"), [6, 4, 5, 3]);
});
