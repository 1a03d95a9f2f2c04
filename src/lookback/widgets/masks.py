"""Who may attend to whom: a square of scores under a mask, walked row by row.

    e_ij = −∞ where mask_ij is False    α_i = softmax(e_i)    z_i = Σ_j α_ij v_j

Vaswani et al. 2017, arXiv 1706.03762, section 3.2.3. Scores and values come
from outside; the formulas run in masks.js.
"""

import numpy as np
from matplotlib.figure import Figure
from traitlets import Bool, Float, Int, List, Unicode, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import NOT_DRAWN, even, finite, need, plain

TRAITS = ("tokens", "padding", "scores", "values", "mask", "step")


class Masks(base.Widget):
    """Self-attention under a mask, position by position.

    The last `padding` tokens are padding. `mask` is True where row i may
    attend to column j, all of it by default; `step` is the row that asks.

    Raises:
        TraitError: for traits that do not fit each other.
    """

    _esm = base.module("masks")
    _css = base.style("masks")
    tokens = List(Unicode()).tag(sync=True)
    padding = Int(0).tag(sync=True)
    scores = List(List(Float())).tag(sync=True)
    values = List(List(Float())).tag(sync=True)
    mask = List(List(Bool())).tag(sync=True)
    step = Int(0).tag(sync=True)

    def __init__(self, tokens, scores, values, padding=0, mask=None, step=0):
        n = len(tokens)
        mask = [[True] * n] * n if mask is None else np.asarray(mask).tolist()
        lists = {"scores": plain(scores), "values": plain(values)}
        super().__init__(
            tokens=list(tokens), padding=padding, mask=mask, step=step, **lists
        )

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        n = len(new.tokens)
        need(n > 0, "tokens: give at least one")
        need(0 <= new.padding < n, f"padding: 0 to {n - 1} fit")
        fit = len(new.scores) == n and even(new.scores, n)
        need(fit, f"scores: give {n} rows of {n} numbers")
        fit = len(new.values) == n and even(new.values) and new.values[0]
        need(fit, f"values: give {n} rows of one length")
        need(finite(*new.scores, *new.values), NOT_DRAWN)
        fit = len(new.mask) == n and even(new.mask, n)
        need(fit, f"mask: give {n} rows of {n} booleans")
        need(all(map(any, new.mask)), "mask: each row needs one True")
        need(0 <= new.step < n, f"step is {new.step}: 0 to {n - 1} exist")
        return proposal["value"]

    def weights(self) -> np.ndarray:
        """α, as the widget's script computes it."""
        return base.softmax(np.where(self.mask, self.scores, -np.inf))

    def words(self) -> str:
        return (
            "Self-attention under a mask: "
            f"{' '.join(self.tokens)}. Its last {self.padding} are padding."
        )

    def draw(self, figure: Figure) -> None:
        figure.set_size_inches(6.4, 4.4)
        pictures.grid(
            figure, self.weights(), self.tokens, self.tokens, self.step
        )
