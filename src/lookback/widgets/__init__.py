"""Figures to step through, alive in a notebook and in the built book.

Each is loaded when it is first asked for (PEP 562), since a page has one or
two of them: `SoftmaxStepper` lives in the module `softmax_stepper`.
"""

import re
from importlib import import_module

__all__ = [
    "AlignmentStepper",
    "ByHand",
    "CacheSize",
    "Clocks",
    "Copier",
    "Dataflow",
    "Depth",
    "FillIn",
    "FlashTiles",
    "Handwriting",
    "Heads",
    "Lattice",
    "Learning",
    "Lookup",
    "Masks",
    "OneMatrix",
    "Opened",
    "OtherWeights",
    "ParameterBudget",
    "Peephole",
    "Placement",
    "Quiz",
    "Relay",
    "Rungs",
    "Saturation",
    "SerialWall",
    "Shuffle",
    "Similarity",
    "SoftmaxStepper",
    "Squeeze",
    "Story",
    "Swaps",
    "TapeHead",
    "Translate",
    "WhichWord",
    "WriteOn",
    "pack",
]


def __getattr__(name: str) -> object:
    """The widget of this name; AttributeError if there is none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    stem = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    where = "lib.half" if name == "pack" else stem
    return getattr(import_module(f"{__name__}.{where}"), name)


def __dir__() -> list[str]:
    """The widgets, which nothing has loaded yet."""
    return sorted({*globals(), *__all__})
