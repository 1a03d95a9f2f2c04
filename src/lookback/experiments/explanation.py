r"""Do the weights of a look say why a word was written?

The questions of Jain & Wallace 2019 (arXiv 1902.10186), and the answers of
Wiegreffe & Pinter 2019 (arXiv 1908.04626), asked of the book's translators:
RNNsearch on the phrasebook and on captions, the Transformer on captions. All
are made to write the right translations, and are asked at every word.

    total variation   TV(p, q) = ½ Σ_y |p(y) − q(y)|            of next words
    divergence        JS(α, β) = ½ KL(α ‖ μ) + ½ KL(β ‖ μ)      of weights
                      μ = ½ (α + β); at most ln 2
    rank correlation  τ(a, b) = Σ_{j<k} sign(a_j − a_k) sign(b_j − b_k)
                      over the number of pairs that are no ties (τ_b)

*Other weights*: the weights in another order, and those found by gradient that
are as different as possible while the next word stays within TV = ε. *Other
measures*: gradient times word vector, and what changes when a word is left out
of the sentence. *One model*: small models are trained anew on short sentences
of the phrasebook, some to say what a first one says with other weights, and
readers that see single words take over the weights of these. Writes
records/explanation.json.

    python -m lookback.experiments.explanation
    python -m lookback.experiments.explanation --only phrasebook

Departures: Jain and Wallace classify sentences; they stop the gradient at the
look, and look for several such weights at once.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.experiments.alignment import RECURRENT, WIDTH
from lookback.experiments.runs import bare, campaign
from lookback.heads import attention_weights
from lookback.kv_cache import KVCache
from lookback.lab import corpus, metrics, phrasebook, weights
from lookback.lab.corpus import Batch, Pair, batches, collate
from lookback.layers import DecoderLayer
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer
from lookback.translator import Translator
from lookback.vocabulary import PAD, Vocabulary

COMPARED, ORDERS = 16, 10  # sentences for τ; orders of the weights
EPSILON, SEARCH, RATE = 0.05, 100, 0.2  # of the search for other weights
EVERY = 4  # words; at one of them other weights are sought
FAR = 0.35  # of ln 2 = 0.69: about half of what is possible
SMALL_SEEDS = 3  # of the small models
PAIRS, EPOCHS, BATCH, TESTS = 2000, 6, 32, 300  # on which they are trained
TINY = 1e-12  # stands in for 0 in a logarithm
PRICES = (1.0,)  # of looking where the first model looks
SUBJECTS = {  # weights, class, how many sentences
    "phrasebook": ("phrasebook", RNNsearch, 40),
    "captions": ("rnnsearch", RNNsearch, 40),
    "Transformer": ("transformer", Transformer, 24),
}


def total_variation(
    p: Float[Tensor, "*batch vocab"], q: Float[Tensor, "*batch vocab"]
) -> Float[Tensor, "*batch"]:
    """½ Σ |p − q|: by how much one distribution differs from another."""
    return (p - q).abs().sum(-1) / 2


def divergence(
    a: Float[Tensor, "*batch source"], b: Float[Tensor, "*batch source"]
) -> Float[Tensor, "*batch"]:
    """JS(a, b) in nats: 0 if they are alike, ln 2 if they share nothing."""
    middle = (a + b) / 2

    def kl(x: Tensor) -> Tensor:
        ratio = x.clamp_min(TINY) / middle.clamp_min(TINY)
        return (x * ratio.log()).sum(-1)

    return (kl(a) + kl(b)) / 2


def kendall(
    a: Float[Tensor, "*batch source"],
    b: Float[Tensor, "*batch source"],
    counts: Bool[Tensor, "*batch source"],
) -> Float[Tensor, "*batch"]:
    """τ_b over the places that count; 0 where one of the two is constant."""

    def signs(x: Tensor) -> Tensor:
        found = (x[..., :, None] - x[..., None, :]).sign()
        return found * (counts[..., :, None] & counts[..., None, :])

    s, t = signs(a), signs(b)
    pairs = (s.square().sum((-2, -1)) * t.square().sum((-2, -1))).sqrt()
    return (s * t).sum((-2, -1)) / pairs.clamp_min(1)


class Moment(NamedTuple):
    """The step at which one word is written, for a batch of sentences."""

    token: Int[Tensor, " batch"]  # the word before
    state: tuple
    memory: tuple
    own: Float[Tensor, "batch heads source"]  # the model's own weights
    places: Bool[Tensor, "batch source"]  # that can be looked at
    wanted: Int[Tensor, " batch"]  # the word itself, PAD behind the end


def says(
    model: Translator, now: Moment, look: Float[Tensor, "batch heads source"]
) -> Float[Tensor, "batch vocab"]:
    """The next word's distribution if the weights are these."""
    if isinstance(model, RNNsearch):
        return rnnsearch_says(model, now, look)
    return transformer_says(model, now, look)


