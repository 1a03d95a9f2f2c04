"""How does a translator grow: with more captions, and with longer ones?

On the ladder's bench, rungs that carry a story train on a part of the
captions, and five on one to four captions joined; all are tested as every
rung is. What the same rungs do when they have read all captions, one by one,
stands in records/ladder.json. Writes records/growth.json.

    python -m lookback.experiments.growth
    python -m lookback.experiments.growth --only "rnnsearch, 3000"
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path

from lookback.experiments.ladder import (
    TRAINING,
    bench,
    described,
    fitted,
    runs_alone,
    scores_and_gains,
    tested,
)
from lookback.experiments.length import joined
from lookback.lab.corpus import Pair
from lookback.ladder import RUNGS

# Training pairs, and how often a machine reads them: it is trained with each
# number of rounds, and what then does best on the validation set is tested.
# (Of 3,000 pairs the larger number was, every time.)
ROUNDS = {3000: (25, 50), 10_000: (25,)}
GROWING = ("cursors", "rnnsearch", "transformer")
JOINED = ("fixed", "diagonal", "rnnsearch", "norm", "transformer")


def firsts(count: int, pairs: list[Pair], _: int) -> list[Pair]:
    """The first pairs, the same in every epoch; all, where they are fewer."""
    return pairs[:count]


def run(
    name: str, arrange, rounds: Sequence[int], seed: int, folder: Path
) -> dict:
    """Train one rung on other captions; test it as every rung is tested."""
    tried = {}
    for count in rounds:
        settings = replace(TRAINING, epochs=count, patience=count, seed=seed)
        place = folder / f"{count} rounds"
        found = fitted(RUNGS[name].make, settings, place, arrange)
        loss = min(row["loss"] for row in found.outcome["curve"])
        tried[count] = loss, settings, found
    _, settings, found = min(tried.values(), key=itemgetter(0))
    return {
        **described(settings, found),
        "tried": {count: loss for count, (loss, *_) in tried.items()},
        **tested(found),
    }


PARTS = {
    f"{name}, {count}": partial(run, name, partial(firsts, count), rounds)
    for count, rounds in ROUNDS.items()
    for name in GROWING
} | {
    f"{name}, joined": partial(run, name, joined, [TRAINING.epochs])
    for name in JOINED
}


def summary(found: dict[str, list[dict]]) -> dict:
    """Every run; of each part its scores and its gains, too.

    Parts are compared that were trained on the same captions.
    """
    answer, trained = runs_alone(found), {}
    for part, runs in found.items():
        name, captions = part.split(", ")
        trained.setdefault(captions, {})[name] = runs
    for captions, rungs in trained.items():
        for name, reached in scores_and_gains(rungs).items():
            answer[f"{name}, {captions}"] |= reached
    return answer


def main(arguments: Sequence[str] | None = None) -> None:
    bench("growth", __doc__, PARTS, summary, arguments)


if __name__ == "__main__":
    main()
