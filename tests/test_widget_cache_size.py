"""The size of a cache: against the formula and a cache that is counted."""

import pytest
import torch
from widgets_common import ask, refuses, shown

from lookback.since import GPT, PUBLISHED, KVCache, SinceConfig
from lookback.widgets import CacheSize
from lookback.widgets.cache_size import LIMITS

MODELS = LIMITS["models"]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("size", LIMITS["bytes"])
def test_the_script_has_the_published_models_as_the_module_has(name, size):
    layers, heads, kv_heads, d_k = MODELS[name]
    known = PUBLISHED[name]
    assert (known.layers, known.heads, known.kv_heads, known.d_k) == (
        layers,
        heads,
        kv_heads,
        d_k,
    )
    state = dict(
        layers=layers, kv_heads=kv_heads, d_k=d_k, length=4096, bytes=size
    )
    found = ask("cache_size", "cacheSize", state)
    assert found["token"] == known.cache(1, size)
    assert found["whole"] == known.cache(4096, size)


def test_a_cache_that_is_counted_has_as_many():
    config = SinceConfig(d_model=16, heads=4, kv_heads=2, layers=3)
    cache = KVCache(config)
    GPT(config)(torch.zeros(1, 13, dtype=torch.long), cache)
    one = CacheSize(layers=3, heads=4, kv_heads=2, d_k=4, length=13, bytes=4)
    assert cache.bytes() == 13 * one.token()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("layers", 0, "layers is 0: give 1 to 256"),
        ("length", 10**8, "length is"),
        ("bytes", 3, "bytes is 3: give one of"),
        ("d_k", True, "give a number"),
    ],
)
def test_what_does_not_fit_is_refused(name, value, says):
    refuses(CacheSize(), {name: value}, says)


def test_it_has_a_picture_and_words():
    assert "131,072 bytes a token" in shown(CacheSize())
