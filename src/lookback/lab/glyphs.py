"""Pictures of single letters, in the pen's own alphabet.

Each is one letter of `lab.synthetic_handwriting`, written by a hand of its own,
made as large as its square and set in the middle of it, give or take a little.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lookback.lab import arguments, synthetic_handwriting

ALPHABET = synthetic_handwriting.LETTERS.replace(" ", "")
SIDE = 20  # pixels
STROKE = 0.7  # half of a stroke's breadth, in pixels


def picture(
    letter: str, hand: synthetic_handwriting.Hand, rng: np.random.Generator
) -> Float[np.ndarray, "rows columns"]:
    """Ink from 0 to 1; the top row first."""
    lines = synthetic_handwriting.ink(
        synthetic_handwriting.write(letter, hand, rng).points
    )
    places = np.concatenate([_along(line) for line in lines])
    low, high = places.min(0), places.max(0)
    scale = (SIDE - 3) / (high - low).max() * rng.uniform(0.9, 1.0)
    places = (places - (low + high) / 2) * scale + rng.uniform(-0.7, 0.7, 2)
    at = np.arange(SIDE) - (SIDE - 1) / 2
    x, y = np.meshgrid(at, -at)
    far = np.hypot(
        x.reshape(-1, 1) - places[:, 0], y.reshape(-1, 1) - places[:, 1]
    ).min(1)
    return np.clip(STROKE + 0.5 - far, 0, 1).reshape(SIDE, SIDE)


def _along(line: Float[np.ndarray, "points 2"]) -> np.ndarray:
    """Points so close that no pixel falls between two of them."""
    steps = np.linspace(0, 1, 12)[:, None, None]
    return (line[:-1] + steps * (line[1:] - line[:-1])).reshape(-1, 2)


def pictures(
    each: int, seed: int
) -> tuple[
    Float[Tensor, "trials rows columns"],
    Int[Tensor, " trials"],
]:
    """So many of every letter, and which letter each one is.

    The writer's last rest belongs to no letter and leaves no ink.
    """
    arguments.whole("each", each, 1), arguments.whole("seed", seed, 0)
    rng = np.random.default_rng(seed)
    drawn = [
        picture(letter, synthetic_handwriting.Hand.draw(rng), rng)
        for letter in ALPHABET
        for _ in range(each)
    ]
    which = torch.arange(len(ALPHABET)).repeat_interleave(each)
    return torch.from_numpy(np.stack(drawn)).float(), which
