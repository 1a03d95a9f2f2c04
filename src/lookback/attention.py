r"""Scaled dot-product attention: queries, keys, values, as a soft dictionary.

Vaswani et al. 2017, arXiv 1706.03762, section 3.2.1.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V                    eq. 1

A query is compared with every key; the weights, which sum to 1 over the
keys, average the values. Where the queries come from the same place as keys
and values it is self-attention; where they come from elsewhere,
cross-attention. The split in three roles is older (Sukhbaatar et al. 2015,
Miller et al. 2016); new in 2017 is the factor 1/√d_k.
"""

import math

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn import functional as F


def attend(
    query: Float[Tensor, "*batch target d_k"],
    key: Float[Tensor, "*batch source d_k"],
    value: Float[Tensor, "*batch source d_v"],
    mask: Shaped[Tensor, "*#batch target_or_1 source"] | None = None,
    need_weights: bool = True,
    scale: float | None = None,
) -> tuple[
    Float[Tensor, "*batch target d_v"],
    Float[Tensor, "*batch target source"] | None,
]:
    """softmax(Q Kᵀ / √d_k) V, and the softmax itself if it is asked for.

    mask: True (or 1) = may attend; every query needs at least one. A mask of
    floats is added to the scores instead. `scale` replaces 1/√d_k. If the
    weights are not asked for, None is returned in their place, and torch's
    fused kernel does the work: [target, source] is never stored in memory,
    but for bf16 on a CPU.
    """
    if mask is not None and not mask.is_floating_point():
        mask = mask.bool()
    if not need_weights and not slow_when_fused(query):
        context = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=scale
        )
        return context, None
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    scores = query @ key.transpose(-2, -1) * scale  # Q Kᵀ / √d_k
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -torch.inf)
    elif mask is not None:
        scores = scores + mask
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights if need_weights else None


def slow_when_fused(query: Tensor) -> bool:
    """bf16 on a CPU: there torch's fused backward pass is the slower one."""
    return query.device.type == "cpu" and query.dtype == torch.bfloat16


def causal(length: int, device=None) -> Bool[Tensor, "length length"]:
    """True where position i (row) may see position j (column): j ≤ i."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


class Attention(nn.Module):
    """Three matrices make queries, keys and values of vectors, the rows.

    Q = X W_Q,   K = M W_K,   V = M W_V
    """

    def __init__(self, d_model: int, d_k: int, d_v: int):
        super().__init__()
        self.W_Q = nn.Linear(d_model, d_k, bias=False)
        self.W_K = nn.Linear(d_model, d_k, bias=False)
        self.W_V = nn.Linear(d_model, d_v, bias=False)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"] | None = None,
        mask: Bool[Tensor, "#batch target_or_1 source"] | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from x to `memory`; without one, x attends to itself."""
        memory = x if memory is None else memory
        return attend(
            self.W_Q(x), self.W_K(memory), self.W_V(memory), mask, need_weights
        )
