r"""The rungs between RNNsearch and the Transformer.

Each is a translator with the decoder of the first chapters, a GRU that is
handed a context at every word. The rungs differ in how that context is found
and in what it is made of:

    look      "diagonal"  c_i = h_i: two cursors that move together
              "additive"  RNNsearch's e_ij = v_a · tanh(W_a s_{i−1} + U_a h_j)
              "dot"       e_ij = (W_a s_{i−1}) · (U_a h_j) / √d_k
    encoder   "rnn"       h_j from a bidirectional GRU
              "words"     h_j = the word's embedding: no order, no context
    layers    so many Transformer encoder layers on top of the embeddings

The hard-coded diagonal is the stop-gap that came before RNNsearch (Bahdanau's
e-mail, published by Karpathy 2024); the dot product is Luong et al. 2015,
section 3.1, scaled as in Vaswani et al. 2017. The others are the book's own.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from lookback.attention import attend
from lookback.bottleneck import RecurrentTranslator, State
from lookback.lab.corpus import PAD
from lookback.layers import EncoderLayer
from lookback.positions import sinusoidal
from lookback.rnnsearch import AdditiveAttention, Annotations, annotate


@dataclass(frozen=True)
class RungConfig:
    """One rung; the defaults are RNNsearch with a dot product."""

    source_vocab: int
    target_vocab: int
    embed: int = 256
    hidden: int = 256
    align: int = 256  # d_k of the look
    maxout: int = 256
    dropout: float = 0.2
    cell: str = "gru"
    look: str = "dot"
    encoder: str = "rnn"
    positions: str = "none"  # or "sinusoidal"; only for encoder="words"
    layers: int = 0
    heads: int = 1
    d_ff: int = 0  # 0: no feed-forward layer
    norm: str = "none"
    residual: bool = False
    scaled: bool = True
    activation: str = "relu"

    @property
    def d_model(self) -> int:
        """Width of the encoder layers."""
        return self.embed

    def __post_init__(self):
        for name, known in (
            ("look", ("diagonal", "additive", "dot")),
            ("encoder", ("rnn", "words")),
            ("positions", ("none", "sinusoidal")),
        ):
            if (found := getattr(self, name)) not in known:
                raise ValueError(
                    f"{name} is {found!r}: choose one of {', '.join(known)}"
                )


class Walk(NamedTuple):
    """The diagonal decoder's state: where its cursor stands, too."""

    hidden: Float[Tensor, "batch hidden"]
    place: Int[Tensor, " batch"]
    cell: None = None


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


class Rung(RecurrentTranslator):
    """A GRU decoder over whatever encoder the rung has."""

    def __init__(self, config: RungConfig):
        recurrent = config.encoder == "rnn"
        width = 2 * config.hidden if recurrent else config.embed
        super().__init__(config, context=width)
        embed, hidden = config.embed, config.hidden
        self.source_embedding = nn.Embedding(config.source_vocab, embed, PAD)
        if recurrent:
            self.encoder = nn.GRU(
                embed, hidden, batch_first=True, bidirectional=True
            )
        self.layers = nn.ModuleList(
            EncoderLayer(config) for _ in range(config.layers)
        )
        if config.look != "diagonal":
            kinds = {"additive": AdditiveAttention, "dot": DotProductAttention}
            self.attention = kinds[config.look](hidden, width, config.align)
        self.bridge = nn.Linear(hidden if recurrent else embed, hidden)

    def encode(self, source: Int[Tensor, "batch source"]) -> Annotations:
        """One vector per source word, by the rung's encoder."""
        mask = source != PAD
        words = self.dropout(self.source_embedding(source))
        if self.config.encoder == "rnn":
            values = annotate(self.encoder, words, mask)
            first = values[:, 0, self.config.hidden :]  # ←h_1
        else:
            if self.config.positions == "sinusoidal":
                length, d = words.shape[1:]
                words = words + sinusoidal(length, d, device=words.device)
            for layer in self.layers:
                words, _ = layer(words, mask[:, None, None])
            values = words
            known = mask[..., None]
            first = (values * known).sum(1) / known.sum(1)  # their mean
        keys = values
        if self.config.look != "diagonal":
            keys = self.attention.U(values)
        return Annotations(values, keys, mask, first)

    def start(self, memory: Annotations) -> State | Walk:
        """s_0 from ←h_1, or from the mean where nothing is read in order."""
        s_0 = torch.tanh(self.bridge(memory.last))
        if self.config.look == "diagonal":
            place = torch.zeros(len(s_0), dtype=torch.long, device=s_0.device)
            return Walk(s_0, place)
        return State(s_0)

    def look(
        self, state: State | Walk, memory: Annotations
    ) -> tuple[Float[Tensor, "batch d_v"], Float[Tensor, "batch source"]]:
        """Search with the state, or take the word at the cursor."""
        if self.config.look != "diagonal":
            return self.attention(
                state.hidden, memory.keys, memory.values, memory.mask
            )
        last = memory.mask.sum(1) - 1  # the cursor stops at <end>
        place = torch.minimum(state.place, last)
        weights = nn.functional.one_hot(place, memory.mask.shape[1])
        rows = torch.arange(len(place), device=place.device)
        return memory.values[rows, place], weights.to(memory.values.dtype)

    def advance(self, embedded, state, memory):
        new, context, weights = super().advance(embedded, state, memory)
        if self.config.look == "diagonal":
            new = Walk(new.hidden, state.place + 1)
        return new, context, weights
