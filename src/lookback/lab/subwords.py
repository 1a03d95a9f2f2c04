"""Subwords by byte-pair encoding: no word is unknown, rare ones are spelled.

Sennrich, Haddow & Birch 2016, arXiv 1508.07909: start from letters, and again
and again merge the pair of neighbours that is most frequent in the training
text. The merging is done by the library `tokenizers`.
"""

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from lookback.lab import arguments, files
from lookback.vocabulary import END, SPECIALS, Vocabulary

LATELY = 200_000  # sentences
LAST = "</w>"  # ends the last piece of every word


class Subwords(Vocabulary):
    """Pieces of words and their numbers; stands in for a Vocabulary."""

    def __init__(self, tokenizer: Tokenizer):
        self.tokenizer = tokenizer
        self.index = tokenizer.get_vocab()
        self.words = sorted(self.index, key=self.index.get)
        # Each epoch asks for the same sentences.
        self.numbers = lru_cache(LATELY)(lambda s: tokenizer.encode(s).ids)
        if tuple(self.words[: len(SPECIALS)]) != SPECIALS:
            raise ValueError(f"the first pieces must be {SPECIALS}")

    @classmethod
    def learn(cls, sentences: Iterable[Sequence[str]], size: int) -> "Subwords":
        """Merge pairs until there are `size` pieces, the four special ones
        among them; give both languages' sentences for a joint vocabulary.

        The same sentences give the same pieces, in every process: where two
        pairs are equally frequent the library goes by the numbers of their
        parts, so the last letters of words are numbered here, in their order.
        """
        arguments.whole("size", size, len(SPECIALS) + 1)
        sentences = list(arguments.sentences_of("sentences", sentences))
        ends = sorted({word[-1] for words in sentences for word in words})
        tokenizer = Tokenizer(
            models.BPE(unk_token="<unk>", end_of_word_suffix=LAST)
        )
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        tokenizer.decoder = decoders.BPEDecoder(suffix=LAST)
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=[*SPECIALS, *(end + LAST for end in ends)],
            end_of_word_suffix=LAST,
            show_progress=False,
        )
        tokenizer.train_from_iterator(map(" ".join, sentences), trainer)
        return cls(tokenizer)

    @classmethod
    def load(cls, text: str) -> "Subwords":
        """From what `dump` gave. Raises ValueError if it is not that."""
        arguments.kind("text", text, str, "what `dump` gave")
        try:
            return cls(Tokenizer.from_str(text))
        except Exception as error:  # the library raises plain Exception
            raise ValueError(f"text has no subwords: {error}") from error

    def dump(self) -> str:
        """All that `load` needs, as JSON."""
        return self.tokenizer.to_str()

    def __len__(self) -> int:
        return len(self.words)

    def pieces(self, words: Sequence[str]) -> list[str]:
        """The pieces of a sentence; those that end a word end in </w>."""
        return [self.words[number] for number in self.encode(words)]

    def encode(self, words: Sequence[str]) -> list[int]:
        """Piece numbers. A letter never seen in training becomes <unk>."""
        return [*self.numbers(" ".join(arguments.words_of("words", words)))]

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """Words, put together again, up to the end of the sentence."""
        fit = arguments.numbers_of("numbers", numbers, len(self))
        kept = [*takewhile(END.__ne__, fit)]
        text = self.tokenizer.decode(kept, skip_special_tokens=False)
        return text.split()


def dump(vocabulary: Vocabulary) -> str:
    """A vocabulary as JSON: a list of words, or what the subwords dump."""
    arguments.kind("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
    if isinstance(vocabulary, Subwords):
        return vocabulary.dump()
    words = vocabulary.words[len(SPECIALS) :]
    return json.dumps(words, ensure_ascii=False)


def restore(text: str) -> Vocabulary:
    """The vocabulary that `dump` wrote. Raises ValueError if it is not one."""
    arguments.kind("text", text, str, "what `dump` gave")
    try:
        found = files.parse(text)
    except ValueError as error:
        raise ValueError(f"text is no vocabulary: {error}") from error
    if isinstance(found, list) and all(type(word) is str for word in found):
        return Vocabulary(found)
    return Subwords.load(text)
