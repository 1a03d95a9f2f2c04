"""Two stacks or one: does a translator need an encoder of its own?

English to French on the phrasebook, four layers in all. Two stacks are the
Transformer's, two layers each, and the second looks at the first. One stack
has the English and the French in one row: with the prefix mask (in the record
"T5's mask"), under which the English words see one another; with GPT's, under
which they see only what is left of them; and with GPT's, asked for the next
English word as well. Three seeds, the same sentences and updates.

    python -m lookback.experiments.stacks

writes records/stacks.json. Needs no corpus.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lookback.experiments.families import curve, over_seeds, teach
from lookback.experiments.runs import Fitted, campaign, said
from lookback.families import attention_mask
from lookback.lab import metrics, phrasebook, training
from lookback.lab.corpus import Pair, batches, collate
from lookback.lab.training import device
from lookback.layers import Embedding, EncoderLayer, xavier
from lookback.transformer import Transformer, TransformerConfig
from lookback.translator import Translator
from lookback.vocabulary import PAD, Vocabulary

SEEDS = 3
PAIRS, EPOCHS, TESTS = 8_000, 2, 300
BATCH, RATE, WARMUP = 32, 2e-3, 100
D, LAYERS = 64, 4
SIZES = dict(
    d_model=D, heads=4, d_ff=4 * D, dropout=0.0, norm="pre", activation="gelu"
)
MACHINES = {  # the mask, and whether the English is asked for too
    "two stacks": None,
    "one, T5's mask": ("T5", False),
    "one, GPT's mask": ("GPT", False),
    "one, English too": ("GPT", True),
}


class Source(NamedTuple):
    """All that one stack remembers: the English, to be read again."""

    words: Int[Tensor, "batch source"]


class Written(NamedTuple):
    """The French so far."""

    words: Int[Tensor, "batch target"]


class OneStack(Translator):
    """English and French in one row, and one stack over both.

    Embeddings, positions and output are those of the two stacks: each language
    has its own words, and its places are counted from 0.
    """

    def __init__(self, config: TransformerConfig, family: str):
        super().__init__()
        self.config, self.family = config, family
        sizes = config.d_model, config.positions, config.dropout
        self.english = Embedding(config.source_vocab, *sizes)
        self.french = Embedding(config.target_vocab, *sizes)
        self.layers = torch.nn.ModuleList(
            EncoderLayer(config) for _ in range(config.layers)
        )
        self.last = torch.nn.LayerNorm(config.d_model)
        xavier(self.layers)

    def states(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> tuple[
        Float[Tensor, "batch source d_model"],
        Float[Tensor, "batch target d_model"],
    ]:
        """The top of the stack, at the English and at the French words."""
        tokens = torch.cat([source, target_in], dim=1)
        length = torch.full_like(source[:, 0], source.shape[1])
        mask = attention_mask(tokens, self.family, length)
        x = torch.cat([self.english(source), self.french(target_in)], dim=1)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.last(x)
        return x[:, : source.shape[1]], x[:, source.shape[1] :]

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        return F.linear(
            self.states(source, target_in)[1], self.french.words.weight
        )

    def encode(self, source: Tensor) -> Source:
        return Source(source)

    def start(self, memory: Source) -> Written:
        return Written(memory.words[:, :0])

    def step(self, token: Tensor, state: Written, memory: Source):
        """It reads everything again for every word."""
        words = torch.cat([state.words, token[:, None]], dim=1)
        return self(memory.words, words)[:, -1], Written(words), None


def make(name: str, source: int, target: int) -> Translator:
    """One of MACHINES."""
    if MACHINES[name] is None:
        half = TransformerConfig(source, target, layers=LAYERS // 2, **SIZES)
        return Transformer(half)
    config = TransformerConfig(source, target, layers=LAYERS, **SIZES)
    return OneStack(config, MACHINES[name][0])


@lru_cache
def sentences() -> tuple[list[Pair], list[Pair]]:
    """Pairs to learn from, and others to be tested on."""
    learned = phrasebook.sample(PAIRS, seed=0)
    known = {tuple(one.source) for one in learned}
    tests = phrasebook.sample(2 * TESTS, seed=1)
    new = [one for one in tests if tuple(one.source) not in known]
    return tuple(
        [Pair(one.source, one.target) for one in some]
        for some in (learned, new[:TESTS])
    )


def run(name: str, seed: int, folder: Path) -> dict:
    """Train one of them, and have it translate."""
    learned, tests = sentences()
    source, target = (Vocabulary(words) for words in phrasebook.words())
    torch.manual_seed(seed)
    model = make(name, len(source), len(target)).to(device())
    plan = [
        collate(part, source, target)
        for epoch in range(EPOCHS)
        for part in batches(learned, BATCH, 1000 * seed + epoch)
    ]
    ask_english = bool(MACHINES[name]) and MACHINES[name][1]

    def loss(update: int) -> Tensor:
        batch = plan[update].to(device())
        wanted = batch.target_out
        if not ask_english:
            logits = model(batch.source, batch.target_in)
            return training.loss(logits, wanted) / (wanted != PAD).sum()
        english, french = model.states(batch.source, batch.target_in)
        next_word = batch.source[:, 1:]
        total = training.loss(
            F.linear(french, model.french.words.weight), wanted
        ) + training.loss(
            F.linear(english[:, :-1], model.english.words.weight), next_word
        )
        return total / ((wanted != PAD).sum() + (next_word != PAD).sum())

    losses = teach(model, loss, len(plan), RATE, seed, folder, WARMUP)
    fitted = Fitted(model, source, target, {})
    truths = [pair.target for pair in tests]
    return {
        "weights": sum(part.numel() for part in model.parameters()),
        "curve": curve(losses),
        "nats": training.validation_loss(model, tests, source, target),
        "bleu": metrics.bleu(said(fitted, tests), truths)["bleu"],
    }


def summary(found: dict[str, list[dict]]) -> dict:
    """Each machine over its seeds."""
    return {
        name: {
            "weights": runs[0]["weights"],
            "curve": [one["curve"] for one in runs],
            **{
                key: over_seeds([one[key] for one in runs])
                for key in ("nats", "bleu")
            },
        }
        for name, runs in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "stacks",
        __doc__,
        {name: partial(run, name) for name in MACHINES},
        summary,
        config={
            "pairs": PAIRS,
            "epochs": EPOCHS,
            "tests": TESTS,
            "batch": BATCH,
            "rate": RATE,
            "warmup": WARMUP,
            "layers": LAYERS,
            "d_model": D,
        },
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
