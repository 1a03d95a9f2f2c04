"""What every page of the built book forbids: a Content-Security-Policy.

A page runs the site's own scripts, the few inline ones that its build put
there (named by their SHA-256) and the widgets' modules, which the host hands
to the browser as blobs. Whatever else gets into a page, by a sentence or a
record, cannot run, load or send anything. Style sheets stay open to inline
ones: KaTeX and the widgets set theirs. `file:` is for a site opened from disk.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path

from lazy_load import keep
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)
SCRIPT = re.compile(r"<script([^>]*)>(.*?)</script", re.DOTALL | re.IGNORECASE)
# Firefox fetches the next page beforehand, which the policy forbids.
NEXT = re.compile(r'\s*<link rel="next"[^>]*>')
FRAME = re.compile(r'(<iframe[^>]*\s)srcdoc="([^"]*)"')
HEAD = re.compile(r'<meta charset="utf-8" ?/?>')
META = '<meta http-equiv="Content-Security-Policy"'
OWN = "'self' file:"

# Where the browser forbids storage, the theme's scripts would stop at its name.
EARLY = """<script>
for (const name of ["localStorage", "sessionStorage"]) {
  try { window[name]; } catch {
    const value = { getItem: () => null, setItem() {}, removeItem() {} };
    Object.defineProperty(window, name, { value });
  }
}
</script>"""


def inline(page: str) -> list[str]:
    """The scripts that stand in a page and in its frames, each once."""
    texts = [page, *(unescape(text) for _, text in FRAME.findall(page))]
    return sorted(
        {
            script
            for text in texts
            for attributes, script in SCRIPT.findall(text)
            if "src=" not in attributes and "json" not in attributes
        }
    )


def policy(page: str) -> str:
    """What may be loaded, run and sent by this page."""
    known = (
        f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
        for script in inline(page)
    )
    rules = {
        "default-src": "'none'",
        "script-src": " ".join([OWN, "blob:", *known]),
        "style-src": f"{OWN} 'unsafe-inline'",
        "img-src": f"{OWN} data:",
        "font-src": OWN,
        "connect-src": OWN,  # the search reads the pages that it found
        "form-action": OWN,
        "base-uri": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def guarded(page: str, outdir: Path) -> str:
    """A page with its policy before everything that it governs.

    Its frames' texts, whose scripts the policy names, wait in files of
    `outdir`: a frame is given its text by `host.js`, when it comes near.
    """
    if META in page:
        return page
    page = HEAD.sub(lambda found: found[0] + EARLY, NEXT.sub("", page), count=1)
    meta = f'{META} content="{policy(page)}">'
    page = FRAME.sub(
        lambda found: (
            f'{found[1]}data-waiting="{keep(outdir, unescape(found[2]))}"'
        ),
        page,
    )
    return HEAD.sub(lambda found: found[0] + meta, page, count=1)


def guard(app: Sphinx, exception: Exception | None) -> None:
    """Give every page that was written its policy, and say so once."""
    if exception is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for path in out.rglob("*.html"):
        if path.relative_to(out).parts[0] != "_static":
            page = path.read_text(encoding="utf-8")
            path.write_text(guarded(page, out), encoding="utf-8")
    logger.info(
        "forbidden on every page: scripts that the build did not put there,"
        " eval, plug-ins, and everything from another address"
    )


def setup(app: Sphinx) -> dict:
    """Called by Sphinx."""
    app.connect("build-finished", guard)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
