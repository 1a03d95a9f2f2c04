"""The peephole of the chapter `glimpses`, by mouse and by keyboard.

What it should say is computed anew by the Python module.
"""

import pytest
from playwright.sync_api import Locator

from lookback.experiments import glimpses
from lookback.lab import records
from lookback.widgets import Peephole
from lookback.widgets.peephole import ALPHABET
from stepping import act, live, widgets

PAGE = "book/glimpses"


@pytest.fixture
def peephole(at_start):
    """The page, the root, the state."""
    one = at_start(PAGE)
    [(root, state)] = widgets(one.page, "peephole")
    yield one, root, state
    assert one.troubles == []


@pytest.fixture(scope="module")
def twin():
    """The same widget in Python."""
    pictures, letters = glimpses.hidden()
    fixed = records.load("glimpses")["results"]["times"]["fixed"]
    eyes = (glimpses.eye("random"), glimpses.eye("fixed"))
    return Peephole(*eyes, fixed, pictures, letters)


def opened(root: Locator) -> list[int]:
    cells = root.locator(".windows button")
    return [
        i
        for i in range(cells.count())
        if "opened by you" in (cells.nth(i).get_attribute("aria-label") or "")
    ]


def guess_of(twin: Peephole, which: int, looks: list[int], fixed=False) -> str:
    twin.which, twin.looks = which, looks
    return ALPHABET[int(twin.guess(fixed).argmax())]


def check_round(root, twin, which, looks, guess) -> None:
    said, letter = live(root), twin.letters[which]
    assert f"It is “{letter}”." in said
    right = guess == letter
    assert ("You are right" if right else f"You said “{guess}”") in said
    mine = guess_of(twin, which, looks)
    assert f"from your windows: “{mine}” (" in said
    other = guess_of(twin, which, looks, fixed=True)
    assert f"(dashed): “{other}” (" in said
    shown = root.locator('[data-role="score"]').inner_text()
    assert f"you {int(right)};" in shown
    assert f"your windows {int(mine == letter)};" in shown
    assert f"fixed three {int(other == letter)}." in shown


@pytest.mark.nightly
def test_a_letter_by_mouse(peephole, twin):
    _, root, state = peephole
    assert state["letters"] == twin.letters
    cells = root.locator(".windows button")
    assert "Open three windows" in live(root)
    for n, place in enumerate((7, 12, 17), 1):
        cells.nth(place).click()
        assert opened(root) == [7, 12, 17][:n]
        row, column = place // 5 + 1, place % 5 + 1
        assert f"row {row}, column {column}: " in live(root)
    cells.nth(0).click(force=True)  # a fourth stays shut
    assert opened(root) == [7, 12, 17]
    act(root, "guess").click(force=True)  # nothing chosen yet
    assert "It is" not in live(root)
    act(root, "letter").select_option("i")
    act(root, "guess").click()
    check_round(root, twin, 0, [7, 12, 17], "i")
    assert root.locator(".windows .shut").count() == 0
    assert root.locator(".windows .its").count() == 3
    act(root, "table").click()
    assert root.locator("tbody tr").count() == 1
    assert "row 2, column 3" in root.locator("tbody").inner_text()
    act(root, "table").click()
    act(root, "next").click()
    assert "Letter 2 of 52" in live(root) and opened(root) == []
    act(root, "anew").click()
    assert "Letter 1 of 52" in live(root)
    assert root.locator('[data-role="score"]').inner_text() == ""


def test_a_letter_by_keyboard(peephole, twin):
    one, root, _ = peephole
    press = one.page.keyboard.press
    root.locator(".windows button").first.focus()
    press("Enter")
    for key in ("ArrowRight", "ArrowDown"):
        press(key)
    press("Space")
    press("ArrowLeft")
    press("ArrowLeft")  # there is no window to the left: it stays
    press("Enter")
    assert opened(root) == [0, 5, 6]
    act(root, "letter").focus()
    press("z")
    act(root, "guess").focus()
    press("Enter")
    check_round(root, twin, 0, [0, 6, 5], "z")
