"""The exercises of `serial`: each check beside its reference solution.

What is right is found by doing the work tick by tick, word by word or layer by
layer, never by the solution's formula.
"""

import math

import numpy
import torch

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    NO_GRADIENT,
    OTHER_GRADIENT,
    Hint,
    exercise,
    float64,
    learnable,
    random_inputs,
)

_N, _D = 30, 512


def products_by_hand_solution():
    """6nd², 4nd² + 2n²d, and the n at which 8nd² = 4nd² + 2n²d."""
    return [6 * _N * _D**2, 4 * _N * _D**2 + 2 * _N**2 * _D, 2 * _D]


def _slips(n, d):
    """What each likely mistake gives, number by number."""
    return (
        {
            "The GRU has two matrices for each of its three gates, one for the "
            "word and one for the old state; you counted three.": 3 * n * d**2,
            "That is one pair of matrices, a tanh network. A GRU has three "
            "pairs.": 2 * n * d**2,
            "That is the LSTM, four pairs; the GRU has three.": 8 * n * d**2,
            f"That is the GRU's work for one word; there are {n}.": 6 * d**2,
        },
        {
            "You left out the four matrices W_Q, W_K, W_V and W_O, as the "
            "paper's Table 1 does: 4nd².": 2 * n**2 * d,
            "n²d comes twice: once to compare queries with keys, once to "
            "average the values.": 4 * n * d**2 + n**2 * d,
            "W_O is missing: attention has four matrices, not three.": (
                3 * n * d**2 + 2 * n**2 * d
            ),
            "You counted the matrices alone; comparing and averaging take n²d "
            "each.": 4 * n * d**2,
        },
        {
            "That is where attention takes as many as the GRU. The LSTM has "
            "eight matrices.": d,
            "Without its own four matrices attention would come that far: set "
            "8nd² equal to 4nd² + 2n²d.": 4 * d,
            "Turn it round: n is twice d.": d / 2,
        },
    )


@by_hand(
    products_by_hand_solution,
    "GRU, attention and the crossing n",
    ["GRU", "attention", "n"],
    vary=(
        "n = {n} words and d = {d}",
        lambda draw: {
            "n": draw.choice((20, 40, 50, 60)),
            "d": draw.choice((128, 256, 1024)),
        },
    ),
)
def products_by_hand(n=_N, d=_D):
    """Multiplications of a GRU and of attention, and a crossing."""
    step = sum(d * d for _ in ("r", "z", "n") for _ in ("W", "U"))
    gru = sum(step for _ in range(n))
    pairs = sum(2 * d for _ in range(n) for _ in range(n))
    attention = sum(4 * d * d for _ in range(n)) + pairs
    crossing = next(m for m in range(1, 9999) if 2 * m * d >= 4 * d * d)
    truths = {"GRU": gru, "attention": attention, "n": crossing}
    stages = []
    for at, (name, truth) in enumerate(truths.items()):
        slips = _slips(n, d)[at]
        mistakes = {f"{name}: {hint}": wrong for hint, wrong in slips.items()}
        if name != "n":
            mistakes[
                f"{name}: count multiplications alone; you counted the "
                "additions too."
            ] = 2 * truth
        otherwise = f"{name}: the check does not recognize this mistake. " + (
            "Set 8nd² equal to 4nd² + 2n²d, and give n exactly."
            if name == "n"
            else f"One vector times one matrix takes d² = {d * d:,}."
        )
        near = around(0 if name == "n" else 2e-3)  # n is a whole number
        stages.append(stage(truth, mistakes, otherwise, near, at))
    return "both counts, and the crossing with the LSTM.", *stages


products_by_hand.style([47.19e6, 32.38e6, 1024])


