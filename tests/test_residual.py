"""Residual connections and layer normalization, against torch."""

import pytest
import torch
from torch import nn

from lookback.experiments import depth
from lookback.lab import records
from lookback.residual import (
    Sublayer,
    layer_norm,
    published_rate,
    token_spread,
)

X = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("shape", [(3, 7), (2, 5, 16), (4,)])
@pytest.mark.parametrize("epsilon", [1e-5, 1e-12, 0.1])
def test_layer_norm_is_that_of_torch(shape, epsilon):
    draw = torch.Generator().manual_seed(1)
    x = 5 * torch.randn(shape, generator=draw) + 3
    torchs = nn.LayerNorm(shape[-1], eps=epsilon)
    torchs.weight.data = torch.randn(shape[-1], generator=draw)
    torchs.bias.data = torch.randn(shape[-1], generator=draw)
    mine = layer_norm(x, torchs.weight, torchs.bias, epsilon)
    torch.testing.assert_close(mine, torchs(x), rtol=1e-5, atol=1e-5)


def test_layer_norm_ignores_size_and_level():
    one, zero = torch.ones(8), torch.zeros(8)
    y = layer_norm(X, one, zero)
    torch.testing.assert_close(
        layer_norm(9 * X + 4, one, zero), y, atol=1e-4, rtol=1e-4
    )
    torch.testing.assert_close(y.mean(-1), torch.zeros(2, 5), atol=1e-6, rtol=0)
    torch.testing.assert_close(
        y.var(-1, correction=0), torch.ones(2, 5), atol=1e-3, rtol=0
    )


def test_layer_norm_of_equal_numbers_is_the_bias():
    x, bias = torch.full((3, 8), 7.0), torch.arange(8.0)
    assert torch.equal(layer_norm(x, torch.ones(8), bias), bias.expand(3, 8))


@pytest.mark.parametrize(
    "norm, residual, expected",
    [
        ("none", True, lambda x, n: x + 2 * x),
        ("none", False, lambda x, n: 2 * x),
        ("post", True, lambda x, n: n(x + 2 * x)),
        ("post", False, lambda x, n: n(2 * x)),
        ("pre", True, lambda x, n: x + 2 * n(x)),
        ("pre", False, lambda x, n: 2 * n(x)),
    ],
)
def test_a_sublayer_is_its_formula(norm, residual, expected):
    around = Sublayer(8, 0.0, norm, residual)
    y = around(X, lambda x: 2 * x)
    torch.testing.assert_close(y, expected(X, around.norm))


def test_dropout_acts_on_the_change_alone():
    around = Sublayer(8, 0.5, "none").train()
    torch.manual_seed(0)
    change = around(X, lambda x: 2 * x) - X
    kept = change != 0
    assert 0 < kept.sum() < kept.numel()
    torch.testing.assert_close(change[kept], 4 * X[kept])


def test_a_sublayer_that_changes_nothing_lets_its_input_through():
    assert torch.equal(Sublayer(8, 0.0, "none")(X, torch.zeros_like), X)
    assert torch.equal(Sublayer(8, 0.0, "pre")(X, torch.zeros_like), X)
    assert not torch.equal(Sublayer(8, 0.0, "post")(X, torch.zeros_like), X)


def test_state_dict_keys_are_those_of_the_stored_weights():
    assert list(Sublayer(8, 0.1).state_dict()) == ["norm.weight", "norm.bias"]
    assert list(Sublayer(8, 0.1, "none").state_dict()) == []


def test_an_unknown_norm_is_named():
    with pytest.raises(ValueError, match="'batch'.*post, pre, none"):
        Sublayer(8, 0.1, "batch")


def test_apart_is_0_for_equal_rows_and_1_for_opposite_ones():
    row = torch.randn(6)
    assert float(token_spread(row.expand(4, 6))) < 1e-6
    assert float(token_spread(torch.stack([row, -row]))) == pytest.approx(1)


def test_apart_is_the_distance_to_the_nearest_equal_rows():
    x = X[0].double()
    row = x[0].clone().requires_grad_()  # search for a better row
    search = torch.optim.LBFGS([row], max_iter=50)

    def distance():
        search.zero_grad()
        gap = (x - row).square().sum()
        gap.backward()
        return gap

    search.step(distance)
    best = distance().detach().sqrt() / x.norm()
    assert float(token_spread(x)) == pytest.approx(float(best), abs=1e-6)


def test_apart_does_not_depend_on_size_or_order():
    torch.testing.assert_close(token_spread(X), token_spread(1000 * X))
    torch.testing.assert_close(token_spread(X), token_spread(X.flip(1)))
    assert token_spread(X).shape == (2,)


@pytest.mark.parametrize(
    "d_model, step, rate",
    [(512, 4000, 6.99e-4), (1024, 4000, 4.94e-4), (512, 100_000, 1.40e-4)],
)
def test_the_published_rate_has_the_papers_values(d_model, step, rate):
    assert published_rate(step, d_model) == pytest.approx(rate, rel=2e-3)


