"""The exercises of `transducer`: each check beside its reference solution.

What is right is found by walking every path, one after the other.
"""

from itertools import combinations, combinations_with_replacement, pairwise
from math import comb, exp, factorial, inf, log, perm, prod

import torch

from lookback.exercises.by_hand import (
    MOST,
    around,
    as_numbers,
    by_hand,
    need_begun,
    stage,
)
from lookback.exercises.checking import (
    Hint,
    as_number,
    as_tensor,
    exercise,
    expect,
    float64,
    plain,
)


def _paths(source, target):
    """Every way to place the target words: where each of them is written."""
    return combinations_with_replacement(range(source), target)


def _probability(path, write, step, finger=0):
    """The product along one path; write and step are [target][source]."""
    factors = []
    for u, t in enumerate(path):
        factors += [step[u][place] for place in range(finger, t)]
        factors.append(write[u][t])
        finger = t
    return prod(factors)


def count_paths_solution():
    """Three words are shared out among four places, in order: C(6, 3)."""
    return 20


_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven"
).split()


def _other_lattice(draw):
    """Words on either side, no fewer on the first."""
    target = draw.choice((2, 3, 4))
    return {"source": draw.randrange(target + 1, 9), "target": target}


@by_hand(
    count_paths_solution,
    "one number, the count of paths",
    ["paths"],
    vary=("{source} English words, {target} French ones", _other_lattice),
)
def count_paths(source=4, target=3):
    """The paths of a lattice of some source words and target words."""
    words, steps, moves = target, source - 1, source + target - 1
    said = {n: _NUMBERS[n] for n in range(len(_NUMBERS))}
    mistakes = {
        f"`<end>` is included: {said[source]} words and {said[target]}, not "
        f"{said[source + 1]} and {said[target + 1]}.": comb(
            moves + 2, target + 1
        ),
        f"That lets the finger step off the last source word: {said[source]} "
        f"steps in place of {said[steps]}.": comb(moves + 1, target),
        "That lets each word be written anywhere. The finger never goes "
        "back: the second word's place is not left of the first's.": (
            source**target
        ),
        f"That is the number of nodes, {source} · {target}. A path goes "
        "through many of them.": source * target,
        "That gives each target word a source word of its own. The finger "
        "may also stay where it is and write twice.": comb(source, target),
        f"That chooses from {said[moves - 1]} moves: it counts the paths that "
        "end with the finger on the last source word. A walk may end "
        "anywhere: it is over when `<end>` is written.": comb(
            moves - 1, words - 1
        ),
        "That gives each target word a source word of its own, in any "
        "order. The finger never goes back, and may stay where it is.": (
            perm(source, target)
        ),
        f"{said[moves].title()} moves can stand in {factorial(moves)} orders, "
        "but moves of one kind cannot be told apart: divide by the orders of "
        "the words, and of the steps.": factorial(moves),
        f"That shares out {said[source]} words among {said[target]} places. "
        f"It is the other way round: {said[target]} French words are written "
        f"at {said[source]} English places.": comb(moves, words - 1),
        "That lets each English word choose a French one, in any order. The "
        "French words are placed, and the finger never goes back.": (
            target**source
        ),
    }
    otherwise = (
        "This is no slip that the check knows. A path is a row of "
        f"{said[words]} words and at most {said[steps]} steps; its last move "
        "is a word."
    )
    paths = sum(1 for _ in _paths(source, target))
    return (
        f"{paths} paths, as many as {said[words]} words and {said[steps]} "
        "steps have orders. (A walk that ends early takes the steps that it "
        "lacks after its last word.)",
        stage(paths, mistakes, otherwise, around(1e-4)),
    )


_WRITE = [[0.5, 0.2], [0.4, 0.5]]  # [u][t]: p(y_{u+1} | t, u)
_STEP = [[0.4, 0.0], [0.5, 0.0]]  # [u][t]; the last word has none


