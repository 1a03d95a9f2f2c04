r"""Sequence to sequence: a sentence squeezed through one fixed vector.

The RNN Encoder–Decoder, Cho et al. 2014, arXiv 1406.1078, sections 2.2–2.3
and appendix A; reversed source: Sutskever et al. 2014, arXiv 1409.3215,
section 3.3.

    h_t = GRU(E x_t, h_{t−1})                      encoder, t = 1 … T
    c   = tanh(V h_T)                              the one fixed vector
    s_0 = tanh(V' c)
    s_i = GRU([E y_{i−1}; c], s_{i−1})             decoder
    t_i = maxout(O [s_i; E y_{i−1}; c])
    p(y_i | y_<i, x) = softmax(W_o t_i)

Departures: sizes (in the fields of BottleneckConfig), dropout, Adam instead
of Adadelta, torch's GRU convention and initialisation. Sutskever et al. used
four layers of LSTM, and their decoder saw c at its first step alone.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lookback.translator import Translator
from lookback.vocabulary import END, PAD


@dataclass(frozen=True)
class BottleneckConfig:
    """Sizes of a model with a fixed vector; the papers' beside ours."""

    source_vocab: int  # 30,000 in Bahdanau et al.'s RNNencdec
    target_vocab: int  # 30,000
    embed: int = 256  # 620
    hidden: int = 256  # 1000
    maxout: int = 256  # 500
    dropout: float = 0.2  # none
    reverse: bool = False  # True in Sutskever et al.


class State(NamedTuple):
    """What the decoder carries from word to word; the ladder adds a place."""

    hidden: Float[Tensor, "batch hidden"]


class FixedVector(NamedTuple):
    """All that the decoder of the bottleneck ever learns of the source."""

    c: Float[Tensor, "batch hidden"]


class Readout(nn.Module):
    """Logits from state, last word and context, by a maxout layer."""

    def __init__(self, inputs: int, maxout: int, vocab: int):
        super().__init__()
        self.maxout = nn.Linear(inputs, 2 * maxout)
        self.output = nn.Linear(maxout, vocab)

    def forward(self, *parts: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """W_o t, where t_j = max(t~_{2j−1}, t~_{2j})."""
        t = self.maxout(torch.cat(parts, dim=-1))
        return self.output(t.unflatten(-1, (-1, 2)).amax(dim=-1))


class RecurrentTranslator(Translator):
    """A decoder that is handed a context at every word.

    What the context is, `look` says: one vector for all words, or one that
    attention makes anew.
    """

    def __init__(self, config, context: int):
        super().__init__()
        self.config = config
        embed, hidden = config.embed, config.hidden
        self.target_embedding = nn.Embedding(config.target_vocab, embed, PAD)
        self.decoder = nn.GRUCell(embed + context, hidden)
        self.readout = Readout(
            hidden + embed + context, config.maxout, config.target_vocab
        )
        self.dropout = nn.Dropout(config.dropout)

    def look(self, state: tuple, memory: tuple) -> tuple[Tensor, Tensor | None]:
        """The context for the next word, and the weights that made it."""
        raise NotImplementedError

    def advance(
        self, embedded: Tensor, state: tuple, memory: tuple
    ) -> tuple[tuple, Tensor, Tensor | None]:
        """s_i = GRU([E y_{i−1}; c_i], s_{i−1}); also c_i and its weights."""
        context, weights = self.look(state, memory)  # c_i
        inputs = torch.cat([embedded, context], dim=-1)  # [E y_{i−1}; c_i]
        s = self.decoder(inputs, state.hidden)  # s_i; the decoder is a GRU
        return State(s), context, weights

    def step(self, token, state, memory):
        embedded = self.target_embedding(token)
        state, context, weights = self.advance(embedded, state, memory)
        return self.readout(state.hidden, embedded, context), state, weights

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        memory = self.encode(source)
        state = self.start(memory)  # s_0
        embedded = self.dropout(self.target_embedding(target_in))
        states, contexts = [], []
        for word in embedded.unbind(dim=1):
            state, context, _ = self.advance(word, state, memory)
            states.append(state.hidden)
            contexts.append(context)
        return self.readout(
            self.dropout(torch.stack(states, dim=1)),
            embedded,
            torch.stack(contexts, dim=1),
        )


class Bottleneck(RecurrentTranslator):
    """The RNN Encoder–Decoder (Cho et al. 2014)."""

    def __init__(self, config: BottleneckConfig):
        super().__init__(config, context=config.hidden)
        embed, hidden = config.embed, config.hidden
        self.source_embedding = nn.Embedding(config.source_vocab, embed, PAD)
        self.encoder = nn.GRU(embed, hidden, batch_first=True)
        self.squeeze = nn.Linear(hidden, hidden)  # V
        self.bridge = nn.Linear(hidden, hidden)  # V'

    def encode(self, source: Int[Tensor, "batch source"]) -> FixedVector:
        """c = tanh(V h_T), whatever the length T of the source."""
        if self.config.reverse:
            source = reverse(source)
        words = self.dropout(self.source_embedding(source))
        states, _ = self.encoder(words)
        last = (source != PAD).sum(dim=1) - 1
        h_T = states[torch.arange(len(source), device=source.device), last]
        return FixedVector(torch.tanh(self.squeeze(h_T)))

    def start(self, memory: FixedVector) -> State:
        """s_0 = tanh(V' c)."""
        return State(torch.tanh(self.bridge(memory.c)))

    def look(self, state: State, memory: FixedVector) -> tuple[Tensor, None]:
        """The same c at every word: this decoder never looks back."""
        return memory.c, None


def reverse(
    source: Int[Tensor, "batch source"],
) -> Int[Tensor, "batch source"]:
    """Each sentence's words in reverse; <end> and padding stay in place."""
    words = ((source != PAD) & (source != END)).sum(dim=1, keepdim=True)
    place = torch.arange(source.shape[1], device=source.device)
    return source.gather(
        1, torch.where(place < words, words - 1 - place, place)
    )
