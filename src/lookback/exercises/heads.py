"""The exercises of `heads`: each check beside its reference solution.

What is right is computed head by head and word by word in plain loops, never
with the solution's reshaping.
"""

import math

import torch

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    NO_GRADIENT,
    OTHER_GRADIENT,
    exercise,
    float64,
    learnable,
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
        "The last number of W^O is −1: you lost its sign.": (
            heads @ output.abs()
        ),
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
        "The check does not recognize this mistake. First the three weights of "
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
    cases = []
    for batch, length, heads, d_k in ((3, 5, 2, 4), (2, 4, 4, 4), (1, 5, 3, 2)):
        (x,) = random_inputs(3, (batch, length, heads * d_k))
        cut = [x[..., h * d_k : (h + 1) * d_k] for h in range(heads)]
        cases.append(((x, heads), torch.stack(cut, dim=1)))
    split_heads.compare(mine, cases, "[batch, heads, length, d_k]")
    return "shape, and every number in its place, on three shapes."


split_heads.slip(
    "Reshape alone deals the numbers out as they lie in memory, and words get "
    "mixed: cut the last axis first, then transpose.",
    lambda x, heads: x.reshape(len(x), heads, x.shape[1], -1),
)
split_heads.slip(
    "The cut is right, but the words still come before the heads: transpose "
    "the two.",
    ".transpose(1, 2)",
    "",
)
split_heads.slip(
    "Each head got every heads-th number. Head 1 owns the first d_k numbers, "
    "head 2 the next.",
    lambda x, heads: x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2),
)
split_heads.slip(
    "The heads are in reverse order.",
    "transpose(1, 2)",
    "transpose(1, 2).flip(1)",
)
split_heads.slip(
    "Cut the last axis into (heads, d_k), in this order.",
    lambda x, heads: x.unflatten(-1, (-1, heads)),
)
split_heads.slip(
    "You cut the last axis into d_k pieces of `heads` numbers. It is `heads` "
    "pieces of d_k numbers: unflatten(-1, (heads, d_k)), and split takes a "
    "size.",
    lambda x, heads: x.unflatten(-1, (-1, heads)).transpose(1, 2),
)
split_heads.slip(
    "The heads come after the batch.", "transpose(1, 2)", "permute(2, 0, 1, 3)"
)
split_heads.slip(
    "Batch and heads keep an axis each.",
    "transpose(1, 2)",
    "transpose(1, 2).flatten(0, 1)",
)
split_heads.style(lambda x, heads: torch.stack(x.chunk(heads, dim=-1), dim=1))
split_heads.style(
    lambda x, heads: x.view(*x.shape[:2], heads, -1).permute(0, 2, 1, 3)
)


@split_heads.style
def _by_numpy(x, heads):
    parts = x.detach().numpy().reshape(*x.shape[:2], heads, -1)
    return torch.from_numpy(parts.swapaxes(1, 2).astype("float64"))


def multi_head_solution(x, W_Q, W_K, W_V, W_O, heads):
    """Eqs. of the chapter, all heads at once."""

    def split(y):
        return y.unflatten(-1, (heads, -1)).transpose(1, 2)

    query, key, value = split(x @ W_Q), split(x @ W_K), split(x @ W_V)
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    context = torch.softmax(scores, dim=-1) @ value
    return context.transpose(1, 2).flatten(2) @ W_O


def _by_loops(x, W_Q, W_K, W_V, W_O, heads):
    """Multi-head attention, head by head and sentence by sentence."""
    d_k, out = x.shape[-1] // heads, []
    for sentence in x:
        found = []
        for h in range(heads):
            own = slice(h * d_k, (h + 1) * d_k)
            q, k, v = (sentence @ W[:, own] for W in (W_Q, W_K, W_V))
            found.append((q @ k.T / math.sqrt(d_k)).softmax(1) @ v)
        out.append(torch.cat(found, dim=1) @ W_O)
    return torch.stack(out)


@exercise(multi_head_solution)
def multi_head(mine):
    """Multi-head self-attention without masks and biases."""
    cases = []
    sizes = ((2, 3, 6, 2), (2, 4, 12, 4), (1, 5, 6, 1))
    for seed, (batch, length, d_model, heads) in enumerate(sizes):
        square = (d_model, d_model)
        given = random_inputs(seed, (batch, length, d_model), *[square] * 4)
        truth = _by_loops(*map(float64, given), heads)
        cases.append(((*given, heads), truth))
    multi_head.compare(mine, cases, "[batch, length, d_model]")
    learnable(mine, *cases[0][0], to=("x",))
    return "shape; equal to a loop over sentences and heads, for 1, 2, 4 heads."


