"""The data-flow widget of the built book, walked by mouse and keyboard.

Shapes, parameters and products are recomputed here from the sizes that the
page embeds, in torch, never through the widget's own script.
"""

import pytest
import torch

from lookback.transformer import Transformer, TransformerConfig
from stepping import act, live, numbers, problem, widgets

PAGE = "book/transformer"
LAST = 53
SIZES = ("batch", "source", "target", "d_model", "heads", "d_ff", "layers")


def count(state: dict) -> int:
    """Parameters of the real model at these sizes."""
    with torch.device("meta"):
        model = Transformer(
            TransformerConfig(
                state["vocab"],
                state["vocab"],
                state["d_model"],
                state["heads"],
                state["layers"],
                state["d_ff"],
                tied="all",
            )
        )
    return sum(p.numel() for p in model.parameters())


def shape(root) -> dict[str, list[int]]:
    """The axes shown, by name; a name may stand twice."""
    shown: dict[str, list[int]] = {}
    for axis in root.locator('[data-role="axis"]').all():
        name = axis.get_attribute("data-name")
        shown.setdefault(name, []).append(int(axis.get_attribute("data-value")))
    return shown


def check_counts(root, expected: dict[str, int]) -> None:
    for role, number in expected.items():
        assert numbers(root, role) == [number], role


@pytest.fixture
def one(at_start):
    opened = at_start(PAGE)
    [(root, state)] = widgets(opened.page, "dataflow")
    yield root, state
    assert opened.troubles == []


@pytest.mark.nightly
def test_every_station_by_mouse(one):
    root, state = one
    B, S, T = state["batch"], state["source"], state["target"]
    d, h, V = state["d_model"], state["heads"], state["vocab"]
    d_k = d // h
    told = {
        1: ({"batch": [B], "source": [S], "d_model": [d]}, V * d, 0),
        8: ({"batch": [B], "heads": [h], "source": [S, S]}, 0, B * S * S * d),
        11: (
            {"batch": [B], "heads": [h], "source": [S], "d_k": [d_k]},
            0,
            B * S * S * d,
        ),
        28: (
            {"batch": [B], "heads": [h], "target": [T, T]},
            0,
            B * T * T * d,
        ),
        40: (
            {"batch": [B], "heads": [h], "target": [T], "source": [S]},
            0,
            B * T * S * d,
        ),
        52: (
            {"batch": [B], "target": [T], "vocab": [V]},
            0,
            B * T * d * V,
        ),
    }
    for step in range(LAST + 1):
        assert live(root).startswith(f"{step + 1} of {LAST + 1}.")
        if step in told:
            axes, parameters, products = told[step]
            assert shape(root) == axes, step
            check_counts(root, {"parameters": parameters, "products": products})
        if step < LAST:
            act(root, "next").click()
    assert act(root, "next").get_attribute("aria-disabled") == "true"
    assert f"{count(state):,} parameters" in root.inner_text()


@pytest.mark.nightly
def test_generation_asks_with_one_word(one):
    root, state = one
    act(root, "generation").click()
    act(root, "part-masked").click()
    for _ in range(4):
        root.press("ArrowRight")
    h, T = state["heads"], state["target"]
    assert shape(root) == {
        "batch": [state["batch"]],
        "heads": [h],
        "target": [1, T],
    }
    check_counts(root, {"elements": state["batch"] * h * T})
    root.press("End")
    assert shape(root)["target"] == [1]
    root.press("Home")
    assert "made once" not in live(root)  # words are no products
    act(root, "part-self").click()
    assert "made once, when the source is read" in live(root)


@pytest.mark.nightly
def test_sizes_may_be_set_and_nonsense_is_named(one):
    root, state = one
    act(root, "heads").fill("7")
    act(root, "heads").press("Enter")
    assert "7 heads cannot share 512" in problem(root)
    assert act(root, "heads").input_value() == str(state["heads"])
    for text, says in (("many", "not a whole number"), ("0", "from 1 to")):
        act(root, "source").fill(text)
        act(root, "source").press("Enter")
        assert says in problem(root)
        assert act(root, "source").input_value() == str(state["source"])
    act(root, "source").fill("20")
    act(root, "source").press("Enter")
    assert problem(root) == ""
    assert shape(root)["source"] == [20]
    act(root, "big").click()
    sizes = {"d_model": 1024, "heads": 16, "d_ff": 4096, "layers": 6}
    assert f"{count(state | sizes):,} parameters" in root.inner_text()
    act(root, "ours").click()
    sizes = {"d_model": 256, "heads": 4, "d_ff": 1024, "layers": 3}
    assert f"{count(state | sizes):,} parameters" in root.inner_text()


@pytest.mark.nightly
def test_the_table_holds_every_station(one):
    root, _ = one
    act(root, "table").click()
    assert root.locator("tbody tr").count() == LAST + 1
    assert act(root, "table").get_attribute("aria-pressed") == "true"


def test_every_control_is_reached_by_tab(one):
    root, _ = one
    act(root, "batch").focus()
    page = root.page
    seen = set()
    for _ in range(40):
        seen.add(
            page.evaluate("document.activeElement.dataset.action ?? 'other'")
        )
        page.keyboard.press("Tab")
    parts = ("self", "cross", "out")
    wanted = {*SIZES, "vocab", "training", "generation", "next", "table"}
    assert wanted | {f"part-{part}" for part in parts} <= seen


@pytest.mark.nightly
def test_every_head_shows_its_own_weights(at_start):
    opened = at_start(PAGE)
    [(heads, state)] = widgets(opened.page, "alignment-stepper")
    assert not act(heads, "example").is_visible()
    assert "log α" in heads.inner_text() and "energy" not in heads.inner_text()
    step = state["step"]
    for index, example in enumerate(state["examples"]):
        assert act(heads, f"by-{index}").inner_text() == f"head {index + 1}"
        act(heads, f"by-{index}").click()
        weights = torch.tensor(example["energies"][step]).softmax(-1).tolist()
        assert numbers(heads, "weight") == pytest.approx(weights, abs=1e-5)
    assert opened.troubles == []
