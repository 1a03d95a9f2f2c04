"""Plausible wrong answers to the chapter `fastweights`, and their hints."""

import math

import pytest
import torch
from test_exercises import said_about
from torch.nn import functional as F

from lookback.exercises import check

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([2, 4, 0, 4, 2, 0], "You wrote k vᵀ"),
        ([2, 0, 1, 0, 2, 1], "That is the first pair alone"),
        ([0, 0, 3, 4, 0, 3], "That is the second pair alone"),
        ([1.28, -0.96, 3.64, 3.52, 1.28, 3.64], "That is the delta rule"),
        ([1.2, 1.6, 5.6, 0.8, 1.2, 5.6], "You paired the first key"),
        ([3.2, 1.6, 9.6, 4.8, 3.2, 9.6], "You added keys and values first"),
        ([1, 0, 2, 2, 1, 2], "That is half of it"),
        ([7, 7, 7, 7, 2, 4], "W is no slip that the check knows"),
        ([2, 0, 4, 4, 2, 1], "That is v₁ alone"),
        ([2, 0, 4, 4, 1.2, 5.6], "You read with the second key"),
        ([2, 0, 4, 4, 2, 0], "You multiplied from the left"),
        ([2, 0, 4, 4, 2, 6], "You added v₁ and v₂ in full"),
        ([2, 0, 4, 4, 0, 3], "That is the crosstalk alone"),
        ([2, 0, 4, 4, 9, 9], "W k₁ is no slip that the check knows"),
        ([2, 0, 4, 4], "That is W alone"),
        ([2, 0, 4, math.nan, 2, 4], "NaN"),
    ],
)
def test_matrix_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "matrix_by_hand", answer)


def loop(q, k, v, phi_q=None, phi_k=None, late=False, norm=None, whole=False):
    """What a student types, with one line changed."""

    def phi(x):
        return F.elu(x) + 1

    q = (phi_q or phi)(q)
    k = (phi_k or phi)(k)
    W, z, said = torch.zeros(v.shape[1], k.shape[1]), 0 * k[0], []
    if whole:
        W, z = v.T @ k, k.sum(0)
    for i in range(len(q)):
        if late:
            total = (norm or (lambda z, q, i: z @ q))(z, q[i], i)
            said.append(W @ q[i] / total)
        if not whole:
            W, z = W + torch.outer(v[i], k[i]), z + k[i]
        if not late:
            total = (norm or (lambda z, q, i: z @ q))(z, q[i], i)
            said.append(W @ q[i] / total)
    return torch.stack(said)


def same(x):
    return x


def sees_all_in_z(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    scores = (q @ k.T).tril()
    return scores @ v / (q @ k.sum(0))[:, None]


def half_late(q, k, v):
    q, k = F.elu(q) + 1, F.elu(k) + 1
    W, z, said = torch.zeros(v.shape[1], k.shape[1]), 0 * k[0], []
    for a, b, c in zip(q, k, v, strict=True):
        z = z + b
        said.append(W @ a / (z @ a))
        W = W + torch.outer(c, b)
    return torch.stack(said)


def softmax(q, k, v):
    n = len(q)
    scores = (q @ k.T).masked_fill(~torch.ones(n, n).bool().tril(), -torch.inf)
    return scores.softmax(-1) @ v


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (sees_all_in_z, "Your normaliser has seen the whole sentence"),
        (lambda *x: loop(*x, whole=True), "a W of the whole sentence"),
        (lambda *x: loop(*x, late=True), "You read before you write"),
        (
            lambda *x: loop(*x, late=True).nan_to_num(0.0),
            "You read W and z before you write",
        ),
        (
            lambda *x: loop(*x, phi_q=torch.relu, phi_k=torch.relu),
            "yours is ReLU",
        ),
        (
            lambda *x: loop(*x, phi_q=torch.relu, phi_k=torch.relu).nan_to_num(
                0.0
            ),
            "yours is ReLU",
        ),
        (lambda q, k, v: loop(k, q, v), "Query and key are exchanged"),
        (half_late, "Only W is read too early"),
        (
            lambda *x: loop(*x, norm=lambda z, q, i: 1),
            "The normaliser is missing",
        ),
        (
            lambda *x: loop(*x, norm=lambda z, q, i: i + 1),
            "divided by the number of words",
        ),
        (
            lambda *x: loop(*x, norm=lambda z, q, i: z.sum()),
            "divided by the sum of z",
        ),
        (lambda *x: loop(*x, phi_q=same), "φ is on the keys alone"),
        (lambda *x: loop(*x, phi_k=same), "φ is on the queries alone"),
        (lambda *x: loop(*x, phi_q=same, phi_k=same), "There is no φ in it"),
        (lambda *x: loop(*x, phi_q=F.elu, phi_k=F.elu), "yours is elu."),
        (
            lambda *x: loop(
                *x, phi_q=lambda x: x.relu() + 1, phi_k=lambda x: x.relu() + 1
            ),
            "yours is ReLU plus 1",
        ),
        (
            lambda *x: loop(*x, phi_q=torch.exp, phi_k=torch.exp),
            "yours is the exponential",
        ),
        (softmax, "That is softmax attention"),
        (lambda *x: loop(*x)[-1], "the answer to the last word"),
        (lambda q, k, v: v.T @ (F.elu(k) + 1), "That is W itself"),
        (lambda q, k, v: (q @ k.T).tril(), "Those are the weights"),
        (lambda *x: loop(*x) * math.nan, "NaN"),
        (lambda *x: loop(*x) + 1, "a value is not"),
    ],
)
def test_linear_loop(mine, words, capsys):
    def named(query, key, value):
        return mine(query, key, value)

    assert words in said_about(capsys, "linear_loop", named)


