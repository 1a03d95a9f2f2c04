r"""Soft search, with its sum inside the softmax or outside.

    inside    p(k) = softmax(g_i + Σ_j α_ij f_j)[k]     RNNsearch's way
    outside   p(k) = Σ_j α_ij softmax(g_i + f_j)[k]     a mixture

f_j = R h_j is what annotation j says, g_i what the decoder's state says. Inside
the annotations are averaged, and R Σ_j α_ij h_j = Σ_j α_ij f_j speaks with one
voice; outside each of them speaks, and their probabilities are averaged, as
if j were a hidden choice. Everything else is the same: one change.

Departures from RNNsearch (Bahdanau et al. 2015): what an annotation says does
not go through the maxout; only so are inside and outside of one form. R is a
product of two matrices, as narrow between them as the maxout.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lookback.bottleneck import Readout, State
from lookback.cursors import Places, mixture, normaliser, odds, precise
from lookback.rnnsearch import Annotations, RNNsearch, RNNsearchConfig


@dataclass(frozen=True)
class MixingConfig(RNNsearchConfig):
    """RNNsearch's sizes, and where the sum is."""

    outside: bool = False


class Mixing(RNNsearch):
    """RNNsearch whose annotations speak for themselves."""

    def __init__(self, config: MixingConfig):
        super().__init__(config)
        embed, hidden = config.embed, config.hidden
        words = config.target_vocab
        self.readout = Readout(hidden + embed, config.maxout, words)  # g
        self.R = nn.Sequential(
            nn.Linear(2 * hidden, config.maxout, bias=False),
            nn.Linear(config.maxout, words, bias=False),
        )

    def said(self, memory: Annotations) -> Places:
        """f_j = R h_j, of every annotation."""
        f = precise(self.R(self.dropout(memory.values)))
        return Places(f, *odds(f), memory.mask, f.new_zeros(f.shape[:2]))

    def mixed(
        self,
        places: Places,
        g: Float[Tensor, "batch target vocab"],
        weights: Float[Tensor, "batch target source"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Logits of the next word, the sum inside or outside."""
        if not self.config.outside:
            return g + weights @ places.words
        ready = weights.clamp_min(torch.finfo(weights.dtype).tiny).log()
        ready = ready.masked_fill(~places.mask[:, None], -1e30)
        return mixture(places, g, ready - normaliser(places, g))

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        memory = self.encode(source)
        state = self.start(memory)
        embedded = self.dropout(self.target_embedding(target_in))
        states, looks = [], []
        for word in embedded.unbind(dim=1):
            state, _, weights = self.advance(word, state, memory)
            states.append(state.hidden)
            looks.append(weights)
        s = self.dropout(torch.stack(states, dim=1))
        g = precise(self.readout(s, embedded))
        looks = precise(torch.stack(looks, dim=1))
        return self.mixed(self.said(memory), g, looks)

    def step(self, token, state: State, memory: Annotations):
        embedded = self.target_embedding(token)
        state, _, weights = self.advance(embedded, state, memory)
        g = precise(self.readout(state.hidden, embedded))[:, None]
        places = self.said(memory)
        logits = self.mixed(places, g, precise(weights)[:, None])[:, 0]
        return logits, state, weights
