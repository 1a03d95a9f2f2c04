"""The exercises of `since`: each check beside its reference solution.

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
    "the bytes for one token, and the millions of bytes for the whole text",
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
            "Queries are not kept: nobody asks an old question again. Keys "
            "and values make a factor of 2, not 3.": 1.5 * token,
            "Those are numbers, and not bytes: each number has four.": (
                token / 4
            ),
        }
        return {hint: value * unit for hint, value in found.items()}

    whole = slips(length / _MILLION) | {
        "That is in bytes. Divide by a million.": token * length,
        "That is in units of 1024² bytes. Here a million is 1,000,000.": (
            token * length / 2**20
        ),
        "That is in thousands of bytes.": token * length / 1000,
        "That is the square of the length. The cache grows with the length, "
        "the scores with its square.": token * length**2 / _MILLION,
    }
    return (
        f"{token:,} bytes a token, {token * length / _MILLION:,.1f} million "
        "for the text.",
        stage(
            token,
            slips(1),
            "This is no slip that the check knows. Multiply: keys and values; "
            "layers; heads of keys and values; numbers in a key; bytes of a "
            "number.",
            around(1e-6),
        ),
        stage(
            token * length / _MILLION,
            whole,
            "The bytes of a token are right; this is no slip that the check "
            "knows. Multiply by the number of tokens and divide by a million.",
            around(1e-3),
            1,
        ),
    )


def root_mean_square_solution(x, gain, epsilon):
    """g ∘ x / √(mean(x²) + ε)."""
    square = (x * x).mean(dim=-1, keepdim=True)
    return gain * x / torch.sqrt(square + epsilon)


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
        square, mean = x.square().mean(-1, True), x.mean(-1, True)
        variance = x.var(-1, keepdim=True, correction=0)
        d = sizes[-1]
        mistakes = {
            "You subtract the mean, as LayerNorm does. RMSNorm leaves it.": (
                g * (x - mean) / (variance + epsilon).sqrt()
            ),
            "You subtract the mean, and divide by the size of x with it.": (
                g * (x - mean) / (square + epsilon).sqrt()
            ),
            "You divide by the standard deviation: its mean is subtracted. "
            "Take the mean of the squares themselves.": (
                g * x / (variance + epsilon).sqrt()
            ),
            "A sum stands where the mean of the squares should: divide by d.": (
                g * x / (d * square + epsilon).sqrt()
            ),
            "ε stands outside the root. It is added to the mean of the "
            "squares, before the root.": g * x / (square.sqrt() + epsilon),
            "ε is missing. A vector of zeros would become NaN.": (
                g * x / square.sqrt()
            ),
            "The root is missing.": g * x / (square + epsilon),
            "The gain is missing.": x / (square + epsilon).sqrt(),
            "The gain is added. It multiplies.": (
                x / (square + epsilon).sqrt() + g
            ),
            "You divide by the gain.": x / (square + epsilon).sqrt() / g,
            "The mean runs over the whole batch. Each token has its own.": (
                g * x / (x.square().mean() + epsilon).sqrt()
            ),
            "The mean runs along the text. It runs over the d numbers of each "
            "token: dim=-1.": g
            * x
            / (x.square().mean(-2, True) + epsilon).sqrt(),
            "You take the root of each square, the sizes of the numbers, and "
            "their mean. First the mean, then the root.": (
                g * x / (x.abs().mean(-1, True) + epsilon)
            ),
            "You multiply by the root. Divide by it.": (
                g * x * (square + epsilon).sqrt()
            ),
        }
        expect(found, g * x / (square + epsilon).sqrt(), mistakes)
    return "three batches, with an ε large enough to be seen."


def rotary_scores_solution(query, key, start):
    """(R_m q_m) · (R_n k_n), with m from `start` on and n from 0."""

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
    """Σ_i Re(q_i conj(k_i) e^{i angle(m, n, i)}), for all m and n."""
    half = q.shape[1] // 2
    pairs = pairs or [(2 * i, 2 * i + 1) for i in range(half)]
    one, other = _complex(q, pairs), _complex(k, pairs)
    rows = [
        [
            sum(
                (
                    complex(one[m, i])
                    * complex(other[n, i]).conjugate()
                    * cmath.exp(1j * angle(m, n, i))
                ).real
                for i in range(half)
            )
            for n in range(len(k))
        ]
        for m in range(len(q))
    ]
    return float64(rows)


def _turned_wrong(q, k, start):
    """The scores, and what each likely mistake gives, by its hint."""
    d = q.shape[1]

    def speed(i):
        return 10000 ** (-2 * i / d)

    def by(angle, pairs=None):
        return _rotated(q, k, angle, pairs)

    far = [(i, i + d // 2) for i in range(d // 2)]
    truth = by(lambda m, n, i: (m + start - n) * speed(i))
    return truth, {
        "Nothing is turned.": q @ k.T,
        "Only the queries are turned. Turn the keys by their places as "
        "well, or the score depends on where the query stands and not on "
        "the offset.": by(lambda m, n, i: (m + start) * speed(i)),
        "Only the keys are turned. Turn the queries by their places as "
        "well.": by(lambda m, n, i: -n * speed(i)),
        "Every pair turns by the same angle. Pair i has a speed of its "
        "own, 10000^(−2i/d).": by(lambda m, n, i: m + start - n),
        "The angles add up: one of the two is turned the wrong way, and "
        "the score depends on m + n. Turn both the same way.": by(
            lambda m, n, i: (m + start + n) * speed(i)
        ),
        "Both are turned the wrong way: (a, b) becomes (a cos − b sin, "
        "a sin + b cos).": by(lambda m, n, i: (n - m - start) * speed(i)),
        "The queries are counted from 0. The first stands at `start`: "
        "with a cache the keys before it are there already.": by(
            lambda m, n, i: (m - n) * speed(i)
        ),
        "The keys are counted from `start`. They stand at 0, 1, 2, …; "
        "only the queries begin at `start`.": by(
            lambda m, n, i: (m - n - start) * speed(i)
        ),
        "You pair number i with number i + d/2, as many published models "
        "do. Here the pair is (2i, 2i + 1).": by(
            lambda m, n, i: (m + start - n) * speed(i), pairs=far
        ),
        "Places are counted from 0, not from 1, for queries: that moves "
        "them against the keys.": by(
            lambda m, n, i: (m + 1 + start - n) * speed(i)
        ),
        "The speed is 10000^(−2i/d). Yours has i in the place of 2i.": by(
            lambda m, n, i: (m + start - n) * 10000 ** (-i / d)
        ),
        "The speed is 10000^(−2i/d). Yours has 4i: is 2i doubled?": by(
            lambda m, n, i: (m + start - n) * 10000 ** (-4 * i / d)
        ),
        "The scores are divided by √d. Here they are left as they are.": (
            truth / math.sqrt(d)
        ),
    }


@exercise(rotary_scores_solution)
def rotary_scores(mine):
    """Scores of queries and keys that are turned by their places."""
    cases = ((3, 5, 8, 2), (1, 6, 4, 5), (4, 4, 6, 0), (2, 9, 6, 7))
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
        "equal to complex numbers, on four sets of queries and keys, with "
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
    old, kept = total * shrink, context * shrink
    if slip.get("old_sum"):
        old = total
    if slip.get("old_values"):
        kept = context
    for s, v in zip(scores.tolist(), values, strict=True):
        w = math.exp(s - (0.0 if slip.get("bare") else new))
        old, kept = old + w, kept + w * v
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
}


@exercise(absorb_solution)
def absorb(mine):
    """A softmax that is never there as a whole: tile by tile."""
    cases = ((3, 2, 2, 4), (1, 1, 1), (5, 5, 5), (2, 6))
    for seed, tiles in enumerate(cases):
        scores, values = random_inputs(seed, (sum(tiles),), (sum(tiles), 3))
        scores = 2 * scores
        if seed == 2:
            scores = scores.sort().values  # the maximum moves with each tile
        if seed == 3:
            scores = scores + 300  # exp of it overflows
        state = torch.tensor(-math.inf), torch.tensor(0.0), torch.zeros(3)
        slipped = {
            hint: (-math.inf, 0.0, torch.zeros(3).double()) for hint in _SLIPS
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
            most, total, context = (
                as_tensor(one, shape, name, {other: order})
                for one, shape, name, other in zip(
                    found,
                    ((), (), (3,)),
                    ("the maximum, []", "the sum, []", "the context, [d_v]"),
                    ((3,), (3,), ()),
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
            otherwise = (
                f"This is no slip that the check knows. After {seen} keys the "
                f"maximum should be {float(truth):.4g}, and is "
                f"{float(most):.4g}; the sum {float(whole[1]):.4g}, and is "
                f"{float(total):.4g}."
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
        layers, d, heads, kv, _, _, tied = sizes
        config = dict(zip(_NAMES, sizes, strict=True))
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
            "W_O is missing.": truth - count["W_O"],
            "You count d_k for every head of keys and values as d_model / "
            "kv_heads. It is d_model / heads.": truth
            - count["W_K"]
            - count["W_V"]
            + layers * 2 * d * d,
            "W_K and W_V are as small as one head. There are kv_heads of "
            "them.": truth - (count["W_K"] + count["W_V"]) * (kv - 1) // kv,
            "Only one layer is counted.": table + (truth - table) // layers,
        }
        if kv < heads:
            full = layers * 4 * d * d
            now = sum(count[k] for k in ("W_Q", "W_K", "W_V", "W_O"))
            mistakes = {
                "W_K and W_V are d × d in yours, and 4 d² in all. With fewer "
                "heads of keys and values they are narrower: kv_heads · d_k.": (
                    truth - now + full
                )
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
