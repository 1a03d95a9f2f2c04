"""Exercises by hand: answers of a few numbers, and what each slip gives.

A chapter says once, as plain data, what is right and which numbers every
likely mistake leads to. The check in a notebook reads it, and so do the fields
on the page, where no Python runs (widgets/by_hand.js).
"""

import random
import re
import sys
from decimal import ROUND_DOWN, ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from functools import partial, wraps
from itertools import product
from math import isfinite

from lookback.exercises.checking import (
    Exercise,
    Hint,
    NotAttempted,
    check,
    float64,
    is_number,
    plain,
)

MOST = sys.float_info.max  # JSON has no infinity
TRIES = 1000  # draws for one variant


_SHORT = {
    1: "Right, but to one decimal only; give more.",
    2: "Right, but to two decimals only; give more.",
}
_CUT = {
    1: "That is cut off after one decimal; round it, or give more.",
    2: "That is cut off after two decimals; round it, or give more.",
}
_FAR = "Right, but rounded too far; give more digits."
_PER_CENT = "Give numbers from 0 to 1, not per cent."


def around(tolerance):
    """What lies near a number: [x − t(1 + |x|), x + t(1 + |x|)]."""

    def near(x):
        by = tolerance * (1 + abs(x))
        return [x - by, x + by]

    return near


def within(by):
    """What is no further from a number than `by`."""
    return lambda x: [x - by, x + by]


exactly = around(1e-9)  # of counts: no fraction beside them is right


def stage(truth, mistakes, otherwise, near, at=0, *, asked=None, share=False):
    """One thing to find: what is right, and what each likely mistake gives.

    It is about the numbers from `at` on, as many as `truth` has. `mistakes`
    maps a hint to the value that this mistake gives, the first that fits is
    said, and `otherwise` if none does; None goes on to the next stage. `near`
    makes a range of a number, `asked` one of what is right where this is
    another. All of it becomes plain data. What is right to one decimal or two,
    where this is not enough, are the last mistakes; and `nearly` has numbers
    that are short, cut off or, of a `share`, per cent, each for itself.
    """

    def box(value, near=near):
        return [near(x) for x in float64(value).flatten().tolist()]

    known = [[hint, box(value)] for hint, value in mistakes.items()]
    right = box(truth, asked or near)
    truths = float64(truth).flatten().tolist()
    for digits, hint in _SHORT.items() if otherwise else ():
        for short in product(*(_rounded(x, digits) for x in truths)):
            others = [right, *(other for _, other in known)]
            if any(short) and not any(_inside(short, each) for each in others):
                known.append([hint, box(short, exactly)])
    return {
        "at": at,
        "right": right,
        "mistakes": known,
        "nearly": _nearly(truths, right, share) if otherwise else [],
        "otherwise": otherwise,
    }


def _nearly(truths, right, share):
    """[hint, ranges of each number]: right, were it not for how it is given."""
    ways = {hint: partial(_rounded, digits=n) for n, hint in _SHORT.items()}
    ways[_FAR] = _to_few_digits
    for n, hint in _CUT.items():
        ways[hint] = partial(_rounded, digits=n, ways=(ROUND_DOWN,))
    both = list(zip(truths, right, strict=True))
    found = {
        hint: [
            [exactly(y) for y in way(x) if y and not a <= y <= b]
            for x, (a, b) in both
        ]
        for hint, way in ways.items()
    }
    if share:
        found[_PER_CENT] = [
            [[100 * a, 100 * b]] if 0 < x < 1 else [] for x, (a, b) in both
        ]
    return [[hint, each] for hint, each in found.items() if any(each)]


def _to_few_digits(x):
    """A large number to one, two and three digits; a small count never is."""
    large = abs(x) >= (100 if x % 1 else 1000)
    return [float(f"{x:.{n}g}") for n in (1, 2, 3)] if large else []


def _rounded(x, digits, ways=(ROUND_HALF_DOWN, ROUND_HALF_UP)):
    """A number rounded to so many decimals; a half both ways."""
    exact, unit = Decimal(repr(round(x, 9))), Decimal(10) ** -digits
    return sorted({float(exact.quantize(unit, way)) for way in ways})


def stages(table, near):
    """A one-number `stage` for each row {(what, truth, advice): mistakes}.

    An `int` for a truth is a count, and has to be given exactly.
    """
    return [
        stage(
            truth,
            mistakes,
            f"The check does not recognize the mistake in the {what}. {advice}",
            near,
            at,
            asked=exactly if isinstance(truth, int) else None,
        )
        for at, ((what, truth, advice), mistakes) in enumerate(table.items())
    ]


