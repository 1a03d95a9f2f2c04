"""The sliding window and the mixture, against loops and torch's own."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal

from lookback.handwriting import (
    Mixture,
    Writer,
    WriterConfig,
    mixture,
    negative_log_likelihood,
    sample,
    window,
    write,
)
from lookback.lab import synthetic_handwriting

SMALL = WriterConfig(hidden=6, kernels=2, mixtures=3)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def model():
    return Writer(SMALL)


@pytest.fixture
def lines():
    return synthetic_handwriting.lines(
        ["no", "look back"], np.random.default_rng(0)
    )


def test_window_is_equation_46():
    alpha, beta, kappa = (torch.rand(2, 3) * 3 for _ in range(3))
    found = window(alpha, beta, kappa, 4)
    for b in range(2):
        for u in range(1, 5):
            slow = sum(
                a * math.exp(-w * (k - u) ** 2)
                for a, w, k in zip(
                    *(x[b].tolist() for x in (alpha, beta, kappa)), strict=True
                )
            )
            assert found[b, u - 1].item() == pytest.approx(slow, abs=1e-6)


def raw(*shape):
    return torch.randn(*shape, 6 * 3 + 1, dtype=torch.float64)


def test_the_density_is_that_of_torch():
    one, point = mixture(raw(5)), torch.randn(5, 3, dtype=torch.float64)
    point[:, 2] = torch.tensor([0, 1, 0, 1, 1])
    found = negative_log_likelihood(one, point)
    for i in range(5):
        density = 0.0
        for m in range(3):
            a, b = one.log_sigma[i, m].exp()
            cross = one.rho[i, m] * a * b
            covariance = torch.stack(
                [torch.stack([a * a, cross]), torch.stack([cross, b * b])]
            )
            normal = MultivariateNormal(one.mu[i, m], covariance)
            density += (
                one.log_pi[i, m].exp() * normal.log_prob(point[i, :2]).exp()
            )
        e = one.lifted[i].sigmoid()
        pen_ = e if point[i, 2] else 1 - e
        assert found[i].item() == pytest.approx(-(density * pen_).log().item())


def test_the_density_sums_to_one():
    one = Mixture(*(part[0] for part in mixture(raw(1))))
    grid = torch.linspace(-30, 30, 601, dtype=torch.float64)
    x, y = torch.meshgrid(grid, grid, indexing="ij")
    whole = 0.0
    for lifted in (0.0, 1.0):
        point = torch.stack([x, y, torch.full_like(x, lifted)], -1)
        many = Mixture(*(part.expand(601, 601, *part.shape) for part in one))
        whole += negative_log_likelihood(many, point).neg().exp().sum() * 0.01
    assert whole.item() == pytest.approx(1, abs=1e-3)


def test_a_correlation_that_rounds_to_one_has_a_loss():
    sure = torch.full((1, 19), 10.0)
    assert mixture(sure).rho.max() == 1
    loss = negative_log_likelihood(mixture(sure), torch.zeros(1, 3))
    assert loss.isfinite().all()


def test_a_sample_has_the_mixture_s_mean_and_covariance():
    numbers = raw(1).expand(200_000, -1)
    one = mixture(numbers)
    found = sample(one, torch.rand(200_000, 4, dtype=torch.float64))
    weight, mean = one.log_pi[0].exp(), one.mu[0]
    expected = (weight[:, None] * mean).sum(0)
    assert found[:, :2].mean(0).tolist() == pytest.approx(
        expected.tolist(), abs=0.03
    )
    second = torch.zeros(2, 2, dtype=torch.float64)
    for m in range(3):
        a, b = one.log_sigma[0, m].exp()
        cross = one.rho[0, m] * a * b
        own = torch.stack(
            [torch.stack([a * a, cross]), torch.stack([cross, b * b])]
        )
        off = mean[m] - expected
        second += weight[m] * (own + off[:, None] * off)
    assert torch.allclose(found[:, :2].T.cov(), second, rtol=0.05, atol=0.03)
    lifted = one.lifted[0].sigmoid().item()
    assert found[:, 2].mean().item() == pytest.approx(lifted, abs=0.01)


def test_a_bias_sharpens():
    numbers = raw(1)
    plain, sharp = mixture(numbers), mixture(numbers, 1.0)
    assert sharp.log_pi.max() > plain.log_pi.max()
    assert torch.allclose(sharp.log_sigma, plain.log_sigma - 1)
    assert torch.allclose(sharp.lifted, 2 * plain.lifted)
    assert torch.allclose(
        sharp.log_pi, (2 * numbers[:, :3]).log_softmax(-1)
    )  # π̂ (1 + b)


def test_all_at_once_is_step_by_step(model, lines):
    together, phis = model(lines.points, lines.text)
    now, point = model.begin(lines.text), torch.zeros(2, 3)
    for t in range(lines.points.shape[1]):
        numbers, phi, now = model.step(point, lines.text, now)
        assert torch.allclose(numbers, together[:, t], atol=1e-5)
        assert torch.allclose(phi, phis[:, t], atol=1e-5)
        point = lines.points[:, t]


def test_a_point_is_made_from_those_before_it(model, lines):
    points = lines.points.clone().requires_grad_()
    numbers, _ = model(points, lines.text)
    numbers[:, 10].sum().backward()
    assert points.grad[:, :10].abs().sum() > 0
    assert points.grad[:, 10:].abs().sum() == 0


def test_the_window_never_goes_back_and_starts_at_the_usual_speed(model, lines):
    now, point, before = model.begin(lines.text), torch.zeros(2, 3), 0.0
    for point in lines.points.unbind(1):
        _, _, now = model.step(point, lines.text, now)
        assert (now.kappa > before).all()
        before = now.kappa
    still = torch.zeros(1, 6)
    _, kappa = model.place(still, torch.zeros(1, 2), 3)
    assert kappa.flatten().tolist() == pytest.approx([1 / SMALL.points] * 2)


def test_other_lines_of_a_batch_change_nothing(model, lines):
    alone = synthetic_handwriting.lines(["no"], np.random.default_rng(0))
    n = alone.points.shape[1]
    one, _ = model(alone.points, alone.text)
    both, _ = model(lines.points, lines.text)
    assert torch.allclose(one[0], both[0, :n], atol=1e-5)


def test_writing_ends_when_the_window_has_left_the_last_letter(model):
    with torch.no_grad():  # half a letter a point, whatever comes
        model.window.weight[:] = 0
        model.window.bias[-2:] = math.log(0.5)
    text, uniform = synthetic_handwriting.signs("abc"), torch.rand(50, 4)
    points, phis = write(model, text, uniform)
    # κ is 0.5, 1, … 3.5 (as near to the c as to the end), and at 4 it ends.
    assert len(points) == 7 and phis.shape == (7, 4)
    assert phis.argmax(-1).tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert len(write(model, text, uniform[:5])[0]) == 5  # no more numbers
    with torch.no_grad():
        model.window.bias[-2:] = math.log(9.0)
    assert write(model, text, uniform)[0].shape == (0, 3)


@pytest.mark.nightly
def test_a_writer_learns_a_line_by_heart():
    lines = synthetic_handwriting.lines(["ab"], np.random.default_rng(0))
    model = Writer(WriterConfig(hidden=24, kernels=2, mixtures=2))
    adam = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _ in range(120):
        numbers, _ = model(lines.points, lines.text)
        loss = negative_log_likelihood(mixture(numbers), lines.points).mean()
        losses.append(loss.item())
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert losses[0] > 3 and losses[-1] < 1.5