def test_the_published_rate_rises_in_a_line_and_falls_with_the_root():
    assert published_rate(2000) == pytest.approx(published_rate(4000) / 2)
    assert published_rate(16000) == pytest.approx(published_rate(4000) / 2)
    rates = [published_rate(step) for step in range(1, 9000)]
    assert max(rates) == rates[4000 - 1]


@pytest.mark.parametrize("step", [0, -3])
def test_the_published_rate_counts_from_1(step):
    with pytest.raises(ValueError, match="counts from 1"):
        published_rate(step)


@pytest.mark.nightly
def test_the_experiment_at_a_toys_size(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    small = {
        "SEEDS": (0, 1),
        "GRADIENT_SEEDS": (0,),
        "GRADIENT_DEPTHS": (2,),
        "TRAINING_SEEDS": 2,
        "DEPTHS": (1,),
        "RATES": (depth.RATE,),
        "LAYERS": 2,
        "RATED": 1,
        "STEPS": 20,
        "BATCH": 2,
        "TESTS": 3,
    }
    for name, value in small.items():
        monkeypatch.setattr(depth, name, value)
    monkeypatch.chdir(tmp_path)
    depth.main([])
    results = records.load("depth")["results"]
    assert len(results["collapse"]["attention"]["median"]) == 3
    assert list(results["by_depth"]) == list(depth.TRAINED)[:-1]
    assert results["by_depth"]["pre"]["1"] == results["by_rate"]["pre"]["0.003"]
    monkeypatch.setattr(depth, "train", None)  # all runs are kept
    depth.main([])
    assert records.load("depth")["results"] == results


def test_a_stack_hands_over_every_level():
    torch.manual_seed(0)
    letters, levels = depth.strings(2), []
    stack = depth.Stack("pre", 3)
    assert stack(letters, levels.append).shape == (2, 10, 17)
    assert len(levels) == 4
    assert torch.equal(levels[0], stack.embedding(letters))


@pytest.fixture(scope="module")
def found() -> dict:
    """What the committed record holds."""
    return records.load("depth")["results"]


def test_the_record_shows_the_collapse_that_the_chapter_tells_of(found):
    rows = {part: row["median"] for part, row in found["collapse"].items()}
    for bare in ("attention", "feedforward", "norm"):
        assert rows[bare][5] < 1e-12
    assert rows["pre"][24] > 0.1 > 0.01 > rows["post"][24] > 1e-5
    assert rows["post"][6] > 0.05 and rows["both"][24] > 1e-5
    sizes = {part: row["size"] for part, row in found["collapse"].items()}
    assert sizes["both"][24] > 1e4 and 3 < sizes["pre"][24] < 12
    assert rows["feedforward"][3] < rows["attention"][3]
    assert sizes["feedforward"][24] < 1e-3


def test_the_record_shows_the_gradients_that_the_chapter_tells_of(found):
    def top(norm, layers, matrix="W_2"):
        return found["gradients"][norm][str(layers)][matrix]["median"][-1]

    assert top("post", 24) > 0.9 * top("post", 3)
    assert top("pre", 24) < 0.6 * top("pre", 3)
    queries = found["gradients"]["post"]["24"]["W_Q"]["median"]
    assert queries[-1] < 1e-4 * queries[0]
    alone = found["gradients"]["norm"]["24"]["W_2"]["median"]
    assert alone[0] > 0.05 * alone[-1]
    bare = found["gradients"]["feedforward"]["24"]["W_2"]["median"]
    assert max(bare[0], bare[-1]) < 1e-3


def test_the_record_shows_the_training_that_the_chapter_tells_of(found):
    mean = {
        kind: {n: row["mean"] for n, row in rows.items()}
        for kind, rows in found["by_depth"].items()
    }
    assert all(rows["2"] > 0.5 for rows in mean.values())
    for kind in ("residual", "post", "post, warm-up", "pre"):
        assert mean[kind]["2"] > 0.9
    deep = {kind: rows["8"] for kind, rows in mean.items()}
    assert deep.pop("pre") > 0.9 > 0.5 > max(deep.values())
    for n in ("2", "8"):
        assert abs(mean["post"][n] - mean["post, warm-up"][n]) < 0.1
    assert mean["post, warm-up"]["4"] < mean["post"]["4"] + 0.1
    rate = {
        kind: {n: row["mean"] for n, row in rows.items()}
        for kind, rows in found["by_rate"].items()
    }
    assert rate["post"]["0.01"] < 0.5 < 0.8 < rate["post, warm-up"]["0.01"]
    assert rate["pre"]["0.01"] > 0.9
    assert rate["pre"]["0.03"] < 0.5 < 0.8 < rate["pre, warm-up"]["0.03"]
