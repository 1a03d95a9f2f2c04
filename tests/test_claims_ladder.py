"""What `ladder`, `ablations` and the appendix say is what the records hold.

When the configurations are trained anew and this fails, the paragraphs of these
pages have to be written anew, and those of other pages that quote them.
"""

from dataclasses import replace
from itertools import pairwise, product

import pytest
import torch
from saying import page_text, said

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
    standard_error,
    student,
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
    """Whether it gains, by test, interval and the mean of every test set."""
    one = step(name)
    alike = all(step(name, split)["gain"] > 0 for split in corpus.TESTS)
    return one["low"] > 0 and one["p"] < 0.05 and alike


def test_every_rung_is_there_with_the_one_that_it_changes():
    said("ladder", "puts fifteen steps")
    said("ladder", "Sixteen configurations are trained")
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
        said("ladder", "three seeds on the same 29,000 captions")
        said("ladder", "read the captions for … epochs")
        assert all(kind == kinds[0] for kind in kinds)
    said("ladder", "compute in 32 bits")
    assert runs[0]["precision"] == "fp32"


def test_the_climb_of_2014():
    said("ladder", "adds one that goes from right to left: …")
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
    said("ladder", "not distinguishable ($p$ = …)")
    said("ladder", "unlikely to cost a whole point")
    assert dot["p"] > 0.05 and -1 < dot["low"] < 0 < dot["high"]
    said("scores", "On single captions there is no significant difference")
    said("scores", "unlikely to cost more than one point")
    beam = FOUND["dot"]["tests"]["all"]["beam"]["step"]
    assert -1 < beam["low"] < 0 < beam["high"]


def test_the_fall():
    said("positions", "Order is worth a great deal")
    assert step("words")["high"] < -15
    said("ladder", "what one vector with a bidirectional encoder reached")
    assert abs(score("words") - score("two-way")) < 1


def chance(first, second, captions=1000):
    """p of two rungs in the widget, by its own swaps, a thousand times."""
    counts = [
        FOUND[name]["runs"][0]["tests"]["test_2016_flickr"]["greedy"]["counts"]
        for name in (first, second)
    ]
    (one, two), gaps = Swaps([first, second], counts, size=captions).gaps(1000)
    return p_value(two - one, gaps)


def test_what_the_trials_of_the_widget_say():
    said("ladder", "More than four in ten trials reach the gap")
    assert 0.4 < chance("rnnsearch", "dot") < 0.5
    said("ladder", "in about 3% of the trials")
    said("ladder", "The first 300 captions alone")
    assert 0.02 < chance("rnnsearch", "dot", 300) < 0.035
    assert chance("positions", "transformer") < 0.002
    said("ladder", "in 6% or 7% of the trials")
    assert 0.06 < chance("heads", "feedforward", 100) < 0.07
    said("ladder", "on a thousand, never")
    assert chance("heads", "feedforward") < 0.002


def test_a_bare_layer_with_torch_s_initialization_shrinks_its_input():
    torch.manual_seed(0)
    sentences = torch.randint(4, 3000, (64, 13))
    scales = {}
    for name in ("positions", "self-attention", "feedforward", "sum", "norm"):
        sizes = {"source_vocab": 3000, "target_vocab": 3000}
        for how in (lambda model: model, draw):
            torch.manual_seed(0)
            model = how(Recurrent(replace(RUNGS[name].parts, **sizes))).eval()
            handed = model.encode(sentences).values
            scales.setdefault(name, []).append(handed.square().mean().sqrt())
    small, level = zip(*scales.values(), strict=True)
    said("ladder", "some twenty times smaller than those of positions")
    assert 15 < small[0] / small[2] < 25
    said("ladder", "residual connections, restores them at once")
    assert min(small[3:]) > 0.9
    said("ladder", "differ by a factor of four at most")
    assert max(level) < 4 * min(level)


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
            said(
                "ladder-measured",
                "where there are seeds, so they are by the interval",
            )
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
        said("ladder-measured", "the two factors pull against each other")
        assert sign * precision > 0 > sign * brevity
        said("ladder-measured", "All four differences are significant")
        assert max(p_precision, p_brevity) < 0.05
        level = [
            torch.stack([bleu(x.sum(0)) for x in side]).mean()
            for side in (ones, twos)
        ]
        said("ladder-measured", "two pairs that came out level")
        assert abs(level[1] - level[0]) < 0.3


