"""What makes two runs of training the same: code, data, settings, weights."""

import ast
import hashlib
import inspect
import sys
from textwrap import dedent

import torch
from torch import Tensor

from lookback.translator import Translator


def digest_of(tensors: dict[str, Tensor]) -> str:
    """SHA-256 of tensors and their names."""
    found = hashlib.sha256()
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
    return "\n".join(sorted(map(_written, functions)))


def _written(function) -> str:
    """A function's syntax, or its bytecode where its text is lost."""
    try:
        text = dedent(inspect.getsource(function))
        return ast.dump(ast.parse(text))
    except (OSError, SyntaxError):
        return function.__qualname__ + function.__code__.co_code.hex()
