"""What the experiments share: where runs are kept, how they are validated.

A finished run leaves `result.json` in its folder under `runs/`, so that an
experiment that was interrupted, or split over several processes, goes on
where it stopped.
"""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from lookback.lab import metrics, records, training
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
