"""The exercises of `handwriting`: each check beside its reference solution.

What is right is found letter by letter, one Gaussian at a time, or by torch's
own normal distribution, never by the solution's formula.
"""

import math

import torch
from torch.distributions import MultivariateNormal

from lookback.exercises.by_hand import around, by_hand, exactly, stage, within
from lookback.exercises.checking import (
    exercise,
    float64,
    random_inputs,
)

_ALPHA, _BETA, _KAPPA = [1.0, 0.5], [1.0, 2.0], [2.0, 3.0]


def _sum(alpha, beta, kappa, places, shape=None):
    """Σ_k α_k exp(−β_k (κ_k − u)²), place by place; or another shape."""
    shape = shape or (lambda a, b, d: a * math.exp(-b * d * d))
    return [
        sum(
            shape(float(a), float(b), float(k) - u)
            for a, b, k in zip(alpha, beta, kappa, strict=True)
        )
        for u in places
    ]


def phi_by_hand_solution():
    """Two Gaussians over three letters."""
    return [0.36805, 1.06767, 0.86788]


def _other_gaussians(draw):
    """Two Gaussians on neighbouring letters."""
    first = draw.choice((1, 2, 3))
    near = (2,) if first != 2 else (1, 3)
    return {
        "alpha": (1, draw.choice((0.25, 0.5, 2))),
        "beta": tuple(draw.sample((0.5, 1, 2, 3), 2)),
        "kappa": (first, draw.choice(near)),
    }


@by_hand(
    phi_by_hand_solution,
    "the weights of letters 1, 2 and 3",
    ["φ(1)", "φ(2)", "φ(3)"],
    vary=(
        "α = {alpha}, β = {beta} and κ = {kappa} of the Gaussians",
        _other_gaussians,
    ),
)
def phi_by_hand(alpha=_ALPHA, beta=_BETA, kappa=_KAPPA):
    """The window's weights from two Gaussians."""
    given, three = (alpha, beta, kappa), (1, 2, 3)
    one, two = ([[part[k]] for part in given] for k in (0, 1))
    truth = _sum(*given, three)
    mistakes = {
        "You divided by the sum. These weights need not sum to 1, and nothing "
        "is normalized.": [x / sum(truth) for x in truth],
        "β stands in the exponent: it makes a Gaussian narrow, not high.": _sum(
            *given, three, lambda a, b, d: a * b * math.exp(-d * d)
        ),
        "You counted the letters from 0. The first is at u = 1.": _sum(
            *given, (0, 1, 2)
        ),
        "The distance is squared.": _sum(
            *given, three, lambda a, b, d: a * math.exp(-b * abs(d))
        ),
        "You squared β together with the distance.": _sum(
            *given, three, lambda a, b, d: a * math.exp(-((b * d) ** 2))
        ),
        "You divided by β: a large β makes a Gaussian narrow, not wide.": _sum(
            *given, three, lambda a, b, d: a * math.exp(-d * d / b)
        ),
        "You took β for a standard deviation, exp(−d² / 2β²). Here it "
        "multiplies: exp(−β d²).": _sum(
            *given, three, lambda a, b, d: a * math.exp(-d * d / (2 * b * b))
        ),
        "There is no 2 in this exponent: exp(−β d²).": _sum(
            *given, three, lambda a, b, d: a * math.exp(-b * d * d / 2)
        ),
        "That is the first Gaussian alone. Add the second.": _sum(*one, three),
        "That is the second Gaussian alone. Add the first.": _sum(*two, three),
        "The second Gaussian is not as high: you left out α.": _sum(
            [1, 1], beta, kappa, three
        ),
        "You multiplied the Gaussians; they are added.": [
            a * b
            for a, b in zip(_sum(*one, three), _sum(*two, three), strict=True)
        ],
    }
    otherwise = (
        f"Take letter {kappa[0]:g}: the first Gaussian is on it and "
        f"gives {alpha[0]:g}, the second is one letter away and gives "
        f"{alpha[1]:g} e^−{beta[1]:g}. Then the other letters."
    )
    return (
        f"the weights sum to {sum(truth):.2f}, which is allowed.",
        stage(truth, mistakes, otherwise, around(2.5e-3), asked=within(0.0015)),
    )


