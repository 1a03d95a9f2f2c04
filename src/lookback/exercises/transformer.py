"""The exercises of `transformer`: each check beside its reference solution.

What is right comes from plain loops with `math`, never from the solution.
"""

import math

import torch

from lookback.exercises.checking import (
    Hint,
    as_numbers,
    as_tensor,
    exercise,
    expect,
    float64,
    random_inputs,
)

_BELIEFS = ((0.7, 0.2, 0.1), (0.9998, 0.0001, 0.0001))


def smoothing_by_hand_solution():
    """−Σ_w q_w ln p_w with q = (0.9333, 0.0333, 0.0333), for two p."""
    q = [0.9 + 0.1 / 3, 0.1 / 3, 0.1 / 3]
    return [
        -sum(share * math.log(p) for share, p in zip(q, belief, strict=True))
        for belief in _BELIEFS
    ]  # 0.463, 0.614


@exercise(smoothing_by_hand_solution, by_hand=True)
def smoothing_by_hand(answer):
    """The smoothed loss of two beliefs; the answer is both numbers."""
    found = as_numbers(answer, 2, "the two losses")
    beliefs = float64(_BELIEFS)
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
    truth = [0.463290, 0.614214]
    otherwise = (
        "Not yet right, and no slip that I know. First the smoothed truth q: "
        "0.1 is taken from the true word and dealt out evenly among all "
        "three. Then −Σ q ln p, for each p."
    )
    expect(found, truth, mistakes, tolerance=0.006, otherwise=otherwise)
    return "0.46 and 0.61: being surer than the smoothed truth has its price."


def smoothed_loss_solution(logits, target, epsilon):
    """−Σ_w q_w ln p_w, q = (1 − ε) one-hot + ε / vocab."""
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
    for seed, (batch, vocab, epsilon) in enumerate(
        ((4, 5, 0.1), (1, 3, 0.3), (2, 4, 0.0))
    ):
        (logits,) = random_inputs(seed, (batch, vocab))
        target = torch.arange(batch) % vocab
        known = {
            (): "You summed or averaged over the batch; give one loss a row.",
            (batch, vocab): "The sum over the vocabulary is missing.",
            (batch, 1): "One axis too many: squeeze(-1).",
        }
        found = as_tensor(
            mine(logits, target, epsilon), (batch,), "[batch]", known
        )
        truth = _smooth_loop(logits, target, epsilon)
        plain = _smooth_loop(logits, target, 0.0)
        exact = float64(logits)
        each = exact.log_softmax(-1).sum(-1)
        shares, across = exact.softmax(-1), exact.log_softmax(0)
        mistakes = {
            "ε is not used: that is the plain cross-entropy.": plain,
            "The other words get ε / (vocab − 1) here; the paper's formula "
            "gives every word ε / vocab, the true one too.": (
                (1 - epsilon) * plain
                - epsilon * (each + plain) / max(1, vocab - 1)
            ),
            "You give every word the whole ε: divide it by vocab.": (
                (1 - epsilon) * plain - epsilon * each
            ),
            "1 − ε and ε are exchanged.": (
                epsilon * plain - (1 - epsilon) * each / vocab
            ),
            "The true word keeps weight 1 here; it keeps 1 − ε, so that all "
            "weights sum to 1.": plain - epsilon * each / vocab,
            "You set the true word's share to 1 − ε, in place of its ε / "
            "vocab: it keeps both, so that all shares sum to 1 (add to the "
            "table, where you write over it).": (
                (1 - epsilon) * plain - epsilon * (each + plain) / vocab
            ),
            "You average over the vocabulary; cross-entropy sums.": (
                truth / vocab
            ),
            "The sign is wrong: a loss is positive.": -truth,
            "The logarithm is missing: you mix probabilities.": (
                (epsilon - 1) * shares[torch.arange(batch), target]
                - epsilon * shares.mean(-1)
            ),
            "Softmax runs over the batch; it belongs over the vocabulary, "
            "dim=-1.": (epsilon - 1) * across[torch.arange(batch), target]
            - epsilon * across.mean(-1),
            "You forgot softmax: these are logits, not logarithms of "
            "probabilities.": -(1 - epsilon)
            * exact[torch.arange(batch), target]
            - epsilon * exact.mean(-1),
        }
        expect(found, truth, mistakes, f"for ε = {epsilon}:")
    far = torch.tensor([[0.0, 2000.0, -1000.0]])
    target = torch.tensor([1])
    found = as_tensor(mine(far, target, 0.3), (1,), "[batch]")
    expect(
        found,
        _smooth_loop(far, target, 0.3),
        {},
        otherwise="Right for small logits. For 0, 2000 and −1000 softmax "
        "gives a 0, whose logarithm is infinite: take log_softmax, not the "
        "logarithm of softmax.",
    )
    return "four cases, ε = 0 and logits far apart among them."


def warmup_rate_solution(step, d_model, warmup):
    """d_model^−0.5 · min(step^−0.5, step · warmup^−1.5)."""
    return d_model**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)


