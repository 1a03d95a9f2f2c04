"""The exercises of `fastweights`: each check beside its reference solution.

What is right comes from loops over words and pairs of numbers, never from the
solution's formula.
"""

import math

import torch
from torch.nn import functional as F

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    IN_PLACE,
    NO_GRADIENT,
    OTHER_GRADIENT,
    Hint,
    as_tensor,
    exercise,
    float64,
    learnable,
    random_inputs,
)

_K1, _K2, _V1, _V2 = (1, 0), (0.6, 0.8), (2, 1), (0, 5)


def matrix_by_hand_solution():
    """W = v₁ k₁ᵀ + v₂ k₂ᵀ, row by row, and W k₁."""
    return [2, 0, 4, 4, 2, 4]


def _other_matrix(draw):
    """Two keys of length 1, one along an axis, and two values."""
    values = draw.sample(range(1, 8), 4)
    along = draw.choice(((1, 0), (0, 1)))
    leaning = draw.choice(((0.6, 0.8), (0.8, 0.6)))
    return {
        "k1": along,
        "k2": leaning,
        "v1": tuple(values[:2]),
        "v2": tuple(values[2:]),
    }


@by_hand(
    matrix_by_hand_solution,
    "the four numbers of W, row by row, and the two of W k₁",
    ["row 1, left", "row 1, right"],
    ["row 2, left", "row 2, right"],
    ["W k₁, first", "W k₁, second"],
    known={4: "That is W alone; give the two numbers of W k₁ as well."},
    vary=(
        "k₁ = {k1} with v₁ = {v1}, and k₂ = {k2} with v₂ = {v2}",
        _other_matrix,
    ),
)
def matrix_by_hand(k1=_K1, k2=_K2, v1=_V1, v2=_V2):
    """Two pairs in one matrix, and what the first key finds there."""
    a, b, v, w = map(float64, (k1, k2, v1, v2))
    pairs = [torch.outer(v, a), torch.outer(w, b)]
    W = pairs[0] + pairs[1]
    mistakes = {
        "You wrote k vᵀ. The value is the column and the key the row: the "
        "number in row r, column c is v_r times k_c.": W.T,
        "That is the first pair alone; the second is added to it.": pairs[0],
        "That is the second pair alone; it is added to the first.": pairs[1],
        "That is the delta rule: you took out what the second key found. The "
        "sum rule adds and takes nothing out.": (
            pairs[0] + torch.outer(w - pairs[0] @ b, b)
        ),
        "You paired the first key with the second value. k₁ goes with v₁, k₂ "
        "with v₂.": torch.outer(w, a) + torch.outer(v, b),
        "You added keys and values first. (v₁ + v₂)(k₁ + k₂)ᵀ pairs each value "
        "with both keys.": torch.outer(v + w, a + b),
        "That is half of it: add the two pairs, do not average them.": W / 2,
    }
    otherwise = (
        "The check does not recognize the mistake in W. Take the first pair: "
        "the number in row r and column c is v_r times k_c. Then the second, "
        "and add the two."
    )
    whole = stage(W, mistakes, otherwise, around(2e-3))
    at = W @ a
    mistakes = {
        "That is v₁ alone, what was stored. Part of v₂ comes with it, since "
        "the two keys are not at right angles.": v,
        "You read with the second key.": W @ b,
        "You multiplied from the left, k₁ᵀ W. A row of W times k₁ gives one "
        "number of the answer.": a @ W,
        "You added v₁ and v₂ in full. v₂ comes weighted by k₁ · k₂.": v + w,
        "That is the crosstalk alone, (k₁ · k₂) v₂; v₁ is there too.": at - v,
    }
    otherwise = (
        "W is right; the check does not recognize the mistake in W k₁. Its "
        "first number is the first row of W times k₁, number by number, added "
        "up."
    )
    return (
        "W, and in W k₁ both v₁ and k₁ · k₂ times v₂.",
        whole,
        stage(at, mistakes, otherwise, around(2e-3), 4),
    )


