r"""The Transformer's layers: the parts of the chapters, put around each other.

Vaswani et al. 2017, arXiv 1706.03762, section 3.1 and figure 1. `config` is
a TransformerConfig, or anything with its fields d_model, heads, d_ff,
dropout, positions, norm, residual, scaled and activation.
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from lookback.feedforward import FeedForward
from lookback.heads import MultiHeadAttention
from lookback.lab.corpus import PAD
from lookback.positions import LearnedPositions, sinusoidal
from lookback.residual import Sublayer


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward layer."""

    def __init__(self, config):
        super().__init__()
        self.attention = self_attention(config)
        self.around_attention = sublayer(config)
        if config.d_ff:
            self.feedforward = feedforward(config)
            self.around_feedforward = sublayer(config)

    def forward(
        self,
        x: Float[Tensor, "batch source d_model"],
        mask: Bool[Tensor, "batch 1 1 source"] | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch source d_model"], Tensor | None]:
        def look(x):
            keys, values = self.attention.project(x)
            return self.attention(x, keys, values, mask, need_weights)

        x, weights = self.around_attention(x, look)
        if hasattr(self, "feedforward"):
            x, _ = self.around_feedforward(
                x, lambda x: (self.feedforward(x), None)
            )
        return x, weights


class DecoderLayer(nn.Module):
    """Self-attention to the words so far, the look back, feed-forward."""

    def __init__(self, config):
        super().__init__()
        self.attention = self_attention(config)
        self.around_attention = sublayer(config)
        self.cross = MultiHeadAttention(
            config.d_model, config.heads, config.scaled
        )
        self.around_cross = sublayer(config)
        if config.d_ff:
            self.feedforward = feedforward(config)
            self.around_feedforward = sublayer(config)

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
        seen = []

        def look_at_target(y):
            new = self.attention.project(y, start)
            if past is not None:
                new = tuple(
                    torch.cat(both, dim=-2)
                    for both in zip(past, new, strict=True)
                )
            seen.extend(new)
            return self.attention(y, *new, target_mask, need_weights, start)

        def look_back(y):
            return self.cross(y, keys, values, source_mask, need_weights)

        y, own = self.around_attention(y, look_at_target)
        y, across = self.around_cross(y, look_back)
        if hasattr(self, "feedforward"):
            y, _ = self.around_feedforward(
                y, lambda y: (self.feedforward(y), None)
            )
        return y, (seen[0], seen[1]), (own, across)


def self_attention(config) -> MultiHeadAttention:
    """The attention of a layer to its own stack."""
    rotary = config.positions == "rotary"
    return MultiHeadAttention(
        config.d_model, config.heads, config.scaled, rotary
    )


def sublayer(config) -> Sublayer:
    """What stands around one attention or feed-forward layer."""
    return Sublayer(
        config.d_model, config.dropout, config.norm, config.residual
    )


def feedforward(config) -> FeedForward:
    """The feed-forward layer of one layer."""
    return FeedForward(config.d_model, config.d_ff, config.activation)


class Embedding(nn.Module):
    """√d_model E[token], with its position added, and dropout."""

    def __init__(self, config, vocab: int):
        super().__init__()
        d_model = config.d_model
        self.words = nn.Embedding(vocab, d_model, PAD)
        nn.init.normal_(self.words.weight, std=d_model**-0.5)
        self.positions = config.positions
        if config.positions == "learned":
            self.learned = LearnedPositions(config.longest, d_model)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, tokens: Int[Tensor, "batch length"], start: int = 0
    ) -> Float[Tensor, "batch length d_model"]:
        """`start` is the position of the first token."""
        length, d_model = tokens.shape[1], self.words.embedding_dim
        x = self.words(tokens) * math.sqrt(d_model)
        if self.positions == "sinusoidal":
            x = x + sinusoidal(length, d_model, start, x.device)
        elif self.positions == "learned":
            x = x + self.learned(length, start)
        return self.dropout(x)
