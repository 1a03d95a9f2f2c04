"""The scores against loops over pairs, and what each of them promises."""

import math

import pytest
import torch
from torch.nn import functional as F

from lookback import scores
from lookback.attention import attend
from lookback.experiments import scores as experiment
from lookback.lab import records
from lookback.rnnsearch import AdditiveAttention

BATCH, TARGET, SOURCE, ALIGN = 2, 3, 5, 6


def given(seed=0, d_query=4, d_key=4):
    """Random queries, keys and weights in float64."""
    draw = torch.Generator().manual_seed(seed)

    def randn(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    return (
        randn(BATCH, TARGET, d_query),
        randn(BATCH, SOURCE, d_key),
        randn(ALIGN, d_query),
        randn(ALIGN, d_key),
        randn(ALIGN),
    )


def loop(query, key, score):
    """One pair after the other."""
    rows = [
        [[float(score(q, k)) for k in keys] for q in queries]
        for queries, keys in zip(query, key, strict=True)
    ]
    return torch.tensor(rows, dtype=torch.float64)


def same(mine, truth):
    torch.testing.assert_close(mine, truth, rtol=0, atol=1e-12)


def test_additive_equals_a_loop_over_pairs():
    query, key, W, U, v = given(d_query=4, d_key=7)
    truth = loop(query, key, lambda q, k: v @ torch.tanh(W @ q + U @ k))
    same(scores.additive(query, key, W, U, v), truth)


def test_additive_is_rnnsearchs_energy():
    query, key, W, U, v = given()
    attention = AdditiveAttention(4, 4, ALIGN).double()
    with torch.no_grad():
        attention.W.weight.copy_(W), attention.U.weight.copy_(U)
        attention.U.bias.zero_(), attention.v.copy_(v)
        for i in range(TARGET):
            energies = attention.scores(query[:, i], attention.U(key))
            same(scores.additive(query, key, W, U, v)[:, i], energies)


def test_concat_is_additive_with_its_matrices_side_by_side():
    query, key, W, U, v = given(d_query=4, d_key=7)
    both = torch.cat([W, U], dim=1)
    truth = scores.additive(query, key, W, U, v)
    same(scores.concat(query, key, both, v), truth)


def test_dot_and_scaled_dot_equal_loops():
    query, key, *_ = given()
    same(scores.dot(query, key), loop(query, key, lambda q, k: sum(q * k)))
    truth = loop(query, key, lambda q, k: sum(q * k) / 2)
    same(scores.scaled_dot(query, key), truth)


def test_general_equals_a_loop_and_is_a_dot_product_of_maps():
    query, key, W_Q, W_K, _ = given(d_query=4, d_key=7)
    W = W_Q.T @ W_K
    same(
        scores.general(query, key, W),
        loop(query, key, lambda q, k: q @ W @ k),
    )
    mapped = scores.dot(query @ W_Q.T, key @ W_K.T)
    same(scores.general(query, key, W), mapped)


def test_general_with_the_identity_is_dot():
    query, key, *_ = given()
    eye = torch.eye(4, dtype=torch.float64)
    same(scores.general(query, key, eye), scores.dot(query, key))


def test_cosine_is_torchs_and_knows_only_directions():
    query, key, *_ = given()
    truth = F.cosine_similarity(query[:, :, None], key[:, None], dim=-1)
    same(scores.cosine(query, key), truth)
    same(scores.cosine(7 * query, key / 3), truth)


def test_cosine_of_nothing_is_0_with_a_gradient_of_numbers():
    query, key, *_ = given()
    key[0, 0] = 0
    key.requires_grad_()
    found = scores.cosine(query, key)
    assert (found[0, :, 0] == 0).all()
    found.sum().backward()
    assert key.grad.isfinite().all()


def test_scaled_dot_is_what_attention_softmaxes():
    query, key, *_ = given()
    _, weights = attend(query, key, key)
    same(scores.scaled_dot(query, key).softmax(-1), weights)


@pytest.mark.parametrize("d_k", [1, 4, 64, 512])
def test_the_variance_of_the_dot_product_is_d_k(d_k):
    draw = torch.Generator().manual_seed(d_k)
    query = torch.randn(200, 8, d_k, generator=draw)
    key = torch.randn(200, 32, d_k, generator=draw)
    spread = float(scores.dot(query, key).var())
    assert math.isclose(spread, d_k, rel_tol=0.1)
    assert math.isclose(
        float(scores.scaled_dot(query, key).var()), 1, rel_tol=0.1
    )


@pytest.mark.parametrize("n, d", [(8, 4), (32, 64)])
def test_the_sum_keeps_a_block_and_the_product_two_tables(n, d):
    given = experiment.inputs(n, d, torch.device("cpu"))
    kept = (
        experiment.kept(score, given) for score in experiment.SCORES.values()
    )
    assert list(kept) == [4 * (n * n * d + n * n), 4 * (2 * n * d + n * n)]


def test_a_masked_softmax_is_the_softmax_of_what_is_left():
    query, key, *_ = given()
    e = scores.dot(query, key)
    mask = torch.ones(BATCH, 1, SOURCE, dtype=torch.bool)
    mask[0, 0, 3:] = False
    weights = scores.masked_softmax(e, mask)
    assert (weights[0, :, 3:] == 0).all()
    same(weights[0, :, :3], e[0, :, :3].softmax(-1))
    same(weights[1], e[1].softmax(-1))


def test_location_is_a_score_that_no_key_can_move():
    query, _, W, *_ = given()
    truth = loop(query, W.expand(BATCH, -1, -1), lambda q, row: row @ q)
    same(scores.location(query, W), truth)


def test_local_p_equals_luongs_equations():
    draw = torch.Generator().manual_seed(0)
    e = torch.randn(1, 2, 9, generator=draw, dtype=torch.float64)
    p, D = torch.tensor([[0.3, 6.0]], dtype=torch.float64), 3
    found = scores.local_p(e, p, D)
    for i, center in enumerate(p[0].tolist()):
        window = [s for s in range(9) if center - D <= s <= center + D]
        total = sum(math.exp(e[0, i, s]) for s in window)
        for s in range(9):
            weight = math.exp(e[0, i, s]) / total if s in window else 0
            fall = math.exp(-((s - center) ** 2) / (2 * (D / 2) ** 2))
            assert math.isclose(found[0, i, s], weight * fall, abs_tol=1e-12)
    assert (found.sum(-1) < 1).all()


def test_the_experiment_writes_its_record(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(experiment, "LENGTHS", (4, 8))
    monkeypatch.setattr(experiment, "WIDTHS", (2,))
    monkeypatch.setattr(experiment, "BUDGET", 0.0)
    experiment.main([])
    results = records.load("scores")["results"]
    kept = (8 * 8 * 2 + 8 * 8) / (2 * 8 * 2 + 8 * 8)
    assert results["2"]["8"]["ratio"]["kept"] == kept
    assert results["2"]["8"]["rounds"] == experiment.FEWEST
    assert results["2"]["4"]["additive"]["both"] > 0
