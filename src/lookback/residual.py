r"""Residual connections and layer normalisation: what lets depth work.

He et al. 2016, arXiv 1512.03385; Ba, Kiros & Hinton 2016, arXiv 1607.06450;
together in Vaswani et al. 2017, section 5.4 and 3.1:

    post-norm   x ← LayerNorm(x + f(x))            as published in 2017
    pre-norm    x ← x + f(LayerNorm(x))            as most models since

f is attention or the feed-forward layer; dropout acts on f's output.
"""

from collections.abc import Callable

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
    ):
        super().__init__()
        if norm not in NORMS:
            raise ValueError(
                f"norm is {norm!r}: choose one of {', '.join(NORMS)}"
            )
        self.where, self.residual = norm, residual
        self.norm = nn.Identity() if norm == "none" else nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        f: Callable[[Tensor], tuple[Tensor, Tensor | None]],
    ) -> tuple[Float[Tensor, "batch length d_model"], Tensor | None]:
        """x with f(x) added, and what else f returned (its weights)."""
        change, weights = f(self.norm(x) if self.where == "pre" else x)
        change = self.dropout(change)
        x = x + change if self.residual else change
        return (self.norm(x) if self.where == "post" else x), weights
