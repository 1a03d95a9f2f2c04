"""What does attention without a softmax save, and what does Performer lose?

*speed*: one causal head of 64 numbers, 64 to 8,192 positions: softmax with its
table laid out, torch's fused kernel, and linear attention by pieces, in turn in
every round, so that a busy machine slows all alike; medians. With one thread on
a CPU the clock is the processor's time. *features*: attention by random
features against the softmax that they stand for, over their number and over
how large the scores are. Beside it stands what is lost if every word is simply
given the mean of all values. Writes records/linear_attention.json. Needs no
corpus.

    python -m lookback.experiments.linear_attention
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import mean, stdev

import torch
from torch import Tensor
from torch.nn import functional as F

from lookback.attention import attend, causal
from lookback.experiments.runs import campaign
from lookback.experiments.serial import crossing, in_turn
from lookback.fastweights import (
    draw_features,
    elu_feature_map,
    favor,
    linear_attention,
    linear_chunks,
)
from lookback.lab import training

D, SIZE = 64, 64  # of a head; of a piece
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
ROUNDS = 9
WORDS, NARROW = 64, 16  # of the look that random features stand in for
FEATURES = (16, 64, 256, 1024, 4096)
SCORES = (0.25, 0.5, 1.0, 2.0)  # standard deviation of q · k
DRAWS = 20


def by_pieces(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Linear attention with φ = elu + 1."""
    return linear_chunks(
        elu_feature_map(query), elu_feature_map(key), value, SIZE
    )


@torch.no_grad()
def speed(seed: int, folder: Path) -> dict:
    """Median seconds of each over the lengths, and where they cross."""
    where, rows = training.device(), []
    torch.manual_seed(seed)
    for n in LENGTHS:
        q, k, v = torch.randn(3, 1, n, D, device=where)
        mask = causal(n, where)
        fused = partial(F.scaled_dot_product_attention, is_causal=True)
        runs = {
            "softmax": partial(attend, q, k, v, mask),
            "fused": partial(fused, q[None], k[None], v[None]),
            "linear": partial(by_pieces, q, k, v),
        }
        rows.append(in_turn(runs, where, ROUNDS))
    seconds = {name: [row[name] for row in rows] for name in rows[0]}
    return {
        "seconds": seconds,
        "crossing": {
            name: crossing(LENGTHS, seconds[name], seconds["linear"])
            for name in ("softmax", "fused")
        },
        "ratio": {
            str(n): {
                name: seconds[name][i] / seconds["linear"][i]
                for name in ("softmax", "fused")
            }
            for i, n in enumerate(LENGTHS)
        },
    }


def apart(found: Tensor, truth: Tensor) -> float:
    """‖found − truth‖ / ‖truth‖."""
    return float((found - truth).norm() / truth.norm())


@torch.no_grad()
def features(seed: int, folder: Path) -> dict:
    """The error of random features, relative to what they stand for."""
    torch.manual_seed(seed)
    rows = {}
    for size in SCORES:
        scale = (size / NARROW**0.5) ** 0.5  # so that q · k varies by `size`
        shape = (DRAWS, WORDS, NARROW)
        q, k = scale * torch.randn(2, *shape, dtype=torch.float64)
        v = torch.randn(shape, dtype=torch.float64)
        truth = torch.softmax(q @ k.mT, -1) @ v
        row = {}
        for m in FEATURES:
            for name in ("independent", "orthogonal"):
                errors = []
                for i in range(DRAWS):
                    omega = draw_features(m, NARROW, name == "orthogonal")
                    found, _ = linear_attention(
                        favor(q[i], omega), favor(k[i], omega), v[i]
                    )
                    errors.append(apart(found, truth[i]))
                error = {"mean": mean(errors), "spread": stdev(errors)}
                row.setdefault(name, {})[str(m)] = error
        level = v.mean(1, keepdim=True).expand_as(v)
        each = [apart(level[i], truth[i]) for i in range(DRAWS)]
        row["mean of values"] = mean(each)
        rows[f"{size:g}"] = row
    return {"scores": rows}


def summary(found: dict[str, list[dict]]) -> dict:
    """Both, as they are."""
    [spent], [lost] = found["speed"], found["features"]
    return {
        "speed": {k: spent[k] for k in ("seconds", "crossing", "ratio")},
        "features": lost["scores"],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "linear_attention",
        __doc__,
        {"speed": speed, "features": features},
        summary,
        config={
            "d": D,
            "size": SIZE,
            "lengths": list(LENGTHS),
            "rounds": ROUNDS,
            "words": WORDS,
            "narrow": NARROW,
            "features": list(FEATURES),
            "scores": list(SCORES),
            "draws": DRAWS,
        },
        keep=False,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
