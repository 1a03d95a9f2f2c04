"""The two exercises by hand of the refresher, which is no chapter."""

import math

from lookback.exercises.by_hand import around, by_hand, stage, within
from lookback.exercises.checking import float64

_X = ((1, 2), (3, 0))
_W = ((2, 1), (-1, 3))
_SCORES = (0, 1, 1)
_VALUES = (10, 20, 40)


def matrix_product_solution():
    """X W, row by row: (1·2 + 2·(−1), 1·1 + 2·3), (3·2, 3·1)."""
    return [
        sum(x * w for x, w in zip(row, column, strict=True))
        for row in _X
        for column in zip(*_W, strict=True)
    ]


@by_hand(
    matrix_product_solution,
    "the four numbers of X W",
    ["row 1, column 1", "row 1, column 2"],
    ["row 2, column 1", "row 2, column 2"],
    listed=False,
)
def matrix_product():
    """Two by two, by hand."""
    x, w = float64(_X), float64(_W)
    mistakes = {
        "That is W X. A row of the first matrix meets a column of the second; "
        "X stands first.": w @ x,
        "That is X Wᵀ, rows with rows. Take the columns of W.": x @ w.T,
        "You multiplied entry by entry, as X * W does; the product, X @ W, "
        "sums along a row and a column.": x * w,
        "That is the transpose of X W: rows and columns are exchanged.": (
            x @ w
        ).T,
    }
    otherwise = (
        "The check does not recognize this mistake. The number in row i and "
        "column j is the dot product of row i of X and column j of W."
    )
    return (
        "X W, a row of X with a column of W for each number.",
        stage(x @ w, mistakes, otherwise, around(1e-6)),
    )


def softmax_by_hand_solution():
    """Softmax of the scores, and the values averaged with it."""
    raised = [math.exp(score) for score in _SCORES]  # 1, 2.718, 2.718
    weights = [one / sum(raised) for one in raised]  # 0.155, 0.422, 0.422
    mean = sum(w * v for w, v in zip(weights, _VALUES, strict=True))
    return [*weights, mean]  # …, 26.89


@by_hand(
    softmax_by_hand_solution,
    "three weights and the average",
    ["weight 1", "weight 2", "weight 3"],
    ["average"],
    listed=False,
)
def softmax_by_hand():
    """The softmax of three scores, and the average of three values."""
    scores, values = float64(_SCORES), float64(_VALUES)
    weights = scores.softmax(0)
    slips = {
        "You divided the scores by their sum, without exp. Exponentiate "
        "first: e⁰ is 1, so that the score 0 has a weight, too.": (
            scores / scores.sum()
        ),
        "These are exp(score), not yet divided by their sum. Three weights "
        "sum to 1.": scores.exp(),
        "You raised 2 to the scores, where softmax takes e = 2.718…; or you "
        "rounded to one decimal, where three are asked.": (
            2**scores / (2**scores).sum()
        ),
        "The lowest score gets the most: exp(s), not exp(−s).": (
            (-scores).softmax(0)
        ),
    }
    averages = {
        "That is the plain mean of the values. Multiply each by its "
        "weight.": values.mean(),
        "You divided by three as well. The weights sum to 1, so the sum is "
        "an average already.": weights @ values / 3,
    }
    return (
        "three weights that sum to 1, and the average they give.",
        stage(
            weights,
            slips,
            "The check does not recognize the mistake in the weights. "
            "Exponentiate each score, then divide by the sum of the three.",
            around(0.004),
            asked=within(0.0015),
            share=True,
        ),
        stage(
            [weights @ values],
            {hint: [value] for hint, value in averages.items()},
            "The weights are right. The average is the sum of the values, "
            "each times its weight.",
            within(0.055),
            at=3,
        ),
    )


ON_THE_PAGE = (matrix_product, softmax_by_hand)
