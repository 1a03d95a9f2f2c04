"""The exercises of `ntm`: each check beside its reference solution.

What is right is found by sums over slots, one at a time, never by the
solution's formula.
"""

import torch

from lookback.exercises.by_hand import MOST, around, by_hand, stage
from lookback.exercises.checking import (
    exercise,
    float64,
    random_inputs,
)

_BEFORE, _MOVES = [0.8, 0.0, 0.0, 0.2], [0.1, 0.2, 0.7]


def _summed(weights, moves, ring=True, turned=False):
    """Σ_j w(j) s(i − j), slot by slot; off the ring, or turned round."""
    n = len(weights)
    found = torch.zeros(n, dtype=torch.float64)
    for j in range(n):
        for by, share in zip((-1, 0, 1), moves, strict=True):
            i = j - by if turned else j + by
            if ring or 0 <= i < n:
                found[i % n] += weights[j] * share
    return found


def shift_by_hand_solution():
    """w̃(i) = 0.1 w(i+1) + 0.2 w(i) + 0.7 w(i−1)."""
    return [0.3, 0.56, 0.02, 0.12]


@by_hand(
    shift_by_hand_solution,
    "the weights of slots 0, 1, 2 and 3",
    ["slot 0", "slot 1", "slot 2", "slot 3"],
)
def shift_by_hand():
    """One shift on a ring of four slots."""
    mistakes = {
        "The memory is a ring: what leaves at one end comes in at the other. "
        "Your numbers no longer sum to 1.": _summed(
            _BEFORE, _MOVES, ring=False
        ),
        "You moved the other way: s(+1) takes what stood on slot i − 1 to "
        "slot i.": _summed(_BEFORE, _MOVES, turned=True),
        "You moved everything by the likeliest step. The other two steps get "
        "their parts as well.": [0.2, 0.8, 0.0, 0.0],
        "The other way, and off the ends: take the weight of slot i − 1 for "
        "s(+1), and that of slot 3 where i is 0.": _summed(
            _BEFORE, _MOVES, ring=False, turned=True
        ),
        "Those are the weights before the shift.": _BEFORE,
        "You multiplied slot by slot. Each slot's weight is divided among "
        "three slots.": [0.8 * 0.1, 0.0, 0.0, 0.2 * 0.1],
    }
    otherwise = (
        "The check does not recognize this mistake. Take slot 0's weight "
        "first: a tenth of it goes to slot 3, two tenths stay, seven tenths go "
        "to slot 1. Then slot 3's, and add up what each slot got."
    )
    return (
        "0.30, 0.56, 0.02 and 0.12, which sum to 1.",
        stage(
            _summed(_BEFORE, _MOVES),
            mistakes,
            otherwise,
            around(2e-3),
            share=True,
        ),
    )


def circular_shift_solution(weights, moves):
    """w̃(i) = Σ_j w(j) s(i − j), by rolling."""
    back, stay, on = moves
    return back * weights.roll(-1) + stay * weights + on * weights.roll(1)


@exercise(circular_shift_solution)
def circular_shift(mine):
    """A head's weights, moved round the ring."""
    cases = []
    for seed, slots in enumerate((5, 4, 3, 9)):
        raw, way = random_inputs(seed, (slots,), (3,))
        given = raw.softmax(-1), way.softmax(-1)
        cases.append((given, _summed(*map(float64, given))))
    for some in (cases[:1], cases):  # small rings hide mistakes
        circular_shift.compare(
            mine, some, "[slots]", about="on a ring of {0.shape[0]}"
        )
    return "rings of five, four, three and nine slots."


def _convolved(padding):
    """torch's convolution, the three moves turned round for it."""
    return lambda weights, moves: torch.conv1d(
        weights[None, None], moves.flip(0)[None, None], padding=padding
    )[0, 0]


