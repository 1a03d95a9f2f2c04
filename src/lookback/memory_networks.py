r"""Memory networks: several hops over a memory, each asking the next question.

End-to-end memory network: Sukhbaatar et al. 2015, arXiv 1503.08895, section 2.
With x_i and q the sentences and the question as bags of words,

    m_i = A x_i,  c_i = C x_i,  u = B q
    p_i = softmax_i(u · m_i),  o = Σ_i p_i c_i,  u' = u + o      one hop
    â = softmax(W u)                                    after the last hop

tied in their "adjacent" way: A^{k+1} = C^k, B = A^1, Wᵀ = C^K. Temporal
encoding: a learned row is added to every m_i and c_i that says how old sentence
i is, counted from the question backwards.

Memory network: Weston, Chopra & Bordes 2014, arXiv 1410.3916, section 3.

    o_1 = argmax_i s(q, m_i),  o_2 = argmax_i s([q, m_{o_1}], m_i), …
    r = argmax_w s_R([q, m_{o_1}, m_{o_2}, …], w),    s(x, y) = (U x) · (U y)

It is trained with the right o_1, o_2, … given (strong supervision), and by a
margin ranking loss: whatever is wrong should score lower than what is right by
1, or costs what it falls short.

Departures: the words of a sentence are simply added up (the paper also weighs
them by their place, its position encoding), the first numbers are drawn three
times as large, and the optimiser is Adam. The memory network has the same
temporal encoding, where the original compared the times of two sentences, and
is told how many facts to look for.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.vocabulary import PAD


@dataclass(frozen=True)
class MemoryConfig:
    """Sizes of either network; the paper's beside ours."""

    source_vocab: int
    hops: int = 3  # 3
    d: int = 32  # 20, or 50 for all tasks at once
    ages: int = 30  # 50: what is older is forgotten
    draw: float = 0.3  # 0.1: the spread of the first random numbers

    @property
    def target_vocab(self) -> int:
        """Answers are words of the stories."""
        return self.source_vocab


def bags(
    words: Int[Tensor, "*batch length"], table: Float[Tensor, "vocab d"]
) -> Float[Tensor, "*batch vocab"]:
    """How often each word of the table stands in each sentence.

    <pad> does not count.
    """
    counts = table.new_zeros(*words.shape[:-1], len(table))
    counts.scatter_add_(-1, words, torch.ones_like(words, dtype=table.dtype))
    counts[..., PAD] = 0.0
    return counts


def ages(
    mask: Bool[Tensor, "batch source"],
) -> Int[Tensor, "batch source"]:
    """How many sentences came after each: the last one told has 0."""
    after = mask.flip(-1).cumsum(-1).flip(-1) - 1
    return after.clamp(min=0)


def forget(
    old: Int[Tensor, "batch source"],
    mask: Bool[Tensor, "batch source"],
    most: int,
) -> tuple[Int[Tensor, "batch source"], Bool[Tensor, "batch source"]]:
    """Ages below `most`, which have a row; no older sentence is attended to."""
    return old.clamp(max=most - 1), mask & (old < most)


def scattered(
    batch: int, source: int, most: int, device=None
) -> Int[Tensor, "batch source"]:
    """Ages with gaps: each story's are some of 0 … most − 1, oldest first."""
    drawn = torch.rand(batch, most, device=device).topk(source).indices
    return drawn.sort(dim=-1, descending=True).values


def hop_weights(
    scores: Float[Tensor, "batch source"],
    mask: Bool[Tensor, "batch source"],
    temperature: float | None,
) -> Float[Tensor, "batch source"]:
    """softmax(scores / temperature); at 0 the best sentence takes all.

    At None the scores stay as they are: no softmax, the paper's linear start.
    """
    if temperature is None:
        return scores * mask
    scores = scores.masked_fill(~mask, -torch.inf)
    if temperature == 0:
        best = scores.argmax(dim=-1)
        return F.one_hot(best, scores.shape[-1]).to(scores.dtype)
    return (scores / temperature).softmax(dim=-1)


def hop(
    u: Float[Tensor, "batch d"],
    keys: Float[Tensor, "batch source d"],
    values: Float[Tensor, "batch source d"],
    mask: Bool[Tensor, "batch source"],
    temperature: float | None = 1.0,
) -> tuple[Float[Tensor, "batch d"], Float[Tensor, "batch source"]]:
    """u + Σ_i p_i c_i and p = softmax_i(u · m_i): attend, and add."""
    scores = torch.einsum("bd,bsd->bs", u, keys)
    p = hop_weights(scores, mask, temperature)
    return u + torch.einsum("bs,bsd->bd", p, values), p


