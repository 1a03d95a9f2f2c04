"""What the chapter on the ladder says of its tables is what the records hold.

When the rungs are trained anew and this fails, the paragraphs of
book/ladder.md have to be written anew, and those of other pages that quote it.
"""

from dataclasses import replace
from itertools import pairwise, product
from statistics import mean

import pytest
import torch
from saying import said

from lookback.experiments import alignment
from lookback.experiments.ablation import REMOVALS
from lookback.experiments.tuned_baselines import FAMILIES, STAGES, best_of
from lookback.lab import corpus, records
from lookback.lab.significance import (
    bleu,
    caption_rows,
    compare,
    compare_runs,
    cross_entropy,
    p_value,
    pooled_counts,
    pooled_deviation,
    randomized_differences,
)
from lookback.ladder import RUNGS, Parts, Recurrent, differences, draw, way_to
from lookback.widgets import Swaps

FOUND = records.load("ladder")["results"]
BEST = records.load("tuned_baselines")["results"]
GROWTH = records.load("growth")["results"]
REMOVAL = records.load("ablation")["results"]
PATH = way_to("transformer")


def score(name, kind="bleu"):
    return FOUND[name]["tests"]["all"][kind]


def step(name, split="all"):
    return FOUND[name]["tests"][split]["step"]


def gains(name):
    """Whether it gains, by both rulers and in the mean of every test set."""
    one = step(name)
    alike = all(step(name, split)["gain"] > 0 for split in corpus.TESTS)
    return one["low"] > 0 and one["p"] < 0.05 and alike


def test_every_rung_is_there_with_the_one_that_it_changes():
    said("ladder", "lie fifteen changes")
    assert len(PATH) == 1 + 15
    for name in PATH:
        assert FOUND[name]["runs"]
        assert ("step" in FOUND[name]["tests"]["all"]) == (name != PATH[0])


@pytest.mark.parametrize("name", PATH)
def test_the_counts_are_those_of_the_score(name):
    said("ladder", "to BLEU a caption is nine numbers")
    for run, found in zip(
        FOUND[name]["runs"], score(name, "each"), strict=True
    ):
        mine = bleu(pooled_counts(run, "all").sum(0))
        assert float(mine) == pytest.approx(found, abs=1e-6)


def test_all_rungs_have_one_precision_width_and_budget():
    runs = [
        run for name in RUNGS for run in FOUND.get(name, {"runs": []})["runs"]
    ]
    for key in ("precision", "training"):
        kinds = [
            {k: v for k, v in run[key].items() if k != "seed"}
            if key == "training"
            else run[key]
            for run in runs
        ]
        said("ladder", "read the same 29,000 captions … times")
        assert all(kind == kinds[0] for kind in kinds)
    said("ladder", "compute with 32-bit numbers")
    assert runs[0]["precision"] == "fp32"


def test_the_climb_of_2014():
    said("ladder", "A second reader, from right to left, brings")
    said("ladder", 'It "sort of worked"')
    assert all(gains(name) for name in ("two-way", "diagonal", "rnnsearch"))
    part = score("diagonal") - score("fixed")
    whole = score("rnnsearch") - score("fixed")
    said(
        "ladder",
        "more than half of what separates the fixed vector from RNNsearch",
    )
    assert 0.5 < part / whole < 0.7
    dot = step("dot")
    said("ladder", "No verdict ($p$ = …, … to …)")
    said("ladder", "unlikely to cost a whole point")
    assert dot["p"] > 0.05 and -1 < dot["low"] < 0 < dot["high"]
    said("scores", "no significant difference")
    said("scores", "hardly costs a whole point")
    beam = FOUND["dot"]["tests"]["all"]["beam"]["step"]
    assert -1 < beam["low"] < 0 < beam["high"]


def test_the_fall():
    said("positions", "Order is worth a great deal")
    assert step("words")["high"] < -15
    said("ladder", "about what the fixed vector with two readers had")
    assert abs(score("words") - score("two-way")) < 1


def chance(first, second, captions=1000):
    """p of two rungs in the widget, by its own coins, a thousand times."""
    counts = [
        FOUND[name]["runs"][0]["tests"]["test_2016_flickr"]["greedy"]["counts"]
        for name in (first, second)
    ]
    (one, two), gaps = Swaps([first, second], counts, size=captions).gaps(1000)
    return p_value(two - one, gaps)


def test_what_the_coins_of_the_widget_say():
    said("ladder", "More than four in ten trials beat the gap")
    assert 0.4 < chance("rnnsearch", "dot") < 0.5
    said("ladder", "in about three trials of a hundred")
    said("ladder", "The first 300 captions alone")
    assert 0.02 < chance("rnnsearch", "dot", 300) < 0.035
    assert chance("positions", "transformer") < 0.002
    said("ladder", "in six or seven trials of a hundred")
    assert 0.06 < chance("heads", "feedforward", 100) < 0.07
    said("ladder", "on a thousand, never")
    assert chance("heads", "feedforward") < 0.002


