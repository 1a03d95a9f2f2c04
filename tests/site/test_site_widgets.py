"""Every widget of the built book, stepped, its numbers recomputed.

By mouse and by keyboard. What it should show comes from the state that the
page embeds, through numpy and torch, never through the widget's own script.
"""

import copy
from pathlib import Path

import numpy as np
import pytest
from answers_by_hand import BY_HAND, answer_of, right, slips
from edits import edits
from playwright.sync_api import Locator, Page

import recompute
from contents import PAGES
from lookback.exercises import check, refresher
from lookback.exercises.checking import Exercise
from lookback.widgets import base
from stepping import act, kinds, live, numbers, pages_with, problem, widgets
from watching import Visit

FOLDER = Path(base.__file__).parent
KINDS = sorted(
    path.stem.replace("_", "-")
    for path in FOLDER.glob("*.py")
    if path.with_suffix(".css").exists()
)


def check_alignment(root: Locator, state: dict, step: int) -> None:
    """The row's weights, context and sentence are those of this step."""
    weights, context = recompute.alignment(state, step)
    example = state["examples"][state["example"]]
    assert np.allclose(numbers(root, "weight"), weights, atol=1e-9)
    assert np.allclose(numbers(root, "context"), context, atol=1e-9)
    said = live(root)
    assert f"“{example['target'][step]}”" in said
    assert f"“{example['source'][int(weights.argmax())]}”" in said


def check_softmax(root: Locator, state: dict) -> None:
    """Weights and mix at the last stage are those of this state."""
    weights, mixed = recompute.stages(state)
    assert np.allclose(numbers(root, "weight"), weights, atol=1e-9)
    if state["values"]:
        assert np.allclose(numbers(root, "context"), mixed, atol=1e-9)


def check_squeeze(root: Locator, state: dict) -> None:
    """The vector and the letters written are those of the trained model."""
    vector, written = recompute.squeeze(state)
    assert np.allclose(numbers(root, "vector"), vector, atol=1e-6)
    shown = root.locator('[data-role="written"]').evaluate_all(
        "(all) => all.map((one) => one.dataset.value).join('')"
    )
    assert shown == written
    wrong = root.locator('[data-role="written"][data-kind="wrong"]')
    assert wrong.count() == edits(state["text"], written)


@pytest.mark.parametrize("kind", KINDS)
def test_book_holds_every_kind_of_widget(site, kind):
    assert pages_with(site, kind)


def test_landing_page_opens_with_a_live_alignment(at_start):
    page = at_start(PAGES[0]).page
    first = page.locator(".lookback-widget").first
    assert first.get_attribute("data-widget") == "alignment-stepper"


def alignment_by_mouse(one: Visit) -> None:
    for root, state in widgets(one.page, "alignment-stepper"):
        example = state["examples"][state["example"]]
        check_alignment(root, state, state["step"])
        for step in range(state["step"] + 1, len(example["target"])):
            act(root, "next").click()
            check_alignment(root, state, step)
        act(root, "first").click()
        check_alignment(root, state, 0)
        row = len(example["target"]) - 1
        root.locator(f'td[data-row="{row}"][data-column="0"]').click()
        check_alignment(root, state, row)
        act(root, "previous").click()
        check_alignment(root, state, row - 1)
        act(root, "table").click()
        assert act(root, "table").get_attribute("aria-pressed") == "true"


def alignment_changes_its_sentence(one: Visit) -> None:
    for root, state in widgets(one.page, "alignment-stepper"):
        examples = state["examples"]
        each = [
            i
            for i, one in enumerate(examples)
            if one.get("by") == (examples[0].get("by"))
        ]
        for place, index in enumerate(each):
            if len(each) > 1:
                act(root, "example").select_option(index=place)
            step = 0 if len(each) > 1 else state["step"]
            check_alignment(root, state | {"example": index}, step)


def alignment_by_keyboard(one: Visit) -> None:
    keyboard = one.page.keyboard
    for root, state in widgets(one.page, "alignment-stepper"):
        last = len(state["examples"][state["example"]]["target"]) - 1
        act(root, "next").focus()
        keyboard.press("Home")
        check_alignment(root, state, 0)
        keyboard.press("ArrowRight")
        check_alignment(root, state, 1)
        keyboard.press("ArrowLeft")
        check_alignment(root, state, 0)
        keyboard.press("End")
        check_alignment(root, state, last)
        act(root, "previous").focus()
        keyboard.press("Enter")
        check_alignment(root, state, last - 1)


@pytest.mark.nightly
def test_alignment_stepper_plays_by_itself(at_start, site):
    one = at_start(pages_with(site, "alignment-stepper")[0])
    root, state = widgets(one.page, "alignment-stepper")[0]
    before = live(root)
    act(root, "play").click()
    one.page.wait_for_function(
        "([before]) => ![...document.querySelectorAll("
        "'.lookback-widget')][0].innerText.includes(before)",
        arg=[before],
    )
    check_alignment(root, state, state["step"] + 1)


