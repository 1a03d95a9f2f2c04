"""Where a model's parameters are: choose a real model, then change it.

The formulas are those of `lookback.budget`; they run in parameter_budget.js.
"""

from dataclasses import asdict

from matplotlib.figure import Figure
from traitlets import Dict, List, Unicode, observe, validate

from lookback import budget
from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import need


class ParameterBudget(base.Widget):
    """Counts and shares; `sizes` are those of `model`, or the reader's.

    Raises:
        TraitError: for an unknown model and for sizes that do not fit.
    """

    _esm = base.module("parameter_budget")
    _css = base.style("parameter_budget")
    models = List(Dict()).tag(sync=True)
    model = Unicode().tag(sync=True)
    sizes = Dict().tag(sync=True)

    def __init__(self, model: str = "Transformer base"):
        models = [
            {"name": name, "reported": said, "sizes": asdict(sizes)}
            for (name, sizes), said in zip(
                budget.MODELS.items(), budget.REPORTED.values(), strict=True
            )
        ]
        first = budget.MODELS.get(model, budget.MODELS["Transformer base"])
        super().__init__(models=models, model=model, sizes=asdict(first))

    @validate("model")
    def _known(self, proposal):
        names = [one["name"] for one in self.models] or list(budget.MODELS)
        known = proposal["value"] in names
        need(known, f"model {proposal['value']!r}: {', '.join(names)} exist")
        return proposal["value"]

    @validate("models", "sizes")
    def _fits(self, proposal):
        new, name = proposal["value"], proposal["trait"].name
        try:
            for one in new if name == "models" else [{"sizes": new}]:
                budget.Sizes(**one["sizes"])
        except (KeyError, TypeError, ValueError) as error:
            need(False, str(error))
        return new

    @observe("model")
    def _published(self, change):
        for one in self.models:
            if one["name"] == change["new"]:
                self.sizes = dict(one["sizes"])

    def parts(self) -> dict[str, int]:
        """The counts, as the widget's script computes them."""
        return budget.count(budget.Sizes(**self.sizes))

    def words(self) -> str:
        parts = self.parts()
        total = sum(parts.values())
        each = (f"{k} {v:,} ({v / total:.1%})" for k, v in parts.items())
        return f"{self.model}: {total:,} parameters. {'; '.join(each)}."

    def draw(self, figure: Figure) -> None:
        axes, parts = figure.subplots(), self.parts()
        shares = [100 * n / sum(parts.values()) for n in parts.values()]
        pictures.lengths(axes, list(parts), shares, "%.1f%%")
        axes.set(title=self.model, xlabel="% of the parameters", xlim=(0, 110))
