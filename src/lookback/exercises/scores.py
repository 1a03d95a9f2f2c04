"""The exercises of `scores`: each check beside its reference solution.

What is right comes from loops over pairs of words, from plain arithmetic or
from torch's own derivative, never from the solution.
"""

import math

import numpy as np
import torch
from torch.nn import functional as F

from lookback import scores as chapter
from lookback.exercises.by_hand import around, by_hand, exactly, stage, within
from lookback.exercises.checking import (
    exercise,
    float64,
    random_inputs,
    rounding,
)

_AXES = "[batch, target, source]"


def similarity_by_hand_solution():
    """q · k and q · k / (|q| |k|) of two keys."""
    dots = [3 * 4 + 4 * 3, 3 * 0 + 4 * 10]  # 24, 40
    lengths = [5 * 5, 5 * 10]  # |q| |k|
    return [*dots, *(d / n for d, n in zip(dots, lengths, strict=True))]


def _other_similarity(draw):
    """A query, a key near its direction, and a longer one further off."""
    a, b = draw.choice(((3, 4), (4, 3), (6, 8), (8, 6)))
    size = draw.choice((15, 20))
    return {
        "q": (a, b),
        "k1": (b, a),
        "k2": draw.choice(((0, size), (size, 0))),
    }


@by_hand(
    similarity_by_hand_solution,
    "q·k1, q·k2, and the two cosines",
    ["q · k₁", "q · k₂"],
    ["cosine with k₁", "cosine with k₂"],
    known={2: "Two of four: give both dot products, then both cosines."},
    vary=("q = {q}, k₁ = {k1} and k₂ = {k2}", _other_similarity),
)
def similarity_by_hand(q=(3, 4), k1=(4, 3), k2=(0, 10)):
    """Two dot products and two cosines."""
    first, *_ = q
    query, keys = float64(q), float64((k1, k2))
    dots, added = keys @ query, (keys + query).sum(1)
    asks, sizes = query.norm(), keys.norm(dim=1)
    cosines = F.cosine_similarity(keys, query, dim=1)
    mistakes = {
        f"The keys are exchanged: k1 = {k1} comes first.": dots.flip(0),
        "You added number by number; a product multiplies first.": added,
    }
    otherwise = (
        "The check does not recognize the mistake in the dot products. "
        f"Multiply number by number, {first} · {k1[0]} for the first place, "
        "then add up."
    )
    products = stage(dots, mistakes, otherwise, around(0.006), asked=exactly)
    mistakes = {
        "You divided by |k| alone; the query's length divides, too.": (
            dots / sizes
        ),
        "You divided by |q| alone; the key's length divides, too.": dots / asks,
        "You divided by the squared lengths, |q|² |k|². The length is the "
        f"root: |q| = √({q[0] ** 2} + {q[1] ** 2}) = {asks:g}.": (
            dots / (asks * sizes) ** 2
        ),
        "You divided by |q| + |k|; the lengths multiply.": (
            dots / (asks + sizes)
        ),
        "You divided by √2, the root of d_k: those are scaled products, not "
        "cosines.": dots / 2**0.5,
        "The two cosines are exchanged.": cosines.flip(0),
        "Those are angles in degrees; give their cosines.": (
            cosines.acos().rad2deg()
        ),
        "Those are angles in radians; give their cosines.": cosines.acos(),
    }
    otherwise = (
        "The dot products are right. For the cosines divide each by "
        f"|q| |k|. The lengths are {asks:g}, {sizes[0]:g} and {sizes[1]:g}."
    )
    return (
        "{:g} and {:g}, {:.3g} and {:.3g}: k2 wins by length, k1 by "
        "direction.".format(*dots, *cosines),
        products,
        stage(
            cosines,
            mistakes,
            otherwise,
            around(0.006),
            at=2,
            asked=within(0.0055),
            share=True,
        ),
    )


def variance_by_hand_solution():
    """d_k · 2 · 8, and that over d_k."""
    variance = 25 * 2 * 8  # 400
    return [variance, variance / 5**2]  # 16


def _other_variances(draw):
    """Two variances with a square for a product, and a square width."""
    q, k = draw.choice(((2, 18), (3, 12), (4, 9), (9, 4), (8, 2), (12, 3)))
    return {"q": q, "k": k, "d": draw.choice((16, 64, 100))}


