"""What the page for teachers is made of: plans, goals, files to take.

    ```{teaching-plan} 4
    ```

Weeks, minutes and goals are the chapters' own (`facts.py`); the minutes of an
exercise stand above it.
"""

from __future__ import annotations

import re
from pathlib import Path

import facts
import notation
import yaml
from exercise_list import exercises
from listing import made
from sphinx.application import Sphinx

from lookback.exercises import check

ARCHIVES = {
    "students": (
        "Notebooks for students",
        "every chapter’s, without its solutions and without links to them.",
    ),
    "teachers": (
        "Notebooks for teachers",
        "the same with the solutions, each below its exercise.",
    ),
    "assignments": (
        "Assignments",
        "the exercises with a check, for otter-grader.",
    ),
    "figures": (
        "Figures and equations",
        "every drawing, plot and widget’s picture as SVG, every displayed "
        "equation as TeX; <code>figures.csv</code> says what each figure "
        "shows, and <code>equations.tex</code> sets all equations.",
    ),
}
NONE = (
    "<p>This copy of the book was built without its archives and slides:"
    " <code>make downloads</code> makes them.</p>"
)
BOX = re.compile(r"^```\{admonition\} In one minute\n(.+?)^```$", re.M | re.S)
NOT_TEXT = re.compile(r"\A---\n.*?^---$|^```.*?^```$", re.M | re.S)


def chapters() -> list[Path]:
    """The pages with a strip, in the order of the book."""
    return [
        page
        for page in notation.pages()
        if facts.STRIP in page.read_text("utf-8")
    ]


def title(page: Path) -> str:
    return notation.TITLE.search(page.read_text("utf-8"))[1]


def reading(page: Path) -> int:
    """Minutes for a chapter's text and figures, as it says itself."""
    return facts.read(page)["minutes"]


def words(page: Path) -> int:
    """How many a chapter has, without its exercises, its code and figures."""
    text = page.read_text("utf-8").split("\n## Exercises\n")[0]
    return len(NOT_TEXT.sub("", text).split())


def speed() -> float:
    """Words a minute that the strips allow, figures and cells included."""
    pages = chapters()
    return sum(map(words, pages)) / sum(map(reading, pages))


def glance(page: Path) -> int:
    """Minutes for the box at a chapter's head, at the speed of the rest."""
    box = BOX.search(page.read_text("utf-8"))[1]
    return round(len(box.split()) / speed())


def chosen(page: Path, part: str) -> list[re.Match]:
    """A chapter's exercises of at most so many stars, but for those named."""
    stars, *left = part.split(" but ")
    return [
        one
        for one in exercises(page)
        if len(one["stars"]) <= len(stars) and one["label"] not in left
    ]


def plan(weeks: str) -> dict[str, list[tuple[Path, str]]]:
    """The chapters of each week, and which of their exercises."""
    found: dict[str, list[tuple[Path, str]]] = {}
    for page in chapters():
        if said := facts.read(page).get(f"plan-{weeks}"):
            week, part = facts.WEEK.fullmatch(said).group("week", "part")
            found.setdefault(week, []).append((page, part or ""))
    return found


def minutes(week: list[tuple[Path, str]]) -> int:
    """All of a week's reading and exercises."""
    return sum(
        reading(page) + sum(int(one["minutes"]) for one in chosen(page, part))
        if part
        else glance(page)
        for page, part in week
    )


def exercise_link(one: re.Match) -> str:
    plain = re.sub(r"[*`$]", "", one["title"])
    return f"{{ref}}`{plain} <{one['label']}>`"


