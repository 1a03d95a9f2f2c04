// The serial wall's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { grouped } from "../../src/lookback/widgets/lib/text.js";
import {
  after,
  finish,
  readCount,
  schedule,
  sentence,
  words,
  work,
} from "../../src/lookback/widgets/serial_wall.js";

/** @typedef {import("../../src/lookback/widgets/serial_wall.js").Kind} Kind */
/** @typedef {import("../../src/lookback/widgets/serial_wall.js").State} State */

const base = { length: 12, width: 16, workers: 2048, gates: 3, step: 0 };
/** @param {Kind} kind @param {Partial<State>} more */
const end = (kind, more) => finish(schedule(kind, { ...base, ...more }));

test("with one worker a tick is a multiplication", () => {
  assert.equal(end("recurrent", { workers: 1 }), 6 * 12 * 256);
  assert.equal(end("attention", { workers: 1 }), 4 * 12 * 256 + 2 * 144 * 16);
});

test("with workers without end a tick is a stage", () => {
  assert.equal(end("recurrent", { workers: 1e6 }), 13);
  assert.equal(end("attention", { workers: 1e6 }), 4);
});

test("with one worker the two are equal where n is d", () => {
  /** @param {number} length */
  const both = (length) => [
    end("recurrent", { length, workers: 1 }),
    end("attention", { length, workers: 1 }),
  ];
  assert.ok(both(15)[1] < both(15)[0]);
  assert.equal(both(16)[0], both(16)[1]);
  assert.ok(both(17)[1] > both(17)[0]);
});

test("attention loses with many workers too, if the sentence is long", () => {
  assert.ok(
    end("attention", { length: 64, workers: 1024 }) >
      end("recurrent", { length: 64, workers: 1024 }),
  );
});

test("a stage that does not fill its last tick leaves workers idle", () => {
  const stages = schedule("recurrent", base);
  assert.deepEqual(after(stages, 2048, 5), { done: 9216, busy: 1024, name: "x W of all words" });
  assert.deepEqual(after(stages, 2048, 6), { done: 9984, busy: 768, name: "h U at word 1" });
  assert.deepEqual(after(stages, 2048, 99), { done: 18432, busy: 0, name: "done" });
  assert.equal(after(stages, 2048, 0).name, "not begun");
});

test("words fill one by one, or all together", () => {
  assert.deepEqual(words("recurrent", base, 7).slice(0, 3), [1, 1, 0]);
  const all = words("attention", base, 5);
  assert.equal(new Set(all).size, 1);
  assert.equal(all[0], 9216 / 16896);
  assert.deepEqual(new Set(words("attention", base, 11)), new Set([1]));
});

test("the work has a stage a word, or four", () => {
  assert.equal(work("recurrent", base).length, 13);
  assert.equal(work("attention", base).length, 4);
});

test("counts are read from what people type, and from nothing else", () => {
  assert.equal(readCount(" 2,048 ", 1e6), 2048);
  assert.equal(readCount("64", 64), 64);
  for (const wrong of ["", "0", "65", "-3", "1.5", "many", "1e1"])
    assert.equal(readCount(wrong, 64), null);
  assert.equal(grouped(1234567), "1,234,567");
});

test("each tick is told with who works, the last one, too", () => {
  assert.match(
    sentence(base),
    /^The GRU needs 17 ticks, self-attention 11\. Before tick 1: the GRU has 13 stages/,
  );
  assert.match(
    sentence({ ...base, step: 6 }),
    /Tick 6: the GRU, h U at word 1: 768 of 2,048 processors busy; self-attention, scores: 2,048 of/,
  );
  assert.match(sentence({ ...base, step: 11 }), /self-attention, output: /);
  assert.match(sentence({ ...base, step: 12 }), /self-attention is done\.$/);
  assert.match(
    sentence({ ...base, step: 17 }),
    /Tick 17, the last: the GRU, h U at word 12: .*; self-attention is done\.$/,
  );
  assert.match(sentence({ ...base, length: 16, workers: 1, step: 1e9 }), /Neither is ahead\.$/);
});
