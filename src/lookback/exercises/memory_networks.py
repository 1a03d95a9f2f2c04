"""The exercises of `memory_networks`: each check beside its reference solution.

What is right is found by torch's own attention, by slow loops or by trying
temperatures, never by the solution's formula.
"""

import math

import torch
from torch.nn import functional as F

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
    """Two looks at a memory of two sentences."""
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
        "first: e^(ln 3) = 3 and e^0 = 1, so the shares are ¾ and ¼.": (
            _walk(lambda e: e)
        ),
        "You took the better sentence alone. That is the memory network of "
        "2014; here the other one has a quarter.": _walk(_hard),
        "In the second hop you asked with the old u. It is u' that asks "
        "now.": _walk(ask=True),
        "The shares stand the wrong way round: the larger one belongs to "
        "the larger score.": _walk(swap=True),
        "Those are the shares of 1 : 1. The scores are not equal.": _walk(
            lambda e: torch.full_like(e, 0.5)
        ),
    }
    otherwise = (
        "This is no slip that the check knows. One hop: u · m for both "
        "keys, the softmax, the mean of the values with these shares, and u "
        "added to it."
    )
    return (
        "both times three quarters look at one sentence and a quarter at the "
        "other, and the second look goes the other way.",
        stage(_by_torch(), mistakes, otherwise, around(0.012)),
    )


def add_a_hop_solution(u, M, C):
    """u + Σ p_i c_i and p = softmax_i(u · m_i)."""
    p = (M @ u.unsqueeze(-1)).squeeze(-1).softmax(dim=-1)
    return u + (p.unsqueeze(1) @ C).squeeze(1), p


@exercise(add_a_hop_solution)
def add_a_hop(mine):
    """One hop for a batch of stories."""
    for seed, (batch, source, d) in enumerate(
        ((3, 5, 4), (1, 2, 3), (2, 1, 6))
    ):
        u, M, C = random_inputs(
            seed, (batch, d), (batch, source, d), (batch, source, d)
        )
        found = mine(u, M, C)
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise Hint("Give back two tensors: the new u, and the weights p.")
        swapped = {
            (batch, source): "Those are the weights; the new u is first."
        }
        after = as_tensor(
            found[0],
            (batch, d),
            "[batch, d]",
            {
                **swapped,
                (
                    batch,
                    source,
                    d,
                ): "Add up over the sentences: one vector a story.",
                (
                    batch,
                    1,
                    d,
                ): "An axis of 1 is left over from the product: take "
                "it away, squeeze(1).",
            },
        )
        p = as_tensor(
            found[1],
            (batch, source),
            "[batch, source]",
            {
                (batch, 1, source): "An axis of 1 is left over: squeeze(1).",
                (batch, source, 1): "An axis of 1 is left over: squeeze(-1).",
                (batch, batch): "You multiplied every u with every story.",
            },
        )
        u, M, C = float64(u), float64(M), float64(C)
        truth = torch.stack(
            [
                F.scaled_dot_product_attention(
                    u[b][None], M[b], C[b], scale=1.0
                )[0]
                for b in range(batch)
            ]
        )
        weights = torch.stack(
            [
                F.softmax(torch.tensor([m @ u[b] for m in M[b]]).double(), 0)
                for b in range(batch)
            ]
        )
        e = torch.stack([M[b] @ u[b] for b in range(batch)])
        given = f"for {batch} stories of {source} sentences"
        expect(
            p,
            weights,
            {
                "Your weights sum to 1 over the batch. They are to sum to 1 "
                "over the sentences: dim=-1.": e.softmax(0),
                "Those are the scores; the softmax is missing.": e,
                "You divided the scores by the root of d. That came in 2017; "
                "here they are plain products.": (e / d**0.5).softmax(-1),
                "You compared u with the values. Keys are compared, values "
                "handed back.": torch.stack(
                    [C[b] @ u[b] for b in range(batch)]
                ).softmax(-1),
                "You took the best sentence alone. In a soft look all have a "
                "share: softmax.": torch.stack([_hard(row) for row in e]),
                "That is e to the scores, and not divided by its sum.": e.exp(),
                "Those are the logarithms of the weights.": e.log_softmax(-1),
            },
            f"in the weights, {given}",
        )
        mean = truth
        keys = torch.stack([weights[b] @ M[b] for b in range(batch)])
        expect(
            after,
            u + mean,
            {
                "That is what was found; the question is lost: add u.": mean,
                "You handed the keys back. M is compared, C is handed back.": (
                    u + keys
                ),
                "You added up the values without their weights.": (
                    u + C.sum(1)
                ),
                "You took the mean over the sentences: Σ p_i c_i is a mean "
                "already.": u + mean / source,
                "You added u once for every sentence.": source * u + mean,
                "That is what was found times u, number by number. Add.": (
                    u * mean
                ),
            },
            f"in the new u, {given}",
        )
    return "three batches, one of a single sentence: that one has weight 1."


