"""Plausible wrong answers to this chapter's exercises, and their hints."""

import numpy as np
import pytest
import torch
from test_exercises import said_about
from torch import nn
from torch.nn import functional as F

from lookback.exercises import check

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    "answer, words",
    [
        ([1, 3, 3, 9], "not yet normalised"),
        ([-3, -1, -1, 5], "did not divide"),
        ([-1 / 3, -1 / 9, -1 / 9, 5 / 9], "divided by the variance"),
        ([-0.866, -0.289, -0.289, 1.443], "divided the squares by 3"),
        ([1 / 3, 1, 1, 3], "without taking the mean off"),
        ([-0.816, -0.816, 0, 1.633], "left f(x) out"),
        ([-1.069, 0, -0.535, 1.604], "the residual is missing"),
        ([-0.816, 1.184, 1, 6.633], "normalised x first"),
        ([-0.069, 1, 1.465, 5.604], "normalised f(x) and then added x"),
        ([-1.886, -0.816, -0.535, 3.237], "normalised both"),
        ([0.2, 0.6, 0.6, 1.8], "as RMSNorm does"),
        ([-0.6, -0.2, -0.2, 1], "root of the sum's own squares"),
        ([float("inf"), 0, 0, 0], "NaN or infinity"),
        ([4, 9], "You gave 2 numbers"),
        ([5, 5, 5, 5], "no slip that the check knows"),
    ],
)
def test_post_norm_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "post_norm_by_hand", answer)


@pytest.mark.parametrize(
    "answer",
    [(-1, -0.33, -0.33, 1.67), torch.tensor([-1, -1 / 3, -1 / 3, 5 / 3])],
)
def test_post_norm_by_hand_takes_rounded_answers(answer):
    assert check.post_norm_by_hand(answer) is True


def normal(x, axes=-1, correction=0, epsilon=0.0):
    spread = x.var(axes, keepdim=True, correction=correction)
    return (x - x.mean(axes, keepdim=True)) / torch.sqrt(spread + epsilon)


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda x, g, b, e: g * normal(x, -1, 1, e) + b, "d − 1"),
        (
            lambda x, g, b, e: (
                g
                * (x - x.mean(-1, keepdim=True))
                / (x.std(-1, keepdim=True, correction=0) + e)
                + b
            ),
            "belongs under the root",
        ),
        (lambda x, g, b, e: g * normal(x) + b, "ε is missing"),
        (lambda x, g, b, e: normal(x, epsilon=e), "Gain and bias are missing"),
        (lambda x, g, b, e: g * normal(x, epsilon=e), "bias is missing"),
        (lambda x, g, b, e: normal(x, epsilon=e) + b, "gain is missing"),
        (lambda x, g, b, e: b * normal(x, epsilon=e) + g, "exchanged"),
        (lambda x, g, b, e: g * (normal(x, epsilon=e) + b), "Bias first"),
        (lambda x, g, b, e: g * normal(x, 0, 0, e) + b, "batch normalisation"),
        (lambda x, g, b, e: g * normal(x, 1, 0, e) + b, "tokens of a sentence"),
        (
            lambda x, g, b, e: (
                g * x / torch.sqrt(x.var(-1, keepdim=True, correction=0) + e)
                + b
            ),
            "mean stays in",
        ),
        (
            lambda x, g, b, e: (
                g
                * (x - x.mean(-1, keepdim=True))
                / (x.var(-1, keepdim=True, correction=0) + e)
                + b
            ),
            "divide by its root",
        ),
        (lambda x, g, b, e: x.mean(-1), "Shape first"),
        (
            lambda x, g, b, e: left(x, -1) / x.std(-1, keepdim=True) * g + b,
            "ε is missing.",
        ),
        (lambda x, g, b, e: g * normal(x, (1, 2), 0, e) + b, "whole sentence"),
        (lambda x, g, b, e: g * F.rms_norm(x, x.shape[-1:], eps=e), "RMSNorm,"),
        (
            lambda x, g, b, e: (
                g * x / (x.square().mean(-1, keepdim=True) + e).sqrt() + b
            ),
            "RMSNorm with a bias",
        ),
        (
            lambda x, g, b, e: (
                g
                * (x - x.mean(-1, keepdim=True))
                / (x.square().mean(-1, keepdim=True) + e).sqrt()
                + b
            ),
            "above and not below",
        ),
        (
            lambda x, g, b, e: (
                g
                * (x - x.mean(-1, keepdim=True))
                / (left(x, -1).square().sum(-1, keepdim=True) + e).sqrt()
                + b
            ),
            "σ² is their mean",
        ),
        (
            lambda x, g, b, e: (
                g
                * (x - x.mean(-1, keepdim=True))
                / (x.std(-1, keepdim=True) + e)
                + b
            ),
            "Two slips",
        ),
        (
            lambda x, g, b, e: g * normal(x, (0, 1, 2), 0, e) + b,
            "over everything",
        ),
    ],
)
def test_normalise(mine, words, capsys):
    assert words in said_about(capsys, "normalise", mine)


