"""Plausible wrong answers to the chapter `transducer`, and their hints."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
import torch
from test_exercises import said_about

from lookback import transducer
from lookback.exercises import check

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (70, "not five and four"),
        (35, "step off the last source word"),
        (64, "written anywhere"),
        (12, "number of nodes"),
        (4, "a source word of its own. The finger"),
        (10, "end with the finger on the last source word"),
        (24, "in any order"),
        (720, "cannot be told apart"),
        (15, "four words among three places"),
        (81, "lets each English word choose a French one"),
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
        (0, 0.125, "the path that steps between the two words"),
        (0, 0.04, "the path that steps before the first word"),
        (0, 0.58 * 0.65, "multiplied sums"),
        (0, 0.55, "forgot the steps"),
        (0, 0.24, "between the two words"),
        (0, 0.325, "before the first word"),
        (0, 0.165, "both words are written at the first"),
        (0, 0.36, "three decimals"),
        (0, 0.37, "three decimals"),
        (0, 0.33, "before the last word is written"),
        (0, 36.5, "p(y | x): That is in per cent"),
        (0, 0.8904, "it comes second"),
        (0, -1.008, "p(y | x): That is a logarithm"),
        (0, 0.7, "p(y | x): this is no slip"),
        (1, 0.365, "it comes first"),
        (1, -0.116, "the share: That is a logarithm"),
        (1, 0.9, "the share: 0.9 is rounded"),
        (1, 89, "the share: That is in per cent"),
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
    alpha = transducer.forward_sums(write[None], step[None], mask)
    return (alpha[0, -1] + write[-1]).logsumexp(0)


def until_the_last(write, step):
    mask = torch.ones(1, write.shape[1], dtype=torch.bool)
    alpha = transducer.forward_sums(write[None], step[None], mask)
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
    return transducer.forward_sums(write[None], step[None], mask)[0]


def at_the_last_word(write, step):
    mask = torch.ones(1, write.shape[1], dtype=torch.bool)
    alpha = transducer.forward_sums(write[None], step[None], mask)
    return alpha[0, -1, -1] + write[-1, -1]


def largest_at_the_end(write, step):
    return (through(write, step)[-1] + write[-1]).max()


def filled(write, step, row_of_word=-1, row_of_step=0, across=0):
    """The table of α, cell by cell, as it is typed, with places for slips."""
    target, source = write.shape
    alpha = torch.full((target, source), -torch.inf)
    for u in range(target):
        for t in range(source):
            ways = [torch.zeros(())] if u == t == 0 else []
            if t:
                ways.append(alpha[u, t - 1] + step[u + row_of_step, t - 1])
            if u and t >= across:
                word = write[u + row_of_word, t - across]
                ways.append(alpha[u - 1, t - across] + word)
            if ways:
                alpha[u, t] = torch.stack(ways).logsumexp(0)
    return (alpha[-1] + write[-1]).logsumexp(0)


def one_step_at_most(write, step):
    alpha = torch.full((write.shape[1],), -torch.inf)
    alpha[0] = 0.0
    for u in range(len(write)):
        came = torch.cat([alpha[:1] - torch.inf, alpha[:-1] + step[u, :-1]])
        alpha = torch.logaddexp(alpha, came) + write[u]
    return alpha.logsumexp(0)


def in_float64(write, step):
    return without_logs(write.double(), step.double())


def written_first(write, step):
    """Each row's word, and the steps after it."""
    arrived = torch.full((write.shape[1],), -torch.inf)
    arrived[0] = 0.0
    for u in range(len(write)):
        row = list(arrived + write[u])
        for t in range(1, len(row)):
            row[t] = torch.logaddexp(row[t], row[t - 1] + step[u, t - 1])
        arrived = torch.stack(row)
    return arrived.logsumexp(0)


def no_step_in(row):
    """Steps, but for those of one row."""

    def into(step, u, t):
        return step[u, t - 1] if u != row % len(step) else -1e9

    return into


