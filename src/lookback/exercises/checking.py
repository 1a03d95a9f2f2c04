"""What all checks share: `check`, which knows every exercise, and its tools.

A check is a function that takes the reader's `Answer`, raises `Hint` at the
first thing that is wrong, and returns a sentence saying what was verified.
Inputs come in the reader's default dtype, so that a plain `torch.zeros` fits
them; what is right is computed in float64, by another route than the solution.
"""

import builtins
import contextlib
import copy
import difflib
import dis
import functools
import inspect
import itertools
import linecache
import math
import re
import sys
import textwrap
import traceback
import unicodedata
from decimal import Decimal
from numbers import Real

import numpy
import torch
from torch.overrides import TorchFunctionMode


class Hint(Exception):
    """The first thing wrong with an answer, said as a teacher would."""


class NotAttempted(Exception):
    """There is nothing to check yet."""


class Called(TorchFunctionMode):
    """Notes the names of torch's functions that are called inside."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.names.add(getattr(function, "__name__", ""))
        return function(*args, **(kwargs or {}))


# Where the functions live that checks use, and what is there before any answer.
_SPACES = (
    *(builtins, math, numpy, torch, torch.linalg, torch.autograd),
    *(torch.nn, torch.nn.init, torch.nn.functional, torch.func),
    *(torch.nn.Module, torch.Tensor),
)


# What the next two functions call, lest an answer has changed it.
_vars, _is, _put, _drop, _has = vars, isinstance, setattr, delattr, hasattr


def _contents():
    """Each of these modules and classes, and what it holds by name."""
    return [
        (
            space,
            {
                name: value
                for name, value in _vars(space).items()
                if _is(space, type) or name[0] != "_"
            },
        )
        for space in _SPACES
    ]


_OWN = _contents()


def _restore(contents):
    """Put back what an answer has put something else in the place of."""
    for space, own in contents:
        now = space.__dict__
        for name in own:
            if now.get(name) is not own[name]:
                _put(space, name, own[name])
        if space is torch.Tensor:  # most of its methods are inherited
            for name in [name for name in now if name not in own]:
                if _has(torch._C.TensorBase, name):
                    _drop(space, name)


@contextlib.contextmanager
def _own_references():
    """A check works with what it was written with, whoever has changed it."""
    before, dtype = _contents(), torch.get_default_dtype()
    _restore(_OWN)
    try:
        yield
    finally:
        _restore(_OWN)
        _restore(before)
        torch.set_default_dtype(dtype)


def random_inputs(seed, *shapes):
    """One tensor of normal numbers for each shape, the same every time."""
    draw = torch.Generator(device="cpu").manual_seed(seed)
    return [torch.randn(shape, generator=draw) for shape in shapes]


def float64(values):
    """A tensor, number or table of numbers as a float64 tensor."""
    return torch.as_tensor(values, dtype=torch.float64)


def as_number(result, what="one number"):
    """A function's one number as float64 [], or the hint that it is none."""
    number = plain(result)
    if not is_number(number):
        shape = list(getattr(result, "shape", ()))
        yours = f"has shape {shape}" if shape else f"is {type(number).__name__}"
        raise Hint(f"Give back {what}; yours {yours}.")
    return float64(float(number))


