"""What the chapter says about the Transformer's heads is what they do.

When the weights are trained anew and this fails, the paragraphs around the
cells of the chapter's section on heads have to be written anew.
"""

import pytest
import torch
from saying import said

from lookback.lab import corpus, metrics, records, significance, weights
from lookback.lab.decoding import translate
from lookback.rnnsearch import RNNsearch
from lookback.transformer import Transformer
from lookback.widgets.trained import cross_heads, energies

KINDS = {
    "rnnsearch": RNNsearch,
    "transformer": Transformer,
    "tuned-en-fr": Transformer,
}
SENTENCES = (
    "a black cat sleeps on a red chair .",
    "two young men in white shirts are playing football .",
    "an old man in a gray coat is reading a yellow newspaper .",
)
NOUNS = {"cat", "chair", "man", "newspaper"}


ARTICLES, VERBS = ("un", "une"), ("jouent", "lit")


@pytest.fixture(scope="module")
def looks() -> list[list[tuple[str, str]]]:
    """For each head (French word, where it looks most), in all sentences."""
    loaded = weights.load("transformer", Transformer)
    found: list[list[tuple[str, str]]] = [[] for _ in range(4)]
    for sentence in SENTENCES:
        maps = cross_heads(*loaded, sentence).examples
        for seen, example in zip(found, maps, strict=True):
            rows = zip(example["target"], example["energies"], strict=True)
            for word, row in rows:
                seen.append((word, example["source"][row.index(max(row))]))
    return found


def seen(looks: list[tuple[str, str]], words: tuple) -> list[str]:
    return [where for word, where in looks if word in words]


@pytest.mark.nightly
def test_head_3_looks_from_the_article_to_the_noun(looks):
    said("transformer", "For the articles head 3 goes to the noun instead")
    assert set(seen(looks[2], ARTICLES)) <= NOUNS
    assert len(seen(looks[2], ARTICLES)) == 4


def test_the_other_heads_look_from_article_to_article(looks):
    said("transformer", "Most of these go to the word that is being translated")
    for head in (0, 1, 3):
        assert set(seen(looks[head], ARTICLES)) <= {"a", "an"}, head


def test_head_2_looks_from_the_verb_to_the_auxiliary(looks):
    said("transformer", "For the verbs head 2 goes to are and is")
    assert seen(looks[1], VERBS) == ["are", "is"]
    said("transformer", "Most of these go to the word that is being translated")
    for head in (0, 2, 3):
        assert seen(looks[head], VERBS) == ["playing", "reading"], head


def test_at_the_top_head_3_alone_prefers_the_noun(looks):
    said("transformer", "Heads 1, 2 and 4 attend most to a")
    said("transformer", "Head 3 attends most to chair")
    assert [dict(seen)["une"] for seen in looks] == ["a", "a", "chair", "a"]


def test_rnnsearch_divides_the_weight_of_une():
    said("transformer", "and une divides its weight between a and chair")
    model, source, target = weights.load("rnnsearch", RNNsearch)
    words = SENTENCES[0].split()
    french = "un chat noir dort sur une chaise rouge .".split()
    looks = energies(model, words, french, source, target)[0].softmax(-1)
    article, noun = looks[5, words.index("on") + 1], looks[5, 7]
    assert words[7] == "chair" and torch.stack([article, noun]).min() > 0.3


TUNED = records.load("tuned")["results"]


def test_tuned_goes_further_with_less():
    found = records.load("search")["results"]
    said("transformer", "less than a third of the one above")
    for name, part, share in (
        ("transformer", "en-fr", 1 / 3),
        ("rnnsearch", "rnnsearch", 1 / 2),
    ):
        assert TUNED[part]["parameters"] < found[name]["parameters"] * share


@pytest.mark.weekly
def test_only_with_a_beam_the_captions_tell_the_two_apart():
    said("transformer", "chance alone easily produces a greedy difference")
    said("transformer", "the difference with a beam is significant")
    test = corpus.load("test_2016_flickr")
    sources, truths = [p.source for p in test], [p.target for p in test]
    p = {}
    for width in (1, 5):
        runs = []
        for name in ("rnnsearch", "transformer"):
            model, *known = weights.load(name, KINDS[name])
            found = translate(model, sources, *known, width)
            rows = metrics.counts([words for words, _ in found], truths)
            text = ",".join(" ".join(map(str, row)) for row in rows)
            runs.append([significance.caption_rows(text)])
        assert (significance.difference(*runs) < -1) == (width == 5)
        p[width] = significance.paired_randomization_test(*runs)
    assert p[1] > 0.5 and p[5] < 0.05


def test_by_this_recipe_the_transformer_is_ahead_everywhere():
    said(
        "transformer",
        "ahead everywhere in the table, and also in greedy decoding",
    )
    for one, two in (("rnnsearch", "en-fr"), ("rnnsearch, de-en", "de-en")):
        assert TUNED[one]["seed"] == TUNED[two]["seed"] == 0
        for split in corpus.TESTS:
            for way in ("greedy", "beam"):
                behind, ahead = (
                    TUNED[part]["tests"][split][way]["bleu"]
                    for part in (one, two)
                )
                assert behind < ahead


def test_validation_chose_three_tenths_all_four_times():
    said("transformer", "and each time it chose 0.3")
    assert len(TUNED) == 4
    for each in TUNED.values():
        assert {*each["trials"]} == {"0.2", "0.3"}
        assert each["trials"]["0.3"] < each["trials"]["0.2"]
        assert each["config"]["dropout"] == 0.3


def test_a_word_that_was_never_seen():
    sentence = "a beekeeper in a white suit lifts a honeycomb .".split()
    answers = []
    for name in ("transformer", "tuned-en-fr"):
        model, *vocabularies = weights.load(name, KINDS[name])
        ((words, _),) = translate(model, [sentence], *vocabularies, width=5)
        answers.append(words)
    said("transformer", "The first leaves two holes")
    assert answers[0].count("<unk>") == 2
    said("transformer", "but its beekeeper is un joueur de kea")
    assert "<unk>" not in answers[1] and {"kea", "maud"} < {*answers[1]}
