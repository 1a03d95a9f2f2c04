"""Answers to the exercises by hand: the right one, and one for each slip."""

from lookback.exercises import check

BY_HAND = [made for made in check if made.by_hand]


def right(made) -> list[float]:
    """The solution's numbers, one for each field."""
    return made.numbers(made.solution()).tolist()


def middle(box) -> list[float]:
    """A number from each range; of one without an end, one near the other."""
    ends = ((max(a, b - 2), min(b, a + 2)) for a, b in box)
    return [(a + b) / 2 for a, b in ends]


def slips(made):
    """Answers with one mistake each: its hint, and the numbers."""
    for stage in made.page()["stages"]:
        for hint, box in stage["mistakes"]:
            numbers = right(made)
            numbers[stage["at"] : stage["at"] + len(box)] = middle(box)
            yield hint, numbers


def answer_of(made, numbers: list):
    """Numbers as the check takes them: for `neither_says` two rows."""
    two = made.name == "neither_says"
    return [numbers[:3], numbers[3:]] if two else numbers
