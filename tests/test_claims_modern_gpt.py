"""What the chapter `modern_gpt` says of its record, seed by seed."""

import math
from dataclasses import asdict
from itertools import pairwise
from statistics import mean, median, stdev

import pytest
from saying import said

from lookback.experiments import modern_gpt
from lookback.lab import records
from lookback.modern_gpt import GPT, cache_bytes

RECORD = records.load("modern_gpt")
RESULTS = RECORD["results"]
OWN = str(modern_gpt.LENGTHS[0])


def nats(name, length=OWN):
    return [run["nats"][str(length)] for run in RESULTS[name]["runs"]]


def gains(name):
    return RESULTS[name]["gain"]["each"]


def interval(name):
    """The 95 % interval of a gain, as the page's table has it."""
    half = 4.303 * stdev(gains(name)) / 3**0.5
    return mean(gains(name)) - half, mean(gains(name)) + half


def test_every_change_and_every_size_has_three_seeds():
    assert RECORD["seeds"] == [0, 1, 2] and modern_gpt.SEEDS == 3
    names = set(modern_gpt.parts())
    assert names | {"lines"} == set(RESULTS)
    said("modern_gpt", "and there are three seeds")
    for name in names:
        assert [run["seed"] for run in RESULTS[name]["runs"]] == [0, 1, 2]
        if name != "clock":
            assert len(gains(name)) == 3 == len(nats(name))
            assert RESULTS[name]["gain"]["spread"] is not None
            assert RESULTS[name]["nats"][OWN]["spread"] is not None
    for name in modern_gpt.FAR:
        for length in modern_gpt.LENGTHS:
            assert len(nats(name, length)) == 3
    said("modern_gpt", "over three seeds of each size")
    for line in RESULTS["lines"].values():
        sizes = [x for x, _ in line["points"]]
        assert len(sizes) == 12 and all(sizes.count(x) == 3 for x in sizes)


def test_every_change_has_its_weights():
    for name, config in modern_gpt.CHANGES.items():
        weights = sum(p.numel() for p in GPT(config).parameters())
        assert RESULTS[name]["parameters"] == weights
    old = RESULTS["2017"]["parameters"]
    said("modern_gpt", "The experts, with nearly three times the weights")
    assert 2.7 * old < RESULTS["experts"]["parameters"] < 3 * old
    said("modern_gpt", "a gate, for as many weights")
    assert abs(RESULTS["SwiGLU"]["parameters"] / old - 1) < 0.01


def test_the_first_seed_chose_the_rate_on_the_validation_text():
    said(
        "modern_gpt", "and a validation text chooses between them for all three"
    )
    for name in modern_gpt.CHANGES:
        first, *others = RESULTS[name]["runs"]
        assert len(first["attempts"]) == len(modern_gpt.RATES)
        best = min(first["attempts"], key=lambda one: one["valid"])
        assert first["rate"] == best["rate"]
        for run in others:
            assert [one["rate"] for one in run["attempts"]] == [best["rate"]]


def test_turned_places_and_slopes_are_clear_of_chance():
    said("modern_gpt", "Taken alone, both intervals stay away from 0")
    assert {
        n for n in modern_gpt.CHANGES if interval(n)[0] > 0 and n != "2017"
    } == {
        "RoPE",
        "ALiBi",
    }
    said("modern_gpt", "about an eighth more probability for the correct")
    assert 1.11 < math.exp(mean(gains("RoPE"))) < 1.14
    said("modern_gpt", "and by more than a tenth of a nat with every seed")
    assert min(gains("RoPE")) > 0.1


def test_today_gains_no_more_than_turned_places_and_one_seed_learned_badly():
    said("modern_gpt", "Three seeds cannot tell that model")
    apart = [a - b for a, b in zip(gains("today"), gains("RoPE"), strict=True)]
    assert min(apart) < 0 < max(apart)
    bad, *others = sorted(gains("today"))
    said("modern_gpt", "One of its seeds learned badly")
    assert bad < min(others) / 2
    last = RESULTS["today"]["runs"][gains("today").index(bad)]["attempts"]
    assert min(one["valid"] for one in last) > 1.95
    changed = [
        name
        for name, value in asdict(modern_gpt.TODAY).items()
        if value != asdict(modern_gpt.OLD)[name]
    ]
    said("modern_gpt", "and in the last row five together")
    said("modern_gpt", "that model, RoPE and four changes, from RoPE")
    assert len(changed) == 5 and "positions" in changed


@pytest.mark.parametrize(
    ("name", "sign"), [("SwiGLU", 1), ("GELU", 1), ("MQA", -1), ("today", 1)]
)
def test_four_rows_lean_with_every_seed_and_their_intervals_reach_zero(
    name, sign
):
    said("modern_gpt", "In four more rows every seed points the same way")
    assert all(sign * one > 0 for one in gains(name))
    low, high = interval(name)
    said("modern_gpt", "but the interval reaches 0")
    assert low < 0 < high
    said("modern_gpt", "with a quarter of the cache, looks worse")
    said("modern_gpt", "its interval only just reaches 0")
    assert 0 < interval("MQA")[1] < 0.001
    assert 4 * modern_gpt.CHANGES["MQA"].kv_heads == modern_gpt.OLD.kv_heads


