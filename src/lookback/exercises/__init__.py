"""Exercises that check themselves: ``from lookback.exercises import check``.

One module a chapter, under the chapter's name, each check beside its reference
solution; `checking` holds what they share. ``check`` lists the exercises,
``check.gru_cell(mine)`` checks one.
"""

from lookback.exercises import (  # noqa: F401  (each adds its checks)
    attention,
    bottleneck,
    cursors,
    families,
    fastweights,
    feedforward,
    heads,
    hops,
    ladder,
    name,
    positions,
    recurrence,
    residual,
    rnnsearch,
    scores,
    senses,
    serial,
    since,
    tape,
    transformer,
    window,
)
from lookback.exercises.checking import check

__all__ = ["check"]
