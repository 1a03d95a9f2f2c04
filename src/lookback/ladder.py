r"""The ladder: from a fixed vector to the Transformer, one change a rung.

`RUNGS` is the ladder. Its ends are the models of the book's chapters; between
RNNsearch and the Transformer stand three more, defined here. All three have
the decoder of the first chapters, a GRU that is handed a context at every
word, and differ in how that context is found and in what it is made of:

    Diagonal     c_i = h_i: two cursors that move in step
    DotSearch    e_ij = (W_a s_{i−1}) · (U_a h_j) / √d_k in RNNsearch's place
    StackSearch  the same look, at embeddings and the layers on top of them

The hard-coded diagonal is the stop-gap that came before RNNsearch (Bahdanau's
e-mail, published by Karpathy 2024); the dot product is Luong et al. 2015,
section 3.1, scaled as in Vaswani et al. 2017. The others are the book's own.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from lookback.attention import attend
from lookback.bottleneck import (
    Bottleneck,
    BottleneckConfig,
    RecurrentTranslator,
    State,
)
from lookback.layers import EncoderLayer
from lookback.positions import sinusoidal
from lookback.rnnsearch import (
    Annotations,
    RNNsearch,
    RNNsearchConfig,
    annotate,
)
from lookback.transformer import Transformer, TransformerConfig
from lookback.translator import Translator
from lookback.vocabulary import PAD


@dataclass(frozen=True)
class DiagonalConfig:
    """Sizes of the diagonal: RNNsearch's, without a search."""

    source_vocab: int
    target_vocab: int
    embed: int = 256
    hidden: int = 256
    maxout: int = 256
    dropout: float = 0.2


class Trail(NamedTuple):
    """What the diagonal decoder walks along: one vector per source word."""

    values: Float[Tensor, "batch source two_hidden"]  # h_j
    mask: Bool[Tensor, "batch source"]
    last: Float[Tensor, "batch hidden"]  # ←h_1, for s_0


class Walk(NamedTuple):
    """The diagonal decoder's state, and the place of its cursor."""

    hidden: Float[Tensor, "batch hidden"]
    place: Int[Tensor, " batch"]


class Diagonal(RecurrentTranslator):
    """For word i the decoder is handed the encoder's state i."""

    def __init__(self, config: DiagonalConfig):
        super().__init__(config, context=2 * config.hidden)
        embed, hidden = config.embed, config.hidden
        self.source_embedding = nn.Embedding(config.source_vocab, embed, PAD)
        self.encoder = nn.GRU(
            embed, hidden, batch_first=True, bidirectional=True
        )
        self.bridge = nn.Linear(hidden, hidden)

    def encode(self, source: Int[Tensor, "batch source"]) -> Trail:
        """h_j = [→h_j; ←h_j] for every word, as in RNNsearch."""
        mask = source != PAD
        words = self.dropout(self.source_embedding(source))
        values = annotate(self.encoder, words, mask)
        return Trail(values, mask, values[:, 0, self.config.hidden :])

    def start(self, memory: Trail) -> Walk:
        """s_0 = tanh(W_s ←h_1); the cursor stands on the first word."""
        s_0 = torch.tanh(self.bridge(memory.last))
        place = torch.zeros(len(s_0), dtype=torch.long, device=s_0.device)
        return Walk(s_0, place)

    def look(
        self, state: Walk, memory: Trail
    ) -> tuple[Float[Tensor, "batch d_v"], Float[Tensor, "batch source"]]:
        """The vector at the cursor, which stops at <end>."""
        place = torch.minimum(state.place, memory.mask.sum(1) - 1)
        weights = nn.functional.one_hot(place, memory.mask.shape[1])
        rows = torch.arange(len(place), device=place.device)
        return memory.values[rows, place], weights.to(memory.values.dtype)

    def advance(self, embedded, state, memory):
        """One word on, and one place."""
        moved, context, weights = super().advance(embedded, state, memory)
        return Walk(moved.hidden, state.place + 1), context, weights


class DotProductAttention(nn.Module):
    """RNNsearch's look with a product where it has a sum and a tanh."""

    def __init__(self, d_query: int, d_key: int, align: int):
        super().__init__()
        self.W = nn.Linear(d_query, align, bias=False)  # W_a
        self.U = nn.Linear(d_key, align)  # U_a and a bias

    def forward(
        self,
        query: Float[Tensor, "batch d_query"],
        keys: Float[Tensor, "batch source align"],
        values: Float[Tensor, "batch source d_v"],
        mask: Bool[Tensor, "batch source"],
    ) -> tuple[Float[Tensor, "batch d_v"], Float[Tensor, "batch source"]]:
        """One query for each sentence."""
        context, weights = attend(
            self.W(query)[:, None], keys, values, mask[:, None]
        )
        return context[:, 0], weights[:, 0]


class DotSearch(RNNsearch):
    """RNNsearch that compares by a scaled dot product."""

    def __init__(self, config: RNNsearchConfig):
        super().__init__(config)
        self.attention = DotProductAttention(
            config.hidden, 2 * config.hidden, config.align
        )


