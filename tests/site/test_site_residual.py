"""The chapter's widget, stepped; its numbers recomputed with torch.

The stack is rebuilt from the page's state by the book's own layers, never by
the widget's script.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from playwright.sync_api import Locator

from lookback.residual import token_spread
from lookback.widgets.stack import run
from stepping import act, live, numbers, widgets

PAGE = "book/residual"


@pytest.fixture
def opened(at_start):
    """The visit, the widget's root and its state."""
    one = at_start(PAGE)
    ((root, state),) = widgets(one.page, "depth")
    return one, root, {k: v for k, v in state.items() if k[0] != "_"}


def check(root: Locator, state: dict, step: int) -> None:
    """Curves, tokens and sentence are those of this stack at this layer."""
    xs, gradients = run(SimpleNamespace(**state))
    truth = [float(token_spread(x)) for x in xs]
    assert np.allclose(numbers(root, "apart"), truth, rtol=1e-6, atol=1e-9)
    sizes = np.array([float(g.norm()) for g in gradients])
    shares = numbers(root, "share")
    assert np.allclose(shares, sizes / sizes[-1], rtol=1e-5, atol=1e-12)
    shown = np.array(numbers(root, "token")).reshape(xs[step].shape)
    assert np.allclose(shown, xs[step].numpy(), rtol=1e-6, atol=1e-9)
    where = f"After layer {step} of {state['depth']}"
    assert live(root).startswith(where if step else "Below the first layer")


@pytest.mark.nightly
def test_a_walk_by_mouse(opened):
    one, root, state = opened
    check(root, state, 0)
    for step in range(1, 4):
        act(root, "next").click()
        check(root, state, step)
    act(root, "previous").click()
    check(root, state, 2)
    act(root, "last").click()
    check(root, state, state["depth"])
    act(root, "first").click()
    check(root, state, 0)
    assert one.troubles == []


def test_a_walk_by_keyboard(opened):
    one, root, state = opened
    keyboard = one.page.keyboard
    act(root, "next").focus()
    keyboard.press("End")
    check(root, state, state["depth"])
    keyboard.press("ArrowLeft")
    check(root, state, state["depth"] - 1)
    keyboard.press("Home")
    check(root, state, 0)
    keyboard.press("ArrowRight")
    check(root, state, 1)
    assert one.troubles == []


@pytest.mark.nightly
def test_the_switches(opened):
    one, root, state = opened
    act(root, "residual").check()
    state["residual"] = True
    check(root, state, 0)
    for norm in ("post", "pre"):
        act(root, "norm").select_option(norm)
        state["norm"] = norm
        check(root, state, 0)
    act(root, "feedforward").check()
    state["feedforward"] = True
    check(root, state, 0)
    act(root, "again").click()
    state["seed"] += 1
    check(root, state, 0)
    act(root, "last").click()
    act(root, "depth").focus()
    one.page.keyboard.press("Home")
    state["depth"] = 1
    check(root, state, 1)
    assert one.troubles == []


@pytest.mark.nightly
def test_its_table_has_a_row_for_every_level(opened):
    _, root, state = opened
    act(root, "table").click()
    assert root.locator("tbody tr").count() == state["depth"] + 1
    assert not root.locator("svg").first.is_visible()


@pytest.mark.nightly
def test_it_fits_a_small_phone(visit):
    one = visit(PAGE, width=320)
    root = one.page.locator('.lookback-widget[data-widget="depth"]')
    wide = root.evaluate("(node) => node.scrollWidth - node.clientWidth")
    assert wide <= 1
    for name in ("next", "residual", "norm", "again"):
        assert act(root, name).is_visible()
