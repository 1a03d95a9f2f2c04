"""Each claim is tied to the sentence that makes it."""

import ast
import re
from pathlib import Path

import pytest
import saying
from saying import said, seen

CLAIMS = sorted(Path(__file__).parent.glob("test_claims*.py"))


@pytest.fixture
def pages(tmp_path, monkeypatch):
    saying.page_text.cache_clear()
    monkeypatch.setattr(saying, "BOOK", tmp_path)
    (tmp_path / "one.md").write_text("More than\nhalf of the *climb*.")
    (tmp_path / "two.md").write_text("It fell, twice.")
    yield
    saying.page_text.cache_clear()


def test_a_page_says_its_words(pages):
    said("one", "more than half", "of the climb")
    for page, words in (
        ("one", "less than half"),
        ("two", "more than half"),  # it is another page that says so
        ("one", "an half"),
    ):
        with pytest.raises(AssertionError, match=f"{page}.md .* “{words}”"):
            said(page, words)


def test_words_are_quoted_as_the_reader_sees_them():
    text = """{record}`a/b:.1f` points, an {term}`ablation <x>` of **two**
    {doc}`parts`, [here](there), `code`, "in
    two"
    """
    assert seen(text) == (
        '… points, an ablation of two parts, here, code, "in two"'
    )
    assert seen('"one "\n    "string"') == '"one string"'


@pytest.mark.parametrize("page", ["name", "way-back"])
def test_quotes_of_others_are_short(page):
    """Of letters and papers no more than a sentence at a time."""
    text = (saying.BOOK / f"{page}.md").read_text("utf-8")
    prose = re.sub(r"(?ms)^```.*?^```", "", text.split("## Exercises")[0])
    for quote in re.findall(r'"([^"]+)"', prose):
        assert len(quote.split()) <= 20, quote


def calls(part):
    """What `said` is called with, somewhere in a part of a program."""
    return [
        [each.value for each in node.args if isinstance(each, ast.Constant)]
        for node in ast.walk(part)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "said"
    ]


@pytest.mark.parametrize("path", CLAIMS, ids=lambda path: path.stem)
def test_every_claim_has_a_sentence(path):
    """Those that are run at night, too; a test of code says that it is one."""
    for part in ast.parse(path.read_text("utf-8")).body:
        if isinstance(part, ast.FunctionDef) and part.name.startswith("test"):
            quotes = calls(part)
            code = (ast.get_docstring(part) or "").startswith("Code: ")
            assert quotes or code, f"{part.name} quotes no page"
            for page, *words in quotes:
                said(page, *words)
