"""The widget `other_weights`: its model and measures against torch."""

import copy

import pytest
import torch
from widgets_common import ask, near, refuses, shown

from lookback.experiments.explanation import divergence, total_variation
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.vocabulary import END, START
from lookback.widgets import OtherWeights
from lookback.widgets.lib import rows
from lookback.widgets.other_weights import LIMITS, build
from lookback.widgets.trained import other_weights

WORDS = {
    "source": [".", "cat", "black", "the", "sleeps"],
    "target": [".", "chat", "noir", "le", "dort", "un"],
}
SENTENCES = ["the black cat sleeps .", "the cat ."]
SOURCE = [7, 6, 5, 8, 4, END]


@pytest.fixture(scope="module")
def packed() -> dict:
    torch.manual_seed(0)
    sizes = {"source_vocab": 9, "target_vocab": 10, "embed": 5, "hidden": 8}
    model = RNNsearch(RNNsearchConfig(**sizes, align=7, maxout=6))
    kept = {k: 4 * v for k, v in model.state_dict().items()}
    return rows.pack(kept | {"attention.v": 2 * torch.randn(7)})


@pytest.fixture
def widget(packed) -> OtherWeights:
    return OtherWeights(WORDS, packed, SENTENCES)


@torch.no_grad()
def test_every_word_with_other_weights_is_what_torch_says(packed):
    found = ask(
        "other_weights",
        "otherWeights",
        {"machine": packed, "source": SOURCE, "seed": 3},
    )
    model = build(packed)
    memory = model.encode(torch.tensor([SOURCE]))
    state, token = model.start(memory), START
    for said, now in zip(found["target"], found["moments"], strict=True):
        embedded = model.target_embedding(torch.tensor([token]))
        logits, after, own = model.step(torch.tensor([token]), state, memory)
        near(now["own"], own[0])
        near(now["p"], logits.softmax(-1)[0])
        drawn = torch.tensor(now["drawn"], dtype=torch.float64)
        assert sorted(now["drawn"]) == sorted(now["own"])
        context = drawn[None] @ memory.values[0]
        fed = torch.cat([embedded, context], -1)
        hidden = model.decoder(fed, state.hidden)
        q = model.readout(hidden, embedded, context).softmax(-1)[0]
        near(now["q"], q)
        near(now["moved"], total_variation(logits.softmax(-1)[0], q))
        near(now["apart"], divergence(own[0], drawn))
        state, token = after, said


def test_what_is_sought_moves_the_word_no_further_than_allowed(packed):
    given = {"machine": packed, "source": SOURCE, "seed": 0}
    found = ask("other_weights", "otherWeights", given)["moments"]
    for now in found:
        assert now["sought moves"] <= LIMITS["epsilon"]
        assert sum(now["sought"]) == pytest.approx(1)
        assert min(now["sought"]) >= 0
    assert max(now["sought apart"] for now in found) > 0.05


def test_the_still_picture_tells_the_same_story(widget):
    names, looks, before, now = widget.told()
    assert names[-1] == "<end>" and len(looks) == len(names)
    assert torch.allclose(before, now)
    widget.weights = [1.0, 0, 0, 0, 0, 0]
    assert not torch.allclose(*widget.told()[2:])
    assert "moves by" in shown(widget)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("text", "the dog .", "is no sentence of these"),
        ("sentences", ["the dog ."], "not in the vocabulary"),
        ("sentences", ["the " * 20 + "."], "give 1 to"),
        ("step", -1, "give 0 or more"),
        ("weights", [0.5, 0.5], "give 6"),
        ("weights", [2.0, 0, 0, 0, 0, 0], "from 0 to 1"),
        ("seed", -1, "give 0 or more"),
    ],
)
def test_what_does_not_fit_is_refused(widget, name, value, says):
    refuses(widget, {name: value}, says)


def test_a_machine_that_lacks_a_tensor_is_refused(widget, packed):
    broken = copy.deepcopy(packed)
    del broken["source_embedding.weight"]
    refuses(widget, {"machine": broken}, "lacks source_embedding")


def test_the_books_own_machine():
    one = other_weights(["the old car changed ."], step=2)
    assert "looks most at “" in shown(one)
    assert "moves by 0.00" in shown(one)
