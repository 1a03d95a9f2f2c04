"""RNNsearch's exercises: each solution, and the check beside it.

What is right is taken from plain loops over sentences and positions, never
from the solution. The masked softmax has its own module; so has what the
weights mean, `alignment`.
"""

import math

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import (
    Hint,
    as_numbers,
    as_tensor,
    expect,
    random_inputs,
)

_ENERGIES = (2, 1, 0)
_ANNOTATIONS = ((4, -2), (1, 3), (-2, 4))


def context_by_hand_solution():
    """c = Σ_j α_j h_j with α = softmax(2, 1, 0)."""
    shares = [math.exp(e) for e in (2, 1, 0)]  # 7.389, 2.718, 1
    alpha = [share / sum(shares) for share in shares]  # 0.665, 0.245, 0.090
    return [
        sum(a * h for a, h in zip(alpha, column, strict=True))
        for column in ((4, 1, -2), (-2, 3, 4))
    ]  # 2.725, -0.236


def _by_hand(shares):
    """The annotations' sum, each times its share."""
    values = torch.tensor(_ANNOTATIONS, dtype=torch.float64)
    return torch.tensor(shares, dtype=torch.float64) @ values


@exercise("rnnsearch", context_by_hand_solution, by_hand=True)
def context_by_hand(answer):
    """Softmax of three energies and the context; the answer is c."""
    if isinstance(answer, (list, tuple)) and len(answer) == 3:
        raise Hint(
            "Three numbers are the weights. The context has as many as an "
            "annotation, two: Σ α_j h_j."
        )
    found = as_numbers(answer, 2, "the two numbers of c")
    e = torch.tensor(_ENERGIES, dtype=torch.float64)
    mistakes = {
        hint: _by_hand(shares.tolist())
        for hint, shares in {
            "Your weights are exp(e), not yet divided by their sum: three "
            "weights must sum to 1.": e.exp(),
            "Your weights are e / Σ e, without exp. Exponentiate first, "
            "then divide; even the energy 0 then gets a share.": e / e.sum(),
            "All three annotations weigh the same in your context: that is "
            "their plain mean, and the energies are not used.": (
                torch.full((3,), 1 / 3)
            ),
            "You raised 2 to the energies; softmax takes e = 2.718….": (
                2**e / (2**e).sum()
            ),
            "That is the annotation with the highest energy alone: a hard "
            "choice. The soft search takes a little of each.": (
                torch.tensor([1.0, 0.0, 0.0])
            ),
            "You multiplied the annotations by the energies themselves; "
            "softmax comes between.": e,
            "Your weights run backwards, the lowest energy gets the most: "
            "exp(e), not exp(−e).": torch.softmax(-e, 0),
            "The weights are right, but you divided by three as well. They "
            "sum to 1: the sum is already a mean.": torch.softmax(e, 0) / 3,
        }.items()
    }
    truth = _by_hand([math.exp(n) / 11.107338 for n in _ENERGIES])
    otherwise = (
        "Not yet right, and no slip that I know. The weights are 0.665, 0.245 "
        "and 0.090; c takes that share of each annotation."
    )
    expect(found, truth, mistakes, tolerance=0.012, otherwise=otherwise)
    return "both numbers of c, from weights 0.665, 0.245 and 0.090."


def additive_scores_solution(s, H, W, U, v):
    """e_ij = v · tanh(W s + U h_j), for every sentence and position j."""
    query = (s @ W.T).unsqueeze(1)  # [batch, 1, align]
    keys = H @ U.T  # [batch, source, align]
    return torch.tanh(query + keys) @ v


def _loop(s, H, W, U, v, score):
    """`score`(W s, U h, v) for one sentence and position after another."""
    return torch.stack(
        [
            torch.stack([score(W @ s_b, U @ h, v) for h in H_b])
            for s_b, H_b in zip(s, H, strict=True)
        ]
    )


_SCORED_WRONG = {
    "tanh is missing: v · tanh(W s + U h).": lambda q, k, v: v @ (q + k),
    "tanh stands around the finished score; it belongs inside, before v: "
    "v · tanh(W s + U h).": lambda q, k, v: torch.tanh(v @ (q + k)),
    "You took tanh of W s and of U h apart. Add them first: only inside one "
    "tanh can query and key act on each other.": (
        lambda q, k, v: v @ (torch.tanh(q) + torch.tanh(k))
    ),
    "v is missing: you sum over the align axis with weight 1 each.": (
        lambda q, k, v: torch.tanh(q + k).sum()
    ),
    "v is missing: you average over the align axis.": (
        lambda q, k, v: torch.tanh(q + k).mean()
    ),
    "You multiply W s with U h; additive scores add them.": (
        lambda q, k, v: v @ torch.tanh(q * k)
    ),
    "You subtract where the score adds: W s + U h.": (
        lambda q, k, v: v @ torch.tanh(q - k)
    ),
    "You used σ in place of tanh.": lambda q, k, v: v @ torch.sigmoid(q + k),
    "The query s is not in your scores: every target word would look at the "
    "same place.": lambda q, k, v: v @ torch.tanh(k),
}


