"""The exercises of `memory_networks`: each check beside its reference solution.

What is right is found by torch's own attention, by slow loops or by trying
temperatures, never by the solution's formula.
"""

import math

import torch
from torch.nn import functional as F

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    NO_GRADIENT,
    OTHER_GRADIENT,
    Hint,
    as_tensor,
    exercise,
    float64,
    learnable,
    random_inputs,
)

L3 = math.log(3)
QUESTION = [1.0, 0.0]
MEMORIES = (  # of each hop the keys m_1, m_2 and the values c_1, c_2
    ([[L3, 0.0], [0.0, 2.0]], [[0.0, 1.0], [4.0, 1.0]]),
    ([[1.0, -2.0], [0.0, L3]], [[8.0, 0.0], [0.0, 8.0]]),
)


def two_hops_by_hand_solution():
    """u after the first hop, and after the second."""
    return [2, 1, 4, 7]


def _walk(share=lambda e: e.softmax(-1), add=(1, 1), ask=False, swap=False):
    """Both hops with one thing done otherwise: u after each."""
    u, found = float64(QUESTION), []
    for (keys, values), plus in zip(MEMORIES, add, strict=True):
        keys, values = float64(keys), float64(values)
        asked = float64(QUESTION) if ask else u
        p = share(keys @ asked)
        o = (p.flip(0) if swap else p) @ values
        u = plus * u + o
        found += u.tolist()
    return found


def _by_torch():
    u, found = float64(QUESTION), []
    for keys, values in MEMORIES:
        o = F.scaled_dot_product_attention(
            u[None], float64(keys), float64(values), scale=1.0
        )
        u = u + o[0]
        found += u.tolist()
    return found


def _hard(e):
    return F.one_hot(e.argmax(), len(e)).double()


@by_hand(
    two_hops_by_hand_solution,
    "u after the first hop, two numbers, and u after the second, two",
    ["after hop 1, first", "after hop 1, second"],
    ["after hop 2, first", "after hop 2, second"],
    known={2: "Give u after both hops: four numbers."},
)
def two_hops_by_hand():
    """Two hops over a memory of two sentences."""
    mistakes = {
        "What was found is ADDED to the question: u' = u + o. You went on "
        "with o alone.": _walk(add=(0, 0)),
        "Right after the first hop. The second adds too: u'' = u' + o'.": (
            _walk(add=(1, 0))
        ),
        "That is what each hop found, o and o'. u' and u'' are sums: the "
        "question, and what was found.": [
            new - old
            for new, old in zip(_walk(), [*QUESTION, *_walk()[:2]], strict=True)
        ],
        "You lost the question after the first hop, and added only in the "
        "second. Add both times.": _walk(add=(0, 1)),
        "Those are the scores as weights. They go through the softmax "
        "first: e^(ln 3) = 3 and e^0 = 1, so they are ¾ and ¼.": (
            _walk(lambda e: e)
        ),
        "You took the better sentence alone. That is hard attention; in soft "
        "attention the other one has a quarter.": _walk(_hard),
        "In the second hop you asked with the old u. It is u' that asks "
        "now.": _walk(ask=True),
        "The attention weights stand the wrong way round: the larger one "
        "belongs to the larger score.": _walk(swap=True),
        "You weighed both sentences alike. The scores are not equal.": _walk(
            lambda e: torch.full_like(e, 0.5)
        ),
    }
    otherwise = (
        "The check does not recognize this mistake. One hop: u · m for both "
        "keys, the softmax, the mean of the values with these weights, and u "
        "added to it."
    )
    return (
        "both times one sentence has the weight ¾ and the other ¼, and in "
        "the second hop it is the other way round.",
        stage(_by_torch(), mistakes, otherwise, around(0.012)),
    )


def add_a_hop_solution(u, M, C):
    """u + Σ p_i c_i and p = softmax_i(u · m_i)."""
    p = (M @ u.unsqueeze(-1)).squeeze(-1).softmax(dim=-1)
    return u + (p.unsqueeze(1) @ C).squeeze(1), p


_TWO = "Give back two tensors: the new u, and the weights p."


