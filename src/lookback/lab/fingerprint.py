"""What makes two runs of training the same: code, data, settings, weights."""

import dis
import hashlib
import inspect
import json
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from types import CodeType, FunctionType

import numpy as np
import torch
from torch import Tensor, nn

from lookback.lab.subwords import dump
from lookback.vocabulary import Vocabulary

PACKAGE = str(Path(__file__).parents[1])
HOOKS = ("_forward_pre_hooks", "_forward_hooks")


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


def identity(model: nn.Module, settings: dict, **held: object) -> dict:
    """What must agree for a training to be continued.

    The model and its code, the settings, the versions of Python and torch,
    and a digest of what is `reached` from each of the things held. The device
    and the number of threads are free.
    """
    config = getattr(model, "config", None)  # a mere stack of layers has none
    shapes = {name: [*w.shape] for name, w in model.state_dict().items()}
    return {
        "model": type(model).__name__,
        "sizes": shapes if config is None else asdict(config),
        "settings": settings,
        "versions": {
            "python": ".".join(platform.python_version_tuple()[:2]),
            "torch": torch.__version__.split("+")[0],
        },
        "code": digest_of({}, reached(model)),
    } | {name: digest_of({}, reached(thing)) for name, thing in held.items()}


def reached(*things: object) -> str:
    """What a function, a model or another object is made of, as text.

    Of a function the instructions, the default arguments, what it holds on
    to, and all that its text names: functions, classes and values of
    lookback, of `__main__` and of the function's own module; and so on from
    them. Of a model the code of its parts, and what they hold but their
    weights. It is as it stands in memory, so a file that is edited after its
    import changes nothing. Comments, docstrings and spaces do not count.
    Other libraries' code goes by its name. What is found only while it runs,
    by a name made up or as a method of what it is given, is not seen.
    """
    reading = _Reading()
    texts = [reading.text(thing, held=True) for thing in things]
    return "\n".join([*texts, *reading.all()])


