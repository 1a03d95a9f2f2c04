"""The exercises of `transformer`: each check beside its reference solution.

What is right comes from plain loops with `math`, and for the Transformer from
a blank file from `torch.nn`, never from the solution.
"""

import itertools
import math

import numpy
import torch
from torch import nn
from torch.nn import functional as F
from tqdm.auto import tqdm

from lookback.exercises.by_hand import by_hand, stage, within
from lookback.exercises.checking import (
    NO_GRADIENT,
    OTHER_GRADIENT,
    TWICE,
    Answer,
    Hint,
    as_module,
    as_tensor,
    edited,
    exercise,
    expect,
    fill,
    float64,
    learnable,
    learnable_module,
    random_inputs,
)
from lookback.exercises.rnnsearch import (
    _GIVES_NAN,
    looks_backwards_solution,
    strings,
    written_backwards,
)
from lookback.vocabulary import PAD, START

_BELIEFS = ((0.7, 0.2, 0.1), (0.9998, 0.0001, 0.0001))


def smoothing_by_hand_solution():
    """−Σ_j q_j ln p_j with q = (0.9333, 0.0333, 0.0333), for two p."""
    q = [0.9 + 0.1 / 3, 0.1 / 3, 0.1 / 3]
    return [
        -sum(share * math.log(p) for share, p in zip(q, belief, strict=True))
        for belief in _BELIEFS
    ]  # 0.463, 0.614


def _other_beliefs(draw):
    """One belief with doubts, and one that has hardly any."""
    true, other = draw.choice((6, 7, 8)), draw.choice((0.5, 1, 1.5))
    rest = 10 - true - other
    low = draw.choice((0.001, 0.0005, 0.0002))
    return {
        "p": (
            (true / 10, round(other / 10, 2), round(rest / 10, 2)),
            (round(1 - 2 * low, 4), low, low),
        )
    }


@by_hand(
    smoothing_by_hand_solution,
    "the two losses",
    ["first loss", "second loss"],
    vary=("the models believe {p[0]} and {p[1]}", _other_beliefs),
)
def smoothing_by_hand(p=_BELIEFS):
    """The smoothed loss of two beliefs; the answer is both numbers."""
    beliefs = float64(p)
    logs = beliefs.log()

    def lost(*q):
        return -(logs @ float64(q))

    third = 0.1 / 3
    mistakes = {
        "Those are the losses without smoothing, −ln p of the true word "
        "alone.": lost(1, 0, 0),
        "The 0.1 is shared among all three words, the true one included: it "
        "keeps 0.9 + 0.1/3.": lost(0.9, 0.05, 0.05),
        "The true word keeps 0.9 and its own share of the 0.1 as well: "
        "0.9333, so that the three sum to 1.": lost(0.9, third, third),
        "You gave each other word 0.1; all three share one 0.1.": (
            lost(0.9, 0.1, 0.1)
        ),
        "Those are logarithms to base 2; a nat is ln.": (
            lost(0.9 + third, third, third) / math.log(2)
        ),
        "Those are logarithms to base 10; take ln.": (
            lost(0.9 + third, third, third) / math.log(10)
        ),
        "The sign: ln of a probability is negative, and the loss is minus "
        "the sum.": -lost(0.9 + third, third, third),
        "You took the mean of the three words' terms; the loss is their "
        "sum.": lost(0.9 + third, third, third) / 3,
        "You exchanged q and p: the logarithm is of what the model "
        "believes.": -(beliefs @ float64([0.9 + third, third, third]).log()),
        "You left the true word out, or its share: −Σ runs over all three "
        "words.": lost(0, third, third),
        "You smoothed what the model believes; the true answer is smoothed, "
        "and the belief stays.": -(0.9 * beliefs[:, 0] + third).log(),
    }
    truth = lost(0.9 + third, third, third)
    otherwise = (
        "The check does not recognize this mistake. First the smoothed truth "
        "q: 0.1 is taken from the true word and dealt out evenly among all "
        "three. Then −Σ q ln p, for each p."
    )
    return (
        "{:.2f} and {:.2f}: being surer than the smoothed truth has its "
        "price.".format(*truth),
        stage(truth, mistakes, otherwise, within(0.0055)),
    )


smoothing_by_hand.style((0.46, 0.61))


def smoothed_loss_solution(logits, target, epsilon):
    """−Σ_j q_j ln p_j, q = (1 − ε) one-hot + ε / vocab."""
    logp = torch.log_softmax(logits, dim=-1)
    true = logp.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return -(1 - epsilon) * true - epsilon * logp.mean(dim=-1)


def _smooth_loop(logits, target, epsilon):
    """The smoothed loss, word by word of the vocabulary."""
    losses = []
    for row, true in zip(logits.tolist(), target.tolist(), strict=True):
        top = max(row)
        total = top + math.log(sum(math.exp(x - top) for x in row))
        q = [
            epsilon / len(row) + (1 - epsilon) * (w == true)
            for w in range(len(row))
        ]
        losses.append(
            -sum(p * (x - total) for p, x in zip(q, row, strict=True))
        )
    return float64(losses)


@exercise(smoothed_loss_solution)
def smoothed_loss(mine):
    """Cross-entropy with label smoothing, one loss for each row."""
    cases = []
    for seed, (batch, vocab, epsilon) in enumerate(
        ((4, 5, 0.1), (1, 3, 0.3), (2, 4, 0.0))
    ):
        (logits,) = random_inputs(seed, (batch, vocab))
        given = logits, torch.arange(batch) % vocab, epsilon
        cases.append((given, _smooth_loop(*given)))
    smoothed_loss.compare(mine, cases, "[batch]", "for ε = {2}:")
    far = torch.tensor([[0.0, 2000.0, -1000.0]]), torch.tensor([1]), 0.3
    cases = [(far, _smooth_loop(*far))]
    smoothed_loss.compare(mine, cases, "[batch]", otherwise=_TOO_FAR)
    given = random_inputs(9, (4, 5))[0], torch.tensor([3, 0, 2, 2]), 0.1
    learnable(mine, *given)
    return (
        "four cases, ε = 0 and logits far apart among them, and the gradient."
    )


_TOO_FAR = (
    "Right for small logits. For 0, 2000 and −1000 softmax gives a 0, whose "
    "logarithm is infinite: take log_softmax, not the logarithm of softmax."
)
_LOGP = "torch.log_softmax(logits, dim=-1)"
_MEAN = "logp.mean(dim=-1)"
_LOSS = f"-(1 - epsilon) * true - epsilon * {_MEAN}"
for _hint, *_typed in (
    ("ε is not used: that is the plain cross-entropy.", _LOSS, "-true"),
    (
        "The other words get ε / (vocab − 1) here; the paper's formula gives "
        "every word ε / vocab, the true one too.",
        *(_MEAN, "(logp.sum(dim=-1) - true) / (logp.shape[-1] - 1)"),
    ),
    (
        "You give every word the whole ε: divide it by vocab.",
        *(_MEAN, "logp.sum(dim=-1)"),
    ),
    (
        "1 − ε and ε are exchanged.",
        *(_LOSS, f"-epsilon * true - (1 - epsilon) * {_MEAN}"),
    ),
    (
        "The true word keeps weight 1 here; it keeps 1 − ε, so that all "
        "weights sum to 1.",
        *("-(1 - epsilon) * true", "-true"),
    ),
    (
        "You set the true word's probability to 1 − ε, in place of its ε / "
        "vocab: it keeps both, so that all of q sums to 1 (add to the table, "
        "where you write over it).",
        *(_MEAN, "(logp.sum(dim=-1) - true) / logp.shape[-1]"),
    ),
    (
        "You average over the vocabulary; cross-entropy sums.",
        *(_LOSS, f"({_LOSS}) / logp.shape[-1]"),
    ),
    ("The sign is wrong: a loss is positive.", _LOSS, f"-({_LOSS})"),
    (
        "The logarithm is missing: you mix probabilities.",
        *(_LOGP, "torch.softmax(logits, dim=-1)"),
    ),
    (
        "Softmax runs over the batch; it belongs over the vocabulary, dim=-1.",
        *(_LOGP, "torch.log_softmax(logits, dim=0)"),
    ),
    (
        "You forgot softmax: these are logits, not logarithms of "
        "probabilities.",
        *(_LOGP, "logits"),
    ),
    (
        "You summed or averaged over the batch; give one loss a row.",
        *(_LOSS, f"({_LOSS}).mean()"),
    ),
    ("The sum over the vocabulary is missing.", _LOSS, "-logp"),
    ("One axis too many: squeeze(-1).", ".squeeze(-1)", ""),
    (
        "One axis too many: squeeze(-1).",
        *(".squeeze(-1)", "", _MEAN, "logp.mean(dim=-1, keepdim=True)"),
    ),
    (_TOO_FAR, _LOGP, "torch.softmax(logits, dim=-1).log()"),
    (_TOO_FAR, _LOGP, "(torch.softmax(logits, dim=-1) + 1e-9).log()"),
    (NO_GRADIENT, _LOSS, f"({_LOSS}).detach()"),
    (NO_GRADIENT, _LOGP, "torch.log_softmax(logits.detach(), dim=-1)"),
    (OTHER_GRADIENT, "epsilon * logp", "epsilon * logp.detach()"),
):
    smoothed_loss.slip(_hint, *_typed)