def tied_solution(E):
    """B = A^1 = E_0, A^k = E_{k−1}, C^k = E_k, W = C^Kᵀ."""
    return E[0], [(E[k], E[k + 1]) for k in range(len(E) - 1)], E[-1].T


@exercise(tied_solution)
def tied(mine):
    """Which table serves where, if neighbours share."""
    for seed, hops in enumerate((3, 1, 2)):
        [E] = random_inputs(seed, (hops + 1, 5, 4))
        found = mine(E)
        if not isinstance(found, (tuple, list)) or len(found) != 3:
            raise Hint("Give back three things: B, the list of pairs, and W.")
        B, pairs, W = found
        if not isinstance(pairs, (tuple, list)) or not all(
            isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs
        ):
            raise Hint("The second thing is a list of pairs (A, C).")
        if len(pairs) != hops:
            raise Hint(
                f"There are {hops} hops here, and {len(E)} tables: each hop "
                f"stands between two neighbours. You gave {len(pairs)} pairs."
            )
        axes = "[vocab, d]"
        B = as_tensor(B, (5, 4), f"B {axes}")
        A, C = (
            torch.stack([as_tensor(pair[i], (5, 4), axes) for pair in pairs])
            for i in (0, 1)
        )
        W = as_tensor(
            W,
            (4, 5),
            "W [d, vocab]",
            {
                (
                    5,
                    4,
                ): "W turns u, d numbers, into a score for every word: the "
                "table, rows and columns exchanged (.T)."
            },
        )
        E = float64(E)
        key = {
            "You swapped keys and values: A^1 comes first, E_0.": E[1:],
            "Every hop has the first table as keys: that is the other way of "
            "tying, by layers. Here the keys of a hop are the values of the "
            "one before.": E[:1].expand(hops, -1, -1),
            "Each hop has tables of its own here, and the neighbours share "
            "none.": E[::2].repeat(2, 1, 1)[:hops],
            "The hops stand in the opposite order.": E[:-1].flip(0),
        }
        value = {
            "C^k is the table AFTER A^k.": E[:-1],
            "All hops hand back from the last table. Each has its own.": E[
                -1:
            ].expand(hops, -1, -1),
            "All hops hand back from the second table. Each has its own.": E[
                1:2
            ].expand(hops, -1, -1),
            "The hops' values stand in the opposite order.": E[1:].flip(0),
        }
        expect(A, torch.stack([*E[:-1]]), key, "in the keys A,")
        expect(C, torch.stack([*E[1:]]), value, "in the values C,")
        expect(
            B,
            E[0],
            {
                "The question is read with the last table. It is to meet the "
                "keys of the first hop.": E[-1],
                "The question is read with the first values. It is to meet the "
                "keys.": E[1],
            },
            "in B,",
        )
        expect(
            W,
            E[-1].T,
            {
                "The answer is written with the first table. What comes out of "
                "the last hop is made of the last values.": E[0].T,
                "The answer is written with the keys of the last hop. What "
                "comes out of it is made of its values.": E[-2].T,
            },
            "in W,",
        )
    return "one, two and three hops: a table more than hops, and no others."


def how_cold_solution(scores, share):
    """T = gap / ln((n − 1) s / (1 − s))."""
    gap = scores.max() - scores.min()
    return gap / math.log((len(scores) - 1) * share / (1 - share))


def _tried(scores, share):
    """The temperature at which the best has the share, by halving."""
    low, high = 1e-6, 1e6
    for _ in range(200):
        middle = (low * high) ** 0.5
        if float((scores / middle).softmax(0).max()) > share:
            low = middle
        else:
            high = middle
    return low