def _part(at):
    """What asks for the new u, 0, or for the weights, 1."""

    def ask(answer, *given):
        found = answer(*given)
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise Hint(_TWO)
        return found[at]

    return ask


@exercise(add_a_hop_solution)
def add_a_hop(mine):
    """One hop for a batch of stories."""
    weights, after = [], []
    sizes = ((3, 5, 4), (1, 2, 3), (2, 1, 6))
    for seed, (batch, source, d) in enumerate(sizes):
        given = random_inputs(
            seed, (batch, d), (batch, source, d), (batch, source, d)
        )
        u, M, C = map(float64, given)
        each = torch.eye(source).to(C).expand(batch, -1, -1)
        p, o = (
            F.scaled_dot_product_attention(u[:, None], M, V, scale=1.0)[:, 0]
            for V in (each, C)
        )
        weights.append((given, p))
        after.append((given, u + o))
    size = "for {0.shape[0]} stories of {1.shape[1]} sentences"
    add_a_hop.compare(
        *(mine, weights, "p [batch, source]", f"in the weights, {size}"),
        ask=_part(1),
    )
    add_a_hop.compare(
        *(mine, after, "u [batch, d]", f"in the new u, {size}"), ask=_part(0)
    )
    learnable(mine, *weights[0][0])
    return "three batches, one of a single sentence: that one has weight 1."


_SHARE, _MEAN = ".softmax(dim=-1)", "(p.unsqueeze(1) @ C).squeeze(1)"
for _hint, *_typed in (
    (
        "Your weights sum to 1 over the batch. They are to sum to 1 over the "
        "sentences: dim=-1.",
        *("dim=-1", "dim=0"),
    ),
    ("Those are the scores; the softmax is missing.", _SHARE, ""),
    (
        "You divided the scores by the root of d. That came in 2017; here "
        "they are plain products.",
        *(_SHARE, f".div(u.shape[1] ** 0.5){_SHARE}"),
    ),
    (
        "You compared u with the values. Keys are compared, values handed "
        "back.",
        *("M @", "C @"),
    ),
    (
        "You took the best sentence alone. In soft attention all have a "
        "weight: softmax.",
        *("return", "p = F.one_hot(p.argmax(1), p.shape[1]).to(u)\n    return"),
    ),
    (
        "That is e to the scores, and not divided by its sum.",
        *(_SHARE, ".exp()"),
    ),
    ("Those are the logarithms of the weights.", "softmax", "log_softmax"),
    (
        "That is what was found; the question is lost: add u.",
        *("return u + ", "return "),
    ),
    (
        "You handed the keys back. M is compared, C is handed back.",
        *("@ C", "@ M"),
    ),
    (
        "You added up the values without their weights.",
        *(_MEAN, "C.sum(1)"),
    ),
    (
        "You took the mean over the sentences: Σ p_i c_i is a mean already.",
        *(_MEAN, "(p.unsqueeze(-1) * C).mean(1)"),
    ),
    (
        "You added u once for every sentence.",
        *(f"u + {_MEAN}", "(u.unsqueeze(1) + p.unsqueeze(-1) * C).sum(1)"),
    ),
    (
        "That is what was found times u, number by number. Add.",
        *("u + (", "u * ("),
    ),
    (_TWO, ", p\n", "\n"),
    (NO_GRADIENT, "(M @", "(M.detach() @"),
    (OTHER_GRADIENT, "return u +", "return u.detach() +"),
    (
        "The new u comes first, then the weights.",
        *("return u", "return p, u", ", p\n", "\n"),
    ),
    (
        "Add up over the sentences: one vector a story.",
        *(f"u + {_MEAN}", "u.unsqueeze(1) + p.unsqueeze(-1) * C"),
    ),
    (
        "An axis of 1 is left over from the product: take it away, squeeze(1).",
        *(f"u + {_MEAN}", "u.unsqueeze(1) + p.unsqueeze(1) @ C"),
    ),
    (
        "An axis of 1 is left over from the product: take it away, squeeze(1).",
        *(".squeeze(1)", ""),
    ),
    (
        "An axis of 1 is left over in the weights: squeeze(1).",
        *("(M @ u.unsqueeze(-1)).squeeze(-1)", "(u.unsqueeze(1) @ M.mT)"),
        *("p.unsqueeze(1) @", "p @"),
    ),
    (
        "An axis of 1 is left over in the weights: squeeze(-1).",
        *(f".squeeze(-1){_SHARE}", ".softmax(dim=1)"),
        *(_MEAN, "(p * C).sum(1)"),
    ),
    (
        "You multiplied every u with every story.",
        *("(M @ u.unsqueeze(-1)).squeeze(-1)", "(u @ M.sum(1).T)"),
        *(_MEAN, "p @ C.sum(1)"),
    ),
):
    add_a_hop.slip(_hint, *_typed)


