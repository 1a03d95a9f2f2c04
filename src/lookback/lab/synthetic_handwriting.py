"""An alphabet of our own, written by a pen that notes where it has been.

Nobody's handwriting: each letter is a few curves through points that we put
down by hand, 10 high without its stem or tail. For every line a `Hand` is
drawn, how slanted, how large, how shaky, and the letters are written in it,
point after point. So it is known of every point which letter it belongs to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from lookback.lab import arguments

# x,y x,y …: a curve through points;  /: a corner;  |: the pen is lifted.
# A stroke of a single point leaves no ink: the pen only passes there.
STROKES = {
    "a": "8,8 5,10 2,9 0,5 2,1 4,0 7,2 8,7 / 8,10 / 8,2 10,0",
    "b": "0,18 0,0 / 1,7 4,10 8,8 9,5 8,2 4,0 0,2",
    "c": "8,8 5,10 2,9 0,5 2,1 5,0 8,2",
    "d": "8,7 5,10 2,9 0,5 2,1 4,0 7,2 8,7 / 8,18 / 8,2 10,0",
    "e": "0,5 8,5 / 7,9 4,10 1,8 0,5 2,1 5,0 8,2",
    "f": "8,16 6,18 4,15 3,8 3,0 | 0,10 7,10",
    "g": "8,7 5,10 2,9 0,5 2,1 4,0 7,2 8,7 / 8,10 / 8,-4 6,-8 3,-8 0,-6",
    "h": "0,18 0,0 / 0,5 2,9 5,10 8,8 8,0",
    "i": "1,10 1,2 3,0 | 1,15 1,16",
    "j": "4,10 4,-5 2,-8 -1,-7 | 4,15 4,16",
    "k": "0,18 0,0 | 7,10 0,4 / 8,0",
    "l": "1,18 1,2 3,0",
    "m": "0,10 0,0 / 0,6 2,9 4,10 6,8 6,0 / 6,6 8,9 10,10 12,8 12,0",
    "n": "0,10 0,0 / 0,6 2,9 5,10 8,8 8,0",
    "o": "5,10 2,9 0,5 2,1 4,0 7,1 9,5 7,9 5,10",
    "p": "0,10 0,-8 / 0,6 3,10 7,9 9,5 7,1 4,0 0,2",
    "q": "8,7 5,10 2,9 0,5 2,1 4,0 7,2 8,7 / 8,10 / 8,-8 / 11,-5",
    "r": "0,10 0,0 / 0,6 2,9 5,10 7,9",
    "s": "7,9 4,10 1,9 1,7 4,5 7,3 7,1 4,0 0,1",
    "t": "3,16 3,2 5,0 7,1 | 0,10 7,10",
    "u": "0,10 0,3 2,0 5,0 8,4 / 8,10 / 8,2 10,0",
    "v": "0,10 4,0 / 8,10",
    "w": "0,10 3,0 / 6,9 / 9,0 / 12,10",
    "x": "0,10 8,0 | 8,10 0,0",
    "y": "0,10 5,1 | 9,10 2,-8",
    "z": "0,10 8,10 / 0,0 / 8,0",
    " ": "2,0 | 5,0",
}
LETTERS = "".join(STROKES)
END = len(LETTERS)  # a sign of its own behind every text: the pen comes to rest
SIGNS = len(LETTERS) + 1
REST = "3,0"
PACE = 2.5  # between two points, so that a small letter is four paces high
GAP = 4.0  # between two letters


@dataclass(frozen=True)
class Hand:
    """How a line is written; `draw` gives each number its own range."""

    slant: float = 0.0  # to the right, for each step up
    size: float = 1.0
    width: float = 1.0
    drift: float = 0.0  # up, for each step to the right
    tremble: float = 0.0  # of every point, in paces
    speed: float = 1.0  # the pen's: fewer points where it is above 1

    @classmethod
    def draw(cls, rng: np.random.Generator) -> "Hand":
        return cls(
            slant=rng.uniform(-0.1, 0.4),
            size=rng.uniform(0.9, 1.15),
            width=rng.uniform(0.8, 1.1),
            drift=rng.uniform(-0.04, 0.04),
            tremble=rng.uniform(0.02, 0.08),
            speed=rng.uniform(0.85, 1.15),
        )


class Line(NamedTuple):
    """A line of writing: one row for each point."""

    points: Float[np.ndarray, "points 3"]  # Δx, Δy in paces; 1: pen lifted
    letters: Int[np.ndarray, " points"]  # which letter it belongs to, from 0


@cache
def curves(strokes: str) -> list[list[np.ndarray]]:
    """A letter's strokes; each a list of fine curves that meet in corners."""
    found = []
    for stroke in strokes.split("|"):
        pieces, corner = [], []
        for piece in stroke.split("/"):
            knots = corner + [
                list(map(float, p.split(","))) for p in piece.split()
            ]
            pieces.append(through(np.array(knots)))
            corner = knots[-1:]
        found.append(pieces)
    return found


def through(knots: np.ndarray) -> np.ndarray:
    """A smooth curve through points (Catmull and Rom's), finely divided."""
    if len(knots) < 3:
        return knots
    ends = 2 * knots[[0, -1]] - knots[[1, -2]]
    p = np.concatenate([ends[:1], knots, ends[1:]])
    a, b, c, d = (p[i : len(p) - 3 + i, None] for i in range(4))
    t = np.linspace(0, 1, 9)[None, :-1, None]
    fine = 2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2
    fine = (fine + (3 * (b - c) + d - a) * t**3) / 2
    return np.concatenate([fine.reshape(-1, 2), knots[-1:]])