def first_speed_by_hand_solution():
    """ln(1/13), and 20."""
    return [-2.56495, 20]


@by_hand(
    first_speed_by_hand_solution,
    "the bias of κ̂, and the number of points",
    ["bias"],
    ["points"],
    vary=(
        "a letter takes {each} points, and a text has {length} letters",
        lambda draw: {
            "each": draw.randrange(8, 20),
            "length": draw.randrange(24, 40),
        },
    ),
)
def first_speed_by_hand(each=13, length=20):
    """Where the window's speed should start, and what 0 would do."""
    near = around(4e-3)
    speed = {
        "That is the speed itself. κ̂ goes through an exponential before it "
        "moves the window.": 1 / each,
        f"That speed is {each} letters a point; you want {each} points a "
        "letter.": math.log(each),
        f"That moves the window by e^−{each} letters, which is hardly at "
        "all.": -each,
        "The logarithm to the base e, since it is undone by e to a power.": (
            math.log10(1 / each)
        ),
        "The logarithm to the base e, not to the base 2.": math.log2(1 / each),
        f"That is ln(1/{length}), or rounded too far. The speed does not "
        "depend on how long the text is; give two decimals.": (
            math.log(1 / length)
        ),
    }
    points = {
        "That is how many points it should take. With a bias of 0 it is "
        "exp 0 letters a point.": each * length,
        "With a speed of exp 0 = 1 the window would be on the first letter "
        "after the first point, and on the second after the next.": 1,
        "exp 0 is 1, not 0: the window does move.": 0,
    }
    return (
        f"the window should move 1/{each} of a letter with each point; with a "
        f"bias of 0 it is on letter {length} after {length} points.",
        stage(
            math.log(1 / each),
            speed,
            "The check does not recognize the mistake in the bias. Which "
            f"number, in an exponential, gives 1/{each}?",
            near,
            asked=within(0.0055),
        ),
        stage(
            length,
            points,
            "The bias is right. Now let it be 0: how far does the window go "
            "with each point?",
            near,
            at=1,
            asked=exactly,
        ),
    )


def soft_window_solution(raw, kappa, length):
    """Eqs. 46, 49, 50 and 51 for one line."""
    alpha, beta, forward = raw.exp().chunk(3)
    kappa = kappa + forward
    u = torch.arange(1, length + 1)
    far = (kappa[:, None] - u) ** 2
    return (alpha[:, None] * torch.exp(-beta[:, None] * far)).sum(0)


@exercise(soft_window_solution)
def soft_window(mine):
    """One move of the window, and the weights that it gives."""
    cases = []
    for seed, (count, length) in enumerate(((2, 4), (1, 3), (3, 1), (4, 6))):
        raw, before = random_inputs(seed, (3 * count,), (count,))
        kappa = before.abs() * 2
        alpha, beta, forward = float64(raw).exp().chunk(3)
        after = float64(kappa) + forward
        truth = _sum(alpha, beta, after, range(1, length + 1))
        cases.append(((raw, kappa, length), float64(truth)))
    soft_window.compare(mine, cases, "[length]", "over {2} letters")
    return "windows of one, two, three and four Gaussians."


