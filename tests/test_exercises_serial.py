"""Plausible wrong answers to the chapter `serial`, and their hints."""

import math

import numpy as np
import pytest
import torch
from test_exercises import said_about

from lookback import serial
from lookback.exercises import check

pytestmark = pytest.mark.nightly

RIGHT = [47_185_920, 32_378_880, 1024]


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, 23_592_960, "two matrices for each of its three gates"),
        (0, 15_728_640, "one pair of matrices, a tanh network"),
        (0, 62_914_560, "the LSTM, four pairs"),
        (0, 1_572_864, "for one word"),
        (0, 94_371_840, "GRU: count multiplications alone"),
        (1, 921_600, "left out the four matrices"),
        (1, 31_918_080, "n²d comes twice"),
        (1, 24_514_560, "W_O is missing"),
        (1, 31_457_280, "the matrices alone"),
        (1, 64_757_760, "attention: count multiplications alone"),
        (2, 512, "with the GRU"),
        (2, 2048, "Without its own four matrices"),
        (2, 256, "n is twice d"),
        (2, 77, "no slip that the check knows"),
    ],
)
def test_products_by_hand(place, value, words, capsys):
    answer = list(RIGHT)
    answer[place] = value
    assert words in said_about(capsys, "products_by_hand", answer)


def test_products_by_hand_wants_three(capsys):
    assert "gave 2 numbers" in said_about(capsys, "products_by_hand", RIGHT[:2])


