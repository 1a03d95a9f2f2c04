"""Letters of the book's own pen as small grey pictures.

Each letter is written in a hand of its own (`lab.synthetic_handwriting`)
and drawn with a round nib. The line on which it stands is at the same height in
every picture, and the letter in the middle, but for a push of two pixels at
most.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lookback.lab import arguments, synthetic_handwriting

LETTERS = synthetic_handwriting.LETTERS[:-1]  # without the space
SIDE = 24  # pixels
SCALE = 1.75  # pixels a pace of the pen
NIB = 0.9  # pixels from the middle of a stroke to its edge
BASE = 15.0  # pixels from the top to the line on which letters stand
PUSH = 2.0  # pixels at most, each way
SPECKS = 0.15  # standard deviation of a grey noise


class Pictures(NamedTuple):
    """Some letters: how they look, and which they are."""

    pixels: Float[Tensor, "batch side side"]  # 0 is paper, 1 is ink
    letters: Int[Tensor, " batch"]


def strokes(letter: str, rng: np.random.Generator) -> list[np.ndarray]:
    """A letter in a hand of its own, in paces, y up, centred on x = 0."""
    line = synthetic_handwriting.write(
        letter, synthetic_handwriting.Hand.draw(rng), rng
    )
    own = [
        one for one in synthetic_handwriting.ink(line.points) if len(one) > 1
    ]
    across = np.concatenate(own)[:, 0]
    return [one - [(across.min() + across.max()) / 2, 0] for one in own]


def draw(strokes: list[np.ndarray], push: np.ndarray) -> np.ndarray:
    """[side, side]: ink wherever a stroke is nearer than the nib."""
    y, x = np.mgrid[:SIDE, :SIDE] + 0.5
    at = np.stack([x, y], -1)[:, :, None]
    corner = np.array([SIDE / 2, BASE]) + push
    far = np.full((SIDE, SIDE), np.inf)
    for stroke in strokes:
        points = stroke * [SCALE, -SCALE] + corner
        start, along = points[:-1], np.diff(points, axis=0)
        length = np.maximum((along**2).sum(-1), 1e-9)
        share = ((at - start) * along).sum(-1) / length
        nearest = start + np.clip(share, 0, 1)[..., None] * along
        far = np.minimum(far, np.linalg.norm(at - nearest, axis=-1).min(-1))
    return np.clip(NIB + 0.5 - far, 0, 1)


def sample(count: int, seed: int, move: float = 0.0) -> Pictures:
    """So many letters, drawn at random; each moved `move` pixels further.

    The same seed gives the same letters in the same hands, however far they
    are moved; the direction of each is its own.
    """
    arguments.whole("count", count, 1), arguments.whole("seed", seed, 0)
    arguments.number("move", move)
    pixels, letters = [], []
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        letter = int(rng.integers(len(LETTERS)))
        own = strokes(LETTERS[letter], rng)
        push, turn = rng.uniform(-PUSH, PUSH, 2), rng.uniform(0, 2 * np.pi)
        push = push + move * np.array([np.cos(turn), np.sin(turn)])
        specks = rng.normal(0, SPECKS, (SIDE, SIDE))
        pixels.append(draw(own, push) + specks)
        letters.append(letter)
    held = torch.from_numpy(np.array(pixels, dtype=np.float32))
    return Pictures(held, torch.tensor(letters))
