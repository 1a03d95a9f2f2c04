"""What the chapter `transducer` says of its records."""

import pytest
from saying import said

from lookback.lab import phrasebook, records
from lookback.lab.significance import (
    chrf,
    pooled_counts,
    precision_and_brevity,
)

RESULTS = records.load("transducer")["results"]
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
    said("transducer", "Each was trained with three seeds")
    assert all(len(found["runs"]) == 3 for found in FOUND.values())
    said("transducer", "All are within 2 % of … parameters")
    assert max(sizes) < 1.02 * min(sizes)


def test_long_sentences_are_the_cursors():
    """In every seed, and the diagonal is before every soft look."""
    said("transducer", "Beyond those lengths they part")
    said("transducer", "puts it ahead of every look")
    said("transducer", "holds out longer than any machine that lands afresh")
    for count in (6, 8):
        looks = ("rnnsearch", "inside", "outside", "afresh")
        others = [clauses(n, count) for n in looks]
        best = max(max(each) for each in others)
        assert min(clauses("cursors", count)) > best + 20
        assert min(clauses("cursors", count)) > 90
        assert min(clauses("diagonal", count)) > best


def test_as_long_as_in_training_rnnsearch_is_a_little_ahead():
    said(
        "transducer",
        "well within the lengths of training, the look back is a little ahead",
    )
    for count in ("1", "2"):
        cursors, search = (FOUND[name]["clauses"][count] for name in PAIR)
        assert 0.5 < search["mean"] - cursors["mean"] < 2
        assert search["words"] < 20


def test_without_its_walk_the_machine_is_lost():
    afresh = FOUND["afresh"]["clauses"]
    said(
        "transducer", "… words on average and a quarter of the sentences longer"
    )
    assert afresh["3"]["words"] < 30
    said("transducer", "From three clauses on it falls apart")
    assert max(clauses("afresh", 3)) < min(clauses("cursors", 3)) - 5
    said("transducer", "has the lowest of all six")
    for name, found in FOUND.items():
        assert found["aer"]["mean"] > FOUND["afresh"]["aer"]["mean"] or (
            name == "afresh"
        )


def test_the_cursors_look_worse():
    cursors, search = FOUND["cursors"], FOUND["rnnsearch"]
    said(
        "transducer",
        "Where they look, the cursors err more often than RNNsearch",
    )
    for one in cursors["runs"]:
        assert all(one["aer"] > other["aer"] for other in search["runs"])


def test_three_words_back_is_too_far():
    one, two, three = (
        FOUND["cursors"]["kinds"][f"back {n}"]["mean"] for n in (1, 2, 3)
    )
    said("transducer", "One or two words back the cursors have … right")
    assert round(one, 2) == round(two, 2) > three + 0.04
    said("transducer", "where it would be three or more")
    assert min(kinds("rnnsearch", "back 3")) > max(kinds("cursors", "back 3"))
    spread = FOUND["afresh"]["kinds"]["back 3"]["spread"]
    said("transducer", "what it shares with the cursors is the blind pen")
    assert abs(FOUND["afresh"]["kinds"]["back 3"]["mean"] - three) < spread
    nearly = [kinds("rnnsearch", f"back {n}") for n in (1, 2)]
    said("transducer", "and RNNsearch nearly all")
    assert min(map(min, nearly)) > 0.98
    kinds_of = FOUND["cursors"]["runs"][0]["by_kind"]
    words = {kind: row["words"] for kind, row in kinds_of.items()}
    said("transducer", "fewer than one word in a hundred is of this kind")
    assert words["back 3"] < 0.01 * sum(words.values())


def test_losing_the_walk_costs_half_of_the_score():
    afresh, cursors = (
        FOUND[name]["clauses"]["8"]["mean"] for name in ("afresh", "cursors")
    )
    said(
        "transducer",
        "Losing the walk costs the cursors more than half of their score",
    )
    assert afresh < cursors / 2


def test_pronouns_cost_the_finger_nothing():
    """In every seed."""
    said("transducer", "The pronouns cost the cursors nothing")
    worst = min(kinds("cursors", "pronoun"))
    assert worst > max(kinds("rnnsearch", "pronoun")) + 0.02


