"""The widget `depth`: its stack against torch, its traits, its picture."""

import itertools
from types import SimpleNamespace

import pytest
import torch
from widgets_common import ask, refuses, shown

from lookback.residual import token_spread
from lookback.widgets import Depth
from lookback.widgets.lib.mulberry import uniform
from lookback.widgets.stack import D, run, stack


def state(**more) -> dict:
    given = {"tokens": 5, "depth": 6, "seed": 1, "residual": False}
    return {**given, "norm": "none", "feedforward": False, "step": 0, **more}


def computed(states: list[dict], seed: int = 1) -> dict:
    """What the widget's module, as it is shipped, computes."""
    return ask("depth", "stack", {"states": states, "seed": seed})


@pytest.mark.parametrize("seed", [1, 2, 999, 2**31 - 1])
def test_both_languages_draw_the_same_numbers(seed):
    mine = computed([], seed)["drawn"]
    assert mine == uniform(seed, 50).tolist()
    assert all(0 <= x < 1 for x in mine)


CASES = [
    state(residual=residual, norm=norm, feedforward=feedforward, seed=seed)
    for residual, norm, feedforward, seed in itertools.product(
        [False, True], ["none", "post", "pre"], [False, True], [1, 7]
    )
]


def test_the_stack_in_the_browser_is_that_of_torch():
    for one, found in zip(CASES, computed(CASES)["runs"], strict=True):
        xs, gradients = run(SimpleNamespace(**one))
        for x, mine in zip(xs, found["xs"], strict=True):
            mine = torch.tensor(mine, dtype=torch.float64)
            assert float((x - mine).abs().max() / x.abs().max()) < 1e-9, one
        truth = torch.stack([token_spread(x) for x in xs])
        mine = torch.tensor(found["apart"], dtype=torch.float64)
        torch.testing.assert_close(mine, truth, rtol=0, atol=1e-9)
        truth = torch.stack([g.norm() for g in gradients])
        mine = torch.tensor(found["gradient"], dtype=torch.float64)
        torch.testing.assert_close(mine, truth, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_deepest_stack_is_that_of_torch(norm):
    one = state(depth=32, residual=True, norm=norm, feedforward=True, tokens=12)
    (found,) = computed([one])["runs"]
    xs, gradients = run(SimpleNamespace(**one))
    torch.testing.assert_close(
        torch.tensor(found["xs"][-1], dtype=torch.float64), xs[-1]
    )
    mine = torch.tensor(found["gradient"][0], dtype=torch.float64)
    torch.testing.assert_close(mine, gradients[0].norm())


def test_layer_norm_in_the_browser_is_that_of_torch():
    x = torch.tensor([[1.0, 2, 4, 5], [0, 0, 0, 0]], dtype=torch.float64)
    mine = torch.tensor(computed([])["norm"], dtype=torch.float64)
    truth = torch.nn.functional.layer_norm(x, (4,))
    torch.testing.assert_close(mine, truth)


def test_a_layer_is_the_same_in_every_depth():
    short, _, _ = stack(SimpleNamespace(**state(depth=2)))
    runs = computed([state(depth=2), state(depth=9)])["runs"]
    assert runs[0]["xs"] == runs[1]["xs"][:3]
    assert short.shape == (5, D)


def test_pure_attention_collapses_and_the_residual_stops_it():
    pure, kept = computed(
        [state(depth=12), state(depth=12, residual=True, norm="pre")]
    )["runs"]
    assert pure["apart"][-1] < 1e-6 < 0.05 < kept["apart"][-1]


@pytest.mark.parametrize(
    "traits, words",
    [
        ({"depth": 0}, "1 to 32 layers"),
        ({"depth": 33}, "1 to 32 layers"),
        ({"tokens": 1}, "2 to 12"),
        ({"tokens": 13}, "2 to 12"),
        ({"norm": "batch"}, "post, pre, none"),
        ({"step": -1}, "count from 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_wrong_traits_are_refused_and_the_old_stay(traits, words):
    refuses(Depth(), traits, words)


def test_it_is_drawn_and_put_into_words_without_touching_chance():
    before = torch.get_rng_state()
    words = shown(Depth(depth=4))
    assert torch.equal(before, torch.get_rng_state())
    assert words.startswith("4 layers; residual connections off, norm none")
    assert "gradient" in words
