// The relay's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  arrives,
  back,
  factor,
  height,
  relay,
  sentence,
  short,
} from "../../src/lookback/widgets/relay.js";
import { there } from "./near.mjs";

test("w = 2 keeps the sign and loses the gradient, w = 0.9 the other way round", () => {
  for (const sign of [-1, 1]) {
    const states = relay(2, sign);
    assert.equal(Math.sign(there(states[20])), sign);
    assert.ok(Math.abs(there(states[20])) > 0.95);
    assert.ok(back(2, states, 20)[0] < 1e-12);
  }
  const faint = relay(0.9, 1);
  assert.ok(there(faint[20]) < 0.1);
  assert.ok(back(0.9, faint, 20)[0] > 0.01);
});

test("without a pulse a gradient can also grow", () => {
  const states = relay(2, 0);
  assert.deepEqual(new Set(states), new Set([0]));
  assert.equal(back(2, states, 20)[0], 2 ** 19);
  assert.equal(factor(2, 0), 2);
});

test("nothing comes back before the pulse, and 1 at it", () => {
  const states = relay(1, 1);
  assert.deepEqual(back(1, states, 0), []);
  assert.deepEqual(back(1, states, 1), [1]);
});

test("a factor is said so that one can hear it", () => {
  assert.equal(arrives(0), "does not arrive");
  assert.equal(arrives(4.14e-15), "arrives divided by 2.4 · 10¹⁴");
  assert.equal(arrives(1 / 32000), "arrives divided by 32,000");
  assert.equal(arrives(0.25), "arrives multiplied by 0.25");
  assert.equal(arrives(524288), "arrives multiplied by 524,288");
  assert.equal(short(0), "0.000");
  assert.equal(short(3.21e-7), "3.2 · 10⁻⁷");
  assert.equal(short(524288), "5.2 · 10⁵");
  assert.equal(short(0.5), "0.500");
});

test("the scale has 1 in its middle", () => {
  assert.equal(height(1), 0.5);
  assert.equal(height(0), 0);
  assert.equal(height(1e9), 1);
});

test("each step is told", () => {
  const base = { w: 2, pulse: 1, step: 0 };
  assert.match(sentence(base), /w = 2\.0, pulse \+1\.0\. Before the pulse the state is 0/);
  assert.match(sentence({ ...base, step: 1 }), /Step 1 of 20: the state is \+0\.762\. The pulse/);
  assert.match(sentence({ ...base, pulse: -1, step: 3 }), /is \u22120\.\d{3}\. A small change/);
});
