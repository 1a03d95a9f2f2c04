"""The Transformer: the paper's counts, and what the model promises."""

from copy import deepcopy
from dataclasses import replace
from itertools import product

import pytest
import torch
from test_rnnsearch import SOURCES, TARGETS
from torch import nn

from lookback.heads import attention_weights
from lookback.lab import int8, weights
from lookback.lab.corpus import Pair, pad
from lookback.lab.decoding import beam, force, greedy, translate
from lookback.lab.training import loss
from lookback.transformer import (
    POSITIONS,
    TIES,
    Transformer,
    TransformerConfig,
)
from lookback.vocabulary import END, PAD, START, Vocabulary
from lookback.widgets import trained
from lookback.widgets.trained import log_weights

CONFIG = TransformerConfig(
    12, 11, d_model=16, heads=4, layers=2, d_ff=24, dropout=0.0, longest=30
)
NORMS = ("post", "pre", "none")
KINDS = [
    replace(CONFIG, positions=positions, norm=norm)
    for positions, norm in product(POSITIONS, NORMS)
]
FLAGS = [
    *KINDS,
    *(replace(CONFIG, tied=t, source_vocab=11) for t in TIES),
    replace(CONFIG, residual=False),
    replace(CONFIG, scaled=False),
    replace(CONFIG, d_ff=0),
    replace(CONFIG, activation="gelu"),
    replace(CONFIG, activation="swiglu"),
    replace(CONFIG, heads=1),
    replace(CONFIG, dropout=0.3),
]
every_kind = pytest.mark.parametrize(
    "config", KINDS, ids=lambda c: f"{c.positions}-{c.norm}"
)
every_flag = pytest.mark.parametrize("config", FLAGS)


def model_of(config=CONFIG) -> Transformer:
    torch.manual_seed(4)
    return Transformer(config).double().eval()


def walk(model, source, target):
    """Logits and weights by single steps with the cache."""
    memory = model.encode(source)
    state, logits, looks = model.start(memory), [], []
    for token in target.unbind(dim=1):
        each, state, weights = model.step(token, state, memory)
        logits.append(each)
        looks.append(weights)
    return torch.stack(logits, dim=1), torch.stack(looks, dim=1), state


@every_kind
def test_step_by_step_with_the_cache_equals_forward(config):
    model = model_of(config)
    inputs = pad(SOURCES), pad(TARGETS)
    logits, looks, state = walk(model, *inputs)
    true = model(*inputs)
    real = inputs[1] != PAD
    torch.testing.assert_close(logits[real], true[real], rtol=0, atol=1e-12)
    with attention_weights(model.decoder[-1].cross) as heads:
        model(*inputs)
    last = heads[0].mean(dim=1)
    torch.testing.assert_close(looks[real], last[real], rtol=0, atol=1e-12)
    assert [p.shape for pair in state for p in pair] == 4 * [(3, 4, 5, 4)]


@every_kind
def test_batched_equals_alone(config):
    model = model_of(config)
    together = model(pad(SOURCES), pad(TARGETS))
    for i, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = model(torch.tensor([source]), torch.tensor([target]))[0]
        mine = together[i, : len(target)]
        torch.testing.assert_close(mine, alone, rtol=0, atol=1e-12)


@every_kind
def test_no_word_sees_the_future(config):
    model, seen = model_of(config), []
    model.target_embedding.words.register_forward_hook(
        lambda _, __, out: (out.retain_grad(), seen.append(out))[0]
    )
    target = torch.tensor([[START, 4, 5, 6, 7]])
    for i in range(5):
        seen.clear()
        model(torch.tensor([SOURCES[0]]), target)[0, i, 3].backward()
        grad = seen[0].grad[0].abs().sum(dim=-1)
        assert (grad[: i + 1] > 0).all() and (grad[i + 1 :] == 0).all()


