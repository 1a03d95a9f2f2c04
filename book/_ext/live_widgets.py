"""Widgets in the built book: alive through the book's own host, with no kernel.

myst-nb writes a page's widgets as JSON (their state, and a view where each
stands) and would load html-manager and require.js from afar to show them.
Here it loads `host.js` instead, on the pages that hold widgets and on no
other. The trained machines that a figure may fetch are laid beside it. Beside
each view stands its picture, for where no script runs; the
host takes it away once the widget has rendered.
"""

import shutil
from pathlib import Path

from docutils import nodes
from myst_nb.core import render
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.fileutil import copy_asset_file

from lookback import widgets
from lookback.widgets import machines

HOST = Path(widgets.__file__).with_name("lib") / "host.js"
NAME = "live_widgets.js"
VIEW = "application/vnd.jupyter.widget-view+json"
PICTURE, WORDS = "image/svg+xml", "text/plain"


class KeepPicture(SphinxPostTransform):
    """Put the picture before the view, with the words for its alt text.

    A widget's output has several forms, of which myst-nb keeps the first that
    the builder can show. This runs just before it and moves the picture into
    the view, so that both are kept.
    """

    default_priority = 3  # myst-nb chooses at 4
    formats = ("html",)

    def run(self) -> None:
        for bundle in list(self.document.findall(nodes.container)):
            if bundle.get("nb_element") != "mime_bundle":
                continue
            forms = {form["mime_type"]: form for form in bundle.children}
            if VIEW in forms and PICTURE in forms:
                image = next(forms[PICTURE].findall(nodes.image))
                image["alt"] = forms[WORDS].astext()
                picture = nodes.container("", image, classes=["widget-picture"])
                forms[VIEW].insert(0, picture)


def without_tags(content: str) -> str:
    """JSON in which no text of a widget can end, or begin, a script."""
    return content.replace("<", r"\u003c")


def use_host(app: Sphinx, config: Config) -> None:
    """Let myst-nb load the host where it would load html-manager."""
    config.nb_ipywidgets_js = {NAME: {"defer": "defer"}}


def copy_host(app: Sphinx) -> None:
    """Lay the host, and what it may fetch, among the book's static files."""
    if app.builder.format == "html":
        static = Path(app.outdir, "_static")
        static.mkdir(parents=True, exist_ok=True)
        copy_asset_file(str(HOST), str(static / NAME))
        files = static / "machines"
        shutil.rmtree(files, ignore_errors=True)
        machines.main([str(files)])


def setup(app: Sphinx) -> dict:
    """Called by Sphinx."""
    # myst-nb's own sees no "</SCRIPT>", no "</script >" and no "<!--<script>".
    render.sanitize_script_content = without_tags
    app.add_post_transform(KeepPicture)
    app.connect("config-inited", use_host)
    app.connect("builder-inited", copy_host)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
