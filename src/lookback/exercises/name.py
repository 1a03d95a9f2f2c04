"""The exercises of `name`: each check beside its reference solution.

What is right is found by loops over queries, keys or draws, never by the
solution's formula.
"""

import functools
import math
from itertools import combinations

import torch

from lookback import lookups
from lookback.exercises.by_hand import around, by_hand, stage, within
from lookback.exercises.checking import (
    IN_PLACE,
    Hint,
    as_tensor,
    exercise,
    float64,
    random_inputs,
    rounding,
)


def kernel_by_hand_solution():
    """2^(−1), 2^0 and 2^(−4), over their sum 25/16; then the mean."""
    return [0.32, 0.64, 0.04, 2.96]


def _other_kernel(draw):
    """Distances 1, 0 and 2 in another order, and other values."""
    return {
        "keys": draw.choice(((3, 1, 0), (1, 3, 0), (0, 3, 1), (1, 0, 3))),
        "values": tuple(draw.sample(range(1, 12), 3)),
        "query": 1,
    }


@by_hand(
    kernel_by_hand_solution,
    "the three weights and the answer",
    ["weight 1", "weight 2", "weight 3"],
    ["answer"],
    known={
        3: "Three of four: the weights, and then the answer.",
        1: "First the three weights, and then the answer.",
    },
    vary=(
        "keys {keys}, values {values}, asked at x = {query}",
        _other_kernel,
    ),
)
def kernel_by_hand(keys=(0, 1, 3), values=(4, 2, 10), query=1):
    """A kernel regression on three points."""
    far = [abs(key - query) for key in keys]
    heights = float64([2.0 ** -(u**2) for u in far])
    weights, v = heights / heights.sum(), float64(values)
    wide = float64([2.0**-u for u in far])
    steep = float64([4.0 ** -(u**2) for u in far])
    inverse = float64(far) / sum(far)
    mistakes = {
        "Those are the heights of the kernel. Divide each by their sum, so "
        "that they sum to 1.": heights,
        "You took 2 to the power −u. The distance is squared first: "
        "2^(−u²).": wide / wide.sum(),
        "You took 2 to the power −u, and did not divide by the sum.": wide,
        "Only the nearest counts in yours. A kernel gives the others a weight "
        "as well.": heights.eq(1).double(),
        "Yours grow with the distance; a key that is far away gets less.": (
            inverse
        ),
        "All three are equal in yours. The weight depends on how far each key "
        "is from the query.": (torch.full((3,), 1 / 3)),
        "That is 2^(−u²) squared: the height is 2^(−u²) itself.": (
            steep / steep.sum()
        ),
        "You made a softmax of the heights. They are positive already; "
        "divide by their sum.": heights.softmax(0),
    }
    otherwise = (
        "The check does not recognize this mistake. The distances are "
        f"{far[0]}, {far[1]} and {far[2]}; a distance of 2 has the height "
        "2^(−4) = 1/16."
    )
    shares = stage(weights, mistakes, otherwise, around(0.004), share=True)
    answer = float(weights @ v)
    mistakes = {
        "Your weights are right; multiply each value by its weight, not by "
        "the height.": float(heights @ v),
        "That is the mean of the three values, without the weights.": (
            float(v.mean())
        ),
        "That is the value of the nearest key alone.": (
            float(v[heights.argmax()])
        ),
        "That is the weighted mean of the keys; the values are wanted.": (
            float(weights @ float64(keys))
        ),
        "You divided by 3 as well. The weights sum to 1 already.": answer / 3,
    }
    otherwise = (
        "The weights are right; the check does not recognize the mistake in "
        "the answer. Weight times value, three times, and add up."
    )
    said = ", ".join(f"{x:.2f}" for x in weights)
    return (
        f"{said}, and {answer:.2f}.",
        shares,
        stage([answer], mistakes, otherwise, within(0.0055), at=3),
    )


