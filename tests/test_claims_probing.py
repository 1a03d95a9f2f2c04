"""The experiments of `probing`, and what the chapter says of their records."""

from statistics import stdev

import pytest
import torch
from saying import said

from lookback.experiments import neighbours
from lookback.experiments import probing as experiment
from lookback.families import MASKED, Body, BodyConfig
from lookback.lab import int8, phrasebook, records
from lookback.probing import Occurrence, pseudo_word
from lookback.vocabulary import SPECIALS, Vocabulary
from lookback.widgets import machines, which_word


@pytest.fixture(scope="module")
def found():
    return records.load("probing")["results"]


def bloops(count=60):
    two = (("dog",), ("book",))
    sentences = [p.source for p in phrasebook.sample(600, seed=0)]
    found = pseudo_word("bloop", two, sentences)[:count]
    words = Vocabulary.count((one.words for one in found), 1)
    return found, Vocabulary([MASKED, *words.words[len(SPECIALS) :]])


def small(words: Vocabulary, seed: int = 0) -> Body:
    torch.manual_seed(seed)
    sizes = {"d_model": 8, "heads": 2, "layers": 2, "d_ff": 8}
    return Body(BodyConfig(len(words), **sizes)).eval()


def test_a_vector_is_that_of_the_word_itself():
    said("probing", "Layer 0, the word's own vector and its position")
    found, words = bloops(5)
    body = small(words)
    levels = experiment.of_words(body, "BERT", found, words)
    assert levels.shape == (3, 5, 8)
    table = body.embedding.words.weight[words.index["bloop"]] * 8**0.5
    for i, one in enumerate(found):
        place = body.embedding.learned.table[one.place + 1]
        torch.testing.assert_close(
            levels[0, i], (table + place).detach().double()
        )


def test_untrained_bodies_of_one_seed_are_alike():
    """Code: an untrained body comes from its seed."""
    _, words = bloops(5)
    one, two = (experiment.fresh(words, 3) for _ in range(2))
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b)


def test_neighbours_end_with_the_sentence():
    said("probing", "The two neighbors on either side of apple")
    words = "a b X c d e".split()
    assert experiment.near(Occurrence(words, 2, 0)) == [0, 1, 3, 4]
    assert experiment.near(Occurrence(words, 0, 0)) == [1, 2]
    assert experiment.near(Occurrence(words, 5, 0)) == [3, 4]


@pytest.mark.nightly
def test_turning_and_covering_at_a_toys_size(monkeypatch):
    """Code: the exchange, at a toy's size."""
    found, words = bloops()
    monkeypatch.setattr(experiment, "apples", lambda: found)
    body = small(words)
    levels = experiment.turned(
        lambda these: experiment.of_words(body, "BERT", these, words)
    )
    assert len(levels) == 3
    for one in levels:
        assert set(one["turned"]) == {
            "near",
            "far",
            "other sense",
            "same sense",
        }
        assert 0 <= one["right without"]["near"] <= 1
    told = experiment.deciding(body, words)
    assert 0 <= told["near"] <= 1 and told["words"] > 3


def test_neighbours_are_exchanged_for_neighbours_at_the_same_distance():
    found, _ = bloops(40)
    changed = experiment.exchanged(found)
    said("probing", "are exchanged for those of another apple")
    for name, wanted in (("other sense", 1), ("same sense", 0)):
        for one, new in zip(found, changed[name], strict=True):
            assert new.place == one.place and new.sense == one.sense
            close = experiment.near(one)
            around = [
                {
                    at - giver.place: giver.words[at]
                    for at in experiment.near(giver)
                }
                for giver in found
                if giver.sense == abs(one.sense - wanted)
            ]
            assert any(
                new.words
                == [
                    each.get(k - one.place, word) if k in close else word
                    for k, word in enumerate(one.words)
                ]
                for each in around
            )
    said("probing", "with an equal number of more distant words")
    for one, near, far in zip(
        found, changed["near"], changed["far"], strict=True
    ):
        gone = [k for k, word in enumerate(near.words) if word == MASKED]
        assert gone == experiment.near(one)
        rest = len(one.words) - 1 - len(gone)
        assert far.words.count(MASKED) == min(rest, len(gone))
        assert all(far.words[k] == one.words[k] for k in [*gone, one.place])


