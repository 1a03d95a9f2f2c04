"""Words that change places, and what self-attention makes of each.

    x_i = E(word_i) (+ PE(i))    x ← x + softmax(x W_Q (x W_K)ᵀ / √d) x W_V

Vaswani et al. 2017, arXiv 1706.03762, sections 3.2.1 and 3.5. One head, one
or two layers, random matrices; E is drawn from a word's own letters, so every
word has one. All of it is computed in shuffle.js.
"""

import numpy as np
from matplotlib.figure import Figure
from traitlets import Bool, Int, List, Unicode, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import even, finite, need, plain

TRAITS = ("tiles", "order", "weights", "layers")
LIMITS = base.limits("shuffle")
MOST, LONGEST = LIMITS["tiles"], LIMITS["letters"]  # letters of a word


def random_layers() -> list:
    """W_Q, W_K and W_V [8, 8] of two layers, to three decimals."""
    normal = np.random.default_rng(0).normal(size=(2, 3, 8, 8))
    return (1.2 * normal / np.sqrt(8)).round(3).tolist()


class Shuffle(base.Widget):
    """Change the order of words; see whose output vector changes.

    `tiles` are the words in their first order, `order` says where they stand
    now: order[0] is the index of the word that comes first. `weights`
    holds W_Q, W_K, W_V for each layer, `layers` is how many are used.

    Raises:
        TraitError: for words, an order or matrices that do not fit.
    """

    _esm = base.module("shuffle")
    _css = base.style("shuffle")
    tiles = List(Unicode()).tag(sync=True)
    order = List(Int()).tag(sync=True)
    positions = Bool(False).tag(sync=True)
    masked = Bool(False).tag(sync=True)
    layers = Int(1).tag(sync=True)
    weights = List().tag(sync=True)

    def __init__(self, tiles, order=None, weights=None, **more):
        if isinstance(tiles, str):
            tiles = tiles.split()
        order = list(range(len(tiles))) if order is None else list(order)
        weights = random_layers() if weights is None else plain(weights)
        super().__init__(tiles=tiles, order=order, weights=weights, **more)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        count, last = len(new.tiles), len(new.weights)
        need(2 <= count <= MOST, f"tiles: give 2 to {MOST} words")
        for word in new.tiles:
            fit = len(word.split()) == 1 and len(word) <= LONGEST
            need(fit, f"tiles: {word!r} is not one word of {LONGEST} letters")
        every = list(range(count))
        need(sorted(new.order) == every, f"order: {every}, in any order")
        need(last > 0, "weights: give at least one layer")
        said = "weights: each layer must be W_Q, W_K and W_V, all d × d"
        need(even(new.weights, 3), said)
        matrices = [each for layer in new.weights for each in layer]
        need(even(matrices) and matrices[0], said)
        rows, d = [row for each in matrices for row in each], len(matrices[0])
        need(even(rows, d) and finite(*rows), said)
        need(d % 2 == 0, f"weights: d is {d}, and must be even")
        fit = 1 <= new.layers <= last
        need(fit, f"layers is {new.layers}: 1 to {last} exist")
        return proposal["value"]

    def words(self) -> str:
        now, first = (" ".join(self.tiles[i] for i in self.order), self.tiles)
        return f"Shuffle: the words “{' '.join(first)}”, now “{now}”."

    def draw(self, figure: Figure) -> None:
        pictures.route(figure, [self.tiles[i] for i in self.order])
