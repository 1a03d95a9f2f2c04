"""Does a fixed vector suffer from long sentences, and does the look back help?

Both models are trained on one to four captions joined and tested on one, two,
three and four: Figure 2 of Bahdanau et al. 2015 at the book's scale. Writes
records/length.json.

    python -m lookback.experiments.length
    python -m lookback.experiments.length --only rnnsearch   # in parallel
"""

import argparse
import random
import time
from dataclasses import asdict
from itertools import repeat
from pathlib import Path

from lookback.experiments.look_back import KINDS
from lookback.experiments.runs import RUNS, finished, fit, once
from lookback.lab import corpus, metrics, records, training
from lookback.lab.corpus import Pair
from lookback.lab.decoding import translate

MOST = 4  # captions joined
TRAINING = training.TrainingConfig(epochs=5, batch=32)
EDGES = [1, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 100]  # source words


def joined(pairs: list[Pair], seed: int) -> list[Pair]:
    """The pairs in a new order, joined in random groups of one to MOST."""
    dice = random.Random(seed)
    shuffled = dice.sample(pairs, len(pairs))
    return corpus.join(shuffled, (dice.randint(1, MOST) for _ in repeat(0)))


def run(kind: str, folder: Path) -> dict:
    """Train one model on joined captions and test it on each length."""
    started = time.perf_counter()
    test = corpus.load("test_2016_flickr")
    make, config = KINDS[kind]
    model, source, target, progress = fit(
        make, config, TRAINING, folder, joined
    )
    by_captions, everything = [], []
    for count in range(1, MOST + 1):
        tests = corpus.join(test, repeat(count))
        found = translate(model, [p.source for p in tests], source, target)
        words = [each for each, _ in found]
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
        "curve": progress.curve,
        "tokens_per_second": progress.tokens_per_second,
        "wall_seconds": time.perf_counter() - started,
        "config": asdict(model.config),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    kinds = ("bottleneck", "rnnsearch")
    parser.add_argument("--only", choices=kinds, help="train one model")
    parser.add_argument("--runs", type=Path, default=RUNS / "length")
    options = parser.parse_args()
    for kind in [options.only] if options.only else kinds:
        folder = options.runs / kind
        once(folder, lambda k=kind, f=folder: run(k, f))
    results = {kind: finished(options.runs / kind) for kind in kinds}
    if None in results.values():
        return print("the record is written when both models are trained")
    records.save(
        "length",
        config={**asdict(TRAINING), "most_captions": MOST},
        seeds=[TRAINING.seed],
        data=corpus.digests("en", "fr"),
        device=training.device(),
        wall_seconds=sum(each["wall_seconds"] for each in results.values()),
        results=results,
    )


if __name__ == "__main__":
    main()
