"""One training loop for every translator of the book.

Cross-entropy with label smoothing (Szegedy et al. 2016), Adam, the gradient
norm clipped, a linear warm-up and a linear decay to zero. A run that is
killed, at any moment, goes on from its last checkpoint, and ends in the same
weights as a run that was never interrupted. Several processes may share a
training: lab/distributed.py.
"""

import ctypes
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.nn import functional as F
from tqdm.auto import tqdm

from lookback.lab import arguments, distributed
from lookback.lab.checkpoints import (
    Progress,
    Run,
    TrainingConfig,
    alone,
    read,
    save,
    take_up,
    write,
)
from lookback.lab.corpus import Batch, Pair, batches, collate, encode
from lookback.lab.files import short
from lookback.lab.fingerprint import digest_of
from lookback.translator import Translator
from lookback.vocabulary import PAD, Vocabulary


class Diverged(ValueError):
    """A training that has no weights to be left with: all became NaN."""


def device() -> torch.device:
    """The GPU if there is one, else the CPU.

    All is computed in fp32. cuDNN's GRU would round to TF32 of its own accord,
    and a comparison would compare precisions, too. In bf16 models as narrow as
    the book's learn more slowly: on an H100 at most batches and lengths
    (records/gpu.json), on CPUs for the conversions.
    """
    torch.backends.cudnn.allow_tf32 = False
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def no_denormals():
    """Numbers below 1e-38 count as 0 in here.

    A CPU takes many times as long for them, and they add nothing: sums over
    paths have them, and Adam's means for words that have not come for long.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def keep_memory() -> None:
    """Let this process keep the memory that it frees (Linux's glibc).

    Else the large tensors of each step are fetched from the kernel anew, page
    by page, which takes a sixth of the step.
    """
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
        mmap_max, trim_threshold = -4, -1  # as malloc.h numbers them
        ctypes.CDLL(None).mallopt(mmap_max, 0)
        ctypes.CDLL(None).mallopt(trim_threshold, -1)


def loss(logits: Tensor, target_out: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy in nats, summed over all words that are not padding.

    Raises ValueError where the shapes, [batch, target, vocab] and
    [batch, target], do not go together.
    """
    arguments.kind("logits", logits, Tensor, "a tensor [batch, target, vocab]")
    arguments.rows("target_out", target_out)
    arguments.number("smoothing", smoothing, 0, 1)
    if logits.ndim != 3 or logits.shape[:2] != target_out.shape:
        raise ValueError(
            f"logits is {arguments.shown(logits)} and target_out"
            f" {arguments.shown(target_out)}: give [batch, target, vocab] and"
            " [batch, target]"
        )
    return F.cross_entropy(
        logits.flatten(0, 1).float(),
        target_out.flatten(),
        ignore_index=PAD,
        reduction="sum",
        label_smoothing=smoothing,
    )


def learning_rate(config: TrainingConfig, step: int, steps: int) -> float:
    """Linear warm-up, then linear decay, to 0 after the last step."""
    arguments.kind("config", config, TrainingConfig, "a TrainingConfig")
    arguments.whole("step", step, 0), arguments.whole("steps", steps, 1)
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
    """Mean cross-entropy in nats per target word, without smoothing.

    Raises ValueError for no pairs, and for vocabularies that are not the
    model's.
    """
    arguments.translator(model, source=source, target=target).eval()
    arguments.pairs("pairs", arguments.some("pairs", pairs, "sentence pairs"))
    size = arguments.whole("size", size, 1)
    total = torch.zeros((), dtype=torch.float64, device=model.device)
    count = 0
    for start in range(0, len(pairs), size):
        batch = collate(pairs[start : start + size], source, target)
        count += int((batch.target_out != PAD).sum())
        batch = batch.to(model.device)
        logits = model(batch.source, batch.target_in)
        total += loss(logits, batch.target_out)
    return total.item() / count


def train_step(run: Run, batch: Batch, steps: int) -> None:
    """One update: forward, backward, clip, Adam.

    It asks the device for nothing, so that a GPU has work while the CPU makes
    the next batch: words are counted before they travel, and the loss is
    added up where it is.
    """
    config, progress = run.config, run.progress
    if run.since is None:
        run.since = time.perf_counter()
    torch.manual_seed(  # of dropout: no process silences as another does
        1_000_003 * (config.seed + 1_000 * distributed.rank()) + progress.step
    )
    for group in run.optimizer.param_groups:
        group["lr"] = learning_rate(config, progress.step, steps)
    words = int((batch.target_out != PAD).sum())
    mine = distributed.share(batch).to(run.model.device)
    logits = run.parallel(mine.source, mine.target_in)
    total = loss(logits, mine.target_out, config.smoothing)
    run.optimizer.zero_grad(set_to_none=True)
    (total * distributed.size() / words).backward()
    torch.nn.utils.clip_grad_norm_(run.model.parameters(), config.clip)
    run.optimizer.step()
    run.lost += distributed.added(total)
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

    `pairs(epoch)` gives the sentence pairs of an epoch, the same ones or new
    ones, and whenever it is asked. It is asked for every epoch's before the
    first, and leaves those that it has given as they are. `validate` returns
    numbers for the curve, "score" among them: higher is better. Training
    stops after `patience` epochs without a better one, and at once where a
    weight has become NaN. `folder` holds the checkpoints: call again with the
    same arguments to resume. The weights after each of the last `keep` epochs
    stay there, for `average`. Raises Diverged where no epoch had a score that
    is a number, and ValueError where `folder` holds a run of other code
    (model, validation, or this training itself), data or settings, where
    another process trains in it, for vocabularies that are not the model's,
    or where a validation or an epoch's pairs are not what they should be.
    """
    arguments.translator(model, source=source, target=target)
    arguments.kind("config", config, TrainingConfig, "a TrainingConfig")
    arguments.folder("folder", folder), arguments.whole("keep", keep, 0)
    arguments.function("validate", validate, "a function of the model")
    arguments.function(
        "pairs", pairs, "a function of the epoch, lambda _: pairs"
    )
    arguments.some("pairs(0)", pairs(0), "sentence pairs")
    keep_memory()
    with alone(folder), no_denormals():
        torch.manual_seed(config.seed)
        run = Run(
            model,
            config,
            folder,
            (source, target),
            pairs,
            training=train,
            validation=validate,
        )
        go_on(run, pairs, source, target, validate, keep)
        recall(model, run)
    return run.progress


def go_on(run: Run, pairs, source, target, validate, keep: int) -> None:
    """The epochs that are left; see `train`."""
    config, progress, model = run.config, run.progress, run.model
    per_epoch = math.ceil(len(pairs(0)) / config.batch)
    steps = per_epoch * config.epochs
    known: list[Pair] | None = None
    while progress.epoch < config.epochs:
        if progress.epoch - progress.best_epoch >= config.patience:
            break
        model.train()
        if (now := [*pairs(progress.epoch)]) != known:  # else as before
            known, rows = now, encode(now, source, target)
            run.begin(now)
        epoch_seed = 1_000_003 * config.seed + progress.epoch
        parts = batches(rows, config.batch, epoch_seed)
        bar = tqdm(
            islice(parts, progress.done, None),  # the rest of an epoch
            total=per_epoch,
            initial=progress.done,
            desc=f"epoch {progress.epoch + 1}/{config.epochs}",
            mininterval=5,
            disable=distributed.rank() > 0,
        )
        for part in bar:
            train_step(run, Batch.of(part), steps)
            if progress.step % config.save_every == 0:
                run.save()
                bar.set_postfix(loss=progress.loss / progress.tokens)
        run.settle()
        finite = [p.isfinite().all() for p in model.parameters()]
        if not torch.stack(finite).all():
            break  # weights that are NaN stay NaN
        finish_epoch(run, validate, keep)


def recall(model: Translator, run: Run) -> None:
    """Leave the model with its best weights, ready to be asked."""
    if not run.progress.best_epoch:
        raise Diverged(
            "no epoch had a score that is a number: lower the learning rate"
            f" and remove {run.folder}"
        )
    path = run.folder / "best.safetensors"
    try:
        best, _ = read(path)
        if digest_of(best) != run.progress.best_digest:
            raise ValueError("they are not this run's")
        model.load_state_dict(best)
    except (OSError, SafetensorError, ValueError) as error:
        raise ValueError(
            f"the best weights, {path}, cannot be used ({error}): remove"
            f" {run.folder} to train again"
        ) from error
    model.eval()


def finish_epoch(
    run: Run, validate: Callable[[Translator], dict], keep: int = 0
) -> None:
    """Validate, note the curve, keep the best and the last weights, save."""
    progress = run.progress
    run.model.eval()
    numbers = None if distributed.rank() else validate(run.model)
    if wrong := distributed.told(fault(numbers)):
        run.save()
        raise ValueError(
            f"validate returned {wrong}: mend it, and remove {run.folder}"
            " to train again"
        )
    numbers = distributed.told(numbers)
    progress.epoch += 1
    progress.curve.append(
        {
            "epoch": progress.epoch,
            "step": progress.step,
            "train_loss": progress.loss / progress.tokens,
            "seconds": progress.seconds,
            **numbers,
        }
    )
    if numbers["score"] > progress.best:
        progress.best, progress.best_epoch = numbers["score"], progress.epoch
        progress.best_digest = digest_of(run.model.state_dict())
        if not distributed.rank():
            write(run.folder / "best.safetensors", run.model.state_dict(), {})
    if keep and not distributed.rank():
        path = run.folder / f"epoch-{progress.epoch}.safetensors"
        save(path, run.model.state_dict(), run.identity, None)
        old = run.folder / f"epoch-{progress.epoch - keep}.safetensors"
        old.unlink(missing_ok=True)
    progress.done = progress.tokens = 0
    run.lost.zero_()
    run.save()
    distributed.told(None)  # wait until it is written


def fault(numbers: object) -> str | None:
    """What is wrong with the numbers of a validation, if anything is."""
    if not isinstance(numbers, dict) or "score" not in numbers:
        return f"{short(repr(numbers))}, and no numbers with a score"
    score = numbers["score"]
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        return f"the score {short(repr(score))}, which is no number"
    try:
        json.dumps(numbers)
    except (TypeError, ValueError, RecursionError) as error:
        return f"numbers that no checkpoint can hold ({short(error)})"
    return None


def average(model: Translator, folder: Path, epochs: Sequence[int]) -> None:
    """Give the model the mean of the weights that `keep` left of the epochs.

    As Vaswani et al. 2017, section 6.1, do with the last 5 or 20 checkpoints.
    Raises ValueError for no epochs, and if one is not there, or is of another
    run than the folder's last checkpoint.
    """
    arguments.translator(model), arguments.folder("folder", folder)
    for epoch in arguments.some("epochs", epochs, "whole numbers, [9, 10]"):
        arguments.whole("an epoch of epochs", epoch, 1)
    total: dict[str, Tensor] = {}
    for epoch in epochs:
        path = folder / f"epoch-{epoch}.safetensors"
        try:
            last = take_up(folder / "last.safetensors")
            found = last and take_up(path, last[2])
            if not found:
                raise ValueError("they are not there")
        except ValueError as error:
            raise ValueError(
                f"cannot use the weights of epoch {epoch} ({error}): train"
                f" again, with keep, in another folder than {folder}"
            ) from error
        kept = found[0]
        for name, part in kept.items():
            total[name] = total.get(name, 0) + part / len(epochs)
    model.load_state_dict(total)
