"""The exercises of `explanation`: each check beside its reference solution.

What is right is added up number by number, never by the solution's formula.
"""

from math import log

import torch

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import exercise, float64, random_inputs
from lookback.exercises.probing import heard


def _kl(a, b):
    """KL(a ‖ b) of two lists, in nats."""
    return sum(x * log(x / y) for x, y in zip(a, b, strict=True) if x > 0)


def _js(a, b):
    """The Jensen–Shannon divergence of two lists, number by number."""
    middle = [(x + y) / 2 for x, y in zip(a, b, strict=True)]
    return (_kl(a, middle) + _kl(b, middle)) / 2


def distances_by_hand_solution():
    """Half of 0.1 + 0.1; half of ln 4/3 and ½ ln 2/3 + ½ ln 2."""
    return [0.1, _js([1, 0], [0.5, 0.5])]


def _drawn_distances(drawn):
    p = drawn.randint(6, 9)
    return {"p": p / 10, "q": (p - drawn.randint(2, 4)) / 10}


@by_hand(
    distances_by_hand_solution,
    "two numbers, TV(p, q) and JS(α, β)",
    ["TV(p, q)", "JS(α, β)"],
    vary=("p = ({p}, 1 − {p}) and q = ({q}, 1 − {q})", _drawn_distances),
)
def distances_by_hand(p=0.8, q=0.7):
    """A total variation and a Jensen–Shannon divergence."""
    gap, js = abs(p - q), _js([1, 0], [0.5, 0.5])
    return (
        "the weights differ by about a third of what is possible.",
        stage(
            gap,
            {
                "That is the sum of both differences; take half of it.": 2
                * gap,
                "You halved one difference. Both words have the same, and "
                "half of the sum is one of them.": gap / 2,
                "You let the two differences cancel. Take the size of each, "
                "then half of the sum.": 0.0,
                "You squared the differences. Take their sizes, and half of "
                "the sum.": gap**2,
                "That is the Euclidean distance. Take half of the sum of the "
                "sizes.": (2 * gap**2) ** 0.5,
            },
            "The check does not recognize the mistake in TV. Subtract word by "
            "word, drop the signs, add up, and take half.",
            around(1e-3),
            share=True,
        ),
        stage(
            js,
            {
                "That is the sum of the two divergences; take half of it.": 2
                * js,
                "That is KL(α ‖ β), without the middle μ.": log(2),
                "That is KL(α ‖ μ) alone. Add KL(β ‖ μ), and take half.": (
                    log(4 / 3)
                ),
                "That is KL(β ‖ μ) alone. Add KL(α ‖ μ), and take half.": (
                    0.5 * log(2 / 3) + 0.5 * log(2)
                ),
                "That is in bits. Take the natural logarithm.": js / log(2),
                "That is the root of it, the Jensen–Shannon distance.": js**0.5,
                "That is the total variation of the weights. JS is half of "
                "two Kullback–Leibler divergences from the middle.": 0.5,
            },
            "TV is right; the check does not recognize the mistake in JS. "
            "First μ = (α + β)/2; then Σ α ln(α/μ) and Σ β ln(β/μ), and half "
            "of their sum.",
            around(2e-3),
            1,
        ),
    )


def js_solution(a, b):
    """½ KL(a ‖ μ) + ½ KL(b ‖ μ), with μ halfway between."""
    middle = (a + b) / 2
    one = torch.xlogy(a, a) - torch.xlogy(a, middle)
    two = torch.xlogy(b, b) - torch.xlogy(b, middle)
    return (one + two).sum() / 2


@exercise(js_solution)
def js(mine):
    """The Jensen–Shannon divergence of two rows of weights."""
    cases = []
    for seed, size in enumerate((3, 6, 9)):
        a, b = (
            (2 * x).softmax(-1) for x in random_inputs(seed, (size,), (size,))
        )
        cases.append(((a, b), _js(a.tolist(), b.tolist())))
    for a, b in (
        ([1.0, 0.0, 0.0], [0.0, 0.5, 0.5]),
        ([0.7, 0.3, 0.0], [0.2, 0.8, 0.0]),
        ([0.5, 0.5], [0.5, 0.5]),
    ):
        cases.append(((torch.tensor(a), torch.tensor(b)), _js(a, b)))
    js.compare(
        mine,
        cases,
        "one number",
        "of {0} and {1}",
        otherwise="The check does not recognize this mistake. First the "
        "middle, μ = (a + b)/2; then Σ a ln(a/μ) and Σ b ln(b/μ), and half of "
        "their sum.",
    )
    return "six pairs of weights, some with zeros, one pair alike."


