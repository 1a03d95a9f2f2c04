"""The exercises of `recurrence`: each check beside its reference solution.

What is right is found by autograd, by torch's own clipping or by running the
gate, never by the solution's formula.
"""

import math

import torch

from lookback.exercises.by_hand import MOST, by_hand, stage
from lookback.exercises.checking import (
    Hint,
    as_tensor,
    exercise,
    expect,
    float64,
    random_inputs,
)


def powers_by_hand_solution():
    """0.5³⁰ and 1.1¹⁰⁰."""
    return [0.5**30, 1.1**100]


_BY_HAND = (
    {
        "That is thirty times a half; the factors multiply.": 15,
        "That is a half divided by thirty; multiply it by itself.": 0.5 / 30,
        "That is 0.5 to the power 10, a thousandth; take its third power.": (
            0.5**10
        ),
        "That is 0.5 to the power 20, a millionth; ten factors are missing.": (
            0.5**20
        ),
        "That is 0.5 to the power 29.": 0.5**29,
        "That is 0.5 to the power 31.": 0.5**31,
        "That is 2 to the power 30: turn it round.": 2**30,
        "That is the power of ten; give the number itself, 10**-9 or so.": 9,
        "−9 is the power of ten; give the number itself, 10**-9 or so.": -9,
    },
    {
        "That is a hundred times 1.1; the factors multiply.": 110,
        "You added a tenth a hundred times. A tenth of what is there by then "
        "is added, and that grows.": 11,
        "That is 1.1 to the power 10; take that to the power 10 again.": (
            1.1**10
        ),
        "That is ten times 1.1 to the power 10; take the power again.": (
            10 * 1.1**10
        ),
        "That is e to the power 10. ln 1.1 is 0.0953, a little less than a "
        "tenth, and a hundred times that little counts.": math.e**10,
        "That is 2 to the power 10: 1.1 to the power 10 is nearer to 2.6.": (
            2**10
        ),
        "That is the power of ten; give the number itself, 10**4 or so.": 4,
    },
)


def _within_a_tenth(x):
    """What lies within 10 % of a number."""
    return sorted([0.9 * x, 1.1 * x])


@by_hand(
    powers_by_hand_solution,
    "0.5 to the power 30, 1.1 to the power 100",
    ["0.5³⁰", "1.1¹⁰⁰"],
)
def powers_by_hand():
    """Thirty factors of one half, and a hundred of 1.1."""
    truths = {
        "0.5³⁰": math.prod([0.5] * 30),
        "1.1¹⁰⁰": math.prod([1.1] * 100),
    }
    stages = []
    for at, (name, truth) in enumerate(truths.items()):
        mistakes = {f"{name}: {hint}": x for hint, x in _BY_HAND[at].items()}
        otherwise = (
            f"{name}: not yet right, and no slip that the check knows. Take "
            "the power 10 first, then go on from there; answers within 10 % "
            "are accepted."
        )
        one = stage(truth, mistakes, otherwise, _within_a_tenth, at)
        sign = f"{name}: a product of positive numbers is positive."
        one["mistakes"].append([sign, [[-MOST, 0]]])
        stages.append(one)
    return "one is a billionth, the other fourteen thousand.", *stages


def carry_back_solution(U, states):
    """Π diag(h_k (1 − h_k)) U, the last step at the left."""
    J = torch.eye(len(U))
    for h in states[1:]:
        J = (h * (1 - h))[:, None] * U @ J
    return J


def _product(U, states, slope, late=False):
    """The same product for other slopes; `late` puts them behind U."""
    J = torch.eye(len(U), dtype=U.dtype)
    for h in states:
        J = (U * slope(h) if late else slope(h)[:, None] * U) @ J
    return J


def _rest(U, inputs):
    """h_T as a function of h_1."""

    def rest(h):
        for x in inputs:
            h = torch.sigmoid(x + U @ h)
        return h

    return rest


def _logistic(h):
    return h * (1 - h)


