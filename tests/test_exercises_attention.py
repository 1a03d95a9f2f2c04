"""Plausible wrong answers to attention's exercises, and their hints."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from test_exercises import said_about
from torch.nn import functional as F

from lookback.exercises import check

pytestmark = pytest.mark.nightly

INF = float("inf")


@pytest.mark.parametrize(
    "answer, words",
    [
        ([3.52, 0.95, 0.07, 7.86], "not divided by √d_k"),
        ([2.49, 3.02, 1.08, 5.85], "its root, 2"),
        ([3.22, 1.56, 0.22, 7.55], "not the number of positions"),
        ([3.52, 2.15, 0.48, 5.85], "down the columns"),
        ([2.67, 2.67, 0, 8], "exp is missing"),
        ([4, 0, 0, 8], "hard choice"),
        ([4, 0, 0.48, 7.05], "causal mask"),
        ([8, 8, 0, 16], "by the scores"),
        ([0.73, 0.27, 0.12, 0.88], "Those are the weights"),
        ([0.48, 7.05, 2.92, 2.15], "second output stands first"),
        ([2.92, 2.15], "You gave 2 numbers"),
        ([2.92, 0.48, 2.15, 7.05], "row by row"),
        (torch.tensor([[2.92, 0.48], [2.15, 7.05]]), "row by row"),
        ([2.9, 2.2, 0.5, 7.0], "one decimal only"),
        ([1, 1, 1, 1], "no slip that the check knows"),
    ],
)
def test_attention_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "attention_by_hand", answer)


@pytest.mark.parametrize(
    "answer",
    [
        (2.92, 2.15, 0.48, 7.05),
        ((2.92, 2.15), (0.48, 7.05)),
        [[2.924, 2.152], [0.477, 7.046]],
        torch.tensor([2.92, 2.15, 0.48, 7.05]),
        torch.tensor([[2.924, 2.152], [0.477, 7.046]]),
        np.array([[2.924, 2.152], [0.477, 7.046]]),
        [torch.tensor([2.924, 2.152]), np.array([0.477, 7.046])],
        (Fraction(292, 100), Decimal("2.15"), np.float32(0.48), 7.05),
    ],
)
def test_attention_by_hand_takes_rounded_answers(answer):
    assert check.attention_by_hand(answer) is True


def attended(weigh):
    """An answer from what turns scores, mask and d_k into weights."""

    def mine(Q, K, V, mask):
        return weigh(Q @ K.transpose(1, 2), mask, Q.shape[-1]) @ V

    return mine


def weights_only(Q, K, V, mask):
    return (Q @ K.transpose(1, 2)).softmax(-1)


def nan(Q, K, V, mask):
    e = (Q @ K.transpose(1, 2)).exp() * mask
    return (e / e.sum(-1, keepdim=True)) @ V * torch.nan


@pytest.mark.parametrize(
    "mine, words",
    [
        (attended(lambda e, m, d: (e / d**0.5).softmax(-1)), "mask is not"),
        (
            attended(lambda e, m, d: e.masked_fill(~m, -INF).softmax(-1)),
            "1/√d_k is missing",
        ),
        (
            attended(lambda e, m, d: (e / d).masked_fill(~m, -INF).softmax(-1)),
            "You divide by d_k",
        ),
        (
            attended(
                lambda e, m, d: (e * d**0.5).masked_fill(~m, -INF).softmax(-1)
            ),
            "You multiply by √d_k",
        ),
        (
            attended(
                lambda e, m, d: (e / d**0.5).masked_fill(m, -INF).softmax(-1)
            ),
            "True and False are swapped",
        ),
        (
            attended(lambda e, m, d: (e / d**0.5).softmax(-1) * m),
            "masked after the softmax",
        ),
        (
            attended(lambda e, m, d: (e / d**0.5 * m).softmax(-1)),
            "exp(0) = 1",
        ),
        (
            attended(
                lambda e, m, d: (
                    (e / d**0.5)
                    .masked_fill(~m, -INF)
                    .softmax(-2)
                    .nan_to_num(0.0)
                )
            ),
            "over the queries",
        ),
        (
            attended(
                lambda e, m, d: (e / d**0.5).masked_fill(~m, -INF).softmax(1)
            ),
            "over the queries",
        ),
        (attended(lambda e, m, d: (e / d**0.5).exp() * m), "by their sum"),
        (
            attended(lambda e, m, d: (e / d**0.5 + ~m * -INF).softmax(-1)),
            "0 times infinity",
        ),
        (attended(lambda e, m, d: e / d**0.5 * m), "softmax is missing"),
        (
            attended(lambda e, m, d: m.float() / m.sum(-1, keepdim=True)),
            "queries are not used",
        ),
        (
            attended(
                lambda e, m, d: (
                    (e / e.shape[1] ** 0.5).masked_fill(~m, -INF).softmax(-1)
                )
            ),
            "not the number of queries",
        ),
        (
            attended(
                lambda e, m, d: (
                    (e / e.shape[2] ** 0.5).masked_fill(~m, -INF).softmax(-1)
                )
            ),
            "not the number of keys",
        ),
        (weights_only, "multiply them into V"),
        (nan, "holds NaN"),
    ],
)
def test_attend_from_scratch(mine, words, capsys):
    assert words in said_about(capsys, "attend_from_scratch", mine)


def test_attend_from_scratch_wants_it_written(capsys):
    def fused(Q, K, V, mask):
        return F.scaled_dot_product_attention(Q, K, V, mask)

    said = said_about(capsys, "attend_from_scratch", fused)
    assert "without torch's finished attention" in said


def test_attend_from_scratch_takes_a_loop_and_einsum():
    def spelled(Q, K, V, mask):
        e = torch.einsum("btd,bsd->bts", Q, K) / Q.shape[-1] ** 0.5
        shares = (e - e.amax(-1, keepdim=True)).exp() * mask
        shares = shares / shares.sum(-1, keepdim=True)
        return torch.einsum("bts,bsv->btv", shares, V)

    def loop(Q, K, V, mask):
        out = torch.zeros(*Q.shape[:2], V.shape[-1], dtype=torch.float64)
        for b, t in np.ndindex(*Q.shape[:2]):
            seen = mask[b, t]
            e = K[b, seen].double() @ Q[b, t].double() / math.sqrt(len(Q[b, t]))
            out[b, t] = e.softmax(0) @ V[b, seen].double()
        return out

    assert check.attend_from_scratch(loop) is True
    assert check.attend_from_scratch(spelled) is True


def square(make):
    def mine(tokens):
        return make(torch.ones(tokens.shape[1], tokens.shape[1]))

    return mine


@pytest.mark.parametrize(
    "mine, words",
    [
        (square(lambda one: one.triu().bool()), "Rows and columns"),
        (square(lambda one: one.triu(1).bool()), "True on the future"),
        (square(lambda one: one.tril(-1).bool()), "may see itself"),
        (square(lambda one: one.bool()), "Everything is allowed"),
        (square(lambda one: torch.eye(len(one)).bool()), "itself alone"),
        (square(lambda one: one.tril(1).bool()), "one word of the future"),
        (square(lambda one: one.tril()), "True and False; yours is"),
        (square(lambda one: one.tril().bool()[None]), "Shape first"),
        (lambda tokens: tokens > 0, "is a square"),
        (
            lambda tokens: torch.ones(len(tokens), len(tokens)).tril().bool(),
            "as wide as the batch",
        ),
        (square(lambda one: one.tril().numpy() > 0), "gives back ndarray"),
        (square(lambda one: one.tril() + 0j), "a complex tensor"),
    ],
)
def test_causal_mask(mine, words, capsys):
    assert words in said_about(capsys, "causal_mask", mine)


def test_causal_mask_takes_tril_and_a_loop():
    def loop(tokens):
        n = tokens.shape[1]
        return torch.tensor([[j <= i for j in range(n)] for i in range(n)])

    assert check.causal_mask(square(lambda one: one.tril().bool())) is True

    def subtracted(tokens):
        place = torch.arange(tokens.shape[1])
        return ~((place - place.unsqueeze(1)) > 0)

    assert check.causal_mask(loop) is True
    assert check.causal_mask(subtracted) is True


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda x, pad: (x == pad).unsqueeze(1), "swapped"),
        (lambda x, pad: (x != 0).unsqueeze(1), "argument `pad`"),
        (lambda x, pad: (x > pad).unsqueeze(1), "smaller than pad"),
        (
            lambda x, pad: torch.ones_like(x).bool().unsqueeze(1),
            "Everything is allowed",
        ),
        (lambda x, pad: x != pad, "an axis of 1 for them"),
        (lambda x, pad: (x != pad).unsqueeze(2), "the middle one"),
        (lambda x, pad: (x != pad)[:, None, None], "heads too many"),
        (
            lambda x, pad: (x != pad)[:, None].expand(3, 4, 4),
            "keep an axis of 1",
        ),
        (lambda x, pad: (x != pad).unsqueeze(1).float(), "yours is"),
    ],
)
def test_padding_mask(mine, words, capsys):
    assert words in said_about(capsys, "padding_mask", mine)


def test_padding_mask_takes_an_index_and_ne():
    assert check.padding_mask(lambda x, pad: (x != pad)[:, None, :]) is True
    assert check.padding_mask(lambda x, pad: ~x.eq(pad).unsqueeze(-2)) is True

    def loop(tokens, pad):
        rows = tokens.tolist()
        return torch.tensor([[[word != pad for word in row]] for row in rows])

    assert check.padding_mask(loop) is True


def first_of_the_best(q, K, V, t):
    e = K @ q
    return V[e.argmax()] if t == 0 else (e / t).softmax(0) @ V


def all_of_the_best(q, K, V, t):
    e = K @ q
    return (e == e.max()).float() @ V if t == 0 else (e / t).softmax(0) @ V


def floored(floor):
    return lambda q, K, V, t: (K @ q / max(t, floor)).softmax(0) @ V


def overflowing(q, K, V, t):
    shares = (K @ q / t).exp()
    return shares / shares.sum() @ V


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda q, K, V, t: (K @ q * t).softmax(0) @ V, "multiplies them"),
        (lambda q, K, V, t: (K @ q).softmax(0) @ V, "is not used"),
        (lambda q, K, V, t: V[(K @ q).argmax()], "best entry alone"),
        (lambda q, K, V, t: (K @ q / 2 / t).softmax(0) @ V, "√d_k as well"),
        (lambda q, K, V, t: V.mean(0), "plain mean"),
        (lambda q, K, V, t: (K @ q / t).softmax(0), "mix the values"),
        (lambda q, K, V, t: ((K @ q / t).softmax(0) @ V)[None], "axis of 1"),
        (lambda q, K, V, t: (K @ q / t).softmax(0)[:, None] * V, "Add the"),
        (lambda q, K, V, t: (K @ q / t).softmax(0) @ V, "you divide by it"),
        (first_of_the_best, "if several are best"),
        (overflowing, "exp overflows"),
        (floored(0.1), "You put 0.1 in place"),
        (floored(0.01), "You put 0.01 in place"),
        (floored(0.001), "You put 0.001 in place"),
        (floored(1e-6), "You put 1e-06 in place"),
        (lambda q, K, V, t: floored(0)(q, K, V, t + 0.01), "a value is not"),
        (all_of_the_best, "you add up the best"),
        (lambda q, K, V, t: floored(0)(q, K, V, t or 1.0), "as if it were 1"),
    ],
)
def test_soft_dictionary(mine, words, capsys):
    assert words in said_about(capsys, "soft_dictionary", mine)


def test_soft_dictionary_takes_two_routes():
    def spelled(q, K, V, t):
        e = torch.einsum("d,nd->n", q, K)
        if t == 0:
            return V[e == e.max()].mean(0)
        shares = ((e - e.max()) / t).exp()
        return torch.einsum("n,nv->v", shares / shares.sum(), V)

    def small(q, K, V, t):
        return torch.softmax((K * q).sum(1) / max(t, 1e-9), 0) @ V

    def loop(q, K, V, t):
        e = [float(key.double() @ q.double()) for key in K]
        if t == 0:
            shares = [float(each == max(e)) for each in e]
        else:
            shares = [math.exp((each - max(e)) / t) for each in e]
        return sum(s * v for s, v in zip(shares, V, strict=True)) / sum(shares)

    def in_numpy(q, K, V, t):
        e = K.numpy() @ q.numpy()
        shares = np.exp((e - e.max()) / t) if t else np.float32(e == e.max())
        return torch.from_numpy(shares / shares.sum() @ V.numpy())

    assert check.soft_dictionary(loop) is True
    assert check.soft_dictionary(in_numpy) is True
    assert check.soft_dictionary(spelled) is True
    assert check.soft_dictionary(small) is True
