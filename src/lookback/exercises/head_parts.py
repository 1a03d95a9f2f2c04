"""The exercise of the chapter `heads` on what each head adds to the output.

What is right is computed head by head, from slices of W_O.
"""

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import as_tensor, expect, random_inputs


def head_parts_solution(context, W_O):
    """head_i W_i^O, the rows of W_O given an axis for the head."""
    heads = context.shape[1]
    return context @ W_O.unflatten(0, (heads, -1))


@exercise("heads", head_parts_solution)
def head_parts(mine):
    """Each head's own term of the output."""
    for batch, heads, length, d_v in ((2, 2, 3, 4), (3, 3, 2, 2), (1, 4, 4, 4)):
        d_model = heads * d_v
        context, W_O = random_inputs(
            5, (batch, heads, length, d_v), (d_model, d_model)
        )
        axes = (batch, heads, length, d_model)
        known = {
            (batch, length, d_model): "That has the size of the whole "
            "output. Keep the heads apart: one term for each.",
            (batch, length, heads, d_model): "Heads come before words.",
            (heads, batch, length, d_model): "The batch comes first.",
        }
        label = "[batch, heads, length, d_model]"
        found = as_tensor(mine(context, W_O), axes, label, known)
        c, W = context.double(), W_O.double()

        own = [slice(h * d_v, (h + 1) * d_v) for h in range(heads)]

        def terms(blocks, c=c):
            each = [c[:, h] @ block for h, block in enumerate(blocks)]
            return torch.stack(each, dim=1)

        truth = terms(W[rows] for rows in own)
        mistakes = {
            "Head i owns ROWS of W_O here, since it stands on the right; you "
            "took columns.": terms(W[:, columns].T for columns in own),
            "Every head met the first block of W_O. Head i has rows i·d_v to "
            "(i + 1)·d_v - 1, counted from 0.": terms([W[:d_v]] * heads),
            "You took every heads-th row of W_O. A head's rows lie together.": (
                terms(W[h::heads] for h in range(heads))
            ),
            "Each of your terms is the whole output; the terms should sum "
            "to it.": truth.sum(1, keepdim=True).expand_as(truth),
            "You divided by the number of heads. The terms are added up, not "
            "averaged.": truth / heads,
        }
        expect(found, truth, mistakes)
    return "shape; each head with its own rows; the terms sum to the output."
