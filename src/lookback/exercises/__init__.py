"""Exercises that check themselves: ``from lookback.exercises import check``.

Modules by idea; each check stands beside its reference solution. ``check``
lists the exercises, ``check.gru_cell(mine)`` checks one.
"""

from lookback.exercises import (
    alignment,
    bottleneck,
    recurrence,
    rnnsearch,
    softmax,
)
from lookback.exercises.checking import check

__all__ = [
    "alignment",
    "bottleneck",
    "check",
    "recurrence",
    "rnnsearch",
    "softmax",
]
