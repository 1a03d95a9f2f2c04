"""What does each change between 2014 and 2017 buy? One rung, one change.

Every rung trains on Multi30k, English to French in joint subwords, for as many
rounds as the others, while its learning rate falls to 0, and is asked for the
captions of three test sets and for joined ones. For some of them other
settings are tried on the validation set: `TRIALS`. (RNNsearch and the
Transformer, each at its best, are records/tuned_baselines.json.) A round of the
two cursors takes half as long again as one of RNNsearch, which is therefore
trained a second time, for as long as they: `AS_LONG`. Writes
records/ladder.json, which holds every run that is finished.

    python -m lookback.experiments.ladder --only rnnsearch  # one part
    python -m lookback.experiments.ladder --seeds 3
    python -m lookback.experiments.ladder --record            # what is finished
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import product, repeat
from math import prod
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import torch
from torch import Tensor

from lookback.experiments.runs import Fitted, campaign, fit, losses, said
from lookback.lab import corpus, metrics, training
from lookback.lab.corpus import Pair
from lookback.lab.subwords import Subwords
from lookback.ladder import RUNGS, Rung
from lookback.significance import (
    bleu,
    caption_rows,
    factors,
    p_value,
    resampled_gaps,
    swapped_gaps,
)
from lookback.translator import Translator

PIECES = 3000  # joint subwords
ROUNDS = 12  # through the captions, for every rung
TRAINING = training.TrainingConfig(
    epochs=ROUNDS,
    patience=ROUNDS,  # none ends early
    batch=128,
    learning_rate=4e-3,
    warmup=400,
)
AS_LONG = replace(TRAINING, epochs=18, patience=18)  # as the cursors' rounds
LONGER = "rnnsearch, 18 rounds"
RIVALS = ("rnnsearch", "beside", "outside", "diagonal")  # of the cursors
FAMOUS = ("feedforward", "sum")  # three parts, without the sum and with it
LONG = (2, 3, 4)  # captions joined
TOSSES, DRAWS = 10_000, 2_000  # of coins, of test sets
# trial: what it changes in the model, what in the training
RATES = {
    "rate 2e-3": ({}, {"learning_rate": 2e-3}),
    "rate 8e-3": ({}, {"learning_rate": 8e-3}),
}
BARE = {"dropout 0.0 in parts": ({"part_dropout": 0.0}, {})}
NONE = {"dropout 0.0": ({"dropout": 0.0}, {})}
TRIALS = {
    "cursors": RATES,
    "rnnsearch": RATES,
    # without the sum dropout is on the only way: how much is that?
    "positions": NONE,
    "self-attention": NONE,
    "heads": NONE,
    "feedforward": NONE | BARE,
    "sum": NONE | BARE,
}


@cache
def subwords(language: str = "fr") -> Subwords:
    """The pieces that English and the other language share."""
    pairs = corpus.load("train", "en", language)
    return Subwords.learn((side for pair in pairs for side in pair), PIECES)


def fitted(
    make: Callable[[int, int], Translator],
    settings: training.TrainingConfig,
    folder: Path,
    arrange: Callable[[list[Pair], int], list[Pair]] = lambda pairs, _: pairs,
    language: str = "fr",
) -> Fitted:
    """A model, trained, with the weights of its lowest validation loss.

    `arrange` chooses from the pairs, or joins them, for each epoch.
    """
    pieces = subwords(language)
    pairs = corpus.load("train", "en", language)
    held_out = arrange(corpus.load("val", "en", language), 0)
    return fit(
        make,
        pieces,
        pieces,
        lambda epoch: arrange(pairs, epoch),
        losses(held_out, pieces, pieces),
        settings,
        folder,
    )


def judged(
    found: Fitted,
    split: str,
    joined: int = 1,
    width: int = 1,
    language: str = "fr",
) -> dict:
    """BLEU's counts of every caption, chrF of them all, the first translation,
    and how many full stops one has in the mean: as written, and in truth."""
    test = corpus.join(corpus.load(split, "en", language), repeat(joined))
    words, truths = said(found, test, width), [pair.target for pair in test]
    rows = metrics.counts(words, truths)
    return {
        "counts": ", ".join(" ".join(map(str, row)) for row in rows),
        "chrf": metrics.chrf(words, truths),
        "first": " ".join(words[0]),
        "stops": [mean(s.count(".") for s in side) for side in (words, truths)],
    }


def run(
    rung: Rung,
    settings: training.TrainingConfig,
    seed: int,
    folder: Path,
    language: str = "fr",
) -> dict:
    """Train and test one rung; `folder` lets it resume."""
    settings = replace(settings, seed=seed)
    found = fitted(rung.make, settings, folder, language=language)
    return described(settings, found, language) | tested(found, language)


def tested(found: Fitted, language: str = "fr") -> dict:
    """The test sets, and captions of the first one joined."""
    flickr, *_ = corpus.TESTS
    return {
        "tests": {
            split: asked(found, split, language) for split in corpus.TESTS
        },
        "long": {
            str(n): judged(found, flickr, n, language=language) for n in LONG
        },
    }


def described(
    settings: training.TrainingConfig, found: Fitted, language: str = "fr"
) -> dict:
    """What was trained, how, and how well it does on the validation set."""
    held_out = corpus.load("val", "en", language)
    words, truths = said(found, held_out), [pair.target for pair in held_out]
    return {
        **found.outcome,
        "training": asdict(settings),
        "val": metrics.bleu(words, truths),
    }


def asked(found: Fitted, split: str, language: str = "fr") -> dict:
    """A test set: cross-entropy in nats a piece, greedy and beam of 5."""
    pairs = corpus.load(split, "en", language)
    return {
        "loss": training.validation_loss(
            found.model, pairs, found.source, found.target
        ),
        "greedy": judged(found, split, language=language),
        "beam": judged(found, split, width=5, language=language),
    }


def trial(
    name: str, changes: tuple[dict, dict], seed: int, folder: Path
) -> dict:
    """Train a rung with other settings; only the validation set is asked."""
    rung, (parts, settings) = RUNGS[name], changes
    rung = replace(rung, parts=replace(rung.parts, **parts))
    settings = replace(TRAINING, **settings, seed=seed)
    return described(settings, fitted(rung.make, settings, folder))


def rows(run: dict, split: str, kind: str = "greedy") -> Tensor:
    """What BLEU counted in each caption of a test set, or of "all" three."""
    splits = corpus.TESTS if split == "all" else (split,)
    return torch.cat(
        [caption_rows(run["tests"][each][kind]["counts"]) for each in splits]
    )


def chrf(run: dict, split: str, kind: str = "greedy") -> float:
    """chrF of a test set; of "all", the mean over the captions of the three."""
    return over_captions(run, split, lambda told: told[kind]["chrf"])


def loss(run: dict, split: str) -> float:
    """Cross-entropy in nats a piece; of "all", as `chrf` has it."""
    return over_captions(run, split, lambda told: told["loss"])


def over_captions(
    run: dict, split: str, score: Callable[[dict], float]
) -> float:
    """A score of a test set, or the mean of all three's by their captions."""
    splits = corpus.TESTS if split == "all" else (split,)
    sizes = [len(rows(run, each)) for each in splits]
    scores = [score(run["tests"][each]) for each in splits]
    return sum(map(prod, zip(sizes, scores, strict=True))) / sum(sizes)


