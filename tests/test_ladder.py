"""The rungs between RNNsearch and the Transformer: what each promises."""

from dataclasses import replace

import pytest
import torch
from test_rnnsearch import walk
from torch.nn import functional as F

from lookback.experiments.ladder import RUNGS, small
from lookback.lab import phrasebook
from lookback.lab.corpus import END, START, Pair, Vocabulary, pad
from lookback.lab.decoding import force, translate
from lookback.ladder import DotProductAttention, Rung, RungConfig
from lookback.rnnsearch import RNNsearch, RNNsearchConfig

SOURCES = [[5, 6, 7, 8, END], [9, END], [4, 6, 5, END]]
TARGETS = [[START, 4, 5], [START, 6, 7, 8, 9, 4, 5], [START, 7]]
SIZES = dict(embed=8, hidden=6, align=5, maxout=3)
KINDS = {n: c for n, (make, c) in RUNGS.items() if make is Rung}
every = pytest.mark.parametrize("name", KINDS)


def model_of(name):
    torch.manual_seed(2)
    config = replace(KINDS[name], source_vocab=11, target_vocab=10, **SIZES)
    if config.d_ff:
        config = replace(config, d_ff=12)
    return Rung(config).double().eval()


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
    config = replace(
        small(KINDS[name]), source_vocab=len(source), target_vocab=len(target)
    )
    model = Rung(config).eval()
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


def test_the_additive_rung_is_rnnsearch():
    torch.manual_seed(1)
    sizes = dict(source_vocab=11, target_vocab=10, **SIZES)
    search = RNNsearch(RNNsearchConfig(**sizes)).double().eval()
    torch.nn.init.normal_(search.attention.v)
    rung = Rung(RungConfig(look="additive", **sizes)).double().eval()
    rung.load_state_dict(search.state_dict())
    inputs = pad(SOURCES), pad(TARGETS)
    torch.testing.assert_close(rung(*inputs), search(*inputs))


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
    "wrong", [{"look": "soft"}, {"encoder": "lstm"}, {"positions": "rotary"}]
)
def test_config_names_what_is_wrong(wrong):
    with pytest.raises(ValueError, match=f"{[*wrong][0]} is '.*choose one of"):
        RungConfig(10, 10, **wrong)


def test_each_rung_changes_what_it_says():
    """One field apart from its neighbour, residual and norm being a couple."""
    names = [n for n in KINDS if n not in ("diagonal", "dot")]
    for before, after in zip(["dot", *names], names, strict=False):
        old, new = KINDS[before].__dict__, KINDS[after].__dict__
        changed = {key for key in old if old[key] != new[key]}
        assert len(changed) == 1 or changed == {"residual", "norm"}, after


@pytest.mark.cuda
@every
def test_cpu_equals_cuda(name):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here: nothing to compare with the CPU")
    model, inputs = model_of(name), (pad(SOURCES), pad(TARGETS))
    here = model(*inputs)
    there = model.cuda()(*(each.cuda() for each in inputs))
    torch.testing.assert_close(here, there.cpu(), rtol=0, atol=1e-10)
