"""`check`: knows every exercise, runs a reader's answer, says what it found.

A check is a function that takes the reader's `Answer`, raises `Hint` at the
first thing that is wrong, and returns a sentence saying what was verified.
"""

import copy
import difflib
import dis
import inspect
import linecache
import textwrap
import traceback

import torch

from lookback.exercises.judging import Hint, NotAttempted


class Exercise:
    """A check with its reference solution; call it with an answer."""

    def __init__(self, chapter, judge, solution, by_hand):
        self.name = judge.__name__
        self.chapter = chapter
        self.judge = judge
        self.solution = solution
        self.by_hand = by_hand
        self.inputs = list(inspect.signature(solution).parameters)
        self.__doc__ = judge.__doc__

    def __call__(self, answer=None):
        """True if right, False if not yet, None if not attempted."""
        try:
            with torch.device("cpu"):
                verified = self.judge(self._take(answer))
        except NotAttempted as what:
            return _say("Not attempted yet", self.name, what, None)
        except Hint as hint:
            return _say("Not yet", self.name, hint, False)
        return _say("Right", self.name, verified, True)

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
                else f"Pass your function: check.{self.name}(your_function)."
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


class Answer:
    """The reader's function: called on copies, its slips turned to hints."""

    def __init__(self, function, inputs):
        self.function = function
        self.inputs = inputs
        self._fits(inputs)

    def __call__(self, *given, may_be_none=False):
        handed = copy.deepcopy(given)
        try:
            result = self.function(*handed)
        except Exception as error:
            line = _line_of(error, self.function)
            if isinstance(error, NotImplementedError) and (
                not str(error) or "raise NotImplementedError" in line
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
                raise Hint(
                    f"Your function changes its argument `{name}` in place. "
                    f"Whoever called it still needs `{name}`: work on a new "
                    "tensor (masked_fill, not masked_fill_; x = x + 1, not "
                    "x += 1)."
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
        raise Hint("Your function ran but gave back None: is there a `return`?")

    def _report(self, error, line, given):
        message = str(error).strip().split("\n")[0]
        shown = ", ".join(
            f"{name} {_describe(value)}"
            for name, value in zip(self.inputs, given, strict=True)
        )
        return (
            f"Your function raised {type(error).__name__}: {message}\n"
            f"{line}\nIt was given {shown}."
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


def exercise(chapter, solution, by_hand=False):
    """Register the decorated function as the check of a chapter's exercise.

    The solution's signature is what the reader's function is called with;
    for an answer found by hand it takes nothing and returns the answer.
    """

    def register(judge):
        made = Exercise(chapter, judge, solution, by_hand)
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


def _line_of(error, function):
    """The line of the reader's own code on which the error came up."""
    code = getattr(function, "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if code and f.filename == code.co_filename]
    last = (own or frames)[-1]
    text = linecache.getline(last.filename, last.lineno).strip()
    return f"Line {last.lineno}: {text}" if text else f"Line {last.lineno}"


def _say(verdict, name, text, outcome):
    """Print a verdict, in words and wrapped; give the outcome back."""
    print(f"{verdict}: {name}")
    for paragraph in str(text).split("\n"):
        print(
            textwrap.fill(
                paragraph, 74, initial_indent="  ", subsequent_indent="  "
            )
        )
    return outcome
