"""BertViz's head view of one model's cross-attention, in a frame of its own.

BertViz (Vig 2019, arXiv 1906.05714) loads require.js, d3 and jQuery from a
public host, which leaves it blank behind a firewall. In the built book the
three come from the book's own folder: the build names it in the environment
variable `LOOKBACK_VENDOR`. In a notebook the variable is not set, and
BertViz's own addresses stay.

Departures: the frame is labelled for screen readers, the choice of a layer is
hidden where there is one layer, and no token can end the script it stands in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from html import escape

import numpy as np
import torch
from IPython.display import HTML

# BertViz's address of each library -> the file's name in the vendor folder.
LIBRARIES = {
    r"https://[^'\"]*/require\.js/[^'\"]*/require\.min\.js": "require.js",
    r"https://[^'\"]*/d3/[^'\"]*/d3\.min": "d3.min",
    r"https://[^'\"]*/jquery/[^'\"]*/jquery\.min": "jquery.min",
}
# Stands for "<" until BertViz has written the tokens as JSON.
LESS_THAN = "\ue03c"
ROW_HEIGHT, HEAD_HEIGHT = 22.5, 62

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ margin: 0; padding: 8px; background: #fff; color: #1c2430; }}
#vis {{ min-width: 345px; }}
[id^="bertviz"] > span {{ display: {layers}; }}
</style></head><body>
<noscript>BertViz draws this picture with JavaScript.</noscript>
{body}
</body></html>"""


def cross_attention_view(
    weights: np.ndarray,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    title: str = "BertViz: the source words that each target word looks at",
) -> HTML:
    """BertViz's head view of weights [heads, target, source], as one frame.

    Raises ValueError where the weights' shape is not the tokens'.
    """
    weights = np.asarray(weights, dtype=np.float32)
    if weights.ndim != 3 or weights.shape[1:] != (
        len(target_tokens),
        len(source_tokens),
    ):
        raise ValueError(
            f"weights have shape {weights.shape}, but there are "
            f"{len(target_tokens)} target and {len(source_tokens)} source "
            "tokens: [heads, target, source] is needed"
        )
    body = head_view_html(weights, source_tokens, target_tokens)
    vendor = os.environ.get("LOOKBACK_VENDOR")
    if vendor:
        body = serve_from(body, vendor)
    page = PAGE.format(title=escape(title), layers="none", body=body)
    rows = max(len(source_tokens), len(target_tokens))
    height = int(rows * ROW_HEIGHT + HEAD_HEIGHT)
    return HTML(
        '<div class="lookback-bertviz">'
        f'<iframe title="{escape(title)}" loading="lazy" height="{height}" '
        'style="width: 100%; border: 0; color-scheme: light" '
        f'srcdoc="{escape(page)}"></iframe></div>'
    )


def head_view_html(
    weights: np.ndarray,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
) -> str:
    """What BertViz returns, its random id made steady, its tokens safe."""
    from bertviz import head_view

    def safe(tokens: Sequence[str]) -> list[str]:
        return [token.replace("<", LESS_THAN) for token in tokens]

    page = head_view(
        cross_attention=[torch.from_numpy(weights)[None]],
        encoder_tokens=safe(source_tokens),
        decoder_tokens=safe(target_tokens),
        prettify_tokens=False,
        html_action="return",
    ).data
    page = page.replace(r"\ue03c", r"\u003c").replace(LESS_THAN, r"\u003c")
    page = re.sub(r"bertviz-[0-9a-f]{32}", "bertviz-view", page)
    return page.replace('id="layer"', 'id="layer" aria-label="Layer"')


def serve_from(page: str, folder: str) -> str:
    """Point BertViz's three libraries at this folder's copies."""
    for address, name in LIBRARIES.items():
        page, found = re.subn(address, f"{folder}/{name}", page)
        if not found:
            raise ValueError(f"BertViz no longer asks for {name}")
    return page