@exercise(how_cold_solution)
def how_cold(mine):
    """The temperature at which the best sentence has a given share."""
    for best, rest, share, n in (
        (3.0, 0.0, 0.99, 12),
        (1.5, 1.0, 0.6, 5),
        (-1.0, -3.0, 0.75, 40),
        (1.0, 0.0, 0.9, 2),
    ):
        scores = torch.full((n,), rest)
        scores[n // 2] = best
        found = as_number(mine(scores, share), "one temperature")
        truth = _tried(float64(scores), share)
        gap, odds = best - rest, share / (1 - share)
        others = math.log((n - 1) * odds)
        expect(
            found,
            truth,
            {
                "You have only one other sentence in the sum; there are n − 1 "
                "of them.": gap / math.log(odds),
                "You count n others; the best sentence is none of them.": (
                    gap / math.log(n * odds)
                ),
                "That is one over the temperature.": others / gap,
                "The gap is divided by the logarithm, not multiplied with it: "
                "the further ahead, the warmer it may be.": gap * others,
                "The sign is wrong: the best has the larger share at a "
                "positive temperature.": -truth,
                "That is the logarithm to base 10; e^x is undone by ln.": (
                    gap / (others / math.log(10))
                ),
                "What is not the best's share, 1 − s, belongs to the others, "
                "and stands below the fraction line.": gap
                / math.log((n - 1) * share),
                "The n − 1 others do not divide, they multiply: the more there "
                "are, the colder it has to be.": gap / math.log(odds / (n - 1)),
                "You took the best score. What counts is how far it is ahead "
                "of the others.": best / others,
            },
            otherwise=f"For {n} sentences, a gap of {gap:g} and a share of "
            f"{share:g} it should be {truth:.4g}; yours is {float(found):.4g}.",
        )
    return "four temperatures, for 2 to 40 sentences."


def margin_loss_solution(scores, right):
    """Σ max(0, 1 − s_right + s_i) over i ≠ right, mean over the batch."""
    rows = torch.arange(len(scores))
    short = (1 - scores[rows, right].unsqueeze(1) + scores).clamp(min=0)
    short[rows, right] = 0
    return short.sum(dim=1).mean()


@exercise(margin_loss_solution)
def margin_loss(mine):
    """What the memory network of 2014 is taught with."""
    for seed, (batch, source) in enumerate(((4, 6), (3, 2), (1, 5))):
        (scores,) = random_inputs(seed, (batch, source))
        scores = 2 * scores
        right = torch.arange(batch) * 3 % source
        found = as_tensor(
            mine(scores, right),
            (),
            "[], one number",
            {
                (batch,): "One number a story; take their mean.",
                (batch, source): "One number for every sentence; add them up.",
            },
        )
        s = float64(scores)
        best = s[torch.arange(batch), right]
        truth, wrong, plain = [], [], []
        for b in range(batch):
            short = [
                max(0.0, float(1 - best[b] + s[b, i]))
                for i in range(source)
                if i != right[b]
            ]
            truth.append(sum(short))
            wrong.append(max(short))
            plain.append(
                sum(
                    float(1 - best[b] + s[b, i])
                    for i in range(source)
                    if i != right[b]
                )
            )
        mean = sum(truth) / batch
        turned = sum(
            max(0.0, float(1 + best[b] - s[b, i]))
            for b in range(batch)
            for i in range(source)
            if i != right[b]
        )
        bare = sum(
            max(0.0, float(s[b, i] - best[b]))
            for b in range(batch)
            for i in range(source)
            if i != right[b]
        )
        expect(
            found,
            mean,
            {
                "You counted the right sentence among the wrong ones: it is "
                "never ahead of itself, and each story costs 1 too much.": (
                    mean + 1
                ),
                "That is the sum over the batch; take the mean.": sum(truth),
                "You took the mean over the sentences; they are added up.": (
                    mean / (source - 1)
                ),
                "You took the mean over all sentences, the right one too; the "
                "wrong ones are added up.": mean / source,
                "You took the worst of the wrong sentences. All of them "
                "count.": sum(wrong) / batch,
                "What is more than 1 behind costs nothing, and earns nothing: "
                "clamp at 0.": sum(plain) / batch,
                "The sign is the other way round: the wrong one's score makes "
                "it dearer, the right one's cheaper.": turned / batch,
                "The margin is missing: it is not enough to be ahead, it has "
                "to be ahead by 1.": bare / batch,
                "That is the softmax's cross-entropy. It never comes to rest; "
                "the margin does.": float(F.cross_entropy(s, right)),
            },
            f"for {batch} stories of {source} sentences",
        )
    return "three batches; a story that is right by 1 everywhere costs nothing."
