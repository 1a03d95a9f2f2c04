"""The still pictures that stand in for widgets where no script runs.

Each function draws one kind on a matplotlib figure; `svg` turns that into
text, always the same for the same picture.
"""

import textwrap
from collections.abc import Callable
from io import StringIO

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

INK, BLUE = "#1c2129", "#08519c"
SETTINGS = {
    "svg.hashsalt": "lookback",
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,
}


def svg(draw: Callable[[Figure], None]) -> str:
    """What `draw` puts on an empty figure, as SVG."""
    text = StringIO()
    with rc_context(SETTINGS):
        figure = Figure(figsize=(6.4, 3.2), layout="constrained")
        draw(figure)
        for axes in figure.axes:
            for axis in (axes.xaxis, axes.yaxis):
                if axis.get_scale() == "log":  # its own are mathematics
                    axis.set_major_formatter("{x:g}")
                    axis.set_minor_formatter(NullFormatter())
        FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None})
    return text.getvalue()


def lengths(axes: Axes, labels, numbers, fmt: str) -> None:
    """One bar for each label, the first on top, its number beside it."""
    drawn = axes.barh(range(len(labels)), numbers, color=BLUE)
    axes.bar_label(drawn, fmt=fmt, padding=3)
    axes.set_yticks(range(len(labels)), labels)
    axes.spines[["top", "right"]].set_visible(False)
    if not axes.yaxis_inverted():
        axes.invert_yaxis()


def bars(figure: Figure, labels, scores, weights) -> None:
    """Scores and weights side by side, a bar for each label."""
    charts = figure.subplots(1, 2, sharey=True)
    named = zip(charts, ("scores", "weights"), (scores, weights), strict=True)
    for axes, title, numbers in named:
        lengths(axes, labels, numbers, "%.2f")
        axes.set(title=title)
        axes.margins(x=0.2)


def grid(figure: Figure, weights, source, target, row: int) -> None:
    """A map of weights, target × source, one row framed."""
    axes = figure.subplots()
    image = axes.imshow(weights, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(source)), source, rotation=60)
    axes.set_yticks(range(len(target)), target)
    axes.axhspan(row - 0.5, row + 0.5, fill=False, ec=INK)
    figure.colorbar(image, label="weight α")


def maps(figure: Figure, weights) -> None:
    """Small maps of weights, a row per layer and a column per head."""
    layers, heads = weights.shape[:2]
    charts = figure.subplots(layers, heads, squeeze=False)
    for layer, row in enumerate(charts):
        for head, axes in enumerate(row):
            axes.imshow(weights[layer, head], cmap="Blues", vmin=0, vmax=1)
            axes.set(xticks=[], yticks=[])
            axes.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=7)


def question(figure: Figure, text: str, options: list[str]) -> None:
    """A question and its options, one below the other."""
    lines = textwrap.wrap(text, 75)
    for option in options:
        lines += ["", *textwrap.wrap("○ " + option, 75)]
    figure.set_size_inches(6.4, 0.2 * len(lines) + 0.3)
    figure.text(0.02, 0.98, "\n".join(lines), va="top")


def blanks(figure: Figure, labels: list[str]) -> None:
    """A line to write on for each label."""
    figure.set_size_inches(6.4, 0.3 * len(labels) + 0.1)
    for place, label in enumerate(labels, start=1):
        height = 1 - place / (len(labels) + 0.5)
        figure.text(0.02, height, f"{label}:  {'_' * 16}")


def route(figure: Figure, stops: list[str]) -> None:
    """Boxes in a row, an arrow from each to the next; long texts in lines."""
    figure.set_size_inches(6.4, 1.2)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.axis("off")
    lines = ["\n".join(_in_lines(text, stops)) for text in stops]
    wide = [max(map(len, text.split("\n"))) + 3 for text in lines]
    gap = max(4, (70 - sum(wide)) / len(stops))  # in letters, as all of it
    box = {"boxstyle": "round,pad=.5", "fc": "white", "ec": BLUE}
    arrow = {"arrowstyle": "->", "color": INK}
    left = gap / 2
    for i, (text, width) in enumerate(zip(lines, wide, strict=True)):
        axes.text(left + width / 2, 0, text, ha="center", va="center", bbox=box)
        if i:
            ends = (left - 0.2, 0), (left - gap + 0.2, 0)
            axes.annotate("", *ends, arrowprops=arrow)
        left += width + gap
    axes.set(xlim=(0, left - gap / 2), ylim=(-1, 1))


def _in_lines(text: str, stops: list[str]) -> list[str]:
    """A stop's text, in lines as short as their number asks."""
    most = max(8, 60 // len(stops))
    return [
        part for line in text.split("\n") for part in textwrap.wrap(line, most)
    ]


def ranking(figure: Figure, labels, numbers, title: str) -> None:
    """One bar for each label, the first on top."""
    figure.set_size_inches(6.4, 0.3 * len(labels) + 0.8)
    axes = figure.subplots()
    lengths(axes, labels, numbers, "%.3g")
    axes.set(xlabel=title)
    axes.margins(x=0.12)
