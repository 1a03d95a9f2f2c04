"""Plausible wrong answers to the chapter `name`, and their hints."""

import math

import numpy as np
import pytest
import torch
from test_exercises import said_about
from torch.nn import functional as F

from lookback import lookups
from lookback.exercises import check

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([0.5, 1, 0.0625, 4.625], "Divide each by their sum"),
        ([0.5, 1, 0.0625, 2.96], "Divide each by their sum"),
        ([0.286, 0.571, 0.143, 3.71], "The distance is squared first"),
        ([0.5, 1, 0.25, 6.5], "and did not divide by the sum"),
        ([0, 1, 0, 2], "Only the nearest counts"),
        ([0.333, 0, 0.667, 8], "what is far should get less"),
        ([0.333, 0.333, 0.333, 5.33], "how far each key is"),
        ([0.199, 0.797, 0.0031, 2.42], "squared: the height"),
        ([0.3035, 0.5004, 0.196, 4.175], "softmax of the heights"),
        ([0.32, 0.64, 0.04, 4.625], "by its weight, not by the height"),
        ([0.32, 0.64, 0.04, 5.333], "without the weights"),
        ([0.32, 0.64, 0.04, 2], "the nearest key alone"),
        ([0.32, 0.64, 0.04, 0.76], "weighted mean of the keys"),
        ([0.32, 0.64, 0.04, 0.987], "sum to 1 already"),
        ([0.32, 0.64, 0.04, 7], "Weight times value"),
        ([0.1, 0.2, 0.7, 2], "The distances are 1, 0 and 2"),
        ([0.32, 0.64, 0.04], "and then the answer"),
        ([2.96], "First the three weights"),
        ([math.nan, 0.64, 0.04, 2.96], "NaN"),
    ],
)
def test_kernel_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "kernel_by_hand", answer)


@pytest.mark.parametrize(
    "answer", [(0.32, 0.64, 0.04, 2.96), np.array([8, 16, 1, 74]) / 25]
)
def test_kernel_by_hand_takes_the_right_ones(answer):
    assert check.kernel_by_hand(answer) is True


def heights(q, k, b, power=2):
    far = torch.cdist(q, k) ** power
    return torch.exp(-far / (2 * b**2))


def share(near, axis=-1):
    return near / near.sum(axis, keepdim=True)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda q, k, v, b: heights(q, k, b) @ v, "You left out the sum"),
        (
            lambda q, k, v, b: share(heights(q, k, b), 0) @ v,
            "You normalised over the queries",
        ),
        (
            lambda q, k, v, b: share(heights(q, k, b) ** 2) @ v,
            "The 2 below is missing",
        ),
        (
            lambda q, k, v, b: (-(torch.cdist(q, k) ** 2) / 2).softmax(-1) @ v,
            "The width does not count",
        ),
        (
            lambda q, k, v, b: (
                (-(torch.cdist(q, k) ** 2) / (2 * b)).softmax(-1) @ v
            ),
            "2b², not 2b",
        ),
        (
            lambda q, k, v, b: (-(torch.cdist(q, k) ** 2) / b).softmax(-1) @ v,
            "by the width only",
        ),
        (
            lambda q, k, v, b: share(heights(q, k, b, 1)) @ v,
            "not its root",
        ),
        (
            lambda q, k, v, b: (
                (torch.cdist(q, k) ** 2 / (2 * b**2)).softmax(-1) @ v
            ),
            "what is further away gets more",
        ),
        (lambda q, k, v, b: (q @ k.T).softmax(-1) @ v, "softmax of q · k."),
        (
            lambda q, k, v, b: (q @ k.T / b**2).softmax(-1) @ v,
            "only where all keys have the same length",
        ),
        (
            lambda q, k, v, b: heights(q, k, b).softmax(-1) @ v,
            "softmax of the heights",
        ),
        (
            lambda q, k, v, b: (
                (-(torch.cdist(q, k) ** 2) * b**2 / 2).softmax(-1) @ v
            ),
            "where it divides",
        ),
        (
            lambda q, k, v, b: heights(q, k, b) @ v / len(k),
            "by the number of keys",
        ),
        (lambda q, k, v, b: share(heights(q, k, b)), "Those are the weights"),
        (
            lambda q, k, v, b: (share(heights(q, k, b)) @ v).sum(0),
            "there is one for each query",
        ),
        (
            lambda q, k, v, b: share(torch.exp(-((q - k) ** 2))) @ v,
            "must match the size",
        ),
        (lambda q, k, v, b: np.zeros(3), "give back a torch tensor"),
        (lambda q, k, v, b: 0 * q @ k.T @ v, "a value is not"),
        (lambda q, k, v, b: q.mul_(2), "changes its argument `queries`"),
    ],
)
def test_kernel_regression(mine, words, capsys):
    def named(queries, keys, values, width):
        return mine(queries, keys, values, width)

    assert words in said_about(capsys, "kernel_regression", named)


