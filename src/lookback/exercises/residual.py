"""The exercises of `residual`: each check beside its reference solution.

What is right comes from plain loops over tokens and numbers, never from the
solution.
"""

import math
import statistics
from itertools import product

import numpy as np
import torch
from torch.nn import functional as F

from lookback.exercises.by_hand import around, by_hand, stage, within
from lookback.exercises.checking import (
    NO_GRADIENT,
    OTHER_GRADIENT,
    Called,
    Hint,
    as_tensor,
    exercise,
    float64,
    learnable,
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
        "That is x + f(x), not yet normalized.": total,
        "You took the mean off and did not divide by the standard deviation.": (
            total - mean
        ),
        f"You divided by the variance, {variance:.4g}; divide by its square "
        "root.": (total - mean) / variance,
        "You divided the squares by 3. LayerNorm describes these four "
        "numbers and no larger population: divide by 4.": (
            _normal(total.tolist(), statistics.stdev)
        ),
        "You divided by σ without taking the mean off first.": (
            total / variance.sqrt()
        ),
        "You normalized x and left f(x) out: add first.": normal_x,
        "You normalized f(x) and left x out: the residual connection is "
        "missing.": (normal_change),
        "You normalized x first and then added f(x). In post-norm the sum "
        "is made first.": normal_x + change,
        "You normalized f(x) and then added x. In post-norm the sum is "
        "made first.": normal_change + x,
        "You normalized both and then added. In post-norm the sum is made "
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
        "The check does not recognize this mistake. First the sum of the two "
        "vectors; then take its mean off each number; then divide by the root "
        "of the mean of the squares of what is left."
    )
    return (
        f"the mean {mean:g} is gone, and {variance:.4g}, the variance, has "
        "become 1.",
        stage(truth, mistakes, otherwise, around(0.012), asked=within(0.0075)),
    )


def normalize_solution(x, gain, bias, epsilon):
    """g ∘ (x − μ) / √(σ² + ε) + b for each token."""
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return gain * (x - mean) / torch.sqrt(variance + epsilon) + bias


def _token_by_token(x, gain, bias, epsilon):
    """Layer normalization in float64, one token after another."""
    rows = []
    for row in x.flatten(0, -2).tolist():
        level = statistics.fmean(row)
        by = math.sqrt(statistics.pvariance(row) + epsilon)
        rows.append([(one - level) / by for one in row])
    y, gain, bias = map(float64, (rows, gain, bias))
    return gain * y.view(x.shape) + bias


_EQUAL = (
    "Four equal numbers give NaN: their variance is 0, and ε under the root is "
    "there for exactly this."
)
_TORCHS = (
    "The numbers are right. Now without torch's own normalization: subtract "
    "the mean and divide yourself."
)


@exercise(normalize_solution)
def normalize(mine):
    """Layer normalization over the last axis, with gain, bias and ε."""
    x, gain, bias = random_inputs(3, (2, 3, 4), (4,), (4,))
    usual = [(2 * x + 1, gain, bias, 0.5), (x / 4, gain, bias, 0.01)]
    equal = torch.full((1, 1, 4), 3.0), gain, bias, 1e-5
    cases = [(given, _token_by_token(*given)) for given in (*usual, equal)]
    with Called() as called:
        about = "with ε = {3}"
        normalize.compare(mine, cases, "[batch, length, d_model]", about)
    if any("norm" in name for name in called.names - {"norm"}):
        raise Hint(_TORCHS)
    learnable(mine, *usual[0])
    return (
        "each token by its own mean and variance, ε under the root, then "
        "gain and bias; four equal numbers become the bias."
    )