_ZERO = (
    "Right where no weight is 0. Where one is, 0 · ln 0 becomes nan, or a "
    "small number that you added shifts the rest: take torch.xlogy, or leave "
    "these terms out."
)
_BOTH = "(one + two).sum() / 2"
_LEFT = "torch.xlogy(a, a) - torch.xlogy(a, middle)"
_RIGHT = "torch.xlogy(b, b) - torch.xlogy(b, middle)"
for _hint, *_typed in (
    ("That is twice JS: take half of the sum.", _BOTH, "(one + two).sum()"),
    (
        "That is half of the mean over the words. Sum over them.",
        *(_BOTH, "(one + two).mean() / 2"),
    ),
    (
        "That is in bits; here it is in nats, the natural logarithm.",
        *(_BOTH, f"{_BOTH} / torch.tensor(2.0).log()"),
    ),
    (
        "That is the root of it, the Jensen–Shannon distance.",
        *(_BOTH, f"({_BOTH}).clamp_min(0).sqrt()"),
    ),
    (
        "That is KL(a ‖ μ) alone. Add KL(b ‖ μ), and take half.",
        *(_BOTH, "one.sum()"),
    ),
    (
        "That is KL(b ‖ μ) alone. Add KL(a ‖ μ), and take half.",
        *(_BOTH, "two.sum()"),
    ),
    (
        "μ is half of the sum of a and b; yours is the whole sum.",
        *("(a + b) / 2", "a + b"),
    ),
    ("The sign: JS is never below 0.", _BOTH, f"-{_BOTH}"),
    (
        "That is the total variation of the weights. Asked is JS, half of two "
        "Kullback–Leibler divergences from the middle.",
        *(_BOTH, "(a - b).abs().sum() / 2"),
    ),
    (
        "You weigh both logarithms by the middle. ln(a/μ) is weighted by a, "
        "and ln(b/μ) by b.",
        *(_LEFT, "middle * (a / middle).clamp_min(1e-9).log()"),
        *(_RIGHT, "middle * (b / middle).clamp_min(1e-9).log()"),
    ),
    (_ZERO, _LEFT, "a * (a / middle).log()", _RIGHT, "b * (b / middle).log()"),
    (
        "Right, but NaN where both weights are 0: there ln μ is −∞, and 0 · ∞ "
        "is NaN. Leave these terms out, or take torch.xlogy.",
        *("torch.xlogy(a, middle)", "a * middle.log()"),
        *("torch.xlogy(b, middle)", "b * middle.log()"),
    ),
):
    js.slip(_hint, *_typed)


@js.style
def _by_entropies(a, b):
    def entropy(x):
        return -torch.xlogy(x, x).sum()

    return entropy((a + b) / 2) - (entropy(a) + entropy(b)) / 2


@js.style
def _by_lists(a, b):
    return float(float64(_js(a.tolist(), b.tolist())))


def moved_by_solution(weights, values, says, order):
    """½ Σ |what own weights say − what weights in another order say|."""
    before = says(weights @ values)
    after = says(weights[order] @ values)
    return (before - after).abs().sum() / 2


_ONE_VECTOR = (
    "`says` wants one context vector, [d], and was given {}: c = Σ_j α_j h_j."
)


def _writes(out):
    """A `says` with this output layer, which complains of what is no vector."""

    def says(context):
        if tuple(context.shape) != (len(out),):
            says.complaints.append(_ONE_VECTOR.format(list(context.shape)))
            return out[0].softmax(-1)
        return (2 * context @ out).softmax(-1)

    says.complaints = []
    return says


def _by_python(weights, values, says, order):
    """The half sum, number by number."""
    p, q = (
        says(sum(float(w) * v for w, v in zip(own, values, strict=True)))
        for own in (weights, [weights[j] for j in order])
    )
    return sum(abs(float(a - b)) for a, b in zip(p, q, strict=True)) / 2


@exercise(moved_by_solution)
def moved_by(mine):
    """By how much other weights move the next word."""
    cases = []
    sizes = ((5, 4, 6), (3, 2, 9), (7, 3, 4))
    for seed, (source, d, vocab) in enumerate(sizes):
        raw, values, out = random_inputs(
            seed, (source,), (source, d), (d, vocab)
        )
        order = torch.arange(source).roll(1)
        given = (2 * raw).softmax(-1), values, _writes(out), order
        cases.append((given, _by_python(*given)))
    otherwise = (
        "The check does not recognize this mistake. Two contexts, "
        "weights @ values and weights[order] @ values; what `says` makes of "
        "each; then half of the sum of the sizes of the differences."
    )
    moved_by.compare(mine, cases, otherwise=otherwise, ask=heard)
    return "three rows of weights, each in another order."


