"""What the chapter on the ladder says of its tables is what the records hold.

When the rungs are trained anew and this fails, the paragraphs of
book/ladder.md have to be written anew, and those in index, rnnsearch, cursors,
attention, feedforward, heads, positions, residual and scores that quote it.
"""

from dataclasses import replace
from itertools import pairwise, product

import pytest
import torch

from lookback.experiments import alignment
from lookback.experiments.brevity import WAYS
from lookback.experiments.removal import REMOVALS
from lookback.experiments.tuned_baselines import FAMILIES, STAGES, best_of
from lookback.lab import corpus, records
from lookback.lab.comparison import (
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
REMOVAL = records.load("removal")["results"]
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
    for name in PATH:
        assert FOUND[name]["runs"]
        assert ("step" in FOUND[name]["tests"]["all"]) == (name != PATH[0])


@pytest.mark.parametrize("name", PATH)
def test_the_counts_are_those_of_the_score(name):
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
        assert all(kind == kinds[0] for kind in kinds)
    assert runs[0]["precision"] == "fp32"


def test_the_climb_of_2014():
    assert all(gains(name) for name in ("two-way", "diagonal", "rnnsearch"))
    part = score("diagonal") - score("fixed")
    whole = score("rnnsearch") - score("fixed")
    assert 0.5 < part / whole < 0.7  # "more than half"
    dot = step("dot")
    assert dot["p"] > 0.05 and -1 < dot["low"] < 0 < dot["high"]
    assert 0.55 < dot["p"] < 0.65  # "in six cases out of ten"


def test_the_fall():
    assert step("words")["high"] < -15
    assert step("words")["gain"] == min(step(n)["gain"] for n in PATH[1:])
    assert abs(score("words") - score("two-way")) < 1  # "about what"


def chance(first, second, captions=1000):
    """p of two rungs in the widget, by its own coins, a thousand times."""
    counts = [
        FOUND[name]["runs"][0]["tests"]["test_2016_flickr"]["greedy"]["counts"]
        for name in (first, second)
    ]
    (one, two), gaps = Swaps([first, second], counts, size=captions).gaps(1000)
    return p_value(two - one, gaps)


def test_what_the_coins_of_the_widget_say():
    assert 0.4 < chance("rnnsearch", "dot") < 0.5  # "more than four in ten"
    # "about three trials of a hundred"
    assert 0.02 < chance("rnnsearch", "dot", 300) < 0.035
    assert chance("positions", "transformer") < 0.002
    assert 0.06 < chance("heads", "feedforward", 100) < 0.07  # "six or seven"
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
    assert 15 < whisper[0] / whisper[2] < 25  # "twenty times quieter"
    assert min(whisper[3:]) > 0.9
    assert max(spoken) < 4 * min(spoken)  # "a factor of four at most"
    assert 0.3 < spoken[2] / spoken[0] < 0.4  # "a third as loud"


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
            assert both["low"] * both["high"] > 0  # "neither do the intervals"
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
        assert sign * precision > 0 > sign * brevity
        assert max(p_precision, p_brevity) < 0.05
        level = [
            torch.stack([bleu(x.sum(0)) for x in side]).mean()
            for side in (ones, twos)
        ]
        assert abs(level[1] - level[0]) < 0.3


def test_what_cross_entropy_says_otherwise():
    loss = {name: score(name, "loss") for name in PATH}
    assert loss["positions"] < loss["diagonal"] - 0.1  # "far ahead"
    assert min(loss, key=loss.get) == "linear"
    for rival in ("rnnsearch", "dot"):  # "lower than each of"
        runs = FOUND[rival]["runs"]
        assert loss["linear"] < min(cross_entropy(run, "all") for run in runs)
    assert score("linear") < score("rnnsearch")
    assert loss["decoder"] > loss["depth"]
    each = [cross_entropy(run, "all") for run in FOUND["rnnsearch"]["runs"]]
    assert max(each) - min(each) < 0.025  # "two hundredths"
    order = sorted(PATH, key=loss.get)
    assert {*order[-2:]} == {"fixed", "two-way"}  # "at the lower end"


def test_drawn_captions_are_not_too_short():
    found = records.load("brevity")["results"]
    for ways in found.values():
        length = {
            way: each["length"]
            for way, each in ways.items()
            if way in ("greedy", "beam", *WAYS)
        }
        assert length["beam"] < length["greedy"] < 1 < length["drawn"]
        assert ways["drawn"]["bleu"] < ways["greedy"]["bleu"] - 10
    greedy, unsmoothed = (
        found["tuned-en-fr"][way]["length"] for way in ("greedy", "unsmoothed")
    )
    assert 0.5 < (unsmoothed - greedy) / (1 - greedy) < 0.65  # "more than half"
    beam, square = (
        found["tuned-en-fr"][way] for way in ("beam", "powers")
    )  # "length alone does not help"
    assert square["2.0"]["length"] > 1 > beam["length"]
    assert all(each["bleu"] < beam["bleu"] + 0.05 for each in square.values())
    greedy, unsmoothed = (
        found["tuned-rnnsearch"][way] for way in ("greedy", "unsmoothed")
    )
    lacks = found["tuned-en-fr"]["greedy"]["length"]
    assert lacks < greedy["length"] < unsmoothed["length"] < 1
    won = unsmoothed["length"] - greedy["length"]
    assert won / (1 - greedy["length"]) > 0.65  # "even more of it"


def loses(name):
    """Whether it loses, by both rulers and in the mean of every test set."""
    one = step(name)
    alike = all(step(name, split)["gain"] < 0 for split in corpus.TESTS)
    return one["high"] < 0 and one["p"] < 0.05 and alike


def test_the_way_back():
    assert gains("positions") and gains("heads") and gains("sum")
    assert loses("self-attention") and loses("feedforward")
    assert 0.5 < step("positions")["gain"] / -step("words")["gain"] < 0.6
    assert abs(score("positions") - score("diagonal")) < 0.5
    assert score("feedforward") < score("positions") - 5
    assert score("positions") + 2 < score("sum")
    assert step("sum")["gain"] > 8 and gains("norm")
    beam = FOUND["norm"]["tests"]["all"]["beam"]["step"]
    assert beam["p"] > 0.05 and beam["low"] < 0 < beam["high"]


def test_the_three_famous_parts_cost_without_the_sum_and_pay_with_it():
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
    assert 2**0.5 * error < 1  # of the difference of two, "less than one"
    assert one[1] - one[0] < -5 and -5 < one[3] - one[2] < -4
    assert one[4] - one[3] > 8 and abs(two[0] - one[0]) < 1
    steps = [[b - a for a, b in pairwise(side)] for side in (one, two)]
    assert all(abs(a - b) > 3 for a, b in zip(*steps, strict=True))
    look, heads, feed, total = steps[1]
    assert 0 < look < 2 * error and -2 * error < heads < 0
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
    assert abs(feed - one[0]) < error < 5 < feed - one[3]
    assert total > max(*one, *two, feed)  # "the best here"
    assert 2 * error < total - feed < 3.5  # "three points in place"


def test_the_last_gru():
    assert step("depth")["low"] < 0 < step("depth")["high"]
    beam = FOUND["depth"]["tests"]["all"]["beam"]["step"]
    assert beam["low"] < 0 < beam["high"]
    first, *others = FOUND["depth"]["tests"]["all"]["each"]
    assert first - score("norm") > 0.8 > max(others) - score("norm") + 0.5
    one, three = (FOUND[n]["runs"][0]["config"] for n in ("norm", "depth"))
    assert (one["layers"], three["layers"]) == (1, 3)
    greedy, beam = step("decoder"), FOUND["decoder"]["tests"]["all"]["beam"]
    assert greedy["p"] > 0.05 and greedy["low"] < 0 < greedy["high"]
    assert beam["step"]["gain"] < 0 and beam["step"]["p"] < 0.05
    assert beam["step"]["low"] < 0 < beam["step"]["high"]
    assert gains("linear")
    tie = FOUND["transformer"]["tests"]["all"]
    assert tie["step"]["low"] < 0 < tie["step"]["high"]
    assert -1 < tie["beam"]["step"]["gain"] < tie["beam"]["step"]["high"] < 0
    loose, tied = (
        FOUND[n]["runs"][0]["parameters"] for n in ("linear", "transformer")
    )
    assert round(1 - tied / loose, 2) == 0.15
    tests = FOUND["transformer"]["tests"]
    for place in (tests["all"], tests["all"]["beam"]):  # "both rulers"
        over = place["over_rnnsearch"]
        assert over["high"] < 0 and over["p"] < 0.05
    for split in corpus.TESTS:  # "point the same way"
        for place in (tests[split], tests[split]["beam"]):
            assert place["over_rnnsearch"]["gain"] < 0


def test_the_order_of_the_steps():
    order = sorted(PATH[1:], key=lambda name: step(name)["gain"])
    assert order[:3] == ["words", "self-attention", "feedforward"]
    assert order[-5:] == [
        "two-way",
        "rnnsearch",
        "sum",
        "diagonal",
        "positions",
    ]
    losing = [name for name in PATH[1:] if step(name)["high"] < 0]
    assert losing == ["words", "self-attention", "feedforward"]
    unsure = [n for n in PATH[1:] if step(n)["low"] < 0 < step(n)["high"]]
    assert unsure == ["dot", "depth", "decoder", "transformer"]


def test_more_rounds_help_rnnsearch_too():
    longer = FOUND["rnnsearch, 18 rounds"]["tests"]["all"]["bleu"]
    assert longer > score("rnnsearch") + 1


def test_writing_is_what_the_layers_cost():
    speeds = records.load("speed")["results"]["rungs"]
    assert list(speeds) == PATH
    assert speeds["depth"]["decode"] > 2 * speeds["decoder"]["decode"]


def test_every_rung_has_three_seeds_and_one_run_in_six_is_a_gpu_s():
    runs = [FOUND[name]["runs"] for name in PATH]
    assert all(len(each) == 3 for each in runs)
    on_gpu = [
        run.get("device", "CPU").startswith("NVIDIA") for r in runs for run in r
    ]
    assert 6 * sum(on_gpu) == len(on_gpu)


def test_four_captions_joined():
    scores = {
        n: FOUND[n]["long"]["4"]
        for n in ("transformer", "rnnsearch", "diagonal")
    }
    transformer, search, diagonal = (row["bleu"] for row in scores.values())
    assert transformer < search - 5 and search < diagonal < search + 2
    for name in PATH:
        row = FOUND[name]["long"]["4"]
        assert row["stops"] < 1.2 and row["stops_wanted"] > 3.5


def test_what_other_chapters_say_of_the_way_back():
    one, four = step("self-attention")["gain"], step("heads")["gain"]
    assert 0.37 < four / -one < 0.43  # heads: "about two fifths"
    sizes = [
        FOUND[n]["runs"][0]["parameters"] for n in ("self-attention", "heads")
    ]
    assert sizes[0] == sizes[1]
    for count in ("2", "3", "4"):  # scores: "by several times as much"
        added, product = (FOUND[n]["long"][count] for n in ("rnnsearch", "dot"))
        apart = max(added["each"]) - min(added["each"])
        assert min(added["each"]) - product["bleu"] > 2 * apart
        assert max(product["each"]) < min(added["each"])
    lowest, highest = zip(
        *(
            (each.index(min(each)), each.index(max(each)))
            for each in (FOUND["rnnsearch"]["long"][n]["each"] for n in "234")
        ),
        strict=True,
    )
    assert (lowest, highest) == ((0, 1, 1), (1, 0, 2))  # of its table


def test_the_product_s_looks_are_not_the_worse_ones():
    found = records.load("alignment")["results"]
    product, added = (
        [run["aer"] for run in found[name]["runs"]]
        for name in ("dot", "additive")
    )
    assert len(product) == len(added) == 3 and max(product) < min(added)
    for name, rung in (("dot", "dot"), ("additive", "rnnsearch")):
        small = Parts(**found[name]["runs"][0]["config"])
        made = alignment.rung(rung)(small.source_vocab, small.target_vocab)
        assert made.config == small
        changed = differences(RUNGS[rung].parts, small)
        assert set(changed) == {"source_vocab", "target_vocab", "width"}
        assert changed["width"] == (128, 64)  # "half as wide"


def away(name, kind="greedy"):
    """What the best Transformer's score changes by without a part."""
    place = REMOVAL[name]["tests"]["all"]
    return (place if kind == "greedy" else place[kind])["change"]


def test_every_part_was_taken_away_alone():
    whole = BEST[BEST["transformer"]["trial"]]["runs"]
    assert len(whole) == 5 and {*REMOVAL} == {*REMOVALS}
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
    for name in (*missed, "smoothing"):
        for kind in ("greedy", "beam"):
            assert away(name, kind)["high"] < 0, name
            assert away(name, kind)["p"] < 0.001
    assert away("dropout")["gain"] < away("smoothing")["gain"]
    learned = away("positions, learned")
    assert learned["low"] < 0 < learned["high"]  # "no verdict"
    assert learned["gain"] > 0  # and to the coins a gain
    assert step("feedforward")["high"] < 0  # "had cost points"
    for name in ("positions", "heads", "sum", "norm"):  # "are of use"
        assert step(name)["low"] > 0, name
    assert step("depth")["low"] < 0 < step("depth")["high"]
    sizes = {
        name: REMOVAL[name]["runs"][0]["parameters"]
        for name in ("depth", "feedforward", "feedforward, 7 layers")
    }
    full = REMOVAL["smoothing"]["runs"][0]["parameters"]
    assert sizes["depth"] < 0.6 * full
    assert sizes["feedforward"] < 2 / 3 * full  # "more than a third"
    assert sizes["feedforward, 7 layers"] == pytest.approx(full, rel=0.01)
    most = away("feedforward, 7 layers")  # "come no nearer"
    assert most["gain"] < away("feedforward")["gain"] and most["high"] < 0


def test_without_its_sums_the_best_transformer_cannot_translate():
    without = "residual, one layer"
    for way in ("", ", slowly", ", no dropout"):
        assert REMOVAL[f"residual{way}"]["tests"]["all"]["bleu"] < 0.05
    [slow] = REMOVAL["residual, slowly"]["runs"]
    said = slow["tests"]["test_2016_flickr"]["greedy"]["first"].split()
    assert {*said} == {"homme"} and len(said) > 20
    # with one layer the sums are worth points, by both rulers
    shallow = {name: REMOVAL[name]["runs"] for name in ("depth", without)}
    for kind in ("greedy", "beam"):
        found = compare_runs(shallow, "depth", without, "all", kind)
        assert found["high"] < -5 and found["p"] < 0.001
    [one] = REMOVAL[without]["runs"]
    assert one["config"]["layers"] == 1 and not one["config"]["residual"]
    first = one["tests"]["test_2016_flickr"]["greedy"]["first"]
    assert first == "un homme avec un chapeau orange regarde quelque chose ."
    # on the ladder a machine of one layer could translate without the sum
    assert score("feedforward") > 30 and step("sum")["gain"] > 8
    assert FOUND["feedforward"]["runs"][0]["config"]["layers"] == 1
    toy = records.load("depth")["results"]["by_depth"]
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
    for name in ("norm, behind", "warmup", "scale"):
        assert away(name)["high"] < -20  # at the whole's rate
    for name in ("norm, behind, slowly", "warmup, slowly"):
        change = beside(name)["change"]
        assert -1.6 < change["low"] < 0 < change["high"] and change["p"] > 0.2
    for kind in ("greedy", "beam"):
        change = beside("scale, slowly", kind)["change"]
        assert change["high"] < -3 and change["p"] < 0.001
    assert -5.5 < beside("scale, slowly")["change"]["gain"] < -4.5
    gain = BEST["transformer"]["tests"]["all"]["bleu"] - level
    assert 1.4 < gain < 1.7  # "a point and a half"


def test_without_dropout_the_captions_are_learned_by_heart():
    [run] = REMOVAL["dropout"]["runs"]
    curve = run["curve"]
    later = curve[run["best_epoch"] - 1 :]
    assert len(curve) == 24 and len(later) > 10
    assert [each["loss"] for each in later] == sorted(
        each["loss"] for each in later
    )  # "rises from then on"
    falling = [each["train_loss"] for each in curve]
    assert falling == sorted(falling, reverse=True)


def test_without_its_norms_the_best_transformer_becomes_no_number():
    [run] = REMOVAL["norm"]["runs"]
    assert run["diverged"] and "tests" not in REMOVAL["norm"]
    [slow] = REMOVAL["norm, slowly"]["runs"]
    assert len(slow["curve"]) == 3 and slow["config"]["norm"] == "none"
    assert "tests" not in REMOVAL["norm, slowly"]


def lead(name, split="all", kind="greedy"):
    """What the Transformer has more than RNNsearch, each at its best."""
    place = BEST[name]["tests"][split]
    place = place if kind == "greedy" else place[kind]
    return place["over_rnnsearch"]


def test_both_were_asked_as_much():
    trials = [label for stage in STAGES for label in stage]
    assert len(trials) == 7  # "seven trials"
    for name in FAMILIES:
        parts = [f"{name}, {label}" for label in trials]
        tried = {part: BEST[part]["runs"][0] for part in parts}
        assert BEST[name]["trial"] == best_of(name, tried)
        assert BEST[name]["setting"] == tried[BEST[name]["trial"]]["setting"]
        for run in tried.values():
            assert run["training"]["epochs"] == len(run["curve"]) == 24
    ladder = FOUND["transformer"]["runs"][0]["training"]["epochs"]
    assert 2 * ladder == BEST["transformer"]["setting"]["rounds"]  # "as many"
    rates = [1e3 * run["training"]["learning_rate"] for run in tried.values()]
    assert 1e3 * BEST["transformer"]["setting"]["rate"] == max(rates)


def test_rnnsearch_hardly_minds_its_dropout_and_the_transformer_does():
    def bleu_of(name, label):
        return BEST[f"{name}, {label}"]["runs"][0]["val"]["bleu"]

    tenths = [bleu_of("rnnsearch", f"dropout 0.{n}") for n in (1, 2, 3, 4)]
    assert max(tenths) - min(tenths) < 2
    three = bleu_of("transformer", "dropout 0.3")
    for n in (1, 2):  # "minds a great deal"
        assert bleu_of("transformer", f"dropout 0.{n}") > three + 2
    slower, faster = (
        bleu_of(name, "rate 8e-3")
        - bleu_of(name, f"dropout {BEST[name]['setting']['dropout']}")
        for name in FAMILIES
    )
    assert -3.5 < slower < -2.5 and faster > 0  # "loses three points"
    used = FOUND["rnnsearch"]["runs"][0]["config"]["dropout"]
    near = [BEST[name]["setting"]["dropout"] for name in FAMILIES]
    assert BEST["rnnsearch"]["setting"]["rate"] == 4e-3
    assert (used, *near) == (0.3, 0.2, 0.2)


def test_how_far_both_are_from_their_starred_settings():
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
    assert max(scores, key=scores.get) == "transformer, dropout 0.1"


def test_each_at_its_best():
    greedy, beam = lead("transformer"), lead("transformer", kind="beam")
    assert greedy["low"] > 0 and greedy["p"] < 0.05
    for split in corpus.TESTS:  # "on its own, two of them only just"
        alone = lead("transformer", split)
        assert alone["low"] > 0 and alone["p"] < 0.05
    ends = [lead("transformer", split)["low"] for split in corpus.TESTS]
    assert [low < 0.1 for low in ends] == [False, True, True]
    assert -0.1 < beam["low"] < 0 < beam["high"]  # "just includes 0"
    on_cpu = {
        name: [
            run.get("device", "CPU").startswith("CPU")
            for run in BEST[BEST[name]["trial"]]["runs"]
        ]
        for name in FAMILIES
    }
    assert on_cpu["rnnsearch"] == [False, True, True]
    assert not any(on_cpu["transformer"])
    helped = {
        name: BEST[name]["tests"]["all"]["beam"]["bleu"]
        - BEST[name]["tests"]["all"]["bleu"]
        for name in FAMILIES
    }
    assert helped["rnnsearch"] > helped["transformer"]
    losses = [
        [cross_entropy(run, "all") for run in BEST[BEST[name]["trial"]]["runs"]]
        for name in FAMILIES
    ]
    assert min(losses[0]) > max(losses[1]) + 0.05  # "is ahead of each"
    level = [
        BEST[f"{name}, dropout 0.3"]["runs"][0]["val"]["bleu"]
        for name in FAMILIES
    ]
    assert abs(level[0] - level[1]) < 0.5
    over = FOUND["transformer"]["tests"]["all"]["over_rnnsearch"]
    assert over["high"] < 0  # the order that turns round


def test_how_they_grow():
    few, some = (
        GROWTH[f"transformer, {n}"]["tests"]["all"]["over_rnnsearch"]
        for n in (3000, 10_000)
    )
    assert few["low"] > 0 > some["high"] and max(few["p"], some["p"]) < 0.05
    all_of_them = FOUND["transformer"]["tests"]["all"]["over_rnnsearch"]
    assert few["gain"] > some["gain"] > all_of_them["gain"]
    for name in FAMILIES:
        for run in GROWTH[f"{name}, 3000"]["runs"]:
            assert set(run["tried"]) == {"25", "50"}
            assert run["training"]["epochs"] == 50  # "in 25 to 50 rounds"
        for run in GROWTH[f"{name}, 10000"]["runs"]:
            assert run["training"]["epochs"] == 25


def test_what_joined_captions_teach():
    names = ("fixed", "diagonal", "rnnsearch", "norm", "transformer")
    joined = {name: GROWTH[f"{name}, joined"] for name in names}
    four = {name: each["long"]["4"]["bleu"] for name, each in joined.items()}
    one = joined["rnnsearch"]["tests"]["test_2016_flickr"]["bleu"]
    assert four["rnnsearch"] > one - 0.5  # "as well as one"
    assert (
        four["rnnsearch"] > max(four[n] for n in names if n != "rnnsearch") + 8
    )
    falling = [joined["fixed"]["long"][n]["bleu"] for n in "234"]
    assert falling == sorted(falling, reverse=True)
    for name, each in joined.items():
        assert each["long"]["4"]["stops"] > 3.5  # they go on
        assert FOUND[name]["long"]["4"]["stops"] < 1.2
        place = each["tests"]["all"]["bleu"]
        assert place < score(name) - 5  # "already does so"
    steps = [
        run["curve"][-1]["step"]
        for run in (joined["norm"]["runs"][0], FOUND["norm"]["runs"][0])
    ]
    assert 0.37 < steps[0] / steps[1] < 0.43  # "two fifths"
