"""The exercises of `modern_gpt`: each check beside its reference solution.

What is right is found by another route: complex numbers for the rotations, a
plain softmax over all keys, a sum over a model's matrices one by one.
"""

import cmath
import math

import torch

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

_MILLION = 1_000_000


def cache_by_hand_solution():
    """2 · 24 · 8 · 64 · 4 bytes for a token; two thousand times as much."""
    return [98_304, 196.6]


def _draw(dice):
    kv_heads = dice.choice([5, 6, 8])
    return {
        "layers": dice.choice([12, 20, 24, 30, 40]),
        "heads": kv_heads * dice.choice([3, 4, 6]),
        "kv_heads": kv_heads,
        "d_k": dice.choice([64, 80, 96, 128]),
        "length": dice.choice([1500, 2500, 3000, 5000, 7000]),
    }


@by_hand(
    cache_by_hand_solution,
    "the bytes for one token, and the millions of bytes for the whole text, "
    "which may be rounded to three digits",
    ["bytes a token", "million bytes"],
    vary=(
        "{layers} layers, {heads} heads, {kv_heads} heads of keys and values,"
        " d_k = {d_k}, numbers of 4 bytes, a text of {length} tokens.",
        _draw,
    ),
)
def cache_by_hand(layers=24, heads=32, kv_heads=8, d_k=64, length=2000):
    """A cache of keys and values, in bytes."""
    token = 2 * layers * kv_heads * d_k * 4

    def slips(unit):
        found = {
            "Half of it: keys AND values are kept, a factor of 2. (Or did "
            "you take two bytes for a number? Here it has four.)": token / 2,
            "The cache holds the heads of keys and values. The heads that ask "
            "are more, and their queries are not kept.": token
            * heads
            / kv_heads,
            "Those are bits. A byte is eight of them.": 8 * token,
            "That is one layer. Each layer has keys and values of its own.": (
                token / layers
            ),
            "That is one head. Each of the heads of keys and values has its "
            "own.": token / kv_heads,
            "A key is not one number but as many as a head has, and so is a "
            "value.": token / d_k,
            "Queries are not kept: nobody asks an old question again. Keys "
            "and values make a factor of 2, not 3.": 1.5 * token,
            "Those are numbers, and not bytes: each number has four.": (
                token / 4
            ),
        }
        return {hint: value * unit for hint, value in found.items()}

    first = slips(1) | {
        "That is the whole text. The first number is for one token.": (
            token * length
        ),
        "That is the second number, for the whole text. The first is for one "
        "token, in bytes.": token * length / _MILLION,
        "That is in thousands of bytes. Give the first number in bytes.": (
            token / 1000
        ),
        "That is in units of 1024 bytes. Give the first number in bytes.": (
            token / 1024
        ),
    }
    whole = slips(length / _MILLION) | {
        "That is in bytes. Divide by a million.": token * length,
        "That is in units of 1024² bytes. Here a million is 1,000,000.": (
            token * length / 2**20
        ),
        "That is in thousands of bytes.": token * length / 1000,
        "That is in thousands of millions of bytes.": (
            token * length / (1000 * _MILLION)
        ),
        "That is one token. Multiply by the tokens of the text, and divide by "
        "a million.": token,
        "That is one token, in million bytes. Multiply by the tokens of the "
        "text.": token / _MILLION,
        "That is the square of the length. The cache grows with the length, "
        "the scores with its square.": token * length**2 / _MILLION,
    }
    return (
        f"{token:,} bytes a token, {token * length / _MILLION:,.1f} million "
        "for the text.",
        stage(
            token,
            first,
            "This is no slip that the check knows. Multiply: keys and values; "
            "layers; heads of keys and values; numbers in a key; bytes of a "
            "number.",
            around(5e-4),
        ),
        stage(
            token * length / _MILLION,
            whole,
            "The bytes of a token are right; this is no slip that the check "
            "knows. Multiply by the number of tokens and divide by a million.",
            around(5e-3),  # three digits
            1,
        ),
    )


