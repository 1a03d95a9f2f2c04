"""Two machines learning in the built page, by mouse, by keyboard, undisturbed.

The first steps are computed again by torch, from the draw on.
"""

import re

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, Worker, expect
from torch.nn import functional as F

from lookback.lab.corpus import Pair
from lookback.lab.decoding import force
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.vocabulary import END, START, Vocabulary
from lookback.widgets.learning import LIMITS
from lookback.widgets.lib.mulberry import uniform
from stepping import act, live, numbers, problem, widgets

PAGE, LONG = "book/rnnsearch", 240_000  # ms, on a busy machine
LETTERS, TRAINED = LIMITS["letters"], LIMITS["trained"]


def machine(width: int, seed: int) -> RNNsearch:
    """RNNsearch as drawn: ±1/√columns, embeddings ±√3, biases and v 0."""
    config = RNNsearchConfig(
        *[len(LETTERS) + 4] * 2,
        embed=LIMITS["d_embed"],
        hidden=width,
        align=round(2 * width * (2 * width + 1) / (3 * width + 2)),
        maxout=width // 2,
        dropout=0.0,
    )
    model = RNNsearch(config).double()
    named = dict(model.named_parameters())
    parts = ("source", "target", "encoder", "bridge", "decoder", "readout")
    order = [
        name
        for part in (*parts, "attention.W", "attention.U", "attention.v")
        for name in named
        if name.startswith(part)
    ]
    assert len(order) == len(named)
    size = sum(one.numel() for one in named.values())
    drawn = torch.tensor(2 * uniform(seed, size) - 1)
    for name in order:
        one = named[name]
        most = one.shape[-1] ** -0.5 if one.dim() == 2 else 0.0
        most = 3**0.5 if "embedding" in name else most
        one.data = most * drawn[: one.numel()].reshape(one.shape)
        drawn = drawn[one.numel() :]
    return model


def strings(seed: int, step: int) -> list[torch.Tensor]:
    """The strings of a step, in parts of one length each."""
    drawn = uniform(((seed + 1) * 0x9E3779B1 + step) % 2**32, 1000).tolist()
    parts, count = LIMITS["batch"].values()
    found = []
    for _ in range(parts):
        length = 1 + int(drawn.pop(0) * TRAINED)
        ids = [4 + int(drawn.pop(0) * 26) for _ in range(count * length)]
        found.append(torch.tensor(ids).reshape(count, length))
    return found


def learned(state: dict, steps: int) -> tuple[list[float], np.ndarray]:
    """The losses of so many steps, and the look after them."""
    model = machine(state["width"], state["seed"])
    optimiser = torch.optim.Adam(model.parameters(), lr=state["rate"])
    back = state["task"] == "reverse"
    losses = []
    for step in range(steps):
        logits, targets = [], []
        for part in strings(state["seed"], step):
            target = F.pad(part.flip(1) if back else part, (0, 1), value=END)
            given = F.pad(target[:, :-1], (1, 0), value=START)
            said = model(F.pad(part, (0, 1), value=END), given)
            logits.append(said.flatten(0, 1))
            targets.append(target.flatten())
        loss = F.cross_entropy(torch.cat(logits), torch.cat(targets))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    text, known = list(state["text"]), Vocabulary([*LETTERS])
    pair = Pair(text, text[::-1] if back else text)
    return losses, force(model.eval(), [pair], known, known)[0].numpy()


def check(root: Locator, state: dict, steps: int) -> None:
    """Step, loss and map are those of torch."""
    expect(root.locator('[data-role="step"]')).to_have_text(str(steps))
    losses, look = learned(state, steps)
    assert np.allclose(numbers(root, "weight"), look.ravel(), atol=1e-6)
    if steps:
        assert np.allclose(numbers(root, "loss-look"), np.mean(losses))
        assert f"Step {steps}. " in live(root)
    else:
        assert live(root).startswith("Step 0. Nothing has been learned")


def reach(root: Locator, steps: int) -> None:
    """Wait until so many steps have been done."""
    root.page.wait_for_function(
        "([root, steps]) => Number(root.querySelector("
        "'[data-role=\"step\"]').dataset.value) >= steps",
        arg=[root.element_handle(), steps],
        timeout=LONG,
    )


@pytest.fixture
def learning(visit):
    """The page, the widget, its state."""
    one = visit(PAGE)
    [(root, state)] = widgets(one.page, "learning")
    yield one, root, state
    assert one.troubles == []


@pytest.mark.nightly
def test_single_steps_by_mouse(learning):
    _, root, state = learning
    check(root, state, 0)
    for steps in (1, 2, 3):
        act(root, "next").click()
        check(root, state, steps)
    act(root, "again").click()
    check(root, state, 0)
    act(root, "task").select_option("copy")
    act(root, "width").select_option("8")
    state |= {"task": "copy", "width": 8}
    check(root, state, 0)
    act(root, "next").click()
    check(root, state, 1)
    act(root, "table").click()
    n = len(state["text"])
    expect(root.locator(".scroll tbody tr")).to_have_count(1 + 10 + n + 1)


@pytest.mark.nightly
def test_settings_by_keyboard(learning):
    one, root, state = learning
    press = one.page.keyboard.press
    for name, typed in (("seed", "7"), ("rate", "0.05"), ("text", "Noir")):
        act(root, name).focus()
        press("ControlOrMeta+a")
        one.page.keyboard.type(typed)
        press("Tab")
    state |= {"seed": 7, "rate": 0.05, "text": "noir"}
    check(root, state, 0)
    act(root, "next").focus()
    press("Enter")
    check(root, state, 1)
    press("Space")
    check(root, state, 2)