def _by_a_table(of_others, column, rows, entropy):
    """Loss by a table q: `of_others` spreads ε, padding's column or rows 0."""

    def mine(logits, target, epsilon):
        logp = logits.log_softmax(-1)
        q = torch.full_like(logits, epsilon / of_others(logits.shape[1]))
        q = q.scatter(1, target[:, None], 1 - epsilon)
        if column:
            q[:, PAD] = 0
        if rows:
            q[target == PAD] = 0
        lost = F.kl_div(logp, q, reduction="none") if entropy else -q * logp
        return lost.sum(1)

    return mine


for _flags in itertools.product((True, False), repeat=3):
    smoothed_loss.slip(
        "You spread ε over vocab − 2 words, as code with a padding word and "
        "the true one left out does; the truth keeps 1 − ε. Here nothing is "
        "left out: every word gets ε / vocab, and the true one 1 − ε besides.",
        _by_a_table(lambda vocab: vocab - 2, *_flags),
    )


@smoothed_loss.slip(
    "That is the KL divergence, from which q's own entropy is taken off. The "
    "loss is the cross-entropy, −Σ q ln p."
)
def _by_divergence(logits, target, epsilon):
    q = (1 - epsilon) * F.one_hot(target, logits.shape[1])
    q = q + epsilon / logits.shape[1]
    return F.kl_div(logits.log_softmax(-1), q, reduction="none").sum(1)


smoothed_loss.style(
    lambda logits, target, epsilon: F.cross_entropy(
        logits, target, reduction="none", label_smoothing=epsilon
    )
)


@smoothed_loss.style
def _by_table(logits, target, epsilon):
    q = torch.full_like(logits, epsilon / logits.shape[-1])
    share = torch.full_like(logits, 1 - epsilon)
    q = q.scatter_add(1, target[:, None], share)
    return -(q * logits.log_softmax(-1)).sum(-1)


@smoothed_loss.style
def _by_one_hot(logits, target, epsilon):
    logits = logits.double()
    top = logits.max(1, keepdim=True).values
    logp = logits - top - (logits - top).exp().sum(1, keepdim=True).log()
    q = (1 - epsilon) * F.one_hot(target, logits.shape[1]).double()
    return -torch.einsum("bv,bv->b", q + epsilon / logits.shape[1], logp)


def warmup_rate_solution(step, d_model, warmup):
    """d_model^−0.5 · min(step^−0.5, step · warmup^−1.5)."""
    return d_model**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)


@exercise(warmup_rate_solution)
def warmup_rate(mine):
    """The paper's learning rate at each of several steps."""
    step = torch.tensor([1.0, 10.0, 99.0, 100.0, 101.0, 400.0, 4000.0])
    cases = []
    for d_model, warmup in ((512, 100), (64, 400)):
        lower = [min(n * warmup**-1.5, n**-0.5) for n in step.tolist()]
        truth = float64(lower) / math.sqrt(d_model)
        cases.append(((step, d_model, warmup), truth))
    about = "d_model {1}, warmup {2}:"
    warmup_rate.compare(mine, cases, "[steps]", about, tolerance=1e-6)
    return "it rises to its peak at step = warmup and falls as 1/√step."


_LOWER = "torch.minimum(step**-0.5, step * warmup**-1.5)"
for _hint, *_typed in (
    (
        "That is the larger of the two curves; the smaller one counts.",
        *("minimum", "maximum"),
    ),
    (
        "It only falls: step · warmup^−1.5 is missing, or never the smaller. "
        "(Has the exponent −1.5 its minus?)",
        *("warmup**-1.5", "warmup**1.5"),
    ),
    (
        "It only rises: after the warm-up it falls as step^−0.5.",
        *(_LOWER, "step * warmup**-1.5"),
    ),
    ("d_model^−0.5 is missing.", "d_model**-0.5 * ", ""),
    (
        "You multiply by √d_model; the larger the model, the smaller the "
        "step: divide.",
        *("d_model**-0.5", "d_model**0.5"),
    ),
    (
        "d_model^−0.5 stands before min(…), and so belongs to both curves; "
        "yours has it on the fall alone.",
        f"d_model**-0.5 * {_LOWER}",
        "torch.minimum(d_model**-0.5 * step**-0.5, step * warmup**-1.5)",
    ),
    (
        "d_model^−0.5 stands before min(…), and so belongs to both curves; "
        "yours has it on the rise alone.",
        f"d_model**-0.5 * {_LOWER}",
        "torch.minimum(step**-0.5, d_model**-0.5 * step * warmup**-1.5)",
    ),
    (
        "You divide by d_model; divide by its square root.",
        *("d_model**-0.5", "1 / d_model"),
    ),
    (
        "The rise is linear in the step: step, not step^0.5.",
        *("step *", "step**0.5 *"),
    ),
    (
        "It rises to 1 at step = warmup; the two curves must meet there, so "
        "step · warmup^−1.5.",
        *("warmup**-1.5", "warmup**-1"),
    ),
    (
        "warmup^−0.5 in place of warmup^−1.5: the two curves must meet at "
        "step = warmup.",
        *("warmup**-1.5", "warmup**-0.5"),
    ),
):
    warmup_rate.slip(_hint, *_typed)


@warmup_rate.style
def _by_loop(step, d_model, warmup):
    rates = [n * warmup**-1.5 if n < warmup else n**-0.5 for n in step.tolist()]
    return torch.tensor(rates) / d_model**0.5


@warmup_rate.style
def _by_numpy(step, d_model, warmup):
    step = step.numpy()
    lower = numpy.minimum(step * warmup**-1.5, step**-0.5)
    return torch.from_numpy(lower / numpy.sqrt(d_model))


def merge_pair_solution(pieces, pair):
    """Every place where `pair` stands side by side becomes one piece."""
    merged, i = [], 0
    while i < len(pieces):
        if tuple(pieces[i : i + 2]) == tuple(pair):
            merged.append(pieces[i] + pieces[i + 1])
            i += 2
        else:
            merged.append(pieces[i])
            i += 1
    return merged


_SAME = "tuple(pieces[i : i + 2]) == tuple(pair)"
# The hint that a case stands for, its pieces, its pair and what is right; then
# what is typed in the solution by those who most need this case.
_MERGES = (
    (
        "The two pieces become one, and all others stay.",
        *(["l", "o", "w", "e", "r"], ("l", "o"), ["lo", "w", "e", "r"]),
    ),
    (
        "The pair may stand in a word more than once: merge all of them.",
        *(list("banana"), ("a", "n"), ["b", "an", "an", "a"]),
        *("i += 2", "return [*merged, *pieces[i + 2 :]]"),
    ),
    (
        "The last two pieces merge too.",
        *(["le", "s"], ("le", "s"), ["les"]),
        *("len(pieces):", "len(pieces) - 2:"),
        *("return merged", "return merged + pieces[i:]"),
    ),
    (
        "In a a a the first two merge, and the third is left: a piece can be "
        "used only once.",
        *(["a", "a", "a"], ("a", "a"), ["aa", "a"]),
        *("i += 2", "i += 1", "        else:"),
        "        elif tuple(pieces[i - 1 : i + 1]) == tuple(pair):\n"
        "            i += 1\n"
        "        else:",
    ),
    (
        "The order matters: (a, n) is not (n, a).",
        *(["n", "a", "n"], ("a", "n"), ["n", "an"]),
        *(_SAME, "sorted(pieces[i : i + 2]) == sorted(pair)"),
    ),
    (
        "a and n stand in the word but not side by side: nothing merges.",
        *(["a", "b", "n"], ("a", "n"), ["a", "b", "n"]),
        *(_SAME, "pieces[i] == pair[0] and pair[1] in pieces[i + 1 :]"),
    ),
    (
        "The pieces themselves must be the pair. a and bc spell abc too, but "
        "they are not ab and c.",
        *(["a", "bc", "ab", "c"], ("ab", "c"), ["a", "bc", "abc"]),
        *(_SAME, '"".join(pieces[i : i + 2]) == "".join(pair)'),
    ),
    (
        "Pieces are whole: the h inside ch is not a piece of its own. Do not "
        "glue the word together and search in its letters.",
        *(["ch", "a", "t"], ("h", "a"), ["ch", "a", "t"]),
        lambda pieces, pair: (
            " ".join(pieces).replace(" ".join(pair), "".join(pair)).split()
        ),
    ),
    ("A single piece stays as it is.", ["x"], ("x", "y"), ["x"]),
    ("A word without pieces stays empty.", [], ("x", "y"), []),
)
_UNMERGED = (
    "Nothing is merged in yours. A slice of a list never equals pair, which is "
    "a tuple; and += takes the new piece apart into its letters: append it."
)
_NO_LIST = "Give back a list of pieces"
_NO_STRING = (
    "Each piece is a string: join the two with +, pieces[i] + pieces[i + 1]."
)


