"""The widget `fill_in`: its blanks, its questions, and what it refuses.

What its machines compute is tested with `write_on`, whose body they share.
"""

import pytest
from widgets_common import ask, refuses, shown

from lookback.families import MASK
from lookback.vocabulary import END, START
from lookback.widgets import FillIn
from lookback.widgets.fill_in import LIMITS

INDEX = {"a": 5, "man": 6, "in": 7, "red": 8}


def questions(text: str, covered=(), at=-1) -> dict:
    state = {"text": text, "covered": list(covered), "at": at}
    return ask("fill_in", "questions", {"state": state, "index": INDEX})


def test_the_bert_is_given_both_sides_and_the_gpt_the_left():
    found = questions("a man in a _ hat")
    assert found["tokens"] == [START, 5, 6, 7, 5, MASK, 1, END]
    assert found["bert"] == [5] and found["here"] == 4
    assert found["gpt"] == [START, 5, 6, 7, 5]


def test_a_covered_word_is_a_blank():
    found = questions("a red man", covered=[1], at=1)
    assert found["tokens"] == [START, 5, MASK, 6, END]
    assert found["gpt"] == [START, 5]


def test_of_two_blanks_the_one_in_view_is_asked_for():
    first, second = (questions("a _ _ man", at=at) for at in (1, 2))
    assert first["tokens"] == second["tokens"]
    assert (first["bert"], second["bert"]) == ([2], [3])
    assert second["gpt"] == [START, 5, MASK]  # so it is not asked


def test_without_a_choice_the_first_blank_is_in_view():
    assert questions("a _ _", at=-1)["here"] == 1
    assert questions("a _ _", at=0)["here"] == 1


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("text", "x" * (LIMITS["letters"] + 1), "at most"),
        ("covered", [-1], "covered"),
        ("covered", [LIMITS["words"]], "covered"),
        ("at", -2, "at"),
        ("at", LIMITS["words"], "at"),
    ],
)
def test_what_does_not_fit_is_refused(name, value, says):
    refuses(FillIn(), {name: value}, says)


def test_it_has_a_picture_and_words():
    assert "from the words on both sides" in shown(FillIn())
