"""What does the look back buy? Three models on Multi30k, English to French.

The fixed vector (Cho et al. 2014), the same with the source reversed
(Sutskever et al. 2014), and RNNsearch (Bahdanau et al. 2015): same data, same
loop, same budget, same sizes. Writes records/look_back.json and the weights
of the first seed.

    python -m lookback.experiments.look_back
    python -m lookback.experiments.look_back --only rnnsearch   # in parallel
"""

import argparse
import time
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean

from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.experiments.runs import (
    RUNS,
    finished,
    fit,
    once,
    over_seeds,
    score,
)
from lookback.lab import corpus, records, training
from lookback.rnnsearch import RNNsearch, RNNsearchConfig

KINDS = {
    "bottleneck": (Bottleneck, BottleneckConfig(0, 0)),
    "reversed": (Bottleneck, BottleneckConfig(0, 0, reverse=True)),
    "rnnsearch": (RNNsearch, RNNsearchConfig(0, 0)),
}
TRAINING = training.TrainingConfig()
WEIGHTS = ("bottleneck", "rnnsearch")  # kept for the chapters


def run(kind: str, seed: int, folder: Path) -> dict:
    """Train and test one model; `folder` lets it resume."""
    started = time.perf_counter()
    make, config = KINDS[kind]
    model, source, target, progress = fit(
        make, config, replace(TRAINING, seed=seed), folder
    )
    test = corpus.load("test_2016_flickr")
    answer = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "curve": progress.curve,
        "best_epoch": progress.best_epoch,
        "tokens_per_second": progress.tokens_per_second,
        "train_seconds": progress.seconds,
        "config": asdict(model.config),
        "greedy": score(model, test, source, target),
        "beam": score(model, test, source, target, width=5),
    }
    if seed == 0 and kind in WEIGHTS:
        records.save_model(kind, model.cpu(), source, target)
    answer["wall_seconds"] = time.perf_counter() - started
    return answer


def summary(runs: list[dict]) -> dict:
    """Mean and spread over the seeds, and the runs themselves."""
    return {
        "tokens_per_second": mean(each["tokens_per_second"] for each in runs),
        "train_seconds": mean(each["train_seconds"] for each in runs),
        **over_seeds(runs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=KINDS, help="train one model")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds")
    parser.add_argument("--runs", type=Path, default=RUNS / "look_back")
    options = parser.parse_args()
    seeds = list(range(options.seeds))
    for seed in seeds:
        for kind in [options.only] if options.only else KINDS:
            folder = options.runs / f"{kind}-{seed}"
            once(folder, lambda k=kind, s=seed, f=folder: run(k, s, f))
    found = {
        kind: [finished(options.runs / f"{kind}-{seed}") for seed in seeds]
        for kind in KINDS
    }
    if any(each is None for runs in found.values() for each in runs):
        return print("the record is written when all models are trained")
    results = {kind: summary(runs) for kind, runs in found.items()}
    results["gain"] = (
        results["rnnsearch"]["bleu"] - results["bottleneck"]["bleu"]
    )
    results["gain_of_reversal"] = (
        results["reversed"]["bleu"] - results["bottleneck"]["bleu"]
    )
    records.save(
        "look_back",
        config=asdict(TRAINING),
        seeds=seeds,
        data=corpus.digests("en", "fr"),
        device=training.device(),
        wall_seconds=sum(
            each["wall_seconds"] for runs in found.values() for each in runs
        ),
        results=results,
    )


if __name__ == "__main__":
    main()
