"""The exercises of `feedforward`: each check beside its reference solution.

What is right comes from torch's own convolution, from loops over positions and
hidden units, and from counting the matrices of a model built without memory,
never from the solution.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from lookback.budget import Sizes, count
from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    NO_GRADIENT,
    Called,
    Hint,
    as_number,
    exercise,
    float64,
    learnable,
    random_inputs,
)

_X = (2, -1)
_KEYS = ((1, 0), (0, 3), (1, 1), (1, 4))
_VALUES = ((1, 2), (6, -5), (0, -3), (4, 4))


def memory_by_hand_solution():
    """Σ_i max(0, x · k_i) v_i for four hidden units."""
    scores = [2, -3, 1, -2]  # x · k_i
    a, _, c, _ = (max(0, each) for each in scores)  # 2, 0, 1, 0
    return (a * 1 + c * 0, a * 2 + c * -3)  # 2, 1


def _other_memory(draw):
    """A query, and four keys and values."""

    def pair(most):
        return draw.randrange(-most, most + 1), draw.randrange(-most, most + 1)

    return {
        "x": (draw.choice((1, 2)), draw.choice((-2, -1, 1))),
        "k": tuple(pair(3) for _ in range(4)),
        "v": tuple(pair(6) for _ in range(4)),
    }


@by_hand(
    memory_by_hand_solution,
    "the two numbers of the answer",
    ["first number", "second number"],
    known={
        4: "Four numbers are the activations of the units. The answer is the "
        "sum of the values, each times its activation: two numbers."
    },
    vary=("x = {x}, the keys {k} and the values {v}", _other_memory),
)
def memory_by_hand(x=_X, k=_KEYS, v=_VALUES):
    """What a memory of four keys and values answers to x."""
    x, keys, values = map(float64, (x, k, v))
    score = keys @ x
    active = score.clamp(min=0)
    found = {i + 1: f"{s:g}" for i, s in enumerate(active.tolist()) if s}
    units = ", ".join(f"unit {i} is active with {s}" for i, s in found.items())
    answer = active @ values
    mistakes = {
        "The ReLU is missing: a unit whose score is negative adds nothing, "
        "and does not subtract.": score @ values,
        "You took the softmax of the scores. That is attention; this memory "
        "applies max(0, ·) and does not divide.": score.softmax(0) @ values,
        "You divided by the sum of the activations. Attention does that; here "
        "nothing is divided.": answer / active.sum(),
        "You took the absolute value: max(0, s) makes negative scores 0.": (
            score.abs() @ values
        ),
        "You added up the values of the active units, each once. Each value "
        "counts as much as its unit is active.": (
            (score > 0).double() @ values
        ),
        "Only the strongest unit answers in yours; the other active units "
        "are added too.": active.max() * values[active.argmax()],
        "Keys and values are exchanged: x meets the keys.": (
            (values @ x).clamp(min=0) @ keys
        ),
        "The ReLU takes the score: max(0, x · k), not max(0, x) · k.": (
            (keys @ x.clamp(min=0)).clamp(min=0) @ values
        ),
    }
    otherwise = (
        "The check does not recognize this mistake. First the four scores "
        "x · k_i, with their signs; then ReLU; then the sum of the values, "
        "each times its activation."
    )
    return (
        f"{units}: together {{:g}} and {{:g}}.".format(*answer),
        stage(answer, mistakes, otherwise, around(0.01)),
    )


def position_wise_solution(x, W_1, b_1, W_2, b_2):
    """max(0, x W_1 + b_1) W_2 + b_2."""
    return torch.relu(x @ W_1 + b_1) @ W_2 + b_2


def _convolved(x, W_1, b_1, W_2, b_2):
    """The same by two of torch's convolutions of kernel size 1."""
    columns = x.transpose(1, 2)
    inside = F.conv1d(columns, W_1.T[..., None], b_1).relu()
    return F.conv1d(inside, W_2.T[..., None], b_2).transpose(1, 2)


