"""Which look writes: a window that slides, one by content, one at a fixed pace?

Short lines of random letters in our own alphabet of strokes; of each point it
is known to which letter it belongs. Networks that differ in one thing, how the
weights on the letters are made: Graves' window; the content look of RNNsearch,
also at other learning rates, and with four times as many updates; a window
that is taught no end; one that may slide back. Then lines longer than those of
the training. Beside them two baselines, which move evenly and learn nothing.
First of all, the machine that the page has is trained on lines of up to sixty
letters. Writes records/handwriting.json and the model's weights. Needs no
corpus.

    python -m lookback.experiments.handwriting
    python -m lookback.experiments.handwriting --only machine
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from lookback.experiments.runs import campaign
from lookback.handwriting import (
    Writer,
    WriterConfig,
    mixture,
    negative_log_likelihood,
    window,
    write,
)
from lookback.lab import checkpoints, synthetic_handwriting, weights
from lookback.lab.fingerprint import identity
from lookback.lab.training import device
from lookback.rnnsearch import AdditiveAttention

# how many times the updates and the rate, for other looks by content
OTHERS = {
    "content, half the rate": (1, 0.5),
    "content, twice the rate": (1, 2.0),
    "content, patient": (4, 1.0),
}
SHORT, TESTS = (2, 6), (6, 13, 30)  # letters of a line
BATCH, UPDATES, RATE, LIMIT = 16, 900, 4e-3, 10.0  # Adam; longest gradient
STAGES = ((600, 8, 32), (400, 24, 24), (500, 60, 16))  # updates, letters, lines
WARMUP = 50  # updates up to the rate, which then falls to 0
EVERY = 25  # updates of a point on the curve
SAVE = 50  # updates between checkpoints
LINES, WRITTEN = 40, 20  # for each test; lines of each length that are written
LONG = 60
BIAS = 1.0  # of what the machine writes for the record
SEEDS = 3


class Reading(NamedTuple):
    """A `Pen`, and what the reader has noted of every letter."""

    h: Tensor
    top: Tensor
    kappa: Tensor
    look: Tensor
    keys: Float[Tensor, "batch source align"]
    text: Float[Tensor, "batch source vocab"]


class Content(Writer):
    """The weights are RNNsearch's: a query compared with a two-way reading.

    What is summed are the letters, as in the others.
    """

    def __init__(self, config: WriterConfig):
        super().__init__(config)
        half, whole = config.hidden // 2, config.hidden
        self.reader = nn.GRU(
            config.signs, half, batch_first=True, bidirectional=True
        )
        self.attention = AdditiveAttention(whole, whole, half)
        del self.window

    def begin(self, text: Tensor) -> Reading:
        lengths = text.sum((1, 2)).long().cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            text, lengths, batch_first=True, enforce_sorted=False
        )
        notes, _ = nn.utils.rnn.pad_packed_sequence(
            self.reader(packed)[0], batch_first=True
        )
        return Reading(*super().begin(text), self.attention.U(notes), text)

    def slide(
        self, point: Tensor, text: Tensor, synthetic_handwriting: Reading
    ) -> tuple[Reading, Tensor]:
        h = self.first(
            torch.cat([point, synthetic_handwriting.look], -1),
            synthetic_handwriting.h,
        )
        mask = text.any(-1)
        look, phi = self.attention(h, synthetic_handwriting.keys, text, mask)
        return synthetic_handwriting._replace(h=h, look=look), phi


class Untaught(Writer):
    """Nothing stands behind the text, and nothing is written there."""


class BothWays(Writer):
    """The window moves by κ̂ itself, which may be below 0."""

    def __init__(self, config: WriterConfig):
        super().__init__(config)
        with torch.no_grad():
            self.window.bias[-config.kernels :] = 1 / config.points

    def place(self, h: Tensor, kappa: Tensor, length: int):
        alpha, beta, move = self.window(h).chunk(3, -1)
        kappa = kappa + move
        return window(alpha.exp(), beta.exp(), kappa, length), kappa


NETWORKS = {
    "window": Writer,
    "content": Content,
    "no end": Untaught,
    "both ways": BothWays,
}


def batch(name: str, texts: Sequence[str], rng: np.random.Generator):
    """Lines of these texts; without any sign of the end for `no end`."""
    lines = synthetic_handwriting.lines(texts, rng)
    if name == "no end":
        text = lines.text.clone()
        text[..., synthetic_handwriting.END] = 0
        letter = lines.letters < torch.tensor([[len(t)] for t in texts])
        lines = lines._replace(text=text, mask=lines.mask & letter)
    return synthetic_handwriting.Lines(*(part.to(device()) for part in lines))


def follow(
    model: Writer, lines: synthetic_handwriting.Lines
) -> tuple[Tensor, Tensor]:
    """−log p of every point, and φ where it was made."""
    raw, phi = model(lines.points, lines.text)
    return negative_log_likelihood(mixture(raw), lines.points), phi


def texts(
    letters: tuple[int, int], count: int, rng: np.random.Generator
) -> list[str]:
    """So many texts of one length, which is drawn."""
    length = int(rng.integers(letters[0], letters[1] + 1))
    return [synthetic_handwriting.words(length, rng) for _ in range(count)]


def teach(
    model: Writer,
    name: str,
    stages: Iterable[tuple[int, tuple[int, int], int]],
    seed: int,
    folder: Path | None = None,
    rate: float = RATE,
) -> list[float]:
    """Train; the curve. With a folder, an interrupted training goes on.

    A stage is its updates, the fewest and the most letters, and the lines of
    a batch. Each update draws its lines from a generator of its own.
    """
    stages = [*stages]
    plan = [one for stage in stages for one in [stage[1:]] * stage[0]]
    adam = torch.optim.Adam(model.parameters(), rate)
    made_by = identity(
        model,
        {"rate": rate, "seed": seed, "stages": stages, "lines": name},
        training=teach,
    )
    losses = resume(folder, model, adam, made_by) if folder else []
    while (done := len(losses)) < len(plan):
        letters, count = plan[done]
        share = min((done + 1) / WARMUP, 1) * (1 - done / len(plan))
        adam.param_groups[0]["lr"] = share * rate
        rng = np.random.default_rng([seed, done])
        lines = batch(name, texts(letters, count, rng), rng)
        loss = follow(model, lines)[0][lines.mask].mean()
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), LIMIT)
        adam.step()
        losses.append(loss.item())
        if folder and len(losses) % SAVE == 0:
            keep(folder, model, adam, losses, made_by)
    points = range(0, len(losses), EVERY)
    return [round(mean(losses[i : i + EVERY]), 4) for i in points]


def keep(
    folder: Path, model: nn.Module, adam, losses: list[float], made_by: dict
) -> None:
    """Write the weights, Adam's moments and the losses so far."""
    path = folder / "checkpoint.safetensors"
    checkpoints.save(path, checkpoints.state(model, adam), made_by, losses)


