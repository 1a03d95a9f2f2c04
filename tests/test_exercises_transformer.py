"""Plausible wrong answers to the Transformer's exercises, and their hints."""

import numpy as np
import pytest
import torch
from test_exercises import altered, said_about
from torch.nn import functional as F

from lookback.exercises import check, transformer
from lookback.exercises.rnnsearch import strings

pytestmark = pytest.mark.nightly


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
        ([0.463], "You gave 1 number;"),
        ([3, 4], "no slip that the check knows"),
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


LOOK = "scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)"
SPLIT = "x.unflatten(-1, (self.heads, -1)).transpose(1, 2)"
CUT = "x.reshape(len(x), self.heads, -1, x.shape[-1] // self.heads)"
JOIN = "(weights @ v).transpose(1, 2).flatten(2)"
FLAT = "(weights @ v).reshape(len(x), -1, self.heads * v.shape[-1])"
FIRST = "self.norm_1(x + self.attention(x, x, mask))"
SECOND = "self.norm_2(x + self.feedforward(x))"


@pytest.mark.parametrize(
    "words, typed",
    [
        ("The mask is not used", (LOOK, "scores.softmax(dim=-1)")),
        (
            "mask is inverted",
            (LOOK, LOOK.replace("~mask, -torch.inf", "mask, -1e9")),
        ),
        ("mask is inverted", (LOOK, LOOK.replace("~", ""))),
        ("after the softmax", (LOOK, "scores.softmax(dim=-1) * mask")),
        ("exp(0) = 1", (LOOK, "(scores * mask).softmax(dim=-1)")),
        ("dim=-1", (LOOK, LOOK.replace("dim=-1", "dim=-2"))),
        ("The scores are not scaled", (" / q.shape[-1] ** 0.5", "")),
        (
            "divide by √d_model",
            ("/ q.shape[-1] ** 0.5", "/ x.shape[-1] ** 0.5"),
        ),
        ("not by its root", ("q.shape[-1] ** 0.5", "q.shape[-1]")),
        ("reshape alone mixes", (SPLIT, CUT)),
        ("joined by the same mistake", (SPLIT, CUT, JOIN, FLAT)),
        ("come back mixed", (JOIN, FLAT)),
        (
            "every heads-th number",
            (
                SPLIT,
                "x.unflatten(-1, (-1, self.heads)).permute(0, 3, 1, 2)",
            ),
        ),
        ("One head of full width", ("self.heads = heads", "self.heads = 1")),
        ("W_O is missing", (f"self.W_O({JOIN})", JOIN)),
        (
            "on the wrong side",
            (
                FIRST,
                "x + self.attention(*[self.norm_1(x)] * 2, mask)",
                SECOND,
                "x + self.feedforward(self.norm_2(x))",
            ),
        ),
        (
            "Your sum is around the norm",
            (
                FIRST,
                "x + self.norm_1(self.attention(x, x, mask))",
                SECOND,
                "x + self.norm_2(self.feedforward(x))",
            ),
        ),
        (
            "You normalise x first",
            (
                f"x = {FIRST}",
                "x = self.norm_1(x)\n"
                "        x = x + self.attention(x, x, mask)",
                f"return {SECOND}",
                "x = self.norm_2(x)\n        return x + self.feedforward(x)",
            ),
        ),
        (
            "residual connection is missing",
            (
                FIRST,
                "self.norm_1(self.attention(x, x, mask))",
                SECOND,
                "self.norm_2(self.feedforward(x))",
            ),
        ),
        (
            "The norms are not used",
            (
                FIRST,
                "x + self.attention(x, x, mask)",
                SECOND,
                "x + self.feedforward(x)",
            ),
        ),
        (
            "You add x twice",
            (FIRST, FIRST.replace("(x +", "(x + x +"))
            + (SECOND, SECOND.replace("(x +", "(x + x +")),
        ),
        (
            "you add what came into the layer",
            (
                f"x = {FIRST}",
                f"z = {FIRST}",
                f"return {SECOND}",
                "return self.norm_2(x + self.feedforward(z))",
            ),
        ),
        ("You used one norm", (SECOND, SECOND.replace("norm_2", "norm_1"))),
        ("take its root", ("torch.sqrt(variance + 1e-5)", "(variance + 1e-5)")),
        (
            "divides by d − 1",
            (
                "x.square().mean(dim=-1, keepdim=True)",
                "x.var(dim=-1, keepdim=True)",
            ),
        ),
        (
            "Your LayerNorm runs along",
            ("mean(dim=-1, keepdim", "mean(dim=1, keepdim"),
        ),
        ("ReLU is missing", ("nn.ReLU()", "nn.Identity()")),
        ("bends with GELU", ("nn.ReLU()", "nn.GELU()")),
        ("feed-forward part is not used", (f"return {SECOND}", "return x")),
        ("no part `feedforward`", ("self.feedforward", "self.ffn")),
        ("no part `attention.W_Q`", ("W_Q", "query")),
        (
            "Your part `attention.W_O` has parameters",
            (
                "self.W_O = nn.Linear(d_model, d_model)",
                "self.W_O = nn.Linear(d_model, d_model, bias=False)",
            ),
        ),
        ("gives back tuple", (f"return {SECOND}", f"return {SECOND}, mask")),
    ],
)
def test_encoder_layer(words, typed, capsys):
    mine = altered(check.encoder_layer, *typed)
    assert words in said_about(capsys, "encoder_layer", mine)


