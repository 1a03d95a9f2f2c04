"""The peephole: its guesses against torch's, its traits."""

import pytest
import torch
from widgets_common import ask, near, refuses, shown

from lookback.glimpses import Eye, EyeConfig, windows
from lookback.lab import glyphs
from lookback.widgets import Peephole
from lookback.widgets.peephole import ALPHABET, LOOKS, PLACES


@pytest.fixture(scope="module")
def parts():
    """Eyes that nobody has trained: the sums are the same."""
    torch.manual_seed(0)
    eyes = [Eye(EyeConfig()) for _ in range(2)]
    pictures, which = glyphs.pictures(1, 0)
    letters = "".join(ALPHABET[i] for i in which[:9])
    return (*eyes, [6, 12, 18], pictures[:9], letters)


def told(one: Peephole) -> dict:
    names = ("eye", "fixed", "order", "pictures", "letters", "which", "looks")
    return {name: getattr(one, name) for name in names}


@pytest.mark.parametrize("which", [0, 8])
@pytest.mark.parametrize("looks", [[0], [24, 3], [7, 12, 17]])
def test_the_script_guesses_what_the_module_does(parts, which, looks):
    one = Peephole(*parts, which=which, looks=looks)
    found = ask("peephole", "peephole", told(one))
    near(found["mine"], one.guess())
    near(found["other"], one.guess(fixed=True))
    found = found["round"]
    assert found["letter"] == parts[4][which]
    assert found["right"]["you"] == (which == 0)
    for kind, fixed in (("net", False), ("other", True)):
        chances = one.guess(fixed=fixed)
        best = chances.argsort(descending=True)[:3].tolist()
        assert [x["letter"] for x in found[kind]] == [ALPHABET[i] for i in best]
        near([x["p"] for x in found[kind]], chances[best])


def test_the_guess_is_that_of_the_eye_but_for_the_rounding(parts):
    eye, _, _, pictures, _ = parts
    one = Peephole(*parts, which=4, looks=[7, 12])
    torch.testing.assert_close(
        one.picture(), pictures[4].double(), rtol=0, atol=1 / 30
    )

    seen = windows(pictures[4:5], 5)[0]
    places = torch.tensor([7, 12])
    with torch.no_grad():
        truth = eye(eye.glimpse(seen[places], places).sum(0)).softmax(-1)
    assert (one.guess() - truth).abs().max() < 0.02


def test_what_fits_no_letter_no_place_and_no_weight_is_refused(parts):
    one = Peephole(*parts)
    done = {"which": 0, "looks": [1], "guess": "a"}
    refuses(one, {"which": 9}, "give 0 to 8")
    refuses(one, {"looks": [0, 0]}, "different places")
    refuses(one, {"looks": [0, 1, 2, 3]}, f"{LOOKS} different places")
    refuses(one, {"looks": [PLACES]}, "0 to 24")
    refuses(one, {"order": [1, 2]}, f"give {LOOKS} places")
    refuses(one, {"letters": "abcdefghé"}, "are none")
    refuses(one, {"letters": "abc"}, "pictures: give 3 of 20")
    refuses(one, {"letters": ""}, "give 1 to 52")
    refuses(one, {"done": [done] * 10}, "give 9 at most")
    refuses(one, {"done": [{}]}, "must hold which, looks and guess")
    refuses(one, {"done": [done | {"guess": "ab"}]}, "'ab' is no letter")
    refuses(one, {"done": [done | {"guess": ""}]}, "'' is no letter")
    refuses(one, {"done": [done | {"which": 9}]}, "done: which is 9")
    refuses(one, {"done": [done | {"looks": [-1]}]}, "done: give 3")
    refuses(one, {"eye": {}}, "where is not")
    other = Eye(EyeConfig(hidden=5))
    with pytest.raises(Exception, match="is not"):
        Peephole(other, *parts[1:])
    bright = dict(one.pictures, data=bytes([16]) + one.pictures["data"][1:])
    refuses(one, {"pictures": bright}, "above 15")


def test_it_has_a_picture_and_words(parts):
    one = Peephole(*parts, looks=[3])
    assert "Letter 1 of 9 is hidden behind 25 windows; 1 of 3" in shown(one)