def root_mean_square_solution(x, gain, epsilon):
    """g ∘ x / √(mean(x²) + ε)."""
    square = (x * x).mean(dim=-1, keepdim=True)
    return gain * x / torch.sqrt(square + epsilon)


def _rms_mistakes(x, g, epsilon):
    """What slips of RMSNorm give, one at a time and several together."""
    squares = x.square()
    square, mean = squares.mean(-1, True), x.mean(-1, True)
    means = {
        "": square,
        "A sum stands where the mean of the squares should: you divide by the "
        "vector's length, which is √d times too large.": squares.sum(-1, True),
        "You divide the vector's length by d. It is the mean of the squares "
        "that is divided by d, before the root.": (square / x.shape[-1]),
        "That is the square of the mean. Square first, then take the mean.": (
            mean.square()
        ),
        "The mean runs over the whole batch. Each token has its own.": (
            squares.mean()
        ),
        "The mean runs over a whole text. Each token has its own: dim=-1.": (
            squares.mean((-2, -1), True)
        ),
        "The mean runs along the text. It runs over the d numbers of each "
        "token: dim=-1.": squares.mean(-2, True),
        "The mean runs over the texts of the batch. It runs over the d numbers "
        "of each token: dim=-1.": squares.mean(0, True),
    }
    ends = {
        "": lambda s: (s + epsilon).sqrt(),
        "ε stands outside the root. It is added to the mean of the squares, "
        "before the root.": lambda s: s.sqrt() + epsilon,
        "ε is missing: add it to the mean of the squares, before the root.": (
            lambda s: s.sqrt()
        ),
        "The root is missing.": lambda s: s + epsilon,
        "The root is missing, and so is ε.": lambda s: s,
    }
    gains = {
        "": g * x,
        "The gain is missing.": x,
        "You divide by the gain.": x / g,
    }
    found = {}
    for which, s in means.items():
        for end, root in ends.items():
            for gain, top in gains.items():
                hint = " ".join(filter(None, (which, end, gain)))
                found[hint] = top / root(s)
    found.pop("")  # nothing is wrong
    size = (square + epsilon).sqrt()
    found |= {
        "The gain is added. It multiplies.": x / size + g,
        "The gain multiplies x before its size is taken. First divide, then "
        "multiply by g.": g
        * x
        / ((g * x).square().mean(-1, True) + epsilon).sqrt(),
        "You take the root of each square, the sizes of the numbers, and "
        "their mean. First the mean, then the root.": (
            g * x / (x.abs().mean(-1, True) + epsilon)
        ),
        "You multiply by the root. Divide by it.": g * x * size,
        "You subtract the mean, and divide by the size of x with it.": (
            g * (x - mean) / size
        ),
    }
    for few, over in ((0, ""), (1, " (Torch's std divides by d − 1 besides.)")):
        variance = x.var(-1, keepdim=True, correction=few)
        for end, root in ends.items():
            for gain, top in (("", g), (" The gain is missing.", 1)):
                tail = f"{end and f' {end}'}{gain}{over}"
                found |= {
                    "You subtract the mean, as LayerNorm does. RMSNorm leaves "
                    f"it.{tail}": top * (x - mean) / root(variance),
                    "You divide by the standard deviation: its mean is "
                    "subtracted. Take the mean of the squares themselves."
                    f"{tail}": top * x / root(variance),
                }
    return found