class Looped(torch.nn.Module):
    """Attention sentence by sentence, head by head, word by word."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        for name in ("W_O", "W_V", "W_K", "W_Q"):
            setattr(self, name, torch.nn.Linear(d_model, d_model))

    def forward(self, x, memory, mask):
        mask = mask.expand(len(x), 1, x.shape[1], memory.shape[1])
        d_k, out = x.shape[2] // self.heads, []
        for b in range(len(x)):
            q, k, v = self.W_Q(x[b]), self.W_K(memory[b]), self.W_V(memory[b])
            words = []
            for i in range(len(q)):
                seen, found = mask[b, 0, i], []
                for h in range(self.heads):
                    own = slice(h * d_k, (h + 1) * d_k)
                    scores = k[seen, own] @ q[i, own] / d_k**0.5
                    found.append(scores.softmax(0) @ v[seen, own])
                words.append(self.W_O(torch.cat(found)))
            out.append(torch.stack(words))
        return torch.stack(out)


class Fused(transformer.MultiHeadAttention):
    """torch's fused attention inside."""

    def forward(self, x, memory, mask):
        q = self.split(self.W_Q(x))
        k, v = self.split(self.W_K(memory)), self.split(self.W_V(memory))
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.W_O(found.transpose(1, 2).flatten(2))


@pytest.mark.nightly
@pytest.mark.parametrize("attention", [Looped, Fused])
@pytest.mark.parametrize("norm", ["LayerNorm", "nn.LayerNorm"])
@pytest.mark.parametrize(
    "name", ["encoder_layer", "decoder_layer", "transformer"]
)
def test_the_blank_file_takes_other_styles(name, norm, attention, monkeypatch):
    monkeypatch.setattr(transformer, "other", attention, raising=False)
    made = getattr(check, name)
    mine = altered(
        made,
        "= MultiHeadAttention(",
        "= other(",
        "= LayerNorm(",
        f"= {norm}(",
        "super().__init__()\n        self.attention",
        "super().__init__()\n        self.dropout = nn.Dropout(0.5)\n"
        "        self.attention",
        "x + self.feedforward(x)",
        "x + self.dropout(self.feedforward(x))",
    )
    assert made(mine) is True


TARGET = "self.norm_1(y + self.attention(y, y, target_mask))"
BACK = "self.norm_2(y + self.cross(y, x, source_mask))"
LAST = "self.norm_3(y + self.feedforward(y))"


