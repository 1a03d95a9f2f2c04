"""The directive `term-list`: the book's words, from `terms.csv`.

A chapter's `` {term}`hidden state` `` leads there, and shows the term's
sentence to who points at it or comes to it with the keyboard. A term's chapter
is the first of the book that has it, one with a strip, since the pages around
the chapters explain nothing; a term that no chapter has is left out. The
search lists that chapter first (`search.js`).
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import facts
import literature
import notation
from docutils import nodes
from listing import made
from sphinx.application import Sphinx

TERMS = Path(__file__).parents[1] / "terms.csv"
USED = re.compile(r"\{term\}`(?:[^`<]*<)?([^`<>]+)>?`")


def explained() -> dict[str, str]:
    """{term, in small letters: the first chapter that has it}."""
    found: dict[str, str] = {}
    for page in notation.pages():
        text = page.read_text("utf-8")
        for term in USED.findall(text) if facts.STRIP in text else ():
            found.setdefault(term.lower(), page.stem)
    return found


def rows() -> dict[str, dict[str, str]]:
    """The rows of `terms.csv`, by their terms."""
    with TERMS.open(encoding="utf-8", newline="") as file:
        return {row["term"]: row for row in csv.DictReader(file)}


def terms() -> list[dict[str, str]]:
    """The terms that pages have, each with its chapter, in order."""
    chapters = explained()
    return [
        {**row, "chapter": chapters[term.lower()]}
        for term, row in sorted(rows().items(), key=lambda one: one[0].lower())
        if term.lower() in chapters
    ]


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


# What people search for that is neither a term nor a name in papers: its term,
# or its page.
ALSO = {
    "Attention Is All You Need": "transformer",
    "BPE": "subword; byte-pair encoding",
    "CTC": "transducer",
    "flash attention": "FlashAttention",
    "int8": "quantization",
    "ResNet": "residual",
}


def also() -> dict[str, str]:
    """{another name: its page}: those of papers, and those above."""
    chapters = {row["term"]: row["chapter"] for row in terms()}
    known = {name.lower() for name in names()}
    known |= {page.stem for page in notation.pages()}  # RNNsearch is a title
    found = {name: chapters.get(to, to) for name, to in ALSO.items()}
    for name, page in literature.names().items():
        if name not in known:
            found.setdefault(name, page)
    return {name: f"book/{page}" for name, page in found.items()}


def names() -> dict[str, str]:
    """{name: its chapter}; `a (b)`, `a; b` and `a / b` are two names each."""
    return {
        name: f"book/{row['chapter']}"
        for row in terms()
        for name in re.split(r"\s*[;()]\s*| / ", row["term"])
        if name
    }


def search_first(app: Sphinx, pagename: str, *_: object) -> None:
    """Give the page of the search the terms' chapters, and its script."""
    if pagename == "search":
        known = f"const EXPLAINED = {json.dumps(names())}"
        known += f"\nconst ALSO_CALLED = {json.dumps(also())}"
        app.add_js_file(None, body=known, priority=900)
        app.add_js_file("search.js", priority=900, loading_method="defer")


def say(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each link to a term its sentence."""
    sentences = {anchor(term): row["sentence"] for term, row in rows().items()}
    for link in doctree.findall(nodes.reference):
        inner = link.next_node(nodes.inline)
        if inner is not None and "std-term" in inner["classes"]:
            place = link.get("refid") or link["refuri"].split("#")[1]
            link["reftitle"] = sentences[place]
            link["classes"].append("term")


def setup(app: Sphinx) -> dict:
    app.add_directive(
        "term-list", made(listed, lambda: [TERMS, *notation.pages()])
    )
    app.connect("doctree-resolved", say)
    # Before book_site's, which keeps the scripts that are there.
    app.connect("html-page-context", search_first, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