def level(runs: list[dict], split: str, kind: str = "greedy") -> dict:
    """A rung's scores on a test set: means over its seeds; spread of BLEU."""
    return {
        **scored([rows(run, split, kind).sum(0) for run in runs]),
        "chrf": mean(chrf(run, split, kind) for run in runs),
    }


def long(runs: list[dict], count: int) -> dict:
    """The same on joined captions of the first test set; with it the first
    translation, and how many full stops there are."""
    told = [run["long"][str(count)] for run in runs]
    written, wanted = zip(*(each["stops"] for each in told), strict=True)
    return {
        **scored([caption_rows(each["counts"]).sum(0) for each in told]),
        "first": [each["first"] for each in told],
        "stops": mean(written),
        "stops_wanted": mean(wanted),
    }


def scored(sums: list[Tensor]) -> dict:
    """BLEU of several runs, from what it counted in all their captions."""
    scores = [bleu(each).item() for each in sums]
    return {
        "bleu": mean(scores),
        "each": scores,
        "spread": stdev(scores) if len(scores) > 1 else None,
        "precision": mean(factors(each)[0].item() for each in sums),
        "brevity": mean(factors(each)[1].item() for each in sums),
    }


class Noise(NamedTuple):
    """How far single runs of one rung lie apart, and how well that is known."""

    spread: float  # a standard deviation, in BLEU
    freedom: int  # seeds beyond each rung's first


