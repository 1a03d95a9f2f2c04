"""Two models that learn to write a string backwards, while one looks on.

    c_i = Σ_j α_ij h_j                  attention (rnnsearch.py)
    c_i = tanh(V [→h_T; ←h_1] + b)      the fixed vector, all else the same

Trained with Adam in the reader's browser, by learning.js. Nothing is recorded.
"""

from matplotlib.figure import Figure
from traitlets import Float, Int, Unicode, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import need

TRAITS = ("task", "width", "rate", "seed", "text")
LIMITS = base.limits("learning")


class Learning(base.Widget):
    """Train both, side by side, to `reverse` or to `copy`; `text` is drawn.

    Raises:
        TraitError: for a setting that does not exist or is out of range.
    """

    _esm = base.module("learning")
    _css = base.style("learning", "chart")
    task = Unicode("reverse").tag(sync=True)
    width = Int(12).tag(sync=True)
    rate = Float(0.01).tag(sync=True)
    seed = Int(0).tag(sync=True)
    text = Unicode("lookback").tag(sync=True)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        tasks, widths, most = (LIMITS[k] for k in ("tasks", "widths", "tested"))
        low, high = LIMITS["rate"]
        need(new.task in tasks, f"task is {new.task!r}: give one of {tasks}")
        need(new.width in widths, f"width is {new.width}: give one of {widths}")
        fits = low <= new.rate <= high
        need(fits, f"rate is {new.rate}: give {low} to {high}")
        need(0 <= new.seed < 2**31, f"seed is {new.seed}: give one from 0 up")
        strange = sorted(set(new.text) - set(LIMITS["letters"]))
        need(not strange, f"text: {strange} are not among the letters a to z")
        need(0 < len(new.text) <= most, f"text: give 1 to {most} letters")
        return proposal["value"]

    def target(self) -> str:
        """What is to be written."""
        return self.text[::-1] if self.task == "reverse" else self.text

    def words(self) -> str:
        return (
            f"Two models of width {self.width}, one with a fixed vector and "
            f"one with attention, learn to read “{self.text}” and to write "
            f"“{self.target()}”. It needs a browser that runs scripts."
        )

    def draw(self, figure: Figure) -> None:
        middle = "fixed vector\nor attention"
        pictures.route(figure, [self.text, middle, f"{self.target()}?"])
