"""What makes the built folder one self-contained site.

What a page loads is the site's own (staging.py); the theme's parts that the
book does not use are dropped; and what the cells printed is thrown away when
the code or the records they printed from have changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from docutils import nodes
from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor
from myst_nb.core.read import is_myst_markdown_notebook
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.display import status_iterator
from staging import STAGED, copy, stage, write_if_new

ROOT = Path(__file__).resolve().parents[2]

# Cells are run anew when one of these changes.
CODE = (
    "src/lookback/**/*",
    "requirements.txt",
    "tools/hashes.txt",
    "package.json",
    "book/_ext/book_site.py",  # it sets the cells' environment
)
# Pages are read anew when one of these changes.
TEXT = (
    "book/_ext/**/*",
    "book/_static/drawings/*",
    "notebooks/*.ipynb",
)

# Loaded by Jupyter Book on every page, and used on none of ours.
UNUSED_EXTENSIONS = ("sphinx_thebe", "sphinx_comments")

# What these, and sphinx-design, would have every page load.
UNUSED_ASSETS = ("sphinx-thebe", "sphinx-design", "design-tabs")

# What the theme copies into the site and no page asks for.
UNUSED_FOLDERS = ("_static/vendor", "_static/locales", "_static/images")

# How jupyter-cache reads our pages, and how many at most are run at a time.
READER = {"type": "plugin", "name": "myst_nb_md"}
KERNELS = 4

# In the text that tqdm leaves for where its bar cannot be drawn.
PROGRESS = "%|"

# Cells draw a PNG for the page, and an SVG for who takes the figures away.
PLOTS = 'c.InlineBackend.figure_formats = {"png", "svg"}\n'

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


def warm_up() -> None:
    """Build matplotlib's font cache here, not inside some reader's cell."""
    from matplotlib import font_manager

    font_manager.findfont("DejaVu Sans")


def forget_stale_outputs(app: Sphinx, config: Config) -> None:
    """Throw away executed cells whose code or records have changed.

    jupyter-cache keys on a page's own cells, not on the package that they
    import. The digests are Sphinx settings of the kind that rereads all pages.
    """
    config.lookback_code = digest(CODE)
    config.lookback_text = digest(TEXT)
    stamp = Path(app.outdir).parent / "cells.sha256"
    if stamp.exists() and stamp.read_text().strip() == config.lookback_code:
        return
    shutil.rmtree(stamp.parent / ".jupyter_cache", ignore_errors=True)
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(config.lookback_code + "\n")


def run_cells(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Run the cells of all pages to be read, a page on each core at a time.

    MyST-NB runs one page after another. It finds these in its cache, and where
    a cell has failed it runs the page once more and says so.
    """
    settings = env.mystnb_config
    paths = [Path(env.doc2path(name)) for name in docnames]
    pages = [
        str(path)
        for path in paths
        if is_myst_markdown_notebook(path.read_text(encoding="utf-8"))
    ]
    if settings.execution_mode != "cache" or not pages:
        return
    workers = min(KERNELS, os.cpu_count() or 1)
    cache = get_cache(settings.execution_cache_path)
    for page in pages:
        cache.add_nb_to_project(page, read_data=READER)

    def run(page: str) -> str:
        executor = load_executor("local-serial", cache)
        executor.run_and_cache(
            filter_uris=[page], timeout=workers * settings.execution_timeout
        )
        return Path(page).stem

    with ThreadPoolExecutor(workers) as pool:
        done = pool.map(run, pages)
        list(status_iterator(done, "running cells... ", length=len(pages)))


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
    # Cells find it in their environment: BertViz's frames use our copies.
    os.environ["LOOKBACK_VENDOR"] = "../vendor"
    profile = STAGED.with_name("ipython")
    write_if_new(profile / "profile_default/ipython_kernel_config.py", PLOTS)
    os.environ["IPYTHONDIR"] = str(profile)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # see run_cells
    forget_stale_outputs(app, config)
    config.lookback_text += theme["repository_url"]  # it stands on the pages
    config.lookback_text += config.html_baseurl
    warm_up()


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
    for page in (Path(app.outdir) / "book").glob("*.html"):
        if f"book/{page.name}" not in known:
            page.unlink()
    # Not through html_extra_path, which obeys the sources' exclude_patterns.
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        copy(notebook, Path(app.outdir) / "notebooks" / notebook.name)
    for folder in UNUSED_FOLDERS:
        shutil.rmtree(Path(app.outdir) / folder, ignore_errors=True)


def setup(app: Sphinx) -> dict:
    app.add_config_value("lookback_code", "", "env", types=[str])
    app.add_config_value("lookback_text", "", "env", types=[str])
    app.connect("config-inited", drop_unused_extensions, priority=1)
    app.connect("config-inited", configure)
    app.connect("env-before-read-docs", run_cells)
    app.add_js_file(None, body=EARLY_THEME, priority=50)
    app.add_css_file("icons.css", priority=850)
    app.add_css_file("lookback.css", priority=900)
    app.add_js_file("lookback.js", priority=900, loading_method="defer")
    app.connect("doctree-read", drop_progress_bars)
    app.connect("doctree-resolved", tidy_exercises)
    app.connect("html-page-context", tidy_context)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
