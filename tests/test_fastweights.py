"""One matrix: its forms against each other, a slow loop, and torch's own."""

import pytest
import torch
from torch.nn import functional as F

from lookback.attention import causal
from lookback.fastweights import (
    delta,
    delta_chunks,
    delta_weights,
    draw_features,
    elu_feature_map,
    favor,
    gated_delta,
    linear_attention,
    linear_chunks,
    linear_recurrence,
    outer,
    recall,
    remember,
    written,
)
from lookback.scores import unit

BATCH, N, D_K, D_V = 2, 9, 5, 3
EXACT = {"rtol": 0, "atol": 1e-12}


def numbers(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def triple():
    """Queries, keys, values."""
    return (
        numbers(BATCH, N, D_K),
        numbers(BATCH, N, D_K, seed=1),
        numbers(BATCH, N, D_V, seed=2),
    )


def test_the_matrix_is_the_sum_of_outer_products():
    _, k, v = triple()
    W = torch.zeros(BATCH, D_V, D_K, dtype=torch.float64)
    for b in range(BATCH):
        for i in range(N):
            for row in range(D_V):
                for column in range(D_K):
                    W[b, row, column] += v[b, i, row] * k[b, i, column]
    torch.testing.assert_close(remember(k, v), W, **EXACT)
    pairs = sum(outer(v[:, i], k[:, i]) for i in range(N))
    torch.testing.assert_close(pairs, W, **EXACT)


def test_reading_the_matrix_is_attention_without_its_softmax():
    q, k, v = triple()
    W = remember(k, v)
    found = torch.stack([recall(W, q[:, i]) for i in range(N)], 1)
    torch.testing.assert_close(found, (q @ k.mT) @ v, **EXACT)


def test_word_by_word_it_is_causal_attention_without_its_softmax():
    q, k, v = triple()
    W, said = torch.zeros(BATCH, D_V, D_K, dtype=torch.float64), []
    for i in range(N):
        W = W + outer(v[:, i], k[:, i])
        said.append(recall(W, q[:, i]))
    truth = (q @ k.mT).masked_fill(~causal(N), 0) @ v
    torch.testing.assert_close(torch.stack(said, 1), truth, **EXACT)


def test_elu_feature_map():
    x = numbers(50)
    truth = torch.where(x > 0, x + 1, x.exp())
    torch.testing.assert_close(elu_feature_map(x), truth, **EXACT)
    assert (elu_feature_map(x) > 0).all()


def by_loop(q, k, v, causal):
    """Linear attention, one sum after another."""
    said = torch.zeros(BATCH, N, D_V, dtype=torch.float64)
    for b in range(BATCH):
        for i in range(N):
            seen = range(i + 1) if causal else range(N)
            each = [float(q[b, i] @ k[b, j]) for j in seen]
            for w, j in zip(each, seen, strict=True):
                said[b, i] += w / sum(each) * v[b, j]
    return said


@pytest.mark.parametrize("mask", [None, causal(N)])
def test_the_square(mask):
    q, k, v = triple()
    q, k = elu_feature_map(q), elu_feature_map(k)
    found, weights = linear_attention(q, k, v, mask)
    truth = by_loop(q, k, v, mask is not None)
    torch.testing.assert_close(found, truth, **EXACT)
    torch.testing.assert_close(weights @ v, truth, **EXACT)
    ones = torch.ones(BATCH, N, dtype=torch.float64)
    torch.testing.assert_close(weights.sum(-1), ones, **EXACT)
    assert (weights >= 0).all()


def test_the_square_the_loop_and_the_pieces_are_one():
    q, k, v = triple()
    q, k = elu_feature_map(q), elu_feature_map(k)
    truth = linear_attention(q, k, v, causal(N))[0]
    torch.testing.assert_close(linear_recurrence(q, k, v), truth, **EXACT)
    for size in (1, 2, 4, N, 64):
        found = linear_chunks(q, k, v, size)
        torch.testing.assert_close(found, truth, **EXACT)


def test_with_the_exponential_itself_it_is_softmax():
    """φ is unknown for it, but the square needs only φ(q) · φ(k)."""
    q, k, v = triple()
    scores = (q @ k.mT / D_K**0.5).exp()
    eye = torch.eye(N, dtype=torch.float64).expand(BATCH, N, N)
    found, _ = linear_attention(scores, eye, v)
    truth = F.scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(found, truth, **EXACT)


def test_the_delta_rule_is_a_loop():
    _, k, v = triple()
    beta = numbers(BATCH, N, seed=3).sigmoid()
    for b in range(BATCH):
        W = torch.zeros(D_V, D_K, dtype=torch.float64)
        eye = torch.eye(D_K, dtype=torch.float64)
        for i in range(N):
            kk = torch.outer(k[b, i], k[b, i])
            W = W @ (eye - beta[b, i] * kk)
            W = W + beta[b, i] * torch.outer(v[b, i], k[b, i])
        torch.testing.assert_close(delta(k, v, beta)[b], W, **EXACT)


@pytest.mark.parametrize("size", [1, 3, N, 2 * N])
def test_delta_chunks_are_the_recurrent_form(size):
    q, k, v = triple()
    beta = numbers(BATCH, N, seed=3).sigmoid()
    truth = torch.stack(
        [
            recall(delta(k[:, :i], v[:, :i], beta[:, :i]), q[:, i - 1])
            for i in range(1, N + 1)
        ],
        1,
    )
    torch.testing.assert_close(
        delta_chunks(q, k, v, beta, size), truth, **EXACT
    )


def test_gated_delta_is_a_decay_and_the_delta_rule():
    _, k, v = triple()
    beta, alpha = (numbers(BATCH, N, seed=i).sigmoid() for i in (3, 4))
    for b in range(BATCH):
        W = torch.zeros(D_V, D_K, dtype=torch.float64)
        eye = torch.eye(D_K, dtype=torch.float64)
        for i in range(N):
            kk = torch.outer(k[b, i], k[b, i])
            W = alpha[b, i] * W @ (eye - beta[b, i] * kk)
            W = W + beta[b, i] * torch.outer(v[b, i], k[b, i])
        found = gated_delta(k, v, beta, alpha)[b]
        torch.testing.assert_close(found, W, **EXACT)


def test_the_delta_rule_as_weights():
    q, k, v = triple()
    beta = numbers(BATCH, N, seed=3).sigmoid()
    W = delta(k, v, beta)
    torch.testing.assert_close(delta_weights(q, k, beta) @ v, q @ W.mT, **EXACT)
    torch.testing.assert_close(remember(k, written(k, beta) @ v), W, **EXACT)


def test_what_was_written_last_with_beta_1_is_read_exactly():
    _, k, v = triple()
    k = unit(k)
    W = delta(k, v, torch.ones(BATCH, N, dtype=torch.float64))
    torch.testing.assert_close(recall(W, k[:, -1]), v[:, -1], **EXACT)


def test_orthogonal_keys_are_all_read_exactly_by_both_rules():
    k = torch.linalg.qr(numbers(BATCH, 5, 5)).Q
    v = numbers(BATCH, 5, D_V, seed=1)
    one = torch.ones(BATCH, 5, dtype=torch.float64)
    for W in (remember(k, v), delta(k, v, one)):
        torch.testing.assert_close(k @ W.mT, v, **EXACT)


def test_a_key_bound_again():
    """The sum rule reads both values; the delta rule the last."""
    k = unit(numbers(1, 1, D_K)).expand(1, 2, D_K)
    v = numbers(1, 2, D_V, seed=1)
    first, last = v[:, 0], v[:, 1]
    found = recall(remember(k, v), k[:, 0])
    torch.testing.assert_close(found, first + last, **EXACT)
    W = delta(k, v, torch.ones(1, 2, dtype=torch.float64))
    torch.testing.assert_close(recall(W, k[:, 0]), last, **EXACT)


@pytest.mark.parametrize("orthogonal", [False, True])
def test_random_features_are_right_on_average(orthogonal):
    torch.manual_seed(0)
    q, k = 0.4 * numbers(6), 0.4 * numbers(6, seed=1)
    found = torch.stack(
        [
            favor(q, omega) @ favor(k, omega)
            for omega in (draw_features(8, 6, orthogonal) for _ in range(1000))
        ]
    )
    error = float(found.std()) / 1000**0.5
    assert abs(float(found.mean()) - float((q @ k).exp())) < 4 * error


def test_favor_is_its_equation():
    x, omega = numbers(D_K), numbers(4, D_K, seed=1)
    truth = [float((-x @ x / 2).exp() * (w @ x).exp() / 4**0.5) for w in omega]
    torch.testing.assert_close(
        favor(x, omega), torch.tensor(truth, dtype=torch.float64), **EXACT
    )
    assert favor(x.float(), omega).dtype == torch.float32


def test_orthogonal_features_are_at_right_angles_within_a_block():
    torch.manual_seed(0)
    omega = draw_features(7, 4, orthogonal=True)
    likeness = unit(omega) @ unit(omega).mT
    eye = torch.eye(4, dtype=torch.float64)
    torch.testing.assert_close(likeness[:4, :4], eye)
    torch.testing.assert_close(likeness[4:, 4:], eye[:3, :3])
    assert draw_features(7, 4).shape == omega.shape == (7, 4)
