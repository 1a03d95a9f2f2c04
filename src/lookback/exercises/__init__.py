"""Exercises that check themselves: ``from lookback.exercises import check``.

One module a chapter, under the chapter's name, each check beside its reference
solution; `checking` holds what they share. ``check`` lists the exercises,
``check.gru_cell(mine)`` checks one.
"""

from lookback.exercises import (  # noqa: F401  (each adds its checks)
    attention,
    bottleneck,
    families,
    fastweights,
    feedforward,
    handwriting,
    heads,
    ladder,
    memory_networks,
    modern_gpt,
    name,
    ntm,
    positions,
    probing,
    recurrence,
    residual,
    rnnsearch,
    scores,
    serial,
    transducer,
    transformer,
)
from lookback.exercises.checking import check

__all__ = ["check"]
