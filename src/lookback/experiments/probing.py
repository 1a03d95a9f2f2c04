"""After which layer of an encoder can a probe read the sense of a word?

English words whose French translation in Multi30k tells their sense, and a
pseudo-word, *apple*: some words for food and some for devices, written as one.
BERTs and GPTs, as in `experiments.families`, are trained on the English
captions with *apple* in them. No body has seen any French. Probes read the
senses from their levels, from those of the same bodies before the training,
and from bags of the words around. Last, words around *apple* are covered, or
exchanged for those around another.

    python -m lookback.experiments.probing
    python -m lookback.experiments.probing --only BERT

writes records/probing.json, and the weights of the BERT of seed 0.
"""

import random
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from statistics import mean, stdev

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from lookback import probing
from lookback.experiments import families
from lookback.experiments.families import curve, rows, teach
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
from lookback.lab import aligner, corpus, weights
from lookback.lab.corpus import Pair, batches
from lookback.lab.training import device
from lookback.probing import Occurrence, bag, examine, fit, merged
from lookback.vocabulary import SPECIALS, Vocabulary

# Each word with two senses, as French tells them: each is found 20 times.
SENSES = {
    "ball": (("ballon",), ("balle",)),
    "field": (("champ", "prairie"), ("terrain",)),
    "game": (("match",), ("jeu",)),
    "back": (("arrière",), ("dos",)),
    "top": (("sommet",), ("débardeur",)),  # *haut* itself has both senses
    "mouth": (("gueule",), ("bouche",)),
    "jump": (("saut",), ("sauter", "sautent", "saute")),
    "line": (("ligne",), ("file", "rangée", "rang", "queue")),
    "light": (
        ("clair", "claire", "pâle"),
        ("lumière", "feu", "éclairage", "lampe", "lampadaire"),
    ),
    "pole": (("poteau",), ("perche",)),
    "bar": (("bar",), ("barre",)),
    "bike": (("vélo",), ("motocross", "moto", "motard")),
    "face": (("visage",), ("grimace", "moue", "drôle")),
    "rock": (("rocher", "pierre", "roche"), ("rock",)),
}
# Of these the part of speech differs, or one sense is a fixed expression
# (*tank top*, *to make a face*); of the others the meaning.
OTHERS = ("jump", "light", "top", "face")
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
ROUNDS = 5  # of the aligner
BAGS = {
    "all": (-99, 99),
    "before": (-99, -1),
    "after": (1, 99),
    "two": (-2, 2),
    "one": (-1, 1),
}
FOLDINGS = 1  # ways to deal out the folds
SEEDS = 3
TRAINED = ("BERT", "GPT")
COVERED = 300  # occurrences in which every word is covered once
SHOWN = ("apple", "ball", "mouth", "bar", "light")  # in the page's widget


@lru_cache
def read() -> tuple[list[list[str]], Vocabulary]:
    """The captions, with *apple* written in them, and the vocabulary."""
    captions = [
        merged(APPLE, (FOOD, DEVICES), pair.source)
        for pair in corpus.load("train")
    ]
    words = Vocabulary.count(captions, LEAST).words[len(SPECIALS) :]
    return captions, Vocabulary([MASKED, *words])


def trained(family: str, seed: int, folder: Path) -> tuple[Body, dict]:
    """A body that has read *apple*, as `families` trains its own."""
    captions, vocabulary = read()
    body = fresh(vocabulary, seed).to(device())
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
        corrupted, chosen = mask_tokens(tokens, len(vocabulary))
        return masked_words(body, corrupted, tokens, chosen).mean()

    losses = teach(body, loss, len(plan), families.RATE, seed, folder)
    return body, {
        "curve": curve(losses),
        "updates": len(losses),
        "weights": sum(part.numel() for part in body.parameters()),
    }


