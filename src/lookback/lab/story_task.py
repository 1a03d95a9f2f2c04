"""Little stories with a question, its answer, and where the answer stands.

    anna took the bag     the key went into the bag     anna went to the attic
    where is the key      attic

Three kinds of sentence, and each says of one name where it is now: a person
is in a place, a bag is with a person, a thing is in a bag. What was said last
of a name holds. So a question about a person needs one sentence, one about a
bag needs two and one about a thing three: these are its facts, its `support`,
in the order in which they have to be found. After the tasks of Weston et al.
2015 (arXiv 1502.05698), with a smaller world of our own, in which nothing is
ever put down.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from lookback.lab import asked
from lookback.vocabulary import PAD, Vocabulary

PEOPLE = ("anna", "ben", "clara")
PLACES = ("attic", "cellar", "garden", "kitchen", "library", "office")
BAGS = ("bag", "basket", "box")
THINGS = ("coin", "key", "letter")
NAMES = {1: PEOPLE, 2: BAGS, 3: THINGS}  # by the facts that they need
KINDS = {1: "person", 2: "bag", 3: "thing"}  # what they are
HOLDERS = {1: PLACES, 2: PEOPLE, 3: BAGS}  # where each of them can be
FORMS = {
    1: "{0} went to the {1}",
    2: "{1} took the {0}",
    3: "the {0} went into the {1}",
}
SHARES = (0.5, 0.3, 0.2)  # of the three kinds, in what is told again
LONGEST = 6  # words of a sentence

Sentence = tuple[str, ...]


class Story(NamedTuple):
    """What is told, what is asked, and how one finds out."""

    sentences: tuple[Sentence, ...]
    question: Sentence
    answer: str
    support: tuple[int, ...]  # places in `sentences`, in the order of need


def facts_of(name: str) -> int:
    """How many sentences a question about this name needs."""
    asked.choice("name", name, PEOPLE + BAGS + THINGS)
    return next(facts for facts, names in NAMES.items() if name in names)


def say(name: str, holder: str) -> Sentence:
    """The sentence that tells where a name is now."""
    asked.choice("holder", holder, HOLDERS[facts_of(name)])
    return tuple(FORMS[facts_of(name)].format(name, holder).split())


def read(sentence: Sentence) -> tuple[str, str]:
    """The name that a sentence speaks of, and where it says that it is."""
    if len(asked.words_of("sentence", sentence)) < 4:
        raise asked.wrong("sentence", sentence, "a sentence that `say` made")
    first, second, *_, last = sentence
    if second == "took":
        return last, first
    return (second if first == "the" else first), last


def ask(name: str) -> Sentence:
    """Where is it?"""
    asked.choice("name", name, PEOPLE + BAGS + THINGS)
    article = () if name in PEOPLE else ("the",)
    return ("where", "is", *article, name)


def follow(
    sentences: Sequence[Sentence], name: str
) -> tuple[str, tuple[int, ...]] | None:
    """The place where a name is, and the sentences that tell.

    None if the story does not tell.
    """
    asked.sentences("sentences", sentences)
    asked.choice("name", name, PEOPLE + BAGS + THINGS + PLACES)
    support = []
    while name not in PLACES:
        told = [i for i, one in enumerate(sentences) if read(one)[0] == name]
        if not told:
            return None
        support.append(told[-1])
        name = read(sentences[told[-1]])[1]
    return name, tuple(support)


def outdated(story: Story) -> str | None:
    """The kind of name for which the age of a sentence decides the answer.

    Of the names in the story's chain, the first of which an older sentence
    leads elsewhere than the answer: "thing", "bag" or "person". None if every
    older sentence leads to the same place, or if there is none.
    """
    asked.kind("story", story, Story, "a Story, as `stories` gives them")
    for at in story.support:
        name, _ = read(story.sentences[at])
        for one in story.sentences[:at]:
            other, holder = read(one)
            led = follow(story.sentences, holder)
            if other == name and (led is None or led[0] != story.answer):
                return KINDS[facts_of(name)]
    return None


def tell(chance: random.Random, length: int, facts: int) -> Story:
    """A story of so many sentences, and a question that needs so many facts.

    Something is told of every name, in any order, and of some names again.
    Raises ValueError for a story too short for that.
    """
    asked.kind("chance", chance, random.Random, "random.Random(0)")
    names = [name for each in NAMES.values() for name in each]
    asked.whole("length", length, len(names))
    asked.choice("facts", facts, [*NAMES])
    while len(names) < length:
        [kind] = chance.choices(list(NAMES), SHARES)
        names.append(chance.choice(NAMES[kind]))
    chance.shuffle(names)
    sentences = tuple(
        say(name, chance.choice(HOLDERS[facts_of(name)])) for name in names
    )
    name = chance.choice(NAMES[facts])
    return Story(sentences, ask(name), *follow(sentences, name))


def stories(seed: int, count: int, length: int, facts: int) -> list[Story]:
    """So many of them; a seed always gives the same ones."""
    asked.whole("seed", seed), asked.whole("count", count, 0)
    chance = random.Random(f"{seed} {length} {facts}")
    return [tell(chance, length, facts) for _ in range(count)]


def vocabulary() -> Vocabulary:
    """All the words of this world."""
    names = [*NAMES.values(), PLACES]
    said = {word for name in PEOPLE + BAGS + THINGS for word in ask(name)}
    told = {
        word
        for facts in NAMES
        for word in say(NAMES[facts][0], HOLDERS[facts][0])
    }
    return Vocabulary(sorted(said | told | {w for each in names for w in each}))


class Batch(NamedTuple):
    """Stories as word numbers, filled up with <pad>."""

    story: Tensor  # [batch, source, length]: source counts sentences
    question: Tensor  # [batch, length]
    answer: Tensor  # [batch]
    support: Tensor  # [batch, facts], filled up with −1

    @property
    def facts(self) -> Tensor:
        """How many facts each question needs, [batch]."""
        return (self.support >= 0).sum(dim=-1)

    def to(self, where: torch.device) -> "Batch":
        """The same on another device."""
        return Batch(*(part.to(where) for part in self))

    def pick(self, rows: Tensor) -> "Batch":
        """Some of its stories."""
        return Batch(*(part[rows] for part in self))


def collate(told: Sequence[Story], words: Vocabulary) -> Batch:
    """Stories side by side; the longest says how long."""
    for i, one in enumerate(asked.some("told", told, "stories")):
        asked.kind(f"told[{i}]", one, Story, "a Story, as `stories` gives them")
    asked.kind("words", words, Vocabulary, "the Vocabulary, `vocabulary()`")

    def row(sentence: Sentence) -> list[int]:
        return words.encode(sentence) + [PAD] * (LONGEST - len(sentence))

    def side_by_side(rows: list, fill: int) -> Tensor:
        each = [torch.tensor(row) for row in rows]
        return pad_sequence(each, batch_first=True, padding_value=fill)

    return Batch(
        side_by_side([[*map(row, one.sentences)] for one in told], PAD),
        torch.tensor([row(one.question) for one in told]),
        torch.tensor([words.index[one.answer] for one in told]),
        side_by_side([one.support for one in told], -1),
    )
