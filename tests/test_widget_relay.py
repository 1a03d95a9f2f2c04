"""The relay: its states and gradients against torch, its traits."""

import pytest
import torch
from widgets_common import ask, near, refuses, shown

from lookback.recurrence import carry
from lookback.widgets import Relay
from lookback.widgets.relay import STEPS

SETTINGS = [(2.0, 1.0), (0.9, 1.0), (1.0, -2.0), (0.0, 1.0), (3.0, 0.0)]


def truth(w: float, pulse: float) -> torch.Tensor:
    """The states, one number each, by torch."""
    states = [torch.zeros((), dtype=torch.float64)]
    for x in [pulse] + [0.0] * (STEPS - 1):
        states.append(torch.tanh(w * states[-1] + x))
    return torch.stack(states)


@pytest.mark.parametrize("step", [0, 1, 2, 7, STEPS])
@pytest.mark.parametrize(("w", "pulse"), SETTINGS)
def test_the_script_computes_what_torch_does(w, pulse, step):
    found = ask("relay", "relay", {"w": w, "pulse": pulse, "step": step})
    states = truth(w, pulse)
    near(found["states"], states)
    kept = states[1 : step + 1, None]
    U = torch.tensor([[w]], dtype=torch.float64)
    gradient = carry(U, kept).flatten() if step else states[:0]
    near(found["back"], gradient)
    one = Relay(w=w, pulse=pulse)
    near(one.states(), states)
    near(one.gradient(step), gradient)


def test_the_gradient_is_autograds():
    start = truth(2.0, 0.3)[1].requires_grad_()
    h = start
    for _ in range(STEPS - 1):
        h = torch.tanh(2.0 * h)
    (gradient,) = torch.autograd.grad(h, start)
    near(Relay(w=2.0, pulse=0.3).gradient(STEPS)[0], gradient)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("w", -0.1, "w is -0.1: give 0 to 3"),
        ("w", 3.1, "w is 3.1"),
        ("w", float("nan"), "w is nan"),
        ("step", True, "give a number"),
        ("pulse", 2.5, "pulse is 2.5: give ±2"),
        ("step", -1, "step is -1"),
        ("step", STEPS + 1, f"give 0 to {STEPS}"),
    ],
)
def test_what_does_not_fit_is_refused(name, value, says):
    refuses(Relay(), {name: value}, says)


def test_it_has_a_picture_and_words():
    assert "w = 2:" in shown(Relay())
    one = Relay(w=0.0, pulse=0.0)
    assert "0.0e+00" in shown(one)
