"""The exercises of `positions`: each check beside its reference solution.

What is right is computed one position and one pair at a time with `math` and
complex numbers, never taken from the solution or from `lookback.positions`.
"""

import cmath
import math
from itertools import permutations

import numpy
import torch

from lookback.exercises.by_hand import by_hand, stage, within
from lookback.exercises.checking import (
    as_tensor,
    exercise,
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
            "is the length of the encoding, √2. The product of an encoding "
            "with itself is its length squared.": math.sqrt(2),
            "is a mean, not a sum: two pairs, each with sin² + cos² = 1.": 0.5,
            "counts every number of the encoding as 1; only each PAIR of "
            "squares sums to 1.": 4.0,
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
            "is small, but larger than that: −0.990 + 1.000, to two "
            "decimals.": 0.0,
            "is the first pair only, or the product of both; add the second, "
            "cos 0.03.": math.cos(3),
            "has the second pair only; add the first, cos 3.": math.cos(0.03),
            "adds the positions where it should subtract: the angle between "
            "the hands is (5 − 2) ω.": math.cos(7) + math.cos(0.07),
        },
    ),
    (
        "The third number",
        0.5,
        {
            "is 1/3, the mean square of a number drawn evenly from −1 to 1. "
            "In an encoding sin² + cos² = 1 in each pair.": 1 / 3,
            "is the sum of the squares; divide it by d = 4.": 2.0,
            "is the sum of one pair's squares; the mean of its two is "
            "half.": 1.0,
            "divides one pair's sum by d = 4. Two pairs make the sum 2.": 0.25,
            "is the root of the mean square; no root is asked.": math.sqrt(0.5),
        },
    ),
)
_COSINES = (
    "The product of two encodings is a sum of cosines, one for each hand: of "
    "the distance of the two positions times the hand's speed."
)
_ADVICE = (
    _COSINES,
    _COSINES,
    "Add the four squares, sin² + cos² = 1 in each pair, and divide by 4.",
)


_near = within(0.006)  # 2 or 3 decimals are enough


def _asked(x):
    """Two decimals, and not as far off as 0 is from the second number."""
    return [x - min(0.006, x / 20), x + min(0.006, x / 10)]


@by_hand(
    codes_by_hand_solution,
    "the two products and the mean square",
    ["PE₅ · PE₅", "PE₅ · PE₂", "mean square"],
)
def codes_by_hand():
    """Two dot products of encodings and a mean square, for d = 4."""
    truths = [truth for _, truth, _ in _BY_HAND]
    other_order = (
        "Those are the three numbers, in another order: PE(5)·PE(5), "
        "PE(5)·PE(2), then the mean square."
    )
    return (
        "both products and the mean square of one half.",
        *(
            stage(truths, {other_order: others}, None, _near, asked=_asked)
            for others in list(permutations(truths))[1:]
        ),
        *(
            stage(
                truth,
                {f"{name} {hint}": wrong for hint, wrong in slips.items()},
                f"{name}: the check does not recognize this mistake. "
                + _ADVICE[at],
                _near,
                at,
                asked=_asked,
            )
            for at, (name, truth, slips) in enumerate(_BY_HAND)
        ),
    )


codes_by_hand.style((2, 0.01, 0.5))


def position_codes_solution(positions, d):
    """PE(pos, 2i) = sin(pos ω_i), PE(pos, 2i+1) = cos(pos ω_i)."""
    omega = 10000 ** (-torch.arange(0, d, 2) / d)  # [d/2]
    angle = positions[:, None] * omega  # [length, d/2]
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def _speed(i, d, base=10000):
    """ω_i, the speed of pair i."""
    return base ** (-2 * i / d)