def learn(family: str, seed: int, folder: Path) -> dict:
    """Train one body; the first BERT goes with the book."""
    body, found = trained(family, seed, folder)
    if (family, seed) == ("BERT", 0):
        weights.save("probing", body, read()[1], read()[1])
    return found


def drilled(
    sentences: Sequence[Sequence[str]], updates: int = 300, seed: int = 0
) -> tuple[Body, Vocabulary]:
    """A tiny BERT that has read these sentences for a few seconds."""
    words = Vocabulary.count(sentences).words[len(SPECIALS) :]
    vocabulary = Vocabulary([MASKED, *words])
    torch.manual_seed(seed)
    sizes = {"d_model": 48, "layers": 2, "d_ff": 96, "dropout": 0.0}
    body = Body(BodyConfig(len(vocabulary), **sizes))
    adam = torch.optim.Adam(body.parameters(), 3e-3)
    dice = random.Random(seed)
    for _ in range(updates):
        tokens = rows(dice.sample(list(sentences), 32), vocabulary)
        corrupted, chosen = mask_tokens(tokens, len(vocabulary))
        adam.zero_grad()
        masked_words(body, corrupted, tokens, chosen).mean().backward()
        clip_grad_norm_(body.parameters(), 1.0)
        adam.step()
    return body.eval(), vocabulary


@lru_cache
def real() -> dict[str, list[Occurrence]]:
    """The occurrences of the real words, their senses told by French."""
    pairs = corpus.load("train")
    back = [Pair(pair.target, pair.source) for pair in pairs]
    table = aligner.learn(back, ROUNDS)
    linked = [
        [None if j is None else pair.source[j] for j in places]
        for pair in back
        for places in [aligner.align(table, pair)]
    ]
    return {
        word: probing.occurrences(word, names, read()[0], linked)
        for word, names in SENSES.items()
    }


@lru_cache
def apples() -> list[Occurrence]:
    """Those of the pseudo-word."""
    captions = [pair.source for pair in corpus.load("train")]
    return probing.pseudo_word(APPLE, (FOOD, DEVICES), captions)


def truth(found: Sequence[Occurrence]) -> Int[Tensor, " occurrences"]:
    return torch.tensor([one.sense for one in found])


@torch.no_grad()
def vectors(
    body: Body,
    family: str,
    tokens: Int[Tensor, "batch length"],
    places: Sequence[int],
) -> Float[Tensor, "levels batch d_model"]:
    """The vector of one word of each sentence, at every level."""
    body.eval()
    found = []
    at = torch.tensor(places) + 1  # behind <start>
    for part, place in zip(tokens.split(100), at.split(100), strict=True):
        part = part.to(body.last.weight.device)
        levels = body.hidden_states(part, attention_mask(part, family))
        each = torch.arange(len(part))
        found.append(torch.stack([x[each, place].cpu() for x in levels]))
    return torch.cat(found, dim=1).double()


def of_words(
    body: Body,
    family: str,
    found: Sequence[Occurrence],
    vocabulary: Vocabulary,
) -> Float[Tensor, "levels batch d_model"]:
    """The same for occurrences as they are."""
    tokens = rows([one.words for one in found], vocabulary)
    return vectors(body, family, tokens, [one.place for one in found])


def fresh(
    vocabulary: Vocabulary, seed: int, config: BodyConfig | None = None
) -> Body:
    """A body before any training."""
    torch.manual_seed(seed)
    return Body(config or BodyConfig(len(vocabulary))).eval()


def level_by_level(
    body: Body,
    family: str,
    found: Sequence[Occurrence],
    vocabulary: Vocabulary,
) -> list[float]:
    """Balanced accuracy of a probe at each level, mean over the foldings."""
    x, y = of_words(body, family, found, vocabulary), truth(found)
    return [mean(examine(one, y, s) for s in range(FOLDINGS)) for one in x]


