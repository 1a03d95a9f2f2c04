"""The chapter `positions`: words moved and hands turned, numbers recomputed.

From the state that the page embeds, through numpy, never through the
widgets' own scripts.
"""

import math

import numpy as np
import pytest
from playwright.sync_api import Locator

import recompute
from stepping import act, live, numbers, problem, widgets

PAGE = "book/positions"
DESK = pytest.param({}, id="desk")
PHONE = pytest.param(
    {"width": 320, "still": True, "dark": True},
    id="phone",
    marks=pytest.mark.nightly,
)


def embedding(word: str, d: int) -> np.ndarray:
    """FNV-1a over the word's bytes seeds Mulberry32; variance 1."""
    seed = 0x811C9DC5
    for byte in word.encode():
        seed = (seed ^ byte) * 0x01000193 % 2**32
    numbers = []
    for _ in range(d):
        seed = (seed + 0x6D2B79F5) % 2**32
        t = (seed ^ seed >> 15) * (seed | 1) % 2**32
        t = (t + (t ^ t >> 7) * (t | 61)) % 2**32 ^ t
        numbers.append((t ^ t >> 14) / 2**31 - 1)
    return math.sqrt(3) * np.array(numbers)


def turns(d: int) -> np.ndarray:
    return 10_000 ** (-np.arange(0, d, 2) / d)


def outputs(state: dict, order: list[int]) -> np.ndarray:
    """Each tile's vector, [tile, d]."""
    d = len(state["weights"][0][0])
    x = np.array([embedding(state["tiles"][tile], d) for tile in order])
    if state["positions"]:
        angle = np.outer(np.arange(len(order)), turns(d))
        x[:, 0::2] += np.sin(angle)
        x[:, 1::2] += np.cos(angle)
    for layer in state["weights"][: state["layers"]]:
        q, k, v = (x @ np.array(each) for each in layer)
        rows = []
        for i, row in enumerate(q @ k.T / math.sqrt(d)):
            seen = i + 1 if state["masked"] else len(row)
            rows.append(recompute.softmax(row[:seen].tolist()) @ v[:seen])
        x = x + np.array(rows)
    return x[np.argsort(order)]


def check_shuffle(root: Locator, state: dict) -> None:
    """Words, vectors and verdicts are those of this state."""
    order = state["order"]
    shown = root.locator("li:not([hidden])")
    boxes = shown.locator('[data-action="word"]')
    assert boxes.evaluate_all("(all) => all.map((one) => one.value)") == [
        state["tiles"][tile] for tile in order
    ]
    now = outputs(state, order)
    moved = np.linalg.norm(now - outputs(state, sorted(order)), axis=1)
    mine = numbers(shown, "moved")
    assert np.allclose(mine, moved[order], atol=1e-9)
    vectors = shown.locator('[data-role="output"] i').evaluate_all(
        "(all) => all.map((one) => Number(one.dataset.value))"
    )
    assert np.allclose(vectors, now[order].flatten(), atol=1e-9)
    kinds = shown.locator("[data-kind]").evaluate_all(
        "(all) => all.map((one) => one.dataset.kind)"
    )
    assert kinds == [
        "same" if far < 1e-9 else "changed" for far in moved[order]
    ]