@add_a_hop.style
def _by_einsum(u, M, C):
    p = torch.einsum("bd,bsd->bs", u, M).softmax(1)
    return u + torch.einsum("bs,bsd->bd", p, C), p


@add_a_hop.style
def _story_by_story(u, M, C):
    p = [F.softmax(m @ one, dim=0) for one, m in zip(u, M, strict=True)]
    after = [a + b @ c for a, b, c in zip(u, p, C, strict=True)]
    return [torch.stack(after), torch.stack(p)]


def tied_solution(E):
    """B = A^1 = E_0, A^k = E_{k−1}, C^k = E_k, W = C^Kᵀ."""
    return E[0], [(E[k], E[k + 1]) for k in range(len(E) - 1)], E[-1].T


_THREE = "Give back three things: B, the list of pairs, and W."
_PAIRS = "The second thing is a list of pairs (A, C)."
_COUNT = (
    "There are {} hops here, and {} matrices: each hop stands between two "
    "neighbours. You gave {} pairs."
)


def _tables(answer, E):
    """The answer's keys A and values C, each as one tensor, B and W."""
    found = answer(E)
    if not isinstance(found, (tuple, list)) or len(found) != 3:
        raise Hint(_THREE)
    if isinstance(found[0], (tuple, list)):  # the pairs of three hops
        raise Hint(_THREE)
    B, pairs, W = found
    if not isinstance(pairs, (tuple, list)) or not all(
        isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs
    ):
        raise Hint(_PAIRS)
    if len(pairs) != len(E) - 1:
        raise Hint(_COUNT.format(len(E) - 1, len(E), len(pairs)))
    A, C = (
        torch.stack([as_tensor(x, E.shape[1:], "[vocab, d]") for x in tables])
        for tables in zip(*pairs, strict=True)
    )
    return A, C, B, W


@exercise(tied_solution)
def tied(mine):
    """Which embedding matrix serves where, with adjacent tying."""
    given = [random_inputs(hops, (hops + 1, 5, 4)) for hops in (3, 1, 2)]
    truth = {
        "the keys A": lambda E: E[:-1],
        "the values C": lambda E: E[1:],
        "B": lambda E: E[0],
        "W": lambda E: E[-1].T,
    }
    for at, (part, serves) in enumerate(truth.items()):

        def ask(answer, E, at=at):
            return _tables(answer, E)[at]

        cases = [([E], serves(E)) for [E] in given]
        tied.compare(mine, cases, part, f"in {part},", ask=ask)
    return "one, two and three hops: a matrix more than hops, and no others."


