"""What the last chapter says of its tables is what the records hold.

When the rungs are trained anew and this fails, the paragraphs below the
tables of book/ladder.md have to be written anew, and those in attention,
heads, feedforward, positions and residual that quote the ladder.
"""

import pytest
import torch

from lookback.lab import records
from lookback.ladder import RUNGS
from lookback.significance import bleu, caption_rows, p_value, swapped_gaps

LADDER = records.load("ladder")["results"]
ABLATION = records.load("ablation")["results"]
AFTER_THE_FALL = list(RUNGS)[list(RUNGS).index("words") + 1 :]
RECURRENT = ("rnnsearch", "dot")


def gain(name):
    return LADDER[name]["gain"]


def test_every_rung_is_there_with_the_one_that_it_changes():
    assert list(LADDER) == list(RUNGS)
    for name, row in LADDER.items():
        assert row.get("before") == RUNGS[name].before


@pytest.mark.parametrize("name", RUNGS)
def test_the_counts_are_those_of_the_score(name):
    row = LADDER[name]
    found = bleu(caption_rows(row["counts"]).sum(0))
    assert float(found) == pytest.approx(row["bleu"], abs=1e-6)


def test_the_first_half():
    assert gain("reversed") < 0 and LADDER["dot"]["p"] > 0.05
    assert max(LADDER, key=lambda n: LADDER[n].get("gain", 0)) == "diagonal"
    assert gain("diagonal") > 10 and gain("rnnsearch") > 5
    assert LADDER["diagonal"]["long"]["4"] > LADDER["rnnsearch"]["long"]["4"]


def test_five_steps_lose_one_of_them_less_than_the_test_sees():
    losing = [n for n, row in LADDER.items() if row.get("gain", 0) < 0]
    assert losing == [
        "reversed",
        "dot",
        "words",
        "self-attention",
        "feedforward",
    ]
    assert [n for n in losing if LADDER[n]["p"] > 0.05] == ["dot"]
    assert LADDER["dot"]["p"] > 0.5  # "more than half of the trials"


def test_what_else_differs_between_the_rungs():
    places = {}
    for name in ("rnnsearch", "transformer"):
        places[name] = []
        model = RUNGS[name].make(20, 20)
        for part in model.modules():
            if isinstance(part, torch.nn.Dropout):
                part.register_forward_hook(
                    lambda *_, name=name: places[name].append(1)
                )
        words = torch.randint(4, 20, (2, 5))
        model(words, words)
    assert len(places["rnnsearch"]) == 3
    assert len(places["transformer"]) == 17
    sizes = {}
    for name in ("positions", "feedforward", "residual"):
        torch.manual_seed(0)
        model = RUNGS[name].make(500, 20).eval()
        values = model.encode(torch.randint(4, 500, (32, 13))).values
        sizes[name] = values.square().mean().sqrt().item()
    assert sizes["positions"] > 10 * sizes["feedforward"]
    assert 0.9 < sizes["residual"] < 1.1


def test_the_second_half():
    assert gain("words") < -20 and gain("words") == min(
        row.get("gain", 0) for row in LADDER.values()
    )
    signs = {name: gain(name) > 0 for name in AFTER_THE_FALL}
    assert [n for n, up in signs.items() if not up] == [
        "self-attention",
        "feedforward",
    ]
    order = sorted(AFTER_THE_FALL, key=gain, reverse=True)
    assert order[:2] == ["positions", "residual"]
    assert LADDER["feedforward"]["bleu"] < LADDER["positions"]["bleu"]
    assert 0 < gain("transformer") < 2 and LADDER["transformer"]["p"] < 0.05
    half = gain("positions") / -gain("words")
    assert 0.4 < half < 0.6  # "about half of what went with the encoder"


def chance(first, second, captions=1000):
    """p of two rungs by their first so many captions."""
    one, two = (
        caption_rows(LADDER[name]["counts"])[:captions]
        for name in (first, second)
    )
    torch.manual_seed(0)
    coins = torch.rand(1000, captions) < 0.5
    gap = bleu(two.sum(0)) - bleu(one.sum(0))
    return p_value(gap, swapped_gaps(one, two, coins))


def test_the_top_is_level_with_the_place_of_the_fall():
    assert chance("rnnsearch", "transformer") > 0.05
    assert chance("dot", "transformer") > 0.05


def test_the_draw_is_of_better_words_and_too_few():
    one, two = (
        caption_rows(LADDER[name]["counts"])
        for name in ("rnnsearch", "transformer")
    )
    assert one[:, 4].sum() > two[:, 4].sum()
    torch.manual_seed(0)
    coins = torch.rand(1000, len(one)) < 0.5
    found = []
    for columns in ([0, 1, 2, 3, 4, 5, 6, 7, 4], [4, 5, 6, 7, 4, 5, 6, 7, 8]):
        a, b = one[:, columns], two[:, columns]
        gap = bleu(b.sum(0)) - bleu(a.sum(0))
        found.append((gap, p_value(gap, swapped_gaps(a, b, coins))))
    (precision, p_precision), (brevity, p_brevity) = found
    assert brevity < 0 < precision and max(p_precision, p_brevity) < 0.05


def test_a_thousand_captions_tell_what_a_hundred_cannot():
    assert chance("heads", "feedforward", 100) > 0.05
    assert chance("heads", "feedforward") < 0.05


@pytest.mark.parametrize("captions", ["2", "3", "4"])
def test_joined_captions(captions):
    scores = {name: row["long"][captions] for name, row in LADDER.items()}
    *others, last = AFTER_THE_FALL
    assert all(
        scores[name] < scores[recurrent]
        for name in ("words", *others)
        for recurrent in RECURRENT
    )
    assert scores["dot"] < scores[last] < scores["rnnsearch"]


