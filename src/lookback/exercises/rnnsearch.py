"""The exercises of `rnnsearch`: each check beside its reference solution.

What is right comes from plain loops over sentences, positions and links, and
for RNNsearch from a blank file from the book's own, never from the solution.
"""

import functools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from tqdm.auto import tqdm

from lookback.exercises.by_hand import around, by_hand, stage, within
from lookback.exercises.checking import (
    NO_GRADIENT,
    OTHER_GRADIENT,
    Answer,
    Hint,
    as_module,
    as_tensor,
    exercise,
    expect,
    fill,
    float64,
    learnable,
    learnable_module,
    random_inputs,
    rounding,
)
from lookback.rnnsearch import RNNsearch, RNNsearchConfig, annotate
from lookback.vocabulary import END, PAD, START

_ENERGIES = (2, 1, 0)
_ANNOTATIONS = ((4, -2), (1, 3), (-2, 4))


def context_by_hand_solution():
    """c = Σ_j α_j h_j with α = softmax(2, 1, 0)."""
    shares = [math.exp(e) for e in _ENERGIES]  # 7.389, 2.718, 1
    alpha = [share / sum(shares) for share in shares]  # 0.665, 0.245, 0.090
    return [
        sum(a * h for a, h in zip(alpha, column, strict=True))
        for column in zip(*_ANNOTATIONS, strict=True)
    ]  # 2.725, -0.236


def _other_context(draw):
    """Three energies, the last one 0, and three annotations."""
    e = (*draw.sample((-1, 1, 2, 3), 2), 0)
    return {
        "e": e,
        "H": tuple(tuple(draw.sample(range(-4, 6), 2)) for _ in e),
    }


@by_hand(
    context_by_hand_solution,
    "the two numbers of c",
    ["c₁", "c₂"],
    known={
        3: "Three numbers are the weights. The context has as many as an "
        "annotation, two: Σ α_j h_j."
    },
    vary=("the energies e = {e} and the annotations {H}", _other_context),
)
def context_by_hand(e=_ENERGIES, H=_ANNOTATIONS):
    """Softmax of three energies and the context; the answer is c."""
    e, H = map(float64, (e, H))
    alpha = torch.softmax(e, 0)
    truth = alpha @ H
    nearly = (alpha * 100).round() / 100 @ H
    shares = "{:.3f}, {:.3f} and {:.3f}".format(*alpha)
    slips = {
        "Your weights are exp(e), not yet divided by their sum: three "
        "weights must sum to 1.": e.exp(),
        "Your weights are e / Σ e, without exp. Exponentiate first, "
        "then divide; even the energy 0 then gets a weight.": e / e.sum(),
        "All three annotations weigh the same in your context: that is "
        "their plain mean, and the energies are not used.": [1 / 3] * 3,
        "You raised 2 to the energies; softmax takes e = 2.718….": (
            2**e / (2**e).sum()
        ),
        "That is the annotation with the highest energy alone: a hard "
        "choice. The soft search takes a little of each.": (
            e == e.max()
        ).double(),
        "You multiplied the annotations by the energies themselves; "
        "softmax comes between.": e,
        "Your weights run backwards, the lowest energy gets the most: "
        "exp(e), not exp(−e).": torch.softmax(-e, 0),
        "The weights are right, but you divided by three as well. They "
        "sum to 1: the sum is already a mean.": torch.softmax(e, 0) / 3,
    }
    mistakes = {hint: float64(weights) @ H for hint, weights in slips.items()}
    mistakes |= {
        "The energy 0 has a weight, too: e⁰ is 1, not 0.": (
            e[:2].softmax(0) @ H[:2]
        ),
        "Nearly: you rounded the weights to two decimals before you used "
        "them. Keep three, and round c at the end.": nearly,
        "The two numbers are exchanged.": truth.flip(0),
    }
    otherwise = (
        f"The check does not recognize this mistake. The weights are {shares}; "
        "c is the sum of the annotations, each times its weight."
    )
    return (
        f"both numbers of c, from weights {shares}.",
        stage(truth, mistakes, otherwise, around(0.004), asked=within(0.0075)),
    )


context_by_hand.style((2.72, -0.24))
context_by_hand.style(torch.tensor([2.73, -0.23]))


def additive_scores_solution(s, H, W, U, v):
    """e_ij = v · tanh(W s + U h_j), for every sentence and position j."""
    query = (s @ W.T).unsqueeze(1)  # [batch, 1, align]
    keys = H @ U.T  # [batch, source, align]
    return torch.tanh(query + keys) @ v


def _score_loop(s, H, W, U, v):
    """v · tanh(W s + U h) for one sentence and position after another."""
    rows = [
        [v @ torch.tanh(W @ s_b + U @ h) for h in H_b]
        for s_b, H_b in zip(s, H, strict=True)
    ]
    return torch.tensor(rows, dtype=s.dtype)


@exercise(additive_scores_solution)
def additive_scores(mine):
    """v · tanh(W s + U h_j), batched."""
    cases = []
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
        cases.append((given, _score_loop(*map(float64, given))))
    additive_scores.compare(mine, cases, "[batch, source]")
    learnable(mine, *cases[2][0])
    return (
        "shape; equal to a loop over sentences and positions on three "
        "batches; each query stays with its own sentence."
    )


_TANH = "torch.tanh(query + keys)"
_SCORE = f"{_TANH} @ v"
for _hint, *_typed in (
    ("tanh is missing: v · tanh(W s + U h).", _TANH, "(query + keys)"),
    (
        "tanh stands around the finished score; it belongs inside, before v: "
        "v · tanh(W s + U h).",
        *(_SCORE, "torch.tanh((query + keys) @ v)"),
    ),
    (
        "You took tanh of W s and of U h apart. Add them first: only inside "
        "one tanh can query and key act on each other.",
        *(_TANH, "(torch.tanh(query) + torch.tanh(keys))"),
    ),
    (
        "v is missing: you sum over the align axis with weight 1 each.",
        *(" @ v", ".sum(-1)"),
    ),
    ("v is missing: you average over the align axis.", " @ v", ".mean(-1)"),
    (
        "You multiply W s with U h; additive scores add them.",
        *("query + keys", "query * keys"),
    ),
    (
        "You subtract where the score adds: W s + U h.",
        *("query + keys", "query - keys"),
    ),
    ("You used σ in place of tanh.", "torch.tanh", "torch.sigmoid"),
    (
        "The query s is not in your scores: every target word would look at "
        "the same place.",
        *("query + keys", "keys"),
    ),
    (
        "Those are weights, each row sums to 1. The scores come before "
        "softmax.",
        *(_SCORE, f"({_SCORE}).softmax(1)"),
    ),
    (
        "U is applied to s as well; the query has its own matrix, W.",
        *("W.T", "U.T"),
    ),
    (
        "W and U are exchanged: W is for the query s, U for the annotations H.",
        *("s @ W.T", "s @ U.T", "H @ U.T", "H @ W.T"),
    ),
    (
        "You add the query of sentence j to POSITION j of every sentence. Make "
        "room for the source axis first: (s @ W.T).unsqueeze(1).",
        *(".unsqueeze(1)", ""),
    ),
    (
        "The align axis is still there: v turns its numbers into one score.",
        *(" @ v", ""),
    ),
    ("Drop the last axis: squeeze(-1).", "@ v", "@ v.unsqueeze(-1)"),
    (NO_GRADIENT, "s @ W.T", "s.detach() @ W.T"),
    ("Yours is [source, batch].", _SCORE, f"({_SCORE}).T"),
    (
        "You summed over the positions; each position keeps its own score.",
        *(_SCORE, f"({_TANH} * v).sum(1)"),
    ),
):
    additive_scores.slip(_hint, *_typed)


