"""The chapter on attention: its widgets, by mouse and keyboard."""

import math

import numpy as np
import pytest
from playwright.sync_api import Locator

from recompute import softmax
from stepping import act, live, numbers, problem, widgets

PAGE = "book/attention"


@pytest.fixture
def one(at_start):
    return at_start(PAGE)


def lookup(one) -> tuple[Locator, dict]:
    return widgets(one.page, "lookup")[0]


def masks(one) -> tuple[Locator, dict]:
    return widgets(one.page, "masks")[0]


def check_lookup(root: Locator, state: dict) -> None:
    """Scores, weights and answer are those of this state."""
    mask = np.array(state["mask"])
    e = np.array(state["key"]) @ state["query"] / math.sqrt(2)
    e = np.where(mask, e, -np.inf)
    if state["temperature"]:
        weights = softmax(e / state["temperature"])
    else:
        weights = (e == e.max()) / (e == e.max()).sum()
    assert np.allclose(numbers(root, "score"), e, atol=1e-9)
    assert np.allclose(numbers(root, "weight"), weights, atol=1e-9)
    answer = weights @ np.array(state["value"])
    assert np.allclose(numbers(root, "answer"), answer, atol=1e-9)


@pytest.mark.nightly
def test_the_dictionary_by_mouse(one):
    root, state = lookup(one)
    check_lookup(root, state)
    for step, words in enumerate(("meets every key", "Softmax", "answer is")):
        act(root, "stage").nth(step).click()
        assert words in live(root)
    act(root, "mask").nth(1).click()
    state["mask"] = [True, False, True, True]
    check_lookup(root, state)
    assert numbers(root, "weight")[1] == 0
    act(root, "reset").click()
    check_lookup(root, state | {"mask": [True] * 4})
    act(root, "table").click()
    assert root.locator("table tbody tr").count() == 4
    assert one.troubles == []


@pytest.mark.nightly
def test_the_query_follows_the_pointer(one):
    root, state = lookup(one)
    plane = root.locator("svg.plane")
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()

    def place(x, y):
        return (
            box["x"] + box["width"] * (100 + 45 * x) / 200,
            box["y"] + box["height"] * (100 - 45 * y) / 200,
        )

    mouse = one.page.mouse
    mouse.move(*place(*state["query"]))
    mouse.down()
    mouse.move(*place(0, 1), steps=4)
    mouse.move(*place(-1, -1), steps=4)
    mouse.up()
    query = [float(act(root, f"query-{d}").input_value()) for d in (1, 2)]
    assert np.allclose(query, [-1, -1], atol=0.06)
    check_lookup(root, state | {"query": query})
    assert one.troubles == []


def test_the_dictionary_by_keyboard(one):
    root, state = lookup(one)
    keyboard = one.page.keyboard
    act(root, "next").focus()
    keyboard.press("Home")
    assert "meets every key" in live(root)
    keyboard.press("End")
    act(root, "temperature").focus()
    keyboard.press("Home")
    check_lookup(root, state | {"temperature": 0.0})
    keyboard.press("End")
    check_lookup(root, state | {"temperature": 5.0})
    act(root, "query-1").focus()
    keyboard.press("Home")
    now = state | {"temperature": 5.0, "query": [-2.0, state["query"][1]]}
    check_lookup(root, now)
    act(root, "key").nth(2).focus()
    keyboard.press("ControlOrMeta+a")
    keyboard.type("0, -6")
    keyboard.press("Tab")
    now["key"] = [*state["key"][:2], [0, -6], state["key"][3]]
    check_lookup(root, now)
    assert one.troubles == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    "field, text, words",
    [
        ("key", "north", "“north” is not a number"),
        ("key", "1 2 3", "holds 3 numbers"),
        ("value", "", "holds 0 numbers"),
    ],
)
def test_what_does_not_fit_is_named_and_what_was_there_stays(
    one, field, text, words
):
    root, state = lookup(one)
    act(root, field).first.fill(text)
    act(root, field).first.press("Tab")
    assert words in problem(root) and "stays" in problem(root)
    check_lookup(root, state)