def rnnsearch_says(model: RNNsearch, now: Moment, look: Tensor) -> Tensor:
    """RNNsearch has a single look."""
    embedded = model.target_embedding(now.token)
    context = torch.einsum("bs,bsd->bd", look[:, 0], now.memory.values)
    fed = torch.cat([embedded, context], dim=-1)
    hidden = model.decoder(fed, now.state.hidden)
    return model.readout(hidden, embedded, context).softmax(-1)


def transformer_says(model: Transformer, now: Moment, look: Tensor) -> Tensor:
    """A decoder step whose cross-attention has these weights, by layer."""
    caches = [KVCache(*pair) for pair in now.state]
    y = model.target_embedding(now.token[:, None], caches[0].length)
    looks = look.unflatten(1, (len(model.decoder), -1))[:, :, :, None]
    for i, layer in enumerate(model.decoder):
        found = looks[:, i] @ now.memory.layers[i][1]
        change = layer.cross.W_O(found.transpose(1, 2).flatten(2))
        y = with_cross(layer, y, change, caches[i])
    return model.logits(model.after_decoder(y))[:, 0].softmax(-1)


def with_cross(
    layer: DecoderLayer, y: Tensor, change: Tensor, cache: KVCache
) -> Tensor:
    """A decoder layer whose cross-attention has this result."""
    y = layer.around_attention(y, lambda y: layer.attention(y, None, cache)[0])
    y = layer.around_cross(y, lambda _: change)
    return layer.around_feedforward(y, layer.feedforward)


@torch.no_grad()
def moments(model: Translator, batch: Batch) -> Iterator[Moment]:
    """Every step of writing the right translations."""
    memory = model.encode(batch.source)
    state = model.start(memory)
    pairs = zip(batch.target_in.T, batch.target_out.T, strict=True)
    for token, wanted in pairs:
        if isinstance(model, RNNsearch):
            _, after, own = model.step(token, state, memory)
            own = own[:, None]
        else:
            crosses = [layer.cross for layer in model.decoder]
            with attention_weights(*crosses) as looks:
                _, after, _ = model.step(token, state, memory)
            own = torch.cat([each[:, :, 0] for each in looks], dim=1)
        places = batch.source != PAD
        yield Moment(token, state, memory, own, places, wanted)
        state = after


def reordered(now: Moment) -> Float[Tensor, "batch heads source"]:
    """The weights in another order, the same one for all heads."""
    key = torch.rand(now.places.shape).masked_fill(~now.places, 2.0)
    order = key.argsort(-1)  # padding stays behind
    at = order.argsort(-1)[:, None].expand_as(now.own)
    return now.own.gather(-1, at)


