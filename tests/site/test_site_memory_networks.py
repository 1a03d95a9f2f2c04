"""The story in the built page, told by mouse and by keyboard.

What it should show is computed anew, from the embedded weights, by the
network itself.
"""

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator

from lookback.lab import story_task
from lookback.memory_networks import MemN2N, MemoryConfig
from lookback.widgets.lib.half import unpack
from lookback.widgets.story import MOST
from stepping import act, live, numbers, problem, widgets

PAGE = "book/memory_networks"
WORDS = story_task.vocabulary()
HOPS = 3


@pytest.fixture
def story(at_start):
    """The page, the first story at its end, its state."""
    one = at_start(PAGE)
    (root, state), _ = widgets(one.page, "story")
    assert "No hop has been made yet" in live(root)
    act(root, "last").click()
    yield one, root, state
    assert one.troubles == []


def truth(state: dict, told: list, asked: str):
    """Weights of every hop, and the places' shares, by torch."""
    d = state["weights"]["words.0"]["shape"][1]
    model = MemN2N(MemoryConfig(len(WORDS), HOPS, d, ages=MOST)).double()
    model.load_state_dict(
        {
            name: torch.tensor(unpack(one))
            for name, one in state["weights"].items()
        }
    )
    sentences = tuple(story_task.say(*one) for one in told)
    one = story_task.Story(sentences, story_task.ask(asked), "attic", (0,))
    batch = story_task.collate([one], WORDS)
    with torch.no_grad():
        logits, looks = model(batch.story, batch.question)
    places = [WORDS.index[place] for place in story_task.PLACES]
    return torch.cat(looks), logits[0].softmax(-1)[places]


def check(root: Locator, state: dict, told: list, asked: str, step: int):
    """The sentences, the hops up to `step`, and at the end the answer."""
    looks, places = truth(state, told, asked)
    said = root.locator("li .text").all_inner_texts()
    assert said == [" ".join(story_task.say(*one)) for one in told]
    labels = root.locator("li").first.locator(".hop small").all_inner_texts()
    assert labels == [f"hop {k + 1}" for k in range(HOPS)]
    for k in range(HOPS):
        shown = numbers(root, f"hop-{k + 1}")
        assert np.allclose(shown, looks[k] if k < step else [], atol=1e-6)
    if step > HOPS:
        assert np.allclose(numbers(root, "place"), places, atol=1e-6)
        best = story_task.PLACES[int(places.argmax())]
        assert f"The network answers “{best}” (p = " in live(root)
    elif step:
        best = int(looks[step - 1].argmax())
        text = " ".join(story_task.say(*told[best]))
        assert live(root).startswith(f"Hop {step}: ")
        assert f"is on “{text}”" in live(root)
    else:
        assert "No hop has been made yet" in live(root)
    facts = root.locator("li.fact .text").all_inner_texts()
    found = story_task.follow([story_task.say(*one) for one in told], asked)
    if found:  # they are marked once somebody has begun to look for them
        assert facts == [said[i] for i in sorted(found[1]) if step]


@pytest.mark.nightly
def test_story_by_mouse(story):
    _, root, state = story
    told, asked = list(state["story"]), state["asked"]
    check(root, state, told, asked, HOPS + 1)
    act(root, "first").click()
    for step in range(HOPS + 2):
        check(root, state, told, asked, step)
        if step <= HOPS:
            act(root, "next").click()
    act(root, "previous").click()
    check(root, state, told, asked, HOPS)
    act(root, "last").click()
    act(root, "table").click()
    assert root.locator("tbody tr").count() == len(told)
    assert root.locator("tbody").inner_text().count("fact ") == 3
    act(root, "table").click()


@pytest.mark.nightly
def test_sentences_are_told_moved_and_taken_out(story):
    _, root, state = story
    told, asked = list(state["story"]), state["asked"]
    last = len(told) - 1
    act(root, "up").nth(last).click()
    told[last - 1], told[last] = told[last], told[last - 1]
    check(root, state, told, asked, HOPS + 1)
    act(root, "name").select_option("box")
    act(root, "holder").select_option("ben")
    act(root, "add").click()
    told.append(["box", "ben"])
    check(root, state, told, asked, HOPS + 1)
    assert act(root, "name").input_value() == "box"  # to tell more of it
    assert act(root, "holder").input_value() == "ben"
    act(root, "remove").first.click()
    told.pop(0)
    check(root, state, told, asked, HOPS + 1)
    assert (
        "It is a guess: the story does not answer “where is the bag?”"
        in live(root)
    )
    act(root, "asked").select_option("box")
    check(root, state, told, "box", HOPS + 1)
    act(root, "up").first.click(force=True)  # it is the first already
    check(root, state, told, "box", HOPS + 1)


