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
    edited,
    exercise,
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
        "That is the power of ten; give the number itself, 1e-9 or so.": 9,
        "−9 is the power of ten; give the number itself, 1e-9 or so.": -9,
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
        "That is the power of ten; give the number itself, 1e4 or so.": 4,
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
            f"{name}: the check does not recognize this mistake. "
            "Take the power 10 first, then go on from there; answers "
            "within 10 % are accepted."
        )
        one = stage(truth, mistakes, otherwise, _within_a_tenth, at)
        sign = f"{name}: a product of positive numbers is positive."
        one["mistakes"].append([sign, [[-MOST, 0]]])
        stages.append(one)
    return "one is a billionth, the other fourteen thousand.", *stages


powers_by_hand.style((1e-9, 13_800))
powers_by_hand.style([9.5e-10, 1.4e4])


def carry_back_solution(U, states):
    """Π diag(h_k (1 − h_k)) U, the last step at the left."""
    J = torch.eye(len(U))
    for h in states[1:]:
        J = (h * (1 - h))[:, None] * U @ J
    return J


def _rest(U, inputs):
    """h_T as a function of h_1."""

    def rest(h):
        for x in inputs:
            h = torch.sigmoid(x + U @ h)
        return h

    return rest


@exercise(carry_back_solution)
def carry_back(mine):
    """∂h_T/∂h_1 of a network with σ in the place of tanh."""
    cases = []
    for seed, (length, hidden) in enumerate(((4, 3), (2, 2), (6, 5), (1, 3))):
        U, inputs, first = random_inputs(
            seed, (hidden, hidden), (length - 1, hidden), (hidden,)
        )
        U = 2 * U
        states = [torch.sigmoid(first)]
        for x in inputs:
            states.append(torch.sigmoid(x + U @ states[-1]))
        truth = torch.autograd.functional.jacobian(
            _rest(float64(U), float64(inputs)), float64(states[0])
        )
        cases.append(((U, torch.stack(states)), truth))
    carry_back.compare(mine, cases, "[hidden, hidden]", tolerance=1e-5)
    return "four networks, including one that stops at its first state."


_SLOPES = "(h * (1 - h))"
_FACTOR = f"{_SLOPES}[:, None] * U"
for _hint, *_typed in (
    (
        "That is tanh's slope, 1 − h². The slope of σ at a point where it is h "
        "is h (1 − h).",
        *(_SLOPES, "(1 - h**2)"),
    ),
    (
        "You took one factor too many: the step to h_1 itself lies before h_1.",
        *("states[1:]", "states"),
    ),
    (
        "One factor is missing: h_T follows h_{T−1}, so the last step counts.",
        *("states[1:]", "states[1:-1]"),
    ),
    (
        "You took the slopes at h_1 … h_{T−1}. The slope of a step is taken "
        "where the step arrives.",
        *("states[1:]", "states[:-1]"),
    ),
    (
        "The factors stand in the wrong order: the last step is the leftmost.",
        *("states[1:]", "states[1:].flip(0)"),
    ),
    (
        "Your diag stands to the right of U. The slopes come after U, so diag "
        "multiplies from the left: a row of U for each.",
        *(_FACTOR, f"U * {_SLOPES}"),
    ),
    ("You took U transposed.", "U @ J", "U.T @ J"),
    (
        "That is the transpose of the Jacobian: row i should be number i of "
        "h_T.",
        *("return J", "return J.T"),
    ),
    ("You left out the slopes: that is a power of U.", _FACTOR, "U"),
    (
        "Your slopes are σ(h) (1 − σ(h)). h is the value of σ already: "
        "h (1 − h).",
        *("states[1:]", "states[1:].sigmoid()"),
    ),
    (
        "Your slopes are 1 − h. The slope of σ where it is h is h (1 − h).",
        *(_SLOPES, "(1 - h)"),
    ),
    (
        "Your slopes are h itself. The slope of σ where it is h is h (1 − h).",
        *(_SLOPES, "h"),
    ),
    ("You left out U.", "U @ J", "J"),
    (
        "Your product begins with U. Begin with the identity: each step brings "
        "a U of its own.",
        *("torch.eye(len(U))", "U"),
    ),
    (
        "The first step, from h_1 to h_2, is missing: take states[1:].",
        *("states[1:]", "states[2:]"),
    ),
    (
        "h * (1 - h)[:, None] * U multiplies the columns by h: put the "
        "derivatives in brackets, (h * (1 - h))[:, None].",
        *(_SLOPES, "h * (1 - h)"),
    ),
    (
        "torch.diag(…) * U multiplies number by number and leaves the diagonal "
        "of U alone. A product of matrices is @: torch.diag(…) @ U.",
        *(f"{_FACTOR} @ J", f"torch.diag{_SLOPES} * U @ J"),
    ),
    (
        "You multiplied number by number (*); matrices are multiplied by @.",
        *("U @ J", "U * J", "torch.eye(len(U))", "torch.ones_like(U)"),
    ),
    (
        "Those are the Jacobians back to every state; give the one back to "
        "h_1.",
        lambda U, states: torch.stack(
            [carry_back_solution(U, states[t:]) for t in range(len(states))]
        ),
    ),
    (
        "Those are the factors of the steps; multiply them.",
        lambda U, states: (states * (1 - states))[1:, :, None] * U,
    ),
    (
        "A Jacobian is a matrix: row i for number i of h_T.",
        *("return J", "return J.sum(1)"),
    ),
):
    carry_back.slip(_hint, *_typed)


