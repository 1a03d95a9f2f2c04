"""Has a memory network learned that the latest statement counts?

In most stories of `lab.story_task` it need not: each name of the chain is told
of once, or its older sentences lead to the same place. Here the networks of
`experiments.memory_networks` are trained again, with strong supervision and
with weak, and asked questions of three facts. The answers are counted by the
first name of the chain of which an older sentence leads elsewhere: the thing,
its bag, or the person. Of the thing it is also said on which sentence the
first hop had its largest attention weight: the latest or an older one.

    python -m lookback.experiments.recency

writes records/recency.json.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import mean, stdev

import torch

from lookback.experiments import memory_networks
from lookback.experiments.memory_networks import LENGTH, UPDATES, asked, network
from lookback.experiments.runs import campaign
from lookback.lab.story_task import collate, outdated, stories, vocabulary

SEEDS, TESTS, FACTS = 3, 10_000, 3
HELD_OUT = 2_000_000  # the seed of the stories that nobody learns from
NETWORKS = ("memory network", "told", "3 hops", "gaps")
KINDS = ("none", "person", "bag", "thing")


def run(name: str, seed: int, folder: Path) -> dict:
    """One network: trained, then asked; counts for each kind of question."""
    torch.manual_seed(seed)
    model = network(name)
    memory_networks.teach(name, model, seed, UPDATES)
    told = stories(HELD_OUT, TESTS, LENGTH, FACTS)
    kinds = [outdated(one) or "none" for one in told]
    batch = collate(told, vocabulary())
    right, looks = asked(model, batch)
    latest = looks[0].argmax(dim=-1).cpu() == batch.support[:, 0]
    return {
        kind: {
            "questions": len(rows),
            "right": float(right[rows].mean()),
            "latest": float(latest[rows].float().mean()),
        }
        for kind in KINDS
        for rows in [[i for i, one in enumerate(kinds) if one == kind]]
    }


def over_seeds(runs: list[dict]) -> dict:
    """Mean and spread of each share, and the runs."""

    def middle(kind: str, what: str) -> dict:
        each = [one[kind][what] for one in runs]
        spread = stdev(each) if len(each) > 1 else None
        return {"mean": mean(each), "spread": spread, "each": each}

    found = {
        kind: {what: middle(kind, what) for what in ("right", "latest")}
        for kind in KINDS
    }
    return found | {"runs": runs}


def summary(found: dict[str, list[dict]]) -> dict:
    """Every network's, and how many questions of each kind there are."""
    one = next(iter(found.values()))[0]
    counts = {kind: one[kind]["questions"] for kind in KINDS}
    networks = {name: over_seeds(runs) for name, runs in found.items()}
    return networks | {"questions": counts}


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "recency",
        __doc__,
        {name: partial(run, name) for name in NETWORKS},
        summary,
        config={
            "tests": TESTS,
            "facts": FACTS,
            "length": LENGTH,
            "stories": memory_networks.STORIES,
            "updates": UPDATES,
        },
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
