"""The translator without a softmax: on the bench, and against its matrix."""

from itertools import count

import pytest
import torch

from lookback.experiments import runs
from lookback.fastweights import delta, remember
from lookback.lab import corpus, training
from lookback.lab.corpus import Pair, collate
from lookback.lab.decoding import beam, force, greedy, translate
from lookback.lab.training import TrainingConfig
from lookback.linear_cross_attention import (
    RULES,
    LinearTranslator,
    LinearTranslatorConfig,
)
from lookback.vocabulary import END, PAD, Vocabulary

SIZES = {"embed": 6, "hidden": 5, "d_k": 4, "maxout": 6}
SOURCE = torch.tensor([[5, 6, 7, END], [8, 9, END, PAD]])
TARGET = torch.tensor([[1, 4, 5, 6, 7], [1, 6, 4, PAD, PAD]])


def model(rule, **more):
    torch.manual_seed(0)
    config = LinearTranslatorConfig(12, 11, **SIZES, rule=rule, **more)
    return LinearTranslator(config).double().eval()


@pytest.mark.parametrize("rule", RULES)
def test_word_by_word_it_says_what_it_says_at_once(rule):
    one = model(rule)
    truth = one(SOURCE, TARGET)
    memory = one.encode(SOURCE)
    state = one.start(memory)
    for i, token in enumerate(TARGET.unbind(1)):
        logits, state, weights = one.step(token, state, memory)
        torch.testing.assert_close(logits, truth[:, i])
        assert weights.shape == SOURCE.shape
        assert weights[1, 3].eq(0).all()  # padding


@pytest.mark.parametrize("rule", RULES)
def test_padding_changes_nothing(rule):
    one = model(rule)
    alone = one(SOURCE[1:, :3], TARGET[1:])
    torch.testing.assert_close(one(SOURCE, TARGET)[1:], alone)


@pytest.mark.parametrize("rule", ["sum", "delta"])
def test_the_matrix_alone_gives_every_context(rule):
    one = model(rule)
    memory, s = one.encode(SOURCE), torch.randn(2, 3, 5).double()
    query = one.made(one.W(s))
    found, _ = one.cross_attention(s, memory)
    M = one.matrix(memory)
    assert M.shape == (2, 10, 4)
    torch.testing.assert_close(query @ M.mT, found)
    beta = one.strength(memory.values)[..., 0].sigmoid() * memory.mask
    if rule == "delta":
        truth = delta(memory.keys, memory.values, beta)
    else:
        truth = remember(memory.keys, beta[..., None] * memory.values)
    torch.testing.assert_close(M, truth)


def test_the_rules_differ_in_nothing_else():
    sizes = {
        rule: {k: v.shape for k, v in model(rule).state_dict().items()}
        for rule in RULES
    }
    assert sizes["softmax"] == sizes["positive"]
    assert sizes["sum"] == sizes["delta"]
    more = set(sizes["delta"]) - set(sizes["softmax"])
    assert more == {"strength.weight", "strength.bias"}


def test_weights_of_softmax_and_of_positive_features_sum_to_1():
    for rule in ("softmax", "positive"):
        one = model(rule)
        _, weights = one.cross_attention(
            torch.randn(2, 3, 5).double(), one.encode(SOURCE)
        )
        ones = torch.ones(2, 3, dtype=torch.float64)
        torch.testing.assert_close(weights.sum(-1), ones)
        assert (weights >= 0).all()


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="rule is 'max': choose one of"):
        LinearTranslatorConfig(1, 1, rule="max")


@pytest.mark.nightly
@pytest.mark.parametrize("rule", RULES)
def test_it_learns_a_few_sentences_on_the_bench(rule, tmp_path):
    """Training, greedy, beam and force are those of every translator."""
    pairs = [
        Pair(["the", "cat"], ["le", "chat"]),
        Pair(["the", "black", "cat"], ["le", "chat", "noir"]),
        Pair(["cats", "sleep"], ["des", "chats", "dorment"]),
    ]
    source = Vocabulary(sorted({w for p in pairs for w in p.source}))
    target = Vocabulary(sorted({w for p in pairs for w in p.target}))
    torch.manual_seed(0)
    sizes = {"embed": 16, "hidden": 16, "d_k": 8, "maxout": 16, "dropout": 0.0}
    config = LinearTranslatorConfig(
        len(source), len(target), **sizes, rule=rule
    )
    one, epochs = LinearTranslator(config), count()
    training.train(
        one,
        lambda epoch: 20 * pairs,
        source,
        target,
        TrainingConfig(epochs=12, batch=6, learning_rate=1e-2, warmup=1),
        tmp_path,
        lambda model: {"score": next(epochs)},
    )
    said = translate(one, [p.source for p in pairs], source, target)
    assert [words for words, _ in said] == [p.target for p in pairs]
    batch = collate(pairs, source, target)
    for found in (greedy(one, batch.source), beam(one, batch.source, 3)):
        assert [f.tokens[-1] for f in found] == 3 * [END]
    looks = force(one, pairs, source, target)
    assert [tuple(look.shape) for look in looks] == [(3, 3), (4, 4), (4, 3)]


def test_the_order_of_writing_counts_for_the_delta_rule():
    """Two writings that share a direction of the key."""
    one = model("delta")
    memory = one.encode(SOURCE[:1])
    order = torch.tensor([1, 0, 2, 3])
    keys, values = memory.keys[:, order], memory.values[:, order]
    beta = torch.full((1, 4), 0.9, dtype=torch.float64)
    here = delta(memory.keys, memory.values, beta)
    there = delta(keys, values, beta)
    assert (here - there).abs().max() > 1e-3
    flat = [remember(k, v) for k, v in ((keys, values), memory[1::-1])]
    torch.testing.assert_close(*flat)


def one_update(pairs, source, target):
    batch = collate(pairs, source, target)
    for rule in RULES:
        config = LinearTranslatorConfig(
            len(source), len(target), **SIZES, rule=rule
        )
        one = LinearTranslator(config)
        loss = training.loss(
            one(batch.source, batch.target_in), batch.target_out
        )
        loss.backward()
        assert loss.isfinite()
        for name, weight in one.named_parameters():
            assert weight.grad is not None, (rule, name)


def test_every_weight_has_its_gradient():
    words = "abcdefghij"
    pairs = [Pair([*words[i : i + 4]], [*words[i : i + 5]]) for i in range(6)]
    both = Vocabulary([*words])
    one_update(pairs, both, both)


@pytest.mark.nightly
@pytest.mark.multi30k
def test_it_reads_captions():
    """Only that it runs there: the chapter promises nothing of captions."""
    pairs = corpus.load("val")
    one_update(pairs[:8], *runs.vocabularies(pairs))
