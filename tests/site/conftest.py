"""The built book, a server for it, and a browser that notes every trouble."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from playwright.sync_api import (
    Browser,
    CDPSession,
    Page,
    expect,
    sync_playwright,
)

from browsers import launch, same_fonts
from contents import PAGES
from watching import PATIENCE, Visit, served

expect.set_options(timeout=1000 * PATIENCE)  # as all else that waits
ROOT = Path(__file__).resolve().parents[2]
# Else what one test has opened would be kept for the next (test_site_offline).
NO_WORKER = "delete Navigator.prototype.serviceWorker"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder looks at the built site.

    Tests of one page follow each other, so that it stays open: first the one
    that opens it as a reader does, then those that step its widgets.
    """

    here = Path(__file__).parent

    def turn(item: pytest.Item) -> tuple[int, int]:
        if here not in item.path.parents:
            return len(PAGES) + 1, 0
        item.add_marker("site")
        given = item.callspec.params if hasattr(item, "callspec") else {}
        name = given.get("name", getattr(item.module, "PAGE", None))
        if name not in PAGES:
            return len(PAGES), 0
        opens = item.function.__name__ == "test_page_on_a_desk"
        steps = "at_start" in item.fixturenames
        return PAGES.index(name), 0 if opens else 1 if steps else 2

    items.sort(key=turn)


@pytest.fixture(scope="session")
def site() -> Path:
    """The built site; `make test` has just built it, others build it here.

    It need not have downloads: tests of those ask for `downloads`.
    """
    folder = os.environ.get("LOOKBACK_SITE")
    if folder is None:
        (ROOT / ".cache").mkdir(exist_ok=True)
        with FileLock(ROOT / ".cache" / "book.lock"):
            done = subprocess.run(
                ["make", "book"], cwd=ROOT, capture_output=True, text=True
            )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        folder = ROOT / "_build" / "html"
    assert (Path(folder) / "index.html").exists(), f"no book in {folder}"
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def downloads(site: Path) -> Path:
    """Archives, PDF, EPUB, ZIP; `make downloads` makes them before."""
    folder = site / "downloads"
    tools = {
        "students.zip": ROOT / "book" / "_ext" / "handouts.py",
        "looking-back.pdf": ROOT / "tools" / "pdf.py",
        "looking-back.epub": ROOT / "tools" / "epub.py",
        "looking-back.zip": ROOT / "book" / "_ext" / "offline.py",
    }
    (ROOT / ".cache").mkdir(exist_ok=True)
    with FileLock(ROOT / ".cache" / "downloads.lock"):
        for name, tool in tools.items():
            if not (folder / name).exists():
                subprocess.run([sys.executable, tool, site], check=True)
    return folder


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The site's address on a port of this machine's choice."""
    with served(site) as address:
        yield address


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One Chromium for all tests of the site."""
    home = tmp_path_factory.mktemp("home")
    with sync_playwright() as playwright:
        browser = launch(playwright, home, **same_fonts(home))
        yield browser
        browser.close()


@dataclass(frozen=True)
class Mode:
    """How a page is read."""

    width: int = 1280
    dark: bool = False
    still: bool = False
    scripts: bool = True
    from_disk: bool = False
    kept: bool = True  # may what another page has loaded be used again?
    asleep: bool = False  # are the widgets left to sleep?
    place: str = ""  # what follows the page's name in the link


class Reader:
    """Opens page after page in one tab, each loaded whole and by itself.

    A fresh tab for every page would cost three times as much. Nothing goes
    from one page to the next: storage is emptied, and a blank page stands
    between two. Only a tab without scripts is another one.
    """

    def __init__(self, browser: Browser, site: Path, address: str) -> None:
        self.browser, self.site, self.address = browser, site, address
        self.tabs: dict[bool, Page] = {}
        self.wires: dict[bool, CDPSession] = {}
        self.now: Visit | None = None
        self.shown: tuple[str, Mode] | None = None

    def tab(self, scripts: bool) -> Page:
        """The tab with or without scripts."""
        if scripts not in self.tabs:
            context = self.browser.new_context(java_script_enabled=scripts)
            context.set_default_timeout(1000 * PATIENCE)
            context.add_init_script(NO_WORKER)
            page = self.tabs[scripts] = context.new_page()
            self.wires[scripts] = context.new_cdp_session(page)
            self.wires[scripts].send("Network.enable")
        return self.tabs[scripts]

    def leave(self) -> None:
        """Go from the page that is open, and leave nothing behind."""
        if self.now is None:
            return
        self.now.leave()
        page, mode = self.now.page, self.shown[1]
        if mode.scripts:
            page.mouse.up()
            page.evaluate("localStorage.clear()")
        page.context.clear_cookies()
        page.goto("about:blank")
        self.now = self.shown = None

    def forget(self) -> None:
        """Close all tabs, in whatever state they are; the next are new."""
        self.now = self.shown = None
        for page in self.tabs.values():
            page.context.close()
        self.tabs = {}

    def open(self, name: str, **kind: Any) -> Visit:
        """Load a page: open("book/index", dark=True)."""
        mode = Mode(**kind)
        self.leave()
        page = self.tab(mode.scripts)
        height = 900 if mode.width > 600 else 740
        page.set_viewport_size({"width": mode.width, "height": height})
        page.emulate_media(
            media="null",
            color_scheme="dark" if mode.dark else "light",
            reduced_motion="reduce" if mode.still else "no-preference",
        )
        self.wires[mode.scripts].send(
            "Network.setCacheDisabled", {"cacheDisabled": not mode.kept}
        )
        if not mode.kept:
            self.wires[mode.scripts].send(
                "Storage.clearDataForOrigin",
                {"origin": self.address, "storageTypes": "cache_storage"},
            )
        base = self.site.as_uri() if mode.from_disk else self.address
        self.now = Visit(page, base)
        self.shown = (name, mode)
        self.now.open(f"{base}/{name}.html{mode.place}")
        if mode.scripts and not mode.asleep:
            self.now.settle()
        return self.now

    def open_already(self, name: str) -> bool:
        """Is the page there as `open(name)` would show it, if stepped?"""
        if self.now is None or not self.now.settled:
            return False
        shown, mode = self.shown
        awake = replace(mode, kept=True, asleep=False)  # it has come and woken
        return (shown, awake) == (name, Mode())

    def at_start(self, name: str) -> Visit:
        """A page, with its widgets as they are when it is opened.

        Where it is open already, they alone are rendered anew.
        """
        if not self.open_already(name):
            return self.open(name)
        self.now.troubles.clear()
        self.now.start_again()
        return self.now


@pytest.fixture(scope="session")
def only_reader(browser: Browser, site: Path, address: str) -> Iterator[Reader]:
    """The tabs that all tests of this process share."""
    reader = Reader(browser, site, address)
    yield reader
    reader.forget()


@pytest.fixture
def reader(
    only_reader: Reader, request: pytest.FixtureRequest
) -> Iterator[Reader]:
    """Those tabs; a test that fails leaves none of them to the next."""
    failed = request.session.testsfailed
    yield only_reader
    if request.session.testsfailed > failed:
        only_reader.forget()


@pytest.fixture
def visit(reader: Reader) -> Callable[..., Visit]:
    """Load a page for this test alone: visit("book/index", dark=True)."""
    return reader.open


@pytest.fixture
def at_start(reader: Reader) -> Callable[[str], Visit]:
    """A page whose widgets stand as they do when it is opened.

    For tests that step a widget, and touch nothing else of the page.
    """
    return reader.at_start
