"""The exercises of `name`: each check beside its reference solution.

What is right is found by loops over queries, keys or draws, never by the
solution's formula.
"""

import math

import torch
from torch.nn import functional as F

from lookback import lookups
from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    Hint,
    as_number,
    as_tensor,
    exercise,
    expect,
    float64,
    random_inputs,
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
        "Only the nearest counts in yours. A kernel gives the others their "
        "share.": heights.eq(1).double(),
        "You gave each its share of the distance; what is far should get "
        "less.": inverse,
        "All three alike: look at how far each key is from the query.": (
            torch.full((3,), 1 / 3)
        ),
        "That is 2^(−u²) squared: the height is 2^(−u²) itself.": (
            steep / steep.sum()
        ),
        "You made a softmax of the heights. They are positive already; "
        "divide by their sum.": heights.softmax(0),
    }
    otherwise = (
        "This is no slip that the check knows. The distances are "
        f"{far[0]}, {far[1]} and {far[2]}; a distance of 2 has the height "
        "2^(−4) = 1/16."
    )
    shares = stage(weights, mistakes, otherwise, around(0.004))
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
        "That is the weighted mean of the keys; the values are asked.": (
            float(weights @ float64(keys))
        ),
        "You divided by 3 as well. The weights sum to 1 already.": answer / 3,
    }
    otherwise = (
        "The weights are right; the answer is no slip that the check knows. "
        "Weight times value, three times, and add up."
    )
    said = ", ".join(f"{x:.2f}" for x in weights)
    return (
        f"{said}, and {answer:.2f}.",
        shares,
        stage([answer], mistakes, otherwise, around(0.003), at=3),
    )


def kernel_regression_solution(queries, keys, values, width):
    """Σ_i κ(q − k_i) v_i / Σ_j κ(q − k_j), κ(u) = exp(−u·u / 2b²)."""
    apart = queries[:, None] - keys[None]  # [target source d]
    near = torch.exp(-(apart**2).sum(-1) / (2 * width**2))
    return (near @ values) / near.sum(-1, keepdim=True)


@exercise(kernel_regression_solution)
def kernel_regression(mine):
    """The regression of 1964, for several queries at once."""
    sizes = ((3, 4, 2, 5, 0.7), (2, 3, 1, 1, 1.5), (4, 1, 3, 2, 0.5))
    for seed, (target, source, d, d_v, width) in enumerate(sizes):
        q, k, v = random_inputs(seed, (target, d), (source, d), (source, d_v))
        known = {
            (target, source): "Those are the weights; give back the means of "
            "the values.",
            (source, d_v): "That is a row for each key; there is one for each "
            "query.",
            (d_v,): "That is one row; there is one for each query.",
        }
        found = as_tensor(
            mine(q, k, v, width), (target, d_v), "[target, d_v]", known
        )
        q, k, v = map(float64, (q, k, v))
        square = float64([[float(((a - b) ** 2).sum()) for b in k] for a in q])

        def weigh(exponent, axis=1):
            height = exponent.exp()
            return (height / height.sum(axis, keepdim=True)) @ v  # noqa: B023

        two = 2 * width**2
        height = (-square / two).exp()
        mistakes = {
            "You left out the sum below: divide by Σ_j κ(q − k_j).": height @ v,
            "You normalised over the queries. For each query the weights sum "
            "to 1 over the keys.": weigh(-square / two, 0),
            "The 2 below is missing: κ(u) = exp(−u·u / 2b²).": weigh(
                -square / width**2
            ),
            "The width is squared: 2b², not 2b.": weigh(-square / (2 * width)),
            "The width does not count in yours.": weigh(-square / 2),
            "You divided by the width only, where it is 2b².": weigh(
                -square / width
            ),
            "The distance is squared: u·u, not its root.": weigh(
                -square.sqrt() / two
            ),
            "The sign: what is further away gets more in yours.": weigh(
                square / two
            ),
            "That is a softmax of q · k. It is the distance that counts "
            "here.": weigh(q @ k.T),
            "That is a softmax of q · k / b². It gives the same only where "
            "all keys have the same length.": weigh(q @ k.T / width**2),
            "You took a softmax of the heights. They are positive already: "
            "divide by their sum.": weigh(height),
            "You multiplied by the width's square, where it divides.": weigh(
                -square * width**2 / 2
            ),
            "You divided by the number of keys and not by the sum of their "
            "heights.": height @ v / source,
        }
        expect(
            found,
            weigh(-square / two),
            mistakes,
            f"with {source} keys of {d} numbers",
        )
    return "several queries at once, and a memory of one row."