_MOVE, _SHAPE = "kappa = kappa + forward", "-beta[:, None] * far"
for _hint, *_typed in (
    (
        "The window starts from nothing each time. Add the move to `kappa`, "
        "where it stood before.",
        *(_MOVE, "kappa = forward"),
    ),
    ("The window does not move.", _MOVE, "kappa = kappa"),
    (
        "κ̂ has no exponential in yours, so the window may go back.",
        *(_MOVE, "kappa = kappa + raw.chunk(3)[2]"),
    ),
    (
        "α̂ has no exponential in yours, so a weight may be below 0.",
        *("(alpha", "(raw.chunk(3)[0]"),
    ),
    ("None of the three has its exponential.", "raw.exp()", "raw"),
    (
        "β̂ has no exponential in yours, so a Gaussian may open upwards.",
        *("-beta", "-raw.chunk(3)[1]"),
    ),
    (
        "You took the three parts in another order: α̂ first, then β̂, then κ̂.",
        *("alpha, beta,", "beta, alpha,"),
    ),
    (
        "You cut `raw` into threes, by Gaussian. α̂ of all comes first, "
        "then β̂, then κ̂.",
        *(".chunk(3)", ".view(-1, 3).T"),
    ),
    ("The letters are counted from 1.", "1, length + 1", "length"),
    (
        "You divided by the sum; the window is not normalized.",
        *("return", "weights ="),
        *("sum(0)", "sum(0)\n    return weights / weights.sum()"),
    ),
    (
        "You took a softmax; these weights need not sum to 1.",
        *("return", "weights ="),
        *("sum(0)", "sum(0)\n    return weights.softmax(0)"),
    ),
    ("The minus sign in the exponent is missing.", "-beta", "beta"),
    ("The distance is squared.", "- u) ** 2", "- u).abs()"),
    (
        "You squared β together with the distance.",
        *("-beta[:, None]", "-(beta[:, None] ** 2)"),
    ),
    (
        "You took β for a width. It says how narrow a Gaussian is: exp(−β d²).",
        *(_SHAPE, "-far / beta[:, None]"),
    ),
    (
        "You took β for a standard deviation, exp(−d² / 2β²). Here it "
        "multiplies: exp(−β d²).",
        *(_SHAPE, "-far / (2 * beta[:, None] ** 2)"),
    ),
    (
        "You took β for a variance, exp(−d² / 2β). Here it multiplies: "
        "exp(−β d²).",
        *(_SHAPE, "-far / (2 * beta[:, None])"),
    ),
    ("There is no 2 in this exponent: exp(−β d²).", _SHAPE, f"{_SHAPE} / 2"),
    (
        "You made each Gaussian a density, with area 1. Its height is α.",
        *("alpha[:, None] *", "(alpha * (beta / math.pi).sqrt())[:, None] *"),
    ),
    (
        "You take the exponential of the place itself: only the move is an "
        "exponential.",
        *(_MOVE, "kappa = torch.exp(kappa + raw.chunk(3)[2])"),
    ),
    ("That is a row for each Gaussian; sum over them.", ".sum(0)", ""),
    (
        "One weight for each letter, and not for each Gaussian.",
        "sum(0)",
        "sum(1)",
    ),
    ("That is a column for each Gaussian; sum over them.", ".sum(0)", ".T"),
    (
        "There are `length` letters, u = 1 … length.",
        *("length + 1", "length + 2"),
    ),
):
    soft_window.slip(_hint, *_typed)


@soft_window.style
def _by_loop(raw, kappa, length):
    k = len(kappa)
    weights = torch.zeros(length)
    for u in range(1, length + 1):
        for i in range(k):
            a, b = math.exp(raw[i]), math.exp(raw[k + i])
            place = kappa[i] + math.exp(raw[2 * k + i])
            weights[u - 1] += a * math.exp(-b * (place - u) ** 2)
    return weights


def log_density_solution(weight, mu, sigma, rho, move):
    """log Σ_m π_m N(Δ; μ_m, σ_m, ρ_m)."""
    z = (move - mu) / sigma
    one = 1 - rho**2
    Z = (z**2).sum(-1) - 2 * rho * z.prod(-1)
    height = 2 * math.pi * sigma.prod(-1) * one.sqrt()
    return (weight * torch.exp(-Z / (2 * one)) / height).sum().log()


def _mixture(weight, mu, sigma, rho, move):
    """The same by torch's own normal distribution."""
    cross = rho * sigma.prod(-1)
    table = torch.stack([sigma[:, 0] ** 2, cross, cross, sigma[:, 1] ** 2], 1)
    normals = MultivariateNormal(mu, table.view(-1, 2, 2))
    return (normals.log_prob(move) + weight.log()).logsumexp(0)


