"""Each claim is tied to the sentence that makes it."""

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
        ("one", "ore than half"),
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