def bags(found: Sequence[Occurrence]) -> dict[str, float]:
    """The same of bags of words, and of one whose senses are shuffled."""
    y = truth(found)
    scores = {
        name: mean(examine(bag(found, *ends), y, s) for s in range(FOLDINGS))
        for name, ends in BAGS.items()
    }
    x = bag(found, *BAGS["two"])
    scores["two, shuffled"] = mean(
        examine(x, y, s, shuffled=True) for s in range(FOLDINGS)
    )
    return scores


def controls(found: Sequence[Occurrence], body: Body) -> dict:
    """What no seed changes, and the top level with its senses shuffled."""
    y, words = truth(found), read()[1]
    top = of_words(body, "BERT", found, words)[-1]
    return {
        "counts": [int((y == k).sum()) for k in (0, 1)],
        "bags": bags(found),
        "shuffled": mean(
            examine(top, y, s, shuffled=True) for s in range(FOLDINGS)
        ),
    }


def examined(
    found: Sequence[Occurrence], bodies: dict[str, Body], seed: int
) -> dict:
    """One word of one seed: the levels of both families, after the training
    and before it; with the first seed the controls."""
    words, levels = read()[1], {}
    for family, body in bodies.items():
        levels[family] = level_by_level(body, family, found, words)
    for family in bodies:
        levels[f"untrained {family}"] = level_by_level(
            fresh(words, seed), family, found, words
        )
    more = controls(found, bodies["BERT"]) if seed == 0 else {}
    return {"levels": levels} | more


def of_seed(seed: int, runs: Path) -> dict[str, Body]:
    """The trained bodies of a seed."""
    return {
        family: trained(family, seed, runs / f"{family}-{seed}")[0]
        for family in TRAINED
    }


def all_words(seed: int, folder: Path) -> dict:
    """The real words."""
    bodies = of_seed(seed, folder.parent)
    return {
        "words": {
            word: examined(found, bodies, seed)
            for word, found in real().items()
        }
    }


def all_apples(seed: int, folder: Path) -> dict:
    """The pseudo-word; with the first seed what turns it, and the probes of
    the page."""
    bodies = of_seed(seed, folder.parent)
    scores = examined(apples(), bodies, seed)
    if seed:
        return scores
    body, words = bodies["BERT"], read()[1]
    return scores | {
        "turned": turned(partial(of_words, body, "BERT", vocabulary=words)),
        "turned, untrained": turned(
            partial(of_words, fresh(words, 0), "BERT", vocabulary=words)
        ),
        "decides": deciding(body, words),
        "probes": {
            word: probes_of(body, found, words)
            for word, found in ({APPLE: apples()} | real()).items()
            if word in SHOWN
        },
    }


def near(one: Occurrence) -> list[int]:
    """The places of the two neighbours on either side."""
    around = (one.place + k for k in (-2, -1, 1, 2))
    return [at for at in around if 0 <= at < len(one.words)]


def exchanged(
    found: Sequence[Occurrence], seed: int = 0
) -> dict[str, list[Occurrence]]:
    """The sentences, with two words on either side of the asked one changed.

    Covered; as many other words covered; exchanged for the neighbours of
    another occurrence, of the other sense and of the same.
    """
    y, dice = truth(found), torch.Generator().manual_seed(seed)

    def any_of(sense: int) -> Occurrence:
        those = (y == sense).nonzero()[:, 0]
        return found[those[torch.randint(len(those), (), generator=dice)]]

    changed: dict[str, list[Occurrence]] = {
        name: [] for name in ("near", "far", "other sense", "same sense")
    }
    for one in found:
        close = near(one)
        rest = [
            k for k in range(len(one.words)) if k not in (*close, one.place)
        ]
        order = torch.randperm(len(rest), generator=dice)[: len(close)]
        new = {
            "near": dict.fromkeys(close, MASKED),
            "far": dict.fromkeys([rest[k] for k in order], MASKED),
        }
        for name, sense in (
            ("other sense", 1 - one.sense),
            ("same sense", one.sense),
        ):
            giver = any_of(sense)
            moved = {
                one.place + at - giver.place: giver.words[at]
                for at in near(giver)
            }
            new[name] = {to: moved[to] for to in moved if to in close}
        for name, put in new.items():
            words = [put.get(k, word) for k, word in enumerate(one.words)]
            changed[name].append(one._replace(words=words))
    return changed


