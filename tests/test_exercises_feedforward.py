"""Plausible wrong answers to the feed-forward exercises, and their hints."""

import numpy as np
import pytest
import torch
from test_exercises import said_about
from torch import nn
from torch.nn import functional as F

from lookback.exercises import check

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    "answer, words",
    [
        ([-24, 8], "ReLU is missing"),
        ([0.8, 0.672], "softmax of the scores"),
        ([0.667, 0.333], "divided by the sum"),
        ([28, -6], "absolute value"),
        ([1, -1], "each once"),
        ([2, 4], "Only the strongest"),
        ([7, 70], "Keys and values are exchanged"),
        ([10, 6], "bend stands inside"),
        ([2, 0, 1, 0], "Four numbers are how strongly"),
        ([5, 5], "no slip that the check knows"),
        ([2], "You gave 1 number;"),
        ("2, 1", "plain numbers"),
    ],
)
def test_memory_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "memory_by_hand", answer)


@pytest.mark.parametrize("answer", [(2, 1), torch.tensor([2.0, 1.0])])
def test_memory_by_hand_takes_the_right_answer(answer):
    assert check.memory_by_hand(answer) is True
    assert check.memory_by_hand(np.array([2, 1])) is True


def bent(bend, after=lambda y: y):
    def mine(x, W_1, b_1, W_2, b_2):
        return after(bend(x @ W_1 + b_1) @ W_2 + b_2)

    return mine


def straight(a):
    return a


@pytest.mark.parametrize(
    "mine, words",
    [
        (bent(straight), "two maps are one map"),
        (bent(torch.relu, torch.relu), "bend the result as well"),
        (bent(straight, torch.relu), "bend only the result"),
        (bent(F.gelu), "GELU"),
        (bent(torch.tanh), "tanh"),
        (bent(lambda a: a.softmax(-1)), "attention's bend"),
        (bent(lambda a: a.clamp(max=0)), "max(0, ·), not min"),
        (
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1).relu() @ W_2,
            "Both biases",
        ),
        (
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1).relu() @ W_2 + b_2,
            "b_1 is missing",
        ),
        (
            lambda x, W_1, b_1, W_2, b_2: ((x @ W_1).relu() + b_1) @ W_2 + b_2,
            "added after the bend",
        ),
        (
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu() @ W_2,
            "b_2 is missing",
        ),
        (
            lambda x, W_1, b_1, W_2, b_2: (
                x + (x @ W_1 + b_1).relu() @ W_2 + b_2
            ),
            "next chapter's",
        ),
        (
            lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1).relu(),
            "takes it back",
        ),
        (bent(torch.relu, lambda y: y.mean(1)), "one for each position"),
    ],
)
def test_position_wise(mine, words, capsys):
    assert words in said_about(capsys, "position_wise", mine)


def by_module(x, W_1, b_1, W_2, b_2):
    first, second = nn.Linear(*W_1.shape), nn.Linear(*W_2.shape)
    weights = ((first, W_1, b_1), (second, W_2, b_2))
    for layer, W, b in weights:
        layer.weight.data, layer.bias.data = W.T.contiguous(), b
    return nn.Sequential(first, nn.ReLU(), second)(x)


def by_numpy(x, W_1, b_1, W_2, b_2):
    x, W_1, b_1, W_2, b_2 = (y.numpy() for y in (x, W_1, b_1, W_2, b_2))
    return torch.from_numpy(np.maximum(0, x @ W_1 + b_1) @ W_2 + b_2)


def by_einsum(x, W_1, b_1, W_2, b_2):
    x, W_1, b_1, W_2, b_2 = (y.double() for y in (x, W_1, b_1, W_2, b_2))
    inner = torch.einsum("...i,ij->...j", x, W_1) + b_1
    return torch.einsum("...j,jk->...k", inner * (inner > 0), W_2) + b_2


def by_units(x, W_1, b_1, W_2, b_2):
    y = torch.zeros_like(x) + b_2
    for i in range(len(b_1)):
        fires = (x @ W_1[:, i] + b_1[i]).clamp(min=0)
        y = y + fires[..., None] * W_2[i]
    return y


@pytest.mark.parametrize("mine", [by_module, by_units, by_numpy, by_einsum])
def test_position_wise_by_other_routes(mine):
    assert check.position_wise(mine) is True


def gated(combine):
    return lambda x, W_1, W_3, W_2: combine(x @ W_1, x @ W_3) @ W_2


@pytest.mark.parametrize(
    "mine, words",
    [
        (gated(lambda a, b: F.silu(b) * a), "W_1 and W_3 are exchanged"),
        (gated(lambda a, b: a.sigmoid() * b), "sigmoid of x W_1"),
        (gated(lambda a, b: a * b), "gate is not bent"),
        (gated(lambda a, b: a * b.sigmoid()), "σ takes x W_3"),
        (gated(lambda a, b: a / (1 + a.exp()) * b), "The sign"),
        (gated(lambda a, b: F.silu(a) + b), "add the two halves"),
        (gated(lambda a, b: a.relu() * b), "ReGLU"),
        (gated(lambda a, b: F.gelu(a) * b), "GEGLU"),
        (gated(lambda a, b: F.silu(a) * F.silu(b)), "Both halves are bent"),
        (gated(lambda a, b: F.silu(a * b)), "You bend the product"),
        (gated(lambda a, b: F.silu(a)), "W_3 is not used"),
        (
            lambda x, W_1, W_3, W_2: F.silu(x @ W_1) * (x @ W_3),
            "takes it back to d_model",
        ),
    ],
)
def test_swiglu(mine, words, capsys):
    assert words in said_about(capsys, "swiglu", mine)


