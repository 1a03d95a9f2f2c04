r"""Attention scores: how well a key suits a query, from a sum to a product.

Each score gives every query of a sentence a number with every key; a masked
softmax over `source` turns these into attention weights.

    additive    v · tanh(W q + U k)      Bahdanau et al. 2014, A.1.2
    concat      v · tanh(W [q; k])       Luong et al. 2015, section 3.1
    dot         q · k                    Luong et al. 2015, section 3.1
    general     q · (W k)                Luong et al. 2015, section 3.1
    location    W q, no key              Luong et al. 2015, section 3.1
    scaled_dot  q · k / √d_k             Vaswani et al. 2017, section 3.2.1
    cosine      q · k / (|q| |k|)        Graves et al. 2014, eq. 6
    local_p     softmax in a window, times exp(−(s − p)² / 2σ²), σ = D/2
                                         Luong et al. 2015, section 3.2

Luong et al. ask with the decoder's present state, Bahdanau et al. with the
one before; here a query is a query. Departures: none of the functions has a
bias, `cosine` gives 0 for a vector of zeros, where the equation gives 0/0,
and `local_p` counts places from 0.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def additive(
    query: Float[Tensor, "batch target d_query"],
    key: Float[Tensor, "batch source d_key"],
    W: Float[Tensor, "align d_query"],
    U: Float[Tensor, "align d_key"],
    v: Float[Tensor, " align"],
) -> Float[Tensor, "batch target source"]:
    """v · tanh(W q + U k): RNNsearch's energy (Bahdanau 2014, A.1.2).

    Materializes [batch target source align] on the way: one hidden layer
    for every pair of words.
    """
    asked = (query @ W.T).unsqueeze(2)  # [batch target 1 align]
    known = (key @ U.T).unsqueeze(1)  # [batch 1 source align]
    return torch.tanh(asked + known) @ v


def dot(
    query: Float[Tensor, "batch target d_k"],
    key: Float[Tensor, "batch source d_k"],
) -> Float[Tensor, "batch target source"]:
    """q · k: one matrix product for all pairs (Luong 2015, section 3.1)."""
    return query @ key.transpose(1, 2)  # Q Kᵀ


def general(
    query: Float[Tensor, "batch target d_query"],
    key: Float[Tensor, "batch source d_key"],
    W: Float[Tensor, "d_query d_key"],
) -> Float[Tensor, "batch target source"]:
    """q · (W k): the sizes may differ, W is learned (Luong 2015, 3.1)."""
    return dot(query, key @ W.T)


def concat(
    query: Float[Tensor, "batch target d_query"],
    key: Float[Tensor, "batch source d_key"],
    W: Float[Tensor, "align d_query_and_d_key"],
    v: Float[Tensor, " align"],
) -> Float[Tensor, "batch target source"]:
    """v · tanh(W [q; k]), written pair by pair (Luong 2015, section 3.1)."""
    target, source = query.shape[1], key.shape[1]
    asked = query.unsqueeze(2).expand(-1, -1, source, -1)
    known = key.unsqueeze(1).expand(-1, target, -1, -1)
    return torch.tanh(torch.cat([asked, known], dim=-1) @ W.T) @ v


def location(
    query: Float[Tensor, "batch target d_query"],
    W: Float[Tensor, "source d_query"],
) -> Float[Tensor, "batch target source"]:
    """W q: a score for each place, whatever stands there (Luong 2015, 3.1)."""
    return query @ W.T


def scaled_dot(
    query: Float[Tensor, "batch target d_k"],
    key: Float[Tensor, "batch source d_k"],
) -> Float[Tensor, "batch target source"]:
    """q · k / √d_k: variance 1 at any d_k (Vaswani 2017, section 3.2.1)."""
    return dot(query, key) / math.sqrt(query.shape[-1])


def cosine(
    query: Float[Tensor, "batch target d_k"],
    key: Float[Tensor, "batch source d_k"],
) -> Float[Tensor, "batch target source"]:
    """q · k / (|q| |k|), between −1 and 1 (Graves 2014, eq. 6)."""
    return dot(unit(query), unit(key))


def unit(x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    """x / |x|, each vector at length 1; zeros stay zeros."""
    length = x.norm(dim=-1, keepdim=True)
    return x / length.masked_fill(length == 0, 1)


def masked_softmax(
    scores: Float[Tensor, "batch target source"],
    mask: Bool[Tensor, "#batch target_or_1 source"],
) -> Float[Tensor, "batch target source"]:
    """Attention weights: softmax over `source`, exactly 0 where mask is False.

    A row of the mask needs at least one True, else its weights are NaN.
    """
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)


def local_p(
    scores: Float[Tensor, "batch target source"],
    p: Float[Tensor, "batch target"],
    D: int,
) -> Float[Tensor, "batch target source"]:
    """Local attention around p, which may lie between positions (3.2).

    The weights of a row sum to less than 1, as in the paper.
    """
    s = torch.arange(scores.shape[-1], device=scores.device)
    away = s - p.unsqueeze(-1)  # s − p_t
    weights = masked_softmax(scores, away.abs() <= D)
    return weights * torch.exp(-(away**2) / (2 * (D / 2) ** 2))
