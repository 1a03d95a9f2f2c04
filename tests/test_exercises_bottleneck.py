"""Plausible wrong answers to the bottleneck's exercises, and their hints."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from test_exercises import said_about

from lookback.exercises import check

pytestmark = pytest.mark.nightly


def sigma(a):
    return 1 / (1 + math.exp(-a))


r, z = sigma(0.5), sigma(-1)
n = math.tanh(-2 + r * 1.5)


def mixed(new):
    return round((1 - z) * new + z * 0.5, 2)


@pytest.mark.parametrize(
    "answer, words",
    [
        (round((1 - z) * 0.5 + z * n, 2), "works the other way round"),
        (mixed(math.tanh(-2 + 1.5)), "reset gate is missing"),
        (mixed(math.tanh(-2 + r * 0.5 + 1)), "bias escapes the reset gate"),
        (mixed(math.tanh(r * -0.5)), "also scales W x"),
        (mixed(math.tanh(-2 + r * 0.5)), "inside the reset bracket is missing"),
        (mixed(-2 + r * 1.5), "no tanh yet"),
        (mixed(sigma(-2 + r * 1.5)), "not through σ"),
        (round((1 - r) * math.tanh(-2 + z * 1.5) + r * 0.5, 2), "exchanged"),
        (round((1 - z) * n, 2), "old state is missing"),
        (round(0 * n + 1 * 0.5, 2), "no slip that the check knows"),
        (round(2 * math.tanh(-2 + 0.5 * 1.5) - 0.5, 2), "gates have no σ"),
        (
            round(z * math.tanh(-2 + (1 - r) * 1.5) + (1 - z) * 0.5, 2),
            "σ runs backwards",
        ),
        (-0.79, "That is n"),
        (0.62, "That is the reset gate"),
        (0.27, "That is the update gate"),
        (3.0, "no slip that the check knows"),
    ],
)
def test_gru_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "gru_by_hand", answer)


@pytest.mark.parametrize("answer", [-0.44, -0.442, torch.tensor(-0.4416)])
def test_gru_by_hand_takes_rounded_answers(answer):
    assert check.gru_by_hand(answer) is True
    assert check.gru_by_hand([answer]) is True


def gru(fault):
    """A GRU cell with one fault in it."""

    def mine(x, h, W_ih, W_hh, b_ih, b_hh):
        if fault == "no biases":
            b_ih, b_hh = 0 * b_ih, 0 * b_hh
        if fault == "one bias":
            b_hh = 0 * b_hh
        a = (x @ W_ih.T + b_ih).chunk(3, dim=-1)
        u = (h @ W_hh.T + b_hh).chunk(3, dim=-1)
        first, second = (1, 0) if fault == "order" else (0, 1)
        r = torch.sigmoid(a[first] + u[first])
        z = torch.sigmoid(a[second] + u[second])
        U, b = W_hh.chunk(3)[2], b_hh.chunk(3)[2]
        new = {
            "no reset": a[2] + u[2],
            "inside": a[2] + (r * h) @ U.T + b,
            "bias out": a[2] + r * (h @ U.T) + b,
            "no tanh": None,
        }.get(fault, a[2] + r * u[2])
        n = torch.tanh(new) if new is not None else a[2] + r * u[2]
        n = torch.sigmoid(a[2] + r * u[2]) if fault == "sigmoid" else n
        if fault == "only n":
            return n
        if fault == "swapped":
            return (1 - z) * h + z * n
        if fault == "all gates":
            return torch.cat([r, z, n], dim=-1)
        result = (1 - z) * n + z * h
        if fault == "transposed":
            return result.T
        return result.numpy() if fault == "numpy" else result

    return mine


@pytest.mark.parametrize(
    "fault, words",
    {
        "swapped": "works the other way round",
        "order": "gates are exchanged",
        "no reset": "reset gate is missing",
        "inside": "stands in the wrong place",
        "bias out": "escapes the reset gate",
        "no tanh": "no tanh yet",
        "sigmoid": "not through σ",
        "only n": "That is n",
        "no biases": "biases are not used",
        "one bias": "b_hh is not used",
        "all gates": "all three gates",
        "transposed": "[hidden, batch]",
        "numpy": "gives back ndarray",
    }.items(),
)
def test_gru_cell(fault, words, capsys):
    assert words in said_about(capsys, "gru_cell", gru(fault))


def test_gru_cell_takes_plain_zeros():
    def mine(x, h, W_ih, W_hh, b_ih, b_hh):
        step = torch.zeros(len(x), h.shape[1])
        return step + gru("none")(x, h, W_ih, W_hh, b_ih, b_hh)

    assert check.gru_cell(mine) is True


def torchs_module(x, h, *values):
    cell = torch.nn.GRUCell(x.shape[1], h.shape[1]).requires_grad_(False)
    for own, value in zip(cell.parameters(), values, strict=True):
        own.copy_(value)
    return cell(x, h)


@pytest.mark.parametrize("finished", [torchs_module, torch.gru_cell])
def test_gru_cell_wants_it_written(finished, capsys):
    def mine(x, h, W_ih, W_hh, b_ih, b_hh):
        return finished(x, h, W_ih, W_hh, b_ih, b_hh)

    assert "without torch's own cell" in said_about(capsys, "gru_cell", mine)


def gru_in_numpy(x, h, W_ih, W_hh, b_ih, b_hh):
    """In float64, one row of the batch after another."""
    given = (x, h, W_ih, W_hh, b_ih, b_hh)
    x, h, W_ih, W_hh, b_ih, b_hh = (np.float64(each.numpy()) for each in given)
    states = []
    for word, old in zip(x, h, strict=True):
        a_r, a_z, a_n = np.split(W_ih @ word + b_ih, 3)
        u_r, u_z, u_n = np.split(W_hh @ old + b_hh, 3)
        r, z = 1 / (1 + np.exp(-a_r - u_r)), 1 / (1 + np.exp(-a_z - u_z))
        n = np.tanh(a_n + r * u_n)
        states.append(n + z * (old - n))
    return torch.from_numpy(np.stack(states))


@torch.no_grad()
def gru_in_einsum(x, h, W_ih, W_hh, b_ih, b_hh):
    gates, own = W_ih.view(3, -1, x.shape[1]), W_hh.view(3, -1, h.shape[1])
    a = torch.einsum("gij,bj->gib", gates, x) + b_ih.view(3, -1, 1)
    u = torch.einsum("gij,bj->gib", own, h) + b_hh.view(3, -1, 1)
    keep = (a[1] + u[1]).sigmoid()
    n = (a[2] + (a[0] + u[0]).sigmoid() * u[2]).tanh()
    return torch.lerp(n, h.T, keep).T


@pytest.mark.parametrize("mine", [gru_in_numpy, gru_in_einsum])
def test_gru_cell_takes_any_route(mine):
    assert check.gru_cell(mine) is True


def rows(order):
    """A reversal of each row's parts, put together by `order`."""

    def mine(source, pad=0, end=3):
        built = []
        for row in source.tolist():
            words = [token for token in row if token not in (pad, end)]
            pads = [pad] * row.count(pad)
            built.append(order(words, pads, [end]))
        return torch.tensor(built)

    return mine


