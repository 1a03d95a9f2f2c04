"""The matrix of the page: its rules against torch, its traits."""

import pytest
import torch
from saying import said
from widgets_common import ask, near, refuses, shown

from lookback.fastweights import delta, remember
from lookback.widgets import OneMatrix
from lookback.widgets.one_matrix import KEYS, LIMITS, VALUES

RULES = LIMITS["rules"]


def fill(count, start=0):
    """What the button stores: the next letters, each with a number."""
    return [[k, (7 * k + 4) % VALUES] for k in range(start, count)]


AGAIN = [*fill(8), [0, 9], [3, 20], [0, 2]]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", LIMITS["widths"])
@pytest.mark.parametrize("pairs", [fill(1), fill(24), AGAIN])
def test_the_script_computes_what_the_module_does(rule, d, pairs):
    one = OneMatrix(rule=rule, d=d, pairs=pairs, asked=3)
    state = {"rule": rule, "d": d, "pairs": pairs, "asked": 3}
    found = ask("one_matrix", "oneMatrix", state)
    keys, values = one.vectors()
    near(found["keys"], keys)
    near(found["values"], values)
    near(found["weights"], one.weights()[3])
    near(found["answer"], one.weights()[3] @ one.stored()[1])
    assert found["nearest"] == one.found()[3]
    right, bound = one.right()
    assert len(found["right"]["right"]) == right
    assert len(found["right"]["bound"]) == bound
    if rule == "softmax":
        assert found["W"] == [] and one.matrix() is None
    else:
        near(found["W"], one.matrix())


def test_the_matrix_is_that_of_the_chapters_functions():
    one = OneMatrix(rule="delta", pairs=AGAIN)
    key, value = one.stored()
    ones = torch.ones(len(key), dtype=torch.float64)
    torch.testing.assert_close(one.matrix(), delta(key, value, ones))
    one.rule = "sum"
    torch.testing.assert_close(one.matrix(), remember(key, value))


def test_an_empty_matrix_has_weights_for_nobody():
    found = ask(
        "one_matrix",
        "oneMatrix",
        {"rule": "delta", "d": 4, "pairs": [], "asked": 0},
    )
    assert found["weights"] == [] and found["answer"] == [0, 0, 0, 0]
    assert OneMatrix().right() == (0, 0)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("d", 5, "d is 5: give one of"),
        ("d", True, "give a number"),
        ("rule", "max", "rule is 'max': give one of"),
        ("pairs", [[0, 24]], "is no letter and number"),
        ("pairs", [[-1, 0]], "is no letter and number"),
        ("pairs", [[0, 1, 2]], "is no letter and number"),
        ("pairs", [[0, 0]] * 49, "give 48 at most"),
        ("asked", 24, "asked is 24: give 0 to 23"),
    ],
)
def test_what_does_not_fit_is_refused(name, value, says):
    refuses(OneMatrix(), {name: value}, says)


def test_it_has_a_picture_and_words():
    assert "0 of 0 letters" in shown(OneMatrix())
    assert "11 pairs" in shown(OneMatrix(pairs=AGAIN, rule="softmax"))
    assert len(KEYS) == VALUES == 24


# What the page says of it


def right(rule, pairs, d=16):
    return OneMatrix(rule=rule, pairs=pairs, d=d).right()


def test_the_answer_to_the_task():
    found = {rule: right(rule, fill(24))[0] for rule in RULES}
    assert found == {"sum": 20, "delta": 13, "positive": 1, "softmax": 24}
    assert [right(rule, fill(8))[0] for rule in RULES] == [8, 8, 2, 8]
    assert right("delta", fill(12))[0] == 10


def test_the_delta_rule_loses_the_oldest():
    one = OneMatrix(rule="delta", pairs=fill(24))
    found = one.found()
    good = [found[k] == v for k, v in one.pairs]
    assert sum(good[12:]) == 12 - good[12:].count(False)
    assert sum(good[:12]) < sum(good[12:])


def test_a_letter_bound_again():
    again = [*fill(8), [0, 9]]
    weights = {
        rule: OneMatrix(rule=rule, pairs=again).weights()[0, [0, 8]].tolist()
        for rule in RULES
    }
    assert weights["sum"] == pytest.approx([1, 1])
    assert weights["delta"] == pytest.approx([0, 1])
    assert weights["softmax"] == pytest.approx([0.5, 0.5], abs=1e-3)
    found = {
        rule: OneMatrix(rule=rule, pairs=again).found()[0] for rule in RULES
    }
    assert found["delta"] == 9 and found["sum"] == 4
    said("fastweights", "that rule read all eight letters right, and now seven")
    assert right("delta", fill(8)) == (8, 8)
    assert right("delta", again) == (7, 8)
    said("fastweights", "still nearly equal, and A finds neither number")
    assert found["positive"] not in (4, 9)


def test_positive_features_all_point_one_way():
    weights = OneMatrix(rule="positive", pairs=fill(8)).weights()
    assert 0.07 < float(weights.min()) < float(weights.max()) < 0.2
