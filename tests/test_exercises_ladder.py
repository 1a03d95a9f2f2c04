"""Plausible wrong answers to the ladder's exercises, and their hints."""

import math

import numpy as np
import pytest
import torch
from test_exercises import said_about

from lookback.exercises import check
from lookback.lab import metrics
from lookback.lab.comparison import (
    bleu,
    caption_rows,
    randomized_differences,
)

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    "answer, words",
    [
        ((8, 0, 1 / 9), "The differences keep their signs"),
        ((2, 2, 1 / 3), "the mean of the differences"),
        ((-6, 2, 1 / 3), "A minus B"),
        ((7, 2, 1 / 3), "The gap is no slip that the check"),
        ((6, 4, 5 / 9), "only equal the true gap"),
        ((6, 1, 2 / 9), "−8 counts too"),
        ((6, 3, 1 / 3), "The 1 of the equation comes later"),
        ((6, 0, 1 / 9), "The number of tosses is no slip"),
        ((6, 2, 0.25), "Both 1s"),
        ((6, 2, 0.375), "The 1 below"),
        ((6, 2, 0.222), "The 1 above"),
        ((6, 2, 33.333), "per cent"),
        ((6, 2, 0.5), "The p is no slip"),
        ((6, 2, 0.75), "and all eight below"),
        ((6, "2", 0.5), "plain numbers"),
        ((6, 2), "You gave 2 numbers"),
    ],
)
def test_swaps_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "swaps_by_hand", answer)


@pytest.mark.parametrize(
    "answer", [(6, 2, 0.33), [6.0, 2.0, 3 / 9], torch.tensor([6, 2, 1 / 3])]
)
def test_swaps_by_hand_takes_rounded_answers(answer):
    assert check.swaps_by_hand(answer) is True


def test_swaps_by_hand_is_what_the_chapter_computes():
    gaps = [a * 5 + b * 2 + c * -1 for a, b, c in torch.cartesian_prod(
        *[torch.tensor([1, -1])] * 3
    ).tolist()]  # fmt: skip
    larger = sum(abs(gap) > 6 for gap in gaps)
    assert check.swaps_by_hand((6, larger, (larger + 1) / 9)) is True


def parts(rows):
    """Shares, c and r of the summed rows."""
    sums = rows.sum(0).double()
    return sums[:4] / sums[4:8], sums[4], sums[8]


def factor(c, r):
    return min(0, 1 - r / c)


def penalised(penalty):
    def mine(rows):
        shares, c, r = parts(rows)
        return 100 * math.exp(penalty(c, r)) * shares.prod() ** 0.25

    return mine


def c_of_all_runs(rows):
    shares, _, r = parts(rows)
    c = rows[:, 4:8].sum()
    return 100 * math.exp(factor(c, r)) * shares.prod() ** 0.25


def combined(mean):
    def mine(rows):
        shares, c, r = parts(rows)
        return 100 * math.exp(factor(c, r)) * mean(shares)

    return mine


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda rows: bleu(rows).mean(), "the captions' own BLEU"),
        (lambda rows: bleu(rows), "Add the captions' rows up first"),
        (penalised(lambda c, r: 1 - r / c), "too long get a prize"),
        (penalised(lambda c, r: -abs(1 - r / c)), "You punish long ones"),
        (penalised(lambda c, r: min(0, 1 - c / r)), "r and c are exchanged"),
        (c_of_all_runs, "with c the words, t_1"),
        (penalised(lambda c, r: min(0, r / c - 1)), "You punish long ones"),
        (penalised(lambda c, r: min(0, 1 + r / c)), "Short translations pay"),
        (penalised(lambda c, r: 0), "Short translations pay nothing"),
        (combined(lambda shares: shares.mean()), "arithmetic mean"),
        (combined(lambda shares: shares.prod()), "Divide the sum of the log"),
        (combined(lambda shares: shares[0]), "single words only"),
        (combined(lambda shares: shares**0.25), "is still to be taken"),
        (lambda rows: bleu(rows).sum(), "added up the captions' own BLEU"),
        (penalised(lambda c, r: min(0, math.log(c / r))), "yours is c / r"),
        (lambda rows: math.nan, "NaN or infinity"),
        (lambda rows: 1j * len(rows), "yours is complex"),
        (lambda rows: bleu(rows.sum(0)) / 100, "times 100"),
        (lambda rows: bleu(rows.sum(0)).log(), "Not the right value"),
        (lambda rows: rows.sum(0).tolist(), "yours is list"),
        (
            lambda rows: 100 * math.exp(
                factor(*parts(rows)[1:])
                + sum(map(math.log, parts(rows)[0].tolist())) / 4
            ),
            "math domain error",
        ),
    ],
)  # fmt: skip
def test_corpus_bleu(mine, words, capsys):
    assert words in said_about(capsys, "corpus_bleu", mine)