def ticks_needed_solution(stages, workers):
    """Σ ⌈m / p⌉, in whole numbers."""
    return sum(-(-m // workers) for m in stages)


def _played(stages, workers):
    """The ticks, by playing them."""
    ticks = 0
    for left in stages:
        while left > 0:
            left -= workers
            ticks += 1
    return ticks


_ROUNDED = (
    " For 2**60 + 1 products and 2**59 workers it would be 3 ticks; yours are "
    "fewer, since / makes a float, which rounds whole numbers past 2**53. "
    "-(-m // workers) rounds up and stays in whole numbers."
)


@exercise(ticks_needed_solution)
def ticks_needed(mine):
    """Ticks of stages that wait for each other, with finite workers."""

    cases = [
        (given, _played(*given))
        for given in (
            ([7, 7, 7], 2),
            ([10, 4, 4, 4], 4),
            ([3, 100, 1, 9], 8),
            ([5], 1),
            ([6, 6], 100),
            ([4, 0, 5], 2),
        )
    ]
    about = "for stages {0} and {1} workers"
    ticks_needed.compare(mine, cases, "the number of ticks", about, 1e-9)
    exact = mine([2**60 + 1], 2**59) == 3
    return "six cases, uneven and empty stages among them." + (
        "" if exact else _ROUNDED
    )


_UP = "-(-m // workers)"
for _hint, *_typed in (
    (
        "Round up inside the sum: whoever is idle in one stage may not start "
        "on the next.",
        lambda stages, workers: -(-sum(stages) // workers),
    ),
    (
        "The last ticks of a stage are not full, and take a tick all the "
        "same: round up.",
        *(_UP, "m / workers"),
    ),
    (
        "You round to the nearest; round up.",
        *(_UP, "round(m / workers)"),
    ),
    (
        "You round down; the rest of a stage needs a tick too.",
        *(_UP, "m // workers"),
    ),
    (
        "That is the longest stage alone; they come one after the other.",
        *("sum", "max"),
    ),
    (
        "That is the first stage alone: is the return inside the loop?",
        lambda stages, workers: -(-stages[0] // workers),
    ),
    (
        "That is the last stage alone: add up all of them.",
        lambda stages, workers: -(-stages[-1] // workers),
    ),
    (
        "You divide the workers by the multiplications; it is the other way "
        "round.",
        *(_UP, "(m and -(-workers // m))"),
    ),
    (
        "That is the number of stages: right only with unlimited workers.",
        lambda stages, workers: len(stages),
    ),
    (
        "A stage without a multiplication takes no tick.",
        *(_UP, f"max(1, {_UP})"),
    ),
    (
        "You always add one tick; a stage that divides evenly needs none more.",
        *(_UP, "m // workers + 1"),
    ),
):
    ticks_needed.slip(_hint, *_typed)
ticks_needed.style(_played)
ticks_needed.style(
    lambda stages, workers: sum(math.ceil(m / workers) for m in stages)
)
ticks_needed.style(
    lambda stages, workers: numpy.sum(
        (numpy.array(stages) + workers - 1) // workers
    )
)


def hoisted_recurrence_solution(x, h, project, recur):
    """All x W at once; only recur stays in the loop."""
    states = []
    for xW in project(x).unbind(dim=1):  # one product for all words
        h = recur(xW, h)
        states.append(h)
    return torch.stack(states, dim=1)


def _read(x, h, W, U):
    """The states of a plain loop."""
    states = []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ W.T + h @ U.T)
        states.append(h)
    return torch.stack(states, 1)


_ONCE = "x has all the words: call it once, before the loop."
_ONE_WORD = "recur takes one projected word of every sentence"
_CALLED = "recur was called"


@exercise(hoisted_recurrence_solution)
def hoisted_recurrence(mine):
    """A recurrent layer whose x W is one product."""
    for seed, (batch, n, d, hidden) in enumerate(((2, 4, 3, 5), (3, 3, 3, 3))):
        x, h, W, U = random_inputs(
            seed, (batch, n, d), (batch, hidden), (hidden, d), (hidden, hidden)
        )
        calls = {"project": 0, "recur": 0}

        def project(words, W=W, calls=calls):
            calls["project"] += 1
            return words @ W.T

        def recur(xW, h, U=U, calls=calls, one=h.shape):
            calls["recur"] += 1
            if xW.shape != one:
                raise ValueError(
                    f"{_ONE_WORD}, {list(one)}, and was given {list(xW.shape)}"
                )
            return torch.tanh(xW + h @ U.T)

        case = (x, h, project, recur), _read(x, h, W, U)
        hoisted_recurrence.compare(mine, [case], "[batch, source, hidden]")
        if calls["project"] != 1:
            raise Hint(
                f"The states are right, but project was called "
                f"{calls['project']} times. {_ONCE}"
            )
        if calls["recur"] != n:
            raise Hint(f"{_CALLED} {calls['recur']} times for {n} words.")
        learnable(mine, *case[0])
    return "the states of a plain loop, with one call of project."


_WORDS, _STEP = "project(x).unbind(dim=1)", "h = recur(xW, h)"
for _hint, *_typed in (
    (
        "Your first state is zero; it is given, as h.",
        *("states = []", "states, h = [], 0 * h"),
    ),
    (
        "Every word meets the first state h: hand the new state on to the "
        "next word.",
        *(_STEP, "new = recur(xW, h)", "append(h)", "append(new)"),
    ),
    (
        "You read from the last word to the first.",
        *(_WORDS, f"reversed({_WORDS})"),
    ),
    (
        "You read from the last word to the first, and turned the states back.",
        *(_WORDS, f"reversed({_WORDS})", "stack(states", "stack(states[::-1]"),
    ),
    (
        "You note the state before each word, and the last one is lost: first "
        "recur, then note what it gives.",
        f"{_STEP}\n        states.append(h)",
        f"states.append(h)\n        {_STEP}",
    ),
    (
        "recur takes the projected word first and the state second; yours "
        "come the other way round.",
        *("(xW, h)", "(h, xW)"),
    ),
    (
        "Those are the projected words, x W; recur makes states of them.",
        lambda x, h, project, recur: project(x),
    ),
    ("Stack along dim=1: batch first.", "states, dim=1", "states"),
    (
        "That is the last state alone; give back the state after every word.",
        *("torch.stack(states, dim=1)", "h"),
    ),
    (
        "h, the state before the first word, does not belong to the states.",
        *("states = []", "states = [h]"),
    ),
    (_ONE_WORD, ".unbind(dim=1)", ""),
    (_ONCE, _WORDS, "x.unbind(dim=1)", "(xW, h)", "(project(xW), h)"),
    (_CALLED, _STEP, f"{_STEP} + 0 * recur(xW, h)"),
    (NO_GRADIENT, "states, dim=1)", "states, dim=1).detach()"),
    (NO_GRADIENT, "project(x)", "project(x.detach())"),
    (OTHER_GRADIENT, "(xW, h)", "(xW, h.detach() if states else h)"),
):
    hoisted_recurrence.slip(_hint, *_typed)


@hoisted_recurrence.style
def _into_a_table(x, h, project, recur):
    xW = project(x.flatten(0, 1)).view(*x.shape[:2], -1)
    out = torch.empty(*x.shape[:2], h.shape[1])
    for t in range(x.shape[1]):
        out[:, t] = h = recur(xW[:, t], h)
    return out


@hoisted_recurrence.style
def _words_first(x, h, project, recur):
    states = [h]
    for xW in project(x.transpose(0, 1)):
        states.append(recur(xW, states[-1]))
    return torch.stack(states[1:]).transpose(0, 1).double()


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
    return float64(grid)


@exercise(wavefront_ticks_solution)
def wavefront_ticks(mine):
    """The earliest tick of every layer at every word."""
    for words, layers in ((4, 3), (1, 5), (6, 1), (3, 3)):
        sentence = ["a", "black", "cat", "sleeps", "on", "."][:words]
        case = (sentence, layers), _waves(words, layers)
        about = f"for {words} words and {layers} layers"
        wavefront_ticks.compare(mine, [case], "[layers, words]", about)
    return "four grids, each place as early as it can be."


_LAYER, _WORD = "torch.arange(layers)[:, None]", "torch.arange(len(words))"
for _hint, *_typed in (
    ("The first tick is 1, not 0.", " + 1", ""),
    (
        "A layer need not wait until the one below has read all words: it "
        "needs it at the same word only.",
        *(_LAYER, f"len(words) * {_LAYER}"),
    ),
    (
        "The layers of one word are done before the next word here; the "
        "lowest layer can go on at once.",
        *(_WORD, f"layers * {_WORD}"),
    ),
    (
        "All layers at one word have the same tick in yours; each needs the "
        "one below first.",
        *(_LAYER, "torch.zeros(layers, 1)"),
    ),
    (
        "All words of a layer have the same tick in yours; each word needs "
        "the one before.",
        *(_WORD, "torch.zeros(len(words))"),
    ),
    (
        "Your row 0 is the highest layer; it should be the lowest.",
        *(_LAYER, "torch.arange(layers).flip(0)[:, None]"),
    ),
    (
        "A layer of yours waits until the one below has done the NEXT word; "
        "it needs it at the same word only.",
        *(_LAYER, f"2 * {_LAYER}"),
    ),
    (
        "You take the larger of layer and word; a step waits for the one "
        "below and the one before, so both add up.",
        *(f"{_LAYER} + {_WORD}", f"torch.maximum({_LAYER}, {_WORD})"),
    ),
    (
        "You multiply layer by word; a step waits for the one below and the "
        "one before, so both add up.",
        *(f"{_LAYER} + {_WORD} + 1", f"({_LAYER} + 1) * ({_WORD} + 1)"),
    ),
    (
        "Rows are layers: yours is [words, layers].",
        *(f"{_LAYER} + {_WORD}", f"({_LAYER} + {_WORD}).T"),
    ),
    (
        "One tick for each layer; give one for each word too.",
        *(f"[:, None] + {_WORD} + 1", " + len(words)"),
    ),
):
    wavefront_ticks.slip(_hint, *_typed)


@wavefront_ticks.style
def _summed(words, layers):
    ones = torch.ones(layers, len(words))
    return ones.cumsum(0) + ones.cumsum(1) - 1


def layers_to_connect_solution(attended):
    """Layers until everybody has something from everybody; else −1."""
    seen, layers = [set(row) for row in attended], 1
    while any(len(each) < len(attended) for each in seen):
        further = [set().union(*(seen[j] for j in row)) for row in attended]
        if further == seen:
            return -1
        seen, layers = further, layers + 1
    return layers


def _hops(attended, start):
    """How many layers away each position is; those never reached are absent."""
    hops, front = {start: 0}, [start]
    while front:
        here = front.pop(0)
        for j in attended[here]:
            if j not in hops:
                hops[j] = hops[here] + 1
                front.append(j)
    return hops


def _furthest(attended):
    """The same by walking out from every position, layer by layer."""
    found = [_hops(attended, start) for start in range(len(attended))]
    if any(len(hops) < len(attended) for hops in found):
        return -1
    return max(1, max(max(hops.values()) for hops in found))


def _window(n, left, right):
    """Each of n positions attends this far to either side."""
    return [
        list(range(max(0, i - left), min(n, i + right + 1))) for i in range(n)
    ]


_CASES = {
    "everybody attends to everybody": _window(5, 5, 5),
    "one neighbor to each side of 12": _window(12, 1, 1),
    "a star, where all attend to 0 and 0 at all": [
        [0, 1, 2, 3],
        [0, 1],
        [0, 2],
        [0, 3],
    ],
    "two neighbors to each side of 12": _window(12, 2, 2),
    "a ring of 9 in which each attends to the one before": [
        [i, (i - 1) % 9] for i in range(9)
    ],
    "a ring of 6 in which each attends to the next": [
        [i, (i + 1) % 6] for i in range(6)
    ],
    "the causal mask": _window(5, 5, 0),
    "two groups that never meet": [[0, 1], [0, 1], [2, 3], [2, 3]],
    "one position alone": [[0]],
    "one neighbor to each side of 70": _window(70, 1, 1),
}


_NEVER = (
    "Some never learn of each other here; give -1 when a further layer adds "
    "nothing."
)
_ENDLESS = "Yours never comes to an end. " + _NEVER
_GOES_ON = (
    "Yours never comes to an end: stop as soon as everybody has something from "
    "everybody."
)


@exercise(layers_to_connect_solution)
def layers_to_connect(mine):
    """The maximum path length, from who may attend to whom."""
    for name, attended in _CASES.items():
        truth = _furthest(attended)
        never = truth == -1
        layers_to_connect.compare(
            mine,
            [((attended,), truth)],
            "a number of layers, -1 for never",
            f"for {name}",
            otherwise=_NEVER if never else None,
            ask=lambda answer, attended, never=never: answer(
                attended,
                may_be_none=never,
                endless=_ENDLESS if never else _GOES_ON,
            ),
        )
    return "ten patterns: a star, one-way ones and divided ones among them."


_START = "[set(row) for row in attended], 1"
_ANY = "any(len(each) < len(attended) for each in seen)"
_FURTHER = "[set().union(*(seen[j] for j in row)) for row in attended]"
_DOUBLED = "[set().union(*(seen[j] for j in row)) for row in seen]"
for _hint, *_typed in (
    (
        "You let attention count both ways: that i attends to j does not let j "
        "attend to i.",
        "    seen, layers = [set",
        "    attended = [\n"
        "        {*row, *(j for j, to in enumerate(attended) if i in to)}\n"
        "        for i, row in enumerate(attended)\n"
        "    ]\n"
        "    seen, layers = [set",
    ),
    (
        "You asked of position 0 alone. Every position has to depend on every "
        "position: ask of each.",
        *(_ANY, "len(seen[0]) < len(attended)"),
    ),
    (
        "You took the position that is done first; the last one counts.",
        *("any(", "all("),
    ),
    (
        "You let a position take over what another has learned in the same "
        "layer: make the new sets from the old ones alone.",
        _FURTHER,
        "list(seen)\n"
        "        for i, row in enumerate(attended):\n"
        "            further[i] = set().union(*(further[j] for j in row))",
    ),
    (
        "You stop one layer too soon: some still lack something.",
        *("< len(attended)", "< len(attended) - 1"),
    ),
    (
        "You doubled the reach at every turn, and counted turns: that finds "
        "the logarithm. One layer adds one step.",
        *(_FURTHER, _DOUBLED),
    ),
    (
        "You doubled the reach at every turn, and so the number of layers: "
        "that jumps over what lies between. One layer adds one step.",
        *(_FURTHER, _DOUBLED, "layers + 1", "2 * layers"),
    ),
    (
        "At least one layer: a position alone needs 1, not 0.",
        *(_START, "[{i} for i in range(len(attended))], 0"),
    ),
    (
        "Count the first layer too: full attention needs 1.",
        *("attended], 1", "attended], 0"),
    ),
    (
        "One too many: stop as soon as everybody has something from everybody.",
        *("attended], 1", "attended], 2"),
    ),
    (_NEVER, "return -1", "return len(attended)"),
    (_ENDLESS, "return -1", "pass"),
):
    layers_to_connect.slip(_hint, *_typed)
layers_to_connect.style(_furthest)


@layers_to_connect.style
def _by_shortest_paths(attended):
    far = numpy.full((len(attended), len(attended)), numpy.inf)
    for i, row in enumerate(attended):
        far[i, row] = 1
    for k in range(len(attended)):
        far = numpy.minimum(far, far[:, [k]] + far[[k]])
    return -1 if numpy.isinf(far).any() else int(far.max())
