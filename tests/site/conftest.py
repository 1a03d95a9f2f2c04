"""The built book, a server for it, and a browser that notes every trouble."""

import functools
import http.server
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from browsers import launch
from watching import Visit

ROOT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder looks at the built site."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("site")


@pytest.fixture(scope="session")
def site() -> Path:
    """The built site; `make test` has just built it, others build it here."""
    folder = os.environ.get("LOOKBACK_SITE")
    if folder is None:
        done = subprocess.run(
            ["make", "book"], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        folder = ROOT / "_build" / "html"
    assert (Path(folder) / "index.html").exists(), f"no book in {folder}"
    return Path(folder).resolve()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """The usual server, without its log."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The site's address on a port of this machine's choice."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One Chromium for all tests of the site."""
    with sync_playwright() as playwright:
        browser = launch(playwright, tmp_path_factory.mktemp("home"))
        yield browser
        browser.close()


@pytest.fixture
def visit(
    browser: Browser, site: Path, address: str
) -> Iterator[Callable[..., Visit]]:
    """Open a page in a fresh context: visit("book/index", dark=True)."""
    contexts = []

    def open_page(
        name: str,
        *,
        width: int = 1280,
        dark: bool = False,
        still: bool = False,
        scripts: bool = True,
        from_disk: bool = False,
    ) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 900 if width > 600 else 740},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if still else "no-preference",
            java_script_enabled=scripts,
        )
        context.set_default_timeout(60_000)  # busy machines
        contexts.append(context)
        base = site.as_uri() if from_disk else address
        one = Visit(context.new_page(), base)
        one.open(f"{base}/{name}.html")
        if scripts:
            one.settle()
        return one

    yield open_page
    for context in contexts:
        context.close()
