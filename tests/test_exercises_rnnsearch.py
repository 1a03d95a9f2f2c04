"""Plausible wrong answers to RNNsearch's exercises, and their hints."""

from decimal import Decimal
from fractions import Fraction

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
        ([2.74, -0.26], "rounded the weights"),
        ([3.19, -0.66], "e⁰ is 1, not 0"),
        ([-0.24, 2.72], "two numbers are exchanged"),
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
    + [np.array([2.73, -0.24]), (np.float32(2.725), torch.tensor(-0.236))]
    + [(Fraction(109, 40), Decimal("-0.236"))],
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

    def spelled(s, H, W, U, v):
        query = torch.einsum("aq,bq->ba", W, s)
        keys = torch.einsum("ak,bsk->sba", U, H)
        return torch.einsum("sba,a->bs", (query + keys).tanh(), v)

    def in_numpy(s, H, W, U, v):
        s, H, W, U, v = (np.float64(each.numpy()) for each in (s, H, W, U, v))
        return torch.from_numpy(np.tanh(s[:, None] @ W.T + H @ U.T) @ v)

    assert check.additive_scores(mine) is True
    assert check.additive_scores(torch.no_grad()(spelled)) is True
    assert check.additive_scores(in_numpy) is True


def naive(scores, mask):
    shares = torch.exp(scores) * mask
    return shares / shares.sum(1, keepdim=True)


def batch_maximum(scores, mask):
    shares = torch.exp(scores - scores.max()) * mask
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
        (lambda e, mask: naive(e.clamp(max=50), mask), "overflow in exp"),
        (lambda e, mask: naive(e, mask).nan_to_num(0.0), "overflow in exp"),
        (batch_maximum, "maximum of the whole batch"),
        (
            lambda e, mask: batch_maximum(e, mask).nan_to_num(0.0),
            "maximum of the whole batch",
        ),
        (whole_maximum, "over the places that may"),
        (
            lambda e, mask: e.masked_fill(~mask, -100.0).softmax(1),
            "not low enough",
        ),
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

    def row_by_row(scores, mask):
        weights = torch.zeros_like(scores)
        for row, new, may in zip(scores, weights, mask, strict=True):
            if may.any():
                new[may] = row[may].softmax(0)
        return weights

    def by_logs(scores, mask):
        hidden = torch.where(mask, scores.double(), -INF)
        total = hidden.logsumexp(1, keepdim=True)
        return torch.where(mask, (hidden - total).exp(), 0)

    def in_numpy(scores, mask):
        e, may = scores.numpy(), mask.numpy()
        top = np.where(may, e, -1e30).max(axis=1, keepdims=True)
        shares = np.exp(np.where(may, e - top, -np.inf))
        total = shares.sum(axis=1, keepdims=True)
        return torch.from_numpy(shares / np.where(total == 0, 1, total))

    for route in (mine, row_by_row, by_logs, in_numpy):
        assert check.masked_softmax(route) is True


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


def test_context_takes_any_route():
    def loop(weights, H):
        rows = [
            sum(w * h for w, h in zip(shares, vectors, strict=True))
            for shares, vectors in zip(weights, H, strict=True)
        ]
        return torch.stack(rows)

    def in_numpy(weights, H):
        mixed = weights.numpy()[:, :, None] * H.numpy().astype("float64")
        return torch.tensor(mixed.sum(axis=1))

    assert check.context(lambda w, H: (w[:, None] @ H).squeeze(1)) is True
    assert check.context(lambda w, H: (H.mT @ w[..., None])[..., 0]) is True
    assert check.context(loop) is True
    assert check.context(in_numpy) is True


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
        (
            lambda A, S, P: (
                1 - (len(A & S) + len(A & (P - S))) / (len(A) + len(S))
            ),
            "took the sure links out of P",
        ),
        (
            lambda A, S, P: 1 - (len(A & S) + len(A & P)) / max(1, len(A)),
            "divide by |A| alone",
        ),
        (
            lambda A, S, P: 1 - (len(A & S) + len(A & P)) / len(S),
            "divide by |S| alone",
        ),
        (lambda A, S, P: len(P), "Not the right value: for six links"),
        (lambda A, S, P: [0.3], "yours is list"),
        (lambda A, S, P: 0.3 + 1j, "yours is complex"),
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


@pytest.mark.parametrize("kind", [Fraction, Decimal, np.float64, torch.tensor])
def test_alignment_error_rate_takes_any_kind_of_number(kind):
    def mine(A, S, P):
        hits = sum((link in S) + (link in P) for link in A)
        return 1 - kind(hits) / kind(len(A) + len(S))

    assert check.alignment_error_rate(mine) is True


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


def test_without_tanh_takes_any_route():
    def loop(S, H, W, U, v):
        rows = [[v @ (W @ s + U @ h) for h in H] for s in S]
        return torch.tensor(rows).softmax(1)

    def once(S, H, W, U, v):
        """What the exercise wants to show: the query cancels."""
        weights = np.exp((H @ U.T @ v).double().numpy())
        return torch.from_numpy(weights / weights.sum()).expand(len(S), -1)

    assert check.without_tanh(loop) is True
    assert check.without_tanh(once) is True