def linear_step_solution(W, z, query, key, value):
    """Write into W and z, then read them."""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    W = W + torch.outer(value, key)
    z = z + key
    return W @ query / (z @ query), W, z


_THREE = "Give back three things: the answer y, W and z."
_ORDER = "Give them in the order y, W, z."
_EMPTY = (
    "Your answer holds NaN or infinity: 0/0. Before the first token W and z "
    "are zeros, so write first, then read; and φ is elu plus 1, which is "
    "never 0."
)


def _token_by_token(mine, query, key, value):
    """What an answer gives after each token: y, z and W in one row."""
    d_v, d_k = value.shape[1], key.shape[1]
    W, z, found = value.new_zeros(d_v, d_k), key.new_zeros(d_k), []
    for q, k, v in zip(query, key, value, strict=True):
        result = mine(W, z, q, k, v)
        if not isinstance(result, (tuple, list)) or len(result) != 3:
            raise Hint(_THREE)
        order = {(d_v, d_k): _ORDER, (d_k,): _ORDER}
        y = as_tensor(result[0], (d_v,), "y, [d_v]", order)
        after = as_tensor(result[1], (d_v, d_k), "W, [d_v, d_k]", order)
        total = as_tensor(result[2], (d_k,), "z, [d_k]", {(d_v,): _ORDER})
        if not y.isfinite().all():
            raise Hint(_EMPTY)
        found.append(torch.cat([y, total, after.flatten()]))
        W, z = after.to(W.dtype), total.to(z.dtype)
    return torch.stack(found)


def _by_pairs(query, key, value):
    """Σ_{j ≤ i} w_ij v_j / Σ_{j ≤ i} w_ij, w_ij = φ(q_i) · φ(k_j); z and W."""
    q, k, rows = F.elu(query) + 1, F.elu(key) + 1, []
    for i in range(len(q)):
        near = [q[i] @ k[j] for j in range(i + 1)]
        total = sum(w * v for w, v in zip(near, value[: i + 1], strict=True))
        W = value[: i + 1].T @ k[: i + 1]
        y = total / sum(near)
        rows.append(torch.cat([y, k[: i + 1].sum(0), W.flatten()]))
    return torch.stack(rows)


@exercise(linear_step_solution)
def linear_step(mine):
    """One step of the recurrent form, token after token."""
    cases = []
    for seed, (n, d_k, d_v) in enumerate(((4, 3, 2), (1, 2, 3), (7, 5, 4))):
        given = random_inputs(seed, (n, d_k), (n, d_k), (n, d_v))
        cases.append((given, _by_pairs(*map(float64, given))))

    for given, truth in cases:
        d_k, d_v = given[1].shape[1], given[2].shape[1]
        linear_step.compare(
            mine,
            [(given, truth)],
            about="with {0.shape[0]} tokens",
            ask=_token_by_token,
            place=lambda token, i, d_k=d_k, d_v=d_v: (
                f"after token {token + 1}, in "
                + ("y" if i < d_v else "z" if i < d_v + d_k else "W")
            ),
        )
    state = random_inputs(9, (2, 3), (3,), (3,), (3,), (2,))
    learnable(mine, state[0], 9 + state[1], *state[2:])
    return "texts of four, one and seven tokens: y, W and z after each token."


