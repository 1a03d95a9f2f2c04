"""A story that the reader tells, and the attention weights of each hop.

    p_i = softmax_i(u · m_i),  u' = u + Σ_i p_i c_i,  â = softmax(W u)

Sukhbaatar et al. 2015, arXiv 1503.08895: the model of
`lookback.memory_networks`, trained on the stories of
`lookback.lab.story_task`. It runs in story.js.
"""

import numpy as np
from matplotlib.figure import Figure
from traitlets import Dict, Int, List, Unicode, validate

from lookback.lab import story_task
from lookback.vocabulary import SPECIALS
from lookback.widgets import base
from lookback.widgets.lib.checks import need
from lookback.widgets.lib.half import unpack, whole

TRAITS = ("vocabulary", "weights", "story", "asked", "draft", "step")
MOST = base.limits("story")["sentences"]
KINDS = [
    {
        "names": list(names),
        "holders": list(story_task.HOLDERS[facts]),
        "form": story_task.FORMS[facts],
        "asked": " ".join(story_task.ask(names[0])).replace(names[0], "{0}"),
    }
    for facts, names in story_task.NAMES.items()
]
HOLDERS = {name: one["holders"] for one in KINDS for name in one["names"]}


class Story(base.Widget):
    """Tell of names where they are, ask for one, and see every hop.

    `weights` are a MemN2N's, packed (`pack`), and `vocabulary` is what it
    knows after the special words. `story` has a name and a holder for each
    sentence; `draft` is the one to be told next. The steps are the question,
    its hops, and the answer; −1 is the last.

    Raises:
        TraitError: for weights, sentences or a question that do not fit.
    """

    _esm = base.module("story")
    _css = base.style("story", "chart")
    vocabulary = List(Unicode()).tag(sync=True)
    kinds = List(KINDS).tag(sync=True)
    weights = Dict().tag(sync=True)
    story = List().tag(sync=True)
    asked = Unicode().tag(sync=True)
    draft = List(["anna", "attic"]).tag(sync=True)
    step = Int(0).tag(sync=True)

    def __init__(self, vocabulary, weights, story, asked, step=-1):
        hops = len(weights) // 2 - 1
        super().__init__(
            vocabulary=list(vocabulary),
            weights=weights,
            story=[list(each) for each in story],
            asked=asked,
            step=hops + 1 if step == -1 else step,
        )

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        hops = len(new.weights) // 2 - 1
        for k in range(hops + 1):
            for name, rows in (
                ("words", len(new.vocabulary) + 4),
                ("ages", MOST),
            ):
                tensor = new.weights.get(f"{name}.{k}")
                need(tensor, f"weights lack {name}.{k}")
                fit = whole(tensor) and tensor["shape"][0] == rows
                need(fit, f"weights: {name}.{k} must have {rows} rows")
        fit = 0 < len(new.story) <= MOST
        need(fit, f"story: give 1 to {MOST} sentences")
        for one in (*new.story, new.draft):
            fit = len(one) == 2 and one[1] in HOLDERS.get(one[0], ())
            need(fit, f"story: nothing in this world says {one}")
        need(new.asked in HOLDERS, f"asked is {new.asked!r}: give a name")
        need(0 <= new.step <= hops + 1, f"step is {new.step}")
        return proposal["value"]

    def looks(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights of each hop, hops × sentences, and of each word as answer."""
        tensors = {name: unpack(each) for name, each in self.weights.items()}
        index = [*SPECIALS, *self.vocabulary].index
        told = [[*map(index, story_task.say(*each))] for each in self.story]
        old = np.arange(len(told))[::-1]
        hops = len(tensors) // 2 - 1
        memories = [
            np.array([tensors[f"words.{k}"][each].sum(0) for each in told])
            + tensors[f"ages.{k}"][old]
            for k in range(hops + 1)
        ]
        asked = [*map(index, story_task.ask(self.asked))]
        u, found = tensors["words.0"][asked].sum(0), []
        for keys, values in zip(memories, memories[1:], strict=False):
            found.append(base.softmax(keys @ u))
            u = u + found[-1] @ values
        return np.array(found), base.softmax(tensors[f"words.{hops}"] @ u)

    def answer(self) -> str:
        """The word that the network gives."""
        return [*SPECIALS, *self.vocabulary][int(self.looks()[1].argmax())]

    def words(self) -> str:
        told = [" ".join(story_task.say(*each)) for each in self.story]
        looks, _ = self.looks()
        said = [
            f"hop {k}: the largest attention weight, {look.max():.2f}, is on "
            f"“{told[int(look.argmax())]}”"
            for k, look in enumerate(looks, 1)
        ]
        asked = " ".join(story_task.ask(self.asked))
        return (
            f"{'. '.join(told)}. {asked}? {'; '.join(said)}; the network "
            f"answers “{self.answer()}”."
        )

    def draw(self, figure: Figure) -> None:
        looks, _ = self.looks()
        axes = figure.subplots()
        axes.imshow(looks.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        told = [" ".join(story_task.say(*each)) for each in self.story]
        axes.set_yticks(range(len(told)), told)
        hops = range(len(looks))
        axes.set_xticks(hops, [f"hop {k + 1}" for k in hops])
        for k, i in np.ndindex(looks.shape):
            dark = looks[k, i] > 0.5
            color = "white" if dark else "black"
            text = f"{looks[k, i]:.2f}"
            axes.text(k, i, text, ha="center", va="center", color=color)
        asked = " ".join(story_task.ask(self.asked))
        axes.set_title(f"{asked}? {self.answer()}")
