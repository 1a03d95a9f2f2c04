"""Pairs of a letter and a number in one matrix, by a rule of the reader's.

    sum       W = Σ_j v_j k_jᵀ            delta   W ← W + (v − W k) kᵀ
    positive  Σ_j (φ(q) · φ(k_j)) v_j / Σ, φ = elu + 1
    softmax   keeps all pairs

The rules of `lookback.fastweights`, run in one_matrix.js.
"""

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor
from traitlets import Int, List, Unicode, validate

from lookback.fastweights import (
    delta_weights,
    elu_feature_map,
    linear_attention,
    remember,
    written,
)
from lookback.widgets import base
from lookback.widgets.lib.checks import need
from lookback.widgets.lib.mulberry import uniform

LIMITS = base.limits("one_matrix")
KEYS, VALUES = LIMITS["keys"], LIMITS["values"]
TRAITS = ("d", "rule", "pairs", "asked")


def directions(seed: int, count: int, d: int) -> Tensor:
    """Vectors of length 1 whose directions are drawn at random."""
    far, turn = uniform(seed, 2 * count * d).reshape(count, d, 2).T
    rows = np.sqrt(-2 * np.log(1 - far)) * np.cos(2 * np.pi * turn)
    rows = torch.from_numpy(rows.T.copy())
    return rows / rows.norm(dim=-1, keepdim=True)


class OneMatrix(base.Widget):
    """Store pairs, watch the matrix, and ask what a letter finds.

    `pairs` holds the places of a letter and of a number, in the order of
    writing; `asked` is the place of the letter that is read.

    Raises:
        TraitError: for a rule, a width, a letter or a number there is not, or
            too many pairs.
    """

    _esm = base.module("one_matrix")
    _css = base.style("one_matrix")
    d = Int(16).tag(sync=True)
    rule = Unicode("sum").tag(sync=True)
    pairs = List(List(Int())).tag(sync=True)
    asked = Int(0).tag(sync=True)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        widths, rules = LIMITS["widths"], LIMITS["rules"]
        need(new.d in widths, f"d is {new.d}: give one of {widths}")
        need(new.rule in rules, f"rule is {new.rule!r}: give one of {rules}")
        most = LIMITS["most"]
        need(len(new.pairs) <= most, f"pairs: give {most} at most")
        for pair in new.pairs:
            fit = len(pair) == 2
            fit = fit and 0 <= pair[0] < len(KEYS) and 0 <= pair[1] < VALUES
            need(fit, f"pairs: {pair} is no letter and number")
        fit = 0 <= new.asked < len(KEYS)
        need(fit, f"asked is {new.asked}: give 0 to {len(KEYS) - 1}")
        return proposal["value"]

    def vectors(self) -> tuple[Tensor, Tensor]:
        """The letters' vectors and the numbers'."""
        d = self.d
        keys = directions(100 * d + 1, len(KEYS), d)
        return keys, directions(100 * d + 2, VALUES, d)

    def stored(self) -> tuple[Tensor, Tensor]:
        """Keys and values of the pairs."""
        keys, values = self.vectors()
        places = torch.tensor(self.pairs, dtype=torch.long).reshape(-1, 2)
        return keys[places[:, 0]], values[places[:, 1]]

    def weights(self) -> Tensor:
        """What each letter's answer takes of each pair."""
        (key, _), (query, _) = self.stored(), self.vectors()
        if self.rule == "softmax":
            return torch.softmax(LIMITS["sharp"] * query @ key.mT, -1)
        if self.rule == "positive":
            return linear_attention(
                elu_feature_map(query), elu_feature_map(key), key
            )[1]
        if self.rule == "sum":
            return query @ key.mT
        return delta_weights(query, key, key.new_ones(len(key)))

    def matrix(self) -> Tensor | None:
        """W; none for softmax."""
        key, value = self.stored()
        if self.rule == "softmax":
            return None
        if self.rule == "positive":
            key = elu_feature_map(key)
        if self.rule == "delta":
            value = written(key, key.new_ones(len(key))) @ value
        return remember(key, value)

    def found(self) -> list[int]:
        """The place of the number that is nearest to each letter's answer."""
        _, value = self.stored()
        answer = self.weights() @ value
        return (answer @ self.vectors()[1].mT).argmax(-1).tolist()

    def right(self) -> tuple[int, int]:
        """Letters that are read right, and letters that are bound."""
        bound = dict(self.pairs)  # the last number of each
        found = self.found() if bound else []
        return sum(found[k] == v for k, v in bound.items()), len(bound)

    def words(self) -> str:
        right, bound = self.right()
        return (
            f"{len(self.pairs)} pairs of a letter and a number, stored by the"
            f" rule {self.rule} with d = {self.d}: {right} of {bound} letters"
            " are read back right."
        )

    def draw(self, figure: Figure) -> None:
        axes, matrix = figure.subplots(), self.matrix()
        if matrix is None or not self.pairs:
            matrix = torch.zeros(self.d, self.d)
        most = max(0.5, float(matrix.abs().max()))
        axes.imshow(matrix.numpy(), cmap="RdBu", vmin=-most, vmax=most)
        axes.set(title=f"W, rule {self.rule}, {len(self.pairs)} pairs")
