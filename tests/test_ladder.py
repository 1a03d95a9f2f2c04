"""The ladder: one change a rung, and what its own models promise."""

from dataclasses import asdict, replace

import pytest
import torch
from test_rnnsearch import walk
from torch.nn import functional as F

from lookback.experiments.ladder import small
from lookback.lab import phrasebook
from lookback.lab.corpus import Pair, pad
from lookback.lab.decoding import force, translate
from lookback.ladder import (
    LADDER,
    RUNGS,
    Diagonal,
    DotProductAttention,
    DotSearch,
    StackSearch,
    StackSearchConfig,
)
from lookback.vocabulary import END, START, Vocabulary

SOURCES = [[5, 6, 7, 8, END], [9, END], [4, 6, 5, END]]
TARGETS = [[START, 4, 5], [START, 6, 7, 8, 9, 4, 5], [START, 7]]
SIZES = dict(embed=8, hidden=6, align=5, maxout=3)
OWN = (Diagonal, DotSearch, StackSearch)  # the models of this module
every = pytest.mark.parametrize(
    "name", [rung.name for rung in LADDER if rung.kind in OWN]
)


def model_of(name):
    torch.manual_seed(2)
    config = RUNGS[name].config
    sizes = {k: v for k, v in SIZES.items() if hasattr(config, k)}
    if getattr(config, "d_ff", 0):
        sizes["d_ff"] = 12
    rung = replace(RUNGS[name], config=replace(config, **sizes))
    return rung.make(11, 10).double().eval()


@every
def test_forward_equals_step_by_step_and_weights_sum_to_1(name):
    model = model_of(name)
    source, target = pad(SOURCES), pad(TARGETS)
    logits, looks = walk(model, source, target)
    torch.testing.assert_close(logits, model(source, target))
    torch.testing.assert_close(looks.sum(-1), torch.ones(3, 7).double())
    assert (looks[1, :, 2:] == 0).all()


@every
def test_batched_equals_one_by_one(name):
    model = model_of(name)
    together = model(pad(SOURCES), pad(TARGETS))
    for i, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = model(torch.tensor([source]), torch.tensor([target]))
        torch.testing.assert_close(together[i, : len(target)], alone[0])


@every
def test_gradients_reach_every_weight(name):
    model = model_of(name)
    model(pad(SOURCES), pad(TARGETS)).square().sum().backward()
    for key, weight in model.named_parameters():
        if key.endswith("W_K.bias"):
            continue  # adds the same to all scores of a query: no effect
        assert weight.grad is not None and weight.grad.abs().sum() > 0, key


@every
def test_the_bench_knows_it(name):
    pairs = phrasebook.sample(4)
    source, target = (Vocabulary(words) for words in phrasebook.words())
    model = small(RUNGS[name]).make(len(source), len(target)).eval()
    found = translate(model, [p.source for p in pairs], source, target, 3)
    assert len(found) == 4
    looks = force(
        model, [Pair(p.source, p.target) for p in pairs], source, target
    )
    for pair, weights in zip(pairs, looks, strict=True):
        assert weights.shape == (len(pair.target) + 1, len(pair.source) + 1)


def test_the_diagonal_looks_at_its_own_place_and_stops_at_the_end():
    _, looks = walk(model_of("diagonal"), pad(SOURCES), pad(TARGETS))
    assert looks[0].argmax(-1).tolist() == [0, 1, 2, 3, 4, 4, 4]
    assert looks[1].argmax(-1).tolist() == [0, 1, 1, 1, 1, 1, 1]
    assert set(looks.unique().tolist()) == {0.0, 1.0}


def test_the_dot_product_equals_torch():
    torch.manual_seed(0)
    attention = DotProductAttention(3, 4, 5).double()
    query, values = torch.randn(2, 3).double(), torch.randn(2, 6, 4).double()
    mask = torch.tensor([[True] * 6, [True, True, False, True, False, False]])
    context, weights = attention(query, attention.U(values), values, mask)
    true = F.scaled_dot_product_attention(
        attention.W(query)[:, None],
        attention.U(values),
        values,
        attn_mask=mask[:, None],
    )
    torch.testing.assert_close(context, true[:, 0])
    assert (weights[~mask] == 0).all()


@pytest.mark.parametrize(
    ("name", "blind"),
    [("words", True), ("positions", False), ("self-attention", False)],
)
def test_only_without_positions_the_order_is_lost(name, blind):
    model = model_of(name)
    there, back = torch.tensor([[5, 6, 7, END]]), torch.tensor([[7, 5, 6, END]])
    target = torch.tensor([TARGETS[0]])
    same = torch.allclose(model(there, target), model(back, target))
    assert same == blind


@pytest.mark.parametrize(
    "name", [rung.name for rung in LADDER if rung.kind is StackSearch]
)
def test_the_layers_are_those_of_the_config(name):
    config, layers = RUNGS[name].config, RUNGS[name].make(9, 9).layers
    assert len(layers) == config.layers
    for layer in layers:
        around = layer.around_attention
        assert (around.where, around.residual) == (config.norm, config.residual)
        assert around.dropout.p == config.dropout
        assert layer.attention.heads == config.heads
        assert (layer.feedforward is None) == (config.d_ff == 0)
        if config.d_ff:
            assert layer.feedforward.W_1.out_features == config.d_ff
            assert layer.around_feedforward.residual == config.residual


def test_config_names_what_is_wrong():
    with pytest.raises(ValueError, match="positions is 'rotary': choose one"):
        StackSearchConfig(10, 10, positions="rotary")


def test_each_rung_names_the_one_that_it_changes():
    names = [rung.name for rung in LADDER]
    assert list(RUNGS) == names and len(set(names)) == len(names)
    for number, rung in enumerate(LADDER):
        before = [None, *names[: max(1, number)]]
        assert rung.before in before and rung.change.endswith(".")
    assert RUNGS["diagonal"].before == RUNGS["reversed"].before == names[0]
    assert RUNGS["transformer"].before == "depth"


def test_each_rung_changes_what_it_says():
    """The class or one field; residual and norm are a couple."""
    for rung in LADDER[1:]:
        before = RUNGS[rung.before]
        old, new = asdict(before.config), asdict(rung.config)
        if rung.kind is before.kind:
            changed = {key for key in old if old[key] != new[key]}
            pair = changed == {"residual", "norm"}
            assert len(changed) == 1 or pair, rung.name
        else:
            shared = old.keys() & new.keys()
            if rung.name != "transformer":  # which changes more: see the page
                assert all(old[key] == new[key] for key in shared), rung.name


@pytest.mark.cuda
@every
def test_cpu_equals_cuda(name):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here: nothing to compare with the CPU")
    model, inputs = model_of(name), (pad(SOURCES), pad(TARGETS))
    here = model(*inputs)
    there = model.cuda()(*(each.cuda() for each in inputs))
    torch.testing.assert_close(here, there.cpu(), rtol=0, atol=1e-10)
