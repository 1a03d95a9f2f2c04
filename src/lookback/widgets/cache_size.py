"""How large are a language model's weights, and its cache?

The cache of keys and values has

    2 · layers · kv_heads · d_k · length · bytes

for as many tokens as have been read or, with a window, as fit into it
(`lookback.modern_gpt.cache_bytes`). The weights are those of
`lookback.modern_gpt.Published`, with heads of any width. It runs in
cache_size.js.
"""

from matplotlib.figure import Figure
from traitlets import Bool, Int, validate

from lookback.modern_gpt import Published, cache_bytes
from lookback.widgets import base
from lookback.widgets.lib.checks import need

LIMITS = base.limits("cache_size")
# The least and the most of each size.
RANGES = {
    "layers": (1, LIMITS["layers"]),
    "heads": (1, LIMITS["heads"]),
    "kv_heads": (1, LIMITS["heads"]),
    "d_k": (1, LIMITS["d_k"]),
    "window": (0, LIMITS["window"]),
    "d_model": (1, LIMITS["d_model"]),
    "d_ff": (1, LIMITS["d_ff"]),
    "vocab": (1, LIMITS["vocab"]),
    "positions": (0, LIMITS["positions"]),
    "length": (1, LIMITS["length"]),
}
# A model of cache_size.json, in this order.
PARTS = (*list(RANGES)[:-1], "tied", "gated", "biases")


class CacheSize(base.Widget):
    """Weights and cache of a model of the reader's choice, in bytes.

    Raises:
        TraitError: for a size out of range, or bytes that are not offered.
    """

    _esm = base.module("cache_size")
    _css = base.style("cache_size")
    layers = Int(32).tag(sync=True)
    heads = Int(32).tag(sync=True)
    kv_heads = Int(8).tag(sync=True)
    d_k = Int(128).tag(sync=True)
    window = Int(4096).tag(sync=True)  # 0: there is none
    d_model = Int(4096).tag(sync=True)
    d_ff = Int(14336).tag(sync=True)
    vocab = Int(32000).tag(sync=True)
    positions = Int(0).tag(sync=True)  # rows of a learned table
    tied = Bool(False).tag(sync=True)  # one table for input and output
    gated = Bool(True).tag(sync=True)  # SwiGLU: a third matrix
    biases = Bool(False).tag(sync=True)  # and LayerNorm, which has one, too
    length = Int(4096).tag(sync=True)
    bytes = Int(2).tag(sync=True)

    @validate(*RANGES, "bytes")
    def _fits(self, proposal):
        new = self.proposed(proposal, (*RANGES, "bytes"))
        for name, (least, most) in RANGES.items():
            value = getattr(new, name)
            fit = least <= value <= most
            need(fit, f"{name} is {value}: give {least} to {most}")
        need(
            new.bytes in LIMITS["bytes"],
            f"bytes is {new.bytes}: give one of {LIMITS['bytes']}",
        )
        return proposal["value"]

    def parameters(self) -> int:
        """Every weight, counted by formula."""
        sizes = {part: getattr(self, part) for part in PARTS}
        sizes["head_dim"] = sizes.pop("d_k")
        return Published(**sizes).parameters()

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
            f"{self.parameters():,} weights. {self.layers} layers, "
            f"{self.kv_heads} KV heads with {self.d_k} numbers of {self.bytes} "
            f"bytes: {self.token():,} bytes a token in the cache, "
            f"{self.whole(self.length, self.kv_heads):,} for "
            f"{self.length:,} tokens"
            + (f" with a window of {self.window:,}." if self.window else ".")
        )

    def draw(self, figure: Figure) -> None:
        axes = figure.subplots()
        lengths = [self.length * i // 8 for i in range(9)]
        for name, heads in (("as it is", self.kv_heads), ("all", self.heads)):
            sizes = [self.whole(n, heads) / 1e6 for n in lengths]
            axes.plot(lengths, sizes, label=name)
        axes.set(xlabel="tokens", ylabel="cache, million bytes")
        axes.legend(title="KV heads")
