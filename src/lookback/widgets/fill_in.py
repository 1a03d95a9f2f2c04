"""Cover a word of a caption, and let the book's own BERT guess it, in the page.

The machines are those of `experiments.families`, their weights in a byte each
(`lab.int8`). What runs is body.js, in a worker.
"""

from matplotlib.figure import Figure
from traitlets import Bool, Int, List, Unicode, validate

from lookback.widgets import base, machines
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import need

LIMITS = base.limits("fill_in")
TRAITS = ("machines", "text", "covered", "at", "both")


class FillIn(machines.Widget):
    """What fits in a blank, seen from both sides.

    In `text` a blank is `_`; `covered` are words, counted from 0, that are
    blanks too, though the reader can see them; `at` is the blank in view, and
    −1 the first. With `both` the GPT is asked what it would write there.

    Raises:
        TraitError: for what does not fit.
    """

    _esm = base.module("fill_in")
    _css = base.style("fill_in", "caption")
    text = Unicode().tag(sync=True)
    covered = List(Int()).tag(sync=True)
    at = Int(-1).tag(sync=True)
    both = Bool(False).tag(sync=True)

    def __init__(self, text="a man in a _ shirt is playing a guitar .", **how):
        known = {
            name: {"title": name.upper(), **machines.known(name)}
            for name in ("bert", "gpt")
        }
        super().__init__(machines=known, **{"text": text} | how)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        letters, words = LIMITS["letters"], LIMITS["words"]
        need(len(new.text) <= letters, f"text: at most {letters} letters")
        fit = all(0 <= i < words for i in new.covered)
        need(fit and len(new.covered) <= words, "covered: places of words")
        need(-1 <= new.at < words, "at: the place of a word, or −1")
        return proposal["value"]

    def words(self) -> str:
        return (
            f"Cover a word of a caption, “{self.text}” say, and the book's own"
            " BERT guesses it in your page, from the words on both sides."
        )

    def draw(self, figure: Figure) -> None:
        pictures.route(figure, [self.text, "BERT", "?"])
