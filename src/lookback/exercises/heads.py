"""The exercises of `heads`: each check beside its reference solution.

What is right is computed head by head and word by word in plain loops, never
with the solution's reshaping.
"""

import math

import torch

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    as_tensor,
    exercise,
    expect,
    float64,
    random_inputs,
)

_SCORES = ((0.0, math.log(2), 0.0), (math.log(3), 0.0, 0.0))
_VALUES = ((4.0, 2.0, 0.0), (5.0, -5.0, 10.0))
_OUTPUT = ((1.0, 2.0), (0.5, -1.0))


def two_heads_by_hand_solution():
    """[head_1; head_2] W^O, each head with its own softmax."""
    found = []
    for scores, values in zip(_SCORES, _VALUES, strict=True):
        raised = [math.exp(score) for score in scores]
        each = zip(raised, values, strict=True)
        found.append(sum(e * v for e, v in each) / sum(raised))  # 2, then 4
    return [
        sum(h * w for h, w in zip(found, c, strict=True))
        for c in zip(*_OUTPUT, strict=True)
    ]


@by_hand(two_heads_by_hand_solution, "the two numbers of o", ["o₁", "o₂"])
def two_heads_by_hand():
    """Two heads' averages, through W^O; the answer is o."""
    scores, values, output, heads = map(
        float64, (_SCORES, _VALUES, _OUTPUT, [2, 4])
    )
    one = scores.flatten().softmax(0).view(2, 3)
    mean = scores.softmax(1).mean(0).expand(2, 3)
    mistakes = {
        "Those are the two heads' averages, 2 and 4. Now multiply the row "
        "with W^O.": heads,
        "You multiplied W^O with a column. Here a row stands on the left: "
        "each of W^O's rows is taken times its head, and they are added.": (
            output @ heads
        ),
        "You took one softmax over all six scores. Each head has its own, "
        "and its own weights sum to 1.": (one * values).sum(1) @ output,
        "You averaged the weights of the two heads first. That is what one "
        "head would do; each head keeps its own.": (
            (mean * values).sum(1) @ output
        ),
        "The scores themselves are not weights: exponentiate them, and "
        "divide by their sum.": (scores * values).sum(1) @ output,
        "Your weights do not sum to 1 yet: divide the exponentials of a head "
        "by their sum.": ((scores.exp() * values).sum(1) @ output),
        "Your values are averaged without weights; softmax of the scores "
        "gives each its own.": values.mean(1) @ output,
        "Head 1 met the second row of W^O and head 2 the first.": (
            heads.flip(0) @ output
        ),
        "Only one value of each head is left. A score of 0 is not a weight "
        "of 0, since e⁰ = 1; and softmax averages, it does not choose the "
        "largest.": values[range(2), scores.argmax(1)] @ output,
        "A score of 0 is not a weight of 0: e⁰ = 1. And the weights of a head "
        "are to sum to 1.": (
            (scores.exp() * (scores > 0) * values).sum(1) @ output
        ),
        "The two heads are added before W^O. Each stands in its own place of "
        "the row, and meets its own row of W^O.": heads.sum() * output.sum(0),
    }
    otherwise = (
        "This is no slip that the check knows. First the three weights of "
        "each head, by a softmax of its own; then its average of the values; "
        "then the row of the two averages times W^O."
    )
    truth = [2 * 1 + 4 * 0.5, 2 * 2 - 4 * 1]
    return (
        "both numbers of o; the heads contribute 2 and 4.",
        stage(truth, mistakes, otherwise, around(0.012)),
    )


