"""Which of the Transformer's patches earn something here? Take one away.

The finished Transformer is trained again with each part missing in turn, or
exchanged for a later one, everything else equal, for half the epochs of
`search`. Two runs change nothing but the seed: what they differ by, chance can
do alone. Multi30k, English to French. Writes records/ablation.json.

    python -m lookback.experiments.ablation
    python -m lookback.experiments.ablation --only heads  # one part
    python -m lookback.experiments.ablation --record       # what is finished
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import torch

from lookback.experiments.runs import campaign, first, fit_captions, said
from lookback.lab import corpus, metrics, training
from lookback.lab.corpus import Pair, collate
from lookback.transformer import Transformer, TransformerConfig
from lookback.vocabulary import Vocabulary

FULL = TransformerConfig(0, 0)
TRAINING = training.TrainingConfig(epochs=5, patience=5)
# name: what is changed of the model, what of the training
CHANGES = {
    "full": ({}, {}),
    "seed 1": ({}, {"seed": 1}),
    "seed 2": ({}, {"seed": 2}),
    "positions": ({"positions": "none"}, {}),
    "residual": ({"residual": False}, {}),
    "norm": ({"norm": "none"}, {}),
    "feedforward": ({"d_ff": 0}, {}),
    "heads": ({"heads": 1}, {}),
    "depth": ({"layers": 1}, {}),
    "scale": ({"scaled": False}, {}),
    "tied": ({"tied": "none"}, {}),
    "smoothing": ({}, {"smoothing": 0.0}),
    "warmup": ({}, {"warmup": 0}),
    "dropout": ({"dropout": 0.0}, {}),
    "pre-norm": ({"norm": "pre"}, {}),
    "learned": ({"positions": "learned"}, {}),
    "rotary": ({"positions": "rotary"}, {}),
}


@torch.no_grad()
def largest_weights(
    model: Transformer,
    pairs: Sequence[Pair],
    source: Vocabulary,
    target: Vocabulary,
) -> dict[str, float]:
    """How sharp the looks are: the largest weight, mean over all of a kind.

    The encoder looks at the source and the decoder at the translation, each
    at its own side, and "cross" is the decoder's look at the source.
    """
    model.eval()
    found = {"encoder": [], "decoder": [], "cross": []}
    for pair in pairs:
        batch = collate([pair], source, target).to(model.device)
        states, encoder = model.read(batch.source, need_weights=True)
        memory = model.remember(states, batch.source)
        _, _, both = model.write(batch.target_in, memory, need_weights=True)
        kinds = (encoder, *zip(*both, strict=True))
        for seen, looks in zip(found.values(), kinds, strict=True):
            seen += [each.amax(dim=-1).flatten() for each in looks]
    return {kind: torch.cat(seen).mean().item() for kind, seen in found.items()}


def run(name: str, seed: int, folder: Path) -> dict:
    """Train and test one variant; `folder` lets it resume."""
    model_changes, training_changes = CHANGES[name]
    settings = replace(TRAINING, **{"seed": seed, **training_changes})

    def make(source_vocab: int, target_vocab: int) -> Transformer:
        sizes = {"source_vocab": source_vocab, "target_vocab": target_vocab}
        return Transformer(replace(FULL, **sizes, **model_changes))

    fitted = fit_captions(make, settings, folder)
    model, source, target, outcome = fitted
    torch.manual_seed(settings.seed)
    fresh = Transformer(model.config).to(training.device())
    test = corpus.load("test_2016_flickr")
    words, truths = said(fitted, test), [pair.target for pair in test]
    return {
        **outcome,
        "said": words,
        "greedy": metrics.bleu(words, truths, resamples=1000),
        "loss": outcome["curve"][outcome["best_epoch"] - 1]["loss"],
        "largest_weight": {
            kind: largest_weights(each, corpus.load("val"), source, target)
            for kind, each in (("untrained", fresh), ("trained", model))
        },
        "training": asdict(settings),
    }


def summary(found: dict[str, list[dict]]) -> dict:
    """Each variant beside the full model; the translations stay out."""
    truths = [pair.target for pair in corpus.load("test_2016_flickr")]
    words = {
        name: [run.pop("said") for run in runs] for name, runs in found.items()
    }
    return {
        name: {
            **metrics.compare(words["full"][0], words[name][0], truths),
            **first(runs),
        }
        for name, runs in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "ablation",
        __doc__,
        {name: partial(run, name) for name in CHANGES},
        summary,
        config=asdict(TRAINING),
        data=corpus.digests("en", "fr"),
        needed=["full"],
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
