// The size of a cache: its sum and its words, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import { bytesOf, readable, sentence, wrong } from "../../src/lookback/widgets/cache_size.js";

const mistral = {
  layers: 32,
  heads: 32,
  kv_heads: 8,
  d_k: 128,
  length: 4096,
  window: 4096,
  bytes: 2,
};
const far = { ...mistral, length: 32000 };

test("keys and values of every layer", () => {
  const found = { token: 131072, whole: 536870912, all: 536870912 };
  assert.deepEqual(bytesOf(mistral), found);
});

test("a window keeps what fits into it, and 0 keeps all", () => {
  assert.deepEqual(bytesOf(far), { ...bytesOf(mistral), all: 4194304000 });
  assert.equal(bytesOf({ ...far, window: 0 }).whole, 4194304000);
  assert.match(sentence(far), /tokens 537 MB, since the window keeps the last 4,096/);
  assert.match(sentence(far), /4,096; without it 4\.19 GB\. With keys/);
  assert.doesNotMatch(sentence({ ...far, window: 0 }), /window/);
  assert.doesNotMatch(sentence(mistral), /window/);
});

test("bytes are said in a unit that can be read", () => {
  assert.equal(readable(512), "512 bytes");
  assert.equal(readable(131072), "131 kB");
  assert.equal(readable(536870912), "537 MB");
  assert.equal(readable(2147483648), "2.15 GB");
});

test("the sentence has the sum, and what sharing saves", () => {
  assert.match(sentence(mistral), /2 · 32 layers · 8 heads · 128 numbers · 2 bytes = 131 kB/);
  assert.match(sentence(mistral), /for all 32 heads it would be 2\.15 GB/);
  assert.doesNotMatch(sentence({ ...mistral, kv_heads: 32 }), /for all/);
});

test("heads that cannot share are named", () => {
  assert.equal(wrong(mistral), "");
  assert.match(wrong({ heads: 32, kv_heads: 5 }), /32 heads cannot share 5/);
});
