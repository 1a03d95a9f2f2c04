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

from torch import Tensor

from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.experiments.runs import Fitted, campaign, fit, said, validator
from lookback.lab import metrics, phrasebook, training, weights
from lookback.lab.corpus import Pair
from lookback.lab.decoding import force
from lookback.lab.grammar import Pair as Aligned
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


def plain(sentences: Sequence[Aligned]) -> list[Pair]:
    """The sentences without their alignments."""
    return [Pair(each.source, each.target) for each in sentences]


def fit_phrases(
    make: Callable[[int, int], Translator],
    settings: training.TrainingConfig,
    folder: Path,
    counts: tuple[int, int, int],
) -> tuple[Fitted, list[Aligned]]:
    """A model trained on the phrasebook, and new sentences to test it on.

    `make(source_vocab, target_vocab)` is the model; `counts` says how many
    sentences are drawn to train on, to test on and for the validation. Of the
    test those are left out that were trained on.
    """
    trained, tests, held_out = (
        phrasebook.sample(count, seed) for seed, count in enumerate(counts)
    )
    known = {tuple(each.source) for each in trained}
    pairs, held_out = plain(trained), plain(held_out)
    source, target = (Vocabulary(words) for words in phrasebook.words())
    fitted = fit(
        make,
        source,
        target,
        lambda epoch: pairs,
        validator(held_out, source, target),
        settings,
        folder,
    )
    return fitted, [each for each in tests if tuple(each.source) not in known]


def error(looks: Sequence[Tensor], tests: Sequence[Aligned]) -> float:
    """The alignment error rate of the largest weights."""
    found = [metrics.links(look[:-1]) for look in looks]
    gold = [each.alignment for each in tests]
    return metrics.alignment_error_rate(found, gold)


def error_of_diagonal(tests: Sequence[Aligned]) -> float:
    """The same of links that know nothing but the lengths."""
    return metrics.alignment_error_rate(
        [diagonal(each.source, each.target) for each in tests],
        [each.alignment for each in tests],
    )


def scores(fitted: Fitted, tests: Sequence[Aligned]) -> dict[str, float]:
    """BLEU and the alignment error rate on these sentences."""
    looks = force(fitted.model, plain(tests), fitted.source, fitted.target)
    truths = [each.target for each in tests]
    return {
        "bleu": metrics.bleu(said(fitted, plain(tests)), truths)["bleu"],
        "aer": error(looks, tests),
    }


def by_clauses(fitted: Fitted, counts: Sequence[int], size: int) -> list[dict]:
    """BLEU on `size` sentences of each number of clauses, and their lengths:
    in words, and of the translations as a share of the references'."""
    rows = []
    for count in counts:
        pairs = plain(phrasebook.sample(size, seed=3, clauses=count))
        truths, words = [pair.target for pair in pairs], said(fitted, pairs)
        rows.append(
            {
                "clauses": count,
                "words": mean(len(pair.source) for pair in pairs),
                "bleu": metrics.bleu(words, truths)["bleu"],
                "length": sum(map(len, words)) / sum(map(len, truths)),
            }
        )
    return rows


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
    settings = replace(TRAINING, seed=seed)
    counts = PAIRS, TESTS, HELD_OUT
    fitted, tests = fit_phrases(make, settings, folder, counts)
    if save and seed == 0:
        weights.save(save, *fitted[:3])
    return {
        "sentences": len(tests),
        "aer_diagonal": error_of_diagonal(tests),
        **scores(fitted, tests),
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