def test_another_seed_exchanges_other_words():
    said("probing", "the exchanges were drawn five times")
    found, _ = bloops(40)
    one, same, two = (experiment.exchanged(found, s) for s in (0, 0, 1))
    assert one == same != two


@pytest.mark.nightly
def test_the_lists_are_asked_at_a_toys_size(monkeypatch, tmp_path):
    found, words = bloops()
    monkeypatch.setattr(experiment, "apples", lambda: found)
    monkeypatch.setattr(neighbours, "apples", lambda: found)
    monkeypatch.setattr(neighbours, "read", lambda: ([], words))
    monkeypatch.setattr(
        neighbours.weights, "load", lambda name, kind: (small(words),)
    )
    runs = {
        name: [neighbours.of_list(name, seed, tmp_path) for seed in (0, 1)]
        for name in neighbours.LISTS
    }
    said("probing", "whatever has only the neighbors must follow them")
    assert runs["two"][0]["turned"]["far"] == 0  # it does not see these
    assert runs["two"][0]["right without"]["near"] == 0.5
    runs["BERT"] = [neighbours.of_body(seed, tmp_path) for seed in (0, 1)]
    results = neighbours.summary(runs)
    each = [run["turned"]["other sense"] for run in runs["two"]]
    assert results["two"]["turned"]["other sense"] == {
        "mean": sum(each) / 2,
        "spread": stdev(each),
        "each": each,
    }
    assert set(results) == {"two", "all", "BERT"}


@pytest.mark.nightly
def test_the_campaign_at_a_toys_size(monkeypatch, tmp_path):
    """Code: a run, at a toy's size."""
    found, words = bloops()
    sentences = [one.words for one in found]
    saved = []
    for name, value in {
        "read": lambda: (sentences, words),
        "real": lambda: {"a": found, "b": found},
        "apples": lambda: found,
        "fresh": lambda words, seed, config=None: small(words, seed),
        "deciding": lambda body, words: {},
        "SHOWN": ("a",),
    }.items():
        monkeypatch.setattr(experiment, name, value)
    monkeypatch.setattr(experiment.families, "EPOCHS", 1)
    monkeypatch.setattr(
        experiment.weights, "save", lambda name, *rest: saved.append(name)
    )
    parts = {
        "BERT": lambda *told: experiment.learn("BERT", *told),
        "GPT": lambda *told: experiment.learn("GPT", *told),
        "senses": experiment.all_words,
        "apple": experiment.all_apples,
    }
    runs = {
        name: [part(seed, tmp_path / f"{name}-{seed}") for seed in (0, 1)]
        for name, part in parts.items()
    }
    results = experiment.summary(runs)
    assert saved == ["probing"]
    one = results["senses"]["words"]["a"]
    assert sum(one["counts"]) == len(found)
    assert set(one["bags"]) == {*experiment.BAGS, "two, shuffled"}
    for name in ("BERT", "GPT", "untrained BERT", "untrained GPT"):
        assert [len(run) for run in one["levels"][name]] == [3, 3]
        level = results["senses"]["levels"][name][2]
        assert level["sd"] == pytest.approx(0)  # of the same word twice
        told = [run[2] for run in one["levels"][name]]
        assert level["spread"] == pytest.approx(stdev(told))
        assert results["apple"]["mean"][name][2]["mean"] == sum(told) / 2
    assert set(results["apple"]["probes"]) == {"a"}
    assert 0 <= results["senses"]["beaten"]["GPT"] <= 2


@pytest.mark.nightly
def test_the_tiny_bert_learns_something():
    """Code: the tiny BERT is trained."""
    sentences = [p.source for p in phrasebook.sample(200, seed=0)]
    body, words = experiment.drilled(sentences, updates=3)
    assert len(words) > 50 and not body.training


