"""What do the machines of the pages lose when each weight becomes a byte?

The Transformer and the RNNsearch of `experiments.tuned`, in float32 as it left
them in its folder of runs, and with their matrices rounded as `lab.int8` rounds
them, which is how the book keeps them: size of the file, BLEU on the captions
of 2016, and how many translations stay as they were. Writes
records/quantization.json.

    python -m lookback.experiments.quantization
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from lookback.experiments.runs import RUNS, Fitted, campaign, said, score
from lookback.lab import corpus, int8, records, training, weights
from lookback.rnnsearch import RNNsearch
from lookback.transformer import Transformer
from lookback.translator import Translator

BEAM = 5
MACHINES = {"tuned-rnnsearch": RNNsearch, "tuned-en-fr": Transformer}


def as_trained(name: str, model: Translator) -> None:
    """Give it the weights that `tuned` has averaged, before any rounding.

    Raises ValueError where its runs are not kept here.
    """
    part = name.removeprefix("tuned-")
    told = records.load("tuned", records.place())["results"][part]
    last, dropout = len(told["curve"]), told["config"]["dropout"]
    folder = RUNS / "tuned" / f"{part}-0" / f"dropout {dropout}"
    epochs = range(last - told["averaged"] + 1, last + 1)
    training.average(model, folder, epochs)


def run(name: str, seed: int, folder: Path) -> dict:
    """One machine before and after."""
    model, pieces, _ = weights.load(name, MACHINES[name])
    size = len(int8.pack(model, pieces))
    test = corpus.load("test_2016_flickr")
    fitted = Fitted(model, pieces, pieces, {})

    def scores() -> tuple[dict, list[list[str]]]:
        both = {
            "greedy": score(fitted, test),
            "beam": score(fitted, test, BEAM),
        }
        return both, said(fitted, test)

    byte, after = scores()
    as_trained(name, model)
    full, before = scores()
    same = sum(a == b for a, b in zip(before, after, strict=True))
    return {
        "bytes": size,
        "megabytes": size / 1e6,
        "parameters": sum(p.numel() for p in model.parameters()),
        "full": full,
        "int8": byte,
        "same": same,
        "sentences": len(test),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "quantization",
        __doc__,
        {name: partial(run, name) for name in MACHINES},
        lambda found: {name: runs[0] for name, runs in found.items()},
        config={"beam": BEAM},
        data=corpus.digests("en", "fr"),
        keep=False,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
