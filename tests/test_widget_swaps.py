"""The swaps widget: its gaps, its p, what it refuses."""

import numpy as np
import pytest
import torch
from traitlets import TraitError
from widgets_common import ask, refuses, shown

from lookback.lab.significance import p_value
from lookback.widgets import Swaps

LABELS = ["one", "two", "three"]


def text(seed: int, captions: int = 60) -> str:
    """Counts of made-up captions: too long, just as long, too short by one."""
    toss = torch.Generator().manual_seed(seed)
    rows = []
    for words in torch.randint(4, 16, (captions,), generator=toss).tolist():
        runs, most = [], words
        for n in range(4):
            most = min(most, words - n)
            few = torch.randint(most // 2, most + 1, (1,), generator=toss)
            runs.append(most := int(few))
        rows.append(" ".join(map(str, [*runs, words, words + seed % 3 - 1])))
    return ", ".join(rows)


def swaps(**more) -> Swaps:
    return Swaps(LABELS, [text(seed) for seed in range(3)], **more)


@pytest.mark.parametrize("pair", [(0, 1), (2, 0), (1, 1)])
@pytest.mark.parametrize("size", [1, 25, 60, 1000])
def test_the_gaps_in_the_browser_are_those_of_torch(pair, size):
    first, second = pair
    one = swaps(first=first, second=second, size=size, seed=7)
    chosen = [one.counts[first], one.counts[second]]
    given = {"counts": chosen, "size": size, "trials": 150, "seed": 7}
    found = ask("swaps", "swaps", given)
    (a, b), gaps = one.gaps(150)
    assert np.allclose([found["first"], found["second"]], [a, b], atol=1e-9)
    assert np.isclose(found["gap"], b - a, atol=1e-9)
    assert np.allclose(found["gaps"], gaps, rtol=0, atol=1e-9)
    assert found["p"] == p_value(b - a, gaps)
    reached = gaps.abs() >= (b - a).abs() - 1e-9
    assert found["reached"] == reached.sum()
    ends = np.linspace(-found["reach"], found["reach"], 62)
    for name, right in (("all", gaps), ("reached", gaps[reached])):
        mine = [one[name] for one in found["bins"]]
        assert mine == np.histogram(right, ends)[0].tolist()


def test_the_last_trial_swaps_the_captions_that_chance_chose():
    given = {"counts": [text(0), text(1)], "size": 60, "seed": 3}
    found = ask("swaps", "swaps", given | {"trials": 5})
    one = swaps(seed=3)
    assert np.isclose(
        found["last"]["second"] - found["last"]["first"], one.gaps(5)[1][-1]
    )
    assert 15 < found["last"]["swapped"] < 45


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"labels": ["one", "two"]}, "counts for two labels"),
        ({"counts": [text(0), text(1), ""]}, "three: give six"),
        ({"counts": [text(0), text(1), "1 2 3 4 5"]}, "three: give six"),
        ({"counts": [text(0), text(1), "1 1 1 1 1 1,"]}, "three: give six"),
        ({"counts": [text(0), text(1, 50), text(2)]}, "two has not as many"),
        ({"first": 3}, "first is 3: give 0 to 2"),
        ({"second": -1}, "second is -1: give 0 to 2"),
        ({"size": 0}, "1 caption at least"),
        ({"trials": 10_001}, "give 0 to 10,000"),
        ({"trials": -1}, "give 0 to 10,000"),
        ({"seed": -1}, "give one from 0 up"),
        ({"seed": 2**31}, "give one from 0 up"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, says):
    refuses(swaps(), wrong, says)


def test_one_translator_is_too_few():
    with pytest.raises(TraitError, match="two labels"):
        Swaps(["one"], [text(0)])


@pytest.mark.parametrize("more", [{}, {"trials": 300}, {"second": 0}])
def test_it_has_a_picture_and_words(more):
    one = swaps(**more)
    words = shown(one)
    assert words.startswith("BLEU: one ")
    assert f"{one.trials} trials" in words
