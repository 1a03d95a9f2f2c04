"""Eyes that look three times: the joins, the sums, and the estimator."""

import pytest
import torch

from lookback.glimpses import (
    JOINS,
    Eye,
    EyeConfig,
    Policy,
    look,
    reinforce,
    unseen,
    windows,
)
from lookback.lab import glyphs

SMALL = {"across": 3, "pixels": 4, "hidden": 5, "vocab": 4}


def eye(join="times"):
    torch.manual_seed(0)
    return Eye(EyeConfig(join, **SMALL)).double()


def seen(batch=6, seed=1):
    draw = torch.Generator().manual_seed(seed)
    return torch.rand(batch, 9, 4, generator=draw, dtype=torch.float64)


def fixed(places):
    return lambda h, before: torch.full((len(h),), places[before.shape[1]])


def test_windows_are_squares_in_reading_order():
    picture = torch.arange(36.0).view(1, 6, 6)
    found = windows(picture, 3)
    assert found.shape == (1, 9, 4)
    assert found[0, 0].tolist() == [0, 1, 6, 7]
    assert found[0, 5].tolist() == [16, 17, 22, 23]


@pytest.mark.parametrize("join", JOINS)
def test_a_glimpse_number_by_number(join):
    model, x = eye(join), seen()
    z = model.glimpse(x[:, 3], torch.tensor(3).expand(6))
    for b in range(6):
        what = (model.what.weight @ x[b, 3] + model.what.bias).clamp(min=0)
        truth = {
            "times": what * model.where[3],
            "plus": what + model.where[3],
            "no place": what,
        }[join]
        torch.testing.assert_close(z[b], truth)


def test_looks_add_up_and_their_order_does_not_matter():
    model, x = eye(), seen()
    h, places = look(model, x, 3, fixed((4, 0, 7)))
    other, _ = look(model, x, 3, fixed((7, 4, 0)))
    torch.testing.assert_close(h, other)
    assert places[0].tolist() == [4, 0, 7]
    one = [model.glimpse(x[:, p], torch.tensor(p).expand(6)) for p in (0, 4, 7)]
    torch.testing.assert_close(h, sum(one))
    assert model(h).shape == (6, 4)


def test_without_a_place_two_windows_may_be_exchanged():
    x = seen()
    swapped = x.clone()
    swapped[:, [0, 4]] = x[:, [4, 0]]
    for join in JOINS:
        model = eye(join)
        h, _ = look(model, x, 2, fixed((0, 4)))
        other, _ = look(model, swapped, 2, fixed((0, 4)))
        same = torch.allclose(h, other)
        # what + where is summed: of two places nobody can say which was which
        assert same == (join != "times")


def test_what_was_seen_is_not_drawn_again():
    logits = torch.zeros(2, 9)
    before = torch.tensor([[1, 2], [8, 0]])
    found = unseen(logits, before)
    assert found.eq(-torch.inf).sum() == 4
    assert found[1, 8] == found[0, 1] == -torch.inf
    assert torch.equal(logits, torch.zeros(2, 9))


def test_a_policy_scores_every_place():
    policy = Policy(EyeConfig(**SMALL)).double()
    h = torch.zeros(2, 5, dtype=torch.float64)
    assert policy(h).shape == (2, 9)


def test_reinforce_without_a_baseline_is_a_weighted_log_likelihood():
    log_p = torch.tensor([-1.0, -2.0, -0.5], requires_grad=True)
    reward = torch.tensor([1.0, 0.0, 1.0])
    reinforce(log_p, reward, baseline=False).backward()
    torch.testing.assert_close(log_p.grad, -reward / 3)


def test_the_baseline_is_the_mean_of_the_others():
    log_p = torch.zeros(3, requires_grad=True)
    reward = torch.tensor([1.0, 0.0, 0.5])
    reinforce(log_p, reward).backward()
    others = torch.tensor([0.25, 0.75, 0.5])
    torch.testing.assert_close(log_p.grad, -(reward - others) / 3)
    with pytest.raises(ValueError, match="two pictures"):
        reinforce(log_p[:1], reward[:1])


@pytest.mark.parametrize("baseline", [False, True])
def test_in_the_mean_it_is_the_gradient_of_the_expected_reward(baseline):
    """Over all pairs of draws for two pictures: exactly."""
    logits = torch.tensor([0.3, -0.2, 0.9], dtype=torch.float64)
    worth = torch.tensor([[1.0, 0.0, 0.5], [0.2, 0.7, 0.1]]).double()

    def of(values):
        wants = logits.clone().requires_grad_()
        (found,) = torch.autograd.grad(values(wants), wants)
        return found

    truth = of(lambda x: -(x.softmax(0) * worth).sum(1).mean())
    p, mean = logits.softmax(0), torch.zeros(3, dtype=torch.float64)
    for a in range(3):
        for b in range(3):
            reward = torch.stack([worth[0, a], worth[1, b]])

            def loss(x, a=a, b=b, reward=reward):
                log_p = x.log_softmax(0)[[a, b]]
                return reinforce(log_p, reward, baseline)

            mean += p[a] * p[b] * of(loss)
    torch.testing.assert_close(mean, truth)


def test_pictures_of_letters():
    found, which = glyphs.pictures(2, 0)
    assert found.shape == (52, 20, 20) and which.tolist()[:4] == [0, 0, 1, 1]
    assert found.min() >= 0 and found.max() == 1
    assert (found.sum((1, 2)) > 10).all()
    again, _ = glyphs.pictures(2, 0)
    assert torch.equal(found, again)
    assert not torch.equal(found[0], found[1])  # another hand
    ink = found > 0.5
    at = torch.arange(20.0)
    for one in (ink.any(2), ink.any(1)):  # in the middle
        low = at.where(one, 99).amin(1)
        high = at.where(one, -99).amax(1)
        assert ((low + high) / 2 - 9.5).abs().max() < 1.6


def test_the_top_row_comes_first():
    """A v is wide above and narrow below."""
    found, which = glyphs.pictures(5, 0)
    v = found[which == glyphs.ALPHABET.index("v")] > 0.5
    columns = [part.any(1).sum(1) for part in (v[:, :8], v[:, 12:])]
    assert (columns[0] > columns[1]).all()
