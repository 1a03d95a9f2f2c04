"""An edit takes effect: what a notebook defines anew, the package uses.

A chapter's notebook shows the package's own code in cells. Each ends in
`adopt`: from there on the package calls the cell's version wherever it called
its own, so that an edit reaches the trained models, widgets and measurements
of the next cells, and not only the cells that name it.
"""

import importlib
import inspect
import sys
from collections.abc import Callable
from typing import TypeVar

from lookback.lab import arguments

Edited = TypeVar("Edited", bound=Callable)


def adopt(edited: Edited, into: str) -> Edited:
    """Put a function or a class in the place of the module `into`'s own.

    A function takes the place of the old one in every module that imported
    it. A class hands its contents to the old one, so that the subclasses and
    the objects that exist have them, too. Returns what stands there now: bind
    it to the name. Raises ImportError or AttributeError if there is no such
    module, or no such name in it.
    """
    arguments.function("edited", edited, "a function or a class")
    arguments.kind(
        "into", into, str, 'the name of a module, "lookback.residual"'
    )
    old = getattr(importlib.import_module(into), edited.__name__)
    if isinstance(edited, type):
        return _refilled(old, edited)
    package = into.partition(".")[0]
    for title, module in list(sys.modules.items()):
        if title.partition(".")[0] == package:
            for name, value in list(vars(module).items()):
                if value is old:
                    setattr(module, name, edited)
    return edited


def _refilled(old: type, new: type) -> type:
    """The class `old` with the contents of `new`."""
    fixed = {"__dict__", "__weakref__", "__module__"}
    if new is not old:
        for name in vars(old).keys() - vars(new).keys() - fixed:
            delattr(old, name)
        for name, value in vars(new).items():
            if name not in fixed:
                _belong(value, old)
                setattr(old, name, value)
        if old.__bases__ != new.__bases__:
            old.__bases__ = new.__bases__
    return old


def _belong(method: object, owner: type) -> None:
    """Tell the super() of a method that `owner` is its class."""
    method = getattr(method, "__func__", getattr(method, "fget", method))
    function = inspect.unwrap(method)
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    if "__class__" in names:
        place = names.index("__class__")
        function.__closure__[place].cell_contents = owner
