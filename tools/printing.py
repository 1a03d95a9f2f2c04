"""The built site as paper wants it: one text, which `pdf.py` and `epub.py` set.

Chromium opens page after page from disk. Widgets are their pictures, BertViz's
frames are photographed, folded text is open and folded code left out, and the
solutions go to the end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "site"), str(ROOT / "book" / "_ext")]

from offline import STEM, lay  # noqa: E402

from browsers import launch  # noqa: E402

ARTICLE = (ROOT / "tools" / "article.js").read_text(encoding="utf-8")
# The table of contents, as the site's own sidebar has it.
CONTENTS = """() => ({
  book: document.querySelector(".logo__title").textContent.trim(),
  address: (document.querySelector("link[rel=canonical]")?.href ?? "")
    .replace("book/index.html", ""),
  version: document.querySelector(".version").textContent,
  author: document.querySelector(".component-author").textContent
    .replace(/^\\s*By/, "").trim(),
  parts: [...document.querySelectorAll(".bd-docs-nav ul.nav")].map((list) => ({
    caption: list.previousElementSibling?.matches(".caption")
      ? list.previousElementSibling.textContent.trim() : "",
    pages: [...list.querySelectorAll("a")].map(
      (one) => new URL(one.href).pathname.match(/([\\w-]+)\\.html$/)[1]),
  })),
})"""
LICENCE = """<p>Text and drawings: CC BY 4.0,
<a href="https://creativecommons.org/licenses/by/4.0/"
>creativecommons.org/licenses/by/4.0</a>. Code: MIT,
<a href="https://opensource.org/license/mit">opensource.org/license/mit</a>.</p>"""
LEFT_OUT = """<p>The code of plots and tables, which the pages fold away, is
left out here. The pages and the notebooks have it.</p>"""


@dataclass
class Page:
    """A page of the site: its text is one element of well-formed XHTML.

    Of a section it has the id and the title.
    """

    name: str
    title: str
    text: str
    sections: list[tuple[str, str]]
    solutions: list[str]


@dataclass
class Book:
    """All pages in order; a part is its caption with its pages' names."""

    title: str
    author: str
    version: str
    address: str
    parts: list[tuple[str, list[str]]]
    pages: dict[str, Page]
    site: Path


def colophon(book: Book) -> str:
    """What stands under the title: who, which version, where, which licence."""
    where = escape(book.address)
    lines = [
        f"<p>{escape(book.author)}</p>",
        f"<p>Version {escape(book.version)}</p>",
        f'<p>To be stepped through at <a href="{where}">{where}</a></p>'
        if where
        else "",
        LICENCE,
        LEFT_OUT,
    ]
    return "".join(lines)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a home of its own."""
    with sync_playwright() as playwright, TemporaryDirectory() as home:
        browser = launch(playwright, Path(home))
        yield browser
        browser.close()


def frames(browser: Browser, address: str, folder: Path) -> list[str]:
    """Photograph the page's frames, in their order."""
    page = browser.new_page(
        viewport={"width": 800, "height": 900}, device_scale_factor=2
    )
    page.goto(address)
    taken = []
    for i, frame in enumerate(page.locator("iframe").all()):
        frame.scroll_into_view_if_needed()
        inside = frame.element_handle().content_frame()
        inside.locator("svg").first.wait_for()
        page.wait_for_timeout(300)  # its lines follow its words
        path = folder / f"{Path(address).stem}-{i}.png"
        frame.screenshot(path=path)
        taken.append(path.as_uri())
    page.close()
    return taken


def gather(browser: Browser, site: Path, folder: Path, *, ebook: bool) -> Book:
    """The book of a built site; pictures that it lacks go to `folder`.

    An e-book has its formulas as MathML, and its drawings as pictures.
    """
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    base = site.resolve().as_uri()
    tab.goto(f"{base}/book/index.html")
    found = tab.evaluate(CONTENTS)
    parts = [(part["caption"], part["pages"]) for part in found["parts"]]
    names = [name for _, part in parts for name in part]
    pages = {}
    for name in names:
        address = f"{base}/book/{name}.html"
        tab.goto(address)
        given = {"name": name, "names": names, "ebook": ebook}
        made = Page(name, **tab.evaluate(ARTICLE, given))
        if "bertviz:" in made.text:
            for i, picture in enumerate(frames(browser, address, folder)):
                mark = f'"bertviz:{name}-{i}"'
                made.text = made.text.replace(mark, f'"{picture}"')
        pages[name] = made
    context.close()
    return Book(
        title=found["book"],
        author=found["author"],
        version=found["version"],
        address=found["address"],
        parts=parts,
        pages=pages,
        site=site.resolve(),
    )


def download(site: Path, kind: str, data: bytes) -> None:
    """Lay a file where the site offers it, and let every page say so."""
    target = site / "downloads" / f"{STEM}.{kind}"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(data)
    lay(site)
    print(target)
