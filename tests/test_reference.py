"""Words, myths, exercises: what chapters say, and the pages made of it."""

import csv
import re
import sys
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import exercise_list  # noqa: E402
import glossary  # noqa: E402
import myths  # noqa: E402
import notation  # noqa: E402
import teaching  # noqa: E402
import timeline  # noqa: E402

TERMS = glossary.terms()
CHAPTERS = teaching.chapters()


def text(stem: str) -> str:
    return (ROOT / "book" / f"{stem}.md").read_text("utf-8")


def test_each_term_stands_once_and_in_three_languages():
    names = [row["term"].lower() for row in TERMS]
    assert len(names) == len(set(names)) > 50
    anchors = [glossary.anchor(name) for name in names]
    assert len(anchors) == len(set(anchors))
    for row in TERMS:
        assert all(row[key] for key in row if key != "symbol"), row
        assert re.search("[\u4e00-\u9fff]", row["chinese"]) or (
            row["term"] == "softmax"
        )
        assert not re.search("[\u4e00-\u9fff]", row["french"])
        assert row["sentence"].endswith(".") and "$" not in row["sentence"]


PRIVATE = re.compile(
    r"\b(looks?|bends?|machines|readers?|writers?|rounds|coins?|dials?"
    r"|table of scores)\b"
)


def test_terms_are_explained_in_the_field_s_words_and_stand_once():
    lines = glossary.TERMS.read_text("utf-8").splitlines()
    names = [next(csv.reader([line]))[0] for line in lines]
    assert len(names) == len(set(names))
    for row in TERMS:
        if row["term"] != "alignment":  # which is none of machines
            assert not PRIVATE.search(row["sentence"]), row


def test_the_key_says_how_long_the_stars_take():
    found = exercise_list.minutes_of_stars()
    assert sum(map(len, found.values())) > 130
    middles = [median(minutes) for minutes in found.values()]
    assert middles == sorted(set(middles))  # more stars take longer
    for stars, minutes in found.items():
        assert f"- {stars} {exercise_list.MEANT[stars]}: {len(minutes)} " in (
            exercise_list.key()
        )
        assert f"of {minutes[0]} to {minutes[-1]} min" in exercise_list.key()


def test_every_term_is_explained_by_a_chapter():
    assert len(TERMS) == len(glossary.rows())
    assert {row["chapter"] for row in TERMS} <= {p.stem for p in CHAPTERS}


@pytest.mark.parametrize("page", CHAPTERS, ids=lambda page: page.stem)
def test_a_chapter_uses_terms_that_there_are(page):
    known = {row["term"].lower() for row in TERMS}
    used = glossary.USED.findall(page.read_text("utf-8"))
    assert {name.lower() for name in used} <= known
    assert len(used) == len(set(used))  # at its first place alone


@pytest.mark.parametrize("page", CHAPTERS, ids=lambda page: page.stem)
def test_every_claim_of_a_myth_check_has_a_verdict(page):
    whole = page.read_text("utf-8")
    part = whole.split(f"\n{myths.HEAD}\n")[1].split("\n## ")[0]
    found = list(myths.MYTH.finditer(part))
    assert found and len(found) == part.count("```{myth}")
    assert not re.search(r'^\*\*"', part, re.MULTILINE)
    assert len(list(myths.MYTH.finditer(whole))) == len(found)
    for myth in found:
        assert myth["verdict"] in myths.VERDICTS
        assert myth["short"].endswith(".")


def test_the_page_of_myths_explains_each_verdict():
    said = {name.lower() for name in re.findall(r"\*([^*]+)\*", text("myths"))}
    assert said == set(myths.VERDICTS)


@pytest.mark.parametrize("page", CHAPTERS, ids=lambda page: page.stem)
def test_every_exercise_is_on_the_list(page):
    found = exercise_list.exercises(page)
    assert len(found) == page.read_text("utf-8").count("{exercise-start}") > 4
    for one in found:
        line = f"<{one['label']}>` {one['minutes']} min, "
        assert exercise_list.listed().count(line) == 1


QUESTIONS = text("questions").split("\n## ")[1:]


@pytest.mark.parametrize("one", QUESTIONS, ids=lambda one: one.split("\n")[0])
def test_an_answer_has_three_sentences_a_number_and_a_link(one):
    question, answer = one.strip().split("\n\n")
    assert question.endswith("?")
    assert len(re.findall(r"[.)](?= [A-Z]|$)", answer)) == 3
    assert re.search(r"\d|\{record\}", answer)
    assert "{doc}`" in answer


MONTHS = (
    "January February March April May June July August September October"
    " November December"
).split()
DATE = re.compile(rf"(?:(\d{{1,2}}) )?({'|'.join(MONTHS)}) (\d{{4}})")
DATES = {
    work: row["date"]
    for row in timeline.events()
    for work in row["works"].split()
}


def dated(page: Path) -> list[tuple[str, list[str], list[str]]]:
    """(sentence, its dates, its works) where a chapter dates a work."""
    found = []
    for sentence in re.split(r"(?<=[.!?]) |\n\n", page.read_text("utf-8")):
        works = [
            work.strip()
            for keys in re.findall(r"\{cite(?::t)?\}`([^`]+)`", sentence)
            for work in keys.split(",")
        ]
        dates = [
            f"{year}-{MONTHS.index(month) + 1:02}"
            + (f"-{int(day):02}" if day else "")
            for day, month, year in DATE.findall(sentence)
        ]
        known = [DATES[work] for work in works if work in DATES]
        if dates and len(known) == len(dates) == len(works) == 1:
            found.append((sentence, dates, known))
    return found


def test_chapters_date_works_as_the_timeline_does():
    count = 0
    for page in CHAPTERS:
        for sentence, [date], [known] in dated(page):
            assert date.startswith(known) or known.startswith(date), sentence
            count += 1
    assert count > 10


def test_each_event_is_in_order_and_has_its_chapter():
    stems = {page.stem for page in notation.pages()}
    for row in timeline.events():
        assert re.fullmatch(r"\d{4}(-\d\d){0,2}", row["date"])
        assert row["chapter"] in {"", *stems}
        assert row["works"] and row["event"].endswith(".")
    assert timeline.said("2014-09-01") == "1 September 2014"
    assert timeline.said("2013-08") == "August 2013"


def test_every_chapter_has_goals_and_an_exercise_for_each():
    for said in teaching.goals().values():
        assert 3 < len(said) < 7
        assert all(goal[0].islower() and goal[-1] != "." for _, goal in said)


@pytest.mark.parametrize("weeks", ["4", "10"])
def test_a_plan_has_its_chapters_in_order_and_bearable_weeks(weeks):
    plan = teaching.plan(weeks)
    assert list(plan) == [str(n + 1) for n in range(int(weeks))]
    for week in plan.values():
        assert 120 <= teaching.minutes(week) <= 300


def test_minutes_of_a_week_are_those_of_its_text_and_exercises():
    week = teaching.plan("4")["1"]
    assert [(page.stem, part) for page, part in week] == [
        ("recurrence", ""),
        ("bottleneck", "★★"),
    ]
    relay, bottleneck = (page for page, _ in week)
    exercises = 3 + 10 + 20 + 15 + 15
    assert teaching.reading(bottleneck) == 60
    assert teaching.minutes(week) == teaching.glance(relay) + 60 + exercises
    assert 1 <= teaching.glance(relay) <= 4
    assert 40 < teaching.speed() < 60
