"""Subwords: nothing is unknown, words come back whole, bad text is refused."""

import subprocess
import sys

import pytest

from lookback.lab import phrasebook
from lookback.lab.subwords import LAST, Subwords
from lookback.vocabulary import END, PAD, SPECIALS, START, UNK


@pytest.fixture(scope="module")
def sentences():
    return [side for p in phrasebook.sample(300) for side in p[:2]]


@pytest.fixture(scope="module")
def pieces(sentences):
    return Subwords.learn(sentences, 200)


def test_special_pieces_come_first(pieces):
    assert tuple(pieces.words[:4]) == SPECIALS
    assert [pieces.index[word] for word in SPECIALS] == [PAD, UNK, START, END]
    assert len(pieces) == len(pieces.words) == 200


def test_every_sentence_comes_back(pieces, sentences):
    for words in sentences:
        numbers = pieces.encode(words)
        assert UNK not in numbers
        assert pieces.decode([*numbers, END, 7]) == list(words)


def test_a_new_word_is_spelled_from_known_letters(pieces):
    spelled = pieces.pieces(["catdog", "cat"])
    assert len(spelled) > 2 and "".join(spelled) == f"catdog{LAST}cat{LAST}"
    assert pieces.decode(pieces.encode(["catdog"])) == ["catdog"]


def test_a_letter_never_seen_is_unknown(pieces):
    assert UNK in pieces.encode(["猫"])
    assert "<unk>" in "".join(pieces.decode(pieces.encode(["猫"])))


def test_the_first_merge_is_the_most_frequent_pair():
    pieces = Subwords.learn([["aab", "aab", "aac", "b"]], 13)
    letters = {"a", "b", "c", f"b{LAST}", f"c{LAST}"}
    learned = [w for w in pieces.words[4:] if w not in letters]
    assert learned[0] == "aa"  # three times; a-b twice


def test_there_and_back(pieces, sentences):
    again = Subwords.load(pieces.dump())
    assert again.words == pieces.words
    assert again.encode(sentences[0]) == pieces.encode(sentences[0])


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"model": {}}'])
def test_refuses_what_is_no_subwords(text):
    with pytest.raises(ValueError, match="text has no subwords"):
        Subwords.load(text)


def test_the_same_sentences_give_the_same_pieces_in_every_process():
    """A run that goes on in another process must read the same words."""
    program = (
        "import random; from lookback.lab.subwords import Subwords;"
        "dice = random.Random(0);"
        "words = [''.join(dice.choices('abcdefgh', k=dice.randint(1, 6)))"
        " for _ in range(400)];"
        "print(Subwords.learn([words], 60).words)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(4)
    }
    assert len(said) == 1
