"""The phrasebook: right French, gold alignments, the same for a seed."""

import os
import subprocess
import sys
from collections import Counter
from itertools import islice

import pytest

from lookback.lab import phrasebook
from lookback.lab.grammar import (
    be,
    complete,
    conjugate,
    connect,
    coordinate,
    describe,
    determine,
    exist,
    join,
    nominal,
    own,
    place,
    pronoun,
    rule,
    when,
)


@pytest.fixture(scope="module")
def pairs():
    return phrasebook.sample(3000, seed=2014)


def the(text, determiner="the", plural=False):
    """A noun phrase from "european economic area": adjectives, then noun."""
    *adjectives, noun = text.split()
    return determine(determiner, nominal(noun, plural, adjectives))


def says(*parts):
    return rule(list(parts), list(parts))


AREA, MAN = the("european economic area"), the("man")
GIRLS = the("young girl", "some", True)
WOMEN = the("woman", "the", True)
QUEEN_AND_KING = coordinate(the("queen"), the("king"))
IT = pronoun(the("letter"))
# the phrase, the sentence pair as a teacher writes it, and its alignment:
# for each French word the indices of its English words
BY_HAND = [
    (
        AREA,
        "the european economic area .",
        "la zone économique européenne .",
        "0 3 2 1 4",
    ),
    (
        the("old italian social council", "these", True),
        "these old italian social councils .",
        "ces vieux conseils sociaux italiens .",
        "0 1 4 3 2 5",
    ),
    (
        the("small white italian dog"),
        "the small white italian dog .",
        "le petit chien italien blanc .",
        "0 1 4 3 2 5",
    ),
    (MAN, "the man .", "l' homme .", "0 1 2"),
    (the("old man"), "the old man .", "le vieil homme .", "0 1 2 3"),
    (
        the("former queen"),
        "the former queen .",
        "l' ancienne reine .",
        "0 1 2 3",
    ),
    (
        the("beautiful bird", "a"),
        "a beautiful bird .",
        "un bel oiseau .",
        "0 1 2 3",
    ),
    (
        the("beautiful hedgehog", "this"),
        "this beautiful hedgehog .",
        "ce beau hérisson .",
        "0 1 2 3",
    ),
    (
        the("new hotel", "this"),
        "this new hotel .",
        "ce nouvel hôtel .",
        "0 1 2 3",
    ),
    (the("goose", "his"), "his goose .", "son oie .", "0 1 2"),
    (the("tree", "this"), "this tree .", "cet arbre .", "0 1 2"),
    (the("apple", "her"), "her apple .", "sa pomme .", "0 1 2"),
    (
        the("former church", "some", True),
        "some former churches .",
        "d' anciennes églises .",
        "0 1 2 3",
    ),
    (
        the("white letter", "two", True),
        "two white letters .",
        "deux lettres blanches .",
        "0 2 1 3",
    ),
    (
        join(the("garden"), "of", "de", the("museum")),
        "the garden of the museum .",
        "le jardin du musée .",
        "0 1 23 4 5",
    ),
    (
        place("near", the("school", "the", True)),
        "near the schools .",
        "près des écoles .",
        "0 01 2 3",
    ),
    (
        place("at", the("new museum", "the", True)),
        "at the new museums .",
        "aux nouveaux musées .",
        "01 2 3 4",
    ),
    (place("at", the("hotel")), "at the hotel .", "à l' hôtel .", "0 1 2 3"),
    (
        place("in front of", the("church", "a")),
        "in front of a church .",
        "devant une église .",
        "012 3 4 5",
    ),
    (
        own(the("king"), nominal("tree", False, ["old"])),
        "the king 's old tree .",
        "le vieil arbre du roi .",
        "2 3 4 02 1 5",
    ),
    (
        own(the("boy", "the", True), nominal("car", False, ["red"])),
        "the boys ' red car .",
        "la voiture rouge des garçons .",
        "2 4 3 02 1 5",
    ),
    (
        says(WOMEN, conjugate("arrive", WOMEN, past=True)),
        "the women arrived .",
        "les femmes sont arrivées .",
        "0 1 2 2 3",
    ),
    (
        says(
            QUEEN_AND_KING,
            be(QUEEN_AND_KING, describe(QUEEN_AND_KING, ["happy"])),
        ),
        "the queen and the king are happy .",
        "la reine et le roi sont heureux .",
        "0 1 2 3 4 5 6 7",
    ),
    (
        says(MAN, conjugate("love", MAN, how="not"), the("horse", "the", True)),
        "the man does not love the horses .",
        "l' homme n' aime pas les chevaux .",
        "0 1 3 24 3 5 6 7",
    ),
    (
        says(MAN, conjugate("look at", MAN, True, "not"), the("goose")),
        "the man did not look at the goose .",
        "l' homme n' a pas regardé l' oie .",
        "0 1 3 2 3 45 6 7 8",
    ),
    (
        says(MAN, conjugate("sleep", MAN, how="often"), when("in august")),
        "the man often sleeps in august .",
        "l' homme dort souvent en août .",
        "0 1 3 2 4 5 6",
    ),
    (
        connect(
            says(the("letter"), conjugate("fall", the("letter"))),
            "because",
            says(IT, be(IT, describe(IT, ["old", "green"]), past=True)),
        ),
        "the letter falls because it was old and green .",
        "la lettre tombe parce qu' elle était vieille et verte .",
        "0 1 2 3 3 4 5 6 7 8 9",
    ),
    (
        join(the("bird"), "that", "que", the("doctor", "a")),
        "the bird that a doctor .",
        "l' oiseau qu' un médecin .",
        "0 1 2 3 4 5",
    ),
    (
        exist(GIRLS, past=False),
        "there are some young girls .",
        "il y a de jeunes filles .",
        "01 01 01 2 3 4 5",
    ),
    (
        exist(the("man", "some", True), past=True),
        "there were some men .",
        "il y avait des hommes .",
        "01 01 01 2 3 4",
    ),
    (when("last week"), "last week .", "la semaine dernière .", "0 1 0 2"),
    (the("union", "a"), "a union .", "une union .", "0 1 2"),
    (
        the("italian agreement", "a"),
        "an italian agreement .",
        "un accord italien .",
        "0 2 1 3",
    ),
]


