"""The exercises of `transformer`: each check beside its reference solution.

What is right comes from plain loops with `math`, and for the Transformer from
a blank file from `torch.nn`, never from the solution.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F
from tqdm.auto import tqdm

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    Answer,
    Hint,
    as_module,
    as_tensor,
    exercise,
    expect,
    fill,
    float64,
    random_inputs,
)
from lookback.exercises.rnnsearch import (
    looks_backwards_solution,
    strings,
    written_backwards,
)
from lookback.vocabulary import END, PAD, START

_BELIEFS = ((0.7, 0.2, 0.1), (0.9998, 0.0001, 0.0001))


def smoothing_by_hand_solution():
    """−Σ_w q_w ln p_w with q = (0.9333, 0.0333, 0.0333), for two p."""
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
        "This is no slip that the check knows. First the smoothed truth q: "
        "0.1 is taken from the true word and dealt out evenly among all "
        "three. Then −Σ q ln p, for each p."
    )
    return (
        "{:.2f} and {:.2f}: being surer than the smoothed truth has its "
        "price.".format(*truth),
        stage(truth, mistakes, otherwise, around(0.006)),
    )


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


class MultiHeadAttention(nn.Module):
    """Concat(head_1, …, head_h) W^O: x looks at memory."""

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
    """Every word looks at every word; then each goes its own way."""

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
    """A look at the words so far, the look back, and the feed-forward part."""

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


def _attend(parts, look, x, memory, mask, heads, slip):
    """One look by its parts, with one slip if asked for."""
    given = {"W_Q": x, "W_K": memory, "W_V": memory}
    q, k, v = (
        F.linear(given[W], *parts[f"{look}.{W}"]) for W in ("W_Q", "W_K", "W_V")
    )
    d_model, d_k = x.shape[-1], x.shape[-1] // heads

    def cut(z):
        if slip in ("cut", "cut and joined"):
            return z.reshape(len(z), heads, -1, d_k)
        if slip == "dealt":
            return z.unflatten(-1, (d_k, heads)).permute(0, 3, 1, 2)
        return torch.stack(z.split(d_k, dim=-1), dim=1)

    if slip == "one head":
        q, k, v = (z.unsqueeze(1) for z in (q, k, v))
    else:
        q, k, v = map(cut, (q, k, v))
    by = {"unscaled": 1, "d_model": d_model**0.5, "d_k": d_k}
    by["one head"] = d_model**0.5
    scores = q @ k.mT / by.get(slip, d_k**0.5)
    hidden = {
        "unmasked": scores,
        "zeroed": scores * mask,
        "inverted": scores.masked_fill(mask, -1e9),
        "after": scores,
    }.get(slip, scores.masked_fill(~mask, -1e9))
    weights = hidden.softmax(-2 if slip == "axis" else -1)
    found = (weights * mask if slip == "after" else weights) @ v
    if slip in ("joined", "cut and joined"):
        joined = found.reshape(x.shape)
    else:
        joined = torch.cat(found.unbind(1), dim=-1)
    if slip == "bare":
        return joined
    return F.linear(joined, *parts[f"{look}.W_O"])


def _around(x, part, gain, bias, slip):
    """LayerNorm(x + part(x)), with one slip if asked for."""

    def norm(z):
        off = z - z.mean(-1, keepdim=True)
        if slip == "no root":
            return gain * off / off.square().mean(-1, keepdim=True) + bias
        if slip == "std":
            return gain * off / z.std(-1, keepdim=True) + bias
        if slip == "along":
            z = z.mT.contiguous()
            z = F.layer_norm(z, z.shape[-1:]).mT
            return gain * z + bias
        return F.layer_norm(z, z.shape[-1:], gain, bias)

    return {
        "pre": lambda: x + part(norm(x)),
        "inside": lambda: x + norm(part(x)),
        "copy": lambda: norm(x) + part(norm(x)),
        "no sum": lambda: norm(part(x)),
        "no norm": lambda: x + part(x),
        "twice": lambda: norm(2 * x + part(x)),
    }.get(slip, lambda: norm(x + part(x)))()


def _layer(parts, x, looks, heads, slip=None):
    """A layer of either kind; looks are (name, memory or None, mask)."""
    came = x
    norms = [parts[f"norm_{i + 1}"] for i in range(len(looks) + 1)]
    norms = norms[:1] * len(norms) if slip == "one norm" else norms
    for i, (look, memory, mask) in enumerate(looks):

        def part(z, look=look, memory=memory, mask=mask):
            at = z if memory is None else memory
            return _attend(parts, look, z, at, mask, heads, slip)

        x = _around(x, part, *norms[i], slip)
    W_1, b_1, W_2, b_2 = parts["feedforward"]
    bend = {"straight": lambda z: z, "gelu": F.gelu}.get(slip, F.relu)

    def network(z):
        return F.linear(bend(F.linear(z, W_1, b_1)), W_2, b_2)

    if slip == "no network":
        return x
    if slip == "old":
        return _around(came, lambda _: network(x), *norms[-1], None)
    return _around(x, network, *norms[-1], slip)


_SLIPS = {
    "The mask is not used: give forbidden places the score −infinity before "
    "softmax.": "unmasked",
    "Your mask is inverted. True = may look, so masked_fill(~mask, "
    "-torch.inf).": "inverted",
    "You mask after the softmax, when the forbidden places have had their "
    "share. Mask the scores.": "after",
    "You set forbidden scores to 0, and exp(0) = 1. The score that gets no "
    "weight is −infinity.": "zeroed",
    "Softmax runs over the words that ask; it belongs over the words that are "
    "looked at, dim=-1.": "axis",
    "The scores are not scaled: divide by √d_k, the root of a head's width.": (
        "unscaled"
    ),
    "You divide by √d_model. A head's scores are sums of d_k products: √d_k, "
    "with d_k = d_model / heads.": "d_model",
    "You divide by d_k and not by its root.": "d_k",
    "The heads are split wrongly: reshape alone mixes words with heads. Cut "
    "the last axis into (heads, d_k) first, then transpose.": "cut",
    "The heads are split wrongly, and joined by the same mistake: cut the "
    "last axis into (heads, d_k), then transpose; on the way back transpose, "
    "then flatten.": "cut and joined",
    "Each head got every heads-th number. Head 1 owns the first d_k numbers: "
    "unflatten(-1, (heads, d_k)).": "dealt",
    "The heads come back mixed: transpose heads and words back before you "
    "flatten.": "joined",
    "One head of full width is at work; split q, k and v into heads.": (
        "one head"
    ),
    "W_O is missing: it mixes what the heads found.": "bare",
    "The norm stands on the wrong side. That is pre-norm, x + f(norm(x)); the "
    "paper has norm(x + f(x)).": "pre",
    "Your sum is around the norm, x + norm(f(x)). The norm takes the sum: "
    "norm(x + f(x)).": "inside",
    "You normalise x first and then add to the normalised one. The sum takes "
    "x as it came, and the norm comes last: norm(x + f(x)).": "copy",
    "The residual connection is missing: norm(x + f(x)).": "no sum",
    "The norms are not used: norm(x + f(x)).": "no norm",
    "You add x twice; does your attention add it already?": "twice",
    "Around the feed-forward part you add what came into the layer. Add what "
    "came into the part, which is the norm's output.": "old",
    "You used one norm for all parts; each part has its own.": "one norm",
    "Your LayerNorm divides by the variance; take its root.": "no root",
    "Your LayerNorm's deviation divides by d − 1. It is the plain mean of the "
    "squares: correction=0.": "std",
    "Your LayerNorm runs along the words. Each word is normalised on its own, "
    "over its d_model numbers: dim=-1.": "along",
    "ReLU is missing in the feed-forward part.": "straight",
    "Your feed-forward part bends with GELU; the paper's has ReLU.": "gelu",
    "The feed-forward part is not used.": "no network",
}
_NOTHING_TO_LOOK_AT = (
    "NaN: somewhere a word may look at nothing at all, and its softmax is "
    "0/0. Is a mask inverted? True = may look, so masked_fill(~mask, "
    "-torch.inf); a word may look at itself, too."
)


def _compare(result, shape, axes, truth, mistakes, real, known=None):
    """The result against the truth where `real` says that words are."""
    found, truth = as_tensor(result, shape, axes, known)[real], truth[real]
    wrong = {hint: value[real] for hint, value in mistakes.items()}
    if found.isfinite().all():
        return expect(found, truth, wrong)
    rows = found.isfinite().all(-1)
    wrong = {hint: value[rows] for hint, value in wrong.items()}
    expect(found[rows], truth[rows], wrong, otherwise=_NOTHING_TO_LOOK_AT)
    raise Hint(_NOTHING_TO_LOOK_AT)


# batch, source, target, d_model, heads, d_ff; where lengths are equal a
# mistake may pass in silence, and where they differ it may not.
_SIZES = ((2, 4, 4, 8, 2, 12), (3, 5, 3, 12, 3, 8))


def _sentences(seed, batch, source, target, d_model):
    """Vectors x and y, and a mask that leaves the second one padded."""
    x, y = random_inputs(
        seed, (batch, source, d_model), (batch, target, d_model)
    )
    lengths = source - torch.arange(batch)
    return x, y, torch.arange(source) < lengths[:, None]


@exercise(EncoderLayer)
def encoder_layer(mine):
    """An encoder layer against nn.TransformerEncoderLayer."""
    for seed, (batch, length, _, d_model, heads, d_ff) in enumerate(_SIZES):
        parts = _drawn(seed, ("attention",), d_model, d_ff)
        module = as_module(mine, d_model, heads, d_ff)
        fill(module, parts)
        x, _, real = _sentences(seed, batch, length, 1, d_model)
        mask = real[:, None, None]
        with torch.no_grad():
            found = Answer(module.forward, ["x", "mask"])(x, mask)
            with torch.random.fork_rng(devices=[]):
                torchs = nn.TransformerEncoderLayer(
                    d_model, heads, d_ff, dropout=0.0, batch_first=True
                )
            _into_torch(torchs, parts)
            x = x.double()
            truth = torchs(x, src_key_padding_mask=~real)
            looks = [("attention", None, mask)]
            mistakes = {
                hint: _layer(parts, x, looks, heads, slip)
                for hint, slip in _SLIPS.items()
            }
        axes = "[batch, source, d_model]"
        _compare(found, x.shape, axes, truth, mistakes, real)
    return (
        "equal to torch's own encoder layer with the same weights, with two "
        "and with three heads, on sentences with padding."
    )


@exercise(DecoderLayer)
def decoder_layer(mine):
    """A decoder layer against nn.TransformerDecoderLayer."""
    for seed, (batch, source, target, d_model, heads, d_ff) in enumerate(
        _SIZES
    ):
        parts = _drawn(seed, ("attention", "cross"), d_model, d_ff)
        module = as_module(mine, d_model, heads, d_ff)
        fill(module, parts)
        x, y, real = _sentences(seed, batch, source, target, d_model)
        mask, causal = real[:, None, None], torch.ones(target, target).tril()
        causal = causal.bool()
        with torch.no_grad():
            names = ["y", "x", "source_mask", "target_mask"]
            found = Answer(module.forward, names)(y, x, mask, causal)
            with torch.random.fork_rng(devices=[]):
                torchs = nn.TransformerDecoderLayer(
                    d_model, heads, d_ff, dropout=0.0, batch_first=True
                )
            _into_torch(torchs, parts)
            x, y = x.double(), y.double()
            truth = torchs(
                y, x, tgt_mask=~causal, memory_key_padding_mask=~real
            )
            own, back = ("attention", None, causal), ("cross", x, mask)

            def layer(*looks, slip=None, y=y, parts=parts, heads=heads):
                return _layer(parts, y, looks, heads, slip)

            every, all_seen = torch.ones_like(mask), torch.ones_like(causal)
            mistakes = {
                "The target mask is not used: a word sees the words that are "
                "still to be said.": layer(("attention", None, all_seen), back),
                "The source mask is not used: the look back sees padding.": (
                    layer(own, ("cross", x, every))
                ),
                "The look back looks at y. Its keys and values come from x, "
                "the encoder's output.": layer(own, ("cross", None, causal)),
                "The look back runs without its own maps: it is `cross` that "
                "looks at x.": layer(own, ("attention", x, mask)),
            }
            if source == target:
                mistakes[
                    "The two masks are exchanged: the target mask is for the "
                    "look at y, the source mask for the look at x."
                ] = layer(("attention", None, mask), ("cross", x, causal))
            mistakes |= {
                hint: layer(own, back, slip=slip)
                for hint, slip in _SLIPS.items()
            }
        axes = "[batch, target, d_model]"
        everywhere = torch.ones(y.shape[:2], dtype=torch.bool)
        _compare(found, y.shape, axes, truth, mistakes, everywhere)
    return (
        "equal to torch's own decoder layer with the same weights: no word "
        "sees what is still to be said, and none sees padding."
    )


def _codes(length, d_model, slip):
    """Sines and cosines of the places, one number after another."""
    first = slip == "from 1"
    codes = []
    for place in range(first, length + first):
        angles = [
            place / 10_000 ** (2 * i / d_model) for i in range(d_model // 2)
        ]
        sines, cosines = map(math.sin, angles), map(math.cos, angles)
        if slip == "blocks":
            codes.append([*sines, *cosines])
        else:
            pairs = zip(sines, cosines, strict=True)
            codes.append([number for pair in pairs for number in pair])
    return float64(codes) * (slip != "no places")


def _whole(parts, E, source, target, heads, slip=None):
    """The model's logits by its parts, with one slip if asked for."""

    def embed(tokens):
        grown = 1 if slip == "no root" else E.shape[1] ** 0.5
        codes = _codes(tokens.shape[1], E.shape[1], slip)
        if slip == "grown places":
            return (E[tokens] + codes) * grown
        return E[tokens] * grown + codes

    encoders, decoders = parts
    if slip == "one layer":
        encoders, decoders = encoders[:1], decoders[:1]
    mask = (source != PAD)[:, None, None]
    every = torch.ones_like(mask)
    square = torch.ones(target.shape[1], target.shape[1]).bool()
    causal = {"seen": square, "future": square.triu()}.get(slip, square.tril())
    if slip == "padded":
        causal = causal & (target != PAD)[:, None, None]
    x, y = embed(source), embed(target)
    levels = []
    for layer in encoders:
        seen = every if slip == "no source mask" else mask
        x = _layer(layer, x, [("attention", None, seen)], heads)
        levels.append(x)
    for i, layer in enumerate(decoders):
        memory = {"levels": levels[i], "raw": embed(source)}.get(slip, x)
        seen = every if slip in ("no source mask", "no cross mask") else mask
        own, back = ("attention", None, causal), ("cross", memory, seen)
        y = _layer(layer, y, [own, back], heads)
    logits = y @ E.T
    return logits.softmax(-1) if slip == "softmax" else logits


