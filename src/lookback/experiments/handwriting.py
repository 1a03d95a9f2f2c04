"""Which attention writes: a window that slides, or one by content?

Short lines of random letters in our own alphabet of strokes; of each point it
is known to which letter it belongs. Three networks that differ in how the
weights on the letters are made: Graves' window; RNNsearch's attention, handed
the annotations of a bidirectional encoder; a window that may also slide back.
Each has as many updates, at each of four learning rates, with three seeds; the
rate that is best on other short lines is kept. Content-based attention is also
trained three times as long. Then lines longer than those of the training.
Beside them two baselines, which move at an even pace and learn nothing. The
model of the page is trained on lines of up to sixty letters. Writes
records/handwriting.json and that model's weights. Needs no corpus.

    python -m lookback.experiments.handwriting
    python -m lookback.experiments.handwriting --only page
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from lookback.experiments.runs import bare, campaign
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
from lookback.rnnsearch import AdditiveAttention, annotate

SHORT, TESTS = (2, 6), (6, 13, 30)  # letters of a line
BATCH, LIMIT = 16, 10.0  # lines; the longest gradient
UPDATES, RATES = 900, (2e-3, 4e-3, 8e-3, 1.6e-2)  # of every network; Adam
RATE, TIMES = 4e-3, 3  # of the page's model and of the longer training
STAGES = ((600, 8, 32), (400, 24, 24), (500, 60, 16))  # updates, letters, lines
WARMUP = 50  # updates up to the rate, which then falls to 0
EVERY = 25  # updates of a point on the curve
SAVE = 50  # updates between checkpoints
LINES, WRITTEN = 40, 20  # for each test; lines of each length that are written
LONG = 60
BIAS = 1.0  # the sampling bias of what is written for the record
SEEDS = 3
TESTED, HELD_OUT = 1, 3  # seeds of the lines that nobody learns from


class Reading(NamedTuple):
    """A `State`, and the annotations of the letters."""

    h: Tensor
    top: Tensor
    kappa: Tensor
    seen: Tensor
    keys: Float[Tensor, "batch source align"]
    notes: Float[Tensor, "batch source d_v"]


class Content(Writer):
    """RNNsearch's attention: a query compared with bidirectional annotations.

    What is summed are the annotations, too.
    """

    def __init__(self, config: WriterConfig):
        super().__init__(config)
        half, whole = config.hidden // 2, config.hidden
        self.encoder = nn.GRU(
            config.signs, half, batch_first=True, bidirectional=True
        )
        self.attention = AdditiveAttention(whole, whole, half)
        self.first = nn.GRUCell(3 + whole, whole)
        self.second = nn.GRU(3 + whole + whole, whole, batch_first=True)
        del self.window

    def begin(self, text: Tensor) -> Reading:
        notes = annotate(self.encoder, text, text.any(-1))
        state = super().begin(text)._replace(seen=torch.zeros_like(notes[:, 0]))
        return Reading(*state, self.attention.U(notes), notes)

    def slide(
        self, point: Tensor, text: Tensor, state: Reading
    ) -> tuple[Reading, Tensor]:
        h = self.first(torch.cat([point, state.seen], -1), state.h)
        seen, phi = self.attention(h, state.keys, state.notes, text.any(-1))
        return state._replace(h=h, seen=seen), phi


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


NETWORKS = {"window": Writer, "content": Content, "both ways": BothWays}
LONGER = "content, longer"


def follow(
    model: Writer, lines: synthetic_handwriting.Lines
) -> tuple[Tensor, Tensor]:
    """−log p of every point, and φ where it was made."""
    raw, phi = model(lines.points, lines.text)
    return negative_log_likelihood(mixture(raw), lines.points), phi


def batch(
    texts: Sequence[str], rng: np.random.Generator
) -> synthetic_handwriting.Lines:
    """Lines of these texts, each in a style of its own."""
    lines = synthetic_handwriting.lines(texts, rng)
    return synthetic_handwriting.Lines(*(part.to(device()) for part in lines))


def texts(
    letters: tuple[int, int], count: int, rng: np.random.Generator
) -> list[str]:
    """So many texts of one length, which is drawn."""
    length = int(rng.integers(letters[0], letters[1] + 1))
    return [synthetic_handwriting.words(length, rng) for _ in range(count)]


def teach(
    model: Writer,
    stages: Iterable[tuple[int, tuple[int, int], int]],
    seed: int,
    rate: float,
    folder: Path | None = None,
) -> list[float]:
    """Train; the curve. With a folder, an interrupted training is resumed.

    A stage is its updates, the fewest and the most letters, and the lines of
    a batch. Each update draws its lines from a generator of its own.
    """
    stages = [*stages]
    plan = [one for stage in stages for one in [stage[1:]] * stage[0]]
    adam = torch.optim.Adam(model.parameters(), rate)
    made_by = identity(
        model,
        {"rate": rate, "seed": seed, "stages": stages},
        training=teach,
    )
    losses = resume(folder, model, adam, made_by) if folder else []
    while (done := len(losses)) < len(plan):
        letters, count = plan[done]
        share = min((done + 1) / WARMUP, 1) * (1 - done / len(plan))
        adam.param_groups[0]["lr"] = share * rate
        rng = np.random.default_rng([seed, done])
        lines = batch(texts(letters, count, rng), rng)
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
def score(model: Writer, length: int, which: int = TESTED) -> dict:
    """Nats a point, and how often φ is largest on the point's own letter.

    `sign` counts another place with the same letter as right, too.
    """
    rng = np.random.default_rng([which, length])
    lines = batch(texts((length, length), LINES, rng), rng)
    nats, phi = follow(model, lines)
    tenths = [
        on_letter(phi.argmax(-1), lines, lines.letters // 10 == i)["right"]
        for i in range(length // 10)
    ]
    found = on_letter(phi.argmax(-1), lines, lines.mask)
    return {"nats": nats[lines.mask].mean().item(), **found, "tens": tenths}


def on_letter(
    at: Tensor, lines: synthetic_handwriting.Lines, which: Tensor
) -> dict:
    """How many of these points are right, by the place and by the letter."""
    signs, which = lines.text.argmax(-1), which & lines.mask
    alike = signs.gather(1, at) == signs.gather(1, lines.letters)
    return {
        "right": (at == lines.letters)[which].float().mean().item(),
        "sign": alike[which].float().mean().item(),
    }


def baselines(length: int) -> dict:
    """How often a place that moves at an even pace is right.

    `constant` takes the usual time for every letter; `diagonal` is told how
    many points the line will have.
    """
    rng = np.random.default_rng([1, length])
    lines = synthetic_handwriting.lines(
        texts((length, length), LINES, rng), rng
    )
    written = (lines.letters < length) & lines.mask  # without the rest
    t = torch.arange(lines.letters.shape[1]) + 0.5
    paces = {
        "constant": 1 / WriterConfig.points,
        "diagonal": length / written.sum(1, keepdim=True),
    }
    return {
        name: on_letter(
            (t * pace).long().clamp(max=length).expand_as(lines.letters),
            lines,
            written,
        )
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
        uniform = torch.from_numpy(rng.random((most, 4), dtype=np.float32))
        points, _ = write(model, signs, uniform, bias)
        stops += len(points) < most
        excess.append((len(points) - usual(text)) / usual(text) * len(text))
    return {"ended": stops / WRITTEN, "excess": mean(excess)}


def run(name: str, rate: float, times: int, seed: int, folder: Path) -> dict:
    """Train a network on short lines, and try it on longer ones."""
    torch.manual_seed(seed)
    model = NETWORKS[name](WriterConfig()).to(device())
    folder.mkdir(parents=True, exist_ok=True)
    stages = [(times * UPDATES, SHORT, BATCH)]
    return {
        "curve": teach(model, stages, seed, rate, folder),
        "weights": sum(part.numel() for part in model.parameters()),
        "held out": score(model, SHORT[1], HELD_OUT)["nats"],
        "scores": {str(n): score(model, n) for n in TESTS},
    }


def page(seed: int, folder: Path) -> dict:
    """Train the model of the page, and keep its weights with the book."""
    torch.manual_seed(seed)
    model = Writer(WriterConfig()).to(device())
    stages = [(n, (1, most), lines) for n, most, lines in STAGES]
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "curve": teach(model, stages, seed, RATE, folder),
        "weights": sum(part.numel() for part in model.parameters()),
    }
    weights.save("handwriting", model)
    model = weights.load("handwriting", Writer)[0]  # as it is kept
    found["scores"] = {str(n): score(model, n) for n in (*TESTS, LONG)}
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

    kept = ("curve", "scores")
    return {"weights": runs[0]["weights"]} | {
        key: gather([one[key] for one in runs]) for key in kept
    }


def tuned(name: str, found: dict[str, list[dict]]) -> dict:
    """A network at the rate that is best on lines held out, over its seeds."""
    tried = {
        rate: [one["held out"] for one in found[f"{name}, {rate}"]]
        for rate in RATES
    }
    best = min(RATES, key=lambda rate: mean(tried[rate]))
    return over_seeds(found[f"{name}, {best}"]) | {
        "rate": best,
        "tried": [tried[rate] for rate in RATES],
        "at": [
            over_seeds(found[f"{name}, {rate}"])["scores"] for rate in RATES
        ],
    }


def summary(found: dict[str, list[dict]]) -> dict:
    """Each network over its seeds; of the page's model there is one."""
    return {name: tuned(name, found) for name in NETWORKS} | {
        LONGER: over_seeds(found[LONGER]),
        "page": bare(found["page"][0]),
        "baselines": {str(n): baselines(n) for n in TESTS},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)

    def first(seed: int, folder: Path) -> dict:
        return page(seed, folder) if seed == 0 else {}

    parts = {
        f"{name}, {rate}": partial(run, name, rate, 1)
        for rate in RATES
        for name in NETWORKS
    }
    campaign(
        "handwriting",
        __doc__,
        parts | {LONGER: partial(run, "content", RATE, TIMES), "page": first},
        summary,
        config={
            "short": list(SHORT),
            "tests": list(TESTS),
            "batch": BATCH,
            "updates": UPDATES,
            "longer": TIMES * UPDATES,
            "rates": list(RATES),
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
