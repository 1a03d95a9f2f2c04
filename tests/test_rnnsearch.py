"""RNNsearch against its equations, and what a soft search promises."""

import pytest
import torch
from test_bottleneck import gru, readout

from lookback import rnnsearch
from lookback.lab.corpus import Pair, pad
from lookback.lab.decoding import force
from lookback.rnnsearch import (
    AdditiveAttention,
    RNNsearch,
    RNNsearchConfig,
)
from lookback.vocabulary import END, START, UNK, Vocabulary
from lookback.widgets.trained import energies

SOURCES = [[5, 6, 7, 8, END], [9, END], [4, UNK, 5, END]]
TARGETS = [[START, 4, 5], [START, 6, 7, 8, 9], [START, UNK]]


def model_of(dropout=0.0):
    torch.manual_seed(4)
    config = RNNsearchConfig(
        11, 10, embed=4, hidden=6, align=5, maxout=3, dropout=dropout
    )
    model = RNNsearch(config).double().eval()
    torch.nn.init.normal_(model.attention.v)
    return model


def attention_inputs(seed=0):
    """A random attention and something for it to look at, padded."""
    generator = torch.Generator().manual_seed(seed)

    def randn(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    attention = AdditiveAttention(3, 4, 5).double()
    with torch.no_grad():
        attention.v.copy_(randn(5))
    values = randn(2, 6, 4)
    mask = torch.tensor([[True] * 6, [True, True, False, True, False, False]])
    return attention, randn(2, 3), attention.U(values), values, mask


def test_attention_equals_a_double_loop():
    attention, query, _, values, mask = attention_inputs()
    W, U, b = attention.W.weight, attention.U.weight, attention.U.bias
    context, weights = attention(query, attention.U(values), values, mask)
    for i in range(2):
        e = {}
        for j in range(6):
            if mask[i, j]:
                inner = torch.tanh(W @ query[i] + U @ values[i, j] + b)
                e[j] = sum(attention.v[k] * inner[k] for k in range(5))
        total = sum(torch.exp(each) for each in e.values())
        looked = torch.zeros(4, dtype=torch.float64)
        for j in range(6):
            alpha = torch.exp(e[j]) / total if j in e else torch.zeros(())
            torch.testing.assert_close(
                weights[i, j], alpha.double(), rtol=0, atol=1e-12
            )
            looked = looked + alpha * values[i, j]
        torch.testing.assert_close(context[i], looked, rtol=0, atol=1e-12)


def test_scores_equal_a_double_loop():
    attention, query, keys, values, _ = attention_inputs()
    scores = attention.scores(query, keys)
    for i in range(2):
        for j in range(6):
            e = attention.v @ torch.tanh(
                attention.W(query[i]) + attention.U(values[i, j])
            )
            torch.testing.assert_close(scores[i, j], e, rtol=0, atol=1e-12)


def test_masked_weights_are_exactly_0_and_rows_sum_to_1():
    attention, query, keys, values, mask = attention_inputs()
    _, weights = attention(query, keys, values, mask)
    assert (weights[~mask] == 0).all() and (weights[mask] > 0).all()
    torch.testing.assert_close(
        weights.sum(-1), torch.ones(2).double(), rtol=0, atol=1e-12
    )


def test_what_is_masked_has_no_influence():
    attention, query, keys, values, mask = attention_inputs()
    other_keys, other_values = keys.clone(), values.clone()
    other_keys[~mask] += 7.0
    other_values[~mask] -= 100.0
    for a, b in zip(
        attention(query, keys, values, mask),
        attention(query, other_keys, other_values, mask),
        strict=True,
    ):
        assert torch.equal(a, b)


def test_first_look_is_uniform():
    attention = AdditiveAttention(3, 4, 5)
    mask = torch.tensor([[True, True, True, True, False]])
    values = torch.randn(1, 5, 4)
    _, weights = attention(torch.randn(1, 3), attention.U(values), values, mask)
    torch.testing.assert_close(
        weights, torch.tensor([[0.25, 0.25, 0.25, 0.25, 0.0]])
    )


def test_without_the_tanh_the_query_does_not_matter(monkeypatch):
    attention, query, keys, values, mask = attention_inputs()
    other = query + torch.randn_like(query)
    with_tanh = [attention(q, keys, values, mask)[1] for q in (query, other)]
    assert not torch.allclose(*with_tanh)
    monkeypatch.setattr(rnnsearch.torch, "tanh", lambda x: x)
    without = [attention(q, keys, values, mask)[1] for q in (query, other)]
    torch.testing.assert_close(*without)


def slow(model, source, target_in):
    """The module docstring's equations for one sentence: logits, weights."""
    w, n = model.state_dict(), model.config.hidden
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    words = [w["source_embedding.weight"][word] for word in source]
    sides = []
    for suffix in ("_l0", "_l0_reverse"):
        rnn = [w[f"encoder.{name}{suffix}"] for name in names]
        h, states = torch.zeros(n, dtype=torch.float64), []
        for x in words if suffix == "_l0" else words[::-1]:
            h = gru(x, h, *rnn)
            states.append(h)
        sides.append(states if suffix == "_l0" else states[::-1])
    annotations = [torch.cat(pair) for pair in zip(*sides, strict=True)]
    s = torch.tanh(w["bridge.weight"] @ sides[1][0] + w["bridge.bias"])
    logits, rows = [], []
    for word in target_in:
        W_s = w["attention.W.weight"] @ s  # the previous state
        e = torch.stack(
            [
                w["attention.v"]
                @ torch.tanh(
                    W_s + w["attention.U.weight"] @ h + w["attention.U.bias"]
                )
                for h in annotations
            ]
        )
        alpha = torch.exp(e) / torch.exp(e).sum()
        c = sum(a * h for a, h in zip(alpha, annotations, strict=True))
        y = w["target_embedding.weight"][word]
        decoder = [w[f"decoder.{name}"] for name in names]
        s = gru(torch.cat([y, c]), s, *decoder)
        logits.append(readout(w, s, y, c))
        rows.append(alpha)
    return torch.stack(logits), torch.stack(rows)


def walk(model, source, target):
    """Logits and weights by single steps."""
    memory = model.encode(source)
    state, logits, looks = model.start(memory), [], []
    for token in target.unbind(dim=1):
        each, state, weights = model.step(token, state, memory)
        logits.append(each)
        looks.append(weights)
    return torch.stack(logits, dim=1), torch.stack(looks, dim=1)


def test_equals_its_equations():
    model = model_of()
    for source, target in zip(SOURCES, TARGETS, strict=True):
        inputs = torch.tensor([source]), torch.tensor([target])
        logits, weights = slow(model, source, target)
        for mine, true in (
            (model(*inputs)[0], logits),
            (walk(model, *inputs)[1][0], weights),
        ):
            torch.testing.assert_close(mine, true, rtol=0, atol=1e-12)


def test_batched_equals_one_by_one():
    model = model_of()
    together = model(pad(SOURCES), pad(TARGETS))
    _, looks = walk(model, pad(SOURCES), pad(TARGETS))
    for i, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        inputs = torch.tensor([source]), torch.tensor([target])
        logits, weights = walk(model, *inputs)
        for mine, true in (
            (together[i, : len(target)], model(*inputs)[0]),
            (together[i, : len(target)], logits[0]),
            (looks[i, : len(target), : len(source)], weights[0]),
        ):
            torch.testing.assert_close(mine, true, rtol=0, atol=1e-12)
        assert (looks[i, :, len(source) :] == 0).all()


def test_forward_equals_step_by_step():
    model = model_of()
    logits, looks = walk(model, pad(SOURCES), pad(TARGETS))
    torch.testing.assert_close(logits, model(pad(SOURCES), pad(TARGETS)))
    torch.testing.assert_close(looks.sum(-1), torch.ones(3, 5).double())


def test_the_decoder_cannot_see_the_future():
    model = model_of()
    seen = []
    model.target_embedding.register_forward_hook(
        lambda _, __, out: (out.retain_grad(), seen.append(out))[0]
    )
    target = torch.tensor([[START, 4, 5, 6, 7]])
    for i in range(target.shape[1]):
        seen.clear()
        model(torch.tensor([SOURCES[0]]), target)[0, i].sum().backward()
        grad = seen[0].grad[0].abs().sum(dim=-1)
        assert (grad[: i + 1] > 0).all()
        assert (grad[i + 1 :] == 0).all()


def test_the_keys_are_computed_once_for_a_sentence():
    model, calls = model_of(), []
    model.attention.U.register_forward_hook(lambda *_: calls.append(1))
    model(pad(SOURCES), pad(TARGETS))
    assert len(calls) == 1


def test_it_remembers_one_vector_per_word():
    model = model_of()
    for length in (1, 2, 40):
        memory = model.encode(torch.tensor([[5] * length + [END]]))
        assert memory.values.shape == (1, length + 1, 12)


def test_gradients_reach_every_weight():
    model = model_of()
    model(pad(SOURCES), pad(TARGETS)).sum().backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0, name


def test_energies_give_the_weights_and_contexts():
    model = model_of().float()
    source = Vocabulary([f"s{i}" for i in range(7)])
    target = Vocabulary([f"t{i}" for i in range(6)])
    pair = Pair(["s1", "s2", "s0"], ["t0", "t3"])
    e, values = energies(model, pair.source, pair.target, source, target)
    assert e.shape == (3, 4) and values.shape == (4, 12)
    [weights] = force(model, [pair], source, target)
    torch.testing.assert_close(torch.softmax(e, dim=-1), weights)


@pytest.mark.cuda
def test_cpu_equals_cuda():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here: nothing to compare with the CPU")
    model = model_of()
    inputs = pad(SOURCES), pad(TARGETS)
    here = model(*inputs)
    there = model.cuda()(*(each.cuda() for each in inputs))
    torch.testing.assert_close(here, there.cpu(), rtol=0, atol=1e-10)