def most_different(
    model: Translator,
    now: Moment,
    free: Bool[Tensor, " heads"],
    epsilon: float = EPSILON,
) -> Float[Tensor, "batch heads source"]:
    """The weights found that differ most while the next word stays the same.

    max JS(β, α)  so that  TV(what β says, what α says) ≤ ε,  by Adam on the
    logits of β: once from a random start, once from near α. Heads that are not
    `free` stay as they are.
    """
    with torch.no_grad():
        before = says(model, now, now.own)
    best, far = now.own.clone(), now.own.new_zeros(len(now.own))
    shut = ~now.places[:, None]
    noise = torch.randn(2, *now.own.shape)
    for start in (noise[0], now.own.clamp_min(1e-6).log() + noise[1] / 2):
        z = start.clone().requires_grad_()
        adam = torch.optim.Adam([z], lr=RATE)
        for _ in range(SEARCH):
            other = z.masked_fill(shut, -torch.inf).softmax(-1)
            other = torch.where(free[:, None], other, now.own)
            moved = total_variation(says(model, now, other), before)
            apart = divergence(other, now.own)[:, free].mean(-1)
            with torch.no_grad():
                better = (moved <= epsilon) & (apart > far)
                best[better], far[better] = other[better], apart[better]
            loss = 20 * F.relu(moved - 0.8 * epsilon) - apart
            adam.zero_grad()
            loss.sum().backward()
            adam.step()
    return best


def uniform(now: Moment) -> Float[Tensor, "batch heads source"]:
    """All places alike."""
    alike = now.places / now.places.sum(-1, keepdim=True)
    return alike[:, None].expand_as(now.own)


