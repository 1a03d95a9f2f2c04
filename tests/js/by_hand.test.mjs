// What people type into a field, and what is said of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { verdict } from "../../src/lookback/widgets/by_hand.js";
import { readNumber } from "../../src/lookback/widgets/lib/typed.js";
import { near } from "./near.mjs";

/** @type {[string, number][]} */
const READ = [
  ["0.25", 0.25],
  [" 0.25 ", 0.25],
  [".25", 0.25],
  ["2.", 2],
  ["+3", 3],
  ["-0.5", -0.5],
  ["−0.5", -0.5],
  ["–0,5", -0.5],
  ["0,333", 0.333],
  [",333", 0.333],
  ["2,72", 2.72],
  ["12,5", 12.5],
  ["0.333333", 0.333333],
  ["1/3", 1 / 3],
  ["-1/3", -1 / 3],
  ["1 / 3", 1 / 3],
  ["1÷4", 0.25],
  ["3/9", 3 / 9],
  ["50 %", 0.5],
  ["33.3%", 0.333],
  ["1e-3", 0.001],
  ["1e−06", 1e-6],
  ["9.5E-7", 9.5e-7],
  ["1,4e4", 14000],
  ["10^-6", 1e-6],
  ["10**-6", 1e-6],
  ["1.4·10^4", 14000],
  ["1.4 x 10^4", 14000],
  ["1.4×10^4", 14000],
  ["-2^2", -4],
  ["2^3^2", 512],
  ["2^-1", 0.5],
  ["(1 + 2) * 3", 9],
  ["5 + 2 - 1", 6],
  ["5 − 2 − 1", 2],
  ["8/2/2", 2],
  ["ln 2", Math.LN2],
  ["ln(2)", Math.LN2],
  ["-ln 0.7", -Math.log(0.7)],
  ["sqrt(2)", Math.SQRT2],
  ["√2", Math.SQRT2],
  ["√(9+16)", 5],
  ["2·√2", 2 * Math.SQRT2],
  ["e^2", Math.E ** 2],
  ["e^-1", 1 / Math.E],
  ["exp(-1)", 1 / Math.E],
  ["1/(1+e^-0.5)", 1 / (1 + Math.exp(-0.5))],
  ["tanh(-1.066)", Math.tanh(-1.066)],
  ["cos 3 + 1", Math.cos(3) + 1],
  ["π", Math.PI],
  ["≈ 14000", 14000],
  ["= 6", 6],
  ["47,185,920", 47185920],
  ["47.185.920", 47185920],
  ["47 185 920", 47185920],
  ["47\u202f185\u00a0920", 47185920],
  ["47'185'920", 47185920],
  ["47_185_920", 47185920],
  ["13 800", 13800],
  ["1,234.5", 1234.5],
  ["1.234,5", 1234.5],
  ["1,234,567.5", 1234567.5],
  ["1,048,576", 1048576],
  ["((((((((((1))))))))))", 1],
  ["ln(1/13)", -Math.log(13)],
  ["(ln 1)/13", 0],
  ["ln 2/ln 4", 0.5],
  ["√(9+16)/2", 2.5],
  ["2 -1", 1],
  ["½", 0.5],
  ["3·¾", 2.25],
  ["3⁄4", 0.75],
  ["10⁻⁹", 1e-9],
  ["e²", Math.E ** 2],
  ["0.5²⁰", 0.5 ** 20],
  ["１２．５", 12.5],
  ["\u200b0.5\ufeff", 0.5],
  ["—0.5", -0.5],
  ["0.000 000 001", 1e-9],
];

test("a number is read as people write it", () => {
  for (const [text, value] of READ) {
    const found = readNumber(text);
    assert.equal(typeof found, "number", `${text}: ${found}`);
    near(Number(found), value, 1e-9 * Math.abs(value) + 1e-15);
  }
});

test("what has no value is not finite, and is a number all the same", () => {
  for (const text of ["1/0", "-1/0", "1e999", "√-1", "ln 0", "0/0"]) {
    assert.ok(!Number.isFinite(readNumber(text)) && typeof readNumber(text) === "number", text);
  }
});