def plain(value):
    """Tensors and arrays as Python's numbers and lists; all else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def is_number(value):
    """Whether it is one real number, of whatever kind."""
    return isinstance(value, (Real, Decimal)) and not isinstance(value, bool)


def as_tensor(result, shape, axes, known=None):
    """A result as float64 on the CPU, once its type and shape are right.

    `known` maps a telling wrong shape to its hint. Where one number is asked,
    a plain one will do.
    """
    result = _ordinary(result, shape, axes)
    if tuple(result.shape) != tuple(shape):
        hint = (known or {}).get(tuple(result.shape), "")
        raise Hint(_with_shape(result, torch.empty(shape), axes, hint))
    return result


def rounding(*given, at_least=1e-4):
    """How far off a right result may be: numbers of this size are rounded.

    ±8 steps of the given tensors' type at their largest finite number.
    """
    sizes = [
        8 * torch.finfo(one.dtype).eps * one[one.isfinite()].abs().max().item()
        for one in given
    ]
    return max(at_least, *sizes)


def _ordinary(result, shape, axes):
    """A result of whatever shape as float64 on the CPU, if it is a tensor."""
    if is_number(result) and not shape:
        result = float64(float(result))
    if not isinstance(result, torch.Tensor):
        raise Hint(
            f"Your function gives back {type(result).__name__}; "
            f"give back a torch tensor, {axes}."
        )
    kinds = {
        "complex": result.is_complex(),
        "nested": result.is_nested,
        "sparse": result.layout != torch.strided,
        "quantised": result.is_quantized,
        "meta": result.is_meta,
    }
    for kind in (kind for kind, found in kinds.items() if found):
        raise Hint(
            f"Your function gives back a {kind} tensor; give back an ordinary "
            f"one of real numbers, {axes}."
        )
    return float64(result.detach().cpu())


def _with_shape(found, truth, axes, hint):
    """The hint, after a word on the shape where that is wrong."""
    if not isinstance(found, torch.Tensor) or found.shape == truth.shape:
        return hint
    wanted = f"{axes} is {list(truth.shape)} here"
    if not truth.ndim:
        wanted = f"{axes.replace('[]', '').strip(', ')} has shape []"
    return (
        f"Shape first: your result has shape {list(found.shape)}, and "
        f"{wanted}. {hint}"
    ).rstrip()


def _taken(result, truth, axes):
    """An answer's result in the form in which it is compared with the truth."""
    if isinstance(truth, torch.Tensor):
        return _ordinary(result, truth.shape, axes)
    if is_number(truth):
        return as_number(result, axes)
    return plain(result)


def _plain(value):
    """Tensors and numbers as float64, all else as lists and what it is."""
    if isinstance(value, torch.Tensor):
        return float64(value.detach().cpu())
    return float64(float(value)) if is_number(value) else plain(value)


def _same(found, value, tolerance):
    if not isinstance(found, torch.Tensor) or not isinstance(
        value, torch.Tensor
    ):
        return type(found) is type(value) and found == value
    return found.shape == value.shape and torch.allclose(
        found, value, rtol=tolerance, atol=tolerance, equal_nan=True
    )


def expect(found, truth, otherwise=None, tolerance=1e-4):
    """Nothing if `found` is `truth`; else the hint `otherwise`.

    Without one it is the value that is furthest off. `truth` is a tensor or
    plain numbers.
    """
    truth = float64(truth)
    if not _same(found, truth, tolerance):
        raise Hint(otherwise or _furthest(found, truth, ""))


def _unrecognized(found, truth, given, about, otherwise, place):
    """What is said of a mistake that no slip makes."""
    if callable(otherwise):
        otherwise = otherwise(found, *given)
    about = about.format(*given)
    if otherwise:
        return otherwise
    if isinstance(found, torch.Tensor):
        return _furthest(found, truth, about, place)
    about = about and f"{about} "
    return f"{about}yours is {found!r}, and it should be {truth!r}."


def _furthest(found, truth, given, place=None):
    """Where a result is furthest from the truth, in words."""
    if not found.isfinite().all():
        given = given and f" {given.rstrip(',')}"
        return f"Your result holds NaN or infinity{given}."
    gap = (found - truth).abs()
    at = [int(i) for i in torch.unravel_index(gap.argmax(), gap.shape)]
    spot = f" at {at}" if at else ""
    if place:
        spot = f" {place(*at)}"
    what = "The shape is right, a value is not" if at else "Not the right value"
    yours, wanted = _apart(found[tuple(at)].item(), truth[tuple(at)].item())
    return (
        f"{what}: {given and given + ' '}yours is {yours}{spot}, and it "
        f"should be {wanted}."
    )


def _apart(one, other):
    """Two unequal numbers in as many digits, four or more, as tell them."""
    for digits in range(4, 18):
        both = f"{one:.{digits}g}", f"{other:.{digits}g}"
        if both[0] != both[1]:
            break
    return both


NO_GRADIENT = "The values are right, but no gradient can flow back to"
_CUT = (
    f"{NO_GRADIENT} {{}}: .detach(), .item(), numpy, torch.no_grad() or "
    "torch.tensor(...) has cut the graph."
)
OTHER_GRADIENT = (
    "The values are right, their gradient is not: a part of what you compute "
    "was detached, or made anew from plain numbers."
)
IN_PLACE = (
    "There is no gradient: a tensor that torch needs for it is changed in "
    "place afterwards. Work on a copy of it: clone()."
)
BACKWARD = (
    "Leave out backward(), which uses up the graph: the check takes the "
    "gradient of what you give back."
)


