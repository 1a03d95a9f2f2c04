"""The exercises on masks of the chapter `attention`: solutions and checks."""

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import Hint, as_tensor, expect


def causal_mask_solution(tokens):
    """True where the column is at or before the row."""
    place = torch.arange(tokens.shape[1])
    return place[None, :] <= place[:, None]


def _booleans(found, shape, axes, known):
    """A mask, once its type and shape are right."""
    found_there = as_tensor(found, shape, axes, known)
    if found.dtype != torch.bool:
        raise Hint(
            f"A mask here is a tensor of True and False; yours is "
            f"{found.dtype}. Compare something: a comparison gives booleans."
        )
    return found_there


@exercise("attention", causal_mask_solution)
def causal_mask(mine):
    """Which word may see which, so that nobody sees the future."""
    for batch, n in ((2, 4), (3, 1), (1, 6)):
        tokens = torch.arange(4, 4 + batch * n).view(batch, n)
        known = {
            (batch, n): "One row for each word: who may be seen by whom is a "
            "square, [target, target].",
            (batch, n, n): "The causal mask is the same for every sentence: "
            "leave the batch axis out.",
        }
        axes = "[target, target]"
        found = _booleans(mine(tokens), (n, n), axes, known)
        truth = torch.tensor(
            [[float(j <= i) for j in range(n)] for i in range(n)]
        ).double()
        ones = torch.ones_like(truth)
        mistakes = {
            "Rows and columns are exchanged: word i (row) may see words j ≤ i, "
            "and yours sees j ≥ i.": ones.triu(),
            "True is where a word MAY look; yours is True on the future.": (
                ones.triu(1)
            ),
            "A word may see itself: the diagonal is True. Without it the "
            "first word has nothing at all to look at.": ones.tril(-1),
            "Everything is allowed in yours: the future, too.": ones,
            "Yours lets a word see itself alone.": torch.eye(n).double(),
            "Yours lets a word see one word of the future.": ones.tril(1),
        }
        expect(found, truth, mistakes)
    return "shape, type, and every pair of places for three lengths."


def padding_mask_solution(tokens, pad):
    """True at words; an axis of 1 stands for every query."""
    return (tokens != pad).unsqueeze(1)


@exercise("attention", padding_mask_solution)
def padding_mask(mine):
    """[batch, 1, source], True where there is a word."""
    for pad in (0, 9):
        tokens = torch.tensor(
            [[5, 3, 7, pad], [4, pad, pad, pad], [6, 2, 8, 1]]
        )
        known = {
            (3, 4): "All queries share it: give it an axis of 1 for them, "
            "unsqueeze(1), so that it fits scores [batch, target, source].",
            (3, 4, 1): "The axis of 1 stands for the queries, so it is the "
            "middle one: unsqueeze(1).",
            (3, 1, 1, 4): "That has one axis for heads too many: three axes.",
            (3, 4, 4): "Broadcasting does that: keep an axis of 1.",
        }
        found = mine(tokens, pad)
        found = _booleans(found, (3, 1, 4), "[batch, 1, source]", known)
        truth = torch.tensor(
            [[[float(word != pad) for word in row]] for row in tokens.tolist()]
        ).double()
        mistakes = {
            "True and False are swapped: yours looks at the padding alone.": (
                1 - truth
            ),
            "Use the argument `pad`: yours takes 0 for the padding, always.": (
                (tokens != 0).double().unsqueeze(1)
            ),
            "Word numbers may be smaller than pad: compare with !=, not with "
            "<  or >.": (tokens > pad).double().unsqueeze(1),
            "Everything is allowed in yours, padding too.": torch.ones(3, 1, 4),
        }
        expect(found, truth, mistakes)
    return "shape, type, and every place for two paddings."
