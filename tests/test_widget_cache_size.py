"""The size of a cache: against the formula and a cache that is counted."""

import math

import pytest
import torch
from widgets_common import ask, refuses, shown

from lookback.modern_gpt import GPT, PUBLISHED, GPTConfig
from lookback.widgets import CacheSize
from lookback.widgets.cache_size import LIMITS, PARTS

MODELS = LIMITS["models"]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("size", LIMITS["bytes"])
def test_the_script_has_the_published_models_as_the_module_has(name, size):
    known = PUBLISHED[name]
    state = dict(zip(PARTS, MODELS[name], strict=True))
    for part, value in state.items():
        assert (getattr(known, part) or 0) == value, part
    one = CacheSize(**state)
    assert one.parameters() == known.parameters()
    assert ask("cache_size", "parameters", state) == known.parameters()
    state["bytes"] = size
    for length in (100, 4096, 32_000):
        found = ask("cache_size", "cacheSize", state | {"length": length})
        assert found["token"] == known.cache(1, size)
        assert found["whole"] == known.cache(length, size)
        assert found["all"] == length * known.cache(1, size)


def counted(config: GPTConfig) -> int:
    """What the caches of a real model hold after 13 tokens."""
    model = GPT(config)
    caches = model.start()
    model(torch.zeros(1, 13, dtype=torch.long), caches)
    return sum(cache.bytes() for cache in caches)


def test_a_cache_that_is_counted_has_as_many():
    config = GPTConfig(d_model=16, heads=4, kv_heads=2, layers=3)
    kept = counted(config)
    sizes = dict(layers=3, heads=4, kv_heads=2, d_k=4, length=13, bytes=4)
    one = CacheSize(**sizes, window=0)
    assert kept == 13 * one.token() == one.whole(13, 2)


def test_a_cache_with_a_window_is_counted():
    config = GPTConfig(d_model=16, heads=4, kv_heads=2, layers=3, window=5)
    kept = counted(config)
    one = CacheSize(layers=3, heads=4, kv_heads=2, d_k=4, window=5, bytes=4)
    assert kept == one.whole(13, 2) == 5 * one.token()
    assert one.whole(3, 2) == 3 * one.token()


def test_the_answer_to_the_task():
    """Mistral 7B and a text of 32,000 tokens."""
    one = CacheSize(length=32_000)
    assert one.token() == 131_072 and one.window == 4096
    assert one.whole(32_000, 8) == 4096 * 131_072 == 536_870_912
    assert one.whole(32_000, 32) == 2_147_483_648
    assert "536,870,912 for 32,000 tokens with a window of 4,096." in shown(one)
    one.window = 0
    assert one.whole(32_000, 8) == 4_194_304_000
    assert one.whole(32_000, 32) == 16_777_216_000


def test_heads_of_any_width_are_counted_as_tensors():
    """A head's width need not be that of the model over its heads."""
    one = CacheSize(
        layers=3, heads=6, kv_heads=2, d_k=8, d_model=20, d_ff=40, vocab=50
    )
    layer = [(48, 20), (16, 20), (16, 20), (20, 48)]  # W_Q, W_K, W_V, W_O
    layer += [(40, 20)] * 3 + [(20,)] * 2
    shapes = [(50, 20)] * 2 + 3 * layer + [(20,)]
    assert one.parameters() == sum(map(math.prod, shapes))
    state = {part: getattr(one, part) for part in PARTS}
    assert ask("cache_size", "parameters", state) == one.parameters()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("layers", 0, "layers is 0: give 1 to 256"),
        ("length", 10**8, "length is"),
        ("window", -1, "window is -1: give 0 to"),
        ("bytes", 3, "bytes is 3: give one of"),
        ("d_k", True, "give a number"),
    ],
)
def test_what_does_not_fit_is_refused(name, value, says):
    refuses(CacheSize(), {name: value}, says)


def test_it_has_a_picture_and_words():
    said = shown(CacheSize())
    assert "131,072 bytes a token" in said
    assert said.startswith("7,241,732,096 weights.")
