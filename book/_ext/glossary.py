"""The directive `term-list`: the book's words, from `terms.csv`.

A chapter's `` {term}`hidden state` `` leads there, and shows the term's
sentence to who points at it or comes to it with the keyboard. A term stands on
the page as soon as its chapter stands in the book.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import notation
from docutils import nodes
from listing import made
from sphinx.application import Sphinx

TERMS = Path(__file__).parents[1] / "terms.csv"


def terms(path: Path = TERMS) -> list[dict[str, str]]:
    """The terms of the chapters that there are, in the order of letters."""
    chapters = {page.stem for page in notation.pages()}
    with path.open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file)]
    known = [row for row in found if row["chapter"] in chapters]
    return sorted(known, key=lambda row: row["term"].lower())


def anchor(term: str) -> str:
    """Where Sphinx's glossary puts it."""
    return "term-" + re.sub(r"[^a-zA-Z0-9._]+", "-", term).strip("-")


def listed() -> str:
    """All of them as MyST."""
    titles = {
        page.stem: notation.TITLE.search(page.read_text("utf-8"))[1]
        for page in notation.pages()
    }
    lines = ["````{glossary}"]
    for row in terms():
        chinese = f'<span lang="zh-Hans">{row["chinese"]}</span>'
        french = f'<span lang="fr">{row["french"]}</span>'
        says = f"{row['symbol']}: {row['sentence']}".removeprefix(": ")
        lines += [
            row["term"],
            f"  {says} {{doc}}`{titles[row['chapter']]} <{row['chapter']}>`",
            "",
            f"  {chinese} · {french}",
            "",
        ]
    return "\n".join([*lines, "````"])


def say(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each link to a term its sentence."""
    sentences = {anchor(row["term"]): row["sentence"] for row in terms()}
    for link in doctree.findall(nodes.reference):
        inner = link.next_node(nodes.inline)
        if inner is not None and "std-term" in inner["classes"]:
            place = link.get("refid") or link["refuri"].split("#")[1]
            link["reftitle"] = sentences[place]
            link["classes"].append("term")


def setup(app: Sphinx) -> dict:
    app.add_directive("term-list", made(listed, lambda: [TERMS]))
    app.connect("doctree-resolved", say)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