@pytest.mark.parametrize(
    "phrase, english, french, links", BY_HAND, ids=[row[1] for row in BY_HAND]
)
def test_by_hand(phrase, english, french, links):
    pair = complete(phrase)
    assert " ".join(pair.source) == english
    assert " ".join(pair.target) == french
    gold = {(int(i), j) for j, at in enumerate(links.split()) for i in at}
    assert pair.alignment == gold


# what a French dictionary says, written apart from the lexicon
GENDER = {
    "m": "homme garçon enfant roi médecin chien oiseau cheval hérisson livre "
    "arbre chapeau jardin hôtel musée conseil accord hiver été avril",
    "f": "femme fille reine infirmière oie voiture lettre pomme image église "
    "école gare zone union semaine",
}
PLURALS = {"oiseau": "oiseaux", "cheval": "chevaux", "chapeau": "chapeaux"}
FEATURES = {}
for gender, nouns in GENDER.items():
    for noun in nouns.split():
        FEATURES[noun] = {gender + "s"}
        FEATURES[PLURALS.get(noun, noun + "s")] = {gender + "p"}
# forms of determiners and adjectives: the gender and number each may have
FORMS = {
    "ms": "le un ce cet au du petit vieux vieil beau bel jeune grand nouveau "
    "nouvel ancien noir blanc rouge vert français italien européen "
    "économique politique social heureux fatigué arrivé tombé",
    "fs": "la une cette sa petite vieille belle jeune grande nouvelle "
    "ancienne noire blanche rouge verte française italienne européenne "
    "économique politique sociale heureuse fatiguée dernière arrivée tombée",
    "mp": "petits vieux beaux jeunes grands nouveaux anciens noirs blancs "
    "rouges verts français italiens européens économiques politiques "
    "sociaux heureux fatigués arrivés tombés",
    "fp": "petites vieilles belles jeunes grandes nouvelles anciennes noires "
    "blanches rouges vertes françaises italiennes européennes économiques "
    "politiques sociales heureuses fatiguées arrivées tombées",
}
DETERMINERS = {"s": "l' son", "p": "les des aux ces ses deux trois de d'"}
MAY_BE, ADJECTIVES = {}, set()
for features, forms in FORMS.items():
    for form in forms.split():
        MAY_BE.setdefault(form, set()).add(features)
FIRST = set("le un ce cet au du la une cette sa".split())
for number, forms in DETERMINERS.items():
    for form in forms.split():
        MAY_BE[form] = {"m" + number, "f" + number}
        FIRST.add(form)
