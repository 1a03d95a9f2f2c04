"""Ten formulas, each against its chapter's module or torch; what ties them."""

import math

import pytest
import torch
from torch.nn import functional as F

from lookback import handwriting, lookups, ntm, scores
from lookback.attention import attend
from lookback.memory_networks import hop

SOURCE, D = 7, 4


def memory(seed=0, source=SOURCE, d=D):
    draw = torch.Generator().manual_seed(seed)
    numbers = torch.randn(source + 1, d, generator=draw, dtype=torch.float64)
    return numbers[0], numbers[1:]


def close(one, other):
    torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_kernel_regression_row_by_row():
    query, keys = memory()
    near = [
        math.exp(-float((query - key).square().sum()) / (2 * 0.7**2))
        for key in keys
    ]
    truth = torch.tensor([x / sum(near) for x in near], dtype=torch.float64)
    close(lookups.kernel_regression(query, keys, 0.7), truth)


def test_fast_weights_are_one_matrix_times_the_query():
    query, keys = memory()
    values = memory(1)[1][:, :3]
    W = sum(torch.outer(v, k) for k, v in zip(keys, values, strict=True))
    close(lookups.fast_weights(query, keys) @ values, W @ query)


def test_the_soft_window_is_the_chapters():
    query, keys = memory()
    raw = (lookups.drawn(3, query)[:, :2] @ query).exp()
    alpha, beta, kappa = (one[None] for one in raw)
    truth = handwriting.window(alpha, beta, kappa, SOURCE)[0]
    close(lookups.soft_window(query, keys), truth)


def test_rnnsearch_is_the_additive_score():
    query, keys = memory()
    W, U, V = lookups.drawn(3, query)
    energies = scores.additive(query[None, None], keys[None], W, U, V[0])
    close(lookups.rnnsearch(query, keys), energies[0, 0].softmax(-1))


def test_the_memory_network_takes_one_row():
    query, keys = memory()
    [U] = lookups.drawn(1, query)
    each = torch.stack([(U @ query) @ (U @ key) for key in keys])
    truth = F.one_hot(each.argmax(), SOURCE).double()
    close(lookups.memory_network(query, keys), truth)


def test_content_based_attention_is_that_of_the_ntm():
    query, keys = memory()
    strength = torch.full((1, 1, 1), 4.0, dtype=torch.float64)
    truth = ntm.content(query[None, None], strength, keys[None])[0, 0]
    close(lookups.content_based(query, keys), truth)


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_end_to_end_is_a_hop_without_its_sum(temperature):
    query, keys = memory()
    mask = torch.ones(1, SOURCE, dtype=torch.bool)
    _, p = hop(query[None], keys[None], keys[None], mask, temperature)
    close(lookups.end_to_end(query, keys, temperature), p[0])


def test_dot_and_scaled_dot_are_the_chapters():
    query, keys = memory()
    asked, held = query[None, None], keys[None]
    truth = scores.dot(asked, held)[0, 0].softmax(-1)
    close(lookups.dot(query, keys), truth)
    _, truth = attend(query[None], keys, keys)
    close(lookups.scaled_dot(query, keys), truth[0])


def test_linear_attention_row_by_row():
    query, keys = memory()
    each = [(F.elu(query) + 1) @ (F.elu(key) + 1) for key in keys]
    close(lookups.linear(query, keys), torch.stack(each) / sum(each))


# What ties them.


def unit(rows):
    return F.normalize(rows, dim=-1)


def test_kernel_regression_with_unit_keys_is_the_scaled_dot_product():
    query, keys = memory()
    width = len(query) ** 0.25  # b² = √d
    found = lookups.kernel_regression(query, unit(keys), width)
    close(found, lookups.scaled_dot(query, unit(keys)))
    other = lookups.kernel_regression(query, keys, width)
    assert not torch.allclose(other, lookups.scaled_dot(query, keys), atol=0.01)


