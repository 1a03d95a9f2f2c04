"""The widget `shuffle`: its vectors against torch, its traits, its picture."""

import gzip
import json
import math

import pytest
import torch
from traitlets import TraitError
from widgets_common import MOST, ask, near, refuses, shown

from lookback.attention import attend, causal
from lookback.positions import sinusoidal
from lookback.widgets import Shuffle
from lookback.widgets.lib.mulberry import uniform


def embedding(word: str, d: int) -> list[float]:
    """FNV-1a over the word's bytes seeds mulberry32; variance 1."""
    seed = 0x811C9DC5
    for byte in word.encode():
        seed = (seed ^ byte) * 0x01000193 % 2**32
    return (3**0.5 * (2 * uniform(seed, d) - 1)).tolist()


def outputs(state: dict, order: list[int]) -> torch.Tensor:
    """Each tile's output by `attend`, [tile, d]."""
    weights = torch.tensor(state["weights"], dtype=torch.float64)
    d = weights.shape[-1]
    words = [embedding(state["tiles"][tile], d) for tile in order]
    x = torch.tensor(words, dtype=torch.float64)
    if state["positions"]:
        x = x + sinusoidal(len(order), d, dtype=torch.float64)
    mask = causal(len(order)) if state["masked"] else None
    for W_Q, W_K, W_V in weights[: state["layers"]]:
        x = x + attend(x @ W_Q, x @ W_K, x @ W_V, mask)[0]
    return x[torch.tensor(order).argsort()]


def state_of(widget: Shuffle) -> dict:
    names = ("tiles", "order", "positions", "masked", "layers", "weights")
    return {name: getattr(widget, name) for name in names}


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_the_vectors_are_those_of_torch(positions, masked, layers):
    widget = Shuffle(
        "a poisson mange été",
        [2, 0, 3, 1],
        positions=positions,
        masked=masked,
        layers=layers,
    )
    state = state_of(widget)
    found = ask("shuffle", "shuffled", state)
    now = outputs(state, state["order"])
    first = outputs(state, [0, 1, 2, 3])
    for mine, truth in (
        (found["embedded"], [embedding(w, 8) for w in state["tiles"]]),
        (found["now"], now.tolist()),
        (found["first"], first.tolist()),
        (found["moved"], (now - first).norm(dim=1).tolist()),
    ):
        near(mine, torch.tensor(truth, dtype=torch.float64), 1e-9)
    moved = torch.tensor(found["moved"])
    assert bool((moved < 1e-9).all()) == (not positions and not masked)


WRONG = [
    ({"tiles": ["one"]}, "2 to 8 words"),
    ({"tiles": ["two words", "b"]}, "not one word"),
    ({"tiles": ["", "b"]}, "not one word"),
    ({"tiles": ["x" * 15, "b"]}, "not one word"),
    ({"order": [0, 0]}, "in any order"),
    ({"order": [0, 1, 2]}, "in any order"),
    ({"layers": 3}, "1 to 2 exist"),
    ({"weights": []}, "at least one layer"),
    ({"weights": [[[[1.0]]] * 3]}, "must be even"),
    ({"weights": [[[[1.0, 0.0], [0.0, 1.0]]] * 2]}, "W_Q, W_K and W_V"),
    ({"weights": [[[[1.0, 0.0]] * 3] * 3]}, "W_Q, W_K and W_V"),
    ({"weights": [[[[1.0, math.nan]] * 2] * 3]}, "W_Q, W_K and W_V"),
]


@pytest.mark.parametrize("change, words", WRONG)
def test_what_does_not_fit_is_refused_and_the_old_state_stays(change, words):
    refuses(Shuffle("man eats"), change, words)
    with pytest.raises(TraitError, match=words):
        Shuffle(**{"tiles": ["man", "eats"], **change})


def test_it_shows_a_view_a_picture_and_words():
    widget = Shuffle(["man", "eats", "fish"], order=[2, 1, 0])
    assert "now “fish eats man”" in shown(widget)
    state = {k: v for k, v in widget.get_state().items() if k != "layout"}
    assert len(gzip.compress(json.dumps(state).encode())) <= MOST
