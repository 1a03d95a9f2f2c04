"""What does the finished Transformer need? Take one part out, keep the rest.

On the ladder's bench, from its last rung: same captions, as many rounds. Where
a removal makes the training fail or stumble, a second one at a quarter of the
rate shows whether the part is needed or the rate was too high. Without the sum
dropout is on the only way through, so it is taken out, too. Without the norms
one is left where a stack ends: the scores are to begin as loud. Without
feed-forward layers the model is trained a second time with more layers, so
that it has as many weights. The full model is the last rung of
records/ladder.json, and without the tied embeddings it is the rung before.
Writes records/removal.json.

    python -m lookback.experiments.removal
    python -m lookback.experiments.removal --only heads  # one part
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import nn

from lookback.experiments.ablation import largest_weights
from lookback.experiments.ladder import (
    TRAINING,
    asked,
    bench,
    described,
    fitted,
    runs_alone,
)
from lookback.lab import corpus, training
from lookback.ladder import RUNGS, draw
from lookback.transformer import Transformer

SLOW = {"learning_rate": TRAINING.learning_rate / 4}
# part: what is changed of the model, what of the training
REMOVALS = {
    "positions": ({"positions": "none"}, {}),
    "positions, learned": ({"positions": "learned"}, {}),
    "residual": ({"residual": False}, {}),
    "residual, slowly": ({"residual": False}, SLOW),
    "residual, no dropout": ({"residual": False, "dropout": 0.0}, {}),
    "norm": ({"norm": "none"}, {}),
    "norm, slowly": ({"norm": "none"}, SLOW),
    "norm, behind": ({"norm": "post"}, {}),
    "scale": ({"scaled": False}, {}),
    "scale, slowly": ({"scaled": False}, SLOW),
    "warmup": ({}, {"warmup": 0}),
    "warmup, slowly": ({}, {"warmup": 0} | SLOW),
    "feedforward": ({"d_ff": 0}, {}),
    "feedforward, 7 layers": ({"d_ff": 0, "layers": 7}, {}),
    "heads": ({"heads": 1}, {}),
    "depth": ({"layers": 1}, {}),
    "smoothing": ({}, {"smoothing": 0.0}),
    "dropout": ({"dropout": 0.0}, {}),
}


def without(name: str, source_vocab: int, target_vocab: int) -> Transformer:
    """The Transformer without one part, untrained."""
    full = RUNGS["transformer"].make(source_vocab, target_vocab).config
    model_changes, _ = REMOVALS[name]
    model = Transformer(replace(full, **model_changes))
    if model.config.norm == "none":
        model.after_encoder = nn.LayerNorm(full.d_model)
        model.after_decoder = nn.LayerNorm(full.d_model)
    return draw(model)


def run(name: str, seed: int, folder: Path) -> dict:
    """Train and test the Transformer without one part."""
    _, training_changes = REMOVALS[name]
    settings = replace(TRAINING, **training_changes, seed=seed)
    make = partial(without, name)
    found = fitted(make, settings, folder)
    torch.manual_seed(seed)
    fresh = make(len(found.source), len(found.target)).to(training.device())
    sizes = corpus.load("val"), found.source, found.target
    return {
        **described(settings, found),
        "tests": {split: asked(found, split) for split in corpus.TESTS},
        "largest_weight": {
            "untrained": largest_weights(fresh, *sizes),
            "trained": largest_weights(found.model, *sizes),
        },
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parts = {name: partial(run, name) for name in REMOVALS}
    bench("removal", __doc__, parts, runs_alone, arguments)


if __name__ == "__main__":
    main()