test("where nothing is typed, nothing is read", () => {
  for (const text of ["", " ", "\t\n", "\u00a0"]) assert.equal(readNumber(text), null);
});

test("what may stand for two things is asked about", () => {
  for (const [text, asked] of [
    ["13,800", "13,800 can mean 13.800 or 13800;"],
    ["-1,024/2", "1,024 can mean 1.024 or 1024;"],
    ["ln 1/13", "ln 1/13 can mean ln(1/13) or (ln 1)/13;"],
    ["3/4·ln 4/3", "ln 4/3 can mean ln(4/3) or (ln 4)/3;"],
    ["√10/3", "√10/3 can mean √(10/3) or (√10)/3;"],
    ["√2/(1 + e)", "√2/… can mean √(2/…) or (√2)/…;"],
    ["0·1", "0·1 can mean 0.1 or 0 times 1;"],
  ]) {
    assert.ok(String(readNumber(text)).startsWith(asked), text);
  }
  assert.equal(readNumber("13,800", ","), 13800);
  assert.equal(readNumber("13,800", ""), 13.8);
  assert.equal(readNumber("13.800", "."), 13800);
  assert.equal(readNumber("13.800"), 13.8);
});

test("several numbers in one field are told that each has its own", () => {
  for (const text of ["24, 40", "(2.92, 2.15)", "2.92;2,15;-0.48", "2 0", "1 2", "[1; -2; 3]"]) {
    assert.match(String(readNumber(text)), /^these are several numbers; /, text);
  }
});

/** One stage: each field for itself.
 * @param {[number, number][]} right @param {string[]} typed */
const said = (right, ...typed) =>
  verdict(
    {
      ...exercise,
      fields: [right.map((_, i) => "abcd"[i])],
      stages: [
        { at: 0, right, mistakes: [["In thousands.", [[98, 99]]]], nearly: [], otherwise: "No." },
      ],
    },
    typed,
  );

test("a comma is not asked about where one of the two is right", () => {
  /** @type {[number, number][]} */
  const both = [
    [13000, 15000],
    [0, 1],
  ];
  assert.equal(said(both, "14,000", "0.333").outcome, true);
  assert.equal(said([[13, 15], both[1]], "14,200", "0.333").outcome, true);
  const asked = said(both, "17,000", "0.333");
  assert.deepEqual([asked.outcome, asked.field], [null, 0]);
  assert.match(asked.words, /^a: 17,000 can mean/);
  assert.equal(said(both, "14,000", "x").outcome, null);
});

test("a comma before zeros is no decimal one, if no other field says so", () => {
  assert.match(said([[20, 20]], "20,000").words, /^a: 20,000 can mean/);
  const two = /** @type {[number, number][]} */ ([
    [2, 2],
    [0.4, 0.5],
  ]);
  assert.equal(said(two, "2,000", "0,477").outcome, true);
});

test("a point between thousands is read as a comma there", () => {
  /** @type {[number, number][]} */
  const held = [
    [1024000, 1024000],
    [33280, 33280],
    [33, 33],
  ];
  assert.equal(said(held, "1.024.000", "33.280", "33").outcome, true);
  assert.equal(said(held, "1024000", "33.280", "33").outcome, true);
  assert.equal(said([[98304, 98304]], "98.304").words, "In thousands.");
});

test("a middle dot is a product, and asked about where a point would be right", () => {
  const two = /** @type {[number, number][]} */ ([
    [2.9, 3],
    [400, 400],
  ]);
  assert.match(said(two, "2·92", "25·16").words, /^a: 2·92 can mean 2\.92 or 2 times 92;/);
  assert.equal(said(two, "3", "25·16").outcome, true);
  assert.equal(said(two, "4", "25·16").words, "No. Right already: b.");
});

