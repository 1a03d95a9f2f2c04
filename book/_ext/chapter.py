"""The directives `chapter-strip` and `in-notebook`.

What stands under a chapter's title, from the facts at the page's head:

    ```{chapter-strip}
    ```

The page's own name gives the notebook's, and `_config.yml`'s repository, or the
fork that this is a clone of, gives its address.

A cell that the notebook has, and the page not, since fields stand there:

    ```{in-notebook}
    answer = (..., ...)
    check.context_by_hand(answer)
    ```
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import facts
import notation
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from to_notebook.myst import SourceError

logger = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
# What it says may lead to a page.
DOC, LINK = (
    re.compile(r"\{doc\}`([^`]+) &lt;(\w+)&gt;`"),
    r'<a href="\2.html">\1</a>',
)
COLAB = "https://colab.research.google.com/github"


def colab_address(repository: str, branch: str, stem: str) -> str:
    """Where Colab opens the notebook straight from the repository."""
    owner, name = repository.rstrip("/").split("/")[-2:]
    return f"{COLAB}/{owner}/{name}/blob/{branch}/notebooks/{stem}.ipynb"


def strip(stem: str, colab: str, minutes: int, needs: str) -> str:
    """The strip's HTML: two links and two facts."""
    return (
        '<ul class="chapter-strip" aria-label="About this chapter">'
        f'<li><a class="strip-button" href="{escape(colab)}">'
        "Run in Colab</a></li>"
        f'<li><a class="strip-button" href="../notebooks/{stem}.ipynb"'
        " download>Get the notebook</a></li>"
        f"<li><strong>{minutes} minutes</strong>, without the exercises</li>"
        f"<li>You need: {DOC.sub(LINK, escape(needs))}</li>"
        "</ul>\n"
    )


class ChapterStrip(SphinxDirective):
    """Colab, download, minutes, and what to know first."""

    def run(self) -> list[nodes.Node]:
        stem = self.env.docname.rsplit("/", 1)[-1]
        if not (ROOT / "notebooks" / f"{stem}.ipynb").exists():
            logger.warning(
                "notebooks/%s.ipynb is missing: run make notebooks",
                stem,
                location=self.get_location(),
            )
        theme = self.config.html_theme_options
        colab = colab_address(
            theme["repository_url"], theme["repository_branch"], stem
        )
        said = facts.read(Path(self.env.doc2path(self.env.docname)))
        html = strip(stem, colab, said["minutes"], said["needs"])
        return [nodes.raw("", html, format="html")]


class InNotebook(SphinxDirective):
    """A cell of the notebook, in whose place the page has something else."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        return []


def check(app: Sphinx, config: Config) -> None:
    """Read every page's facts, and stop where one is wrong."""
    try:
        for page in notation.pages():
            facts.read(page)
    except SourceError as error:
        raise ExtensionError(str(error)) from None


def setup(app: Sphinx) -> dict:
    app.add_directive("chapter-strip", ChapterStrip)
    app.add_directive("in-notebook", InNotebook)
    app.connect("config-inited", check, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
