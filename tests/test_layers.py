"""The Transformer's layers against torch's own, with copied weights."""

import itertools
from dataclasses import replace

import pytest
import torch
from torch import nn

from lookback.attention import causal
from lookback.heads import attention_weights
from lookback.kv_cache import KVCache
from lookback.layers import DecoderLayer, EncoderLayer, LayerConfig

D, HEADS, D_FF = 12, 3, 20
MASK = torch.tensor(
    [[True, True, True, True, True], [True, True, True] + [False] * 2]
)


def made(kind, norm: str = "post", activation: str = "relu", **more):
    """A layer of that kind, full of random numbers."""
    sizes = {"d_model": D, "heads": HEADS, "d_ff": D_FF}
    config = LayerConfig(**sizes, dropout=0.2, norm=norm, activation=activation)
    return shake(kind(replace(config, **more)), 0)


def shake(module: nn.Module, seed: int) -> nn.Module:
    """Random numbers everywhere: gains and biases too."""
    draw = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        parameter.data = torch.randn(parameter.shape, generator=draw) * 0.4
    return module.eval()


def copy_attention(mine, theirs: nn.MultiheadAttention) -> None:
    maps = [mine.W_Q, mine.W_K, mine.W_V]
    theirs.in_proj_weight.data = torch.cat([each.weight.data for each in maps])
    theirs.in_proj_bias.data = torch.cat([each.bias.data for each in maps])
    theirs.out_proj.load_state_dict(mine.W_O.state_dict())


def twin(mine, kind, norm: str, activation: str):
    """torch's layer of that kind with our layer's weights."""
    theirs = kind(
        D,
        HEADS,
        D_FF,
        activation=activation,
        batch_first=True,
        norm_first=norm == "pre",
    ).eval()
    copy_attention(mine.attention, theirs.self_attn)
    around = [mine.around_attention]
    if hasattr(mine, "cross"):
        copy_attention(mine.cross, theirs.multihead_attn)
        around.append(mine.around_cross)
    around.append(mine.around_feedforward)
    for i, each in enumerate(around, 1):
        norm_there = getattr(theirs, f"norm{i}")
        norm_there.load_state_dict(each.norm.state_dict())
    theirs.linear1.load_state_dict(mine.feedforward.W_1.state_dict())
    theirs.linear2.load_state_dict(mine.feedforward.W_2.state_dict())
    return theirs


def same(mine, theirs) -> None:
    torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("masked", [False, True])
def test_the_encoder_layer_is_that_of_torch(norm, activation, masked):
    mine = made(EncoderLayer, norm, activation)
    theirs = twin(mine, nn.TransformerEncoderLayer, norm, activation)
    x = torch.randn(2, 5, D, generator=torch.Generator().manual_seed(1))
    mask = MASK if masked else torch.ones_like(MASK)
    ours = mine(x, mask[:, None, None])
    torchs = theirs(x, src_key_padding_mask=~mask)
    same(ours[mask], torchs[mask])


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("masked", [False, True])
def test_the_decoder_layer_is_that_of_torch(norm, activation, masked):
    mine = made(DecoderLayer, norm, activation)
    theirs = twin(mine, nn.TransformerDecoderLayer, norm, activation)
    draw = torch.Generator().manual_seed(2)
    y = torch.randn(2, 4, D, generator=draw)
    memory = torch.randn(2, 5, D, generator=draw)
    mask = MASK if masked else torch.ones_like(MASK)
    pair = mine.cross.project(memory)
    ours = mine(y, pair, mask[:, None, None], causal(4))
    torchs = theirs(
        y, memory, tgt_mask=~causal(4), memory_key_padding_mask=~mask
    )
    same(ours, torchs)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_gradients_are_those_of_torch(kind):
    draw = torch.Generator().manual_seed(3)
    x = torch.randn(2, 5, D, generator=draw, requires_grad=True)
    if kind == "encoder":
        mine = made(EncoderLayer)
        theirs = twin(mine, nn.TransformerEncoderLayer, "post", "relu")
        both = [mine(x), theirs(x)]
    else:
        mine = made(DecoderLayer)
        theirs = twin(mine, nn.TransformerDecoderLayer, "post", "relu")
        memory = torch.randn(2, 5, D, generator=draw)
        both = [
            mine(x, mine.cross.project(memory), None, causal(5)),
            theirs(x, memory, tgt_mask=~causal(5)),
        ]
    ours, torchs = (torch.autograd.grad(y.square().sum(), x)[0] for y in both)
    torch.testing.assert_close(ours, torchs, rtol=1e-4, atol=1e-4)


