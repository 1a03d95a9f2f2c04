"""What does each change between 2014 and 2017 buy? One rung, one change.

All rungs train on Multi30k, English to French, with the same loop, budget,
sizes and seed. Each is then asked for single captions, for two to four
joined ones (longer than anything it was trained on), and, trained afresh on
the phrasebook, for the alignments whose truth is known. Writes
records/ladder.json and the Transformer's weights.

    python -m lookback.experiments.ladder
    python -m lookback.experiments.ladder --only dot      # trains in parallel
    python -m lookback.experiments.ladder --record        # what is finished
"""

import argparse
import time
from dataclasses import asdict, replace
from itertools import repeat
from pathlib import Path
from statistics import mean, median

import torch
from tqdm.auto import tqdm

from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.experiments import alignment
from lookback.experiments.look_back import TRAINING
from lookback.experiments.runs import (
    RUNS,
    finished,
    fit,
    once,
    over_seeds,
    said,
    score,
)
from lookback.experiments.speed import BATCH, LONGEST, VOCAB, rates
from lookback.lab import corpus, metrics, phrasebook, records, training
from lookback.lab.corpus import START, Pair, Vocabulary, collate
from lookback.lab.translator import Translator
from lookback.ladder import Rung, RungConfig
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer, TransformerConfig

DOT = RungConfig(0, 0)
WORDS = replace(DOT, encoder="words")
PLACED = replace(WORDS, positions="sinusoidal")
LOOKING = replace(PLACED, layers=1)
HEADS = replace(LOOKING, heads=4)
FEEDING = replace(HEADS, d_ff=1024)
STABLE = replace(FEEDING, residual=True, norm="post")
RUNGS = {
    "bottleneck": (Bottleneck, BottleneckConfig(0, 0)),
    "reversed": (Bottleneck, BottleneckConfig(0, 0, reverse=True)),
    "diagonal": (Rung, replace(DOT, look="diagonal")),
    "rnnsearch": (RNNsearch, RNNsearchConfig(0, 0)),
    "dot": (Rung, DOT),
    "words": (Rung, WORDS),
    "positions": (Rung, PLACED),
    "self-attention": (Rung, LOOKING),
    "heads": (Rung, HEADS),
    "feedforward": (Rung, FEEDING),
    "residual": (Rung, STABLE),
    "depth": (Rung, replace(STABLE, layers=3)),
    "transformer": (Transformer, TransformerConfig(0, 0)),
}
BEFORE = dict(zip(list(RUNGS)[1:], RUNGS, strict=False))
BEFORE["diagonal"] = "bottleneck"
SHARED = ("bottleneck", "reversed", "rnnsearch")  # trained by look_back
SMALL = {"embed": 64, "hidden": 64, "align": 64, "maxout": 64}
LONG = (2, 3, 4)  # captions joined
ROUNDS = 5  # of decoding, for its speed


def small(config):
    """The same rung at the phrasebook's size."""
    if isinstance(config, TransformerConfig):
        return replace(config, d_model=64, d_ff=256)
    sizes = {k: v for k, v in SMALL.items() if hasattr(config, k)}
    if getattr(config, "d_ff", 0):
        sizes["d_ff"] = 256
    return replace(config, **sizes)


def run(name: str, seed: int, folder: Path) -> dict:
    """Train and test one rung; `folder` lets it resume."""
    started = time.perf_counter()
    make, config = RUNGS[name]
    model, source, target, progress = fit(
        make, config, replace(TRAINING, seed=seed), folder
    )
    test = corpus.load("test_2016_flickr")
    words, truths = said(model, test, source, target), [p.target for p in test]
    answer = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "said": words,
        "greedy": metrics.bleu(words, truths, resamples=1000),
        "beam": score(model, test, source, target, width=5),
        "long": {
            str(n): score(model, corpus.join(test, repeat(n)), source, target)
            for n in LONG
        },
        "curve": progress.curve,
        "best_epoch": progress.best_epoch,
        "train_seconds": progress.seconds,
        "config": asdict(model.config),
    }
    if seed == 0 and name == "transformer":
        records.save_model(name, model.cpu(), source, target)
    answer["wall_seconds"] = time.perf_counter() - started
    return answer


def align(name: str, folder: Path) -> dict | None:
    """The rung's alignment error on the phrasebook; None if it never looks."""
    make, config = RUNGS[name]
    if make is Bottleneck:
        return None
    return alignment.run(folder, make, small(config))


