"""The directive `notation-table`: the chapters' own symbol tables, as one.

Every chapter has tables whose first column is *symbol*. Their rows are put in
the order of their letters: one entry for each symbol and meaning, each with
links to its chapters. Nothing is written twice, so nothing can go stale.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from docutils import nodes
from listing import made
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
HEAD = "| symbol |"
BAR = re.compile(r"(?<!\\)\|")
SYMBOL = re.compile(r"(?:^|, )\$([^$]+)\$")
NO_LETTER = re.compile(
    r"\\(mathrm|mathit|mathbf|bar|hat|sqrt|max|text|overrightarrow)\b"
)
GREEK = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa"
    " lambda mu nu xi pi rho sigma tau phi varphi chi psi omega"
).split()
LETTER = re.compile(rf"\\({'|'.join(GREEK)})(?![A-Za-z])|[A-Za-z]")
TITLE = re.compile(r"^# ([^:\n]+)", re.MULTILINE)


def pages(root: Path = ROOT) -> list[Path]:
    """All pages but the first, in the order of the book."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    parts = [part["chapters"] for part in toc["parts"]]
    return [root / f"{one['file']}.md" for part in parts for one in part]


def chapters(root: Path = ROOT) -> list[Path]:
    """The pages with a symbol table, in the order of the book."""
    return [page for page in pages(root) if HEAD in page.read_text("utf-8")]


def rows(page: Path) -> list[dict[str, str]]:
    """The rows of a page's symbol tables, by the names of their columns."""
    found = []
    for block in page.read_text("utf-8").split("\n\n"):
        if not block.lstrip("\n").startswith(HEAD):
            continue
        head, _, *body = (
            [cell.strip() for cell in BAR.split(line)[1:-1]]
            for line in block.strip("\n").split("\n")
        )
        found += [dict(zip(head, cells, strict=True)) for cells in body]
    return found


def letters(symbol: str) -> list[str]:
    """What to look a symbol up by: `$N$, $h$` stands under both letters."""
    found = [
        LETTER.search(NO_LETTER.sub("", part))
        for part in SYMBOL.findall(symbol)
    ]
    return list(dict.fromkeys(one[0] for one in found if one)) or [""]


def order(letter: str) -> tuple:
    """Latin letters, then Greek ones, then words that have none."""
    greek = GREEK.index(letter[1:]) if letter[:1] == "\\" else -1
    return not letter, greek, letter.lower(), letter.isupper()


def entries(pages: list[Path]) -> list[tuple[str, list[str]]]:
    """Each symbol and meaning once: (symbol, paragraphs), in MyST.

    The first paragraph is the meaning; one more for each chapter links there
    and gives the name in its code, and the shape.
    """
    found: dict[tuple, list[str]] = {}
    for page in pages:
        title = TITLE.search(page.read_text("utf-8"))[1]
        for row in rows(page):
            symbol, meaning = row["symbol"], row["what it is"]
            code = [row["in the code"], row.get("shape", "")]
            place = [f"{{doc}}`{title} <{page.stem}>`", *filter(None, code)]
            for letter in letters(symbol):
                key = order(letter), symbol, meaning
                found.setdefault(key, [meaning]).append("; ".join(place))
    return [(key[1], found[key]) for key in sorted(found)]


def table(pages: list[Path]) -> str:
    """The whole table as MyST: two columns, so that a phone shows both."""
    lines = ["```{list-table}", ":header-rows: 1", ":class: notation", ""]
    lines += ["* - symbol", "  - what it is, and where"]
    for symbol, paragraphs in entries(pages):
        lines += [f"* - {symbol or '–'}", "  - " + "\n\n    ".join(paragraphs)]
    return "\n".join([*lines, "```"])


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Symbol tables get a class, so that the style sheet may stack them."""
    for table in doctree.findall(nodes.table):
        row = next(table.findall(nodes.row))
        names = [entry.astext() for entry in row.children]
        if names[0] == "symbol" and "notation" not in table["classes"]:
            table["classes"].append("symbols")


def setup(app: Sphinx) -> dict:
    table_of_all = made(lambda: table(chapters()), chapters)
    app.add_directive("notation-table", table_of_all)
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