_LIST = "[(E[k], E[k + 1]) for k in range(len(E) - 1)]"
for _hint, *_typed in (
    ("C^k is the matrix AFTER A^k.", "E[k + 1]", "E[k]"),
    (
        "You swapped keys and values: A^1 comes first, E_0.",
        *("E[k], E[k + 1]", "E[k + 1], E[k]"),
    ),
    (
        "Every hop has the first matrix as keys: that is layer-wise tying. "
        "Here the keys of a hop are the values of the one "
        "before.",
        *("E[k],", "E[0],"),
    ),
    (
        "Each hop has matrices of its own here, and the neighbours share none.",
        *("E[k],", "E[2 * k % len(E)],"),
        *("E[k + 1]", "E[(2 * k + 1) % len(E)]"),
    ),
    (
        "The hops' values stand in the opposite order.",
        *("E[k + 1]", "E[len(E) - 1 - k]"),
    ),
    (
        "The hops stand in the opposite order.",
        *("range(len(E) - 1)", "reversed(range(len(E) - 1))"),
    ),
    (
        "All hops have the last matrix as values. Each has its own.",
        *("E[k + 1]", "E[-1]"),
    ),
    (
        "All hops have the second matrix as values. Each has its own.",
        *("E[k + 1]", "E[1]"),
    ),
    (
        "The question is read with the last matrix. It is to meet the keys of "
        "the first hop.",
        *("return E[0]", "return E[-1]"),
    ),
    (
        "The question is read with the first values. It is to meet the keys.",
        *("return E[0]", "return E[1]"),
    ),
    (
        "W turns u, d numbers, into a score for every word: the matrix, rows "
        "and columns exchanged (.T).",
        *(".T", ""),
    ),
    (
        "The answer is written with the first matrix. What comes out of the "
        "last hop is made of the last values.",
        *("E[-1].T", "E[0].T"),
    ),
    (
        "The answer is written with the keys of the last hop. What comes out "
        "of it is made of its values.",
        *("E[-1].T", "E[-2].T"),
    ),
    (_THREE, ", E[-1].T", ""),
    (_THREE, ", E[-1].T", "", "return E[0], ", "return "),
    (_PAIRS, _LIST, "E[1:]"),
    (_COUNT.format(3, 4, 4), _LIST, "[(one, one) for one in E]"),
):
    tied.slip(_hint, *_typed)


@tied.style
def _by_zip(E):
    first, *_, last = E
    return first, list(zip(E[:-1], E[1:], strict=True)), last.mT


def how_cold_solution(scores, weight):
    """T = gap / ln((n − 1) p / (1 − p))."""
    gap = scores.max() - scores.min()
    return gap / math.log((len(scores) - 1) * weight / (1 - weight))


def _tried(scores, weight):
    """The temperature at which the best has the weight, by halving."""
    low, high = 1e-6, 1e6
    for _ in range(200):
        middle = (low * high) ** 0.5
        if float((scores / middle).softmax(0).max()) > weight:
            low = middle
        else:
            high = middle
    return low


