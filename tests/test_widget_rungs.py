"""The rungs widget: its comparisons, what it refuses."""

import copy

import pytest
import torch
from widgets_common import ask, near, refuses, shown

from lookback.widgets import Rungs

MEASURES = {
    "bleu": {"title": "BLEU", "digits": 1, "better": "higher"},
    "aer": {"title": "error", "digits": 3, "better": "lower"},
    "size": {"title": "parameters", "digits": 0, "better": "lower"},
}


def rung(label: str, before: int, **numbers) -> dict:
    return {
        "label": label,
        "change": f"It is {label}.",
        "before": before,
        "numbers": numbers,
        "intervals": {"bleu": [numbers["bleu"] - 1, numbers["bleu"] + 1.5]},
    }


RUNGS = [
    rung("low", -1, bleu=20.25, aer=None, size=1_234_567),
    rung("middle", 0, bleu=31.5, aer=0.125, size=2_000_000),
    rung("high", 1, bleu=31.25, aer=0.5, size=2_000_000),
    rung("aside", 0, bleu=19.0, aer=0.25, size=900),
]


def rungs(**more) -> Rungs:
    return Rungs(copy.deepcopy(RUNGS), MEASURES, **({"measure": "bleu"} | more))


@pytest.mark.parametrize("against", [-1, 0, 2])
def test_the_comparisons_in_the_browser_are_those_of_torch(against):
    given = {"rungs": RUNGS, "measures": MEASURES, "against": against}
    for name, found in zip(MEASURES, ask("rungs", "rungs", given), strict=True):
        for one, mine in zip(RUNGS, found, strict=True):
            at = one["before"] if against < 0 else against
            now = one["numbers"][name]
            then = RUNGS[at]["numbers"][name] if at >= 0 else None
            if now is None or then is None:
                assert mine is None
                continue
            now, then = torch.tensor([now, then], dtype=torch.float64)
            near(mine["difference"], now - then)
            near(mine["ratio"], now / then)


def broken(at: int, **parts) -> list[dict]:
    """The rungs, with other parts at one of them; None takes a part away."""
    all_rungs = copy.deepcopy(RUNGS)
    new = {k: v for k, v in (all_rungs[at] | parts).items() if v is not None}
    return [*all_rungs[:at], new, *all_rungs[at + 1 :]]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"measure": "speed"}, "no 'speed'; there is bleu, aer, size"),
        ({"measures": {"bleu": {"title": "BLEU"}}}, "bleu: give title, digits"),
        ({"measures": {}}, "no 'bleu'; there is"),
        ({"rungs": RUNGS[:1]}, "two rungs at least"),
        *(
            (
                {"measures": {"bleu": {**MEASURES["bleu"], "digits": n}}},
                "bleu: ",
            )
            for n in (-1, 7, 0.5, 1e308, 10**30, True, [1.0])
        ),
        ({"rungs": broken(1, before=[1.0])}, "middle: before is"),
        ({"rungs": broken(1, numbers={"bleu": 1e308})}, "middle: give numbers"),
        ({"rungs": broken(1, numbers={"bleu": [1.0]})}, "middle: give numbers"),
        ({"rungs": broken(1, change=None)}, "rung 1: give"),
        ({"rungs": broken(1, before=1)}, "middle: before is −1 to 0"),
        ({"rungs": broken(2, before=-2)}, "high: before is −1 to 1"),
        ({"rungs": broken(1, numbers={"bleu": float("nan")})}, "middle: give"),
        ({"rungs": broken(1, numbers={"bleu": -1.0})}, "middle: give numbers"),
        ({"rungs": broken(1, intervals={"bleu": [3, 2]})}, "middle: .* order"),
        ({"step": 4}, "step 4: give 0 to 3"),
        ({"step": -1}, "step -1: give 0 to 3"),
        ({"against": 4}, "no rung 4"),
        ({"against": -2}, "no rung -2"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, says):
    refuses(rungs(), wrong, says)


@pytest.mark.parametrize(
    ("measure", "says"),
    [
        ("bleu", "BLEU: low 20.2, middle 31.5, high 31.2, aside 19.0."),
        ("aer", "error: middle 0.125, high 0.500, aside 0.250."),
        ("size", "parameters: low 1,234,567, middle 2,000,000"),
    ],
)
def test_it_has_a_picture_and_words(measure, says):
    assert shown(rungs(measure=measure)).startswith(says)


def test_a_measure_that_no_rung_has_is_no_trouble():
    one = Rungs(RUNGS, MEASURES | {"new": MEASURES["bleu"]}, "new")
    assert one.found() == {}
    assert "svg" in one._repr_mimebundle_()[0]["image/svg+xml"]
