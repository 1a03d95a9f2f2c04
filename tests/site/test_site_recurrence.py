"""The relay in the built page, stepped by mouse and by keyboard.

What it should show is computed anew from the embedded state.
"""

import math

import numpy as np
import pytest
from playwright.sync_api import Locator

from lookback.widgets.relay import STEPS
from stepping import act, live, numbers, widgets

PAGE = "book/recurrence"


@pytest.fixture
def relay(at_start):
    """The page, the widget that its task is about, its state."""
    one = at_start(PAGE)
    _, (root, state) = widgets(one.page, "relay")
    yield one, root, state
    assert one.troubles == []


def check(root: Locator, w: float, pulse: float, step: int) -> None:
    """States, factors and gradients are those of a plain loop."""
    states = [0.0]
    for t in range(STEPS):
        states.append(math.tanh(w * states[-1] + (pulse if t == 0 else 0)))
    shown = [h if t < step else 0 for t, h in enumerate(states[1:])]
    assert np.allclose(numbers(root, "state"), shown, atol=1e-9)
    back = [1.0] * step
    for k in range(step - 2, -1, -1):
        back[k] = back[k + 1] * w * (1 - states[k + 2] ** 2)
    whole = back + [0.0] * (STEPS - step)
    assert np.allclose(numbers(root, "gradient"), whole, rtol=1e-6, atol=0)
    assert numbers(root, "now") == pytest.approx([states[step]])
    if step > 1:
        last = w * (1 - states[step] ** 2)
        assert numbers(root, "factor") == pytest.approx([last])
        assert numbers(root, "back") == pytest.approx([back[0]])
    where = f"Step {step} of {STEPS}" if step else "Before the pulse"
    assert f"w = {w:.1f}, " in live(root) and where in live(root)


@pytest.mark.nightly
def test_relay_by_mouse(relay):
    _, root, state = relay
    w, pulse = state["w"], state["pulse"]
    check(root, w, pulse, STEPS)
    act(root, "first").click()
    check(root, w, pulse, 0)
    for step in (1, 2, 3):
        act(root, "next").click()
        check(root, w, pulse, step)
    act(root, "previous").click()
    check(root, w, pulse, 2)
    act(root, "last").click()
    check(root, w, pulse, STEPS)
    act(root, "table").click()
    assert root.locator("tbody tr").count() == STEPS
    act(root, "first").click()
    check(root, w, pulse, 0)


def test_relay_by_keyboard(relay):
    one, root, state = relay
    press = one.page.keyboard.press
    act(root, "next").focus()
    press("End")
    check(root, state["w"], state["pulse"], STEPS)
    press("ArrowLeft")
    check(root, state["w"], state["pulse"], STEPS - 1)
    act(root, "w").focus()
    press("Home")
    check(root, 0, state["pulse"], STEPS - 1)
    press("End")
    check(root, 3, state["pulse"], STEPS - 1)
    act(root, "pulse").focus()
    press("Home")
    check(root, 3, -2, STEPS - 1)
    press("ArrowRight")
    check(root, 3, -1.9, STEPS - 1)
    assert live(root).count("\u2212") == 2


@pytest.mark.nightly
def test_what_the_task_says_is_seen(relay):
    _, root, _ = relay
    act(root, "pulse").fill("1")
    for w, state, gradient in ((2, 0.958, 4.1e-15), (0.9, 0.063, 0.031)):
        act(root, "w").fill(str(w))
        assert numbers(root, "now") == pytest.approx([state], abs=5e-4)
        assert numbers(root, "back") == pytest.approx([gradient], rel=0.02)
    for w in range(31):
        act(root, "w").fill(str(w / 10))
        kept = numbers(root, "now")[0]
        assert not (kept > 0.5 and numbers(root, "back")[0] > 0.01)
    act(root, "pulse").fill("0.1")
    act(root, "w").fill("1.2")
    assert numbers(root, "now") == pytest.approx([0.647], abs=5e-4)
    assert numbers(root, "back") == pytest.approx([0.235], abs=5e-4)
    act(root, "w").fill("2")
    act(root, "pulse").fill("0")
    assert numbers(root, "back") == [2 ** (STEPS - 1)]
    assert "multiplied by 524,288" in live(root)


@pytest.mark.nightly
def test_relay_plays_to_the_end(relay):
    _, root, state = relay
    act(root, "first").click()
    act(root, "play").click()
    act(root, "play").filter(has_text="Pause").wait_for()
    act(root, "play").filter(has_text="Play").wait_for()
    check(root, state["w"], state["pulse"], STEPS)


def test_the_first_screen_asks_what_the_widget_shows(at_start):
    """The state is kept, and the gradient gone; at 0.9 the other way round."""
    one = at_start(PAGE)
    (root, state), _ = widgets(one.page, "relay")
    assert (state["w"], state["pulse"], state["step"]) == (2, 1, STEPS)
    check(root, 2, 1, STEPS)
    assert numbers(root, "now")[0] > 0.95 and numbers(root, "back")[0] < 1e-12
    act(root, "w").fill("0.9")
    assert numbers(root, "now")[0] < 0.1 and numbers(root, "back")[0] > 0.01
    assert root.bounding_box()["y"] < 900
    assert one.troubles == []