def _blind_additive(query, keys):
    """RNNsearch's score without its tanh: the query drops out."""
    W, U, V = lookups.drawn(3, query)
    return ((W @ query + keys @ U.T) @ V[0]).softmax(-1)


def _place_only(query, keys):
    """Nothing is asked: each place has its weight."""
    return torch.arange(1.0, len(keys) + 1).to(keys).softmax(-1)


def _asked(look, seed, source=5, d=4):
    """A memory drawn at random, in float64."""
    query, keys = random_inputs(seed, (d,), (source, d))
    return float64(query), float64(keys)


def reaches_query_solution(look, query, keys, values):
    """Whether the gradient of the context is anything but 0."""
    query = query.clone().requires_grad_()
    context = look(query, keys) @ values
    if not context.requires_grad:
        return False
    (slope,) = torch.autograd.grad(context.sum(), query)
    return bool(slope.abs().max() > 1e-9)


_DOWN = "fast weights, with a gradient below 0 everywhere"
_ALIKE = "scaled dot, where all rows hold the same value"
_LAST = "scaled dot, where the rows differ in their last number alone"
_EVEN = "fast weights, with a gradient whose numbers sum to 0"
_REACHED = (
    ("scaled dot", lookups.scaled_dot, True),
    ("fast weights", lookups.fast_weights, True),
    ("memory network", lookups.memory_network, False),
    ("soft window", lookups.soft_window, True),
    ("RNNsearch without its tanh", _blind_additive, False),
    ("a weight for each place, whatever is asked", _place_only, False),
    ("kernel regression", lookups.kernel_regression, True),
    (_DOWN, lookups.fast_weights, True),
    (_ALIKE, lookups.scaled_dot, False),
    (_LAST, lookups.scaled_dot, True),
    (_EVEN, lookups.fast_weights, True),
)


@exercise(reaches_query_solution)
def reaches_query(mine):
    """Whether a gradient reaches the query, found by experiment."""
    for seed, (name, look, truth) in enumerate(_REACHED):
        query, keys = _asked(look, seed)
        values = float64(random_inputs(seed + 50, (5, 3))[0])
        if name == _DOWN:
            keys, values = keys.abs(), -values.abs()
        if name == _ALIKE:
            values = values[:1].expand(5, 3).clone()
        if name == _LAST:
            values[:, :-1] = 1.0
        if name == _EVEN:
            keys = keys - keys.mean(1, keepdim=True)
        said = _yes_or_no(_judge(mine, look, query, keys, values))
        if said == truth:
            continue
        if look is _blind_additive:
            raise Hint(
                "You say yes of a softmax of v · (W q + U k), without a tanh. "
                "There is a path from the query to the context, and so "
                "something to differentiate; but what comes back is 0 (or "
                "rounding, 1e-17). Look at the numbers, not at whether there "
                "is a path."
            )
        if name == _ALIKE:
            raise Hint(
                "You say yes where all rows hold the same value. The weights "
                "change with the query there, the context does not: it is "
                "the context that you want the gradient of."
            )
        if name == _DOWN:
            raise Hint(
                "You say no where every number of the gradient is below 0. "
                "Take its size before you compare."
            )
        if name == _LAST:
            raise Hint(
                "You say no where the rows differ in the last number of "
                "their value alone. Ask the whole context, and not its first "
                "number."
            )
        if name == _EVEN:
            raise Hint(
                "You say no where the numbers of the gradient sum to 0, and "
                "are not 0. Take the size of each before you join them."
            )
        if look is lookups.scaled_dot:
            raise Hint(
                "You say no of the scaled dot product. Does your query have "
                "requires_grad_() before the look? And is it the context "
                "that you differentiate? The sum of the weights is always 1, "
                "so nothing comes back from it."
            )
        if not truth:
            raise Hint(
                f"You say yes of this one: {name}. Nothing comes back there. "
                "Does your test hand over a query that wants a gradient, and "
                "look at it?"
            )
        raise Hint(
            f"You say no of this one: {name}. Its weights change with the "
            "query. Does your query have requires_grad_(), before the look? "
            "And is it the same tensor whose gradient you read?"
        )
    return "eleven cases, two of them with a path on which nothing comes back."


