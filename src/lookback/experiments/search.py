"""What does the look back buy? Three models on Multi30k, English to French.

The fixed vector (Cho et al. 2014), the same with the source reversed
(Sutskever et al. 2014), and RNNsearch (Bahdanau et al. 2015): same data, same
loop, same budget, same sizes. Writes records/search.json and the weights of
the first seed.

    python -m lookback.experiments.search
    python -m lookback.experiments.search --only rnnsearch  # one part
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from statistics import mean

from lookback.experiments.runs import campaign, fit_captions, over_seeds, score
from lookback.lab import corpus, training, weights
from lookback.ladder import RUNGS

KINDS = ("bottleneck", "reversed", "rnnsearch")
TRAINING = training.TrainingConfig()
WEIGHTS = ("bottleneck", "rnnsearch")  # kept for the chapters


def run(kind: str, seed: int, folder: Path) -> dict:
    """Train and test one model; `folder` lets it resume."""
    settings = replace(TRAINING, seed=seed)
    fitted = fit_captions(RUNGS[kind].make, settings, folder)
    test = corpus.load("test_2016_flickr")
    answer = {
        **fitted.outcome,
        "greedy": score(fitted, test),
        "beam": score(fitted, test, width=5),
    }
    if seed == 0 and kind in WEIGHTS:
        weights.save(kind, *fitted[:3])
    return answer


def summary(found: dict[str, list[dict]]) -> dict:
    """Each model over its seeds, and what the two changes gained."""
    results = {
        kind: {
            "tokens_per_second": mean(r["tokens_per_second"] for r in runs),
            "train_seconds": mean(r["train_seconds"] for r in runs),
            **over_seeds(runs),
        }
        for kind, runs in found.items()
    }
    bleu = {kind: each["bleu"] for kind, each in results.items()}
    return {
        **results,
        "gain": bleu["rnnsearch"] - bleu["bottleneck"],
        "gain_of_reversal": bleu["reversed"] - bleu["bottleneck"],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "search",
        __doc__,
        {kind: partial(run, kind) for kind in KINDS},
        summary,
        config=asdict(TRAINING),
        data=corpus.digests("en", "fr"),
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
