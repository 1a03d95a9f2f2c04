"""What do attention weights cost, by the additive score and by a product?

Both get the same queries and keys and the same two matrices, so that only
the score differs, v · tanh(W q + U k) or (W q) · (U k) / √d; a softmax over
the keys follows either. One sentence with n words on each side. The two are
timed in turn, and each runs once untimed before it is timed: it finds the
memory as it left it itself, and not as the other did. On a CPU the times are
those of the processor, which do not depend on how busy the machine is, and
`system` is the part of them that the operating system took, for the most part
to hand out memory. `kept` is what the forward pass leaves in
memory for the backward pass, in bytes, the inputs and the matrices not
counted: n²d + n² numbers, or 2nd + n². Writes records/scores.json.

    python -m lookback.experiments.scores
"""

import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from lookback.experiments.runs import campaign
from lookback.lab import training
from lookback.scores import additive, scaled_dot

LENGTHS = (16, 32, 64, 128, 256, 512)
WIDTHS = (64, 256)  # d = align
BUDGET = 3.0  # seconds of measuring for each length and width
FEWEST, MOST = 7, 200  # rounds


def by_sum(query, key, W, U, v) -> Tensor:
    """Attention weights by v · tanh(W q + U k)."""
    return additive(query, key, W, U, v).softmax(-1)


def by_product(query, key, W, U, v) -> Tensor:
    """Attention weights by (W q) · (U k) / √d; v is not needed."""
    return scaled_dot(query @ W.T, key @ U.T).softmax(-1)


SCORES = {"additive": by_sum, "dot": by_product}


def inputs(n: int, d: int, device: torch.device) -> list[Tensor]:
    """One sentence's queries and keys; W, U and v."""
    draw = torch.Generator().manual_seed(n + d)
    shapes = ((1, n, d), (1, n, d), (d, d), (d, d), (d,))
    drawn = [torch.randn(s, generator=draw) for s in shapes]
    for matrix in drawn[2:]:
        matrix /= d**0.5
    return [x.to(device).requires_grad_() for x in drawn]


def clock(device: torch.device) -> float:
    """Now, with everything before it done; on a CPU, processor time."""
    if device.type == "cuda":
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def seconds(score, given: list[Tensor]) -> tuple[float, float]:
    """One forward pass; one forward and backward pass."""
    device = given[0].device
    started = clock(device)
    with torch.no_grad():
        score(*given)
    between = clock(device)
    weights = score(*given)  # the gradient is that of ½ Σ α²
    torch.autograd.grad(weights, given, weights.detach(), allow_unused=True)
    return between - started, clock(device) - between


def kept(score, given: list[Tensor]) -> int:
    """Bytes that the forward pass leaves for the backward pass."""
    own = {x.untyped_storage().data_ptr() for x in given}
    held: dict[int, Tensor] = {}

    def pack(x: Tensor) -> Tensor:
        place = x.untyped_storage().data_ptr()
        if place not in own:
            held[place] = x
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        result = score(*given)
    total = sum(x.untyped_storage().nbytes() for x in held.values())
    del result
    return total


def measure(n: int, d: int, device: torch.device) -> dict:
    """Both scores in turn, until the budget is spent."""
    given = inputs(n, d, device)
    spent: dict[str, list] = {name: [] for name in SCORES}
    system = dict.fromkeys(SCORES, 0.0)
    started = clock(device)
    while len(spent["dot"]) < MOST and (
        len(spent["dot"]) < FEWEST or clock(device) < started + BUDGET
    ):
        for name, score in SCORES.items():
            seconds(score, given)
            before = os.times().system
            spent[name].append(seconds(score, given))
            system[name] += os.times().system - before
    row = {
        name: {
            "forward": median(pair[0] for pair in pairs),
            "both": median(pair[1] for pair in pairs),
            "kept": kept(SCORES[name], given),
            "system": system[name] / sum(sum(pair) for pair in pairs),
        }
        for name, pairs in spent.items()
    }
    row["ratio"] = {
        what: row["additive"][what] / row["dot"][what]
        for what in ("forward", "both", "kept")
    }
    return row | {"rounds": len(spent["dot"])}


def main(arguments: Sequence[str] | None = None) -> None:
    device = training.device()

    def run(n: int, d: int, seed: int, folder: Path) -> dict:
        return {"row": measure(n, d, device)}

    def summary(found: dict[str, list[dict]]) -> dict:
        return {
            str(d): {
                str(n): found[f"{n} words, d {d}"][0]["row"] for n in LENGTHS
            }
            for d in WIDTHS
        }

    campaign(
        "scores",
        __doc__,
        {
            f"{n} words, d {d}": partial(run, n, d)
            for d in WIDTHS
            for n in LENGTHS
        },
        summary,
        config={
            "lengths": LENGTHS,
            "widths": WIDTHS,
            "batch": 1,
            "dtype": "float32",
            "budget": BUDGET,
        },
        device=device,
        keep=False,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
