// The size of a cache: its sum and its words, without a page.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  bytesOf,
  counted,
  parametersOf,
  readable,
  readConfig,
  sentence,
  wrong,
} from "../../src/lookback/widgets/cache_size.js";

const mistral = {
  layers: 32,
  heads: 32,
  kv_heads: 8,
  d_k: 128,
  length: 4096,
  window: 4096,
  bytes: 2,
  d_model: 4096,
  d_ff: 14336,
  vocab: 32000,
  positions: 0,
  tied: false,
  gated: true,
  biases: false,
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
  assert.match(sentence({ ...mistral, positions: 1024 }), /read no more than 1,024\./);
  assert.doesNotMatch(sentence({ ...mistral, positions: 4096 }), /no more/);
});

test("the weights are counted, and said in words", () => {
  assert.equal(parametersOf(mistral), 7241732096);
  assert.equal(counted(7241732096), "7.24 billion");
  assert.equal(counted(124439808), "124 million");
});

test("it says when the cache has outgrown the weights", () => {
  assert.match(sentence({ ...far, window: 0 }), /At 110,501 tokens the cache is as large/);
  assert.doesNotMatch(sentence(far), /as large as the weights/);
});

const config = {
  hidden_act: "silu",
  hidden_size: 4096,
  intermediate_size: 14336,
  num_attention_heads: 32,
  num_hidden_layers: 32,
  num_key_value_heads: 8,
  sliding_window: 4096,
  tie_word_embeddings: false,
  vocab_size: 32000,
};
/** @param {object} more */
const read = (more) => readConfig(JSON.stringify({ ...config, ...more }));

test("a config.json is read", () => {
  const { length, bytes, ...sizes } = mistral;
  assert.equal(length * bytes, 8192);
  assert.deepEqual(read({}), sizes);
  assert.deepEqual(read({ head_dim: 64, sliding_window: null }), { ...sizes, d_k: 64, window: 0 });
  assert.deepEqual(read({ use_sliding_window: false }), { ...sizes, window: 0 });
  assert.deepEqual(readConfig(JSON.stringify({ text_config: config })), sizes);
  const gpt2 = { n_layer: 12, n_head: 12, n_embd: 768, n_positions: 1024, vocab_size: 50257 };
  const found = readConfig(JSON.stringify(gpt2));
  assert.ok(typeof found !== "string");
  assert.equal(parametersOf(found), 124439808);
});

test("a config that cannot be counted says why", () => {
  assert.match(String(readConfig("hidden_size: 4096")), /not the text of a config/);
  assert.match(String(readConfig("3")), /not the text of a config/);
  assert.match(String(read({ kv_lora_rank: 512 })), /latent vector/);
  assert.match(String(read({ num_local_experts: 8 })), /experts/);
  assert.match(String(read({ vocab_size: "many" })), /tokens in the vocabulary/);
  assert.match(String(read({ num_attention_heads: 33 })), /width of a head/);
  assert.match(String(read({ num_key_value_heads: 5 })), /32 heads cannot share 5/);
});

test("heads that cannot share are named", () => {
  assert.equal(wrong(mistral), "");
  assert.match(wrong({ heads: 32, kv_heads: 5 }), /32 heads cannot share 5/);
});
