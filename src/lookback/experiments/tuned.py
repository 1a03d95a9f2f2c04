"""How good does the book's Transformer get with subwords and tuning of its own?

Not a rung of the ladder: here everything may change. A narrow, deep model
(d_model 128, 4 + 4 layers), joint subwords, one matrix for source, target and
output, more dropout, more epochs, the weights of the last epochs averaged,
beam search. English to French and German to English on Multi30k. Beside it an
RNNsearch of about its number of weights, English to French, by the same recipe.
Writes records/tuned.json and the weights.

    python -m lookback.experiments.tuned
    python -m lookback.experiments.tuned --only de-en  # one part
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from lookback.experiments.runs import campaign, first, fit, score, validator
from lookback.lab import corpus, training, weights
from lookback.lab.subwords import Subwords
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer, TransformerConfig

PIECES = 6000
SIZES = {"d_model": 128, "heads": 4, "layers": 4, "d_ff": 512}
WIDTHS = {"embed": 128, "hidden": 128, "align": 128, "maxout": 128}
KEEP = 5  # epochs averaged
TRAINING = training.TrainingConfig(
    epochs=30, batch=128, learning_rate=3e-3, warmup=1000, patience=30
)


def make(*vocabularies: int) -> Transformer:
    """Narrow and deep."""
    return Transformer(
        TransformerConfig(
            *vocabularies, **SIZES, dropout=0.3, norm="pre", tied="all"
        )
    )


def search(*vocabularies: int) -> RNNsearch:
    """As many weights in the machine of 2014, most of them embeddings."""
    return RNNsearch(RNNsearchConfig(*vocabularies, **WIDTHS, dropout=0.3))


PARTS = {
    "en-fr": (make, "en-fr"),
    "de-en": (make, "de-en"),
    "rnnsearch": (search, "en-fr"),
}


def run(part: str, seed: int, folder: Path) -> dict:
    """Train and test one machine in one direction; `folder` lets it resume."""
    build, direction = PARTS[part]
    languages = direction.split("-")
    pairs = corpus.load("train", *languages)
    test = corpus.load("test_2016_flickr", *languages)
    pieces = Subwords.learn((side for pair in pairs for side in pair), PIECES)
    fitted = fit(
        build,
        pieces,
        pieces,
        lambda epoch: pairs,
        validator(corpus.load("val", *languages), pieces, pieces),
        replace(TRAINING, seed=seed),
        folder,
        KEEP,
    )
    best = {
        "greedy": score(fitted, test),
        "beam": score(fitted, test, width=5),
    }
    last = len(fitted.outcome["curve"])
    averaged = range(max(1, last - KEEP + 1), last + 1)
    training.average(fitted.model, folder, averaged)
    if seed == 0:
        weights.save(f"tuned-{part}", *fitted[:3])
    return {
        **fitted.outcome,
        "best": best,
        "averaged": len(averaged),
        "greedy": score(fitted, test),
        "beam": score(fitted, test, width=5),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "tuned",
        __doc__,
        {each: partial(run, each) for each in PARTS},
        lambda found: {each: first(runs) for each, runs in found.items()},
        config={**asdict(TRAINING), "pieces": PIECES, "keep": KEEP},
        data={**corpus.digests("en", "fr"), **corpus.digests("de", "en")},
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
