"""Which level of an encoder knows the sense of a word, and how do we know?

English words whose French translation in Multi30k tells their sense, and a
pseudo-word, *apple*: some words for food and some for devices, written as one.
Probes read the senses from every level of the GPT and the BERT of
`experiments.families`, trained and untrained, and from bags of the words
around. For *apple* a GPT and a BERT are trained on captions in which it is
written; this BERT goes with the book. No encoder has seen any French. Last,
words around *apple* are covered, or exchanged for those around another.

    python -m lookback.experiments.senses
    python -m lookback.experiments.senses --only BERT

writes records/senses.json, and the weights of that BERT.
"""

import time
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from statistics import mean, stdev

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lookback import senses
from lookback.experiments import families
from lookback.experiments.families import curve, rows, teach
from lookback.experiments.runs import campaign
from lookback.families import (
    MASK,
    MASKED,
    Body,
    BodyConfig,
    next_words,
    see,
    spoil,
    spoiled_words,
)
from lookback.lab import aligner, corpus, weights
from lookback.lab.corpus import Pair, batches
from lookback.lab.training import device
from lookback.senses import Occurrence, bag, examine, fit, merged
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
FOLDINGS = 2  # ways to deal out the folds
FRESH = 2  # untrained bodies of each family
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
    """A GPT or BERT that has read *apple*, as `families` trains its own."""
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
        "updates": len(losses),
        "weights": sum(part.numel() for part in body.parameters()),
        "seconds": time.process_time() - started,
    }


def learn(family: str, seed: int, folder: Path) -> dict:
    """Train one of them; the BERT goes with the book."""
    body, found = trained(family, seed, folder)
    if family == "BERT":
        weights.save("senses", body, read()[1], read()[1])
    return found


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
    captions = [pair.source for pair in pairs]
    return {
        word: senses.occurrences(word, names, captions, linked)
        for word, names in SENSES.items()
    }


@lru_cache
def apples() -> list[Occurrence]:
    """Those of the pseudo-word."""
    captions = [pair.source for pair in corpus.load("train")]
    return senses.pseudo_word(APPLE, (FOOD, DEVICES), captions)


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
        levels = body.levels(part, see(part, family))
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


def fresh(vocabulary: Vocabulary, seed: int) -> Body:
    """A body before any training."""
    torch.manual_seed(seed)
    return Body(BodyConfig(len(vocabulary))).eval()


def level_by_level(
    body: Body,
    family: str,
    found: Sequence[Occurrence],
    vocabulary: Vocabulary,
    foldings: int = FOLDINGS,
) -> list[float]:
    """Balanced accuracy of a probe at each level, mean over the foldings."""
    x, y = of_words(body, family, found, vocabulary), truth(found)
    return [mean(examine(one, y, s) for s in range(foldings)) for one in x]


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


def examined(
    found: Sequence[Occurrence],
    bodies: dict[str, tuple[str, Body, Vocabulary]],
) -> dict:
    """One word: its bags, its levels, untrained bodies, shuffled senses."""
    y = truth(found)
    scores = {"counts": [int((y == k).sum()) for k in (0, 1)]}
    scores["bags"] = bags(found)
    vocabulary = next(iter(bodies.values()))[2]
    scores["levels"] = {
        name: [level_by_level(body, family, found, words)]
        for name, (family, body, words) in bodies.items()
    }
    for family in ("GPT", "BERT"):
        scores["levels"][f"untrained {family}"] = [
            level_by_level(fresh(vocabulary, s), family, found, vocabulary, 1)
            for s in range(FRESH)
        ]
    family, body, words = bodies["BERT"]
    top = of_words(body, family, found, words)[-1]
    scores["shuffled"] = mean(
        examine(top, y, s, shuffled=True) for s in range(FOLDINGS)
    )
    return scores


def all_words(seed: int, folder: Path) -> dict:
    """The real words, with the bodies of `families`."""
    bodies = {}
    for family, name in families.FILES.items():
        body, vocabulary, _ = weights.load(name, Body)
        bodies[family] = (family, body, vocabulary)
    return {
        "words": {
            word: examined(found, bodies) for word, found in real().items()
        }
    }


def all_apples(seed: int, folder: Path) -> dict:
    """The pseudo-word, with the BERT that has read it; and what turns it."""
    vocabulary = read()[1]
    bodies = {
        family: (
            family,
            trained(family, 0, folder.parent / f"{family}-0")[0],
            vocabulary,
        )
        for family in families.FILES
    }
    body = bodies["BERT"][1]
    return examined(apples(), bodies) | {
        "turned": turned(body, vocabulary),
        "turned, untrained": turned(fresh(vocabulary, 0), vocabulary),
        "decides": deciding(body, vocabulary),
        "probes": {
            word: probes_of(body, found, vocabulary)
            for word, found in ({APPLE: apples()} | real()).items()
            if word in SHOWN
        },
    }


