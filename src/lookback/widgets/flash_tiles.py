"""Eight queries and eight keys: their softmax, tile by tile.

    μ ← max(μ, s)    ℓ ← e^(μ_old − μ) ℓ + Σ e^(s − μ)
    o ← e^(μ_old − μ) o + Σ e^(s − μ) v            result o / ℓ

`lookback.modern_gpt.flash` and `traffic`, run in flash_tiles.js with the same
numbers.
"""

import math

import torch
from matplotlib.figure import Figure
from torch import Tensor
from traitlets import Bool, Int, validate

from lookback.modern_gpt import flash
from lookback.widgets import base
from lookback.widgets.lib.checks import need
from lookback.widgets.lib.mulberry import uniform

LIMITS = base.limits("flash_tiles")
PLACES, D, SIZES = LIMITS["places"], LIMITS["d"], LIMITS["tiles"]
TRAITS = ("seed", "tile", "causal", "rescale", "row", "step")


def drawn(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, to a tenth, [places, d] each."""
    numbers = 2 * uniform(seed, 3 * PLACES * D) - 1
    # JavaScript rounds a half up, numpy to the even one
    tenths = torch.tensor(10 * LIMITS["reach"] * numbers + 0.5).floor() / 10
    return tenths.reshape(3, PLACES, D).unbind()


class FlashTiles(base.Widget):
    """Step from tile to tile and watch a maximum, a sum and a count.

    With `rescale` off the old sums stay as they were when the maximum moves,
    which is wrong. `row` is the query that is spoken of.

    Raises:
        TraitError: for a tile, a query or a step that there is not.
    """

    _esm = base.module("flash_tiles")
    _css = base.style("flash_tiles", "chart")
    seed = Int(0).tag(sync=True)
    tile = Int(4).tag(sync=True)
    causal = Bool(False).tag(sync=True)
    rescale = Bool(True).tag(sync=True)
    row = Int(0).tag(sync=True)
    step = Int(0).tag(sync=True)

    @validate("seed", "tile", "row", "step")
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        need(0 <= new.seed < 2**31, f"seed is {new.seed}: give one from 0 up")
        need(new.tile in SIZES, f"tile is {new.tile}: give one of {SIZES}")
        most = PLACES - 1
        need(0 <= new.row <= most, f"row is {new.row}: give 0 to {most}")
        most = tiles(new.tile, new.causal)
        need(0 <= new.step <= most, f"step is {new.step}: give 0 to {most}")
        return proposal["value"]

    def bias(self) -> Tensor:
        """−∞ where a query may not look, [places, places]."""
        hidden = torch.ones(PLACES, PLACES).triu(1).bool()
        bias = torch.zeros(PLACES, PLACES, dtype=torch.float64)
        return bias.masked_fill(hidden, -torch.inf) if self.causal else bias

    def results(self) -> Tensor:
        """What comes out when all tiles have been seen, [places, d]."""
        query, key, value = drawn(self.seed)
        return flash(query, key, value, self.tile, self.bias())

    def words(self) -> str:
        count = tiles(self.tile, self.causal)
        what = ", ".join(f"{x:.2f}" for x in self.results()[self.row])
        return (
            f"A softmax over {PLACES} keys in tiles of {self.tile}, tile "
            f"{self.step} of {count}. Query {self.row + 1} will take home "
            f"({what})."
        )

    def draw(self, figure: Figure) -> None:
        query, key, _ = drawn(self.seed)
        scores = query @ key.T / math.sqrt(D)
        axes = figure.subplots()
        axes.imshow((scores + self.bias()).numpy(), cmap="Blues")
        for edge in range(self.tile, PLACES, self.tile):
            axes.axhline(edge - 0.5, color="black", linewidth=1)
            axes.axvline(edge - 0.5, color="black", linewidth=1)
        axes.set(xlabel="key", ylabel="query", title="scores, in tiles")
        axes.set_xticks(range(PLACES), range(1, PLACES + 1))
        axes.set_yticks(range(PLACES), range(1, PLACES + 1))


def tiles(tile: int, causal: bool) -> int:
    """How many tiles are read; those hidden whole are not."""
    side = PLACES // tile
    return side * (side + 1) // 2 if causal else side**2