def _codes(positions, d, base=10000):
    """Sines and cosines, position by position and column by column."""

    def wave(position, column):
        angle = position * _speed(column // 2, d, base)
        return math.cos(angle) if column % 2 else math.sin(angle)

    return float64([[wave(p, c) for c in range(d)] for p in positions])


@exercise(position_codes_solution)
def position_codes(mine):
    """The sinusoidal encoding of every position."""
    cases = (
        ((0, 1, 2, 3), 8),
        ((5, 2, 9, 0, 7, 30), 6),
        ((4,), 2),
        ((1000, 300), 6),
    )
    for positions, d in cases:
        given = torch.tensor(positions, dtype=torch.float32), d
        case, about = (given, _codes(positions, d)), "for d = {1}"
        position_codes.compare(mine, [case], "[length, d]", about)
    return "four sets of positions, equal to a loop over positions and columns."


# Slips in the speeds, which two solutions compute alike.
_ARANGE = "torch.arange(0, d, 2)"
_OF_SPEEDS = (
    (
        "i counts from 0, and yours from 1: the first pair has the speed "
        "10000^0 = 1.",
        *(_ARANGE, "torch.arange(2, d + 1, 2)"),
    ),
    (
        "The exponent is 2i/d, and yours is i/d: the pairs slow down too "
        "little.",
        *(_ARANGE, "torch.arange(d // 2)"),
    ),
    (
        "The exponent is 2i/d, and yours is 4i/d: the pairs slow down too "
        "much. arange(0, d, 2) holds 2i already.",
        *(_ARANGE, f"2 * {_ARANGE}"),
    ),
    (
        "Your angles are in degrees, or turned into them; sine and cosine "
        "take radians.",
        *("* omega", "* omega.deg2rad()"),
    ),
    *(
        (
            f"ω_i is a power of 10000, and yours of {base}.",
            *("10000", str(base)),
        )
        for base in (1_000, 9_999, 10_001, 100_000)
    ),
)
_SIN, _COS, _FLAT = "angle.sin()", "angle.cos()", ".flatten(1)"
_PAIRS = f"torch.stack([{_SIN}, {_COS}], dim=-1){_FLAT}"
for _hint, *_typed in (
    (
        "All sines are in the first half and all cosines in the second. "
        "They alternate: column 2i is a sine, 2i + 1 its cosine.",
        *(_PAIRS, f"torch.cat([{_SIN}, {_COS}], dim=1)"),
    ),
    (
        "All cosines are in the first half and all sines in the second. "
        "They alternate: column 2i is a sine, 2i + 1 its cosine.",
        *(_PAIRS, f"torch.cat([{_COS}, {_SIN}], dim=1)"),
    ),
    (
        "Sines and cosines are exchanged: position 0 is (0, 1, 0, 1, …).",
        *(f"{_SIN}, {_COS}", f"{_COS}, {_SIN}"),
    ),
    (
        "You count the positions yourself, from 0 on; take those that are "
        "given.",
        *("positions[:", "torch.arange(len(positions))[:"),
    ),
    (
        "Every column has its own speed. A sine and the cosine beside it are "
        "one hand: both take 2i, the even number.",
        *(_ARANGE, "torch.arange(d)"),
        *(_SIN, "angle[:, 0::2].sin()", _COS, "angle[:, 1::2].cos()"),
    ),
    *_OF_SPEEDS,
    ("Those are cosines only; each has its sine before it.", _SIN, _COS),
    ("Those are sines only; each has its cosine beside it.", _COS, _SIN),
    (
        "Your positions are one too large. Take those that are given, 0 "
        "included.",
        *("positions[:, None]", "(positions[:, None] + 1)"),
    ),
    (
        "The hands get faster and faster: the exponent is −2i/d, so divide by "
        "10000^{2i/d}.",
        *("(-torch", "(torch"),
    ),
    (
        "Those are the angles. Take the sine and the cosine of them.",
        *(f"{_SIN}, {_COS}", "angle, angle"),
    ),
    ("Yours is [d, length].", _FLAT, f"{_FLAT}.T"),
    ("You have the sines or the cosines, not both.", _PAIRS, _SIN),
    ("Lay each pair flat: flatten(1).", _FLAT, ""),
    (
        "Stack along the last axis, then flatten.",
        *(f"-1){_FLAT}", "0)"),
    ),
):
    position_codes.slip(_hint, *_typed)


@position_codes.style
def _by_numpy(positions, d):
    fine = positions.numpy().astype("float64")[:, None]
    angle = fine / 10000.0 ** (numpy.arange(0, d, 2) / d)
    out = numpy.empty((len(positions), d))
    out[:, 0::2], out[:, 1::2] = numpy.sin(angle), numpy.cos(angle)
    return torch.tensor(out)


@position_codes.style
def _by_logarithms(positions, d):
    speeds = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    angle = torch.einsum("l,i->li", positions.to(speeds.dtype), speeds)
    return torch.stack((angle.sin(), angle.cos()), dim=2).view(-1, d)


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


def _turned(x):
    """Each pair of x as a complex number times e^{i angle(position, i)}."""
    length, d = x.shape[1:]
    turns = [
        [cmath.exp(1j * position * _speed(i, d)) for i in range(d // 2)]
        for position in range(length)
    ]
    z = torch.complex(x[..., 0::2], x[..., 1::2])
    z = z * torch.tensor(turns, dtype=z.dtype)
    return torch.stack([z.real, z.imag], dim=-1).flatten(-2)


@exercise(turn_by_place_solution)
def turn_by_place(mine):
    """Every pair of numbers turned by its position's angle."""
    cases = (2, 5, 8), (3, 3, 4), (1, 12, 6), (1, 400, 6)
    for seed, sizes in enumerate(cases):
        (x,) = random_inputs(seed, sizes)
        case = (x,), _turned(float64(x))
        turn_by_place.compare(mine, [case], "[batch, length, d]")
    return (
        "equal to complex numbers multiplied one by one, on four batches; "
        "lengths stay, and scores depend on the offset alone."
    )


_PLACES = "torch.arange(length)"
_PAIRED = "torch.stack(turned, dim=-1).flatten(-2)"
_FIRST, _SECOND = f"a * {_COS} - b * {_SIN}", f"a * {_SIN} + b * {_COS}"
for _hint, *_typed in (
    (
        "You turn the other way. (a, b) becomes (a cos − b sin, "
        "a sin + b cos).",
        *("* omega", "* -omega"),
    ),
    (
        "You pair number i with number i + d/2, as many published models do. "
        "Here the pair is (2i, 2i + 1).",
        *("x[..., 0::2], x[..., 1::2]", "x.chunk(2, dim=-1)"),
        *(_PAIRED, "torch.cat(turned, dim=-1)"),
    ),
    (
        "You add the sinusoids; rotary turns the numbers and adds nothing.",
        *(_PAIRED, f"x + {_PAIRS.replace('1)', '-2)')}"),
    ),
    (
        "You multiply with the sinusoids; to turn, each new number takes from "
        "BOTH old ones.",
        *(_PAIRED, f"x * {_PAIRS.replace('1)', '-2)')}"),
    ),
    (
        "Only the cosines are there. Half of each new number comes from the "
        "other of the pair.",
        *(_FIRST, f"a * {_COS}", _SECOND, f"b * {_COS}"),
    ),
    (
        "Your positions begin at 1. The scores would be the same, since only "
        "offsets count; but the exercise says 0.",
        *(_PLACES, "torch.arange(1, length + 1)"),
    ),
    (
        "A rotation has one minus, before b sin; yours has none.",
        *("- b", "+ b"),
    ),
    (
        "A rotation has one minus, before b sin; yours has a second one.",
        *("+ b", "- b"),
    ),
    (
        "All pairs turn at the speed 1; pair i has 10000^(−2i/d).",
        *("* omega", "* torch.ones(d // 2)"),
    ),
    *_OF_SPEEDS,
    (
        "Your positions are counted along the batch. They run along the "
        "sentence, axis 1.",
        *(f"{_PLACES}[:, None]", "torch.arange(len(x))[:, None, None]"),
    ),
    (
        "The two numbers of each pair are in the wrong order: "
        "a cos − b sin comes first.",
        *("stack(turned", "stack(turned[::-1]"),
    ),
    (
        "Sine and cosine are exchanged: at position 0 nothing turns.",
        *(_FIRST, f"a * {_SIN} - b * {_COS}"),
        *(_SECOND, f"a * {_COS} + b * {_SIN}"),
    ),
    (
        "Your second line uses the new a. Both new numbers come from the old "
        "a and b.",
        *("turned = [", f"a = {_FIRST}\n    turned = ["),
        *(f"        {_FIRST}", "        a"),
    ),
    ("Nothing turns: that is x itself.", _PAIRED, "x"),
    (
        "The new numbers are in two halves; put each pair back where it "
        "was, side by side.",
        *(_PAIRED, "torch.cat(turned, dim=-1)"),
    ),
    ("Lay each pair flat: flatten(-2).", ".flatten(-2)", ""),
    (
        "Half the numbers are missing: a pair stays a pair.",
        *(_PAIRED, "turned[0]"),
    ),
):
    turn_by_place.slip(_hint, *_typed)


@turn_by_place.style
def _complexly(x):
    length, d = x.shape[1:]
    speeds = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    turn = torch.outer(torch.arange(length).to(speeds), speeds)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    turned = pairs * torch.polar(torch.ones_like(turn), turn)
    return torch.view_as_real(turned).flatten(-2)


@turn_by_place.style
def _pair_by_pair(x):
    x = x.detach().numpy().astype("float64")
    out = numpy.empty_like(x)
    for position in range(x.shape[1]):
        for i in range(0, x.shape[2], 2):
            turn = position / 10000 ** (i / x.shape[2])
            a, b = x[:, position, i], x[:, position, i + 1]
            out[:, position, i] = a * math.cos(turn) - b * math.sin(turn)
            out[:, position, i + 1] = a * math.sin(turn) + b * math.cos(turn)
    return torch.from_numpy(out)


def step_matrix_solution(omega, k):
    """One rotation a pair: M PE(pos) = PE(pos + k), for every pos."""
    cos, sin = (k * omega).cos(), (k * omega).sin()  # [d/2]
    blocks = torch.stack([cos, sin, -sin, cos], dim=-1).reshape(-1, 2, 2)
    return torch.block_diag(*blocks)


_ON_A_DIAGONAL = "Put the blocks along a diagonal: [d, d]."


@exercise(step_matrix_solution)
def step_matrix(mine):
    """The one matrix that leads from any encoding to that k positions on."""

    def led(answer, omega, k, codes):
        d = codes.shape[1]
        known = {(d // 2, 2, 2): _ON_A_DIAGONAL}
        return codes @ as_tensor(answer(omega, k), (d, d), "[d, d]", known).T

    cases = (2, 1, 1e4), (8, 3, 1e4), (8, -1, 1e4), (6, 20, 1e4), (6, 2, 100)
    for d, k, base in cases:
        omega = base ** (-torch.arange(0, d, 2) / d)
        before = _codes(range(300), d, base)
        after = _codes(range(k, k + 300), d, base)
        case, about = ((omega, k, before), after), f"for d = {d}, k = {k}"
        step_matrix.compare(
            *(mine, [case], "", about),
            tolerance=1e-3,
            ask=led,
            place=lambda at, i: f"in number {i} of what M makes of PE({at})",
        )
    return "one matrix for 300 positions, forwards and backwards."


_BLOCK, _ANGLE = "[cos, sin, -sin, cos]", "(k * omega)"
for _hint, *_typed in (
    (
        "Right for k > 0 only: with k < 0 yours still steps forwards. The "
        "sign of k must reach the sines.",
        *(_ANGLE, "(abs(k) * omega)"),
    ),
    (
        "Yours leads back: it turns every hand the wrong way. The pair is "
        "(sin, cos), not (cos, sin), so the minus stands below.",
        *(_BLOCK, "[cos, -sin, sin, cos]"),
    ),
    (
        "Not a rotation: that has one minus, on one sine. Yours has it on a "
        "cosine.",
        *(_BLOCK, "[cos, sin, sin, -cos]"),
    ),
    (
        "Not a rotation: that has one minus, on one sine. Yours has none.",
        *(_BLOCK, "[cos, sin, sin, cos]"),
    ),
    (
        "Sine and cosine are exchanged: the cosines belong on the diagonal.",
        *(_BLOCK, "[sin, cos, -cos, sin]"),
    ),
    (
        "Those blocks suit encodings with all sines first. Here a sine and its "
        "cosine stand side by side.",
        "torch.block_diag(*blocks)",
        "torch.cat([torch.cat([cos.diag(), sin.diag()], 1), "
        "torch.cat([-sin.diag(), cos.diag()], 1)])",
    ),
    (
        "Every hand turns by k; hand i turns by k ω_i.",
        *(_ANGLE, "(k * torch.ones(len(omega)))"),
    ),
    ("k does not count in yours: it makes one step.", _ANGLE, "omega"),
    (
        "You compute the speeds of the hands yourself; take those that are "
        "given, omega.",
        *("k * omega", "k * 10000 ** -torch.arange(0, 1, 1 / len(omega))"),
    ),
    (
        "You make the step of one position and multiply the matrix by k; k "
        "belongs to the angle.",
        *(_ANGLE, "omega", "return ", "return k * "),
    ),
    (
        "That is the identity: the step has no length.",
        *("block_diag(*blocks)", "eye(2 * len(omega))"),
    ),
    (
        "Only the cosines are there; the sines beside the diagonal mix the "
        "two numbers of a pair.",
        *(_BLOCK, "[cos, 0 * sin, 0 * sin, cos]"),
    ),
    (_ON_A_DIAGONAL, "torch.block_diag(*blocks)", "blocks"),
):
    step_matrix.slip(_hint, *_typed)


@step_matrix.style
def _fitted(omega, k):
    """The matrix that fits the codes best, whatever its sines."""
    angle = torch.arange(-200, 19_800)[:, None] * omega.double()
    codes = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
    solved = torch.linalg.lstsq(codes[: -abs(k)], codes[abs(k) :]).solution.T
    return solved if k > 0 else torch.linalg.inv(solved)


@step_matrix.style
def _filled(omega, k):
    M = torch.zeros(2 * len(omega), 2 * len(omega), dtype=torch.float64)
    for i, speed in enumerate(omega.tolist()):
        M[2 * i, 2 * i] = M[2 * i + 1, 2 * i + 1] = math.cos(k * speed)
        M[2 * i, 2 * i + 1] = math.sin(k * speed)
        M[2 * i + 1, 2 * i] = -math.sin(k * speed)
    return M
