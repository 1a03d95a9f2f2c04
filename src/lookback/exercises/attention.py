"""The exercises of the chapter `attention`, each check beside its solution.

What is right is taken from plain loops over positions with `math.exp`, never
from the solution. The two masks have their own module.
"""

import math

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import (
    Hint,
    as_numbers,
    as_tensor,
    expect,
    random_inputs,
)

_Q = ((2, 0, 2, 0), (0, 4, 0, 0))
_K = ((1, 0, 1, 0), (0, 1, 1, 0))
_V = ((4, 0), (0, 8))


def attention_by_hand_solution():
    """softmax(Q Kᵀ / √4) V for two positions."""
    first = math.exp(2) / (math.exp(2) + math.exp(1))  # scores 2, 1: 0.731
    second = math.exp(0) / (math.exp(0) + math.exp(2))  # scores 0, 2: 0.119
    return [4 * first, 8 * (1 - first), 4 * second, 8 * (1 - second)]


@exercise("attention", attention_by_hand_solution, by_hand=True)
def attention_by_hand(answer):
    """softmax(Q Kᵀ / √d_k) V of two positions; the answer is four numbers."""
    if isinstance(answer, (list, tuple)) and len(answer) == 2:
        if all(isinstance(row, (list, tuple)) for row in answer):
            answer = [number for row in answer for number in row]
    found = as_numbers(
        answer, 4, "four numbers (the first output, then the second)"
    )
    Q, K, V = (torch.tensor(m, dtype=torch.float64) for m in (_Q, _K, _V))
    e = Q @ K.T
    shares = {
        "The scores are not divided by √d_k. A key has four numbers: divide "
        "by √4 = 2.": e.softmax(1),
        "You divided by d_k = 4; the formula divides by its root, 2.": (
            (e / 4).softmax(1)
        ),
        "d_k is the length of a key, 4, not the number of positions: divide "
        "by √4, not by √2.": (e / 2**0.5).softmax(1),
        "Your softmax runs down the columns. Each query shares itself out "
        "over the keys: each ROW of the weights sums to 1.": (
            (e / 2).softmax(0)
        ),
        "exp is missing: you divide each score by its row's sum.": (
            e / e.sum(1, keepdim=True)
        ),
        "A hard choice: you gave each query its best value whole. The soft "
        "look takes some of the other, too.": torch.eye(2).double(),
        "That is with a causal mask; here every position sees both.": (
            torch.tensor([[1.0, 0.0], (e / 2).softmax(1)[1].tolist()]).double()
        ),
        "You multiplied the values by the scores; softmax comes between.": (
            e / 2
        ),
    }
    mistakes = {
        hint: (weights @ V).flatten() for hint, weights in shares.items()
    }
    mistakes["Those are the weights. Multiply them into the values."] = (
        (e / 2).softmax(1).flatten()
    )
    mistakes["The second output stands first: give row 1, then row 2."] = (
        ((e / 2).softmax(1) @ V).flip(0).flatten()
    )
    truth = torch.tensor([2.924, 2.152, 0.477, 7.046]).double()
    mistakes["Right, but to one decimal only; give two."] = torch.tensor(
        [2.9, 2.2, 0.5, 7.0]
    ).double()
    otherwise = (
        "Not yet right, and no slip that I know. The scores are 2, 1 for the "
        "first query and 0, 2 for the second, after dividing by 2."
    )
    expect(found, truth, mistakes, tolerance=0.012, otherwise=otherwise)
    return "both outputs, from the weights 0.731, 0.269 and 0.119, 0.881."


def attend_from_scratch_solution(Q, K, V, mask):
    """softmax(Q Kᵀ / √d_k) V over the places where mask is True."""
    scores = Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1) @ V


def _attend_loop(Q, K, V, mask):
    """One sentence, one query and one key after another."""
    outputs = []
    for q_b, k_b, v_b, may_b in zip(Q, K, V, mask, strict=True):
        for q, may in zip(q_b, may_b.tolist(), strict=True):
            shares = [
                math.exp(float(q @ k) / math.sqrt(len(k))) if ok else 0.0
                for k, ok in zip(k_b, may, strict=True)
            ]
            pairs = zip(shares, v_b, strict=True)
            outputs.append(sum(a * v for a, v in pairs) / sum(shares))
    return torch.stack(outputs).view(*Q.shape[:2], V.shape[-1])