@additive_scores.style
def _scores_by_loops(s, H, W, U, v):
    scores = torch.zeros(H.shape[0], H.shape[1])
    for b in range(H.shape[0]):
        for j in range(H.shape[1]):
            scores[b, j] = v @ torch.tanh(W @ s[b] + U @ H[b, j])
    return scores


@additive_scores.style
def _scores_by_einsum(s, H, W, U, v):
    query = torch.einsum("aq,bq->ba", W, s)
    keys = torch.einsum("ak,bsk->sba", U, H)
    return torch.einsum("sba,a->bs", (query + keys).tanh(), v)


@additive_scores.slip("numpy knows no gradients")
def _scores_by_numpy(s, H, W, U, v):
    s, H, W, U, v = (each.double().numpy() for each in (s, H, W, U, v))
    return torch.from_numpy(np.tanh(s[:, None] @ W.T + H @ U.T) @ v)


def masked_softmax_solution(scores, mask):
    """exp(e_j) / Σ_k exp(e_k) over the places where mask is True."""
    none = ~mask.any(dim=-1, keepdim=True)
    hidden = scores.masked_fill(~mask, -torch.inf)
    top = hidden.amax(dim=-1, keepdim=True).masked_fill(none, 0)
    shares = torch.exp(hidden - top)
    return shares / shares.sum(dim=-1, keepdim=True).masked_fill(none, 1)


def _masked_loop(scores, mask):
    """Masked softmax, one row at a time."""
    rows = []
    for energies, allowed in zip(scores.tolist(), mask.tolist(), strict=True):
        kept = [e for e, may in zip(energies, allowed, strict=True) if may]
        total = sum(math.exp(e - max(kept)) for e in kept)  # 0 if none
        rows.append(
            [
                math.exp(e - max(kept)) / total if may else 0.0
                for e, may in zip(energies, allowed, strict=True)
            ]
        )
    return float64(rows)


_LOW = (
    "A masked place got weight beside very low scores: the number that you "
    "use for −infinity is not low enough. Use -torch.inf."
)
_HIGH = (
    "The score that you give to masked places is too high. Beside −20,000 it "
    "takes all the weight, and a mask afterwards leaves too little or nothing. "
    "Use -torch.inf."
)
_OWN = (
    "You subtract the maximum of the whole batch. Beside a row of 1000 every "
    "exp of a row of −1000 is 0, and 0/0 is no weight: each row has its own "
    "maximum, amax(dim=-1, keepdim=True)."
)
_OPEN = (
    "A masked score of 0 beside scores of −1000 spoils the row: as its maximum "
    "it makes every other exp 0, and less a maximum of −1000 its own exp is "
    "infinite. Mask the scores before both, masked_fill(~mask, -torch.inf)."
)
_OVERFLOW = (
    "Scores of 1000 overflow in exp. Subtract the row's maximum first: the "
    "weights stay the same."
)
_ZERO = (
    "Masked scores become 0 in yours, s * mask. Beside a 0 every exp of a row "
    "of −1000 is 0, and nothing is left to divide by. Give masked places the "
    "score −infinity: masked_fill."
)
# Rows of hard scores, whose last place is masked, and what is said if they are
# wrong. Where two mistakes go wrong alike, milder scores, on which the second
# is right, tell them apart. A masked place that has weight is named first.
_HARD = (
    ([[1000.0, 1001.0, 999.0]], None, _OVERFLOW),
    ([[-1000.0, -1001.0, -1002.0]], [[-100.0, -101.0, -102.0]], _ZERO),
    ([[1000.0, 1001.0, 999.0], [-1000.0, -1001.0, -1002.0]], None, _OWN),
    (
        [[-1000.0, -1001.0, 0.0], [1.0, 2.0, 3.0]],
        [[-750.0, -751.0, 0.0]],
        _OPEN,
    ),
    ([[-20000.0, -20001.0, 0.0], [1.0, 2.0, 3.0]], None, _HIGH),
)


_NAN = (
    "A row that is masked everywhere gives NaN (0/0, or −inf minus −inf). "
    "Nothing to look at means no weight: a row of zeros."
)
_SHARED = (
    "A row that is masked everywhere still gets weights: with a finite number "
    "for −infinity softmax gives the padding all of them. Nothing to look at "
    "means a row of zeros."
)


@exercise(masked_softmax_solution)
def masked_softmax(mine):
    """Softmax over the places where mask is True."""
    axes = "[batch, source]"
    e = torch.tensor([[1.0, 2.0, 5.0], [3.0, 1.0, 4.0]]).log() + 0.5
    mask = torch.tensor([[True, True, False], [True, False, True]])
    masked_softmax.compare(mine, [((e, mask), _masked_loop(e, mask))], axes)

    def last_masked(rows):
        scores = torch.tensor(rows)
        mask = torch.tensor([[True, True, False]] * len(rows))
        found = as_tensor(mine(scores, mask), scores.shape, axes)
        if (found[:, 2] > 1e-4).any():
            raise Hint(_LOW)
        by = rounding(scores)
        off = (found - _masked_loop(scores, mask)).abs()
        return bool((off <= by).all())

    for rows, milder, hint in _HARD:
        if not last_masked(rows):
            raise Hint(_HIGH if milder and last_masked(milder) else hint)
    scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    mask = torch.tensor([[False, False], [True, True]])
    found = as_tensor(mine(scores, mask), scores.shape, axes)
    if found[0].isnan().any():
        raise Hint(_NAN)
    if found[0].abs().sum() > 0:
        raise Hint(_SHARED)
    expect(found, _masked_loop(scores, mask))
    return (
        "each row sums to 1 over what may be looked at, masked places are "
        "exactly 0, scores from −20,000 to 1000 are safe, a fully masked row "
        "is zeros."
    )


