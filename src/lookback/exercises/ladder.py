"""The exercises of `ladder`: each check beside its reference solution.

What is right comes from plain loops, never from the solution.
"""

import math
from itertools import product

import numpy as np
import torch

from lookback.exercises.by_hand import around, by_hand, stages
from lookback.exercises.checking import as_number, exercise, float64
from lookback.lab.significance import bleu, caption_rows


def swaps_by_hand_solution():
    """The gaps are ±5 ± 2 ± 1; the true one is 5 + 2 − 1."""
    gaps = [a * 5 + b * 2 - c for a, b, c in product((1, -1), repeat=3)]
    as_large = sum(abs(gap) >= 6 for gap in gaps)  # 6, −6, 8 and −8
    return [6, as_large, as_large / len(gaps)]


_BY_HAND = {
    ("gap", 6, "It is the sum of the three differences."): {
        "The differences keep their signs: 5 + 2 − 1.": 8.0,
        "That is 5 − 2 − 1, or the mean of the differences; this score is "
        "5 + 2 − 1.": 2.0,
        "That is A minus B; the gap is B minus A.": -6.0,
    },
    (
        "number of orders",
        4,
        "Write down all eight gaps, ±5 ± 2 ± 1, and count those that are at "
        "least as large in size as the true one.",
    ): {
        "Equal gaps count, and so do those with the other sign: 6 and −6, 8 "
        "and −8.": 2.0,
        "The true order itself is one of the eight, and −6 its mirror image: "
        "both count.": 3.0,
        "−8 and −6 count too: either system might be the better one.": 1.0,
        "The 1 of the other equation stands for the true order, which is among "
        "your eight; count the orders alone.": 5.0,
        "Those are all orders; count those that are at least as large.": 8.0,
    },
    (
        "p-value",
        4 / 8,
        "Divide your count by the number of all orders.",
    ): {
        "With all eight orders there is no 1 to add, above or below: the true "
        "order is one of them.": 5 / 9,
        "No 1 is added above: the true order is one of the eight.": 5 / 8,
        "No 1 is added below: there are eight orders.": 4 / 9,
        "That counts only larger gaps, and the true order once more. It is no "
        "p-value: equal gaps count.": 3 / 9,
        "That counts only larger gaps, or one sign; equal gaps of either sign "
        "count too.": 2 / 8,
        "You divided by the captions; divide by the orders.": 4 / 3,
        "That is per cent; p is a share, between 0 and 1.": 50.0,
    },
}


@by_hand(
    swaps_by_hand_solution,
    "the true gap, the number of orders and p",
    ["true gap", "number of orders", "p"],
)
def swaps_by_hand():
    """All orders of three captions: the gap, the orders as large, and p."""
    return (
        "the gap is 6, four orders of eight are as large, and p is 4/8.",
        *stages(_BY_HAND, around(0.004)),
    )


def corpus_bleu_solution(rows):
    """100 · exp(min(0, 1 − r / c)) · exp(mean of ln(m_n / t_n))."""
    sums = rows.sum(dim=0)
    matches, runs, reference = sums[:4], sums[4:8], sums[8]
    brevity = (1 - reference / runs[0]).clamp(max=0)
    return 100 * brevity.exp() * (matches / runs).log().mean().exp()


def _product(row):
    """BLEU of one row: the penalty times the fourth root of a product."""
    shares = [m / t for m, t in zip(row[:4], row[4:8], strict=True)]
    brevity = math.exp(min(0.0, 1 - row[8] / row[4]))
    return float64(100 * brevity * math.prod(shares) ** 0.25)


_BLEU_CASES = (
    "6 4 3 2 8 6, 4 3 2 1 6 5, 3 1 0 0 5 5",  # too long together
    "4 3 2 1 5 7, 3 2 1 0 4 5, 6 5 4 3 7 9",  # too short together
    "3 1 0 0 4 4, 2 1 0 0 4 5",  # no run of three matches
)


def _tensor_or_number(mine, rows):
    result = mine(rows)
    return result if isinstance(result, torch.Tensor) else as_number(result)


@exercise(corpus_bleu_solution)
def corpus_bleu(mine):
    """BLEU of a table of captions."""
    tables = map(caption_rows, _BLEU_CASES)
    cases = [((rows,), _product(rows.sum(0).tolist())) for rows in tables]
    corpus_bleu.compare(
        mine, cases, "one number, []", "of {0}", ask=_tensor_or_number
    )
    return "long, short and hopeless translations, from the sums of the rows."


_LONG = "You punish long ones; the penalty is for short ones alone."
_BREVITY = "(1 - reference / runs[0]).clamp(max=0)"
_GEOMETRIC = "(matches / runs).log().mean().exp()"
for _hint, _wrong in {
    "That is the mean of the captions' own BLEU. Add the rows up first.": (
        lambda rows: bleu(rows).mean()
    ),
    "You added up the captions' own BLEU. Add the rows up first.": (
        lambda rows: bleu(rows).sum()
    ),
    "Add the captions' rows up first.": bleu,
}.items():
    corpus_bleu.slip(_hint, _wrong)
