"""By hand: the fields on the page say what the check in Python says.

Every answer by hand in `test_exercises*` is typed into the fields as well, by a
fixture of `conftest`; here are the mutants of the solutions, every edge of what
is right or a known slip, and what is no number yet.
"""

import math
import random
from math import nextafter

import pytest
from answers_by_hand import BY_HAND, answer_of, middle, right, slips
from test_mutants import mutants
from widgets_common import on_the_page, refuses, shown

from lookback.exercises import check
from lookback.exercises.by_hand import MOST
from lookback.widgets import ByHand

each = pytest.mark.parametrize("made", BY_HAND, ids=lambda made: made.name)


def agreed(made, numbers):
    """The verdict on numbers, which has to be the page's as well."""
    said = made.verdict(answer_of(made, numbers))
    assert on_the_page(made.page(), [*map(repr, numbers)]) == said, numbers
    return said


@each
def test_a_right_answer_is_right(made):
    outcome, words = agreed(made, right(made))
    assert outcome is True and len(words) > 15


@each
def test_a_slip_is_named_for_what_it_is_and_for_no_other(made):
    for hint, numbers in slips(made):
        assert agreed(made, numbers) == (False, hint)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
@each
def test_a_mutant_of_the_solution_is_judged_alike(made):
    """And is right only where its numbers are, to a tenth, the right ones."""
    truth, judged = right(made), 0
    for what, mutant in mutants(made.solution):
        try:
            numbers = made.numbers(mutant()).tolist()
        except Exception:  # it has no numbers
            continue
        judged += 1
        outcome, _ = agreed(made, numbers)
        pairs = zip(numbers, truth, strict=True)
        if made.name != "neither_says":
            alike = all(
                math.isclose(a, b, rel_tol=0.1, abs_tol=0.06) for a, b in pairs
            )
            assert alike or not outcome, what
    assert judged


@pytest.mark.nightly
@each
def test_at_every_edge_the_two_agree(made):
    rng = random.Random(made.name)
    truth = right(made)
    for stage in made.page()["stages"]:
        boxes = [stage["right"], *(box for _, box in stage["mistakes"])]
        for box in boxes:
            for side, beyond in ((0, -math.inf), (1, math.inf)):
                numbers = list(truth)
                numbers[stage["at"] : stage["at"] + len(box)] = middle(box)
                k = rng.randrange(len(box))
                edge = box[k][side]
                outside = edge if abs(edge) == MOST else nextafter(edge, beyond)
                for numbers[stage["at"] + k] in (edge, outside):
                    agreed(made, numbers)


@each
def test_any_numbers_are_judged_alike(made):
    rng = random.Random(1)
    pool = [0.0, -1.0, 1.0, 1e300, -1e300, 5e-324, *right(made)]
    for _, numbers in slips(made):
        pool += numbers
    for _ in range(8):
        numbers = [
            rng.choice(pool) * rng.choice([1, 1, 1, -1, 0.99])
            for _ in right(made)
        ]
        agreed(made, numbers)


@each
def test_an_answer_that_is_not_there_is_asked_for_alike(made):
    labels = sum(made.page()["fields"], [])
    empty = [""] * len(labels)
    nothing = answer_of(made, [...] * len(labels))
    assert on_the_page(made.page(), empty) == made.verdict(nothing)
    assert made.verdict(nothing)[0] is None
    if len(labels) > 1:
        typed = answer_of(made, [1.0, *[...] * (len(labels) - 1)])
        said = on_the_page(made.page(), ["1", *empty[1:]])
        assert said == made.verdict(typed)
        assert "still open" in said[1]
    endless = answer_of(made, [math.inf] * len(labels))
    said = on_the_page(made.page(), ["1/0"] * len(labels))
    assert said == made.verdict(endless)
    assert said[1].startswith("NaN or infinity")


