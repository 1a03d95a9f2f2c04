"""The exercises of `transducer`: each check beside its reference solution.

What is right is found by following every path, one after the other.
"""

from itertools import combinations_with_replacement
from math import comb, exp, factorial, inf, log, perm, prod

import torch

from lookback.exercises.by_hand import (
    MOST,
    around,
    as_numbers,
    by_hand,
    exactly,
    need_begun,
    stage,
)
from lookback.exercises.checking import (
    Hint,
    as_number,
    as_tensor,
    edited,
    exercise,
    expect,
    float64,
    plain,
)
from lookback.transducer import forward_sums


def _paths(source, target):
    """Every way to place the target words: where each of them is emitted."""
    return combinations_with_replacement(range(source), target)


def _probability(path, emit, blank, place=0):
    """The product along one path; emit and blank are [target][source]."""
    factors = []
    for u, t in enumerate(path):
        factors += [blank[u][passed] for passed in range(place, t)]
        factors.append(emit[u][t])
        place = t
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
    words, blanks, moves = target, source - 1, source + target - 1
    said = {n: _NUMBERS[n] for n in range(len(_NUMBERS))}
    mistakes = {
        f"<end> is included: {said[source]} words and {said[target]}, not "
        f"{said[source + 1]} and {said[target + 1]}.": comb(
            moves + 2, target + 1
        ),
        f"That allows a blank at the last source word: {said[source]} "
        f"blanks in place of {said[blanks]}.": comb(moves + 1, target),
        "That lets each word be emitted anywhere. The alignment is "
        "monotonic: the second word's place is not left of the first's.": (
            source**target
        ),
        f"That is the number of nodes, {source} · {target}. A path goes "
        "through many of them.": source * target,
        "That gives each target word a source word of its own. Two words "
        "may also be emitted at the same place.": comb(source, target),
        f"That chooses from {said[moves - 1]} moves: it counts the paths that "
        "end at the last source word. A path may end anywhere: it is over "
        "when <end> is emitted.": comb(moves - 1, words - 1),
        "That gives each target word a source word of its own, in any "
        "order. The alignment is monotonic, and words may share a place.": (
            perm(source, target)
        ),
        f"{said[moves].title()} moves can stand in {factorial(moves)} orders, "
        "but moves of one kind cannot be told apart: divide by the orders of "
        "the words, and of the blanks.": factorial(moves),
        f"That shares out {said[source]} words among {said[target]} places. "
        f"It is the other way round: {said[target]} French words are emitted "
        f"at {said[source]} English places.": comb(moves, words - 1),
        "That lets each English word choose a French one, in any order. The "
        "French words are placed, none to the left of the one before.": (
            target**source
        ),
    }
    otherwise = (
        "The check does not recognize this mistake. A path is a row of "
        f"{said[words]} words and at most {said[blanks]} blanks; its last move "
        "is a word."
    )
    paths = sum(1 for _ in _paths(source, target))
    return (
        f"{paths} paths, as many as {said[words]} words and {said[blanks]} "
        "blanks have orders. (A path that ends early takes the blanks that it "
        "lacks after its last word.)",
        stage(paths, mistakes, otherwise, exactly),
    )


_EMIT = [[0.5, 0.2], [0.4, 0.5]]  # [u][t]: p(y_{u+1} | t, u)
_BLANK = [[0.4, 0.0], [0.5, 0.0]]  # [u][t]; none at the last place


def lattice_by_hand_solution():
    """α(1,0) = 1, α(2,0) = 0.4, α(1,1) = 0.5, α(2,1) = 0.08 + 0.25."""
    total = 0.5 * 0.4 + (0.4 * 0.2 + 0.5 * 0.5) * 0.5
    return [total, (0.5 * 0.4 + 0.5 * 0.5 * 0.5) / total]


