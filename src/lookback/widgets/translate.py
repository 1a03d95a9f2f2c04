"""Type a sentence, and let the book's own models translate it in the page.

    RNNsearch (arXiv 1409.0473) and the Transformer (arXiv 1706.03762), trained
    by `experiments.tuned`, quantized to int8 (`lab.int8`)

The weights are no part of the state: the page fetches them when they are
wanted, a notebook asks the kernel. What runs is translator.js, in a worker.
"""

import re

from matplotlib.figure import Figure
from traitlets import Int, List, Unicode, validate

from lookback.widgets import base, machines
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import need

LIMITS = base.limits("translate")
LOOKS = ("own", "uniform", "diagonal")
TRAITS = (
    "machines",
    "text",
    "machine",
    "width",
    "look",
    "gone",
    "given",
    "step",
    "seen",
    "rival",
)
HEAD = re.compile(r"\d\.\d")


class Translate(machines.Widget):
    """English in, French out, and the attention weights of each piece.

    `machines` says of each file its `title`, `layers` and `heads`, and what
    it is known by: `file`, `bytes`, `sha256`. `width` is the beam's; `look`
    puts other attention weights in place of the model's, `gone` removes the
    head "layer.head"; `given` are the numbers of the pieces that the French
    begins with; `rival` is which of the beam's translations is drawn, `step`
    its word, `seen` whose attention: "layer.head", or "" for the mean of
    the last layer's heads.

    Raises:
        TraitError: for what does not fit.
    """

    _esm = base.module("translate")
    _css = base.style("translate", "map")
    text = Unicode().tag(sync=True)
    machine = Unicode().tag(sync=True)
    width = Int(1).tag(sync=True)
    look = Unicode("own").tag(sync=True)
    gone = Unicode("").tag(sync=True)
    given = List(Int()).tag(sync=True)
    step = Int(0).tag(sync=True)
    seen = Unicode("").tag(sync=True)
    rival = Int(0).tag(sync=True)

    def __init__(self, text="A black cat sleeps on a red chair.", **place):
        known = {}
        for name, kind in machines.MACHINES.items():
            config = machines.load(name)[0].config
            known[name] = {
                "title": kind.__name__,
                "layers": getattr(config, "layers", 1),
                "heads": getattr(config, "heads", 1),
                **machines.known(name),
            }
        given = {"machine": next(iter(known)), "text": text} | place
        super().__init__(machines=known, **given)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        known = ", ".join(new.machines)
        need(new.machine in new.machines, f"machine: there is {known}")
        most = LIMITS["letters"]
        need(len(new.text) <= most, f"text: at most {most} letters")
        need(1 <= new.width <= LIMITS["beam"], f"width: 1 to {LIMITS['beam']}")
        need(new.look in LOOKS, f"look: one of {', '.join(LOOKS)}")
        for name in ("gone", "seen"):
            head = getattr(new, name)
            need(not head or HEAD.fullmatch(head), f"{name}: '', or '3.0', say")
        few = len(new.given) <= 2 * LIMITS["pieces"] + 10
        need(few and min(new.given, default=0) >= 0, "given: pieces' numbers")
        need(0 <= new.step, "step: 0 or more")
        need(0 <= new.rival < LIMITS["beam"], "rival: one of the beam's")
        return proposal["value"]

    def words(self) -> str:
        titles = " or ".join(one["title"] for one in self.machines.values())
        return (
            f"Translate it yourself: type an English sentence, “{self.text}”"
            f" say, and the book's own {titles} writes it in French, in your"
            " page, word by word."
        )

    def draw(self, figure: Figure) -> None:
        title = self.machines[self.machine]["title"]
        pictures.route(figure, [self.text, title, "?"])
