r"""Is one translator better than another? Scores, a test and an interval.

BLEU (Papineni et al. 2002) adds up over all captions before it divides:

    BLEU = 100 exp(min(0, 1 − r / c)) · exp(¼ Σ_n ln(m_n / t_n)),  n = 1 … 4

m_n of the t_n runs of n words stand in the reference too; c and r are the
words of the translations and of the references. So a caption is nine numbers,
a run is a table of such rows, and a system is several runs, one of each seed.
Two systems are compared by a paired randomization test over the captions
(`paired_randomization_test`), and by an interval that counts the seeds as well
(`confidence_interval`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from math import prod
from statistics import mean, stdev
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

from lookback.lab import arguments, corpus

Counts = Int[Tensor, "captions 9"]
TRIALS, RESAMPLES = 10_000, 2_000  # of the test, of the bootstrap


# What BLEU counts


def caption_rows(text: str) -> Counts:
    """m_1…m_4, t_1…t_4 and r of each caption.

    The text holds m_1…m_4, the words of the translation and r for each
    caption, as `lab.metrics.counts` gives them, captions divided by commas.
    Raises ValueError for a caption that has not six whole numbers.
    """
    arguments.kind("text", text, str, "a text of six whole numbers a caption")
    rows = [row.split() for row in text.split(",")]
    if odd := [row for row in rows if len(row) != 6 or not _whole(row)]:
        raise ValueError(
            f"text has the caption {' '.join(odd[0])[:40]!r}: give six whole"
            " numbers, captions divided by commas"
        )
    found = torch.tensor([[*map(int, row)] for row in rows])
    totals = (found[:, 4:5] - torch.arange(4)).clamp(min=0)  # t_n = c − n + 1
    return torch.cat([found[:, :4], totals, found[:, 5:]], dim=1)


def _whole(row: list[str]) -> bool:
    return all(number.isdecimal() for number in row)


def bleu(sums: Real[Tensor, "*batch 9"]) -> Float[Tensor, "*batch"]:
    """BLEU, 0–100, from rows that were added up; 0 where an m_n is 0."""
    sums = sums.double()
    m, t, r = sums[..., :4], sums[..., 4:8].clamp(min=1), sums[..., 8]
    brevity = (1 - r / t[..., 0]).clamp(max=0)
    return 100 * (brevity + (m / t).log().mean(dim=-1)).exp()


def precision_and_brevity(
    sums: Real[Tensor, "*batch 9"],
) -> tuple[Float[Tensor, "*batch"], Float[Tensor, "*batch"]]:
    """BLEU's factors: the precision, 0–100, and the brevity penalty, 0–1."""
    sums = sums.double()
    brevity = (1 - sums[..., 8] / sums[..., 4].clamp(min=1)).clamp(max=0).exp()
    return bleu(sums) / brevity, brevity


# What a recorded run holds


def pooled_counts(run: dict, split: str, kind: str = "greedy") -> Counts:
    """The rows of a test set, or of "all" three, one after another."""
    splits = _splits(run, split, kind)
    return torch.cat(
        [caption_rows(run["tests"][each][kind]["counts"]) for each in splits]
    )


def _splits(run: dict, split: str, kind: str = "greedy") -> tuple[str, ...]:
    """The test sets that are meant; ValueError if the run has them not."""
    if not isinstance(run, dict) or "tests" not in run:
        raise arguments.wrong("run", run, "a run of a record, with its tests")
    known = [*run["tests"]] + ["all"] * (run["tests"].keys() >= {*corpus.TESTS})
    arguments.choice("split", split, known)
    splits = corpus.TESTS if split == "all" else (split,)
    arguments.choice("kind", kind, [*run["tests"][splits[0]]])
    return splits