_SPLIT = "y.unflatten(-1, (heads, -1)).transpose(1, 2)"
_MIXED = "y.reshape(len(y), heads, y.shape[1], -1)"
_JOIN = "context.transpose(1, 2).flatten(2)"
_ROWS = (
    "W_Q, W_K and W_V are transposed, or a head takes rows of them. A row of x "
    "stands on the left here, so a head owns columns (nn.Linear keeps the "
    "transposed matrix)."
)
for _hint, *_typed in (
    (
        "The scores are not scaled: divide by √d_k, the square root of a "
        "head's width.",
        " / query.shape[-1] ** 0.5",
        "",
    ),
    (
        "You divide by √d_model. The scores of a head are sums of d_k "
        "products: divide by √d_k = √(d_model / heads).",
        "query.shape[-1]",
        "x.shape[-1]",
    ),
    ("You divide by d_k, not by its square root.", " ** 0.5", ""),
    (
        "You divide by √heads. The scores of a head are sums of d_k products: "
        "divide by √d_k.",
        "query.shape[-1]",
        "heads",
    ),
    (
        "Softmax runs over the words that ask. It belongs over the words that "
        "are attended to, the last axis.",
        "dim=-1",
        "dim=-2",
    ),
    (
        "Softmax runs over the heads. It belongs over the words that are "
        "attended to, the last axis.",
        "dim=-1",
        "dim=1",
    ),
    (
        "Softmax is missing: scores are not weights.",
        "torch.softmax(scores, dim=-1)",
        "scores",
    ),
    (
        "Each head got every heads-th number of its queries, keys and values. "
        "Head 1 owns the first d_k numbers, head 2 the next.",
        _SPLIT,
        "y.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)",
    ),
    (
        "The heads were cut by reshape alone, and words got mixed: cut the "
        "last axis first, then transpose.",
        _SPLIT,
        _MIXED,
    ),
    (
        "Reshape alone cuts the heads and joins them here, so that words get "
        "mixed: it takes a transpose on both ways.",
        *(_SPLIT, _MIXED, _JOIN, "context.reshape(x.shape)"),
    ),
    (
        "The heads came back mixed: transpose heads and words back before you "
        "flatten.",
        _JOIN,
        "context.reshape(x.shape)",
    ),
    (
        "The heads are concatenated in reverse order.",
        _JOIN,
        "context.flip(1).transpose(1, 2).flatten(2)",
    ),
    (
        "You averaged the heads. They are concatenated, each in its own place.",
        _JOIN,
        "context.mean(1).repeat(1, 1, heads)",
    ),
    ("W_O is missing: it mixes what the heads found.", " @ W_O", ""),
    (
        "The heads still have an axis: concatenate them.",
        f"{_JOIN} @ W_O",
        "context",
    ),
    (
        "The heads were added or averaged away; concatenate them.",
        f"{_JOIN} @ W_O",
        "context.sum(1)",
    ),
    (
        "One head of full width is at work here; there should be as many as "
        "`heads` says, each with d_k = d_model / heads.",
        "heads, -1",
        "1, -1",
    ),
    (
        "Your matrices are transposed: here a row of x stands on the left, "
        "x @ W_Q (nn.Linear keeps the transposed matrix).",
        *("@ W_Q", "@ W_Q.T", "@ W_K", "@ W_K.T", "@ W_V", "@ W_V.T"),
        *("@ W_O", "@ W_O.T"),
    ),
    (
        _ROWS,
        *("@ W_Q", "@ W_Q.T", "@ W_K", "@ W_K.T", "@ W_V", "@ W_V.T"),
    ),
    (
        "You divide by √d_k after the softmax; divide the scores, before it.",
        *(" / query.shape[-1] ** 0.5", ""),
        *("dim=-1) @ value", "dim=-1) / query.shape[-1] ** 0.5 @ value"),
    ),
    (
        "Your sentences attend to each other: the first axis is taken for the "
        "words. Words are the second one here; nn.MultiheadAttention needs "
        "batch_first=True for that.",
        *("split(x @", "split(x.transpose(0, 1) @"),
        *(
            "return c",
            "return (c",
            "flatten(2) @ W_O",
            "flatten(2) @ W_O).transpose(0, 1)",
        ),
    ),
    (NO_GRADIENT, "context.transpose", "context.detach().transpose"),
    (OTHER_GRADIENT, "query @ key", "query.detach() @ key"),
    (
        "W_O is transposed: here a row stands on the left, @ W_O.",
        "@ W_O",
        "@ W_O.T",
    ),
    (
        "Queries and keys are exchanged.",
        "query, key, value =",
        "key, query, value =",
    ),
    (
        "Keys and values are exchanged.",
        "query, key, value =",
        "query, value, key =",
    ),
    (
        "x is added to the result. That is the residual connection, which is "
        "outside multi-head attention.",
        "return context",
        "return x + context",
    ),
    (
        "The values are the words themselves: W_V is missing.",
        "x @ W_V",
        "x",
    ),
):
    multi_head.slip(_hint, *_typed)


@multi_head.slip(
    "You cut x itself among the heads. The vector is never cut: a head's "
    "matrix reads all of it, and what is cut is x @ W_Q, x @ W_K, x @ W_V."
)
def _sliced(x, W_Q, W_K, W_V, W_O, heads):
    d_k, found = x.shape[-1] // heads, []
    for h in range(heads):
        own = slice(h * d_k, h * d_k + d_k)
        q, k, v = (x[..., own] @ W[own, own] for W in (W_Q, W_K, W_V))
        found.append((q @ k.transpose(1, 2) / d_k**0.5).softmax(-1) @ v)
    return torch.cat(found, -1) @ W_O