def _hidden(value, dim=-1):
    """Softmax of the scores in which `value` stands at the masked places."""
    return lambda e, mask: e.masked_fill(~mask, value).softmax(dim)


def _shares(highest):
    """exp(scores − the highest) over its sum, masked after exp."""

    def mine(scores, mask):
        shares = torch.exp(scores - highest(scores)) * mask
        return shares / shares.sum(1, keepdim=True)

    return mine


def _renormalised(weights, least=0.0):
    """weights(scores, mask), over again their sum where mask is True."""

    def mine(scores, mask):
        shares = weights(scores, mask) * mask
        return shares / (shares.sum(1, keepdim=True) + least)

    return mine


def _of_open(scores, mask):
    """The maximum is taken over what is open; exp, of everything."""
    top = scores.masked_fill(~mask, -torch.inf).amax(1, keepdim=True)
    return _shares(lambda scores: top)(scores, mask)


_naive, _of_batch = _shares(lambda e: 0), _shares(torch.max)
for _hint, *_slips in (
    (
        "Your weights sum to 1 over the batch, not over the source axis: "
        "dim=-1, not dim=0.",
        _hidden(-torch.inf, dim=0),
    ),
    (
        "You masked after the softmax: the padding has already taken its "
        "part, so the rows no longer sum to 1. Mask the scores first.",
        lambda e, mask: e.softmax(1) * mask,
    ),
    (
        "You set masked scores to 0, and exp(0) = 1: padding still gets "
        "weight. The score that gets none is −infinity.",
        lambda e, mask: (e * mask).softmax(1),
    ),
    (
        "True and False are swapped: mask is True where the decoder MAY look.",
        lambda e, mask: e.masked_fill(mask, -torch.inf).softmax(1),
    ),
    (
        "The mask is not used: padding gets weight.",
        lambda e, mask: e.softmax(1),
    ),
    (
        "Those are logarithms of weights: softmax, not log_softmax.",
        lambda e, mask: e.masked_fill(~mask, -torch.inf).log_softmax(1),
    ),
    (
        "You divide by the sum over the whole batch; each sentence has its "
        "own sum.",
        lambda e, mask: e.exp() * mask / (e.exp() * mask).sum(),
    ),
    (
        "Those are exp(scores), not yet divided by their sum.",
        lambda e, mask: e.exp() * mask,
    ),
    (
        "exp is missing: you divide the scores by their sum.",
        lambda e, mask: e * mask / (e * mask).sum(1, keepdim=True),
    ),
    (
        _LOW,
        *map(_hidden, (-10.0, -100.0, -10000.0)),
        lambda e, mask: (e + (mask + 1e-45).log()).softmax(1),
        lambda e, mask: (e + -1e4 * ~mask).softmax(1),
    ),
    (
        _HIGH,
        *(
            change
            for low in map(_hidden, (-300.0, -1e3, -1e4))
            for change in (
                lambda e, mask, low=low: low(e, mask) * mask,
                _renormalised(low),
            )
        ),
        lambda e, mask: (e - 1e3 * ~mask).softmax(1) * mask,
        _renormalised(lambda e, mask: (e - 1e4 * ~mask).softmax(1), 1e-13),
    ),
    (
        _ZERO,
        _renormalised(lambda e, mask: (e * mask).softmax(1)),
        _renormalised(lambda e, mask: (e * mask).softmax(1), 1e-13),
    ),
    (
        _OVERFLOW,
        _naive,
        lambda e, mask: _naive(e.clamp(max=50), mask),
        lambda e, mask: _naive(e, mask).nan_to_num(0.0),
    ),
    (_OWN, _of_batch, lambda e, mask: _of_batch(e, mask).nan_to_num(0.0)),
    (
        _OPEN,
        _shares(lambda e: e.amax(1, keepdim=True)),
        _of_open,
        _renormalised(lambda e, mask: e.softmax(1)),
        _renormalised(lambda e, mask: e.softmax(1), 1e-13),
    ),
    (_NAN, _hidden(-torch.inf)),
    (_SHARED, _hidden(-1e9)),
):
    for _wrong in _slips:
        masked_softmax.slip(_hint, _wrong)

masked_softmax.style(lambda e, mask: _hidden(-torch.inf)(e, mask).nan_to_num(0))


@masked_softmax.style
def _row_by_row(scores, mask):
    weights = torch.zeros_like(scores)
    for row, new, may in zip(scores, weights, mask, strict=True):
        if may.any():
            new[may] = row[may].softmax(0)
    return weights


@masked_softmax.style
def _by_logarithms(scores, mask):
    hidden = torch.where(mask, scores.double(), -torch.inf)
    total = hidden.logsumexp(1, keepdim=True)
    return torch.where(mask, (hidden - total).exp(), 0)


@masked_softmax.style
def _by_narrow_logarithms(scores, mask):  # float32 rounds −20000 by 3e-4
    total = scores.masked_fill(~mask, -torch.inf).logsumexp(1, keepdim=True)
    return (scores - total).exp().masked_fill(~mask, 0)


@masked_softmax.style
def _softmax_by_numpy(scores, mask):
    e, may = scores.numpy(), mask.numpy()
    top = np.where(may, e, -1e30).max(axis=1, keepdims=True)
    shares = np.exp(np.where(may, e - top, -np.inf))
    total = shares.sum(axis=1, keepdims=True)
    return torch.from_numpy(shares / np.where(total == 0, 1, total))


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
    return float64(rows)


@exercise(context_solution)
def context(mine):
    """The context: annotations averaged with the weights."""
    cases = []
    # where all sizes are the same, broadcasting hides a wrong axis
    for batch, source, d in ((3, 3, 3), (2, 3, 4), (1, 5, 2)):
        w, H = random_inputs(7, (batch, source), (batch, source, d))
        given = w.softmax(1), H
        cases.append((given, _context_loop(*map(float64, given))))
    context.compare(mine, cases, "[batch, d]")
    return "shape, and equal to a loop over words on three batches."


