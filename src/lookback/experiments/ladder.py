"""What does each change between 2014 and 2017 buy? One rung, one change.

All rungs train on Multi30k, English to French, with the same loop, budget,
sizes and seed. Each is then asked for single captions, for two to four
joined ones (longer than anything it was trained on), and, trained afresh on
the phrasebook, for the alignments whose truth is known. Writes
records/ladder.json and the Transformer's weights.

    python -m lookback.experiments.ladder
    python -m lookback.experiments.ladder --only dot      # in parallel
"""

import argparse
import time
from dataclasses import asdict, replace
from itertools import repeat
from pathlib import Path
from statistics import mean, stdev

import torch

from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.experiments import alignment
from lookback.experiments.look_back import TRAINING, vocabularies
from lookback.experiments.runs import RUNS, finished, once, validator
from lookback.lab import corpus, metrics, records, training
from lookback.lab.decoding import translate
from lookback.ladder import Rung, RungConfig
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer, TransformerConfig

DOT = RungConfig(0, 0)
WORDS = replace(DOT, encoder="words")
PLACED = replace(WORDS, positions="sinusoidal")
LOOKING = replace(PLACED, layers=1)
HEADS = replace(LOOKING, heads=4)
FEEDING = replace(HEADS, d_ff=1024)
STABLE = replace(FEEDING, residual=True, norm="post")
RUNGS = {
    "bottleneck": (Bottleneck, BottleneckConfig(0, 0)),
    "reversed": (Bottleneck, BottleneckConfig(0, 0, reverse=True)),
    "diagonal": (Rung, replace(DOT, look="diagonal")),
    "rnnsearch": (RNNsearch, RNNsearchConfig(0, 0)),
    "dot": (Rung, DOT),
    "words": (Rung, WORDS),
    "positions": (Rung, PLACED),
    "self-attention": (Rung, LOOKING),
    "heads": (Rung, HEADS),
    "feedforward": (Rung, FEEDING),
    "residual": (Rung, STABLE),
    "depth": (Rung, replace(STABLE, layers=3)),
    "transformer": (Transformer, TransformerConfig(0, 0)),
}
SHARED = ("bottleneck", "reversed", "rnnsearch")  # trained by look_back
SMALL = {"embed": 64, "hidden": 64, "align": 64, "maxout": 64}
LONG = (2, 3, 4)  # captions joined


def small(config):
    """The same rung at the phrasebook's size."""
    if isinstance(config, TransformerConfig):
        return replace(config, d_model=64, d_ff=256)
    sizes = {k: v for k, v in SMALL.items() if hasattr(config, k)}
    if getattr(config, "d_ff", 0):
        sizes["d_ff"] = 256
    return replace(config, **sizes)


def run(name: str, seed: int, folder: Path) -> dict:
    """Train and test one rung; `folder` lets it resume."""
    started = time.perf_counter()
    pairs, test = corpus.load("train"), corpus.load("test_2016_flickr")
    source, target = vocabularies(pairs)
    make, config = RUNGS[name]
    torch.manual_seed(seed)
    config = replace(config, source_vocab=len(source), target_vocab=len(target))
    model = make(config).to(training.device())
    progress = training.train(
        model,
        lambda epoch: pairs,
        source,
        target,
        replace(TRAINING, seed=seed),
        folder,
        validator(corpus.load("val"), source, target),
    )

    def score(tests, width=1):
        found = translate(
            model, [p.source for p in tests], source, target, width
        )
        words = [each for each, _ in found]
        return metrics.bleu(words, [p.target for p in tests], resamples=1000)

    answer = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "greedy": score(test),
        "beam": score(test, 5),
        "long": {str(n): score(corpus.join(test, repeat(n))) for n in LONG},
        "curve": progress.curve,
        "best_epoch": progress.best_epoch,
        "train_seconds": progress.seconds,
        "config": asdict(config),
    }
    if seed == 0 and name == "transformer":
        records.save_model(name, model.cpu(), source, target)
    answer["wall_seconds"] = time.perf_counter() - started
    return answer


def align(name: str, folder: Path) -> dict | None:
    """The rung's alignment error on the phrasebook; None if it never looks."""
    make, config = RUNGS[name]
    if make is Bottleneck:
        return None
    return alignment.run(folder, make, small(config))


def summary(runs: list[dict], aligned: dict | None) -> dict:
    """Mean and spread over the seeds, the alignment, and the runs."""
    scores = [each["greedy"]["bleu"] for each in runs]
    return {
        "bleu": mean(scores),
        "spread": stdev(scores) if len(scores) > 1 else None,
        "low": runs[0]["greedy"]["low"],
        "high": runs[0]["greedy"]["high"],
        "beam_bleu": mean(each["beam"]["bleu"] for each in runs),
        "long": {
            str(n): mean(each["long"][str(n)]["bleu"] for each in runs)
            for n in LONG
        },
        "aer": aligned and aligned["aer"],
        "parameters": runs[0]["parameters"],
        "runs": runs,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=RUNGS, help="train one rung")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds")
    parser.add_argument("--runs", type=Path, default=RUNS / "ladder")
    options = parser.parse_args()
    seeds, names = list(range(options.seeds)), list(RUNGS)
    for name in [options.only] if options.only else names:
        for seed in seeds:
            kept = options.runs / f"{name}-{seed}"
            kept.mkdir(parents=True, exist_ok=True)
            shared = RUNS / "look_back" / kept.name
            trained = shared if name in SHARED else kept
            once(kept, lambda n=name, s=seed, f=trained: run(n, s, f))
        if RUNGS[name][0] is not Bottleneck:
            kept = options.runs / f"{name}-phrasebook"
            once(kept, lambda n=name, f=kept: align(n, f))
    found = {
        name: [finished(options.runs / f"{name}-{seed}") for seed in seeds]
        for name in names
    }
    aligned = {n: finished(options.runs / f"{n}-phrasebook") for n in names}
    if any(each is None for runs in found.values() for each in runs):
        return print("the record is written when all rungs are trained")
    records.save(
        "ladder",
        config=asdict(TRAINING),
        seeds=seeds,
        data=corpus.digests("en", "fr"),
        device=training.device(),
        wall_seconds=sum(
            each["wall_seconds"] for runs in found.values() for each in runs
        ),
        results={n: summary(found[n], aligned[n]) for n in names},
    )


if __name__ == "__main__":
    main()
