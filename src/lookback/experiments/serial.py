"""How long do layers take as sequences grow, and how far does a gradient go?

A GRU, an LSTM and self-attention, with its weights laid out and fused, read
the same sequences of 16 to 4096 positions, in turn in every round, so that a
busy machine slows all alike; medians, for one thread and for two. With one
thread on a CPU the clock is the processor's time, which other programs leave
alone; else it is the wall's. Then the same layers with more sentences in a
batch, the product W x_t of all words at once against one word at a time, and
the size of the derivative of the last output by the first input, at
initialisation. Writes records/serial.json. Needs no corpus.

    python -m lookback.experiments.serial
"""

import math
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

import torch
from torch import nn
from tqdm import tqdm

from lookback.experiments.runs import campaign
from lookback.heads import MultiHeadAttention
from lookback.lab import training

D, HEADS = 256, 4
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
BATCHES = (1, 4, 16, 64)
TOGETHER = 64  # positions where the batch grows
TWO = 7  # lengths timed with two threads as well
ROUNDS = 9
PATIENCE = 1.0  # seconds of one layer after which rounds are fewer
REACH = (2, 4, 8, 16, 32, 64, 128, 256)
SMALL, DRAWS = 64, 5  # width and seeds of the gradient's layers


def layers(d: int, device: torch.device) -> dict:
    """What is timed: name to a function from [batch, n, d] to the same."""
    torch.manual_seed(0)
    gru = nn.GRU(d, d, batch_first=True).to(device)
    lstm = nn.LSTM(d, d, batch_first=True).to(device)
    look = MultiHeadAttention(d, HEADS).to(device)

    def attention(x, need_weights):
        return look(x, *look.project(x), need_weights=need_weights)[0]

    return {
        "GRU": lambda x: gru(x)[0],
        "LSTM": lambda x: lstm(x)[0],
        "explicit": partial(attention, need_weights=True),
        "fused": partial(attention, need_weights=False),
    }


def seconds(run, device: torch.device) -> float:
    """One call, timed until the device has done it."""
    alone = device.type == "cpu" and torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter
    started = clock()
    run()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return clock() - started


def once(layer, x: torch.Tensor, backward: bool) -> None:
    """Forward, and backward if asked for."""
    if backward:
        layer(x.requires_grad_()).sum().backward()
    else:
        with torch.no_grad():
            layer(x)


