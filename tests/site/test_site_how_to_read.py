"""The placement test by mouse and by keyboard; the marks of the short route."""

import pytest
from playwright.sync_api import expect

from stepping import act, live, problem, widgets

PAGE = "book/how-to-read"


@pytest.fixture
def test(at_start):
    """The page, the test's root, its state."""
    one = at_start(PAGE)
    [(root, state)] = widgets(one.page, "placement")
    yield one, root, state
    assert one.troubles == []


def right(question: dict) -> int:
    return [option["correct"] for option in question["options"]].index(True)


def test_the_first_chapter_that_was_missed_is_the_place_to_begin(test):
    """All right but for two; each answer is explained."""
    _, root, state = test
    act(root, "check").click()
    assert problem(root) == "Choose an answer first."
    for number, question in enumerate(state["questions"]):
        mine = right(question)
        if number in (4, 7):
            mine = (mine + 1) % 3
        fields = root.locator("fieldset:visible")
        assert fields.count() == 1
        fields.locator("input").nth(mine).check()
        act(root, "check").click()
        told = f"{number + 1} of 10 answered" if number < 9 else "8 of 10 right"
        assert live(root).startswith(told)
        whys = fields.locator('[data-role="why"]:visible').all_inner_texts()
        assert len(whys) == (2 if number in (4, 7) else 1)
        assert any(
            question["options"][mine]["why"].replace("`", "") in why
            for why in whys
        )
        act(root, "next").click()
    result = root.locator('[data-role="result"]')
    expect(result).to_contain_text("8 of 10 right. Begin with")
    begin = result.locator(".begin a")
    assert (
        begin.get_attribute("href") == f"{state['questions'][4]['page']}.html"
    )
    assert result.locator("li a").count() == 10
    assert result.locator("li", has_text="✗").count() == 2


def test_who_does_not_know_yet_is_not_told_off(test):
    """No verdict on "I do not know yet"; it counts as missed."""
    _, root, _ = test
    root.get_by_text("I do not know yet").first.click()
    act(root, "check").click()
    whys = root.locator('[data-role="why"]:visible').all_inner_texts()
    assert any(why.strip().startswith("Noted") for why in whys)
    assert "Not so" not in " ".join(whys)
    assert live(root) == "1 of 10 answered, 0 right."


def test_by_keyboard_and_after_a_reload(test):
    one, root, state = test
    press = one.page.keyboard.press
    root.locator("fieldset:visible input").first.focus()
    press("Space")
    press("Enter")
    expect(act(root, "next")).to_be_focused()
    press("Enter")
    expect(root.locator("fieldset:visible input").first).to_be_focused()
    press("ArrowDown")
    press("Enter")
    said = live(root)
    one.page.reload()
    one.settle()
    [(root, _)] = widgets(one.page, "placement")
    assert live(root) == said and said.startswith("2 of 10")
    act(root, "retry").focus()
    press("Enter")
    assert live(root).startswith("0 of 10")


def test_chapters_mark_the_sections_of_the_short_route(visit):
    one = visit("book/heads")
    marked = one.page.locator("section.short-route > h2")
    assert marked.count() == 4
    said = marked.first.evaluate(
        "(node) => getComputedStyle(node, '::after').content"
    )
    assert "short route" in said


def test_its_sections_are_where_the_links_lead(site, visit):
    one = visit(PAGE)
    links = one.page.locator("table.plan a[href*='#']").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('href'))"
    )
    assert len(links) > 20
    for link in links:
        page, place = link.split("#")
        text = (site / "book" / page).read_text("utf-8")
        assert f'id="{place}"' in text, link
