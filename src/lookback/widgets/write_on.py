"""Begin a caption, and let the book's own GPT go on, in the page.

The machine is that of `experiments.families`, its weights in a byte each
(`lab.int8`). What runs is body.js, in a worker.
"""

from matplotlib.figure import Figure
from traitlets import Float, Int, List, Unicode, validate

from lookback.widgets import base, machines
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import need

LIMITS = base.limits("write_on")
TRAITS = ("machines", "text", "written", "temperature", "k", "p", "seed")


class WriteOn(machines.Widget):
    """What comes next, and what temperature, top-k and top-p leave of it.

    `text` are the reader's words, `written` the numbers of those that came
    after. `k` is 0 where all words are kept. `seed` is the chance by which
    words are drawn, the same in every browser.

    Raises:
        TraitError: for what does not fit.
    """

    _esm = base.module("write_on")
    _css = base.style("write_on", "caption")
    text = Unicode().tag(sync=True)
    written = List(Int()).tag(sync=True)
    temperature = Float(1.0).tag(sync=True)
    k = Int(0).tag(sync=True)
    p = Float(1.0).tag(sync=True)
    seed = Int(0).tag(sync=True)

    def __init__(self, text="a man in a red shirt", **how):
        known = {"gpt": {"title": "GPT", **machines.known("gpt")}}
        super().__init__(machines=known, **{"text": text} | how)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        most = LIMITS["letters"]
        need(len(new.text) <= most, f"text: at most {most} letters")
        few = len(new.written) <= LIMITS["words"]
        need(
            few and min(new.written, default=3) >= 3, "written: words' numbers"
        )
        low, high = LIMITS["coldest"], LIMITS["hottest"]
        fit = low <= new.temperature <= high
        need(fit, f"temperature: from {low} to {high}")
        need(new.k in LIMITS["ks"], f"k: one of {LIMITS['ks']}")
        need(0.05 <= new.p <= 1, "p: from 0.05 to 1")
        need(0 <= new.seed <= LIMITS["seed"], f"seed: to {LIMITS['seed']}")
        return proposal["value"]

    def words(self) -> str:
        return (
            f"Begin a caption, “{self.text}” say, and the book's own GPT goes"
            " on in your page: each next word with its probability, and what"
            f" temperature {self.temperature:.1f} and the cuts leave of it."
        )

    def draw(self, figure: Figure) -> None:
        pictures.route(figure, [self.text, "GPT", "?"])
