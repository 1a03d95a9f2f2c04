"""Many heads: against torch's own module, and by their properties."""

import pytest
import torch
from torch import nn

from lookback.attention import causal
from lookback.experiments import pruning
from lookback.heads import MultiHeadAttention, prune
from lookback.lab import corpus
from lookback.lab.corpus import Pair
from lookback.transformer import Transformer, TransformerConfig
from lookback.vocabulary import Vocabulary


def pair(d_model: int, heads: int) -> tuple[MultiHeadAttention, nn.Module]:
    """Ours, and torch's with the same weights."""
    torch.manual_seed(heads)
    mine = MultiHeadAttention(d_model, heads)
    theirs = nn.MultiheadAttention(d_model, heads, batch_first=True)
    maps = (mine.W_Q, mine.W_K, mine.W_V)
    with torch.no_grad():
        for each in (*maps, mine.W_O):
            nn.init.normal_(each.bias)
        theirs.in_proj_weight.copy_(torch.cat([each.weight for each in maps]))
        theirs.in_proj_bias.copy_(torch.cat([each.bias for each in maps]))
    theirs.out_proj.load_state_dict(mine.W_O.state_dict())
    return mine, theirs


def seen(lengths: list[int], longest: int) -> torch.Tensor:
    """True where there is a word: [batch, longest]."""
    return torch.arange(longest) < torch.tensor(lengths).unsqueeze(1)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masked", ["nothing", "padding", "future", "both"])
@pytest.mark.parametrize(("d_model", "heads"), [(8, 1), (12, 3), (64, 8)])
def test_self_attention_is_that_of_torch(d_model, heads, masked, need_weights):
    mine, theirs = pair(d_model, heads)
    x = torch.randn(3, 5, d_model)
    words, past = seen([5, 3, 1], 5), causal(5)
    mask, given = None, {}
    if masked in ("padding", "both"):
        mask = words[:, None, None]
        given["key_padding_mask"] = ~words
    if masked in ("future", "both"):
        mask = past if mask is None else mask & past
        given["attn_mask"] = ~past
    keys, values = mine.project(x)
    result, weights = mine(x, keys, values, mask, need_weights=need_weights)
    truth, maps = theirs(
        x, x, x, need_weights=True, average_attn_weights=False, **given
    )
    torch.testing.assert_close(result, truth, rtol=1e-5, atol=1e-5)
    if need_weights:
        torch.testing.assert_close(weights, maps, rtol=1e-5, atol=1e-5)
    else:
        assert weights is None


@pytest.mark.parametrize("need_weights", [True, False])
def test_cross_attention_is_that_of_torch(need_weights):
    mine, theirs = pair(12, 4)
    x, memory = torch.randn(2, 3, 12), torch.randn(2, 7, 12)
    words = seen([7, 4], 7)
    result, weights = mine(
        x,
        *mine.project(memory),
        words[:, None, None],
        need_weights=need_weights,
    )
    truth, maps = theirs(
        x,
        memory,
        memory,
        key_padding_mask=~words,
        average_attn_weights=False,
    )
    torch.testing.assert_close(result, truth, rtol=1e-5, atol=1e-5)
    if need_weights:
        torch.testing.assert_close(weights, maps, rtol=1e-5, atol=1e-5)
        assert torch.equal(weights[1, ..., 4:], torch.zeros(4, 3, 3))


def test_gradients_are_those_of_torch():
    mine, theirs = pair(12, 3)
    x = torch.randn(2, 5, 12)
    mine(x, *mine.project(x))[0].square().sum().backward()
    theirs(x, x, x)[0].square().sum().backward()
    found = torch.cat([w.weight.grad for w in (mine.W_Q, mine.W_K, mine.W_V)])
    truth = theirs.in_proj_weight.grad
    torch.testing.assert_close(found, truth, rtol=1e-4, atol=1e-4)


def test_a_sentence_does_not_hang_on_its_padding():
    mine, _ = pair(8, 2)
    x = torch.randn(1, 3, 8)
    padded = torch.cat([x, torch.randn(1, 4, 8)], 1)
    mask = seen([3], 7)[:, None, None]
    alone, _ = mine(x, *mine.project(x))
    among, _ = mine(padded, *mine.project(padded), mask)
    torch.testing.assert_close(among[:, :3], alone)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA here")
@pytest.mark.parametrize("need_weights", [True, False])
def test_on_the_gpu_it_is_that_of_torch(need_weights):
    mine, theirs = (each.cuda() for each in pair(64, 8))
    x = torch.randn(3, 9, 64, device="cuda")
    mask = causal(9, x.device)
    result, _ = mine(x, *mine.project(x), mask, need_weights=need_weights)
    truth, _ = theirs(x, x, x, attn_mask=~mask)
    torch.testing.assert_close(result, truth, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("heads", [1, 2, 8, 32])
def test_parameters_do_not_hang_on_the_number_of_heads(heads):
    look = MultiHeadAttention(32, heads)
    assert sum(p.numel() for p in look.parameters()) == 4 * (32 * 32 + 32)


def test_every_head_has_weights_of_its_own_that_sum_to_one():
    mine, _ = pair(12, 3)
    x = torch.randn(2, 5, 12)
    _, weights = mine(x, *mine.project(x), need_weights=True)
    assert weights.shape == (2, 3, 5, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 5))
    assert not torch.allclose(weights[:, 0], weights[:, 1], atol=1e-2)


