"""RNNsearch and the Transformer, each at its best.

On the ladder's bench, with what did best in the trials of records/ladder.json,
as many for the one as for the other, and for twice as many rounds. Writes
records/best.json.

    python -m lookback.experiments.best
    python -m lookback.experiments.best --only transformer --seeds 3
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from lookback.experiments.ladder import (
    DROPOUTS,
    RATES,
    TRAINING,
    bench,
    run,
    summary,
)
from lookback.lab import records
from lookback.ladder import RUNGS

FAMILIES = ("rnnsearch", "transformer")


def chosen(name: str) -> tuple[dict, dict]:
    """What of a rung's trials does best: changes of the model, of the training.

    Of the rates and of the dropouts, each for itself, the one with the lowest
    validation loss of the first seed; the rung as it is stands among both.
    Raises ValueError before all are recorded.
    """
    found = records.load("ladder")["results"]

    def loss(label: str) -> float:
        part = f"{name}, {label}" if label else name
        if part not in found:
            raise ValueError(
                f"records/ladder.json has no {part!r} yet: python -m"
                " lookback.experiments.ladder trains and records it"
            )
        return min(row["loss"] for row in found[part]["runs"][0]["curve"])

    parts, settings = {}, {}
    for tried in (RATES, DROPOUTS):
        if best := min(("", *tried), key=loss):
            parts |= tried[best][0]
            settings |= tried[best][1]
    return parts, settings


def at_best(name: str, seed: int, folder: Path) -> dict:
    """Train and test a rung with what its trials chose, for longer."""
    parts, settings = chosen(name)
    rung, rounds = RUNGS[name], 2 * TRAINING.epochs
    rung = replace(rung, parts=replace(rung.parts, **parts))
    longer = replace(TRAINING, epochs=rounds, patience=rounds, **settings)
    return run(rung, longer, seed, folder)


PARTS = {name: partial(at_best, name) for name in FAMILIES}


def main(arguments: Sequence[str] | None = None) -> None:
    bench("best", __doc__, PARTS, summary, arguments)


if __name__ == "__main__":
    main()
