"""How long a small BERT needs to overtake a small GPT; and fine-tuning.

*Curves*: a GPT and a BERT, alike but for mask and training objective, learn
from the English half of the phrasebook. Every 150 updates both are asked for
the third word of new sentences: the GPT from the left, the BERT from both
sides.

*Fine-tuning*: was the picture taken in a street or by the water? The words that
say so are replaced by <unk>. Three stacks of one size learn it from 50 or 200
labeled captions: the book's BERT, its GPT, and one with random weights, which
also gets four times as many passes over the 50. The classifier reads the vector
of one token, of <start> in the place of BERT's [CLS], or of <end> where the
mask is a GPT's.

*Word order*: three tasks that were tried before that one. Were the words of
this caption put in another order?

    python -m lookback.experiments.pretraining
    python -m lookback.experiments.pretraining --only BERT

writes records/pretraining.json.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.experiments.families import over_seeds, rows
from lookback.experiments.runs import bare, campaign
from lookback.families import (
    MASK,
    MASKED,
    Body,
    BodyConfig,
    attention_mask,
    mask_tokens,
    masked_words,
    next_words,
)
from lookback.lab import corpus, phrasebook, weights
from lookback.vocabulary import PAD, Vocabulary

SEEDS = 3
SENTENCES, TESTS = 4000, 1000  # of the phrasebook
UPDATES, EVERY, BATCH, RATE = 1500, 150, 32, 3e-3
SIZES = {"d_model": 64, "layers": 2, "d_ff": 128}
THIRD = 3  # the position of the third word, after <start>
COUNTS = (50, 200)  # labeled captions
PASSES, FINE, FINE_BATCH = 10, 5e-4, 16  # epochs, rate and batch, fine-tuning
LONGER = 40  # epochs, of 50 captions and random weights
ORDERS = ("neighbors", "any two", "four in a row")  # words that are moved
PLACES = (
    {"street", "sidewalk", "road"},
    {"beach", "water", "ocean", "pool", "lake", "river"},
)
UNKNOWN = "<unk>"
HELD_OUT = ("val", "test_2016_flickr")
STARTS = {"BERT": "bert", "GPT": "gpt", "random": None}  # weights


@lru_cache
def read() -> tuple[list[list[str]], list[list[str]], Vocabulary]:
    """English sentences to learn from, new ones, and the vocabulary."""
    vocabulary = Vocabulary([MASKED, *phrasebook.words()[0]])
    learned = [p.source for p in phrasebook.sample(SENTENCES, seed=0)]
    new = [p.source for p in phrasebook.sample(TESTS, seed=1)]
    return learned, new, vocabulary


def pretrain(
    family: str,
    updates: int,
    seed: int = 0,
    share: float = 0.15,
    watch: Callable[[Body], None] = lambda body: None,
) -> Body:
    """A small GPT or BERT, trained on the phrasebook's English."""
    english, _, vocabulary = read()
    torch.manual_seed(seed)
    dice = random.Random(seed)
    body = Body(BodyConfig(len(vocabulary), **SIZES))
    adam = torch.optim.Adam(body.parameters(), RATE)
    for update in range(1, updates + 1):
        tokens = rows(dice.sample(english, BATCH), vocabulary)
        if family == "GPT":
            loss = next_words(body, tokens).mean()
        else:
            corrupted, chosen = mask_tokens(tokens, len(vocabulary), share)
            loss = masked_words(body, corrupted, tokens, chosen).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        if update % EVERY == 0:
            watch(body.eval())
            body.train()
    return body.eval()


@torch.no_grad()
def third_word(body: Body, family: str) -> float:
    """Nats for the third word of new sentences, which is covered."""
    _, new, vocabulary = read()
    tokens = rows(new, vocabulary)
    given, at = tokens.clone(), THIRD - 1  # a GPT answers one position before
    if family == "BERT":
        given[:, THIRD], at = MASK, THIRD
    logits = body(given, attention_mask(given, family))[:, at]
    return float(F.cross_entropy(logits, tokens[:, THIRD]))


def by_frequency() -> float:
    """The same for whoever knows only how frequent each third word is."""
    learned, new, vocabulary = read()
    seen, asked = (rows(s, vocabulary)[:, THIRD] for s in (learned, new))
    counts = torch.bincount(seen, minlength=len(vocabulary)) + 1.0
    return float(-(counts / counts.sum()).log()[asked].mean())


def curves(family: str, seed: int, folder: Path) -> dict:
    """The nats of one family, every EVERY updates."""
    nats: list[float] = []
    pretrain(
        family,
        UPDATES,
        seed,
        watch=lambda body: nats.append(third_word(body, family)),
    )
    return {"nats": nats, "by frequency": by_frequency()}


def of_places(
    captions: Iterable[Sequence[str]],
) -> list[tuple[list[str], int]]:
    """Captions with words of one of PLACES, which become <unk>; and which."""
    found = []
    for words in captions:
        named = [bool(set(words) & place) for place in PLACES]
        if sum(named) == 1:
            rest = [UNKNOWN if w in set.union(*PLACES) else w for w in words]
            found.append((rest, named.index(True)))
    return found


def balanced(
    found: list[tuple[list[str], int]], dice: random.Random
) -> list[tuple[list[str], int]]:
    """In random order, a label 0 and a label 1 in turn."""
    both = [[one for one in found if one[1] == k] for k in (0, 1)]
    for each in both:
        dice.shuffle(each)
    return [one for pair in zip(*both, strict=False) for one in pair]