def test_corpus_bleu_takes_the_books_function():
    assert check.corpus_bleu(lambda rows: bleu(rows.sum(0))) is True


def test_corpus_bleu_takes_numpy():
    def mine(rows):
        m, t = np.split(rows.sum(0).numpy()[:8], 2)
        r = rows.numpy().astype("float64")[:, 8].sum()
        with np.errstate(divide="ignore"):
            mean = np.log(m / t).mean()
        return 100 * np.exp(min(0, 1 - r / t[0])) * np.exp(mean)

    assert check.corpus_bleu(mine) is True


def test_corpus_bleu_takes_a_python_number():
    def mine(rows):
        *shares, c, r = (*parts(rows)[0].tolist(), *parts(rows)[1:])
        product = 1.0
        for share in shares:
            product *= share
        return 100 * math.exp(factor(c, r)) * product**0.25

    assert check.corpus_bleu(mine) is True


def test_corpus_bleu_is_sacrebleus():
    said = ["a dog runs on the green grass", "two men sit there"]
    truths = ["a dog runs over the green grass", "two men sit there alone"]
    said, truths = ([text.split() for text in both] for both in (said, truths))
    text = ", ".join(
        " ".join(map(str, row)) for row in metrics.counts(said, truths)
    )
    found = check.corpus_bleu.solution(caption_rows(text)).item()
    truth = metrics.bleu(said, truths)["bleu"]
    assert found == pytest.approx(truth, rel=1e-4)


def swapped(one, two, coins):
    """Both sides' rows after the swaps, [trials captions 9]."""
    heads = coins[:, :, None]
    return torch.where(heads, two, one), torch.where(heads, one, two)


def totals(one, two, coins):
    return [side.sum(1) for side in swapped(one, two, coins)]


def gap_of(sides, score):
    first, second = sides
    return score(second) - score(first)


@pytest.mark.parametrize(
    "mine, words",
    [
        (
            lambda a, b, c, score: -gap_of(totals(a, b, c), score),
            "Every sign is flipped",
        ),
        (
            lambda a, b, c, score: gap_of(totals(a, b, ~c), score),
            "rows change places where the coin is True",
        ),
        (
            lambda a, b, c, score: score(totals(a, b, c)[1]) - score(a.sum(0)),
            "The first keeps its own rows",
        ),
        (
            lambda a, b, c, score: score(b.sum(0)) - score(totals(a, b, c)[0]),
            "The second keeps its own rows",
        ),
        (
            lambda a, b, c, score: gap_of(
                totals(a, b, c[:, :1].expand_as(c)), score
            ),
            "One coin decides for all captions",
        ),
        (
            lambda a, b, c, score: gap_of(totals(a, b, c), score).abs(),
            "Keep the sign",
        ),
        (
            lambda a, b, c, score: gap_of(swapped(a, b, c), score).mean(1),
            "average the captions' own scores",
        ),
        (
            lambda a, b, c, score: gap_of(
                [side.double().mean(1) for side in swapped(a, b, c)], score
            ),
            "You average the rows",
        ),
        (
            lambda a, b, c, score: gap_of(swapped(a, b, c), score),
            "Add the rows up before you score",
        ),
        (
            lambda a, b, c, score: totals(a, b, c)[1] - totals(a, b, c)[0],
            "The score is still to be taken",
        ),
        (
            lambda a, b, c, score: score(b.sum(0)) - score(a.sum(0)),
            "[trials] is [5] here",
        ),
        (
            lambda a, b, c, score: gap_of(swapped(a, b, c), score).sum(1),
            "You add up the captions' own scores",
        ),
        (
            lambda a, b, c, score: sum(map(score, totals(a, b, c))),
            "the gap is their difference",
        ),
        (
            lambda a, b, c, score: gap_of(totals(a, b, c), score) / 0,
            "NaN or infinity",
        ),
    ],
)
def test_swap_gaps(mine, words, capsys):
    assert words in said_about(capsys, "swap_gaps", mine)


def test_swap_gaps_takes_a_loop():
    def mine(one, two, coins, score):
        gaps = []
        for tosses in coins:
            first, second = one.clone(), two.clone()
            first[tosses], second[tosses] = two[tosses], one[tosses]
            gaps.append(score(second.sum(0)) - score(first.sum(0)))
        return torch.stack(gaps)

    assert check.swap_gaps(mine) is True


