"""The stand-in for a GPU notices what a GPU would."""

import pytest
import stand_in
import torch
from stand_in import StandIn
from torch import nn


@pytest.fixture
def layer():
    """A layer that has gone to the stand-in."""
    with StandIn():
        yield nn.Linear(3, 2).to("cuda")


def test_what_goes_there_says_so(layer):
    assert layer.weight.device.type == "cuda"
    x = torch.ones(1, 3, device=layer.weight.device)
    y = layer(x)
    assert y.is_cuda and not y.cpu().is_cuda and not torch.ones(1).is_cuda
    y.sum().backward()
    assert layer.weight.grad.is_cuda
    torch.optim.Adam(layer.parameters()).step()


@pytest.mark.parametrize(
    "slip",
    [
        lambda layer: layer(torch.ones(1, 3)),
        lambda layer: layer.weight + torch.ones(2, 3),
        lambda layer: torch.stack([layer.bias, torch.ones(2)]),
        lambda layer: torch.where(layer.bias > 0, layer.bias, torch.ones(2)),
    ],
)
def test_a_tensor_left_on_the_cpu_is_an_error(layer, slip):
    with pytest.raises(RuntimeError, match="at least two devices"):
        slip(layer)


def test_a_picture_needs_the_cpu(layer):
    with pytest.raises(TypeError, match="Use Tensor.cpu"):
        layer.bias.detach().numpy()
    layer.bias.detach().cpu().numpy()


def test_numbers_may_be_mixed_in_and_read_off(layer):
    assert float((2 * layer.bias * torch.tensor(2.0)).sum()) is not None
    assert len(layer.bias.tolist()) == 2


@pytest.mark.parametrize(
    ("waits", "use"),
    [
        (0, lambda bias: bias + 1),
        (0, lambda bias: torch.zeros(2).to("cuda", non_blocking=True)),
        (1, lambda bias: torch.zeros(2).to("cuda")),
        (1, lambda bias: torch.tensor([0, 1], device="cuda")),
        (1, lambda bias: bias.sum().item()),
        (1, lambda bias: int(bias.sum())),
        (1, lambda bias: bool(bias.sum() > 0)),
        (1, lambda bias: bias.tolist()),
        (1, lambda bias: bias.cpu()),
        (1, lambda bias: bias.to("cpu")),
        (1, lambda bias: bias.nonzero()),
        (0, lambda bias: torch.zeros(2).sum().item()),
    ],
)
def test_it_counts_how_often_the_cpu_waits(layer, waits, use):
    before = stand_in.WAITS
    use(layer.bias.detach())
    assert stand_in.WAITS - before == waits
