"""How many pairs does one matrix hold, and can a key be bound again?

Three tests of the sum rule, the delta rule, positive features (elu + 1) and
softmax. *Given*: keys and values are random directions in 32 dimensions, and
nothing is trained; stored once, then all keys are asked, and an answer counts
as right if the true value is nearer to it than any other that was stored.
*Once*: the maps of keys, queries and values are learned, with d_k = 8; 48
pairs, each key once. *Again*: 48 pairs with 16 keys, each bound three times;
the last value is asked. There softmax may also be told the position of a pair.
A model of the last two has an attempt at each of two rates, of which its last
training loss keeps one. Writes records/capacity.json. Needs no corpus. The same
tests with a decay are `lookback.experiments.decay`.

    python -m lookback.experiments.capacity
    python -m lookback.experiments.capacity --only given
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.experiments.runs import campaign
from lookback.fastweights import (
    delta_weights,
    elu_feature_map,
    linear_attention,
)
from lookback.lab.significance import mean_and_spread
from lookback.scores import unit

RULES = ("sum", "delta", "positive", "softmax")
GATED = ("decay", "gated delta")  # the first two with a decay
D, STORED, DRAWS = 32, (8, 16, 32, 64, 128), 100  # given
SHARP = 16.0  # softmax's β, for unit keys
BETAS = (1.0, 0.5, 0.1)  # of the delta rule, given
PAIRS, BOUND, VALUES = 48, 3, 48  # learned: pairs, times each key is bound
D_K, WIDE, D_V = 8, 16, 32
UPDATES, BATCH, RATES, TESTS = 600, 16, (3e-2, 1e-1), 500
SEEDS = 5


def taken(
    rule: str,
    query: Tensor,
    key: Tensor,
    beta: Tensor,
    sharp: float,
    keep: Tensor | float = 1.0,
) -> Tensor:
    """What each query's answer takes of each value, [batch, target, source].

    Softmax has the strength `sharp`. The other rules but `positive` are given
    keys of length 1. In `decay` and `gated delta` each pair that follows
    multiplies what is there by `keep`.
    """
    if rule == "softmax":
        return torch.softmax(sharp * query @ key.mT, -1)
    if rule == "positive":
        key, query = elu_feature_map(key), elu_feature_map(query)
        return linear_attention(query, key, key)[1]
    if rule in ("sum", "decay"):
        weights = query @ key.mT * beta[..., None, :]
    else:
        weights = delta_weights(query, key, beta)
    if rule in GATED:
        age = torch.arange(key.shape[-2], dtype=key.dtype).flip(0)
        weights = weights * keep**age
    return weights


def nearest(answer: Tensor, value: Tensor) -> Tensor:
    """Which stored value, all being of length 1, is nearest: [batch, n]."""
    return (answer @ value.mT).argmax(-1)


@torch.no_grad()
def given(seed: int, folder: Path) -> dict:
    """Random keys, nothing trained: the share that is right, and by age."""
    torch.manual_seed(seed)
    rows = {}
    for n in STORED:
        key, value = unit(torch.randn(2, DRAWS, n, D, dtype=torch.float64))
        row = {}
        for rule in RULES:
            for beta in BETAS if rule == "delta" else (1.0,):
                full = torch.full(key.shape[:2], beta, dtype=torch.float64)
                weights = taken(rule, key, key, full, SHARP)
                name = rule if beta == 1 else f"{rule} {beta}"
                row[name] = score(weights, value)
        rows[str(n)] = row
    return {"stored": rows}


def score(weights: Tensor, value: Tensor) -> dict[str, float]:
    """The share of answers that is right, by age too, and how far off."""
    n = value.shape[-2]
    answer = weights @ value
    hit = (nearest(answer, value) == torch.arange(n)).double()
    quarter = max(1, n // 4)
    return {
        "right": float(hit.mean()),
        "oldest": float(hit[:, :quarter].mean()),
        "newest": float(hit[:, -quarter:].mean()),
        "error": float((answer - value).norm(dim=-1).mean()),
    }


class Pairs(nn.Module):
    """Learned maps around a rule: symbols in, logits of symbols out."""

    def __init__(self, rule: str, keys: int, d_k: int, places: bool):
        super().__init__()
        self.rule, self.sharp = rule, d_k**-0.5
        self.key = nn.Embedding(keys, d_k)
        self.query = nn.Embedding(keys, d_k)
        self.value = nn.Embedding(VALUES, D_V)
        self.strength = nn.Parameter(torch.full((), 2.0))  # β = σ of it
        gate = torch.full((), 4.0)  # α = σ of it
        self.keep = nn.Parameter(gate) if rule in GATED else None
        self.places = nn.Embedding(PAIRS, d_k) if places else None
        self.output = nn.Linear(D_V, VALUES)

    def forward(self, keys: Tensor, values: Tensor, asked: Tensor) -> Tensor:
        """Logits of each asked key's value; all are [batch, …] of symbols."""
        key, query = self.key(keys), self.query(asked)
        if self.places is not None:
            key = key + self.places.weight
        if self.rule in ("sum", "delta", *GATED):
            key, query = unit(key), unit(query)
        beta = self.strength.sigmoid().expand(keys.shape)
        keep = 1.0 if self.keep is None else self.keep.sigmoid()
        weights = taken(self.rule, query, key, beta, self.sharp, keep)
        return self.output(weights @ self.value(values))