@torch.no_grad()
def writing(model: Translator, source: torch.Tensor) -> float:
    """Tokens/s of greedy decoding; nobody may stop before LONGEST words."""
    started = time.perf_counter()
    memory = model.encode(source)
    state = model.start(memory)
    token = torch.full((len(source),), START, device=source.device)
    for _ in range(LONGEST):
        logits, state, _ = model.step(token, state, memory)
        token = logits.argmax(dim=-1)
    token.tolist()  # waits for the device
    return LONGEST * len(source) / (time.perf_counter() - started)


def speeds(names: list[str], device: torch.device) -> dict[str, dict]:
    """Tokens/s of each rung, untrained, in training and in greedy decoding.

    All rungs take turns on the same phrasebook sentences, with vocabularies
    of the corpus's size, so that their ratios do not hang on how busy the
    machine is.
    """
    sentences = phrasebook.sample(BATCH * 2, seed=0)
    pairs = [Pair(each.source, each.target) for each in sentences]
    source, target = (Vocabulary(words) for words in phrasebook.words())
    batches = [
        collate(pairs[i : i + BATCH], source, target).to(device)
        for i in range(0, len(pairs), BATCH)
    ]
    models = {}
    for name in names:
        make, config = RUNGS[name]
        sizes = {"source_vocab": VOCAB, "target_vocab": VOCAB}
        models[name] = make(replace(config, **sizes)).to(device)
    trained = rates(models, batches)
    decoded: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name, model in models.items():
            decoded[name].append(writing(model.eval(), batches[0].source))
    return {
        name: {"train": trained[name], "decode": median(decoded[name])}
        for name in names
    }


def steps(found: dict[str, list[dict]]) -> dict[str, dict]:
    """Each rung beside the one before: the gain in BLEU, and how sure it is.

    The gain is that of the means; p goes by the translations of the first
    seed, and `counts` holds what BLEU counted in each of them, a row of
    numbers a sentence, as text.
    """
    truths = [pair.target for pair in corpus.load("test_2016_flickr")]
    words, answer = {name: found[name][0]["said"] for name in found}, {}
    for name in tqdm(found, desc="comparing"):
        rows = metrics.counts(words[name], truths)
        text = ", ".join(" ".join(map(str, row)) for row in rows)
        answer[name] = {"counts": text}
        if (before := BEFORE.get(name)) in found:
            scores = [over_seeds(found[n])["bleu"] for n in (before, name)]
            p = metrics.compare(words[before], words[name], truths)["p"]
            gain = scores[1] - scores[0]
            answer[name] |= {"before": before, "gain": gain, "p": p}
    return answer


def summary(runs: list[dict], aligned: dict | None, rate: dict) -> dict:
    """Mean and spread over the seeds, alignment, tokens/s, and the runs."""
    return {
        "long": {
            str(n): mean(each["long"][str(n)]["bleu"] for each in runs)
            for n in LONG
        },
        "aer": aligned and aligned["aer"],
        "tokens_per_second": rate,
        **over_seeds(runs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=RUNGS, help="train one rung")
    parser.add_argument("--record", action="store_true", help="train nothing")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds")
    parser.add_argument("--runs", type=Path, default=RUNS / "ladder")
    options = parser.parse_args()
    seeds, names = list(range(options.seeds)), list(RUNGS)
    chosen = [options.only] if options.only else names
    for name in [] if options.record else chosen:
        for seed in seeds:
            kept = options.runs / f"{name}-{seed}"
            kept.mkdir(parents=True, exist_ok=True)
            shared = RUNS / "look_back" / kept.name
            trained = shared if name in SHARED else kept
            once(kept, lambda n=name, s=seed, f=trained: run(n, s, f))
        if RUNGS[name][0] is not Bottleneck:
            kept = options.runs / f"{name}-phrasebook"
            once(kept, lambda n=name, f=kept: align(n, f))
    if options.only:
        return print("kept; --record writes down all that is finished")
    found = {
        name: [finished(options.runs / f"{name}-{seed}") for seed in seeds]
        for name in names
    }
    aligned = {n: finished(options.runs / f"{n}-phrasebook") for n in names}
    names = [name for name in names if None not in found[name]]
    if len(names) < len(RUNGS):
        lacking = [name for name in RUNGS if name not in names]
        print(f"not trained yet: {', '.join(lacking)}")
    rate = speeds(names, training.device())
    change = steps({name: found[name] for name in names})
    records.save(
        "ladder",
        config=asdict(TRAINING),
        seeds=seeds,
        data=corpus.digests("en", "fr"),
        device=training.device(),
        wall_seconds=sum(
            each["wall_seconds"] for name in names for each in found[name]
        ),
        results={
            n: {**summary(found[n], aligned[n], rate[n]), **change[n]}
            for n in names
        },
    )


if __name__ == "__main__":
    main()