def test_swap_gaps_takes_a_product_of_tables():
    def mine(one, two, coins, score):
        moved = coins.long() @ (two - one)
        return score(two.sum(0) - moved) - score(one.sum(0) + moved)

    assert check.swap_gaps(mine) is True


def test_swap_gaps_is_what_the_chapter_computes():
    one = caption_rows("6 4 3 2 8 6, 4 3 2 1 6 5")
    two = caption_rows("5 4 2 1 6 6, 5 4 3 2 5 5")
    coins = torch.tensor([[True, False], [False, False]])
    found = check.swap_gaps.solution(one, two, coins, bleu)
    assert torch.allclose(found, randomized_differences(one, two, coins))


def unless(beats, itself=0):
    """True where beats(q, c, Q, C) holds for no rung's q and c."""

    def mine(quality, cost):
        q, c = quality[None], cost[None]
        Q, C = quality[:, None], cost[:, None]
        return beats(q, c, Q, C).sum(1) <= itself

    return mine


def along_the_wrong_axis(q, c):
    as_good, as_cheap = q >= q[:, None], c <= c[:, None]
    better = (q > q[:, None]) | (c < c[:, None])
    return ~(as_good & as_cheap & better).any(0)


def best_ratio(quality, cost):
    return quality / cost == (quality / cost).max()


def front(quality, cost):
    return check.not_beaten.solution(quality, cost)


@pytest.mark.parametrize(
    "mine, words",
    [
        (
            unless(lambda q, c, Q, C: (q >= Q) & (c <= C)),
            "compare each rung with itself",
        ),
        (
            unless(lambda q, c, Q, C: (q >= Q) & (c <= C), itself=1),
            "do not beat each other",
        ),
        (
            unless(lambda q, c, Q, C: (q > Q) & (c < C)),
            "Equal in one and better in the other",
        ),
        (lambda q, c: ~front(q, c), "True and False are exchanged"),
        (lambda q, c: q == q.max(), "Only the best quality is left"),
        (best_ratio, "Only the most quality for its cost"),
        (lambda q, c: front(q, -c), "Less cost is better"),
        (
            unless(lambda q, c, Q, C: (q > Q) & (c <= C)),
            "A rung of equal quality",
        ),
        (
            unless(lambda q, c, Q, C: (q >= Q) & (c < C)),
            "A rung of equal cost",
        ),
        (along_the_wrong_axis, "along the right axis"),
        (
            unless(lambda q, c, Q, C: (q > Q) | (c < C)),
            "at least as good AND costs at most as much",
        ),
        (
            unless(
                lambda q, c, Q, C: ((q >= Q) | (c <= C)) & ((q > Q) | (c < C))
            ),
            "Yours says or",
        ),
        (
            unless(lambda q, c, Q, C: (q >= Q) & (c <= C) | (q > Q) | (c < C)),
            "AND better in one of the two",
        ),
        (
            unless(lambda q, c, Q, C: (q >= Q) | (c <= C)),
            "compare each rung with itself",
        ),
        (lambda q, c: front(-q, c), "More quality is better"),
        (lambda q, c: c == c.min(), "Only the lowest cost"),
        (lambda q, c: q > q.mean(), "a value is not"),
        (lambda q, c: front(q, c).double(), "a tensor of dtype bool"),
        (lambda q, c: front(q, c).nonzero()[:, 0], "Shape first"),
        (lambda q, c: front(q, c).tolist(), "give back a torch tensor"),
    ],
)
def test_not_beaten(mine, words, capsys):
    assert words in said_about(capsys, "not_beaten", mine)


def test_not_beaten_takes_a_loop():
    def mine(quality, cost):
        rungs = list(zip(quality.tolist(), cost.tolist(), strict=True))
        return torch.tensor(
            [
                not any(
                    q >= Q and c <= C and (q, c) != (Q, C) for q, c in rungs
                )
                for Q, C in rungs
            ]
        )

    assert check.not_beaten(mine) is True


def test_not_beaten_takes_the_best_of_those_that_cost_no_more():
    def mine(quality, cost):
        cheaper = cost[None] < cost[:, None]
        equal = cost[None] == cost[:, None]
        below = quality.expand_as(cheaper).masked_fill(~cheaper, -torch.inf)
        beside = quality.expand_as(equal).masked_fill(~equal, -torch.inf)
        return (quality > below.amax(1)) & (quality == beside.amax(1))

    assert check.not_beaten(mine) is True