def near(one: Occurrence) -> list[int]:
    """The places of the two neighbours on either side."""
    around = (one.place + k for k in (-2, -1, 1, 2))
    return [at for at in around if 0 <= at < len(one.words)]


def turned(body: Body, vocabulary: Vocabulary) -> list[dict]:
    """How often the probe's verdict changes, level by level.

    With the neighbours covered; with as many other words covered; with the
    neighbours of another occurrence, of the other sense and of the same.
    """
    found, y = apples(), truth(apples())
    tokens = rows([one.words for one in found], vocabulary)
    dice = torch.Generator().manual_seed(0)

    def any_of(sense: int) -> Occurrence:
        those = (y == sense).nonzero()[:, 0]
        return found[those[torch.randint(len(those), (), generator=dice)]]

    changed = {
        name: tokens.clone()
        for name in ("near", "far", "other sense", "same sense")
    }
    for i, one in enumerate(found):
        close = near(one)
        rest = [
            k for k in range(len(one.words)) if k not in (*close, one.place)
        ]
        order = torch.randperm(len(rest), generator=dice)[: len(close)]
        changed["near"][i, [k + 1 for k in close]] = MASK
        changed["far"][i, [rest[k] + 1 for k in order]] = MASK
        for name, sense in (
            ("other sense", 1 - one.sense),
            ("same sense", one.sense),
        ):
            giver = any_of(sense)
            for at in near(giver):
                to = one.place + at - giver.place
                if to in close:
                    word = vocabulary.encode([giver.words[at]])[0]
                    changed[name][i, to + 1] = word
    places = [one.place for one in found]
    x = vectors(body, "BERT", tokens, places)
    new = {
        name: vectors(body, "BERT", t, places) for name, t in changed.items()
    }
    fold, levels = senses.folds(y, 0), []
    for level in range(len(x)):
        said = {name: torch.empty_like(y) for name in ("as it is", *new)}
        for k, probe in enumerate(senses.probes(x[level], y, 0)):
            at = fold == k
            for name, vector in ({"as it is": x} | new).items():
                said[name][at] = (probe.lean(vector[level][at]) > 0.5).long()
        right = said["as it is"] == y
        levels.append(
            {
                "right": senses.balanced_accuracy(said["as it is"], y),
                "right without": {
                    name: senses.balanced_accuracy(said[name], y)
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
    fold = senses.folds(y, 0)
    probe = senses.probes(x, y, 0)[0]
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
        for probe in [fit(x, y, senses.PENALTIES[1])]
    ]


def averages(words: dict[str, dict]) -> dict:
    """Means over the real words, and how the words differ."""
    each = list(words.values())

    def over(parts: list[float]) -> dict:
        return {"mean": mean(parts), "sd": stdev(parts)}

    def level(name: str, i: int) -> dict:
        return over([mean(x[i] for x in one["levels"][name]) for one in each])

    return {
        "bags": {
            name: over([one["bags"][name] for one in each])
            for name in each[0]["bags"]
        },
        "levels": {
            name: [
                over(
                    [
                        mean(run[i] for run in one["levels"][name])
                        for one in each
                    ]
                )
                for i in range(len(each[0]["levels"][name][0]))
            ]
            for name in each[0]["levels"]
        },
        "shuffled": over([one["shuffled"] for one in each]),
    }


def summary(found: dict[str, list[dict]]) -> dict:
    """The parts, and means over the words."""
    told = ("seed", "git", "wall_seconds")
    results = {
        name: {k: v for k, v in runs[0].items() if k not in told}
        for name, runs in found.items()
    }
    words = results["senses"]["words"]
    results["senses"] |= averages(words)
    best = "two"
    results["senses"]["beaten"] = sum(
        max(max(run) for run in one["levels"]["BERT"]) < one["bags"][best]
        for one in words.values()
    )
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "senses",
        __doc__,
        {family: partial(learn, family) for family in families.FILES}
        | {"senses": all_words, "apple": all_apples},
        summary,
        config={
            "senses": {word: list(map(list, s)) for word, s in SENSES.items()},
            "food": list(FOOD),
            "devices": list(DEVICES),
            "least": LEAST,
            "rounds": ROUNDS,
            "foldings": FOLDINGS,
            "fresh": FRESH,
            "covered": COVERED,
            "epochs": families.EPOCHS,
            "folds": senses.FOLDS,
            "penalties": list(senses.PENALTIES),
        },
        data=corpus.digests("en", "fr"),
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