_WHOLE_SLIPS = {
    "Positions are missing: add the sines and cosines to the embeddings, on "
    "both sides.": "no places",
    "Your sines stand in one block and your cosines in another. Here they "
    "alternate: sine, cosine, sine, cosine.": "blocks",
    "Your positions begin with 1; the first word stands at 0.": "from 1",
    "√d_model is missing: the embedding is scaled before the positions are "
    "added.": "no root",
    "You scale the positions as well. Only the embedding is multiplied by "
    "√d_model.": "grown places",
    "Source padding is looked at, in the encoder and in the look back: the "
    "mask is source != PAD.": "no source mask",
    "The look back sees the source's padding: it takes the source mask.": (
        "no cross mask"
    ),
    "The causal mask is missing: the decoder sees the words that it must "
    "say.": "seen",
    "Your causal mask is the wrong way round: place i may see the places up "
    "to i, which is tril, and not triu.": "future",
    "Decoder layer i looks at the output of encoder layer i. Every decoder "
    "layer looks at the last one.": "levels",
    "Your decoder looks at the source's embeddings. It looks at what the "
    "encoder made of them.": "raw",
    "Only the first layer of each stack is run.": "one layer",
    "Those are probabilities. Give back the logits, without softmax.": (
        "softmax"
    ),
}


