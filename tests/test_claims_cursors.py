"""What the chapter `cursors` says of its records."""

import math
from itertools import pairwise

from lookback.experiments.rungs import rows
from lookback.lab import records
from lookback.significance import factors

RESULTS = records.load("cursors")["results"]
FOUND = {name: row for name, row in RESULTS.items() if name != "cost"}


def clauses(name, count):
    """BLEU at so many clauses, one for each seed."""
    runs = FOUND[name]["runs"]
    place = [1, 2, 3, 4, 6, 8].index(count)
    assert all(run["by_clauses"][place]["clauses"] == count for run in runs)
    return [run["by_clauses"][place]["bleu"] for run in runs]


def kinds(name, kind):
    """Of words of this kind, the share that is right, for each seed."""
    rows = [run["by_kind"][kind] for run in FOUND[name]["runs"]]
    return [row["right"] / row["words"] for row in rows]


def test_every_machine_has_three_seeds_and_as_many_weights():
    sizes = [found["parameters"] for found in FOUND.values()]
    assert all(len(found["runs"]) == 3 for found in FOUND.values())
    assert max(sizes) < 1.02 * min(sizes)


def test_long_sentences_are_the_cursors():
    """In every seed, and the diagonal is before every soft look."""
    for count in (6, 8):
        looks = ("rnnsearch", "inside", "outside", "afresh")
        others = [clauses(n, count) for n in looks]
        best = max(max(each) for each in others)
        assert min(clauses("cursors", count)) > best + 20
        assert min(clauses("cursors", count)) > 90
        assert min(clauses("diagonal", count)) > best


def test_as_long_as_in_training_the_two_are_level():
    assert (
        abs(
            FOUND["cursors"]["clauses"]["2"]["mean"]
            - FOUND["rnnsearch"]["clauses"]["2"]["mean"]
        )
        < 2
    )


def test_without_its_walk_the_machine_is_lost():
    """Even at lengths that it was trained on; and it writes too much."""
    afresh = FOUND["afresh"]["clauses"]
    assert afresh["3"]["words"] < 30
    assert max(clauses("afresh", 3)) < min(clauses("cursors", 3)) - 5
    assert max(clauses("afresh", 8)) < 45 and afresh["8"]["length"] > 1.15
    assert FOUND["rnnsearch"]["clauses"]["8"]["length"] < 0.8
    assert (
        abs(afresh["2"]["mean"] - FOUND["rnnsearch"]["clauses"]["2"]["mean"])
        < 2
    )
    for name, found in FOUND.items():
        assert found["aer"]["mean"] > FOUND["afresh"]["aer"]["mean"] or (
            name == "afresh"
        )


def test_the_cursors_do_not_end_behind_and_look_worse():
    cursors, search = FOUND["cursors"], FOUND["rnnsearch"]
    assert abs(cursors["bleu"]["mean"] - search["bleu"]["mean"]) < 1
    for one in cursors["runs"]:
        assert all(one["aer"] > other["aer"] for other in search["runs"])
        assert one["aer_posterior"] > search["aer"]["mean"]


def test_three_words_back_is_too_far():
    one, two, three = (
        FOUND["cursors"]["kinds"][f"back {n}"]["mean"] for n in (1, 2, 3)
    )
    assert round(one, 2) == round(two, 2) > three + 0.04
    assert min(kinds("rnnsearch", "back 3")) > max(kinds("cursors", "back 3"))
    plain, others = (
        sum(
            row["words"]
            for kind, row in FOUND["cursors"]["runs"][0]["by_kind"].items()
            if (kind == "plain") == yes
        )
        for yes in (True, False)
    )
    assert 6 < plain / others < 8  # seven words in eight


def test_pronouns_make_no_difference_that_could_be_relied_on():
    cursors, search = (
        FOUND[name]["kinds"]["pronoun"] for name in ("cursors", "rnnsearch")
    )
    gap = cursors["mean"] - search["mean"]
    assert abs(gap) < cursors["spread"] + search["spread"]


def test_outside_learns_faster_and_the_cursors_fastest():
    def after(name, rounds):
        runs = FOUND[name]["runs"]
        return sum(run["curve"][rounds - 1]["score"] for run in runs) / 3

    for rounds in (2, 3):
        assert after("inside", rounds) + 5 < after("outside", rounds)
        assert after("outside", rounds) + 5 < after("cursors", rounds)
    best = [
        sum(max(row["score"] for row in run["curve"]) for run in found["runs"])
        for name, found in FOUND.items()
        if name != "diagonal"
    ]
    assert (max(best) - min(best)) / 3 < 2


def test_neither_side_of_the_softmax_helps_on_long_sentences():
    for name in ("inside", "outside"):
        assert max(clauses(name, 8)) < 40


def test_the_longer_the_sentence_the_smaller_the_difference_in_cost():
    for run in RESULTS["cost"]["runs"]:
        short, long = run["rows"][0], run["rows"][-1]
        for what in ("seconds", "kept"):
            first, last = (
                row[what]["cursors"] / row[what]["rnnsearch"]
                for row in (short, long)
            )
            assert first > 1.4 and last < 1.2


GROWTH = records.load("growth")["results"]
SETS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "all")


