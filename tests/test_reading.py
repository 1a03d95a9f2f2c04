"""What guides readers: plans of sections and of days, names, the refresher."""

import re
import sys
from pathlib import Path

import pytest
from answers_by_hand import right, slips
from widgets_common import on_the_page, refuses, shown

from lookback.exercises import refresher
from lookback.widgets import Placement

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import glossary  # noqa: E402
import literature  # noqa: E402
import notation  # noqa: E402
import reading  # noqa: E402
import teaching  # noqa: E402

HOW = (ROOT / "book/how-to-read.md").read_text("utf-8")
DAYS = re.search(r"^```\{day-plan\}\n(.+?)\n```$", HOW, re.M | re.S)[1]


def test_the_short_route_is_five_chapters_in_three_hours():
    plan = list(reading.steps(reading.PLAN.search(HOW)[1]))
    order = [page.stem for page in teaching.chapters()]
    stems = [stem for stem, _, _ in plan]
    assert len(stems) == 5 and stems == sorted(stems, key=order.index)
    assert all(len(heads) > 2 and len(asked) == 1 for _, heads, asked in plan)
    minutes = [reading.line(*step)[1] for step in plan]
    assert 165 <= sum(minutes) <= 195
    assert f"Together {reading.hours(sum(minutes))}." in reading.by_section(
        reading.PLAN.search(HOW)[1]
    )


def test_sections_share_their_chapter_s_minutes():
    page = reading.page_of("heads")
    found = reading.sections(page)
    whole = sum(found.values())
    assert 0.9 < whole / teaching.reading(page) < 1.01
    assert "Exercises" not in found and "Evidence" in found


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("no_such: The idea", "no chapter “no_such”"),
        ("heads: The ideas", "heads.md has no section “The ideas”"),
        ("heads: The idea | exercise-x", "heads.md has no exercise"),
    ],
)
def test_a_plan_names_what_is_not_there(plan, said):
    with pytest.raises(ValueError, match=said):
        reading.by_section(plan)


def test_a_plan_with_a_clock_has_its_breaks():
    made = reading.by_section("clock", "60 | Before\n15 | A break")
    assert "* - 0:00–1:00\n  - Before\n* - 1:00–1:15\n  - A break" in made
    assert made.endswith("Together 1 h 15.")


def test_the_week_has_seven_days_in_the_order_of_the_book():
    made = reading.daily(DAYS)
    rows = re.findall(r"^\* - \*\*(Day \d)\*\*: (\d) h (\d\d), ", made, re.M)
    assert [day for day, _, _ in rows] == [f"Day {n}" for n in range(1, 8)]
    assert all(60 <= 60 * int(h) + int(m) <= 180 for _, h, m in rows)
    order = [page.stem for page in teaching.chapters()]
    stems = re.findall(r"<(\w+)>`", made)
    assert stems == sorted(stems, key=order.index) and len(stems) == 14
    total = sum(teaching.reading(reading.page_of(stem)) for stem in stems)
    assert f"Together {reading.hours(total)} of reading" in made


TEACHERS = (ROOT / "book/teachers.md").read_text("utf-8")


@pytest.mark.parametrize(("number", "least", "most"), [(0, 3, 4), (1, 6, 8)])
def test_half_a_day_and_a_day_are_as_long_as_they_say(number, least, most):
    pattern = r"^```\{section-plan\} clock\n(.+?)\n```$"
    plan = re.findall(pattern, TEACHERS, re.M | re.S)[number]
    total = sum(reading.line(*step)[1] for step in reading.steps(plan))
    assert 60 * least <= total <= 60 * most, total
    assert sum(len(asked) for _, _, asked in reading.steps(plan)) > 3
    assert "A break" in plan


def test_ten_weeks_have_every_chapter_as_the_page_says():
    plan = [one for week in teaching.plan("10").values() for one in week]
    assert {page.stem for page, _ in plan} == {
        page.stem for page in teaching.chapters()
    }
    said = TEACHERS.split("## A plan of ten weeks\n")[1]
    said = said.split(", from which students read only the box")[0]
    boxes = re.findall(r"\{doc\}`(\w+)`", said)
    assert boxes == [page.stem for page, part in plan if not part]


