"""Plausible wrong answers to the exercises on scores, and their hints."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from test_exercises import said_about
from torch.nn import functional as F

from lookback import scores
from lookback.exercises import check

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    "answer, words",
    [
        ([40, 24, 0.8, 0.96], "The keys are exchanged"),
        ([14, 17, 0.5, 0.5], "added number by number"),
        ([24, 10, 0.96, 0.2], "Not yet the dot products"),
        ([24, 40, 4.8, 4], "by |k| alone"),
        ([24, 40, 4.8, 8], "by |q| alone"),
        ([24, 40, 0.038, 0.016], "squared lengths"),
        ([24, 40, 2.4, 2.67], "|q| + |k|"),
        ([24, 40, 16.97, 28.28], "scaled products"),
        ([24, 40, 0.8, 0.96], "two cosines are exchanged"),
        ([24, 40, 16.26, 36.87], "angles in degrees"),
        ([24, 40, 0.5, 0.5], "The lengths are 5, 5 and 10"),
        ([24, 40], "Two of four"),
    ],
)
def test_likeness_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "likeness_by_hand", answer)


@pytest.mark.parametrize(
    "answer",
    [(24, 40, 0.96, 0.8), np.array([24.0, 40.0, 0.96, 0.8])]
    + [(24, np.int64(40), Fraction(24, 25), Decimal("0.8"))],
)
def test_likeness_by_hand_takes_numbers_of_any_kind(answer):
    assert check.likeness_by_hand(answer) is True


@pytest.mark.parametrize(
    "answer, words",
    [
        ((25, 1), "25 is d_k"),
        ((250, 10), "added the variances"),
        ((16, 16), "There are 25 of them"),
        ((100, 4), "standard deviations do not"),
        ((20, 4), "its square is the variance"),
        ((80, 16), "√25 terms"),
        ((390, 16), "first number is not right"),
        ((400, 80), "divided by 5²"),
        ((400, 1), "if all numbers had variance 1"),
        ((400, 4), "4 is the standard deviation"),
        ((400, 400), "variance before it"),
        ((400, 0.64), "divided by d_k twice"),
        ((400, 17), "divides it by 25"),
    ],
)
def test_variance_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "variance_by_hand", answer)


def test_variance_by_hand_takes_a_measured_variance():
    draw = torch.Generator().manual_seed(0)
    q = torch.randn(400_000, 25, generator=draw) * 2**0.5
    k = torch.randn(400_000, 25, generator=draw) * 8**0.5
    variance = float((q * k).sum(1).var())
    assert abs(variance - 400) < 4
    rounded = round(variance, -1)
    assert check.variance_by_hand((rounded, rounded / 25)) is True


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda q, k, W: q @ W.T @ k.mT, "W is transposed"),
        (lambda q, k, W: q @ k.mT, "W is not in your scores"),
        (lambda q, k, W: q @ W.T @ (k @ W.T).mT, "mapped the query and the"),
        (lambda q, k, W: (q @ W @ k.mT).softmax(-1), "Those are weights"),
        (lambda q, k, W: q @ W @ k.mT / 2, "general is not scaled"),
        (lambda q, k, W: torch.tanh(q @ W @ k.mT), "tanh does not belong"),
        (lambda q, k, W: (q @ W @ k.mT).mT, "queries are rows"),
        (lambda q, k, W: (q @ W @ k.mT).sum(0), "batch axis is gone"),
        (
            lambda q, k, W: torch.einsum("btq,qk,csk->bts", q, W, k),
            "sentences are mixed",
        ),
        (
            lambda q, k, W: q @ (k @ W.T).reshape(len(k), len(W), k.shape[1]),
            "reshape does not turn",
        ),
    ],
)
def test_general_scores(mine, words, capsys):
    assert words in said_about(capsys, "general_scores", mine)


def by_loop(query, key, W):
    rows = [
        [[a @ (W @ b) for b in keys] for a in queries]
        for queries, keys in zip(query, key, strict=True)
    ]
    return torch.tensor(rows)


@pytest.mark.parametrize(
    "mine", [scores.general, by_loop, lambda q, k, W: q @ W @ k.mT]
)
def test_general_scores_takes_any_route(mine):
    assert check.general_scores(mine) is True


def test_general_scores_takes_numpy():
    def mine(query, key, W):
        q, k, W = (np.float64(each.numpy()) for each in (query, key, W))
        return torch.from_numpy(np.einsum("btq,qk,bsk->bst", q, W, k)).mT

    assert check.general_scores(mine) is True


def both(q, k):
    return q.norm(dim=-1)[..., None], k.norm(dim=-1)[:, None]


def over(what):
    """The product over what `what` makes of the lengths."""
    return lambda q, k: q @ k.mT / what(*both(q, k))


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda q, k: q @ k.mT, "That is the dot product"),
        (over(lambda q, k: k), "key's length only"),
        (over(lambda q, k: q), "query's length only"),
        (scores.scaled_dot, "scaled dot product"),
        (over(lambda q, k: q**2 * k**2), "a root is missing"),
        (
            lambda q, k: (
                q
                @ k.mT
                / q.norm(dim=(1, 2))[:, None, None]
                / k.norm(dim=(1, 2))[:, None, None]
            ),
            "over a whole sentence",
        ),
        (lambda q, k: q @ k.mT / (q.norm() * k.norm()), "without dim"),
        (over(lambda q, k: q + k), "sum of the two lengths"),
        (
            lambda q, k: (
                q / q.norm(dim=-1, keepdim=True) @ F.normalize(k, dim=-1).mT
            ),
            "A query of zeros gives NaN",
        ),
        (
            lambda q, k: F.normalize(q, dim=-1) @ (k / both(k, k)[0]).mT,
            "A key of zeros gives NaN",
        ),
        (lambda q, k: scores.cosine(q, k).softmax(-1), "Those are weights"),
        (over(lambda q, k: q * k + 1e-4 * 0.5), "add something to"),
        (over(lambda q, k: (q * k).clamp(1e-4)), "clamp at too large"),
        (
            lambda q, k: F.normalize(q) @ F.normalize(k).mT,
            "over the words: dim=-1",
        ),
        (over(lambda q, k: q * k), "gives NaN"),
        (lambda q, k: scores.cosine(q, k).mT, "queries are rows"),
    ],
)
def test_cosine_scores(mine, words, capsys):
    assert words in said_about(capsys, "cosine_scores", mine)


@pytest.mark.parametrize(
    "mine",
    [
        scores.cosine,
        lambda q, k: F.cosine_similarity(q[:, :, None], k[:, None], dim=-1),
        over(lambda q, k: (q * k).clamp_min(1e-9)),
        lambda q, k: (q @ k.mT / both(q, k)[0] / both(q, k)[1]).nan_to_num(),
        lambda q, k: torch.stack(
            [
                torch.stack(
                    [F.cosine_similarity(a, keys, dim=-1) for a in queries]
                )
                for queries, keys in zip(q.double(), k.double(), strict=True)
            ]
        ),
    ],
)
def test_cosine_scores_takes_any_route(mine):
    assert check.cosine_scores(mine) is True


def slopes(made):
    """From weights a: diagonal and products, put together by `made`."""

    def mine(e):
        a = e.softmax(-1)
        return made(torch.diag_embed(a), a[:, :, None] * a[:, None])

    return mine


def over_batch(e):
    a = e.softmax(0)
    return torch.diag_embed(a) - a[:, :, None] * a[:, None]


@pytest.mark.parametrize(
    "mine, words",
    [
        (slopes(lambda d, p: p - d), "The sign is flipped"),
        (slopes(lambda d, p: d), "α_j α_m is missing"),
        (slopes(lambda d, p: -p), "The diagonal is missing"),
        (slopes(lambda d, p: (d - p) * torch.eye(4)), "Off the diagonal"),
        (slopes(lambda d, p: d + p), "You add α_j α_m"),
        (
            lambda e: torch.diag_embed(e) - e[:, :, None] * e[:, None],
            "take softmax first",
        ),
        (slopes(lambda d, p: torch.eye(4) - p), "You put the identity"),
        (over_batch, "over the batch"),
        (lambda e: e.softmax(-1) * (1 - e.softmax(-1)), "every OTHER score"),
        (lambda e: over_batch(e).sum(0), "each row of scores has its own"),
        (
            lambda e: torch.func.jacrev(lambda x: x.softmax(-1))(e),
            "only a row's own scores",
        ),
    ],
)
def test_softmax_slopes(mine, words, capsys):
    assert words in said_about(capsys, "softmax_slopes", mine)


def test_softmax_slopes_takes_torchs_derivative():
    def mine(e):
        slope = torch.func.jacrev(lambda row: row.softmax(0))
        return torch.stack([slope(row) for row in e])

    assert check.softmax_slopes(slopes(lambda d, p: d - p)) is True
    assert check.softmax_slopes(mine) is True

    def loop(e):
        tables = []
        for a in e.softmax(-1).tolist():
            n = range(len(a))
            tables.append([[a[j] * ((j == m) - a[m]) for m in n] for j in n])
        return torch.tensor(tables)

    def by_gradient(e):
        e = e.double().requires_grad_()
        columns = [
            torch.autograd.grad(e.softmax(1)[:, j].sum(), e)[0]
            for j in range(e.shape[1])
        ]
        return torch.stack(columns, dim=1)

    assert check.softmax_slopes(loop) is True
    with torch.no_grad():
        assert check.softmax_slopes(by_gradient) is True
