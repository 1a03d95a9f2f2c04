"""The feed-forward layer: torch's own, convolutions, and the memory."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lookback.experiments.feedforward_memories import STRONGEST, fired, measure
from lookback.feedforward import ACTIVATIONS, FeedForward, as_memory
from lookback.lab import records
from lookback.lab.corpus import Pair
from lookback.transformer import Transformer, TransformerConfig
from lookback.vocabulary import Vocabulary


def filled(activation: str = "relu", d_model: int = 6, d_ff: int = 20):
    torch.manual_seed(1)
    return FeedForward(d_model, d_ff, activation).double().eval()


def words(*shape: int) -> torch.Tensor:
    torch.manual_seed(2)
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_it_is_the_feed_forward_half_of_torchs_encoder_layer(activation):
    layer = filled(activation)
    torchs = nn.TransformerEncoderLayer(
        6, 1, 20, 0.0, activation, dtype=torch.float64
    )
    torchs.linear1.load_state_dict(layer.W_1.state_dict())
    torchs.linear2.load_state_dict(layer.W_2.state_dict())
    x = words(3, 5, 6)
    expected = torchs._ff_block(x)
    torch.testing.assert_close(layer(x), expected, rtol=1e-6, atol=1e-6)


def test_swiglu_is_a_gate_times_a_straight_half():
    layer, x = filled("swiglu"), words(3, 5, 6)
    gate, up = layer.W_1(x), layer.W_3(x)
    expected = layer.W_2(gate / (1 + (-gate).exp()) * up)
    torch.testing.assert_close(layer(x), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_each_position_is_computed_alone(activation):
    layer, x = filled(activation), words(2, 4, 6)
    for t in range(4):
        torch.testing.assert_close(layer(x)[:, t], layer(x[:, t]))
    order = torch.tensor([2, 0, 3, 1])
    torch.testing.assert_close(layer(x[:, order]), layer(x)[:, order])


def test_no_gradient_crosses_from_one_position_to_another():
    layer, x = filled(), words(1, 4, 6).requires_grad_()
    layer(x)[0, 2].sum().backward()
    touched = x.grad[0].abs().amax(-1) > 0
    assert touched.tolist() == [False, False, True, False]


def test_it_is_two_convolutions_of_kernel_size_one():
    layer, x = filled(), words(2, 7, 6)
    inner = F.conv1d(x.mT, layer.W_1.weight[..., None], layer.W_1.bias)
    outer = F.conv1d(inner.relu(), layer.W_2.weight[..., None], layer.W_2.bias)
    torch.testing.assert_close(layer(x), outer.mT, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_it_is_a_memory_of_fixed_keys_and_values(activation):
    layer, x = filled(activation), words(2, 3, 6)
    keys, values, weights = as_memory(layer, x)
    assert keys.shape == values.shape == (20, 6)
    answer = layer.W_2.bias + sum(
        weights[..., i, None] * values[i] for i in range(20)
    )
    torch.testing.assert_close(layer(x), answer, rtol=1e-12, atol=1e-12)


def test_without_rounding_the_memory_is_exact():
    layer = filled(d_model=3, d_ff=50)
    for parameter in layer.parameters():
        parameter.data = (8 * parameter.data).round()  # whole numbers
    x = (4 * words(5, 3)).round()
    _, values, weights = as_memory(layer, x)
    answer = sum(weights[:, i, None] * values[i] for i in range(50))
    assert torch.equal(layer(x), answer + layer.W_2.bias)


def test_attention_over_the_same_keys_differs_by_activation_and_division():
    layer = filled()
    nn.init.zeros_(layer.W_1.bias), nn.init.zeros_(layer.W_2.bias)
    x = words(4, 6)
    keys, values, weights = as_memory(layer, x)
    scores = x @ keys.T
    assert torch.equal(weights, scores.clamp(min=0))
    looked = scores.softmax(-1) @ values
    assert not torch.allclose(layer(x), looked, atol=1e-3)


def test_twice_the_question_gets_twice_the_answer_from_a_relu():
    layer = filled()
    nn.init.zeros_(layer.W_1.bias), nn.init.zeros_(layer.W_2.bias)
    x = words(4, 6)
    torch.testing.assert_close(layer(2 * x), 2 * layer(x))
    assert not torch.allclose(layer(-x), -layer(x), atol=1e-3)


def test_the_papers_layer_has_two_million_parameters():
    with torch.device("meta"):
        sizes = [p.numel() for p in FeedForward(512, 2048).parameters()]
    assert sum(sizes) == 2_099_712
    assert sum(sizes) - 2048 - 512 == 2_097_152


def test_an_unknown_activation_is_named():
    with pytest.raises(ValueError, match="'tanh'.*relu, gelu, swiglu"):
        FeedForward(4, 8, "tanh")


def test_a_unit_for_one_word_is_told_from_one_without_a_pattern():
    tokens = torch.arange(400) % 40
    one_word = (tokens == 7).float() + 0.01 * torch.rand(400)
    scattered = torch.zeros(400)
    scattered[:STRONGEST] = 1.0  # twenty different words
    silent = torch.zeros(400)
    found = measure(torch.stack([one_word, scattered, silent], 1), tokens)
    assert found["shares"][9] == 1  # the ten places with word 7
    assert found["never"] == found["seldom"] == 1
    assert found["active"] == pytest.approx(420 / 1200, abs=0.01)
    assert found["alike"] > found["chance"]


def test_what_is_active_is_what_the_layer_computes():
    torch.manual_seed(0)
    names = [f"w{i}" for i in range(6)]
    source, target = Vocabulary(names), Vocabulary(names)
    sizes = {"d_model": 8, "heads": 2, "layers": 2, "d_ff": 12}
    model = Transformer(
        TransformerConfig(len(source), len(target), **sizes)
    ).eval()
    pairs = [Pair(["w1", "w2"], ["w3"]), Pair(["w4"], ["w5", "w0", "w1"])]
    found = fired(model, pairs, source, target)
    units, words = found["encoder/0"]
    assert units.shape == (5, 12) and len(words) == 5  # <end> counts
    assert found["decoder/1"][0].shape == (6, 12)  # <start> counts
    assert (units >= 0).all()
    assert not model.encoder[0].feedforward.W_1._forward_hooks


def test_the_record_of_memories_adds_up():
    results = records.load("feedforward_memories")["results"]
    assert len(results["encoder"]) == len(results["decoder"]) == 3
    for layer in (*results["encoder"], *results["decoder"]):
        assert sum(layer["shares"]) + layer["seldom"] == layer["units"] == 1024
        assert 0 < layer["active"] < 1 and layer["chance"] < layer["alike"]
