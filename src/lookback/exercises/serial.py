"""The exercises of the chapter `serial`, each check beside its solution.

What is right is found by going through the work tick by tick or word by
word, never by the solution's formula. Paths have their own module, `paths`.
"""

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import (
    Hint,
    as_numbers,
    as_tensor,
    expect,
    random_inputs,
)


def products_by_hand_solution():
    """6nd², 4nd² + 2n²d, and the n at which 8nd² = 4nd² + 2n²d."""
    n, d = 30, 512
    return [6 * n * d**2, 4 * n * d**2 + 2 * n**2 * d, 2 * d]


_N, _D = 30, 512
_BY_HAND = (
    {
        "The GRU has two matrices for each of its three gates, one for the "
        "word and one for the old state; you counted three.": 3 * _N * _D**2,
        "That is one pair of matrices, a tanh network. A GRU has three "
        "pairs.": 2 * _N * _D**2,
        "That is the LSTM, four pairs; the GRU has three.": 8 * _N * _D**2,
        "That is the GRU's work for one word; there are 30.": 6 * _D**2,
    },
    {
        "You left out the four matrices W_Q, W_K, W_V and W_O, as the "
        "paper's Table 1 does: 4nd².": 2 * _N**2 * _D,
        "n²d comes twice: once to compare queries with keys, once to "
        "average the values.": 4 * _N * _D**2 + _N**2 * _D,
        "W_O is missing: attention has four matrices, not three.": (
            3 * _N * _D**2 + 2 * _N**2 * _D
        ),
        "You counted the matrices alone; comparing and averaging take n²d "
        "each.": 4 * _N * _D**2,
    },
    {
        "That is where attention catches up with the GRU. The LSTM has eight "
        "matrices.": _D,
        "Without its own four matrices attention would come that far: set "
        "8nd² equal to 4nd² + 2n²d.": 4 * _D,
        "Turn it round: n is twice d.": _D / 2,
    },
)


@exercise("serial", products_by_hand_solution, by_hand=True)
def products_by_hand(answer):
    """Multiplications of a GRU and of attention, and a crossing."""
    found = as_numbers(answer, 3, "GRU, attention and the crossing n")
    n, d = 30, 512
    step = sum(d * d for _ in ("r", "z", "n") for _ in ("W", "U"))
    gru = sum(step for _ in range(n))
    pairs = sum(2 * d for _ in range(n) for _ in range(n))
    attention = sum(4 * d * d for _ in range(n)) + pairs
    crossing = next(m for m in range(1, 9999) if 2 * m * d >= 4 * d * d)
    truths = zip(("GRU", "attention", "n"), (gru, attention, crossing))  # noqa: B905
    for i, (name, truth) in enumerate(truths):
        mistakes = {
            f"{name}: {hint}": torch.tensor(float(wrong))
            for hint, wrong in _BY_HAND[i].items()
        }
        if i < 2:
            mistakes[
                f"{name}: count multiplications alone; you counted the "
                "additions too."
            ] = torch.tensor(2.0 * truth)
        expect(
            found[i],
            torch.tensor(float(truth)).double(),
            mistakes,
            tolerance=2e-3,
            otherwise=f"{name}: not yet right, and no slip that I know. One "
            "vector times one matrix takes d² = 262,144.",
        )
    return "both counts, and the crossing with the LSTM."


