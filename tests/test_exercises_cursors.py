"""Plausible wrong answers to the chapter `cursors`, and their hints."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
import torch
from test_exercises import said_about

from lookback import cursors
from lookback.exercises import check


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (70, "not five and four"),
        (35, "step off the last source word"),
        (64, "written anywhere"),
        (12, "number of nodes"),
        (4, "a source word of its own. The finger"),
        (10, "three moves of one kind and two"),
        (24, "in any order"),
        (720, "cannot be told apart"),
        (17, "no slip that the check knows"),
        ([20, 1, 1], "gave 3 numbers"),
    ],
)
def test_count_paths(answer, words, capsys):
    assert words in said_about(capsys, "count_paths", answer)


@pytest.mark.parametrize(
    "answer", [20, 20.0, [20], np.int64(20), math.comb(6, 3)]
)
def test_count_paths_right(answer):
    assert check.count_paths(answer) is True


RIGHT = [0.365, 0.8904]


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, 0.2, "best path alone"),
        (0, 0.58 * 0.65, "multiplied sums"),
        (0, 0.55, "forgot the steps"),
        (0, 0.24, "between the two words"),
        (0, 0.325, "before the first word"),
        (0, 0.165, "both words are written at the first"),
        (0, 0.33, "before the last word is written"),
        (0, 0.9, "p(y | x): this is no slip"),
        (1, 0.325, "divide it by the sum over all"),
        (1, 0.1096, "the share of the second place"),
        (1, 0.5, "without a look at what follows"),
        (1, 0.548, "share of the best path"),
        (1, 0.862, "before the second word is known"),
        (1, 2 / 3, "not equally probable"),
        (1, 0.77, "the share: this is no slip"),
    ],
)
def test_lattice_by_hand(place, value, words, capsys):
    answer = list(RIGHT)
    answer[place] = value
    assert words in said_about(capsys, "lattice_by_hand", answer)


@pytest.mark.parametrize("answer", [RIGHT, (0.365, 0.89), [73 / 200, 65 / 73]])
def test_lattice_by_hand_right(answer):
    assert check.lattice_by_hand(answer) is True


def summed(write, step, join=torch.logaddexp, into=None, start=-torch.inf):
    """The solution with places for slips; `into(step, u, t)` is the step's."""
    into = into or (lambda step, u, t: step[u, t - 1])
    target, source = write.shape
    arrived = torch.full((source,), start)
    arrived[0] = 0.0
    for u in range(target):
        alpha = [arrived[0]]
        for t in range(1, source):
            alpha.append(join(arrived[t], alpha[-1] + into(step, u, t)))
        arrived = torch.stack(alpha) + write[u]
    return arrived.logsumexp(0)


def without_logs(write, step):
    write, step = write.exp(), step.exp()
    target, source = write.shape
    arrived = [1.0] + [0.0] * (source - 1)
    for u in range(target):
        alpha = [arrived[0]]
        for t in range(1, source):
            alpha.append(arrived[t] + alpha[-1] * step[u, t - 1])
        arrived = [a * w for a, w in zip(alpha, write[u], strict=True)]
    return torch.as_tensor(sum(arrived)).log()


def by_the_book(write, step):
    mask = torch.ones(1, write.shape[1], dtype=torch.bool)
    alpha = cursors.forward_sums(write[None], step[None], mask)
    return (alpha[0, -1] + write[-1]).logsumexp(0)


def until_the_last(write, step):
    mask = torch.ones(1, write.shape[1], dtype=torch.bool)
    alpha = cursors.forward_sums(write[None], step[None], mask)
    return alpha[0, -1].logsumexp(0)


def best_alone(write, step):
    target, source = write.shape
    best = -torch.inf
    for path in combinations_with_replacement(range(source), target):
        finger, total = 0, 0.0
        for u, t in enumerate(path):
            total = total + step[u, finger:t].sum() + write[u, t]
            finger = t
        best = max(best, float(total))
    return best


def through(write, step):
    mask = torch.ones(1, write.shape[1], dtype=torch.bool)
    return cursors.forward_sums(write[None], step[None], mask)[0]


def at_the_last_word(write, step):
    mask = torch.ones(1, write.shape[1], dtype=torch.bool)
    alpha = cursors.forward_sums(write[None], step[None], mask)
    return alpha[0, -1, -1] + write[-1, -1]


