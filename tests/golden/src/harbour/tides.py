"""Tides follow the moon."""

import math
from dataclasses import dataclass
from math import pi as PI

from harbour.moon import PULL, phase

CALM = 0.5


@dataclass(frozen=True)
class Tide:
    """One tide."""

    day: float
    height: float

    def doubled(self):
        """The same tide, twice as high."""
        return Tide(self.day, PULL * self.height)


def height(day):
    """Height of the water, in metres."""
    return CALM + math.cos(2 * PI * phase(day))


def tide(day):
    """The tide of a day."""
    return Tide(day, height(day))


def week(start=0):
    """Seven tides."""
    total = 0.0
    for day in range(start, start + 7):
        total += height(day)
    return total / 7
