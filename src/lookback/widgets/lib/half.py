"""Tensors as JSON can hold them: base64 of float16, as half.js reads them."""

import math
from base64 import b64decode, b64encode

import numpy as np


def pack(tensors: dict) -> dict:
    """Tensors by name (a state_dict(), say), each as its shape and its data."""
    packed = {}
    for name, tensor in tensors.items():
        numbers = tensor.detach().cpu().numpy().astype("<f2")
        data = b64encode(numbers.tobytes()).decode()
        packed[name] = {"shape": list(tensor.shape), "data": data}
    return packed


def whole(packed: dict) -> bool:
    """Whether the data holds as many numbers as the shape says."""
    held = len(b64decode(packed["data"]))
    return held == 2 * math.prod(packed["shape"])


def unpack(packed: dict) -> np.ndarray:
    """The tensor that `pack` packed."""
    flat = np.frombuffer(b64decode(packed["data"]), "<f2")
    return flat.reshape(packed["shape"]).astype(float)
