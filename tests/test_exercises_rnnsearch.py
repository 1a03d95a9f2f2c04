"""Plausible wrong answers to RNNsearch's exercises, and their hints."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from test_exercises import BOOK, altered, said_about
from torch.nn import functional as F

from lookback.exercises import check, rnnsearch

pytestmark = pytest.mark.nightly

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
        ([2.72], "You gave 1 number;"),
        ([5, 5], "no slip that the check knows"),
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


LOOK = "e.masked_fill(~mask, -torch.inf).softmax(dim=-1)"
TURN = "(h[:, 0].chunk(2, dim=-1)[1])"


@pytest.mark.parametrize(
    "old, new, words",
    [
        (
            "annotate(self.encoder, self.source_embedding(source), mask)",
            "self.encoder(self.source_embedding(source))[0]",
            "begins in the padding",
        ),
        (LOOK, "e.softmax(dim=-1)", "The padding gets weight"),
        (LOOK, "e.masked_fill(mask, -1e9).softmax(dim=-1)", "mask is inverted"),
        (
            LOOK,
            "e.masked_fill(mask, -torch.inf).softmax(dim=-1)",
            "True = may be looked at",
        ),
        (
            LOOK,
            LOOK.replace("dim=-1", "dim=0"),
            "over the source words, dim=-1",
        ),
        (
            "torch.tanh(self.W(s).unsqueeze(1) + keys)",
            "(self.W(s).unsqueeze(1) + keys)",
            "tanh is missing in your energies",
        ),
        (
            "c, weights = self.look(s, h, keys, mask)",
            "c, weights = self.look(s, h, keys, mask)\n"
            "            after = self.decoder(torch.cat([y, c], dim=-1), s)\n"
            "            c, weights = self.look(after, h, keys, mask)",
            "as Luong did",
        ),
        (
            TURN,
            "(h[range(len(h)), mask.sum(1) - 1].chunk(2, dim=-1)[0])",
            "forward reader's last state",
        ),
        (TURN, "(h[:, -1].chunk(2, dim=-1)[0])", "which is padding"),
        (
            TURN,
            "(self.encoder(self.source_embedding(source))[1][0])",
            "run on into the padding",
        ),
        (
            "t = self.maxout",
            "c, weights = self.look(s, h, keys, mask)\n"
            "            t = self.maxout",
            "You look twice",
        ),
        (TURN, "(h[:, 0].chunk(2, dim=-1)[0])", "Take the second half"),
        (TURN, "(h[:, -1].chunk(2, dim=-1)[1])", "it has only begun"),
        (f"self.bridge{TURN})", f"0 * self.bridge{TURN})", "from zeros"),
        (f"torch.tanh(self.bridge{TURN})", f"self.bridge{TURN}", "the bridge"),
        (
            "self.decoder(torch.cat([y, c], dim=-1), s)",
            "self.decoder(torch.cat([c, y], dim=-1), s)",
            "fed [c; y]",
        ),
        ("[s, y, c]", "[y, s, c]", "given [y; s; c]"),
        (
            "t = t.unflatten(-1, (-1, 2)).amax(dim=-1)",
            "t = t.unflatten(-1, (2, -1)).amax(dim=-2)",
            "the larger of two NEIGHBOURS",
        ),
        (".amax(dim=-1)", ".mean(dim=-1)", "mean of each pair"),
        ("t.unflatten(-1, (-1, 2)).amax(dim=-1)", "t[..., ::2].relu()", "ReLU"),
        (
            "torch.stack(logits, dim=1), torch.stack(looks, dim=1)",
            "torch.stack(logits), torch.stack(looks)",
            "Stack along dim=1",
        ),
        (", torch.stack(looks, dim=1)", "", "Give back two tensors"),
        ("self.bridge", "self.start", "no part `bridge`"),
        ("hidden, bias=False)", "hidden)", "Your part `W` has parameters"),
        ("self, source, target):", "self, source):", "with 2 arguments"),
        (
            "self.v = ",
            "self.more = nn.Linear(2, 2)\n        self.v = ",
            "does not name: more.weight, more.bias",
        ),
    ],
)
def test_soft_search(old, new, words, capsys):
    assert words in said_about(
        capsys, "soft_search", altered(check.soft_search, old, new)
    )


def test_soft_search_asked_with_the_new_state_in_the_readout(capsys):
    old = altered(
        check.soft_search,
        "s = self.decoder(torch.cat([y, c], dim=-1), s)\n"
        "            t = self.maxout(torch.cat([s, y, c], dim=-1))",
        "t = self.maxout(torch.cat([s, y, c], dim=-1))\n"
        "            s = self.decoder(torch.cat([y, c], dim=-1), s)",
    )
    assert "give it s_i" in said_about(capsys, "soft_search", old)


def test_soft_search_with_the_context_of_the_word_before(capsys):
    luong = altered(
        check.soft_search,
        "c, weights = self.look(s, h, keys, mask)\n"
        "            s = self.decoder(torch.cat([y, c], dim=-1), s)",
        "c = c if logits else 0 * h[:, 0]\n"
        "            s = self.decoder(torch.cat([y, c], dim=-1), s)\n"
        "            c, weights = self.look(s, h, keys, mask)",
    )
    said = said_about(capsys, "soft_search", luong)
    assert "the context of the word before" in said


def test_soft_search_takes_loops():
    """One source word and one sentence after another."""

    class Slow(rnnsearch.SoftSearch):
        def look(self, s, h, keys, mask):
            contexts, shares = [], []
            for b in range(len(h)):
                real = int(mask[b].sum())
                e = [
                    self.v @ torch.tanh(self.W(s[b]) + self.U(h[b, j]))
                    for j in range(real)
                ]
                share = torch.stack(e).softmax(0)
                contexts.append(sum(share[j] * h[b, j] for j in range(real)))
                shares.append(F.pad(share, (0, h.shape[1] - real)))
            return torch.stack(contexts), torch.stack(shares)

    assert check.soft_search(Slow) is True


def test_soft_search_takes_a_function_that_makes_the_module():
    class Flat(rnnsearch.SoftSearch):
        def forward(self, source, target):
            mask = source != 0
            h = rnnsearch.annotate(
                self.encoder, self.source_embedding(source), mask
            )
            s = self.bridge(h[:, 0, h.shape[-1] // 2 :]).tanh()
            words, both = self.target_embedding(target), []
            for i in range(target.shape[1]):
                e = (self.W(s)[:, None] + self.U(h)).tanh().matmul(self.v)
                e[~mask] = -INF
                a = e.softmax(1)
                c = (a[..., None] * h).sum(1)
                s = self.decoder(torch.cat((words[:, i], c), 1), s)
                t = self.maxout(torch.cat((s, words[:, i], c), 1))
                t = torch.maximum(t[:, ::2], t[:, 1::2])
                both.append((self.output(t), a))
            logits, looks = zip(*both, strict=True)
            return torch.stack(logits, 1), torch.stack(looks, 1)

    def make(vocab, embed, hidden):
        return Flat(vocab, embed, hidden)

    assert check.soft_search(make) is True


def test_soft_search_wants_the_class_itself(capsys):
    made = rnnsearch.SoftSearch(7, 4, 6)
    assert "the class itself" in said_about(capsys, "soft_search", made)
    assert "torch.nn.Module" in said_about(
        capsys, "soft_search", lambda vocab, embed, hidden: dict
    )


def test_strings_are_reversed_and_new_in_every_step():
    source, target = rnnsearch.strings(50, seed=1)
    for row, back in zip(source.tolist(), target.tolist(), strict=True):
        length = row.index(3)
        assert 5 <= length <= 10 and back[0] == 2
        assert back[1 : length + 2] == [*row[:length][::-1], 3]
        assert not any(row[length + 1 :] + back[length + 2 :])
    assert not torch.equal(source, rnnsearch.strings(50, seed=2)[0])


def ruled(change):
    """A machine that knows the rule, its logits and weights changed."""

    def mine(source, target):
        return change(
            *check.looks_backwards.solution(source, target), source, target
        )

    return mine


def said(letters, weights):
    return 9.0 * F.one_hot(letters, 30), weights


def forwards(logits, weights, source, target):
    return said(F.pad(source, (0, 1))[:, : target.shape[1]], weights)


def unending(logits, weights, source, target):
    return logits.clone().index_fill(2, torch.tensor([3]), -9.0), weights


def peeking(logits, weights, source, target):
    return said(F.pad(target[:, 1:], (0, 1)), weights)


def blind(logits, weights, source, target):
    inside = source.sort(descending=True).values
    return said(inside[:, :1].expand_as(target), weights)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda z, a, x, y: (z.flip(0), a), "without a mistake"),
        (lambda z, a, x, y: said(y, a), "repeats the word"),
        (lambda z, a, x, y: (z * 0, a), "the same, whatever the string"),
        (forwards, "copies the string forwards"),
        (unending, "<end> is a word"),
        (peeking, "words that it must still say"),
        (blind, "in which order the letters stand"),
        (lambda z, a, x, y: (z, a * 2), "do not sum to 1"),
        (lambda z, a, x, y: (z, a * 0 + 1 / 11), "padding gets weight"),
        (
            lambda z, a, x, y: (z, a.roll(1, 1)),
            "rows come a word late",
        ),
        (lambda z, a, x, y: (z, a.roll(-1, 1)), "rows come a word early"),
        (
            lambda z, a, x, y: (
                z,
                F.one_hot(0 * y, x.shape[1]).to(a),
            ),
            "beside its letter",
        ),
        (lambda z, a, x, y: z, "Give back two tensors"),
        (lambda z, a, x, y: (z, a.mT), "transpose"),
    ],
)
def test_looks_backwards(change, words, capsys):
    assert words in said_about(capsys, "looks_backwards", ruled(change))


def test_a_soft_look_is_enough():
    def soft(logits, weights, source, target):
        real = (source != 0).unsqueeze(1)
        even = real / real.sum(-1, keepdim=True)
        return logits, 0.6 * weights + 0.4 * even

    assert check.looks_backwards(ruled(soft)) is True


def test_the_training_loop_teaches():
    torch.manual_seed(0)
    model = rnnsearch.SoftSearch(30, embed=8, hidden=12)
    source, target = rnnsearch.strings(64, seed=99)

    def loss():
        with torch.no_grad():
            logits, _ = model(source, target[:, :-1])
        return F.cross_entropy(logits.mT, target[:, 1:], ignore_index=0)

    before = loss()
    rnnsearch.train_search(model, steps=30)
    assert loss() < before - 0.02


@pytest.mark.weekly
@pytest.mark.parametrize("seed", range(3))
def test_the_solution_learns_to_look_backwards(seed):
    torch.manual_seed(seed)
    model = rnnsearch.SoftSearch(30, embed=32, hidden=64)
    rnnsearch.train_search(model)
    assert check.looks_backwards(model) is True


def test_the_book_draws_the_anti_diagonal():
    page = BOOK / "rnnsearch.md"
    (stub,) = [
        fence
        for fence in re.findall(
            r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S
        )
        if "def drawn(" in fence
    ]
    space = {"torch": torch}
    exec(stub, space)
    widget = space["drawn"](check.looks_backwards.solution, "noir")
    assert widget.examples[0]["target"] == [*"rion", "<end>"]
    assert widget.weights()[:4, :4].argmax(1).tolist() == [3, 2, 1, 0]
