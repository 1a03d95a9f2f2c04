"""The exercises of `fastweights`: each check beside its reference solution.

What is right comes from loops over words and pairs of numbers, never from the
solution's formula.
"""

import torch
from torch.nn import functional as F

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    Hint,
    as_tensor,
    exercise,
    expect,
    float64,
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
        "W is no slip that the check knows. Take the first pair: the number in "
        "row r and column c is v_r times k_c. Then the second, and add the two."
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
        "W is right; W k₁ is no slip that the check knows. Its first number is "
        "the first row of W times k₁, number by number, added up."
    )
    return (
        "W, and in W k₁ both v₁ and a share k₁ · k₂ of v₂.",
        whole,
        stage(at, mistakes, otherwise, around(2e-3), 4),
    )


def linear_loop_solution(query, key, value):
    """W and z, written and then read at every word."""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    d_v, d_k = value.shape[1], key.shape[1]
    W, z, said = torch.zeros(d_v, d_k), torch.zeros(d_k), []
    for i, k in enumerate(key):
        W = W + torch.outer(value[i], k)
        z = z + k
        said.append(W @ query[i] / (z * query[i]).sum())
    return torch.stack(said)


def _squared(q, k, v, late=0, above=None, below=None):
    """Σ_{j ≤ i} w_ij v_j / Σ_j w_ij of weights above and below, by loops.

    `late` lets a word see so many words less; `below` makes the normaliser of
    other pairs.
    """
    n = len(q)
    rows = []
    for i in range(n):
        seen = range(i + 1 - late)
        top = sum(((q[i] @ k[j]) * v[j] for j in seen), torch.zeros_like(v[0]))
        under = seen if below is None else below(i, n)
        total = sum(
            (q[i] @ k[j] for j in under), torch.zeros((), dtype=v.dtype)
        )
        rows.append(top / total if above is None else top / above(i, n, q, k))
    return torch.stack(rows)


@exercise(linear_loop_solution)
def linear_loop(mine):
    """Causal linear attention, word by word."""
    for seed, (n, d_k, d_v) in enumerate(((4, 3, 2), (1, 2, 3), (7, 5, 4))):
        query, key, value = random_inputs(seed, (n, d_k), (n, d_k), (n, d_v))
        known = {
            (d_v,): "That is the answer to the last word; give one for each.",
            (d_v, d_k): "That is W itself; read it at every word.",
            (n, d_k): "Your answers are as long as a key. W is d_v by d_k: "
            "outer(v, k), and not outer(k, v).",
            (n, n): "Those are the weights; the answer is one vector a word.",
        }
        found = as_tensor(
            mine(query, key, value), (n, d_v), "[length, d_v]", known
        )
        Q, K, v = map(float64, (query, key, value))
        q, k = F.elu(Q) + 1, F.elu(K) + 1

        def all_of(i, n):
            return range(n)

        relu = _squared(Q.relu(), K.relu(), v)
        mistakes = {
            "Your normaliser has seen the whole sentence. z grows word by "
            "word, as W does.": _squared(q, k, v, below=all_of),
            "You read with a W of the whole sentence: word i sees only the "
            "words up to i.": torch.stack(
                [
                    sum((a @ b) * c for b, c in zip(k, v, strict=True))
                    / sum(a @ b for b in k)
                    for a in q
                ]
            ),
            "Only W is read too early: write the pair into W first, then read "
            "W and z.": _squared(
                q, k, v, late=1, below=lambda i, n: range(i + 1)
            ),
            "You read W and z before you write: word i sees itself as well.": (
                _squared(q, k, v, late=1, below=lambda i, n: range(i))
            ).nan_to_num(0.0),
            "Query and key are exchanged: W and z are made of keys, and the "
            "query asks.": _squared(k, q, v),
            "φ is elu plus 1; yours is ReLU.": relu.nan_to_num(0.0),
            "The normaliser is missing: divide by z · φ(q).": _squared(
                q, k, v, above=lambda *_: 1
            ),
            "You divided by the number of words. The normaliser is z · φ(q).": (
                _squared(q, k, v, above=lambda i, *_: i + 1)
            ),
            "You divided by the sum of z. The normaliser is the product "
            "z · φ(q).": _squared(
                q, k, v, above=lambda i, n, q, k: k[: i + 1].sum()
            ),
            "φ is on the keys alone: the query goes through it too.": _squared(
                Q, k, v
            ),
            "φ is on the queries alone: the keys go through it too.": _squared(
                q, K, v
            ),
            "There is no φ in it: elu(x) + 1, of queries and of keys.": (
                _squared(Q, K, v)
            ),
            "φ is elu plus 1; yours is elu.": _squared(F.elu(Q), F.elu(K), v),
            "φ is elu plus 1; yours is ReLU plus 1.": _squared(
                Q.relu() + 1, K.relu() + 1, v
            ),
            "φ is elu plus 1; yours is the exponential. It fits below 0 "
            "only.": _squared(Q.exp(), K.exp(), v),
            "That is softmax attention. Here φ(q) · φ(k) stands in the place "
            "of e^(q · k).": torch.stack(
                [
                    torch.softmax(K[: i + 1] @ Q[i], 0) @ v[: i + 1]
                    for i in range(n)
                ]
            ),
        }
        if found.isnan().any() and found.double().allclose(
            relu, equal_nan=True
        ):
            raise Hint(
                "φ is elu plus 1; yours is ReLU. Where all features of a "
                "query and a key are 0, the normaliser is 0 too: 0/0 is NaN."
            )
        if not found[0].isfinite().all() and found[1:].isfinite().all():
            raise Hint(
                "You read before you write: at the first word W and z are "
                "still empty, and 0/0 is NaN. Word i sees itself as well."
            )
        expect(found, _squared(q, k, v), mistakes, f"with {n} words")
    return "sentences of four, one and seven words, against the square."