def lattice_by_hand_solution():
    """α(1,0) = 1, α(2,0) = 0.4, α(1,1) = 0.5, α(2,1) = 0.08 + 0.25."""
    total = 0.5 * 0.4 + (0.4 * 0.2 + 0.5 * 0.5) * 0.5
    return [total, (0.5 * 0.4 + 0.5 * 0.5 * 0.5) / total]


@by_hand(
    lattice_by_hand_solution,
    "p(y | x) and the share of the first place",
    ["p(y | x)", "posterior (the share)"],
)
def lattice_by_hand():
    """Sum a lattice of two by two, and ask where the first word was written."""
    each = {p: _probability(p, _WRITE, _STEP) for p in _paths(2, 2)}
    total = sum(each.values())
    first = sum(p for path, p in each.items() if path[0] == 0)
    slips = (
        {
            "That is the best path alone; there are three.": max(each.values()),
            "That is the path that steps between the two words; there are "
            "three.": each[0, 1],
            "That is the path that steps before the first word; there are "
            "three.": each[1, 1],
            "You multiplied sums, as if the second word's place did not "
            "depend on the first's.": (0.5 + 0.4 * 0.2) * (0.4 + 0.5 * 0.5),
            "You forgot the steps' probabilities: each move of a path has "
            "one, and going on is a move.": 0.5 * 0.4 + 0.5 * 0.5 + 0.2 * 0.5,
            "0.37 is rounded; give three decimals.": 0.37,
            "0.36 is cut short; give three decimals.": 0.36,
            "That is in per cent; give a number from 0 to 1.": 100 * total,
            "You left out the path on which the finger steps between the two "
            "words.": each[0, 0] + each[1, 1],
            "You left out the path on which the finger steps before the first "
            "word.": each[0, 0] + each[0, 1],
            "You left out the path on which both words are written at the "
            "first place.": each[0, 1] + each[1, 1],
            "That is the share; it comes second.": first / total,
            "That is a logarithm; the probability is asked for.": log(total),
            "That is α(2, 1), before the last word is written: multiply by "
            "its probability, and add what is written at place 1.": 0.33,
        },
        {
            "0.9 is rounded; give three decimals.": 0.9,
            "That is p(y | x); it comes first.": total,
            "That is a logarithm; the probability is asked for.": log(
                first / total
            ),
            "That is in per cent; give a share, from 0 to 1.": 100
            * first
            / total,
            "That is the sum over the paths that begin there; divide it by "
            "the sum over all.": first,
            "That is 1 minus the share: the share of the second place.": 1
            - first / total,
            "That is the probability of writing it there without a look at "
            "what follows. The posterior knows the whole translation.": 0.5,
            "That is the share before the second word is known. The posterior "
            "knows the whole translation.": 0.5 / 0.58,
            "That is the share of the best path; two paths write the first "
            "word at the first place.": each[0, 0] / total,
            "Those are two paths of three; but they are not equally "
            "probable.": 2 / 3,
        },
    )
    truths = {"p(y | x)": total, "the share": first / total}
    return (
        "the sum over three paths, and the posterior of the first word.",
        *(
            stage(
                truth,
                {f"{name}: {hint}": x for hint, x in slips[at].items()},
                f"{name}: this is no slip that the check knows. Write "
                "down the three paths, each as a product of its moves.",
                around(2e-3),
                at,
            )
            for at, (name, truth) in enumerate(truths.items())
        ),
    )


def log_likelihood_solution(write, step):
    """One row of the lattice after another, all in logarithms."""
    target, source = write.shape
    arrived = torch.full((source,), -torch.inf)
    arrived[0] = 0.0
    for u in range(target):
        alpha = [arrived[0]]
        for t in range(1, source):
            walked = alpha[-1] + step[u, t - 1]
            alpha.append(torch.logaddexp(arrived[t], walked))
        arrived = torch.stack(alpha) + write[u]
    return arrived.logsumexp(0)


def _lattice(seed, target, source):
    """Log-probabilities of writing and of stepping, of a random machine."""
    draw = torch.Generator(device="cpu").manual_seed(seed)
    moves = torch.randn(3, target, source, generator=draw).log_softmax(0)
    write, step = moves[0].clone(), moves[1].clone()
    step[:, -1] = -torch.inf
    return write, step


