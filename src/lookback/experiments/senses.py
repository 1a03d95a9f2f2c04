"""Which level of an encoder knows the sense of a word, and how do we know?

English words whose French translation in Multi30k tells their sense, and a
pseudo-word, *apple*: some words for food and some for devices, written as one.
Probes read the senses from every level of the GPTs and BERTs of
`experiments.families`, trained and untrained, and from bags of the words
around. For *apple* a GPT and a BERT are trained on captions in which it is
written; that BERT goes with the book. No encoder has seen any French. Last,
neighbours are covered, or exchanged for those of the other sense.

    python -m lookback.experiments.senses
    python -m lookback.experiments.senses --only BERT

writes records/senses.json, and the weights with their probes.
"""

import time
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from lookback.experiments import families
from lookback.experiments.families import curve, rows, teach
from lookback.families import (
    MASKED,
    Body,
    BodyConfig,
    next_words,
    spoil,
    spoiled_words,
)
from lookback.lab import corpus
from lookback.lab.corpus import Pair, batches
from lookback.lab.training import device
from lookback.senses import merged
from lookback.vocabulary import SPECIALS, Vocabulary

APPLE = "apple"
FOOD = (
    "food",
    "meal",
    "bread",
    "cake",
    "fruit",
    "fruits",
    "vegetables",
    "sandwich",
    "pizza",
)
DEVICES = ("phone", "cellphone", "computer", "laptop", "device")
LEAST = 5  # times that a word stands in the captions, to be known


@lru_cache
def read() -> tuple[list[list[str]], Vocabulary]:
    """The captions to learn from, in which *apple* is written, and the words."""
    captions = [
        merged(APPLE, (FOOD, DEVICES), pair.source)
        for pair in corpus.load("train")
    ]
    words = Vocabulary.count(captions, LEAST).words[len(SPECIALS) :]
    return captions, Vocabulary([MASKED, *words])


def trained(family: str, seed: int, folder: Path) -> tuple[Body, dict]:
    """A GPT or BERT that has read *apple*, as `families` trains them."""
    captions, vocabulary = read()
    torch.manual_seed(seed)
    body = Body(BodyConfig(len(vocabulary))).to(device())
    pairs = [Pair(caption, caption) for caption in captions]
    plan = [
        rows([pair.source for pair in part], vocabulary)
        for epoch in range(families.EPOCHS)
        for part in batches(pairs, families.BATCH, 1000 * seed + epoch)
    ]

    def loss(update: int) -> Tensor:
        tokens = plan[update].to(device())
        if family == "GPT":
            return next_words(body, tokens).mean()
        spoiled, chosen = spoil(tokens, len(vocabulary))
        return spoiled_words(body, spoiled, tokens, chosen).mean()

    started = time.process_time()
    losses = teach(body, loss, len(plan), families.RATE, seed, folder)
    return body, {
        "curve": curve(losses),
        "weights": sum(part.numel() for part in body.parameters()),
        "seconds": time.process_time() - started,
    }
