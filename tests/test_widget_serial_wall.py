"""The serial wall: its schedule against `lookback.serial`, its traits."""

import pytest
from widgets_common import ask, refuses, shown

from lookback import serial
from lookback.widgets import SerialWall

SIZES = [
    {"length": 12, "width": 16, "workers": 2048, "gates": 3},
    {"length": 1, "width": 1, "workers": 1, "gates": 1},
    {"length": 64, "width": 16, "workers": 1024, "gates": 4},
    {"length": 9, "width": 5, "workers": 7, "gates": 3},
    {"length": 64, "width": 64, "workers": 1_000_000, "gates": 3},
]


def layers(sizes) -> list:
    n, d = sizes["length"], sizes["width"]
    return [serial.recurrent(n, d, sizes["gates"]), serial.self_attention(n, d)]


def played(stages, workers: int, tick: int) -> tuple[int, int]:
    """Products done after so many ticks and workers busy in the last one."""
    left, done, busy = [stage.products for stage in stages], 0, 0
    for _ in range(tick):
        busy = min(workers, left[0]) if left else 0
        done += busy
        if left:
            left[0] -= busy
            if not left[0]:
                left.pop(0)
    return done, busy


@pytest.mark.parametrize("sizes", SIZES)
def test_the_schedule_is_that_of_the_module(sizes):
    race = ask("serial_wall", "race", {**sizes, "step": 0})
    for lane, stages in zip(race, layers(sizes), strict=True):
        shown = lane["stages"]
        assert [(one["name"], one["products"]) for one in shown] == stages
        assert shown[-1]["end"] == serial.ticks(stages, sizes["workers"])
        for before, after in zip(shown, shown[1:], strict=False):
            assert before["end"] == after["start"]


@pytest.mark.parametrize("step", [0, 1, 4, 7, 13, 16, 17, 90])
@pytest.mark.parametrize("sizes", SIZES[:2] + SIZES[3:4])
def test_each_tick_is_the_one_that_is_played(sizes, step):
    race = ask("serial_wall", "race", {**sizes, "step": step})
    for lane, stages in zip(race, layers(sizes), strict=True):
        done, busy = played(stages, sizes["workers"], step)
        assert (lane["now"]["done"], lane["now"]["busy"]) == (done, busy)
    chain, together = race[0]["words"], race[1]["words"]
    assert chain == sorted(chain, reverse=True)
    assert len(set(together)) == 1
    total = sum(stage.products for stage in layers(sizes)[1])
    done, _ = played(layers(sizes)[1], sizes["workers"], step)
    assert together[0] == pytest.approx(done / total)


def test_the_ticks_in_python_are_those_of_the_script():
    for sizes in SIZES:
        race = ask("serial_wall", "race", {**sizes, "step": 0})
        ends = [lane["stages"][-1]["end"] for lane in race]
        assert list(SerialWall(**sizes).ticks().values()) == ends


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("length", 0, "length is 0: give 1 to 64"),
        ("length", 65, "length is 65"),
        ("width", 100, "width is 100: give 1 to 64"),
        ("workers", 0, "workers is 0: give 1 to 1,000,000"),
        ("gates", 2, "gates is 2: give 1, 3 or 4"),
        ("step", -1, "step is -1"),
        ("step", 18, "step is 18: 0 to 17 exist"),
    ],
)
def test_serial_wall_refuses_and_keeps_what_was_there(name, value, says):
    refuses(SerialWall(), {name: value}, says)


def test_a_change_begins_again():
    widget = SerialWall()
    widget.step = 5
    widget.workers = 1
    assert widget.step == 0
    widget.set_state({"step": 9, "workers": 1})
    assert widget.step == 9
    widget.set_state({"workers": 4096, "step": 0})
    assert (widget.workers, widget.step) == (4096, 0)


def test_serial_wall_has_a_view_a_picture_and_words():
    assert "GRU 17 ticks, self-attention 11 ticks" in shown(SerialWall())
