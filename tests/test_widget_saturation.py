"""The saturation widget: its draw, its figures, what the book says of them."""

import math

import numpy as np
import pytest
import torch
from traitlets import TraitError
from widgets_common import ask, shown

from lookback.widgets import Saturation
from lookback.widgets.lib.mulberry import uniform
from lookback.widgets.saturation import SIZES


def truth(seed: int, d_k: int, scaled: bool) -> dict[str, float]:
    """The figures from the Python draw, by torch."""
    scores = torch.tensor(
        Saturation(d_k=d_k, scaled=scaled, seed=seed).scores()
    )
    rows = scores.reshape(256, 32)
    weights = rows.softmax(-1)
    row = rows[0]
    jacobian = torch.autograd.functional.jacobian(lambda e: e.softmax(0), row)
    first = weights[0] * (1 - weights[0])
    torch.testing.assert_close(jacobian.diagonal(), first)
    largest = weights.max(-1).values
    return {
        "variance": float(rows.var(correction=0)),
        "largest": float(largest.mean()),
        "trace": float((weights * (1 - weights)).sum(-1).mean()),
        "sure": float((largest > 0.99).double().mean()),
        "weights": weights[0].tolist(),
    }


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1])
def test_the_figures_are_those_of_torch(seed, scaled):
    found = ask("saturation", "saturation", {"seed": seed, "scaled": scaled})
    for size, mine in zip(SIZES, found, strict=True):
        for name, right in truth(seed, size, scaled).items():
            assert np.allclose(mine[name], right, rtol=0, atol=1e-9), name


def slow_mulberry(seed: int, count: int) -> list[float]:
    """The generator in plain integers."""
    full, a, drawn = 2**32, seed, []
    for _ in range(count):
        a = (a + 0x6D2B79F5) % full
        t = (a ^ (a >> 15)) * (a | 1) % full
        t ^= (t + (t ^ (t >> 7)) * (t | 61)) % full
        drawn.append((t ^ (t >> 14)) / full)
    return drawn


@pytest.mark.parametrize("seed", [0, 7, 2**31 - 1])
def test_the_generator_is_mulberry32_and_fair(seed):
    drawn = uniform(seed, 20_000)
    assert drawn[:500].tolist() == slow_mulberry(seed, 500)
    assert drawn.min() >= 0 and drawn.max() < 1
    assert math.isclose(drawn.mean(), 0.5, abs_tol=0.01)
    assert math.isclose(drawn.var(), 1 / 12, abs_tol=0.002)


@pytest.mark.parametrize("seed", range(3))
def test_what_the_chapter_says_holds_for_other_draws(seed):
    for d_k, largest, trace in (
        (8, 0.5, 0.65),
        (64, 0.82, 0.25),
        (512, 0.94, 0.1),
    ):
        plain, divided = truth(seed, d_k, False), truth(seed, d_k, True)
        assert math.isclose(plain["trace"], trace, abs_tol=0.03)
        assert math.isclose(plain["variance"], d_k, rel_tol=0.1)
        assert math.isclose(divided["variance"], 1, rel_tol=0.1)
        assert math.isclose(plain["largest"], largest, abs_tol=0.05)
        assert math.isclose(divided["largest"], 0.16, abs_tol=0.02)
        assert divided["trace"] > 0.9
    assert plain["sure"] > 0.5
    for d_k in SIZES:
        divided = truth(seed, d_k, True)
        assert 0.125 < divided["largest"] < 0.175 and divided["trace"] > 0.9


@pytest.mark.parametrize("wrong", [{"d_k": 3}, {"d_k": 1024}, {"seed": -1}])
def test_what_does_not_fit_is_refused(wrong):
    with pytest.raises(TraitError, match="give"):
        Saturation(**wrong)


def test_it_has_a_picture_and_words():
    one = Saturation(d_k=64)
    assert "d_k = 64" in shown(one)
    one.scaled = True
    assert "/ √d_k" in one.words()
