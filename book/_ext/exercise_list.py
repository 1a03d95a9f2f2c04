"""The directive `exercise-list`: all exercises of the book, as one list.

Title, stars and minutes are those that stand above the exercise; it can be done
in the page where fields or a quiz stand in it, and in the notebook always.
`exercises.js` adds the reader's own ticks.
"""

from __future__ import annotations

import re
from pathlib import Path

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


def setup(app: Sphinx) -> dict:
    directive = made(listed, notation.pages, "exercise-list")
    app.add_directive("exercise-list", directive)
    load(app, "exercises.js", "exercise-list")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
