r"""RNN transducer: the sum over all monotonic alignments of two sentences.

At each moment the model either emits the next word y_{u+1} or a blank, which
takes its place in the source from t to t + 1. A path through the lattice of
T × U nodes is one alignment; it is a latent variable, so the probability of a
translation is the marginal over all paths, by the forward algorithm (Graves
2012, arXiv 1211.3711, in which Cho recognized what Bahdanau had planned;
Bahdanau's own equations were never published):

    p(k | t, u) = exp(f_t[k] + g_u[k]) / Z(t, u)         k: a word, or blank
    α(t, u)     = α(t−1, u) p(blank | t−1, u) + α(t, u−1) p(y_u | t, u−1)
    p(y | x)    = Σ_t α(t, U−1) p(y_U | t, U−1)           y_U is <end>

f_t comes from the encoder's state at source word t (Graves's transcription
network), g_u from the prediction network, which reads the words emitted so
far. The joint, p, adds the two. Nothing that g_u is made of depends on the
path: only so do all paths to a node share one future, and the sum of
C(T−1+U, U) paths costs (T−1)·U additions.

Departures from Graves's transducer: the text ends with the word <end> in
place of a last blank; no blank at the last source word; GRUs.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from lookback.bottleneck import Readout
from lookback.rnnsearch import annotate
from lookback.translator import Translator
from lookback.vocabulary import PAD, START

NEVER = -1e30  # a logarithm of 0 whose gradient is a number


def forward_sums(
    emit: Float[Tensor, "batch target source"],
    blank: Float[Tensor, "batch target source"],
    mask: Bool[Tensor, "batch source"],
) -> Float[Tensor, "batch target source"]:
    """log α(t, u) for u = 0 … U−1: the forward sums, all ways to a node.

    `emit[u, t]` is log p(y_{u+1} | t, u), `blank[u, t]` log p(blank | t, u); a
    blank advances by one source word. `mask` is True at the words of the
    source, at whose last there is no blank.
    """
    first = torch.full_like(blank[:, 0], NEVER)
    first[:, 0] = 0.0
    rows, arrived = [], first
    for u in range(blank.shape[1]):
        rows.append(after_blanks(arrived, blank[:, u], mask))
        arrived = rows[-1] + emit[:, u]
    return torch.stack(rows, dim=1)


def after_blanks(
    arrived: Float[Tensor, "batch source"],
    blank: Float[Tensor, "batch source"],
    mask: Bool[Tensor, "batch source"],
) -> Float[Tensor, "batch source"]:
    """Log-probabilities after any number of blanks from where one arrived.

    Σ_{t′≤t} arrived(t′) Π_{t′≤τ<t} p(blank | τ), in logarithms.
    """
    steps = torch.where(mask[:, 1:], blank[:, :-1], 0.0)
    gone = nn.functional.pad(steps.cumsum(-1), (1, 0))  # from 1 to t
    reached = gone + torch.logcumsumexp(arrived - gone, dim=-1)
    return reached.masked_fill(~mask, NEVER)


def backward_sums(
    emit: Float[Tensor, "batch target source"],
    blank: Float[Tensor, "batch target source"],
    mask: Bool[Tensor, "batch source"],
) -> Float[Tensor, "batch target source"]:
    """log β(t, u): the backward sums, all ways on from a node to the end."""
    later = torch.zeros_like(emit[:, -1])  # all is emitted: one way
    onward = torch.where(mask[:, None, 1:], blank[..., :-1], NEVER)
    onward = nn.functional.pad(onward, (0, 1), value=NEVER)
    rows = []
    for u in reversed(range(emit.shape[1])):
        stays = (emit[:, u] + later).masked_fill(~mask, NEVER)
        ahead, row = torch.full_like(stays[:, 0], NEVER), []
        for t in reversed(range(stays.shape[1])):
            ahead = torch.logaddexp(stays[:, t], onward[:, u, t] + ahead)
            row.append(ahead)
        later = torch.stack(row[::-1], dim=-1)
        rows.append(later)
    return torch.stack(rows[::-1], dim=1)


def alignment_posterior(
    emit: Float[Tensor, "batch target source"],
    blank: Float[Tensor, "batch target source"],
    mask: Bool[Tensor, "batch source"],
) -> Float[Tensor, "batch target source"]:
    """The place at which each word was emitted, the whole text known.

    α(t, u) p(y_{u+1} | t, u) β(t, u+1) / p(y | x), which is the derivative of
    log p(y | x) with respect to log p(y_{u+1} | t, u). A row sums to 1.
    """
    before = forward_sums(emit, blank, mask)
    after = backward_sums(emit, blank, mask)
    after = torch.cat([after[:, 1:], torch.zeros_like(after[:, :1])], dim=1)
    return torch.softmax(before + emit + after, dim=-1)


@dataclass(frozen=True)
class TransducerConfig:
    """Sizes; the dropout is on both sides' embeddings and both readouts."""

    source_vocab: int
    target_vocab: int
    embed: int = 256
    hidden: int = 256
    maxout: int = 256
    dropout: float = 0.2


