"""Plausible wrong answers to the chapter `modern_gpt`, and their hints."""

import math

import numpy as np
import pytest
import torch
from test_exercises import said_about
from torch import nn
from torch.nn import functional as F

from lookback.exercises import check
from lookback.positions import rotate, sinusoidal

pytestmark = pytest.mark.nightly

TOKEN, WHOLE = 98_304, 196.608


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((TOKEN / 2, 98.304), "keys AND values are kept"),
        ((4 * TOKEN, WHOLE), "The heads that ask are more"),
        ((8 * TOKEN, WHOLE), "Those are bits"),
        ((4096, WHOLE), "That is one layer"),
        ((TOKEN / 8, WHOLE), "That is one head"),
        ((TOKEN * 3 / 2, WHOLE), "Queries are not kept"),
        ((TOKEN / 4, WHOLE), "Those are numbers, and not bytes"),
        ((1000, WHOLE), "no slip that the check knows. Multiply: keys"),
        ((TOKEN, WHOLE * 1e6), "That is in bytes. Divide by a million"),
        ((TOKEN, 187.5), "units of 1024² bytes"),
        ((TOKEN, WHOLE * 1e3), "in thousands of bytes"),
        ((TOKEN, WHOLE * 2000), "square of the length"),
        ((TOKEN, WHOLE / 2), "keys AND values are kept"),
        ((TOKEN, WHOLE * 4), "The heads that ask are more"),
        ((TOKEN, 12), "The bytes of a token are right"),
        ((WHOLE, TOKEN), "That is the second number"),
        ((TOKEN * 2000, WHOLE), "That is the whole text"),
        ((TOKEN / 64, WHOLE), "A key is not one number"),
        ((98.304, WHOLE), "in thousands of bytes. Give the first"),
        ((96, WHOLE), "in units of 1024 bytes"),
        ((TOKEN, TOKEN), "That is one token. Multiply"),
        ((TOKEN, 0.197), "thousands of millions"),
        ((TOKEN, 0.0983), "That is one token, in million bytes"),
        ((TOKEN, 98.3), "keys AND values are kept"),
        ((TOKEN, 200), "The bytes of a token are right"),
        ((98_000, 197), "no slip that the check knows. Multiply: keys"),
        ((TOKEN,), "You gave 1 number"),
        ((math.nan, WHOLE), "NaN"),
    ],
)
def test_cache_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "cache_by_hand", answer)


@pytest.mark.parametrize(
    "answer",
    [
        (98304, 196.6),
        np.array([98304, 196.608]),
        [98_304, 197],
        (98_300, 196.6),
        torch.tensor([98304.0, 197.0]),
    ],
)
def test_cache_by_hand_takes_rounded_answers(answer):
    assert check.cache_by_hand(answer) is True