def test_a_layer_drawn_by_torch_whispers():
    """As the first cell has it."""
    torch.manual_seed(0)
    sentences = torch.randint(4, 3000, (64, 13))
    loud = {}
    for name in ("positions", "self-attention", "feedforward", "sum", "norm"):
        sizes = {"source_vocab": 3000, "target_vocab": 3000}
        for how in (lambda model: model, draw):
            torch.manual_seed(0)
            model = how(Recurrent(replace(RUNGS[name].parts, **sizes))).eval()
            handed = model.encode(sentences).values
            loud.setdefault(name, []).append(handed.square().mean().sqrt())
    whisper, spoken = zip(*loud.values(), strict=True)
    said("ladder", "feed-forward is twenty times quieter than positions")
    assert 15 < whisper[0] / whisper[2] < 25
    said("ladder", "the next step makes it loud at once")
    assert min(whisper[3:]) > 0.9
    said("ladder", "differ by a factor of four at most")
    assert max(spoken) < 4 * min(spoken)
    said("ladder", "Here it is a third as loud")
    assert 0.3 < spoken[2] / spoken[0] < 0.4


def compared(ones, twos):
    """As the page's `compare`: gap and p of precision and of brevity, and
    their intervals where there are seeds."""
    torch.manual_seed(0)
    swaps = (torch.rand(10_000, len(ones[0])) < 0.5).double()
    found = []
    for columns in ([0, 1, 2, 3, 4, 5, 6, 7, 4], [4, 5, 6, 7, 4, 5, 6, 7, 8]):
        a, b = ([table[:, columns] for table in side] for side in (ones, twos))
        one, two = (
            torch.stack([bleu(x.sum(0)) for x in side]) for side in (a, b)
        )
        randomized = [
            randomized_differences(x, y, swaps) for x, y in product(a, b)
        ]
        gap = two.mean() - one.mean()
        found.append((gap, p_value(gap, torch.stack(randomized).mean(0))))
        if len(a) > 1:
            deviation = pooled_deviation([one.tolist(), two.tolist()])
            both = compare(a, b, deviation)
            assert both["gain"] == pytest.approx(gap.item())
            said("ladder", "neither do the intervals")
            assert both["low"] * both["high"] > 0
    return found


@pytest.mark.nightly
def test_two_pairs_are_level_and_their_factors_are_not():
    wide = records.load("search")["results"]
    whole = [
        [caption_rows(wide[name]["runs"][0]["counts"])]
        for name in ("rnnsearch", "transformer")
    ]
    ours = [
        [pooled_counts(run, "all") for run in FOUND[name]["runs"]]
        for name in ("diagonal", "positions")
    ]
    for (ones, twos), sign in ((whole, 1), (ours, -1)):
        (precision, p_precision), (brevity, p_brevity) = compared(ones, twos)
        said("ladder", "the two factors pull against each other")
        assert sign * precision > 0 > sign * brevity
        said("ladder", "call none of the four differences luck")
        assert max(p_precision, p_brevity) < 0.05
        level = [
            torch.stack([bleu(x.sum(0)) for x in side]).mean()
            for side in (ones, twos)
        ]
        said("ladder", "for two pairs that came out level")
        assert abs(level[1] - level[0]) < 0.3


def test_what_cross_entropy_says_otherwise():
    loss = {name: score(name, "loss") for name in PATH}
    said("ladder", "is far ahead of it by cross-entropy")
    assert loss["positions"] < loss["diagonal"] - 0.1
    said("ladder", "has the lowest number of all")
    assert min(loss, key=loss.get) == "linear"
    said("ladder", "lower than each of RNNsearch's seeds")
    for rival in ("rnnsearch", "dot"):
        runs = FOUND[rival]["runs"]
        assert loss["linear"] < min(cross_entropy(run, "all") for run in runs)
    said("ladder", "yet by BLEU its gap to RNNsearch is")
    assert score("linear") < score("rnnsearch")
    each = [cross_entropy(run, "all") for run in FOUND["rnnsearch"]["runs"]]
    said("ladder", "they span two hundredths")
    assert max(each) - min(each) < 0.025
    order = sorted(PATH, key=loss.get)
    said("ladder", "At the lower end the two orders nearly agree")
    assert {*order[-2:]} == {"fixed", "two-way"}