@exercise(Transformer)
def transformer(mine):
    """The whole model against nn.Transformer."""
    source = torch.tensor([[4, 5, 6, 3], [6, 4, 3, 0], [5, 3, 0, 0]])
    target = torch.tensor([[2, 6, 5, 4], [2, 4, 6, 5], [2, 5, 3, 0]])
    for seed, (vocab, d_model, heads, d_ff, layers, length) in enumerate(
        ((7, 8, 2, 12, 2, 4), (9, 12, 4, 8, 3, 3))
    ):
        target = target[:, :length]
        module = as_module(mine, vocab, d_model, heads, d_ff, layers)
        (E,) = random_inputs(seed, (vocab, d_model))
        E = float64(E) / d_model**0.5
        stacks = {"encoder": ("attention",), "decoder": ("attention", "cross")}
        parts = [
            [_drawn(50 * i + len(looks), looks, d_model, d_ff) for i in each]
            for looks, each in zip(
                stacks.values(), [range(layers)] * 2, strict=True
            )
        ]
        wanted = {"embedding": [E]}
        for stack, drawn in zip(stacks, parts, strict=True):
            for i, layer in enumerate(drawn):
                for name, tensors in layer.items():
                    wanted[f"{stack}.{i}.{name}"] = tensors
        fill(module, wanted)
        with torch.no_grad():
            names = ["source", "target"]
            found = Answer(module.forward, names)(source, target)
            truth = _torchs_whole(parts, E, source, target, heads)
            mistakes = {
                hint: _whole(parts, E, source, target, heads, slip)
                for hint, slip in _WHOLE_SLIPS.items()
            }
        known = {
            (3, length, d_model): "Those are the vectors of the last layer: "
            "compare them with the embedding's rows, y @ E.T.",
            (3, length - 1, vocab): "You shift the target inside. The model "
            "is handed what the decoder reads; the loss will do the shift.",
        }
        real = torch.ones_like(target, dtype=torch.bool)
        axes = "[batch, target, vocab]"
        shape = (3, length, vocab)
        _compare(found, shape, axes, truth, mistakes, real, known)
    fresh = as_module(mine, 100, 16, 2, 2, 1).embedding.weight
    if not 0.5 < fresh.std().item() * 16**0.5 < 2:
        raise Hint(
            "The logits are right with the check's weights. But your own "
            f"embedding of width 16 has a standard deviation of "
            f"{fresh.std().item():.2g}, where 1/√16 = 0.25 was wanted: it will "
            "hardly learn, since it also makes the logits."
        )
    return (
        "equal to nn.Transformer with the same weights, two layers and three, "
        "with both masks, on sentences with padding."
    )


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
        codes = _codes(tokens.shape[1], d_model, None)
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