def walk(curve: np.ndarray, pace: float) -> np.ndarray:
    """Points along a curve, so far apart; both ends are among them."""
    far = np.r_[0, np.hypot(*np.diff(curve, axis=0).T).cumsum()]
    at = np.linspace(0, far[-1], max(1, round(far[-1] / pace)) + 1)
    return np.stack([np.interp(at, far, axis) for axis in curve.T], -1)


def letter(strokes: str, hand: Hand) -> tuple[np.ndarray, np.ndarray, float]:
    """Its points [points, 2], 1 where the pen is lifted, and its width."""
    points, lifted = [], []
    size = np.array([hand.size * hand.width, hand.size])
    for pieces in curves(strokes):
        stroke = [pieces[0][:1] * size]
        for piece in pieces:
            if len(piece) > 1:
                stroke.append(walk(piece * size, PACE * hand.speed)[1:])
        points += stroke
        count = sum(map(len, stroke))
        lifted += [0] * (count - 1) + [1]
    points = np.concatenate(points)
    return points, np.array(lifted), points[:, 0].max() + GAP * size[0]


def spelled(name: str, text: str) -> str:
    """A text in letters of the alphabet, or an error."""
    arguments.kind(name, text, str, "text")
    if strange := set(text) - set(LETTERS):
        raise ValueError(
            f"{name} has {sorted(strange)}: the alphabet is a to z and space"
        )
    return text


def write(text: str, hand: Hand, rng: np.random.Generator) -> Line:
    """A text in a hand, and a rest behind it.

    Raises:
        ValueError: for a letter that the alphabet does not have.
    """
    arguments.kind("hand", hand, Hand, "a Hand, Hand.draw(rng)")
    arguments.kind("rng", rng, np.random.Generator, "np.random.default_rng(0)")
    spelled("text", text)
    points, lifted, letters, x = [], [], [], 0.0
    for i, strokes in enumerate([*(STROKES[one] for one in text), REST]):
        own, up, width = letter(strokes, hand)
        own = own * rng.uniform(0.93, 1.07, 2) + [x, rng.normal(0, 0.25)]
        points.append(own)
        lifted.append(up)
        letters += [i] * len(own)
        x += width * rng.uniform(0.95, 1.05)
    line = np.concatenate(points) / PACE
    line += rng.normal(0, hand.tremble, line.shape)
    line[:, 0] += hand.slant * line[:, 1]
    line[:, 1] += hand.drift * line[:, 0]
    offsets = np.diff(line, axis=0, prepend=0)
    rows = np.concatenate([offsets, np.concatenate(lifted)[:, None]], -1)
    return Line(rows.astype(np.float32), np.array(letters))


class Lines(NamedTuple):
    """Several lines, the shorter ones with nothing behind their end."""

    points: Float[Tensor, "batch points 3"]
    letters: Int[Tensor, "batch points"]  # of each point
    text: Float[Tensor, "batch source vocab"]  # 1 at each letter's sign
    mask: Bool[Tensor, "batch points"]  # True: there is such a point


def signs(text: str) -> Float[Tensor, "source vocab"]:
    """The text and the sign of its end, a 1 in each row."""
    spelled("text", text)
    numbers = [*map(LETTERS.index, text), END]
    return torch.nn.functional.one_hot(torch.tensor(numbers), SIGNS).float()


def lines(texts: Sequence[str], rng: np.random.Generator) -> Lines:
    """The texts, each in a hand of its own."""
    for i, text in enumerate(arguments.some("texts", texts, "texts")):
        spelled(f"texts[{i}]", text)
    arguments.kind("rng", rng, np.random.Generator, "np.random.default_rng(0)")
    written = [write(text, Hand.draw(rng), rng) for text in texts]

    def pad(rows: list[Tensor]) -> Tensor:
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)

    points = [torch.from_numpy(one.points) for one in written]
    return Lines(
        pad(points),
        pad([torch.from_numpy(one.letters) for one in written]),
        pad([signs(text) for text in texts]),
        pad([torch.ones(len(one), dtype=torch.bool) for one in points]),
    )


def words(length: int, rng: np.random.Generator) -> str:
    """A text of so many letters, drawn at random, in words of 1 to 9."""
    arguments.whole("length", length, 1)
    arguments.kind("rng", rng, np.random.Generator, "np.random.default_rng(0)")
    text = ""
    while len(text) < length:
        text += "".join(rng.choice(list(LETTERS[:-1]), rng.integers(1, 10)))
        text += " "
    return text[: length - 1] + rng.choice(list(LETTERS[:-1]))


def ink(points: Float[np.ndarray, "points 3"]) -> list[np.ndarray]:
    """The strokes that can be seen, each [points, 2], in paces."""
    if np.shape(points)[1:] != (3,):
        raise arguments.wrong("points", points, "points, an array [points, 3]")
    places = np.asarray(points)[:, :2].cumsum(0)
    ends = np.flatnonzero(np.asarray(points)[:, 2] > 0.5) + 1
    return [one for one in np.split(places, ends) if len(one) > 1]