def delta_rule_solution(key, value, beta):
    """W ← W + β (v − W k) kᵀ."""
    W = torch.zeros(value.shape[1], key.shape[1])
    for i, k in enumerate(key):
        missing = value[i] - W @ k
        W = W + torch.outer(beta[i] * missing, k)
    return W


def _steps(key, value, beta, step):
    """W after W ← step(W, k, v, b) for every pair."""
    W = torch.zeros(value.shape[1], key.shape[1], dtype=torch.float64)
    for k, v, b in zip(key, value, beta, strict=True):
        W = step(W, k, v, b)
    return W


def _written(key, value, beta, held=1, add=1, late=False, alone=False, sign=1):
    """The rule number by number, or with a slip in it.

    `held` and `add` are the powers of β on what is taken out and put in;
    None takes out nothing. `late` reads after v has been added; `alone` keeps
    only the last; `sign` −1 puts in what should be taken out.
    """
    d_v, d_k = value.shape[1], key.shape[1]
    W = torch.zeros(d_v, d_k, dtype=torch.float64)
    for k, v, b in zip(key, value, beta, strict=True):
        given = W + b**add * torch.outer(v, k) if late else W
        base = torch.zeros_like(W) if alone else W
        new = torch.zeros_like(W)
        for r in range(d_v):
            found = sum(given[r, c] * k[c] for c in range(d_k))
            for c in range(d_k):
                out = 0 if held is None else b**held * found
                new[r, c] = base[r, c] + (b**add * v[r] - sign * out) * k[c]
        W = new
    return W


@exercise(delta_rule_solution)
def delta_rule(mine):
    """The matrix after all pairs, by the delta rule."""
    for seed, (n, d_k, d_v) in enumerate(((4, 3, 2), (1, 2, 5), (6, 4, 5))):
        key, value, raw = random_inputs(seed, (n, d_k), (n, d_v), (n,))
        key, beta = key / key.norm(dim=1, keepdim=True), raw.sigmoid()
        known = {
            (d_k, d_v): "Yours is the transpose. A row for each number of a "
            "value, a column for each of a key: outer(v, k).",
            (d_v,): "That is a reading; give back the matrix.",
            (n, d_v): "Those are readings; give back the matrix.",
            (n, d_v, d_k): "You gave W after every pair; only the last is "
            "wanted.",
        }
        found = as_tensor(
            mine(key, value, beta), (d_v, d_k), "[d_v, d_k]", known
        )
        k, v, b = map(float64, (key, value, beta))
        one = torch.ones_like(b)
        if n == 1:
            mistakes = {
                "β is missing: how much is written?": _written(k, v, one),
                "You read what you have just added, and take it out again. "
                "Read W k before you write.": _written(k, v, b, late=True),
                "Nothing is written.": torch.zeros(d_v, d_k),
                "β stands there twice: β² of the value is written.": (
                    _written(k, v, b, add=2)
                ),
                "You added the key twice over: the pair is outer(v, k).": (
                    2 * _written(k, v, b)
                ),
            }
        else:
            mistakes = {
                "That is the sum rule: nothing is taken out. First read what "
                "the key finds, W k.": _written(k, v, b, held=None),
                "That is the sum rule, and without β at that.": _written(
                    k, v, one, held=None
                ),
                "β is missing: you write all of what is missing.": _written(
                    k, v, one
                ),
                "β stands there twice on what is taken out: β (v − β W k). It "
                "is β (v − W k).": _written(k, v, b, held=2),
                "β stands there twice: β² (v − W k).": _written(
                    k, v, b, held=2, add=2
                ),
                "You take out all of W k, and put in β v. Both have the "
                "factor β.": _written(k, v, b, held=0),
                "You put in all of v, and take out β W k. Both have the "
                "factor β.": _written(k, v, b, add=0),
                "You read what you have just added, and take part of it out "
                "again. Read W k before you write.": _written(
                    k, v, b, late=True
                ),
                "You keep only the last pair: add to W, do not replace it.": (
                    _written(k, v, b, alone=True)
                ),
                "You let all of W fade, (1 − β) W. Only what this key finds "
                "is taken out: β (W k) kᵀ.": _steps(
                    k,
                    v,
                    b,
                    lambda W, k, v, b: (1 - b) * W + b * torch.outer(v, k),
                ),
                "The sign of the step: what is missing is added to W.": _steps(
                    k,
                    v,
                    b,
                    lambda W, k, v, b: W - b * torch.outer(v - W @ k, k),
                ),
                "The sign is turned: take out what the key finds, v − W k.": (
                    _written(k, v, b, sign=-1)
                ),
                "The pairs are written from the last to the first.": _written(
                    k.flip(0), v.flip(0), b.flip(0)
                ),
            }
        expect(found, _written(k, v, b), mistakes, f"with {n} pairs")
    return "four, one and six pairs, number by number."


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
        "The first is no slip that the check knows. For every word and every "
        f"head the cache has a key of {d} numbers and a value of {d}."
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
        "The first is right; the second is no slip that the check knows. Each "
        f"head has W, {d} by {d}, and z, {d} numbers."
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
        "The two sizes are right; the number of words is no slip that the "
        f"check knows. A word adds {2 * heads * d} numbers to the cache: after "
        f"how many words are they more than {matrix}?"
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


