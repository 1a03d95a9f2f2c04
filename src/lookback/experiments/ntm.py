"""Who learns to copy, and goes on copying where the strings are longer?

Strings of one to eight vectors of six random bits: read, then written again.
A Neural Turing Machine; its ablations, with content-based addressing alone or
location-based addressing alone; an LSTM; and location-based addressing alone
again, with a head to read and another to write. All get as many strings and
updates, and an attempt at each of three learning rates, of which the training's
own last loss keeps one. Then strings up to fifteen times as long, on the memory
of the training and on a longer one, and what the trained head's addressing
parameters are. Last, an NTM whose key strength is small to begin with. Writes
records/ntm.json with one trained model in it. Needs no corpus.

    python -m lookback.experiments.ntm
    python -m lookback.experiments.ntm --only "content only" --seeds 3
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from math import inf, isfinite
from statistics import mean, median

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from lookback.experiments.runs import campaign
from lookback.experiments.serial import biased
from lookback.lab import records
from lookback.lab.training import device
from lookback.ntm import NTM, READER, WRITER, Addressing, NTMConfig

BITS, START, END = 6, 6, 7  # and the two marks' places among the inputs
SLOTS, LONG = 32, 128
LONGEST = 8  # vectors of a training string
TESTS = {SLOTS: (8, 20, 28, 30, 31, 32), LONG: (8, 20, 40, 60, 80, 100, 120)}
STRINGS = 100  # of each length
UPDATES, BATCH, LIMIT = 2000, 16, 1.0  # Adam; the longest gradient
RATES = (5e-3, 1e-2, 2e-2)  # at first, then falling to 0; each model has all
IN_A_ROW = 50  # updates without a wrong bit: it has learned to copy
EVERY = 50  # updates of a point on the curve
HIDDEN, BIAS = 128, 1.0  # the LSTM, and what its forget gate's bias gets
SEEDS, TOGETHER = 5, 5  # how many train side by side
TWO, BLUNT = "two heads, shift only", "blunt start"
MODELS = ("tape", "content only", "shift only", "LSTM", TWO)


class ContentOnly(NTM):
    """A head stands wherever its key leads it: w = w_c."""

    def set_addressing(self, h: Tensor) -> Addressing:
        addressing = super().set_addressing(h)
        one = torch.ones_like(addressing.gate)
        still = torch.cat([0 * one, one, 0 * one], -1)
        return addressing._replace(gate=one, moves=still, gamma=one)


class ShiftOnly(NTM):
    """A head only ever moves on from where it stood: g = 0."""

    def set_addressing(self, h: Tensor) -> Addressing:
        addressing = super().set_addressing(h)
        return addressing._replace(gate=torch.zeros_like(addressing.gate))


class Recurrent(nn.Module):
    """An LSTM, with a bias on its forget gate, in place of the NTM."""

    def __init__(self):
        super().__init__()
        layer = nn.LSTM(NTMConfig.inputs, HIDDEN, batch_first=True)
        self.layer = biased(layer, BIAS)
        self.output = nn.Linear(HIDDEN, BITS)

    def forward(self, inputs: Tensor, slots: int) -> Tensor:
        return self.output(self.layer(inputs)[0])


def network(name: str) -> nn.Module:
    """One of MODELS; or the NTM that does not begin with a large β."""
    if name == BLUNT:
        return NTM(NTMConfig(sharp=0.0))
    if name == "LSTM":
        return Recurrent()
    if name == TWO:
        return ShiftOnly(NTMConfig(heads=2))
    kinds = {"content only": ContentOnly, "shift only": ShiftOnly}
    return kinds.get(name, NTM)(NTMConfig())


def strings(count: int, length: int) -> tuple[Tensor, Tensor]:
    """Inputs [count, steps, 8], and the bits wanted in the last steps.

    A start mark, the vectors, an end mark, and then nothing for as many steps
    as there are vectors to write.
    """
    bits = torch.randint(2, (count, length, BITS)).float()
    inputs = torch.zeros(count, 2 + 2 * length, BITS + 2)
    inputs[:, 0, START] = 1
    inputs[:, 1 : length + 1, :BITS] = bits
    inputs[:, length + 1, END] = 1
    return inputs, bits


def said(model: nn.Module, inputs: Tensor, steps: int, slots: int) -> Tensor:
    """The logits of the last steps, on the CPU."""
    place = next(model.parameters()).device
    return model(inputs.to(place), slots)[:, -steps:].cpu()


def together(
    models: Sequence[nn.Module], inputs: Tensor, steps: int, slots: int
) -> Tensor:
    """What `said` gives for each of several models of one kind.

    Inputs [models, batch, ...]. An NTM has so little to do at a step that ten
    side by side take hardly longer than three one after another; vmap knows no
    LSTM.
    """
    if not isinstance(models[0], NTM) or len(models) == 1:
        pairs = zip(models, inputs, strict=True)
        return torch.stack([said(one, x, steps, slots) for one, x in pairs])
    each = [dict(model.named_parameters()) for model in models]
    stacked = {k: torch.stack([one[k] for one in each]) for k in each[0]}
    place = next(models[0].parameters()).device
    logits = torch.vmap(
        lambda weights, x: functional_call(models[0], weights, (x, slots))
    )(stacked, inputs.to(place))
    return logits[:, :, -steps:].cpu()


def teach(
    models: Sequence[nn.Module],
    rates: Sequence[float],
    updates: int,
    longest: int,
) -> list[dict]:
    """Train models of one kind side by side, each at its rate.

    Their strings are of the same lengths. A model has learned it when it had
    no wrong bit in IN_A_ROW updates: after how many, or None if that never was.
    """
    adam = torch.optim.Adam(
        [
            {"params": list(model.parameters()), "lr": rate}
            for model, rate in zip(models, rates, strict=True)
        ]
    )
    falling = torch.optim.lr_scheduler.LinearLR(adam, 1, 0, updates)
    losses, right, learned = [], [0] * len(models), [None] * len(models)
    while len(losses) < updates:
        length = int(torch.randint(1, longest + 1, ()))
        torch.randint(1, 2, ())  # keeps the order of the recorded runs' numbers
        inputs, bits = (
            each.unflatten(0, (len(models), BATCH))
            for each in strings(len(models) * BATCH, length)
        )
        logits = together(models, inputs, bits.shape[2], SLOTS)
        loss = F.binary_cross_entropy_with_logits(
            logits, bits, reduction="none"
        )
        loss = loss.mean((1, 2, 3))
        adam.zero_grad()
        loss.sum().backward()
        for model in models:
            nn.utils.clip_grad_norm_(model.parameters(), LIMIT)
        adam.step()
        falling.step()
        losses.append(loss.detach())
        every = ((logits > 0) == (bits > 0)).flatten(1).all(1).tolist()
        for i, whole in enumerate(every):
            right[i] = right[i] + 1 if whole else 0
            if right[i] == IN_A_ROW and learned[i] is None:
                learned[i] = len(losses)
    return [
        {
            "updates": learned[i],
            "curve": [round(float(x.mean()), 4) for x in curve.split(EVERY)],
            "weights": sum(part.numel() for part in models[i].parameters()),
        }
        for i, curve in enumerate(torch.stack(losses, 1))
    ]


@torch.no_grad()
def score(model: nn.Module, slots: int, length: int) -> dict:
    """The fraction of bits that are right, and of strings without an error."""
    inputs, bits = strings(STRINGS, length)
    hits = (said(model, inputs, bits.shape[1], slots) > 0) == (bits > 0)
    return {
        "bits": float(hits.float().mean()),
        "whole": float(hits.flatten(1).all(1).float().mean()),
    }


def follow(
    model: NTM, inputs: Tensor, slots: int
) -> tuple[Tensor, list[Addressing], Tensor]:
    """Logits, addressing parameters and the heads' weights at every step.

    Weights are [batch, steps, heads, slots].
    """
    tape = model.blank(len(inputs), slots)
    logits, addressing, weights = [], [], []
    for x in inputs.to(tape.memory.device).unbind(1):
        one, tape, now = model.step(x, tape)
        logits.append(one)
        addressing.append(now)
        weights.append(tape.weights)
    return torch.stack(logits, 1), addressing, torch.stack(weights, 1)


@torch.no_grad()
def addressing_of(model: NTM, length: int = 20) -> dict:
    """The head's addressing parameters, averaged over strings of a length.

    At the start mark, over the string, at the end mark and over the answer;
    and how often the answer was read where its vector had been written.
    """
    inputs, _ = strings(STRINGS, length)
    _, addressing, weights = follow(model, inputs, SLOTS)

    def level(steps: range) -> dict:
        each = {
            name: torch.stack(
                [getattr(addressing[t], name)[:, 0] for t in steps]
            )
            for name in ("strength", "gate", "moves", "gamma")
        }
        found = {k: v.flatten(0, 1).mean(0).tolist() for k, v in each.items()}
        return {k: v if k == "moves" else v[0] for k, v in found.items()}

    answer = range(length + 2, 2 * length + 2)
    at = weights.argmax(-1)
    written, read = at[:, 1 : length + 1, WRITER], at[:, answer[0] :, READER]
    return {
        "start": level(range(0, 1)),
        "writing": level(range(1, length + 1)),
        "end": level(range(length + 1, length + 2)),
        "answer": level(answer),
        "same place": float((written == read).float().mean()),
    }


@cache
def trained(name: str, group: int) -> list[list[dict]]:
    """Models of TOGETHER seeds, each at all rates, and their scores.

    The same seed begins at each rate with the same weights.
    """
    torch.manual_seed(group)
    models = []
    for seed in range(group * TOGETHER, (group + 1) * TOGETHER):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            first = network(name).to(device())
        models += [deepcopy(first) for _ in RATES]
    found = teach(models, TOGETHER * RATES, UPDATES, LONGEST)
    for one, model in zip(found, models, strict=True):
        one["scores"] = {
            str(slots): {str(n): score(model, slots, n) for n in lengths}
            for slots, lengths in TESTS.items()
        }
        if name == "tape":
            one["addressing"] = addressing_of(model)
            one["model"] = packed(model)
    n = len(RATES)
    return [found[i : i + n] for i in range(0, len(found), n)]


def run(name: str, seed: int) -> dict:
    """What became of one seed, at each rate."""
    return {"rates": trained(name, seed // TOGETHER)[seed % TOGETHER]}


def packed(model: nn.Module) -> dict:
    """The weights in fp16, as text."""
    return {
        name: {
            "shape": list(part.shape),
            "data": b64encode(part.half().cpu().numpy().tobytes()).decode(),
        }
        for name, part in model.state_dict().items()
    }


def unpacked(held: dict) -> dict[str, Tensor]:
    """The weights that `packed` packed."""
    return {
        name: torch.frombuffer(
            bytearray(b64decode(one["data"])), dtype=torch.half
        )
        .view(one["shape"])
        .float()
        for name, one in held.items()
    }


def recorded() -> NTM:
    """The trained model, from the weights in the record."""
    model = NTM(NTMConfig())
    held = records.load("ntm")["results"]["model"]
    model.load_state_dict(unpacked(held))
    return model.eval().to(device())


def over_seeds(runs: list[dict]) -> dict:
    """How many learned it and how fast; scores, each with all seeds.

    In the median who never learned it comes after all others; it is None where
    half of the seeds or more are such.
    """
    needed = [one["updates"] for one in runs]
    done = [n for n in needed if n is not None]
    middle = median(inf if n is None else n for n in needed)

    def gather(scores: list[dict]) -> dict:
        if "bits" in scores[0]:
            bits = [one["bits"] for one in scores]
            whole = [one["whole"] for one in scores]
            return {"bits": mean(bits), "each": bits, "whole": whole}
        return {k: gather([one[k] for one in scores]) for k in scores[0]}

    return {
        "learned": len(done),
        "updates": needed,
        "median": middle if isfinite(middle) else None,
        "weights": runs[0]["weights"],
        "curve": [one["curve"] for one in runs],
        "scores": gather([one["scores"] for one in runs]),
    }


def best(run: dict) -> int:
    """Which of a seed's attempts, one at each rate, ended its training lowest.

    No test string has a say in it.
    """
    last = [one["curve"][-1] for one in run["rates"]]
    return last.index(min(last))


def summary(found: dict[str, list[dict]]) -> dict:
    """Each seed at its best rate; how many learned at each; the addressing
    parameters of each NTM, and the first of those best on the long memory."""
    results = {}
    for name, runs in found.items():
        at = [best(run) for run in runs]
        kept = [run["rates"][i] for run, i in zip(runs, at, strict=True)]
        results[name] = over_seeds(kept) | {
            "rates": [RATES[i] for i in at],
            "by rate": {
                str(rate): sum(
                    run["rates"][i]["updates"] is not None for run in runs
                )
                for i, rate in enumerate(RATES)
            },
        }
    tapes = [run["rates"][best(run)] for run in found["tape"]]
    far = [
        mean(one["bits"] for one in tape["scores"][str(LONG)].values())
        for tape in tapes
    ]
    shown = far.index(max(far))
    return results | {
        "addressing": [one["addressing"] for one in tapes],
        "shown": shown,
        "model": tapes[shown]["model"],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    parts = {
        name: lambda seed, _, name=name: run(name, seed)
        for name in (*MODELS, BLUNT)
    }
    campaign(
        "ntm",
        __doc__,
        parts,
        summary,
        config={
            "bits": BITS,
            "longest": LONGEST,
            "slots": SLOTS,
            "long": LONG,
            "strings": STRINGS,
            "updates": UPDATES,
            "batch": BATCH,
            "rates": list(RATES),
            "together": TOGETHER,
            "limit": LIMIT,
            "in_a_row": IN_A_ROW,
            "every": EVERY,
            "hidden": HIDDEN,
            "bias": BIAS,
        },
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