class _Reading:
    """The functions and classes that are still to read, and those read."""

    def __init__(self):
        self.places = {"__main__"}  # modules that are ours, beside lookback
        self.queue: list = []
        self.known: dict[int, object] = {}  # by id, and so kept alive
        self.inside: set[int] = set()  # what is being told: no circles

    def all(self) -> list[str]:
        found = set()
        while self.queue:
            one = self.queue.pop()
            tell = self.of_class if inspect.isclass(one) else self.of_function
            found.add(tell(one))
        return sorted(found)

    def follow(self, thing: object) -> None:
        if id(thing) not in self.known:
            self.known[id(thing)] = thing
            self.queue.append(thing)

    def ours(self, thing: object) -> bool:
        place = getattr(thing, "__module__", None) or ""
        return place.split(".")[0] == "lookback" or place in self.places

    def text(self, value: object, held: bool = False) -> str:
        """A value; what is `held` is ours wherever it was defined."""
        try:
            return json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            pass
        if id(value) in self.inside:
            return "…"
        self.inside.add(id(value))
        try:
            return self.of(value, held)
        finally:
            self.inside.discard(id(value))

    def of(self, value: object, held: bool) -> str:
        kind = type(value)
        if isinstance(value, partial):
            return self.text((value.func, value.args, value.keywords), True)
        if inspect.ismethod(value):
            return self.text((value.__func__, value.__self__), True)
        if isinstance(value, (classmethod, staticmethod)):
            return self.text(value.__func__, held)
        if isinstance(value, property):
            return self.text((value.fget, value.fset), held)
        if isinstance(value, cached_property):
            return self.text(value.func, held)
        base = inspect.unwrap(value) if callable(value) else None
        if inspect.isclass(base) or isinstance(base, FunctionType):
            if held and not base.__module__.startswith(("torch", "builtins")):
                self.places.add(base.__module__)
            if not self.ours(base):
                return f"{base.__module__}.{base.__qualname__}"
            self.follow(value)
            return base.__name__
        if isinstance(value, nn.Module):
            return self.of_model(value)
        if isinstance(value, Tensor):
            if isinstance(value, nn.Parameter):
                return kind.__name__
            return f"{value.dtype} {[*value.shape]} " + digest_of({"": value})
        if isinstance(value, np.ndarray):
            told = hashlib.sha256(np.ascontiguousarray(value).tobytes())
            return f"{value.dtype} {value.shape} {told.hexdigest()}"
        if isinstance(value, Vocabulary):
            return self.text(kind, held=True) + dump(value)
        if isinstance(value, Mapping):
            return self.each(value.items())
        if isinstance(value, (set, frozenset)):
            return self.each(value, sort=True)
        if isinstance(value, (list, tuple)):
            return self.each(value, held=held)
        if is_dataclass(value) or self.ours(kind) or held and callable(value):
            inner = getattr(value, "__dict__", {})
            return self.text(kind, held) + self.each(inner.items())
        return f"{kind.__module__}.{kind.__name__}"

    def each(self, values, sort: bool = False, held: bool = False) -> str:
        told = [self.text(value, held) for value in values]
        return "(" + ", ".join(sorted(told) if sort else told) + ")"

    def of_model(self, model: nn.Module) -> str:
        found = []
        for name, part in model.named_modules():
            self.text(type(part), held=True)
            inner = {
                key: value
                for key, value in vars(part).items()
                if not key.startswith("_") and key != "training"
            }
            lasting = part._non_persistent_buffers_set  # in no checkpoint
            inner |= {key: part._buffers[key] for key in sorted(lasting)}
            hooks = [[*getattr(part, each).values()] for each in HOOKS]
            found.append(name + type(part).__qualname__)
            found += [self.text(inner), self.text(hooks, held=True)]
        return "\n".join(found)

    def of_class(self, one: type) -> str:
        for base in one.__mro__[1:]:
            self.text(base)
        return one.__name__ + self.each(
            (name, value)
            for name, value in sorted(vars(one).items())
            if not name.startswith("__") or inspect.isfunction(value)
        )

    def of_function(self, function: object) -> str:
        found = []
        while function is not None:
            inner = getattr(function, "__wrapped__", None)
            code = getattr(function, "__code__", None)
            # A wrapper counts if it is the book's: torch's, jaxtyping's and
            # those of a test do not.
            if code and (not inner or code.co_filename.startswith(PACKAGE)):
                found += [
                    _instructions(code),
                    self.text(function.__defaults__, held=True),
                    self.text(function.__kwdefaults__, held=True),
                    self.each(self.held_by(function), held=True),
                    self.each(self.named_by(function)),
                ]
            function = inner
        return "\n".join(found)

    def held_by(self, function: FunctionType) -> Iterator[object]:
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # not filled yet
                continue
            if value is not getattr(function, "__wrapped__", None):
                yield value

    def named_by(self, function: FunctionType) -> Iterator[tuple[str, object]]:
        names, blocks = set(), [function.__code__]
        for block in blocks:
            names.update(block.co_names)
            blocks += filter(inspect.iscode, block.co_consts)
        things = {
            name: function.__globals__.get(name, sys.modules.get(name))
            for name in sorted(names)
        }
        for module in filter(inspect.ismodule, [*things.values()]):
            if module.__name__.split(".")[0] == "lookback":
                for name in sorted(names & vars(module).keys()):
                    things[f"{module.__name__}.{name}"] = vars(module)[name]
        for name, thing in things.items():
            if thing is not None and not inspect.ismodule(thing):
                yield name, thing


def _instructions(code: CodeType) -> str:
    """The instructions of a function, and of those inside it.

    What no instruction loads, as a docstring, is not among them.
    """
    count = code.co_argcount + code.co_kwonlyargcount
    found = [repr(code.co_varnames[: count + 2 * bool(code.co_flags & 12)])]
    found.append(f"{code.co_argcount} {code.co_posonlyargcount}")
    found.append(getattr(code, "co_exceptiontable", b"").hex())
    for one in dis.get_instructions(code):
        found.append(f"{one.opname} {_constant(one.argval)}")
    return "\n".join(found)


def _constant(value: object) -> str:
    if inspect.iscode(value):
        return _instructions(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_constant, value)) + ")"
    if isinstance(value, frozenset):  # in another order in every process
        return "{" + ", ".join(sorted(map(_constant, value))) + "}"
    return repr(value)
