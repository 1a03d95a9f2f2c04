"""One stack, two masks: who predicts a covered word, who can write?

The English captions of Multi30k. A GPT and a BERT of the same sizes, drawn
from the same random numbers, read the same batches in the same order; only
the mask and the training objective differ. Then both get the same question, one
covered word of a caption; each gets the other's mask; the GPT is asked again
with the whole sentence; and the BERT is made to write.

    python -m lookback.experiments.families

writes records/families.json, and the weights of both models of seed 0.
"""

import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lookback.experiments.handwriting import keep, resume
from lookback.experiments.runs import campaign
from lookback.families import (
    MASK,
    MASKED,
    Body,
    BodyConfig,
    attention_mask,
    generate,
    gibbs_sample,
    mask_tokens,
    masked_words,
    next_words,
    rescore,
)
from lookback.lab import corpus, weights
from lookback.lab.corpus import Pair, batches, pad
from lookback.lab.fingerprint import identity
from lookback.lab.training import device
from lookback.vocabulary import END, PAD, START, UNK, Vocabulary

SEEDS = 3
EPOCHS, BATCH = 6, 64
RATE, WARMUP, CLIP = 2e-3, 200, 1.0  # Adam, up and then down to 0
SAVE = 200  # updates between checkpoints
EVERY = 50  # updates of a point on a curve
TEST = "test_2016_flickr"
WHOLE, CANDIDATES = 200, 300  # captions, words tried in each
WRITTEN, LENGTH, ROUNDS = 50, 12, 10  # captions, their words; of Gibbs
SIZES: dict = {}  # of the body, where not as `BodyConfig` has them
FILES = {"GPT": "gpt", "BERT": "bert"}


@lru_cache
def read() -> tuple[list[list[str]], list[list[str]], Vocabulary]:
    """The captions to learn from, those of the test, and the vocabulary."""
    learned = [pair.source for pair in corpus.load("train")]
    words = Vocabulary.count(learned).words[len(Vocabulary([])) :]
    test = [pair.source for pair in corpus.load(TEST)]
    return learned, test, Vocabulary([MASKED, *words])


def rows(
    captions: Sequence[Sequence[str]], vocabulary: Vocabulary
) -> Int[Tensor, "batch length"]:
    """Captions as numbers, between <start> and <end>."""
    return pad([[START, *vocabulary.encode(c), END] for c in captions])