@exercise(log_density_solution)
def log_density(mine):
    """The log density of a move of the pen, under a mixture of Gaussians."""
    cases = []
    for seed, count in enumerate((3, 1, 4)):
        raw, mu, wide, lean, move = random_inputs(
            seed, (count,), (count, 2), (count, 2), (count,), (2,)
        )
        given = raw.softmax(0), mu, (wide / 2).exp(), lean.tanh(), move
        cases.append((given, _mixture(*map(float64, given))))
    log_density.compare(mine, cases, "a single number")
    return "mixtures of one, three and four Gaussians."


_EXPONENT = "-Z / (2 * one)"
_MIXED = f"(weight * torch.exp({_EXPONENT}) / height).sum().log()"
for _hint, *_typed in (
    ("That is the density; its logarithm is asked.", ".log()", ""),
    ("That is minus the logarithm, the loss.", "return", "return -"),
    (
        "You took the logarithms first and then the mean. Sum the densities, "
        "then take one logarithm.",
        *(_MIXED, f"(weight * ({_EXPONENT} - height.log())).sum()"),
    ),
    ("You left out the weights π.", "weight * ", ""),
    (
        "ρ is left out: your Gaussians are not tilted.",
        *("one =", "rho = 0 * rho\n    one ="),
    ),
    (
        "ρ has the wrong sign: in Z stands minus 2 ρ z₁ z₂.",
        *("- 2 * rho", "+ 2 * rho"),
    ),
    (
        "The root of 1 − ρ² is missing below the line.",
        *(" * one.sqrt()", ""),
    ),
    (
        "The root is missing: √(1 − ρ²) stands below the line.",
        *(".sqrt()", ""),
    ),
    (
        "The term − 2 ρ z₁ z₂ is missing in Z.",
        *(" - 2 * rho * z.prod(-1)", ""),
    ),
    (
        "`weight` is π already; you took it for a logarithm.",
        *("(weight *", "(weight.exp() *"),
    ),
    (
        "`weight` is π already; you took its softmax once more.",
        *("(weight *", "(weight.softmax(0) *"),
    ),
    ("1 − ρ² is missing in the exponent.", "(2 * one)", "2"),
    (
        "1 − ρ² belongs below the line of the exponent: −Z / (2 (1 − ρ²)). "
        "Python divides by 2 and then multiplies; set brackets.",
        *("(2 * one)", "2 * one"),
    ),
    ("You took 1 − ρ; the square is missing: 1 − ρ².", "rho**2", "rho"),
    ("You took 1 + ρ²; it is 1 − ρ².", "1 - rho**2", "1 + rho**2"),
    (
        "Z stands there without its minus sign: the density must fall with the "
        "distance.",
        *("-Z", "Z"),
    ),
    (
        "2 π σ₁ σ₂ √(1 − ρ²) stands below the line: divide by it.",
        *("/ height", "* height"),
    ),
    ("The 2 π is missing below the line.", "2 * math.pi * ", ""),
    (
        "σ₁ σ₂ is missing below the line: a narrow Gaussian is high.",
        *("sigma.prod(-1) * ", ""),
    ),
    (
        "The 2 in the exponent is missing: −Z / (2 (1 − ρ²)).",
        *("(2 * one)", "one"),
    ),
    (
        "`sigma` is σ already; you took its exponential once more.",
        *("z = (", "sigma = sigma.exp()\n    z = ("),
    ),
    (
        "`sigma` is σ, not σ²: you took its root.",
        *("z = (", "sigma = sigma.sqrt()\n    z = ("),
    ),
    (
        "z is the distance in units of σ: divide by σ.",
        *("(move - mu) / sigma", "move - mu"),
    ),
    (
        "You divided by σ² where z is divided by σ.",
        *("/ sigma", "/ sigma**2"),
    ),
    (
        "That is a number for each Gaussian; what is asked is the whole "
        "mixture.",
        *(".sum().log()", ".log()"),
    ),
    (
        "That is a number for each axis; one density is asked.",
        *(_MIXED, "(weight @ (torch.exp(-(z**2) / 2) / sigma)).log()"),
    ),
):
    log_density.slip(_hint, *_typed)
log_density.style(_mixture)


@log_density.style
def _as_a_plain_number(weight, mu, sigma, rho, move):
    return _mixture(weight, mu, sigma, rho, move).item()
