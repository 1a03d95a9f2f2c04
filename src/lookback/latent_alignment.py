r"""Latent alignment: a mixture of distributions, or one of averaged scores.

    inside    p(k) = softmax(g_i + Σ_j α_ij f_j)[k]     RNNsearch's way
    outside   p(k) = Σ_j α_ij softmax(g_i + f_j)[k]     a mixture

f_j = R h_j are the scores that annotation j gives to each word, g_i those of
the decoder's state. Inside, the scores are averaged before the softmax, and
R Σ_j α_ij h_j = Σ_j α_ij f_j. Outside, each annotation has a distribution of
its own, and the average of these is the marginal likelihood, as if j were a
latent variable. Everything else is the same: one change.

And the transducer without a monotonic path: before every word its place is
chosen anew,

    afresh    p(k) = Σ_t softmax_t(q_u · k_t / √d) softmax(g_u + f_t)[k]

with q_u from the prediction network and k_t from the encoder. All else is the
transducer's.

Departures from RNNsearch (Bahdanau et al. 2015): f_j does not go through the
maxout; only so are inside and outside of one form. R is a product of two
matrices, as narrow between them as the maxout.
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
    normalizer,
    precise,
    shifted_exp,
)


@dataclass(frozen=True)
class MixingConfig(RNNsearchConfig):
    """RNNsearch's sizes, and on which side of the softmax the sum is."""

    outside: bool = False  # a mixture of distributions


class Scored(NamedTuple):
    """RNNsearch's annotations, and the scores f_j of each."""

    annotations: Annotations
    places: Places


class Mixing(RNNsearch):
    """RNNsearch with the average before the softmax, or after it."""

    def __init__(self, config: MixingConfig):
        super().__init__(config)
        embed, hidden = config.embed, config.hidden
        words = config.target_vocab
        self.readout = Readout(hidden + embed, config.maxout, words)  # g
        self.R = nn.Sequential(
            nn.Linear(2 * hidden, config.maxout, bias=False),
            nn.Linear(config.maxout, words, bias=False),
        )

    def encode(self, source: Int[Tensor, "batch source"]) -> Scored:
        """The annotations, and f_j once for all words to come."""
        annotations = super().encode(source)
        return Scored(annotations, self.scores(annotations))

    def start(self, memory: Scored) -> State:
        return super().start(memory.annotations)

    def scores(self, memory: Annotations) -> Places:
        """f_j = R h_j, of every annotation."""
        f = precise(self.R(self.dropout(memory.values)))
        return Places(f, *shifted_exp(f), memory.mask, f.new_zeros(f.shape[:2]))

    def mixed(
        self,
        places: Places,
        g: Float[Tensor, "batch target vocab"],
        weights: Float[Tensor, "batch target source"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Logits of the next word, the sum inside the softmax or outside."""
        if not self.config.outside:
            return g + weights @ places.words
        ready = weights.clamp_min(torch.finfo(weights.dtype).tiny).log()
        ready = ready.masked_fill(~places.mask[:, None], NEVER)
        return mixture(places, g, ready - normalizer(places, g))

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        memory = super().encode(source)
        state = super().start(memory)
        embedded = self.dropout(self.target_embedding(target_in))
        states, rows = [], []
        for word in embedded.unbind(dim=1):
            state, _, weights = self.advance(word, state, memory)
            states.append(state.hidden)
            rows.append(weights)
        s = self.dropout(torch.stack(states, dim=1))
        g = precise(self.readout(s, embedded))
        weights = precise(torch.stack(rows, dim=1))
        return self.mixed(self.scores(memory), g, weights)

    def step(self, token, state: State, memory: Scored):
        embedded = self.target_embedding(token)
        state, _, weights = self.advance(embedded, state, memory.annotations)
        g = precise(self.readout(state.hidden, embedded))[:, None]
        logits = self.mixed(memory.places, g, precise(weights)[:, None])
        return logits[:, 0], state, weights


class KeyedPlaces(NamedTuple):
    """The scores f_t of every place, and the keys that choose between them."""

    places: Places
    keys: Float[Tensor, "batch source hidden"]


class Afresh(Transducer):
    """A transducer without a path: every place is chosen anew."""

    def __init__(self, config: TransducerConfig):
        super().__init__(config)
        del self.f_step, self.g_step
        self.q = nn.Linear(config.hidden, config.hidden, bias=False)
        self.k = nn.Linear(2 * config.hidden, config.hidden, bias=False)

    def encode(self, source: Int[Tensor, "batch source"]) -> KeyedPlaces:
        mask, embedded, h = self.annotations(source)
        f = precise(self.f(h, embedded))
        places = Places(f, *shifted_exp(f), mask, f.new_zeros(mask.shape))
        return KeyedPlaces(places, self.k(h))

    def outputs(self, tokens, state, memory: KeyedPlaces):
        """Logits, log-probabilities of the places, the last state."""
        embedded, s, last = self.prediction_states(tokens, state)
        g = precise(self.g(s, embedded))
        scores = precise(self.q(s) @ memory.keys.mT) / math.sqrt(s.shape[-1])
        scores = scores.masked_fill(~memory.places.mask[:, None], NEVER)
        chosen = scores.log_softmax(-1)
        ready = chosen - normalizer(memory.places, g)
        return mixture(memory.places, g, ready), chosen, last

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        return self.outputs(target_in, None, self.encode(source))[0]

    def start(self, memory: KeyedPlaces) -> Float[Tensor, "batch hidden"]:
        return memory.keys.new_zeros(len(memory.keys), self.config.hidden)

    def step(self, token, state, memory: KeyedPlaces):
        logits, chosen, last = self.outputs(token[:, None], state[None], memory)
        return logits[:, 0], last[0], chosen[:, 0].exp()