def kernel_regression_solution(queries, keys, values, width):
    """Σ_i κ(q − k_i) v_i / Σ_j κ(q − k_j), κ(u) = exp(−u·u / 2b²)."""
    apart = queries[:, None] - keys[None]  # [target source d]
    near = torch.exp(-(apart**2).sum(-1) / (2 * width**2))
    return (near @ values) / near.sum(-1, keepdim=True)


def _mean_by_mean(queries, keys, values, width):
    """The regression, query by query and key by key."""
    rows = []
    for q in queries:
        near = [
            math.exp(-float((q - k) @ (q - k)) / (2 * width**2)) for k in keys
        ]
        total = sum(x * v for x, v in zip(near, values, strict=True))
        rows.append(total / sum(near))
    return torch.stack(rows)


@exercise(kernel_regression_solution)
def kernel_regression(mine):
    """The regression of 1964, for several queries at once."""
    cases = []
    sizes = ((3, 4, 2, 5, 0.7), (2, 3, 1, 1, 1.5), (4, 1, 3, 2, 0.5))
    for seed, (target, source, d, d_v, width) in enumerate(sizes):
        given = random_inputs(seed, (target, d), (source, d), (source, d_v))
        truth = _mean_by_mean(*map(float64, given), width)
        cases.append(((*given, width), truth))
    about = "with {1.shape[0]} keys of {1.shape[1]} numbers"
    kernel_regression.compare(mine, cases, "[target, d_v]", about)
    return "several queries at once, and a memory of one row."


_MEAN = "(near @ values) / near.sum(-1, keepdim=True)"
_EXPONENT = "-(apart**2).sum(-1) / (2 * width**2)"
for _hint, *_typed in (
    (
        "You left out the denominator: divide by Σ_j κ(q − k_j).",
        *(" / near.sum(-1, keepdim=True)", ""),
    ),
    (
        "You normalised over the queries. For each query the weights sum to 1 "
        "over the keys.",
        *(_MEAN, "(near / near.sum(0)) @ values"),
    ),
    (
        "You divided by the sum of all heights, of all queries together. Each "
        "query has a sum of its own: sum over the keys alone.",
        *("near.sum(-1, keepdim=True)", "near.sum()"),
    ),
    (
        "The 2 in the denominator is missing: κ(u) = exp(−u·u / 2b²).",
        *("2 * width**2", "width**2"),
    ),
    ("The width is squared: 2b², not 2b.", "width**2", "width"),
    ("The width does not count in yours.", "2 * width**2", "2"),
    (
        "You divided by the width only, where it is 2b².",
        *("2 * width**2", "width"),
    ),
    (
        "The distance is squared: u·u, not its root.",
        *(".sum(-1) /", ".sum(-1).sqrt() /"),
    ),
    (
        "The sign: what is further away gets more in yours.",
        *("exp(-(", "exp(("),
    ),
    (
        "That is a softmax of q · k. Here the distance counts.",
        *(_EXPONENT, "queries @ keys.T"),
    ),
    (
        "That is a softmax of q · k / b². It gives the same only where all "
        "keys have the same length.",
        *(_EXPONENT, "queries @ keys.T / width**2"),
    ),
    (
        "You took a softmax of the heights. They are positive already: divide "
        "by their sum.",
        *(_MEAN, "near.softmax(-1) @ values"),
    ),
    (
        "You multiplied by the width's square, where it divides.",
        *("/ (2 * width**2)", "/ 2 * width**2"),
    ),
    (
        "You divided by the number of keys and not by the sum of their "
        "heights.",
        *("near.sum(-1, keepdim=True)", "len(keys)"),
    ),
    (
        "Those are the weights; give back the means of the values.",
        *("(near @ values)", "near"),
    ),
    (
        "That is a row for each key; there is one for each query.",
        *(_MEAN, "near.mean(0)[:, None] * values"),
    ),
    (
        "That is one row; there is one for each query.",
        *(_MEAN, "near.mean(0) @ values"),
    ),
):
    kernel_regression.slip(_hint, *_typed)


kernel_regression.style(_mean_by_mean)


