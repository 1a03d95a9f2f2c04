"""Plausible wrong answers to the Transformer's exercises, and their hints."""

import numpy as np
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
        ([0.154, 0.205], "the mean of the three"),
        ([1.069, 0.070], "You exchanged q and p"),
        ([0.130, 0.614], "left the true word out"),
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


def log_of_softmax(logits, target, epsilon):
    logp = logits.softmax(-1).log()
    true = logp.gather(-1, target[:, None])[:, 0]
    return -(1 - epsilon) * true - epsilon * logp.mean(-1)


def dealt_out(logits, target, epsilon, write="add"):
    """With the smoothed truth as a table, added to or written over."""
    q = torch.full_like(logits, epsilon / logits.shape[-1])
    share = torch.full_like(logits, 1 - epsilon)
    if write == "add":
        q = q.scatter_add(1, target[:, None], share)
    else:
        q = q.scatter(1, target[:, None], 1 - epsilon)
    return -(q * logits.log_softmax(-1)).sum(-1)


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
        (lambda z, y, e: dealt_out(z, y, e, write="over"), "it keeps both"),
        (lambda z, y, e: smooth(z, y, e) / z.shape[1], "over the vocabulary;"),
        (log_of_softmax, "take log_softmax"),
        (
            lambda z, y, e: F.nll_loss(
                (1 - e) * z.softmax(1) + e * z.softmax(1).mean(1, True),
                y,
                reduction="none",
            ),
            "logarithm is missing",
        ),
        (
            lambda z, y, e: (
                (e - 1) * z.log_softmax(0).gather(1, y[:, None])[:, 0]
                - e * z.log_softmax(0).mean(-1)
            ),
            "over the batch; it",
        ),
        (lambda z, y, e: smooth(z, y, e).mean(), "one loss a row"),
        (lambda z, y, e: -z.log_softmax(-1), "sum over the vocabulary"),
        (lambda z, y, e: smooth(z, y, e)[:, None], "squeeze(-1)"),
    ],
)
def test_smoothed_loss(mine, words, capsys):
    assert words in said_about(capsys, "smoothed_loss", mine)


def by_one_hot(logits, target, epsilon):
    logits = logits.double()
    top = logits.max(1, keepdim=True).values
    logp = logits - top - (logits - top).exp().sum(1, keepdim=True).log()
    q = (1 - epsilon) * F.one_hot(target, logits.shape[1]).double()
    with torch.no_grad():
        return -torch.einsum("bv,bv->b", q + epsilon / logits.shape[1], logp)


@pytest.mark.parametrize("mine", [smooth, dealt_out, by_one_hot])
def test_smoothed_loss_takes_other_routes(mine):
    assert check.smoothed_loss(mine) is True


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
        (
            lambda s, d, w: d**-0.5 * torch.minimum(s**-0.5, s * w**1.5),
            "Has the exponent −1.5 its minus?",
        ),
        (
            lambda s, d, w: torch.minimum(d**-0.5 * s**-0.5, s * w**-1.5),
            "on the fall alone",
        ),
        (
            lambda s, d, w: torch.minimum(s**-0.5, d**-0.5 * s * w**-1.5),
            "on the rise alone",
        ),
        (
            lambda s, d, w: torch.minimum(*curves(s, w)) / d,
            "divide by its square root",
        ),
        (
            lambda s, d, w: d**-0.5 * torch.minimum(s**-0.5, s**0.5 * w**-1.5),
            "The rise is linear",
        ),
        (lambda s, d, w: d**-0.5 * min(*curves(s, w)), "torch.minimum"),
        (lambda s, d, w: d**-0.5 * (s - 1) ** -0.5, "holds NaN or infinity"),
    ],
)
def test_warmup_rate(mine, words, capsys):
    assert words in said_about(capsys, "warmup_rate", mine)


def by_loop(step, d_model, warmup):
    rates = [n * warmup**-1.5 if n < warmup else n**-0.5 for n in step.tolist()]
    return torch.tensor(rates) / d_model**0.5


def by_where(step, d_model, warmup):
    rise, fall = curves(step.double(), warmup)
    return torch.where(step < warmup, rise, fall) * d_model**-0.5


def by_numpy(step, d_model, warmup):
    rise, fall = curves(step.numpy(), warmup)
    return torch.from_numpy(np.minimum(rise, fall) / np.sqrt(d_model))


@pytest.mark.parametrize("mine", [by_loop, by_where, by_numpy])
def test_warmup_rate_takes_other_routes(mine):
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


def whatever_lies_between(pieces, pair):
    """Whoever counts pieces and not neighbours."""
    if pair[0] in pieces and pair[1] in pieces[pieces.index(pair[0]) + 1 :]:
        i = pieces.index(pair[0])
        j = pieces.index(pair[1], i + 1)
        rest = pieces[:i] + ["".join(pair)] + pieces[i + 1 : j]
        return rest + whatever_lies_between(pieces[j + 1 :], pair)
    return list(pieces)


def in_letters(pieces, pair):
    spaced, joined = " ".join(pair), "".join(pair)
    return " ".join(pieces).replace(spaced, joined).split()


def spelled(pieces, pair):
    merged, i = [], 0
    while i < len(pieces):
        if "".join(pieces[i : i + 2]) == "".join(pair):
            merged.append("".join(pair))
            i += 2
        else:
            merged.append(pieces[i])
            i += 1
    return merged


def list_against_tuple(pieces, pair):
    merged, i = [], 0
    while i < len(pieces):
        if pieces[i : i + 2] == pair:
            merged.append(pieces[i] + pieces[i + 1])
            i += 2
        else:
            merged.append(pieces[i])
            i += 1
    return merged


