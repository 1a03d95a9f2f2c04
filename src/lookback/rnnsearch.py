r"""RNNsearch: attention over all source words for every word written.

Bahdanau, Cho & Bengio 2015, arXiv 1409.0473 (v7), section 3 and appendix A.

    h_j  = [→h_j; ←h_j]                            annotation of word j
    e_ij = v_a · tanh(W_a s_{i−1} + U_a h_j)       energy, A.1.2
    α_ij = exp(e_ij) / Σ_k exp(e_ik)               weight, eq. 6
    c_i  = Σ_j α_ij h_j                            context, eq. 5
    s_i  = GRU([E y_{i−1}; c_i], s_{i−1})          decoder, A.2.2
    s_0  = tanh(W_s ←h_1)
    t_i  = maxout(O [s_i; E y_{i−1}; c_i])
    p(y_i | y_<i, x) = softmax(W_o t_i)

Departures: sizes (in the fields of RNNsearchConfig), dropout, Adam instead of
Adadelta; U_a has a bias, which the recorded weights have learned. The GRU is
torch's: its reset gate stands outside the product, its update gate weighs the
old state. The readout takes s_i, as the paper's eq. 4 says, where A.2.2 prints
s_{i−1}. Initialisation is torch's, except that v_a starts at 0 as in the paper,
so that the first attention weights are equal.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lookback.bottleneck import RecurrentTranslator, State
from lookback.vocabulary import PAD


@dataclass(frozen=True)
class RNNsearchConfig:
    """Sizes of RNNsearch; the paper's beside ours."""

    source_vocab: int  # 30,000
    target_vocab: int  # 30,000
    embed: int = 256  # m = 620
    hidden: int = 256  # n = 1000, each direction and the decoder
    align: int = 256  # n' = 1000
    maxout: int = 256  # l = 500
    dropout: float = 0.2  # none


class Annotations(NamedTuple):
    """What the decoder may look at: one vector per source word."""

    values: Float[Tensor, "batch source two_hidden"]  # h_j
    keys: Float[Tensor, "batch source align"]  # U_a h_j, computed once
    mask: Bool[Tensor, "batch source"]  # True = may be looked at
    last: Float[Tensor, "batch hidden"]  # ←h_1, for s_0


class AdditiveAttention(nn.Module):
    """The alignment model a(s, h) and the soft search built on it."""

    def __init__(self, d_query: int, d_key: int, align: int):
        super().__init__()
        self.W = nn.Linear(d_query, align, bias=False)  # W_a
        self.U = nn.Linear(d_key, align)  # U_a, with a bias
        self.v = nn.Parameter(torch.zeros(align))  # v_a = 0: uniform start

    def scores(
        self,
        query: Float[Tensor, "batch d_query"],
        keys: Float[Tensor, "batch source align"],
    ) -> Float[Tensor, "batch source"]:
        """e_ij = v_a · tanh(W_a s_{i−1} + U_a h_j), for all j at once."""
        return torch.tanh(self.W(query).unsqueeze(1) + keys) @ self.v

    def forward(
        self,
        query: Float[Tensor, "batch d_query"],
        keys: Float[Tensor, "batch source align"],
        values: Float[Tensor, "batch source d_v"],
        mask: Bool[Tensor, "batch source"],
    ) -> tuple[Float[Tensor, "batch d_v"], Float[Tensor, "batch source"]]:
        """c_i = Σ_j α_ij h_j, and the weights α_ij themselves."""
        e = self.scores(query, keys).masked_fill(~mask, -torch.inf)
        weights = torch.softmax(e, dim=-1)  # α_ij, the paper's eq. 6
        context = torch.einsum("bs,bsd->bd", weights, values)  # c_i, eq. 5
        return context, weights


def annotate(
    encoder: nn.GRU,
    words: Float[Tensor, "batch source embed"],
    mask: Bool[Tensor, "batch source"],
) -> Float[Tensor, "batch source two_hidden"]:
    """h_j = [→h_j; ←h_j]; the backward one starts at each true end."""
    packed = pack_padded_sequence(
        words, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False
    )
    values, _ = pad_packed_sequence(
        encoder(packed)[0], batch_first=True, total_length=words.shape[1]
    )
    return values


class RNNsearch(RecurrentTranslator):
    """The encoder–decoder that searches the source (Bahdanau et al. 2015)."""

    def __init__(self, config: RNNsearchConfig):
        super().__init__(config, context=2 * config.hidden)
        embed, hidden = config.embed, config.hidden
        self.source_embedding = nn.Embedding(config.source_vocab, embed, PAD)
        self.encoder = nn.GRU(
            embed, hidden, batch_first=True, bidirectional=True
        )
        self.attention = AdditiveAttention(hidden, 2 * hidden, config.align)
        self.bridge = nn.Linear(hidden, hidden)  # W_s

    def encode(self, source: Int[Tensor, "batch source"]) -> Annotations:
        """h_j = [→h_j; ←h_j] for every word, and U_a h_j once for all."""
        mask = source != PAD
        words = self.dropout(self.source_embedding(source))
        values = annotate(self.encoder, words, mask)
        last = values[:, 0, self.config.hidden :]  # ←h_1
        return Annotations(values, self.attention.U(values), mask, last)

    def start(self, memory: Annotations) -> State:
        """s_0 = tanh(W_s ←h_1)."""
        return State(torch.tanh(self.bridge(memory.last)))

    def look(
        self, state: State, memory: Annotations
    ) -> tuple[Float[Tensor, "batch d_v"], Float[Tensor, "batch source"]]:
        """Search the source with the previous state s_{i−1}."""
        return self.attention(
            state.hidden, memory.keys, memory.values, memory.mask
        )
