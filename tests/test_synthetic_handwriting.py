"""The alphabet of strokes: what is written, and which letter each point is."""

import numpy as np
import pytest
import torch

from lookback.lab import synthetic_handwriting
from lookback.lab.synthetic_handwriting import LETTERS, STROKES, Hand


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_every_letter_has_ink_and_the_space_none(rng):
    assert LETTERS == "abcdefghijklmnopqrstuvwxyz "
    for one in LETTERS:
        line = synthetic_handwriting.write(one, Hand(), rng)
        strokes = synthetic_handwriting.ink(line.points)
        assert len(strokes) == (
            0 if one == " " else STROKES[one].count("|") + 1
        )


def test_each_point_belongs_to_its_letter_and_the_rest_to_the_end(rng):
    text = "soft window"
    line = synthetic_handwriting.write(text, Hand.draw(rng), rng)
    assert (np.diff(line.letters) >= 0).all()  # never back
    assert set(line.letters) == set(range(len(text) + 1))
    assert (line.letters == len(text)).sum() == 1
    alone = [
        len(synthetic_handwriting.letter(STROKES[one], Hand())[0])
        for one in text
    ]
    plain = synthetic_handwriting.write(text, Hand(), rng).letters
    assert np.bincount(plain).tolist() == [*alone, 1]


def test_a_curve_goes_through_its_points():
    knots = np.array([[0.0, 0], [3, 4], [5, 1], [9, 9]])
    fine = synthetic_handwriting.through(knots)
    assert all(np.abs(fine - knot).sum(1).min() < 1e-12 for knot in knots)
    straight = synthetic_handwriting.through(knots[:2])
    assert straight.tolist() == knots[:2].tolist()


def test_a_walk_takes_even_steps_and_ends_at_the_ends():
    line = np.array([[0.0, 0], [0, 10], [0, 11]])
    assert synthetic_handwriting.walk(line, 2.5)[:, 1] == pytest.approx(
        [0, 2.75, 5.5, 8.25, 11]
    )
    assert len(synthetic_handwriting.walk(line, 100.0)) == 2


def test_the_hand_slants_sizes_and_drifts(rng):
    def shape(**how):
        points = synthetic_handwriting.write(
            "l", Hand(**how), np.random.default_rng(3)
        ).points
        return points[:-1, :2].cumsum(0)

    plain = shape()
    assert np.ptp(shape(size=2.0)[:, 1]) == pytest.approx(
        2 * np.ptp(plain[:, 1]), rel=0.05
    )
    slanted = shape(slant=0.5)
    assert slanted[:, 1] == pytest.approx(plain[:, 1])
    assert slanted[:, 0] == pytest.approx(plain[:, 0] + 0.5 * plain[:, 1])
    long = (
        synthetic_handwriting.write("mm mm", Hand(drift=0.1), rng)
        .points[:, :2]
        .sum(0)
    )
    assert long[1] == pytest.approx(0.1 * long[0], abs=0.5)
    assert len(shape(speed=2.0)) < len(plain)


def test_a_letter_that_is_not_there_is_named(rng):
    with pytest.raises(ValueError, match=r"\['A', '3'\]|\['3', 'A'\]"):
        synthetic_handwriting.write("A3b", Hand(), rng)


def test_lines_are_padded_and_their_signs_end(rng):
    made = synthetic_handwriting.lines(["a", "look back"], rng)
    assert made.mask.sum(1).tolist() == [
        int((made.points[i].abs().sum(-1) > 0).sum()) for i in range(2)
    ]
    assert made.text.sum((1, 2)).tolist() == [2, 10]
    assert (
        made.text[0, 1, synthetic_handwriting.END]
        == made.text[1, 9, synthetic_handwriting.END]
        == 1
    )
    assert torch.equal(made.text[1], synthetic_handwriting.signs("look back"))


def test_words_are_as_long_as_asked_and_end_in_a_letter(rng):
    for length in (1, 2, 8, 60):
        for _ in range(20):
            text = synthetic_handwriting.words(length, rng)
            assert len(text) == length
            assert text[0] != " " != text[-1] and "  " not in text
