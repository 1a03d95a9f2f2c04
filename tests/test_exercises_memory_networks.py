"""Plausible wrong answers to the chapter `memory_networks`, and their hints."""

import math

import numpy as np
import pytest
import torch
from test_exercises import said_about
from torch.nn import functional as F

from lookback.exercises import check

pytestmark = pytest.mark.nightly


def walked(share=lambda e: e.softmax(-1), kept=(1, 1), ask=None):
    """Both hops on paper, with one thing done otherwise."""
    L = math.log(3)
    u, answer = torch.tensor([1.0, 0.0]), []
    for keys, values, keep in (
        ([[L, 0.0], [0.0, 2.0]], [[0.0, 1.0], [4.0, 1.0]], kept[0]),
        ([[1.0, -2.0], [0.0, L]], [[8.0, 0.0], [0.0, 8.0]], kept[1]),
    ):
        p = share(torch.tensor(keys) @ (u if ask is None else ask))
        u = keep * u + torch.tensor(values).T @ p
        answer += u.tolist()
    return answer


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (walked(kept=(0, 0)), "You went on with o alone"),
        (walked(kept=(1, 0)), "The second adds too"),
        (walked(kept=(0, 1)), "You lost the question"),
        (walked(lambda e: e), "as weights"),
        ([1, 1, 1, 9], "the better sentence alone"),
        (walked(ask=torch.tensor([1.0, 0.0])), "the old u"),
        (walked(lambda e: e.softmax(-1).flip(0)), "the wrong way round"),
        ([3, 1, 7, 5], "the shares of 1 : 1"),
        ([1, 1, 2, 6], "what each hop found"),
        ([2, 1], "Give u after both hops"),
        ([2, 1, 4, 8], "no slip that the check knows"),
        ([2, 1, 4, ...], "still open"),
    ],
)
def test_two_hops_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "two_hops_by_hand", answer)


@pytest.mark.parametrize("answer", [(2, 1, 4, 7), np.array([2.0, 1, 4, 7])])
def test_two_hops_by_hand_takes_any_four_numbers(answer):
    assert check.two_hops_by_hand(answer) is True


def looked(score=None, share=None, hand=None, keep=True):
    """One hop, with one thing done otherwise."""
    score = score or (lambda u, M, C: (M @ u.unsqueeze(-1)).squeeze(-1))
    share = share or (lambda e: e.softmax(-1))
    hand = hand or (lambda p, M, C: (p.unsqueeze(1) @ C).squeeze(1))

    def mine(u, M, C):
        p = share(score(u, M, C))
        o = hand(p, M, C)
        return (u + o if keep else o), p

    return mine


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (looked(share=lambda e: e.softmax(0)), "sum to 1 over the batch"),
        (looked(share=lambda e: e), "the softmax is missing"),
        (
            looked(lambda u, M, C: (M @ u[:, :, None])[..., 0] / 4**0.5),
            "the root of d",
        ),
        (
            looked(lambda u, M, C: (C @ u[:, :, None])[..., 0]),
            "You compared u with the values",
        ),
        (looked(share=torch.exp), "not divided by its sum"),
        (
            looked(share=lambda e: (e == e.amax(1, keepdim=True)).float()),
            "the best sentence alone",
        ),
        (looked(share=lambda e: e.log_softmax(-1)), "logarithms"),
        (looked(keep=False), "the question is lost"),
        (
            looked(hand=lambda p, M, C: torch.einsum("bs,bsd->bd", p, M)),
            "You handed the keys back",
        ),
        (looked(hand=lambda p, M, C: C.sum(1)), "without their weights"),
        (
            looked(hand=lambda p, M, C: (p[:, :, None] * C).mean(1)),
            "is a mean already",
        ),
        (
            looked(hand=lambda p, M, C: p[:, :, None] * C, keep=False),
            "one vector a story",
        ),
        (
            lambda u, M, C: (
                (u[:, None] + (M @ u[:, :, None]).softmax(1) * C).sum(1),
                (M @ u[:, :, None]).softmax(1)[..., 0],
            ),
            "once for every sentence",
        ),
        (lambda u, M, C: looked()(u, M, C)[0], "Give back two tensors"),
        (lambda u, M, C: looked()(u, M, C)[::-1], "the new u is first"),
        (
            lambda u, M, C: (
                looked()(u, M, C)[0],
                (u[:, None] @ M.transpose(1, 2)).softmax(-1),
            ),
            "An axis of 1 is left over",
        ),
        (looked(hand=lambda p, M, C: 2 * C[:, 0]), "a value is not"),
    ],
)
def test_add_a_hop(mine, words, capsys):
    assert words in said_about(capsys, "add_a_hop", mine)