@exercise(merge_pair_solution)
def merge_pair(mine):
    """One merge of byte-pair encoding on one word."""

    def merged(answer, pieces, pair):
        found = answer(pieces, pair)
        if not isinstance(found, (list, tuple)):
            raise Hint(f"{_NO_LIST}; yours is {type(found).__name__}.")
        if not all(isinstance(piece, str) for piece in found):
            raise Hint(_NO_STRING)
        return list(found)

    for hint, pieces, pair, right, *_ in _MERGES:
        about = f"{hint} {pieces} with {pair}:"
        case = (pieces, pair), right
        merge_pair.compare(mine, [case], about=about, ask=merged)
    return "ten words: repeats, overlaps, longer pieces, nothing to merge."


for _hint, _, _, _, *_typed in _MERGES:
    if _typed:
        merge_pair.slip(_hint, *_typed)
for _hint, *_typed in (
    (
        _UNMERGED,
        *(_SAME, "pieces[i : i + 2] == pair"),
    ),
    (
        _UNMERGED,
        "merged.append(pieces[i] + pieces[i + 1])",
        "merged += pieces[i] + pieces[i + 1]",
    ),
    (
        "+= takes a string apart into its letters: append it.",
        *("merged.append(pieces[i])", "merged += pieces[i]"),
    ),
    (
        "The last piece is lost: it has no neighbor to its right, and stays "
        "all the same.",
        *("len(pieces):", "len(pieces) - 1:"),
    ),
    ("Both pieces are used up: go on after the second.", "i += 2", "i += 1"),
    (
        "Give back the whole word, not the new piece alone.",
        lambda pieces, pair: ["".join(pair)],
    ),
    (_NO_LIST, "return merged", 'return " ".join(merged)'),
    (_NO_STRING, "pieces[i] + pieces[i + 1]", "pieces[i : i + 2]"),
):
    merge_pair.slip(_hint, *_typed)


@merge_pair.slip(
    "You merge from the right. From left to right the first two merge, and "
    "the third is left."
)
def _from_the_right(pieces, pair):
    pieces = list(pieces)
    for i in reversed(range(len(pieces) - 1)):
        if tuple(pieces[i : i + 2]) == pair:
            pieces[i : i + 2] = ["".join(pair)]
    return pieces


