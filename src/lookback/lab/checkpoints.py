"""A run of training and its checkpoint: kill it at any moment, go on later.

A checkpoint is one safetensors file: the model and Adam's moments as tensors,
the progress as JSON in its header. It is written beside the old one and then
moved over it, so there is always a whole one. (The random numbers of a step
depend on seed and step alone, and need not be kept.)
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from types import NoneType
from typing import get_args, get_type_hints

import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from lookback.lab import distributed, files
from lookback.lab.corpus import Pair
from lookback.lab.download import digest
from lookback.lab.files import short
from lookback.lab.fingerprint import differences, digest_of, identity
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
        check(self)


MOST = 1_000_000_000
LIMITS = {  # the least and the most; of all other numbers MOST
    "epochs": (1, 10_000),
    "batch": (1, 1_000_000),
    "learning_rate": (1e-12, 1e30),
    "warmup": (0, MOST),
    "smoothing": (0, 0.999),  # a share
    "dropout": (0, 1),  # a share
    "part_dropout": (0, 1),
    "clip": (1e-12, 1e30),
    "patience": (1, MOST),
    "seed": (0, 2**32 - 1),
    "save_every": (1, MOST),
}


def check(settings: object) -> None:
    """Raise ValueError, which names it, for a field of a dataclass that has
    another type than it should have, or is too small, too large or NaN."""
    for name, hint in get_type_hints(type(settings)).items():
        value, kinds = getattr(settings, name), get_args(hint) or (hint,)
        if float in kinds:
            kinds, words = {*kinds, int}, "a number"
        elif int in kinds:
            words = "a whole number"
        elif {*kinds} <= {bool, str, NoneType}:
            words = " or ".join(kind.__name__ for kind in kinds)
        else:
            continue
        right = type(value) in kinds
        if right and type(value) in (int, float):
            least, most = LIMITS.get(name, (-MOST, MOST))
            words += f" from {least} to {most}"
            right = least <= value <= most
        if not right:
            raise ValueError(
                f"{name} is {short(repr(value))}: it has to be {words}"
            )


@dataclass
class Progress:
    """Where a run stands: everything but the tensors."""

    epoch: int = 0
    step: int = 0  # of all epochs together
    done: int = 0  # batches of this epoch
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


class Busy(ValueError):
    """Another process trains in this folder."""


class Run:
    """A model being trained, and the folder that holds its checkpoints."""

    def __init__(
        self,
        model: Translator,
        config: TrainingConfig,
        folder: Path,
        vocabularies: Sequence[Vocabulary] = (),
        pairs: Callable[[int], Sequence[Pair]] | None = None,
        **functions: Callable,
    ):
        check(config)
        if is_dataclass(made := getattr(model, "config", None)):
            check(made)
        self.model, self.config, self.folder = model, config, folder
        self.parallel = distributed.parallel(model)
        self.sentences = of_epochs(pairs, config.epochs) if pairs else []
        self.identity = identity(
            model, asdict(config), vocabularies=[*vocabularies], **functions
        ) | {"sentences": self.sentences}
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
        self.restore()

    def begin(self, pairs: Sequence[Pair]) -> None:
        """Refuse, with ValueError, other sentences of an epoch than it was
        said to have when the training was started."""
        if digest_of_pairs(pairs) != self.sentences[self.progress.epoch]:
            raise ValueError(
                f"epoch {self.progress.epoch + 1} has other sentences than when"
                " the training was started: let `pairs` give the same ones for"
                f" the same epoch, or remove {self.folder} to start afresh"
            )

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
        tensors = state(self.model, self.optimizer)
        path = self.folder / "last.safetensors"
        save(path, tensors, self.identity, asdict(self.progress))

    def restore(self) -> None:
        """Go on from the last checkpoint; refuse one of another run."""
        found = take_up(self.folder / "last.safetensors", self.identity)
        if found is None:
            return
        tensors, progress, _ = found
        self.progress = Progress(**progress)
        self.lost.fill_(self.progress.loss)
        give(tensors, self.model, self.optimizer)


def state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict:
    """The tensors of a model and of its optimiser, by name."""
    tensors = {f"model.{k}": v for k, v in model.state_dict().items()}
    for number, moments in optimizer.state_dict()["state"].items():
        for name, value in moments.items():
            tensors[f"optimizer.{number}.{name}"] = value
    return tensors


def give(
    tensors: dict[str, Tensor],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    """The reverse of `state`."""
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, number, key = name.split(".", 2)
            moments.setdefault(int(number), {})[key] = value
    model.load_state_dict(
        {k[6:]: v for k, v in tensors.items() if k.startswith("model.")}
    )
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})


def digest_of_pairs(pairs: Sequence[Pair]) -> str:
    """The digest of an epoch's sentences, in their order."""
    return digest(json.dumps([*pairs]).encode())


def of_epochs(pairs: Callable[[int], Sequence[Pair]], count: int) -> list[str]:
    """The digests of so many epochs' sentences; ValueError for an empty one."""
    found, before = [], None
    for epoch in range(count):
        if (now := [*pairs(epoch)]) != before:
            before, told = now, digest_of_pairs(now)
        if not now:
            raise ValueError(
                f"epoch {epoch + 1} has no sentences: `pairs` has to give some"
            )
        found.append(told)
    return found


def save(
    path: Path, tensors: dict[str, Tensor], identity: dict, progress: object
) -> None:
    """Write a checkpoint, with a digest of all that it holds."""
    meta = {"identity": json.dumps(identity), "progress": json.dumps(progress)}
    meta["digest"] = digest_of(tensors, meta["identity"], meta["progress"])
    write(path, tensors, meta)


def take_up(
    path: Path, identity: dict | None = None
) -> tuple[dict[str, Tensor], object, dict] | None:
    """The tensors, progress and identity that `save` wrote; None if it has
    not.

    Raises ValueError for a checkpoint that is damaged, or of another run.
    """
    advice = f"remove {short(path.parent)} to start the run afresh"
    try:
        if not files.exists(path):
            return None
        tensors, meta = read(path)
        told = meta["identity"], meta["progress"]
        if meta.get("digest") != digest_of(tensors, *told):
            raise ValueError("it is damaged")
        theirs, progress = map(files.parse, told)
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise ValueError(
            f"cannot go on from {short(path)} ({short(error)}): {advice}"
        ) from error
    mine = files.parse(json.dumps(identity or {}))  # with lists for tuples
    if other := differences(mine, theirs):
        raise ValueError(
            f"{short(path)} is of a run with other {' and '.join(other)}: go"
            f" back to those, or {advice}"
        )
    return tensors, progress, theirs


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Refuse, with Busy, a folder in which another process trains, if it does
    not train together with this one."""
    if distributed.rank():
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files.exists(folder / "lock")
        lock = FileLock(folder / "lock")
        lock.acquire(timeout=0)
    except Timeout as error:
        raise Busy(
            f"another process is training in {folder}: wait for its end, or"
            " name another folder"
        ) from error
    except (OSError, ValueError, NotImplementedError) as error:
        raise files.FileError(
            f"cannot train in {short(folder)} ({files.why(error)}): name"
            " another folder"
        ) from error
    try:
        yield
    finally:
        lock.release()


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """A safetensors file's tensors, on the CPU, and its header."""
    files.exists(path)
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        return tensors, file.metadata() or {}


def write(path: Path, tensors: dict[str, Tensor], meta: dict[str, str]) -> None:
    """A safetensors file, written beside `path` and then moved there."""
    held = {k: v.detach().cpu().contiguous() for k, v in tensors.items()}
    files.write(path, lambda part: save_file(held, part, metadata=meta))
