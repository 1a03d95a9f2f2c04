"""The exercises of `modern_gpt`: each check beside its reference solution.

What is right is found by another route: complex numbers for the rotations, a
plain softmax over all keys, a sum over a model's matrices one by one.
"""

import cmath
import math
from itertools import product

import torch
from torch.nn import functional as F

from lookback.exercises.by_hand import around, by_hand, exactly, stage
from lookback.exercises.checking import (
    NO_GRADIENT,
    OTHER_GRADIENT,
    Hint,
    as_tensor,
    exercise,
    float64,
    learnable,
    random_inputs,
)
from lookback.positions import rotate

_MILLION = 1_000_000


def cache_by_hand_solution():
    """2 · 24 · 8 · 64 · 4 bytes for a token; two thousand times as much."""
    return [98_304, 196.6]


def _draw(dice):
    kv_heads = dice.choice([5, 6, 8])
    return {
        "layers": dice.choice([12, 20, 24, 30, 40]),
        "heads": kv_heads * dice.choice([3, 4, 6]),
        "kv_heads": kv_heads,
        "d_k": dice.choice([64, 80, 96, 128]),
        "length": dice.choice([1500, 2500, 3000, 5000, 7000]),
    }


def _three_digits(x):
    """What is rounded to three digits, or not as far."""
    by = 0.501 * 10 ** (math.floor(math.log10(x)) - 2)
    return [x - by, x + by]


@by_hand(
    cache_by_hand_solution,
    "the bytes for one token, and the millions of bytes for the whole text, "
    "which may be rounded to three digits",
    ["bytes a token", "million bytes"],
    vary=(
        "{layers} layers, {heads} heads, {kv_heads} KV heads,"
        " d_k = {d_k}, numbers of 4 bytes, a text of {length} tokens.",
        _draw,
    ),
)
def cache_by_hand(layers=24, heads=32, kv_heads=8, d_k=64, length=2000):
    """A cache of keys and values, in bytes."""
    token = 2 * layers * kv_heads * d_k * 4

    def slips(unit):
        found = {
            f"Half of it: keys AND values are kept, by {kv_heads} KV heads, in "
            "numbers of four bytes.": token / 2,
            "The cache holds the KV heads. The heads of queries are more, and "
            "queries are not kept.": token * heads / kv_heads,
            "Those are bits. A byte is eight of them.": 8 * token,
            "That is one layer. Each layer has keys and values of its own.": (
                token / layers
            ),
            f"That is one head, or {d_k} divided among the heads. Each KV head "
            f"has {d_k} numbers of its own.": token / kv_heads,
            "A key is not one number but as many as a head has, and so is a "
            "value.": token / d_k,
            "Queries are not kept: nobody asks an old question again. Keys "
            "and values make a factor of 2, not 3.": 1.5 * token,
            "Those are numbers, and not bytes: each number has four.": (
                token / 4
            ),
        }
        return {hint: value * unit for hint, value in found.items()}

    first = slips(1) | {
        "That is the whole text. The first number is for one token.": (
            token * length
        ),
        "That is the second number, for the whole text. The first is for one "
        "token, in bytes.": token * length / _MILLION,
        "That is in thousands of bytes. Give the first number in bytes.": (
            token / 1000
        ),
        "That is in units of 1024 bytes. Give the first number in bytes.": (
            token / 1024
        ),
    }
    whole = slips(length / _MILLION) | {
        "That is in bytes. Divide by a million.": token * length,
        "That is in units of 1024² bytes. Here a million is 1,000,000.": (
            token * length / 2**20
        ),
        "That is in thousands of bytes.": token * length / 1000,
        "That is in thousands of millions of bytes.": (
            token * length / (1000 * _MILLION)
        ),
        "That is one token. Multiply by the tokens of the text, and divide by "
        "a million.": token,
        "That is one token, in million bytes. Multiply by the tokens of the "
        "text.": token / _MILLION,
        "That is the square of the length. The cache grows with the length, "
        "the scores with its square.": token * length**2 / _MILLION,
    }
    return (
        f"{token:,} bytes a token, {token * length / _MILLION:,.1f} million "
        "for the text.",
        stage(
            token,
            first,
            "The check does not recognize this mistake. Multiply: keys and "
            "values; layers; KV heads; numbers in a key; "
            "bytes of a number.",
            around(5e-4),
            asked=exactly,
        ),
        stage(
            token * length / _MILLION,
            whole,
            "The bytes of a token are right; the check does not recognize the "
            "mistake in the second number. Multiply by the number of tokens "
            "and divide by a million.",
            around(5e-3),
            1,
            asked=_three_digits,
        ),
    )