def ticks_needed_solution(stages, workers):
    """Σ ⌈m / p⌉, in whole numbers."""
    return sum(-(-m // workers) for m in stages)


def _played(stages, workers):
    """The ticks, by playing them."""
    ticks = 0
    for left in stages:
        while left > 0:
            left -= workers
            ticks += 1
    return ticks


@exercise("serial", ticks_needed_solution)
def ticks_needed(mine):
    """Ticks of stages that wait for each other, with finite workers."""
    cases = (
        ([7, 7, 7], 2),
        ([10, 4, 4, 4], 4),
        ([3, 100, 1, 9], 8),
        ([5], 1),
        ([6, 6], 100),
    )
    for stages, workers in cases:
        found = as_numbers(mine(stages, workers), 1, "the number of ticks")[0]
        total, p = sum(stages), workers
        truth = _played(stages, workers)
        mistakes = {
            "Round up inside the sum: whoever is idle in one stage may not "
            "begin with the next.": -(-total // p),
            "The last ticks of a stage are not full, and take a tick all the "
            "same: round up.": total / p,
            "You round to the nearest; round up.": sum(
                round(m / p) for m in stages
            ),
            "You round down; the rest of a stage needs a tick too.": sum(
                m // p for m in stages
            ),
            "That is the longest stage alone; they come one after the "
            "other.": max(-(-m // p) for m in stages),
            "That is the number of stages: right only for workers without "
            "end.": len(stages),
            "You always add one tick; a stage that divides evenly needs "
            "none more.": sum(m // p + 1 for m in stages),
        }
        expect(
            found,
            torch.tensor(float(truth)).double(),
            {k: torch.tensor(float(v)) for k, v in mistakes.items()},
            given=f"for stages {stages} and {workers} workers",
            tolerance=1e-9,
        )
    if mine([2**60 + 1], 2**59) != 3:
        raise Hint(
            "Right for small stages. For 2**60 + 1 products and 2**59 workers "
            "it is 3 ticks: a float cannot hold the 1, so stay in whole "
            "numbers, with //."
        )
    return "six cases, uneven stages and very large ones among them."


def hoisted_recurrence_solution(x, h, project, recur):
    """All W x at once; only recur stays in the loop."""
    states = []
    for Wx in project(x).unbind(dim=1):  # one product for all words
        h = recur(Wx, h)
        states.append(h)
    return torch.stack(states, dim=1)


@exercise("serial", hoisted_recurrence_solution)
def hoisted_recurrence(mine):
    """A recurrent layer whose W x is one product."""
    for seed, (batch, n, d, hidden) in enumerate(((1, 4, 3, 5), (3, 3, 3, 3))):
        x, h, W, U = random_inputs(
            seed, (batch, n, d), (batch, hidden), (hidden, d), (hidden, hidden)
        )
        calls = {"project": 0, "recur": 0}

        def project(words, W=W, calls=calls):
            calls["project"] += 1
            return words @ W.T

        def recur(Wx, h, U=U, calls=calls):
            calls["recur"] += 1
            return torch.tanh(Wx + h @ U.T)

        known = {
            (n, batch, hidden): "Stack along dim=1: batch first.",
            (batch, hidden): "That is the last state alone; give back the "
            "state after every word.",
            (batch, n + 1, hidden): "h, the state before the first word, does "
            "not belong to the states.",
        }
        axes = "[batch, source, hidden]"
        found = as_tensor(
            mine(x, h, project, recur), (batch, n, hidden), axes, known
        )
        rows = {"truth": [], "zero": [], "same": []}
        state, zero = h, torch.zeros_like(h)
        back = []
        behind = h
        for t in range(n):
            state = torch.tanh(x[:, t] @ W.T + state @ U.T)
            zero = torch.tanh(x[:, t] @ W.T + zero @ U.T)
            behind = torch.tanh(x[:, n - 1 - t] @ W.T + behind @ U.T)
            rows["truth"].append(state)
            rows["zero"].append(zero)
            rows["same"].append(torch.tanh(x[:, t] @ W.T + h @ U.T))
            back.append(behind)
        made = {k: torch.stack(v, 1) for k, v in rows.items()}
        expect(
            found,
            made["truth"],
            {
                "Your first state is zero; it is given, as h.": made["zero"],
                "Every word meets the first state h: hand the new state on "
                "to the next word.": made["same"],
                "You read from the last word to the first.": torch.stack(
                    back, 1
                ),
            },
        )
        if calls["project"] != 1:
            raise Hint(
                f"The states are right, but project was called "
                f"{calls['project']} times. x has all the words: call it once, "
                "before the loop."
            )
        if calls["recur"] != n:
            raise Hint(
                f"recur was called {calls['recur']} times for {n} words."
            )
    return "the states of a plain loop, with one call of project."
