"""Which attention writes: a window that slides, or one by content?

Short lines of random letters in our own alphabet of strokes; of each point it
is known to which letter it belongs. Three networks that differ in how the
weights on the letters are made: Graves' window; RNNsearch's attention, handed
the annotations of a bidirectional encoder; a window that may also slide back.
Each has as many updates, at the same learning rate, with three seeds. Then lines
longer than those of the training. Beside them two baselines, which move at an
even pace and learn nothing. The model that the page has is trained on
lines of up to sixty letters. Writes records/handwriting.json and that model's
weights. Needs no corpus.

    python -m lookback.experiments.handwriting
    python -m lookback.experiments.handwriting --only page
"""

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cache
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
from lookback.rnnsearch import AdditiveAttention, annotate

SHORT, TESTS = (2, 6), (6, 13, 30)  # letters of a line
BATCH, LIMIT = 16, 10.0  # lines; the longest gradient
UPDATES, RATE = (
    900,
    4e-3,
)  # of every network; Adam's rate, the page's model's, too
STAGES = ((600, 8, 32), (400, 24, 24), (500, 60, 16))  # updates, letters, lines
WARMUP = 50  # updates up to the rate, which then falls to 0
EVERY = 25  # updates of a point on the curve
SAVE = 50  # updates between checkpoints
LINES, WRITTEN = 40, 20  # for each test; lines of each length that are written
LONG = 60
BIAS = 1.0  # the sampling bias of what is written for the record
SEEDS = 3


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


class Linears:
    """Linear layers of several models: each takes its own rows of the batch."""

    def __init__(self, weights: Sequence[Tensor], biases: Sequence[Tensor]):
        self.weight = torch.stack([*weights]).mT
        self.bias = torch.stack([*biases])[:, None]

    def __call__(self, x: Tensor) -> Tensor:
        rows = x.reshape(len(self.weight), -1, x.shape[-1])
        made = torch.baddbmm(self.bias, rows, self.weight)
        return made.view(*x.shape[:-1], -1)


def linears(layers: Sequence[nn.Linear]) -> Linears:
    """The same layer of several models; a bias that there is not is 0."""
    none = torch.zeros_like(layers[0].weight[:, 0])
    return Linears(
        [one.weight for one in layers],
        [none if one.bias is None else one.bias for one in layers],
    )


def cells(layers: Sequence[nn.Module], end: str = ""):
    """A step of several GRUs: x's part of the gates, and what h makes of it."""
    take, turn = (
        Linears(
            *(
                [getattr(one, f"{kind}_{of}{end}") for one in layers]
                for kind in ("weight", "bias")
            )
        )
        for of in ("ih", "hh")
    )

    def step(given: Tensor, h: Tensor) -> Tensor:
        (r, z, n), (r_, z_, n_) = given.chunk(3, -1), turn(h).chunk(3, -1)
        new = torch.tanh(n + (r + r_).sigmoid() * n_)
        return new + (z + z_).sigmoid() * (h - new)

    return take, step


def layer(layers: Sequence[nn.GRU], back: bool = False):
    """Several GRUs over x of [batch, steps, …], or over x from its end on."""
    take, step = cells(layers, "_l0_reverse" if back else "_l0")

    def run(x: Tensor) -> Tensor:
        given, said = take(x).unbind(1), []
        h = x.new_zeros(len(x), layers[0].hidden_size)
        for now in reversed(given) if back else given:
            said.append(h := step(now, h))
        return torch.stack(said[::-1] if back else said, 1)

    return run


def abreast(models: Sequence[Writer]) -> Writer:
    """A model that does with its rows what each of these does with its own.

    One pass in place of several, and the gradient reaches the models. The texts
    of a batch are of one length.
    """
    one = copy(models[0])
    one._modules = {}
    take, step = cells([m.first for m in models])
    one.first = lambda x, h: step(take(x), h)
    above = layer([m.second for m in models])
    one.second = lambda x: (above(x), None)
    one.output = linears([m.output for m in models])
    if isinstance(one, Content):
        scorers = [m.attention for m in models]
        w, u = (linears([getattr(a, k) for a in scorers]) for k in "WU")
        v = torch.stack([a.v for a in scorers])
        one.attention = copy(scorers[0])
        one.attention._modules = {}
        one.attention.W, one.attention.U = w, u

        def scores(query: Tensor, keys: Tensor) -> Tensor:
            hidden = torch.tanh(w(query)[:, None] + keys)
            rows = hidden.reshape(len(v), -1, v.shape[1]) @ v[..., None]
            return rows.view(hidden.shape[:2])

        one.attention.scores = scores
        ways = [
            layer([m.encoder for m in models], back) for back in (False, True)
        ]
        one.encoder = lambda x: torch.cat([way(x) for way in ways], -1)
        one.begin = lambda text: beginning(one, text)
    else:
        one.window = linears([m.window for m in models])
    return one


