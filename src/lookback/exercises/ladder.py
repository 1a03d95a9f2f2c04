"""The exercises of `ladder`: each check beside its reference solution.

What is right comes from plain loops, never from the solution.
"""

import math
from itertools import product

import torch

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    Hint,
    as_number,
    as_tensor,
    exercise,
    expect,
    float64,
)
from lookback.lab.comparison import bleu, caption_rows


def swaps_by_hand_solution():
    """The gaps are ±5 ± 2 ± 1; the true one is 5 + 2 − 1."""
    gaps = [a * 5 + b * 2 - c for a, b, c in product((1, -1), repeat=3)]
    larger = sum(abs(gap) > 6 for gap in gaps)  # 8 and −8
    return [6, larger, (1 + larger) / (1 + len(gaps))]


_BY_HAND = {
    ("gap", 6.0, "It is the sum of the three differences."): {
        "The differences keep their signs: 5 + 2 − 1.": 8.0,
        "That is the mean of the differences; this score adds up.": 2.0,
        "That is A minus B; the gap is B minus A.": -6.0,
    },
    (
        "number of tosses",
        2.0,
        "Write down all eight gaps, ±5 ± 2 ± 1, and count those that are "
        "larger in size than the true one.",
    ): {
        "Two of those four only equal the true gap.": 4.0,
        "−8 counts too: either system might be the better one.": 1.0,
        "The 1 of the equation comes later, in p; count the tosses alone.": 3.0,
    },
    (
        "p",
        3 / 9,
        "Put your count and the number of trials into the equation.",
    ): {
        "Both 1s of the equation are missing, above and below.": 2 / 8,
        "The 1 below is missing.": 3 / 8,
        "The 1 above is missing.": 2 / 9,
        "You took the three coins for the trials, or counted the tosses that "
        "are not larger: the larger ones stand above, and all eight below.": (
            3 / 4
        ),
        "That is per cent; p is a share, between 0 and 1.": 100 / 3,
    },
}


@by_hand(
    swaps_by_hand_solution,
    "the true gap, the number of tosses and p",
    ["true gap", "number of tosses", "p"],
)
def swaps_by_hand():
    """All tosses of three coins: the gap, the tosses above it, and p."""
    return (
        "the gap is 6, two tosses in eight make it 8, and p is 3/9.",
        *(
            stage(
                truth,
                slips,
                f"The {what} is no slip that the check knows. {advice}",
                around(0.004),
                at,
            )
            for at, ((what, truth, advice), slips) in enumerate(
                _BY_HAND.items()
            )
        ),
    )


def corpus_bleu_solution(rows):
    """100 · exp(min(0, 1 − r / c)) · exp(mean of ln(m_n / t_n))."""
    sums = rows.sum(dim=0)
    matches, runs, reference = sums[:4], sums[4:8], sums[8]
    brevity = (1 - reference / runs[0]).clamp(max=0)
    return 100 * brevity.exp() * (matches / runs).log().mean().exp()


def _product(row, brevity=lambda x: min(0.0, x), mean=None):
    """BLEU of one row: the penalty times the fourth root of a product."""
    shares = [m / t for m, t in zip(row[:4], row[4:8], strict=True)]
    total = math.prod(shares) ** 0.25 if mean is None else mean(shares)
    return 100 * math.exp(brevity(1 - row[8] / row[4])) * total


def _bleu_gone_wrong(rows, row):
    """What each likely mistake gives, by its hint; `row` is the sum."""
    return {
        "That is the mean of the captions' own BLEU. Add the rows up first.": (
            sum(map(_product, rows)) / len(rows)
        ),
        "min(0, …) is missing: translations that are too long get a prize.": (
            _product(row, lambda x: x)
        ),
        "You punish long ones; the penalty is for short ones alone.": _product(
            row, lambda x: -abs(x)
        ),
        "Short translations pay nothing: the exponent of their penalty is "
        "min(0, 1 − r / c), with c the words, t_1.": (
            _product(row, lambda _: 0.0)
        ),
        "r and c are exchanged: c, the translations' words, is t_1.": (
            _product(row, lambda _: min(0.0, 1 - row[4] / row[8]))
        ),
        "That is the arithmetic mean of the four shares; take the mean of "
        "their logarithms.": _product(row, mean=lambda x: sum(x) / 4),
        "Divide the sum of the logarithms by 4.": _product(row, mean=math.prod),
        "You added up the captions' own BLEU. Add the rows up first.": (
            sum(map(_product, rows))
        ),
        "The brevity penalty is exp(1 − r / c), and yours is c / r.": (
            _product(row, lambda _: min(0.0, math.log(row[4] / row[8])))
        ),
        "BLEU goes from 0 to 100 here: times 100.": _product(row) / 100,
        "You count single words only.": _product(row, mean=lambda x: x[0]),
    }