@exercise(position_wise_solution)
def position_wise(mine):
    """The paper's equation 2, at every position."""
    given = random_inputs(3, (2, 4, 3), (3, 6), (6,), (6, 3), (3,))
    x, *maps = map(float64, given)
    cases = [
        ((by * given[0], *given[1:]), _convolved(by * x, *maps))
        for by in (1, 10)
    ]
    position_wise.compare(mine, cases, "[batch, length, d_model]")
    learnable(mine, *given, to=("x",))
    return (
        "it agrees with two of torch's convolutions of kernel size 1: each "
        "position is computed alone, all with the same maps."
    )


_INNER = "(x @ W_1 + b_1)"
for _hint, *_typed in (
    (
        "The activation function is missing: without max(0, ·) the two maps "
        "are one map.",
        *("torch.relu", ""),
    ),
    (
        "You apply ReLU to the result as well: max(0, ·) stands once, between "
        "the maps.",
        *("torch.relu", "torch.relu(torch.relu", "b_2\n", "b_2)\n"),
    ),
    (
        "You apply ReLU only to the result: max(0, ·) stands between the maps.",
        *("torch.relu", "torch.relu(", "b_2\n", "b_2)\n"),
    ),
    ("Both biases are missing.", *(" + b_1", "", " + b_2", "")),
    (
        "You keep the negative numbers: max(0, ·), not min.",
        *(f"torch.relu{_INNER}", f"{_INNER}.clamp(max=0)"),
    ),
    ("b_1 is missing.", *(" + b_1", "")),
    (
        "b_1 is added after the ReLU; it belongs inside.",
        *(f"torch.relu{_INNER}", "(torch.relu(x @ W_1) + b_1)"),
    ),
    ("b_2 is missing.", *(" + b_2", "")),
    (
        "Your activation function is GELU; equation 2 has max(0, ·).",
        *("torch.relu", "F.gelu"),
    ),
    (
        "Your activation function is tanh; equation 2 has max(0, ·).",
        *("torch.relu", "torch.tanh"),
    ),
    (
        "Your activation function stops at 6; max(0, ·) has no upper end.",
        *("torch.relu", "F.relu6"),
    ),
    (
        "You softmax the hidden layer: that is attention's, and here nothing "
        "is divided.",
        *(f"torch.relu{_INNER}", f"{_INNER}.softmax(-1)"),
    ),
    (
        "x is added to the result. That is the residual connection of the next "
        "chapter, and stands outside the network.",
        *("return ", "return x + "),
    ),
    (
        "That is the hidden layer, d_ff wide; W_2 takes it back.",
        *(" @ W_2 + b_2", ""),
    ),
    (NO_GRADIENT, "(x @ W_1", "(x.detach() @ W_1"),
    (
        "One vector a sentence: the layer has one for each position.",
        *("x @ W_1", "x.mean(1) @ W_1"),
    ),
):
    position_wise.slip(_hint, *_typed)


@position_wise.style
def _by_module(x, W_1, b_1, W_2, b_2):
    first, second = nn.Linear(*W_1.shape), nn.Linear(*W_2.shape)
    for layer, W, b in ((first, W_1, b_1), (second, W_2, b_2)):
        layer.weight.data, layer.bias.data = W.T.contiguous(), b
    return nn.Sequential(first, nn.ReLU(), second)(x)


@position_wise.slip("numpy knows no gradients")
def _by_numpy(x, W_1, b_1, W_2, b_2):
    x, W_1, b_1, W_2, b_2 = (y.numpy() for y in (x, W_1, b_1, W_2, b_2))
    return torch.from_numpy((x @ W_1 + b_1).clip(min=0) @ W_2 + b_2)


@position_wise.style
def _by_units(x, W_1, b_1, W_2, b_2):
    y = torch.zeros_like(x) + b_2
    for i in range(len(b_1)):
        active = (x @ W_1[:, i] + b_1[i]).clamp(min=0)
        y = y + active[..., None] * W_2[i]
    return y


def swiglu_solution(x, W_1, W_3, W_2):
    """(Swish(x W_1) ∘ x W_3) W_2, Swish(a) = a σ(a)."""
    gate = x @ W_1
    return (gate * torch.sigmoid(gate) * (x @ W_3)) @ W_2


