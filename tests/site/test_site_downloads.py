"""The book as one PDF and as one EPUB, read back."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from io import BytesIO
from pathlib import PurePosixPath
from zipfile import ZIP_STORED, ZipFile

import pytest
from bs4 import BeautifulSoup
from lxml import etree
from pypdf import PdfReader

from contents import PAGES, ROOT, chapters
from test_site_page_meta import built

sys.path[:0] = [str(ROOT / "tools")]

import pdf as printer  # noqa: E402

pytestmark = pytest.mark.nightly

XHTML = "{http://www.w3.org/1999/xhtml}"
HEAD = re.compile(r"\A[^\n]*\n\d+\n")  # of a printed page: chapter and number
MATH = "{http://www.w3.org/1998/Math/MathML}math"
OPF = {"opf": "http://www.idpf.org/2007/opf"}
STEMS = [name.split("/")[1] for name in PAGES]


def plain(text: str) -> str:
    """Without its spaces, which a line's end may take."""
    return "".join(text.replace("\u200b", "").split())


@pytest.fixture(scope="module")
def articles(site):
    """The pages' texts, as the site has them."""
    found = {}
    for name in PAGES:
        text = (site / f"{name}.html").read_text("utf-8")
        article = BeautifulSoup(text, "html.parser").find("article")
        for link in article.select(".headerlink"):
            link.decompose()
        found[name.split("/")[1]] = article
    return found


@pytest.fixture(scope="module")
def pdf(downloads):
    return PdfReader(downloads / "looking-back.pdf")


@pytest.fixture(scope="module")
def said(pdf):
    """What stands on each of its pages."""
    return [page.extract_text() for page in pdf.pages]


@pytest.fixture(scope="module")
def places(pdf):
    """Where its links lead: to which page, counted from 1."""
    return {
        name.lstrip("/"): pdf.get_destination_page_number(place) + 1
        for name, place in pdf.named_destinations.items()
    }


def test_the_outline_has_every_chapter_and_its_sections(pdf, articles):
    outline = [*pdf.outline, None]
    found = {}
    for entry, inner in zip(outline, outline[1:], strict=False):
        if not isinstance(entry, list):
            inner = inner if isinstance(inner, list) else []
            titles = [one.title for one in inner if not isinstance(one, list)]
            found[entry.title] = titles
    for article in articles.values():
        for one in article.select("h2 .katex-mathml"):
            one.decompose()
        wanted = [plain(one.get_text()) for one in article.select("h2")]
        title = " ".join(article.h1.get_text().split())
        assert [*map(plain, found[title])] == wanted
    assert {"Contents", "Solutions"} <= set(found)


def test_the_contents_give_the_pages(said, places, articles):
    for stem, article in articles.items():
        number = places[stem]
        line = f"{plain(article.h1.get_text())}{number}"
        assert line in plain(said[1]), line  # all on one page
        assert plain(article.h1.get_text()) in plain(said[number - 1])
    for number, text in enumerate(said[1:], 2):
        assert str(number) in re.findall(r"\d+", text), number


def test_links_lead_on_inside_the_book_or_to_the_web(pdf, places, articles):
    inside, outside = set(), set()
    for page in pdf.pages:
        for one in page.get("/Annots") or []:
            one = one.get_object()
            if "/Dest" in one:
                inside.add(str(one["/Dest"]).lstrip("/"))
            elif one.get("/Subtype") == "/Link":
                outside.add(one["/A"]["/URI"])
    assert inside <= set(places)
    assert {url.split(":")[0] for url in outside} <= {"http", "https"}
    for stem, article in articles.items():
        for link in article.select("a[href]"):
            page, _, place = link["href"].partition("#")
            page = page.removesuffix(".html") or stem
            if page in STEMS:
                assert (f"{page}--{place}" if place else page) in inside
            elif ":" in page and "strip-button" not in link.get("class", ()):
                assert link["href"].rstrip("/") in {
                    url.rstrip("/") for url in outside
                }


def test_fonts_are_embedded(pdf):
    fonts = {}
    for page in pdf.pages:
        for font in (page["/Resources"].get("/Font") or {}).values():
            font = font.get_object()
            fonts[str(font.get("/BaseFont", font.get("/Name")))] = font
    assert fonts
    for name, font in fonts.items():
        if font["/Subtype"] == "/Type0":
            font = font["/DescendantFonts"][0].get_object()
        if font["/Subtype"] != "/Type3":  # that one holds its own drawings
            held = font["/FontDescriptor"].get_object()
            assert {"/FontFile", "/FontFile2", "/FontFile3"} & set(held), name