@pytest.mark.nightly
@pytest.mark.multi30k
def test_the_senses_are_those_of_the_record(found):
    said("probing", "There are fourteen")
    for word, ones in experiment.real().items():
        counts = found["senses"]["words"][word]["counts"]
        assert [sum(o.sense == k for o in ones) for k in (0, 1)] == counts


def test_each_sense_is_found_twenty_times(found):
    words = found["senses"]["words"]
    said("probing", "There are fourteen")
    assert len(words) == 14
    said("probing", "the aligner finds each sense at least twenty times")
    for word, one in words.items():
        assert min(one["counts"]) >= 20, word


def over_words(found, name):
    return [one["mean"] for one in found["senses"]["levels"][name]]


def best(one, name):
    runs = one["levels"][name]
    return max(sum(level) / len(runs) for level in zip(*runs, strict=True))


def test_three_seeds_of_each_body(found):
    said(
        "probing",
        "Three BERTs and three GPTs like those of families",
    )
    for family in ("BERT", "GPT"):
        assert len(found[family]["curve"]) == 3
        for name in (family, f"untrained {family}"):
            assert len(found["apple"]["levels"][name]) == 3
            for one in found["senses"]["words"].values():
                assert len(one["levels"][name]) == 3


def test_the_probes_rise_and_an_untrained_body_has_most_of_it(found):
    for family in ("BERT", "GPT"):
        means = over_words(found, family)
        said(
            "probing",
            "probes of a trained BERT get better from layer to layer, up to …",
        )
        assert means == sorted(means)
        said("probing", "most of the rise comes with the first layer")
        assert means[1] - means[0] > 0.7 * (means[4] - means[0])
        bare = over_words(found, f"untrained {family}")
        said("probing", "and an untrained network rises there too")
        assert bare[1] - bare[0] > 0.05 and max(bare[1:]) < means[1]
    top = max(over_words(found, "BERT"))
    said("probing", "get better from layer to layer, up to …")
    assert top == over_words(found, "BERT")[4]  # the level that is compared
    bare = over_words(found, "untrained BERT")[4]
    alone = over_words(found, "untrained BERT")[0]
    said("probing", "about two fifths of the rise")
    assert 0.38 < (bare - alone) / (top - alone) < 0.45
    said("probing", "the probe does not find what is not there")
    assert abs(found["senses"]["shuffled"]["mean"] - 0.5) < 0.06


def test_the_families_do_not_differ_by_more_than_seeds(found):
    bert, gpt = (found["senses"]["levels"][k][4] for k in ("BERT", "GPT"))
    apart = gpt["mean"] - bert["mean"]
    error = ((bert["spread"] ** 2 + gpt["spread"] ** 2) / 3) ** 0.5
    said("probing", "three seeds show no difference")
    assert abs(apart) < 2 * error
    said("probing", "though they could miss one of three hundredths")
    assert 0.02 < abs(apart) + 3.8 * error < 0.035  # Welch, 2.3 degrees


def test_what_each_family_is_good_for(found):
    words = found["senses"]["words"]
    left = sum(o["bags"]["before"] > o["bags"]["after"] for o in words.values())
    said("probing", "Most senses can be told from what stands on the left")
    assert left >= 11


def test_ten_words_with_two_senses_and_four_others(found):
    words, split = found["senses"]["words"], found["senses"]["split"]
    assert split == records.measured(experiment.split(words))
    said("probing", "In the first ten the senses differ. In the last four")
    assert len(words) - len(experiment.OTHERS) == 10
    real, others = split["senses"], split["others"]
    top, bare = (
        real["levels"][k][4]["mean"] for k in ("BERT", "untrained BERT")
    )
    said("probing", "two neighbors on either side stay a few hundredths behind")
    assert 0.02 < top - real["bags"]["two"] < 0.05
    said("probing", "the whole caption as a bag does as well as the BERT")
    assert abs(real["bags"]["all"] - top) < 0.005 and bare < top - 0.1
    said("probing", "The other four words stand higher than the ten")
    for name, levels in real["levels"].items():
        for one, other in zip(levels, others["levels"][name], strict=True):
            assert one["mean"] < other["mean"] - 0.05
    assert all(real["bags"][k] < others["bags"][k] for k in ("two", "all"))


