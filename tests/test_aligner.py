"""IBM model 1 against a slow loop, and what it finds in the phrasebook."""

from collections import defaultdict

import pytest

from lookback.lab import aligner, metrics, phrasebook
from lookback.lab.aligner import NOTHING
from lookback.lab.corpus import Pair

SMALL = [
    Pair("the red house".split(), "la maison rouge".split()),
    Pair("the house".split(), "la maison".split()),
    Pair("a red book a".split(), "un livre rouge".split()),
]


def slowly(pairs, rounds):
    """The equations, one word at a time."""
    t = defaultdict(lambda: 1.0)
    for _ in range(rounds):
        count, total = defaultdict(float), defaultdict(float)
        for source, target in pairs:
            given = [NOTHING, *source]
            for f in target:
                whole = sum(t[e, f] for e in given)
                for e in given:
                    count[e, f] += t[e, f] / whole
                    total[e] += t[e, f] / whole
        t = defaultdict(float, {k: n / total[k[0]] for k, n in count.items()})
    return t


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_the_table_is_that_of_a_slow_loop(rounds):
    found, truth = aligner.learn(SMALL, rounds), slowly(SMALL, rounds)
    assert found.keys() == {k for k, t in truth.items() if t > 0}
    for pair, t in found.items():
        assert t == pytest.approx(truth[pair])


def test_the_table_sums_to_one_for_each_word():
    pairs = [Pair(p.source, p.target) for p in phrasebook.sample(50, seed=0)]
    total = defaultdict(float)
    for (e, _), t in aligner.learn(pairs).items():
        total[e] += t
    assert all(x == pytest.approx(1) for x in total.values())


def test_each_round_makes_the_corpus_likelier():
    import math

    def likelihood(table):
        return sum(
            math.log(sum(table[e, f] for e in [NOTHING, *s]) / (len(s) + 1))
            for s, target in SMALL
            for f in target
        )

    scores = [likelihood(aligner.learn(SMALL, n)) for n in range(1, 8)]
    assert scores == sorted(scores)


def test_it_learns_which_word_is_red():
    table = aligner.learn(SMALL, 10)
    assert table["red", "rouge"] > 0.8
    assert aligner.align(table, SMALL[0])[2] == 1


def test_what_nothing_makes_likeliest_has_no_link():
    table = {(NOTHING, "de"): 0.5, ("cat", "de"): 0.1, ("cat", "chat"): 0.9}
    pair = Pair(["cat"], ["de", "chat", "inconnu"])
    assert aligner.align(table, pair) == [None, 0, None]


def test_it_beats_the_diagonal_on_the_phrasebook():
    known = phrasebook.sample(600, seed=0)
    table = aligner.learn([Pair(p.source, p.target) for p in known])
    found = [
        {
            (j, i)
            for i, j in enumerate(
                aligner.align(table, Pair(p.source, p.target))
            )
            if j is not None
        }
        for p in known
    ]
    gold = [p.alignment for p in known]
    assert metrics.alignment_error_rate(found, gold) < 0.3


@pytest.mark.parametrize(("pairs", "rounds"), [([], 3), (SMALL, 0)])
def test_nothing_to_learn_is_refused(pairs, rounds):
    with pytest.raises(ValueError, match="pairs is empty|rounds is 0"):
        aligner.learn(pairs, rounds)