@merge_pair.slip(
    "You merge again what you have just merged: aa and a are not the pair."
)
def _merged_again(pieces, pair):
    merged = []
    for i, piece in enumerate(pieces):
        if i and (pieces[i - 1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


@merge_pair.style
def _by_stack(pieces, pair):
    merged, free = [], False
    for piece in pieces:
        if free and (merged[-1], piece) == pair:
            merged[-1] += piece
            free = False
        else:
            merged.append(piece)
            free = True
    return merged


@merge_pair.style
def _by_recursion(pieces, pair):
    if tuple(pieces[:2]) == pair:
        return (pieces[0] + pieces[1], *_by_recursion(pieces[2:], pair))
    return (pieces[0], *_by_recursion(pieces[1:], pair)) if pieces else ()


@merge_pair.style
def _by_marks(pieces, pair):
    text = " " + "  ".join(pieces) + " "
    return text.replace(f" {pair[0]}  {pair[1]} ", f" {''.join(pair)} ").split()


def cached_step_solution(q, k, v, past_k, past_v):
    """softmax(q Kᵀ / √d_k) V, K and V = the past, then k and v."""
    K = torch.cat([past_k, k.unsqueeze(1)], dim=1)
    V = torch.cat([past_v, v.unsqueeze(1)], dim=1)
    scores = torch.einsum("bd,btd->bt", q, K) / q.shape[-1] ** 0.5
    return torch.einsum("bt,btd->bd", scores.softmax(dim=-1), V)


def _look(q, keys, values):
    """One query's context, by loops; keys and values are lists."""
    raised = [
        math.exp(sum(a * b for a, b in zip(q, k, strict=True)) / len(q) ** 0.5)
        for k in keys
    ]
    return [
        sum(r * v[i] for r, v in zip(raised, values, strict=True)) / sum(raised)
        for i in range(len(values[0]))
    ]


@exercise(cached_step_solution)
def cached_step(mine):
    """One step of masked self-attention with cached keys and values."""
    for seed, (batch, past, d) in enumerate(((2, 3, 5), (3, 0, 4), (1, 5, 2))):
        given = random_inputs(seed, *[(batch, d)] * 3, *[(batch, past, d)] * 2)
        rows = zip(*(part.tolist() for part in given), strict=True)
        truth = [_look(q, [*K, k], [*V, v]) for q, k, v, K, V in rows]
        about = f"with {past} words in the cache:"
        case = given, float64(truth)
        cached_step.compare(mine, [case], "[batch, d]", about)
        learnable(mine, *given)
    (v, past_v) = random_inputs(7, (1, 2), (1, 1, 2))
    for at in (60.0, -60.0):  # scores of ±5091, the cached one 85 higher
        q, k = torch.full((1, 2), 60.0), torch.full((1, 2), at)
        case = (q, k, v, k[:, None] + 1, past_v), past_v[0]
        cached_step.compare(mine, [case], "[batch, d]", otherwise=_FAR)
    return "equal to attention over the whole past, the empty one included."


_FAR = (
    "Right for small scores. Scores of ±5000 are too large or too small for "
    "exp: subtract the largest first, as torch.softmax does."
)
_KEYS, _VALUES = "[past_k, k.unsqueeze(1)]", "[past_v, v.unsqueeze(1)]"
_CONTEXT = 'torch.einsum("bt,btd->bd", scores.softmax(dim=-1), V)'
for _hint, *_typed in (
    ("√d_k is missing: divide the scores by it.", " / q.shape[-1] ** 0.5", ""),
    ("You divide by d_k, not by its square root.", " ** 0.5", ""),
    (
        "You divide by the root of the number of words; d_k is the width of a "
        "key.",
        *("q.shape[-1]", "K.shape[1]"),
    ),
    *(
        (
            "The new value stands first and its key last, or the other way "
            "round: both belong after the past.",
            f"[past_{one}, {one}.unsqueeze(1)]",
            f"[{one}.unsqueeze(1), past_{one}]",
        )
        for one in "kv"
    ),
    ("You ask with the new key; the query asks.", "q, K)", "k, K)"),
    (
        "Softmax is missing: scores are not weights.",
        *("scores.softmax(dim=-1)", "scores"),
    ),
    ("You mix the keys; the values are mixed.", "dim=-1), V)", "dim=-1), K)"),
    (
        "The values are added up, each with weight 1: softmax ran over an "
        "axis of one. It belongs over the words.",
        *("scores.softmax(dim=-1)", "scores[:, None].softmax(dim=1)[:, 0]"),
    ),
    (
        "You divide by √d_k after the softmax; divide the scores, before it.",
        *(" / q.shape[-1] ** 0.5", ""),
        *("return ", "return q.shape[-1] ** -0.5 * "),
    ),
    (
        _FAR,
        *("scores.softmax(dim=-1)", "e / e.sum(1, keepdim=True)"),
        *("    return ", "    e = scores.exp()\n    return "),
    ),
    (NO_GRADIENT, _CONTEXT, f"{_CONTEXT}.detach()"),
    (NO_GRADIENT, "[past_k,", "[past_k.detach(),"),
    (
        "The new word does not see itself: its own key and value belong after "
        "the cached ones.",
        *(_KEYS, "[past_k]", _VALUES, "[past_v]"),
    ),
    (
        "The cache is not used: the new word sees only itself.",
        *(_KEYS, "[k.unsqueeze(1)]", _VALUES, "[v.unsqueeze(1)]"),
    ),
    (
        "Softmax runs over the batch; it belongs over the words, dim=-1.",
        *("scores.softmax(dim=-1)", "scores.softmax(dim=0)"),
    ),
    (
        "Your query sees the first word alone. is_causal=True takes it for "
        "the word at place 0; here nothing is hidden, so no mask.",
        _CONTEXT,
        "F.scaled_dot_product_attention(q[:, None], K, V, is_causal=True)"
        "[:, 0]",
    ),
    (
        "One axis too many: there is one new word.",
        *(_CONTEXT, f"{_CONTEXT}[:, None]"),
    ),
    (
        "Those are weights or scores; the values are still to be mixed.",
        *(_CONTEXT, "scores.softmax(dim=-1)"),
    ),
):
    cached_step.slip(_hint, *_typed)


@cached_step.style
def _by_torch(q, k, v, past_k, past_v):
    K = torch.cat([past_k, k[:, None]], 1)
    V = torch.cat([past_v, v[:, None]], 1)
    return F.scaled_dot_product_attention(q[:, None], K, V)[:, 0]


@cached_step.style
def _word_by_word(q, k, v, past_k, past_v):
    seen = [*zip(past_k.unbind(1), past_v.unbind(1), strict=True), (k, v)]
    scores = [(q * key).sum(1) / q.shape[1] ** 0.5 for key, _ in seen]
    top = torch.stack(scores).amax(0)
    shares = [(score - top).exp() for score in scores]
    parts = zip(shares, seen, strict=True)
    mixed = sum(share[:, None] * value for share, (_, value) in parts)
    return mixed / sum(shares)[:, None]


@cached_step.style
def _newest_first(q, k, v, past_k, past_v):
    K = torch.cat([k[:, None], past_k], 1).double()
    V = torch.cat([v[:, None], past_v], 1).double()
    scores = torch.einsum("bd,btd->bt", q.double(), K)
    weights = (scores / q.shape[1] ** 0.5).softmax(1)
    return torch.einsum("bt,btd->bd", weights, V)


class MultiHeadAttention(nn.Module):
    """Concat(head_1, …, head_h) W^O: x attends to memory."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)
        self.W_O = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, memory, mask):
        q = self.split(self.W_Q(x))
        k, v = self.split(self.W_K(memory)), self.split(self.W_V(memory))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
        return self.W_O((weights @ v).transpose(1, 2).flatten(2))


class LayerNorm(nn.Module):
    """g ∘ (x − μ) / √(σ² + ε) + b, each token by itself."""

    def __init__(self, d_model):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        x = x - x.mean(dim=-1, keepdim=True)
        variance = x.square().mean(dim=-1, keepdim=True)
        return self.gain * x / torch.sqrt(variance + 1e-5) + self.bias


class FeedForward(nn.Sequential):
    """max(0, x W_1 + b_1) W_2 + b_2."""

    def __init__(self, d_model, d_ff):
        super().__init__(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )


class EncoderLayer(nn.Module):
    """Self-attention, and the feed-forward part."""

    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads)
        self.norm_1 = LayerNorm(d_model)
        self.feedforward = FeedForward(d_model, d_ff)
        self.norm_2 = LayerNorm(d_model)

    def forward(self, x, mask):
        x = self.norm_1(x + self.attention(x, x, mask))
        return self.norm_2(x + self.feedforward(x))


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, and the feed-forward part."""

    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads)
        self.norm_1 = LayerNorm(d_model)
        self.cross = MultiHeadAttention(d_model, heads)
        self.norm_2 = LayerNorm(d_model)
        self.feedforward = FeedForward(d_model, d_ff)
        self.norm_3 = LayerNorm(d_model)

    def forward(self, y, x, source_mask, target_mask):
        y = self.norm_1(y + self.attention(y, y, target_mask))
        y = self.norm_2(y + self.cross(y, x, source_mask))
        return self.norm_3(y + self.feedforward(y))


class Transformer(nn.Module):
    """Two stacks over one embedding, which also gives the logits."""

    def __init__(self, vocab, d_model, heads, d_ff, layers):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        sizes = (d_model, heads, d_ff)
        self.encoder = nn.ModuleList(
            EncoderLayer(*sizes) for _ in range(layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(*sizes) for _ in range(layers)
        )

    def embed(self, tokens):
        """√d_model E[token] + PE."""
        length, d_model = tokens.shape[1], self.embedding.embedding_dim
        pair = torch.arange(0, d_model, 2) / d_model
        angle = torch.arange(length)[:, None] / 10_000**pair
        codes = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
        return self.embedding(tokens) * d_model**0.5 + codes

    def forward(self, source, target):
        source_mask = (source != PAD)[:, None, None]
        length = target.shape[1]
        target_mask = torch.ones(length, length, dtype=torch.bool).tril()
        x, y = self.embed(source), self.embed(target)
        for layer in self.encoder:
            x = layer(x, source_mask)
        for layer in self.decoder:
            y = layer(y, x, source_mask, target_mask)
        return y @ self.embedding.weight.T


def shifted_loss_solution(source, target, model):
    """Mean −ln p of each word after the true words before it."""
    logits = model(source, target[:, :-1])
    return F.cross_entropy(
        logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD
    )


def train_transformer(model, steps=600):
    """Teach the model to write strings backwards; new strings each step."""
    adam = torch.optim.Adam(model.parameters())
    bar = tqdm(range(steps))
    for step in bar:
        rate = 1e-3 * min(1, (step + 1) / 200) * (1 - step / steps)
        adam.param_groups[0]["lr"] = rate
        loss = shifted_loss_solution(*strings(64, seed=step), model)
        adam.zero_grad()
        loss.backward()
        adam.step()
        bar.set_postfix(loss=f"{loss.item():.3f}")


@torch.no_grad()
def write(model, source, words=11):
    """What the model writes on its own, the likeliest word each time."""
    target = torch.full((len(source), 1), START)
    for _ in range(words):
        word = model(source, target)[:, -1:].argmax(dim=-1)
        target = torch.cat([target, word], dim=1)
    return target


# A layer's parts by the names that the exercises give them, for `fill`.
_MAPS = ("W_Q", "W_K", "W_V", "W_O")


def _drawn(seed, looks, d_model, d_ff):
    """Random tensors for a layer's parts, by name."""
    square, flat = (d_model, d_model), (d_model,)
    shapes = {f"{look}.{W}": (square, flat) for look in looks for W in _MAPS}
    shapes["feedforward"] = ((d_ff, d_model), (d_ff,), (d_model, d_ff), flat)
    shapes |= {f"norm_{i + 1}": (flat, flat) for i in range(len(looks) + 1)}
    return {
        name: [0.6 * float64(t) for t in random_inputs(seed + i, *each)]
        for i, (name, each) in enumerate(shapes.items())
    }


def _into_torch(layer, parts):
    """Put a layer's parts into torch's own layer, in float64."""
    state = {}
    names = {"attention": "self_attn", "cross": "multihead_attn"}
    for look, there in names.items():
        if f"{look}.W_Q" in parts:
            maps = [parts[f"{look}.{W}"] for W in _MAPS[:3]]
            for i, end in enumerate(("weight", "bias")):
                joined = torch.cat([each[i] for each in maps])
                state[f"{there}.in_proj_{end}"] = joined
                state[f"{there}.out_proj.{end}"] = parts[f"{look}.W_O"][i]
    for i, end in enumerate(("weight", "bias")):
        state[f"linear1.{end}"] = parts["feedforward"][i]
        state[f"linear2.{end}"] = parts["feedforward"][i + 2]
        for name in (name for name in parts if name.startswith("norm_")):
            state[f"{name.replace('_', '')}.{end}"] = parts[name][i]
    layer.double().load_state_dict(state)


_NOTHING_TO_LOOK_AT = (
    "NaN: somewhere a word may look at nothing at all, and its softmax is "
    "0/0. Is a mask inverted, or softmax not over dim=-1? True = may look, so "
    "masked_fill(~mask, -torch.inf); a word may look at itself, too."
)


def _blind(found, *_):
    """The word for NaN, where there is any."""
    return None if found.isfinite().all() else _NOTHING_TO_LOOK_AT


# batch, source, target, d_model, heads, d_ff; where lengths are equal a
# mistake may pass in silence, and where they differ it may not.
_SIZES = ((2, 4, 4, 8, 2, 12), (3, 5, 3, 12, 3, 8))


def _run(answer, sizes, parts, **given):
    """What the class of an answer computes, filled with these parameters."""
    module = as_module(answer, *sizes)
    fill(module, parts)
    with torch.no_grad():
        return Answer(module.forward, list(given))(*given.values())


def _sentences(seed, batch, source, target, d_model):
    """Vectors x and y, and a mask that leaves the second one padded."""
    x, y = random_inputs(
        seed, (batch, source, d_model), (batch, target, d_model)
    )
    lengths = source - torch.arange(batch)
    return x, y, torch.arange(source) < lengths[:, None]


@torch.no_grad()
def _torchs(layer, sizes, parts, *given, **masks):
    """What torch's own layer of this class computes, in float64."""
    with torch.random.fork_rng(devices=[]):
        made = layer(*sizes, dropout=0.0, batch_first=True)
    _into_torch(made, parts)
    return made(*(x.double() for x in given), **masks)


_LOW = (
    "Right for usual scores. Beside scores of −800 a forbidden place got "
    "weight: the number that you use for −infinity is not low enough. Use "
    "-torch.inf."
)


def _lowered(parts):
    """The parts, but all scores about 20² √d_k lower."""
    low = dict(parts)
    for name in parts:
        by = {"W_Q": 20, "W_K": -20}.get(name[-3:])
        if by:
            matrix, bias = parts[name]
            low[name] = [matrix / 20, bias + by]
    return low


_EPSILON = (
    "Right for usual vectors. For one that hardly varies ε counts: LayerNorm "
    "divides by √(σ² + ε), with ε = 1e-5 under the root."
)


def _flattened(parts):
    """The parts, but what comes into a norm varies by 0.003 or so."""
    last = max(name for name in parts if name.startswith("norm_"))
    return {
        name: [0.003 * t for t in drawn] if name != last else drawn
        for name, drawn in parts.items()
    }


# What is made of the usual parts, by what x and y are multiplied, and what is
# said if that alone goes wrong.
_HARDER = (
    (dict, 1, None),
    (_lowered, 1, _LOW),
    (_flattened, 0.003, _EPSILON),
)


@exercise(EncoderLayer)
def encoder_layer(mine):
    """An encoder layer against nn.TransformerEncoderLayer."""

    def encode(answer, sizes, parts, x, real):
        found = _run(answer, sizes, parts, x=x, mask=real[:, None, None])
        right = isinstance(found, torch.Tensor) and found.shape == x.shape
        return found.where(real.unsqueeze(-1), 0) if right else found

    for seed, (batch, length, _, *sizes) in enumerate(_SIZES):
        usual = _drawn(seed, ("attention",), sizes[0], sizes[2])
        x, _, real = _sentences(seed, batch, length, 1, sizes[0])
        for parts, by, hint in _HARDER:
            given = sizes, parts(usual), by * x, real
            truth = _torchs(
                nn.TransformerEncoderLayer,
                *given[:3],
                src_key_padding_mask=~real,
            ).where(real.unsqueeze(-1), 0)
            if not hint:
                axes = "[batch, source, d_model]"
                encoder_layer.compare(
                    *(mine, [(given, truth)], axes),
                    otherwise=_blind,
                    ask=encode,
                )
            else:
                expect(encode(mine, *given).double(), truth, hint, 1e-3)
    learnable_module(mine, sizes, usual, x=x, mask=real[:, None, None])
    return (
        "equal to torch's own encoder layer with the same weights, with two "
        "and with three heads, on sentences with padding."
    )


@exercise(DecoderLayer)
def decoder_layer(mine):
    """A decoder layer against nn.TransformerDecoderLayer."""

    def decode(answer, sizes, parts, y, x, real, causal):
        masks = {"source_mask": real[:, None, None], "target_mask": causal}
        return _run(answer, sizes, parts, y=y, x=x, **masks)

    for seed, (batch, source, target, *sizes) in enumerate(_SIZES):
        usual = _drawn(seed, ("attention", "cross"), sizes[0], sizes[2])
        x, y, real = _sentences(seed, batch, source, target, sizes[0])
        causal = torch.ones(target, target, dtype=torch.bool).tril()
        for parts, by, hint in _HARDER:
            given = sizes, parts(usual), by * y, by * x, real, causal
            truth = _torchs(
                nn.TransformerDecoderLayer,
                *given[:4],
                tgt_mask=~causal,
                memory_key_padding_mask=~real,
            )
            if not hint:
                axes = "[batch, target, d_model]"
                decoder_layer.compare(
                    *(mine, [(given, truth)], axes),
                    otherwise=_blind,
                    ask=decode,
                )
            else:
                expect(decode(mine, *given).double(), truth, hint, 1e-3)
    masks = {"source_mask": real[:, None, None], "target_mask": causal}
    learnable_module(mine, sizes, usual, y=y, x=x, **masks)
    return (
        "equal to torch's own decoder layer with the same weights: no word "
        "sees what is still to be said, and none sees padding."
    )


_OWN = "self.attention(y, y, target_mask)"
_CROSS = "self.cross(y, x, source_mask)"
for _hint, *_typed in (
    (
        "The target mask is not used: a word sees the words that are still to "
        "be said.",
        *("y, y, target_mask", "y, y, target_mask | True"),
    ),
    (
        "The source mask is not used: cross-attention sees padding.",
        "y, x, source_mask))",
        "y, x, source_mask | True))",
    ),
    (
        "Cross-attention attends to y. Its keys and values come from x, the "
        "encoder's output.",
        *(_CROSS, "self.cross(y, y, target_mask)"),
    ),
    (
        "Queries and memory are exchanged: y asks, so cross(y, x, …).",
        *(_CROSS, "self.cross(x, y, source_mask)"),
    ),
    (
        "The second sum adds the layer's input; it adds what came out of the "
        "first norm.",
        *("y = self.norm_1(", "y_0 = y\n        y = self.norm_1("),
        *(f"y + {_CROSS}", f"y_0 + {_CROSS}"),
    ),
    (
        "Cross-attention runs without its own maps: it is `cross` that "
        "attends to x.",
        *(_CROSS, "self.attention(y, x, source_mask)"),
    ),
    (
        "The residual connection around cross-attention is missing: "
        "norm(y + f(y)).",
        *(f"y + {_CROSS}", _CROSS),
    ),
    (
        "Cross-attention comes before self-attention; the words so far come "
        "first.",
        *(f"self.norm_1(y + {_OWN})", "¤", f"self.norm_2(y + {_CROSS})", "§"),
        *("¤", f"self.norm_2(y + {_CROSS})", "§", f"self.norm_1(y + {_OWN})"),
    ),
    (
        "Cross-attention comes before self-attention; the words so far come "
        "first.",
        *(_OWN, "§", _CROSS, _OWN, "§", _CROSS),
    ),
    (
        "The two masks are exchanged: the target mask is for attention to y, "
        "the source mask for attention to x.",
        *(_OWN, "self.attention(y, y, source_mask)"),
        *(_CROSS, "self.cross(y, x, target_mask)"),
    ),
):
    decoder_layer.slip(_hint, *_typed)

# The residual connections of both layers: the norm, what is added, and to what.
_SUMS = (
    ("norm_1", "attention({0}, {0}, mask)", "x"),
    ("norm_2", "feedforward({0})", "x"),
    ("norm_1", "attention({0}, {0}, target_mask)", "y"),
    ("norm_2", "cross({0}, x, source_mask)", "y"),
    ("norm_3", "feedforward({0})", "y"),
)


def _everywhere(form):
    """What makes `form` of norm(x + part(x)) throughout both layers.

    It has {x} and {norm}, {part} of x and {inner}, the part of norm(x).
    """
    typed = []
    for norm, part, x in _SUMS:
        norm, part = f"self.{norm}", f"self.{part}"
        inner = part.format(f"{norm}({x})")
        part = part.format(x)
        typed.append(f"{norm}({x} + {part})")
        typed.append(form.format(x=x, norm=norm, part=part, inner=inner))
    return typed


_FIRST = "self.norm_2(x + self.attention(x, x, mask))"
_LAST = "self.norm_3(y + self.cross(y, x, source_mask))"
_MASKED = ".masked_fill(~mask, -torch.inf)"
_SPLIT = "x.unflatten(-1, (self.heads, -1)).transpose(1, 2)"
_CUT = "x.reshape(len(x), self.heads, -1, x.shape[-1] // self.heads)"
_JOIN = "(weights @ v).transpose(1, 2).flatten(2)"
_FLAT = "(weights @ v).reshape(len(x), -1, self.heads * v.shape[-1])"
for _hint, *_typed in (
    (
        "The mask is not used: give forbidden places the score −infinity "
        "before softmax.",
        *(_MASKED, ""),
    ),
    *(
        (
            "Your mask is inverted. True = may look, so masked_fill(~mask, "
            "-torch.inf).",
            "~mask, -torch.inf",
            inverted,
        )
        for inverted in ("mask, -torch.inf", "mask, -1e9")
    ),
    (
        "You mask after the softmax, when the forbidden places have had their "
        "share. Mask the scores.",
        *(f"{_MASKED}.softmax(dim=-1)", ".softmax(dim=-1) * mask"),
    ),
    (
        "You set forbidden scores to 0, and exp(0) = 1. The score that gets "
        "no weight is −infinity.",
        *("-torch.inf", "0.0"),
    ),
    *(
        (
            "Softmax runs over the words that ask; it belongs over the words "
            "that are looked at, dim=-1.",
            "-torch.inf).softmax(dim=-1)",
            f"{low}).softmax(dim=-2)",
        )
        for low in ("-torch.inf", "-1e9")
    ),
    (
        "The scores are not scaled: divide by √d_k, the root of a head's "
        "width.",
        *(" / q.shape[-1] ** 0.5", ""),
    ),
    (
        "You divide by √d_model. A head's scores are sums of d_k products: "
        "√d_k, with d_k = d_model / heads.",
        *("q.shape[-1]", "x.shape[-1]"),
    ),
    ("You divide by d_k and not by its root.", "[-1] ** 0.5", "[-1]"),
    (
        "You divide by √d_k after the softmax; divide the scores, before it.",
        *(" / q.shape[-1] ** 0.5", ""),
        *(".softmax(dim=-1)", ".softmax(dim=-1) / q.shape[-1] ** 0.5"),
    ),
    *((_LOW, "-torch.inf", low) for low in ("-10.0", "-20.0", "-100.0")),
    (NO_GRADIENT, "weights @ v", "(weights @ v).detach()"),
    (
        OTHER_GRADIENT,
        *("self.norm_2(x +", "self.norm_2(x.detach() +"),
        *("self.norm_3(y +", "self.norm_3(y.detach() +"),
    ),
    (
        "The heads are split wrongly: reshape alone mixes words with heads. "
        "Cut the last axis into (heads, d_k) first, then transpose.",
        *(_SPLIT, _CUT),
    ),
    (
        "The heads are split wrongly, and joined by the same mistake: cut the "
        "last axis into (heads, d_k), then transpose; on the way back "
        "transpose, then flatten.",
        *(_SPLIT, _CUT, _JOIN, _FLAT),
    ),
    (
        "Each head got every heads-th number. Head 1 owns the first d_k "
        "numbers: unflatten(-1, (heads, d_k)).",
        *(_SPLIT, "x.unflatten(-1, (-1, self.heads)).permute(0, 3, 1, 2)"),
    ),
    (
        "The heads come back mixed: transpose heads and words back before you "
        "flatten.",
        *(_JOIN, _FLAT),
    ),
    (
        "One head of full width is at work; split q, k and v into heads.",
        *("self.heads = heads", "self.heads = 1"),
    ),
    (
        "W_O is missing: it mixes what the heads found.",
        *(f"self.W_O({_JOIN})", _JOIN),
    ),
    (
        "The norm stands on the wrong side. That is pre-norm, x + f(norm(x)); "
        "the paper has norm(x + f(x)).",
        *_everywhere("{x} + {inner}"),
    ),
    (
        "Your sum is around the norm, x + norm(f(x)). The norm takes the sum: "
        "norm(x + f(x)).",
        *_everywhere("{x} + {norm}({part})"),
    ),
    (
        "You normalize x first and then add to the normalized one. The sum "
        "takes x as it came, and the norm comes last: norm(x + f(x)).",
        *_everywhere("({x} := {norm}({x})) + {part}"),
    ),
    (
        "The residual connection is missing: norm(x + f(x)).",
        *_everywhere("{norm}({part})"),
    ),
    (
        "The residual connection around the feed-forward part is missing: "
        "norm(x + f(x)).",
        *("self.norm_2(x + self.f", "self.norm_2(self.f"),
        *("self.norm_3(y + self.f", "self.norm_3(self.f"),
    ),
    (
        "The residual connection around the first attention is missing: "
        "norm(x + f(x)).",
        *("self.norm_1(x +", "self.norm_1(", "self.norm_1(y +", "self.norm_1("),
    ),
    (
        "The parts are exchanged: attention comes first, and the feed-forward "
        "part after it.",
        *("self.norm_1(x + self.attention(x, x, mask))", "¤"),
        *("self.norm_2(x + self.feedforward(x))", _FIRST),
        *("¤", "self.norm_1(x + self.feedforward(x))"),
        *("self.norm_2(y + self.cross(y, x, source_mask))", "¤"),
        *("self.norm_3(y + self.feedforward(y))", _LAST),
        *("¤", "self.norm_2(y + self.feedforward(y))"),
    ),
    (
        "The parts are exchanged: attention comes first, and the feed-forward "
        "part after it.",
        *("self.norm_1(x + self.attention(x, x, mask))", "¤"),
        *("self.norm_2(x + self.feedforward(x))", _FIRST.replace("2", "1")),
        *("¤", "self.norm_2(x + self.feedforward(x))"),
        *("self.norm_2(y + self.cross(y, x, source_mask))", "¤"),
        *("self.norm_3(y + self.feedforward(y))", _LAST.replace("3", "2")),
        *("¤", "self.norm_3(y + self.feedforward(y))"),
    ),
    (
        "The norms are not used: norm(x + f(x)).",
        *_everywhere("{x} + {part}"),
    ),
    (
        "You add x twice; does your attention add it already?",
        *_everywhere("{norm}({x} + {x} + {part})"),
    ),
    (
        "Around the feed-forward part you add what came into the layer. Add "
        "what came into the part, which is the norm's output.",
        *("x = self.norm_1(", "z, x = x, self.norm_1("),
        *("self.norm_2(x + self.f", "self.norm_2(z + self.f"),
        *("y = self.norm_1(", "z, y = y, self.norm_1("),
        *("self.norm_3(y +", "self.norm_3(z +"),
    ),
    (
        "You used one norm for all parts; each part has its own.",
        *_everywhere("self.norm_1({x} + {part})"),
    ),
    *(
        (_EPSILON, "torch.sqrt(variance + 1e-5)", other)
        for other in (
            "torch.sqrt(variance)",
            "(torch.sqrt(variance) + 1e-5)",
            "torch.sqrt(variance + 1e-4)",
            "torch.sqrt(variance + 1e-6)",
        )
    ),
    (_NOTHING_TO_LOOK_AT, "softmax(dim=-1)", "softmax(dim=1)"),
    (
        "Your LayerNorm divides by the variance; take its root.",
        *("torch.sqrt(variance + 1e-5)", "(variance + 1e-5)"),
    ),
    (
        "Your LayerNorm's deviation divides by d − 1. It is the plain mean of "
        "the squares: correction=0.",
        "x.square().mean(dim=-1, keepdim=True)",
        "x.var(dim=-1, keepdim=True)",
    ),
    (
        "Your LayerNorm runs along the words. Each word is normalized on its "
        "own, over its d_model numbers: dim=-1.",
        "mean(dim=-1, keepdim",
        "mean(dim=1, keepdim",
    ),
    (
        "ReLU is missing in the feed-forward part.",
        *("nn.ReLU()", "nn.Identity()"),
    ),
    (
        "Your feed-forward part has GELU; the paper's activation is ReLU.",
        *("nn.ReLU()", "nn.GELU()"),
    ),
    (
        "The feed-forward part is not used.",
        *("return self.norm_2(x + self.feedforward(x))", "return x"),
        *("return self.norm_3(y + self.feedforward(y))", "return y"),
    ),
    ("There is no part `feedforward`", "self.feedforward", "self.ffn"),
    ("There is no part `attention.W_Q`", "W_Q", "query"),
    (
        "Your part `attention.W_O` has parameters",
        "self.W_O = nn.Linear(d_model, d_model)",
        "self.W_O = nn.Linear(d_model, d_model, bias=False)",
    ),
):
    encoder_layer.slip(_hint, *_typed)
    decoder_layer.slip(_hint, *_typed)


class _Looped(nn.Module):
    """Attention sentence by sentence, head by head, word by word."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        for name in ("W_O", "W_V", "W_K", "W_Q"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, x, memory, mask):
        mask = mask.expand(len(x), 1, x.shape[1], memory.shape[1])
        d_k, out = x.shape[2] // self.heads, []
        for b in range(len(x)):
            q, k, v = self.W_Q(x[b]), self.W_K(memory[b]), self.W_V(memory[b])
            words = []
            for i in range(len(q)):
                seen, found = mask[b, 0, i], []
                for h in range(self.heads):
                    own = slice(h * d_k, (h + 1) * d_k)
                    scores = k[seen, own] @ q[i, own] / d_k**0.5
                    found.append(scores.softmax(0) @ v[seen, own])
                words.append(self.W_O(torch.cat(found)))
            out.append(torch.stack(words))
        return torch.stack(out)


class _Fused(MultiHeadAttention):
    """torch's fused attention inside."""

    def forward(self, x, memory, mask):
        q = self.split(self.W_Q(x))
        k, v = self.split(self.W_K(memory)), self.split(self.W_V(memory))
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.W_O(found.transpose(1, 2).flatten(2))


def _codes(length, d_model):
    """Sines and cosines of the places, one number after another."""
    codes = []
    for place in range(length):
        for i in range(d_model // 2):
            angle = place / 10_000 ** (2 * i / d_model)
            codes += [math.sin(angle), math.cos(angle)]
    return float64(codes).view(length, d_model)


@torch.no_grad()
def _torchs_whole(parts, E, source, target, heads):
    """The logits of nn.Transformer, which has no embeddings of its own."""
    d_model = E.shape[1]
    with torch.random.fork_rng(devices=[]):
        torchs = nn.Transformer(
            d_model,
            heads,
            *map(len, parts),
            dim_feedforward=len(parts[0][0]["feedforward"][1]),
            dropout=0.0,
            batch_first=True,
        )
    stacks = torchs.encoder, torchs.decoder
    for stack, drawn in zip(stacks, parts, strict=True):
        stack.norm = None  # torch adds one at the end; the paper has none
        for layer, own in zip(stack.layers, drawn, strict=True):
            _into_torch(layer, own)

    def embed(tokens):
        codes = _codes(tokens.shape[1], d_model)
        return E[tokens] * math.sqrt(d_model) + codes

    hidden = ~torch.ones(target.shape[1], target.shape[1]).bool().tril()
    y = torchs(
        embed(source),
        embed(target),
        tgt_mask=hidden,
        src_key_padding_mask=source == PAD,
        memory_key_padding_mask=source == PAD,
    )
    return y @ E.T


def _named(stacks):
    """The tensors of encoder and decoder by the names of their parts."""
    return {
        f"{name}.{i}.{part}": tensors
        for name, stack in zip(("encoder", "decoder"), stacks, strict=True)
        for i, layer in enumerate(stack)
        for part, tensors in layer.items()
    }


_HARDLY_LEARNS = (
    "where 1/√16 = 0.25 was wanted: it will hardly learn, since it also makes "
    "the logits."
)


@exercise(Transformer)
def transformer(mine):
    """The whole model against nn.Transformer."""

    def logits(answer, sizes, parts, source, target):
        return _run(answer, sizes, parts, source=source, target=target)

    source = torch.tensor([[4, 5, 6, 3], [6, 4, 3, 0], [5, 3, 0, 0]])
    target = torch.tensor([[2, 6, 5, 4], [2, 4, 6, 5], [2, 5, 3, 0]])
    looks = {"encoder": ("attention",), "decoder": ("attention", "cross")}
    for seed, (vocab, d_model, heads, d_ff, layers, length) in enumerate(
        ((7, 8, 2, 12, 2, 4), (9, 12, 4, 8, 3, 3))
    ):
        target = target[:, :length]
        (E,) = random_inputs(seed, (vocab, d_model))
        E = float64(E) / d_model**0.5
        stacks = [
            [
                _drawn(50 * i + len(own), own, d_model, d_ff)
                for i in range(layers)
            ]
            for own in looks.values()
        ]
        truth = _torchs_whole(stacks, E, source, target, heads)
        parts = {"embedding": [E]} | _named(stacks)
        sizes = (vocab, d_model, heads, d_ff, layers)
        case = (sizes, parts, source, target), truth
        axes = "[batch, target, vocab]"
        transformer.compare(mine, [case], axes, otherwise=_blind, ask=logits)
    learnable_module(mine, sizes, parts, source=source, target=target)
    stacks = [[_lowered(layer) for layer in stack] for stack in stacks]
    low = {"embedding": [E]} | _named(stacks)
    truth = _torchs_whole(stacks, E, source, target, heads)
    found = logits(mine, sizes, low, source, target)
    expect(found.double(), truth, _LOW, 1e-3)
    fresh = as_module(mine, 100, 16, 2, 2, 1).embedding.weight.std().item()
    if not 0.5 < fresh * 16**0.5 < 2:
        raise Hint(
            "The logits are right with the check's weights. But your own "
            f"embedding of width 16 has a standard deviation of {fresh:.2g}, "
            f"{_HARDLY_LEARNS}"
        )
    return (
        "equal to nn.Transformer with the same weights, two layers and three, "
        "with both masks, on sentences with padding."
    )


_EMBEDDED = "self.embedding(tokens) * d_model**0.5 + codes"
_LOGITS = "y @ self.embedding.weight.T"
for _hint, *_typed in (
    (
        "Positions are missing: add the sines and cosines to the embeddings, "
        "on both sides.",
        *("**0.5 + codes", "**0.5"),
    ),
    (
        "Your sines stand in one block and your cosines in another. Here they "
        "alternate: sine, cosine, sine, cosine.",
        "torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)",
        "torch.cat([angle.sin(), angle.cos()], dim=-1)",
    ),
    (
        "Your positions begin with 1; the first word stands at 0.",
        *("torch.arange(length)", "torch.arange(1, length + 1)"),
    ),
    (
        "√d_model is missing: the embedding is scaled before the positions "
        "are added.",
        *(_EMBEDDED, "self.embedding(tokens) + codes"),
    ),
    (
        "You scale the positions as well. Only the embedding is multiplied by "
        "√d_model.",
        *(_EMBEDDED, "(self.embedding(tokens) + codes) * d_model**0.5"),
    ),
    *(
        (
            f"Positions are missing on the {side} side; both sides get them.",
            f"self.embed({side})",
            f"self.embedding({side}) * self.embedding.embedding_dim**0.5",
        )
        for side in ("source", "target")
    ),
    (
        "The encoder has a causal mask; a source word may attend to all of "
        "them.",
        "x = layer(x, source_mask)",
        "seen = torch.ones(2 * x.shape[1:2]).bool().tril()\n"
        "            x = layer(x, source_mask & seen)",
    ),
    (
        "There is one norm too many, after the last layer: post-norm has none "
        "there.",
        "y @ self",
        "F.layer_norm(y, y.shape[-1:]) @ self",
    ),
    (
        "Source padding gets weight, in the encoder and in cross-attention: "
        "the mask is source != PAD.",
        *("source != PAD", "source == source"),
    ),
    (
        "Cross-attention sees the source's padding: it takes the source mask.",
        "layer(y, x, source_mask",
        "layer(y, x, source_mask | True",
    ),
    (
        "The causal mask is missing: the decoder sees the words that it must "
        "say.",
        *(".tril()", ""),
    ),
    (
        "Your causal mask is the wrong way round: place i may see the places "
        "up to i, which is tril, and not triu.",
        *(".tril()", ".triu()"),
    ),
    (_NOTHING_TO_LOOK_AT, ".tril()", ".tril(-1)"),
    (
        "Decoder layer i looks at the output of encoder layer i. Every "
        "decoder layer looks at the last one.",
        "for layer in self.encoder:\n            x = layer(x, source_mask)",
        "xs = []\n        for layer in self.encoder:\n"
        "            x = layer(x, source_mask)\n            xs.append(x)",
        *(
            "for layer in self.decoder:",
            "for layer, x in zip(self.decoder, xs):",
        ),
    ),
    (
        "Your decoder looks at the source's embeddings. It looks at what the "
        "encoder made of them.",
        "layer(y, x, source",
        "layer(y, self.embed(source), source",
    ),
    (
        "Only the first layer of each stack is run.",
        *("in self.encoder:", "in self.encoder[:1]:"),
        *("in self.decoder:", "in self.decoder[:1]:"),
    ),
    (
        "Those are probabilities. Give back the logits, without softmax.",
        *(_LOGITS, f"({_LOGITS}).softmax(-1)"),
    ),
    (
        "Those are the vectors of the last layer: compare them with the "
        "embedding's rows, y @ E.T.",
        *(_LOGITS, "y"),
    ),
    (
        "You shift the target inside. The model is handed what the decoder "
        "reads; the loss will do the shift.",
        "        length = target.shape[1]\n",
        "        target = target[:, :-1]\n        length = target.shape[1]\n",
    ),
    *((_LOW, "-torch.inf", low) for low in ("-10.0", "-20.0", "-100.0")),
    (_HARDLY_LEARNS, "std=d_model**-0.5", "std=1.0"),
    ("take nn.ModuleList.", "nn.ModuleList(", "list("),
    *(
        (
            TWICE.format(f"{stack.lower()}.1.attention.W_Q"),
            f"{stack}Layer(*sizes) for _ in range(layers)",
            f"[{stack}Layer(*sizes)] * layers",
        )
        for stack in ("Encoder", "Decoder")
    ),
    (
        "that the exercise does not name: output.weight",
        "nn.init.normal_",
        "self.output = nn.Linear(d_model, vocab, bias=False)\n"
        "        nn.init.normal_",
    ),
):
    transformer.slip(_hint, *_typed)
_DROPOUT = "FeedForward(d_model, d_ff).append(nn.Dropout())\n"
for _made in (encoder_layer, decoder_layer, transformer):
    for _attention in ("_Looped", "_Fused"):
        _typed = (
            *("= MultiHeadAttention(", f"= {_attention}("),
            *("= LayerNorm(", "= nn.LayerNorm("),
            *("FeedForward(d_model, d_ff)\n", _DROPOUT),
        )
        _made.style(edited(_made.solution, *_typed))


@exercise(shifted_loss_solution)
def shifted_loss(mine):
    """The mean loss of the words that follow, padding left out."""
    after, heard = random_inputs(3, (8, 8), (8, 8))

    def model(source, target):
        return after[target] + heard[source].sum(1, keepdim=True)

    source = torch.tensor([[4, 5, 6, 3], [7, 3, 0, 0]])
    target = torch.tensor([[2, 6, 5, 4, 3], [2, 7, 3, 0, 0]])
    logp = model(source, target[:, :-1]).double().log_softmax(-1)
    losses = [
        -row[word]
        for rows, words in zip(logp, target[:, 1:], strict=True)
        for row, word in zip(rows, words, strict=True)
        if word != PAD
    ]
    truth = torch.stack(losses).mean()
    shifted_loss.compare(mine, [((source, target, model), truth)])

    def trained(after):
        """The loss as a function of what the model has learned."""
        return mine(source, target, lambda x, y: after[y] + model(x, y))

    learnable(Answer(trained, ["the model"]), after)
    return "the mean over the words that follow, <end> among them; no padding."


_WANTED = "target[:, 1:].flatten(), ignore_index=PAD"
_OF_ALL = "Those are the losses of all places; give the mean over words."
for _hint, *_typed in (
    (
        "The targets are not shifted: you ask for the word that has just been "
        "given. target[:, :-1] goes in, target[:, 1:] must come out.",
        *("[:, :-1]", "", "[:, 1:]", ""),
    ),
    (
        "The decoder sees the word that it must say: target[:, 1:] is what "
        "comes out, and target[:, :-1] goes in.",
        *("[:, :-1]", "[:, 1:]"),
    ),
    (
        "You shift the wrong way: it is given a word and asked for the one "
        "before it.",
        *("target[:, 1:].f", "target[:, :-1].f"),
        *("target[:, :-1])", "target[:, 1:])"),
    ),
    ("The loss counts padding: ignore_index=PAD.", ", ignore_index=PAD", ""),
    (
        "The last place is lost: the shift has shortened both sides already.",
        *("logits.flatten", "logits[:, :-1].flatten"),
        *("target[:, 1:].f", "target[:, 1:-1].f"),
    ),
    (
        "Logits and words come apart: transpose(1, 2) is for "
        "cross_entropy(logits, target) with three axes; to flatten, keep each "
        "word's row together, flatten(0, 1).",
        "logits.flatten(0, 1)",
        "logits.transpose(1, 2).reshape(-1, logits.shape[-1])",
    ),
    (
        "nll_loss wants log-probabilities: take log_softmax first, or "
        "cross_entropy of the logits.",
        *("F.cross_entropy", "F.nll_loss"),
    ),
    (
        "Label smoothing is on; this loss is the plain one.",
        *("=PAD\n", "=PAD, label_smoothing=0.1\n"),
    ),
    (
        "Source and target are exchanged: model(source, words).",
        *("model(source, target[:, :-1])", "model(target[:, :-1], source)"),
    ),
    (
        "Padding is set to 0 and still counted in the mean: divide by the "
        "number of words.",
        "=PAD\n    )",
        '=PAD, reduction="none"\n    ).mean()',
    ),
    (
        "That is the sum over all words; give their mean.",
        *(_WANTED, f'{_WANTED}, reduction="sum"'),
    ),
    (
        "<end> must be learned too: leave out padding, 0, and nothing else.",
        _WANTED,
        "target[:, 1:].where(target[:, 1:] > 3, PAD).flatten(), "
        "ignore_index=PAD",
    ),
    (
        "softmax is taken twice: F.cross_entropy wants the logits.",
        *("logits.flatten(0, 1)", "logits.softmax(-1).flatten(0, 1)"),
    ),
    ("The sign is wrong: a loss is positive.", "return F", "return -F"),
    (NO_GRADIENT, "logits.flatten", "logits.detach().flatten"),
    (NO_GRADIENT, "    )\n", "    ).item()\n"),
    (
        "reshape does not turn a table: it deals the logits out to other "
        "words. flatten(0, 1) keeps each word's row, or transpose(1, 2).",
        *("logits.flatten(0, 1)", "logits.reshape(len(logits), 8, -1)"),
        *("target[:, 1:].flatten()", "target[:, 1:]"),
    ),
    (_OF_ALL, _WANTED, f'{_WANTED}, reduction="none"'),
    (
        _OF_ALL,
        *("logits.flatten(0, 1)", "logits.mT"),
        _WANTED,
        'target[:, 1:], ignore_index=PAD, reduction="none"',
    ),
):
    shifted_loss.slip(_hint, *_typed)


@shifted_loss.slip(
    "You average within each sentence first, and then over sentences. Every "
    "word counts the same."
)
def _sentence_by_sentence(source, target, model):
    logits = model(source, target[:, :-1])
    losses = [
        F.cross_entropy(row, words, ignore_index=PAD)
        for row, words in zip(logits, target[:, 1:], strict=True)
    ]
    return sum(losses) / len(losses)


@shifted_loss.style
def _by_mask(source, target, model):
    logp = model(source, target[:, :-1]).log_softmax(-1)
    said = target[:, 1:]
    return -logp.gather(-1, said[..., None])[..., 0][said != PAD].mean()


@shifted_loss.style
def _word_after_word(source, target, model):
    lost = []
    for x, y in zip(source, target, strict=True):
        logits = model(x[None], y[None, :-1])[0]
        for row, word in zip(logits, y[1:], strict=True):
            if word:
                lost.append(row.logsumexp(0) - row[word])
    return sum(lost) / len(lost)


def writes_backwards_solution(source, target):
    """What a perfectly trained model would say."""
    return looks_backwards_solution(source, target)[0]


@exercise(writes_backwards_solution)
def writes_backwards(mine):
    """A trained Transformer that reverses strings it has never seen."""

    def speak(source, target):
        with torch.no_grad():
            shape = (*target.shape, 30)
            axes = "[batch, target, vocab]"
            return as_tensor(mine(source, target), shape, axes)

    share = written_backwards(speak)
    return (
        f"{share:.0%} of 200 new strings reversed without a mistake, each "
        "written word by word."
    )


writes_backwards.slip(
    _GIVES_NAN,
    lambda source, target: (
        torch.nan * writes_backwards_solution(source, target)
    ),
)
writes_backwards.slip(
    "Shape first",
    lambda source, target: writes_backwards_solution(source, target)[:, -1],
)
writes_backwards.slip(
    "Your model copies the string forwards.",
    lambda source, target: (
        9.0 * F.one_hot(F.pad(source, (0, 1))[:, : target.shape[1]], 30)
    ),
)
