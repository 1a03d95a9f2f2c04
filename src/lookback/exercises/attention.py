"""The exercises of `attention`: each check beside its reference solution.

What is right comes from plain loops over positions with `math.exp`, never from
the solution.
"""

import math

import torch
from torch.nn import functional as F

from lookback.exercises.by_hand import (
    around,
    as_numbers,
    by_hand,
    stage,
    within,
)
from lookback.exercises.checking import (
    NO_GRADIENT,
    Called,
    Hint,
    as_tensor,
    exercise,
    expect,
    float64,
    learnable,
    plain,
    random_inputs,
)

_Q = ((2, 0, 2, 0), (0, 4, 0, 0))
_K = ((1, 0, 1, 0), (0, 1, 1, 0))
_V = ((4, 0), (0, 8))


def attention_by_hand_solution():
    """softmax(Q Kᵀ / √4) V for two positions."""
    first = math.exp(2) / (math.exp(2) + math.exp(1))  # scores 2, 1: 0.731
    second = math.exp(0) / (math.exp(0) + math.exp(2))  # scores 0, 2: 0.119
    return [4 * first, 8 * (1 - first), 4 * second, 8 * (1 - second)]


_WANTED = "four numbers (the first output, then the second)"


def _row_by_row(answer):
    """Two rows of two numbers, or four numbers in a row."""
    rows = plain(answer)
    if isinstance(rows, (list, tuple)) and len(rows) == 2:
        rows = [plain(row) for row in rows]
        if all(isinstance(row, (list, tuple)) for row in rows):
            answer = [number for row in rows for number in row]
    return as_numbers(answer, 4, _WANTED)


def _other_attention(draw):
    """Two queries, two keys of four numbers, and two values."""

    def row(numbers, count):
        return tuple(draw.choices(numbers, k=count))

    return {
        "Q": (row((0, 2, 4), 4), row((0, 2, 4), 4)),
        "K": (row((0, 1), 4), row((0, 1), 4)),
        "V": (row(range(9), 2), row(range(9), 2)),
    }


@by_hand(
    attention_by_hand_solution,
    _WANTED,
    ["row 1, left", "row 1, right"],
    ["row 2, left", "row 2, right"],
    read=_row_by_row,
    vary=("Q = {Q}, K = {K} and V = {V}", _other_attention),
)
def attention_by_hand(Q=_Q, K=_K, V=_V):
    """softmax(Q Kᵀ / √d_k) V of two positions; the answer is four numbers."""
    Q, K, V = map(float64, (Q, K, V))
    e = Q @ K.T
    soft = (e / 2).softmax(1)
    truth = (soft @ V).flatten()
    best = torch.eye(2).to(e)[e.argmax(1)]
    first, second = ((e / 2)[i].tolist() for i in (0, 1))
    slips = {
        "The scores are not divided by √d_k. A key has four numbers: divide "
        "by √4 = 2.": e.softmax(1),
        "You divided by d_k = 4; the formula divides by its root, 2.": (
            (e / 4).softmax(1)
        ),
        "d_k is the length of a key, 4, not the number of positions: divide "
        "by √4, not by √2.": (e / 2**0.5).softmax(1),
        "Your softmax runs down the columns. It belongs over the keys of "
        "each query: each ROW of the weights sums to 1.": ((e / 2).softmax(0)),
        "exp is missing: you divide each score by its row's sum.": (
            e / e.sum(1, keepdim=True)
        ),
        "A hard choice: you gave each query its best value whole. Soft "
        "attention takes some of the other, too.": best,
        "That is with a causal mask; here every position sees both.": (
            torch.stack([torch.eye(2).to(e)[0], soft[1]])
        ),
        "You multiplied the values by the scores; softmax comes between.": (
            e / 2
        ),
    }
    mistakes = {
        hint: (weights @ V).flatten() for hint, weights in slips.items()
    } | {
        "Those are the weights. Multiply them into the values.": soft.flatten(),
        "The second output stands first: give row 1, then row 2.": (
            (soft @ V).flip(0).flatten()
        ),
        "You gave the columns; give the first output, then the second: row "
        "by row.": (soft @ V).T.flatten(),
        "Nearly: you rounded the weights to two decimals before you used "
        "them. Keep three, and round at the end.": (
            ((soft * 100).round() / 100 @ V).flatten()
        ),
    }
    otherwise = (
        "The check does not recognize this mistake. The scores are "
        f"{first[0]:g}, {first[1]:g} for the first query and {second[0]:g}, "
        f"{second[1]:g} for the second, after dividing by 2."
    )
    weights = "{:.3f}, {:.3f} and {:.3f}, {:.3f}".format(*soft.flatten())
    return (
        f"both outputs, from the weights {weights}.",
        stage(truth, mistakes, otherwise, around(0.004), asked=within(0.0075)),
    )