def by_square(query, key, value):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    weights = (q @ k.T).tril()
    return weights / weights.sum(1, keepdim=True) @ value


def by_cumsum(query, key, value):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    W = torch.einsum("id,ik->idk", value, k).cumsum(0)
    z = k.cumsum(0)
    return torch.einsum("idk,ik->id", W, q) / (z * q).sum(1)[:, None]


@pytest.mark.parametrize("mine", [by_square, by_cumsum])
def test_linear_loop_by_another_route(mine):
    assert check.linear_loop(mine) is True


def rule(key, value, beta, step):
    W = torch.zeros(value.shape[1], key.shape[1])
    for k, v, b in zip(key, value, beta, strict=True):
        W = step(W, k, v, b)
    return W


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            lambda W, k, v, b: W + b * torch.outer(v, k),
            "That is the sum rule: nothing is taken out",
        ),
        (lambda W, k, v, b: W + torch.outer(v, k), "without β at that"),
        (lambda W, k, v, b: W + torch.outer(v - W @ k, k), "β is missing"),
        (
            lambda W, k, v, b: W + b * torch.outer(v - b * (W @ k), k),
            "β (v − β W k)",
        ),
        (
            lambda W, k, v, b: W + b * b * torch.outer(v - W @ k, k),
            "β² (v − W k)",
        ),
        (
            lambda W, k, v, b: (
                W - torch.outer(W @ k, k) + b * torch.outer(v, k)
            ),
            "You take out all of W k",
        ),
        (
            lambda W, k, v, b: W + torch.outer(v - b * (W @ k), k),
            "You put in all of v",
        ),
        (
            lambda W, k, v, b: (
                W
                + b * torch.outer(v, k)
                - b * torch.outer((W + b * torch.outer(v, k)) @ k, k)
            ),
            "You read what you have just added",
        ),
        (
            lambda W, k, v, b: b * torch.outer(v - W @ k, k),
            "You keep only the last pair",
        ),
        (
            lambda W, k, v, b: W + b * torch.outer(v + W @ k, k),
            "The sign is turned",
        ),
        (
            lambda W, k, v, b: (1 - b) * W + b * torch.outer(v, k),
            "You let all of W fade",
        ),
        (
            lambda W, k, v, b: W - b * torch.outer(v - W @ k, k),
            "The sign of the step",
        ),
        (lambda W, k, v, b: W * math.nan, "NaN"),
        (lambda W, k, v, b: W + 1, "a value is not"),
    ],
)
def test_delta_rule(step, words, capsys):
    def mine(key, value, beta):
        return rule(key, value, beta, step)

    assert words in said_about(capsys, "delta_rule", mine)


def right(W, k, v, b):
    return W + b * torch.outer(v - W @ k, k)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda k, v, b: rule(k, v, b, right).T, "Yours is the transpose"),
        (
            lambda k, v, b: rule(k.flip(0), v.flip(0), b.flip(0), right),
            "from the last to the first",
        ),
        (lambda k, v, b: k @ rule(k, v, b, right).T, "Those are readings"),
        (lambda k, v, b: rule(k, v, b, right) @ k[-1], "That is a reading"),
        (lambda k, v, b: None, "None"),
    ],
)
def test_delta_rule_as_a_whole(mine, words, capsys):
    def named(key, value, beta):
        return mine(key, value, beta)

    assert words in said_about(capsys, "delta_rule", named)


def by_projection(key, value, beta):
    eye = torch.eye(key.shape[1])
    W = torch.zeros(value.shape[1], key.shape[1])
    for k, v, b in zip(key, value, beta, strict=True):
        W = W @ (eye - b * torch.outer(k, k)) + b * torch.outer(v, k)
    return W


def by_solving(key, value, beta):
    before = (key @ key.T).tril(-1)
    system = torch.eye(len(key)) + beta[:, None] * before
    return torch.linalg.solve(system, beta[:, None] * value).T @ key


