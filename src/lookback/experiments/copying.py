"""How much can one vector hold? The bottleneck repeats random letters.

The easiest task there is: the target is the source. The letters are random,
so nothing can be guessed; what comes out must have gone through the vector.
Models of several widths are trained on strings of 1 to LONGEST letters and
tested on TESTS random strings of each length. Writes records/copying.json and
one small weights file per width. Needs no corpus.

    python -m lookback.experiments.copying
"""

import random
import string
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.experiments.runs import campaign, first, fit
from lookback.lab import training, weights
from lookback.lab.corpus import Pair
from lookback.lab.decoding import translate
from lookback.vocabulary import Vocabulary

WIDTHS = (8, 16, 32, 64, 128)
LONGEST = 24  # letters
TESTS = 200  # strings of each length
PER_EPOCH = 6400  # new strings in each epoch
LETTERS = Vocabulary([*string.ascii_lowercase])
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


def run(width: int, seed: int, folder: Path) -> dict:
    """Train one width and test it on every length."""
    lengths = list(range(1, LONGEST + 1))
    held_out = strings(500, lengths, seed=-1)

    def make(*vocabularies: int) -> Bottleneck:
        return Bottleneck(
            BottleneckConfig(
                *vocabularies,
                embed=16,
                hidden=width,
                maxout=width,
                dropout=0.0,
            )
        )

    def validate(model: Bottleneck) -> dict:
        found = accuracy(model, held_out)
        loss = training.validation_loss(model, held_out, LETTERS, LETTERS)
        return {"score": -loss, "loss": loss, **found}

    fitted = fit(
        make,
        LETTERS,
        LETTERS,
        lambda epoch: strings(PER_EPOCH, lengths, seed=epoch),
        validate,
        replace(TRAINING, seed=seed),
        folder,
    )
    by_length = {
        str(n): accuracy(fitted.model, strings(TESTS, [n], seed=-1 - n))
        for n in lengths
    }
    if seed == 0:
        weights.save(f"copying-{width}", *fitted[:3], halves=True)
    return {
        "exact": {n: each["exact"] for n, each in by_length.items()},
        "letters": {n: each["letters"] for n, each in by_length.items()},
        **fitted.outcome,
    }


def half(exact: dict[str, float]) -> int:
    """The greatest length up to which at least half are copied exactly."""
    longest = 0
    for length, share in exact.items():
        if share < 0.5:
            break
        longest = int(length)
    return longest


def summary(found: dict[str, list[dict]]) -> dict:
    """What each width copies, of the first seed, and all that was measured."""
    models = {width: first(runs) for width, runs in found.items()}
    return {
        "exact": {width: each["exact"] for width, each in models.items()},
        "letters": {width: each["letters"] for width, each in models.items()},
        "half": {width: half(each["exact"]) for width, each in models.items()},
        "models": models,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "copying",
        __doc__,
        {str(width): partial(run, width) for width in WIDTHS},
        summary,
        config={**asdict(TRAINING), "longest": LONGEST, "tests": TESTS},
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