def turned(
    read_in: Callable[
        [Sequence[Occurrence]], Float[Tensor, "levels occurrences d"]
    ],
    seed: int = 0,
) -> list[dict]:
    """How often the probe's verdict changes with the words, level by level.

    `read_in` makes vectors of occurrences: those of a body, or a bag. The
    probes are fitted to the sentences as they are; what they get wrong there
    is left out.
    """
    found, y = apples(), truth(apples())
    x = read_in(found)
    new = {name: read_in(c) for name, c in exchanged(found, seed).items()}
    fold, levels = probing.folds(y, seed), []
    for level in range(len(x)):
        said = {name: torch.empty_like(y) for name in ("as it is", *new)}
        for k, probe in enumerate(probing.probes(x[level], y, seed)):
            at = fold == k
            for name, vector in ({"as it is": x} | new).items():
                said[name][at] = (probe.lean(vector[level][at]) > 0.5).long()
        right = said["as it is"] == y
        levels.append(
            {
                "right": probing.balanced_accuracy(said["as it is"], y),
                "right without": {
                    name: probing.balanced_accuracy(said[name], y)
                    for name in ("near", "far")
                },
                "turned": {
                    name: float((said[name] != y)[right].double().mean())
                    for name in new
                },
            }
        )
    return levels


def deciding(body: Body, vocabulary: Vocabulary) -> dict:
    """Each word covered in turn: how far off is the one that counts most?

    At the top level, for the first occurrences of the fold that the probe has
    not seen. The lean is compared as a log-odds.
    """
    found, y = apples(), truth(apples())
    x = of_words(body, "BERT", found, vocabulary)[-1]
    fold = probing.folds(y, 0)
    probe = probing.probes(x, y, 0)[0]
    kept = [i for i in range(len(found)) if fold[i] == 0][:COVERED]
    away, turns, words = [], 0, 0
    for i in kept:
        one = found[i]
        n = len(one.words)
        tokens = rows([one.words] * n, vocabulary)
        each = torch.arange(n)
        tokens[each, each + 1] = MASK
        tokens[one.place] = rows([one.words], vocabulary)[0]  # as it is
        leans = probe.lean(vectors(body, "BERT", tokens, [one.place] * n)[-1])
        odds = leans.clamp(1e-6, 1 - 1e-6).logit()
        moved = (odds - odds[one.place]).abs()
        away.append(abs(int(moved.argmax()) - one.place))
        turns += bool(((leans > 0.5) != (leans[one.place] > 0.5)).any())
        words += n - 1
    return {
        "occurrences": len(kept),
        "words": words / len(kept),
        "near": sum(k <= 2 for k in away) / len(away),
        "near by chance": mean(
            len(near(found[i])) / (len(found[i].words) - 1) for i in kept
        ),
        "one turns it": turns / len(kept),
    }


def probes_of(
    body: Body, found: Sequence[Occurrence], vocabulary: Vocabulary
) -> list[list[float]]:
    """[w; b] at each level, fitted to all occurrences, for the page."""
    y = truth(found)
    return [
        [round(v, 5) for v in [*probe.w.tolist(), float(probe.b)]]
        for x in of_words(body, "BERT", found, vocabulary)
        for probe in [fit(x, y, probing.PENALTIES[1])]
    ]


def over_seeds(runs: Sequence[dict]) -> dict:
    """One word: the first seed's controls, and the levels of every seed."""
    return runs[0] | {
        "levels": {
            name: [run["levels"][name] for run in runs]
            for name in runs[0]["levels"]
        }
    }