_WRITE = "W = W + torch.outer(value, key)"
_GROW, _READ = "z = z + key", "W @ query / (z @ query)"
_LATE = "You read before you write: token i sees itself as well."
for _hint, *_typed in (
    (
        "z is that of this token alone. It grows from token to token, as W "
        "does.",
        *(_GROW, "z = key"),
    ),
    (
        "You keep only the last pair: add to W, do not replace it.",
        *(_WRITE, "W = torch.outer(value, key)"),
    ),
    (
        "Only W is read too early: write the pair into W first, then read W "
        "and z.",
        *(_WRITE, "old = W\n    " + _WRITE, _READ, "old @ query / (z @ query)"),
    ),
    (
        _EMPTY,
        *(_WRITE, f"y = {_READ}\n    {_WRITE}", f"return {_READ}", "return y"),
    ),
    (
        _LATE,
        *(_WRITE, f"y = ({_READ}).nan_to_num()\n    {_WRITE}"),
        *(f"return {_READ}", "return y"),
    ),
    (
        "Query and key are exchanged: W and z are made of keys, and the query "
        "asks.",
        *("query, key = F", "key, query = F"),
    ),
    (
        "φ is elu(x) plus 1; yours is elu(x + 1). Take elu first, then add 1.",
        *(
            "F.elu(query) + 1, F.elu(key) + 1",
            "F.elu(query + 1), F.elu(key + 1)",
        ),
    ),
    (
        "The normalizer is missing: divide by z · φ(q).",
        *(" / (z @ query)", ""),
    ),
    (
        "You divided by the sum of z. The normalizer is the product z · φ(q).",
        *("(z @ query)", "z.sum()"),
    ),
    (
        "φ is on the keys alone: the query goes through it too.",
        *("F.elu(query) + 1", "query"),
    ),
    (
        "φ is on the queries alone: the keys go through it too.",
        *("F.elu(key) + 1", "key"),
    ),
    (
        "There is no φ in it: elu(x) + 1, of queries and of keys.",
        *("F.elu(query) + 1", "query", "F.elu(key) + 1", "key"),
    ),
    ("φ is elu plus 1; yours is elu.", *(" + 1", "")),
    ("φ is elu plus 1; yours is ReLU plus 1.", *("F.elu", "torch.relu")),
    (
        "φ is elu plus 1; yours is the exponential. It fits below 0 only.",
        *("F.elu", "torch.exp", " + 1", ""),
    ),
    (
        "W and z go through φ again at every token: φ is for the new key "
        "alone.",
        *(
            "W @ query / (z @ query), W, z",
            "W @ query / (z @ query), W, F.elu(z) + 1",
        ),
    ),
    (
        "y is right, but you gave back the W and z that came in: the new pair "
        "is lost.",
        *("    W = W", "    old = W, z\n    W = W", ", W, z", ", *old"),
    ),
    (_ORDER, f"{_READ}, W, z", f"W, z, {_READ}"),
    (_THREE, f"{_READ}, W, z", _READ),
):
    linear_step.slip(_hint, *_typed)


linear_step.slip(NO_GRADIENT, "W = W +", "W = W.detach() +")
linear_step.slip(OTHER_GRADIENT, "z = z + key", "z = z + key.detach()")
linear_step.slip(
    IN_PLACE, f"return {_READ}", f"y = {_READ}\n    W += 0\n    return y"
)


@linear_step.style
def _by_einsum(W, z, query, key, value):
    q, k = (torch.where(x > 0, x + 1, x.exp()) for x in (query, key))
    W, z = W + torch.einsum("i,k->ik", value, k), z + k
    return torch.einsum("ik,k->i", W, q).div(z.dot(q)), W, z


@linear_step.style
def _in_lists(W, z, query, key, value):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    W = torch.stack([row + v * k for row, v in zip(W, value, strict=True)])
    z = k + z
    total = sum(a * b for a, b in zip(z, q, strict=True))
    return [torch.stack([(row * q).sum() / total for row in W]), W, z]


def delta_rule_solution(key, value, beta):
    """W ← W + β (v − W k) kᵀ."""
    W = torch.zeros(value.shape[1], key.shape[1])
    for i, k in enumerate(key):
        missing = value[i] - W @ k
        W = W + torch.outer(beta[i] * missing, k)
    return W


def _by_numbers(key, value, beta):
    """The rule, number by number."""
    d_v, d_k = value.shape[1], key.shape[1]
    W = torch.zeros(d_v, d_k, dtype=key.dtype)
    for k, v, b in zip(key, value, beta, strict=True):
        for r in range(d_v):
            found = sum(W[r, c] * k[c] for c in range(d_k))
            for c in range(d_k):
                W[r, c] += b * (v[r] - found) * k[c]
    return W


