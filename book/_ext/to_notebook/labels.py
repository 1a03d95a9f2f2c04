"""What the published book calls each thing: addresses, titles, numbers.

Addresses come from `_config.yml`, the order of pages from `_toc.yml`.
Numbers follow Sphinx's `numfig` (Jupyter Book switches it on): equations,
figures and exercises are each counted through the whole book.
"""

import posixpath
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml
from docutils.nodes import make_id
from pybtex.database import parse_file
from pybtex.richtext import Text

from to_notebook.myst import Page, SourceError, make_parser, walk

# What Sphinx would number too, and is not counted here.
UNCOUNTED = ("amsmath", "exercise", "figure", "math_block_label")


@dataclass(frozen=True)
class Label:
    """Where a label points to, and the number that the page shows there."""

    docname: str
    anchor: str
    kind: str
    number: str = ""


class Book:
    """The pages of one book, their labels and their addresses."""

    def __init__(self, root):
        self.root = Path(root).resolve()
        self.config = self._yaml("_config.yml")
        self.parser = make_parser(
            self.config["parse"]["myst_enable_extensions"]
        )
        self.title = self.config["title"]
        url = self.config["repository"]["url"].rstrip("/")
        self.repository = url.removesuffix(".git")
        self.branch = self.config["repository"]["branch"]  # or tag or commit
        self.address = self._address()
        self.settings = self.config["sphinx"]["config"]
        if self.settings.get("numfig_secnum_depth") != 0:
            raise SourceError("_config.yml", 1, "numfig_secnum_depth is not 0")
        self.labels: dict[str, Label] = {}
        self.titles: dict[str, str] = {}
        self.numbers: dict[tuple[str, int], str] = {}
        self.chapters: list[Page] = []
        self.bibliography = ""
        self._counts = Counter()
        for docname in self._docnames():
            self._read_page(docname)

    def _yaml(self, name):
        return yaml.safe_load((self.root / name).read_text("utf-8"))

    def _address(self):
        """The published address; GitHub Pages' if none is given."""
        owner, name = self.repository.split("/")[-2:]
        pages = f"https://{owner}.github.io/{name}"
        return self.config.get("html", {}).get("baseurl", pages).rstrip("/")

    def _docnames(self):
        """The book's pages in their order."""
        toc = self._yaml("_toc.yml")
        known = {"format", "root", "parts", "caption", "chapters", "file"}
        entries = [entry for part in toc["parts"] for entry in part["chapters"]]
        for keys in (toc, *toc["parts"], *entries):
            for key in keys.keys() - known:
                raise SourceError("_toc.yml", 1, f"“{key}” is not known here")
        return [toc["root"], *(entry["file"] for entry in entries)]

    def _read_page(self, docname):
        path = self.root / f"{docname}.md"
        if not path.is_file():
            raise SourceError("_toc.yml", 1, f"there is no page {docname}.md")
        short = path.relative_to(self.root)
        page = Page(docname, short, path.read_text("utf-8"))
        heading = None
        for token, directive, line in walk(self.parser, page.text):
            if heading and docname not in self.titles:
                if any(child.type != "text" for child in token.children):
                    raise SourceError(short, line, "a title is plain text")
                self.titles[docname] = token.content
            heading = token.type == "heading_open"
            numbered = directive.name if directive else token.type
            if numbered in UNCOUNTED or _draws_figure(directive):
                raise SourceError(
                    short, line, f"{numbered} is numbered, and not counted here"
                )
            if directive:
                self._read_directive(page, directive)

    def _read_directive(self, page, directive):
        name, line = directive.name, directive.line
        label = directive.options.get("label", "")
        if name == "chapter-strip":
            self.chapters.append(page)
        elif name == "bibliography":
            self.bibliography = page.docname
        elif name in ("drawing", "route") and directive.body:
            self._count("figure", page, line)
        elif name == "math" and label:
            number = self._count("equation", page, line)
            anchor = make_id(f"equation-{label}")
            self._name(page, f"equation:{label}", anchor, number, line)
        elif name == "exercise-start":
            number = self._count("exercise", page, line)
            self._name(page, label, label, number, line)
        elif name == "solution-start":
            self._name(page, label, label, "", line)

    def _count(self, kind, page, line):
        self._counts[kind] += 1
        self.numbers[page.docname, line] = number = str(self._counts[kind])
        return number

    def _name(self, page, label, anchor, number, line):
        if label in self.labels:
            raise SourceError(page.path, line, f"label “{label}” twice")
        kind = "equation" if label.startswith("equation:") else "exercise"
        self.labels[label] = Label(page.docname, anchor, kind, number)

    def url(self, docname, anchor=""):
        """The published address of a page, or of a place on it."""
        return f"{self.address}/{docname}.html" + (anchor and f"#{anchor}")

    def docname(self, page, target):
        """The page that `target` names beside `page`; None if none."""
        found = posixpath.join(posixpath.dirname(page.docname), target)
        return found if found in self.titles else None

    @cached_property
    def entries(self):
        """The bibliography's entries, by key."""
        return {
            key: entry
            for name in self.settings["bibtex_bibfiles"]
            for key, entry in parse_file(str(self.root / name)).entries.items()
        }

    def citation(self, key):
        """(authors, year, address) of a cited work, or KeyError."""
        entry = self.entries[key]
        names = [_surname(person) for person in entry.persons["author"]]
        authors = f"{names[0]} et al."
        if len(names) <= 2:
            authors = " and ".join(names)
        return authors, entry.fields["year"], self.url(self.bibliography)


def _draws_figure(directive):
    """Whether a code cell gives what it draws a caption and a number."""
    return directive and "figure" in directive.options.get("mystnb", {})


def _surname(person):
    words = [*person.prelast_names, *person.last_names]
    return str(Text.from_latex(" ".join(words)))