test("one field's comma does not hide the hint of another", () => {
  /** @type {[number, number][]} */
  const two = [
    [47185920, 47185920],
    [1024, 1024],
  ];
  assert.equal(said(two, "47,185,921", "1,024").words, "No. Right already: b.");
  const four = two.concat([
    [1.8, 1.9],
    [3, 3],
  ]);
  assert.equal(said(four, "47185920", "1024", "1,826", "4").words, "No. Right already: a; b; c.");
});

test("what cannot be read gets one sentence, and no more of it than its digits", () => {
  const strange = [
    ..."abc ? … +- / ^ ( ) % , . 1,2,3 1.2.3 1,23,4 2.7.1 --".split(" "),
    ...["2 apples", "2.7 and 3", "1 2/3", "2½", "(1", "1)", "()", "1..2", "1e", "1e1.5"],
    ...["2√2", "2e^3", "3 4/5", "ln", "ln()", "log 2", "constructor", "__proto__(1)", "toString"],
    ...["alert(1)", "<b>1</b>", "1n", "Infinity", "NaN", "true", "[1]", "1\u00002"],
    ...["\u0000", "😀", "0.5😀", "٠٫٢٥", "\u202e0.5", "\u200f", "١", "None"],
    ..."*-1 1** 1//2 1^ ^2 %5 √ √√ π2 2π ee e2".split(" "),
  ];
  for (const text of strange) {
    const found = readNumber(text);
    assert.equal(typeof found, "string", `“${text}” is ${found}`);
    assert.match(String(found), /^this is no number that can be read; [^;]+\.$/);
  }
  assert.match(String(readNumber("1".repeat(10_000))), /^this is too long;/);
  assert.match(String(readNumber("(".repeat(10_000))), /^this is too long;/);
  assert.match(String(readNumber("\u0000".repeat(10_000))), /^this is too long;/);
  assert.equal(typeof readNumber("(".repeat(80)), "string");
  assert.equal(typeof readNumber("-".repeat(79)), "string");
  assert.equal(readNumber(`${"-".repeat(78)}1`), 1);
});

const exercise = {
  name: "small",
  fields: [["one", "two"]],
  says: { empty: "Give two.", open: "Still open.", strange: "Not finite." },
  verified: "both.",
  measure: null,
  stages: [
    {
      at: 0,
      right: /** @type {[number, number][]} */ ([[0, 1]]),
      mistakes: /** @type {[string, [number, number][]][]} */ ([
        ["Too small.", [[-9, 0]]],
        ["Small.", [[-99, 0]]],
      ]),
      nearly: /** @type {[string, [number, number][][]][]} */ ([]),
      otherwise: "Not in the first.",
    },
    {
      at: 0,
      right: /** @type {[number, number][]} */ ([
        [0, 1],
        [2, 3],
      ]),
      mistakes: [],
      nearly: [],
      otherwise: null,
    },
    {
      at: 1,
      right: /** @type {[number, number][]} */ ([[2, 3]]),
      mistakes: [],
      nearly: [],
      otherwise: "No.",
    },
  ],
};

test("stage after stage, the first mistake that fits is said", () => {
  /** @param {string[]} typed */
  const says = (...typed) => verdict(exercise, typed);
  assert.deepEqual(says("1/2", "2,5"), { outcome: true, words: "both." });
  assert.deepEqual(says("-1", "7"), { outcome: false, words: "Too small." });
  assert.deepEqual(says("-10", "7"), { outcome: false, words: "Small." });
  assert.deepEqual(says("7", "7"), { outcome: false, words: "Not in the first." });
  assert.deepEqual(says("1", "7"), { outcome: false, words: "No." });
  assert.deepEqual(says("", " "), { outcome: null, words: "Give two.", field: 0 });
  assert.deepEqual(says("1", ""), { outcome: false, words: "Still open.", field: 1 });
  assert.deepEqual(says("1", "1/0"), { outcome: false, words: "Not finite.", field: 1 });
  const { outcome, words, field } = says("", "x y");
  assert.deepEqual([outcome, field], [null, 1]);
  assert.match(words, /^two: this is no number/);
});
