r"""Encoder and decoder layers: the parts of the chapters, put together.

Vaswani et al. 2017, arXiv 1706.03762, section 3.1 and figure 1.

    encoder   x ← Sub(x, attention of x to itself);   x ← Sub(x, FFN)
    decoder   y ← Sub(y, masked attention of y to itself)
              y ← Sub(y, attention of y to x);        y ← Sub(y, FFN)

Sub is what stands around a part: `residual.Sublayer`. Departures: d_ff = 0
leaves the feed-forward layer out; norms may stand before their parts
(`norm`), sums and the factor 1/√d_k may be left out (`residual`, `scaled`),
and queries and keys may be rotated by their positions (`rotary`).
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from lookback.feedforward import FeedForward
from lookback.heads import MultiHeadAttention
from lookback.positions import LearnedPositions, sinusoidal
from lookback.residual import Sublayer
from lookback.vocabulary import PAD


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward layer."""

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_ff: int,
        dropout: float,
        norm: str = "post",
        residual: bool = True,
        scaled: bool = True,
        rotary: bool = False,
        activation: str = "relu",
    ):
        super().__init__()
        around = (d_model, dropout, norm, residual)
        self.attention = MultiHeadAttention(d_model, heads, scaled, rotary)
        self.around_attention = Sublayer(*around)
        self.feedforward = None
        if d_ff:
            self.feedforward = FeedForward(d_model, d_ff, activation)
            self.around_feedforward = Sublayer(*around)

    def forward(
        self,
        x: Float[Tensor, "batch source d_model"],
        mask: Bool[Tensor, "*#masked target_or_1 source"] | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch source d_model"], Tensor | None]:
        """x changed, and the weights of its look at itself."""
        given = self.around_attention.before(x)
        keys, values = self.attention.project(given)
        change, weights = self.attention(
            given, keys, values, mask, need_weights
        )
        x = self.around_attention.after(x, change)
        if self.feedforward is not None:
            change = self.feedforward(self.around_feedforward.before(x))
            x = self.around_feedforward.after(x, change)
        return x, weights


class DecoderLayer(nn.Module):
    """Self-attention to the words so far, the look back, feed-forward."""

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_ff: int,
        dropout: float,
        norm: str = "post",
        residual: bool = True,
        scaled: bool = True,
        rotary: bool = False,
        activation: str = "relu",
    ):
        super().__init__()
        around = (d_model, dropout, norm, residual)
        self.attention = MultiHeadAttention(d_model, heads, scaled, rotary)
        self.around_attention = Sublayer(*around)
        self.cross = MultiHeadAttention(d_model, heads, scaled)
        self.around_cross = Sublayer(*around)
        self.feedforward = None
        if d_ff:
            self.feedforward = FeedForward(d_model, d_ff, activation)
            self.around_feedforward = Sublayer(*around)

    def forward(
        self,
        y: Float[Tensor, "batch target d_model"],
        keys: Float[Tensor, "batch heads source d_k"],
        values: Float[Tensor, "batch heads source d_v"],
        source_mask: Bool[Tensor, "batch 1 1 source"] | None = None,
        target_mask: Bool[Tensor, "target target"] | None = None,
        past: tuple[Tensor, Tensor] | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, tuple[Tensor, Tensor], tuple]:
        """y changed; its own keys and values; both attentions' weights.

        `past` holds the keys and values of the words before y.
        """
        start = 0 if past is None else past[0].shape[-2]
        given = self.around_attention.before(y)
        own_keys, own_values = self.attention.project(given, start)
        if past is not None:
            own_keys = torch.cat([past[0], own_keys], dim=-2)
            own_values = torch.cat([past[1], own_values], dim=-2)
        change, at_target = self.attention(
            given, own_keys, own_values, target_mask, need_weights, start
        )
        y = self.around_attention.after(y, change)
        change, at_source = self.cross(
            self.around_cross.before(y), keys, values, source_mask, need_weights
        )
        y = self.around_cross.after(y, change)
        if self.feedforward is not None:
            change = self.feedforward(self.around_feedforward.before(y))
            y = self.around_feedforward.after(y, change)
        return y, (own_keys, own_values), (at_target, at_source)


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
        elif self.positions == "learned":
            x = x + self.learned(tokens.shape[1], start)
        return self.dropout(x)