def test_four_equal_numbers_must_not_be_divided_by_nothing(capsys):
    def mine(x, g, b, e):
        spread = x.var(-1, keepdim=True, correction=0)
        root = torch.sqrt(spread + e) if spread.any() else torch.sqrt(spread)
        return g * (x - x.mean(-1, keepdim=True)) / root + b

    assert "give NaN" in said_about(capsys, "normalise", mine)


def by_function(x, g, b, e):
    return F.layer_norm(x, x.shape[-1:], g, b, e)


def by_module(x, g, b, e):
    norm = nn.LayerNorm(x.shape[-1], eps=e)
    norm.weight.data, norm.bias.data = g, b
    return norm(x)


@pytest.mark.parametrize("mine", [by_function, by_module])
def test_normalise_is_torchs_own_and_does_not_take_it(mine, capsys):
    said = said_about(capsys, "normalise", mine)
    assert "The numbers are right. Now without torch's layer_norm" in said


def squares_less_mean_squared(x, g, b, e):
    x = x.double()
    mean = x.sum(2, keepdim=True) / x.shape[2]
    spread = (x**2).sum(2, keepdim=True) / x.shape[2] - mean**2
    return (x - mean) * (spread + e) ** -0.5 * g + b


def by_numpy(x, g, b, e):
    x, g, b = x.numpy(), g.numpy(), b.numpy()
    mean, spread = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return torch.from_numpy(g * (x - mean) / np.sqrt(spread + e) + b)


def token_by_token(x, g, b, e):
    y = torch.empty_like(x)
    for i in range(len(x)):
        for j in range(x.shape[1]):
            left = x[i, j] - x[i, j].mean()
            y[i, j] = g * left / (left.pow(2).mean() + e).sqrt() + b
    return y


@pytest.mark.parametrize(
    "mine", [squares_less_mean_squared, by_numpy, token_by_token]
)
def test_normalise_by_another_route(mine):
    assert check.normalise(mine) is True


def wherever(post, pre):
    """A sublayer from its two forms."""
    return lambda x, f, norm, where: (post if where == "post" else pre)(
        x, f, norm
    )


def post(x, f, n):
    return n(x + f(x))


def pre(x, f, n):
    return x + f(n(x))


@pytest.mark.parametrize(
    "mine, words",
    [
        (wherever(pre, post), "are exchanged"),
        (wherever(lambda x, f, n: n(f(x)), pre), "residual is missing"),
        (wherever(lambda x, f, n: x + f(x), pre), "did not normalise"),
        (wherever(lambda x, f, n: x + n(f(x)), pre), "acts on the sum"),
        (wherever(pre, pre), 'Your "post" is pre-norm'),
        (wherever(lambda x, f, n: n(x + f(n(x))), pre), "normalise twice"),
        (wherever(lambda x, f, n: n(x) + f(x), pre), "added f(x) to that"),
        (wherever(post, lambda x, f, n: n(x) + f(n(x))), "overwrote x"),
        (wherever(post, lambda x, f, n: f(n(x))), "residual is missing"),
        (wherever(post, post), 'Your "pre" is post-norm'),
        (wherever(post, lambda x, f, n: x + f(x)), "did not normalise"),
        (wherever(post, lambda x, f, n: x + n(f(x))), "not behind it"),
        (wherever(post, lambda x, f, n: n(x) + f(x)), "changed places"),
        (lambda x, f, n, where: n(x) + f(x), "added f(x) to that"),
        (wherever(lambda x, f, n: n(x) + n(f(x)), pre), "normalised both"),
    ],
)
def test_add_and_norm(mine, words, capsys):
    assert words in said_about(capsys, "add_and_norm", mine)


