"""The exercises of `ablations`: each check beside its reference solution.

What is right comes from plain loops, never from the solution.
"""

import math
import statistics

import torch

from lookback.exercises.by_hand import by_hand, stages, within
from lookback.exercises.checking import Hint, as_number, exercise, float64

_A, _B = (46.0, 48.0, 50.0), (50.0, 52.0)


def seeds_by_hand_solution():
    """3, √(10/3), that times √(1/3 + 1/2), and 2 + 1."""
    degrees = len(_A) - 1 + len(_B) - 1
    squares = sum(
        (x - statistics.mean(runs)) ** 2 for runs in (_A, _B) for x in runs
    )
    s = math.sqrt(squares / degrees)
    gap = statistics.mean(_B) - statistics.mean(_A)
    return [gap, s, s * math.sqrt(1 / 3 + 1 / 2), degrees]


_S = math.sqrt(10 / 3)
_BY_HAND = {
    ("difference", 3, "Subtract the mean of A from that of B."): {
        "That is A minus B; how far is B ahead?": -3.0,
        "Those are the sums; take the means.": -42.0,
        "That is the gap of the best runs; take the means.": 2.0,
    },
    (
        "standard deviation",
        _S,
        "Add up the squared deviations from each model's own mean, and divide "
        "by the degrees of freedom; then the root.",
    ): {
        "That is the variance s²; take its root.": 10 / 3,
        "That is the mean of the two standard deviations; average the "
        "variances, with weights.": (2 + math.sqrt(2)) / 2,
        "Both variances have the same weight there; the weights are 2 and 1, "
        "the runs less one.": math.sqrt(3),
        "The weights are the runs less one, 2 and 1, and not 3 and 2.": (
            math.sqrt((3 * 4 + 2 * 2) / 5)
        ),
        "That is B's own, or you divided by all five runs. Divide by the "
        "degrees of freedom, the runs less one of each model.": math.sqrt(2),
        "That is A's own; B's runs count, too.": 2.0,
        "That is the deviation of all five runs from one mean; each model has "
        "its own.": statistics.stdev(_A + _B),
    },
    (
        "standard error",
        _S * math.sqrt(1 / 3 + 1 / 2),
        "It is s √(1/3 + 1/2).",
    ): {
        "That is the unpooled error of Welch's test; put the pooled s in for "
        "both models.": math.sqrt(4 / 3 + 2 / 2),
        "The root is missing over 1/3 + 1/2.": _S * (1 / 3 + 1 / 2),
        "That is s; times √(1/3 + 1/2).": _S,
        "You divided by the root of all runs; each mean has its own error.": (
            _S / math.sqrt(5)
        ),
        "Only A's mean has an error there; B's has one, too.": (
            _S / math.sqrt(3)
        ),
        "Only B's mean has an error there; A's has one, too.": (
            _S / math.sqrt(2)
        ),
        "You added the two errors; add their squares, then take the root.": (
            _S * (1 / math.sqrt(3) + 1 / math.sqrt(2))
        ),
    },
    (
        "degrees of freedom",
        3,
        "One for each run beyond the first of its model.",
    ): {
        "Each of the two models uses up one run for its mean.": 5.0,
        "You took one off for both models together; take off one for each.": (
            4.0
        ),
        "Those are A's alone; add B's.": 2.0,
        "Those are B's alone; add A's.": 1.0,
    },
}


@by_hand(
    seeds_by_hand_solution,
    "the difference, s, the standard error and the degrees of freedom",
    ["difference", "s", "standard error", "degrees of freedom"],
)
def seeds_by_hand():
    """Two models with three and two runs: how sure is their difference?"""
    return (
        "the difference is 3, s 1.83, its standard error 1.67, with three "
        "degrees of freedom.",
        *stages(_BY_HAND, within(0.0055)),
    )


