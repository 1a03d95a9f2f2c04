"""The directives `exercise-list`, `star-key` and `done-list`.

The first stands for all exercises of the book, as one list; the second says
what a star is worth, in the minutes of them all; the third is the place where
`exercises.js` writes what the reader has ticked.

Title, stars and minutes are those that stand above the exercise; it can be done
in the page where fields or a quiz stand in it, and in the notebook always.
`exercises.js` adds the reader's own ticks.
"""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

import notation
from listing import load, made
from sphinx.application import Sphinx

EXERCISE = re.compile(
    r"^`{3,}\{exercise-start\} (?P<stars>★+) (?P<title>[^\n]+) "
    r"\((?P<minutes>\d+) min\)\n"
    r":label: (?P<label>\S+)\n(?P<text>.*?)^`{3,}\{exercise-end\}",
    re.MULTILINE | re.DOTALL,
)
FIELDS = re.compile(r"\b(?:ByHand|Quiz)\(")


def exercises(page: Path) -> list[re.Match]:
    return list(EXERCISE.finditer(page.read_text("utf-8")))


def listed() -> str:
    """All of them as MyST, chapter by chapter."""
    lines = []
    for page in notation.pages():
        found = exercises(page)
        if not found:
            continue
        title = notation.TITLE.search(page.read_text("utf-8"))[1]
        minutes = sum(int(one["minutes"]) for one in found)
        lines += [f"**{{doc}}`{title} <{page.stem}>`**, {minutes} minutes", ""]
        for one in found:
            plain = re.sub(r"[*`$]", "", one["title"])
            link = f"{{ref}}`{plain} <{one['label']}>`"
            fields = FIELDS.search(one["text"])
            where = "page or notebook" if fields else "notebook"
            lines += [f"- {one['stars']} {link} {one['minutes']} min, {where}"]
        lines += [""]
    return "\n".join(lines)


MEANT = {
    "★": "a question, or some arithmetic by hand",
    "★★": "some lines of code",
    "★★★": "an experiment, or a part built whole",
}


def minutes_of_stars() -> dict[str, list[int]]:
    """{stars: the minutes of all exercises that have them, in order}."""
    found: dict[str, list[int]] = {stars: [] for stars in MEANT}
    for page in notation.pages():
        for one in exercises(page):
            found[one["stars"]].append(int(one["minutes"]))
    return {stars: sorted(minutes) for stars, minutes in found.items()}


def key() -> str:
    """What the stars mean as MyST, with the minutes that there are."""
    lines = []
    for stars, minutes in minutes_of_stars().items():
        least, most = minutes[0], minutes[-1]
        lines.append(
            f"- {stars} {MEANT[stars]}: {len(minutes)} exercises of {least} to "
            f"{most} minutes, median {median(minutes):g}"
        )
    return "\n".join(lines)


def done(_: str = "") -> str:
    """Room for what the reader has done, and what stands where no script runs.

    The script replaces the sentence.
    """
    return (
        "The list is made in your browser, from your ticks. It needs scripts."
    )


def setup(app: Sphinx) -> dict:
    directive = made(listed, notation.pages, "exercise-list")
    app.add_directive("exercise-list", directive)
    app.add_directive("star-key", made(key, notation.pages, "star-key"))
    app.add_directive("done-list", made(done, notation.pages, "done-list"))
    load(app, "exercises.js", "exercise-list")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
