"""Widgets in the built book: alive through the book's own host, with no kernel.

myst-nb writes a page's widgets as JSON (their state, and a view where each
stands) and would load html-manager and require.js from afar to show them.
Here it loads `host.js` instead, on the pages that hold widgets and on no
other. What is long of a state waits in files until the host asks for it, and
so do the trained machines that a figure may fetch. Beside each view stands its
picture, for where no script runs; the host takes it away once the widget has
rendered.
"""

import json
import shutil
from base64 import b64decode
from pathlib import Path
from urllib.parse import urlsplit

from docutils import nodes
from lazy_load import keep
from myst_nb.core import render
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.fileutil import copy_asset_file

from lookback import widgets
from lookback.widgets import machines

LIB = Path(widgets.__file__).with_name("lib")
HOST, PICTURE = LIB / "host.js", LIB / "picture.js"
NAME = "live_widgets.js"
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
LONG = 1000  # letters; a longer value of a state waits in a file
STILL, WORDS = "image/svg+xml", "text/plain"


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
            if VIEW in forms and STILL in forms:
                image = next(forms[STILL].findall(nodes.image))
                image["alt"] = forms[WORDS].astext()
                picture = nodes.container("", image, classes=["widget-picture"])
                forms[VIEW].insert(0, picture)


def without_tags(content: str) -> str:
    """JSON in which no text of a widget can end, or begin, a script."""
    return content.replace("<", r"\u003c")


def short(whole: str, outdir: str) -> str:
    """A page's states, their long values and their bytes in files.

    `files` names the one of each long trait. `bytes` names one file for all,
    and says where each piece of it belongs, and how long it is.
    """
    models = {}
    for name, model in json.loads(whole)["state"].items():
        state = model["state"]
        if "_esm" not in state:
            continue  # a layout, which nothing here reads
        long = {k: v for k, v in state.items() if len(json.dumps(v)) > LONG}
        models[name] = {
            "state": {k: v for k, v in state.items() if k not in long},
            "files": {k: keep(outdir, v) for k, v in long.items()},
        }
        if parts := model.get("buffers"):
            data = [b64decode(part["data"]) for part in parts]
            lengths = [
                [part["path"], len(piece)]
                for part, piece in zip(parts, data, strict=True)
            ]
            file = keep(outdir, b"".join(data))
            models[name]["bytes"] = {"file": file, "parts": lengths}
    return without_tags(json.dumps({"state": models}))


def wait_for_states(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict,
    doctree: nodes.document | None,
) -> None:
    """Leave on the page what is short of its widgets' states."""
    if app.builder.format != "html":
        return
    assets = context["script_files"]
    for i, asset in enumerate(assets):
        held = getattr(asset, "attributes", {})
        if held.get("type") == STATE:
            body = short(held["body"], app.outdir)
            kept = {**held, "body": body}
            assets[i] = type(asset)(None, priority=asset.priority, **kept)


def use_host(app: Sphinx, config: Config) -> None:
    """Let myst-nb load the host where it would load html-manager.

    It is told what stands in the corner of a figure's picture.
    """
    address = urlsplit(config.html_baseurl)
    where = f"{address.netloc}{address.path}".rstrip("/")
    whence = " · ".join(filter(None, [config.html_title, where]))
    attributes = {"defer": "defer", "data-from": whence}
    config.nb_ipywidgets_js = {NAME: attributes}


def copy_host(app: Sphinx) -> None:
    """Lay the host, and what it asks for, among the book's static files."""
    if app.builder.format == "html":
        static = Path(app.outdir, "_static")
        static.mkdir(parents=True, exist_ok=True)
        copy_asset_file(str(HOST), str(static / NAME))
        copy_asset_file(str(PICTURE), str(static / PICTURE.name))
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
    app.connect("html-page-context", wait_for_states, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