@carry_back.style
def _from_the_end(U, states):
    J = torch.eye(len(U))
    for h in reversed(states[1:]):
        J = J @ (h * (1 - h)).unsqueeze(1).mul(U)
    return J


@carry_back.style
def _by_chain(U, states):
    factors = [torch.diag(h - h**2) @ U for h in states[1:].flip(0)]
    return torch.linalg.multi_dot([torch.eye(len(U))] * 2 + factors)


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
    """All numbers of both, in one row."""
    return torch.cat([part.flatten() for part in parts])


_PAIR = "Give back two tensors, dW and dU: return dW, dU."
_SWAPPED = "You give the two back in the other order: dW first, then dU."
_ZEROS = (
    "A gradient of nothing but zeros, as where all is learned, comes back as "
    "NaN: you divide by its length. Divide only where it is longer than the "
    "limit."
)


def _shortened(answer, dW, dU, limit):
    """All numbers that an answer gives, dW's before dU's."""
    found = answer(dW, dU, limit)
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise Hint(_PAIR)
    shapes = [getattr(part, "shape", None) for part in found]
    if shapes == [dU.shape, dW.shape] != [dW.shape, dU.shape]:
        raise Hint(_SWAPPED)
    return _both(
        as_tensor(part, g.shape, f"the new {name}")
        for part, g, name in zip(found, (dW, dU), ("dW", "dU"), strict=True)
    )


def _too_long(found, dW, dU, limit):
    """How long the gradient is, and how long it should be, in words."""
    norm, left = float(_both((dW, dU)).norm()), float(found.norm())
    return not math.isnan(left) and (
        f"For a length of {norm:.4g} and a limit of {limit} yours comes back "
        f"with a length of {left:.4g}. It should have {min(norm, limit):.4g}, "
        "and its old direction."
    )


@exercise(clip_by_norm_solution)
def clip_by_norm(mine):
    """Two gradients, shortened together."""
    cases = []
    for seed, size, limit in ((0, 10.0, 5.0), (1, 0.1, 5.0), (2, 3.0, 0.25)):
        dW, dU = random_inputs(seed, (3, 4), (2, 5))
        given = size * dW, 2 * size * dU
        truth = _both(_clipped(*map(float64, given), limit))
        cases.append(((*given, limit), truth))
    for some in (cases[:1], cases):  # first of all one that is too long
        clip_by_norm.compare(mine, some, otherwise=_too_long, ask=_shortened)
    nothing = torch.zeros(3, 4), torch.zeros(3, 3)
    if any(part.isnan().any() for part in mine(*nothing, 5.0)):
        raise Hint(_ZEROS)
    return "two gradients that are too long, one that is not, and one of zeros."