for _hint, _typed in {
    "min(0, …) is missing: translations that are too long get a prize.": (
        ".clamp(max=0)",
        "",
    ),
    _LONG: (_BREVITY, "-(1 - reference / runs[0]).abs()"),
    "Short translations pay nothing: the exponent of their penalty is min(0, 1 "
    "− r / c), with c the words, t_1.": ("brevity.exp() * ", ""),
    "r and c are exchanged: c, the translations' words, is t_1.": (
        "reference / runs[0]",
        "runs[0] / reference",
    ),
    "That is the arithmetic mean of the four precisions; average their "
    "logarithms.": (_GEOMETRIC, "(matches / runs).mean()"),
    "Divide the sum of the logarithms by 4.": ("mean()", "sum()"),
    "The brevity penalty is exp(1 − r / c), and yours is c / r.": (
        "1 - reference / runs[0]",
        "(runs[0] / reference).log()",
    ),
    "BLEU goes from 0 to 100 here: times 100.": ("100 * ", ""),
    "You count single words only.": (_GEOMETRIC, "matches[0] / runs[0]"),
    "The mean over n = 1 … 4 is still to be taken.": (".mean()", ""),
}.items():
    corpus_bleu.slip(_hint, *_typed)
corpus_bleu.slip(_LONG, _BREVITY, "(reference / runs[0] - 1).clamp(max=0)")


corpus_bleu.style(lambda rows: bleu(rows.sum(0)))


@corpus_bleu.style
def _by_numpy(rows):
    m, t = np.split(rows.sum(0).numpy()[:8], 2)
    r = rows.numpy().astype("float64")[:, 8].sum()
    with np.errstate(divide="ignore"):
        mean = np.log(m / t).mean()
    return 100 * np.exp(min(0, 1 - r / t[0])) * np.exp(mean)


@corpus_bleu.style
def _in_plain_numbers(rows):
    *counts, r = rows.sum(0).tolist()
    product = 100 * math.exp(min(0, 1 - r / counts[4]))
    for n in range(4):
        product *= (counts[n] / counts[n + 4]) ** 0.25
    return product


def swap_gaps_solution(one, two, swaps, score):
    """Where a swap is True two rows change places; then sum and score."""
    swapped = swaps[:, :, None]  # [trials, captions, 1]
    first = torch.where(swapped, two, one).sum(dim=1)  # [trials, 9]
    second = torch.where(swapped, one, two).sum(dim=1)
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


def _swap_loop(one, two, swaps, score):
    """The gaps, one trial and one caption after another."""
    gaps = []
    for trial in swaps.tolist():
        rows = zip(trial, one.tolist(), two.tolist(), strict=True)
        pairs = [(b, a) if swapped else (a, b) for swapped, a, b in rows]
        first, second = score(torch.tensor(pairs).sum(0)).tolist()
        gaps.append(second - first)
    return float64(gaps)


@exercise(swap_gaps_solution)
def swap_gaps(mine):
    """The gap of two systems after each trial's swaps, by any score."""
    cases = []
    for ones, twos, trials, score in _SWAPS:
        swaps = torch.tensor(trials).bool()
        given = caption_rows(ones), caption_rows(twos), swaps, score
        cases.append((given, _swap_loop(*given)))
    swap_gaps.compare(mine, cases, "[trials]")
    return "two scores, the second with the eight gaps that you know by hand."


_DIFFERENCE = "score(second) - score(first)"
_APART = (".sum(dim=1)", "", _DIFFERENCE)
for _hint, _typed in {
    "Every sign is flipped. The gap is the second's score minus the first's, "
    "and rows change places where the swap is True.": ("swaps[:", "(~swaps)[:"),
    "The first keeps its own rows. A row that goes over to the second must "
    "leave the first.": ("score(first)", "score(one.sum(dim=0))"),
    "The second keeps its own rows. A row that goes over to the first must "
    "leave the second.": ("score(second)", "score(two.sum(dim=0))"),
    "One swap decides for all captions of a trial; every caption has its "
    "own.": ("swaps[:, :, None]", "swaps[:, :1, None]"),
    "Keep the sign: it is left out when p is counted.": (
        _DIFFERENCE,
        f"({_DIFFERENCE}).abs()",
    ),
    "You average the rows; add them up.": ("sum(dim", "double().mean(dim"),
    "You average the captions' own scores; score the sums.": (
        *_APART,
        f"({_DIFFERENCE}).double().mean(dim=1)",
    ),
    "You add up the captions' own scores; score the sums.": (
        *_APART,
        f"({_DIFFERENCE}).sum(dim=1)",
    ),
    "That is the sum of the two scores; the gap is their difference.": (
        "- score(first)",
        "+ score(first)",
    ),
    "Add the rows up before you score.": (".sum(dim=1)", ""),
    "The score is still to be taken, of each side.": (
        _DIFFERENCE,
        "second - first",
    ),
}.items():
    swap_gaps.slip(_hint, *_typed)


swap_gaps.style(_swap_loop)


@swap_gaps.style
def _by_a_product_of_tables(one, two, swaps, score):
    moved = swaps.long() @ (two - one)
    return score(two.sum(0) - moved) - score(one.sum(0) + moved)
