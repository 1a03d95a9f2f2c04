"""The opened Transformer in the built page: walked, bet on, patched, by key.

What it should say comes from torch, on the same bytes.
"""

import pytest
from playwright.sync_api import Locator, expect

from lookback import opened
from lookback.widgets.opened import LIMITS, Opened
from stepping import act, live, problem, widgets

PAGE = "book/opened"
KIND = "opened"
BITES = "A dog bites a man."


def settled(root: Locator) -> Locator:
    expect(root).not_to_have_attribute("aria-busy", "true")
    expect(root).not_to_have_class("stale")
    return root


def french(root: Locator) -> str:
    text = settled(root).locator('[data-role="french"]').inner_text()
    return " ".join(text.split()).removesuffix(" <end>").replace("· ", "")


@pytest.fixture
def asleep(at_start) -> Locator:
    """As the page opens."""
    one = at_start(PAGE)
    ((root, _),) = widgets(one.page, KIND)
    return root


@pytest.fixture
def awake(asleep) -> Locator:
    """With another sentence, so that the machine was fetched."""
    act(asleep, "text").fill(BITES)
    act(asleep, "text").press("Enter")
    expect(asleep.locator('[data-role="french"]')).to_contain_text("mor·")
    return settled(asleep)


def test_before_it_is_woken_the_examples_are_answered(asleep):
    assert french(asleep) == "un chat noir dort sur une chaise rouge ."
    assert asleep.locator(".ribbons path").count() > 0
    act(asleep, "mode-lens").click()
    assert asleep.locator(".lens-table tbody tr").count() == 10
    act(asleep, "example").select_option(BITES)
    assert french(asleep) == "un chien mord un homme ."


COLORS = """(canvas) => {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""


@pytest.mark.parametrize("still", [False, True])
def test_every_number_has_a_color_with_motion_and_without(visit, still):
    one = visit(PAGE, still=still)
    ((root, _),) = widgets(one.page, KIND)
    canvases = settled(root).locator("canvas").all()
    plain = [each for each in canvases if each.evaluate(COLORS) < 3]
    assert len(canvases) > 40 and len(plain) <= 1  # the logits wait


def test_a_bet_comes_before_the_answer(awake):
    act(awake, "mode-switches").click()
    awake.locator('[data-name="no positions"]').click()
    assert french(awake) == "un chien mord un homme ."
    assert awake.locator('[data-role="switched"]').count() == 0
    act(awake, "bet").nth(0).click()
    told = awake.locator('[data-role="switched"]')
    expect(told).to_have_text("un homme mord un chien . ")
    expect(awake.locator('[data-role="verdict"]')).to_contain_text("It is")
    assert french(awake) == "un homme mord un chien ."
    act(awake, "all-on").click()
    assert french(awake) == "un chien mord un homme ."


@pytest.mark.nightly
@pytest.mark.parametrize("preset", opened.PRESETS)
def test_presets_write_what_torch_writes(awake, preset):
    widget = Opened()
    off = opened.preset(widget.model, preset)
    act(awake, "mode-switches").click()
    awake.locator(f'[data-name="{preset}"]').click()
    act(awake, "bet").nth(2).click()
    expect(awake.locator('[data-role="switched"]')).to_have_text(
        f"{widget.translation(BITES, tuple(off)) or '(nothing)'} "
    )


@pytest.mark.nightly
def test_it_is_walked_by_keys_alone(asleep):
    page = asleep.page
    act(asleep, "next").focus()
    before = live(asleep)
    page.keyboard.press("ArrowRight")
    assert live(asleep) != before
    page.keyboard.press("Home")
    assert "Encoder: embedding" in live(asleep)
    page.keyboard.press("End")
    assert "probabilities" in live(asleep)


@pytest.mark.nightly
def test_the_tour_is_finished_by_doing(asleep):
    act(asleep, "mode-tour").click()
    answer = asleep.locator(".panel.tour .answer")
    for stop in range(8):
        act(asleep, "take-me").click()
        settled(asleep)
        expect(answer).to_have_class("answer good")
        assert f"{stop + 1} of 8" in asleep.locator(".panel.tour").inner_text()
        act(asleep, "on").click()


@pytest.mark.nightly
def test_a_vector_is_carried_over(asleep):
    horse, cow = (
        f"A brown {one} is standing in a field." for one in ("horse", "cow")
    )
    act(asleep, "text").fill(horse)
    act(asleep, "text").press("Enter")
    expect(asleep.locator('[data-role="french"]')).to_contain_text("cheval")
    act(asleep, "mode-patch").click()
    act(asleep, "other").fill(cow)
    act(asleep, "other").press("Enter")
    asleep.locator('[data-station="encoder.3.feedforward.stream"]').focus()
    asleep.page.keyboard.press("Enter")
    act(asleep, "token").nth(2).click()
    act(asleep, "carry").click()
    patched = asleep.locator('[data-role="patched"]')
    expect(patched).to_contain_text("une vache brune est debout")


@pytest.mark.nightly
def test_what_cannot_be_read_is_named_and_the_picture_stays(awake):
    act(awake, "text").fill("ωω")
    act(awake, "text").press("Enter")
    expect(awake.locator('[data-role="problem"]')).to_contain_text("ωω")
    assert problem(awake)


def test_the_page_lists_the_examples(asleep):
    options = act(asleep, "example").locator("option").all_inner_texts()
    assert options[1:] == LIMITS["examples"]


@pytest.mark.nightly
def test_what_cannot_be_fetched_is_asked_for_once(visit):
    """A layer that has not come; else the page would ask for ever."""
    page, asked = visit(PAGE, kept=False).page, []
    ((asleep, _),) = widgets(page, KIND)

    def refuse(route):
        asked.append(route.request.url)
        route.abort()

    page.route("**/machines/*", refuse)
    act(asleep, "layer").nth(0).click()
    expect(asleep.locator('[data-role="problem"]')).to_contain_text("Try again")
    act(asleep, "next").click()
    page.wait_for_timeout(500)
    assert len(asked) == 1
    page.unroute("**/machines/*")
    act(asleep, "translate").click()
    expect(asleep.locator('[data-role="problem"]')).to_be_empty()
    expect(asleep.locator(".thumb.empty")).to_have_count(0)


@pytest.mark.nightly
def test_its_picture_has_what_is_painted(asleep):
    bar = asleep.locator("xpath=../following-sibling::*[1]")
    with asleep.page.expect_download() as saved:
        bar.locator('[data-action="svg"]').click()
    text = saved.value.path().read_text("utf-8")
    assert text.count("<image") > 30 and "data:image/png" in text
