"""What cannot be shown as a live cell."""

import numpy as np

from harbour.tides import height as phase


class Ebb(list):
    """A list of tides."""

    def __init__(self):
        super().__init__()


def far(day):
    """An import under another name."""
    return np.cos(day)


def old(day):
    """A name that means something else elsewhere."""
    return phase(day)
