"""An alignment, walked target word by target word.

    α_ij = exp(e_ij) / Σ_k exp(e_ik)        c_i = Σ_j α_ij h_j

Bahdanau et al. 2014, arXiv 1409.0473, eqs. 5 and 6 and figure 3. The formulas
run in alignment_stepper.js.
"""

import numpy as np
from matplotlib.figure import Figure
from traitlets import Dict, Int, List, observe, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import check_example, need, plain

TRAITS = ("examples", "example", "step")


class AlignmentStepper(base.Widget):
    """A map of weights that the reader walks, row by row.

    Each example is a dict: `source` and `target`, lists of words; `energies`,
    target × source; `values`, source × d, a few numbers of each annotation.
    It may have a `title`, by which a sentence is chosen, a `by`, who attends,
    a `symbol`, what its values are called, and a `score`, what its energies
    are. `step` is the target word.

    Raises:
        TraitError: for an example whose parts do not fit each other.
    """

    _esm = base.module("alignment_stepper")
    _css = base.style("alignment_stepper", "map")
    examples = List(Dict()).tag(sync=True)
    example = Int(0).tag(sync=True)
    step = Int(0).tag(sync=True)

    def __init__(self, examples, example=0, step=0):
        numbers = ("energies", "values")
        examples = [
            {k: plain(v) if k in numbers else v for k, v in one.items()}
            for one in examples
        ]
        super().__init__(examples=examples, example=example, step=step)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        need(new.examples, "examples: give at least one")
        for number, one in enumerate(new.examples):
            check_example(one, f"examples[{number}]")
        last = len(new.examples) - 1
        known = 0 <= new.example <= last
        need(known, f"example is {new.example}: 0 to {last} exist")
        last = len(new.examples[new.example]["target"]) - 1
        # A new example may be shorter: then the step is reset, not refused.
        known = new.step <= last or proposal["trait"].name != "step"
        need(0 <= new.step and known, f"step is {new.step}: 0 to {last} exist")
        return proposal["value"]

    @observe("example", "examples")
    def _stay_inside(self, _):
        if self.step >= len(self.examples[self.example]["target"]):
            self.step = 0

    def weights(self) -> np.ndarray:
        """α of the current example, target × source."""
        return base.softmax(self.examples[self.example]["energies"])

    def words(self) -> str:
        one, weights = self.examples[self.example], self.weights()
        looks = (
            f"{word} attends to {one['source'][row.argmax()]} ({row.max():.2f})"
            for word, row in zip(one["target"], weights, strict=True)
        )
        return f"Alignment, word by word. {'; '.join(looks)}."

    def draw(self, figure: Figure) -> None:
        one = self.examples[self.example]
        words = one["source"], one["target"]
        pictures.grid(figure, self.weights(), *words, self.step)
