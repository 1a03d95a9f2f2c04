r"""Neural Turing Machine: a memory addressed by content and by location.

Graves, Wayne & Danihelka 2014, arXiv 1410.5401, section 3.

    r = Σ_i w(i) M(i)                                   reading       eq. 2
    M(i) ← M(i) [1 − w(i) e] + w(i) a                   writing       eqs. 3, 4
    w_c(i) = softmax_i(β cos(k, M(i)))                  content       eqs. 5, 6
    w_g = g w_c + (1 − g) w_before                      interpolation eq. 7
    w̃(i) = Σ_j w_g(j) s(i − j mod N)                    shift         eq. 8
    w(i) = w̃(i)^γ / Σ_j w̃(j)^γ                          sharpen       eq. 9

Departures, and choices where the paper leaves it open: one head both reads and
writes, in this order (the paper has heads of either kind); it begins on slot 0
of a tape that holds 10⁻⁶ in every number; it moves by −1, 0 or +1; the answer
is made from what was just read, and from nothing else. Before training the key
strength β is near 4. The controller is one tanh layer that sees the
input and what was read the step before; it keeps nothing itself.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

BLANK = 1e-6  # every number of an unwritten tape
READER, WRITER = 0, -1  # the first head, the last: the same if there is one


def content(
    key: Float[Tensor, "batch heads d"],
    strength: Float[Tensor, "batch heads 1"],
    memory: Float[Tensor, "batch slots d"],
) -> Float[Tensor, "batch heads slots"]:
    """w_c(i) = softmax_i(β cos(k, M(i))), eqs. 5 and 6."""
    cosine = _unit(key) @ _unit(memory).transpose(1, 2)  # K[k, M(i)]
    return (strength * cosine).softmax(-1)


def _unit(vectors: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    return vectors / (vectors.norm(dim=-1, keepdim=True) + 1e-12)


def shift(
    weights: Float[Tensor, "batch heads slots"],
    moves: Float[Tensor, "batch heads 3"],
) -> Float[Tensor, "batch heads slots"]:
    """w̃(i) = Σ_j w(j) s(i − j mod N), eq. 8; moves are s(−1), s(0), s(+1).

    After the last slot comes the first.
    """
    back, stay, on = moves.split(1, dim=-1)
    from_right, from_left = weights.roll(-1, -1), weights.roll(1, -1)
    return back * from_right + stay * weights + on * from_left


def sharpen(
    weights: Float[Tensor, "batch heads slots"],
    gamma: Float[Tensor, "batch heads 1"],
) -> Float[Tensor, "batch heads slots"]:
    """w(i) = w̃(i)^γ / Σ_j w̃(j)^γ, eq. 9."""
    most = weights.detach().amax(-1, keepdim=True)  # or all could become 0
    raised = (weights / most) ** gamma
    return raised / raised.sum(-1, keepdim=True)


class Addressing(NamedTuple):
    """The addressing parameters of the heads, emitted anew at every step."""

    key: Float[Tensor, "batch heads d"]  # k
    strength: Float[Tensor, "batch heads 1"]  # β, above 0
    gate: Float[Tensor, "batch heads 1"]  # g, from 0 to 1
    moves: Float[Tensor, "batch heads 3"]  # s(−1), s(0), s(+1): sum 1
    gamma: Float[Tensor, "batch heads 1"]  # γ, at least 1


def address(
    memory: Float[Tensor, "batch slots d"],
    before: Float[Tensor, "batch heads slots"],
    addressing: Addressing,
) -> Float[Tensor, "batch heads slots"]:
    """Where the heads stand next: eqs. 5 to 9."""
    found = content(addressing.key, addressing.strength, memory)
    gated = addressing.gate * found + (1 - addressing.gate) * before  # eq. 7
    return sharpen(shift(gated, addressing.moves), addressing.gamma)


def read(
    memory: Float[Tensor, "batch slots d"],
    weights: Float[Tensor, "batch slots"],
) -> Float[Tensor, "batch d"]:
    """r = Σ_i w(i) M(i), eq. 2."""
    return (weights[:, None] @ memory)[:, 0]


def write(
    memory: Float[Tensor, "batch slots d"],
    weights: Float[Tensor, "batch slots"],
    erase: Float[Tensor, "batch d"],
    add: Float[Tensor, "batch d"],
) -> Float[Tensor, "batch slots d"]:
    """M(i) ← M(i) [1 − w(i) e] + w(i) a, eqs. 3 and 4."""
    w = weights[:, :, None]
    return memory * (1 - w * erase[:, None]) + w * add[:, None]


class Tape(NamedTuple):
    """The memory, where each head stands on it, and what was read."""

    memory: Float[Tensor, "batch slots d"]
    weights: Float[Tensor, "batch heads slots"]
    found: Float[Tensor, "batch d"]


@dataclass(frozen=True)
class NTMConfig:
    """The sizes; in the comments the paper's, for copying."""

    inputs: int = 8  # six bits, a mark for the start, one for the end; 8 bits
    outputs: int = 6  # 8
    hidden: int = 64  # 100
    d: int = 12  # numbers in a slot; 20
    heads: int = 1  # one that reads and one that writes
    sharp: float = 4.0  # a head's β before training, about


