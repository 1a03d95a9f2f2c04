"""The exercises of `rnnsearch`: each check beside its reference solution.

What is right comes from plain loops over sentences, positions and links, never
from the solution.
"""

import math

import torch

from lookback.exercises.checking import (
    Hint,
    as_number,
    as_numbers,
    as_tensor,
    exercise,
    expect,
    float64,
    random_inputs,
)

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


@exercise(context_by_hand_solution, by_hand=True)
def context_by_hand(answer):
    """Softmax of three energies and the context; the answer is c."""
    known = {
        3: "Three numbers are the weights. The context has as many as an "
        "annotation, two: Σ α_j h_j."
    }
    found = as_numbers(answer, 2, "the two numbers of c", known)
    e, H = map(float64, (_ENERGIES, _ANNOTATIONS))
    slips = {
        "Your weights are exp(e), not yet divided by their sum: three "
        "weights must sum to 1.": e.exp(),
        "Your weights are e / Σ e, without exp. Exponentiate first, "
        "then divide; even the energy 0 then gets a share.": e / e.sum(),
        "All three annotations weigh the same in your context: that is "
        "their plain mean, and the energies are not used.": [1 / 3] * 3,
        "You raised 2 to the energies; softmax takes e = 2.718….": (
            2**e / (2**e).sum()
        ),
        "That is the annotation with the highest energy alone: a hard "
        "choice. The soft search takes a little of each.": [1, 0, 0],
        "You multiplied the annotations by the energies themselves; "
        "softmax comes between.": e,
        "Your weights run backwards, the lowest energy gets the most: "
        "exp(e), not exp(−e).": torch.softmax(-e, 0),
        "The weights are right, but you divided by three as well. They "
        "sum to 1: the sum is already a mean.": torch.softmax(e, 0) / 3,
    }
    mistakes = {hint: float64(weights) @ H for hint, weights in slips.items()}
    mistakes |= {
        "The energy 0 has a share, too: e⁰ is 1, not 0.": (
            e[:2].softmax(0) @ H[:2]
        ),
        "Nearly: you rounded the weights to two decimals before you used "
        "them. Keep three, and round c at the end.": [2.74, -0.26],
        "The two numbers are exchanged.": [-0.236, 2.725],
    }
    truth = [2.725, -0.236]
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


@exercise(additive_scores_solution)
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
        s, H, W, U, v = exact = [*map(float64, given)]
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
        total = sum(math.exp(e - max(kept)) for e in kept)
        rows.append(
            [
                math.exp(e - max(kept)) / total if may else 0.0
                for e, may in zip(energies, allowed, strict=True)
            ]
        )
    return float64(rows)


def _masked_gone_wrong(e, mask):
    """What each likely mistake in a masked softmax gives, by its hint."""
    plain = e.softmax(1)
    return {
        "Your weights sum to 1 over the batch, not over the source axis: "
        "dim=-1, not dim=0.": e.masked_fill(~mask, -torch.inf).softmax(0),
        "You masked after the softmax: the padding has already taken its "
        "share, so the rows no longer sum to 1. Mask the scores first.": (
            plain * mask
        ),
        "You set masked scores to 0, and exp(0) = 1: padding still gets "
        "weight. The score that gets none is −infinity.": (
            (e * mask).softmax(1)
        ),
        "True and False are swapped: mask is True where the decoder MAY "
        "look.": e.masked_fill(mask, -torch.inf).softmax(1),
        "The mask is not used: padding gets weight.": plain,
        "Those are logarithms of weights: softmax, not log_softmax.": (
            e.masked_fill(~mask, -torch.inf).log_softmax(1)
        ),
        "You divide by the sum over the whole batch; each sentence has its "
        "own sum.": (e.exp() * mask / (e.exp() * mask).sum()),
        "Those are exp(scores), not yet divided by their sum.": e.exp() * mask,
        "exp is missing: you divide the scores by their sum.": (
            e * mask / (e * mask).sum(1, keepdim=True)
        ),
    }