def test_these_machines_write_too_little():
    found = records.load("brevity")["results"]
    for ways in found.values():
        beam, greedy = (ways[way]["length"] for way in ("beam", "greedy"))
        said("ladder", "why do these machines write too little")
        said("ladder", "In greedy writing, which never forms a product")
        assert beam < greedy < 1
        said("ladder", "drawn captions are far worse")
        assert ways["unsmoothed"]["bleu"] < ways["greedy"]["bleu"] - 9
    greedy, unsmoothed = (
        found["tuned-en-fr"][way]["length"] for way in ("greedy", "unsmoothed")
    )
    said(
        "ladder",
        "more than half of what it lacks is due to taking the likeliest",
    )
    assert 0.5 < (unsmoothed - greedy) / (1 - greedy) < 0.65
    beam, square = (found["tuned-en-fr"][way] for way in ("beam", "powers"))
    assert square["2.0"]["length"] > 1 > beam["length"]
    said("ladder", "length alone does not help")
    assert all(each["bleu"] < beam["bleu"] + 0.05 for each in square.values())
    greedy, unsmoothed = (
        found["tuned-rnnsearch"][way] for way in ("greedy", "unsmoothed")
    )
    lacks = found["tuned-en-fr"]["greedy"]["length"]
    assert lacks < greedy["length"] < unsmoothed["length"] < 1
    won = unsmoothed["length"] - greedy["length"]
    said("ladder", "The tuned RNNsearch, which lacks less, wins back even more")
    assert won / (1 - greedy["length"]) > 0.65


def loses(name):
    """Whether it loses, by both rulers and in the mean of every test set."""
    one = step(name)
    alike = all(step(name, split)["gain"] < 0 for split in corpus.TESTS)
    return one["high"] < 0 and one["p"] < 0.05 and alike


def test_the_way_back():
    said("ladder", "positions, heads, sum and norm are of use")
    assert gains("positions") and gains("heads") and gains("sum")
    said("ladder", "adding self-attention or the feed-forward layer lose")
    assert loses("self-attention") and loses("feedforward")
    said("ladder", "more than half of the fall is made good")
    assert 0.5 < step("positions")["gain"] / -step("words")["gain"] < 0.6
    said("ladder", "that of the diagonal again")
    assert abs(score("positions") - score("diagonal")) < 0.5
    said("ladder", "After three famous parts the score is")
    assert score("feedforward") < score("positions") - 5
    said("ladder", "The same three parts end above the bare words now")
    assert score("positions") + 2 < score("sum")
    said("ladder", "three points in place of more than eight")
    assert step("sum")["gain"] > 8 and gains("norm")
    beam = FOUND["norm"]["tests"]["all"]["beam"]["step"]
    said("ladder", "(… to …) in greedy writing; with a beam")
    assert beam["p"] > 0.05 and beam["low"] < 0 < beam["high"]


def test_the_three_famous_parts_cost_without_the_sum_and_pay_with_it():
    said("ladder", "with the sum around them … (… to …)")
    said("ladder", "So the sum did it")
    without, within = (
        FOUND[name]["tests"]["all"]["over_positions"]
        for name in ("feedforward", "sum")
    )
    assert without["high"] < 0 < within["low"]
    assert max(without["p"], within["p"]) < 0.05


def test_most_of_what_the_sum_brought_was_a_way_around_the_dropout():
    names = ("positions", "self-attention", "heads", "feedforward", "sum")
    bare = {name: FOUND[f"{name}, dropout 0.0"]["runs"][0] for name in names}
    given = {name: FOUND[name]["runs"][0] for name in names}
    for name, run in bare.items():
        assert run["config"] == given[name]["config"] | {"dropout": 0.0}
        assert run["training"] == given[name]["training"]
    one, two = (
        [run["val"]["bleu"] for run in runs.values()] for runs in (given, bare)
    )
    seeds = [
        [run["val"]["bleu"] for run in FOUND[name]["runs"]]
        for name in RUNGS
        if name in FOUND
    ]
    error = pooled_deviation(seeds).value * 2**0.5  # of a step
    said("ladder", "the error of such a change is less than one")
    assert 2**0.5 * error < 1
    said("ladder", "the three famous parts that had cost six points")
    assert one[4] - one[3] > 8 and -6.5 < one[3] - one[0] < -5.5
    steps = [[b - a for a, b in pairwise(side)] for side in (one, two)]
    said("ladder", "each step changes by more than three points")
    assert all(abs(a - b) > 3 for a, b in zip(*steps, strict=True))
    look, heads, feed, total = steps[1]
    said("ladder", "Attention moves the score by little")
    assert 0 < look < 2 * error and -2 * error < heads < 0
    said(
        "ladder",
        "the feed-forward layer brings two points, and the sum less than one",
    )
    said(
        "ladder", "only the feed-forward layer's is larger than twice the error"
    )
    assert 2 * error < feed < 2.5 and 0 < total < min(1, 2 * error)
    spared = {
        name: FOUND[f"{name}, dropout 0.0 in parts"]["runs"][0]
        for name in ("feedforward", "sum")
    }
    for name, run in spared.items():
        config = given[name]["config"] | {"part_dropout": 0.0}
        assert run["config"] == config
        assert run["training"] == given[name]["training"]
    feed, total = (run["val"]["bleu"] for run in spared.values())
    said("ladder", "It was the dropout behind them")
    assert abs(feed - one[0]) < error < 5 < feed - one[3]
    said("ladder", "the best here")
    assert total > max(*one, *two, feed)
    said("ladder", "three points in place of more than eight")
    assert 2 * error < total - feed < 3.5