def walked(pieces, pair, last=True, skip=2, join=str.__add__):
    """Neighbour by neighbour."""
    merged, i = [], 0
    while i < len(pieces) - 1:
        if (pieces[i], pieces[i + 1]) == pair:
            merged.append(join(pieces[i], pieces[i + 1]))
            i += skip
        else:
            merged.append(pieces[i])
            i += 1
    return merged + pieces[i:] if last else merged


def from_the_right(pieces, pair):
    turned = walked(pieces[::-1], pair[::-1], join=lambda a, b: b + a)
    return turned[::-1]


def up_to_the_one_before(pieces, pair):
    merged, i = [], 0
    while i < len(pieces) - 2:
        if (pieces[i], pieces[i + 1]) == pair:
            merged.append(pieces[i] + pieces[i + 1])
            i += 2
        else:
            merged.append(pieces[i])
            i += 1
    return merged + pieces[i:]


@pytest.mark.parametrize(
    "mine, words",
    [
        (only_first, "more than once"),
        (overlapping, "the third is left"),
        (either_order, "The order matters"),
        (whatever_lies_between, "not side by side"),
        (in_letters, "not a piece of its own"),
        (spelled, "a and bc spell abc too"),
        (list_against_tuple, "never equal"),
        (lambda pieces, pair: walked(pieces, pair, last=False), "last piece"),
        (lambda pieces, pair: walked(pieces, pair, skip=1), "go on behind"),
        (
            lambda pieces, pair: ["".join(pair)] if pieces else [],
            "the whole word",
        ),
        (from_the_right, "merge from the right"),
        (up_to_the_one_before, "last two pieces merge too"),
        (
            lambda pieces, pair: walked(pieces, pair, join=lambda a, b: (a, b)),
            "Each piece is a string",
        ),
        (lambda pieces, pair: "".join(pieces), "Give back a list of pieces"),
    ],
)
def test_merge_pair(mine, words, capsys):
    assert words in said_about(capsys, "merge_pair", mine)


def by_stack(pieces, pair):
    merged, free = [], False
    for piece in pieces:
        if free and (merged[-1], piece) == pair:
            merged[-1] += piece
            free = False
        else:
            merged.append(piece)
            free = True
    return merged


def by_recursion(pieces, pair):
    if tuple(pieces[:2]) == pair:
        return (pieces[0] + pieces[1], *by_recursion(pieces[2:], pair))
    return (pieces[0], *by_recursion(pieces[1:], pair)) if pieces else ()


def by_marks(pieces, pair):
    text = " " + "  ".join(pieces) + " "
    return text.replace(f" {pair[0]}  {pair[1]} ", f" {''.join(pair)} ").split()


@pytest.mark.parametrize("mine", [by_stack, by_recursion, by_marks, walked])
def test_merge_pair_takes_other_routes(mine):
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


def joined(q, k, v, past_k, past_v):
    K = torch.cat([past_k, k[:, None]], 1)
    return q[:, None], K, torch.cat([past_v, v[:, None]], 1)


def from_the_first_on(*given):
    q, K, V = joined(*given)
    return F.scaled_dot_product_attention(q, K, V, is_causal=True)[:, 0]


def by_the_number_of_words(*given):
    q, K, V = joined(*given)
    scores = q @ K.transpose(1, 2) / K.shape[1] ** 0.5
    return (scores.softmax(-1) @ V)[:, 0]


def without_softmax(*given):
    q, K, V = joined(*given)
    return (q @ K.transpose(1, 2) / q.shape[-1] ** 0.5 @ V)[:, 0]


def over_an_axis_of_one(*given):
    q, K, V = joined(*given)
    scores = q @ K.transpose(1, 2) / q.shape[-1] ** 0.5  # [batch, 1, words]
    return (scores.softmax(1) @ V)[:, 0]


@pytest.mark.parametrize(
    "mine, words",
    [
        (from_the_first_on, "Your query sees the first word alone"),
        (
            lambda q, *rest: stepped(q / q.shape[1] ** 0.5, *rest),
            "You divide by d_k",
        ),
        (by_the_number_of_words, "root of the number of words"),
        (
            lambda q, k, v, K, V: stepped(q, k, k, K, K),
            "You mix the keys",
        ),
        (over_an_axis_of_one, "an axis of one"),
        (without_softmax, "Softmax is missing"),
        (lambda *given: stepped(*given) / 0, "NaN or infinity"),
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


def by_torch(*given):
    return F.scaled_dot_product_attention(*joined(*given))[:, 0]


def word_by_word(q, k, v, past_k, past_v):
    seen = [*zip(past_k.unbind(1), past_v.unbind(1), strict=True), (k, v)]
    shares = [
        torch.exp((q * key).sum(1) / q.shape[1] ** 0.5) for key, _ in seen
    ]
    parts = zip(shares, seen, strict=True)
    mixed = sum(share[:, None] * value for share, (_, value) in parts)
    return mixed / sum(shares)[:, None]


def newest_first(q, k, v, past_k, past_v):
    K = torch.cat([k[:, None], past_k], 1).double()
    V = torch.cat([v[:, None], past_v], 1).double()
    with torch.no_grad():
        scores = torch.einsum("bd,btd->bt", q.double(), K)
        weights = (scores / q.shape[1] ** 0.5).softmax(1)
        return torch.einsum("bt,btd->bd", weights, V)


@pytest.mark.parametrize(
    "mine", [by_torch, stepped, word_by_word, newest_first]
)
def test_cached_step_takes_other_routes(mine):
    assert check.cached_step(lambda q, k, v, K, V: mine(q, k, v, K, V)) is True
