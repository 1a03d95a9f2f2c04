"""The story that a reader tells: its network against torch, its traits."""

import copy
from functools import partial

import pytest
import torch
from widgets_common import ask, near, refuses, shown

from lookback.lab import story_task
from lookback.memory_networks import MemN2N, MemoryConfig
from lookback.vocabulary import SPECIALS
from lookback.widgets import Story, pack
from lookback.widgets.lib.half import unpack
from lookback.widgets.story import KINDS, MOST

WORDS = story_task.vocabulary()
TOLD = [("bag", "anna"), ("key", "bag"), ("anna", "attic"), ("ben", "office")]
LONG = [*TOLD, ("letter", "box"), ("box", "ben"), ("ben", "garden")]


@pytest.fixture(scope="module")
def model():
    """Untrained, with numbers that sixteen bits hold."""
    torch.manual_seed(0)
    made = MemN2N(MemoryConfig(len(WORDS), d=6, ages=MOST, draw=0.8))
    return made.half().double()


@pytest.fixture
def story(model):
    return partial(
        Story, WORDS.words[len(SPECIALS) :], pack(model.state_dict())
    )


def truth(model, told, asked):
    """The weights of every hop and the shares of all words, by torch."""
    sentences = tuple(story_task.say(*one) for one in told)
    one = story_task.Story(sentences, story_task.ask(asked), "attic", (0,))
    batch = story_task.collate([one], WORDS)
    with torch.no_grad():
        logits, looks = model(batch.story, batch.question)
    return torch.cat(looks), logits[0].softmax(-1)


@pytest.mark.parametrize("asked", ["anna", "bag", "key"])
@pytest.mark.parametrize("told", [TOLD, LONG, TOLD[:1]])
def test_it_computes_what_torch_does(model, story, told, asked):
    one = story(told, asked)
    tensors = {
        name: {
            "shape": each["shape"],
            "numbers": unpack(each).flatten().tolist(),
        }
        for name, each in one.weights.items()
    }
    found = ask(
        "story",
        "story",
        {
            "weights": tensors,
            "story": [WORDS.encode(story_task.say(*each)) for each in told],
            "asked": WORDS.encode(story_task.ask(asked)),
        },
    )
    looks, words = truth(model, told, asked)
    near(found["looks"], looks)
    near(found["words"], words)
    for mine, theirs in zip(one.looks(), (looks, words), strict=True):
        near(mine, theirs)
    state = {
        name: getattr(one, name)
        for name in ("vocabulary", "kinds", "story", "asked", "draft", "step")
    }
    told = ask("story", "told", {"state": state, "weights": tensors})
    places = [WORDS.index[place] for place in story_task.PLACES]
    near(told["looks"], looks)
    near(told["places"], words[places])
    assert one.answer() == WORDS.words[int(words.argmax())]


def test_its_world_is_that_of_the_stories():
    """The same sentences and questions, whoever says them."""
    for facts, kind in zip(story_task.NAMES, KINDS, strict=True):
        for name in story_task.NAMES[facts]:
            assert kind["asked"].format(name) == " ".join(story_task.ask(name))
            for holder in story_task.HOLDERS[facts]:
                assert tuple(
                    kind["form"].format(name, holder).split()
                ) == story_task.say(name, holder)


def test_it_opens_on_the_answer_or_where_it_is_told(story):
    assert story(TOLD, "key").step == 4
    assert story(TOLD, "key", 2).step == 2


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("story", [], f"give 1 to {MOST}"),
        ("story", [["anna", "attic"]] * (MOST + 1), f"give 1 to {MOST}"),
        ("story", [["anna", "bag"]], "nothing in this world says"),
        ("story", [["attic", "anna"]], "nothing in this world says"),
        ("story", [["anna"]], "nothing in this world says"),
        ("draft", ["anna", "bag"], "nothing in this world says"),
        ("asked", "attic", "asked is 'attic'"),
        ("step", -2, "step is -2"),
        ("step", 5, "step is 5"),
        ("step", True, "give a number"),
        ("vocabulary", ["attic"], "must have 5 rows"),
    ],
)
def test_what_does_not_fit_is_refused(story, name, value, says):
    refuses(story(TOLD, "key"), {name: value}, says)


def test_weights_that_are_cut_or_missing_are_refused(story):
    one = story(TOLD, "key")
    for name, wrong, says in (
        ("ages.1", None, "weights lack ages.1"),
        ("words.2", {"shape": [3, 6], "data": b"00"}, "words.2 must have"),
    ):
        weights = copy.deepcopy(one.weights)
        weights[name] = wrong
        refuses(one, {"weights": weights}, says)


def test_it_has_a_picture_and_words(story):
    said = shown(story(TOLD, "key"))
    assert "the key went into the bag. anna went to the attic." in said
    assert "where is the key? hop 1: the largest attention weight" in said