@by_hand(
    variance_by_hand_solution,
    "the two variances",
    ["Var(q · k)", "Var(q · k / √d_k)"],
    vary=(
        "the query's numbers have variance {q}, the key's {k}, and d_k = {d}",
        _other_variances,
    ),
)
def variance_by_hand(q=2, k=8, d=25):
    """The variance of q · k where it is not d_k."""
    term, root = q * k, math.isqrt(d)
    spread = math.isqrt(term)  # whole, as √d_k is
    whole = d * term
    mistakes = {
        f"{d} is d_k, the variance where all numbers have variance 1. Here "
        f"each term has {q} · {k}.": [d],
        f"You added the variances {q} and {k}. The term is a product: its "
        f"variance is the mean of q² k², which is {q} · {k}.": [d * (q + k)],
        f"{term} is the variance of one term. There are {d} of them.": [term],
        f"√({q} · {k}) = {spread} is one term's standard deviation. Variances "
        "add up, standard deviations do not.": [d * spread],
        f"{root * spread} is a standard deviation; its square is the "
        "variance.": [root * spread],
        f"You added √{d} terms; there are {d}.": [root * term],
    }
    otherwise = (
        "The check does not recognize the mistake in the first number. One "
        f"term q_i k_i has the variance {q} · {k}, and d_k independent terms "
        "add up."
    )
    before = stage([whole], mistakes, otherwise, around(0.006), asked=exactly)
    mistakes = {
        f"You divided the variance by √d_k = {root}. A number divided by "
        f"{root} has a variance divided by {root}².": [root * term],
        "It would be 1 if all numbers had variance 1. Divide it.": [1],
        f"{spread} is the standard deviation after the division. Its square "
        "is the variance.": [spread],
        "That is the variance before it.": [whole],
        "You divided by d_k twice; once is enough.": [term / d],
    }
    otherwise = (
        "The check does not recognize the mistake in the second number. "
        f"Dividing by √{d} divides the variance by {d}."
    )
    return (
        f"{whole} and {term}: 1/√d_k takes away d_k, not the variances {q} "
        f"and {k}.",
        before,
        stage([term], mistakes, otherwise, around(0.006), at=1, asked=exactly),
    )


def general_scores_solution(query, key, W):
    """q · (W k) for every pair."""
    return query @ (key @ W.T).transpose(1, 2)


@exercise(general_scores_solution)
def general_scores(mine):
    """q · (W k), batched."""
    cases = []
    sizes = ((2, 3, 5, 4, 4), (2, 3, 5, 4, 6), (1, 1, 4, 2, 3))
    for seed, (batch, target, source, d_query, d_key) in enumerate(sizes):
        shapes = (batch, target, d_query), (batch, source, d_key)
        given = random_inputs(seed, *shapes, (d_query, d_key))
        q, k, W = map(float64, given)
        cases.append((given, torch.einsum("btq,qk,bsk->bts", q, W, k)))
    general_scores.compare(mine, cases, _AXES)
    return "shape, and the right sums on three batches."


_TURNED = (
    "Yours is [batch, source, target]: queries are rows, keys are columns."
)
_NO_BATCH = (
    "The batch axis is gone: each sentence has its own matrix of scores."
)
_GENERAL = "query @ (key @ W.T).transpose(1, 2)"
for _hint, _typed in {
    "W is transposed in your score: that is (W q) · k. Keys are rows, so W k "
    "is key @ W.T.": "query @ (key @ W).transpose(1, 2)",
    "W is not in your scores: that is the plain dot product.": (
        "query @ key.transpose(1, 2)"
    ),
    "You mapped the query and the key; W stands between them, once.": (
        "query @ W.T @ (key @ W.T).transpose(1, 2)"
    ),
    "Those are weights, each row sums to 1. The scores come before "
    "softmax.": f"({_GENERAL}).softmax(-1)",
    "You divided by √d_k; general is not scaled.": (
        f"{_GENERAL} / key.shape[-1] ** 0.5"
    ),
    "There is no tanh in this score, only products.": f"({_GENERAL}).tanh()",
    "The sentences are mixed: each query meets its own keys only.": (
        "query @ (key @ W.T).sum(0).T"
    ),
    "reshape does not transpose a matrix; transpose(1, 2) does.": (
        "query @ (key @ W.T).reshape(len(key), len(W), -1)"
    ),
    _TURNED: f"({_GENERAL}).transpose(1, 2)",
    _NO_BATCH: f"({_GENERAL}).sum(0)",
}.items():
    general_scores.slip(_hint, _GENERAL, _typed)


