"""Which of the Transformer's patches earn something here? Take one away.

The finished Transformer is trained again with each part missing in turn, or
exchanged for a later one, everything else equal, for half the ladder's
epochs. Multi30k, English to French. Writes records/ablation.json.

    python -m lookback.experiments.ablation
    python -m lookback.experiments.ablation --only heads   # in parallel
    python -m lookback.experiments.ablation --record       # what is finished
"""

import argparse
import time
from dataclasses import asdict, replace
from pathlib import Path

from lookback.experiments.runs import (
    RUNS,
    finished,
    fit,
    once,
    over_seeds,
    said,
)
from lookback.lab import corpus, metrics, records, training
from lookback.transformer import Transformer, TransformerConfig

FULL = TransformerConfig(0, 0)
TRAINING = training.TrainingConfig(epochs=5, patience=5)
# name: what is changed of the model, what of the training
CHANGES = {
    "full": ({}, {}),
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


def run(name: str, seed: int, folder: Path) -> dict:
    """Train and test one variant; `folder` lets it resume."""
    started = time.perf_counter()
    model_changes, training_changes = CHANGES[name]
    settings = replace(TRAINING, seed=seed, **training_changes)
    model, source, target, progress = fit(
        Transformer, replace(FULL, **model_changes), settings, folder
    )
    test = corpus.load("test_2016_flickr")
    words, truths = said(model, test, source, target), [p.target for p in test]
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "said": words,
        "greedy": metrics.bleu(words, truths, resamples=1000),
        "loss": progress.curve[progress.best_epoch - 1]["loss"],
        "curve": progress.curve,
        "best_epoch": progress.best_epoch,
        "train_seconds": progress.seconds,
        "config": asdict(model.config),
        "training": asdict(settings),
        "wall_seconds": time.perf_counter() - started,
    }


def summary(runs: list[dict], full: list[dict]) -> dict:
    """One variant's scores, and its first seed beside the full model's."""
    truths = [pair.target for pair in corpus.load("test_2016_flickr")]
    return {
        "loss": sum(each["loss"] for each in runs) / len(runs),
        **metrics.compare(full[0]["said"], runs[0]["said"], truths),
        **over_seeds(runs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=CHANGES, help="train one variant")
    parser.add_argument("--record", action="store_true", help="train nothing")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds")
    parser.add_argument("--runs", type=Path, default=RUNS / "ablation")
    options = parser.parse_args()
    seeds = list(range(options.seeds))
    chosen = [options.only] if options.only else list(CHANGES)
    for name in [] if options.record else chosen:
        for seed in seeds:
            folder = options.runs / f"{name}-{seed}"
            once(folder, lambda n=name, s=seed, f=folder: run(n, s, f))
    found = {
        name: [finished(options.runs / f"{name}-{seed}") for seed in seeds]
        for name in CHANGES
    }
    found = {name: runs for name, runs in found.items() if None not in runs}
    if len(found) < len(CHANGES):
        print(f"not trained yet: {', '.join(set(CHANGES) - set(found))}")
    if "full" not in found:
        return print("the record is written when the full model is trained")
    records.save(
        "ablation",
        config=asdict(TRAINING),
        seeds=seeds,
        data=corpus.digests("en", "fr"),
        device=training.device(),
        wall_seconds=sum(
            each["wall_seconds"] for runs in found.values() for each in runs
        ),
        results={n: summary(runs, found["full"]) for n, runs in found.items()},
    )


if __name__ == "__main__":
    main()