def caption_mean(
    run: dict, split: str, score: Callable[[dict], float]
) -> float:
    """A score of a test set, or the mean of all three's by their captions."""
    splits = _splits(run, split)
    arguments.function("score", score, "a function of what a test set tells")
    sizes = [len(pooled_counts(run, each)) for each in splits]
    scores = [score(run["tests"][each]) for each in splits]
    return sum(map(prod, zip(sizes, scores, strict=True))) / sum(sizes)


def chrf(run: dict, split: str, kind: str = "greedy") -> float:
    """chrF (Popović 2015); of "all", the mean over the captions."""
    _splits(run, split, kind)
    return caption_mean(run, split, lambda told: told[kind]["chrf"])


def cross_entropy(run: dict, split: str) -> float:
    """Nats a piece; of "all", the mean over the captions."""
    return caption_mean(run, split, lambda told: told["loss"])


# Over the seeds


def mean_and_spread(values: Sequence[float]) -> dict:
    """The mean, the sample standard deviation (None for one), and each."""
    arguments.numbers("values", values)
    spread = stdev(values) if len(values) > 1 else None
    return {"mean": mean(values), "spread": spread, "each": list(values)}


def bleu_over_seeds(sums: Sequence[Tensor]) -> dict:
    """BLEU and its factors over several runs, from each one's summed rows."""
    for i, each in enumerate(arguments.some("sums", sums, "tensors [9]")):
        name, give = f"sums[{i}]", "a tensor [9], rows.sum(0)"
        if arguments.kind(name, each, Tensor, give).shape != (9,):
            raise arguments.wrong(name, each, give)
    found = mean_and_spread([bleu(each).item() for each in sums])
    factors = [precision_and_brevity(each) for each in sums]
    return {
        "bleu": found.pop("mean"),
        **found,
        "precision": mean(precision.item() for precision, _ in factors),
        "brevity": mean(brevity.item() for _, brevity in factors),
    }


def scores(runs: Sequence[dict], split: str, kind: str = "greedy") -> dict:
    """A system's scores on a test set: means over its seeds; BLEU's spread."""
    arguments.some("runs", runs, "runs")
    return {
        **bleu_over_seeds([pooled_counts(r, split, kind).sum(0) for r in runs]),
        "chrf": mean(chrf(run, split, kind) for run in runs),
    }


def joined_scores(runs: Sequence[dict], count: int) -> dict:
    """The same on joined captions of the first test set; with it the first
    translation, and how many full stops there are."""
    for run in arguments.some("runs", runs, "runs"):
        arguments.choice("count", str(count), [*run["long"]])
    told = [run["long"][str(count)] for run in runs]
    written, wanted = zip(*(each["stops"] for each in told), strict=True)
    return {
        **bleu_over_seeds([caption_rows(r["counts"]).sum(0) for r in told]),
        "first": [each["first"] for each in told],
        "stops": mean(written),
        "stops_wanted": mean(wanted),
    }


class Deviation(NamedTuple):
    """A standard deviation over seeds, with its degrees of freedom."""

    value: float
    freedom: int


def pooled_deviation(scores: Sequence[Sequence[float]]) -> Deviation:
    """The standard deviation of single runs, pooled over systems.

    √(Σ (n − 1) s² / Σ (n − 1)), with s the standard deviation of the n scores
    of a system. Raises ValueError where no system has two.
    """
    for i, each in enumerate(
        arguments.listed("scores", scores, "lists of scores")
    ):
        arguments.numbers(f"scores[{i}]", each)
    several = [each for each in scores if len(each) > 1]
    if not several:
        raise ValueError(
            "scores: no rung has two seeds, so their spread is unknown"
        )
    freedom = sum(len(each) - 1 for each in several)
    total = sum((len(each) - 1) * stdev(each) ** 2 for each in several)
    return Deviation((total / freedom) ** 0.5, freedom)