def root_mean_square_solution(x, gain, epsilon):
    """g ∘ x / √(mean(x²) + ε)."""
    square = (x * x).mean(dim=-1, keepdim=True)
    return gain * x / torch.sqrt(square + epsilon)


def _by_length(x, gain, epsilon):
    """Each token over its length, which is √d times what RMSNorm takes."""
    length = x.norm(dim=-1, keepdim=True)
    return x * gain * (length**2 / x.shape[-1] + epsilon) ** -0.5


@exercise(root_mean_square_solution)
def root_mean_square(mine):
    """RMSNorm of a batch of vectors."""
    cases = []
    for seed, sizes in enumerate(((2, 3, 6), (1, 5, 4), (4, 2, 3))):
        x, gain = random_inputs(seed, sizes, sizes[-1:])
        by, epsilon = ((1, 0.25), (1, 0.1), (1e-3, 1e-6))[seed]  # so ε shows
        x = by * (0.5 * x + 0.7)
        truth = _by_length(float64(x), float64(gain), epsilon)
        given = x, gain, epsilon
        cases.append((given, truth))
    root_mean_square.compare(mine, cases, "[batch, length, d]")
    learnable(mine, *cases[0][0])
    return "three batches, with values of ε large enough to be seen."


_SQUARE = "(x * x).mean(dim=-1, keepdim=True)"
_ROOT, _TOP = "torch.sqrt(square + epsilon)", "gain * x"
_MEANS = {
    "": _SQUARE,
    "A sum stands where the mean of the squares should: you divide by the "
    "vector's length, which is √d times too "
    "large.": ("(x * x).sum(dim=-1, keepdim=True)"),
    "You divide the vector's length by d. It is the mean of the squares that "
    "is divided by d, before the root.": f"{_SQUARE} / x.shape[-1]",
    "That is the square of the mean. Square first, then take the mean.": (
        "x.mean(dim=-1, keepdim=True) ** 2"
    ),
    "The mean runs over the whole batch. Each token has its own.": (
        "(x * x).mean()"
    ),
    "The mean runs over a whole text. Each token has its own: dim=-1.": (
        "(x * x).mean(dim=(-2, -1), keepdim=True)"
    ),
    "The mean runs along the text. It runs over the d numbers of each token: "
    "dim=-1.": "(x * x).mean(dim=-2, keepdim=True)",
    "The mean runs over the texts of the batch. It runs over the d numbers of "
    "each token: dim=-1.": "(x * x).mean(dim=0, keepdim=True)",
}
_ROOTS = {
    "": _ROOT,
    "ε stands outside the root. It is added to the mean of the squares, "
    "before the root.": "(torch.sqrt(square) + epsilon)",
    "The argument epsilon is missing: add it to the mean of the squares, "
    "before the root.": ("torch.sqrt(square)"),
    "The root is missing.": "(square + epsilon)",
    "The root is missing, and so is ε.": "square",
}
_GAINS = {
    "": _TOP,
    "The gain is missing.": "x",
    "You divide by the gain.": "x / gain",
}
for _said in product(_MEANS, _ROOTS, _GAINS):
    if any(_said):
        _mean, _root, _gain = _said
        root_mean_square.slip(
            " ".join(filter(None, _said)),
            *(_SQUARE, _MEANS[_mean], _ROOT, _ROOTS[_root]),
            *(_TOP, _GAINS[_gain]),
        )
for _hint, _typed in {
    "Your gain is 1 + g, as in models that learn g from 0 on. In this equation "
    "the gain is g itself.": (_TOP, "(1 + gain) * x"),
    "The gain is added. It multiplies.": (_TOP, "x", _ROOT, f"{_ROOT} + gain"),
    "The gain multiplies x before its size is taken. First divide, then "
    "multiply by g.": ("(x * x)", "(gain * x).square()"),
    "You take the root of each square, the sizes of the numbers, and their "
    "mean. First the mean, then the "
    "root.": ("(x * x)", "x.abs()", _ROOT, "(square + epsilon)"),
    "You multiply by the root. Divide by it.": (" / ", " * "),
    "You subtract the mean, and divide by the size of x with it.": (
        _TOP,
        "gain * (x - x.mean(-1, True))",
    ),
    "One number a token: that is the size. Divide x by it.": (
        f"{_TOP} / {_ROOT}",
        f"{_ROOT}[..., 0]",
    ),
    "That is the size alone. Divide x by it.": (f"{_TOP} / ", ""),
}.items():
    root_mean_square.slip(_hint, *_typed)
for _fixed in ("0.25", "0.1", "1e-5", "1e-6", "1e-8"):
    root_mean_square.slip(
        "ε is a number of your own; take the argument epsilon.",
        *("+ epsilon", f"+ {_fixed}"),
    )
