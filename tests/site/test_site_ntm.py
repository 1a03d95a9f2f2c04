"""The two widgets of the chapter `ntm`, by mouse and by keyboard.

What they should show is computed anew by the Python module.
"""

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator

from lookback.experiments.ntm import follow
from lookback.ntm import NTM, NTMConfig
from lookback.widgets import TapeHead
from lookback.widgets.copier import LETTERS, inputs
from lookback.widgets.lib.half import unpack
from stepping import act, live, numbers, problem, widgets

PAGE = "book/ntm"


@pytest.fixture
def head(at_start):
    """The page and the head's root."""
    one = at_start(PAGE)
    [(root, _)] = widgets(one.page, "tape-head")
    yield one, root
    assert one.troubles == []


def deed(ink="", **more):
    addressing = {
        "key": "▸",
        "strength": 10,
        "gate": 0,
        "move": 0,
        "blur": 0,
        "gamma": 1,
    }
    return addressing | {"ink": ink} | more


def check_head(root: Locator, done: list[dict]) -> None:
    """The row `before` is where the head stands after all that was done."""
    _, weights, _ = TapeHead(done=done).follow()
    assert np.allclose(numbers(root, "before"), weights, atol=1e-6)


@pytest.mark.nightly
def test_three_symbols_written_found_and_read(head):
    _, root = head
    done = []
    for symbol, move in (("▸", 0), ("A", 1), ("B", 1), ("A", 1)):
        act(root, "ink").select_option(symbol)
        act(root, "move").select_option(str(move))
        act(root, "put").click()
        done.append(deed(symbol, move=move))
        check_head(root, done)
    assert "Step 4: wrote A, most of it at slot 3" in live(root)
    act(root, "strength").fill("30")
    act(root, "gate").fill("1")
    act(root, "take").click()
    done.append(deed(move=1, strength=30, gate=1))
    check_head(root, done)
    assert "read 1.00 A" in live(root)
    act(root, "gate").fill("0")
    act(root, "take").click()
    assert "read 1.00 B" in live(root)
    act(root, "table").click()
    assert root.locator("tbody tr:visible").count() == 6
    act(root, "undo").click()
    check_head(root, done)
    act(root, "anew").click()
    check_head(root, [])
    assert "blank" in live(root)


def test_the_dials_by_keyboard(head):
    one, root = head
    press = one.page.keyboard.press
    act(root, "blur").focus()
    press("End")
    act(root, "put").focus()
    press("Enter")
    done = [deed("▸", blur=0.3)]
    check_head(root, done)
    act(root, "gamma").focus()
    press("End")
    act(root, "take").focus()
    press("Space")
    check_head(root, [*done, deed(blur=0.3, gamma=10)])


@pytest.mark.nightly
def test_the_answer_to_the_task_about_the_blur(head):
    _, root = head
    act(root, "blur").fill("0.1")
    act(root, "move").select_option("1")
    for gamma, low, high in (("1", 0, 1 / 3), ("3", 0.9, 1)):
        act(root, "gamma").fill(gamma)
        for _ in range(7):
            act(root, "put").click()
        act(root, "put").click()
        at = numbers(root, "before")
        assert low < at[0] < high  # eight on a ring of eight
        if act(root, "anew").get_attribute("aria-disabled") == "false":
            act(root, "anew").click()


@pytest.fixture
def copier(at_start):
    """The page, the copier's root, its state."""
    one = at_start(PAGE)
    [(root, state)] = widgets(one.page, "copier")
    yield one, root, state
    assert one.troubles == []


def truth(state: dict, text: str, slots: int):
    model = NTM(NTMConfig()).double()
    model.load_state_dict(
        {k: torch.tensor(unpack(one)) for k, one in state["machine"].items()}
    )
    with torch.no_grad():
        logits, _, weights = follow(model, inputs(text).double(), slots)
    bits = (logits[0, -len(text) :] > 0).numpy()
    codes = bits @ (1 << np.arange(6))
    return [LETTERS[code] for code in codes], weights[0, :, 0]


def check_copier(root, state, text, slots, step) -> None:
    written, weights = truth(state, text, slots)
    shown = root.locator('[data-role="written"] span').all_inner_texts()
    assert [one.replace("␣", " ") for one in shown] == written
    at = weights[step - 1] if step else torch.eye(slots)[0]
    assert np.allclose(numbers(root, "head"), at, atol=1e-6)


@pytest.mark.nightly
def test_the_copier_by_mouse(copier):
    _, root, state = copier
    text, slots = state["text"], state["slots"]
    check_copier(root, state, text, slots, 0)
    for step in (1, 2):
        act(root, "next").click()
        check_copier(root, state, text, slots, step)
    act(root, "last").click()
    check_copier(root, state, text, slots, 2 * len(text) + 2)
    act(root, "table").click()
    assert root.locator("tbody tr").count() == 2 * len(text) + 2


def test_a_readers_text_on_a_tape_of_their_own(copier):
    one, root, state = copier
    box = act(root, "text")
    box.fill("Hello 42")
    box.press("Enter")
    check_copier(root, state, "Hello 42", state["slots"], 0)
    act(root, "slots").focus()
    one.page.keyboard.press("Home")
    check_copier(root, state, "Hello 42", 12, 0)
    act(root, "next").focus()
    one.page.keyboard.press("End")
    check_copier(root, state, "Hello 42", 12, 18)
    box = act(root, "text")
    box.fill("naïve")
    box.press("Enter")
    assert "not for “ï”" in problem(root)
    check_copier(root, state, "Hello 42", 12, 18)
