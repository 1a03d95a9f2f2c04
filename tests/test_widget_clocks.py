"""The widget `clocks`: its hands against torch, its traits, its picture."""

import gzip
import json
import math
from xml.etree import ElementTree

import pytest
import torch
from test_widgets import VIEW, WIDGETS, ask
from traitlets import TraitError

from lookback.positions import rotate, sinusoidal
from lookback.widgets import Clocks, base
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
        mine = torch.tensor(mine, dtype=torch.float64)
        torch.testing.assert_close(mine, right, rtol=1e-9, atol=1e-9)
    assert math.isclose(found["curve"][b - a + 60], float(x @ y), abs_tol=1e-9)
    apart = list(range(-60, 61))
    drawn = dot(mode, query.tolist(), key.tolist(), apart)
    torch.testing.assert_close(
        torch.from_numpy(drawn),
        torch.tensor(found["curve"]).double(),
        rtol=1e-9,
        atol=1e-6,
    )


WRONG = [
    ({"mode": "learned"}, "added or rotary"),
    ({"a": 61}, "from 0 to 60"),
    ({"b": -1}, "from 0 to 60"),
    ({"query": [1.0, 2.0]}, "one even length"),
    ({"last": 5}, "from 0 to 5"),
    ({"key": [math.inf] * 12}, "not finite"),
]


@pytest.mark.parametrize("change, words", WRONG)
def test_what_does_not_fit_is_refused_and_the_old_state_stays(change, words):
    query, key = pair()
    widget = Clocks(query, key)
    name, value = next(iter(change.items()))
    before = getattr(widget, name)
    with pytest.raises(TraitError, match=words):
        setattr(widget, name, value)
    assert getattr(widget, name) == before
    with pytest.raises(TraitError, match=words):
        Clocks(**{"query": query, "key": key, **change})


def test_it_keeps_to_its_size_and_needs_nothing_from_outside():
    for ending, most in (("py", 80), ("js", 250), ("css", 85)):
        text = (WIDGETS / f"clocks.{ending}").read_text(encoding="utf-8")
        assert len(text.splitlines()) <= most
    text = base.module("clocks")
    assert "import " not in text and "http" not in text
    assert len(gzip.compress(text.encode())) <= 12_000


@pytest.mark.parametrize("mode", ["added", "rotary"])
def test_it_shows_a_view_a_picture_and_words(mode):
    query, key = pair()
    widget = Clocks(query, key, mode, a=4, b=9)
    data, _ = widget._repr_mimebundle_()
    assert data[VIEW]["model_id"] == widget.model_id
    x, y = truth(mode, query, key, 4, 9)
    assert f"{float(x @ y):.3f}" in data["text/plain"]
    assert ElementTree.fromstring(data["image/svg+xml"]).tag.endswith("svg")
    state = {k: v for k, v in widget.get_state().items() if k != "layout"}
    assert len(gzip.compress(json.dumps(state).encode())) <= 25_000