@by_hand(
    lattice_by_hand_solution,
    "p(y | x) and the posterior of the first place",
    ["p(y | x)", "posterior"],
)
def lattice_by_hand():
    """Sum a lattice of two by two, and ask where the first word was emitted."""
    each = {p: _probability(p, _EMIT, _BLANK) for p in _paths(2, 2)}
    total = sum(each.values())
    first = sum(p for path, p in each.items() if path[0] == 0)
    slips = (
        {
            "That is the best path alone; there are three.": max(each.values()),
            "That is the path whose blank stands between the two words; "
            "there are three.": each[0, 1],
            "That is the path whose blank stands before the first word; "
            "there are three.": each[1, 1],
            "You multiplied sums, as if the second word's place did not "
            "depend on the first's.": (0.5 + 0.4 * 0.2) * (0.4 + 0.5 * 0.5),
            "You left out the blanks' probabilities: each move of a path has "
            "one, and a blank is a move.": 0.5 * 0.4 + 0.5 * 0.5 + 0.2 * 0.5,
            "0.37 is rounded; give three decimals.": 0.37,
            "0.36 is cut short; give three decimals.": 0.36,
            "That is in per cent; give a number from 0 to 1.": 100 * total,
            "You left out the path whose blank stands between the two "
            "words.": each[0, 0] + each[1, 1],
            "You left out the path whose blank stands before the first "
            "word.": each[0, 0] + each[0, 1],
            "You left out the path on which both words are emitted at the "
            "first place.": each[0, 1] + each[1, 1],
            "That is the posterior; it comes second.": first / total,
            "That is a logarithm; the probability is asked for.": log(total),
            "That is α(2, 1), before the last word is emitted: multiply by "
            "its probability, and add what is emitted at place 1.": 0.33,
        },
        {
            "0.9 is rounded; give three decimals.": 0.9,
            "That is p(y | x); it comes first.": total,
            "That is a logarithm; the probability is asked for.": log(
                first / total
            ),
            "That is in per cent; give a number from 0 to 1.": 100
            * first
            / total,
            "That is the sum over the paths that begin there; divide it by "
            "the sum over all.": first,
            "That is 1 minus the posterior: that of the second place.": 1
            - first / total,
            "That is the probability of emitting it there, whatever follows. "
            "The posterior knows the whole translation.": 0.5,
            "That is its probability before the second word is known. The "
            "posterior knows the whole translation.": 0.5 / 0.58,
            "That is the best path alone; two paths emit the first word "
            "at the first place.": each[0, 0] / total,
            "Those are two paths of three; but they are not equally "
            "probable.": 2 / 3,
        },
    )
    truths = {"p(y | x)": total, "The posterior": first / total}
    return (
        "the sum over three paths, and the posterior of the first word.",
        *(
            stage(
                truth,
                {f"{name}: {hint}": x for hint, x in slips[at].items()},
                f"{name}: the check does not recognize this mistake. Write "
                "down the three paths, each as a product of its moves.",
                around(2e-3),
                at,
            )
            for at, (name, truth) in enumerate(truths.items())
        ),
    )


lattice_by_hand.style((0.365, 0.89))


def log_likelihood_solution(emit, blank):
    """One row of the lattice after another, all in logarithms."""
    target, source = emit.shape
    arrived = torch.full((source,), -torch.inf)
    arrived[0] = 0.0
    for u in range(target):
        alpha = [arrived[0]]
        for t in range(1, source):
            onward = alpha[-1] + blank[u, t - 1]
            alpha.append(torch.logaddexp(arrived[t], onward))
        arrived = torch.stack(alpha) + emit[u]
    return arrived.logsumexp(0)


def _lattice(seed, target, source):
    """Log-probabilities of words and of blanks, of a random model."""
    draw = torch.Generator(device="cpu").manual_seed(seed)
    moves = torch.randn(3, target, source, generator=draw).log_softmax(0)
    emit, blank = moves[0].clone(), moves[1].clone()
    blank[:, -1] = -torch.inf
    return emit, blank


def _by_paths(emit, blank):
    """The probability of all paths, and the posterior of each word's place."""
    emit, blank = float64(emit).exp(), float64(blank).exp()
    target, source = emit.shape
    total, posterior = 0.0, torch.zeros_like(emit)
    for path in _paths(source, target):
        p = _probability(path, emit.tolist(), blank.tolist())
        total += p
        posterior[range(target), path] += p
    return total, posterior / total