def square(x):
    return x.square().mean(-1, keepdim=True)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda x, g, e: F.layer_norm(x, g.shape, g, None, e), "You subtract"),
        (
            lambda x, g, e: g * (x - x.mean(-1, True)) / (square(x) + e).sqrt(),
            "divide by the size of x with it",
        ),
        (
            lambda x, g, e: (
                g * x / (x.var(-1, keepdim=True, correction=0) + e).sqrt()
            ),
            "standard deviation",
        ),
        (
            lambda x, g, e: g * x / (x.square().sum(-1, True) + e).sqrt(),
            "A sum stands where the mean",
        ),
        (
            lambda x, g, e: g * x / (square(x).sqrt() + e),
            "ε stands outside the root",
        ),
        (lambda x, g, e: g * x / square(x).sqrt(), "ε is missing"),
        (lambda x, g, e: g * x / (square(x) + e), "The root is missing"),
        (lambda x, g, e: x / (square(x) + e).sqrt(), "The gain is missing"),
        (lambda x, g, e: x / (square(x) + e).sqrt() + g, "The gain is added"),
        (lambda x, g, e: x / (square(x) + e).sqrt() / g, "divide by the gain"),
        (
            lambda x, g, e: g * x / (x.square().mean() + e).sqrt(),
            "runs over the whole batch",
        ),
        (
            lambda x, g, e: g * x / (x.square().mean(1, True) + e).sqrt(),
            "The mean runs along the text",
        ),
        (
            lambda x, g, e: g * x / (x.abs().mean(-1, True) + e),
            "First the mean, then the root",
        ),
        (
            lambda x, g, e: g * x * (square(x) + e).sqrt(),
            "Divide by it",
        ),
        (lambda x, g, e: (square(x) + e).sqrt(), "That is the size alone"),
        (lambda x, g, e: square(x)[..., 0], "One number a token"),
        (lambda x, g, e: x / x.norm(dim=-1, keepdim=True), "√d times too"),
        (lambda x, g, e: F.normalize(x, dim=-1), "√d times too"),
        (
            lambda x, g, e: g * F.normalize(x, dim=-1) * x.shape[-1] ** 0.5,
            "ε is missing",
        ),
        (
            lambda x, g, e: (
                g * x / (x.norm(dim=-1, keepdim=True) / x.shape[-1] + e)
            ),
            "You divide the vector's length by d",
        ),
        (
            lambda x, g, e: g * x / (x.mean(-1, True) ** 2 + e).sqrt(),
            "the square of the mean",
        ),
        (
            lambda x, g, e: g * x / x.norm(dim=-1, keepdim=True),
            "√d times too large. ε is missing",
        ),
        (
            lambda x, g, e: g * x / (x.norm(dim=-1, keepdim=True) + e),
            "√d times too large. ε stands outside",
        ),
        (
            lambda x, g, e: x / square(x).sqrt(),
            "ε is missing: add it to the mean of the squares, before the root. "
            "The gain is missing",
        ),
        (
            lambda x, g, e: x / (square(x).sqrt() + e),
            "before the root. The gain is missing",
        ),
        (
            lambda x, g, e: (
                g * (x - x.mean(-1, True)) / (x.std(-1, keepdim=True) + e)
            ),
            "You subtract the mean, as LayerNorm does",
        ),
        (
            lambda x, g, e: F.layer_norm(x, x.shape[-1:], eps=e),
            "RMSNorm leaves it. The gain is missing",
        ),
        (
            lambda x, g, e: g * x / (x.std(-1, keepdim=True) + e),
            "standard deviation",
        ),
        (
            lambda x, g, e: g * x / (x.square().mean((1, 2), True) + e).sqrt(),
            "The mean runs over a whole text",
        ),
        (
            lambda x, g, e: g * x / (x.square().mean(0, True) + e).sqrt(),
            "over the texts of the batch",
        ),
        (
            lambda x, g, e: by_torch(g * x, torch.ones_like(g), e),
            "First divide",
        ),
        (
            lambda x, g, e: g * x / (x.square().mean(-1) + e).sqrt(),
            "size of tensor",
        ),
        (lambda x, g, e: x, "a value is not"),
        (lambda x, g, e: x * math.nan, "NaN"),
        (lambda x, g, e: x.div_(2), "changes its argument"),
    ],
)
def test_root_mean_square(mine, words, capsys):
    def named(x, gain, epsilon):
        return mine(x, gain, epsilon)

    assert words in said_about(capsys, "root_mean_square", named)


def by_torch(x, gain, epsilon):
    return F.rms_norm(x, gain.shape, gain, epsilon)


def by_module(x, gain, epsilon):
    layer = nn.RMSNorm(x.shape[-1], eps=epsilon)
    layer.weight.data = gain
    return layer(x)


def by_length(x, gain, epsilon):
    d = x.shape[-1]
    length = x.norm(dim=-1, keepdim=True)
    return x * gain * (length**2 / d + epsilon) ** -0.5


def token_by_token(x, gain, epsilon):
    out = torch.zeros_like(x)
    for b, row in enumerate(x):
        for t, token in enumerate(row):
            size = (sum(one**2 for one in token) / len(token) + epsilon) ** 0.5
            out[b, t] = torch.stack(
                [a * c / size for a, c in zip(gain, token, strict=True)]
            )
    return out


def by_einsum(x, gain, epsilon):
    size = torch.einsum("bld,bld->bl", x, x).div(x.size(2)).add(epsilon)
    return torch.einsum("d,bld,bl->bld", gain, x, size.rsqrt())


@pytest.mark.parametrize(
    "mine", [by_torch, by_module, by_length, token_by_token, by_einsum]
)
def test_root_mean_square_by_another_route(mine):
    assert check.root_mean_square(mine) is True


