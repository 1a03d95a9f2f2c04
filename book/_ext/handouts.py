"""What a teacher takes away: archives under `downloads/`, and the slides.

    python book/_ext/handouts.py _build/html

`students.zip` has the notebooks without solutions, `teachers.zip` with them.
`figures.zip` has every figure as SVG, in the colours of a light page, and every
displayed equation as TeX, with where it stands. `assignments.zip` is for
otter-grader. The site's own build left the chapters' trees that they are made
of.
"""

from __future__ import annotations

import csv
import io
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import slides
from assets import ROOT
from assignments import README, assignment
from docutils import nodes
from drawing import DRAWINGS
from live_widgets import STILL, WORDS
from mathematics import aligned
from nbformat import NotebookNode
from offline import lay
from to_notebook.cells import make_notebook
from to_notebook.labels import Book
from to_notebook.myst import Page

from notebooks import written

FOLDER = "downloads"
DAY = (2026, 1, 1, 0, 0, 0)  # the same files make the same archive
COLOUR = re.compile(r"var\(--[\w-]+, ([^()]+)\)")
TEX = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{amsmath, amssymb}
\begin{document}
CHAPTERS
\end{document}
"""


def archive(path: Path, files: dict[str, str | bytes]) -> None:
    """Write an archive that depends on nothing but its files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w", ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(ZipInfo(name, DAY), content, ZIP_DEFLATED)


def notebooks(book: Book, solutions: str) -> dict[Page, NotebookNode]:
    """Every chapter's notebook."""
    return {
        page: make_notebook(book, page, solutions=solutions)
        for page in book.chapters
    }


def files(made: dict[Page, NotebookNode]) -> dict[str, str]:
    return {
        f"{Path(page.docname).name}.ipynb": written(notebook)
        for page, notebook in made.items()
    }


def assignments(book: Book, made: dict[Page, NotebookNode]) -> dict[str, str]:
    """Every chapter's assignment, and how they are graded."""
    package = f"lookback @ git+{book.repository}@{book.branch}\n"
    files = {"README.txt": README, "requirements.txt": package}
    for page, notebook in made.items():
        files |= assignment(book, page, notebook)
    return files


def told(doctree: nodes.document) -> Iterator[tuple[str, nodes.Node]]:
    """What a chapter tells, and in which section; not its exercises."""
    for section in doctree.findall(nodes.section):
        title = next(section.findall(nodes.title)).astext()
        if title == "Exercises":
            return
        for node in section.children:
            if not isinstance(node, nodes.section):
                for part in node.findall():
                    yield title, part


def tree(site: Path, page: Page) -> nodes.document:
    """A chapter as Sphinx has read it."""
    kept = site.parent / ".doctrees" / f"{page.docname}.doctree"
    return pickle.loads(kept.read_bytes())  # of our own build


def svg(node: nodes.Node) -> tuple[str, str] | None:
    """A figure's SVG and what it shows in words, if the node is a figure."""
    if isinstance(node, nodes.figure) and "drawing-figure" in node["classes"]:
        return DRAWINGS.joinpath(node["drawing"]).read_text("utf-8"), node[
            "alt"
        ]
    if node.get("nb_element") != "mime_bundle":
        return None
    forms = {form["mime_type"]: form for form in node.children}
    if STILL not in forms:
        return None
    [image] = forms[STILL].findall(nodes.image)
    words = image.get("alt") or forms[WORDS].astext()
    return (ROOT / image["uri"]).read_text("utf-8"), words


def figures(site: Path, book: Book) -> dict[str, str]:
    """Every figure of the chapters, and a table that says what they are."""
    files: dict[str, str] = {}
    table = io.StringIO()
    write = csv.writer(table, lineterminator="\n").writerow
    write(["file", "chapter", "section", "what it shows"])
    for page in book.chapters:
        stem, count = Path(page.docname).name, 0
        for section, node in told(tree(site, page)):
            if isinstance(node, nodes.Element) and (found := svg(node)):
                count += 1
                name = f"figures/{stem}-{count}.svg"
                files[name] = COLOUR.sub(r"\1", found[0])
                write([name, book.titles[page.docname], section, found[1]])
    return {"figures.csv": table.getvalue(), **files}


def equations(site: Path, book: Book) -> dict[str, str]:
    """Every displayed equation, a file for each chapter and one for all."""
    files: dict[str, str] = {}
    for page in book.chapters:
        stem, lines = Path(page.docname).name, []
        lines += [rf"\section*{{{book.titles[page.docname]}}}", ""]
        for section, node in told(tree(site, page)):
            if not isinstance(node, nodes.math_block):
                continue
            label, tex = node.get("label"), node.astext().strip()
            tex = tex if node["nowrap"] else aligned(tex)
            lines += [f"% {book.titles[page.docname]}: {section}"]
            if label:
                number = book.labels[f"equation:{label}"].number
                tex += f"\n\\label{{{label}}}\\tag{{{number}}}"
            lines += [r"\begin{equation*}", tex, r"\end{equation*}", ""]
        files[f"equations/{stem}.tex"] = "\n".join(lines)
    inputs = "\n".join(rf"\input{{{name}}}" for name in files)
    return {"equations.tex": TEX.replace("CHAPTERS", inputs), **files}


def make(site: Path) -> None:
    """Make the archives and the slides, and lead to them."""
    book = Book(ROOT)
    students = notebooks(book, "left out")
    contents = {
        "students": files(students),
        "teachers": files(notebooks(book, "shown")),
        "assignments": assignments(book, students),
        "figures": figures(site, book) | equations(site, book),
    }
    for name, content in contents.items():
        archive(site / FOLDER / f"{name}.zip", content)
    slides.make(site)
    lay(site)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