_FIXED = "ε is a number of your own; take the argument epsilon."
_SQUARES = "x.square().mean(dim=-1, keepdim=True)"
_VARIANCE = "x.var(dim=-1, keepdim=True, correction=0)"
_ROOT = "torch.sqrt(variance + epsilon)"
_STD = "x.std(dim=-1, keepdim=True, correction={})"
_TWO = (
    "Two slips: torch's std and var divide the squares by d − 1, and ε is a "
    "number of your own; take the argument epsilon, under the root."
)
for _hint, _typed in {
    _EQUAL: (_ROOT, "torch.sqrt(variance + epsilon * bool(variance.any()))"),
    "You divide the squares by d − 1, as torch.var does by default; LayerNorm "
    "divides by d: correction=0.": ("correction=0", "correction=1"),
    "ε is added to σ; it belongs under the root, √(σ² + ε).": (
        _ROOT,
        "(variance.sqrt() + epsilon)",
    ),
    "Two slips: torch.std divides the squares by d − 1, and ε belongs under "
    "the root, √(σ² + ε).": (_ROOT, "(x.std(dim=-1, keepdim=True) + epsilon)"),
    "Two slips: torch.std divides the squares by d − 1, and ε is missing.": (
        _ROOT,
        "x.std(dim=-1, keepdim=True)",
    ),
    "You took one mean and one variance for a whole sentence. Each token has "
    "its own, over its own numbers: dim=-1.": ("dim=-1", "dim=(1, 2)"),
    "ε is missing under the root.": (" + epsilon", ""),
    _FIXED: ("+ epsilon", "+ 1e-5"),
    "You divide by the variance; divide by its root.": ("torch.sqrt", ""),
    "Gain and bias are missing.": ("gain * ", "", " + bias", ""),
    "The bias is missing.": (" + bias", ""),
    "The gain is missing.": ("gain * ", ""),
    "Gain and bias are exchanged.": ("gain *", "bias *", "+ bias", "+ gain"),
    "The mean stays in: x − μ before you divide.": ("(x - mean)", "x"),
    "That is RMSNorm, which takes no mean off and has no bias. LayerNorm does "
    "both.": ("(x - mean)", "x", _VARIANCE, _SQUARES, " + bias", ""),
    "That is RMSNorm with a bias: it divides by the root of the mean square. "
    "LayerNorm takes μ off first, in the variance "
    "too.": ("(x - mean)", "x", _VARIANCE, _SQUARES),
    "You take μ off above and not below: σ² is the mean of (x − μ)², not of "
    "x².": (_VARIANCE, _SQUARES),
    "You divide by the sum of the squares' root: σ² is their mean, so divide "
    "by d first.": ("(variance", "(variance * x.shape[-1]"),
    "You average over the batch: that is the idea of batch normalization. Here "
    "each token has its own mean and variance, over its own numbers: "
    "dim=-1.": ("dim=-1", "dim=0"),
    "You average over the tokens of a sentence: each token has its own mean "
    "and variance, over its own numbers: dim=-1.": ("dim=-1", "dim=1"),
    "You took one mean and one variance over everything. Each token has its "
    "own, over its own numbers: dim=-1.": ("dim=-1", "dim=(0, 1, 2)"),
    "Bias first and gain after: g ∘ (… ) + b, not g ∘ (… + b).": (
        "(x - mean)",
        "((x - mean)",
        "+ bias",
        "+ bias)",
    ),
    _TORCHS: (
        f"gain * (x - mean) / {_ROOT} + bias",
        "F.layer_norm(x, x.shape[-1:], gain, bias, epsilon)",
    ),
}.items():
    normalize.slip(_hint, *_typed)


for _fixed in ("0.5", "0.01", "1e-3", "1e-6", "1e-8", "1e-12"):
    normalize.slip(_FIXED, "+ epsilon", f"+ {_fixed}")
for _fixed, (_few, _hint) in product(
    ("1e-5", "1e-6", "1e-8", "1e-12"), ((0, _FIXED), (1, _TWO))
):
    for _by in (f"({_STD} + {_fixed})", f"({_STD} ** 2 + {_fixed}) ** 0.5"):
        normalize.slip(_hint, _ROOT, _by.format(_few))


for _typed in (
    "torch.native_layer_norm(x, x.shape[-1:], gain, bias, epsilon)[0]",
    "gain * F.group_norm(x.flatten(0, 1), 1, eps=epsilon).view_as(x) + bias",
):
    normalize.slip(_TORCHS, f"gain * (x - mean) / {_ROOT} + bias", _typed)


normalize.slip(NO_GRADIENT, _token_by_token)


