"""Plausible wrong answers to RNNsearch's exercises, and their hints."""

import numpy as np
import pytest
import torch
from test_exercises import said_about

from lookback.exercises import check

INF = float("inf")


@pytest.mark.parametrize(
    "answer, words",
    [
        ([30.27, -2.62], "not yet divided by their sum"),
        ([3, -0.33], "without exp"),
        ([1, 1.67], "plain mean"),
        ([2.29, 0.29], "raised 2 to the energies"),
        ([4, -2], "hard choice"),
        ([9, -1], "by the energies themselves"),
        ([-0.73, 3.21], "run backwards"),
        ([0.91, -0.08], "divided by three as well"),
        ([0.665, 0.245, 0.09], "Three numbers are the weights"),
        ([2.72], "You gave 1 numbers"),
        ([5, 5], "no slip that I know"),
    ],
)
def test_context_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "context_by_hand", answer)


@pytest.mark.parametrize(
    "answer",
    [(2.72, -0.24), [2.725, -0.236], torch.tensor([2.73, -0.23])]
    + [np.array([2.73, -0.24])],
)
def test_context_by_hand_takes_rounded_answers(answer):
    assert check.context_by_hand(answer) is True


def scored(score):
    """Scores from W s and U h, both with room for every axis."""

    def mine(s, H, W, U, v):
        return score((s @ W.T).unsqueeze(1), H @ U.T, v)

    return mine


def exchanged(s, H, W, U, v):
    return torch.tanh((s @ U.T).unsqueeze(1) + H @ W.T) @ v


def U_twice(s, H, W, U, v):
    return torch.tanh((s @ U.T).unsqueeze(1) + H @ U.T) @ v


def mixed_sentences(s, H, W, U, v):
    return torch.tanh(s @ W.T + H @ U.T) @ v


@pytest.mark.parametrize(
    "mine, words",
    [
        (scored(lambda q, k, v: (q + k) @ v), "tanh is missing"),
        (scored(lambda q, k, v: torch.tanh((q + k) @ v)), "finished score"),
        (scored(lambda q, k, v: (q.tanh() + k.tanh()) @ v), "apart"),
        (exchanged, "W and U are exchanged"),
        (U_twice, "U is applied to s as well"),
        (
            scored(lambda q, k, v: torch.tanh(q + k).sum(-1)),
            "v is missing: you sum",
        ),
        (scored(lambda q, k, v: torch.tanh(q + k).mean(-1)), "you average"),
        (scored(lambda q, k, v: torch.tanh(q * k) @ v), "You multiply"),
        (scored(lambda q, k, v: torch.tanh(q - k) @ v), "You subtract"),
        (scored(lambda q, k, v: torch.sigmoid(q + k) @ v), "σ in place"),
        (scored(lambda q, k, v: torch.tanh(k) @ v), "query s is not in"),
        (scored(lambda q, k, v: torch.tanh(q + k)), "align axis is still"),
        (scored(lambda q, k, v: torch.tanh(q + k) @ v[:, None]), "squeeze(-1)"),
        (scored(lambda q, k, v: (torch.tanh(q + k) @ v).T), "[source, batch]"),
        (
            scored(lambda q, k, v: (torch.tanh(q + k) @ v).softmax(1)),
            "Those are weights",
        ),
        (scored(lambda q, k, v: (torch.tanh(q + k) * v).sum(1)), "You summed"),
        (mixed_sentences, "POSITION j"),
    ],
)
def test_additive_scores(mine, words, capsys):
    assert words in said_about(capsys, "additive_scores", mine)


def test_additive_scores_takes_a_loop():
    def mine(s, H, W, U, v):
        scores = torch.zeros(H.shape[0], H.shape[1])
        for b in range(H.shape[0]):
            for j in range(H.shape[1]):
                scores[b, j] = v @ torch.tanh(W @ s[b] + U @ H[b, j])
        return scores

    assert check.additive_scores(mine) is True


def naive(scores, mask):
    shares = torch.exp(scores) * mask
    return shares / shares.sum(1, keepdim=True)


def whole_maximum(scores, mask):
    shares = torch.exp(scores - scores.amax(1, keepdim=True)) * mask
    return shares / shares.sum(1, keepdim=True)


@pytest.mark.parametrize(
    "mine, words",
    [
        (
            lambda e, mask: e.masked_fill(~mask, -INF).softmax(0),
            "sum to 1 over the batch, not over the source axis",
        ),
        (lambda e, mask: e.softmax(1) * mask, "masked after the softmax"),
        (lambda e, mask: (e * mask).softmax(1), "exp(0) = 1"),
        (
            lambda e, mask: e.masked_fill(mask, -INF).softmax(1),
            "True and False are swapped",
        ),
        (lambda e, mask: e.softmax(1), "mask is not used"),
        (lambda e, mask: e.exp() * mask, "not yet divided"),
        (
            lambda e, mask: (e.exp() * mask) / (e.exp() * mask).sum(),
            "over the whole batch",
        ),
        (
            lambda e, mask: e * mask / (e * mask).sum(1, keepdim=True),
            "exp is missing",
        ),
        (
            lambda e, mask: e.masked_fill(~mask, -INF).log_softmax(1),
            "not log_softmax",
        ),
        (naive, "overflow in exp"),
        (whole_maximum, "over the places that may"),
        (
            lambda e, mask: e.masked_fill(~mask, -10000.0).softmax(1),
            "not low enough",
        ),
        (
            lambda e, mask: e.masked_fill(~mask, -INF).softmax(1),
            "gives NaN",
        ),
        (
            lambda e, mask: e.masked_fill(~mask, -1e9).softmax(1),
            "finite number for −infinity",
        ),
    ],
)
def test_masked_softmax(mine, words, capsys):
    assert words in said_about(capsys, "masked_softmax", mine)