_BLEU_CASES = {
    "too long together:": "6 4 3 2 8 6, 4 3 2 1 6 5, 3 1 0 0 5 5",
    "too short together:": "4 3 2 1 5 7, 3 2 1 0 4 5, 6 5 4 3 7 9",
    "no run of three matches:": "3 1 0 0 4 4, 2 1 0 0 4 5",
}


@exercise(corpus_bleu_solution)
def corpus_bleu(mine):
    """BLEU of a table of captions."""
    for given, text in _BLEU_CASES.items():
        rows = caption_rows(text)
        result = mine(rows)
        if not isinstance(result, torch.Tensor):
            result = as_number(result, "one number")
        known = {
            (len(rows),): "Add the captions' rows up first.",
            (4,): "The mean over n = 1 … 4 is still to be taken.",
        }
        found = as_tensor(result, (), "one number, []", known)
        row = rows.sum(0).tolist()
        slips = _bleu_gone_wrong(rows.tolist(), row)
        expect(found, _product(row), slips, given)
    return "long, short and hopeless translations, from the sums of the rows."


def swap_gaps_solution(one, two, coins, score):
    """Where a coin is True two rows change places; then sum and score."""
    heads = coins[:, :, None]  # [trials, captions, 1]
    first = torch.where(heads, two, one).sum(dim=1)  # [trials, 9]
    second = torch.where(heads, one, two).sum(dim=1)
    return score(second) - score(first)


_SWAPS = (
    (
        "6 4 3 2 8 6, 4 3 2 1 6 5, 5 4 3 2 6 7, 7 5 3 1 9 8",
        "5 4 2 1 6 6, 5 4 3 2 5 5, 4 3 2 1 9 7, 8 7 6 5 8 8",
        [[0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 0, 1], [0, 0, 1, 0]],
        bleu,
    ),
    (
        "2 1 0 0 9 9, 3 1 0 0 9 9, 4 1 0 0 9 9",
        "7 1 0 0 9 9, 5 1 0 0 9 9, 3 1 0 0 9 9",
        list(product((0, 1), repeat=3)),
        lambda sums: sums[..., 0],
    ),
)


def _swap_loop(one, two, coins, score):
    """The gaps, one toss and one caption after another."""
    gaps = []
    for tosses in coins.tolist():
        rows = zip(tosses, one.tolist(), two.tolist(), strict=True)
        pairs = [(b, a) if heads else (a, b) for heads, a, b in rows]
        first, second = score(torch.tensor(pairs).sum(0)).tolist()
        gaps.append(second - first)
    return float64(gaps)


def _swaps_gone_wrong(one, two, coins, score, truth):
    """What each likely mistake gives, by its hint."""
    heads, by_trial = coins[:, :, None], coins[:, :1].expand_as(coins)
    a, b = torch.where(heads, two, one), torch.where(heads, one, two)
    each = (score(b) - score(a)).double()
    return {
        "Every sign is flipped. The gap is the second's score minus the "
        "first's, and rows change places where the coin is True.": -truth,
        "The first keeps its own rows. A row that goes over to the "
        "second must leave the first.": score(b.sum(1)) - score(one.sum(0)),
        "The second keeps its own rows. A row that goes over to the "
        "first must leave the second.": score(two.sum(0)) - score(a.sum(1)),
        "One coin decides for all captions of a trial; every caption has its "
        "own.": _swap_loop(one, two, by_trial, score),
        "Keep the sign: it is left out when p is counted.": truth.abs(),
        "You average the rows; add them up.": truth / len(one),
        "You average the captions' own scores; score the sums.": each.mean(1),
        "You add up the captions' own scores; score the sums.": each.sum(1),
        "That is the sum of the two scores; the gap is their difference.": (
            (score(a.sum(1)) + score(b.sum(1))).double()
        ),
    }


