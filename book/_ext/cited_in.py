"""Under each entry of the bibliography: the chapters that cite it, as links.

sphinxcontrib-bibtex knows where a work is cited, but links back only within
one page.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode
from sphinxcontrib.bibtex.domain import get_docnames


def bibliographies(app: Sphinx, env: BuildEnvironment) -> set[str]:
    """Pages to write again, since any page may have cited anew."""
    return {key.docname for key in env.get_domain("cite").bibliographies}


def places(env: BuildEnvironment, key: str) -> dict[str, str]:
    """{page: where it first cites the work}, in the order of the book."""
    refs = env.get_domain("cite").citation_refs
    order = list(get_docnames(env))
    found: dict[str, str] = {}
    for ref in sorted(refs, key=lambda ref: order.index(ref.docname)):
        if key in {target.key for target in ref.targets}:
            found.setdefault(ref.docname, ref.citation_ref_id)
    return found


def link_back(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Add a line of links to each entry."""
    keys = {c.citation_id: c.key for c in app.env.get_domain("cite").citations}
    for entry in doctree.findall(nodes.citation):
        line = nodes.inline("", "Cited in", classes=["cited-in"])
        key = next(keys[name] for name in entry["ids"] if name in keys)
        for page, place in places(app.env, key).items():
            title = app.env.titles[page].astext().split(":")[0]
            line += nodes.Text(", " if len(line) > 1 else " ")
            line += make_refnode(
                app.builder, docname, page, place, nodes.Text(title)
            )
        entry[-1] += line


def setup(app: Sphinx) -> dict:
    app.connect("env-updated", bibliographies)
    app.connect("doctree-resolved", link_back)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
