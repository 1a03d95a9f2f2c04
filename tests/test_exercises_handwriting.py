"""Plausible wrong answers to the chapter `handwriting`, and their hints."""

import math

import pytest
import torch
from test_exercises import said_about

from lookback.exercises import check

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([0.16, 0.464, 0.377], "You divided by the sum"),
        ([0.386, 1.368, 1.368], "β stands in the exponent"),
        ([0.018, 0.368, 1.068], "counted the letters from 0"),
        ([0.377, 1.068, 0.868], "The distance is squared"),
        ([0.368, 1.009, 0.868], "You squared β"),
        ([0.435, 1.303, 0.868], "You divided by β"),
        ([0.368, 1, 0.368], "first bell alone"),
        ([0, 0.068, 0.5], "second bell alone"),
        ([0.368, 1.135, 1.368], "you left out α"),
        ([0, 0.068, 0.184], "You multiplied the bells"),
        ([0.3, 1, 1], "Take letter 2"),
        ([0.368, 1.068], "You gave 2 numbers"),
        ([math.nan, 1, 1], "NaN"),
    ],
)
def test_phi_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "phi_by_hand", answer)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((0.077, 20), "That is the speed itself"),
        ((2.565, 20), "you want 13 points a letter"),
        ((-13, 20), "hardly at all"),
        ((-1.114, 20), "base e, since"),
        ((-3.7, 20), "not to the base 2"),
        ((-3, 20), "how long the text is"),
        ((-1, 20), "which number, in an exponential"),
        ((-2.565, 260), "how many points it should take"),
        ((-2.565, 1), "after the first point"),
        ((-2.565, 0), "the window does move"),
        ((-2.565, 13), "how far does the window go"),
    ],
)
def test_first_speed_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "first_speed_by_hand", answer)


def bells(
    a, b, k, length, first=1, sign=-1, power=2, squared=False, wide=False
):
    b = b**2 if squared else 1 / b if wide else b
    u = torch.arange(first, first + length)
    far = (k[:, None] - u).abs() ** power
    return (a[:, None] * torch.exp(sign * b[:, None] * far)).sum(0)


def parts(raw):
    return raw.chunk(3)


def cut(raw, kappa):
    a, b, k = raw.exp().reshape(-1, 3).unbind(1)
    return a, b, kappa + k


def weights_of(raw, kappa, length, **how):
    a, b, k = raw.exp().chunk(3)
    return bells(a, b, kappa + k, length, **how)


def plain(which):
    """The exponential of one of the three is forgotten, or of all."""

    def mine(raw, kappa, n):
        three = [
            part if which in (i, "all") else part.exp()
            for i, part in enumerate(raw.chunk(3))
        ]
        return bells(three[0], three[1], kappa + three[2], n)

    return mine


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda r, k, n: weights_of(r, 0 * k, n), "starts from nothing"),
        (
            lambda r, k, n: bells(*r.exp().chunk(3)[:2], k, n),
            "The window does not move",
        ),
        (plain(2), "the window may go back"),
        (plain(0), "a weight may be below 0"),
        (plain(1), "a bell may open upwards"),
        (plain("all"), "None of the three"),
        (
            lambda r, k, n: weights_of(
                torch.cat([r.chunk(3)[i] for i in (1, 0, 2)]), k, n
            ),
            "in another order",
        ),
        (lambda r, k, n: bells(*cut(r, k), n), "bell by bell"),
        (lambda r, k, n: weights_of(r, k, n, squared=True), "squared β"),
        (lambda r, k, n: weights_of(r, k, n, wide=True), "took β for a width"),
        (lambda r, k, n: weights_of(r, k, n, first=0), "counted from 1"),
        (
            lambda r, k, n: weights_of(r, k, n) / weights_of(r, k, n).sum(),
            "not normalised",
        ),
        (lambda r, k, n: weights_of(r, k, n, sign=1), "minus sign"),
        (lambda r, k, n: weights_of(r, k, n, power=1), "squared"),
        (
            lambda r, k, n: bells(
                *r.exp().chunk(3)[:2], (k + r.chunk(3)[2]).exp(), n
            ),
            "exponential of the place itself",
        ),
        (lambda r, k, n: weights_of(r, k, n + 1), "u = 1 … length"),
        (lambda r, k, n: weights_of(r, k, n).tolist(), "torch tensor"),
        (lambda r, k, n: weights_of(r, k, n) * math.nan, "NaN"),
    ],
)
def test_soft_window(mine, words, capsys):
    def named(raw, kappa, length):
        return mine(raw, kappa, length)

    assert words in said_about(capsys, "soft_window", named)


