"""The directives `myth` and `myth-list`: what is told, and what is so.

In a chapter, before the paragraph that takes it apart:

    ```{myth} "The fixed vector failed."
    :verdict: wrong
    :in-short: Five of them, voting, beat the phrase-based system.
    ```

`verdict` is one of VERDICTS. `in-short` stands on the page of all myths alone,
which `myth-list` makes: a line for each, in the order of the book.
"""

from __future__ import annotations

import re

import notation
from docutils import nodes
from docutils.parsers.rst import directives
from listing import made
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

VERDICTS = ("wrong", "half right", "misleading", "contested")
HEAD = "## Myth check"
MYTH = re.compile(
    r"^```\{myth\} (?P<claim>.+)\n"
    r":verdict: (?P<verdict>.+)\n"
    r":in-short: (?P<short>.+)\n```$",
    re.MULTILINE,
)


def verdict(text: str) -> str:
    return directives.choice(text, VERDICTS)


class Myth(SphinxDirective):
    """The claim, as people make it, and the verdict."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {
        "verdict": verdict,
        "in-short": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        for option in self.option_spec:
            if option not in self.options:
                raise self.error(f"myth needs :{option}:")
        docname = self.env.docname
        stem = docname.rsplit("/", 1)[-1]
        label = f"myth-{stem}-{self.env.new_serialno('myth') + 1}"
        inner, messages = self.state.inline_text(self.arguments[0], self.lineno)
        word = self.options["verdict"]
        line = nodes.paragraph(
            "",
            "",
            nodes.strong("", "", *inner),
            nodes.Text(" "),
            nodes.inline("", word, classes=["verdict"]),
            classes=["myth", word.replace(" ", "-")],
            ids=[label],
        )
        self.env.get_domain("std").note_hyperlink_target(
            label, docname, label, self.arguments[0]
        )
        return [line, *messages]


def collected() -> list[tuple[str, str, list[re.Match]]]:
    """(stem, title, myths) of every chapter that has some."""
    found = []
    for page in notation.pages():
        text = page.read_text("utf-8")
        if myths := list(MYTH.finditer(text)):
            title = notation.TITLE.search(text)[1]
            found.append((page.stem, title, myths))
    return found


def listed() -> str:
    """All of them as MyST."""
    lines = []
    for stem, title, myths in collected():
        lines += [f"**{title}**", ""]
        for n, myth in enumerate(myths, 1):
            link = f"[{myth['claim']}](#myth-{stem}-{n})"
            word = f"[{myth['verdict']}]{{.verdict}}"
            lines += [f"- {link} {word} {myth['short']}"]
        lines += [""]
    return "\n".join(lines)


def setup(app: Sphinx) -> dict:
    app.add_directive("myth", Myth)
    app.add_directive("myth-list", made(listed, notation.pages))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
