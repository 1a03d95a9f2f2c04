"""The recurrent cells against torch's own, with the same weights."""

import pytest
import torch
from torch import nn

from lookback.recurrence import GRUCell, LSTMCell, read

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


def test_gru_cell_equals_torch():
    ours, theirs = twins(GRUCell, nn.GRUCell)
    x, h = torch.randn(BATCH, EMBED), torch.randn(BATCH, HIDDEN)
    torch.testing.assert_close(ours(x, h), theirs(x, h), rtol=0, atol=1e-6)


def test_lstm_cell_equals_torch():
    ours, theirs = twins(LSTMCell, nn.LSTMCell)
    x = torch.randn(BATCH, EMBED)
    h, c = torch.randn(BATCH, HIDDEN), torch.randn(BATCH, HIDDEN)
    for mine, true in zip(ours(x, h, c), theirs(x, (h, c)), strict=True):
        torch.testing.assert_close(mine, true, rtol=0, atol=1e-6)


def test_read_equals_torch_gru():
    torch.manual_seed(1)
    ours = GRUCell(EMBED, HIDDEN)
    theirs = nn.GRU(EMBED, HIDDEN, batch_first=True)
    copy_weights(ours, theirs, "_l0")
    words = torch.randn(BATCH, 9, EMBED)
    torch.testing.assert_close(
        read(ours, words), theirs(words)[0], rtol=0, atol=1e-6
    )


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


@pytest.mark.parametrize("kind", [GRUCell, LSTMCell])
def test_gradients_reach_every_weight(kind):
    cell = kind(EMBED, HIDDEN)
    x, h = torch.randn(BATCH, EMBED), torch.randn(BATCH, HIDDEN)
    out = cell(x, h) if kind is GRUCell else cell(x, h, h)[0]
    out.sum().backward()
    for name, weight in cell.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0, name