def check_clocks(root: Locator, state: dict) -> None:
    """The hands and their product are those of this state."""
    d = len(state["query"])
    if state["mode"] == "added":
        pairs = np.tile([0.0, 1.0], (2, d // 2, 1))[..., ::-1]
    else:
        pairs = np.reshape([state["query"], state["key"]], (2, d // 2, 2))
    z = pairs[..., 0] + 1j * pairs[..., 1]
    places = np.array([state["a"], state["b"]])
    z = z * np.exp(1j * np.outer(places, turns(d)))
    for name, hand in zip("ab", z, strict=True):
        shown = np.array(numbers(root, f"hand-{name}"))
        assert np.allclose(np.exp(1j * shown), hand / abs(hand), atol=1e-9)
    product = float((z[0] * z[1].conj()).real.sum())
    assert np.allclose(numbers(root, "dot"), [product], atol=1e-9)
    said = live(root)
    shown = f"{product:.3f}".replace("-", "\u2212")
    assert shown in said and str(state["a"]) in said and str(state["b"]) in said


@pytest.fixture
def opened(at_start, visit):
    """The page, and the one widget of a kind with its state."""

    def open_page(kind: str, **more):
        one = visit(PAGE, **more) if more else at_start(PAGE)
        root, state = widgets(one.page, kind)[0]
        return one, root, dict(state)

    return open_page


@pytest.mark.nightly
def test_words_are_moved_by_mouse(opened):
    one, root, state = opened("shuffle")
    check_shuffle(root, state)
    assert "is the first order" in live(root)
    act(root, "down").nth(0).click()
    state["order"] = [1, 0, 2, 3]
    check_shuffle(root, state)
    assert "every word has the very vector" in live(root)
    act(root, "masked").click()
    state["masked"] = True
    check_shuffle(root, state)
    assert "only “fish” and “today” still have" in live(root)
    act(root, "layers").nth(1).click()
    state["layers"] = 2
    check_shuffle(root, state)
    assert "no word has the vector" in live(root)
    act(root, "masked").click()
    act(root, "positions").click()
    state |= {"masked": False, "positions": True}
    check_shuffle(root, state)
    act(root, "reverse").click()
    state["order"] = [3, 2, 0, 1]
    check_shuffle(root, state)
    act(root, "reset").click()
    state["order"] = [0, 1, 2, 3]
    check_shuffle(root, state)
    act(root, "table").click()
    assert root.locator("table").is_visible()
    assert one.troubles == []


@pytest.mark.nightly
def test_a_word_is_dragged(opened):
    one, root, state = opened("shuffle")
    root.scroll_into_view_if_needed()
    first, third = (act(root, "carry").nth(i).bounding_box() for i in (0, 2))
    mouse = one.page.mouse
    mouse.move(first["x"] + 10, first["y"] + 10)
    mouse.down()
    mouse.move(third["x"] + 10, third["y"] + 10, steps=6)
    mouse.up()
    state["order"] = [1, 2, 0, 3]
    check_shuffle(root, state)
    assert root.locator(".held").count() == 0
    assert one.troubles == []


@pytest.mark.parametrize("more", [DESK, PHONE])
def test_words_are_moved_and_typed_by_keyboard(opened, more):
    one, root, state = opened("shuffle", **more)
    keyboard = one.page.keyboard
    act(root, "carry").nth(0).focus()
    keyboard.press("ArrowDown")
    state["order"] = [1, 0, 2, 3]
    check_shuffle(root, state)
    keyboard.press("End")
    state["order"] = [1, 2, 3, 0]
    check_shuffle(root, state)
    act(root, "word").nth(0).focus()
    keyboard.press("ControlOrMeta+a")
    keyboard.type("fish")
    keyboard.press("Tab")
    state["tiles"] = ["man", "fish", "fish", "today"]
    check_shuffle(root, state)
    act(root, "word").nth(0).focus()
    keyboard.press("ControlOrMeta+a")
    keyboard.type("two words")
    keyboard.press("Tab")
    assert "not one word" in problem(root)
    check_shuffle(root, state)
    assert "The vectors of “fish” are equal" in live(root)
    act(root, "word").nth(0).focus()
    keyboard.press("ControlOrMeta+a")
    keyboard.press("Delete")
    keyboard.press("Tab")
    assert "empty field" in problem(root)
    check_shuffle(root, state)
    assert one.troubles == []


@pytest.mark.nightly
def test_the_hands_turn_by_mouse(opened):
    one, root, state = opened("clocks")
    check_clocks(root, state)
    before = numbers(root, "dot")
    act(root, "on").click()
    act(root, "on").click()
    act(root, "back").click()
    state |= {"a": state["a"] + 1, "b": state["b"] + 1}
    check_clocks(root, state)
    assert np.allclose(numbers(root, "dot"), before)
    act(root, "mode").nth(1).click()
    state["mode"] = "rotary"
    check_clocks(root, state)
    act(root, "table").click()
    assert root.locator("table").is_visible()
    assert one.troubles == []


@pytest.mark.parametrize("more", [DESK, PHONE])
def test_the_hands_turn_by_keyboard(opened, more):
    one, root, state = opened("clocks", **more)
    keyboard = one.page.keyboard
    act(root, "b").focus()
    keyboard.press("End")
    state["b"] = state["last"]
    check_clocks(root, state)
    keyboard.press("ArrowLeft")
    state["b"] -= 1
    check_clocks(root, state)
    act(root, "back").focus()
    keyboard.press("Home")
    state |= {"a": 0, "b": state["b"] - state["a"]}
    check_clocks(root, state)
    keyboard.press("ArrowRight")
    state |= {"a": 1, "b": state["b"] + 1}
    check_clocks(root, state)
    assert one.troubles == []
