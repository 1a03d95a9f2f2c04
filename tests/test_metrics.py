"""BLEU and alignment error rate."""

import random

import pytest
import sacrebleu
import torch

from lookback.lab.metrics import (
    alignment_error_rate,
    bleu,
    bleu_by_length,
    chrf,
    counts,
    links,
)

WORDS = "a man in a blue shirt &apos; s dog runs , and sleeps .".split()


def corpus(count=60, seed=0):
    """References, and translations with some words changed."""
    dice = random.Random(seed)
    truths = [dice.choices(WORDS, k=dice.randint(4, 20)) for _ in range(count)]
    said = [
        [dice.choice(WORDS) if dice.random() < 0.2 else w for w in truth]
        for truth in truths
    ]
    return said, truths


def test_bleu_equals_sacrebleu():
    said, truths = corpus()
    expected = sacrebleu.corpus_bleu(
        [" ".join(words) for words in said],
        [[" ".join(words) for words in truths]],
        tokenize="none",
        force=True,
    )
    assert bleu(said, truths) == {"bleu": expected.score}
    assert 20 < expected.score < 90


def test_bleu_of_a_perfect_and_of_a_hopeless_translation():
    _, truths = corpus()
    assert bleu(truths, truths)["bleu"] == pytest.approx(100)
    hopeless = [["x"] * len(truth) for truth in truths]
    assert bleu(hopeless, truths)["bleu"] < 1


def test_the_words_are_not_tokenised_again():
    said, truth = [["it", "&apos;s", "so"] * 2], [["it", "&apos;", "s", "so"]]
    assert bleu(said, truth)["bleu"] < 40


def test_the_interval_holds_the_score_and_stays_the_same():
    said, truths = corpus()
    first = bleu(said, truths, resamples=300)
    assert first["low"] < first["bleu"] < first["high"]
    assert first["high"] - first["low"] < 20
    assert bleu(said, truths, resamples=300) == first


def test_more_sentences_give_a_narrower_interval():
    few, many = (bleu(*corpus(n), resamples=300) for n in (20, 500))
    assert many["high"] - many["low"] < few["high"] - few["low"]


@pytest.mark.parametrize(
    ("said", "truths"), [([], []), ([["a"]], []), ([["a"]], [["a"], ["b"]])]
)
def test_bleu_refuses(said, truths):
    with pytest.raises(ValueError, match="equally many"):
        bleu(said, truths)


@pytest.mark.parametrize("resamples", [1, -5])
def test_an_interval_needs_two_resamples(resamples):
    with pytest.raises(ValueError, match="resamples"):
        bleu([["a"]], [["a"]], resamples)


def test_counts_by_hand():
    said = [["a", "b", "c", "a"], ["b"]]
    truths = [["a", "b", "c", "d", "a"], ["c", "b"]]
    assert counts(said, truths) == [[4, 2, 1, 0, 4, 5], [1, 0, 0, 0, 1, 2]]


def test_bleu_by_length():
    said, truths = corpus(40)
    lengths = [len(words) for words in truths]
    rows = bleu_by_length(said, truths, lengths, [1, 4, 10, 15, 21], 20)
    assert [(row["from"], row["to"]) for row in rows] == [
        (4, 10),
        (10, 15),
        (15, 21),
    ]  # no sentence is shorter than 4 words
    assert sum(row["sentences"] for row in rows) == 40
    for row in rows:
        chosen = [
            i for i, n in enumerate(lengths) if row["from"] <= n < row["to"]
        ]
        assert row["sentences"] == len(chosen)
        mean = sum(lengths[i] for i in chosen) / len(chosen)
        assert row["mean_length"] == pytest.approx(mean)
        alone = bleu([said[i] for i in chosen], [truths[i] for i in chosen], 20)
        assert {k: row[k] for k in alone} == alone


@pytest.mark.parametrize("edges", [[5, 1], [1, 1, 5], [1], []])
def test_edges_must_rise(edges):
    with pytest.raises(ValueError, match="must rise"):
        bleu_by_length([["a"]], [["a"]], [1], edges)


def test_bleu_by_length_refuses_unequal_numbers():
    for said, truths, lengths in (
        ([["a"]] * 3, [["a"]] * 3, [1, 1]),
        ([["a"]] * 2, [["a"]] * 3, [1, 1]),
    ):
        with pytest.raises(ValueError, match="equally many"):
            bleu_by_length(said, truths, lengths, [1, 5])


def test_links():
    weights = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]])
    assert links(weights) == {(1, 0), (0, 1)}  # (source, target)


def test_alignment_error_rate_by_hand():
    # A has 3 links, 2 of them sure; S has 4: 1 - (2 + 2) / (3 + 4)
    found = [{(0, 0), (1, 1), (2, 0)}]
    sure = [{(0, 0), (1, 1), (2, 2), (3, 3)}]
    assert alignment_error_rate(found, sure) == pytest.approx(3 / 7)


def test_alignment_error_rate_with_possible_links():
    # the third is possible: 1 - (2 + 3) / (3 + 4)
    found = [{(0, 0), (1, 1), (2, 0)}]
    sure = [{(0, 0), (1, 1), (2, 2), (3, 3)}]
    for possible in ({(2, 0)}, {(2, 0), *sure[0]}):  # P holds S anyway
        rate = alignment_error_rate(found, sure, [possible])
        assert rate == pytest.approx(2 / 7)


def test_alignment_error_rate_sums_over_the_corpus():
    # 1 - (1 + 1 + 0) / (1 + 1 + 3 + 1), not the mean of 0 and 1
    found, sure = [{(0, 0)}, {(0, 0), (0, 1), (0, 2)}], [{(0, 0)}, {(1, 1)}]
    assert alignment_error_rate(found, sure) == pytest.approx(2 / 3)


def test_alignment_error_rate_bounds():
    some = [{(0, 0), (1, 2)}]
    assert alignment_error_rate(some, some) == 0
    assert alignment_error_rate([{(5, 5)}], some) == 1


def test_alignment_error_rate_refuses():
    with pytest.raises(ValueError, match="equally many"):
        alignment_error_rate([set()], [])
    with pytest.raises(ValueError, match="no links"):
        alignment_error_rate([set()], [set()])


def test_chrf_is_sacrebleus_of_letters():
    right = [["un", "chat", "noir"]]
    assert chrf(right, right) == pytest.approx(100)
    near = chrf([["un", "chats", "noir"]], right)
    far = chrf([["un", "chien", "noir"]], right)
    assert 0 < far < near < 100
    with pytest.raises(ValueError, match="equally many"):
        chrf([], [])