def test_words_in_another_order_get_the_same_in_that_order():
    mine, _ = pair(12, 3)
    x, order = torch.randn(2, 5, 12), torch.tensor([3, 0, 4, 1, 2])
    before, _ = mine(x, *mine.project(x))
    after, _ = mine(x[:, order], *mine.project(x[:, order]))
    torch.testing.assert_close(after, before[:, order])


def twins(equal_output: bool) -> MultiHeadAttention:
    """Two heads with equal questions, keys and values."""
    torch.manual_seed(0)
    look = MultiHeadAttention(8, 2)
    with torch.no_grad():
        for each in (look.W_Q, look.W_K, look.W_V):
            each.weight[4:], each.bias[4:] = each.weight[:4], each.bias[:4]
        if equal_output:
            look.W_O.weight[:, 4:] = look.W_O.weight[:, :4]
    return look


@pytest.mark.parametrize("equal_output", [True, False])
def test_twins_stay_twins_only_if_they_write_alike(equal_output):
    look = twins(equal_output)
    x, wanted = torch.randn(4, 6, 8), torch.randn(4, 6, 8)
    (look(x, *look.project(x))[0] - wanted).square().mean().backward()
    for each in (look.W_Q, look.W_K, look.W_V):
        same = torch.allclose(each.weight.grad[4:], each.weight.grad[:4])
        assert same == equal_output


@pytest.mark.parametrize("head", [0, 1, 2])
def test_a_pruned_head_is_out_of_the_sum(head):
    mine, _ = pair(12, 3)
    x = torch.randn(2, 5, 12)
    keys, values = mine.project(x)
    before, weights = mine(x, keys, values, need_weights=True)
    term = (weights @ values)[:, head]
    columns = mine.W_O.weight[:, 4 * head : 4 * head + 4].clone()
    prune(mine, head)
    after, _ = mine(x, keys, values)
    torch.testing.assert_close(
        before - after, term @ columns.T, rtol=1e-4, atol=1e-5
    )
    prune(mine, head)  # a second time changes nothing
    torch.testing.assert_close(mine(x, keys, values)[0], after)


def test_with_all_heads_pruned_the_bias_is_left():
    mine, _ = pair(12, 3)
    x = torch.randn(2, 5, 12)
    for head in range(3):
        prune(mine, head)
    result, _ = mine(x, *mine.project(x))
    torch.testing.assert_close(result, mine.W_O.bias.expand(2, 5, 12))


@pytest.mark.parametrize("head", [-1, 3])
def test_a_head_that_is_not_there_cannot_be_pruned(head):
    with pytest.raises(ValueError, match="there are 3"):
        prune(MultiHeadAttention(12, 3), head)


@pytest.mark.parametrize("heads", [0, -2, 5])
def test_heads_that_do_not_divide_the_width_are_refused(heads):
    with pytest.raises(ValueError, match="cannot share 12 dimensions"):
        MultiHeadAttention(12, heads)


@pytest.mark.parametrize("kv_heads", [0, 3, 8])
def test_keys_that_heads_cannot_share_equally_are_refused(kv_heads):
    with pytest.raises(ValueError, match=f"kv_heads is {kv_heads}"):
        MultiHeadAttention(16, 4, kv_heads=kv_heads)


def test_heads_go_in_the_order_of_their_harm():
    torch.manual_seed(0)
    config = TransformerConfig(9, 9, d_model=8, heads=2, layers=2, d_ff=8)
    model = Transformer(config)
    every = pruning.heads(model)
    assert len(every) == 12 and len(set(every)) == 12
    harm = dict(zip(every, torch.randperm(12).tolist(), strict=True))

    def is_silent(head):
        look = pruning.attentions(model)[head.kind, head.layer]
        return not look.W_O.weight[:, 4 * head.head : 4 * head.head + 4].any()

    def measure():
        return float(sum(harm[head] for head in every if is_silent(head)))

    alone = {head: pruning.silenced(model, head, measure) for head in every}
    assert alone == harm  # and all of them have their weights back
    gone = []
    pruning.remove_one_by_one(
        model, alone, measure, lambda head, loss: gone.append((head, loss))
    )
    assert [harm[head] for head, _ in gone] == list(range(12))
    assert gone[-1][1] == sum(range(12))
    assert all(is_silent(head) for head in every)


def test_pruning_measures_each_head_and_then_removes_them_all(monkeypatch):
    words = ["a", "b", "c", "d", "e"]
    pairs = [Pair(words[i : i + 2], words[i : i + 3]) for i in range(3)]
    monkeypatch.setattr(corpus, "load", lambda _: pairs)
    vocabulary = Vocabulary(words)
    sizes = {"d_model": 8, "heads": 2, "layers": 1, "d_ff": 8}
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(9, 9, **sizes)).eval()
    found = pruning.summary(pruning.measured(model, vocabulary, vocabulary))
    single, curve = found["single"], found["curve"]
    for row in single:
        assert row["harm"] == pytest.approx(row["loss"] - found["loss"])
    every = {tuple(row[k] for k in pruning.Head._fields) for row in single}
    assert len(single) == len(every) == found["heads"] == 6
    assert [row["removed"] for row in curve] == list(range(7))
    assert {
        tuple(row[k] for k in pruning.Head._fields) for row in curve[1:]
    } == every
    first = [row["loss"] for row in curve[:2]]
    assert first == pytest.approx(
        [found["loss"], min(r["loss"] for r in single)]
    )
    assert not any(
        look.W_O.weight.any() for look in pruning.attentions(model).values()
    )