@exercise(delta_rule_solution)
def delta_rule(mine):
    """The matrix after all pairs, by the delta rule."""
    cases = []
    for seed, (n, d_k, d_v) in enumerate(((4, 3, 2), (1, 2, 5), (6, 4, 5))):
        key, value, raw = random_inputs(seed, (n, d_k), (n, d_v), (n,))
        key, beta = key / key.norm(dim=1, keepdim=True), raw.sigmoid()
        given = key, value, beta
        cases.append((given, _by_numbers(*map(float64, given))))
    about = "with {0.shape[0]} pairs"
    delta_rule.compare(mine, cases, "[d_v, d_k]", about)
    return "four, one and six pairs, number by number."


_MISSING, _STEP = "value[i] - W @ k", "beta[i] * missing"
for _hint, *_typed in (
    (
        "That is the sum rule: nothing is taken out. In the loop, read what "
        "the key finds in the W that the pairs before it have made.",
        *(" - W @ k", ""),
    ),
    (
        "That is the sum rule, and without β at that.",
        *(" - W @ k", "", "beta[i] * ", ""),
    ),
    (
        "β is missing: you write all of what is missing.",
        *("beta[i] * ", ""),
    ),
    (
        "β stands there twice on what is taken out: β (v − β W k). It is "
        "β (v − W k).",
        *("W @ k", "beta[i] * (W @ k)"),
    ),
    ("β stands there twice: β² (v − W k).", *("beta[i]", "beta[i] ** 2")),
    (
        "You take out all of W k, and put in β v. Both have the factor β.",
        *(_STEP, "missing", _MISSING, "beta[i] * value[i] - W @ k"),
    ),
    (
        "You put in all of v, and take out β W k. Both have the factor β.",
        *(_STEP, "missing", _MISSING, "value[i] - beta[i] * (W @ k)"),
    ),
    (
        "You read what you have just added, and take part of it out again. "
        "Read W k before you write.",
        *(_STEP, "beta[i] * -(W @ k)", "missing = ", "W = W + torch.outer("),
        *(_MISSING, "beta[i] * value[i], k)"),
    ),
    (
        "You keep only the last pair: add to W, do not replace it.",
        *("W = W + ", "W = "),
    ),
    (
        "You let all of W fade, (1 − β) W. Only what this key finds is taken "
        "out: β (W k) kᵀ.",
        *(" - W @ k", "", "W = W", "W = (1 - beta[i]) * W"),
    ),
    (
        "The sign of the step: what is missing is added to W.",
        *("W + torch", "W - torch"),
    ),
    (
        "The sign is turned: take out what the key finds, v − W k.",
        *("- W @ k", "+ W @ k"),
    ),
    (
        "The pairs are written from the last to the first.",
        *("enumerate(key)", "reversed([*enumerate(key)])"),
    ),
    ("Nothing is written: assign the sum to W.", "W = W + ", "W + "),
    (
        "Yours is the transpose. A row for each number of a value, a column "
        "for each of a key: outer(v, k).",
        *("return W", "return W.T"),
    ),
    ("That is a reading; give back the matrix.", "return W", "return W @ k"),
    (
        "Those are readings; give back the matrix.",
        *("return W", "return key @ W.T"),
    ),
    (
        "You gave W after every pair; only the last is wanted.",
        *("    W = torch.zeros", "    all_of = []\n    W = torch.zeros"),
        *("missing, k)", "missing, k)\n        all_of.append(W)"),
        *("return W", "return torch.stack(all_of)"),
    ),
):
    delta_rule.slip(_hint, *_typed)


delta_rule.style(_by_numbers)


@delta_rule.style
def _by_projection(key, value, beta):
    eye = torch.eye(key.shape[1])
    W = torch.zeros(value.shape[1], key.shape[1])
    for k, v, b in zip(key, value, beta, strict=True):
        W = W @ (eye - b * torch.outer(k, k)) + b * torch.outer(v, k)
    return W


