"""Can a translator look back without a softmax, at one matrix?

A small translator that looks back by softmax, and the same with another rule
in its place: positive features (linear attention), the sum rule, the delta
rule. The same sentences of the phrasebook, the same training, three seeds; keys
of 16 numbers, and of 64. Then new sentences of one clause to eight (training
has up to 30 words), and the alignments, whose truth is known. Writes
records/linear_cross_attention.json. Needs no corpus.

    python -m lookback.experiments.linear_cross_attention
    python -m lookback.experiments.linear_cross_attention --only delta --seeds 1
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from operator import itemgetter
from pathlib import Path

from lookback.experiments import alignment
from lookback.experiments.alignment import (
    HELD_OUT,
    by_clauses,
    error_of_diagonal,
    fit_phrases,
    plain,
    scores,
)
from lookback.experiments.runs import campaign
from lookback.lab import training
from lookback.lab.significance import mean_and_spread
from lookback.linear_cross_attention import (
    RULES,
    LinearTranslator,
    LinearTranslatorConfig,
)

PAIRS, TESTS = 6000, 500
CLAUSES, LONG = (1, 2, 4, 8), 100  # sentences of each number of clauses
TRAINING = replace(alignment.TRAINING, epochs=6, learning_rate=5e-3, warmup=100)
SIZES = LinearTranslatorConfig(0, 0, embed=64, hidden=64, d_k=16, maxout=64)


WIDE = 64  # d_k, where the matrix is to have room
KINDS = {rule: (rule, SIZES.d_k) for rule in RULES} | {
    f"{rule}, wide": (rule, WIDE) for rule in RULES
}


def make(kind: str, source_vocab: int, target_vocab: int) -> LinearTranslator:
    """The untrained translator of `KINDS`."""
    sizes = {"source_vocab": source_vocab, "target_vocab": target_vocab}
    rule, d_k = KINDS[kind]
    return LinearTranslator(replace(SIZES, **sizes, rule=rule, d_k=d_k))


def run(kind: str, seed: int, folder: Path) -> dict:
    """Train one translator; test it on new sentences, long ones and links."""
    settings = replace(TRAINING, seed=seed)
    counts = PAIRS, TESTS, HELD_OUT
    fitted, tests = fit_phrases(partial(make, kind), settings, folder, counts)
    model, source, target, outcome = fitted
    asked = plain(tests)
    return {
        **outcome,
        "sentences": len(tests),
        "loss": training.validation_loss(model, asked, source, target),
        **scores(fitted, tests),
        "aer_diagonal": error_of_diagonal(tests),
        "by_clauses": by_clauses(fitted, CLAUSES, LONG),
    }


def over(runs: list[dict], number: Callable[[dict], float]) -> dict:
    """A number's mean over the seeds, its spread, and each."""
    return mean_and_spread([number(run) for run in runs])


def summary(found: dict[str, list[dict]]) -> dict:
    """Every run; of each kind the means over its seeds, and spreads."""
    return {
        kind: {
            "runs": runs,
            "parameters": runs[0]["parameters"],
            **{k: over(runs, itemgetter(k)) for k in ("loss", "bleu", "aer")},
            "clauses": {
                str(row["clauses"]): {
                    "words": row["words"],
                    **over(runs, lambda run, i=i: run["by_clauses"][i]["bleu"]),
                }
                for i, row in enumerate(runs[0]["by_clauses"])
            },
        }
        for kind, runs in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "linear_cross_attention",
        __doc__,
        {kind: partial(run, kind) for kind in KINDS},
        summary,
        config={
            **asdict(TRAINING),
            "pairs": PAIRS,
            "tests": TESTS,
            "clauses": list(CLAUSES),
            "long": LONG,
            "embed": SIZES.embed,
            "hidden": SIZES.hidden,
            "d_k": SIZES.d_k,
        },
        seeds=3,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
