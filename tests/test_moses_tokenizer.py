"""Typed English becomes the corpus's words, in Python and in the page alike."""

import html
import random
import re

import pytest
from widgets_common import ask

from lookback.lab import corpus, phrasebook
from lookback.lab.moses_tokenizer import words

TESTS = ("val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")


def sources(split: str) -> list[list[str]]:
    return [pair.source for pair in corpus.load(split)]


def natural(tokens: list[str]) -> str:
    """A caption as a person would write it."""
    text = html.unescape(" ".join(tokens))
    text = re.sub(r" ([.,;:!?)])", r"\1", text).replace("( ", "(")
    text = re.sub(r"(\w) '(s|t|re|ll|ve|m|d)\b", r"\1'\2", text)
    return text[0].upper() + text[1:]


@pytest.mark.multi30k
@pytest.mark.parametrize("split", TESTS)
def test_captions_are_cut_as_the_corpus_has_them(split):
    for tokens in sources(split):
        assert words(natural(tokens)) == tokens
        assert words(html.unescape(" ".join(tokens))) == tokens


@pytest.mark.nightly
@pytest.mark.multi30k
def test_training_captions_but_for_a_few():
    """Those that Moses cut otherwise have slips, like a full stop inside."""
    train = sources("train")
    wrong = [each for each in train if words(natural(each)) != each]
    assert len(wrong) < len(train) / 1000


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("Don’t!", ["don", "&apos;t", "!"]),
        ("The man's T-SHIRT", ["the", "man", "&apos;s", "t-shirt"]),
        ("1,000 dogs at 7:30", ["1,000", "dogs", "at", "7:30"]),
        ("a U.S. flag", ["a", "u.s.", "flag"]),
        ("Mr. Smith on 3rd St.", "mr. smith on 3rd st .".split()),
        ("“Hi” & bye…", ["&quot;", "hi", "&quot;", "&amp;", "bye", "..."]),
        ("<b>bold</b>", "&lt; b &gt; bold &lt; / b &gt;".split()),
        ("a\0b\tc\ufeffd", ["a", "b", "c", "d"]),
        ("ﬁve ＣＡＴＳ", ["five", "cats"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_what_people_type(typed, found):
    assert words(typed) == found


def mutated(texts: list[str], count: int, seed: int) -> list[str]:
    """Texts with letters put in, taken out, doubled and turned large."""
    random.seed(seed)
    strange = (
        "'’`\"“”«».,;:!?()[]<>&|#@%*/\\-–—_0123456789 éœÉçıİß…ﬁ½①٣中文🙂\t\n"
    )
    strange += "\0\x1f\x85\u00a0\u2028\ufeff\u0301"
    found = []
    for _ in range(count):
        letters = list(random.choice(texts))
        for _ in range(random.randint(1, 8)):
            at = random.randrange(len(letters) + 1)
            letters[at:at] = random.choice(strange)
        for _ in range(random.randint(0, 3)):
            at = random.randrange(len(letters))
            letters[at] = random.choice(
                ["", letters[at].upper(), letters[at] * 3]
            )
        found.append("".join(letters))
    return found


def same_in_the_page(texts: list[str], spoiled: int) -> None:
    """These texts, and as many spoiled ones."""
    texts = texts + mutated(texts, spoiled, seed=0)
    theirs = ask("translate", "words", {"texts": texts})
    for text, found in zip(texts, theirs, strict=True):
        assert found == words(text), repr(text)


def test_the_page_cuts_as_python_does():
    pairs = phrasebook.sample(500, seed=0)
    same_in_the_page([natural(pair.source) for pair in pairs], 1000)


@pytest.mark.nightly
@pytest.mark.multi30k
def test_the_page_cuts_captions_as_python_does():
    texts = [natural(each) for t in TESTS for each in sources(t)]
    same_in_the_page(texts, 10_000)