root_mean_square.slip(NO_GRADIENT, _TOP, "gain.detach() * x")
root_mean_square.slip(
    OTHER_GRADIENT, "/ torch.sqrt(square", "/ torch.sqrt(square.detach()"
)
for _few, _root, _gain in product((0, 1), _ROOTS, ("", "The gain is missing.")):
    _over = "(Torch's std divides by d − 1 besides.)" if _few else ""
    for _hint, _top in {
        "You subtract the mean, as LayerNorm does. RMSNorm leaves it.": (
            "(x - x.mean(-1, True))"
        ),
        "You divide by the standard deviation: its mean is subtracted. Take "
        "the mean of the squares themselves.": "x",
    }.items():
        root_mean_square.slip(
            " ".join(filter(None, (_hint, _root, _gain, _over))),
            *(_SQUARE, f"x.var(dim=-1, keepdim=True, correction={_few})"),
            *(_ROOT, _ROOTS[_root], _TOP, _top if _gain else f"gain * {_top}"),
        )


root_mean_square.style(_by_length)
root_mean_square.style(
    lambda x, gain, epsilon: F.rms_norm(x, gain.shape, gain, epsilon)
)


@root_mean_square.style
def _token_by_token(x, gain, epsilon):
    out = torch.zeros_like(x)
    for b, row in enumerate(x):
        for t, token in enumerate(row):
            size = (sum(one**2 for one in token) / len(token) + epsilon) ** 0.5
            out[b, t] = torch.stack(
                [a * c / size for a, c in zip(gain, token, strict=True)]
            )
    return out


@root_mean_square.style
def _by_einsum(x, gain, epsilon):
    size = torch.einsum("bld,bld->bl", x, x).div(x.size(2)).add(epsilon)
    return torch.einsum("d,bld,bl->bld", gain, x, size.rsqrt())


def rotary_scores_solution(query, key, start):
    """Queries turned by `start`, `start` + 1, … against keys by 0, 1, …."""

    def turned(x, first):
        length, d = x.shape
        omega = 10000 ** (-torch.arange(0, d, 2) / d)
        angle = torch.arange(first, first + length)[:, None] * omega
        a, b = x[:, 0::2], x[:, 1::2]
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=1)

    return turned(query, start) @ turned(key, 0).T


def _by_complex_numbers(query, key, start):
    """Σ_p Re(q_p conj(k_p) e^{i(t + start − s)ω_p}), for each t and s."""
    d = query.shape[1]
    rows = [
        [
            sum(
                (
                    complex(*q[p : p + 2])
                    * complex(*k[p : p + 2]).conjugate()
                    * cmath.exp(1j * (t + start - s) * 10000 ** (-p / d))
                ).real
                for p in range(0, d, 2)
            )
            for s, k in enumerate(key.tolist())
        ]
        for t, q in enumerate(query.tolist())
    ]
    return float64(rows)


@exercise(rotary_scores_solution)
def rotary_scores(mine):
    """Scores of queries and keys that are turned by their places."""
    cases = []
    sizes = ((3, 5, 8, 2), (1, 6, 4, 5), (4, 4, 6, 0), (2, 9, 6, 7))
    sizes += ((2, 7, 4, 3),)  # there are keys after the last query
    for seed, (target, source, d, start) in enumerate(sizes):
        given = *random_inputs(seed, (target, d), (source, d)), start
        cases.append((given, _by_complex_numbers(*given)))
    rotary_scores.compare(mine, cases, "[target, source]", "with start = {2}")
    return (
        "equal to complex numbers, on five sets of queries and keys, with "
        "and without a cache."
    )


