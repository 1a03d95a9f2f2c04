"""Train a chapter's model where you read it: small, or as the book did.

A training leaves its checkpoints in the folder that it is given. Interrupt it
whenever you like; called again, it goes on. What a notebook has edited is what
is trained, and a folder that holds a run of other code is refused.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
from tqdm.auto import tqdm

from lookback.experiments import alignment
from lookback.experiments.runs import Fitted, fit, fit_captions, validator
from lookback.experiments.search import MAKE, TRAINING
from lookback.lab import phrasebook, records
from lookback.lab.checkpoints import take_up
from lookback.lab.corpus import Pair
from lookback.translator import Translator
from lookback.vocabulary import Vocabulary

Loaded = tuple[Translator, Vocabulary, Vocabulary]


def small(
    name: str, folder: str | Path, epochs: int = 5, count: int = 4000
) -> Loaded:
    """Train a chapter's machine on the phrasebook: a minute or so on a CPU.

    It reads `count` short sentence pairs an epoch, and after each translates
    200 others. Returns the model and its two vocabularies.
    """
    source, target = (Vocabulary(words) for words in phrasebook.words())
    pairs, held_out = (
        [
            Pair(each.source, each.target)
            for each in phrasebook.sample(n, seed, length="short")
        ]
        for n, seed in ((count, 0), (alignment.HELD_OUT, 2))
    )
    return patiently(
        folder,
        lambda: fit(
            alignment.MAKE[name],
            source,
            target,
            lambda epoch: pairs,
            told(validator(held_out, source, target)),
            replace(alignment.TRAINING, epochs=epochs, batch=16),
            Path(folder),
        ),
    )


def recorded(name: str, folder: str | Path) -> Loaded:
    """Train a chapter's machine on Multi30k, as its record was made.

    On the GPU if there is one; else about an hour on one core of a CPU.
    """
    return patiently(
        folder,
        lambda: fit_captions(MAKE[name], TRAINING, Path(folder), watch=told),
    )


def told(validate: Callable[[Translator], dict]) -> Callable:
    """The same, and a line for the reader."""

    def telling(model: Translator) -> dict:
        numbers = validate(model)
        tqdm.write(f"BLEU on sentences it has not read: {numbers['score']:.1f}")
        return numbers

    return telling


def patiently(folder: str | Path, run: Callable[[], Fitted]) -> Loaded:
    """What `run` trains; who interrupts it is told how to go on."""
    print(f"checkpoints: {Path(folder).resolve()}")
    try:
        return run()[:3]
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"run the cell again: it goes on from the checkpoint in {folder}"
        ) from None


def curves(*folders: str | Path, record: str | None = None) -> None:
    """Draw BLEU after each epoch of the runs, beside one of the record."""
    shown = {str(folder): progress(Path(folder)) for folder in folders}
    if record:
        runs = records.load("search")["results"][record]["runs"]
        shown = {"the book's record": runs[0]["curve"]} | shown
    _, ax = plt.subplots(figsize=(4.3, 3))
    for label, curve in shown.items():
        ax.plot(
            [row["epoch"] for row in curve],
            [row["score"] for row in curve],
            marker=".",
            label=label,
        )
    ax.set(xlabel="epoch", ylabel="BLEU, validation", ylim=(0, None))
    ax.legend()
    plt.show()


def progress(folder: Path) -> Sequence[dict]:
    """The curve so far; FileNotFoundError where nothing was trained, and
    ValueError for a damaged checkpoint."""
    path = folder / "last.safetensors"
    if (found := take_up(path)) is None:
        raise FileNotFoundError(f"{path}: nothing was trained there yet")
    return found[1]["curve"]
