"""The exercises of `positions`: each check beside its reference solution.

What is right is computed one place and one pair at a time with `math` and
complex numbers, never taken from the solution or from `lookback.positions`.
"""

import cmath
import math
from functools import partial
from itertools import permutations

import torch

from lookback.exercises.by_hand import by_hand, stage
from lookback.exercises.checking import (
    as_tensor,
    exercise,
    expect,
    float64,
    random_inputs,
)


def codes_by_hand_solution():
    """PE(5)·PE(5), PE(5)·PE(2) and the mean square of PE(2), for d = 4."""
    speeds = [1, 0.01]  # 10000^0 and 10000^(−2/4)
    same = sum(math.cos(0 * speed) for speed in speeds)  # 1 + 1
    apart = sum(math.cos(3 * speed) for speed in speeds)  # −0.990 + 1.000
    return same, apart, 2 / 4  # two pairs, each of squares that sum to 1


_BY_HAND = (
    (
        "The first number",
        2.0,
        {
            "is the length of the code, √2. The product of a code with itself "
            "is its length squared.": math.sqrt(2),
            "is a mean, not a sum: two pairs, each with sin² + cos² = 1.": 0.5,
            "counts every number of the code as 1; only each PAIR of squares "
            "sums to 1.": 4.0,
            "has one pair only; d = 4 makes two.": 1.0,
        },
    ),
    (
        "The second number",
        math.cos(3) + math.cos(0.03),
        {
            "was found in degrees. Angles are in radians: cos 3 = −0.990.": (
                math.cos(math.radians(3)) + math.cos(math.radians(0.03))
            ),
            "turns both hands at the speed 1; the second has "
            "10000^(−2/4) = 0.01.": 2 * math.cos(3),
            "gives the second hand the speed 0.1 = 10000^(−1/4). The exponent "
            "is −2i/d, with i = 1.": math.cos(3) + math.cos(0.3),
            "adds sines of the distance: sin a sin b + cos a cos b = "
            "cos(a − b).": math.sin(3) + math.sin(0.03),
            "has the first pair only; add the second, cos 0.03.": math.cos(3),
            "has the second pair only; add the first, cos 3.": math.cos(0.03),
            "adds the places where it should subtract: the angle between the "
            "hands is (5 − 2) ω.": math.cos(7) + math.cos(0.07),
        },
    ),
    (
        "The third number",
        0.5,
        {
            "is 1/3, the mean square of a number drawn evenly from −1 to 1. "
            "In a code sin² + cos² = 1 in each pair.": 1 / 3,
            "is the sum of the squares; divide it by d = 4.": 2.0,
            "is the sum of one pair's squares; the mean of its two is "
            "half.": 1.0,
            "divides one pair's sum by d = 4. Two pairs make the sum 2.": 0.25,
        },
    ),
)


def _near(x):
    """2 or 3 decimals are enough; slips are told apart more finely."""
    return [x - 0.006, x + 0.006]


@by_hand(
    codes_by_hand_solution,
    "the two products and the mean square",
    ["PE₅ · PE₅", "PE₅ · PE₂", "mean square"],
)
def codes_by_hand():
    """Two dot products of codes and a mean square, for d = 4."""
    truths = [truth for _, truth, _ in _BY_HAND]
    other_order = (
        "Those are the three numbers, in another order: PE(5)·PE(5), "
        "PE(5)·PE(2), then the mean square."
    )
    return (
        "both products and the mean square of one half.",
        *(
            stage(truths, {other_order: others}, None, _near)
            for others in list(permutations(truths))[1:]
        ),
        *(
            stage(
                truth,
                {f"{name} {hint}": wrong for hint, wrong in slips.items()},
                f"{name}: this is no slip that the check knows. The product "
                "of two codes is a sum of cosines, one for each hand: of the "
                "distance of the two places times the hand's speed.",
                _near,
                at,
            )
            for at, (name, truth, slips) in enumerate(_BY_HAND)
        ),
    )


def position_codes_solution(places, d):
    """PE(pos, 2i) = sin(pos ω_i), PE(pos, 2i+1) = cos(pos ω_i)."""
    omega = 10000 ** (-torch.arange(0, d, 2) / d)  # [d/2]
    angle = places[:, None] * omega  # [length, d/2]
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def _speed(i, d, base=10000):
    """ω_i, the speed of pair i."""
    return base ** (-2 * i / d)


_BASES = (1_000, 9_999, 10_001, 100_000)


def _other_base(base):
    return f"ω_i is a power of 10000, and yours of {base}."