_QUERY, _KEY, _ANGLE = "turned(query, start)", "turned(key, 0)", "* omega"
_SCORES, _PLACES = f"{_QUERY} @ {_KEY}.T", "torch.arange(0, d, 2)"
_BOTH = "a * cos - b * sin, a * sin + b * cos"
_BY_WAY = ("x, first)", "x, first, way=1)", "* omega", "* omega * way")
_ONLY_QUERIES = (
    "Only the queries are turned. Turn the keys by their positions as well, or "
    "the score depends on where the query stands and not on the offset."
)
_ONLY_KEYS = (
    "Only the keys are turned. Turn the queries by their positions as well."
)
_ADDED = (
    "The angles add up: one of the two is turned the wrong way, and the score "
    "depends on the sum of the positions. Turn both the same way."
)
_GROWS = "The speed is 10000^(−2i/d). Yours has no minus: it grows."
_FAR = (
    "Each query stands one position too far from each key. The first query is "
    "at `start` and the first key at 0."
)
_NEAR = (
    "Each query stands one position too near to the keys before it. The first "
    "query is at `start` and the first key at 0, not at 1."
)
for _hint, _typed in {
    "Nothing is turned.": (_SCORES, "query @ key.T"),
    _ONLY_QUERIES: (_KEY, "key"),
    _ONLY_KEYS: (_QUERY, "query"),
    "Every pair turns by the same angle. Pair i has a speed of its own, "
    "10000^(−2i/d).": (_ANGLE, "* omega**0"),
    _ADDED: (*_BY_WAY, _KEY, "turned(key, 0, -1)"),
    "Both are turned the wrong way: (a, b) becomes (a cos − b sin, a sin + b "
    "cos).": ("angle.sin()", "-angle.sin()"),
    "Queries and keys are counted from the same place. The keys begin at 0, "
    "the queries at `start`: with a cache the keys before them are there "
    "already.": (_QUERY, "turned(query, 0)"),
    "`start` counts the wrong way: the queries begin at `start` and the keys "
    "at 0, not the other way "
    "round.": (_QUERY, "turned(query, 0)", _KEY, "turned(key, start)"),
    "You pair number i with number i + d/2, as many published models do. Here "
    "the pair is (2i, 2i + 1).": ("0::2", ": d // 2", "1::2", "d // 2 :"),
    _FAR: (_QUERY, "turned(query, start + 1)"),
    _NEAR: (_KEY, "turned(key, 1)"),
    "You put the last query on the last key. Only `start` says where the "
    "queries begin.": (_QUERY, "turned(query, len(key) - len(query))"),
    "The speed is 10000^(−2i/d). Yours has i in the place of 2i.": (
        _PLACES,
        "torch.arange(d // 2)",
    ),
    "The speed is 10000^(−2i/d). Yours has 4i: is 2i doubled?": (
        _PLACES,
        f"2 * {_PLACES}",
    ),
    "The speed is 10000^(−2i/d), with i from 0: the first pair turns by 1 a "
    "place. Your i begins at 1.": (_PLACES, "torch.arange(2, d + 1, 2)"),
    _GROWS: ("(-torch", "(torch"),
    "A sign is missing: (a, b) becomes (a cos − b sin, a sin + b cos).": (
        "a * cos - b * sin",
        "a * cos + b * sin",
    ),
    "Each number is only multiplied by its cosine. To turn a pair, mix its "
    "two: (a cos − b sin, a sin + b cos).": (_BOTH, "a * cos, b * cos"),
    "You add the waves, as in 2017. Here nothing is added: each pair is "
    "turned.": (_BOTH, "a + sin, b + cos"),
    "The scores are divided by √d. Here they are left as they are.": (
        _SCORES,
        f"{_SCORES} / query.shape[1] ** 0.5",
    ),
    "Later keys are hidden in yours. Here the score of every query and every "
    "key is wanted.": (
        f"return {_SCORES}",
        f"scores = {_SCORES}\n"
        "    later = torch.ones_like(scores).triu(start + 1).bool()\n"
        "    return scores.masked_fill(later, -torch.inf)",
    ),
    "Those are weights already. Give the scores, before the softmax.": (
        _SCORES,
        f"({_SCORES}).softmax(dim=1)",
    ),
    "A row for each query, a column for each key: yours is the transpose.": (
        _SCORES,
        f"({_SCORES}).T",
    ),
    "Sum over the pairs.": (
        _SCORES,
        f"({_QUERY}[:, None] * {_KEY}).unflatten(2, (2, -1)).sum(dim=2)",
    ),
    "Those are the turned queries; go on to scores.": (_SCORES, _QUERY),
}.items():
    rotary_scores.slip(_hint, *_typed)
for _hint, *_typed in (
    (_ONLY_QUERIES, *_BY_WAY, _KEY, "turned(key, 0, 0)"),
    (_ADDED, *_BY_WAY, _QUERY, "turned(query, start, -1)"),
    (_ONLY_KEYS, *_BY_WAY, _QUERY, "turned(query, start, 0)"),
    (_GROWS, "(-torch", "(torch", " / d)", ".double() / d)"),
):
    rotary_scores.slip(_hint, *_typed)


rotary_scores.style(
    lambda query, key, start: rotate(query, start) @ rotate(key).mT
)


@rotary_scores.style
def _by_polar(query, key, start):
    d = query.shape[1]
    speed = 10000 ** (-torch.arange(0, d, 2) / d)

    def spun(x, first):
        z = torch.view_as_complex(x.reshape(len(x), -1, 2).contiguous())
        places = torch.arange(first, first + len(x))
        return z * torch.polar(torch.ones(()), places[:, None] * speed)

    return (spun(query, start) @ spun(key, 0).conj().T).real


