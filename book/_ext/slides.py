"""Slides of each chapter, out of its built page: `slides/<chapter>.html`.

A slide has a section's title and how each of its paragraphs begins, with the
equations, the code and the tables between them, as long as there is room. Each
figure has a slide to itself, and so has a myth, with its verdict on the next
key. Nothing is written for the slides alone, so nothing in
them can be older than the page. `slides.js` gives them to reveal.js where the
screen is wide enough; elsewhere they are a page to scroll.
"""

from __future__ import annotations

import re
from copy import copy as copied
from functools import cache
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString, Tag
from security import guarded
from teaching import chapters

FOLDER = "slides"
LEFT = (
    "Exercises",
    "Names in the literature",
    "Further reading",
    "Train it yourself",
)
SENTENCE = re.compile(r"[.?!][”’)\"']*(?=\s|$)")
LONG = 80  # letters that a paragraph's beginning has at least
TASK = "Your task."
# Pixels of a slide of 720, with what stands on it by slides.css.
ROOM, LETTERS, LINE, GAP = 560, 76, 38, 17
CODE, EQUATION, ROW = 27, 62, 46
LINES, WIDE = 17, 84  # of code or output that can be read from a bench
ROWS = 8

PAGE = """<!doctype html>
<html lang="en"><head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: slides</title>
<link rel="icon" href="../_static/favicon.svg">
<link rel="stylesheet" href="../_static/katex/katex.min.css">
<link rel="stylesheet" href="../_static/pygments.css">
<link rel="stylesheet" href="../_static/reveal/reveal.css" media="not all">
<link rel="stylesheet" href="../_static/slides.css">
<script defer src="../_static/reveal/reveal.js"></script>
<script defer src="../_static/slides.js"></script>
</head><body>
<main class="reveal"><div class="slides">
{slides}
</div></main>
</body></html>
"""


def inner(node: Tag) -> str:
    return "".join(str(child) for child in node.children).strip()


def size(html: str) -> int:
    """Letters that are seen; a formula counts with its TeX."""
    soup = BeautifulSoup(html, "html.parser")
    for part in soup.select(".katex-html"):
        part.decompose()
    return len(soup.get_text())


