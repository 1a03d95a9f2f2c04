r"""The Transformer: a translator without recurrence.

Vaswani et al. 2017, arXiv 1706.03762, section 3, put together from the
modules of the chapters before.

    x   = √d_model E[source] + PE                    encoder, section 3.4
    x   = Sub(x, self-attention);  x = Sub(x, FFN)   N times
    y   = √d_model E'[target_in] + PE                 decoder
    y   = Sub(y, masked self-attention)
    y   = Sub(y, attention to x);  y = Sub(y, FFN)   N times
    p(y_i | y_<i, x) = softmax(E' y_{i−1})                   tied to E'

Sub is LayerNorm(x + f(x)). Departures: sizes; with norm="pre" a LayerNorm
stands before each sublayer and one after the stack; one matrix for source,
target and output only where the vocabulary is shared (tied="all").
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.attention import causal
from lookback.layers import DecoderLayer, Embedding, EncoderLayer
from lookback.translator import Translator
from lookback.vocabulary import PAD

POSITIONS = ("sinusoidal", "learned", "rotary", "none")
TIES = ("none", "output", "all")


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes of a Transformer; those of the paper's base model beside ours."""

    source_vocab: int  # 37,000 word pieces, shared by both languages
    target_vocab: int
    d_model: int = 256  # 512
    heads: int = 4  # h = 8
    layers: int = 3  # N = 6, in the encoder and in the decoder
    d_ff: int = 1024  # 2048; 0 leaves the feed-forward layers out
    dropout: float = 0.2  # 0.1
    positions: str = "sinusoidal"
    longest: int = 256  # learned positions end here
    norm: str = "post"
    residual: bool = True
    scaled: bool = True  # 1/√d_k
    tied: str = "output"  # "all"
    activation: str = "relu"

    def __post_init__(self):
        for name, known in (("positions", POSITIONS), ("tied", TIES)):
            if (found := getattr(self, name)) not in known:
                raise ValueError(
                    f"{name} is {found!r}: choose one of {', '.join(known)}"
                )
        if self.tied == "all" and self.source_vocab != self.target_vocab:
            raise ValueError("tied='all' needs one vocabulary for both sides")


class Memory(NamedTuple):
    """The source as the decoder sees it: keys and values of every layer."""

    keys: Float[Tensor, "batch layers heads source d_k"]
    values: Float[Tensor, "batch layers heads source d_v"]
    mask: Bool[Tensor, "batch source"]  # True = may be looked at


class Cache(NamedTuple):
    """Keys and values of the target words so far, layer by layer."""

    keys: Float[Tensor, "batch layers heads target d_k"]
    values: Float[Tensor, "batch layers heads target d_v"]


def embedding(config: TransformerConfig, vocab: int) -> Embedding:
    """Words and positions of one side."""
    return Embedding(
        vocab,
        config.d_model,
        config.positions,
        config.dropout,
        config.longest,
    )


def stack(
    kind: type[EncoderLayer] | type[DecoderLayer], config: TransformerConfig
) -> nn.ModuleList:
    """N layers of one kind; the two stacks differ in nothing else."""
    return nn.ModuleList(
        kind(
            config.d_model,
            config.heads,
            config.d_ff,
            config.dropout,
            config.norm,
            config.residual,
            config.scaled,
            config.positions == "rotary",
            config.activation,
        )
        for _ in range(config.layers)
    )


class Transformer(Translator):
    """Encoder, decoder, and nothing that goes step by step in training."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = config
        self.target_embedding = embedding(config, config.target_vocab)
        if config.tied != "all":
            self.source_embedding = embedding(config, config.source_vocab)
        if config.tied == "none":
            self.output = nn.Linear(
                config.d_model, config.target_vocab, bias=False
            )
        self.encoder = stack(EncoderLayer, config)
        self.decoder = stack(DecoderLayer, config)
        last = nn.LayerNorm if config.norm == "pre" else nn.Identity
        self.after_encoder = last(config.d_model)
        self.after_decoder = last(config.d_model)
        for module in (*self.encoder.modules(), *self.decoder.modules()):
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def logits(
        self, y: Float[Tensor, "batch target d_model"]
    ) -> Float[Tensor, "batch target vocab"]:
        """E' y, with the embedding's own rows where the two are tied."""
        if self.config.tied == "none":
            return self.output(y)
        return F.linear(y, self.target_embedding.words.weight)

    def read(
        self, source: Int[Tensor, "batch source"], need_weights: bool = False
    ) -> tuple[Float[Tensor, "batch source d_model"], list[Tensor | None]]:
        """The encoder: one vector per source word, and its layers' looks."""
        mask = (source != PAD)[:, None, None]
        shared = self.config.tied == "all"
        embed = self.target_embedding if shared else self.source_embedding
        x, looks = embed(source), []
        for layer in self.encoder:
            x, weights = layer(x, mask, need_weights)
            looks.append(weights)
        return self.after_encoder(x), looks

    def remember(
        self,
        x: Float[Tensor, "batch source d_model"],
        source: Int[Tensor, "batch source"],
    ) -> Memory:
        """Keys and values for every decoder layer, computed once."""
        pairs = [layer.cross.project(x) for layer in self.decoder]
        keys, values = (
            torch.stack(each, 1) for each in zip(*pairs, strict=True)
        )
        return Memory(keys, values, source != PAD)

    def encode(self, source: Int[Tensor, "batch source"]) -> Memory:
        return self.remember(self.read(source)[0], source)

    def write(
        self,
        target_in: Int[Tensor, "batch target"],
        memory: Memory,
        cache: Cache | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Cache | None, list[tuple]]:
        """The decoder: logits, the cache for the next word, all looks.

        With a cache, `target_in` is the one word that follows it.
        """
        start = 0 if cache is None else cache.keys.shape[-2]
        length = target_in.shape[1]
        y = self.target_embedding(target_in, start)
        mask = causal(length, y.device) if cache is None else None
        source_mask, seen, looks = memory.mask[:, None, None], [], []
        for i, layer in enumerate(self.decoder):
            past = None
            if cache is not None:
                past = cache.keys[:, i], cache.values[:, i]
            y, own, weights = layer(
                y,
                memory.keys[:, i],
                memory.values[:, i],
                source_mask,
                mask,
                past,
                need_weights,
            )
            seen.append(own)
            looks.append(weights)
        logits = self.logits(self.after_decoder(y))
        if cache is None:
            return logits, None, looks
        keys, values = (
            torch.stack(each, 1) for each in zip(*seen, strict=True)
        )
        return logits, Cache(keys, values), looks

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        return self.write(target_in, self.encode(source))[0]

    def start(self, memory: Memory) -> Cache:
        """An empty cache."""
        return Cache(memory.keys[..., :0, :], memory.values[..., :0, :])

    def step(self, token, state: Cache, memory: Memory):
        """One word on; the weights are the last layer's, mean of its heads."""
        logits, state, looks = self.write(
            token[:, None], memory, state, need_weights=True
        )
        return logits[:, 0], state, looks[-1][1].mean(dim=1)[:, 0]