@pytest.mark.parametrize(
    "answer", [tuple(RIGHT), [47.19e6, 32.38e6, 1024], np.array(RIGHT)]
)
def test_products_by_hand_takes_rounded_answers(answer):
    assert check.products_by_hand(answer) is True


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda s, p: -(-sum(s) // p), "Round up inside the sum"),
        (lambda s, p: sum(s) / p, "not full, and take a tick"),
        (lambda s, p: sum(m // p for m in s), "You round down"),
        (lambda s, p: sum(round(m / p) for m in s), "round to the nearest"),
        (lambda s, p: max(-(-m // p) for m in s), "longest stage alone"),
        (lambda s, p: len(s), "number of stages"),
        (lambda s, p: sum(m // p + 1 for m in s), "always add one tick"),
        (lambda s, p: sum(math.ceil(m / p) for m in s), "whole numbers"),
        (lambda s, p: sum(max(1, m // p) for m in s), "You round down"),
        (lambda s, p: math.nan, "NaN"),
        (lambda s, p: 1j, "yours is complex"),
        (lambda s, p: "7", "yours is str"),
    ],
)
def test_ticks_needed(mine, words, capsys):
    assert words in said_about(capsys, "ticks_needed", mine)


def played(stages, workers):
    ticks = 0
    for m in stages:
        whole, rest = divmod(m, workers)
        ticks += whole + (rest > 0)
    return ticks


def rounded_up(stages, workers):
    return sum((m + workers - 1) // workers for m in stages)


def by_numpy(stages, workers):
    return np.sum((np.array(stages) + workers - 1) // workers)


def as_the_chapter(stages, workers):
    return serial.ticks([serial.Stage("", m) for m in stages], workers)


@pytest.mark.parametrize("mine", [played, rounded_up, by_numpy, as_the_chapter])
def test_ticks_needed_by_other_routes(mine):
    assert check.ticks_needed(mine) is True


def loop(x, h, project, recur, first=None, back=False, on=True, each=False):
    h = h if first is None else first
    states = []
    Wx = None if each else project(x)
    order = reversed(range(x.shape[1])) if back else range(x.shape[1])
    for t in order:
        new = recur(project(x[:, t]) if each else Wx[:, t], h)
        states.append(new)
        h = new if on else h
    return states


def noted_before(x, h, project, recur):
    states = []
    for Wx in project(x).unbind(1):
        states.append(h)
        h = recur(Wx, h)
    return torch.stack(states, 1)


def over_the_batch(x, h, project, recur):
    states = []
    for Wx in project(x):
        h = recur(Wx, h)
        states.append(h)
    return torch.stack(states, 1)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            lambda x, h, project, recur: torch.stack(
                loop(x, h, project, recur, each=True), 1
            ),
            "times. x has all the words",
        ),
        (
            lambda x, h, project, recur: torch.stack(
                loop(x, h, project, recur, first=h * 0), 1
            ),
            "first state is zero",
        ),
        (
            lambda x, h, project, recur: torch.stack(
                loop(x, h, project, recur, on=False), 1
            ),
            "hand the new state on",
        ),
        (
            lambda x, h, project, recur: torch.stack(
                loop(x, h, project, recur, back=True), 1
            ),
            "from the last word to the first",
        ),
        (
            lambda x, h, project, recur: torch.stack(
                loop(x, h, project, recur)
            ),
            "Stack along dim=1",
        ),
        (
            lambda x, h, project, recur: loop(x, h, project, recur)[-1],
            "the last state alone",
        ),
        (
            lambda x, h, project, recur: torch.stack(
                [h, *loop(x, h, project, recur)], 1
            ),
            "does not belong to the states",
        ),
        (noted_before, "note the state before each word"),
        (
            lambda x, h, project, recur: torch.stack(
                loop(x, h, project, lambda Wx, h: recur(h, Wx)), 1
            ),
            "the state second",
        ),
        (
            lambda x, h, project, recur: torch.stack(
                loop(x, h, project, recur, back=True)[::-1], 1
            ),
            "turned the states back",
        ),
        (lambda x, h, project, recur: project(x), "the projected words, W x"),
        (over_the_batch, "one projected word of every sentence, [2, 5]"),
    ],
)
def test_hoisted_recurrence(mine, words, capsys):
    assert words in said_about(capsys, "hoisted_recurrence", mine)


def test_hoisted_recurrence_counts_the_steps(capsys):
    def twice(x, h, project, recur):
        loop(x, h, lambda y: y[..., :1] * 0 + h[:, None], lambda a, b: b)
        recur(h, h)
        return torch.stack(loop(x, h, project, recur), 1)

    said = said_about(capsys, "hoisted_recurrence", twice)
    assert "recur was called 5 times for 4 words" in said


def into_a_table(x, h, project, recur):
    Wx = project(x.flatten(0, 1)).view(*x.shape[:2], -1)
    out = torch.empty(*x.shape[:2], h.shape[1])
    for t in range(x.shape[1]):
        out[:, t] = h = recur(Wx[:, t], h)
    return out


def words_first(x, h, project, recur):
    with torch.no_grad():
        states = [h]
        for Wx in project(x.transpose(0, 1)):
            states.append(recur(Wx, states[-1]))
        return torch.stack(states[1:]).transpose(0, 1).double()


@pytest.mark.parametrize("mine", [into_a_table, words_first])
def test_hoisted_recurrence_by_another_route(mine):
    assert check.hoisted_recurrence(mine) is True


def wave(words, layers):
    return torch.arange(layers)[:, None] + torch.arange(len(words)) + 1


def larger(words, layers):
    t = torch.arange(len(words))
    return torch.maximum(torch.arange(layers)[:, None], t) + 1


def row(words, layers):
    return torch.arange(len(words) * layers) + 1


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda s, L: wave(s, L) - 1, "The first tick is 1"),
        (lambda s, L: row(s, L).view(L, len(s)), "has read all words"),
        (lambda s, L: row(s, L).view(len(s), L).T, "can go on at once"),
        (lambda s, L: wave(s, 1).repeat(L, 1), "needs the one below first"),
        (
            lambda s, L: wave("a", L).repeat(1, len(s)),
            "each word needs the one before",
        ),
        (lambda s, L: wave(s, L).flip(0), "row 0 is the highest layer"),
        (
            lambda s, L: wave(s, L) + torch.arange(L)[:, None],
            "has done the NEXT word",
        ),
        (larger, "You take the larger"),
        (lambda s, L: wave(s, L) * math.nan, "NaN"),
        (lambda s, L: wave(s, L).T, "Rows are layers"),
        (lambda s, L: wave(s, L)[:, -1], "give one for each word too"),
        (lambda s, L: wave(s, L).tolist(), "torch tensor"),
    ],
)
def test_wavefront_ticks(mine, words, capsys):
    assert words in said_about(capsys, "wavefront_ticks", mine)


def summed(words, layers):
    ones = torch.ones(layers, len(words))
    return ones.cumsum(0) + ones.cumsum(1) - 1


def filled(words, layers):
    grid = np.ones((layers, len(words)), dtype=int)
    for i in range(layers):
        for t in range(len(words)):
            waits = [grid[i - 1, t]] * (i > 0) + [grid[i, t - 1]] * (t > 0)
            grid[i, t] = 1 + max(waits, default=0)
    return torch.from_numpy(grid)


@pytest.mark.parametrize("mine", [summed, filled])
def test_wavefront_ticks_by_another_route(mine):
    assert check.wavefront_ticks(mine) is True


def matrix(looks):
    full = torch.zeros(len(looks), len(looks))
    for i, positions in enumerate(looks):
        full[i, positions] = 1
    return full


def powers(looks, square=False, both=False, never=-1, by=1):
    mask = matrix(looks)
    mask = (mask + mask.T).clamp(max=1) if both else mask
    seen, layers = mask, 1
    for _ in looks:
        if seen.all():
            return layers
        seen = ((seen if square else mask) @ seen).clamp(max=1)
        layers = layers * 2 if by == 2 else layers + 1
    return layers if seen.all() else never


def farthest(looks, starts=None, far=max):
    """Breadth first from some positions; the most, or least, layers."""
    layers = []
    for start in range(len(looks)) if starts is None else starts:
        reached, deep = {start}, 0
        while len(reached) < len(looks):
            further = reached.union(*(looks[i] for i in reached))
            if further == reached:
                return -1
            reached, deep = further, deep + 1
        layers.append(max(1, deep))
    return far(layers)


def in_place(looks):
    seen, layers = [set(row) for row in looks], 0
    while layers < 99:
        layers += 1
        if all(len(each) == len(looks) for each in seen):
            return layers
        for i, positions in enumerate(looks):
            for j in positions:
                seen[i] |= seen[j]
    return -1


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda looks: powers(looks) - 1, "Count the first layer too"),
        (lambda looks: powers(looks) + 1, "One too many"),
        (lambda looks: powers(looks, square=True), "doubled the reach"),
        (lambda looks: powers(looks, both=True), "count both ways"),
        (lambda looks: powers(looks, never=len(looks)), "give -1"),
        (lambda looks: 1, "it should be 11"),
        (lambda looks: farthest(looks, [0]), "position 0 alone"),
        (lambda looks: farthest(looks, far=min), "done first; the last one"),
        (lambda looks: powers(looks, square=True, by=2), "jumps over"),
        (lambda looks: powers(looks) - (len(looks) > 5), "one layer too soon"),
        (lambda looks: powers(looks) * (len(looks) > 1), "At least one layer"),
        (lambda looks: powers(looks, never=None), "-1 for never"),
        (lambda looks: powers(looks, never=math.inf), "give -1"),
        (lambda looks: powers(looks, never=0), "give -1"),
        (in_place, "learned in the same layer"),
        (lambda looks: [powers(looks)] * 2, "yours is list"),
    ],
)
def test_looks_to_connect(mine, words, capsys):
    assert words in said_about(capsys, "looks_to_connect", mine)


def by_shortest_paths(looks):
    far = np.where(matrix(looks).numpy() > 0, 1.0, np.inf)
    for k in range(len(looks)):
        far = np.minimum(far, far[:, [k]] + far[[k]])
    return -1 if np.isinf(far).any() else int(far.max())


@pytest.mark.parametrize("mine", [powers, farthest, by_shortest_paths])
def test_looks_to_connect_by_another_route(mine):
    assert check.looks_to_connect(mine) is True