_MOVES_READ = "back, stay, on = moves"
for _hint, *_typed in (
    (
        "What leaves at an end is lost: your sum is below 1. After the last "
        "slot comes the first.",
        _convolved(1),
    ),
    (
        "The head moves the other way: s(+1) leads from slot j to slot j + 1. "
        "torch's roll by +1 does that; conv1d does not flip its kernel, so it "
        "needs moves.flip(0).",
        *(_MOVES_READ, "on, stay, back = moves"),
    ),
    (
        "The head moves the other way, and the ends are lost.",
        lambda weights, moves: _convolved(1)(weights, moves.flip(0)),
    ),
    (
        "You took s as s(0), s(+1), s(−1). Here moves[0] is s(−1).",
        *(_MOVES_READ, "stay, on, back = moves"),
    ),
    (
        "You took s as s(0), s(−1), s(+1). Here moves[0] is s(−1).",
        *(_MOVES_READ, "stay, back, on = moves"),
    ),
    (
        "You read moves[d] as s(d), counted from 0. Here moves[0] is s(−1), "
        "moves[1] is s(0) and moves[2] is s(+1).",
        *(_MOVES_READ, "stay, on, two = moves"),
        *("back * weights.roll(-1)", "two * weights.roll(2)"),
    ),
    (
        "You moved everything by the likeliest step; all three count.",
        lambda weights, moves: weights.roll(int(moves.argmax()) - 1),
    ),
    (
        "You normalized what was cut off at the ends. Nothing is cut off on a "
        "ring.",
        lambda weights, moves: (
            _convolved(1)(weights, moves) / _convolved(1)(weights, moves).sum()
        ),
    ),
    (
        "A convolution with padding makes the list longer; here the ends come "
        "in again at the other side.",
        _convolved(2),
    ),
    (
        "You left out the ends; the memory is a ring and has none.",
        _convolved(0),
    ),
    (
        "That is a matrix of all pairs; sum it over j.",
        lambda weights, moves: weights[:, None] * weights,
    ),
):
    circular_shift.slip(_hint, *_typed)


@circular_shift.slip(
    "What leaves at an end stays there in yours. After the last slot comes the "
    "first."
)
def _stopped(weights, moves):
    last, found = len(weights) - 1, torch.zeros(len(weights))
    for j in range(len(weights)):
        for by in (-1, 0, 1):
            found[min(max(j + by, 0), last)] += weights[j] * moves[by + 1]
    return found


@circular_shift.style
def _by_index(weights, moves):
    at = torch.arange(len(weights))
    return sum(
        moves[by + 1] * weights[(at - by) % len(weights)] for by in (-1, 0, 1)
    )


@circular_shift.style
def _by_matrix(weights, moves):
    eye = torch.eye(len(weights))
    return weights @ sum(moves[k] * eye.roll(k - 1, 1) for k in range(3))


def erase_then_add_solution(memory, weights, erase, add):
    """M(i) [1 − w(i) e] + w(i) a."""
    w = weights[:, None]
    return memory * (1 - w * erase) + w * add


@exercise(erase_then_add_solution)
def erase_then_add(mine):
    """One write to a memory."""
    cases = []
    for seed, (slots, d) in enumerate(((4, 3), (1, 2), (6, 5))):
        memory, raw, gone, add = random_inputs(
            seed, (slots, d), (slots,), (d,), (d,)
        )
        given = memory, raw.softmax(-1), gone.sigmoid(), add
        M, w, e, a = map(float64, given)
        rows = [M[i] - w[i] * e * M[i] + w[i] * a for i in range(slots)]
        cases.append((given, torch.stack(rows)))
    erase_then_add.compare(
        mine, cases, "[slots, d]", about="on a memory of {0.shape[0]} slots"
    )
    return "three memories, one of a single slot."


