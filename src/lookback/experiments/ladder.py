"""What does each change between 2014 and 2017 buy? One rung, one change.

All rungs train on Multi30k, English to French, with the same loop, budget,
sizes and seed. Each is then asked for single captions, for two to four
joined ones (longer than anything it was trained on), and, trained afresh on
the phrasebook, for the alignments whose truth is known. Writes
records/ladder.json and the Transformer's weights.

    python -m lookback.experiments.ladder
    python -m lookback.experiments.ladder --only dot  # one part
    python -m lookback.experiments.ladder --record        # what is finished
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from statistics import mean

import torch
from tqdm.auto import tqdm

from lookback.bottleneck import Bottleneck
from lookback.experiments import alignment
from lookback.experiments.runs import (
    campaign,
    fit_captions,
    once,
    over_seeds,
    said,
    score,
)
from lookback.experiments.search import TRAINING
from lookback.experiments.speed import VOCAB, paces
from lookback.lab import corpus, metrics, training, weights
from lookback.ladder import RUNGS, Rung
from lookback.transformer import TransformerConfig

SMALL = {"embed": 64, "hidden": 64, "align": 64, "maxout": 64}
LONG = (2, 3, 4)  # captions joined


def small(rung: Rung) -> Rung:
    """The same rung at the phrasebook's size."""
    if isinstance(rung.config, TransformerConfig):
        return replace(rung, config=replace(rung.config, d_model=64, d_ff=256))
    sizes = {k: v for k, v in SMALL.items() if hasattr(rung.config, k)}
    if getattr(rung.config, "d_ff", 0):
        sizes["d_ff"] = 256
    return replace(rung, config=replace(rung.config, **sizes))


def run(name: str, seed: int, folder: Path) -> dict:
    """Train and test one rung; `folder` lets it resume."""
    settings = replace(TRAINING, seed=seed)
    fitted = fit_captions(RUNGS[name].make, settings, folder)
    test = corpus.load("test_2016_flickr")
    words, truths = said(fitted, test), [pair.target for pair in test]
    answer = {
        **fitted.outcome,
        "said": words,
        "greedy": metrics.bleu(words, truths, resamples=1000),
        "beam": score(fitted, test, width=5),
        "long": {
            str(n): score(fitted, corpus.join(test, repeat(n))) for n in LONG
        },
        "phrasebook": None,
    }
    if RUNGS[name].kind is not Bottleneck:  # which never looks
        align = partial(alignment.run, make=small(RUNGS[name]).make)
        answer["phrasebook"] = once(folder / "phrasebook", align, seed)
    if seed == 0 and name == "transformer":
        weights.save(name, *fitted[:3])
    return answer


def speeds(names: list[str], device: torch.device) -> dict[str, dict]:
    """Tokens/s of each rung, untrained, with the corpus's vocabularies."""
    models = {name: RUNGS[name].make(VOCAB, VOCAB) for name in names}
    return paces({name: each.to(device) for name, each in models.items()})


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
        if (before := RUNGS[name].before) in found:
            scores = [over_seeds(found[n])["bleu"] for n in (before, name)]
            p = metrics.compare(words[before], words[name], truths)["p"]
            gain = scores[1] - scores[0]
            answer[name] |= {"before": before, "gain": gain, "p": p}
    return answer


def summary(found: dict[str, list[dict]]) -> dict:
    """Every rung over its seeds, its speed, and the step that it is."""
    rate, change = speeds(list(found), training.device()), steps(found)
    return {
        name: {
            "long": {
                str(n): mean(run["long"][str(n)]["bleu"] for run in runs)
                for n in LONG
            },
            "aer": runs[0]["phrasebook"]
            and mean(run["phrasebook"]["aer"] for run in runs),
            "tokens_per_second": rate[name],
            **over_seeds(runs),
            **change[name],
        }
        for name, runs in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "ladder",
        __doc__,
        {name: partial(run, name) for name in RUNGS},
        summary,
        config=asdict(TRAINING),
        data=corpus.digests("en", "fr"),
        needed=[],
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
