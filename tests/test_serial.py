"""Counts of the chapter `serial` against what torch counts and keeps."""

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from lookback import serial
from lookback.experiments import serial as experiment
from lookback.experiments.serial import SMALL, crossing, reach
from lookback.heads import MultiHeadAttention
from lookback.lab import records
from lookback.recurrence import GRUCell, LSTMCell, read

SIZES = [(1, 8), (5, 8), (8, 8), (33, 8), (12, 32)]


def counted(run) -> int:
    """Multiplications of all matrix products; torch counts sums as well."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        run()
    return counter.get_total_flops() // 2


def read_lstm(cell: LSTMCell, x):
    h = c = x.new_zeros(len(x), cell.U.in_features)
    states = []
    for word in x.unbind(1):
        h, c = cell(word, h, c)
        states.append(h)
    return torch.stack(states, 1)


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_counts_are_those_of_torch(n, d):
    x, costs = torch.randn(1, n, d), serial.table(n, d, k=3, heads=4)
    gru, lstm = GRUCell(d, d), LSTMCell(d, d)
    look, conv = MultiHeadAttention(d, 4), nn.Conv1d(d, d, 3, padding=1)
    runs = {
        "GRU": lambda: read(gru, x),
        "LSTM": lambda: read_lstm(lstm, x),
        "self-attention": lambda: look(x, *look.project(x), need_weights=True),
        "convolution": lambda: conv(x.transpose(1, 2)),
    }
    for name, run in runs.items():
        assert counted(run) == costs[name].products, name


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_stages_hold_the_same_work(n, d):
    costs = serial.table(n, d)
    for name, stages in (
        ("tanh network", serial.recurrent(n, d, 1)),
        ("GRU", serial.recurrent(n, d, 3)),
        ("LSTM", serial.recurrent(n, d, 4)),
        ("self-attention", serial.self_attention(n, d)),
    ):
        assert serial.ticks(stages, 1) == costs[name].products
        assert serial.ticks(stages, 10**12) == costs[name].serial


def test_attention_and_gru_are_equal_where_n_is_d():
    for d in (4, 64, 512):
        for n, sign in ((d - 1, -1), (d, 0), (d + 1, 1)):
            costs = serial.table(n, d)
            gap = costs["self-attention"].products - costs["GRU"].products
            assert (gap > 0) - (gap < 0) == sign
        costs = serial.table(2 * d, d)
        assert costs["self-attention"].products == costs["LSTM"].products


def test_more_workers_never_take_longer():
    stages = serial.recurrent(7, 5)
    found = [serial.ticks(stages, p) for p in range(1, 600)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == 8


@pytest.mark.parametrize("workers", [0, -3])
def test_no_workers_are_refused(workers):
    with pytest.raises(ValueError, match="never finish"):
        serial.ticks(serial.self_attention(2, 2), workers)


@pytest.mark.parametrize("k", [1, 4])
def test_a_convolution_without_a_middle_or_sides_is_refused(k):
    with pytest.raises(ValueError, match=f"k is {k}: give an odd number"):
        serial.table(5, 4, k=k)


@pytest.mark.parametrize("n", [8, 50])
def test_what_is_kept_is_what_torch_keeps(n):
    d = 16
    x, costs = torch.randn(1, n, d, requires_grad=True), serial.table(n, d)
    gru, look = GRUCell(d, d), MultiHeadAttention(d, 1)
    assert serial.kept(lambda: read(gru, x)) == costs["GRU"].kept
    lstm = LSTMCell(d, d)
    most = costs["LSTM"].kept
    assert most - 2 * d <= serial.kept(lambda: read_lstm(lstm, x)) <= most
    explicit = serial.kept(lambda: look(x, *look.project(x), need_weights=True))
    assert explicit == costs["self-attention"].kept


def test_the_split_loop_gives_the_same_states():
    torch.manual_seed(0)
    cell, x = GRUCell(6, 9), torch.randn(3, 7, 6)
    torch.testing.assert_close(serial.read_split(cell, x), read(cell, x))
    theirs = nn.GRU(6, 9, batch_first=True)
    theirs.weight_ih_l0, theirs.weight_hh_l0 = cell.W.weight, cell.U.weight
    theirs.bias_ih_l0, theirs.bias_hh_l0 = cell.W.bias, cell.U.bias
    torch.testing.assert_close(serial.read_split(cell, x), theirs(x)[0])


def test_the_paths_are_those_found_by_gradient():
    """A position depends on another only if layers enough lie between."""
    n, k, d = 9, 3, 2
    torch.manual_seed(0)
    conv = nn.Conv1d(d, d, k, padding=1).double()
    path = serial.table(n, d, k=k)["convolution"].path
    for depth, reaches in ((path - 1, False), (path, True)):
        x = torch.randn(1, d, n, dtype=torch.float64, requires_grad=True)
        y = x
        for _ in range(depth):
            y = conv(y)
        (gradient,) = torch.autograd.grad(y[..., -1].sum(), x)
        assert bool(gradient[..., 0].abs().sum() > 0) == reaches


def test_the_wave_waits_for_below_and_before():
    grid = serial.wavefront(6, 4)
    assert grid.shape == (4, 6) and grid[0, 0] == 1
    assert (grid[1:] > grid[:-1]).all() and (grid[:, 1:] > grid[:, :-1]).all()
    assert grid[-1, -1] == 6 + 4 - 1


def test_a_crossing_lies_between_its_points():
    lengths, level = [10, 100, 1000], [10.0] * 3
    assert crossing(lengths, [1.0, 10.0, 100.0], level) == pytest.approx(100)
    between = crossing(lengths, [1.0, 100.0, 1e4], level)
    assert between == pytest.approx(10**1.5)
    assert crossing(lengths, [20.0, 1.0, 1.0], level) is None
    assert crossing(lengths, [1.0, 1.0, 1.0], level) is None


def test_reach_is_the_norm_of_the_jacobian():
    torch.manual_seed(1)
    W = torch.randn(SMALL, SMALL, dtype=torch.float64)
    assert reach(lambda x: x.cumsum(1) @ W, 5) == pytest.approx(float(W.norm()))


def test_what_is_timed_reads_the_whole_sequence():
    x = torch.randn(1, 5, 8, requires_grad=True)
    for name, layer in experiment.layers(8, torch.device("cpu")).items():
        y = layer(x)
        (gradient,) = torch.autograd.grad(y[:, -1].sum(), x)
        assert y.shape == x.shape and gradient.abs().sum(-1).all(), name


def test_the_recorded_derivatives_come_out_again(monkeypatch):
    def short(layer, n):
        if n <= 16:
            return reach(layer, n)
        torch.randn(1, n, SMALL, dtype=torch.float64)  # drawn all the same
        return 0.0

    monkeypatch.setattr(experiment, "reach", short)
    record, count = records.load("serial")["results"]["gradient"], 4
    for name, sizes in experiment.gradients().items():
        assert sizes[:count] == pytest.approx(record[name][:count], rel=1e-6)
        assert not any(sizes[count:])
