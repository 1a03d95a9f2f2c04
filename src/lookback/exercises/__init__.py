"""Exercises that check themselves: ``from lookback.exercises import check``.

Modules by idea; each check stands beside its reference solution. ``check``
lists the exercises, ``check.gru_cell(mine)`` checks one.
"""

from lookback.exercises import (
    alignment,
    attention,
    bottleneck,
    feedforward,
    head_parts,
    heads,
    ladder,
    masks,
    melting,
    paths,
    positions,
    recurrence,
    residual,
    rnnsearch,
    rotations,
    scores,
    serial,
    smoothing,
    softmax,
    transformer,
)
from lookback.exercises.checking import check

__all__ = [
    "alignment",
    "attention",
    "bottleneck",
    "check",
    "feedforward",
    "head_parts",
    "heads",
    "ladder",
    "masks",
    "melting",
    "paths",
    "positions",
    "recurrence",
    "residual",
    "rnnsearch",
    "rotations",
    "scores",
    "serial",
    "smoothing",
    "softmax",
    "transformer",
]
