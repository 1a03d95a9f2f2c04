"""What stack.js computes, with the book's own layers: up and down a stack.

    xs          the tokens X at every level, on the way up
    gradients   ∂(Σ asked · top) / ∂X at every level, on the way down

No training: weights are uniform within Xavier's bounds, drawn by mulberry32,
which both languages have.
"""

import math

import torch
from torch import Tensor

from lookback.layers import EncoderLayer, LayerConfig
from lookback.widgets import base
from lookback.widgets.lib.mulberry import uniform

LIMITS = base.limits("depth")
D, D_FF = LIMITS["d_model"], LIMITS["d_ff"]


def layer_config(state) -> LayerConfig:
    """What every layer is told."""
    return LayerConfig(
        d_model=D,
        heads=1,
        d_ff=D_FF if state.feedforward else 0,
        dropout=0.0,
        norm=state.norm,
        residual=state.residual,
    )


def stack(state) -> tuple[Tensor, Tensor, list[EncoderLayer]]:
    """The tokens, the direction asked of the top, the layers, in float64."""
    shapes = [(D, D)] * 4 + [(D_FF, D), (D, D_FF)]
    each = sum(math.prod(shape) for shape in shapes)
    count = 2 * state.tokens * D + state.depth * each
    numbers = iter(uniform(state.seed, count).tolist())

    def drawn(rows: int, columns: int, most: float) -> Tensor:
        row = [(2 * next(numbers) - 1) * most for _ in range(rows * columns)]
        return torch.tensor(row, dtype=torch.float64).view(rows, columns)

    x, asked = (drawn(state.tokens, D, 3**0.5) for _ in range(2))
    config, layers = layer_config(state), []
    for _ in range(state.depth):
        layer = EncoderLayer(config).double().eval()
        maps = [getattr(layer.attention, f"W_{name}") for name in "QKVO"]
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
        xs.append(layer(xs[-1][None])[0])
    gradients = torch.autograd.grad((asked * xs[-1]).sum(), xs)
    return [each.detach() for each in xs], list(gradients)