_KEPT, _WRITTEN = "memory * (1 - w * erase)", "w * add"
for _hint, *_typed in (
    (
        "You add first and erase afterwards, so part of what you wrote is "
        "erased again.",
        *(f"{_KEPT} + {_WRITTEN}", "(memory + w * add) * (1 - w * erase)"),
    ),
    (
        "You erase every slot alike. Erasing is weighted too: 1 − w(i) e.",
        *("w * erase", "erase"),
    ),
    (
        "You add to every slot alike: a is weighted by w(i).",
        *(_WRITTEN, "add"),
    ),
    (
        "You erase whole slots. e says for each number how much of it goes.",
        *("w * erase", "w"),
    ),
    (
        "The two are one factor: 1 − w(i) e, and not (1 − w(i)) (1 − e).",
        *("(1 - w * erase)", "(1 - w) * (1 - erase)"),
    ),
    ("Nothing is erased.", _KEPT, "memory"),
    (
        "You keep what should go: multiply by 1 − w(i) e, not by w(i) e.",
        *("1 - w * erase", "w * erase"),
    ),
    ("Nothing is added.", f" + {_WRITTEN}", ""),
    (
        "You multiply a by e as well. What is added does not depend on what "
        "was erased: w(i) a.",
        *(_WRITTEN, "w * erase * add"),
    ),
    (
        "You add w(i) (1 − e) a: what is added does not depend on e.",
        *(_WRITTEN, "w * (1 - erase) * add"),
    ),
    (
        "You exchanged the two: e erases and a is added.",
        *(f"{_KEPT} + {_WRITTEN}", "memory * (1 - w * add) + w * erase"),
    ),
    (
        "You subtract e itself, and not e times what stands there.",
        *(_KEPT, "memory - w * erase"),
    ),
    (
        "A row for each slot, a column for each number: yours is the "
        "transpose.",
        *(f"{_KEPT} + {_WRITTEN}", f"({_KEPT} + {_WRITTEN}).T"),
    ),
    (
        "That is one vector; return the whole memory.",
        lambda memory, weights, erase, add: weights @ memory,
    ),
):
    erase_then_add.slip(_hint, *_typed)


@erase_then_add.style
def _slot_by_slot(memory, weights, erase, add):
    rows = [
        m * (1 - w * erase) + w * add
        for m, w in zip(memory, weights, strict=True)
    ]
    return torch.stack(rows)


@erase_then_add.style
def _by_outer(memory, weights, erase, add):
    kept = memory - memory * torch.outer(weights, erase)
    return kept + torch.einsum("i,k->ik", weights, add)


def smear_by_hand_solution():
    """Nine steps; with γ = 2 the head stays at 0.993 for ever."""
    return [9, 0.99308]


def _slots_later(steps, gamma, last_sharp=True):
    """The weight of the right slot after so many shifts by 0, ±1."""
    weights = torch.zeros(101, dtype=torch.float64)
    weights[50] = 1
    for n in range(steps):
        weights = 0.9 * weights + 0.05 * (weights.roll(1) + weights.roll(-1))
        if last_sharp or n < steps - 1:
            weights = weights**gamma / (weights**gamma).sum()
    return float(weights[50])


@by_hand(
    smear_by_hand_solution,
    "the number of steps, and the weight",
    ["steps", "weight"],
)
def smear_by_hand():
    """How soon a head's weights smear, and where sharpening holds them."""
    truth = next(n for n in range(1, 50) if _slots_later(n, 1) < 0.5)
    slips = {
        "That is where 0.9 to the power n falls below one half. But weight "
        "that has left the slot may come back.": next(
            n for n in range(1, 50) if 0.9**n < 0.5
        ),
        "After that many steps there is still a little more than half. How "
        "many until it is less?": truth - 1,
        "One step earlier less than half is left already.": truth + 1,
        "Then a tenth of the first weight would leave every time. A tenth of "
        "what is there leaves.": 6,
    }
    held = {
        "That is right after the first step. It goes on falling for a few "
        "steps; where does it come to rest?": _slots_later(1, 2),
        "That is the weight after a shift and before it is sharpened.": (
            _slots_later(40, 2, last_sharp=False)
        ),
        "That is what one shift leaves. Square the weights and divide by their "
        "sum, at every step.": 0.9,
        "Nearly: at every step a little leaks out anew, and sharpening "
        "cannot take all of it back.": 1.0,
        "Without the sharpening all weights become equal in the end; γ = 2 "
        "holds them.": 0.0,
        "That is γ = 3; the question is for γ = 2.": _slots_later(40, 3),
    }
    steps = stage(
        truth,
        slips,
        "The check does not recognize this number of steps. Shift a "
        "list of weights with your own function, and look at the slot it began "
        "on; it is a whole number of times.",
        around(1e-9),
    )
    few = "The first is a number of steps: 1, 2, 3 and so on."
    steps["mistakes"].append([few, [[-MOST, 0.999]]])
    return (
        "nine steps without sharpening; with it, no end.",
        steps,
        stage(
            _slots_later(40, 2),
            held,
            "The steps are right; the check does not recognize the mistake "
            "in the weight. Shift, square, divide by the sum, forty times, "
            "and give three decimals.",
            around(1.6e-4),
            1,
            share=True,
        ),
    )


smear_by_hand.style((9, 0.993))
