"""What the experiment `explanation` measures, against slow routes."""

import math

import pytest
import torch

from lookback.experiments import explanation as e
from lookback.lab.corpus import Pair, collate
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer, TransformerConfig
from lookback.vocabulary import PAD, Vocabulary

ENGLISH = Vocabulary("a b c d e f".split())
FRENCH = Vocabulary("u v w x y".split())
PAIRS = [
    Pair("a b c d".split(), "u v w".split()),
    Pair("e f".split(), "x y u v".split()),
]


def models():
    torch.manual_seed(0)
    sizes = {"source_vocab": len(ENGLISH), "target_vocab": len(FRENCH)}
    search = RNNsearch(
        RNNsearchConfig(**sizes, embed=6, hidden=8, align=7, maxout=6)
    )
    torch.nn.init.normal_(search.attention.v)
    stack = Transformer(
        TransformerConfig(**sizes, d_model=8, heads=2, layers=2, d_ff=12)
    )
    return [
        one.double().eval().requires_grad_(False) for one in (search, stack)
    ]


@pytest.fixture(params=[0, 1], ids=["RNNsearch", "Transformer"])
def model(request):
    return models()[request.param]


def batch():
    return collate(PAIRS, ENGLISH, FRENCH)


def test_total_variation_and_divergence_at_their_ends():
    p = torch.tensor([1.0, 0, 0])
    q = torch.tensor([0, 0.5, 0.5])
    assert e.total_variation(p, p) == 0 and e.total_variation(p, q) == 1
    assert e.divergence(p, p) == pytest.approx(0, abs=1e-6)
    assert float(e.divergence(p, q)) == pytest.approx(math.log(2))


def test_the_divergence_has_a_gradient_where_a_weight_is_0():
    a = torch.tensor([[0.3, 0.7, 0.0]], requires_grad=True)
    b = torch.tensor([[0.5, 0.5, 0.0]])
    e.divergence(a, b).sum().backward()
    assert a.grad.isfinite().all()


def slow_kendall(a, b):
    both = ties_a = ties_b = 0
    for i in range(len(a)):
        for j in range(i):
            s, t = a[i] - a[j], b[i] - b[j]
            both += (s * t > 0) - (s * t < 0)
            ties_a += s != 0
            ties_b += t != 0
    return both / math.sqrt(ties_a * ties_b)


@pytest.mark.parametrize("seed", range(4))
def test_kendall_is_that_of_a_slow_loop(seed):
    draw = torch.Generator().manual_seed(seed)
    a = torch.randint(0, 5, (7,), generator=draw).double()
    b = torch.rand(7, generator=draw).double()
    full = torch.ones(7, dtype=torch.bool)
    assert float(e.kendall(a, b, full)) == pytest.approx(
        slow_kendall(a.tolist(), b.tolist())
    )
    few = torch.tensor([True] * 5 + [False] * 2)
    assert float(e.kendall(a, b, few)) == pytest.approx(
        slow_kendall(a[:5].tolist(), b[:5].tolist())
    )


def test_with_its_own_weights_it_says_what_it_says(model):
    truth = e.distributions(model, batch())
    for i, now in enumerate(e.moments(model, batch())):
        torch.testing.assert_close(e.says(model, now, now.own), truth[:, i])
        sums = now.own.sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums))


def test_another_order_keeps_the_weights_and_the_padding(model):
    for now in e.moments(model, batch()):
        other = e.reordered(now)
        torch.testing.assert_close(
            other.sort(-1).values, now.own.sort(-1).values
        )
        assert (other * ~now.places[:, None]).abs().max() == 0


@pytest.mark.nightly
def test_what_is_found_is_allowed_and_different(model, monkeypatch):
    monkeypatch.setattr(e, "SEARCH", 30)
    for now in e.moments(model, batch()):
        free = torch.ones(now.own.shape[1], dtype=torch.bool)
        look = e.most_different(model, now, free, 0.2)
        before = e.says(model, now, now.own)
        moved = e.total_variation(e.says(model, now, look), before)
        assert moved.max() <= 0.2 + 1e-9
        apart = e.divergence(look, now.own).mean(-1)
        assert apart.min() > 0.005  # for the short sentence too
        assert (look * ~now.places[:, None]).abs().max() == 0


def test_looks_that_are_not_free_stay():
    model = models()[1]
    now = next(e.moments(model, batch()))
    free = torch.tensor([False, False, True, True])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(e, "SEARCH", 5)
        look = e.most_different(model, now, free, 0.5)
    torch.testing.assert_close(look[:, :2], now.own[:, :2])


def test_the_gradient_is_that_of_a_small_step(model):
    one = collate(PAIRS[:1], ENGLISH, FRENCH)
    found = e.gradients(model, one)
    words = model.source_embedding
    words = words if isinstance(words, torch.nn.Embedding) else words.words
    j = 1
    row, tiny = one.source[0, j], 1e-6

    def log_p():
        logits = model(one.source, one.target_in).log_softmax(-1)
        return logits.gather(-1, one.target_out[..., None])[0, :, 0]

    before = log_p()
    words.weight.data[row] *= 1 + tiny
    slope = (log_p() - before) / tiny
    torch.testing.assert_close(
        found[0, :, j], slope.abs(), rtol=1e-3, atol=1e-6
    )


def test_a_word_that_is_left_out_is_left_out(model):
    one = collate(PAIRS[:1], ENGLISH, FRENCH)
    found = e.left_out(model, one.source[0], one)
    shorter = Pair(["a", "c", "d"], PAIRS[0].target)
    other = e.distributions(model, collate([shorter], ENGLISH, FRENCH))
    truth = e.total_variation(other, e.distributions(model, one))[0]
    torch.testing.assert_close(found[:, 1], truth)
    assert found.shape == (4, 4)


def test_the_diagonal_is_nearest_to_itself():
    near = e.closeness(4, 4)
    assert near.argmax(-1).tolist() == [0, 1, 2, 3]


def test_a_reader_of_single_words_knows_what_the_weights_bring():
    model = models()[0]
    reader = e.Gist(model.config).double()
    one = batch()
    look = torch.zeros(2, one.target_in.shape[1], one.source.shape[1]).double()
    look[:, :, 0] = 1
    before = reader(one, look)
    changed = one._replace(source=one.source.clone())
    changed.source[:, 1] = 5
    torch.testing.assert_close(reader(changed, look), before)


def test_the_imitators_loss_is_0_for_the_model_itself():
    model = models()[0]
    loss = e.imitates(model, 1.0)(model, batch())
    assert float(loss) == pytest.approx(0, abs=1e-6)


def test_told_is_what_forward_says():
    model, one = models()[0], batch()
    logits, looks = e.told(model, one)
    torch.testing.assert_close(logits, model(one.source, one.target_in))
    assert looks.shape == (2, 5, 5)
    assert (looks * (one.source == PAD)[:, None]).sum() == 0


def test_over_seeds_and_spread():
    found = e.over_seeds([{"a": 1.0}, {"a": 3.0}])
    assert found["a"]["mean"] == 2 and found["a"]["each"] == [1.0, 3.0]
    assert e.spread(torch.arange(11.0))["q0.5"] == 5
