"""What every widget is: an anywidget with a picture to stand in for it.

`module` and `style` make a widget's `_esm` and `_css` from its own files and
those of `lib`, so that each reaches the browser whole and requests nothing. The
picture (SVG) and the words stand where scripts do not run.
"""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import anywidget
import numpy as np
from matplotlib.figure import Figure
from traitlets import Float, Int

from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import need

HERE = Path(__file__).parent
# import { a, b } from "./c.js";   import limits from "./d.json" with { … };
IMPORT = re.compile(
    r'^import (?P<what>[^"]*) from "(?P<path>\.{1,2}/[^"]+)"'
    r'(?: with \{ type: "json" \})?;\n',
    re.MULTILINE,
)
# What would still load a module: no line may begin so after the above.
LEFT = re.compile(
    r"^(?:import\b|export\s*(?:\*|\{[^}]*\})\s*from\b).*", re.MULTILINE
)

# Comments on lines of their own are left out: they are half of a script. So is
# what indents a line; no text of a script spans two.
COMMENT = re.compile(
    r"^[ \t]*(?://[^\n]*|/\*\*(?:(?!\*/).)*\*/[ \t]*)\n",
    re.MULTILINE | re.DOTALL,
)
INDENT = re.compile(r"^[ \t]+", re.MULTILINE)

# How a dictionary is sent if its order matters: notebook files sort keys.
AS_PAIRS = {
    "to_json": lambda value, _: [*map(list, value.items())],
    "from_json": lambda pairs, _: dict(pairs),
}


def module(name: str, folder: Path = HERE) -> str:
    """A widget's script, after all that it imports, each module once.

    Raises:
        ValueError: for an import that cannot be put in its place.
    """
    texts: dict[Path, str] = {}

    def include(path: Path) -> None:
        if path in texts:
            return
        if not path.is_file():
            raise ValueError(f"{path.name} is imported, and is not there")
        texts[path] = ""  # a circle ends here
        text = path.read_text(encoding="utf-8")
        for found in IMPORT.finditer(text):
            named = found["what"].strip()
            other = (path.parent / found["path"]).resolve()
            if other.suffix == ".json":
                value = json.loads(other.read_text(encoding="utf-8"))
                texts[other] = f"const {named} = {json.dumps(value)};\n"
            elif re.search(r"\bas\b", named) or named[0] != "{":
                raise ValueError(f"{path.name}: only plain names: {named}")
            else:
                include(other)
        texts.pop(path)  # it stands after what it imports
        texts[path] = INDENT.sub("", COMMENT.sub("", IMPORT.sub("", text)))
        left = LEFT.search(texts[path])
        if left:
            raise ValueError(f"{path.name}: no module for: {left[0]}")

    include((folder / f"{name}.js").resolve())
    return "".join(texts.values())


def limits(name: str) -> dict:
    """Numbers that a widget's script and its traits share: <name>.json."""
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def style(name: str, *more: str) -> str:
    """A widget's style sheet, after the one of `lib` that all use, and more.

    Each has its name before it: on a page of many widgets host.js puts each
    there once, so that what all use overrides no widget's own.
    """
    sheets = [f"lib/{part}.css" for part in ("view", *more)]
    return "".join(
        f"/* {sheet} */\n{(HERE / sheet).read_text(encoding='utf-8')}"
        for sheet in (*sheets, f"{name}.css")
    )


def softmax(scores) -> np.ndarray:
    """exp(e − max e) / Σ exp(e − max e), over the last axis."""
    raised = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


class Widget(anywidget.AnyWidget):
    """A widget that can also be drawn, and be put into words."""

    # ipywidgets 7 displays by it, which leaves out the picture and the words.
    _ipython_display_ = None

    def proposed(self, proposal: dict, names: tuple) -> SimpleNamespace:
        """The traits as they would be with the proposal accepted.

        Raises:
            TraitError: for True or False where a number is wanted.
        """
        trait, value = proposal["trait"], proposal["value"]
        number = isinstance(trait, (Float, Int))
        fit = not (number and isinstance(value, bool))
        need(fit, f"{trait.name} is {value}: give a number")
        state = {name: getattr(self, name) for name in names}
        state[trait.name] = value
        return SimpleNamespace(**state)

    def words(self) -> str:
        """The current state in one or two sentences."""
        raise NotImplementedError

    def draw(self, figure: Figure) -> None:
        """Draw the current state on a matplotlib figure."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs) -> tuple[dict, dict] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        data["text/plain"] = self.words()
        data["image/svg+xml"] = pictures.svg(self.draw)
        return data, metadata
