"""The exercises of `residual`: each check beside its reference solution.

What is right comes from plain loops over tokens and numbers, never from the
solution.
"""

import math
import statistics

import torch

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    Called,
    Hint,
    as_tensor,
    exercise,
    expect,
    float64,
    random_inputs,
)

_X, _CHANGE = (1, 1, 2, 4), (0, 2, 1, 5)


def post_norm_by_hand_solution():
    """LayerNorm(x + f(x)) for x = (1, 1, 2, 4) and f(x) = (0, 2, 1, 5)."""
    total = [x + f for x, f in zip(_X, _CHANGE, strict=True)]
    mean = sum(total) / 4  # 4
    variance = sum((t - mean) ** 2 for t in total) / 4  # 36 / 4 = 9
    return [(t - mean) / math.sqrt(variance) for t in total]


def _normal(numbers, spread=statistics.pstdev):
    """(x − μ) / σ, in float64."""
    level, by = statistics.fmean(numbers), spread(numbers)
    return float64([(x - level) / by for x in numbers])


def _other_sum(draw):
    """A token of four numbers, and what attention found for it."""
    return {
        "x": tuple(draw.sample(range(-3, 7), 4)),
        "change": tuple(draw.sample(range(-3, 7), 4)),
    }


@by_hand(
    post_norm_by_hand_solution,
    "the four numbers of LayerNorm(x + f(x))",
    ["first", "second", "third", "fourth"],
    vary=("x = {x} and f(x) = {change}", _other_sum),
)
def post_norm_by_hand(x=_X, change=_CHANGE):
    """LayerNorm of a sum, by hand; the answer is its four numbers."""
    normal_x, normal_change = _normal(x), _normal(change)
    x, change = map(float64, (x, change))
    total = x + change
    mean, variance = total.mean(), total.var(correction=0)
    mistakes = {
        "That is x + f(x), not yet normalised.": total,
        "You took the mean off and did not divide by the standard deviation.": (
            total - mean
        ),
        f"You divided by the variance, {variance:.4g}; divide by its square "
        "root.": (total - mean) / variance,
        "You divided the squares by 3. LayerNorm describes these four "
        "numbers and no larger crowd: divide by 4.": (
            _normal(total.tolist(), statistics.stdev)
        ),
        "You divided by σ without taking the mean off first.": (
            total / variance.sqrt()
        ),
        "You normalised x and left f(x) out: add first.": normal_x,
        "You normalised f(x) and left x out: the residual is missing.": (
            normal_change
        ),
        "You normalised x first and then added f(x). In post-norm the sum "
        "is made first.": normal_x + change,
        "You normalised f(x) and then added x. In post-norm the sum is "
        "made first.": normal_change + x,
        "You normalised both and then added. In post-norm the sum is made "
        "first.": normal_x + normal_change,
        "You divided by the root of the sum's own squares. σ² is the mean of "
        "the squares after μ is taken off.": (
            (total - mean) / total.square().mean().sqrt()
        ),
        "You left the mean in, as RMSNorm does.": (
            total / total.square().mean().sqrt()
        ),
    }
    truth = torch.nn.functional.layer_norm(total, (4,), eps=0)
    otherwise = (
        "This is no slip that the check knows. First the sum of the two "
        "vectors; then take its mean off each number; then divide by the root "
        "of the mean of the squares of what is left."
    )
    return (
        f"the mean {mean:g} is gone, and {variance:.4g}, the variance, has "
        "become 1.",
        stage(truth, mistakes, otherwise, around(0.012)),
    )


def normalise_solution(x, gain, bias, epsilon):
    """g ∘ (x − μ) / √(σ² + ε) + b for each token."""
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return gain * (x - mean) / torch.sqrt(variance + epsilon) + bias


def _token_by_token(x, gain, bias, epsilon):
    """Layer normalisation in float64, one token after another."""
    rows = []
    for row in x.flatten(0, -2).tolist():
        level = statistics.fmean(row)
        by = math.sqrt(statistics.pvariance(row) + epsilon)
        rows.append([(one - level) / by for one in row])
    y, gain, bias = map(float64, (rows, gain, bias))
    return gain * y.view(x.shape) + bias


