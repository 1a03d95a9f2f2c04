"""The widget `clocks`: its hands against torch, its traits, its picture."""

import math

import pytest
import torch
from traitlets import TraitError
from widgets_common import ask, near, refuses, shown

from lookback.positions import rotate, sinusoidal
from lookback.widgets import Clocks
from lookback.widgets.clocks import dot


def pair(d: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(d)
    query, key = torch.randn(2, d, dtype=torch.float64)
    return query, key


def truth(mode: str, query, key, a: int, b: int) -> list[torch.Tensor]:
    """Both vectors, by the package's own functions."""
    if mode == "added":
        d = len(query)
        return [sinusoidal(1, d, p, dtype=torch.float64)[0] for p in (a, b)]
    return [rotate(v[None], start=p)[0] for v, p in ((query, a), (key, b))]


@pytest.mark.parametrize("mode", ["added", "rotary"])
@pytest.mark.parametrize("a, b", [(0, 0), (3, 10), (60, 7)])
def test_the_hands_and_the_curve_are_those_of_torch(mode, a, b):
    query, key = pair()
    given = {"mode": mode, "a": a, "b": b, "last": 60}
    given |= {"query": query.tolist(), "key": key.tolist()}
    found = ask("clocks", "clocks", given)
    x, y = truth(mode, query, key, a, b)
    for mine, right in zip(found["vectors"], (x, y), strict=True):
        near(mine, right, 1e-9)
    assert math.isclose(found["curve"][b - a + 60], float(x @ y), abs_tol=1e-9)
    apart = list(range(-60, 61))
    drawn = dot(mode, query.tolist(), key.tolist(), apart)
    near(drawn, torch.tensor(found["curve"]))


WRONG = [
    ({"mode": "learned"}, "added or rotary"),
    ({"a": 61}, "from 0 to 60"),
    ({"b": -1}, "from 0 to 60"),
    ({"query": [1.0, 2.0]}, "one even length"),
    ({"last": 5}, "from 0 to 5"),
    ({"last": 10**7}, "give 1 to 1000"),
    ({"key": [math.inf] * 12}, "not finite"),
]


@pytest.mark.parametrize("change, words", WRONG)
def test_what_does_not_fit_is_refused_and_the_old_state_stays(change, words):
    query, key = pair()
    refuses(Clocks(query, key), change, words)
    with pytest.raises(TraitError, match=words):
        Clocks(**{"query": query, "key": key, **change})


@pytest.mark.parametrize("mode", ["added", "rotary"])
def test_it_shows_a_view_a_picture_and_words(mode):
    query, key = pair()
    widget = Clocks(query, key, mode, a=4, b=9)
    x, y = truth(mode, query, key, 4, 9)
    assert f"{float(x @ y):.3f}" in shown(widget)
