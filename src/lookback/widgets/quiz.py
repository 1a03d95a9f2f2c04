"""A question that explains what was chosen, and the rest when it is right.

What the reader answered stays in the reader's browser, under the quiz's
name, and nowhere else. It runs in quiz.js.
"""

from matplotlib.figure import Figure
from traitlets import Bool, Dict, List, Unicode, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import need

TRAITS = ("question", "options", "name")
PARTS = {"text": Unicode(), "correct": Bool(), "why": Unicode()}


class Quiz(base.Widget):
    """One question; its options are dicts of `text`, `correct` and `why`.

    Several options may be correct: the reader then has to find all of them.
    Text between `backticks` is set as code.

    Raises:
        TraitError: for an option without its parts, or with none correct.
    """

    _esm = base.module("quiz")
    _css = base.style("quiz", "question")
    question = Unicode().tag(sync=True)
    options = List(Dict(per_key_traits=PARTS)).tag(sync=True)
    name = Unicode().tag(sync=True)

    def __init__(self, question, options, name):
        super().__init__(question=question, options=list(options), name=name)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        need(new.question.strip(), "question is empty")
        need(new.name.strip(), "name is empty: progress is kept under it")
        need(len(new.options) > 1, "options: give at least two")
        for number, option in enumerate(new.options):
            for part in PARTS:
                need(part in option, f"options[{number}] lacks {part}")
            said = option["text"].strip() and option["why"].strip()
            need(said, f"options[{number}]: its text or its why is empty")
        correct = any(option["correct"] for option in new.options)
        need(correct, "options: none is correct")
        return proposal["value"]

    def words(self) -> str:
        letters = zip("abcdefghijklmnopqrstuvwxyz", self.options, strict=False)
        choices = " ".join(f"({a}) {option['text']}" for a, option in letters)
        return f"Question: {self.question} {choices}"

    def draw(self, figure: Figure) -> None:
        options = [option["text"] for option in self.options]
        pictures.question(figure, self.question, options)