for _hint, _wrong in {
    "That is the plain mean of the annotations: the weights are not used.": (
        lambda w, H: H.mean(1)
    ),
    "That is the plain sum of the annotations: the weights are not used.": (
        lambda w, H: H.sum(1)
    ),
    "You divide by the number of words as well. The weights sum to 1: their "
    "sum is already a mean.": lambda w, H: (w.unsqueeze(-1) * H).mean(1),
    "You took softmax of the weights again; they are weights already.": (
        lambda w, H: (w.softmax(1).unsqueeze(-1) * H).sum(1)
    ),
    "You took the annotation with the largest weight alone; the soft search "
    "averages all of them.": lambda w, H: H[range(len(H)), w.argmax(1)],
    "Every sentence is averaged with the weights of the first one.": (
        lambda w, H: w[0] @ H
    ),
    "The weights met the wrong axis: give them a last axis, "
    "weights.unsqueeze(-1), so that they run along source.": (
        lambda w, H: (w * H).sum(1)
    ),
    "The weights are transposed: row b holds the weights of sentence b.": (
        lambda w, H: torch.einsum("sb,bsd->bd", w, H)
    ),
    "Weighted, but not summed yet: sum over the source axis.": (
        lambda w, H: w.unsqueeze(-1) * H
    ),
    "You summed over the numbers of each annotation; sum over the source "
    "axis.": lambda w, H: (w.unsqueeze(-1) * H).sum(-1),
    "Drop the middle axis: squeeze(1).": lambda w, H: w.unsqueeze(1) @ H,
    "Each sentence's weights met every sentence's annotations: "
    "weights.unsqueeze(1) @ H keeps them apart.": lambda w, H: w @ H,
    "The batch axis is gone: one context for each sentence.": (
        lambda w, H: (w.unsqueeze(-1) * H).sum((0, 1))
    ),
}.items():
    context.slip(_hint, _wrong)

context.style(lambda w, H: (w[:, None] @ H).squeeze(1))
context.style(lambda w, H: (H.mT @ w[..., None])[..., 0])


@context.style
def _word_by_word(weights, H):
    rows = [
        sum(w * h for w, h in zip(shares, vectors, strict=True))
        for shares, vectors in zip(weights, H, strict=True)
    ]
    return torch.stack(rows)


@context.style
def _context_by_numpy(weights, H):
    mixed = weights.numpy()[:, :, None] * H.numpy().astype("float64")
    return torch.tensor(mixed.sum(axis=1))


def alignment_error_rate_solution(links, sure, possible):
    """AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|)."""
    hits = len(links & sure) + len(links & possible)
    return 1 - hits / (len(links) + len(sure))


@exercise(alignment_error_rate_solution)
def alignment_error_rate(mine):
    """Och and Ney's alignment error rate, from three sets of links."""
    S = {(0, 0), (1, 2), (5, 5), (6, 6)}
    P = S | {(2, 1), (2, 2), (3, 2), (4, 5)}
    A = {(0, 0), (1, 2), (5, 5), (2, 1), (3, 3), (4, 4)}
    cases = [((A, S, P), 0.3), ((S, S, P), 0), ((P, S, P), 0)]
    cases += [(({(9, 9)}, S, P), 1), ((set(), S, P), 1)]
    alignment_error_rate.compare(
        mine, cases, about="for links {0}, sure {1}, possible {2},"
    )
    return "five cases: mixed, perfect twice, all wrong, and no links."


_HITS = "len(links & sure) + len(links & possible)"
_SIZE = "(len(links) + len(sure))"
for _hint, *_typed in (
    (
        "That is the part that is right; the error rate is 1 minus it.",
        *("1 - ", ""),
    ),
    (
        "You divide by |A| + |P|. Missing a possible link is no error: divide "
        "by |A| + |S|.",
        *("+ len(sure)", "+ len(possible)"),
    ),
    (
        "You count hits among the sure links only; a link that is merely "
        "possible is no error either: |A∩S| + |A∩P|.",
        *(_HITS, "2 * len(links & sure)"),
    ),
    (
        "You took the sure links out of P. Every sure link is possible too, "
        "and counts in |A∩S| and in |A∩P|.",
        *("links & possible", "links & (possible - sure)"),
    ),
    (
        "You count hits among the possible links only: |A∩S| + |A∩P|.",
        *(_HITS, "2 * len(links & possible)"),
    ),
    (
        "That is 1 − precision: it never asks which sure links are missing.",
        *(_HITS, "len(links & possible)", _SIZE, "max(1, len(links))"),
    ),
    (
        "That is 1 − recall: it never asks how many links are wrong.",
        *(_HITS, "len(links & sure)", _SIZE, "len(sure)"),
    ),
    (
        "You divide by |A| alone; the definition has |A| + |S|.",
        *(_SIZE, "max(1, len(links))"),
    ),
    (
        "You divide by |S| alone; the definition has |A| + |S|.",
        *(_SIZE, "len(sure)"),
    ),
    (
        "You divide by the union; the definition adds the two sizes, "
        "|A| + |S|.",
        *(_SIZE, "len(links | sure)"),
    ),
    (
        "Those are per cent; give a fraction between 0 and 1.",
        *("1 - hits", "100 - 100 * hits"),
    ),
):
    alignment_error_rate.slip(_hint, *_typed)


@alignment_error_rate.slip(
    "That is 1 − F1, the harmonic mean of precision and recall. AER adds up "
    "the counts first: (|A∩S| + |A∩P|) / (|A| + |S|)."
)
def _harmonic(links, sure, possible):
    precision = len(links & possible) / len(links)
    recall = len(links & sure) / len(sure)
    return 1 - 2 * precision * recall / (precision + recall)


for _kind in (Fraction, Decimal, torch.tensor):
    alignment_error_rate.style(
        lambda A, S, P, kind=_kind: (
            1 - kind(sum((a in S) + (a in P) for a in A)) / (len(A) + len(S))
        )
    )


def without_tanh_solution(S, H, W, U, v):
    """softmax_j of v · (W s_i + U h_j), a row for each query s_i."""
    scores = (S @ W.T).unsqueeze(1) + (H @ U.T).unsqueeze(0)
    return torch.softmax(scores @ v, dim=-1)


@exercise(without_tanh_solution)
def without_tanh(mine):
    """Weights of several queries on one sentence, with tanh removed."""
    given = random_inputs(5, (4, 3), (6, 5), (7, 3), (7, 5), (7,))
    S, H, W, U, v = map(float64, given)
    alone = float64([math.exp(v @ (U @ h)) for h in H])
    truth = (alone / alone.sum()).expand(4, 6)
    without_tanh.compare(mine, [(given, truth)], "[target, source]")
    scores = torch.tanh((S @ W.T)[:, None] + (H @ U.T)[None]) @ v
    with_tanh = scores.softmax(1)
    spread = (with_tanh.amax(0) - with_tanh.amin(0)).max().item()
    return (
        "the four queries differ and their weights do not. With tanh the "
        f"same weights differ by up to {spread:.2f} from query to query."
    )


