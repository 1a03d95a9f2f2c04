"""The softmax in tiles: against torch's, its counts, its traits."""

import math

import pytest
import torch
from torch.nn import functional as F
from widgets_common import ask, near, refuses, shown

from lookback.modern_gpt import traffic
from lookback.widgets import FlashTiles
from lookback.widgets.flash_tiles import PLACES, SIZES, D, drawn, tiles

START = {"causal": False, "rescale": True, "row": 0}


def asked(**state):
    return ask("flash_tiles", "flashTiles", START | state)


@pytest.mark.parametrize("seed", [0, 1, 7, 2**31 - 1])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tile", SIZES)
def test_all_tiles_give_torchs_softmax(seed, causal, tile):
    last = tiles(tile, causal)
    found = asked(seed=seed, tile=tile, causal=causal, step=last)
    truth = F.scaled_dot_product_attention(*drawn(seed), is_causal=causal)
    assert found["tiles"] == last
    near(found["results"], truth)
    near(found["whole"], truth)
    near(FlashTiles(seed=seed, tile=tile, causal=causal).results(), truth)


@pytest.mark.parametrize("tile", SIZES)
def test_the_numbers_that_pass_are_counted(tile):
    found = asked(seed=0, tile=tile, step=tiles(tile, False))
    assert found["moved"] == traffic(PLACES, D, tile)
    assert asked(seed=0, tile=tile, step=0)["moved"] == 0
    assert traffic(PLACES, D) == 4 * 64 + 4 * 16


def test_after_one_tile_maximum_and_sum_are_of_that_tile():
    query, key, _ = drawn(3)
    scores = query @ key.T / math.sqrt(D)
    found = asked(seed=3, tile=4, step=1)
    for i, kept in enumerate(found["kept"]):
        if i < 4:
            some = scores[i, :4]
            assert kept["most"] == pytest.approx(float(some.max()))
            total = float((some - some.max()).exp().sum())
            assert kept["total"] == pytest.approx(total)
        else:
            assert kept["total"] == 0


def test_without_rescaling_the_result_is_wrong():
    given = {"seed": 0, "tile": 2, "step": tiles(2, False)}
    right, wrong = asked(**given), asked(**given | {"rescale": False})
    truth = torch.tensor(right["whole"])
    assert (torch.tensor(wrong["results"]) - truth).abs().max() > 0.05


def test_one_tile_for_all_needs_no_rescaling():
    found = asked(seed=0, tile=8, step=1, rescale=False)
    near(found["results"], torch.tensor(found["whole"]))


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("seed", -1, "seed is -1: give one from 0 up"),
        ("tile", 3, "tile is 3: give one of"),
        ("row", 8, "row is 8: give 0 to 7"),
        ("step", 5, "step is 5: give 0 to 4"),
        ("step", True, "give a number"),
    ],
)
def test_what_does_not_fit_is_refused(name, value, says):
    refuses(FlashTiles(), {name: value}, says)


def test_it_has_a_picture_and_words():
    assert "in tiles of 4, tile 0 of 4" in shown(FlashTiles())
    assert "tile 3 of 10" in shown(FlashTiles(tile=2, causal=True, step=3))
