"""The exercises of `feedforward`: each check beside its reference solution.

What is right comes from torch's own convolution, from loops over positions and
hidden units, and from counting the matrices of a model built without memory,
never from the solution.
"""

import math

import torch
from torch.nn import functional as F

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    Called,
    Hint,
    as_number,
    as_tensor,
    exercise,
    expect,
    float64,
    random_inputs,
)

_X = (2, -1)
_KEYS = ((1, 0), (0, 3), (1, 1), (1, 4))
_VALUES = ((1, 2), (6, -5), (0, -3), (4, 4))


def memory_by_hand_solution():
    """Σ_i max(0, x · k_i) v_i for four hidden units."""
    fires = [2, -3, 1, -2]  # x · k_i
    a, _, c, _ = (max(0, each) for each in fires)  # 2, 0, 1, 0
    return (a * 1 + c * 0, a * 2 + c * -3)  # 2, 1


def _other_memory(draw):
    """A question, and four keys and values; the first unit fires most."""

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
        4: "Four numbers are how strongly the units fire. The answer is the "
        "sum of the values, each times its number: two numbers."
    },
    vary=("x = {x}, the keys {k} and the values {v}", _other_memory),
)
def memory_by_hand(x=_X, k=_KEYS, v=_VALUES):
    """What a memory of four keys and values answers to x."""
    x, keys, values = map(float64, (x, k, v))
    score = keys @ x
    bent = score.clamp(min=0)
    fires = {i + 1: f"{s:g}" for i, s in enumerate(bent.tolist()) if s}
    units = ", ".join(f"unit {i} fires with {s}" for i, s in fires.items())
    answer = bent @ values
    mistakes = {
        "The ReLU is missing: a unit whose score is negative adds nothing, "
        "and does not subtract.": score @ values,
        "You took the softmax of the scores. That is attention; this memory "
        "bends with max(0, ·) and does not divide.": score.softmax(0) @ values,
        "You divided by the sum of what fires. Attention does that; here "
        "nothing is divided.": answer / bent.sum(),
        "You took the absolute value: max(0, s) makes negative scores 0.": (
            score.abs() @ values
        ),
        "You added up the values of the units that fire, each once. Each "
        "value counts as much as its unit fires.": (
            (score > 0).double() @ values
        ),
        "Only the strongest unit answers in yours; the others that fire are "
        "added too.": bent.max() * values[bent.argmax()],
        "Keys and values are exchanged: x meets the keys.": (
            (values @ x).clamp(min=0) @ keys
        ),
        "The bend stands inside: max(0, x · k), not max(0, x) · k.": (
            (keys @ x.clamp(min=0)).clamp(min=0) @ values
        ),
    }
    otherwise = (
        "This is no slip that the check knows. First the four scores "
        "x · k_i, with their signs; bend them; then the sum of the values, "
        "each times its bent score."
    )
    return (
        f"{units}: together {{:g}} and {{:g}}.".format(*answer),
        stage(answer, mistakes, otherwise, around(0.01)),
    )


def position_wise_solution(x, W_1, b_1, W_2, b_2):
    """max(0, x W_1 + b_1) W_2 + b_2."""
    return torch.relu(x @ W_1 + b_1) @ W_2 + b_2


@exercise(position_wise_solution)
def position_wise(mine):
    """The paper's equation 2, at every position."""
    given = random_inputs(3, (2, 4, 3), (3, 6), (6,), (6, 3), (3,))
    known = {
        (2, 4, 6): "That is the hidden layer, d_ff wide; W_2 takes it back.",
        (2, 3): "One vector a sentence: the layer has one for each position.",
    }
    axes = "[batch, length, d_model]"
    found = as_tensor(mine(*given), (2, 4, 3), axes, known)
    x, W_1, b_1, W_2, b_2 = map(float64, given)
    inner, bent = x @ W_1 + b_1, (x @ W_1 + b_1).relu()
    mistakes = {
        "The bend is missing: without max(0, ·) the two maps are one "
        "map.": inner @ W_2 + b_2,
        "You bend the result as well: max(0, ·) stands once, between the "
        "maps.": (bent @ W_2 + b_2).relu(),
        "You bend only the result: max(0, ·) stands between the maps.": (
            (inner @ W_2 + b_2).relu()
        ),
        "Both biases are missing.": (x @ W_1).relu() @ W_2,
        "You keep the negative numbers: max(0, ·), not min.": (
            inner.clamp(max=0) @ W_2 + b_2
        ),
        "b_1 is missing.": (x @ W_1).relu() @ W_2 + b_2,
        "b_1 is added after the bend; it belongs inside.": (
            ((x @ W_1).relu() + b_1) @ W_2 + b_2
        ),
        "b_2 is missing.": bent @ W_2,
        "You bend with GELU; equation 2 has max(0, ·).": (
            F.gelu(inner) @ W_2 + b_2
        ),
        "You bend with tanh; equation 2 has max(0, ·).": (
            inner.tanh() @ W_2 + b_2
        ),
        "You softmax the hidden layer: that is attention's bend, and here "
        "nothing is shared out.": inner.softmax(-1) @ W_2 + b_2,
        "x is added to the result. That is the next chapter's, and stands "
        "outside the layer.": x + bent @ W_2 + b_2,
    }
    columns = x.transpose(1, 2)
    inside = F.conv1d(columns, W_1.T[..., None], b_1).relu()
    truth = F.conv1d(inside, W_2.T[..., None], b_2).transpose(1, 2)
    expect(found, truth, mistakes)
    return (
        "it agrees with two of torch's convolutions of kernel size 1: each "
        "position is computed alone, all with the same maps."
    )


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


