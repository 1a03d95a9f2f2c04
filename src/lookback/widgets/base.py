"""What every widget is: an anywidget with a picture to stand in for it.

`module` and `style` make a widget's `_esm` and `_css` from its own files and
the shared ones, so that each reaches the browser whole, with no request.
The picture (SVG) and the words stand where scripts do not run.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import anywidget
import numpy as np
from matplotlib.figure import Figure

from lookback.widgets import pictures

HERE = Path(__file__).parent
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)

# A dictionary whose order matters is sent so: notebook files sort the keys.
AS_PAIRS = {
    "to_json": lambda value, _: [*map(list, value.items())],
    "from_json": lambda pairs, _: dict(pairs),
}


def module(name: str) -> str:
    """A widget's script, the modules that it imports written in their place."""
    text = (HERE / f"{name}.js").read_text(encoding="utf-8")
    return IMPORT.sub(lambda match: module(match[1]), text)


def style(name: str) -> str:
    """A widget's style sheet after the one that all share."""
    return "".join(
        (HERE / f"{part}.css").read_text(encoding="utf-8")
        for part in ("shared", name)
    )


def softmax(scores) -> np.ndarray:
    """exp(e − max e) / Σ exp(e − max e), over the last axis."""
    raised = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


class Widget(anywidget.AnyWidget):
    """A widget that can also be drawn, and be put into words."""

    def proposed(self, proposal: dict, names: tuple) -> SimpleNamespace:
        """The traits as they would be with the proposal accepted."""
        state = {name: getattr(self, name) for name in names}
        state[proposal["trait"].name] = proposal["value"]
        return SimpleNamespace(**state)

    def words(self) -> str:
        """The present state in one or two sentences."""
        raise NotImplementedError

    def draw(self, figure: Figure) -> None:
        """The present state on a matplotlib figure."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs) -> tuple[dict, dict] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        data["text/plain"] = self.words()
        data["image/svg+xml"] = pictures.svg(self.draw)
        return data, metadata