@exercise(warmup_rate_solution)
def warmup_rate(mine):
    """The paper's learning rate at each of several steps."""
    step = torch.tensor([1.0, 10.0, 99.0, 100.0, 101.0, 400.0, 4000.0])
    for d_model, warmup in ((512, 100), (64, 400)):
        found = as_tensor(mine(step, d_model, warmup), step.shape, "[steps]")
        rise = [n * warmup**-1.5 for n in step.tolist()]
        fall = [n**-0.5 for n in step.tolist()]
        both = list(zip(rise, fall, strict=True))

        def rate(numbers, d=d_model):
            return [1e3 * x / math.sqrt(d) for x in numbers]

        mistakes = {
            "That is the larger of the two curves; the smaller one counts.": (
                rate(max(pair) for pair in both)
            ),
            "It only falls: step · warmup^−1.5 is missing, or never the "
            "smaller. (Has the exponent −1.5 its minus?)": rate(fall),
            "It only rises: after the warm-up it falls as step^−0.5.": (
                rate(rise)
            ),
            "d_model^−0.5 is missing.": rate(
                (min(pair) for pair in both), d=1.0
            ),
            "You multiply by √d_model; the larger the model, the smaller the "
            "step: divide.": rate((min(pair) for pair in both), d_model**-1.0),
            "d_model^−0.5 stands before min(…), and so belongs to both "
            "curves; yours has it on the fall alone.": [
                min(1e3 * a, b) for a, b in zip(rise, rate(fall), strict=True)
            ],
            "d_model^−0.5 stands before min(…), and so belongs to both "
            "curves; yours has it on the rise alone.": [
                min(a, 1e3 * b) for a, b in zip(rate(rise), fall, strict=True)
            ],
            "You divide by d_model; divide by its square root.": rate(
                (min(pair) for pair in both), d_model**2
            ),
            "The rise is linear in the step: step, not step^0.5.": rate(
                min(n**0.5 * warmup**-1.5, n**-0.5) for n in step.tolist()
            ),
            "warmup^−0.5 in place of warmup^−1.5: the two curves must meet "
            "at step = warmup.": rate(
                min(n * warmup**-0.5, n**-0.5) for n in step.tolist()
            ),
        }
        truth = rate(min(pair) for pair in both)
        given = f"d_model {d_model}, warmup {warmup}, in thousandths:"
        expect(found * 1e3, truth, mistakes, given)
    return "it rises to its peak at step = warmup and falls as 1/√step."


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


_MERGES = (
    (
        ["l", "o", "w", "e", "r"],
        ("l", "o"),
        ["lo", "w", "e", "r"],
        "The two pieces become one, and all others stay.",
        {
            ("l", "o", "w", "e", "r"): "Nothing was merged. If you compare a "
            "slice with pair: a slice of a list is a list, pair is a tuple, "
            "and these two are never equal.",
            ("lo", "w", "e"): "The last piece is lost: it has no neighbour to "
            "its right, and stays all the same.",
            ("lo", "o", "w", "e", "r"): "Both pieces are used up: go on "
            "behind the second.",
            ("lo",): "Give back the whole word, not the new piece alone.",
        },
    ),
    (
        list("banana"),
        ("a", "n"),
        ["b", "an", "an", "a"],
        "The pair may stand in a word more than once: merge all of them.",
        {},
    ),
    (["le", "s"], ("le", "s"), ["les"], "The last two pieces merge too.", {}),
    (
        ["a", "a", "a"],
        ("a", "a"),
        ["aa", "a"],
        "In a a a the first two merge, and the third is left.",
        {
            ("aa", "aa"): "In a a a the first two merge, and the third is "
            "left: a piece can be used only once.",
            ("a", "aa"): "You merge from the right. From left to right the "
            "first two merge, and the third is left.",
            ("aaa",): "You merge again what you have just merged: aa and a "
            "are not the pair.",
        },
    ),
    (
        ["n", "a", "n"],
        ("a", "n"),
        ["n", "an"],
        "The order matters: (a, n) is not (n, a).",
        {},
    ),
    (
        ["a", "b", "n"],
        ("a", "n"),
        ["a", "b", "n"],
        "a and n stand in the word but not side by side: nothing merges.",
        {},
    ),
    (
        ["a", "bc", "ab", "c"],
        ("ab", "c"),
        ["a", "bc", "abc"],
        "The pieces themselves must be the pair. a and bc spell abc too, but "
        "they are not ab and c.",
        {},
    ),
    (
        ["ch", "a", "t"],
        ("h", "a"),
        ["ch", "a", "t"],
        "Pieces are whole: the h inside ch is not a piece of its own. Do "
        "not glue the word together and search in its letters.",
        {},
    ),
    (["x"], ("x", "y"), ["x"], "A single piece stays as it is.", {}),
    ([], ("x", "y"), [], "A word without pieces stays empty.", {}),
)


