"""KV cache: keys and values of the tokens so far, computed once and kept.

    K_n = [K_{n−1}; k_n],  V_n = [V_{n−1}; v_n]

Incremental inference, as in Shazeer 2019, arXiv 1911.02150. With a window
(Beltagy et al. 2020, arXiv 2004.05150) only the last of them are kept.
"""

import torch
from jaxtyping import Float
from torch import Tensor


class KVCache:
    """Keys and values of the tokens so far, in one layer.

    Queries are not kept: nobody asks an old question twice. With a window,
    what has left it is thrown away.
    """

    def __init__(
        self,
        keys: Float[Tensor, "batch kv_heads source d_k"] | None = None,
        values: Float[Tensor, "batch kv_heads source d_v"] | None = None,
        window: int | None = None,
    ):
        self.keys, self.values, self.window = keys, values, window
        self.length = 0 if keys is None else keys.shape[-2]

    def extend(
        self,
        keys: Float[Tensor, "batch kv_heads target d_k"],
        values: Float[Tensor, "batch kv_heads target d_v"],
    ) -> tuple[Tensor, Tensor]:
        """Those of the tokens so far, and the new ones after them."""
        self.length += keys.shape[-2]
        if self.keys is not None:
            keys = torch.cat([self.keys, keys], dim=-2)
            values = torch.cat([self.values, values], dim=-2)
        last = slice(-self.window if self.window else None, None)
        self.keys, self.values = keys[..., last, :], values[..., last, :]
        return keys, values

    def kept(self) -> int:
        """How many tokens it holds; with a window fewer than it was given."""
        return 0 if self.keys is None else self.keys.shape[-2]

    def bytes(self) -> int:
        """What it holds, counted."""
        held = () if self.keys is None else (self.keys, self.values)
        return sum(part.numel() * part.element_size() for part in held)