@exercise("rnnsearch", additive_scores_solution)
def additive_scores(mine):
    """v · tanh(W s + U h_j), batched."""
    # one sentence; as many sentences as positions; every size different
    sizes = ((1, 3, 4, 4, 5), (3, 3, 4, 4, 5), (2, 3, 6, 4, 5))
    for seed, (batch, source, query, key, align) in enumerate(sizes):
        given = random_inputs(
            seed,
            (batch, query),
            (batch, source, key),
            (align, query),
            (align, key),
            (align,),
        )
        axes = (batch, source)
        known = {
            (batch, source, align): "The align axis is still there: v turns "
            "its numbers into one score.",
            (batch, source, 1): "Drop the last axis: squeeze(-1).",
            (source, batch): "Yours is [source, batch].",
            (batch, align): "You summed over the positions; each position "
            "keeps its own score.",
        }
        found = as_tensor(mine(*given), axes, "[batch, source]", known)
        s, H, W, U, v = exact = [tensor.double() for tensor in given]
        truth = _loop(*exact, lambda q, k, v: v @ torch.tanh(q + k))
        mistakes = {
            hint: _loop(*exact, score) for hint, score in _SCORED_WRONG.items()
        }
        mistakes[
            "Those are weights, each row sums to 1. The scores come "
            "before softmax."
        ] = truth.softmax(1)
        if query == key:
            mistakes[
                "U is applied to s as well; the query has its own matrix, W."
            ] = _loop(s, H, U, U, v, lambda q, k, v: v @ torch.tanh(q + k))
            mistakes[
                "W and U are exchanged: W is for the query s, U for "
                "the annotations H."
            ] = _loop(s, H, U, W, v, lambda q, k, v: v @ torch.tanh(q + k))
        if batch == source:
            mixed = (H @ U.T + s @ W.T).tanh() @ v
            mistakes[
                "You add the query of sentence j to POSITION j of every "
                "sentence. Make room for the source axis first: "
                "(s @ W.T).unsqueeze(1)."
            ] = mixed
        expect(found, truth, mistakes)
    return (
        "shape; equal to a loop over sentences and positions on three "
        "batches; each query stays with its own sentence."
    )


def context_solution(weights, H):
    """c = Σ_j α_j h_j."""
    return torch.einsum("bs,bsd->bd", weights, H)


def _context_loop(weights, H):
    """The weighted sum, one sentence and one position at a time."""
    rows = []
    for shares, vectors in zip(weights.tolist(), H.tolist(), strict=True):
        row = [0.0] * len(vectors[0])
        for share, vector in zip(shares, vectors, strict=True):
            row = [c + share * x for c, x in zip(row, vector, strict=True)]
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64)


def _context_gone_wrong(w, H):
    """What each likely mistake in the context gives, by its hint."""
    mistakes = {
        "That is the plain mean of the annotations: the weights are not "
        "used.": H.mean(1),
        "That is the plain sum of the annotations: the weights are not "
        "used.": H.sum(1),
        "You divide by the number of words as well. The weights sum to 1: "
        "their sum is already a mean.": torch.einsum("bs,bsd->bd", w, H)
        / H.shape[1],
        "You took softmax of the weights again; they are weights already.": (
            torch.einsum("bs,bsd->bd", w.softmax(1), H)
        ),
        "You took the annotation with the largest weight alone; the soft "
        "search averages all of them.": H[range(len(H)), w.argmax(1)],
        "Every sentence is averaged with the weights of the first one.": (
            torch.einsum("s,bsd->bd", w[0], H)
        ),
    }
    if w.shape[0] == H.shape[1] == H.shape[2]:
        mistakes |= {
            "The weights met the wrong axis: give them a last axis, "
            "weights.unsqueeze(-1), so that they run along source.": (
                (w * H).sum(1)
            ),
            "The weights are transposed: row b holds the weights of "
            "sentence b.": torch.einsum("sb,bsd->bd", w, H),
        }
    return mistakes


@exercise("rnnsearch", context_solution)
def context(mine):
    """The context: annotations averaged with the weights."""
    for batch, source, d in ((2, 3, 4), (3, 3, 3), (1, 5, 2)):
        w, H = random_inputs(7, (batch, source), (batch, source, d))
        w = w.softmax(1)
        known = {
            (batch, source, d): "Weighted, but not summed yet: sum over the "
            "source axis.",
            (batch, source): "You summed over the numbers of each "
            "annotation; sum over the source axis.",
            (batch, 1, d): "Drop the middle axis: squeeze(1).",
            (batch, batch, d): "Each sentence's weights met every sentence's "
            "annotations: weights.unsqueeze(1) @ H keeps them apart.",
            (d,): "The batch axis is gone: one context for each sentence.",
        }
        found = as_tensor(mine(w, H), (batch, d), "[batch, d]", known)
        w, H = w.double(), H.double()
        expect(found, _context_loop(w, H), _context_gone_wrong(w, H))
    return "shape, and equal to a loop over words on three batches."