_ONE = "log p(y | x) is one number."
_UNDERFLOW = (
    "products of so many probabilities are too small for a number. Stay in "
    "logarithms all the way."
)
_LEAK = (
    "A place that cannot be reached has probability 0, whose logarithm is "
    "-torch.inf; a number like -20 or -1000 lets a little through."
)


def _log_p(result):
    """The one number that is asked for, also where it stands in a tensor."""
    if hasattr(result, "reshape"):  # a tensor, or NumPy's array
        if prod(result.shape) != 1:
            raise Hint(
                f"You give back a tensor of shape {list(result.shape)}; {_ONE}"
            )
        result = result.reshape(())
    return as_number(result, "log p(y | x), one number")


@exercise(log_likelihood_solution)
def log_likelihood(mine):
    """log p(y | x), the sum over all paths, without underflow."""
    cases = []
    for seed, shape in enumerate(((3, 4), (4, 2), (1, 3), (2, 5)), start=1):
        given = _lattice(seed, *shape)
        cases.append((given, log(_by_paths(*given)[0])))
    log_likelihood.compare(
        mine,
        cases,
        about="with {0.shape[1]} source words and {0.shape[0]} target words",
        ask=lambda answer, *given: _log_p(answer(*given)),
    )
    emit, blank = _lattice(9, 200, 200)
    emit = emit - 6  # as where a vocabulary has thousands of words
    found = _log_p(mine(emit, blank))
    alpha, _ = _sums(float64(emit), float64(blank))
    expect(
        found,
        (alpha[-1] + float64(emit)[-1]).logsumexp(0),
        "Right for short sentences. With 200 words on each side "
        f"your answer is {found.item():.6g}: {_UNDERFLOW}",
    )
    emit, blank = torch.full((2, 3), -1.0), torch.full((2, 3), -3000.0)
    emit[:, 0], blank[:, -1] = -4000.0, -torch.inf  # it costs much to go on
    found = _log_p(mine(emit, blank))
    expect(
        found,
        float64(-3002.0),
        "Right where every move is likely; where the right answer is "
        f"-3002, yours is {found.item():.6g}. {_LEAK}",
    )
    return "six lattices, one of 200 × 200 among them."


def _cell_by_cell(emit, blank):
    target, source = emit.shape
    alpha = torch.full((target, source), -torch.inf)
    for u in range(target):
        for t in range(source):
            ways = [torch.zeros(())] if u == t == 0 else []
            if t:
                ways.append(alpha[u, t - 1] + blank[u, t - 1])
            if u:
                ways.append(alpha[u - 1, t] + emit[u - 1, t])
            alpha[u, t] = torch.stack(ways).logsumexp(0)
    return (alpha[-1] + emit[-1]).logsumexp(0)


def _without_logarithms(emit, blank):
    emit, blank = emit.exp(), blank.exp()
    target, source = emit.shape
    arrived = [1.0] + [0.0] * (source - 1)
    for u in range(target):
        alpha = [arrived[0]]
        for t in range(1, source):
            alpha.append(arrived[t] + alpha[-1] * blank[u, t - 1])
        arrived = [a * w for a, w in zip(alpha, emit[u], strict=True)]
    return torch.as_tensor(sum(arrived)).log()


