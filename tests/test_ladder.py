"""The rungs: one field apart, drawn alike, and the chapters' own models."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from test_rnnsearch import walk
from torch import nn
from torch.nn import functional as F

from lookback.lab.corpus import pad
from lookback.ladder import (
    LADDER,
    MAXOUT,
    RUNGS,
    DotProductAttention,
    MaxoutTransformer,
    Parts,
    Recurrent,
    build,
    differences,
    way_to,
)
from lookback.layers import Embedding
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer, TransformerConfig
from lookback.vocabulary import END, START

BOOK = Path(__file__).parents[1] / "book"
SOURCES = [[5, 6, 7, 8, END], [9, END], [4, 6, 5, END]]
TARGETS = [[START, 4, 5], [START, 6, 7, 8, 9, 4, 5], [START, 7]]
LOUD = ("linear output.weight",)  # as loud as the embeddings that follow it
every = pytest.mark.parametrize("name", RUNGS)


def model_of(name, width=8):
    torch.manual_seed(2)
    parts = RUNGS[name].parts
    small = replace(parts, width=width, d_ff=parts.d_ff and 12)
    return replace(RUNGS[name], parts=small).make(11, 10).double().eval()


def test_neighbours_differ_in_one_field():
    """And never in a size: those are the same in every rung."""
    seen = []
    for rung in LADDER:
        if rung.before is None:
            assert rung is LADDER[0]
        else:
            assert rung.before in seen
            before = RUNGS[rung.before].parts
            [field] = differences(before, rung.parts)
            assert field not in ("width", "dropout", "source_vocab")
        seen.append(rung.name)
    assert len(set(seen)) == len(seen)
    assert differences(Parts(), Parts(look="dot", heads=2)) == {
        "look": ("fixed", "dot"),
        "heads": (1, 2),
    }


def test_the_main_line_leads_from_the_fixed_vector_to_the_transformer():
    names = way_to("transformer")
    assert names[0] == "fixed" and names[-1] == "transformer"
    for before, name in pairwise(names):
        assert RUNGS[name].before == before
    aside = set(RUNGS) - set(names)
    looks = {"cursors", "beside", "inside", "outside"}
    assert aside == {"reversed", "post-norm"} | looks


def test_page_and_drawing_name_the_rungs_as_the_ladder_does():
    labels = [RUNGS[name].label for name in way_to("transformer")]
    drawing = (BOOK / "_static/drawings/ladder.svg").read_text(encoding="utf-8")
    assert re.findall(r"<rect[^>]*/><text[^>]*>([^<]+)<", drawing) == labels
    page = (BOOK / "ladder.md").read_text(encoding="utf-8")
    alt = re.search(r"ladder\.svg\n:alt: (.*)", page)[1]
    assert ", ".join(labels[1:-1]) in alt


def test_machines_of_their_own_have_as_many_weights_as_rnnsearch():
    counts = {
        name: sum(p.numel() for p in RUNGS[name].make(3000, 3000).parameters())
        for name in ("rnnsearch", *MAXOUT)
    }
    for name, count in counts.items():
        assert count == pytest.approx(counts["rnnsearch"], rel=0.01), name


@pytest.mark.parametrize(
    "name", [name for name, rung in RUNGS.items() if not rung.parts.layers]
)
def test_recurrent_rungs_drop_at_the_same_places(name):
    """Both embeddings, the state, and what is read out of the source."""
    model, dropped = model_of(name).train(), []
    for module in model.modules():
        if isinstance(module, nn.Dropout) and module.p:
            assert module.p == RUNGS[name].parts.dropout
            module.register_forward_hook(
                lambda _, given, __: dropped.append(given[0].shape[-1])
            )
    model(pad(SOURCES), pad(TARGETS))
    parts = RUNGS[name].parts
    read = 8 * (1 + (parts.reader == "two-way") + parts.beside)
    assert sorted(dropped) == [8, 8, 8, read]


def test_words_beside_are_dropped_once_as_annotations_are():
    """By the readout; what the look compares and hands on is whole."""
    model = model_of("beside")
    whole = model.encode(pad(SOURCES)).values
    torch.manual_seed(0)
    given = model.train().encode(pad(SOURCES)).values
    assert (given[pad(SOURCES) != 0] != 0).all()
    torch.testing.assert_close(given[..., 16:], whole[..., 16:])
    assert not torch.allclose(given[..., :16], whole[..., :16])


@every
def test_forward_equals_step_by_step(name):
    model, source, target = model_of(name), pad(SOURCES), pad(TARGETS)
    memory = model.encode(source)
    state, steps = model.start(memory), []
    for token in target.unbind(dim=1):
        logits, state, weights = model.step(token, state, memory)
        steps.append(logits)
        if weights is not None:
            sums = weights.sum(-1)
            torch.testing.assert_close(sums, torch.ones_like(sums))
            assert (weights[1, 2:] == 0).all()
    found, wanted = torch.stack(steps, 1), model(source, target)
    if name == "cursors":  # whose logits are right but for a sum
        found, wanted = found.softmax(-1), wanted.softmax(-1)
    torch.testing.assert_close(found, wanted)


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
        if key.endswith(("W_K.bias", "attention.U.bias")):
            continue  # the same is added to all scores of a query
        if key.endswith(("attention.W.weight", "attention.U.weight")):
            continue  # v_a starts at 0
        assert weight.grad is not None and weight.grad.abs().sum() > 0, key


@every
def test_every_map_is_drawn_alike_and_every_bias_is_0(name):
    model = model_of(name, width=64)
    for key, weight in model.named_parameters():
        if "bias" in key:
            assert (weight == 0).all(), key
        elif "norm" in key or "after" in key:
            assert (weight == 1).all(), key
        elif key.endswith("words.weight") or f"{name} {key}" in LOUD:
            assert weight[4:].std().item() == pytest.approx(1 / 8, rel=0.1), key
        elif not key.endswith("attention.v"):
            gru = key.startswith(("reader", "encoder.w", "pen", "decoder.w"))
            gates = 3 if gru else 1
            for gate in weight.chunk(gates):
                xavier = (2 / sum(gate.shape)) ** 0.5
                assert gate.std().item() == pytest.approx(xavier, rel=0.1), key


@every
def test_all_drop_alike_and_where_it_says(name):
    model, parts = model_of(name), RUNGS[name].parts
    rates = [m.p for m in model.modules() if isinstance(m, nn.Dropout)]
    in_a_layer = 2 if parts.d_ff else 1
    if name in MAXOUT:  # one for all places
        assert sorted(rates) == [0.0, 0.0, parts.dropout]
        return
    if parts.decoder == "recurrent":
        for words in (model.source_embedding, model.target_embedding):
            assert words.dropout.p == 0.0  # they share the states' dropout
            rates.remove(0.0)
        places = parts.layers * in_a_layer + 2
    else:
        places = parts.layers * (2 * in_a_layer + 1) + 2
        places += parts.readout == "maxout"
    assert rates == [parts.dropout] * places


def test_a_maxout_reads_what_is_dropped_in_either_decoder():
    for name in ("depth", "decoder"):
        model, given = model_of(name, width=64).train(), []
        model.readout.maxout.register_forward_hook(
            lambda _, read, __, given=given: given.append(read[0])
        )
        model(pad(SOURCES), pad(TARGETS))
        silent = (given[0] == 0).double().mean().item()
        assert silent == pytest.approx(RUNGS[name].parts.dropout, abs=0.05)


@every
def test_words_come_in_as_loud_in_every_rung(name):
    model = model_of(name, width=64)
    embedding = model.source_embedding
    assert isinstance(embedding, Embedding)
    words = embedding.words.weight[4:] * 8
    assert words.pow(2).mean().sqrt().item() == pytest.approx(1, rel=0.1)


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


def test_rnnsearch_is_the_chapter_s():
    """Embeddings aside, which are √d louder here, the same machine."""
    rung = model_of("rnnsearch")
    config = RNNsearchConfig(11, 10, 8, 8, 8, 8)
    chapter = RNNsearch(config).double().eval()
    names = {
        "reader": "encoder",
        "looking.attention": "attention",
        "source_embedding.words": "source_embedding",
        "target_embedding.words": "target_embedding",
    }
    given = {}
    for key, weight in rung.state_dict().items():
        for ours, theirs in names.items():
            key = key.replace(ours, theirs)
        loud = 8**0.5 if "embedding" in key else 1
        given[key] = weight * loud
    chapter.load_state_dict(given)
    inputs = pad(SOURCES), pad(TARGETS)
    torch.testing.assert_close(rung(*inputs), chapter(*inputs))


def test_to_tie_the_output_takes_one_matrix_away():
    names = [
        {key for key, _ in model_of(name).named_parameters()}
        for name in ("linear", "transformer")
    ]
    assert names[0] - names[1] == {"output.weight"} and names[0] > names[1]


def test_the_transformer_is_the_chapter_s():
    made = model_of("transformer")
    assert type(made) is Transformer
    assert made.config == TransformerConfig(
        11, 10, d_model=8, heads=4, layers=3, d_ff=12,
        dropout=RUNGS["transformer"].parts.dropout,
        norm=RUNGS["transformer"].parts.norm,
    )  # fmt: skip
    assert type(model_of("decoder")) is MaxoutTransformer


def test_the_stack_is_the_transformer_s_encoder():
    """What the decoder is handed is the same before and after that step."""
    stack, whole = model_of("depth"), model_of("decoder")
    given = whole.state_dict()
    for key, weight in stack.state_dict().items():
        if key.startswith(("source_embedding", "stack", "after_stack")):
            given[key.replace("stack", "encoder")] = weight
    whole.load_state_dict(given)
    source = pad(SOURCES)
    mask = source != 0
    theirs = whole.encode(source).x
    torch.testing.assert_close(stack.encode(source).values[mask], theirs[mask])


def test_a_wrong_part_is_named():
    with pytest.raises(ValueError, match="look is 'soft': choose one of fixed"):
        Parts(look="soft")
    with pytest.raises(ValueError, match="reader is 'both'"):
        Parts(reader="both")
    with pytest.raises(ValueError, match='give reader="none"'):
        Parts(reader="two-way", layers=2, heads=2)


def test_recurrent_rungs_are_one_class():
    kinds = {type(build(replace(r.parts, source_vocab=9, target_vocab=9)))
             for r in LADDER if r.parts.decoder == "recurrent"
             and r.name not in MAXOUT}  # fmt: skip
    assert kinds == {Recurrent}


def test_the_parts_alone_can_be_spared_their_dropout():
    plain = RUNGS["feedforward"]
    parts = replace(plain.parts, part_dropout=0.0)
    given, spared = (
        {
            name: module.p
            for name, module in rung.make(20, 20).named_modules()
            if isinstance(module, nn.Dropout)
        }
        for rung in (plain, replace(plain, parts=parts))
    )
    inside = {name for name in given if name.startswith("stack.")}
    assert {given[name] for name in inside} == {0.3}
    assert spared == given | dict.fromkeys(inside, 0.0)
    with pytest.raises(ValueError, match="recurrent decoder"):
        replace(RUNGS["transformer"].parts, part_dropout=0.0)


@pytest.mark.cuda
@every
def test_cpu_equals_cuda(name):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here: nothing to compare with the CPU")
    model, inputs = model_of(name), (pad(SOURCES), pad(TARGETS))
    here = model(*inputs)
    there = model.cuda()(*(each.cuda() for each in inputs))
    torch.testing.assert_close(here, there.cpu(), rtol=0, atol=1e-10)