def teach(
    model: nn.Module,
    loss: Callable[[int], Tensor],
    updates: int,
    rate: float,
    seed: int,
    folder: Path,
    warmup: int = WARMUP,
) -> list[float]:
    """Train by Adam; the loss of every update.

    `loss` makes an update's loss of its number. What is drawn by chance, is
    drawn from the seed and that number, so what was interrupted goes on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    adam = torch.optim.Adam(model.parameters(), rate, betas=(0.9, 0.98))
    settings = {"updates": updates, "rate": rate, "seed": seed}
    made_by = identity(
        model, settings | {"warmup": warmup}, training=teach, loss=loss
    )
    losses = resume(folder, model, adam, made_by)
    model.train()
    while (done := len(losses)) < updates:
        share = min(1, (done + 1) / warmup) * (1 - done / updates)
        adam.param_groups[0]["lr"] = share * rate
        torch.manual_seed(1_000_003 * seed + done)
        now = loss(done)
        adam.zero_grad(set_to_none=True)
        now.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        adam.step()
        losses.append(now.item())
        if len(losses) % SAVE == 0:
            keep(folder, model, adam, losses, made_by)
    keep(folder, model, adam, losses, made_by)
    model.eval()
    return losses


def curve(losses: Sequence[float]) -> list[float]:
    """The mean of every EVERY updates."""
    points = range(0, len(losses), EVERY)
    return [round(mean(losses[i : i + EVERY]), 4) for i in points]


def trained(family: str, seed: int, folder: Path) -> tuple[Body, dict]:
    """A body of one family, and what its training came to."""
    learned, _, vocabulary = read()
    torch.manual_seed(seed)
    body = Body(BodyConfig(len(vocabulary), **SIZES)).to(device())
    pairs = [Pair(caption, caption) for caption in learned]
    plan = [
        rows([pair.source for pair in part], vocabulary)
        for epoch in range(EPOCHS)
        for part in batches(pairs, BATCH, 1000 * seed + epoch)
    ]

    def loss(update: int) -> Tensor:
        tokens = plan[update].to(device())
        if family == "GPT":
            return next_words(body, tokens).mean()
        corrupted, chosen = mask_tokens(tokens, len(vocabulary))
        return masked_words(body, corrupted, tokens, chosen).mean()

    started = time.process_time()
    losses = teach(body, loss, len(plan), RATE, seed, folder)
    return body, {
        "curve": curve(losses),
        "weights": sum(part.numel() for part in body.parameters()),
        "seconds": time.process_time() - started,  # since the last interruption
    }


class Covered(NamedTuple):
    """One covered word in each of many captions."""

    tokens: Int[Tensor, "batch length"]
    place: Int[Tensor, " batch"]
    word: Int[Tensor, " batch"]  # that stands there


def covered() -> Covered:
    """The test captions, in each a word that the vocabulary knows covered.

    The same for every machine.
    """
    _, test, vocabulary = read()
    tokens = rows(test, vocabulary)
    known = (tokens != PAD) & (tokens != START) & (tokens != END)
    known &= tokens != UNK
    chance = torch.rand(tokens.shape, generator=torch.manual_seed(0))
    place = (chance * known).argmax(dim=1)
    word = tokens.gather(1, place[:, None])[:, 0]
    return Covered(tokens, place, word)


@torch.no_grad()
def guesses(
    body: Body, family: str, asked: Covered, mask: str
) -> Float[Tensor, "batch vocab"]:
    """log p of every word at the covered place; a GPT is asked one before."""
    found = []
    split = asked.tokens.split(100), asked.place.split(100)
    for tokens, place in zip(*split, strict=True):
        tokens, at = tokens.clone(), place
        if family == "BERT":
            tokens[torch.arange(len(tokens)), place] = MASK
        else:
            at = place - 1
        tokens = tokens.to(device())
        x = body.hidden_states(tokens, attention_mask(tokens, mask))[-1]
        logits = body.logits(x[torch.arange(len(at)), at])
        found.append(torch.log_softmax(logits, dim=-1).cpu())
    return torch.cat(found)


def by_quarter(nats: Tensor, asked: Covered) -> list[float]:
    """The mean for covered words of a caption's first quarter, second, …"""
    length = (asked.tokens != PAD).sum(dim=1) - 2  # without the two ends
    quarter = 4 * (asked.place - 1) // length
    return [nats[quarter == i].mean().item() for i in range(4)]


def marks(log_p: Tensor, asked: Covered) -> dict:
    """Nats for the covered word, and how often it was the likeliest."""
    nats = -log_p.gather(1, asked.word[:, None])[:, 0]
    return {
        "nats": nats.mean().item(),
        "right": (log_p.argmax(1) == asked.word).float().mean().item(),
        "quarters": by_quarter(nats, asked),
    }


@torch.no_grad()
def per_word(question: Callable[[Tensor], Tensor]) -> float:
    """Nats a word of a question, over the test captions."""
    _, test, vocabulary = read()
    torch.manual_seed(0)
    nats = [
        question(rows(test[i : i + 100], vocabulary).to(device()))
        for i in range(0, len(test), 100)
    ]
    return torch.cat(nats).mean().item()


@torch.no_grad()
def chosen_among(asked: Covered, guess: dict[str, Tensor], gpt: Body) -> dict:
    """The first captions again, among some words: now also by all of a caption.

    Tried are the words that the GPT finds likeliest from the left, and the
    true one; each way is divided by what these have together.
    """
    found = {"BERT": [], "GPT, left": [], "GPT, whole": []}
    for i in range(min(WHOLE, len(asked.word))):
        tokens, word = asked.tokens[i], asked.word[i]
        likely = guess["GPT"][i].topk(CANDIDATES).indices
        tried = torch.cat([word[None], likely[likely != word]])
        tokens = tokens[tokens != PAD].to(device())
        both = rescore(gpt, tokens, int(asked.place[i]), tried.to(device()))
        found["BERT"].append(guess["BERT"][i][tried])
        found["GPT, left"].append(both.left.cpu())
        found["GPT, whole"].append(both.whole.cpu())
    return {
        name: {
            "nats": -mean(float(torch.log_softmax(one, 0)[0]) for one in each),
            "right": mean(float(one.argmax() == 0) for one in each),
        }
        for name, each in found.items()
    }