class Places(NamedTuple):
    """What the encoder says at every word of the source."""

    words: Float[Tensor, "batch source vocab"]  # f_t, over the words
    exp: Float[Tensor, "batch source vocab"]  # e^{f_t − max}
    max: Float[Tensor, "batch source"]  # the largest of f_t
    mask: Bool[Tensor, "batch source"]
    blank: Float[Tensor, "batch source"]  # f_t, for the blank


class Frontier(NamedTuple):
    """The prediction network's state, and the sums over where it may stand."""

    hidden: Float[Tensor, "batch hidden"]
    ready: Float[Tensor, "batch source"]  # log α(t, u) / Z(t, u), for the next


class Transducer(Translator):
    """Translates by the sum over all monotonic alignments."""

    def __init__(self, config: TransducerConfig):
        super().__init__()
        self.config = config
        embed, hidden = config.embed, config.hidden
        self.source_embedding = nn.Embedding(config.source_vocab, embed, PAD)
        self.target_embedding = nn.Embedding(config.target_vocab, embed, PAD)
        self.encoder = nn.GRU(
            embed, hidden, batch_first=True, bidirectional=True
        )
        # The prediction network, under the name that the trained weights have.
        self.pen = nn.GRU(embed, hidden, batch_first=True)
        words = config.target_vocab
        self.f = Readout(2 * hidden + embed, config.maxout, words)
        self.g = Readout(hidden + embed, config.maxout, words)
        self.f_step = nn.Linear(2 * hidden + embed, 1)  # f of the blank
        self.g_step = nn.Linear(hidden + embed, 1)  # g of the blank
        self.dropout = nn.Dropout(config.dropout)

    def annotations(self, source: Int[Tensor, "batch source"]):
        """Where there are words, their embeddings, and the encoder's h_t."""
        mask = source != PAD
        embedded = self.dropout(self.source_embedding(source))
        h = self.dropout(annotate(self.encoder, embedded, mask))
        return mask, embedded, h

    def encode(self, source: Int[Tensor, "batch source"]) -> Places:
        """f_t for every word."""
        mask, embedded, h = self.annotations(source)
        f = precise(self.f(h, embedded))
        blank = precise(self.f_step(torch.cat([h, embedded], dim=-1)))
        return Places(f, *shifted_exp(f), mask, blank.squeeze(-1))

    def prediction_states(
        self, tokens: Int[Tensor, "batch target"], state: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The words' embeddings, the prediction network's states, the last."""
        embedded = self.dropout(self.target_embedding(tokens))
        s, last = self.pen(embedded, state)
        return embedded, self.dropout(s), last

    def predict(
        self, tokens: Int[Tensor, "batch target"], state: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """g_u over the words, g_u of the blank, and the last state."""
        embedded, s, last = self.prediction_states(tokens, state)
        g = precise(self.g(s, embedded))
        blank = precise(self.g_step(torch.cat([s, embedded], dim=-1)))
        return g, blank.squeeze(-1), last

    def joint(self, places: Places, g: Tensor, g_blank: Tensor):
        """log Z(t, u), and log p(blank | t, u)."""
        words = normalizer(places, g)
        blank = g_blank[..., None] + places.blank[:, None]
        last = ~nn.functional.pad(places.mask[:, 1:], (0, 1))
        blank = blank.masked_fill(last[:, None], NEVER)
        total = torch.logaddexp(words, blank)
        return total, blank - total

    def word_scores(self, places: Places, g: Tensor, words: Tensor) -> Tensor:
        """f_t[y] + g_u[y] of the words that were emitted."""
        index = words[:, None].expand(-1, places.words.shape[1], -1)
        f = places.words.gather(-1, index).mT
        return f + g.gather(-1, words[..., None])

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        places = self.encode(source)
        g, g_blank, _ = self.predict(target_in)
        total, blank = self.joint(places, g, g_blank)
        words = target_in.roll(-1, 1)  # y_{u+1}; the last is never asked for
        emit = self.word_scores(places, g, words) - total
        alpha = forward_sums(emit, blank, places.mask)
        return mixture(places, g, alpha - total)

    def start(self, memory: Places) -> Frontier:
        """Nothing is emitted yet, and the place is the first word."""
        first = torch.full_like(memory.blank, NEVER)
        first[:, 0] = 0.0
        hidden = memory.words.new_zeros(len(first), self.config.hidden)
        # `step` adds f_t[token] to what is ready, and its first token is
        # <start>: (first − f_t[<start>]) + f_t[<start>] = first.
        return Frontier(hidden, first - memory.words[..., START])

    def step(self, token, state, memory):
        """On from wherever `token` was emitted, by any number of blanks."""
        g, g_blank, last = self.predict(token[:, None], state.hidden[None])
        total, blank = self.joint(memory, g, g_blank)
        index = token[:, None, None].expand(-1, memory.words.shape[1], -1)
        # g_u[token] is the same at every place: dividing α by its sum, below,
        # takes out whatever was added to all of them.
        arrived = state.ready + memory.words.gather(-1, index)[..., 0]
        alpha = after_blanks(arrived, blank[:, 0], memory.mask)
        alpha = alpha - alpha.logsumexp(-1, keepdim=True)
        ready = alpha - total[:, 0]
        logits = mixture(memory, g, ready[:, None])[:, 0]
        # α(t, u) p(a word | t, u): where the next word will be emitted.
        stays = alpha + torch.log1p(-blank[:, 0].exp().clamp_max(1 - 1e-6))
        return logits, Frontier(last[0], ready), stays.softmax(-1)

    def align(
        self,
        source: Int[Tensor, "batch source"],
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target source"]:
        """Where each word of a known target was emitted, a row sums to 1."""
        places = self.encode(source)
        start = torch.full_like(target[:, :1], START)
        given = torch.cat([start, target[:, :-1]], dim=1)
        g, g_blank, _ = self.predict(given)
        total, blank = self.joint(places, g, g_blank)
        emit = self.word_scores(places, g, target) - total
        return alignment_posterior(emit, blank, places.mask)


def normalizer(
    places: Places, g: Float[Tensor, "batch target vocab"]
) -> Float[Tensor, "batch target source"]:
    """log Σ_k e^{f_t[k] + g_u[k]}, for every node (t, u).

    It is the product of two matrices of exponentials, e^g (e^f)ᵀ: no tensor
    `batch target source vocab` is materialized.
    """
    exp_g, max_g = shifted_exp(g)
    mass = product(exp_g, places.exp.mT)
    return logarithm(mass) + max_g[..., None] + places.max[:, None]


def mixture(
    places: Places,
    g: Float[Tensor, "batch target vocab"],
    ready: Float[Tensor, "batch target source"],
) -> Float[Tensor, "batch target vocab"]:
    """log Σ_t α(t, u) p(k | t, u): logits of the next word.

    A softmax divides by the sum over k, Σ_t α(t, u) (1 − p(blank | t, u)).
    `ready` is log α(t, u) / Z(t, u). In `latent_alignment` the weights of an
    attention stand in place of α.
    """
    weight, top = shifted_exp(ready + places.max[:, None])
    return logarithm(product(weight, places.exp)) + top[..., None] + g


def product(one: Tensor, other: Tensor) -> Tensor:
    """Of matrices, in the precision that they have."""
    with torch.autocast(one.device.type, enabled=False):
        return one @ other


def shifted_exp(x: Tensor) -> tuple[Tensor, Tensor]:
    """e^{x − max x}, and max x, along the last axis; the max is no variable."""
    largest = x.detach().amax(-1)
    return (x - largest[..., None]).exp(), largest


def logarithm(mass: Tensor) -> Tensor:
    """log, of the smallest number where the mass has underflowed to 0."""
    return mass.clamp_min(torch.finfo(mass.dtype).tiny).log()


def precise(x: Tensor) -> Tensor:
    """In fp32, or finer if it is: sums of many paths need the digits."""
    return x if x.dtype == torch.float64 else x.float()