_NORM = "(dW.square().sum() + dU.square().sum()).sqrt()"
_NEW = "dW, dU = dW * limit / norm, dU * limit / norm"
for _hint, *_typed in (
    (
        "You clip every number by itself, and that turns the gradient: the "
        "largest numbers shrink, the others stay. Shorten all by the same "
        "factor.",
        lambda dW, dU, limit: (
            dW.clamp(-limit, limit),
            dU.clamp(-limit, limit),
        ),
    ),
    (
        "You clip each matrix by its own length. It is one gradient: one "
        "length, of both together.",
        lambda dW, dU, limit: [
            g * min(1, limit / float(g.norm())) for g in (dW, dU)
        ],
    ),
    (
        "Your gradient is as long as the limit, always. One that is short "
        "enough stays as it is.",
        *("norm > limit", "True"),
    ),
    (
        "It is too long, and yours stays as it was: the factor is the smaller "
        "one of 1 and limit / length.",
        *("norm > limit", "norm < limit"),
    ),
    (
        "You measure dW alone. It is one gradient: one length, of both "
        "together.",
        *(" + dU.square().sum()", ""),
    ),
    (
        "You measure dU alone, or the longer of the two. It is one gradient: "
        "one length, of both together.",
        *("dW.square().sum() + ", ""),
    ),
    (
        "That is the largest number, not the length: the root of the sum of "
        "all squares.",
        *(_NORM, "torch.maximum(dW.abs().max(), dU.abs().max())"),
    ),
    (
        "You shorten dW first, and measure again for dU: take the length once, "
        "before either is changed.",
        *(
            _NEW,
            f"dW = dW * limit / norm; norm = {_NORM}; dU = dU * limit / norm",
        ),
    ),
    (
        "You divide by the length twice, or by its square: take the root.",
        *(".sqrt()", ""),
    ),
    (
        "That is a gradient of length 1; the limit is to be its length.",
        *("* limit / norm", "/ norm"),
    ),
    (
        "The length is the root of the SUM of the squares, not of their mean.",
        *(").sqrt()", ").div(dW.numel() + dU.numel()).sqrt()"),
    ),
    (
        "You add the two lengths. The squares are added, then the root is "
        "taken.",
        *(_NORM, "dW.norm() + dU.norm()"),
    ),
    (
        "The length is taken of the numbers' sizes, not of their squares: "
        "Σ |g| is another norm.",
        *(_NORM, "dW.abs().sum() + dU.abs().sum()"),
    ),
    (_PAIR, "return dW, dU", "return dW"),
    (_SWAPPED, "return dW, dU", "return dU, dW"),
    (
        _ZEROS,
        *("if norm > limit:", "if True:"),
        *("limit / norm", "norm.clamp(max=limit) / norm"),
    ),
):
    clip_by_norm.slip(_hint, *_typed)


@clip_by_norm.style
def _as_torch_does(dW, dU, limit):
    norm = (dW.square().sum() + dU.square().sum()).sqrt()
    factor = (limit / (norm + 1e-6)).clamp(max=1.0)
    return dW * factor, dU * factor


@clip_by_norm.style
def _by_stack(dW, dU, limit):
    norm = torch.stack([dW.norm(), dU.norm()]).norm()
    return [g * (limit / max(float(norm), limit)) for g in (dW, dU)]


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


_GATES = ("input gate i", "forget gate f", "candidate g", "output gate o")
_BIASES = "Give back both biases: return b_ih, b_hh."
_OTHER_ORDER = "You give the two back in the other order."
_STRIDED = (
    "You changed every fourth number. The gates stand one after the other, "
    "`hidden` numbers each: the forget gate's are those from `hidden` up to "
    "2 · hidden."
)
_ONE_MORE = (
    "You changed one number too many: the forget gate's are those from "
    "`hidden` up to 2 · hidden, which is not one of them."
)
_ALL_FOUR = (
    "You changed all of {}, the biases of all four gates. The forget gate's "
    "are the second quarter, from `hidden` up to 2 · hidden."
)
_OTHER_GATE = (
    "You changed the bias of the {}. The order is i, f, g, o: the forget gate "
    "has the second quarter."
)
_NOT_ZERO = (
    "You set one of the two biases, and what stands in the other is added to "
    "it: make that 0."
)
_ADDED = "You added to the old bias. Set it: what stands there is chance."
_BOTH_ADDED = (
    "You added to the old biases. Set them: what stands there is chance."
)


