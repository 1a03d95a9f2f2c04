"""What the experiments share: where runs are kept, how they are validated.

A finished run leaves `result.json` in its folder under `runs/`, so that an
experiment that was interrupted, or split over several processes, goes on
where it stopped.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import torch

from lookback.lab import corpus, metrics, records, training
from lookback.lab.corpus import Pair, Vocabulary
from lookback.lab.decoding import translate
from lookback.lab.translator import Translator

RUNS = Path("runs")


def finished(folder: Path) -> dict | None:
    """The result of a run, or None if it has not finished."""
    path = folder / "result.json"
    return json.loads(path.read_text()) if path.exists() else None


def once(folder: Path, run: Callable[[], dict]) -> dict:
    """The result of a run, which is made and kept if it is not there yet."""
    if (result := finished(folder)) is None:
        git = records.provenance(training.device()).git  # as it starts
        result = {**run(), "git": git}
        temporary = folder / "result.part"
        temporary.write_text(json.dumps(result))
        os.replace(temporary, folder / "result.json")
    return result


def validator(
    pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary
) -> Callable[[Translator], dict]:
    """Loss and greedy BLEU on held-out pairs; the score is the BLEU."""
    references = [pair.target for pair in pairs]

    def validate(model: Translator) -> dict:
        found = translate(model, [p.source for p in pairs], source, target)
        score = metrics.bleu([words for words, _ in found], references)
        return {
            "loss": training.validation_loss(model, pairs, source, target),
            "score": score["bleu"],
        }

    return validate


def vocabularies(pairs: Sequence[Pair]) -> tuple[Vocabulary, Vocabulary]:
    """The words of the training set that occur at least twice."""
    return (
        Vocabulary.count(pair.source for pair in pairs),
        Vocabulary.count(pair.target for pair in pairs),
    )


def fit(
    make: Callable[..., Translator],
    config,
    settings: training.TrainingConfig,
    folder: Path,
    arrange: Callable[[list[Pair], int], list[Pair]] = lambda pairs, _: pairs,
) -> tuple[Translator, Vocabulary, Vocabulary, training.Progress]:
    """Train `make(config)` on Multi30k, English to French, by words.

    The vocabularies are counted and filled into the config; `arrange` may
    join captions anew for every epoch; `folder` lets the run resume.
    """
    pairs = corpus.load("train")
    source, target = vocabularies(pairs)
    torch.manual_seed(settings.seed)
    config = replace(config, source_vocab=len(source), target_vocab=len(target))
    model = make(config).to(training.device())
    progress = training.train(
        model,
        lambda epoch: arrange(pairs, epoch),
        source,
        target,
        settings,
        folder,
        validator(arrange(corpus.load("val"), 0), source, target),
    )
    return model, source, target, progress


def said(
    model: Translator,
    tests: Sequence[Pair],
    source: Vocabulary,
    target: Vocabulary,
    width: int = 1,
) -> list[list[str]]:
    """The translations, greedy or with a beam."""
    found = translate(model, [p.source for p in tests], source, target, width)
    return [words for words, _ in found]


def score(
    model: Translator,
    tests: Sequence[Pair],
    source: Vocabulary,
    target: Vocabulary,
    width: int = 1,
) -> dict[str, float]:
    """BLEU with its interval, greedy or with a beam."""
    words = said(model, tests, source, target, width)
    return metrics.bleu(words, [p.target for p in tests], resamples=1000)


def over_seeds(runs: list[dict]) -> dict:
    """Mean and spread of runs that differ in their seed, and the runs.

    Their translations, `said`, stay out: they are long, and can be made anew.
    """
    runs = [{k: v for k, v in run.items() if k != "said"} for run in runs]
    scores = [each["greedy"]["bleu"] for each in runs]
    return {
        "bleu": mean(scores),
        "spread": stdev(scores) if len(scores) > 1 else None,
        "low": runs[0]["greedy"]["low"],
        "high": runs[0]["greedy"]["high"],
        "beam_bleu": mean(each["beam"]["bleu"] for each in runs),
        "parameters": runs[0]["parameters"],
        "runs": runs,
    }
