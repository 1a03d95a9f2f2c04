"""The notation holds every axis of the code and every symbol of a chapter."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import notation  # noqa: E402

PAGES = sorted((ROOT / "book").glob("*.md"))
CODE = re.compile("`([^`]+)`")


@cache
def tables(text):
    """Every pipe table of a page: a list of rows, each a list of cells."""
    found = []
    for token in MarkdownIt().enable("table").parse(text):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and token.level == 4 and found:
            found[-1][-1].append(token.content)
    return found


def symbol_tables():
    """{page: rows of its symbol tables}, without the page's own generator."""
    found = {}
    for page in PAGES:
        for table in tables(page.read_text("utf-8")):
            if table[0][0] == "symbol":
                found.setdefault(page, []).extend(
                    dict(zip(table[0], row, strict=True)) for row in table[1:]
                )
    return found


def axes_of_the_page():
    [table] = [
        table
        for table in tables((ROOT / "book/notation.md").read_text("utf-8"))
        if table[0][0] == "axis"
    ]
    return [name for row in table[1:] for name in CODE.findall(row[0])]


def axes_of_the_code():
    """The names in the jaxtyping strings of the models and comparisons."""
    found, package = set(), ROOT / "src/lookback"
    for path in [*package.glob("*.py"), package / "lab/significance.py"]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Subscript) and isinstance(
                node.slice, ast.Tuple
            ):
                *_, shape = node.slice.elts
                if isinstance(getattr(shape, "value", None), str):
                    found |= set(shape.value.split())
    names = {name.lstrip("*#") for name in found}
    return {name for name in names if name != "..." and not name.isdigit()}


def test_the_axes_are_those_of_the_code():
    named = axes_of_the_page()
    assert len(named) == len(set(named))
    assert set(named) == axes_of_the_code() - {"_"}  # of any length


def test_a_chapters_shapes_are_made_of_these_axes():
    axes, wrong = set(axes_of_the_page()), []
    rows = sum(symbol_tables().values(), [])
    assert len(rows) > 100
    for row in rows:
        for shape in CODE.findall(row.get("shape", "")):
            if set(re.findall("[a-z_]+", shape)) - axes:
                wrong.append(row)
    assert not wrong


def test_every_row_of_every_chapter_has_its_entry():
    entries = notation.entries(notation.chapters())
    said = [(symbol, "\n".join(lines)) for symbol, lines in entries]
    count = 0
    for page, rows in symbol_tables().items():
        for row in rows:
            count += len(notation.letters(row["symbol"]))
            cells = [row["what it is"], row["in the code"]]
            cells += [row.get("shape", ""), f"<{page.stem}>`"]
            assert any(
                symbol == row["symbol"] and all(one in text for one in cells)
                for symbol, text in said
            ), row
    assert count == sum(len(lines) - 1 for _, lines in entries)


def test_one_entry_for_each_symbol_and_meaning(tmp_path):
    pages = []
    for stem, meaning in (("one", "a word"), ("two", "a word"), ("three", "p")):
        pages.append(tmp_path / f"{stem}.md")
        pages[-1].write_text(
            f"# {stem}: more\n\n| symbol | in the code | what it is |\n"
            f"|---|---|---|\n| $x$ | `{stem}` | {meaning} |\n\nText | text.\n"
        )
    assert notation.entries(pages) == [
        (
            "$x$",
            ["a word"] + [f"{{doc}}`{s} <{s}>`; `{s}`" for s in ("one", "two")],
        ),
        ("$x$", ["p", "{doc}`three <three>`; `three`"]),
    ]


def test_letters():
    assert notation.letters("$N$, $h$") == ["N", "h"]
    assert notation.letters("$W_Q$, $W_K$") == ["W"]
    assert notation.letters(r"$\mu$, $\sigma^2$") == [r"\mu", r"\sigma"]
    assert notation.letters(r"$\bar{x}$, $r_i$") == ["x", "r"]
    assert notation.letters("$Q W_i^Q$, all $i$") == ["Q"]
    assert notation.letters("padding") == [""]
