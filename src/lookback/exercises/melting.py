"""The exercise on melting of the chapter `residual`: solution and check."""

import math
import statistics

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import (
    Hint,
    as_tensor,
    expect,
    random_inputs,
)


def tokens_apart_solution(x):
    """‖X − 1 x̄ᵀ‖ / ‖X‖ for each sentence."""
    gap = x - x.mean(dim=1, keepdim=True)
    return gap.flatten(1).norm(dim=1) / x.flatten(1).norm(dim=1)


def _apart_loop(x):
    """The same, sentence by sentence with plain numbers."""
    found = []
    for tokens in x.tolist():
        columns = list(zip(*tokens, strict=True))
        gap = sum(len(c) * statistics.pvariance(c) for c in columns)
        whole = sum(one**2 for c in columns for one in c)
        found.append(math.sqrt(gap / whole))
    return torch.tensor(found, dtype=torch.float64)


@exercise("residual", tokens_apart_solution)
def tokens_apart(mine):
    """How far the tokens of each sentence lie from their mean."""
    (x,) = random_inputs(8, (2, 3, 4))
    found = as_tensor(
        mine(x),
        (2,),
        "[batch]",
        {
            (): "One number for each sentence, not one for the batch.",
            (2, 3): "One number for each sentence: add the squares over the "
            "tokens too.",
            (
                2,
                4,
            ): "One number for each sentence: add the squares over d_model "
            "too.",
        },
    )
    d = x.double()
    gap = d - d.mean(1, keepdim=True)
    own = d - d.mean(2, keepdim=True)
    size = d.norm(dim=(1, 2))
    expect(
        found,
        _apart_loop(d),
        {
            "You took the mean over each token's own numbers; the mean token "
            "is the mean over the tokens, dim=1.": own.norm(dim=(1, 2)) / size,
            "You took one mean over tokens and numbers; the mean token keeps "
            "its d_model numbers.": (
                (d - d.mean((1, 2), keepdim=True)).norm(dim=(1, 2)) / size
            ),
            "You took the mean token over the whole batch; each sentence has "
            "its own.": (d - d.mean((0, 1), keepdim=True)).norm(dim=(1, 2))
            / size,
            "You did not divide by ‖X‖: the measure should not change when all "
            "numbers are doubled.": gap.norm(dim=(1, 2)),
            "Those are the squares: take the roots.": (
                (gap.norm(dim=(1, 2)) / size) ** 2
            ),
            "That is the mean token's length against ‖X‖; measure what is left "
            "when it is taken off.": (
                d.mean(1, keepdim=True).expand_as(d).norm(dim=(1, 2)) / size
            ),
            "You added absolute values; the norm adds squares and takes the "
            "root.": gap.abs().sum((1, 2)) / d.abs().sum((1, 2)),
        },
    )
    same = torch.ones(1, 3, 4)
    if float(as_tensor(mine(same), (1,), "[batch]")) > 1e-6:
        raise Hint("Three equal tokens should be 0 apart.")
    return "one number a sentence; equal tokens give 0, any size the same."