general_scores.style(chapter.general)
general_scores.style(lambda query, key, W: query @ W @ key.mT)


@general_scores.style
def _by_numpy(query, key, W):
    q, k, W = (each.double().numpy() for each in (query, key, W))
    return torch.from_numpy(np.einsum("btq,qk,bsk->bst", q, W, k)).mT


def cosine_scores_solution(query, key):
    """q · k / (|q| |k|), and 0 beside a vector of zeros."""
    query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
    return query @ key.transpose(1, 2)


_TOO_MUCH = (
    "Right for usual lengths, too small for short ones: you add something to "
    "the lengths, or clamp at too large a number. Catch only 0."
)


@exercise(cosine_scores_solution)
def cosine_scores(mine):
    """The cosine of every query with every key."""
    query, key = random_inputs(3, (2, 3, 4), (2, 5, 4))
    no_query, no_key = query.clone(), key.clone()
    no_query[:, -1] = no_key[:, -1] = 0
    for q, k, otherwise in (
        (query, key, None),
        (query / 1000, key / 1000, _TOO_MUCH),
        (query, no_key, None),
        (no_query, key, None),
    ):
        truth = torch.cosine_similarity(
            float64(q)[:, :, None], float64(k)[:, None], dim=-1
        )
        cosine_scores.compare(
            mine, [((q, k), truth)], _AXES, otherwise=otherwise
        )
    return "equal to torch's cosine; short vectors and zeros are safe."


def _over(length):
    """q · k over what is made of their lengths, [b, t, 1] and [b, 1, s]."""

    def scores(query, key):
        lengths = query.norm(dim=-1)[:, :, None], key.norm(dim=-1)[:, None]
        return query @ key.mT / length(*lengths)

    return scores


for _hint, _length in {
    "That is the dot product: divide by both lengths.": lambda q, k: 1,
    "You divided by the key's length only.": lambda q, k: k,
    "You divided by the query's length only.": lambda q, k: q,
    "You divided by the squared lengths: a root is missing.": (
        lambda q, k: q**2 * k**2
    ),
    "You took the length over a whole sentence; every vector has its own: "
    "dim=-1.": lambda q, k: q.norm(dim=1)[..., None] * k.norm(dim=2)[..., None],
    "norm() without dim is one length for the whole batch; every vector has "
    "its own: dim=-1, keepdim=True.": lambda q, k: q.norm() * k.norm(),
    "You divided by the sum of the two lengths; they multiply.": (
        lambda q, k: q + k
    ),
    "A key of zeros gives NaN, 0/0. Give it the cosine 0.": (
        lambda q, k: q.clamp(1e-9) * k
    ),
    "A query of zeros gives NaN, 0/0. Give it the cosine 0.": (
        lambda q, k: q * k.clamp(1e-9)
    ),
    _TOO_MUCH: lambda q, k: q * k + 5e-5,
}.items():
    cosine_scores.slip(_hint, _over(_length))
for _hint, _typed in {
    "That is the scaled dot product: √d_k is one number for all, a length "
    "belongs to its vector.": (
        *("F.normalize(query, dim=-1)", "query / query.shape[-1] ** 0.5"),
        *("F.normalize(key, dim=-1)", "key"),
    ),
    "Those are weights; the cosine comes first.": (
        *("key.transpose(1, 2)", "key.transpose(1, 2), dim=-1)"),
        *("return ", "return torch.softmax("),
    ),
    "Each number was divided by a length over the words: dim=-1.": (
        "dim=-1",
        "dim=1",
    ),
    _TURNED: ("query @ key.transpose", "key @ query.transpose"),
    _NO_BATCH: (
        "transpose(1, 2)",
        "sum(0).T",
    ),
}.items():
    cosine_scores.slip(_hint, *_typed)


cosine_scores.style(chapter.cosine)
cosine_scores.style(_over(lambda q, k: (q * k).clamp_min(1e-9)))
cosine_scores.style(
    lambda query, key: _over(lambda q, k: q * k)(query, key).nan_to_num()
)
cosine_scores.style(
    lambda query, key: F.cosine_similarity(
        query[:, :, None], key[:, None], dim=-1
    )
)


def softmax_jacobian_solution(scores):
    """∂α_j/∂e_m = α_j δ_jm − α_j α_m."""
    a = scores.softmax(-1)
    return torch.diag_embed(a) - a.unsqueeze(2) * a.unsqueeze(1)


