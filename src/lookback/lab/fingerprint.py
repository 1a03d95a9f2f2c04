"""What makes two runs of training the same: code, data, settings, weights."""

import ast
import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator
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

    Comments, docstrings and spaces do not count, nor do torch's own classes.
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
        text = _syntax(dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        text = function.__qualname__ + function.__code__.co_code.hex()
    cells = getattr(function, "__closure__", None) or ()
    return "\n".join([text, *(_held(cell.cell_contents) for cell in cells)])


def _syntax(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if ast.get_docstring(node) is not None:
                del node.body[0]
    return ast.dump(tree)


def reached(function: Callable) -> str:
    """A function as it is `written`, and all of ours that it may call.

    Followed are the functions and classes of lookback, and of the function's
    own module, that its text names or that it holds on to, and so on from
    them. What is found only while it runs, by a name made up or as a method
    of what it is given, is not.
    """
    found: dict[Callable, str] = {}
    queue = [function]
    while queue:
        one = queue.pop()
        if one not in found:
            found[one] = written(one)
            queue += _named(one)
    return "\n".join(sorted(set(found.values())))


def _named(function: Callable) -> Iterator[Callable]:
    """The functions of ours in the text of this one, and in what it holds."""
    if isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function)
    if not inspect.isroutine(function):
        function = type(function).__call__
    names, blocks = set(), [function.__code__]
    for block in blocks:
        names.update(block.co_names)
        blocks += filter(inspect.iscode, block.co_consts)
    things = [function.__globals__.get(name) for name in names]
    for module in filter(inspect.ismodule, things[:]):
        things += [vars(module).get(name) for name in names]
    things += [cell.cell_contents for cell in function.__closure__ or ()]
    for thing in things:
        if inspect.isclass(thing) and _ours(thing, function):
            for part in vars(thing).values():
                part = getattr(part, "fget", getattr(part, "__func__", part))
                if inspect.isfunction(part) and _ours(part, function):
                    yield part
        elif isinstance(thing, partial):
            yield thing
        elif inspect.isfunction(thing) and _ours(thing, function):
            yield thing


def _ours(thing: Callable, function: Callable) -> bool:
    place = inspect.unwrap(thing).__module__ or ""
    return place.split(".")[0] == "lookback" or place == function.__module__


def _held(value: object) -> str:
    if inspect.isfunction(value) or isinstance(value, partial):
        return written(value)
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return type(value).__name__