def turned(x, start=0, speed=lambda i, d: 10000 ** (-2 * i / d), way=1):
    length, d = x.shape
    out = torch.empty_like(x)
    for place in range(length):
        for i in range(d // 2):
            angle = way * (place + start) * speed(i, d)
            a, b = x[place, 2 * i], x[place, 2 * i + 1]
            out[place, 2 * i] = a * math.cos(angle) - b * math.sin(angle)
            out[place, 2 * i + 1] = a * math.sin(angle) + b * math.cos(angle)
    return out


def halves(x, start=0):
    """Numbers i and i + d/2 as a pair, as in many published models."""
    d = x.shape[1]
    order = torch.arange(d).view(2, -1).T.flatten()
    return turned(x[:, order], start)


def same(i, d):
    return 1.0


def from_1(i, d):
    return 10000 ** (-2 * (i + 1) / d)


def growing(i, d):
    return 10000 ** (2 * i / d)


def waves(x, start=0):
    return sinusoidal(len(x), x.shape[1], start)


def signless(x, start):
    sin, cos = waves(x, start)[:, 0::2], waves(x, start)[:, 1::2]
    a, b = x[:, 0::2], x[:, 1::2]
    return torch.cat([a * cos + b * sin, a * sin + b * cos], 1)


def by_cosine(query, key, start, backwards=False):
    """The two halves of a rotation as published code has them."""

    def spun(x, first):
        sin, cos = waves(x, first)[:, 0::2], waves(x, first)[:, 1::2]
        sin, cos = (one.repeat_interleave(2, 1) for one in (sin, cos))
        other = torch.stack([-x[:, 1::2], x[:, 0::2]], -1).flatten(1)
        return x * cos + other * (-sin if backwards else sin)

    return spun(query, start) @ spun(key, 0).T


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda q, k, s: q @ k.T, "Nothing is turned"),
        (lambda q, k, s: turned(q, s) @ k.T, "Only the queries are turned"),
        (lambda q, k, s: q @ turned(k).T, "Only the keys are turned"),
        (
            lambda q, k, s: turned(q, s, same) @ turned(k, 0, same).T,
            "Every pair turns by the same angle",
        ),
        (
            lambda q, k, s: turned(q, s) @ turned(k, way=-1).T,
            "The angles add up",
        ),
        (
            lambda q, k, s: turned(q, s, way=-1) @ turned(k, way=-1).T,
            "Both are turned the wrong way",
        ),
        (
            lambda q, k, s: turned(q) @ turned(k).T,
            "counted from the same place",
        ),
        (
            lambda q, k, s: turned(q, s) @ turned(k, s).T,
            "counted from the same place",
        ),
        (
            lambda q, k, s: turned(q) @ turned(k, s).T,
            "`start` counts the wrong way",
        ),
        (
            lambda q, k, s: halves(q, s) @ halves(k).T,
            "You pair number i with number i + d/2",
        ),
        (
            lambda q, k, s: turned(q, s + 1) @ turned(k).T,
            "one place too far",
        ),
        (
            lambda q, k, s: turned(q, s) @ turned(k, -1).T,
            "one place too far",
        ),
        (
            lambda q, k, s: turned(q, s) @ turned(k, 1).T,
            "one place too near",
        ),
        (
            lambda q, k, s: turned(q, s - 1) @ turned(k).T,
            "one place too near",
        ),
        (
            lambda q, k, s: turned(q, len(k) - len(q)) @ turned(k).T,
            "Only `start` says",
        ),
        (
            lambda q, k, s: turned(q, s, from_1) @ turned(k, 0, from_1).T,
            "Your i begins at 1",
        ),
        (
            lambda q, k, s: turned(q, s, growing) @ turned(k, 0, growing).T,
            "it grows",
        ),
        (
            lambda q, k, s: signless(q, s) @ signless(k, 0).T,
            "A sign is missing",
        ),
        (
            lambda q, k, s: (q + waves(q, s)) @ (k + waves(k)).T,
            "You add the waves",
        ),
        (
            lambda q, k, s: (
                (q * waves(q, s)[:, 1::2].repeat_interleave(2, 1))
                @ (k * waves(k)[:, 1::2].repeat_interleave(2, 1)).T
            ),
            "only multiplied by its cosine",
        ),
        (
            lambda q, k, s: (turned(q, s) @ turned(k).T).softmax(-1),
            "Those are weights already",
        ),
        (
            lambda q, k, s: (turned(q, s) @ turned(k).T).masked_fill(
                torch.ones(len(q), len(k)).triu(s + 1).bool(), -math.inf
            ),
            "Later keys are hidden",
        ),
        (
            lambda q, k, s: by_cosine(q, k, s, True),
            "Both are turned the wrong way",
        ),
        (
            lambda q, k, s: (
                turned(q, s, lambda i, d: 10000 ** (-i / d))
                @ turned(k, 0, lambda i, d: 10000 ** (-i / d)).T
            ),
            "Yours has i in the place of 2i",
        ),
        (
            lambda q, k, s: (
                turned(q, s, lambda i, d: 10000 ** (-4 * i / d))
                @ turned(k, 0, lambda i, d: 10000 ** (-4 * i / d)).T
            ),
            "is 2i doubled",
        ),
        (
            lambda q, k, s: turned(q, s) @ turned(k).T / q.shape[1] ** 0.5,
            "The scores are divided by √d",
        ),
        (lambda q, k, s: turned(k) @ turned(q, s).T, "yours is the transpose"),
        (lambda q, k, s: turned(q, s), "Those are the turned queries"),
        (lambda q, k, s: turned(q, s) @ turned(k).T + 1, "a value is not"),
    ],
)
def test_rotary_scores(mine, words, capsys):
    def named(query, key, start):
        return mine(query, key, start)

    assert words in said_about(capsys, "rotary_scores", named)


