"""What the chapter `explanation` says of its record."""

import inspect

import pytest
import torch
from saying import said

from lookback.experiments import explanation
from lookback.lab import corpus, phrasebook, records, weights
from lookback.lab.corpus import Pair, collate
from lookback.rnnsearch import RNNsearch
from lookback.vocabulary import PAD


@pytest.fixture(scope="module")
def looks():
    return records.load("explanation")["results"]


def test_other_weights_move_the_word(looks):
    said(
        "explanation",
        "put in another order, the next word's distribution moves",
    )
    said("explanation", "0 if they agree only by chance")
    for name in explanation.SUBJECTS:
        assert looks[name]["other"]["reordered"]["mean"] > 0.4
        chance = looks[name]["tau"]["chance, left out"]["mean"]
        assert abs(chance) < 0.06
    said("explanation", "of RNNsearch's words on the phrasebook and for … on")
    assert (
        looks["captions"]["far"]["found"] > looks["phrasebook"]["far"]["found"]
    )
    said("explanation", "and for nearly all in the Transformer")
    assert looks["Transformer"]["far"]["found"] > 0.95


def changed(name, count, orders=3):
    """How often another word comes first: in another order, all alike."""
    file, kind, _ = explanation.SUBJECTS[name]
    model, source, target = weights.load(file, kind)
    model.cpu().eval().requires_grad_(False)
    drawn = (
        phrasebook.sample(count, seed=3)
        if name == "phrasebook"
        else corpus.load("test_2016_flickr")[:count]
    )
    pairs = [Pair(one.source, one.target) for one in drawn]
    torch.manual_seed(0)
    found = [], []
    for now in explanation.moments(model, collate(pairs, source, target)):
        here = now.wanted != PAD
        first = explanation.says(model, now, now.own).argmax(-1)
        looks = [explanation.reordered(now) for _ in range(orders)]
        for kept, others in zip(
            found, (looks, [explanation.uniform(now)]), strict=True
        ):
            for other in others:
                moved = explanation.says(model, now, other).argmax(-1) != first
                kept.append(moved[here])
    return [float(torch.cat(one).float().mean()) for one in found]


def test_another_word_comes_first_on_the_phrasebook():
    said("explanation", "the next word usually changes")
    said("explanation", "mostly changes the word")
    said("explanation", "We count over forty sentences of the phrasebook")
    order, alike = changed("phrasebook", 40)
    assert order > 0.7 and alike > 0.5


@pytest.mark.nightly
@pytest.mark.multi30k
@pytest.mark.parametrize("name", ["captions", "Transformer"])
def test_another_word_comes_first_on_captions(name):
    said("explanation", "another word comes first more often than not")
    assert changed(name, 24)[0] > 0.5


def test_the_mlp_sees_the_word_before_and_an_average():
    said("explanation", "It sees the French word before, and of the English")
    said("explanation", "the same bag of English words at every step")
    made = explanation.short()
    gist = explanation.Gist(explanation.fresh(made, 0).config)
    pairs = [Pair(one.source, one.target) for one in made.tests[:1]]
    batch = collate(pairs, made.source, made.target)
    n = batch.source.shape[1]
    alike = torch.full((1, batch.target_in.shape[1], n), 1 / n)
    backwards = batch._replace(source=batch.source.flip(1))
    torch.testing.assert_close(gist(batch, alike), gist(backwards, alike))


def test_measures_half_agree_and_no_better_than_the_diagonal(looks):
    for name in explanation.SUBJECTS:
        tau = looks[name]["tau"]
        said("explanation", "The diagonal agrees with leaving out as well as")
        assert 0.3 < tau["weights, left out"]["mean"] < 0.7
        closeness = tau["closeness, left out"]["mean"]
        said("explanation", "does about as well, for both models")
        assert closeness > tau["weights, left out"]["mean"] - 0.03
    said("explanation", "On the phrasebook it does better")
    tau = looks["phrasebook"]["tau"]
    assert (
        tau["closeness, left out"]["mean"]
        > tau["weights, left out"]["mean"] + 0.1
    )


def test_an_adversary_cannot_say_the_same(looks):
    first, chance, paid = (
        looks["one model"][name]
        for name in ("first", "another seed", "price 1.0")
    )
    said("explanation", "with an adversarial weight λ of 1.0")
    assert explanation.PRICES == (1.0,)
    said("explanation", "A model from another seed gets as many words right")
    assert abs(first["right"]["mean"] - chance["right"]["mean"]) < 0.01
    twice = paid["said apart"]["mean"] / chance["said apart"]["mean"]
    said("explanation", "twice the difference between seeds")
    assert 1.8 < twice < 2.2
    said("explanation", "nearly all that is possible")
    assert 0.65 < paid["looked apart"]["mean"] < 0.6932
    said("explanation", "and no longer predicts the same words")
    assert paid["right"]["mean"] < first["right"]["mean"] - 0.3
    said("explanation", "its loss is lower than another seed's")
    losses = [
        one["said apart"]["mean"] - one["looked apart"]["mean"]
        for one in (paid, chance)
    ]
    assert losses[0] < losses[1]


