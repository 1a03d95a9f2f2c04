"""How many pictures does it take to read without being told what a picture is?

Letters of the book's own pen, 24 by 24 pixels. A Vision Transformer, the same
without positions, a convolution and a perceptron learn to tell the 26 letters
from few pictures or from many, for as many updates each, without any picture
made from another. Then the test's letters are moved, further than any that was
learned from. Three seeds, the same pictures for all.

    python -m lookback.experiments.pictures

writes records/pictures.json. Needs no corpus.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.experiments.families import curve, over_seeds, teach
from lookback.experiments.runs import campaign
from lookback.families import ViT, ViTConfig
from lookback.lab import pictures
from lookback.lab.training import device

SEEDS = 3
COUNTS = (600, 6_000)  # pictures to learn from
TESTS, HELD_OUT = 1_000, 1_000_000  # pictures; the seed they are drawn from
MOVES = (0, 1, 2, 3, 4, 6)  # pixels further than in training
UPDATES, BATCH, WARMUP = 500, 64, 50
RATE = 1e-3
LAYERS = 2


class Flat(nn.Sequential):
    """A perceptron: every pixel has a weight of its own."""

    def __init__(self):
        pixels = pictures.SIDE**2
        super().__init__(
            nn.Flatten(),
            nn.Linear(pixels, 160),
            nn.ReLU(),
            nn.Linear(160, 64),
            nn.ReLU(),
            nn.Linear(64, len(pictures.LETTERS)),
        )


class Convolution(nn.Sequential):
    """Three times: small filters that slide, and half of the pixels."""

    def __init__(self):
        parts: list[nn.Module] = [nn.Unflatten(1, (1, -1))]
        sizes = (1, 16, 32, 64)
        for few, many in zip(sizes, sizes[1:], strict=False):
            parts += [nn.Conv2d(few, many, 3, padding=1), nn.ReLU()]
            parts += [nn.MaxPool2d(2)]
        left = 64 * (pictures.SIDE // 8) ** 2
        parts += [nn.Flatten(), nn.Linear(left, 128), nn.ReLU()]
        super().__init__(*parts, nn.Linear(128, len(pictures.LETTERS)))


NETWORKS = {
    "ViT": lambda: ViT(ViTConfig(layers=LAYERS)),
    "no positions": lambda: ViT(ViTConfig(layers=LAYERS, positions=False)),
    "convolution": Convolution,
    "perceptron": Flat,
}


@lru_cache
def drawn(
    count: int, seed: int, move: float = 0.0, device: str = "cpu"
) -> pictures.Pictures:
    """Pictures, drawn once."""
    found = pictures.sample(count, seed, move)
    return pictures.Pictures(*(part.to(device) for part in found))


@torch.no_grad()
def score(model: nn.Module, move: float) -> float:
    """The share of the test's letters that it reads."""
    test = drawn(TESTS, HELD_OUT, move, str(device()))
    found = [model(some).argmax(1) for some in test.pixels.split(100)]
    return (torch.cat(found) == test.letters).float().mean().item()


def run(name: str, count: int, seed: int, folder: Path) -> dict:
    """One network, taught by so many pictures."""
    torch.manual_seed(seed)
    model = NETWORKS[name]().to(device())
    learned = drawn(max(COUNTS), seed, 0.0, str(device()))

    def loss(update: int) -> Tensor:
        some = torch.randint(count, (BATCH,)).to(device())
        logits = model(learned.pixels[some])
        return F.cross_entropy(logits.float(), learned.letters[some])

    losses = teach(model, loss, UPDATES, RATE, seed, folder, WARMUP)
    return {
        "weights": sum(part.numel() for part in model.parameters()),
        "curve": curve(losses),
        "right": score(model, 0.0),
        "moved": [score(model, float(move)) for move in MOVES]
        if count == max(COUNTS)
        else [],
    }


def summary(found: dict[str, list[dict]]) -> dict:
    """For each network and number of pictures the mean over the seeds."""
    results: dict = {name: {"right": {}} for name in NETWORKS}
    for part, runs in found.items():
        name, count = part.split(", ")
        results[name]["weights"] = runs[0]["weights"]
        results[name]["right"][count] = over_seeds([r["right"] for r in runs])
        if int(count) == max(COUNTS):
            moved = over_seeds([r["moved"] for r in runs])
            each = zip(map(str, MOVES), moved, strict=True)
            results[name]["moved"] = dict(each)
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "pictures",
        __doc__,
        {
            f"{name}, {count}": partial(run, name, count)
            for count in COUNTS
            for name in NETWORKS
        },
        summary,
        config={
            "counts": list(COUNTS),
            "tests": TESTS,
            "moves": list(MOVES),
            "updates": UPDATES,
            "batch": BATCH,
            "warmup": WARMUP,
            "rate": RATE,
            "layers": LAYERS,
        },
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