@cache
def thrown(count: int) -> tuple[Tensor, Tensor]:
    """Coins for so many captions, and how often each of them is drawn.

    As floats, which every pair of runs would have to make of them.
    """
    dice = torch.Generator().manual_seed(0)
    coins = torch.rand(TOSSES, count, generator=dice) < 0.5
    drawn = torch.randint(count, (DRAWS, count), generator=dice)
    times = torch.stack([each.bincount(minlength=count) for each in drawn])
    return coins.double(), times.double()


def step(
    one: list[dict],
    two: list[dict],
    split: str,
    noise: Noise,
    kind: str = "greedy",
) -> dict:
    """What the second rung gains over the first, `by_both_rulers`."""
    sides = ([rows(run, split, kind) for run in side] for side in (one, two))
    return by_both_rulers(*sides, noise)


def by_both_rulers(
    one: list[Tensor], two: list[Tensor], noise: Noise
) -> dict[str, float]:
    """What the second machine's BLEU is above the first's, from the counts of
    each one's runs.

    Each run of one is held against each run of the other. `p` is that of coins
    thrown for captions, the same for all of these pairs; `seeds` is the
    standard error that the seeds leave; `low` and `high` are the 95 % interval
    of captions and seeds together: captions drawn again, and seeds by Student's
    t, since their spread is itself an estimate.
    """
    sides = list(product(one, two))
    coins, times = thrown(len(sides[0][0]))
    swapped = torch.stack([swapped_gaps(a, b, coins) for a, b in sides]).mean(0)
    again = torch.stack([resampled_gaps(a, b, times) for a, b in sides]).mean(0)
    gain = scored([x.sum(0) for x in two])["bleu"]
    gain -= scored([x.sum(0) for x in one])["bleu"]
    error = noise.spread * (1 / len(one) + 1 / len(two)) ** 0.5
    shape = (1 + noise.freedom, DRAWS, 100)
    dice = torch.Generator().manual_seed(0)
    normal, *others = torch.randn(shape, generator=dice)
    student = normal / torch.stack(others).square().mean(0).sqrt()
    moved = (again - again.mean())[:, None] + error * student
    low, high = (moved.quantile(share).item() for share in (0.025, 0.975))
    return {
        "gain": gain,
        "p": p_value(torch.tensor(gain), swapped),
        "seeds": error,
        "low": gain + low,
        "high": gain + high,
    }


def pooled(scores: Sequence[Sequence[float]]) -> Noise:
    """The spread of single runs over seeds, pooled over rungs.

    √(Σ (n − 1) s² / Σ (n − 1)), with s the standard deviation of the n scores
    of a rung. Raises ValueError where no rung has two.
    """
    several = [each for each in scores if len(each) > 1]
    if not several:
        raise ValueError("no rung has two seeds: their spread is unknown")
    freedom = sum(len(each) - 1 for each in several)
    total = sum((len(each) - 1) * stdev(each) ** 2 for each in several)
    return Noise((total / freedom) ** 0.5, freedom)


def noise(
    found: dict[str, list[dict]], split: str, kind: str = "greedy"
) -> Noise:
    """The spread of single runs' BLEU on a test set; see `pooled`."""
    return pooled([level(r, split, kind)["each"] for r in found.values()])


def gap(
    runs: dict[str, list[dict]],
    one: str,
    two: str,
    split: str,
    kind: str = "greedy",
) -> dict:
    """The `step` between two of these, by the spread over seeds of the two, if
    each has three: some machines depend more on their seed than others. Else
    by the spread of all."""
    couple = {name: runs[name] for name in (one, two)}
    several = all(len(each) > 2 for each in couple.values())
    found = noise(couple if several else runs, split, kind)
    return step(runs[one], runs[two], split, found, kind)


