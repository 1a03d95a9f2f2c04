"""The test by swapping: BLEU from counts, gaps from coins, and p."""

import math
import random

import pytest
import torch
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from lookback.lab import metrics
from lookback.significance import (
    bleu,
    caption_rows,
    factors,
    p_value,
    resampled_gaps,
    swapped_gaps,
)

WORDS = "a dog and two men walk in the red snow".split()


def made_up(seed: int, captions: int, kept: float) -> tuple[list, list]:
    """Translations that keep so much of their references, and those."""
    toss = random.Random(seed)
    references = [
        toss.choices(WORDS, k=toss.randint(4, 15)) for _ in range(captions)
    ]
    translations = [
        [w if toss.random() < kept else toss.choice(WORDS) for w in one]
        + toss.choices(WORDS, k=toss.randint(0, 2))
        for one in references
    ]
    return translations, references


def text(translations: list, references: list) -> str:
    """The counts as a record keeps them."""
    rows = metrics.counts(translations, references)
    return ", ".join(" ".join(map(str, row)) for row in rows)


def rows(seed: int, captions: int, kept: float) -> torch.Tensor:
    return caption_rows(text(*made_up(seed, captions, kept)))


def coins(seed: int, trials: int, captions: int) -> torch.Tensor:
    return torch.rand(trials, captions, generator=seeded(seed)) < 0.5


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kept", [0.5, 0.8, 1.0])
def test_bleu_is_that_of_sacrebleu(seed, kept):
    translations, references = made_up(seed, 40, kept)
    right = metrics.bleu(translations, references)["bleu"]
    mine = bleu(caption_rows(text(translations, references)).sum(0))
    assert mine.item() == pytest.approx(right, abs=1e-9)


def test_bleu_punishes_what_is_too_short():
    translations, references = made_up(0, 30, 0.9)
    short = [one[: max(4, len(one) - 3)] for one in translations]
    right = metrics.bleu(short, references)["bleu"]
    mine = bleu(caption_rows(text(short, references)).sum(0))
    assert mine.item() == pytest.approx(right, abs=1e-9)


@pytest.mark.parametrize(
    "one",
    ["4 3 2 0 5 5", "0 0 0 0 4 4", "3 2 1 0 3 3", "0 0 0 0 0 4"],
)
def test_bleu_without_a_common_run_is_0(one):
    assert bleu(caption_rows(one).sum(0)).item() == 0


def test_bleu_of_many_sums_at_once():
    both = torch.stack([rows(s, 20, 0.9).sum(0) for s in (0, 1)])
    assert bleu(both).tolist() == [bleu(one).item() for one in both]


def test_a_caption_has_nine_numbers():
    found = caption_rows("4 3 2 1 4 5,\n 1 0 0 0 2 3 ")
    assert found.tolist() == [
        [4, 3, 2, 1, 4, 3, 2, 1, 5],
        [1, 0, 0, 0, 2, 1, 0, 0, 3],
    ]


@pytest.mark.parametrize(
    "wrong", ["", "1 2 3", "1 2 3 4 5 6, 1", "a b c d e f"]
)
def test_what_is_not_six_numbers_is_refused(wrong):
    with pytest.raises(ValueError):
        caption_rows(wrong)


def slow_gaps(one, two, tosses) -> list[float]:
    """Really swap the rows, caption by caption."""
    found = []
    for toss in tosses.tolist():
        first, second = [], []
        for a, b, heads in zip(one, two, toss, strict=True):
            first.append(b if heads else a)
            second.append(a if heads else b)
        sums = torch.stack(first).sum(0), torch.stack(second).sum(0)
        found.append((bleu(sums[1]) - bleu(sums[0])).item())
    return found


def test_the_gaps_are_those_of_rows_that_change_places():
    one, two, tosses = rows(0, 25, 0.8), rows(1, 25, 0.7), coins(0, 40, 25)
    mine = swapped_gaps(one, two, tosses)
    assert mine.tolist() == pytest.approx(slow_gaps(one, two, tosses))


def test_all_tails_keep_the_gap_and_all_heads_turn_it():
    one, two = rows(0, 30, 0.8), rows(1, 30, 0.6)
    gap = (bleu(two.sum(0)) - bleu(one.sum(0))).item()
    both = torch.tensor([[False] * 30, [True] * 30])
    assert swapped_gaps(one, two, both).tolist() == pytest.approx([gap, -gap])


@pytest.mark.parametrize(
    ("gap", "gaps", "right"),
    [
        (1.0, [0.5, -0.9, 1.0, -1.0], 1 / 5),
        (-1.0, [1.1, -1.1, 0.0, 0.3], 3 / 5),
        (2.0, [], 1.0),
        (0.0, [0.0, 0.0, 0.0], 1.0),
        (0.0, [1.0, -1.0, 0.0], 1.0),
        (9.0, [0.0] * 999, 1 / 1000),
    ],
)
def test_p_counts_what_is_strictly_larger_and_the_gap_itself(gap, gaps, right):
    mine = p_value(torch.tensor(gap).double(), torch.tensor(gaps).double())
    assert mine == pytest.approx(right)


def test_p_is_about_that_of_sacrebleu(monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    first, references = made_up(0, 150, 0.80)
    toss = random.Random(1)
    second = [
        [w if toss.random() < 0.96 else toss.choice(WORDS) for w in one]
        for one in first
    ]
    one, two = (caption_rows(text(x, references)) for x in (first, second))
    gap = bleu(two.sum(0)) - bleu(one.sum(0))
    mine = p_value(gap, swapped_gaps(one, two, coins(0, 4000, 150)))
    test = PairedTest(
        [
            (name, [" ".join(words) for words in side])
            for name, side in (("first", first), ("second", second))
        ],
        {"BLEU": BLEU(tokenize="none", force=True)},
        [[" ".join(words) for words in references]],
        test_type="ar",
        n_samples=4000,
    )
    before, after = test()[1]["BLEU"]
    assert gap.item() == pytest.approx(after.score - before.score)
    assert mine == pytest.approx(after.p_value, abs=0.02)


def test_the_two_factors_are_sacrebleus_and_multiply_to_bleu():
    translations, references = made_up(0, 30, 0.9)
    short = [one[: max(4, len(one) - 3)] for one in translations]
    score = BLEU(tokenize="none", force=True).corpus_score(
        [" ".join(one) for one in short], [[" ".join(r) for r in references]]
    )
    precision, brevity = factors(caption_rows(text(short, references)).sum(0))
    assert brevity.item() == pytest.approx(score.bp, abs=1e-9) and score.bp < 1
    mean_log = sum(map(math.log, score.precisions)) / 4
    assert precision.item() == pytest.approx(math.exp(mean_log), abs=1e-9)
    assert factors(rows(1, 30, 1.0).sum(0))[1].item() == 1


def test_a_test_set_drawn_again_counts_each_caption_as_often_as_drawn():
    one, two = rows(0, 3, 0.9), rows(1, 3, 0.6)
    times = torch.tensor([[1, 1, 1], [2, 0, 1]])
    gaps = resampled_gaps(one, two, times)
    again = [0, 0, 2]
    right = [
        bleu(two.sum(0)) - bleu(one.sum(0)),
        bleu(two[again].sum(0)) - bleu(one[again].sum(0)),
    ]
    torch.testing.assert_close(gaps, torch.stack(right))
