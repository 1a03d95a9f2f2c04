"""Two cursors: the sum over all paths is the sum over all paths."""

from itertools import combinations_with_replacement
from math import comb

import pytest
import torch
from saying import said as says

from lookback.transducer import (
    Transducer,
    TransducerConfig,
    alignment_posterior,
    backward_sums,
    forward_sums,
)
from lookback.vocabulary import END, PAD, START


def lattice(lengths, words, seed=0, dtype=torch.double):
    """Random log p(write) and log p(step); the last place has no step."""
    torch.manual_seed(seed)
    batch, most = len(lengths), max(lengths)
    mask = torch.arange(most) < torch.tensor(lengths)[:, None]
    table = torch.randn(batch, words, most, 3, dtype=dtype).log_softmax(-1)
    write, step = table[..., 0], table[..., 1].clone()
    for row, length in enumerate(lengths):
        step[row, :, length - 1 :] = -torch.inf
    return write, step, mask


def paths(write, step, length):
    """{places where the words were written: log probability} of a sentence."""
    found = {}
    for places in combinations_with_replacement(range(length), len(write)):
        total, at = torch.zeros((), dtype=write.dtype), 0
        for u, place in enumerate(places):
            total = total + step[u, at:place].sum() + write[u, place]
            at = place
        found[places] = total
    return found


@pytest.mark.parametrize(("lengths", "words"), [((4,), 3), ((5, 2, 1), 4)])
def test_the_sum_is_that_of_all_paths(lengths, words):
    write, step, mask = lattice(lengths, words)
    alpha = forward_sums(write, step, mask)
    total = (alpha[:, -1] + write[:, -1]).logsumexp(-1)
    beta = backward_sums(write, step, mask)
    torch.testing.assert_close(beta[:, 0, 0], total, atol=1e-10, rtol=0)
    w = alignment_posterior(write, step, mask)
    for row, length in enumerate(lengths):
        every = paths(write[row], step[row], length)
        assert len(every) == comb(length - 1 + words, words)
        exact = torch.stack([*every.values()]).logsumexp(0)
        assert abs(total[row] - exact) < 1e-10
        for u in range(words):
            for t in range(length):
                share = torch.stack(
                    [p for places, p in every.items() if places[u] == t]
                ).logsumexp(0)
                assert abs((share - exact).exp() - w[row, u, t]) < 1e-10
        assert (w[row, :, length:] == 0).all()


def test_the_posterior_is_a_gradient():
    write, step, mask = lattice((6, 3), 5)
    write.requires_grad_()
    alpha = forward_sums(write, step, mask)
    total = (alpha[:, -1] + write[:, -1]).logsumexp(-1)
    (slope,) = torch.autograd.grad(total.sum(), write)
    expected = alignment_posterior(write, step, mask).detach()
    torch.testing.assert_close(slope, expected, atol=1e-10, rtol=0)
    torch.testing.assert_close(slope.sum(-1), torch.ones(2, 5).double())


def test_two_hundred_words_each_do_not_underflow():
    write, step, mask = lattice((200, 120), 200)
    alpha = forward_sums(write, step, mask)
    total = (alpha[:, -1] + write[:, -1]).logsumexp(-1)
    assert total.isfinite().all() and (total < -100).all()
    beta = backward_sums(write, step, mask)
    torch.testing.assert_close(beta[:, 0, 0], total, atol=1e-8, rtol=0)


SIZES = dict(embed=6, hidden=5, maxout=4, dropout=0.0)


def model_of(seed=0):
    torch.manual_seed(seed)
    return Transducer(TransducerConfig(9, 8, **SIZES)).eval().double()


def exact(model, source, target):
    """log p(y | x) by every path of every sentence, one at a time."""
    found = []
    for words, said in zip(source, target, strict=True):
        words, said = words[words != PAD], said[said != PAD]
        given = torch.cat([torch.tensor([START]), said[:-1]])
        places = model.encode(words[None])
        g, g_blank, _ = model.predict(given[None])
        f = torch.cat([places.words[0], places.blank[0][:, None]], -1)
        g = torch.cat([g[0], g_blank[0][:, None]], -1)
        table = f[None] + g[:, None]
        table[:, -1, -1] = -torch.inf  # none leaves the last word
        table = table.log_softmax(-1)
        write = table[torch.arange(len(said)), :, said]
        every = paths(write, table[..., -1], len(words))
        found.append(torch.stack([*every.values()]).logsumexp(0))
    return torch.stack(found)


