r"""From kernel regression to attention: ten formulas, 1964 to 2020.

Each gives every row i of a memory a weight w_i, and what is handed back is
always Σ_i w_i v_i. The attention weights are

    kernel regression   κ(q − k_i) / Σ_j κ(q − k_j)         Nadaraya 1964
    fast weights        q · k_i                             Schmidhuber 1991
    soft window         Σ α exp(−β (κ − i)²)                Graves 2013, eq. 46
    RNNsearch           softmax_i(v · tanh(W q + U k_i))    Bahdanau 2014, A.1.2
    memory network      1 where (U q) · (U k_i) is largest  Weston 2014, eq. 2
    content-based       softmax_i(β cos(q, k_i))            Graves 2014, eq. 5
    end-to-end          softmax_i(q · k_i)                  Sukhbaatar 2015
    dot                 softmax_i(q · k_i)                  Luong 2015
    scaled dot          softmax_i(q · k_i / √d)             Vaswani 2017, eq. 1
    linear              φ(q) · φ(k_i) / Σ_j φ(q) · φ(k_j)   Katharopoulos 2020

Departures: one query and no batch, so that each line reads as its equation;
matrices that are learned in the papers are drawn here, the same every time.
Only attention is taken: no controller, no state, no time rows, no second hop;
of the NTM's addressing only its first stage, the content-based one. The
letters are those of today: what Graves 2014 calls a key is q here; Schmidhuber
1992 calls k a key, as we do.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

Query, Keys = Float[Tensor, " d"], Float[Tensor, "source d"]
Weights = Float[Tensor, " source"]


def drawn(count: int, like: Tensor) -> Float[Tensor, "_ d d"]:
    """Matrices that stand for learned ones: the same every time."""
    d = like.shape[-1]
    draw = torch.Generator().manual_seed(0)
    found = torch.randn(count, d, d, generator=draw) / math.sqrt(d)
    return found.to(like)


def kernel_regression(query: Query, keys: Keys, width: float = 1.0) -> Weights:
    """κ(q − k_i) / Σ_j κ(q − k_j), with κ(u) = exp(−u·u / 2b²).

    NaN, 0/0, where q is so far from all keys that every κ is rounded to 0.
    """
    near = (-(query - keys).square().sum(-1) / (2 * width**2)).exp()
    return near / near.sum()


def fast_weights(query: Query, keys: Keys) -> Weights:
    """q · k_i: what (Σ_i v_i ⊗ k_i) q gives each v_i."""
    return keys @ query


def soft_window(query: Query, keys: Keys) -> Weights:
    """Σ α exp(−β (κ − i)²), two Gaussians, i = 1 … source; no key is read."""
    raw = (drawn(3, query)[:, :2] @ query).exp()  # α, β, κ: two of each
    alpha, beta, kappa = raw[:, :, None]
    i = torch.arange(1, len(keys) + 1).to(query)
    return (alpha * (-beta * (kappa - i) ** 2).exp()).sum(0)


def rnnsearch(query: Query, keys: Keys) -> Weights:
    """softmax_i(v · tanh(W q + U k_i))."""
    W, U, V = drawn(3, query)
    return (torch.tanh(W @ query + keys @ U.T) @ V[0]).softmax(-1)


def memory_network(query: Query, keys: Keys) -> Weights:
    """1 for the row with the largest (U q) · (U k_i), 0 for the others."""
    U = drawn(1, query)[0]
    best = (keys @ U.T @ (U @ query)).argmax()
    return F.one_hot(best, len(keys)).to(query)


def content_based(query: Query, keys: Keys, strength: float = 4.0) -> Weights:
    """softmax_i(β cos(q, k_i))."""
    cosine = F.cosine_similarity(query[None], keys, dim=-1)
    return (strength * cosine).softmax(-1)


def end_to_end(query: Query, keys: Keys, temperature: float = 1.0) -> Weights:
    """softmax_i(q · k_i / τ), τ = 1 in the paper."""
    return (keys @ query / temperature).softmax(-1)


def dot(query: Query, keys: Keys) -> Weights:
    """softmax_i(q · k_i)."""
    return (keys @ query).softmax(-1)


def scaled_dot(query: Query, keys: Keys) -> Weights:
    """softmax_i(q · k_i / √d)."""
    return (keys @ query / math.sqrt(len(query))).softmax(-1)


def linear(query: Query, keys: Keys) -> Weights:
    """φ(q) · φ(k_i) / Σ_j φ(q) · φ(k_j), with φ(x) = elu(x) + 1."""
    similarity = (F.elu(keys) + 1) @ (F.elu(query) + 1)
    return similarity / similarity.sum()


Attention = Callable[[Query, Keys], Weights]
KIN: dict[str, tuple[int, Attention]] = {
    "kernel regression": (1964, kernel_regression),
    "fast weights": (1991, fast_weights),
    "soft window": (2013, soft_window),
    "RNNsearch": (2014, rnnsearch),
    "memory network": (2014, memory_network),
    "content-based": (2014, content_based),
    "end-to-end": (2015, end_to_end),
    "dot": (2015, dot),
    "scaled dot": (2017, scaled_dot),
    "linear": (2020, linear),
}


class Traits(NamedTuple):
    """What experiments say of an attention mechanism."""

    sums_to_one: bool
    never_negative: bool
    sees_content: bool
    sees_place: bool
    gradient_to_query: bool


def sums_to_one(attention: Attention, query: Query, keys: Keys) -> bool:
    """Σ_i w_i = 1."""
    total = attention(query, keys).sum()
    close = max(1e-9, 8 * torch.finfo(total.dtype).eps)
    return bool((total - 1).abs() < close)


def never_negative(attention: Attention, query: Query, keys: Keys) -> bool:
    """No w_i is below 0."""
    return bool((attention(query, keys) >= 0).all())


def sees_content(attention: Attention, query: Query, keys: Keys) -> bool:
    """Other keys in the same positions: does any weight change?"""
    others = keys.roll(1, -1)  # each key's numbers in another order
    return not torch.allclose(attention(query, keys), attention(query, others))


def sees_place(attention: Attention, query: Query, keys: Keys) -> bool:
    """Keys permuted: does a weight not move with its key?"""
    order = torch.arange(len(keys)).roll(1)
    return not torch.allclose(
        attention(query, keys)[order], attention(query, keys[order])
    )


def gradient_to_query(attention: Attention, query: Query, keys: Keys) -> bool:
    """Does the context tell the query how to ask better?"""

    def context(query: Query) -> Float[Tensor, " d"]:
        return attention(query, keys) @ keys  # the values are the keys here

    each = torch.autograd.functional.jacobian(context, query)
    return bool(each.abs().max() > 1e-9)


def traits(
    attention: Attention, trials: int = 20, source: int = 7, d: int = 6
) -> Traits:
    """The traits of an attention mechanism, from so many random memories.

    The first two must hold in all of them; of the other three one case is
    enough.
    """
    draw = torch.Generator().manual_seed(1)
    found = []
    for _ in range(trials):
        numbers = torch.randn(
            source + 1, d, generator=draw, dtype=torch.float64
        )
        query, keys = numbers[0], numbers[1:]
        tests = (
            sums_to_one,
            never_negative,
            sees_content,
            sees_place,
            gradient_to_query,
        )
        found.append([test(attention, query, keys) for test in tests])
    each = list(zip(*found, strict=True))
    return Traits(*map(all, each[:2]), *map(any, each[2:]))