_ADDED = "torch.logaddexp(arrived[t], onward)"
_ROW = "torch.stack(alpha) + emit[u]"
_BLANKED = "blank[u, t - 1]"
_SUM = ".logsumexp(0)"
for _hint, *_typed in (
    (
        "Two ways into a node are added as probabilities, by torch.logaddexp; "
        "to add their logarithms multiplies them, and leaves little but the "
        "path without a blank.",
        *(_ADDED, "arrived[t] + onward"),
    ),
    (
        "Your paths may begin at any place. At the start only the first has "
        "probability 1; the others' logarithm is -inf.",
        *("torch.full((source,), -torch.inf)", "torch.zeros(source)"),
    ),
    (
        "That is the best path alone; add them all up.",
        *("logaddexp", "maximum", _SUM, ".max()"),
    ),
    (
        "You take the larger of the two ways into a node; add them, with "
        "torch.logaddexp.",
        *("logaddexp", "maximum"),
    ),
    (
        "At the end you take the largest of the last row; add up all places "
        "where the last word may be emitted.",
        *(_SUM, ".max()"),
    ),
    (
        "That counts only the paths that end at the last source word. A path "
        "may end anywhere: sum the last row over t.",
        *(_SUM, "[-1]"),
    ),
    (
        "That is one node, the last place before the last word is emitted. "
        "Add log p of the last word there, and the other places where it may "
        "be emitted.",
        *(f"arrived{_SUM}", "alpha[-1]"),
    ),
    (
        "That is the sum before the last word is emitted: the last row of "
        "`emit` is missing.",
        *(f"arrived{_SUM}", f"torch.stack(alpha){_SUM}"),
    ),
    (
        "Your blank is that of the row above; the blank comes before the "
        "word is emitted, so it is blank[u, t - 1] with the same u as "
        "emit[u, t].",
        _BLANKED,
        "(blank[u + 1, t - 1] if u + 1 < target else -torch.inf)",
    ),
    (
        "Your blank into place t is blank[u, t]; it is taken at t - 1: "
        "blank[u, t - 1].",
        *(_BLANKED, "blank[u, t]"),
    ),
    ("You leave out the blanks' probabilities.", f" + {_BLANKED}", ""),
    (
        "Your way from row u - 1 into row u takes emit[u]; word u is "
        "emit[u - 1], the words being counted from 0.",
        edited(_cell_by_cell, "emit[u - 1, t]", "emit[u, t]"),
    ),
    (
        "In row u you take blank[u - 1]; in row 0 that is the last row, "
        "too. It is blank[u, t - 1].",
        *(_BLANKED, "blank[u - 1, t - 1]"),
    ),
    (
        "You allow one blank at most between two words. There may be any "
        "number: from the left in the SAME row, again and again.",
        *("alpha[-1] +", "arrived[t - 1] +"),
    ),
    (
        "In your sum a word moves on by one place. Only a blank does: a word "
        "comes from the node below, at the same t.",
        edited(
            _cell_by_cell,
            *("if u:", "if u and t:", "alpha[u - 1, t]", "alpha[u - 1, t - 1]"),
            *("emit[u - 1, t]", "emit[u - 1, t - 1]"),
            *(
                "            alpha[u, t] =",
                "            if ways: alpha[u, t] =",
            ),
        ),
    ),
    (
        "Your axes are swapped: emit[u, t] has the target first.",
        *("target, source = emit.shape", "source, target = emit.shape"),
        *("blank[u, t - 1]", "blank[t - 1, u]", "emit[u]", "emit[:, u]"),
    ),
    (
        "In row 0 you allow no blank. There may be blanks before any word "
        "is emitted: alpha[0, t] = alpha[0, t - 1] + blank[0, t - 1].",
        *(_ADDED, f"{_ADDED} if u else arrived[t]"),
    ),
    (
        "In the last row you allow no blank. There may be blanks before the "
        "last word is emitted.",
        *(_ADDED, f"{_ADDED} if u + 1 < target else arrived[t]"),
    ),
    (
        "In each row you emit the word before the blanks: it is emitted "
        "where the blanks have led, so emit[u, t] comes after the blanks of "
        "row u.",
        *("alpha = [", "arrived = arrived + emit[u]; alpha = ["),
        *(_ROW, "torch.stack(alpha)"),
    ),
    (
        "That is p(y | x); its logarithm is asked for.",
        *(_SUM, f"{_SUM}.exp()"),
    ),
    (
        "α(1, 0) is 1, and you start from its logarithm, which is 0.",
        *("= 0.0", "= 1.0"),
    ),
    (
        "At the end you add up logarithms, which multiplies: over the places "
        "of the last row take logsumexp.",
        *(_SUM, ".sum()"),
    ),
    (
        "The sign: give log p, not what a loss takes.",
        *("return ", "return -"),
    ),
    (_ONE, _SUM, ""),
    (_UNDERFLOW, _without_logarithms),
    (
        _UNDERFLOW,
        lambda emit, blank: _without_logarithms(emit.double(), blank.double()),
    ),
    (_LEAK, "-torch.inf", "-20.0"),
    (_LEAK, "-torch.inf", "-1e3"),
):
    log_likelihood.slip(_hint, *_typed)