@exercise(how_cold_solution)
def how_cold(mine):
    """The temperature at which the best sentence has a given weight."""
    cases = []
    for best, rest, weight, n in (
        (3.0, 0.0, 0.99, 12),
        (1.5, 1.0, 0.6, 5),
        (-1.0, -3.0, 0.75, 40),
        (1.0, 0.0, 0.9, 2),
    ):
        scores = torch.full((n,), rest)
        scores[n // 2] = best
        cases.append(((scores, weight), _tried(float64(scores), weight)))
    how_cold.compare(
        *(mine, cases, "one temperature"),
        "for {0.shape[0]} sentences and a weight of {1:g},",
    )
    return "four temperatures, for 2 to 40 sentences."


_ODDS = "(len(scores) - 1) * weight / (1 - weight)"
for _hint, *_typed in (
    (
        "You have only one other sentence in the sum; there are n − 1 of them.",
        *("(len(scores) - 1) * ", ""),
    ),
    (
        "You count n others; the best sentence is none of them.",
        *("(len(scores) - 1)", "len(scores)"),
    ),
    ("That is one over the temperature.", "gap / math", "1 / gap * math"),
    (
        "The gap is divided by the logarithm, not multiplied with it: the "
        "further ahead, the warmer it may be.",
        *("gap / math", "gap * math"),
    ),
    (
        "The sign is wrong: the best has the larger weight at a positive "
        "temperature.",
        *(_ODDS, "(1 - weight) / weight / (len(scores) - 1)"),
    ),
    (
        "That is the logarithm to base 10; e^x is undone by ln.",
        *("math.log", "math.log10"),
    ),
    (
        "What is not the best's weight, 1 − p, belongs to the others, and "
        "stands below the fraction line.",
        *(" / (1 - weight)", ""),
    ),
    (
        "The n − 1 others do not divide, they multiply: the more there are, "
        "the colder it has to be.",
        *(_ODDS, "weight / (1 - weight) / (len(scores) - 1)"),
    ),
    (
        "You took the best score. What counts is how far it is ahead of the "
        "others.",
        *(" - scores.min()", ""),
    ),
):
    how_cold.slip(_hint, *_typed)


@how_cold.style
def _by_logits(scores, weight):
    two = scores.sort().values[-2:].double()
    odds = math.log(len(scores) - 1) - math.log(1 / weight - 1)
    return (two.diff() / odds).item()


def margin_loss_solution(scores, right):
    """Σ max(0, 1 − s_right + s_i) over i ≠ right, mean over the batch."""
    rows = torch.arange(len(scores))
    short = (1 - scores[rows, right].unsqueeze(1) + scores).clamp(min=0)
    short[rows, right] = 0
    return short.sum(dim=1).mean()


def _by_loop(scores, right):
    """The loss, story by story and sentence by sentence."""
    costs = [
        sum(
            max(0.0, float(1 - row[best] + score))
            for i, score in enumerate(row)
            if i != best
        )
        for row, best in zip(scores, right, strict=True)
    ]
    return float64(costs).mean()


@exercise(margin_loss_solution)
def margin_loss(mine):
    """The margin ranking loss of the memory network of 2014."""
    cases = []
    for seed, (batch, source) in enumerate(((4, 6), (3, 2), (1, 5))):
        (scores,) = random_inputs(seed, (batch, source))
        given = 2 * scores, torch.arange(batch) * 3 % source
        cases.append((given, _by_loop(float64(given[0]), given[1])))
    about = "for {0.shape[0]} stories of {0.shape[1]} sentences"
    margin_loss.compare(mine, cases, "[], one number,", about)
    learnable(mine, *given)
    return "three batches; a story that is right by 1 everywhere costs nothing."


_SUM = "short.sum(dim=1).mean()"
for _hint, *_typed in (
    (
        "You counted the right sentence among the wrong ones: it is never "
        "ahead of itself, and each story costs 1 too much.",
        *("    short[rows, right] = 0\n", ""),
    ),
    (
        "That is the sum over the batch; take the mean.",
        *(_SUM, "short.sum()"),
    ),
    (
        "You took the mean over the sentences; they are added up.",
        *(_SUM, f"{_SUM} / (scores.shape[1] - 1)"),
    ),
    (
        "You took the mean over all sentences, the right one too; the wrong "
        "ones are added up.",
        *(_SUM, "short.mean()"),
    ),
    (
        "You took the worst of the wrong sentences. All of them count.",
        *("sum(dim=1)", "amax(dim=1)"),
    ),
    (
        "What is more than 1 behind costs nothing, and earns nothing: clamp "
        "at 0.",
        *(".clamp(min=0)", ""),
    ),
    (
        "The sign is the other way round: the wrong one's score makes it "
        "dearer, the right one's cheaper.",
        *("1 - scores", "1 + scores", "+ scores)", "- scores)"),
    ),
    (
        "The margin is missing: it is not enough to be ahead, it has to be "
        "ahead by 1.",
        *("(1 - ", "(-"),
    ),
    (
        "That is the softmax's cross-entropy. It never comes to rest; the "
        "hinge loss does.",
        F.cross_entropy,
    ),
    ("One number a story; take their mean.", _SUM, "short.sum(dim=1)"),
    ("One number for every sentence; add them up.", _SUM, "short"),
    (NO_GRADIENT, _SUM, f"{_SUM}.detach()"),
    (OTHER_GRADIENT, "scores[rows, right]", "scores[rows, right].detach()"),
    (NO_GRADIENT, _by_loop),
):
    margin_loss.slip(_hint, *_typed)


margin_loss.style(
    lambda scores, right: F.multi_margin_loss(scores, right) * scores.shape[1]
)


@margin_loss.style
def _by_relu(scores, right):
    best = scores[torch.arange(len(scores)), right]
    return (F.relu(1 - best[:, None] + scores).sum(1) - 1).mean()
