"""Random numbers that are the same here and in every browser (mulberry.js)."""

import numpy as np


def uniform(seed: int, count: int) -> np.ndarray:
    """The first `count` numbers in [0, 1) of the generator mulberry32."""
    step = np.uint32(0x6D2B79F5)
    a = np.arange(1, count + 1, dtype=np.uint32) * step + np.uint32(seed)
    t = (a ^ (a >> 15)) * (a | 1)
    t ^= t + (t ^ (t >> 7)) * (t | 61)
    return (t ^ (t >> 14)) / 2**32
