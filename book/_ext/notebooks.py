"""Notebooks from the book: `python book/_ext/notebooks.py [--check]`.

Every page of `_toc.yml` that holds a `chapter-strip` becomes
`notebooks/<stem>.ipynb`.  The address in `_config.yml` goes into them, and into
the two other files that have it; the lists of modules go into README and
CONTRIBUTING (`overview.py`).  With `--check` nothing is written: what differs
from what it is made of is an error.  The steps are in `to_notebook`.
"""

import argparse
import difflib
import re
import sys
from pathlib import Path

import nbformat
from overview import listings
from to_notebook.cells import make_notebook
from to_notebook.labels import Book
from to_notebook.myst import SourceError

ROOT = Path(__file__).resolve().parents[2]
# The files that have the repository's address from `_config.yml`, and the line.
ADDRESSES = {
    "CITATION.cff": r"(?m)(?<=^repository-code: ).+",
    "pyproject.toml": r'(?m)(?<=^Repository = ").+(?="$)',
}


def readable(notebook):
    """A notebook as text: for a person, and for a difference."""
    blocks = [
        f"─── {cell.cell_type}\n{cell.source}\n" for cell in notebook.cells
    ]
    return re.sub(r"(;base64,)[^\"]+", r"\1…", "\n".join(blocks))


def written(notebook):
    """The file's exact text."""
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def differences(folder, made):
    """What is stale in `folder`, in words; `made` maps names to notebooks."""
    found = [
        f"{path.name}: no chapter gives this notebook\n"
        for path in sorted(folder.glob("*.ipynb"))
        if path.name not in made
    ]
    for name, notebook in made.items():
        path = folder / name
        if not path.is_file():
            found.append(f"{name}: missing\n")
            continue
        old = path.read_text("utf-8")
        if old == written(notebook):
            continue
        lines = difflib.unified_diff(
            readable(nbformat.reads(old, as_version=4)).splitlines(),
            readable(notebook).splitlines(),
            f"notebooks/{name}",
            "from its page",
            lineterm="",
        )
        hint = "\n".join(list(lines)[:30]) or "(pictures or metadata differ)"
        found.append(f"{name} is not what its page gives:\n{hint}\n")
    return found


def addresses(root, repository):
    """The texts of the files that have another address, by path."""
    found = {}
    for name, line in ADDRESSES.items():
        path = root / name
        text = path.read_text("utf-8") if path.exists() else ""
        if (new := re.sub(line, repository, text)) != text:
            found[path] = new
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--root", type=Path, default=ROOT)
    options = parser.parse_args(arguments)
    try:
        book = Book(options.root)
        made = {
            f"{Path(page.docname).name}.ipynb": make_notebook(book, page)
            for page in book.chapters
        }
    except SourceError as error:
        return str(error)
    folder = options.root / "notebooks"
    elsewhere = addresses(options.root, book.repository)
    listed = listings(options.root)
    if options.check:
        stale = differences(folder, made)
        stale += [f"{path.name}: another address" for path in elsewhere]
        stale += [f"{path.name}: other modules" for path in listed]
        if stale:
            return "\n".join([*stale, "Run `make notebooks`."])
        return None
    for path, text in (elsewhere | listed).items():
        path.write_text(text, "utf-8")
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.ipynb"):
        if path.name not in made:
            path.unlink()
    for name, notebook in made.items():
        (folder / name).write_text(written(notebook), "utf-8")
        print(f"notebooks/{name}: {len(notebook.cells)} cells")
    return None


if __name__ == "__main__":
    sys.exit(main())
