"""Plausible wrong answers to the chapter `recurrence`, and their hints."""

import math

import numpy as np
import pytest
import torch
from test_exercises import said_about

from lookback.exercises import check

pytestmark = pytest.mark.nightly

RIGHT = [0.5**30, 1.1**100]


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, 15, "thirty times a half"),
        (0, 0.0167, "divided by thirty"),
        (0, 0.00098, "take its third power"),
        (0, 1e-6, "ten factors are missing"),
        (0, 0.5**29, "to the power 29"),
        (0, 0.5**31, "to the power 31"),
        (0, 1_073_741_824, "turn it round"),
        (0, -9, "0.5³⁰: −9 is the power of ten"),
        (0, -9.3e-10, "0.5³⁰: a product of positive"),
        (0, 9, "0.5³⁰: That is the power of ten"),
        (0, 3e-5, "0.5³⁰: not yet right"),
        (0, 0, "a product of positive"),
        (1, 110, "a hundred times 1.1"),
        (1, 11, "You added a tenth"),
        (1, 2.59, "take that to the power 10 again"),
        (1, 25.9, "ten times 1.1 to the power 10"),
        (1, 22026, "ln 1.1 is 0.0953"),
        (1, 1024, "nearer to 2.6"),
        (1, 4, "1.1¹⁰⁰: That is the power of ten"),
        (1, 5e7, "no slip that the check knows"),
    ],
)
def test_powers_by_hand(place, value, words, capsys):
    answer = list(RIGHT)
    answer[place] = value
    assert words in said_about(capsys, "powers_by_hand", answer)


@pytest.mark.parametrize(
    "answer", [(1e-9, 13_800), [9.5e-10, 1.4e4], np.array(RIGHT)]
)
def test_powers_by_hand_takes_rounded_answers(answer):
    assert check.powers_by_hand(answer) is True


def test_two_answers_need_no_brackets():
    assert check.powers_by_hand(1e-9, 13_800) is True


def back(U, states, slope=lambda h: h * (1 - h), of=None, side="left"):
    """The product, step after step, with one thing done otherwise."""
    J = torch.eye(len(U), dtype=U.dtype)
    for h in (states[1:] if of is None else of).unbind(0):
        D = torch.diag(slope(h))
        J = (D @ U if side == "left" else U @ D) @ J
    return J


def unbracketed(U, states):
    J = torch.eye(len(U))
    for h in states[1:]:
        J = h * (1 - h)[:, None] * U @ J
    return J


def starred(U, states):
    J = torch.ones_like(U)
    for h in states[1:]:
        J = J * ((h * (1 - h))[:, None] * U)
    return J


def jacobian_of_each(U, states):
    return torch.stack([back(U, states[t:]) for t in range(len(states))])


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda U, s: back(U, s, lambda h: 1 - h**2), "tanh's slope"),
        (lambda U, s: back(U, s, of=s), "one factor too many"),
        (lambda U, s: back(U, s, of=s[1:-1]), "One factor is missing"),
        (lambda U, s: back(U, s, of=s[:-1]), "taken where the step arrives"),
        (lambda U, s: back(U, s, of=s[1:].flip(0)), "wrong order"),
        (lambda U, s: back(U, s, side="right"), "diag stands behind U"),
        (lambda U, s: back(U.T, s), "U transposed"),
        (lambda U, s: back(U, s).T, "the transpose of the Jacobian"),
        (lambda U, s: back(U, s, torch.ones_like), "left out the slopes"),
        (lambda U, s: back(U, s, lambda h: 1 - h), "Your slopes are 1 − h"),
        (lambda U, s: back(U, s, lambda h: h), "Your slopes are h itself"),
        (
            lambda U, s: back(
                U, s, lambda h: torch.sigmoid(h) * (1 - torch.sigmoid(h))
            ),
            "h is the value of σ already",
        ),
        (
            lambda U, s: back(torch.eye(len(U)), s),
            "You left out U",
        ),
        (starred, "multiplied number by number"),
        (lambda U, s: back(U, s) @ U, "Begin with the identity"),
        (lambda U, s: back(U, s, of=s[2:]), "from h_1 to h_2, is missing"),
        (unbracketed, "put the slopes in brackets"),
        (jacobian_of_each, "give the one back to h_1"),
        (lambda U, s: (s[1:] * (1 - s[1:]))[:, :, None] * U, "multiply them"),
        (lambda U, s: back(U, s).sum(1), "A Jacobian is a matrix"),
        (lambda U, s: back(U, s) * math.nan, "NaN"),
        (lambda U, s: back(U, s).tolist(), "torch tensor"),
        (lambda U, s: back(U, s) + 0.1, "a value is not"),
    ],
)
def test_carry_back(mine, words, capsys):
    assert words in said_about(capsys, "carry_back", mine)


