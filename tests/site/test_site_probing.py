"""The widget of the chapter `probing`, by mouse and by keyboard.

What they should show is computed anew by torch.
"""

import numpy as np
import pytest
import torch

from lookback.families import attention_mask
from lookback.lab import int8
from lookback.vocabulary import END, START
from lookback.widgets import machines
from stepping import act, live, numbers, problem, widgets

PAGE = "book/probing"


@pytest.fixture
def asker(at_start):
    """The page, the root of `which_word`, its state."""
    one = at_start(PAGE)
    [(root, state)] = widgets(one.page, "which-word")
    yield one, root, state
    assert one.troubles == []


@torch.no_grad()
def leans(state: dict, text: str, covered=()) -> list[float]:
    body, words = machines.load("probing")
    body = int8.rounded(body).double().eval()
    typed = text.split()
    at = next(i for i, w in enumerate(typed) if w in state["probes"])
    gone = ["<mask>" if i in covered else w for i, w in enumerate(typed)]
    tokens = torch.tensor([[START, *words.encode(gone), END]])
    levels = body.hidden_states(tokens, attention_mask(tokens, "BERT"))
    probes = torch.tensor(state["probes"][typed[at]]["levels"]).double()
    return [
        float((level[0, at + 1] @ p[:-1] + p[-1]).sigmoid())
        for level, p in zip(levels, probes, strict=True)
    ]


def check(root, state, text, covered=()) -> None:
    root.locator('[data-role="lean"]').first.wait_for()
    root.page.wait_for_function(
        "root => !root.hasAttribute('aria-busy')", arg=root.element_handle()
    )
    root.locator(".figure").wait_for()
    truth = leans(state, text, covered)
    assert np.allclose(numbers(root, "lean"), truth, atol=2e-3)


@pytest.mark.nightly
def test_a_caption_is_read_and_a_word_covered(asker):
    one, root, state = asker
    act(root, "begin").press("Enter")
    one.page.wait_for_function(
        """root => root.querySelector('[data-role=live]').textContent
          .includes("What counts")""",
        arg=root.element_handle(),
    )
    check(root, state, state["text"])
    assert "What counts most is" in live(root)
    act(root, "cover").nth(1).press("Space")
    one.page.wait_for_function(
        "root => !root.hasAttribute('aria-busy')", arg=root.element_handle()
    )
    check(root, state, state["text"], [1])
    act(root, "level").nth(1).click()
    assert "Layer 1 says" in live(root)
    act(root, "table").click()
    assert root.locator("tbody tr:visible").count() > 3
    act(root, "table").click()
    act(root, "clear").click()
    check(root, state, state["text"])


@pytest.mark.nightly
def test_a_caption_without_its_words_is_refused(asker):
    _, root, _ = asker
    act(root, "text").fill("a man sits .")
    act(root, "begin").click()
    assert "one of these words" in problem(root)
