"""The exercises on rotation: each solution, and the check beside it.

Rotary queries and keys, and the step from one sinusoidal code to another.
What is right comes from complex numbers multiplied one by one, or from the
codes themselves, never from the solution.
"""

import math

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import as_tensor, expect, random_inputs
from lookback.exercises.positions import codes


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
    out, d = x.clone(), x.shape[-1]
    for b, sentence in enumerate(x.tolist()):
        for place, row in enumerate(sentence):
            for i in range(d // 2):
                first, second = pairs(i, d)
                turn = complex(0, angle(place, i)) if angle else 0
                z = complex(row[first], row[second])
                z *= math.e**turn if turn else 1
                out[b, place, first] = z.real
                out[b, place, second] = z.imag
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


def _turned_wrong(x):
    """What each likely mistake in the rotation gives, by its hint."""
    length, d = x.shape[1:]

    def speed(i):
        return 10000 ** (-2 * i / d)

    def angle(place, i):
        return place * speed(i)

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
        + codes(range(length), d),
        "You multiply with the sinusoids; to turn, each new number takes "
        "from BOTH old ones.": x * codes(range(length), d),
        "Only the cosines are there. Half of each new number comes from the "
        "other of the pair.": (truth + back) / 2,
        "Your places begin at 1. The scores would be the same, since only "
        "offsets count; but the exercise says 0.": _turned(
            x, lambda p, i: angle(p + 1, i)
        ),
        "All pairs turn at the speed 1; pair i has 10000^(−2i/d).": _turned(
            x, lambda p, i: p
        ),
        "The exponent is 2i/d, and yours is i/d.": _turned(
            x, lambda p, i: p * 10000 ** (-i / d)
        ),
        "Your second line uses the new a. Both new numbers come from the old "
        "a and b.": _one_by_one(x, angle),
        "Nothing turns: that is x itself.": x,
        "The new numbers stand in two halves; put each pair back where it "
        "was, side by side.": torch.cat(
            [truth[..., 0::2], truth[..., 1::2]], 2
        ),
    }


@exercise("positions", turn_by_place_solution)
def turn_by_place(mine):
    """Every pair of numbers turned by its place's angle."""
    for seed, sizes in enumerate(((2, 5, 8), (3, 3, 4), (1, 12, 6))):
        (x,) = random_inputs(seed, sizes)
        batch, length, d = sizes
        known = {
            (batch, length, d // 2, 2): "Lay each pair flat: flatten(-2).",
            (batch, length, d // 2): "Half the numbers are missing: a pair "
            "stays a pair.",
        }
        found = as_tensor(mine(x), sizes, "[batch, length, d]", known)
        x = x.double()
        truth = _turned(x, lambda p, i, d=d: p * 10000 ** (-2 * i / d))
        expect(found, truth, _turned_wrong(x))
    return (
        "equal to complex numbers multiplied one by one, on three batches; "
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
        block = torch.tensor([a * b for a, b in parts], dtype=M.dtype)
        M[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block.reshape(2, 2)
    return M


@exercise("positions", step_matrix_solution)
def step_matrix(mine):
    """The one matrix that leads from any code to that k places on."""
    for d, k in ((2, 1), (8, 3), (8, -1), (6, 20)):
        omega = 10000 ** (-torch.arange(0, d, 2) / d)
        known = {(d // 2, 2, 2): "Put the blocks along a diagonal: [d, d]."}
        M = as_tensor(mine(omega, k), (d, d), "[d, d]", known)
        before = codes(range(300), d)
        after = codes(range(k, k + 300), d)

        def turn(i, d=d, k=k):
            return k * 10000 ** (-2 * i / d)

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
                d, lambda i, d=d: 10000 ** (-2 * i / d)
            ),
            "That is the identity: the step has no length.": torch.eye(d),
            "Only the cosines are there; the sines beside the diagonal mix "
            "the two numbers of a pair.": torch.diag(right.diagonal()),
        }
        slips = {hint: before @ m.double().T for hint, m in wrong.items()}
        expect(before @ M.T, after, slips, f"for d = {d}, k = {k}", 1e-3)
    return "one matrix for 300 places, forwards and backwards."
