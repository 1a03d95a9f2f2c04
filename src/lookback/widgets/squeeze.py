"""Letters read into one fixed vector and written out again.

    h_t = GRU(E x_t, h_{t−1})    c = tanh(V h_T)    s_0 = tanh(V' c)
    s_i = GRU([E y_{i−1}; c], s_{i−1})

Cho et al. 2014, arXiv 1406.1078, sections 2.2–2.3: the model of
`lookback.bottleneck`, trained to copy. It runs in bottleneck.js.
"""

from matplotlib.figure import Figure
from traitlets import Dict, Int, Unicode, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import check_tensors, need

TRAITS = ("alphabet", "models", "width", "text")
MOST = base.limits("squeeze")["letters"]


class Squeeze(base.Widget):
    """Type letters, choose the width of the one vector, see what comes back.

    `models` maps a width to a packed Bottleneck (`pack`), whose words are
    <pad>, <unk>, <start>, <end> and then the letters of `alphabet`. `step`
    counts letters read and written; −1 is the last, as in a list.

    Raises:
        TraitError: for weights or letters that do not fit.
    """

    _esm = base.module("squeeze")
    _css = base.style("squeeze")
    alphabet = Unicode().tag(sync=True)
    models = Dict().tag(sync=True)
    width = Unicode().tag(sync=True)
    text = Unicode().tag(sync=True)
    step = Int(-1).tag(sync=True)

    def __init__(self, alphabet, models, width="16", text="hello", step=-1):
        super().__init__(
            alphabet=alphabet, models=models, width=width, text=text, step=step
        )

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        for width, tensors in new.models.items():
            check_tensors(tensors, len(new.alphabet), f"models[{width!r}]")
        widths = ", ".join(new.models)
        need(new.width in new.models, f"width {new.width!r}: there is {widths}")
        strange = sorted(set(new.text) - set(new.alphabet))
        need(not strange, f"text: {strange} are not in the alphabet")
        need(0 < len(new.text) <= MOST, f"text: give 1 to {MOST} letters")
        return proposal["value"]

    def words(self) -> str:
        return (
            f"Squeeze: the letters “{self.text}” are read into one vector of "
            f"{self.width} numbers, and written out again from it alone."
        )

    def draw(self, figure: Figure) -> None:
        pictures.route(figure, [self.text, f"{self.width} numbers", "?"])
