"""Who learns to copy, and goes on copying where the strings are longer?

Strings of one to eight vectors of six random bits: read, then written again.
A Neural Turing Machine; the same with its head held to content alone, or to
shifts alone; an LSTM; and shifts alone again, with a head to read and another
to write. All get the same strings and as many updates. Then strings up to
fifteen times as long, on the tape of the training and on a longer one, and what
the trained head's dials stand at. Last, the machine learns to copy a string
several times. Writes records/tape.json with one trained machine in it. Needs no
corpus.

    python -m lookback.experiments.tape
    python -m lookback.experiments.tape --only "content only" --seeds 3
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from statistics import mean, median

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.experiments.runs import campaign
from lookback.experiments.serial import biased
from lookback.lab import records
from lookback.lab.training import device
from lookback.tape import NTM, READER, WRITER, Dials, NTMConfig

BITS, START, END = 6, 6, 7  # and the two marks' places among the inputs
SLOTS, LONG = 32, 128
LONGEST = 8  # vectors of a training string
TESTS = {SLOTS: (8, 20, 28, 30, 31, 32), LONG: (8, 20, 40, 60, 80, 100, 120)}
STRINGS = 100  # of each length
UPDATES, BATCH, RATE, LIMIT = 1000, 32, 5e-3, 10.0  # Adam; longest gradient
IN_A_ROW = 50  # updates without a wrong bit: it has learned to copy
EVERY = 20  # updates of a point on the curve
HIDDEN, BIAS = 128, 1.0  # the LSTM, and what its forget gate's bias gets
SEEDS = 3
TWO = "two heads, shift only"
MACHINES = ("tape", "content only", "shift only", "LSTM", TWO)
REPEATED, REPEATS, REPEAT_UPDATES = 6, (2, 4), 1500  # repeat copy
AGAIN = ((6, 4), (12, 4), (6, 8), (12, 8))  # length, repeats


class ContentOnly(NTM):
    """A head stands wherever its key leads it: w = w_c."""

    def set_dials(self, h: Tensor) -> Dials:
        dials = super().set_dials(h)
        one = torch.ones_like(dials.gate)
        still = torch.cat([0 * one, one, 0 * one], -1)
        return dials._replace(gate=one, moves=still, gamma=one)


class ShiftOnly(NTM):
    """A head only ever moves on from where it stood: g = 0."""

    def set_dials(self, h: Tensor) -> Dials:
        dials = super().set_dials(h)
        return dials._replace(gate=torch.zeros_like(dials.gate))


class Recurrent(nn.Module):
    """An LSTM, with a bias on its forget gate, in the place of the machine."""

    def __init__(self):
        super().__init__()
        layer = nn.LSTM(NTMConfig.inputs, HIDDEN, batch_first=True)
        self.layer = biased(layer, BIAS)
        self.output = nn.Linear(HIDDEN, BITS)

    def forward(self, inputs: Tensor, slots: int) -> Tensor:
        return self.output(self.layer(inputs)[0])


def network(name: str) -> nn.Module:
    """One of MACHINES."""
    if name == "LSTM":
        return Recurrent()
    if name == TWO:
        return ShiftOnly(NTMConfig(heads=2))
    kinds = {"content only": ContentOnly, "shift only": ShiftOnly}
    return kinds.get(name, NTM)(NTMConfig())


def strings(count: int, length: int, repeats: int = 1) -> tuple[Tensor, Tensor]:
    """Inputs [count, steps, 8], and the bits wanted in the last steps.

    A start mark, the vectors, an end mark, and then nothing for as many steps
    as there are vectors to write.
    """
    bits = torch.randint(2, (count, length, BITS)).float()
    inputs = torch.zeros(count, 2 + length * (1 + repeats), BITS + 2)
    inputs[:, 0, START] = 1
    inputs[:, 1 : length + 1, :BITS] = bits
    inputs[:, length + 1, END] = 1
    return inputs, bits.repeat(1, repeats, 1)


def said(model: nn.Module, inputs: Tensor, steps: int, slots: int) -> Tensor:
    """The logits of the last steps, on the CPU."""
    place = next(model.parameters()).device
    return model(inputs.to(place), slots)[:, -steps:].cpu()


def teach(
    model: nn.Module,
    updates: int,
    longest: int,
    repeats: tuple[int, int] = (1, 1),
) -> dict:
    """Train, and say after how many updates it had learned it.

    That is when IN_A_ROW updates had no wrong bit; None if that never was.
    """
    adam = torch.optim.Adam(model.parameters(), RATE)
    losses, right, learned = [], 0, None
    while len(losses) < updates:
        length = int(torch.randint(1, longest + 1, ()))
        times = int(torch.randint(repeats[0], repeats[1] + 1, ()))
        inputs, bits = strings(BATCH, length, times)
        logits = said(model, inputs, bits.shape[1], SLOTS)
        loss = F.binary_cross_entropy_with_logits(logits, bits)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), LIMIT)
        adam.step()
        losses.append(loss.item())
        every = bool(((logits > 0) == (bits > 0)).all())
        right = right + 1 if every else 0
        if right == IN_A_ROW and learned is None:
            learned = len(losses)
    points = range(0, len(losses), EVERY)
    return {
        "updates": learned,
        "curve": [round(mean(losses[i : i + EVERY]), 4) for i in points],
        "weights": sum(part.numel() for part in model.parameters()),
    }


@torch.no_grad()
def score(model: nn.Module, slots: int, length: int, repeats: int = 1) -> dict:
    """The share of bits that are right, and of strings without a mistake."""
    inputs, bits = strings(STRINGS, length, repeats)
    hits = (said(model, inputs, bits.shape[1], slots) > 0) == (bits > 0)
    return {
        "bits": float(hits.float().mean()),
        "whole": float(hits.flatten(1).all(1).float().mean()),
    }


def follow(
    model: NTM, inputs: Tensor, slots: int
) -> tuple[Tensor, list[Dials], Tensor]:
    """Logits, dials and the heads' weights at every step.

    Weights are [batch, steps, heads, slots].
    """
    tape, logits, dials, weights = model.blank(len(inputs), slots), [], [], []
    for x in inputs.to(tape.memory.device).unbind(1):
        one, tape, now = model.step(x, tape)
        logits.append(one)
        dials.append(now)
        weights.append(tape.weights)
    return torch.stack(logits, 1), dials, torch.stack(weights, 1)


@torch.no_grad()
def dials_of(model: NTM, length: int = 20) -> dict:
    """What the head's dials stand at, in the mean over strings of a length.

    At the start mark, over the string, at the end mark and over the answer;
    and how often the answer was read where its vector had been written.
    """
    inputs, _ = strings(STRINGS, length)
    _, dials, weights = follow(model, inputs, SLOTS)

    def level(steps: range) -> dict:
        each = {
            name: torch.stack([getattr(dials[t], name)[:, 0] for t in steps])
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


def run(name: str, seed: int) -> dict:
    """Train one machine, and ask it for strings of all lengths."""
    torch.manual_seed(seed)
    model = network(name).to(device())
    found = teach(model, UPDATES, LONGEST)
    found["scores"] = {
        str(slots): {str(n): score(model, slots, n) for n in lengths}
        for slots, lengths in TESTS.items()
    }
    if name == "tape":
        found["dials"] = dials_of(model)
        found["machine"] = packed(model)
    return found


def repeat(seed: int) -> dict:
    """Train a machine to write a string two to four times."""
    torch.manual_seed(seed)
    model = NTM(NTMConfig()).to(device())
    found = teach(model, REPEAT_UPDATES, REPEATED, REPEATS)
    found["scores"] = {
        f"{length} x {times}": score(model, LONG, length, times)
        for length, times in AGAIN
    }
    return found


def packed(model: NTM) -> dict:
    """The weights in fp16, as text: what `Copier` takes."""
    return {
        name: {
            "shape": list(part.shape),
            "data": b64encode(part.half().cpu().numpy().tobytes()).decode(),
        }
        for name, part in model.state_dict().items()
    }


def machine() -> NTM:
    """The recorded machine, from the weights in the record."""
    held = records.load("tape")["results"]["machine"]
    weights = {
        name: torch.frombuffer(
            bytearray(b64decode(one["data"])), dtype=torch.half
        )
        .view(one["shape"])
        .float()
        for name, one in held.items()
    }
    model = NTM(NTMConfig())
    model.load_state_dict(weights)
    return model.eval().to(device())


def over_seeds(runs: list[dict]) -> dict:
    """How many learned it and how fast; scores, each with all seeds."""
    needed = [one["updates"] for one in runs]
    done = [n for n in needed if n is not None]

    def gather(scores: list[dict]) -> dict:
        if "bits" in scores[0]:
            bits = [one["bits"] for one in scores]
            whole = [one["whole"] for one in scores]
            return {"bits": mean(bits), "each": bits, "whole": whole}
        return {k: gather([one[k] for one in scores]) for k in scores[0]}

    return {
        "learned": len(done),
        "updates": needed,
        "median": median(done) if done else None,
        "weights": runs[0]["weights"],
        "seconds": median(one["wall_seconds"] for one in runs),
        "curve": [one["curve"] for one in runs],
        "scores": gather([one["scores"] for one in runs]),
    }


def summary(found: dict[str, list[dict]]) -> dict:
    """Scores over the seeds, the dials of each tape, and one machine."""
    tapes = found["tape"]
    return {name: over_seeds(runs) for name, runs in found.items()} | {
        "dials": [one["dials"] for one in tapes],
        "machine": tapes[0]["machine"],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    parts = {
        name: lambda seed, _, name=name: run(name, seed) for name in MACHINES
    }
    parts["repeat"] = lambda seed, _: repeat(seed)
    campaign(
        "tape",
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
            "learning_rate": RATE,
            "limit": LIMIT,
            "in_a_row": IN_A_ROW,
            "every": EVERY,
            "hidden": HIDDEN,
            "bias": BIAS,
            "repeated": REPEATED,
            "repeats": list(REPEATS),
            "repeat_updates": REPEAT_UPDATES,
        },
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