@pytest.mark.nightly
def test_the_last_key_cannot_be_masked(one):
    root, state = lookup(one)
    for j in range(3):
        act(root, "mask").nth(j).click()
    act(root, "mask").nth(3).click()
    assert "at least one key" in problem(root)
    check_lookup(root, state | {"mask": [False, False, False, True]})


def named(state: dict) -> dict[str, np.ndarray]:
    n = len(state["tokens"])
    causal = np.tril(np.ones((n, n), dtype=bool))
    words = np.broadcast_to(np.arange(n) < n - state["padding"], (n, n))
    both = causal & words
    full = causal | True
    return {"all": full, "causal": causal, "padding": words, "both": both}


def check_masks(root: Locator, state: dict, mask: np.ndarray, i: int) -> None:
    """The square, the row's weights and its output are those of the mask."""
    weights = softmax(np.where(mask, state["scores"], -np.inf))
    shown = act(root, "square").evaluate_all(
        "(all) => all.map((one) => Number(one.dataset.value))"
    )
    assert np.allclose(shown, weights.ravel(), atol=1e-9)
    assert np.allclose(numbers(root, "weight"), weights[i], atol=1e-9)
    output = weights[i] @ np.array(state["values"])
    assert np.allclose(numbers(root, "context"), output, atol=1e-9)
    said = live(root)
    assert said.startswith(f"Position {i + 1}, “{state['tokens'][i]}”")
    assert f"attend to {mask[i].sum()} of" in said


@pytest.mark.nightly
def test_every_mask_by_mouse(one):
    root, state = masks(one)
    last = len(state["tokens"]) - 1
    for name, mask in named(state).items():
        act(root, f"mask-{name}").click()
        pressed = act(root, f"mask-{name}").get_attribute("aria-pressed")
        assert pressed == "true"
        for i in (0, 1, last):
            root.locator(f'th[data-row="{i}"]').click()
            check_masks(root, state, mask, i)
        act(root, "previous").click()
        check_masks(root, state, mask, last - 1)
    assert one.troubles == []


@pytest.mark.nightly
def test_a_square_is_shut_and_opened(one):
    root, state = masks(one)
    act(root, "mask-causal").click()
    mask = named(state)["causal"].copy()
    for row, column in ((3, 1), (3, 5), (3, 1)):
        mask[row, column] ^= True
        root.locator(f'td[data-row="{row}"][data-column="{column}"]').click()
        check_masks(root, state, mask, row)
    root.locator('td[data-row="0"][data-column="0"]').click()
    assert "nothing left to attend to" in problem(root)
    check_masks(root, state, mask, 0)


def test_the_masks_by_keyboard(one):
    root, state = masks(one)
    keyboard = one.page.keyboard
    act(root, "mask-both").focus()
    keyboard.press("Enter")
    mask = named(state)["both"].copy()
    act(root, "next").focus()
    keyboard.press("Home")
    keyboard.press("ArrowRight")
    keyboard.press("ArrowRight")
    check_masks(root, state, mask, 2)
    root.locator('td[data-row="2"][tabindex="0"]').focus()
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    mask[2, 1] = False
    check_masks(root, state, mask, 2)
    keyboard.press("End")
    check_masks(root, state, mask, len(mask) - 1)
    act(root, "table").focus()
    keyboard.press("Enter")
    assert act(root, "table").get_attribute("aria-pressed") == "true"
    assert one.troubles == []


@pytest.mark.nightly
def test_both_live_when_opened_from_disk(visit):
    one = visit(PAGE, from_disk=True)
    check_lookup(*lookup(one))
    root, state = masks(one)
    check_masks(root, state, np.array(state["mask"]), state["step"])
    assert one.troubles == []
