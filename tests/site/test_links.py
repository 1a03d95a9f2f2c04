"""Links inside the site lead somewhere, and the strip's to the right place."""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from contents import OTHERS, PAGES, ROOT, SERVED_OR_NOT, chapters

sys.path.insert(0, str(ROOT / "book" / "_ext"))

import facts  # noqa: E402
import notation  # noqa: E402
import security  # noqa: E402
from book_site import fork  # noqa: E402


class Anchors(HTMLParser):
    """The ids and the addresses of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.ids.add(found["id"])
        for name in ("href", "src"):
            if found.get(name) and tag != "base":
                self.links.add(found[name])


@cache
def anchors(path: Path) -> Anchors:
    """The parsed page."""
    parser = Anchors()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def to_be_made(site: Path, target: Path) -> bool:
    """Is this one of the downloads, none of which has been made yet?"""
    folders = [site / name for name in ("downloads", "slides")]
    return any(one in target.parents and not one.exists() for one in folders)


def dead(page: Path, site: Path | None = None) -> list[str]:
    """The page's links into the site that lead nowhere.

    Given the site, those to downloads may wait for `make downloads`.
    """
    lost = []
    for link in sorted(anchors(page).links):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / unquote(parts.path)).resolve()
        target = target if parts.path else page
        if not target.is_file():
            if not (site and to_be_made(site, target)):
                lost.append(link)
        elif parts.fragment and target.suffix == ".html":
            if unquote(parts.fragment) not in anchors(target).ids:
                lost.append(link)
    return lost


@pytest.mark.parametrize("name", [*PAGES, *OTHERS])
def test_internal_links_resolve(site, name):
    assert dead(site / f"{name}.html", site) == []


@pytest.mark.nightly
@pytest.mark.usefixtures("downloads")
def test_links_to_downloads_resolve(site):
    assert dead(site / "book" / "teachers.html") == []


@pytest.mark.parametrize("name", PAGES)
def test_page_loads_nothing_from_elsewhere(site, name):
    text = (site / f"{name}.html").read_text(encoding="utf-8")
    for host in ("cdn.jsdelivr.net", "unpkg.com", "cdnjs.cloudflare.com"):
        assert host not in text


@pytest.mark.parametrize("name", chapters())
def test_strip_opens_the_chapters_own_notebook(site, name):
    stem = name.split("/")[-1]
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    owner, repository = fork(config["repository"]["url"]).split("/")[-2:]
    branch = config["repository"]["branch"]
    links = anchors(site / f"{name}.html").links
    assert (
        f"https://colab.research.google.com/github/{owner}/{repository}"
        f"/blob/{branch}/notebooks/{stem}.ipynb" in links
    )
    assert f"../notebooks/{stem}.ipynb" in links
    served = site / "notebooks" / f"{stem}.ipynb"
    committed = ROOT / "notebooks" / f"{stem}.ipynb"
    assert served.read_bytes() == committed.read_bytes()


@pytest.mark.parametrize("from_disk", SERVED_OR_NOT)
def test_a_former_address_leads_on_to_the_same_place(visit, from_disk):
    one = visit("book/index", from_disk=from_disk)
    one.page.goto(f"{one.base}/book/tape.html#exercises")
    one.page.wait_for_url(f"{one.base}/book/ntm.html#exercises")
    assert one.page.locator("#exercises").is_visible()
    assert one.troubles == []


def test_a_former_address_leads_on_without_scripts(visit):
    one = visit("book/index", scripts=False)
    one.page.goto(f"{one.base}/book/tape.html")
    one.page.wait_for_url(f"{one.base}/book/ntm.html")


def test_former_addresses_forbid_what_pages_do_and_are_not_found(site):
    index = (site / "searchindex.js").read_text("utf-8")
    for old in facts.formerly(notation.pages()):
        path = site / "book" / f"{old}.html"
        assert security.META in path.read_text("utf-8")
        assert dead(path) == []
        assert f'"book/{old}"' not in index