@exercise(root_mean_square_solution)
def root_mean_square(mine):
    """RMSNorm of a batch of vectors."""
    for seed, sizes in enumerate(((2, 3, 6), (1, 5, 4), (4, 2, 3))):
        x, gain = random_inputs(seed, sizes, sizes[-1:])
        x, epsilon = 0.5 * x + 0.7, 0.25  # an ε that shows where it stands
        known = {
            sizes[:-1]: "One number a token: that is the size. Divide x by it.",
            (*sizes[:-1], 1): "That is the size alone. Divide x by it.",
        }
        found = as_tensor(
            mine(x, gain, epsilon), sizes, "[batch, length, d]", known
        )
        x, g = float64(x), float64(gain)
        truth = g * x / (x.square().mean(-1, True) + epsilon).sqrt()
        expect(found, truth, _rms_mistakes(x, g, epsilon))
    return "three batches, with an ε large enough to be seen."


def rotary_scores_solution(query, key, start):
    """Queries turned by `start`, `start` + 1, … against keys by 0, 1, …."""

    def turned(x, first):
        length, d = x.shape
        omega = 10000 ** (-torch.arange(0, d, 2) / d)
        angle = torch.arange(first, first + length)[:, None] * omega
        a, b = x[:, 0::2], x[:, 1::2]
        cos, sin = angle.cos(), angle.sin()
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=1)

    return turned(query, start) @ turned(key, 0).T


def _complex(x, pairs):
    """Pairs of numbers as complex ones, [length, d/2]."""
    first, second = zip(*pairs, strict=True)
    return torch.complex(x[:, first], x[:, second])


def _rotated(q, k, angle, pairs=None):
    """Σ_p Re(q_p conj(k_p) e^{i angle(t, s, p)}) of the pairs p, for each
    query t and each key s."""
    half = q.shape[1] // 2
    pairs = pairs or [(2 * p, 2 * p + 1) for p in range(half)]
    one, other = _complex(q, pairs), _complex(k, pairs)
    rows = [
        [
            sum(
                (
                    complex(one[t, p])
                    * complex(other[s, p]).conjugate()
                    * cmath.exp(1j * angle(t, s, p))
                ).real
                for p in range(half)
            )
            for s in range(len(k))
        ]
        for t in range(len(q))
    ]
    return float64(rows)


