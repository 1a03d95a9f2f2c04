// The parameter budget's pure functions, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { total } from "../../src/lookback/widgets/lib/maths.js";
import { grouped } from "../../src/lookback/widgets/lib/text.js";
import {
  changes,
  count,
  formulas,
  percent,
  readSize,
  sentence,
  short,
  touched,
  wrong,
} from "../../src/lookback/widgets/parameter_budget.js";
import { there } from "./near.mjs";

const base = {
  d_model: 512,
  d_ff: 2048,
  heads: 8,
  vocab: 37000,
  encoder: 6,
  decoder: 6,
  positions: 0,
  tied: true,
  gated: false,
  experts: 0,
  active: 0,
  shared: 0,
  d_expert: 0,
  dense: 0,
  biases: true,
  latent: false,
  norms: 0,
  segments: 0,
  pooler: false,
};

test("the base model has 63,082,496 parameters", () => {
  assert.deepEqual(count(base).slice(0, 4), [18944000, 18874368, 25165824, 0]);
  assert.equal(total(count(base)), 63082496);
  assert.equal(touched(base), 63082496);
});

test("formulas, worked out, are the counts", () => {
  /** @param {string} text */
  const work = (text) => Function(`return ${text.replaceAll("×", "*").replaceAll("²", "**2")}`)();
  const sizes = {
    ...base,
    tied: false,
    gated: true,
    experts: 4,
    active: 1,
    shared: 1,
    dense: 2,
    d_expert: 100,
    positions: 7,
  };
  for (const one of [base, sizes]) {
    formulas(one)
      .slice(0, 4)
      .forEach((text, i) => assert.equal(work(text), count(one)[i]));
  }
});

test("numbers are written for people and read from them", () => {
  assert.equal(grouped(671026419200), "671,026,419,200");
  assert.equal(short(671026419200), "671.03 billion");
  assert.equal(short(63082496), "63.08 million");
  assert.equal(percent(1, 3), "33.3%");
  for (const text of ["37000", "37,000", " 37 000 ", "37\u00a0000"]) {
    assert.equal(readSize(text), 37000);
  }
  for (const text of ["", "x", "-1", "1.5", "3,7", "1e3"]) assert.equal(readSize(text), null);
});

test("what does not fit is named", () => {
  assert.equal(wrong(base), null);
  assert.match(there(wrong({ ...base, d_ff: NaN })), /d_ff must be a whole number, at least 1/);
  assert.match(there(wrong({ ...base, heads: 7 })), /7 heads cannot share d_model 512/);
  assert.match(there(wrong({ ...base, active: 2 })), /2 of 0 experts/);
  assert.match(there(wrong({ ...base, encoder: 0, decoder: 0 })), /at least one layer/);
  assert.match(there(wrong({ ...base, d_ff: 2 ** 50 })), /2\^53/);
});

test("the sentence tells the model and every change", () => {
  const model = { name: "base", reported: "65 M", sizes: base };
  assert.match(
    sentence(model, base),
    /^base: 63\.08 million .* reports 65 M\. Feed-forward 39\.9%/,
  );
  const sizes = { ...base, d_ff: 4096, gated: true };
  assert.deepEqual(changes(sizes, base), ["d_ff", "gated"]);
  assert.match(sentence(model, sizes), /d_ff 4,096 in place of 2,048, gate \(third matrix\) on/);
});
