"""How fast do RNNsearch and the Transformer learn on a GPU?

The ladder's two machines, over the batch and over the length of the sentences,
in numbers of 32 bits and of 16 (bf16). Both take turns on the same batches of
random pieces, as long on either side, so that a row of numbers compares them
alone. Writes records/gpu.json.

    python -m lookback.experiments.gpu
"""

import sys
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import median

import torch
from torch import nn

from lookback.experiments.runs import campaign
from lookback.lab import training
from lookback.lab.corpus import Batch
from lookback.ladder import RUNGS
from lookback.vocabulary import SPECIALS

MACHINES = ("rnnsearch", "transformer")
PIECES = 3000
BATCHES, LENGTHS = (32, 128, 512, 2048), (10, 20, 40, 80)
BITS = {"fp32": False, "bf16": True}
TURNS, MOST = 5, 2048 * 40  # timed steps of each; pieces in a batch


def step(model, optimizer, batch: Batch, half: bool) -> float:
    """One training step, timed."""
    where = batch.source.device
    torch.cuda.synchronize()
    started = time.perf_counter()
    with torch.autocast(where.type, torch.bfloat16, half):
        logits = model(batch.source, batch.target_in)
    loss = training.loss(logits, batch.target_out, 0.1)
    optimizer.zero_grad(set_to_none=True)
    (loss / batch.target_out.numel()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    torch.cuda.synchronize()
    return time.perf_counter() - started


def drawn(size: int, length: int, device: torch.device) -> Batch:
    """Random pieces: how fast a machine learns does not hang on their sense."""
    return Batch(
        *(
            torch.randint(len(SPECIALS), PIECES, (size, length), device=device)
            for _ in range(3)
        )
    )


def paces(device: torch.device) -> dict:
    """Target pieces a second in training, by machine, bits, batch, length."""
    torch.manual_seed(0)
    models = {n: RUNGS[n].make(PIECES, PIECES).to(device) for n in MACHINES}
    optimizers = {
        n: torch.optim.Adam(each.parameters()) for n, each in models.items()
    }
    found = {n: {bits: {} for bits in BITS} for n in MACHINES}
    for size, length in product(BATCHES, LENGTHS):
        if size * length > MOST:
            continue
        batch, spent = drawn(size, length, device), {}
        for turn, name, bits in product(range(TURNS + 1), MACHINES, BITS):
            seconds = step(models[name], optimizers[name], batch, BITS[bits])
            if turn:  # the first one warms up
                spent.setdefault((name, bits), []).append(seconds)
        for (name, bits), each in spent.items():
            rows = found[name][bits].setdefault(str(size), {})
            rows[str(length)] = size * length / median(each)
    return found


def run(seed: int, folder: Path) -> dict:
    """Everything in one go; with the name of the GPU."""
    device = training.device()
    return {
        "gpu": torch.cuda.get_device_name(device),
        "torch": torch.__version__,
        "paces": paces(device),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    there = torch.cuda.is_available()
    if not there:
        print("no GPU here: records/gpu.json stays as it is", file=sys.stderr)
    campaign(
        "gpu",
        __doc__,
        {"machines": run} if there else {},
        lambda found: found["machines"][0],
        config={"pieces": PIECES, "turns": TURNS},
        keep=False,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