@normalize.style
def _squares_less_mean_squared(x, gain, bias, epsilon):
    x = x.double()
    mean = x.sum(2, keepdim=True) / x.shape[2]
    spread = (x**2).sum(2, keepdim=True) / x.shape[2] - mean**2
    return (x - mean) * (spread + epsilon) ** -0.5 * gain + bias


normalize.slip(NO_GRADIENT, "gain * (x", "gain.detach() * (x")
normalize.slip(OTHER_GRADIENT, _ROOT, f"{_ROOT}.detach()")


@normalize.slip("numpy knows no gradients")
def _by_numpy(x, gain, bias, epsilon):
    x, gain, bias = x.numpy(), gain.numpy(), bias.numpy()
    mean, spread = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    y = gain * (x - mean) / np.sqrt(spread + epsilon) + bias
    return torch.from_numpy(y)


def add_and_norm_solution(x, f, norm, where):
    """norm(x + f(x)) for "post", x + f(norm(x)) for "pre"."""
    if where == "post":
        return norm(x + f(x))
    return x + f(norm(x))


_EXCHANGED = '"post" and "pre" are exchanged.'


@exercise(add_and_norm_solution)
def add_and_norm(mine):
    """A residual connection around f, with the norm after it or before f."""
    (x,) = random_inputs(5, (2, 3, 4))
    axes = "[batch, length, d_model]"

    def f(x):
        return torch.tanh(x.flip(-1)) + 0.5

    def norm(x):
        return F.layer_norm(x, x.shape[-1:])

    d = x.double()
    truth = {"post": norm(d + f(d)), "pre": d + f(norm(d))}
    found = [as_tensor(mine(x, f, norm, one), x.shape, axes) for one in truth]
    if torch.stack(found).allclose(
        torch.stack([truth["pre"], truth["post"]]), atol=1e-4
    ):
        raise Hint(_EXCHANGED)
    for where in truth:
        cases = [((x, f, norm, where), truth[where])]
        add_and_norm.compare(mine, cases, axes, 'for "{3}",')
        learnable(mine, x, f, norm, where)
    return "post is norm(x + f(x)); pre is x + f(norm(x)), x untouched."


_POST, _PRE = "norm(x + f(x))", "x + f(norm(x))"
_MISSING = "The residual connection is missing: x itself must be added."
_BARE = "You added and did not normalize."
_TWICE = "You normalize twice, before f and after the sum."
for _hint, _typed in {
    _MISSING: "norm(f(x))",
    _BARE: "x + f(x)",
    "That is x + norm(f(x)): in post-norm the norm acts on the sum, x "
    "included.": "x + norm(f(x))",
    'Your "post" is pre-norm: the norm comes after the sum.': _PRE,
    _TWICE: "norm(x + f(norm(x)))",
    "You normalized x and added f(x) to that.": "norm(x) + f(x)",
    "You normalized both and then added.": "norm(x) + norm(f(x))",
}.items():
    add_and_norm.slip(_hint, _POST, _typed)
for _hint, _typed in {
    _MISSING: "f(norm(x))",
    _BARE: "x + f(x)",
    "You overwrote x with norm(x) before adding. In pre-norm only f sees the "
    "normalized x; the stream itself is left alone.": "norm(x) + f(norm(x))",
    'Your "pre" is post-norm: there the norm acts on the sum.': _POST,
    "norm(x) and x have changed places: f reads the normalized x, and x "
    "itself is carried on.": "norm(x) + f(x)",
    "That is x + norm(f(x)): the norm stands before f, not after it.": (
        "x + norm(f(x))"
    ),
    _TWICE: "norm(x + f(norm(x)))",
}.items():
    add_and_norm.slip(_hint, _PRE, _typed)
add_and_norm.slip(_MISSING, _PRE, "norm(f(x))")
add_and_norm.slip(OTHER_GRADIENT, _PRE, "x + f(norm(x)).detach()")
add_and_norm.slip(OTHER_GRADIENT, _POST, "norm(x.detach() + f(x))")
add_and_norm.slip(_EXCHANGED, '== "post"', '== "pre"')


