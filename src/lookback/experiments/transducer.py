"""Is the plan that was dropped worse than the one that was kept?

A transducer (`cursors`), the same without a path (`afresh`), the hard-coded
diagonal, RNNsearch, and soft search with its sum inside the softmax or
outside, trained on the phrasebook: as many sentences and, within 2 %, as many
parameters, as many epochs while the learning rate falls to 0, dropout at the
same places. Then new sentences of one clause to eight (training has up to 30
words), the alignments, whose truth is known, and the words that a monotonic
alignment might miss. Last, what a training step costs, at the ladder's
size. Writes records/transducer.json and the cursors' weights. Needs no corpus.

    python -m lookback.experiments.transducer
    python -m lookback.experiments.transducer --only cursors --seeds 3
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import mean, median

import torch
from torch import Tensor, nn

from lookback import ladder
from lookback.experiments import alignment
from lookback.experiments.alignment import (
    HELD_OUT,
    PAIRS,
    TESTS,
    by_clauses,
    error,
    fit_phrases,
    plain,
    scores,
)
from lookback.experiments.runs import Fitted, campaign
from lookback.lab import training, weights
from lookback.lab.corpus import Pair, collate
from lookback.lab.grammar import Pair as Aligned
from lookback.lab.significance import mean_and_spread
from lookback.latent_alignment import Afresh, Mixing, MixingConfig
from lookback.rnnsearch import RNNsearch
from lookback.serial import kept
from lookback.transducer import Transducer, TransducerConfig
from lookback.translator import Translator
from lookback.vocabulary import PAD, Vocabulary

EPOCHS = 16
TRAINING = replace(alignment.TRAINING, epochs=EPOCHS, patience=EPOCHS)
CLAUSES = (1, 2, 3, 4, 6, 8)
KINDS = ("plain", "back 1", "back 2", "back 3", "pronoun")
LONG = 200  # sentences of each number of clauses
PIECES, BATCH, ROUNDS = 3000, 32, 5
LENGTHS = (10, 20, 40, 80, 160)
SIZES = {"embed": 64, "hidden": 64, "dropout": 0.2}
MAXOUT = 78  # of the cursors, and of the diagonal
MAKE: dict[str, Callable[[int, int], Translator]] = {
    "cursors": lambda s, t: Transducer(
        TransducerConfig(s, t, maxout=MAXOUT, **SIZES)
    ),
    "afresh": lambda s, t: Afresh(TransducerConfig(s, t, maxout=68, **SIZES)),
    "diagonal": lambda s, t: diagonal(s, t),
    "rnnsearch": lambda s, t: dropping(alignment.MAKE["rnnsearch"](s, t)),
    "inside": lambda s, t: mixing(s, t, outside=False),
    "outside": lambda s, t: mixing(s, t, outside=True),
}


def mixing(source: int, target: int, outside: bool) -> Mixing:
    """Soft search at the phrasebook's size."""
    more = {"align": 64, "maxout": 55, "outside": outside}
    return Mixing(MixingConfig(source, target, **SIZES, **more))


def diagonal(source: int, target: int) -> ladder.Recurrent:
    """The ladder's diagonal at the phrasebook's size.

    Drawn by torch, as the others are, and not by `ladder.draw`; its maxout is
    as wide as the cursors', who have as many weights.
    """
    size, p = SIZES["hidden"], SIZES["dropout"]
    parts = replace(
        ladder.DIAGONAL,
        source_vocab=source,
        target_vocab=target,
        width=size,
        dropout=p,
    )
    model = ladder.Recurrent(parts)
    model.source_embedding = nn.Embedding(source, size, PAD)
    model.target_embedding = nn.Embedding(target, size, PAD)
    inputs = model.readout.maxout.in_features
    model.readout = ladder.DroppingReadout(inputs, MAXOUT, target, p)
    return model


def dropping(model: RNNsearch) -> RNNsearch:
    """The model, its readout dropping of the context, too, as the others do."""
    config, inputs = model.config, model.readout.maxout.in_features
    model.readout = ladder.DroppingReadout(
        inputs, config.maxout, config.target_vocab, config.dropout
    )
    return model


def posteriors(
    model: Transducer,
    pairs: Sequence[Pair],
    source: Vocabulary,
    target: Vocabulary,
) -> list[Tensor]:
    """Where each word was written, all of the translation being known."""
    found = []
    with torch.no_grad():
        for start in range(0, len(pairs), 100):
            part = pairs[start : start + 100]
            batch = collate(part, source, target).to(model.device)
            w = model.align(batch.source, batch.target_out).cpu()
            for row, pair in zip(w, part, strict=True):
                found.append(
                    row[: len(pair.target) + 1, : len(pair.source) + 1]
                )
    return found