@exercise(merge_pair_solution)
def merge_pair(mine):
    """One merge of byte-pair encoding on one word."""
    for pieces, pair, truth, hint, slips in _MERGES:
        found = mine(pieces, pair)
        if not isinstance(found, (list, tuple)):
            raise Hint(
                f"Give back a list of pieces; yours is {type(found).__name__}."
            )
        if not all(isinstance(piece, str) for piece in found):
            raise Hint(
                "Each piece is a string: join the two with +, "
                "pieces[i] + pieces[i + 1]."
            )
        if list(found) != truth:
            hint = slips.get(tuple(found), hint)
            raise Hint(
                f"{hint} {pieces} with {pair} gave {list(found)}, not {truth}."
            )
    return "ten words: repeats, overlaps, longer pieces, nothing to merge."


def cached_step_solution(q, k, v, past_k, past_v):
    """softmax(q Kᵀ / √d_k) V, K and V = the past with k and v behind it."""
    K = torch.cat([past_k, k.unsqueeze(1)], dim=1)
    V = torch.cat([past_v, v.unsqueeze(1)], dim=1)
    scores = torch.einsum("bd,btd->bt", q, K) / q.shape[-1] ** 0.5
    return torch.einsum("bt,btd->bd", scores.softmax(dim=-1), V)


def _look(q, keys, values, by=None):
    """One query's context, by loops; keys and values are lists."""
    by = by or math.sqrt(len(q))
    raised = [
        math.exp(sum(a * b for a, b in zip(q, k, strict=True)) / by)
        for k in keys
    ]
    return [
        sum(r * v[i] for r, v in zip(raised, values, strict=True)) / sum(raised)
        for i in range(len(values[0]))
    ]


def _unsoftened(q, keys, values):
    """The sum of the values, each times its score."""
    scores = [
        sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(len(q))
        for k in keys
    ]
    return [
        sum(s * x for s, x in zip(scores, column, strict=True))
        for column in zip(*values, strict=True)
    ]


# What one sentence's q, k, v and cached K and V give with each slip.
_STEPS = {
    "√d_k is missing: divide the scores by it.": (
        lambda q, k, v, K, V: _look(q, [*K, k], [*V, v], by=1)
    ),
    "You divide by d_k, not by its square root.": (
        lambda q, k, v, K, V: _look(q, [*K, k], [*V, v], by=len(q))
    ),
    "You divide by the root of the number of words; d_k is the width of a "
    "key.": lambda q, k, v, K, V: _look(
        q, [*K, k], [*V, v], by=math.sqrt(len(K) + 1)
    ),
    "The new value stands first and its key last, or the other way round: "
    "both belong behind the past.": (
        lambda q, k, v, K, V: _look(q, [k, *K], [*V, v])
    ),
    "You ask with the new key; the query asks.": (
        lambda q, k, v, K, V: _look(k, [*K, k], [*V, v])
    ),
    "Softmax is missing: scores are not weights.": (
        lambda q, k, v, K, V: _unsoftened(q, [*K, k], [*V, v])
    ),
    "You mix the keys; the values are mixed.": (
        lambda q, k, v, K, V: _look(q, [*K, k], [*K, k])
    ),
    "The values are added up, each with weight 1: softmax ran over an axis "
    "of one. It belongs over the words.": (
        lambda q, k, v, K, V: [sum(c) for c in zip(*V, v, strict=True)]
    ),
}
_STEPS_WITH_A_PAST = {
    "The new word does not see itself: its own key and value belong behind "
    "the cached ones.": lambda q, k, v, K, V: _look(q, K, V),
    "The cache is not used: the new word sees only itself.": (
        lambda q, k, v, K, V: v
    ),
    "Your query sees the first word alone. is_causal=True takes it for the "
    "word at place 0; here nothing is hidden, so no mask.": (
        lambda q, k, v, K, V: V[0]
    ),
}


@exercise(cached_step_solution)
def cached_step(mine):
    """One step of masked self-attention with cached keys and values."""
    for seed, (batch, past, d) in enumerate(((2, 3, 5), (3, 0, 4), (1, 5, 2))):
        given = random_inputs(seed, *[(batch, d)] * 3, *[(batch, past, d)] * 2)
        known = {
            (batch, 1, d): "One axis too many: there is one new word.",
            (batch, past + 1): "Those are weights or scores; the values are "
            "still to be mixed.",
        }
        found = as_tensor(mine(*given), (batch, d), "[batch, d]", known)
        rows = list(zip(*(part.tolist() for part in given), strict=True))
        slips = _STEPS | _STEPS_WITH_A_PAST if past else _STEPS
        mistakes = {
            hint: [slip(*row) for row in rows] for hint, slip in slips.items()
        }
        truth = [_look(q, [*K, k], [*V, v]) for q, k, v, K, V in rows]
        expect(found, truth, mistakes, f"with {past} words in the cache:")
    return "equal to attention over the whole past, the empty one included."