def test_a_normalised_window_is_a_kernel_regression_over_places():
    beta, kappa = 0.8, torch.tensor([3.3], dtype=torch.float64)
    places = torch.arange(1.0, SOURCE + 1, dtype=torch.float64)[:, None]
    bell = handwriting.window(
        torch.ones(1, 1).double(),
        torch.full((1, 1), beta, dtype=torch.float64),
        kappa[None],
        SOURCE,
    )[0]
    width = (1 / (2 * beta)) ** 0.5
    found = lookups.kernel_regression(kappa, places, width)
    close(bell / bell.sum(), found)


def test_end_to_end_grows_cold_and_is_a_memory_network():
    query, keys = memory()
    [U] = lookups.drawn(1, query)
    cold = lookups.end_to_end(U @ query, keys @ U.T, 1e-6)
    close(cold, lookups.memory_network(query, keys))


def test_linear_attention_without_its_map_and_its_sum_is_fast_weights():
    query, keys = memory()
    mapped = F.elu(keys) + 1
    found = lookups.fast_weights(F.elu(query) + 1, mapped)
    close(found / found.sum(), lookups.linear(query, keys))


def test_the_same_formula_twice_in_2015():
    query, keys = memory()
    close(lookups.end_to_end(query, keys), lookups.dot(query, keys))
    close(
        lookups.dot(query / math.sqrt(D), keys), lookups.scaled_dot(query, keys)
    )


def test_content_based_attention_is_a_scaled_dot_product_of_unit_vectors():
    query, keys = memory()
    found = lookups.dot(4.0 * unit(query), unit(keys))
    close(lookups.content_based(query, keys), found)


# The traits.

SOFT = (True, True, True, False, True)
TRUTH = {
    "kernel regression": SOFT,
    "fast weights": (False, False, True, False, True),
    "soft window": (False, True, False, True, True),
    "RNNsearch": SOFT,
    "memory network": (True, True, True, False, False),
    "content-based": SOFT,
    "end-to-end": SOFT,
    "dot": SOFT,
    "scaled dot": SOFT,
    "linear": SOFT,
}


@pytest.mark.parametrize("name", lookups.KIN)
def test_traits_are_those_that_the_equations_have(name):
    _, attention = lookups.KIN[name]
    assert lookups.traits(attention) == TRUTH[name]
    assert lookups.traits(attention, trials=5, source=4, d=3) == TRUTH[name]


def test_the_family_is_in_the_order_of_its_years():
    years = [year for year, _ in lookups.KIN.values()]
    assert years == sorted(years) and len(lookups.KIN) == 10


@pytest.mark.parametrize(
    ("attention", "truth"),
    [
        (lambda q, k: torch.full_like(k[:, 0], 1 / len(k)), "1100 0"),
        (lambda q, k: k[:, 0].softmax(-1), "11100"),
        (lambda q, k: F.one_hot(torch.tensor(0), len(k)).to(k), "11010"),
        (lambda q, k: (k @ q + torch.arange(len(k))).softmax(-1), "11111"),
        (lambda q, k: -lookups.dot(q, k), "00101"),
        (lambda q, k: k @ q.detach(), "00100"),
    ],
)
def test_traits_of_formulas_that_nobody_wrote(attention, truth):
    found = "".join(str(int(one)) for one in lookups.traits(attention))
    assert found == truth.replace(" ", "")


@pytest.mark.parametrize("name", lookups.KIN)
def test_values_of_equal_sums_do_not_hide_a_gradient(name):
    """With weights that sum to 1 the context's sum is 0 for every query."""
    query, keys = memory()
    keys = keys - keys.mean(1, keepdim=True)
    _, attention = lookups.KIN[name]
    found = lookups.gradient_to_query(attention, query, keys)
    assert found == (name != "memory network")


@pytest.mark.parametrize("name", lookups.KIN)
def test_single_precision_and_any_size(name):
    query, keys = memory(source=3, d=6)
    _, attention = lookups.KIN[name]
    weights = attention(query.float(), keys.float())
    assert weights.shape == (3,) and weights.dtype == torch.float32
    said = lookups.sums_to_one(attention, query.float(), keys.float())
    assert said == TRUTH[name][0]
    torch.testing.assert_close(
        weights.double(), attention(query, keys), rtol=1e-3, atol=1e-5
    )
