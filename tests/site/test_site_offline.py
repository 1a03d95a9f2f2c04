"""The book without a line: what a browser keeps of it, and the ZIP."""

import shutil
import sys
from types import SimpleNamespace
from zipfile import ZipFile

import pytest

from contents import OTHERS, PAGES, ROOT, chapters
from test_links import dead
from test_site_lazy_load import SHOWN
from watching import PATIENCE, Visit, served

sys.path[:0] = [str(ROOT / "book" / "_ext")]

import offline  # noqa: E402

HIDDEN = "() => document.querySelector('.kept').hidden"
KEPT = "() => !document.querySelector('.kept').hidden"
FONTS = "() => document.fonts.status === 'loaded'"
NEXT = "() => document.querySelector('.version')?.innerText.startsWith('next')"
# What has become of the worker, once it has tried.
TRIED = """() => navigator.serviceWorker.register("../sw.js").then(
  ({ installing, active }) => new Promise((said) => {
    const one = installing ?? active;
    one.onstatechange = () => {
      if (one.state !== "installing") said(one.state);
    };
  }))"""
NEWER = ".newer:not([hidden])"


@pytest.fixture
def published(site, tmp_path):
    """The site on a server of its own, which can be stopped."""
    folder = tmp_path / "site"
    away = shutil.ignore_patterns("downloads", "machines", "notebooks")
    shutil.copytree(site, folder, ignore=away)
    offline.lay(folder)
    with served(folder) as address:
        yield SimpleNamespace(folder=folder, address=address)


@pytest.fixture
def tab(browser):
    """A browser of its own, which has never seen the book."""
    context = browser.new_context()
    context.set_default_timeout(1000 * PATIENCE)
    yield context.new_page()
    context.close()


@pytest.mark.nightly
def test_once_a_page_has_been_opened_all_are_there_without_a_line(
    published, tab
):
    """And the page says so then, not before."""
    tab.goto(
        f"{published.address}/book/transducer.html",
        wait_until="domcontentloaded",
    )
    assert tab.evaluate(HIDDEN)
    tab.wait_for_function(KEPT)
    tab.wait_for_function(SHOWN)  # as on paper, which may not wait for them
    tab.context.set_offline(True)
    one = Visit(tab, published.address)
    for name in ["index", "search", *chapters()[-2:], *PAGES[-2:]]:
        one.open(f"{published.address}/{name}.html")
        one.settle()
        tab.wait_for_function(FONTS)
        tab.wait_for_function(KEPT)
    one.open(f"{published.address}/search.html?q=attention")
    tab.locator("#search-results li").first.wait_for()
    assert one.troubles == []


@pytest.mark.nightly
def test_a_new_version_takes_the_place_of_the_old(published, tab):
    page = f"{published.address}/book/index.html"
    tab.goto(page)
    tab.wait_for_function(KEPT)
    assert not tab.locator(NEWER).count()
    for path in (published.folder / "book").glob("*.html"):
        text = path.read_text("utf-8")
        path.write_text(text.replace('"version">', '"version">next '), "utf-8")
    offline.lay(published.folder)
    tab.goto(page)
    tab.locator(NEWER).locator("button").click()
    tab.wait_for_function(NEXT)
    tab.context.set_offline(True)
    for name in ("index", "heads"):
        tab.goto(f"{published.address}/book/{name}.html")
        assert tab.locator(".version").inner_text().startswith("next")
        assert not tab.locator(NEWER).count()


@pytest.mark.nightly
def test_what_cannot_be_kept_is_not_said_to_be(published, tab):
    """Here one file has gone that the worker wants; the page goes on."""
    next((published.folder / "_images").iterdir()).unlink()
    failed = []
    tab.on("pageerror", lambda error: failed.append(error))
    tab.goto(f"{published.address}/book/glossary.html")
    assert tab.evaluate(TRIED) == "redundant"
    assert tab.evaluate(HIDDEN)
    assert failed == []


@pytest.mark.nightly
def test_from_disk_nothing_is_said_to_be_kept(visit):
    one = visit("book/glossary", from_disk=True)
    assert one.page.evaluate(HIDDEN)
    assert one.troubles == []


@pytest.mark.nightly
def test_the_worker_names_what_pages_load(visit, site):
    kept = offline.kept(site)
    own = ("_static/machines/", "vendor/")  # fetched when wanted
    for name in ("book/index", "book/rnnsearch"):
        one = visit(name, kept=False)
        one.walk_down()
        for url in one.loaded:
            path = url.removeprefix(one.base).lstrip("/").split("?")[0]
            if url.startswith(one.base) and not path.startswith(own):
                assert path in kept, path
    assert {f"{name}.html" for name in [*PAGES, *OTHERS]} <= set(kept)
    total = sum((site / name).stat().st_size for name in kept)
    assert total < 20e6


@pytest.fixture(scope="module")
def unpacked(downloads, tmp_path_factory):
    folder = tmp_path_factory.mktemp("a folder é")
    with ZipFile(downloads / "looking-back.zip") as archive:
        archive.extractall(folder)
    (only,) = folder.iterdir()
    return only


@pytest.mark.nightly
def test_the_zip_is_the_site(unpacked, site):
    inside = [path.name for path in (unpacked / "downloads").iterdir()]
    assert inside and not [name for name in inside if offline.STEM in name]
    for name in [*PAGES, *OTHERS]:
        text = (unpacked / f"{name}.html").read_text("utf-8")
        ours = (site / f"{name}.html").read_text("utf-8")
        assert text == offline.FOOT.sub("", ours, count=1)
        assert dead(unpacked / f"{name}.html") == []


@pytest.mark.nightly
def test_the_zip_opens_from_disk(unpacked, browser):
    page = browser.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    one = Visit(page, unpacked.as_uri())
    for name in ("index", "book/attention"):
        one.open(f"{unpacked.as_uri()}/{name}.html")
        one.settle()
    assert one.troubles == []
    page.close()


@pytest.mark.nightly
def test_every_page_offers_what_was_made(downloads, site):
    for name in [*PAGES, "search", "genindex"]:
        text = (site / f"{name}.html").read_text("utf-8")
        foot = offline.FOOT.search(text)[0]
        for path in offline.made(site).values():
            assert f'downloads/{path.name}" download' in foot


def test_what_stands_beside_the_offer_stays(tmp_path):
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "looking-back.pdf").write_bytes(bytes(10))
    page = tmp_path / "index.html"
    page.write_text(f'<p class="downloads"></p>{offline.KEPT}')
    for _ in range(2):
        offline.lay(tmp_path)
        assert page.read_text().endswith(f".</p>{offline.KEPT}")


def test_nothing_is_offered_that_was_not_made(tmp_path):
    (tmp_path / "book").mkdir()
    page = tmp_path / "book" / "index.html"
    page.write_text('<p class="downloads">An old one</p>')
    assert offline.links(tmp_path, page) == ""
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "looking-back.pdf").write_bytes(bytes(3_000_000))
    assert offline.links(tmp_path, page) == (
        'The whole book as <a href="../downloads/looking-back.pdf" download>'
        "PDF</a> (3 MB)."
    )
