"""A run of training and its checkpoint: kill it at any moment, go on later.

A checkpoint is one safetensors file: the model and Adam's moments as tensors,
the progress as JSON in its header. It is written beside the old one and then
moved over it, so there is always a whole one. (The random numbers of a step
depend on seed and step alone, and need not be kept.)
"""

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from lookback.lab import asked, distributed
from lookback.lab.corpus import Numbers, Pair
from lookback.lab.download import digest
from lookback.lab.fingerprint import code, differences, digest_of, reached
from lookback.translator import Translator
from lookback.vocabulary import Vocabulary


@dataclass(frozen=True)
class TrainingConfig:
    """How to train; the defaults are the book's runs."""

    epochs: int = 10
    batch: int = 64  # sentences; 80 in Bahdanau et al. 2015
    learning_rate: float = 1e-3  # of Adam; the paper used Adadelta
    warmup: int = 200  # steps from 0 up to the learning rate
    smoothing: float = 0.1  # none in 2014
    clip: float = 1.0  # L2 norm of the gradient, as in the paper
    patience: int = 3  # epochs without a better validation score
    seed: int = 0
    save_every: int = 200  # steps between checkpoints

    def __post_init__(self):
        for name, least in LEAST.items():
            asked.whole(name, getattr(self, name), least)
        for name in ("learning_rate", "clip"):
            if not asked.number(name, getattr(self, name), 0):
                raise ValueError(f"{name} is 0.0: give a number above 0")
        asked.number("smoothing", self.smoothing, 0, 1)


LEAST = {
    "epochs": 1,
    "batch": 1,
    "patience": 1,
    "save_every": 1,
    "warmup": 0,
    "seed": None,
}


@dataclass
class Progress:
    """Where a run stands: everything but the tensors."""

    epoch: int = 0
    step: int = 0  # of all epochs together
    done: int = 0  # batches of this epoch
    sentences: str = ""  # a digest of this epoch's
    loss: float = 0.0  # summed over this epoch's target tokens
    tokens: int = 0  # target tokens of this epoch
    seconds: float = 0.0  # spent in training, all epochs; see Run.settle
    trained: int = 0  # target tokens, all epochs
    best: float = -math.inf
    best_epoch: int = 0
    best_digest: str = ""  # of the best weights
    curve: list[dict] = field(default_factory=list)

    @property
    def tokens_per_second(self) -> float:
        """Target tokens trained on per second of training."""
        return self.trained / self.seconds if self.seconds else 0.0


class Run:
    """A model being trained, and the folder that holds its checkpoints."""

    def __init__(
        self,
        model: Translator,
        config: TrainingConfig,
        folder: Path,
        vocabularies: Iterable[Vocabulary] = (),
        pairs: Sequence[Pair] = (),
        **functions: Callable,
    ):
        self.model, self.config, self.folder = model, config, folder
        self.parallel = distributed.parallel(model)
        # What must agree for a checkpoint to be continued.
        self.identity = {
            "model": type(model).__name__,
            "sizes": asdict(model.config),
            "settings": asdict(config),
            "vocabularies": [
                digest("\n".join(each.words).encode()) for each in vocabularies
            ],
            "sentences": digest(json.dumps(pairs).encode()),
            "code": digest(code(model).encode()),
        } | {name: digest(reached(f).encode()) for name, f in functions.items()}
        self.optimizer = torch.optim.Adam(
            model.parameters(),
            lr=config.learning_rate,
            betas=(0.9, 0.98),
            fused=model.device.type == "cuda",  # one kernel for all weights
        )
        self.progress = Progress()
        # The loss of this epoch, where no step has to wait for it.
        self.lost = torch.zeros((), dtype=torch.float64, device=model.device)
        self.since: float | None = None  # the first step not yet settled
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "last.safetensors").exists():
            self.restore()

    def begin(self, rows: Sequence[Numbers]) -> None:
        """Note the sentences of an epoch; refuse, with ValueError, to go on
        with other ones than it began with."""
        progress, found = self.progress, digest(json.dumps(rows).encode())
        if progress.done and found != progress.sentences:
            raise ValueError(
                f"{self.folder} holds a run with other sentences in epoch"
                f" {progress.epoch + 1}: go back to those, or remove"
                f" {self.folder} to start the run afresh"
            )
        progress.sentences = found

    def settle(self) -> None:
        """Wait for the device, and note the loss and the time so far.

        That time is from the first step since the last settlement to the end
        of the last one, the making of the batches between them included;
        validation and checkpoints are not.
        """
        self.progress.loss = self.lost.item()
        if self.since is not None:
            self.progress.seconds += time.perf_counter() - self.since
            self.since = None

    def save(self) -> None:
        """Settle; write model, optimiser and progress atomically."""
        self.settle()
        if distributed.rank():
            return
        tensors = {f"model.{k}": v for k, v in self.model.state_dict().items()}
        for number, state in self.optimizer.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"optimizer.{number}.{name}"] = value
        meta = {
            "identity": json.dumps(self.identity),
            "progress": json.dumps(asdict(self.progress)),
        }
        meta["digest"] = digest_of(tensors, meta["identity"], meta["progress"])
        write(self.folder / "last.safetensors", tensors, meta)

    def restore(self) -> None:
        """Go on from the last checkpoint; refuse one of another run."""
        path = self.folder / "last.safetensors"
        advice = f"remove {self.folder} to start the run afresh"
        try:
            tensors, meta = read(path)
            told = meta["identity"], meta["progress"]
            if meta.get("digest") != digest_of(tensors, *told):
                raise ValueError("it is damaged")
            theirs, progress = map(json.loads, told)
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise ValueError(
                f"cannot go on from {path} ({error}): {advice}"
            ) from error
        if other := differences(self.identity, theirs):
            raise ValueError(
                f"{path} is of a run with other {' and '.join(other)}: go back"
                f" to those, or {advice}"
            )
        self.progress = Progress(**progress)
        self.lost.fill_(self.progress.loss)
        self.model.load_state_dict(
            {k[6:]: v for k, v in tensors.items() if k.startswith("model.")}
        )
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            if name.startswith("optimizer."):
                _, number, key = name.split(".", 2)
                state.setdefault(int(number), {})[key] = value
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Refuse, with ValueError, a folder in which another process trains, if
    it does not train together with this one."""
    if distributed.rank():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise ValueError(
            f"another process is training in {folder}: wait for its end, or"
            " name another folder"
        ) from error
    try:
        yield
    finally:
        lock.release()


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """A safetensors file's tensors, on the CPU, and its header."""
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        return tensors, file.metadata() or {}


def write(path: Path, tensors: dict[str, Tensor], meta: dict[str, str]) -> None:
    """A safetensors file, written beside `path` and then moved there."""
    temporary = path.with_suffix(".part")  # what a kill leaves, the next uses
    try:
        save_file(
            {k: v.detach().cpu().contiguous() for k, v in tensors.items()},
            temporary,
            metadata=meta,
        )
        temporary.chmod(0o644)
        os.replace(temporary, path)
    finally:  # a full disk leaves no half file
        temporary.unlink(missing_ok=True)