def test_for_all_rows_at_once_rope_is_clear_and_alibi_just_fails():
    """Bonferroni's t for two degrees of freedom, in closed form."""
    p = 1 - 0.05 / 11 / 2
    t = (2 * p - 1) / (2 * p * (1 - p)) ** 0.5
    assert (2 * 0.975 - 1) / (2 * 0.975 * 0.025) ** 0.5 == pytest.approx(
        4.303, abs=1e-3
    )

    def low(name):
        return mean(gains(name)) - t * stdev(gains(name)) / 3**0.5

    said(
        "modern_gpt",
        "wide enough for all eleven together, RoPE's still stays away",
    )
    said("modern_gpt", "and ALiBi's just reaches it")
    said(
        "modern_gpt",
        "One change is clear of chance, and a second is on the edge",
    )
    assert low("RoPE") > 0 and -0.005 < low("ALiBi") < 0


def test_every_row_is_in_one_of_the_three_groups():
    clear = {"RoPE", "ALiBi"}
    leaning = {"SwiGLU", "GELU", "MQA", "today"}
    nothing = {"pre-norm", "RMSNorm", "GQA", "experts", "window"}
    said("modern_gpt", "Eleven rows are eleven chances for luck")
    assert len(clear | leaning | nothing) == 11
    assert clear | leaning | nothing == set(modern_gpt.CHANGES) - {"2017"}
    said("modern_gpt", "which makes its interval the widest")
    assert max(modern_gpt.CHANGES, key=lambda n: stdev(gains(n))) == "today"


@pytest.mark.parametrize(
    "name", ["pre-norm", "RMSNorm", "GQA", "experts", "window"]
)
def test_five_rows_bought_nothing_that_can_be_seen(name):
    said("modern_gpt", "Five show nothing")
    assert min(gains(name)) < 0 < max(gains(name))
    low, high = interval(name)
    assert low < 0 < high
    said("modern_gpt", "grouped queries halve the cache")
    assert 2 * modern_gpt.CHANGES["GQA"].kv_heads == modern_gpt.OLD.kv_heads
    said("modern_gpt", "and the window hides all but 16 letters")
    said("modern_gpt", "nearly three times the weights, gained nothing")
    assert modern_gpt.CHANGES["window"].window == 16


def test_two_of_the_five_could_hide_most_of_a_loss():
    said("modern_gpt", "room for most of the loss that multi-query attention")
    for name in ("GQA", "window"):
        assert interval(name)[0] < 0.7 * mean(gains("MQA")) < 0


def test_beyond_its_length_the_waves_are_lost_and_turning_bends_and_breaks():
    said("modern_gpt", "The sine waves fail at once")
    for short, far in zip(nats("2017"), nats("2017", 128), strict=True):
        assert far > short + 0.5
    said(
        "modern_gpt",
        "it gets worse, then fails, and the model with all five changes",
    )
    for name in ("RoPE", "today"):
        for a, b, c in zip(
            nats(name), nats(name, 128), nats(name, 256), strict=True
        ):
            assert a + 0.05 < b < a + 0.6 and c > a + 0.7
    said("modern_gpt", "A window of 16 does not save it")
    for short, far in zip(nats("window"), nats("window", 128), strict=True):
        assert far > short + 0.3


@pytest.mark.parametrize("length", modern_gpt.LENGTHS)
def test_slopes_stay_level(length):
    said("modern_gpt", "ALiBi stays where it was")
    for short, far in zip(nats("ALiBi"), nats("ALiBi", length), strict=True):
        assert abs(far - short) < 0.01


def test_experts_are_sorted_by_letters_and_not_by_passages():
    said("modern_gpt", "less, but again most")
    said("modern_gpt", "the letter being read tells most about the expert")
    for run in RESULTS["experts"]["runs"]:
        first, second = run["experts"]
        assert first["letter"] > 0.65 * first["entropy"]
        assert first["letter"] > 4 * first["before"]
        assert second["letter"] > 2 * second["before"]
        for layer in (first, second):
            assert layer["passage"] < 0.02 < layer["before"] < layer["letter"]


def test_bits_of_the_expert():
    """What is needed is nearly the two bits of four equally busy experts."""
    runs = [run["experts"] for run in RESULTS["experts"]["runs"]]
    said("modern_gpt", "equally busy experts takes two bits")
    for layer in (layer for run in runs for layer in run):
        assert modern_gpt.CHANGES["experts"].experts == 4
        assert 1.95 < layer["entropy"] <= 2
        assert layer["letter"] < layer["entropy"]
    busy = sorted(layer["entropy"] for run in runs for layer in run)
    said("modern_gpt", "takes two bits; here it takes … to …")
    assert busy[0] == runs[0][1]["entropy"]
    assert f"{busy[-1]:.2f}" == f"{runs[2][0]['entropy']:.2f}"
    said("modern_gpt", "letters around it less than 0.01")
    assert all(run[0]["passage"] < 0.01 for run in runs)
    said("modern_gpt", "In the second layer the letter gives …, … and …: less")
    assert all(run[1]["letter"] < run[0]["letter"] for run in runs)


