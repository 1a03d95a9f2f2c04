"""Other numbers by seed: the exercises by hand that have them."""

import pytest
from answers_by_hand import BY_HAND, answer_of, right, slips
from widgets_common import on_the_page

VARIED = [made for made in BY_HAND if made.variant]
SEEDS = (
    0,
    "a name",
    pytest.param(1, marks=pytest.mark.nightly),
    pytest.param(20_261_123, marks=pytest.mark.nightly),
)
each = pytest.mark.parametrize("made", VARIED, ids=lambda made: made.name)


def test_there_are_enough():
    assert len(VARIED) >= 12


@pytest.mark.nightly
@each
def test_a_seed_gives_one_set_of_numbers_and_another_another(made):
    given = [made.variant(seed).given for seed in range(12)]
    assert given == [made.variant(seed).given for seed in range(12)]
    assert len(set(given)) > 5
    assert not any("{" in one for one in given)


@pytest.mark.parametrize("seed", SEEDS)
@each
def test_its_solution_is_right_and_each_slip_is_named(made, seed):
    one = made.variant(seed)
    assert one.verdict(answer_of(one, right(one)))[0] is True
    count = 0
    for hint, numbers in slips(one):
        said = one.verdict(answer_of(one, numbers))
        assert said == (False, hint)
        assert on_the_page(one.page(), [*map(repr, numbers)]) == said
        count += 1
    assert count > 3


@each
def test_the_chapter_s_numbers_are_one_set_of_them(made):
    """The solution, which is written for them alone, passes and no other's."""
    truth = right(made)
    assert made.verdict(answer_of(made, truth))[0] is True
    others = [made.variant(seed) for seed in range(10)]
    wrong = [one for one in others if not one.verdict(truth)[0]]
    assert len(wrong) > 7


def test_a_student_is_told_what_is_right(capsys):
    [made] = (one for one in VARIED if one.name == "context_by_hand")
    mine = made.variant(1234)
    assert mine(mine.solution()) is True
    assert "from weights" in capsys.readouterr().out
    assert mine(made.solution()) is False
    assert mine() is None
