"""The widgets of the chapter on scores, by mouse, finger and keyboard.

What they should show comes from the state that the page embeds, through
numpy and torch.
"""

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator

from lookback.widgets.saturation import SIZES, draw_scores
from stepping import act, live, numbers, widgets

PAGE = "book/scores"


@pytest.fixture
def similarity(at_start):
    """The page, the widget, its state."""
    one = at_start(PAGE)
    [(root, state)] = widgets(one.page, "similarity")
    yield one, root, state
    assert one.troubles == []


@pytest.fixture
def saturation(at_start):
    """The page, the widget, its state."""
    one = at_start(PAGE)
    [(root, state)] = widgets(one.page, "saturation")
    yield one, root, state
    assert one.troubles == []


def check_similarity(root: Locator, state: dict) -> None:
    """All scores and weights are those of these vectors."""
    query = torch.tensor(state["query"], dtype=torch.float64)
    keys = torch.tensor(state["points"], dtype=torch.float64)
    dot = keys @ query
    cosine = torch.cosine_similarity(keys, query[None])
    for name, score, by in (
        ("dot", dot, 1),
        ("scaled", dot / 2**0.5, 1),
        ("cosine", cosine, state["strength"]),
    ):
        assert np.allclose(numbers(root, name), score, atol=1e-9)
        weights = (by * score).softmax(0)
        assert np.allclose(numbers(root, f"{name}-weight"), weights, atol=1e-9)


def place(root: Locator, point: list[float]) -> tuple[float, float]:
    """Where a point of the plane lies on the screen."""
    box = root.locator(".pad").bounding_box()
    x, y = point
    return (
        box["x"] + box["width"] * (x + 5) / 10,
        box["y"] + box["height"] * (5 - y) / 10,
    )


@pytest.mark.nightly
def test_a_vector_is_dragged_by_mouse(similarity):
    one, root, state = similarity
    check_similarity(root, state)
    root.locator(".pad").scroll_into_view_if_needed()
    mouse = one.page.mouse
    for name, before, after in (
        ("query", state["query"], [-3.0, -1.5]),
        ("points", state["points"][1], [4.0, -4.0]),
    ):
        mouse.move(*place(root, before))
        mouse.down()
        mouse.move(*place(root, [0.5, 0.5]))
        mouse.move(*place(root, after))
        mouse.up()
        if name == "query":
            state["query"] = after
        else:
            state["points"][1] = after
        check_similarity(root, state)
    assert "(−3.0, −1.5)" in live(root)
    act(root, "reset").click()
    [(_, first)] = widgets(one.page, "similarity")
    check_similarity(root, first)


@pytest.mark.nightly
def test_a_vector_does_not_leave_the_plane(similarity):
    one, root, state = similarity
    root.locator(".pad").scroll_into_view_if_needed()
    one.page.mouse.move(*place(root, state["query"]))
    one.page.mouse.down()
    one.page.mouse.move(*place(root, [7.0, 0.0]))
    one.page.mouse.up()
    check_similarity(root, state | {"query": [5.0, 0.0]})


def test_a_vector_is_moved_by_keyboard(similarity):
    one, root, state = similarity
    query = act(root, "move").last
    query.focus()
    for key in ("ArrowRight", "ArrowUp", "Shift+ArrowLeft"):
        one.page.keyboard.press(key)
    x, y = state["query"]
    state["query"] = [round(x + 0.1 - 0.5, 1), round(y + 0.1, 1)]
    check_similarity(root, state)
    assert f"{state['query'][0]:.1f}" in query.get_attribute("aria-label")
    assert query.evaluate("(node) => node === document.activeElement")
    assert act(root, "score").first.get_attribute("aria-pressed") == "true"


@pytest.mark.nightly
def test_the_arrow_keys_choose_a_score_elsewhere(similarity):
    one, root, state = similarity
    act(root, "score").first.focus()
    one.page.keyboard.press("End")
    assert live(root).startswith("By the cosine")
    one.page.keyboard.press("ArrowLeft")
    assert live(root).startswith("By the scaled dot product")
    act(root, "score").first.click()
    assert live(root).startswith("By the dot product, the")
    act(root, "strength").focus()
    one.page.keyboard.press("End")
    check_similarity(root, state | {"strength": 20})
    act(root, "table").click()
    assert root.locator("tbody tr").count() == 1 + len(state["points"])


@pytest.mark.nightly
def test_the_handles_are_large_enough_for_a_finger(visit):
    one = visit(PAGE, width=320)
    [(root, _)] = widgets(one.page, "similarity")
    for handle in act(root, "move").all():
        box = handle.bounding_box()
        assert min(box["width"], box["height"]) >= 44


def check_saturation(root: Locator, d_k: int, scaled: bool, seed: int) -> None:
    """The figures are those of the same draw in numpy and torch."""
    rows = torch.tensor(draw_scores(seed, d_k).reshape(-1, 32))
    rows = rows / d_k**0.5 if scaled else rows
    weights = rows.softmax(-1)
    largest = weights.max(-1).values
    for role, right in (
        ("variance", rows.var(correction=0)),
        ("largest", largest.mean()),
        ("trace", (1 - (weights**2).sum(-1)).mean()),
        ("sure", (largest > 0.99).double().mean()),
        ("weight", weights[0]),
    ):
        assert np.allclose(numbers(root, role), right, atol=1e-9), role
    assert sum(numbers(root, "histogram")) == rows.numel()
    assert f"d_k = {d_k}, scores" in live(root)


@pytest.mark.nightly
def test_saturation_by_mouse(saturation):
    _, root, state = saturation
    check_saturation(root, state["d_k"], state["scaled"], state["seed"])
    act(root, "scale").click()
    check_saturation(root, state["d_k"], True, state["seed"])
    act(root, "again").click()
    check_saturation(root, state["d_k"], True, state["seed"] + 1)
    act(root, "table").click()
    assert root.locator("tbody tr").count() == len(SIZES)


def test_saturation_by_keyboard(saturation):
    one, root, state = saturation
    press = one.page.keyboard.press
    act(root, "size").focus()
    press("Home")
    check_saturation(root, 1, False, state["seed"])
    press("ArrowRight")
    check_saturation(root, 2, False, state["seed"])
    press("End")
    check_saturation(root, 512, False, state["seed"])
    act(root, "again").focus()
    press("ArrowLeft")
    check_saturation(root, 256, False, state["seed"])
    act(root, "scale").focus()
    press("Space")
    check_saturation(root, 256, True, state["seed"])
