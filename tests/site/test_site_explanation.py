"""The widget of the chapter `explanation`, by mouse and by keyboard.

What it should show is computed anew by torch.
"""

import pytest

from lookback.widgets import OtherWeights
from stepping import act, live, numbers, widgets

PAGE = "book/explanation"


@pytest.fixture
def weigher(at_start):
    """The page, the root of `other_weights`, its state."""
    one = at_start(PAGE)
    [(root, state)] = widgets(one.page, "other-weights")
    yield one, root, state
    assert one.troubles == []


def twin(state: dict, **place) -> OtherWeights:
    kept = ("vocabularies", "machine", "sentences", "text")
    return OtherWeights(**{k: state[k] for k in kept}, **place)


@pytest.mark.nightly
def test_weights_are_exchanged_and_the_word_follows(weigher):
    one, root, state = weigher
    own = numbers(root, "own")
    act(root, "pick").nth(0).click()
    act(root, "pick").nth(1).click()
    mine = numbers(root, "yours")
    assert mine == [own[1], own[0], *own[2:]]
    _, _, before, now = twin(state, step=2, weights=mine).told()
    moved = float((before - now).abs().sum() / 2)
    assert numbers(root, "moved")[0] == pytest.approx(moved, abs=1e-5)
    act(root, "own").click()
    assert numbers(root, "moved")[0] == 0
    act(root, "seek").click()
    assert numbers(root, "moved")[0] <= 0.05
    act(root, "uniform").click()
    assert len(set(numbers(root, "yours"))) == 1
    act(root, "table").click()
    assert root.locator("table:visible").count() == 2


def test_weights_by_keyboard(weigher):
    one, root, state = weigher
    act(root, "next").focus()
    one.page.keyboard.press("End")
    assert "it looks most at" in live(root)
    one.page.keyboard.press("Home")
    act(root, "shuffle").focus()
    one.page.keyboard.press("Enter")
    assert sorted(numbers(root, "yours")) == sorted(numbers(root, "own"))