def _wrong_sums(write, step):
    """What the usual slips make of a lattice: hint, log-probability."""
    write, step = float64(write).exp(), float64(step).exp()
    target, source = write.shape
    each = [
        _probability(path, write.tolist(), step.tolist())
        for path in _paths(source, target)
    ]
    late = torch.cat([step[1:], torch.zeros(1, source)])
    shifted = torch.cat([step[:, 1:], torch.zeros(target, 1)], 1)
    best = [
        max(
            _probability(path, write.tolist(), step.tolist())
            for path in _paths(source, target)
            if path[-1] == last
        )
        for last in range(source)
    ]

    def total(write, step, ends=None):
        return sum(
            _probability(path, write.tolist(), step.tolist())
            for path in _paths(source, target)
            if ends is None or path[-1] == ends
        )

    one_step = sum(
        _probability(path, write.tolist(), step.tolist())
        for path in _paths(source, target)
        if all(t - s < 2 for s, t in pairwise((0, *path)))
    )
    moving = sum(
        prod(write[u, t] for u, t in enumerate(path))
        * prod(
            step[u, place]
            for u, (s, t) in enumerate(pairwise((-1, *path)))
            for place in range(s + 1, t)
        )
        for path in combinations(range(source), target)
    )
    written = torch.eye(source, dtype=torch.float64)[0]
    for word, going in zip(write, step, strict=True):
        written = written * word
        for t in range(1, source):
            written[t] += written[t - 1] * going[t - 1]
    swapped = sum(
        _probability(path, write.T.tolist(), step.T.tolist())
        for path in _paths(target, source)
    )
    still, stuck = step.clone(), step.clone()
    still[0], stuck[-1] = 0, 0
    anywhere = sum(
        _probability(path, write.tolist(), step.tolist(), first)
        for path in _paths(source, target)
        for first in range(path[0] + 1)
    )
    return {
        "Two ways into a node are added as probabilities, by torch.logaddexp; "
        "to add their logarithms multiplies them, and leaves little but the "
        "path that never steps.": each[0],
        "Your finger may begin on any word. At the start only the first has "
        "probability 1; the others' logarithm is -inf.": anywhere,
        "That is the best path alone; add them all up.": max(each),
        "You take the larger of the two ways into a node; add them, with "
        "torch.logaddexp.": sum(best),
        "At the end you take the largest of the last row; add up all places "
        "where the last word may be written.": max(
            total(write, step, last) for last in range(source)
        ),
        "That counts only the paths that end with the finger on the last "
        "source word. It may stop anywhere: sum the last row over t.": total(
            write, step, source - 1
        ),
        "That is one node, the last place before the last word is written. "
        "Add log p of the last word there, and the other places where it may "
        "be written.": total(
            torch.cat([write[:-1], torch.ones(1, source)]), step, source - 1
        ),
        "That is where the finger is before the last word is written: the "
        "last row of `write` is missing.": total(
            torch.cat([write[:-1], torch.ones(1, source)]), step
        ),
        "Your finger pays for a step in the row that it goes to; the step "
        "is taken before the word is written, so it is step[u, t - 1] with "
        "the same u as write[u, t].": total(write, late),
        "Your step into place t is step[u, t]; the finger leaves from t - 1: "
        "step[u, t - 1].": total(write, shifted),
        "You leave out the steps' probabilities.": total(
            write, torch.ones_like(step)
        ),
        "Your way from row u - 1 into row u pays write[u]; word u is "
        "write[u - 1], the words being counted from 0.": total(
            torch.cat([write[1:], write[-1:]]), step
        ),
        "In row u your finger pays step[u - 1]; in row 0 that is the last "
        "row, too. It is step[u, t - 1].": total(write, step.roll(1, 0)),
        "Your finger goes one step at most between two words. It may go any "
        "number: from the left in the SAME row, again and again.": one_step,
        "With you a word moves the finger on. It stays: from the node below, "
        "at the same t.": moving,
        "Your axes are swapped: write[u, t] has the target first.": swapped,
        "In row 0 your finger stays on the first word. It may step before any "
        "word is written, too: alpha[0, t] = alpha[0, t - 1] + "
        "step[0, t - 1].": total(write, still),
        "In the last row your finger does not step. It may, before it writes "
        "the last word.": total(write, stuck),
        "In each row you write first and step afterwards: the word is written "
        "where the finger is once it has walked, so write[u, t] comes after "
        "the steps of row u.": written.sum(),
    }