def task(batch: int, bound: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Keys and values in their order, what is asked, and what is right.

    Each key is bound `bound` times; the last value counts.
    """
    count = PAIRS // bound
    order = torch.rand(batch, PAIRS).argsort(-1)
    keys = order % count
    values = torch.randint(VALUES, (batch, PAIRS))
    asked = torch.arange(count).expand(batch, count)
    same = keys[:, None] == asked[:, :, None]  # [batch, asked, pairs]
    last = (same * torch.arange(1, PAIRS + 1)).argmax(-1)
    return keys, values, asked, values.gather(1, last)


def learned(
    rule: str, bound: int, d_k: int, places: bool, seed: int, folder: Path
) -> dict:
    """Train at each rate, and keep the attempt that ended lowest."""
    attempts = []
    for rate in RATES:
        torch.manual_seed(seed)
        model = Pairs(rule, PAIRS // bound, d_k, places)
        adam = torch.optim.Adam(model.parameters(), rate)
        falling = torch.optim.lr_scheduler.LinearLR(adam, 1, 0, UPDATES)
        losses = []
        for _ in range(UPDATES):
            keys, values, asked, truth = task(BATCH, bound)
            logits = model(keys, values, asked)
            loss = F.cross_entropy(logits.flatten(0, 1), truth.flatten())
            adam.zero_grad()
            loss.backward()
            adam.step()
            falling.step()
            losses.append(float(loss.detach()))
        with torch.no_grad():
            keys, values, asked, truth = task(TESTS, bound)
            right = model(keys, values, asked).argmax(-1) == truth
        one = {
            "rate": rate,
            "loss": mean(losses[-50:]),
            "right": float(right.double().mean()),
            "beta": float(model.strength.detach().sigmoid()),
        }
        if model.keep is not None:
            one["alpha"] = float(model.keep.detach().sigmoid())
        attempts.append(one)
    best = min(attempts, key=lambda one: one["loss"])
    return best | {"attempts": attempts}


LEARNED: dict[str, tuple[str, int, int, bool]] = {
    **{f"once, {rule}": (rule, 1, D_K, False) for rule in RULES},
    **{f"again, {rule}": (rule, BOUND, D_K, False) for rule in RULES},
    "again, delta, wide": ("delta", BOUND, WIDE, False),
    "again, softmax, places": ("softmax", BOUND, D_K, True),
}


def summary(found: dict[str, list[dict]]) -> dict:
    """Over the seeds: what is right, given and learned."""
    runs = found["given"]
    first = runs[0]["stored"]
    results = {
        "given": {
            n: {
                rule: {
                    what: mean_and_spread(
                        [run["stored"][n][rule][what] for run in runs]
                    )
                    for what in numbers
                }
                for rule, numbers in row.items()
            }
            for n, row in first.items()
        }
    }
    for name, runs in found.items():
        if name != "given":
            results[name] = mean_and_spread([run["right"] for run in runs]) | {
                "beta": mean_and_spread([run["beta"] for run in runs]),
                "rates": [run["rate"] for run in runs],
            }
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    parts: dict[str, Callable[[int, Path], dict]] = {"given": given}
    parts |= {name: partial(learned, *how) for name, how in LEARNED.items()}
    campaign(
        "capacity",
        __doc__,
        parts,
        summary,
        config={
            "d": D,
            "stored": list(STORED),
            "draws": DRAWS,
            "sharp": SHARP,
            "betas": list(BETAS),
            "pairs": PAIRS,
            "bound": BOUND,
            "values": VALUES,
            "d_k": D_K,
            "wide": WIDE,
            "d_v": D_V,
            "updates": UPDATES,
            "batch": BATCH,
            "rates": list(RATES),
            "tests": TESTS,
        },
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
