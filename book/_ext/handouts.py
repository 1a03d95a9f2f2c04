"""What a teacher takes away: archives beside the pages, under `downloads/`.

`students.zip` has the notebooks without solutions, `teachers.zip` with them.
`figures.zip` has every figure as SVG, in the colours of a light page, and every
displayed equation as TeX, with where it stands. `assignments.zip` is for
otter-grader. They are made with the site, and anew when what they are made of
has changed.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from assignments import README, assignment
from book_site import ROOT, digest
from docutils import nodes
from drawing import DRAWINGS
from live_widgets import STILL, WORDS
from mathematics import aligned
from nbformat import NotebookNode
from sphinx.application import Sphinx
from to_notebook.cells import make_notebook
from to_notebook.labels import Book
from to_notebook.myst import Page

from notebooks import written

FOLDER = "downloads"
MADE_OF = ("_*.yml", "book/**/*.*", "src/lookback/**/*.*")
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


def svg(app: Sphinx, node: nodes.Node) -> tuple[str, str] | None:
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
    return Path(app.srcdir, image["uri"]).read_text("utf-8"), words


def figures(app: Sphinx, book: Book) -> dict[str, str]:
    """Every figure of the chapters, and a table that says what they are."""
    files: dict[str, str] = {}
    table = io.StringIO()
    write = csv.writer(table, lineterminator="\n").writerow
    write(["file", "chapter", "section", "what it shows"])
    for page in book.chapters:
        stem, count = Path(page.docname).name, 0
        for section, node in told(app.env.get_doctree(page.docname)):
            if isinstance(node, nodes.Element) and (found := svg(app, node)):
                count += 1
                name = f"figures/{stem}-{count}.svg"
                files[name] = COLOUR.sub(r"\1", found[0])
                write([name, book.titles[page.docname], section, found[1]])
    return {"figures.csv": table.getvalue(), **files}


def equations(app: Sphinx, book: Book) -> dict[str, str]:
    """Every displayed equation, a file for each chapter and one for all."""
    files: dict[str, str] = {}
    for page in book.chapters:
        stem, lines = Path(page.docname).name, []
        lines += [rf"\section*{{{book.titles[page.docname]}}}", ""]
        for section, node in told(app.env.get_doctree(page.docname)):
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


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Make the archives, unless they are there."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, FOLDER)
    stamp = Path(app.outdir).parent / "handouts.sha256"
    found = digest(MADE_OF)
    if folder.exists() and stamp.exists() and stamp.read_text() == found:
        return
    book = Book(ROOT)
    students = notebooks(book, "left out")
    contents = {
        "students": files(students),
        "teachers": files(notebooks(book, "shown")),
        "assignments": assignments(book, students),
        "figures": figures(app, book) | equations(app, book),
    }
    for name, content in contents.items():
        archive(folder / f"{name}.zip", content)
    stamp.write_text(found)


def setup(app: Sphinx) -> dict:
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
