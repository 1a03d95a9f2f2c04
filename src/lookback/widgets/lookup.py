"""A soft dictionary: a query that the reader moves among keys.

    e_j = q · k_j / √2    α = softmax(e / T)    answer = Σ_j α_j v_j

Vaswani et al. 2017, arXiv 1706.03762, eq. 1, with keys of two numbers, and
a temperature T: at 0 the best key takes all. The formulas run in lookup.js.
"""

from matplotlib.figure import Figure
from traitlets import Bool, Float, Int, List, Unicode, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import (
    LEAST,
    NOT_DRAWN,
    even,
    finite,
    need,
    plain,
)

TRAITS = ("labels", "key", "value", "query", "temperature", "mask", "step")


class Lookup(base.Widget):
    """Score → softmax → average, for a query among keys in the plane.

    `step` is the stage: 0 scores, 1 weights, 2 the answer. `mask` is True
    where a key may be attended to.

    Raises:
        TraitError: for traits that do not fit each other.
    """

    _esm = base.module("lookup")
    _css = base.style("lookup")
    labels = List(Unicode()).tag(sync=True)
    key = List(List(Float())).tag(sync=True)
    value = List(List(Float())).tag(sync=True)
    query = List(Float()).tag(sync=True)
    temperature = Float(1.0).tag(sync=True)
    mask = List(Bool()).tag(sync=True)
    step = Int(0).tag(sync=True)

    def __init__(
        self, labels, key, value, query, temperature=1, mask=None, step=0
    ):
        mask = [True] * len(labels) if mask is None else list(mask)
        lists = {"key": plain(key), "value": plain(value), "mask": mask}
        knobs = {"temperature": temperature, "step": step}
        super().__init__(
            labels=list(labels), query=plain(query), **lists, **knobs
        )

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        n = len(new.labels)
        need(n > 0, "labels: give at least one")
        fit = len(new.key) == n and even(new.key, 2)
        need(fit, f"key: give {n} rows of 2 numbers, one per label")
        fit = len(new.value) == n and even(new.value) and new.value[0]
        need(fit, f"value: give {n} rows of one length, one per label")
        need(len(new.query) == 2, "query: give 2 numbers")
        fit = finite([new.temperature], new.query, *new.key, *new.value)
        need(fit, NOT_DRAWN)
        fit = new.temperature == 0 or new.temperature >= LEAST
        need(fit, f"temperature: give 0, or {LEAST} or more")
        fit = len(new.mask) == n and any(new.mask)
        need(fit, f"mask: give {n} booleans, at least one of them True")
        need(0 <= new.step <= 2, f"step is {new.step}: 0 to 2 exist")
        return proposal["value"]

    def words(self) -> str:
        names = ", ".join(self.labels)
        return f"A soft dictionary: one query among the keys of {names}."

    def draw(self, figure: Figure) -> None:
        axes = figure.subplots(subplot_kw={"aspect": "equal"})
        for label, at in zip(self.labels, self.key, strict=True):
            axes.plot(*at, "o", color=pictures.BLUE)
            axes.text(*at, f" {label}")
        axes.plot([0, self.query[0]], [0, self.query[1]], color=pictures.INK)
        axes.text(*self.query, " query")