def test_every_word_sees_the_whole_source():
    model, seen = model_of(), []
    model.source_embedding.words.register_forward_hook(
        lambda _, __, out: (out.retain_grad(), seen.append(out))[0]
    )
    source, target = torch.tensor([SOURCES[0]]), torch.tensor([TARGETS[1]])
    model(source, target)[0, 0, 3].backward()
    assert (seen[0].grad[0].abs().sum(dim=-1) > 0).all()


@pytest.mark.parametrize("norm", NORMS)
def test_padding_has_no_influence(norm):
    model = model_of(replace(CONFIG, norm=norm))
    with torch.no_grad():  # were it looked at, this would be seen
        model.source_embedding.words.weight[PAD] = 100.0
    source, target = torch.tensor([SOURCES[0]]), torch.tensor([TARGETS[0]])
    longer = torch.cat([source, torch.full((1, 4), PAD)], dim=1)
    torch.testing.assert_close(
        model(longer, target), model(source, target), rtol=0, atol=1e-12
    )
    _, looks, _ = walk(model, longer, target)
    assert (looks[..., source.shape[1] :] == 0).all()
    torch.testing.assert_close(looks.sum(-1), torch.ones(1, 3).double())


def test_the_source_is_read_once():
    model, calls = model_of(), []
    for layer in model.decoder:
        layer.cross.W_K.register_forward_hook(lambda *_: calls.append("cross"))
        layer.attention.W_K.register_forward_hook(
            lambda _, given, __: calls.append(given[0].shape[1])
        )
    walk(model, pad(SOURCES), pad(TARGETS))
    assert calls.count("cross") == 2  # once a layer, before the first word
    assert [each for each in calls if each != "cross"] == [1] * 10


def test_layers_run_in_order_with_the_norm_at_the_end():
    model = model_of(replace(CONFIG, norm="pre", positions="none"))
    source = torch.tensor([SOURCES[0]])
    x = model.source_embedding.words.weight[source] * 4.0  # √16
    for layer in model.encoder:
        x = layer(x)
    x = nn.functional.layer_norm(x, (16,))  # gain 1, shift 0
    torch.testing.assert_close(model.encode(source).x, x)


@pytest.mark.parametrize(
    ("sizes", "millions"),
    [
        ({"d_model": 512, "heads": 8, "d_ff": 2048}, 63.082_496),
        ({"d_model": 1024, "heads": 16, "d_ff": 4096}, 214.245_376),
    ],
)
def test_parameters_at_the_papers_sizes(sizes, millions):
    with torch.device("meta"):
        model = Transformer(
            TransformerConfig(37_000, 37_000, layers=6, tied="all", **sizes)
        )
    d, d_ff, V = sizes["d_model"], sizes["d_ff"], 37_000
    weights = V * d + 6 * (4 * d * d + 2 * d * d_ff)
    weights += 6 * (8 * d * d + 2 * d * d_ff)
    biases = 18 * 4 * d + 12 * (d_ff + d)
    norms = 30 * 2 * d
    count = sum(p.numel() for p in model.parameters())
    assert count == weights + biases + norms == round(millions * 1e6)


def test_tied_weights_are_one_and_counted_once():
    counts = {}
    for tied in TIES:
        model = model_of(replace(CONFIG, source_vocab=11, tied=tied))
        counts[tied] = sum(p.numel() for p in model.parameters())
    assert counts["none"] - counts["output"] == 11 * 16
    assert counts["output"] - counts["all"] == 11 * 16
    model = model_of(replace(CONFIG, source_vocab=11, tied="all"))
    source, target = torch.tensor([SOURCES[0]]), torch.tensor([[START, 4]])
    before = model(source, target)
    model.target_embedding.words.weight.data[7] += 1.0
    after = model(source, target)
    assert (before != after).all()  # word 7 stands in the source