def by_level(levels: list[list[float]]) -> list[float]:
    """The mean over the seeds."""
    return [mean(each) for each in zip(*levels, strict=True)]


def spreads(levels: list[list[float]]) -> list[float]:
    """The standard deviation over the seeds."""
    if len(levels) < 2:
        return [0.0] * len(levels[0])
    return [stdev(each) for each in zip(*levels, strict=True)]


def means(words: Sequence[dict], name: str) -> list[list[float]]:
    """Of every seed, the mean over the words, level by level."""
    each = [one["levels"][name] for one in words]
    return [by_level(list(same)) for same in zip(*each, strict=True)]


def averages(words: dict[str, dict]) -> dict:
    """Means over the real words; how the words differ, and how the seeds."""
    each = list(words.values())

    def over(parts: list[float]) -> dict:
        return {"mean": mean(parts), "sd": stdev(parts)}

    def level(name: str, i: int) -> dict:
        found = over([by_level(one["levels"][name])[i] for one in each])
        return found | {"spread": spreads(means(each, name))[i]}

    return {
        "bags": {
            name: over([one["bags"][name] for one in each])
            for name in each[0]["bags"]
        },
        "levels": {
            name: [level(name, i) for i in range(len(runs[0]))]
            for name, runs in each[0]["levels"].items()
        },
        "shuffled": over([one["shuffled"] for one in each]),
    }


def split(words: dict[str, dict]) -> dict:
    """Means over the words whose senses differ, and over OTHERS."""

    def over(each: Sequence[dict]) -> dict:
        levels = {}
        for name in each[0]["levels"]:
            runs = means(each, name)
            levels[name] = [
                {"mean": here, "spread": spread}
                for here, spread in zip(
                    by_level(runs), spreads(runs), strict=True
                )
            ]
        bags = {
            name: mean(one["bags"][name] for one in each)
            for name in each[0]["bags"]
        }
        return {"levels": levels, "bags": bags}

    real = [one for word, one in words.items() if word not in OTHERS]
    others = [one for word, one in words.items() if word in OTHERS]
    return {"senses": over(real)} | ({"others": over(others)} if others else {})


def summary(found: dict[str, list[dict]]) -> dict:
    """The trainings, each with its curve; means over the words and seeds."""
    results: dict = {
        family: {
            "weights": found[family][0]["weights"],
            "updates": found[family][0]["updates"],
            "curve": [one["curve"] for one in found[family]],
        }
        for family in TRAINED
    }
    runs = [one["words"] for one in found["senses"]]
    words = {word: over_seeds([one[word] for one in runs]) for word in runs[0]}
    apple = over_seeds([bare(run) for run in found["apple"]])
    apple["mean"] = {
        name: [
            {"mean": here, "spread": spread}
            for here, spread in zip(
                by_level(levels), spreads(levels), strict=True
            )
        ]
        for name, levels in apple["levels"].items()
    }
    beaten = {
        family: sum(
            max(by_level(one["levels"][family])) < one["bags"]["two"]
            for one in words.values()
        )
        for family in TRAINED
    }
    return results | {
        "senses": {"words": words, "beaten": beaten, "split": split(words)}
        | averages(words),
        "apple": apple,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "probing",
        __doc__,
        {family: partial(learn, family) for family in TRAINED}
        | {"senses": all_words, "apple": all_apples},
        summary,
        config={
            "senses": {word: list(map(list, s)) for word, s in SENSES.items()},
            "food": list(FOOD),
            "devices": list(DEVICES),
            "least": LEAST,
            "rounds": ROUNDS,
            "foldings": FOLDINGS,
            "covered": COVERED,
            "epochs": families.EPOCHS,
            "batch": families.BATCH,
            "rate": families.RATE,
            "folds": probing.FOLDS,
            "penalties": list(probing.PENALTIES),
        },
        data=corpus.digests("en", "fr"),
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