def forgets_arguments(source, pad=0, end=3):
    words = ((source != 0) & (source != 3)).sum(1, keepdim=True)
    place = torch.arange(source.shape[1])
    turned = torch.where(place < words, words - 1 - place, place)
    return source.gather(1, turned)


def shorter(source, pad=0, end=3):
    return source[:, :-1]


def like_the_first(source, pad=0, end=3):
    n = int(((source[0] != pad) & (source[0] != end)).sum())
    return torch.cat([source[:, :n].flip(1), source[:, n:]], dim=1)


def above_padding(source, pad=0, end=3):
    turned = source.clone()
    for row, new in zip(source, turned, strict=True):
        words = (row > pad) & (row != end)
        new[words] = row[words].flip(0)
    return turned


def up_to_the_end(source, pad=0, end=3):
    """Each row up to its <end>, turned."""
    built = source.numpy().copy()
    for row in built:
        n = list(row).index(end)
        row[:n] = row[:n][::-1]
    return torch.from_numpy(built)


def sorted_places(source, pad=0, end=3):
    """Words come by falling place, the rest by its own."""
    place = torch.arange(source.shape[1]).expand_as(source)
    words = (source != pad) & (source != end)
    order = torch.where(words, -place - 1, place).argsort(dim=1)
    return torch.take_along_dim(source, order, dim=1)


