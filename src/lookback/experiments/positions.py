"""Can self-attention tell the order, and beyond the lengths it has seen?

A toy task with nothing in it but order: under every letter the model writes
the letter that stood before it. No letter occurs twice, so without positions
all the others are equally likely. One or two layers of self-attention with
each way of giving positions are trained on strings of 2 to LONGEST letters
and tested up to FARTHEST. Writes records/positions.json. Needs no corpus.

    python -m lookback.experiments.positions
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import mean

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.attention import causal
from lookback.experiments.runs import campaign
from lookback.lab import training
from lookback.layers import Embedding, SelfAttention
from lookback.residual import Sublayer

LONGEST, FARTHEST = 20, 60  # letters
LETTERS = 64  # 0 is padding, 1 the start; letters from 2
FIRST = 2
LENGTHS = (4, 8, 12, 16, 20, 24, 28, 32, 40, 50, 60)
SEEDS = 3
STEPS, BATCH, TESTS = 1200, 64, 100


@dataclass(frozen=True)
class ReaderConfig:
    """One way of giving positions."""

    positions: str = "sinusoidal"
    masked: bool = False  # causal: a letter sees those before it
    layers: int = 1
    d_model: int = 64
    heads: int = 2
    longest: int = FARTHEST + 1  # rows of the learned table
    shift: int = 0  # training strings begin anywhere from 0 to here


WAYS = {
    "none": ReaderConfig("none"),
    "none, masked, 1 layer": ReaderConfig("none", masked=True),
    "none, masked, 2 layers": ReaderConfig("none", masked=True, layers=2),
    "sinusoidal": ReaderConfig("sinusoidal"),
    "learned": ReaderConfig("learned"),
    "rotary": ReaderConfig("rope"),
    "sinusoidal, shifted": ReaderConfig(shift=FARTHEST - LONGEST),
    "learned, shifted": ReaderConfig("learned", shift=FARTHEST - LONGEST),
}


class Reader(nn.Module):
    """Self-attention over letters, and one guess under each."""

    def __init__(self, config: ReaderConfig):
        super().__init__()
        self.config = config
        d, rope = config.d_model, config.positions == "rope"
        self.embedding = Embedding(
            FIRST + LETTERS, d, config.positions, longest=config.longest
        )
        self.looks = nn.ModuleList(
            SelfAttention(d, config.heads, rope=rope)
            for _ in range(config.layers)
        )
        self.around = nn.ModuleList(
            Sublayer(d, dropout=0.0) for _ in range(config.layers)
        )
        self.output = nn.Linear(d, FIRST + LETTERS)

    def forward(
        self, letters: Int[Tensor, "batch length"], start: int = 0
    ) -> Float[Tensor, "batch length vocab"]:
        x = self.embedding(letters, start)
        mask = None
        if self.config.masked:
            mask = causal(letters.shape[1], letters.device)[None, None]
        for look, around in zip(self.looks, self.around, strict=True):
            x = around(x, lambda x, look=look: look(x, mask)[0])
        return self.output(x)


def strings(
    count: int, length: int, dice: torch.Generator
) -> Int[Tensor, "batch length"]:
    """The start sign and `length` letters, none of them twice."""
    order = torch.rand(count, LETTERS, generator=dice).argsort(1)
    return F.pad(order[:, :length] + FIRST, (1, 0), value=1)


def train(config: ReaderConfig, seed: int, device) -> Reader:
    """Cross-entropy over all letters; the rate falls to 0 on a line."""
    torch.manual_seed(seed)
    dice = torch.Generator().manual_seed(seed)
    model = Reader(config).to(device)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 100) * (1 - step / STEPS)
    )
    for _ in range(STEPS):
        length = int(torch.randint(2, LONGEST + 1, (), generator=dice))
        letters = strings(BATCH, length, dice).to(device)
        start = int(torch.randint(config.shift + 1, (), generator=dice))
        guess = model(letters, start)[:, 1:]
        loss = F.cross_entropy(guess.transpose(1, 2), letters[:, :-1])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def accuracy(model: Reader, length: int, device) -> dict[str, float]:
    """Share of right guesses: all, and beyond the lengths of training."""
    dice = torch.Generator().manual_seed(10_000 + length)
    letters = strings(TESTS, length, dice).to(device)
    right = model(letters)[:, 1:].argmax(-1) == letters[:, :-1]
    far = right[:, LONGEST:].float()
    return {
        "right": right.float().mean().item(),
        "far": far.mean().item() if far.numel() else None,
    }


def run(name: str, seed: int, folder: Path) -> dict:
    """Train one way, and test it on strings of every length."""
    device = training.device()
    model = train(WAYS[name], seed, device)
    return {"lengths": {str(n): accuracy(model, n, device) for n in LENGTHS}}


def summary(found: dict[str, list[dict]]) -> dict:
    """Mean, least and most over the seeds, for every way and length."""
    ways = {}
    for name, finished in found.items():
        runs = [each["lengths"] for each in finished]
        right = {n: [run[n]["right"] for run in runs] for n in runs[0]}
        ways[name] = {
            "right": {n: mean(shares) for n, shares in right.items()},
            "low": {n: min(shares) for n, shares in right.items()},
            "high": {n: max(shares) for n, shares in right.items()},
            "far": {
                n: mean(run[n]["far"] for run in runs)
                for n in runs[0]
                if int(n) > LONGEST
            },
            "runs": runs,
        }
    return {"lengths": list(LENGTHS), "longest": LONGEST, "ways": ways}


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "positions",
        __doc__,
        {name: partial(run, name) for name in WAYS},
        summary,
        config={
            **{name: asdict(way) for name, way in WAYS.items()},
            "steps": STEPS,
            "batch": BATCH,
            "tests": TESTS,
        },
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