def test_one_head_and_four():
    one, four = LADDER["self-attention"], LADDER["heads"]
    assert one["high"] < four["low"] < one["high"] + 0.5  # "just fail to touch"
    assert one["parameters"] == four["parameters"]
    without = LADDER["positions"]["bleu"]
    assert one["bleu"] < without < four["bleu"]  # "make good what one had cost"


def test_the_product_falls_behind_on_three_and_four_captions():
    added, product = (LADDER[name]["runs"][0]["long"] for name in RECURRENT)
    for captions in ("3", "4"):
        assert product[captions]["high"] < added[captions]["low"]
    assert product["2"]["bleu"] < added["2"]["low"] < product["2"]["high"]
    assert LADDER["dot"]["aer"] < LADDER["rnnsearch"]["aer"]


def test_the_feed_forward_rung():
    one, two = LADDER["heads"], LADDER["feedforward"]
    assert two["bleu"] < one["bleu"] and two["high"] > one["low"]


def test_the_alignment_errors():
    aer = {name: row["aer"] for name, row in LADDER.items()}
    diagonal = records.load("alignment")["results"]["aer_diagonal"]
    assert aer["positions"] < aer["self-attention"] < aer["heads"]
    assert min(aer["heads"], aer["feedforward"]) > diagonal > aer["residual"]


def test_the_loss_is_lowest_at_the_top():
    lost = {n: row["runs"][0]["curve"][9]["loss"] for n, row in LADDER.items()}
    assert min(lost, key=lost.get) == "transformer"


def test_the_speeds():
    rates = {n: row["tokens_per_second"] for n, row in LADDER.items()}
    trained = [row["train"] for row in rates.values()]
    assert max(trained) < 2 * min(trained)
    assert 0.9 < rates["transformer"]["train"] / rates["dot"]["train"] < 1.1
    slowest = min(rates, key=lambda n: rates[n]["decode"])
    assert slowest == "transformer"


def test_without_the_sum_or_the_norm_there_is_no_translator():
    for name in ("residual", "norm"):
        assert ABLATION[name]["greedy"]["bleu"] < 0.1
    assert len(ABLATION["norm"]["curve"]) == 2  # no number in the third
    assert ABLATION["norm"]["best_epoch"] == 1
    assert ABLATION["residual"]["best_epoch"] == 1
    curve = [each["loss"] for each in ABLATION["residual"]["curve"]]
    assert curve[4] > curve[0] + 3
    toy = records.load("depth")["results"]["by_depth"]
    assert toy["residual"]["4"]["mean"] > 0.9 > toy["post"]["4"]["mean"]


def test_another_seed_moves_the_score_by_less_than_half_a_point():
    gains = {name: abs(row["gain"]) for name, row in ABLATION.items()}
    most = max(gains["seed 1"], gains["seed 2"])
    assert 0 < most < 0.5
    assert min(ABLATION[f"seed {n}"]["gain"] for n in (1, 2)) > 0  # the lowest
    for name in ("heads", "feedforward", "smoothing"):
        assert 2 * most < gains[name] < 1.5  # "about one point"
    for name in ("depth", "tied"):
        assert gains[name] < most


def test_the_two_exchanges():
    full, pre = ABLATION["full"], ABLATION["pre-norm"]
    assert pre["gain"] > 4 and ABLATION["learned"]["gain"] < -2
    assert pre["curve"][0]["score"] > 2 * full["curve"][0]["score"]
    for name in ("warmup", "epochs"):
        assert pre["training"][name] == full["training"][name]


def test_the_rest_of_the_ablation():
    changes = {name: row["gain"] for name, row in ABLATION.items()}
    assert changes["feedforward"] > 0
    assert abs(changes["depth"]) < 0.5
    assert -2 < changes["heads"] < 0 < ABLATION["heads"]["p"] < 0.05
    assert gain("heads") > -changes["heads"]
    assert changes["positions"] < -8
    assert abs(changes["positions"] + gain("positions")) < 3


def test_without_the_division_the_looks_are_shut_and_the_source_blurs():
    assert ABLATION["scale"]["gain"] < -30
    full, bare = (ABLATION[n]["largest_weight"] for n in ("full", "scale"))
    assert max(full["untrained"].values()) < 0.4
    assert min(bare["untrained"].values()) > 0.7
    assert min(bare["trained"][side] for side in ("encoder", "decoder")) > 0.9
    assert 2 / 13 < 0.2 < bare["trained"]["cross"]  # far from even
    assert 2 * bare["trained"]["cross"] < full["trained"]["cross"]


def test_five_epochs_are_too_few_for_dropout_to_pay():
    assert ABLATION["dropout"]["gain"] > 5 > ABLATION["smoothing"]["gain"] > 0
    assert ABLATION["full"]["config"]["dropout"] == 0.2  # "a fifth"


def test_tying_is_free():
    loose, full = ABLATION["tied"], ABLATION["full"]
    assert loose["p"] > 0.05 and loose["parameters"] > full["parameters"]


def test_without_the_warm_up_the_look_at_the_source_points_half_as_much():
    cold, full = ABLATION["warmup"], ABLATION["full"]
    assert cold["gain"] < -30 and cold["training"]["warmup"] == 0
    first, second = (
        each["largest_weight"]["untrained"] for each in (cold, full)
    )
    assert first == second  # "with the same numbers"
    ends = [each["largest_weight"]["trained"]["cross"] for each in (cold, full)]
    assert 0.4 < ends[0] / ends[1] < 0.6