@dataclass(frozen=True)
class StackSearchConfig:
    """What stands on the embeddings; the defaults are the bare words."""

    source_vocab: int
    target_vocab: int
    embed: int = 256  # d_model of the layers, too
    hidden: int = 256  # of the decoder
    align: int = 256  # d_k of the look
    maxout: int = 256
    dropout: float = 0.2
    positions: str = "none"  # or "sinusoidal"
    layers: int = 0
    heads: int = 1
    d_ff: int = 0  # 0: no feed-forward layer
    norm: str = "none"
    residual: bool = False

    def __post_init__(self):
        if self.positions not in ("none", "sinusoidal"):
            raise ValueError(
                f"positions is {self.positions!r}: choose one of none,"
                " sinusoidal"
            )


class StackSearch(RecurrentTranslator):
    """DotSearch without a recurrent encoder: it looks at a stack of layers."""

    def __init__(self, config: StackSearchConfig):
        super().__init__(config, context=config.embed)
        embed, hidden = config.embed, config.hidden
        self.source_embedding = nn.Embedding(config.source_vocab, embed, PAD)
        self.layers = nn.ModuleList(
            EncoderLayer(
                embed,
                config.heads,
                config.d_ff,
                config.dropout,
                config.norm,
                config.residual,
            )
            for _ in range(config.layers)
        )
        self.attention = DotProductAttention(hidden, embed, config.align)
        self.bridge = nn.Linear(embed, hidden)

    def encode(self, source: Int[Tensor, "batch source"]) -> Annotations:
        """One vector per source word; their mean stands in for ←h_1."""
        mask = source != PAD
        x = self.dropout(self.source_embedding(source))
        if self.config.positions == "sinusoidal":
            x = x + sinusoidal(*x.shape[1:], device=x.device)
        for layer in self.layers:
            x, _ = layer(x, mask[:, None, None])
        words = mask[..., None]
        mean = (x * words).sum(1) / words.sum(1)
        return Annotations(x, self.attention.U(x), mask, mean)

    def start(self, memory: Annotations) -> State:
        """s_0 from the mean of the words: nothing was read in order."""
        return State(torch.tanh(self.bridge(memory.last)))

    def look(
        self, state: State, memory: Annotations
    ) -> tuple[Float[Tensor, "batch d_v"], Float[Tensor, "batch source"]]:
        """Search the source with the previous state s_{i−1}."""
        return self.attention(
            state.hidden, memory.keys, memory.values, memory.mask
        )


@dataclass(frozen=True)
class Rung:
    """One stop of the ladder: a model, and what it changes in another's."""

    name: str
    label: str
    before: str | None  # the rung that it changes
    change: str
    kind: type[Translator]
    config: object  # vocabularies of size 0: the corpus fills them in

    def make(self, source_vocab: int, target_vocab: int) -> Translator:
        """The untrained model for vocabularies of these sizes."""
        sizes = {"source_vocab": source_vocab, "target_vocab": target_vocab}
        return self.kind(replace(self.config, **sizes))


WORDS = StackSearchConfig(0, 0)
PLACED = replace(WORDS, positions="sinusoidal")
LOOKING = replace(PLACED, layers=1)
HEADS = replace(LOOKING, heads=4)
FEEDING = replace(HEADS, d_ff=1024)
STABLE = replace(FEEDING, residual=True, norm="post")
DEEP = replace(STABLE, layers=3)
LADDER = (
    Rung(
        "bottleneck",
        "fixed vector",
        None,
        "One vector holds the whole sentence.",
        Bottleneck,
        BottleneckConfig(0, 0),
    ),
    Rung(
        "reversed",
        "source reversed",
        "bottleneck",
        "The same, the source read from its end.",
        Bottleneck,
        BottleneckConfig(0, 0, reverse=True),
    ),
    Rung(
        "diagonal",
        "diagonal",
        "bottleneck",
        "For word i the decoder is handed the encoder's state i.",
        Diagonal,
        DiagonalConfig(0, 0),
    ),
    Rung(
        "rnnsearch",
        "RNNsearch",
        "diagonal",
        "The decoder chooses where to look, by a sum and a tanh.",
        RNNsearch,
        RNNsearchConfig(0, 0),
    ),
    Rung(
        "dot",
        "dot product",
        "rnnsearch",
        "It compares by a scaled dot product.",
        DotSearch,
        RNNsearchConfig(0, 0),
    ),
    Rung(
        "words",
        "no recurrent encoder",
        "dot",
        "The encoder is gone: the look goes to bare embeddings.",
        StackSearch,
        WORDS,
    ),
    Rung(
        "positions",
        "positions",
        "words",
        "Sine waves are added to the embeddings.",
        StackSearch,
        PLACED,
    ),
    Rung(
        "self-attention",
        "self-attention",
        "positions",
        "The words look at each other, with one head.",
        StackSearch,
        LOOKING,
    ),
    Rung(
        "heads",
        "four heads",
        "self-attention",
        "The same with four heads.",
        StackSearch,
        HEADS,
    ),
    Rung(
        "feedforward",
        "feed-forward",
        "heads",
        "A feed-forward layer behind them.",
        StackSearch,
        FEEDING,
    ),
    Rung(
        "residual",
        "residual and norm",
        "feedforward",
        "A residual and a LayerNorm around both.",
        StackSearch,
        STABLE,
    ),
    Rung(
        "depth",
        "three layers",
        "residual",
        "Three such layers.",
        StackSearch,
        DEEP,
    ),
    Rung(
        "transformer",
        "Transformer",
        "depth",
        "The recurrent decoder is gone too.",
        Transformer,
        TransformerConfig(0, 0),
    ),
)
RUNGS = {rung.name: rung for rung in LADDER}