@pytest.mark.parametrize(
    "mine",
    [up_to_the_end, sorted_places, rows(lambda w, p, e: w[::-1] + e + p)],
)
def test_reverse_source_takes_any_route(mine):
    assert check.reverse_source(mine) is True


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda source, pad, end: source.flip(1), "flipped the whole row"),
        (rows(lambda w, p, e: p + w[::-1] + e), "moved to the front"),
        (rows(lambda w, p, e: e + w[::-1] + p), "end token comes first"),
        (rows(lambda w, p, e: w[::-1] + p + e), "slipped in before <end>"),
        (rows(lambda w, p, e: w + e + p), "Nothing is reversed"),
        (lambda source, pad, end: source.flip(0), "order of the sentences"),
        (lambda source, pad, end: source.float(), "whole numbers"),
        (forgets_arguments, "use the two arguments"),
        (shorter, "Shape first"),
        (like_the_first, "as long as the first one"),
        (above_padding, "may be smaller than theirs"),
    ],
)
def test_reverse_source(mine, words, capsys):
    assert words in said_about(capsys, "reverse_source", mine)


def every_loss(logits, wanted):
    return F.cross_entropy(logits.transpose(1, 2), wanted, reduction="none")


def loss(reduce, shift=slice(1, None)):
    """A loss that reduces the losses of all places in its own way."""

    def mine(logits, target, pad=0):
        wanted = target[:, shift]
        return reduce(every_loss(logits, wanted), wanted != pad)

    return mine


def fixed_padding(logits, target, pad=0):
    wanted = target[:, 1:].flatten()
    return F.cross_entropy(logits.flatten(0, 1), wanted, ignore_index=0)


def without_end(logits, target, pad=0):
    wanted = target[:, 1:]
    words = (wanted != pad) & (wanted != 3)
    return every_loss(logits, wanted)[words].mean()


def cut_off(logits, target, pad=0):
    wanted = target[:, 1:-1]
    return every_loss(logits[:, :-1], wanted)[wanted != pad].mean()


def larger(logits, target, pad=0):
    wanted = target[:, 1:]
    return every_loss(logits, wanted)[wanted > pad].mean()


def by_logs(logp):
    """Minus the mean of what `logp` gives the true words."""

    def mine(logits, target, pad=0):
        wanted = target[:, 1:]
        true = logp(logits).gather(2, wanted.unsqueeze(2)).squeeze(2)
        return -true[wanted != pad].mean()

    return mine


def reshaped(logits, target, pad=0):
    batch, length, vocab = logits.shape
    turned = logits.reshape(batch, vocab, length)
    return F.cross_entropy(turned, target[:, 1:], ignore_index=pad)


def of_plain_numbers(logits, target, pad=0):
    value = one_line(logits, target, pad).item()
    return torch.tensor(value, requires_grad=True)


def tied_by_nought(logits, target, pad=0):
    return one_line(logits, target, pad).detach() + 0 * logits.sum()


def half_a_gradient(logits, target, pad=0):
    loss = one_line(logits, target, pad)
    return (loss + loss.detach()) / 2


def padding_learns(logits, target, pad=0):
    extra = logits[target[:, 1:] == pad].sum()
    return one_line(logits, target, pad) + extra - extra.detach()


def one_line(logits, target, pad=0):
    wanted = target[:, 1:].flatten()
    return F.cross_entropy(logits.flatten(0, 1), wanted, ignore_index=pad)


def word_by_word(logits, target, pad=0):
    """In float64, by log-sum-exp."""
    losses = []
    for row, words in zip(logits.double(), target[:, 1:].tolist(), strict=True):
        for scores, word in zip(row, words, strict=True):
            if word != pad:
                losses.append(scores.logsumexp(0) - scores[word])
    return sum(losses) / len(losses)


@pytest.mark.parametrize(
    "mine",
    [one_line, word_by_word, by_logs(lambda x: x.log_softmax(-1))]
    + [by_logs(lambda x: x.softmax(-1).log())],
)
def test_masked_loss_takes_any_route(mine):
    assert check.masked_loss(mine) is True
    with torch.no_grad():
        assert check.masked_loss(mine) is True


