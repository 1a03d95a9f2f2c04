"""BertViz's view of the book's Transformer, in a frame of its own.

BertViz (Vig 2019, arXiv 1906.05714) loads require.js, d3 and jQuery from a
public host, which leaves it blank behind a firewall. In the built book the
three come from the book's own folder: the build names it in the environment
variable `LOOKBACK_VENDOR`. In a notebook the variable is not set, and
BertViz's own addresses stay; the frame says so where they do not answer.

Departures: the frame is labeled for screen readers, no token can end the script
it stands in, the weights are rounded to four decimals, and what runs in the
frame reaches neither the page around it nor the reader's storage.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from html import escape, unescape
from typing import NamedTuple

import numpy as np
import torch
from IPython.display import HTML

from lookback.heads import attention_weights
from lookback.lab.corpus import Pair, collate
from lookback.transformer import Transformer
from lookback.vocabulary import Vocabulary

# BertViz's address of each library -> the file's name in the vendor folder.
LIBRARIES = {
    r"https://[^'\"]*/require\.js/[^'\"]*/require\.min\.js": "require.js",
    r"https://[^'\"]*/d3/[^'\"]*/d3\.min": "d3.min",
    r"https://[^'\"]*/jquery/[^'\"]*/jquery\.min": "jquery.min",
}
# What the frame says where BertViz, an extra of the package, is not installed.
NOT_INSTALLED = """<p>BertViz draws this picture, and it is not installed. Run
<code>%pip install --no-deps bertviz==1.4.1</code> in a cell, then this one
again.</p>
"""
# Stands for "<" until BertViz has written the tokens as JSON.
LESS_THAN = "\ue03c"
ROW_HEIGHT, HEAD_HEIGHT, CHOICE_HEIGHT = 22.5, 62, 52

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ margin: 0; padding: 8px; background: #fff; color: #1c2430; }}
#vis {{ min-width: 345px; }}
select {{ min-height: 44px; min-width: 44px; font: inherit; }}
#missing {{ font: 1rem/1.5 sans-serif; }}
#missing:not([hidden]) ~ * {{ display: none; }}
</style><script>
addEventListener("error", ({{ target }}) => {{
  if (target.src) document.getElementById("missing").hidden = false;
}}, true);
</script></head><body>
<noscript>BertViz draws this picture with JavaScript.</noscript>
<p id="missing" role="alert" hidden>BertViz draws this picture with three
scripts from the network (require.js, d3 and jQuery), and one of them did not
come. Go online, then run the cell again.</p>
{body}
</body></html>"""


class Looks(NamedTuple):
    """Where every head of a Transformer looks in one pair of sentences.

    Weights are [layers, heads, queries, keys]. `target` is what the decoder
    reads, so it begins with <start>; at each of its words the decoder looks
    in order to write the next one.
    """

    source: list[str]
    target: list[str]
    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray


@torch.no_grad()
def looks(
    model: Transformer,
    pair: Pair,
    source: Vocabulary,
    target: Vocabulary,
) -> Looks:
    """The weights of all heads while the model is made to write the target."""
    batch = collate([pair], source, target).to(model.device)
    with attention_weights(model.encoder) as encoder:
        memory = model.encode(batch.source)
    with attention_weights(model.decoder) as decoder:
        model.decode(batch.target_in, memory)
    layers = encoder, decoder[0::2], decoder[1::2]
    return Looks(
        [*pair.source, "<end>"],
        ["<start>", *map(unescape, pair.target)],
        *(torch.cat(e).double().cpu().numpy().round(4) for e in layers),
    )


def heads_view(
    seen: Looks, title: str = "BertViz: the heads of one layer, as lines"
) -> HTML:
    """BertViz's head view of all three kinds of attention, as one frame."""
    rows = max(len(seen.source), len(seen.target))
    height = int(rows * ROW_HEIGHT + HEAD_HEIGHT + CHOICE_HEIGHT)
    return framed(view(seen), title, height)


def view(seen: Looks) -> str:
    """What BertViz's head view returns for a Transformer's attention."""
    try:
        from bertviz import head_view
    except ImportError:
        return NOT_INSTALLED
    page = head_view(
        encoder_attention=layered(seen.encoder),
        decoder_attention=layered(seen.decoder),
        cross_attention=layered(seen.cross),
        encoder_tokens=safe(seen.source),
        decoder_tokens=safe(seen.target),
        prettify_tokens=False,
        html_action="return",
    ).data
    return steady(page)


def layered(weights: np.ndarray) -> list[torch.Tensor]:
    """One [1, heads, queries, keys] for each layer, as BertViz wants them."""
    return [torch.from_numpy(layer)[None] for layer in weights]


def framed(body: str, title: str, height: int) -> HTML:
    """The view in a frame, with the book's copies of its libraries."""
    vendor = os.environ.get("LOOKBACK_VENDOR")
    if vendor:
        body = serve_from(body, vendor)
    page = PAGE.format(title=escape(title), body=body)
    return HTML(
        '<div class="lookback-bertviz">'
        f'<iframe title="{escape(title)}" loading="lazy" height="{height}" '
        'sandbox="allow-scripts" '
        'style="width: 100%; border: 0; color-scheme: light" '
        f'srcdoc="{escape(page)}"></iframe></div>'
    )


def safe(tokens: Sequence[str]) -> list[str]:
    """Tokens that cannot end the script they will stand in."""
    return [token.replace("<", LESS_THAN) for token in tokens]


def steady(page: str) -> str:
    """BertViz's page with a constant id, not a random one, and with labels."""
    page = page.replace(r"\ue03c", r"\u003c").replace(LESS_THAN, r"\u003c")
    page = re.sub(r"bertviz-[0-9a-f]{32}", "bertviz-view", page)
    for name in ("layer", "filter"):
        label = f'id="{name}" aria-label="{name.capitalize()}"'
        page = page.replace(f'id="{name}"', label)
    return page.replace('label="Filter"', 'label="Attention"')


def serve_from(page: str, folder: str) -> str:
    """Point BertViz's three libraries at this folder's copies."""
    for address, name in LIBRARIES.items():
        page, found = re.subn(address, f"{folder}/{name}", page)
        if not found:
            raise ValueError(f"BertViz no longer asks for {name}")
    return page