def by_einsum(u, M, C):
    p = torch.einsum("bd,bsd->bs", u, M).softmax(1)
    return u + torch.einsum("bs,bsd->bd", p, C), p


def by_loop(u, M, C):
    p = torch.stack(
        [F.softmax(m @ one, dim=0) for one, m in zip(u, M, strict=True)]
    )
    return [
        torch.stack([a + b @ c for a, b, c in zip(u, p, C, strict=True)]),
        p,
    ]


@pytest.mark.parametrize("mine", [by_einsum, by_loop])
def test_add_a_hop_by_another_route(mine):
    assert check.add_a_hop(mine) is True


def pairs_of(E, key=lambda E, k: E[k], value=lambda E, k: E[k + 1]):
    return [(key(E, k), value(E, k)) for k in range(len(E) - 1)]


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            lambda E: (
                E[0],
                pairs_of(E, lambda E, k: E[k + 1], lambda E, k: E[k]),
                E[-1].T,
            ),
            "You swapped keys and values",
        ),
        (
            lambda E: (E[0], pairs_of(E, lambda E, k: E[0]), E[-1].T),
            "the first table as keys",
        ),
        (
            lambda E: (
                (
                    E[0],
                    pairs_of(
                        E,
                        lambda E, k: E[2 * k % 4],
                        lambda E, k: E[(2 * k + 1) % 4],
                    ),
                    E[-1].T,
                )
                if len(E) == 4
                else (E[0], pairs_of(E), E[-1].T)
            ),
            "tables of its own",
        ),
        (
            lambda E: (E[0], pairs_of(E)[::-1], E[-1].T),
            "in the opposite order",
        ),
        (
            lambda E: (E[0], pairs_of(E, value=lambda E, k: E[k]), E[-1].T),
            "AFTER A^k",
        ),
        (
            lambda E: (E[0], pairs_of(E, value=lambda E, k: E[-1]), E[-1].T),
            "from the last table",
        ),
        (
            lambda E: (E[0], pairs_of(E, value=lambda E, k: E[1]), E[-1].T),
            "from the second table",
        ),
        (lambda E: (E[-1], pairs_of(E), E[-1].T), "is read with the last"),
        (lambda E: (E[1], pairs_of(E), E[-1].T), "the first values"),
        (lambda E: (E[0], pairs_of(E), E[-1]), "rows and columns exchanged"),
        (lambda E: (E[0], pairs_of(E), E[0].T), "written with the first"),
        (lambda E: (E[0], pairs_of(E), E[-2].T), "the keys of the last hop"),
        (
            lambda E: (E[0], [(one, one) for one in E], E[-1].T),
            "You gave 4 pairs",
        ),
        (lambda E: (E[0], E[1:], E[-1].T), "a list of pairs"),
        (lambda E: (E[0], pairs_of(E)), "three things"),
    ],
)
def test_tied(mine, words, capsys):
    assert words in said_about(capsys, "tied", mine)


def by_zip(E):
    first, *_, last = E
    return first, list(zip(E[:-1], E[1:], strict=True)), last.mT


def test_tied_by_another_route():
    assert check.tied(by_zip) is True


