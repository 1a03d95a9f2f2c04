"""Does a list of the neighbours follow them as a BERT's probe does?

`experiments.senses` exchanges the two words on either side of *apple*, and
counts how many verdicts of a probe on the BERT turn. Here the very same is
asked of a probe on the list of these words, on that of the whole caption, and
once more on the top level of the BERT (of the weights that go with the book).
A seed is one dealing of the folds and one draw of the exchanged words; the
BERT is always that of seed 0. Trains no network. Writes
records/neighbours.json.

    python -m lookback.experiments.neighbours
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from lookback import probing
from lookback.experiments.explanation import over_seeds
from lookback.experiments.probing import BAGS, apples, of_words, read, turned
from lookback.experiments.runs import bare, campaign
from lookback.families import Body
from lookback.lab import corpus, weights

SEEDS = 5
LISTS = ("two", "all")  # of experiments.senses.BAGS


def of_list(name: str, seed: int, folder: Path) -> dict:
    """What turns a list of words."""
    found, ends = apples(), BAGS[name]
    return turned(lambda these: probing.bag(these, *ends, found)[None], seed)[0]


def of_body(seed: int, folder: Path) -> dict:
    """What turns the top level of the book's BERT."""
    body = weights.load("probing", Body)[0]
    read_in = partial(of_words, body, "BERT", vocabulary=read()[1])
    return turned(lambda these: read_in(these)[-1:], seed)[0]


def summary(found: dict[str, list[dict]]) -> dict:
    """Mean and spread over the seeds."""
    return {
        name: over_seeds([bare(run) for run in runs])
        for name, runs in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "neighbours",
        __doc__,
        {name: partial(of_list, name) for name in LISTS} | {"BERT": of_body},
        summary,
        config={
            "lists": {name: list(BAGS[name]) for name in LISTS},
            "folds": probing.FOLDS,
            "penalties": list(probing.PENALTIES),
        },
        data=corpus.digests("en", "fr"),
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