def kinds(pair: Aligned) -> list[str]:
    """What each target word asks of an alignment that never goes back.

    "back 1", "back 2" or "back 3": all its source words stand to the left of
    one that an earlier word has translated, by one word, two, or more.
    "pronoun": *they* or *it*, whose gender is that of a noun said before.
    Else "plain".
    """
    found, furthest = [], -1
    for i in range(len(pair.target)):
        links = [j for j, linked in pair.alignment if linked == i]
        if any(pair.source[j] in ("they", "it") for j in links):
            found.append("pronoun")
        elif (back := furthest - max(links)) > 0:
            found.append(f"back {min(back, 3)}")
        else:
            found.append("plain")
        furthest = max(furthest, *links)
    return found


def by_kind(fitted: Fitted, pairs: Sequence[Aligned]) -> dict:
    """Of each kind of word: how many, and how many the model would say.

    The words before it are given: the right ones.
    """
    rows = {kind: {"words": 0, "right": 0} for kind in KINDS}
    for start in range(0, len(pairs), 100):
        part = pairs[start : start + 100]
        batch = collate(plain(part), fitted.source, fitted.target)
        batch = batch.to(fitted.model.device)
        with torch.no_grad():
            logits = fitted.model(batch.source, batch.target_in)
        right = (logits.argmax(-1) == batch.target_out).tolist()
        for pair, row in zip(part, right, strict=True):
            for kind, good in zip(kinds(pair), row, strict=False):
                rows[kind]["words"] += 1
                rows[kind]["right"] += good
    return rows


def run(name: str, seed: int, folder: Path) -> dict:
    """Train one model; test it on new sentences, long ones and links."""
    settings = replace(TRAINING, seed=seed)
    counts = PAIRS, TESTS, HELD_OUT
    fitted, tests = fit_phrases(MAKE[name], settings, folder, counts)
    model, source, target, _ = fitted
    asked = plain(tests)
    answer = {
        **fitted.outcome,
        "loss": training.validation_loss(model, asked, source, target),
        **scores(fitted, tests),
        "by_clauses": by_clauses(fitted, CLAUSES, LONG),
        "by_kind": by_kind(fitted, tests),
    }
    if name == "cursors":
        if seed == 0:
            weights.save("transducer", *fitted[:3])
        known = posteriors(model, asked, source, target)
        answer["aer_posterior"] = error(known, tests)
    return answer


def cost(seed: int, folder: Path) -> dict:
    """Seconds of a training step, and numbers kept for it, over the length.

    Sentences as long as their translations; the ladder's sizes and pieces.
    The machines take turns, so that they meet the same machine.
    """
    torch.manual_seed(seed)
    models = {
        name: ladder.RUNGS[name].make(PIECES, PIECES)
        for name in ("cursors", "rnnsearch")
    }
    rows = []
    for length in LENGTHS:
        words = torch.randint(4, PIECES, (2, BATCH, length))

        def step(model: Translator, words: Tensor = words) -> None:
            training.loss(model(words[0], words[1]), words[1]).backward()

        row = {"length": length, "seconds": {}, "kept": {}}
        spent = {name: [] for name in models}
        for _ in range(ROUNDS):
            for name, model in models.items():
                began = time.process_time()
                step(model)
                spent[name].append(time.process_time() - began)
        for name, model in models.items():
            row["seconds"][name] = median(spent[name])
            row["kept"][name] = kept(partial(model, words[0], words[1]))
        rows.append(row)
    return {"rows": rows}


def summary(found: dict[str, list[dict]]) -> dict:
    """Every run; of each machine the means over its seeds, and spreads."""

    def over(runs: list[dict], number: Callable[[dict], float]) -> dict:
        found = mean_and_spread([number(run) for run in runs])
        return {key: found[key] for key in ("mean", "spread")}

    return {
        name: {
            "runs": runs,
            "parameters": runs[0]["parameters"],
            **{
                each: over(runs, itemgetter(each))
                for each in ("loss", "bleu", "aer", "aer_posterior")
                if each in runs[0]
            },
            "clauses": {
                str(row["clauses"]): {
                    "words": row["words"],
                    "length": mean(r["by_clauses"][i]["length"] for r in runs),
                    **over(runs, lambda run, i=i: run["by_clauses"][i]["bleu"]),
                }
                for i, row in enumerate(runs[0]["by_clauses"])
            },
            "kinds": {kind: over(runs, partial(share, kind)) for kind in KINDS},
        }
        for name, runs in found.items()
        if name in MAKE
    } | {"cost": {"runs": found["cost"]}}


def share(kind: str, run: dict) -> float:
    """Of the words of this kind, how many the model would say."""
    return run["by_kind"][kind]["right"] / run["by_kind"][kind]["words"]


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "transducer",
        __doc__,
        {name: partial(run, name) for name in MAKE} | {"cost": cost},
        summary,
        config={**asdict(TRAINING), "pairs": PAIRS, "long": LONG},
        seeds=3,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
