"""The writer in the page: every point against torch, its traits."""

import string

import pytest
import torch
from widgets_common import ask, near, refuses, shown

from lookback.handwriting import Writer, WriterConfig
from lookback.lab import synthetic_handwriting
from lookback.widgets import Handwriting
from lookback.widgets.handwriting import LIMITS, MOST, POINTS
from lookback.widgets.lib.rows import pack


@pytest.fixture(scope="module")
def machine():
    """Weights that nobody has trained: the sums are the same."""
    torch.manual_seed(0)
    model = Writer(WriterConfig())
    with torch.no_grad():
        for part in model.parameters():
            part.mul_(2)
        model.window.weight.mul_(0.3)  # or it would race through the text
        model.window.bias[-3:] = -1.0
    return pack(model.state_dict(), most=127)


@pytest.mark.parametrize(
    ("text", "seed", "bias"),
    [
        ("a", 0, 0.0),
        ("soft window", 7, 1.0),
        ("abcdefghijklm nopqrstuvwxyz", 123, 0.5),
    ],
)
def test_the_script_writes_what_the_module_does(machine, text, seed, bias):
    truth, phi = Handwriting(machine, text, seed=seed, bias=bias).line()
    given = {"machine": machine, "text": text, "seed": seed, "bias": bias}
    found = ask("handwriting", "handwriting", given)
    assert found["done"] and len(found["made"]) == len(truth) > 2 * len(text)
    near([one["point"] for one in found["made"]], truth)
    near([one["phi"] for one in found["made"]], phi)


def test_the_alphabet_is_that_of_the_pen():
    assert (
        LIMITS["letters"]
        == synthetic_handwriting.LETTERS
        == string.ascii_lowercase + " "
    )


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("text", "", f"give 1 to {MOST} letters"),
        ("text", (MOST + 1) * "a", f"give 1 to {MOST} letters"),
        ("text", "A", "none of its letters"),
        ("text", " a", "single spaces"),
        ("text", "a  b", "single spaces"),
        ("bias", -0.1, "bias is -0.1"),
        ("bias", 3.1, "bias is 3.1"),
        ("speed", True, "give a number"),
        ("seed", -1, "seed is -1"),
        ("seed", 10_000, "seed is 10000"),
        ("speed", 2, "speed is 2"),
        ("step", -2, "step is -2"),
        ("step", POINTS + 1, f"step is {POINTS + 1}"),
        ("machine", {}, "machine lacks first.weight_ih"),
    ],
)
def test_what_does_not_fit_is_refused(machine, name, value, says):
    refuses(Handwriting(machine), {name: value}, says)


def test_weights_of_another_shape_are_refused(machine):
    other = Writer(WriterConfig(hidden=5)).state_dict()
    refuses(Handwriting(machine), {"machine": pack(other)}, "does not hold")


def test_it_has_a_picture_and_words(machine):
    assert "writes “look” by hand" in shown(Handwriting(machine, "look"))