def from_the_end(U, states):
    J = torch.eye(len(U))
    for h in reversed(states[1:]):
        J = J @ (h * (1 - h)).unsqueeze(1).mul(U)
    return J


def by_chain(U, states):
    factors = [torch.diag(h - h**2) @ U for h in states[1:].flip(0)]
    return torch.linalg.multi_dot([torch.eye(len(U))] * 2 + factors)


@pytest.mark.parametrize("mine", [back, from_the_end, by_chain])
def test_carry_back_by_another_route(mine):
    assert check.carry_back(lambda U, states: mine(U, states)) is True


def scaled(dW, dU, factor):
    return dW * factor, dU * factor


def norm(dW, dU):
    return (dW.square().sum() + dU.square().sum()).sqrt()


def each(dW, dU, limit):
    return tuple(g * min(1, limit / float(g.norm())) for g in (dW, dU))


def squared(dW, dU, limit):
    n = norm(dW, dU) ** 2
    return scaled(dW, dU, min(1, limit / float(n)))


def one_then_the_other(dW, dU, limit):
    if norm(dW, dU) > limit:
        dW = dW * limit / norm(dW, dU)
    if norm(dW, dU) > limit:
        dU = dU * limit / norm(dW, dU)
    return dW, dU


def of_mean(dW, dU, limit):
    both = torch.cat([dW.flatten(), dU.flatten()])
    n = both.square().mean().sqrt()
    return scaled(dW, dU, min(1, limit / float(n)))


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            lambda a, b, n: (a.clamp(-n, n), b.clamp(-n, n)),
            "You clip every number by itself",
        ),
        (each, "by its own length"),
        (
            lambda a, b, n: scaled(a, b, n / norm(a, b)),
            "One that is short enough stays",
        ),
        (lambda a, b, n: (a, b), "too long, and yours stays"),
        (
            lambda a, b, n: scaled(a, b, max(1, n / float(norm(a, b)))),
            "the smaller one of 1 and limit",
        ),
        (
            lambda a, b, n: scaled(a, b, min(1, n / float(a.norm()))),
            "You measure dW alone",
        ),
        (
            lambda a, b, n: scaled(a, b, min(1, n / float(b.norm()))),
            "You measure dU alone",
        ),
        (
            lambda a, b, n: scaled(
                a, b, min(1, n / float(torch.maximum(a.norm(), b.norm())))
            ),
            "or the longer of the two",
        ),
        (
            lambda a, b, n: scaled(
                a,
                b,
                min(1, n / max(float(a.abs().max()), float(b.abs().max()))),
            ),
            "the largest number, not the length",
        ),
        (squared, "take the root"),
        (
            lambda a, b, n: scaled(a, b, 1 / norm(a, b)),
            "the limit is to be its length",
        ),
        (of_mean, "not of their mean"),
        (one_then_the_other, "You shorten dW first"),
        (
            lambda a, b, n: scaled(
                a, b, min(1, n / float(a.norm() + b.norm()))
            ),
            "You add the two lengths",
        ),
        (
            lambda a, b, n: scaled(
                a, b, min(1, n / float(a.abs().sum() + b.abs().sum()))
            ),
            "is another norm",
        ),
        (lambda a, b, n: a, "Give back two tensors"),
        (lambda a, b, n: (b, a), "the new dW is [3, 4]"),
        (lambda a, b, n: scaled(a, b, math.nan), "NaN"),
        (lambda a, b, n: scaled(a, b, 0.5), "comes back with a length of"),
        (lambda a, b, n: scaled(a, b, n / torch.cat([a, b], 1).norm()), "cat"),
        (
            lambda dW, dU, limit: scaled(
                dW,
                dU,
                torch.minimum(norm(dW, dU), torch.tensor(limit)) / norm(dW, dU),
            ),
            "nothing but zeros",
        ),
    ],
)
def test_clip_by_norm(mine, words, capsys):
    assert words in said_about(capsys, "clip_by_norm", mine)


def as_torch_does(dW, dU, limit):
    return scaled(dW, dU, (limit / (norm(dW, dU) + 1e-6)).clamp(max=1.0))


def by_stack(dW, dU, limit):
    n = torch.stack([dW.norm(), dU.norm()]).norm()
    return list(scaled(dW, dU, limit / max(float(n), limit)))


@pytest.mark.parametrize("mine", [as_torch_does, by_stack])
def test_clip_by_norm_by_another_route(mine):
    assert check.clip_by_norm(mine) is True


