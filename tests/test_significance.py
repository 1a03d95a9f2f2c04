"""Comparisons: BLEU from counts, the randomization test, the interval."""

import math
import random
from itertools import product

import pytest
import torch
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from lookback.lab import corpus, metrics
from lookback.lab.significance import (
    Deviation,
    bleu,
    bleu_deviation,
    bootstrap_differences,
    caption_rows,
    chrf,
    compare,
    compare_runs,
    joined_scores,
    p_value,
    paired_randomization_test,
    pooled_counts,
    pooled_deviation,
    precision_and_brevity,
    randomized_differences,
    scores,
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


def random_swaps(seed: int, trials: int, captions: int) -> torch.Tensor:
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


def slow_gaps(one, two, swaps) -> list[float]:
    """Really swap the rows, caption by caption."""
    found = []
    for trial in swaps.tolist():
        first, second = [], []
        for a, b, swapped in zip(one, two, trial, strict=True):
            first.append(b if swapped else a)
            second.append(a if swapped else b)
        sums = torch.stack(first).sum(0), torch.stack(second).sum(0)
        found.append((bleu(sums[1]) - bleu(sums[0])).item())
    return found


def test_the_gaps_are_those_of_rows_that_change_places():
    one, two = rows(0, 25, 0.8), rows(1, 25, 0.7)
    swaps = random_swaps(0, 40, 25)
    mine = randomized_differences(one, two, swaps)
    assert mine.tolist() == pytest.approx(slow_gaps(one, two, swaps))


def test_no_swap_keeps_the_gap_and_all_swaps_turn_it():
    one, two = rows(0, 30, 0.8), rows(1, 30, 0.6)
    gap = (bleu(two.sum(0)) - bleu(one.sum(0))).item()
    both = torch.tensor([[False] * 30, [True] * 30])
    assert randomized_differences(one, two, both).tolist() == pytest.approx(
        [gap, -gap]
    )


@pytest.mark.parametrize(
    ("gap", "gaps", "right"),
    [
        (1.0, [0.5, -0.9, 1.0, -1.0], 3 / 5),
        (-1.0, [1.1, -1.1, 0.0, 0.3], 3 / 5),
        (2.0, [], 1.0),
        (0.0, [0.0, 0.0, 0.0], 1.0),
        (0.0, [1.0, -1.0, 0.0], 1.0),
        (9.0, [0.0] * 999, 1 / 1000),
    ],
)
def test_p_counts_what_is_as_large_and_the_gap_itself(gap, gaps, right):
    mine = p_value(torch.tensor(gap).double(), torch.tensor(gaps).double())
    assert mine == pytest.approx(right)


def every_order(captions: int) -> torch.Tensor:
    orders = list(product((False, True), repeat=captions))
    return torch.tensor(orders)


@pytest.mark.parametrize("captions", [1, 3, 6])
def test_of_all_orders_two_at_least_are_as_large(captions):
    """The true one and its mirror image: never below 2 / 2ⁿ."""
    one, two = rows(0, captions, 1.0), rows(1, captions, 0.4)
    gap = bleu(two.sum(0)) - bleu(one.sum(0))
    gaps = randomized_differences(one, two, every_order(captions))
    p = p_value(gap, gaps, exact=True)
    assert p >= 2 / 2**captions and p * 2**captions % 2 == 0
    twice = (1 + p * 2**captions) / (1 + 2**captions)  # the true order
    assert p_value(gap, gaps) == pytest.approx(twice)


def test_an_exact_p_is_as_rare_as_it_says_and_a_strict_one_is_not():
    """Two equally good systems, three captions: what the page's cell does.

    A caption's difference is as often positive as negative, so 2/8 comes in
    one draw of four, and nothing below. The strict count with the true order
    once more, sacreBLEU's rule for random trials, would call that 1/9.
    """
    dice = seeded(0)
    gaps = torch.randn(20_000, 3, generator=dice, dtype=torch.float64)
    signs = 1 - 2 * every_order(3).double()
    chance, true = (gaps @ signs.T).abs(), gaps.sum(1).abs()[:, None]
    exact = (chance >= true - 1e-9).double().mean(1)
    strict = (1 + (chance > true + 1e-9).sum(1)) / 9
    assert exact.min() == 0.25
    for p in (0.25, 0.5, 0.75):
        assert (exact <= p).double().mean().item() == pytest.approx(p, abs=0.01)
    assert strict.min().item() == pytest.approx(1 / 9)
    below = (strict <= 1 / 9 + 1e-9).double().mean().item()
    assert below == pytest.approx(0.25, abs=0.01)


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
    mine = p_value(
        gap, randomized_differences(one, two, random_swaps(0, 4000, 150))
    )
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
    precision, brevity = precision_and_brevity(
        caption_rows(text(short, references)).sum(0)
    )
    assert brevity.item() == pytest.approx(score.bp, abs=1e-9) and score.bp < 1
    mean_log = sum(map(math.log, score.precisions)) / 4
    assert precision.item() == pytest.approx(math.exp(mean_log), abs=1e-9)
    assert precision_and_brevity(rows(1, 30, 1.0).sum(0))[1].item() == 1


def test_a_test_set_drawn_again_counts_each_caption_as_often_as_drawn():
    one, two = rows(0, 3, 0.9), rows(1, 3, 0.6)
    times = torch.tensor([[1, 1, 1], [2, 0, 1]])
    gaps = bootstrap_differences(one, two, times)
    again = [0, 0, 2]
    right = [
        bleu(two.sum(0)) - bleu(one.sum(0)),
        bleu(two[again].sum(0)) - bleu(one[again].sum(0)),
    ]
    torch.testing.assert_close(gaps, torch.stack(right))


def run_with(*counts):
    """A run that translated each caption of each test set like this."""
    said = {"counts": ", ".join(counts), "chrf": 50.0}
    each = {"loss": 1.0, "greedy": said, "beam": said}
    return {"tests": dict.fromkeys(corpus.TESTS, each)}


def test_the_seeds_deviation_is_pooled_over_the_systems():
    """√(Σ (n − 1) s² / Σ (n − 1)) of spreads that are known: 2, 5, none."""
    each = [[1.0, 3.0, 5.0], [0.0, 50**0.5], [7.0]]
    assert pooled_deviation(each) == pytest.approx(((33 / 3) ** 0.5, 3))
    with pytest.raises(ValueError, match="no rung has two seeds"):
        pooled_deviation([[7.0]])


def test_a_gain_is_held_against_the_deviation_of_its_two_systems():
    """If each has three seeds; else against that of all."""

    def runs(*scores):
        good, bad = "5 4 3 2 5 5", "4 2 1 1 5 5"
        return [run_with(*[good] * n, *[bad] * (20 - n)) for n in scores]

    steady = {"rnnsearch": runs(9, 10, 11), "diagonal": runs(5, 6, 7)}
    pair = "diagonal", "rnnsearch", "all"
    found = compare_runs(steady | {"dot": runs(1, 10, 19)}, *pair)
    assert found == compare_runs(steady, *pair)
    two = {"rnnsearch": steady["rnnsearch"], "dot": runs(1, 10)}
    pooled = compare_runs(two, "rnnsearch", "dot", "all")
    of_all = bleu_deviation(two, "all").value * (1 / 3 + 1 / 2) ** 0.5
    assert pooled["seeds"] == pytest.approx(of_all)


def test_a_comparison_has_a_test_and_an_interval():
    good, bad = "5 4 3 2 5 5", "4 2 1 1 5 5"
    worse = [caption_rows(", ".join([bad] * 10))] * 2
    better = [
        caption_rows(", ".join(each))
        for each in ([good] * 10, [good] * 9 + [bad])
    ]
    deviation = Deviation(2.0, freedom=8)
    found = compare(worse, better, deviation)
    means = [
        sum(bleu(each.sum(0)).item() for each in side) / 2
        for side in (worse, better)
    ]
    assert found["gain"] == pytest.approx(means[1] - means[0])
    assert found["gain"] > 30
    assert found["seeds"] == pytest.approx(2.0)  # 2 √(1/2 + 1/2)
    assert found["p"] < 0.01
    student = 2.306  # of the t tables: 97.5 % at eight degrees of freedom
    assert found["high"] - found["gain"] > student * 2.0  # captions on top
    same = compare(worse, worse, deviation)
    assert same["gain"] == 0 and same["p"] == 1
    assert same["high"] == pytest.approx(student * 2.0, rel=0.02)
    assert same["low"] == pytest.approx(-student * 2.0, rel=0.02)


def test_a_comparison_counts_every_seed_of_either():
    """Three of one and one of the other; and in whatever order."""
    good, bad = "5 4 3 2 5 5", "4 2 1 1 5 5"
    runs = [run_with(*[good] * n, *[bad] * (10 - n)) for n in (4, 2, 9)]
    runs = [pooled_counts(run, "all") for run in runs]
    rival = [pooled_counts(run_with(*[good] * 8, *[bad] * 2), "all")]
    deviation = Deviation(1.0, 8)
    found = compare(rival, runs, deviation)
    assert found == pytest.approx(compare(rival, runs[::-1], deviation))
    mean = sum(bleu(run.sum(0)).item() for run in runs) / 3
    mean -= bleu(rival[0].sum(0)).item()
    assert found["gain"] == pytest.approx(mean)
    assert (found["low"] + found["high"]) / 2 == pytest.approx(mean, abs=0.3)


def test_scores_have_precision_brevity_and_spread():
    short, long = "3 2 1 1 4 5", "4 3 2 1 5 5"
    runs = [run_with(*[short] * 4), run_with(*[long] * 4)]
    found = scores(runs, "all")
    assert 0 < found["spread"] < 100 and found["brevity"] < 1
    assert scores(runs[1:], "all")["brevity"] == 1
    assert scores(runs[1:], "all")["spread"] is None
    for run, counts in zip(runs, (short, long), strict=True):
        run["long"] = {"4": {"counts": counts, "stops": [3.0, 4.0]}}
        run["long"]["4"]["first"] = "un homme"
    joined = joined_scores(runs, 4)
    assert joined.pop("first") == ["un homme", "un homme"]
    assert (joined.pop("stops"), joined.pop("stops_wanted")) == (3, 4)
    level = scores(runs, "test_2016_flickr")
    assert joined.pop("each") == level["each"] and len(level.pop("each")) == 2
    assert level.pop("chrf") == 50
    assert joined == pytest.approx(level)


def test_chrf_of_all_captions_counts_each_of_them_once():
    """Sets of 1, 2 and 3 captions, with 10, 20 and 60."""
    tests = {}
    for n, (split, score) in enumerate(
        zip(corpus.TESTS, (10.0, 20.0, 60.0), strict=True), start=1
    ):
        said = {"counts": ", ".join(["4 3 2 1 5 5"] * n), "chrf": score}
        tests[split] = {"greedy": said | {"chrf": 0.0}, "beam": said}
    run = {"tests": tests}
    assert chrf(run, corpus.TESTS[1], "beam") == 20
    assert chrf(run, "all", "beam") == pytest.approx((10 + 40 + 180) / 6)
    twice = [run, {"tests": dict.fromkeys(tests, tests[corpus.TESTS[0]])}]
    assert scores(twice, "all", "beam")["chrf"] == pytest.approx(
        (230 / 6 + 10) / 2
    )


def test_a_difference_of_one_caption_is_no_evidence():
    """Swapped or not, it is as large: p is 1, and no rounding hides a tie."""
    for seed in range(10):
        one = rows(seed, 40, 0.7)
        two = one.clone()
        two[3] = rows(seed + 50, 40, 0.2)[3]
        assert paired_randomization_test([one], [two]) == 1
