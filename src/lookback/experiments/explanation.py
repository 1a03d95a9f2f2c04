r"""Do the weights of a look say why a word was written?

The questions of Jain & Wallace 2019 (arXiv 1902.10186), and the answers of
Wiegreffe & Pinter 2019 (arXiv 1908.04626), asked of the book's translators:
RNNsearch on the phrasebook and on captions, the Transformer on captions. All
are made to write the right translations, and are asked at every word.

    total variation   TV(p, q) = ½ Σ_y |p(y) − q(y)|            of next words
    divergence        JS(α, β) = ½ KL(α ‖ μ) + ½ KL(β ‖ μ)      of weights
                      μ = ½ (α + β); at most ln 2
    rank correlation  τ(a, b) = Σ_{j<k} sign(a_j − a_k) sign(b_j − b_k)
                      over the number of pairs that are no ties (τ_b)

*Other weights*: the weights in another order, and those found by gradient that
are as different as possible while the next word stays within TV = ε. *Other
measures*: gradient times word vector, and what changes when a word is left out
of the sentence. *One model*: small models are trained anew on short sentences
of the phrasebook, some to say what a first one says with other weights, and
readers that see single words take over the weights of these. Writes
records/explanation.json.

    python -m lookback.experiments.explanation
    python -m lookback.experiments.explanation --only phrasebook

Departures: Jain and Wallace classify sentences; they stop the gradient at the
look, and look for several such weights at once.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.experiments.alignment import SMALL
from lookback.experiments.runs import campaign
from lookback.lab import corpus, phrasebook, weights
from lookback.lab.corpus import Batch, Pair, batches, collate
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer
from lookback.translator import Translator
from lookback.vocabulary import END, PAD, Vocabulary

SENTENCES, TOGETHER = 200, 50
ORDERS = 50  # in which the weights are put
EPSILON, SEARCH, RATE = 0.05, 150, 0.2  # of the search for other weights
SUBJECTS = {  # weights, class, sentences
    "phrasebook": ("phrasebook", RNNsearch),
    "captions": ("rnnsearch", RNNsearch),
    "Transformer": ("transformer", Transformer),
}


def total_variation(
    p: Float[Tensor, "*batch vocab"], q: Float[Tensor, "*batch vocab"]
) -> Float[Tensor, "*batch"]:
    """½ Σ |p − q|: by how much one distribution differs from another."""
    return (p - q).abs().sum(-1) / 2


def divergence(
    a: Float[Tensor, "*batch source"], b: Float[Tensor, "*batch source"]
) -> Float[Tensor, "*batch"]:
    """JS(a, b) in nats: 0 if they are alike, ln 2 if they share nothing."""
    middle = (a + b) / 2

    def kl(x: Tensor) -> Tensor:
        return (torch.xlogy(x, x) - torch.xlogy(x, middle)).sum(-1)

    return (kl(a) + kl(b)) / 2


def kendall(
    a: Float[Tensor, "*batch source"],
    b: Float[Tensor, "*batch source"],
    counts: Bool[Tensor, "*batch source"],
) -> Float[Tensor, "*batch"]:
    """τ_b over the places that count; 0 where one of the two is constant."""

    def signs(x: Tensor) -> Tensor:
        found = (x[..., :, None] - x[..., None, :]).sign()
        return found * (counts[..., :, None] & counts[..., None, :])

    s, t = signs(a), signs(b)
    pairs = (s.square().sum((-2, -1)) * t.square().sum((-2, -1))).sqrt()
    return (s * t).sum((-2, -1)) / pairs.clamp_min(1)


class Moment(NamedTuple):
    """The step at which one word is written, for a batch of sentences."""

    token: Int[Tensor, " batch"]  # the word before
    state: tuple
    memory: tuple
    own: Float[Tensor, "batch looks source"]  # the model's own weights
    places: Bool[Tensor, "batch source"]  # that can be looked at
    wanted: Int[Tensor, " batch"]  # the word itself, PAD behind the end


def says(
    model: Translator, now: Moment, look: Float[Tensor, "batch looks source"]
) -> Float[Tensor, "batch vocab"]:
    """The next word's distribution if the weights are these."""
    if isinstance(model, RNNsearch):
        return rnnsearch_says(model, now, look)
    return transformer_says(model, now, look)


