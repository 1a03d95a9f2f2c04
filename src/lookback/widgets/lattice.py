"""The lattice of an RNN transducer: its paths, and the sum of them all.

    α(t, u) = α(t−1, u) p(blank | t−1, u) + α(t, u−1) p(y_u | t, u−1)

The model of `lookback.transducer`, trained, and RNNsearch on the same pair. The
page translates the sentence itself: it runs transducer.js and rnnsearch.js.
"""

import torch
from matplotlib.figure import Figure
from torch import Tensor
from traitlets import Dict, Int, List, Unicode, validate

from lookback.lab.decoding import greedy
from lookback.transducer import Transducer, TransducerConfig
from lookback.vocabulary import END, Vocabulary
from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import check_rows, need
from lookback.widgets.lib.rows import unpack

TRAITS = (
    "vocabularies",
    "models",
    "sentences",
    "text",
    "mode",
    "path",
    "step",
    "shown",
)
LIMITS = base.limits("lattice")
MODES = ("path", "sum", "where")
MAPS = ("posterior", "search", "best")


class Lattice(base.Widget):
    """Draw one path, sum all of them, ask where each word was emitted.

    `vocabularies` holds the words of `source` and `target`, `models` the
    weights of `cursors` and `rnnsearch`, as `lib.rows.pack` makes them.
    `text` is the sentence, its words set apart by spaces; `path` its letters,
    "s" for a blank and "w" for a word (what leads out of the lattice is not
    drawn); `step` the diagonal of the sum or the word whose place is asked
    for; `shown` the maps that are drawn.

    Raises:
        TraitError: for weights or words that do not fit.
    """

    _esm = base.module("lattice")
    _css = base.style("lattice", "chart")
    vocabularies = Dict().tag(sync=True)
    models = Dict().tag(sync=True)
    sentences = List(Unicode()).tag(sync=True)
    text = Unicode().tag(sync=True)
    mode = Unicode("path").tag(sync=True)
    path = Unicode("").tag(sync=True)
    step = Int(0).tag(sync=True)
    shown = List(Unicode(), ["posterior", "search"]).tag(sync=True)

    def __init__(self, vocabularies, models, sentences, text=None, **place):
        super().__init__(
            vocabularies=vocabularies,
            models=models,
            sentences=list(sentences),
            text=sentences[0] if text is None else text,
            **place,
        )

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        sizes = [len(new.vocabularies[side]) for side in ("source", "target")]
        for name in ("cursors", "rnnsearch"):
            need(name in new.models, f"models lacks {name}")
            check_rows(new.models[name], *sizes, f"models[{name!r}]")
        for text in (*new.sentences, new.text):
            words = text.split(" ")
            strange = sorted(set(words) - {*new.vocabularies["source"]})
            need(not strange, f"{text!r}: {strange} are not in the vocabulary")
            most = LIMITS["words"]
            need(len(words) <= most, f"{text!r}: give 1 to {most} words")
        need(new.mode in MODES, f"mode {new.mode!r}: there is {MODES}")
        need(set(new.path) <= {"s", "w"}, f"path {new.path!r}: give s and w")
        need(new.step >= 0, f"step is {new.step}: give 0 or more")
        need(set(new.shown) <= {*MAPS}, f"shown {new.shown}: there is {MAPS}")
        return proposal["value"]

    @torch.no_grad()
    def posterior(self) -> tuple[list[str], Tensor]:
        """The translation, and where each of its words was emitted."""
        source, target = map(Vocabulary, self.vocabularies.values())
        model = build(self.models["cursors"])
        words = source.encode(self.text.split(" "))
        given = torch.tensor([[*words, END]])
        said = greedy(model, given, LIMITS["written"])[0].tokens
        said = [word for word in said if word != END]
        found = model.align(given, torch.tensor([[*said, END]]))
        return [*target.decode(said), "<end>"], found[0]

    def words(self) -> str:
        written, found = self.posterior()
        source = [*self.text.split(" "), "<end>"]
        places = (
            f"“{word}” at “{source[row.argmax()]}”"
            for word, row in zip(written, found, strict=True)
        )
        return (
            f"Lattice of an RNN transducer: “{self.text}” becomes “"
            f"{' '.join(written[:-1])}”. Where each word was most probably"
            f" emitted: {', '.join(places)}."
        )

    def draw(self, figure: Figure) -> None:
        written, found = self.posterior()
        source = [*self.text.split(" "), "<end>"]
        row = min(self.step, len(written) - 1)
        pictures.grid(figure, found.numpy(), source, written, row)
        figure.axes[-1].set_ylabel("posterior of the place")


def build(packed: dict) -> Transducer:
    """The model of the packed weights, in double precision."""
    weights = {k: torch.tensor(unpack(one)) for k, one in packed.items()}
    config = TransducerConfig(
        *(
            len(weights[f"{side}_embedding.weight"])
            for side in ("source", "target")
        ),
        embed=weights["source_embedding.weight"].shape[1],
        hidden=weights["pen.weight_hh_l0"].shape[1],
        maxout=weights["f.output.weight"].shape[1],
    )
    model = Transducer(config).double().eval()
    model.load_state_dict(weights)
    return model