@rotary_scores.style
def _as_published(query, key, start):
    """Cosines and sines of two neighbours each, and the pair turned by 90°."""
    d = query.shape[1]
    speed = 10000 ** (-torch.arange(0, d, 2) / d).repeat_interleave(2)

    def spun(x, first):
        angle = torch.arange(first, first + len(x))[:, None] * speed
        other = torch.stack([-x[:, 1::2], x[:, 0::2]], -1).flatten(1)
        return x * angle.cos() + other * angle.sin()

    return spun(query, start) @ spun(key, 0).T


def absorb_solution(most, total, context, scores, values):
    """The running maximum, sum and context, with one tile more."""
    new = torch.maximum(most, scores.max())
    shrink = torch.exp(most - new)
    raised = torch.exp(scores - new)
    return (
        new,
        shrink * total + raised.sum(),
        shrink * context + raised @ values,
    )


_THREE = "Give back three things: the new maximum, sum and context."
_ORDER = "Give them in the order maximum, sum, context."
_EACH = "That is one for each key of the tile: sum over them."
_ONE = "One number, no list."
_OVERFLOW = (
    "Your sum or context is NaN or infinite. At the first tile the old maximum "
    "is −∞, so the factor exp(old − new) is 0: is yours upside down? And take "
    "the new maximum off before each exp, not the old one and not afterwards: "
    "then no exponent is above 0."
)


def _tile_by_tile(mine, scores, values, tiles):
    """What an answer has after each tile, [tiles, 2 + d_v]."""
    d_v, dtype, found = values.shape[1], scores.dtype, []
    state = torch.tensor(-math.inf), torch.tensor(0.0), torch.zeros(d_v)
    for s, v in zip(scores.split(tiles), values.split(tiles), strict=True):
        result = mine(*state, s, v)
        if not isinstance(result, (tuple, list)) or len(result) != 3:
            raise Hint(_THREE)
        one = {(d_v,): _ORDER, s.shape: _EACH, (1,): _ONE}
        most = as_tensor(result[0], (), "the maximum, []", one)
        total = as_tensor(result[1], (), "the sum, []", one)
        added = {(): _ORDER, v.shape: _EACH}
        context = as_tensor(result[2], (d_v,), "the context, [d_v]", added)
        if not (total.isfinite() and context.isfinite().all()):
            raise Hint(_OVERFLOW)
        found.append(torch.cat([most[None], total[None], context]))
        state = most.to(dtype), total.to(dtype), context.to(dtype)
    return torch.stack(found)


def _all_at_once(scores, values, tiles):
    """The same, by a plain softmax over all keys seen so far."""
    found, seen = [], 0
    for tile in tiles:
        seen += tile
        so_far = scores[:seen]
        total = so_far.logsumexp(0)
        context = so_far.softmax(0) @ values[:seen]
        most = so_far.max()
        size = (total - most).exp()
        found.append(torch.cat([most[None], size[None], size * context]))
    return torch.stack(found)


@exercise(absorb_solution)
def absorb(mine):
    """A softmax computed piece by piece: tile by tile."""
    cases = []
    for seed, tiles in enumerate(((3, 2, 2, 4), (1, 1, 1), (5, 5, 5), (2, 6))):
        d_v = 7  # as large as no tile
        scores, values = random_inputs(seed, (sum(tiles),), (sum(tiles), d_v))
        scores = 2 * scores
        if seed == 2:
            scores = scores.sort().values  # the maximum moves with each tile
        if seed == 3:
            scores = scores + 300  # exp of it overflows
        truth = _all_at_once(float64(scores), float64(values), tiles)
        cases.append(((scores, values, list(tiles)), truth))
    absorb.compare(
        mine,
        cases,
        about="with tiles of {2} keys",
        ask=_tile_by_tile,
        place=lambda tile, i: (
            f"after tile {tile + 1}, in "
            + ("the maximum", "the sum", f"number {i - 1} of the context")[
                min(i, 2)
            ]
        ),
    )
    return (
        "four rows of scores in tiles of other sizes, rising ones and ones "
        "whose exp would overflow; after each tile what a softmax over all "
        "keys so far would give."
    )