def bleu_deviation(
    found: Mapping[str, list[dict]], split: str, kind: str = "greedy"
) -> Deviation:
    """The `pooled_deviation` of these systems' BLEU on a test set."""
    arguments.kind("found", found, Mapping, "a dictionary of lists of runs")
    for name, runs in found.items():
        arguments.some(f"found[{name!r}]", runs, "runs")
    return pooled_deviation(
        [scores(runs, split, kind)["each"] for runs in found.values()]
    )


# Two systems


@cache
def resamplings(count: int) -> tuple[Tensor, Tensor]:
    """For so many captions the swaps of the test, [TRIALS, count], and how
    often the bootstrap draws each, [RESAMPLES, count].

    As floats, which every pair of runs would have to make of them.
    """
    dice = torch.Generator().manual_seed(0)
    swaps = torch.rand(TRIALS, count, generator=dice) < 0.5
    drawn = torch.randint(count, (RESAMPLES, count), generator=dice)
    times = torch.stack([each.bincount(minlength=count) for each in drawn])
    return swaps.double(), times.double()


def randomized_differences(
    one: Int[Tensor, "captions 9"],
    two: Int[Tensor, "captions 9"],
    swaps: Bool[Tensor, "trials captions"] | Float[Tensor, "trials captions"],
) -> Float[Tensor, " trials"]:
    """BLEU of the second minus the first, after each trial's swaps.

    Where `swaps` is True, or 1, that caption's two rows have changed places.
    """
    moved = swaps.double() @ (two - one).double()
    return bleu(two.sum(0) - moved) - bleu(one.sum(0) + moved)


def bootstrap_differences(
    one: Counts, two: Counts, times: Real[Tensor, "trials captions"]
) -> Float[Tensor, " trials"]:
    """BLEU of the second minus the first, on test sets drawn from this one.

    `times` says how often each caption was drawn (the paired bootstrap of
    Koehn 2004).
    """
    drawn = times.double()
    return bleu(drawn @ two.double()) - bleu(drawn @ one.double())


def _comparable(difference: Tensor, randomized: Tensor, exact: bool) -> None:
    """Raise an error if p cannot be computed from these."""
    for name, part in (("difference", difference), ("randomized", randomized)):
        arguments.kind(name, part, Tensor, "a tensor of differences")
        if not part.isfinite().all():
            raise arguments.wrong(name, part, "a tensor of finite numbers")
    if difference.ndim:
        raise arguments.wrong(
            "difference", difference, "a tensor of one number"
        )
    arguments.kind("exact", exact, bool, "True or False")


def p_value(
    difference: Float[Tensor, ""],
    randomized: Float[Tensor, " trials"],
    exact: bool = False,
) -> float:
    """p = (1 + #{|randomized| ≥ |difference|}) / (1 + #{trials}).

    The 1 counts the true order. `exact` is for trials that are all possible
    orders, each once; the true one is among them, and p is their share.
    """
    _comparable(difference, randomized, exact)
    as_large = (randomized.abs() >= difference.abs() - 1e-9).sum().item()
    if exact:
        return as_large / len(randomized)
    return (as_large + 1) / (len(randomized) + 1)


def _alike(one: Sequence[Counts], two: Sequence[Counts]) -> None:
    """Raise an error if these are no runs over the same captions."""
    for name, runs in (("one", one), ("two", two)):
        for i, each in enumerate(arguments.some(name, runs, "runs' rows")):
            give = "a run's rows, a tensor [captions, 9]"
            arguments.kind(f"{name}[{i}]", each, Tensor, give)
            if each.ndim != 2 or each.shape[1] != 9:
                raise arguments.wrong(f"{name}[{i}]", each, give)
            if len(each) != len(one[0]):
                raise ValueError(
                    f"{name}[{i}] has {len(each)} captions and one[0] has"
                    f" {len(one[0])}: give runs over the same captions"
                )


def difference(one: Sequence[Counts], two: Sequence[Counts]) -> float:
    """The second system's mean BLEU minus the first's."""
    _alike(one, two)
    before, after = (
        mean(bleu(rows.sum(0)).item() for rows in runs) for runs in (one, two)
    )
    return after - before


