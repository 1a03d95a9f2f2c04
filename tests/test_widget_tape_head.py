"""The head on eight slots: its stages against torch, its traits."""

import pytest
import torch
from widgets_common import ask, near, refuses, shown

from lookback.ntm import Addressing, address
from lookback.widgets import TapeHead
from lookback.widgets.tape_head import ADDRESSING, SLOTS, SYMBOLS


def deed(ink="", key="▸", strength=10.0, gate=0.0, move=1, blur=0.0, gamma=1.0):
    return {
        "key": key,
        "strength": strength,
        "gate": gate,
        "move": move,
        "blur": blur,
        "gamma": gamma,
        "ink": ink,
    }


ABA = [deed("▸", move=0), deed("A"), deed("B"), deed("A")]
MIXED = [
    *ABA,
    deed(gate=1.0, strength=20.0),
    deed(gate=0.3, key="A", strength=3.0, blur=0.1, gamma=2.5, move=-1),
    deed("C", gate=0.6, key="B", strength=7.0, blur=0.3, gamma=4.0, move=0),
]


@pytest.mark.parametrize("done", [[], ABA[:1], ABA, MIXED, MIXED * 4])
def test_the_script_computes_what_the_module_does(done):
    one = TapeHead(done=done)
    now = {name: deed()[name] for name in ADDRESSING}
    found = ask("tape_head", "tapeHead", {"done": done, "now": now})
    memory, weights, read = (torch.from_numpy(x) for x in one.follow())
    near(found["memory"], memory)
    near(found["weights"], weights)
    if any(not each["ink"] for each in done):
        near(found["found"], read)
    else:
        assert found["found"] is None
    key = torch.eye(len(SYMBOLS), dtype=torch.float64)[None, :1]
    full = (torch.full((1, 1, 1), x).double() for x in (10.0, 0.0, 1.0))
    moves = torch.tensor([[[0.0, 0.0, 1.0]]], dtype=torch.float64)
    strength, gate, gamma = full
    addressing = Addressing(key, strength, gate, moves, gamma)
    truth = address(memory[None], weights[None, None], addressing)[0, 0]
    near(found["next"]["weights"], truth)


def test_content_finds_the_start_and_place_goes_on():
    at = [TapeHead(done=[*ABA, deed(gate=1.0, strength=30.0)])]
    for n in (1, 2):
        at.append(TapeHead(done=[*at[0].done, *[deed()] * n]))
    for one, symbol in zip(at, "ABA", strict=True):
        assert one.follow()[2][SYMBOLS.index(symbol)] > 0.99


def test_content_alone_cannot_tell_the_first_a_from_the_second():
    one = TapeHead(done=[*ABA, deed(gate=1.0, strength=30.0, key="A", move=0)])
    assert one.follow()[1][[1, 3]].tolist() == pytest.approx([0.5, 0.5], 1e-3)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("key", "D", "key is 'D': give one of"),
        ("key", "", "key is ''"),
        ("ink", "AB", "ink is 'AB'"),
        ("strength", -1.0, "strength is -1.0: give 0 to 30"),
        ("strength", float("nan"), "strength is nan"),
        ("gate", 1.1, "gate is 1.1: give 0 to 1"),
        ("move", True, "give a number"),
        ("move", 2, "move is 2: give -1 to 1"),
        ("blur", 0.4, "blur is 0.4: give 0 to 0.3"),
        ("gamma", 0.5, "gamma is 0.5: give 1 to 10"),
        ("done", [{}], "must hold"),
        ("done", [deed(gate=2)], "gate is 2"),
        ("done", [deed(move=0.5)], "move is 0.5"),
        ("done", [deed(key="")], "key is ''"),
        ("done", [deed()] * 33, "give 32 steps at most"),
    ],
)
def test_what_does_not_fit_is_refused(name, value, says):
    refuses(TapeHead(), {name: value}, says)


def test_it_has_a_picture_and_words():
    assert f"tape of {SLOTS} slots, after 0 steps" in shown(TapeHead())
    assert "after 7 steps" in shown(TapeHead(done=MIXED))