@kernel_regression.style
def _by_softmax(queries, keys, values, width):
    cross = queries @ keys.T - (keys**2).sum(-1) / 2
    return (cross / width**2).softmax(-1) @ values


def _blind_additive(query, keys):
    """RNNsearch's score without its tanh: the query drops out."""
    W, U, V = lookups.drawn(3, query)
    return ((W @ query + keys @ U.T) @ V[0]).softmax(-1)


def _place_only(query, keys):
    """Nothing is asked: each position has its weight."""
    return torch.arange(1.0, len(keys) + 1).to(keys).softmax(-1)


def _asked(attention, seed, source=5, d=4):
    """A memory drawn at random, in float64."""
    query, keys = random_inputs(seed, (d,), (source, d))
    return float64(query), float64(keys)


def reaches_query_solution(attention, query, keys, values):
    """Whether some number of the context has a gradient that is not 0."""
    query = query.clone().requires_grad_()
    context = attention(query, keys) @ values
    if not context.requires_grad:
        return False
    gradients = [
        torch.autograd.grad(number, query, retain_graph=True)[0]
        for number in context
    ]
    return bool(torch.stack(gradients).abs().max() > 1e-9)


def _yes(name):
    return (
        f"You say yes of this one: {name}. No gradient comes back there. Does "
        "your test hand over a query with requires_grad, and read its gradient?"
    )


def _no(name):
    return (
        f"You say no of this one: {name}. Its weights change with the query. "
        "Does your query have requires_grad_() before the weights are "
        "computed? And is it the same tensor whose gradient you read?"
    )


_ASKING = (
    "You say no of the scaled dot product. Does your query have "
    "requires_grad_() before the weights are computed? And do you "
    "differentiate the context? The sum of the weights is always 1, so its "
    "gradient is 0."
)
_PATH = (
    "You say yes of a softmax of v · (W q + U k), without a tanh. There is a "
    "path from the query to the context, so torch finds a gradient; but it is "
    "0 (or rounding, 1e-17). Test its numbers, not whether there is a path."
)
_DOWN = (
    "You say no where every number of the gradient is negative. Take absolute "
    "values before you compare."
)
_ALIKE = (
    "You say yes where all rows hold the same value. There the weights change "
    "with the query and the context does not. Take the gradient of the context."
)
_LAST = (
    "You say no where the values differ in their last number only. Test every "
    "number of the context, not just the first; a gradient at any one is "
    "enough."
)
_EVEN = (
    "You say no where the numbers of the gradient sum to 0 without being 0. "
    "Take absolute values before you combine them."
)
_SUMMED = (
    "You say no where all rows of the values have the same sum. Weights that "
    "sum to 1 then give every context that sum too, so the sum has the "
    "gradient 0, although the context changes. Test each number of the "
    "context, or a random mixture of them."
)
_REACHED = (  # attention, truth, hint, and what is changed in the memory
    (lookups.scaled_dot, True, _ASKING),
    (lookups.fast_weights, True, _no("fast weights")),
    (lookups.memory_network, False, _yes("memory network")),
    (lookups.soft_window, True, _no("soft window")),
    (_blind_additive, False, _PATH),
    (_place_only, False, _yes("a weight for each position, whatever is asked")),
    (lookups.kernel_regression, True, _no("kernel regression")),
    (lookups.fast_weights, True, _DOWN, lambda K, V: (K.abs(), -V.abs())),
    (lookups.scaled_dot, False, _ALIKE, lambda K, V: (K, V[[0] * 5])),
    (
        lookups.scaled_dot,
        True,
        _LAST,
        lambda K, V: (K, V.index_fill(1, torch.tensor([0, 1]), 1.0)),
    ),
    (
        lookups.fast_weights,
        True,
        _EVEN,
        lambda K, V: (K - K.mean(1, keepdim=True), V),
    ),
    (
        lookups.scaled_dot,
        True,
        _SUMMED,
        lambda K, V: (K, V - V.mean(1, keepdim=True)),
    ),
)


