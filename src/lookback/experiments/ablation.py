"""Which of the Transformer's patches earn something here? Take one away.

The finished Transformer is trained again with each part missing in turn, or
exchanged for a later one, everything else equal, for half the ladder's
epochs. Two runs change nothing but the seed: what they differ by, chance can
do alone. Multi30k, English to French. Writes records/ablation.json.

    python -m lookback.experiments.ablation
    python -m lookback.experiments.ablation --only heads   # trains in parallel
    python -m lookback.experiments.ablation --record       # what is finished
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import torch

from lookback.experiments.runs import RUNS, finished, fit, once, said
from lookback.lab import corpus, metrics, records, training
from lookback.lab.corpus import Pair, Vocabulary, collate
from lookback.transformer import Transformer, TransformerConfig

FULL = TransformerConfig(0, 0)
TRAINING = training.TrainingConfig(epochs=5, patience=5)
# name: what is changed of the model, what of the training
CHANGES = {
    "full": ({}, {}),
    "seed 1": ({}, {"seed": 1}),
    "seed 2": ({}, {"seed": 2}),
    "positions": ({"positions": "none"}, {}),
    "residual": ({"residual": False}, {}),
    "norm": ({"norm": "none"}, {}),
    "feedforward": ({"d_ff": 0}, {}),
    "heads": ({"heads": 1}, {}),
    "depth": ({"layers": 1}, {}),
    "scale": ({"scaled": False}, {}),
    "tied": ({"tied": "none"}, {}),
    "smoothing": ({}, {"smoothing": 0.0}),
    "warmup": ({}, {"warmup": 0}),
    "dropout": ({"dropout": 0.0}, {}),
    "pre-norm": ({"norm": "pre"}, {}),
    "learned": ({"positions": "learned"}, {}),
    "rotary": ({"positions": "rotary"}, {}),
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
    where = next(model.parameters()).device
    found = {"encoder": [], "decoder": [], "cross": []}
    for pair in pairs:
        batch = collate([pair], source, target).to(where)
        states, encoder = model.read(batch.source, need_weights=True)
        memory = model.remember(states, batch.source)
        _, _, both = model.write(batch.target_in, memory, need_weights=True)
        kinds = (encoder, *zip(*both, strict=True))
        for seen, looks in zip(found.values(), kinds, strict=True):
            seen += [each.amax(dim=-1).flatten() for each in looks]
    return {kind: torch.cat(seen).mean().item() for kind, seen in found.items()}


def run(name: str, folder: Path) -> dict:
    """Train and test one variant; `folder` lets it resume."""
    started = time.perf_counter()
    model_changes, training_changes = CHANGES[name]
    settings = replace(TRAINING, **training_changes)
    model, source, target, progress = fit(
        Transformer, replace(FULL, **model_changes), settings, folder
    )
    torch.manual_seed(settings.seed)
    fresh = Transformer(model.config).to(training.device())
    test = corpus.load("test_2016_flickr")
    words, truths = said(model, test, source, target), [p.target for p in test]
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "said": words,
        "greedy": metrics.bleu(words, truths, resamples=1000),
        "loss": progress.curve[progress.best_epoch - 1]["loss"],
        "largest_weight": {
            kind: largest_weights(each, corpus.load("val"), source, target)
            for kind, each in (("untrained", fresh), ("trained", model))
        },
        "curve": progress.curve,
        "best_epoch": progress.best_epoch,
        "train_seconds": progress.seconds,
        "config": asdict(model.config),
        "training": asdict(settings),
        "wall_seconds": time.perf_counter() - started,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=CHANGES, help="train one variant")
    parser.add_argument("--record", action="store_true", help="train nothing")
    parser.add_argument("--runs", type=Path, default=RUNS / "ablation")
    options = parser.parse_args()
    chosen = [options.only] if options.only else list(CHANGES)
    for name in [] if options.record else chosen:
        folder = options.runs / name
        once(folder, lambda n=name, f=folder: run(n, f))
    if options.only:
        return print("kept; --record writes down all that is finished")
    found = {name: finished(options.runs / name) for name in CHANGES}
    found = {name: each for name, each in found.items() if each}
    if len(found) < len(CHANGES):
        lacking = [name for name in CHANGES if name not in found]
        print(f"not trained yet: {', '.join(lacking)}")
    if "full" not in found:
        return print("the record is written when the full model is trained")
    words = {name: each.pop("said") for name, each in found.items()}
    truths = [pair.target for pair in corpus.load("test_2016_flickr")]
    records.save(
        "ablation",
        config=asdict(TRAINING),
        seeds=[TRAINING.seed],
        data=corpus.digests("en", "fr"),
        device=training.device(),
        wall_seconds=sum(each["wall_seconds"] for each in found.values()),
        results={
            name: {
                **metrics.compare(words["full"], words[name], truths),
                **each,
            }
            for name, each in found.items()
        },
    )


if __name__ == "__main__":
    main()