def by_loop(queries, keys, values, width):
    rows = []
    for q in queries:
        near = [
            math.exp(-float((q - k) @ (q - k)) / (2 * width**2)) for k in keys
        ]
        mean = sum(x * v for x, v in zip(near, values, strict=True))
        rows.append(mean / sum(near))
    return torch.stack(rows)


def by_softmax(queries, keys, values, width):
    cross = queries @ keys.T - (keys**2).sum(-1) / 2
    return (cross / width**2).softmax(-1) @ values


@pytest.mark.parametrize("mine", [by_loop, by_softmax])
def test_kernel_regression_by_another_route(mine):
    assert check.kernel_regression(mine) is True


def marked(query):
    return query.detach().clone().requires_grad_()


def by_path(look, query, keys, values):
    return (look(marked(query), keys) @ values).requires_grad


def unmarked(look, query, keys, values):
    return (look(query, keys) @ values).requires_grad


def never_asks(look, query, keys, values):
    query = marked(query)
    context = look(query, keys) @ values
    (slope,) = torch.autograd.grad(context.sum(), query)
    return bool(slope.any())


def of_the_weights(look, query, keys, values):
    query = marked(query)
    weights = look(query, keys)
    if not weights.requires_grad:
        return False
    (slope,) = torch.autograd.grad(weights.sum(), query)
    return bool(slope.abs().max() > 1e-9)


def one_weight(look, query, keys, values):
    query = marked(query)
    weights = look(query, keys)
    if not weights.requires_grad:
        return False
    (slope,) = torch.autograd.grad(weights[0], query)
    return bool(slope.abs().max() > 1e-9)


def first_number(look, query, keys, values):
    query = marked(query)
    context = look(query, keys) @ values
    if not context.requires_grad:
        return False
    (slope,) = torch.autograd.grad(context[0], query)
    return bool(slope.abs().max() > 1e-9)


def summed(look, query, keys, values):
    query = marked(query)
    context = look(query, keys) @ values
    if not context.requires_grad:
        return False
    (slope,) = torch.autograd.grad(context.sum(), query)
    return bool(slope.sum().abs() > 1e-9)


def upwards_only(look, query, keys, values):
    query = marked(query)
    context = look(query, keys) @ values
    if not context.requires_grad:
        return False
    (slope,) = torch.autograd.grad(context.sum(), query)
    return bool((slope > 1e-9).any())


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (by_path, "not at whether there is a path"),
        (unmarked, "You say no of the scaled dot product"),
        (never_asks, "torch raises an error. Ask context.requires_grad"),
        (of_the_weights, "The sum of the weights is always 1"),
        (one_weight, "the context does not"),
        (upwards_only, "every number of the gradient is below 0"),
        (first_number, "not its first number"),
        (summed, "Take the size of each"),
        (lambda *given: True, "You say yes of this one: memory network"),
        (lambda *given: False, "You say no of the scaled dot product"),
        (lambda *given: 0.5, "Give back True or False"),
        (lambda look, query, keys, values: look(query, keys), "True or False"),
    ],
)
def test_reaches_query(mine, words, capsys):
    def named(look, query, keys, values):
        return mine(look, query, keys, values)

    assert words in said_about(capsys, "reaches_query", named)


def by_differences(look, query, keys, values):
    """No autograd at all."""
    for step in torch.eye(len(query)).to(query) * 1e-4:
        up, down = (look(query + s * step, keys) @ values for s in (1, -1))
        if (up - down).abs().max() > 1e-9:
            return True
    return False


def by_backward(look, query, keys, values):
    query = marked(query)
    context = look(query, keys) @ values
    if context.grad_fn is None:
        return False
    context.sum().backward()
    return query.grad is not None and query.grad.norm() > 1e-8