_WEIGHTS = "torch.softmax(scores @ v, dim=-1)"
for _hint, *_typed in (
    (
        "tanh is still there, and your rows differ. Take it out: "
        "v · (W s + U h).",
        *("scores @ v", "torch.tanh(scores) @ v"),
    ),
    (
        "tanh has moved outside, around the score. It is still not "
        "linear, and the rows differ. Take it out.",
        *("scores @ v", "torch.tanh(scores @ v)"),
    ),
    (
        "tanh is still around U h: take it out there as well.",
        *("(H @ U.T)", "torch.tanh(H @ U.T)"),
    ),
    (
        "Those are scores. Take softmax over the source axis and compare the "
        "rows then.",
        *(_WEIGHTS, "scores @ v"),
    ),
    (
        "Your softmax runs over the queries (dim=0); the weights of one query "
        "sum to 1 over the source: dim=-1.",
        *("dim=-1", "dim=0"),
    ),
    (
        "You multiply W s with U h. Then they do act on each other; the "
        "additive score adds them.",
        *("+ (H", "* (H"),
    ),
    (
        "All your weights are 1/6: the annotations are not in the score.",
        *("(H @ U.T)", "0 * (H @ U.T)"),
    ),
    (
        "One row for each of the four queries, please: that they come out "
        "alike is what you want to see.",
        lambda S, H, W, U, v: (H @ U.T @ v).softmax(0),
    ),
    ("Yours is [source, target].", _WEIGHTS, f"{_WEIGHTS}.T"),
    (
        "v has still to turn the align axis into one score.",
        *(_WEIGHTS, "scores"),
    ),
):
    without_tanh.slip(_hint, *_typed)


@without_tanh.style
def _weights_by_loops(S, H, W, U, v):
    rows = [[v @ (W @ s + U @ h) for h in H] for s in S]
    return torch.tensor(rows).softmax(1)


@without_tanh.style
def _weights_once(S, H, W, U, v):
    """What the exercise wants to show: the query cancels."""
    weights = np.exp((H @ U.T @ v).double().numpy())
    return torch.from_numpy(weights / weights.sum()).expand(len(S), -1)


def strings(count, seed):
    """Random strings of 5 to 10 letters, and the same backwards.

    source [count, 11] and target [count, 12] hold the letters a to z as the
    numbers 4 to 29. Both end in <end>, 3, and are padded with 0; the target
    begins with <start>, 2.
    """
    draw = torch.Generator().manual_seed(seed)
    length = torch.randint(5, 11, (count, 1), generator=draw)
    letters = torch.randint(4, 30, (count, 11), generator=draw)
    place = torch.arange(11)
    ends = END * (place == length)
    source = letters.where(place < length, ends)
    backwards = letters.gather(1, (length - 1 - place).clamp_min(0))
    target = backwards.where(place < length, ends)
    return source, F.pad(target, (1, 0), value=START)


class SoftSearch(nn.Module):
    """RNNsearch: annotations, additive attention before each word, a GRU."""

    def __init__(self, vocab, embed, hidden):
        super().__init__()
        self.source_embedding = nn.Embedding(vocab, embed)
        self.target_embedding = nn.Embedding(vocab, embed)
        self.encoder = nn.GRU(
            embed, hidden, batch_first=True, bidirectional=True
        )
        self.W = nn.Linear(hidden, hidden, bias=False)
        self.U = nn.Linear(2 * hidden, hidden)
        self.v = nn.Parameter(torch.zeros(hidden))
        self.bridge = nn.Linear(hidden, hidden)
        self.decoder = nn.GRUCell(embed + 2 * hidden, hidden)
        self.maxout = nn.Linear(hidden + embed + 2 * hidden, 2 * hidden)
        self.output = nn.Linear(hidden, vocab)

    def look(self, s, h, keys, mask):
        """c_i = Σ_j α_ij h_j with α = softmax(v · tanh(W s + U h)); and α."""
        e = torch.tanh(self.W(s).unsqueeze(1) + keys) @ self.v
        weights = e.masked_fill(~mask, -torch.inf).softmax(dim=-1)
        return torch.einsum("bs,bsd->bd", weights, h), weights

    def forward(self, source, target):
        mask = source != PAD
        h = annotate(self.encoder, self.source_embedding(source), mask)
        keys = self.U(h)
        s = torch.tanh(self.bridge(h[:, 0].chunk(2, dim=-1)[1]))  # ←h_1
        logits, looks = [], []
        for y in self.target_embedding(target).unbind(dim=1):
            c, weights = self.look(s, h, keys, mask)
            s = self.decoder(torch.cat([y, c], dim=-1), s)
            t = self.maxout(torch.cat([s, y, c], dim=-1))
            t = t.unflatten(-1, (-1, 2)).amax(dim=-1)
            logits.append(self.output(t))
            looks.append(weights)
        return torch.stack(logits, dim=1), torch.stack(looks, dim=1)


def train_search(model, steps=600):
    """Teach the model to write strings backwards; new strings each step."""
    adam = torch.optim.Adam(model.parameters())
    bar = tqdm(range(steps))
    for step in bar:
        adam.param_groups[0]["lr"] = 1e-3 * (1 - step / steps)
        source, target = strings(64, seed=step)
        logits, _ = model(source, target[:, :-1])
        loss = F.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD
        )
        adam.zero_grad()
        loss.backward()
        adam.step()
        bar.set_postfix(loss=f"{loss.item():.3f}")


_TWO = "Give back two tensors, logits and weights"
_BATCH_FIRST = "Stack along dim=1, after the batch."
_WORDS_LAST = "Stack along dim=1, not after the words."
_ALL_LOGITS = "Collect the logits of every target word."
_TRANSPOSED = "A row belongs to a target word: transpose."
_ALL_WEIGHTS = "Collect the weights of every target word."
_NOTHING_TO_LOOK_AT = (
    "NaN: somewhere every place is masked, and its softmax is 0/0. Is the "
    "mask the right way round? True = may be looked at, so "
    "masked_fill(~mask, -torch.inf)."
)