def test_the_last_gru():
    said("ladder", "no verdict, and none with a beam")
    assert step("depth")["low"] < 0 < step("depth")["high"]
    beam = FOUND["depth"]["tests"]["all"]["beam"]["step"]
    assert beam["low"] < 0 < beam["high"]
    one, three = (FOUND[n]["runs"][0]["config"] for n in ("norm", "depth"))
    said("ladder", "Three layers in place of one")
    assert (one["layers"], three["layers"]) == (1, 3)
    greedy, beam = step("decoder"), FOUND["decoder"]["tests"]["all"]["beam"]
    said("ladder", "replace the recurrent decoder, too: … (… to …), no verdict")
    assert greedy["p"] > 0.05 and greedy["low"] < 0 < greedy["high"]
    said("ladder", "With a beam of 5 the coins call it a loss")
    assert beam["step"]["gain"] < 0 and beam["step"]["p"] < 0.05
    said("ladder", "but the interval holds 0")
    assert beam["step"]["low"] < 0 < beam["step"]["high"]
    said("ladder", "One matrix in place of the maxout of 2014")
    assert gains("linear")
    tie = FOUND["transformer"]["tests"]["all"]
    said("ladder", "Greedily there is no verdict")
    assert tie["step"]["low"] < 0 < tie["step"]["high"]
    said("ladder", "with a beam it is only just a loss")
    assert -1 < tie["beam"]["step"]["gain"] < tie["beam"]["step"]["high"] < 0
    loose, tied = (
        FOUND[n]["runs"][0]["parameters"] for n in ("linear", "transformer")
    )
    said("ladder", "saves 15 % of the parameters")
    assert round(1 - tied / loose, 2) == 0.15
    tests = FOUND["transformer"]["tests"]
    said("ladder", "the machine of 2017 writes worse than that of 2014")
    for place in (tests["all"], tests["all"]["beam"]):
        over = place["over_rnnsearch"]
        assert over["high"] < 0 and over["p"] < 0.05
    said("ladder", "all three test sets point the same way")
    for split in corpus.TESTS:
        for place in (tests[split], tests[split]["beam"]):
            assert place["over_rnnsearch"]["gain"] < 0


def test_the_order_of_the_steps():
    order = sorted(PATH[1:], key=lambda name: step(name)["gain"])
    said("ladder", "Positions, the diagonal and the sum gain most")
    assert order[-3:] == ["sum", "diagonal", "positions"]
    losing = [name for name in PATH[1:] if step(name)["high"] < 0]
    said(
        "ladder",
        "adding self-attention or the feed-forward layer lose",
    )
    assert losing == ["words", "self-attention", "feedforward"]
    unsure = [n for n in PATH[1:] if step(n)["low"] < 0 < step(n)["high"]]
    said("ladder", "a hollow dot is a step whose interval holds 0")
    assert unsure == ["dot", "depth", "decoder", "transformer"]


def test_writing_is_what_the_layers_cost():
    speeds = records.load("speed")["results"]["rungs"]
    assert list(speeds) == PATH
    said("ladder", "and the three layers that replace the GRU")
    assert speeds["depth"]["decode"] > 2 * speeds["decoder"]["decode"]


def test_every_rung_has_three_seeds_and_one_run_in_six_is_a_gpu_s():
    runs = [FOUND[name]["runs"] for name in PATH]
    said("ladder", "every rung was trained from three seeds")
    assert all(len(each) == 3 for each in runs)
    on_gpu = [
        run.get("device", "CPU").startswith("NVIDIA") for r in runs for run in r
    ]
    said("ladder", "One run in six was computed on a GPU")
    assert 6 * sum(on_gpu) == len(on_gpu)


def test_four_captions_joined():
    search, diagonal = (
        FOUND[n]["long"]["4"]["bleu"] for n in ("rnnsearch", "diagonal")
    )
    said(
        "ladder", "the diagonal, which never chooses, goes as far as RNNsearch"
    )
    assert search < diagonal < search + 2
    said(
        "ladder", "Single captions teach no machine to go on after a full stop"
    )
    for name in PATH:
        row = FOUND[name]["long"]["4"]
        assert row["stops"] < 1.2 and row["stops_wanted"] > 3.5