def in_turn(runs: dict, device: torch.device, rounds: int) -> dict:
    """Median seconds of each run, all of them in every round."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    warm = max(seconds(run, device) for run in runs.values())
    if warm > PATIENCE:
        rounds = max(3, rounds // 3)
    for _ in range(rounds):
        for name, run in runs.items():
            found[name].append(seconds(run, device))
    return {name: median(each) for name, each in found.items()}


def over_lengths(lengths, device, rounds: int, backward: bool) -> dict:
    """Median seconds per layer, a list over the lengths."""
    rows = []
    for n in tqdm(lengths, desc="both ways" if backward else "forward"):
        made, x = layers(D, device), torch.randn(1, n, D, device=device)
        runs = {
            name: partial(once, layer, x, backward)
            for name, layer in made.items()
        }
        rows.append(in_turn(runs, device, rounds))
    return {name: [row[name] for row in rows] for name in rows[0]}


def crossing(lengths, one: list[float], other: list[float]) -> float | None:
    """The last length up to which `one` takes less time than `other`.

    Straight lines between the measured points on two logarithmic scales;
    None where `one` is slower at the shortest length, or never becomes so.
    """
    gaps = [math.log(a / b) for a, b in zip(one, other, strict=True)]
    if gaps[0] >= 0:
        return None
    for i in range(1, len(gaps)):
        if gaps[i] >= 0:
            share = gaps[i - 1] / (gaps[i - 1] - gaps[i])
            return lengths[i - 1] * (lengths[i] / lengths[i - 1]) ** share
    return None


def over_batches(device: torch.device, rounds: int) -> dict:
    """Median seconds per sentence of a forward pass, a list over BATCHES."""
    rows = []
    for batch in BATCHES:
        made = layers(D, device)
        x = torch.randn(batch, TOGETHER, D, device=device)
        runs = {
            name: partial(once, layer, x, False) for name, layer in made.items()
        }
        spent = in_turn(runs, device, rounds)
        rows.append({name: each / batch for name, each in spent.items()})
    return {name: [row[name] for row in rows] for name in rows[0]}


def projection(device: torch.device, rounds: int) -> dict:
    """Seconds for W x_t of 256 words, in one product and word by word."""
    W, x = torch.randn(3 * D, D, device=device), torch.randn(256, D)
    x = x.to(device)
    runs = {
        "at once": lambda: x @ W.T,
        "word by word": lambda: [each @ W.T for each in x],
    }
    return in_turn(runs, device, rounds)


def biased(lstm: nn.LSTM, by: float) -> nn.LSTM:
    """The same LSTM with its forget gates pushed open."""
    with torch.no_grad():
        lstm.bias_ih_l0[lstm.hidden_size : 2 * lstm.hidden_size] += by
    return lstm


def reach(layer, n: int) -> float:
    """‖∂ y_n / ∂ x_1‖, Frobenius, for one random sequence.

    One row of the Jacobian for each number of the last output: the same
    sequence stands in the batch once for each.
    """
    x = torch.randn(1, n, SMALL, dtype=torch.float64)
    x = x.repeat(SMALL, 1, 1).requires_grad_()
    last = layer(x)[:, -1]
    (gradient,) = torch.autograd.grad(last.diagonal().sum(), x)
    return float(gradient[:, 0].norm())


def gradients() -> dict:
    """Median ‖∂ y_n / ∂ x_1‖ over the draws, a list over REACH."""
    found: dict[str, list[list[float]]] = {}
    for draw in range(DRAWS):
        torch.manual_seed(draw)
        gru = nn.GRU(SMALL, SMALL, batch_first=True).double()
        lstm = nn.LSTM(SMALL, SMALL, batch_first=True).double()
        lstm_open = biased(
            nn.LSTM(SMALL, SMALL, batch_first=True).double(), 2.0
        )
        look = MultiHeadAttention(SMALL, HEADS).double()
        made = {
            "GRU": lambda x, cell=gru: cell(x)[0],
            "LSTM": lambda x, cell=lstm: cell(x)[0],
            "LSTM, forget bias +2": lambda x, cell=lstm_open: cell(x)[0],
            "attention": lambda x, a=look: a(x, *a.project(x))[0],
        }
        for name, layer in made.items():
            sizes = [reach(layer, n) for n in REACH]
            found.setdefault(name, []).append(sizes)
    return {
        name: [median(column) for column in zip(*rows, strict=True)]
        for name, rows in found.items()
    }


def timed(lengths, rounds: int, device: torch.device) -> dict:
    """All times with the present number of threads."""
    row = {
        "lengths": list(lengths),
        "forward": over_lengths(lengths, device, rounds, False),
        "both": over_lengths(lengths, device, rounds, True),
        "batch": over_batches(device, rounds),
        "projection": projection(device, rounds),
    }
    row["crossing"] = {
        f"{kind} {way} {cell}": crossing(
            lengths, row[way][kind], row[way][cell]
        )
        for way in ("forward", "both")
        for kind in ("explicit", "fused")
        for cell in ("GRU", "LSTM")
    }
    return row


def measure(lengths, rounds: int, device: torch.device, two: int) -> dict:
    """Everything; with two threads, on a CPU, the first `two` lengths."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    found = {"one": timed(lengths, rounds, device)}
    if device.type == "cpu" and two:
        torch.set_num_threads(2)
        found["two"] = timed(lengths[:two], rounds, device)
    torch.set_num_threads(before)
    return {
        **found,
        "batches": list(BATCHES),
        "reach": list(REACH),
        "gradient": gradients(),
    }


def run(seed: int, folder: Path) -> dict:
    """Everything, in one go: the times are compared with each other."""
    return {"measured": measure(LENGTHS, ROUNDS, training.device(), TWO)}


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "serial",
        __doc__,
        {"layers": run},
        lambda found: found["layers"][0]["measured"],
        config={
            "d": D,
            "heads": HEADS,
            "batch": 1,
            "rounds": ROUNDS,
            "together": TOGETHER,
            "small": SMALL,
            "draws": DRAWS,
        },
        keep=False,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