def _log_p(result):
    """The one number that is asked for, also where it stands in a tensor."""
    if hasattr(result, "reshape"):  # a tensor, or NumPy's array
        if prod(result.shape) != 1:
            raise Hint(
                f"You give back a tensor of shape {list(result.shape)}; "
                "log p(y | x) is one number."
            )
        result = result.reshape(())
    return as_number(result, "log p(y | x), one number")


@exercise(log_likelihood_solution)
def log_likelihood(mine):
    """log p(y | x), the sum over all paths, without underflow."""
    shapes = ((3, 4), (4, 2), (1, 3), (2, 5))
    for seed, (target, source) in enumerate(shapes, start=1):
        write, step = _lattice(seed, target, source)
        with torch.no_grad():
            found = _log_p(mine(write.clone(), step.clone()))
        wrong = _wrong_sums(write, step)
        each = [
            _probability(path, write.exp().tolist(), step.exp().tolist())
            for path in _paths(source, target)
        ]
        truth = float64(sum(each)).log()
        mistakes = {
            hint: float64(value).log()
            for hint, value in wrong.items()
            if value > 0 and abs(float64(value).log() - truth) > 1e-3
        }
        mistakes["That is p(y | x); its logarithm is asked for."] = truth.exp()
        last = _sums(*map(float64, (write, step)))[0][-1] + float64(write)[-1]
        mistakes[
            "α(1, 0) is 1, and you start from its logarithm, which is 0."
        ] = truth + 1
        mistakes[
            "At the end you add up logarithms, which multiplies: over the "
            "places of the last row take logsumexp."
        ] = last.sum()
        mistakes["The sign: give log p, not what a loss takes."] = -truth
        given = f"with {source} source words and {target} target words"
        expect(found, truth, mistakes, given)
    write, step = _lattice(9, 200, 200)
    write = write - 6  # as where a vocabulary has thousands of words
    with torch.no_grad():
        found = _log_p(mine(write, step))
    alpha, _ = _sums(float64(write), float64(step))
    expect(
        found,
        (alpha[-1] + float64(write)[-1]).logsumexp(0),
        {},
        otherwise="Right for short sentences. With 200 words on each side "
        f"your answer is {found.item():.6g}: products of so many "
        "probabilities are too small for a number. Stay in logarithms all "
        "the way.",
    )
    write, step = torch.full((2, 3), -1.0), torch.full((2, 3), -3000.0)
    write[:, 0], step[:, -1] = (
        -4000.0,
        -torch.inf,
    )  # the finger has to go on, at a price
    with torch.no_grad():
        found = _log_p(mine(write.clone(), step.clone()))
    expect(
        found,
        float64(-3002.0),
        {},
        otherwise="Right where every move is likely; where the right answer is "
        f"-3002, yours is {found.item():.6g}. A place that cannot be reached "
        "has probability 0, whose logarithm is -torch.inf; a number like -20 "
        "or -1000 lets a little through.",
    )
    return "six lattices, one of 200 × 200 among them."


def where_written_solution(alpha, beta, write):
    """α(t, u) p(y_{u+1} | t, u) β(t, u+1), and each row divided by its sum."""
    target, source = write.shape
    after = torch.cat([beta[1:], torch.zeros(1, source)])
    return torch.softmax(alpha + write + after, dim=1)


def _walked(write, step):
    """Sums into and out of each node, and the posterior, path by path."""
    target, source = write.shape
    plain_write, plain_step = write.exp().tolist(), step.exp().tolist()
    posterior = torch.zeros(target, source, dtype=torch.float64)
    for path in _paths(source, target):
        p = _probability(path, plain_write, plain_step)
        for u, t in enumerate(path):
            posterior[u, t] += p
    return posterior / posterior.sum(1, keepdim=True)