@exercise(carry_back_solution)
def carry_back(mine):
    """∂h_T/∂h_1 of a network with σ in the place of tanh."""
    for seed, (length, hidden) in enumerate(((4, 3), (2, 2), (6, 5), (1, 3))):
        U, inputs, first = random_inputs(
            seed, (hidden, hidden), (length - 1, hidden), (hidden,)
        )
        U = 2 * U
        states = [torch.sigmoid(first)]
        for x in inputs:
            states.append(torch.sigmoid(x + U @ states[-1]))
        states = torch.stack(states)
        known = {
            (length, hidden, hidden): "Those are the Jacobians back to every "
            "state; give the one back to h_1.",
            (length - 1, hidden, hidden): "Those are the factors of the "
            "steps; multiply them.",
            (hidden,): "A Jacobian is a matrix: row i for number i of h_T.",
        }
        axes = "[hidden, hidden]"
        found = as_tensor(mine(U, states), (hidden, hidden), axes, known)
        exact = float64(U), float64(states)
        U, states = exact
        truth = torch.autograd.functional.jacobian(
            _rest(U, float64(inputs)), states[0]
        )
        later = states[1:]
        tanh = _product(U, later, lambda h: 1 - h**2)
        begun = _product(U, later, _logistic) @ U
        unbracketed = torch.eye(hidden, dtype=U.dtype)
        for h in later:
            unbracketed = h * (1 - h)[:, None] * U @ unbracketed
        expect(
            found,
            truth,
            {
                "That is tanh's slope, 1 − h². The slope of σ at a point where "
                "it is h is h (1 − h).": tanh,
                "You took one factor too many: the step to h_1 itself lies "
                "before h_1.": _product(U, states, _logistic),
                "One factor is missing: h_T follows h_{T−1}, so the last step "
                "counts.": _product(U, later[:-1], _logistic),
                "You took the slopes at h_1 … h_{T−1}. The slope of a step is "
                "taken where the step arrives.": _product(
                    U, states[:-1], _logistic
                ),
                "The factors stand in the wrong order: the last step is the "
                "leftmost.": _product(U, later.flip(0), _logistic),
                "Your diag stands behind U. The slopes come after U, so diag "
                "multiplies from the left: a row of U for each.": _product(
                    U, later, _logistic, late=True
                ),
                "You took U transposed.": _product(U.T, later, _logistic),
                "That is the transpose of the Jacobian: row i should be "
                "number i of h_T.": truth.T,
                "You left out the slopes: that is a power of U.": (
                    torch.linalg.matrix_power(U, length - 1)
                ),
                "Your slopes are σ(h) (1 − σ(h)). h is the value of σ already: "
                "h (1 − h).": _product(
                    U, later, lambda h: _logistic(h.sigmoid())
                ),
                "Your slopes are 1 − h. The slope of σ where it is h is "
                "h (1 − h).": _product(U, later, lambda h: 1 - h),
                "Your slopes are h itself. The slope of σ where it is h is "
                "h (1 − h).": _product(U, later, lambda h: h),
                "You left out U.": torch.diag(
                    later.prod(0) * (1 - later).prod(0)
                ),
                "Your product begins with U. Begin with the identity: each "
                "step brings a U of its own.": begun,
                "The first step, from h_1 to h_2, is missing: take "
                "states[1:].": _product(U, states[2:], _logistic),
                "h * (1 - h)[:, None] * U multiplies the columns by h: put "
                "the slopes in brackets, (h * (1 - h))[:, None].": unbracketed,
                "You multiplied number by number (*); matrices are multiplied "
                "by @.": (_logistic(later)[:, :, None] * U).prod(0),
            },
            tolerance=1e-5,
        )
    return "four networks, one of a single state among them."


def clip_by_norm_solution(dW, dU, limit):
    """g · min(1, θ / ‖g‖), with one length for both."""
    norm = (dW.square().sum() + dU.square().sum()).sqrt()
    if norm > limit:
        dW, dU = dW * limit / norm, dU * limit / norm
    return dW, dU


def _clipped(dW, dU, limit):
    """By torch's own clipping."""
    parts = [torch.nn.Parameter(torch.zeros_like(g)) for g in (dW, dU)]
    for part, g in zip(parts, (dW, dU), strict=True):
        part.grad = g.clone()
    torch.nn.utils.clip_grad_norm_(parts, limit)
    return [part.grad for part in parts]


def _both(parts):
    return torch.cat([part.flatten() for part in parts])