def late(step, u, t):
    return step[u + 1, t - 1] if u + 1 < len(step) else step[u, t - 1] - 99


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda w, s: summed(w, s, torch.maximum), "take the larger"),
        (best_alone, "best path alone"),
        (lambda w, s: summed(w, s, torch.add), "never steps"),
        (lambda w, s: summed(w, s, start=0.0), "begin on any word"),
        (lambda w, s: through(w, s)[-1, -1], "one node, the last place"),
        (at_the_last_word, "finger on the last source word"),
        (until_the_last, "last row of `write` is missing"),
        (lambda w, s: summed(w, s, into=late), "pays for a step in the row"),
        (
            lambda w, s: summed(w, s, into=lambda s, u, t: s[u, t]),
            "leaves from t - 1",
        ),
        (
            lambda w, s: summed(w, s, into=lambda s, u, t: 0.0),
            "leave out the steps' probabilities",
        ),
        (lambda w, s: summed(w, s).exp(), "its logarithm is asked for"),
        (lambda w, s: -summed(w, s), "The sign"),
        (without_logs, "Stay in logarithms"),
        (lambda w, s: w.sum(0), "one number"),
    ],
)
def test_log_likelihood(mine, words, capsys):
    assert words in said_about(capsys, "log_likelihood", mine)


@pytest.mark.parametrize(
    "mine", [summed, by_the_book, lambda w, s: summed(w, s).item()]
)
def test_log_likelihood_right(mine):
    assert check.log_likelihood(mine) is True


def after(beta):
    return torch.cat([beta[1:], torch.zeros_like(beta[:1])])


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda a, b, w: (a + b).softmax(1), "come through a node"),
        (lambda a, b, w: (a + after(b)).softmax(1), "has to be written there."),
        (
            lambda a, b, w: (a + w + b).softmax(1),
            "the word still to write",
        ),
        (lambda a, b, w: (a + w).softmax(1), "what comes after"),
        (lambda a, b, w: (a + w + b.roll(-1, 0)).softmax(1), "roll goes round"),
        (
            lambda a, b, w: (a + w + after(b)).softmax(0),
            "Your columns sum",
        ),
        (
            lambda a, b, w: (a + w + after(b)).log_softmax(1),
            "logarithm of the posterior",
        ),
        (lambda a, b, w: (a + w + after(b)).exp(), "not divided"),
        (
            lambda a, b, w: (a + w + after(b)).flatten().softmax(0).view_as(a),
            "in place of every row",
        ),
        (
            lambda a, b, w: (
                (a + w + after(b)) / (a + w + after(b)).sum(1, keepdim=True)
            ),
            "divide the logarithms",
        ),
        (lambda a, b, w: (a + w + after(b)).softmax(1).T, "target words"),
        (lambda a, b, w: (a[:-1] + w[:-1] + b[1:]).softmax(1), "β = 1"),
    ],
)
def test_where_written(mine, words, capsys):
    assert words in said_about(capsys, "where_written", mine)


def with_a_loop(alpha, beta, write):
    rows = []
    for u in range(len(write)):
        rest = beta[u + 1] if u + 1 < len(write) else 0.0
        row = (alpha[u] + write[u] + rest).exp()
        rows.append(row / row.sum())
    return torch.stack(rows)


def test_where_written_right():
    assert check.where_written(with_a_loop) is True


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([[4, 0, 0], [0, 4, 0]], "not the likeliest"),
        ([[4, 0, 5], [0, 4, 3]], "Place 1 on its own"),
        ([[4, 0, 3], [0, 4, 5]], "Place 2 on its own"),
        ([[1, 0, 0.9], [0, 1, 0.9]], "there as well"),
        ([[4, 0, 3]], "two rows"),
        ([4, 0, 3], "two rows"),
        ([[4, 0], [0, 4]], "gave 2 numbers"),
    ],
)
def test_neither_says(answer, words, capsys):
    assert words in said_about(capsys, "neither_says", answer)


def test_neither_says_takes_other_answers():
    table = torch.tensor([[9.0, -9.0, 8.0], [-9.0, 9.0, 8.5]])
    assert check.neither_says(table) is True
    assert check.neither_says(([5, 0, 4], [0, 5, 4])) is True
