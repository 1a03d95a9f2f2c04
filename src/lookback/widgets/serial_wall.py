"""A recurrent layer and self-attention race against the clock.

    T_p = Σ_s ⌈m_s / p⌉   over stages s, each of which waits for the last

Vaswani et al. 2017, arXiv 1706.03762, Table 1, with finite processors. The
schedule runs in serial_wall.js; `lookback.serial` is the same in Python.
"""

from matplotlib.figure import Figure
from traitlets import Int, observe, validate

from lookback import serial
from lookback.widgets import base
from lookback.widgets.lib.checks import need

LIMITS = base.limits("serial_wall")
CELLS = {1: "tanh network", 3: "GRU", 4: "LSTM"}


class SerialWall(base.Widget):
    """Both layers read `length` words of dimension `width`, tick by tick.

    `workers` multiplications are made in a tick; `gates` is 1 for a tanh
    network, 3 for a GRU, 4 for an LSTM; `step` is the tick, and goes back to
    0 when anything else changes.

    Raises:
        TraitError: for sizes out of range or a tick after the end.
    """

    _esm = base.module("serial_wall")
    _css = base.style("serial_wall")
    length = Int(12).tag(sync=True)
    width = Int(16).tag(sync=True)
    workers = Int(2048).tag(sync=True)
    gates = Int(3).tag(sync=True)
    step = Int(0).tag(sync=True)

    def ticks(self) -> dict[str, int]:
        """T_p of both layers."""
        recurrent = serial.recurrent(self.length, self.width, self.gates)
        attention = serial.self_attention(self.length, self.width)
        return {
            CELLS[self.gates]: serial.ticks(recurrent, self.workers),
            "self-attention": serial.ticks(attention, self.workers),
        }

    @validate("length", "width", "workers")
    def _fits(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        most = LIMITS[name]
        need(1 <= value <= most, f"{name} is {value}: give 1 to {most:,}")
        return value

    @validate("gates", "step")
    def _known(self, proposal):
        value = proposal["value"]
        if proposal["trait"].name == "gates":
            need(value in CELLS, f"gates is {value}: give 1, 3 or 4")
            return value
        last = max(self.ticks().values())
        need(0 <= value <= last, f"step is {value}: 0 to {last:,} exist")
        return value

    @observe("length", "width", "workers", "gates")
    def _again(self, change):
        self.step = 0

    def words(self) -> str:
        each = (f"{name} {n:,} ticks" for name, n in self.ticks().items())
        given = f"{self.length} words of dimension {self.width}"
        return f"{given}, {self.workers:,} processors: {', '.join(each)}."

    def draw(self, figure: Figure) -> None:
        found, axes = self.ticks(), figure.subplots()
        drawn = axes.barh(list(found), list(found.values()))
        axes.bar_label(drawn, fmt="{:,.0f}", padding=3)
        axes.set(xlabel=f"ticks with {self.workers:,} processors")
        axes.margins(x=0.2)
        axes.invert_yaxis()
