"""The widgets of the chapter `modern_gpt`, by mouse and by keyboard.

What they should show is computed anew by the Python module.
"""

import math

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator

from lookback.modern_gpt import cache_bytes, flash, traffic
from lookback.widgets.flash_tiles import PLACES, D, drawn, tiles
from stepping import act, live, numbers, problem, widgets

PAGE = "book/modern_gpt"


@pytest.fixture
def board(at_start):
    """The page, the widget's root, its state."""
    one = at_start(PAGE)
    [(root, state)] = widgets(one.page, "flash-tiles")
    yield one, root, state
    assert one.troubles == []


def check(root: Locator, seed: int, tile: int, step: int) -> None:
    """Maximum and sum of every query that was seen, without a mask."""
    query, key, _ = drawn(seed)
    scores = query @ key.T / math.sqrt(D)
    side = PLACES // tile
    most, total, seen = [], [], 0
    for i in range(PLACES):
        done = min(max(step - i // tile * side, 0), side) * tile
        seen += done
        if done:
            some = scores[i, :done]
            most.append(float(some.max()))
            total.append(float((some - some.max()).exp().sum()))
    assert np.allclose(numbers(root, "most"), most, atol=1e-9)
    assert np.allclose(numbers(root, "total"), total, atol=1e-9)
    assert len(numbers(root, "score")) == seen


@pytest.mark.nightly
def test_the_tiles_by_mouse(board):
    _, root, state = board
    seed, tile = state["seed"], state["tile"]
    check(root, seed, tile, 0)
    for step in (1, 2, 3):
        act(root, "next").click()
        check(root, seed, tile, step)
    act(root, "last").click()
    check(root, seed, tile, tiles(tile, False))
    assert numbers(root, "moved") == [traffic(PLACES, D, tile)]
    assert numbers(root, "table") == [traffic(PLACES, D)]
    assert "but for rounding" in live(root)
    act(root, "table").click()
    assert root.locator("tbody tr:visible").count() == PLACES
    act(root, "table").click()
    act(root, "rescale").click()
    assert "differ from the whole softmax" in live(root)
    act(root, "rescale").click()
    act(root, "row").nth(5).click()
    assert act(root, "row").nth(5).get_attribute("aria-current") == "step"
    act(root, "again").click()
    check(root, seed + 1, tile, 0)


def test_the_tiles_by_keyboard(board):
    one, root, state = board
    press = one.page.keyboard.press
    act(root, "tile").select_option("2")
    act(root, "next").focus()
    for step in (1, 2):
        press("ArrowRight")
        check(root, state["seed"], 2, step)
    press("End")
    check(root, state["seed"], 2, 16)
    act(root, "causal").focus()
    press("Space")
    assert "10 tiles of 2 queries" in live(root)
    act(root, "last").focus()
    press("Enter")
    query, key, value = drawn(state["seed"])
    hidden = torch.ones(PLACES, PLACES).triu(1).bool()
    bias = torch.zeros(PLACES, PLACES).double().masked_fill(hidden, -torch.inf)
    assert flash(query, key, value, 2, bias).isfinite().all()
    assert "but for rounding" in live(root)


@pytest.mark.nightly
def test_the_answer_to_the_task(board):
    _, root, _ = board
    act(root, "next").click()
    assert "the maximum is 0.85; its sum is 1.67" in live(root)
    act(root, "next").click()
    said = live(root)
    assert "moves from 0.85 to 1.98" in said and "= 0.32" in said
    assert "its sum is 2.84" in said
    passed = []
    for tile in (1, 2, 4, 8):
        act(root, "tile").select_option(str(tile))
        act(root, "last").click()
        passed += numbers(root, "moved")
    assert passed == [288, 160, 96, 64]
    act(root, "rescale").click()
    assert "but for rounding" in live(root)


@pytest.fixture
def cache(at_start):
    """The page, the calculator's root."""
    one = at_start(PAGE)
    [(root, _)] = widgets(one.page, "cache-size")
    yield one, root
    assert one.troubles == []


def fill(root: Locator, name: str, text: str) -> None:
    box = act(root, name)
    box.fill(text)
    box.press("Enter")


def test_the_size_of_a_cache(cache):
    _, root = cache
    assert numbers(root, "token") == [131_072]
    fill(root, "length", "32,000")
    assert numbers(root, "whole") == [4096 * 131_072]
    assert "537 MB" in live(root) and "4.19 GB" in live(root)
    fill(root, "window", "0")
    assert numbers(root, "whole") == [cache_bytes(32, 8, 128, 32_000)]
    assert "4.19 GB" in live(root) and "16.8 GB" in live(root)
    fill(root, "window", "-1")
    assert "give a whole number from 0" in problem(root)
    act(root, "model").select_option("GPT-2 small")
    assert numbers(root, "token") == [cache_bytes(12, 12, 64, 1)]
    act(root, "bytes").select_option("4")
    assert numbers(root, "token") == [cache_bytes(12, 12, 64, 1, 4)]
    fill(root, "kv_heads", "5")
    assert "12 heads cannot share 5" in problem(root)
    assert numbers(root, "token") == [cache_bytes(12, 12, 64, 1, 4)]
    fill(root, "layers", "many")
    assert "layers: give a whole number" in problem(root)
    fill(root, "kv_heads", "4")
    assert numbers(root, "token") == [cache_bytes(12, 4, 64, 1, 4)]
    assert problem(root) == ""


def test_the_weights_and_a_config_that_is_pasted(cache):
    one, root = cache
    press = one.page.keyboard.press
    assert numbers(root, "weights") == [7_241_732_096]
    stored = root.locator('[data-role="stored"]')
    assert stored.inner_text() == (
        "14.5 GB in fp16, 7.24 GB in int8, 3.62 GB in int4"
    )
    act(root, "gated").focus()
    press("Space")
    assert numbers(root, "weights") == [7_241_732_096 - 32 * 4096 * 14336]
    root.locator("summary").focus()
    press("Enter")
    act(root, "config").fill("no config")
    act(root, "read").click()
    assert "not the text of a config.json" in problem(root)
    act(root, "config").fill(
        '{"hidden_size": 24, "num_attention_heads": 6, "vocab_size": 50,'
        ' "num_key_value_heads": 2, "num_hidden_layers": 3,'
        ' "intermediate_size": 40, "tie_word_embeddings": true}'
    )
    act(root, "read").click()
    assert problem(root) == ""
    assert numbers(root, "weights") == [14_616]
    assert numbers(root, "token") == [cache_bytes(3, 2, 4, 1)]
