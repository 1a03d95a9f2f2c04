"""The book's pages, as `_toc.yml` names them."""

from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def pages() -> list[str]:
    """Every page of the table of contents, in its order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = [toc["root"]]
    for part in toc["parts"]:
        names += [chapter["file"] for chapter in part["chapters"]]
    return names


def chapters() -> list[str]:
    """The pages that carry a story: those with a strip under the title."""
    return [
        name
        for name in pages()
        if "{chapter-strip}" in (ROOT / f"{name}.md").read_text("utf-8")
    ]


def by_day(all_of_them: Iterable, *kept: object) -> list:
    """The parameters of a test of which `make test` runs these alone."""
    nightly = pytest.mark.nightly
    return [
        one if one in kept else pytest.param(one, marks=nightly)
        for one in all_of_them
    ]


PAGES = pages()
OTHERS = ["index", "search", "genindex"]
SERVED_OR_NOT = [
    pytest.param(False, id="served"),
    pytest.param(True, id="disk", marks=pytest.mark.nightly),
]
