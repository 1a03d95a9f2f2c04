"""What a function of the bench was given, looked at before it computes.

Each returns the value, or raises TypeError or ValueError with one sentence: the
argument's name, what was given, what to give instead.
"""

import math
from collections.abc import Callable, Sequence
from operator import index
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lookback.translator import Translator
from lookback.vocabulary import (
    PAD,
    Vocabulary,
    each_of,
    numbers_of,
    sentences_of,
    shown,
    words_of,
)

__all__ = ["each_of", "numbers_of", "sentences_of", "shown", "words_of"]


def wrong(name: str, value: object, give: str) -> TypeError:
    return TypeError(f"{name} is {shown(value)}: give {give}")


def kind(name: str, value: Any, kinds: type | tuple, give: str) -> Any:
    """A value of one of these classes."""
    if not isinstance(value, kinds):
        raise wrong(name, value, give)
    return value


def function(name: str, value: Any, give: str) -> Callable:
    if not callable(value):
        raise wrong(name, value, give)
    return value


def listed(name: str, value: Any, of: str) -> Sequence:
    """What has a length and an order, so neither a generator nor a set."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise wrong(name, value, f"a list of {of}")
    return value


def some(name: str, value: Any, of: str) -> Sequence:
    """`listed`, and not empty."""
    if not len(listed(name, value, of)):
        raise ValueError(f"{name} is empty: give a list of {of}")
    return value


def whole(
    name: str, value: Any, least: int | None = None, most: int | None = None
) -> int:
    """A whole number from `least` to `most`."""
    bounds = f" from {least}" * (least is not None)
    bounds += f" to {most}" if most is not None else " up" * bool(bounds)
    try:
        found = index(value)
    except (TypeError, RuntimeError):
        found = None
    if found is None or isinstance(value, bool):
        raise wrong(name, value, f"a whole number{bounds}")
    if (least is not None and found < least) or (
        most is not None and found > most
    ):
        raise ValueError(f"{name} is {found}: give a whole number{bounds}")
    return found


def number(
    name: str,
    value: Any,
    least: int | float = -math.inf,
    below: int | float = math.inf,
) -> int | float:
    """A finite number, from `least` up, and below another."""
    bounds = f" from {least:g} up" * (least > -math.inf)
    bounds += f" and below {below:g}" * (below < math.inf)
    if isinstance(value, (bool, str)) or hasattr(value, "shape"):
        raise wrong(name, value, f"a number{bounds}")
    try:
        fits = math.isfinite(value) and least <= value < below
    except TypeError:
        raise wrong(name, value, f"a number{bounds}") from None
    if not fits:
        raise ValueError(f"{name} is {value}: give a number{bounds}")
    return value


def choice(name: str, value: Any, known: Sequence) -> Any:
    if not isinstance(value, (str, int)) or value not in known:
        raise ValueError(
            f"{name} is {shown(value)}: give one of"
            f" {', '.join(map(str, known))}"
        )
    return value


def numbers(name: str, value: Any) -> Sequence[int | float]:
    """A list of numbers, one at least."""
    for i, each in enumerate(some(name, value, "numbers")):
        number(f"{name}[{i}]", each)
    return value


def folder(name: str, value: Any) -> Path:
    return kind(name, value, Path, 'a Path, Path("…")')


def sentences(name: str, value: Any) -> Sequence[Sequence[str]]:
    """Lists of words."""
    for i, words in enumerate(listed(name, value, "lists of words")):
        if not isinstance(words, (list, tuple)):
            listed(f"{name}[{i}]", words, "words, text.split()")
        words_of(f"{name}[{i}]", words)
    return value


def pairs(name: str, value: Any) -> Sequence:
    """Sentences with their translations, both as words."""
    for i, each in enumerate(listed(name, value, "sentence pairs")):
        pair(f"{name}[{i}]", each)
    return value


def pair(name: str, value: Any) -> Any:
    """A sentence, which has a word, and its translation."""
    two_sided(name, value, "a Pair of two lists of words")
    if not words_of(f"{name}.source", value.source):
        raise ValueError(f"{name}.source is empty: give it a word")
    words_of(f"{name}.target", value.target)
    return value


def two_sided(name: str, value: Any, give: str) -> Any:
    if not (hasattr(value, "source") and hasattr(value, "target")):
        raise wrong(name, value, give)
    return value


def rows(name: str, value: Any) -> Tensor:
    """Word numbers [batch, length], as a tensor."""
    give = "a tensor of word numbers, [batch, length]"
    kind(name, value, Tensor, give)
    if value.ndim != 2 or not value.numel():
        raise ValueError(f"{name} is {shown(value)}: give {give}")
    if value.is_floating_point() or value.dtype == torch.bool:
        raise TypeError(f"{name} holds {value.dtype}: give {give}")
    return value


def tokens(name: str, value: Any, size: int | None = None) -> Tensor:
    """`rows` with a word in each, padding behind it, numbers below `size`."""
    pad = rows(name, value) == PAD
    early = (pad[:, :-1] & ~pad[:, 1:]).any(1)
    faults = torch.stack([pad.all(1), early, (value < 0).any(1)])
    if size is not None:
        faults = torch.cat([faults, (value >= size).any(1)[None]])
    if faults.any():  # the device is asked once, if all is well
        said = (
            "has no word: give it one before the padding",
            "has padding before a word: put it behind the last one",
            "has a number below 0: give word numbers",
            f"has a number that no word has: give numbers below {size}",
        )
        fault, row = faults.nonzero()[0].tolist()
        raise ValueError(f"{name}: sentence {row} {said[fault]}")
    return value


def sizes(model: object) -> dict[str, int | None]:
    """How many words of each side a model was made for, if it tells."""
    config = getattr(model, "config", None)
    one = getattr(config, "vocab", None)  # where both sides have the same
    return {
        side: getattr(config, f"{side}_vocab", one)
        for side in ("source", "target")
    }


def translator(model: Any, **words: Any) -> Translator:
    """A model, and vocabularies that are as large as it was made for."""
    if not isinstance(model, Translator):
        raise wrong("model", model, "a Translator")
    made = sizes(model)
    for side, vocabulary in words.items():
        kind(side, vocabulary, Vocabulary, "a Vocabulary")
        if made[side] not in (None, len(vocabulary)):
            raise ValueError(
                f"{side} has {len(vocabulary)} words, and the model was made"
                f" for {made[side]}: give its own vocabularies, source first"
            )
    return model