def test_the_mouth_of_a_dog(found):
    mouth = found["senses"]["words"]["mouth"]
    bert, bare = (
        [sum(seeds) / 3 for seeds in zip(*mouth["levels"][name], strict=True)]
        for name in ("BERT", "untrained BERT")
    )
    said("probing", "after the first layer, and better after each further one")
    assert bert[0] < 0.6 < 0.7 < bert[1] and bert == sorted(bert)
    said("probing", "comes within a tenth of the trained one at every layer")
    for trained, untrained in zip(bert, bare, strict=True):
        assert 0 < trained - untrained < 0.1
    said("probing", "the bare list of all words is ahead of both")
    assert mouth["bags"]["all"] > max(bert) + 0.03
    said("probing", "The GPT does as well as that list")
    gpt = max(
        sum(seeds) / 3 for seeds in zip(*mouth["levels"]["GPT"], strict=True)
    )
    assert abs(gpt - mouth["bags"]["all"]) < 0.01
    said("probing", "what tells the senses apart mostly stands before mouth")
    assert mouth["bags"]["before"] > mouth["bags"]["after"] + 0.2
    said("probing", "for mouth two words are not enough")
    said("probing", "Two neighbors are not enough here")
    assert mouth["bags"]["two"] < max(bert)


def test_where_no_layer_beats_two_neighbors(found):
    behind = {}
    for word, one in found["senses"]["words"].items():
        gap = one["bags"]["two"] - best(one, "BERT")
        if gap > 0:
            behind[word] = gap
    assert len(behind) == found["senses"]["beaten"]["BERT"]
    said("probing", "On ball and pole no layer of the BERT beats")
    assert min(behind.pop("ball"), behind.pop("pole")) > 0.02
    said("probing", "on face BERT and neighbors are tied")
    assert behind.pop("face") < 0.001
    said("probing", "on top both are near the ceiling")
    said("probing", "between pole, below 0.7, and top, above 0.95")
    tops = {
        word: sum(run[4] for run in one["levels"]["BERT"]) / 3
        for word, one in found["senses"]["words"].items()
    }
    assert min(tops, key=tops.get) == "pole" and tops["pole"] < 0.7
    assert max(tops, key=tops.get) == "top" and tops["top"] > 0.95
    said("probing", "From layer 1 on, layers differ less than words")
    means = over_words(found, "BERT")
    assert means[4] - means[1] < 0.05
    assert behind.keys() == {"top"}
    assert best(found["senses"]["words"]["top"], "BERT") > 0.97


def test_two_neighbours_beat_every_body_on_apple(found):
    said(
        "probing",
        "On apple the two neighbors beat every layer of every network",
    )
    apple = found["apple"]
    for runs in apple["levels"].values():
        for run in runs:
            assert apple["bags"]["two"] > max(run)


def test_the_verdict_follows_the_neighbours(found):
    top = found["apple"]["turned"][4]
    said("probing", "it is mostly the neighbors that decide")
    assert top["turned"]["other sense"] > 2 * top["turned"]["same sense"]
    said("probing", "with an equal number of more distant words, only to")
    assert top["right without"]["near"] < top["right without"]["far"]
    told = found["apple"]["decides"]
    said("probing", "where a word picked blindly would be in")
    assert told["near"] > 1.3 * told["near by chance"]


@pytest.fixture(scope="module")
def swaps():
    return records.load("neighbours")["results"]


def test_a_bag_of_neighbours_turns_even_more(swaps):
    shares = {name: one["turned"] for name, one in swaps.items()}
    other = {name: one["other sense"]["each"] for name, one in shares.items()}
    said("probing", "and the bag of two flips even more")
    assert min(other["two"]) > 1.2 * max(other["BERT"])
    said("probing", "for the BERT stands between the two bags")
    assert min(other["BERT"]) > 1.2 * max(other["all"])  # between the two
    said("probing", "Flips do show a cause")
    for one in shares.values():
        assert one["other sense"]["mean"] > 4 * one["same sense"]["mean"]
    same = {name: one["same sense"]["each"] for name, one in shares.items()}
    said("probing", "and nothing should flip, the BERT flips most")
    assert min(same["BERT"]) > max(same["two"] + same["all"])  # turns most