def test_padding_changes_nothing_for_the_words():
    mine = made(EncoderLayer)
    x = torch.randn(1, 5, D, generator=torch.Generator().manual_seed(4))
    alone = mine(x[:, :3], MASK[1:, None, None, :3])
    padded = mine(x, MASK[1:, None, None])
    same(padded[:, :3], alone)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_decoder_layer_does_not_see_ahead(norm):
    mine = made(DecoderLayer, norm)
    draw = torch.Generator().manual_seed(5)
    y = torch.randn(1, 4, D, generator=draw, requires_grad=True)
    memory = mine.cross.project(torch.randn(1, 3, D, generator=draw))
    out = mine(y, memory, None, causal(4))
    for i in range(4):
        (grad,) = torch.autograd.grad(out[0, i].sum(), y, retain_graph=True)
        assert grad[0, i + 1 :].abs().max() == 0 if i < 3 else True
        assert grad[0, : i + 1].abs().sum(-1).min() > 0


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_decoder_layer_word_by_word_is_the_layer_at_once(norm):
    mine = made(DecoderLayer, norm)
    draw = torch.Generator().manual_seed(6)
    y = torch.randn(2, 4, D, generator=draw)
    memory = mine.cross.project(torch.randn(2, 3, D, generator=draw))
    whole, cache = mine(y, memory, None, causal(4)), KVCache()
    words = [mine(word, memory, cache=cache) for word in y.split(1, dim=1)]
    same(torch.cat(words, dim=1), whole)
    assert cache.length == cache.kept() == 4


def test_the_weights_of_each_attention_are_kept_while_one_asks_for_them():
    layer, y = made(DecoderLayer), torch.randn(1, 3, D)
    memory = layer.cross.project(torch.randn(1, 4, D))
    plain = layer(y, memory)
    with attention_weights(layer) as weights:
        same(layer(y, memory), plain)
        layer(y, memory)
    layer(y, memory)  # nobody asks any longer
    assert [w.shape for w in weights] == 2 * [
        (1, HEADS, 3, 3),
        (1, HEADS, 3, 4),
    ]
    same(weights[0].sum(-1), torch.ones(1, HEADS, 3))


def test_a_cache_with_a_window_keeps_the_last():
    cache, keys = KVCache(window=2), torch.arange(12.0).view(1, 1, 3, 4)
    assert cache.kept() == cache.bytes() == 0
    first, _ = cache.extend(keys, -keys)
    assert torch.equal(first, keys)  # those that are new see each other
    both, values = cache.extend(keys[:, :, :1], keys[:, :, :1])
    assert torch.equal(both, keys[:, :, [1, 2, 0]])
    assert torch.equal(values[:, :, :2], -keys[:, :, 1:])
    assert (cache.length, cache.kept(), cache.bytes()) == (4, 2, 2 * 2 * 4 * 4)


@pytest.mark.parametrize(
    "norm, residual",
    list(itertools.product(["post", "pre", "none"], [True, False])),
)
def test_without_a_feed_forward_layer_only_attention_is_there(norm, residual):
    layer = made(EncoderLayer, norm, d_ff=0, residual=residual)
    assert not any("feedforward" in name for name in layer.state_dict())
    assert layer(torch.randn(1, 3, D)).shape == (1, 3, D)