@pytest.mark.nightly
def test_what_cannot_be_is_said(story):
    _, root, state = story
    while act(root, "remove").count() > 1:
        act(root, "remove").first.click()
    act(root, "remove").first.click(force=True)
    assert "One sentence has to stay" in problem(root)
    while act(root, "remove").count() < MOST:
        act(root, "add").click()
    act(root, "add").click()
    assert f"up to {MOST} sentences" in problem(root)
    assert act(root, "remove").count() == MOST


def test_story_by_keyboard(story):
    one, root, state = story
    told, asked = list(state["story"]), state["asked"]
    press = one.page.keyboard.press
    act(root, "play").focus()
    press("Home")
    check(root, state, told, asked, 0)
    press("ArrowRight")
    check(root, state, told, asked, 1)
    press("End")
    check(root, state, told, asked, HOPS + 1)
    act(root, "add").focus()
    press("Enter")
    told.append(["anna", "attic"])
    check(root, state, told, asked, HOPS + 1)
    focused = "(one) => one === document.activeElement"
    assert act(root, "add").evaluate(focused)
    act(root, "name").focus()
    for _ in range(3):  # ben, clara, bag: a sentence of another form
        press("ArrowDown")
    assert act(root, "name").input_value() == "bag"
    assert act(root, "holder").input_value() == "anna"
    assert act(root, "name").evaluate(focused)
    last = len(told) - 1
    act(root, "up").nth(last).focus()
    for i in (last, last - 1):  # the button goes along with its sentence
        press("Enter")
        told[i - 1], told[i] = told[i], told[i - 1]
        check(root, state, told, asked, HOPS + 1)
        assert act(root, "up").nth(i - 1).evaluate(focused)
    act(root, "remove").last.focus()
    press("Enter")
    told.pop()
    check(root, state, told, asked, HOPS + 1)
    assert act(root, "remove").last.evaluate(focused)


@pytest.mark.nightly
def test_what_the_task_says_is_seen(story):
    _, root, state = story
    told = list(state["story"])
    assert "answers “attic”" in live(root)
    assert "which is correct" in live(root)
    order = [int(np.argmax(numbers(root, f"hop-{k}"))) for k in (1, 2, 3)]
    assert [told[i] for i in order] == [
        ["key", "bag"],
        ["bag", "anna"],
        ["anna", "attic"],
    ]
    act(root, "asked").select_option("coin")
    assert "It is a guess" in live(root)
    assert "answers “attic” (p = 0.97" in live(root)
    act(root, "asked").select_option("anna")
    order = [int(np.argmax(numbers(root, f"hop-{k}"))) for k in (1, 2, 3)]
    assert order == [2, 2, 4]  # garden, garden, attic
    act(root, "asked").select_option("key")
    act(root, "up").nth(4).click()
    act(root, "up").nth(3).click()
    assert "answers “garden”" in live(root)
    assert "which is correct" in live(root)
    order = [int(np.argmax(numbers(root, f"hop-{k}"))) for k in (1, 2, 3)]
    said = root.locator("li .text").all_inner_texts()
    assert said[order[0]] == "the key went into the bag"
    assert said[order[1]] == "anna took the bag"
    assert said[order[2]] == "anna went to the garden"


@pytest.mark.nightly
def test_where_the_key_was_moved_its_order_does_not_matter(at_start):
    """The second story: the same answer, and the second time it is right."""
    one = at_start(PAGE)
    _, (root, state) = widgets(one.page, "story")
    told = list(state["story"])
    check(root, state, told, "key", HOPS + 1)
    assert "answers “attic”" in live(root)
    assert "The story says “office”" in live(root)
    act(root, "up").nth(len(told) - 1).click()
    told[-2:] = told[:-3:-1]
    check(root, state, told, "key", HOPS + 1)
    assert "answers “attic”" in live(root)
    assert "which is correct" in live(root)
    for k in (1, 2, 3):
        assert len(numbers(root, f"hop-{k}")) == len(told)
