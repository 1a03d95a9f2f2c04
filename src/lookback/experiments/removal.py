"""What does the finished Transformer need? Take one part out, keep the rest.

On the ladder's bench, from the best Transformer of records/best.json: its
dropout, its rate, its rounds. Where a removal makes the training fail or
stumble, a second one at a quarter of the rate shows whether the part is needed
or the rate was too high. Without the sum dropout is on the only way through, so
it is taken out, too. Without the norms one is left where a stack ends: the
scores are to begin as loud. Without feed-forward layers the model is trained a
second time with more layers, so that it has as many weights. Writes
records/removal.json.

    python -m lookback.experiments.removal
    python -m lookback.experiments.removal --only full heads --seeds 3
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean

import torch
from torch import nn

from lookback.experiments.best import chosen, rung_with
from lookback.experiments.ladder import (
    asked,
    bench,
    described,
    fitted,
    gap,
    level,
    loss,
    noise,
    runs_alone,
)
from lookback.lab import corpus, training
from lookback.lab.corpus import Pair, collate
from lookback.ladder import draw
from lookback.transformer import Transformer
from lookback.vocabulary import Vocabulary

CAPTIONS = 100  # of which the looks are seen
SLOW = {"slower": 4}  # so many times
# part: what is changed of the model, what of the training
REMOVALS = {
    "full": ({}, {}),
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


@torch.no_grad()
def largest_weights(
    model: Transformer,
    pairs: Sequence[Pair],
    source: Vocabulary,
    target: Vocabulary,
) -> dict[str, float]:
    """How sharp the looks are: the largest weight, mean over all of a kind.

    The encoder looks at the source and the decoder at the translation, each
    at its own side, and "cross" is the decoder's look at the source.
    """
    model.eval()
    found = {"encoder": [], "decoder": [], "cross": []}
    for pair in pairs:
        batch = collate([pair], source, target).to(model.device)
        states, encoder = model.read(batch.source, need_weights=True)
        memory = model.remember(states, batch.source)
        _, _, both = model.write(batch.target_in, memory, need_weights=True)
        kinds = (encoder, *zip(*both, strict=True))
        for seen, looks in zip(found.values(), kinds, strict=True):
            seen += [each.amax(dim=-1).flatten() for each in looks]
    return {kind: torch.cat(seen).mean().item() for kind, seen in found.items()}


def without(
    name: str,
    make: Callable[[int, int], Transformer],
    source_vocab: int,
    target_vocab: int,
) -> Transformer:
    """The Transformer that `make` makes, without one part, untrained."""
    full = make(source_vocab, target_vocab).config
    model_changes, _ = REMOVALS[name]
    model = Transformer(replace(full, **model_changes))
    if model.config.norm == "none":
        model.after_encoder = nn.LayerNorm(full.d_model)
        model.after_decoder = nn.LayerNorm(full.d_model)
    return draw(model)


def run(name: str, seed: int, folder: Path) -> dict:
    """Train and test the Transformer without one part."""
    rung, settings = rung_with("transformer", chosen("transformer"))
    changes = dict(REMOVALS[name][1])
    rate = settings.learning_rate / changes.pop("slower", 1)
    settings = replace(settings, learning_rate=rate, **changes, seed=seed)
    make = partial(without, name, rung.make)
    found = fitted(make, settings, folder)
    torch.manual_seed(seed)
    fresh = make(len(found.source), len(found.target)).to(training.device())
    some = corpus.load("val")[:CAPTIONS], found.source, found.target
    return {
        **described(settings, found),
        "tests": {split: asked(found, split) for split in corpus.TESTS},
        "largest_weight": {
            "untrained": largest_weights(fresh, *some),
            "trained": largest_weights(found.model, *some),
        },
    }


PARTS = {name: partial(run, name) for name in REMOVALS}


def summary(found: dict[str, list[dict]]) -> dict:
    """Every run; of each removal the levels and its change from the whole."""
    answer = runs_alone(found)
    try:
        noise(found, corpus.TESTS[0])
    except ValueError:  # one seed of each: no ruler
        return answer
    for name, runs in found.items():
        tests = answer[name]["tests"] = {}
        for split in (*corpus.TESTS, "all"):
            greedy, beam = (level(runs, split, k) for k in ("greedy", "beam"))
            if name != "full":
                greedy["change"] = gap(found, "full", name, split)
                beam["change"] = gap(found, "full", name, split, "beam")
            losses = mean(loss(run, split) for run in runs)
            tests[split] = greedy | {"beam": beam, "loss": losses}
    return answer


def main(arguments: Sequence[str] | None = None) -> None:
    bench("removal", __doc__, PARTS, summary, arguments)


if __name__ == "__main__":
    main()
