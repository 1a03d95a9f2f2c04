r"""Positional encodings: sinusoidal, learned, rotary; attention knows no order.

Sinusoidal: Vaswani et al. 2017, arXiv 1706.03762, section 3.5.

    PE(pos, 2i)   = sin(pos / 10000^{2i/d})
    PE(pos, 2i+1) = cos(pos / 10000^{2i/d})         i = 0 … d/2 − 1

Learned: one free vector per position; Gehring et al. 2017, and row (E) of
Table 3 in Vaswani et al. Rotary: Su et al. 2021, arXiv 2104.09864: the pair
(x_{2i}, x_{2i+1}) of every query and key is turned by the angle
pos · 10000^{−2i/d}, so that of their positions q·k depends on the signed
offset, key's minus query's, alone.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

BASE = 10_000.0


def angles(
    length: int, d: int, start: int = 0, device=None, dtype=None
) -> Float[Tensor, "length half"]:
    """pos / 10000^{2i/d} in radians, for `length` positions from `start`.

    In float32 unless `dtype` says otherwise. Raises ValueError for an odd d:
    the numbers come in pairs.
    """
    if d % 2:
        raise ValueError(f"d is {d}: sines and cosines come in pairs, so even")
    position = torch.arange(start, start + length, device=device)
    dtype = dtype or torch.float32
    pair = torch.arange(0, d, 2, device=device, dtype=dtype)  # 2i
    return position[:, None] * BASE ** (-pair / d)


def sinusoidal(
    length: int, d: int, start: int = 0, device=None, dtype=None
) -> Float[Tensor, "length d"]:
    """PE: sines in the even columns, cosines in the odd ones."""
    angle = angles(length, d, start, device, dtype)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def rotate(
    x: Float[Tensor, "*batch length d"], start: int = 0
) -> Float[Tensor, "*batch length d"]:
    """Turn each pair of numbers by its position's angle (RoPE).

    (x_{2i}, x_{2i+1}) → (x_{2i} cos − x_{2i+1} sin, x_{2i} sin + x_{2i+1} cos)
    """
    fine = torch.promote_types(x.dtype, torch.float32)  # never in bf16
    angle = angles(x.shape[-2], x.shape[-1], start, x.device, fine)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = [even * cos - odd * sin, even * sin + odd * cos]
    return torch.stack(turned, dim=-1).flatten(-2)


class LearnedPositions(nn.Module):
    """One vector for each of `longest` positions, learned like embeddings.

    It starts at the scale of the sinusoids: sin² + cos² = 1, so an RMS of √½.
    """

    def __init__(self, longest: int, d: int):
        super().__init__()
        self.table = nn.Parameter(torch.randn(longest, d) * 0.5**0.5)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "length d"]:
        """Raises ValueError beyond the last position that was learned."""
        if start + length > len(self.table):
            raise ValueError(
                f"position {start + length} was never learned: the table ends"
                f" at {len(self.table)}"
            )
        return self.table[start : start + length]
