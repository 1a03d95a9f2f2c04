"""Matrices in a third of the bytes that `half` takes: a letter a number.

    w_ij ≈ s_i · b_ij,   s_i = max_j |w_ij| / 31,   b_ij from −31 to 31

Each row has a scale of its own; vectors stay float16. rows.js reads them.
"""

import math
import string
from base64 import b64decode, b64encode

import numpy as np

from lookback.widgets.lib import half

MOST = 31
LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+"
CODES = np.array(list(LETTERS))  # of −31 … 31


def pack(tensors: dict) -> dict:
    """Tensors by name: a shape, its letters, and a float16 scale a row."""
    packed = half.pack(tensors)
    for name, tensor in tensors.items():
        if tensor.ndim == 2:
            rows = tensor.detach().cpu().double().numpy()
            scales = (np.abs(rows).max(1) / MOST).astype("<f2")
            by = np.where(scales > 0, scales, 1).astype(float)[:, None]
            levels = np.clip(np.rint(rows / by), -MOST, MOST).astype(int)
            packed[name]["data"] = "".join(CODES[levels + MOST].flat)
            packed[name]["scales"] = b64encode(scales.tobytes()).decode()
    return packed


def whole(packed: dict) -> bool:
    """Whether there are as many numbers, and scales, as the shape says."""
    if "scales" not in packed:
        return half.whole(packed)
    data, shape = packed["data"], packed["shape"]
    held = len(data), len(b64decode(packed["scales"]))
    fit = len(shape) == 2 and held == (math.prod(shape), 2 * shape[0])
    return fit and set(data) <= set(LETTERS)


def unpack(packed: dict) -> np.ndarray:
    """The tensor, as far as `pack` kept it."""
    if "scales" not in packed:
        return half.unpack(packed)
    scales = np.frombuffer(b64decode(packed["scales"]), "<f2").astype(float)
    levels = [LETTERS.index(letter) - MOST for letter in packed["data"]]
    return np.reshape(levels, packed["shape"]) * scales[:, None]
