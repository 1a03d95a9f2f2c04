"""Words as numbers: what every translator and the bench agree on.

The first four numbers mean the same in every vocabulary: padding, a word that
the vocabulary lacks, and the two ends of a sentence.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

PAD, UNK, START, END = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<start>", "<end>")


class Vocabulary:
    """Words and their numbers; a word it lacks becomes <unk>."""

    def __init__(self, words: Sequence[str]):
        self.words = [*SPECIALS, *words]
        self.index = {word: i for i, word in enumerate(self.words)}
        if len(self.index) < len(self.words):
            raise ValueError("a word stands twice in the vocabulary")

    @classmethod
    def count(
        cls, sentences: Iterable[Sequence[str]], least: int = 2
    ) -> "Vocabulary":
        """The words that occur at least `least` times, most frequent first."""
        counts = Counter(word for words in sentences for word in words)
        kept = [(-n, word) for word, n in counts.items() if n >= least]
        return cls([word for _, word in sorted(kept)])

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Sequence[str]) -> list[int]:
        """Word numbers."""
        return [self.index.get(word, UNK) for word in words]

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """Words, up to the end of the sentence."""
        words = []
        for number in numbers:
            if number == END:
                break
            words.append(self.words[number])
        return words
