"""The directive `names-in-papers`: what the papers call things, as one table.

    ```{names-in-papers}
    ```

Every chapter closes with a table, *Names in the literature*, whose columns are
*here* and *in papers*. Their rows stand together under the chapter's name. With
an argument, `rnnsearch heads`, it takes these chapters alone.
"""

from __future__ import annotations

import re
from pathlib import Path

import notation
from listing import made
from sphinx.application import Sphinx

HEAD = "\n## Names in the literature\n"
COLUMNS = ["here", "in papers"]


def rows(page: Path) -> list[tuple[str, str]]:
    """(here, in papers) of a page; none where it has no such table.

    Raises:
        ValueError: for a table with other columns.
    """
    _, found, after = page.read_text("utf-8").partition(HEAD)
    if not found:
        return []
    lines = [
        [cell.strip() for cell in notation.BAR.split(line)[1:-1]]
        for line in after.split("\n## ")[0].split("\n")
        if line.startswith("|")
    ]
    if lines[:1] != [COLUMNS] or any(len(line) != 2 for line in lines):
        raise ValueError(f"{page.name}: the columns are not {COLUMNS}")
    return [(here, papers) for here, papers in lines[2:]]


# What only surrounds a name, or could be anybody's.
ASIDE = re.compile(r"\{[\w:]+\}`[^`]*`|\$[^$]*\$|“[^”]*”|\[[^\]]*\]\([^)]*\)")
BREAK = re.compile(r"[,;:()]| (?:or|and|in|of|since|also) |\. ")
COMMON = re.compile(
    r"^(?:the|an?|its|with|by|as|no|one|two|each|both|here|there|same|today|later"
    r"|simply|called|mostly|often|what|which)\b|['’]s\b|\b(?:al|for|is|stores)$"
    r"|\b(?:for|is)\b",
    re.IGNORECASE,
)
NAME = re.compile(
    r"[A-Z\d]?\w+-\w[\w-]+|[A-Za-z]+[A-Z]+[a-z]*|\S+(?: \S+){1,2}"
)


def phrases(papers: str) -> list[str]:
    """Names in a cell, as one would search them: two or three words, or one
    with a hyphen or capitals."""
    parts = BREAK.split(ASIDE.sub(" , ", papers))
    plain = (re.sub(r"[*`]", "", part).strip(" .’'") for part in parts)
    return [
        name
        for name in plain
        if not COMMON.search(name) and NAME.fullmatch(name)
    ]


def names() -> dict[str, str]:
    """{what papers say: the first page that says so}."""
    found: dict[str, str] = {}
    for page in chapters():
        for _, papers in rows(page):
            for name in phrases(papers):
                found.setdefault(name.lower(), page.stem)
    return found


def chapters() -> list[Path]:
    """The pages that have such a table, in the order of the book."""
    return [page for page in notation.pages() if rows(page)]


def table(stems: str = "") -> str:
    """The whole table as MyST, or the part of it that these chapters have."""
    lines = ["```{list-table}", ":header-rows: 1", ":class: names", ""]
    lines += ["* - in this book", "  - in papers"]
    for page in chapters():
        if stems and page.stem not in stems.split():
            continue
        title = notation.TITLE.search(page.read_text("utf-8"))[1]
        lines += [f"* - **{{doc}}`{title} <{page.stem}>`**", "  -"]
        for here, papers in rows(page):
            lines += [f"* - {here}", f"  - {papers}"]
    return "\n".join([*lines, "```"])


def setup(app: Sphinx) -> dict:
    app.add_directive("names-in-papers", made(table, notation.pages))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
