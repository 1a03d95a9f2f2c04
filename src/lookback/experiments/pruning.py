"""How many of the Transformer's heads does a translation need?

Each head of the trained model is pruned alone, by `heads.prune`, and the
validation loss measured; then all heads of one attention sublayer, for each
of the nine, with BLEU on the same captions. Last, heads go for good, one
after the other, the least harmful first, and BLEU is measured on the way.
After every removal the harm of those left may have changed, so the next
candidates are measured anew before one goes. Michel, Levy and Neubig (2019,
arXiv 1905.10650) asked this of a larger model. Intervals are of the paired
bootstrap over captions. Writes records/pruning.json.

    python -m lookback.experiments.pruning
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from lookback.experiments.runs import campaign
from lookback.heads import MultiHeadAttention, prune
from lookback.lab import corpus, metrics, significance, weights
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


@contextmanager
def pruned(model: Transformer, *which: Head) -> Iterator[None]:
    """Within it these heads are pruned."""
    attention = attentions(model)
    kept = {
        (head.kind, head.layer): attention[
            head.kind, head.layer
        ].W_O.weight.clone()
        for head in which
    }
    for head in which:
        prune(attention[head.kind, head.layer], head.head)
    try:
        yield
    finally:
        with torch.no_grad():
            for at, weight in kept.items():
                attention[at].W_O.weight.copy_(weight)


def silenced(
    model: Transformer, head: Head, measure: Callable[[], float]
) -> float:
    """What `measure` says while this one head is pruned."""
    with pruned(model, head):
        return measure()


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
def losses(
    model: Transformer, batches: Sequence[Batch]
) -> tuple[Tensor, Tensor]:
    """The summed loss and the words of each caption, both [captions].

    Teacher-forced, without label smoothing.
    """
    total, words = [], []
    for batch in batches:
        batch = batch.to(model.device)
        logits = model(batch.source, batch.target_in)
        each = F.cross_entropy(
            logits.mT, batch.target_out, ignore_index=PAD, reduction="none"
        )
        total.append(each.double().sum(1))
        words.append((batch.target_out != PAD).sum(1))
    return torch.cat(total).cpu(), torch.cat(words).cpu()


def loss(model: Transformer, batches: Sequence[Batch]) -> float:
    """Mean loss per target word."""
    total, words = losses(model, batches)
    return float(total.sum() / words.sum())


def interval(differences: Tensor) -> dict[str, float]:
    """The middle 95 % of what the bootstrap found."""
    low, high = differences.quantile(torch.tensor([0.025, 0.975]).double())
    return {"low": low.item(), "high": high.item()}


def gain(one: Tensor, two: Tensor) -> dict[str, float]:
    """What the second of two translations gains in BLEU; p; the interval."""
    _, times = significance.resamplings(len(one))
    return {
        "gain": significance.difference([one], [two]),
        "p": significance.paired_randomization_test([one], [two]),
        **interval(significance.bootstrap_differences(one, two, times)),
    }


def rows(
    model: Transformer,
    pairs: Sequence[Pair],
    source: Vocabulary,
    target: Vocabulary,
) -> Tensor:
    """What BLEU counts of each caption's greedy translation."""
    found = translate(model, [p.source for p in pairs], source, target)
    counted = metrics.counts([w for w, _ in found], [p.target for p in pairs])
    return significance.caption_rows(
        ",".join(" ".join(map(str, row)) for row in counted)
    )


def sublayers(
    model: Transformer,
    pairs: Sequence[Pair],
    source: Vocabulary,
    target: Vocabulary,
) -> dict:
    """All heads of one attention pruned at once, for each attention."""
    batches = batched(pairs, source, target)
    _, times = significance.resamplings(len(pairs))
    before, words = losses(model, batches)
    full = rows(model, pairs, source, target)
    found = []
    for kind, layer in tqdm(attentions(model), desc="each sublayer"):
        whole = [h for h in heads(model) if h[:2] == (kind, layer)]
        with pruned(model, *whole):
            after, _ = losses(model, batches)
            lame = rows(model, pairs, source, target)
        again = (times @ (after - before)) / (times @ words.double())
        found.append(
            {
                "kind": kind,
                "layer": layer,
                "harm": float((after - before).sum() / words.sum()),
                **interval(again),
                "bleu": significance.bleu(lame.sum(0)).item(),
                "step": gain(full, lame),
            }
        )
    return {"bleu": significance.bleu(full.sum(0)).item(), "without": found}


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
    validation = corpus.load("val")[:SENTENCES]
    batches = batched(validation, source, target)
    whole = sublayers(model, validation, source, target)
    full = rows(model, test, source, target)

    def measure() -> float:
        return loss(model, batches)

    def score() -> dict:
        now = rows(model, test, source, target)
        bleu = significance.bleu(now.sum(0)).item()
        return {"bleu": bleu, "step": gain(full, now)}

    before = measure()
    harm = {
        head: silenced(model, head, measure) - before
        for head in tqdm(heads(model), desc="each head alone")
    }
    single = [
        {**head._asdict(), "loss": before + rise, "harm": rise}
        for head, rise in harm.items()
    ]
    curve = [
        {
            "removed": 0,
            "loss": before,
            "bleu": significance.bleu(full.sum(0)).item(),
        }
    ]
    bar = tqdm(total=len(single), desc="one after the other")

    def removed(head: Head, value: float) -> None:
        row = {"removed": len(curve), **head._asdict(), "loss": value}
        if len(curve) % STEP == 0:
            row |= score()
        curve.append(row)
        bar.update()

    remove_one_by_one(model, harm, measure, removed)
    bar.close()
    return {
        "loss": before,
        "single": single,
        "sublayers": whole,
        "curve": curve,
    }


def summary(measured: dict) -> dict:
    """What the chapter quotes, read off the measurements."""
    single, curve = measured["single"], measured["curve"]
    harms = [row["harm"] for row in single]
    scored = [row for row in curve if "bleu" in row]
    by_kind = {
        kind: sum(r["harm"] for r in single if r["kind"] == kind)
        / sum(r["kind"] == kind for r in single)
        for kind in ("encoder", "decoder", "cross")
    }
    return {
        **measured,
        "heads": len(single),
        "bleu": scored[0]["bleu"],
        "bleu_without_any": scored[-1]["bleu"],
        "worst": max(single, key=lambda row: row["harm"]),
        "median_harm": median(harms),
        "harm_by_kind": by_kind,
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
