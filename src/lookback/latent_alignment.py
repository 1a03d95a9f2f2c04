r"""Soft search and latent alignment: the sum inside the softmax, or outside.

    inside    p(k) = softmax(g_i + Σ_j α_ij f_j)[k]     RNNsearch's way
    outside   p(k) = Σ_j α_ij softmax(g_i + f_j)[k]     a mixture

f_j = R h_j is what annotation j says, g_i what the decoder's state says. Inside
the annotations are averaged, and R Σ_j α_ij h_j = Σ_j α_ij f_j speaks with one
voice; outside each of them speaks, and their probabilities are averaged, as
if j were a hidden choice. Everything else is the same: one change.

And the cursors without their walk: the finger lands anew for every word,

    afresh    p(k) = Σ_t softmax_t(q_u · k_t / √d) softmax(g_u + f_t)[k]

with q_u from the pen and k_t from the reader. All else is the cursors'.

Departures from RNNsearch (Bahdanau et al. 2015): what an annotation says does
not go through the maxout; only so are inside and outside of one form. R is a
product of two matrices, as narrow between them as the maxout.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lookback.bottleneck import Readout, State
from lookback.rnnsearch import Annotations, RNNsearch, RNNsearchConfig
from lookback.transducer import (
    NEVER,
    Places,
    Transducer,
    TransducerConfig,
    mixture,
    normaliser,
    precise,
    shifted_exp,
)


@dataclass(frozen=True)
class MixingConfig(RNNsearchConfig):
    """RNNsearch's sizes, and where the sum is."""

    outside: bool = False


class Heard(NamedTuple):
    """RNNsearch's annotations, and what each of them says."""

    annotations: Annotations
    places: Places


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

    def encode(self, source: Int[Tensor, "batch source"]) -> Heard:
        """The annotations, and f_j once for all words to come."""
        annotations = super().encode(source)
        return Heard(annotations, self.said(annotations))

    def start(self, memory: Heard) -> State:
        return super().start(memory.annotations)

    def said(self, memory: Annotations) -> Places:
        """f_j = R h_j, of every annotation."""
        f = precise(self.R(self.dropout(memory.values)))
        return Places(f, *shifted_exp(f), memory.mask, f.new_zeros(f.shape[:2]))

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
        ready = ready.masked_fill(~places.mask[:, None], NEVER)
        return mixture(places, g, ready - normaliser(places, g))

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        memory = super().encode(source)
        state = super().start(memory)
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

    def step(self, token, state: State, memory: Heard):
        embedded = self.target_embedding(token)
        state, _, weights = self.advance(embedded, state, memory.annotations)
        g = precise(self.readout(state.hidden, embedded))[:, None]
        logits = self.mixed(memory.places, g, precise(weights)[:, None])
        return logits[:, 0], state, weights


class Landings(NamedTuple):
    """What is said at every word, and what a landing is chosen by."""

    places: Places
    keys: Float[Tensor, "batch source hidden"]


class Afresh(Transducer):
    """Two cursors without a walk: every landing is chosen anew."""

    def __init__(self, config: TransducerConfig):
        super().__init__(config)
        del self.f_step, self.g_step
        self.q = nn.Linear(config.hidden, config.hidden, bias=False)
        self.k = nn.Linear(2 * config.hidden, config.hidden, bias=False)

    def encode(self, source: Int[Tensor, "batch source"]) -> Landings:
        mask, embedded, h = self.annotations(source)
        f = precise(self.f(h, embedded))
        places = Places(f, *shifted_exp(f), mask, f.new_zeros(mask.shape))
        return Landings(places, self.k(h))

    def landed(self, tokens, state, memory: Landings):
        """Logits, log-probabilities of the landings, the last state."""
        embedded, s, last = self.prediction_states(tokens, state)
        g = precise(self.g(s, embedded))
        scores = precise(self.q(s) @ memory.keys.mT) / math.sqrt(s.shape[-1])
        scores = scores.masked_fill(~memory.places.mask[:, None], NEVER)
        chosen = scores.log_softmax(-1)
        ready = chosen - normaliser(memory.places, g)
        return mixture(memory.places, g, ready), chosen, last

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        return self.landed(target_in, None, self.encode(source))[0]

    def start(self, memory: Landings) -> Float[Tensor, "batch hidden"]:
        return memory.keys.new_zeros(len(memory.keys), self.config.hidden)

    def step(self, token, state, memory: Landings):
        logits, chosen, last = self.landed(token[:, None], state[None], memory)
        return logits[:, 0], last[0], chosen[:, 0].exp()
