"""Does the soft search find which word translates which?

RNNsearch is trained on the phrasebook, whose sentences come with their true
alignments, and reads 1,000 new ones. For each French word the English word
with the largest weight counts as its link. The Transformer is trained and asked
alike, and so are two rungs of the ladder, RNNsearch (`additive`) and the dot
product (`dot`), which differ in one thing. Writes records/alignment.json and
RNNsearch's weights. Needs no corpus.

    python -m lookback.experiments.alignment
    python -m lookback.experiments.alignment --only additive dot --seeds 3
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from statistics import mean

from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.experiments.runs import campaign, fit, said, validator
from lookback.lab import metrics, phrasebook, training, weights
from lookback.lab.corpus import Pair
from lookback.lab.decoding import force
from lookback.ladder import RUNGS
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer, TransformerConfig
from lookback.translator import Translator
from lookback.vocabulary import Vocabulary

TRAINING = training.TrainingConfig(epochs=12, learning_rate=3e-3)
PAIRS, TESTS, HELD_OUT = 12_000, 1_000, 200
WIDTH = 64
RECURRENT = {"embed": WIDTH, "hidden": WIDTH, "maxout": WIDTH}
STACK = {"d_model": WIDTH, "d_ff": 4 * WIDTH}
# The chapters' machines at the phrasebook's size.
MAKE: dict[str, Callable[[int, int], Translator]] = {
    "bottleneck": lambda s, t: Bottleneck(BottleneckConfig(s, t, **RECURRENT)),
    "rnnsearch": lambda s, t: RNNsearch(
        RNNsearchConfig(s, t, align=WIDTH, **RECURRENT)
    ),
    "transformer": lambda s, t: Transformer(TransformerConfig(s, t, **STACK)),
}


def diagonal(source: list[str], target: list[str]) -> set[tuple[int, int]]:
    """Each target word linked to the source word at the same fraction."""
    last_in, last_out = len(source) - 1, max(1, len(target) - 1)
    return {(round(i * last_in / last_out), i) for i in range(len(target))}


def run(
    seed: int,
    folder: Path,
    make: Callable[[int, int], Translator],
    save: str | None = None,
) -> dict:
    """Train on the phrasebook, then compare links with the true ones.

    `make(source_vocab, target_vocab)` is the model; the weights of the first
    seed are kept under the name `save`.
    """
    training_set = phrasebook.sample(PAIRS, seed=0)
    known = {tuple(each.source) for each in training_set}
    tests = [
        each
        for each in phrasebook.sample(TESTS, seed=1)
        if tuple(each.source) not in known
    ]
    source, target = (Vocabulary(words) for words in phrasebook.words())
    pairs = [Pair(each.source, each.target) for each in training_set]
    held_out = phrasebook.sample(HELD_OUT, seed=2)
    fitted = fit(
        make,
        source,
        target,
        lambda epoch: pairs,
        validator([Pair(p.source, p.target) for p in held_out], source, target),
        replace(TRAINING, seed=seed),
        folder,
    )
    gold = [each.alignment for each in tests]
    sentences = [Pair(p.source, p.target) for p in tests]
    looks = force(fitted.model, sentences, source, target)
    found = [metrics.links(look[:-1]) for look in looks]
    references = [each.target for each in tests]
    if save and seed == 0:
        weights.save(save, *fitted[:3])
    return {
        "sentences": len(tests),
        "aer": metrics.alignment_error_rate(found, gold),
        "aer_diagonal": metrics.alignment_error_rate(
            [diagonal(each.source, each.target) for each in tests], gold
        ),
        "bleu": metrics.bleu(said(fitted, sentences), references)["bleu"],
        **fitted.outcome,
    }


def rung(name: str) -> Callable[[int, int], Translator]:
    """A rung of the ladder at the phrasebook's size."""
    wide = RUNGS[name]
    return replace(wide, parts=replace(wide.parts, width=WIDTH)).make


PARTS = {
    "rnnsearch": partial(run, make=MAKE["rnnsearch"], save="phrasebook"),
    "transformer": partial(run, make=MAKE["transformer"]),
    "additive": partial(run, make=rung("rnnsearch")),
    "dot": partial(run, make=rung("dot")),
}


def summary(found: dict[str, list[dict]]) -> dict:
    """The mean error rate of each, and its runs."""
    return {
        name: {"aer": mean(run["aer"] for run in runs), "runs": runs}
        for name, runs in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "alignment",
        __doc__,
        PARTS,
        summary,
        config={**asdict(TRAINING), "pairs": PAIRS, "tests": TESTS},
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