def _two(result, sizes):
    """Logits and weights in float64, or the hint that they are not that."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        yours = f"yours is of type {type(result).__name__}"
        if isinstance(result, (tuple, list)):
            yours = f"you gave {len(result)}"
        raise Hint(f"{_TWO}; {yours}.")
    batch, target, vocab, source = sizes
    known = {
        (target, batch, vocab): _BATCH_FIRST,
        (batch, vocab, target): _WORDS_LAST,
        (batch, vocab): _ALL_LOGITS,
    }
    axes = "[batch, target, vocab]"
    logits = as_tensor(result[0], (batch, target, vocab), axes, known)
    known = {
        (target, batch, source): _BATCH_FIRST,
        (batch, source, target): _TRANSPOSED,
        (batch, source): _ALL_WEIGHTS,
    }
    axes = "[batch, target, source]"
    return logits, as_tensor(result[1], (batch, target, source), axes, known)


_FAR_SEED = 7  # the book's model with it has scores of ±1,000,000


@functools.cache
def _book_search(seed, vocab, embed, hidden):
    """The book's RNNsearch with random numbers in every parameter."""
    config = RNNsearchConfig(
        vocab, vocab, embed, hidden, hidden, hidden, dropout=0.0
    )
    with torch.random.fork_rng(devices=[]):
        book = RNNsearch(config).double()
    shapes = [tensor.shape for tensor in book.parameters()]
    drawn = random_inputs(seed, *shapes)
    for own, numbers in zip(book.parameters(), drawn, strict=True):
        own.data.copy_(0.7 * numbers)
    if seed == _FAR_SEED:
        book.attention.v.data *= 1e6
    return book


def _by_name(book):
    """The tensors of each part of the book's model, flat, for `fill`."""
    parts = dict(book.named_children())
    parts |= parts.pop("attention").named_children()
    parts |= parts.pop("readout").named_children()
    del parts["dropout"]
    named = {name: [*part.parameters()] for name, part in parts.items()}
    return named | {"v": [book.attention.v]}


_ASKED = (
    torch.tensor([[4, 5, 6, 3], [6, 4, 3, 0], [5, 3, 0, 0]]),
    torch.tensor([[2, 6, 5, 4], [2, 4, 6, 0], [2, 5, 0, 0]]),
)


@torch.no_grad()
def _by_the_book(seed, sizes):
    """Logits and weights of the book's model, stepped word by word."""
    book, (source, target) = _book_search(seed, *sizes), _ASKED
    memory = book.encode(source)
    state, looks = book.start(memory), []
    for token in target.unbind(1):
        _, state, weights = book.step(token, state, memory)
        looks.append(weights)
    return book(source, target), torch.stack(looks, 1)


@torch.no_grad()
def _by_the_reader(mine, seed, sizes):
    """Logits and weights of the reader's model with the book's numbers."""
    module = as_module(mine, *sizes)
    fill(module, _by_name(_book_search(seed, *sizes)))
    speak = Answer(module.forward, ["source", "target"])
    found = _two(speak(*_ASKED), (3, 4, sizes[0], 4))
    if any(each.isnan().any() for each in found):
        raise Hint(_NOTHING_TO_LOOK_AT)
    return found


@exercise(SoftSearch)
def soft_search(mine):
    """The reader's RNNsearch against the book's, with the same weights."""
    given = [*enumerate(((7, 4, 6), (9, 6, 4)))]
    truth = [_by_the_book(*each) for each in given]
    for i, what in ((1, "in the weights,"), (0, "in the logits,")):
        soft_search.compare(
            mine,
            [(each, both[i]) for each, both in zip(given, truth, strict=True)],
            about=what,
            ask=lambda answer, *each, i=i: _by_the_reader(answer, *each)[i],
        )
    far = _FAR_SEED, given[0][1]
    expect(_by_the_reader(mine, *far)[1], _by_the_book(*far)[1], _LOW, 1e-3)
    source, target = _ASKED
    parts = _by_name(_book_search(given[0][0], *given[0][1]))
    learnable_module(mine, given[0][1], parts, source=source, target=target)
    return (
        "weights and logits are those of the book's RNNsearch, word by word, "
        "with the same numbers in both models, on sentences with padding."
    )


_ANNOTATED = "annotate(self.encoder, self.source_embedding(source), mask)"
_LOOK = "c, weights = self.look(s, h, keys, mask)"
_STEP = "s = self.decoder(torch.cat([y, c], dim=-1), s)"
_SOFTMAX = "e.masked_fill(~mask, -torch.inf).softmax(dim=-1)"
_START = "(h[:, 0].chunk(2, dim=-1)[1])"
_READ = "t = self.maxout(torch.cat([s, y, c], dim=-1))"
_PAIRS = "t.unflatten(-1, (-1, 2)).amax(dim=-1)"
_LOGITS, _LOOKS = "torch.stack(logits, dim=1)", "torch.stack(looks, dim=1)"
for _hint, *_typed in (
    (
        "The backward encoder begins in the padding. It must begin at each "
        "sentence's own end: annotate of this chapter sees to that.",
        *(_ANNOTATED, "self.encoder(self.source_embedding(source))[0]"),
    ),
    (
        "The padding gets weight: give its energies −infinity before softmax.",
        *(_SOFTMAX, "e.softmax(dim=-1)"),
    ),
    (
        "Your mask is inverted: padding is looked at, and the words are not.",
        *("~mask, -torch.inf", "mask, -1e9"),
    ),
    (_NOTHING_TO_LOOK_AT, "~mask", "mask"),
    (
        "Softmax runs over the sentences of the batch. It belongs over the "
        "source words, dim=-1.",
        *("softmax(dim=-1)", "softmax(dim=0)"),
    ),
    (
        "tanh is missing in your energies: v · tanh(W s + U h).",
        *("torch.tanh(self.W(s)", "(self.W(s)"),
    ),
    (
        "You look with the state after the GRU, as Luong did. Here s_{i−1} "
        "asks, before the GRU has read y_{i−1}.",
        _LOOK,
        f"{_LOOK}; after = self.decoder(torch.cat([y, c], dim=-1), s); "
        + _LOOK.replace("(s", "(after"),
    ),
    (
        "You look after the GRU, with s_i, and the GRU is fed the context of "
        "the word before. Look first: s_{i−1} asks, and the GRU reads c_i.",
        *(
            _LOOK,
            "c = c if logits else 0 * h[:, 0]",
            _STEP,
            f"{_STEP}; {_LOOK}",
        ),
    ),
    (
        "You look twice. The c_i that s_{i−1} found, before the GRU, goes into "
        "the readout too, and its weights are wanted.",
        *(_STEP, f"{_STEP}; {_LOOK}"),
    ),
    (
        "s_0 comes from the forward encoder's last state; the paper takes the "
        "backward one at word 1.",
        *(_START, "(h[range(len(h)), mask.sum(1) - 1].chunk(2, dim=-1)[0])"),
    ),
    (
        "s_0 comes from the forward encoder at the last place, which is "
        "padding in a short sentence. Take the backward encoder, at word 1.",
        *(_START, "(h[:, -1].chunk(2, dim=-1)[0])"),
    ),
    (
        "s_0 comes from a forward encoder that has run on into the padding. "
        "Take the backward one, at word 1.",
        *(_START, "(self.encoder(self.source_embedding(source))[1][0])"),
    ),
    (
        "s_0 comes from the first half of h_1, the forward encoder. Take the "
        "second half: the backward encoder has seen the whole sentence there.",
        *(_START, "(h[:, 0].chunk(2, dim=-1)[0])"),
    ),
    (
        "s_0 comes from the backward encoder at the last place, where it has "
        "only begun. Take word 1.",
        *(_START, "(h[:, -1].chunk(2, dim=-1)[1])"),
    ),
    (
        "Your decoder starts from zeros: s_0 = tanh(W_s ←h_1), and W_s is "
        "`bridge`.",
        *(f"self.bridge{_START}", f"0 * self.bridge{_START}"),
    ),
    (
        "tanh is missing around the bridge: s_0 = tanh(W_s ←h_1).",
        *(f"torch.tanh(self.bridge{_START})", f"self.bridge{_START}"),
    ),
    ("The GRU is fed [c; y]; it should be [y; c].", "[y, c]", "[c, y]"),
    *(
        (
            f"The readout is given [{'; '.join(order)}]; it should be "
            "[s; y; c].",
            *("[s, y, c]", f"[{', '.join(order)}]"),
        )
        for order in ("ysc", "scy", "ycs", "csy", "cys")
    ),
    (
        "Those are probabilities. Logits come before the softmax, which the "
        "loss brings along.",
        *("self.output(t)", "self.output(t).softmax(dim=-1)"),
    ),
    (
        "Those are logarithms of probabilities. Logits come before the "
        "softmax, which the loss brings along.",
        *("self.output(t)", "self.output(t).log_softmax(dim=-1)"),
    ),
    (
        "The readout sees s_{i−1}; give it s_i, which the GRU has just made.",
        *(_READ, "", _STEP, f"{_READ}; {_STEP}"),
    ),
    (
        "Maxout takes the larger of two NEIGHBOURS, numbers 0 and 1, then 2 "
        "and 3; you compared the first half with the second.",
        *(_PAIRS, "t.unflatten(-1, (2, -1)).amax(dim=-2)"),
    ),
    (
        "You took the mean of each pair; maxout takes the larger one.",
        *(".amax(dim=-1)", ".mean(dim=-1)"),
    ),
    (
        "You used ReLU; maxout takes the larger of each pair of neighbours.",
        *(_PAIRS, "t[..., ::2].relu()"),
    ),
    *((_LOW, "-torch.inf", low) for low in ("-10.0", "-20.0", "-1e4")),
    (NO_GRADIENT, "self.W(s)", "self.W(s).detach()"),
    (OTHER_GRADIENT, "c], dim=-1), s)", "c], dim=-1), s.detach())"),
    (_TWO, f", {_LOOKS}", ""),
    (_BATCH_FIRST, ", dim=1", ""),
    (_BATCH_FIRST, _LOOKS, "torch.stack(looks)"),
    (_WORDS_LAST, _LOGITS, "torch.stack(logits, dim=-1)"),
    (_ALL_LOGITS, _LOGITS, "logits[-1]"),
    (_TRANSPOSED, _LOOKS, "torch.stack(looks, dim=-1)"),
    (_ALL_WEIGHTS, _LOOKS, "weights"),
):
    soft_search.slip(_hint, *_typed)