def _wrongly_normal(x, gain, bias, epsilon):
    """What each likely mistake in layer normalisation gives, by its hint."""
    x, gain, bias = map(float64, (x, gain, bias))

    def over(axes, correction=0):
        mean = x.mean(axes, keepdim=True)
        spread = x.var(axes, keepdim=True, correction=correction)
        return (x - mean) / torch.sqrt(spread + epsilon)

    right, mean = over(-1), x.mean(-1, keepdim=True)
    variance = x.var(-1, keepdim=True, correction=0)
    power = torch.sqrt(x.square().mean(-1, keepdim=True) + epsilon)
    rms = x / power
    return {
        "You divide the squares by d − 1, as torch.var does by default; "
        "LayerNorm divides by d: correction=0.": gain * over(-1, 1) + bias,
        "ε is added to σ; it belongs under the root, √(σ² + ε).": (
            gain * (x - mean) / (variance.sqrt() + epsilon) + bias
        ),
        "Two slips: torch.std divides the squares by d − 1, and ε belongs "
        "under the root, √(σ² + ε).": (
            gain * (x - mean) / (x.std(-1, keepdim=True) + epsilon) + bias
        ),
        "Two slips: torch.std divides the squares by d − 1, and ε is "
        "missing.": gain * (x - mean) / x.std(-1, keepdim=True) + bias,
        "You took one mean and one variance for a whole sentence. Each token "
        "has its own, over its own numbers: dim=-1.": (
            gain * over((1, 2)) + bias
        ),
        "ε is missing under the root.": (
            gain * (x - mean) / variance.sqrt() + bias
        ),
        "You divide by the variance; divide by its root.": (
            gain * (x - mean) / (variance + epsilon) + bias
        ),
        "Gain and bias are missing.": right,
        "The bias is missing.": gain * right,
        "The gain is missing.": right + bias,
        "Gain and bias are exchanged.": bias * right + gain,
        "The mean stays in: x − μ before you divide.": (
            gain * x / torch.sqrt(variance + epsilon) + bias
        ),
        "That is RMSNorm, which takes no mean off and has no bias. LayerNorm "
        "does both.": gain * rms,
        "That is RMSNorm with a bias: it divides by the root of the mean "
        "square. LayerNorm takes μ off first, in the variance too.": (
            gain * rms + bias
        ),
        "You take μ off above and not below: σ² is the mean of (x − μ)², not "
        "of x².": gain * (x - mean) / power + bias,
        "You divide by the sum of the squares' root: σ² is their mean, so "
        "divide by d first.": (
            gain * (x - mean) / torch.sqrt(variance * x.shape[-1] + epsilon)
            + bias
        ),
        "You average over the batch: that is the idea of batch "
        "normalisation. Here each token has its own mean and variance, over "
        "its own numbers: dim=-1.": gain * over(0) + bias,
        "You average over the tokens of a sentence: each token has its own "
        "mean and variance, over its own numbers: dim=-1.": (
            gain * over(1) + bias
        ),
        "You took one mean and one variance over everything. Each token has "
        "its own, over its own numbers: dim=-1.": (
            gain * over((0, 1, 2)) + bias
        ),
        "Bias first and gain after: g ∘ (… ) + b, not g ∘ (… + b).": (
            gain * (right + bias)
        ),
    }


@exercise(normalise_solution)
def normalise(mine):
    """Layer normalisation over the last axis, with gain, bias and ε."""
    x, gain, bias = random_inputs(3, (2, 3, 4), (4,), (4,))
    x, axes = 2 * x + 1, "[batch, length, d_model]"
    given = (x, gain, bias, 0.5)
    with Called() as called:
        result = mine(*given)
    found = as_tensor(result, x.shape, axes)
    expect(found, _token_by_token(*given), _wrongly_normal(*given))
    given = (torch.full((1, 1, 4), 3.0), gain, bias, 1e-5)
    found = as_tensor(mine(*given), (1, 1, 4), axes)
    if not found.isfinite().all():
        raise Hint(
            "Four equal numbers give NaN: their variance is 0, and ε under "
            "the root is there for exactly this."
        )
    expect(found, bias.view(1, 1, 4), {}, "for four equal numbers")
    if "layer_norm" in called.names:
        raise Hint(
            "The numbers are right. Now without torch's layer_norm: take the "
            "mean off and divide yourself."
        )
    return (
        "each token by its own mean and variance, ε under the root, then "
        "gain and bias; four equal numbers become the bias."
    )


def add_and_norm_solution(x, f, norm, where):
    """norm(x + f(x)) for "post", x + f(norm(x)) for "pre"."""
    if where == "post":
        return norm(x + f(x))
    return x + f(norm(x))