@exercise(reaches_query_solution)
def reaches_query(mine):
    """Whether a gradient reaches the query, found by experiment."""
    for seed, (attention, truth, hint, *change) in enumerate(_REACHED):
        query, keys = _asked(attention, seed)
        values = float64(random_inputs(seed + 50, (5, 3))[0])
        for other in change:
            keys, values = other(keys, values)
        given = attention, query, keys, values
        if _yes_or_no(_judge(mine, truth, *given)) != truth:
            raise Hint(hint)
    return "twelve cases, two of them with a path whose gradient is 0."


_HARD = (
    "Hard attention takes an arg max, through which no gradient passes: the "
    "context does not require one, and torch raises an error. Test "
    "context.requires_grad first; the answer is then False."
)
_UNMARKED = (
    "Torch finds no path from the query to the context: mark a copy with "
    "query.clone().requires_grad_() before the weights are computed, and "
    "detach nothing after that."
)
_UNUSED = (
    "Attention that never reads the query leaves it out of the graph, and "
    "torch raises an error. With allow_unused=True you get None instead."
)


def _judge(mine, truth, *given):
    """What the reader's test says; autograd's errors in simple words."""
    try:
        return mine(*given)
    except Hint as hint:
        if "does not require grad" in str(hint):
            raise Hint(_UNMARKED if truth else _HARD) from None
        if "have been used in the graph" in str(hint):
            raise Hint(_UNUSED) from None
        raise


_BOOLEAN = "Give back True or False; yours is "


def _yes_or_no(said):
    """The reader's True or False, of whatever kind."""
    if isinstance(said, torch.Tensor) and said.numel() == 1:
        said = said.item()
    if type(said) is not bool and type(said).__name__ not in ("bool", "bool_"):
        raise Hint(f"{_BOOLEAN}{type(said).__name__}.")
    return bool(said)


_FOUND = "bool(torch.stack(gradients).abs().max() > 1e-9)"
_EACH = "for number in context\n"
_SUM = "for number in [context.sum()]\n"
for _hint, *_typed in (
    (_PATH, _FOUND, "context.requires_grad"),
    (_ASKING, "query.clone().requires_grad_()", "query.clone()"),
    (_ASKING, " @ values", "", _EACH, _SUM),
    (_yes("memory network"), "return False", "return True"),
    (_ALIKE, " @ values", ""),
    (_DOWN, ".abs()", ""),
    (_LAST, _EACH, "for number in context[:1]\n"),
    (_LAST, ".max()", ".min()"),
    (_EVEN, ".abs().max()", ".sum(1).abs().max()"),
    (_SUMMED, _EACH, _SUM),
    (_HARD, "    if not context.requires_grad:\n        return False\n", ""),
    (
        _UNMARKED,
        *(
            "query = query.clone().requires_grad_()\n",
            "query = query.clone()\n",
        ),
        *("    if not context.requires_grad:\n        return False\n", ""),
    ),
    (_UNUSED, "@ values", "@ values.clone().requires_grad_()"),
    (f"{_BOOLEAN}Tensor.", _FOUND, "torch.stack(gradients)"),
):
    reaches_query.slip(_hint, *_typed)


@reaches_query.style
def _by_differences(attention, query, keys, values):
    for step in torch.eye(len(query)).to(query) * 1e-4:
        up, down = (attention(query + s * step, keys) @ values for s in (1, -1))
        if (up - down).abs().max() > 1e-9:
            return True
    return False


@reaches_query.style
def _by_backward(attention, query, keys, values):
    query.requires_grad_()
    context = attention(query, keys) @ values
    if context.grad_fn is None:
        return False
    (context @ torch.randn_like(context)).backward()
    return query.grad is not None and query.grad.norm() > 1e-8


@reaches_query.style
def _by_jacobian(attention, query, keys, values):
    def context(query):
        return attention(query, keys) @ values

    J = torch.autograd.functional.jacobian(context, query)
    return J.norm().item() > 1e-9


def sees_place_solution(attention, query, keys):
    """Whether permuting the keys fails to permute the weights alike."""
    order = torch.arange(len(keys)).roll(1)
    moved = attention(query, keys[order])
    return not torch.allclose(moved, attention(query, keys)[order])