def late(step, u, t):
    return step[u + 1, t - 1] if u + 1 < len(step) else step[u, t - 1] - 99


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda w, s: summed(w, s, torch.maximum), "take the larger"),
        (best_alone, "best path alone"),
        (
            lambda w, s: summed(w, s, torch.add),
            "add their logarithms multiplies",
        ),
        (lambda w, s: summed(w, s, start=0.0), "begin on any word"),
        (lambda w, s: through(w, s)[-1, -1], "one node, the last place"),
        (at_the_last_word, "finger on the last source word"),
        (largest_at_the_end, "take the largest of the last row"),
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
        (in_float64, "Stay in logarithms"),
        (lambda w, s: filled(w, s, row_of_word=0), "word u is write[u - 1]"),
        (lambda w, s: filled(w, s, row_of_step=-1), "pays step[u - 1]"),
        (lambda w, s: filled(w, s, across=1), "a word moves the finger on"),
        (one_step_at_most, "one step at most between two words"),
        (lambda w, s: w.sum(0), "one number"),
        (lambda w, s: summed(w, s, into=no_step_in(0)), "In row 0"),
        (lambda w, s: summed(w, s, into=no_step_in(-1)), "In the last row"),
        (written_first, "write first and step afterwards"),
        (lambda w, s: summed(w, s) + 1, "from its logarithm, which is 0"),
        (lambda w, s: summed(w.T, s.T), "axes are swapped"),
        (
            lambda w, s: (through(w, s)[-1] + w[-1]).sum(),
            "add up logarithms, which multiplies",
        ),
        (
            lambda w, s: summed(w, s, start=-20.0),
            "whose logarithm is -torch.inf",
        ),
        (lambda w, s: summed(w, s, start=-1e3), "lets a little through"),
    ],
)
def test_log_likelihood(mine, words, capsys):
    assert words in said_about(capsys, "log_likelihood", mine)


def cell_by_cell(write, step):
    return filled(write, step)


@pytest.mark.parametrize(
    "mine",
    [
        summed,
        by_the_book,
        lambda w, s: summed(w, s).item(),
        lambda w, s: summed(w, s)[None],
        lambda w, s: summed(w, s).reshape(1).numpy(),
        lambda w, s: summed(w, s, start=-1e30),
        cell_by_cell,
    ],
)
def test_log_likelihood_right(mine):
    assert check.log_likelihood(mine) is True


def lost(beta):
    return torch.cat([beta[1:], torch.full_like(beta[:1], -torch.inf)])


def last_row(beta):
    """1 in the last row, and 0 elsewhere."""
    return torch.cat([torch.zeros_like(beta[1:]), torch.ones_like(beta[:1])])


def unlogged(p):
    return p / p.sum(1, keepdim=True)


def by_total(alpha, beta, write, later):
    return (alpha + write + later - (alpha + write)[-1].logsumexp(0)).exp()


def after(beta):
    return torch.cat([beta[1:], torch.zeros_like(beta[:1])])


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda a, b, w: (a + b).softmax(1), "come through a node"),
        (lambda a, b, w: (a + after(b)).softmax(1), "has to be written there."),
        (lambda a, b, w: a + w + after(b), "logarithms of α p β"),
        (
            lambda a, b, w: (a + b - (a + w)[-1].logsumexp(0)).exp(),
            "/ p(y | x) is the chance to come through",
        ),
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
        (lambda a, b, w: by_total(a, b, w, b), "divide by p(y | x)"),
        (lambda a, b, w: by_total(a, b, w, 0 * b), "what comes after, β"),
        (lambda a, b, w: by_total(a, b, w, lost(b)), "takes it for 0"),
        (lambda a, b, w: (a + w + lost(b)).softmax(1), "whose logarithm is 0"),
        (lambda a, b, w: by_total(a, b, w, b.roll(-1, 0)), "roll goes round"),
        (lambda a, b, w: (w + after(b)).softmax(1), "leave out α"),
        (lambda a, b, w: by_total(a, b, w, after(b) + last_row(b)), "not 1"),
        (lambda a, b, w: (a + w + b.roll(1, 0)).softmax(1), "the next row's"),
        (
            lambda a, b, w: unlogged(a.exp() * w.exp() * after(b).exp()),
            "take a softmax",
        ),
        (
            lambda a, b, w: (w + after(b) - (a + w)[-1].logsumexp(0)).exp(),
            "leave out α(t, u), and divide",
        ),
    ],
)
def test_where_written(mine, words, capsys):
    assert words in said_about(capsys, "where_written", mine)


def with_a_loop(alpha, beta, write):
    rows = []
    for u in range(len(write)):
        rest = beta[u + 1] if u + 1 < len(write) else 0.0
        row = alpha[u] + write[u] + rest
        row = (row - row.max()).exp()
        rows.append(row / row.sum())
    return torch.stack(rows)


@pytest.mark.parametrize(
    "mine",
    [with_a_loop, lambda a, b, w: by_total(a, b, w, after(b))],
    ids=["loop", "divided"],
)
def test_where_written_right(mine):
    assert check.where_written(mine) is True


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([[4, 0, 0], [0, 4, 0]], "not ahead"),
        ([[4, 0, 2], [0, 4, 2]], "the third word is not ahead"),
        ([[4, 0, 5], [0, 4, 3]], "Place 1 on its own"),
        ([[4, 0, 3], [0, 4, 5]], "Place 2 on its own"),
        ([[3, 0, 3], [0, 3, 3]], "or cannot choose"),
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
