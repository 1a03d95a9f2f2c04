"""Which word decides? A BERT reads a caption, and probes say which sense it is.

    p(sense 1) at a level = σ(w · x + b), its lean           lookback.probing

The machine is the BERT of `experiments.probing`, its weights in a byte each
(`lab.int8`). They are no part of the state: the page fetches them when they
are wanted, a notebook asks the kernel. What runs is body.js, in a worker.
"""

from matplotlib.figure import Figure
from traitlets import Dict, Int, List, Unicode, validate

from lookback.lab import records
from lookback.widgets import base, machines
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import even, finite, need

LIMITS = base.limits("which_word")
TRAITS = ("machines", "probes", "texts", "text", "covered", "level")
NAMES = {  # of sense 0 and of sense 1
    "apple": ["food", "device"],
    "ball": ["ballon", "balle"],
    "mouth": ["gueule", "bouche"],
    "bar": ["bar", "barre"],
    "light": ["clair", "lumière"],
}
TEXTS = (
    "a man is talking on his apple .",
    "a family is eating apple at a table .",
    "a boy kicks a ball across the grass .",
    "a boy hits a ball with a racket .",
    "a dog with a stick in its mouth runs .",
    "a man with a cigarette in his mouth sits .",
    "a man drinks a beer at a bar .",
    "a gymnast swings on a bar .",
)


def recorded() -> dict:
    """The probes of the record, and what their senses are called."""
    levels = records.load("probing")["results"]["apple"]["probes"]
    return {
        word: {"senses": names, "levels": levels[word]}
        for word, names in NAMES.items()
    }


class WhichWord(machines.Widget):
    """Cover a word, and see what a probe at each level says of another's sense.

    `probes` holds of each word that can be asked for its two `senses` and, of
    each of the `levels`, w and, last, b. The first such word of `text` is
    asked for; `covered` are places of words, counted from 0; `level` is the
    one whose changes are written under the words.

    Raises:
        TraitError: for what does not fit.
    """

    _esm = base.module("which_word")
    _css = base.style("which_word")
    probes = Dict().tag(sync=True)
    texts = List(Unicode()).tag(sync=True)
    text = Unicode().tag(sync=True)
    covered = List(Int()).tag(sync=True)
    level = Int(4).tag(sync=True)

    def __init__(self, probes=None, texts=TEXTS, text=None, **how):
        known = {"probing": {"title": "BERT", **machines.known("probing")}}
        super().__init__(
            machines=known,
            probes=recorded() if probes is None else probes,
            texts=list(texts),
            text=texts[0] if text is None else text,
            **how,
        )

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        need(new.probes, "probes: give those of one word at least")
        for word, one in new.probes.items():
            fit = len(one["senses"]) == 2 and one["levels"]
            need(fit, f"probes of {word!r}: two senses, one level at least")
            fit = even(one["levels"]) and finite(*one["levels"])
            need(fit, f"probes of {word!r}: even rows of finite numbers")
        letters, words = LIMITS["letters"], LIMITS["words"]
        for text in (*new.texts, new.text):
            need(len(text) <= letters, f"text: at most {letters} letters")
            asked = set(text.lower().split()) & set(new.probes)
            need(asked, f"{text!r}: none of {', '.join(new.probes)} is in it")
        fit = all(0 <= i < words for i in new.covered)
        need(fit and len(new.covered) <= words, "covered: places of words")
        most = min(len(one["levels"]) for one in new.probes.values())
        need(0 <= new.level < most, f"level is {new.level}: 0 to {most - 1}")
        return proposal["value"]

    def words(self) -> str:
        known = ", ".join(self.probes)
        return (
            f"Which word decides? Of “{self.text}”, or of a caption of yours"
            f" with one of the words {known}, cover a word: a BERT in your"
            " page reads the rest, and a probe after each of its layers says"
            " which sense it is, and with which probability."
        )

    def draw(self, figure: Figure) -> None:
        pictures.route(figure, [self.text, "BERT", "a probe", "?"])