class NTM(nn.Module):
    """A controller without a state, and a memory: a Neural Turing Machine."""

    def __init__(self, config: NTMConfig):
        super().__init__()
        self.config, d = config, config.d
        self.controller = nn.Linear(config.inputs + d, config.hidden)
        self.addressing = nn.Linear(config.hidden, config.heads * (d + 6))
        self.ink = nn.Linear(config.hidden, 2 * d)  # e and a
        self.output = nn.Linear(d, config.outputs)
        with torch.no_grad():
            self.addressing.bias.view(config.heads, -1)[:, d] += config.sharp

    def blank(self, batch: int, slots: int) -> Tape:
        """An unwritten tape, every head on its slot 0."""
        memory = self.ink.bias.new_full((batch, slots, self.config.d), BLANK)
        weights = memory.new_zeros(batch, self.config.heads, slots)
        weights[:, :, 0] = 1
        return Tape(memory, weights, memory[:, 0])

    def set_addressing(self, h: Float[Tensor, "batch hidden"]) -> Addressing:
        """Any numbers in, each parameter's own range out."""
        raw = self.addressing(h).unflatten(-1, (self.config.heads, -1))
        key, strength, gate, moves, gamma = raw.split(
            (self.config.d, 1, 1, 3, 1), dim=-1
        )
        return Addressing(
            key,
            F.softplus(strength),
            gate.sigmoid(),
            moves.softmax(-1),
            1 + F.softplus(gamma),
        )

    def step(
        self, x: Float[Tensor, "batch _"], tape: Tape
    ) -> tuple[Float[Tensor, "batch _"], Tape, Addressing]:
        """One input: the answer's logits, the tape after it, the parameters."""
        h = torch.tanh(self.controller(torch.cat([x, tape.found], -1)))
        addressing = self.set_addressing(h)
        weights = address(tape.memory, tape.weights, addressing)
        found = read(tape.memory, weights[:, READER])
        erase, add = self.ink(h).chunk(2, -1)
        memory = write(tape.memory, weights[:, WRITER], erase.sigmoid(), add)
        return self.output(found), Tape(memory, weights, found), addressing

    def forward(
        self, inputs: Float[Tensor, "batch length _"], slots: int
    ) -> Float[Tensor, "batch length _"]:
        """The logits after every input, from a blank tape of so many slots."""
        tape, said = self.blank(len(inputs), slots), []
        for x in inputs.unbind(1):
            logits, tape, _ = self.step(x, tape)
            said.append(logits)
        return torch.stack(said, 1)
