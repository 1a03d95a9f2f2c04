"""The trained machine in the page: every step against torch, its traits."""

import pytest
import torch
from widgets_common import ask, near, refuses, shown

from lookback.experiments.ntm import follow, strings
from lookback.ntm import NTM, NTMConfig
from lookback.widgets import Copier, pack
from lookback.widgets.copier import LETTERS, MOST, inputs
from lookback.widgets.lib.half import unpack


@pytest.fixture(scope="module")
def machine():
    """Weights that nobody has trained: the sums are the same."""
    torch.manual_seed(0)
    model = NTM(NTMConfig())
    with torch.no_grad():
        for part in model.parameters():
            part.mul_(3)
    return pack(model.state_dict())


@pytest.mark.parametrize(
    ("text", "slots"), [("a", 12), ("Hi 9.", 12), ("looking back at it", 37)]
)
def test_the_script_computes_what_the_module_does(machine, text, slots):
    model = NTM(NTMConfig()).double()
    model.load_state_dict(
        {name: torch.tensor(unpack(one)) for name, one in machine.items()}
    )
    given = inputs(text).double()
    with torch.no_grad():
        logits, addressing, weights = follow(model, given, slots)
    found = ask(
        "copier", "copier", {"machine": machine, "text": text, "slots": slots}
    )
    steps = found["steps"]
    near([one["logits"] for one in steps], logits[0])
    near([one["tape"]["weights"] for one in steps], weights[0, :, 0])
    for t, one in enumerate(steps):
        for name in ("key", "strength", "gate", "moves", "gamma"):
            mine, truth = (
                one["addressing"][name],
                getattr(addressing[t], name)[0, 0],
            )
            near(mine if isinstance(mine, list) else [mine], truth)
    bits = given[0, 1 : len(text) + 1, :6]
    said = (logits[0, -len(text) :] > 0).double()
    assert found["wrong"] == (bits != said).sum(-1).tolist()
    one = Copier(machine, text, slots)
    assert found["written"] == one.copy()


def test_a_text_is_given_as_the_machine_was_trained():
    text = "aZ "
    theirs, _ = strings(1, 3)
    mine = inputs(text)
    assert mine.shape == theirs.shape
    assert torch.equal(mine[..., 6:], theirs[..., 6:])
    assert mine[0, 1, :6].tolist() == [0, 1, 0, 0, 0, 0]
    assert mine[0, 2, :6].sum() == 0  # Z
    assert len(set(LETTERS)) == len(LETTERS) == 64


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("text", "", f"give 1 to {MOST} letters"),
        ("text", (MOST + 1) * "a", f"give 1 to {MOST} letters"),
        ("text", "é", "none of its letters"),
        ("slots", 11, "give 12 to 128"),
        ("slots", 129, "give 12 to 128"),
        ("slots", True, "give a number"),
        ("step", -1, "step is -1"),
        ("step", 2 * MOST + 3, f"step is {2 * MOST + 3}"),
        ("machine", {}, "machine lacks controller.weight"),
    ],
)
def test_what_does_not_fit_is_refused(machine, name, value, says):
    refuses(Copier(machine), {name: value}, says)


def test_weights_of_another_shape_are_refused(machine):
    other = NTM(NTMConfig(hidden=5)).state_dict()
    refuses(Copier(machine), {"machine": pack(other)}, "is not .* float16")


def test_it_has_a_picture_and_words(machine):
    assert "copies “hello” on a tape of 32 slots" in shown(Copier(machine))
