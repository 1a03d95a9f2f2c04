"""What makes two runs of training the same: code, data, settings, weights."""

import ast
import hashlib
import inspect
import json
import sys
from collections.abc import Callable
from functools import partial
from textwrap import dedent

import torch
from torch import Tensor

from lookback.translator import Translator


def digest_of(tensors: dict[str, Tensor], *texts: str) -> str:
    """SHA-256 of texts, and of tensors and their names."""
    found = hashlib.sha256("\0".join(texts).encode())
    for name in sorted(tensors):
        flat = tensors[name].detach().cpu().contiguous().flatten()
        found.update(name.encode())
        found.update(flat.view(torch.uint8).numpy())
    return found.hexdigest()


def differences(ours: dict, theirs: dict) -> list[str]:
    """The names of what differs, with the fields where there are any."""
    found = []
    for name, mine in ours.items():
        other = theirs.get(name)
        if mine == other:
            continue
        fields = ""
        if isinstance(mine, dict) and isinstance(other, dict):
            some = [k for k in mine if mine[k] != other.get(k)]
            fields = f" ({', '.join(some)})"
        found.append(name + fields)
    return found


def code(model: Translator) -> str:
    """The code of a model: its classes, and the functions beside them.

    Comments and spaces do not count, nor do torch's own classes.
    """
    kinds = {
        kind
        for module in model.modules()
        for kind in type(module).__mro__
        if not kind.__module__.startswith(("torch", "builtins"))
    }
    places = {kind.__module__ for kind in kinds} - {"__main__"}
    owners = [*kinds, *(sys.modules[name] for name in places)]
    functions = {
        inspect.unwrap(value)
        for owner in owners
        for value in vars(owner).values()
        if inspect.isfunction(value)
        and not value.__module__.startswith("torch")
    }
    return "\n".join(sorted(map(written, functions)))


def written(function: Callable) -> str:
    """A function's syntax, and what it holds on to: functions and data.

    Where the text is lost, its bytecode.
    """
    if isinstance(function, partial):
        held = [function.func, *function.args, *function.keywords.values()]
        return "\n".join(map(_held, held))
    function = inspect.unwrap(function)
    if not inspect.isroutine(function):
        function = type(function).__call__
    try:
        text = ast.dump(ast.parse(dedent(inspect.getsource(function))))
    except (OSError, SyntaxError, TypeError):
        text = function.__qualname__ + function.__code__.co_code.hex()
    cells = getattr(function, "__closure__", None) or ()
    return "\n".join([text, *(_held(cell.cell_contents) for cell in cells)])


def _held(value: object) -> str:
    if inspect.isfunction(value) or isinstance(value, partial):
        return written(value)
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return type(value).__name__
