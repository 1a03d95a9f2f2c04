"""How much can one vector hold? The bottleneck repeats random letters.

The easiest task there is: the target is the source. The letters are random,
so nothing can be guessed; what comes out must have gone through the vector.
Models of several widths are trained on strings of 1 to LONGEST letters and
tested on 200 new strings of each length. Writes records/copying.json and one
small weights file per width. Needs no corpus.

    python -m lookback.experiments.copying
"""

import argparse
import random
import string
import time
from dataclasses import asdict
from pathlib import Path

import torch

from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.experiments.runs import RUNS, finished, once
from lookback.lab import records, training
from lookback.lab.corpus import Pair, Vocabulary
from lookback.lab.decoding import translate

WIDTHS = (8, 16, 32, 64, 128)
LONGEST = 24  # letters
TESTS = 200  # strings of each length
PER_EPOCH = 6400  # new strings in each epoch
LETTERS = Vocabulary(string.ascii_lowercase)
TRAINING = training.TrainingConfig(
    epochs=100, learning_rate=4e-3, smoothing=0.0, patience=100, warmup=100
)


def strings(count: int, lengths: list[int], seed: int) -> list[Pair]:
    """Random strings to copy, of lengths drawn from `lengths`."""
    dice = random.Random(seed)
    pairs = []
    for _ in range(count):
        letters = dice.choices(string.ascii_lowercase, k=dice.choice(lengths))
        pairs.append(Pair(letters, letters))
    return pairs


def accuracy(model: Bottleneck, pairs: list[Pair]) -> dict[str, float]:
    """Share of strings copied exactly, and of letters in their place."""
    found = translate(model, [p.source for p in pairs], LETTERS, LETTERS)
    exact = letters = total = 0
    for pair, (copy, _) in zip(pairs, found, strict=True):
        exact += copy == pair.target
        letters += sum(a == b for a, b in zip(copy, pair.target, strict=False))
        total += len(pair.target)
    return {"exact": exact / len(pairs), "letters": letters / total}


def run(width: int, folder: Path) -> dict:
    """Train one width and test it on every length."""
    started = time.perf_counter()
    torch.manual_seed(TRAINING.seed)
    size = len(LETTERS)
    config = BottleneckConfig(
        size, size, embed=16, hidden=width, maxout=width, dropout=0.0
    )
    model = Bottleneck(config).to(training.device())
    lengths = list(range(1, LONGEST + 1))
    held_out = strings(500, lengths, seed=-1)

    def validate(model: Bottleneck) -> dict:
        found = accuracy(model, held_out)
        loss = training.validation_loss(model, held_out, LETTERS, LETTERS)
        return {"score": -loss, "loss": loss, **found}

    progress = training.train(
        model,
        lambda epoch: strings(PER_EPOCH, lengths, seed=epoch),
        LETTERS,
        LETTERS,
        TRAINING,
        folder,
        validate,
    )
    by_length = {
        str(n): accuracy(model, strings(TESTS, [n], seed=-1 - n))
        for n in lengths
    }
    records.save_model(f"copying-{width}", model.cpu(), LETTERS, LETTERS)
    return {
        "exact": {n: each["exact"] for n, each in by_length.items()},
        "letters": {n: each["letters"] for n, each in by_length.items()},
        "parameters": sum(p.numel() for p in model.parameters()),
        "curve": progress.curve,
        "wall_seconds": time.perf_counter() - started,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", type=int, choices=WIDTHS)
    parser.add_argument("--runs", type=Path, default=RUNS / "copying")
    options = parser.parse_args()
    for width in [options.only] if options.only else WIDTHS:
        folder = options.runs / str(width)
        once(folder, lambda w=width, f=folder: run(w, f))
    found = {str(w): finished(options.runs / str(w)) for w in WIDTHS}
    if None in found.values():
        return print("the record is written when all widths are trained")
    records.save(
        "copying",
        config={**asdict(TRAINING), "longest": LONGEST, "tests": TESTS},
        seeds=[TRAINING.seed],
        data={},
        device=training.device(),
        wall_seconds=sum(each["wall_seconds"] for each in found.values()),
        results={
            "exact": {width: each["exact"] for width, each in found.items()},
            "letters": {w: each["letters"] for w, each in found.items()},
            "half": {w: half(each["exact"]) for w, each in found.items()},
            "models": found,
        },
    )


def half(exact: dict[str, float]) -> int:
    """The greatest length up to which at least half are copied exactly."""
    longest = 0
    for length, share in exact.items():
        if share < 0.5:
            break
        longest = int(length)
    return longest


if __name__ == "__main__":
    main()
