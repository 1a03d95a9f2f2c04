"""Does the soft search find which word translates which?

RNNsearch is trained on the phrasebook, whose sentences come with their true
alignments, and reads 1,000 new ones. For each French word the English word
with the largest weight counts as its link. Writes records/alignment.json and
the weights. Needs no corpus.

    python -m lookback.experiments.alignment
"""

import time
from dataclasses import asdict, replace
from pathlib import Path

import torch

from lookback.experiments.runs import RUNS, once, validator
from lookback.lab import metrics, phrasebook, records, training
from lookback.lab.corpus import Pair, Vocabulary
from lookback.lab.decoding import force, translate
from lookback.rnnsearch import RNNsearch, RNNsearchConfig

TRAINING = training.TrainingConfig(epochs=12, learning_rate=3e-3)
PAIRS, TESTS = 12_000, 1_000
SMALL = RNNsearchConfig(0, 0, embed=64, hidden=64, align=64, maxout=64)


def diagonal(source: list[str], target: list[str]) -> set[tuple[int, int]]:
    """Each target word linked to the source word at the same fraction."""
    last_in, last_out = len(source) - 1, max(1, len(target) - 1)
    return {(round(i * last_in / last_out), i) for i in range(len(target))}


def run(
    folder: Path, make=RNNsearch, config=None, save: str | None = None
) -> dict:
    """Train on the phrasebook, then compare links with the true ones.

    `make(config)` is the model; its vocabularies are filled in here.
    """
    started = time.perf_counter()
    training_set = phrasebook.sample(PAIRS, seed=0)
    tests = phrasebook.sample(TESTS, seed=1)
    known = {tuple(each.source) for each in training_set}
    tests = [each for each in tests if tuple(each.source) not in known]
    source, target = (Vocabulary(words) for words in phrasebook.words())
    torch.manual_seed(TRAINING.seed)
    config = replace(
        config or SMALL, source_vocab=len(source), target_vocab=len(target)
    )
    model = make(config).to(training.device())
    pairs = [Pair(each.source, each.target) for each in training_set]
    held_out = phrasebook.sample(200, seed=2)
    progress = training.train(
        model,
        lambda epoch: pairs,
        source,
        target,
        TRAINING,
        folder,
        validator([Pair(p.source, p.target) for p in held_out], source, target),
    )
    gold = [each.alignment for each in tests]
    sentences = [Pair(p.source, p.target) for p in tests]
    looks = force(model, sentences, source, target)
    found = [metrics.links(weights[:-1]) for weights in looks]
    said = translate(model, [each.source for each in tests], source, target)
    references = [each.target for each in tests]
    if save:
        records.save_model(save, model.cpu(), source, target)
    return {
        "sentences": len(tests),
        "aer": metrics.alignment_error_rate(found, gold),
        "aer_diagonal": metrics.alignment_error_rate(
            [diagonal(each.source, each.target) for each in tests], gold
        ),
        "bleu": metrics.bleu([words for words, _ in said], references)["bleu"],
        "curve": progress.curve,
        "train_seconds": progress.seconds,
        "config": asdict(config),
        "wall_seconds": time.perf_counter() - started,
    }


def main() -> None:
    results = once(
        RUNS / "alignment", lambda: run(RUNS / "alignment", save="phrasebook")
    )
    records.save(
        "alignment",
        config={**asdict(TRAINING), "pairs": PAIRS, "tests": TESTS},
        seeds=[TRAINING.seed],
        data={},
        device=training.device(),
        wall_seconds=results["wall_seconds"],
        results=results,
    )


if __name__ == "__main__":
    main()