def pooled_spread_solution(scores):
    """√(Σ squared deviations from the own mean / Σ (n − 1))."""
    squares = degrees = 0
    for runs in scores:
        mean = sum(runs) / len(runs)
        squares += sum((x - mean) ** 2 for x in runs)
        degrees += len(runs) - 1
    return (squares / degrees) ** 0.5


_RUNS = (
    [[46.0, 48.0, 50.0], [50.0, 52.0]],
    [[46.0, 48.0, 50.0], [60.0], [31.0, 31.5, 34.0, 30.0]],
    [[1.0, 3.0, 5.0], [0.0, 7.0], [7.0]],
)


def _pooled(models):
    """The same by the statistics module, model by model."""
    several = [each for each in models if len(each) > 1]
    above = sum((len(x) - 1) * statistics.variance(x) for x in several)
    return float64(math.sqrt(above / sum(len(x) - 1 for x in several)))


_NAN = (
    "Your number is NaN: the variance of a single run is not defined. A model "
    "with one run contributes nothing."
)


def _number(mine, scores):
    result = mine(scores)
    result = result if isinstance(result, torch.Tensor) else as_number(result)
    if result.numel() == 1 and result.isnan():
        raise Hint(_NAN)
    return result


@exercise(pooled_spread_solution)
def pooled_spread(mine):
    """The pooled standard deviation of single runs."""
    cases = [((models,), _pooled(models)) for models in _RUNS]
    pooled_spread.compare(mine, cases, "one number, []", "of {0}", ask=_number)
    return "two models, three with a single run among them, and unequal ones."


def _variances(scores):
    return [torch.tensor(x).double().var() for x in scores if len(x) > 1]


def _runs(scores):
    return [len(x) for x in scores if len(x) > 1]


for _hint, _typed in {
    "That is the variance; take its root.": (" ** 0.5", ""),
    "Divide by the degrees of freedom, n − 1 of each model, and not by all "
    "runs.": ("len(runs) - 1", "len(runs)"),
    "A model with a single run has no degree of freedom; yours counts it as "
    "one.": ("len(runs) - 1", "max(len(runs) - 1, 1)"),
    "One mean is used up by each model; you took one off for all of them.": (
        "len(runs) - 1",
        "len(runs)",
        "squares / degrees",
        "squares / (degrees - 1)",
    ),
    "Square the deviations before you add them up.": (
        "(x - mean) ** 2",
        "abs(x - mean)",
    ),
}.items():
    pooled_spread.slip(_hint, *_typed)
for _hint, _wrong in {
    "All runs are in one pot there; each model's runs deviate from its own "
    "mean.": lambda scores: torch.tensor(sum(scores, [])).std(),
    "You average the standard deviations; add up the squares and divide by the "
    "degrees of freedom.": (
        lambda scores: torch.stack(_variances(scores)).sqrt().mean()
    ),
    "Every model has the same weight there; weigh its variance by n − 1.": (
        lambda scores: torch.stack(_variances(scores)).mean().sqrt()
    ),
    "The weights are n − 1, and yours are n.": lambda scores: (
        sum(map(math.prod, zip(_runs(scores), _variances(scores), strict=True)))
        / sum(_runs(scores))
    ).sqrt(),
    _NAN: lambda scores: (
        sum((len(x) - 1) * torch.tensor(x).var() for x in scores)
        / sum(len(x) - 1 for x in scores)
    ).sqrt(),
}.items():
    pooled_spread.slip(_hint, _wrong)


pooled_spread.style(_pooled)


@pooled_spread.style
def _by_variances(scores):
    weights = torch.tensor([n - 1.0 for n in _runs(scores)]).double()
    variances = torch.stack(_variances(scores))
    return ((weights * variances).sum() / weights.sum()) ** 0.5


def not_beaten_solution(quality, cost):
    """True where no other is as good, as cheap, and better in one of them."""
    good, cheap = quality[:, None], cost[:, None]  # the others: columns
    as_good, as_cheap = quality >= good, cost <= cheap
    better = (quality > good) | (cost < cheap)
    return ~(as_good & as_cheap & better).any(dim=1)