def by_complex(query, key, start):
    d = query.shape[1]
    speed = 10000 ** (-torch.arange(0, d, 2) / d)

    def spun(x, first):
        z = torch.view_as_complex(x.reshape(len(x), -1, 2).contiguous())
        places = torch.arange(first, first + len(x))
        return z * torch.polar(torch.ones(()), places[:, None] * speed)

    return (spun(query, start) @ spun(key, 0).conj().T).real


def by_offset(query, key, start):
    """One rotation a pair of places: queries by m − n, keys left alone."""
    rows = [
        torch.stack(
            [turned(q[None], m + start - n)[0] @ k for n, k in enumerate(key)]
        )
        for m, q in enumerate(query)
    ]
    return torch.stack(rows)


def by_rotate(query, key, start):
    return rotate(query, start) @ rotate(key).mT


@pytest.mark.parametrize("mine", [by_complex, by_offset, by_cosine, by_rotate])
def test_rotary_scores_by_another_route(mine):
    assert check.rotary_scores(mine) is True


def absorbing(most, total, context, scores, values, **slip):
    """The right one, or one with a slip, in torch."""
    new = torch.maximum(most, scores.max())
    if slip.get("own"):
        new = scores.max()
    shrink = (most - new).exp()
    raised = (scores - new).exp()
    if slip.get("bare"):
        raised = scores.exp()
    sums = total if slip.get("old_sum") else shrink * total
    kept = context if slip.get("old_values") else shrink * context
    sums, kept = sums + raised.sum(), kept + raised @ values
    if slip.get("divided"):
        kept = kept / sums
    return new, sums, kept


