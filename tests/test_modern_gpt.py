"""A GPT since 2017: each flag against torch's own, or by algebra."""

import itertools
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lookback.feedforward import FeedForward
from lookback.kv_cache import KVCache
from lookback.modern_gpt import (
    GPT,
    PUBLISHED,
    Block,
    Experts,
    GPTConfig,
    Published,
    RMSNorm,
    TiledAttention,
    biases,
    cache_bytes,
    flash,
    generate,
    imbalance,
    rms_norm,
    routing,
    slopes,
    traffic,
    width_of,
)
from lookback.positions import rotate

SMALL = GPTConfig(vocab=11, d_model=16, layers=2, heads=4, d_ff=24)
TODAY = replace(
    SMALL,
    norm="pre",
    rms=True,
    activation="swiglu",
    positions="rope",
    kv_heads=2,
)
FLAGS = {
    "2017": SMALL,
    "pre": replace(SMALL, norm="pre"),
    "rms": replace(SMALL, rms=True),
    "gelu": replace(SMALL, activation="gelu"),
    "swiglu": replace(SMALL, activation="swiglu"),
    "rope": replace(SMALL, positions="rope"),
    "alibi": replace(SMALL, positions="alibi"),
    "mqa": replace(SMALL, kv_heads=1),
    "gqa": replace(SMALL, kv_heads=2),
    "window": replace(SMALL, window=3),
    "experts": replace(SMALL, experts=3),
    "flash": replace(SMALL, tile=2),
    "today": TODAY,
    "all": replace(TODAY, positions="alibi", window=3, experts=2, tile=2),
}