def test_the_books_bert_turns_as_that_of_the_record(found, swaps):
    said("probing", "The BERT is that of the first seed")
    top = found["apple"]["turned"][4]["turned"]
    for name in ("other sense", "same sense"):
        first = swaps["BERT"]["turned"][name]["each"][0]
        assert first == pytest.approx(top[name], abs=0.02)  # a byte each


def test_it_is_asked_with_the_first_seed_and_four_more():
    said("probing", "the exchanges were drawn five times")
    record = records.load("neighbours")
    assert record["seeds"] == [0, 1, 2, 3, 4]
    for one in record["results"].values():
        assert len(one["right"]["each"]) == 5


@torch.no_grad()
def chances(text, probes, body, words, covered=()):
    """p of sense 1 at every level, and the place of the word."""
    typed = text.split()
    at = next(i for i, word in enumerate(typed) if word in probes)
    seen = [MASKED if i in covered else w for i, w in enumerate(typed)]
    one = [Occurrence(seen, at, 0)]
    levels = experiment.of_words(body, "BERT", one, words)[:, 0]
    lines = torch.tensor(probes[typed[at]]["levels"]).double()
    return ((levels * lines[:, :-1]).sum(1) + lines[:, -1]).sigmoid(), at


@pytest.mark.nightly
def test_what_counts_in_the_captions_of_the_widget():
    body, words = machines.load("probing")
    body, probes = int8.rounded(body).eval(), which_word.recorded()
    counts, alone = [], 0
    for text in which_word.TEXTS:
        own, at = chances(text, probes, body, words)
        typed = text.split()
        others = {
            i: chances(text, probes, body, words, [i])[0][4]
            for i in range(len(typed))
            if i != at
        }
        moved = {
            i: float((p.logit() - own[4].logit()).abs())
            for i, p in others.items()
        }
        best = max(moved, key=moved.get)
        counts.append((typed[best], at - best))
        alone += bool((others[best] > 0.5) != (own[4] > 0.5))
    near = [("his", 1), ("at", -1), ("a", 1), ("a", 1)]
    said("probing", "After layer 4 of the first caption it is his, next to it")
    said(
        "probing",
        "an article, a pronoun or a preposition, one or two positions",
    )
    assert counts[:4] == near and counts[6:] == [("at", 2), ("on", 2)]
    said("probing", "there dog and man count most, six words away")
    assert counts[4:6] == [("dog", 6), ("man", 6)]
    said("probing", "Sometimes covering one word flips the prediction")
    assert alone == 2
    assert "gymnast" in text
    said("probing", "layers 1 and 2 predict the opposite of layer 4")
    assert max(own[1:3]) < 0.5 < own[4]


@pytest.mark.nightly
def test_a_ball_that_is_kicked_is_a_balle_to_every_probe():
    body, words = machines.load("probing")
    body, probes = int8.rounded(body).eval(), which_word.recorded()
    said("probing", "Yet all five probes say balle")
    own, _ = chances(which_word.TEXTS[2], probes, body, words)
    assert which_word.TEXTS[2].split()[2] == "kicks"
    assert probes["ball"]["senses"][1] == "balle" and min(own) > 0.5


@pytest.mark.nightly
@pytest.mark.multi30k
def test_what_is_kicked_is_a_ballon_and_a_ball_is_not():
    found = experiment.real()["ball"]
    kicked = [
        o.sense for o in found if any(w.startswith("kick") for w in o.words)
    ]
    said("probing", "every training caption with a form of kick has that word")
    assert len(kicked) > 50 and not any(kicked)
    after_a = [o.sense for o in found if o.words[o.place - 1] == "a"]
    said("probing", "in these captions ball after a is more often a balle")
    assert sum(after_a) > 0.5 * len(after_a)
    across = [o.sense for o in found if "across" in o.words]
    said("probing", "and across goes with tennis")
    assert all(across)
