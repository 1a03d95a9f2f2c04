"""Associative recall with a decay, and with other features of elu + 1.

The tests of `capacity`, with its keys and its seeds. *Given*: the sum rule with
RetNet's fixed decay, and the delta rule with it (Gated DeltaNet's update);
elu + 1 with its features less their mean, by the sum rule; linear attention
with keys eight times as long. *Once*, *again*: the decay is learned, one number
for all pairs. Writes records/decay.json. Needs no corpus.

    python -m lookback.experiments.decay
    python -m lookback.experiments.decay --only given
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from lookback.experiments import capacity
from lookback.experiments.runs import campaign
from lookback.fastweights import elu_feature_map
from lookback.lab.significance import mean_and_spread
from lookback.scores import unit

DECAY = 1 - 2**-5  # of RetNet's first head
LONG = 8.0  # the length of a key
SEEDS = 5


def centred(key: Tensor) -> Tensor:
    """What the sum rule takes by elu + 1 less the mean of all features."""
    phi = elu_feature_map(key)
    phi = phi - phi.mean((0, 1))
    return phi @ phi.mT


@torch.no_grad()
def given(seed: int, folder: Path) -> dict:
    """Random keys, nothing trained: the share that is right, and by age."""
    torch.manual_seed(seed)
    rows = {}
    for n in capacity.STORED:
        shape = 2, capacity.DRAWS, n, capacity.D
        key, value = unit(torch.randn(shape, dtype=torch.float64))
        ones = torch.ones(key.shape[:2], dtype=torch.float64)
        long = LONG * key
        weights = {
            "centred": centred(key),
            "long": capacity.taken("positive", long, long, ones, 1.0),
        } | {
            rule: capacity.taken(rule, key, key, ones, 1.0, DECAY)
            for rule in capacity.GATED
        }
        rows[str(n)] = {
            name: capacity.score(one, value) for name, one in weights.items()
        }
    return {"stored": rows}


LEARNED: dict[str, tuple[str, int, int, bool]] = {
    "once, decay": ("decay", 1, capacity.D_K, False),
    "again, decay": ("decay", capacity.BOUND, capacity.D_K, False),
    "again, gated delta": ("gated delta", capacity.BOUND, capacity.D_K, False),
}


def summary(found: dict[str, list[dict]]) -> dict:
    """As `capacity`'s, and the decay that was learned."""
    results = capacity.summary(found)
    for name, runs in found.items():
        if name != "given":
            learned = mean_and_spread([run["alpha"] for run in runs])
            results[name]["alpha"] = learned
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    parts: dict[str, Callable[[int, Path], dict]] = {"given": given}
    parts |= {
        name: partial(capacity.learned, *how) for name, how in LEARNED.items()
    }
    campaign(
        "decay",
        __doc__,
        parts,
        summary,
        config={
            "d": capacity.D,
            "stored": list(capacity.STORED),
            "draws": capacity.DRAWS,
            "decay": DECAY,
            "long": LONG,
            "pairs": capacity.PAIRS,
            "bound": capacity.BOUND,
            "values": capacity.VALUES,
            "d_k": capacity.D_K,
            "d_v": capacity.D_V,
            "updates": capacity.UPDATES,
            "batch": capacity.BATCH,
            "rates": list(capacity.RATES),
            "tests": capacity.TESTS,
        },
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
