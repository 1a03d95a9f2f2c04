"""Plausible wrong answers to the Transformer's exercises, and their hints."""

import pytest
import torch
from test_exercises import said_about
from torch.nn import functional as F

from lookback.exercises import check


@pytest.mark.parametrize(
    "answer, words",
    [
        ([0.357, 0.0], "without smoothing"),
        ([0.517, 0.921], "the true one included"),
        ([0.451, 0.614], "keeps 0.9 and its own share"),
        ([0.712, 1.842], "all three share one 0.1"),
        ([0.668, 0.886], "base 2"),
        ([0.201, 0.267], "base 10"),
        ([-0.463, -0.614], "The sign"),
        ([0.411, 0.069], "the belief stays"),
        ([0.463], "You gave 1 numbers"),
        ([3, 4], "no slip that I know"),
    ],
)
def test_smoothing_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "smoothing_by_hand", answer)


@pytest.mark.parametrize(
    "answer", [(0.46, 0.61), [0.463, 0.614], torch.tensor([0.4633, 0.6142])]
)
def test_smoothing_by_hand_takes_rounded_answers(answer):
    assert check.smoothing_by_hand(answer) is True


def parts(logits, target):
    logp = logits.log_softmax(-1)
    return logp, logp.gather(-1, target[:, None])[:, 0]


def among_others(logits, target, epsilon):
    logp, true = parts(logits, target)
    rest = (logp.sum(-1) - true) / (logits.shape[-1] - 1)
    return -(1 - epsilon) * true - epsilon * rest


def whole_epsilon(logits, target, epsilon):
    logp, true = parts(logits, target)
    return -(1 - epsilon) * true - epsilon * logp.sum(-1)


def exchanged(logits, target, epsilon):
    logp, true = parts(logits, target)
    return -epsilon * true - (1 - epsilon) * logp.mean(-1)


def added(logits, target, epsilon):
    logp, true = parts(logits, target)
    return -true - epsilon * logp.mean(-1)


def smooth(logits, target, epsilon):
    return F.cross_entropy(
        logits, target, reduction="none", label_smoothing=epsilon
    )


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda z, y, e: F.cross_entropy(z, y, reduction="none"), "not used"),
        (among_others, "gives every word ε / vocab"),
        (whole_epsilon, "divide it by vocab"),
        (exchanged, "are exchanged"),
        (added, "it keeps 1 − ε"),
        (lambda z, y, e: -smooth(z, y, e), "sign is wrong"),
        (
            lambda z, y, e: (
                -(1 - e) * z.gather(1, y[:, None])[:, 0] - e * z.mean(-1)
            ),
            "You forgot softmax",
        ),
        (lambda z, y, e: smooth(z, y, e).mean(), "one loss a row"),
        (lambda z, y, e: -z.log_softmax(-1), "sum over the vocabulary"),
        (lambda z, y, e: smooth(z, y, e)[:, None], "squeeze(-1)"),
    ],
)
def test_smoothed_loss(mine, words, capsys):
    assert words in said_about(capsys, "smoothed_loss", mine)


def test_smoothed_loss_takes_torch():
    assert check.smoothed_loss(smooth) is True


def curves(step, warmup):
    return step * warmup**-1.5, step**-0.5


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda s, d, w: d**-0.5 * torch.max(*curves(s, w)), "larger of"),
        (lambda s, d, w: d**-0.5 * s**-0.5, "It only falls"),
        (lambda s, d, w: d**-0.5 * s * w**-1.5, "It only rises"),
        (lambda s, d, w: torch.min(*curves(s, w)), "d_model^−0.5 is missing"),
        (lambda s, d, w: d**0.5 * torch.min(*curves(s, w)), "divide"),
        (
            lambda s, d, w: d**-0.5 * torch.minimum(s * w**-0.5, s**-0.5),
            "must meet at step = warmup",
        ),
        (lambda s, d, w: float(s[0]), "give back a torch tensor"),
    ],
)
def test_warmup_rate(mine, words, capsys):
    assert words in said_about(capsys, "warmup_rate", mine)


def test_warmup_rate_takes_a_loop():
    def mine(step, d_model, warmup):
        rates = [
            n * warmup**-1.5 if n < warmup else n**-0.5 for n in step.tolist()
        ]
        return torch.tensor(rates) / d_model**0.5

    assert check.warmup_rate(mine) is True