@delta_rule.style
def _by_solving(key, value, beta):
    before = (key @ key.T).tril(-1)
    system = torch.eye(len(key)) + beta[:, None] * before
    return torch.linalg.solve(system, beta[:, None] * value).T @ key


_HEADS, _D, _WORDS = 8, 64, 1000


def numbers_held_solution():
    """2 · 1000 · 8 · 64, then 8 · (64² + 64), and from 33 words on."""
    return [1_024_000, 33_280, 33]


def _other_sizes(draw):
    return {
        "heads": draw.choice((2, 4, 6, 12, 16)),
        "d": draw.choice((16, 32, 96, 128)),
        "words": draw.choice((500, 2000, 3000, 5000)),
    }


@by_hand(
    numbers_held_solution,
    "the cache's numbers, those of W and z, and the number of words",
    ["cache", "W and z"],
    ["words"],
    vary=(
        "{heads} heads with d_k = d_v = {d}, after {words} words",
        _other_sizes,
    ),
)
def numbers_held(heads=_HEADS, d=_D, words=_WORDS):
    """What the two memories of one layer hold."""
    cache, matrix = 2 * words * heads * d, heads * (d * d + d)
    mistakes = {
        "That is the keys alone, or the values; the cache keeps both.": (
            [cache / 2]
        ),
        f"That is one head; there are {heads}.": [cache / heads],
        "That is one word; how many are there?": [cache / words],
        "Those are the weights, a number for each pair of words. They are not "
        "kept; keys and values are.": [heads * words * words],
        "That is the second number; the cache comes first.": [matrix],
        "You kept queries too. The query of a word that is written is never "
        "needed again.": [3 * words * heads * d],
    }
    otherwise = (
        "The check does not recognize the mistake in the first. For every word "
        f"and every head the cache has a key of {d} numbers and a value of {d}."
    )
    kept = stage([cache], mistakes, otherwise, around(1e-6))
    mistakes = {
        "That is W alone; z is one vector more for each head.": (
            [heads * d * d]
        ),
        f"That is one head; there are {heads}.": [d * d + d],
        "That is W of one head alone: each head has one, and a z.": [d * d],
        "You took the heads together as one of their whole width. Each head "
        "has a matrix of its own.": [(heads * d) ** 2 + heads * d],
        "You took the heads together as one of their whole width, and left "
        "out z.": [(heads * d) ** 2],
        "The matrix does not grow with the words: what is its size?": (
            [words * matrix]
        ),
    }
    otherwise = (
        "The first is right; the check does not recognize the mistake in the "
        f"second. Each head has W, {d} by {d}, and z, {d} numbers."
    )
    held = stage([matrix], mistakes, otherwise, around(1e-6), 1)
    truth = matrix // (2 * heads * d) + 1
    mistakes = {
        "That is where the two are equally large. The first whole number of "
        "words beyond it is asked.": [matrix / (2 * heads * d)],
        "After so many words the matrix is still the larger one.": (
            [truth - 1]
        ),
        "You left out the values; a word adds a key and a value to the "
        "cache.": [matrix // (heads * d) + 1],
        "A word adds 2 · d numbers a head; divide by those.": [
            matrix // heads + 1
        ],
        "That is how much smaller the matrix is. From how many words on is it "
        "the smaller one?": [round(cache / matrix)],
    }
    otherwise = (
        "The two sizes are right; the check does not recognize the mistake in "
        f"the number of words. A word adds {2 * heads * d} numbers to the "
        f"cache: after how many words are they more than {matrix}?"
    )
    return (
        f"{cache:,} against {matrix:,}, and from {truth} words on the matrix "
        "is the smaller one.",
        kept,
        held,
        stage([truth], mistakes, otherwise, around(1e-9), 2),
    )


def random_features_solution(x, omega):
    """e^{−|x|²/2} / √m · e^{ω · x}, for every ω."""
    half = x.square().sum(-1, keepdim=True) / 2
    return (x @ omega.T - half).exp() / len(omega) ** 0.5


def _one_by_one(x, omega):
    """φ, number by number."""
    rows = [
        [math.exp(float(w @ a) - float(a @ a) / 2) for w in omega] for a in x
    ]
    return float64(rows) / math.sqrt(len(omega))


@exercise(random_features_solution)
def random_features(mine):
    """φ of Performer, for given ω."""
    cases = []
    for seed, (n, d, m) in enumerate(((3, 4, 6), (2, 3, 5), (4, 2, 9))):
        x, omega = random_inputs(seed, (n, d), (m, d))
        given = 0.7 * x, omega
        cases.append((given, _one_by_one(*map(float64, given))))
    about = "with {1.shape[0]} features"
    random_features.compare(mine, cases, "[length, features]", about)
    return "six, five and nine features, number by number."


_EXPONENT, _ROOT = "x @ omega.T - half", " / len(omega) ** 0.5"
for _hint, *_typed in (
    (
        "The factor e^(−|x|²/2) is forgotten. Without it φ(q) · φ(k) is too "
        "large on average.",
        *(" - half", ""),
    ),
    (
        "You summed the squares of all vectors together. Each row has its own "
        "|x|².",
        *("sum(-1, keepdim=True)", "sum()"),
    ),
    (
        "The exponential around it all is missing: e to the power of "
        "ω · x − |x|²/2.",
        *(".exp()", ""),
    ),
    (
        "You subtracted the largest exponent, as for a softmax. φ of one "
        "vector knows of no other.",
        *("return (", "a = ", "half).exp()", "half\n    return "),
        *("return ", "return (a - a.amax(-1, keepdim=True)).exp()"),
    ),
    (
        "1/m stands there twice: φ(q) · φ(k) multiplies two φ, so each gets "
        "1/√m.",
        *(" ** 0.5", ""),
    ),
    (
        "1/√m is missing: φ(q) · φ(k) is a sum over m features, and should be "
        "their mean.",
        *(_ROOT, ""),
    ),
    ("|x|² is not halved.", " / 2", ""),
    (
        "|x| is not squared.",
        *("x.square().sum(-1, keepdim=True)", "x.norm(dim=-1, keepdim=True)"),
    ),
    (
        "The sign is turned: the factor is e^(−|x|²/2).",
        *("- half", "+ half"),
    ),
    (
        "Two slips: 1/√m is missing, and e^(−|x|²/2).",
        *(" - half", "", _ROOT, ""),
    ),
    (
        "Two slips: 1/m in the place of 1/√m, and e^(−|x|²/2) is missing.",
        *(" - half", "", " ** 0.5", ""),
    ),
    (
        "You divided by √d. The mean is over the m features.",
        *("len(omega)", "x.shape[1]"),
    ),
    (
        "The exponential of ω · x is missing.",
        *(f"({_EXPONENT}).exp()", "x @ omega.T * (-half).exp()"),
    ),
    (
        "That is a softmax over the features; φ of one vector knows of no sum.",
        *(f"({_EXPONENT}).exp(){_ROOT}", "(x @ omega.T).softmax(-1)"),
    ),
    (
        "e^(−|ω|²/2) is ω's own length; the factor has x's.",
        *("x.square().sum(-1, keepdim=True)", "omega.square().sum(-1)"),
    ),
    (
        "Yours is the transpose: a row for each vector, a column for each ω.",
        *(".exp()", ".exp().T"),
    ),
    (
        "One number for each ω; yours has two.",
        *(_EXPONENT, "torch.cat([x @ omega.T, -x @ omega.T], 1) - half"),
    ),
    (
        "That is one number a vector; keep one for each ω.",
        *(".exp()", ".exp().sum(-1)"),
    ),
    (
        "That is a table of pairs; φ takes one vector at a time.",
        *("return", "phi =", _ROOT, f"{_ROOT}\n    return phi @ phi.T"),
    ),
):
    random_features.slip(_hint, *_typed)


random_features.style(_one_by_one)