@pytest.mark.parametrize(
    ("slip", "words"),
    [
        ({"old_sum": True, "old_values": True}, "both the sum and the context"),
        ({"old_sum": True}, "old sum has to be rescaled"),
        ({"old_values": True}, "old context has to be rescaled"),
        ({"own": True}, "that of this tile alone"),
        ({"bare": True}, "not taken off the new scores"),
        ({"divided": True}, "The context is divided already"),
    ],
)
def test_absorb(slip, words, capsys):
    def mine(most, total, context, scores, values):
        return absorbing(most, total, context, scores, values, **slip)

    assert words in said_about(capsys, "absorb", mine)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda m, t, c, s, v: s.softmax(0) @ v, "Give back three things"),
        (
            lambda m, t, c, s, v: (
                s.max(),
                (s - s.max()).exp().sum(),
                (s - s.max()).exp() @ v,
            ),
            "only this tile is in yours",
        ),
        (
            lambda m, t, c, s, v: absorbing(m, c, t, s, v)[::-1],
            "in the order maximum, sum, context",
        ),
        (
            lambda m, t, c, s, v: (m, *absorbing(m, t, c, s, v)[1:]),
            "but give back the new maximum",
        ),
        (lambda m, t, c, s, v: (s.max(), t, c), "the new keys are not added"),
        (
            lambda m, t, c, s, v: (s.max(), t + 1, c),
            "no slip that the check knows",
        ),
        (
            lambda m, t, c, s, v: [
                absorbing(m, t, c, s, v)[i] for i in (1, 0, 2)
            ],
            "in the order maximum, sum, context",
        ),
        (
            lambda m, t, c, s, v: (
                torch.maximum(m, s.max()),
                (m - torch.maximum(m, s.max())).exp() * t
                + (s - torch.maximum(m, s.max())).exp(),
                c,
            ),
            "one for each key of the tile",
        ),
        (
            lambda m, t, c, s, v: (
                *absorbing(m, t, c, s, v)[:2],
                (s - s.max()).exp()[:, None] * v,
            ),
            "one for each key of the tile",
        ),
        (
            lambda m, t, c, s, v: (
                s.max(0, keepdim=True).values,
                t,
                c,
            ),
            "One number, no list",
        ),
        (
            lambda m, t, c, s, v: (
                torch.maximum(m, s.max()),
                t + (s - m).exp().sum(),
                c + (s - m).exp() @ v,
            ),
            "not the old one and not afterwards",
        ),
        (
            lambda m, t, c, s, v: (
                max(m, s.max()),
                t + s.softmax(0).sum(),
                c + s.softmax(0) @ v,
            ),
            "no softmax",
        ),
        (
            lambda m, t, c, s, v: (
                *absorbing(m, t, c, s, v)[:2],
                (m - max(m, s.max())).exp() * c + v.sum(0),
            ),
            "Maximum and sum are right, and the context is not",
        ),
        (
            lambda m, t, c, s, v: (
                max(m, s.max()),
                (max(m, s.max()) - m).exp() * t
                + (s - max(m, s.max())).exp().sum(),
                c,
            ),
            "is yours upside down?",
        ),
        (
            lambda m, t, c, s, v: late(m, t, c, s, v),
            "multiplied by the factor",
        ),
        (
            lambda m, t, c, s, v: (
                max(m, s.max()),
                t + s.exp().sum(),
                c + s.exp() @ v,
            ),
            "not taken off the new scores",
        ),
        (
            lambda m, t, c, s, v: through_exp(m, t, c, s, v),
            "no exponent is above 0",
        ),
    ],
)
def test_absorb_otherwise(mine, words, capsys):
    def named(most, total, context, scores, values):
        return mine(most, total, context, scores, values)

    assert words in said_about(capsys, "absorb", named)


def upside(most, total, context, scores, values):
    new = torch.maximum(most, scores.max())
    grow = torch.where(most.isinf(), 0.0, (new - most).exp())
    raised = (scores - new).exp()
    return new, grow * total + raised.sum(), grow * context + raised @ values


def test_absorb_with_the_factor_upside_down(capsys):
    assert "upside down" in said_about(capsys, "absorb", upside)


def late(most, total, context, scores, values):
    new = torch.maximum(most, scores.max())
    raised, shrink = (scores - new).exp(), (most - new).exp()
    return (
        new,
        shrink * (total + raised.sum()),
        shrink * (context + raised @ values),
    )


def through_exp(most, total, context, scores, values):
    """Right on paper, and e³⁰⁰ is too large."""
    new = torch.maximum(most, scores.max())
    raised, shrink = scores.exp() / new.exp(), most.exp() / new.exp()
    return (
        new,
        shrink * total + raised.sum(),
        shrink * context + raised @ values,
    )


def two_softmaxes(most, total, context, scores, values):
    """The tile by itself first, then the two joined, in plain floats."""
    top = scores.max().item()
    own = [math.exp(s - top) for s in scores.tolist()]
    new = max(most.item(), top)
    old, here = math.exp(most.item() - new), math.exp(top - new)
    taken = sum(w * v for w, v in zip(own, values, strict=True))
    return [
        new,
        old * total.item() + here * sum(own),
        old * context + here * taken,
    ]


def key_by_key(most, total, context, scores, values):
    for score, value in zip(scores, values, strict=True):
        new = score if score > most else most
        total = total * torch.exp(most - new) + torch.exp(score - new)
        context = context * torch.exp(most - new)
        context = context + torch.exp(score - new) * value
        most = new
    return most, total, context


def by_logsumexp(most, total, context, scores, values):
    all_scores = torch.cat([(most + total.log())[None], scores])
    new = torch.maximum(most, scores.max())
    lse = all_scores.logsumexp(0)
    old = torch.exp(most - new) * context
    return new, torch.exp(lse - new), old + torch.exp(scores - new) @ values


@pytest.mark.parametrize(
    "mine", [key_by_key, by_logsumexp, absorbing, two_softmaxes]
)
def test_absorb_by_another_route(mine):
    def named(most, total, context, scores, values):
        return mine(most, total, context, scores, values)

    assert check.absorb(named) is True


