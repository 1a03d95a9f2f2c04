"""What the chapter `transducer` and its appendix say of their records."""

from math import exp

import pytest
import torch
from saying import said

from lookback.experiments.transducer import kinds as kinds_of_words
from lookback.lab import phrasebook, records
from lookback.lab.grammar import Pair
from lookback.lab.significance import (
    chrf,
    pooled_counts,
    precision_and_brevity,
)
from lookback.transducer import (
    NEVER,
    alignment_posterior,
    forward_sums,
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


def test_the_worked_example_is_worked_out():
    """The numbers of the drawing, by the package's own sums."""
    emit = torch.tensor([[[0.1, 0.8, 0.5], [0.1, 0.1, 0.9]]]).double().log()
    blank = torch.tensor([[[0.8, 0.1, 0.0], [0.8, 0.8, 0.0]]]).double().log()
    blank = blank.clamp_min(NEVER)
    mask = torch.ones(1, 3, dtype=torch.bool)
    alpha = forward_sums(emit, blank, mask).exp()
    drawn = torch.tensor([[[1, 0.8, 0.08], [0.1, 0.72, 0.616]]]).double()
    torch.testing.assert_close(alpha, drawn)
    ended = (alpha[0, -1] * emit[0, -1].exp()).tolist()
    said("transducer", "Two arrows lead into the thick node")
    assert [round(one, 3) for one in ended] == [0.01, 0.072, 0.554]
    assert round(sum(ended), 3) == 0.636
    w = alignment_posterior(emit, blank, mask)
    said("transducer", "So the posterior of bonsoir at evening is")
    assert round(w[0, 0, 1].item(), 3) == 0.825


def test_every_model_has_three_seeds_and_as_many_weights():
    sizes = [found["parameters"] for found in FOUND.values()]
    said(
        "transducer",
        "three seeds each, and within 2% of RNNsearch's … parameters",
    )
    assert all(len(found["runs"]) == 3 for found in FOUND.values())
    assert max(sizes) < 1.02 * min(sizes)


def test_long_sentences_are_the_transducer_s():
    """In every seed, and the diagonal is before every soft attention."""
    said("transducer", "The transducer holds up on long sentences")
    said("transducer", "from three clauses on the transducer leads")
    said("transducer", "fall below half of that")
    said("transducer", "it begins to fail at three clauses")
    said("transducer", "over twice as long as any in training")
    said("transducer", "At this length even the diagonal, which can choose")
    for name in ("rnnsearch", "inside", "outside", "afresh"):
        assert min(clauses("cursors", 3)) > max(clauses(name, 3)) + 1
    assert max(clauses("afresh", 3)) < min(clauses("rnnsearch", 3)) - 5
    assert round(FOUND["cursors"]["clauses"]["3"]["words"]) == 26
    assert FOUND["cursors"]["clauses"]["8"]["words"] > 2 * 30
    whole = FOUND["cursors"]["clauses"]["8"]["mean"]
    for name in ("rnnsearch", "afresh"):
        assert FOUND[name]["clauses"]["8"]["mean"] < whole / 2
    for count in (6, 8):
        looks = ("rnnsearch", "inside", "outside", "afresh")
        others = [clauses(n, count) for n in looks]
        best = max(max(each) for each in others)
        assert min(clauses("cursors", count)) > best + 20
        assert min(clauses("cursors", count)) > 90
        assert min(clauses("diagonal", count)) > best + 15


def test_soft_attention_writes_too_little_and_no_path_too_much():
    """BLEU over its brevity penalty is what the words alone would get."""
    said("transducer", "the attention models too little")
    said("transducer", "about half of the BLEU points that it loses are due to")
    said("transducer", "The control writes too much, … of the reference's")
    for run in FOUND["rnnsearch"]["runs"]:
        short, *_, long = run["by_clauses"]
        penalty = exp(1 - 1 / long["length"])
        unpenalised = long["bleu"] / penalty
        lost = short["bleu"] - long["bleu"]
        share = (unpenalised - long["bleu"]) / lost
        assert share == pytest.approx(0.5, abs=0.07)
    for name in ("rnnsearch", "inside", "outside"):
        runs = FOUND[name]["runs"]
        assert max(run["by_clauses"][-1]["length"] for run in runs) < 0.65
    for run in FOUND["afresh"]["runs"]:
        assert min(row["length"] for row in run["by_clauses"][2:]) > 1.05


def test_as_long_as_in_training_rnnsearch_is_a_little_ahead():
    said("transducer", "On one and two clauses RNNsearch is a little ahead")
    for count in ("1", "2"):
        cursors, search = (FOUND[name]["clauses"][count] for name in PAIR)
        assert 0.5 < search["mean"] - cursors["mean"] < 2
        assert search["words"] < 20


def test_the_transducer_aligns_worse():
    said("transducer", "aligns worse than all other models except the")
    order = sorted(FOUND, key=lambda name: FOUND[name]["aer"]["mean"])
    assert order[-2:] == ["cursors", "diagonal"]
    said("transducer", "which may go anywhere, aligns best of all")
    cursors, search, afresh = (
        [run["aer"] for run in FOUND[name]["runs"]]
        for name in ("cursors", "rnnsearch", "afresh")
    )
    assert min(cursors) > max(search)
    assert max(afresh) < min(search)
    said("transducer", "lowers the transducer's alignment error rate only to")
    posterior = FOUND["cursors"]["aer_posterior"]["mean"]
    assert min(cursors) > posterior > max(search)
    said("transducer", "Outside links worse than inside with every seed")
    inside, outside = (
        [run["aer"] for run in FOUND[name]["runs"]]
        for name in ("inside", "outside")
    )
    assert max(inside) < min(outside)
    said("transducer", "although its BLEU is no lower")
    for count, row in FOUND["inside"]["clauses"].items():
        better = FOUND["outside"]["clauses"][count]["mean"]
        assert round(better, 1) >= round(row["mean"], 1)


def test_three_words_back_is_too_far():
    one, two, three = (
        FOUND["cursors"]["kinds"][f"back {n}"]["mean"] for n in (1, 2, 3)
    )
    assert round(one, 2) == round(two, 2) > three + 0.04
    said("transducer", "all stand three or more places to the left of one")
    assert min(kinds("rnnsearch", "back 3")) > max(kinds("cursors", "back 3"))
    spread = FOUND["afresh"]["kinds"]["back 3"]["spread"]
    said("transducer", "the control, without a path, loses as much")
    assert abs(FOUND["afresh"]["kinds"]["back 3"]["mean"] - three) < spread
    said("transducer", "with a distribution for each place, loses little")
    outside = FOUND["outside"]["kinds"]["back 3"]["mean"]
    assert FOUND["rnnsearch"]["kinds"]["back 3"]["mean"] - outside < 0.02
    said("transducer", "the three seeds of outside are equal")
    assert len(set(kinds("outside", "back 3"))) == 1
    assert min(kinds("outside", "back 3")) > max(kinds("cursors", "back 3"))
    assert min(kinds("outside", "back 3")) > max(kinds("afresh", "back 3"))
    kinds_of = FOUND["cursors"]["runs"][0]["by_kind"]
    words = {kind: row["words"] for kind, row in kinds_of.items()}
    said("transducer", "Fewer than one word in a hundred is of this kind")
    assert words["back 3"] < 0.01 * sum(words.values())
    said("transducer", "of the 125 words that lie three or more places back")
    assert words["back 3"] == 125
    said("transducer", "a difference of nine words")
    search = FOUND["rnnsearch"]["kinds"]["back 3"]["mean"]
    assert round(125 * (search - three)) == 9
    said("transducer", "of the 121 such words right")
    assert words["pronoun"] == 121
    said("transducer", "its seeds differ widely")
    assert spread == max(
        found["kinds"]["back 3"]["spread"] for found in FOUND.values()
    )


def test_losing_the_path_costs_half_of_the_score():
    afresh, cursors = (
        FOUND[name]["clauses"]["8"]["mean"] for name in ("afresh", "cursors")
    )
    said(
        "transducer",
        "the control without a path loses more than half of the transducer's",
    )
    assert afresh < cursors / 2


def test_with_pronouns_the_transducer_is_ahead():
    """Of RNNsearch in every seed, of the others in the mean."""
    said("transducer", "long before, the transducer seems to be ahead")
    best = FOUND["cursors"]["kinds"]["pronoun"]["mean"]
    for name in ("afresh", "diagonal", "rnnsearch", "inside", "outside"):
        assert FOUND[name]["kinds"]["pronoun"]["mean"] < best - 0.02
    worst = min(kinds("cursors", "pronoun"))
    assert worst > max(kinds("rnnsearch", "pronoun")) + 0.02
    said("transducer", "about seven words fewer")
    search = FOUND["rnnsearch"]["kinds"]["pronoun"]["mean"]
    assert round(121 * (best - search)) == 7


def test_the_side_of_the_softmax_makes_less_difference():
    inside, outside, afresh, cursors = (
        FOUND[name]["clauses"]["8"]["mean"]
        for name in ("inside", "outside", "afresh", "cursors")
    )
    said(
        "transducer",
        "Between inside and outside there is no such difference in",
    )
    assert abs(outside - inside) < (cursors - afresh) / 10


def test_the_longer_the_sentence_the_smaller_the_difference_in_cost():
    said(
        "transducer-measured",
        "above all in numbers kept; on the longest it does not",
        "at the longest sentences it costs as much or more",
        "from more than three times as many to as many",
        "from less than one and a half times as long to a little less",
    )
    for run in RESULTS["cost"]["runs"]:
        short, long = run["rows"][0], run["rows"][-1]
        for what in ("seconds", "kept"):
            first, last = (
                row[what]["cursors"] / row[what]["rnnsearch"]
                for row in (short, long)
            )
            assert first > 1.3 and last <= 1
            assert what == "kept" or first < 1.5
        memory = [
            row["kept"]["cursors"] / row["kept"]["rnnsearch"]
            for row in run["rows"]
        ]
        assert memory == sorted(memory, reverse=True)
        assert memory[0] > 3 and memory[-1] == pytest.approx(1, abs=0.05)
        times = long["seconds"]
        assert 0.75 < times["cursors"] / times["rnnsearch"] < 1.1


@pytest.mark.nightly
def test_no_sentence_of_the_training_is_longer_than_thirty_words():
    trained = phrasebook.sample(12_000, seed=0)
    said("transducer", "phrasebook sentences of at most 30 words")
    assert max(len(pair.source) for pair in trained) == 30
    known = {tuple(pair.source) for pair in trained}
    tests = [
        pair
        for pair in phrasebook.sample(1000, seed=1)
        if tuple(pair.source) not in known
    ]
    said("transducer", "comes from 973 new sentences no longer than those in")
    said("transducer", "13 words on average")
    lengths = [len(pair.source) for pair in tests]
    assert len(tests) == 973 and max(lengths) == 30
    assert round(sum(lengths) / 973) == 13


def test_a_european_doctor_is_three_places_back():
    said(
        "transducer", "An example is européen in l'arbre d'un médecin européen"
    )
    english = "a european doctor 's tree fell .".split()
    french = "l' arbre d' un médecin européen est tombé .".split()
    links = {(0, 3), (1, 5), (2, 4), (3, 2), (4, 1), (3, 0), (5, 6), (5, 7)}
    pair = Pair(english, french, frozenset(links | {(6, 8)}))
    assert kinds_of_words(pair)[5] == "back 3"


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


def test_after_as_many_epochs_the_transducer_is_ahead():
    """Greedily on every test set alone, too; with a beam on all together."""
    said(
        "transducer-measured", "In French the transducer is ahead of RNNsearch"
    )
    for split in SETS:
        greedy, _ = ahead("rnnsearch", split)
        assert greedy["low"] > 0 and greedy["p"] < 0.001
        assert 1 < greedy["gain"] < 2.5
        assert greedy == ALL["cursors"]["tests"][split]["over_rnnsearch"]
    _, beam = ahead("rnnsearch")
    said(
        "transducer-measured",
        "After the same number of epochs the transducer is ahead in both",
    )
    said(
        "transducer", "After the same number of epochs the transducer leads by"
    )
    assert beam["low"] > 0 and beam["p"] < 0.001


@pytest.mark.parametrize("rival", OBJECTIONS)
def test_either_objection_leaves_a_greedy_lead(rival):
    greedy, beam = ahead(rival)
    assert greedy["low"] > 0 and greedy["p"] < 0.01
    said(
        "transducer-measured",
        "once either objection is met, more than half of the greedy lead",
    )
    assert greedy["gain"] < 0.5 * ahead("rnnsearch")[0]["gain"]
    said(
        "transducer-measured",
        "With a beam, with which all models write better, BLEU cannot",
    )
    assert -1 < beam["low"] < 0 < beam["high"] < 1
    said(
        "transducer-measured",
        "as much training time, or the source embeddings, is statistically",
    )
    said(
        "transducer",
        "its BLEU is then not distinguishable from the",
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
    said("transducer-measured", "both RNNsearches are ahead with every seed")
    said("transducer-measured", "in French chrF two RNNsearches are ahead")
    said("transducer", "and its chrF, which compares characters, is higher")
    assert min(letters(ALL[rival])) > max(letters(ALL["cursors"]))


def test_in_german_letters_agree_with_words():
    said(
        "transducer-measured",
        "Adding the embeddings does not close the gap, and chrF",
    )
    for name in SOFT:
        if name in GERMAN:
            rival = letters(GERMAN[name])
            assert max(rival) < min(letters(GERMAN["cursors"]))


def test_outside_stands_between():
    """Greedily, in both languages, half of the way from one to the other."""
    said(
        "transducer-measured",
        "a model without a monotonic path closes about half of the gap",
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
    said("transducer-measured", "a beam only the lead over RNNsearch does")
    said(
        "transducer-measured",
        "With a beam, BLEU cannot distinguish it from the transducer in French",
    )
    assert unsure == [("fr", name, "beam") for name in (*OBJECTIONS, "outside")]
    gaps = [
        GERMAN[name]["tests"]["all"]["cursors_over"]["gain"]
        for name in ("rnnsearch", "beside", "outside")
    ]
    assert gaps == sorted(gaps, reverse=True)


def test_the_diagonal_is_far_behind():
    """On every test set; of the same training, and of as many weights."""
    said(
        "transducer-measured",
        "behind the transducer in French, with greedy decoding",
    )
    for split in SETS:
        for over in ahead("diagonal", split):
            assert over["low"] > 5 and over["p"] < 0.001
    place = GERMAN["diagonal"]["tests"]["all"]
    for over in (place["cursors_over"], place["beam"]["cursors_over"]):
        assert over["low"] > 5 and over["p"] < 0.001
    said("transducer-measured", "with the same settings and three seeds")
    said("transducer-measured", "All others are within 3% of")
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
    said("transducer-measured", "which makes it 6% larger")
    for run, same in zip(other, one, strict=True):
        assert run["training"] == same["training"]
        assert run["config"] == same["config"] | {"beside": True}
        assert not same["config"].get("beside")
        assert 1.05 < run["parameters"] / same["parameters"] < 1.065


def test_with_a_beam_every_machine_writes_better():
    said(
        "transducer-measured", "With a beam, with which all models write better"
    )
    for name in MACHINES:
        found = ALL[name]["tests"]["all"]
        assert found["beam"]["bleu"] > found["bleu"] + 1


def test_eighteen_rounds_are_as_long_and_else_the_same():
    times = [
        sum(run["train_seconds"] for run in ALL[name]["runs"])
        for name in ("cursors", LONGER)
    ]
    said(
        "transducer-measured",
        "An epoch takes the transducer one and a half times as long",
    )
    assert times[1] == pytest.approx(times[0], rel=0.15)
    shared = {"epochs": 0, "patience": 0, "seed": 0}
    one, other = (ALL[n]["runs"] for n in ("rnnsearch", LONGER))
    assert len(other) == 3
    said(
        "transducer-measured",
        "so one more RNNsearch, in French, trains for 18 epochs",
    )
    for run in other:
        assert run["training"] | shared == one[0]["training"] | shared
        assert run["config"] == one[0]["config"]
        assert len(run["curve"]) == run["training"]["epochs"] == 18


def test_both_read_all_captions_as_often():
    said("transducer-measured", "Every model reads all captions … times")
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
    said("transducer-measured", "RNNsearch learns more slowly at first")
    said("transducer-measured", "and most of that gap closes later")
    for cursors in curves[0]:
        for search in curves[1]:
            gaps = [b - a for a, b in zip(cursors, search, strict=True)]
            assert gaps[0] > 0.3 and 0.05 < gaps[-1] < 0.3 * gaps[0]


def test_a_round_takes_the_cursors_about_half_as_long_again():
    took = [
        sum(run["train_seconds"] for run in ALL[name]["runs"]) for name in PAIR
    ]
    said(
        "transducer-measured",
        "An epoch takes the transducer one and a half times as long",
    )
    assert 1.35 < took[0] / took[1] < 1.65


def test_the_rate_was_the_best_of_those_tried():
    """Of half of it, itself and the double, on held-out captions."""

    def lowest(part):
        (run, *_) = ALL[part]["runs"]
        return min(row["loss"] for row in run["curve"])

    tried = {name: f"{name}, rate 2e-3" for name in PAIR}
    said(
        "transducer-measured",
        "did better than 0.002 with both the transducer and RNNsearch",
    )
    for name, part in tried.items():
        assert lowest(name) < lowest(part)
        (run,) = ALL[part]["runs"]
        assert 2 * run["training"]["learning_rate"] == RATE
    said("transducer-measured", "With RNNsearch it also did better than 0.008")
    assert lowest("rnnsearch") < lowest("rnnsearch, rate 8e-3") - 0.02
    said("transducer-measured", "with the transducer 0.008 did as well")
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
        "transducer-measured",
        "whichever did better on held-out captions, which was always 50",
    )
    for found in FEW.values():
        for run in found["runs"]:
            assert {*run["tried"]} == {"25", "50"}
            assert run["tried"]["50"] < run["tried"]["25"]
            assert len(run["curve"]) == 50


def test_from_few_captions_the_cursors_are_ahead_of_rnnsearch():
    """On every set, greedy and with a beam."""
    said("transducer-measured", "The transducer of 3,000 has five seeds")
    assert [len(found["runs"]) for found in FEW.values()] == [5, 3]
    said(
        "transducer-measured",
        "The transducer is ahead of RNNsearch at each size",
    )
    for split in SETS:
        place = FEW["rnnsearch"]["tests"][split]
        for each in (place["cursors_over"], place["beam"]["cursors_over"]):
            assert each["low"] > 0 and each["p"] < 0.01
            assert 2 < each["gain"] < 3.5


def test_few_captions_are_read_with_the_settings_of_all():
    said("transducer-measured", "with the same settings and three seeds")
    shared = {"epochs": 0, "patience": 0, "seed": 0}
    for name, found in FEW.items():
        (run, *_), (other, *_) = found["runs"], ALL[name]["runs"]
        assert run["training"] | shared == other["training"] | shared
        both = [each["config"] | {"beside": False} for each in (run, other)]
        assert both[0] == both[1]


def test_they_differ_in_how_they_err():
    """In every seed, greedily and with a beam."""
    said(
        "transducer-measured",
        "ahead of every RNNsearch with every seed, with a beam too",
    )
    said(
        "transducer-measured",
        "But its output is shorter, so BLEU's brevity penalty is larger",
    )
    for kind in ("greedy", "beam"):
        right, length = (per_seed("cursors", part, kind) for part in (0, 1))
        for other in MACHINES[1:]:
            assert min(right) > max(per_seed(other, 0, kind))
            assert max(length) < min(per_seed(other, 1, kind))


def test_in_german_the_cursors_lead():
    """On every test set, greedy and with a beam."""
    said("transducer-measured", "In German the lead over RNNsearch is")
    for split in SETS:
        place = GERMAN["rnnsearch"]["tests"][split]
        for each in (place, place["beam"]):
            over = each["cursors_over"]
            assert over["low"] > 0 and over["p"] < 0.001
    place = GERMAN["beside"]["tests"]
    said("transducer-measured", "Adding the embeddings does not close the gap")
    for each in (place["all"], place["all"]["beam"]):
        over = each["cursors_over"]
        assert over["low"] > 0.5 and over["p"] < 0.001


def test_german_is_trained_as_french_is():
    said("transducer-measured", "with the same settings and three seeds")
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
    said(
        "transducer-measured",
        "The transducer is ahead of RNNsearch at each size",
    )
    assert all(lead["low"] > 0 for lead in leads)
    said("transducer-measured", "leave open whether the lead shrinks")
    assert max(each["low"] for each in leads) < min(
        each["high"] for each in leads
    )
    for name in PAIR:
        for run in GROWN[f"{name}, 10000"]["runs"]:
            said("transducer-measured", "with 10,000 we trained for 25")
            assert len(run["curve"]) == 25


def test_captions_joined():
    """In German seeds agree; in French the cursors' do not."""
    four = {
        (language, name): found[name]["long"]["4"]["each"]
        for language, found in (("fr", ALL), ("de", GERMAN))
        for name in MACHINES
        if name in found
    }
    said("transducer-measured", "nearly the same with each seed")
    assert max(four["de", "cursors"]) - min(four["de", "cursors"]) < 0.5
    said("transducer-measured", "In German the transducer is far ahead")
    for name in MACHINES[1:]:
        if name in GERMAN:
            assert max(four["de", name]) < min(four["de", "cursors"]) - 5
    low, high, between = four["fr", "cursors"]
    said("transducer-measured", "The transducer's seeds lie anywhere between")
    assert low < min(four["fr", "rnnsearch"]) < between < high
    said(
        "transducer-measured",
        "Both may have learned too well that a caption ends",
    )
    assert max(ALL[name]["long"]["4"]["stops"] for name in PAIR) < 1


def test_both_share_settings_and_weights():
    sizes = [ALL[name]["runs"][0]["parameters"] for name in PAIR]
    said("transducer-measured", "All others are within 3% of")
    assert max(sizes) < 1.01 * min(sizes)
    settings = {
        str(run["training"] | {"seed": 0})
        for name in PAIR
        for run in ALL[name]["runs"]
    }
    said("transducer-measured", "with the same settings and three seeds")
    assert len(settings) == 1
