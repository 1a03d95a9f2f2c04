"""The parameter counts: against models that torch builds, without memory."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from lookback.budget import MODELS, PARTS, Sizes, count, touched
from lookback.transformer import Transformer, TransformerConfig


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def ours(d_model: int, heads: int, d_ff: int, tied: str = "all") -> nn.Module:
    return Transformer(
        TransformerConfig(
            37_000,
            37_000,
            d_model=d_model,
            heads=heads,
            layers=6,
            d_ff=d_ff,
            tied=tied,
        )
    )


def theirs(model: str, config: str, **sizes: int) -> nn.Module:
    import transformers  # it takes seconds

    return getattr(transformers, model)(getattr(transformers, config)(**sizes))


LARGE = {"n_embd": 12288, "n_layer": 96, "n_head": 96, "n_positions": 2048}
BUILT = {
    "Transformer base": lambda: ours(512, 8, 2048),
    "Transformer big": lambda: ours(1024, 16, 4096),
    "BERT-base": lambda: theirs("BertModel", "BertConfig"),
    "GPT-2 small": lambda: theirs("GPT2LMHeadModel", "GPT2Config"),
    "GPT-3": lambda: theirs("GPT2LMHeadModel", "GPT2Config", **LARGE),
    "DeepSeek-V3": lambda: theirs("DeepseekV3ForCausalLM", "DeepseekV3Config"),
}
every = pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.nightly] * (not name.startswith("Transf"))
        )
        for name in MODELS
    ],
)


@every
def test_the_formula_counts_what_torch_builds(name):
    with torch.device("meta"):
        model = BUILT[name]()
    # the routers' bias is a buffer there, since it is not trained by gradient
    buffers = [b for n, b in model.named_buffers() if "correction_bias" in n]
    built = parameters(model) + sum(b.numel() for b in buffers)
    assert sum(count(MODELS[name]).values()) == built


@every
def test_the_feed_forward_weights_are_those_of_torch(name):
    with torch.device("meta"):
        model = BUILT[name]()
    inside = ("feedforward", "intermediate", ".mlp.")
    beside = ("attention", "gate.weight")  # a router is called gate there
    found = sum(
        p.numel()
        for key, p in model.named_parameters()
        if p.dim() > 1
        and not any(part in key for part in beside)
        and (any(part in key for part in inside) or "output.dense" in key)
    )
    assert count(MODELS[name])["feed-forward"] == found


@pytest.mark.parametrize(
    ("name", "millions"),
    [
        ("Transformer base", 63.08),
        ("Transformer big", 214.25),
        ("BERT-base", 109.48),
        ("GPT-2 small", 124.44),
        ("GPT-3", 174_604.26),
        ("DeepSeek-V3", 671_026.42),
    ],
)
def test_the_totals_are_the_known_ones(name, millions):
    assert sum(count(MODELS[name]).values()) / 1e6 == pytest.approx(
        millions, abs=0.005
    )


def test_deepseek_v3_in_parts():
    parts = count(MODELS["DeepSeek-V3"])
    assert list(parts) == list(PARTS)
    experts = parts["feed-forward"] + parts["router"]
    assert experts / 1e9 == pytest.approx(657.76, abs=0.005)
    assert parts["attention"] / 61e6 == pytest.approx(187.11, abs=0.005)
    assert touched(MODELS["DeepSeek-V3"]) / 1e9 == pytest.approx(37.6, abs=0.05)


@pytest.mark.parametrize("tied, tables", [("all", 1), ("none", 3)])
def test_untied_tables_are_counted(tied, tables):
    with torch.device("meta"):
        model = ours(512, 8, 2048, tied)
    sizes = Sizes(
        512, 2048, 8, 37_000, encoder=6, decoder=6, tied=tied == "all"
    )
    assert sum(count(sizes).values()) == parameters(model)
    assert count(sizes)["embeddings"] == tables * 37_000 * 512


def test_heads_change_nothing_and_a_gate_adds_a_third_matrix():
    plain = Sizes(512, 2048, 8, 1000, decoder=4)
    assert count(plain) == count(Sizes(512, 2048, 32, 1000, decoder=4))
    gated = Sizes(512, 2048, 8, 1000, decoder=4, gated=True)
    assert 2 * count(gated)["feed-forward"] == 3 * count(plain)["feed-forward"]


def test_a_small_mixture_of_experts_by_hand():
    sizes = Sizes(
        6, 8, 2, 10, decoder=3, experts=5, active=2, shared=1, dense=1
    )
    parts = count(sizes)
    assert parts["feed-forward"] == 2 * 6 * 8 * (1 + 2 * 6)
    assert parts["router"] == 2 * 5 * 7
    expert = 2 * 6 * 8 + 8 + 6
    assert sum(parts.values()) - touched(sizes) == 2 * 3 * expert


def test_the_answers_to_the_widgets_task():
    shares = {}
    for layers in (2, 3, 4):
        parts = count(replace(MODELS["GPT-3"], decoder=layers))
        shares[layers] = parts["embeddings"] / sum(parts.values())
    assert shares[2] > 0.12 and 0.1 < shares[3] < 0.11 and shares[4] < 0.09
    eight = replace(MODELS["DeepSeek-V3"], experts=8)
    assert sum(count(eight).values()) / 1e9 == pytest.approx(37.4, abs=0.1)
    base = MODELS["Transformer base"]
    assert count(replace(base, heads=16)) == count(base)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"d_model": 0}, "d_model is 0: at least 1"),
        ({"heads": 7}, "7 heads cannot share d_model 512 equally"),
        ({"encoder": 0, "decoder": 0}, "no layers"),
        ({"active": 3, "experts": 2}, "active is 3, and there are 2"),
        ({"vocab": -1}, "vocab is -1"),
        ({"d_ff": 2**52}, "more than 2"),
    ],
)
def test_sizes_that_do_not_fit_are_named(wrong, says):
    base = {"d_model": 512, "d_ff": 2048, "heads": 8, "vocab": 37_000}
    with pytest.raises(ValueError, match=says):
        Sizes(**{**base, "encoder": 6, **wrong})
