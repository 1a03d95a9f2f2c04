"""One training loop for every translator of the book.

Cross-entropy with label smoothing (Szegedy et al. 2016), Adam, the gradient
norm clipped, a linear warm-up and a linear decay to zero. A run that is
killed, at any moment, goes on from its last checkpoint, and ends in the same
weights as a run that was never interrupted.
"""

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F
from tqdm.auto import tqdm

from lookback.lab.corpus import PAD, Pair, Vocabulary, batches, collate
from lookback.lab.translator import Translator


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

    @property
    def tokens_per_second(self) -> float:
        """Target tokens trained on per second of training steps."""
        return self.trained / self.seconds if self.seconds else 0.0


def device() -> torch.device:
    """CUDA if there is one, else Apple's MPS, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def loss(
    logits: Tensor, target_out: Tensor, smoothing: float = 0.0
) -> Tensor:
    """Cross-entropy in nats, summed over all words that are not padding."""
    return F.cross_entropy(
        logits.flatten(0, 1).float(),
        target_out.flatten(),
        ignore_index=PAD,
        reduction="sum",
        label_smoothing=smoothing,
    )


def learning_rate(config: TrainingConfig, step: int, steps: int) -> float:
    """Linear warm-up, then linear decay to 0 at the last step."""
    rise = min(1.0, (step + 1) / max(1, config.warmup))
    return config.learning_rate * rise * max(0.0, 1 - step / steps)


@torch.no_grad()
def validation_loss(
    model: Translator,
    pairs: Sequence[Pair],
    source: Vocabulary,
    target: Vocabulary,
    size: int = 100,
) -> float:
    """Mean cross-entropy in nats per target word, without smoothing."""
    model.eval()
    where, total, count = next(model.parameters()).device, 0.0, 0
    for start in range(0, len(pairs), size):
        batch = collate(pairs[start : start + size], source, target).to(where)
        logits = model(batch.source, batch.target_in)
        total += loss(logits, batch.target_out).item()
        count += (batch.target_out != PAD).sum().item()
    return total / count


class Run:
    """A model being trained, and the folder that holds its checkpoints."""

    def __init__(self, model: Translator, config: TrainingConfig, folder: Path):
        self.model, self.config, self.folder = model, config, folder
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
            [asdict(self.model.config), asdict(self.config)], sort_keys=True
        )

    def save(self) -> None:
        """Write model, optimiser, random state and progress atomically."""
        tensors = {f"model.{k}": v for k, v in self.model.state_dict().items()}
        for number, state in self.optimizer.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"optimizer.{number}.{name}"] = value
        tensors["random.cpu"] = torch.get_rng_state()
        if torch.cuda.is_available():
            tensors["random.cuda"] = torch.cuda.get_rng_state()
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
                meta = file.metadata()
                tensors = {name: file.get_tensor(name) for name in file.keys()}
        except (SafetensorError, OSError) as error:
            raise ValueError(f"cannot read {path} ({error}): {advice}") from error
        if meta["identity"] != self.identity:
            raise ValueError(f"{path} is of a run with other settings: {advice}")
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
        if "random.cuda" in tensors and torch.cuda.is_available():
            torch.cuda.set_rng_state(tensors["random.cuda"])


def write(path: Path, tensors: dict[str, Tensor], meta: dict[str, str]) -> None:
    """A safetensors file, written beside `path` and then moved there."""
    temporary = path.with_suffix(f".{os.getpid()}")
    save_file(
        {k: v.detach().cpu().contiguous() for k, v in tensors.items()},
        temporary,
        metadata=meta,
    )
    temporary.chmod(0o644)
    os.replace(temporary, path)


def train_step(run: Run, batch, steps: int) -> None:
    """One update: forward, backward, clip, Adam."""
    config, progress = run.config, run.progress
    where = next(run.model.parameters()).device
    batch = batch.to(where)
    started = time.perf_counter()
    for group in run.optimizer.param_groups:
        group["lr"] = learning_rate(config, progress.step, steps)
    with torch.autocast(where.type, torch.bfloat16, where.type == "cuda"):
        logits = run.model(batch.source, batch.target_in)
    total = loss(logits, batch.target_out, config.smoothing)
    words = int((batch.target_out != PAD).sum())
    run.optimizer.zero_grad(set_to_none=True)
    (total / words).backward()
    torch.nn.utils.clip_grad_norm_(run.model.parameters(), config.clip)
    run.optimizer.step()
    progress.loss += total.item()  # also waits for the device
    progress.seconds += time.perf_counter() - started
    progress.tokens += words
    progress.trained += words
    progress.step += 1
    progress.done += 1


def train(
    model: Translator,
    pairs: Callable[[int], Sequence[Pair]],
    source: Vocabulary,
    target: Vocabulary,
    config: TrainingConfig,
    folder: Path,
    validate: Callable[[Translator], dict],
) -> Progress:
    """Train `model`, leave it with its best weights, return the progress.

    `pairs(epoch)` gives the sentence pairs of an epoch; `validate` returns
    numbers for the curve, "score" among them: higher is better, and after
    `patience` epochs without a better one training stops. `folder` holds the
    checkpoints: call again with the same arguments to resume.
    """
    torch.manual_seed(config.seed)
    run = Run(model, config, folder)
    progress = run.progress
    per_epoch = math.ceil(len(pairs(0)) / config.batch)
    steps = per_epoch * config.epochs
    while progress.epoch < config.epochs:
        if progress.epoch - progress.best_epoch >= config.patience:
            break
        model.train()
        epoch_seed = 1_000_003 * config.seed + progress.epoch
        bar = tqdm(
            batches(pairs(progress.epoch), config.batch, epoch_seed),
            total=per_epoch,
            desc=f"epoch {progress.epoch + 1}/{config.epochs}",
            mininterval=5,
        )
        for number, part in enumerate(bar):
            if number < progress.done:
                continue  # trained on before the run was interrupted
            train_step(run, collate(part, source, target), steps)
            if progress.step % config.save_every == 0:
                run.save()
                bar.set_postfix(loss=progress.loss / progress.tokens)
        finish_epoch(run, validate)
    with safe_open(folder / "best.safetensors", "pt") as file:
        model.load_state_dict({k: file.get_tensor(k) for k in file.keys()})
    return progress


def finish_epoch(run: Run, validate: Callable[[Translator], dict]) -> None:
    """Validate, note the curve, keep the best weights, save."""
    progress = run.progress
    run.model.eval()
    numbers = validate(run.model)
    progress.epoch += 1
    progress.curve.append(
        {
            "epoch": progress.epoch,
            "train_loss": progress.loss / progress.tokens,
            "seconds": progress.seconds,
            **numbers,
        }
    )
    if numbers["score"] > progress.best:
        progress.best, progress.best_epoch = numbers["score"], progress.epoch
        write(run.folder / "best.safetensors", run.model.state_dict(), {})
    progress.done = progress.tokens = 0
    progress.loss = 0.0
    run.save()
