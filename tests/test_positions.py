"""Positions: the codes, the rotation, and what a reader of order learns."""

import json
import math
from dataclasses import replace

import pytest
import torch

from lookback.attention import Attention, causal
from lookback.experiments import positions
from lookback.lab import records
from lookback.layers import Embedding
from lookback.positions import LearnedPositions, angles, rotate, sinusoidal

FINE = torch.float64


def test_the_codes_are_those_of_the_paper():
    code = sinusoidal(40, 16, dtype=FINE)
    for pos in range(40):
        for c in range(16):
            angle = pos / 10000 ** ((c - c % 2) / 16)
            right = math.cos(angle) if c % 2 else math.sin(angle)
            assert math.isclose(code[pos, c], right, abs_tol=1e-12)


def test_a_code_may_begin_anywhere_and_an_odd_width_is_refused():
    whole, part = sinusoidal(12, 6), sinusoidal(5, 6, start=7)
    torch.testing.assert_close(whole[7:], part)
    assert whole.dtype == torch.float32
    with pytest.raises(ValueError, match="d is 7"):
        sinusoidal(3, 7)


def test_the_mean_square_of_every_code_is_one_half():
    square = sinusoidal(5000, 512, dtype=FINE).square().mean(1)
    torch.testing.assert_close(square, torch.full_like(square, 0.5))


@pytest.mark.parametrize("k", [1, 7, 100])
def test_a_step_is_a_rotation_and_a_product_knows_the_distance_alone(k):
    code = sinusoidal(200, 64, dtype=FINE)
    turn = k * angles(2, 64, dtype=FINE)[1]
    blocks = torch.stack(
        [turn.cos(), turn.sin(), -turn.sin(), turn.cos()], -1
    ).reshape(-1, 2, 2)
    step = torch.block_diag(*blocks)
    torch.testing.assert_close(code[:-k] @ step.T, code[k:])
    products = (code[:-k] * code[k:]).sum(1)
    torch.testing.assert_close(products, turn.cos().sum().expand(len(products)))


def test_rotation_is_multiplication_by_a_complex_number():
    x = torch.randn(2, 3, 9, 8, dtype=FINE)
    turn = torch.polar(torch.ones(9, 4, dtype=FINE), angles(9, 8, dtype=FINE))
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    right = torch.view_as_real(pairs * turn).flatten(-2)
    torch.testing.assert_close(rotate(x), right)
    torch.testing.assert_close(rotate(x)[..., 4:, :], rotate(x[..., 4:, :], 4))
    torch.testing.assert_close(rotate(x).norm(dim=-1), x.norm(dim=-1))


def test_rotated_scores_depend_on_the_offset_alone():
    q, k = torch.randn(2, 1, 32, dtype=FINE)

    def score(m, n):
        return (rotate(q, m) @ rotate(k, n).T).item()

    assert math.isclose(score(3, 10), score(903, 910), rel_tol=1e-9)
    assert not math.isclose(score(3, 10), score(10, 3), rel_tol=1e-3)


def test_rotation_keeps_the_dtype_and_learned_positions_end():
    x = torch.randn(4, 8).bfloat16()
    assert rotate(x).dtype == torch.bfloat16
    learned = LearnedPositions(5, 4)
    torch.testing.assert_close(learned(2, start=3), learned.table[3:])
    with pytest.raises(ValueError, match="position 6 was never learned"):
        learned(2, start=4)


@pytest.mark.parametrize("seed", range(3))
def test_unmasked_attention_permutes_and_a_mask_ends_that(seed):
    torch.manual_seed(seed)
    first, second = (Attention(6, 6, 6).double() for _ in range(2))
    x, mixed = torch.randn(1, 5, 6, dtype=FINE), [1, 0, 3, 2, 4]
    with torch.no_grad():
        torch.testing.assert_close(first(x[:, mixed])[0], first(x)[0][:, mixed])
        a, b = (
            first(each, mask=causal(5)[None])[0] for each in (x, x[:, mixed])
        )
        torch.testing.assert_close(a[:, -1], b[:, -1])
        assert not torch.allclose(a[:, mixed], b)
        a, b = (second(each, mask=causal(5)[None])[0] for each in (a, b))
        assert not torch.allclose(a[:, -1], b[:, -1])


@pytest.mark.parametrize("name", positions.WAYS)
def test_the_task_has_one_answer_and_no_letter_twice(name):
    dice = torch.Generator().manual_seed(0)
    letters = positions.strings(7, 20, dice)
    assert letters.shape == (7, 21) and bool((letters[:, 0] == 1).all())
    assert all(len(set(row)) == 21 for row in letters.tolist())
    logits = positions.Reader(positions.WAYS[name])(letters, start=3)
    assert logits.shape == (7, 21, positions.FIRST + positions.LETTERS)


def test_the_summary_is_over_the_seeds():
    runs = [
        {"lengths": {"24": {"right": right, "far": 1 - right}}}
        for right in (0.25, 0.5, 0.75)
    ]
    way = positions.summary({"none": runs})["ways"]["none"]
    assert (way["low"]["24"], way["high"]["24"]) == (0.25, 0.75)
    assert way["right"]["24"] == way["far"]["24"] == 0.5


def test_the_experiment_writes_its_record(tmp_path, monkeypatch):
    ways = {
        "none": replace(positions.WAYS["none"], d_model=8),
        "rotary": replace(positions.WAYS["rotary"], d_model=8),
    }
    for name, value in (
        ("STEPS", 3),
        ("TESTS", 5),
        ("SEEDS", 2),
        ("LENGTHS", (4, 24)),
        ("WAYS", ways),
    ):
        monkeypatch.setattr(positions, name, value)
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    monkeypatch.chdir(tmp_path)
    positions.main([])
    found = json.loads((tmp_path / "positions.json").read_text())["results"]
    assert set(found["ways"]) == set(ways)
    for way in found["ways"].values():
        assert set(way["right"]) == {"4", "24"} and set(way["far"]) == {"24"}
        assert all(0 <= x <= 1 for x in way["right"].values())
        assert way["low"]["4"] <= way["right"]["4"] <= way["high"]["4"]
        assert len(way["runs"]) == 2
    monkeypatch.setattr(positions, "train", None)  # all runs are kept
    positions.main([])
    again = json.loads((tmp_path / "positions.json").read_text())["results"]
    assert again == found


def test_a_model_in_doubles_adds_waves_in_doubles():
    """Else a GPU's and a CPU's would differ by the rounding of floats."""
    tokens = torch.tensor([[4, 4, 4]])
    embedding = Embedding(9, 16).double()
    word = embedding.words(tokens) * 4  # √16
    waves = sinusoidal(3, 16, dtype=FINE)
    assert (embedding(tokens) - word).dtype == FINE
    assert torch.allclose(embedding(tokens) - word, waves, rtol=0, atol=1e-14)
    assert embedding.half()(tokens).dtype == torch.float16  # added finely
