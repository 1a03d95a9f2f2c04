"""Matrices in half of the bytes that `half` takes: a byte a number.

    w_ij ≈ s_i · b_ij,   s_i = max_j |w_ij| / 31,   b_ij from −31 to 31

Compressed, such a byte is six bits. Where that is too coarse, 127 takes the
place of 31. Each row has a scale of its own; vectors
stay float16. rows.js reads them.
"""

import math

import numpy as np

from lookback.widgets.lib import half

MOST = 31


def pack(tensors: dict, most: int = MOST) -> dict:
    """Tensors by name: a shape, its bytes, and a float16 scale a row."""
    from lookback.lab import int8  # here: others need no torch

    packed = half.pack(tensors)
    for name, tensor in tensors.items():
        if tensor.ndim == 2:
            levels, scales = int8.split(tensor, most)
            packed[name]["data"] = levels.tobytes()
            packed[name]["scales"] = scales.tobytes()
    return packed


def whole(packed: dict) -> bool:
    """Whether there are as many numbers, and scales, as the shape says."""
    if "scales" not in packed:
        return half.whole(packed)
    data, scales, shape = packed["data"], packed["scales"], packed["shape"]
    fit = isinstance(data, bytes) and isinstance(scales, bytes)
    held = len(data), len(scales)
    return fit and len(shape) == 2 and held == (math.prod(shape), 2 * shape[0])


def unpack(packed: dict) -> np.ndarray:
    """The tensor, as far as `pack` kept it."""
    if "scales" not in packed:
        return half.unpack(packed)
    scales = np.frombuffer(packed["scales"], "<f2").astype(float)
    levels = np.frombuffer(packed["data"], np.int8)
    return levels.reshape(packed["shape"]) * scales[:, None]
