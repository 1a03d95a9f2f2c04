"""The RNN Encoder–Decoder against its equations, and what it promises."""

import dataclasses

import pytest
import torch

from lookback.bottleneck import Bottleneck, BottleneckConfig, reverse
from lookback.lab.corpus import pad
from lookback.vocabulary import END, PAD, START, UNK

SOURCES = [[5, 6, 7, 8, END], [9, END], [4, UNK, 5, END]]
TARGETS = [[START, 4, 5], [START, 6, 7, 8, 9], [START, UNK]]
variants = pytest.mark.parametrize("reversed_source", [False, True])


def model_of(reversed_source=False, dropout=0.0):
    torch.manual_seed(3)
    config = BottleneckConfig(
        11,
        10,
        embed=4,
        hidden=6,
        maxout=3,
        dropout=dropout,
        reverse=reversed_source,
    )
    return Bottleneck(config).double().eval()


def gru(x, h, w_x, w_h, b_x, b_h):
    """The docstring's GRU for one sentence, gate by gate."""
    n = len(h)
    a, b = w_x @ x + b_x, w_h @ h + b_h
    r = 1 / (1 + torch.exp(-(a[:n] + b[:n])))
    z = 1 / (1 + torch.exp(-(a[n : 2 * n] + b[n : 2 * n])))
    new = torch.tanh(a[2 * n :] + r * b[2 * n :])
    return (1 - z) * new + z * h


def readout(w, s, y, c):
    """W_o t with t_j = max(t~_{2j-1}, t~_{2j}), one j at a time."""
    t = w["readout.maxout.weight"] @ torch.cat([s, y, c])
    t = t + w["readout.maxout.bias"]
    t = torch.stack([max(t[2 * j], t[2 * j + 1]) for j in range(len(t) // 2)])
    return w["readout.output.weight"] @ t + w["readout.output.bias"]


def slow(model, source, target_in):
    """The module docstring's equations for one sentence, word by word."""
    w, config = model.state_dict(), model.config
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    enc = [w[f"encoder.{name}_l0"] for name in names]
    dec = [w[f"decoder.{name}"] for name in names]
    if config.reverse:
        source = [*source[:-1][::-1], source[-1]]
    h = torch.zeros(config.hidden, dtype=torch.float64)
    for word in source:
        h = gru(w["source_embedding.weight"][word], h, *enc)
    c = torch.tanh(w["squeeze.weight"] @ h + w["squeeze.bias"])
    s = torch.tanh(w["bridge.weight"] @ c + w["bridge.bias"])
    logits = []
    for word in target_in:
        y = w["target_embedding.weight"][word]
        s = gru(torch.cat([y, c]), s, *dec)
        logits.append(readout(w, s, y, c))
    return torch.stack(logits)


@variants
def test_equals_its_equations(reversed_source):
    model = model_of(reversed_source)
    for source, target in zip(SOURCES, TARGETS, strict=True):
        fast = model(torch.tensor([source]), torch.tensor([target]))[0]
        torch.testing.assert_close(
            fast, slow(model, source, target), rtol=0, atol=1e-12
        )


@variants
def test_batched_equals_one_by_one(reversed_source):
    model = model_of(reversed_source)
    together = model(pad(SOURCES), pad(TARGETS))
    for i, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = model(torch.tensor([source]), torch.tensor([target]))[0]
        torch.testing.assert_close(
            together[i, : len(target)], alone, rtol=0, atol=1e-12
        )


@variants
def test_forward_equals_step_by_step(reversed_source):
    model = model_of(reversed_source)
    target = pad(TARGETS)
    memory = model.encode(pad(SOURCES))
    state, rows = model.start(memory), []
    for token in target.unbind(dim=1):
        logits, state, weights = model.step(token, state, memory)
        assert weights is None  # it never looks
        rows.append(logits)
    torch.testing.assert_close(
        torch.stack(rows, dim=1), model(pad(SOURCES), target)
    )


@variants
def test_the_decoder_cannot_see_the_future(reversed_source):
    model = model_of(reversed_source)
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


def test_one_vector_of_the_same_size_whatever_the_length():
    model = model_of()
    for length in (1, 2, 40):
        memory = model.encode(torch.tensor([[5] * length + [END]]))
        assert len(memory) == 1 and memory.c.shape == (1, 6)


def test_reverse_leaves_end_and_padding_in_place():
    rows = torch.tensor([[5, 6, UNK, END], [7, END, PAD, PAD]])
    expected = [[UNK, 6, 5, END], [7, END, PAD, PAD]]
    assert reverse(rows).tolist() == expected


def test_reversed_model_reads_the_reversed_source():
    plain, back = model_of(), model_of(reversed_source=True)
    back.load_state_dict(plain.state_dict())
    target = torch.tensor([TARGETS[0]])
    forwards = torch.tensor([[5, 6, 7, 8, END]])
    turned = torch.tensor([[8, 7, 6, 5, END]])
    assert torch.equal(back(forwards, target), plain(turned, target))
    assert not torch.allclose(back(forwards, target), plain(forwards, target))


def test_dropout_only_while_training():
    model = model_of(dropout=0.5)
    inputs = torch.tensor([SOURCES[0]]), torch.tensor([TARGETS[0]])
    assert torch.equal(model(*inputs), model(*inputs))
    model.train()
    assert not torch.equal(model(*inputs), model(*inputs))


def test_gradients_reach_every_weight():
    model = model_of()
    model(pad(SOURCES), pad(TARGETS)).sum().backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0, name


def test_config_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BottleneckConfig(10, 10).hidden = 5


@pytest.mark.cuda
def test_cpu_equals_cuda():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here: nothing to compare with the CPU")
    model = model_of()
    inputs = pad(SOURCES), pad(TARGETS)
    here = model(*inputs)
    there = model.cuda()(*(each.cuda() for each in inputs))
    torch.testing.assert_close(here, there.cpu(), rtol=0, atol=1e-10)
