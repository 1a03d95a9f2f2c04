"""No measured number is typed by hand: the pages read it from its record.

A number of three digits or more in a page's prose that a record quoted on
that page also holds, at the same precision, must be somebody else's: then its
paragraph cites the source, or the list below says whose it is.
"""

import json
import re
from pathlib import Path

import pytest

from lookback.lab import records

BOOK = Path(__file__).parents[1] / "book"
PAGES = sorted(BOOK.glob("*.md"))
# Cited in the paragraph before, worked out in it, or held by another test: the
# records of the rungs hold so many numbers that some are these by chance.
ELSEWHERE = {
    "attention": {"18.4"},
    "explanation": {"0.216"},
    "feedforward": {"63.1", "25.2", "37.6", "37.4", "63.08", "214.2"},
    "heads": {"25.8", "24.9", "25.5", "25.4"},
    "modern_gpt": {
        "0.85",
        "1.67",
        "1.98",
        "0.32",
        "2.84",
        "4.19",
        "16.8",
        "36.9",
    },
    "residual": {"1.24"},
    "rnnsearch": {"2.718"},
    "transformer": {"28.4", "41.8"},
}
CODE = re.compile(r"(?ms)^(`{3,}|:{3,})\{(code-cell|math)\}.*?^\1\s*$")
ROLE = re.compile(r"(?s)\$\$.*?\$\$|\$[^$]*\$|\{[\w:-]+\}`[^`]*`|`[^`]*`")
NUMBER = re.compile(r"(?<![\d.,])\d+\.\d+(?![\d.])")
LONG = ("counts", "curve", "git", "said")  # no page quotes from these


def values(part):
    """All measured numbers of a record's results."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key not in LONG:
                yield from values(value)
    elif isinstance(part, list):
        for value in part:
            yield from values(value)
    elif isinstance(part, float):
        yield abs(part)


def typed(text):
    """Numbers of three digits in prose, with the paragraph of each."""
    for paragraph in re.split(r"\n\s*\n", CODE.sub("", text)):
        for number in NUMBER.findall(ROLE.sub("", paragraph)):
            if len(number.replace(".", "").lstrip("0")) >= 3:
                yield number, paragraph


def test_it_finds_what_is_typed():
    text = "BLEU is 54.70, not {record}`a/b:.2f`; $x = 1.234$.\n\nLoss 0.5."
    assert list(typed(text)) == [("54.70", text.split("\n\n")[0])]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_measured_number_is_typed(page):
    text = page.read_text(encoding="utf-8")
    names = set(
        re.findall(r'\{record\}`-?(\w[\w-]*)/|records\.load\("(\w+)"', text)
    )
    measured = [
        value
        for name in sorted({a or b for a, b in names})
        for value in values(
            json.loads((records.FOLDER / f"{name}.json").read_text())["results"]
        )
    ]
    for number, paragraph in typed(text):
        if "{cite" in paragraph or number in ELSEWHERE.get(page.stem, ()):
            continue
        digits = len(number.split(".")[1])
        assert number not in {
            f"{value * unit:.{digits}f}"
            for value in measured
            for unit in (1, 100)
        }, f"{number} is typed in: {paragraph[:300]}"