def test_what_the_model_of_today_goes_on_with():
    """A name and a colon; after 100 letters words that are none."""
    words = RESULTS["today"]["runs"][0]["said"]
    said("modern_gpt", "with all five changes is given a name and a colon")
    assert modern_gpt.PROMPT.endswith(":\n")
    assert words.startswith(modern_gpt.PROMPT)
    said("modern_gpt", "and only that, in windows of sixty-four letters")
    assert modern_gpt.CONTEXT == 64
    said("modern_gpt", "Some words are invented within the first sixty-four")
    assert {"remhis", "meardon,"} < {*words[:64].split()}
    said("modern_gpt", "after about a hundred letters nearly all are")
    late = words[100:].split()
    invented = [word for word in late if word not in ("a", "anon")]
    assert len(late) == len(invented) + 2 and len(invented) > 15


def test_the_cache_has_its_bytes_and_saves_time():
    clock = RESULTS["clock"]
    said("modern_gpt", "Does the cache hold what the formula says")
    for count in modern_gpt.WRITTEN:
        one = clock[str(count)]
        kv_heads, layers = modern_gpt.TODAY.kv_heads, modern_gpt.TODAY.layers
        assert one["bytes"] == cache_bytes(layers, kv_heads, 16, count, 4)
    said("modern_gpt", "… with it, … times as fast (the middle one of three")
    assert clock["512"]["ratio"] > clock["128"]["ratio"] > 1
    pairs = [run["written"]["512"] for run in clock["runs"]]
    times = [one["anew"] / one["cached"] for one in pairs]
    assert times[0] == median(times) and len(times) == 3
    assert times[0] == pytest.approx(clock["512"]["ratio"], rel=1e-6)
    said("modern_gpt", "For one text on one CPU core")
    assert RECORD["device"].startswith("CPU") and "1 thread" in RECORD["device"]
    said("modern_gpt", "the time grows almost fourfold")
    assert 3.4 < clock["512"]["anew"] / clock["256"]["anew"] < 4.1
    said("modern_gpt", "With the cache it only doubles")
    assert 1.7 < clock["512"]["cached"] / clock["256"]["cached"] < 2.3


def means(line):
    """The mean loss of every size, from the smallest on."""
    sizes = sorted({x for x, _ in line["points"]})
    return [(x, mean(y for z, y in line["points"] if z == x)) for x in sizes]


def test_the_loss_falls_with_weights_and_letters_and_bends_away():
    said("modern_gpt", "the dots curve away from the line")
    said("modern_gpt", "differ by a factor of fifty at most")
    for line in RESULTS["lines"].values():
        assert line["slope"] < -3 * line["error"] < 0
        found = means(line)
        assert 8 <= found[-1][0] / found[0][0] < 50
        slopes = [
            math.log(b[1] / a[1]) / math.log(b[0] / a[0])
            for a, b in pairwise(found)
        ]
        said(
            "modern_gpt",
            "each step to the right gains less than the one before",
        )
        assert slopes == sorted(slopes) and slopes[-1] < 0
        for end, sign in ((0, 1), (1, -1), (2, -1), (3, 1)):
            x, y = found[end]
            line_there = line["start"] + line["slope"] * math.log(x)
            assert sign * (math.log(y) - line_there) > 0


def test_what_the_pictures_are_said_to_show():
    found = {name: RESULTS[name]["nats"] for name in modern_gpt.FAR}
    at = {n: {k: v["mean"] for k, v in one.items()} for n, one in found.items()}
    said("modern_gpt", "ALiBi stays level at 2.0")
    assert all(abs(x - 2.0) < 0.05 for x in at["ALiBi"].values())
    said("modern_gpt", "jump to about 3 at 128 letters, those with a window")
    for length in ("128", "256", "512"):
        assert at["2017"][length] > 3 > at["window"][length] > 2.6
    said("modern_gpt", "are lowest at 64, a little above 2 at 128")
    for name in ("RoPE", "today"):
        assert at[name][OWN] < 2 < at[name]["128"] < 2.2
        assert min(at[name]["256"], at[name]["512"]) > 3
    weights, letters = (means(one) for one in RESULTS["lines"].values())
    said("modern_gpt", "from about 2.3 nats with 8 thousand weights to 1.9")
    for points, ends in ((weights, (2.3, 1.9)), (letters, (2.3, 1.8))):
        assert [round(points[i][1], 1) for i in (0, -1)] == list(ends)