def test_tied_logits_are_products_with_the_embeddings():
    model = model_of()
    y = torch.randn(2, 3, 16).double()
    true = torch.einsum("btd,vd->btv", y, model.target_embedding.words.weight)
    torch.testing.assert_close(model.logits(y), true)


@every_flag
def test_every_flag_trains_one_step(config):
    torch.manual_seed(0)
    model = Transformer(config).train()
    logits = model(pad(SOURCES), pad(TARGETS))
    assert logits.shape == (3, 5, config.target_vocab)
    out = pad([[*target[1:], END] for target in TARGETS])
    loss(logits, out, smoothing=0.1).backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None and weight.grad.isfinite().all(), name
        # a key's bias adds the same to all scores of a row, and cancels
        if "W_K.bias" not in name:
            assert weight.grad.abs().sum() > 0, name
    before = model.encoder[0].attention.W_Q.weight.clone()
    torch.optim.Adam(model.parameters(), 1e-3).step()
    assert not torch.equal(before, model.encoder[0].attention.W_Q.weight)


PAIRS = [
    Pair("the black cat sleeps".split(), "le chat noir dort".split()),
    Pair("a dog barks".split(), "un chien aboie".split()),
    Pair("the white dog sleeps".split(), "le chien blanc dort".split()),
    Pair("a cat".split(), "un chat".split()),
]
SOURCE = Vocabulary("the a black white cat dog sleeps barks".split())
TARGET = Vocabulary("le un noir blanc chat chien dort aboie".split())


@pytest.fixture(scope="module")
def learned() -> Transformer:
    """A small Transformer that knows four sentences by heart."""
    torch.manual_seed(0)
    config = replace(
        CONFIG, source_vocab=len(SOURCE), target_vocab=len(TARGET), d_model=32
    )
    model = Transformer(config).train()
    source = pad([[*SOURCE.encode(p.source), END] for p in PAIRS])
    target = pad([[START, *TARGET.encode(p.target), END] for p in PAIRS])
    adam = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(120):
        adam.zero_grad()
        loss(model(source, target[:, :-1]), target[:, 1:]).backward()
        adam.step()
    return model.eval()


@pytest.mark.nightly
@pytest.mark.parametrize("width", [1, 5])
def test_it_learns_four_sentences_by_heart(learned, width):
    said = translate(learned, [p.source for p in PAIRS], SOURCE, TARGET, width)
    assert [words for words, _ in said] == [p.target for p in PAIRS]
    for (words, found), pair in zip(said, PAIRS, strict=True):
        shape = len(words) + 1, len(pair.source) + 1
        assert found.weights.shape == shape
        torch.testing.assert_close(found.weights.sum(-1), torch.ones(shape[0]))


def test_a_beam_of_one_is_greedy_and_a_wider_one_scores_no_worse(learned):
    source = pad([[*SOURCE.encode(p.source), END] for p in PAIRS])
    first, second = greedy(learned, source), beam(learned, source, 1)
    assert [a.tokens for a in first] == [b.tokens for b in second]
    for one, wide in zip(first, beam(learned, source, 4), strict=True):
        assert wide.score >= one.score - 1e-5


def test_greedy_with_the_cache_is_greedy_without(learned):
    source = pad([[*SOURCE.encode(PAIRS[0].source), END]])
    written = [START]
    while written[-1] != END:
        logits = learned(source, torch.tensor([written]))[0, -1]
        logits[[PAD, START]] = -torch.inf
        written.append(int(logits.argmax()))
    assert greedy(learned, source)[0].tokens == written[1:]


def test_forced_weights_are_those_of_one_pass(learned):
    looks = force(learned, PAIRS, SOURCE, TARGET)
    for pair, found in zip(PAIRS, looks, strict=True):
        source = torch.tensor([[*SOURCE.encode(pair.source), END]])
        given = torch.tensor([[START, *TARGET.encode(pair.target)]])
        memory = learned.encode(source)
        with attention_weights(learned.decoder[-1].cross) as heads:
            learned.decode(given, memory)
        torch.testing.assert_close(found, heads[0][0].mean(0))


