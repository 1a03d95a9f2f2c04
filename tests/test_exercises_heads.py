"""Plausible wrong answers to the exercises on heads, and their hints."""

import pytest
import torch
from test_exercises import said_about

from lookback.exercises import check

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    "answer, words",
    [
        ((2, 4), "two heads' averages"),
        ((10, -3), "multiplied W^O with a column"),
        ((2, -0.44), "one softmax over all six scores"),
        ((3.71, 2.17), "averaged the weights"),
        ((4.13, -2.72), "not weights"),
        ((18, -4), "do not sum to 1 yet"),
        ((3.67, 0.67), "averaged without weights"),
        ((5, 6), "second row"),
        ((4.5, -1), "e⁰ = 1; and softmax averages"),
        ((11.5, -7), "weights of a head are to sum to 1"),
        ((9, 6), "added before W^O"),
        (("4", "0"), "plain numbers"),
        ((7, 7), "no slip that the check knows"),
        (4, "You gave 1 number;"),
    ],
)
def test_two_heads_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "two_heads_by_hand", answer)


@pytest.mark.parametrize("answer", [(4, 0), [4.0, 0.0], torch.tensor([4, 0])])
def test_two_heads_by_hand_takes_what_is_right(answer):
    assert check.two_heads_by_hand(answer) is True


def cut(x, heads):
    return x.unflatten(-1, (heads, -1))


@pytest.mark.parametrize(
    "mine, words",
    [
        (
            lambda x, h: x.reshape(len(x), h, x.shape[1], -1),
            "words get mixed",
        ),
        (cut, "transpose the two"),
        (
            lambda x, h: x.unflatten(-1, (-1, h)).permute(0, 3, 1, 2),
            "every heads-th number",
        ),
        (lambda x, h: cut(x, h).transpose(1, 2).flip(1), "reverse order"),
        (lambda x, h: x.unflatten(-1, (-1, h)), "into (heads, d_k)"),
        (lambda x, h: cut(x, h).permute(2, 0, 1, 3), "behind the batch"),
        (
            lambda x, h: cut(x, h).transpose(1, 2).flatten(0, 1),
            "an axis each",
        ),
        (lambda x, h: x, "Shape first"),
    ],
)
def test_split_heads(mine, words, capsys):
    assert words in said_about(capsys, "split_heads", mine)


def by_chunks(x, heads):
    return torch.stack(x.chunk(heads, dim=-1), dim=1)


def by_view(x, heads):
    batch, length, _ = x.shape
    return x.view(batch, length, heads, -1).permute(0, 2, 1, 3)


def by_einops_habit(x, heads):
    parts = x.detach().numpy()
    parts = parts.reshape(*parts.shape[:2], heads, -1).swapaxes(1, 2)
    return torch.from_numpy(parts.astype("float64"))


@pytest.mark.parametrize("mine", [by_chunks, by_view, by_einops_habit])
def test_split_heads_may_be_done_otherwise(mine):
    assert check.split_heads(mine) is True


def by_reshape(x, heads):
    return x.reshape(len(x), heads, x.shape[1], -1)


def dealt(x, heads):
    return x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)


def looks(
    scale=None,
    axis=-1,
    turned=False,
    join="right",
    bare=False,
    split=by_chunks,
):
    """The whole look, with a slip."""

    def mine(x, W_Q, W_K, W_V, W_O, heads):
        if turned:
            W_Q, W_K, W_V, W_O = (W.T for W in (W_Q, W_K, W_V, W_O))
        q, k, v = (split(x @ W, heads) for W in (W_Q, W_K, W_V))
        d_k = q.shape[-1]
        by = {"none": 1, "d_model": (heads * d_k) ** 0.5, "d_k": d_k}
        scores = q @ k.transpose(-2, -1) / by.get(scale, d_k**0.5)
        context = scores.softmax(axis) @ v
        joined = {
            "right": lambda: context.transpose(1, 2).flatten(2),
            "mixed": lambda: context.reshape(x.shape),
            "reversed": lambda: context.flip(1).transpose(1, 2).flatten(2),
            "mean": lambda: context.mean(1).repeat(1, 1, heads),
            "apart": lambda: context,
            "sum": lambda: context.sum(1),
        }[join]()
        if bare or join in ("apart", "sum"):
            return joined
        return joined @ W_O

    return mine


def one_wide_head(x, W_Q, W_K, W_V, W_O, heads):
    return looks()(x, W_Q, W_K, W_V, W_O, 1)


def exchanged(x, W_Q, W_K, W_V, W_O, heads):
    return looks()(x, W_K, W_Q, W_V, W_O, heads)


def no_softmax(x, W_Q, W_K, W_V, W_O, heads):
    q, k, v = (by_chunks(x @ W, heads) for W in (W_Q, W_K, W_V))
    context = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5 @ v
    return context.transpose(1, 2).flatten(2) @ W_O


def sliced(x, W_Q, W_K, W_V, W_O, heads):
    d_k, found = x.shape[-1] // heads, []
    for h in range(heads):
        own = slice(h * d_k, h * d_k + d_k)
        mine = x[..., own]
        q, k, v = (mine @ W[own, own] for W in (W_Q, W_K, W_V))
        weights = (q @ k.transpose(1, 2) / d_k**0.5).softmax(-1)
        found.append(weights @ v)
    return torch.cat(found, -1) @ W_O


def no_values(x, W_Q, W_K, W_V, W_O, heads):
    return looks()(x, W_Q, W_K, torch.eye(x.shape[-1]), W_O, heads)


