"""The BertViz frame that a cell returns: shapes, safety, addresses."""

import sys
from html import unescape

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from lookback.heads import attention_weights
from lookback.lab.corpus import Pair
from lookback.transformer import Transformer, TransformerConfig
from lookback.vocabulary import END, Vocabulary
from lookback.widgets.bertviz_view import (
    Looks,
    heads_view,
    looks,
)

HOSTS = "cdnjs.cloudflare.com"


def seen_by(token: str = "<end>") -> Looks:
    """Two layers, three heads, three source and two target words."""
    draw = np.random.default_rng(0)

    def weights(queries: int, keys: int) -> np.ndarray:
        rows = draw.random((2, 3, queries, keys))
        return (rows / rows.sum(-1, keepdims=True)).round(4)

    return Looks(
        ["black", "cat", token],
        ["<start>", "chat"],
        weights(3, 3),
        weights(2, 2),
        weights(2, 3),
    )


def page(token: str = "<end>") -> str:
    """The frame's document."""
    html = heads_view(seen_by(token)).data
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


def test_without_bertviz_the_frame_says_so(monkeypatch):
    monkeypatch.delenv("LOOKBACK_VENDOR", raising=False)
    monkeypatch.setitem(sys.modules, "bertviz", None)
    assert "it is not installed" in page()
    monkeypatch.setenv("LOOKBACK_VENDOR", "../vendor")  # the book wants it
    with pytest.raises(ValueError, match="no longer asks"):
        page()


@pytest.mark.parametrize(
    "token", ["</script><script>x()", "<!--", "<unk>", "&lt;", '"', "l’été"]
)
def test_no_token_escapes_its_script(token):
    text = page(token)
    body = text.split("const params = ", 1)[1].split("};", 1)[0]
    assert "<" not in body
    assert text.count("</script>") == 3


def test_the_same_call_gives_the_same_frame():
    assert page() == page()


def test_the_frame_names_itself_and_its_height_fits():
    html = heads_view(seen_by(), title='a "b"').data
    assert 'title="a &quot;b&quot;"' in html
    many, weights = ["mot"] * 30, np.ones((1, 1, 30, 30)) / 30
    tall = heads_view(Looks(many, many, *[weights] * 3)).data
    height = int(tall.split('height="', 1)[1].split('"', 1)[0])
    assert height >= 30 * 22.5 + 30


@pytest.mark.parametrize("there", [False, True], ids=["none", "require.js"])
def test_without_its_scripts_the_frame_says_so(
    browser, root, monkeypatch, there
):
    monkeypatch.delenv("LOOKBACK_VENDOR", raising=False)

    def answer(route):
        if there and "require.js" in route.request.url:
            route.fulfill(path=root / "node_modules/requirejs/require.js")
        else:
            route.abort()

    tab = browser.new_page()
    tab.route("https://**", answer)
    tab.set_content(heads_view(seen_by()).data)
    frame = tab.frame_locator("iframe")
    expect(frame.get_by_role("alert")).to_contain_text("from the network")
    expect(frame.locator("#bertviz-view")).to_be_hidden()
    tab.close()


def test_a_transformer_shows_all_its_attention(monkeypatch):
    monkeypatch.setenv("LOOKBACK_VENDOR", "../vendor")
    text = page()
    for number, name in enumerate(("Encoder", "Decoder", "Cross")):
        assert f'<option value="{number}">{name}</option>' in text
    assert 'aria-label="Attention"' in text
    row = seen_by().cross[1, 2, 0].tolist()
    assert str(row) in text  # four decimals, no more


def test_a_transformer_s_looks_are_its_own():
    torch.manual_seed(0)
    model = Transformer(
        TransformerConfig(6, 7, d_model=8, heads=2, layers=2, d_ff=8)
    ).eval()
    english, french = Vocabulary(["black", "cat"]), Vocabulary(["le", "&apos;"])
    seen = looks(model, Pair(["cat"], ["le", "&apos;"]), english, french)
    assert seen.source == ["cat", "<end>"]
    assert seen.target == ["<start>", "le", "'"]
    shapes = [each.shape for each in seen[2:]]
    assert shapes == [(2, 2, 2, 2), (2, 2, 3, 3), (2, 2, 3, 2)]
    for each in seen[2:]:
        assert np.allclose(each.sum(-1), 1, atol=1e-3)
    assert not seen.decoder[:, :, 0, 1:].any()  # no look into the future
    with attention_weights(model.encoder) as truth:
        model.encode(torch.tensor([[5, END]]))
    assert np.allclose(seen.encoder[1], truth[1][0].detach(), atol=1e-4)