@pytest.mark.parametrize("mine", [by_differences, by_backward])
def test_reaches_query_by_another_route(mine):
    assert check.reaches_query(mine) is True


def changed(look, query, keys):
    order = torch.arange(len(keys)).roll(1)
    return not torch.allclose(look(query, keys), look(query, keys[order]))


def turned(look, query, keys):
    order = torch.arange(len(keys)).roll(1)
    one, other = look(query, keys), look(query, keys[order])
    return not torch.allclose(other[order], one)


def moved_and_old(look, query, keys, order):
    return look(query, keys[order]), look(query, keys)[order]


def to_the_last_digit(look, query, keys):
    new, old = moved_and_old(look, query, keys, torch.arange(len(keys)).flip(0))
    return not torch.equal(new, old)


def turned_round(look, query, keys):
    new, old = moved_and_old(look, query, keys, torch.arange(len(keys)).flip(0))
    return torch.allclose(new, old)


def every_one(look, query, keys):
    new, old = moved_and_old(look, query, keys, torch.arange(len(keys)).flip(0))
    return bool(((new - old).abs() > 1e-9).all())


def two_only(look, query, keys):
    order = torch.arange(len(keys))
    order[[0, 1]] = order[[1, 0]]
    new, old = moved_and_old(look, query, keys, order)
    return not torch.allclose(new, old)


def unchanged(look, query, keys):
    return not changed(look, query, keys)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (changed, "compare the new weights with the OLD ones"),
        (turned, "a permutation and its inverse"),
        (unchanged, "You say no of a look that sees both"),
        (to_the_last_digit, "Compare with a tolerance"),
        (turned_round, "All your answers are turned round"),
        (every_one, "ask whether ANY weight"),
        (two_only, "So move all of them"),
        (lambda look, q, k: False, "that they do not change is the very sign"),
        (lambda look, q, k: True, "You say yes of the dot product"),
        (lambda look, q, k: "no", "Give back True or False"),
        (lambda look, q, k: look(q, k), "Give back True or False"),
    ],
)
def test_sees_place(mine, words, capsys):
    def named(look, query, keys):
        return mine(look, query, keys)

    assert words in said_about(capsys, "sees_place", named)


def by_one_swap(look, query, keys):
    order = torch.arange(len(keys))
    order[[0, -1]] = order[[-1, 0]]
    one, other = look(query, keys), look(query, keys[order])
    return bool((other[order] - one).abs().max() > 1e-9)


def by_inverse(look, query, keys):
    order = torch.randperm(
        len(keys), generator=torch.Generator().manual_seed(3)
    )
    back = order.argsort()
    return not torch.allclose(look(query, keys[order])[back], look(query, keys))


@pytest.mark.parametrize("mine", [by_one_swap, by_inverse])
def test_sees_place_by_another_route(mine):
    assert check.sees_place(mine) is True


def log_of(logits, chosen):
    return logits.log_softmax(-1).gather(1, chosen[:, None])[:, 0]