@exercise(add_and_norm_solution)
def add_and_norm(mine):
    """A residual around f with the norm after the sum, or before f."""
    (x,) = random_inputs(5, (2, 3, 4))
    axes = "[batch, length, d_model]"

    def f(x):
        return torch.tanh(x.flip(-1)) + 0.5

    def norm(x):
        return torch.nn.functional.layer_norm(x, x.shape[-1:])

    post = as_tensor(mine(x, f, norm, "post"), x.shape, axes)
    pre = as_tensor(mine(x, f, norm, "pre"), x.shape, axes)
    d = x.double()
    change, inner = f(d), f(norm(d))
    after, before = norm(d + change), d + inner
    swapped = after.allclose(pre, atol=1e-4) and before.allclose(
        post, atol=1e-4
    )
    if swapped:
        raise Hint('"post" and "pre" are exchanged.')
    shared = {
        "The residual is missing: x itself must be added.": norm(change),
        "You added and did not normalise.": d + change,
    }
    expect(
        post,
        after,
        {
            **shared,
            "That is x + norm(f(x)): in post-norm the norm acts on the sum, "
            "x included.": d + norm(change),
            'Your "post" is pre-norm: the norm comes after the sum.': before,
            "You normalise twice, before f and after the sum.": (
                norm(d + inner)
            ),
            "You normalised x and added f(x) to that.": norm(d) + change,
            "You normalised both and then added.": norm(d) + norm(change),
        },
        'for "post",',
    )
    expect(
        pre,
        before,
        {
            **shared,
            "The residual is missing: x itself must be added.": inner,
            "You overwrote x with norm(x) before adding. In pre-norm only f "
            "sees the normalised x; the stream itself is left alone.": (
                norm(d) + inner
            ),
            'Your "pre" is post-norm: there the norm acts on the sum.': after,
            "norm(x) and x have changed places: f reads the normalised x, and "
            "x itself is carried on.": norm(d) + change,
            "That is x + norm(f(x)): the norm stands before f, not behind "
            "it.": d + norm(change),
            "You normalise twice, before f and after the sum.": (
                norm(d + inner)
            ),
        },
        'for "pre",',
    )
    return "post is norm(x + f(x)); pre is x + f(norm(x)), x untouched."


def tokens_apart_solution(x):
    """‖X − 1 x̄ᵀ‖ / ‖X‖ for each sentence."""
    gap = x - x.mean(dim=1, keepdim=True)
    return gap.flatten(1).norm(dim=1) / x.flatten(1).norm(dim=1)


def _apart_loop(x):
    """The same, sentence by sentence with plain numbers."""
    found = []
    for tokens in x.tolist():
        columns = list(zip(*tokens, strict=True))
        gap = sum(len(c) * statistics.pvariance(c) for c in columns)
        whole = sum(one**2 for c in columns for one in c)
        found.append(math.sqrt(gap / whole))
    return found


@exercise(tokens_apart_solution)
def tokens_apart(mine):
    """How far the tokens of each sentence lie from their mean."""
    (x,) = random_inputs(8, (2, 3, 4))
    known = {
        (): "One number for each sentence, not one for the batch.",
        (2, 3): "One number for each sentence: add the squares over the "
        "tokens too.",
        (2, 4): "One number for each sentence: add the squares over d_model "
        "too.",
    }
    found = as_tensor(mine(x), (2,), "[batch]", known)
    d = x.double()
    gap = d - d.mean(1, keepdim=True)
    own = d - d.mean(2, keepdim=True)
    size = d.norm(dim=(1, 2))
    level = d.mean(1, keepdim=True).expand_as(d).norm(dim=(1, 2))
    expect(
        found,
        _apart_loop(d),
        {
            "You took the mean over each token's own numbers; the mean token "
            "is the mean over the tokens, dim=1.": own.norm(dim=(1, 2)) / size,
            "You took one mean over tokens and numbers; the mean token keeps "
            "its d_model numbers.": (
                (d - d.mean((1, 2), keepdim=True)).norm(dim=(1, 2)) / size
            ),
            "You took the mean token over the whole batch; each sentence has "
            "its own.": (d - d.mean((0, 1), keepdim=True)).norm(dim=(1, 2))
            / size,
            "You took the mean over the batch; the mean token is the mean over "
            "the tokens of one sentence, dim=1.": (
                (d - d.mean(0, keepdim=True)).norm(dim=(1, 2)) / size
            ),
            "You divided by the mean token's length, ‖1 x̄ᵀ‖; divide by ‖X‖.": (
                gap.norm(dim=(1, 2)) / level
            ),
            "You did not divide by ‖X‖: the measure should not change when all "
            "numbers are doubled.": gap.norm(dim=(1, 2)),
            "You averaged the tokens' own ratios: add up the squares of all "
            "tokens of a sentence first, and divide once.": (
                (gap.norm(dim=2) / d.norm(dim=2)).mean(1)
            ),
            "Those are the squares: take the roots.": (
                (gap.norm(dim=(1, 2)) / size) ** 2
            ),
            "That is the mean token's length against ‖X‖; measure what is left "
            "when it is taken off.": level / size,
            "You added absolute values; the norm adds squares and takes the "
            "root.": gap.abs().sum((1, 2)) / d.abs().sum((1, 2)),
        },
    )
    same = as_tensor(mine(torch.ones(1, 3, 4)), (1,), "[batch]")
    expect(
        same,
        [0],
        {},
        tolerance=1e-6,
        otherwise="Three equal tokens should be 0 apart; yours are "
        f"{same.item():.4g} apart.",
    )
    return "one number a sentence; equal tokens give 0, any size the same."