@pytest.mark.parametrize("silu", [F.silu, nn.SiLU(), nn.functional.silu])
def test_swiglu_is_right_with_silu_and_not_accepted(silu, capsys):
    said = said_about(capsys, "swiglu", gated(lambda a, b: silu(a) * b))
    assert "The numbers are right. Now without torch's silu" in said


def unit_by_unit(x, W_1, W_3, W_2):
    y = np.zeros((len(x), W_2.shape[1]))
    x, W_1, W_3, W_2 = (each.numpy() for each in (x, W_1, W_3, W_2))
    for n, row in enumerate(x):
        for k, g, v in zip(W_1.T, W_3.T, W_2, strict=True):
            y[n] += (row @ k) / (1 + np.exp(-row @ k)) * (row @ g) * v
    return torch.tensor(y)


@pytest.mark.parametrize(
    "mine",
    [
        gated(lambda a, b: a * b / (1 + (-a).exp())),
        gated(lambda a, b: torch.einsum("nf,nf,nf->nf", a, a.sigmoid(), b)),
        unit_by_unit,
    ],
)
def test_swiglu_by_another_route(mine):
    assert check.swiglu(mine) is True


def share(count):
    """A share from feed-forward, attention and one table of embeddings."""

    def mine(sizes):
        d, d_ff = sizes["d_model"], sizes["d_ff"]
        layers, vocab = sizes["layers"], sizes["vocab"]
        return count(2 * d * d_ff, 4 * d * d, vocab * d, layers)

    return mine


def biased(sizes):
    d, d_ff = sizes["d_model"], sizes["d_ff"]
    feed = sizes["layers"] * (2 * d * d_ff + d + d_ff)
    rest = sizes["layers"] * 4 * (d * d + d)
    return feed / (feed + rest + sizes["vocab"] * d)


@pytest.mark.parametrize(
    "mine, words",
    [
        (share(lambda f, a, v, n: f / (f + a)), "embeddings are missing"),
        (share(lambda f, a, v, n: f / (f + a + v)), "in every layer"),
        (
            share(lambda f, a, v, n: n * f / (n * (f + a) + 2 * v)),
            "count two tables",
        ),
        (
            share(lambda f, a, v, n: n * f / (n * (f + 0.75 * a) + v)),
            "W_O belongs to it",
        ),
        (
            share(lambda f, a, v, n: n * f / 2 / (n * (f / 2 + a) + v)),
            "Only one of the two",
        ),
        (share(lambda f, a, v, n: n * a / (n * (f + a) + v)), "attention's"),
        (
            share(lambda f, a, v, n: n * f / (n * f + v)),
            "attention is missing",
        ),
        (share(lambda f, a, v, n: n * f / (n * a + v)), "a ratio"),
        (
            share(lambda f, a, v, n: 100 * n * f / (n * (f + a) + v)),
            "not per cent",
        ),
        (lambda sizes: "a half" + str(len(sizes)), "one number"),
        (share(lambda f, a, v, n: n * f), "not per cent or a count"),
        (
            share(lambda f, a, v, n: n * f / (n * f + a + v)),
            "of one layer only",
        ),
        (
            share(lambda f, a, v, n: f / (f + n * a + v)),
            "feed-forward of one layer only",
        ),
        (
            share(lambda f, a, v, n: n * f / (n * (f + 2 * a) + v)),
            "two attentions a layer",
        ),
        (
            share(lambda f, a, v, n: n * f / (n * (f + a / 4) + v)),
            "it has four",
        ),
        (share(lambda f, a, v, n: 2 * n * a / (3 * n * a + v)), "and differs"),
        (biased, "Biases are counted too"),
        (lambda sizes: [0.458, len(sizes)], "yours is list"),
    ],
)
def test_feedforward_share(mine, words, capsys):
    assert words in said_about(capsys, "feedforward_share", mine)


def test_feedforward_share_by_another_route():
    from lookback.budget import Sizes, count

    def mine(sizes):
        model = Sizes(
            sizes["d_model"],
            sizes["d_ff"],
            1,
            sizes["vocab"],
            decoder=sizes["layers"],
        )
        parts = list(count(model).values())
        return parts[2] / sum(parts[:3])

    assert check.feedforward_share(mine) is True
    whole = share(lambda f, a, v, n: f / (f + a + v / n))
    assert check.feedforward_share(whole) is True
    tensor = share(lambda f, a, v, n: torch.tensor(f / (f + a + v / n)))
    assert check.feedforward_share(tensor) is True
