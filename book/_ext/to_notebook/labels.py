"""What the published book calls each thing: addresses, titles, numbers.

Addresses come from `_config.yml`, the order of pages from `_toc.yml`.
Numbers follow Sphinx's `numfig` (Jupyter Book switches it on): equations,
figures, tables, listings and exercises are each counted through the whole
book, or within a chapter where `_toc.yml` says `numbered`.
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
from sphinx.util.nodes import _make_id  # keeps capitals, as term ids do

from to_notebook.myst import Page, SourceError, make_parser, plain, walk

FORMATS = {
    "figure": "Fig. %s",
    "table": "Table %s",
    "code-block": "Listing %s",
    "exercise": "Exercise %s",
}
# directive -> (kind, the option that names it)
NUMBERED = {
    "figure": ("figure", "name"),
    "drawing": ("figure", "name"),
    "table": ("table", "name"),
    "list-table": ("table", "name"),
    "csv-table": ("table", "name"),
    "code-block": ("code-block", "name"),
    "literalinclude": ("code-block", "name"),
    "math": ("equation", "label"),
    "exercise": ("exercise", "label"),
    "exercise-start": ("exercise", "label"),
    "solution": ("solution", "label"),
    "solution-start": ("solution", "label"),
}
EXTENSIONS = ("colon_fence", "dollarmath", "linkify", "substitution")


@dataclass(frozen=True)
class Label:
    """Where a label points to, and what a reference to it says."""

    docname: str
    anchor: str
    kind: str
    number: str
    title: str


class Book:
    """The pages of one book, their labels and their addresses."""

    def __init__(self, root):
        self.root = Path(root).resolve()
        self.config = self._yaml("_config.yml")
        parse = self.config.get("parse", {})
        names = parse.get("myst_enable_extensions", EXTENSIONS)
        self.parser = make_parser(names)
        self.title = self.config["title"]
        self.repository = self.config["repository"]["url"].rstrip("/")
        self.address = self._address().rstrip("/")
        self.settings = self.config.get("sphinx", {}).get("config", {}) or {}
        self.formats = FORMATS | self.settings.get("numfig_format", {})
        self.labels: dict[str, Label] = {}
        self.terms: dict[str, Label] = {}
        self.titles: dict[str, str] = {}
        self.numbers: dict[tuple[str, int], str] = {}
        self.chapters: list[Page] = []
        self.bibliography = ""
        self._counts = Counter()
        self._read_pages()

    def _yaml(self, name):
        return yaml.safe_load((self.root / name).read_text("utf-8"))

    def _address(self):
        """The published address; GitHub Pages' if none is given."""
        owner, name = self.repository.split("/")[-2:]
        pages = f"https://{owner}.github.io/{name}"
        return self.config.get("html", {}).get("baseurl") or pages

    def _read_pages(self):
        toc = self._yaml("_toc.yml")
        self._read_page(toc["root"], "")
        numbered = (toc.get("defaults") or {}).get("numbered")
        chapter = 0
        for part in [toc, *toc.get("parts", [])]:
            inside = bool(part.get("numbered", numbered))
            for entry in part.get("chapters", []):
                if "file" in entry:
                    chapter += inside
                    self._read_tree(entry, f"{chapter}." if inside else "")

    def _read_tree(self, entry, prefix):
        if self.settings.get("numfig_secnum_depth", 1) == 0:
            prefix = ""
        self._read_page(entry["file"], prefix)
        for child in entry.get("sections", []):
            if "file" in child:
                self._read_tree(child, prefix)

    def _read_page(self, name, prefix):
        docname = name.removesuffix(".md")
        path = self.root / f"{docname}.md"
        if not path.is_file():
            raise SourceError("_toc.yml", 1, f"there is no page {docname}.md")
        short = path.relative_to(self.root)
        page = Page(docname, short, path.read_text("utf-8"))
        waiting = []
        for token, after, directive, line, _ in walk(
            self.parser, page, page.text
        ):
            if token.type == "myst_target":
                waiting.append(token.content)
                self._name(page, token.content, "", "", line)
            elif token.type == "heading_open":
                title = plain(after)
                self.titles.setdefault(docname, title)
                self._rename(waiting, kind="section", title=title)
            elif token.type == "math_block_label":
                number = self._count("equation", prefix, page, line)
                self._equation(page, token.info, number)
            elif directive:
                self._read_directive(page, directive, prefix, waiting)
            if token.map and token.type != "myst_target":
                waiting = []

    def _read_directive(self, page, directive, prefix, waiting):
        name, options, line = directive.name, directive.options, directive.line
        if name == "chapter-strip":
            self.chapters.append(page)
        if name == "bibliography" and not self.bibliography:
            self.bibliography = page.docname
        if name == "glossary":
            self._read_terms(page, directive)
        drawn = drawn_figure(options)
        if name not in NUMBERED and not drawn:
            return
        kind, option = NUMBERED.get(name, ("figure", "name"))
        label = (drawn or options).get(option, "")
        title = drawn.get("caption", "") or _title(directive)
        number = ""
        if _is_numbered(directive, kind, label, title):
            number = self._count(kind, prefix, page, line)
        if kind == "equation" and label:
            self._equation(page, label, number)
        elif label:
            self._name(page, label, kind, number, line, title)
        self._rename(waiting, kind=kind, number=number, title=title)

    def _count(self, kind, prefix, page, line):
        self._counts[kind, prefix] += 1
        number = f"{prefix}{self._counts[kind, prefix]}"
        self.numbers[page.docname, line] = number
        return number

    def _name(self, page, label, kind, number, line, title=""):
        if label in self.labels:
            raise SourceError(page.path, line, f"label “{label}” twice")
        anchor = label if kind in ("exercise", "solution") else make_id(label)
        self.labels[label] = Label(page.docname, anchor, kind, number, title)

    def _rename(self, labels, kind, title, number=""):
        for label in labels:
            old = self.labels[label]
            self.labels[label] = Label(
                old.docname, old.anchor, kind, number, title
            )

    def _equation(self, page, label, number):
        self.labels[f"equation:{label}"] = Label(
            page.docname, make_id(f"equation-{label}"), "equation", number, ""
        )

    def _read_terms(self, page, directive):
        for line in directive.body.split("\n"):
            if line.strip() and not line[0].isspace():
                term = line.split(" : ")[0].strip()
                self.terms[term.lower()] = Label(
                    page.docname, _make_id(f"term-{term}"), "term", "", term
                )

    def url(self, docname, anchor=""):
        """The published address of a page, or of a place on it."""
        return f"{self.address}/{docname}.html" + (anchor and f"#{anchor}")

    def docname(self, page, target):
        """The page that `target` names, seen from `page`; None if none."""
        base = "" if target.startswith("/") else posixpath.dirname(page.docname)
        path = posixpath.normpath(posixpath.join(base, target.lstrip("/")))
        path = path.removesuffix(".md")
        return path if path in self.titles else None

    @cached_property
    def entries(self):
        """The bibliography's entries, by key."""
        names = self.settings.get("bibtex_bibfiles", ["book/references.bib"])
        return {
            key: entry
            for name in names
            for key, entry in parse_file(str(self.root / name)).entries.items()
        }

    def citation(self, key):
        """(authors, year, address) of a cited work, or KeyError."""
        entry = self.entries[key]
        people = entry.persons.get("author") or entry.persons.get("editor", [])
        names = [_surname(person) for person in people]
        if len(names) > 2:
            authors = f"{names[0]} et al."
        else:
            authors = " and ".join(names) or entry.fields.get("title", key)
        pattern = self.settings.get("bibtex_cite_id", "")
        anchor = make_id(pattern.format(key=key, bibliography_count=1))
        url = self.url(self.bibliography, anchor)
        return authors, entry.fields.get("year", "n.d."), url


def drawn_figure(options):
    """The caption and name that a code cell gives to what it draws."""
    return (options.get("mystnb") or {}).get("figure") or {}


def _surname(person):
    words = [*person.prelast_names, *person.last_names]
    return str(Text.from_latex(" ".join(words)))


def _title(directive):
    if directive.name in ("figure", "drawing"):
        return directive.body.split("\n\n")[0].replace("\n", " ").strip()
    if directive.name in ("code-block", "literalinclude"):
        return directive.options.get("caption", "")
    return "" if directive.name == "math" else directive.argument


def _is_numbered(directive, kind, label, title):
    if kind == "solution":
        return False
    if kind == "exercise":
        return "nonumber" not in directive.options
    return bool(label if kind == "equation" else label or title)