def sentence_means(losses, real):
    return ((losses * real).sum(1) / real.sum(1)).mean()


def right(losses, real):
    return (losses * real).sum() / real.sum()


@pytest.mark.parametrize(
    "mine, words",
    [
        (loss(lambda losses, real: losses.mean()), "average over the padding"),
        (
            loss(lambda losses, real: (losses * real).mean()),
            "still counted when you divide",
        ),
        (loss(sentence_means), "averaged each sentence first"),
        (loss(right, shift=slice(None, -1)), "The target is not shifted:"),
        (
            loss(lambda losses, real: losses.mean(), shift=slice(None, -1)),
            "padding is averaged in as well",
        ),
        (loss(lambda losses, real: losses[real].sum()), "That is the sum"),
        (
            loss(lambda losses, real: losses[real].sum() / len(losses)),
            "number of sentences",
        ),
        (loss(lambda losses, real: -losses[real].mean()), "The sign"),
        (loss(lambda losses, real: losses[real].mean().item()), ".item()"),
        (loss(lambda losses, real: losses[real].mean().detach()), "gradient"),
        (loss(lambda losses, real: losses * real), "Shape first"),
        (fixed_padding, "use the argument pad"),
        (without_end, "You left <end> out"),
        (cut_off, "last place of every row"),
        (larger, "compare with !="),
        (by_logs(lambda x: x.softmax(-1).log_softmax(-1)), "Softmax twice"),
        (by_logs(lambda x: x.log_softmax(1)), "places of a sentence"),
        (by_logs(lambda x: x), "softmax is missing"),
        (reshaped, "reshape does not turn"),
        (of_plain_numbers, "cut the graph"),
        (tied_by_nought, "cut the graph"),
        (half_a_gradient, "its gradient is not"),
        (padding_learns, "its gradient is not"),
        (lambda x, y, pad: one_line(x.detach(), y, pad), "cut the graph"),
        (loss(right, shift=slice(None)), "target [2, 6]"),
    ],
)
def test_masked_loss(mine, words, capsys):
    assert words in said_about(capsys, "masked_loss", mine)


def first_under(rates, key=int, under=lambda rate: rate < 0.5):
    for length in sorted(rates, key=key):
        if under(rates[length]):
            return int(length)
    return None


@pytest.mark.parametrize(
    "mine, words",
    [
        (lambda rates: first_under(rates, key=str), "JSON's keys are text"),
        (lambda rates: first_under(rates, key=lambda k: 0), "order; sort"),
        (
            lambda rates: first_under(rates, under=lambda rate: rate <= 0.5),
            "not under one half: use <",
        ),
        (
            lambda rates: max(int(k) for k in rates if rates[k] >= 0.5),
            "last length still above",
        ),
        (
            lambda rates: max(int(k) for k in rates if rates[k] < 0.5),
            "longest length",
        ),
        (lambda rates: str(first_under(rates)), "as a number"),
        (lambda rates: min(rates.values(), key=lambda x: abs(x - 0.4)), "rate"),
        (lambda rates: first_under(rates) or 0, "give back None"),
        (lambda rates: first_under(rates) and -1, "should be 16"),
        (
            lambda rates: None if "30" in rates else first_under(rates),
            "gives None; it should be 5",
        ),
        (lambda rates: complex(first_under(rates)), "one length, or None"),
        (lambda rates: [first_under(rates)], "one length, or None"),
        (
            lambda rates: next(int(k) for k in rates if rates[k] < 0.5),
            "dictionary's order; sort",
        ),
    ],
)
def test_half_length(mine, words, capsys):
    assert words in said_about(capsys, "half_length", mine)


def smallest(rates):
    return min(
        (int(k) for k, rate in rates.items() if rate < 0.5), default=None
    )


@pytest.mark.parametrize("kind", [int, float, Fraction, np.int64, torch.tensor])
def test_half_length_takes_any_route_and_number(kind):
    def mine(rates):
        length = smallest(rates)
        return None if length is None else kind(length)

    assert check.half_length(mine) is True
