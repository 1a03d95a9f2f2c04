"""What the chapters say about the trained models' answers is what they say.

The prose around a cell interprets its output; when weights are trained anew,
these tests tell which sentences have to be written anew.
"""

import re
from pathlib import Path

import pytest

from lookback.bottleneck import Bottleneck
from lookback.experiments.copying import LETTERS, strings
from lookback.lab import metrics, phrasebook, records, weights
from lookback.lab.corpus import Pair
from lookback.lab.decoding import force, translate
from lookback.rnnsearch import RNNsearch

KINDS = {"bottleneck": Bottleneck, "rnnsearch": RNNsearch}
BENCH = (
    "a little girl in a pink dress is sitting on a bench next to"
    " an old woman who is reading a red book to a small boy ."
)


def said(name: str, sentence: str, width: int = 1) -> str:
    model, source, target = weights.load(name, KINDS[name])
    words, _ = translate(model, [sentence.split()], source, target, width)[0]
    return " ".join(words)


def looks(sentence: str) -> list[tuple[str, str]]:
    """(French word, English word with the largest weight)."""
    model, source, target = weights.load("rnnsearch", RNNsearch)
    english = sentence.split()
    words, found = translate(model, [english], source, target, 5)[0]
    best = found.weights.argmax(-1).tolist()
    return [
        (word, [*english, "<end>"][j])
        for word, j in zip([*words, "<end>"], best, strict=True)
    ]


def test_the_bottleneck_loses_the_old_woman_and_the_boy_eats_the_book():
    answer = said("bottleneck", BENCH)
    assert answer.startswith("une petite fille en robe rose est assise")
    assert "manger un livre" in answer
    assert "vieille femme" not in answer
    assert answer.count("petit garçon") == 2


def test_the_bottleneck_loses_the_newspapers_colour_only():
    sentence = "an old man in a gray coat is reading a yellow newspaper ."
    answer = said("bottleneck", sentence)
    assert "journal" in answer and "jaune" not in answer
    assert said("bottleneck", "a dog runs in the snow .") == (
        "un chien court dans la neige ."
    )


def test_rnnsearch_carries_the_same_sentence():
    answer = said("rnnsearch", BENCH, 5)
    assert "vieille femme qui lit un livre rouge à un petit garçon" in answer


def test_the_gaze_jumps_over_the_adjective_and_comes_back():
    pairs = looks("a black cat sleeps on a red chair .")
    assert ("chat", "cat") in pairs and ("noir", "black") in pairs
    assert ("chaise", "chair") in pairs and ("rouge", "red") in pairs


@pytest.mark.parametrize("word, known", [("gray", True), ("grey", False)])
def test_grey_is_the_unknown_word(word, known):
    _, source, _ = weights.load("rnnsearch", RNNsearch)
    assert (word in source.index) == known


def test_narrow_vectors_lose_letters_and_wide_ones_their_order():
    kept, first_best = [], []
    for width, length in ((16, 6), (32, 9), (64, 13), (128, 17)):
        model, *_ = weights.load(f"copying-{width}", Bottleneck)
        asked = [p.target for p in strings(200, [length], seed=7)]
        found = translate(model, asked, LETTERS, LETTERS)
        copies = [words for words, _ in found]
        failed = [(a, c) for a, c in zip(asked, copies, strict=True) if a != c]
        kept.append(
            sum(sorted(a) == sorted(c) for a, c in failed) / len(failed)
        )
        right = [
            sum(
                a[at] == c[at]
                for a, c in zip(asked, copies, strict=True)
                if len(c) > at
            )
            for at in range(length)
        ]
        first_best.append(right[0] == max(right))
    assert kept == sorted(kept) and kept[0] < 0.1 and kept[-1] > 0.8
    assert all(first_best)


def test_each_doubling_buys_less_than_double():
    half = records.load("copying")["results"]["half"]
    for width in (8, 16, 32, 64):
        assert half[str(width)] < half[str(2 * width)] < 2 * half[str(width)]


def test_most_wrong_links_are_articles():
    model, source, target = weights.load("phrasebook", RNNsearch)
    pairs = phrasebook.sample(300, seed=5)
    given = [Pair(p.source, p.target) for p in pairs]
    wrong = [
        pair.target[i]
        for pair, weights in zip(
            pairs, force(model, given, source, target), strict=True
        )
        for _, i in metrics.links(weights[:-1]) - pair.alignment
    ]
    articles = sum(word in ("le", "la", "les", "l'") for word in wrong)
    assert articles > len(wrong) / 2


def test_the_drawing_shows_the_models_own_weights():
    drawing = Path(__file__).parents[1] / "book/_static/drawings/rnnsearch.svg"
    drawn = re.findall(r">(0\.\d\d)<", drawing.read_text(encoding="utf-8"))
    model, source, target = weights.load("rnnsearch", RNNsearch)
    english = "a black cat sleeps on a red chair .".split()
    words, found = translate(model, [english], source, target, 5)[0]
    row = found.weights[words.index("noir")]
    assert drawn == [f"{float(weight):.2f}" for weight in row[:5]]


def test_the_search_makes_less_than_half_the_diagonals_errors():
    found = records.load("alignment")["results"]
    assert found["aer"] < found["aer_diagonal"] / 2


def test_reversal_did_not_help_and_the_intervals_overlap():
    found = records.load("search")["results"]
    assert found["gain_of_reversal"] < 0
    assert found["reversed"]["high"] > found["bottleneck"]["low"]


def test_length_hurts_the_fixed_vector_and_not_the_search():
    found = records.load("length")["results"]
    fixed, search = (
        [row["bleu"] for row in found[name]["by_captions"]]
        for name in ("bottleneck", "rnnsearch")
    )
    assert fixed == sorted(fixed, reverse=True)
    assert search[-1] > search[0]
