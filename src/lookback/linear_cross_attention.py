r"""A recurrent translator whose cross-attention can be linear attention.

A bidirectional encoder makes an annotation h_j of every word of the source, and
a key k_j = U h_j of that. The decoder is a GRU over the words written so far;
its state s_i makes a query, q_i = W s_i, and the context c_i goes into the
readout with s_i. What stands between q_i · k_j and c_i is a rule, and the only
difference:

    softmax   c_i = Σ_j softmax(q_i · k_j / √d_k) h_j
    positive  c_i = Σ_j (φ(q_i) · φ(k_j)) h_j / Σ_j φ(q_i) · φ(k_j)
    sum       c_i = M q_i,   M = Σ_j β_j h_j k_jᵀ
    delta     c_i = M q_i,   M ← M + β_j (h_j − M k_j) k_jᵀ

φ is elu + 1. In the last three one matrix of 2·hidden × d_k numbers is all that
the decoder needs, however long the source (and a vector more for `positive`).
Training takes the weights of all pairs instead, which comes to the same and can
be shown. Those of `sum` and `delta` may be negative and sum to anything.
Katharopoulos et al. 2020, arXiv 2006.16236; Schlag et al. 2021, arXiv
2102.11174; the readout's order is that of Luong et al. 2015, arXiv 1508.04025.

Departures: the papers take the softmax out of self-attention; here it is taken
out of cross-attention. The context is not fed to the decoder's GRU. Queries and
keys of `sum` and `delta` have length 1, and β_j = σ(w · h_j + b).
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from lookback.attention import attend
from lookback.bottleneck import Readout, State
from lookback.fastweights import (
    elu_feature_map,
    linear_attention,
    remember,
    written,
)
from lookback.rnnsearch import annotate
from lookback.scores import unit
from lookback.transducer import precise, product
from lookback.translator import Translator
from lookback.vocabulary import PAD

RULES = ("softmax", "positive", "sum", "delta")


@dataclass(frozen=True)
class LinearTranslatorConfig:
    """Sizes, and the rule; the dropout is on embeddings and both GRUs."""

    source_vocab: int
    target_vocab: int
    embed: int = 256
    hidden: int = 256
    d_k: int = 64
    maxout: int = 256
    dropout: float = 0.2
    rule: str = "delta"

    def __post_init__(self):
        if self.rule not in RULES:
            raise ValueError(
                f"rule is {self.rule!r}: choose one of {', '.join(RULES)}"
            )


class Stored(NamedTuple):
    """What is kept of each word of the source."""

    values: Float[Tensor, "batch source two_hidden"]  # h_j
    keys: Float[Tensor, "batch source d_k"]
    writes: Float[Tensor, "batch source source"]  # what is written is T h
    mask: Bool[Tensor, "batch source"]


class LinearTranslator(Translator):
    """An encoder, a decoder and cross-attention by a rule of `RULES`."""

    def __init__(self, config: LinearTranslatorConfig):
        super().__init__()
        self.config = config
        embed, hidden = config.embed, config.hidden
        self.source_embedding = nn.Embedding(config.source_vocab, embed, PAD)
        self.target_embedding = nn.Embedding(config.target_vocab, embed, PAD)
        self.encoder = nn.GRU(
            embed, hidden, batch_first=True, bidirectional=True
        )
        self.decoder = nn.GRU(embed, hidden, batch_first=True)
        self.W = nn.Linear(hidden, config.d_k, bias=False)
        self.U = nn.Linear(2 * hidden, config.d_k, bias=False)
        if config.rule in ("sum", "delta"):
            self.strength = nn.Linear(2 * hidden, 1)  # w and b of β
        self.readout = Readout(
            3 * hidden + embed, config.maxout, config.target_vocab
        )
        self.dropout = nn.Dropout(config.dropout)

    def made(self, x: Float[Tensor, "*batch d_k"]) -> Tensor:
        """What the rule makes of queries and keys before it compares them."""
        if self.config.rule == "positive":
            return elu_feature_map(x)
        return x if self.config.rule == "softmax" else unit(x)

    def encode(self, source: Int[Tensor, "batch source"]) -> Stored:
        """h_j and a key of each, and how it is written."""
        mask = source != PAD
        words = self.dropout(self.source_embedding(source))
        values = precise(self.dropout(annotate(self.encoder, words, mask)))
        keys = self.made(precise(self.U(values)))
        writes = torch.diag_embed(mask.to(keys.dtype))
        if self.config.rule in ("sum", "delta"):
            beta = mask * precise(self.strength(values)[..., 0]).sigmoid()
            delta = self.config.rule == "delta"
            writes = written(keys, beta) if delta else torch.diag_embed(beta)
        return Stored(values, keys, writes, mask)

    def cross_attention(
        self, s: Float[Tensor, "batch target hidden"], memory: Stored
    ) -> tuple[
        Float[Tensor, "batch target d_v"], Float[Tensor, "batch target source"]
    ]:
        """The contexts of all states of the decoder, and their weights."""
        query, mask = self.made(precise(self.W(s))), memory.mask[:, None]
        if self.config.rule == "softmax":
            return attend(query, memory.keys, memory.values, mask)
        if self.config.rule == "positive":
            return linear_attention(query, memory.keys, memory.values, mask)
        weights = product(product(query, memory.keys.mT), memory.writes)
        return product(weights, memory.values), weights

    def matrix(self, memory: Stored) -> Float[Tensor, "batch two_hidden d_k"]:
        """M, which is all that `sum` and `delta` need to keep."""
        return remember(memory.keys, memory.writes @ memory.values)

    def write(
        self,
        tokens: Int[Tensor, "batch target"],
        memory: Stored,
        state: Float[Tensor, "1 batch hidden"] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Logits, the decoder's last state, and its attention weights."""
        embedded = self.dropout(self.target_embedding(tokens))
        s, last = self.decoder(embedded, state)
        s = self.dropout(s)
        context, weights = self.cross_attention(s, memory)
        return self.readout(s, embedded, context), last, weights

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        return self.write(target_in, self.encode(source))[0]

    def start(self, memory: Stored) -> State:
        """Nothing is written."""
        hidden = self.config.hidden
        return State(memory.values.new_zeros(len(memory.values), hidden))

    def step(self, token, state: State, memory: Stored):
        logits, last, weights = self.write(
            token[:, None], memory, state.hidden[None]
        )
        return logits[:, 0], State(last[0]), weights[:, 0]
