"""The Transformer's exercises: each solution, and the check beside it.

What is right is taken from plain loops with `math`, never from the solution.
Label smoothing has its own module, `smoothing`.
"""

import math

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import (
    Hint,
    as_tensor,
    expect,
    random_inputs,
)


def warmup_rate_solution(step, d_model, warmup):
    """d_model^−0.5 · min(step^−0.5, step · warmup^−1.5)."""
    return d_model**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)


@exercise("transformer", warmup_rate_solution)
def warmup_rate(mine):
    """The paper's learning rate at each of several steps."""
    step = torch.tensor([1.0, 10.0, 99.0, 100.0, 101.0, 400.0, 4000.0])
    for d_model, warmup in ((512, 100), (64, 400)):
        found = as_tensor(mine(step, d_model, warmup), step.shape, "[steps]")
        rise = [n * warmup**-1.5 for n in step.tolist()]
        fall = [n**-0.5 for n in step.tolist()]
        both = list(zip(rise, fall, strict=True))

        def rate(numbers, d=d_model):
            return torch.tensor([x / math.sqrt(d) for x in numbers]).double()

        mistakes = {
            "That is the larger of the two curves; the smaller one counts.": (
                rate(max(pair) for pair in both)
            ),
            "It only falls: the rise, step · warmup^−1.5, is missing.": (
                rate(fall)
            ),
            "It only rises: after the warm-up it falls as step^−0.5.": (
                rate(rise)
            ),
            "d_model^−0.5 is missing.": rate(
                (min(pair) for pair in both), d=1.0
            ),
            "You multiply by √d_model; the larger the model, the smaller the "
            "step: divide.": rate((min(pair) for pair in both), d_model**-1.0),
            "warmup^−0.5 in place of warmup^−1.5: the two curves must meet "
            "at step = warmup.": rate(
                min(n * warmup**-0.5, n**-0.5) for n in step.tolist()
            ),
        }
        truth = rate(min(pair) for pair in both)
        expect(
            found * 1e3,
            truth * 1e3,
            {hint: wrong * 1e3 for hint, wrong in mistakes.items()},
            f"d_model {d_model}, warmup {warmup}, in thousandths:",
        )
    return "it rises to its peak at step = warmup and falls as 1/√step."


def merge_pair_solution(pieces, pair):
    """Every place where `pair` stands side by side becomes one piece."""
    merged, i = [], 0
    while i < len(pieces):
        if tuple(pieces[i : i + 2]) == tuple(pair):
            merged.append(pieces[i] + pieces[i + 1])
            i += 2
        else:
            merged.append(pieces[i])
            i += 1
    return merged


@exercise("transformer", merge_pair_solution)
def merge_pair(mine):
    """One merge of byte-pair encoding on one word."""
    cases = (
        (["l", "o", "w", "e", "r"], ("l", "o"), ["lo", "w", "e", "r"], ""),
        (
            list("banana"),
            ("a", "n"),
            ["b", "an", "an", "a"],
            "The pair may stand in a word more than once: merge all of them.",
        ),
        (
            ["a", "a", "a"],
            ("a", "a"),
            ["aa", "a"],
            "In a a a the first two merge, and the third is left: a piece "
            "can be used only once.",
        ),
        (
            ["n", "a", "n"],
            ("a", "n"),
            ["n", "an"],
            "The order matters: (a, n) is not (n, a).",
        ),
        (
            ["a", "b", "n"],
            ("a", "n"),
            ["a", "b", "n"],
            "a and n stand in the word but not side by side: nothing merges.",
        ),
        (
            ["ch", "a", "t"],
            ("h", "a"),
            ["ch", "a", "t"],
            "Pieces are whole: the h inside ch is no piece of its own. Do not "
            "glue the word together and search in its letters.",
        ),
        (["le", "s"], ("le", "s"), ["les"], "The last two pieces merge too."),
        (["x"], ("x", "y"), ["x"], "A single piece stays as it is."),
        ([], ("x", "y"), [], "A word without pieces stays empty."),
    )
    for pieces, pair, truth, hint in cases:
        found = mine(pieces, pair)
        if not isinstance(found, (list, tuple)):
            raise Hint(
                f"Give back a list of pieces; yours is {type(found).__name__}."
            )
        if list(found) != truth:
            shown = f"{pieces} with {pair} gave {list(found)}, not {truth}."
            raise Hint(f"{hint} {shown}".strip())
    return "nine words: repeats, overlaps, longer pieces, nothing to merge."


def cached_step_solution(q, k, v, past_k, past_v):
    """softmax(q Kᵀ / √d_k) V, K and V = the past with k and v behind it."""
    K = torch.cat([past_k, k.unsqueeze(1)], dim=1)
    V = torch.cat([past_v, v.unsqueeze(1)], dim=1)
    scores = torch.einsum("bd,btd->bt", q, K) / q.shape[-1] ** 0.5
    return torch.einsum("bt,btd->bd", scores.softmax(dim=-1), V)


def _look(q, keys, values, scale=True):
    """One query's context, by loops; keys and values are lists."""
    by = math.sqrt(len(q)) if scale else 1.0
    raised = [
        math.exp(sum(a * b for a, b in zip(q, k, strict=True)) / by)
        for k in keys
    ]
    return [
        sum(r * v[i] for r, v in zip(raised, values, strict=True)) / sum(raised)
        for i in range(len(values[0]))
    ]


@exercise("transformer", cached_step_solution)
def cached_step(mine):
    """One step of masked self-attention with cached keys and values."""
    for seed, (batch, past, d) in enumerate(((2, 3, 5), (3, 0, 4), (1, 5, 2))):
        given = random_inputs(
            seed,
            *[(batch, d)] * 3,
            *[(batch, past, d)] * 2,
        )
        known = {
            (batch, 1, d): "One axis too many: there is one new word.",
            (batch, past + 1): "Those are weights or scores; the values are "
            "still to be mixed.",
        }
        found = as_tensor(mine(*given), (batch, d), "[batch, d]", known)
        rows = list(zip(*(part.tolist() for part in given), strict=True))

        def all_rows(look, rows=rows):
            return torch.tensor([look(*row) for row in rows]).double()

        mistakes = {
            "√d_k is missing: divide the scores by it.": all_rows(
                lambda q, k, v, K, V: _look(q, [*K, k], [*V, v], scale=False)
            ),
            "The new value stands first and its key last, or the other way "
            "round: both belong behind the past.": all_rows(
                lambda q, k, v, K, V: _look(q, [k, *K], [*V, v])
            ),
            "You ask with the new key; the query asks.": all_rows(
                lambda q, k, v, K, V: _look(k, [*K, k], [*V, v])
            ),
        }
        if past:
            mistakes[
                "The new word does not see itself: its own key and value "
                "belong behind the cached ones."
            ] = all_rows(lambda q, k, v, K, V: _look(q, K, V))
            mistakes[
                "The cache is not used: the new word sees only itself."
            ] = given[2].double()
        truth = all_rows(lambda q, k, v, K, V: _look(q, [*K, k], [*V, v]))
        expect(found, truth, mistakes, f"with {past} words in the cache:")
    return "equal to attention over the whole past, the empty one included."