@exercise(softmax_jacobian_solution)
def softmax_jacobian(mine):
    """The Jacobian of softmax, a matrix for each row."""
    (scores,) = random_inputs(5, (3, 4))
    jacobian = torch.autograd.functional.jacobian
    truth = torch.stack(
        [jacobian(lambda x: x.softmax(0), row) for row in float64(scores)]
    )
    cases = [((scores,), truth)]
    softmax_jacobian.compare(mine, cases, "[batch, source, source]")
    far = 1000 + scores, scores - 1000
    cases = [((each,), truth) for each in far]
    softmax_jacobian.compare(
        mine,
        cases,
        tolerance=rounding(*far),
        otherwise=lambda found, _: _NEAR if found.isfinite().all() else _FAR,
    )
    return "equal to torch's own derivative, for three rows of scores."


_FAR = (
    "Right for small scores. Scores of ±1000 are too large or too small for "
    "exp: take torch.softmax, which subtracts the largest first."
)
_NEAR = (
    "Right for small scores, and not near ±1000. Exp gives 0 or infinity "
    "there, and float32 keeps four decimals, too few for a quotient of "
    "differences: take torch.softmax and the equation."
)
_DIAGONAL, _PRODUCT = "torch.diag_embed(a)", "a.unsqueeze(2) * a.unsqueeze(1)"
_JACOBIAN = f"{_DIAGONAL} - {_PRODUCT}"
for _hint, _typed in {
    "The sign is flipped: α_j δ_jm comes first, α_j α_m is subtracted.": (
        _JACOBIAN,
        f"{_PRODUCT} - {_DIAGONAL}",
    ),
    "α_j α_m is missing: weights fall as others rise.": (_JACOBIAN, _DIAGONAL),
    "The diagonal is missing: α_j δ_jm.": (_JACOBIAN, f"-{_PRODUCT}"),
    "Off the diagonal stands −α_j α_m.": (
        _JACOBIAN,
        "torch.diag_embed(a * (1 - a))",
    ),
    "You add α_j α_m; it is subtracted.": (" - ", " + "),
    "You used the scores where the weights belong: take softmax first.": (
        ".softmax(-1)",
        "",
    ),
    _FAR: ("scores.softmax(-1)", "scores.exp() / scores.exp().sum(-1, True)"),
    "You put the identity in place of α_j δ_jm: α_j multiplies the whole "
    "bracket.": (_DIAGONAL, "torch.eye(scores.shape[1])"),
    "You took softmax over the batch: dim=-1.": ("softmax(-1)", "softmax(0)"),
    "That is the bracket δ_jm − α_m alone; α_j multiplies it.": (
        _JACOBIAN,
        "torch.eye(scores.shape[1]) - a.unsqueeze(1)",
    ),
    "That is δ_jm − α_j: inside the bracket stands α_m, and α_j multiplies "
    "it.": (_JACOBIAN, "torch.eye(scores.shape[1]) - a[:, :, None]"),
    "Every weight also depends on every OTHER score.": (
        _JACOBIAN,
        "a * (1 - a)",
    ),
    "That is one matrix; each row of scores has its own Jacobian.": (
        _JACOBIAN,
        f"({_JACOBIAN}).mean(0)",
    ),
    "That has every row's weights against every row's scores; only a row's "
    "own scores move them.": (
        _JACOBIAN,
        "torch.func.jacrev(lambda x: x.softmax(-1))(scores)",
    ),
}.items():
    softmax_jacobian.slip(_hint, *_typed)


@softmax_jacobian.slip(_NEAR)
def _by_steps(scores):
    steps = 1e-3 * torch.eye(scores.shape[1])[:, None]
    up, down = ((scores + by * steps).softmax(-1) for by in (1, -1))
    return ((up - down) / 2e-3).permute(1, 2, 0)


@softmax_jacobian.style
def _row_by_row(scores):
    jacobian = torch.func.jacrev(lambda row: row.softmax(0))
    return torch.stack([jacobian(row) for row in scores])


@softmax_jacobian.style
def _by_gradient(scores):
    e = scores.double().requires_grad_()
    columns = [
        torch.autograd.grad(e.softmax(1)[:, j].sum(), e)[0]
        for j in range(e.shape[1])
    ]
    return torch.stack(columns, dim=1)