def gradients(total, to):
    """What torch.autograd.grad gives; where it cannot, a hint."""
    try:
        return torch.autograd.grad(total, to, allow_unused=True)
    except RuntimeError as error:
        if "a second time" in str(error):
            raise Hint(BACKWARD) from None
        if "inplace" in str(error):
            raise Hint(IN_PLACE) from None
        raise Hint(f"Torch finds no gradient: {_in_words(error)}.") from None


def learnable(mine, *given, to=None):
    """Nothing if what a right answer gives can be learned with; else a hint.

    Asked is the gradient to all tensors of numbers, or to those named in
    `to`. Along a random step from there it is held against the difference of
    the values at both ends, so that no other truth is needed.
    """
    at = [
        i
        for i, (name, one) in enumerate(zip(mine.inputs, given, strict=True))
        if isinstance(one, torch.Tensor) and one.is_floating_point()
        if to is None or name in to
    ]
    steps = random_inputs(17, *(given[i].shape for i in at))

    def summed(by, wanted=False):
        moved = list(given)
        for i, step in zip(at, steps, strict=True):
            moved[i] = given[i].detach() + by * step.to(given[i])
            moved[i].requires_grad_(wanted)
        found = mine(*moved)
        parts = found if isinstance(found, (list, tuple)) else [found]
        if wanted and not any(
            isinstance(one, torch.Tensor) and one.requires_grad for one in parts
        ):
            raise Hint(_CUT.format(", ".join(mine.inputs[i] for i in at)))
        weights = random_inputs(23, *(one.shape for one in parts))
        pairs = zip(parts, weights, strict=True)
        return sum((one.double() * weight).sum() for one, weight in pairs)

    total = summed(0, wanted=True)
    handed = [mine.handed[i] for i in at]
    slopes, slope = gradients(total, handed), 0.0
    for i, one, step in zip(at, slopes, steps, strict=True):
        if one is None and given[i].numel():
            raise Hint(_CUT.format(mine.inputs[i]))
        if one is not None:
            slope += (one.double() * step).sum().item()
    for by in (2e-3, 5e-4, 1e-4):  # short, where a bend lies near
        seen = ((summed(by) - summed(-by)) / (2 * by)).item()
        if abs(slope - seen) < 3e-3 * (1 + abs(seen)):
            return
    raise Hint(OTHER_GRADIENT)


def learnable_module(mine, sizes, parts, **given):
    """`learnable` for a class: with respect to its parameters and `given`."""
    module = as_module(mine, *sizes)
    fill(module, parts)
    own = dict(module.named_parameters())

    def forward(*numbers):
        named = dict(zip(own, numbers, strict=False))
        return torch.func.functional_call(module, named, numbers[len(own) :])

    learnable(Answer(forward, [*own, *given]), *own.values(), *given.values())


def as_module(mine, *sizes):
    """The module that the reader's class makes of its sizes, or a hint."""
    if isinstance(mine.function, torch.nn.Module):
        raise Hint("Hand over the class itself, without calling it.")
    with torch.random.fork_rng(devices=[]):
        module = mine(*sizes)
    if not isinstance(module, torch.nn.Module):
        raise Hint(
            f"What you make is of type {type(module).__name__}; it must be a "
            "torch.nn.Module: class …(nn.Module)."
        )
    return module.eval()


TWICE = (
    "Your part `{}` is another part once more, with the same parameters. Make "
    "each anew: [layer] * 2 is a list of one layer, twice."
)