def moved(words: Sequence[str], order: str, dice: random.Random) -> list[str]:
    """A caption with two neighbors, any two words or four in another order."""
    changed = list(words)
    while changed == list(words):
        if order == "any two":
            places = dice.sample(range(len(words)), 2)
        else:
            count = 2 if order == "neighbors" else 4
            first = dice.randrange(len(words) - count + 1)
            places = list(range(first, first + count))
        for to, source in zip(
            places, dice.sample(places, len(places)), strict=True
        ):
            changed[to] = words[source]
    return changed


def of_orders(
    captions: Iterable[Sequence[str]], order: str, dice: random.Random
) -> list[tuple[list[str], int]]:
    """Captions, every other one with words moved; and whether they were."""
    long = [list(words) for words in captions if len(words) > 4]
    return [
        (moved(words, order, dice) if i % 2 else words, i % 2)
        for i, words in enumerate(dice.sample(long, min(TESTS, len(long))))
    ]


class Classifier(nn.Module):
    """A stack, and a linear layer that reads one token's last vector."""

    def __init__(self, body: Body, family: str, classes: int = 2):
        super().__init__()
        self.body, self.family = body, family
        self.output = nn.Linear(body.config.d_model, classes)

    def forward(
        self, tokens: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch classes"]:
        x = self.body.hidden_states(
            tokens, attention_mask(tokens, self.family)
        )[-1]
        at = 0  # <start>, where BERT has its [CLS]
        if self.family == "GPT":
            at = (tokens != PAD).sum(1) - 1  # <end>, which has seen all
        return self.output(self.body.last(x[torch.arange(len(x)), at]))


def fine_tune(
    model: Classifier,
    tokens: Int[Tensor, "batch length"],
    labels: Int[Tensor, " batch"],
    seed: int = 0,
    passes: int = PASSES,
) -> Classifier:
    """Train all of it, stack and linear layer, on labeled captions."""
    torch.manual_seed(seed)
    adam = torch.optim.Adam(model.parameters(), FINE)
    model.train()
    for _ in range(passes):
        for at in torch.randperm(len(tokens)).split(FINE_BATCH):
            loss = F.cross_entropy(model(tokens[at]), labels[at])
            adam.zero_grad()
            loss.backward()
            adam.step()
    return model.eval()


@lru_cache
def labelled(
    vocabulary: Vocabulary, seed: int, task: str = "places"
) -> tuple[Tensor, ...]:
    """Tokens and labels to learn from, and those of the test."""
    learned = [p.source for p in corpus.load("train")]
    test = [p.source for name in HELD_OUT for p in corpus.load(name)]
    found = []
    for captions, draw in ((learned, seed), (test, 0)):
        dice = random.Random(draw)
        if task == "places":
            pairs = balanced(of_places(captions), dice)
        else:
            pairs = of_orders(captions, task, dice)
        found += [
            rows([words for words, _ in pairs], vocabulary),
            torch.tensor([label for _, label in pairs]),
        ]
    return tuple(found)


def fine_tuned(
    start: str,
    count: int,
    seed: int,
    task: str = "places",
    passes: int = PASSES,
) -> float:
    """Accuracy on captions that nobody has read, after `count` labels."""
    body, vocabulary, _ = weights.load("bert", Body)
    if STARTS[start] is None:
        torch.manual_seed(seed)
        body = Body(body.config)
    else:
        body = weights.load(STARTS[start], Body)[0]
    torch.manual_seed(seed)
    model = Classifier(body.cpu(), "GPT" if start == "GPT" else "BERT")
    tokens, labels, new, truth = labelled(vocabulary, seed, task)
    fine_tune(model, tokens[:count], labels[:count], seed, passes)
    with torch.no_grad():
        said = torch.cat([model(part).argmax(1) for part in new.split(100)])
    return float((said == truth).float().mean())


def fine_tunings(start: str, seed: int, folder: Path) -> dict:
    """One start, for every number of labeled captions and every task."""
    few, many = COUNTS
    found = {str(n): fine_tuned(start, n, seed) for n in COUNTS}
    for order in ORDERS:
        found[order] = fine_tuned(start, many, seed, order)
    if start == "random":
        found["longer"] = fine_tuned(start, few, seed, passes=LONGER)
    return found


def summary(found: dict[str, list[dict]]) -> dict:
    """Means and spreads over the seeds."""
    runs = {name: [bare(run) for run in each] for name, each in found.items()}
    return {
        "by frequency": runs["BERT"][0]["by frequency"],
        "curves": {
            name: over_seeds([run["nats"] for run in runs[name]])
            for name in ("GPT", "BERT")
        },
        "fine-tuning": {
            start: over_seeds(runs[f"fine-tuning {start}"]) for start in STARTS
        },
    }


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "pretraining",
        __doc__,
        {family: partial(curves, family) for family in ("GPT", "BERT")}
        | {f"fine-tuning {s}": partial(fine_tunings, s) for s in STARTS},
        summary,
        config={
            "sentences": SENTENCES,
            "tests": TESTS,
            "updates": UPDATES,
            "every": EVERY,
            "batch": BATCH,
            "rate": RATE,
            "sizes": SIZES,
            "counts": list(COUNTS),
            "places": [sorted(place) for place in PLACES],
            "orders": list(ORDERS),
            "passes": PASSES,
            "longer": LONGER,
            "fine_rate": FINE,
            "fine_batch": FINE_BATCH,
        },
        data=corpus.digests("en", "fr"),
        seeds=SEEDS,
        device=torch.device("cpu"),
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
