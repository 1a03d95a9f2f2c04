"""Do the two cursors hold against soft search in another language?

Five rungs of the ladder, on its bench, from English to German. Writes
records/german.json.

    python -m lookback.experiments.german
    python -m lookback.experiments.german --only cursors --seeds 3
"""

from collections.abc import Sequence
from functools import partial

from lookback.experiments.ladder import (
    RIVALS,
    TRAINING,
    bench,
    run,
    summary,
)
from lookback.ladder import RUNGS

NAMES = ("cursors", *RIVALS)
PARTS = {
    name: partial(run, RUNGS[name], TRAINING, language="de") for name in NAMES
}


def main(arguments: Sequence[str] | None = None) -> None:
    bench("german", __doc__, PARTS, summary, arguments, language="de")


if __name__ == "__main__":
    main()