@pytest.mark.parametrize(
    "words, typed",
    [
        (
            "still to be said",
            (TARGET, TARGET.replace("target_mask", "target_mask | True")),
        ),
        (
            "the look back sees padding",
            (BACK, BACK.replace("source_mask", "source_mask | True")),
        ),
        (
            "The look back looks at y",
            (BACK, "self.norm_2(y + self.cross(y, y, target_mask))"),
        ),
        ("without its own maps", (BACK, BACK.replace("cross", "attention"))),
        (
            "two masks are exchanged",
            (
                TARGET,
                TARGET.replace("target_mask", "source_mask"),
                BACK,
                BACK.replace("source_mask", "target_mask"),
            ),
        ),
        (
            "You used one norm",
            (BACK, BACK.replace("norm_2", "norm_1"))
            + (LAST, LAST.replace("norm_3", "norm_1")),
        ),
        ("The scores are not scaled", (" / q.shape[-1] ** 0.5", "")),
        ("reshape alone mixes", (SPLIT, CUT)),
        (
            "on the wrong side",
            (
                TARGET,
                "y + self.attention(*[self.norm_1(y)] * 2, target_mask)",
                BACK,
                "y + self.cross(self.norm_2(y), x, source_mask)",
                LAST,
                "y + self.feedforward(self.norm_3(y))",
            ),
        ),
        ("feed-forward part is not used", (f"return {LAST}", "return y")),
        (
            "you add what came into the layer",
            (
                f"y = {TARGET}",
                f"z = y\n        y = {TARGET}",
                LAST,
                "self.norm_3(z + self.feedforward(y))",
            ),
        ),
        ("no part `cross.W_Q`", ("self.cross", "self.look_back")),
    ],
)
def test_decoder_layer(words, typed, capsys):
    mine = altered(check.decoder_layer, *typed)
    assert words in said_about(capsys, "decoder_layer", mine)


RETURN = "return y @ self.embedding.weight.T"
LAYERS = "for layer in self.decoder:\n            y = layer(y, x, "


@pytest.mark.parametrize(
    "words, typed",
    [
        ("Positions are missing", ("d_model**0.5 + codes", "d_model**0.5")),
        (
            "in one block",
            (
                "torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)",
                "torch.cat([angle.sin(), angle.cos()], dim=-1)",
            ),
        ),
        (
            "stands at 0",
            ("torch.arange(length)", "torch.arange(1, length + 1)"),
        ),
        ("√d_model is missing", (" * d_model**0.5 + codes", " + codes")),
        (
            "You scale the positions",
            (
                "self.embedding(tokens) * d_model**0.5 + codes",
                "(self.embedding(tokens) + codes) * d_model**0.5",
            ),
        ),
        ("Source padding is looked at", ("source != PAD", "source == source")),
        (
            "The look back sees the source",
            ("layer(y, x, source_mask", "layer(y, x, source_mask | True"),
        ),
        ("causal mask is missing", (".tril()", "")),
        ("wrong way round", (".tril()", ".triu()")),
        ("look at nothing at all", (".tril()", ".tril(-1)")),
        (
            "Every decoder layer looks at the last",
            (
                "            x = layer(x, source_mask)",
                "            x = layer(x, source_mask)\n"
                "            levels.append(x)",
                "for layer in self.encoder:",
                "levels = []\n        for layer in self.encoder:",
                "for layer in self.decoder:",
                "for layer, x in zip(self.decoder, levels):",
            ),
        ),
        (
            "looks at the source's embeddings",
            ("layer(y, x, source", "layer(y, self.embed(source), source"),
        ),
        (
            "Only the first layer",
            ("in self.encoder:", "in self.encoder[:1]:")
            + ("in self.decoder:", "in self.decoder[:1]:"),
        ),
        (
            "Those are probabilities",
            (RETURN, "return F.linear(y, self.embedding.weight).softmax(-1)"),
        ),
        ("compare them with the embedding's rows", (RETURN, "return y")),
        (
            "You shift the target inside",
            (
                "length = target.shape[1]\n",
                "target = target[:, :-1]\n        length = target.shape[1]\n",
            ),
        ),
        ("has a standard deviation of", ("std=d_model**-0.5", "std=1.0")),
        ("nn.ModuleList", ("nn.ModuleList(", "list(")),
        (
            "does not name: output.weight",
            (
                "nn.init.normal_",
                "self.output = nn.Linear(d_model, vocab, bias=False)\n"
                "        nn.init.normal_",
            ),
        ),
    ],
)
def test_transformer(words, typed, capsys):
    mine = altered(check.transformer, *typed)
    assert words in said_about(capsys, "transformer", mine)


def ce(logits, target, **more):
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), **more)