def test_the_side_of_the_softmax_makes_less_difference():
    inside, outside, afresh, cursors = (
        FOUND[name]["clauses"]["8"]["mean"]
        for name in ("inside", "outside", "afresh", "cursors")
    )
    said("transducer", "The side of the softmax makes no such difference")
    assert abs(outside - inside) < (cursors - afresh) / 10


def test_the_longer_the_sentence_the_smaller_the_difference_in_cost():
    said("transducer", "The longer the sentences, the closer the two come")
    said("transducer", "at the longest sentences it costs as much or more")
    for run in RESULTS["cost"]["runs"]:
        short, long = run["rows"][0], run["rows"][-1]
        for what in ("seconds", "kept"):
            first, last = (
                row[what]["cursors"] / row[what]["rnnsearch"]
                for row in (short, long)
            )
            assert first > 1.3 and last < 1.1
        memory = [
            row["kept"]["cursors"] / row["kept"]["rnnsearch"]
            for row in run["rows"]
        ]
        assert memory == sorted(memory, reverse=True)
        assert memory[0] > 3 and memory[-1] == pytest.approx(1, abs=0.05)
        times = long["seconds"]
        assert 0.75 < times["cursors"] / times["rnnsearch"] < 1.1


@pytest.mark.nightly
def test_a_quarter_of_three_clauses_are_longer_than_any_in_training():
    tests = phrasebook.sample(200, seed=3, clauses=3)
    longer = sum(len(pair.source) > 30 for pair in tests)
    said("transducer", "a quarter of the sentences longer than any in training")
    assert 0.2 < longer / len(tests) < 0.3
    trained = phrasebook.sample(12_000, seed=0)
    said("transducer", "sentences of at most 30 words, the same settings")
    assert max(len(pair.source) for pair in trained) == 30


CAPTIONS = records.load("ladder")
ALL, RATE = CAPTIONS["results"], CAPTIONS["config"]["learning_rate"]
SETS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "all")
PAIR, LONGER = ("cursors", "rnnsearch"), "rnnsearch, 18 rounds"
OBJECTIONS = (LONGER, "beside")
MACHINES = (*PAIR, *OBJECTIONS)
SOFT = (*MACHINES[1:], "outside")  # every look that is not hard


def ahead(rival, split="all"):
    """What the cursors have more: greedy, and with a beam."""
    place = ALL[rival]["tests"][split]
    return place["cursors_over"], place["beam"]["cursors_over"]


def test_after_as_many_rounds_the_cursors_are_ahead():
    """Greedily on every test set alone, too; with a beam on all together."""
    said("transducer", "In French the cursors are ahead of RNNsearch")
    for split in SETS:
        greedy, _ = ahead("rnnsearch", split)
        assert greedy["low"] > 0 and greedy["p"] < 0.001
        assert 1 < greedy["gain"] < 2.5
        assert greedy == ALL["cursors"]["tests"][split]["over_rnnsearch"]
    _, beam = ahead("rnnsearch")
    said(
        "transducer", "after equally many rounds it is ahead in both languages"
    )
    assert beam["low"] > 0 and beam["p"] < 0.001


@pytest.mark.parametrize("rival", OBJECTIONS)
def test_either_objection_leaves_a_greedy_lead(rival):
    greedy, beam = ahead(rival)
    assert greedy["low"] > 0 and greedy["p"] < 0.01
    said(
        "transducer",
        "But answer either objection, and more than half of that is gone",
    )
    assert greedy["gain"] < 0.5 * ahead("rnnsearch")[0]["gain"]
    said(
        "transducer",
        "With a beam, with which all write better, BLEU cannot tell them apart",
    )
    assert -1 < beam["low"] < 0 < beam["high"] < 1
    said(
        "transducer",
        "Given as much time, or the words, the French look can no longer",
    )
    for split in SETS[:3]:
        one, other = ahead(rival, split)
        assert 0.3 < one["gain"] < 1.6
        assert other["low"] < 0 < other["high"] and abs(other["gain"]) < 0.6


def letters(found, kind="beam"):
    """chrF of all captions, for each seed."""
    return [chrf(run, "all", kind) for run in found["runs"]]