def _sweep(models):
    """The front, from the cheapest up: kept if better than all before."""
    best, kept = -math.inf, []
    for cost, minus in sorted((c, -q) for q, c in models):
        if -minus > best:
            best = -minus
            kept.append((best, cost))
    return torch.tensor([model in kept for model in models])


_MODELS = (
    [(4, 3), (5, 1), (30, 4), (20, 5), (40, 8), (45, 12), (50, 9)],
    [(30, 4), (30, 6), (50, 9), (40, 9), (20, 2), (20, 2), (10, 2)],
    [(-3, 7)],
)


_BOOL = "Give back True and False: a tensor of dtype bool."


def _true_or_false(mine, quality, cost):
    result = mine(quality, cost)
    if isinstance(result, torch.Tensor) and result.dtype != torch.bool:
        raise Hint(_BOOL)
    return result


@exercise(not_beaten_solution)
def not_beaten(mine):
    """The models that no other model makes superfluous."""
    cases = []
    for models in _MODELS:
        quality, cost = torch.tensor(models).to(torch.get_default_dtype()).T
        cases.append(((quality, cost), _sweep(models)))
    not_beaten.compare(
        mine,
        cases,
        "[models]",
        "with quality {0} and cost {1}",
        ask=_true_or_false,
    )
    return "models beaten outright, equal in one, equal in both, and alone."


_BEATS = "as_good & as_cheap & better"
_FRONT = f"~({_BEATS}).any(dim=1)"
for _hint, _typed in {
    "You compare each model with itself. To be as good and as cheap is not "
    "enough to beat: AND better in one of the two.": (" & better", ""),
    "To be better in one is not enough: whoever beats is at least as good "
    "AND costs at most as much. Yours says or.": (_BEATS, "better"),
    "True and False are exchanged.": ("return ~", "return "),
    "Only the best quality is left; a cheaper model with less of it is not "
    "beaten.": (_FRONT, "quality == quality.max()"),
    "Only the lowest cost is left; a better model that costs more is not "
    "beaten.": (_FRONT, "cost == cost.min()"),
    "Only the most quality for its cost is left. The trade-off is "
    "left to whoever pays.": (
        _FRONT,
        "quality / cost == (quality / cost).max()",
    ),
    "Less cost is better.": ("cost <", "cost >"),
    "More quality is better.": ("quality >", "quality <"),
    "Two models that are equal in both do not beat each other.": (
        _FRONT,
        "(as_good & as_cheap).sum(dim=1) <= 1",
    ),
    "Equal in one and better in the other is enough to beat.": (
        _BEATS,
        "(quality > good) & (cost < cheap)",
    ),
    "A model of equal quality that costs less beats too.": (
        _BEATS,
        "(quality > good) & as_cheap",
    ),
    "A model of equal cost with more quality beats too.": (
        _BEATS,
        "as_good & (cost < cheap)",
    ),
    "You marked the models that beat no other; the question is which are not "
    "beaten. Is any taken along the right axis?": ("dim=1", "dim=0"),
    "Whoever beats a model may come after it in the list, too.": (
        f"({_BEATS})",
        f"({_BEATS}).tril()",
    ),
    _BOOL: (_FRONT, f"({_FRONT}).double()"),
}.items():
    not_beaten.slip(_hint, *_typed)


not_beaten.style(
    lambda quality, cost: _sweep(
        list(zip(quality.tolist(), cost.tolist(), strict=True))
    )
)


@not_beaten.style
def _best_of_those_that_cost_no_more(quality, cost):
    cheaper = cost[None] < cost[:, None]
    equal = cost[None] == cost[:, None]
    below = quality.expand_as(cheaper).masked_fill(~cheaper, -torch.inf)
    beside = quality.expand_as(equal).masked_fill(~equal, -torch.inf)
    return (quality > below.amax(1)) & (quality == beside.amax(1))
