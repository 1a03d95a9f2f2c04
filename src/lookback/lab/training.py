"""One training loop for every translator of the book.

Cross-entropy with label smoothing (Szegedy et al. 2016), Adam, the gradient
norm clipped, a linear warm-up and a linear decay to zero. A run that is
killed, at any moment, goes on from its last checkpoint, and ends in the same
weights as a run that was never interrupted.
"""

import math
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor
from torch.nn import functional as F
from tqdm.auto import tqdm

from lookback.lab.checkpoints import Progress, Run, TrainingConfig, write
from lookback.lab.corpus import Pair, batches, collate
from lookback.translator import Translator
from lookback.vocabulary import PAD, Vocabulary


def device() -> torch.device:
    """CUDA if there is one, else Apple's MPS, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def half(where: torch.device) -> bool:
    """Whether the device multiplies in bf16 faster than in fp32.

    CUDA does, and so do CPUs with AMX or AVX-512's bf16.
    """
    if where.type == "cpu":
        return (
            torch.cpu._is_amx_tile_supported()
            or torch.cpu._is_avx512_bf16_supported()
        )
    return where.type == "cuda"


def loss(logits: Tensor, target_out: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy in nats, summed over all words that are not padding."""
    return F.cross_entropy(
        logits.flatten(0, 1).float(),
        target_out.flatten(),
        ignore_index=PAD,
        reduction="sum",
        label_smoothing=smoothing,
    )


def learning_rate(
    config: TrainingConfig, step: int, steps: int, stalls: int = 0
) -> float:
    """Linear warm-up, then linear decay, to 0 after the last step.

    With `cuts` the rate stays, but for a third of it after each stall: an
    epoch whose score is not the best by 0.01.
    """
    rise = min(1.0, (step + 1) / max(1, config.warmup))
    if config.cuts:
        return config.learning_rate * rise / 3**stalls
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


def train_step(run: Run, batch, steps: int) -> None:
    """One update: forward, backward, clip, Adam."""
    config, progress = run.config, run.progress
    where = next(run.model.parameters()).device
    batch = batch.to(where)
    started = time.perf_counter()
    for group in run.optimizer.param_groups:
        group["lr"] = learning_rate(
            config, progress.step, steps, progress.stalls()
        )
    with torch.autocast(where.type, torch.bfloat16, half(where)):
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
    keep: int = 0,
) -> Progress:
    """Train `model`, leave it with its best weights, return the progress.

    `pairs(epoch)` gives the sentence pairs of an epoch; `validate` returns
    numbers for the curve, "score" among them: higher is better. Training
    stops after `patience` epochs without a better one or, with `cuts`, at the
    first stall after so many cuts of the rate; and at once where a weight has
    become NaN. `folder` holds the checkpoints:
    call again with the same arguments to resume. The weights after each of
    the last `keep` epochs stay there, for `average`.
    """
    torch.manual_seed(config.seed)
    run = Run(model, config, folder, (source, target))
    progress = run.progress
    per_epoch = math.ceil(len(pairs(0)) / config.batch)
    steps = per_epoch * config.epochs
    while progress.epoch < config.epochs:
        waited = progress.epoch - progress.best_epoch
        if config.cuts:
            if progress.stalls() > config.cuts:
                break
        elif waited >= config.patience:
            break
        model.train()
        epoch_seed = 1_000_003 * config.seed + progress.epoch
        parts = batches(pairs(progress.epoch), config.batch, epoch_seed)
        bar = tqdm(
            islice(parts, progress.done, None),  # the rest of an epoch
            total=per_epoch,
            initial=progress.done,
            desc=f"epoch {progress.epoch + 1}/{config.epochs}",
            mininterval=5,
        )
        for part in bar:
            train_step(run, collate(part, source, target), steps)
            if progress.step % config.save_every == 0:
                run.save()
                bar.set_postfix(loss=progress.loss / progress.tokens)
        if not all(p.isfinite().all() for p in model.parameters()):
            break  # weights that are NaN stay NaN
        finish_epoch(run, validate, keep)
    if not progress.best_epoch:
        raise ValueError(
            "no epoch had a score that is a number: lower the learning rate"
            f" and remove {folder}"
        )
    with safe_open(folder / "best.safetensors", "pt") as file:
        model.load_state_dict({k: file.get_tensor(k) for k in file.keys()})
    model.eval()
    return progress


def finish_epoch(
    run: Run, validate: Callable[[Translator], dict], keep: int = 0
) -> None:
    """Validate, note the curve, keep the best and the last weights, save."""
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
    if keep:
        path = run.folder / f"epoch-{progress.epoch}.safetensors"
        write(path, run.model.state_dict(), {})
        old = run.folder / f"epoch-{progress.epoch - keep}.safetensors"
        old.unlink(missing_ok=True)
    progress.done = progress.tokens = 0
    progress.loss = 0.0
    run.save()


def average(model: Translator, folder: Path) -> int:
    """Give the model the mean of the weights that `keep` left; how many.

    As Vaswani et al. 2017, section 6.1, do with the last 5 or 20 checkpoints.
    Raises ValueError if there are none.
    """
    paths = sorted(folder.glob("epoch-*.safetensors"))
    if not paths:
        raise ValueError(
            f"{folder} holds no weights of epochs: train with keep"
        )
    total: dict[str, Tensor] = {}
    for path in paths:
        with safe_open(path, "pt") as file:
            for name in file.keys():
                part = file.get_tensor(name) / len(paths)
                total[name] = total[name] + part if name in total else part
    model.load_state_dict(total)
    return len(paths)
