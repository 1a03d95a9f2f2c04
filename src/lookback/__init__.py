"""Looking Back: how attention was invented, as small readable modules."""

__version__ = "0.1.0"