@exercise(swap_gaps_solution)
def swap_gaps(mine):
    """The gap of two systems after each trial's swaps, by any score."""
    for ones, twos, tosses, score in _SWAPS:
        one, two = caption_rows(ones), caption_rows(twos)
        coins = torch.tensor(tosses).bool()
        trials, captions = coins.shape
        known = {
            (trials, captions): "Add the rows up before you score.",
            (trials, 9): "The score is still to be taken, of each side.",
        }
        result = mine(one, two, coins, score)
        found = as_tensor(result, (trials,), "[trials]", known)
        truth = _swap_loop(one, two, coins, score)
        slips = _swaps_gone_wrong(one, two, coins, score, truth)
        expect(found, truth, slips)
    return "two scores, the second with the eight gaps that you know by hand."


def not_beaten_solution(quality, cost):
    """True where no rung is as good, as cheap, and better in one of them."""
    good, cheap = quality[:, None], cost[:, None]  # the others: columns
    as_good, as_cheap = quality >= good, cost <= cheap
    better = (quality > good) | (cost < cheap)
    return ~(as_good & as_cheap & better).any(dim=1)


def _sweep(rungs):
    """The front, from the cheapest up: kept if better than all before."""
    best, kept = -math.inf, []
    for cost, minus in sorted((c, -q) for q, c in rungs):
        if -minus > best:
            best = -minus
            kept.append((best, cost))
    return torch.tensor([rung in kept for rung in rungs])


def _unless(rungs, beats, allowed=0):
    """True where beats(q, c, Q, C) holds for no more rungs than allowed."""
    return torch.tensor(
        [sum(beats(*a, *b) for a in rungs) <= allowed for b in rungs]
    )


_RUNGS = (
    [(5, 1), (30, 4), (4, 3), (20, 5), (50, 9), (40, 8), (45, 12)],
    [(30, 4), (30, 6), (50, 9), (40, 9), (20, 2), (20, 2), (10, 2)],
    [(-3, 7)],
)


def _all_beaten(mine, quality, cost):
    """Why all of several rungs are beaten: is even a rung alone?"""
    alone = as_tensor(mine(quality, cost), (1,), "[rungs]")
    if not alone.any():
        return (
            "You compare each rung with itself. To be as good and as cheap is "
            "not enough to beat: AND better in one of the two."
        )
    return (
        "To be better in one is not yet to beat: whoever beats is at least as "
        "good AND costs at most as much. Yours says or."
    )


@exercise(not_beaten_solution)
def not_beaten(mine):
    """The rungs that no other rung makes superfluous."""
    for rungs in _RUNGS:
        quality, cost = torch.tensor(rungs).to(torch.get_default_dtype()).T
        result = mine(quality, cost)
        found = as_tensor(result, cost.shape, "[rungs]")
        if result.dtype != torch.bool:
            raise Hint("Give back True and False: a tensor of dtype bool.")
        truth, share = _sweep(rungs), quality / cost
        slips = {
            _all_beaten(mine, quality[:1], cost[:1]): torch.zeros_like(truth),
            "True and False are exchanged.": ~truth,
            "Only the best quality is left; a cheaper rung with less of it is "
            "not beaten.": quality == quality.max(),
            "Only the lowest cost is left; a better rung that costs more is "
            "not beaten.": cost == cost.min(),
            "Only the most quality for its cost is left. Whether more is worth "
            "more is the buyer's choice.": share == share.max(),
            "Less cost is better.": _sweep([(q, -c) for q, c in rungs]),
            "More quality is better.": _sweep([(-q, c) for q, c in rungs]),
            "Two rungs that are equal in both do not beat each other.": (
                _unless(rungs, lambda q, c, Q, C: q >= Q and c <= C, 1)
            ),
            "Equal in one and better in the other is enough to beat.": (
                _unless(rungs, lambda q, c, Q, C: q > Q and c < C)
            ),
            "A rung of equal quality that costs less beats too.": (
                _unless(rungs, lambda q, c, Q, C: q > Q and c <= C)
            ),
            "A rung of equal cost with more quality beats too.": (
                _unless(rungs, lambda q, c, Q, C: q >= Q and c < C)
            ),
            "You marked the rungs that beat no other; asked is who is not "
            "beaten. Is any taken along the right axis?": (
                _unless(
                    rungs,
                    lambda q, c, Q, C: q <= Q and c >= C and (q, c) != (Q, C),
                )
            ),
        }
        expect(found, truth, slips, f"quality and cost {rungs}:")
    return "rungs beaten outright, equal in one, equal in both, and alone."
