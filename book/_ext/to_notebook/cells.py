"""A page's pieces become the cells of a valid notebook."""

import ast
import hashlib
from pathlib import Path

import nbformat
from jupytext.myst import myst_to_notebook
from nbformat import v4

import lookback
from to_notebook.code import import_lines
from to_notebook.directives import DIRECTIVES
from to_notebook.myst import SourceError
from to_notebook.text import Piece, Writer, recorded

SETUP = Path(__file__).with_name("set_up.py").read_text("utf-8")
METADATA = {
    "colab": {"provenance": []},
    "kernelspec": {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
# A notebook that trains a model asks Colab for a GPU.
GPU = {"accelerator": "GPU", "colab": {"gpuType": "T4", "provenance": []}}
TRAINS = "from lookback.experiments.train_small import"
# Colab folds a form's source, JupyterLab a hidden one.
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}


def make_notebook(book, page, record=recorded, solutions="linked"):
    """The notebook of one chapter page.

    Its solutions are "linked" to in the book, "shown", or "left out".
    """
    writer = Writer(book, page, DIRECTIVES, record)
    pieces = list(_solved(page, _pieces(writer, page), solutions))
    pieces = _live(page, pieces)
    setup = set_up(book.repository, book.branch)
    # Long, for it knows many causes of failure: readers see its name alone.
    cells = [Piece("code", setup, 1, folded=True), *_cells(pieces)]
    return _notebook(Path(page.docname).name, cells)


def set_up(repository, branch):
    """The first cell: it installs the book's package where there is none."""
    numbers = [int(n) for n in lookback.__version__.split(".")]
    setup = SETUP.replace(
        '"REPOSITORY", "BRANCH"', f'"{repository}", "{branch}"'
    )
    return setup.replace('"VERSION"', str(numbers)).strip()


def _pieces(writer, page):
    """The page's pieces in order; every cell of the page starts a cell."""
    source = myst_to_notebook(page.text, add_source_map=True)
    lines = page.text.split("\n")
    starts = source.metadata["source_map"]
    for cell, start in zip(source.cells, starts, strict=True):
        if cell.cell_type == "markdown":
            while not lines[start].strip():
                start += 1
            yield Piece("text", "", start + 1, starts_cell=True)
            yield from writer.pieces(cell.source, start + 1)
        elif cell.cell_type == "code":
            _check(page, cell.metadata, start)
            tags = cell.metadata.get("tags", ())
            if "page-only" in tags:
                continue
            folded = "remove-input" in tags
            yield Piece("code", cell.source, start, folded=folded)
        else:
            raise SourceError(page.path, start, "raw cells have no place here")


def _check(page, metadata, line):
    """An error for a tag or an option of a cell that is not known here."""
    unknown = [
        *metadata.keys() - {"mystnb", "tags"},
        *set(metadata.get("tags", ()))
        - {"hide-cell", "hide-input", "page-only", "remove-input"},
        *metadata.get("mystnb", {}).keys() - {"image"},
    ]
    if unknown:
        raise SourceError(page.path, line, f"{{code-cell}} with “{unknown[0]}”")


def _solved(page, pieces, solutions):
    """The pieces, with of each solution what is asked for."""
    opened = None
    for piece in pieces:
        if piece.kind == "gate":
            if bool(piece.source) == (opened is not None):
                raise SourceError(page.path, piece.line, "unpaired solution")
            opened = piece if piece.source else None
            if opened and solutions == "linked":
                yield Piece("text", piece.source, piece.line)
            elif opened and solutions == "shown":
                yield Piece("text", "**Solution**", piece.line)
        elif opened is None or solutions == "shown":
            yield piece
    if opened:
        raise SourceError(page.path, opened.line, "solution without an end")


def _live(page, pieces):
    """What the shown code needs is imported before the first cell."""
    shown, wanted = {}, {}
    for piece in pieces:
        try:
            if piece.include:
                _want(wanted, piece.include.needs(shown))
                names = piece.include.names()
                shown |= dict.fromkeys(names, piece.include.module)
            elif piece.kind == "code":
                ast.parse(piece.source)
        except (SyntaxError, ValueError) as error:
            raise SourceError(page.path, piece.line, str(error)) from None
    if wanted:
        own = {module.split(".")[0] for module in shown.values()}
        first = next(i for i, p in enumerate(pieces) if p.kind == "code")
        source = "# What the code below needs\n" + import_lines(wanted, own)
        pieces.insert(first, Piece("code", source, pieces[first].line))
    return pieces


def _want(wanted, more):
    for name, origin in more.items():
        if wanted.setdefault(name, origin) != origin:
            raise ValueError(
                f"“{name}” is {wanted[name]} in an earlier include and"
                f" {origin} here"
            )


def _cells(pieces):
    """Text that belongs together in one cell."""
    cells = []
    for piece in pieces:
        last = cells[-1] if cells else None
        if piece.kind == "text" and last and last.kind == "text":
            if not piece.starts_cell or not last.source:
                last.source = f"{last.source}\n\n{piece.source}".strip("\n")
                continue
        cells.append(piece)
    return [cell for cell in cells if cell.source.strip()]


def _notebook(stem, cells):
    """A valid notebook whose ids depend on nothing but its text."""
    trains = any(TRAINS in cell.source for cell in cells)
    metadata = METADATA | (GPU if trains else {})
    book, seen = v4.new_notebook(metadata=metadata), {}
    for cell in cells:
        key = f"{stem}\n{cell.kind}\n{cell.source}"
        seen[key] = seen.get(key, 0) + 1
        digest = hashlib.sha256(f"{key}\n{seen[key]}".encode()).hexdigest()
        make = v4.new_markdown_cell
        if cell.kind == "code":
            make = v4.new_code_cell
        metadata = FOLDED if cell.folded else {}
        book.cells.append(make(cell.source, id=digest[:12], metadata=metadata))
    book.nbformat, book.nbformat_minor = 4, 5
    nbformat.validate(book)
    return book