class MemN2N(nn.Module):
    """Soft attention at each hop; the answer alone teaches it."""

    def __init__(self, config: MemoryConfig):
        super().__init__()
        self.config = config

        def tables(rows: int) -> nn.ParameterList:
            """A^1, C^1 = A^2, …, C^K."""
            each = torch.randn(config.hops + 1, rows, config.d)
            return nn.ParameterList([*(config.draw * each)])

        self.words = tables(config.source_vocab)
        self.ages = tables(config.ages)

    def forward(
        self,
        story: Int[Tensor, "batch source length"],
        question: Int[Tensor, "batch length"],
        old: Int[Tensor, "batch source"] | None = None,
        temperature: float | None = 1.0,
    ) -> tuple[
        Float[Tensor, "batch vocab"], list[Float[Tensor, "batch source"]]
    ]:
        """Logits of the answer, and the attention weights of each hop.

        `old` gives the sentences other ages than their places in the story.
        None is attended to that is of age config.ages or more; one must be
        younger.
        """
        A, mask = self.words[0], story.ne(PAD).any(dim=-1)
        x, old = bags(story, A), ages(mask) if old is None else old
        old, mask = forget(old, mask, self.config.ages)
        memories = [
            x @ words + rows[old]
            for words, rows in zip(self.words, self.ages, strict=True)
        ]
        u, attention = bags(question, A) @ A, []  # B = A^1
        for keys, values in pairwise(memories):  # A^{k+1} = C^k
            u, p = hop(u, keys, values, mask, temperature)
            attention.append(p)
        return u @ self.words[-1].T, attention  # Wᵀ = C^K


class Match(nn.Module):
    """The three matrices of a score: asked, found so far, and on offer."""

    def __init__(self, config: MemoryConfig):
        super().__init__()
        size = (config.source_vocab, config.d)
        self.asked, self.found, self.offered = (
            nn.Parameter(config.draw * torch.randn(size)) for _ in range(3)
        )

    def query(
        self,
        question: Float[Tensor, "batch vocab"],
        facts: Float[Tensor, "batch vocab"],
    ) -> Float[Tensor, "batch d"]:
        """U_q q + U_f (f_1 + f_2 + …)."""
        return question @ self.asked + facts @ self.found


class MemNN(nn.Module):
    """Hard attention at each hop; in training the right one is given."""

    def __init__(self, config: MemoryConfig):
        super().__init__()
        self.config = config
        self.search, self.respond = Match(config), Match(config)
        self.ages = nn.Parameter(
            config.draw * torch.randn(config.ages, config.d)
        )

    def forward(
        self,
        story: Int[Tensor, "batch source length"],
        question: Int[Tensor, "batch length"],
        hops: Int[Tensor, " batch"],
        support: Int[Tensor, "batch ..."] | None = None,
    ) -> tuple[
        Float[Tensor, "batch vocab"], list[Float[Tensor, "batch source"]]
    ]:
        """Scores of the answer, and of the sentences at each of the `hops`.

        With the right places in `support` it continues from these, else from
        the sentence that scores best.
        """
        U, mask = self.search.offered, story.ne(PAD).any(dim=-1)
        x, q = bags(story, U), bags(question, U)
        old, mask = forget(ages(mask), mask, self.config.ages)
        stored = x @ U + self.ages[old]
        facts, hop_scores = torch.zeros_like(q), []
        for k in range(int(hops.max())):
            u = self.search.query(q, facts)
            scores = torch.einsum("bd,bsd->bs", u, stored)
            scores = scores.masked_fill(~mask, -torch.inf)
            hop_scores.append(scores)
            best = scores.argmax(dim=-1) if support is None else support[:, k]
            found = x[torch.arange(len(x), device=x.device), best]  # x_{o_k}
            facts = facts + found * (k < hops)[:, None]
        return self.respond.query(q, facts) @ self.respond.offered.T, hop_scores


def hinge_loss(
    scores: Float[Tensor, "batch d"], right: Int[Tensor, " batch"]
) -> Float[Tensor, " batch"]:
    """Σ max(0, 1 − s_right + s_wrong) over all that is wrong."""
    ahead = scores.gather(1, right[:, None]) - scores
    return (1 - ahead).clamp(min=0).sum(dim=-1) - 1  # the right one itself
