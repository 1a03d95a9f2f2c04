"""The serial wall in the built page, raced by mouse and by keyboard.

What it should show is recomputed tick by tick from the embedded state.
"""

import pytest

from stepping import act, live, numbers, problem, widgets

PAGE = "book/serial"
KIND = "serial-wall"
LANES = ("recurrent", "attention")


def work(state: dict) -> dict[str, list[int]]:
    """Multiplications of each stage of both layers."""
    n, d, gates = state["length"], state["width"], state["gates"]
    return {
        "recurrent": [gates * n * d * d] + [gates * d * d] * n,
        "attention": [3 * n * d * d, n * n * d, n * n * d, n * d * d],
    }


def played(stages: list[int], workers: int) -> list[int]:
    """Workers busy in every tick until the end."""
    busy = []
    for left in stages:
        while left:
            busy.append(min(workers, left))
            left -= busy[-1]
    return busy


def check(root, state: dict, tick: int) -> None:
    """Both lanes show this tick, and the line says it."""
    lanes = {k: played(v, state["workers"]) for k, v in work(state).items()}
    longest = max(map(len, lanes.values()))
    tick = min(tick, longest)
    for lane, busy in lanes.items():
        assert numbers(root, f"{lane}-ticks") == [len(busy)]
        now = busy[tick - 1] if 0 < tick <= len(busy) else 0
        assert numbers(root, f"{lane}-busy") == [now]
        words = numbers(root, f"{lane}-words")
        assert len(words) == state["length"]
        if lane == "attention":
            done = sum(busy[:tick]) / sum(busy)
            assert all(abs(one - done) < 1e-9 for one in words)
        elif tick >= len(busy):
            assert set(words) == {1}
    when = f"Tick {tick:,}" + ", the last" * (tick == longest)
    assert f"{when if tick else 'Before tick 1'}: " in live(root)


@pytest.fixture
def opened(at_start):
    return at_start(PAGE)


@pytest.mark.nightly
def test_serial_wall_by_mouse(opened):
    for root, state in widgets(opened.page, KIND):
        last = max(
            len(played(one, state["workers"])) for one in work(state).values()
        )
        check(root, state, 0)
        for tick in range(1, last + 1):
            act(root, "next").click()
            check(root, state, tick)
        act(root, "previous").click()
        check(root, state, last - 1)
        act(root, "first").click()
        act(root, "double").click()
        check(root, state | {"workers": 2 * state["workers"]}, 0)
        act(root, "halve").click()
        act(root, "gates").select_option("4")
        check(root, state | {"gates": 4}, 0)
        act(root, "table").click()
        assert act(root, "table").get_attribute("aria-pressed") == "true"
        assert root.locator("table").is_visible()
    assert opened.troubles == []


def test_serial_wall_by_keyboard(opened):
    keyboard = opened.page.keyboard
    for root, state in widgets(opened.page, KIND):
        act(root, "next").focus()
        keyboard.press("ArrowRight")
        check(root, state, 1)
        keyboard.press("ArrowLeft")
        check(root, state, 0)
        keyboard.press("End")
        check(root, state, 10**9)
        keyboard.press("Home")
        check(root, state, 0)
        for name, value in (("length", 17), ("width", 8), ("workers", 1000)):
            act(root, name).fill(str(value))
            keyboard.press("Enter")
            state |= {name: value}
            check(root, state, 0)
    assert opened.troubles == []


@pytest.mark.nightly
def test_serial_wall_with_one_worker_is_even_where_n_is_d(opened):
    root, state = widgets(opened.page, KIND)[0]
    for name, value in (("width", 16), ("workers", 1)):
        act(root, name).fill(str(value))
        act(root, name).press("Enter")
    for length, order in ((15, -1), (16, 0), (17, 1)):
        act(root, "length").fill(str(length))
        act(root, "length").press("Enter")
        slow, fast = (numbers(root, f"{lane}-ticks")[0] for lane in LANES)
        assert (fast > slow) - (fast < slow) == order


@pytest.mark.nightly
def test_serial_wall_refuses_and_keeps_what_was_there(opened):
    root, state = widgets(opened.page, KIND)[0]
    for name, wrong in (("length", "65"), ("width", "2.5"), ("workers", "x")):
        act(root, name).fill(wrong)
        act(root, name).press("Enter")
        assert f"“{wrong}” is not a whole number" in problem(root)
        check(root, state, 0)
    act(root, "next").click()
    assert problem(root) == ""


@pytest.mark.nightly
def test_serial_wall_plays_to_the_end(opened):
    root, state = widgets(opened.page, KIND)[0]
    act(root, "last").click()
    act(root, "play").click()
    act(root, "play").filter(has_text="Pause").wait_for()
    act(root, "play").filter(has_text="Play").wait_for()
    check(root, state, 10**9)
