"""The memory networks against slow loops, and what their looks must be."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from lookback.lab.story_task import collate, stories, vocabulary
from lookback.memory_networks import (
    MemN2N,
    MemNN,
    MemoryConfig,
    ages,
    bags,
    hinge_loss,
    hop,
    hop_weights,
    scattered,
)

WORDS = vocabulary()
SMALL = MemoryConfig(len(WORDS), hops=3, d=5)
TOLD = [
    one
    for length in (9, 13)
    for facts in (1, 2, 3)
    for one in stories(0, 3, length, facts)
]


@pytest.fixture(scope="module")
def batch():
    """Stories of two lengths, the shorter ones filled up."""
    return collate(TOLD, WORDS)


def made(kind, seed=0):
    torch.manual_seed(seed)
    return kind(SMALL).double()


def by_hand(model, one):
    """One story, sentence by sentence and hop by hop: logits and weights."""
    A = [part.detach() for part in model.words]
    T = [part.detach() for part in model.ages]

    def sentence(words, table):
        return sum(table[WORDS.index[word]] for word in words)

    u, weights = sentence(one.question, A[0]), []
    for k in range(model.config.hops):
        keys, values = [], []
        for i, words in enumerate(one.sentences):
            old = len(one.sentences) - 1 - i
            keys.append(sentence(words, A[k]) + T[k][old])
            values.append(sentence(words, A[k + 1]) + T[k + 1][old])
        e = torch.stack([u @ key for key in keys])
        p = e.exp() / e.exp().sum()
        for share, value in zip(p, values, strict=True):
            u = u + share * value
        weights.append(p)
    return A[-1] @ u, weights


@pytest.mark.parametrize("i", range(len(TOLD)))
def test_memn2n_is_the_papers_loop(batch, i):
    model = made(MemN2N)
    with torch.no_grad():
        logits, looks = model(batch.story, batch.question)
    expected, weights = by_hand(model, TOLD[i])
    torch.testing.assert_close(logits[i], expected)
    told = len(TOLD[i].sentences)
    for look, weight in zip(looks, weights, strict=True):
        torch.testing.assert_close(look[i, :told], weight)
        assert look[i, told:].abs().sum() == 0


def test_hop_is_torchs_attention_plus_the_question():
    torch.manual_seed(1)
    u = torch.randn(2, 4)
    keys, values = torch.randn(2, 6, 4), torch.randn(2, 6, 4)
    mask = torch.ones(2, 6, dtype=torch.bool)
    mask[1, 4:] = False
    found, p = hop(u, keys, values, mask)
    truth = F.scaled_dot_product_attention(
        u[:, None], keys, values, attn_mask=mask[:, None], scale=1.0
    )
    torch.testing.assert_close(found - u, truth[:, 0])
    torch.testing.assert_close(p.sum(-1), torch.ones(2))


def test_the_colder_the_closer_to_the_best_alone():
    torch.manual_seed(2)
    scores, mask = torch.randn(8, 5), torch.ones(8, 5, dtype=torch.bool)
    mask[:, 3:] = False
    cold = hop_weights(scores, mask, 0.0)
    assert torch.equal(cold.argmax(-1), scores[:, :3].argmax(-1))
    assert torch.equal(cold.sort(-1).values[:, -1], torch.ones(8))
    near = hop_weights(scores, mask, 1e-4)
    torch.testing.assert_close(near, cold)
    assert torch.equal(hop_weights(scores, mask, None), scores * mask)


def test_no_gradient_reaches_the_scores_of_an_arg_max(batch):
    """Told nothing, a hard look learns by its values alone."""
    for temperature, moves in ((1.0, True), (0.0, False)):
        model = made(MemN2N)
        logits, _ = model(batch.story, batch.question, temperature=temperature)
        F.cross_entropy(logits, batch.answer).backward()
        # the first table's rows for ages are keys of hop 1, and no more
        assert (model.ages[0].grad is not None) == moves
        assert model.ages[1].grad.abs().sum() > 0


def test_ages_count_from_the_question_back(batch):
    mask = batch.story.ne(0).any(-1)
    found = ages(mask)
    assert found[0].tolist() == [8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0]
    assert found[-1].tolist() == list(range(12, -1, -1))


def test_scattered_ages_keep_the_order_and_leave_gaps():
    torch.manual_seed(3)
    found = scattered(200, 12, 40)
    assert found.shape == (200, 12)
    assert (found.diff(dim=-1) < 0).all()
    assert found.min() >= 0 and found.max() == 39
    counts = torch.bincount(found.flatten(), minlength=40)
    assert counts.min() > 20  # each age comes up, 60 times on average
    whole = scattered(3, 40, 40)
    assert torch.equal(whole, torch.arange(39, -1, -1).expand(3, -1))


@pytest.mark.parametrize("kind", [MemN2N, MemNN])
def test_what_is_older_than_the_ages_is_forgotten(batch, kind):
    torch.manual_seed(0)
    model = kind(replace(SMALL, ages=4)).double()
    more = (batch.facts,) if kind is MemNN else ()
    one, question = batch.story[-1:], batch.question[-1:]
    more = tuple(each[-1:] for each in more)
    whole, looks = model(one, question, *more)
    recent, short = model(one[:, -4:], question, *more)
    torch.testing.assert_close(whole, recent)
    nothing = 0.0 if kind is MemN2N else -torch.inf
    for look, other in zip(looks, short, strict=True):
        torch.testing.assert_close(look[:, -4:], other)
        assert (look[:, :-4] == nothing).all()


def test_bags_count_words_and_no_padding():
    words = torch.tensor([[[5, 5, 7, 0], [0, 0, 0, 0]]])
    found = bags(words, torch.zeros(9, 2))
    assert found.shape == (1, 2, 9)
    assert found[0, 0].tolist() == [0, 0, 0, 0, 0, 2, 0, 1, 0]
    assert found[0, 1].sum() == 0


def test_without_rows_for_ages_the_order_is_not_seen(batch):
    model = made(MemN2N)
    with torch.no_grad():
        for rows in model.ages:
            rows.zero_()
        one = batch.story[:1, :9]
        shuffled = one[:, torch.randperm(9)]
        question = batch.question[:1]
        torch.testing.assert_close(
            model(one, question)[0], model(shuffled, question)[0]
        )


def match(part, question, found, candidate):
    """s([q, f…], y) with one U for question, facts and candidate together."""
    U = torch.cat([part.asked, part.found, part.offered]).T.detach()
    n = len(WORDS)
    x, y = torch.zeros(3 * n).double(), torch.zeros(3 * n).double()
    for word in question:
        x[WORDS.index[word]] += 1
    for sentence in found:
        for word in sentence:
            x[n + WORDS.index[word]] += 1
    for word in candidate:
        y[2 * n + WORDS.index[word]] += 1
    return U @ x, U @ y


@pytest.mark.parametrize("told", [True, False])
def test_memnn_is_the_papers_loop(batch, told):
    model = made(MemNN)
    with torch.no_grad():
        scores, looks = model(
            batch.story,
            batch.question,
            batch.facts,
            batch.support if told else None,
        )
    for i, one in enumerate(TOLD):
        found, last = [], len(one.sentences) - 1
        for k in range(len(one.support)):
            s = []
            for j, sentence in enumerate(one.sentences):
                x, y = match(model.search, one.question, found, sentence)
                s.append(float(x @ (y + model.ages[last - j].detach())))
            torch.testing.assert_close(
                looks[k][i, : last + 1], torch.tensor(s).double()
            )
            best = one.support[k] if told else s.index(max(s))
            found.append(one.sentences[best])
        for word in ("attic", "office"):
            x, y = match(model.respond, one.question, found, [word])
            torch.testing.assert_close(scores[i, WORDS.index[word]], x @ y)


def test_the_margin_is_torchs():
    torch.manual_seed(4)
    scores = torch.randn(6, 5, dtype=torch.float64)
    right = torch.randint(5, (6,))
    theirs = F.multi_margin_loss(scores, right, reduction="none") * 5
    torch.testing.assert_close(hinge_loss(scores, right), theirs)
    masked = scores.clone()
    masked[:, 4] = -torch.inf  # no sentence there
    right = right.clamp(max=3)
    torch.testing.assert_close(
        hinge_loss(masked, right), hinge_loss(scores[:, :4], right)
    )


def test_a_cold_memn2n_can_be_a_memory_network(batch):
    """The same choices, where it is given the other's tables for one hop."""
    hard, soft = made(MemNN), made(MemN2N)
    with torch.no_grad():
        soft.words[0].copy_(hard.search.offered)
        soft.ages[0].copy_(hard.ages)
        one = torch.ones(len(TOLD), dtype=torch.long)
        _, [scores] = hard(batch.story, batch.question, one)
        u = bags(batch.question, hard.search.asked) @ hard.search.asked
        x = bags(batch.story, soft.words[0])
        mask = batch.story.ne(0).any(-1)
        keys = x @ soft.words[0] + soft.ages[0][ages(mask)]
        _, p = hop(u, keys, keys, mask, 0.0)
    assert torch.equal(p.argmax(-1), scores.argmax(-1))


@pytest.mark.parametrize("kind", [MemN2N, MemNN])
def test_gradients_reach_every_weight(batch, kind):
    model = made(kind)
    if kind is MemN2N:
        logits, _ = model(batch.story, batch.question)
        cost = F.cross_entropy(logits, batch.answer)
    else:
        scores, looks = model(
            batch.story, batch.question, batch.facts, batch.support
        )
        cost = hinge_loss(scores, batch.answer).sum()
        for look, right in zip(looks, batch.support.T, strict=True):
            cost = cost + hinge_loss(look, right.clamp(min=0)).sum()
    cost.backward()
    for name, weight in model.named_parameters():
        assert weight.grad.abs().sum() > 0, name


def test_it_learns_ten_stories_by_heart(batch):
    torch.manual_seed(5)
    model = MemN2N(MemoryConfig(len(WORDS)))
    adam = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(60):
        logits, _ = model(batch.story, batch.question)
        cost = F.cross_entropy(logits, batch.answer)
        adam.zero_grad()
        cost.backward()
        adam.step()
    assert torch.equal(logits.argmax(-1), batch.answer)