log_likelihood.style(_cell_by_cell)
log_likelihood.style(edited(log_likelihood_solution, "-torch.inf", "-1e30"))
for _after in (".item()", "[None]", ".reshape(1).numpy()"):
    log_likelihood.style(edited(log_likelihood_solution, _SUM, _SUM + _after))


@log_likelihood.style
def _by_the_book(emit, blank):
    mask = torch.ones(1, emit.shape[1], dtype=torch.bool)
    alpha = forward_sums(emit[None], blank[None], mask)
    return (alpha[0, -1] + emit[-1]).logsumexp(0)


def where_written_solution(alpha, beta, emit):
    """α(t, u) p(y_{u+1} | t, u) β(t, u+1), and each row divided by its sum."""
    target, source = emit.shape
    after = torch.cat([beta[1:], torch.zeros(1, source)])
    return torch.softmax(alpha + emit + after, dim=1)


def _log_sum(logs):
    """log Σ exp, of plain numbers."""
    largest = max(logs)
    if largest == -inf:
        return largest
    return largest + log(sum(exp(each - largest) for each in logs))


def _sums(emit, blank):
    """log α and log β of every node, by one loop each, in plain numbers."""
    target, source = emit.shape
    w, s = emit.tolist(), blank.tolist()
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
    return [torch.tensor(each, dtype=emit.dtype) for each in (alpha, beta)]


_TOO_SMALL = (
    "Right for short sentences. With 200 words on each side yours has NaN or "
    "infinity: products of so many probabilities are too small for a number. "
    "Add the logarithms, and take a softmax."
)


@exercise(where_written_solution)
def where_written(mine):
    """The posterior of each word's place."""
    cases = []
    for seed, shape in enumerate(((3, 4), (4, 3), (2, 2)), start=20):
        emit, blank = _lattice(seed, *shape)
        given = (*_sums(emit, blank), emit)
        cases.append((given, _by_paths(emit, blank)[1]))
    where_written.compare(mine, cases, "[target, source]")
    emit, blank = _lattice(9, 200, 200)
    emit = emit - 6  # as where a vocabulary has thousands of words
    alpha, beta = _sums(float64(emit), float64(blank))
    given = [each.to(emit.dtype) for each in (alpha, beta, emit)]
    found = as_tensor(mine(*given), (200, 200), "[target, source]")
    if not found.isfinite().all():
        raise Hint(_TOO_SMALL)
    return "four lattices, one of 200 × 200; every row sums to 1."


