r"""Costs of layers: multiplications, and the sequential steps that must wait.

Vaswani et al. 2017, arXiv 1706.03762, section 4 and Table 1, with constants
where the table has O(…). For n positions of d numbers each:

    recurrent       multiplications  2 G n d²        waits n + 1
    self-attention  multiplications  4 n d² + 2 n² d waits 4
    convolution     multiplications  k n d²          waits 1
    restricted      multiplications  4 n d² + 2 r n d waits 4

G is the number of matrix pairs W, U in the cell: 1 for a plain tanh network,
3 for a GRU, 4 for an LSTM. Departure: the table leaves out the four maps
W_Q, W_K, W_V and W_O of attention, 4 n d², which are here; and it counts
operations, where we count the multiplications of matrix products alone.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lookback.recurrence import GRUCell


class Stage(NamedTuple):
    """Multiplications that need not wait for each other."""

    name: str
    products: int


class Cost(NamedTuple):
    """What a layer costs, read off its stages."""

    products: int  # multiplications
    serial: int  # stages, each of which waits for the one before
    path: int  # most layers or steps between two positions
    kept: int  # numbers that the backward pass needs again


def recurrent(n: int, d: int, gates: int = 3) -> list[Stage]:
    """G n d² at once for all x_t W, then n times G d² for h U."""
    step = [Stage(f"h U at word {t + 1}", gates * d * d) for t in range(n)]
    return [Stage("x W of all words", gates * n * d * d), *step]


def self_attention(n: int, d: int) -> list[Stage]:
    """Projections, scores, average, output; the heads do not change them."""
    return [
        Stage("queries, keys, values", 3 * n * d * d),
        Stage("scores", n * n * d),
        Stage("average", n * n * d),
        Stage("output", n * d * d),
    ]


def ticks(stages: list[Stage], workers: int) -> int:
    """Σ ⌈products / workers⌉: each processor does one product per tick.

    Raises ValueError without workers.
    """
    if workers < 1:
        raise ValueError(f"{workers} workers never finish: give at least 1")
    return sum(-(-stage.products // workers) for stage in stages)  # ⌈m_s / p⌉


def table(n: int, d: int, k: int = 3, r: int = 16, heads: int = 1) -> dict:
    """Table 1 with numbers: the Cost of each kind of layer.

    `kept` counts, besides the inputs, what this book's cells and explicit
    attention keep: states and gates; queries, keys, values, contexts and the
    weights of every head. A restricted layer attends to r positions, ⌊r/2⌋ to
    each side; a convolution's k is odd. Raises ValueError for an even k, and
    for 1, with which no position meets another.
    """
    if k < 3 or k % 2 == 0:
        raise ValueError(f"k is {k}: give an odd number from 3 on")
    maps = 4 * n * d * d

    def rnn(gates, numbers):
        return Cost(2 * gates * n * d * d, n + 1, n - 1, numbers * n * d)

    side = max(1, r // 2)
    return {
        "tanh network": rnn(1, 2),
        "GRU": rnn(3, 9),
        "LSTM": rnn(4, 8),
        "self-attention": Cost(
            maps + 2 * n * n * d, 4, 1, 5 * n * d + heads * n * n
        ),
        "convolution": Cost(
            k * n * d * d, 1, math.ceil((n - 1) / (k // 2)), n * d
        ),
        "restricted": Cost(
            maps + 2 * r * n * d,
            4,
            math.ceil((n - 1) / side),
            5 * n * d + heads * r * n,
        ),
    }


def read_split(
    cell: GRUCell, words: Float[Tensor, "batch source embed"]
) -> Float[Tensor, "batch source hidden"]:
    """The same states as `recurrence.read`; only what must wait is looped."""
    xW = cell.W(words)  # all words in one product: nothing waits
    h = words.new_zeros(len(words), cell.U.in_features)
    states = []
    for now in xW.unbind(dim=1):
        xW_r, xW_z, xW_n = now.chunk(3, dim=-1)
        hU_r, hU_z, hU_n = cell.U(h).chunk(3, dim=-1)  # waits for h
        r = torch.sigmoid(xW_r + hU_r)
        z = torch.sigmoid(xW_z + hU_z)
        h = (1 - z) * torch.tanh(xW_n + r * hU_n) + z * h
        states.append(h)
    return torch.stack(states, dim=1)


def wavefront(n: int, layers: int) -> Int[Tensor, "layers source"]:
    """The tick at which each layer can be done with each word.

    Layer l at word t waits for layer l − 1 at t and for itself at t − 1, so
    that it is done at l + t + 1, both counted from 0.
    """
    return torch.arange(layers)[:, None] + torch.arange(n) + 1


def kept(run) -> int:
    """Numbers that torch keeps for the backward pass of `run()`.

    Each piece of memory counts once; parameters do not count.
    """
    seen: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        origin = tensor if tensor._base is None else tensor._base
        if not isinstance(origin, torch.nn.Parameter):
            storage = tensor.untyped_storage()
            held.append(storage)  # so that no address is given away again
            seen[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
        return tensor

    held: list = []
    with torch.autograd.graph.saved_tensors_hooks(note, lambda x: x):
        run()
    return sum(seen.values())
