"""A placement test: where a reader should begin, from a few questions.

Each question belongs to a page. The reader begins with the first page whose
question was missed. What was answered stays in the reader's browser. It runs
in placement.js.
"""

from matplotlib.figure import Figure
from traitlets import Dict, List, Unicode, validate

from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import need

PARTS = ("question", "options", "page", "title")
TRAITS = ("questions", "beyond", "name")


class Placement(base.Widget):
    """Questions in the order of the book, and what to read after them all.

    A question is a dict of `question`, `options` as those of a Quiz, of which
    one is correct, and the `page` and `title` of the chapter that answers it.

    Raises:
        TraitError: for a question without its parts, or with no, or more than
            one, correct option.
    """

    _esm = base.module("placement")
    _css = base.style("quiz") + base.style("placement", "question")
    questions = List(Dict()).tag(sync=True)
    beyond = Dict(per_key_traits={"page": Unicode(), "title": Unicode()}).tag(
        sync=True
    )
    name = Unicode().tag(sync=True)

    def __init__(self, questions, beyond, name):
        super().__init__(questions=list(questions), beyond=beyond, name=name)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        need(new.name.strip(), "name is empty: progress is kept under it")
        need({"page", "title"} <= {*new.beyond}, "beyond lacks page or title")
        need(len(new.questions) > 1, "questions: give at least two")
        for number, one in enumerate(new.questions):
            where = f"questions[{number}]"
            for part in PARTS:
                need(part in one, f"{where} lacks {part}")
            need(len(one["options"]) > 1, f"{where}: give at least two options")
            for option in one["options"]:
                fit = all(option.get(part) for part in ("text", "why"))
                need(fit, f"{where}: an option lacks its text or its why")
            right = sum(
                option.get("correct", False) for option in one["options"]
            )
            need(right == 1, f"{where}: {right} options are correct, not one")
        return proposal["value"]

    def words(self) -> str:
        asked = " ".join(
            f"{number}. {one['question']} ({one['title']})"
            for number, one in enumerate(self.questions, 1)
        )
        return f"A placement test of {len(self.questions)} questions: {asked}"

    def draw(self, figure: Figure) -> None:
        topics = [
            f"{number}. {one['title']}"
            for number, one in enumerate(self.questions, 1)
        ]
        pictures.question(
            figure, "Where to begin? A question from each of these:", topics
        )