def softmax_by_mouse(one: Visit) -> None:
    for root, state in widgets(one.page, "softmax-stepper"):
        stages = root.locator('[data-action="stage"]')
        stages.nth(4).click()
        check_softmax(root, state)
        stages.last.click()
        check_softmax(root, state)
        act(root, "previous").click()
        act(root, "next").click()
        check_softmax(root, state)
        if state["d_k"] > 1:
            act(root, "scale").click()
            check_softmax(root, state | {"scale": not state["scale"]})
            act(root, "reset").click()
        check_softmax(root, state)


def softmax_by_keyboard(one: Visit) -> None:
    keyboard = one.page.keyboard
    for root, state in widgets(one.page, "softmax-stepper"):
        now = copy.deepcopy(state)
        root.locator('[data-action="stage"]').first.focus()
        keyboard.press("End")
        act(root, "score").first.focus()
        keyboard.press("ControlOrMeta+a")
        keyboard.type("3.25")
        keyboard.press("Tab")
        now["scores"][0] = 3.25
        check_softmax(root, now)
        act(root, "temperature").focus()
        keyboard.press("End")
        now["temperature"] = 10.0
        check_softmax(root, now)


@pytest.mark.nightly
def test_softmax_stepper_names_a_wrong_number(at_start, site):
    one = at_start(pages_with(site, "softmax-stepper")[0])
    root, state = widgets(one.page, "softmax-stepper")[0]
    root.locator('[data-action="stage"]').last.click()
    act(root, "score").first.fill("cat")
    act(root, "score").first.press("Tab")
    assert "cat" in problem(root)
    check_softmax(root, state)


def squeeze_by_mouse(one: Visit) -> None:
    for root, state in widgets(one.page, "squeeze"):
        widths = list(state["models"])
        for index, width in enumerate(widths):
            act(root, "width").nth(index).click()
            check_squeeze(root, state | {"width": width})
        act(root, "first").click()
        assert "Nothing is read yet" in live(root)
        assert root.locator('[data-role="written"]').count() == 0
        act(root, "last").click()
        check_squeeze(root, state | {"width": widths[-1]})


def squeeze_by_keyboard(one: Visit) -> None:
    keyboard = one.page.keyboard
    for root, state in widgets(one.page, "squeeze"):
        for text in ("a", "attention", "zyxwvutsrqponmlkjihg"):
            act(root, "text").focus()
            keyboard.press("ControlOrMeta+a")
            keyboard.type(text)
            act(root, "next").focus()
            keyboard.press("End")
            check_squeeze(root, state | {"text": text})
            keyboard.press("Home")
            assert "Nothing is read yet" in live(root)


def verdicts(root: Locator) -> list[str]:
    """What each option is said to be."""
    return root.locator(".option").evaluate_all(
        "(all) => all.map((one) => one.dataset.verdict)"
    )


def quiz_by_mouse(one: Visit) -> None:
    for root, state in widgets(one.page, "quiz"):
        options = state["options"]
        for index, option in enumerate(options):
            if option["correct"]:
                act(root, "choose").nth(index).click()
        act(root, "check").click()
        assert live(root) == "Right."
        whys = root.locator('[data-role="why"]')
        for index, option in enumerate(options):
            plain = option["why"].replace("`", "")
            assert plain in whys.nth(index).inner_text()
        assert verdicts(root) == [
            "correct" if option["correct"] else "wrong" for option in options
        ]
        act(root, "retry").click()
        assert verdicts(root) == [""] * len(options)


def quiz_by_keyboard(one: Visit) -> None:
    keyboard = one.page.keyboard
    for root, state in widgets(one.page, "quiz"):
        wrong = [not option["correct"] for option in state["options"]]
        act(root, "choose").nth(wrong.index(True)).focus()
        keyboard.press("Space")
        act(root, "check").focus()
        keyboard.press("Enter")
        assert live(root).startswith("Not yet")
        shown = [i for i, v in enumerate(verdicts(root)) if v]
        assert shown == [wrong.index(True)]  # what was chosen, and no more
        act(root, "reveal").focus()
        keyboard.press("Enter")
        assert all(verdicts(root))
        assert not act(root, "reveal").is_visible()
        assert act(root, "retry").evaluate(
            "(node) => node === document.activeElement"
        )
        keyboard.press("Enter")
        assert act(root, "check").is_visible()


@pytest.mark.nightly
def test_quiz_remembers_in_this_browser_alone(visit, site):
    one = visit(pages_with(site, "quiz")[0])
    root, state = widgets(one.page, "quiz")[0]
    act(root, "choose").first.click()
    act(root, "check").click()
    said = live(root)
    one.page.reload()
    one.settle()
    assert live(widgets(one.page, "quiz")[0][0]) == said
    assert one.page.evaluate("document.cookie") == ""
    assert one.troubles == []


KNOWN = {made.name: made for made in (*check, *refresher.ON_THE_PAGE)}


def by_hand(page: Page) -> list[tuple[Locator, Exercise]]:
    """The fields of each exercise by hand, and its check."""
    found = []
    for root, state in widgets(page, "by-hand"):
        made = KNOWN[state["exercise"]["name"]]
        assert state["exercise"] == made.page()
        found.append((root, made))
    return found


