"""What do the machines of the pages lose when each weight becomes a byte?

The Transformer and the RNNsearch of `experiments.tuned`, in float32 and with
their matrices rounded as `lab.int8` rounds them: size of the file, BLEU on the
captions of 2016, and how many translations stay as they were. Writes
records/in_page.json.

    python -m lookback.experiments.in_page
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from lookback.experiments.runs import Fitted, campaign, said, score
from lookback.lab import corpus, int8, weights
from lookback.rnnsearch import RNNsearch
from lookback.transformer import Transformer

BEAM = 5
MACHINES = {"tuned-rnnsearch": RNNsearch, "tuned-en-fr": Transformer}


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

    full, before = scores()
    int8.rounded(model)
    byte, after = scores()
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
        "in_page",
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
