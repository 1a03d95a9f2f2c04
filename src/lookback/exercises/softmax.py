"""The masked softmax's exercise: the solution, and the check beside it.

What is right is taken from a loop over rows with `math.exp`, never from the
solution.
"""

import math

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import Hint, as_tensor, expect


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
    return torch.tensor(rows, dtype=torch.float64)


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


_HARD_ROWS = (
    (
        [[1000.0, 1001.0, 999.0]],
        "Scores of 1000 overflow in exp. Subtract the row's maximum first: "
        "the weights stay the same.",
    ),
    (
        [[-1000.0, -1001.0, 0.0]],
        "With scores near −1000 every exp is 0, and 0/0 is no weight. "
        "Subtract the maximum first, and of those places only that may be "
        "looked at.",
    ),
    (
        [[-20000.0, -20001.0, 0.0]],
        "A masked place got weight beside scores of −20000: the number that "
        "you use for −infinity is not low enough. Use -torch.inf.",
    ),
)


@exercise("rnnsearch", masked_softmax_solution)
def masked_softmax(mine):
    """Softmax over the places where mask is True."""
    e = torch.tensor([[1.0, 2.0, 5.0], [3.0, 1.0, 4.0]]).log() + 0.5
    mask = torch.tensor([[True, True, False], [True, False, True]])
    axes = "[batch, source]"
    found = as_tensor(mine(e, mask), e.shape, axes)
    e = e.double()
    expect(found, _masked_loop(e, mask), _masked_gone_wrong(e, mask))
    for scores, hint in _HARD_ROWS:
        scores, hard = torch.tensor(scores), mask[:1]
        found = as_tensor(mine(scores, hard), scores.shape, axes)
        if not torch.allclose(found, _masked_loop(scores, hard), atol=1e-4):
            raise Hint(hint)
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