@torch.no_grad()
def fill(module, wanted):
    """Copy tensors into a module's parts, `wanted` by the part's name.

    Within a part a tensor goes to the first place of its shape.
    """
    empty = dict(module.named_parameters())
    parts = dict.fromkeys(name.split(".")[0] for name in empty)
    for name, tensors in wanted.items():
        own = [key for key in empty if f"{key}.".startswith(f"{name}.")]
        shapes = sorted(list(empty[key].shape) for key in own)
        needed = sorted(list(tensor.shape) for tensor in tensors)
        if not own:
            every = module.named_parameters(remove_duplicate=False)
            if any(f"{key}.".startswith(f"{name}.") for key, _ in every):
                raise Hint(TWICE.format(name))
            raise Hint(
                f"There is no part `{name}` with parameters in what you made: "
                f"it has {', '.join(parts) or 'none at all'}. (torch does not "
                "see what is inside a plain list: take nn.ModuleList.)"
            )
        if shapes != needed:
            raise Hint(
                f"Your part `{name}` has parameters of the shapes {shapes}; "
                f"they should be {needed} here."
            )
        for tensor in tensors:
            place = next(k for k in own if empty[k].shape == tensor.shape)
            own.remove(place)
            empty.pop(place).copy_(tensor)
    if empty:
        raise Hint(
            "Your module has parameters that the exercise does not name: "
            f"{', '.join(empty)}."
        )


_VERDICTS = {True: "Right", False: "Not yet", None: "Not attempted yet"}


class Exercise:
    """A check with its reference solution; call it with an answer.

    `slips` are wrong implementations, each with the hint that it deserves;
    `styles` are right answers that look different from the solution.
    """

    def __init__(self, judge, solution, by_hand=False):
        self.name = judge.__name__
        self.chapter = judge.__module__.rpartition(".")[2]
        self.judge = judge
        self.solution = solution
        self.by_hand = by_hand
        self.inputs = list(inspect.signature(solution).parameters)
        self.slips = []
        self.styles = []
        self.__doc__ = judge.__doc__

    def slip(self, hint, *typed):
        """Declare a wrong implementation and the hint that it deserves.

        It is a function; or pieces of the solution's source, each followed by
        what is typed in its place; or, with neither, what is decorated.
        """

        def declare(wrong):
            self.slips.append((hint, wrong))
            return wrong

        if not typed:
            return declare
        if callable(typed[0]):
            return declare(*typed)
        return declare(edited(self.solution, *typed))

    def style(self, right):
        """Declare a right answer in another style; a decorator, too."""
        self.styles.append(right)
        return right

    def compare(
        self,
        mine,
        cases,
        axes="one number",
        about="",
        tolerance=1e-4,
        otherwise=None,
        ask=lambda answer, *given: answer(*given),
        place=None,
    ):
        """Nothing if the answer is right in all cases; else raise a Hint.

        A case is (inputs, truth). The hint is that of the first slip which
        gives, in every case, what the answer gives (in every case before the
        one, if any, in which the answer breaks); of a wrong shape, one that
        gives the same in the first case that is wrong. If none does it is
        `otherwise`, which may be a function of the result and the inputs, or
        the number that is furthest off in this case, with `about` before it, in
        which {0}, {1}, … are the inputs. `ask` gets from an answer and the
        inputs what is compared: tensors and numbers within the tolerance, all
        else exactly. Where this is not the answer's own tensor, `place` makes
        words of an index.
        """
        found, broke = [], None
        for given, truth in cases:
            try:
                found.append(_taken(ask(mine, *given), truth, axes))
            except Hint as hint:
                broke = hint
                break
        cases = cases[: len(found)]
        wrong = [
            i
            for i, (_, truth) in enumerate(cases)
            if not _same(found[i], _plain(truth), tolerance)
        ]
        if broke and not wrong:
            raise broke
        if not wrong:
            return
        (given, truth), first = cases[wrong[0]], found[wrong[0]]
        truth = _plain(truth)
        once = ""
        for hint, slip in self.slips:
            if not _same(first, self._of(slip, given, ask), tolerance):
                continue
            if all(
                _same(other, self._of(slip, case, ask), tolerance)
                for other, (case, _) in zip(found, cases, strict=True)
            ):
                raise Hint(_with_shape(first, truth, axes, hint))
            once = once or hint
        if isinstance(first, torch.Tensor) and first.shape != truth.shape:
            raise Hint(_with_shape(first, truth, axes, once))
        raise Hint(_unrecognized(first, truth, given, about, otherwise, place))

    def _of(self, slip, given, ask):
        """What a slip gives; None where it breaks on these inputs."""
        try:
            return _plain(ask(Answer(slip, self.inputs), *given))
        except (Hint, NotAttempted):
            return None

    def __call__(self, answer=None, *more):
        """True if right, False if not yet, None if not attempted.

        Several answers are taken as if they stood in brackets.
        """
        outcome, text = self.verdict((answer, *more) if more else answer)
        text = _printable(text, sys.stdout)
        print(f"{_VERDICTS[outcome]}: {self.name}")
        for paragraph in text.split("\n"):
            print(
                textwrap.fill(
                    paragraph, 74, initial_indent="  ", subsequent_indent="  "
                )
            )
        return outcome

    def verdict(self, answer):
        """What `__call__` gives back, and what it says."""
        try:
            with (
                _own_references(),
                torch.device("cpu"),
                torch.inference_mode(False),
                torch.enable_grad(),
            ):
                return True, self.judge(self._take(answer))
        except NotAttempted as what:
            return None, str(what)
        except Hint as hint:
            return False, str(hint)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # an answer that nobody has thought of
            said = _in_words(error)
            advice = ["Give plain numbers or ordinary tensors."]
            return False, (
                f"Your answer is of a kind that this check cannot read ({said})"
                f". {(_explained(said, '') or advice)[0]}"
            )

    def __repr__(self):
        if self.by_hand:
            return f"check.{self.name}(answer)"
        wanted = ", ".join(self.inputs)
        return f"check.{self.name}(mine), where mine({wanted})"

    def _take(self, answer):
        if answer is None or answer is ... or answer is NotImplemented:
            raise NotAttempted(
                f"Give your answer: check.{self.name}(answer)."
                if self.by_hand
                else f"Pass what you made: check.{self.name}(its_name)."
            )
        if self.by_hand:
            return answer
        if not callable(answer):
            raise Hint(
                f"check.{self.name} wants the function itself, and got "
                f"{type(answer).__name__}. Write its name without calling it: "
                f"check.{self.name}(my_function)."
            )
        return Answer(answer, self.inputs)


