"""Does a fixed vector suffer from long sentences, and does the look back help?

Both models are trained on one to four captions joined and tested on one, two,
three and four: Figure 2 of Bahdanau et al. 2015 at the book's scale. Writes
records/length.json.

    python -m lookback.experiments.length
    python -m lookback.experiments.length --only rnnsearch  # one part
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import repeat
from pathlib import Path

from lookback.experiments.runs import campaign, first, fit_captions, said
from lookback.experiments.search import MAKE
from lookback.lab import corpus, metrics, training
from lookback.lab.corpus import Pair

KINDS = ("bottleneck", "rnnsearch")
MOST = 4  # captions joined
TRAINING = training.TrainingConfig(epochs=5, batch=32)
EDGES = [1, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 100]  # source words


def joined(pairs: list[Pair], seed: int) -> list[Pair]:
    """The pairs in a new order, joined in random groups of one to MOST."""
    dice = random.Random(seed)
    shuffled = dice.sample(pairs, len(pairs))
    return corpus.join(shuffled, (dice.randint(1, MOST) for _ in repeat(0)))


def run(kind: str, seed: int, folder: Path) -> dict:
    """Train one model on joined captions and test it on each length."""
    settings = replace(TRAINING, seed=seed)
    fitted = fit_captions(MAKE[kind], settings, folder, joined)
    test = corpus.load("test_2016_flickr")
    by_captions, everything = [], []
    for count in range(1, MOST + 1):
        tests = corpus.join(test, repeat(count))
        words = said(fitted, tests)
        everything += zip(tests, words, strict=True)
        by_captions.append(
            {
                "captions": count,
                "sentences": len(tests),
                "mean_length": sum(len(p.source) for p in tests) / len(tests),
                **metrics.bleu(words, [p.target for p in tests], 1000),
            }
        )
    return {
        "by_captions": by_captions,
        "by_length": metrics.bleu_by_length(
            [words for _, words in everything],
            [pair.target for pair, _ in everything],
            [len(pair.source) for pair, _ in everything],
            EDGES,
        ),
        **fitted.outcome,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "length",
        __doc__,
        {kind: partial(run, kind) for kind in KINDS},
        lambda found: {kind: first(runs) for kind, runs in found.items()},
        config={**asdict(TRAINING), "most_captions": MOST},
        data=corpus.digests("en", "fr"),
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
