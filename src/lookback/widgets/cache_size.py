"""How large is a cache of keys and values?

    2 · layers · kv_heads · d_k · length · bytes

of so many tokens as have been read or, with a window, as fit into it.

`lookback.modern_gpt.cache_bytes`, run in cache_size.js.
"""

from matplotlib.figure import Figure
from traitlets import Int, validate

from lookback.modern_gpt import cache_bytes
from lookback.widgets import base
from lookback.widgets.lib.checks import need

LIMITS = base.limits("cache_size")
MOST = {
    "layers": LIMITS["layers"],
    "heads": LIMITS["heads"],
    "kv_heads": LIMITS["heads"],
    "d_k": LIMITS["d_k"],
    "length": LIMITS["length"],
}


class CacheSize(base.Widget):
    """The cache of a model of the reader's choice, in bytes.

    Raises:
        TraitError: for a size out of range, or heads that cannot share.
    """

    _esm = base.module("cache_size")
    _css = base.style("cache_size")
    layers = Int(32).tag(sync=True)
    heads = Int(32).tag(sync=True)
    kv_heads = Int(8).tag(sync=True)
    d_k = Int(128).tag(sync=True)
    length = Int(4096).tag(sync=True)
    window = Int(4096).tag(sync=True)  # 0: there is none
    bytes = Int(2).tag(sync=True)

    @validate(*MOST, "window", "bytes")
    def _fits(self, proposal):
        new = self.proposed(proposal, (*MOST, "window", "bytes"))
        for name, most in MOST.items():
            value = getattr(new, name)
            fit = 1 <= value <= most
            need(fit, f"{name} is {value}: give 1 to {most}")
        most = LIMITS["window"]
        fit = 0 <= new.window <= most
        need(fit, f"window is {new.window}: give 0 to {most}")
        need(
            new.bytes in LIMITS["bytes"],
            f"bytes is {new.bytes}: give one of {LIMITS['bytes']}",
        )
        return proposal["value"]

    def token(self) -> int:
        """Bytes of one token."""
        return cache_bytes(self.layers, self.kv_heads, self.d_k, 1, self.bytes)

    def whole(self, length: int, heads: int) -> int:
        """Bytes after so many tokens, with so many KV heads."""
        return cache_bytes(
            self.layers,
            heads,
            self.d_k,
            length,
            self.bytes,
            self.window or None,
        )

    def words(self) -> str:
        return (
            f"{self.layers} layers, {self.kv_heads} KV heads "
            f"with {self.d_k} numbers of {self.bytes} bytes: {self.token():,} "
            f"bytes a token, {self.whole(self.length, self.kv_heads):,} for "
            f"{self.length:,} tokens"
            + (f" with a window of {self.window:,}." if self.window else ".")
        )

    def draw(self, figure: Figure) -> None:
        axes = figure.subplots()
        lengths = [self.length * i // 8 for i in range(9)]
        for name, heads in (("as it is", self.kv_heads), ("all", self.heads)):
            sizes = [self.whole(n, heads) / 1e6 for n in lengths]
            axes.plot(lengths, sizes, label=name)
        axes.set(xlabel="tokens", ylabel="million bytes")
        axes.legend(title="KV heads")