def test_what_the_alignment_widget_shows_is_what_the_model_computes(learned):
    pair, layer, inputs = PAIRS[0], learned.decoder[-1], []
    given = pair.source, pair.target, SOURCE, TARGET
    [forced] = force(learned, [pair], SOURCE, TARGET)
    cut = 4 * trained.LEAST  # a row has five weights
    handle = layer.cross.W_O.register_forward_pre_hook(
        lambda _, given: inputs.append(given[0][0])
    )
    heads = [log_weights(learned, *given, head=h) for h in range(4)]
    handle.remove()
    mean = torch.stack([e.softmax(-1) for e, _ in heads]).mean(0)
    torch.testing.assert_close(mean, forced, rtol=0, atol=cut)
    contexts = torch.cat([e.softmax(-1) @ v for e, v in heads], dim=-1)
    torch.testing.assert_close(contexts, inputs[0], rtol=0, atol=5 * cut)


@pytest.mark.parametrize("positions", POSITIONS)
def test_only_rope_turns_queries_and_keys(positions):
    model = Transformer(replace(CONFIG, positions=positions))
    own = [layer.attention for layer in (*model.encoder, *model.decoder)]
    assert {each.rope for each in own} == {positions == "rope"}


def test_weights_pass_through_a_record(learned, tmp_path):
    weights.save("tiny", learned, SOURCE, TARGET, tmp_path)
    model, source, target = weights.load("tiny", Transformer, tmp_path)
    assert isinstance(model, Transformer) and model.config == learned.config
    assert source.words == SOURCE.words and target.words == TARGET.words
    true = int8.rounded(deepcopy(learned)).state_dict()
    for name, weight in model.state_dict().items():
        kept = true[name] if weight.ndim == 2 else true[name].half()
        assert torch.equal(weight, kept.float())


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"positions": "absolute"}, "positions is 'absolute': choose one of"),
        ({"tied": "both"}, "tied is 'both'"),
        ({"tied": "all"}, "needs one vocabulary"),
    ],
)
def test_the_config_refuses(wrong, says):
    with pytest.raises(ValueError, match=says):
        replace(CONFIG, **wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"heads": 3}, "3 heads cannot share 16"),
        ({"norm": "both"}, "norm is 'both'"),
        ({"activation": "tanh"}, "activation is 'tanh'"),
    ],
)
def test_the_parts_refuse(wrong, says):
    with pytest.raises(ValueError, match=says):
        Transformer(replace(CONFIG, **wrong))


def test_learned_positions_end():
    model = model_of(replace(CONFIG, positions="learned", longest=4))
    model.encode(torch.tensor([[5, 6, 7, END]]))
    with pytest.raises(ValueError, match="position 5 was never learned"):
        model.encode(torch.tensor([SOURCES[0]]))


@every_kind
def test_bf16_autocast_is_near(config):
    torch.manual_seed(4)
    model = Transformer(config).eval()
    inputs = pad(SOURCES), pad(TARGETS)
    with torch.no_grad():
        true = model(*inputs)
        with torch.autocast("cpu", torch.bfloat16):
            half = model(*inputs)
        whole = deepcopy(model).bfloat16()(*inputs)
    real = inputs[1] != PAD
    for found in (half, whole):
        close = nn.functional.cosine_similarity(found.float()[real], true[real])
        assert (close > 0.99).all()


@pytest.mark.cuda
def test_cpu_equals_cuda():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here: nothing to compare with the CPU")
    for config in FLAGS[:-1]:
        model = model_of(config)
        inputs = pad(SOURCES), pad(TARGETS)
        here = model(*inputs)
        there = model.cuda()(*(each.cuda() for each in inputs))
        torch.testing.assert_close(here, there.cpu(), rtol=0, atol=1e-10)
