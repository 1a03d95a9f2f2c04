"""All heads of a trained encoder on one sentence, side by side.

    α_ij = softmax_j(q_i · k_j / √d_k), one such map for each layer and head

Vaswani et al. 2017, arXiv 1706.03762, section 3.2.2. heads.js computes them.
"""

import numpy as np
from matplotlib.figure import Figure
from traitlets import Bool, Dict, Int, List, Unicode, observe, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import check_heads, need
from lookback.widgets.lib.half import unpack

TRAITS = ("examples", "example", "step", "layer", "head", "other", "scaled")


class Heads(base.Widget):
    """Small maps, layers × heads; one of them walked word by word.

    Each example holds `words` and, as `pack` makes them, `queries` and
    `keys` [layers, heads, words, d_k]. `other` is what the chosen head is
    compared with: "none", "mean" of its layer's heads, or "layer-head".
    Raises TraitError for traits that do not fit each other.
    """

    _esm = base.module("heads")
    _css = base.style("heads")
    examples = List(Dict()).tag(sync=True)
    example, step, layer, head = (Int(0).tag(sync=True) for _ in range(4))
    other = Unicode("none").tag(sync=True)
    scaled = Bool(True).tag(sync=True)

    def __init__(self, examples, example=0, step=0, layer=0, head=0):
        place = {"step": step, "layer": layer, "head": head}
        super().__init__(examples=list(examples), example=example, **place)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        need(new.examples, "examples: give at least one")
        rows = enumerate(new.examples)
        shapes = {check_heads(one, f"examples[{i}]") for i, one in rows}
        need(len(shapes) == 1, "all examples must have the same heads")
        layers, heads = shapes.pop()
        sizes = {"example": len(new.examples), "layer": layers, "head": heads}
        for name, size in sizes.items():
            at = getattr(new, name)
            need(0 <= at < size, f"{name} is {at}: 0 to {size - 1} exist")
        last = len(new.examples[new.example]["words"]) - 1
        known = new.step <= last or proposal["trait"].name != "step"
        need(0 <= new.step and known, f"step is {new.step}: 0 to {last} exist")
        places = [f"{i}-{j}" for i in range(layers) for j in range(heads)]
        known = new.other in ("none", "mean", *places)
        need(known, f"other is {new.other!r}: none, mean or layer-head")
        return proposal["value"]

    @observe("example", "examples")
    def _stay_inside(self, _):
        if self.step >= len(self.examples[self.example]["words"]):
            self.step = 0

    def weights(self) -> np.ndarray:
        """α of every head on the current sentence, layers × heads × words²."""
        one = self.examples[self.example]
        queries, keys = (unpack(one[part]) for part in ("queries", "keys"))
        by = np.sqrt(queries.shape[-1]) if self.scaled else 1
        return base.softmax(queries @ keys.swapaxes(-1, -2) / by)

    def words(self) -> str:
        words = self.examples[self.example]["words"]
        row = self.weights()[self.layer, self.head, self.step]
        return (
            f"The heads of an encoder on “{' '.join(words)}”. In layer "
            f"{self.layer + 1}, head {self.head + 1} attends from “"
            f"{words[self.step]}” to “{words[row.argmax()]}” ({row.max():.2f})."
        )

    def draw(self, figure: Figure) -> None:
        pictures.maps(figure, self.weights())
