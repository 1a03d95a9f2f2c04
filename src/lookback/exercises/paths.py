"""The chapter `serial` on paths: waves, and looks by way of others.

What is right is found place by place and look by look.
"""

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import as_numbers, as_tensor, expect


def wavefront_ticks_solution(words, layers):
    """l + t + 1, both from 0."""
    return torch.arange(layers)[:, None] + torch.arange(len(words)) + 1


def _waves(words, layers):
    """Each place waits for the one below and the one before."""
    grid = [[0] * words for _ in range(layers)]
    for layer in range(layers):
        for t in range(words):
            below = grid[layer - 1][t] if layer else 0
            before = grid[layer][t - 1] if t else 0
            grid[layer][t] = 1 + max(below, before)
    return torch.tensor(grid)


@exercise("serial", wavefront_ticks_solution)
def wavefront_ticks(mine):
    """The earliest tick of every layer at every word."""
    for words, layers in ((4, 3), (1, 5), (6, 1), (3, 3)):
        sentence = ["a", "black", "cat", "sleeps", "on", "."][:words]
        known = {
            (words, layers): "Rows are layers: yours is [words, layers].",
            (layers,): "One tick for each layer; give one for each word too.",
        }
        axes = "[layers, words]"
        found = as_tensor(mine(sentence, layers), (layers, words), axes, known)
        truth = _waves(words, layers).double()
        one = torch.arange(layers * words).double() + 1
        below = torch.arange(layers).double()[:, None].expand(layers, words)
        expect(
            found,
            truth,
            {
                "The first tick is 1, not 0.": truth - 1,
                "A layer need not wait until the one below has read all "
                "words: it needs it at the same word only.": (
                    one.view(layers, words)
                ),
                "The layers of one word are done before the next word here; "
                "the lowest layer can go on at once.": (
                    one.view(words, layers).T
                ),
                "All layers at one word have the same tick in yours; each "
                "needs the one below first.": truth - below,
                "All words of a layer have the same tick in yours; each word "
                "needs the one before.": below + 1,
                "Your row 0 is the highest layer; it should be the lowest.": (
                    truth.flip(0)
                ),
            },
            given=f"for {words} words and {layers} layers",
        )
    return "four grids, each place as early as it can be."


def looks_to_connect_solution(looks):
    """Layers until everybody has something from everybody; else −1."""
    seen, layers = [set(row) for row in looks], 1
    while any(len(each) < len(looks) for each in seen):
        further = [set().union(*(seen[j] for j in row)) for row in looks]
        if further == seen:
            return -1
        seen, layers = further, layers + 1
    return layers


def _furthest(looks):
    """The same by walking out from every position, look by look."""
    most = 1
    for start in range(len(looks)):
        hops, front = {start: 0}, [start]
        while front:
            here = front.pop(0)
            for j in looks[here]:
                if j not in hops:
                    hops[j] = hops[here] + 1
                    front.append(j)
        if len(hops) < len(looks):
            return -1
        most = max(most, *hops.values())
    return most


def _window(n, left, right):
    """Each of n positions looks so far to either side."""
    return [
        list(range(max(0, i - left), min(n, i + right + 1))) for i in range(n)
    ]


_CASES = {
    "everybody looks at everybody": _window(5, 5, 5),
    "one neighbour to each side of 9": _window(9, 1, 1),
    "two neighbours to each side of 12": _window(12, 2, 2),
    "a ring of 9 in which each looks at the one before": [
        [i, (i - 1) % 9] for i in range(9)
    ],
    "a ring of 6 in which each looks at the next": [
        [i, (i + 1) % 6] for i in range(6)
    ],
    "the causal mask": _window(5, 5, 0),
    "two groups that never meet": [[0, 1], [0, 1], [2, 3], [2, 3]],
    "one position alone": [[0]],
    "one neighbour to each side of 70": _window(70, 1, 1),
}


@exercise("serial", looks_to_connect_solution)
def looks_to_connect(mine):
    """The maximum path length, from who may look at whom."""
    for name, looks in _CASES.items():
        found = as_numbers(mine(looks), 1, "one number of layers")[0]
        truth = _furthest(looks)
        turned = [
            sorted({*row, *(j for j in range(len(looks)) if i in looks[j])})
            for i, row in enumerate(looks)
        ]
        mistakes = {}
        if _furthest(turned) != truth:
            mistakes[
                "You let a look count both ways: that i looks at j does not "
                "let j look at i."
            ] = _furthest(turned)
        if name.endswith("the one before"):
            mistakes[
                "You let a position take over what another has learned in the "
                "same layer: make the new sets from the old ones alone."
            ] = 3
        if truth == -1:
            mistakes[
                "Some never hear of each other here; give -1 when a further "
                "layer adds nothing."
            ] = len(looks)
        else:
            mistakes |= {
                "Count the first layer too: full attention needs 1.": (
                    truth - 1
                ),
                "One too many: stop as soon as everybody has something from "
                "everybody.": truth + 1,
                "You doubled the reach at every turn: that finds the "
                "logarithm. One layer adds one look.": (
                    (truth - 1).bit_length() + 1
                ),
            }
        expect(
            found,
            torch.tensor(float(truth)).double(),
            {k: torch.tensor(float(v)) for k, v in mistakes.items()},
            given=f"for {name}",
        )
    return "nine ways to look, one-way and divided ones among them."
