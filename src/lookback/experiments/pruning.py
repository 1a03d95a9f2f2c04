"""How many of the Transformer's heads does a translation need?

Each head of the trained model is silenced alone, by `heads.prune`, and the
validation loss measured. Then heads go for good, one after the other, the
least harmful first, and BLEU is measured on the way. After every removal the
harm of those left may have changed, so the next candidates are measured anew
before one goes. Michel, Levy and Neubig (2019, arXiv 1905.10650) asked this
of a larger model. Writes records/pruning.json.

    python -m lookback.experiments.pruning
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch
from tqdm import tqdm

from lookback.experiments.runs import campaign
from lookback.heads import MultiHeadAttention, prune
from lookback.lab import corpus, metrics, training, weights
from lookback.lab.corpus import Batch, Pair, collate
from lookback.lab.decoding import translate
from lookback.transformer import Transformer
from lookback.vocabulary import PAD, Vocabulary

SENTENCES, BATCH = 300, 100  # of validation, for every loss
CANDIDATES = 4  # heads that are measured anew before one goes
STEP = 4  # heads between two measurements of BLEU


class Head(NamedTuple):
    """One head: "encoder", "decoder" or "cross", its layer and its number."""

    kind: str
    layer: int
    head: int


def attentions(model: Transformer) -> dict[tuple[str, int], MultiHeadAttention]:
    """Every multi-head attention of the model, by its kind and layer."""
    return {
        **{("encoder", i): x.attention for i, x in enumerate(model.encoder)},
        **{("decoder", i): x.attention for i, x in enumerate(model.decoder)},
        **{("cross", i): x.cross for i, x in enumerate(model.decoder)},
    }


def heads(model: Transformer) -> list[Head]:
    """Every head of the model."""
    return [
        Head(kind, layer, head)
        for (kind, layer), each in attentions(model).items()
        for head in range(each.heads)
    ]


@torch.no_grad()
def silenced(
    model: Transformer, head: Head, measure: Callable[[], float]
) -> float:
    """What `measure` says while this one head is silent."""
    attention = attentions(model)[head.kind, head.layer]
    kept = attention.W_O.weight.clone()
    prune(attention, head.head)
    value = measure()
    attention.W_O.weight.copy_(kept)
    return value


def batched(
    pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary
) -> list[Batch]:
    """Batches of sentences of about one length."""
    ordered = sorted(pairs, key=lambda pair: len(pair.source))
    return [
        collate(ordered[i : i + BATCH], source, target)
        for i in range(0, len(ordered), BATCH)
    ]


@torch.no_grad()
def loss(model: Transformer, batches: Sequence[Batch]) -> float:
    """Mean loss per target word, teacher-forced, without label smoothing."""
    total = words = 0.0
    for batch in batches:
        batch = batch.to(model.device)
        logits = model(batch.source, batch.target_in)
        total += float(training.loss(logits, batch.target_out))
        words += int((batch.target_out != PAD).sum())
    return total / words


def remove_one_by_one(
    model: Transformer,
    harm: dict[Head, float],
    measure: Callable[[], float],
    removed: Callable[[Head, float], None],
) -> None:
    """Prune all heads, the least harmful first; `removed` is told of each.

    `harm` holds by how much the loss rises with each head silent. Before
    every removal the few that seemed to matter least are measured anew, and
    the best of them goes.
    """
    known, now = dict(harm), measure()
    while known:
        near = sorted(known, key=known.get)[:CANDIDATES]
        for head in near:
            known[head] = silenced(model, head, measure) - now
        head = min(near, key=known.get)
        prune(attentions(model)[head.kind, head.layer], head.head)
        now += known.pop(head)
        removed(head, now)


def measured(
    model: Transformer, source: Vocabulary, target: Vocabulary
) -> dict:
    """The harm of each head alone, and the curve of removing them all."""
    test = corpus.load("test_2016_flickr")
    batches = batched(corpus.load("val")[:SENTENCES], source, target)
    truths = [pair.target for pair in test]

    def measure() -> float:
        return loss(model, batches)

    def score() -> dict[str, float]:
        found = translate(model, [p.source for p in test], source, target)
        return metrics.bleu([words for words, _ in found], truths, 1000)

    before = measure()
    harm = {
        head: silenced(model, head, measure) - before
        for head in tqdm(heads(model), desc="each head alone")
    }
    single = [
        {**head._asdict(), "loss": before + rise, "harm": rise}
        for head, rise in harm.items()
    ]
    curve = [{"removed": 0, "loss": before, **score()}]
    bar = tqdm(total=len(single), desc="one after the other")

    def removed(head: Head, value: float) -> None:
        row = {"removed": len(curve), **head._asdict(), "loss": value}
        if len(curve) % STEP == 0:
            row |= score()
        curve.append(row)
        bar.update()

    remove_one_by_one(model, harm, measure, removed)
    bar.close()
    return {"loss": before, "single": single, "curve": curve}


def summary(measured: dict) -> dict:
    """What the chapter quotes, read off the measurements."""
    single, curve = measured["single"], measured["curve"]
    harms = [row["harm"] for row in single]
    scored = [row for row in curve if "bleu" in row]
    full = scored[0]
    within = [row for row in scored if row["bleu"] >= full["bleu"] - 1]
    by_kind = {
        kind: sum(r["harm"] for r in single if r["kind"] == kind)
        / sum(r["kind"] == kind for r in single)
        for kind in ("encoder", "decoder", "cross")
    }
    free = max(row["removed"] for row in within)
    return {
        **measured,
        "heads": len(single),
        "bleu": full["bleu"],
        "bleu_without_any": scored[-1]["bleu"],
        "harmless": sum(harm < 0.01 for harm in harms),
        "worst": max(single, key=lambda row: row["harm"]),
        "median_harm": median(harms),
        "harm_by_kind": by_kind,
        "within_a_point": free,
        "within_a_point_share": 100 * free / len(single),
    }


def run(seed: int, folder: Path) -> dict:
    """All that is measured of the trained model."""
    return measured(*weights.load("transformer", Transformer))


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "pruning",
        __doc__,
        {"transformer": run},
        lambda found: summary(found["transformer"][0]),
        config={
            "sentences": SENTENCES,
            "batch": BATCH,
            "candidates": CANDIDATES,
            "step": STEP,
        },
        data=corpus.digests("en", "fr"),
        keep=False,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
