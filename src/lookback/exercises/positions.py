"""The exercises of `positions`: each solution, and the check beside it.

What is right is computed one place and one pair at a time with `math`, never
taken from the solution or from `lookback.positions`. What turns has its own
module, `rotations`.
"""

import math

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import (
    Hint,
    as_numbers,
    as_tensor,
    expect,
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


@exercise("positions", codes_by_hand_solution, by_hand=True)
def codes_by_hand(answer):
    """Two dot products of codes and a mean square, for d = 4."""
    found = as_numbers(answer, 3, "the two products and the mean square")
    for number, (name, truth, slips) in zip(found, _BY_HAND, strict=True):
        # 2 or 3 decimals are enough; slips are told apart more finely
        if abs(number - truth) < 0.006:
            continue
        slip = min(slips, key=lambda hint: abs(slips[hint] - float(number)))
        if abs(slips[slip] - float(number)) < 0.006:
            raise Hint(f"{name} {slip}")
        raise Hint(
            f"{name} is not right, and is no slip that I know. Use "
            "PE(a)·PE(b) = Σ cos((a − b) ω) with ω = 1 and 0.01."
        )
    return "both products and the mean square of one half."


def position_codes_solution(places, d):
    """PE(pos, 2i) = sin(pos ω_i), PE(pos, 2i+1) = cos(pos ω_i)."""
    omega = 10000 ** (-torch.arange(0, d, 2) / d)  # [d/2]
    angle = places[:, None] * omega  # [length, d/2]
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def codes(places, d, number=None):
    """`number`(place, column) for all places and the d columns."""

    def right(place, c):
        angle = place / 10000 ** ((c - c % 2) / d)
        return math.cos(angle) if c % 2 else math.sin(angle)

    number = number or right
    rows = [[number(place, c) for c in range(d)] for place in places]
    return torch.tensor(rows, dtype=torch.float64)


def _codes_gone_wrong(places, d):
    """What each likely mistake in the codes gives, by its hint."""
    truth = codes(places, d)
    sin, cos = truth[:, 0::2], truth[:, 1::2]

    def trig(c, angle):
        return math.cos(angle) if c % 2 else math.sin(angle)

    def with_angle(angle):
        return codes(places, d, lambda p, c: trig(c, angle(p, c)))

    return {
        "All sines stand in the first half and all cosines in the second. "
        "They alternate: column 2i is a sine, 2i + 1 its cosine.": torch.cat(
            [sin, cos], 1
        ),
        "Sines and cosines are exchanged: place 0 is (0, 1, 0, 1, …).": (
            torch.stack([cos, sin], -1).flatten(1)
        ),
        "You count the places yourself, from 0 on; take those that are "
        "given.": codes(range(len(places)), d),
        "Every column has its own speed. A sine and the cosine beside it are "
        "one hand: both take 2i, the even number.": with_angle(
            lambda p, c: p / 10000 ** (c / d)
        ),
        "The exponent is 2i/d, and yours is i/d: the hands slow down too "
        "little.": with_angle(lambda p, c: p / 10000 ** (c // 2 / d)),
        "The hands get faster and faster: the exponent is −2i/d, so divide "
        "by 10000^{2i/d}.": with_angle(
            lambda p, c: p * 10000 ** ((c - c % 2) / d)
        ),
        "Those are sines only; each has its cosine beside it.": torch.stack(
            [sin, sin], -1
        ).flatten(1),
        "Those are the angles. Take the sine and the cosine of them.": codes(
            places, d, lambda p, c: p / 10000 ** ((c - c % 2) / d)
        ),
        "Your angles are in degrees, or turned into them; sine and cosine "
        "take radians.": with_angle(
            lambda p, c: math.radians(p / 10000 ** ((c - c % 2) / d))
        ),
    }


@exercise("positions", position_codes_solution)
def position_codes(mine):
    """The sinusoidal code of every place."""
    for given, d in (((0, 1, 2, 3), 8), ((5, 2, 9, 0, 7, 30), 6), ((4,), 2)):
        places, length = torch.tensor(given, dtype=torch.float32), len(given)
        known = {
            (d, length): "Yours is [d, length].",
            (length, d // 2): "You have the sines or the cosines, not both.",
            (length, d // 2, 2): "Lay each pair flat: flatten(1).",
            (2, length, d // 2): "Stack along the last axis, then flatten.",
        }
        found = as_tensor(mine(places, d), (length, d), "[length, d]", known)
        slips = _codes_gone_wrong(given, d)
        expect(found, codes(given, d), slips, f"for d = {d}")
    return "three sets of places, equal to a loop over places and columns."
