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

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.attention import causal
from lookback.heads import attention_weights
from lookback.kv_cache import KVCache
from lookback.layers import (
    DecoderLayer,
    Embedding,
    EncoderLayer,
    xavier,
)
from lookback.translator import Translator
from lookback.vocabulary import PAD

POSITIONS = ("sinusoidal", "learned", "rope", "none")
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
    """The source as the decoder sees it."""

    x: Float[Tensor, "batch source d_model"]  # one vector per source word
    layers: tuple  # its keys and values, for every decoder layer
    mask: Bool[Tensor, "batch 1 1 source"]  # True = may be attended to


class Transformer(Translator):
    """Encoder, decoder, and nothing that goes step by step in training."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config, d = config, config.d_model
        sizes = d, config.positions, config.dropout, config.longest
        self.target_embedding = Embedding(config.target_vocab, *sizes)
        if config.tied != "all":
            self.source_embedding = Embedding(config.source_vocab, *sizes)
        if config.tied == "none":
            self.output = nn.Linear(d, config.target_vocab, bias=False)
        count = range(config.layers)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in count)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in count)
        last = nn.LayerNorm if config.norm == "pre" else nn.Identity
        self.after_encoder, self.after_decoder = last(d), last(d)
        xavier(self.encoder)
        xavier(self.decoder)

    def encode(self, source: Int[Tensor, "batch source"]) -> Memory:
        """x after the last layer, and its keys and values, computed once."""
        shared = self.config.tied == "all"
        embed = self.target_embedding if shared else self.source_embedding
        x, mask = embed(source), (source != PAD)[:, None, None]
        for layer in self.encoder:
            x = layer(x, mask)
        x = self.after_encoder(x)
        pairs = tuple(layer.cross.project(x) for layer in self.decoder)
        return Memory(x, pairs, mask)

    def decode(
        self, target_in: Int[Tensor, "batch target"], memory: Memory
    ) -> Float[Tensor, "batch target vocab"]:
        """Logits of the word that follows each of these, all at once."""
        y = self.target_embedding(target_in)
        mask = causal(target_in.shape[1], y.device)
        for layer, pair in zip(self.decoder, memory.layers, strict=True):
            y = layer(y, pair, memory.mask, mask)
        return self.logits(self.after_decoder(y))

    def logits(
        self, y: Float[Tensor, "batch target d_model"]
    ) -> Float[Tensor, "batch target vocab"]:
        """E' y, with the embedding's own rows where the two are tied."""
        if self.config.tied == "none":
            return self.output(y)
        return F.linear(y, self.target_embedding.words.weight)

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        return self.decode(target_in, self.encode(source))

    def start(self, memory: Memory) -> tuple:
        """The keys and values of no word at all, for every layer."""
        return tuple((k[..., :0, :], v[..., :0, :]) for k, v in memory.layers)

    def step(self, token, state: tuple, memory: Memory):
        """One word on; the weights are the last layer's, mean of its heads."""
        caches = [KVCache(*pair) for pair in state]
        y = self.target_embedding(token[:, None], caches[0].length)
        each = zip(self.decoder, memory.layers, caches, strict=True)
        with attention_weights(self.decoder[-1].cross) as found:
            for layer, pair, cache in each:
                y = layer(y, pair, memory.mask, cache=cache)
        logits = self.logits(self.after_decoder(y))[:, 0]
        state = tuple((cache.keys, cache.values) for cache in caches)
        return logits, state, found[0].mean(dim=1)[:, 0]
