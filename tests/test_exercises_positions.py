"""Plausible wrong answers to the exercises on positions, and their hints."""

import math

import numpy as np
import pytest
import torch
from test_exercises import said_about

from lookback.exercises import check
from lookback.positions import angles, rotate, sinusoidal

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    "answer, words",
    [
        ((1.41, 0.01, 0.5), "length of the code, √2"),
        ((0.5, 0.01, 0.5), "a mean, not a sum"),
        ((4, 0.01, 0.5), "each PAIR of squares"),
        ((1, 0.01, 0.5), "d = 4 makes two"),
        ((2, 2.0, 0.5), "found in degrees"),
        ((2, -1.98, 0.5), "at the speed 1"),
        ((2, -0.03, 0.5), "speed 0.1 = 10000^(−1/4)"),
        ((2, 0.17, 0.5), "adds sines"),
        ((2, -0.99, 0.5), "the first pair only"),
        ((2, 1.0, 0.5), "the second pair only"),
        ((2, 1.75, 0.5), "adds the places"),
        ((2, 0.01, 0.33), "is 1/3"),
        ((2, 0.01, 2), "divide it by d = 4"),
        ((2, 0.01, 1), "one pair's squares"),
        ((2, 0.01, 0.25), "by d = 4. Two pairs"),
        ((2, 5, 0.5), "no slip that the check knows"),
        ((0.01, 2, 0.5), "in another order"),
        ((0.5, 0.01, 2), "in another order"),
        ((2, 0.01), "You gave 2 numbers"),
    ],
)
def test_codes_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "codes_by_hand", answer)


@pytest.mark.parametrize(
    "answer",
    [(2, 0.01, 0.5), [2.0, 0.0096, 0.5], np.array([2, 0.01, 0.5])]
    + [torch.tensor([2.0, 0.0096, 0.5])],
)
def test_codes_by_hand_takes_rounded_answers(answer):
    assert check.codes_by_hand(answer) is True


def angled(angle):
    """Codes whose angle is `angle`(place, column, d)."""

    def mine(places, d):
        return torch.tensor(
            [
                [
                    (math.cos if c % 2 else math.sin)(angle(p, c, d))
                    for c in range(d)
                ]
                for p in places.tolist()
            ]
        )

    return mine


def hands(places, d):
    return places[:, None] * angles(2, d)[1]


def halves(places, d):
    return torch.cat([hands(places, d).sin(), hands(places, d).cos()], 1)


def paired(places, d):
    return torch.stack([hands(places, d).sin(), hands(places, d).cos()], -1)