LINES = 1_000_000  # of Python: more than any right answer runs

_MANY = (
    "Your tensor holds many numbers. math, float() and .item() work on one, "
    "torch's functions on all of them."
)
# What torch says of slips that have a simple name, and the name.
_EXPLAINED = {
    "Boolean value of Tensor": "A tensor of many numbers is neither True nor "
    "False, so Python's min, max, if, and, or, not do not work on it: take "
    "torch.minimum, torch.maximum, torch.where, &, |, ~.",
    "converted to Scalar": _MANY,
    "converted to Python scalar": _MANY,
    "Can't call numpy() on Tensor that requires grad": "Stay in torch: numpy "
    "knows no gradients.",
    "before Module.__init__() call": "Call super().__init__() first.",
}


def _explained(said, line):
    """What torch says in simple words, where they are known."""
    found = [why for words, why in _EXPLAINED.items() if words in said]
    called = {*re.findall(r"(?<![\w.])(?:math\.)?(\w+)\(", line)}
    named = [name for name in called if hasattr(math, name)]
    others = {"float", "int", "complex"} & called or ".item(" in line
    if (
        found == [_MANY]
        and not others
        and len(named) == 1
        and hasattr(torch, named[0])
    ):
        name = f"torch.{named[0]}, not math.{named[0]}"
        return [f"math works on one number, torch on all: {name}."]
    return found


class Endless(BaseException):
    """Python ran more lines of an answer than any right one needs."""


@contextlib.contextmanager
def _broken_off(after):
    """Raise Endless once Python has run about so many lines inside.

    The interpreter counts them itself, so that it takes neither a signal nor a
    thread, which not every notebook has. A loop that catches everything, by a
    bare `except:`, goes on all the same.
    """
    before, lines = sys.gettrace(), itertools.count()

    def count(*_):
        if next(lines) > after:
            raise Endless
        return count

    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(before)