attention_by_hand.style(((2.92, 2.15), (0.48, 7.05)))
attention_by_hand.style(torch.tensor([[2.924, 2.152], [0.477, 7.046]]))


def attend_from_scratch_solution(Q, K, V, mask):
    """softmax(Q Kᵀ / √d_k) V over the places where mask is True."""
    scores = Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1) @ V


def _mean(shares, values):
    """The values' mean, each weighted by its share."""
    pairs = zip(shares, values, strict=True)
    return sum(share * value for share, value in pairs) / sum(shares)


def _attend_loop(Q, K, V, mask):
    """One sentence, one query and one key after another."""
    outputs = []
    for q_b, k_b, v_b, may_b in zip(Q, K, V, mask, strict=True):
        for q, may in zip(q_b, may_b.tolist(), strict=True):
            shares = [
                math.exp(float(q @ k) / math.sqrt(len(k))) if ok else 0.0
                for k, ok in zip(k_b, may, strict=True)
            ]
            outputs.append(_mean(shares, v_b))
    return torch.stack(outputs).view(*Q.shape[:2], V.shape[-1])


_NAN = (
    "Your result holds NaN: 0 times infinity, or 0/0. Fill the scores with "
    "masked_fill(~mask, -torch.inf) before softmax, and take that over the "
    "keys, dim=-1."
)
_D_K = (
    "d_k is K.shape[-1], the length of a key; you divide by the root of "
    "another number."
)
_LOW = (
    "Right for small scores. Beside scores of −45,000 a forbidden key got "
    "weight: the number that you use for −infinity is not low enough. Use "
    "-torch.inf, before softmax."
)
_OVERFLOW = (
    "Right for small scores. For scores of −45,000 every exp is 0, and 0/0 is "
    "no weight: torch.softmax subtracts the maximum first."
)
_FINISHED = (
    "The numbers are right. Now without torch's finished attention: two "
    "products and a softmax."
)
# In the first batch every key is seen by some query, so that a softmax over
# the queries is a number and can be named; in the second, padding and a word
# that only the first query sees.
_SEEN = [[[1, 0, 1], [1, 1, 0]], [[0, 1, 1], [1, 1, 0]]]
_PADDED = [
    [[1, 0, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [1, 0, 1, 0]],
    [[0, 1, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0]],
]


@exercise(attend_from_scratch_solution)
def attend_from_scratch(mine):
    """softmax(Q Kᵀ / √d_k) V with a mask, batched."""
    for seed, (rows, d_k, d_v) in enumerate(((_SEEN, 4, 5), (_PADDED, 9, 4))):
        mask = torch.tensor(rows).bool()
        _, target, source = mask.shape
        Q, K, V = random_inputs(
            seed, (2, target, d_k), (2, source, d_k), (2, source, d_v)
        )
        truth = _attend_loop(*map(float64, (Q, K, V)), mask)
        given, axes = (Q, K, V, mask), "[batch, target, d_v]"
        case = given, truth
        with Called() as called:
            attend_from_scratch.compare(
                mine,
                [case],
                axes,
                otherwise=lambda found, *_: (
                    None if found.isfinite().all() else _NAN
                ),
            )
        if any("attention" in name for name in called.names):
            raise Hint(_FINISHED)
    Q, K = torch.zeros(1, 1, 4), torch.zeros(1, 3, 4)
    Q[..., 0], K[..., 0], K[:, 2, 0] = 300, -300, -299.8
    mask = torch.tensor([[[True, True, False]]])
    (V,) = random_inputs(2, (1, 3, 2))
    found = as_tensor(mine(Q, K, V, mask), (1, 1, 2), axes)
    if not found.isfinite().all():
        raise Hint(_OVERFLOW)
    expect(found, V[:, :2].mean(1, keepdim=True), _LOW)
    learnable(mine, *given)
    return "equal to a loop over queries and keys, on two batches with masks."


_SOFT = "torch.softmax(scores, dim=-1)"
_MASKED = "scores.masked_fill(~mask, -torch.inf)"
for _hint, *_typed in (
    (
        "The mask is not used: forbidden keys get weight.",
        *(_MASKED, "scores"),
    ),
    ("The factor 1/√d_k is missing.", " / Q.shape[-1] ** 0.5", ""),
    (
        "You divide by d_k; the formula divides by its square root.",
        *(" ** 0.5", ""),
    ),
    *(
        (_D_K, "Q.shape[-1]", other)
        for other in ("Q.shape[1]", "K.shape[1]", "len(K)", "4")
    ),
    ("You multiply by √d_k; the formula divides by it.", "/ Q", "* Q"),
    (
        "True and False are swapped: True is where a query MAY attend.",
        *("~mask", "mask"),
    ),
    (
        "True and False are swapped: True is where a query MAY attend.",
        *("~mask, -torch.inf", "mask, -1e9"),
    ),
    (
        "You masked after the softmax: the forbidden keys have taken weight "
        "already, and the rows no longer sum to 1.",
        *(_MASKED, "scores", _SOFT, f"{_SOFT} * mask"),
    ),
    (
        "You set masked scores to 0, and exp(0) = 1: such a key still gets "
        "weight. The score that gets none is −infinity.",
        *("-torch.inf", "0.0"),
    ),
    (
        "Your softmax runs over the queries: dim=-1 is the axis of the keys.",
        *("dim=-1", "dim=-2"),
    ),
    ("Your weights are not divided by their sum.", _SOFT, "scores.exp()"),
    (
        "You divide by √d_k after the softmax; divide the scores, before it.",
        *(" / Q.shape[-1] ** 0.5", "", _SOFT, f"{_SOFT} / Q.shape[-1] ** 0.5"),
    ),
    (
        "d_k is the length of a key, not of a value: you divide by √d_v.",
        *("Q.shape[-1]", "V.shape[-1]"),
    ),
    (_LOW, "-torch.inf", "-20.0"),
    (_LOW, "-torch.inf", "-10.0"),
    (_LOW, "-torch.inf", "-10000.0"),
    (_LOW, _MASKED, "scores + ~mask * -20.0"),
    (
        _OVERFLOW,
        *(_SOFT, "(scores.exp() / scores.exp().sum(-1, keepdim=True))"),
    ),
    (NO_GRADIENT, _SOFT, f"{_SOFT}.detach()"),
    (NO_GRADIENT, f"{_SOFT} @ V", f"({_SOFT} @ V).detach()"),
    *(
        (
            "softmax is missing: those are values mixed by scores.",
            *("-torch.inf", low, _SOFT, "scores"),
        )
        for low in ("-torch.inf", "0.0")
    ),
    (
        "Every allowed key weighs the same: the queries are not used.",
        lambda Q, K, V, mask: mask / mask.sum(-1, keepdim=True) @ V,
    ),
    ("Those are weights: multiply them into V.", f"{_SOFT} @ V", _SOFT),
    ("Yours is transposed.", f"{_SOFT} @ V", f"({_SOFT} @ V).mT"),
    (_NAN, _MASKED, "scores + ~mask * -torch.inf"),
    (_NAN, "dim=-1", "dim=0"),
    (
        _FINISHED,
        lambda Q, K, V, mask: F.scaled_dot_product_attention(Q, K, V, mask),
    ),
):
    attend_from_scratch.slip(_hint, *_typed)


@attend_from_scratch.style
def _by_einsum(Q, K, V, mask):
    e = torch.einsum("btd,bsd->bts", Q, K) / Q.shape[-1] ** 0.5
    shares = (e - e.amax(-1, keepdim=True)).exp() * mask
    shares = shares / shares.sum(-1, keepdim=True)
    return torch.einsum("bts,bsv->btv", shares, V)


def causal_mask_solution(tokens):
    """True where the column is at or before the row."""
    place = torch.arange(tokens.shape[1])
    return place[None, :] <= place[:, None]


_NO_BOOLEANS = "A mask here is a tensor of True and False"


def _mask(answer, *given):
    """What an answer gives, once it is no tensor of numbers."""
    found = answer(*given)
    if isinstance(found, torch.Tensor) and found.dtype != torch.bool:
        raise Hint(
            f"{_NO_BOOLEANS}; yours is {found.dtype}. Compare something: a "
            "comparison gives booleans."
        )
    return found


@exercise(causal_mask_solution)
def causal_mask(mine):
    """Which word may see which, so that nobody sees the future."""
    cases = []
    for batch, n in ((2, 4), (3, 1), (1, 6)):
        tokens = torch.arange(batch * n).flip(0).view(batch, n) * 5 % 13 + 4
        truth = [[float(j <= i) for j in range(n)] for i in range(n)]
        cases.append(((tokens,), float64(truth)))
    causal_mask.compare(mine, cases, "[target, target]", ask=_mask)
    return "shape, type, and every pair of positions for three lengths."


_SEES = "place[None, :] <= place[:, None]"
for _hint, *_typed in (
    (
        "Rows and columns are exchanged: word i (row) may see words j ≤ i, "
        "and yours sees j ≥ i.",
        *("<=", ">="),
    ),
    (
        "True is where a word MAY attend; yours is True on the future.",
        *("<=", ">"),
    ),
    (
        "A word may see itself: the diagonal is True. Without it the first "
        "word has nothing at all to attend to.",
        *("<=", "<"),
    ),
    (
        "Everything is allowed in yours: the future, too.",
        *(_SEES, "torch.ones(len(place), len(place)).bool()"),
    ),
    ("Yours lets a word see itself alone.", "<=", "=="),
    ("Yours lets a word see one word of the future.", "<=", "<= 1 +"),
    (
        "One row for each word: who may be seen by whom is a square, "
        "[target, target].",
        lambda tokens: tokens > 0,
    ),
    (
        "That is as wide as the batch; the words are the second axis: "
        "tokens.shape[1].",
        *("tokens.shape[1]", "len(tokens)"),
    ),
    (
        "The causal mask is the same for every sentence: leave the batch axis "
        "out.",
        *(_SEES, f"({_SEES}).expand(len(tokens), -1, -1)"),
    ),
    (
        "You compare the numbers of the tokens. Their positions count: "
        "torch.arange(tokens.shape[1]).",
        *("torch.arange(tokens.shape[1])", "tokens[0]"),
    ),
    (_NO_BOOLEANS, _SEES, f"({_SEES}).float()"),
):
    causal_mask.slip(_hint, *_typed)
causal_mask.style(
    lambda tokens: torch.ones(tokens[0].shape * 2, dtype=torch.bool).tril()
)


@causal_mask.style
def _by_loops(tokens):
    n = tokens.shape[1]
    return torch.tensor([[j <= i for j in range(n)] for i in range(n)])


def padding_mask_solution(tokens, pad):
    """True at words; an axis of 1 stands for every query."""
    return (tokens != pad).unsqueeze(1)


@exercise(padding_mask_solution)
def padding_mask(mine):
    """[batch, 1, source], True where there is a word."""
    cases = []
    for pad in (0, 9):
        tokens = torch.tensor(
            [[5, 3, 7, pad], [4, pad, pad, pad], [6, 2, 8, 1]]
        )
        truth = [[[float(word != pad) for word in row]] for row in tokens]
        cases.append(((tokens, pad), float64(truth)))
    padding_mask.compare(mine, cases, "[batch, 1, source]", ask=_mask)
    return "shape, type, and every place for two paddings."


for _hint, *_typed in (
    (
        "True and False are swapped: yours attends to the padding alone.",
        *("!=", "=="),
    ),
    (
        "Use the argument `pad`: yours takes 0 for the padding, always.",
        *("!= pad", "!= 0"),
    ),
    (
        "Word numbers may be smaller than pad: compare with !=, not with "
        "<  or >.",
        *("!=", ">"),
    ),
    (
        "Everything is allowed in yours, padding too.",
        *("tokens != pad", "tokens == tokens"),
    ),
    (
        "All queries share it: give it an axis of 1 for them, unsqueeze(1), "
        "so that it fits scores [batch, target, source].",
        *(".unsqueeze(1)", ""),
    ),
    (
        "The axis of 1 stands for the queries, so it is the middle one: "
        "unsqueeze(1).",
        *("unsqueeze(1)", "unsqueeze(2)"),
    ),
    (
        "That has one axis for heads too many: three axes.",
        *(".unsqueeze(1)", "[:, None, None]"),
    ),
    (
        "Broadcasting does that: keep an axis of 1.",
        *("unsqueeze(1)", "unsqueeze(1).repeat(1, tokens.shape[1], 1)"),
    ),
    (_NO_BOOLEANS, "unsqueeze(1)", "unsqueeze(1).float()"),
):
    padding_mask.slip(_hint, *_typed)
padding_mask.style(lambda tokens, pad: ~tokens.eq(pad)[:, None, :])


def soft_dictionary_solution(query, keys, values, temperature):
    """softmax(K q / T) V; the best alone, or the best equally, at T = 0."""
    scores = keys @ query
    if temperature == 0:
        best = (scores == scores.max()).to(values.dtype)
        return best / best.sum() @ values
    return torch.softmax(scores / temperature, dim=0) @ values


def _dictionary_loop(query, keys, values, temperature):
    """Entry by entry, the highest score subtracted first."""
    scores = [float(query @ key) for key in keys]
    top = max(scores)
    if temperature == 0:
        shares = [float(score == top) for score in scores]
    else:
        shares = [math.exp((score - top) / temperature) for score in scores]
    return _mean(shares, values)


_AT_ZERO = (
    "At temperature 0 the answer is the value of the best entry; if several "
    "are best, their mean."
)
_DIVIDED = f"Temperature 0: you divide by it. {_AT_ZERO}"
_OVERFLOWS = "NaN: exp overflows at small T. torch.softmax does not."


def _unknown(found, query, keys, values, temperature):
    """What is said of a mistake that is none of the slips."""
    if found.isfinite().all():
        return None if temperature else _AT_ZERO
    return _OVERFLOWS if temperature else _DIVIDED


@exercise(soft_dictionary_solution)
def soft_dictionary(mine):
    """softmax(K q / T) V, and the best entry at T = 0."""
    query, keys, values = random_inputs(3, (4,), (5, 4), (5, 2))
    query, keys = (query * 4).round() / 2, (keys * 4).round() / 4  # exact ties
    best = int((keys @ query).argmax())
    tied = torch.cat([keys, keys[:3]]), torch.cat([values, -2 * values[:3]])
    close = torch.cat([keys, 0.9995 * keys[best:][:1]]), tied[1][:6]
    rounds = [(keys, values, t) for t in (1.0, 0.25, 4.0, 0.01, 0.0)]
    rounds += [(*close, 0.0), (*tied, 0.0), (2**-20 * keys, values, 0.0)]
    rounds += [(*close, 0.01), (2**-20 * keys, values, 2**-21)]
    for k, v, t in rounds:
        truth = _dictionary_loop(*map(float64, (query, k, v)), t)
        soft_dictionary.compare(
            mine,
            [((query, k, v, t), truth)],
            "[d_v]",
            f"at T = {t}:",
            otherwise=_unknown,
        )
    return "equal to a loop at five temperatures, and at 0, ties included."


for _floor in (0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6):
    soft_dictionary.slip(
        f"You put {_floor} in place of a smaller temperature. Close entries "
        "are then mixed that should not be; only 0 is an exception.",
        *("if temperature == 0", "if False"),
        *("/ temperature", f"/ max(temperature, {_floor})"),
    )
    soft_dictionary.slip(
        "You take the best entry alone at every low temperature. Close entries "
        "are still mixed there; only 0 is an exception.",
        *("temperature == 0", f"temperature < {_floor}"),
    )
_SOFT = "torch.softmax(scores / temperature, dim=0)"
_MEAN = "best / best.sum() @ values"
for _hint, *_typed in (
    (
        "At temperature 0 you take one of the best; if several are best, it "
        "is their mean.",
        *(_MEAN, "values[scores.argmax()]"),
    ),
    (
        "At temperature 0 you add up the best; it is their mean.",
        *(_MEAN, "best @ values"),
    ),
    (
        "At temperature 0 all entries weigh the same in yours; the best alone "
        "counts.",
        *(_MEAN, "values.mean(0)"),
    ),
    (
        "At temperature 0 yours takes the scores as they are, as if it were 1.",
        *(_MEAN, "torch.softmax(scores, dim=0) @ values"),
    ),
    (
        "The temperature divides the scores; yours multiplies them.",
        *("scores / temperature", "scores * temperature"),
    ),
    (
        "Divide by the temperature before softmax, not after.",
        *(_SOFT, "torch.softmax(scores, dim=0) / temperature"),
    ),
    ("The temperature is not used.", "scores / temperature", "scores"),
    (
        "That is the best entry alone, at every temperature.",
        *(f"{_SOFT} @ values", "values[scores.argmax()]"),
    ),
    (
        "You divided by √d_k as well; this dictionary has only T.",
        *("/ temperature", "/ len(query) ** 0.5 / temperature"),
    ),
    (
        "All entries weigh the same: the plain mean.",
        *(f"{_SOFT} @ values", "values.mean(0)"),
    ),
    (
        "One query, one answer: drop the axis of 1.",
        *(f"{_SOFT} @ values", f"({_SOFT} @ values)[None]"),
    ),
    (
        "Those are weights: mix the values with them.",
        *(f"{_SOFT} @ values", _SOFT),
    ),
    (
        "Add the weighted values up: sum over entries.",
        *(f"{_SOFT} @ values", f"{_SOFT}[:, None] * values"),
    ),
    (_DIVIDED, "if temperature == 0", "if False"),
    (
        _OVERFLOWS,
        _SOFT,
        "torch.exp(scores / temperature) / (scores / temperature).exp().sum()",
    ),
):
    soft_dictionary.slip(_hint, *_typed)
soft_dictionary.style(_dictionary_loop)
soft_dictionary.style(  # no entry comes so close to the best
    lambda query, keys, values, temperature: (
        torch.softmax((keys * query).sum(1) / max(temperature, 1e-9), 0)
        @ values
    )
)


@soft_dictionary.style
def _mean_of_the_best(query, keys, values, temperature):
    e = torch.einsum("d,nd->n", query, keys)
    if temperature == 0:
        return values[e == e.max()].mean(0)
    shares = ((e - e.max()) / temperature).exp()
    return torch.einsum("n,nv->v", shares / shares.sum(), values)
