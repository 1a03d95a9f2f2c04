"""What a page says of itself, in its head and at its foot.

A description (its first sentences), a card with the book's picture, the
licence, the version that it was built of, and a link to report an error in it.
"""

from __future__ import annotations

import re
import subprocess
from html import escape
from pathlib import Path
from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).resolve().parents[2]
PICTURE = "_static/screenshot.png"
LONGEST = 200  # letters of a description
LICENCES = (
    ("CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/", "Text"),
    ("MIT", "https://opensource.org/license/mit", "code"),
)


def version(root: Path = ROOT) -> str:
    """The version, and with git the commit and its day."""
    text = (root / "pyproject.toml").read_text("utf-8")
    number = re.search(r'^version = "(.+)"$', text, re.MULTILINE)[1]
    asked = ["git", "log", "-1", "--format=%cs, %h"]
    try:
        found = subprocess.run(asked, cwd=root, capture_output=True, text=True)
    except OSError:
        return number
    return f"{number} ({found.stdout.strip()})" if found.stdout else number


def doi(root: Path = ROOT) -> str:
    """A link to the archived release that CITATION.cff names, if it does."""
    text = (root / "CITATION.cff").read_text("utf-8")
    found = re.search(r"^doi: (\S+)$", text, re.MULTILINE)
    if not found:
        return ""
    link = escape(f"https://doi.org/{found[1]}")
    return f' To cite it: <a href="{link}">doi:{escape(found[1])}</a>.'


def description(doctree: nodes.document) -> str:
    """The page's first sentences, as many as fit."""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        whole = re.findall(r".+?[.?!](?=\s|$)", text)
        said = ""
        for sentence in whole:
            if said and len(said + sentence) > LONGEST:
                break
            said += sentence
        if said:
            return said
    return ""


def card(title: str, said: str, pagename: str, base: str) -> str:
    """What a page's head says of it; its address where that is known."""
    tags = {"og:type": "article", "og:title": title, "og:description": said}
    if base:
        tags |= {
            "og:url": f"{base}{pagename}.html",
            "og:image": base + PICTURE,
            "twitter:card": "summary_large_image",
        }
    lines = [f'<meta name="description" content="{escape(said)}">']
    lines += [
        f'<meta property="{name}" content="{escape(value)}">'
        for name, value in tags.items()
    ]
    return "\n".join(lines)


def report(repository: str, page: str, built: str) -> str:
    """Where an error of this page is reported; the form knows both."""
    asked = {
        "template": "error.yml",
        "page": page,
        "version": built,
    }
    return f"{repository}/issues/new?{urlencode(asked)}"


def present(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict,
    doctree: nodes.document | None,
) -> None:
    """Give the page its card and its foot."""
    if app.builder.format != "html":
        return
    built = app.config.book_version
    if doctree:
        title = app.env.titles[pagename].astext()
        said = description(doctree)
        base = app.config.html_baseurl
        context["metatags"] += card(title, said, pagename, base)
    url = app.config.html_theme_options["repository_url"]
    licences = ", ".join(
        f'{what}: <a rel="license" href="{link}">{name}</a>'
        for name, link, what in LICENCES
    )
    context["theme_extra_footer"] = (
        f'<p>{licences}. Version <span class="version">{escape(built)}</span>. '
        f'<a class="report" href="{escape(report(url, pagename, built))}">'
        f"Report an error on this page</a>.{doi()}</p>"
    )


def configure(app: Sphinx, config: Config) -> None:
    config.book_version = version()


def setup(app: Sphinx) -> dict:
    app.add_config_value("book_version", "", "html", str)
    app.connect("config-inited", configure)
    app.connect("html-page-context", present)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
