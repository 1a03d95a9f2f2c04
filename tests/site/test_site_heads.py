"""The chapter on heads: its widget, stepped; its BertViz frames, alive."""

import numpy as np
import pytest

from contents import SERVED_OR_NOT
from recompute import softmax, tensor
from stepping import act, live, numbers, widgets

PAGE = "book/heads"


def maps_of(state: dict, **change) -> np.ndarray:
    """All maps of the sentence, from its queries and keys."""
    state = {**state, **change}
    one = state["examples"][state["example"]]
    queries, keys = (tensor(one[of]).numpy() for of in ("queries", "keys"))
    scores = queries @ keys.swapaxes(-1, -2)
    if state["scaled"]:
        scores /= np.sqrt(queries.shape[-1])
    return softmax(scores)


@pytest.fixture
def widget(at_start):
    """The page, the widget's root and its state."""
    one = at_start(PAGE)
    ((root, state),) = widgets(one.page, "heads")
    return one, root, state


def check(root, state, step, layer, head, words) -> None:
    """The bars and the sentence are those of this head and word."""
    row = maps_of(state)[layer, head, step]
    assert np.allclose(numbers(root, "weight"), row, atol=1e-9)
    said = live(root)
    assert f"“{words[step]}”" in said
    assert f"Layer {layer + 1}, head {head + 1}" in said
    assert f"“{words[int(row.argmax())]}”" in said


@pytest.mark.nightly
def test_every_head_by_mouse(widget):
    one, root, state = widget
    words = state["examples"][0]["words"]
    for layer in range(3):
        for head in range(4):
            place = f'[data-action="head"][data-value="{layer}-{head}"]'
            root.locator(place).click()
            check(root, state, state["step"], layer, head, words)
            pressed = root.locator(place).get_attribute("aria-pressed")
            assert pressed == "true"
    assert one.troubles == []


def test_word_by_word_by_keyboard(widget):
    one, root, state = widget
    words = state["examples"][0]["words"]
    act(root, "next").focus()
    one.page.keyboard.press("Home")
    for step in range(len(words)):
        check(root, state, step, state["layer"], state["head"], words)
        one.page.keyboard.press("ArrowRight")
    one.page.keyboard.press("ArrowLeft")
    check(root, state, len(words) - 2, state["layer"], state["head"], words)
    root.locator('[data-action="word"]').nth(1).click()
    check(root, state, 1, state["layer"], state["head"], words)
    assert one.troubles == []


@pytest.mark.nightly
def test_two_looks_side_by_side_and_the_mean(widget):
    _, root, state = widget
    step, maps = state["step"], maps_of(state)
    first = maps[state["layer"], state["head"], step]
    for value, second in (
        ("2-3", maps[2, 3, step]),
        ("mean", maps[state["layer"], :, step].mean(0)),
    ):
        act(root, "other").select_option(value)
        assert np.allclose(numbers(root, "weight"), first, atol=1e-9)
        assert np.allclose(numbers(root, "second"), second, atol=1e-9)
        share = np.minimum(first, second).sum()
        assert f"share {share:.2f} of their weight" in live(root)
    act(root, "other").select_option("none")
    assert numbers(root, "second") == []


@pytest.mark.nightly
def test_without_the_square_root_and_with_another_sentence(widget):
    one, root, state = widget
    act(root, "scaled").uncheck()
    words = state["examples"][0]["words"]
    changed = {**state, "scaled": False}
    check(root, changed, state["step"], state["layer"], state["head"], words)
    act(root, "scaled").check()
    act(root, "example").select_option("1")
    changed = {**state, "example": 1}
    words = state["examples"][1]["words"]
    check(root, changed, 0, state["layer"], state["head"], words)
    maps = root.locator('[data-action="head"] svg')
    assert maps.count() == 12
    assert (
        maps.first.get_attribute("viewBox") == f"0 0 {len(words)} {len(words)}"
    )
    assert one.troubles == []


@pytest.mark.nightly
def test_the_table_holds_the_chosen_head(widget):
    _, root, state = widget
    act(root, "table").click()
    rows = root.locator(".scroll table tbody tr")
    words = state["examples"][0]["words"]
    assert rows.count() == len(words)
    cells = rows.nth(2).locator("td").all_inner_texts()
    truth = maps_of(state)[state["layer"], state["head"], 2]
    assert cells == [f"{x:.2f}" for x in truth]


@pytest.mark.nightly
def test_on_a_narrow_phone_nothing_sticks_out(visit):
    one = visit(PAGE, width=320)
    root = one.page.locator('[data-widget="heads"]')
    inside = root.evaluate(
        """(root) => {
          const edge = root.getBoundingClientRect().right;
          return [...root.querySelectorAll("button, select, svg")]
            .filter((one) => one.offsetParent !== null || one.ownerSVGElement)
            .every((one) => one.getBoundingClientRect().right <= edge + 1);
        }"""
    )
    assert inside


@pytest.mark.parametrize("from_disk", SERVED_OR_NOT)
def test_bertviz_shows_all_three_kinds_of_attention(visit, from_disk):
    one = visit(PAGE, from_disk=from_disk)
    one.walk_down()
    frames = one.page.locator(".lookback-bertviz iframe")
    assert frames.count() == 1
    heads = one.page.frame_locator(".lookback-bertviz iframe").nth(0)
    heads.locator("#left text").first.wait_for()
    heads.get_by_label("Attention").select_option("2")  # from French to English
    assert heads.locator("#left text").first.text_content() == "<start>"
    assert heads.locator("#right text").last.text_content() == "<end>"
    left = heads.locator("#left text").count()
    right = heads.locator("#right text").count()
    assert heads.locator("#attention line").count() == 4 * left * right
    heads.get_by_label("Layer").select_option("2")
    assert heads.locator("#attention line").count() == 4 * left * right
    assert one.troubles == []
