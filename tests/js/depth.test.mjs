// The depth widget's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sentence, tick } from "../../src/lookback/widgets/depth.js";
import { plain } from "../../src/lookback/widgets/lib/text.js";

import { apart, drawn, layerNorm, random, run, size } from "../../src/lookback/widgets/stack.js";
import { near } from "./near.mjs";

const state = {
  tokens: 4,
  depth: 5,
  seed: 3,
  residual: true,
  norm: "pre",
  feedforward: true,
  step: 0,
};

test("a seed gives the same numbers every time, another seed others", () => {
  const [a, b, c] = [random(5), random(5), random(6)];
  const first = a();
  assert.equal(first, b());
  assert.notEqual(first, c());
});

test("weights keep to Xavier's bounds", () => {
  const { layers, x } = drawn(state);
  assert.equal(layers.length, 5);
  assert.equal(x.length, 4);
  const most = Math.max(...layers[0].Q.flat().map(Math.abs));
  assert.ok(most <= Math.sqrt(6 / 32) && most > 0.4);
});

test("equal tokens are not apart, opposite ones wholly", () => {
  near(
    apart([
      [1, 2],
      [1, 2],
    ]),
    0,
  );
  near(
    apart([
      [1, 2],
      [-1, -2],
    ]),
    1,
  );
  assert.equal(
    apart([
      [0, 0],
      [0, 0],
    ]),
    0,
  );
  near(
    size([
      [3, 0],
      [0, 4],
    ]),
    5,
  );
});

test("layer norm gives mean 0 and variance 1", () => {
  const [[row]] = layerNorm([[1, 2, 3, 10]]);
  near(
    row.reduce((a, b) => a + b),
    0,
  );
  near(row.reduce((sum, one) => sum + one * one, 0) / 4, 1, 1e-5);
});

test("a step is put into words", () => {
  const now = run(state);
  assert.match(sentence(state, now), /^Below the first layer the tokens lie 0\.\d\d of/);
  assert.match(sentence({ ...state, step: 5 }, now), /^After layer 5 of 5.* counted as 1\.$/);
  assert.match(
    sentence({ ...state, step: 5 }, now),
    /The vectors are \d.* times as long as at the bottom\./,
  );
  const pure = { ...state, residual: false, norm: "none", feedforward: false, step: 5 };
  assert.match(sentence(pure, run(pure)), /as good as one token/);
});

test("numbers of any size are short", () => {
  assert.equal(plain(0.123), "0.12");
  assert.equal(plain(42), "42");
  assert.equal(plain(0.00032), "3.2·10⁻⁴");
  assert.equal(plain(2.5e8), "2.5·10⁸");
  assert.equal(plain(0), "0");
  assert.deepEqual([-16, -2, 0, 3, 8].map(tick), ["10⁻¹⁶", "0.01", "1", "1000", "10⁸"]);
});
