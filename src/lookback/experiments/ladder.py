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
from itertools import repeat
from pathlib import Path
from statistics import mean

from lookback.experiments.runs import Fitted, campaign, fit, losses, said
from lookback.lab import corpus, metrics, significance, training
from lookback.lab.corpus import Pair
from lookback.lab.significance import (
    compare_runs,
    cross_entropy,
    joined_scores,
    scores,
)
from lookback.lab.subwords import Subwords
from lookback.ladder import RUNGS, Rung
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


def gains(
    rungs: dict[str, list[dict]], split: str, kind: str = "greedy"
) -> dict[str, dict]:
    """Of each rung its `step` from the rung that it changes, and what it gains
    `over_rnnsearch`, where these are there and some rung has two seeds. Of
    `FAMOUS`, where the stack stands whole, what it gains `over_positions`.
    """
    try:
        significance.bleu_deviation(rungs, split, kind)
    except ValueError:
        return {name: {} for name in rungs}
    return {
        name: {
            key: compare_runs(rungs, rival, name, split, kind)
            for key, rival in (
                ("step", RUNGS[name].before),
                ("over_rnnsearch", "rnnsearch"),
                ("over_positions", "positions" if name in FAMOUS else None),
            )
            if rival in rungs and rival != name
        }
        for name in rungs
    }


def scores_and_gains(rungs: dict[str, list[dict]]) -> dict[str, dict]:
    """Of each rung its scores and its gains, by test set; of the cursors'
    rivals what these have more."""
    answer = {
        name: {"tests": {}, "long": {n: joined_scores(runs, n) for n in LONG}}
        for name, runs in rungs.items()
    }
    for split in (*corpus.TESTS, "all"):
        greedy, beam = (gains(rungs, split, k) for k in ("greedy", "beam"))
        for name, runs in rungs.items():
            place = scores(runs, split) | greedy[name]
            place["beam"] = scores(runs, split, "beam") | beam[name]
            place["loss"] = mean(cross_entropy(run, split) for run in runs)
            answer[name]["tests"][split] = place
    for name in RIVALS:
        if name in rungs and "cursors" in rungs:
            add_cursors_gain(answer[name], rungs[name], rungs["cursors"])
    return answer


def summary(found: dict[str, list[dict]]) -> dict:
    """Every run; of a rung its scores and its gains, too."""
    rungs = {name: runs for name, runs in found.items() if name in RUNGS}
    answer = runs_alone(found)
    for name, reached in scores_and_gains(rungs).items():
        answer[name] |= reached
    if LONGER in found and "cursors" in rungs:
        add_cursors_gain(answer[LONGER], found[LONGER], rungs["cursors"])
    return answer


def add_cursors_gain(
    rival: dict, runs: list[dict], cursors: list[dict]
) -> None:
    """Into the results of a rival of the cursors: what they have more."""
    pair = {"rnnsearch": runs, "cursors": cursors}
    rival["long"] = {n: joined_scores(runs, n) for n in LONG}
    tests = rival.setdefault("tests", {})
    for split in (*corpus.TESTS, "all"):
        beam = {"beam": scores(runs, split, "beam")}
        place = tests.setdefault(split, scores(runs, split) | beam)
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
