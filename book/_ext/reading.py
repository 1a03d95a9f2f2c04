"""Directives for who has an afternoon, a day or a week: chapters and sections.

    ```{section-plan}
    rnnsearch: The idea | The equations | exercise-context-by-hand
    15 | A break
    ```

A line has a chapter, the headings of its sections, and exercises by their
labels. A section's minutes are its share of the chapter's own, by its words; an
exercise's stand above it. A line that begins with minutes is anything else.
Over all stands a clock where the argument is `clock`, as in a plan for a day.

    ```{day-plan}
    Monday: recurrence bottleneck
    ```

Each day has whole chapters, with their exercises of one and two stars.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import notation
import teaching
from docutils import nodes
from exercise_list import exercises
from listing import made
from sphinx.application import Sphinx

READERS = Path(__file__).parents[1] / "how-to-read.md"
PLAN = re.compile(r"^```\{section-plan\}\n(.+?)\n```$", re.M | re.S)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
MARK = "short-route"


def page_of(stem: str) -> Path:
    """The chapter of this name; a ValueError if there is none."""
    for page in teaching.chapters():
        if page.stem == stem:
            return page
    raise ValueError(f"there is no chapter “{stem}”")


def sections(page: Path) -> dict[str, float]:
    """{heading: minutes} of a chapter's sections before its exercises."""
    text = page.read_text("utf-8").split("\n## Exercises\n")[0]
    _, *parts = HEADING.split(text)
    pace = teaching.reading(page) / teaching.words(page)
    return {
        heading: len(teaching.NOT_TEXT.sub("", part).split()) * pace
        for heading, part in zip(parts[::2], parts[1::2], strict=True)
    }


def steps(plan: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """(chapter, headings, labels of exercises) of each line of a plan.

    Of anything else than a chapter: its minutes, its words, nothing.
    """
    for line in filter(None, plan.split("\n")):
        if re.match(r"\d+ \| ", line):
            minutes, what = line.split(" | ", 1)
            yield minutes, [what], []
            continue
        stem, rest = line.split(": ", 1)
        parts = rest.split(" | ")
        asked = [part for part in parts if part.startswith("exercise-")]
        yield stem, [part for part in parts if part not in asked], asked


def line(stem: str, heads: list[str], asked: list[str]) -> tuple[str, int]:
    """What a line of a plan says, as MyST, and its minutes.

    Raises:
        ValueError: for a chapter, section or exercise that is not there.
    """
    if stem.isdigit():
        return heads[0], int(stem)
    page = page_of(stem)
    known = sections(page)
    told, total = [], 0
    for head in heads:
        if head not in known:
            raise ValueError(f"{page.name} has no section “{head}”")
        minutes = max(1, round(known[head]))
        place = f"{stem}.html#{nodes.make_id(head)}"
        told.append(f'<a href="{place}">{head}</a> {minutes}')
        total += minutes
    found = {one["label"]: one for one in exercises(page)}
    for label in asked:
        if label not in found:
            raise ValueError(f"{page.name} has no exercise “{label}”")
        one = found[label]
        told.append(f"exercise {teaching.exercise_link(one)} {one['minutes']}")
        total += int(one["minutes"])
    title = f"**{{doc}}`{teaching.title(page)} <{stem}>`**"
    return f"{title}: {', '.join(told)}", total


def hours(minutes: int) -> str:
    """Minutes as they are said: 2 h 50."""
    return (
        f"{minutes // 60} h {minutes % 60:02}"
        if minutes > 59
        else (f"{minutes} min")
    )


def by_section(*given: str) -> str:
    """A plan of sections as MyST: a row for each chapter."""
    clock, plan = given[:-1] == ("clock",), given[-1]
    lines = ["```{list-table}", ":header-rows: 1", ":class: plan", ""]
    lines += [f"* - {'from–to' if clock else 'minutes'}", "  - what"]
    total = 0
    for step in steps(plan):
        told, minutes = line(*step)
        begin, total = total, total + minutes
        when = f"{begin // 60}:{begin % 60:02}–{total // 60}:{total % 60:02}"
        lines += [f"* - {when if clock else minutes}", f"  - {told}"]
    return "\n".join([*lines, "```", "", f"Together {hours(total)}."])


def daily(plan: str) -> str:
    """A plan of whole chapters as MyST: a row for each day."""
    lines = ["```{list-table}", ":header-rows: 1", ":class: plan", ""]
    lines += ["* - day", "  - chapters"]
    read = work = 0
    for day, stems in (one.split(": ", 1) for one in plan.split("\n") if one):
        pages = [page_of(stem) for stem in stems.split()]
        minutes = sum(map(teaching.reading, pages))
        asked = [one for page in pages for one in teaching.chosen(page, "★★")]
        more = sum(int(one["minutes"]) for one in asked)
        told = ", ".join(
            f"{{doc}}`{teaching.title(page)} <{page.stem}>`"
            f" {teaching.reading(page)}"
            for page in pages
        )
        lines += [f"* - **{day}**: {hours(minutes)}, exercises {hours(more)}"]
        lines += [f"  - {told}"]
        read, work = read + minutes, work + more
    together = f"Together {hours(read)} of reading and {hours(work)} of "
    together += "exercises with one or two stars."
    return "\n".join([*lines, "```", "", together])


def short_route() -> dict[str, list[str]]:
    """{chapter: its sections on the short route}, as how-to-read has them."""
    plan = PLAN.search(READERS.read_text("utf-8"))
    return {stem: heads for stem, heads, _ in steps(plan[1])} if plan else {}


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Give the sections on the short route a class, which the style shows."""
    docname = app.env.docname
    heads = short_route().get(docname.rsplit("/", 1)[-1])
    if not heads:
        return
    app.env.note_dependency(str(READERS))
    ids = {nodes.make_id(head) for head in heads}
    for section in doctree.findall(nodes.section):
        if ids & {*section["ids"]}:
            section["classes"].append(MARK)


def setup(app: Sphinx) -> dict:
    app.add_directive("section-plan", made(by_section, notation.pages))
    app.add_directive("day-plan", made(daily, notation.pages))
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
