"""What keeps a page light when it is opened: the rest waits until it is near.

Long values of the widgets' states, and the texts of BertViz's frames, stand in
files of their own, named by what is in them; `host.js` asks for one when its
figure comes near. Pictures load when they come near. Both have their place
kept, so that nothing jumps; how high a widget stands, Chromium has measured.
Fonts hold the letters that the book's pages have.

A value is a classic script, since browsers refuse all else from disk. Bytes
are served packed as they are, and stand in such a script for the disk alone.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

from assets import ROOT
from docutils import nodes
from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont
from PIL import Image
from sphinx.application import Sphinx

FONTS = ROOT / ".cache" / "fonts"
WAITING = "_static/waiting"
IMAGE = re.compile(r'<img(?=[^>]* src="\.\./_images/([^"]+)")(?![^>]*loading=)')
PICTURE = re.compile('<div class="widget-picture docutils container"')
HEIGHTS = Path(__file__).with_name("heights.json")  # tests/site/heights.py
POINT = 4 / 3  # pixels
# The text face's, beside what all text needs: numbers of one width, as in
# tables, and its weights, as the style sheet asks for them.
FEATURES = ("tnum", "lnum", "pnum")
WEIGHTS = (400, 700)


def keep(outdir: str | Path, value: object) -> str:
    """Lay a value, JSON or bytes, where the host finds it by this name."""
    folder = Path(outdir, WAITING)
    folder.mkdir(parents=True, exist_ok=True)
    packed = b""
    if isinstance(value, bytes):
        packed = gzip.compress(value, mtime=0)
        value = b64encode(packed).decode()
    text = json.dumps(value)
    name = sha256(text.encode()).hexdigest()[:16]
    if packed:
        (folder / f"{name}.bin").write_bytes(packed)
    script = f'(self.lookbackCame ??= {{}})["{name}"] = {text};\n'
    (folder / f"{name}.js").write_text(script, encoding="utf-8")
    return name


def size(path: Path) -> tuple[int, int]:
    """Width and height of a picture, in pixels of the page."""
    if path.suffix != ".svg":
        with Image.open(path) as image:
            return image.size
    root = ElementTree.parse(path).getroot()
    both = (root.get(name) for name in ("width", "height"))
    return tuple(round(POINT * float(one.removesuffix("pt"))) for one in both)


def keep_places(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict,
    doctree: nodes.document | None,
) -> None:
    """Let the cells' pictures load when they come near, their place kept.

    The still picture of a widget has the place that the widget will need.
    """
    if app.builder.format != "html" or "body" not in context:
        return
    images = app.builder.images.items()
    found = {new: Path(app.srcdir, old) for old, new in images}

    def place(match: re.Match) -> str:
        width, height = size(found[unescape(match[1])])
        return f'<img loading="lazy" width="{width}" height="{height}"'

    rooms = iter(json.loads(HEIGHTS.read_text()).get(pagename, []))

    def room(match: re.Match) -> str:
        narrow, wide = next(rooms, (0, 0))
        style = f"--narrow: {narrow}px; --wide: {wide}px"
        return f'{match[0]} style="{style}"'

    body = IMAGE.sub(place, context["body"])
    context["body"] = PICTURE.sub(room, body)


def shrink(path: Path, letters: str) -> None:
    """Leave in a font what the pages show of it, as it was left before."""
    known = sha256(path.read_bytes() + letters.encode()).hexdigest()
    small = FONTS / f"{known}.woff2"
    if not small.exists():
        font = TTFont(path)
        options = subset.Options()
        options.hinting = False
        options.layout_features += FEATURES
        worker = subset.Subsetter(options)
        worker.populate(text=letters)
        worker.subset(font)
        if "fvar" in font:
            font = instantiateVariableFont(font, {"wght": WEIGHTS})
        font.flavor = "woff2"
        small.parent.mkdir(parents=True, exist_ok=True)
        font.save(small)
    shutil.copy(small, path)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Drop the files that no page waits for; make the fonts small."""
    if exception is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    pages = [
        path.read_text(encoding="utf-8")
        for path in [*out.glob("*.html"), *out.glob("book/*.html")]
    ]
    every = "".join(pages)
    for path in Path(out, WAITING).glob("*"):
        if path.stem not in every:
            path.unlink()
    # Beside the pages' own, the letters of what people type and machines write.
    typed = (*range(32, 127), *range(160, 384))
    letters = "".join(sorted({*map(chr, typed), *unescape(every)}))
    for path in out.glob("_static/**/*.woff2"):
        shrink(path, letters)


def setup(app: Sphinx) -> dict:
    """Called by Sphinx."""
    app.connect("html-page-context", keep_places)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