def test_what_other_chapters_say_of_the_way_back():
    one, four = step("self-attention")["gain"], step("heads")["gain"]
    said("heads", "about two fifths of what one had cost")
    assert 0.37 < four / -one < 0.43
    sizes = [
        FOUND[n]["runs"][0]["parameters"] for n in ("self-attention", "heads")
    ]
    said("heads", "Both have … parameters")
    assert sizes[0] == sizes[1]
    said("scores", "proportion of what it writes is right")
    said("scores", "for two, three and four captions its best seed is below")
    for count in ("2", "3", "4"):
        added, product = (FOUND[n]["long"][count] for n in ("rnnsearch", "dot"))
        assert max(product["each"]) < min(added["each"])
        assert product["precision"] > added["precision"]
        assert product["brevity"] < added["brevity"] - 0.05
    said("scores", "Neither continues after its first sentence")
    for count in ("2", "3", "4"):
        for name in ("rnnsearch", "dot"):
            assert 0.9 < FOUND[name]["long"][count]["stops"] < 1
    said("scores", "nearly as wide as the gap between the means")
    each = FOUND["dot"]["long"]["2"]["each"]
    assert (each.index(min(each)), each.index(max(each))) == (2, 1)
    gap = FOUND["rnnsearch"]["long"]["2"]["bleu"] - mean(each)
    assert 0.9 * gap < max(each) - min(each) < gap


def test_the_product_s_alignments_are_not_the_worse_ones():
    found = records.load("alignment")["results"]
    product, added = (
        [run["aer"] for run in found[name]["runs"]]
        for name in ("dot", "additive")
    )
    said("scores", "Does the product align words worse? Not with")
    said("scores", "Every seed of the product is below every seed of")
    assert len(product) == len(added) == 3 and max(product) < min(added)
    said("scores", "at half the width")
    for name, rung in (("dot", "dot"), ("additive", "rnnsearch")):
        small = Parts(**found[name]["runs"][0]["config"])
        made = alignment.rung(rung)(small.source_vocab, small.target_vocab)
        assert made.config == small
        changed = differences(RUNGS[rung].parts, small)
        assert set(changed) == {"source_vocab", "target_vocab", "width"}
        assert changed["width"] == (128, 64)


def away(name, kind="greedy"):
    """What the best Transformer's score changes by without a part."""
    place = REMOVAL[name]["tests"]["all"]
    return (place if kind == "greedy" else place[kind])["change"]


def test_every_part_was_taken_away_alone():
    whole = BEST[BEST["transformer"]["trial"]]["runs"]
    said("ladder", "which had time for five of the Transformer's")
    assert len(whole) == 5 and {*REMOVAL} == {*REMOVALS}
    said("ladder", "is trained anew with one part gone and all else as it was")
    said("ladder", "less than a point and a half comes from three runs")
    said("ladder", "By the coins alone each change there has a")
    for name, removal in REMOVAL.items():
        for seed, run in enumerate(removal["runs"]):
            assert run["seed"] == seed
            model, loop = (dict(each) for each in REMOVALS[name])
            slower = loop.pop("slower", 1)
            rate = whole[0]["training"]["learning_rate"] / slower
            loop |= {"learning_rate": rate, "seed": seed}
            assert run["training"] == whole[0]["training"] | loop, name
            if "config" in run:
                assert run["config"] == whole[0]["config"] | model, name
        fields = {*REMOVALS[name][0], *REMOVALS[name][1]} - {"slower"}
        two = ("no dropout", "one layer", "7 layers")
        assert len(fields) == (2 if name.endswith(two) else 1), name
        if "tests" in removal:
            level = BEST["transformer"]["tests"]["all"]["bleu"]
            gain = removal["tests"]["all"]["bleu"] - level
            assert away(name)["gain"] == pytest.approx(gain)
            assert len(removal["runs"]) >= 3 or abs(gain) > 1.5, name
            assert away(name)["p"] < 0.001, name


