"""A figure taken along: its link brings its state back, its picture opens."""

import base64
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from contents import by_day
from stepping import act, live, pages_with
from test_site_widgets import KINDS
from watching import Visit

SVG = "{http://www.w3.org/2000/svg}"
# What stands in a figure: its numbers, its words, and what its controls hold,
# but for what is chosen there and not yet done: a pair to store, a guess.
SHOWN = """(root) => [
  [...root.querySelectorAll("[data-role][data-value]")].map(
    (one) => one.dataset.value),
  [...root.querySelectorAll("input, select:not([data-action=letter]," +
    " [data-action=number])")].map(
    (one) => [one.dataset.action, one.type, one.value, one.checked]),
  [...root.querySelectorAll("[aria-pressed]:not([data-action=table])")].map(
    (one) => one.getAttribute("aria-pressed")),
]"""
DRAG = (
    "(one) => { one.value = one.max; one.dispatchEvent(new Event('input')); }"
)
ALERT = "p[role=alert]:not(.lookback-widget p)"


def figure(page: Page, kind: str) -> Locator:
    """The first figure of a kind."""
    return page.locator(f'.lookback-widget[data-widget="{kind}"]').first


def bar(root: Locator) -> Locator:
    """What stands below it."""
    return root.locator("xpath=../following-sibling::*[1]")


def change(root: Locator) -> None:
    """Everything that a reader may do to a figure, once."""
    for select in root.locator("select:visible").all():
        if not select.evaluate("(one) => one.disabled"):
            chosen = select.evaluate("(one) => one.selectedIndex")
            more = chosen == 1 and select.locator("option").count() > 2
            select.select_option(index=2 if more else 1)
    for slider in root.locator("input[type=range]:visible").all():
        slider.evaluate(DRAG)
    boxes = root.locator("input[type=checkbox]:visible, .by-1:visible")
    for box in boxes.all()[:1]:
        box.click()
    names = ("put", "pen", "finger", "long", "again", "reverse", "rung", "head")
    for name in (*names, "open", "stage", "next", "next"):
        buttons = root.locator(
            f'[data-action="{name}"]:visible:not([aria-disabled="true"])'
        )
        if buttons.count():
            buttons.last.click()
        settled(root)


def settled(root: Locator) -> None:
    """Once what it asked a worker has come."""
    expect(root).not_to_have_attribute("aria-busy", "true")


# Whose answers are the reader's own, and in no link.
OWN = {"quiz", "by-hand", "placement"}
# What a link does not bring, but the settings from which it is had again.
AGAIN = {"learning": "again", "translate": "translate"}
# Whose machine sleeps until it is asked, and says what it found.
ASLEEP = {"which-word": "begin"}


def wake(root: Locator, kind: str) -> None:
    """Ask a figure's machine for the first time, and wait for its answer."""
    if kind in ASLEEP:
        act(root, ASLEEP[kind]).click()
        spoken(root, "")


def spoken(root: Locator, before: str) -> None:
    """Once it says something else than before."""
    root.page.wait_for_function(
        """([root, before]) =>
          root.querySelector("[data-role=live]").innerText !== before""",
        arg=[root.element_handle(), before],
    )
    settled(root)


def link(one: Visit, root: Locator) -> str:
    """The link that a reader copies."""
    origin = re.match(r"\w+://[^/]+", one.page.url)[0]
    allowed = ["clipboard-read", "clipboard-write"]
    one.page.context.grant_permissions(allowed, origin=origin)
    bar(root).locator('[data-action="link"]').click()
    one.page.wait_for_function(
        "(bar) => bar.textContent.includes('Copied')",
        arg=bar(root).element_handle(),
    )
    return one.page.evaluate("navigator.clipboard.readText()")


def saved(root: Locator, kind: str) -> bytes:
    """The file that a reader saves."""
    with root.page.expect_download() as coming:
        bar(root).locator(f'[data-action="{kind}"]').click()
    assert coming.value.suggested_filename.endswith(f"-1.{kind}")
    return Path(coming.value.path()).read_bytes()