def cold(formula):
    """A formula of gap, share and number of sentences, as a reader types it."""

    def mine(scores, share):
        gap = float(scores.max() - scores.min())
        return formula(gap, share, len(scores))

    return mine


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (cold(lambda g, s, n: g / math.log(s / (1 - s))), "n − 1 of them"),
        (
            cold(lambda g, s, n: g / math.log(n * s / (1 - s))),
            "You count n others",
        ),
        (
            cold(lambda g, s, n: math.log((n - 1) * s / (1 - s)) / g),
            "one over the temperature",
        ),
        (
            cold(lambda g, s, n: g * math.log((n - 1) * s / (1 - s))),
            "not multiplied with it",
        ),
        (
            cold(lambda g, s, n: g / math.log((1 - s) / (s * (n - 1)))),
            "The sign is wrong",
        ),
        (
            cold(lambda g, s, n: g / math.log10((n - 1) * s / (1 - s))),
            "undone by ln",
        ),
        (cold(lambda g, s, n: g / math.log((n - 1) * s)), "below the fraction"),
        (
            cold(lambda g, s, n: g / math.log(s / (1 - s) / (n - 1))),
            "do not divide",
        ),
        (
            lambda scores, share: (
                scores.max() / math.log((len(scores) - 1) * share / (1 - share))
            ),
            "how far it is ahead",
        ),
        (lambda scores, share: 1.0, "yours is 1"),
        (lambda scores, share: torch.ones(2), "one temperature"),
    ],
)
def test_how_cold(mine, words, capsys):
    assert words in said_about(capsys, "how_cold", mine)


def by_logits(scores, share):
    two = scores.sort().values[-2:].double()
    return two.diff() / (math.log(len(scores) - 1) - math.log(1 / share - 1))


def test_how_cold_by_another_route():
    assert check.how_cold(lambda *given: by_logits(*given).item()) is True


def short(scores, right, margin=1.0):
    best = scores.gather(1, right[:, None])
    return margin - best + scores


def others(scores, right):
    keep = torch.ones_like(scores)
    return keep.scatter(1, right[:, None], 0.0)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            lambda s, r: short(s, r).clamp(min=0).sum(1).mean(),
            "counted the right sentence among the wrong",
        ),
        (
            lambda s, r: (short(s, r).clamp(min=0) * others(s, r)).sum(),
            "the sum over the batch",
        ),
        (
            lambda s, r: (
                (short(s, r).clamp(min=0) * others(s, r)).sum(1)
                / (s.shape[1] - 1)
            ).mean(),
            "mean over the sentences",
        ),
        (F.multi_margin_loss, "mean over all sentences"),
        (
            lambda s, r: (
                (short(s, r).clamp(min=0) * others(s, r)).amax(1).mean()
            ),
            "the worst of the wrong",
        ),
        (
            lambda s, r: (short(s, r) * others(s, r)).sum(1).mean(),
            "and earns nothing",
        ),
        (
            lambda s, r: (
                ((2 - short(s, r)).clamp(min=0) * others(s, r)).sum(1).mean()
            ),
            "The sign is the other way round",
        ),
        (
            lambda s, r: (
                (short(s, r, 0.0).clamp(min=0) * others(s, r)).sum(1).mean()
            ),
            "The margin is missing",
        ),
        (F.cross_entropy, "softmax's cross-entropy"),
        (lambda s, r: short(s, r).clamp(min=0).sum(1), "take their mean"),
        (lambda s, r: short(s, r).clamp(min=0), "add them up"),
        (lambda s, r: torch.tensor(7.0), "Not the right value"),
    ],
)
def test_margin_loss(mine, words, capsys):
    assert words in said_about(capsys, "margin_loss", mine)


def by_relu(scores, right):
    best = scores[torch.arange(len(scores)), right]
    return (F.relu(1 - best[:, None] + scores).sum(1) - 1).mean()


def by_torch(scores, right):
    return F.multi_margin_loss(scores, right) * scores.shape[1]


@pytest.mark.parametrize("mine", [by_relu, by_torch])
def test_margin_loss_by_another_route(mine):
    assert check.margin_loss(mine) is True
