"""What a page loads when it is opened, and what sleeps until it is near."""

import json

import pytest
from playwright.sync_api import expect

from contents import PAGES, SERVED_OR_NOT
from heights import HEIGHTS
from lookback.experiments import page_speed
from test_pages import MOST

# The sections far below the screen that begin with a sleeping figure.
SECTIONS = """() => {
  const top = (one) => one.getBoundingClientRect().top;
  return [...document.querySelectorAll(".widget-picture")]
    .map((one) => [top(one), one.closest("section[id]")])
    .filter(([at, section]) =>
      at > 3 * innerHeight && at - top(section) < innerHeight)
    .map(([_, section]) => section.id);
}"""
NEAR = """(id) => {
  const near = (one) => one.getBoundingClientRect().top < 2 * innerHeight;
  const widgets = `[id="${id}"] .lookback-widget`;
  return [...document.querySelectorAll(widgets)].some(near);
}"""
SHOWN = """() => [...document.querySelectorAll(".widget-picture img")]
  .every((one) => one.complete && one.naturalWidth > 0)"""
HELD = """() => document.activeElement.closest(".lookback-widget") !== null"""


@pytest.mark.nightly
def test_a_link_inside_the_page_wakes_what_it_leads_to(visit):
    one = visit("book/heads", asleep=True)
    ids = one.page.evaluate(SECTIONS)
    assert ids
    before = set(one.loaded)
    one.page.evaluate("(id) => { location.hash = id; }", ids[-1])
    one.page.wait_for_function(NEAR, arg=ids[-1])
    assert set(one.loaded) > before
    assert one.troubles == []


@pytest.mark.parametrize("from_disk", SERVED_OR_NOT)
def test_the_keyboard_finds_a_sleeping_figure(visit, from_disk):
    """Its picture can be reached; then its first control has the focus."""
    one = visit("book/transducer", asleep=True, from_disk=from_disk)
    picture = one.page.locator(".widget-picture").first
    assert picture.get_attribute("tabindex") == "0"
    picture.evaluate("(one) => one.focus({ preventScroll: true })")
    one.page.wait_for_function(HELD)
    first = one.page.locator(".lookback-widget").first
    expect(first.locator(":focus")).to_be_visible()
    assert one.troubles == []


@pytest.mark.nightly
def test_a_sleeping_figure_prints_its_picture(visit):
    one = visit("book/heads", asleep=True)
    page = one.page
    asleep = page.locator(".widget-picture img")
    assert asleep.count() > 1
    page.emulate_media(media="print")
    page.pdf()  # asks for them; Chromium 150 does not wait until they have come
    page.wait_for_function(SHOWN)
    assert asleep.count() > 1  # those near the screen may have woken


@pytest.mark.nightly
def test_bertviz_sleeps_until_it_is_reached(visit):
    one = visit("book/heads", asleep=True)
    one.rest()
    frame = one.page.locator(".lookback-bertviz iframe").first
    inner = one.page.frame_locator(".lookback-bertviz iframe").first
    assert frame.get_attribute("srcdoc") is None
    assert inner.locator("svg").count() == 0
    assert not [url for url in one.loaded if "/vendor/" in url]
    one.settle()
    one.walk_down()
    frame.scroll_into_view_if_needed()
    inner.locator("#attention line").first.wait_for(state="attached")
    assert one.troubles == []


def test_nothing_waits_for_nobody(site):
    """Every file that waits is one that a page asks for, and the other way."""
    pages = [(site / f"{name}.html").read_text("utf-8") for name in PAGES]
    files = list((site / "_static" / "waiting").iterdir())
    assert files
    for path in files:
        assert any(path.stem in page for page in pages), path.name


@pytest.mark.nightly
def test_what_a_reader_waits_for_is_measured(browser, site, monkeypatch):
    """Its experiment, on a line and a machine at full speed."""
    for name, value in {"SLOWER": 1, "LINE": 10**9, "DELAY": 0}.items():
        monkeypatch.setattr(page_speed, name, value)
    with page_speed.served(site) as address:
        one = page_speed.visit(browser, f"{address}/book/transducer.html")
    assert MOST / 10 < 1000 * one["kilobytes"] <= MOST
    assert 0 < one["first_paint"] < 60_000
    assert 0 < one["figure"] < 60_000
    assert 0 < one["answer"] < 60_000
    assert len(page_speed.chapters(site)) == len(
        json.loads(HEIGHTS.read_text())
    )
