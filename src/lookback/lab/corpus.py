"""Multi30k, and batches of sentences of about one length; tinyshakespeare.

Multi30k (Elliott et al. 2016; French by Elliott et al. 2017) is 29,000 image
captions, each in English, German and French. Tinyshakespeare (Karpathy 2015)
is 1.1 million characters of Shakespeare's plays, in one piece.
"""

import html
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from lookback.lab import arguments, download, files
from lookback.lab.download import (
    SHA256,
    TESTS,
    CorpusError,
    check,
    digests,
    file,
)
from lookback.lab.files import short
from lookback.vocabulary import END, PAD, START, Vocabulary

__all__ = [
    "Batch",
    "CorpusError",
    "Numbers",
    "Pair",
    "SHA256",
    "TESTS",
    "batches",
    "collate",
    "digests",
    "encode",
    "file",
    "join",
    "load",
    "pad",
    "read",
    "shakespeare",
    "text",
]


class Pair(NamedTuple):
    """A sentence and its translation, as lists of words."""

    source: list[str]
    target: list[str]


class Numbers(NamedTuple):
    """The same as word numbers, neither with <start> nor with <end>."""

    source: list[int]
    target: list[int]


Sentences = TypeVar("Sentences", Pair, Numbers)


def read(source: Path, target: Path) -> list[Pair]:
    """The sentence pairs of two parallel files, split at spaces.

    A byte-order mark at the start of a file is no part of it, a carriage
    return is a space. Raises CorpusError for files of unequal length, for
    empty lines, and for a file that is missing, not UTF-8 or not text since
    it holds a NUL.
    """
    arguments.folder("source", source), arguments.folder("target", target)
    sides = [_lines(path) for path in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise CorpusError(
            f"{source} has {len(sides[0])} lines and {target} has"
            f" {len(sides[1])}: line n of one must translate line n of the"
            " other, so the counts must agree"
        )
    for path, lines in zip((source, target), sides, strict=True):
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                raise CorpusError(
                    f"{path}, line {number} is empty: remove the line from"
                    " both files or fill it in"
                )
    return [Pair(s.split(), t.split()) for s, t in zip(*sides, strict=True)]


def _lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file; a newline, and nothing else, ends a line."""
    try:
        whole = files.read(path).decode("utf-8-sig")
    except ValueError as error:
        raise CorpusError(
            f"cannot read {short(path)} ({short(error)}): it must be a text"
            " file in UTF-8"
        ) from error
    if "\0" in whole:
        line = whole[: whole.index("\0")].count("\n") + 1
        raise CorpusError(
            f"{path}, line {line} holds a NUL: it must be a text file in UTF-8"
        )
    return whole.removesuffix("\n").split("\n")


def load(split: str, source: str = "en", target: str = "fr") -> list[Pair]:
    """One split of Multi30k in one direction."""
    if source == target:
        raise CorpusError(
            f"source and target are both {source!r}: choose two languages"
        )
    for language in (source, target):
        check(split, language)  # before anything is downloaded
    return read(file(split, source), file(split, target))


def join(pairs: Iterable[Pair], sizes: Iterable[int]) -> list[Pair]:
    """Join consecutive pairs in groups of the given sizes; drop a short end.

    `sizes` must not run out before `pairs` does: itertools.repeat(3) joins
    captions three by three. Raises ValueError if it does, and for a size
    below 1.
    """
    pairs = iter(arguments.each_of("pairs", pairs, "sentence pairs"))
    joined = []
    for size in arguments.each_of("sizes", sizes, "many, itertools.repeat(3)"):
        size = arguments.whole("a size of sizes", size, 1)
        group = [
            arguments.pair("a pair of pairs", pair)
            for _, pair in zip(range(size), pairs, strict=False)
        ]
        if len(group) < size:
            return joined
        joined.append(
            Pair(
                [word for pair in group for word in pair.source],
                [word for pair in group for word in pair.target],
            )
        )
    if next(pairs, None) is None:
        return joined
    raise ValueError("`sizes` ran out before the sentence pairs did")


class Batch(NamedTuple):
    """Padded word numbers; `target_in` is `target_out` moved right by one."""

    source: Int[Tensor, "batch source"]
    target_in: Int[Tensor, "batch target"]
    target_out: Int[Tensor, "batch target"]

    @classmethod
    def of(cls, rows: Sequence[Numbers]) -> "Batch":
        """One batch; every source and every target ends with <end>."""
        give = "Numbers, as `encode` makes them"
        for i, row in enumerate(arguments.some("rows", rows, give)):
            arguments.two_sided(f"rows[{i}]", row, give)
        return cls(
            pad([[*row.source, END] for row in rows]),
            pad([[START, *row.target] for row in rows]),
            pad([[*row.target, END] for row in rows]),
        )

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device.

        A GPU fetches it out of pinned memory once it gets there: the CPU does
        not wait for it.
        """
        arguments.kind("device", device, torch.device, 'torch.device("cpu")')
        if device.type != "cuda" or self.source.is_cuda:
            return Batch(*(tensor.to(device) for tensor in self))
        return Batch(
            *(each.pin_memory().to(device, non_blocking=True) for each in self)
        )


def pad(rows: Sequence[Sequence[int]]) -> Int[Tensor, "batch longest"]:
    """Rows of word numbers as one tensor, filled with PAD on the right."""
    give = "lists of word numbers"
    for i, row in enumerate(arguments.some("rows", rows, give)):
        if isinstance(row, str) or not hasattr(row, "__len__"):
            raise arguments.wrong(f"rows[{i}]", row, "a list of word numbers")
    longest = max(map(len, rows))
    whole = [[*row, *[PAD] * (longest - len(row))] for row in rows]
    # Three times as fast as torch.tensor, which looks at every number.
    found = np.array(whole)
    if found.dtype.kind not in "iu" or found.ndim != 2:
        raise TypeError(
            f"rows has {found.ndim} axes and holds {found.dtype.name}: give"
            f" {give}"
        )
    return torch.from_numpy(found.astype(np.int64, copy=False))


def encode(
    pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary
) -> list[Numbers]:
    """The words of sentence pairs as numbers."""
    arguments.kind("source", source, Vocabulary, "a Vocabulary")
    arguments.kind("target", target, Vocabulary, "a Vocabulary")
    arguments.pairs("pairs", pairs)
    return [
        Numbers(source.encode(pair.source), target.encode(pair.target))
        for pair in pairs
    ]


def collate(
    pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary
) -> Batch:
    """One batch of sentence pairs that are still words.

    Raises ValueError for none.
    """
    arguments.some("pairs", pairs, "sentence pairs")
    return Batch.of(encode(pairs, source, target))


def text(words: Iterable[str]) -> str:
    """Words as a reader would see them: the corpus writes ' as &apos;."""
    return html.unescape(" ".join(arguments.words_of("words", words)))


def shakespeare() -> str:
    """Tinyshakespeare: 1,115,394 characters, 65 different ones."""
    return "\n".join(_lines(download.shakespeare())) + "\n"


def length(pair: Pair | Numbers) -> tuple[int, int]:
    """How long a pair is: the target, then the source."""
    return len(pair.target), len(pair.source)


def batches(
    pairs: Sequence[Sentences], size: int, seed: int
) -> Iterator[list[Sentences]]:
    """Shuffled batches of sentences of about one length.

    As Bahdanau et al. (2015, appendix B.2) do it: fetch 20 batches' worth of
    pairs, sort them by length, cut them into batches.
    """
    arguments.listed("pairs", pairs, "sentence pairs")
    arguments.whole("size", size, 1), arguments.whole("seed", seed)
    shuffled, dice = list(pairs), random.Random(seed)
    dice.shuffle(shuffled)
    pool = 20 * size
    for start in range(0, len(shuffled), pool):
        fetched = sorted(shuffled[start : start + pool], key=length)
        cut = [fetched[i : i + size] for i in range(0, len(fetched), size)]
        dice.shuffle(cut)
        yield from cut
