"""What makes the built folder one self-contained site.

What a page loads is the site's own (assets.py), and the theme's parts that
the book does not use are dropped.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import facts
import notation
from assets import copy, stage
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).resolve().parents[2]

# Pages are read anew when one of these changes.
MADE_OF = (
    "src/lookback/**/*",
    "book/_ext/**/*",
    "book/_static/drawings/*",
    "notebooks/*.ipynb",
    "requirements.txt",
)

# Loaded by Jupyter Book on every page, and used on none of ours.
UNUSED_EXTENSIONS = ("sphinx_thebe", "sphinx_comments")

# What these, and sphinx-design, would have every page load.
UNUSED_ASSETS = ("sphinx-thebe", "sphinx-design", "design-tabs")

# What the theme copies into the site and no page asks for.
UNUSED_FOLDERS = ("_static/vendor", "_static/locales", "_static/images")

# In the text that tqdm leaves for where its bar cannot be drawn.
PROGRESS = "%|"

# Before the first paint: "auto" becomes what the reader's system asks for.
EARLY_THEME = (
    "(() => { const root = document.documentElement;"
    " if (root.dataset.theme !== 'light' && root.dataset.theme !== 'dark')"
    " root.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches"
    " ? 'dark' : 'light'; })()"
)


def digest(patterns: tuple[str, ...]) -> str:
    """One SHA-256 over the names and contents of the matching files."""
    total = hashlib.sha256()
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and path.suffix != ".pyc":
                total.update(str(path.relative_to(ROOT)).encode())
                total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def drop_unused_extensions(app: Sphinx, config: Config) -> None:
    """Disconnect extensions that Jupyter Book loads and we never use."""
    for listeners in app.events.listeners.values():
        for listener in list(listeners):
            module = getattr(listener.handler, "__module__", "") or ""
            if module.split(".")[0] in UNUSED_EXTENSIONS:
                app.disconnect(listener.id)


def origin(url: str) -> str | None:
    """The address of what this is a clone of, if it is on the host of `url`.

    A download has none, nor has the clone of a folder or of a mirror.
    """
    if not (ROOT / ".git").exists():
        return None
    asked = ["git", "remote", "get-url", "origin"]
    try:
        found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    host = urlsplit(url).hostname
    name = r"([\w.-]+/[\w.-]+?)"  # owner/repository
    form = rf"(\w+://)?([^@/]+@)?{re.escape(host)}(:\d+)?[:/]{name}(\.git)?/?"
    if match := re.fullmatch(form, found.stdout.strip()):
        return f"https://{host}/{match[4]}"
    return None


def fork(url: str) -> str:
    """The repository that pages lead to: the origin, or else `url`."""
    return origin(url) or url


def site_address(url: str) -> str:
    """GitHub Pages' address of the book, from the repository's alone."""
    owner, name = url.rstrip("/").split("/")[-2:]
    return f"https://{owner}.github.io/{name}/"


def configure(app: Sphinx, config: Config) -> None:
    """Settings that follow from other settings."""
    theme = config.html_theme_options
    # Pages say where they are only if they are of a repository that is there.
    if known := origin(theme["repository_url"]):
        theme["repository_url"] = known
        config.html_baseurl = config.html_baseurl or site_address(known)
    stage(config)
    # What stands on the pages, too, has them read anew.
    parts = [digest(MADE_OF), theme["repository_url"], config.html_baseurl]
    config.lookback_made_of = " ".join(parts)


def unique(assets: list) -> list:
    """Without repetitions, and without what no page of ours needs."""
    kept = {}
    for asset in assets:
        name = str(getattr(asset, "filename", None) or "")
        if not any(part in name for part in UNUSED_ASSETS):
            body = getattr(asset, "attributes", {}).get("body")
            kept.setdefault((name, body), asset)
    return list(kept.values())


def drop_progress_bars(app: Sphinx, doctree: nodes.document) -> None:
    """A bar that ran while the book was built tells a reader nothing."""
    for output in list(doctree.findall(nodes.container)):
        if output.get("nb_element") == "mime_bundle":
            forms = {form.get("mime_type"): form for form in output.children}
            if PROGRESS in forms.get("text/plain", nodes.Text("")).astext():
                output.parent.remove(output)


def tidy_exercises(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Exercise 9 · ★★ Write the scores, where it was Exercise 9 (★★ …).

    sphinx-exercise also gives the inside of every exercise the same id.
    """
    for section in doctree.findall(nodes.section):
        if section["ids"] in (["exercise-content"], ["solution-content"]):
            section["ids"] = []
    for title in doctree.findall(nodes.title):
        texts = list(title.findall(nodes.Text))
        if " (" in texts and texts[-1] == ")":
            opening = texts[texts.index(" (")]
            opening.parent.replace(opening, nodes.Text(" · "))
            texts[-1].parent.remove(texts[-1])


def tidy_context(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict,
    doctree: nodes.document | None,
) -> None:
    """Each asset once, none of an unused extension's, KaTeX where needed."""
    if doctree is not None and (
        next(doctree.findall(nodes.math), None) is not None
        or next(doctree.findall(nodes.math_block), None) is not None
    ):
        app.add_css_file("katex/katex.min.css", priority=800)
    for kind in ("css_files", "script_files"):
        context[kind] = unique(context[kind])


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Serve the notebooks; drop old pages, and files never asked for."""
    if exception is not None:
        return
    known = {f"{name}.html" for name in app.env.found_docs}
    known |= {f"book/{old}.html" for old in facts.formerly(notation.pages())}
    for page in (Path(app.outdir) / "book").glob("*.html"):
        if f"book/{page.name}" not in known:
            page.unlink()
    # Not through html_extra_path, which obeys the sources' exclude_patterns.
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        copy(notebook, Path(app.outdir) / "notebooks" / notebook.name)
    for folder in UNUSED_FOLDERS:
        shutil.rmtree(Path(app.outdir) / folder, ignore_errors=True)


def setup(app: Sphinx) -> dict:
    app.add_config_value("lookback_made_of", "", "env", types=[str])
    app.connect("config-inited", drop_unused_extensions, priority=1)
    app.connect("config-inited", configure)
    app.add_js_file(None, body=EARLY_THEME, priority=50)
    app.add_css_file("icons.css", priority=850)
    app.add_css_file("lookback.css", priority=900)
    app.add_js_file("lookback.js", priority=900, loading_method="defer")
    app.connect("doctree-read", drop_progress_bars)
    app.connect("doctree-resolved", tidy_exercises)
    app.connect("html-page-context", tidy_context)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
