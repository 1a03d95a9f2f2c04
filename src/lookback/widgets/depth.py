"""A stack of layers before any training: what goes up and what comes down.

    apart(X) = ‖X − 1 x̄ᵀ‖ / ‖X‖        at every level, on the way up
    ‖∂(Σ asked · top) / ∂X‖              at every level, on the way down

Dong et al. 2021, arXiv 2103.03404, for the first; Xiong et al. 2020, arXiv
2002.04745, for the second. It runs in stack.js; stack.py computes the same.
"""

from matplotlib.figure import Figure
from traitlets import Bool, Int, Unicode, validate

from lookback.residual import NORMS, token_spread
from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import need
from lookback.widgets.stack import run

LIMITS = base.limits("depth")
DEEPEST, TOKENS = LIMITS["depth"], LIMITS["tokens"]
TRAITS = ("tokens", "depth", "seed", "norm", "step")


class Depth(base.Widget):
    """Switch residual connections, norm and feed-forward; walk up the levels.

    `step` is the level that is shown; 0 is the input of the first layer.
    Raises TraitError for traits out of range.
    """

    _esm = base.module("depth")
    _css = base.style("depth")
    tokens = Int(6).tag(sync=True)
    depth = Int(12).tag(sync=True)
    seed = Int(1).tag(sync=True)
    residual = Bool(False).tag(sync=True)
    norm = Unicode("none").tag(sync=True)
    feedforward = Bool(False).tag(sync=True)
    step = Int(0).tag(sync=True)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        known = 2 <= new.tokens <= TOKENS
        need(known, f"tokens is {new.tokens}: 2 to {TOKENS}")
        deep = 1 <= new.depth <= DEEPEST
        need(deep, f"depth is {new.depth}: 1 to {DEEPEST} layers")
        need(0 <= new.seed < 2**31, f"seed is {new.seed}: 0 to 2³¹ − 1")
        need(new.norm in NORMS, f"norm is {new.norm!r}: {', '.join(NORMS)}")
        need(new.step >= 0, f"step is {new.step}: layers count from 0")
        return proposal["value"]

    def words(self) -> str:
        xs, gradients = run(self)
        share = gradients[0].norm() / gradients[-1].norm()
        on = {True: "on", False: "off"}
        return (
            f"{self.depth} layers; residual connections {on[self.residual]},"
            f" norm {self.norm}, feed-forward {on[self.feedforward]}."
            f" At the top the tokens lie"
            f" {float(token_spread(xs[-1])):.2g} of their length from their"
            " mean;"
            f" {float(xs[-1].norm() / xs[0].norm()):.2g} times as long as"
            f" below; the input's gradient is {float(share):.2g} times the"
            " top's."
        )

    def draw(self, figure: Figure) -> None:
        xs, gradients = run(self)
        share = [float(g.norm() / gradients[-1].norm()) for g in gradients]
        size = [float(x.norm() / xs[0].norm()) for x in xs]
        left, right = figure.subplots(1, 2)
        left.plot(
            [float(token_spread(x)) for x in xs], ".-", color=pictures.BLUE
        )
        left.set(title="token spread", xlabel="level", yscale="log")
        right.plot(share, ".-", label="gradient, top = 1")
        right.plot(size, ".--", label="length, bottom = 1")
        right.set(xlabel="level", yscale="log")
        right.legend()
