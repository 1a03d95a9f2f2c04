"""Positions as clock hands: the sinusoidal code, and rotary queries and keys.

    added    PE(a)·PE(b) = Σ_i cos((a − b) ω_i),   ω_i = 10000^{−2i/d}
    rotary   (R_a q)·(R_b k), R_p turns pair i by the angle p ω_i

Vaswani et al. 2017, arXiv 1706.03762, section 3.5; Su et al. 2021, arXiv
2104.09864. The formulas run in clocks.js.
"""

import numpy as np
from matplotlib.figure import Figure
from traitlets import Float, Int, List, Unicode, validate

from lookback.widgets import base
from lookback.widgets.lib.checks import NOT_DRAWN, finite, need, plain

TRAITS = ("mode", "a", "b", "query", "key", "last")
FAR = 1000  # the farthest position that is drawn
MODES = ("added", "rotary")


def dot(mode: str, query, key, apart) -> np.ndarray | float:
    """The product at each distance b − a; added, a pair starts at (0, 1)."""
    q, k = (np.reshape(one, (-1, 2)) for one in (query, key))
    if mode == "added":
        q = k = np.tile([0.0, 1.0], (len(q), 1))
    turn = np.multiply.outer(apart, 10_000 ** (-np.arange(len(q)) / len(q)))
    plus = (q * k).sum(1)
    cross = q[:, 1] * k[:, 0] - q[:, 0] * k[:, 1]
    return (plus * np.cos(turn) + cross * np.sin(turn)).sum(-1)


class Clocks(base.Widget):
    """Two positions, `a` and `b`, as the two hands of d/2 clocks.

    `mode` is "added", sinusoidal codes, or "rotary", where the hands are the
    pairs of `query`, at place a, and of `key`, at place b.

    Raises:
        TraitError: for positions outside 0 … `last`, or uneven vectors.
    """

    _esm = base.module("clocks")
    _css = base.style("clocks")
    mode = Unicode("added").tag(sync=True)
    a = Int(3).tag(sync=True)
    b = Int(10).tag(sync=True)
    query = List(Float()).tag(sync=True)
    key = List(Float()).tag(sync=True)
    last = Int(60).tag(sync=True)

    def __init__(self, query, key, mode="added", a=3, b=10, last=60):
        given = {"query": plain(query), "key": plain(key), "last": last}
        super().__init__(mode=mode, a=a, b=b, **given)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        need(new.mode in MODES, f"mode is {new.mode!r}: {' or '.join(MODES)}")
        need(0 < new.last <= FAR, f"last is {new.last}: give 1 to {FAR}")
        for name in ("a", "b"):
            fit = 0 <= getattr(new, name) <= new.last
            need(fit, f"{name}: give a position from 0 to {new.last}")
        d = len(new.query)
        fit = d > 0 and d % 2 == 0 and len(new.key) == d
        need(fit, "query, key: give vectors of one even length")
        need(finite(new.query, new.key), NOT_DRAWN)
        return proposal["value"]

    def words(self) -> str:
        value = dot(self.mode, self.query, self.key, self.b - self.a)
        what = "the codes" if self.mode == "added" else "query and key"
        where = f"Positions {self.a} and {self.b}"
        return f"{where}: {what} have the dot product {value:.3f}."

    def draw(self, figure: Figure) -> None:
        axes, apart = figure.subplots(), np.arange(-self.last, self.last + 1)
        axes.plot(apart, dot(self.mode, self.query, self.key, apart))
        axes.axvline(self.b - self.a, ls="--")
        axes.set(xlabel="distance b − a", ylabel="dot product")
