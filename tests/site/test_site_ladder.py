"""The ladder's widget and the ablations', by mouse and keyboard.

The swaps are made again from the embedded counts, by lab.comparison.
Nothing here hangs on which models the records hold.
"""

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator

from lookback.lab.significance import (
    bleu,
    caption_rows,
    p_value,
    randomized_differences,
)
from lookback.widgets.saturation import uniform
from stepping import act, live, numbers, widgets

PAGES = {"swaps": "book/ladder", "rungs": "book/ablations"}


def opened(at_start, kind: str):
    """The page, the one widget of this kind, its state."""
    one = at_start(PAGES[kind])
    [(root, state)] = widgets(one.page, kind)
    return one, root, state


def check_swaps(root: Locator, state: dict) -> float:
    """All figures are those of these trials; gives p."""
    pair = (state["counts"][state[name]] for name in ("first", "second"))
    one, two = (caption_rows(text)[: state["size"]] for text in pair)
    swaps = uniform(state["seed"], state["trials"] * len(one)) < 0.5
    swaps = torch.tensor(swaps).reshape(state["trials"], len(one))
    gaps = randomized_differences(one, two, swaps)
    first, second = bleu(one.sum(0)), bleu(two.sum(0))
    p = p_value(second - first, gaps)
    reached = int((gaps.abs() >= (second - first).abs() - 1e-9).sum())
    for role, right in (
        ("first", first),
        ("second", second),
        ("gap", second - first),
        ("reached", reached),
        ("p", p),
    ):
        assert np.allclose(numbers(root, role), [float(right)], atol=1e-9), role
    columns = np.array(numbers(root, "histogram"))
    assert columns.sum() == state["trials"]
    beyond = root.locator('[data-role="histogram"] [data-reached]')
    assert reached == sum(
        beyond.evaluate_all(
            "(all) => all.map((i) => Number(i.dataset.reached))"
        )
    )
    said, trials = live(root), f"{state['trials']:,}"
    if state["trials"]:
        assert f"Trial {trials} lets" in said
        assert f"{reached:,} of {trials} chance gap" in said
        assert ("too few trials" in said) == (state["trials"] < 100)
    else:
        assert f"each of the {len(one):,} captions" in said
    return p


@pytest.mark.nightly
def test_swaps_by_mouse(at_start):
    one, root, state = opened(at_start, "swaps")
    check_swaps(root, state)
    for name, count in (("once", 1), ("once", 1), ("hundred", 100)):
        act(root, name).click()
        state["trials"] += count
        check_swaps(root, state)
    act(root, "thousand").click()
    state["trials"] += 1000
    p = check_swaps(root, state)
    assert ("not below 0.05" in live(root)) == (p >= 0.05)
    act(root, "table").click()
    assert root.locator("tbody tr").count() == 50
    assert root.locator("tbody th").first.inner_text() == "1,102"
    act(root, "again").click()
    state |= {"trials": 0, "seed": state["seed"] + 1}
    check_swaps(root, state)
    assert one.troubles == []


@pytest.mark.nightly
def test_swaps_of_another_pair_and_fewer_captions(at_start):
    one, root, state = opened(at_start, "swaps")
    last = len(state["labels"]) - 1
    act(root, "hundred").click()
    act(root, "first").select_option(str(last))
    act(root, "second").select_option("0")
    act(root, "size").select_option("100")
    state |= {"first": last, "second": 0, "size": 100, "trials": 0}
    check_swaps(root, state)
    act(root, "hundred").click()
    check_swaps(root, state | {"trials": 100})
    for label in (state["labels"][last], state["labels"][0]):
        assert label in root.inner_text()
    assert one.troubles == []


@pytest.mark.nightly
def test_a_translator_is_not_swapped_with_itself(at_start):
    one, root, state = opened(at_start, "swaps")
    act(root, "second").select_option(str(state["first"]))
    assert "Choose two different translators" in live(root)
    for name in ("once", "hundred", "thousand"):
        assert act(root, name).get_attribute("aria-disabled") == "true"
    act(root, "hundred").click(force=True)
    assert sum(numbers(root, "histogram")) == 0
    assert numbers(root, "p") == [1]
    assert one.troubles == []


@pytest.mark.nightly
def test_swaps_end_at_ten_thousand(at_start):
    one, root, state = opened(at_start, "swaps")
    act(root, "size").select_option("100")
    for _ in range(10):
        act(root, "thousand").click()
    assert act(root, "thousand").get_attribute("aria-disabled") == "true"
    act(root, "once").click(force=True)
    check_swaps(root, state | {"size": 100, "trials": 10_000})
    assert one.troubles == []