def test_what_is_missing_without_a_part():
    missed = ("positions", "dropout", "depth", "feedforward", "heads")
    said("ladder", "what does the finished machine lose without one part")
    for name in (*missed, "smoothing"):
        for kind in ("greedy", "beam"):
            assert away(name, kind)["high"] < 0, name
            assert away(name, kind)["p"] < 0.001
    said("ladder", "from being too sure, brings less")
    assert away("dropout")["gain"] < away("smoothing")["gain"]
    learned = away("positions, learned")
    said(
        "ladder",
        "which knows how far the three runs lie apart, does not: no verdict",
    )
    assert learned["low"] < 0 < learned["high"]
    said("ladder", "The coins call that a gain")
    assert learned["gain"] > 0
    said(
        "ladder",
        "The feed-forward layer had cost points, and at the top it is missed",
    )
    assert step("feedforward")["high"] < 0
    said("ladder", "positions, heads, sum and norm are of use")
    for name in ("positions", "heads", "sum", "norm"):
        assert step(name)["low"] > 0, name
    said("ladder", "there was no verdict on them")
    assert step("depth")["low"] < 0 < step("depth")["high"]
    sizes = {
        name: REMOVAL[name]["runs"][0]["parameters"]
        for name in ("depth", "feedforward", "feedforward, 7 layers")
    }
    full = REMOVAL["smoothing"]["runs"][0]["parameters"]
    said("ladder", "with less than three fifths of the weights")
    assert sizes["depth"] < 0.6 * full
    said("ladder", "its weights, which are more than a third of the total")
    assert sizes["feedforward"] < 2 / 3 * full
    said("ladder", "have as many as the whole has")
    assert sizes["feedforward, 7 layers"] == pytest.approx(full, rel=0.01)
    most = away("feedforward, 7 layers")
    said("ladder", "come no nearer to it")
    assert most["gain"] < away("feedforward")["gain"] and most["high"] < 0


def test_without_its_sums_the_best_transformer_cannot_translate():
    without = "residual, one layer"
    said(
        "ladder",
        "not at a quarter of it, and not with the dropout gone as well",
    )
    for way in ("", ", slowly", ", no dropout"):
        assert REMOVAL[f"residual{way}"]["tests"]["all"]["bleu"] < 0.05
    [slow] = REMOVAL["residual, slowly"]["runs"]
    words = slow["tests"]["test_2016_flickr"]["greedy"]["first"].split()
    said("ladder", "says homme homme homme until it is stopped")
    assert {*words} == {"homme"} and len(words) > 20
    # with one layer the sums are worth points, by both rulers
    shallow = {name: REMOVAL[name]["runs"] for name in ("depth", without)}
    said("ladder", "With one layer the sums are worth points")
    for kind in ("greedy", "beam"):
        found = compare_runs(shallow, "depth", without, "all", kind)
        assert found["high"] < -5 and found["p"] < 0.001
    [one] = REMOVAL[without]["runs"]
    assert one["config"]["layers"] == 1 and not one["config"]["residual"]
    first = one["tests"]["test_2016_flickr"]["greedy"]["first"]
    said("ladder", "un homme avec un chapeau orange regarde quelque chose")
    assert first == "un homme avec un chapeau orange regarde quelque chose ."
    # on the ladder a machine of one layer could translate without the sum
    said("ladder", "On the ladder, where the encoder had one layer")
    assert score("feedforward") > 30 and step("sum")["gain"] > 8
    assert FOUND["feedforward"]["runs"][0]["config"]["layers"] == 1
    toy = records.load("depth")["results"]["by_depth"]
    said("ladder", "as in the toy of residual")
    said("residual", "cannot do without the sum at four layers")
    assert max(toy[name]["4"]["mean"] for name in ("none", "norm")) < 0.3


def beside(name, kind="greedy"):
    """Its change from the whole at the same, lower rate."""
    place = REMOVAL[name]["tests"]["all"]
    return (place if kind == "greedy" else place[kind])["beside"]


def test_two_parts_buy_a_rate_and_the_factor_more():
    slow = BEST["transformer, rate 2e-3"]["runs"]
    level = bleu(pooled_counts(slow[0], "all").sum(0)).item()
    for name in ("norm, behind, slowly", "warmup, slowly", "scale, slowly"):
        for run in REMOVAL[name]["runs"]:
            rate = slow[0]["training"]["learning_rate"]
            assert run["training"]["learning_rate"] == rate
        assert beside(name)["bleu"] == pytest.approx(level)
    said("ladder", "where the score collapses it is tried again at a quarter")
    for name in ("norm, behind", "warmup", "scale"):
        assert away(name)["high"] < -20  # at the whole's rate
    said(
        "ladder", "between these and the whole at that rate there is no verdict"
    )
    said("ladder", "a point and a half could still hide")
    for name in ("norm, behind, slowly", "warmup, slowly"):
        change = beside(name)["change"]
        assert -1.6 < change["low"] < 0 < change["high"] and change["p"] > 0.2
    said("ladder", "What the factor itself is worth at that rate")
    for kind in ("greedy", "beam"):
        change = beside("scale, slowly", kind)["change"]
        assert change["high"] < -3 and change["p"] < 0.001
    said("scores", "some five points less than with the division")
    said("scores", "the single run fails", "two runs reach")
    runs = records.load("ablation")["results"]
    assert len(runs["scale"]["runs"]) == 1
    assert len(runs["scale, slowly"]["runs"]) == 2
    assert -5.5 < beside("scale, slowly")["change"]["gain"] < -4.5
    gain = BEST["transformer"]["tests"]["all"]["bleu"] - level
    said("ladder", "seems to be the higher rate. (It takes the whole from")
    assert 1.4 < gain < 1.7