def other_weights(
    model: Translator, now: Moment, seek: bool
) -> dict[str, Float[Tensor, " batch"]]:
    """What becomes of the next word with other weights; `seek` is slow."""
    before = says(model, now, now.own)

    def moved(look: Tensor) -> Tensor:
        return total_variation(says(model, now, look), before)

    def apart(look: Tensor) -> Tensor:
        return divergence(look, now.own).mean(-1)

    orders = [reordered(now) for _ in range(ORDERS)]
    found = {
        "largest": now.own.mean(1).amax(-1),
        "right": (before.argmax(-1) == now.wanted).float(),
        "reordered": torch.stack([*map(moved, orders)]).median(0)[0],
        "reordered, apart": torch.stack([*map(apart, orders)]).median(0)[0],
        "uniform": moved(uniform(now)),
        "uniform, apart": apart(uniform(now)),
    }
    if seek:
        free = torch.ones(now.own.shape[1], dtype=torch.bool)
        found["found"] = apart(most_different(model, now, free))
    if seek and isinstance(model, Transformer):
        free[: -len(free) // len(model.decoder)] = False  # but the last layer
        look = most_different(model, now, free)[:, free]
        found["found in the last layer"] = divergence(
            look, now.own[:, free]
        ).mean(-1)
    return found


def distributions(
    model: Translator, batch: Batch
) -> Float[Tensor, "batch target vocab"]:
    """What it says at every word of the right translation."""
    return model(batch.source, batch.target_in).softmax(-1)


def gradients(
    model: Translator, batch: Batch
) -> Float[Tensor, "batch target source"]:
    """|∂ log p(y_i) / ∂x_j · x_j|: how the word would change with x_j."""
    kept = []
    words = model.source_embedding
    words = words if isinstance(words, nn.Embedding) else words.words

    def hold(module: nn.Module, given: tuple, vectors: Tensor) -> Tensor:
        kept.append(vectors.detach().requires_grad_())
        return kept[0]

    handle = words.register_forward_hook(hold)
    logits = model(batch.source, batch.target_in)
    handle.remove()
    log_p = logits.log_softmax(-1).gather(-1, batch.target_out[..., None])
    found = [
        torch.autograd.grad(one.sum(), kept[0], retain_graph=True)[0]
        for one in log_p.unbind(1)
    ]
    return torch.stack([(g * kept[0].detach()).sum(-1).abs() for g in found], 1)


@torch.no_grad()
def left_out(
    model: Translator, row: Int[Tensor, " _"], batch: Batch
) -> Float[Tensor, "target source"]:
    """TV(p, p without word j) at every word, for a batch of one sentence."""
    keep = ~torch.eye(len(row) - 1, len(row), dtype=torch.bool)
    without = row.expand(len(row) - 1, -1)[keep].view(len(row) - 1, -1)
    given = batch.target_in.expand(len(without), -1)
    other = model(without, given).softmax(-1)
    whole = distributions(model, batch).expand_as(other)
    return total_variation(other, whole).T


def closeness(target: int, source: int) -> Float[Tensor, "target source"]:
    """A measure that looks at nothing: how near the diagonal a place is."""
    i = torch.arange(target) / max(1, target - 1)
    j = torch.arange(source) / max(1, source - 1)
    return -(i[:, None] - j).abs()


def agreement(
    model: Translator, pair: Pair, source: Vocabulary, target: Vocabulary
) -> list[dict[str, float]]:
    """τ of the weights with other measures, at every word of a sentence.

    The weights are those of the last layer, the mean of its heads; <end> of
    the source has no part in it.
    """
    batch = collate([pair], source, target)
    n = len(pair.source)
    looks = [
        model.step(now.token, now.state, now.memory)[2][0, :n]
        for now in moments(model, batch)
    ]
    a = torch.stack(looks).detach()
    measures = {
        "weights": a,
        "gradient": gradients(model, batch)[0, :, :n],
        "left out": left_out(model, batch.source[0], batch),
        "closeness": closeness(len(a), n),
        "chance": torch.rand(a.shape),
    }
    counts = torch.ones(a.shape, dtype=torch.bool)
    pairs = (
        ("weights", "gradient"),
        ("weights", "left out"),
        ("gradient", "left out"),
        ("closeness", "left out"),
        ("chance", "left out"),
    )
    found = {
        f"{one}, {other}": kendall(measures[one], measures[other], counts)
        for one, other in pairs
    }
    found["same top"] = (
        a.argmax(-1) == measures["left out"].argmax(-1)
    ).double()
    return [
        {name: float(values[i]) for name, values in found.items()}
        for i in range(len(a))
    ]


def asked(name: str, seed: int, folder: Path) -> dict:
    """All questions to one of SUBJECTS, with the draws of one seed."""
    file, kind, count = SUBJECTS[name]
    model, source, target = weights.load(file, kind)
    model.cpu().eval().requires_grad_(False)
    torch.manual_seed(seed)
    if name == "phrasebook":
        drawn = phrasebook.sample(count, seed=3)
        pairs = [Pair(each.source, each.target) for each in drawn]
    else:
        pairs = corpus.load("test_2016_flickr")[:count]
    found: dict[str, list[Tensor]] = {}
    batch = collate(pairs, source, target)
    for i, now in enumerate(moments(model, batch)):
        here = now.wanted != PAD
        for key, x in other_weights(model, now, i % EVERY == 0).items():
            found.setdefault(key, []).append(x[here])
    words = [
        one
        for pair in pairs[:COMPARED]
        for one in agreement(model, pair, source, target)
    ]
    by_word = {key: torch.cat(x) for key, x in found.items()}
    sought = [key for key in by_word if key.startswith("found")]
    return {
        "words": len(by_word["reordered"]),
        "sought": len(by_word["found"]),
        "other": {key: spread(x) for key, x in by_word.items()},
        "far": {
            key: float((by_word[key] > FAR).float().mean()) for key in sought
        },
        "curve": by_largest(by_word["largest"], by_word["reordered"]),
        "compared": len(words),
        "tau": {
            key: spread(torch.tensor([one[key] for one in words]))
            for key in words[0]
        },
    }


def spread(x: Float[Tensor, " words"]) -> dict[str, float]:
    """Mean, standard deviation and some quantiles over the words."""
    levels = (0.1, 0.5, 0.9)
    at = x.double().quantile(torch.tensor(levels, dtype=torch.float64))
    named = {
        f"q{level}": q for level, q in zip(levels, at.tolist(), strict=True)
    }
    return {"mean": float(x.mean()), "sd": float(x.std()), **named}


def by_largest(largest: Tensor, moved: Tensor) -> list[dict]:
    """How much the next word moves, by how large the largest weight is."""
    found = []
    for low in (0.0, 0.25, 0.5, 0.75):
        at = (largest >= low) & (largest < low + 0.25 + (low == 0.75))
        if at.sum() > 9:
            row = {"from": low, "words": int(at.sum())}
            found.append(row | spread(moved[at]))
    return found


class Gist(nn.Module):
    """A reader of single words: whatever it knows of the sentence, weights
    have brought it. p(y_i) = softmax of a readout of [Σ_j α_ij E x_j; E y_i−1].
    """

    def __init__(self, config: RNNsearchConfig):
        super().__init__()
        d = config.embed
        self.source = nn.Embedding(config.source_vocab, d, PAD)
        self.target = nn.Embedding(config.target_vocab, d, PAD)
        self.inside = nn.Linear(2 * d, 2 * d)
        self.output = nn.Linear(2 * d, config.target_vocab)

    def forward(
        self, batch: Batch, look: Float[Tensor, "batch target source"]
    ) -> Float[Tensor, "batch target vocab"]:
        given = [look @ self.source(batch.source), self.target(batch.target_in)]
        return self.output(torch.relu(self.inside(torch.cat(given, -1))))


def told(
    model: RNNsearch, batch: Batch
) -> tuple[
    Float[Tensor, "batch target vocab"], Float[Tensor, "batch target source"]
]:
    """Logits and weights at every word of the right translation."""
    memory = model.encode(batch.source)
    state, logits, looks = model.start(memory), [], []
    for token in batch.target_in.unbind(1):
        now, state, look = model.step(token, state, memory)
        logits.append(now)
        looks.append(look)
    return torch.stack(logits, 1), torch.stack(looks, 1)


def teach(
    model: nn.Module, loss: Callable[[Batch], Tensor], made: "Short", seed: int
) -> None:
    """Train by Adam on the short sentences; the rate falls to 0."""
    torch.manual_seed(seed)
    adam = torch.optim.Adam(model.parameters(), 3e-3)
    parts = [
        part
        for epoch in range(EPOCHS)
        for part in batches(made.pairs, BATCH, 1000 * seed + epoch)
    ]
    falling = torch.optim.lr_scheduler.LinearLR(adam, 1, 0, len(parts))
    model.train()
    for part in parts:
        adam.zero_grad()
        loss(collate(part, made.source, made.target)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        falling.step()
    model.eval()


class Short(NamedTuple):
    """Short sentences of the phrasebook, and its words."""

    pairs: list[Pair]
    tests: list[phrasebook.Pair]
    source: Vocabulary
    target: Vocabulary


def short() -> Short:
    known = phrasebook.sample(PAIRS, seed=0, length="short")
    seen = {tuple(each.source) for each in known}
    tests = phrasebook.sample(TESTS, seed=1, length="short")
    return Short(
        [Pair(each.source, each.target) for each in known],
        [each for each in tests if tuple(each.source) not in seen],
        *(Vocabulary(words) for words in phrasebook.words()),
    )


def fresh(made: Short, seed: int) -> RNNsearch:
    """A small RNNsearch, undrilled."""
    torch.manual_seed(seed)
    vocabularies = len(made.source), len(made.target)
    sizes = {"align": WIDTH, "dropout": 0.0, **RECURRENT}
    return RNNsearch(RNNsearchConfig(*vocabularies, **sizes))


def nll(logits: Tensor, batch: Batch) -> Tensor:
    """Mean −log p of the right words."""
    wanted = batch.target_out.flatten()
    return F.cross_entropy(logits.flatten(0, 1), wanted, ignore_index=PAD)


def imitates(base: RNNsearch, price: float) -> Callable:
    """Wiegreffe and Pinter's loss: say the same, look elsewhere.

    TV(what both say) − price · JS(where both look), means over the words.
    """

    def loss(model: RNNsearch, batch: Batch) -> Tensor:
        with torch.no_grad():
            said, looked = told(base, batch)
        logits, looks = told(model, batch)
        there = batch.target_out != PAD
        same = total_variation(logits.softmax(-1), said.softmax(-1))
        return (same - price * divergence(looks, looked))[there].mean()

    return loss


@torch.no_grad()
def compared(base: RNNsearch, model: RNNsearch, made: Short) -> dict:
    """What both say and where both look, on new sentences."""
    pairs = [Pair(each.source, each.target) for each in made.tests]
    batch = collate(pairs, made.source, made.target)
    there = batch.target_out != PAD
    (one, a), (two, b) = told(base, batch), told(model, batch)
    rows = zip(b, made.tests, strict=True)
    found = [
        metrics.links(x[: len(p.target), : len(p.source)]) for x, p in rows
    ]
    right = (two.argmax(-1) == batch.target_out)[there]
    return {
        "right": float(right.float().mean()),
        "said apart": float(
            total_variation(one.softmax(-1), two.softmax(-1))[there].mean()
        ),
        "looked apart": float(divergence(a, b)[there].mean()),
        "aer": metrics.alignment_error_rate(
            found, [each.alignment for each in made.tests]
        ),
    }


def guided(look: Callable[[Batch], Tensor], made: Short, seed: int) -> float:
    """How many words a reader of single words gets right, its weights given."""
    torch.manual_seed(seed)
    reader = Gist(fresh(made, seed).config)
    teach(reader, lambda b: nll(reader(b, look(b)), b), made, seed)
    pairs = [Pair(each.source, each.target) for each in made.tests]
    batch = collate(pairs, made.source, made.target)
    there = batch.target_out != PAD
    with torch.no_grad():
        said = reader(batch, look(batch)).argmax(-1)
    return float((said == batch.target_out)[there].float().mean())


def small_models(seed: int) -> dict:
    """A first model, one of another seed, and those that imitate the first."""
    made = short()
    base, other = fresh(made, seed), fresh(made, seed + 100)
    for i, model in enumerate((base, other)):
        teach(
            model,
            lambda b, model=model: nll(told(model, b)[0], b),
            made,
            seed + 100 * i,
        )
    models = {"another seed": other}
    for price in PRICES:
        model, loss = fresh(made, seed + 200), imitates(base, price)
        teach(model, lambda b, m=model, f=loss: f(m, b), made, seed + 200)
        models[f"price {price}"] = model

    def looks_of(model: RNNsearch) -> Callable[[Batch], Tensor]:
        def look(batch: Batch) -> Tensor:
            with torch.no_grad():
                return told(model, batch)[1]

        return look

    def alike(batch: Batch) -> Tensor:
        there = (batch.source != PAD).float()
        row = there / there.sum(-1, keepdim=True)
        return row[:, None].expand(-1, batch.target_in.shape[1], -1)

    readers = {"uniform": alike, "first": looks_of(base)}
    readers |= {name: looks_of(model) for name, model in models.items()}
    return {
        "first": compared(base, base, made),
        **{name: compared(base, one, made) for name, one in models.items()},
        "readers": {
            name: guided(look, made, seed) for name, look in readers.items()
        },
    }


def one_model(seed: int, folder: Path) -> dict:
    """The same for several first models."""
    return over_seeds([small_models(n) for n in range(SMALL_SEEDS)])


def over_seeds(parts: list) -> object:
    """Numbers become their mean, their spread and each."""
    first = parts[0]
    if isinstance(first, dict):
        return {key: over_seeds([one[key] for one in parts]) for key in first}
    if isinstance(first, list):
        return [over_seeds(list(each)) for each in zip(*parts, strict=True)]
    apart = stdev(parts) if len(parts) > 1 else 0.0
    return {"mean": mean(parts), "spread": apart, "each": parts}


def summary(found: dict[str, list[dict]]) -> dict:
    """Each part as it is."""
    return {name: bare(runs[0]) for name, runs in found.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "explanation",
        __doc__,
        {name: partial(asked, name) for name in SUBJECTS}
        | {"one model": one_model},
        summary,
        config={
            "sentences": {name: one[2] for name, one in SUBJECTS.items()},
            "compared": COMPARED,
            "orders": ORDERS,
            "epsilon": EPSILON,
            "search": SEARCH,
            "every": EVERY,
            "far": FAR,
            "pairs": PAIRS,
            "epochs": EPOCHS,
            "batch": BATCH,
            "tests": TESTS,
            "small_seeds": SMALL_SEEDS,
            "prices": list(PRICES),
        },
        data=corpus.digests("en", "fr"),
        needed=SUBJECTS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