def put(b_ih, b_hh, bias, other=0.0, quarter=1):
    b_ih, b_hh = b_ih.clone(), b_hh.clone()
    n = len(b_ih) // 4
    gate = slice(quarter * n, (quarter + 1) * n)
    b_ih[gate] = bias
    if other is not None:
        b_hh[gate] = other
    return b_ih, b_hh


def gate_of(steps):
    return 0.5 ** (1 / steps)


def bias_of(steps):
    return math.log(gate_of(steps) / (1 - gate_of(steps)))


def logit(f):
    return math.log(f / (1 - f))


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def strided(b_ih, b_hh, steps):
    b_ih, b_hh = b_ih.clone(), b_hh.clone()
    b_ih[1::4], b_hh[1::4] = bias_of(steps), 0.0
    return b_ih, b_hh


def one_too_many(b_ih, b_hh, steps):
    n, b_ih, b_hh = len(b_ih) // 4, b_ih.clone(), b_hh.clone()
    b_ih[n : 2 * n + 1], b_hh[n : 2 * n + 1] = bias_of(steps), 0.0
    return b_ih, b_hh


def added(b_ih, b_hh, steps, other=None):
    n = len(b_ih) // 4
    old = b_ih[n : 2 * n]
    return put(b_ih, b_hh, old + bias_of(steps), other)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda a, b, s: put(a, b, bias_of(s), bias_of(s)), "counts twice"),
        (lambda a, b, s: put(a, b, gate_of(s)), "where its bias belongs"),
        (lambda a, b, s: put(a, b, gate_of(s), gate_of(s)), "Both hold f"),
        (lambda a, b, s: put(a, b, -bias_of(s)), "The sign"),
        (lambda a, b, s: put(a, b, 0.0), "half after ONE step"),
        (
            lambda a, b, s: put(a, b, math.log(max(s - 1, 1))),
            "take the root of one half",
        ),
        (lambda a, b, s: put(a, b, math.log(gate_of(s))), "logarithm of f"),
        (lambda a, b, s: put(a, b, sigmoid(gate_of(s))), "σ of the gate. The"),
        (lambda a, b, s: put(a, b, bias_of(s) / math.log(10)), "base 10"),
        (strided, "every fourth number"),
        (one_too_many, "one number too many"),
        (lambda a, b, s: put(a, b, math.log(s)), "logarithm of the steps"),
        (lambda a, b, s: put(a, b, logit(0.5**s)), "Take the root: 0.5"),
        (lambda a, b, s: put(a, b, logit(math.exp(-1 / s))), "1 / e after all"),
        (
            lambda a, b, s: put(a, b, logit(1 - 0.5 / s)),
            "not one half but more",
        ),
        (
            lambda a, b, s: put(a, b, math.log(0.5 / s / (1 - 0.5 / s))),
            "a half divided by the steps",
        ),
        (lambda a, b, s: put(a, b, bias_of(s), None), "make that 0"),
        (added, "You added to the old biases"),
        (lambda a, b, s: added(a, b, s, 0.0), "You added to the old bias."),
        (lambda a, b, s: put(a, b, 3.0), "It should be 0.5"),
        (
            lambda a, b, s: put(a, b, bias_of(s), quarter=0),
            "bias of the input gate",
        ),
        (
            lambda a, b, s: put(a, b, bias_of(s), quarter=2),
            "bias of the new content",
        ),
        (
            lambda a, b, s: put(a, b, bias_of(s), quarter=3),
            "bias of the output gate",
        ),
        (lambda a, b, s: (a * 0 + bias_of(s), b * 0), "all of b_ih"),
        (
            lambda a, b, s: (put(a, b, bias_of(s))[0], b * 0),
            "all of b_hh, the biases of all four",
        ),
        (lambda a, b, s: put(a, b, bias_of(s))[0], "Give back both"),
        (lambda a, b, s: put(a, b, bias_of(s))[::-1], "in the other order"),
        (lambda a, b, s: put(a, b, math.nan), "nan of the belt"),
    ],
)
def test_hold_for(mine, words, capsys):
    assert words in said_about(capsys, "hold_for", mine)


def shared(b_ih, b_hh, steps):
    return put(b_ih, b_hh, 0.25 * bias_of(steps), 0.75 * bias_of(steps))


def by_odds(b_ih, b_hh, steps):
    f = torch.tensor(2.0).pow(-1 / steps)
    return put(b_ih, b_hh, 0.0, torch.logit(f).item())


@pytest.mark.parametrize("mine", [shared, by_odds])
def test_hold_for_by_another_route(mine):
    assert check.hold_for(mine) is True
