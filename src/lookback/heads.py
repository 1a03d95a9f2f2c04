r"""Multi-head attention: several small looks instead of one large one.

Vaswani et al. 2017, arXiv 1706.03762, section 3.2.2.

    MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O
    head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)

with d_k = d_v = d_model / h, so that h heads cost what one full head does.
All W_i^Q stand side by side in one matrix, and so do the others. Departures:
the four maps have biases, as in torch and in the paper's released code for
some of them; queries and keys may be rotated by their positions (Su et al.
2021).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from lookback.attention import attend
from lookback.positions import rotate


class MultiHeadAttention(nn.Module):
    """h looks at once, each in its own d_model / h dimensions."""

    def __init__(
        self,
        d_model: int,
        heads: int,
        scaled: bool = True,
        rotary: bool = False,
    ):
        super().__init__()
        if heads < 1 or d_model % heads:
            raise ValueError(
                f"{heads} heads cannot share {d_model} dimensions equally:"
                " choose a number that divides d_model"
            )
        self.heads, self.rotary = heads, rotary
        self.scale = None if scaled else 1.0  # None: 1/√d_k
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)
        self.W_O = nn.Linear(d_model, d_model)

    def split(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch heads length d_k"]:
        """d_model numbers as `heads` groups of d_k."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def project(
        self, memory: Float[Tensor, "batch source d_model"], start: int = 0
    ) -> tuple[
        Float[Tensor, "batch heads source d_k"],
        Float[Tensor, "batch heads source d_v"],
    ]:
        """Keys and values of a memory whose first position is `start`."""
        keys, values = (
            self.split(self.W_K(memory)),
            self.split(self.W_V(memory)),
        )
        return (rotate(keys, start) if self.rotary else keys), values

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        keys: Float[Tensor, "batch heads source d_k"],
        values: Float[Tensor, "batch heads source d_v"],
        mask: Bool[Tensor, "*#masked target_or_1 source"] | None = None,
        need_weights: bool = False,
        start: int = 0,
    ) -> tuple[
        Float[Tensor, "batch target d_model"],
        Float[Tensor, "batch heads target source"] | None,
    ]:
        """Look from x at keys and values that `project` made."""
        query = self.split(self.W_Q(x))
        if self.rotary:
            query = rotate(query, start)
        context, weights = attend(
            query, keys, values, mask, need_weights, self.scale
        )
        return self.W_O(context.transpose(1, 2).flatten(2)), weights


@torch.no_grad()
def prune(attention: MultiHeadAttention, head: int) -> None:
    """Silence one head for good: its columns of W^O become 0.

    Raises ValueError if there is no such head.
    """
    if not 0 <= head < attention.heads:
        raise ValueError(f"no head {head}: there are {attention.heads}")
    d_v = attention.W_O.in_features // attention.heads
    attention.W_O.weight[:, head * d_v : (head + 1) * d_v] = 0
