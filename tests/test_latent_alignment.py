"""The sum outside the softmax is a mixture; inside it is RNNsearch's."""

import pytest
import torch

from lookback.latent_alignment import Afresh, Mixing, MixingConfig
from lookback.transducer import Places, TransducerConfig, shifted_exp
from lookback.vocabulary import END, PAD, START

SOURCE = torch.tensor([[4, 5, 6, 7, END], [8, 4, END, PAD, PAD]])
GIVEN = torch.tensor([[START, 4, 5, 6], [START, 7, END, PAD]])


def model_of(outside):
    torch.manual_seed(0)
    sizes = dict(embed=6, hidden=5, align=3, maxout=4, dropout=0.0)
    model = Mixing(MixingConfig(9, 8, **sizes, outside=outside))
    torch.nn.init.normal_(model.attention.v)
    return model.eval().double()


@torch.no_grad()
def by_hand(model):
    """p(k) of every word, one annotation at a time."""
    heard = model.encode(SOURCE)
    memory = heard.annotations
    state, rows = model.start(heard), []
    for token in GIVEN.unbind(1):
        embedded = model.target_embedding(token)
        state, _, weights = model.advance(embedded, state, memory)
        g = model.readout(state.hidden, embedded)
        f = model.R(memory.values)
        if model.config.outside:
            each = (g[:, None] + f).softmax(-1)
            rows.append(torch.einsum("bs,bsk->bk", weights, each))
        else:
            context = torch.einsum("bs,bsd->bd", weights, memory.values)
            rows.append((g + model.R(context)).softmax(-1))
    return torch.stack(rows, dim=1)


@pytest.mark.parametrize("outside", [False, True])
def test_it_is_the_formula(outside):
    model = model_of(outside)
    with torch.no_grad():
        found = model(SOURCE, GIVEN).softmax(-1)
    torch.testing.assert_close(found, by_hand(model), atol=1e-10, rtol=0)


@pytest.mark.parametrize("outside", [False, True])
def test_word_by_word_is_all_at_once(outside):
    model = model_of(outside)
    with torch.no_grad():
        memory = model.encode(SOURCE)
        state, rows = model.start(memory), []
        for token in GIVEN.unbind(1):
            logits, state, _ = model.step(token, state, memory)
            rows.append(logits.softmax(-1))
        whole = model(SOURCE, GIVEN).softmax(-1)
    torch.testing.assert_close(torch.stack(rows, 1), whole, atol=1e-10, rtol=0)


def test_the_two_have_the_same_weights_and_differ():
    inside, outside = model_of(False), model_of(True)
    for one, other in zip(
        inside.state_dict().items(), outside.state_dict().items(), strict=True
    ):
        assert one[0] == other[0] and torch.equal(one[1], other[1])
    with torch.no_grad():
        gap = inside(SOURCE, GIVEN).softmax(-1) - outside(
            SOURCE, GIVEN
        ).softmax(-1)
    assert gap.abs().max() > 1e-5  # of numbers in double precision


def test_only_outside_can_two_words_be_likely_that_no_place_allows_at_once():
    """f_1 is sure of word 4, f_2 of word 5: outside, both have a half; inside
    the sum of the two may choose a third on which they half agree."""
    f = torch.full((1, 2, 7), -20.0, dtype=torch.double)
    f[0, 0, 4] = f[0, 1, 5] = 20.0
    f[0, :, 6] = 10.0  # the second choice of both
    half = torch.full((1, 1, 2), 0.5, dtype=torch.double)
    mask = torch.ones(1, 2, dtype=torch.bool)
    places = Places(f, *shifted_exp(f), mask, torch.zeros(1, 2).double())
    g = torch.zeros(1, 1, 7, dtype=torch.double)
    inside = model_of(False).mixed(places, g, half).softmax(-1)[0, 0]
    outside = model_of(True).mixed(places, g, half).softmax(-1)[0, 0]
    assert inside[6] > 0.99
    assert outside[4] > 0.49 and outside[5] > 0.49 and outside[6] < 0.01


def afresh():
    torch.manual_seed(0)
    sizes = dict(embed=6, hidden=5, maxout=4, dropout=0.0)
    return Afresh(TransducerConfig(9, 8, **sizes)).eval().double()


@torch.no_grad()
def test_without_a_path_it_is_the_formula():
    model = afresh()
    memory = model.encode(SOURCE)
    embedded, s, _ = model.prediction_states(GIVEN)
    g = model.g(s, embedded)
    found = model(SOURCE, GIVEN).softmax(-1)
    for b in range(2):
        places = int(memory.places.mask[b].sum())
        for u in range(GIVEN.shape[1]):
            scores = [
                model.q(s[b, u]) @ memory.keys[b, t] / 5**0.5
                for t in range(places)
            ]
            p = sum(
                a * (g[b, u] + memory.places.words[b, t]).softmax(-1)
                for t, a in enumerate(torch.stack(scores).softmax(-1))
            )
            torch.testing.assert_close(found[b, u], p, atol=1e-10, rtol=0)


@torch.no_grad()
def test_without_a_path_word_by_word_is_all_at_once():
    model = afresh()
    memory = model.encode(SOURCE)
    state, rows = model.start(memory), []
    for token in GIVEN.unbind(1):
        logits, state, weights = model.step(token, state, memory)
        rows.append(logits.softmax(-1))
        torch.testing.assert_close(weights.sum(-1), torch.ones(2).double())
    whole = model(SOURCE, GIVEN).softmax(-1)
    torch.testing.assert_close(torch.stack(rows, 1), whole, atol=1e-10, rtol=0)
