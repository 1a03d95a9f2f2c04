r"""Residual connections and layer normalization: what lets depth work.

He et al. 2016, arXiv 1512.03385; Ba, Kiros & Hinton 2016, arXiv 1607.06450;
together in Vaswani et al. 2017, section 5.4 and 3.1:

    post-norm   x ← LayerNorm(x + f(x))            as published in 2017
    pre-norm    x ← x + f(LayerNorm(x))            as many models since

f is attention or the feed-forward layer; dropout acts on f's output. With it
go the measure of how alike a layer's tokens have become (after Dong et al.
2021, arXiv 2103.03404) and the learning rate that post-norm was published
with.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

NORMS = ("post", "pre", "none")


class Sublayer(nn.Module):
    """What stands around every attention and every feed-forward layer."""

    def __init__(
        self,
        d_model: int,
        dropout: float,
        norm: str = "post",
        residual: bool = True,
        kind: type[nn.Module] = nn.LayerNorm,
    ):
        super().__init__()
        if norm not in NORMS:
            raise ValueError(
                f"norm is {norm!r}: choose one of {', '.join(NORMS)}"
            )
        self.where, self.residual = norm, residual
        self.norm = nn.Identity() if norm == "none" else kind(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        f: Callable[[Tensor], Tensor],
    ) -> Float[Tensor, "batch length d_model"]:
        """LayerNorm(x + f(x)), or x + f(LayerNorm(x)) in pre-norm."""
        change = self.dropout(f(self.norm(x) if self.where == "pre" else x))
        x = x + change if self.residual else change
        return self.norm(x) if self.where == "post" else x


def layer_norm(
    x: Float[Tensor, "*batch d_model"],
    gain: Float[Tensor, " d_model"],
    bias: Float[Tensor, " d_model"],
    epsilon: float = 1e-5,
) -> Float[Tensor, "*batch d_model"]:
    """g ∘ (x − μ) / √(σ² + ε) + b, with μ and σ² of each token's numbers."""
    mean = x.mean(dim=-1, keepdim=True)  # μ
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)  # σ²
    return gain * (x - mean) / torch.sqrt(variance + epsilon) + bias


def token_spread(
    x: Float[Tensor, "*batch length d_model"],
) -> Float[Tensor, "*batch"]:
    """‖X − 1 x̄ᵀ‖ / ‖X‖: how far the tokens lie from their mean x̄.

    0 if all tokens are the same, at most 1. The mean is the nearest matrix
    with equal rows, in the norm √(sum of squares).
    """
    mean = x.mean(dim=-2, keepdim=True)
    return (x - mean).norm(dim=(-2, -1)) / x.norm(dim=(-2, -1))


def published_rate(step: int, d_model: int = 512, warmup: int = 4000) -> float:
    """d^−0.5 · min(step^−0.5, step · warmup^−1.5), Vaswani et al., eq. 3.

    Steps count from 1; ValueError below.
    """
    if step < 1:
        raise ValueError(f"step is {step}: the schedule counts from 1")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
