"""The stories: what is asked follows from what was told."""

import random

import pytest
import torch

from lookback.lab import stories
from lookback.vocabulary import PAD

SEEN = [(length, facts) for length in (9, 12, 30) for facts in stories.NAMES]


def whereabouts(sentences):
    """Every name's place, found forwards: a map that each sentence changes.

    The story's own `follow` goes backwards, from the question.
    """
    at = {}
    for sentence in sentences:
        words = " ".join(sentence)
        if " took the " in words:
            who, what = words.split(" took the ")
        elif " went to the " in words:
            what, who = words.split(" went to the ")
        else:
            what, who = words.removeprefix("the ").split(" went into the ")
        at[what] = who
    return at


@pytest.mark.nightly
@pytest.mark.parametrize(("length", "facts"), SEEN)
def test_the_answer_is_where_the_name_is(length, facts):
    for one in stories.stories(3, 200, length, facts):
        assert len(one.sentences) == length
        assert len(one.support) == facts
        at, name = whereabouts(one.sentences), one.question[-1]
        for _ in range(facts):
            name = at[name]
        assert name == one.answer and name in stories.PLACES


@pytest.mark.parametrize(("length", "facts"), SEEN)
def test_the_support_is_what_the_answer_needs(length, facts):
    """It alone gives the answer, in any order; without one there is none."""
    for one in stories.stories(4, 100, length, facts):
        name = one.question[-1]
        kept = [one.sentences[i] for i in one.support]
        assert stories.follow(kept, name)[0] == one.answer
        assert stories.follow(kept[::-1], name)[0] == one.answer
        for i in range(facts):
            assert stories.follow(kept[:i] + kept[i + 1 :], name) is None
        links = [stories.read(each)[0] for each in kept]
        assert links[0] == name and len(set(links)) == facts


def test_later_sentences_hold_and_earlier_ones_do_not():
    told = [
        stories.say("key", "box"),
        stories.say("ben", "attic"),
        stories.say("box", "ben"),
        stories.say("ben", "garden"),
        stories.say("key", "bag"),
    ]
    assert stories.follow(told, "box") == ("garden", (2, 3))
    assert stories.follow(told, "key") is None  # nobody has the bag
    assert stories.follow(told[:4], "key") == ("garden", (0, 2, 3))
    assert stories.follow(told, "anna") is None


def test_a_sentence_is_read_as_it_was_said():
    for facts, places in (
        (1, stories.PLACES),
        (2, stories.PEOPLE),
        (3, stories.BAGS),
    ):
        for name in stories.NAMES[facts]:
            assert stories.facts_of(name) == facts
            for place in places:
                sentence = stories.say(name, place)
                assert stories.read(sentence) == (name, place)
                assert len(sentence) <= stories.LONGEST


def test_a_seed_always_tells_the_same():
    assert stories.stories(1, 5, 12, 2) == stories.stories(1, 5, 12, 2)
    assert stories.stories(1, 5, 12, 2) != stories.stories(2, 5, 12, 2)
    longer = stories.stories(1, 9, 12, 2)
    assert longer[:5] == stories.stories(1, 5, 12, 2)


def test_a_story_tells_of_every_name_or_is_refused():
    names = {name for each in stories.NAMES.values() for name in each}
    for one in stories.stories(7, 20, len(names), 3):
        assert {stories.read(each)[0] for each in one.sentences} == names
    with pytest.raises(ValueError, match="8 sentences for 9 names"):
        stories.tell(random.Random(0), 8, 3)


def test_stories_become_numbers_and_can_be_read_back():
    words = stories.vocabulary()
    told = [
        *stories.stories(5, 3, 9, 1),
        *stories.stories(5, 2, 12, 3),
    ]
    batch = stories.collate(told, words)
    assert batch.story.shape == (5, 12, stories.LONGEST)
    assert batch.support.shape == (5, 3)
    for i, one in enumerate(told):
        sentences = [
            tuple(words.decode(n for n in row if n != PAD))
            for row in batch.story[i].tolist()
        ]
        pad = 12 - len(one.sentences)
        assert sentences == [*one.sentences, *[()] * pad]
        asked = [n for n in batch.question[i].tolist() if n != PAD]
        assert tuple(words.decode(asked)) == one.question
        assert words.words[batch.answer[i]] == one.answer
        support = [n for n in batch.support[i].tolist() if n >= 0]
        assert tuple(support) == one.support
        assert batch.facts[i] == len(one.support)


@pytest.mark.nightly
def test_each_place_is_the_answer_about_as_often():
    told = stories.stories(6, 3000, 10, 2)
    counts = torch.tensor(
        [sum(one.answer == place for one in told) for place in stories.PLACES]
    )
    assert counts.min() > 400 and counts.max() < 600
