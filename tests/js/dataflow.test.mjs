// The data-flow widget's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  elements,
  refuse,
  sentence,
  stations,
  totals,
} from "../../src/lookback/widgets/dataflow.js";
import { grouped, readWhole } from "../../src/lookback/widgets/lib/text.js";
import { there } from "./near.mjs";

/** @typedef {import("../../src/lookback/widgets/dataflow.js").Sizes} Sizes */

const base = {
  batch: 2,
  source: 8,
  target: 9,
  d_model: 512,
  heads: 8,
  d_ff: 2048,
  layers: 6,
  vocab: 37000,
  mode: "training",
};
/** @param {Sizes} sizes @param {string} key */
const at = (sizes, key) => there(stations(sizes).find((one) => one.key === key));
/** @param {Sizes} sizes @param {string} key */
const shape = (sizes, key) => at(sizes, key).shape.map(([, n]) => n);

test("digits stand in groups of three", () => {
  assert.equal(grouped(63082496), "63,082,496");
  assert.equal(grouped(999), "999");
});

test("a whole number is read from what people type, and from nothing else", () => {
  assert.equal(readWhole(" 2,048 "), 2048);
  assert.equal(readWhole("37 000"), 37000);
  for (const wrong of ["", "-1", "1.5", "1e3", "many"]) assert.ok(Number.isNaN(readWhole(wrong)));
});

test("sizes that no Transformer has are refused by name", () => {
  assert.equal(refuse(base), "");
  assert.match(refuse({ ...base, heads: 7 }), /7 heads cannot share 512/);
  assert.match(refuse({ ...base, d_model: 9, heads: 3 }), /d_model is 9: .* even/);
  assert.match(refuse({ ...base, batch: 0 }), /batch is 0: give a whole number from 1/);
  assert.match(refuse({ ...base, vocab: 2e9 }), /to 1,000,000/);
  assert.match(refuse({ ...base, layers: 1.5 }), /layers is 1.5/);
});

test("there are as many stations in both modes, each with its own key", () => {
  const keys = stations(base).map((one) => one.key);
  assert.equal(keys.length, 54);
  assert.equal(new Set(keys).size, 54);
  assert.deepEqual(
    stations({ ...base, mode: "generation" }).map((one) => one.key),
    keys,
  );
});

test("one word at a time has one query, and all keys so far", () => {
  const one = { ...base, mode: "generation" };
  assert.deepEqual(shape(base, "masked/scores"), [2, 8, 9, 9]);
  assert.deepEqual(shape(one, "masked/scores"), [2, 8, 1, 9]);
  assert.deepEqual(shape(one, "masked/keys, values"), [2, 8, 9, 64]);
  assert.deepEqual(shape(one, "cross/scores"), [2, 8, 1, 8]);
  assert.deepEqual(shape(one, "out/logits"), [2, 1, 37000]);
  assert.equal(at(one, "cross/W_K, W_V").once, true);
  assert.equal(at(one, "cross/W_Q").once, false);
});

test("a batch of one word costs what the formula says", () => {
  const tiny = { ...base, batch: 1, source: 1, target: 1, layers: 1 };
  const { products, once, parameters } = totals(stations(tiny));
  assert.equal(once, 0);
  assert.equal(products, 12 * 512 ** 2 + 6 * 512 + 4 * 512 * 2048 + 512 * 37000);
  assert.equal(
    parameters,
    37000 * 512 + 12 * (512 ** 2 + 512) + 2 * (2 * 512 * 2048 + 2560) + 10 * 512,
  );
});

test("the base model has 63.08 million parameters", () => {
  assert.equal(totals(stations(base)).parameters, 63082496);
});

test("a station is told with its shape and its counts", () => {
  const all = stations(base);
  const step = all.findIndex((one) => one.key === "self/scores");
  assert.equal(elements(all[step]), 2 * 8 * 8 * 8);
  assert.match(
    sentence(all, step),
    /^9 of 54\. Encoder, self-attention \(one of 6 layers\): scores\./,
  );
  assert.match(
    sentence(all, step),
    /batch 2 × heads 8 × source 8 × source 8, 1,024 numbers; no parameters; 65,536 multiply-accumulates\./,
  );
  const once = stations({ ...base, mode: "generation" });
  assert.match(sentence(once, step), /made once, when the source is read/);
});