def test_without_dropout_the_captions_are_learned_by_heart():
    [run] = REMOVAL["dropout"]["runs"]
    curve = run["curve"]
    later = curve[run["best_epoch"] - 1 :]
    assert len(curve) == 24 and len(later) > 10
    said("ladder", "rises from then on")
    assert [each["loss"] for each in later] == sorted(
        each["loss"] for each in later
    )
    falling = [each["train_loss"] for each in curve]
    said("ladder", "while the training loss keeps falling")
    assert falling == sorted(falling, reverse=True)


def test_without_its_norms_the_best_transformer_becomes_no_number():
    [run] = REMOVAL["norm"]["runs"]
    said("ladder", "the weights become NaN (not a number) in the first round")
    assert run["diverged"] and "tests" not in REMOVAL["norm"]
    [slow] = REMOVAL["norm, slowly"]["runs"]
    said("ladder", "at a quarter of the rate in the fourth")
    assert len(slow["curve"]) == 3 and slow["config"]["norm"] == "none"
    assert "tests" not in REMOVAL["norm, slowly"]


def lead(name, split="all", kind="greedy"):
    """What the Transformer has more than RNNsearch, each at its best."""
    place = BEST[name]["tests"][split]
    place = place if kind == "greedy" else place[kind]
    return place["over_rnnsearch"]


def test_both_were_asked_as_much():
    trials = [label for stage in STAGES for label in stage]
    said("ladder", "Seven trials are few")
    assert len(trials) == 7
    said("ladder", "with as many trials for the one as for the other")
    said("ladder", "The validation captions choose")
    for name in FAMILIES:
        parts = [f"{name}, {label}" for label in trials]
        tried = {part: BEST[part]["runs"][0] for part in parts}
        assert BEST[name]["trial"] == best_of(name, tried)
        assert BEST[name]["setting"] == tried[BEST[name]["trial"]]["setting"]
        for run in tried.values():
            assert run["training"]["epochs"] == len(run["curve"]) == 24
    ladder = FOUND["transformer"]["runs"][0]["training"]["epochs"]
    said("ladder", "In twice as many, each with its own setting")
    assert 2 * ladder == BEST["transformer"]["setting"]["rounds"]
    rates = [1e3 * run["training"]["learning_rate"] for run in tried.values()]
    said("ladder", "the Transformer's best rate is the highest that was tried")
    assert 1e3 * BEST["transformer"]["setting"]["rate"] == max(rates)


def test_rnnsearch_hardly_minds_its_dropout_and_the_transformer_does():
    def bleu_of(name, label):
        return BEST[f"{name}, {label}"]["runs"][0]["val"]["bleu"]

    tenths = [bleu_of("rnnsearch", f"dropout 0.{n}") for n in (1, 2, 3, 4)]
    said("ladder", "of dropout its score moves by less than two points")
    assert max(tenths) - min(tenths) < 2
    three = bleu_of("transformer", "dropout 0.3")
    said("ladder", "The Transformer minds a great deal")
    for n in (1, 2):
        assert bleu_of("transformer", f"dropout 0.{n}") > three + 2
    slower, faster = (
        bleu_of(name, "rate 8e-3")
        - bleu_of(name, f"dropout {BEST[name]['setting']['dropout']}")
        for name in FAMILIES
    )
    said("ladder", "twice the rate, at which RNNsearch loses three points")
    assert -3.5 < slower < -2.5 and faster > 0
    used = FOUND["rnnsearch"]["runs"][0]["config"]["dropout"]
    near = [BEST[name]["setting"]["dropout"] for name in FAMILIES]
    assert BEST["rnnsearch"]["setting"]["rate"] == 4e-3
    said("ladder", "A dropout of three tenths, one learning rate")
    assert (used, *near) == (0.3, 0.2, 0.2)


def test_how_far_both_are_from_their_starred_settings():
    said(
        "ladder",
        "one point below its starred setting, and the Transformer three",
    )
    for name, least, most in (
        ("rnnsearch", 0.8, 1.3),
        ("transformer", 2.7, 3.3),
    ):
        ladder = BEST[f"{name}, dropout 0.3"]["runs"][0]["val"]["bleu"]
        starred = BEST[BEST[name]["trial"]]["runs"][0]["val"]["bleu"]
        assert least < starred - ladder < most
    scores = {
        part: found["runs"][0]["val"]["bleu"]
        for part, found in BEST.items()
        if part.startswith("transformer, ")
    }
    said("ladder", "the Transformer's star would stand at a tenth")
    assert max(scores, key=scores.get) == "transformer, dropout 0.1"


