"""The directive `route`: the way through the book, drawn from the pages' stops.

    ```{route}
    The caption.
    ```

A page with a `stop` in its facts stands on the way, in the order of the book;
a dotted path leads from the stop before them to those with a `side-stop`. Each
has the name that it has in the sidebar, up to a colon, and is a link to it.
"""

from __future__ import annotations

import textwrap
from html import escape
from pathlib import Path

import facts
import notation
from assets import STAGED, write_if_new
from docutils import nodes
from drawing import Drawing
from sphinx.application import Sphinx
from sphinx.config import Config

FILE = STAGED / "static" / "drawings" / "route.svg"
LEFT, RIGHT, WIDTH = 118, 322, 440
TOP, STEP, FOOT = 64, 128, 70
LETTERS = 20  # of a name, in one line
SIDE = 120  # from one row of the side path to the next
STYLE = """<style>
text { font-family: var(--lb-ui, sans-serif); fill: var(--lb-ink, #1c2733);
  text-anchor: middle; font-size: 15.5px; paint-order: stroke;
  stroke: var(--lb-paper, #fdfbf7); stroke-width: 5px; }
a { text-decoration: none !important; }
.name { font-weight: 700; text-decoration: underline; }
a:hover .name, a:focus .name { fill: var(--lb-accent, #a8470f); }
.small { font-size: 14.5px; fill: var(--lb-ink-soft, #51606f); }
.way { stroke: var(--lb-accent, #a8470f); stroke-width: 4; fill: none; }
.side { stroke: var(--lb-ink-soft, #51606f); stroke-width: 2.5; fill: none;
  stroke-dasharray: 2 5; stroke-linecap: round; }
.tip { fill: var(--lb-ink-soft, #51606f); }
.hottip { fill: var(--lb-accent, #a8470f); }
</style>"""


def stops(pages: list[Path]) -> list[tuple[list[str], list[list[str]]]]:
    """Each stop, and those on the side path that leads from it.

    A stop is its name, the lines below it, and last the page it leads to.
    """
    found: list[tuple[list[str], list[list[str]]]] = []
    for page in pages:
        said = facts.read(page)
        lines = said.get("stop", said.get("side-stop", "")).split(" / ")[-2:]
        title = notation.TITLE.search(page.read_text("utf-8"))
        stop = [title[1].strip(), *lines, f"{page.stem}.html"]
        if "stop" in said:
            found.append((stop, []))
        elif "side-stop" in said:
            found[-1][1].append(stop)
    return found


def told(stops: list[list[str]]) -> str:
    """Stops in words."""
    return "; ".join(f"{name}, {' '.join(lines)}" for name, *lines, _ in stops)


def alt(way: list) -> str:
    """The route in words."""
    words = f"The route of the book as a path with {len(way)} stops: "
    words += f"{told([stop for stop, _ in way])}."
    for stop, side in way:
        if side:
            words += (
                f" From {stop[0]} a dotted side path leads to {told(side)}."
            )
    return words


def mark(stop: list[str], x: int, y: int, kind: str = "hottip") -> str:
    """A stop's dot, its name above and its lines below."""
    radius, above, below = (11, 20, 30) if kind == "hottip" else (8, 18, 28)
    name, *lines, page = map(escape, stop)
    drawn = [f'<circle class="{kind}" cx="{x}" cy="{y}" r="{radius}"/>']
    for row, line in enumerate(reversed(textwrap.wrap(name, LETTERS))):
        at = f'x="{x}" y="{y - above - 17 * row}"'
        drawn.insert(0, f'<text class="name" {at}>{line}</text>')
    for row, line in enumerate(lines):
        at = f'x="{x}" y="{y + below + 17 * row}"'
        drawn.append(f'<text class="small" {at}>{line}</text>')
    return "\n".join([f'<a href="{page}">', *drawn, "</a>"])


def beside(side: list[list[str]], x: int, y: int) -> str:
    """The dotted path from the stop at x, y, and what stands on it.

    Two stops a row, as on the way itself.
    """

    def flip(across: int) -> int:
        return across if x == LEFT else LEFT + RIGHT - across

    curve = (58, 2), (44, 38), (44, 64), (44, 104), (76, 120), (118, 120)
    points = [f"{flip(across)} {y + down}" for across, down in curve]
    line = f"M{x} {y}C{' '.join(points[:3])}C{' '.join(points[3:])}"
    drawn = []
    for place, stop in enumerate(side):
        row, first = place // 2, place % 2 == 0
        across, down = (130, RIGHT)[first == row % 2], y + 120 + SIDE * row
        if first and row:  # round the end of the row before
            out = flip(across + (88 if across == RIGHT else -88))
            line += f"C{out} {down - SIDE} {out} {down}"
            line += f" {flip(across)} {down}"
        line += f"L{flip(across)} {down}"
        drawn.append(mark(stop, flip(across), down, "tip"))
    return "\n".join([f'<path class="side" d="{line}"/>', *drawn])


def svg(way: list) -> str:
    """The route as a drawing, two stops a row, forth and back."""
    line, drawn, y, down = "", [], TOP, 0
    for row in range(0, len(way), 2):
        columns = (LEFT, RIGHT) if row % 4 == 0 else (RIGHT, LEFT)
        if row:  # round the end of the row before
            bend = 128 if down == STEP else 152
            out = columns[0] + (bend if columns[0] == RIGHT else -bend)
            line += f"C{out} {y} {out} {y + down} {columns[0]} {y + down}"
        y, down = y + down, STEP
        for x, (stop, side) in zip(columns, way[row : row + 2], strict=False):
            line += f"{'L' if line else 'M'}{x} {y}"
            if side:
                drawn.append(beside(side, x, y))
                down = 2 * STEP + SIDE * ((len(side) - 1) // 2)
            drawn.append(mark(stop, x, y))
    size = f'width="{WIDTH}" height="{y + FOOT}"'
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg"'
            f' viewBox="0 0 {WIDTH} {y + FOOT}" {size}>',
            STYLE,
            f'<rect {size} fill="var(--lb-paper, #fdfbf7)"/>',
            f'<path class="way" d="{line}"/>',
            *drawn,
            "</svg>\n",
        ]
    )


class Route(Drawing):
    """A figure like that of `drawing`; its words are those of the stops."""

    required_arguments = 0
    option_spec = {}

    def run(self) -> list[nodes.Node]:
        pages = notation.pages()
        for page in pages:
            self.env.note_dependency(str(page))
        self.options["alt"] = alt(stops(pages))
        figure = self.figure(FILE)
        for raw in figure[0].findall(nodes.raw):
            # A picture's links would be out of a keyboard's reach.
            group = raw.astext().replace('role="img"', 'role="group"')
            raw[0] = nodes.Text(group)
        return figure


def draw(app: Sphinx, config: Config) -> None:
    """Lay the drawing beside the others."""
    write_if_new(FILE, svg(stops(notation.pages())))


def setup(app: Sphinx) -> dict:
    app.add_directive("route", Route)
    app.connect("config-inited", draw, priority=900)  # the folder is new then
    return {"parallel_read_safe": True, "parallel_write_safe": True}
