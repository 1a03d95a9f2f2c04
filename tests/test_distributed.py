"""One training in several processes learns what one process would have.

Run as a program, by torchrun, this file trains a small model, or runs a
campaign of two parts, in a folder, and leaves there what each process came to.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from functools import wraps
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from test_training import (
    PAIRS,
    SOURCE,
    TARGET,
    TINY,
    held_out,
    model_of,
    pairs_of,
)

from lookback.experiments.runs import campaign
from lookback.lab import checkpoints, distributed, records, training
from lookback.lab.checkpoints import Run
from lookback.lab.corpus import collate
from lookback.vocabulary import PAD

pytestmark = pytest.mark.nightly

# 21 pairs in batches of 4: the last batch of an epoch is a single pair, and
# one of two processes has none of its own.
ODD = replace(TINY, patience=3, save_every=1)


def odd(epoch):
    return pairs_of(epoch)[:21]


def learn(folder: Path, dropout: float, stop_at: int = -1) -> dict:
    """Train; stop as if killed before that step."""
    take = training.train_step

    @wraps(take)  # it is the same training
    def train_step(run, batch, steps):
        if run.progress.step == stop_at:
            os._exit(1)
        take(run, batch, steps)

    training.train_step = train_step
    written = []
    save = checkpoints.save_file
    checkpoints.save_file = lambda tensors, path, **named: (
        written.append(path.name),
        save(tensors, path, **named),
    )
    model = model_of(dropout=dropout)
    progress = training.train(
        model, odd, SOURCE, TARGET, ODD, folder / "run", held_out
    )
    place = folder / f"rank-{distributed.rank()}"
    save_file(model.state_dict(), place.with_suffix(".safetensors"))
    return {"progress": asdict(progress), "written": len(written)}


def part(seed: int, folder: Path) -> dict:
    training.train(
        model_of(), odd, SOURCE, TARGET, ODD, folder / "run", held_out
    )
    return {"rank": distributed.rank()}


def main(what: str, folder: Path, *numbers: str) -> None:
    torch.set_num_threads(1)
    if what == "campaign":
        records.FOLDER = folder
        runs = ["--runs", str(folder / "runs")]
        parts = {"one": part, "two": part}
        campaign("toy", "A toy.", parts, dict, config={}, arguments=runs)
        return
    with distributed.group():
        outcome = learn(folder, *map(float, numbers))
        path = folder / f"rank-{distributed.rank()}.json"
    path.write_text(json.dumps(outcome))


def torchrun(*arguments: object, processes: int = 2) -> int:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", str(processes)),
            *map(str, (__file__, *arguments)),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path]),
            "OMP_NUM_THREADS": "1",
        },
    )
    if done.returncode:
        print(done.stderr[-3000:])
    return done.returncode


def came_to(folder: Path, rank: int) -> tuple[dict, dict]:
    """A process's weights, and what it counted."""
    path = folder / f"rank-{rank}.json"
    return load_file(path.with_suffix(".safetensors")), json.loads(
        path.read_text()
    )


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    assert torchrun("learn", folder, 0.0) == 0
    return folder


def test_two_processes_learn_what_one_learns_from_whole_batches(
    shared, tmp_path
):
    model = model_of()
    alone = training.train(model, odd, SOURCE, TARGET, ODD, tmp_path, held_out)
    weights, told = came_to(shared, 0)
    curve = told["progress"]["curve"]
    assert len(curve) == len(alone.curve) == ODD.epochs
    for ours, theirs in zip(curve, alone.curve, strict=True):
        for key in ("train_loss", "loss", "step"):
            assert ours[key] == pytest.approx(theirs[key], rel=1e-4)
    assert told["progress"]["trained"] == alone.trained
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(weights[name], weight, rtol=1e-3, atol=1e-4)


def test_all_processes_end_in_the_same_weights_and_one_writes(shared):
    (ours, told), (theirs, other) = (came_to(shared, rank) for rank in (0, 1))
    for name, weight in ours.items():
        assert torch.equal(weight, theirs[name]), name
    assert told["written"] > 18 and other["written"] == 0
    assert [row["loss"] for row in told["progress"]["curve"]] == [
        row["loss"] for row in other["progress"]["curve"]
    ]


def test_they_are_killed_and_go_on_as_if_nothing_had_been(tmp_path):
    """With dropout, which silences other numbers in each process."""
    ends = []
    for name, stops in (("whole", []), ("killed", [8])):
        folder = tmp_path / name
        folder.mkdir()
        for step in stops:
            assert torchrun("learn", folder, 0.3, step) != 0
            assert not (folder / "rank-0.json").exists()
        assert torchrun("learn", folder, 0.3) == 0
        ends.append(came_to(folder, 0)[0])
    for name, weight in ends[0].items():
        assert torch.equal(weight, ends[1][name]), name


def test_a_campaign_is_at_one_part_together_and_records_once(tmp_path):
    assert torchrun("campaign", tmp_path) == 0
    assert json.loads((tmp_path / "toy.json").read_text())
    for name in ("one-0", "two-0"):
        path = tmp_path / "runs" / name / "result.json"
        found = json.loads(path.read_text())
        assert found["rank"] == 0
        assert found["device"].endswith("2 processes")


def test_a_batch_is_shared_out_without_loss(monkeypatch):
    batch = collate(PAIRS[:3], SOURCE, TARGET)
    shares = []
    for rank in range(4):
        monkeypatch.setattr(distributed, "size", lambda: 4)
        monkeypatch.setattr(distributed, "rank", lambda rank=rank: rank)
        shares.append(distributed.share(batch))
    for rank, mine in enumerate(shares[:3]):
        for whole, rows in zip(batch, mine, strict=True):
            assert torch.equal(rows, whole[rank : rank + 1])
    assert len(shares[3].source) == 1
    assert (shares[3].target_out == PAD).all()


def test_no_process_and_no_step_drops_as_another_does(tmp_path, monkeypatch):
    batch, seeds = collate(PAIRS, SOURCE, TARGET), set()
    for rank in range(3):
        run = Run(model_of(dropout=0.3), ODD, tmp_path / str(rank))
        monkeypatch.setattr(distributed, "rank", lambda rank=rank: rank)
        for _ in range(3):
            training.train_step(run, batch, 9)
            seeds.add(torch.initial_seed())
    assert len(seeds) == 9


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
