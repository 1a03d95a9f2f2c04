// The swaps widget's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { total } from "../../src/lookback/widgets/lib/maths.js";
import {
  bleu,
  histogram,
  measure,
  parse,
  prepare,
  reachOf,
  sentence,
  summed,
  swap,
} from "../../src/lookback/widgets/swaps.js";

const GOOD = "4 3 2 1 4 4, 4 3 2 1 4 4, 4 3 2 1 4 4";
const WORSE = "4 3 2 1 4 4, 4 3 2 1 4 4, 3 1 0 0 4 4";
const pair = (size = 3) => prepare(parse(GOOD), parse(WORSE), size);

test("six numbers make nine, whatever blanks stand between them", () => {
  const right = [
    [4, 3, 2, 1, 4, 3, 2, 1, 5],
    [1, 0, 0, 0, 2, 1, 0, 0, 3],
  ];
  assert.deepEqual(parse("4 3 2 1 4 5, 1 0 0 0 2 3"), right);
  assert.deepEqual(parse(" 4  3 2 1\n4 5,1 0 0 0 2 3 "), right);
});

test("BLEU is 100 for the reference, less for short ones, 0 without a run", () => {
  assert.equal(bleu(summed(parse(GOOD))), 100);
  assert.ok(Math.abs(bleu([4, 3, 2, 1, 4, 3, 2, 1, 8]) - 100 * Math.exp(-1)) < 1e-9);
  assert.equal(bleu([4, 3, 2, 0, 4, 3, 2, 1, 4]), 0);
  assert.equal(bleu(summed([])), 0);
});

test("only as many captions as there are", () => {
  assert.equal(pair(2).count, 2);
  assert.equal(pair(1000).count, 3);
});

test("the third coin alone decides, and the size stays", () => {
  const gap = measure(pair(), 0, 0).gap;
  for (let trial = 0; trial < 30; trial += 1) {
    const { first, second, swapped } = swap(pair(), 5, trial);
    assert.ok(Math.abs(Math.abs(second - first) - Math.abs(gap)) < 1e-9);
    assert.ok(swapped >= 0 && swapped <= 3);
  }
});

test("known gaps are kept, new ones are those of a fresh run", () => {
  const half = measure(pair(), 20, 3);
  const whole = measure(pair(), 50, 3, half.gaps);
  assert.deepEqual(whole.gaps, measure(pair(), 50, 3).gaps);
  assert.deepEqual(measure(pair(), 20, 3, whole.gaps).gaps, half.gaps);
  assert.deepEqual(measure(pair(), 50, 3, whole.gaps).last, whole.last);
  assert.equal(half.gaps.length, 20);
});

test("p is never 0, and 1 where there is no gap", () => {
  const now = measure(pair(), 400, 0);
  const all = now.gaps.filter((x) => Math.abs(x) > Math.abs(now.gap) - 1e-6).length;
  assert.equal(now.reached, all);
  assert.equal(now.p, (1 + all) / 401);
  assert.ok(measure(pair(), 1, 0).p > 0);
  const same = prepare(parse(GOOD), parse(GOOD), 3);
  assert.equal(measure(same, 40, 0).p, 1);
});

test("no trial is lost from the histogram, and those as large are marked", () => {
  const found = histogram([-9, -1, -0.5, 0, 0.5, 1, 9], 0.5, 1);
  assert.equal(total(found.map((bin) => bin.all)), 7);
  assert.equal(total(found.map((bin) => bin.reached)), 6);
  assert.deepEqual([found[0].all, found[30].all, found[60].all], [2, 1, 2]);
});

test("the histogram's ends are round, and beyond all gaps", () => {
  assert.equal(reachOf([], 0), 1);
  assert.equal(reachOf([-1.2], 0.3), 2);
  assert.equal(reachOf([0.2], -24), 30);
  assert.equal(reachOf([], 99), 100);
});

test("the sentence says what was swapped, and what it proves", () => {
  const names = ["one", "two"];
  /** @param {number} trials */
  const say = (trials, over = {}) => sentence(names, { ...measure(pair(), trials, 0), ...over });
  assert.match(
    say(0),
    /^BLEU of one 100\.00, of two \d\d\.\d\d: the true gap is .* each of the 3 captions/,
  );
  assert.match(
    say(1),
    /Trial 1 lets .* \d of 3 captions.* (at least as large as|smaller than) the true one\. So far \d of 1 chance gap is .* \/ \(1 \+ 1\) = \d\.\d+, from too few/,
  );
  assert.match(say(99), /from too few trials to trust\.$/);
  assert.match(
    say(100, { reached: 0, p: 1 / 101 }),
    /0 of 100 chance gaps .* p = \(1 \+ 0\) \/ \(1 \+ 100\) = 0\.0099, below 0\.05/,
  );
  assert.match(say(100, { reached: 59, p: 60 / 101 }), /= 0\.594, not below 0\.05/);
  assert.match(say(10000), /\(1 \+ 10,000\) = \d\.\d+, .* That is all it makes\.$/);
  assert.match(say(5, { gap: 0 }), /no gap for chance to beat: p = 1\.$/);
});