ADJECTIVES = set(MAY_BE) - FIRST
MONTHS = {"avril", "août", "hiver", "été"}
HIM = {"il": "ms", "elle": "fs", "ils": "mp", "elles": "fp"}
BE = {"est", "était", "sont", "étaient"}
AUXILIARY = BE | {"n'", "ne", "pas"}


def group(target, at):
    """The determiner and the adjectives that stand around a noun."""
    first = last = at
    while target[first - 1] in ADJECTIVES:
        first -= 1
    while target[last + 1] in ADJECTIVES:
        last += 1
    return target[first - 1], target[first:at] + target[at + 1 : last + 1]


def test_articles_and_adjectives_agree_with_their_noun(pairs):
    checked = Counter()
    for pair in pairs:
        for at, noun in enumerate(pair.target):
            if noun not in FEATURES or noun in MONTHS:
                continue
            article, adjectives = group(pair.target, at)
            assert article in FIRST, (noun, pair)
            known = list(adjectives)
            # "du" and "de" before an owned noun are not its number's mark
            known += [article] * (article not in ("de", "d'"))
            for word in known:
                assert FEATURES[noun] <= MAY_BE[word], (word, noun, pair)
                checked[word] += 1
    assert len(checked) > 80


def test_what_follows_to_be_agrees_with_a_pronoun(pairs):
    checked = 0
    for pair in pairs:
        for at, word in enumerate(pair.target):
            if word not in HIM or pair.target[at + 1] == "y":
                continue
            rest = pair.target[at + 1 :]
            while rest[0] in ("n'", "ne"):
                rest = rest[1:]
            if rest[0] not in BE:
                continue
            end = 2 if rest[1] == "pas" else 1
            checked += 1
            assert HIM[word] in MAY_BE[rest[end]], pair
            assert (rest[0] in ("sont", "étaient")) == (HIM[word][1] == "p")
    assert checked > 100


def test_simple_subjects_agree_with_the_participle(pairs):
    checked = 0
    for pair in pairs:
        for at, word in enumerate(pair.target[1:-2], 1):
            if word not in FEATURES or word in MONTHS:
                continue
            if "et" in pair.target[:at] or "de" in pair.target[:at]:
                continue
            if {"que", "qu'", "qui", "du", "des", "d'"} & set(pair.target[:at]):
                continue
            verb = pair.target[at + 1]
            if verb in BE:
                what = pair.target[at + 2]
                assert FEATURES[word] <= MAY_BE[what], pair
                checked += 1
    assert checked > 300


VOWELS = "aàâeéèêiîoôuyœ"
MUTE_H = {"homme", "hommes", "hôtel", "hôtels", "heureux", "heureuse"}


def silent(word):
    return word[0] in VOWELS or word in MUTE_H


def test_elision_and_contraction(pairs):
    seen = Counter()
    for pair in pairs:
        words = pair.target
        for word, after in zip(words, words[1:], strict=False):
            if word in ("le", "la", "de", "que", "ne", "ce", "sa"):
                assert not silent(after), pair
            if word in ("l'", "d'", "qu'", "n'", "cet"):
                assert silent(after), pair
                seen[word] += 1
            if word in ("beau", "vieux", "nouveau") and silent(after):
                assert FEATURES.get(after) != {"ms"}, pair  # vieux hôtels
            if word in ("bel", "vieil", "nouvel"):
                assert silent(after) and after != "et", pair
                seen[word] += 1
            assert (word, after) not in {
                (de, le) for de in ("de", "à") for le in ("le", "les")
            }
    assert set(seen) == set("l' d' qu' n' cet bel vieil nouvel".split())


def test_some_becomes_de_before_an_adjective_and_des_before_a_noun(pairs):
    seen = Counter()
    for pair in pairs:
        links = dict((i, j) for i, j in pair.alignment)
        for i, word in enumerate(pair.source):
            if word == "some":
                j = links[i]
                follows = pair.target[j + 1]
                seen[pair.target[j]] += 1
                assert (pair.target[j] == "des") == (follows in FEATURES)
    assert seen["des"] and seen["de"] and seen["d'"]


def test_english_article(pairs):
    for pair in pairs:
        for word, after in zip(pair.source, pair.source[1:], strict=False):
            vowel = after[0] in "aeiou" and after not in ("european", "union")
            if word in ("a", "an"):
                assert (word == "an") == vowel, pair