@exercise(clip_by_norm_solution)
def clip_by_norm(mine):
    """Two gradients, shortened together."""
    for seed, size, limit in ((0, 10.0, 5.0), (1, 0.1, 5.0), (2, 3.0, 0.25)):
        dW, dU = random_inputs(seed, (3, 4), (2, 5))
        dW, dU = size * dW, 2 * size * dU
        found = mine(dW, dU, limit)
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise Hint("Give back two tensors, dW and dU: return dW, dU.")
        found = [
            as_tensor(part, g.shape, f"the new {name}")
            for part, g, name in zip(found, (dW, dU), ("dW", "dU"), strict=True)
        ]
        dW, dU = float64(dW), float64(dU)
        norm = _both((dW, dU)).norm()
        each = [g * min(1, limit / g.norm()) for g in (dW, dU)]
        other = [g * min(1, limit / norm**2) for g in (dW, dU)]
        mean = _both((dW, dU)).square().mean().sqrt()
        summed = dW.norm() + dU.norm()
        early = dW * min(1, limit / norm)
        late = dU * min(1, limit / _both((early, dU)).norm())
        mistakes = {
            "You clip every number by itself, and that turns the gradient: "
            "the longest numbers lose, the others stay. Shorten all by the "
            "same factor.": [g.clamp(-limit, limit) for g in (dW, dU)],
            "You clip each matrix by its own length. It is one gradient: one "
            "length, of both together.": each,
            "Your gradient is as long as the limit, always. One that is short "
            "enough stays as it is.": [g * limit / norm for g in (dW, dU)],
            "It is too long, and yours stays as it was: the factor is the "
            "smaller one of 1 and limit / length.": [dW, dU],
            "You measure dW alone. It is one gradient: one length, of both "
            "together.": [g * min(1, limit / dW.norm()) for g in (dW, dU)],
            "You measure dU alone, or the longer of the two. It is one "
            "gradient: one length, of both together.": [
                g * min(1, limit / dU.norm()) for g in (dW, dU)
            ],
            "That is the largest number, not the length: the root of the sum "
            "of all squares.": [
                g * min(1, limit / _both((dW, dU)).abs().max())
                for g in (dW, dU)
            ],
            "You shorten dW first, and measure again for dU: take the length "
            "once, before either is changed.": [early, late],
            "You divide by the length twice, or by its square: take the "
            "root.": other,
            "That is a gradient of length 1; the limit is to be its length.": (
                [g / norm for g in (dW, dU)]
            ),
            "The length is the root of the SUM of the squares, not of their "
            "mean.": [g * min(1, limit / mean) for g in (dW, dU)],
            "You add the two lengths. The squares are added, then the root "
            "is taken.": [g * min(1, limit / summed) for g in (dW, dU)],
            "The length is taken of the numbers' sizes, not of their squares: "
            "Σ |g| is another norm.": [
                g * min(1, limit / _both((dW, dU)).abs().sum())
                for g in (dW, dU)
            ],
        }
        expect(
            _both(found),
            _both(_clipped(dW, dU, limit)),
            {hint: _both(wrong) for hint, wrong in mistakes.items()},
            otherwise=None
            if _both(found).isnan().any()
            else f"For a length of {float(norm):.4g} and a limit of "
            f"{limit} yours comes back with a length of "
            f"{float(_both(found).norm()):.4g}. It should have "
            f"{min(float(norm), limit):.4g}, and its old direction.",
        )
    nothing = torch.zeros(3, 4), torch.zeros(3, 3)
    if any(part.isnan().any() for part in mine(*nothing, 5.0)):
        raise Hint(
            "A gradient of nothing but zeros, as where all is learned, comes "
            "back as NaN: you divide by its length. Divide only where it is "
            "longer than the limit."
        )
    return "two gradients that are too long, one that is not, and one of zeros."


def hold_for_solution(b_ih, b_hh, steps):
    """b_f = ln(f / (1 − f)) with f = 0.5^(1 / steps)."""
    f, hidden = 0.5 ** (1 / steps), len(b_ih) // 4
    gate = slice(hidden, 2 * hidden)
    b_ih, b_hh = b_ih.clone(), b_hh.clone()
    b_ih[gate] = math.log(f / (1 - f))
    b_hh[gate] = 0  # the two are added
    return b_ih, b_hh


