"""BertViz's frame: alive, and from the book's own libraries."""

import pytest

from contents import PAGES


def framed(visit, **kind):
    """Each page with a BertViz frame, scrolled down so that it loads."""
    for name in PAGES:
        one = visit(name, **kind)
        if one.page.locator(".lookback-bertviz").count():
            one.walk_down()
            yield one


def test_book_holds_bertviz(visit):
    assert list(framed(visit))


@pytest.mark.parametrize("from_disk", [False, True], ids=["served", "disk"])
def test_frame_draws_a_line_for_every_pair(visit, from_disk):
    for one in framed(visit, from_disk=from_disk):
        frame = one.page.frame_locator(".lookback-bertviz iframe").first
        frame.locator("#left text").first.wait_for()
        left = frame.locator("#left text").count()
        right = frame.locator("#right text").count()
        heads = frame.locator("#attention .headAttention").count()
        lines = frame.locator("#attention line").count()
        assert lines == heads * left * right > 0
        assert one.troubles == []
        names = {url.rsplit("/", 1)[-1] for url in one.loaded}
        assert {"require.js", "d3.min.js", "jquery.min.js"} <= names


def test_pointing_at_a_word_shows_its_lines_alone(visit):
    one = next(framed(visit))
    frame = one.page.frame_locator(".lookback-bertviz iframe").first
    words = frame.locator("#left text")
    words.first.wait_for()
    words.nth(1).hover()
    shown = frame.locator('#attention line[visibility="visible"]')
    assert shown.count() == frame.locator("#right text").count()
    lit = {
        shown.nth(i).get_attribute("left-token-index")
        for i in range(shown.count())
    }
    assert lit == {"1"}


def test_frame_has_a_title_and_shows_all_of_it(visit):
    for one in framed(visit):
        box = one.page.locator(".lookback-bertviz iframe").first
        assert "BertViz" in box.get_attribute("title")
        inner = one.page.frame_locator(".lookback-bertviz iframe").first
        inner.locator("#left text").first.wait_for()
        tall = inner.locator("html").evaluate("(html) => html.scrollHeight")
        assert tall <= int(box.get_attribute("height")) + 1
