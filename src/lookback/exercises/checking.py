"""What all checks share: `check`, which knows every exercise, and its tools.

A check is a function that takes the reader's `Answer`, raises `Hint` at the
first thing that is wrong, and returns a sentence saying what was verified.
Inputs come in the reader's default dtype, so that a plain `torch.zeros` fits
them; what is right is computed in float64, by another route than the solution.
"""

import copy
import difflib
import dis
import inspect
import linecache
import textwrap
import traceback
from decimal import Decimal
from numbers import Real

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
        raise Hint(f"Give back {what}; yours is {type(result).__name__}.")
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
    if type(result) in (int, float) and not shape:
        result = torch.tensor(result, dtype=torch.float64)
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
    if tuple(result.shape) != tuple(shape):
        general = (
            f"Shape first: your result has shape {list(result.shape)}, "
            f"and {axes} is {list(shape)} here."
        )
        special = (known or {}).get(tuple(result.shape))
        raise Hint(f"{general} {special}" if special else general)
    return float64(result.detach().cpu())


def expect(found, truth, mistakes, given="", tolerance=1e-4, otherwise=None):
    """Nothing if `found` is `truth`; else the hint of the mistake it shows.

    `truth` is a tensor or plain numbers. `mistakes` maps a hint to the value
    that this mistake gives; `otherwise` is said if none fits, in place of the
    value that is furthest off.
    """
    truth = float64(truth)
    if _close(found, truth, tolerance):
        return
    for hint, wrong in mistakes.items():
        if _close(found, float64(wrong), tolerance):
            raise Hint(hint)
    if otherwise:
        raise Hint(otherwise)
    if not found.isfinite().all():
        raise Hint(f"Your result holds NaN or infinity{given and ' ' + given}.")
    gap = (found - truth).abs()
    at = [int(i) for i in torch.unravel_index(gap.argmax(), gap.shape)]
    spot = f" at {at}" if at else ""
    what = "The shape is right, a value is not" if at else "Not the right value"
    yours, wanted = _apart(found[tuple(at)].item(), truth[tuple(at)].item())
    raise Hint(
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


def _close(found, value, tolerance):
    return found.shape == value.shape and torch.allclose(
        found, value, rtol=tolerance, atol=tolerance
    )


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
    """A check with its reference solution; call it with an answer."""

    def __init__(self, judge, solution, by_hand=False):
        self.name = judge.__name__
        self.chapter = judge.__module__.rpartition(".")[2]
        self.judge = judge
        self.solution = solution
        self.by_hand = by_hand
        self.inputs = list(inspect.signature(solution).parameters)
        self.__doc__ = judge.__doc__

    def __call__(self, answer=None, *more):
        """True if right, False if not yet, None if not attempted.

        Several answers are taken as if they stood in brackets.
        """
        outcome, text = self.verdict((answer, *more) if more else answer)
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
            with torch.device("cpu"), torch.inference_mode(False):
                with torch.enable_grad():
                    return True, self.judge(self._take(answer))
        except NotAttempted as what:
            return None, str(what)
        except Hint as hint:
            return False, str(hint)
        except Exception as error:  # an answer that nobody has thought of
            return False, (
                "Your answer is of a kind that this check cannot read "
                f"({_in_words(error)}). Give plain numbers or ordinary tensors."
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


# What torch says of slips that have a simple name, and the name.
_EXPLAINED = {
    "Boolean value of Tensor": "A tensor of many numbers is neither True nor "
    "False, so Python's min, max, if, and, or, not do not work on it: take "
    "torch.minimum, torch.maximum, torch.where, &, |, ~.",
    "converted to Scalar": "math works on one number, torch on all: torch.exp, "
    "not math.exp.",
    "converted to Python scalar": "math works on one number, torch on all: "
    "torch.exp, not math.exp.",
    "Can't call numpy() on Tensor that requires grad": "Stay in torch: numpy "
    "knows no gradients.",
}


class Answer:
    """The reader's function: called on copies, its slips turned into hints.

    `handed` holds the copies of the last call.
    """

    def __init__(self, function, inputs):
        self.function = function
        self.inputs = inputs
        self._fits(inputs)

    def __call__(self, *given, may_be_none=False):
        self.handed = handed = copy.deepcopy(given)
        try:
            result = self.function(*handed)
        except (Exception, SystemExit) as error:
            line = _line_of(error, self.function)
            if isinstance(error, NotImplementedError) and (
                not error.args or "raise NotImplementedError" in line
            ):
                raise NotAttempted(
                    "Write the body in place of `raise NotImplementedError`, "
                    "run the cell, and check again."
                ) from None
            raise Hint(self._report(error, line, given)) from None
        if result is ... or (result is None and not may_be_none):
            self._empty()
        for name, before, after in zip(self.inputs, given, handed, strict=True):
            if not _unchanged(before, after):
                instead = (
                    "tensor (masked_fill, not masked_fill_; x = x + 1, not "
                    "x += 1)."
                    if isinstance(before, torch.Tensor)
                    else f"one, a copy: list({name})."
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

    def _empty(self):
        reads = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF")
        if hasattr(self.function, "__code__") and not any(
            step.opname.startswith(reads)
            for step in dis.get_instructions(self.function)
        ):
            raise NotAttempted("The function is still empty. Write its body.")
        raise Hint(
            "Your function ran but gave back None: is there a `return`? "
            "(print shows a value and does not give it back.)"
        )

    def _report(self, error, line, given):
        said = _in_words(error)
        shown = ", ".join(
            f"{name} {_describe(value)}"
            for name, value in zip(self.inputs, given, strict=True)
        )
        plainly = [why for words, why in _EXPLAINED.items() if words in said]
        return "\n".join(
            [f"Your function raised {said}", line, *plainly]
            + [f"It was given {shown}."]
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
    return before == after


def _describe(value):
    if isinstance(value, torch.Tensor):
        return str(list(value.shape))
    return textwrap.shorten(repr(value), 60)


def _in_words(error):
    """An error's type and the first line of what it says, if it can speak."""
    try:
        said = str(error).strip().split("\n")[0]
    except Exception:
        said = "(it does not say why)"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _line_of(error, function):
    """The line of the reader's own code on which the error arose."""
    code = getattr(function, "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if code and f.filename == code.co_filename]
    last = (own or frames)[-1]
    text = linecache.getline(last.filename, last.lineno).strip()
    return f"Line {last.lineno}: {text}" if text else f"Line {last.lineno}"