_NEW, _RAISED = "torch.maximum(most, scores.max())", "torch.exp(scores - new)"
_OLD_SUM = ("shrink * total", "total")
_OLD_CONTEXT = ("shrink * context", "context")
_SUM = "shrink * total + raised.sum()"
_CONTEXT = "shrink * context + raised @ values"
_BARE = "The maximum is not taken off the new scores before exp."
_LATE = (
    "After the first tile your sum and context are still 0: the new keys are "
    "not added, or they are multiplied by the factor, which is for the old sum "
    "and the old context alone."
)
_NOT_CONTEXT = (
    "Maximum and sum are right, and the context is not. It is made like the "
    "sum, with each exp(score − maximum) times its value."
)
_SOFTMAX = (
    "Your weights of a tile sum to 1 already. Take exp(scores − maximum) and "
    "no softmax: the division comes last of all."
)
for _hint, *_typed in (
    (
        "The old sums were made with another maximum. When the maximum moves, "
        "both the sum and the context have to shrink by exp(old maximum − "
        "new).",
        *(*_OLD_SUM, *_OLD_CONTEXT),
    ),
    (
        "When the maximum moves, the old sum has to be rescaled as well: by "
        "exp(old maximum − new). Only the context is.",
        *_OLD_SUM,
    ),
    (
        "When the maximum moves, the old context has to be rescaled as well: "
        "by exp(old maximum − new). Only the sum is.",
        *_OLD_CONTEXT,
    ),
    (
        "The factor is upside down: exp(old maximum − new), which is at most "
        "1.",
        "torch.exp(most - new)",
        "torch.where(most.isinf(), 0.0, torch.exp(new - most))",
    ),
    (
        "The new maximum is that of this tile alone. It is the larger of the "
        "old one and the tile's.",
        *(_NEW, "scores.max()"),
    ),
    (_BARE, _RAISED, "torch.exp(scores)"),
    (_BARE, _RAISED, "torch.exp(scores)", *_OLD_SUM, *_OLD_CONTEXT),
    (
        _LATE,
        *(_SUM, "shrink * (total + raised.sum())"),
        *(_CONTEXT, "shrink * (context + raised @ values)"),
    ),
    (_LATE, _SUM, "shrink * total", _CONTEXT, "shrink * context"),
    (_LATE, _NEW, "scores.max()", _SUM, "total", _CONTEXT, "context"),
    (
        "The context is divided already. Divide once, when all tiles have "
        "been seen: here it is the sum alone.",
        *(_CONTEXT, f"({_CONTEXT}) / ({_SUM})"),
    ),
    (
        "The old sum and context are dropped: only this tile is in yours.",
        *(_NEW, "scores.max()", "shrink * total + ", ""),
        *("shrink * context + ", ""),
    ),
    (
        "Sum and context are right, for this maximum; but give back the new "
        "maximum, not the old one.",
        *("        new,", "        most,"),
    ),
    (_SOFTMAX, _RAISED, "torch.softmax(scores, dim=0)"),
    (
        _SOFTMAX,
        *(_RAISED, "torch.softmax(scores, dim=0)", *_OLD_SUM, *_OLD_CONTEXT),
    ),
    (_NOT_CONTEXT, "raised @ values", "values.sum(dim=0)"),
    (_NOT_CONTEXT, _CONTEXT, "shrink * context"),
    (
        _ORDER,
        f"        new,\n        {_SUM},",
        f"        {_SUM},\n        new,",
    ),
    (_ORDER, f"{_CONTEXT},\n    )", f"{_CONTEXT},\n    )[::-1]"),
    (_EACH, "raised.sum()", "raised"),
    (_EACH, "raised @ values", "raised[:, None] * values"),
    (_ONE, "scores.max()", "scores.max(dim=0, keepdim=True).values"),
    (_THREE, "        new,\n", ""),
    (_OVERFLOW, _RAISED, "torch.exp(scores - most)"),
    (_OVERFLOW, "most - new", "new - most"),
    (
        _OVERFLOW,
        *("torch.exp(most - new)", "torch.exp(most) / torch.exp(new)"),
        *(_RAISED, "torch.exp(scores) / torch.exp(new)"),
    ),
):
    absorb.slip(_hint, *_typed)


@absorb.style
def _in_plain_floats(most, total, context, scores, values):
    top = scores.max().item()
    own = [math.exp(s - top) for s in scores.tolist()]
    new = max(most.item(), top)
    old, here = math.exp(most.item() - new), math.exp(top - new)
    taken = sum(w * v for w, v in zip(own, values, strict=True))
    return [
        new,
        old * total.item() + here * sum(own),
        old * context + here * taken,
    ]


@absorb.style
def _key_by_key(most, total, context, scores, values):
    for score, value in zip(scores, values, strict=True):
        new = score if score > most else most
        total = total * torch.exp(most - new) + torch.exp(score - new)
        context = context * torch.exp(most - new)
        context = context + torch.exp(score - new) * value
        most = new
    return most, total, context


@absorb.style
def _by_logsumexp(most, total, context, scores, values):
    all_scores = torch.cat([(most + total.log())[None], scores])
    new = torch.maximum(most, scores.max())
    old = torch.exp(most - new) * context
    added = torch.exp(scores - new) @ values
    return new, torch.exp(all_scores.logsumexp(0) - new), old + added