class Answer:
    """The reader's function: called on copies, its slips turned into hints.

    `handed` holds the copies of the last call.
    """

    def __init__(self, function, inputs):
        self.function = function
        self.inputs = inputs
        self._fits(inputs)

    def __call__(self, *given, may_be_none=False, endless=None):
        """What the function gives back; `endless` is said if it never does."""
        self.handed = handed = copy.deepcopy(given)
        patience = _broken_off(LINES) if endless else contextlib.nullcontext()
        try:
            with patience:
                result = self.function(*handed)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            _restore(_OWN)
            if endless and isinstance(error, (Endless, RecursionError)):
                raise Hint(endless) from None
            line = _line_of(error, self.function)
            if isinstance(error, NotImplementedError) and (
                not error.args or "raise NotImplementedError" in line
            ):
                raise NotAttempted(
                    "Write the body in place of `raise NotImplementedError`, "
                    "run the cell, and check again."
                ) from None
            raise Hint(self._report(error, line, given)) from None
        _restore(_OWN)
        if result is ... or result is None:
            self._begun()
            written = hasattr(self.function, "__code__")
            forgotten = written and not _returns(self.function)
            if result is ... or forgotten or not may_be_none:
                raise Hint(self._gave_none(given))
        for name, before, after in zip(self.inputs, given, handed, strict=True):
            if not _unchanged(before, after):
                instead = (
                    f"tensor. `{name} += …`, `{name}[…] = …` and methods that "
                    f"end in _ change the old one; {name}.clone() is a new one."
                    if isinstance(before, torch.Tensor)
                    else f"one, a copy: {_copied(name, before)}."
                )
                raise Hint(
                    f"Your function changes its argument `{name}` in place. "
                    f"Whoever called it still needs `{name}`: work on a new "
                    f"{instead}"
                )
        return result

    def _fits(self, inputs):
        try:
            inspect.signature(self.function).bind(*inputs)
        except TypeError:
            found = inspect.signature(self.function)
            raise Hint(
                f"Your function takes {found}, and this exercise calls it "
                f"with {len(inputs)} arguments: ({', '.join(inputs)})."
            ) from None
        except ValueError:  # built-ins that do not tell their signature
            pass

    def _begun(self):
        reads = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF")
        if hasattr(self.function, "__code__") and not any(
            step.opname.startswith(reads)
            for step in dis.get_instructions(self.function)
        ):
            raise NotAttempted("The function is still empty. Write its body.")

    def _gave_none(self, given):
        if _returns(self.function):
            return (
                f"For {self._shown(given)} your function gave back None: does "
                "every way through it end at a `return`? (print, append and "
                "sort give back None, too.)"
            )
        return (
            "Your function ran but gave back None: is there a `return`? "
            "(print shows a value and does not give it back.)"
        )

    def _shown(self, given):
        return ", ".join(
            f"{name} {_describe(value)}"
            for name, value in zip(self.inputs, given, strict=True)
        )

    def _report(self, error, line, given):
        said = _in_words(error)
        plainly = _explained(said, line)
        return "\n".join(
            [f"Your function raised {said}", line, *plainly]
            + [f"It was given {self._shown(given)}."]
        )


_source = functools.cache(inspect.getsource)  # of a class it is slow to find


class edited:
    """A solution with pieces of its source typed differently.

    `typed` has a piece and what stands in its place, then the next two. Of a
    class all classes of its file are its source. It is made when it is first
    called, since most readers need none.
    """

    def __init__(self, solution, *typed):
        functools.update_wrapper(self, solution, updated=())
        self.typed = typed

    def __call__(self, *given):
        return self.made(*given)

    @functools.cached_property
    def made(self):
        solution = self.__wrapped__
        module = inspect.getmodule(solution)
        own = [solution]
        if isinstance(solution, type):
            every = [v for v in vars(module).values() if isinstance(v, type)]
            own = [v for v in every if v.__module__ == module.__name__]
        text = "\n\n".join(map(_source, own))
        for old, new in zip(self.typed[::2], self.typed[1::2], strict=True):
            if old not in text:
                raise ValueError(f"{solution.__name__} has no {old!r}")
            text = text.replace(old, new)
        space = vars(module).copy()
        exec(text, space)
        return space[solution.__name__]


def _returns(function):
    """Whether a `return` with anything but None is written in a function."""
    code = getattr(function, "__code__", None)
    steps = [*dis.get_instructions(code)] if code else []
    given = [
        (step if step.opname == "RETURN_CONST" else before, step)
        for before, step in zip(steps, steps[1:], strict=False)
        if step.opname.startswith("RETURN_")
    ]
    return any(
        step.is_jump_target or "CONST" not in x.opname or x.argval is not None
        for x, step in given
    )