def by_loop(raw, kappa, length):
    k = len(kappa)
    weights = torch.zeros(length)
    for u in range(1, length + 1):
        for i in range(k):
            a, b = math.exp(raw[i]), math.exp(raw[k + i])
            place = kappa[i] + math.exp(raw[2 * k + i])
            weights[u - 1] += a * math.exp(-b * (place - u) ** 2)
    return weights


def test_soft_window_by_another_route():
    assert check.soft_window(by_loop) is True


def likely(w, m, s, t, at, *, top=1.0, power=0.5, two=2.0, lean=1.0, z=None):
    """The right formula, with places at which to get it wrong."""
    z = (at - m) / s if z is None else z
    one = 1 - t**2
    Z = (z**2).sum(-1) - lean * 2 * t * z.prod(-1)
    height = top * 2 * math.pi * s.prod(-1) * one**power
    return (w * torch.exp(-Z / (two * one)) / height).sum().log()


def without_one(w, m, s, t, at):
    z = (at - m) / s
    Z = (z**2).sum(-1) - 2 * t * z.prod(-1)
    height = 2 * math.pi * s.prod(-1) * (1 - t**2).sqrt()
    return (w * torch.exp(-Z / 2) / height).sum().log()


def logs_first(w, m, s, t, at):
    one = [
        likely(torch.ones(1), m[i : i + 1], s[i : i + 1], t[i : i + 1], at)
        for i in range(len(w))
    ]
    return (w * torch.stack(one)).sum()


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda *a: likely(*a).exp(), "its logarithm is asked"),
        (lambda *a: -likely(*a), "minus the logarithm"),
        (logs_first, "logarithms first"),
        (lambda w, *a: likely(torch.ones_like(w), *a), "weights π"),
        (lambda w, m, s, t, at: likely(w, m, s, 0 * t, at), "do not lean"),
        (lambda w, m, s, t, at: likely(w, m, s, -t, at), "wrong sign"),
        (lambda *a: likely(*a, power=0.0), "root of 1 − ρ² is missing"),
        (lambda *a: likely(*a, power=1.0), "√(1 − ρ²)"),
        (lambda *a: likely(*a, lean=0.0), "2 ρ z₁ z₂ is missing"),
        (lambda w, *a: likely(w.exp(), *a), "took it for a logarithm"),
        (lambda w, *a: likely(w.softmax(0), *a), "its softmax once more"),
        (without_one, "missing in the exponent"),
        (lambda *a: likely(*a, top=1 / (2 * math.pi)), "The 2 π"),
        (
            lambda w, m, s, t, at: likely(w / (1 / s.prod(-1)), m, s, t, at),
            "a narrow ellipse is high",
        ),
        (lambda *a: likely(*a, two=1.0), "The 2 in the exponent"),
        (lambda w, m, s, t, at: likely(w, m, s.exp(), t, at), "once more"),
        (lambda w, m, s, t, at: likely(w, m, s.sqrt(), t, at), "its root"),
        (
            lambda w, m, s, t, at: likely(w, m, s, t, at, z=(at - m) / s**2),
            "divided by σ²",
        ),
        (lambda w, m, s, t, at: w, "for each ellipse"),
        (lambda w, m, s, t, at: at, "for each axis"),
        (lambda *a: likely(*a) * math.nan, "NaN"),
    ],
)
def test_log_density(mine, words, capsys):
    def named(share, mean, sigma, tilt, move):
        return mine(share, mean, sigma, tilt, move)

    assert words in said_about(capsys, "log_density", named)


def by_torch(weight, mean, spread, tilt, move):
    cross = tilt * spread.prod(-1)
    table = torch.stack([spread[:, 0] ** 2, cross, cross, spread[:, 1] ** 2], 1)
    normal = torch.distributions.MultivariateNormal(mean, table.view(-1, 2, 2))
    return (normal.log_prob(move) + weight.log()).logsumexp(0)


def test_log_density_by_another_route():
    assert check.log_density(by_torch) is True
    assert check.log_density(lambda *a: by_torch(*a).item()) is True