def _log_sum(logs):
    """log Σ exp, of plain numbers."""
    most = max(logs)
    if most == -inf:
        return most
    return most + log(sum(exp(each - most) for each in logs))


def _sums(write, step):
    """log α and log β of every node, by one loop each, in plain numbers."""
    target, source = write.shape
    w, s = write.tolist(), step.tolist()
    alpha = [[0.0] * source for _ in range(target)]
    beta = [[0.0] * source for _ in range(target)]
    for u in range(target):
        for t in range(source):
            ways = [] if u or t else [0.0]
            if t:
                ways.append(alpha[u][t - 1] + s[u][t - 1])
            if u:
                ways.append(alpha[u - 1][t] + w[u - 1][t])
            alpha[u][t] = _log_sum(ways)
    for u in reversed(range(target)):
        for t in reversed(range(source)):
            ways = [w[u][t] + (beta[u + 1][t] if u + 1 < target else 0)]
            if t + 1 < source:
                ways.append(s[u][t] + beta[u][t + 1])
            beta[u][t] = _log_sum(ways)
    return [torch.tensor(each, dtype=write.dtype) for each in (alpha, beta)]


@exercise(where_written_solution)
def where_written(mine):
    """The posterior of each word's place."""
    for seed, (target, source) in enumerate(((3, 4), (4, 3), (2, 2))):
        write, step = _lattice(seed + 20, target, source)
        alpha, beta = _sums(write, step)
        with torch.no_grad():
            result = mine(alpha.clone(), beta.clone(), write.clone())
        found = as_tensor(
            result,
            (target, source),
            "[target, source]",
            {
                (source, target): "Rows are target words.",
                (target - 1, source): "The last word was written somewhere, "
                "too: after it nothing is left to write, one way, β = 1.",
            },
        )
        truth = _walked(float64(write), float64(step))
        a, b, w = map(float64, (alpha, beta, write))
        round_again = a + w + b.roll(-1, 0)
        after = torch.cat([b[1:], torch.zeros(1, source)])
        joint = a + w + after
        total = joint[:1].logsumexp(1, keepdim=True)
        lost = truth.clone()
        lost[-1] = 0
        if found[-1].isnan().all() and found[:-1].isfinite().all():
            raise Hint(
                "Your last row is NaN. After the last word nothing is left to "
                "write: β = 1, whose logarithm is 0 and not −∞."
            )
        expect(
            found,
            truth,
            {
                "α(t, u) β(t, u) is the chance to come through a node. The "
                "word has to be written there, too: its probability is "
                "missing.": (a + b).softmax(1),
                "α(t, u) β(t, u) / p(y | x) is the chance to come through a "
                "node. The word has to be written there, too.": (
                    a + b - total
                ).exp(),
                "Those are the logarithms of α p β. Take exponentials, and "
                "divide: a row has to sum to 1.": joint,
                "You leave out p(y_{u+1} | t, u): the word has to be written "
                "there.": (a + after).softmax(1),
                "After the last word nothing is left to write: β = 1. Your "
                "last row takes the first row's β; roll goes round.": (
                    round_again.softmax(1)
                ),
                "After the last word nothing is left to write: β = 1. With you "
                "roll goes round, and the last row takes the first row's "
                "β.": (round_again - total).exp(),
                "You leave out α(t, u), the ways that lead to the place.": (
                    w + after
                ).softmax(1),
                "After the last word nothing is left to write, β = 1, but you "
                "are given logarithms: its logarithm is 0, not 1.": (
                    a + w + torch.cat([b[1:], torch.ones(1, source)]) - total
                ).exp(),
                "Your β is that of the row before. With word u + 1 written, "
                "what is left is β(t, u+1), the next row's.": (
                    a + w + b.roll(1, 0)
                ).softmax(1),
                "You leave out α(t, u), and divide by p(y | x).": (
                    w + after - total
                ).exp(),
                "You take β(t, u), with the word still to write; after it the "
                "rest is β(t, u+1).": (a + w + b).softmax(1),
                "You take β(t, u) and divide by p(y | x). With the word "
                "written, what is left is β(t, u+1).": (
                    a + w + b - total
                ).exp(),
                "After the last word nothing is left to write: β = 1. Your "
                "last row takes it for 0.": lost,
                "You leave out what comes after: multiply by β(t, u+1).": (
                    a + w
                ).softmax(1),
                "You leave out what comes after, β(t, u+1), and divide by "
                "p(y | x).": (a + w - total).exp(),
                "Your columns sum to 1. A word was written at one place: its "
                "row, over the source, sums to 1.": joint.softmax(0),
                "That is the logarithm of the posterior.": truth.log(),
                "All of it sums to 1, in place of every row.": joint.flatten()
                .softmax(0)
                .reshape(target, source),
                "Those are α p β, not divided: a row has to sum to "
                "1.": joint.exp(),
                "You divide the logarithms by their sum: take exponentials "
                "first.": joint / joint.sum(1, keepdim=True),
            },
        )
    write, step = _lattice(9, 200, 200)
    write = write - 6  # as where a vocabulary has thousands of words
    alpha, beta = _sums(float64(write), float64(step))
    given = [each.to(write.dtype) for each in (alpha, beta, write)]
    with torch.no_grad():
        found = as_tensor(mine(*given), (200, 200), "[target, source]")
    if not found.isfinite().all():
        raise Hint(
            "Right for short sentences. With 200 words on each side yours has "
            "NaN or infinity: products of so many probabilities are too small "
            "for a number. Add the logarithms, and take a softmax."
        )
    return "four lattices, one of 200 × 200; every row sums to 1."