def planned(weeks: str) -> str:
    """A plan as MyST: a row for each week."""
    lines = ["```{list-table}", ":header-rows: 1", ":class: plan", ""]
    lines += ["* - week", "  - what"]
    for number, week in plan(weeks).items():
        parts = []
        for page, part in week:
            link = f"{{doc}}`{title(page)} <{page.stem}>`"
            if not part:
                parts.append(f"In one minute: {link}, {glance(page)} min.")
                continue
            told = ", ".join(
                f"{exercise_link(one)} {one['minutes']}"
                for one in chosen(page, part)
            )
            parts.append(f"**{link}**, {reading(page)} min. Exercises: {told}.")
        hours = f"**{number}**: {minutes(week) / 60:.1f} hours"
        lines += [f"* - {hours}", "  - " + "\n\n    ".join(parts)]
    total = sum(map(minutes, plan(weeks).values())) / 60
    return "\n".join([*lines, "```", "", f"Together {total:.0f} hours."])


def goals() -> dict[str, list[tuple[re.Match, str]]]:
    """(exercise, goal) of each chapter, in the order of its exercises."""
    found = {}
    for page in chapters():
        said = facts.read(page)["goals"]
        asked = [one for one in exercises(page) if one["label"] in said]
        found[page.stem] = [(one, said[one["label"]]) for one in asked]
    return found


def aimed(_: str = "") -> str:
    """The goals as MyST, chapter by chapter."""
    lines = []
    for page in chapters():
        lines += [f"**{{doc}}`{title(page)} <{page.stem}>`**", ""]
        for one, goal in goals()[page.stem]:
            lines += [f"- {goal} ({exercise_link(one)})"]
        lines += [""]
    return "\n".join(lines)


def paced(_: str = "") -> str:
    """What the plans' hours are made of, in one sentence."""
    return (
        "An hour of reading is the chapter's own estimate, at its head: over "
        f"the whole book {speed():.0f} words a minute, since figures are "
        "stepped through and cells are run on the way. Exercises are counted "
        "with the minutes that stand above each."
    )


def to_take(_: str = "") -> str:
    """Room for the archives and the slides: see `taken`."""
    return "\n".join(
        ["```{raw} html", f'<div class="to-take">{NONE}</div>', "```"]
    )


def taken(site: Path) -> str:
    """The archives and the slides of a built site, as one list of HTML."""
    if not (site / "slides").exists():
        return NONE
    lines = [
        f'<li><a href="../downloads/{name}.zip" download>{what}</a>:'
        f" {more}</li>"
        for name, (what, more) in ARCHIVES.items()
    ]
    slides = ", ".join(
        f'<a href="../slides/{page.stem}.html">{title(page)}</a>'
        for page in chapters()
    )
    return "\n".join(["<ul>", *lines, f"<li>Slides: {slides}</li>", "</ul>"])


def varied(_: str = "") -> str:
    """Which exercises by hand have other numbers, and which have not."""
    by_hand = {made.name: made for made in check if made.by_hand}
    links = {True: [], False: []}
    for page in chapters():
        for one in exercises(page):
            name = one["label"].removeprefix("exercise-").replace("-", "_")
            if name in by_hand:
                links[bool(by_hand[name].variant)].append(exercise_link(one))
    return (
        f"With different numbers: {', '.join(links[True])}.\n\n"
        f"Only with the chapter's: {', '.join(links[False])}."
    )


def installed(_: str = "") -> str:
    """How a hub installs the package, from the repository that is named."""
    text = (notation.ROOT / "_config.yml").read_text("utf-8")
    repository = yaml.safe_load(text)["repository"]
    source = f"git+{repository['url']}@{repository['branch']}"
    return "\n".join(
        [
            "```bash",
            "pip install torch --index-url https://download.pytorch.org/whl/cpu",
            f'pip install "lookback @ {source}"',
            "```",
        ]
    )


def setup(app: Sphinx) -> dict:
    app.add_directive("teaching-plan", made(planned, notation.pages))
    app.add_directive("teaching-pace", made(paced, notation.pages))
    app.add_directive("goal-list", made(aimed, notation.pages))
    app.add_directive("teaching-files", made(to_take, notation.pages))
    app.add_directive("variant-list", made(varied, notation.pages))
    app.add_directive("hub-command", made(installed, notation.pages))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
