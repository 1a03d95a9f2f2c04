r"""RNNsearch's look with another rule in the place of the softmax.

The source is read once, and the decoder looks at it with a query of its own at
every word, as in `ladder.DotSearch`. What stands between scores and values is
the one change:

    softmax   weights = softmax(q · k_j / √d_k)                 the ladder's
    positive  weights = φ(q) · φ(k_j) / Σ, with φ = elu + 1
    sum       W = Σ_j β_j v_j k_jᵀ,                      context W q
    delta     W ← W + β_j (v_j − W k_j) k_jᵀ,            context W q

In the last three all that the decoder needs is one matrix, d_v numbers by d_k,
however long the source is (with one vector more for `positive`). `forward`
finds the contexts all at once, as weights that each value gets, which come to
the same and can be shown; those of `sum` and `delta` may be negative and sum to
anything. Katharopoulos et al. 2020, Schlag et al. 2021.

Departures: the papers take the softmax out of the Transformer's self-attention;
here it is the look back, and the reader and writer are RNNsearch's. Queries and
keys of `sum` and `delta` have length 1, and β_j = σ(w · h_j + b) says how much
of word j is written.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from lookback.attention import attend
from lookback.bottleneck import State
from lookback.cursors import precise, product
from lookback.fastweights import (
    linear_attention,
    positive,
    remember,
    written,
)
from lookback.ladder import DotSearch
from lookback.rnnsearch import RNNsearchConfig
from lookback.scores import unit

RULES = ("softmax", "positive", "sum", "delta")


@dataclass(frozen=True)
class SoftlessConfig(RNNsearchConfig):
    """RNNsearch's sizes, `align` being d_k, and the rule."""

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
    writes: Float[Tensor, "batch source source"]  # u = T h is written
    mask: Bool[Tensor, "batch source"]
    last: Float[Tensor, "batch hidden"]  # ←h_1, for s_0


class Softless(DotSearch):
    """RNNsearch that looks by a rule of `RULES`."""

    def __init__(self, config: SoftlessConfig):
        super().__init__(config)
        if config.rule in ("sum", "delta"):
            self.strength = nn.Linear(2 * config.hidden, 1)  # w and b of β

    def made(self, x: Float[Tensor, "*batch d_k"]) -> Tensor:
        """What the rule makes of queries and keys before it compares them."""
        if self.config.rule == "positive":
            return positive(x)
        return x if self.config.rule == "softmax" else unit(x)

    def encode(self, source: Int[Tensor, "batch source"]) -> Stored:
        """h_j and a key for each, as in RNNsearch; and how it is written."""
        values, keys, mask, last = super().encode(source)
        keys = self.made(precise(keys))
        writes = torch.diag_embed(mask.to(keys.dtype))
        if self.config.rule in ("sum", "delta"):
            beta = mask * precise(self.strength(values)[..., 0]).sigmoid()
            delta = self.config.rule == "delta"
            writes = written(keys, beta) if delta else torch.diag_embed(beta)
        return Stored(values, keys, writes, mask, last)

    def look(
        self, state: State, memory: Stored
    ) -> tuple[Float[Tensor, "batch d_v"], Float[Tensor, "batch source"]]:
        """Ask with the previous state s_{i−1}."""
        query = self.made(precise(self.attention.W(state.hidden)))[:, None]
        values, rule = precise(memory.values), self.config.rule
        if rule == "softmax":
            context, weights = attend(
                query, memory.keys, values, memory.mask[:, None]
            )
        elif rule == "positive":
            context, weights = linear_attention(
                query, memory.keys, values, memory.mask[:, None]
            )
        else:
            weights = product(product(query, memory.keys.mT), memory.writes)
            context = product(weights, values)
        return context[:, 0], weights[:, 0]

    def matrix(self, memory: Stored) -> Float[Tensor, "batch two_hidden d_k"]:
        """W, which alone would do for all looks of `sum` and `delta`."""
        return remember(memory.keys, memory.writes @ memory.values)