def paired_randomization_test(
    one: Sequence[Counts], two: Sequence[Counts]
) -> float:
    """p of the difference, by swapping captions (Riezler & Maxwell 2005).

    A permutation test: sacreBLEU's approximate randomization, but for equal
    differences, which count here.

    In each trial the captions of all pairs of runs are swapped alike, and the
    pairs' differences averaged.
    """
    _alike(one, two)
    swaps, _ = resamplings(len(one[0]))
    pairs = [randomized_differences(a, b, swaps) for a, b in product(one, two)]
    gap = torch.tensor(difference(one, two), dtype=torch.float64)
    return p_value(gap, torch.stack(pairs).mean(0))


def standard_error(deviation: Deviation, one: int, two: int) -> float:
    """s √(1/n_A + 1/n_B): of a difference of means over so many seeds."""
    arguments.kind(
        "deviation", deviation, Deviation, "what pooled_deviation gives"
    )
    arguments.whole("one", one, 1), arguments.whole("two", two, 1)
    return deviation.value * (1 / one + 1 / two) ** 0.5


def student(freedom: int, count: int) -> Tensor:
    """Student's t, Z / √(Σ Z_i² / freedom), drawn RESAMPLES × count times."""
    arguments.whole("freedom", freedom, 1), arguments.whole("count", count, 1)
    dice = torch.Generator().manual_seed(0)
    normal, *others = torch.randn(
        (1 + freedom, RESAMPLES, count), generator=dice
    )
    return normal / torch.stack(others).square().mean(0).sqrt()


def confidence_interval(
    one: Sequence[Counts], two: Sequence[Counts], deviation: Deviation
) -> tuple[float, float]:
    """The 95 % interval of the difference, over captions and seeds.

    It is the middle of the bootstrap's differences, averaged over the pairs of
    runs, each plus s √(1/n_A + 1/n_B) t: by Student's t, since the standard
    deviation s is itself an estimate.
    """
    _alike(one, two)
    _, times = resamplings(len(one[0]))
    pairs = [bootstrap_differences(a, b, times) for a, b in product(one, two)]
    again = torch.stack(pairs).mean(0)
    error = standard_error(deviation, len(one), len(two))
    moved = (again - again.mean())[:, None]
    moved = moved + error * student(deviation.freedom, 100)
    low, high = (moved.quantile(share).item() for share in (0.025, 0.975))
    gain = difference(one, two)
    return gain + low, gain + high


def compare(
    one: Sequence[Counts], two: Sequence[Counts], deviation: Deviation
) -> dict[str, float]:
    """What the second system gains: the difference in BLEU, its p by the
    randomization test, the seeds' standard error, and the 95 % interval."""
    low, high = confidence_interval(one, two, deviation)
    return {
        "gain": difference(one, two),
        "p": paired_randomization_test(one, two),
        "seeds": standard_error(deviation, len(one), len(two)),
        "low": low,
        "high": high,
    }


def compare_runs(
    runs: Mapping[str, list[dict]],
    one: str,
    two: str,
    split: str,
    kind: str = "greedy",
) -> dict[str, float]:
    """`compare` two of these systems on a test set.

    The deviation is that of the two, if each has three seeds: some models
    depend more on their seed than others. Else it is pooled over all.
    """
    arguments.kind("runs", runs, Mapping, "a dictionary of lists of runs")
    arguments.choice("one", one, [*runs]), arguments.choice("two", two, [*runs])
    couple = {name: runs[name] for name in (one, two)}
    several = all(len(each) > 2 for each in couple.values())
    deviation = bleu_deviation(couple if several else runs, split, kind)
    return compare(
        *(
            [pooled_counts(run, split, kind) for run in runs[name]]
            for name in (one, two)
        ),
        deviation,
    )
