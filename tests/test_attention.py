"""Attention against torch's own, and what queries, keys, values promise."""

import math

import pytest
import torch
from torch.nn import functional as F

from lookback import attention
from lookback.attention import Attention, attend, causal

LEADS = pytest.mark.parametrize("lead", [(), (2,), (2, 4)], ids=str)
PATHS = pytest.mark.parametrize("explicit", [True, False])


def inputs(lead=(2,), target=5, source=7, d_k=6, d_v=3, dtype=torch.float32):
    draw = torch.Generator().manual_seed(target + source)
    shapes = ((target, d_k), (source, d_k), (source, d_v))
    return [
        torch.randn(*lead, *shape, generator=draw).to(dtype) for shape in shapes
    ]


def some_mask(lead=(2,), target=5, source=7):
    draw = torch.Generator().manual_seed(3)
    mask = torch.rand(*lead, target, source, generator=draw) > 0.4
    mask[..., 2] = True
    return mask


def near(mine, truth, atol=1e-5):
    torch.testing.assert_close(mine, truth, rtol=0, atol=atol)


@LEADS
@PATHS
@pytest.mark.parametrize("masked", [True, False])
def test_equals_torch(lead, explicit, masked):
    given, mask = inputs(lead), some_mask(lead) if masked else None
    context, weights = attend(*given, mask, need_weights=explicit)
    near(context, F.scaled_dot_product_attention(*given, attn_mask=mask))
    assert (weights is not None) == explicit


@PATHS
def test_numbers_in_the_mask_s_place_are_added_to_the_scores(explicit):
    given, bias = inputs(), 3 * torch.randn(5, 7)
    scores = given[0] @ given[1].mT / math.sqrt(6) + bias
    context, _ = attend(*given, bias, need_weights=explicit)
    near(context, scores.softmax(-1) @ given[2])


@PATHS
def test_a_mask_of_whole_numbers_is_one_of_booleans(explicit):
    given, mask = inputs(), some_mask(())
    context, _ = attend(*given, mask, need_weights=explicit)
    near(attend(*given, mask.int(), need_weights=explicit)[0], context)


@LEADS
def test_both_paths_agree_and_so_do_their_gradients(lead):
    grads = []
    for explicit in (True, False):
        given = [each.requires_grad_() for each in inputs(lead)]
        context, _ = attend(*given, some_mask(lead), need_weights=explicit)
        context.square().sum().backward()
        grads.append([each.grad for each in given])
    for mine, truth in zip(*grads, strict=True):
        near(mine, truth)


@PATHS
def test_a_mask_is_broadcast_over_queries_and_heads(explicit):
    given = inputs((2, 4))
    words = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    context, _ = attend(*given, words[:, None, None], need_weights=explicit)
    wide = words[:, None, None].expand(2, 4, 5, 7)
    near(context, F.scaled_dot_product_attention(*given, attn_mask=wide))


def test_equals_a_loop_over_queries_and_keys():
    Q, K, V = inputs((), dtype=torch.float64)
    mask = some_mask(())
    context, weights = attend(Q, K, V, mask)
    for i in range(5):
        e = [math.exp(float(Q[i] @ k) / math.sqrt(6)) for k in K]
        e = [x if may else 0.0 for x, may in zip(e, mask[i], strict=True)]
        alpha = torch.tensor(e, dtype=torch.float64) / sum(e)
        near(weights[i], alpha, 1e-12)
        pairs = zip(alpha, V, strict=True)
        near(context[i], sum(a * v for a, v in pairs), 1e-12)


@PATHS
def test_a_scale_replaces_the_root(explicit):
    given = inputs()
    context, _ = attend(*given, need_weights=explicit, scale=1.0)
    near(context, F.scaled_dot_product_attention(*given, scale=1.0))


@LEADS
def test_rows_sum_to_1_and_masked_weights_are_exactly_0(lead):
    mask = some_mask(lead)
    _, weights = attend(*inputs(lead), mask)
    near(weights.sum(-1), torch.ones(*lead, 5), 1e-6)
    assert (weights[~mask] == 0).all() and (weights[mask] > 0).all()


@PATHS
def test_what_is_masked_has_no_influence(explicit):
    Q, K, V = inputs()
    mask = torch.ones(7, dtype=torch.bool)
    mask[4:] = False
    before, _ = attend(Q, K, V, mask[None, None], explicit)
    K[:, 4:] += 100
    V[:, 4:] -= 1000
    after, _ = attend(Q, K, V, mask[None, None], explicit)
    assert torch.equal(before, after)