@exercise(swiglu_solution)
def swiglu(mine):
    """Shazeer's gated layer, without biases."""
    given = random_inputs(4, (5, 3), (3, 6), (3, 6), (6, 3))
    known = {(5, 6): "That is the hidden layer; W_2 takes it back to d_model."}
    with Called() as called:
        result = mine(*given)
    found = as_tensor(result, (5, 3), "[positions, d_model]", known)
    x, W_1, W_3, W_2 = map(float64, given)
    gate, up = x @ W_1, x @ W_3
    mistakes = {
        "W_1 and W_3 are exchanged: Swish bends x W_1, and x W_3 passes "
        "straight.": (F.silu(up) * gate) @ W_2,
        "That is the sigmoid of x W_1, GLU's gate. Swish is a σ(a): the "
        "number itself times its sigmoid.": (gate.sigmoid() * up) @ W_2,
        "σ takes x W_3 in yours. Swish(a) = a σ(a) has x W_1 in both places.": (
            torch.matmul(gate * up.sigmoid(), W_2)
        ),
        "The sign: σ(a) = 1 / (1 + e^(−a)).": (
            (gate * (-gate).sigmoid() * up) @ W_2
        ),
        "The gate is not bent: Swish(a) = a σ(a) is missing.": (
            (gate * up) @ W_2
        ),
        "You add the two halves; ∘ multiplies them, number by number.": (
            (F.silu(gate) + up) @ W_2
        ),
        "Your gate is a ReLU (that is ReGLU); here it is Swish.": (
            (gate.relu() * up) @ W_2
        ),
        "Your gate is a GELU (that is GEGLU); here it is Swish.": (
            (F.gelu(gate) * up) @ W_2
        ),
        "Both halves are bent; x W_3 passes straight.": (
            (F.silu(gate) * F.silu(up)) @ W_2
        ),
        "You bend the product; Swish belongs on x W_1 alone.": (
            F.silu(gate * up) @ W_2
        ),
        "W_3 is not used: without the gate it is a plain layer with Swish.": (
            F.silu(gate) @ W_2
        ),
    }
    expect(found, _swiglu_loop(x, W_1, W_3, W_2), mistakes)
    if "silu" in called.names:
        raise Hint(
            "The numbers are right. Now without torch's silu: write Swish "
            "yourself, a σ(a)."
        )
    return "every hidden unit is Swish(x · k_i) times its own x · g_i."


def feedforward_share_solution(sizes):
    """L·2·d·d_ff / (V·d + L·(4·d² + 2·d·d_ff))."""
    d, layers = sizes["d_model"], sizes["layers"]
    feed = layers * 2 * d * sizes["d_ff"]
    return feed / (sizes["vocab"] * d + layers * 4 * d**2 + feed)


@exercise(feedforward_share_solution)
def feedforward_share(mine):
    """The feed-forward layers' share of a decoder-only model's weights."""
    names = ("d_model", "d_ff", "layers", "vocab")
    for numbers in ((768, 3072, 12, 50_257), (64, 96, 5, 1000)):
        d, d_ff, layers, vocab = numbers
        result = mine(dict(zip(names, numbers, strict=True)))
        found = as_number(result, "one number, the share between 0 and 1")
        if found > 1:
            raise Hint("Give a share between 0 and 1, not per cent or a count.")
        with torch.device("meta"):
            maps = torch.nn.ModuleList(
                torch.nn.Linear(*shape, bias=False)
                for shape in ((d, d),) * 4 + ((d, d_ff), (d_ff, d))
            )
        numels = [p.numel() for p in maps.parameters()]
        a, b = sum(numels[:4]), sum(numels[4:])
        feed, rest = layers * b, layers * a
        table = vocab * d
        mistakes = {
            "The embeddings are missing: vocab rows of d_model numbers.": feed
            / (feed + rest),
            "You count the embeddings in every layer; the model has one "
            "table.": b / (b + a + table),
            "You count two tables; the output uses the embeddings' rows.": feed
            / (feed + rest + 2 * table),
            "Attention has four square matrices: W_O belongs to it, too.": (
                feed / (feed + rest * 3 / 4 + table)
            ),
            "Only one of the two feed-forward matrices is counted.": (
                feed / 2 / (feed / 2 + rest + table)
            ),
            "That is attention's share.": rest / (feed + rest + table),
            "The attention is missing: 4 d_model² a layer.": (
                feed / (feed + table)
            ),
            "That is feed-forward against the rest, a ratio; the share "
            "divides by the whole.": feed / (rest + table),
            "You count the attention of one layer only; each of the layers "
            "has one.": feed / (feed + a + table),
            "You count the feed-forward of one layer only; each of the layers "
            "has one.": b / (b + rest + table),
            "You count two attentions a layer. A decoder-only model has no "
            "source to look back at: one a layer.": (
                feed / (feed + 2 * rest + table)
            ),
            "You count one matrix of d_model² for attention; it has four.": (
                feed / (feed + rest / 4 + table)
            ),
            "Biases are counted too; count matrices only.": (
                (feed + layers * (d + d_ff))
                / (feed + layers * (5 * d + d_ff) + rest + table)
            ),
            "You take d_ff for 4 d_model; here it is given, and differs.": (
                2 * rest / (3 * rest + table)
            ),
        }
        truth = feed / (feed + rest + table)
        expect(found, truth, mistakes, f"for {numbers}", tolerance=1e-5)
    return "45.8 % at GPT-2's sizes, counting matrices without biases."