@pytest.mark.nightly
@each
def test_what_cannot_be_read_is_named_by_its_field(made):
    labels = sum(made.page()["fields"], [])
    for strange in ("x", "\0", "😀", "\u202e1", "<b>1</b>", "1" * 10_000):
        for at, label in enumerate(labels):
            typed = ["1"] * len(labels)
            typed[at] = strange
            outcome, words = on_the_page(made.page(), typed)
            assert outcome is None
            assert (
                words.startswith(f"{label}: this is ")
                and words.count(". ") == 0
            )
            assert strange not in words or strange == "x"


@pytest.mark.parametrize(
    ("name", "typed", "right"),
    [
        ("context_by_hand", ["2,73", "−0,24"], True),
        (
            "context_by_hand",
            ["(4e^2 + e - 2)/(e^2 + e + 1)".replace("4e", "4*e"), "-.236"],
            True,
        ),
        ("context_by_hand", ["2.74", "-0.26"], False),
        ("post_norm_by_hand", ["-1", "-1/3", "−1/3", "5/3"], True),
        ("swaps_by_hand", ["6", "4", "1/2"], True),
        ("swaps_by_hand", ["6", "4", "50 %"], True),
        ("swaps_by_hand", ["6", "4", "50"], False),
        ("powers_by_hand", ["10^-9", "1,4e4"], True),
        ("powers_by_hand", ["0.5**30", "13 800"], True),
        ("powers_by_hand", ["10^-9", "14,000"], True),
        ("powers_by_hand", ["10^-9", "11,000"], None),
        ("context_by_hand", ["2,731", "−0,236"], True),
        ("powers_by_hand", ["1/2^30", "2.6^10"], True),
        ("products_by_hand", ["47,185,920", "32 378 880", "1024"], True),
        (
            "products_by_hand",
            ["6*30*512^2", "4·30·512^2 + 2·30^2·512", "2×512"],
            True,
        ),
        ("products_by_hand", ["47.185.920", "32.378.880", "1.024"], True),
        ("numbers_held", ["1.024.000", "33.280", "33"], True),
        ("powers_by_hand", ["0,000000001", "13.800"], True),
        ("powers_by_hand", ["10⁻⁹", "13.800"], True),
        ("count_paths", ["20,000"], None),
        ("cache_by_hand", ["98.304", "197"], False),
        ("cache_by_hand", ["98.304", "196,6"], True),
        ("gru_by_hand", ["-0·44"], None),
        ("kernel_by_hand", ["0.32", "0.64", "0.04", "2·96"], None),
        ("seeds_by_hand", ["3", "1,826", "1,667", "4"], False),
        ("first_speed_by_hand", ["ln 1/13", "20"], None),
        ("first_speed_by_hand", ["ln(1/13)", "20"], True),
        ("distances_by_hand", ["0·1", "0.216"], None),
        ("lattice_by_hand", ["36.5 %", "89 %"], True),
        ("gru_by_hand", ["−0,44"], True),
        (
            "smoothing_by_hand",
            ["-(0.9333 * ln 0.7 + 0.0333*ln 0.2 + 0.0333*ln 0.1)", "0,61"],
            True,
        ),
        ("codes_by_hand", ["2", "cos 3 + 1", "1/2"], True),
        ("similarity_by_hand", ["24", "40", "24/25", "40/(√(9+16)*10)"], True),
        ("count_paths", ["20"], True),
        ("neither_says", ["4", "0", "3", "0", "4", "3"], True),
    ],
)
def test_numbers_may_be_typed_as_people_type_them(name, typed, right):
    assert on_the_page(getattr(check, name).page(), typed)[0] is right


@each
def test_the_fields_have_a_picture_and_words(made):
    said = shown(ByHand(made))
    assert all(label in said for row in made.page()["fields"] for label in row)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"fields": []}, "has no fields"),
        ({"fields": [["a", "a"]]}, "called alike"),
        ({"fields": [["a"]]}, "more than the 1 fields"),
    ],
)
def test_fields_refuse_what_does_not_fit(change, says):
    widget = ByHand(check.context_by_hand)
    refuses(widget, {"exercise": widget.exercise | change}, says)
    del change["fields"]
    part = {k: v for k, v in widget.exercise.items() if k != "says"}
    refuses(widget, {"exercise": part}, "lacks says")
