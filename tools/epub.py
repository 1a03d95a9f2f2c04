"""Make an EPUB 3 of the built site: `python tools/epub.py _build/html`.

A file of XHTML for each page, formulas as MathML, one file of solutions.
"""

from __future__ import annotations

import re
import sys
from datetime import datetime, timezone
from html import escape
from io import BytesIO
from mimetypes import guess_type
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit
from uuid import NAMESPACE_URL, uuid5
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from printing import ROOT, Book, chromium, colophon, download, gather

CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0"
 xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book/content.opf"
 media-type="application/oebps-package+xml"/></rootfiles></container>
"""
PAGE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml"
 xmlns:epub="http://www.idpf.org/2007/ops" lang="en" xml:lang="en">
<head><title>{title}</title>
<link rel="stylesheet" type="text/css" href="style.css"/></head>
<body>{body}</body></html>
"""
PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" xml:lang="en"
 unique-identifier="book"><metadata
 xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="book">urn:uuid:{identity}</dc:identifier>
<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator>
<dc:language>en</dc:language>
<dc:rights>Text: CC BY 4.0, code: MIT</dc:rights>
<dc:description>Version {version}</dc:description>
<meta property="dcterms:modified">{modified}</meta>
<meta property="schema:accessMode">textual</meta>
<meta property="schema:accessMode">visual</meta>
<meta property="schema:accessModeSufficient">textual</meta>
<meta property="schema:accessibilityFeature">alternativeText</meta>
<meta property="schema:accessibilityFeature">MathML</meta>
<meta property="schema:accessibilityFeature">tableOfContents</meta>
<meta property="schema:accessibilityHazard">none</meta>
</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>
"""
COLOUR = re.compile(r"var\(--[\w-]+, ([^()]+)\)")  # the one in the light
PICTURE = re.compile(r'(?<= src=")([^"]+)')
DOCTYPE = re.compile(rb"<!DOCTYPE[^>]*>")  # matplotlib's: a book may have none
LINK = re.compile(r'(?<= href=")#([^"]+)')
IDENTITY = re.compile(r' id="([^"]+)"')


def texts(book: Book) -> dict[str, tuple[str, str]]:
    """Every file of text, in order: its name, its title, what it says."""
    found = {
        "title": (
            book.title,
            f'<section epub:type="titlepage"><h1>{escape(book.title)}</h1>'
            f"{colophon(book)}</section>",
        )
    }
    solved = ["<h1>Solutions</h1>"]
    for page in book.pages.values():
        found[page.name] = (
            page.title,
            f'<div id="{page.name}">{page.text}</div>',
        )
        if page.solutions:
            solved.append(f"<h2>{escape(page.title)}</h2>")
            solved += page.solutions
    found["solutions"] = "Solutions", "".join(solved)
    return found


def contents(book: Book) -> str:
    """The navigation document's lists: parts, pages, sections."""

    def entry(name: str) -> str:
        page = book.pages[name]
        inner = "".join(
            f'<li><a href="{name}.xhtml#{place}">{escape(title)}</a></li>'
            for place, title in page.sections
        )
        inner = f"<ol>{inner}</ol>" if inner else ""
        title = escape(page.title)
        return f'<li><a href="{name}.xhtml">{title}</a>{inner}</li>'

    lines = ['<nav epub:type="toc" id="toc"><h1>Contents</h1><ol>']
    for caption, names in book.parts:
        items = "".join(map(entry, names))
        named = f"<li><span>{escape(caption)}</span><ol>{items}</ol></li>"
        lines.append(named if caption else items)
    lines.append('<li><a href="solutions.xhtml">Solutions</a></li></ol></nav>')
    return "".join(lines)


class Pictures:
    """The pictures that pages show, each under one name in the book."""

    def __init__(self, site: Path) -> None:
        self.site = site
        self.data: dict[str, bytes] = {}

    def keep(self, found: re.Match) -> str:
        """Where the picture stands in the book."""
        kind, _, stem = found[1].partition(":")
        if kind == "drawing":
            path = self.site / "_static" / "drawings" / f"{stem}.svg"
            text = COLOUR.sub(r"\1", path.read_text("utf-8"))
            name, data = path.name, text.encode()
        else:
            path = Path(unquote(urlsplit(found[1]).path))
            name, data = path.name, DOCTYPE.sub(b"", path.read_bytes(), 1)
        self.data[f"pictures/{name}"] = data
        return f"pictures/{name}"


def files(book: Book) -> dict[str, bytes]:
    """What the book holds, but for its package; in the order of reading."""
    pictures = Pictures(book.site)
    pages = texts(book)
    home = {
        place: name
        for name, (_, body) in pages.items()
        for place in IDENTITY.findall(body)
    }
    held = {}
    for name, (title, body) in pages.items():
        body = PICTURE.sub(pictures.keep, body)
        body = LINK.sub(lambda m: f"{home[m[1]]}.xhtml#{m[1]}", body)
        page = PAGE.format(title=escape(title), body=body)
        held[f"{name}.xhtml"] = page.encode()
    toc = PAGE.format(title="Contents", body=contents(book))
    style = (ROOT / "tools" / "epub.css").read_bytes()
    return held | {
        "nav.xhtml": toc.encode(),
        "style.css": style,
        **pictures.data,
    }


def package(book: Book, held: dict[str, bytes]) -> str:
    """What the book says of itself and of each of its files."""
    kinds = {".xhtml": "application/xhtml+xml"}
    items, spine = [], []
    for number, (name, data) in enumerate(held.items()):
        kind = kinds.get(Path(name).suffix) or guess_type(name)[0]
        has = "nav" if name == "nav.xhtml" else "mathml"
        wanted = has == "nav" or b"<math" in data
        properties = f' properties="{has}"' if wanted else ""
        items.append(
            f'<item id="f{number}" href="{name}" media-type="{kind}"'
            f"{properties}/>"
        )
        if name.endswith(".xhtml") and has != "nav":
            spine.append(f'<itemref idref="f{number}"/>')
    built = (book.site / "book" / "index.html").stat().st_mtime
    modified = datetime.fromtimestamp(built, timezone.utc)
    return PACKAGE.format(
        identity=uuid5(NAMESPACE_URL, book.title),
        title=escape(book.title),
        author=escape(book.author),
        version=escape(book.version),
        modified=modified.strftime("%Y-%m-%dT%H:%M:%SZ"),
        items="".join(items),
        spine="".join(spine),
    )


def main(site: Path) -> None:
    """Pack it, and let the site offer it."""
    with TemporaryDirectory() as folder, chromium() as browser:
        book = gather(browser, site, Path(folder), ebook=True)
        held = files(book)
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", ZIP_STORED)
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("book/content.opf", package(book, held))
        for name, data in held.items():
            archive.writestr(f"book/{name}", data)
    download(site, "epub", packed.getvalue())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