def _swiglu_loop(x, W_1, W_3, W_2):
    """One hidden unit at a time."""
    answer = torch.zeros(len(x), W_2.shape[1], dtype=torch.float64)
    for n, row in enumerate(x):
        for i in range(W_1.shape[1]):
            gate = sum(
                float(a * b) for a, b in zip(row, W_1[:, i], strict=True)
            )
            up = sum(float(a * b) for a, b in zip(row, W_3[:, i], strict=True))
            answer[n] += gate / (1 + math.exp(-gate)) * up * W_2[i]
    return answer


_RIGHT = (
    "The numbers are right. Now without torch's silu: write Swish yourself, "
    "a σ(a)."
)


@exercise(swiglu_solution)
def swiglu(mine):
    """Shazeer's gated layer, without biases."""
    given = random_inputs(4, (5, 3), (3, 6), (3, 6), (6, 3))
    cases = [(given, _swiglu_loop(*map(float64, given)))]
    with Called() as called:
        swiglu.compare(mine, cases, "[positions, d_model]")
    learnable(mine, *given)
    if called.names & {"silu", "silu_"}:
        raise Hint(_RIGHT)
    return "every hidden unit is Swish(x · k_i) times its own x · g_i."


_SWISH, _UP = "gate * torch.sigmoid(gate)", " * (x @ W_3)"
for _hint, *_typed in (
    (
        "W_1 and W_3 are exchanged: Swish takes x W_1, and x W_3 stays as "
        "it is.",
        *("gate = x @ W_1", "gate = x @ W_3", _UP, " * (x @ W_1)"),
    ),
    (
        "That is the sigmoid of x W_1, GLU's gate. Swish is a σ(a): the "
        "number itself times its sigmoid.",
        *(_SWISH, "torch.sigmoid(gate)"),
    ),
    (
        "σ takes x W_3 in yours. Swish(a) = a σ(a) has x W_1 in both places.",
        *(_SWISH + _UP, "gate * torch.sigmoid(x @ W_3)"),
    ),
    (
        "The sign: σ(a) = 1 / (1 + e^(−a)).",
        *("sigmoid(gate)", "sigmoid(-gate)"),
    ),
    (
        "The gate is linear: Swish(a) = a σ(a) is missing.",
        *(_SWISH, "gate"),
    ),
    (
        "You add the two halves; ∘ multiplies them, number by number.",
        *(_UP, " + x @ W_3"),
    ),
    (
        "Your gate is a ReLU (that is ReGLU); here it is Swish.",
        *(_SWISH, "torch.relu(gate)"),
    ),
    (
        "Your gate is a GELU (that is GEGLU); here it is Swish.",
        *(_SWISH, "F.gelu(gate)"),
    ),
    (
        "You apply Swish to both halves; x W_3 stays as it is.",
        *(_UP, " * F.silu(x @ W_3)"),
    ),
    (
        "You apply the sigmoid to x W_3 as well; only x W_1 is the gate.",
        *(_UP, " * torch.sigmoid(x @ W_3)"),
    ),
    (
        "You apply Swish to the product; it belongs on x W_1 alone.",
        *(_SWISH + _UP, "F.silu(gate * (x @ W_3))"),
    ),
    (
        "W_3 is not used: without the gate it is a plain MLP with Swish.",
        *(_UP, ""),
    ),
    (
        "That is the hidden layer; W_2 takes it back to d_model.",
        *(" @ W_2", ""),
    ),
    (_RIGHT, _SWISH, "F.silu(gate)"),
    (_RIGHT, _SWISH, "nn.SiLU()(gate)"),
    (_RIGHT, _SWISH, "F.silu(gate, inplace=True)"),
):
    swiglu.slip(_hint, *_typed)


swiglu.slip(NO_GRADIENT, _swiglu_loop)
swiglu.style(
    lambda x, W_1, W_3, W_2: (
        (x @ W_1) * (x @ W_3) / (1 + (-x @ W_1).exp()) @ W_2
    )
)


def feedforward_share_solution(sizes):
    """L·2·d·d_ff / (V·d + L·(4·d² + 2·d·d_ff))."""
    d, layers = sizes["d_model"], sizes["layers"]
    feed = layers * 2 * d * sizes["d_ff"]
    return feed / (sizes["vocab"] * d + layers * 4 * d**2 + feed)


_NO_SHARE = "Give a fraction between 0 and 1, not a percentage or a count."