def resume(folder: Path, model: nn.Module, adam, made_by: dict) -> list[float]:
    """Take up what `keep` wrote, if there is such a thing; the losses.

    Raises ValueError if it is damaged, or of another training.
    """
    path = folder / "checkpoint.safetensors"
    if (found := checkpoints.take_up(path, made_by)) is None:
        return []
    checkpoints.give(found[0], model, adam)
    return found[1]


@torch.no_grad()
def score(model: Writer, name: str, length: int) -> dict:
    """Nats a point, and how often φ is largest on the point's own letter.

    `sign` counts another place with the same letter as right, too.
    """
    rng = np.random.default_rng([1, length])
    lines = batch(name, texts((length, length), LINES, rng), rng)
    nats, phi = follow(model, lines)
    signs = lines.text.argmax(-1)
    right = phi.argmax(-1) == lines.letters
    alike = signs.gather(1, phi.argmax(-1)) == signs.gather(1, lines.letters)
    tenths = [
        right[lines.mask & (lines.letters // 10 == i)].float().mean().item()
        for i in range(length // 10)
    ]
    return {
        "nats": nats[lines.mask].mean().item(),
        "right": right[lines.mask].float().mean().item(),
        "sign": alike[lines.mask].float().mean().item(),
        "tens": tenths,
    }


def baselines(length: int) -> dict:
    """How often a finger is right that moves evenly, and asks nobody.

    `constant` takes the usual time for every letter; `diagonal` is told how
    many points the line will have.
    """
    rng = np.random.default_rng([1, length])
    lines = synthetic_handwriting.lines(
        texts((length, length), LINES, rng), rng
    )
    written = lines.letters < length  # without the rest
    written &= lines.mask
    t = torch.arange(lines.letters.shape[1]) + 0.5
    whole = written.sum(1, keepdim=True)
    paces = {"constant": 1 / WriterConfig.points, "diagonal": length / whole}
    return {
        name: ((t * pace).long() == lines.letters)[written]
        .float()
        .mean()
        .item()
        for name, pace in paces.items()
    }


def usual(text: str) -> int:
    """The points of a text in the plainest hand."""
    rng = np.random.default_rng(0)
    letters = synthetic_handwriting.write(
        text, synthetic_handwriting.Hand(), rng
    ).letters
    return int((letters < len(text)).sum())


def ends(model: Writer, length: int, bias: float) -> dict:
    """Lines written freely: how many end by themselves, and where.

    `excess` is by how many letters' points too many, or too few if negative.
    """
    rng = np.random.default_rng([2, length])
    stops, excess, most = 0, [], 40 * length
    where = next(model.parameters()).device
    for _ in range(WRITTEN):
        text = synthetic_handwriting.words(length, rng)
        signs = synthetic_handwriting.signs(text).to(where)
        if isinstance(model, Untaught):
            signs[:, synthetic_handwriting.END] = 0
        chance = torch.from_numpy(rng.random((most, 4), dtype=np.float32))
        points, _ = write(model, signs, chance, bias)
        stops += len(points) < most
        excess.append((len(points) - usual(text)) / usual(text) * len(text))
    return {"ended": stops / WRITTEN, "excess": mean(excess)}


def run(
    name: str, seed: int, folder: Path, patience: int = 1, rate: float = 1.0
) -> dict:
    """Train one network on short lines, and try it on longer ones."""
    torch.manual_seed(seed)
    model = NETWORKS[name](WriterConfig()).to(device())
    folder.mkdir(parents=True, exist_ok=True)
    stages = [(patience * UPDATES, SHORT, BATCH)]
    found = {
        "curve": teach(model, name, stages, seed, folder, rate * RATE),
        "weights": sum(part.numel() for part in model.parameters()),
        "scores": {str(n): score(model, name, n) for n in TESTS},
    }
    if name in ("window", "no end"):
        found["ends"] = ends(model, SHORT[1], BIAS)
    return found


def machine(seed: int, folder: Path) -> dict:
    """Train the machine of the page, and keep its weights with the book."""
    torch.manual_seed(seed)
    model = Writer(WriterConfig()).to(device())
    stages = [(n, (1, most), lines) for n, most, lines in STAGES]
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "curve": teach(model, "window", stages, seed, folder),
        "weights": sum(part.numel() for part in model.parameters()),
    }
    weights.save("handwriting", model)
    model = weights.load("handwriting", Writer)[0]  # as it is kept
    found["scores"] = {
        str(n): score(model, "window", n) for n in (*TESTS, LONG)
    }
    found["ends"] = {
        str(n): ends(model, n, BIAS) for n in (TESTS[0], TESTS[2], LONG)
    }
    return found


def over_seeds(runs: list[dict]) -> dict:
    """The means, and each seed's own."""

    def gather(parts: list) -> object:
        if isinstance(parts[0], dict):
            return {
                key: gather([part[key] for part in parts]) for key in parts[0]
            }
        if isinstance(parts[0], list):
            return parts
        return {"mean": mean(parts), "each": parts}

    kept = ("curve", "scores", "ends")
    return {"weights": runs[0]["weights"]} | {
        key: gather([one[key] for one in runs])
        for key in kept
        if key in runs[0]
    }


def summary(found: dict[str, list[dict]]) -> dict:
    """Each network over its seeds; of the machine there is one."""
    return {
        name: runs[0] if name == "machine" else over_seeds(runs)
        for name, runs in found.items()
    } | {"rulers": {str(n): baselines(n) for n in TESTS}}


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)

    def part(name: str, patience: int = 1, rate: float = 1.0):
        return lambda seed, folder: run(name, seed, folder, patience, rate)

    def first(seed: int, folder: Path) -> dict:
        return machine(seed, folder) if seed == 0 else {}

    campaign(
        "handwriting",
        __doc__,
        {"machine": first}
        | {name: part(name) for name in NETWORKS}
        | {name: part("content", *how) for name, how in OTHERS.items()},
        summary,
        config={
            "short": list(SHORT),
            "tests": list(TESTS),
            "batch": BATCH,
            "updates": UPDATES,
            "rate": RATE,
            "limit": LIMIT,
            "warmup": WARMUP,
            "stages": [list(stage) for stage in STAGES],
            "every": EVERY,
            "lines": LINES,
            "written": WRITTEN,
            "long": LONG,
            "bias": BIAS,
        },
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