@pytest.mark.parametrize(
    "mine, words",
    [
        (
            lambda x, y, m: ce(m(x, y), y, ignore_index=0),
            "targets are not shifted",
        ),
        (
            lambda x, y, m: ce(m(x, y[:, 1:]), y[:, 1:], ignore_index=0),
            "sees the word that it must say",
        ),
        (
            lambda x, y, m: ce(m(x, y[:, 1:]), y[:, :-1], ignore_index=0),
            "the wrong way",
        ),
        (lambda x, y, m: ce(m(x, y[:, :-1]), y[:, 1:]), "counts padding"),
        (
            lambda x, y, m: ce(
                m(x, y[:, :-1]), y[:, 1:], ignore_index=0, reduction="none"
            ).mean(),
            "still counted in the mean",
        ),
        (
            lambda x, y, m: ce(
                m(x, y[:, :-1]), y[:, 1:], ignore_index=0, reduction="sum"
            ),
            "give their mean",
        ),
        (
            lambda x, y, m: ce(
                m(x, y[:, :-1]), y[:, 1:], ignore_index=0, reduction="none"
            ),
            "losses of all places",
        ),
        (
            lambda x, y, m: torch.stack(
                [
                    ce(m(a, b[:, :-1]), b[:, 1:], ignore_index=0)
                    for a, b in zip(x[:, None], y[:, None], strict=True)
                ]
            ).mean(),
            "within each sentence first",
        ),
        (
            lambda x, y, m: ce(
                m(x, y[:, :-1]), y[:, 1:].where(y[:, 1:] > 3, 0), ignore_index=0
            ),
            "<end> must be learned too",
        ),
        (
            lambda x, y, m: ce(
                m(x, y[:, :-1]).softmax(-1), y[:, 1:], ignore_index=0
            ),
            "softmax is taken twice",
        ),
        (
            lambda x, y, m: -ce(m(x, y[:, :-1]), y[:, 1:], ignore_index=0),
            "sign is wrong",
        ),
    ],
)
def test_shifted_loss(mine, words, capsys):
    def named(source, target, model):
        return mine(source, target, model)

    assert words in said_about(capsys, "shifted_loss", named)


def test_shifted_loss_takes_a_mask_and_a_loop():
    def masked(source, target, model):
        logp = model(source, target[:, :-1]).log_softmax(-1)
        said = target[:, 1:]
        lost = -logp.gather(-1, said[..., None])[..., 0]
        return lost[said != 0].mean()

    def looped(source, target, model):
        lost = []
        for x, y in zip(source, target, strict=True):
            logits = model(x[None], y[None, :-1])[0]
            for row, word in zip(logits, y[1:], strict=True):
                if word:
                    lost.append(row.logsumexp(0) - row[word])
        return sum(lost) / len(lost)

    assert check.shifted_loss(masked) is True
    assert check.shifted_loss(looped) is True


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda z, x, y: z.flip(0), "without a mistake"),
        (lambda z, x, y: 9.0 * F.one_hot(y, 30), "repeats the word"),
        (lambda z, x, y: z * 0, "the same, whatever the string"),
        (
            lambda z, x, y: 9.0 * F.one_hot(F.pad(y[:, 1:], (0, 1)), 30),
            "words that it must still say",
        ),
        (
            lambda z, x, y: z.index_fill(2, torch.tensor([3]), -9.0),
            "<end> is a word",
        ),
        (
            lambda z, x, y: (
                9.0 * F.one_hot(F.pad(x, (0, 1))[:, : y.shape[1]], 30)
            ),
            "copies the string forwards",
        ),
        (
            lambda z, x, y: (
                9.0 * F.one_hot(x.amax(1, keepdim=True).expand_as(y), 30)
            ),
            "in which order the letters stand",
        ),
        (lambda z, x, y: z[:, -1], "Shape first"),
    ],
)
def test_writes_backwards(change, words, capsys):
    def mine(source, target):
        told = check.writes_backwards.solution(source, target)
        return change(told, source, target)

    assert words in said_about(capsys, "writes_backwards", mine)


def test_the_training_loop_teaches():
    torch.manual_seed(0)
    model = transformer.Transformer(30, 16, 2, 32, 1)
    given = strings(64, seed=99)
    loss = transformer.shifted_loss_solution
    before = loss(*given, model).item()
    transformer.train_transformer(model, steps=60)
    assert loss(*given, model).item() < before - 0.05
    assert transformer.write(model, given[0]).shape == given[1].shape


@pytest.mark.weekly
@pytest.mark.parametrize("seed", range(3))
def test_the_solution_learns_to_write_backwards(seed):
    torch.manual_seed(seed)
    model = transformer.Transformer(30, 64, 4, 256, 2)
    transformer.train_transformer(model)
    assert check.writes_backwards(model) is True
    assert torch.equal(
        transformer.write(model, torch.tensor([[20, 8, 17, 4, 12, 3]]), 6),
        torch.tensor([[2, 12, 4, 17, 8, 20, 3]]),
    )