@pytest.mark.parametrize(
    "mine, words",
    [
        (halves, "all cosines in the second"),
        (lambda p, d: paired(p, d).flip(-1).flatten(1), "are exchanged"),
        (lambda p, d: sinusoidal(len(p), d), "count the places yourself"),
        (angled(lambda p, c, d: p / 10000 ** (c / d)), "its own speed"),
        (angled(lambda p, c, d: p / 10000 ** (c // 2 / d)), "yours is i/d"),
        (
            angled(lambda p, c, d: p * 10000 ** ((c - c % 2) / d)),
            "faster and faster",
        ),
        (lambda p, d: hands(p, d).sin().repeat_interleave(2, 1), "sines only"),
        (lambda p, d: hands(p, d).repeat_interleave(2, 1), "are the angles"),
        (
            angled(lambda p, c, d: p / 10000 ** ((c - c % 2) / d) / 57.29578),
            "in degrees",
        ),
        (lambda p, d: paired(p, d).flatten(1).T, "Yours is [d, length]"),
        (lambda p, d: hands(p, d).sin(), "not both"),
        (paired, "Lay each pair flat"),
        (lambda p, d: paired(p, d).movedim(-1, 0), "Stack along the last"),
        (angled(lambda p, c, d: p / 1000 ** (c // 2 * 2 / d)), "yours of 1000"),
        (
            angled(lambda p, c, d: p / 10001 ** (c // 2 * 2 / d)),
            "yours of 10001",
        ),
        (
            angled(lambda p, c, d: p / 10000 ** (c // 2 * 4 / d)),
            "yours is 4i/d",
        ),
        (lambda p, d: sinusoidal(len(p), d, start=1), "one too large"),
        (lambda p, d: by_columns(p + 1, d), "one too large"),
        (
            angled(lambda p, c, d: p / 10000 ** ((c // 2 + 1) * 2 / d)),
            "i counts from 0",
        ),
        (lambda p, d: halves(p, d).roll(d // 2, 1), "All cosines stand in"),
        (
            lambda p, d: hands(p, d).cos().repeat_interleave(2, 1),
            "cosines only",
        ),
        (lambda p, d: sinusoidal(40, d)[p.long()] / 0, "NaN or infinity"),
    ],
)
def test_position_codes(mine, words, capsys):
    assert words in said_about(capsys, "position_codes", mine)


def by_columns(places, d):
    out = torch.zeros(len(places), d)
    out[:, 0::2] = hands(places, d).sin()
    out[:, 1::2] = hands(places, d).cos()
    return out


def by_numpy(places, d):
    fine = places.numpy().astype("float64")[:, None]
    angle = fine / 10000.0 ** (np.arange(0, d, 2) / d)
    out = np.empty((len(places), d))
    out[:, 0::2], out[:, 1::2] = np.sin(angle), np.cos(angle)
    return torch.tensor(out)


def by_logarithms(places, d):
    speeds = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    angle = torch.einsum("l,i->li", places.to(speeds.dtype), speeds)
    return torch.stack((angle.sin(), angle.cos()), dim=2).view(-1, d)


@pytest.mark.parametrize(
    "mine",
    [
        by_columns,
        by_numpy,
        by_logarithms,
        lambda p, d: sinusoidal(1001, d)[p.long()],
    ],
)
def test_position_codes_takes_other_routes(mine):
    assert check.position_codes(mine) is True


def turning(angle, sign=1):
    """Pairs turned by `angle`(length, d)."""

    def mine(x):
        turn = sign * angle(*x.shape[1:])
        a, b = x[..., 0::2], x[..., 1::2]
        new = [a * turn.cos() - b * turn.sin(), a * turn.sin() + b * turn.cos()]
        return torch.stack(new, -1).flatten(-2)

    return mine


def by_halves(x):
    a, b = x.chunk(2, -1)
    turn = angles(*x.shape[1:])
    return torch.cat(
        [a * turn.cos() - b * turn.sin(), a * turn.sin() + b * turn.cos()], -1
    )


def into_halves(x):
    turned = rotate(x)
    return torch.cat([turned[..., 0::2], turned[..., 1::2]], -1)


def in_place(x):
    x, turn = x.clone(), angles(*x.shape[1:])
    a, b = x[..., 0::2], x[..., 1::2]
    a[:] = a * turn.cos() - b * turn.sin()
    b[:] = a * turn.sin() + b * turn.cos()
    return x


def signed(x, first, second):
    turn = angles(*x.shape[1:])
    a, b = x[..., 0::2], x[..., 1::2]
    new = [
        a * turn.cos() + first * b * turn.sin(),
        a * turn.sin() + second * b * turn.cos(),
    ]
    return torch.stack(new, -1).flatten(-2)


def over_the_batch(x):
    batch, length, d = x.shape
    turn = angles(batch, d)[:, None]
    a, b = x[..., 0::2], x[..., 1::2]
    new = [a * turn.cos() - b * turn.sin(), a * turn.sin() + b * turn.cos()]
    return torch.stack(new, -1).flatten(-2)


def off_base(length, d, base):
    return torch.arange(length)[:, None] * base ** -(torch.arange(0, d, 2) / d)


def slow(length, d):
    exponent = torch.arange(d // 2) / d
    return torch.arange(length)[:, None] * 10000**-exponent


@pytest.mark.parametrize(
    "mine, words",
    [
        (turning(angles, -1), "You turn the other way"),
        (by_halves, "number i + d/2"),
        (lambda x: x + sinusoidal(*x.shape[1:]), "adds nothing"),
        (lambda x: x * sinusoidal(*x.shape[1:]), "from BOTH old ones"),
        (
            lambda x: x * angles(*x.shape[1:]).cos().repeat_interleave(2, -1),
            "Only the cosines",
        ),
        (lambda x: rotate(x, start=1), "begin at 1"),
        (
            turning(lambda n, d: torch.arange(n)[:, None] * torch.ones(d // 2)),
            "at the speed 1",
        ),
        (turning(slow), "yours is i/d"),
        (in_place, "uses the new a"),
        (lambda x: x, "Nothing turns"),
        (into_halves, "stand in two halves"),
        (lambda x: rotate(x).unflatten(-1, (-1, 2)), "Lay each pair flat"),
        (lambda x: rotate(x)[..., 0::2], "numbers are missing"),
        (lambda x: 2 * rotate(x), "a value is not"),
        (
            turning(lambda n, d: angles(n, d) ** 2 / angles(n, 2).clamp(min=1)),
            "yours is 4i/d",
        ),
        (
            lambda x: rotate(x.transpose(0, 1)).transpose(0, 1),
            "along the batch",
        ),
        (over_the_batch, "along the batch"),
        (
            turning(
                lambda n, d: angles(n, d) * 10000 ** (-2 / d),
            ),
            "i counts from 0",
        ),
        (lambda x: signed(x, 1, 1), "yours has none"),
        (lambda x: signed(x, -1, -1), "yours has a second one"),
        (
            lambda x: rotate(x).unflatten(-1, (-1, 2)).flip(-1).flatten(-2),
            "in the wrong order",
        ),
        (turning(lambda n, d: math.pi / 2 - angles(n, d)), "are exchanged"),
        (turning(lambda n, d: angles(n, d) * math.pi / 180), "in degrees"),
        (turning(lambda n, d: off_base(n, d, 10_001)), "yours of 10001"),
        (turning(lambda n, d: off_base(n, d, 100_000)), "yours of 100000"),
    ],
)
def test_turn_by_place(mine, words, capsys):
    assert words in said_about(capsys, "turn_by_place", mine)


def complexly(x):
    turn = angles(*x.shape[1:])
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    turned = pairs * torch.polar(torch.ones_like(turn), turn)
    return torch.view_as_real(turned).flatten(-2)


def pair_by_pair(x):
    x = x.detach().numpy().astype("float64")
    out = np.empty_like(x)
    for place in range(x.shape[1]):
        for i in range(0, x.shape[2], 2):
            turn = place / 10000 ** (i / x.shape[2])
            a, b = x[:, place, i], x[:, place, i + 1]
            out[:, place, i] = a * np.cos(turn) - b * np.sin(turn)
            out[:, place, i + 1] = a * np.sin(turn) + b * np.cos(turn)
    return torch.from_numpy(out)


@pytest.mark.parametrize("mine", [complexly, turning(angles), pair_by_pair])
def test_turn_by_place_takes_other_routes(mine):
    assert check.turn_by_place(mine) is True


def blocks(turn, sign=1):
    """Rotations by `turn`(omega, k) along the diagonal."""

    def mine(omega, k):
        angle = turn(omega, k)
        cos, sin = angle.cos(), sign * angle.sin()
        each = torch.stack([cos, sin, -sin, cos], -1).reshape(-1, 2, 2)
        return torch.block_diag(*each)

    return mine


def right(omega, k):
    return k * omega


def laid(first, second, third, fourth):
    """Blocks of c, s, −c, −s in this order, each written as "c" or "-s"."""

    def mine(omega, k):
        turn = k * omega
        number = {"c": turn.cos(), "s": turn.sin()}
        names = (first, second, third, fourth)
        each = [
            -number[n[1]] if n.startswith("-") else number[n] for n in names
        ]
        blocks = torch.stack(each, -1).reshape(-1, 2, 2)
        return torch.block_diag(*blocks)

    return mine


def sines_first(omega, k):
    d = 2 * len(omega)
    even = torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
    return blocks(right)(omega, k)[even][:, even]


@pytest.mark.parametrize(
    "mine, words",
    [
        (blocks(right, -1), "Yours leads back"),
        (blocks(lambda w, k: abs(k) * w), "Right for k > 0 only"),
        (laid("c", "s", "s", "-c"), "Yours has it on a cosine"),
        (laid("c", "s", "s", "c"), "Yours has none"),
        (laid("s", "c", "-c", "s"), "Sine and cosine are exchanged"),
        (sines_first, "all sines first"),
        (blocks(lambda w, k: k * torch.ones(len(w))), "hand i turns by k ω_i"),
        (blocks(lambda w, k: w), "k does not count"),
        (
            blocks(lambda w, k: k * angles(2, 2 * len(w))[1]),
            "compute the speeds of the hands yourself",
        ),
        (
            lambda w, k: k * blocks(lambda w, k: w)(w, k),
            "k belongs to the angle",
        ),
        (lambda w, k: torch.full((2 * len(w),) * 2, math.nan), "NaN"),
        (lambda w, k: torch.eye(2 * len(w)), "the identity"),
        (
            lambda w, k: torch.diag((k * w).cos().repeat_interleave(2)),
            "Only the cosines",
        ),
        (lambda w, k: torch.zeros(2 * len(w), 2 * len(w)), "a value is not"),
        (lambda w, k: torch.ones(len(w), 2, 2), "along a diagonal"),
        (right, "Shape first"),
    ],
)
def test_step_matrix(mine, words, capsys):
    assert words in said_about(capsys, "step_matrix", mine)


def fitted(omega, k):
    """The matrix that fits the codes best, whatever its sines."""
    angle = torch.arange(-200, 19_800)[:, None] * omega.double()
    codes = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
    solved = torch.linalg.lstsq(codes[: -abs(k)], codes[abs(k) :]).solution.T
    return solved if k > 0 else torch.linalg.inv(solved)


def filled(omega, k):
    M = torch.zeros(2 * len(omega), 2 * len(omega), dtype=torch.float64)
    for i, speed in enumerate(omega.tolist()):
        M[2 * i, 2 * i] = M[2 * i + 1, 2 * i + 1] = math.cos(k * speed)
        M[2 * i, 2 * i + 1] = math.sin(k * speed)
        M[2 * i + 1, 2 * i] = -math.sin(k * speed)
    return M


@pytest.mark.parametrize("mine", [fitted, blocks(right), filled])
def test_step_matrix_takes_other_routes(mine):
    assert check.step_matrix(mine) is True
