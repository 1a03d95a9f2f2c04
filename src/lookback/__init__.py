"""Looking Back: how attention was invented, as small readable modules."""

__version__ = "0.1.0"
# Nothing else that is called lookback has this name: see the notebooks.
BOOK = "Looking Back"