@soft_search.style
def _search_by_loops(vocab, embed, hidden):
    """One source word and one sentence after another."""

    class Slow(SoftSearch):
        def look(self, s, h, keys, mask):
            contexts, shares = [], []
            for b in range(len(h)):
                real = int(mask[b].sum())
                e = [
                    self.v @ torch.tanh(self.W(s[b]) + self.U(h[b, j]))
                    for j in range(real)
                ]
                share = torch.stack(e).softmax(0)
                contexts.append(sum(share[j] * h[b, j] for j in range(real)))
                shares.append(F.pad(share, (0, h.shape[1] - real)))
            return torch.stack(contexts), torch.stack(shares)

    return Slow(vocab, embed, hidden)


@soft_search.style
def _search_in_one_piece(vocab, embed, hidden):
    class Flat(SoftSearch):
        def forward(self, source, target):
            mask = source != 0
            h = annotate(self.encoder, self.source_embedding(source), mask)
            s = self.bridge(h[:, 0, h.shape[-1] // 2 :]).tanh()
            words, both = self.target_embedding(target), []
            for i in range(target.shape[1]):
                e = (self.W(s)[:, None] + self.U(h)).tanh().matmul(self.v)
                e[~mask] = -torch.inf
                a = e.softmax(1)
                c = (a[..., None] * h).sum(1)
                s = self.decoder(torch.cat((words[:, i], c), 1), s)
                t = self.maxout(torch.cat((s, words[:, i], c), 1))
                t = torch.maximum(t[:, ::2], t[:, 1::2])
                both.append((self.output(t), a))
            logits, looks = zip(*both, strict=True)
            return torch.stack(logits, 1), torch.stack(looks, 1)

    return Flat(vocab, embed, hidden)


UNSEEN = 2**40  # a seed that no training step has
WANTED = 0.9  # the share of new strings that must come out without a mistake


_GIVES_NAN = (
    "Your model gives NaN. Look whether the loss becomes NaN in training, and "
    "whether a softmax has nothing to look at."
)
_PEEKING = (
    "The decoder sees the words that it must still say: change them, and what "
    "it says before them changes. In training it had only to copy. Is the "
    "causal mask there, and the right way round?"
)
_REPEATING = (
    "Your model repeats the word that it has just been given. Shift: "
    "target[:, :-1] goes in, target[:, 1:] must come out."
)
_ALIKE = (
    "Your model writes the same, whatever the string: it is untrained, or "
    "nothing of the source reaches the decoder. Call zero_grad, backward and "
    "step in every round, and give the optimiser this model's parameters."
)
_FORWARDS = (
    "Your model copies the string forwards. Train it on the target that "
    "strings gives."
)
_UNENDING = (
    "The letters are right, and then it does not stop: <end> is a word that "
    "the loss must count. Only padding, 0, is left out."
)
_UNORDERED = (
    "Your model does not notice in which order the letters stand: positions "
    "are missing on the source side."
)
_UNTAUGHT = (
    "Does the loss still fall? Train for longer, or with another learning "
    "rate; 0.001 with Adam is a good start."
)


def written_backwards(speak):
    """How many new strings a trained model reverses without a mistake.

    `speak` gives logits for (source, target so far). Raises the hint of what
    went wrong if the share is below WANTED.
    """
    source, target = strings(200, UNSEEN)
    written = target[:, :1]
    for _ in range(target.shape[1] - 1):
        word = speak(source, written)[:, -1:].argmax(-1)
        written = torch.cat([written, word], dim=1)
    padding = target == PAD
    share = ((written == target) | padding).all(1).double().mean().item()
    if share < WANTED:
        _say_what_is_wrong(speak, source, target, written)
        letters, said = (
            "".join(chr(n + 93) if n > END else end for n in row)
            for row, end in ((source[0], ""), (written[0, 1:], "·"))
        )
        raise Hint(
            f"{share:.0%} of 200 new strings come out without a mistake, and "
            f"{WANTED:.0%} should. {letters} became {said}. {_UNTAUGHT}"
        )
    return share


def _say_what_is_wrong(speak, source, target, written):
    """Raise the hint that fits what the model wrote, if there is one."""
    told = speak(source, target[:, :-1])
    if told.isnan().any():
        raise Hint(_GIVES_NAN)
    later = target.clone()
    later[:, 6:] = 4
    if not torch.allclose(told[:, :6], speak(source, later[:, :-1])[:, :6]):
        raise Hint(_PEEKING)
    words = (target > END)[:, 1:-1]
    length = words.sum(1, keepdim=True)
    place = torch.arange(words.shape[1])

    def share(right):
        return right[words].double().mean().item()

    if share((told.argmax(-1) == target[:, :-1])[:, 1:]) > 0.5:
        raise Hint(_REPEATING)
    if (written == written[:1]).all():
        raise Hint(_ALIKE)
    if share(written[:, 1:-1] == source[:, :-1]) > 0.5:
        raise Hint(_FORWARDS)
    if share(written[:, 1:-1] == target[:, 1:-1]) > 0.9:
        raise Hint(_UNENDING)
    mirrored = source.gather(1, (length - 1 - place).clamp_min(0))
    mirrored = F.pad(mirrored, (0, 1)).where(F.pad(words, (0, 1)), source)
    if torch.allclose(told, speak(mirrored, target[:, :-1]), atol=1e-4):
        raise Hint(_UNORDERED)


def _rule(source, target):
    """Logits and weights of a model that knows the rule by heart."""
    length = (source > END).sum(1, keepdim=True)
    at = length - 1 - torch.arange(target.shape[1])
    at = at.where(at >= 0, length)  # <end>, when all letters are written
    weights = F.one_hot(at, source.shape[1]).to(torch.get_default_dtype())
    return 9 * F.one_hot(source.gather(1, at), 30).to(weights), weights


def looks_backwards_solution(source, target):
    """What a perfectly trained model would say, and where it would look."""
    return _rule(source, target)


_UNNORMALISED = (
    "But your weights do not sum to 1 over the source words: give back what "
    "softmax gave, and not the energies."
)
_ON_PADDING = "But padding gets weight: mask it."
_SHIFTED = (
    "The strings are right, and your rows come a word {}: row i must hold the "
    "weights that made the context for word i."
)
_BESIDE = (
    "A model may also look beside its letter, whose neighbours know of it: "
    "train a fresh one with a smaller learning rate, 0.001 with Adam."
)


@exercise(looks_backwards_solution)
def looks_backwards(mine):
    """A trained RNNsearch that reverses strings along the anti-diagonal."""

    def both(source, target):
        sizes = (*target.shape, 30, source.shape[1])
        with torch.no_grad():
            return _two(mine(source, target), sizes)

    share = written_backwards(lambda *given: both(*given)[0])
    source, target = strings(200, UNSEEN)
    weights = both(source, target[:, :-1])[1]
    words = target[:, 1:] > END
    if not torch.allclose(weights.sum(-1), float64(1.0), atol=1e-4):
        raise Hint(f"The strings are right. {_UNNORMALISED}")
    if weights.masked_select((source == PAD).unsqueeze(1)).max() > 1e-6:
        raise Hint(f"The strings are right. {_ON_PADDING}")
    best = weights.argmax(-1)
    anti = words.sum(1, keepdim=True) - 1 - torch.arange(words.shape[1])

    def along(places):
        return (best == places)[words].double().mean().item()

    for by, when in ((1, "late"), (-1, "early")):
        if along(anti + by) > 0.7:
            raise Hint(_SHIFTED.format(when))
    if along(anti) < WANTED:
        raise Hint(
            "The strings are right, but the largest weight lies on the letter "
            f"to be written for only {along(anti):.0%} of the letters, and "
            f"{WANTED:.0%} are wanted. {_BESIDE}"
        )
    return (
        f"{share:.0%} of 200 new strings reversed without a mistake, and "
        f"{along(anti):.0%} of the letters written where the largest weight "
        "lies on the anti-diagonal."
    )


def _ruled(change):
    """A model that knows the rule, its logits z and weights a changed."""
    return lambda source, target: change(*_rule(source, target), source, target)


def _saying(letters):
    return 9.0 * F.one_hot(letters, 30)


for _hint, _change in (
    (_UNTAUGHT, lambda z, a, x, y: (z.flip(0), a)),
    (_GIVES_NAN, lambda z, a, x, y: (z * torch.nan, a)),
    (_PEEKING, lambda z, a, x, y: (_saying(F.pad(y[:, 1:], (0, 1))), a)),
    (_REPEATING, lambda z, a, x, y: (_saying(y), a)),
    (_ALIKE, lambda z, a, x, y: (z * 0, a)),
    (
        _FORWARDS,
        lambda z, a, x, y: (_saying(F.pad(x, (0, 1))[:, : y.shape[1]]), a),
    ),
    (
        _UNENDING,
        lambda z, a, x, y: (z.index_fill(2, torch.tensor([END]), -9.0), a),
    ),
    (
        _UNORDERED,
        lambda z, a, x, y: (_saying(x.amax(1, keepdim=True).expand_as(y)), a),
    ),
    (_UNNORMALISED, lambda z, a, x, y: (z, a * 2)),
    (_ON_PADDING, lambda z, a, x, y: (z, a * 0 + 1 / 11)),
    (_SHIFTED.format("late"), lambda z, a, x, y: (z, a.roll(1, 1))),
    (_SHIFTED.format("early"), lambda z, a, x, y: (z, a.roll(-1, 1))),
    (
        _BESIDE,
        lambda z, a, x, y: (z, F.one_hot(0 * y, x.shape[1]).to(a)),
    ),
    (_TWO, lambda z, a, x, y: z),
    (f"{_TWO}; you gave 3.", lambda z, a, x, y: (z, a, 3)),
    (_TRANSPOSED, lambda z, a, x, y: (z, a.mT)),
):
    looks_backwards.slip(_hint, _ruled(_change))


@looks_backwards.style
@_ruled
def _soft(z, a, source, target):
    real = (source != PAD).unsqueeze(1)
    return z, 0.6 * a + 0.4 * real / real.sum(-1, keepdim=True)
