"""What does each change between 2014 and 2017 buy? One rung, one change.

Every rung trains on Multi30k, English to French in joint subwords, until its
validation loss stops falling, and is asked for the captions of three test
sets and for joined ones. The two ends of the story were each tuned first, on
the validation set, with as many trials: `TRIALS`. Writes records/rungs.json,
which holds every run that is finished, and the two machines' weights.

    python -m lookback.experiments.rungs --only rnnsearch    # in parallel
    python -m lookback.experiments.rungs --seeds 3
    python -m lookback.experiments.rungs --record            # what is finished
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import repeat
from pathlib import Path

from lookback.experiments.runs import Fitted, campaign, fit, said
from lookback.lab import corpus, metrics, training, weights
from lookback.lab.subwords import Subwords
from lookback.rungs import RUNGS, Rung
from lookback.translator import Translator

PIECES = 3000  # joint subwords
TRAINING = training.TrainingConfig(
    epochs=60, batch=128, learning_rate=2e-3, warmup=400, cuts=2
)
LONG = (2, 3, 4)  # captions joined
# rung: what each trial changes in its model, what in its training
TRIALS = {
    "rnnsearch": {
        "rate 1e-3": ({}, {"learning_rate": 1e-3}),
        "rate 4e-3": ({}, {"learning_rate": 4e-3}),
        "dropout 0.2": ({"dropout": 0.2}, {}),
        "dropout 0.4": ({"dropout": 0.4}, {}),
    },
    "transformer": {
        "rate 1e-3": ({}, {"learning_rate": 1e-3}),
        "rate 4e-3": ({}, {"learning_rate": 4e-3}),
        "dropout 0.2": ({"dropout": 0.2}, {}),
        "norm behind": ({"norm": "post"}, {}),
    },
}


@cache
def subwords() -> Subwords:
    """The pieces that both languages share."""
    pairs = corpus.load("train")
    return Subwords.learn((side for pair in pairs for side in pair), PIECES)


def fitted(rung: Rung, settings: training.TrainingConfig, folder: Path):
    """The rung, trained until its validation loss stops falling."""
    pieces = subwords()
    pairs, held_out = corpus.load("train"), corpus.load("val")

    def validate(model: Translator) -> dict:
        loss = training.validation_loss(model, held_out, pieces, pieces)
        return {"loss": loss, "score": -loss}

    return fit(
        rung.make, pieces, pieces, lambda _: pairs, validate, settings, folder
    )


def judged(found: Fitted, split: str, joined: int = 1, width: int = 1) -> dict:
    """BLEU's counts of every caption, and chrF of them all."""
    test = corpus.join(corpus.load(split), repeat(joined))
    words, truths = said(found, test, width), [pair.target for pair in test]
    rows = metrics.counts(words, truths)
    return {
        "counts": ", ".join(" ".join(map(str, row)) for row in rows),
        "chrf": metrics.chrf(words, truths),
    }


def run(
    rung: Rung, settings: training.TrainingConfig, seed: int, folder: Path
) -> dict:
    """Train and test one rung; `folder` lets it resume."""
    settings = replace(settings, seed=seed)
    found = fitted(rung, settings, folder)
    if seed == 0 and rung.name in TRIALS:
        weights.save(f"rung-{rung.name}", *found[:3])
    return {
        **found.outcome,
        "parts": asdict(rung.parts),
        "training": asdict(settings),
        "precision": "bf16" if training.half(training.device()) else "fp32",
        "val": metrics_of_val(found),
        "tests": {
            split: {
                "loss": training.validation_loss(
                    found.model, corpus.load(split), found.source, found.target
                ),
                "greedy": judged(found, split),
                "beam": judged(found, split, width=5),
            }
            for split in corpus.TESTS
        },
        "long": {str(n): judged(found, corpus.TESTS[0], n) for n in LONG},
    }


def metrics_of_val(found: Fitted) -> dict:
    """Greedy BLEU on the validation set, by which settings are chosen."""
    pairs = corpus.load("val")
    return metrics.bleu(said(found, pairs), [pair.target for pair in pairs])


def trial(
    name: str, changes: tuple[dict, dict], seed: int, folder: Path
) -> dict:
    """Train a rung with other settings; only the validation set is asked."""
    rung, (parts, settings) = RUNGS[name], changes
    rung = replace(rung, parts=replace(rung.parts, **parts))
    settings = replace(TRAINING, **settings, seed=seed)
    found = fitted(rung, settings, folder)
    return {
        **found.outcome,
        "parts": asdict(rung.parts),
        "training": asdict(settings),
        "val": metrics_of_val(found),
    }


PARTS = {name: partial(run, rung, TRAINING) for name, rung in RUNGS.items()} | {
    f"{name}, {label}": partial(trial, name, changes)
    for name, trials in TRIALS.items()
    for label, changes in trials.items()
}


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "rungs",
        __doc__,
        PARTS,
        lambda found: {name: {"runs": runs} for name, runs in found.items()},
        config={**asdict(TRAINING), "pieces": PIECES},
        data=corpus.digests("en", "fr", tests=corpus.TESTS),
        needed=[],
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
