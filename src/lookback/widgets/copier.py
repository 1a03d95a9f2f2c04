"""The trained model of `lookback.ntm`, copying the reader's own text.

Each letter is six bits. The model runs in ntm.js, on a memory of any length.
"""

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor
from traitlets import Dict, Int, Unicode, validate

from lookback.ntm import NTM, NTMConfig
from lookback.widgets import base
from lookback.widgets.lib.checks import need
from lookback.widgets.lib.half import unpack, whole

LIMITS = base.limits("copier")
LETTERS, MOST = LIMITS["letters"], LIMITS["most"]
TRAITS = ("machine", "text", "slots", "step")
SHAPES = {
    name: list(part.shape)
    for name, part in NTM(NTMConfig()).state_dict().items()
}


def inputs(text: str) -> Tensor:
    """A start mark, the letters' bits, an end mark, and then nothing."""
    n = len(text)
    given = torch.zeros(1, 2 * n + 2, 8)
    given[0, 0, 6] = given[0, n + 1, 7] = 1
    for i, letter in enumerate(text, 1):
        code = LETTERS.index(letter)
        given[0, i, :6] = torch.tensor([code >> k & 1 for k in range(6)])
    return given


class Copier(base.Widget):
    """Type a text, choose the size of the memory, follow the head.

    `machine` holds the weights of an `NTM`, packed; `step` counts the steps.

    Raises:
        TraitError: for weights, letters, a memory or a step that do not fit.
    """

    _esm = base.module("copier")
    _css = base.style("copier", "chart")
    machine = Dict().tag(sync=True)
    text = Unicode().tag(sync=True)
    slots = Int(32).tag(sync=True)
    step = Int(0).tag(sync=True)

    def __init__(self, machine, text="hello", slots=32, step=0):
        super().__init__(machine=machine, text=text, slots=slots, step=step)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        for name, shape in SHAPES.items():
            need(name in new.machine, f"machine lacks {name}")
            one = new.machine[name]
            fit = one["shape"] == shape and whole(one)
            need(fit, f"machine: {name} is not {shape} float16")
        strange = sorted(set(new.text) - set(LETTERS))
        need(not strange, f"text: {strange} are none of its letters")
        need(0 < len(new.text) <= MOST, f"text: give 1 to {MOST} letters")
        low, high = LIMITS["slots"]
        need(low <= new.slots <= high, f"slots: give {low} to {high}")
        last = 2 * MOST + 2
        need(0 <= new.step <= last, f"step is {new.step}: give 0 to {last}")
        return proposal["value"]

    @torch.no_grad()
    def copy(self) -> str:
        """What the model writes."""
        model = NTM(NTMConfig()).double()
        model.load_state_dict(
            {k: torch.tensor(unpack(one)) for k, one in self.machine.items()}
        )
        logits = model(inputs(self.text).double(), self.slots)[0]
        bits = (logits[-len(self.text) :] > 0).numpy()
        codes = bits @ (1 << np.arange(6))
        return "".join(LETTERS[code] for code in codes)

    def words(self) -> str:
        return (
            f"A trained model copies “{self.text}” on a memory of {self.slots}"
            f" slots, and writes “{self.copy()}”."
        )

    def draw(self, figure: Figure) -> None:
        n = len(self.text)
        given = inputs(self.text)[0, 1 : n + 1, :6]
        read = inputs(self.copy())[0, 1 : n + 1, :6]
        charts = figure.subplots(2, 1, sharex=True)
        for axes, bits, title in zip(
            charts, (given, read), ("given", "written"), strict=True
        ):
            axes.imshow(
                bits.T.numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto"
            )
            axes.set(title=title, yticks=[])