def beginning(model: Content, text: Tensor) -> Reading:
    """`Content.begin` where all texts are of one length."""
    notes = model.encoder(text)
    state = Writer.begin(model, text)._replace(
        seen=torch.zeros_like(notes[:, 0])
    )
    return Reading(*state, model.attention.U(notes), notes)


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
    models: Sequence[Writer],
    stages: Iterable[tuple[int, tuple[int, int], int]],
    seeds: Sequence[int],
    rates: Sequence[float],
    folder: Path | None = None,
) -> list[list[float]]:
    """Train models side by side, each with its seed's lines, at its rate.

    Their curves. With a folder, an interrupted training is resumed. A stage is
    its updates, the fewest and the most letters, and the lines of a batch. Each
    update draws its lines from a generator of its own.
    """
    stages = [*stages]
    plan = [one for stage in stages for one in [stage[1:]] * stage[0]]
    adam = torch.optim.Adam(
        [
            {"params": [*model.parameters()], "lr": rate}
            for model, rate in zip(models, rates, strict=True)
        ]
    )
    whole = models[0] if len(models) == 1 else nn.ModuleList(models)
    made_by = identity(
        whole,
        {"rates": [*rates], "seeds": [*seeds], "stages": stages},
        training=teach,
    )
    different = sorted({*seeds})
    losses = resume(folder, whole, adam, made_by) if folder else []
    while (done := len(losses)) < len(plan):
        letters, count = plan[done]
        share = min((done + 1) / WARMUP, 1) * (1 - done / len(plan))
        for group, rate in zip(adam.param_groups, rates, strict=True):
            group["lr"] = share * rate
        rng = np.random.default_rng([different[0], done])
        lines = batch(texts(letters, count * len(different), rng), rng)
        rows = [
            torch.arange(count) + count * different.index(seed)
            for seed in seeds
        ]
        lines = type(lines)(*(part[torch.cat(rows)] for part in lines))
        model = whole if len(models) == 1 else abreast(models)
        nats = follow(model, lines)[0] * lines.mask
        loss = nats.unflatten(0, (len(models), -1)).sum((1, 2))
        loss = loss / lines.mask.unflatten(0, (len(models), -1)).sum((1, 2))
        adam.zero_grad()
        loss.sum().backward()
        for one in models:
            nn.utils.clip_grad_norm_(one.parameters(), LIMIT)
        adam.step()
        losses.append(loss.tolist())
        if folder and len(losses) % SAVE == 0:
            keep(folder, whole, adam, losses, made_by)
    points = range(0, len(losses), EVERY)
    return [
        [round(mean(each[i : i + EVERY]), 4) for i in points]
        for each in zip(*losses, strict=True)
    ]


def keep(
    folder: Path, model: nn.Module, adam, losses: list, made_by: dict
) -> None:
    """Write the weights, Adam's moments and the losses so far."""
    path = folder / "checkpoint.safetensors"
    checkpoints.save(path, checkpoints.state(model, adam), made_by, losses)


def resume(folder: Path, model: nn.Module, adam, made_by: dict) -> list:
    """Take up what `keep` wrote, if there is such a thing; the losses.

    Raises ValueError if it is damaged, or of another training.
    """
    path = folder / "checkpoint.safetensors"
    if (found := checkpoints.take_up(path, made_by)) is None:
        return []
    checkpoints.give(found[0], model, adam)
    return found[1]


@torch.no_grad()
def score(model: Writer, length: int) -> dict:
    """Nats a point, and how often φ is largest on the point's own letter.

    `sign` counts another place with the same letter as right, too.
    """
    rng = np.random.default_rng([1, length])
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


@cache
def trained(name: str, folder: Path) -> list[dict]:
    """A network trained with all seeds on short lines, and tested."""
    models, seeds = [], [*range(SEEDS)]
    for seed in seeds:
        torch.manual_seed(seed)
        models.append(NETWORKS[name](WriterConfig()).to(device()))
    place = folder / f"{name}-training"
    place.mkdir(parents=True, exist_ok=True)
    curves = teach(
        models, [(UPDATES, SHORT, BATCH)], seeds, SEEDS * [RATE], place
    )
    return [
        {
            "curve": curve,
            "weights": sum(part.numel() for part in model.parameters()),
            "scores": {str(n): score(model, n) for n in TESTS},
        }
        for model, curve in zip(models, curves, strict=True)
    ]


def page(seed: int, folder: Path) -> dict:
    """Train the model of the page, and keep its weights with the book."""
    torch.manual_seed(seed)
    model = Writer(WriterConfig()).to(device())
    stages = [(n, (1, most), lines) for n, most, lines in STAGES]
    folder.mkdir(parents=True, exist_ok=True)
    [curve] = teach([model], stages, [seed], [RATE], folder)
    found = {
        "curve": curve,
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


def summary(found: dict[str, list[dict]]) -> dict:
    """Each network over its seeds; of the page's model there is one."""
    return {
        name: runs[0] if name == "page" else over_seeds(runs)
        for name, runs in found.items()
    } | {"baselines": {str(n): baselines(n) for n in TESTS}}


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)

    def part(name: str):
        return lambda seed, folder: trained(name, folder.parent)[seed]

    def first(seed: int, folder: Path) -> dict:
        return page(seed, folder) if seed == 0 else {}

    campaign(
        "handwriting",
        __doc__,
        {name: part(name) for name in NETWORKS} | {"page": first},
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
