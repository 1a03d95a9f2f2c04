"""The directive `drawing`: an SVG of the book's own, set into the page.

    ```{drawing} ladder.svg
    :name: fig-ladder
    :alt: Rungs from the fixed vector to the Transformer.
    One part changes at every rung.
    ```

Set into the page, not linked to, so that the page's colours (`--lb-ink` and
its family in lookback.css) reach it and it turns dark with them.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
DRAWINGS = ROOT / "book" / "_static" / "drawings"
SVG = "http://www.w3.org/2000/svg"
XLINK = "{http://www.w3.org/1999/xlink}href"


def prefix_ids(root: ElementTree.Element, prefix: str) -> None:
    """Make ids unique in the page, and what points at them follow."""
    ids = {node.get("id") for node in root.iter() if node.get("id")}
    for node in root.iter():
        for key, value in list(node.attrib.items()):
            if key == "id":
                node.set(key, f"{prefix}-{value}")
            elif key in ("href", XLINK) and value[1:] in ids:
                node.set(key, f"#{prefix}-{value[1:]}")
            elif "url(#" in value:
                node.set(key, value.replace("url(#", f"url(#{prefix}-"))
        if node.tag == f"{{{SVG}}}style" and node.text:
            text = node.text.replace("url(#", f"url(#{prefix}-")
            # Nested, so that one drawing's rules cannot reach another's.
            node.text = f".{prefix} {{ {text} }}"


def inline(path: Path, alt: str) -> str:
    """The drawing as one labelled picture, ready to stand in HTML."""
    ElementTree.register_namespace("", SVG)
    root = ElementTree.parse(path).getroot()
    if root.tag != f"{{{SVG}}}svg" or not root.get("viewBox"):
        raise ValueError("it is not an <svg> with a viewBox")
    prefix = f"drawing-{re.sub(r'[^a-z0-9_]+', '-', path.stem.lower())}"
    prefix_ids(root, prefix)
    width = root.attrib.pop("width", root.get("viewBox").split()[2])
    root.attrib.pop("height", None)
    root.set("role", "img")
    root.set("aria-label", alt)
    root.set("class", f"drawing {prefix}")
    root.set("style", f"max-width: {float(width.removesuffix('px')):g}px")
    text = ElementTree.tostring(root, encoding="unicode")
    return text.replace(f"<{SVG}", "<svg")


class Drawing(SphinxDirective):
    """A figure whose picture is the SVG itself."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {
        "alt": directives.unchanged_required,
        "name": directives.unchanged,
        "class": directives.class_option,
    }

    def run(self) -> list[nodes.Node]:
        if "alt" not in self.options:
            raise self.error("a drawing needs :alt:, what a listener is told")
        path = DRAWINGS / self.arguments[0]
        self.env.note_dependency(str(path))
        return self.figure(path)

    def figure(self, path: Path) -> list[nodes.Node]:
        """The drawing in its figure, with its words and its caption."""
        try:
            html = inline(path, self.options["alt"])
        except (OSError, ValueError, ElementTree.ParseError) as error:
            raise self.error(f"drawing {path.name}: {error}") from error
        figure = nodes.figure("", classes=["drawing-figure"])
        figure["drawing"], figure["alt"] = path.name, self.options["alt"]
        figure["classes"] += self.options.get("class", [])
        figure += nodes.raw("", html, format="html")
        if self.content:
            figure += self.caption()
        self.set_source_info(figure)
        self.add_name(figure)
        return [figure]

    def caption(self) -> nodes.caption:
        """The body, one paragraph, as the figure's caption."""
        text = "\n".join(self.content)
        children, messages = self.state.inline_text(text, self.lineno)
        return nodes.caption(text, "", *children, *messages)


def setup(app: Sphinx) -> dict:
    app.add_directive("drawing", Drawing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