def test_masked_softmax_takes_a_repair_at_the_end():
    def mine(scores, mask):
        weights = scores.masked_fill(~mask, -INF).softmax(1)
        return weights.nan_to_num(0.0)

    assert check.masked_softmax(mine) is True


def weighted(w, H):
    return torch.einsum("bs,bsd->bd", w, H)


def square_only(w, H):
    """Wrong where broadcasting hides it, right elsewhere."""
    if w.shape[0] == H.shape[1] == H.shape[2]:
        return (w * H).sum(1)
    return weighted(w, H)


def transposed(w, H):
    if w.shape[0] == w.shape[1]:
        return torch.einsum("sb,bsd->bd", w, H)
    return weighted(w, H)


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda w, H: H.mean(1), "plain mean"),
        (lambda w, H: H.sum(1), "plain sum"),
        (lambda w, H: weighted(w, H) / H.shape[1], "divide by the number"),
        (
            lambda w, H: weighted(w.softmax(1), H),
            "softmax of the weights again",
        ),
        (lambda w, H: H[range(len(H)), w.argmax(1)], "largest weight alone"),
        (lambda w, H: torch.einsum("s,bsd->bd", w[0], H), "the first one"),
        (lambda w, H: w.unsqueeze(-1) * H, "not summed yet"),
        (lambda w, H: (w.unsqueeze(-1) * H).sum(-1), "numbers of each"),
        (lambda w, H: w.unsqueeze(1) @ H, "squeeze(1)"),
        (lambda w, H: w @ H, "every sentence's annotations"),
        (lambda w, H: weighted(w, H).sum(0), "batch axis is gone"),
        (square_only, "give them a last axis"),
        (transposed, "weights are transposed"),
    ],
)
def test_context(mine, words, capsys):
    assert words in said_about(capsys, "context", mine)


def f1(A, S, P):
    precision, recall = len(A & P) / len(A), len(A & S) / len(S)
    return 1 - 2 * precision * recall / (precision + recall)


def divides_by_links(A, S, P):
    if not A:
        return 0 / len(A)
    return 1 - (len(A & S) + len(A & P)) / (len(A) + len(S))


@pytest.mark.parametrize(
    "mine, words",
    [
        (
            lambda A, S, P: (len(A & S) + len(A & P)) / (len(A) + len(S)),
            "1 minus it",
        ),
        (
            lambda A, S, P: 1 - (len(A & S) + len(A & P)) / (len(A) + len(P)),
            "divide by |A| + |P|",
        ),
        (
            lambda A, S, P: 1 - 2 * len(A & S) / (len(A) + len(S)),
            "among the sure links only",
        ),
        (
            lambda A, S, P: 1 - 2 * len(A & P) / (len(A) + len(S)),
            "among the possible links only",
        ),
        (lambda A, S, P: 1 - len(A & P) / len(A), "1 − precision"),
        (lambda A, S, P: 1 - len(A & S) / len(S), "1 − recall"),
        (f1, "harmonic mean"),
        (
            lambda A, S, P: 1 - (len(A & S) + len(A & P)) / len(A | S),
            "divide by the union",
        ),
        (
            lambda A, S, P: (
                100 - 100 * (len(A & S) + len(A & P)) / (len(A) + len(S))
            ),
            "per cent",
        ),
        (lambda A, S, P: A & S, "Give back one number"),
        (divides_by_links, "ZeroDivisionError"),
    ],
)
def test_alignment_error_rate(mine, words, capsys):
    def renamed(links, sure, possible):
        return mine(links, sure, possible)

    assert words in said_about(capsys, "alignment_error_rate", renamed)


def looked(score, softmax=-1):
    """Weights of several queries on one sentence, from a score."""

    def mine(S, H, W, U, v):
        e = score((S @ W.T).unsqueeze(1), (H @ U.T).unsqueeze(0), v)
        return e if softmax is None else e.softmax(softmax)

    return mine


@pytest.mark.parametrize(
    "mine, words",
    [
        (looked(lambda q, k, v: torch.tanh(q + k) @ v), "still there"),
        (looked(lambda q, k, v: torch.tanh((q + k) @ v)), "moved outside"),
        (looked(lambda q, k, v: (q + torch.tanh(k)) @ v), "around U h"),
        (looked(lambda q, k, v: (q + k) @ v, softmax=None), "Those are scores"),
        (looked(lambda q, k, v: (q + k) @ v, softmax=0), "over the queries"),
        (looked(lambda q, k, v: (q * k) @ v), "You multiply"),
        (looked(lambda q, k, v: (q + 0 * k) @ v), "All your weights are 1/6"),
        (
            looked(lambda q, k, v: ((q + k) @ v).T, softmax=0),
            "[source, target]",
        ),
        (looked(lambda q, k, v: q + k), "align axis"),
        (
            lambda S, H, W, U, v: (H @ U.T @ v).softmax(0),
            "One row for each of the four queries",
        ),
    ],
)
def test_without_tanh(mine, words, capsys):
    assert words in said_about(capsys, "without_tanh", mine)