def _wave(c, angle):
    """Even columns hold sines, odd ones cosines."""
    return math.cos(angle) if c % 2 else math.sin(angle)


def _codes(places, d, angle=None, wave=_wave):
    """`wave`(column, `angle`(place, column)) for all places and columns."""
    angle = angle or (lambda p, c: p * _speed(c // 2, d))
    rows = [[wave(c, angle(p, c)) for c in range(d)] for p in places]
    return float64(rows)


def _codes_gone_wrong(places, d):
    """What each likely mistake in the codes gives, by its hint."""
    truth = _codes(places, d)
    sin, cos = truth[:, 0::2], truth[:, 1::2]
    with_angle = partial(_codes, places, d)
    return {
        "All sines stand in the first half and all cosines in the second. "
        "They alternate: column 2i is a sine, 2i + 1 its cosine.": torch.cat(
            [sin, cos], 1
        ),
        "Sines and cosines are exchanged: place 0 is (0, 1, 0, 1, …).": (
            torch.stack([cos, sin], -1).flatten(1)
        ),
        "You count the places yourself, from 0 on; take those that are "
        "given.": _codes(range(len(places)), d),
        "Every column has its own speed. A sine and the cosine beside it are "
        "one hand: both take 2i, the even number.": with_angle(
            lambda p, c: p / 10000 ** (c / d)
        ),
        "The exponent is 2i/d, and yours is i/d: the hands slow down too "
        "little.": with_angle(lambda p, c: p / 10000 ** (c // 2 / d)),
        "The exponent is 2i/d, and yours is 4i/d: the hands slow down too "
        "much. arange(0, d, 2) holds 2i already.": with_angle(
            lambda p, c: p / 10000 ** (c // 2 * 4 / d)
        ),
        "i counts from 0, and yours from 1: the first hand has the speed "
        "10000^0 = 1.": with_angle(lambda p, c: p * _speed(c // 2 + 1, d)),
        "All cosines stand in the first half and all sines in the second. "
        "They alternate: column 2i is a sine, 2i + 1 its cosine.": torch.cat(
            [cos, sin], 1
        ),
        "Those are cosines only; each has its sine before it.": torch.stack(
            [cos, cos], -1
        ).flatten(1),
        "Your places are one too large. Take those that are given, 0 "
        "included.": _codes([p + 1 for p in places], d),
        "The hands get faster and faster: the exponent is −2i/d, so divide "
        "by 10000^{2i/d}.": with_angle(lambda p, c: p / _speed(c // 2, d)),
        "Those are sines only; each has its cosine beside it.": torch.stack(
            [sin, sin], -1
        ).flatten(1),
        "Those are the angles. Take the sine and the cosine of them.": _codes(
            places, d, wave=lambda c, angle: angle
        ),
        "Your angles are in degrees, or turned into them; sine and cosine "
        "take radians.": with_angle(
            lambda p, c: math.radians(p * _speed(c // 2, d))
        ),
    } | {
        _other_base(base): with_angle(
            lambda p, c, base=base: p * _speed(c // 2, d, base)
        )
        for base in _BASES
    }


@exercise(position_codes_solution)
def position_codes(mine):
    """The sinusoidal code of every place."""
    cases = (
        ((0, 1, 2, 3), 8),
        ((5, 2, 9, 0, 7, 30), 6),
        ((4,), 2),
        ((1000, 300), 6),
    )
    for given, d in cases:
        places, length = torch.tensor(given, dtype=torch.float32), len(given)
        known = {
            (d, length): "Yours is [d, length].",
            (length, d // 2): "You have the sines or the cosines, not both.",
            (length, d // 2, 2): "Lay each pair flat: flatten(1).",
            (2, length, d // 2): "Stack along the last axis, then flatten.",
        }
        found = as_tensor(mine(places, d), (length, d), "[length, d]", known)
        slips = _codes_gone_wrong(given, d)
        expect(found, _codes(given, d), slips, f"for d = {d}")
    return "four sets of places, equal to a loop over places and columns."


def turn_by_place_solution(x):
    """(a, b) → (a cos − b sin, a sin + b cos), by pos · ω_i."""
    length, d = x.shape[-2:]
    omega = 10000 ** (-torch.arange(0, d, 2) / d)
    angle = torch.arange(length)[:, None] * omega  # [length, d/2]
    a, b = x[..., 0::2], x[..., 1::2]
    turned = [
        a * angle.cos() - b * angle.sin(),
        a * angle.sin() + b * angle.cos(),
    ]
    return torch.stack(turned, dim=-1).flatten(-2)


def _turned(x, angle, pairs=lambda i, d: (2 * i, 2 * i + 1)):
    """Each pair of x as a complex number times e^{i angle(place, i)}."""
    length, d = x.shape[1:]
    turns = [
        [cmath.exp(1j * angle(place, i)) for i in range(d // 2)]
        for place in range(length)
    ]
    first, second = zip(*(pairs(i, d) for i in range(d // 2)), strict=True)
    z = torch.complex(x[..., first], x[..., second])
    z = z * torch.tensor(turns, dtype=z.dtype)
    out = x.clone()
    out[..., first], out[..., second] = z.real, z.imag
    return out


def _one_by_one(x, angle):
    """Each pair turned in place, the second line with the new first."""
    out = x.clone()
    for place in range(x.shape[1]):
        for i in range(x.shape[2] // 2):
            cos, sin = math.cos(angle(place, i)), math.sin(angle(place, i))
            a, b = out[:, place, 2 * i], out[:, place, 2 * i + 1]
            a.copy_(a * cos - b * sin)
            b.copy_(a * sin + b * cos)  # a is the new one
    return out


def _paired(one, other):
    """The first number of each pair from one, the second from the other."""
    return torch.stack([one[..., 0::2], other[..., 1::2]], -1).flatten(-2)


def _turned_wrong(x):
    """What each likely mistake in the rotation gives, by its hint."""
    length, d = x.shape[1:]

    def angle(place, i):
        return place * _speed(i, d)

    truth = _turned(x, angle)
    back = _turned(x, lambda p, i: -angle(p, i))
    return {
        "You turn the other way. (a, b) becomes (a cos − b sin, "
        "a sin + b cos).": back,
        "You pair number i with number i + d/2, as many published models do. "
        "Here the pair is (2i, 2i + 1).": _turned(
            x, angle, lambda i, d: (i, i + d // 2)
        ),
        "You add the sinusoids; rotary turns the numbers and adds nothing.": x
        + _codes(range(length), d),
        "You multiply with the sinusoids; to turn, each new number takes "
        "from BOTH old ones.": x * _codes(range(length), d),
        "Only the cosines are there. Half of each new number comes from the "
        "other of the pair.": (truth + back) / 2,
        "Your places begin at 1. The scores would be the same, since only "
        "offsets count; but the exercise says 0.": _turned(
            x, lambda p, i: angle(p + 1, i)
        ),
        "i counts from 0, and yours from 1: the first pair has the speed "
        "10000^0 = 1.": _turned(x, lambda p, i: p * _speed(i + 1, d)),
        "A rotation has one minus, before b sin; yours has none.": (
            _paired(back, truth)
        ),
        "A rotation has one minus, before b sin; yours has a second one.": (
            _paired(truth, -back)
        ),
        "All pairs turn at the speed 1; pair i has 10000^(−2i/d).": _turned(
            x, lambda p, i: p
        ),
        "The exponent is 2i/d, and yours is i/d.": _turned(
            x, lambda p, i: p * 10000 ** (-i / d)
        ),
        "The exponent is 2i/d, and yours is 4i/d: arange(0, d, 2) holds 2i "
        "already.": _turned(x, lambda p, i: p * 10000 ** (-4 * i / d)),
        "Your places are counted along the batch. They run along the "
        "sentence, axis 1.": _turned(x.transpose(0, 1), angle).transpose(0, 1),
        "The two numbers of each pair stand in the wrong order: "
        "a cos − b sin comes first.": (
            truth.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
        ),
        "Sine and cosine are exchanged: at place 0 nothing turns.": _turned(
            x, lambda p, i: math.pi / 2 - angle(p, i)
        ),
        "Your angles are in degrees, or turned into them; sine and cosine "
        "take radians.": _turned(x, lambda p, i: math.radians(angle(p, i))),
        "Your second line uses the new a. Both new numbers come from the old "
        "a and b.": _one_by_one(x, angle),
        "Nothing turns: that is x itself.": x,
        "The new numbers stand in two halves; put each pair back where it "
        "was, side by side.": torch.cat(
            [truth[..., 0::2], truth[..., 1::2]], 2
        ),
    } | {
        _other_base(base): _turned(
            x, lambda p, i, base=base: p * _speed(i, d, base)
        )
        for base in _BASES
    }


@exercise(turn_by_place_solution)
def turn_by_place(mine):
    """Every pair of numbers turned by its place's angle."""
    cases = (2, 5, 8), (3, 3, 4), (1, 12, 6), (1, 400, 6)
    for seed, sizes in enumerate(cases):
        (x,) = random_inputs(seed, sizes)
        batch, length, d = sizes
        known = {
            (batch, length, d // 2, 2): "Lay each pair flat: flatten(-2).",
            (batch, length, d // 2): "Half the numbers are missing: a pair "
            "stays a pair.",
        }
        found = as_tensor(mine(x), sizes, "[batch, length, d]", known)
        x = float64(x)
        truth = _turned(x, lambda p, i, d=d: p * _speed(i, d))
        expect(found, truth, _turned_wrong(x))
    return (
        "equal to complex numbers multiplied one by one, on four batches; "
        "lengths stay, and scores depend on the offset alone."
    )


def step_matrix_solution(omega, k):
    """One rotation a pair: M PE(pos) = PE(pos + k), for every pos."""
    cos, sin = (k * omega).cos(), (k * omega).sin()  # [d/2]
    blocks = torch.stack([cos, sin, -sin, cos], dim=-1).reshape(-1, 2, 2)
    return torch.block_diag(*blocks)


def _steps(d, angle, signs=(1, 1, -1, 1)):
    """The block-diagonal matrix that turns pair i by `angle`(i).

    `signs` are those of cos, sin, sin, cos in each block, row by row.
    """
    M = torch.zeros(d, d, dtype=torch.float64)
    for i in range(d // 2):
        cos, sin = math.cos(angle(i)), math.sin(angle(i))
        parts = zip(signs, (cos, sin, sin, cos), strict=True)
        block = float64([a * b for a, b in parts])
        M[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block.reshape(2, 2)
    return M


@exercise(step_matrix_solution)
def step_matrix(mine):
    """The one matrix that leads from any code to that k places on."""
    cases = (2, 1, 1e4), (8, 3, 1e4), (8, -1, 1e4), (6, 20, 1e4), (6, 2, 100)
    for d, k, base in cases:
        omega = base ** (-torch.arange(0, d, 2) / d)
        codes = partial(
            _codes,
            d=d,
            angle=lambda p, c, d=d, base=base: p * _speed(c // 2, d, base),
        )
        known = {(d // 2, 2, 2): "Put the blocks along a diagonal: [d, d]."}
        M = as_tensor(mine(omega, k), (d, d), "[d, d]", known)
        before, after = codes(range(300)), codes(range(k, k + 300))

        def turn(i, d=d, k=k, base=base):
            return k * _speed(i, d, base)

        right = _steps(d, turn)
        back = (
            "Right for k > 0 only: with k < 0 yours still steps forwards. "
            "The sign of k must reach the sines."
            if k < 0
            else "Yours leads back: it turns every hand the wrong way. The "
            "pair is (sin, cos), not (cos, sin), so the minus stands below."
        )
        even = torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
        wrong = {
            back: right.T,
            "Not a rotation: that has one minus, on one sine. Yours has it on "
            "a cosine.": _steps(d, turn, (1, 1, 1, -1)),
            "Not a rotation: that has one minus, on one sine. Yours has "
            "none.": _steps(d, turn, (1, 1, 1, 1)),
            "Sine and cosine are exchanged: the cosines stand on the "
            "diagonal.": _steps(d, lambda i: math.pi / 2 - turn(i)),
            "Those blocks suit codes with all sines first. Here a sine and "
            "its cosine stand side by side.": right[even][:, even],
            "Every hand turns by k; hand i turns by k ω_i.": _steps(
                d, lambda i, k=k: k
            ),
            "k does not count in yours: it makes one step.": _steps(
                d, lambda i, d=d, base=base: _speed(i, d, base)
            ),
            "You compute the speeds of the hands yourself; take those that "
            "are given, omega.": _steps(
                d, lambda i, d=d, k=k: k * _speed(i, d)
            ),
            "You make the step of one place and multiply the matrix by k; k "
            "belongs to the angle.": k
            * _steps(d, lambda i, d=d, base=base: _speed(i, d, base)),
            "That is the identity: the step has no length.": torch.eye(d),
            "Only the cosines are there; the sines beside the diagonal mix "
            "the two numbers of a pair.": torch.diag(right.diagonal()),
        }
        slips = {hint: before @ m.double().T for hint, m in wrong.items()}
        expect(before @ M.T, after, slips, f"for d = {d}, k = {k}", 1e-3)
    return "one matrix for 300 places, forwards and backwards."