_AFTER = "torch.cat([beta[1:], torch.zeros(1, source)])"
_LOGS = "alpha + emit + after"
_SHARES = f"torch.softmax({_LOGS}, dim=1)"
_BY_TOTAL = (_SHARES, f"({_LOGS} - (alpha + emit)[-1].logsumexp(0)).exp()")
_ROUND = (
    "After the last word nothing is left to emit: β = 1. Your last row takes "
    "the first row's β; roll goes round."
)
for _hint, *_typed in (
    (
        "α(t, u) β(t, u) is the chance to come through a node. The word has to "
        "be emitted there, too: its probability is missing.",
        *(_LOGS, "alpha + beta"),
    ),
    (
        "α(t, u) β(t, u) / p(y | x) is the chance to come through a node. The "
        "word has to be emitted there, too.",
        *(*_BY_TOTAL, _LOGS, "alpha + beta"),
    ),
    (
        "Those are the logarithms of α p β. Take exponentials, and divide: a "
        "row has to sum to 1.",
        *(_SHARES, _LOGS),
    ),
    (
        "You leave out p(y_{u+1} | t, u): the word has to be emitted there.",
        *(_LOGS, "alpha + after"),
    ),
    (_ROUND, _AFTER, "beta.roll(-1, 0)"),
    (_ROUND, _AFTER, "beta.roll(-1, 0)", *_BY_TOTAL),
    (
        "You leave out α(t, u), the ways that lead to the place.",
        *(_LOGS, "emit + after"),
    ),
    (
        "After the last word nothing is left to emit, β = 1, but you are "
        "given logarithms: its logarithm is 0, not 1.",
        *(*_BY_TOTAL, "torch.zeros(", "torch.ones("),
    ),
    (
        "Your β is that of the row before. With word u + 1 emitted, what is "
        "left is β(t, u+1), the next row's.",
        *(_AFTER, "beta.roll(1, 0)"),
    ),
    (
        "You leave out α(t, u), and divide by p(y | x).",
        *(*_BY_TOTAL, _LOGS, "emit + after"),
    ),
    (
        "You take β(t, u), with the word still to emit; after it the rest is "
        "β(t, u+1).",
        *(_AFTER, "beta"),
    ),
    (
        "You take β(t, u) and divide by p(y | x). With the word emitted, what "
        "is left is β(t, u+1).",
        *(_AFTER, "beta", *_BY_TOTAL),
    ),
    (
        "After the last word nothing is left to emit: β = 1. Your last row "
        "takes it for 0.",
        *(*_BY_TOTAL, "torch.zeros(1, source)"),
        "torch.full((1, source), -torch.inf)",
    ),
    (
        "Your last row is NaN. After the last word nothing is left to emit: "
        "β = 1, whose logarithm is 0 and not −∞.",
        "torch.zeros(1, source)",
        "torch.full((1, source), -torch.inf)",
    ),
    (
        "You leave out what comes after: multiply by β(t, u+1).",
        *(_LOGS, "alpha + emit"),
    ),
    (
        "You leave out what comes after, β(t, u+1), and divide by p(y | x).",
        *(*_BY_TOTAL, _LOGS, "alpha + emit"),
    ),
    (
        "Your columns sum to 1. A word was emitted at one place: its row, over "
        "the source, sums to 1.",
        *("dim=1", "dim=0"),
    ),
    ("That is the logarithm of the posterior.", "softmax", "log_softmax"),
    (
        "All of it sums to 1, in place of every row.",
        *(_SHARES, f"({_LOGS}).flatten().softmax(0).view_as(alpha)"),
    ),
    (
        "Those are α p β, not divided: a row has to sum to 1.",
        *(_SHARES, f"({_LOGS}).exp()"),
    ),
    (
        "You divide the logarithms by their sum: take exponentials first.",
        *(_SHARES, f"({_LOGS}) / ({_LOGS}).sum(1, keepdim=True)"),
    ),
    ("Rows are target words.", _SHARES, f"{_SHARES}.T"),
    (
        "The last word was emitted somewhere, too: after it nothing is left to "
        "emit, one way, β = 1.",
        *(_SHARES, "(alpha[:-1] + emit[:-1] + beta[1:]).softmax(1)"),
    ),
):
    where_written.slip(_hint, *_typed)


@where_written.slip(_TOO_SMALL)
def _products(alpha, beta, emit):
    after = torch.cat([beta[1:].exp(), torch.ones_like(beta[:1])])
    p = alpha.exp() * emit.exp() * after
    return p / p.sum(1, keepdim=True)


where_written.style(edited(where_written_solution, *_BY_TOTAL))


@where_written.style
def _row_by_row(alpha, beta, emit):
    rows = []
    for u in range(len(emit)):
        rest = beta[u + 1] if u + 1 < len(emit) else 0.0
        row = alpha[u] + emit[u] + rest
        row = (row - row.max()).exp()
        rows.append(row / row.sum())
    return torch.stack(rows)


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
        "Averaged before the softmax (inside), the probabilities are "
        "{inside}: the third word is not ahead. Let both places give it a high "
        "score, though not their highest.",
        "Place 1 on its own would emit the third word, or cannot choose. Give "
        "it another favorite.",
        "Place 2 on its own would emit the third word, or cannot choose. Give "
        "it another favorite.",
        "In the mixture (outside) the probabilities are {outside}: the third "
        "word is the likeliest there as well. Let each place be surer of its "
        "own word.",
    ]
    return (
        "inside {inside}; outside {outside}.",
        *(
            stage(0, {}, hint, lambda _: [1e-9, MOST], at)
            for at, hint in enumerate(hints)
        ),
    )


neither_says.style(torch.tensor([[9.0, -9.0, 8.0], [-9.0, 9.0, 8.5]]))
