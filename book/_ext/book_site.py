"""What makes the built folder one self-contained site.

Everything that a page loads is staged from `.cache/libraries` (fetched by
`tools/libraries.py` at exact versions) into the site; the theme's parts that
the book does not use are dropped; and what the cells printed is thrown away
when the code or the records they printed from have changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / ".cache" / "libraries"
STAGED = ROOT / ".cache" / "site"

# Cells are run anew when one of these changes.
CODE = (
    "src/lookback/**/*",
    "requirements.txt",
    "package.json",
    "book/_ext/book_site.py",  # it sets the cells' environment
)
# Pages are read anew when one of these changes.
TEXT = (
    "book/_ext/**/*",
    "book/_static/drawings/*",
    "notebooks/*.ipynb",
)

# Theme icons: class on the page -> file of Font Awesome's solid set.
ICONS = {
    "fa-angle-left": "solid/angle-left",
    "fa-angle-right": "solid/angle-right",
    "fa-arrow-up": "solid/arrow-up",
    "fa-bars": "solid/bars",
    "fa-circle-half-stroke": "solid/circle-half-stroke",
    "fa-chevron-down": "solid/chevron-down",
    "fa-download": "solid/download",
    "fa-github": "brands/github",
    "fa-lightbulb": "solid/lightbulb",
    "fa-list": "solid/list",
    "fa-magnifying-glass": "solid/magnifying-glass",
    "fa-moon": "solid/moon",
    "fa-outdent": "solid/outdent",
    "fa-pencil": "solid/pencil",
    "fa-play": "solid/play",
    "fa-sun": "solid/sun",
}

# BertViz asks for these three; its frame finds them beside the pages.
VENDOR = {
    "requirejs/require.js": "vendor/require.js",
    "d3/dist/d3.min.js": "vendor/d3.min.js",
    "d3/LICENSE": "vendor/d3-LICENSE.txt",
    "jquery/dist/jquery.min.js": "vendor/jquery.min.js",
    "jquery/LICENSE.txt": "vendor/jquery-LICENSE.txt",
}

# The site's own address leads to the landing page.
DOOR = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="refresh" content="0; url=book/index.html">
<link rel="icon" href="_static/favicon.svg">
</head><body><p><a href="book/index.html">{title}</a></p></body></html>
"""

# Loaded by Jupyter Book on every page, and used on none of ours.
UNUSED_EXTENSIONS = ("sphinx_thebe", "sphinx_comments")

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


def write_if_new(path: Path, text: str) -> None:
    """Write, but keep the date of a file that would not change."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def copy(source: Path, target: Path) -> None:
    """Copy with dates, making folders on the way."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def icon_sheet() -> str:
    """A style sheet that draws the theme's icons without their script."""
    rules = []
    for name, source in ICONS.items():
        folder = LIBRARIES / "@fortawesome/fontawesome-free/svgs"
        svg = (folder / f"{source}.svg").read_text(encoding="utf-8")
        svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
        svg = svg.replace('"', "'").replace("#", "%23").strip()
        rules.append(f'.{name}{{--icon:url("data:image/svg+xml,{svg}")}}')
    licence = "/* Icons: Font Awesome Free, CC BY 4.0, fontawesome.com */"
    return "\n".join([licence, *rules, ""])


def stage_mathematics() -> None:
    """KaTeX's sheet and its woff2 fonts; older font formats are left out."""
    dist = LIBRARIES / "katex/dist"
    sheet = (dist / "katex.min.css").read_text(encoding="utf-8")
    sheet = re.sub(
        r",url\([^)]*\.(?:woff|ttf)\) format\(\"[a-z]+\"\)", "", sheet
    )
    write_if_new(STAGED / "static/katex/katex.min.css", sheet)
    for font in (dist / "fonts").glob("*.woff2"):
        copy(font, STAGED / "static/katex/fonts" / font.name)
    copy(dist.parent / "LICENSE", STAGED / "static/katex/LICENSE.txt")


def stage_fonts() -> None:
    """The text face, upright and italic, Latin letters only."""
    folder = LIBRARIES / "@fontsource-variable/source-serif-4"
    for style in ("normal", "italic"):
        name = f"source-serif-4-latin-wght-{style}.woff2"
        copy(folder / "files" / name, STAGED / "static/fonts" / name)
    copy(folder / "LICENSE", STAGED / "static/fonts/LICENSE.txt")


def stage(app: Sphinx, config: Config) -> None:
    """Lay out what the site serves and does not stand in `book/`."""
    if not LIBRARIES.exists():
        raise ExtensionError("the browser libraries are missing: run make book")
    shutil.rmtree(STAGED, ignore_errors=True)
    write_if_new(STAGED / "static/icons.css", icon_sheet())
    stage_mathematics()
    stage_fonts()
    for source, target in VENDOR.items():
        copy(LIBRARIES / source, STAGED / "extra" / target)
    write_if_new(
        STAGED / "extra/index.html", DOOR.format(title=config.html_title)
    )
    config.html_static_path.append(str(STAGED / "static"))
    config.html_extra_path.append(str(STAGED / "extra"))
    # Cells find it in their environment: BertViz's frames use our copies.
    os.environ["LOOKBACK_VENDOR"] = "../vendor"


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


def drop_unused_extensions(app: Sphinx, config: Config) -> None:
    """Disconnect extensions that Jupyter Book loads and we never use."""
    for listeners in app.events.listeners.values():
        for listener in list(listeners):
            module = getattr(listener.handler, "__module__", "") or ""
            if module.split(".")[0] in UNUSED_EXTENSIONS:
                app.disconnect(listener.id)


def site_address(config: Config) -> str:
    """GitHub Pages' address of the book, from the repository's alone."""
    url = config.html_theme_options["repository_url"]
    owner, name = url.rstrip("/").split("/")[-2:]
    return f"https://{owner}.github.io/{name}/"


def configure(app: Sphinx, config: Config) -> None:
    """Settings that follow from other settings."""
    if not config.html_baseurl:
        config.html_baseurl = site_address(config)
    stage(app, config)
    forget_stale_outputs(app, config)
    warm_up()


def unique(assets: list) -> list:
    """Without repetitions, and without what unused extensions left here."""
    kept = {}
    for asset in assets:
        name = str(getattr(asset, "filename", None) or "")
        if "sphinx-thebe" not in name:
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
    app.add_js_file(None, body=EARLY_THEME, priority=50)
    app.add_css_file("icons.css", priority=850)
    app.add_css_file("lookback.css", priority=900)
    app.add_js_file("lookback.js", priority=900, loading_method="defer")
    app.connect("doctree-read", drop_progress_bars)
    app.connect("doctree-resolved", tidy_exercises)
    app.connect("html-page-context", tidy_context)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
