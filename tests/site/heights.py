"""Measure the place that every figure of the built book needs.

    python tests/site/heights.py

writes it to `book/_ext/heights.json`, of which the next build makes the room
that a figure has while it sleeps. Needed after a figure was added or has grown;
`test_pages.py` says so.
"""

import json
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from browsers import launch, same_fonts
from contents import PAGES, ROOT
from watching import PATIENCE, Visit

HEIGHTS = ROOT / "book" / "_ext" / "heights.json"
WIDTHS = (375, 1280)
TALL = """() => [...document.querySelectorAll(".lookback-figure")].map(
  (one) => one.offsetHeight)"""


def tall(page: Page) -> list[int]:
    """How high every figure stands, in pixels."""
    return page.evaluate(TALL)


def kept_for(name: str, width: int) -> list[int]:
    """The room that the build makes for each figure of a page."""
    held = json.loads(HEIGHTS.read_text("utf-8")).get(name, [])
    return [both[WIDTHS.index(width)] for both in held]


def measure(browser: Browser, site: Path, name: str) -> list[list[int]]:
    """The heights of every figure of a page: on a phone, on a desk."""
    found = []
    for width in WIDTHS:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(1000 * PATIENCE)
        one = Visit(page, site.as_uri())
        one.open(f"{site.as_uri()}/{name}.html")
        one.settle()
        found.append(tall(page))
        page.close()
    return [list(both) for both in zip(*found, strict=True)]


def main(site: Path) -> None:
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        browser = launch(playwright, Path(home), **same_fonts(Path(home)))
        found = {name: measure(browser, site, name) for name in PAGES}
        browser.close()
    held = {name: each for name, each in found.items() if each}
    lines = (f" {json.dumps(name)}: {json.dumps(held[name])}" for name in held)
    HEIGHTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or [ROOT / "_build" / "html"]).resolve())