def _attended_wrong(Q, K, V, mask):
    """What each likely mistake in `attend_from_scratch` gives, by its hint."""
    e = Q @ K.transpose(1, 2)
    d, inf = Q.shape[-1], torch.inf
    hidden = (e / d**0.5).masked_fill(~mask, -inf)
    plain = (e / d**0.5).softmax(-1)
    return {
        "The mask is not used: forbidden keys get weight.": plain @ V,
        "The factor 1/√d_k is missing.": (
            e.masked_fill(~mask, -inf).softmax(-1) @ V
        ),
        "You divide by d_k; the formula divides by its square root.": (
            (e / d).masked_fill(~mask, -inf).softmax(-1) @ V
        ),
        "d_k is the length of a key: Q.shape[-1], not the number of queries.": (
            (e / len(Q[0]) ** 0.5).masked_fill(~mask, -inf).softmax(-1) @ V
        ),
        "d_k is the length of a key: Q.shape[-1], not the number of keys.": (
            (e / len(K[0]) ** 0.5).masked_fill(~mask, -inf).softmax(-1) @ V
        ),
        "You multiply by √d_k; the formula divides by it.": (
            (e * d**0.5).masked_fill(~mask, -inf).softmax(-1) @ V
        ),
        "True and False are swapped: True is where a query MAY look.": (
            (e / d**0.5).masked_fill(mask, -inf).softmax(-1) @ V
        ),
        "You masked after the softmax: the forbidden keys have taken their "
        "share already, and the rows no longer sum to 1.": (plain * mask) @ V,
        "You set masked scores to 0, and exp(0) = 1: such a key still gets "
        "weight. The score that gets none is −infinity.": (
            (e / d**0.5).masked_fill(~mask, 0.0).softmax(-1) @ V
        ),
        "Your softmax runs over the queries: dim=-1 is the axis of the keys.": (
            hidden.softmax(-2).nan_to_num(0.0) @ V
        ),
        "softmax is missing: those are values mixed by scores.": (
            (e / d**0.5 * mask) @ V
        ),
        "Every allowed key weighs the same: the queries are not used.": (
            mask.double() / mask.sum(-1, keepdim=True) @ V
        ),
    }


@exercise("attention", attend_from_scratch_solution)
def attend_from_scratch(mine):
    """softmax(Q Kᵀ / √d_k) V with a mask, batched."""
    for seed, (target, source, d_k, d_v) in enumerate(
        ((2, 3, 4, 5), (4, 4, 9, 4))
    ):
        Q, K, V = random_inputs(
            seed, (2, target, d_k), (2, source, d_k), (2, source, d_v)
        )
        mask = random_inputs(seed + 9, (2, target, source))[0] > -0.3
        mask[..., 0] = True
        mask[0, 0, 1:], mask[1, -1, -1] = False, False
        mask[..., -1] &= seed > 0  # no row is open everywhere
        known = {
            (2, target, source): "Those are weights: multiply them into V.",
            (2, d_v, target): "Yours is transposed.",
        }
        found = as_tensor(
            mine(Q, K, V, mask), (2, target, d_v), "[batch, target, d_v]", known
        )
        exact = Q.double(), K.double(), V.double(), mask
        if not found.isfinite().all():
            raise Hint(
                "Your result holds NaN: 0 times infinity, or 0/0. Fill the "
                "scores with masked_fill(~mask, -torch.inf) before softmax."
            )
        expect(found, _attend_loop(*exact), _attended_wrong(*exact))
    return "equal to a loop over queries and keys, on two batches with masks."


def soft_dictionary_solution(query, keys, values, temperature):
    """softmax(K q / T) V; the best alone, or the best equally, at T = 0."""
    scores = keys @ query
    if temperature == 0:
        best = (scores == scores.max()).to(values.dtype)
        return best / best.sum() @ values
    return torch.softmax(scores / temperature, dim=0) @ values


def _dictionary_loop(query, keys, values, temperature):
    """Entry by entry, the highest score taken off first."""
    scores = [float(query @ key) for key in keys]
    top = max(scores)
    if temperature == 0:
        shares = [float(score == top) for score in scores]
    else:
        shares = [math.exp((score - top) / temperature) for score in scores]
    pairs = zip(shares, values, strict=True)
    return sum(share * value for share, value in pairs) / sum(shares)


@exercise("attention", soft_dictionary_solution)
def soft_dictionary(mine):
    """softmax(K q / T) V, and the best entry at T = 0."""
    query, keys, values = random_inputs(3, (4,), (5, 4), (5, 2))
    tied = torch.cat([keys, keys[:3]]), torch.cat([values, -2 * values[:3]])
    rounds = [(keys, values, t) for t in (1.0, 0.25, 4.0, 0.01, 0.0)]
    for k, v, t in [*rounds, (*tied, 0.0)]:
        result = mine(query, k, v, t)
        known = {(1, 2): "One query, one answer: drop the axis of 1."}
        known[(len(k),)] = "Those are weights: mix the values with them."
        known[(len(k), 2)] = "Add the weighted values up: sum over entries."
        found = as_tensor(result, (2,), "[d_v]", known)
        q, K, V = query.double(), k.double(), v.double()
        e = K @ q
        if t == 0:
            otherwise = (
                "At temperature 0 the answer is the value of the best entry; "
                "if several are best, their mean."
            )
            if not found.isfinite().all():
                otherwise = "Temperature 0: you divide by it. " + otherwise
            expect(found, _dictionary_loop(q, K, V, t), {}, otherwise=otherwise)
            continue
        mistakes = {
            "The temperature divides the scores; yours multiplies them.": (
                (e * t).softmax(0) @ V
            ),
            "Divide by the temperature before softmax, not after.": (
                e.softmax(0) / t @ V
            ),
            "The temperature is not used.": e.softmax(0) @ V,
            "That is the best entry alone, at every temperature.": V[
                e.argmax()
            ],
            "You divided by √d_k as well; this dictionary has only T.": (
                (e / 2 / t).softmax(0) @ V
            ),
            "All entries weigh the same: the plain mean.": V.mean(0),
        }
        otherwise = None
        if not found.isfinite().all():
            otherwise = "NaN: exp overflows at small T. torch.softmax does not."
        truth = _dictionary_loop(q, K, V, t)
        expect(found, truth, mistakes, otherwise=otherwise)
    return "equal to a loop at four temperatures, and at 0, ties included."
