"""How does a translator grow: with more captions, and with longer ones?

On the ladder's bench, RNNsearch and the Transformer train on a part of the
captions, and five rungs on one to four captions joined; all are asked for one
to four. What the same rungs do when they have read all captions, one by one,
stands in records/rungs.json. Writes records/growth.json.

    python -m lookback.experiments.growth
    python -m lookback.experiments.growth --only "rnnsearch, 3000"
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import repeat
from pathlib import Path

from lookback.experiments.rungs import (
    PIECES,
    TRAINING,
    described,
    fitted,
    judged,
)
from lookback.experiments.runs import campaign
from lookback.lab import corpus
from lookback.lab.corpus import Pair
from lookback.rungs import RUNGS

SIZES = (3000, 10_000)  # training pairs
GROWING = ("rnnsearch", "transformer")
JOINED = ("fixed", "diagonal", "rnnsearch", "norm", "transformer")
MOST = 4  # captions joined


def firsts(count: int, pairs: list[Pair], _: int) -> list[Pair]:
    """The first pairs, the same in every epoch; all, where they are fewer."""
    return pairs[:count]


def joined(pairs: list[Pair], seed: int) -> list[Pair]:
    """The pairs in a new order, joined in random groups of one to MOST."""
    dice = random.Random(seed)
    shuffled = dice.sample(pairs, len(pairs))
    return corpus.join(shuffled, (dice.randint(1, MOST) for _ in repeat(0)))


def run(name: str, arrange, seed: int, folder: Path) -> dict:
    """Train one rung on other captions; test it on one to MOST of them."""
    settings = replace(TRAINING, seed=seed)
    found = fitted(RUNGS[name].make, settings, folder, arrange)
    flickr, *others = corpus.TESTS
    return {
        **described(settings, found),
        "tests": {split: {"greedy": judged(found, split)} for split in others},
        "long": {str(n): judged(found, flickr, n) for n in range(1, MOST + 1)},
    }


PARTS = {
    f"{name}, {count}": partial(run, name, partial(firsts, count))
    for count in SIZES
    for name in GROWING
} | {f"{name}, joined": partial(run, name, joined) for name in JOINED}


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "growth",
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
