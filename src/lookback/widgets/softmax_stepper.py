"""Softmax, one stage at a time, on scores that the reader may change.

    z_j = e_j / (√d_k · T)    α_j = exp(z_j) / Σ_k exp(z_k)    c = Σ_j α_j v_j

Bahdanau et al. 2014, arXiv 1409.0473, eqs. 5 and 6; the √d_k: Vaswani et al.
2017, arXiv 1706.03762, eq. 1. The formulas run in softmax_stepper.js.
"""

import math

from matplotlib.figure import Figure
from traitlets import Bool, Float, Int, List, Unicode, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import (
    LARGEST,
    LEAST,
    NOT_DRAWN,
    even,
    finite,
    need,
    plain,
)

TRAITS = ("labels", "scores", "values", "temperature", "d_k", "step")


class SoftmaxStepper(base.Widget):
    """Scores → ÷ √d_k and T → exponentials → sum → weights → mixed values.

    `step` is the stage: 0 scores, 1 scaled, 2 exponentials, 3 their sum,
    4 weights, 5 the mix (left out when there are no `values`).

    Raises:
        TraitError: for traits that do not fit each other.
    """

    _esm = base.module("softmax_stepper")
    _css = base.style("softmax_stepper")
    labels = List(Unicode()).tag(sync=True)
    scores = List(Float()).tag(sync=True)
    values = List(List(Float())).tag(sync=True)
    temperature = Float(1.0).tag(sync=True)
    d_k = Int(1).tag(sync=True)
    scale = Bool(False).tag(sync=True)
    step = Int(0).tag(sync=True)

    def __init__(
        self,
        labels,
        scores,
        values=(),
        temperature=1,
        d_k=1,
        scale=False,
        step=0,
    ):
        lists = {"scores": plain(scores), "values": plain(values)}
        knobs = {"temperature": temperature, "d_k": d_k, "scale": scale}
        super().__init__(labels=list(labels), step=step, **lists, **knobs)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        words, last = len(new.labels), 5 if new.values else 4
        need(words > 0, "labels: give at least one")
        need(len(new.scores) == words, f"scores: give {words}, one per label")
        fit = len(new.values) in (0, words) and even(new.values)
        need(fit, f"values: give {words} rows of one length, one per label")
        fit = finite([new.temperature], new.scores, *new.values)
        need(fit, NOT_DRAWN)
        fit = new.temperature >= LEAST
        need(fit, f"temperature is {new.temperature}, not {LEAST} or more")
        fit = 1 <= new.d_k <= LARGEST
        need(fit, f"d_k is {new.d_k}: give 1 to {LARGEST:,.0f}")
        need(0 <= new.step <= last, f"step is {new.step}: 0 to {last} exist")
        return proposal["value"]

    def weights(self) -> list[float]:
        """α, as the widget's script computes it."""
        by = self.temperature * (math.sqrt(self.d_k) if self.scale else 1)
        return base.softmax([score / by for score in self.scores]).tolist()

    def words(self) -> str:
        rows = zip(self.labels, self.scores, self.weights(), strict=True)
        each = (f"{w}: score {e:.2f}, weight {a:.2f}" for w, e, a in rows)
        return f"Softmax, one stage at a time. {'; '.join(each)}."

    def draw(self, figure: Figure) -> None:
        pictures.bars(figure, self.labels, self.scores, self.weights())