@pytest.mark.parametrize("rival", OBJECTIONS)
def test_in_letters_either_objection_puts_rnnsearch_ahead(rival):
    said("transducer", "both RNNsearches are ahead with every seed")
    assert min(letters(ALL[rival])) > max(letters(ALL["cursors"]))


def test_in_german_letters_agree_with_words():
    said(
        "transducer", "Adding the words does not close the gap, and chrF agrees"
    )
    for name in SOFT:
        if name in GERMAN:
            rival = letters(GERMAN[name])
            assert max(rival) < min(letters(GERMAN["cursors"]))


def test_outside_stands_between():
    """Greedily, in both languages, half of the way from one to the other."""
    said(
        "transducer",
        "So a machine that never walks closes about half of the gap",
    )
    for found in (ALL, GERMAN):
        assert len(found["outside"]["runs"]) == 3
        place = found["outside"]["tests"]["all"]
        behind, gained = place["cursors_over"], place["over_rnnsearch"]
        assert behind["low"] > 0 and gained["low"] > 0
        assert behind["p"] < 0.001 and gained["p"] < 0.001
        share = gained["gain"] / (gained["gain"] + behind["gain"])
        assert share == pytest.approx(0.5, abs=0.12)
        weights = [
            found[n]["runs"][0]["parameters"] for n in ("outside", *PAIR)
        ]
        assert max(weights) < 1.03 * min(weights)
        for run, other in zip(
            found["outside"]["runs"], found["cursors"]["runs"], strict=True
        ):
            assert run["training"] == other["training"]


def test_the_drawing_of_leads_is_as_it_is_described():
    """Which intervals contain 0: of three, those with a beam, in French."""
    unsure = [
        (language, name, kind)
        for language, found in (("fr", ALL), ("de", GERMAN))
        for name in SOFT
        if name in found
        for kind, place in (
            ("greedy", found[name]["tests"]["all"]),
            ("beam", found[name]["tests"]["all"]["beam"]),
        )
        if place["cursors_over"]["low"] < 0
    ]
    said("transducer", "with a beam only that over RNNsearch does")
    assert unsure == [("fr", name, "beam") for name in (*OBJECTIONS, "outside")]
    gaps = [
        GERMAN[name]["tests"]["all"]["cursors_over"]["gain"]
        for name in ("rnnsearch", "beside", "outside")
    ]
    assert gaps == sorted(gaps, reverse=True)


def test_the_diagonal_is_far_behind():
    """On every test set; of the same training, and of as many weights."""
    said("transducer", "behind the cursors (… to …), and in German")
    for split in SETS:
        for over in ahead("diagonal", split):
            assert over["low"] > 5 and over["p"] < 0.001
    place = GERMAN["diagonal"]["tests"]["all"]
    for over in (place["cursors_over"], place["beam"]["cursors_over"]):
        assert over["low"] > 5 and over["p"] < 0.001
    said("transducer", "with the same settings and three seeds")
    said("transducer", "All others are within 3 % of")
    for run in ALL["diagonal"]["runs"]:
        assert (
            run["training"] | {"seed": 0}
            == (ALL["cursors"]["runs"][0]["training"])
        )
        weights = ALL["rnnsearch"]["runs"][0]["parameters"]
        assert 0.97 < run["parameters"] / weights < 1


def test_words_beside_the_annotations_are_the_one_change():
    one, other = (ALL[name]["runs"] for name in ("rnnsearch", "beside"))
    assert len(other) == 3
    said("transducer", "which makes it 6 % larger")
    for run, same in zip(other, one, strict=True):
        assert run["training"] == same["training"]
        assert run["config"] == same["config"] | {"beside": True}
        assert not same["config"].get("beside")
        assert 1.05 < run["parameters"] / same["parameters"] < 1.065


def test_with_a_beam_every_machine_writes_better():
    said("transducer", "With a beam, with which all write better")
    for name in MACHINES:
        found = ALL[name]["tests"]["all"]
        assert found["beam"]["bleu"] > found["bleu"] + 1


