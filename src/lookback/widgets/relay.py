"""One number passed on: h ← tanh(w h + x), and the gradient that comes back.

    ∂h_t/∂h_k = Π w (1 − h_i²), over the steps i = k + 1 … t

It runs in relay.js.
"""

import numpy as np
from matplotlib.figure import Figure
from traitlets import Float, Int, validate

from lookback.widgets import base
from lookback.widgets.lib.checks import need

LIMITS = base.limits("relay")
STEPS = LIMITS["steps"]


class Relay(base.Widget):
    """A pulse goes in at step 1; `w` carries it to `step`.

    Raises:
        TraitError: for a w below 0 or above 3, a pulse beyond ±2, or a step
            that does not exist.
    """

    _esm = base.module("relay")
    _css = base.style("relay", "chart")
    w = Float(2.0).tag(sync=True)
    pulse = Float(1.0).tag(sync=True)
    step = Int(0).tag(sync=True)

    @validate("w", "pulse", "step")
    def _fits(self, proposal):
        new = self.proposed(proposal, ("w", "pulse", "step"))
        most = LIMITS["w"]
        need(0 <= new.w <= most, f"w is {new.w}: give 0 to {most}")
        most = LIMITS["pulse"]
        need(-most <= new.pulse <= most, f"pulse is {new.pulse}: give ±{most}")
        need(0 <= new.step <= STEPS, f"step is {new.step}: give 0 to {STEPS}")
        return proposal["value"]

    def states(self) -> np.ndarray:
        """h_0 … h_20."""
        states = [0.0]
        for t in range(STEPS):
            states.append(np.tanh(self.w * states[-1] + self.pulse * (t == 0)))
        return np.array(states)

    def gradient(self, step: int) -> np.ndarray:
        """∂h_step/∂h_k for k = 1 … step."""
        factors = self.w * (1 - self.states()[2 : step + 1] ** 2)
        whole = np.concatenate([factors, np.ones(min(step, 1))])
        return np.cumprod(whole[::-1])[::-1].copy()

    def words(self) -> str:
        last, back = self.states()[-1], self.gradient(STEPS)[0]
        return (
            f"h ← tanh(w h + x) with w = {self.w:g}: after a pulse of "
            f"{self.pulse:g} at step 1 the state at step {STEPS} is "
            f"{last:.3f}, and its gradient back to step 1 is {back:.1e}."
        )

    def draw(self, figure: Figure) -> None:
        (above, below), steps = figure.subplots(2, 1), range(1, STEPS + 1)
        above.bar(steps, self.states()[1:])
        above.set(title=f"states, w = {self.w:g}", ylim=(-1, 1))
        below.semilogy(steps, np.maximum(self.gradient(STEPS), 1e-30), "o-")
        below.set(title=f"gradient from step {STEPS} back to each step")