def neither_says_solution():
    """Each place is sure of a word of its own, and has a common second."""
    return [[4.0, 0.0, 3.0], [0.0, 4.0, 3.0]]


_SCORES = "three scores for each place"


def _two_rows(answer):
    """Two rows of three scores, one row after the other."""
    rows = plain(answer)
    if not isinstance(rows, (list, tuple)) or len(rows) != 2:
        raise Hint("Give two rows of three scores: [[…, …, …], […, …, …]].")
    rows = [plain(row) for row in rows]
    rows = [row if isinstance(row, (list, tuple)) else [row] for row in rows]
    need_begun([score for row in rows for score in row], _SCORES)
    return torch.cat([as_numbers(row, 3, _SCORES) for row in rows])


def mixture(scores):
    """By how much the third word is ahead, or behind, as the stages want it.

    Inside, where it must lead; at each place, where it must not; outside.
    """
    table = float64(scores).view(2, 3)
    inside = (table / 2).sum(0).softmax(0)  # halves: no sum is too large
    each = table.softmax(1)
    outside = each.mean(0)
    first, second = each

    def lead(p):
        return (p[2] - p[:2].max()).item()

    def said(p):
        return ", ".join(f"{x:.2f}" for x in p)

    leads = [lead(inside), -lead(first), -lead(second), -lead(outside)]
    return leads, {"inside": said(inside), "outside": said(outside)}


@by_hand(
    neither_says_solution,
    _SCORES,
    [f"place 1, word {k}" for k in (1, 2, 3)],
    [f"place 2, word {k}" for k in (1, 2, 3)],
    read=_two_rows,
    measure=mixture,
)
def neither_says():
    """Scores for which averaging before the softmax changes the word."""
    hints = [
        "Inside, the probabilities are {inside}: the third word is not "
        "ahead. Let both places give it a high score, though not "
        "their highest.",
        "Place 1 on its own would say the third word, or cannot choose. Give "
        "it another favourite.",
        "Place 2 on its own would say the third word, or cannot choose. Give "
        "it another favourite.",
        "Outside, the probabilities are {outside}: the third word is the "
        "likeliest there as well. Let each place be surer of its own word.",
    ]
    return (
        "inside {inside}; outside {outside}.",
        *(
            stage(0, {}, hint, lambda _: [1e-9, MOST], at)
            for at, hint in enumerate(hints)
        ),
    )
