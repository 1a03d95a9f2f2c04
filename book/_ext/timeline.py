"""The directive `timeline`: who did what when, from `timeline.csv`.

A table, a row for each event with its works and its chapter; `timeline.js`
draws a line above it, and lets the reader choose one thread. A date is as exact
as its source: a year, a month or a day.
"""

from __future__ import annotations

import csv
import datetime
from pathlib import Path

import notation
from listing import load, made
from sphinx.application import Sphinx

EVENTS = Path(__file__).parents[1] / "timeline.csv"


def events(path: Path = EVENTS) -> list[dict[str, str]]:
    """All of them, in the order of time."""
    with path.open(encoding="utf-8", newline="") as file:
        return sorted(csv.DictReader(file), key=lambda row: row["date"])


def said(date: str) -> str:
    """2014-09-01 as people write it; 2014-09 and 2014 too."""
    parts = date.split("-")
    if len(parts) == 1:
        return date
    day = datetime.date.fromisoformat(f"{date}-01"[:10])
    return f"{day.day} {day:%B %Y}" if len(parts) == 3 else f"{day:%B %Y}"


def listed() -> str:
    """The table as MyST."""
    titles = {
        page.stem: notation.TITLE.search(page.read_text("utf-8"))[1]
        for page in notation.pages()
    }
    lines = ["```{list-table}", ":header-rows: 1", ":class: timeline", ""]
    lines += ["* - when", "  - what", "  - thread"]
    for row in events():
        works = ",".join(row["works"].split())
        chapter = row["chapter"]
        where = f"{{doc}}`{titles[chapter]} <{chapter}>`" if chapter else ""
        thread = f"[{row['thread']}]{{.thread}}"
        when = f"[{said(row['date'])}]{{.d{row['date']}}}"
        lines += [
            f"* - {when}",
            f"  - {row['event']} {{cite}}`{works}` {where}".rstrip(),
            f"  - {thread}",
        ]
    return "\n".join([*lines, "```"])


def setup(app: Sphinx) -> dict:
    directive = made(listed, lambda: [EVENTS], "timeline-box")
    app.add_directive("timeline", directive)
    load(app, "timeline.js", "timeline-box")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