SOURCE = torch.tensor([[4, 5, 6, 7, END], [8, 4, END, PAD, PAD]])
TARGET = torch.tensor([[4, 5, 6, END], [7, END, PAD, PAD]])
GIVEN = torch.tensor([[START, 4, 5, 6], [START, 7, END, PAD]])


def test_the_model_s_probability_is_the_sum_over_paths():
    says("transducer", "By the chain rule these probabilities, multiplied")
    model = model_of()
    with torch.no_grad():
        logits = model(SOURCE, GIVEN)
        said = logits.log_softmax(-1).gather(-1, TARGET[..., None])[..., 0]
        total = (said * (TARGET != PAD)).sum(-1)
        expected = exact(model, SOURCE, TARGET)
    torch.testing.assert_close(total, expected, atol=1e-10, rtol=0)


def test_the_logits_sum_to_what_was_written_so_far():
    """Σ_k exp(logits_u[k]) = p(y_1 … y_u | x), without any softmax."""
    model = model_of()
    with torch.no_grad():
        logits = model(SOURCE, GIVEN)
        said = logits.log_softmax(-1).gather(-1, TARGET[..., None])[..., 0]
    before = said.cumsum(-1)[0] - said[0]
    torch.testing.assert_close(
        logits[0].logsumexp(-1), before, atol=1e-10, rtol=0
    )


def test_word_by_word_is_all_at_once():
    model = model_of()
    with torch.no_grad():
        memory = model.encode(SOURCE)
        state, rows = model.start(memory), []
        for token in GIVEN.unbind(1):
            logits, state, weights = model.step(token, state, memory)
            assert (weights[1, 3:] == 0).all()
            torch.testing.assert_close(weights.sum(-1), torch.ones(2).double())
            rows.append(logits.log_softmax(-1))
        whole = model(SOURCE, GIVEN).log_softmax(-1)
    torch.testing.assert_close(torch.stack(rows, 1), whole, atol=1e-10, rtol=0)


def test_padding_changes_nothing():
    model = model_of()
    with torch.no_grad():
        both = model(SOURCE, GIVEN).log_softmax(-1)[1, :2]
        alone = model(SOURCE[1:, :3], GIVEN[1:, :2]).log_softmax(-1)[0]
    torch.testing.assert_close(both, alone, atol=1e-10, rtol=0)


def test_the_gradient_is_finite_and_right():
    model = model_of().train()
    logits = model(SOURCE, GIVEN)
    loss = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1),
        TARGET.flatten(),
        ignore_index=PAD,
        reduction="sum",
    )
    slopes = torch.autograd.grad(loss, [*model.parameters()])
    expected = torch.autograd.grad(
        -exact(model, SOURCE, TARGET).sum(), [*model.parameters()]
    )
    for slope, right in zip(slopes, expected, strict=True):
        torch.testing.assert_close(slope, right, atol=1e-9, rtol=0)


def test_the_model_s_posterior_is_that_of_its_paths():
    model = model_of()
    with torch.no_grad():
        w = model.align(SOURCE[:1], TARGET[:1])[0]
        places = model.encode(SOURCE[:1])
        g, g_blank, _ = model.predict(GIVEN[:1])
        total, step = model.joint(places, g, g_blank)
        write = model.word_scores(places, g, TARGET[:1]) - total
        every = paths(write[0], step[0], 5)
    exact_total = torch.stack([*every.values()]).logsumexp(0)
    for u in range(4):
        for t in range(5):
            part = [p for where, p in every.items() if where[u] == t]
            share = (torch.stack(part).logsumexp(0) - exact_total).exp()
            assert abs(share - w[u, t]) < 1e-10
