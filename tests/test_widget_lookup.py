"""The soft dictionary: its numbers against torch, its traits, its picture."""

import math

import pytest
import torch
from widgets_common import ask, near, refuses, shown

from lookback.attention import attend
from lookback.widgets import Lookup

LABELS = ["north", "east", "south", "west"]


def given(seed: int = 0, temperature: float = 1.0) -> dict:
    torch.manual_seed(seed)
    key, query, value = torch.randn(4, 2), torch.randn(2), torch.randn(4, 3)
    mask = [True, seed % 2 == 0, True, True]
    numbers = {"key": key, "value": value, "query": query}
    numbers = {name: one.tolist() for name, one in numbers.items()}
    return {**numbers, "mask": mask, "temperature": temperature}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("temperature", [0.05, 1.0, 5.0])
def test_it_is_attention_with_a_temperature(seed, temperature):
    state = given(seed, temperature)
    now = ask("lookup", "lookup", state)
    query, key, value = (
        torch.tensor(state[name], dtype=torch.float64)
        for name in ("query", "key", "value")
    )
    mask = torch.tensor([state["mask"]])
    scale = 1 / (math.sqrt(2) * temperature)
    answer, weights = attend(query[None], key, value, mask, scale=scale)
    near(now["weights"], weights[0])
    near(now["answer"], answer[0])


@pytest.mark.parametrize("seed", range(4))
def test_at_temperature_0_it_is_a_dictionary(seed):
    state = given(seed, 0.0)
    now = ask("lookup", "lookup", state)
    e = torch.tensor(state["key"]) @ torch.tensor(state["query"])
    e[~torch.tensor(state["mask"])] = -torch.inf
    near(now["answer"], torch.tensor(state["value"])[e.argmax()])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"labels": ["a"]}, "key: give 1 rows"),
        ({"key": [[1.0], [1.0], [1.0], [1.0]]}, "rows of 2 numbers"),
        ({"value": [[1.0], [1.0, 2.0], [1.0], [1.0]]}, "rows of one length"),
        ({"value": [[]] * 4}, "rows of one length"),
        ({"query": [1.0]}, "query: give 2"),
        ({"query": [1.0, math.nan]}, "not finite"),
        ({"temperature": -1.0}, "temperature: give 0, or 0.001"),
        ({"temperature": 1e-320}, "temperature: give 0, or 0.001"),
        ({"query": [1e308, 0.0]}, "above 1,000,000"),
        ({"step": True}, "step is True: give a number"),
        ({"mask": [False] * 4}, "at least one of them True"),
        ({"mask": [True]}, "give 4 booleans"),
        ({"step": 3}, "step is 3: 0 to 2"),
    ],
)
def test_it_refuses_what_does_not_fit_and_keeps_what_was_there(wrong, says):
    refuses(Lookup(LABELS, **given()), wrong, says)


def test_it_shows_a_view_a_picture_and_words():
    state = given()
    widget = Lookup(LABELS, **{**state, "key": torch.tensor(state["key"])})
    assert "north, east, south, west" in shown(widget)
