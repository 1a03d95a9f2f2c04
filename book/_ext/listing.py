"""Directives that stand for MyST which their modules write.

app.add_directive("timeline", made(listed, lambda: [EVENTS], "timeline"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def made(
    listed: Callable[..., str],
    files: Callable[[], Iterable[Path]],
    box: str = "",
) -> type[SphinxDirective]:
    """A directive that stands for what `listed` makes of its argument.

    Of the lines between its fences, too, where it has some.

    It is made anew when one of the `files` changes, and stands in a `box` of
    that class if one is named.
    """

    class Made(SphinxDirective):
        optional_arguments = 1
        final_argument_whitespace = True
        has_content = True

        def run(self) -> list[nodes.Node]:
            for path in files():
                self.env.note_dependency(str(path))
            found = nodes.container(classes=[box] if box else [])
            given = ["\n".join(self.content)] if self.content else []
            text = listed(*self.arguments, *given)
            lines = StringList(text.split("\n"), self.name)
            self.state.nested_parse(lines, self.content_offset, found)
            return [found] if box else found.children

    return Made


def load(app: Sphinx, script: str, box: str) -> None:
    """Load the script on the pages that have a box of this class."""
    # Before book_site makes its own list of scripts.
    add = partial(_add, script, box)
    app.connect("html-page-context", add, priority=400)


def _add(
    script: str,
    box: str,
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict,
    doctree: nodes.document | None,
) -> None:
    boxes = doctree.findall(nodes.container) if doctree else []
    if any(box in one["classes"] for one in boxes):
        app.add_js_file(script, defer="defer")