def _judge(mine, look, *given):
    """The reader's verdict on a look; autograd's errors in simple words."""
    try:
        return mine(look, *given)
    except Hint as hint:
        if "does not require grad" in str(hint):
            raise Hint(
                "Of a look by arg max there is nothing to differentiate: its "
                "context does not require a gradient, and torch raises an "
                "error. Ask context.requires_grad first; the answer is then "
                "False."
            ) from None
        if "have been used in the graph" in str(hint):
            raise Hint(
                "A look that never reads the query leaves it out of the "
                "graph, and torch raises an error: allow_unused=True gives "
                "None for it."
            ) from None
        raise


def _yes_or_no(said):
    """The reader's True or False, of whatever kind."""
    if isinstance(said, torch.Tensor) and said.numel() == 1:
        said = said.item()
    if type(said) is not bool and type(said).__name__ not in ("bool", "bool_"):
        raise Hint(f"Give back True or False; yours is {type(said).__name__}.")
    return bool(said)


def sees_place_solution(look, query, keys):
    """Whether, the keys exchanged, a weight fails to go with its key."""
    order = torch.arange(len(keys)).roll(1)
    moved = look(query, keys[order])
    return not torch.allclose(moved, look(query, keys)[order])


def _slanted(query, keys):
    """A look that sees both: a dot product, and later rows count more."""
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
    added one after the other: of a product the machine chooses the order."""
    sizes = 1 / (1 + keys[:, 0].abs())
    return sizes / sum(sizes.tolist())


def _all_alike(query, keys):
    """Sees neither."""
    return torch.full_like(keys[:, 0], 1 / len(keys))


_PLACED = (
    ("dot", lookups.dot, False),
    ("soft window", lookups.soft_window, True),
    ("memory network", lookups.memory_network, False),
    ("a dot product to which later rows add something", _slanted, True),
    ("the plain mean", _all_alike, False),
    ("linear", lookups.linear, False),
    ("fast weights whose last rows count double", _last_doubled, True),
    ("shares by the size of the keys' first numbers", _shares, False),
)


@exercise(sees_place_solution)
def sees_place(mine):
    """Whether a look sees places, found by experiment."""
    for seed, (name, look, truth) in enumerate(_PLACED):
        query, keys = _asked(look, seed, source=12)
        said = _yes_or_no(mine(look, query, keys))
        if said == truth:
            continue
        if said and not _yes_or_no(mine(_first_number, query, keys)):
            raise Hint(
                f"You say yes of this one: {name}. Its weights do go with "
                "their keys, but for the last digit: a sum that is taken in "
                "another order is rounded differently. Compare with a "
                "tolerance, as torch.allclose does."
            )
        if all(
            _yes_or_no(mine(one, query, keys)) != it for _, one, it in _PLACED
        ):
            raise Hint(
                "All your answers are turned round: True is for a look of "
                "which some weight does NOT go with its key."
            )
        if look is lookups.dot:
            raise Hint(
                "You say yes of the dot product. If the keys change places, "
                "its weights change places with them: so compare the new "
                "weights with the OLD ones in the same new order. (With a "
                "permutation and its inverse exchanged it fails too.)"
            )
        if look is lookups.soft_window:
            raise Hint(
                "You say no of the soft window, which reads nothing but "
                "places. Its weights stay where they are when the keys move: "
                "that they do not change is the very sign."
            )
        if look is _slanted:
            raise Hint(
                "You say no of a look that sees both. Its weights change when "
                "the keys move, but not as the keys do: compare them with the "
                "old weights in the new order."
            )
        if look is _last_doubled:
            raise Hint(
                "You say no of a look whose last rows count double. Only keys "
                "that come to these rows or leave them show that. So move all "
                "of them, and ask whether ANY weight has not gone along."
            )
        raise Hint(
            f"Wrong of this one: {name}. It sees places: {truth}. Move the "
            "keys, and ask of every weight whether it has gone with its key."
        )
    return "seven looks: content, place, both, and neither."


def reinforce_loss_solution(logits, chosen, reward):
    """−mean (R_b − mean of the others' R) log p(chosen_b)."""
    log_p = logits.log_softmax(-1)[torch.arange(len(chosen)), chosen]
    others = (reward.sum() - reward) / (len(reward) - 1)
    return -((reward - others) * log_p).mean()


def _slope(logits, chosen, factors):
    """−mean of factors (one-hot − p): the gradient, draw by draw."""
    found = torch.zeros_like(logits)
    for b, place in enumerate(chosen.tolist()):
        p = logits[b].exp() / logits[b].exp().sum()
        one = F.one_hot(torch.tensor(place), len(p))
        found[b] = -factors[b] * (one - p) / len(chosen)
    return found


@exercise(reinforce_loss_solution)
def reinforce_loss(mine):
    """A loss whose gradient is the estimate of REINFORCE."""
    for seed, (batch, places) in enumerate(((4, 5), (3, 2), (6, 25))):
        raw, draws, good = random_inputs(
            seed, (batch, places), (batch, places), (batch,)
        )
        chosen = draws.argmax(1)
        reward = (good > 0).to(raw)
        reward[0], reward[-1] = 1.0, 0.0
        wants = raw.clone().requires_grad_()
        loss = mine(wants, chosen, reward)
        if not isinstance(loss, torch.Tensor):
            raise Hint(
                f"Give back a loss, a tensor; yours is {type(loss).__name__}."
            )
        if loss.numel() == batch and batch > 1:
            raise Hint("That is a loss for each picture; give back their mean.")
        as_number(loss.detach(), "one number, the loss")
        if not loss.requires_grad:
            raise Hint(
                "Your loss does not depend on the logits: the log-probability "
                "of what was drawn must be in it, with no detach() or item()."
            )
        leaf = mine.handed[0]
        (found,) = torch.autograd.grad(loss, leaf, allow_unused=True)
        if found is None:
            raise Hint("Your loss does not depend on the logits.")
        found = float64(found)
        l64, r = float64(raw), float64(reward)
        n = len(r)
        others = (r.sum() - r) / (n - 1)
        p = l64.softmax(-1)
        at = torch.arange(n), chosen
        own = p[at]
        truth = _slope(l64, chosen, r - others)
        advantage = r - others

        def by(weigh):
            """The gradient of a loss that is minus the mean of these."""
            leaf64 = l64.clone().requires_grad_()  # noqa: B023
            loss = -weigh(leaf64).mean()
            return torch.autograd.grad(loss, leaf64)[0]

        mistakes = {
            "You took the logit of what was drawn. It is its log-probability "
            "that counts: log_softmax first.": by(
                lambda x: advantage * x[at]  # noqa: B023
            ),
            "Your log_softmax runs over the batch. Each picture has its own "
            "distribution, over the places: the last axis.": by(
                lambda x: advantage * x.log_softmax(0)[at]  # noqa: B023
            ),
            "Your rewards and your log-probabilities have been multiplied as "
            "[batch, 1] with [batch]: a square in which each reward meets "
            "every draw, and everything cancels. Take [:, 0] of what gather "
            "gives.": torch.zeros_like(l64),
            "log_p[:, chosen] gives every picture the draws of all others. "
            "Pair them: log_p[torch.arange(batch), chosen].": by(
                lambda x: advantage * x.log_softmax(-1)[:, chosen]  # noqa: B023
            ),
            "All places are praised in yours; only the one that was drawn "
            "should be.": by(
                lambda x: advantage[:, None] * x.log_softmax(-1)  # noqa: B023
            ),
            "The sign: an optimiser goes downhill, so the loss is minus what "
            "should grow.": -truth,
            "There is no log in yours: it is ∇ log p that is weighted, which "
            "is ∇p / p. Without it what is drawn often counts twice.": (
                _slope(l64, chosen, (r - others) * own)
            ),
            "No log, and the sign is wrong.": (
                -_slope(l64, chosen, (r - others) * own)
            ),
            "The baseline is missing: subtract from each reward the mean of "
            "the others'.": _slope(l64, chosen, r),
            "The baseline is missing, and the sign is wrong.": (
                -_slope(l64, chosen, r)
            ),
            "Your baseline holds the picture's own reward: the mean of ALL. "
            "That makes the estimate too short, by (n − 1)/n. Take the mean "
            "of the others.": _slope(l64, chosen, r - r.mean()),
            "The baseline is the mean of the others: divide by n − 1, not "
            "by n.": _slope(l64, chosen, r - (r.sum() - r) / n),
            "You added the baseline; subtract it.": (
                _slope(l64, chosen, r + others)
            ),
            "You took the sum over the batch; take the mean.": truth * n,
            "You divided the rewards by their spread as well. That changes "
            "the length of the estimate.": _slope(
                l64, chosen, (r - others) / r.std()
            ),
            "The rewards are brought to mean 0 and spread 1 in yours. "
            "Subtract the mean of the others, and nothing more.": _slope(
                l64, chosen, (r - r.mean()) / r.std()
            ),
            "That is the cross-entropy with what was drawn: all draws are "
            "praised alike, whatever the reward.": (
                _slope(l64, chosen, torch.ones(n))
            ),
        }
        expect(found, truth, mistakes, f"with {n} draws of {places} places,")
    return "three batches, by the gradient that the loss leaves."


def all_but_one_solution(query, keys):
    """Twice a look that sees both, less a uniform one: sums to 1, dips below
    0."""
    later = torch.arange(len(keys)).to(keys) / 2
    weights = (keys @ query / math.sqrt(len(query)) + later).softmax(-1)
    return 2 * weights - 1 / len(keys)


_SAID = {
    "sums_to_one": "sum to 1",
    "sees_content": "see content",
    "sees_place": "see place",
    "gradient_to_query": "let a gradient reach the query",
}


@exercise(all_but_one_solution)
def all_but_one(mine):
    """A look with every trait but one: its weights may be negative."""
    query, keys = _asked(mine, 0)
    known = {
        (4,): "There is a weight for each key, not for each number of a key.",
        (): "There is a weight for each key.",
    }
    for source in (5, 3):
        as_tensor(mine(query, keys[:source]), (source,), "[source]", known)

    def look(query, keys):
        """The reader's look, its gradient as it is."""
        return mine.function(query, keys)

    found = lookups.traits(look)
    lacking = [
        words for name, words in _SAID.items() if not getattr(found, name)
    ]
    if lacking:
        raise Hint(
            f"Yours does not {' and does not '.join(lacking)}. All four "
            "belong to it; only *never negative* is to be missing."
        )
    if found.never_negative:
        raise Hint(
            "Yours has all five: no weight was ever negative. Find one whose "
            "weights sum to 1 and still fall below 0."
        )
    return "four traits of five, in twenty memories."