@exercise(random_features_solution)
def random_features(mine):
    """φ of Performer, for given ω."""
    for seed, (n, d, m) in enumerate(((3, 4, 6), (2, 3, 5), (4, 2, 9))):
        x, omega = random_inputs(seed, (n, d), (m, d))
        x = 0.7 * x
        known = {
            (m, n): "Yours is the transpose: a row for each vector, a column "
            "for each ω.",
            (n, 2 * m): "One number for each ω; yours has two.",
            (n,): "That is one number a vector; keep one for each ω.",
            (n, n): "That is a table of pairs; φ takes one vector at a time.",
        }
        found = as_tensor(mine(x, omega), (n, m), "[length, features]", known)
        X, w = float64(x), float64(omega)
        truth = torch.zeros(n, m, dtype=torch.float64)
        for i in range(n):
            half = sum(float(a) ** 2 for a in X[i]) / 2
            for j in range(m):
                at = sum(a * b for a, b in zip(X[i], w[j], strict=True))
                truth[i, j] = (at - half).exp() / m**0.5
        square = X.square().sum(-1, keepdim=True)
        length, grown = square.sqrt(), truth * (square / 2).exp()
        mistakes = {
            "The factor e^(−|x|²/2) is forgotten. Without it φ(q) · φ(k) is "
            "too large on average.": grown,
            "You summed the squares of all vectors together. Each row has its "
            "own |x|².": grown * (-X.square().sum() / 2).exp(),
            "The exponential around it all is missing: e to the power of "
            "ω · x − |x|²/2.": (X @ w.T - square / 2) / m**0.5,
            "You subtracted the largest exponent, as for a softmax. φ of one "
            "vector knows of no other.": truth
            / (X @ w.T - square / 2).exp().amax(-1, keepdim=True),
            "1/m stands there twice: φ(q) · φ(k) multiplies two φ, so each "
            "gets 1/√m.": truth / m**0.5,
            "1/√m is missing: φ(q) · φ(k) is a sum over m features, and should "
            "be their mean.": truth * m**0.5,
            "|x|² is not halved.": grown * (-square).exp(),
            "|x| is not squared.": grown * (-length / 2).exp(),
            "The sign is turned: the factor is e^(−|x|²/2).": (
                grown * (square / 2).exp()
            ),
            "Two slips: 1/√m is missing, and e^(−|x|²/2).": grown * m**0.5,
            "Two slips: 1/m in the place of 1/√m, and e^(−|x|²/2) is "
            "missing.": grown / m**0.5,
            "You divided by √d. The mean is over the m features.": (
                truth * (m / d) ** 0.5
            ),
            "The exponential of ω · x is missing.": (
                (X @ w.T) * (-square / 2).exp() / m**0.5
            ),
            "That is a softmax over the features; φ of one vector knows of no "
            "sum.": torch.softmax(X @ w.T, -1),
            "e^(−|ω|²/2) is ω's own length; the factor has x's.": (
                (X @ w.T - w.square().sum(-1) / 2).exp() / m**0.5
            ),
        }
        expect(found, truth, mistakes, f"with {m} features")
    return "six, five and nine features, and φ(q) · φ(k) is right on average."
