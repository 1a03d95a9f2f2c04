"""Plausible wrong answers to the chapter `ntm`, and their hints."""

import math

import numpy as np
import pytest
import torch
from test_exercises import said_about

from lookback.exercises import check

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([0.16, 0.56, 0.02, 0.04], "The tape is a ring"),
        ([0.18, 0.08, 0.14, 0.6], "You moved the other way:"),
        ([0.2, 0.8, 0, 0], "by the likeliest step"),
        ([0.16, 0.08, 0.14, 0.04], "and off the ends"),
        ([0.8, 0, 0, 0.2], "before the shift"),
        ([0.08, 0, 0, 0.02], "multiplied slot by slot"),
        ([0.25, 0.25, 0.25, 0.25], "Take slot 0's weight first"),
        ([0.3, 0.56, 0.14], "You gave 3 numbers"),
        ([math.nan, 0.56, 0.02, 0.12], "NaN"),
    ],
)
def test_shift_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "shift_by_hand", answer)


def test_shift_by_hand_takes_a_tensor():
    assert check.shift_by_hand(torch.tensor([0.3, 0.56, 0.02, 0.12])) is True


def by_loop(w, s, ring=True, way=1):
    n, found = len(w), torch.zeros(len(w))
    for i in range(n):
        for by in (-1, 0, 1):
            j = i - way * by
            if ring:
                found[i] += w[j % n] * s[by + 1]
            elif 0 <= j < n:
                found[i] += w[j] * s[by + 1]
    return found


def convolved(w, s, padding):
    return torch.conv1d(w[None, None], s.flip(0)[None, None], padding=padding)[
        0, 0
    ]


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda w, s: by_loop(w, s, ring=False), "your sum is below 1"),
        (lambda w, s: convolved(w, s, 1), "What leaves at an end is lost"),
        (lambda w, s: by_loop(w, s, way=-1), "moves the other way: s(+1)"),
        (
            lambda w, s: by_loop(w, s, ring=False, way=-1),
            "the other way, and the ends are lost",
        ),
        (
            lambda w, s: s[0] * w + s[1] * w.roll(1) + s[2] * w.roll(-1),
            "Here moves[0] is s(−1)",
        ),
        (
            lambda w, s: s[0] * w + s[1] * w.roll(-1) + s[2] * w.roll(1),
            "s(0), s(−1), s(+1)",
        ),
        (
            lambda w, s: (
                s[0] * torch.cat([w[1:], 0 * w[:1]])
                + s[1] * w
                + s[2] * torch.cat([0 * w[:1], w[:-1]])
                + torch.cat([w[:1] * s[0], 0 * w[2:], w[-1:] * s[2]])[: len(w)]
            ),
            "stays there in yours",
        ),
        (lambda w, s: w.roll(int(s.argmax()) - 1), "all three have a share"),
        (
            lambda w, s: convolved(w, s, 1) / convolved(w, s, 1).sum(),
            "You normalised what was cut off",
        ),
        (lambda w, s: convolved(w, s, 2), "makes the list longer"),
        (lambda w, s: w[:, None] * w, "sum it over j"),
        (lambda w, s: w * math.nan, "NaN"),
        (lambda w, s: w.tolist(), "torch tensor"),
        (lambda w, s: w, "a value is not"),
    ],
)
def test_circular_shift(mine, words, capsys):
    assert words in said_about(capsys, "circular_shift", mine)


def by_index(w, s):
    at = torch.arange(len(w))
    return sum(s[by + 1] * w[(at - by) % len(w)] for by in (-1, 0, 1))


def by_matrix(w, s):
    eye = torch.eye(len(w))
    return w @ sum(s[k] * eye.roll(k - 1, 1) for k in range(3))


@pytest.mark.parametrize("mine", [by_loop, by_index, by_matrix])
def test_circular_shift_by_another_route(mine):
    assert check.circular_shift(lambda weights, moves: mine(weights, moves))


def column(w):
    return w[:, None]


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            lambda M, w, e, a: (M + column(w) * a) * (1 - column(w) * e),
            "add first and erase afterwards",
        ),
        (
            lambda M, w, e, a: M * (1 - e) + column(w) * a,
            "You erase every slot alike",
        ),
        (
            lambda M, w, e, a: M * (1 - column(w) * e) + a,
            "You add to every slot alike",
        ),
        (
            lambda M, w, e, a: M * (1 - column(w)) + column(w) * a,
            "You erase whole slots",
        ),
        (
            lambda M, w, e, a: (
                M * (1 - column(w)) * (1 - e) + torch.outer(w, a)
            ),
            "The two are one factor",
        ),
        (lambda M, w, e, a: M + torch.outer(w, a), "Nothing is erased"),
        (
            lambda M, w, e, a: M * column(w) * e + column(w) * a,
            "You keep what should go",
        ),
        (lambda M, w, e, a: M - M * torch.outer(w, e), "Nothing is added"),
        (
            lambda M, w, e, a: M * (1 - column(w) * a) + column(w) * e,
            "You exchanged the two",
        ),
        (
            lambda M, w, e, a: M - torch.outer(w, e) + torch.outer(w, a),
            "You subtract e itself",
        ),
        (
            lambda M, w, e, a: (M * (1 - column(w) * e) + column(w) * a).T,
            "yours is the transpose",
        ),
        (lambda M, w, e, a: w @ M, "give back the whole tape"),
        (lambda M, w, e, a: M * math.nan, "NaN"),
        (lambda M, w, e, a: M, "a value is not"),
        (lambda M, w, e, a: M.mul_(2), "changes its argument `memory`"),
    ],
)
def test_erase_then_add(mine, words, capsys):
    def named(memory, weights, erase, add):
        return mine(memory, weights, erase, add)

    assert words in said_about(capsys, "erase_then_add", named)


def slot_by_slot(memory, weights, erase, add):
    rows = [
        m * (1 - w * erase) + w * add
        for m, w in zip(memory, weights, strict=True)
    ]
    return torch.stack(rows)


def by_outer(memory, weights, erase, add):
    kept = memory - memory * torch.outer(weights, erase)
    return kept + torch.einsum("i,k->ik", weights, add)


@pytest.mark.parametrize("mine", [slot_by_slot, by_outer])
def test_erase_then_add_by_another_route(mine):
    assert check.erase_then_add(mine) is True


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((7, 0.993), "0.9 to the power n"),
        ((8, 0.993), "still a little more than half"),
        ((10, 0.993), "One step earlier"),
        ((6, 0.993), "A tenth of what is there leaves"),
        ((20, 0.993), "number of steps is no slip"),
        ((8.5, 0.993), "a whole number of times"),
        ((-9, 0.993), "1, 2, 3 and so on"),
        ((9, 0.9939), "after the first step"),
        ((9, 0.8941), "before it is sharpened"),
        ((9, 0.9), "That is the share that stays"),
        ((9, 1), "a little leaks out anew"),
        ((9, 0), "all weights become equal"),
        ((9, 0.99965), "That is γ = 3"),
        ((9, 0.5), "The steps are right; the weight is no slip"),
        ((9,), "You gave 1 number"),
    ],
)
def test_smear_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "smear_by_hand", answer)


@pytest.mark.parametrize("answer", [(9, 0.993), np.array([9, 0.99308])])
def test_smear_by_hand_takes_rounded_answers(answer):
    assert check.smear_by_hand(answer) is True
