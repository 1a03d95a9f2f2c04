"""The BertViz frame that a cell returns: shapes, safety, addresses."""

from html import unescape

import numpy as np
import pytest

from lookback.widgets.bertviz_view import cross_attention_view

WEIGHTS = np.array([[[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]])
SOURCE, TARGET = ["black", "cat"], ["chat", "noir", "."]
HOSTS = "cdnjs.cloudflare.com"


def page(**changes) -> str:
    """The frame's document."""
    html = cross_attention_view(
        changes.get("weights", WEIGHTS),
        changes.get("source", SOURCE),
        changes.get("target", TARGET),
    ).data
    return unescape(html.split('srcdoc="', 1)[1].rsplit('"', 1)[0])


def test_in_a_notebook_the_stock_addresses_stay(monkeypatch):
    monkeypatch.delenv("LOOKBACK_VENDOR", raising=False)
    assert page().count(HOSTS) == 3


def test_in_the_book_all_three_come_from_its_folder(monkeypatch):
    monkeypatch.setenv("LOOKBACK_VENDOR", "../vendor")
    text = page()
    assert HOSTS not in text
    assert 'src="../vendor/require.js"' in text
    assert "'../vendor/d3.min'" in text
    assert "'../vendor/jquery.min'" in text


@pytest.mark.parametrize(
    "token", ["</script><script>x()", "<!--", "<unk>", "&lt;", '"', "l’été"]
)
def test_no_token_escapes_its_script(token):
    text = page(source=[token, "cat"])
    body = text.split("const params = ", 1)[1].split("};", 1)[0]
    assert "<" not in body
    assert text.count("</script>") == 2


def test_weights_reach_the_page_as_they_are():
    assert "[[[[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]]]" in page()


def test_the_same_call_gives_the_same_frame():
    assert page() == page()


@pytest.mark.parametrize(
    "weights", [WEIGHTS[0], WEIGHTS.transpose(0, 2, 1), WEIGHTS[:, :2]]
)
def test_weights_of_another_shape_are_refused(weights):
    with pytest.raises(ValueError, match=r"\[heads, target, source\]"):
        page(weights=weights)


def test_the_frame_names_itself_and_its_height_fits():
    html = cross_attention_view(WEIGHTS, SOURCE, TARGET, title='a "b"').data
    assert 'title="a &quot;b&quot;"' in html
    tall = cross_attention_view(
        np.ones((1, 30, 2)) / 2, SOURCE, ["mot"] * 30
    ).data
    height = int(tall.split('height="', 1)[1].split('"', 1)[0])
    assert height >= 30 * 22.5 + 30