def test_the_spread_of_the_small_models(looks):
    models = {**looks["one model"]}
    readers = models.pop("readers").values()
    spreads = {"aer": [], "other": [one["spread"] for one in readers]}
    for one in models.values():
        for name, value in one.items():
            kind = "aer" if name == "aer" else "other"
            spreads[kind].append(value["spread"])
    said("explanation", "is at most 0.02, for the AER at most 0.04")
    assert 0.01 < max(spreads["other"]) < 0.02 < max(spreads["aer"]) < 0.04


def test_how_twelve_rows_are_counted(looks):
    said("explanation", "twelve rows of cross-attention, three layers of four")
    torch.manual_seed(0)
    own = torch.rand(1, 12, 5).softmax(-1)
    places = torch.ones(1, 5, dtype=torch.bool)
    now = explanation.Moment(own[0, 0], (), (), own, places, own[0, 0])
    said("explanation", "All twelve are put into the same other order")
    other = explanation.reordered(now)
    order = [int((own[0, 0] == x).nonzero()) for x in other[0, 0]]
    assert torch.equal(other, own[:, :, order])
    said(
        "explanation",
        "it numbers the words of each sentence evenly from 0 to 1",
    )
    near = explanation.closeness(3, 5)
    assert near.argmax(-1).tolist() == [0, 2, 4] and float(near[0, 4]) == -1


def test_a_diagnostic_mlp_tells_the_maps_apart(looks):
    readers = looks["one model"]["readers"]
    said("explanation", "of the words right with the first model's weights")
    assert readers["first"]["mean"] > readers["uniform"]["mean"] + 0.1
    said("explanation", "with all weights alike, and … with the adversary's")
    assert readers["uniform"]["mean"] > readers["price 1.0"]["mean"] + 0.1


@pytest.mark.multi30k
def test_at_which_words_rivals_are_sought(looks):
    said("explanation", "at the first word of each sentence and at every")
    assert explanation.EVERY == 4
    said("explanation", "about 15 to a sentence in both corpora")
    for name, (_, _, count) in explanation.SUBJECTS.items():
        pairs = (
            phrasebook.sample(count, seed=3)
            if name == "phrasebook"
            else corpus.load("test_2016_flickr")[:count]
        )
        lengths = [len(one.target) + 1 for one in pairs]  # with <end>
        assert sum(lengths) == looks[name]["words"]
        assert sum(-(-n // 4) for n in lengths) == looks[name]["sought"]
        assert round(sum(lengths) / count) == 15


def test_what_the_search_finds_for_the_black_cars(monkeypatch):
    """With fewer steps than on the page: they only raise what is found."""
    model, english, french = weights.load("phrasebook", RNNsearch)
    model.cpu().requires_grad_(False)
    source = "the black cars change .".split()
    target = "les voitures noires changent .".split()
    batch = collate([Pair(source, target)], english, french)
    torch.manual_seed(0)
    found = {}
    for word, now in zip(
        target[:3], explanation.moments(model, batch), strict=False
    ):
        assert now.own.shape[1:] == (1, 6)  # four words, full stop and end
        other = explanation.most_different(model, now, torch.tensor([True]))
        found[word] = float(explanation.divergence(other, now.own)[0, 0])
        before, after = (
            explanation.says(model, now, one) for one in (now.own, other)
        )
        said("explanation", "the most different within ε are kept")
        moved = explanation.total_variation(after, before)
        assert float(moved) < explanation.EPSILON + 1e-4
    said("explanation", "TV above 0.8 ε costs twenty times what the same")
    code = inspect.getsource(explanation.most_different)
    assert "20 * F.relu(moved - 0.8 * epsilon) - apart" in code
    said("explanation", "At les the search finds very different weights")
    assert found["les"] > 0.35
    said("explanation", "At voitures they hardly differ from the model's own")
    assert found["voitures"] < 0.1 and found["noires"] < 0.25


def test_the_example_of_total_variation():
    said("explanation", "the differences are 0.4 and 0.4, and TV is 0.4")
    p, q = torch.tensor([0.9, 0.1]), torch.tensor([0.5, 0.5])
    assert float(explanation.total_variation(p, q)) == pytest.approx(0.4)
