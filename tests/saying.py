"""What a page says, so that a claim can be tied to its sentence."""

import re
from functools import cache
from pathlib import Path

BOOK = Path(__file__).parents[1] / "book"
ROLE = re.compile(r"\{([\w:-]+)\}`([^`<]*?)\s*(?:<[^`]*>)?`")


def seen(text: str) -> str:
    """MyST as its reader sees it, in one line: no roles and no emphasis.

    A measured number is `…`, and the string of a cell is not broken.
    """
    text = re.sub(r'"\n\s*f?"', "", text)
    text = ROLE.sub(lambda m: "…" if m[1] == "record" else m[2], text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`]", r"\1", text)
    return " ".join(text.split()).casefold()


@cache
def page_text(page: str) -> str:
    """What book/<page>.md shows."""
    return seen((BOOK / f"{page}.md").read_text(encoding="utf-8"))


def said(page: str, *words: str) -> None:
    """AssertionError where the page does not say these words."""
    for each in words:
        sought = rf"(?<!\w){re.escape(seen(each))}(?!\w)"
        assert re.search(sought, page_text(page)), (
            f"book/{page}.md does not say “{each}”: mend whichever is wrong, "
            "the sentence or the claim that was tied to it"
        )
