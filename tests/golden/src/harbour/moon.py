"""The moon pulls."""

PULL = 2.0


def phase(day):
    """Where the moon stands, from 0 to 1."""
    return (day % 29.5) / 29.5
