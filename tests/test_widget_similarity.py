"""The similarity widget: formulas against torch, its traits, its picture."""

import pytest
import torch
from torch.nn import functional as F
from traitlets import TraitError
from widgets_common import ask, near, shown

from lookback import scores
from lookback.widgets import Similarity

KEYS = [[1.4, 0.7], [1.0, 4.0], [-1.0, 2.0], [-2.0, -1.0]]
LABELS = ["alike", "long", "across", "against"]


def computed(**more):
    """Scores and weights as the shipped module computes them."""
    given = {"query": [2, 1], "keys": KEYS, "labels": LABELS, "strength": 1}
    found = ask("similarity", "similarity", {**given, **more})
    return found["scores"], found["weights"]


def widget(**more):
    given = {"query": (2, 1), "keys": KEYS, "labels": LABELS}
    return Similarity(**{**given, **more})


@pytest.mark.parametrize("query", [[2, 1], [-0.3, 4.9], [0, 0]])
@pytest.mark.parametrize("strength", [1, 7])
def test_scores_and_weights_are_those_of_torch(query, strength):
    found, weights = computed(query=query, strength=strength)
    q = torch.tensor([[query]], dtype=torch.float64)
    k = torch.tensor([KEYS], dtype=torch.float64)
    truth = {
        "dot": scores.dot(q, k)[0, 0],
        "scaled": scores.scaled_dot(q, k)[0, 0],
        "cosine": F.cosine_similarity(q[0], k[0]),
    }
    python = widget(query=query, strength=strength)
    for name, score in truth.items():
        beta = strength if name == "cosine" else 1
        near(found[name], score, 1e-12)
        near(weights[name], (beta * score).softmax(0), 1e-12)
        near(python.scores()[name], score, 1e-12)
        near(python.weights()[name], (beta * score).softmax(0), 1e-12)


def test_the_long_key_wins_by_product_and_loses_by_cosine():
    _, weights = computed()
    assert max(range(4), key=weights["dot"].__getitem__) == 1
    assert max(range(4), key=weights["cosine"].__getitem__) == 0


def test_beta_three_is_the_smallest_that_gives_against_nine_tenths():
    keys = torch.tensor([[1.2, 0.6], [1, 4], [-1, 2], [-2, -1]])
    turn = torch.linspace(0, 2 * torch.pi, 3601)
    queries = torch.stack([turn.cos(), turn.sin()], dim=-1)
    cosines = scores.cosine(queries[None], keys[None])[0]
    best = [(b * cosines).softmax(-1)[:, 3].max() for b in (1, 2, 3)]
    assert best[1] < 0.9 < best[2]
    back = scores.cosine(-keys[None, :1], keys[None])[0, 0]
    assert (3 * back).softmax(-1)[3] > 0.9


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"keys": KEYS[:1], "labels": LABELS[:1]}, "at least two"),
        ({"labels": LABELS[:3]}, "one label for each"),
        ({"query": (1, 2, 3)}, "two numbers"),
        ({"query": (1, float("nan"))}, "not finite"),
        ({"query": (1, 5.5)}, "outside the plane"),
        ({"strength": 0}, "not > 0"),
        ({"step": 3}, "0 to 2"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, words):
    with pytest.raises(TraitError, match=words):
        widget(**wrong)


def test_a_refused_trait_leaves_the_old_one():
    one = widget()
    with pytest.raises(TraitError):
        one.query = [9.0, 0.0]
    assert one.query == [2.0, 1.0]
    one.query = [0.0, 1.0]
    assert one.scores()["dot"] == [0.7, 4.0, 2.0, -1.0]


def test_it_has_a_picture_and_words():
    assert "long" in shown(widget())