def test_alignments_are_in_range_and_leave_no_word_alone(pairs):
    for source, target, alignment in pairs:
        assert isinstance(alignment, frozenset)
        assert {i for i, _ in alignment} == set(range(len(source)))
        assert {j for _, j in alignment} == set(range(len(target)))
        assert (len(source) - 1, len(target) - 1) in alignment


def test_a_mirror_of_three_words_is_common(pairs):
    mirrors = 0
    for pair in pairs:
        only = {j: i for i, j in pair.alignment}
        for at, word in enumerate(pair.target[:-3]):
            if word in FEATURES:
                i = [only[at + k] for k in range(3)]
                mirrors += i == [i[0], i[0] - 1, i[0] - 2]
    assert mirrors > 300


def test_the_same_article_turns_on_the_next_noun(pairs):
    seen = set()
    for pair in pairs:
        for i, j in pair.alignment:
            if pair.source[i] == "the":
                seen.add(pair.target[j])
    assert {"le", "la", "l'", "les", "du", "des", "au", "aux"} <= seen


def test_it_and_they_take_the_gender_of_the_antecedent(pairs):
    seen = Counter()
    for pair in pairs:
        for i, j in pair.alignment:
            if pair.source[i] in ("it", "they", "she", "he"):
                seen[pair.source[i], pair.target[j]] += 1
    assert seen.keys() == {
        ("it", "il"),
        ("it", "elle"),
        ("they", "ils"),
        ("they", "elles"),
        ("he", "il"),
        ("she", "elle"),
    }


def test_every_word_is_in_the_vocabulary_and_every_one_is_used(pairs):
    source, target = phrasebook.words()
    assert source == sorted(set(source)) and target == sorted(set(target))
    assert 150 <= len(source) <= 250 and 150 <= len(target) <= 250
    assert {word for pair in pairs for word in pair.source} == set(source)
    assert {word for pair in pairs for word in pair.target} == set(target)
    assert all(word == word.lower() for word in source + target)


def test_lengths_spread_and_repeats_are_rare(pairs):
    lengths = Counter(len(pair.source) for pair in pairs)
    assert min(lengths) == 4 and max(lengths) == 30
    assert len(lengths) == 27
    assert len({tuple(pair.source) for pair in pairs}) >= 0.95 * len(pairs)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "length, low, high", [("short", 4, 8), ("medium", 9, 15), ("long", 16, 30)]
)
def test_length(length, low, high):
    for pair in phrasebook.sample(200, 3, length):
        assert low <= len(pair.source) <= high


def test_clauses_make_longer_sentences():
    means = []
    for clauses in (1, 2, 4, 8):
        some = phrasebook.sample(60, 3, clauses=clauses)
        means.append(sum(len(pair.source) for pair in some) / len(some))
    assert means[0] < 12 and means[-1] > 50
    assert means == sorted(means)


def test_a_seed_gives_the_same_sentences():
    first = phrasebook.sample(50, seed=7)
    assert first == list(islice(phrasebook.sentences(7), 50))
    assert first != phrasebook.sample(50, seed=8)
    assert first == phrasebook.sample(80, seed=7)[:50]


def test_the_same_sentences_in_another_process():
    code = (
        "from lookback.lab.phrasebook import sample\n"
        "for p in sample(50, 7): print(*p.source, *p.target)"
    )
    env = {**os.environ, "PYTHONHASHSEED": "12345"}
    env |= {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1"}
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, env=env, capture_output=True, check=True)
    mine = [" ".join(p.source + p.target) for p in phrasebook.sample(50, 7)]
    assert done.stdout.decode().splitlines() == mine


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"seed": -1}, "seed"),
        ({"length": "huge"}, "length"),
        ({"clauses": 0}, "clauses"),
        ({"clauses": 2, "length": "short"}, "not both"),
    ],
)
def test_bad_arguments_are_refused_at_once(arguments, message):
    with pytest.raises(ValueError, match=message):
        phrasebook.sentences(**arguments)
    with pytest.raises(ValueError, match=message):
        phrasebook.sample(1, **arguments)


def test_a_bad_count_is_refused():
    with pytest.raises(ValueError, match="n is -1: give a whole"):
        phrasebook.sample(-1)
    assert phrasebook.sample(0) == []