def _moved(x, first, speed, way):
    """Each pair (a, b) made `way(a, b, cos, sin)` by its place's angle."""
    rows = []
    for place, row in enumerate(x.tolist(), first):
        rows.append([])
        for p in range(len(row) // 2):
            angle = place * speed(p)
            two = row[2 * p], row[2 * p + 1]
            rows[-1] += way(*two, math.cos(angle), math.sin(angle))
    return float64(rows)


def _turned_wrong(q, k, start):
    """The scores, and what each likely mistake gives, by its hint."""
    d = q.shape[1]
    offset = start + torch.arange(len(q))[:, None] - torch.arange(len(k))

    def speed(p):
        return 10000 ** (-2 * p / d)

    def by(angle, pairs=None):
        return _rotated(q, k, angle, pairs)

    def moved(way):
        return _moved(q, start, speed, way) @ _moved(k, 0, speed, way).T

    far = [(p, p + d // 2) for p in range(d // 2)]
    truth = by(lambda t, s, p: (t + start - s) * speed(p))
    hidden = truth.masked_fill(offset < 0, -math.inf)
    return truth, {
        "Nothing is turned.": q @ k.T,
        "Only the queries are turned. Turn the keys by their places as "
        "well, or the score depends on where the query stands and not on "
        "the offset.": by(lambda t, s, p: (t + start) * speed(p)),
        "Only the keys are turned. Turn the queries by their places as "
        "well.": by(lambda t, s, p: -s * speed(p)),
        "Every pair turns by the same angle. Pair i has a speed of its "
        "own, 10000^(−2i/d).": by(lambda t, s, p: t + start - s),
        "The angles add up: one of the two is turned the wrong way, and the "
        "score depends on the sum of the places. Turn both the same way.": by(
            lambda t, s, p: (t + start + s) * speed(p)
        ),
        "Both are turned the wrong way: (a, b) becomes (a cos − b sin, "
        "a sin + b cos).": by(lambda t, s, p: (s - t - start) * speed(p)),
        "Queries and keys are counted from the same place. The keys begin at "
        "0, the queries at `start`: with a cache the keys before them are "
        "there already.": by(lambda t, s, p: (t - s) * speed(p)),
        "`start` counts the wrong way: the queries begin at `start` and the "
        "keys at 0, not the other way round.": by(
            lambda t, s, p: (t - s - start) * speed(p)
        ),
        "You pair number i with number i + d/2, as many published models "
        "do. Here the pair is (2i, 2i + 1).": by(
            lambda t, s, p: (t + start - s) * speed(p), pairs=far
        ),
        "Each query stands one place too far from each key. The first query "
        "is at `start` and the first key at 0.": by(
            lambda t, s, p: (t + 1 + start - s) * speed(p)
        ),
        "Each query stands one place too near to the keys before it. The first "
        "query is at `start` and the first key at 0, not at 1.": by(
            lambda t, s, p: (t - 1 + start - s) * speed(p)
        ),
        "You put the last query on the last key. Only `start` says where the "
        "queries begin.": by(
            lambda t, s, p: (t + len(k) - len(q) - s) * speed(p)
        ),
        "The speed is 10000^(−2i/d). Yours has i in the place of 2i.": by(
            lambda t, s, p: (t + start - s) * 10000 ** (-p / d)
        ),
        "The speed is 10000^(−2i/d). Yours has 4i: is 2i doubled?": by(
            lambda t, s, p: (t + start - s) * 10000 ** (-4 * p / d)
        ),
        "The speed is 10000^(−2i/d), with i from 0: the first pair turns by 1 "
        "a place. Your i begins at 1.": by(
            lambda t, s, p: (t + start - s) * speed(p + 1)
        ),
        "The speed is 10000^(−2i/d). Yours has no minus: it grows.": by(
            lambda t, s, p: (t + start - s) / speed(p)
        ),
        "A sign is missing: (a, b) becomes (a cos − b sin, a sin + b cos).": (
            moved(lambda a, b, c, s: (a * c + b * s, a * s + b * c))
        ),
        "Each number is only multiplied by its cosine. To turn a pair, mix its "
        "two: (a cos − b sin, a sin + b cos).": moved(
            lambda a, b, c, s: (a * c, b * c)
        ),
        "You add the waves, as in 2017. Here nothing is added: each pair is "
        "turned.": moved(lambda a, b, c, s: (a + s, b + c)),
        "The scores are divided by √d. Here they are left as they are.": (
            truth / math.sqrt(d)
        ),
        "Later keys are hidden in yours. Here the score of every query and "
        "every key is wanted.": hidden,
        "Those are weights already. Give the scores, before the softmax.": (
            truth.softmax(-1)
        ),
    }


@exercise(rotary_scores_solution)
def rotary_scores(mine):
    """Scores of queries and keys that are turned by their places."""
    cases = (
        (3, 5, 8, 2),
        (1, 6, 4, 5),
        (4, 4, 6, 0),
        (2, 9, 6, 7),
        (2, 7, 4, 3),  # there are keys behind the last query
    )
    for seed, (target, source, d, start) in enumerate(cases):
        query, key = random_inputs(seed, (target, d), (source, d))
        known = {
            (source, target): "A row for each query, a column for each key: "
            "yours is the transpose.",
            (target, source, d // 2): "Sum over the pairs.",
        }
        if (target, d) != (target, source):
            known[target, d] = "Those are the turned queries; go on to scores."
        found = as_tensor(
            mine(query, key, start), (target, source), "[target, source]", known
        )
        q, k = float64(query), float64(key)
        truth, mistakes = _turned_wrong(q, k, start)
        expect(found, truth, mistakes, f"with start = {start}")
    return (
        "equal to complex numbers, on five sets of queries and keys, with "
        "and without a cache in front."
    )


def absorb_solution(most, total, context, scores, values):
    """The running maximum, sum and context, with one tile more."""
    new = torch.maximum(most, scores.max())
    shrink = torch.exp(most - new)
    raised = torch.exp(scores - new)
    return (
        new,
        shrink * total + raised.sum(),
        shrink * context + raised @ values,
    )


def _absorbed(most, total, context, scores, values, **slip):
    """One tile, key by key; `slip` names what is done wrongly."""
    top = float(scores.max())
    new = top if slip.get("forgets") else max(most, top)
    shrink = math.exp(most - new) if most > -math.inf else 0.0
    if slip.get("upside"):
        shrink = math.exp(new - most) if most > -math.inf else 0.0
    if slip.get("late"):
        late, shrink = shrink, 1.0
    old, kept = total * shrink, context * shrink
    if slip.get("old_sum"):
        old = total
    if slip.get("old_values"):
        kept = context
    for s, v in zip(scores.tolist(), values, strict=True):
        w = math.exp(s - (0.0 if slip.get("bare") else new))
        old, kept = old + w, kept + w * v
    if slip.get("late"):
        old, kept = old * late, kept * late
    return new, old, kept


_SLIPS = {
    "The old sums were made with another maximum. When the maximum moves, both "
    "the sum and the context have to shrink by exp(old maximum − new).": {
        "old_sum": True,
        "old_values": True,
    },
    "When the maximum moves, the old sum has to be rescaled as well: by "
    "exp(old maximum − new). Only the context is.": {"old_sum": True},
    "When the maximum moves, the old context has to be rescaled as well: by "
    "exp(old maximum − new). Only the sum is.": {"old_values": True},
    "The factor is upside down: exp(old maximum − new), which is at most 1.": {
        "upside": True
    },
    "The new maximum is that of this tile alone. It is the larger of the old "
    "one and the tile's.": {"forgets": True},
    "The maximum is not taken off the new scores before exp.": {"bare": True},
    "After the first tile your sum and context are still 0: the new keys are "
    "not added, or they are multiplied by the factor, which is for the old "
    "sum and the old context alone.": {"late": True},
}


@exercise(absorb_solution)
def absorb(mine):
    """A softmax that is never there as a whole: tile by tile."""
    cases = ((3, 2, 2, 4), (1, 1, 1), (5, 5, 5), (2, 6))
    for seed, tiles in enumerate(cases):
        d_v = 7  # as large as no tile
        scores, values = random_inputs(seed, (sum(tiles),), (sum(tiles), d_v))
        scores = 2 * scores
        if seed == 2:
            scores = scores.sort().values  # the maximum moves with each tile
        if seed == 3:
            scores = scores + 300  # exp of it overflows
        state = torch.tensor(-math.inf), torch.tensor(0.0), torch.zeros(d_v)
        slipped = {
            hint: (-math.inf, 0.0, torch.zeros(d_v).double()) for hint in _SLIPS
        }
        seen = 0
        for tile in tiles:
            s, v = scores[seen : seen + tile], values[seen : seen + tile]
            seen += tile
            found = mine(*state, s, v)
            if not isinstance(found, (tuple, list)) or len(found) != 3:
                raise Hint(
                    "Give back three things: the new maximum, sum and context."
                )
            order = "Give them in the order maximum, sum, context."
            each = "That is one for each key of the tile: sum over them."
            one = {(d_v,): order, (tile,): each, (1,): "One number, no list."}
            added = {(): order, (tile, d_v): each}
            most, total, context = (
                as_tensor(*given)
                for given in zip(
                    found,
                    ((), (), (d_v,)),
                    ("the maximum, []", "the sum, []", "the context, [d_v]"),
                    (one, one, added),
                    strict=True,
                )
            )
            for hint, slip in _SLIPS.items():
                try:
                    slipped[hint] = _absorbed(
                        *slipped[hint], float64(s), float64(v), **slip
                    )
                except OverflowError:
                    pass
            so_far, of = float64(scores[:seen]), float64(values[:seen])
            truth = so_far.max()
            weights = (so_far - truth).exp()
            whole = torch.cat([truth[None], weights.sum()[None], weights @ of])
            given = torch.cat([most[None], total[None], context])
            mistakes = {
                hint: torch.cat([float64([m, t]), c])
                for hint, (m, t, c) in slipped.items()
            }
            share = weights @ of / weights.sum()
            mistakes[
                "The context is divided already. Divide once, when all "
                "tiles have been seen: here it is the sum alone."
            ] = torch.cat([whole[:2], share])
            own = float64(s).max()
            alone = (float64(s) - own).exp()
            mistakes[
                "The old sum and context are dropped: only this tile is in "
                "yours."
            ] = torch.cat([own[None], alone.sum()[None], alone @ float64(v)])
            mistakes[
                "Sum and context are right, for this maximum; but give "
                "back the new maximum, not the old one."
            ] = torch.cat([float64(state[0])[None], whole[1:]])
            softmax = float64(s).softmax(0)
            mistakes[
                "Your weights of a tile sum to 1 already. Take exp(scores − "
                "maximum) and no softmax: the division comes last of all."
            ] = torch.cat(
                [
                    truth[None],
                    float64(state[1])[None] + 1,
                    float64(state[2]) + softmax @ float64(v),
                ]
            )
            mistakes[order] = whole[[1, 0, *range(2, 2 + d_v)]]
            otherwise = (
                f"This is no slip that the check knows. After {seen} keys the "
                f"maximum should be {float(truth):.4g}, and is "
                f"{float(most):.4g}; the sum {float(whole[1]):.4g}, and is "
                f"{float(total):.4g}."
            )
            if not given.isfinite().all():
                otherwise += (
                    " At the first tile the old maximum is −∞, so the factor "
                    "exp(old − new) is 0: is yours upside down? And take the "
                    "new maximum off before each exp, not the old one and not "
                    "afterwards: then no exponent is above 0."
                )
            elif torch.allclose(given[:2], whole[:2], rtol=1e-4, atol=1e-4):
                otherwise = (
                    "Maximum and sum are right, and the context is not. It is "
                    "made like the sum, with each exp(score − maximum) times "
                    "its value."
                )
            expect(given, whole, mistakes, otherwise=otherwise)
            state = tuple(
                torch.as_tensor(one, dtype=scores.dtype)
                for one in (most, total, context)
            )
    return (
        "four rows of scores in tiles of other sizes, rising ones and ones "
        "whose exp would overflow; after each tile what a softmax over all "
        "keys so far would give."
    )


def parameters_of_solution(config):
    """Tables; per layer attention, a gated feed-forward layer, two norms."""
    d, vocab = config["hidden_size"], config["vocab_size"]
    d_k = d // config["num_attention_heads"]
    attention = 2 * d * d + 2 * d * config["num_key_value_heads"] * d_k
    feedforward = 3 * d * config["intermediate_size"]
    tables = 1 if config["tie_word_embeddings"] else 2
    layer = attention + feedforward + 2 * d
    return tables * vocab * d + config["num_hidden_layers"] * layer + d


_MODELS = {
    "Mistral 7B": (32, 4096, 32, 8, 14336, 32000, False),
    "Llama 2 7B": (32, 4096, 32, 32, 11008, 32000, False),
    "a small one, tied": (3, 24, 6, 2, 40, 50, True),
}
_ELSE = {  # what says nothing of the size
    "hidden_act": "silu",
    "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0,
    "sliding_window": 4096,
}
_NAMES = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
    "vocab_size",
    "tie_word_embeddings",
)


def _matrices(layers, d, heads, kv, d_ff, vocab, tied):
    """The shape of each of a model's tensors, by its name."""
    d_k = d // heads
    yield "table", (vocab, d)
    for _ in range(layers):
        yield "W_Q", (heads * d_k, d)
        yield "W_K", (kv * d_k, d)
        yield "W_V", (kv * d_k, d)
        yield "W_O", (d, heads * d_k)
        yield "W_1", (d_ff, d)
        yield "W_2", (d, d_ff)
        yield "W_3", (d_ff, d)
        yield "norm", (d,)
        yield "norm", (d,)
    yield "last norm", (d,)
    yield "output", (0 if tied else vocab, d)


@exercise(parameters_of_solution)
def parameters_of(mine):
    """The parameters of a model of today, from its config."""
    for name, sizes in _MODELS.items():
        layers, d, heads, kv, d_ff, _, tied = sizes
        config = dict(zip(_NAMES, sizes, strict=True)) | _ELSE
        found = as_number(mine(config), "a whole number")
        count = {}
        for part, shape in _matrices(*sizes):
            count[part] = count.get(part, 0) + math.prod(shape)
        truth = sum(count.values())
        table = count["table"] + count["output"] + count["last norm"]
        mistakes = {
            "One table is missing: where nothing is tied the output has a "
            "matrix of its own.": truth - count["output"],
            "Here input and output are tied: they share one table.": truth
            + tied * count["table"],
            "The feed-forward layer has three matrices: SwiGLU has a gate.": (
                truth - count["W_3"]
            ),
            "The tables are missing: a row of d numbers for each word, for the "
            "input and, where nothing is tied, for the output.": (
                truth - count["table"] - count["output"]
            ),
            "A gain is not one number: it has d.": truth
            - (2 * layers + 1) * (d - 1),
            "The norms are missing: two a layer, and one after the last.": (
                truth - count["norm"] - count["last norm"]
            ),
            "The norm after the last layer is missing.": (
                truth - count["last norm"]
            ),
            "There is one norm a layer in yours; each of its two parts has "
            "its own.": truth - count["norm"] // 2,
            "A norm has a bias in yours. RMSNorm has a gain only.": (
                truth + count["norm"] + count["last norm"]
            ),
            "One matrix of d × d is missing in each layer: W_Q and W_O are "
            "both that large.": truth - count["W_O"],
            "W_K and W_V are of one size, but they are two.": truth
            - count["W_V"],
            "The last norm is counted in every layer. It stands once, after "
            "all of them.": truth + (layers - 1) * d,
            "The linear maps have biases in yours; here they have none.": truth
            + layers * (2 * d + 2 * kv * d // heads + 2 * d_ff + d),
            "W_K and W_V are as small as one head. There are kv_heads of "
            "them.": truth - (count["W_K"] + count["W_V"]) * (kv - 1) // kv,
            "Only one layer is counted.": table + (truth - table) // layers,
        }
        if kv < heads:
            full = layers * 4 * d * d
            now = sum(count[k] for k in ("W_Q", "W_K", "W_V", "W_O"))
            mistakes = {
                "W_K and W_V are d × d in yours. With fewer heads of keys and "
                "values they are narrower: kv_heads · d_k, and d_k is "
                "hidden_size / num_attention_heads.": truth - now + full,
                "Attention is 3 d² in yours. It has four matrices: W_Q and W_O "
                "of d × d, W_K and W_V of d × kv_heads · d_k.": (
                    truth - now + full * 3 // 4
                ),
            } | mistakes
        if float(found) == truth:
            continue
        for hint, wrong in mistakes.items():
            if float(found) == wrong:
                raise Hint(hint)
        raise Hint(
            f"For {name} yours is {float(found):,.0f}, which is "
            f"{abs(float(found) - truth):,.0f} too "
            f"{'many' if float(found) > truth else 'few'}. This is no slip "
            "that the check knows. Write down the shape of every matrix: two "
            "tables; a layer's W_Q, W_K, W_V, W_O, three of the feed-forward "
            "layer, two gains; one gain at the end."
        )
    return "Mistral 7B, Llama 2 7B and a small one, to the last parameter."
