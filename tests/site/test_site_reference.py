"""The built notation and bibliography agree with the chapters' own pages."""

from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from contents import chapters


@cache
def soup(path: Path) -> BeautifulSoup:
    """The parsed page."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def words(node) -> str:
    """Its text, without what only sets lines apart."""
    return " ".join(node.get_text().split())


def symbol_rows(page: BeautifulSoup) -> list[list[str]]:
    """The rows of a chapter's table of symbols, as it shows them."""
    return [
        [words(cell) for cell in row.find_all("td")]
        for table in page.find_all("table")
        if words(table.find("th")) == "symbol"
        for row in table.find("tbody").find_all("tr")
    ]


@pytest.mark.parametrize("name", chapters())
def test_the_notation_says_what_the_chapter_says(site, name):
    [table] = soup(site / "book/notation.html").select("table.notation")
    stem = name.split("/")[-1]
    entries = [
        (words(row.find("td")), words(row))
        for row in table.find("tbody").find_all("tr")
        if row.find("a", href=f"{stem}.html")
    ]
    rows = symbol_rows(soup(site / f"{name}.html"))
    assert rows
    for symbol, *cells in rows:
        said = [text for first, text in entries if first == (symbol or "–")]
        assert any(all(cell in text for cell in cells) for text in said), symbol


def test_each_work_links_back_to_where_it_is_cited(site):
    entries = soup(site / "book/bibliography.html").select("div.citation")
    assert entries
    for entry in entries:
        links = entry.select(".cited-in a")
        assert links, words(entry)
        for link in links:
            page, place = link["href"].split("#")
            citation = soup(site / "book" / page).find(id=place)
            assert any(
                back["href"].endswith(f"bibliography.html#{entry['id']}")
                for back in citation.find_all("a")
            ), words(entry)