def test_eighteen_rounds_are_as_long_and_else_the_same():
    times = [
        sum(run["train_seconds"] for run in ALL[name]["runs"])
        for name in ("cursors", LONGER)
    ]
    said("transducer", "A round takes the cursors one and a half times as long")
    assert times[1] == pytest.approx(times[0], rel=0.15)
    shared = {"epochs": 0, "patience": 0, "seed": 0}
    one, other = (ALL[n]["runs"] for n in ("rnnsearch", LONGER))
    assert len(other) == 3
    said(
        "transducer",
        "so one more RNNsearch, in French, reads the captions 18 times",
    )
    for run in other:
        assert run["training"] | shared == one[0]["training"] | shared
        assert run["config"] == one[0]["config"]
        assert len(run["curve"]) == run["training"]["epochs"] == 18


def test_both_read_all_captions_as_often():
    said("transducer", "Every machine reads all captions … times")
    for name in PAIR:
        assert len(ALL[name]["runs"]) == 3
        for run in ALL[name]["runs"]:
            config = run["training"]
            assert len(run["curve"]) == config["epochs"] == 12


def test_rnnsearch_is_the_slower_starter():
    """With every seed; and it never catches up."""
    curves = [
        [[row["loss"] for row in run["curve"]] for run in ALL[name]["runs"]]
        for name in PAIR
    ]
    said("transducer", "RNNsearch is the slower starter")
    said("transducer", "and most of that gap closes later")
    for cursors in curves[0]:
        for search in curves[1]:
            gaps = [b - a for a, b in zip(cursors, search, strict=True)]
            assert gaps[0] > 0.3 and 0.05 < gaps[-1] < 0.3 * gaps[0]


def test_a_round_takes_the_cursors_about_half_as_long_again():
    took = [
        sum(run["train_seconds"] for run in ALL[name]["runs"]) for name in PAIR
    ]
    said("transducer", "A round takes the cursors one and a half times as long")
    assert 1.35 < took[0] / took[1] < 1.65


def test_the_rate_was_the_best_of_those_tried():
    """Of half of it, itself and the double, on held-out captions."""

    def lowest(part):
        (run, *_) = ALL[part]["runs"]
        return min(row["loss"] for row in run["curve"])

    tried = {name: f"{name}, rate 2e-3" for name in PAIR}
    said("transducer", "did better than half of it with cursors and RNNsearch")
    for name, part in tried.items():
        assert lowest(name) < lowest(part)
        (run,) = ALL[part]["runs"]
        assert 2 * run["training"]["learning_rate"] == RATE
    said("transducer", "and better than twice as much with RNNsearch")
    assert lowest("rnnsearch") < lowest("rnnsearch, rate 8e-3") - 0.02
    said("transducer", "with the cursors twice as much did as well")
    assert abs(lowest("cursors") - lowest("cursors, rate 8e-3")) < 0.002


def per_seed(name, part, kind):
    """What a factor of BLEU is on all three sets, for each seed."""
    sums = [pooled_counts(run, "all", kind).sum(0) for run in ALL[name]["runs"]]
    return [precision_and_brevity(each)[part].item() for each in sums]


GERMAN = records.load("german")["results"]
GROWN = records.load("growth")["results"]
FEW = {name: GROWN[f"{name}, 3000"] for name in PAIR}


def test_few_captions_had_the_better_of_two_trainings():
    """The longer one, for every machine and seed."""
    said(
        "transducer",
        "and what did better on held-out captions, the 50 each time",
    )
    for found in FEW.values():
        for run in found["runs"]:
            assert {*run["tried"]} == {"25", "50"}
            assert run["tried"]["50"] < run["tried"]["25"]
            assert len(run["curve"]) == 50


def test_from_few_captions_the_cursors_are_ahead_of_rnnsearch():
    """On every set, greedy and with a beam."""
    said("transducer", "The cursors of 3,000 have five seeds")
    assert [len(found["runs"]) for found in FEW.values()] == [5, 3]
    said("transducer", "The cursors are ahead of RNNsearch at each size")
    for split in SETS:
        place = FEW["rnnsearch"]["tests"][split]
        for each in (place["cursors_over"], place["beam"]["cursors_over"]):
            assert each["low"] > 0 and each["p"] < 0.01
            assert 2 < each["gain"] < 3.5


