"""The trained writer of `lookback.handwriting`, writing what the reader types.

Graves 2013, arXiv 1308.0850, section 5. It runs in soft_window.js, on
random numbers that are the same in every browser and here.
"""

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor
from traitlets import Dict, Int, Unicode, validate
from traitlets import Float as Number

from lookback.handwriting import Writer, WriterConfig, write
from lookback.lab import synthetic_handwriting
from lookback.widgets import base
from lookback.widgets.lib.checks import need
from lookback.widgets.lib.mulberry import uniform
from lookback.widgets.lib.rows import unpack, whole

LIMITS = base.limits("handwriting")
MOST, POINTS = LIMITS["most"], LIMITS["points"]
TRAITS = ("machine", "text", "bias", "seed", "speed", "step")
SHAPES = {
    name: list(part.shape)
    for name, part in Writer(WriterConfig()).state_dict().items()
}


class Handwriting(base.Widget):
    """Type a line, and watch it being written.

    `machine` holds the weights of a `Writer`, packed; `bias` is the sampling
    bias, `seed` that of the samples, `speed` how many points are written at
    once; `step` counts points, and −1 is the last.

    Raises:
        TraitError: for weights, letters or numbers that do not fit.
    """

    _esm = base.module("handwriting")
    _css = base.style("handwriting", "chart")
    machine = Dict().tag(sync=True)
    text = Unicode().tag(sync=True)
    bias = Number(1.0).tag(sync=True)
    seed = Int(0).tag(sync=True)
    speed = Int(4).tag(sync=True)
    step = Int(-1).tag(sync=True)

    def __init__(self, machine, text="looking back", **how):
        super().__init__(machine=machine, text=text, **how)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        for name, shape in SHAPES.items():
            need(name in new.machine, f"machine lacks {name}")
            one = new.machine[name]
            fit = one["shape"] == shape and whole(one)
            need(fit, f"machine: {name} does not hold {shape}")
        strange = sorted(set(new.text) - set(synthetic_handwriting.LETTERS))
        need(not strange, f"text: {strange} are none of its letters")
        need(0 < len(new.text) <= MOST, f"text: give 1 to {MOST} letters")
        tidy = new.text == " ".join(new.text.split())
        need(tidy, "text: single spaces, and none at its ends")
        most = LIMITS["bias"]
        need(0 <= new.bias <= most, f"bias is {new.bias}: give 0 to {most}")
        most = LIMITS["seed"]
        need(0 <= new.seed <= most, f"seed is {new.seed}: give 0 to {most}")
        speeds = LIMITS["speeds"]
        need(new.speed in speeds, f"speed is {new.speed}: one of {speeds}")
        fit = -1 <= new.step <= POINTS
        need(fit, f"step is {new.step}: give -1 to {POINTS}")
        return proposal["value"]

    def line(
        self,
    ) -> tuple[Float[Tensor, "points 3"], Float[Tensor, "points _"]]:
        """The points of the whole line, and φ at each."""
        model = Writer(WriterConfig()).double()
        model.load_state_dict(
            {k: torch.tensor(unpack(one)) for k, one in self.machine.items()}
        )
        numbers = torch.tensor(uniform(self.seed, 4 * POINTS)).view(-1, 4)
        return write(
            model,
            synthetic_handwriting.signs(self.text).double(),
            numbers,
            self.bias,
        )

    def words(self) -> str:
        return (
            f"A model writes “{self.text}” by hand, point after point, while"
            " its window slides along the text."
        )

    def draw(self, figure: Figure) -> None:
        axes = figure.subplots()
        for stroke in synthetic_handwriting.ink(self.line()[0].numpy()):
            axes.plot(*stroke.T, color="black", linewidth=1)
        axes.set_aspect("equal")
        axes.set_axis_off()