def parameters_of_solution(config):
    """Tables; per layer attention, gated feed-forward layers, two norms."""
    d, vocab = config["hidden_size"], config["vocab_size"]
    d_k = config.get("head_dim") or d // config["num_attention_heads"]
    d_q = config["num_attention_heads"] * d_k
    d_kv = config["num_key_value_heads"] * d_k
    attention = 2 * d * d_q + 2 * d * d_kv
    if config.get("attention_bias"):
        attention += d_q + 2 * d_kv + d
    if config.get("qk_norm"):
        attention += 2 * d_k
    feedforward = 3 * d * config["intermediate_size"]
    if experts := config.get("num_local_experts"):
        feedforward = experts * (feedforward + d)
    tables = 1 if config["tie_word_embeddings"] else 2
    layer = attention + feedforward + 2 * d
    return tables * vocab * d + config["num_hidden_layers"] * layer + d


_MODELS = (
    ((32, 4096, 32, 8, 14336, 32000, False), {}),  # Mistral 7B
    ((32, 4096, 32, 32, 11008, 32000, False), {}),  # Llama 2 7B
    ((3, 24, 6, 2, 40, 50, True), {}),  # a small one, tied
    (
        (28, 1024, 16, 8, 3072, 151936, True),  # Qwen3-0.6B
        {"head_dim": 128, "attention_bias": False, "qk_norm": True},
    ),
    (
        (2, 24, 4, 2, 30, 40, False),
        {"head_dim": 10, "attention_bias": True, "qk_norm": False},
    ),
    ((2, 20, 5, 1, 12, 30, False), {"num_local_experts": 3}),
)
_ELSE = {  # what says nothing of the size
    "hidden_act": "silu",
    "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0,
    "sliding_window": 4096,
}
_NAMES = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
    "vocab_size",
    "tie_word_embeddings",
)


