"""Plausible wrong answers to the chapter `probing`, and their hints."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from test_exercises import said_about

from lookback.exercises import check

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([1.5, 0.5, 0.5, 2 / 3], "Those are counts"),
        ([0.75, 0.5, 0.25, 2 / 3], "each FRENCH word"),
        ([0.5, 1 / 6, 1 / 6, 0.75], "all counts there are"),
        ([2 / 3, 1 / 3, 0.5, 0.6], "each French word is shared out"),
        ([0.5, 0.5, 0.5, 0.5], "where it began"),
        ([1, 0, 0, 1], "took the word order for known"),
        ([75, 25, 50, 66.7], "no per cent"),
        ([0.25, 0.75, 0.5, 2 / 3], "exchanged maison and rouge"),
        ([5 / 7, 2 / 7, 0.5, 2 / 3], "empty word"),
        ([0.8276, 0.1724, 0.375, 0.78], "after a second round"),
        ([0.9, 0.1, 0.5, 2 / 3], "no slip that the check knows"),
        ([0.75, 0.25, 0.5, 0.4], "compared with t(maison | house)"),
        ([0.75, 0.25, 0.5, 1], "Nothing is certain after one round"),
        ([0.75, 0.25, 0.5, 0.125], "multiplied the two"),
        ([0.75, 0.25, 0.5, 66.7], "no per cent"),
        ([0.75, 0.25, 0.5, 0.5], "before the round"),
        ([0.75, 0.25, 0.5, 0.25], "That is t(rouge | house)"),
        ([0.75, 0.25, 0.5, 1 / 3], "comes from house"),
        ([0.75, 0.25, 0.5, 2], "by the sum"),
        ([0.75, 0.25, 0.5, 0.9], "p is no slip"),
        ([0.75, 0.25, 0.5], "You gave 3 numbers"),
        ([0.75, 0.25, math.nan, 0.5], "NaN"),
    ],
)
def test_em_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "em_by_hand", answer)


def test_em_by_hand_with_other_numbers(capsys):
    made = check.em_by_hand.variant(3)
    assert made(made.solution()) is True
    assert "the corpus has" in made.given


@pytest.mark.parametrize(
    "answer",
    [
        (0.75, 0.25, 0.5, 0.667),
        (0.75, 0.25, 0.5, 0.67),
        [3 / 4, 1 / 4, 1 / 2, 2 / 3],
        [Fraction(3, 4), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3)],
        torch.tensor([0.75, 0.25, 0.5, 2 / 3]),
    ],
)
def test_em_by_hand_takes_rounded_answers(answer):
    assert check.em_by_hand(answer) is True


def shares(said, senses):
    return [(said[senses == k] == k).float().mean() for k in (0, 1)]


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            lambda said, senses: (said == senses).float().mean(),
            "plain accuracy",
        ),
        (
            lambda said, senses: sum(
                s * (senses == k).float().mean()
                for k, s in enumerate(shares(said, senses))
            ),
            "weighted by how many",
        ),
        (
            lambda said, senses: (
                sum((senses[said == k] == k).float().mean() for k in (0, 1)) / 2
            ),
            "how often a sense is SAID",
        ),
        (lambda said, senses: sum(shares(said, senses)), "take half of it"),
        (lambda said, senses: shares(said, senses)[1], "sense 1 alone"),
        (lambda said, senses: shares(said, senses)[0], "sense 0 alone"),
        (lambda said, senses: min(shares(said, senses)), "here the worse"),
        (lambda said, senses: max(shares(said, senses)), "here the better"),
        (lambda said, senses: math.prod(shares(said, senses)), "multiplied"),
        (
            lambda said, senses: 1 - sum(shares(said, senses)) / 2,
            "share that is WRONG",
        ),
        (lambda said, senses: 50 * sum(shares(said, senses)), "no per cent"),
        (
            lambda said, senses: 2 * (said == senses).float().mean(),
            "divided by how many it has",
        ),
        (
            lambda said, senses: (
                shares(said, senses)[0] + shares(said, senses)[1] / 2
            ),
            "You halved the share of sense 1 alone",
        ),
        (
            lambda said, senses: (
                shares(said, senses)[1] + shares(said, senses)[0] / 2
            ),
            "You halved the share of sense 0 alone",
        ),
        (
            lambda said, senses: (
                sum(said[senses == k].float().mean() for k in (0, 1)) / 2
            ),
            "how often 1 is SAID of either sense",
        ),
        (
            lambda said, senses: (
                sum(
                    ((said == senses) & (senses == k)).float().mean()
                    for k in (0, 1)
                )
                / 2
            ),
            "by all occurrences, and then by 2",
        ),
        (
            lambda said, senses: (
                sum(
                    (said[senses == k] == k).sum() // (senses == k).sum()
                    for k in (0, 1)
                )
                / 2
            ),
            "//",
        ),
        (
            lambda said, senses: sum(shares(said, senses)) - 1,
            "guessing gives 0",
        ),
        (
            lambda said, senses: math.sqrt(math.prod(shares(said, senses))),
            "geometric mean",
        ),
        (
            lambda said, senses: (
                sum(((said == k) & (senses == k)).sum() for k in (0, 1)) / 2
            ),
            "mean of two counts",
        ),
        (
            lambda said, senses: (
                2 * (said & senses).sum() / (said + senses).sum()
            ),
            "F1",
        ),
        (lambda said, senses: 0.123, "no slip that the check knows"),
        (lambda said, senses: said == senses, "Give back one number"),
        (lambda said, senses: shares(said, senses), "Give back one number"),
        (lambda said, senses: said.mean(), "raised"),
    ],
)
def test_fair_accuracy(mine, words, capsys):
    assert words in said_about(capsys, "fair_accuracy", mine)


def by_loop(said, senses):
    found = []
    for k in (0, 1):
        mine = [x == k for x, y in zip(said, senses, strict=True) if y == k]
        found.append(sum(map(float, mine)) / len(mine))
    return sum(found) / 2


def by_weights(said, senses):
    counts = torch.bincount(senses)
    return ((said == senses) / counts[senses]).sum().item() / 2


def by_numpy(said, senses):
    said, senses = said.numpy(), senses.numpy()
    return np.mean([np.mean(said[senses == k] == k) for k in (0, 1)])


def by_counting_pairs(said, senses):
    both = list(zip(said.tolist(), senses.tolist(), strict=True))
    hits = [both.count((k, k)) for k in (0, 1)]
    return (
        hits[0] / (hits[0] + both.count((1, 0)))
        + hits[1] / (hits[1] + both.count((0, 1)))
    ) / 2


@pytest.mark.parametrize(
    "mine", [by_loop, by_weights, by_numpy, by_counting_pairs]
)
def test_fair_accuracy_by_another_route(mine):
    assert check.fair_accuracy(mine) is True


def cut(examine, x, y, many):
    return examine(x[:many], y[:many], x[many:], y[many:])


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            lambda examine, x, senses, order, many: examine(
                x[:many], senses[:many], x[many:], senses[order][many:]
            ),
            "Only the senses that are tested",
        ),
        (
            lambda examine, x, senses, order, many: examine(
                x[:many], senses[order][:many], x[many:], senses[many:]
            ),
            "Only the senses that are fitted",
        ),
        (
            lambda examine, x, senses, order, many: cut(
                examine, x[order], senses[order], many
            ),
            "each vector kept its own sense",
        ),
        (
            lambda examine, x, senses, order, many: cut(
                examine, x[order], senses, many
            ),
            "exchanged the vectors",
        ),
        (
            lambda examine, x, senses, order, many: cut(
                examine, x, senses, many
            ),
            "Nothing is shuffled",
        ),
        (
            lambda examine, x, senses, order, many: cut(
                examine, x, senses[order.argsort()], many
            ),
            "backwards",
        ),
        (
            lambda examine, x, senses, order, many: examine(
                x[many:],
                senses[order][many:],
                x[:many],
                senses[order][:many],
            ),
            "yours are exchanged",
        ),
        (
            lambda examine, x, senses, order, many: examine(
                x[:many], senses[order], x[many:], senses[order][many:]
            ),
            "unequal numbers",
        ),
        (
            lambda examine, x, senses, order, many: cut(
                examine, x, senses[order], many - 1
            ),
            "no slip that the check knows",
        ),
        (
            lambda examine, x, senses, order, many: cut(
                examine, x, senses[torch.randperm(len(x))], many
            ),
            "an order of your own",
        ),
        (
            lambda examine, x, senses, order, many: examine(
                x[:many], x[many:], senses[order][:many], senses[order][many:]
            ),
            "The order is examine(x_seen, y_seen, x_new, y_new)",
        ),
        (
            lambda examine, x, senses, order, many: examine(
                x[:many], senses[order][:many], x[:many], senses[order][:many]
            ),
            "tested on what it was fitted to",
        ),
        (
            lambda examine, x, senses, order, many: examine(
                x, senses[order], x, senses[order]
            ),
            "tested on what it was fitted to",
        ),
        (
            lambda examine, x, senses, order, many: examine(
                x, senses[order], x[many:], senses[order][many:]
            ),
            "belongs to one part and no more",
        ),
        (
            lambda examine, x, senses, order, many: examine(
                x[:many],
                senses[order][:many],
                x[many + 1 :],
                senses[order][many + 1 :],
            ),
            "belongs to one part and no more",
        ),
        (
            lambda examine, x, senses, order, many: cut(
                examine, x, senses[order], -many
            ),
            "`many` from the end",
        ),
        (
            lambda examine, x, senses, order, many: cut(
                examine, x, 1 - senses, many
            ),
            "You wrote 0 for 1",
        ),
        (
            lambda examine, x, senses, order, many: cut(
                examine, x, order, many
            ),
            "not of zeros and ones",
        ),
        (
            lambda examine, x, senses, order, many: cut(
                examine, x[order.argsort()], senses, many
            ),
            "Leave x as it is",
        ),
        (
            lambda examine, x, senses, order, many: cut(
                examine, x, senses[order], len(x)
            ),
            "One part is empty",
        ),
        (lambda examine, x, senses, order, many: senses[order], "number of"),
    ],
)
def test_shuffled_control(mine, words, capsys):
    said = said_about(capsys, "shuffled_control", mine)
    assert words in said and "raised" not in said


def after_the_split(examine, x, senses, order, many):
    seen, new = senses[:many], senses[many:]
    seen = seen[order[order < many]]
    new = new[order[order >= many] - many]
    return examine(x[:many], seen, x[many:], new)


def test_shuffled_within_each_part(capsys):
    said = said_about(capsys, "shuffled_control", after_the_split)
    assert "after the split" in said


def by_gather(examine, x, senses, order, many):
    y = torch.gather(senses, 0, order)
    (a, b), (c, d) = (
        x.split([many, len(x) - many]),
        y.split([many, len(x) - many]),
    )
    return examine(a, c, b, d)


def by_places(examine, x, senses, order, many):
    seen, new = order[:many], order[many:]
    return examine(x[:many], senses[seen], x[many:], senses[new])


def by_hand(examine, x, senses, order, many):
    y = torch.tensor([int(senses[i]) for i in order.tolist()])
    seen = torch.arange(len(x)) < many
    return float(examine(x[seen], y[seen], x[~seen], y[~seen]))


@pytest.mark.parametrize("mine", [by_gather, by_places, by_hand])
def test_shuffled_control_by_another_route(mine):
    assert check.shuffled_control(mine) is True


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            lambda w, v, says, o: (says(w @ v) - says(w[o] @ v)).abs().sum(),
            "twice the total variation",
        ),
        (
            lambda w, v, says, order: (
                (says(w @ v) - says(w[order] @ v)).abs().mean()
            ),
            "That is the mean over the words",
        ),
        (
            lambda w, v, says, order: (
                (says(w @ v) - says(w[order] @ v)).abs().mean() / 2
            ),
            "half of the mean over the words",
        ),
        (
            lambda w, v, says, o: (
                (says(w @ v) - says(w[o] @ v[o])).abs().sum() / 2
            ),
            "put in the same order",
        ),
        (
            lambda w, v, says, o: (says(w @ v) - says(w[o] @ v)).sum() / 2,
            "differences of both signs cancel",
        ),
        (
            lambda w, v, says, o: (says(w @ v) - says(w[o] @ v)).sum().abs(),
            "differences of both signs cancel",
        ),
        (
            lambda w, v, says, o: (
                (says(w @ v) - says(w @ v[o])).abs().sum() / 2
            ),
            "put the VALUES in another order",
        ),
        (
            lambda w, v, says, o: (w @ v - w[o] @ v).abs().sum() / 2,
            "CONTEXTS differ",
        ),
        (
            lambda w, v, says, o: (
                (says(w @ v) - says(w[o] @ v)).square().sum() / 2
            ),
            "You squared",
        ),
        (
            lambda w, v, says, o: (
                (says(w @ v) - says(w[o] @ v)).abs().max() / 2
            ),
            "half of the largest change",
        ),
        (
            lambda w, v, says, o: (says(w @ v) - says(w[o] @ v)).norm() / 2,
            "half of the Euclidean distance",
        ),
        (
            lambda w, v, says, o: torch.nn.functional.kl_div(
                says(w @ v).log(), says(w[o] @ v), reduction="sum"
            ),
            "the other way round",
        ),
        (
            lambda w, v, says, o: (
                (says(w.softmax(0) @ v) - says(w.softmax(0)[o] @ v)).abs().sum()
                / 2
            ),
            "softmax once more",
        ),
        (
            lambda w, v, says, o: (says(w) - says(w[o])).abs().sum() / 2,
            "one context vector, [d]",
        ),
        (
            lambda w, v, says, o: (says(w @ v) - says(w[o] @ v)).abs() / 2,
            "Give back one number",
        ),
        (
            lambda w, v, says, o: (says(w @ v) - says(w[o] @ v)).abs().max(),
            "largest change",
        ),
        (
            lambda w, v, says, o: (says(w @ v) - says(w[o] @ v)).norm(),
            "Euclidean",
        ),
        (
            lambda w, v, says, o: torch.nn.functional.kl_div(
                says(w[o] @ v).log(), says(w @ v), reduction="sum"
            ),
            "Kullback",
        ),
        (lambda w, v, says, o: (w - w[o]).abs().sum() / 2, "WEIGHTS differ"),
        (
            lambda w, v, says, o: (
                (says(w @ v) - says(w[o.argsort()] @ v)).abs().sum() / 2
            ),
            "backwards",
        ),
        (
            lambda w, v, says, o: (says(w @ v) - says(w[o] @ v)).abs().mean(),
            "mean over the words",
        ),
        (
            lambda w, v, says, o: (says(w[:, None] * v)).sum(),
            "one context vector",
        ),
        (lambda w, v, says, o: 0.77, "no slip that the check knows"),
        (lambda w, v, says, o: says(w @ v), "Give back one number"),
    ],
)
def test_moved_by(mine, words, capsys):
    def named(weights, values, says, order):
        return mine(weights, values, says, order)

    said = said_about(capsys, "moved_by", named)
    assert words in said and "raised" not in said


def by_sums(weights, values, says, order):
    one = (weights[:, None] * values).sum(0)
    two = (weights[order][:, None] * values).sum(0)
    return torch.relu(says(one) - says(two)).sum().item()


def by_what_is_shared(weights, values, says, order):
    p, q = says(weights @ values), says(weights[order] @ values)
    return 1 - torch.minimum(p, q).sum()


def by_python(weights, values, says, order):
    other = weights.clone()
    for j in range(len(order)):
        other[j] = weights[order[j]]
    p, q = says(values.T @ weights), says(values.T @ other)
    return sum(abs(float(a - b)) for a, b in zip(p, q, strict=True)) / 2


@pytest.mark.parametrize("mine", [by_sums, by_what_is_shared, by_python])
def test_moved_by_another_route(mine):
    assert check.moved_by(mine) is True
