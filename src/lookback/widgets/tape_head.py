"""A head on a memory of eight slots, and the reader as its controller.

    w_c(i) = softmax_i(β cos(k, M(i)))     w_g = g w_c + (1 − g) w_before
    w̃(i) = Σ_j w_g(j) s(i − j)             w(i) = w̃(i)^γ / Σ_j w̃(j)^γ

The stages of `lookback.ntm`, run in ntm.js.
"""

import numpy as np
import torch
from matplotlib.figure import Figure
from traitlets import Dict, Float, Int, List, Unicode, validate

from lookback.ntm import BLANK, Addressing, address, read, write
from lookback.widgets import base
from lookback.widgets.lib.checks import need

LIMITS = base.limits("tape_head")
SLOTS, SYMBOLS = LIMITS["slots"], LIMITS["symbols"]
RANGES = {
    "strength": (0, LIMITS["strength"]),
    "gate": (0, 1),
    "move": (-1, 1),
    "blur": (0, LIMITS["blur"]),
    "gamma": (1, LIMITS["gamma"]),
}
ADDRESSING = ("key", *RANGES)
TRAITS = (*ADDRESSING, "ink", "done")


class TapeHead(base.Widget):
    """Set the parameters, then let the head move and write, or move and read.

    `key` and `ink` are symbols; `move` is the likeliest step, and `blur` goes
    to each of the two others. `done` holds what was done: the parameters each
    time, and the `ink` that was written, "" where the head read.

    Raises:
        TraitError: for a parameter out of its range, or a symbol there is not.
    """

    _esm = base.module("tape_head")
    _css = base.style("tape_head")
    key = Unicode(SYMBOLS[0]).tag(sync=True)
    strength = Float(10.0).tag(sync=True)
    gate = Float(0.0).tag(sync=True)
    move = Int(0).tag(sync=True)
    blur = Float(0.0).tag(sync=True)
    gamma = Float(1.0).tag(sync=True)
    ink = Unicode(SYMBOLS[0]).tag(sync=True)
    done = List(Dict()).tag(sync=True)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        self._allowed(vars(new))
        most = LIMITS["steps"]
        need(len(new.done) <= most, f"done: give {most} steps at most")
        for one in new.done:
            fit = set(one) == {*ADDRESSING, "ink"}
            need(fit, f"done: {one} must hold {(*ADDRESSING, 'ink')}")
            self._allowed(one)
        return proposal["value"]

    def _allowed(self, one: dict) -> None:
        for name in ("key", "ink"):
            symbols = [*SYMBOLS, ""] if name == "ink" else [*SYMBOLS]
            fit = one[name] in symbols
            need(fit, f"{name} is {one[name]!r}: give one of {SYMBOLS}")
        for name, (low, high) in RANGES.items():
            fit = type(one[name]) in (int, float) and low <= one[name] <= high
            need(fit, f"{name} is {one[name]}: give {low} to {high}")
        whole = one["move"] == int(one["move"])
        need(whole, f"move is {one['move']}: give −1, 0 or 1")

    def follow(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The memory, the head's weights, what was read, after all is done."""
        symbols = torch.eye(len(SYMBOLS), dtype=torch.float64)
        memory = torch.full((1, SLOTS, len(SYMBOLS)), BLANK).double()
        weights = torch.eye(SLOTS, dtype=torch.float64)[None, :1]
        found = memory[:, 0]
        for one in self.done:
            moves = torch.full((3,), one["blur"]).double()
            moves[one["move"] + 1] = 1 - 2 * one["blur"]
            numbers = (
                torch.full((1, 1, 1), float(one[name])).double()
                for name in ("strength", "gate", "gamma")
            )
            strength, gate, gamma = numbers
            key = symbols[SYMBOLS.index(one["key"])][None, None]
            made = Addressing(key, strength, gate, moves[None, None], gamma)
            weights = address(memory, weights, made)
            if one["ink"]:
                ink = symbols[SYMBOLS.index(one["ink"])][None]
                memory = write(memory, weights[:, 0], torch.ones_like(ink), ink)
            else:
                found = read(memory, weights[:, 0])
        return memory[0].numpy(), weights[0, 0].numpy(), found[0].numpy()

    def words(self) -> str:
        memory, weights, found = self.follow()
        at = int(weights.argmax())
        return (
            f"A head on a memory of {SLOTS} slots, after {len(self.done)}"
            f" steps: it is on slot {at} with weight {weights[at]:.2f}. Last"
            f" read: {', '.join(f'{x:.2f}' for x in found)} of {', '.join(SYMBOLS)}."
        )

    def draw(self, figure: Figure) -> None:
        memory, weights, _ = self.follow()
        above, below = figure.subplots(2, 1, sharex=True)
        above.imshow(memory.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        above.set_yticks(range(len(SYMBOLS)), ["start", *SYMBOLS[1:]])
        above.set(title="memory")
        below.bar(range(SLOTS), weights)
        below.set(title="head", ylim=(0, 1), xlabel="slot")