def split_heads_solution(x, heads):
    """Cut the last axis in two, then move the heads before the words."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


@exercise(split_heads_solution)
def split_heads(mine):
    """[batch, length, d_model] as [batch, heads, length, d_k]."""
    for batch, length, heads, d_k in ((3, 5, 2, 4), (2, 4, 4, 4), (1, 5, 3, 2)):
        (x,) = random_inputs(3, (batch, length, heads * d_k))
        axes = (batch, heads, length, d_k)
        known = {
            (batch, length, heads, d_k): "The cut is right, but the words "
            "still come before the heads: transpose the two.",
            (batch, length, d_k, heads): "Cut the last axis into (heads, "
            "d_k), in this order.",
            (heads, batch, length, d_k): "The heads come behind the batch.",
            (batch * heads, length, d_k): "Batch and heads keep an axis each.",
        }
        label = "[batch, heads, length, d_k]"
        found = as_tensor(mine(x, heads), axes, label, known)
        x = x.double()
        cut = [slice(h * d_k, (h + 1) * d_k) for h in range(heads)]
        truth = torch.stack([x[..., own] for own in cut], dim=1)
        mistakes = {
            "The shape is right, but reshape alone deals the numbers out as "
            "they lie in memory, and words get mixed: cut the last axis "
            "first, then transpose.": x.reshape(axes),
            "Each head got every heads-th number. Head 1 owns the first d_k "
            "numbers, head 2 the next.": (
                x.unflatten(-1, (d_k, heads)).permute(0, 3, 1, 2)
            ),
            "The heads are in reverse order.": truth.flip(1),
        }
        expect(found, truth, mistakes)
    return "shape, and every number in its place, on three shapes."


def multi_head_solution(x, W_Q, W_K, W_V, W_O, heads):
    """Eqs. of the chapter, all heads at once."""

    def split(y):
        return y.unflatten(-1, (heads, -1)).transpose(1, 2)

    query, key, value = split(x @ W_Q), split(x @ W_K), split(x @ W_V)
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    context = torch.softmax(scores, dim=-1) @ value
    return context.transpose(1, 2).flatten(2) @ W_O


def _look(x, W_Q, W_K, W_V, W_O, heads, **slip):
    """Head by head and sentence by sentence, with one slip if asked for."""
    d_model = x.shape[-1]
    d_k, maps, out = d_model // heads, (W_Q, W_K, W_V), []
    by = {"none": 1, "d_model": d_model**0.5, "d_k": d_k}
    for sentence in x:
        scores, values = [], []
        for h in range(heads):
            parts = [sentence @ W for W in maps]
            own = slice(h * d_k, (h + 1) * d_k)
            cuts = {
                "sliced": [sentence[:, own] @ W[own, own] for W in maps],
                "dealt": [part[:, h::heads] for part in parts],
                "mixed": [part.reshape(heads, -1, d_k)[h] for part in parts],
            }
            q, k, v = cuts.get(
                slip.get("cut"), [part[:, own] for part in parts]
            )
            scores.append(q @ k.T / by.get(slip.get("scale"), d_k**0.5))
            values.append(v)
        weights = torch.stack(scores)
        if not slip.get("raw"):
            weights = weights.softmax(slip.get("axis", 2))
        found = weights @ torch.stack(values)  # [heads, length, d_k]
        joins = {
            "mixed": found.reshape(len(sentence), -1),
            "reversed": found.flip(0).transpose(0, 1).flatten(1),
            "mean": found.mean(0).repeat(1, heads),
        }
        right = torch.cat([*found], dim=1)
        out.append(joins.get(slip.get("join"), right))
    joined = torch.stack(out)
    return joined if slip.get("bare") else joined @ W_O


_SLIPS = {
    "The scores are not scaled: divide by √d_k, the square root of a head's "
    "width.": {"scale": "none"},
    "You divide by √d_model. The scores of a head are sums of d_k products: "
    "divide by √d_k = √(d_model / heads).": {"scale": "d_model"},
    "You divide by d_k, not by its square root.": {"scale": "d_k"},
    "Softmax runs over the words that ask. It belongs over the words that "
    "are looked at, the last axis.": {"axis": 1},
    "Softmax is missing: scores are not weights.": {"raw": True},
    "Softmax runs over the heads. It belongs over the words that are looked "
    "at, the last axis.": {"axis": 0},
    "You cut x itself among the heads. The vector is never cut: a head's "
    "matrix reads all of it, and what is cut is x @ W_Q, x @ W_K, x @ W_V.": {
        "cut": "sliced"
    },
    "Each head got every heads-th number of its queries, keys and values. "
    "Head 1 owns the first d_k numbers, head 2 the next.": {"cut": "dealt"},
    "The heads were cut by reshape alone, and words got mixed: cut the last "
    "axis first, then transpose.": {"cut": "mixed"},
    "Reshape alone cuts the heads and joins them here, so that words get "
    "mixed: it takes a transpose on both ways.": {
        "cut": "mixed",
        "join": "mixed",
    },
    "The heads came back mixed: transpose heads and words back before you "
    "flatten.": {"join": "mixed"},
    "The heads are set end to end in reverse order.": {"join": "reversed"},
    "You averaged the heads. They are set end to end, each in its own place.": {
        "join": "mean"
    },
    "W_O is missing: it mixes what the heads found.": {"bare": True},
}


@exercise(multi_head_solution)
def multi_head(mine):
    """Multi-head self-attention without masks and biases."""
    sizes = ((2, 3, 6, 2), (2, 4, 12, 4), (1, 5, 6, 1))
    for seed, (batch, length, d_model, heads) in enumerate(sizes):
        square = (d_model, d_model)
        given = random_inputs(seed, (batch, length, d_model), *[square] * 4)
        axes = (batch, length, d_model)
        known = {
            (batch, heads, length, d_model // heads): "The heads still have "
            "an axis: set them end to end.",
            (batch, length, d_model // heads): "The heads were added or "
            "averaged away; set them end to end.",
        }
        label = "[batch, length, d_model]"
        found = as_tensor(mine(*given, heads), axes, label, known)
        x, *W = exact = [*map(float64, given)]
        eye = torch.eye(d_model, dtype=x.dtype)
        mistakes = {
            hint: _look(*exact, heads, **slip) for hint, slip in _SLIPS.items()
        } | {
            "One head of full width is at work here; there should be "
            f"{heads}, each with d_k = {d_model // heads}.": _look(*exact, 1),
            "Your matrices are transposed: here a row of x stands on the "
            "left, x @ W_Q (nn.Linear keeps the transposed matrix).": (
                _look(x, *(each.T for each in W), heads)
            ),
            "W_O is transposed: here a row stands on the left, @ W_O.": (
                _look(x, *W[:3], W[3].T, heads)
            ),
            "Queries and keys are exchanged.": (
                _look(x, W[1], W[0], *W[2:], heads)
            ),
            "Keys and values are exchanged.": (
                _look(x, W[0], W[2], W[1], W[3], heads)
            ),
            "x is added to the result. That comes two chapters later, and "
            "stands outside.": x + _look(*exact, heads),
            "The values are the words themselves: W_V is missing.": (
                _look(x, *W[:2], eye, W[3], heads)
            ),
        }
        expect(found, _look(*exact, heads), mistakes)
    return "shape; equal to a loop over sentences and heads, for 1, 2, 4 heads."


def head_parts_solution(context, W_O):
    """head_i W_i^O, the rows of W_O given an axis for the head."""
    heads = context.shape[1]
    return context @ W_O.unflatten(0, (heads, -1))


@exercise(head_parts_solution)
def head_parts(mine):
    """Each head's own term of the output."""
    for batch, heads, length, d_v in ((2, 2, 3, 4), (3, 3, 2, 2), (1, 4, 4, 4)):
        d_model = heads * d_v
        context, W_O = random_inputs(
            5, (batch, heads, length, d_v), (d_model, d_model)
        )
        axes = (batch, heads, length, d_model)
        known = {
            (batch, length, d_model): "That has the size of the whole "
            "output. Keep the heads apart: one term for each.",
            (batch, length, heads, d_model): "Heads come before words.",
            (heads, batch, length, d_model): "The batch comes first.",
        }
        label = "[batch, heads, length, d_model]"
        found = as_tensor(mine(context, W_O), axes, label, known)
        c, W = map(float64, (context, W_O))
        own = [slice(h * d_v, (h + 1) * d_v) for h in range(heads)]

        def terms(blocks, c=c):
            each = [c[:, h] @ block for h, block in enumerate(blocks)]
            return torch.stack(each, dim=1)

        truth = terms(W[rows] for rows in own)
        mistakes = {
            "Head i owns ROWS of W_O here, since it stands on the right; you "
            "took columns.": terms(W[:, columns].T for columns in own),
            "Every head met the first block of W_O. Head 1 has the first d_v "
            "rows, head 2 the next d_v, and so on.": terms([W[:d_v]] * heads),
            "The blocks of W_O are in reverse order.": terms(
                [W[rows] for rows in own][::-1]
            ),
            "You took every heads-th row of W_O. A head's rows lie together.": (
                terms(W[h::heads] for h in range(heads))
            ),
            "Each of your terms is the whole output; the terms should sum "
            "to it.": truth.sum(1, keepdim=True).expand_as(truth),
            "You divided by the number of heads. The terms are added up, not "
            "averaged.": truth / heads,
        }
        expect(found, truth, mistakes)
    return "shape; each head with its own rows; the terms sum to the output."