def test_what_cross_entropy_says_otherwise():
    loss = {name: score(name, "loss") for name in PATH}
    said("ladder-measured", "is far ahead of it by cross-entropy")
    assert loss["positions"] < loss["diagonal"] - 0.1
    said("ladder-measured", "has the lowest number of all")
    assert min(loss, key=loss.get) == "linear"
    said("ladder-measured", "lower than each of RNNsearch's seeds")
    for rival in ("rnnsearch", "dot"):
        runs = FOUND[rival]["runs"]
        assert loss["linear"] < min(cross_entropy(run, "all") for run in runs)
    said("ladder-measured", "yet by BLEU its gap to RNNsearch is")
    assert score("linear") < score("rnnsearch")
    each = [cross_entropy(run, "all") for run in FOUND["rnnsearch"]["runs"]]
    said("ladder-measured", "they span two hundredths")
    assert max(each) - min(each) < 0.025
    order = sorted(PATH, key=loss.get)
    said(
        "ladder-measured",
        "At the lower end of the ladder its order nearly agrees",
    )
    assert {*order[-2:]} == {"fixed", "two-way"}


def test_these_machines_write_too_little():
    found = records.load("brevity")["results"]
    for ways in found.values():
        beam, greedy = (ways[way]["length"] for way in ("beam", "greedy"))
        said("ladder-measured", "why do these models write too little")
        said(
            "ladder-measured", "In greedy decoding, which never forms a product"
        )
        assert beam < greedy < 1
        said("ladder-measured", "sampled captions are far worse")
        assert ways["unsmoothed"]["bleu"] < ways["greedy"]["bleu"] - 9
    greedy, unsmoothed = (
        found["tuned-en-fr"][way]["length"] for way in ("greedy", "unsmoothed")
    )
    said(
        "ladder-measured",
        "more than half of what it lacks is due to taking the likeliest",
    )
    assert 0.5 < (unsmoothed - greedy) / (1 - greedy) < 0.65
    beam, square = (found["tuned-en-fr"][way] for way in ("beam", "powers"))
    assert square["2.0"]["length"] > 1 > beam["length"]
    said("ladder-measured", "length alone does not help")
    assert all(each["bleu"] < beam["bleu"] + 0.05 for each in square.values())
    greedy, unsmoothed = (
        found["tuned-rnnsearch"][way] for way in ("greedy", "unsmoothed")
    )
    lacks = found["tuned-en-fr"]["greedy"]["length"]
    assert lacks < greedy["length"] < unsmoothed["length"] < 1
    won = unsmoothed["length"] - greedy["length"]
    said(
        "ladder-measured",
        "The tuned RNNsearch, which lacks less, wins back even more",
    )
    assert won / (1 - greedy["length"]) > 0.65


def loses(name):
    """Whether it loses, by test, interval and the mean of every test set."""
    one = step(name)
    alike = all(step(name, split)["gain"] < 0 for split in corpus.TESTS)
    return one["high"] < 0 and one["p"] < 0.05 and alike


def test_the_way_back():
    said("ablations", "positions, residual connections and norms are of use")
    assert gains("positions") and gains("heads") and gains("sum")
    said("ladder", "three famous parts together lose six points")
    assert loses("self-attention") and loses("feedforward")
    said("ladder", "more than half of the fall is made good")
    assert 0.5 < step("positions")["gain"] / -step("words")["gain"] < 0.6
    said("ladder-measured", "level with the diagonal by BLEU")
    assert abs(score("positions") - score("diagonal")) < 0.5
    said("ladder", "After these three famous parts the score is")
    assert score("feedforward") < score("positions") - 5
    said("ladder", "With it the three parts together are worth …")
    assert score("positions") + 2 < score("sum")
    said("ladder", "three points instead of more than eight")
    assert step("sum")["gain"] > 8 and gains("norm")
    beam = FOUND["norm"]["tests"]["all"]["beam"]["step"]
    said("ladder", "greedily; with a beam it is not distinguishable")
    assert beam["p"] > 0.05 and beam["low"] < 0 < beam["high"]


