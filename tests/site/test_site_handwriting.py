"""The model of the chapter `handwriting`, by mouse and keys.

What it should write is computed anew by the Python module.
"""

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from lookback.widgets import Handwriting
from stepping import act, live, numbers, problem, widgets

PAGE = "book/handwriting"
TEXT = "the end"


@pytest.fixture
def paper(at_start):
    """The page, the figure's root, its state."""
    one = at_start(PAGE)
    [(root, state)] = widgets(one.page, "handwriting")
    yield one, root, state
    assert one.troubles == []


def truth(state: dict, **changes):
    """All points of a line, and φ at each."""
    names = ("machine", "text", "bias", "seed")
    points, phi = Handwriting(**{n: state[n] for n in names} | changes).line()
    return points.numpy(), phi.numpy()


def check(root: Locator, line, step: int) -> None:
    """The figure stands at this point of this line."""
    points, phi = line
    assert numbers(root, "points")[0] == step
    assert np.allclose(numbers(root, "text"), phi[step - 1], atol=1e-6)
    assert numbers(root, "sum")[0] == pytest.approx(
        phi[step - 1].sum(), abs=1e-6
    )
    drawn = root.locator("path.ink").get_attribute("d")
    lifted = np.r_[1, points[: step - 1, 2]]
    assert drawn.count("L") == (lifted == 0).sum()


def typed(root: Locator, text: str) -> None:
    act(root, "text").fill(text)
    act(root, "text").press("Enter")


def test_the_line_is_there_and_can_be_walked(paper):
    one, root, state = paper
    line = truth(state)
    n = len(line[0])
    check(root, line, n)
    assert f"{n} points. With the next one the window leaves" in live(root)
    act(root, "previous").click()
    check(root, line, n - 1)
    act(root, "first").click()
    assert numbers(root, "points")[0] == 0 and "nothing is written" in live(
        root
    )
    for step in (1, 2):
        act(root, "next").click()
        check(root, line, step)
    one.page.keyboard.press("End")
    check(root, line, n)
    act(root, "table").click()
    assert root.locator("tbody tr").count() == len(state["text"])


@pytest.mark.nightly
def test_it_writes_live_what_is_typed(paper):
    one, root, state = paper
    typed(root, f"  {TEXT.upper()} ")
    line = truth(state, text=TEXT)
    expect(act(root, "play")).to_have_text("Pause")
    expect(act(root, "play")).to_have_text("Play")
    check(root, line, len(line[0]))
    act(root, "seed").click()
    act(root, "last").click()
    other = truth(state, text=TEXT, seed=state["seed"] + 1)
    check(root, other, len(other[0]))
    act(root, "bias").focus()
    one.page.keyboard.press("End")
    neat = truth(state, text=TEXT, seed=state["seed"] + 1, bias=3.0)
    check(root, neat, len(neat[0]))


@pytest.mark.nightly
def test_what_it_cannot_write_it_names(paper):
    _, root, state = paper
    typed(root, "café")
    assert "not “é”" in problem(root)
    assert f"“{state['text']}” stays" in problem(root)
    typed(root, "a" * 61)
    assert "At most 60" in problem(root)
    check(root, truth(state), len(truth(state)[0]))


@pytest.mark.nightly
def test_it_writes_at_once_where_nothing_may_move(visit):
    one = visit(PAGE, still=True)
    [(root, state)] = widgets(one.page, "handwriting")
    typed(root, TEXT)
    line = truth(state, text=TEXT)
    check(root, line, len(line[0]))
    assert one.troubles == []


@pytest.mark.nightly
@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_of_it_is_wider_than_the_page(visit, width):
    one = visit(PAGE, width=width, still=True)
    [(root, _)] = widgets(one.page, "handwriting")
    typed(root, "sixty letters of a line that nobody has ever written by hand")
    box = root.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width
    assert one.troubles == []
