"""Print the built site as one PDF: `python tools/pdf.py _build/html`.

One document of all chapters, which Chromium prints: so links lead from chapter
to chapter, and its headings are the outline. It is printed twice, since only
the first print knows the page numbers that the contents give.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont
from playwright.sync_api import Page
from printing import ROOT, Book, chromium, colophon, download, gather
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, NameObject, TextStringObject

SHEETS = ("pygments.css", "katex/katex.min.css", "lookback.css")
FACE = "fonts/source-serif-4-latin-wght-{}.woff2"
WIDTH = 643  # pixels between the margins of A4 (print.css)
# What is wider than the page is set smaller, since paper cannot be scrolled.
FIT = """() => {
  const inner = (one) => one.matches(".formula") ? ".katex" : "table";
  const wide = ".formula, .pst-scrollable-table-container";
  for (const one of document.querySelectorAll(wide)) {
    const share = one.clientWidth / one.scrollWidth;
    if (share < 1) one.querySelector(inner(one)).style.zoom = 0.99 * share;
  }
}"""
HEADINGS = """() => [...document.querySelectorAll("h1, h2, h3, h4")]
  .map(({ textContent: words }) =>
    words.replace(/\\u200b/g, "").trim().replace(/\\s+/g, " "))"""
NUMBERS = """(numbers) => {
  for (const one of document.querySelectorAll("[data-page-of]"))
    one.textContent = numbers[one.dataset.pageOf];
}"""


def entry(name: str, title: str) -> str:
    """A line of the contents, its number still to come."""
    return (
        f'<li><a href="#{name}">{escape(title)}</a>'
        f'<span data-page-of="{name}">000</span></li>'
    )


def contents(book: Book) -> str:
    """The front: title, version, licence, and what stands where."""
    lines = [
        f'<section class="front"><h1>{escape(book.title)}</h1>',
        f"{colophon(book)}</section>",
        '<section class="contents"><h1>Contents</h1>',
    ]
    for caption, names in book.parts:
        if caption:
            lines.append(f'<p class="part">{escape(caption)}</p>')
        items = (entry(name, book.pages[name].title) for name in names)
        lines.append(f"<ol>{''.join(items)}</ol>")
    lines.append(f"<ol>{entry('solutions', 'Solutions')}</ol></section>")
    return "".join(lines)


def solutions(book: Book) -> str:
    """All solutions, chapter by chapter."""
    lines = ["<h1>Solutions</h1>"]
    for page in book.pages.values():
        if page.solutions:
            title = escape(page.title)
            lines += [f"<h2>{title}</h2>", *page.solutions]
    return "".join(lines)


def faces(site: Path, folder: Path) -> str:
    """The text face cut at its weights: whole, it would print as drawings."""
    rules = []
    for style in ("normal", "italic"):
        for weight in (400, 600):
            font = TTFont(site / "_static" / FACE.format(style))
            font = instantiateVariableFont(font, {"wght": weight})
            path = folder / f"{style}-{weight}.woff2"
            font.save(path)
            rules.append(
                f"@font-face {{ font-family: Book; font-style: {style};"
                f" font-weight: {weight}; src: url({path.as_uri()}) }}"
            )
    return "".join(rules)


def document(book: Book, folder: Path) -> str:
    """The whole book as one page of HTML, each chapter with its own head."""
    heads, bodies = [faces(book.site, folder)], []
    texts = {page.name: (page.title, page.text) for page in book.pages.values()}
    texts["solutions"] = ("Solutions", solutions(book))
    for name, (title, text) in texts.items():
        head = title.replace("\\", "").replace('"', r"\"")
        heads.append(
            f"#{name} {{ page: {name}-page }}\n@page {name}-page {{"
            f' @top-right {{ content: "{head}" }} }}'
        )
        bodies.append(f'<section class="page" id="{name}">{text}</section>')
    sheets = [book.site / "_static" / name for name in SHEETS]
    links = "".join(
        f'<link rel="stylesheet" href="{sheet.as_uri()}">'
        for sheet in [*sheets, ROOT / "tools" / "print.css"]
    )
    return (
        '<!doctype html><html lang="en" data-theme="light"><head>'
        f'<meta charset="utf-8"><title>{escape(book.title)}</title>{links}'
        f"<style>{''.join(heads)}</style></head>"
        f'<body class="bd-article bd-content">{contents(book)}'
        f"{''.join(bodies)}</body></html>"
    )


def printed(page: Page) -> bytes:
    """The document as it stands."""
    return page.pdf(prefer_css_page_size=True, outline=True, tagged=True)


def numbers(data: bytes) -> dict[str, int]:
    """The page on which each place is that a link leads to."""
    pdf = PdfReader(BytesIO(data))
    return {
        name.lstrip("/"): pdf.get_destination_page_number(place) + 1
        for name, place in pdf.named_destinations.items()
    }


def entries(outline: DictionaryObject) -> Iterator[DictionaryObject]:
    """The outline's entries, in the order of the pages."""
    entry = outline.get("/First")
    while entry is not None:
        entry = entry.get_object()
        yield entry
        yield from entries(entry)
        entry = entry.get("/Next")


def named(data: bytes, headings: list[str]) -> bytes:
    """The PDF, each entry of its outline with its heading's words.

    Chromium loses spaces at the ends of lines, and says a heading twice that it
    has moved to the next page.
    """
    pdf = PdfWriter(BytesIO(data), incremental=True)
    found = entries(pdf.root_object["/Outlines"])
    for entry, heading in zip(found, headings, strict=True):
        entry[NameObject("/Title")] = TextStringObject(heading)
    written = BytesIO()
    pdf.write(written)
    return written.getvalue()


def main(site: Path) -> None:
    """Print it, and let the site offer it."""
    with TemporaryDirectory() as folder, chromium() as browser:
        book = gather(browser, site, Path(folder), ebook=False)
        whole = Path(folder, "book.html")
        whole.write_text(document(book, Path(folder)), encoding="utf-8")
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        page.set_default_timeout(600_000)
        page.emulate_media(media="print", color_scheme="light")
        page.goto(whole.as_uri())
        page.evaluate("document.fonts.ready.then(() => true)")
        page.evaluate(FIT)
        page.evaluate(NUMBERS, numbers(printed(page)))
        data = named(printed(page), page.evaluate(HEADINGS))
    download(site, "pdf", data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