def _slanted(query, keys):
    """Content and position: a dot product, and later rows count more."""
    later = torch.arange(len(keys)).to(keys) / 2
    return (keys @ query + later).softmax(-1)


def _last_doubled(query, keys):
    """Fast weights of which the last third counts double."""
    weights = lookups.fast_weights(query, keys).clone()
    weights[-len(keys) // 3 :] *= 2
    return weights


def _first_number(query, keys):
    """Each key's first number: nothing is added, so nothing is rounded."""
    return keys[:, 0].clone()


def _shares(query, keys):
    """1 / (1 + |k|) of each key's first number k, as a share of all, which are
    added one after the other: in a product the order is not ours."""
    sizes = 1 / (1 + keys[:, 0].abs())
    return sizes / sum(sizes.tolist())


def _from_both_ends(query, keys):
    """Sees both; a place weighs as much as the one as far from the end."""
    place = torch.arange(len(keys)).to(keys)
    return (keys @ query + place * place.flip(0) / 8).softmax(-1)


def _all_alike(query, keys):
    """Sees neither."""
    return torch.full_like(keys[:, 0], 1 / len(keys))


def _wrong(name):
    return (
        f"Your answer is wrong for this one: {name}. It sees no position, so "
        "it is False. Permute the keys, and test for every weight whether it "
        "has moved with its key."
    )


_OLD = (
    "You say yes of the dot product. If the keys are permuted, its weights are "
    "permuted with them, so compare the new weights with the OLD ones in "
    "the same new order. (With a permutation and its inverse exchanged it "
    "fails too.)"
)
_STAY = (
    "You say no of the soft window, which depends on nothing but the position. "
    "Its weights stay where they are when the keys move, and that is the sign: "
    "they do not move with their keys."
)
_BOTH = (
    "You say no of attention that sees content and position. Its weights "
    "change when the keys move, but not as the keys do: compare each of them "
    "with the old weights in the new order. (Differences with their signs "
    "cancel if you add them up.)"
)
_ANY = (
    "You say no of attention whose last rows count double. Only keys that come "
    "to these rows or leave them show that. So move all of them, and test "
    "whether ANY weight has not moved along."
)
_EVENLY = (
    "You say no of attention that weighs positions the same from both ends. "
    "If you reverse the keys, or exchange the first with the last, each comes "
    "to a position of its old weight. Take an order without symmetry, such as "
    "torch.arange(len(keys)).roll(1)."
)
_TIED = (
    "You say yes of the memory network. Where all keys are equal, its arg max "
    "has to take one of them, and takes the first: that is a tie, not a "
    "position. Do not make the keys equal. Permute them, and test whether "
    "each weight has moved with its key."
)
_PLACED = (  # attention, truth, hint
    (lookups.dot, False, _OLD),
    (_slanted, True, _BOTH),
    (_last_doubled, True, _ANY),
    (_from_both_ends, True, _EVENLY),
    (lookups.soft_window, True, _STAY),
    (lookups.memory_network, False, _TIED),
    (_all_alike, False, _wrong("the plain mean")),
    (lookups.linear, False, _wrong("linear")),
    (
        _shares,
        False,
        _wrong("weights by the size of the keys' first numbers"),
    ),
)
_ROUNDED = (
    "You say yes of attention whose weights do move with their keys, but for "
    "the last digit: a sum that is taken in another order is rounded "
    "differently. Compare with a tolerance, as torch.allclose does."
)
_UNMOVED = (
    "The rows of `keys` never move in yours: hand over keys[order]. "
    "(keys[:, order] moves columns, and keys.roll(1) moves numbers from row to "
    "row; keys.roll(1, dims=0) moves rows.)"
)
_TURNED = (
    "All your answers are the wrong way round: True is for attention of which "
    "some weight does NOT move with its key."
)


def _moved(these, keys):
    """Whether these are the rows of the keys in another order."""
    if these.shape != keys.shape or torch.allclose(these, keys):
        return False
    rows, own = (float64(sorted(x.tolist())) for x in (these, keys))
    return torch.allclose(rows, own, atol=1e-5)


@exercise(sees_place_solution)
def sees_place(mine):
    """Whether the weights depend on positions, found by experiment."""
    for seed, (attention, truth, hint) in enumerate(_PLACED):
        given = _asked(attention, seed, source=12)

        def says(attention, given=given):
            return _yes_or_no(mine(attention, *given))

        handed = []

        @functools.wraps(attention)
        def noted(query, keys, *, attention=attention, handed=handed):
            handed.append(float64(keys).detach().clone())
            return attention(query, keys)

        if (said := says(noted)) == truth:
            continue
        if hint is not _TIED and not any(
            _moved(*pair) for pair in combinations([given[1], *handed], 2)
        ):
            raise Hint(_UNMOVED)
        if said and hint is not _TIED and not says(_first_number):
            raise Hint(_ROUNDED)
        if all(says(one) != it for one, it, _ in _PLACED):
            raise Hint(_TURNED)
        raise Hint(hint)
    return (
        "nine kinds of attention: by content, by position, by both, by neither."
    )


_MOVED = "torch.allclose(moved, attention(query, keys)[order])"
_SORTED = "moved.sort().values, attention(query, keys).sort().values"
_GAP = "(moved - attention(query, keys)[order]).abs()"
_ORDER = "torch.arange(len(keys)).roll(1)"
for _hint, *_typed in (
    (_OLD, "keys)[order])", "keys))"),
    (
        _OLD,
        *(
            "moved, attention(query, keys)[order]",
            "moved[order], attention(query, keys)",
        ),
    ),
    (_BOTH, f"not {_MOVED}", "False"),
    (_BOTH, f"not {_MOVED}", f"bool({_GAP[:-6]}.sum().abs() > 1e-6)"),
    (_UNMOVED, "keys[order]", "keys.roll(1)"),
    (_UNMOVED, "keys[order]", "keys[:, [0, 2, 3, 1]]", "keys)[order]", "keys)"),
    (_UNMOVED, "query, keys[order]", "query.flip(0), keys", ")[order]", ")"),
    (_BOTH, "not", "", "keys)[order])", "keys))"),
    (_STAY, "(moved, attention(query, keys)[order])", f"({_SORTED})"),
    (_ROUNDED, "allclose", "equal"),
    (_TURNED, "not ", ""),
    (_ANY, f"not {_MOVED}", f"({_GAP} > 1e-9).all()"),
    (_ANY, f"not {_MOVED}", f"({_GAP} > 1e-9).all()", ".roll(1)", ".flip(0)"),
    (_ANY, _ORDER, "torch.tensor([1, 0, *range(2, len(keys))])"),
    (_EVENLY, _ORDER, "torch.arange(len(keys)).flip(0)"),
    (
        _EVENLY,
        _ORDER,
        "torch.tensor([len(keys) - 1, *range(1, len(keys) - 1), 0])",
    ),
    (
        _TIED,
        f"not {_MOVED}",
        "len({*attention(query, torch.ones_like(keys)).tolist()}) > 1",
    ),
    (f"{_BOOLEAN}Tensor.", f"not {_MOVED}", _GAP),
    (f"{_BOOLEAN}str.", f"not {_MOVED}", "'no'"),
):
    sees_place.slip(_hint, *_typed)


@sees_place.style
def _by_every_swap(attention, query, keys):
    for i in range(len(keys) - 1):
        order = torch.arange(len(keys))
        order[[i, i + 1]] = order[[i + 1, i]]
        one, other = attention(query, keys), attention(query, keys[order])
        if (other[order] - one).abs().max() > 1e-9:
            return True
    return False


@sees_place.style
def _by_inverse(attention, query, keys):
    order = torch.randperm(
        len(keys), generator=torch.Generator().manual_seed(3)
    )
    back = order.argsort()
    return not torch.allclose(
        attention(query, keys[order])[back], attention(query, keys)
    )


def all_but_one_solution(query, keys):
    """Twice an attention that sees both, less a uniform one."""
    later = torch.arange(len(keys)).to(keys) / 2
    weights = (keys @ query / math.sqrt(len(query)) + later).softmax(-1)
    return 2 * weights - 1 / len(keys)


_SAID = {
    "sums_to_one": "sum to 1",
    "sees_content": "see content",
    "sees_place": "see the position",
    "gradient_to_query": "let a gradient reach the query",
}


_EACH_KEY = "There is a weight for each key, not for each number of a key."
_KEYS = "There is a weight for each key."
_POSITIVE = (
    "Yours has all five traits: no weight was ever negative. Find one whose "
    "weights sum to 1 although some of them are negative."
)


def _lacks(*traits):
    return (
        f"Yours does not {' and does not '.join(traits)}. All four belong to "
        "it; only *never negative* is to be missing."
    )


@exercise(all_but_one_solution)
def all_but_one(mine):
    """Attention with every trait but one: its weights may be negative."""
    query, keys = _asked(mine, 0)
    known = {(4,): _EACH_KEY, (): _KEYS}
    for source in (5, 3):
        as_tensor(mine(query, keys[:source]), (source,), "[source]", known)

    def attention(query, keys):
        """The reader's weights as float64, with their gradient."""
        weights = mine.function(query, keys)
        total = weights.detach().double().sum()
        close = rounding(weights.detach().float(), at_least=1e-6)
        alike = (total - 1).abs() < close
        return weights.double() / (total if alike else 1)

    try:
        found = lookups.traits(attention)
    except RuntimeError as error:
        if "inplace" not in str(error):
            raise
        raise Hint(IN_PLACE) from None
    lacking = [
        words for name, words in _SAID.items() if not getattr(found, name)
    ]
    if lacking:
        raise Hint(_lacks(*lacking))
    if found.never_negative:
        raise Hint(_POSITIVE)
    return "four traits of five, in twenty memories."


all_but_one.slip(_lacks("see the position"), lookups.scaled_dot)
all_but_one.slip(_lacks("sum to 1", "see the position"), lookups.fast_weights)
all_but_one.slip(_lacks("sum to 1", "see content"), lookups.soft_window)
all_but_one.slip(
    _lacks("see the position", "let a gradient reach the query"),
    lookups.memory_network,
)
for _hint, *_typed in (
    (_lacks("see the position"), " + later", ""),
    (_lacks("sum to 1"), "1 / len(keys)", "1"),
    (_POSITIVE, "2 * weights - 1 / len(keys)", "weights"),
    (_EACH_KEY, "2 * weights - 1 / len(keys)", "query"),
    (_KEYS, "2 * weights - 1 / len(keys)", "weights.sum()"),
    (
        IN_PLACE,
        "return ",
        "weights[0] -= 0.5\n    weights[1] += 0.5\n    return ",
    ),
):
    all_but_one.slip(_hint, *_typed)


@all_but_one.style
def _by_division(query, keys):
    place = torch.arange(len(keys))
    raw = keys @ query + 10 + place**2 - 11 * (place == 0)
    return raw / raw.sum()


@all_but_one.style
def _in_float32(query, keys):
    later = torch.linspace(0, 2, len(keys))
    near = (keys.float() @ query.float() + later).softmax(-1)
    return 2 * near - torch.full((len(keys),), 1 / len(keys))


@all_but_one.style
def _by_narrow_numbers(query, keys):  # 0.1 + 0.2 + … in float32
    share = torch.arange(1.0, len(keys) + 1)
    return (keys @ query).softmax(-1) * 3 - 2 * share / share.sum()


@all_but_one.style
def _by_difference(query, keys):
    near = (keys @ query + torch.arange(len(keys)) / 2).softmax(-1)
    return near + lookups.dot(query, keys) - lookups.dot(-query, keys)


@all_but_one.style
def _by_product(query, keys):
    raw = (keys @ query) * torch.arange(1, len(keys) + 1)
    return raw / raw.sum()
