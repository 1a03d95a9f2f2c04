"""What teachers take away: archives that are whole, slides that are shown."""

import csv
import io
import re
import shutil
import subprocess
import zipfile
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from contents import ROOT, chapters

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("downloads")]

STEMS = [name.split("/")[-1] for name in chapters()]
LABEL = re.compile(r"^```\{math\}\n:label: (\S+)$", re.MULTILINE)


def held(site, name: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(site / "downloads" / f"{name}.zip")


def told(site, stem: str) -> BeautifulSoup:
    """A chapter's page without its exercises."""
    text = (site / f"book/{stem}.html").read_text("utf-8")
    page = BeautifulSoup(text, "html.parser").find("article")
    page.find("section", id="exercises").decompose()
    return page


def test_the_page_leads_to_every_archive_and_all_slides(site):
    text = (site / "book/teachers.html").read_text("utf-8")
    links = {
        link["href"]
        for link in BeautifulSoup(text, "html.parser").select("a")
        if link.get("href")
    }
    for path in (site / "downloads").iterdir():
        assert f"../downloads/{path.name}" in links
    for stem in STEMS:
        assert f"../slides/{stem}.html" in links


@pytest.mark.parametrize("name", ["students", "teachers"])
def test_an_archive_has_every_notebook(site, name):
    names = {f"{stem}.ipynb" for stem in STEMS}
    assert set(held(site, name).namelist()) == names


def test_an_assignment_for_each_chapter(site):
    names = held(site, "assignments").namelist()
    assert {"README.txt", "requirements.txt"} < set(names)
    for stem in STEMS:
        assert f"{stem}/{stem}.ipynb" in names
        assert any(name.startswith(f"{stem}/tests/") for name in names)


@pytest.mark.parametrize("stem", STEMS)
def test_every_figure_is_an_svg(site, stem):
    page, archive = told(site, stem), held(site, "figures")
    shown = page.select("svg.drawing, .cell_output img")
    names = [
        name
        for name in archive.namelist()
        if re.fullmatch(rf"figures/{stem}-\d+\.svg", name)
    ]
    assert len(names) == len(shown) > 0
    for name in names:
        text = archive.read(name).decode()
        assert ElementTree.fromstring(text).tag.endswith("}svg")
        assert "var(" not in text  # which no program but a browser knows
    table = csv.DictReader(io.StringIO(archive.read("figures.csv").decode()))
    words = {row["file"]: row["what it shows"] for row in table}
    assert all(len(words[name]) > 20 for name in names)


@pytest.mark.parametrize("stem", STEMS)
def test_every_equation_is_tex(site, stem):
    text = held(site, "figures").read(f"equations/{stem}.tex").decode()
    page = (ROOT / f"book/{stem}.md").read_text("utf-8")
    for label in LABEL.findall(page):
        assert text.count(f"\\label{{{label}}}\\tag{{") == 1
    shown = told(site, stem).select("div.math")
    assert text.count("\\begin{equation*}") == len(shown)
    numbers = [one.get_text() for one in told(site, stem).select(".eqno")]
    tags = re.findall(r"\\tag\{(\d+)\}", text)
    assert [f"({tag})" for tag in tags] == [one.rstrip("#") for one in numbers]


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no LaTeX here")
def test_the_equations_compile(site, tmp_path):
    held(site, "figures").extractall(tmp_path)
    once = ["pdflatex", "-draftmode", "-halt-on-error", "equations.tex"]
    done = subprocess.run(once, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]


# What of the slide that is shown stands outside it.
OUTSIDE = """() => {
  const slide = Reveal.getCurrentSlide();
  const frame = slide.getBoundingClientRect();
  const out = [...slide.querySelectorAll("*")].filter((one) => {
    if (one.closest(".katex-mathml, svg svg, svg *")) return false;
    const box = one.getBoundingClientRect();
    return box.width && (box.right > frame.right + 2
      || box.bottom > frame.bottom + 2 || box.left < frame.left - 2);
  });
  return out.map((one) => `${one.tagName} ${one.textContent.slice(0, 40)}`);
}"""
PICTURES = """() => [...Reveal.getCurrentSlide().querySelectorAll(
  "img, svg.drawing")].map((one) => {
    const box = one.getBoundingClientRect();
    const drawn = one.localName === "svg" || one.naturalWidth > 0;
    return drawn ? Math.min(box.width, box.height) : 0;
  })"""


@pytest.mark.parametrize("stem", STEMS)
def test_slides_are_walked_and_nothing_sticks_out(visit, site, stem):
    """By the arrow keys, at 1280 × 720: each slide, each figure."""
    one = visit("book/teachers")
    page = one.page
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{one.base}/slides/{stem}.html")
    page.wait_for_function("() => globalThis.Reveal?.isReady()")
    total = page.evaluate("() => Reveal.getTotalSlides()")
    seen, figures, kept = set(), 0, []
    for _ in range(3 * total):
        now = page.evaluate("() => Reveal.getIndices().h")
        assert page.evaluate(OUTSIDE) == [], f"slide {now}"
        if now not in seen:
            sizes = page.evaluate(PICTURES)
            assert all(size > 100 for size in sizes), f"slide {now}: {sizes}"
            figures += len(sizes)
            title = page.evaluate("() => Reveal.getCurrentSlide().innerText")
            assert len(title) > 15 or sizes, f"slide {now}"
            kept.append(title)
        seen.add(now)
        if page.evaluate("() => Reveal.isLastSlide()"):
            break
        page.keyboard.press("ArrowRight")
    assert len(seen) == total > 12
    assert figures == len(
        told(site, stem).select("svg.drawing, .cell_output img")
    )
    assert kept[-1].startswith("Exercises")
    assert one.troubles == []


def test_a_verdict_comes_with_one_more_key(visit):
    one = visit("book/teachers")
    page = one.page
    page.goto(f"{one.base}/slides/bottleneck.html")
    page.wait_for_function("() => globalThis.Reveal?.isReady()")
    page.evaluate(
        "() => Reveal.slide(Reveal.getSlides().indexOf("
        "document.querySelector('section.myth')))"
    )
    verdict = page.locator("section.present .fragment")
    expect(verdict).to_have_css("opacity", "0")
    page.keyboard.press("ArrowRight")
    expect(verdict).to_have_css("opacity", "1")
    expect(verdict.locator(".verdict")).to_have_text("wrong")
    page.keyboard.press("ArrowLeft")
    expect(verdict).to_have_css("opacity", "0")
    assert one.troubles == []


@pytest.mark.parametrize("stem", STEMS)
def test_slides_are_a_page_on_a_phone(visit, stem):
    one = visit("book/teachers", width=375)
    page = one.page
    page.goto(f"{one.base}/slides/{stem}.html")
    assert page.evaluate("() => document.documentElement.scrollWidth") == 375
    sections = page.locator("section")
    assert sections.count() > 12
    for section in sections.all():
        assert section.is_visible()
    assert one.troubles == []


def test_slides_open_from_disk(visit):
    one = visit("book/teachers", from_disk=True)
    page = one.page
    page.goto(f"{one.base}/slides/attention.html")
    page.wait_for_function("() => globalThis.Reveal?.isReady()")
    for _ in ("what the page opens with", "the box"):
        page.keyboard.press("ArrowRight")
    expect(page.locator("section.present h2")).to_have_text("In one minute")
    assert one.troubles == []
