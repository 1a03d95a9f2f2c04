"""A stack of layers before any training: what goes up and what comes down.

    apart(X) = ‖X − 1 x̄ᵀ‖ / ‖X‖        at every layer, on the way up
    ‖∂(Σ asked · top) / ∂X‖              at every layer, on the way down

Dong et al. 2021, arXiv 2103.03404, for the first; Xiong et al. 2020, arXiv
2002.04745, for the second. It runs in depth.js; here the layers of
`lookback.layers` compute the same. Weights are uniform within Xavier's
bounds, from a generator that both languages have: mulberry32.
"""

from collections.abc import Iterator
from types import SimpleNamespace

import torch
from matplotlib.figure import Figure
from torch import Tensor
from traitlets import Bool, Int, Unicode, validate

from lookback.layers import EncoderLayer
from lookback.residual import NORMS, apart
from lookback.widgets import base, pictures
from lookback.widgets.checks import need

D, D_FF, DEEPEST = 16, 32, 32
TRAITS = ("tokens", "depth", "seed", "norm", "step")


class Depth(base.Widget):
    """Switch residual, norm and feed-forward; walk up the layers.

    `step` is the layer that is shown; 0 is the input of the first.

    Raises:
        TraitError: for traits out of range.
    """

    _esm = base.module("depth")
    _css = base.style("depth")
    tokens = Int(6).tag(sync=True)
    depth = Int(12).tag(sync=True)
    seed = Int(1).tag(sync=True)
    residual = Bool(False).tag(sync=True)
    norm = Unicode("none").tag(sync=True)
    feedforward = Bool(False).tag(sync=True)
    step = Int(0).tag(sync=True)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        need(2 <= new.tokens <= 12, f"tokens is {new.tokens}: 2 to 12")
        deep = 1 <= new.depth <= DEEPEST
        need(deep, f"depth is {new.depth}: 1 to {DEEPEST} layers")
        need(0 <= new.seed < 2**31, f"seed is {new.seed}: 0 to 2³¹ − 1")
        need(new.norm in NORMS, f"norm is {new.norm!r}: {', '.join(NORMS)}")
        need(new.step >= 0, f"step is {new.step}: layers count from 0")
        return proposal["value"]

    def words(self) -> str:
        xs, gradients = run(self)
        share = gradients[0].norm() / gradients[-1].norm()
        return (
            f"{self.depth} layers; residual {'on' if self.residual else 'off'},"
            f" norm {self.norm}, feed-forward"
            f" {'on' if self.feedforward else 'off'}. At the top the tokens lie"
            f" {float(apart(xs[-1])):.2g} of their length from their mean; the"
            f" input's gradient is {float(share):.2g} times the top's."
        )

    def draw(self, figure: Figure) -> None:
        xs, gradients = run(self)
        share = [float(g.norm() / gradients[-1].norm()) for g in gradients]
        charts = figure.subplots(1, 2)
        named = {
            "tokens apart": [float(apart(x)) for x in xs],
            "gradient, top = 1": share,
        }
        for axes, (name, row) in zip(charts, named.items(), strict=True):
            axes.plot(row, color=pictures.BLUE, marker=".")
            axes.set(title=name, xlabel="layer", yscale="log")


def uniform(seed: int) -> Iterator[float]:
    """mulberry32: numbers from 0 up to 1, as depth.js draws them."""
    a, low = seed, 0xFFFFFFFF
    while True:
        a = (a + 0x6D2B79F5) & low
        t = (a ^ (a >> 15)) * (1 | a) & low
        t = ((t + ((t ^ (t >> 7)) * (61 | t) & low)) & low) ^ t
        yield ((t ^ (t >> 14)) & low) / 2**32


def stack(state) -> tuple[Tensor, Tensor, list[EncoderLayer]]:
    """The tokens, what is asked of the top, and the layers, in float64."""
    numbers = uniform(state.seed)

    def drawn(rows: int, columns: int, most: float) -> Tensor:
        row = [(2 * next(numbers) - 1) * most for _ in range(rows * columns)]
        return torch.tensor(row, dtype=torch.float64).view(rows, columns)

    x, asked = (drawn(state.tokens, D, 3**0.5) for _ in range(2))
    config = SimpleNamespace(
        d_model=D,
        heads=1,
        d_ff=D_FF if state.feedforward else 0,
        dropout=0.0,
        positions="none",
        norm=state.norm,
        residual=state.residual,
        scaled=True,
        activation="relu",
    )
    layers = []
    for _ in range(state.depth):
        layer = EncoderLayer(config).double().eval()
        maps = [getattr(layer.attention, f"W_{name}") for name in "QKVO"]
        shapes = [(D, D)] * 4 + [(D_FF, D), (D, D_FF)]
        if state.feedforward:
            maps += [layer.feedforward.W_1, layer.feedforward.W_2]
        values = [drawn(*s, (6 / sum(s)) ** 0.5) for s in shapes]
        for linear, value in zip(maps, values, strict=False):
            linear.weight.data, linear.bias.data = value, linear.bias.data * 0
        layers.append(layer)
    return x, asked, layers


def run(state) -> tuple[list[Tensor], list[Tensor]]:
    """X after every layer, and the gradient that arrives there."""
    with torch.random.fork_rng(devices=[]):
        x, asked, layers = stack(state)
    xs = [x.requires_grad_()]
    for layer in layers:
        xs.append(layer(xs[-1][None])[0][0])
    gradients = torch.autograd.grad((asked * xs[-1]).sum(), xs)
    return [each.detach() for each in xs], list(gradients)