def others(r):
    return (r.sum() - r) / (len(r) - 1)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda x, c, r: ((r - others(r)) * log_of(x, c)).mean(), "The sign:"),
        (
            lambda x, c, r: -((r - others(r)) * log_of(x, c).exp()).mean(),
            "There is no log in yours",
        ),
        (
            lambda x, c, r: ((r - others(r)) * log_of(x, c).exp()).mean(),
            "No log, and the sign",
        ),
        (lambda x, c, r: -(r * log_of(x, c)).mean(), "baseline is missing:"),
        (
            lambda x, c, r: (r * log_of(x, c)).mean(),
            "missing, and the sign is wrong",
        ),
        (
            lambda x, c, r: -((r - r.mean()) * log_of(x, c)).mean(),
            "the mean of ALL",
        ),
        (
            lambda x, c, r: (
                -((r - (r.sum() - r) / len(r)) * log_of(x, c)).mean()
            ),
            "divide by n − 1",
        ),
        (
            lambda x, c, r: -((r + others(r)) * log_of(x, c)).mean(),
            "You added the baseline",
        ),
        (
            lambda x, c, r: -((r - others(r)) * log_of(x, c)).sum(),
            "take the mean",
        ),
        (
            lambda x, c, r: -((r - others(r)) / r.std() * log_of(x, c)).mean(),
            "by their spread as well",
        ),
        (
            lambda x, c, r: -((r - r.mean()) / r.std() * log_of(x, c)).mean(),
            "nothing more",
        ),
        (lambda x, c, r: F.cross_entropy(x, c), "all draws are praised alike"),
        (
            lambda x, c, r: (
                -((r - others(r)) * x[torch.arange(len(c)), c]).mean()
            ),
            "log_softmax first",
        ),
        (
            lambda x, c, r: (
                -(
                    (r - others(r)) * x.log_softmax(0)[torch.arange(len(c)), c]
                ).mean()
            ),
            "runs over the batch",
        ),
        (
            lambda x, c, r: (
                -(
                    (r - others(r)) * x.log_softmax(-1).gather(1, c[:, None])
                ).mean()
            ),
            "Take [:, 0] of what gather gives",
        ),
        (
            lambda x, c, r: -((r - others(r)) * x.log_softmax(-1)[:, c]).mean(),
            "gives every picture the draws of all others",
        ),
        (
            lambda x, c, r: (
                -((r - others(r))[:, None] * x.log_softmax(-1)).mean()
            ),
            "only the one that was drawn",
        ),
        (
            lambda x, c, r: -((r - others(r)) * log_of(x, c)),
            "a loss for each picture",
        ),
        (lambda x, c, r: -(r - others(r)).mean(), "does not depend on"),
        (
            lambda x, c, r: -((r - others(r)) * log_of(x.detach(), c)).mean(),
            "no detach() or item()",
        ),
        (lambda x, c, r: 0.5, "Give back a loss, a tensor"),
        (lambda x, c, r: x.sum(), "a value is not"),
    ],
)
def test_reinforce_loss(mine, words, capsys):
    def named(logits, chosen, reward):
        return mine(logits, chosen, reward)

    assert words in said_about(capsys, "reinforce_loss", named)


def by_distribution(logits, chosen, reward):
    drawn = torch.distributions.Categorical(logits=logits)
    total = 0.0
    for b, r in enumerate(reward):
        rest = torch.cat([reward[:b], reward[b + 1 :]])
        total = total - (r - rest.mean()) * drawn.log_prob(chosen)[b]
    return total / len(reward)


def by_cross_entropy(logits, chosen, reward):
    each = F.cross_entropy(logits, chosen, reduction="none")
    n = len(reward)
    return ((reward - reward.mean()) * n / (n - 1) * each).mean()


@pytest.mark.parametrize("mine", [by_distribution, by_cross_entropy])
def test_reinforce_loss_by_another_route(mine):
    assert check.reinforce_loss(mine) is True


def later(keys):
    return torch.arange(len(keys)) / 2


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lookups.scaled_dot, "does not see place"),
        (lookups.fast_weights, "does not sum to 1 and does not see place"),
        (lookups.soft_window, "does not sum to 1 and does not see content"),
        (lookups.memory_network, "let a gradient reach the query"),
        (
            lambda q, k: (k @ q + later(k)).softmax(-1),
            "no weight was ever negative",
        ),
        (lambda q, k: 2 * lookups.dot(q, k) - 1 / len(k), "does not see place"),
        (
            lambda q, k: 2 * (k @ q + later(k)).softmax(-1) - 1,
            "does not sum to 1",
        ),
        (lambda q, k: q, "not for each number of a key"),
        (
            lambda q, k: lookups.dot(q, k).sum(),
            "There is a weight for each key",
        ),
    ],
)
def test_all_but_one(mine, words, capsys):
    def named(query, keys):
        return mine(query, keys)

    assert words in said_about(capsys, "all_but_one", named)


def by_division(query, keys):
    """Fast weights over their sum, with a place for each row."""
    raw = (
        keys @ query
        + 10
        + torch.arange(len(keys)) ** 2
        - 11 * (torch.arange(len(keys)) == 0)
    )
    return raw / raw.sum()


def by_difference(query, keys):
    near = (keys @ query + later(keys)).softmax(-1)
    return near + lookups.dot(query, keys) - lookups.dot(-query, keys)


def by_product(query, keys):
    """As a reader begins: fast weights, a factor for each place, the sum."""
    raw = (keys @ query) * torch.arange(1, len(keys) + 1)
    return raw / raw.sum()


@pytest.mark.parametrize("mine", [by_division, by_difference, by_product])
def test_all_but_one_by_another_route(mine):
    assert check.all_but_one(mine) is True
