"""How good does the book's Transformer get with subwords and tuning of its own?

Not a rung of the ladder: here everything may change. A narrow, deep model
(d_model 128, 4 + 4 layers), joint subwords, one matrix for source, target and
output, more dropout, more epochs, the weights of the last epochs averaged,
beam search. English to French and German to English on Multi30k. Writes
records/tuned.json and the weights.

    python -m lookback.experiments.tuned
    python -m lookback.experiments.tuned --only de-en     # in parallel
"""

import argparse
import time
from dataclasses import asdict
from pathlib import Path

import torch

from lookback.experiments.runs import RUNS, finished, once, score, validator
from lookback.lab import corpus, records, training
from lookback.lab.subwords import Subwords
from lookback.transformer import Transformer, TransformerConfig

DIRECTIONS = ("en-fr", "de-en")
PIECES = 6000
KEEP = 5  # epochs averaged
TRAINING = training.TrainingConfig(
    epochs=30, batch=128, learning_rate=3e-3, warmup=1000, patience=30
)


def run(direction: str, folder: Path) -> dict:
    """Train and test one direction; `folder` lets it resume."""
    started = time.perf_counter()
    languages = direction.split("-")
    pairs = corpus.load("train", *languages)
    test = corpus.load("test_2016_flickr", *languages)
    pieces = Subwords.learn((side for pair in pairs for side in pair), PIECES)
    torch.manual_seed(TRAINING.seed)
    config = TransformerConfig(
        len(pieces),
        len(pieces),
        d_model=128,
        heads=4,
        layers=4,
        d_ff=512,
        dropout=0.3,
        norm="pre",
        tied="all",
    )
    model = Transformer(config).to(training.device())
    progress = training.train(
        model,
        lambda epoch: pairs,
        pieces,
        pieces,
        TRAINING,
        folder,
        validator(corpus.load("val", *languages), pieces, pieces),
        keep=KEEP,
    )
    answer = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "curve": progress.curve,
        "best_epoch": progress.best_epoch,
        "train_seconds": progress.seconds,
        "config": asdict(config),
    }
    answer["best"] = {
        "greedy": score(model, test, pieces, pieces),
        "beam": score(model, test, pieces, pieces, width=5),
    }
    answer["averaged"] = training.average(model, folder)
    answer["greedy"] = score(model, test, pieces, pieces)
    answer["beam"] = score(model, test, pieces, pieces, width=5)
    records.save_model(f"tuned-{direction}", model.cpu(), pieces, pieces)
    answer["wall_seconds"] = time.perf_counter() - started
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=DIRECTIONS, help="one direction")
    parser.add_argument("--runs", type=Path, default=RUNS / "tuned")
    options = parser.parse_args()
    for direction in [options.only] if options.only else DIRECTIONS:
        folder = options.runs / direction
        once(folder, lambda d=direction, f=folder: run(d, f))
    results = {each: finished(options.runs / each) for each in DIRECTIONS}
    if None in results.values():
        return print("the record is written when both are trained")
    records.save(
        "tuned",
        config={**asdict(TRAINING), "pieces": PIECES, "keep": KEEP},
        seeds=[TRAINING.seed],
        data={**corpus.digests("en", "fr"), **corpus.digests("de", "en")},
        device=training.device(),
        wall_seconds=sum(each["wall_seconds"] for each in results.values()),
        results=results,
    )


if __name__ == "__main__":
    main()
