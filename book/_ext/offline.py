"""What lets the book be read without a line: a worker, and files to take home.

    python book/_ext/offline.py _build/html    make the ZIP of a built site

The build lays a service worker into the site (Workbox, from `node_modules`)
that keeps what pages need. The foot of every page offers what of the PDF, the
EPUB and the ZIP has been made, and the page for teachers the archives and the
slides; a new build begins without all of them, since they were of the old one.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from assets import LIBRARIES, copy
from docutils import nodes
from sphinx.application import Sphinx
from teaching import taken

HERE = Path(__file__).resolve().parent
STEM = "looking-back"
OFFERS = {
    "pdf": "PDF",
    "epub": "EPUB",
    "zip": "ZIP of these pages, which opens from disk",
}
FOOT = re.compile(r'(?<=<p class="downloads">).*?(?=</p>)')
TAKE = re.compile(r'(?<=<div class="to-take">).*?(?=</div>)', re.DOTALL)
# Shown by lookback.js, when it has come true.
KEPT = (
    '<p class="kept" hidden>Your browser keeps this book: it opens without a'
    " network, too, with those of its translating machines that you have"
    " fetched.</p>"
    '<p class="newer" role="status" hidden>A newer version of this book has'
    " come. <button>Load it</button></p>"
)
MODULES = ("core", "precaching", "routing", "strategies")
# What pages do not ask for, or keep for themselves.
AWAY = re.compile(
    r"downloads/|slides/|workbox/|vendor/|sw\.js|_static/(machines|drawings)/"
    r"|_static/screenshot|_sphinx_design_static/|\.buildinfo|objects\.inv"
    r"|.*(\.map|LICENSE.*)$"
)
# What the ZIP does without: the other downloads of the foot, and the worker.
APART = rf"downloads/{STEM}\.|workbox/|sw\.js"


def made(site: Path) -> dict[str, Path]:
    """The downloads that are there, by their kind."""
    paths = {kind: site / "downloads" / f"{STEM}.{kind}" for kind in OFFERS}
    return {kind: path for kind, path in paths.items() if path.exists()}


def links(site: Path, page: Path) -> str:
    """What this page's foot offers."""
    up = "../" * (len(page.relative_to(site).parts) - 1)
    offers = [
        f'<a href="{up}downloads/{path.name}" download>{OFFERS[kind]}</a>'
        f" ({path.stat().st_size / 1e6:.0f} MB)"
        for kind, path in made(site).items()
    ]
    return f"The whole book as {', '.join(offers)}." if offers else ""


def kept(site: Path) -> dict[str, str]:
    """The files that a reader without a line needs, each with its SHA-256.

    What waits as bytes is fetched as bytes; its script is for the disk alone.
    """
    found = {}
    for path in sorted(site.rglob("*")):
        name = path.relative_to(site).as_posix()
        twin = path.suffix == ".js" and path.with_suffix(".bin").exists()
        if path.is_file() and not AWAY.match(name) and not twin:
            digest = sha256(path.read_bytes()).digest()
            found[name] = b64encode(digest).decode()
    return found


def lay(site: Path) -> None:
    """Offer what there is, then lay the worker, which knows every page."""
    for page in [*site.glob("*.html"), *site.glob("book/*.html")]:
        old = page.read_text(encoding="utf-8")
        new = FOOT.sub(links(site, page), old, count=1)
        new = TAKE.sub(lambda _: taken(site), new, count=1)
        if new != old:
            page.write_text(new, encoding="utf-8")
    files = [LIBRARIES / "workbox-sw/build/workbox-sw.js"]
    for module in MODULES:
        name = f"workbox-{module}"
        files.append(LIBRARIES / name / "build" / f"{name}.prod.js")
    for file in files:
        copy(file, site / "workbox" / file.name)
    text = (HERE / "service_worker.js").read_text(encoding="utf-8")
    listed = json.dumps(kept(site), indent=0)
    text = text.replace("FILES = {}", f"FILES = {listed}")
    (site / "sw.js").write_text(text, encoding="utf-8")


def pack(site: Path) -> Path:
    """The site as one file; from disk it needs no worker."""
    target = site / "downloads" / f"{STEM}.zip"
    target.parent.mkdir(exist_ok=True)
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for path in sorted(site.rglob("*")):
            name = path.relative_to(site).as_posix()
            if not path.is_file() or re.match(APART, name):
                continue
            data = path.read_bytes()
            if path.suffix == ".html":
                data = FOOT.sub("", data.decode("utf-8"), count=1).encode()
            archive.writestr(f"{STEM}/{name}", data)
    return target


def add_foot(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict,
    doctree: nodes.document | None,
) -> None:
    """Room for what the foot offers, and for what the worker has done."""
    foot = context.get("theme_extra_footer", "")
    context["theme_extra_footer"] = f'{foot}<p class="downloads"></p>{KEPT}'


def finish(app: Sphinx, exception: Exception | None) -> None:
    """A new site: what was made of the old one is no longer its book."""
    if exception is None and app.builder.format == "html":
        site = Path(app.outdir)
        for old in ("downloads", "slides"):
            shutil.rmtree(site / old, ignore_errors=True)
        lay(site)


def setup(app: Sphinx) -> dict:
    """Called by Sphinx."""
    # After the foot that page_meta gives.
    app.connect("html-page-context", add_foot, priority=600)
    app.connect("build-finished", finish, priority=900)  # pages are whole then
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    print(pack(Path(sys.argv[1])))
    lay(Path(sys.argv[1]))