def test_no_page_is_blank(pdf, said):
    """None has but a head and a number, or nothing at all."""
    for number, (page, text) in enumerate(zip(pdf.pages, said, strict=True), 1):
        lines = [line for line in text.splitlines() if line.strip()]
        pictures = page["/Resources"].get("/XObject") or {}
        assert len(lines) > 3 or pictures or len(text) > 100, number


def test_every_picture_is_printed(pdf, articles):
    """By the words that its tag has for who does not see it."""
    told = Counter()
    for number in range(1, pdf.trailer["/Size"]):
        one = pdf.get_object(number)
        if hasattr(one, "get") and one.get("/S") == "/Figure":
            told[plain(one.get("/Alt", ""))] += 1
    for article in articles.values():
        for one in article.select("img, svg.drawing, iframe"):
            words = one.get("alt") or one.get("aria-label") or one.get("title")
            if words:  # a cell's plain output has none
                told[plain(words)] -= 1
    assert min(told.values()) >= 0, [w for w, n in told.items() if n < 0]


def in_one(said: list[str]) -> str:
    """The text of all its pages, without their heads and its spaces."""
    return plain("".join(HEAD.sub("", text) for text in said))


def test_code_and_solutions_are_whole(said, articles, places):
    """Every line of every open listing is there, and no listing that is folded.

    A long line may go on upon the next page. Solutions stand at the end.
    """
    whole = in_one(said)
    for stem, article in articles.items():
        for listing in article.select("pre"):
            lines = listing.get_text().splitlines()
            if listing.find_parent("details", class_="above-input"):
                text = plain("".join(lines))
                assert len(text) < 60 or text not in whole, lines[0]
                continue
            for line in lines:
                assert plain(line) in whole, line
        for one in article.select(".solution"):
            assert places[f"{stem}--{one['id']}"] >= places["solutions"]
        for one in article.select(".exercise"):
            assert places[f"{stem}--{one['id']}"] < places["solutions"]


def test_the_book_is_no_longer_than_it_need_be(pdf):
    assert len(pdf.pages) < 580


def test_the_glossary_has_its_chinese(said):
    """Whatever fonts there are now: what counts is the machine that printed."""
    whole = in_one(said)
    if not re.search("[\u4e00-\u9fff]", whole):
        pytest.skip("the PDF was printed where no font has Chinese letters")
    assert "消融实验" in whole


def test_what_is_too_wide_for_paper_is_set_smaller(browser, site):
    page = browser.new_page(viewport={"width": printer.WIDTH, "height": 900})
    page.set_content(
        '<div class="formula" style="overflow: visible"><span class="katex"'
        f' style="white-space: nowrap">{"W x + " * 100}</span></div>'
        '<div class="formula"><span class="katex">x</span></div>'
    )
    wide, small = page.locator(".katex").all()
    assert wide.bounding_box()["width"] > printer.WIDTH
    page.evaluate(printer.FIT)
    assert wide.bounding_box()["width"] <= printer.WIDTH
    assert not small.get_attribute("style")
    page.close()


def test_the_outline_is_called_as_the_headings_are(browser):
    """Also where a heading fell on two lines, or on the next page."""
    page = browser.new_page()
    page.set_content(
        '<h1 style="width: 4em">All the parts,\n and no recurrence</h1>'
        '<p style="break-before: page">here</p><h2>d<sub>k</sub>\u200b?</h2>'
    )
    headings = page.evaluate(printer.HEADINGS)
    data = page.pdf(outline=True, tagged=True)
    first, [second] = PdfReader(BytesIO(printer.named(data, headings))).outline
    assert first.title == "All the parts, and no recurrence"
    assert second.title == "dk?"
    page.close()


@pytest.fixture(scope="module")
def book(downloads):
    with ZipFile(downloads / "looking-back.epub") as archive:
        yield archive


@pytest.fixture(scope="module")
def pages(book):
    """Its files of text, each read as the XML that it has to be."""
    return {
        PurePosixPath(name).name: etree.fromstring(book.read(name))
        for name in book.namelist()
        if name.endswith(".xhtml")
    }


