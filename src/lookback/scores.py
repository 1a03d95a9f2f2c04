r"""Attention scores: how well a key suits a query, from a sum to a product.

Each function gives every query of a sentence a score with every key. Softmax
over `source` turns scores into weights; nothing of that happens here.

    additive    v · tanh(W q + U k)      Bahdanau et al. 2014, A.1.2
    dot         q · k                    Luong et al. 2015, section 3.1
    general     q · (W k)                Luong et al. 2015, section 3.1
    concat      v · tanh(W [q; k])       Luong et al. 2015, section 3.1
    scaled_dot  q · k / √d_k             Vaswani et al. 2017, section 3.2.1
    cosine      q · k / (|q| |k|)        Graves et al. 2014, eq. 6

Luong et al. ask with the decoder's present state, Bahdanau et al. with the
one before; here a query is a query. Luong's fourth score, `location`, is a
row of W q and never sees a key, so it is left out. Departures: none of the
functions has a bias, and `cosine` gives 0 for a vector of zeros, where the
equation gives 0/0.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def additive(
    query: Float[Tensor, "batch target d_query"],
    key: Float[Tensor, "batch source d_key"],
    W: Float[Tensor, "align d_query"],
    U: Float[Tensor, "align d_key"],
    v: Float[Tensor, " align"],
) -> Float[Tensor, "batch target source"]:
    """v · tanh(W q + U k): RNNsearch's energy (Bahdanau 2014, A.1.2).

    Lays out [batch target source align] on the way: one hidden layer for
    every pair of words.
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