def _each(says, values):
    """What `says` makes of every value on its own."""
    return torch.stack([says(value) for value in values])


_HALF = "(before - after).abs().sum() / 2"
_NOTHING = (
    "Your answer is 0. Either differences of both signs cancel: abs() before "
    "sum(). Or nothing has moved, since weights and values were put in the "
    "same order, so that each word keeps its weight."
)
_BACKWARDS = (
    "You took the order backwards, or put the VALUES in another order, which "
    "comes to the same. Place j keeps its value, and gets the weight of place "
    "order[j]."
)
for _hint, *_typed in (
    (
        "That is twice the total variation: take half of the sum, so that 1 "
        "is the most.",
        *(" / 2", ""),
    ),
    (_NOTHING, ".abs()", ""),
    (_NOTHING, "[order] @ values", "[order] @ values[order]"),
    (
        "That is the largest change of a single word. Sum over all words, and "
        "take half.",
        *("sum() / 2", "max()"),
    ),
    (
        "That is half of the mean over the words. Sum over all of them, and "
        "take half of that.",
        *("sum()", "mean()"),
    ),
    (
        "That is half of the largest change of a single word. Sum over all "
        "words first.",
        *("sum()", "max()"),
    ),
    (
        "You squared the differences. Sum their sizes, abs(), and take half.",
        *("abs()", "square()"),
    ),
    (
        "You squared the differences: sum their sizes, and take half of that.",
        *("abs().sum() / 2", "square().sum()"),
    ),
    (
        "That is half of the Euclidean distance. Sum the sizes of the "
        "differences, abs(), and take half.",
        *("abs().sum()", "norm()"),
    ),
    (
        "That is the Euclidean distance. Sum the sizes, and take half.",
        *("abs().sum() / 2", "norm()"),
    ),
    (
        "That is a Kullback–Leibler divergence; asked is ½ Σ |p − q|.",
        *(_HALF, "(before * (before / after).log()).sum()"),
    ),
    (
        "That is a Kullback–Leibler divergence, the other way round; asked is "
        "½ Σ |p − q|.",
        *(_HALF, "(after * (after / before).log()).sum()"),
    ),
    (
        "That is by how much the WEIGHTS differ. Ask `says` what each of them "
        "would write, and compare the answers.",
        *("says(weights @ values)", "weights", "says(weights[order] @ values)"),
        "weights[order]",
    ),
    (
        "That is by how much the CONTEXTS differ. Ask `says` what each of "
        "them would write, and compare the answers.",
        *("says(", "("),
    ),
    (
        "The weights went through a softmax once more. They sum to 1 already.",
        *("weights @", "weights.softmax(0) @"),
        *("weights[order]", "weights.softmax(0)[order]"),
    ),
    (
        "You asked `says` about every value on its own, and averaged its "
        "answers. It wants one context vector, the average of the values.",
        *("says(weights @ values)", "weights @ _each(says, values)"),
        *(
            "says(weights[order] @ values)",
            "weights[order] @ _each(says, values)",
        ),
    ),
    (_BACKWARDS, "weights[order]", "weights[order.argsort()]"),
    (_BACKWARDS, "weights[order] @ values", "weights @ values[order]"),
    (
        "That is the mean over the words. Sum over them, and take half.",
        *("sum() / 2", "mean()"),
    ),
    (_ONE_VECTOR.format([5]), " @ values", ""),
    (_ONE_VECTOR.format([5, 4]), "weights @", "weights[:, None] *"),
):
    moved_by.slip(_hint, *_typed)


@moved_by.slip("That is the Jensen–Shannon divergence; asked is ½ Σ |p − q|.")
def _jensen_shannon(weights, values, says, order):
    p, q = says(weights @ values), says(weights[order] @ values)
    middle = (p + q) / 2
    return ((p / middle).log() * p + (q / middle).log() * q).sum() / 2


moved_by.style(_by_python)


@moved_by.style
def _by_what_is_shared(weights, values, says, order):
    p, q = says(weights @ values), says(weights[order] @ values)
    return 1 - torch.minimum(p, q).sum()