def type_in(root: Locator, numbers: list[float]) -> None:
    """Each number into its field, as Python writes it."""
    for place, number in enumerate(numbers):
        act(root, "number").nth(place).fill(repr(number))


def by_hand_by_mouse(one: Visit) -> None:
    """The right answer, and each slip, get what the check says of them."""
    for root, made in by_hand(one.page):
        answers = [right(made), *(answer for _, answer in slips(made))]
        for answer in answers:
            type_in(root, answer)
            act(root, "check").click()
            outcome, words = made.verdict(answer_of(made, answer))
            begins = "Right: " if outcome else "Not yet. "
            assert live(root) == begins + words
            state = root.get_attribute("data-state")
            assert state == ("right" if outcome else "wrong")
        act(root, "retry").click()
        assert live(root) == "" and not act(root, "retry").is_visible()
        assert act(root, "number").first.input_value() == ""


def by_hand_by_keyboard(one: Visit) -> None:
    """Typed from field to field; what cannot be read leaves the rest alone."""
    keyboard = one.page.keyboard
    focused = "(node) => node === document.activeElement"
    described = "(node) => node.ariaDescribedByElements[0].innerText"
    for root, made in by_hand(one.page):
        fields = act(root, "number")
        fields.first.focus()
        for number in right(made):
            keyboard.type(str(number).replace(".", ",").replace("-", "−"))
            keyboard.press("Tab")
        assert act(root, "check").evaluate(focused)
        keyboard.press("Enter")
        assert live(root).startswith("Right: ")
        typed = [field.input_value() for field in fields.all()]
        labels = sum(made.page()["fields"], [])
        for strange in ("", "cat", "😀\u202e\u0000<b>1</b>", "1" * 10_000):
            fields.last.fill(strange)
            assert root.get_attribute("data-state") == "old"
            assert live(root) + problem(root)  # it stays until the next check
            keyboard.press("Enter")
            assert live(root) == "" and fields.last.evaluate(focused)
            assert fields.last.get_attribute("aria-invalid") == "true"
            said = problem(root)
            assert fields.last.evaluate(described) == said
            open_ = made.page()["says"]["open" if len(labels) > 1 else "empty"]
            assert said == open_ if not strange else labels[-1] in said
            rest = [field.input_value() for field in fields.all()]
            assert rest[:-1] == typed[:-1]
        fields.last.fill(typed[-1])
        keyboard.press("Enter")
        assert problem(root) == ""
        assert live(root).startswith("Right: ")


@pytest.mark.nightly
def test_by_hand_remembers_in_this_browser_alone(visit, site):
    one = visit(pages_with(site, "by-hand")[0])
    (root, made), *_ = by_hand(one.page)
    type_in(root, right(made))
    act(root, "check").click()
    said = live(root)
    one.page.reload()
    one.settle()
    root = by_hand(one.page)[0][0]
    assert live(root) == said
    assert act(root, "number").first.input_value() == repr(right(made)[0])
    kept = one.page.evaluate("Object.keys(localStorage)")
    assert f"lookback:by-hand:{made.name}" in kept
    assert one.page.evaluate("document.cookie") == ""
    for rubbish in ('{"typed": 7}', '{"typed": ["x"]}', "{", "[[[]]]"):
        one.page.evaluate(
            "([key, text]) => localStorage.setItem(key, text)",
            [f"lookback:by-hand:{made.name}", rubbish],
        )
        one.page.reload()
        one.settle()
        root = by_hand(one.page)[0][0]
        assert live(root) == ""
        type_in(root, right(made))
        act(root, "check").click()
        assert live(root) == said
    assert one.troubles == []


@pytest.mark.nightly
def test_every_exercise_by_hand_has_its_fields_and_no_stub(at_start, site):
    names = []
    for name in pages_with(site, "by-hand"):
        page = at_start(name).page
        for _, made in by_hand(page):
            names.append(made.name)
            assert f"check.{made.name}" not in page.inner_text("main")
    every = (*BY_HAND, *refresher.ON_THE_PAGE)
    assert sorted(names) == sorted(made.name for made in every)


# Every one of these on every page that holds the kind, each from the start.
STEPPED = {
    "alignment-stepper": [
        alignment_by_mouse,
        alignment_changes_its_sentence,
        alignment_by_keyboard,
    ],
    "softmax-stepper": [softmax_by_mouse, softmax_by_keyboard],
    "squeeze": [squeeze_by_mouse, squeeze_by_keyboard],
    "quiz": [quiz_by_mouse, quiz_by_keyboard],
    "by-hand": [by_hand_by_mouse, by_hand_by_keyboard],
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", PAGES)
def test_widgets_of_many_pages(at_start, site, name):
    for kind in sorted(kinds(site, name) & STEPPED.keys()):
        for step in STEPPED[kind]:
            one = at_start(name)
            step(one)
            assert one.troubles == [], step.__name__


@pytest.mark.parametrize("kind", STEPPED)
def test_widget_of_many_pages_by_keyboard(at_start, site, kind):
    one = at_start(pages_with(site, kind)[0])
    STEPPED[kind][-1](one)
    assert one.troubles == []