def gains(
    rungs: dict[str, list[dict]], split: str, kind: str = "greedy"
) -> dict[str, dict]:
    """Of each rung its `step` from the rung that it changes, and what it gains
    `over_rnnsearch`, where these are there and some rung has two seeds. Of
    `FAMOUS`, where the stack stands whole, what it gains `over_positions`.
    """
    try:
        noise(rungs, split, kind)
    except ValueError:
        return {name: {} for name in rungs}
    return {
        name: {
            key: gap(rungs, rival, name, split, kind)
            for key, rival in (
                ("step", RUNGS[name].before),
                ("over_rnnsearch", "rnnsearch"),
                ("over_positions", "positions" if name in FAMOUS else None),
            )
            if rival in rungs and rival != name
        }
        for name, runs in rungs.items()
    }


def levels(rungs: dict[str, list[dict]]) -> dict[str, dict]:
    """Of each rung its scores and its gains, by test set; of the cursors'
    rivals what these have more."""
    answer = {
        name: {"tests": {}, "long": {n: long(runs, n) for n in LONG}}
        for name, runs in rungs.items()
    }
    for split in (*corpus.TESTS, "all"):
        greedy, beam = (gains(rungs, split, k) for k in ("greedy", "beam"))
        for name, runs in rungs.items():
            place = level(runs, split) | greedy[name]
            place["beam"] = level(runs, split, "beam") | beam[name]
            place["loss"] = mean(loss(run, split) for run in runs)
            answer[name]["tests"][split] = place
    for name in RIVALS:
        if name in rungs and "cursors" in rungs:
            compare(answer[name], rungs[name], rungs["cursors"])
    return answer


def summary(found: dict[str, list[dict]]) -> dict:
    """Every run; of a rung its levels and its gains, too."""
    rungs = {name: runs for name, runs in found.items() if name in RUNGS}
    answer = runs_alone(found)
    for name, reached in levels(rungs).items():
        answer[name] |= reached
    if LONGER in found and "cursors" in rungs:
        compare(answer[LONGER], found[LONGER], rungs["cursors"])
    return answer


def compare(rival: dict, runs: list[dict], cursors: list[dict]) -> None:
    """Into the results of a rival of the cursors: what they have more."""
    pair = {"rnnsearch": runs, "cursors": cursors}
    rival["long"] = {n: long(runs, n) for n in LONG}
    tests = rival.setdefault("tests", {})
    for split in (*corpus.TESTS, "all"):
        beam = {"beam": level(runs, split, "beam")}
        place = tests.setdefault(split, level(runs, split) | beam)
        for kind, at in (("greedy", place), ("beam", place["beam"])):
            ahead = gains(pair, split, kind)["cursors"]
            at["cursors_over"] = ahead.get("over_rnnsearch")


PARTS = {
    **{name: partial(run, rung, TRAINING) for name, rung in RUNGS.items()},
    LONGER: partial(run, RUNGS["rnnsearch"], AS_LONG),
    **{
        f"{name}, {label}": partial(trial, name, changes)
        for name, trials in TRIALS.items()
        for label, changes in trials.items()
    },
}


def bench(
    name: str,
    about: str,
    parts: Mapping[str, Callable[[int, Path], dict]],
    results: Callable[[dict[str, list[dict]]], dict],
    arguments: Sequence[str] | None,
    language: str = "fr",
) -> None:
    """A campaign on the ladder's bench: its settings, captions and tests.

    What is finished is recorded.
    """
    campaign(
        name,
        about,
        parts,
        results,
        config={**asdict(TRAINING), "pieces": PIECES},
        data=corpus.digests("en", language, tests=corpus.TESTS),
        needed=[],
        arguments=arguments,
    )


def runs_alone(found: dict[str, list[dict]]) -> dict:
    """Nothing but the runs, for a record whose reader compares them."""
    return {name: {"runs": runs} for name, runs in found.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    bench("ladder", __doc__, PARTS, summary, arguments)


if __name__ == "__main__":
    main()
