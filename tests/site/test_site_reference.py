"""The built notation and bibliography agree with the chapters' own pages."""

from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from contents import by_day, chapters


@cache
def soup(path: Path) -> BeautifulSoup:
    """The parsed page."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")


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


@pytest.mark.nightly
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


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_each_myth_leads_to_its_claim(site):
    listed = soup(site / "book/myths.html").select("article li")
    assert len(listed) > 30
    for item in listed:
        page, place = item.find("a")["href"].split("#")
        claim = soup(site / "book" / page).find(id=place)
        assert words(claim.find("strong")) == words(item.find("a"))
        verdict = item.select_one(".verdict")
        assert words(claim.select_one(".verdict")) == words(verdict)


def test_each_term_leads_to_its_sentence(site):
    count = 0
    for name in chapters():
        for link in soup(site / f"{name}.html").select("a.term"):
            place = link["href"].split("#")[1]
            entry = soup(site / "book/glossary.html").find(id=place)
            sentence = words(entry.find_next("dd"))
            assert link["title"].replace("'", "’") in sentence
            count += 1
    assert count > 50


@pytest.mark.parametrize(
    "typed", by_day(["注意力", "treillis", "lattice"], "注意力")
)
def test_the_search_knows_the_terms_in_three_languages(visit, typed):
    one = visit("search", place=f"?q={typed}")
    found = one.page.locator("#search-results li", has_text="Glossary")
    found.first.wait_for()


TICK = ".exercise-list input"


@pytest.mark.nightly
def test_ticks_stay_and_travel_in_a_file(visit, tmp_path):
    one = visit("book/exercises", kept=False)
    page = one.page
    told = page.locator(".exercise-bar [role=status]")
    count = page.locator(TICK).count()
    expect(told).to_have_text(f"0 of {count} done.")
    page.locator(TICK).nth(3).check()
    page.get_by_label("Done: What is a head?").focus()
    page.keyboard.press("Space")
    expect(told).to_have_text(f"2 of {count} done.")
    page.reload()
    expect(page.locator(f"{TICK}:checked")).to_have_count(2)
    with page.expect_download() as coming:
        page.locator("[data-action=save]").click()
    file = tmp_path / "mine.json"
    coming.value.save_as(file)
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(page.locator(f"{TICK}:checked")).to_have_count(0)
    page.set_input_files(".exercise-bar input", file)
    expect(told).to_contain_text(f"2 of {count} done.")
    expect(page.locator(f"{TICK}:checked")).to_have_count(2)
    assert one.troubles == []


def test_what_is_done_is_listed_with_its_day_and_printed(visit):
    one = visit("book/exercises", kept=False)
    page = one.page
    room = page.locator(".done-list")
    expect(room).to_contain_text("Nothing is ticked yet. Tick an exercise")
    assert not room.locator("button").count()
    page.evaluate(  # as it was kept before days were
        "localStorage.setItem('lookback:done:exercise-context-by-hand', 'true')"
    )
    page.reload()
    page.get_by_label("Done: What is a head?").check()
    year = page.evaluate("new Date().getFullYear()")
    expect(room.locator("p").first).to_contain_text(": 2 of ")
    expect(room.locator("p").first).to_contain_text("about 15 minutes.")
    assert room.locator("li").all_inner_texts()[0] == (
        "★ A context vector by hand 10 min"
    )
    assert room.locator("li").nth(1).inner_text().endswith(f" {year}")
    assert "Multi-head attention, 1 of " in room.inner_text()
    page.evaluate(
        "self.print = () => { self.shown ="
        " document.documentElement.className.includes('print-done') }"
    )
    act = room.locator("[data-action=print]")
    act.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("self.shown") is True
    page.emulate_media(media="print")
    page.evaluate("document.documentElement.classList.add('print-done')")
    expect(room).to_be_visible()
    expect(page.locator(".exercise-list")).to_be_hidden()
    page.emulate_media(media="null")
    assert one.troubles == []


STRANGE = [
    "",
    "{",
    "[]",
    '{"kept": 1}',
    '{"kept": {"theme": "x"}}',
    '{"kept": {"lookback:a": 1}}',
    '{"kept": {"lookback:a": "' + "x" * 20_000 + '"}}',
]


@pytest.mark.parametrize("text", by_day(STRANGE, STRANGE[4]), ids=range(7))
def test_another_file_changes_nothing(visit, tmp_path, text):
    one = visit("book/exercises", kept=False)
    one.page.locator(TICK).first.check()
    file = tmp_path / "other.json"
    file.write_text(text)
    one.page.set_input_files(".exercise-bar input", file)
    told = one.page.locator(".exercise-bar [role=status]")
    expect(told).to_contain_text("Nothing was changed")
    expect(one.page.locator(f"{TICK}:checked")).to_have_count(1)
    assert one.troubles == []


def test_threads_of_the_timeline_are_chosen(visit):
    one = visit("book/timeline")
    page = one.page
    rows = page.locator("table.timeline tbody tr")
    total = rows.count()
    told = page.locator("article [role=status]").first
    expect(told).to_have_text(f"{total} of {total} events.")
    depth = page.get_by_role("button", name="depth")
    depth.focus()
    page.keyboard.press("Enter")
    expect(depth).to_have_attribute("aria-pressed", "true")
    left = rows.locator("visible=true")
    assert 0 < left.count() < total
    threads = left.locator(".thread").all_inner_texts()
    assert len(threads) == left.count() and {*threads} == {"depth"}
    expect(told).to_have_text(f"{left.count()} of {total} events.")
    page.get_by_role("button", name="all").click()
    expect(told).to_have_text(f"{total} of {total} events.")
    dots = page.locator(".timeline-line circle")
    assert dots.count() == total
    dots.nth(total - 1).click()
    expect(page.locator("tr.chosen")).to_be_in_viewport()
    assert one.troubles == []