@pytest.mark.parametrize(
    "mine, words",
    [
        (looks(scale="none"), "not scaled"),
        (looks(scale="d_model"), "You divide by √d_model"),
        (looks(scale="d_k"), "not by its square root"),
        (looks(axis=-2), "the words that ask"),
        (looks(join="mixed"), "came back mixed"),
        (looks(join="reversed"), "reverse order"),
        (looks(join="mean"), "averaged the heads"),
        (looks(bare=True), "W_O is missing"),
        (looks(turned=True), "matrices are transposed"),
        (looks(join="apart"), "still have an axis"),
        (looks(join="sum"), "added or averaged away"),
        (one_wide_head, "One head of full width"),
        (exchanged, "Queries and keys are exchanged"),
        (no_values, "W_V is missing"),
        (looks(axis=1), "over the heads"),
        (
            lambda x, W_Q, W_K, W_V, W_O, heads: looks()(
                x, W_Q, W_V, W_K, W_O, heads
            ),
            "Keys and values are exchanged",
        ),
        (lambda x, *given: x + looks()(x, *given), "x is added"),
        (no_softmax, "Softmax is missing"),
        (
            lambda x, *given: looks()(x, *given[:3], given[3].T, given[4]),
            "W_O is transposed",
        ),
        (sliced, "You cut x itself"),
        (looks(split=by_reshape), "cut by reshape alone"),
        (looks(split=by_reshape, join="mixed"), "on both ways"),
        (looks(split=dealt), "every heads-th number of its queries"),
    ],
)
def test_multi_head(mine, words, capsys):
    assert words in said_about(capsys, "multi_head", mine)


def by_torch(x, W_Q, W_K, W_V, W_O, heads):
    theirs = torch.nn.MultiheadAttention(
        x.shape[-1], heads, bias=False, batch_first=True
    )
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([W_Q.T, W_K.T, W_V.T]))
        theirs.out_proj.weight.copy_(W_O.T)
    return theirs(x, x, x)[0]


def by_einsum(x, W_Q, W_K, W_V, W_O, heads):
    def part(W):
        return torch.einsum("bld,dhk->bhlk", x, W.unflatten(1, (heads, -1)))

    q, k, v = part(W_Q), part(W_K), part(W_V)
    a = (torch.einsum("bhik,bhjk->bhij", q, k) / q.shape[-1] ** 0.5).softmax(-1)
    out = W_O.unflatten(0, (heads, -1))
    return torch.einsum("bhij,bhjk,hkd->bid", a, v, out)


def by_loops(x, W_Q, W_K, W_V, W_O, heads):
    x, W_Q, W_K, W_V, W_O = (y.double() for y in (x, W_Q, W_K, W_V, W_O))
    d_k, y = x.shape[-1] // heads, torch.zeros_like(x)
    for h in range(heads):
        own = slice(h * d_k, h * d_k + d_k)
        q, k, v = x @ W_Q[:, own], x @ W_K[:, own], x @ W_V[:, own]
        for b in range(len(x)):
            raised = torch.exp(q[b] @ k[b].T / d_k**0.5)
            weights = raised / raised.sum(1, keepdim=True)
            y[b] += weights @ v[b] @ W_O[own]
    return y


@pytest.mark.parametrize("mine", [looks(), by_torch, by_einsum, by_loops])
def test_multi_head_may_be_done_otherwise(mine):
    assert check.multi_head(mine) is True


def with_blocks(block):
    """Every head's context times a block of W_O."""

    def mine(c, W):
        heads, d_v = c.shape[1], c.shape[-1]
        terms = [c[:, h] @ block(W, h, d_v, heads) for h in range(heads)]
        return torch.stack(terms, 1)

    return mine


def own(W, h, d, heads):
    return W[h * d : h * d + d]


@pytest.mark.parametrize(
    "mine, words",
    [
        (
            with_blocks(lambda W, h, d, n: W[:, h * d : h * d + d].T),
            "you took columns",
        ),
        (with_blocks(lambda W, h, d, n: W[:d]), "the first block"),
        (with_blocks(lambda W, h, d, n: W[h::n]), "every heads-th row"),
        (
            lambda c, W: (
                (c.transpose(1, 2).flatten(2) @ W)
                .unsqueeze(1)
                .expand(-1, c.shape[1], -1, -1)
            ),
            "is the whole output",
        ),
        (
            lambda c, W: with_blocks(own)(c, W) / c.shape[1],
            "not averaged",
        ),
        (
            lambda c, W: c.transpose(1, 2).flatten(2) @ W,
            "Keep the heads apart",
        ),
        (
            lambda c, W: with_blocks(own)(c, W).transpose(1, 2),
            "Heads come before words",
        ),
        (
            with_blocks(lambda W, h, d, n: own(W, n - 1 - h, d, n)),
            "blocks of W_O are in reverse",
        ),
        (lambda c, W: with_blocks(own)(c, W) * float("nan"), "NaN"),
    ],
)
def test_head_parts(mine, words, capsys):
    assert words in said_about(capsys, "head_parts", mine)


def by_masking(c, W):
    whole = c.transpose(1, 2).flatten(2)
    d_v, terms = c.shape[-1], []
    for head in range(c.shape[1]):
        kept = torch.zeros_like(whole)
        part = slice(head * d_v, head * d_v + d_v)
        kept[..., part] = whole[..., part]
        terms.append(kept @ W)
    return torch.stack(terms, 1)


def by_one_product(c, W):
    blocks = W.double().view(c.shape[1], c.shape[3], -1)
    with torch.no_grad():
        return torch.einsum("bhld,hdm->bhlm", c.double(), blocks)


@pytest.mark.parametrize("mine", [with_blocks(own), by_masking, by_one_product])
def test_head_parts_may_be_done_otherwise(mine):
    assert check.head_parts(mine) is True