def rnnsearch_says(model: RNNsearch, now: Moment, look: Tensor) -> Tensor:
    """RNNsearch has a single look."""
    embedded = model.target_embedding(now.token)
    context = torch.einsum("bs,bsd->bd", look[:, 0], now.memory.values)
    fed = torch.cat([embedded, context], dim=-1)
    hidden = model.decoder(fed, now.state.hidden)
    return model.readout(hidden, embedded, context).softmax(-1)


def transformer_says(model: Transformer, now: Moment, look: Tensor) -> Tensor:
    """A decoder step whose looks back, layer by layer, have these weights."""
    start = now.state.keys.shape[-2]
    y = model.target_embedding(now.token[:, None], start)
    looks = look.unflatten(1, (len(model.decoder), -1))[:, :, :, None]
    for i, layer in enumerate(model.decoder):
        given = layer.around_attention.before(y)
        keys, values = layer.attention.project(given, start)
        keys = torch.cat([now.state.keys[:, i], keys], dim=-2)
        values = torch.cat([now.state.values[:, i], values], dim=-2)
        change, _ = layer.attention(given, keys, values, None, False, start)
        y = layer.around_attention.after(y, change)
        found = looks[:, i] @ now.memory.values[:, i]
        change = layer.cross.W_O(found.transpose(1, 2).flatten(2))
        y = layer.around_cross.after(y, change)
        change = layer.feedforward(layer.around_feedforward.before(y))
        y = layer.around_feedforward.after(y, change)
    return model.logits(model.after_decoder(y))[:, 0].softmax(-1)


@torch.no_grad()
def moments(model: Translator, batch: Batch) -> Iterator[Moment]:
    """Every step of writing the right translations."""
    memory = model.encode(batch.source)
    state = model.start(memory)
    pairs = zip(batch.target_in.T, batch.target_out.T, strict=True)
    for token, wanted in pairs:
        if isinstance(model, RNNsearch):
            _, after, own = model.step(token, state, memory)
            own = own[:, None]
        else:
            _, after, looks = model.write(
                token[:, None], memory, state, need_weights=True
            )
            own = torch.cat([cross[:, :, 0] for _, cross in looks], dim=1)
        places = batch.source != PAD
        yield Moment(token, state, memory, own, places, wanted)
        state = after


def reordered(now: Moment) -> Float[Tensor, "batch looks source"]:
    """The weights in another order, the same one for all looks."""
    key = torch.rand(now.places.shape).masked_fill(~now.places, 2.0)
    order = key.argsort(-1)  # padding stays behind
    at = order.argsort(-1)[:, None].expand_as(now.own)
    return now.own.gather(-1, at)


def most_different(
    model: Translator,
    now: Moment,
    epsilon: float = EPSILON,
    free: Bool[Tensor, " looks"] | None = None,
) -> Float[Tensor, "batch looks source"]:
    """The weights found that differ most while the next word stays the same.

    max JS(β, α)  so that  TV(what β says, what α says) ≤ ε,  by Adam on the
    logits of β, from a random start. Looks that are not `free` stay.
    """
    with torch.no_grad():
        before = says(model, now, now.own)
    best, far = now.own.clone(), torch.zeros(len(now.own))
    shut = ~now.places[:, None]
    z = torch.randn(now.own.shape, requires_grad=True)
    adam = torch.optim.Adam([z], lr=RATE)
    for _ in range(SEARCH):
        other = z.masked_fill(shut, -torch.inf).softmax(-1)
        if free is not None:
            other = torch.where(free[:, None], other, now.own)
        moved = total_variation(says(model, now, other), before)
        apart = distance(other, now.own, free)
        with torch.no_grad():
            better = (moved <= epsilon) & (apart > far)
            best[better], far[better] = other[better], apart[better]
        loss = 20 * F.relu(moved - 0.8 * epsilon) - apart
        adam.zero_grad()
        loss.sum().backward()
        adam.step()
    return best


def distance(
    a: Tensor, b: Tensor, free: Bool[Tensor, " looks"] | None = None
) -> Float[Tensor, " batch"]:
    """Mean of JS over the looks, or over those that are free."""
    each = divergence(a, b)
    return each.mean(-1) if free is None else each[:, free].mean(-1)


def frozen(model: Translator) -> Translator:
    """Nothing is trained, nothing dropped."""
    return model.eval().requires_grad_(False)
