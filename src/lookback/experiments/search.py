"""What does the look back buy? The chapters' machines, English to French.

The fixed vector (Cho et al. 2014), the same with the source reversed
(Sutskever et al. 2014), RNNsearch (Bahdanau et al. 2015) and the Transformer
(Vaswani et al. 2017) on Multi30k: same data, same loop, same budget. (When the
record was made the first three computed in fp32, the Transformer in bf16.) Each
is asked for single captions and for two to four joined ones, longer than
anything it was trained on. Writes records/search.json and, but for the reversed
one, the weights of the first seed.

    python -m lookback.experiments.search
    python -m lookback.experiments.search --only rnnsearch  # one part
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from statistics import mean

from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.experiments.runs import (
    campaign,
    fit_captions,
    over_seeds,
    said,
    score,
)
from lookback.lab import corpus, metrics, training, weights
from lookback.lab.significance import caption_rows, paired_randomization_test
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer, TransformerConfig
from lookback.translator import Translator

TRAINING = training.TrainingConfig()
MAKE: dict[str, Callable[[int, int], Translator]] = {
    "bottleneck": lambda s, t: Bottleneck(BottleneckConfig(s, t)),
    "reversed": lambda s, t: Bottleneck(BottleneckConfig(s, t, reverse=True)),
    "rnnsearch": lambda s, t: RNNsearch(RNNsearchConfig(s, t)),
    "transformer": lambda s, t: Transformer(TransformerConfig(s, t)),
}
WEIGHTS = ("bottleneck", "rnnsearch", "transformer")  # kept for the chapters
LONG = (2, 3, 4)  # captions joined


def run(kind: str, seed: int, folder: Path) -> dict:
    """Train and test one model; `folder` lets it resume."""
    settings = replace(TRAINING, seed=seed)
    fitted = fit_captions(MAKE[kind], settings, folder)
    test = corpus.load("test_2016_flickr")
    words, truths = said(fitted, test), [pair.target for pair in test]
    rows = metrics.counts(words, truths)
    if seed == 0 and kind in WEIGHTS:
        weights.save(kind, *fitted[:3])
    return {
        **fitted.outcome,
        "counts": ", ".join(" ".join(map(str, row)) for row in rows),
        "greedy": metrics.bleu(words, truths, resamples=1000),
        "beam": score(fitted, test, width=5),
        "long": {
            str(n): score(fitted, corpus.join(test, repeat(n))) for n in LONG
        },
    }


def significance(one: dict, other: dict) -> float:
    """p of two runs' difference in BLEU, by `paired_randomization_test`."""
    return paired_randomization_test(
        *([caption_rows(run["counts"])] for run in (one, other))
    )


def summary(found: dict[str, list[dict]]) -> dict:
    """Each model over its seeds, and what the two changes of 2014 gained."""
    results = {
        kind: {
            "tokens_per_second": mean(r["tokens_per_second"] for r in runs),
            "train_seconds": mean(r["train_seconds"] for r in runs),
            "joined": {
                str(n): mean(run["long"][str(n)]["bleu"] for run in runs)
                for n in LONG
            },
            **over_seeds(runs),
        }
        for kind, runs in found.items()
    }
    scores = {kind: each["bleu"] for kind, each in results.items()}
    return {
        **results,
        "gain": scores["rnnsearch"] - scores["bottleneck"],
        "gain_of_reversal": scores["reversed"] - scores["bottleneck"],
        "p_of_reversal": significance(
            found["bottleneck"][0], found["reversed"][0]
        ),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "search",
        __doc__,
        {kind: partial(run, kind) for kind in MAKE},
        summary,
        config=asdict(TRAINING),
        data=corpus.digests("en", "fr"),
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
