r"""Multi-head attention: several small attentions instead of one large one.

Vaswani et al. 2017, arXiv 1706.03762, section 3.2.2.

    MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O
    head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)

with d_k = d_v = d_model / h, so that h heads cost what one full head does.
All W_i^Q stand side by side in one matrix, and so do the others. Departures:
the four maps have biases, as in torch and in the paper's released code for
some of them; heads may share their keys and values (`kv_heads`; Shazeer 2019,
Ainslie et al. 2023).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from lookback.attention import attend


class MultiHeadAttention(nn.Module):
    """h heads at once, each in its own d_model / h dimensions.

    Raises ValueError if heads do not divide d_model, or kv_heads the heads.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        scaled: bool = True,
        kv_heads: int | None = None,
        bias: bool = True,
    ):
        super().__init__()
        if heads < 1 or d_model % heads:
            raise ValueError(
                f"{heads} heads cannot share {d_model} dimensions equally:"
                " choose a number that divides d_model"
            )
        kv_heads = heads if kv_heads is None else kv_heads
        if kv_heads < 1 or heads % kv_heads:
            raise ValueError(
                f"kv_heads is {kv_heads}: choose a number that divides {heads}"
            )
        self.heads, self.d_k = heads, d_model // heads
        self.scale = None if scaled else 1.0  # None: 1/√d_k
        d_kv = kv_heads * self.d_k
        self.W_Q = nn.Linear(d_model, d_model, bias)
        self.W_K = nn.Linear(d_model, d_kv, bias)
        self.W_V = nn.Linear(d_model, d_kv, bias)
        self.W_O = nn.Linear(d_model, d_model, bias)

    def split(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch heads length d_k"]:
        """d_model dimensions as `heads` groups of d_k."""
        return x.unflatten(-1, (-1, self.d_k)).transpose(1, 2)

    def project(
        self, memory: Float[Tensor, "batch source d_model"]
    ) -> tuple[
        Float[Tensor, "batch kv_heads source d_k"],
        Float[Tensor, "batch kv_heads source d_v"],
    ]:
        """Keys and values of a memory."""
        return self.split(self.W_K(memory)), self.split(self.W_V(memory))

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        keys: Float[Tensor, "batch kv_heads source d_k"],
        values: Float[Tensor, "batch kv_heads source d_v"],
        mask: Shaped[Tensor, "*#masked target_or_1 source"] | None = None,
        *,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "batch target d_model"],
        Float[Tensor, "batch heads target source"] | None,
    ]:
        """Attend from x to keys and values that `project` made."""
        query = self.split(self.W_Q(x))
        return self.look(query, keys, values, mask, need_weights)

    def attend(self, *given):
        """`attention.attend`; a subclass may compute it otherwise."""
        return attend(*given)

    def look(self, query, keys, values, mask, need_weights):
        """`attend` in all heads, and W^O over their concatenated outputs."""
        shared = self.heads // keys.shape[1]
        if shared > 1:
            keys = keys.repeat_interleave(shared, dim=1)
            values = values.repeat_interleave(shared, dim=1)
        context, weights = self.attend(
            query, keys, values, mask, need_weights, self.scale
        )
        return self.W_O(context.transpose(1, 2).flatten(2)), weights


@contextmanager
def attention_weights(*parts: nn.Module) -> Iterator[list[Tensor]]:
    """A list that gets the weights of every attention in these parts.

    Each adds its own, [batch, heads, target, source], whenever it is called.
    """
    found: list[Tensor] = []
    hooks = []
    for part in parts:
        for attention in part.modules():
            if isinstance(attention, MultiHeadAttention):
                hooks += [
                    attention.register_forward_pre_hook(
                        lambda _, args, more: (
                            args,
                            more | {"need_weights": True},
                        ),
                        with_kwargs=True,
                    ),
                    attention.register_forward_hook(
                        lambda _, __, result: found.append(result[1])
                    ),
                ]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


@torch.no_grad()
def prune(attention: MultiHeadAttention, head: int) -> None:
    """Prune one head: its columns of W^O become 0.

    Raises ValueError if there is no such head.
    """
    if not 0 <= head < attention.heads:
        raise ValueError(f"no head {head}: there are {attention.heads}")
    d_v = attention.W_O.in_features // attention.heads
    attention.W_O.weight[:, head * d_v : (head + 1) * d_v] = 0