@pytest.mark.nightly
def test_training_pauses_at_once_and_goes_on(learning):
    one, root, _ = learning
    act(root, "play").focus()
    one.page.keyboard.press("Enter")
    expect(act(root, "play")).to_have_text("Pause")
    reach(root, 10)
    one.page.keyboard.press("Enter")
    expect(act(root, "play")).to_have_text("Train")
    one.page.wait_for_timeout(1000)  # the chunk that was under way
    [steps] = numbers(root, "step")
    one.page.wait_for_timeout(1500)
    assert numbers(root, "step") == [steps]
    assert len(numbers(root, "right")) == 2 * LIMITS["tested"]
    assert f"Step {steps:g}. Loss: fixed vector" in live(root)
    assert f"Of test strings of 1 to {TRAINED} letters" in live(root)
    one.page.keyboard.press("Enter")
    reach(root, steps + 5)


def found_by_now(one, root: Locator, n: int) -> bool:
    """Whether the look, once training is paused, has found the letters."""
    act(root, "play").click()
    one.page.wait_for_timeout(1000)  # the chunk that was under way
    [steps] = numbers(root, "step")
    told = root.locator('[data-role="live"]')
    expect(told).to_contain_text(f"Step {steps:g}. ", timeout=LONG)
    look = np.reshape(numbers(root, "weight"), (n + 1, n + 1))[:n]
    hits = (look.argmax(1) == np.arange(n)[::-1]).sum()
    said = re.search(r"itself for (\d+) of", live(root))
    assert said and int(said[1]) == hits
    fixed, look_back = (
        numbers(root, f"loss-{k}")[0] for k in ("fixed", "look")
    )
    right = np.reshape(numbers(root, "right"), (-1, 2))
    return (
        hits >= n - 1
        and look_back < 0.6 * fixed
        and right[2:6, 1].mean() > 60
        and right[2:6, 0].mean() < 20
    )


@pytest.mark.nightly
def test_the_letters_are_found_and_the_fixed_vector_stays_behind(learning):
    """Generous in steps, since at this rate the look stumbles now and then."""
    one, root, state = learning
    for least in range(400, 1000, 150):
        act(root, "play").click()
        reach(root, least)
        if found_by_now(one, root, len(state["text"])):
            return
    pytest.fail("in a thousand steps the look has not found the letters")


def kill(worker: Worker) -> None:
    """Let it die of an error of its own."""
    with worker.expect_event("close"):
        worker.evaluate("setTimeout(() => { throw new Error('dead'); })")


@pytest.mark.nightly
def test_a_worker_that_dies_takes_nothing_with_it(learning):
    one, root, state = learning
    act(root, "next").click()
    check(root, state, 1)
    kill(one.page.workers[-1])
    act(root, "next").click()
    check(root, state, 2)
    act(root, "play").click()
    reach(root, 6)
    kill(one.page.workers[-1])
    told = root.locator('[data-role="problem"]')
    expect(told).to_contain_text("has died. Another goes on", timeout=LONG)
    [steps] = numbers(root, "step")
    reach(root, steps + 5)
    assert all("dead" in trouble for trouble in one.troubles)
    one.troubles.clear()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "typed", "says"),
    [
        ("rate", "5", "learning rate “5”: give 0.0001 to 0.1. “0.01” stays."),
        ("rate", "cat", "learning rate “cat”: give 0.0001 to 0.1."),
        ("seed", "-1", "seed “-1”: give 0 to 2147483647. “0” stays."),
        ("text", "<b>", "“<” is not among the letters a to z."),
        ("text", "", "Type a letter at least."),
        ("text", "abcdefghijk", "11 letters: give 10 at most."),
    ],
)
def test_a_wrong_setting_is_named_and_the_old_one_stays(
    at_start, name, typed, says
):
    one = at_start(PAGE)
    [(root, state)] = widgets(one.page, "learning")
    act(root, name).fill(typed)
    act(root, name).press("Tab")
    assert says in problem(root)
    assert act(root, name).input_value() == str(state[name])
    check(root, state, 0)
    assert one.troubles == []


@pytest.mark.nightly
def test_what_is_said_and_drawn_keeps_still_where_that_is_wanted(visit):
    one = visit(PAGE, still=True, width=320, dark=True)
    [(root, _)] = widgets(one.page, "learning")
    box = root.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 320
    root.evaluate(
        """(root) => {
          window.changes = { live: 0, step: 0 };
          for (const role of ["live", "step"])
            new MutationObserver(() => { changes[role] += 1; }).observe(
              root.querySelector(`[data-role="${role}"]`), { childList: true });
        }"""
    )
    act(root, "play").click()
    one.page.wait_for_timeout(9000)
    changes = one.page.evaluate("changes")
    assert 1 <= changes["step"] <= 7 and 1 <= changes["live"] <= 4
    assert one.troubles == []


@pytest.mark.nightly
def test_it_learns_from_disk_too(visit):
    one = visit(PAGE, from_disk=True)
    [(root, state)] = widgets(one.page, "learning")
    act(root, "next").click()
    check(root, state, 1)
    assert one.troubles == []