def _share(answer, sizes):
    found = as_number(answer(sizes), "one number, the share between 0 and 1")
    if found > 1:
        raise Hint(_NO_SHARE)
    return found


@exercise(feedforward_share_solution)
def feedforward_share(mine):
    """The feed-forward layers' share of a decoder-only model's weights."""
    names, cases = ("d_model", "d_ff", "layers", "vocab"), []
    for numbers in ((768, 3072, 12, 50_257), (64, 96, 5, 1000)):
        d, d_ff, layers, vocab = numbers
        with torch.device("meta"):
            maps = nn.ModuleList(
                nn.Linear(*shape, bias=False)
                for shape in ((d, d),) * 4 + ((d, d_ff), (d_ff, d))
            )
        numels = [p.numel() for p in maps.parameters()]
        feed, all_of = layers * sum(numels[4:]), layers * sum(numels)
        sizes = dict(zip(names, numbers, strict=True))
        cases.append(((sizes,), feed / (all_of + vocab * d)))
    feedforward_share.compare(
        mine, cases, about="for {0}", tolerance=1e-5, ask=_share
    )
    return "45.8% at GPT-2's sizes, counting matrices without biases."


_LAYERS = (
    "Either you count one layer alone, or the embeddings in every layer. The "
    "model has one table, and all of its layers count."
)
_HALF = (
    "Only one of the two feed-forward matrices is counted, or all the rest is "
    "counted twice."
)
_TABLE, _ATTENTION = 'sizes["vocab"] * d', "layers * 4 * d**2"
_FEED = 'layers * 2 * d * sizes["d_ff"]'
for _hint, *_typed in (
    (
        "The embeddings are missing: vocab rows of d_model numbers.",
        *(f"{_TABLE} + ", ""),
    ),
    (
        _LAYERS,
        *(_TABLE, f"layers * {_TABLE}"),
    ),
    (
        _LAYERS,
        *("layers * 2", "2", "layers * 4", "4"),
    ),
    (
        "You count two tables; the output uses the embeddings' rows.",
        *(_TABLE, f"2 * {_TABLE}"),
    ),
    (
        "Attention has four square matrices: W_O belongs to it, too.",
        *("4 * d**2", "3 * d**2"),
    ),
    (
        _HALF,
        *("layers * 2 * d", "layers * d"),
    ),
    (
        _HALF,
        *(_TABLE, f"2 * {_TABLE}", "layers * 4", "layers * 2 * 4"),
    ),
    ("That is attention's share.", "return feed", f"return {_ATTENTION}"),
    (
        "The attention is missing: 4 d_model² a layer.",
        *(f" + {_ATTENTION}", ""),
    ),
    (
        "That is feed-forward against the rest, a ratio; the share divides by "
        "the whole.",
        *(" + feed", ""),
    ),
    (
        "You count the attention of one layer only; each of the layers has "
        "one.",
        *("layers * 4", "4"),
    ),
    (
        "You count the feed-forward of one layer only; each of the layers has "
        "one.",
        *("layers * 2", "2"),
    ),
    (
        "You count two attentions a layer. A decoder-only model has no "
        "cross-attention: one a layer.",
        *("layers * 4", "layers * 2 * 4"),
    ),
    (
        "You count one matrix of d_model² for attention; it has four.",
        *("layers * 4 *", "layers *"),
    ),
    (
        "Biases are counted too; count matrices only.",
        *(_FEED, f'{_FEED} + layers * (sizes["d_ff"] + d)'),
        *("4 * d**2", "4 * (d**2 + d)"),
    ),
    (
        "You take d_ff for 4 d_model; here it is given, and differs.",
        *('sizes["d_ff"]', "4 * d"),
    ),
    (_NO_SHARE, "return feed", "return 100 * feed"),
    (_NO_SHARE, f" / ({_TABLE} + {_ATTENTION} + feed)", ""),
):
    feedforward_share.slip(_hint, *_typed)


@feedforward_share.style
def _by_budget(sizes):
    model = Sizes(
        *(sizes["d_model"], sizes["d_ff"], 1, sizes["vocab"]),
        decoder=sizes["layers"],
    )
    parts = list(count(model).values())
    return parts[2] / sum(parts[:3])
