"""The masks: their weights against torch, their traits, their picture."""

import pytest
import torch
from torch.nn import functional as F
from widgets_common import ask, near, refuses, shown

from lookback.attention import causal
from lookback.widgets import Masks


def given(n: int = 5, padding: int = 2) -> dict:
    torch.manual_seed(n)
    return {
        "tokens": [f"w{i}" for i in range(n)],
        "scores": (3 * torch.randn(n, n)).tolist(),
        "values": torch.randn(n, 3).tolist(),
        "padding": padding,
    }


def named(n: int, padding: int) -> list[torch.Tensor]:
    """All, causal, padding, both."""
    words = (torch.arange(n) < n - padding).expand(n, n)
    full = torch.ones(n, n, dtype=torch.bool)
    return [full, causal(n), words, causal(n) & words]


@pytest.mark.parametrize("n, padding", [(1, 0), (5, 2), (9, 0)])
def test_the_named_masks_are_those_of_torch(n, padding):
    found = ask("masks", "squares", {"n": n, "padding": padding})
    assert found == [mask.tolist() for mask in named(n, padding)]


@pytest.mark.parametrize("n, padding", [(1, 0), (5, 2), (9, 0)])
def test_the_weights_are_those_of_torch(n, padding):
    state = given(n, padding)
    scores = torch.tensor(state["scores"], dtype=torch.float64)
    values = torch.tensor(state["values"], dtype=torch.float64)
    for mask in named(n, padding):
        rows = ask("masks", "masked", {**state, "mask": mask.tolist()})
        found = torch.tensor([row["weights"] for row in rows])
        assert (found[~mask] == 0).all()
        near(found.tolist(), scores.masked_fill(~mask, -torch.inf).softmax(1))
        truth = F.scaled_dot_product_attention(
            scores, torch.eye(n).double(), values, mask, scale=1.0
        )
        near([row["context"] for row in rows], truth)
        widget = Masks(**state, mask=mask)
        near(widget.weights().tolist(), found.double())


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"tokens": ["a"]}, "padding: 0 to 0"),
        ({"padding": 5}, "padding: 0 to 4"),
        ({"scores": [[1.0]]}, "scores: give 5 rows of 5"),
        ({"values": [[1.0]]}, "values: give 5 rows"),
        ({"values": [[float("inf")]] * 5}, "not finite"),
        ({"mask": [[True] * 4] * 5}, "mask: give 5 rows of 5"),
        ({"mask": [[False] * 5] * 5}, "each row needs one True"),
        ({"step": 5}, "step is 5: 0 to 4"),
    ],
)
def test_they_refuse_what_does_not_fit_and_keep_what_was_there(wrong, says):
    refuses(Masks(**given()), wrong, says)


def test_they_show_a_view_a_picture_and_words():
    assert "w0 w1 w2 w3 w4" in shown(Masks(**given()))
