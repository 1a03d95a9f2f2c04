"""Exercises that check themselves: ``from lookback.exercises import check``.

One module a chapter, under the chapter's name, each check beside its reference
solution; `checking` holds what they share. ``check`` lists the exercises,
``check.gru_cell(mine)`` checks one.
"""

from importlib import import_module
from pkgutil import iter_modules

from lookback.exercises.checking import check

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")  # each adds its checks

__all__ = ["check"]