def height(html: str) -> int:
    """Of a line of a list, in pixels."""
    return LINE * (1 + size(html) // LETTERS) + GAP


def beginning(paragraph: Tag) -> str:
    """A paragraph's first sentences, enough to say something; a task whole."""
    said = sentences(paragraph)
    if paragraph.get_text().startswith(TASK):
        return " ".join(said)
    count = 1
    while count < len(said) and size(" ".join(said[:count])) < LONG:
        count += 1
    return " ".join(said[:count])


def sentences(paragraph: Tag) -> list[str]:
    """A paragraph's sentences as HTML, parted where its own text ends one."""
    found = [""]
    for child in paragraph.children:
        if not isinstance(child, NavigableString):
            found[-1] += str(child)
            continue
        text, start = str(child), 0
        for end in SENTENCE.finditer(text):
            found[-1] += escape(text[start : end.end()], quote=False)
            found.append("")
            start = end.end()
        found[-1] += escape(text[start:], quote=False)
    return [one.strip() for one in found if one.strip()]


def prepared(page: Path) -> Tag:
    """The page's first section, its links leading to the page from a slide."""
    soup = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    for gone in soup.select("a.headerlink, script, button, .eqno a"):
        gone.decompose()
    for link in soup.select("article [href]"):
        if "://" not in link["href"] and not link["href"].startswith("../"):
            path, _, place = link["href"].partition("#")
            place = place and f"#{place}"
            link["href"] = f"../book/{path or page.name}{place}"
    article = soup.find("article")
    for node in article.find_all(True):
        if not node.find_parent("svg") and node.name != "svg":
            del node["id"], node["loading"]
    return article.find("section")


@cache
def in_short(page: Path) -> dict[str, str]:
    """What is so, by what is told, as the page of all myths says it."""
    found = {}
    for item in prepared(page).select("li"):
        line = item.find("p") or item
        claim, verdict = line.find("a"), line.select_one(".verdict")
        rest = "".join(map(str, verdict.next_siblings)).strip()
        found[claim.get_text()] = rest
    return found


class Deck:
    """Slides, filled one after the other."""

    def __init__(self, page: Path) -> None:
        self.page, self.made = page, []
        self.short = in_short(page.with_name("myths.html"))
        self.title, self.lines, self.room = "", [], ROOM

    def add(self, body: str, kind: str = "") -> None:
        """A slide of its own, under the section's title."""
        self.close()
        head = f"<h2>{self.title}</h2>" if self.title else ""
        self.made.append(f'<section class="{kind}">{head}\n{body}</section>')

    def say(self, part: str, pixels: int) -> None:
        """Something on the slide that is being filled, or on the next."""
        if pixels > self.room:
            self.close()
        self.lines.append(part)
        self.room -= pixels

    def close(self) -> None:
        """End the slide that is being filled."""
        lines, self.lines, self.room = self.lines, [], ROOM
        if lines:
            body = "\n".join(lines).replace("</ul>\n<ul>", "")
            self.add(body, "told")

    def paragraph(self, node: Tag) -> None:
        said = beginning(node)
        self.say(f"<ul><li>{said}</li></ul>", height(said))

    def picture(self, node: Tag, kind: str = "shown", below: str = "") -> None:
        self.add(f"{node}{below and f'<p>{below}</p>'}", kind)

    def drawing(self, figure: Tag) -> None:
        words = sentences(figure.select_one(".caption-text"))[0]
        self.picture(figure.find("svg"), "shown", words)

    def code(self, node: Tag) -> None:
        lines = node.get_text().rstrip().split("\n")
        if len(lines) <= LINES and max(map(len, lines)) <= WIDE:
            code = f"<pre>{inner(node.find('pre'))}</pre>"
            self.say(code, CODE * len(lines) + GAP)

    def cell(self, node: Tag) -> None:
        """What a cell has drawn or printed."""
        for picture in node.select(".cell_output img"):
            kind, below = "shown", ""
            if picture.find_parent(class_="widget-picture"):
                kind, below = (
                    "shown widget",
                    (
                        f'<a href="../book/{self.page.name}">'
                        "Step through it on the page</a>"
                    ),
                )
            self.picture(picture, kind, below)
        for printed in node.select(".cell_output pre"):
            self.code(printed.parent)

    def table(self, node: Tag) -> None:
        table = node if node.name == "table" else node.find("table")
        symbols = table.find("th").get_text() == "symbol"
        if not symbols and len(table.find_all("tr")) <= ROWS:
            self.say(str(table), ROW * len(table.find_all("tr")) + GAP)

    def myth(self, claim: Tag) -> None:
        """What is told; on the next key the verdict, and what is so."""
        told, verdict = claim.find("strong"), claim.select_one(".verdict")
        self.add(
            f'<blockquote>{inner(told)}</blockquote>\n<div class="fragment">'
            f'<p class="verdict">{inner(verdict)}</p>'
            f"<p>{self.short[told.get_text()]}</p></div>",
            "myth",
        )

    def section(self, section: Tag) -> None:
        """The slides of one section."""
        self.title = inner(section.find(["h2", "h3"]))
        for part in section.find_all(True, recursive=False):
            kinds = part.get("class", [])
            if part.name == "section":
                self.close()
                self.section(part)
            elif part.name == "p" and "myth" in kinds:
                self.myth(part)
            elif part.name == "p" and part.get_text(strip=True):
                self.paragraph(part)
            elif part.name in ("ul", "ol"):
                for item in part.find_all("li"):
                    self.paragraph(item.find("p") or item)
            elif "math" in kinds:
                rows = 1 + str(part).count(r"\\")
                self.say(
                    f'<div class="math">{inner(part)}</div>', EQUATION * rows
                )
            elif "drawing-figure" in kinds:
                self.drawing(part)
            elif "cell" in kinds:
                self.cell(part)
            elif "highlight-python" in kinds:
                self.code(part)
            elif part.name == "table" or part.find("table"):
                self.table(part)
        self.close()

    def opening(self, chapter: Tag) -> None:
        """What the chapter shows before it tells anything."""
        for part in chapter.find_all(True, recursive=False):
            if "drawing-figure" in part.get("class", []):
                self.drawing(part)
            elif "cell" in part.get("class", []):
                self.cell(part)
        self.close()

    def exercises(self, section: Tag) -> None:
        """The titles of the exercises, on one slide."""
        self.title = "Exercises"
        lines = []
        for box in section.select(".exercise > .admonition-title"):
            words = box.get_text().split("·")[-1].strip()
            lines.append(f"<li>{escape(words)}</li>")
        many = " many" if len(lines) > 8 else ""
        self.add(f"<ul>{''.join(lines)}</ul>", f"list{many}")

    def whole(self) -> str:
        """The deck of the page, as HTML."""
        chapter = prepared(self.page)
        title = inner(chapter.find("h1"))
        promise = inner(chapter.find("p"))
        link = f'<a href="../book/{self.page.name}">The chapter</a>'
        self.add(f"<h1>{title}</h1><p>{promise}</p><p>{link}</p>", "door")
        self.opening(chapter)
        box = chapter.select_one(".admonition-in-one-minute")
        self.title = "In one minute"
        for line in sentences(copied(box.find_all("p")[1])):
            self.say(f"<ul><li>{line}</li></ul>", height(line))
        self.close()
        for section in chapter.find_all("section", recursive=False):
            name = section.find("h2").get_text(strip=True)
            if name == "Exercises":
                self.exercises(section)
            elif name not in LEFT:
                self.section(section)
        return PAGE.format(title=title, slides="\n".join(self.made))


def make(site: Path) -> None:
    """Lay each chapter's slides beside the pages, under their policy."""
    (site / FOLDER).mkdir(exist_ok=True)
    for page in chapters():
        name = f"{page.stem}.html"
        deck = Deck(site / "book" / name).whole()
        (site / FOLDER / name).write_text(guarded(deck, site), "utf-8")