def test_swaps_by_keyboard(at_start):
    one, root, state = opened(at_start, "swaps")
    press = one.page.keyboard.press
    act(root, "first").focus()
    names = "second size once hundred thousand again table".split()
    for name in names[:3]:
        press("Tab")
        assert (
            one.page.evaluate("document.activeElement.dataset.action") == name
        )
    press("Enter")
    check_swaps(root, state | {"trials": 1})
    for name in names[3:]:
        press("Tab")
        assert (
            one.page.evaluate("document.activeElement.dataset.action") == name
        )
    press("Space")
    assert root.locator("tbody tr").count() == 1
    assert one.troubles == []


def check_rungs(root: Locator, state: dict) -> None:
    """Every number, the comparison, and the sentence."""
    rungs, name = state["rungs"], state["measure"]
    known = [rung["numbers"].get(name) for rung in rungs]
    assert numbers(root, "number") == [x for x in known if x is not None]
    now, at = rungs[state["step"]], state["against"]
    at = now["before"] if at < 0 else at
    pair = known[state["step"]], known[at] if at >= 0 else None
    found = numbers(root, "difference")
    if None in pair:
        assert found == []
    else:
        assert np.allclose(found, [pair[0] - pair[1]], rtol=0, atol=1e-9)
    current = root.locator('[aria-current="step"] .label')
    assert current.all_inner_texts() == [now["label"]]
    said, title = live(root), dict(state["measures"])[name]["title"]
    start = f"Model {state['step'] + 1} of {len(rungs)}, {now['label']}: "
    assert said.startswith(f"{start}{now['change']} Its {title}: ")
    if None in pair or at == state["step"]:
        assert "That is" not in said
        return
    digits = dict(state["measures"])[name]["digits"]
    assert f"the {pair[1]:,.{digits}f} of {rungs[at]['label']}" in said
    if pair[0] == pair[1]:
        assert "the same as" in said
    elif not digits:
        assert f"That is {pair[0] / pair[1]:.2f} times" in said
    elif abs(pair[0] - pair[1]) > 10**-digits:
        assert ("above" in said) == (pair[0] > pair[1])


@pytest.mark.nightly
def test_rungs_by_mouse(at_start):
    one, root, state = opened(at_start, "rungs")
    check_rungs(root, state)
    for step in range(state["step"] + 1, len(state["rungs"])):
        act(root, "next").click()
        check_rungs(root, state | {"step": step})
    act(root, "first").click()
    check_rungs(root, state | {"step": 0})
    act(root, "rung").last.click()
    last = state | {"step": len(state["rungs"]) - 1}
    check_rungs(root, last)
    for name, _ in state["measures"]:
        act(root, "measure").select_option(name)
        check_rungs(root, last | {"measure": name})
        act(root, "against").select_option("1")
        check_rungs(root, last | {"measure": name, "against": 1})
        act(root, "against").select_option("-1")
    act(root, "table").click()
    assert root.locator("tbody tr").count() == len(state["rungs"])
    columns = root.locator("thead th").count()
    assert columns == 1 + len(state["measures"])
    assert one.troubles == []


def test_rungs_by_keyboard(at_start):
    one, root, state = opened(at_start, "rungs")
    press, last = one.page.keyboard.press, len(state["rungs"]) - 1
    act(root, "rung").first.focus()
    for key, step in (
        ("Home", 0),
        ("ArrowDown", 1),
        ("End", last),
        ("ArrowUp", last - 1),
        ("Home", 0),
        ("ArrowRight", 1),
        ("ArrowLeft", 0),
    ):
        press(key)
        check_rungs(root, state | {"step": step})
        current = act(root, "rung").nth(step)
        assert current.evaluate("(node) => node === document.activeElement")
    act(root, "measure").focus()
    press("ArrowDown")
    check_rungs(root, state | {"step": 0, "measure": state["measures"][1][0]})
    assert one.troubles == []


@pytest.mark.nightly
@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_of_it_is_wider_than_the_page(visit, width):
    for kind, page in PAGES.items():
        one = visit(page, width=width, still=True)
        [(root, _)] = widgets(one.page, kind)
        box = root.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
        wide = "(node) => node.scrollWidth > node.clientWidth"
        assert not root.evaluate(wide)
        for control in root.locator("button, select").all():
            size = control.bounding_box()
            assert min(size["width"], size["height"]) >= 44
            right = size["x"] + size["width"]
            assert right <= box["x"] + box["width"]
        assert one.troubles == []
