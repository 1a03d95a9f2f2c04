"""A query among keys in a plane: which key suits it, by which score?

    q · k = |q| |k| cos θ      q · k / √d_k, here √2      cos θ

Luong et al. 2015, arXiv 1508.04025, section 3.1; Vaswani et al. 2017, arXiv
1706.03762, section 3.2.1; Graves et al. 2014, arXiv 1410.5401, eqs. 5 and 6
with β. It runs in similarity.js.
"""

import numpy as np
from matplotlib.figure import Figure
from traitlets import Float, Int, List, Unicode, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import NOT_DRAWN, finite, need, plain

TRAITS = ("query", "points", "labels", "strength", "step")
REACH = base.limits("similarity")["reach"]  # of the plane, each way


class Similarity(base.Widget):
    """A query and keys to drag, three scores of each, and their softmax.

    `step` is the score shown: 0 dot, 1 scaled, 2 cosine, with β `strength`.

    Raises:
        TraitError: for traits that do not fit each other.
    """

    _esm = base.module("similarity")
    _css = base.style("similarity")
    query = List(Float()).tag(sync=True)
    points = List(List(Float())).tag(sync=True)  # the keys
    labels = List(Unicode()).tag(sync=True)
    strength = Float(1.0).tag(sync=True)
    step = Int(0).tag(sync=True)

    def __init__(self, query, keys, labels, strength=1, step=0):
        vectors = {"query": plain(query), "points": plain(keys)}
        knobs = {"strength": strength, "step": step}
        super().__init__(labels=list(labels), **vectors, **knobs)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        vectors = [new.query, *new.points]
        fit = len(new.labels) == len(new.points) > 1
        need(fit, "keys: give at least two, and one label for each")
        need(all(len(v) == 2 for v in vectors), "a vector needs two numbers")
        need(finite(*vectors, [new.strength]), NOT_DRAWN)
        far = max(abs(x) for vector in vectors for x in vector)
        need(far <= REACH, f"{far:g} lies outside the plane, {REACH} wide")
        need(new.strength > 0, f"strength is {new.strength}, not > 0")
        need(new.step in (0, 1, 2), f"step is {new.step}: 0 to 2 exist")
        return proposal["value"]

    def scores(self) -> dict[str, list[float]]:
        """The three scores of every key; 0 for the cosine of a zero vector."""
        query, keys = np.array(self.query), np.array(self.points)
        lengths = np.hypot(*query) * np.hypot(*keys.T)
        dot = keys @ query
        cosine = dot / np.where(lengths > 0, lengths, 1)
        found = {"dot": dot, "scaled": dot / np.sqrt(2), "cosine": cosine}
        return {name: plain(scores) for name, scores in found.items()}

    def weights(self) -> dict[str, list[float]]:
        """Softmax of each; the cosine is first multiplied by `strength`."""
        times = {"dot": 1, "scaled": 1, "cosine": self.strength}
        each = {n: times[n] * np.array(s) for n, s in self.scores().items()}
        return {n: plain(base.softmax(s)) for n, s in each.items()}

    def words(self) -> str:
        found = {n: np.round(w, 2).tolist() for n, w in self.weights().items()}
        return f"Weights of {', '.join(self.labels)}, by score: {found}."

    def draw(self, figure: Figure) -> None:
        name = ("dot", "scaled", "cosine")[self.step]
        found = self.scores()[name], self.weights()[name]
        pictures.bars(figure, self.labels, *found)