def _shapes(layers, d, heads, kv, d_ff, vocab, tied, more):
    """The shape of each of a model's tensors."""
    d_k = more.get("head_dim", d // heads)
    yield vocab, d  # the table
    for _ in range(layers):
        yield heads * d_k, d  # W_Q
        yield kv * d_k, d  # W_K
        yield kv * d_k, d  # W_V
        yield d, heads * d_k  # W_O
        if more.get("attention_bias"):
            yield from ((heads * d_k,), (kv * d_k,), (kv * d_k,), (d,))
        if more.get("qk_norm"):
            yield from ((d_k,), (d_k,))
        for _ in range(more.get("num_local_experts", 1)):
            yield d_ff, d  # W_1
            yield d, d_ff  # W_2
            yield d_ff, d  # W_3
        yield more.get("num_local_experts", 0), d  # the router
        yield (d,)  # two norms
        yield (d,)
    yield (d,)  # the last norm
    yield (0 if tied else vocab, d)  # the output's table


@exercise(parameters_of_solution)
def parameters_of(mine):
    """The parameters of a published model, from its config."""
    cases = []
    for sizes, more in _MODELS:
        config = dict(zip(_NAMES, sizes, strict=True)) | _ELSE | more
        cases.append(((config,), sum(map(math.prod, _shapes(*sizes, more)))))
    for end in range(3, len(cases) + 1):  # first what all configs have
        parameters_of.compare(
            mine,
            cases[:end],
            "a whole number",
            "write down the shape of every matrix: one table if tied, else "
            "two; a layer's W_Q, W_K, W_V, W_O, three of the feed-forward "
            "layer, two gains; one gain at the end; and what this config's "
            "other lines add. Where hidden_size is {0[hidden_size]} and "
            "vocab_size {0[vocab_size]},",
            tolerance=0,
        )
    return (
        "Mistral 7B, Llama 2 7B, Qwen3-0.6B and three small ones, with biases "
        "and with experts, to the last parameter."
    )


_QUERIES, _KEYS = "2 * d * d_q", "2 * d * d_kv"
_TABLES = '1 if config["tie_word_embeddings"] else 2'
_NARROW = (
    "W_K and W_V are d × d in yours. With fewer heads of keys and values they "
    "are narrower: kv_heads · d_k, and d_k is hidden_size / "
    "num_attention_heads."
)
_NORMS = (
    "qk_norm is true: two norms more in each layer, of queries and of keys, "
    "with head_dim gains each."
)
for _hint, _typed in {
    _NARROW: (_KEYS, _QUERIES),
    "Attention is 3 d² in yours. It has four matrices: W_Q and W_O of d × d, "
    "W_K and W_V of d × kv_heads · d_k.": (
        f"{_QUERIES} + {_KEYS}",
        "3 * d * d",
    ),
    "One table is missing: where nothing is tied the output has a matrix of "
    "its own.": (_TABLES, "1"),
    "Here input and output are tied: they share one table.": (_TABLES, "2"),
    "The feed-forward layer has three matrices: SwiGLU has a gate.": (
        "3 * d",
        "2 * d",
    ),
    "The tables are missing: a row of d numbers for each word, for the input "
    "and, where nothing is tied, for the "
    "output.": ("tables * vocab * d + ", ""),
    "A gain is not one number: it has d.": (
        "feedforward + 2 * d",
        "feedforward + 2",
        "layer + d",
        "layer + 1",
    ),
    "The norms are missing: two a layer, and one after the last.": (
        "feedforward + 2 * d",
        "feedforward",
        "layer + d",
        "layer",
    ),
    "The norm after the last layer is missing.": ("layer + d", "layer"),
    "There is one norm a layer in yours; each of its two parts has its own.": (
        "feedforward + 2 * d",
        "feedforward + d",
    ),
    "A norm has a bias in yours. RMSNorm has a gain only.": (
        *("feedforward + 2 *", "feedforward + 4 *"),
        *("layer + d", "layer + 2 * d"),
    ),
    "One matrix of d × d is missing in each layer: W_Q and W_O are both that "
    "large.": (_QUERIES, "d * d_q"),
    "W_K and W_V are of one size, but they are two.": (_KEYS, _KEYS[4:]),
    "The last norm is counted in every layer. It stands once, after all of "
    "them.": ("layer + d", "(layer + d)"),
    "The linear maps have biases in yours; here they have none.": (
        "feedforward + 2 * d",
        "feedforward + 2 * d_kv + 5 * d + 2 * config['intermediate_size']",
    ),
    "W_K and W_V are as small as one head. There are kv_heads of them.": (
        _KEYS,
        "2 * d * d_k",
    ),
    "Only one layer is counted.": (
        'config["num_hidden_layers"] * layer',
        "layer",
    ),
    "This config has head_dim: a head is so wide, whatever hidden_size / "
    "num_attention_heads is.": ('config.get("head_dim") or ', ""),
    "With head_dim W_O is not d × d: it takes the heads' numbers, "
    "num_attention_heads · head_dim, back to d.": (_QUERIES, "d * d_q + d * d"),
    _NORMS: ('config.get("qk_norm")', "False"),
    "The gains of qk_norm are shared by all heads: head_dim for the queries "
    "and as many for the keys.": ("+= 2 * d_k\n", "+= d_q + d_kv\n"),
    "attention_bias is true: W_Q, W_K, W_V and W_O have a bias each.": (
        'config.get("attention_bias")',
        "False",
    ),
    "One bias of attention is missing: W_O has one as well, of d numbers.": (
        "2 * d_kv + d\n",
        "2 * d_kv\n",
    ),
    "num_local_experts says how many feed-forward layers stand side by side "
    "in each layer; yours has one.": (
        "feedforward = experts * (feedforward + d)",
        "pass",
    ),
    "The router is missing: in each layer a matrix with a row of d numbers "
    "for each expert.": ("(feedforward + d)", "feedforward"),
    "The router has a row of d numbers for each expert; yours has one row.": (
        "experts * (feedforward + d)",
        "experts * feedforward + d",
    ),
}.items():
    parameters_of.slip(_hint, *_typed)
parameters_of.slip(_NARROW, f"{_QUERIES} + {_KEYS}", "4 * d * d")
parameters_of.slip(_NORMS, "+= 2 * d_k\n", "+= d_k\n")
for _name in ("attention_bias", "qk_norm"):
    parameters_of.slip(
        f"{_name} is there and false, and then it adds nothing: ask for its "
        "value, not whether it is there.",
        *(f'config.get("{_name}")', f'"{_name}" in config'),
    )


@parameters_of.style
def _by_building_it(config):
    sizes = [config[name] for name in _NAMES]
    more = {name: config[name] for name in config if config[name] is not None}
    shapes = [*_shapes(*sizes, more)]
    return float(sum(torch.empty(s, device="meta").numel() for s in shapes))


@parameters_of.style
def _by_every_line_of_the_config(config):  # as the page prints them
    assert config["rms_norm_eps"] == 1e-5 and config["sliding_window"]
    assert config["rope_theta"] == 10000.0
    d, v = config["hidden_size"], config["vocab_size"]
    maps = 3 if config["hidden_act"] == "silu" else 2
    heads, kv = config["num_attention_heads"], config["num_key_value_heads"]
    wide = config.get("head_dim", d // heads)
    rows = (heads + 2 * kv) * wide  # of W_Q, W_K and W_V
    bias = 1 if config.get("attention_bias", False) else 0
    total = v * d + d + (0 if config["tie_word_embeddings"] else v * d)
    for _ in range(config["num_hidden_layers"]):
        total += d + rows * (d + bias) + d * (heads * wide + bias)
        total += 2 * wide if config.get("qk_norm") else 0
        total += d + config.get("num_local_experts", 0) * d
        for _ in range(config.get("num_local_experts") or 1):
            total += maps * d * config["intermediate_size"]
    return torch.tensor(total)
