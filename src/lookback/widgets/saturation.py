"""Random queries and keys: what the size of d_k does to a softmax.

    Var(q · k) = d_k for independent numbers of mean 0 and variance 1

Vaswani et al. 2017, arXiv 1706.03762, footnote 4. It runs in saturation.js,
with the same generator as here.
"""

from functools import lru_cache

import numpy as np
from matplotlib.figure import Figure
from traitlets import Bool, Int, validate

from lookback.widgets import base
from lookback.widgets.lib.checks import need
from lookback.widgets.lib.mulberry import uniform

LIMITS = base.limits("saturation")
SIZES = LIMITS["d_k"]
SETS, QUERIES, KEYS = (LIMITS[k] for k in ("sets", "queries", "keys"))


@lru_cache(maxsize=4)
def draw_scores(seed: int, d_k: int) -> np.ndarray:
    """q · k for the first d_k numbers of each vector, [sets queries keys]."""
    pairs = uniform(seed, SETS * (QUERIES + KEYS) * SIZES[-1]).reshape(-1, 2)
    far, turn = np.sqrt(-2 * np.log(1 - pairs[:, 0])), 2 * np.pi * pairs[:, 1]
    normal = np.stack([far * np.cos(turn), far * np.sin(turn)], axis=-1)
    vectors = normal.reshape(SETS, QUERIES + KEYS, -1)[..., :d_k]
    return vectors[:, :QUERIES] @ vectors[:, QUERIES:].transpose(0, 2, 1)


class Saturation(base.Widget):
    """256 queries look at 32 keys each: slide d_k, divide by √d_k or not.

    Raises:
        TraitError: for another d_k, or a seed below 0.
    """

    _esm = base.module("saturation")
    _css = base.style("saturation", "chart")
    d_k = Int(64).tag(sync=True)
    scaled = Bool(False).tag(sync=True)
    seed = Int(0).tag(sync=True)

    @validate("d_k", "seed")
    def _fits(self, proposal):
        new = self.proposed(proposal, ("d_k", "seed"))
        need(new.d_k in SIZES, f"d_k is {new.d_k}: give a power of 2 up to 512")
        need(0 <= new.seed < 2**31, f"seed is {new.seed}: give one from 0 up")
        return proposal["value"]

    def scores(self) -> np.ndarray:
        """What goes into the softmax, [sets queries keys]."""
        scores = draw_scores(self.seed, self.d_k)
        return scores / np.sqrt(self.d_k) if self.scaled else scores

    def words(self) -> str:
        scores = self.scores()
        largest = base.softmax(scores).max(-1).mean()
        what = f"Random q · k{' / √d_k' * self.scaled} at d_k = {self.d_k}"
        spread = f"variance {scores.var():.2f}"
        return f"{what}: {spread}, largest of 32 weights {largest:.2f}."

    def draw(self, figure: Figure) -> None:
        (left, right), scores = figure.subplots(1, 2), self.scores()
        left.hist(scores.ravel(), bins=np.arange(-61, 63, 2))
        left.set(title=f"scores at d_k = {self.d_k}", yticks=[])
        right.bar(range(KEYS), base.softmax(scores)[0, 0])
        right.set(title="weights of one query", ylim=(0, 1))
