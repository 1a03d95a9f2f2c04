"""Tensors as a widget sends them: bytes of float16, as half.js reads them."""

import math

import numpy as np


def pack(tensors: dict) -> dict:
    """Tensors by name (a state_dict(), say), each as its shape and its data."""
    packed = {}
    for name, tensor in tensors.items():
        numbers = tensor.detach().cpu().numpy().astype("<f2")
        packed[name] = {"shape": list(tensor.shape), "data": numbers.tobytes()}
    return packed


def whole(packed: dict) -> bool:
    """Whether the data holds as many numbers as the shape says."""
    data, shape = packed["data"], packed["shape"]
    return isinstance(data, bytes) and len(data) == 2 * math.prod(shape)


def unpack(packed: dict) -> np.ndarray:
    """The tensor that `pack` packed."""
    flat = np.frombuffer(packed["data"], "<f2")
    return flat.reshape(packed["shape"]).astype(float)