_NOTHING = (
    "You changed nothing: both biases come back as they were. The forget "
    "gate's are those from `hidden` up to 2 · hidden, and `hidden` is a "
    "quarter of their length."
)


def _only_the_forget_gate(found, before):
    """The hint that biases of other gates were changed, too, or none at all."""
    hidden = len(found[0]) // 4
    if all(map(torch.equal, found, before)):
        raise Hint(_NOTHING)
    if all(map(torch.equal, _others(found[::-1]), _others(before))):
        raise Hint(_OTHER_ORDER)
    changed = {
        place
        for new, old in zip(found, before, strict=True)
        for place in (new != old).nonzero().flatten().tolist()
    }
    if changed == {*range(1, 4 * hidden, 4)}:
        raise Hint(_STRIDED)
    if changed == {*range(hidden, 2 * hidden + 1)}:
        raise Hint(_ONE_MORE)
    kept = [
        [*map(torch.equal, new.chunk(4), old.chunk(4))]
        for new, old in zip(found, before, strict=True)
    ]
    for name, quarters in zip(("b_ih", "b_hh"), kept, strict=True):
        if not any(quarters):
            raise Hint(_ALL_FOUR.format(name))
    for i in (0, 2, 3):
        if not all(quarters[i] for quarters in kept):
            raise Hint(_OTHER_GATE.format(_GATES[i]))


def _forget_bias(answer, b_ih, b_hh, steps):
    """The forget gate's bias, the sum of two, if it was set and none else."""
    found = answer(b_ih, b_hh, steps)
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise Hint(_BIASES)
    found = [as_tensor(part, b_ih.shape, "[4 * hidden]") for part in found]
    before = [float64(b_ih), float64(b_hh)]
    _only_the_forget_gate(found, before)
    new, old = ([part.chunk(4)[1] for part in both] for both in (found, before))
    bias, wanted = sum(new), _wanted(steps)
    for i in (0, 1):
        if torch.allclose(bias, wanted + old[i], atol=1e-4):
            raise Hint(_NOT_ZERO if torch.equal(new[i], old[i]) else _ADDED)
    if torch.allclose(bias, wanted + sum(old), atol=1e-4):
        raise Hint(_BOTH_ADDED)
    return bias


def _wanted(steps):
    """The bias b with σ(b) to the power `steps` = 1/2, by bisection."""
    low, high = -50.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        if (1 + math.exp(-middle)) ** -steps < 0.5:
            low = middle
        else:
            high = middle
    return low


def _left(bias, b_ih, b_hh, steps):
    """What is left of the cell state with this bias, in words."""
    return (
        f"For {steps} steps {float((bias.sigmoid() ** steps).mean()):.3f} of "
        "the cell state is left on average, where the gate sees nothing but "
        "its bias. It should be 0.5 in every number."
    )


@exercise(hold_for_solution)
def hold_for(mine):
    """Biases with which half of the cell state is left after some steps."""
    cases = []
    for seed, (hidden, steps) in enumerate(((3, 20), (2, 1), (5, 160))):
        given = *random_inputs(seed, (4 * hidden,), (4 * hidden,)), steps
        cases.append((given, torch.full((hidden,), _wanted(steps))))
    hold_for.compare(mine, cases, "[hidden]", otherwise=_left, ask=_forget_bias)
    return (
        "half is left after 1, 20 and 160 steps; the other gates are unchanged."
    )