def few(name, split="all"):
    return GROWTH[f"{name}, 3000"]["tests"][split]


def test_from_few_captions_the_cursors_make_more():
    """By both rulers, on every test set, and with every seed."""
    for name in ("cursors", "outside", "rnnsearch"):
        assert len(GROWTH[f"{name}, 3000"]["runs"]) == 3
    for split in SETS:
        step = few("cursors", split)["over_rnnsearch"]
        assert step["low"] > 0 and step["p"] < 0.001
    outside = few("outside")["over_rnnsearch"]
    assert outside["low"] > 0 and outside["p"] < 0.001
    least, most = (
        few("cursors")["bleu"] - 3 * few("cursors")["spread"],
        few("rnnsearch")["bleu"] + 2 * few("rnnsearch")["spread"],
    )
    assert least > most


def test_a_round_of_few_captions_is_few_updates():
    for run in GROWTH["rnnsearch, 3000"]["runs"]:
        assert run["curve"][0]["step"] == 24
        assert run["curve"][-1]["step"] == 24 * len(run["curve"])


def test_no_training_was_cut_while_its_rate_still_rose():
    """Older runs did not know of this rule, and did not need it."""
    sizes = {"3000": 3000, "10000": 10_000}
    for part, result in (*GROWTH.items(), *ALL.items()):
        pairs = sizes.get(part.split(", ")[-1], 29_000)
        per_round = math.ceil(pairs / 128)
        for run in result["runs"]:
            if "step" in run["curve"][0]:
                continue
            rising = math.ceil(run["training"]["warmup"] / per_round)
            scores = [row["score"] for row in run["curve"][:rising]]
            for one, two in pairwise(scores):
                assert two >= one + 0.01, (part, run["seed"])


ALL = records.load("rungs")["results"]


def test_from_all_captions_three_seeds_do_not_settle_it():
    """Neither greedily nor with a beam; nobody is known to be behind."""
    tests = ALL["cursors"]["tests"]["all"]
    for name in ("cursors", "rnnsearch", "outside"):
        assert len(ALL[name]["runs"]) == 3
    for over in (tests["over_rnnsearch"], tests["beam"]["over_rnnsearch"]):
        assert over["low"] < 0 < over["gain"] < over["high"]


def test_one_of_rnnsearchs_trainings_had_bad_luck():
    """A bad round, and two whose gains were below a hundredth of a nat."""
    runs = ALL["rnnsearch"]["runs"]
    scores = [row["score"] for row in runs[1]["curve"]]
    gains = {n: scores[n - 1] - max(scores[: n - 1]) for n in (5, 8, 10)}
    assert gains[5] < 0 < min(gains[8], gains[10])
    assert max(gains.values()) < 0.01 and len(scores) == 10
    others = (runs[0]["best_epoch"], runs[2]["best_epoch"])
    assert runs[1]["best_epoch"] == 10 < min(others) - 2


def per_seed(name, part):
    """What a factor of BLEU is on all three sets, for each seed."""
    sums = [rows(run, "all").sum(0) for run in ALL[name]["runs"]]
    return [factors(each)[part].item() for each in sums]


def test_they_differ_in_how_they_err():
    """In every seed."""
    assert min(per_seed("cursors", 0)) > max(per_seed("rnnsearch", 0))
    assert max(per_seed("cursors", 1)) < min(per_seed("rnnsearch", 1))


def test_joined_captions_are_run_together():
    """From few captions the lead is there; from all it cannot be relied on."""
    few_joined = [
        GROWTH[f"{name}, 3000"]["long"]["4"]
        for name in ("cursors", "rnnsearch")
    ]
    gap = few_joined[0]["bleu"] - few_joined[1]["bleu"]
    assert gap > 2 * (few_joined[0]["spread"] + few_joined[1]["spread"])
    cursors, search = (ALL[n]["long"]["4"] for n in ("cursors", "rnnsearch"))
    assert abs(cursors["bleu"] - search["bleu"]) < cursors["spread"]
    assert cursors["precision"] > search["precision"] + 5
    assert cursors["brevity"] < search["brevity"]
    assert max(cursors["stops"], search["stops"]) < 1
    assert cursors["stops_wanted"] > 3.5


def test_what_becomes_of_four_captions():
    one = ALL["cursors"]["long"]["4"]["first"][0]
    for piece in (
        *("chapeau orange", "herbe verte", "clôture blanche", "karaté"),
        *("coup de pied", "vestes", "casques", "neige", "raquettes"),
    ):
        assert piece in one
    for lost in ("fille", "bâton", "cinq"):
        assert lost not in one
    other = ALL["rnnsearch"]["long"]["4"]["first"][0]
    for found in (
        "regarde un coup de pied",
        "yeux du vélo",
        "perruque blanche",
    ):
        assert found in other


def test_all_share_settings_and_weights():
    sizes = [
        ALL[n]["runs"][0]["parameters"]
        for n in ("cursors", "rnnsearch", "outside")
    ]
    assert max(sizes) < 1.01 * min(sizes)
    settings = {
        str(run["training"] | {"seed": 0})
        for runs in (*ALL.values(), *GROWTH.values())
        for run in runs["runs"]
    }
    assert len(settings) == 1
