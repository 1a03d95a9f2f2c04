"""How good do the book's machines get with subwords and tuning of their own?

Not a rung of the ladder: here everything may change. A narrow, deep Transformer
(d_model 128, 4 + 4 layers) and an RNNsearch of about its number of weights,
joint subwords, more epochs, the weights of the last of them averaged, beam
search. Of two dropouts each machine has the one with the lower validation loss.
English to French and German to English on Multi30k, three test sets. Writes
records/tuned.json and the weights of the French ones.

    python -m lookback.experiments.tuned
    python -m lookback.experiments.tuned --only de-en  # one part
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from lookback.experiments.runs import (
    Fitted,
    campaign,
    first,
    fit,
    losses,
    score,
)
from lookback.experiments.tuned_baselines import lowest
from lookback.lab import corpus, training, weights
from lookback.lab.subwords import Subwords
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer, TransformerConfig

PIECES = 6000
SIZES = {"d_model": 128, "heads": 4, "layers": 4, "d_ff": 512}
WIDTHS = {"embed": 128, "hidden": 128, "align": 128, "maxout": 128}
DROPOUTS = (0.2, 0.3)
KEEP = 5  # epochs averaged
TRAINING = training.TrainingConfig(
    epochs=60, batch=256, learning_rate=5e-3, warmup=1000, patience=60
)


def make(dropout: float, *vocabularies: int) -> Transformer:
    """Narrow and deep."""
    return Transformer(
        TransformerConfig(
            *vocabularies, **SIZES, dropout=dropout, norm="pre", tied="all"
        )
    )


def search(dropout: float, *vocabularies: int) -> RNNsearch:
    """As many weights in the machine of 2014, most of them embeddings."""
    return RNNsearch(RNNsearchConfig(*vocabularies, **WIDTHS, dropout=dropout))


PARTS = {
    "en-fr": (make, "en-fr"),
    "de-en": (make, "de-en"),
    "rnnsearch": (search, "en-fr"),
    "rnnsearch, de-en": (search, "de-en"),
}


def trained(part: str, dropout: float, seed: int, folder: Path) -> Fitted:
    """One machine with one dropout, in one direction."""
    build, direction = PARTS[part]
    languages = direction.split("-")
    pairs = corpus.load("train", *languages)
    pieces = Subwords.learn((side for pair in pairs for side in pair), PIECES)
    return fit(
        partial(build, dropout),
        pieces,
        pieces,
        lambda epoch: pairs,
        losses(corpus.load("val", *languages), pieces, pieces),
        replace(TRAINING, seed=seed),
        folder / f"dropout {dropout}",
        KEEP,
    )


def run(part: str, seed: int, folder: Path) -> dict:
    """Train with each dropout, and test the one that validation chooses;
    `folder` lets it resume."""
    tried = {each: trained(part, each, seed, folder) for each in DROPOUTS}
    trials = {each: lowest(fitted.outcome) for each, fitted in tried.items()}
    dropout = min(trials, key=trials.__getitem__)
    fitted, languages = tried[dropout], PARTS[part][1].split("-")

    def scores(*splits: str) -> dict:
        return {
            split: {
                "greedy": score(fitted, corpus.load(split, *languages)),
                "beam": score(fitted, corpus.load(split, *languages), width=5),
            }
            for split in splits
        }

    best = scores(corpus.TESTS[0])
    last = len(fitted.outcome["curve"])
    averaged = range(max(1, last - KEEP + 1), last + 1)
    training.average(fitted.model, folder / f"dropout {dropout}", averaged)
    if seed == 0 and languages[-1] == "fr":
        weights.save(f"tuned-{part}", *fitted[:3])
    return {
        **fitted.outcome,
        "trials": trials,
        "averaged": len(averaged),
        "best": best,
        "tests": scores(*corpus.TESTS),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "tuned",
        __doc__,
        {each: partial(run, each) for each in PARTS},
        lambda found: {each: first(runs) for each, runs in found.items()},
        config={**asdict(TRAINING), "pieces": PIECES, "keep": KEEP},
        data={
            **corpus.digests("en", "fr", tests=corpus.TESTS),
            **corpus.digests("de", "en", tests=corpus.TESTS),
        },
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
