"""The GRU's exercises: each solution, and the check beside it.

What is right is taken from torch's own GRU cell, never from the solution.
"""

import math

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import (
    as_numbers,
    as_tensor,
    expect,
    random_inputs,
)


def _gru_gone_wrong(x, h, W_ih, W_hh, b_ih, b_hh):
    """What each likely mistake in a GRU step gives, by its hint."""
    a_r, a_z, a_n = (x @ W_ih.T + b_ih).chunk(3, dim=-1)
    u_r, u_z, u_n = (h @ W_hh.T + b_hh).chunk(3, dim=-1)
    U_n, b_n = W_hh.chunk(3)[2], b_hh.chunk(3)[2]
    r, z = torch.sigmoid(a_r + u_r), torch.sigmoid(a_z + u_z)
    n = torch.tanh(a_n + r * u_n)

    def mix(n, keep=z):
        return (1 - keep) * n + keep * h

    return {
        "Your update gate works the other way round. Here, as in Cho et al. "
        "2014 and in torch, z is the share of the OLD state: (1 − z) n + z h. "
        "Bahdanau et al. 2015 let z multiply the NEW content.": mix(n, 1 - z),
        "Your two gates are exchanged: r scales the past inside n, z mixes n "
        "with h (torch stacks the rows r, z, n).": mix(
            torch.tanh(a_n + z * u_n), r
        ),
        "The reset gate is missing: the past enters the new content scaled "
        "by r, n = tanh(W x + r ∘ (U h + b)).": mix(torch.tanh(a_n + u_n)),
        "The reset gate stands in the wrong place: U (r ∘ h) + b, as Cho et "
        "al. 2014 have it. torch scales what comes out of the product, bias "
        "included: r ∘ (U h + b).": mix(
            torch.tanh(a_n + (r * h) @ U_n.T + b_n)
        ),
        "The last bias escapes the reset gate: torch has r ∘ (U h + b), "
        "bias included.": mix(torch.tanh(a_n + r * (u_n - b_n) + b_n)),
        "The bias b inside the reset bracket is missing: r ∘ (U h + b).": mix(
            torch.tanh(a_n + r * (u_n - b_n))
        ),
        "Your reset gate also scales W x. It may only silence the past: "
        "n = tanh(W x + r ∘ (U h + b)).": mix(torch.tanh(r * (a_n + u_n))),
        "The new content goes through tanh, not through σ: it may be "
        "negative.": mix(torch.sigmoid(a_n + r * u_n)),
        "The new content has no tanh yet.": mix(a_n + r * u_n),
        "That is n, the new content. One line is left: mix it with the old "
        "state, h' = (1 − z) n + z h.": n,
        "That is the reset gate r. n and h' are still to come.": r,
        "That is the update gate z. n and h' are still to come.": z,
        "The biases are not used: b_ih and b_hh belong to the sums.": (
            torch.gru_cell(x, h, W_ih, W_hh, 0 * b_ih, 0 * b_hh)
        ),
    }


def gru_by_hand_solution():
    """h' for x = 2, h = 0.5 and the weights of the exercise."""
    r = 1 / (1 + math.exp(-(0.5 * 2 - 1 * 0.5)))  # 0.622
    z = 1 / (1 + math.exp(-(-1 * 2 + 2 * 0.5)))  # 0.269
    n = math.tanh(-1 * 2 + r * (1 * 0.5 + 1))  # tanh(-1.066) = -0.788
    return (1 - z) * n + z * 0.5  # -0.442


@exercise("bottleneck", gru_by_hand_solution, by_hand=True)
def gru_by_hand(answer):
    """One GRU step with given numbers; the answer is h'."""
    found = as_numbers(answer, 1, "one number, h' to two decimals")[None]
    step = [
        torch.tensor(numbers, dtype=torch.float64)
        for numbers in (
            [[2]],  # x
            [[0.5]],  # h
            [[0.5], [-1], [-1]],  # W_r, W_z, W
            [[-1], [2], [1]],  # U_r, U_z, U
            [0, 0, 0],
            [0, 0, 1],  # b
        )
    ]
    mistakes = _gru_gone_wrong(*step)
    otherwise = (
        "Not yet right, and no slip that I know. Go line by line: the gates "
        "are r = 0.62 and z = 0.27; then n, then h'."
    )
    expect(
        found,
        torch.gru_cell(*step),
        mistakes,
        tolerance=0.006,
        otherwise=otherwise,
    )
    return "h' is what torch's own cell gives with the same numbers."


def gru_cell_solution(x, h, W_ih, W_hh, b_ih, b_hh):
    """h' = (1 − z) ∘ n + z ∘ h, with torch's stack of r, z, n."""
    W_r, W_z, W_n = (x @ W_ih.T + b_ih).chunk(3, dim=-1)
    U_r, U_z, U_n = (h @ W_hh.T + b_hh).chunk(3, dim=-1)
    r = torch.sigmoid(W_r + U_r)
    z = torch.sigmoid(W_z + U_z)
    n = torch.tanh(W_n + r * U_n)
    return (1 - z) * n + z * h


@exercise("bottleneck", gru_cell_solution)
def gru_cell(mine):
    """A GRU cell with torch's layout of weights."""
    known = {
        (2, 12): "Twelve is all three gates at once: cut them with chunk.",
        (4, 2): "Yours is [hidden, batch].",
    }
    for seed, batch in ((1, 2), (2, 1), (3, 5)):
        given = random_inputs(
            seed, (batch, 3), (batch, 4), (12, 3), (12, 4), (12,), (12,)
        )
        found = as_tensor(mine(*given), (batch, 4), "[batch, hidden]", known)
        step = [tensor.double() for tensor in given]
        expect(found, torch.gru_cell(*step), _gru_gone_wrong(*step))
    return (
        "shape, order of the gates, reset, new content, update and biases "
        "agree with torch's own cell on three batches."
    )