def test_the_three_famous_parts_cost_without_the_sum_and_pay_with_it():
    said("ladder", "and without it … (… to …)")
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
    said("ladder", "the standard error of such a change is less than one")
    assert 2**0.5 * error < 1
    said("ladder", "parts themselves do not seem to have cost the six points")
    assert one[4] - one[3] > 8 and -6.5 < one[3] - one[0] < -5.5
    steps = [[b - a for a, b in pairwise(side)] for side in (one, two)]
    said("ladder", "each step changes by more than three points")
    assert all(abs(a - b) > 3 for a, b in zip(*steps, strict=True))
    look, heads, feed, total = steps[1]
    said("ladder", "Attention moves the score by little")
    assert 0 < look < 2 * error and -2 * error < heads < 0
    said(
        "ladder",
        "the feed-forward layer brings two points, and the residual "
        "connection less than one",
    )
    said(
        "ladder",
        "only the feed-forward layer's is larger than twice the standard error",
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
    said("ladder", "It seems to have been the dropout after them")
    said("ladder", "bare parts then lose nothing against positions alone")
    assert abs(feed - one[0]) < error < 5 < feed - one[3]
    said("ladder", "the best here")
    assert total > max(*one, *two, feed)
    said("ladder", "three points instead of more than eight")
    assert 2 * error < total - feed < 3.5


def test_the_last_gru():
    said("ladder", "Three layers instead of one bring … (… to …), a")
    said("ladder", "Neither is distinguishable from the configuration")
    said("ladder", "a gain or loss of a point may have gone undetected")
    assert all(1 < step(n)["high"] < 1.5 for n in ("depth", "decoder"))
    assert step("depth")["low"] < 0 < step("depth")["high"]
    beam = FOUND["depth"]["tests"]["all"]["beam"]["step"]
    assert beam["low"] < 0 < beam["high"]
    one, three = (FOUND[n]["runs"][0]["config"] for n in ("norm", "depth"))
    assert (one["layers"], three["layers"]) == (1, 3)
    greedy = step("decoder")
    assert greedy["p"] > 0.05 and greedy["low"] < 0 < greedy["high"]
    said("ladder", "The linear output brings …")
    assert gains("linear")
    tie = FOUND["transformer"]["tests"]["all"]
    said("ladder", "is not distinguishable greedily")
    assert tie["step"]["low"] < 0 < tie["step"]["high"]
    loose, tied = (
        FOUND[n]["runs"][0]["parameters"] for n in ("linear", "transformer")
    )
    said("ladder", "saves 15% of the parameters")
    assert round(1 - tied / loose, 2) == 0.15
    tests = FOUND["transformer"]["tests"]
    said("ladder", "the model of 2017 writes worse than that of 2014")
    for place in (tests["all"], tests["all"]["beam"]):
        over = place["over_rnnsearch"]
        assert over["high"] < 0 and over["p"] < 0.05
    said("ladder", "the three test sets taken together; taken one by one, only")
    ends = [
        FOUND["transformer"]["tests"][split]["over_rnnsearch"]["high"]
        for split in (*corpus.TESTS, "all")
    ]
    assert [high < 0 for high in ends] == [True, False, False, True]
    for split in corpus.TESTS:
        for place in (tests[split], tests[split]["beam"]):
            assert place["over_rnnsearch"]["gain"] < 0


def test_the_order_of_the_steps():
    order = sorted(PATH[1:], key=lambda name: step(name)["gain"])
    said("ladder", "Positions, the diagonal, the residual connections and")
    assert order[-3:] == ["sum", "diagonal", "positions"]
    losing = [name for name in PATH[1:] if step(name)["high"] < 0]
    said("ladder", "self-attention and the feed-forward layer lose, too")
    assert losing == ["words", "self-attention", "feedforward"]
    unsure = [n for n in PATH[1:] if step(n)["low"] < 0 < step(n)["high"]]
    said("ladder", "a hollow dot is a step whose interval contains 0")
    assert unsure == ["dot", "depth", "decoder", "transformer"]


def test_writing_is_what_the_layers_cost():
    speeds = records.load("speed")["results"]["rungs"]
    assert list(speeds) == PATH
    said("ladder", "The GRU decoder writes … tokens a second")
    assert speeds["depth"]["decode"] > 2 * speeds["decoder"]["decode"]


def test_every_rung_has_three_seeds_and_eight_a_third_one_of_a_gpu():
    runs = [FOUND[name]["runs"] for name in PATH]
    said("ladder", "every configuration was trained from three seeds")
    said("ladder", "Each of the sixteen configurations was trained from three")
    assert all(len(each) == 3 for each in runs)
    on_gpu = [
        [run.get("device", "CPU").startswith("NVIDIA") for run in each]
        for each in runs
    ]
    said("ladder", "For the eight configurations marked † the third seed was")
    assert on_gpu.count([False, False, True]) == 8
    for name, devices in zip(PATH, on_gpu, strict=True):
        marked = f"| {RUNGS[name].label} † |".casefold() in page_text("ladder")
        assert marked == devices[-1], name
    said("ladder", "and all other runs on CPUs")
    assert on_gpu.count([False] * 3) == 8


def test_four_captions_joined():
    search, diagonal = (
        FOUND[n]["long"]["4"]["bleu"] for n in ("rnnsearch", "diagonal")
    )
    said(
        "ladder-measured",
        "which never chooses a position, scores as high as RNNsearch",
    )
    assert search < diagonal < search + 2
    said(
        "ladder-measured",
        "No model learns from single captions to continue after a period",
    )
    for name in PATH:
        row = FOUND[name]["long"]["4"]
        assert row["stops"] < 1.2 and row["stops_wanted"] > 3.5


def test_what_other_chapters_say_of_the_way_back():
    one, four = step("self-attention")["gain"], step("heads")["gain"]
    said("heads", "four heads win back about two fifths of that")
    assert 0.37 < four / -one < 0.43
    sizes = [
        FOUND[n]["runs"][0]["parameters"] for n in ("self-attention", "heads")
    ]
    said("heads", "Both have … parameters")
    assert sizes[0] == sizes[1]
    said("scores", "of what the product's model writes is right")
    said("scores", "At every length the product's best seed is below")
    for count in ("2", "3", "4"):
        added, product = (FOUND[n]["long"][count] for n in ("rnnsearch", "dot"))
        assert max(product["each"]) < min(added["each"])
        assert product["precision"] > added["precision"]
        assert product["brevity"] < added["brevity"] - 0.05


def test_the_product_s_alignments_are_not_the_worse_ones():
    found = records.load("alignment")["results"]
    product, added = (
        [run["aer"] for run in found[name]["runs"]]
        for name in ("dot", "additive")
    )
    said("scores", "The product aligns words no worse; here it even")
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
    said("ablations", "The full model was trained from five seeds")
    assert len(whole) == 5 and {*REMOVAL} == {*REMOVALS}
    said("ablations", "train from the beginning with everything else unchanged")
    said("ablations", "of less than a point and a half come from three runs")
    said("ablations", "in every row that has a score, has a $p$ below 0.001")
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


def test_every_row_names_the_devices_of_its_runs():
    """G for a run on a GPU, C for one on a CPU, in the order of the seeds."""
    devices = {
        name: "".join(
            "G" if run["device"].startswith("NVIDIA H100") else "C"
            for run in removal["runs"]
        )
        for name, removal in REMOVAL.items()
    }
    for label, name in {
        "no positions": "positions",
        "no dropout": "dropout",
        "one layer, not three": "depth",
        "seven layers, no feed-forward": "feedforward, 7 layers",
        "no feed-forward": "feedforward",
        "one head, not four": "heads",
        "no label smoothing": "smoothing",
        "learned positions": "positions, learned",
    }.items():
        counts = {
            kind: devices[name].count(kind[0])
            for kind in ("GPU", "CPU")
            if kind[0] in devices[name]
        }
        told = ", ".join(f"{n} {kind}" for kind, n in counts.items())
        row = f"| {label} | {told} | … |".casefold()
        assert row in page_text("ablations"), label
    said("ablations", "The scores marked † come from CPU runs")
    for row in (
        "| residual connections | … | … |",
        "| norms | NaN † | NaN † | |",
        "| $1/\\sqrt{d_k}$ | … | … |",
        "| pre-norm (post-norm instead) | … † | … ‡ |",
        "| warm-up | … | … |",
    ):
        assert row.casefold() in page_text("ablations"), row
    of_two = ("residual", "norm", "scale", "norm, behind", "warmup")
    at_both = [(devices[n], devices[f"{n}, slowly"]) for n in of_two]
    assert at_both == [
        ("G", "G"),
        ("C", "C"),
        ("G", "GG"),
        ("C", "CG"),
        ("G", "G"),
    ]
    said("ablations", "the one with a single layer on a CPU and the others on")
    assert devices["residual, one layer"] == "C"
    assert devices["residual, no dropout"] == "G"
    slow = BEST["transformer, rate 2e-3"]["runs"]
    assert [run["device"].startswith("NVIDIA H100") for run in slow] == [True]


def test_what_is_missing_without_a_part():
    missed = ("positions", "dropout", "depth", "feedforward", "heads")
    said(
        "ablations",
        "Without most of the other parts BLEU falls, by up to fifteen points",
    )
    for name in (*missed, "smoothing"):
        for kind in ("greedy", "beam"):
            assert away(name, kind)["high"] < 0, name
            assert away(name, kind)["p"] < 0.001
    said("ablations", "from being too sure, contributes less")
    assert away("dropout")["gain"] < away("smoothing")["gain"]
    learned = away("positions, learned")
    said("ablations", "which also counts the spread over seeds, contains 0")
    assert learned["low"] < 0 < learned["high"]
    said("ablations", "by the randomization test it is a gain")
    assert learned["gain"] > 0
    said("ablations", "and here removing it costs points")
    assert step("feedforward")["high"] < 0 > away("feedforward")["high"]
    said("ablations", "For the heads they agree only that four are better")
    for name in ("positions", "heads", "sum", "norm"):
        assert step(name)["low"] > 0, name
    assert step("depth")["low"] < 0 < step("depth")["high"]
    sizes = {
        name: REMOVAL[name]["runs"][0]["parameters"]
        for name in ("depth", "feedforward", "feedforward, 7 layers")
    }
    full = REMOVAL["smoothing"]["runs"][0]["parameters"]
    said("ablations", "has less than three fifths of the parameters")
    assert sizes["depth"] < 0.6 * full
    said("ablations", "hold more than a third of the total")
    assert sizes["feedforward"] < 2 / 3 * full
    said("ablations", "has as many parameters as the full one")
    assert sizes["feedforward, 7 layers"] == pytest.approx(full, rel=0.01)
    most = away("feedforward, 7 layers")
    said("ablations", "still scores no better than three layers without them")
    assert most["gain"] < away("feedforward")["gain"] and most["high"] < 0


def test_without_its_sums_the_best_transformer_cannot_translate():
    without = "residual, one layer"
    said(
        "ablations",
        "Nor does it at the full rate when dropout is removed as well",
    )
    for way in ("", ", slowly", ", no dropout"):
        assert REMOVAL[f"residual{way}"]["tests"]["all"]["bleu"] < 0.05
    [slow] = REMOVAL["residual, slowly"]["runs"]
    words = slow["tests"]["test_2016_flickr"]["greedy"]["first"].split()
    said("ablations", "writes homme homme homme until it is stopped")
    assert {*words} == {"homme"} and len(words) > 20
    # with one layer the sums are worth points, by both rulers
    shallow = {name: REMOVAL[name]["runs"] for name in ("depth", without)}
    said("ablations", "With one layer the connections are worth points")
    for kind in ("greedy", "beam"):
        found = compare_runs(shallow, "depth", without, "all", kind)
        assert found["high"] < -5 and found["p"] < 0.001
    [one] = REMOVAL[without]["runs"]
    assert one["config"]["layers"] == 1 and not one["config"]["residual"]
    first = one["tests"]["test_2016_flickr"]["greedy"]["first"]
    said("ablations", "un homme avec un chapeau orange regarde quelque chose")
    assert first == "un homme avec un chapeau orange regarde quelque chose ."
    # on the ladder a machine of one layer could translate without the sum
    said("ablations", "On the ladder, where the encoder had one layer")
    assert score("feedforward") > 30 and step("sum")["gain"] > 8
    assert FOUND["feedforward"]["runs"][0]["config"]["layers"] == 1
    toy = records.load("depth")["results"]["by_depth"]
    said("ablations", "as in the toy task of residual")
    said("residual", "At four, those without residual connections fail")
    assert max(toy[name]["4"]["mean"] for name in ("none", "norm")) < 0.3


def beside(name, kind="greedy"):
    """Its change from the whole at the same, lower rate."""
    place = REMOVAL[name]["tests"]["all"]
    return (place if kind == "greedy" else place[kind])["beside"]


def test_two_parts_buy_a_rate_and_the_factor_more():
    slow = BEST["transformer, rate 2e-3"]["runs"]
    said("ablations", "There the full model was trained once")
    assert len(slow) == 1
    said("ablations", "at a quarter of the full rate, 0.002")
    assert slow[0]["training"]["learning_rate"] == 0.002
    said("ablations", "a dropout of 0.2 and a learning rate of 0.008")
    starred = BEST["transformer"]["setting"]
    assert (starred["dropout"], starred["rate"]) == (0.2, 0.008)
    level = bleu(pooled_counts(slow[0], "all").sum(0)).item()
    for name in ("norm, behind, slowly", "warmup, slowly", "scale, slowly"):
        for run in REMOVAL[name]["runs"]:
            rate = slow[0]["training"]["learning_rate"]
            assert run["training"]["learning_rate"] == rate
        assert beside(name)["bleu"] == pytest.approx(level)
    said("ablations", "where the score collapses, train again at a quarter")
    for name in ("norm, behind", "warmup", "scale"):
        assert away(name)["high"] < -20  # at the whole's rate
    said("ablations", "neither is distinguishable from the full model")
    said(
        "ablations",
        "a difference of a point and a half could have gone undetected",
    )
    for name in ("norm, behind, slowly", "warmup, slowly"):
        change = beside(name)["change"]
        assert -1.6 < change["low"] < 0 < change["high"] and change["p"] > 0.2
    said("ablations", "At a quarter of the rate it is still worth points")
    for kind in ("greedy", "beam"):
        change = beside("scale, slowly", kind)["change"]
        assert change["high"] < -3 and change["p"] < 0.001
    said("scores", "some five points less than with scaling")
    said("scores", "the single run fails", "two runs reach")
    runs = records.load("ablation")["results"]
    assert len(runs["scale"]["runs"]) == 1
    assert len(runs["scale, slowly"]["runs"]) == 2
    assert -5.5 < beside("scale, slowly")["change"]["gain"] < -4.5
    gain = BEST["transformer"]["tests"]["all"]["bleu"] - level
    said(
        "ablations",
        "to give here is training at the higher rate, which takes the full",
    )
    assert 1.4 < gain < 1.7


def test_without_dropout_the_captions_are_learned_by_heart():
    [run] = REMOVAL["dropout"]["runs"]
    curve = run["curve"]
    later = curve[run["best_epoch"] - 1 :]
    assert len(curve) == 24 and len(later) > 10
    said("ablations", "rises from then on")
    assert [each["loss"] for each in later] == sorted(
        each["loss"] for each in later
    )
    falling = [each["train_loss"] for each in curve]
    said("ablations", "while the training loss keeps falling")
    assert falling == sorted(falling, reverse=True)


def test_without_its_norms_the_best_transformer_becomes_no_number():
    [run] = REMOVAL["norm"]["runs"]
    said(
        "ablations", "the weights become NaN (not a number) in the first epoch"
    )
    assert run["diverged"] and "tests" not in REMOVAL["norm"]
    [slow] = REMOVAL["norm, slowly"]["runs"]
    said("ablations", "at a quarter of the rate in the fourth")
    assert len(slow["curve"]) == 3 and slow["config"]["norm"] == "none"
    assert "tests" not in REMOVAL["norm, slowly"]


def lead(name, split="all", kind="greedy"):
    """What the Transformer has more than RNNsearch, each at its best."""
    place = BEST[name]["tests"][split]
    place = place if kind == "greedy" else place[kind]
    return place["over_rnnsearch"]


def test_both_were_asked_as_much():
    trials = [label for stage in STAGES for label in stage]
    said("ablations", "Seven trials are few")
    assert len(trials) == 7
    said("ablations", "Both models get the same number of trials")
    said("ablations", "on the validation captions is chosen")
    for name in FAMILIES:
        parts = [f"{name}, {label}" for label in trials]
        tried = {part: BEST[part]["runs"][0] for part in parts}
        assert BEST[name]["trial"] == best_of(name, tried)
        assert BEST[name]["setting"] == tried[BEST[name]["trial"]]["setting"]
        for run in tried.values():
            assert run["training"]["epochs"] == len(run["curve"]) == 24
    ladder = FOUND["transformer"]["runs"][0]["training"]["epochs"]
    said("ablations", "After twice as many, each with its own setting")
    assert 2 * ladder == BEST["transformer"]["setting"]["rounds"]
    rates = [1e3 * run["training"]["learning_rate"] for run in tried.values()]
    said(
        "ablations", "the Transformer's best rate is the highest that was tried"
    )
    assert 1e3 * BEST["transformer"]["setting"]["rate"] == max(rates)


def test_rnnsearch_hardly_minds_its_dropout_and_the_transformer_does():
    def bleu_of(name, label):
        return BEST[f"{name}, {label}"]["runs"][0]["val"]["bleu"]

    tenths = [bleu_of("rnnsearch", f"dropout 0.{n}") for n in (1, 2, 3, 4)]
    said("ablations", "0.4 its score changes by less than two points")
    assert max(tenths) - min(tenths) < 2
    three = bleu_of("transformer", "dropout 0.3")
    said("ablations", "The Transformer depends on it much more")
    for n in (1, 2):
        assert bleu_of("transformer", f"dropout 0.{n}") > three + 2
    slower, faster = (
        bleu_of(name, "rate 8e-3")
        - bleu_of(name, f"dropout {BEST[name]['setting']['dropout']}")
        for name in FAMILIES
    )
    said(
        "ablations",
        "twice the learning rate, at which RNNsearch loses three points",
    )
    assert -3.5 < slower < -2.5 and faster > 0
    used = FOUND["rnnsearch"]["runs"][0]["config"]["dropout"]
    near = [BEST[name]["setting"]["dropout"] for name in FAMILIES]
    assert BEST["rnnsearch"]["setting"]["rate"] == 4e-3
    said("ablations", "A dropout of 0.3, one learning rate")
    assert (used, *near) == (0.3, 0.2, 0.2)


def test_how_far_both_are_from_their_starred_settings():
    said(
        "ablations",
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
    said(
        "ablations", "the Transformer's best setting would be a dropout of 0.1"
    )
    assert max(scores, key=scores.get) == "transformer, dropout 0.1"


def test_each_at_its_best():
    greedy, beam = lead("transformer"), lead("transformer", kind="beam")
    said("ablations", "the order of the ladder is reversed")
    assert greedy["low"] > 0 and greedy["p"] < 0.05
    said(
        "ablations",
        "though on two of them the interval only just excludes 0",
    )
    for split in corpus.TESTS:
        alone = lead("transformer", split)
        assert alone["low"] > 0 and alone["p"] < 0.05
    ends = [lead("transformer", split)["low"] for split in corpus.TESTS]
    assert [low < 0.1 for low in ends] == [False, True, True]
    said("ablations", "the interval just includes 0")
    assert -0.1 < beam["low"] < 0 < beam["high"]
    on_cpu = {
        name: [
            run.get("device", "CPU").startswith("CPU")
            for run in BEST[BEST[name]["trial"]]["runs"]
        ]
        for name in FAMILIES
    }
    said("ablations", "The full model was trained on an H100 GPU")
    assert on_cpu["rnnsearch"] == [False, True, True]
    assert not any(on_cpu["transformer"])
    helped = {
        name: BEST[name]["tests"]["all"]["beam"]["bleu"]
        - BEST[name]["tests"]["all"]["bleu"]
        for name in FAMILIES
    }
    said("ablations", "A beam of 5 helps RNNsearch more")
    assert helped["rnnsearch"] > helped["transformer"]
    losses = [
        [cross_entropy(run, "all") for run in BEST[BEST[name]["trial"]]["runs"]]
        for name in FAMILIES
    ]
    said(
        "ablations",
        "every run of the Transformer is ahead of every run of RNNsearch",
    )
    assert min(losses[0]) > max(losses[1]) + 0.05
    level = [
        BEST[f"{name}, dropout 0.3"]["runs"][0]["val"]["bleu"]
        for name in FAMILIES
    ]
    said("ablations", "Longer training may account for part of the reversal")
    assert abs(level[0] - level[1]) < 0.5
    over = FOUND["transformer"]["tests"]["all"]["over_rnnsearch"]
    said("ablations", "with a dropout of 0.3 RNNsearch writes better")
    assert over["high"] < 0  # the order that turns round


def test_how_they_grow():
    few, some = (
        GROWTH[f"transformer, {n}"]["tests"]["all"]["over_rnnsearch"]
        for n in (3000, 10_000)
    )
    said("ladder-measured", "with only 3,000 captions the Transformer is ahead")
    assert few["low"] > 0 > some["high"] and max(few["p"], some["p"]) < 0.05
    all_of_them = FOUND["transformer"]["tests"]["all"]["over_rnnsearch"]
    said("ladder-measured", "The table does not support this")
    assert few["gain"] > some["gain"] > all_of_them["gain"]
    said(
        "ladder-measured",
        "both models had 50 epochs and were at their best after 25 to",
    )
    said(
        "ladder-measured",
        "of the six runs five were at their best in the last epoch",
    )
    said(
        "ladder-measured",
        "So with 10,000 captions the limit ended the training",
    )
    best = {"3000": [], "10000": []}
    for size, found in best.items():
        for name in FAMILIES:
            for run in GROWTH[f"{name}, {size}"]["runs"]:
                assert run["training"]["epochs"] == 50 / (1 + (size == "10000"))
                found.append(run["best_epoch"])
    assert (min(best["3000"]), max(best["3000"])) == (25, 49)
    assert sorted(best["10000"]) == [24, *[25] * 5]


def test_what_joined_captions_teach():
    names = ("fixed", "diagonal", "rnnsearch", "norm", "transformer")
    joined = {name: GROWTH[f"{name}, joined"] for name in names}
    said("ladder-measured", "No model learns from single captions to continue")
    said("ladder-measured", "so all five models have had less training here")
    four = {name: each["long"]["4"]["bleu"] for name, each in joined.items()}
    one = joined["rnnsearch"]["tests"]["test_2016_flickr"]["bleu"]
    said("ladder-measured", "RNNsearch translates four captions as well as one")
    assert four["rnnsearch"] > one - 0.5
    said("ladder-measured", "no other model of the five comes near it")
    assert (
        four["rnnsearch"] > max(four[n] for n in names if n != "rnnsearch") + 8
    )
    falling = [joined["fixed"]["long"][n]["bleu"] for n in "234"]
    said("ladder-measured", "the more there is to carry, the less arrives")
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
    said(
        "ladder-measured",
        "falls far behind, and already does so on single captions",
    )
    assert transformer < search - 5
    steps = [
        run["curve"][-1]["step"]
        for run in (joined["norm"]["runs"][0], FOUND["norm"]["runs"][0])
    ]
    said("ladder-measured", "has two fifths of the steps")
    assert 0.37 < steps[0] / steps[1] < 0.43


def test_what_the_widget_of_removals_shows():
    full = BEST["transformer"]["tests"]["all"]
    of = {
        name: found["tests"]["all"]
        for name, found in REMOVAL.items()
        if "tests" in found and found["tests"]["all"]["bleu"] > 1
    }
    trained = {n: row for n, row in of.items() if row["bleu"] > 40}
    said("ablations", "writes most, with no penalty at all")
    assert max(of, key=lambda n: of[n]["brevity"]) == "dropout"
    assert of["dropout"]["brevity"] > 0.999
    said("ablations", "its precision is among the lowest of those that train")
    order = sorted(trained, key=lambda n: trained[n]["precision"])
    assert order[0] == "dropout"
    said("ablations", "write a hair more than the full model")
    more = {n for n, row in of.items() if row["brevity"] > full["brevity"]}
    assert more == {"dropout", "smoothing", "positions, learned"}
    for name in ("smoothing", "positions, learned"):
        assert of[name]["brevity"] < full["brevity"] + 0.003
    said("ablations", "By cross-entropy no dropout is only a little behind")
    depth, dropout = of["depth"], of["dropout"]
    assert 0 < dropout["loss"] - depth["loss"] < 0.07
    said("ablations", "with a beam the gap is half as large")
    greedy = depth["bleu"] - dropout["bleu"]
    beam = depth["beam"]["bleu"] - dropout["beam"]["bleu"]
    assert 0.4 < beam / greedy < 0.6


def test_how_sure_one_head_is():
    """The cell's numbers are those of the record, with six degrees."""
    said(
        "ablations", "These weights add up to the degrees of freedom, six here"
    )
    said("ablations", "95% of Student's $t$ lies within 2.45")
    runs = [
        BEST["transformer"]["tests"]["all"]["each"],
        REMOVAL["heads"]["tests"]["all"]["each"],
    ]
    deviation = pooled_deviation(runs)
    assert deviation.freedom == 6
    draws = student(6, 500).flatten().abs()
    assert draws.quantile(0.95).item() == pytest.approx(2.447, abs=0.02)
    found = away("heads")["seeds"]
    assert standard_error(deviation, 5, 3) == pytest.approx(found)
    said("ladder", "with three seeds on each side $(3 - 1) + (3 - 1) = 4$")
    each = [score(name, "each") for name in ("rnnsearch", "dot")]
    deviation = pooled_deviation(each)
    assert deviation.freedom == 4
    said("ladder", r"95% of all $\tau$ lie within 2.78")
    draws = student(4, 500).flatten().abs()
    assert draws.quantile(0.95).item() == pytest.approx(2.776, abs=0.03)
    said("ladder", "alone could move the gap of … by 0.8 points either way")
    assert 2.78 * standard_error(deviation, 3, 3) == pytest.approx(
        0.8, abs=0.05
    )


def test_three_captions_and_their_eight_orders():
    """The worked example: two of eight orders are as large."""
    said("ladder", "So $p = 2/8 = 0.25$")
    gaps = [sum(signs) for signs in product((1, -1), (1, -1), (2, -2))]
    assert [abs(gap) >= 4 for gap in gaps].count(True) == 2
    said("ladder", "With three captions $p$ cannot be smaller; with six it")
