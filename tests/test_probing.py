"""Occurrences, bags and probes of `lookback.probing`."""

import pytest
import torch
from torch.nn import functional as F

from lookback import probing
from lookback.probing import Occurrence

DOG_OR_CAR = (("dog", "dogs"), ("car",))


def sentence(text):
    return text.split()


def test_an_occurrence_has_the_sense_of_its_translation():
    sentences = [sentence("a dog 's mouth"), sentence("his mouth is open")]
    linked = [["un", "chien", None, "gueule"], ["sa", "bouche", "est", None]]
    two = (("gueule",), ("bouche",))
    found = probing.occurrences("mouth", two, sentences, linked)
    assert found == [
        Occurrence(sentences[0], 3, 0),
        Occurrence(sentences[1], 1, 1),
    ]


def test_what_french_does_not_tell_is_left_out():
    two = (("gueule",), ("bouche",))
    sentences = [sentence("mouth to mouth"), sentence("a mouth")]
    linked = [["bouche", None, "bouche"], [None, "lèvres"]]
    assert probing.occurrences("mouth", two, sentences, linked) == []


def test_a_pseudo_word_remembers_what_it_was():
    found = probing.pseudo_word(
        "bloop",
        DOG_OR_CAR,
        [
            sentence("a dog runs"),
            sentence("two red car"),
            sentence("a dog in a car"),
            sentence("a cat"),
        ],
    )
    assert found == [
        Occurrence(sentence("a bloop runs"), 1, 0),
        Occurrence(sentence("two red bloop"), 2, 1),
    ]


def test_a_bag_holds_the_words_near_and_not_the_word_itself():
    found = [
        Occurrence(sentence("far a b X c d far"), 3, k % 2) for k in range(3)
    ]
    assert probing.bag(found, -2, 2).sum(1).tolist() == [4, 4, 4]
    assert probing.bag(found, 1, 1).sum(1).tolist() == [1, 1, 1]
    assert probing.bag(found, -99, -1).sum(1).tolist() == [3, 3, 3]
    assert probing.bag(found[:1], -2, 2).shape == (1, 0)  # too rare


def test_a_bag_may_have_the_columns_of_another():
    found = [Occurrence(sentence("a b X c d"), 2, k % 2) for k in range(3)]
    new = [Occurrence(sentence("b a X e d"), 2, 0)]
    whole = probing.bag(found, -2, 2)
    x = probing.bag(new, -2, 2, like=found)
    assert x.shape == (1, whole.shape[1]) and x.sum() == 3  # e is unknown
    assert torch.equal(probing.bag(found[:1], -2, 2, like=found), whole[:1])


def test_balanced_accuracy_does_not_care_how_rare_a_sense_is():
    y = torch.tensor([0] * 9 + [1])
    assert probing.balanced_accuracy(torch.zeros_like(y), y) == 0.5
    assert probing.balanced_accuracy(y, y) == 1.0
    assert probing.balanced_accuracy(torch.ones_like(y), y) == 0.5


def points(n=60, d=5, apart=1.0, seed=0):
    draw = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 3 % 2
    x = torch.randn(n, d, generator=draw, dtype=torch.float64)
    x[:, 0] += apart * y
    return x, y


@pytest.mark.parametrize("penalty", probing.PENALTIES)
def test_the_probe_is_where_the_loss_is_least(penalty, monkeypatch):
    monkeypatch.setattr(probing, "NEWTON", 50)
    x, y = points()
    probe = probing.fit(x, y, penalty)
    scale = (x - x.mean(0)).norm(dim=1).square().mean().sqrt()
    w = (probe.w * scale).clone().requires_grad_()
    b = (probe.b + probe.w @ x.mean(0)).clone().requires_grad_()
    z = (x - x.mean(0)) / scale
    c = torch.where(y == 1, 0.5 / (y == 1).sum(), 0.5 / (y == 0).sum())
    each = F.binary_cross_entropy_with_logits(
        z @ w + b, y.double(), reduction="none"
    )
    loss = (c * each).sum() + penalty / 2 * w.square().sum()
    loss.backward()
    assert w.grad.abs().max() < 1e-4 and b.grad.abs() < 1e-4


def test_the_scale_of_the_vectors_changes_no_probe():
    """What the page says: λ means the same at every level."""
    x, y = points()
    one, two = probing.fit(x, y, 1e-2), probing.fit(30 * x + 7, y, 1e-2)
    torch.testing.assert_close(one.lean(x), two.lean(30 * x + 7))


def test_few_steps_of_newton_say_the_same():
    x, y = points(200, 20)
    few = probing.fit(x, y, 1e-2).lean(x) > 0.5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probing, "NEWTON", 50)
        many = probing.fit(x, y, 1e-2).lean(x) > 0.5
    assert (few == many).double().mean() > 0.98


def test_folds_deal_out_every_sense_evenly():
    _, y = points(53)
    fold = probing.folds(y, 0)
    for k in (0, 1):
        sizes = torch.bincount(fold[y == k], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    assert not torch.equal(fold, probing.folds(y, 1))


def test_a_sense_that_misses_a_fold_is_refused():
    _, y = points(53)
    with pytest.raises(ValueError, match="sense 1 occurs 4 times: give 5"):
        probing.folds(y[:13], 0)
    assert len(probing.folds(y[:14], 0)) == 14


def test_what_can_be_told_is_told_and_what_cannot_is_not():
    x, y = points(200, 10, apart=6.0)
    assert probing.examine(x, y) > 0.97
    assert abs(probing.examine(x, y, shuffled=True) - 0.5) < 0.12
    noise, _ = points(200, 10, apart=0.0)
    assert abs(probing.examine(noise, y) - 0.5) < 0.12


def test_a_probe_never_judges_what_it_has_seen():
    """With as many numbers as points each is learned by heart."""
    y = torch.arange(40) % 2
    x = torch.eye(40, dtype=torch.float64)
    assert probing.examine(x, y) < 0.7


def test_compact_points_are_as_far_apart():
    x = torch.cat([torch.randn(30, 4).double()] * 3, dim=1)
    short = probing.compact(x)
    assert short.shape == (30, 4)
    torch.testing.assert_close(
        torch.cdist(short, short), torch.cdist(x, x), atol=1e-6, rtol=1e-6
    )


def test_compact_points_have_the_same_predictions():
    x, y = points(80, 30)
    one, two = (probing.predictions(v, y) for v in (x, probing.compact(x)))
    assert torch.equal(one, two)
