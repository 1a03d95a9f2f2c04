"""The stories: what is asked follows from what was told."""

import random

import pytest
import torch

from lookback.lab import story_task
from lookback.vocabulary import PAD

SEEN = [(length, facts) for length in (9, 12, 30) for facts in story_task.NAMES]


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
    for one in story_task.stories(3, 200, length, facts):
        assert len(one.sentences) == length
        assert len(one.support) == facts
        at, name = whereabouts(one.sentences), one.question[-1]
        for _ in range(facts):
            name = at[name]
        assert name == one.answer and name in story_task.PLACES


@pytest.mark.parametrize(("length", "facts"), SEEN)
def test_the_support_is_what_the_answer_needs(length, facts):
    """It alone gives the answer, in any order; without one there is none."""
    for one in story_task.stories(4, 100, length, facts):
        name = one.question[-1]
        kept = [one.sentences[i] for i in one.support]
        assert story_task.follow(kept, name)[0] == one.answer
        assert story_task.follow(kept[::-1], name)[0] == one.answer
        for i in range(facts):
            assert story_task.follow(kept[:i] + kept[i + 1 :], name) is None
        links = [story_task.read(each)[0] for each in kept]
        assert links[0] == name and len(set(links)) == facts


def test_later_sentences_hold_and_earlier_ones_do_not():
    told = [
        story_task.say("key", "box"),
        story_task.say("ben", "attic"),
        story_task.say("box", "ben"),
        story_task.say("ben", "garden"),
        story_task.say("key", "bag"),
    ]
    assert story_task.follow(told, "box") == ("garden", (2, 3))
    assert story_task.follow(told, "key") is None  # nobody has the bag
    assert story_task.follow(told[:4], "key") == ("garden", (0, 2, 3))
    assert story_task.follow(told, "anna") is None


def test_a_sentence_is_read_as_it_was_said():
    for facts, places in (
        (1, story_task.PLACES),
        (2, story_task.PEOPLE),
        (3, story_task.BAGS),
    ):
        for name in story_task.NAMES[facts]:
            assert story_task.facts_of(name) == facts
            for place in places:
                sentence = story_task.say(name, place)
                assert story_task.read(sentence) == (name, place)
                assert len(sentence) <= story_task.LONGEST


def test_a_seed_always_tells_the_same():
    assert story_task.stories(1, 5, 12, 2) == story_task.stories(1, 5, 12, 2)
    assert story_task.stories(1, 5, 12, 2) != story_task.stories(2, 5, 12, 2)
    longer = story_task.stories(1, 9, 12, 2)
    assert longer[:5] == story_task.stories(1, 5, 12, 2)


def test_a_story_tells_of_every_name_or_is_refused():
    names = {name for each in story_task.NAMES.values() for name in each}
    for one in story_task.stories(7, 20, len(names), 3):
        assert {story_task.read(each)[0] for each in one.sentences} == names
    with pytest.raises(ValueError, match="length is 8: .* from 9 up"):
        story_task.tell(random.Random(0), 8, 3)


def test_stories_become_numbers_and_can_be_read_back():
    words = story_task.vocabulary()
    told = [
        *story_task.stories(5, 3, 9, 1),
        *story_task.stories(5, 2, 12, 3),
    ]
    batch = story_task.collate(told, words)
    assert batch.story.shape == (5, 12, story_task.LONGEST)
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
    told = story_task.stories(6, 3000, 10, 2)
    counts = torch.tensor(
        [
            sum(one.answer == place for one in told)
            for place in story_task.PLACES
        ]
    )
    assert counts.min() > 400 and counts.max() < 600


def test_a_sentence_is_outdated_where_its_age_decides():
    """By telling the chain backwards, with each older sentence in turn."""
    seen = set()
    for one in story_task.stories(5, 300, 12, 3):
        chain = [story_task.read(one.sentences[i])[0] for i in one.support]
        first = None
        for name, latest in zip(chain, one.support, strict=True):
            for i, sentence in enumerate(one.sentences[:latest]):
                if story_task.read(sentence)[0] != name:
                    continue
                told = list(one.sentences)
                told.append(told.pop(i))  # as if it were the latest
                place = name
                while place not in story_task.PLACES:
                    place = whereabouts(told)[place]
                if place != one.answer and first is None:
                    first = name
        kind = {1: "person", 2: "bag", 3: "thing"}
        truth = first and kind[story_task.facts_of(first)]
        assert story_task.outdated(one) == truth
        seen.add(truth)
    assert seen == {None, "person", "bag", "thing"}
