"""The recurrent cells against torch's own, with the same weights."""

import pytest
import torch
from torch import nn

from lookback.recurrence import GRUCell, LSTMCell, RNNCell, carry, read

EMBED, HIDDEN, BATCH = 5, 7, 3


def twins(ours_kind, theirs_kind):
    """Our cell and torch's, with the same random weights."""
    torch.manual_seed(0)
    ours, theirs = ours_kind(EMBED, HIDDEN), theirs_kind(EMBED, HIDDEN)
    copy_weights(ours, theirs, "")
    return ours, theirs


@torch.no_grad()
def copy_weights(ours, theirs, suffix):
    ours.W.weight.copy_(getattr(theirs, f"weight_ih{suffix}"))
    ours.W.bias.copy_(getattr(theirs, f"bias_ih{suffix}"))
    ours.U.weight.copy_(getattr(theirs, f"weight_hh{suffix}"))
    ours.U.bias.copy_(getattr(theirs, f"bias_hh{suffix}"))


@pytest.mark.parametrize(
    ("ours_kind", "theirs_kind"), [(RNNCell, nn.RNNCell), (GRUCell, nn.GRUCell)]
)
def test_cell_equals_torch(ours_kind, theirs_kind):
    ours, theirs = twins(ours_kind, theirs_kind)
    x, h = torch.randn(BATCH, EMBED), torch.randn(BATCH, HIDDEN)
    torch.testing.assert_close(ours(x, h), theirs(x, h), rtol=0, atol=1e-6)


def test_lstm_cell_equals_torch():
    ours, theirs = twins(LSTMCell, nn.LSTMCell)
    x = torch.randn(BATCH, EMBED)
    h, c = torch.randn(BATCH, HIDDEN), torch.randn(BATCH, HIDDEN)
    for mine, true in zip(ours(x, h, c), theirs(x, (h, c)), strict=True):
        torch.testing.assert_close(mine, true, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("ours_kind", "theirs_kind"), [(RNNCell, nn.RNN), (GRUCell, nn.GRU)]
)
def test_read_equals_torch(ours_kind, theirs_kind):
    torch.manual_seed(1)
    ours = ours_kind(EMBED, HIDDEN)
    theirs = theirs_kind(EMBED, HIDDEN, batch_first=True)
    copy_weights(ours, theirs, "_l0")
    words = torch.randn(BATCH, 9, EMBED)
    torch.testing.assert_close(
        read(ours, words), theirs(words)[0], rtol=0, atol=1e-6
    )


def test_lstm_cell_step_by_step_equals_torch():
    torch.manual_seed(2)
    ours = LSTMCell(EMBED, HIDDEN)
    theirs = nn.LSTM(EMBED, HIDDEN, batch_first=True)
    copy_weights(ours, theirs, "_l0")
    words = torch.randn(BATCH, 9, EMBED)
    h = c = torch.zeros(BATCH, HIDDEN)
    for x in words.unbind(1):
        h, c = ours(x, h, c)
    outputs, (last, memory) = theirs(words)
    torch.testing.assert_close(h, outputs[:, -1], rtol=0, atol=1e-6)
    torch.testing.assert_close(c, memory[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("length", [1, 2, 9])
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_carry_is_autograds_jacobian(length, scale):
    torch.manual_seed(3)
    cell = RNNCell(EMBED, HIDDEN).double()
    with torch.no_grad():
        cell.U.weight.mul_(scale)
    words = torch.randn(1, length, EMBED, dtype=torch.float64)
    with torch.no_grad():
        states = read(cell, words)[0]
        found = carry(cell.U.weight, states)
    assert found.shape == (length, HIDDEN, HIDDEN)
    for t in range(length):

        def rest(h, t=t):
            for x in words[0, t + 1 :]:
                h = cell(x[None], h[None])[0]
            return h

        truth = torch.autograd.functional.jacobian(rest, states[t])
        torch.testing.assert_close(found[t], truth)


def test_carry_of_one_number_is_a_product_of_numbers():
    states = torch.tensor([[0.5], [0.6], [-0.2]], dtype=torch.float64)
    found = carry(torch.tensor([[2.0]], dtype=torch.float64), states)
    by_hand = [2 * (1 - 0.36) * 2 * (1 - 0.04), 2 * (1 - 0.04), 1.0]
    assert found.flatten().tolist() == pytest.approx(by_hand)


def test_without_a_forget_gate_the_memory_passes_whole():
    cell = LSTMCell(EMBED, HIDDEN).double()
    with torch.no_grad():
        for part in (cell.W.weight, cell.U.weight, cell.U.bias):
            part[HIDDEN : 2 * HIDDEN] = 0  # f = σ(b_f)
        cell.W.bias[HIDDEN : 2 * HIDDEN] = 100.0  # f = 1
    x, h = torch.randn(1, EMBED).double(), torch.randn(1, HIDDEN).double()

    def memory(c):
        return cell(x, h, c[None])[1][0]

    c = torch.randn(HIDDEN, dtype=torch.float64)
    found = torch.autograd.functional.jacobian(memory, c)
    assert torch.equal(found, torch.eye(HIDDEN, dtype=torch.float64))


def test_update_gate_at_1_keeps_the_state():
    cell = GRUCell(EMBED, HIDDEN)
    with torch.no_grad():
        cell.W.bias[HIDDEN : 2 * HIDDEN] = 100.0  # z = 1
    h = torch.randn(BATCH, HIDDEN)
    torch.testing.assert_close(cell(torch.randn(BATCH, EMBED), h), h)


def test_reset_gate_at_0_forgets_the_state_in_the_new_content():
    cell = GRUCell(EMBED, HIDDEN)
    with torch.no_grad():
        cell.W.bias[:HIDDEN] = -100.0  # r = 0
        cell.W.bias[HIDDEN : 2 * HIDDEN] = -100.0  # z = 0
    x = torch.randn(BATCH, EMBED)
    once, again = (cell(x, torch.randn(BATCH, HIDDEN)) for _ in range(2))
    torch.testing.assert_close(once, again)


@pytest.mark.parametrize("kind", [RNNCell, GRUCell, LSTMCell])
def test_gradients_reach_every_weight(kind):
    cell = kind(EMBED, HIDDEN)
    x, h = torch.randn(BATCH, EMBED), torch.randn(BATCH, HIDDEN)
    out = cell(x, h, h)[0] if kind is LSTMCell else cell(x, h)
    out.sum().backward()
    for name, weight in cell.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0, name
