r"""Encoder and decoder layers: the parts of the chapters, put together.

Vaswani et al. 2017, arXiv 1706.03762, section 3.1 and figure 1.

    encoder   x ← Sub(x, attention of x to itself);   x ← Sub(x, FFN)
    decoder   y ← Sub(y, masked attention of y to itself)
              y ← Sub(y, attention of y to x);        y ← Sub(y, FFN)

Sub is what stands around a part: `residual.Sublayer`. Departures: the fields
of LayerConfig. With RoPE (Su et al. 2021) each self-attention rotates queries
and keys by their positions; with a cache it keeps the keys and values.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from lookback.feedforward import FeedForward
from lookback.heads import MultiHeadAttention
from lookback.kv_cache import KVCache
from lookback.positions import LearnedPositions, rotate, sinusoidal
from lookback.residual import Sublayer
from lookback.vocabulary import PAD


@dataclass(frozen=True)
class LayerConfig:
    """What a layer reads of its config; a model's has these fields too."""

    d_model: int
    heads: int
    d_ff: int  # 0 leaves the feed-forward layer out
    dropout: float = 0.0
    norm: str = "post"
    residual: bool = True
    scaled: bool = True  # 1/√d_k
    positions: str = "sinusoidal"
    activation: str = "relu"


class SelfAttention(MultiHeadAttention):
    """x attends to itself, and to the tokens that a cache has kept."""

    def __init__(self, *options, rope: bool = False, **more):
        super().__init__(*options, **more)
        self.rope = rope

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        mask: Shaped[Tensor, "*#masked target_or_1 source"] | None = None,
        cache: KVCache | None = None,
        *,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch target d_model"], Tensor | None]:
        """MHA(x, x), and its weights if they are asked for."""
        query, (keys, values) = self.split(self.W_Q(x)), self.project(x)
        if self.rope:
            start = cache.length if cache else 0
            query, keys = rotate(query, start), rotate(keys, start)
        if cache:
            keys, values = cache.extend(keys, values)
        return self.look(query, keys, values, mask, need_weights)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward layer."""

    def __init__(self, config):
        super().__init__()
        d = config.d_model
        around = d, config.dropout, config.norm, config.residual
        rope = config.positions == "rope"
        self.attention = SelfAttention(
            d, config.heads, config.scaled, rope=rope
        )
        self.around_attention = Sublayer(*around)
        self.feedforward = None
        if config.d_ff:
            self.feedforward = FeedForward(d, config.d_ff, config.activation)
            self.around_feedforward = Sublayer(*around)

    def forward(
        self,
        x: Float[Tensor, "batch source d_model"],
        mask: Bool[Tensor, "*#masked target_or_1 source"] | None = None,
    ) -> Float[Tensor, "batch source d_model"]:
        """x changed twice; mask: True = may be attended to."""
        x = self.around_attention(x, lambda x: self.attention(x, mask)[0])
        if self.feedforward is not None:
            x = self.around_feedforward(x, self.feedforward)
        return x


class DecoderLayer(nn.Module):
    """Self-attention to the words so far, cross-attention, feed-forward."""

    def __init__(self, config):
        super().__init__()
        d = config.d_model
        around = d, config.dropout, config.norm, config.residual
        rope = config.positions == "rope"
        self.attention = SelfAttention(
            d, config.heads, config.scaled, rope=rope
        )
        self.around_attention = Sublayer(*around)
        self.cross = MultiHeadAttention(d, config.heads, config.scaled)
        self.around_cross = Sublayer(*around)
        self.feedforward = None
        if config.d_ff:
            self.feedforward = FeedForward(d, config.d_ff, config.activation)
            self.around_feedforward = Sublayer(*around)

    def forward(
        self,
        y: Float[Tensor, "batch target d_model"],
        memory: tuple[Tensor, Tensor],
        source_mask: Bool[Tensor, "batch 1 1 source"] | None = None,
        target_mask: Bool[Tensor, "target target"] | None = None,
        **own,
    ) -> Float[Tensor, "batch target d_model"]:
        """y changed three times; `memory` is `cross.project(x)`.

        What else the self-attention is to know is in `own`.
        """
        y = self.around_attention(
            y, lambda y: self.attention(y, target_mask, **own)[0]
        )
        y = self.around_cross(
            y, lambda y: self.cross(y, *memory, source_mask)[0]
        )
        if self.feedforward is not None:
            y = self.around_feedforward(y, self.feedforward)
        return y


class Embedding(nn.Module):
    """√d_model E[token], with its position added, and dropout."""

    def __init__(
        self,
        vocab: int,
        d_model: int,
        positions: str = "sinusoidal",
        dropout: float = 0.0,
        longest: int = 256,
    ):
        super().__init__()
        self.words = nn.Embedding(vocab, d_model, PAD)
        nn.init.normal_(self.words.weight, std=d_model**-0.5)
        self.positions = positions
        if positions == "learned":
            self.learned = LearnedPositions(longest, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, tokens: Int[Tensor, "*batch"], start: int = 0
    ) -> Float[Tensor, "*batch d_model"]:
        """`start` is the position of the first token."""
        d_model = self.words.embedding_dim
        x = self.words(tokens) * math.sqrt(d_model)
        if self.positions == "sinusoidal":
            fine = torch.promote_types(x.dtype, torch.float32)
            x = x + sinusoidal(tokens.shape[1], d_model, start, x.device, fine)
            x = x.to(self.words.weight.dtype)
        elif self.positions == "learned":
            x = x + self.learned(tokens.shape[1], start)
        return self.dropout(x)


def xavier(part: nn.Module) -> None:
    """Draws every linear map as Glorot & Bengio 2010; every bias is 0."""
    for module in part.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