def writing(gpt: Body, bert: Body) -> dict:
    """Captions by people, by both machines, and by nobody: nats a word that
    the GPT needs for each kind, and some to read."""
    _, test, vocabulary = read()
    torch.manual_seed(0)
    same = [one for one in test if len(one) == LENGTH][:WRITTEN]
    people = rows(same, vocabulary).to(device())
    shuffled, blank = people.clone(), people.clone()
    for row in shuffled:
        row[1:-1] = row[1:-1][torch.randperm(LENGTH, device=row.device)]
    blank[:, 1:-1] = MASK
    written = [generate(gpt, [START], 2 * LENGTH) for _ in people]
    texts = {
        "people": people,
        "GPT": pad(written).to(device()),
        "BERT": gibbs_sample(bert, blank, ROUNDS),
        "shuffled": shuffled,
    }
    with torch.no_grad():
        found = {
            name: {"nats": next_words(gpt, text).mean().item()}
            for name, text in texts.items()
        }
    for name in FILES:
        found[name]["examples"] = [
            " ".join(vocabulary.decode(row.tolist())[1:])
            for row in texts[name][:5]
        ]
    return found


def learn(family: str, seed: int, folder: Path) -> dict:
    """Train one machine; the first of each family goes with the book."""
    body, found = trained(family, seed, folder)
    if seed == 0:
        _, _, vocabulary = read()
        weights.save(FILES[family], body, vocabulary, vocabulary)
    return found


def ask(seed: int, folder: Path) -> dict:
    """Both machines of a seed, asked everything."""
    _, _, vocabulary = read()
    bodies = {
        family: trained(family, seed, folder.parent / f"{family}-{seed}")[0]
        for family in FILES
    }
    gpt, bert = bodies["GPT"], bodies["BERT"]
    asked = covered()
    guess = {
        (family, mask): guesses(bodies[family], family, asked, mask)
        for family in FILES
        for mask in FILES
    }

    def corrupted(tokens: Tensor) -> Tensor:
        given, chosen = mask_tokens(tokens, len(vocabulary))
        return masked_words(bert, given, tokens, chosen)

    own = {family: guess[family, family] for family in FILES}
    return {
        "covered": {name: marks(log_p, asked) for name, log_p in own.items()},
        "own question": {
            "GPT": per_word(partial(next_words, gpt)),
            "BERT": per_word(corrupted),
        },
        "other mask": {
            "GPT": per_word(partial(next_words, gpt, family="BERT")),
            "BERT": marks(guess["BERT", "GPT"], asked)["nats"],
        },
        "among": chosen_among(asked, own, gpt),
        "writing": writing(gpt, bert),
    }


def over_seeds(parts: list) -> object:
    """Numbers become their mean, their spread and each; texts the first's."""
    first = parts[0]
    if isinstance(first, dict):
        return {key: over_seeds([one[key] for one in parts]) for key in first}
    if isinstance(first, list) and isinstance(first[0], float):
        return [over_seeds(list(each)) for each in zip(*parts, strict=True)]
    if isinstance(first, (list, str)):
        return first
    spread = stdev(parts) if len(parts) > 1 else 0.0
    return {"mean": mean(parts), "spread": spread, "each": parts}


def summary(found: dict[str, list[dict]]) -> dict:
    """Trainings with all their curves; answers over the seeds."""
    results = {
        family: {
            "weights": found[family][0]["weights"],
            "seconds": [one["seconds"] for one in found[family]],
            "curve": [one["curve"] for one in found[family]],
        }
        for family in FILES
    }
    kept = ("covered", "own question", "other mask", "among", "writing")
    answers = [{key: one[key] for key in kept} for one in found["asked"]]
    return results | {"asked": over_seeds(answers)}


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "families",
        __doc__,
        {family: partial(learn, family) for family in FILES} | {"asked": ask},
        summary,
        config={
            "epochs": EPOCHS,
            "batch": BATCH,
            "rate": RATE,
            "warmup": WARMUP,
            "clip": CLIP,
            "every": EVERY,
            "whole": WHOLE,
            "candidates": CANDIDATES,
            "written": WRITTEN,
            "length": LENGTH,
            "rounds": ROUNDS,
        },
        data=corpus.digests("en", "fr"),
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