def only_first(pieces, pair):
    for i in range(len(pieces) - 1):
        if (pieces[i], pieces[i + 1]) == pair:
            return [*pieces[:i], pieces[i] + pieces[i + 1], *pieces[i + 2 :]]
    return list(pieces)


def overlapping(pieces, pair):
    merged, i = [], 0
    while i < len(pieces):
        if tuple(pieces[i : i + 2]) == pair:
            merged.append(pieces[i] + pieces[i + 1])
            i += 1 if pieces[i] == pieces[i + 1] else 2
        else:
            merged.append(pieces[i])
            i += 1
    return merged


def either_order(pieces, pair):
    merged, i = [], 0
    while i < len(pieces):
        if set(pieces[i : i + 2]) == set(pair):
            merged.append("".join(pieces[i : i + 2]))
            i += 2
        else:
            merged.append(pieces[i])
            i += 1
    return merged


def anywhere(pieces, pair):
    if pair[0] not in pieces or pair[1] not in pieces or pair[0] == pair[1]:
        return check.merge_pair.solution(pieces, pair)
    if "n" in pieces and "b" in pieces and len(pieces) == 3:
        return ["an", "b"]
    return check.merge_pair.solution(pieces, pair)


def in_letters(pieces, pair):
    text = "".join(pieces)
    if "".join(pair) in text and pair[0] not in pieces:
        return text.partition("".join(pair))
    return check.merge_pair.solution(pieces, pair)


def last_forgotten(pieces, pair):
    if len(pieces) == 2:
        return list(pieces)
    return check.merge_pair.solution(pieces, pair)


@pytest.mark.parametrize(
    "mine, words",
    [
        (only_first, "more than once"),
        (overlapping, "the third is left"),
        (either_order, "The order matters"),
        (anywhere, "not side by side"),
        (in_letters, "not a piece of its own"),
        (last_forgotten, "last two pieces merge too"),
        (lambda pieces, pair: "".join(pieces), "Give back a list of pieces"),
    ],
)
def test_merge_pair(mine, words, capsys):
    assert words in said_about(capsys, "merge_pair", mine)


def test_merge_pair_takes_a_stack():
    def mine(pieces, pair):
        merged, free = [], False
        for piece in pieces:
            if free and (merged[-1], piece) == pair:
                merged[-1] += piece
                free = False
            else:
                merged.append(piece)
                free = True
        return merged

    assert check.merge_pair(mine) is True


def stepped(q, k, v, past_k, past_v, scale=True, first=False):
    join = (
        (k[:, None], past_k) if first else (past_k, k[:, None]),
        (past_v, v[:, None]),
    )
    K, V = (torch.cat(both, 1) for both in join)
    scores = (K @ q[..., None])[..., 0] / (q.shape[1] ** 0.5 if scale else 1)
    return (scores.softmax(-1)[:, None] @ V)[:, 0]


def without_itself(q, k, v, past_k, past_v):
    if not past_k.shape[1]:
        return v + 0.0
    scores = (past_k @ q[..., None])[..., 0] / q.shape[1] ** 0.5
    return (scores.softmax(-1)[:, None] @ past_v)[:, 0]


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda *given: stepped(*given, scale=False), "√d_k is missing"),
        (lambda *given: stepped(*given, first=True), "new value stands first"),
        (lambda q, k, *rest: stepped(k, k, *rest), "the query asks"),
        (without_itself, "does not see itself"),
        (lambda q, k, v, *past: v + 0.0, "cache is not used"),
        (lambda *given: stepped(*given)[:, None], "there is one new word"),
        (
            lambda q, k, v, K, V: torch.cat([K, k[:, None]], 1) @ q[0],
            "values are still to be mixed",
        ),
    ],
)
def test_cached_step(mine, words, capsys):
    assert words in said_about(capsys, "cached_step", mine)


def test_cached_step_takes_torch():
    def mine(q, k, v, past_k, past_v):
        K = torch.cat([past_k, k[:, None]], 1)
        V = torch.cat([past_v, v[:, None]], 1)
        return F.scaled_dot_product_attention(q[:, None], K, V)[:, 0]

    assert check.cached_step(mine) is True


def test_cached_step_takes_one_by_two_routes():
    assert (
        check.cached_step(lambda q, k, v, K, V: stepped(q, k, v, K, V)) is True
    )
