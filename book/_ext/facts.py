"""What a page says of itself: `lookback` in its front matter.

    lookback:
      minutes: 70
      needs: the chapters on attention and on the feed-forward layer
      stop: what makes / depth possible
      plan-4: week 4, in one minute
      plan-10: week 8, ★★★ but exercise-normalize
      formerly: skips shortcuts
      goals:
        exercise-add-and-norm: write post-norm and pre-norm

Minutes are those for text and figures, without the exercises. A stop is the
page's place on the route (`route.py`), what stands there below its name; on
the side path it is a `side-stop`. A plan says in which week the chapter is
read, and with how many stars its exercises are done, but for one that is named;
a plan may leave a chapter out. Addresses with a name that the page had
`formerly` lead to it. A goal stands beside the exercise that shows it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import yaml
from to_notebook.myst import SourceError

ROOT = Path(__file__).resolve().parents[2]
STRIP = "```{chapter-strip}"
HEADER = re.compile(r"\A---\n(.*?)^---$", re.MULTILINE | re.DOTALL)
WEEK = re.compile(
    r"week (?P<week>\d+), "
    r"(?:in one minute|(?P<part>★+(?: but (?P<left>exercise-\S+))?))"
)
KNOWN = {
    "minutes": int,
    "needs": str,
    "stop": str,
    "side-stop": str,
    "plan-4": str,
    "plan-10": str,
    "formerly": str,
    "goals": dict,
}
KINDS = {int: "a whole number", str: "text", dict: "goals by their exercises"}
# What a page with a strip has to say.
CHAPTER = ("minutes", "needs", "plan-10", "goals")


def read(page: Path) -> dict:
    """The facts of a page; none where its front matter has none."""
    name = page.relative_to(ROOT) if ROOT in page.parents else page
    return parse(page.read_text("utf-8"), name)


@lru_cache(maxsize=256)
def parse(text: str, name: Path) -> dict:
    """The facts in a page's text; a SourceError says what is wrong."""
    line = text[: text.find("\nlookback:") + 1].count("\n") + 1
    header = HEADER.match(text)
    try:
        said = (yaml.safe_load(header[1]) or {}) if header else {}
        facts = said.get("lookback", {})
        wrong = faults(facts, text)
    except yaml.YAMLError as error:
        wrong = [" ".join(str(error).split())]
    for fault in wrong:
        raise SourceError(name, line, f"lookback: {fault}")
    return facts


def faults(facts: dict, text: str) -> list[str]:
    """What is unknown, of another kind or missing, in words."""
    if not isinstance(facts, dict):
        return ["it has no keys"]
    said, labels = [], []
    for key, value in facts.items():
        if key not in KNOWN:
            said.append(f"“{key}” is not known")
        elif not isinstance(value, KNOWN[key]):
            said.append(f"“{key}” is not {KINDS[KNOWN[key]]}")
        elif key == "goals":
            labels += value
        elif key.startswith("plan-"):
            if found := WEEK.fullmatch(value):
                labels += filter(None, [found["left"]])
            else:
                said.append(f"“{key}” is not like “week 2, ★★”")
    if STRIP in text:
        said += [f"“{key}” is missing" for key in CHAPTER if key not in facts]
    return said + [
        f"the page has no “{label}”"
        for label in labels
        if f"\n:label: {label}\n" not in text
    ]


def formerly(pages: list[Path]) -> dict[str, Path]:
    """The page that each former name leads to."""
    return {
        old: page
        for page in pages
        for old in read(page).get("formerly", "").split()
    }
