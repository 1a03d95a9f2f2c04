"""A run of training and its checkpoint: kill it at any moment, go on later.

A checkpoint is one safetensors file: the model, Adam's moments and the state
of the random numbers as tensors, the progress as JSON in its header. It is
written beside the old one and then moved over it, so there is always a whole
one.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

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
    cuts: int = 0  # 0: the rate falls to 0 over the epochs; see `learning_rate`
    seed: int = 0
    save_every: int = 200  # steps between checkpoints


@dataclass
class Progress:
    """Where a run stands: everything but the tensors."""

    epoch: int = 0
    step: int = 0  # of all epochs together
    done: int = 0  # batches of this epoch
    loss: float = 0.0  # summed over this epoch's target tokens
    tokens: int = 0  # target tokens of this epoch
    seconds: float = 0.0  # spent in training steps, all epochs
    trained: int = 0  # target tokens, all epochs
    best: float = -math.inf
    best_epoch: int = 0
    curve: list[dict] = field(default_factory=list)

    def stalls(self, least: float = 0.01) -> int:
        """Epochs whose score was not the best by at least so much."""
        best, count = -math.inf, 0
        for each in self.curve:
            count += each["score"] < best + least
            best = max(best, each["score"])
        return count

    @property
    def tokens_per_second(self) -> float:
        """Target tokens trained on per second of training steps."""
        return self.trained / self.seconds if self.seconds else 0.0


class Run:
    """A model being trained, and the folder that holds its checkpoints."""

    def __init__(
        self,
        model: Translator,
        config: TrainingConfig,
        folder: Path,
        vocabularies: Iterable[Vocabulary] = (),
    ):
        self.model, self.config, self.folder = model, config, folder
        self.words = [
            hashlib.sha256("\n".join(each.words).encode()).hexdigest()
            for each in vocabularies
        ]
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=config.learning_rate, betas=(0.9, 0.98)
        )
        self.progress = Progress()
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "last.safetensors").exists():
            self.restore()

    @property
    def identity(self) -> str:
        """What must agree for a checkpoint to be continued."""
        return json.dumps(
            [asdict(self.model.config), asdict(self.config), self.words],
            sort_keys=True,
        )

    def save(self) -> None:
        """Write model, optimiser, random state and progress atomically."""
        tensors = {f"model.{k}": v for k, v in self.model.state_dict().items()}
        for number, state in self.optimizer.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"optimizer.{number}.{name}"] = value
        tensors["random.cpu"] = torch.get_rng_state()
        for name, device in accelerators():
            tensors[name] = device.get_rng_state()
        meta = {
            "identity": self.identity,
            "progress": json.dumps(asdict(self.progress)),
        }
        write(self.folder / "last.safetensors", tensors, meta)

    def restore(self) -> None:
        """Go on from the last checkpoint; refuse one of another run."""
        path = self.folder / "last.safetensors"
        advice = f"remove {self.folder} to start the run afresh"
        try:
            with safe_open(path, "pt") as file:
                meta = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}
        except (SafetensorError, OSError) as error:
            raise ValueError(
                f"cannot read {path} ({error}): {advice}"
            ) from error
        if meta.get("identity") != self.identity:
            raise ValueError(
                f"{path} is of a run with other settings or words: {advice}"
            )
        self.progress = Progress(**json.loads(meta["progress"]))
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
        torch.set_rng_state(tensors["random.cpu"])
        for name, device in accelerators():
            if name in tensors:
                device.set_rng_state(tensors[name])


def accelerators() -> Iterator[tuple[str, ModuleType]]:
    """The devices here that draw random numbers of their own (dropout)."""
    if torch.cuda.is_available():
        yield "random.cuda", torch.cuda
    if torch.backends.mps.is_available():
        yield "random.mps", torch.mps


def write(path: Path, tensors: dict[str, Tensor], meta: dict[str, str]) -> None:
    """A safetensors file, written beside `path` and then moved there."""
    temporary = path.with_suffix(f".{os.getpid()}")
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
