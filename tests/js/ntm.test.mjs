// The memory's pure functions, and what its two widgets say, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import { sentence as copied, inputsOf, readText } from "../../src/lookback/widgets/copier.js";
import { blank, content, sharpen, shift, written } from "../../src/lookback/widgets/ntm.js";
import {
  addressingOf,
  holds,
  replay,
  sentence,
  vectorOf,
} from "../../src/lookback/widgets/tape_head.js";
import { near, there } from "./near.mjs";

const base = { key: "▸", strength: 20, gate: 0, move: 1, blur: 0, gamma: 1, ink: "" };

test("a shift goes on, and round the end", () => {
  assert.deepEqual(shift([0, 0, 1], [0, 0, 1]), [1, 0, 0]);
  assert.deepEqual(shift([1, 0, 0], [1, 0, 0]), [0, 0, 1]);
  const spread = shift([0, 1, 0, 0], [0.1, 0.7, 0.2]);
  [0.1, 0.7, 0.2, 0].forEach((x, i) => near(spread[i], x));
});

test("sharpening is a power, whatever its size", () => {
  const found = sharpen([0.5, 0.25, 0.25], 2);
  near(found[0], 2 / 3);
  for (const w of sharpen(Array(128).fill(1 / 128), 400)) near(w, 1 / 128);
});

test("content finds the slot that points the same way, however short", () => {
  const found = content([0, 2], 50, [
    [1, 0],
    [0, 1e-3],
  ]);
  near(found[1], 1);
});

test("a slot erased and written whole holds the ink and nothing else", () => {
  const { memory } = blank(3, 2);
  assert.deepEqual(written(memory, [0, 1, 0], [1, 1], [3, 4])[1], [3, 4]);
});

test("three symbols are written, found again and read in order", () => {
  const text = ["▸", "A", "B"];
  const done = text.map((ink, i) => ({ ...base, ink, move: i ? 1 : 0 }));
  const back = [...done, { ...base, gate: 1 }];
  assert.equal(holds(there(replay(back).found)), "1.00 A");
  assert.equal(holds(there(replay([...back, base]).found)), "1.00 B");
  const stages = { content: [], gated: [], shifted: [], weights: [0, 0.9, 0.1] };
  assert.match(sentence(back, stages), /Step 4: read 1\.00 A, most of it from slot 1 with/);
  assert.match(
    sentence([], stages),
    /blank.*With these parameters it would go to slot 1 \(0\.90\)/,
  );
  const even = { ...stages, weights: [0.5, 0, 0.5] };
  assert.match(sentence([], even), /would go to slots 0, 2 \(0\.50 each\)/);
  assert.match(sentence(done, stages), /Step 3: wrote B, most of it at slot 2/);
});

test("the blur goes to both neighbours of the move", () => {
  const { moves } = addressingOf({ ...base, blur: 0.1, move: -1 });
  [0.8, 0.1, 0.1].forEach((x, i) => near(moves[i], x));
  assert.deepEqual(vectorOf("A"), [0, 1, 0, 0]);
  assert.equal(holds([0, 0, 0, 0]), "nothing");
});

test("a text is marks, bits and silence", () => {
  const steps = inputsOf("aZ");
  assert.deepEqual(steps[0], [0, 0, 0, 0, 0, 0, 1, 0]);
  assert.deepEqual(steps[1], [0, 1, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual(steps[2], [0, 0, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual(steps[3], [0, 0, 0, 0, 0, 0, 0, 1]);
  assert.equal(steps.length, 6);
  assert.ok(steps.slice(4).every((x) => x.every((bit) => bit === 0)));
});

test("what cannot be said in six bits is refused", () => {
  assert.equal(readText("Looking back.").text, "Looking back.");
  assert.match(there(readText("né").problem), /not for “é”/);
  assert.match(there(readText("").problem), /at least one letter/);
  assert.match(there(readText("a".repeat(61)).problem), /At most 60/);
});

test("a copier's step names the letter that comes in, and what is written", () => {
  const tape = { weights: [0.2, 0.8], memory: [] };
  const steps = Array.from({ length: 6 }, () => ({ tape, addressing: /** @type {any} */ (null) }));
  const run = { text: "ab", slots: 2, steps, written: ["a", "c"], wrong: [0, 2] };
  const says = [2, 3, 5, 6].map((step) => copied(/** @type {any} */ (run), step));
  assert.match(says[0], /Step 2 of 6: it is given “a”\. The head is on slot 1 with weight 0\.80/);
  assert.match(says[1], /it is given “b”/);
  assert.match(says[2], /it writes “a”\. /);
  assert.match(says[3], /it writes “c”, and “b” was right/);
});