def test_the_first_lecture_names_sections_and_exercises_that_there_are():
    table = TEACHERS.split("## The first lecture\n")[1].split("\n## ")[0]
    page = ROOT / "book/bottleneck.md"
    bottleneck = page.read_text("utf-8").replace("*", "")
    for line in re.findall(r"^\| \d+–\d+ \|.*\| (.+) \|$", table, re.M):
        for name in re.findall(r"\*([^*]+)\*", line):
            assert f"\n## {name}\n" in bottleneck or (
                f"★ {name} (" in bottleneck
            ), name


def test_every_chapter_s_names_stand_in_the_table():
    table = literature.table()
    for page in literature.chapters():
        rows = literature.rows(page)
        assert len(rows) >= 3, page.stem
        assert table.count(f"<{page.stem}>`**") == 1
        for here, papers in rows:
            assert f"* - {here}\n  - {papers}" in table
    some = literature.table("heads positions")
    assert some.count("**{doc}`") == 2


def test_the_search_knows_what_papers_say():
    also = glossary.also()
    assert also["elman network"] == "book/recurrence"
    assert also["BPE"] == also["weight tying"] == "book/transformer"
    assert also["ResNet"] == "book/residual"
    assert not {"rnnsearch", "and", "model", "memory"} & {*also}
    assert literature.phrases("$q$; *key vector*, in the code `w` (MoE)") == [
        "key vector",
        "MoE",
    ]


def test_a_table_of_names_with_other_columns_is_refused(tmp_path):
    page = tmp_path / "x.md"
    page.write_text(f"# X\n{literature.HEAD}\n| a | b |\n|---|---|\n| c | d |")
    with pytest.raises(ValueError, match="x.md: the columns are not"):
        literature.rows(page)


@pytest.mark.parametrize("made", refresher.ON_THE_PAGE, ids=lambda m: m.name)
def test_the_refresher_s_fields_name_each_slip(made):
    page = made.page()
    typed = [repr(x) for x in right(made)]
    assert on_the_page(page, typed) == (True, page["verified"])
    told = list(slips(made))
    assert len(told) >= 4
    for hint, numbers in told:
        assert on_the_page(page, [repr(x) for x in numbers]) == (False, hint)
        assert made.verdict(numbers) == (False, hint)


def placement() -> Placement:
    """The test as the page has it."""
    code = re.findall(r"```\{code-cell\} ipython3\n(.+?)```", HOW, re.S)[0]
    space: dict = {}
    exec(
        re.sub(r":tags:.*\n", "", code).replace(
            "\nPlacement(", "\ntest = Placement("
        ),
        space,
    )
    return space["test"]


def test_the_placement_test_has_ten_questions_in_the_order_of_the_book():
    test = placement()
    pages = [one["page"] for one in test.questions]
    order = [page.stem for page in notation.pages()]
    assert len(pages) == 10 and pages == sorted(pages, key=order.index)
    assert order.index(test.beyond["page"]) > order.index(pages[-1])
    for one in test.questions:
        page = (ROOT / f"book/{one['page']}.md").read_text("utf-8")
        assert f"\n# {one['title'].split(':')[0]}" in page
        assert all(option["why"].endswith(".") for option in one["options"])
    places = [
        [option["correct"] for option in one["options"]].index(True)
        for one in test.questions
    ]
    assert len(set(places)) == 3  # the right answer is not always the first
    assert "10. Why does a Transformer decoder" in shown(test)


def test_a_placement_test_that_does_not_fit_is_refused():
    test = placement()
    first, second, *_ = test.questions
    none = [{**option, "correct": False} for option in first["options"]]
    both = [{**option, "correct": True} for option in first["options"]]
    for questions, says in [
        ([first], "give at least two"),
        ([first, {"question": "?"}], r"questions\[1\] lacks options"),
        (
            [{**first, "options": none}, second],
            r"questions\[0\]: 0 options are",
        ),
        ([{**first, "options": both}, second], "4 options are correct"),
    ]:
        refuses(test, {"questions": questions}, says)
    mute = [{**option, "why": ""} for option in first["options"]]
    says = "an option lacks its text or its why"
    refuses(test, {"questions": [{**first, "options": mute}, second]}, says)
    refuses(test, {"name": " "}, "name is empty")
    refuses(test, {"beyond": {"page": "x"}}, "beyond lacks")
