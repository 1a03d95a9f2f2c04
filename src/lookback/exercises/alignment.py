"""RNNsearch's exercises on what its weights mean: solutions and checks.

What is right is counted link by link from the definition of the alignment
error rate, and follows from a fact that can be proved.
"""

import math
from numbers import Real

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import (
    Hint,
    as_tensor,
    expect,
    random_inputs,
)


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
        "You divide by the union; the definition adds the two sizes, "
        "|A| + |S|.": 1 - both / len(set(A) | set(S)),
        "Those are per cent; give a fraction between 0 and 1.": (
            100 - 100 * both / size
        ),
    }


@exercise("rnnsearch", alignment_error_rate_solution)
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
        found = mine(links, sure, possible)
        if not isinstance(found, Real) and not (
            isinstance(found, torch.Tensor) and found.ndim == 0
        ):
            raise Hint(
                f"Give back one number; yours is {type(found).__name__}."
            )
        expect(
            torch.tensor(float(found)).double(),
            torch.tensor(truth).double(),
            _error_gone_wrong(links, sure, possible) if links is A else {},
            given,
        )
    return "five cases: mixed, perfect twice, all wrong, and no links."


def without_tanh_solution(S, H, W, U, v):
    """softmax_j of v · (W s_i + U h_j), a row for each query s_i."""
    scores = (S @ W.T).unsqueeze(1) + (H @ U.T).unsqueeze(0)
    return torch.softmax(scores @ v, dim=-1)


@exercise("rnnsearch", without_tanh_solution)
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
    S, H, W, U, v = (tensor.double() for tensor in given)
    q, k = (S @ W.T)[:, None], (H @ U.T)[None]
    sums = (q + k) @ v
    with_tanh = (torch.tanh(q + k) @ v).softmax(1)
    alone = torch.tensor([math.exp(v @ (U @ h)) for h in H])
    truth = (alone / alone.sum()).double().expand(4, 6)
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