class Checks:
    """All exercises by name; `dir(check)` and `check` list them."""

    def __init__(self):
        self._exercises = {}

    def add(self, exercise):
        if exercise.name in self._exercises:
            raise ValueError(f"two exercises are called {exercise.name!r}")
        self._exercises[exercise.name] = exercise

    def __getattr__(self, name):
        known = self.__dict__.get("_exercises", {})
        if name in known:
            return known[name]
        near = difflib.get_close_matches(name, known, n=1)
        maybe = f" Did you mean {near[0]!r}?" if near else ""
        raise AttributeError(
            f"no exercise is called {name!r}.{maybe} "
            f"There are: {', '.join(known)}."
        )

    def __dir__(self):
        return list(self._exercises)

    def __iter__(self):
        return iter(self._exercises.values())

    def __repr__(self):
        lines = ["The exercises that check themselves:"]
        for chapter in sorted({made.chapter for made in self}):
            lines.append(f"chapter {chapter}")
            lines += [f"  {one!r}" for one in self if one.chapter == chapter]
        return "\n".join(lines)


check = Checks()


def exercise(solution):
    """Register the decorated function as the check of an exercise.

    Its chapter is the one that its module is named after. The solution's
    signature is what the reader's function is called with.
    """

    def register(judge):
        made = Exercise(judge, solution)
        check.add(made)
        return made

    return register


def _unchanged(before, after):
    if isinstance(before, torch.Tensor):
        return before.shape == after.shape and torch.equal(before, after)
    if isinstance(before, torch.nn.Module):
        pairs = zip(before.parameters(), after.parameters(), strict=True)
        return all(torch.equal(one, other) for one, other in pairs)
    return before == after


def _copied(name, value):
    """How a copy of an argument is written: a deep one if it holds others."""
    kind = type(value)
    parts = value.values() if kind is dict else value
    flat = kind in (list, dict) and not any(
        isinstance(part, (list, dict)) for part in parts
    )
    return f"{kind.__name__}({name})" if flat else f"copy.deepcopy({name})"


def _describe(value):
    if isinstance(value, torch.Tensor):
        return str(list(value.shape))
    return textwrap.shorten(repr(value), 60)


# How a sign is spelled where a console does not have it.
_SPELLED = {
    **{"√": "sqrt ", "‖": "|", "∘": "*", "·": "*", "×": "x", "∞": "infinity"},
    **{"−": "-", "–": "-", "←": "<-", "≤": "<=", "≥": ">=", "±": "+-"},
    **{"Σ": "sum ", "∇": "gradient ", "∂": "d", "∩": " and ", "μ": "mu"},
    **{"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon"},
    **{"κ": "kappa", "π": "pi", "ρ": "rho", "σ": "sigma", "φ": "phi"},
    **{"\N{COMBINING CIRCUMFLEX ACCENT}": "^", "\N{COMBINING MACRON}": "-mean"},
    **{"ω": "omega", "⌈": "ceil(", "⌉": ")", "“": '"', "”": '"', "’": "'"},
}


def _printable(text, out):
    """The text in signs that `out` can print; of ½ and h₂ plain 1/2, h2."""
    kind = getattr(out, "encoding", None) or "utf-8"

    def spelled(sign):
        try:
            sign.encode(kind)
            return sign
        except UnicodeEncodeError:
            if sign in "⁰¹²³⁴⁵⁶⁷⁸⁹":
                return f"^{unicodedata.digit(sign)}"
            sign = _SPELLED.get(sign) or unicodedata.normalize("NFKD", sign)
            plain = sign.replace("\N{FRACTION SLASH}", "/")
            return plain.encode(kind, "replace").decode(kind)

    return "".join(map(spelled, text))


def _in_words(error):
    """An error's type and the first line of what it says, if it can speak."""
    try:
        said = str(error).strip().split("\n")[0]
    except KeyboardInterrupt:
        raise
    except BaseException:
        said = "(it does not say why)"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _line_of(error, function):
    """The line of the reader's own code on which the error arose."""
    if isinstance(function, type):
        function = function.__init__
    code = getattr(function, "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if code and f.filename == code.co_filename]
    last = (own or frames)[-1]
    text = linecache.getline(last.filename, last.lineno).strip()
    return f"Line {last.lineno}: {text}" if text else f"Line {last.lineno}"