def counted(config, **slip):
    layers, vocab = config["num_hidden_layers"], config["vocab_size"]
    d, heads = config["hidden_size"], config["num_attention_heads"]
    kv, d_ff = config["num_key_value_heads"], config["intermediate_size"]
    tied = config["tie_word_embeddings"]
    d_kv = d if slip.get("all") else kv * (d // heads)
    if slip.get("upside"):
        d_kv = kv * (d // kv)
    if slip.get("three"):
        d_kv = d // 2
    if slip.get("one"):
        d_kv = d // heads
    attention = (1 if slip.get("no_o") else 2) * d * d + 2 * d * d_kv
    if slip.get("no_v"):
        attention -= d * d_kv
    if slip.get("biases"):
        attention += 2 * d + 2 * d_kv + 2 * d_ff + d
    feedforward = (2 if slip.get("two") else 3) * d * d_ff
    norms = {None: 2, "none": 0, "one": 1, "biased": 4}[slip.get("norms")] * d
    last = {"none": 0, "biased": 2}.get(slip.get("norms"), 1) * d
    if slip.get("last"):
        last = 0
    if slip.get("thin"):
        norms, last = 2, 1
    if slip.get("inside"):
        last *= layers
    layers = 1 if slip.get("single") else layers
    tables = slip.get("tables", 1 if tied else 2)
    return (
        tables * vocab * d + layers * (attention + feedforward + norms) + last
    )


@pytest.mark.parametrize(
    ("slip", "words"),
    [
        ({"tables": 1}, "One table is missing"),
        ({"tables": 2}, "they share one table"),
        ({"two": True}, "three matrices"),
        ({"all": True}, "W_K and W_V are d × d in yours"),
        ({"norms": "none"}, "The norms are missing"),
        ({"last": True}, "The norm after the last layer is missing"),
        ({"norms": "one"}, "There is one norm a layer"),
        ({"norms": "biased"}, "A norm has a bias in yours"),
        ({"no_o": True}, "One matrix of d × d is missing"),
        ({"no_v": True}, "but they are two"),
        ({"three": True}, "Attention is 3 d² in yours"),
        ({"tables": 0}, "The tables are missing"),
        ({"thin": True}, "A gain is not one number"),
        ({"upside": True}, "d_k is hidden_size / num_attention_heads"),
        ({"biases": True}, "have biases in yours"),
        ({"inside": True}, "It stands once"),
        ({"one": True}, "as small as one head"),
        ({"single": True}, "Only one layer is counted"),
        ({"tables": 1, "two": True}, "This is no slip that the check knows"),
    ],
)
def test_parameters_of(slip, words, capsys):
    def mine(config):
        return counted(config, **slip)

    assert words in said_about(capsys, "parameters_of", mine)


def test_parameters_of_by_building_it():
    def mine(config):
        d_model, d_ff = config["hidden_size"], config["intermediate_size"]
        kv_heads = config["num_key_value_heads"]
        heads, layers = (
            config["num_attention_heads"],
            config["num_hidden_layers"],
        )
        with torch.device("meta"):
            d_kv = kv_heads * d_model // heads
            shapes = [(d_model, d_model)] * 2 + [(d_model, d_kv)] * 2
            shapes += [(d_model, d_ff)] * 3 + [(d_model,)] * 2
            layer = sum(torch.empty(shape).numel() for shape in shapes)
        tables = 2 - config["tie_word_embeddings"]
        vocab = tables * config["vocab_size"]
        return float(vocab * d_model + layers * layer + d_model)

    assert check.parameters_of(mine) is True


def test_parameters_of_reads_any_line_of_the_config():
    """The check's config has the lines that the page prints."""

    def mine(config):
        assert config["rms_norm_eps"] == 1e-5 and config["sliding_window"]
        assert config["rope_theta"] == 10000.0
        d, v = config["hidden_size"], config["vocab_size"]
        maps = 3 if config["hidden_act"] == "silu" else 2
        shared = config["num_attention_heads"] // config["num_key_value_heads"]
        total = v * d + d + (0 if config["tie_word_embeddings"] else v * d)
        for _ in range(config["num_hidden_layers"]):
            total += d + d * d + 2 * d * (d // shared) + d * d
            total += d + maps * d * config["intermediate_size"]
        return torch.tensor(total)

    assert check.parameters_of(mine) is True
