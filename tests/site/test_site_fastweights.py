"""The widget of the chapter `fastweights`, by mouse and by keyboard.

What it should show is computed anew by the Python module.
"""

import numpy as np
import pytest
from playwright.sync_api import Locator

from lookback.widgets import OneMatrix
from stepping import act, live, numbers, widgets

PAGE = "book/fastweights"


@pytest.fixture
def matrix(at_start):
    """The page and the widget's root."""
    one = at_start(PAGE)
    [(root, _)] = widgets(one.page, "one-matrix")
    yield one, root
    assert one.troubles == []


def fill(count: int) -> list[list[int]]:
    """What the button stores."""
    return [[k, (7 * k + 4) % 24] for k in range(count)]


def check_matrix(root: Locator, rule: str, pairs: list, asked=0, d=16) -> None:
    """The weights of the list, the squares, and the count that is said."""
    one = OneMatrix(rule=rule, pairs=pairs, asked=asked, d=d)
    assert np.allclose(
        numbers(root, "weight"), one.weights()[asked].numpy(), atol=1e-6
    )
    right, bound = one.right()
    assert f"Read back right: {right} of {bound} letters" in live(root)
    if rule != "softmax":
        cells = root.locator(".grid i")
        shown = cells.evaluate_all("all => all.map(x => +x.dataset.value)")
        assert np.allclose(shown, one.matrix().numpy().ravel(), atol=1e-6)


@pytest.mark.nightly
def test_the_task_by_mouse(matrix):
    _, root = matrix
    for n in range(4, 25, 4):
        act(root, "four").click()
        check_matrix(root, "sum", fill(n))
    assert "20 of 24" in live(root)
    for rule, says in (
        ("delta", "13 of 24"),
        ("positive", "1 of 24"),
        ("softmax", "24 of 24"),
    ):
        act(root, "rule").select_option(rule)
        check_matrix(root, rule, fill(24))
        assert says in live(root)
    assert "24 keys and values, 768 numbers" in root.inner_text()


@pytest.mark.nightly
def test_a_letter_bound_again(matrix):
    _, root = matrix
    act(root, "four").click()
    act(root, "four").click()
    act(root, "number").select_option(index=9)  # 10
    act(root, "store").click()
    again = [*fill(8), [0, 9]]
    check_matrix(root, "sum", again)
    assert "A finds 5: wrong, it is 10" in live(root)
    act(root, "rule").select_option("delta")
    check_matrix(root, "delta", again)
    assert "A finds 10: right" in live(root)
    act(root, "undo").click()
    check_matrix(root, "delta", fill(8))
    act(root, "clear").click()
    assert "Nothing is stored" in live(root)


def test_it_by_keyboard(matrix):
    one, root = matrix
    press = one.page.keyboard.press
    act(root, "four").focus()
    press("Enter")
    press("Space")
    check_matrix(root, "sum", fill(8))
    act(root, "d").focus()
    press("ArrowUp")
    act(root, "d").select_option("8")
    check_matrix(root, "sum", fill(8), d=8)
    act(root, "asked").select_option("3")
    check_matrix(root, "sum", fill(8), asked=3, d=8)
    act(root, "table").focus()
    press("Enter")
    assert root.locator(".scroll:not([hidden]) tbody tr:visible").count() == 8