def words(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", by_day(KINDS, "alignment-stepper"))
def test_a_figure_can_be_taken_along(visit, site, kind):
    name = pages_with(site, kind)[0]
    one = visit(name)
    root = figure(one.page, kind)
    at_first = link(one, root)
    assert at_first.endswith(f"#look-{kind}-1")
    wake(root, kind)
    before = live(root)
    if kind not in OWN:
        change(root)
    if kind in ASLEEP:
        spoken(root, before)
    if kind in AGAIN:
        act(root, AGAIN[kind]).click()
        settled(root)
    address = link(one, root)
    assert (address == at_first) == (kind in OWN)
    said, shown = live(root), root.evaluate(SHOWN)

    picture = ElementTree.fromstring(saved(root, "svg"))
    assert picture.tag == f"{SVG}svg"
    assert not picture.findall(f".//{SVG}foreignObject")
    drawn = words("".join(each.text for each in picture.iter(f"{SVG}text")))
    assert words(said) in drawn
    assert words("Looking Back: How Attention Was Invented") in drawn
    width, height = (float(picture.get(side)) for side in ("width", "height"))
    dots = Image.open(io.BytesIO(saved(root, "png")))
    assert abs(dots.width - 2 * width) <= 2
    assert abs(dots.height - 2 * height) <= 2
    colours = dots.convert("RGB").getcolors(maxcolors=1 << 24)
    assert (
        len(colours) > 20 and max(colours)[0] < 0.98 * dots.width * dots.height
    )

    assert root.evaluate(SHOWN) == shown  # a picture changes nothing
    one.page.wait_for_load_state("networkidle")
    one.page.goto("about:blank")
    one.open(address)
    one.page.wait_for_selector(f'.lookback-widget[data-widget="{kind}"]')
    again = figure(one.page, kind)
    wake(again, kind)
    if kind in AGAIN:
        act(again, AGAIN[kind]).click()
        settled(again)
    one.page.wait_for_function(
        """([root, said]) =>
          root.querySelector("[data-role=live]").innerText === said""",
        arg=[again.element_handle(), said],
    )
    assert again.evaluate(SHOWN) == shown
    assert one.page.locator(ALERT).count() == 0
    assert one.troubles == []


def coded(state: object) -> str:
    """A state as links have it."""
    text = json.dumps(state).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def follow(visit: Callable[..., Visit], place: str) -> Visit:
    """Open the landing page by a link to a figure."""
    return visit("book/index", asleep=True, place=f"#look-{place}")


STEP = {"step": 5}
WRONG = [
    "!",
    "A",
    coded("step"),
    coded([1, 2]),
    coded(None),
    coded({"step": 1e9}),
    coded({"step": -1}),
    coded({"step": 1.5}),
    coded({"step": "2"}),
    coded({"step": None}),
    coded({"step": [2]}),
    coded({"example": 99}),
    coded({"examples": []}),
    coded({"_esm": "export default {}"}),
    coded({"_css": "body { display: none }"}),
    coded({"__proto__": {"step": 1}}),
    coded({"constructor": 1}),
    coded({"step": 2, "more": "<img src=x onerror='window.bad = 1'>"}),
    coded({"step": 2, "more": "x" * 5000}),
    base64.urlsafe_b64encode(b'{"step": \xff}').decode().rstrip("="),
    base64.urlsafe_b64encode(b"[" * 2900).decode().rstrip("="),
]


@pytest.mark.parametrize("code", by_day(WRONG, WRONG[5]), ids=range(len(WRONG)))
def test_a_damaged_link_leaves_the_page_s_own_state(visit, code):
    one = follow(visit, f"alignment-stepper-1-{code}")
    alert = one.page.locator(ALERT)
    alert.wait_for()
    text = alert.inner_text()
    if code == "!":
        assert "leads to no figure" in text
    else:
        assert "does not fit this figure" in text
    one.page.wait_for_function(
        "(note) => note.getBoundingClientRect().top >= 0",
        arg=alert.element_handle(),
    )
    root = figure(one.page, "alignment-stepper")
    root.wait_for()
    assert "Target word 3, “noir”" in live(root)
    assert one.page.evaluate("window.bad") is None
    assert one.troubles == []


@pytest.mark.parametrize(
    "place",
    by_day(
        ["quiz-99", "none-1", "lattice", "-1", "alignment-stepper-0"],
        "quiz-99",
    ),
)
def test_a_link_to_no_figure_says_so(visit, place):
    one = follow(visit, place)
    alert = one.page.locator(ALERT)
    alert.wait_for()
    assert "leads to no figure of this page" in alert.inner_text()
    assert one.troubles == []


@pytest.mark.nightly
def test_a_link_followed_on_its_own_page(visit, site):
    """To another state, to a wrong one, and back to the page's own."""
    one = visit("book/index")
    root = figure(one.page, "alignment-stepper")
    own, told = live(root), root.locator('[data-role="live"]')
    sixth = re.compile("Target word 6")
    go = "(to) => { location.hash = to; }"
    for state, alerts in ((STEP, 0), ({"step": 99}, 1), ({}, 0), (STEP, 0)):
        place = f"look-alignment-stepper-1-{coded(state)}"
        one.page.evaluate(go, place)
        expect(one.page.locator(ALERT)).to_have_count(alerts)
        expect(told).to_have_text(sixth if state == STEP else own)
    assert one.troubles == []


@pytest.mark.nightly
def test_where_nothing_may_be_copied_the_link_is_shown(visit):
    """And the link of a page from disk works there."""
    one = visit("book/index", from_disk=True)
    root = figure(one.page, "alignment-stepper")
    act(root, "next").click()
    one.page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(); }"
    )
    bar(root).locator('[data-action="link"]').click()
    field = bar(root).locator("input")
    address = field.input_value()
    assert address.startswith("file:") and field.evaluate(
        "(one) => one.selectionEnd === one.value.length"
    )
    said = live(root)
    assert saved(root, "svg") and saved(root, "png")
    one.page.wait_for_load_state("networkidle")
    one.page.goto("about:blank")
    one.open(address)
    one.settle()
    assert live(figure(one.page, "alignment-stepper")) == said
    assert one.troubles == []


@pytest.mark.nightly
def test_a_picture_is_light_in_the_dark(visit):
    one = visit("book/index", dark=True)
    root = figure(one.page, "alignment-stepper")
    dots = Image.open(io.BytesIO(saved(root, "png"))).convert("L")
    counts = dots.histogram()
    assert sum(counts[200:]) > 0.6 * sum(counts)
    assert one.troubles == []