def test_the_epub_says_first_what_it_is(book):
    first = book.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", ZIP_STORED)
    assert book.read(first) == b"application/epub+zip"


def test_the_package_names_every_file(book, site):
    package = etree.fromstring(book.read("book/content.opf"))
    items = package.findall(".//opf:item", OPF)
    named = [f"book/{one.get('href')}" for one in items]
    others = {"mimetype", "META-INF/container.xml", "book/content.opf"}
    assert Counter(named) == Counter(set(book.namelist()) - others)
    order = {one.get("id"): one.get("href") for one in items}
    spine = [
        order[one.get("idref")]
        for one in package.findall(".//opf:itemref", OPF)
    ]
    middle = [f"{stem}.xhtml" for stem in STEMS]
    assert spine == ["title.xhtml", *middle, "solutions.xhtml"]
    for one in items:
        math = b"<math" in book.read(f"book/{one.get('href')}")
        wanted = "mathml" if math else None
        if one.get("href") == "nav.xhtml":
            wanted = "nav"
        assert one.get("properties") == wanted
    assert built(site) in book.read("book/title.xhtml").decode()


def test_links_of_the_epub_lead_somewhere(pages):
    ids = {
        name: [one.get("id") for one in page.iter() if one.get("id")]
        for name, page in pages.items()
    }
    for name, found in ids.items():
        assert len(found) == len(set(found)), name
    for name, page in pages.items():
        for link in page.iter(f"{XHTML}a"):
            href = link.get("href")
            if not href.startswith(("http:", "https:")):
                target, _, place = href.partition("#")
                assert target in pages, (name, href)
                assert not place or place in ids[target], (name, href)


def test_the_epub_has_all_formulas_and_pictures(pages, book, articles):
    solutions = pages["solutions.xhtml"]
    formulas = len([*solutions.iter(MATH)])
    held = len([*solutions.iter(f"{XHTML}img")])
    for stem, article in articles.items():
        page = pages[f"{stem}.xhtml"]
        formulas += len([*page.iter(MATH)])
        formulas -= len(article.select(".katex"))
        held += len([*page.iter(f"{XHTML}img")])
        held -= len(article.select("img, svg.drawing, iframe"))
    assert formulas == held == 0
    for page in pages.values():
        for tag in ("script", "iframe", "button"):
            assert not [*page.iter(XHTML + tag)]
        for picture in page.iter(f"{XHTML}img"):
            data = book.read(f"book/{picture.get('src')}")
            assert b"var(--" not in data


def test_the_navigation_has_every_page(pages):
    links = [one.get("href") for one in pages["nav.xhtml"].iter(f"{XHTML}a")]
    files = [one for one in links if "#" not in one]
    assert files == [*(f"{stem}.xhtml" for stem in STEMS), "solutions.xhtml"]
    assert len(links) > 5 * len(chapters())


def test_a_browser_reads_the_epub(book, browser, tmp_path):
    """As XHTML, of which one slip would leave nothing."""
    book.extractall(tmp_path)
    page = browser.new_page()
    failed = []
    page.on("requestfailed", lambda one: failed.append(one.url))
    for path in sorted((tmp_path / "book").glob("*.xhtml")):
        page.goto(path.as_uri())
        assert not page.locator("parsererror").count(), path.name
        assert page.locator("h1").first.is_visible()
        broken = page.locator("img").evaluate_all(
            "(all) => all.filter((one) => !one.naturalWidth).map((o) => o.src)"
        )
        assert broken == []
    assert failed == []
    page.close()


def test_epubcheck_finds_nothing(downloads):
    """Where it is at hand, as in the workflow that publishes the book."""
    if not (program := shutil.which("epubcheck")):
        pytest.skip("epubcheck is not installed")
    command = [program, "--failonwarnings", downloads / "looking-back.epub"]
    with open(program, "rb") as file:
        if file.read(2) == b"PK":  # Debian's is the archive itself
            command[:0] = ["java", "-jar"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def test_numbers_are_those_of_the_first_print(browser):
    """A place's page is counted from 1."""
    page = browser.new_page()
    page.set_content(
        '<a href="#far">far</a><p style="break-before: page" id="far">here'
    )
    assert printer.numbers(page.pdf()) == {"far": 2}
    assert len(PdfReader(BytesIO(page.pdf())).pages) == 2
    page.close()