def _others(biases):
    """The biases without the forget gate's."""
    return [
        torch.cat([part[: len(part) // 4], part[len(part) // 2 :]])
        for part in biases
    ]


_GATES = ("input gate i", "forget gate f", "new content g", "output gate o")


@exercise(hold_for_solution)
def hold_for(mine):
    """Biases with which half of the belt is left after some steps."""
    for seed, (hidden, steps) in enumerate(((3, 20), (2, 1), (5, 160))):
        b_ih, b_hh = random_inputs(seed, (4 * hidden,), (4 * hidden,))
        found = mine(b_ih, b_hh, steps)
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise Hint("Give back both biases: return b_ih, b_hh.")
        found = [
            as_tensor(part, (4 * hidden,), "[4 * hidden]") for part in found
        ]
        before = [float64(b_ih), float64(b_hh)]
        if all(map(torch.equal, _others(found[::-1]), _others(before))):
            raise Hint("You give the two back in the other order.")
        changed = {
            place
            for new, old in zip(found, before, strict=True)
            for place in (new != old).nonzero().flatten().tolist()
        }
        if hidden > 1 and changed == {*range(1, 4 * hidden, 4)}:
            raise Hint(
                "You changed every fourth number. The gates stand one after "
                "the other, `hidden` numbers each: the forget gate's are "
                "those from `hidden` up to 2 · hidden."
            )
        if changed == {*range(hidden, 2 * hidden + 1)}:
            raise Hint(
                "You changed one number too many: the forget gate's are those "
                "from `hidden` up to 2 · hidden, which is not one of them."
            )
        for name, new, old in zip(("b_ih", "b_hh"), found, before, strict=True):
            quarters = zip(new.chunk(4), old.chunk(4), strict=True)
            if not any(torch.equal(*both) for both in quarters):
                raise Hint(
                    f"You changed all of {name}, the biases of all four "
                    "gates. The forget gate's are the second quarter, from "
                    "`hidden` up to 2 · hidden."
                )
        for i in (0, 2, 3):
            part = slice(i * hidden, (i + 1) * hidden)
            if any(
                not torch.equal(new[part], old[part])
                for new, old in zip(found, before, strict=True)
            ):
                raise Hint(
                    f"You changed the bias of the {_GATES[i]}. The order is "
                    "i, f, g, o: the forget gate has the second quarter."
                )
        gate = slice(hidden, 2 * hidden)
        bias = found[0][gate] + found[1][gate]
        keeps = torch.sigmoid(bias) ** steps  # what is left of the belt
        f = 0.5 ** (1 / steps)
        wanted = math.log(f / (1 - f))
        for new, old in zip(found, before, strict=True):
            if torch.allclose(bias, wanted + old[gate], atol=1e-4):
                raise Hint(
                    "You set one of the two biases, and what stands in the "
                    "other is added to it: make that 0."
                    if torch.equal(new[gate], old[gate])
                    else "You added to the old bias. Set it: what stands "
                    "there is chance."
                )
        if torch.allclose(bias, wanted + sum(before)[gate], atol=1e-4):
            raise Hint(
                "You added to the old biases. Set them: what stands there "
                "is chance."
            )
        mistakes = {
            "The two biases are added before the gate, so yours counts twice: "
            "put it into one, and 0 into the other.": 2 * wanted,
            "That is the gate, f, written where its bias belongs. The gate "
            "is σ(bias): solve for the bias.": f,
            "Both hold f, the gate itself. The gate is σ of the biases' "
            "sum: solve for the bias.": 2 * f,
            "The sign is the other way round: your gate is nearly shut.": (
                -wanted
            ),
            "Your f is a half divided by the steps. It is the root: f to the "
            "power `steps` is one half.": math.log(
                0.5 / steps / (1 - 0.5 / steps)
            ),
            "That is σ of the gate. The gate is σ of the bias: solve for the "
            "bias, ln(f / (1 − f)).": 1 / (1 + math.exp(-f)),
            "That is the logarithm to base 10; σ goes with e.": wanted
            / math.log(10),
            "That leaves half after ONE step. Half is to be left after all "
            "of them: f to the power `steps` is one half.": 0.0,
            "Your f is 1 − 1 / steps. That to the power `steps` is about "
            "1 / e; take the root of one half.": math.log(max(steps - 1, 1)),
            "Your f is 1 − 0.5 / steps. That to the power `steps` is not one "
            "half but more; take the root of one half.": math.log(2 * steps - 1)
            if steps > 1
            else math.inf,
            "Your f is e to the power −1 / steps: that leaves 1 / e after all "
            "of them, and half is to be left.": -math.log(
                math.exp(1 / steps) - 1
            ),
            "Your f is 0.5 to the power `steps`. Take the root: 0.5 to the "
            "power 1 / steps.": -math.log(2.0**steps - 1)
            if steps > 1
            else math.inf,
            "That is the logarithm of the steps. f to the power `steps` is "
            "one half, and the gate is σ(bias).": math.log(steps)
            if steps > 1
            else math.inf,
            "That is the logarithm of f. The gate is σ(bias), not e to the "
            "bias.": math.log(f),
        }
        expect(
            bias,
            torch.full((hidden,), wanted),
            {hint: torch.full((hidden,), x) for hint, x in mistakes.items()},
            otherwise=f"For {steps} steps {float(keeps.mean()):.3f} of the "
            "belt is left on average, where the gate sees nothing but its "
            "bias. It should be 0.5 in every number.",
        )
    return "half is left after 1, 20 and 160 steps; the other gates stand."
