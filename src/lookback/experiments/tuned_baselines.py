"""RNNsearch and the Transformer, each at its best.

On the ladder's bench, with twice as many rounds: five dropouts are tried, and
two other rates with the dropout that did best. As many trials for the one as
for the other; the lowest validation loss of the first seed chooses, and what it
has chosen is trained with other seeds, too. Writes
records/tuned_baselines.json.

    python -m lookback.experiments.tuned_baselines
    python -m lookback.experiments.tuned_baselines --only NAME
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from lookback.experiments.ladder import (
    TRAINING,
    bench,
    run,
    runs_alone,
    scores_and_gains,
)
from lookback.experiments.runs import finished
from lookback.lab import records
from lookback.lab.training import TrainingConfig
from lookback.ladder import RUNGS, Rung

FAMILIES = ("rnnsearch", "transformer")
DROPOUTS = (0.0, 0.1, 0.2, 0.3, 0.4)
START = {"rate": TRAINING.learning_rate, "rounds": 2 * TRAINING.epochs}
# Stage after stage: what each trial changes in the best of those before it.
STAGES = (
    {f"dropout {p}": {"dropout": p, **START} for p in DROPOUTS},
    {f"rate {r}": {"rate": float(r)} for r in ("2e-3", "8e-3")},
)


def lowest(result: dict) -> float:
    """The lowest validation loss of a run, in nats a piece."""
    return min(row["loss"] for row in result["curve"])


def best_of(
    name: str, tried: Mapping[str, dict], stages: int = len(STAGES)
) -> str:
    """The trial of the first stages that has the lowest validation loss.

    Raises ValueError where one of them is not finished.
    """
    parts = [f"{name}, {label}" for s in STAGES[:stages] for label in s]
    if missing := [part for part in parts if part not in tried]:
        raise ValueError(
            f"{', '.join(missing)}: not finished yet, and what comes next"
            " depends on it; python -m"
            " lookback.experiments.tuned_baselines trains all in their order"
        )
    return min(parts, key=lambda part: lowest(tried[part]))


def recorded() -> dict[str, dict]:
    """The first run of each trial in the record, if there is one."""
    try:
        results = records.load("tuned_baselines", records.place())["results"]
    except records.RecordError:
        return {}
    return {k: v["runs"][0] for k, v in results.items() if "runs" in v}


def chosen(name: str) -> list[dict]:
    """The recorded runs of the setting that did best, one of each seed.

    Raises ValueError where not all trials are recorded.
    """
    trial = best_of(name, recorded())
    return records.load("tuned_baselines", records.place())["results"][trial][
        "runs"
    ]


def rung_with(name: str, setting: dict) -> tuple[Rung, TrainingConfig]:
    """The rung, and how it is trained, with such a setting."""
    rung, rounds = RUNGS[name], setting["rounds"]
    rung = replace(rung, parts=replace(rung.parts, dropout=setting["dropout"]))
    return rung, replace(
        TRAINING,
        epochs=rounds,
        patience=rounds,
        learning_rate=setting["rate"],
    )


def trial(name: str, stage: int, label: str, seed: int, folder: Path) -> dict:
    """Train and test one setting, which stands on the best of the stages
    before it; they are found beside `folder`."""
    setting = {}
    if stage:
        places = {part: folder.with_name(f"{part}-0") for part in PARTS}
        tried = recorded() | {
            part: result
            for part, place in places.items()
            if (result := finished(place))
        }
        setting = tried[best_of(name, tried, stage)]["setting"]
    setting = setting | STAGES[stage][label]
    rung, training = rung_with(name, setting)
    return {"setting": setting, **run(rung, training, seed, folder)}


PARTS = {
    f"{name}, {label}": partial(trial, name, stage, label)
    for stage, trials in enumerate(STAGES)
    for label in trials
    for name in FAMILIES
}


def summary(found: dict[str, list[dict]]) -> dict:
    """Every run; of each family its best setting, scores and gains."""
    tried = {part: runs[0] for part, runs in found.items()}
    best = {name: best_of(name, tried) for name in FAMILIES}
    reached = scores_and_gains(
        {name: found[part] for name, part in best.items()}
    )
    return runs_alone(found) | {
        name: {"trial": part, "setting": tried[part]["setting"]} | reached[name]
        for name, part in best.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    bench("tuned_baselines", __doc__, PARTS, summary, arguments)


if __name__ == "__main__":
    main()
