"""One training in several processes, each with its share of every batch.

torchrun starts the same program several times and tells each its rank:

    torchrun --standalone --nproc-per-node 2 \\
        -m lookback.experiments.ladder --only norm

Each process holds the whole model and learns from its share of a batch; the
gradients are averaged, so that all take the same step. The first process alone
validates and writes. Without torchrun one process has everything.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from lookback.lab.corpus import Batch
from lookback.vocabulary import PAD

Thing = TypeVar("Thing")


@contextmanager
def group() -> Iterator[None]:
    """Join the processes that torchrun has started, if it has; GPUs talk by
    NCCL, one to a process, CPUs by gloo."""
    if joined() or not distributed.is_torchelastic_launched():
        yield
        return
    if gpu := torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    distributed.init_process_group("nccl" if gpu else "gloo")
    try:
        yield
    finally:
        distributed.destroy_process_group()
        gc.collect()  # else a model's circles keep the group's threads alive


def joined() -> bool:
    """Whether this process is in a group."""
    return distributed.is_available() and distributed.is_initialized()


def size() -> int:
    """How many processes there are."""
    return distributed.get_world_size() if joined() else 1


def rank() -> int:
    """Which of them this is, from 0 on."""
    return distributed.get_rank() if joined() else 0


def share(batch: Batch) -> Batch:
    """The sentences of a batch that are this process's.

    All padded as long as in the whole batch. Where there are fewer sentences
    than processes, some have one whose words do not count.
    """
    mine = Batch(*(rows[rank() :: size()] for rows in batch))
    if len(mine.source):
        return mine
    one = Batch(*(rows[:1] for rows in batch))
    return one._replace(target_out=torch.full_like(one.target_out, PAD))


def parallel(model: nn.Module) -> nn.Module:
    """The model; its gradients are the means over all processes."""
    return DistributedDataParallel(model) if size() > 1 else model


def added(number: Tensor) -> Tensor:
    """The sum over all processes."""
    number = number.detach()
    if size() > 1:
        number = number.clone()
        distributed.all_reduce(number)
    return number


def told(thing: Thing) -> Thing:
    """What the first process has here, in all of them."""
    things = [thing]
    if size() > 1:
        distributed.broadcast_object_list(things)
    return things[0]
