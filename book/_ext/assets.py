"""Lay out what the built site serves and `book/` does not hold.

From `node_modules`, installed by `tools/libraries.py` at exact versions:
KaTeX's sheet and fonts, the text face, the theme's icons as one small sheet,
reveal.js for the slides, and the three libraries that BertViz's frames ask for.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import facts
import notation
from sphinx.config import Config
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / "node_modules"
STAGED = ROOT / ".cache" / "site"

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
<link rel="icon" href="data:,">
</head><body><p><a href="book/index.html">{title}</a></p></body></html>
"""

# A page's former address leads to the page, to the place in it and to what a
# link to a figure says, too.
MOVED = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="robots" content="noindex">
<link rel="canonical" href="{base}{stem}.html">
<link rel="icon" href="data:,">
<script>
location.replace("{stem}.html" + location.search + location.hash);
</script>
<noscript><meta http-equiv="refresh" content="0; url={stem}.html"></noscript>
</head><body><p>It is now <a href="{stem}.html">{title}</a>.</p></body></html>
"""


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


def stage_slides() -> None:
    """What shows the slides: reveal.js, without its themes and plug-ins."""
    for name in ("dist/reveal.js", "dist/reveal.css", "LICENSE"):
        target = STAGED / "static/reveal" / Path(name).name
        copy(LIBRARIES / "reveal.js" / name, target)


def stage_moved(address: str) -> None:
    """A page at every former address, for the site at `address`, if known."""
    base = f"{address}book/" if address else ""
    for old, page in facts.formerly(notation.pages()).items():
        title = notation.TITLE.search(page.read_text("utf-8"))[1]
        html = MOVED.format(title=title, stem=page.stem, base=base)
        write_if_new(STAGED / f"extra/book/{old}.html", html)


def stage(config: Config) -> None:
    """Lay out what the site serves and does not stand in `book/`."""
    if not LIBRARIES.exists():
        raise ExtensionError("the browser libraries are missing: run make book")
    shutil.rmtree(STAGED, ignore_errors=True)
    write_if_new(STAGED / "static/icons.css", icon_sheet())
    stage_mathematics()
    stage_fonts()
    stage_slides()
    stage_moved(config.html_baseurl)
    for source, target in VENDOR.items():
        copy(LIBRARIES / source, STAGED / "extra" / target)
    write_if_new(
        STAGED / "extra/index.html", DOOR.format(title=config.html_title)
    )
    config.html_static_path.append(str(STAGED / "static"))
    config.html_extra_path.append(str(STAGED / "extra"))