@pytest.mark.parametrize("mine", [by_projection, by_solving])
def test_delta_rule_by_another_route(mine):
    assert check.delta_rule(mine) is True


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((512_000, 33_280, 33), "the cache keeps both"),
        ((128_000, 33_280, 33), "That is one head; there are 8"),
        ((1024, 33_280, 33), "That is one word"),
        ((8_000_000, 33_280, 33), "a number for each pair of words"),
        ((33_280, 1_024_000, 33), "the cache comes first"),
        ((1_536_000, 33_280, 33), "You kept queries too"),
        ((5, 33_280, 33), "The first is no slip that the check knows"),
        ((1_024_000, 32_768, 33), "That is W alone"),
        ((1_024_000, 4160, 33), "That is one head"),
        ((1_024_000, 4096, 33), "W of one head alone"),
        ((1_024_000, 262_656, 33), "one of their whole width. Each"),
        ((1_024_000, 262_144, 33), "and left out z"),
        ((1_024_000, 33_280_000, 33), "does not grow with the words"),
        ((1_024_000, 5, 33), "the second is no slip that the check knows"),
        ((1_024_000, 33_280, 32), "the matrix is still the larger one"),
        ((1_024_000, 33_280, 32.5), "where the two are equally large"),
        ((1_024_000, 33_280, 66), "You left out the values"),
        ((1_024_000, 33_280, 31), "how much smaller the matrix is"),
        ((1_024_000, 33_280, 4161), "divide by those"),
        ((1_024_000, 33_280, 1000), "the number of words is no slip"),
        ((1_024_000, 33_280), "You gave 2 numbers"),
    ],
)
def test_numbers_held(answer, words, capsys):
    assert words in said_about(capsys, "numbers_held", answer)


def features(x, omega, by=None, root=None, at=None):
    square = x.square().sum(-1, keepdim=True)
    at = x @ omega.T if at is None else at
    by = -square / 2 if by is None else by
    return (at + by).exp() / (len(omega) ** 0.5 if root is None else root)


def size(x):
    return x.square().sum(-1, keepdim=True)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda x, w: features(x, w, 0), "e^(−|x|²/2) is forgotten"),
        (lambda x, w: features(x, w, root=len(w)), "1/m stands there twice"),
        (lambda x, w: features(x, w, root=1), "1/√m is missing"),
        (lambda x, w: features(x, w, -size(x)), "|x|² is not halved"),
        (
            lambda x, w: features(x, w, -size(x).sqrt() / 2),
            "|x| is not squared",
        ),
        (lambda x, w: features(x, w, size(x) / 2), "The sign is turned"),
        (
            lambda x, w: (x @ w.T - (x**2).sum() / 2).exp() / len(w) ** 0.5,
            "Each row has its own",
        ),
        (
            lambda x, w: (x @ w.T - size(x) / 2) / len(w) ** 0.5,
            "The exponential around it all is missing",
        ),
        (
            lambda x, w: (
                ((h := x @ w.T - size(x) / 2) - h.amax(-1, keepdim=True)).exp()
                / len(w) ** 0.5
            ),
            "You subtracted the largest exponent",
        ),
        (lambda x, w: (x @ w.T).exp(), "Two slips: 1/√m is missing"),
        (lambda x, w: (x @ w.T).exp() / len(w), "1/m in the place of 1/√m"),
        (
            lambda x, w: features(x, w, root=x.shape[1] ** 0.5),
            "You divided by √d",
        ),
        (
            lambda x, w: x @ w.T * (-size(x) / 2).exp() / len(w) ** 0.5,
            "The exponential of ω · x is missing",
        ),
        (lambda x, w: (x @ w.T).softmax(-1), "a softmax over the features"),
        (
            lambda x, w: features(x, w, -size(w).T / 2),
            "is ω's own length",
        ),
        (lambda x, w: features(x, w).T, "Yours is the transpose"),
        (lambda x, w: features(x, w).sum(-1), "keep one for each ω"),
        (
            lambda x, w: torch.cat([features(x, w)] * 2, -1),
            "yours has two",
        ),
        (lambda x, w: features(x, w) * math.nan, "NaN"),
        (lambda x, w: features(x, w) + 1, "a value is not"),
    ],
)
def test_random_features(mine, words, capsys):
    def named(x, omega):
        return mine(x, omega)

    assert words in said_about(capsys, "random_features", named)


def one_by_one(x, omega):
    rows = [
        [math.exp(float(w @ a) - float(a @ a) / 2) for w in omega] for a in x
    ]
    return torch.tensor(rows) / math.sqrt(len(omega))


def test_random_features_by_another_route():
    assert check.random_features(one_by_one) is True