def numbers(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def network(config):
    torch.manual_seed(0)
    return GPT(config).double().eval()


def causal(length=6, name="2017"):
    return biases(FLAGS[name], length, length).double()


def kept(caches):
    return sum(cache.bytes() for cache in caches)


def letters(length=9, batch=2, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(11, (batch, length), generator=generator)


def test_rms_norm_is_torchs():
    x, theirs = numbers(3, 5, 16), nn.RMSNorm(16, eps=1e-5).double()
    theirs.weight.data = numbers(16, seed=1)
    torch.testing.assert_close(rms_norm(x, theirs.weight), theirs(x))
    ours = RMSNorm(16).double()
    ours.gain.data = theirs.weight.data
    torch.testing.assert_close(ours(x), theirs(x))
    large = torch.full((16,), 300.0).half()  # its square is none of fp16's
    torch.testing.assert_close(rms_norm(large, large / 300), large / 300)


def test_rms_norm_does_not_subtract_the_mean():
    x = 5 + 0.1 * numbers(4, 16)
    found = rms_norm(x, torch.ones(16).double())
    assert found.mean(-1).min() > 0.99
    square = found.square().mean(-1)
    torch.testing.assert_close(
        square, torch.ones(4).double(), rtol=1e-6, atol=0
    )


def test_the_bends_are_torchs():
    x = numbers(3, 16)
    for name, bend in (("gelu", F.gelu), ("relu", F.relu)):
        torch.manual_seed(0)
        layer = FeedForward(16, 24, name).double()
        theirs = nn.Sequential(layer.W_1, nn.Identity(), layer.W_2)
        theirs[1] = nn.GELU() if name == "gelu" else nn.ReLU()
        torch.testing.assert_close(layer(x), theirs(x))
        torch.testing.assert_close(layer(x), layer.W_2(bend(layer.W_1(x))))


def test_swiglu_has_about_as_many_weights_as_relu():
    def weights(config):
        layer = Block(config).feedforward
        return sum(p.numel() for p in layer.parameters() if p.dim() == 2)

    big = GPTConfig()
    gated = weights(replace(big, activation="swiglu"))
    assert abs(gated / weights(big) - 1) < 0.01


def test_slopes_are_alibis():
    """Eight heads: 1/2, 1/4 … 1/256, as in the paper."""
    assert slopes(8).tolist() == [2.0**-i for i in range(1, 9)]
    assert slopes(4).tolist() == [1 / 4, 1 / 16, 1 / 64, 1 / 256]


def test_alibi_takes_slope_times_distance_from_the_scores():
    found = biases(FLAGS["alibi"], 4, 6)
    assert found.shape == (4, 4, 6)
    for head, i, j in itertools.product(range(4), range(4), range(6)):
        back = (i + 2) - j
        truth = -float(slopes(4)[head]) * back if back >= 0 else -torch.inf
        assert found[head, i, j].item() == pytest.approx(truth)


def test_rope_depends_on_the_offset_only():
    q, k = numbers(1, 16), numbers(1, 16, seed=1)

    def score(m, n):
        return (rotate(q, m) * rotate(k, n)).sum()

    torch.testing.assert_close(score(3, 1), score(103, 101))
    assert (score(3, 1) - score(1, 3)).abs() > 1e-3
    torch.testing.assert_close(score(7, 7), (q * k).sum())


def test_a_text_moved_on_is_the_same_to_rope_and_alibi_but_not_to_the_waves():
    x = numbers(1, 6, 16)
    for name in ("rope", "alibi"):
        torch.manual_seed(0)
        look = Block(FLAGS[name]).attention.double()
        cache, bias = KVCache(), causal(6, name)
        cache.length = 40  # places before, of which nothing is kept
        torch.testing.assert_close(look(x, bias)[0], look(x, bias, cache)[0])
    waves, rope = network(SMALL), network(TODAY)
    given = letters()
    for model, alike in ((waves, False), (rope, True)):
        moved = model.start()
        for cache in moved:
            cache.length = 40
        same = torch.allclose(model(given), model(given, moved))
        assert same is alike


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_shared_keys_are_torchs_enable_gqa(kv_heads):
    config = replace(SMALL, kv_heads=kv_heads)
    torch.manual_seed(0)
    look, x = Block(config).attention.double(), numbers(2, 7, 16)
    query = look.W_Q(x).unflatten(-1, (4, 4)).transpose(1, 2)
    key, value = (
        W(x).unflatten(-1, (kv_heads, 4)).transpose(1, 2)
        for W in (look.W_K, look.W_V)
    )
    truth = F.scaled_dot_product_attention(
        query, key, value, is_causal=True, enable_gqa=True
    )
    truth = look.W_O(truth.transpose(1, 2).flatten(2))
    torch.testing.assert_close(look(x, causal(7))[0], truth)


@pytest.mark.parametrize("tile", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("biased", [False, True])
def test_flash_is_softmax(tile, biased):
    query, key = numbers(2, 3, 5, 8), 3 * numbers(2, 3, 7, 8, seed=1)
    value, bias = numbers(2, 3, 7, 4, seed=2), None
    if biased:
        bias = numbers(3, 5, 7, seed=3).masked_fill(
            torch.ones(5, 7).triu(3).bool(), -torch.inf
        )
    truth = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    found = flash(query, key, value, tile, bias)
    torch.testing.assert_close(found, truth, rtol=0, atol=1e-12)


def test_flash_survives_large_scores_and_a_first_tile_that_is_hidden():
    query, key, value = (400 * numbers(1, 4, 8, seed=s) for s in range(3))
    bias = torch.zeros(4, 4).double()
    bias[:, :2] = -torch.inf
    truth = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    found = flash(query, key, value, 2, bias)
    torch.testing.assert_close(found, truth, rtol=1e-9, atol=1e-9)


def test_flash_has_the_gradient_of_softmax():
    parts = [numbers(1, 4, 8, seed=s).requires_grad_() for s in range(3)]
    flash(*parts, 2).square().sum().backward()
    mine = [part.grad.clone() for part in parts]
    for part in parts:
        part.grad = None
    F.scaled_dot_product_attention(*parts).square().sum().backward()
    for one, part in zip(mine, parts, strict=True):
        torch.testing.assert_close(one, part.grad)


def test_flash_refuses_a_mask_that_it_would_add():
    parts = [numbers(1, 4, 8, seed=s) for s in range(3)]
    with pytest.raises(ValueError, match="bias is torch.bool"):
        flash(*parts, 2, torch.ones(4, 4).tril().bool())


def test_attention_in_tiles_refuses_a_scale_of_its_own():
    look = TiledAttention(16, 4, scaled=False, tile=2).double()
    with pytest.raises(ValueError, match="scale is 1.0: give None"):
        look(numbers(1, 5, 16))


def test_traffic_counted_move_by_move():
    """A slow count of what goes into the fast memory and out of it."""
    for length, d_k, tile in ((8, 2, 4), (12, 3, 5), (6, 4, 1)):
        moved = 0
        for first in range(0, length, tile):
            rows = min(tile, length - first)
            moved += rows * d_k  # Q
            for _ in range(length):
                moved += 2 * d_k  # a key and a value
            moved += rows * d_k  # the result
        assert traffic(length, d_k, tile) == moved
        whole = 4 * length * d_k + 2 * length**2 + 2 * length**2
        assert traffic(length, d_k) == whole


@pytest.mark.parametrize("name", FLAGS)
def test_with_the_cache_the_same_comes_out(name):
    model, given = network(FLAGS[name]), letters()
    whole, caches = model(given), model.start()
    for first, last in ((0, 4), (4, 5), (5, 6), (6, 9)):
        found = model(given[:, first:last], caches)
        torch.testing.assert_close(found, whole[:, first:last])
    assert [cache.length for cache in caches] == [9, 9]


@pytest.mark.parametrize("name", FLAGS)
def test_the_cache_holds_what_the_formula_says(name):
    config, model = FLAGS[name], network(FLAGS[name])
    caches = model.start()
    assert kept(caches) == 0
    model(letters(batch=1), caches)
    last = min(9, config.window or 9)
    per = cache_bytes(config.layers, config.kv_heads, 4, last, 8)
    assert kept(caches) == per


@pytest.mark.parametrize("name", FLAGS)
def test_writing_with_the_cache_and_without_says_the_same(name):
    model, given = network(FLAGS[name]), letters(3)
    for temperature in (0.0, 1.0):
        texts = []
        for cached in (True, False):
            torch.manual_seed(2)
            texts.append(generate(model, given, 6, cached, temperature))
        assert torch.equal(*texts) and texts[0].shape == (2, 9)


@pytest.mark.parametrize("name", FLAGS)
def test_nobody_sees_what_comes_later(name):
    model, given = network(FLAGS[name]), letters()
    other = given.clone()
    other[:, 5:] = (other[:, 5:] + 1) % 11
    torch.testing.assert_close(model(given)[:, :5], model(other)[:, :5])


@pytest.mark.parametrize("name", FLAGS)
def test_every_weight_is_used(name):
    model = network(FLAGS[name]).train()
    given = letters(9, 8)
    model(given).logsumexp(-1).square().sum().backward()
    for part, weight in model.named_parameters():
        if "each" in part or part == "embedding.weight":
            continue  # an expert may have had no letter
        assert weight.grad is not None and weight.grad.abs().sum() > 0, part


def test_a_window_sees_so_many_places_a_layer():
    model, given = network(FLAGS["window"]), letters()
    far, near = given.clone(), given.clone()
    far[:, 3] = (far[:, 3] + 1) % 11  # two layers of three: 4 places back
    near[:, 4] = (near[:, 4] + 1) % 11
    last = model(given)[:, 8]
    torch.testing.assert_close(model(far)[:, 8], last)
    assert (model(near)[:, 8] - last).abs().max() > 1e-6


def test_a_block_is_its_equation():
    x = numbers(2, 5, 16)
    for name in ("2017", "pre"):
        torch.manual_seed(0)
        block = Block(FLAGS[name]).double()
        f, g, one, two = (
            block.attention,
            block.feedforward,
            block.around_attention.norm,
            block.around_feedforward.norm,
        )

        def f(x, look=f):
            return look(x, causal(5))[0]

        if name == "pre":
            y = x + f(one(x))
            truth = y + g(two(y))
        else:
            y = one(x + f(x))
            truth = two(y + g(y))
        torch.testing.assert_close(block(x, causal(5)), truth)


def test_the_block_of_2017_is_torchs_encoder_layer():
    torch.manual_seed(0)
    block = Block(SMALL).double()
    theirs = nn.TransformerEncoderLayer(
        16, 4, 24, dropout=0.0, batch_first=True
    ).double()
    look = block.attention
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(
            torch.cat([look.W_Q.weight, look.W_K.weight, look.W_V.weight])
        )
        theirs.self_attn.in_proj_bias.zero_()
        theirs.self_attn.out_proj.weight.copy_(look.W_O.weight)
        theirs.self_attn.out_proj.bias.zero_()
        for mine, other in (
            (block.feedforward.W_1, theirs.linear1),
            (block.feedforward.W_2, theirs.linear2),
        ):
            other.weight.copy_(mine.weight)
            other.bias.copy_(mine.bias)
    x = numbers(2, 5, 16)
    mask = nn.Transformer.generate_square_subsequent_mask(5).double()
    torch.testing.assert_close(block(x, mask[None]), theirs(x, src_mask=mask))


def test_one_expert_is_the_plain_layer():
    torch.manual_seed(0)
    experts = Experts(replace(SMALL, experts=1)).double()
    x = numbers(2, 5, 16)
    with routing(experts) as routes:
        torch.testing.assert_close(experts(x), experts.each[0](x))
    torch.testing.assert_close(imbalance(*routes), torch.ones(()).double())


def test_each_token_goes_to_its_likeliest_expert():
    torch.manual_seed(0)
    experts, x = Experts(FLAGS["experts"]).double(), numbers(2, 5, 16)
    with routing(experts) as routes:
        found = experts(x)
    for b, t in itertools.product(range(2), range(5)):
        p = experts.router(x[b, t]).softmax(-1)
        e = int(p.argmax())
        torch.testing.assert_close(routes[0][b, t], p)
        torch.testing.assert_close(found[b, t], p[e] * experts.each[e](x[b, t]))


def test_imbalance_is_1_if_even_and_grows_with_a_favourite():
    even = torch.full((1, 3, 3), 1 / 3) + 1e-6 * torch.eye(3)
    assert imbalance(even).item() == pytest.approx(1, abs=1e-5)
    favourite = torch.tensor([1.0, 0, 0]).expand(1, 3, 3)
    assert imbalance(favourite).item() == pytest.approx(3)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"norm": "none"}, "norm is 'none': choose one of post, pre"),
        ({"activation": "tanh"}, "activation is 'tanh'"),
        ({"positions": "learned"}, "choose one of sinusoidal, rope, alibi"),
        ({"kv_heads": 3}, "kv_heads is 3: give a number that divides heads"),
        ({"kv_heads": 0}, "kv_heads is 0"),
        ({"heads": 5}, "heads is 5: give a number that divides d_model"),
        ({"window": 0}, "window is 0: give 1 or more, or None"),
        ({"tile": 0}, "tile is 0: give 1 or more, or None"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        GPTConfig(**wrong)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("GPT-2 small", 124_439_808),
        ("Llama 2 7B", 6_738_415_616),
        ("Mistral 7B", 7_241_732_096),
        ("Qwen3 0.6B", 596_049_920),
    ],
)
def test_published_models_have_exactly_their_parameters(name, count):
    assert PUBLISHED[name].parameters() == count


def test_the_formula_counts_our_own_modules():
    """Ours has biases in the feed-forward layer, whatever the norm."""
    model, config = network(TODAY), TODAY
    sizes = dict(layers=2, d_model=16, heads=4, kv_heads=2, vocab=11)
    formula = Published(**sizes, d_ff=width_of(config)).parameters()
    biases = sum(p.numel() for n, p in model.named_parameters() if "bias" in n)
    assert sum(p.numel() for p in model.parameters()) == formula + biases


def test_the_cache_of_published_models():
    """Mistral's four keys and values a head in the place of sixteen."""
    mistral, llama = PUBLISHED["Mistral 7B"], PUBLISHED["Llama 2 7B"]
    assert mistral.cache(1) == 2 * 32 * 8 * 128 * 2 == 128 * 1024
    assert mistral.cache(32_000) == mistral.cache(4096) == 2**29
    assert cache_bytes(32, 8, 128, 32_000) == 32_000 * mistral.cache(1)
    assert llama.cache(4096) == 2 * 2**30
    assert llama.cache(10) == 4 * mistral.cache(10)