def in_one_sum(x, f, norm, where):
    sees = norm(x) if where == "pre" else x
    total = torch.stack([x, f(sees)]).sum(0)
    return norm(total) if where == "post" else total


def onto_a_copy(x, f, norm, where):
    stream = x.double().clone()
    with torch.no_grad():
        stream += f({"pre": norm, "post": lambda y: y}[where](x))
    return {"pre": lambda y: y, "post": norm}[where](stream)


@pytest.mark.parametrize("mine", [in_one_sum, onto_a_copy])
def test_add_and_norm_takes_another_route(mine):
    assert check.add_and_norm(mine) is True


def left(x, axes=1):
    return x - x.mean(axes, keepdim=True)


def long(x):
    return x.norm(dim=(1, 2))


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda x: long(left(x, 2)) / long(x), "over each token's own"),
        (lambda x: long(left(x, (1, 2))) / long(x), "one mean over tokens"),
        (lambda x: long(left(x, (0, 1))) / long(x), "over the whole batch"),
        (lambda x: long(left(x)), "did not divide"),
        (lambda x: long(left(x, 0)) / long(x), "mean over the batch;"),
        (
            lambda x: long(left(x)) / long(x.mean(1, keepdim=True) * x**0),
            "divided by the mean token's length",
        ),
        (lambda x: long(left(x)) / long(x) + 0 / long(left(x)), "0 apart"),
        (lambda x: (long(left(x)) / long(x)) ** 2, "take the roots"),
        (
            lambda x: (left(x).norm(dim=2) / x.norm(dim=2)).mean(1),
            "averaged the tokens' own ratios",
        ),
        (
            lambda x: long(x.mean(1, keepdim=True).expand_as(x)) / long(x),
            "when it is taken off",
        ),
        (
            lambda x: left(x).abs().sum((1, 2)) / x.abs().sum((1, 2)),
            "absolute values",
        ),
        (lambda x: left(x).norm() / x.norm(), "not one for the batch"),
        (lambda x: left(x).norm(dim=2) / x.norm(dim=2), "over the tokens too"),
        (lambda x: left(x).norm(dim=1) / x.norm(dim=1), "over d_model too"),
    ],
)
def test_tokens_apart(mine, words, capsys):
    assert words in said_about(capsys, "tokens_apart", mine)


def projected(x):  # what 1 1ᵀ / n takes off, written as a projection
    n = x.shape[1]
    keep = torch.eye(n) - torch.ones(n, n) / n
    gap = torch.einsum("ij,bjd->bid", keep.to(x), x)
    return (gap.square().sum((1, 2)) / x.square().sum((1, 2))).sqrt()


def sentence_by_sentence(x):
    far = []
    for X in x.numpy():
        far.append(np.linalg.norm(X - X.mean(0)) / np.linalg.norm(X))
    return torch.tensor(far)


def by_pythagoras(x):
    whole, level = x.pow(2).sum((1, 2)), x.mean(1).pow(2).sum(1) * x.shape[1]
    with torch.no_grad():
        return ((whole - level) / whole).clamp(min=0).sqrt()


@pytest.mark.parametrize(
    "mine", [projected, sentence_by_sentence, by_pythagoras]
)
def test_tokens_apart_by_another_route(mine):
    assert check.tokens_apart(mine) is True
