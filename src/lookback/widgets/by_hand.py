"""The fields of an exercise that is done by hand, for a page with no kernel.

They say what the check in a notebook says, from the same data. What the reader
typed stays in the reader's browser. It runs in by_hand.js.
"""

from matplotlib.figure import Figure
from traitlets import Dict, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import need

PARTS = ("name", "fields", "says", "verified", "stages", "measure")


class ByHand(base.Widget):
    """A field for each number of `ByHand(check.context_by_hand)`.

    Raises:
        TraitError: for data that lack a part, or judge a field too many.
    """

    _esm = base.module("by_hand")
    _css = base.style("by_hand")
    exercise = Dict().tag(sync=True)

    def __init__(self, made):
        super().__init__(exercise=made.page())

    @validate("exercise")
    def _fits(self, proposal):
        new = proposal["value"]
        for part in PARTS:
            need(part in new, f"exercise lacks {part}")
        labels = sum(new["fields"], [])
        need(labels, "exercise has no fields")
        need(
            len({*labels}) == len(labels),
            f"two fields are called alike: {labels}",
        )
        for stage in new["stages"]:
            for box in (stage["right"], *(box for _, box in stage["mistakes"])):
                fit = stage["at"] + len(box) <= len(labels)
                need(fit, f"a stage judges more than the {len(labels)} fields")
        return new

    def words(self) -> str:
        return f"Fields for an answer by hand: {'; '.join(self._labels())}."

    def draw(self, figure: Figure) -> None:
        pictures.blanks(figure, self._labels())

    def _labels(self) -> list[str]:
        return sum(self.exercise["fields"], [])