def test_each_at_its_best():
    greedy, beam = lead("transformer"), lead("transformer", kind="beam")
    said("ladder", "In greedy writing the order is reversed")
    assert greedy["low"] > 0 and greedy["p"] < 0.05
    said("ladder", "says so on its own, two of them only just")
    for split in corpus.TESTS:
        alone = lead("transformer", split)
        assert alone["low"] > 0 and alone["p"] < 0.05
    ends = [lead("transformer", split)["low"] for split in corpus.TESTS]
    assert [low < 0.1 for low in ends] == [False, True, True]
    said("ladder", "the interval just includes 0")
    assert -0.1 < beam["low"] < 0 < beam["high"]
    on_cpu = {
        name: [
            run.get("device", "CPU").startswith("CPU")
            for run in BEST[BEST[name]["trial"]]["runs"]
        ]
        for name in FAMILIES
    }
    said("ladder", "Two of RNNsearch's three runs were computed on a CPU")
    assert on_cpu["rnnsearch"] == [False, True, True]
    assert not any(on_cpu["transformer"])
    helped = {
        name: BEST[name]["tests"]["all"]["beam"]["bleu"]
        - BEST[name]["tests"]["all"]["bleu"]
        for name in FAMILIES
    }
    said("ladder", "A beam of 5 helps RNNsearch more")
    assert helped["rnnsearch"] > helped["transformer"]
    losses = [
        [cross_entropy(run, "all") for run in BEST[BEST[name]["trial"]]["runs"]]
        for name in FAMILIES
    ]
    said(
        "ladder",
        "each of the Transformer's runs is ahead of each of RNNsearch's",
    )
    assert min(losses[0]) > max(losses[1]) + 0.05
    level = [
        BEST[f"{name}, dropout 0.3"]["runs"][0]["val"]["bleu"]
        for name in FAMILIES
    ]
    said("ladder", "The longer race alone may do part of it")
    assert abs(level[0] - level[1]) < 0.5
    over = FOUND["transformer"]["tests"]["all"]["over_rnnsearch"]
    said("ladder", "with three tenths of dropout, RNNsearch writes better")
    assert over["high"] < 0  # the order that turns round


def test_how_they_grow():
    few, some = (
        GROWTH[f"transformer, {n}"]["tests"]["all"]["over_rnnsearch"]
        for n in (3000, 10_000)
    )
    said("ladder", "with only 3,000 captions it is ahead")
    assert few["low"] > 0 > some["high"] and max(few["p"], some["p"]) < 0.05
    all_of_them = FOUND["transformer"]["tests"]["all"]["over_rnnsearch"]
    said("ladder", "The table does not support this")
    assert few["gain"] > some["gain"] > all_of_them["gain"]
    said("ladder", "were read in 25 to 50 rounds")
    for name in FAMILIES:
        for run in GROWTH[f"{name}, 3000"]["runs"]:
            assert set(run["tried"]) == {"25", "50"}
            assert run["training"]["epochs"] == 50
        for run in GROWTH[f"{name}, 10000"]["runs"]:
            assert run["training"]["epochs"] == 25


def test_what_joined_captions_teach():
    names = ("fixed", "diagonal", "rnnsearch", "norm", "transformer")
    joined = {name: GROWTH[f"{name}, joined"] for name in names}
    said("ladder", "Single captions teach no machine to go on")
    said("ladder", "so all of them have learned less here")
    four = {name: each["long"]["4"]["bleu"] for name, each in joined.items()}
    one = joined["rnnsearch"]["tests"]["test_2016_flickr"]["bleu"]
    said("ladder", "RNNsearch writes four captions as well as one")
    assert four["rnnsearch"] > one - 0.5
    said("ladder", "no other machine of the five comes near it")
    assert (
        four["rnnsearch"] > max(four[n] for n in names if n != "rnnsearch") + 8
    )
    falling = [joined["fixed"]["long"][n]["bleu"] for n in "234"]
    said("ladder", "the more there is to carry, the less arrives")
    assert falling == sorted(falling, reverse=True)
    for name, each in joined.items():
        assert each["long"]["4"]["stops"] > 3.5  # they go on
        assert FOUND[name]["long"]["4"]["stops"] < 1.2
        place = each["tests"]["all"]["bleu"]
        assert place < score(name) - 5
    search, transformer = (
        joined[name]["tests"]["all"]["bleu"]
        for name in ("rnnsearch", "transformer")
    )
    said("ladder", "falls far behind, and already does so on single captions")
    assert transformer < search - 5
    steps = [
        run["curve"][-1]["step"]
        for run in (joined["norm"]["runs"][0], FOUND["norm"]["runs"][0])
    ]
    said("ladder", "has two fifths of the steps")
    assert 0.37 < steps[0] / steps[1] < 0.43