_LOW = (
    "A masked place got weight beside very low scores: the number that you "
    "use for −infinity is not low enough. Use -torch.inf."
)
_OWN = (
    "You subtract the maximum of the whole batch. Beside a row of 1000 every "
    "exp of a row of −1000 is 0, and 0/0 is no weight: each row has its own "
    "maximum, amax(dim=-1, keepdim=True)."
)
_OPEN = (
    "With scores near −1000 every exp is 0, and 0/0 is no weight. Subtract "
    "the maximum first, taken over the places that may be looked at."
)
_OVERFLOW = (
    "Scores of 1000 overflow in exp. Subtract the row's maximum first: the "
    "weights stay the same."
)
# Rows of hard scores, and what is said of each row that is wrong; the last
# place is masked. A masked place that has weight is named first.
_HARD = (
    ([[1000.0, 1001.0, 999.0], [-1000.0, -1001.0, -1002.0]], (_OVERFLOW, _OWN)),
    ([[-1000.0, -1001.0, 0.0], [1.0, 2.0, 3.0]], (_OPEN, _OPEN)),
    ([[-20000.0, -20001.0, 0.0], [1.0, 2.0, 3.0]], (_OPEN, _OPEN)),
)


@exercise(masked_softmax_solution)
def masked_softmax(mine):
    """Softmax over the places where mask is True."""
    e = torch.tensor([[1.0, 2.0, 5.0], [3.0, 1.0, 4.0]]).log() + 0.5
    mask = torch.tensor([[True, True, False], [True, False, True]])
    axes = "[batch, source]"
    found = as_tensor(mine(e, mask), e.shape, axes)
    e = e.double()
    expect(found, _masked_loop(e, mask), _masked_gone_wrong(e, mask))
    for rows, hints in _HARD:
        scores, mask = (
            torch.tensor(rows),
            torch.tensor([[True, True, False]] * 2),
        )
        found = as_tensor(mine(scores, mask), scores.shape, axes)
        if (found[:, 2] > 1e-4).any():
            raise Hint(_LOW)
        truth = _masked_loop(scores, mask)
        for row, right, hint in zip(found, truth, hints, strict=True):
            expect(row, right, {}, otherwise=hint)
    scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    mask = torch.tensor([[False, False], [True, True]])
    found = as_tensor(mine(scores, mask), scores.shape, axes)
    if found[0].isnan().any():
        raise Hint(
            "A row that is masked everywhere gives NaN (0/0, or −inf minus "
            "−inf). Nothing to look at means no weight: a row of zeros."
        )
    if found[0].abs().sum() > 0:
        raise Hint(
            "A row that is masked everywhere still gets weights: with a "
            "finite number for −infinity softmax shares 1 among the padding. "
            "Nothing to look at means a row of zeros."
        )
    expect(found[1:], _masked_loop(scores[1:], mask[1:]), {})
    return (
        "each row sums to 1 over what may be looked at, masked places are "
        "exactly 0, scores of ±1000 are safe, a fully masked row is zeros."
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
    return float64(rows)


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


@exercise(context_solution)
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
        w, H = map(float64, (w, H))
        expect(found, _context_loop(w, H), _context_gone_wrong(w, H))
    return "shape, and equal to a loop over words on three batches."


def alignment_error_rate_solution(links, sure, possible):
    """AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|)."""
    hits = len(links & sure) + len(links & possible)
    return 1 - hits / (len(links) + len(sure))


def _error_gone_wrong(A, S, P):
    """What each likely mistake in the error rate gives, by its hint."""
    in_sure = sum(link in S for link in A)
    in_possible = sum(link in P for link in A)
    both, size = in_sure + in_possible, len(A) + len(S)
    precision, recall = in_possible / len(A), in_sure / len(S)
    return {
        "That is the share that is right; the error rate is 1 minus it.": (
            both / size
        ),
        "You divide by |A| + |P|. Missing a possible link is no error: "
        "divide by |A| + |S|.": 1 - both / (len(A) + len(P)),
        "You count hits among the sure links only; a link that is merely "
        "possible is no error either: |A∩S| + |A∩P|.": 1 - 2 * in_sure / size,
        "You took the sure links out of P. Every sure link is possible too, "
        "and counts in |A∩S| and in |A∩P|.": 1
        - (in_sure + sum(link in P and link not in S for link in A)) / size,
        "You count hits among the possible links only: |A∩S| + |A∩P|.": (
            1 - 2 * in_possible / size
        ),
        "That is 1 − precision: it never asks which sure links are missing.": 1
        - precision,
        "That is 1 − recall: it never asks how many links are wrong.": (
            1 - recall
        ),
        "That is 1 − F1, the harmonic mean of precision and recall. AER "
        "adds up the counts first: (|A∩S| + |A∩P|) / (|A| + |S|).": (
            1 - 2 * precision * recall / (precision + recall)
        ),
        "You divide by |A| alone; the definition has |A| + |S|.": (
            1 - both / len(A)
        ),
        "You divide by |S| alone; the definition has |A| + |S|.": (
            1 - both / len(S)
        ),
        "You divide by the union; the definition adds the two sizes, "
        "|A| + |S|.": 1 - both / len(set(A) | set(S)),
        "Those are per cent; give a fraction between 0 and 1.": (
            100 - 100 * both / size
        ),
    }


@exercise(alignment_error_rate_solution)
def alignment_error_rate(mine):
    """Och and Ney's alignment error rate, from three sets of links."""
    S = {(0, 0), (1, 2), (5, 5), (6, 6)}
    P = S | {(2, 1), (2, 2), (3, 2), (4, 5)}
    A = {(0, 0), (1, 2), (5, 5), (2, 1), (3, 3), (4, 4)}
    cases = (
        (A, S, P, 0.3, "for six links, four sure, eight possible,"),
        (S, S, P, 0, "when the links are just the sure ones"),
        (P, S, P, 0, "when all possible links are there, and none wrong,"),
        ({(9, 9)}, S, P, 1, "when no link is right"),
        (set(), S, P, 1, "when there are no links at all"),
    )
    for links, sure, possible, truth, given in cases:
        found = as_number(mine(links, sure, possible))
        slips = _error_gone_wrong(links, sure, possible) if links is A else {}
        expect(found, truth, slips, given)
    return "five cases: mixed, perfect twice, all wrong, and no links."


def without_tanh_solution(S, H, W, U, v):
    """softmax_j of v · (W s_i + U h_j), a row for each query s_i."""
    scores = (S @ W.T).unsqueeze(1) + (H @ U.T).unsqueeze(0)
    return torch.softmax(scores @ v, dim=-1)


@exercise(without_tanh_solution)
def without_tanh(mine):
    """Weights of several queries on one sentence, with tanh removed."""
    given = random_inputs(5, (4, 3), (6, 5), (7, 3), (7, 5), (7,))
    known = {
        (6,): "One row for each of the four queries, please: that they come "
        "out alike is what you want to see.",
        (6, 4): "Yours is [source, target].",
        (4, 6, 7): "v has still to turn the align axis into one score.",
    }
    found = as_tensor(mine(*given), (4, 6), "[target, source]", known)
    S, H, W, U, v = map(float64, given)
    q, k = (S @ W.T)[:, None], (H @ U.T)[None]
    sums = (q + k) @ v
    with_tanh = (torch.tanh(q + k) @ v).softmax(1)
    alone = float64([math.exp(v @ (U @ h)) for h in H])
    truth = (alone / alone.sum()).expand(4, 6)
    mistakes = {
        "tanh is still there, and your rows differ. Take it out: "
        "v · (W s + U h).": with_tanh,
        "tanh has moved outside, around the score. It still bends the sum, "
        "and the rows differ. Take it out.": torch.tanh(sums).softmax(1),
        "tanh is still around U h: take it out there as well.": (
            ((q + torch.tanh(k)) @ v).softmax(1)
        ),
        "Those are scores. Take softmax over the source axis and compare "
        "the rows then.": sums,
        "Your softmax runs over the queries (dim=0); the weights of one "
        "query sum to 1 over the source: dim=-1.": sums.softmax(0),
        "You multiply W s with U h. Then they do act on each other; the "
        "additive score adds them.": ((q * k) @ v).softmax(1),
        "All your weights are 1/6: the annotations are not in the score.": (
            torch.full((4, 6), 1 / 6)
        ),
    }
    expect(found, truth, mistakes)
    spread = (with_tanh.amax(0) - with_tanh.amin(0)).max().item()
    return (
        "the four queries differ and their weights do not. With tanh the "
        f"same weights differ by up to {spread:.2f} from query to query."
    )
