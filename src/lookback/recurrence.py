r"""Recurrent cells: one vector, rewritten at every word.

Plain: Elman 1990.

    h' = tanh(W x + U h)
    ∂h_T/∂h_t = Π_{k=T…t+1} diag(1 − h_k²) U

GRU: Cho et al. 2014, arXiv 1406.1078, section 2.3 (the "gated" hidden unit).

    r = σ(W_r x + U_r h)                      reset gate
    z = σ(W_z x + U_z h)                      update gate
    n = tanh(W_n x + r ∘ (U_n h))             candidate
    h' = (1 − z) ∘ n + z ∘ h

LSTM: Hochreiter & Schmidhuber 1997, with the forget gate of Gers, Schmidhuber
& Cummins 2000; the cell of 1997 had none.

    i, f, o = σ(W x + U h), g = tanh(W_g x + U_g h)
    c' = f ∘ c + i ∘ g,   h' = o ∘ tanh(c')

Departures: Elman's own gradient went back one step, ours goes back to the
first. Cho et al. write U_n (r ∘ h), with the reset gate inside the product. We
follow torch.nn.GRU, which puts it outside, so that one product U h serves all
three gates; the cells here equal torch's number for number. Bahdanau et al.
2015 let z multiply the candidate, not the old state; the two conventions are
the same model with z read as 1 − z.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class RNNCell(nn.Module):
    """One step of a plain recurrent network (Elman 1990)."""

    def __init__(self, embed: int, hidden: int):
        super().__init__()
        self.W = nn.Linear(embed, hidden)
        self.U = nn.Linear(hidden, hidden)

    def forward(
        self,
        x: Float[Tensor, "batch embed"],
        h: Float[Tensor, "batch hidden"],
    ) -> Float[Tensor, "batch hidden"]:
        """h' = tanh(W x + U h)."""
        return torch.tanh(self.W(x) + self.U(h))


class GRUCell(nn.Module):
    """One step of a gated recurrent unit (Cho et al. 2014)."""

    def __init__(self, embed: int, hidden: int):
        super().__init__()
        self.W = nn.Linear(embed, 3 * hidden)  # W_r, W_z, W_n
        self.U = nn.Linear(hidden, 3 * hidden)  # U_r, U_z, U_n

    def forward(
        self,
        x: Float[Tensor, "batch embed"],
        h: Float[Tensor, "batch hidden"],
    ) -> Float[Tensor, "batch hidden"]:
        """h' = (1 − z) ∘ n + z ∘ h."""
        Wx_r, Wx_z, Wx_n = self.W(x).chunk(3, dim=-1)
        Uh_r, Uh_z, Uh_n = self.U(h).chunk(3, dim=-1)
        r = torch.sigmoid(Wx_r + Uh_r)  # how much of the past to consult
        z = torch.sigmoid(Wx_z + Uh_z)  # how much of the past to keep
        n = torch.tanh(Wx_n + r * Uh_n)  # the candidate
        return (1 - z) * n + z * h


class LSTMCell(nn.Module):
    """One step of a long short-term memory, with a forget gate (Gers 2000)."""

    def __init__(self, embed: int, hidden: int):
        super().__init__()
        self.W = nn.Linear(embed, 4 * hidden)
        self.U = nn.Linear(hidden, 4 * hidden)

    def forward(
        self,
        x: Float[Tensor, "batch embed"],
        h: Float[Tensor, "batch hidden"],
        c: Float[Tensor, "batch hidden"],
    ) -> tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch hidden"]]:
        """c' = f ∘ c + i ∘ g and h' = o ∘ tanh(c')."""
        i, f, g, o = (self.W(x) + self.U(h)).chunk(4, dim=-1)
        i, f, o = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o)
        c = f * c + i * torch.tanh(g)
        return o * torch.tanh(c), c


def read(
    cell: RNNCell | GRUCell, words: Float[Tensor, "batch source embed"]
) -> Float[Tensor, "batch source hidden"]:
    """h_1 … h_T: the cell's state after each word, from h_0 = 0."""
    hidden = cell.U.in_features
    h = words.new_zeros(words.shape[0], hidden)
    states = []
    for x in words.unbind(dim=1):  # one word after another
        h = cell(x, h)
        states.append(h)
    return torch.stack(states, dim=1)


def carry(
    U: Float[Tensor, "hidden hidden"], states: Float[Tensor, "source hidden"]
) -> Float[Tensor, "source hidden hidden"]:
    """∂h_T/∂h_t of a plain network, for t = 1 … T; the last is the identity.

    `states` are h_1 … h_T of one sentence. Row i, column j of a Jacobian says
    how number i of h_T follows number j of h_t.
    """
    J = torch.eye(len(U), dtype=U.dtype, device=U.device)
    found = [J]
    for h in states[1:].flip(0):  # h_T, …, h_2
        J = J @ ((1 - h**2)[:, None] * U)  # diag(1 − h_k²) U
        found.append(J)
    return torch.stack(found[::-1])
