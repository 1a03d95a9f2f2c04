"""How does a translator grow: with more captions, and with longer ones?

On the ladder's bench, rungs that carry a story train on a part of the
captions, and five on one to four captions joined; all are asked for one
to four. What the same rungs do when they have read all captions, one by one,
stands in records/rungs.json. Writes records/growth.json.

    python -m lookback.experiments.growth
    python -m lookback.experiments.growth --only "rnnsearch, 3000"
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path

from lookback.experiments.length import MOST, joined
from lookback.experiments.rungs import (
    TRAINING,
    bench,
    described,
    fitted,
    gains,
    judged,
    level,
    level_joined,
    runs_alone,
)
from lookback.lab import corpus
from lookback.lab.corpus import Pair
from lookback.rungs import RUNGS

# Training pairs, and how often a machine reads them: it is trained with each
# number of rounds, and what then does best on the validation set is tested.
ROUNDS = {3000: (25, 50), 10_000: (12, 25)}
GROWING = ("rnnsearch", "transformer", "cursors", "diagonal", "outside")
JOINED = ("fixed", "diagonal", "rnnsearch", "norm", "transformer")


def firsts(count: int, pairs: list[Pair], _: int) -> list[Pair]:
    """The first pairs, the same in every epoch; all, where they are fewer."""
    return pairs[:count]


def run(
    name: str, arrange, rounds: Sequence[int], seed: int, folder: Path
) -> dict:
    """Train one rung on other captions; test it on one to MOST of them."""
    tried = {}
    for count in rounds:
        settings = replace(TRAINING, epochs=count, patience=count, seed=seed)
        place = folder / f"{count} rounds"
        found = fitted(RUNGS[name].make, settings, place, arrange)
        loss = min(row["loss"] for row in found.outcome["curve"])
        tried[count] = loss, settings, found
    _, settings, found = min(tried.values(), key=itemgetter(0))
    flickr, *others = corpus.TESTS
    return {
        **described(settings, found),
        "tried": {count: loss for count, (loss, *_) in tried.items()},
        "tests": {split: {"greedy": judged(found, split)} for split in others},
        "long": {str(n): judged(found, flickr, n) for n in range(1, MOST + 1)},
    }


PARTS = {
    f"{name}, {count}": partial(run, name, partial(firsts, count), rounds)
    for count, rounds in ROUNDS.items()
    for name in GROWING
} | {
    f"{name}, joined": partial(run, name, joined, [TRAINING.epochs])
    for name in JOINED
}


def with_first(run: dict) -> dict:
    """The run, its single captions of the first test set among its tests."""
    first, *_ = corpus.TESTS
    return {"tests": {first: {"greedy": run["long"]["1"]}, **run["tests"]}}


def summary(found: dict[str, list[dict]]) -> dict:
    """Every run; of each part its levels and its gains, too.

    Parts are compared that were trained on the same captions.
    """
    answer = runs_alone(found)
    trained = {}
    for part, runs in found.items():
        name, captions = part.split(", ")
        trained.setdefault(captions, {})[name] = [with_first(r) for r in runs]
        answer[part]["tests"] = {}
        answer[part]["long"] = {
            n: level_joined(runs, n) for n in range(1, MOST + 1)
        }
    for captions, rungs in trained.items():
        for split in (*corpus.TESTS, "all"):
            gained = gains(rungs, split)
            for name, runs in rungs.items():
                found_there = level(runs, split) | gained[name]
                answer[f"{name}, {captions}"]["tests"][split] = found_there
    return answer


def main(arguments: Sequence[str] | None = None) -> None:
    bench("growth", __doc__, PARTS, summary, arguments)


if __name__ == "__main__":
    main()
