"""Why are the translations too short?

The RNNsearch and the Transformer of `experiments.tuned` translate the captions
of all three test sets: the likeliest piece at every step, a beam, and each
piece drawn from the model's own probabilities. Label smoothing trains a model
to keep a share of them for all pieces alike; in "unsmoothed" that share is
taken off before drawing. A beam whose scores are divided by a higher power of
the length writes more: does it write better? Writes records/brevity.json.

    python -m lookback.experiments.brevity
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import mean

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lookback.experiments.quantization import BEAM, MACHINES
from lookback.experiments.runs import campaign
from lookback.experiments.tuned import TRAINING as TUNED
from lookback.lab import corpus, metrics, weights
from lookback.lab.corpus import Pair, pad
from lookback.lab.decoding import limit, translate
from lookback.translator import Translator
from lookback.vocabulary import END, PAD, START

DRAWS = 3
POWERS = (1.5, 2.0)  # of the length; the book's beam has 1
WAYS = {"drawn": 0.0, "unsmoothed": TUNED.smoothing}  # share taken off


def unsmoothed(
    p: Float[Tensor, "*batch vocab"], share: float
) -> Float[Tensor, "*batch vocab"]:
    """Without the share that label smoothing spreads over all pieces.

    Smoothing trains towards (1 − ε) q + ε / V (Szegedy et al. 2016), so
    q = (p − ε / V) / (1 − ε), and 0 where that is below.
    """
    return ((p - share / p.shape[-1]) / (1 - share)).clamp(min=0)


@torch.no_grad()
def drawn(
    model: Translator,
    source: Int[Tensor, "batch source"],
    share: float,
    dice: torch.Generator,
) -> list[list[int]]:
    """Pieces up to <end>, each drawn by the model's own probabilities."""
    memory = model.encode(source)
    state = model.start(memory)
    token = torch.full((len(source),), START)
    over = torch.zeros(len(source), dtype=torch.bool)
    written = []
    for _ in range(int(limit(source).max())):
        logits, state, _ = model.step(token, state, memory)
        p = unsmoothed(logits.softmax(-1), share)
        token = torch.multinomial(p, 1, generator=dice)[:, 0]
        token = token.masked_fill(over, PAD)
        over = over | (token == END)
        written.append(token)
        if over.all():
            break
    rows = torch.stack(written, dim=1).tolist()
    return [[each for each in row if each not in (PAD, END)] for row in rows]


def run(name: str, seed: int, folder: Path, size: int = 100) -> dict:
    """Words for each of the references', and BLEU, by way of writing."""
    model, pieces, _ = weights.load(name, MACHINES[name])
    model.cpu()  # where the dice are
    pairs = [p for split in corpus.TESTS for p in corpus.load(split)]
    pairs.sort(key=lambda pair: len(pair.source))

    def once(share: float, dice: torch.Generator) -> list[list[str]]:
        words = []
        for start in range(0, len(pairs), size):
            part = pairs[start : start + size]
            source = pad([[*pieces.encode(p.source), END] for p in part])
            rows = drawn(model, source, share, dice)
            words += [pieces.decode(row) for row in rows]
        return words

    def searched(width: int, power: float = 1.0) -> dict[str, float]:
        asked = [pair.source for pair in pairs]
        found = translate(model, asked, pieces, pieces, width, power=power)
        return measured([words for words, _ in found], pairs)

    answer: dict = {
        "greedy": searched(1),
        "beam": searched(BEAM),
        "powers": {str(power): searched(BEAM, power) for power in POWERS},
    }
    for way, share in WAYS.items():
        dice = torch.Generator().manual_seed(seed)
        found = [measured(once(share, dice), pairs) for _ in range(DRAWS)]
        answer[way] = {key: mean(f[key] for f in found) for key in found[0]}
        answer[way]["each"] = [f["length"] for f in found]
    return answer


def measured(words: list[list[str]], pairs: Sequence[Pair]) -> dict[str, float]:
    """Words for each word of the references, and BLEU."""
    truths = [pair.target for pair in pairs]
    return {
        "length": sum(map(len, words)) / sum(map(len, truths)),
        "bleu": metrics.bleu(words, truths)["bleu"],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "brevity",
        __doc__,
        {name: partial(run, name) for name in MACHINES},
        lambda found: {name: runs[0] for name, runs in found.items()},
        config={"beam": BEAM, "draws": DRAWS, "powers": POWERS, **WAYS},
        data=corpus.digests("en", "fr", tests=corpus.TESTS),
        keep=False,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
