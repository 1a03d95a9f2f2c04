"""Minutes of attacks, with a count at the end: `make attack`.

What is cheap is a test of its own. Here the same is done hundreds of times,
with random numbers that `--seed` repeats: trainings are killed at any moment
or started twice in one folder, checkpoints and records are damaged byte by
byte, and every check is handed the slips of `test_mutants`.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from safetensors.torch import load_file

sys.path.insert(0, str(Path(__file__).parent))

import test_training as small  # noqa: E402
from tqdm import tqdm  # noqa: E402

from lookback.experiments import EXPERIMENTS  # noqa: E402
from lookback.lab import records  # noqa: E402
from lookback.lab.checkpoints import Run  # noqa: E402
from lookback.lab.fingerprint import digest_of  # noqa: E402

TRAIN = (
    "import sys, torch, test_training as t; from pathlib import Path;"
    " torch.set_num_threads(1); print('ready', flush=True); input();"
    " t.run_once(Path(sys.argv[1]), '')"
)


def start(folder):
    """A process that will train the model of `test_training`; see `go`."""
    paths = [str(Path(__file__).parent), *sys.path]
    process = subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()  # torch is loaded
    return process


def go(*processes):
    """Let them train, all at the same time."""
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()


def ended(folder):
    """The weights that a training ended with."""
    return load_file(Path(folder) / "final.safetensors")


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.equal(one[name], other[name]) for name in one
    )


def kills(count, folder, dice):
    """Killed at a moment of the clock, and gone on with until it ends."""
    process = start(folder / "never")
    began = time.monotonic()
    go(process)
    process.communicate()
    longest = 1.3 * (time.monotonic() - began)
    whole, killed = ended(folder / "never"), 0
    for number in range(count):
        place, failures = folder / f"kill-{number}", []
        while not (place / "final.safetensors").exists():
            process = start(place)
            go(process)
            try:
                process.communicate(timeout=dice.uniform(0, longest))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                killed += 1
            if process.returncode not in (0, -signal.SIGKILL):
                failures.append(f"{place}: it ended with {process.returncode}")
                break
        else:
            if not same(ended(place), whole):
                failures.append(f"{place}: other weights")
        yield 1, failures
    print(f"({killed} kills)")


def doubles(count, folder, dice):
    """Two processes in one folder: one trains, one says why it does not."""
    whole = ended(folder / "never")
    for number in range(count):
        place, failures = folder / f"double-{number}", []
        two = [start(place), start(place)]
        go(two[0])
        time.sleep(dice.uniform(0, 0.3))
        go(two[1])
        said = [process.communicate()[1] for process in two]
        refused = ["another process is training" in text for text in said]
        done = [process.returncode == 0 for process in two]
        if not all(a != b for a, b in zip(refused, done, strict=True)):
            failures.append(f"{place}: {said}")
        if not same(ended(place), whole):
            failures.append(f"{place}: other weights")
        yield 1, failures


def damage(count, folder, dice):
    """One byte of a checkpoint is another: refused, or of no account."""
    path = next((folder / "never").glob("last.safetensors"))
    whole = path.read_bytes()
    place = folder / "damaged"
    place.mkdir()

    def restored():
        given = small.SOURCE, small.TARGET
        model = small.model_of(width=8, dropout=0.3)
        run = Run(model, small.TINY, place, given, small.pairs_of)
        return digest_of(model.state_dict()), run.progress

    (place / path.name).write_bytes(whole)
    right = restored()
    for _ in range(count):
        harmed, failures = bytearray(whole), []
        at, value = dice.randrange(len(harmed)), dice.randrange(1, 256)
        harmed[at] ^= value
        (place / path.name).write_bytes(harmed)
        try:
            if restored() != right:
                failures.append(f"byte {at} ^ {value}: another run")
        except ValueError as error:
            if str(place) not in str(error):
                failures.append(f"byte {at} ^ {value}: {error}")
        except Exception as error:
            failures.append(f"byte {at} ^ {value}: {error!r}")
        yield 1, failures


def broken_records(count, folder, dice):
    """A record with one character changed: read alike, or a RecordError."""
    paths = [records.FOLDER / f"{name}.json" for name in EXPERIMENTS]
    texts = [path.read_text("utf-8") for path in paths if path.exists()]
    texts = [text for text in texts if len(text) < 100_000]
    place = folder / "records"
    place.mkdir()
    for _ in range(count):
        text, failures = dice.choice(texts), []
        at = dice.randrange(len(text))
        harmed = text[:at] + chr(dice.choice([0, 34, 44, 60, 91, 123, 0x1F600]))
        harmed += text[at + dice.randrange(2) :]
        name = json.loads(text)["experiment"]
        (place / f"{name}.json").write_text(harmed, "utf-8")
        try:
            records.load(name, place)
        except records.RecordError:
            pass
        except Exception as error:
            failures.append(f"{name} at {at}: {error!r}")
        yield 1, failures


def mutants(*_):
    """Every check, given its solution with one slip in it."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        + [str(Path(__file__).with_name("test_mutants.py"))],
        capture_output=True,
        text=True,
    )
    last = done.stdout.strip().splitlines()[-1]
    count = sum(int(word) for word in last.split() if word.isdigit())
    failed = done.returncode != 0
    yield count, done.stdout.splitlines()[-20:] if failed else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--share", type=float, default=1.0, help="of each count"
    )
    options = parser.parse_args()
    total, lost = 0, []
    with tempfile.TemporaryDirectory() as name:
        folder, dice = Path(name), random.Random(options.seed)
        for attack, count in (
            (kills, 40),
            (doubles, 20),
            (damage, 500),
            (broken_records, 1000),
            (mutants, 1),
        ):
            count = max(1, int(count * options.share))
            bar = tqdm(total=count, desc=attack.__name__)
            for done, failures in attack(count, folder, dice):
                total += done
                lost += failures
                bar.update(done)
            bar.close()
    print(*lost, sep="\n")
    print(f"{total} attacks, {len(lost)} failures (seed {options.seed})")
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
