"""A ladder of translators: walk it, and compare any two rungs.

Every rung has measured numbers, some with a 95% interval. rungs.js compares.
"""

from matplotlib.figure import Figure
from traitlets import Dict, Int, List, Unicode, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import even, need

TRAITS = ("rungs", "measures", "measure", "step", "against")
MOST = 1e15  # a count or a rate; what is more is a mistake
PARTS = {"label", "change", "before", "numbers", "intervals"}


class Rungs(base.Widget):
    """A row for each rung; choose a measure, and a rung to compare with.

    `rungs` is a list of {label, change, before, numbers: {measure: value or
    None}, intervals: {measure: [low, high]}}: `before` is the number of the
    rung that it changes, or −1. `measures` maps a measure's name to {title,
    digits, better: "higher" or "lower"}; those without digits, counts and
    rates, are compared by their ratio. `against` is the rung that the current
    one is compared with; −1 stands for the one that it changes.

    Raises:
        TraitError: for numbers that do not fit, or a step that does not exist.
    """

    _esm = base.module("rungs")
    _css = base.style("rungs")
    rungs = List().tag(sync=True)
    measures = Dict().tag(sync=True, **base.AS_PAIRS)
    measure = Unicode().tag(sync=True)
    step = Int(0).tag(sync=True)
    against = Int(-1).tag(sync=True)

    def __init__(self, rungs, measures, measure, **state):
        given = {"rungs": rungs, "measures": measures, "measure": measure}
        super().__init__(**given, **state)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        need(len(new.rungs) > 1, "a ladder has two rungs at least")
        known = new.measure in new.measures
        need(known, f"no {new.measure!r}; there is {', '.join(new.measures)}")
        for name, one in new.measures.items():
            fits = one.get("better") in ("higher", "lower")
            digits = one.get("digits")
            fits = fits and type(digits) is int and digits in range(7)
            fits = fits and one.get("title")
            need(fits, f"{name}: give title, digits, better higher or lower")
        for i, rung in enumerate(new.rungs):
            need(rung.keys() >= PARTS, f"rung {i}: give {sorted(PARTS)}")
            fits = rung["before"] in range(-1, i)
            need(fits, f"{rung['label']}: before is −1 to {i - 1}")
            pairs = [*rung["intervals"].values()]
            pairs += [[x, x] for x in rung["numbers"].values() if x is not None]
            fits = even(pairs, 2) and all(
                isinstance(x, (int, float)) for pair in pairs for x in pair
            )
            fits = fits and all(0 <= low <= high <= MOST for low, high in pairs)
            need(fits, f"{rung['label']}: give numbers from 0 up, in order")
        count = len(new.rungs)
        need(0 <= new.step < count, f"step {new.step}: give 0 to {count - 1}")
        need(-1 <= new.against < count, f"no rung {new.against} to compare")
        return proposal["value"]

    def found(self) -> dict[str, int | float]:
        """The chosen measure of each rung that has it."""
        rows = {r["label"]: r["numbers"].get(self.measure) for r in self.rungs}
        return {label: x for label, x in rows.items() if x is not None}

    def words(self) -> str:
        one = self.measures[self.measure]
        number = f",.{one['digits']}f"
        rows = (f"{name} {x:{number}}" for name, x in self.found().items())
        return f"{one['title']}: {', '.join(rows)}."

    def draw(self, figure: Figure) -> None:
        title, rows = self.measures[self.measure]["title"], self.found()
        pictures.ranking(figure, [*rows], [*rows.values()], title)
