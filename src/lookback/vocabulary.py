"""Words as numbers: what every translator and the bench agree on.

The first four numbers mean the same in every vocabulary: padding, a word that
the vocabulary lacks, and the two ends of a sentence.
"""

import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import index

PAD, UNK, START, END = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<start>", "<end>")


class Vocabulary:
    """Words and their numbers; a word it lacks becomes <unk>.

    Raises ValueError for a word that stands twice, and TypeError, as all its
    methods do, for text where words are wanted.
    """

    def __init__(self, words: Sequence[str]):
        self.words = [*SPECIALS, *words_of("words", words)]
        self.index = {word: i for i, word in enumerate(self.words)}
        if len(self.index) < len(self.words):
            raise ValueError("words has a word twice: give each of them once")

    @classmethod
    def count(
        cls, sentences: Iterable[Sequence[str]], least: int = 2
    ) -> "Vocabulary":
        """The words that occur at least `least` times, most frequent first.

        Raises ValueError where there is no sentence.
        """
        if type(least) is not int or least < 1:
            raise ValueError(
                f"least is {shown(least)}: give a whole number from 1 up"
            )
        counts: Counter[str] = Counter()
        for words in sentences_of("sentences", sentences):
            counts.update(words)
        kept = [(-n, word) for word, n in counts.items() if n >= least]
        return cls([word for _, word in sorted(kept)])

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Sequence[str]) -> list[int]:
        """Word numbers."""
        return [self.index.get(word, UNK) for word in words_of("words", words)]

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """Words, up to the end of the sentence.

        Raises ValueError for a number that is no word's.
        """
        words = []
        for number in numbers_of("numbers", numbers, len(self)):
            if number == END:
                break
            words.append(self.words[number])
        return words


# What was given, or one sentence that names it and says what to give


def shown(value: object) -> str:
    """A value as a sentence has it: its kind, and how it begins."""
    kind = type(value).__name__
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    begins = " ".join(reprlib.repr(value).split())
    begins = begins if len(begins) <= 50 else begins[:49] + "…"
    if value is None or isinstance(value, (bool, int, float)):
        return begins
    if hasattr(value, "shape"):
        return f"{article} {kind} of shape {[*value.shape]}"
    if isinstance(value, str):
        return f"text, {begins}"
    known = isinstance(value, (list, tuple, set, frozenset, dict))
    return f"{article} {kind}" + f", {begins}" * known


def each_of(name: str, value: Iterable, give: str) -> Iterable:
    """The value, if one can go through it and it is no text."""
    if (
        isinstance(value, (str, bytes))
        or not isinstance(value, Iterable)
        or getattr(value, "ndim", 1) == 0
    ):
        raise TypeError(f"{name} is {shown(value)}: give {give}")
    return value


def words_of(name: str, value: Iterable[str]) -> Sequence[str]:
    """The words of a sentence, or TypeError."""
    give = "a list of words, text.split()"
    if not isinstance(value, (list, tuple)):
        if isinstance(value, (set, frozenset, dict)) or hasattr(value, "shape"):
            raise TypeError(f"{name} is {shown(value)}: give {give}")
        value = list(each_of(name, value, give))
    try:
        if " " not in "".join(value):  # all in one go: there are many
            return value
    except TypeError:
        pass
    for i, word in enumerate(value):
        if not isinstance(word, str) or " " in word:
            raise TypeError(
                f"{name}[{i}] is {shown(word)}: give a word in each place,"
                " text.split()"
            )
    return value


def sentences_of(
    name: str, value: Iterable[Iterable[str]]
) -> Iterator[Sequence[str]]:
    """The words of each sentence; ValueError if there is none."""
    i = -1
    for i, words in enumerate(each_of(name, value, "lists of words")):
        yield words_of(f"{name}[{i}]", words)
    if i < 0:
        raise ValueError(
            f"{name} holds nothing: give a sentence at least (a generator"
            " gives what it has once)"
        )


def numbers_of(name: str, value: Iterable[int], size: int) -> Iterator[int]:
    """Each word's number, or an error; `size` is the vocabulary's."""
    each = each_of(name, value, "a list of word numbers")
    for number in each.tolist() if hasattr(each, "tolist") else each:
        try:
            fits = 0 <= index(number) < size and not isinstance(number, bool)
        except TypeError:
            fits = False
        if not fits:
            raise ValueError(
                f"{name} holds {shown(number)}: give word numbers, from 0 to"
                f" {size - 1}"
            )
        yield index(number)