def by_hand(
    solution,
    wanted,
    *rows,
    known=None,
    read=None,
    measure=None,
    vary=None,
    listed=True,
):
    """Register the decorated function as an exercise that is done by hand.

    It takes nothing and gives back what is verified, then the stages. The
    answer is `wanted`: one number for each label in `rows`, and `known` maps a
    telling wrong count to its hint. `read` takes an answer in another form.
    `measure` makes of the numbers those that the stages are about, and the
    words that stand in the texts in {braces}; by_hand.js has its twin.

    `vary` is for other numbers, one set for each seed: how the task says them,
    and what draws them, as those arguments of the decorated function that have
    the chapter's for defaults. `check.name.variant(seed)` is then an exercise
    like this one; its `given` says the numbers.

    One that is not `listed` has fields on its page and nothing else: `check`,
    and so the notebooks and the assignments, do not know it.
    """
    count = sum(map(len, rows))

    def numbers(answer):
        if read:
            return read(answer)
        return as_numbers(answer, count, wanted, known)

    def made_of(describe, given, solution):
        def page():
            verified, *stages = describe(**given)
            return {
                "name": describe.__name__,
                "fields": [list(row) for row in rows],
                "says": _says(wanted),
                "verified": verified,
                "stages": stages,
                "measure": measure.__name__ if measure else None,
            }

        @wraps(describe)
        def judge(answer):
            return _judged(numbers(answer).tolist(), page(), measure)

        made = Exercise(judge, solution, by_hand=True)
        made.numbers, made.page = numbers, page
        return made

    def register(describe):
        made = made_of(describe, {}, solution)
        made.variant = None

        def variant(seed):
            """This exercise with other numbers, the same for the same seed."""
            said, draw = vary
            drawn = random.Random(f"{made.name} {seed}")
            for _ in range(TRIES):
                given = draw(drawn)
                one = made_of(describe, given, solution)
                stages = one.page()["stages"]
                if all(map(_told_apart, stages)):
                    truth = sum(map(_truth, stages), [])
                    one.solution = partial(list, truth)
                    one.given = said.format(**given)
                    return one
            raise RuntimeError(f"no numbers in {TRIES} draws: {made.name}")

        if vary:
            made.variant = variant
        if listed:
            check.add(made)
        return made

    return register


def _truth(stage):
    """The middle of what is right."""
    return [(a + b) / 2 for a, b in stage["right"]]


def _told_apart(stage):
    """Whether each slip has numbers of its own: neither right nor another's."""
    before = [stage["right"]]
    for _, box in stage["mistakes"]:
        own = [(a + b) / 2 for a, b in box]
        if not all(map(isfinite, own)):
            return False
        if any(_inside(own, one) for one in before):
            return False
        before.append(box)
    return True


def _judged(numbers, page, measure):
    """What is verified; or the hint of the first mistake that shows."""
    numbers, words = measure(numbers) if measure else (numbers, {})

    def filled(text):
        for name, value in words.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    for stage in page["stages"]:
        own = numbers[stage["at"] :][: len(stage["right"])]
        if _inside(own, stage["right"]):
            continue
        hint = _hint(own, stage)
        if hint is not None:
            raise Hint(filled(hint) + _found(own, stage, page, hint))
    return filled(page["verified"])


def _hint(own, stage):
    """What is said of numbers that are not right."""
    for hint, box in stage["mistakes"]:
        if _inside(own, box):
            return hint
    for hint, each in stage["nearly"]:
        ranges = zip(own, stage["right"], each, strict=True)
        if all(
            any(a <= x <= b for a, b in (right, *near))
            for x, right, near in ranges
        ):
            return hint
    return stage["otherwise"]


def _found(own, stage, page, hint):
    """Which numbers are right already, where no mistake is known."""
    labels = sum(page["fields"], [])[stage["at"] :]
    pairs = zip(own, stage["right"], labels, strict=False)
    found = [label for x, box, label in pairs if _inside([x], [box])]
    if page["measure"] or hint != stage["otherwise"] or not found:
        return ""
    return f" Right already: {'; '.join(found)}."


def _inside(numbers, box):
    return all(a <= x <= b for x, (a, b) in zip(numbers, box, strict=True))


def _says(wanted):
    """What is said where there are no numbers to judge yet."""
    return {
        "empty": f"Give {wanted}.",
        "open": f"A part of your answer is still open. Give {wanted}.",
        "strange": f"NaN or infinity is among your numbers. Give {wanted}.",
    }


def need_begun(given, wanted):
    """Nothing if all of an answer's parts are there; else what is said."""
    missing = [number is None or number is ... for number in given]
    if all(missing):
        raise NotAttempted(_says(wanted)["empty"])
    if any(missing):
        raise Hint(_says(wanted)["open"])


_TYPED = re.compile(r"-?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?")


def _read(text):
    """The number or fraction that a text like "8/25" says; else the text."""
    parts = text.replace("\N{MINUS SIGN}", "-").replace(" ", "").split("/")
    if len(parts) > 2 or not all(map(_TYPED.fullmatch, parts)):
        return text
    above, below = (*map(float, parts), 1.0)[:2]
    return above / below if below else text


def as_numbers(answer, count, wanted, known=None):
    """An answer found by hand as float64 [count], or the hint that it is not.

    `known` maps a telling wrong count to its hint.
    """
    answer = plain(answer)
    given = list(answer) if isinstance(answer, (list, tuple)) else [answer]
    given = [plain(number) for number in given]
    need_begun(given, wanted)
    given = [_read(x) if isinstance(x, str) else x for x in given]
    if any(isinstance(number, str) for number in given):
        raise Hint(
            f"Give {wanted}: plain numbers, not text. Without quotation marks "
            "Python reads 1/3, 0.25 and 47_185_920."
        )
    if not all(map(is_number, given)):
        raise Hint(f"Give {wanted}: plain numbers, not text or nested lists.")
    if count == 1 and len(given) == 2:
        raise Hint("Two numbers: Python writes decimals with a point, 0.25.")
    if len(given) != count:
        if known and len(given) in known:
            raise Hint(known[len(given)])
        numbers = "number" if len(given) == 1 else "numbers"
        said = f"You gave {len(given)} {numbers}; give {wanted}."
        whole = [isinstance(x, int) for x in given]
        pairs = zip(whole, whole[1:], strict=False)
        if len(given) > count and any(map(all, pairs)):
            said += (
                " A comma ends a number in Python: write 47_185_920, and "
                "decimals with a point, 0.25."
            )
        raise Hint(said)
    found = float64([float(number) for number in given])
    if not found.isfinite().all():
        raise Hint(_says(wanted)["strange"])
    return found
