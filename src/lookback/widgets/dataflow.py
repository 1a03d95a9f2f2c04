"""The tensors of a Transformer, station by station.

Vaswani et al. 2017, arXiv 1706.03762, section 3, with one vocabulary and one
embedding matrix (section 3.4). Shapes, parameters and the multiplications of
the matrix products ("products") are computed in dataflow.js, in training
(all target words at once) and in generation (one word, the rest cached).
"""

from matplotlib.figure import Figure
from traitlets import Int, Unicode, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import need

LIMITS = base.limits("dataflow")
STATIONS = 54
MODES = ("training", "generation")
TRAITS = (*LIMITS, "mode", "step")


class Dataflow(base.Widget):
    """Sizes that the reader may set, and the station that is shown.

    Raises:
        TraitError: for sizes out of range or that do not fit each other.
    """

    _esm = base.module("dataflow")
    _css = base.style("dataflow")
    batch = Int(2).tag(sync=True)
    source = Int(8).tag(sync=True)
    target = Int(9).tag(sync=True)
    d_model = Int(512).tag(sync=True)
    heads = Int(8).tag(sync=True)
    d_ff = Int(2048).tag(sync=True)
    layers = Int(6).tag(sync=True)
    vocab = Int(37_000).tag(sync=True)
    mode = Unicode("training").tag(sync=True)
    step = Int(0).tag(sync=True)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        for name, most in LIMITS.items():
            n = getattr(new, name)
            need(1 <= n <= most, f"{name} is {n}: give 1 to {most:,}")
        d, heads = new.d_model, new.heads
        need(d % 2 == 0, f"d_model is {d}: it must be even")
        need(d % heads == 0, f"{heads} heads cannot share {d} numbers equally")
        need(new.mode in MODES, f"mode is {new.mode!r}: use one of {MODES}")
        known = 0 <= new.step < STATIONS
        need(known, f"step is {new.step}: 0 to {STATIONS - 1} exist")
        return proposal["value"]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The tensors between the parts, as torch would name their shapes."""
        now = 1 if self.mode == "generation" else self.target
        return {
            "words in": (self.batch, self.source),
            "encoder": (self.batch, self.source, self.d_model),
            "decoder": (self.batch, now, self.d_model),
            "logits": (self.batch, now, self.vocab),
        }

    def words(self) -> str:
        said = (f"{name} {shape}" for name, shape in self.shapes().items())
        return f"Shapes in {self.mode}: {'; '.join(said)}."

    def draw(self, figure: Figure) -> None:
        sizes = {k: " × ".join(map(str, v)) for k, v in self.shapes().items()}
        pictures.route(figure, [f"{k}\n{v}" for k, v in sizes.items()])