@exercise(shifted_loss_solution)
def shifted_loss(mine):
    """The mean loss of the words that follow, padding left out."""
    vocab = 8
    after, heard = random_inputs(3, (vocab, vocab), (vocab, vocab))

    def model(source, target):
        return after[target] + heard[source].sum(1, keepdim=True)

    source = torch.tensor([[4, 5, 6, 3], [7, 3, 0, 0]])
    target = torch.tensor([[2, 6, 5, 4, 3], [2, 7, 3, 0, 0]])

    def lost(given, wanted, keep, twice=False):
        logits = model(source, given).double()
        logp = logits.log_softmax(-1)
        logp = logp.exp().log_softmax(-1) if twice else logp
        lost = -logp.gather(-1, wanted.unsqueeze(-1)).squeeze(-1)
        return lost * keep, keep.sum()

    left, right = target[:, :-1], target[:, 1:]
    real = (right != PAD).double()
    each, count = lost(left, right, real)
    whole, all_real = lost(target, target, (target != PAD).double())
    seen, _ = lost(right, right, real)
    back, back_real = lost(right, left, (left != PAD).double())
    padded, _ = lost(left, right, torch.ones_like(real))
    softened, _ = lost(left, right, real, twice=True)
    no_end = (right > END).double()
    mistakes = {
        "The targets are not shifted: you ask for the word that has just been "
        "given. target[:, :-1] goes in, target[:, 1:] must come out.": (
            whole.sum() / all_real
        ),
        "The decoder sees the word that it must say: target[:, 1:] is what "
        "comes out, and target[:, :-1] goes in.": seen.sum() / count,
        "You shift the wrong way: it is given a word and asked for the one "
        "before it.": back.sum() / back_real,
        "The loss counts padding: ignore_index=PAD.": padded.mean(),
        "Padding is set to 0 and still counted in the mean: divide by the "
        "number of words.": each.sum() / real.numel(),
        "That is the sum over all words; give their mean.": each.sum(),
        "You average within each sentence first, and then over sentences. "
        "Every word counts the same.": (each.sum(1) / real.sum(1)).mean(),
        "<end> must be learned too: leave out padding, 0, and nothing else.": (
            (each * no_end).sum() / no_end.sum()
        ),
        "softmax is taken twice: F.cross_entropy wants the logits.": (
            softened.sum() / count
        ),
        "The sign is wrong: a loss is positive.": -each.sum() / count,
    }
    known = {
        (8,): "Those are the losses of all places; give the mean over words.",
        tuple(real.shape): "Those are the losses of all places; give the mean "
        "over words.",
    }
    found = as_tensor(mine(source, target, model), (), "one number, []", known)
    expect(found, each.sum() / count, mistakes)
    return "the mean over the words that follow, <end> among them; no padding."


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