@add_and_norm.style
def _onto_a_copy(x, f, norm, where):
    stream = x.double().clone()
    stream += f({"pre": norm, "post": lambda y: y}[where](x))
    return {"pre": lambda y: y, "post": norm}[where](stream)


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


_NOT_NONE = "Three equal tokens should be 0 apart; yours are not."


@exercise(tokens_apart_solution)
def tokens_apart(mine):
    """How far the tokens of each sentence lie from their mean."""
    (x,) = random_inputs(8, (2, 3, 4))
    cases = [((x,), float64(_apart_loop(x.double())))]
    tokens_apart.compare(mine, cases, "[batch]")
    cases = [((torch.ones(1, 3, 4),), torch.zeros(1))]
    tokens_apart.compare(
        mine, cases, "[batch]", tolerance=1e-6, otherwise=_NOT_NONE
    )
    return "one number a sentence; equal tokens give 0, any size the same."


_GAP, _SIZE = "gap.flatten(1)", "x.flatten(1)"
_SHARE = f"{_GAP}.norm(dim=1) / {_SIZE}.norm(dim=1)"
for _hint, _typed in {
    "You took the mean over each token's own numbers; the mean token is the "
    "mean over the tokens, dim=1.": ("mean(dim=1", "mean(dim=2"),
    "You took one mean over tokens and numbers; the mean token keeps its "
    "d_model numbers.": ("mean(dim=1", "mean(dim=(1, 2)"),
    "You took the mean token over the whole batch; each sentence has its "
    "own.": ("mean(dim=1", "mean(dim=(0, 1)"),
    "You took the mean over the batch; the mean token is the mean over the "
    "tokens of one sentence, dim=1.": ("mean(dim=1", "mean(dim=0"),
    "You divided by the mean token's length, ‖1 x̄ᵀ‖; divide by ‖X‖.": (
        _SIZE,
        "(x - gap).flatten(1)",
    ),
    "You did not divide by ‖X‖: the measure should not change when all numbers "
    "are doubled.": (_SHARE, f"{_GAP}.norm(dim=1)"),
    "You averaged the tokens' own ratios: add up the squares of all tokens of "
    "a sentence first, and divide "
    "once.": (_SHARE, "(gap.norm(dim=2) / x.norm(dim=2)).mean(1)"),
    "Those are the squares: take the roots.": (_SHARE, f"({_SHARE}) ** 2"),
    "That is the mean token's length against ‖X‖; measure what is left when it "
    "is taken off.": (_GAP, "(x - gap).flatten(1)"),
    "You added absolute values; the norm adds squares and takes the root.": (
        "norm(dim=1)",
        "abs().sum(dim=1)",
    ),
    "One number for each sentence, not one for the batch.": (
        "norm(dim=1)",
        "norm()",
    ),
    "One number for each sentence: add the squares over the tokens too.": (
        ".flatten(1).norm(dim=1)",
        ".norm(dim=2)",
    ),
    "One number for each sentence: add the squares over d_model too.": (
        ".flatten(1).norm(dim=1)",
        ".norm(dim=1)",
    ),
    _NOT_NONE: (_SHARE, f"{_SHARE} + 1e-5"),
}.items():
    tokens_apart.slip(_hint, *_typed)


@tokens_apart.style
def _projected(x):  # what 1 1ᵀ / n takes off, written as a projection
    n = x.shape[1]
    keep = torch.eye(n) - torch.ones(n, n) / n
    gap = torch.einsum("ij,bjd->bid", keep.to(x), x)
    return (gap.square().sum((1, 2)) / x.square().sum((1, 2))).sqrt()


@tokens_apart.style
def _sentence_by_sentence(x):
    far = [np.linalg.norm(X - X.mean(0)) / np.linalg.norm(X) for X in x.numpy()]
    return torch.tensor(far)


@tokens_apart.style
def _by_pythagoras(x):
    whole, level = x.pow(2).sum((1, 2)), x.mean(1).pow(2).sum(1) * x.shape[1]
    with torch.no_grad():
        return ((whole - level) / whole).clamp(min=0).sqrt()
