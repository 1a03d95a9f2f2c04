"""BertViz's frame: alive, and from the book's own libraries."""

import pytest

from contents import PAGES

pytestmark = pytest.mark.nightly

LOADED = """() => performance.getEntriesByType("resource")
  .map(({ name }) => name)"""


@pytest.fixture
def framed(visit, site):
    """Open each page with a BertViz frame, and scroll so that it loads."""

    def opened(**kind):
        for name in PAGES:
            text = (site / f"{name}.html").read_text(encoding="utf-8")
            if 'class="lookback-bertviz"' in text:
                one = visit(name, **kind)
                one.walk_down()
                yield one

    return opened


@pytest.mark.parametrize("from_disk", [False, True], ids=["served", "disk"])
def test_frame_draws_a_line_for_every_pair(framed, from_disk):
    """And each frame of the page has a title, and shows all of itself."""
    pages = 0
    for one in framed(from_disk=from_disk):
        pages += 1
        frame = one.page.frame_locator(".lookback-bertviz iframe").first
        frame.locator("#left text").first.wait_for()
        left = frame.locator("#left text").count()
        right = frame.locator("#right text").count()
        heads = frame.locator("#attention .headAttention").count()
        lines = frame.locator("#attention line").count()
        assert lines == heads * left * right > 0
        assert one.troubles == []
        # The frame may be a process of its own, whose first request nobody saw.
        urls = {*one.loaded, *frame.locator("html").evaluate(LOADED)}
        names = {url.rsplit("/", 1)[-1] for url in urls}
        assert {"require.js", "d3.min.js", "jquery.min.js"} <= names
        boxes = one.page.locator(".lookback-bertviz iframe")
        for number in range(boxes.count()):
            box = boxes.nth(number)
            assert "BertViz" in box.get_attribute("title")
            box.scroll_into_view_if_needed()
            inner = box.content_frame
            inner.locator("svg text").first.wait_for()
            html = inner.locator("html")
            tall = html.evaluate("(html) => html.scrollHeight")
            assert tall <= int(box.get_attribute("height")) + 1
    assert pages


def test_pointing_at_a_word_shows_its_lines_alone(framed):
    one = next(framed())
    frame = one.page.frame_locator(".lookback-bertviz iframe").first
    words = frame.locator("#left text")
    words.first.wait_for()
    words.nth(1).hover()
    shown = frame.locator('#attention line[visibility="visible"]')
    heads = frame.locator("#attention .headAttention").count()
    assert shown.count() == heads * frame.locator("#right text").count()
    lit = {
        shown.nth(i).get_attribute("left-token-index")
        for i in range(shown.count())
    }
    assert lit == {"1"}