def test_few_captions_are_read_with_the_settings_of_all():
    said("transducer", "with the same settings and three seeds")
    shared = {"epochs": 0, "patience": 0, "seed": 0}
    for name, found in FEW.items():
        (run, *_), (other, *_) = found["runs"], ALL[name]["runs"]
        assert run["training"] | shared == other["training"] | shared
        both = [each["config"] | {"beside": False} for each in (run, other)]
        assert both[0] == both[1]


def test_they_differ_in_how_they_err():
    """In every seed, greedily and with a beam."""
    said(
        "transducer",
        "ahead of every RNNsearch with every seed, also with a beam",
    )
    said("transducer", "but they write less, for which BLEU takes more off")
    for kind in ("greedy", "beam"):
        right, length = (per_seed("cursors", part, kind) for part in (0, 1))
        for other in MACHINES[1:]:
            assert min(right) > max(per_seed(other, 0, kind))
            assert max(length) < min(per_seed(other, 1, kind))


def test_in_german_the_cursors_lead():
    """On every test set, greedy and with a beam."""
    said("transducer", "In German the lead over RNNsearch is")
    for split in SETS:
        place = GERMAN["rnnsearch"]["tests"][split]
        for each in (place, place["beam"]):
            over = each["cursors_over"]
            assert over["low"] > 0 and over["p"] < 0.001
    place = GERMAN["beside"]["tests"]
    said("transducer", "Adding the words does not close the gap")
    for each in (place["all"], place["all"]["beam"]):
        over = each["cursors_over"]
        assert over["low"] > 0.5 and over["p"] < 0.001


def test_german_is_trained_as_french_is():
    said("transducer", "with the same settings and three seeds")
    for name, found in GERMAN.items():
        for run, other in zip(found["runs"], ALL[name]["runs"], strict=True):
            assert run["training"] == other["training"]
            assert run["parameters"] == other["parameters"]


def test_the_cursors_are_ahead_at_each_size():
    """With a beam, over RNNsearch: from 3,000, from 10,000, from all."""
    found = [
        *(GROWN[f"rnnsearch, {count}"] for count in (3000, 10_000)),
        ALL["rnnsearch"],
    ]
    leads = [each["tests"]["all"]["beam"]["cursors_over"] for each in found]
    said("transducer", "The cursors are ahead of RNNsearch at each size")
    assert all(lead["low"] > 0 for lead in leads)
    said("transducer", "Whether the lead shrinks as there is more to read")
    assert max(each["low"] for each in leads) < min(
        each["high"] for each in leads
    )
    for name in PAIR:
        for run in GROWN[f"{name}, 10000"]["runs"]:
            said("transducer", "Those of 10,000 had 25")
            assert len(run["curve"]) == 25


def test_captions_joined():
    """In German seeds agree; in French the cursors' do not."""
    four = {
        (language, name): found[name]["long"]["4"]["each"]
        for language, found in (("fr", ALL), ("de", GERMAN))
        for name in MACHINES
        if name in found
    }
    said("transducer", "nearly the same with each seed")
    assert max(four["de", "cursors"]) - min(four["de", "cursors"]) < 0.5
    said("transducer", "In German the cursors are far ahead")
    for name in MACHINES[1:]:
        if name in GERMAN:
            assert max(four["de", name]) < min(four["de", "cursors"]) - 5
    low, high, between = four["fr", "cursors"]
    said("transducer", "the cursors' seeds lie anywhere between")
    assert low < min(four["fr", "rnnsearch"]) < between < high
    said("transducer", "They may have learned too well that a caption ends")
    assert max(ALL[name]["long"]["4"]["stops"] for name in PAIR) < 1


def test_both_share_settings_and_weights():
    sizes = [ALL[name]["runs"][0]["parameters"] for name in PAIR]
    said("transducer", "All others are within 3 % of")
    assert max(sizes) < 1.01 * min(sizes)
    settings = {
        str(run["training"] | {"seed": 0})
        for name in PAIR
        for run in ALL[name]["runs"]
    }
    said("transducer", "with the same settings and three seeds")
    assert len(settings) == 1
