"""What makes the hidden units of the trained Transformer fire?

Every caption of the test set is read and its true translation is written,
and at every position the hidden layer of each feed-forward layer is noted:
how many of its units are above zero, and for every unit that fires at 20
positions or more, the words at the 20 that excite it most.
Writes records/feedforward_memories.json.

    python -m lookback.experiments.feedforward_memories
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from lookback.experiments.runs import campaign
from lookback.lab import corpus, weights
from lookback.transformer import Transformer
from lookback.vocabulary import PAD

SPLIT, STRONGEST, BATCH = "test_2016_flickr", 20, 100


def fired(model, pairs, source, target) -> dict[str, tuple[Tensor, Tensor]]:
    """For each layer: its hidden units at every position, and the words."""
    layers = {
        f"{side}/{number}": layer.feedforward
        for side in ("encoder", "decoder")
        for number, layer in enumerate(getattr(model, side))
    }
    seen = {name: ([], []) for name in layers}
    now = {}
    hooks = [
        layer.W_1.register_forward_hook(
            lambda _, given, out, name=name: now.update({name: out.relu()})
        )
        for name, layer in layers.items()
    ]
    for start in tqdm(range(0, len(pairs), BATCH), unit="batch"):
        batch = corpus.collate(pairs[start : start + BATCH], source, target)
        batch = batch.to(model.device)
        with torch.no_grad():
            model(batch.source, batch.target_in)
        for name, (units, words) in seen.items():
            tokens = batch.source if "encoder" in name else batch.target_in
            units.append(now[name][tokens != PAD].half().cpu())
            words.append(tokens[tokens != PAD].cpu())
    for hook in hooks:
        hook.remove()
    return {
        name: (torch.cat(units), torch.cat(words))
        for name, (units, words) in seen.items()
    }


def alike(words: Tensor) -> Tensor:
    """For each column, the share of its commonest word."""
    counts = [Counter(column).most_common(1) for column in words.T.tolist()]
    return torch.tensor([each[0][1] for each in counts]) / len(words)


def measure(units: Tensor, words: Tensor) -> dict:
    """How often the units of one layer fire, and how alike their words are."""
    often = (units > 0).sum(0)
    kept = units[:, often >= STRONGEST]
    top = torch.cat(
        [part.float().topk(STRONGEST, 0).indices for part in kept.split(64, 1)],
        dim=1,
    )
    share = alike(words[top])
    generator = torch.Generator().manual_seed(0)
    chance = alike(
        words[torch.randint(len(words), top.shape, generator=generator)]
    )
    return {
        "positions": len(words),
        "units": units.shape[1],
        "active": float((units > 0).float().mean()),
        "never": int((often == 0).sum()),
        "seldom": int((often < STRONGEST).sum()),  # those among them
        "alike": float(share.mean()),
        "chance": float(chance.mean()),
        "one_word": float((share >= 0.8).float().mean()),
        "scattered": float((share <= 0.25).float().mean()),
        "shares": [
            int((share * STRONGEST).round().eq(n).sum())
            for n in range(1, STRONGEST + 1)
        ],
    }


def run(seed: int, folder: Path) -> dict:
    """What is measured of every layer."""
    model, source, target = weights.load("transformer", Transformer)
    found = fired(model, corpus.load(SPLIT), source, target)
    sides = {"encoder": [], "decoder": []}
    for name, (units, words) in found.items():
        sides[name.split("/")[0]].append(measure(units, words))
    return {"sides": sides}


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "feedforward_memories",
        __doc__,
        {"transformer": run},
        lambda found: found["transformer"][0]["sides"],
        config={"split": SPLIT, "strongest": STRONGEST, "batch": BATCH},
        data=corpus.digests("en", "fr"),
        keep=False,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