_F, _BIAS = "0.5 ** (1 / steps)", "math.log(f / (1 - f))"
_GATE, _OFF = "slice(hidden, 2 * hidden)", "b_hh[gate] = 0"
for _hint, *_typed in (
    (
        "The two biases are added before the gate, so yours counts twice: put "
        "it into one, and 0 into the other.",
        *(_OFF, f"b_hh[gate] = {_BIAS}"),
    ),
    (
        "That is the gate, f, written where its bias belongs. The gate is "
        "σ(bias): solve for the bias.",
        *(_BIAS, "f"),
    ),
    (
        "Both hold f, the gate itself. The gate is σ of the biases' sum: solve "
        "for the bias.",
        *(_BIAS, "f", _OFF, "b_hh[gate] = f"),
    ),
    (
        "The sign is the other way round: your gate is nearly shut.",
        *(_BIAS, f"-{_BIAS}"),
    ),
    (
        "Your f is a half divided by the steps. It is the root: f to the power "
        "`steps` is one half.",
        *(_F, "0.5 / steps"),
    ),
    (
        "That is σ of the gate. The gate is σ of the bias: solve for the bias, "
        "ln(f / (1 − f)).",
        *(_BIAS, "1 / (1 + math.exp(-f))"),
    ),
    (
        "That is the logarithm to base 10; σ goes with e.",
        *("math.log", "math.log10"),
    ),
    (
        "That leaves half after ONE step. Half is to be left after all of "
        "them: f to the power `steps` is one half.",
        *(_F, "0.5"),
    ),
    (
        "Your f is 1 − 1 / steps. That to the power `steps` is about 1 / e; "
        "take the root of one half.",
        *(_F, "1 - 1 / max(2, steps)"),
    ),
    (
        "Your f is 1 − 0.5 / steps. That to the power `steps` is not one half "
        "but more; take the root of one half.",
        *(_F, "1 - 0.5 / steps"),
    ),
    (
        "Your f is e to the power −1 / steps: that leaves 1 / e after all of "
        "them, and half is to be left.",
        *(_F, "math.exp(-1 / steps)"),
    ),
    (
        "Your f is 0.5 to the power `steps`. Take the root: 0.5 to the power "
        "1 / steps.",
        *(_F, "0.5**steps"),
    ),
    (
        "That is the logarithm of the steps. Find f first, 0.5 to the power "
        "1 / steps, and then its bias, ln(f / (1 − f)).",
        *(_BIAS, "math.log(steps)"),
    ),
    (
        "That is the logarithm of f. The gate is σ(bias), not e to the bias.",
        *(_BIAS, "math.log(f)"),
    ),
    (_BIASES, "return b_ih, b_hh", "return b_ih"),
    (_OTHER_ORDER, "return b_ih, b_hh", "return b_hh, b_ih"),
    (_STRIDED, _GATE, "slice(1, None, 4)"),
    (_ONE_MORE, _GATE, "slice(hidden, 2 * hidden + 1)"),
    (_ALL_FOUR.format("b_ih"), _GATE, "slice(None)"),
    (_ALL_FOUR.format("b_hh"), _OFF, "b_hh[:] = 0"),
    (_OTHER_GATE.format(_GATES[0]), _GATE, "slice(0, hidden)"),
    (_OTHER_GATE.format(_GATES[2]), _GATE, "slice(2 * hidden, 3 * hidden)"),
    (_OTHER_GATE.format(_GATES[3]), _GATE, "slice(3 * hidden, None)"),
    (_NOTHING, "len(b_ih) // 4", "len(b_ih)"),
    (_NOT_ZERO, _OFF, "pass"),
    (_ADDED, "b_ih[gate] =", "b_ih[gate] +="),
    (_BOTH_ADDED, "b_ih[gate] =", "b_ih[gate] +=", _OFF, "pass"),
):
    hold_for.slip(_hint, *_typed)

hold_for.style(
    edited(
        hold_for_solution,
        *(_OFF, f"b_hh[gate] = 0.75 * {_BIAS}"),
        *(f"b_ih[gate] = {_BIAS}", f"b_ih[gate] = 0.25 * {_BIAS}"),
    )
)


@hold_for.style
def _by_odds(b_ih, b_hh, steps):
    f, n = torch.tensor(2.0).pow(-1 / steps), len(b_ih) // 4
    b_ih, b_hh = b_ih.clone(), b_hh.clone()
    b_ih[n : 2 * n], b_hh[n : 2 * n] = 0.0, torch.logit(f)
    return b_ih, b_hh