@PATHS
def test_the_order_of_the_keys_does_not_matter(explicit):
    Q, K, V = inputs(dtype=torch.float64)
    order = torch.tensor([3, 0, 6, 1, 5, 4, 2])
    context, weights = attend(Q, K, V, None, explicit)
    other, moved = attend(Q, K[:, order], V[:, order], None, explicit)
    near(other, context, 1e-12)
    if explicit:
        near(moved, weights[..., order], 1e-12)


@PATHS
def test_queries_do_not_meet(explicit):
    Q, K, V = inputs(dtype=torch.float64)
    context, _ = attend(Q, K, V, None, explicit)
    one, _ = attend(Q[:, 2:3], K, V, None, explicit)
    near(one, context[:, 2:3], 1e-12)


def test_causal_is_the_lower_triangle():
    for length in (0, 1, 4):
        mask = causal(length)
        assert mask.dtype == torch.bool and mask.shape == (length, length)
        for i in range(length):
            assert mask[i].tolist() == [j <= i for j in range(length)]


@PATHS
def test_causal_by_gradient(explicit):
    torch.manual_seed(0)
    look = Attention(6, 4, 3)
    for i in range(5):
        x = torch.randn(1, 5, 6, requires_grad=True)
        context, _ = look(x, mask=causal(5)[None], need_weights=explicit)
        context[0, i].sum().backward()
        moved = x.grad[0].abs().sum(-1)
        assert (moved[: i + 1] > 0).all() and (moved[i + 1 :] == 0).all()


def test_only_the_value_matrix_makes_values():
    torch.manual_seed(1)
    look, seen = Attention(6, 4, 3), []
    look.W_V.register_forward_hook(lambda _, __, out: seen.append(out))
    x = torch.randn(1, 5, 6)
    other = x + torch.randn(1, 5, 6)
    other[0, 2] = x[0, 2]
    contexts = [look(each)[0] for each in (x, other)]
    assert torch.equal(seen[0][0, 2], seen[1][0, 2])
    assert not torch.allclose(contexts[0][0, 2], contexts[1][0, 2])


def test_self_attention_is_permutation_equivariant():
    torch.manual_seed(2)
    look, x = Attention(6, 4, 3).double(), torch.randn(2, 5, 6).double()
    order = torch.tensor([4, 2, 0, 1, 3])
    near(look(x[:, order])[0], look(x)[0][:, order], 1e-12)


def test_cross_attention_takes_keys_and_values_from_the_memory():
    torch.manual_seed(3)
    look = Attention(6, 4, 3)
    x, memory = torch.randn(2, 5, 6), torch.randn(2, 7, 6)
    context, weights = look(x, memory)
    truth = F.scaled_dot_product_attention(
        look.W_Q(x), look.W_K(memory), look.W_V(memory)
    )
    near(context, truth)
    assert weights.shape == (2, 5, 7)


def test_attention_is_linear_in_the_values_and_in_nothing_else():
    Q, K, V = inputs(dtype=torch.float64)

    def f(Q, K, V):
        return attend(Q, K, V)[0]

    W = torch.randn_like(V)
    near(f(Q, K, V + 2 * W), f(Q, K, V) + 2 * f(Q, K, W), 1e-12)
    for moved in (f(2 * Q, K, V), f(Q, 2 * K, V)):
        assert (moved - 2 * f(Q, K, V)).abs().max() > 0.1


def test_bf16_on_a_cpu_goes_the_explicit_way(monkeypatch):
    given = inputs(dtype=torch.bfloat16)
    assert attention.slow_when_fused(given[0])
    assert not attention.slow_when_fused(given[0].float())
    context, weights = attend(*given, need_weights=False)
    assert weights is None and context.dtype == torch.bfloat16
    truth = attend(*(each.float() for each in given))[0]
    near(context.float(), truth, 0.05)
    monkeypatch.setattr(attention, "slow_when_fused", lambda _: False)
    near(attend(*given, need_weights=False)[0], context, 0.05)


@pytest.mark.cuda
@PATHS
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cpu_equals_cuda(explicit, dtype):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here: nothing to compare with the CPU")
    given, mask = inputs((2, 4), dtype=dtype), some_mask((2, 4))
    here, _ = attend(*given, mask)
    there, weights = attend(
        *(each.cuda() for each in given), mask.cuda(), explicit
    )
    near(there.cpu(), here, 1e-5 if dtype == torch.float32 else 0.05)
    assert (weights is None) != explicit


@pytest.mark.cuda
def test_causal_stands_where_it_is_asked_for():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here: nothing to stand on")
    assert causal(3, torch.device("cuda")).is_cuda