@multi_head.slip(_ROWS)
def _rows_cut(x, W_Q, W_K, W_V, W_O, heads):
    d_k, found = x.shape[-1] // heads, []
    for h in range(heads):
        own = slice(h * d_k, h * d_k + d_k)
        q, k, v = (x @ W[own].T for W in (W_Q, W_K, W_V))
        found.append((q @ k.transpose(1, 2) / d_k**0.5).softmax(-1) @ v)
    return torch.cat(found, -1) @ W_O


multi_head.style(_by_loops)


@multi_head.style
def _by_torch(x, W_Q, W_K, W_V, W_O, heads):
    theirs = torch.nn.MultiheadAttention(
        x.shape[-1], heads, bias=False, batch_first=True
    )
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([W_Q.T, W_K.T, W_V.T]))
        theirs.out_proj.weight.copy_(W_O.T)
    return theirs(x, x, x)[0]


@multi_head.style
def _by_einsum(x, W_Q, W_K, W_V, W_O, heads):
    def part(W):
        return torch.einsum("bld,dhk->bhlk", x, W.unflatten(1, (heads, -1)))

    q, k, v = part(W_Q), part(W_K), part(W_V)
    a = (torch.einsum("bhik,bhjk->bhij", q, k) / q.shape[-1] ** 0.5).softmax(-1)
    out = W_O.unflatten(0, (heads, -1))
    return torch.einsum("bhij,bhjk,hkd->bid", a, v, out)


def head_parts_solution(context, W_O):
    """head_i W_i^O, the rows of W_O given an axis for the head."""
    heads = context.shape[1]
    return context @ W_O.unflatten(0, (heads, -1))


def _with_blocks(block):
    """Each head's context times its block of W_O, block(W, h, d_v, heads)."""

    def terms(context, W_O):
        heads, d_v = context.shape[1], context.shape[-1]
        found = [
            context[:, h] @ block(W_O, h, d_v, heads) for h in range(heads)
        ]
        return torch.stack(found, dim=1)

    return terms


_of_own_rows = _with_blocks(lambda W, h, d_v, heads: W[h * d_v : (h + 1) * d_v])


@exercise(head_parts_solution)
def head_parts(mine):
    """Each head's own term of the output."""
    cases = []
    for batch, heads, length, d_v in ((2, 2, 3, 4), (3, 3, 2, 2), (1, 4, 4, 4)):
        d_model = heads * d_v
        given = random_inputs(
            5, (batch, heads, length, d_v), (d_model, d_model)
        )
        cases.append((given, _of_own_rows(*map(float64, given))))
    head_parts.compare(mine, cases, "[batch, heads, length, d_model]")
    return "shape; each head with its own rows; the terms sum to the output."


for _hint, _wrong in {
    "Head i owns ROWS of W_O here, since it stands on the right; you took "
    "columns.": _with_blocks(lambda W, h, d, n: W[:, h * d : h * d + d].T),
    "Every head met the first block of W_O. Head 1 has the first d_v rows, "
    "head 2 the next d_v, and so on.": _with_blocks(lambda W, h, d, n: W[:d]),
    "The blocks of W_O are in reverse order.": _with_blocks(
        lambda W, h, d, n: W[(n - 1 - h) * d :][:d]
    ),
    "You took every heads-th row of W_O. A head's rows lie together.": (
        _with_blocks(lambda W, h, d, n: W[h::n])
    ),
    "Each of your terms is the whole output; the terms should sum to it.": (
        lambda context, W_O: (
            (context.transpose(1, 2).flatten(2) @ W_O)
            .unsqueeze(1)
            .expand(-1, context.shape[1], -1, -1)
        )
    ),
    "You divided by the number of heads. The terms are added up, not "
    "averaged.": lambda context, W_O: (
        _of_own_rows(context, W_O) / context.shape[1]
    ),
    "That has the size of the whole output. Keep the heads apart: one term "
    "for each.": lambda context, W_O: context.transpose(1, 2).flatten(2) @ W_O,
    "Heads come before words.": lambda context, W_O: _of_own_rows(
        context, W_O
    ).transpose(1, 2),
    "The batch comes first.": lambda context, W_O: _of_own_rows(
        context, W_O
    ).transpose(0, 1),
}.items():
    head_parts.slip(_hint, _wrong)


head_parts.style(_of_own_rows)


@head_parts.style
def _by_masking(context, W_O):
    whole = context.transpose(1, 2).flatten(2)
    d_v, terms = context.shape[-1], []
    for head in range(context.shape[1]):
        kept = torch.zeros_like(whole)
        own = slice(head * d_v, head * d_v + d_v)
        kept[..., own] = whole[..., own]
        terms.append(kept @ W_O)
    return torch.stack(terms, 1)


@head_parts.style
def _by_one_product(context, W_O):
    blocks = W_O.double().view(context.shape[1], context.shape[3], -1)
    with torch.no_grad():
        return torch.einsum("bhld,hdm->bhlm", context.double(), blocks)
